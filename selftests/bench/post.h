/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What posting and polling costs: a sender and a receiver go round, with one of the four steps measured.
 * It knows neither adapters nor ways of posting; efa_post_bench.c and ionic_post_bench.c do.
 */
#ifndef SELFTESTS_BENCH_POST_H
#define SELFTESTS_BENCH_POST_H

#include "bench.h"

#define POST_BATCH	16	/* most requests at once */

enum post_step { POST_RECEIVES, POST_SENDS, POLL_SENDS, POLL_RECEIVES, POST_STEPS };

/**
 * struct post_way - one way to do what a figure is about
 *
 * @subject: its name in reports
 * @scene: of the functions
 * @step: posting returns 0 or an errno, polling how many completions were taken. NULL: there is nothing
 *	to do, as in receiving what needs no receive
 * @measured: the step that is
 * @after: after each step, not measured; may be NULL
 */
struct post_way {
	const char *subject;
	void *scene;
	int (*step[POST_STEPS])(void *scene, unsigned int n);
	enum post_step measured;
	void (*after)(void *scene);
};

/* Measures each of @n ways in turn, BENCH_ROUNDS times, in batches of 1 and POST_BATCH */
void post_compare(const struct bench_case *what, const struct post_way *ways, unsigned int n);

#endif /* SELFTESTS_BENCH_POST_H */
