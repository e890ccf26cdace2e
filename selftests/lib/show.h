/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a demonstration prints, instead of a test's TAP. Whoever uses one of these takes
 * lab_fail() and lab_note() from here: the former ends the program with 1, the latter
 * makes it end with 1 at last.
 */
#ifndef SELFTESTS_SHOW_H
#define SELFTESTS_SHOW_H

#include <stdint.h>
#include <string.h>

#include "lab.h"
#include "model.h"

#define NEED(condition)	LAB_NEED(condition, "%s", #condition)
#define NEED_ZERO(call)								\
	do {									\
		int ret_ = (call);						\
		LAB_NEED(!ret_, "%s: %s", #call, strerror(ret_));		\
	} while (0)

/* "key=value" in an answer of the model; must be there */
uint64_t show_told(const char *text, const char *key);
/* a line of a table with what a program and what the model says, which must be the same */
void show_row(const char *what, uint64_t mine, uint64_t models);
/* "the model saw N WHAT, M were posted", by the growth of a counter, which must be @want */
void show_growth(const char *target, const struct model_stats *before, const char *what,
		 const char *key, uint64_t want);
/* how many violations all models have recorded, which must be none */
void show_violations(void);
/* what main() returns */
int show_result(void);

#endif /* SELFTESTS_SHOW_H */
