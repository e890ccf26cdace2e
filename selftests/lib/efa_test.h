/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guest test of EFA in one header: tap.h plus adapters, cleaning up, a time
 * limit for every test, and the model's opinion at its end.
 *
 *	EFA_TEST(send_arrives)
 *	{
 *		struct duo duo = duo_new(NULL);
 *		...
 *	}
 *	EFA_TEST_MAIN
 *
 * To be included by one source file of a program. Without an adapter the program
 * says what to do and ends with status 4. At the end of each test everything the
 * library made is undone, and the model is asked whether the driver or the test did
 * anything that a correct one would not: a test that means to calls
 * expect_violations().
 */
#ifndef SELFTESTS_EFA_TEST_H
#define SELFTESTS_EFA_TEST_H

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

#define TEST_SECONDS	120	/* for one test; then it hangs */

static struct {
	const char *name;
	bool running;
	bool violations;	/* are expected */
} efa_test;

void lab_fail(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("# %s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	tap.failures++;
	if (!efa_test.running) {
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
static void efa_test_hangs(int signal)
{
	static const char text[] = "Bail out! hangs: ";

	(void)signal;
	if (write(1, text, sizeof(text) - 1) < 0 ||
	    write(1, efa_test.name, strlen(efa_test.name)) < 0 || write(1, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* this one takes longer */
__attribute__((unused)) static void allow_seconds(unsigned int seconds)
{
	alarm(seconds);
}

__attribute__((unused)) static void expect_violations(void)
{
	efa_test.violations = true;
}

static void efa_test_violations(const struct adapter *adapter)
{
	const char *text;
	char *end;

	if (!adapter->model[0])
		return;
	text = model_ask(adapter->model, "violations");
	if (strtoull(text, &end, 10) && !efa_test.violations)
		lab_note(__FILE__, __LINE__, "the model objects:%s", end);
	model_ask(adapter->model, "violations clear");
	model_ask(adapter->model, "inject clear");
}

static void efa_test_end(void)
{
	lab_drop_all();
	efa_test_violations(self);
	if (peer != self)
		efa_test_violations(peer);
}

/* runs @part; true if it came to its end */
static bool efa_test_part(void (*part)(void))
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

static void efa_test_run(const char *name, void (*body)(void))
{
	if (!efa_test.name)
		printf("# %s and %s, driven by %s\n", adapter_name(self),
		       peer == self ? "itself" : adapter_name(peer),
		       self->dvq ? "dvq_efa" : "another driver");
	efa_test.name = name;
	efa_test.violations = false;
	efa_test.running = true;
	alarm(TEST_SECONDS);
	efa_test_part(body);
	efa_test_part(efa_test_end);
	alarm(0);
	efa_test.running = false;
}

#define EFA_TEST(test_name)							\
	static void test_name##_body(void);					\
	TEST(test_name)								\
	{									\
		efa_test_run(#test_name, test_name##_body);			\
	}									\
	static void test_name##_body(void)

/* the same test over both transports: test_name_srd and test_name_ud */
#define EFA_TEST_BOTH(test_name)						\
	static void test_name(enum transport transport);			\
	EFA_TEST(test_name##_srd) { test_name(SRD); }				\
	EFA_TEST(test_name##_ud) { test_name(UD); }				\
	static void test_name(enum transport transport)

__attribute__((unused)) static void need_model(void)
{
	if (!self->model[0] || !peer->model[0])
		SKIP("needs the modelled adapter's control channel");
}

__attribute__((unused)) static void need_caps(uint32_t caps, const char *what)
{
	if (!adapter_can(self, caps) || !adapter_can(peer, caps))
		SKIP(what);
}

__attribute__((unused)) static void need_read(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RDMA_READ, "the adapter has no RDMA read");
}

__attribute__((unused)) static void need_write(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, "the adapter has no RDMA write");
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

__attribute__((unused)) static void need_wide(void)
{
	if (self->efa.inline_buf_size_ex <= self->efa.inline_buf_size)
		SKIP("the adapter has no wide send entries");
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

static int efa_test_main(int argc, char **argv)
{
	char why[200];
	int status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!adapters_find(why, sizeof(why))) {
		printf("TAP version 13\n1..0 # SKIP %s\n", why);
		return 4;
	}
	signal(SIGALRM, efa_test_hangs);
	adapters_open();
	status = tap_main(argc, argv);
	adapters_close();
	return status;
}

#define EFA_TEST_MAIN								\
	int main(int argc, char **argv)						\
	{									\
		return efa_test_main(argc, argv);				\
	}

#endif /* SELFTESTS_EFA_TEST_H */
