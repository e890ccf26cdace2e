/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The failure sweep: an operation is done again and again, and each time the next thing in it
 * fails, until there is none left. After each time nothing has changed: not in the adapter, not
 * in the kernel's accounts, not in the process; and without a fault it succeeds.
 *
 *	static const struct operation create = { "create_cq", .run = make_cq, .undo = drop_cq };
 *
 *	sweep_commands(&create);
 */
#ifndef SELFTESTS_SWEEP_H
#define SELFTESTS_SWEEP_H

#include <stdbool.h>

#include "adapter.h"

struct operation;

/* 0 or a negative errno */
typedef int (*step_fn)(const struct operation *operation);

/**
 * struct operation - what is done with something failing
 *
 * @name: for reports
 * @run: does it. It neither prints nor allocates, and undoes what it did itself before it fails
 * @prepare, @undo, @tidy: what has to be there, the reverse of @run, the reverse of @prepare; nothing
 *	fails in these. NULL: nothing to do
 * @held: after a failure: is everything as it was? What the accounts do not show
 * @expect: the documented result when @command fails with @err, or is not answered; NULL: that
 * @offered: not every adapter or kernel has it; for the caller of these functions
 * @destroys: what it is about is gone afterwards, also if only the answer cannot be given
 * @partly: what has succeeded before the failure is not undone; to do it again does the rest
 * @answers: its result is told by another call of the kernel, and is not known if that fails; so its
 *	allocations are left out
 * @untracked: a kind of resource that the core no longer accounts for once its driver was asked to
 *	destroy it, whatever the answer
 * @arg: for the functions, as are @from and @to
 */
struct operation {
	const char *name;
	step_fn run, prepare, undo, tidy;
	bool (*held)(const struct operation *operation);
	int (*expect)(const char *command, int err);
	bool (*offered)(void);
	bool destroys, partly, answers;
	const char *untracked;
	int arg, from, to;
};

/* a sweep over several operations begins: no kind of admin command has failed yet */
void sweep_begin(void);
/* and ends: each of these, up to NULL, must have, or it was a sweep over nothing */
void sweep_expect(const char *const *commands);
/* each of its admin commands is refused, in several ways; needs the model */
void sweep_commands(const struct operation *operation);
/*
 * The first of its admin commands that no operation before had is not answered, which is the end of
 * the adapter: what is held can still be dropped. False if there is no such command, and nothing
 * has happened. Needs the model
 */
bool sweep_silence(const struct operation *operation);
/* NULL, or why this kernel cannot make allocations fail */
const char *sweep_no_allocations(void);
/* each allocation, and each access to the caller's memory */
void sweep_allocations(const struct operation *operation);

#endif /* SELFTESTS_SWEEP_H */
