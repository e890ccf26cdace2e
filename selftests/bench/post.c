// SPDX-License-Identifier: GPL-2.0
#include "post.h"

#include <stdio.h>
#include <string.h>

#include "../lib/lab.h"

#define WARM_UP		4	/* rounds before anything counts: lazy binding, caches */
#define TIMES		31	/* of one round; their median is its figure */
#define SETTLE_MS	1	/* until completions are there, as a rule */
#define TRIES		50

enum look { LOOK_AWAY, LOOK_COUNT, LOOK_TIME };

struct run {
	const struct post_way *way;
	enum post_step step;
	unsigned int n;
	int result;
};

static void run_step(void *arg)
{
	struct run *run = arg;

	run->result = run->way->step[run->step](run->way->scene, run->n);
}

static int do_nothing(void *scene, unsigned int n)
{
	(void)scene;
	return (int)n;
}

/* instructions of run_step() that are ours */
static uint64_t calling(void)
{
	static const struct post_way idle = { .step = { do_nothing } };
	static uint64_t cost;
	struct run run = { .way = &idle, .step = POST_RECEIVES, .n = 1 };

	if (!cost)
		cost = bench_count(run_step, &run)->all;
	return cost;
}

static void after(const struct post_way *way)
{
	if (way->after)
		way->after(way->scene);
}

/* completions that nobody looks at, until @n are there */
static void poll_all(const struct post_way *way, enum post_step step, unsigned int n)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (n) {
		int got = way->step[step](way->scene, n);

		after(way);
		LAB_NEED(got >= 0 && (unsigned int)got <= n, "%s: polling failed: %d", way->subject, got);
		n -= (unsigned int)got;
		LAB_NEED(now_ms() < end, "%s: %u completions of %s are missing", way->subject, n,
			 step == POLL_SENDS ? "sends" : "receives");
	}
}

/* of the last that was counted */
static const struct bench_count *counted;

static double measure(struct run *run, enum look look)
{
	double cost;

	if (look == LOOK_COUNT) {
		const uint64_t ours = calling();

		counted = bench_count(run_step, run);
		cost = (double)(counted->all - ours);
	} else {
		uint64_t start = bench_now(), end;

		run_step(run);
		end = bench_now();
		cost = (double)(end - start) - (double)bench_clock();
	}
	return cost / run->n;
}

static bool is_poll(enum post_step step)
{
	return step == POLL_SENDS || step == POLL_RECEIVES;
}

/* what a request or completion cost; negative: too few completions were there to tell */
static double do_measured(struct run *run, enum look look)
{
	const struct post_way *way = run->way;
	double cost;

	if (is_poll(run->step))
		sleep_ms(SETTLE_MS);
	cost = measure(run, look);
	after(way);
	if (!is_poll(run->step)) {
		LAB_NEED(!run->result, "%s: posting failed: %s", way->subject, strerror(run->result));
		return cost;
	}
	if (run->result == (int)run->n)
		return cost;
	poll_all(way, run->step, run->n - (unsigned int)run->result);
	return -1;
}

/* receives, sends, their completions; the cost of the measured step */
static double cycle(const struct post_way *way, unsigned int n, enum look look)
{
	double cost = 0;

	for (enum post_step step = 0; step < POST_STEPS; step++) {
		struct run run = { .way = way, .step = step, .n = n };

		if (!way->step[step])
			continue;
		if (look && step == way->measured) {
			cost = do_measured(&run, look);
		} else if (is_poll(step)) {
			poll_all(way, step, n);
		} else {
			run_step(&run);
			after(way);
			LAB_NEED(!run.result, "%s: posting failed: %s", way->subject,
				 strerror(run.result));
		}
	}
	return cost;
}

static double cycle_until(const struct post_way *way, unsigned int n, enum look look)
{
	for (unsigned int i = 0; i < TRIES; i++) {
		double cost = cycle(way, n, look);

		if (cost >= 0)
			return cost;
	}
	lab_fail(__FILE__, __LINE__, "%s: completions do not come together", way->subject);
}

static double time_of(const struct post_way *way, unsigned int n)
{
	double took[TIMES];

	for (unsigned int i = 0; i < TIMES; i++)
		took[i] = cycle_until(way, n, LOOK_TIME);
	return bench_median(took, TIMES);
}

/* where the instructions of the last count are */
static void where(const struct bench_count *count, unsigned int n, char *why, size_t size)
{
	size_t used = 0;

	why[0] = 0;
	for (unsigned int i = 0; i < count->objects && used < size; i++) {
		double each = (double)count->object[i].of / n;

		if (each >= 0.5)
			used += (size_t)snprintf(why + used, size - used, "%s%s %.0f", used ? ", " : "",
						 count->object[i].name, each);
	}
}

static void compare(struct bench_case what, const struct post_way *ways, unsigned int n)
{
	for (unsigned int round = 0; round < BENCH_ROUNDS; round++) {
		for (unsigned int i = 0; i < n; i++) {
			char why[256];
			double cost;

			for (unsigned int j = 0; j < WARM_UP; j++)
				cycle(&ways[i], what.batch, LOOK_AWAY);
			cost = cycle_until(&ways[i], what.batch, LOOK_COUNT);
			where(counted, what.batch, why, sizeof(why));
			bench_say_why(&what, "instructions", ways[i].subject, cost, why);
			bench_say(&what, "ns", ways[i].subject, time_of(&ways[i], what.batch));
		}
	}
}

void post_compare(const struct bench_case *what, const struct post_way *ways, unsigned int n)
{
	struct bench_case batch = *what;

	batch.batch = 1;
	compare(batch, ways, n);
	batch.batch = POST_BATCH;
	compare(batch, ways, n);
}
