/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the library of the guest tests stands on: how a test ends early, and what
 * is undone when it does.
 *
 * Library calls that "must succeed" do not return on failure: they say what
 * happened and end the running test. Everything they made is held in one list
 * and undone in reverse order when the test ends, however it ends, so a failed
 * test leaves nothing behind for the next one. An undoing that fails is a
 * failure of the test, too.
 */
#ifndef SELFTESTS_LAB_H
#define SELFTESTS_LAB_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_MS	(20000 * lab_slow())	/* for whatever must happen; a TCG guest is slow */
#define QUIET_MS	30	/* for what must not happen */

/* ends the running test (in a child process: the process); in adapter_test.h */
__attribute__((noreturn, format(printf, 3, 4)))
void lab_fail(const char *file, int line, const char *fmt, ...);
/* notes a failure and goes on */
__attribute__((format(printf, 3, 4)))
void lab_note(const char *file, int line, const char *fmt, ...);

#define LAB_NEED(condition, ...)						\
	do {									\
		if (!(condition))						\
			lab_fail(__FILE__, __LINE__, __VA_ARGS__);		\
	} while (0)

/**
 * lab_hold() - undo this when the test ends
 *
 * @drop: destroys @object; returns 0 or an errno
 */
void lab_hold(int (*drop)(void *object), void *object);
/* undoes it now; returns what @drop returns, and holds on to the object if that is not 0 */
int lab_drop(void *object);
/* somebody else has destroyed it */
void lab_forget(void *object);
void lab_drop_all(void);
/* a child process does not undo what its parent made */
void lab_forget_all(void);

/* how many times slower than a stock one this system is (DVQ_SLOW): a debug kernel is */
unsigned int lab_slow(void);
uint64_t now_ms(void);
void sleep_ms(unsigned int ms);

/* a small generator for tests that want variety and the same run again */
uint32_t lab_random(uint32_t *state);

#endif /* SELFTESTS_LAB_H */
