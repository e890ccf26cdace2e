// SPDX-License-Identifier: GPL-2.0
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>

#include "device.h"
#include "engine.h"
#include "fabric.h"

#define PACKETS_PER_SLICE	16u

#define NS_PER_S		1000000000ull
#define NS_PER_MS		1000000ull
#define POLL_SPIN_NS		20000ull
#define POLL_PAUSE_MIN_NS	50000ull
#define POLL_PAUSE_MAX_NS	NS_PER_MS
#define NEVER			UINT64_MAX

/*
 * The model lock is a queue of tickets: @served is the ticket of the holder.
 * @mutex protects the tickets, @asleep and @woken, and is held for moments.
 */
static struct {
	pthread_mutex_t mutex;
	pthread_cond_t turn;		/* @served has moved on */
	pthread_cond_t wake;		/* @woken has become true */
	uint64_t drawn, served;
	bool asleep, woken;

	/* protected by the model lock */
	struct engine_task *tasks;
	uint64_t alarm;			/* when the engine wakes by itself; valid while asleep */
	uint64_t active;		/* when something last happened */
	bool stop;
	pthread_t thread;
} engine = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.turn = PTHREAD_COND_INITIALIZER,
};

uint64_t engine_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static uint64_t task_time(const struct engine_task *task)
{
	uint64_t when = NEVER;

	if (task->held)
		return NEVER;
	if (task->kicked)
		when = task->kicked;
	if (task->timer && task->timer < when)
		when = task->timer;
	return when;
}

static bool is_polled(const struct engine_task *task)
{
	return task->dev->polled && task->dev->ops->poll && !task->held;
}

static uint64_t poll_pause(uint64_t idle)
{
	uint64_t pause = idle / 8;

	if (idle < POLL_SPIN_NS)
		return 0;
	if (pause < POLL_PAUSE_MIN_NS)
		return POLL_PAUSE_MIN_NS;
	return pause < POLL_PAUSE_MAX_NS ? pause : POLL_PAUSE_MAX_NS;
}

/* when the engine must run next, as things stand */
static uint64_t next_time(uint64_t now)
{
	uint64_t first = NEVER;

	if (engine.stop || fabric_pending())
		return now;
	for (struct engine_task *task = engine.tasks; task; task = task->next) {
		uint64_t when = task_time(task);

		if (when < first)
			first = when;
		if (is_polled(task) && now + poll_pause(now - engine.active) < first)
			first = now + poll_pause(now - engine.active);
	}
	return first;
}

void engine_lock(void)
{
	uint64_t ticket;

	pthread_mutex_lock(&engine.mutex);
	ticket = engine.drawn++;
	while (engine.served != ticket)
		pthread_cond_wait(&engine.turn, &engine.mutex);
	pthread_mutex_unlock(&engine.mutex);
}

static void serve_next(void)
{
	engine.served++;
	if (engine.served != engine.drawn)
		pthread_cond_broadcast(&engine.turn);
}

void engine_unlock(void)
{
	pthread_mutex_lock(&engine.mutex);
	/* nobody wakes the engine for a kick or a packet but whoever lets go of the lock */
	if (engine.asleep && !engine.woken && next_time(engine_now()) < engine.alarm) {
		engine.woken = true;
		pthread_cond_signal(&engine.wake);
	}
	serve_next();
	pthread_mutex_unlock(&engine.mutex);
}

/* lets everybody in who waits */
static void give_way(void)
{
	engine_unlock();
	engine_lock();
}

/* called with the model lock, which others have while the engine sleeps */
static void sleep_until(uint64_t when)
{
	struct timespec ts = { .tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S };

	engine.alarm = when;
	pthread_mutex_lock(&engine.mutex);
	engine.asleep = true;
	serve_next();
	while (!engine.woken) {
		if (when == NEVER)
			pthread_cond_wait(&engine.wake, &engine.mutex);
		else if (pthread_cond_timedwait(&engine.wake, &engine.mutex, &ts))
			break;
	}
	engine.asleep = engine.woken = false;
	pthread_mutex_unlock(&engine.mutex);
	engine_lock();
}

static void run_slice(struct engine_task *task)
{
	uint64_t now = engine_now();

	task->kicked = 0;
	if (task->timer <= now)
		task->timer = 0;
	if (task->dev->ops->work(task->dev))
		task->kicked = now;
	if (task->after)
		task->after(task);
}

/* true if the device was worth the visit */
static bool visit(struct engine_task *task)
{
	if (is_polled(task) && task->dev->ops->poll(task->dev)) {
		/* what the guest stored before the doorbell; pairs with its wmb() */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		engine_kick(task);
	}
	if (task_time(task) > engine_now())
		return false;
	run_slice(task);
	return true;
}

/* a slice for every device that is due, then a few packets; true if there was any */
static bool run_round(void)
{
	bool busy = false;

	for (struct engine_task *task = engine.tasks; task; task = task->next) {
		if (!visit(task))
			continue;
		busy = true;
		give_way();
	}
	if (fabric_pending()) {
		busy = true;
		fabric_run(PACKETS_PER_SLICE);
		give_way();
	}
	return busy;
}

static void *run(void *unused)
{
	/* the kernel's default slack of 50 us is as long as the shortest pause */
	prctl(PR_SET_TIMERSLACK, 1000);
	engine_lock();
	while (!engine.stop) {
		uint64_t now, next;

		if (run_round()) {
			engine.active = engine_now();
			continue;
		}
		now = engine_now();
		next = next_time(now);
		if (next > now)
			sleep_until(next);
		else
			give_way();
	}
	engine_unlock();
	return unused;
}

void engine_add(struct engine_task *task)
{
	task->next = engine.tasks;
	engine.tasks = task;
}

void engine_remove(struct engine_task *task)
{
	for (struct engine_task **link = &engine.tasks; *link; link = &(*link)->next) {
		if (*link == task) {
			*link = task->next;
			return;
		}
	}
}

int engine_start(void)
{
	pthread_condattr_t attr;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&engine.wake, &attr);
	pthread_condattr_destroy(&attr);

	engine.stop = false;
	err = pthread_create(&engine.thread, NULL, run, NULL);
	if (err)
		pthread_cond_destroy(&engine.wake);
	return -err;
}

void engine_stop(void)
{
	engine_lock();
	engine.stop = true;
	engine_unlock();
	pthread_join(engine.thread, NULL);
	pthread_cond_destroy(&engine.wake);
}

void engine_kick(struct engine_task *task)
{
	if (!task->kicked)
		task->kicked = engine_now() + task->delay_ms * NS_PER_MS;
}

void engine_timer(struct engine_task *task, uint64_t when)
{
	if (!when || !task->timer || when < task->timer)
		task->timer = when;
}

void engine_cancel(struct engine_task *task)
{
	task->kicked = 0;
	task->timer = 0;
}
