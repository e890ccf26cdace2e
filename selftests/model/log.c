// SPDX-License-Identifier: GPL-2.0
#include <stdarg.h>
#include <time.h>

#include "log.h"

static FILE *log_file;
static bool traces;
static struct timespec start;

void log_to(FILE *file, bool verbose)
{
	log_file = file;
	traces = verbose;
	clock_gettime(CLOCK_MONOTONIC, &start);
}

bool log_verbose(void)
{
	return log_file && traces;
}

static void write_line(const char *who, const char *fmt, va_list args)
{
	struct timespec now;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &now);
	seconds = now.tv_sec - start.tv_sec + (now.tv_nsec - start.tv_nsec) / 1e9;

	/* both threads write: one lock of the stream around the whole line */
	flockfile(log_file);
	fprintf(log_file, "%11.6f %s: ", seconds, who);
	vfprintf(log_file, fmt, args);
	fputc('\n', log_file);
	funlockfile(log_file);
}

void log_note(const char *who, const char *fmt, ...)
{
	va_list args;

	if (!log_file)
		return;
	va_start(args, fmt);
	write_line(who, fmt, args);
	va_end(args);
	fflush(log_file);
}

void log_trace(const char *who, const char *fmt, ...)
{
	va_list args;

	if (!log_verbose())
		return;
	va_start(args, fmt);
	write_line(who, fmt, args);
	va_end(args);
}
