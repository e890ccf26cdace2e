// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <time.h>

#include "device.h"
#include "engine.h"
#include "fabric.h"
#include "tap.h"

#define MS	1000000ull

/* counts the time it is given */
struct fake {
	struct model_device dev;
	struct engine_task task;
	unsigned int works, polls;
	unsigned int more;		/* slices that ask for another */
	uint64_t slice_ns;		/* how long a slice takes */
	uint64_t worked;		/* when the last one began */
	uint32_t doorbell;		/* stored to without the lock */
	uint32_t seen;
	unsigned int packets;
};

static struct fake fake[2];

static struct fake *to_fake(struct model_device *dev)
{
	return (struct fake *)dev;
}

static void spin(uint64_t ns)
{
	uint64_t end = engine_now() + ns;

	while (engine_now() < end)
		;
}

static bool fake_work(struct model_device *dev)
{
	struct fake *f = to_fake(dev);

	f->worked = engine_now();
	__atomic_fetch_add(&f->works, 1, __ATOMIC_RELAXED);
	spin(f->slice_ns);
	if (!f->more)
		return false;
	f->more--;
	return true;
}

static bool fake_poll(struct model_device *dev)
{
	struct fake *f = to_fake(dev);
	uint32_t now = __atomic_load_n(&f->doorbell, __ATOMIC_RELAXED);

	f->polls++;
	if (now == f->seen)
		return false;
	f->seen = now;
	return true;
}

static const struct model_device_ops fake_ops = { .work = fake_work, .poll = fake_poll };

static void start(void)
{
	memset(fake, 0, sizeof(fake));
	for (int i = 0; i < 2; i++) {
		fake[i].dev.ops = &fake_ops;
		fake[i].task.dev = &fake[i].dev;
		engine_add(&fake[i].task);
	}
	REQUIRE(!engine_start());
}

static void stop(void)
{
	engine_stop();
	engine_remove(&fake[0].task);
	engine_remove(&fake[1].task);
}

static void rest(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / (1000 * MS), .tv_nsec = ns % (1000 * MS) };

	nanosleep(&ts, NULL);
}

static unsigned int works(int i)
{
	unsigned int n;

	engine_lock();
	n = fake[i].works;
	engine_unlock();
	return n;
}

/* true as soon as device @i has worked @count times; false after five seconds */
static bool works_reach(int i, unsigned int count)
{
	for (int tries = 0; tries < 5000; tries++) {
		if (works(i) >= count)
			return true;
		rest(MS);
	}
	return false;
}

static void kick(int i)
{
	engine_lock();
	engine_kick(&fake[i].task);
	engine_unlock();
}

TEST(works_when_kicked_and_only_then)
{
	start();
	rest(10 * MS);
	CHECK_EQ(works(0), 0);
	kick(0);
	CHECK(works_reach(0, 1));
	rest(10 * MS);
	CHECK_EQ(works(0), 1);
	CHECK_EQ(works(1), 0);
	CHECK_EQ(fake[0].polls, 0);
	stop();
}

TEST(kicks_before_the_slice_are_one)
{
	start();
	engine_lock();
	for (int i = 0; i < 5; i++)
		engine_kick(&fake[0].task);
	engine_unlock();
	CHECK(works_reach(0, 1));
	rest(10 * MS);
	CHECK_EQ(works(0), 1);
	stop();
}

TEST(works_until_there_is_no_more)
{
	start();
	fake[0].more = 9;
	kick(0);
	CHECK(works_reach(0, 10));
	rest(10 * MS);
	CHECK_EQ(works(0), 10);
	stop();
}

/* a device that never ends keeps neither the other nor an access waiting */
TEST(slices_alternate)
{
	unsigned int prompt = 0;

	start();
	fake[0].more = 100000;
	fake[0].slice_ns = MS / 5;
	kick(0);
	CHECK(works_reach(0, 1));
	kick(1);
	CHECK(works_reach(1, 1));
	for (int i = 0; i < 100; i++) {
		unsigned int before = __atomic_load_n(&fake[0].works, __ATOMIC_RELAXED);

		engine_lock();
		/* one is being worked on, one may begin before the ticket is drawn */
		prompt += fake[0].works - before <= 2;
		engine_unlock();
	}
	/* this thread may lose its processor between the two lines */
	CHECK(prompt > 80);
	CHECK(works(0) < 100000);
	stop();
}

TEST(timer_is_the_earliest_wanted)
{
	uint64_t begin;

	start();
	engine_lock();
	begin = engine_now();
	engine_timer(&fake[0].task, begin + 60000 * MS);
	engine_timer(&fake[0].task, begin + 20 * MS);
	engine_timer(&fake[0].task, begin + 40 * MS);
	engine_timer(&fake[1].task, begin + 20 * MS);
	engine_timer(&fake[1].task, 0);
	engine_unlock();
	CHECK(works_reach(0, 1));
	CHECK(fake[0].worked >= begin + 20 * MS);
	rest(60 * MS);
	CHECK_EQ(works(0), 1);
	CHECK_EQ(works(1), 0);
	stop();
}

TEST(cancel_forgets)
{
	start();
	engine_lock();
	engine_kick(&fake[0].task);
	engine_timer(&fake[0].task, engine_now() + 5 * MS);
	engine_cancel(&fake[0].task);
	engine_unlock();
	rest(20 * MS);
	CHECK_EQ(works(0), 0);
	stop();
}

TEST(held_devices_get_no_time)
{
	start();
	fake[0].task.held = true;
	fake[0].dev.polled = true;
	kick(0);
	engine_lock();
	engine_timer(&fake[0].task, engine_now() + MS);
	engine_unlock();
	rest(20 * MS);
	CHECK_EQ(works(0), 0);
	CHECK_EQ(fake[0].polls, 0);

	engine_lock();
	fake[0].dev.polled = false;
	fake[0].task.held = false;
	engine_unlock();
	CHECK(works_reach(0, 1));
	stop();
}

TEST(delay_comes_between_kick_and_work)
{
	uint64_t begin;

	start();
	fake[0].task.delay_ms = 30;
	begin = engine_now();
	kick(0);
	CHECK(works_reach(0, 1));
	CHECK(fake[0].worked >= begin + 30 * MS);
	stop();
}

TEST(doorbells_in_memory_are_found)
{
	start();
	engine_lock();
	fake[0].dev.polled = true;
	engine_unlock();
	for (unsigned int i = 1; i <= 20; i++) {
		__atomic_store_n(&fake[0].doorbell, i, __ATOMIC_RELEASE);
		REQUIRE(works_reach(0, i));
		rest(i * MS / 4);
	}
	CHECK_EQ(works(0), 20);
	stop();
}

static unsigned int polls(void)
{
	unsigned int n;

	engine_lock();
	n = fake[0].polls;
	engine_unlock();
	return n;
}

/* true as soon as device 0 was looked at @count times; false after five seconds */
static bool polls_reach(unsigned int count)
{
	for (int tries = 0; tries < 5000 && polls() < count; tries++)
		rest(MS);
	return polls() >= count;
}

/* again and again while wanted, but no more than about once a millisecond when idle */
TEST(polling_backs_off)
{
	unsigned int before;

	start();
	engine_lock();
	fake[0].dev.polled = true;
	engine_unlock();
	kick(0);
	CHECK(works_reach(0, 1));
	CHECK(polls_reach(20));
	rest(20 * MS);
	before = polls();
	rest(100 * MS);
	CHECK(polls() - before <= 150);
	CHECK(polls_reach(before + 20));

	engine_lock();
	fake[0].dev.polled = false;
	before = fake[0].polls;
	engine_unlock();
	rest(20 * MS);
	CHECK_EQ(polls(), before);
	stop();
}

static void receive(struct model_device *dev, const uint8_t *from, const void *data, size_t len)
{
	(void)from;
	(void)data;
	(void)len;
	to_fake(dev)->packets++;
}

TEST(packets_are_delivered)
{
	struct fabric_port port = { .addr = { 1 }, .addr_len = 6, .up = true, .receive = receive,
				    .dev = &fake[0].dev };
	bool arrived = false;

	start();
	engine_lock();
	REQUIRE(!fabric_attach(&port));
	for (int i = 0; i < 100; i++)
		CHECK_EQ(fabric_send(&port, port.addr, "x", 1), 0);
	engine_unlock();
	for (int tries = 0; tries < 5000 && !arrived; tries++) {
		rest(MS);
		engine_lock();
		arrived = fake[0].packets == 100;
		engine_unlock();
	}
	CHECK(arrived);
	stop();
	fabric_detach(&port);
}

TAP_MAIN
