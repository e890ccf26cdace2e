/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The frame of a test of adapters: tap.h plus adapters, cleaning up, a time limit for
 * every test, and the model's opinion at its end. What it is like for one kind of adapter
 * is in efa_test.h and ionic_test.h.
 *
 *	ADAPTER_TEST(send_arrives)
 *	{
 *		struct duo duo = duo_new(NULL);
 *		...
 *	}
 *	ADAPTER_TEST_MAIN(ADAPTER_ANY)
 *
 * To be included by one source file of a program. Without an adapter the program
 * says what to do and ends with status 4 (1 if one was named). At the end of each test everything the
 * library made is undone, and the model is asked whether the driver or the test did
 * anything that a correct one would not: a test that means to calls
 * expect_violations().
 */
#ifndef SELFTESTS_ADAPTER_TEST_H
#define SELFTESTS_ADAPTER_TEST_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../native/tap.h"
#include "adapter.h"
#include "buffer.h"
#include "cq.h"
#include "endpoint.h"
#include "lab.h"
#include "model.h"
#include "work.h"

#define TEST_SECONDS	(120 * lab_slow())	/* for one test; then it hangs */

static struct {
	const char *name;
	bool running;
	bool violations;	/* are expected */
} adapter_test;

void lab_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	tap.failures++;
	if (!adapter_test.running) {
		fflush(stdout);
		_exit(1);
	}
	longjmp(tap.out, 1);
}

void lab_note(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	tap.failures++;
}

/* write and _exit only: the signal may come anywhere */
static void adapter_test_hangs(int signal)
{
	static const char text[] = "Bail out! hangs: ";

	(void)signal;
	if (write(1, text, sizeof(text) - 1) < 0 ||
	    write(1, adapter_test.name, strlen(adapter_test.name)) < 0 || write(1, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* this one takes longer */
__attribute__((unused)) static void allow_seconds(unsigned int seconds)
{
	alarm(seconds * lab_slow());
}

__attribute__((unused)) static void expect_violations(void)
{
	adapter_test.violations = true;
}

static void adapter_test_violations(const struct adapter *adapter)
{
	const char *text;
	char *end;

	if (!adapter->model[0])
		return;
	text = model_ask(adapter->model, "violations");
	if (strtoull(text, &end, 10) && !adapter_test.violations)
		lab_note(__FILE__, __LINE__, "the model objects:%s", end);
	model_ask(adapter->model, "violations clear");
	model_ask(adapter->model, "inject clear");
	/* an adapter without a driver has no port, and nothing to lose */
	model_try(adapter->model, NULL, "drop count=0");
}

static void adapter_test_end(void)
{
	lab_drop_all();
	adapter_test_violations(self);
	if (peer != self)
		adapter_test_violations(peer);
}

/* runs @part; true if it came to its end */
static bool adapter_test_part(void (*part)(void))
{
	jmp_buf out;
	bool ended = false;

	memcpy(&out, &tap.out, sizeof(out));
	if (!setjmp(tap.out)) {
		part();
		ended = true;
	}
	memcpy(&tap.out, &out, sizeof(out));
	return ended;
}

static void adapter_test_run(const char *name, void (*body)(void))
{
	if (!adapter_test.name)
		printf("# %s and %s, driven by %s\n", adapter_name(self),
		       peer == self ? "itself" : adapter_name(peer),
		       self->dvq ? "dvq" : "another driver");
	adapter_test.name = name;
	adapter_test.violations = false;
	adapter_test.running = true;
	alarm(TEST_SECONDS);
	adapter_test_part(body);
	adapter_test_part(adapter_test_end);
	alarm(0);
	adapter_test.running = false;
}

#define ADAPTER_TEST(test_name)							\
	static void test_name##_body(void);					\
	TEST(test_name)								\
	{									\
		adapter_test_run(#test_name, test_name##_body);			\
	}									\
	static void test_name##_body(void)

/* for tests that may cut a machine off; modelled adapters are nobody's */
__attribute__((unused)) static void need_leave(void)
{
	const char *leave = getenv("DVQ_DISRUPTIVE");

	if (!model_present() && (!leave || strcmp(leave, "yes")))
		SKIP("may cut this machine off from its network: DVQ_DISRUPTIVE=yes allows that");
}

__attribute__((unused)) static void need_model(void)
{
	if (!self->model[0] || !peer->model[0])
		SKIP("needs the modelled adapter's control channel");
}

__attribute__((unused)) static void need_efa(void)
{
	if (self->kind != ADAPTER_EFA)
		SKIP("is about EFA");
}

__attribute__((unused)) static void need_ionic(void)
{
	if (self->kind != ADAPTER_IONIC)
		SKIP("is about ionic");
}

static bool has_events(const struct adapter *adapter)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(adapter->context);
	struct ibv_cq *cq = channel ? ibv_create_cq(adapter->context, 1, NULL, channel, 0) : NULL;
	int err = errno;

	if (cq)
		ibv_destroy_cq(cq);
	if (channel)
		ibv_destroy_comp_channel(channel);
	return cq || err != EOPNOTSUPP;
}

__attribute__((unused)) static void need_events(void)
{
	if (!has_events(self) || !has_events(peer))
		SKIP("the adapter has no event queues");
}

/*
 * Runs @body in a child process, which must not touch the model nor what its parent
 * made. Returns its pid.
 */
__attribute__((unused)) static pid_t child_start(void (*body)(void *arg), void *arg)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	LAB_NEED(pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	lab_forget_all();
	model_leave();
	alarm(TEST_SECONDS);
	tap.failures = 0;
	if (!setjmp(tap.out))
		body(arg);
	fflush(stdout);
	_exit(tap.failures ? 1 : 0);
}

/* waits for a child; its failures are failures of the test */
__attribute__((unused)) static void child_end(pid_t pid)
{
	int status;

	LAB_NEED(waitpid(pid, &status, 0) == pid, "waitpid: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		lab_note(__FILE__, __LINE__, "a child process failed, status 0x%x", status);
}

static int adapter_test_main(enum adapter_kind kind, int argc, char **argv)
{
	char why[200];
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (adapter_is_missing(why, sizeof(why))) {
		printf("TAP version 13\nBail out! %s\n", why);
		return 1;
	}
	if (!adapters_find(kind, why, sizeof(why))) {
		printf("TAP version 13\n1..0 # SKIP %s\n", why);
		return 4;
	}
	signal(SIGALRM, adapter_test_hangs);
	adapters_open();
	status = tap_main(argc, argv);
	adapters_close();
	return status;
}

#define ADAPTER_TEST_MAIN(kind)							\
	int main(int argc, char **argv)						\
	{									\
		return adapter_test_main(kind, argc, argv);			\
	}

#endif /* SELFTESTS_ADAPTER_TEST_H */
