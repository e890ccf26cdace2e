/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DVQ_TRACE header of order_test.c: stores, fences and doorbells in the order in
 * which they happen, as a string of one word each.
 */
#ifndef SELFTESTS_TRACE_H
#define SELFTESTS_TRACE_H

#include <stdio.h>
#include <string.h>

static char trace_log[4096];

static inline void trace_clear(void)
{
	trace_log[0] = '\0';
}

static inline void trace_add(const char *word)
{
	size_t used = strlen(trace_log);

	snprintf(trace_log + used, sizeof(trace_log) - used, "%s%s", used ? " " : "", word);
}

static inline void trace_add_doorbell(unsigned long long value)
{
	char word[32];

	snprintf(word, sizeof(word), "db:%#llx", value);
	trace_add(word);
}

#define dvq_trace_fence(name)			trace_add(name)
#define dvq_trace_store(address, bytes)		((void)(address), trace_add("store" #bytes))
#define dvq_trace_doorbell(address, value)	((void)(address), trace_add_doorbell(value))
#define dvq_trace_load(address)			((void)(address), trace_add("phase"))

#endif /* SELFTESTS_TRACE_H */
