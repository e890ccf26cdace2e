/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test program in one header: TAP version 13 on standard output.
 *
 *	TEST(ring_wraps)
 *	{
 *		struct ring *r = ring_new(4);
 *
 *		REQUIRE(r);			ends the test if false
 *		CHECK_EQ(ring_free(r), 4);	notes the failure and goes on
 *	}
 *	TAP_MAIN
 *
 * Tests run in the order they are written, in one process. The exit status is 0
 * if none failed, 1 if one did, 4 if all were skipped. With arguments only the
 * tests named by them run. Checks belong to the thread that runs the test.
 */
#ifndef SELFTESTS_TAP_H
#define SELFTESTS_TAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*run)(void);
	struct tap_test *next;
};

static struct {
	struct tap_test *first, **end;
	unsigned int failures;	/* of the running test */
	bool skipped;
	char reason[200];
	jmp_buf out;
} tap = { .end = &tap.first };

#define TEST(test_name)								\
	static void test_name(void);						\
	static struct tap_test test_name##_entry = { #test_name, test_name, NULL };	\
	__attribute__((constructor)) static void test_name##_add(void)		\
	{									\
		*tap.end = &test_name##_entry;					\
		tap.end = &test_name##_entry.next;				\
	}									\
	static void test_name(void)

__attribute__((format(printf, 3, 4)))
static inline void tap_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	tap.failures++;
}

/* ends the running test as skipped; the reason says what is missing */
__attribute__((noreturn, unused)) static void tap_skip(const char *reason)
{
	snprintf(tap.reason, sizeof(tap.reason), "%s", reason);
	tap.skipped = true;
	longjmp(tap.out, 1);
}

#define SKIP(reason) tap_skip(reason)

#define CHECK(condition)							\
	do {									\
		if (!(condition))						\
			tap_fail(__FILE__, __LINE__, "%s", #condition);		\
	} while (0)

#define REQUIRE(condition)							\
	do {									\
		if (!(condition)) {						\
			tap_fail(__FILE__, __LINE__, "%s", #condition);		\
			longjmp(tap.out, 1);					\
		}								\
	} while (0)

/* integers of any type; both are shown */
#define CHECK_EQ(have, want)							\
	do {									\
		long long have_ = (long long)(have), want_ = (long long)(want);	\
		if (have_ != want_)						\
			tap_fail(__FILE__, __LINE__, "%s is %lld (0x%llx), wanted %lld (0x%llx)", \
				 #have, have_, (unsigned long long)have_, want_,	\
				 (unsigned long long)want_);			\
	} while (0)

#define CHECK_STR(have, want)							\
	do {									\
		const char *have_ = (have), *want_ = (want);			\
		if (strcmp(have_, want_))					\
			tap_fail(__FILE__, __LINE__, "%s is \"%s\", wanted \"%s\"",	\
				 #have, have_, want_);				\
	} while (0)

/* @have contains @want */
#define CHECK_CONTAINS(have, want)						\
	do {									\
		const char *have_ = (have), *want_ = (want);			\
		if (!strstr(have_, want_))					\
			tap_fail(__FILE__, __LINE__, "\"%s\" is not in %s, which is \"%s\"", \
				 want_, #have, have_);				\
	} while (0)

static bool tap_wanted(const char *name, int argc, char **argv)
{
	if (argc < 2)
		return true;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

/* of its own, so that no variable lives across the jump */
static void tap_run(const struct tap_test *test)
{
	tap.failures = 0;
	tap.skipped = false;
	if (!setjmp(tap.out))
		test->run();
}

static int tap_main(int argc, char **argv)
{
	unsigned int count = 0, failed = 0, skipped = 0, number = 0;

	for (struct tap_test *test = tap.first; test; test = test->next)
		count += tap_wanted(test->name, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%u\n", count);
	for (struct tap_test *test = tap.first; test; test = test->next) {
		if (!tap_wanted(test->name, argc, argv))
			continue;
		tap_run(test);
		failed += tap.failures != 0;
		skipped += tap.skipped && !tap.failures;
		printf("%s %u - %s", tap.failures ? "not ok" : "ok", ++number, test->name);
		printf(tap.skipped ? " # SKIP %s\n" : "\n", tap.reason);
	}
	if (!count) {
		fprintf(stderr, "no test has that name\n");
		return 1;
	}
	return failed ? 1 : skipped == count ? 4 : 0;
}

#define TAP_MAIN								\
	int main(int argc, char **argv)						\
	{									\
		return tap_main(argc, argv);					\
	}

#endif /* SELFTESTS_TAP_H */
