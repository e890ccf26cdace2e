/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting of instructions on the real processor, one by one: a child runs bursts of
 * COST_BURST between two breakpoints, the parent steps it through. The numbers repeat exactly,
 * so a change that makes the data path longer fails a test.
 */
#ifndef SELFTESTS_COST_H
#define SELFTESTS_COST_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define COST_BURST	16
#define COST_WARM_UP	3
#define COST_MEASURE	4	/* bursts that the child runs between breakpoints */

/* the parent sees it as a stop that is no single step */
#ifdef __x86_64__
#define COST_BREAKPOINT()	__asm__ volatile("int3" ::: "memory")
#else
#define COST_BREAKPOINT()	abort()
#endif

/* the child, before its first breakpoint */
static inline void cost_watch_me(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
}

static inline bool cost_is_step(pid_t pid)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && info.si_code == TRAP_TRACE;
}

/* steps the child through; instructions per request; negative: it did not work */
static inline double cost_follow(pid_t pid)
{
	unsigned long steps = 0, bursts = 0;
	bool inside = false;
	int status;

	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) != SIGTRAP) {
			kill(pid, SIGKILL);
			continue;
		}
		if (cost_is_step(pid)) {
			steps++;
		} else {
			bursts += inside;
			inside = !inside;
		}
		ptrace(inside ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) || bursts != COST_MEASURE)
		return -1;
	return (double)steps / COST_MEASURE / COST_BURST;
}

/* runs @child, which does not return; what a request costs */
static inline double cost_of(const char *name, void (*child)(const void *arg), const void *arg)
{
	double n = 0;

#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
	(void)name;
	(void)child;
	(void)arg;
	SKIP("counts optimised code without sanitizers on x86-64 only");
#else
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		child(arg);
	n = cost_follow(pid);
	REQUIRE(n > 0);
	printf("# %s: %.1f instructions\n", name, n);
#endif
	return n;
}

/* at most @limit */
static inline void cost_check(const char *name, unsigned int limit, void (*child)(const void *arg),
			      const void *arg)
{
	CHECK(cost_of(name, child, arg) <= limit);
}

#define COST_MOST_QPS	64

/* @base, and one instruction more in a request at most: where a ring ends there are some more */
static inline void cost_check_same(const char *name, double base, void (*child)(const void *arg),
				   const void *arg)
{
	const double n = cost_of(name, child, arg);

	CHECK(n < base + 1 && n > base - 1);
}

/* It costs the same however large the ring and however many the queues: @entries and @qps are in @arg. */
static inline void cost_check_flat(const char *name, void (*child)(const void *arg), const void *arg,
				   uint32_t *entries, uint32_t *qps)
{
	const double base = cost_of(name, child, arg);

	for (*entries = 32; *entries <= 16384; *entries *= 8)
		cost_check_same(name, base, child, arg);
	*entries = 0;
	*qps = COST_MOST_QPS;
	cost_check_same(name, base, child, arg);
}

#endif /* SELFTESTS_COST_H */
