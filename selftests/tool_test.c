// SPDX-License-Identifier: GPL-2.0
/*
 * The command dvq on an adapter: what it prints of live queues is what the kernel answers, usage
 * errors are one sentence and status 2. The command is $DVQ_BUILD/tools/dvq, or else the one in
 * the path.
 */
#include <dvq/dvq.h>
#include <infiniband/ionic_dv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/adapter_test.h"

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

static bool is_ionic(void)
{
	return self->kind == ADAPTER_IONIC;
}

ADAPTER_TEST(list_names_device_and_driver)
{
	char text[8192];

	CHECK_EQ(run(text, sizeof(text), "list"), 0);
	if (self->dvq) {
		CHECK(has_line(text, adapter_name(self), is_ionic() ? "dvq_ionic" : "dvq_efa"));
		CHECK(has_line(text, adapter_name(self), " yes "));
		CHECK(has_line(text, adapter_name(self), is_ionic() ? "rdma-write" : "sq-always-cmb"));
	} else {
		CHECK(has_line(text, adapter_name(self), " no "));
	}
}

static void ask(const char *command, char *text, size_t size)
{
	char arguments[128];

	snprintf(arguments, sizeof(arguments), "%s %s", command, adapter_name(self));
	CHECK_EQ(run(text, size, arguments), 0);
}

static const char *mem_name(const struct dvq_wq_info *wq)
{
	return wq->mem == DVQ_MEM_CMB ? "cmb" : wq->mem == DVQ_MEM_USER ? "user" : "host";
}

static void expect_queue(const char *text, const char *name, const struct dvq_wq_info *wq)
{
	char head[32], want[64];

	snprintf(head, sizeof(head), "%s  %s", name, mem_name(wq));
	snprintf(want, sizeof(want), "%7u x %3u B", wq->entries, wq->entry_size);
	CHECK(has_line(text, head, want));
	snprintf(want, sizeof(want), "ring %8" PRIu64 " B", (uint64_t)wq->ring_length);
	CHECK(has_line(text, head, want));
	snprintf(want, sizeof(want), "doorbell +0x%03x  pipeline %u", wq->db_offset, wq->pipeline);
	CHECK(has_line(text, head, want));
}

static void expect_queues(const char *text, struct endpoint *e, const char *type)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	char want[64];

	REQUIRE(!dvq_qp_query(e->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)));
	snprintf(want, sizeof(want), "QP %-6u %-6s", e->qp->qp_num, type);
	CHECK(has_line(text, want, e->qp->state == IBV_QPS_RTS ? "RTS" : "INIT"));
	expect_queue(text, "SQ", &sq);
	expect_queue(text, "RQ", &rq);
	if (sq.caps & DVQ_WQ_HINTS)
		CHECK(has_line(text, "SQ  cmb", "hints"));
	if (sq.caps & DVQ_WQ_EXPDB)
		CHECK(has_line(text, "SQ  cmb", "express"));
}

static void need_dvq(void)
{
	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq");
}

static void show_queues(enum transport transport, const char *type)
{
	struct endpoint *e;
	char text[8192];

	need_dvq();
	e = endpoint_new(self, &(struct endpoint_options){ .transport = transport });
	ask("show", text, sizeof(text));
	expect_queues(text, e, type);
}

ADAPTER_TEST(show_ud_queues)
{
	show_queues(UD, "UD");
}

ADAPTER_TEST(show_reliable_queues)
{
	show_queues(RELIABLE, is_ionic() ? "RC" : "driver");
}

/* The kernel has one of its own on an adapter that has a connection manager. */
ADAPTER_TEST(show_without_queues)
{
	char text[8192];

	if (is_ionic() && !self->dvq)
		SKIP("the in-tree driver tells nothing of the kernel's queues");
	ask("show", text, sizeof(text));
	if (is_ionic()) {
		CHECK(has_line(text, "QP 1      GSI", "RTS"));
		CHECK(has_line(text, "SQ  host", "256 x  64 B"));
		CHECK(!strstr(strstr(text, "QP ") + 1, "QP "));
	} else {
		CHECK_CONTAINS(text, "has no QPs");
	}
}

/* ---- placement ---------------------------------------------------------------------- */

static uint64_t caps(void)
{
	struct dvq_device_info info;

	REQUIRE(!dvq_device_query(self->context, &info, sizeof(info)));
	return info.caps;
}

ADAPTER_TEST(placement_on_efa)
{
	char text[8192];

	need_dvq();
	if (is_ionic())
		SKIP("is about EFA");
	endpoint_new(self, NULL);
	ask("placement", text, sizeof(text));
	CHECK_CONTAINS(text, "there is nothing to choose");
	CHECK(has_line(text, "  send queue ", "controller memory, "));
	CHECK(has_line(text, "  receive queue ", "host memory, "));
}

static const char *const places[] = {
	"host memory of the program", "controller memory", "controller memory with express doorbell",
};

/* a QP with both queues there, and the lines that say so, with their sizes */
static void expect_place(int place)
{
	struct endpoint_options options = { .transport = UD, .send_sge = 1, .recv_sge = 1,
					    .pd = pd_new(self) };
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	struct endpoint *e;
	char text[8192], want[128];

	REQUIRE(!ionic_dv_pd_set_sqcmb(options.pd, place > 0, place > 1, place > 0));
	REQUIRE(!ionic_dv_pd_set_rqcmb(options.pd, place > 0, place > 1, place > 0));
	e = endpoint_new(self, &options);
	REQUIRE(!dvq_qp_query(e->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)));
	ask("placement", text, sizeof(text));
	snprintf(want, sizeof(want), "QP %u UD pid %d", e->qp->qp_num, (int)getpid());
	CHECK_CONTAINS(text, want);
	snprintf(want, sizeof(want), "  send queue     %s, %u bytes\n", places[place],
		 sq.entries * sq.entry_size);
	CHECK_CONTAINS(text, want);
	snprintf(want, sizeof(want), "  receive queue  %s, %u bytes\n", places[place],
		 rq.entries * rq.entry_size);
	CHECK_CONTAINS(text, want);
	CHECK_EQ(endpoint_destroy(e), 0);
}

ADAPTER_TEST(placement_on_ionic)
{
	struct dvq_device_info info;
	char text[8192], want[128];

	need_dvq();
	if (!is_ionic())
		SKIP("is about ionic");
	ask("placement", text, sizeof(text));
	CHECK_CONTAINS(text, "modes: send queues on, receive queues explicit");
	/* the connection manager's, and no other */
	CHECK_CONTAINS(text, "QP 1 GSI [ib_core]\n  send queue     host memory, ");
	CHECK(!strstr(strstr(text, "QP ") + 1, "\nQP "));
	REQUIRE(!dvq_device_query(self->context, &info, sizeof(info)));
	if (info.cmb_bytes)
		snprintf(want, sizeof(want), "controller memory: %" PRIu64 " bytes, %" PRIu64 " free",
			 (uint64_t)info.cmb_bytes, (uint64_t)info.cmb_free);
	CHECK_CONTAINS(text, info.cmb_bytes ? want : "controller memory: none");
	expect_place(0);
	if (caps() & DVQ_DEVICE_SQ_CMB)
		expect_place(1);
	if (caps() & DVQ_DEVICE_RQ_EXPDB)
		expect_place(2);
}

ADAPTER_TEST(placement_on_another_driver)
{
	char arguments[128], text[8192];

	if (self->dvq)
		SKIP("needs the adapter to be driven by another driver");
	snprintf(arguments, sizeof(arguments), "placement %s", adapter_name(self));
	CHECK_EQ(run(text, sizeof(text), arguments), 1);
	CHECK_CONTAINS(text, "not driven by dvq");
}

ADAPTER_TEST(wrong_usage)
{
	const char *const wrong[] = { "", "list x", "show", "show a b", "placement",
				      "placement a b", "nonsense" };
	char text[8192];

	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK_EQ(run(text, sizeof(text), wrong[i]), 2);
		CHECK_CONTAINS(text, "usage: dvq list | dvq show DEV | dvq placement DEV");
	}
	CHECK_EQ(run(text, sizeof(text), "show nosuchdevice"), 1);
	CHECK_CONTAINS(text, "there is no such RDMA device");
	CHECK_EQ(run(text, sizeof(text), "placement nosuchdevice"), 1);
	CHECK_CONTAINS(text, "there is no such RDMA device");
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
