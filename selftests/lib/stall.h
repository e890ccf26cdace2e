/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page at which the kernel stops in the middle of a call, and at which the call then fails: between what a
 * driver has done and what it is about to do.
 *
 *	struct stall *stall = stall_new();
 *
 *	... another thread calls something that answers to stall->page ...
 *	stall_reached(stall);
 *	... look at what is half done ...
 *	stall_fail(stall);		the call ends with EFAULT
 */
#ifndef SELFTESTS_STALL_H
#define SELFTESTS_STALL_H

#include <stdbool.h>

struct stall {
	void *page;
	int fd;		/* userfaultfd */
};

/* NULL if the kernel has no userfaultfd; undone at the end of the test */
struct stall *stall_new(void);
/* waits until somebody has come to the page; must happen */
void stall_reached(const struct stall *stall);
/* Whoever came finds no memory there. */
void stall_fail(struct stall *stall);

#endif /* SELFTESTS_STALL_H */
