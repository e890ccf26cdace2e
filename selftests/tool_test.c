// SPDX-License-Identifier: GPL-2.0
/*
 * The command dvq on an adapter: what it prints of live queues is what the kernel answers, usage
 * errors are one sentence and status 2. The command is $DVQ_BUILD/tools/dvq, or else the one in
 * the path.
 */
#include <dvq/dvq.h>
#include <infiniband/efadv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/efa_test.h"

/* runs it with both outputs in @text; its exit status */
static int run(char *text, size_t size, const char *arguments)
{
	const char *build = getenv("DVQ_BUILD");
	char command[512];
	size_t n;
	FILE *pipe;
	int status;

	snprintf(command, sizeof(command), "%s%sdvq %s 2>&1", build ? build : "",
		 build ? "/tools/" : "", arguments);
	pipe = popen(command, "r");
	REQUIRE(pipe);
	n = fread(text, 1, size - 1, pipe);
	text[n] = 0;
	status = pclose(pipe);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		SKIP("needs the command dvq: build it, or name the build directory in DVQ_BUILD");
	REQUIRE(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* @text has a line with both words */
static bool has_line(const char *text, const char *a, const char *b)
{
	for (const char *line = text; *line; ) {
		size_t n = strcspn(line, "\n");
		char copy[512];

		snprintf(copy, sizeof(copy), "%.*s", (int)n, line);
		if (strstr(copy, a) && strstr(copy, b))
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

EFA_TEST(list_names_device_and_driver)
{
	char text[8192];

	CHECK_EQ(run(text, sizeof(text), "list"), 0);
	if (self->dvq) {
		CHECK(has_line(text, adapter_name(self), "dvq_efa"));
		CHECK(has_line(text, adapter_name(self), " yes "));
		CHECK(has_line(text, adapter_name(self), "sq-always-cmb"));
	} else {
		CHECK(has_line(text, adapter_name(self), " no "));
	}
}

static void show(char *text, size_t size)
{
	char arguments[128];

	snprintf(arguments, sizeof(arguments), "show %s", adapter_name(self));
	CHECK_EQ(run(text, size, arguments), 0);
}

static void expect_queues(const char *text, struct endpoint *e, const char *type)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	char want[64];

	REQUIRE(!dvq_qp_query(e->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)));
	snprintf(want, sizeof(want), "QP %-6u %-6s", e->qp->qp_num, type);
	CHECK(has_line(text, want, "RTS"));
	snprintf(want, sizeof(want), "%7u x %3u B", sq.entries, sq.entry_size);
	CHECK(has_line(text, "SQ  cmb", want));
	CHECK(has_line(text, "SQ  cmb", "hints"));
	snprintf(want, sizeof(want), "%7u x %3u B", rq.entries, rq.entry_size);
	CHECK(has_line(text, "RQ  host", want));
	snprintf(want, sizeof(want), "ring %8" PRIu64 " B", (uint64_t)rq.ring_length);
	CHECK(has_line(text, "RQ  host", want));
}

static void show_queues(enum transport transport, const char *type)
{
	struct endpoint *e = endpoint_new(self, &(struct endpoint_options){
						.transport = transport });
	char text[8192];

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_efa");
	show(text, sizeof(text));
	expect_queues(text, e, type);
}

EFA_TEST(show_ud_queues)
{
	show_queues(UD, "UD");
}

EFA_TEST(show_srd_queues)
{
	show_queues(SRD, "driver");
}

EFA_TEST(show_without_queues)
{
	char text[8192];

	show(text, sizeof(text));
	CHECK_CONTAINS(text, "has no QPs");
}

EFA_TEST(wrong_usage)
{
	const char *const wrong[] = { "", "list x", "show", "show a b", "nonsense" };
	char text[8192];

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(run(text, sizeof(text), wrong[i]), 2);
		CHECK_CONTAINS(text, "usage: dvq list | dvq show DEV");
	}
	CHECK_EQ(run(text, sizeof(text), "show nosuchdevice"), 1);
	CHECK_CONTAINS(text, "there is no such RDMA device");
}

EFA_TEST_MAIN
