/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmarks share: how a figure is told, how instructions are counted and time is taken.
 *
 * A figure is one line of JSON, for selftests/bench/report:
 *
 *	{"part": "post", "adapter": "efa", "case": "send, 1 SGE", "batch": 16,
 *	 "measure": "instructions", "subject": "dvq", "value": 37.5}
 *
 * Each subject of a case says one in each round, so that the n-th of one and the n-th of another were
 * measured one after the other.
 */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_ROUNDS	5

/**
 * struct bench_case - what a figure is about
 *
 * @batch: requests at once; 0: that is no question
 */
struct bench_case {
	const char *part;
	const char *adapter;
	const char *name;
	unsigned int batch;
};

void bench_say(const struct bench_case *what, const char *measure, const char *subject, double value);
/* the same, with words of explanation */
void bench_say_why(const struct bench_case *what, const char *measure, const char *subject, double value,
		   const char *why);

#define BENCH_OBJECTS	16

/**
 * struct bench_count - instructions of one run
 *
 * @object: files that they are in, by name; @of: how many in which
 */
struct bench_count {
	uint64_t all;
	struct bench_object {
		char name[48];
		uint64_t of;
	} object[BENCH_OBJECTS];
	unsigned int objects;
};

/*
 * Runs @what, and counts its instructions by stepping through them one by one on the processor that there
 * is. It may make no system calls. Those that call it are not counted. Valid until the next call.
 */
const struct bench_count *bench_count(void (*what)(void *arg), void *arg);

uint64_t bench_now(void);	/* ns */
/* how long it takes to ask twice for the time, ns */
uint64_t bench_clock(void);
/* sorts them */
double bench_median(double *values, unsigned int n);

#endif /* SELFTESTS_BENCH_H */
