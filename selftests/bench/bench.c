// SPDX-License-Identifier: GPL-2.0
#include "bench.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

/* ---- figures ------------------------------------------------------------------------ */

/* our own words, which need no escapes */
void bench_say_why(const struct bench_case *what, const char *measure, const char *subject, double value,
		   const char *why)
{
	printf("{\"part\": \"%s\", \"adapter\": \"%s\", \"case\": \"%s\", ", what->part, what->adapter,
	       what->name);
	if (what->batch)
		printf("\"batch\": %u, ", what->batch);
	if (why)
		printf("\"why\": \"%s\", ", why);
	printf("\"measure\": \"%s\", \"subject\": \"%s\", \"value\": %.10g}\n", measure, subject, value);
	fflush(stdout);
}

void bench_say(const struct bench_case *what, const char *measure, const char *subject, double value)
{
	bench_say_why(what, measure, subject, value, NULL);
}

/* ---- counting ----------------------------------------------------------------------- */

#ifndef __x86_64__
#error "instructions are counted on x86-64 only"
#endif

#define MOST	(1 << 20)	/* instructions of one run */

/* where the processor was at each step */
static uint64_t steps[MOST];
static volatile unsigned int taken;

/* the kernel lets a handler run at full speed, and goes on stepping when it returns */
static void on_step(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (taken < MOST)
		steps[taken++] = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

static void listen_for_steps(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGTRAP, &action, NULL))
		abort();
}

/* The processor's trap flag. Over the stack's red zone, which may be in use */
#define TRAP_FLAG(operation)					\
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"		\
			 "pushfq\n\t"				\
			 operation "\n\t"			\
			 "popfq\n\t"				\
			 "lea 128(%%rsp), %%rsp" : : : "memory", "cc")

__attribute__((noinline)) static void step_through(void (*what)(void *arg), void *arg)
{
	taken = 0;
	TRAP_FLAG("orq $0x100, (%%rsp)");
	what(arg);
	TRAP_FLAG("andq $~0x100, (%%rsp)");
}

__attribute__((noinline)) static void nothing(void *arg)
{
	__asm__ volatile("" : : "r"(arg) : "memory");
}

static struct bench_object *object_named(struct bench_count *count, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned int i;

	for (i = 0; i < count->objects; i++)
		if (!strcmp(count->object[i].name, name))
			return &count->object[i];
	if (i == BENCH_OBJECTS)
		return &count->object[i - 1];
	snprintf(count->object[i].name, sizeof(count->object[i].name), "%.47s", name);
	count->objects++;
	return &count->object[i];
}

static uint64_t steps_between(uint64_t start, uint64_t end)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < taken; i++)
		n += steps[i] >= start && steps[i] < end;
	return n;
}

/* by the files that are mapped where they were; @around: of our own that do not count */
static void sort_out(struct bench_count *count, uint64_t around)
{
	const uint64_t ours = (uint64_t)(uintptr_t)nothing;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], mode[8], path[256];
	uint64_t start, end, n;

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %255s", &start, &end, mode,
			   path) != 4 || mode[2] != 'x')
			continue;
		n = steps_between(start, end);
		if (ours >= start && ours < end)
			n -= around;
		if (n)
			object_named(count, path)->of += n;
	}
	if (maps)
		fclose(maps);
}

const struct bench_count *bench_count(void (*what)(void *arg), void *arg)
{
	static struct bench_count count;
	static unsigned int around;

	if (!around) {
		listen_for_steps();
		step_through(nothing, NULL);
		around = taken;
	}
	memset(&count, 0, sizeof(count));
	step_through(what, arg);
	count.all = taken - around;
	sort_out(&count, around);
	return &count;
}

/* ---- time --------------------------------------------------------------------------- */

uint64_t bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), compare);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

uint64_t bench_clock(void)
{
	static uint64_t clock;
	double took[101];

	if (!clock) {
		for (unsigned int i = 0; i < 101; i++) {
			uint64_t start = bench_now();

			took[i] = (double)(bench_now() - start);
		}
		clock = (uint64_t)bench_median(took, 101);
	}
	return clock;
}
