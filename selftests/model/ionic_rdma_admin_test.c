// SPDX-License-Identifier: GPL-2.0
/* RDMA queues and objects by command: what is answered, and what is objected to. */
#include <endian.h>

#include <hw/field.h>
#include "ionic_rdma.h"
#include "tap.h"
#include "test_rnic.h"

static struct rnic r;

static void check(int status, int want, const char *why)
{
	CHECK_EQ(status, want);
	CHECK_CONTAINS(nic_violation(&r.nic), why);
}

static int stats_names(uint64_t addr)
{
	struct ionic_aq_stats cmd = { .addr = htole64(addr), .length = htole32(4096) };

	return raq(&r, &cmd, IONIC_AQ_STATS_HDRS, sizeof(cmd));
}

/* ---- queues ----------------------------------------------------------------------- */

TEST(an_adapter_without_rdma_has_no_such_commands)
{
	nic_open(&r.nic, "a", "rdma=0");
	check(rnic_reset(&r), IONIC_EOPCODE, "is not offered");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 0, 8, 10, 2,
			  test_alloc(&r.nic.host, 4096, 4096)), IONIC_EOPCODE, "is not offered");
	nic_ring(&r.nic, 0, 6, 0);
	CHECK_CONTAINS(nic_violation(&r.nic), "no such queue");
	rnic_close(&r);
}

TEST(queues_out_of_rule)
{
	uint64_t page;

	rnic_open(&r, "a", "eqs=8 vectors=16");
	page = test_alloc_apart(&r.nic.host, 4096);
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 0, 8, 10, 2, page), IONIC_EEXIST, "exists");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 8, 8, 10, 2, page), IONIC_EQID, "8 of 8");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 7, 16, 10, 2, page), IONIC_EINVAL,
	      "interrupt 16");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 7, 8, 10, 3, page), IONIC_EINVAL,
	      "of 2^2");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 7, 8, 17, 2, page), IONIC_EINVAL,
	      "2^16 of 2^2");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 7, 8, 10, 2, page + 8), IONIC_EADDR,
	      "begin a page");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_EQ, 7, 8, 10, 2, test_hole()), IONIC_EADDR,
	      "memory");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_CQ, RNIC_ADMIN_CQ, 0, 5, 5, page),
	      IONIC_EEXIST, "exists");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_CQ, 5, 7, 5, 5, page), IONIC_EQID, "EQ 7");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_AQ, 1, 5, 5, 6, page), IONIC_EQID, "CQ 5");
	check(rnic_create(&r, IONIC_OP_RDMA_CREATE_AQ, 0, RNIC_ADMIN_CQ, 5, 6, page),
	      IONIC_EEXIST, "exists");
	rnic_close(&r);
}

TEST(commands_are_answered_in_order_lap_after_lap)
{
	uint64_t page;

	rnic_open(&r, "a", "");
	page = test_alloc(&r.nic.host, 4096, 4096);
	for (unsigned int i = 0; i < 200; i++) {
		uint16_t index = r.aq_posted;

		CHECK_EQ(stats_names(page), 0);
		CHECK_EQ(r.aq_index, index);
	}
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* the second slot of a long command is behind the end of the ring */
TEST(a_command_of_two_slots_wraps)
{
	struct ionic_aq_create_qp cmd;
	struct rcq cq;
	struct rqp qp;
	uint64_t page;

	rnic_open(&r, "a", "");
	rcq_open(&cq, &r, 0, 2, 6);
	page = test_alloc(&r.nic.host, 4096, 4096);
	while (r.aq_posted != (1u << RNIC_AQ_LOG2) - 1)
		stats_names(page);
	rqp_init(&qp, &r, 2, IONIC_QPT_UD, &cq);
	qp.sq = test_alloc(&r.nic.host, 4096, 4096);
	qp.rq = test_alloc(&r.nic.host, 4096, 4096);
	cmd = rqp_command(&qp);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), 0);
	CHECK_EQ(r.aq_posted, 1);
	CHECK_EQ(r.aq_index, (1u << RNIC_AQ_LOG2) - 1);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(r.aq_index, 1);
	rnic_close(&r);
}

TEST(commands_out_of_rule)
{
	struct ionic_aq_stats cmd = { .length = htole32(4096) };
	struct ionic_aq_create_qp two = { 0 };

	rnic_open(&r, "a", "admin_opcodes=17");
	check(raq(&r, &cmd, 17, sizeof(cmd)), IONIC_AQ_BAD_CMD, "opcode 17");
	check(raq(&r, &cmd, 0, sizeof(cmd)), IONIC_AQ_BAD_CMD, "opcode 0");
	check(raq(&r, &cmd, IONIC_AQ_STATS_HDRS, sizeof(cmd) - 1), IONIC_AQ_BAD_CMD, "16 bytes");
	two.reserved67 = 1;
	check(raq(&r, &two, IONIC_AQ_CREATE_QP, sizeof(two)), IONIC_AQ_BAD_ATTR,
	      "reserved byte 67");
	/* half of a command */
	raq_post(&r, &two, IONIC_AQ_CREATE_QP, sizeof(two));
	r.aq_posted--;
	raq_ring(&r);
	test_run();
	check(raq_answer(&r), IONIC_AQ_BAD_CMD, "only 1 slots");
	nic_ring(&r.nic, 1, r.nic.lif.rdma.aq.qtype, 0);
	CHECK_CONTAINS(nic_violation(&r.nic), "in page 1");
	nic_ring(&r.nic, 0, r.nic.lif.rdma.aq.qtype, HW_PREP(IONIC_DB_QID, 9ull));
	CHECK_CONTAINS(nic_violation(&r.nic), "admin queue 9, which does not exist");
	nic_ring(&r.nic, 0, r.nic.lif.rdma.eq.qtype, 0);
	CHECK_CONTAINS(nic_violation(&r.nic), "no such queue");
	rnic_close(&r);
}

/* the queue is deeper than its CQ: what finds no room waits */
TEST(answers_wait_for_room)
{
	struct ionic_aq_stats cmd = { .length = htole32(4096) };
	uint64_t cq, aq;

	rnic_open(&r, "a", "");
	cmd.addr = htole64(test_alloc(&r.nic.host, 4096, 4096));
	cq = test_alloc_apart(&r.nic.host, 4096);
	aq = test_alloc_apart(&r.nic.host, 4096);
	CHECK_EQ(rnic_create(&r, IONIC_OP_RDMA_CREATE_CQ, 100, 2, 2, 5, cq), 0);
	CHECK_EQ(rnic_create(&r, IONIC_OP_RDMA_CREATE_AQ, 1, 100, RNIC_AQ_LOG2, 6, aq), 0);
	cmd.header.op = IONIC_AQ_STATS_HDRS;
	cmd.header.len = htole16(sizeof(cmd) - IONIC_AQ_HEADER);
	for (unsigned int i = 0; i < 5; i++)
		memcpy(rnic_mem(&r, aq + i * IONIC_AQ_SLOT, sizeof(cmd)), &cmd, sizeof(cmd));
	nic_ring(&r.nic, 0, r.nic.lif.rdma.aq.qtype, HW_PREP(IONIC_DB_QID, 1ull) | 5);
	test_run();
	CHECK_EQ(ionic_of(r.nic.dev)->rdma->tally.admin[IONIC_AQ_STATS_HDRS], 3);
	nic_ring(&r.nic, 0, r.nic.lif.rdma.cq.qtype, HW_PREP(IONIC_DB_QID, 100ull) | 2);
	test_run();
	CHECK_EQ(ionic_of(r.nic.dev)->rdma->tally.admin[IONIC_AQ_STATS_HDRS], 5);
	CHECK_EQ(ionic_of(r.nic.dev)->rdma->tally.cq_overruns, 0);
	rnic_close(&r);
}

TEST(answers_late_lost_twice_and_wrong)
{
	uint64_t page;

	rnic_open(&r, "a", "");
	page = test_alloc(&r.nic.host, 4096, 4096);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=delay ms=30"), 0);
	CHECK_EQ(stats_names(page), RNIC_NO_ANSWER);
	test_run_ms(29);
	CHECK_EQ(raq_answer(&r), RNIC_NO_ANSWER);
	test_run_ms(1);
	CHECK_EQ(raq_answer(&r), 0);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=fail status=3"), 0);
	CHECK_EQ(stats_names(page), 3);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=drop"), 0);
	CHECK_EQ(stats_names(page), RNIC_NO_ANSWER);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=dup"), 0);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(raq_answer(&r), 0);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=corrupt"), 0);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(r.aq_index, r.aq_posted);
	rnic_close(&r);
}

/* a driver whose command was lost cannot know what exists, but what commands look like */
TEST(a_lost_answer_excuses_some)
{
	struct ionic_aq_destroy cmd = { .id = htole32(9) };
	uint64_t page;

	rnic_open(&r, "a", "");
	page = test_alloc(&r.nic.host, 4096, 4096);
	/* an answer too many is seen for what it is */
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=dup"), 0);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(raq_answer(&r), 0);
	check(raq_destroy(&r, IONIC_AQ_DESTROY_QP, 9), IONIC_AQ_BAD_INDEX, "does not exist");
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=drop"), 0);
	CHECK_EQ(stats_names(page), RNIC_NO_ANSWER);
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_QP, 9), IONIC_AQ_BAD_INDEX);
	CHECK_STR(nic_violation(&r.nic), "");
	check(raq(&r, &cmd, IONIC_AQ_DESTROY_QP, sizeof(cmd) - 1), IONIC_AQ_BAD_CMD, "3 bytes");
	check(raq(&r, &cmd, 31, sizeof(cmd)), IONIC_AQ_BAD_CMD, "opcode 31");
	rnic_close(&r);
}

/* the slot behind the last one is the first */
TEST(a_wrong_answer_to_the_last_slot)
{
	uint64_t page;

	rnic_open(&r, "a", "");
	page = test_alloc(&r.nic.host, 4096, 4096);
	while (r.aq_posted != (1u << RNIC_AQ_LOG2) - 1)
		stats_names(page);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stats_hdrs action=corrupt"), 0);
	CHECK_EQ(stats_names(page), 0);
	CHECK_EQ(r.aq_index, 0);
	rnic_close(&r);
}

/* what is answered more than once waits for room for all of it */
TEST(answers_by_injection_wait_for_room)
{
	static const char *const faults[] = {
		"inject op=stats_hdrs action=dup", "inject op=stray_answer action=fail status=1",
	};

	for (unsigned int i = 0; i < 2; i++) {
		struct ionic_aq_stats cmd = { .length = htole32(4096) };
		const struct ionic_rdma_tally *counted;
		const uint8_t *entries;
		uint64_t cq, aq;

		rnic_open(&r, "a", "");
		counted = &ionic_of(r.nic.dev)->rdma->tally;
		cmd.addr = htole64(test_alloc(&r.nic.host, 4096, 4096));
		cmd.header.op = IONIC_AQ_STATS_HDRS;
		cmd.header.len = htole16(sizeof(cmd) - IONIC_AQ_HEADER);
		cq = test_alloc_apart(&r.nic.host, 4096);
		aq = test_alloc_apart(&r.nic.host, 4096);
		entries = rnic_mem(&r, cq, 4 * 32);
		CHECK_EQ(rnic_create(&r, IONIC_OP_RDMA_CREATE_CQ, 100, 2, 2, 5, cq), 0);
		CHECK_EQ(rnic_create(&r, IONIC_OP_RDMA_CREATE_AQ, 1, 100, RNIC_AQ_LOG2, 6, aq), 0);
		for (unsigned int n = 0; n < 3; n++)
			memcpy(rnic_mem(&r, aq + n * IONIC_AQ_SLOT, sizeof(cmd)), &cmd,
			       sizeof(cmd));
		nic_ring(&r.nic, 0, r.nic.lif.rdma.aq.qtype, HW_PREP(IONIC_DB_QID, 1ull) | 2);
		test_run();
		CHECK_EQ(test_control(r.nic.dev, faults[i]), 0);
		nic_ring(&r.nic, 0, r.nic.lif.rdma.aq.qtype, HW_PREP(IONIC_DB_QID, 1ull) | 3);
		test_run();
		CHECK_EQ(entries[2 * 32 + 31] & IONIC_CQE_COLOR, 0);
		nic_ring(&r.nic, 0, r.nic.lif.rdma.cq.qtype, HW_PREP(IONIC_DB_QID, 100ull) | 2);
		test_run();
		CHECK_EQ(entries[2 * 32 + 31] & IONIC_CQE_COLOR, IONIC_CQE_COLOR);
		CHECK_EQ(entries[3 * 32 + 31] & IONIC_CQE_COLOR, IONIC_CQE_COLOR);
		CHECK_EQ(counted->cq_overruns, 0);
		rnic_close(&r);
	}
}

/* a refusal that is not the command's, ahead of its answer */
TEST(answers_that_nobody_asked_for)
{
	uint64_t page;

	rnic_open(&r, "a", "");
	page = test_alloc(&r.nic.host, 4096, 4096);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stray_answer action=fail status=3"), 0);
	CHECK_EQ(stats_names(page), IONIC_AQ_BAD_STATE);
	CHECK_EQ(r.aq_index, r.aq_posted + 2);
	CHECK_EQ(raq_answer(&r), 0);
	CHECK_EQ(r.aq_index, r.aq_posted - 1);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stray_answer action=corrupt"), 0);
	CHECK_EQ(stats_names(page), IONIC_AQ_BAD_STATE);
	CHECK_EQ(raq_answer(&r), 0);
	CHECK_EQ(test_control(r.nic.dev, "inject op=stray_answer action=dup"), 0);
	CHECK_EQ(stats_names(page), IONIC_AQ_BAD_STATE);
	CHECK_EQ(raq_answer(&r), 0);
	CHECK_EQ(raq_answer(&r), RNIC_NO_ANSWER);
	rnic_close(&r);
}

/* ---- events ----------------------------------------------------------------------- */

static unsigned int events(unsigned int eq)
{
	unsigned int type, code, qid, n = 0;

	while (req_event(&r, eq, &type, &code, &qid))
		n++;
	return n;
}

/* one completion: a datagram to nobody */
static void complete_one(struct rqp *qp, struct rmr *mr)
{
	struct ionic_wqe_send *wqe = rqp_begin(qp, IONIC_V1_SEND, IONIC_V2_SEND, mr, 0, 8);

	rwqe_datagram(wqe, 1, 77, RNIC_QKEY);
	rqp_end(qp);
	test_run();
}

/* QP 2 of what will be a connection, and its CQ */
static void open_connected(struct rcq *cq, struct rqp *qp)
{
	rnic_open(&r, "a", "");
	rcq_open(cq, &r, 0, 2, 6);
	rqp_init(qp, &r, 2, IONIC_QPT_RC, cq);
	rqp_open(qp);
}

static void open_datagrams(struct rcq *cq, struct rqp *qp, struct rmr *mr)
{
	rnic_open(&r, "a", "");
	rcq_open(cq, &r, 0, 3, 6);
	rmr_open(mr, &r, 1, 4096, IONIC_MR_LOCAL_WRITE);
	CHECK_EQ(rah_create(&r, 1, &r), 0);
	rqp_init(qp, &r, 2, IONIC_QPT_UD, cq);
	rqp_open(qp);
	rqp_to_rts(qp);
}

TEST(an_arm_is_answered_once)
{
	unsigned int type, code, qid;
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	complete_one(&qp, &mr);
	CHECK_EQ(events(3), 0);
	/* entries that the host has not seen are told at once */
	rcq_arm(&cq, false);
	CHECK(req_event(&r, 3, &type, &code, &qid));
	CHECK_EQ(type, IONIC_EQE_CQ);
	CHECK_EQ(code, IONIC_EQE_CQ_NOTIFY);
	CHECK_EQ(qid, cq.id);
	CHECK_EQ(r.nic.host.irqs[RNIC_FIRST_VECTOR + 3], 1);
	complete_one(&qp, &mr);
	CHECK_EQ(events(3), 0);
	/* seen: told with the next one */
	while (rcq_take(&cq))
		;
	rcq_told(&cq);
	rcq_arm(&cq, false);
	CHECK_EQ(events(3), 0);
	complete_one(&qp, &mr);
	CHECK_EQ(events(3), 1);
	complete_one(&qp, &mr);
	CHECK_EQ(events(3), 0);
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* A driver arms the CQ of its admin queue when it likes: no test of work queues has to know. */
TEST(arms_of_admin_queues_count_apart)
{
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	raq_arm(&r);
	rcq_arm(&cq, false);
	rcq_arm(&cq, true);
	CHECK_EQ(test_control(r.nic.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("cq_arms"), 2);
	CHECK_EQ(test_answer_number("aq_arms"), 1);
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* what fires while the vector is masked fires when it is unmasked, whatever the credits are */
TEST(events_wait_behind_the_mask)
{
	const unsigned int vector = RNIC_FIRST_VECTOR + 3;
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	for (unsigned int i = 0; i < 2; i++) {
		complete_one(&qp, &mr);
		while (rcq_take(&cq))
			;
		rcq_arm(&cq, false);
		rcq_told(&cq);
	}
	CHECK_EQ(r.nic.host.irqs[vector], 1);
	CHECK_EQ(nic_intr_get(&r.nic, vector, IONIC_INTR_MASK), 1);
	nic_intr_set(&r.nic, vector, IONIC_INTR_CREDITS, IONIC_INTR_UNMASK);
	CHECK_EQ(r.nic.host.irqs[vector], 2);
	nic_intr_set(&r.nic, vector, IONIC_INTR_CREDITS, IONIC_INTR_UNMASK);
	CHECK_EQ(r.nic.host.irqs[vector], 2);
	CHECK_EQ(nic_intr_get(&r.nic, vector, IONIC_INTR_MASK), 0);
	rnic_close(&r);
}

TEST(completion_doorbells_out_of_rule)
{
	unsigned int type;
	struct rcq cq;

	rnic_open(&r, "a", "");
	type = r.nic.lif.rdma.cq.qtype;
	rcq_open(&cq, &r, 4, 2, 4);
	nic_ring(&r.nic, 0, type, HW_PREP(IONIC_DB_QID, 4ull) | 16);
	CHECK_CONTAINS(nic_violation(&r.nic), "index 0 to 15");
	nic_ring(&r.nic, 1, type, HW_PREP(IONIC_DB_QID, 4ull));
	CHECK_CONTAINS(nic_violation(&r.nic), "must be in page 0");
	nic_ring(&r.nic, 0, type, HW_PREP(IONIC_DB_QID, 4ull) | HW_PREP(IONIC_DB_RING, 3ull));
	CHECK_CONTAINS(nic_violation(&r.nic), "ring 0 to 2");
	nic_ring(&r.nic, 0, type, HW_PREP(IONIC_DB_QID, 4ull) | 1);
	CHECK_CONTAINS(nic_violation(&r.nic), "position 1 is not between");
	nic_ring(&r.nic, 0, type, HW_PREP(IONIC_DB_QID, 5ull));
	CHECK_CONTAINS(nic_violation(&r.nic), "CQ 5, which does not exist");
	rnic_close(&r);
}

TEST(the_color_of_events_changes_with_the_lap)
{
	unsigned int n = 0;
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	for (unsigned int i = 0; i < (2u << RNIC_EQ_LOG2) + 10; i++) {
		rcq_arm(&cq, false);
		complete_one(&qp, &mr);
		while (rcq_take(&cq))
			;
		rcq_told(&cq);
		n += events(3);
	}
	CHECK_EQ(n, (2u << RNIC_EQ_LOG2) + 10);
	rnic_close(&r);
}

/* ---- completion queues --------------------------------------------------------------- */

TEST(completion_queues_out_of_rule)
{
	struct ionic_aq_create_cq good, cmd;
	struct rcq cq = { .rnic = &r, .id = 7, .log2 = 7 };

	rnic_open(&r, "a", "dbpages=16");
	cq.ring = test_alloc_apart(&r.nic.host, 4096);
	good = rcq_command(&cq, 2);
#define CQ_MUST(field, value, status, why) do {					\
		cmd = good;							\
		cmd.field = value;						\
		check(raq(&r, &cmd, IONIC_AQ_CREATE_CQ, sizeof(cmd)), status, why); \
	} while (0)
	CQ_MUST(cq, htole32(1024), IONIC_AQ_BAD_INDEX, "not one of 1024");
	CQ_MUST(cq, htole32(RNIC_ADMIN_CQ), IONIC_AQ_BAD_INDEX, "exists");
	CQ_MUST(eq, htole32(9), IONIC_AQ_BAD_INDEX, "EQ 9");
	CQ_MUST(stride_log2, 6, IONIC_AQ_BAD_ATTR, "of 2^6 bytes");
	CQ_MUST(depth_log2, 17, IONIC_AQ_BAD_ATTR, "2^17 entries");
	CQ_MUST(flags, htole32(1), IONIC_AQ_BAD_ATTR, "flags 0x1");
	CQ_MUST(table, 0, IONIC_AQ_BAD_ATTR, "table 0x0");
	CQ_MUST(pid, htole16(16), IONIC_AQ_BAD_ATTR, "page 16 of 16");
	CQ_MUST(pages, 0, IONIC_AQ_BAD_ATTR, "are none");
	/* found out before anybody takes memory for so many, or reads their table */
	good.page_log2 = 12;
	good.addr = htole64(test_hole());
	CQ_MUST(pages, htole32(UINT32_MAX), IONIC_AQ_BAD_ATTR, "not as many as the length needs");
	good = rcq_command(&cq, 2);
	CHECK_EQ(raq(&r, &good, IONIC_AQ_CREATE_CQ, sizeof(good)), 0);
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_CQ, 7), 0);
	check(raq_destroy(&r, IONIC_AQ_DESTROY_CQ, 7), IONIC_AQ_BAD_INDEX, "does not exist");
	check(raq_destroy(&r, IONIC_AQ_DESTROY_CQ, RNIC_ADMIN_CQ), IONIC_AQ_BAD_STATE,
	      "used by 1");
	rnic_close(&r);
}

TEST(rings_in_scattered_pages)
{
	struct rcq cq = { .rnic = &r, .id = 7, .log2 = 8 };
	struct ionic_aq_create_cq cmd;
	uint64_t pages[2], *table;
	struct rqp qp;
	struct rmr mr;
	uint64_t addr;

	rnic_open(&r, "a", "");
	pages[0] = test_alloc_apart(&r.nic.host, 4096);
	pages[1] = test_alloc_apart(&r.nic.host, 4096);
	addr = test_alloc(&r.nic.host, sizeof(pages), 8);
	table = rnic_mem(&r, addr, sizeof(pages));
	table[0] = htole64(pages[0]);
	table[1] = htole64(pages[1]);
	cmd = rcq_command(&cq, 2);
	cmd.pages = htole32(2);
	cmd.page_log2 = 12;
	cmd.addr = htole64(addr);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_CQ, sizeof(cmd)), 0);
	/* the table is the host's again */
	memset(table, 0, sizeof(pages));

	rmr_open(&mr, &r, 1, 4096, IONIC_MR_LOCAL_WRITE);
	CHECK_EQ(rah_create(&r, 1, &r), 0);
	rqp_init(&qp, &r, 2, IONIC_QPT_UD, &cq);
	rqp_open(&qp);
	rqp_to_rts(&qp);
	for (unsigned int i = 0; i < 129; i++)
		complete_one(&qp, &mr);
	CHECK_EQ(be32toh(((struct ionic_cqe *)rnic_mem(&r, pages[0] + 127 * 32, 32))->
			 qid_type_flags) & IONIC_CQE_COLOR, 1);
	CHECK_EQ(be32toh(((struct ionic_cqe *)rnic_mem(&r, pages[1], 32))->qid_type_flags) &
		 IONIC_CQE_COLOR, 1);
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* ---- memory regions ----------------------------------------------------------------- */

TEST(memory_regions_out_of_rule)
{
	struct rmr mr = { .key = 0x507, .va = 0x10000, .len = 4096 };
	struct ionic_aq_create_mr good, cmd;

	rnic_open(&r, "a", "mrs=64");
	mr.addr = test_alloc_apart(&r.nic.host, 4096);
	good = rmr_command(&mr, IONIC_MR_LOCAL_WRITE);
#define MR_MUST(field, value, status, why) do {					\
		cmd = good;							\
		cmd.field = value;						\
		check(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), status, why); \
	} while (0)
	MR_MUST(key, htole32(7), IONIC_AQ_BAD_INDEX, "not 1 to 63");
	MR_MUST(key, htole32(64 << 8), IONIC_AQ_BAD_INDEX, "not 1 to 63");
	MR_MUST(flags, htole16(IONIC_MR_WINDOW), IONIC_AQ_BAD_TYPE, "of no kind");
	MR_MUST(flags, htole16(0x40), IONIC_AQ_BAD_TYPE, "of no kind");
	MR_MUST(flags, htole16(IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE), IONIC_AQ_BAD_ATTR,
		"gets it from work requests");
	MR_MUST(table, 0, IONIC_AQ_BAD_ATTR, "table 0x0");
	MR_MUST(table_type, 1, IONIC_AQ_BAD_ATTR, "type 1");
	MR_MUST(length, 0, IONIC_AQ_BAD_ATTR, "0 bytes");
	MR_MUST(va, htole64(UINT64_MAX - 10), IONIC_AQ_BAD_ATTR, "4096 bytes at");
	MR_MUST(pages, htole32(2), IONIC_AQ_BAD_ATTR, "pages of 2^0");
	CHECK_EQ(raq(&r, &good, IONIC_AQ_CREATE_MR, sizeof(good)), 0);
	check(raq(&r, &good, IONIC_AQ_CREATE_MR, sizeof(good)), IONIC_AQ_BAD_INDEX, "exists");
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_MR, 0x507), 0);
	check(raq_destroy(&r, IONIC_AQ_DESTROY_MR, 0x507), IONIC_AQ_BAD_INDEX, "does not exist");
	rnic_close(&r);
}

TEST(page_tables)
{
	struct rmr mr = { .key = 0x507, .va = 0x10800, .len = 8192 };
	struct ionic_aq_create_mr cmd;
	uint64_t addr, *table;

	rnic_open(&r, "a", "page_table=5");
	addr = test_alloc(&r.nic.host, 64, 8);
	table = rnic_mem(&r, addr, 64);
	for (unsigned int i = 0; i < 3; i++)
		table[i] = htole64(test_alloc_apart(&r.nic.host, 4096));
	cmd = rmr_command(&mr, IONIC_MR_LOCAL_WRITE);
	cmd.addr = htole64(addr);
	cmd.page_log2 = 12;
	cmd.pages = htole32(2);
	check(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR,
	      "not as many as the length needs");
	cmd.pages = htole32(3);
	cmd.page_log2 = 13;
	check(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR,
	      "does not offer");
	cmd.page_log2 = 12;
	table[1] |= htole64(8);
	check(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "not aligned");
	table[1] &= htole64(~8ull);
	cmd.addr = htole64(test_hole());
	check(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "not memory");
	cmd.addr = htole64(addr);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), 0);
	/* entries are limited, and come back */
	cmd.key = htole32(0x607);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR);
	CHECK_EQ(test_control(r.nic.dev, "set page_table=2"), 0);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR);
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_MR, 0x507), 0);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), IONIC_AQ_BAD_ATTR);
	CHECK_EQ(test_control(r.nic.dev, "set page_table=3"), 0);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)), 0);
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* ---- address handles ------------------------------------------------------------------ */

TEST(address_handles)
{
	struct ionic_aq_create_ah cmd = {
		.hdr_len = htole32(RNIC_HDR_LEN), .pd = htole32(RNIC_PD), .ah = htole32(3),
		.hdr_profile = IONIC_HDR_IPV6,
	};
	uint64_t addr;
	uint8_t *bytes;

	rnic_open(&r, "a", "ahs=8");
	CHECK_EQ(rah_create(&r, 7, &r), 0);
	check(rah_create(&r, 7, &r), IONIC_AQ_BAD_INDEX, "exists");
	check(rah_create(&r, 8, &r), IONIC_AQ_BAD_ATTR, "8 of 8");
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_AH, 7), 0);
	check(raq_destroy(&r, IONIC_AQ_DESTROY_AH, 7), IONIC_AQ_BAD_INDEX, "does not exist");

	addr = test_alloc(&r.nic.host, RNIC_HDR_LEN, 8);
	bytes = rnic_mem(&r, addr, RNIC_HDR_LEN);
	rnic_template(&r, &r, bytes);
	memset(bytes + 6, 0, 6);	/* no source: what a driver got wrong once */
	cmd.hdr_addr = htole64(addr);
	check(raq(&r, &cmd, IONIC_AQ_CREATE_AH, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "source MAC");
	cmd.hdr_addr = htole64(test_hole());
	check(raq(&r, &cmd, IONIC_AQ_CREATE_AH, sizeof(cmd)), IONIC_AQ_BAD_ATTR,
	      "header template at");
	cmd.crypto = 1;
	check(raq(&r, &cmd, IONIC_AQ_CREATE_AH, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "crypto 1");
	rnic_close(&r);
}

/* ---- queue pairs ------------------------------------------------------------------------ */

TEST(queue_pairs_out_of_rule)
{
	struct ionic_aq_create_qp good, cmd;
	struct rcq cq, other;
	struct rqp qp;

	rnic_open(&r, "a", "qps=64 dbpages=16 max_stride=9");
	rcq_open(&cq, &r, 0, 2, 6);
	rcq_open(&other, &r, 8, 3, 6);
	rqp_init(&qp, &r, 2, IONIC_QPT_RC, &cq);
	qp.sq = test_alloc_apart(&r.nic.host, 4096);
	qp.rq = test_alloc_apart(&r.nic.host, 4096);
	good = rqp_command(&qp);
#define QP_MUST(field, value, status, why) do {					\
		cmd = good;							\
		cmd.field = value;						\
		check(raq(&r, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)), status, why); \
	} while (0)
	QP_MUST(qp, htole32(64), IONIC_AQ_BAD_INDEX, "not one of 64");
	QP_MUST(type, IONIC_QPT_RD, IONIC_AQ_BAD_TYPE, "type 2");
	QP_MUST(qp, htole32(IONIC_QPN_SMI), IONIC_AQ_BAD_INDEX, "0 is nobody's");
	QP_MUST(qp, htole32(IONIC_QPN_GSI), IONIC_AQ_BAD_INDEX, "1 for datagrams");
	QP_MUST(flags, htobe32(IONIC_QP_REMOTE_WRITE), IONIC_AQ_BAD_ATTR, "flags 0x1");
	QP_MUST(pid, htole16(16), IONIC_AQ_BAD_ATTR, "page 16 of 16");
	QP_MUST(sq.cq, htole32(9), IONIC_AQ_BAD_INDEX, "CQ 9 does not exist");
	/* numbers alternate between pipelines in groups of 8 */
	QP_MUST(rq.cq, htole32(8), IONIC_AQ_BAD_INDEX, "another pipeline than QP 2");
	QP_MUST(qp, htole32(10), IONIC_AQ_BAD_INDEX, "another pipeline than QP 10");
	QP_MUST(sq.stride_log2, 5, IONIC_AQ_BAD_ATTR, "of 2^5");
	QP_MUST(rq.stride_log2, 10, IONIC_AQ_BAD_ATTR, "of 2^10");
	QP_MUST(sq.depth_log2, 17, IONIC_AQ_BAD_ATTR, "2^17 slots");
	QP_MUST(rq.table, 0, IONIC_AQ_BAD_ATTR, "table 0x0");
	good.sq.page_log2 = 12;
	QP_MUST(sq.pages, htole32(UINT32_MAX), IONIC_AQ_BAD_ATTR,
		"not as many as the length needs");
	good.sq.page_log2 = 0;
	QP_MUST(flags, htobe32(IONIC_QP_SQ_CMB), IONIC_AQ_BAD_ATTR, "controller memory, which");
	CHECK_EQ(raq(&r, &good, IONIC_AQ_CREATE_QP, sizeof(good)), 0);
	check(raq(&r, &good, IONIC_AQ_CREATE_QP, sizeof(good)), IONIC_AQ_BAD_INDEX, "exists");
	check(raq_destroy(&r, IONIC_AQ_DESTROY_CQ, 0), IONIC_AQ_BAD_STATE, "used by 2");
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_QP, 2), 0);
	check(raq_destroy(&r, IONIC_AQ_DESTROY_QP, 2), IONIC_AQ_BAD_INDEX, "does not exist");
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_CQ, 0), 0);
	rnic_close(&r);
}

TEST(states_in_their_order)
{
	const uint32_t init = IONIC_QPA_STATE | IONIC_QPA_ACCESS;
	struct rcq cq;
	struct rqp qp;

	open_connected(&cq, &qp);
	CHECK_EQ(rqp_state(&qp), IONIC_QPS_RESET);
	check(rqp_modify(&qp, IONIC_QPA_STATE, IONIC_QPS_RTS), IONIC_AQ_BAD_STATE,
	      "from state 0 to 3");
	check(rqp_modify(&qp, IONIC_QPA_STATE, 7), IONIC_AQ_BAD_STATE, "from state 0 to 7");
	check(rqp_modify(&qp, 1u << 30, IONIC_QPS_INIT), IONIC_AQ_BAD_ATTR, "mask 0x40000000");
	CHECK_EQ(rqp_modify(&qp, init, IONIC_QPS_INIT), 0);
	CHECK_EQ(rqp_state(&qp), IONIC_QPS_INIT);
	check(rqp_modify(&qp, IONIC_QPA_STATE | IONIC_QPA_RQ_PSN, IONIC_QPS_RTR),
	      IONIC_AQ_BAD_ATTR, "needs attributes 0x101180");
	qp.pmtu_log2 = 7;
	check(rqp_modify(&qp, IONIC_QPA_STATE | IONIC_QPA_AV | IONIC_QPA_PATH_MTU |
			 IONIC_QPA_DEST_QPN | IONIC_QPA_RQ_PSN, IONIC_QPS_RTR),
	      IONIC_AQ_BAD_ATTR, "MTU 2^7");
	/* a current state that is wrong is the caller's doing */
	CHECK_EQ(rqp_modify(&qp, init | IONIC_QPA_CUR_STATE, IONIC_QPS_INIT), IONIC_AQ_BAD_STATE);
	CHECK_STR(nic_violation(&r.nic), "");
	CHECK_EQ(rqp_modify(&qp, IONIC_QPA_STATE, IONIC_QPS_ERR), 0);
	CHECK_EQ(rqp_state(&qp), IONIC_QPS_ERR);
	check(rqp_modify(&qp, init, IONIC_QPS_INIT), IONIC_AQ_BAD_STATE, "from state 6 to 1");
	CHECK_EQ(rqp_modify(&qp, IONIC_QPA_STATE, IONIC_QPS_RESET), 0);
	CHECK_EQ(rqp_state(&qp), IONIC_QPS_RESET);
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

/* what is under way was made for these */
TEST(attributes_that_are_fixed)
{
	static const uint32_t fixed[] = {
		IONIC_QPA_PATH_MTU, IONIC_QPA_DEST_QPN, IONIC_QPA_RQ_PSN, IONIC_QPA_SQ_PSN,
	};
	struct rcq cq;
	struct rqp qp;

	open_connected(&cq, &qp);
	rqp_to_rtr(&qp, &qp);
	for (unsigned int i = 0; i < 4; i++)
		check(rqp_modify(&qp, fixed[i], IONIC_QPS_RTR), IONIC_AQ_BAD_ATTR,
		      "from state 2 to 2 cannot change");
	check(rqp_modify(&qp, IONIC_QPA_STATE | IONIC_QPA_SQ_PSN | IONIC_QPA_PATH_MTU,
			 IONIC_QPS_RTS), IONIC_AQ_BAD_ATTR, "cannot change attributes 0x100");
	CHECK_EQ(rqp_modify(&qp, IONIC_QPA_STATE | IONIC_QPA_SQ_PSN, IONIC_QPS_RTS), 0);
	for (unsigned int i = 0; i < 4; i++)
		check(rqp_modify(&qp, fixed[i] | IONIC_QPA_STATE, IONIC_QPS_RTS),
		      IONIC_AQ_BAD_ATTR, "from state 3 to 3 cannot change");
	/* a stranger's value does not matter without its bit */
	qp.pmtu_log2 = 8;
	CHECK_EQ(rqp_modify(&qp, IONIC_QPA_ACCESS, IONIC_QPS_RTS), 0);
	CHECK_EQ(test_control(r.nic.dev, "qp 2"), 0);
	CHECK_EQ(test_answer_number("mtu"), 1024);
	rnic_close(&r);
}

/* a user may have asked for them, so they are refused and no mistake */
TEST(attributes_beyond_their_range)
{
	struct rcq cq;
	struct rqp qp;
	const struct {
		uint32_t attr, *value, max;
	} rows[] = {
		{ IONIC_QPA_TIMEOUT, &qp.timeout, 31 }, { IONIC_QPA_RNR_TIMER, &qp.rnr_timer, 31 },
		{ IONIC_QPA_RETRY, &qp.retry, 7 }, { IONIC_QPA_RNR_RETRY, &qp.rnr_retry, 7 },
		{ IONIC_QPA_RRQ_DEPTH, &qp.rrq_log2, 5 }, { IONIC_QPA_RSQ_DEPTH, &qp.rsq_log2, 5 },
	};

	open_connected(&cq, &qp);
	rqp_connect(&qp, &qp);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*rows[i].value = rows[i].max;
		CHECK_EQ(rqp_modify(&qp, rows[i].attr, IONIC_QPS_RTS), 0);
		*rows[i].value = rows[i].max + 1;
		CHECK_EQ(rqp_modify(&qp, rows[i].attr, IONIC_QPS_RTS), IONIC_AQ_BAD_ATTR);
		/* does not matter without its bit */
		CHECK_EQ(rqp_modify(&qp, IONIC_QPA_ACCESS, IONIC_QPS_RTS), 0);
	}
	CHECK_STR(nic_violation(&r.nic), "");
	rnic_close(&r);
}

TEST(a_connected_pair_has_an_address_of_its_own)
{
	struct ionic_aq_modify_qp cmd;
	struct rcq cq;
	struct rqp qp, ud;

	open_connected(&cq, &qp);
	rqp_connect(&qp, &qp);
	check(rah_create(&r, qp.ah, &r), IONIC_AQ_BAD_INDEX, "exists");
	/* a path of another number, and one for datagrams */
	cmd = rqp_modify_command(&qp, IONIC_QPA_AV, IONIC_QPS_RTS);
	cmd.ah_len = htole32(9 | RNIC_HDR_LEN << 24);
	check(raq(&r, &cmd, IONIC_AQ_MODIFY_QP, sizeof(cmd)), IONIC_AQ_BAD_INDEX,
	      "address handle 9 is not that of QP 2");
	rqp_init(&ud, &r, 3, IONIC_QPT_UD, &cq);
	rqp_open(&ud);
	cmd = rqp_modify_command(&ud, IONIC_QPA_STATE | IONIC_QPA_QKEY | IONIC_QPA_AV,
				 IONIC_QPS_INIT);
	check(raq(&r, &cmd, IONIC_AQ_MODIFY_QP, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "datagrams");
	/* it goes with its QP, which needs it, and not before */
	check(raq_destroy(&r, IONIC_AQ_DESTROY_AH, qp.ah), IONIC_AQ_BAD_STATE,
	      "that of a connected QP");
	CHECK_EQ(raq_destroy(&r, IONIC_AQ_DESTROY_QP, 2), 0);
	CHECK_EQ(rah_create(&r, qp.ah, &r), 0);
	rnic_close(&r);
}

TEST(what_was_set_can_be_queried)
{
	uint64_t sq, rq, hdr;
	struct ionic_aq_query_qp cmd = { .qp = htole32(2) };
	const struct ionic_qp_sq_answer *of_sq;
	const struct ionic_qp_rq_answer *of_rq;
	uint8_t template[RNIC_HDR_LEN];
	struct rcq cq;
	struct rqp qp;

	open_connected(&cq, &qp);
	rqp_connect(&qp, &qp);
	sq = test_alloc(&r.nic.host, 64, 8);
	rq = test_alloc(&r.nic.host, 64, 8);
	hdr = test_alloc(&r.nic.host, 128, 8);
	cmd.sq_addr = htole64(sq);
	cmd.rq_addr = htole64(rq);
	cmd.hdr_addr = htole64(hdr);
	cmd.ah = htole32(qp.ah);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_QUERY_QP, sizeof(cmd)), 0);
	of_sq = rnic_mem(&r, sq, sizeof(*of_sq));
	of_rq = rnic_mem(&r, rq, sizeof(*of_rq));
	CHECK_EQ(of_sq->rnr_timer, 12);
	CHECK_EQ(of_sq->timeout, 14);
	CHECK_EQ(be16toh(of_sq->flags), IONIC_QP_REMOTE_WRITE | IONIC_QP_REMOTE_READ |
		 IONIC_QP_REMOTE_ATOMIC);
	CHECK_EQ(be32toh(of_sq->qkey_dest_qpn), 2);
	CHECK_EQ(be32toh(of_sq->rq_psn), rqp_psn(&qp));
	CHECK_EQ(of_rq->state_pmtu, IONIC_QPS_RTS << 4 | 10);
	CHECK_EQ(of_rq->retry, 7 << 4 | 3);
	CHECK_EQ(of_rq->rrq_depth_log2, 2);
	CHECK_EQ(of_rq->rsq_depth_log2, 3);
	CHECK_EQ(be32toh(of_rq->sq_psn), rqp_psn(&qp));
	rnic_template(&r, &r, template);
	CHECK(!memcmp(rnic_mem(&r, hdr, RNIC_HDR_LEN), template, RNIC_HDR_LEN));
	cmd.ah = 0;
	check(raq(&r, &cmd, IONIC_AQ_QUERY_QP, sizeof(cmd)), IONIC_AQ_BAD_ATTR,
	      "address handle 0");
	rnic_close(&r);
}

/* ---- the rest ----------------------------------------------------------------------------- */

TEST(statistics_have_names)
{
	struct ionic_aq_stats cmd = { .length = htole32(4096) };
	const struct ionic_stats_header *header;
	const uint64_t *values;
	unsigned int i;
	uint64_t page;
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	complete_one(&qp, &mr);
	page = test_alloc_apart(&r.nic.host, 4096);
	cmd.addr = htole64(page);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_STATS_HDRS, sizeof(cmd)), 0);
	header = rnic_mem(&r, page, 4096);
	for (i = 0; strcmp((const char *)header[i].name, "wqes_send"); i++)
		REQUIRE(HW_GET(IONIC_STATS_TYPE, be32toh(header[i].type_offset)) ==
			IONIC_STATS_LE64);
	i = HW_GET(IONIC_STATS_OFFSET, be32toh(header[i].type_offset));
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_STATS_VALS, sizeof(cmd)), 0);
	values = rnic_mem(&r, page + i, 8);
	CHECK_EQ(le64toh(*values), 1);

	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_QP_STATS_HDRS, sizeof(cmd)), 0);
	CHECK_STR((const char *)header->name, "messages_sent");
	cmd.qp = htole32(2);
	CHECK_EQ(raq(&r, &cmd, IONIC_AQ_QP_STATS_VALS, sizeof(cmd)), 0);
	values = rnic_mem(&r, page, 8);
	CHECK_EQ(le64toh(*values), 1);
	check(raq(&r, &cmd, IONIC_AQ_STATS_VALS, sizeof(cmd)), IONIC_AQ_BAD_ATTR, "QP 2");
	rnic_close(&r);
}

TEST(a_reset_ends_everything)
{
	unsigned int writes;
	struct rcq cq;
	struct rqp qp;
	struct rmr mr;

	open_datagrams(&cq, &qp, &mr);
	CHECK_EQ(rnic_reset(&r), 0);
	writes = r.nic.host.nwrites;
	/* users go on until somebody tells them */
	rwqe_datagram(rqp_begin(&qp, IONIC_V1_SEND, IONIC_V2_SEND, &mr, 0, 8), 1, 2, 3);
	rqp_end(&qp);
	rcq_arm(&cq, false);
	test_run_ms(50);
	CHECK_EQ(r.nic.host.nwrites, writes);
	CHECK_STR(nic_violation(&r.nic), "");
	/* a driver that starts anew has told them */
	rnic_start(&r);
	rqp_ring(&qp);
	CHECK_CONTAINS(nic_violation(&r.nic), "QP 2, which does not exist");
	rcq_open(&cq, &r, 0, 3, 6);
	rnic_close(&r);
}

TAP_MAIN
