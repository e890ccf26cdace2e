// SPDX-License-Identifier: GPL-2.0
#include "show.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned int complaints;

void lab_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("FAILED at %s:%d: ", file, line);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	exit(1);
}

void lab_note(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("WRONG at %s:%d: ", file, line);
	vprintf(fmt, args);
	putchar('\n');
	va_end(args);
	complaints++;
}

uint64_t show_told(const char *text, const char *key)
{
	uint64_t value;

	LAB_NEED(model_find(text, key, &value), "the model does not tell %s", key);
	return value;
}

void show_row(const char *what, uint64_t mine, uint64_t models)
{
	printf("    %-24s %10" PRIu64 " %10" PRIu64 "\n", what, mine, models);
	if (mine != models)
		lab_note(__FILE__, __LINE__, "%s differs", what);
}

void show_growth(const char *target, const struct model_stats *before, const char *what,
		 const char *key, uint64_t want)
{
	uint64_t got = model_delta(target, before, key);

	printf("  the model saw %" PRIu64 " %s, %" PRIu64 " were posted\n", got, what, want);
	if (got != want)
		lab_note(__FILE__, __LINE__, "%s: %" PRIu64 " is not %" PRIu64, key, got, want);
}

void show_violations(void)
{
	const char *text;

	if (!model_present())
		return;
	text = model_ask("*", "violations");
	printf("\nviolations that the models recorded: %s\n", text);
	if (strtoull(text, NULL, 10))
		complaints++;
}

int show_result(void)
{
	return complaints ? 1 : 0;
}
