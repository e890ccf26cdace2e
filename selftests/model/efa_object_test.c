// SPDX-License-Identifier: GPL-2.0
/* Objects: what each creation command takes and refuses, limits, and who keeps whom. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "test_efa.h"

static struct drv drv;

static const uint8_t some_gid[16] = "some other host";

/* ---- PD, UAR, AH ------------------------------------------------------- */

TEST(pds_and_uars_up_to_their_limit)
{
	uint16_t pd[4], uar[3], extra;

	drv_open(&drv, "a", "max_pd=5 max_uar=4");	/* one of each is taken already */
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(drv_alloc_pd(&drv, &pd[i]), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &extra), EFA_ADMIN_RESOURCE_ALLOC);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(drv_alloc_uar(&drv, &uar[i]), 0);
	CHECK_EQ(drv_alloc_uar(&drv, &extra), EFA_ADMIN_RESOURCE_ALLOC);
	CHECK_EQ(drv_dealloc_pd(&drv, pd[2]), 0);
	CHECK_EQ(drv_dealloc_uar(&drv, uar[0]), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd[2]), 0);
	CHECK_EQ(drv_alloc_uar(&drv, &uar[0]), 0);
	CHECK_EQ(drv_dealloc_pd(&drv, 5000), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no PD 5000");
	CHECK_EQ(drv_dealloc_uar(&drv, 5000), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no UAR 5000");
	drv_close(&drv);
}

TEST(numbers_come_back_late_unless_asked_for)
{
	uint16_t first, second;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_alloc_pd(&drv, &first), 0);
	CHECK_EQ(drv_dealloc_pd(&drv, first), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &second), 0);
	CHECK(first != second);
	CHECK_EQ(drv_dealloc_pd(&drv, first), EFA_ADMIN_ILLEGAL_PARAM);	/* a stale one */
	drv_expect_violations(&drv, 1, "no PD");
	drv_close(&drv);

	drv_open(&drv, "a", "qpn_reuse=1");
	CHECK_EQ(drv_alloc_pd(&drv, &first), 0);
	CHECK_EQ(drv_dealloc_pd(&drv, first), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &second), 0);
	CHECK_EQ(first, second);
	drv_close(&drv);
}

TEST(address_handles_are_shared_and_counted)
{
	uint16_t ah[3], pd, other;

	drv_open(&drv, "a", "");
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(drv_create_ah(&drv, drv.pd, some_gid, &ah[i]), 0);
	CHECK_EQ(ah[0], ah[1]);
	CHECK_EQ(ah[0], ah[2]);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(drv_create_ah(&drv, pd, some_gid, &other), 0);
	CHECK(other != ah[0]);
	CHECK_EQ(drv_destroy_ah(&drv, drv.pd, other), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "of PD");
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(drv_destroy_ah(&drv, drv.pd, ah[0]), 0);
	CHECK_EQ(drv_destroy_ah(&drv, drv.pd, ah[0]), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no AH");
	CHECK_EQ(drv_dealloc_pd(&drv, pd), EFA_ADMIN_RESOURCE_BUSY);
	drv_expect_violations(&drv, 1, "is used by 1");
	CHECK_EQ(drv_destroy_ah(&drv, pd, other), 0);
	CHECK_EQ(drv_dealloc_pd(&drv, pd), 0);
	CHECK_EQ(drv_create_ah(&drv, 999, some_gid, &other), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no PD 999");
	drv_close(&drv);
}

TEST(some_adapters_refuse_a_second_address_handle)
{
	uint16_t ah, second, pd;

	drv_open(&drv, "a", "single_ah=1 max_ah=2");
	CHECK_EQ(drv_create_ah(&drv, drv.pd, some_gid, &ah), 0);
	CHECK_EQ(drv_create_ah(&drv, drv.pd, some_gid, &second), EFA_ADMIN_ILLEGAL_PARAM);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(drv_create_ah(&drv, pd, some_gid, &second), 0);
	CHECK_EQ(drv_create_ah(&drv, pd, drv.gid, &second), EFA_ADMIN_RESOURCE_ALLOC);
	CHECK_EQ(drv_destroy_ah(&drv, drv.pd, ah), 0);
	CHECK_EQ(drv_create_ah(&drv, drv.pd, some_gid, &ah), 0);
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("ah"), 2);
	CHECK_EQ(test_answer_number("admin_create_ah"), 5);
	drv_close(&drv);
}

TEST(a_view_of_an_address_handle)
{
	char line[32];
	uint16_t ah;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_ah(&drv, drv.pd, some_gid, &ah), 0);
	snprintf(line, sizeof(line), "ah %u", ah);
	CHECK_EQ(test_control(drv.dev, line), 0);
	CHECK_EQ(test_answer_number("pd"), drv.pd);
	CHECK_CONTAINS(test_answer, "gid=736f6d65206f7468657220686f737400");
	CHECK(test_control(drv.dev, "ah 999") < 0);
	drv_close(&drv);
}

/* ---- EQ ---------------------------------------------------------------- */

static int raw_eq(unsigned int depth, unsigned int vector, unsigned int caps, uint64_t ring,
		  uint32_t events)
{
	struct efa_create_eq_cmd cmd = {
		.depth = htole16(depth), .vector = vector, .caps = caps,
		.base_lo = htole32(ring), .base_hi = htole32(ring >> 32),
		.event_bitmask = htole32(events),
	};

	return drv_admin_flags(&drv, &cmd, sizeof(cmd), EFA_ADMIN_CREATE_EQ, 0, NULL, 0);
}

TEST(event_queues)
{
	uint64_t ring[3], spare;
	uint16_t eq[3];

	drv_open(&drv, "a", "max_eq=2 max_eq_depth=256");
	CHECK_EQ(drv_create_eq(&drv, 256, 1, &ring[0], &eq[0]), 0);
	CHECK_EQ(drv_create_eq(&drv, 16, 2, &ring[1], &eq[1]), 0);
	CHECK_EQ(drv_create_eq(&drv, 16, 3, &ring[2], &eq[2]), EFA_ADMIN_RESOURCE_ALLOC);
	CHECK_EQ(drv_destroy_eq(&drv, eq[0]), 0);
	spare = test_alloc_apart(&drv.host, 16 << 10);
	CHECK_EQ(raw_eq(12, 1, 4, spare, 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "power of two");
	CHECK_EQ(raw_eq(512, 1, 4, spare, 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "up to 256");
	CHECK_EQ(raw_eq(16, 0, 4, spare, 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "vector 0");
	CHECK_EQ(raw_eq(16, 33, 4, spare, 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "vector 33");
	CHECK_EQ(raw_eq(16, 1, 8, spare, 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "8 words");
	CHECK_EQ(raw_eq(16, 1, 0x24, spare, 1), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "caps");
	CHECK_EQ(raw_eq(16, 1, 4, spare, 2), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "event mask");
	CHECK_EQ(raw_eq(16, 1, 4, test_hole(), 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "not memory");
	CHECK_EQ(raw_eq(16, 1, 4, ring[1], 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "overlaps the ring of EQ");
	CHECK_EQ(drv_destroy_eq(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no EQ 77");
	drv_close(&drv);

	drv_open(&drv, "a", "profile=efa0");
	CHECK_EQ(drv_create_eq(&drv, 16, 1, &ring[0], &eq[0]), EFA_ADMIN_UNSUPPORTED_OPCODE);
	drv_expect_violations(&drv, 1, "not offered");
	drv_close(&drv);
}

/* ---- CQ ---------------------------------------------------------------- */

static struct efa_create_cq_cmd cq_cmd(uint64_t ring)
{
	return (struct efa_create_cq_cmd) {
		.caps2 = 8, .sub_cq_depth = htole16(64), .base_lo = htole32(ring),
		.base_hi = htole32(ring >> 32), .num_sub_cqs = drv.queue.sub_cqs_per_cq,
		.uar = htole16(drv.uar),
	};
}

static void check_cq(const struct efa_create_cq_cmd *cmd, int status, const char *why)
{
	CHECK_EQ(drv_admin_flags(&drv, cmd, sizeof(*cmd), EFA_ADMIN_CREATE_CQ, 0, NULL, 0), status);
	if (why)
		drv_expect_violations(&drv, 1, why);
	drv_check_clean(&drv);
}

TEST(completion_queues)
{
	struct efa_create_cq_cmd cmd;
	struct drv_cq cq, other;
	uint64_t ring;

	drv_open(&drv, "a", "profile=efa1 max_cq=2");
	ring = test_alloc_apart(&drv.host, 64 << 10);
	CHECK_EQ(drv_create_cq(&drv, 32768, 32, DRV_CQ_SRC_ADDR, -1, &cq), 0);
	CHECK_EQ(cq.subs, 2);
	CHECK(cq.db_valid);
	cmd = cq_cmd(ring);
	cmd.caps2 = 5;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "4 or 8");
	cmd.caps2 = 4 | EFA_CREATE_CQ_SRC_ADDR;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "8 words");
	cmd.caps2 = 8 | EFA_CREATE_CQ_64BIT_IDS;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "without the capability");
	cmd.caps2 = 8 | 0x80;
	check_cq(&cmd, EFA_ADMIN_MALFORMED, "caps");
	cmd = cq_cmd(ring);
	cmd.caps1 = 1;
	check_cq(&cmd, EFA_ADMIN_MALFORMED, "caps");
	cmd.caps1 = EFA_CREATE_CQ_VIRT;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "registered");
	cmd = cq_cmd(ring);
	cmd.sub_cq_depth = htole16(48);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);	/* a user's choice */
	cmd.sub_cq_depth = 0;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.sub_cq_depth = htole16(40000);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "at most 32768");
	cmd = cq_cmd(ring);
	cmd.num_sub_cqs = htole16(1);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "1 sub-CQs");
	cmd = cq_cmd(ring);
	cmd.uar = htole16(200);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "no UAR 200");
	cmd = cq_cmd(ring);
	cmd.caps1 = EFA_CREATE_CQ_INTERRUPT;
	cmd.eqn = htole16(9);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "EQ 9 does not exist");
	cmd.caps1 = 0;
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "without interrupt mode");
	cmd = cq_cmd(test_hole());
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "not memory");
	cmd = cq_cmd(cq.ring + 4096);
	check_cq(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	CHECK_EQ(drv_create_cq(&drv, 64, 16, 0, -1, &other), 0);
	cmd = cq_cmd(ring);
	check_cq(&cmd, EFA_ADMIN_RESOURCE_ALLOC, NULL);
	CHECK_EQ(drv_destroy_cq(&cq), 0);
	CHECK_EQ(drv_destroy_cq(&cq), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no CQ");
	drv_close(&drv);
}

TEST(a_view_of_a_completion_queue)
{
	char line[32];
	struct drv_cq cq;

	drv_open(&drv, "a", "profile=efa1");
	CHECK_EQ(drv_create_cq(&drv, 64, 16, 0, -1, &cq), 0);
	snprintf(line, sizeof(line), "cq %u", cq.num);
	CHECK_EQ(test_control(drv.dev, line), 0);
	CHECK_EQ(test_answer_number("base"), cq.ring);
	CHECK_EQ(test_answer_number("depth"), 64);
	CHECK_EQ(test_answer_number("entry"), 16);
	CHECK_EQ(test_answer_number("sub_cqs"), 2);
	CHECK_EQ(test_answer_number("bytes"), 64 * 16 * 2);
	CHECK_EQ(test_answer_number("db"), cq.db);
	CHECK_EQ(test_answer_number("attached"), 0);
	CHECK_EQ(test_control(drv.dev, "cqs"), 0);
	CHECK_STR(test_answer, "0");
	drv_close(&drv);
}

TEST(doorbells_only_where_there_are_interrupts)
{
	struct drv_cq plain, events;
	uint64_t ring;
	uint16_t eq;

	drv_open(&drv, "a", "cq_doorbells=0");
	CHECK_EQ(drv_create_eq(&drv, 16, 1, &ring, &eq), 0);
	CHECK_EQ(drv_create_cq(&drv, 64, 16, 0, -1, &plain), 0);
	CHECK_EQ(drv_create_cq(&drv, 64, 16, 0, eq, &events), 0);
	CHECK(!plain.db_valid);
	CHECK(events.db_valid);
	drv_close(&drv);
}

/* ---- QP ---------------------------------------------------------------- */

static struct drv_cq cq;

static struct efa_create_qp_cmd qp_cmd(uint64_t rq)
{
	return (struct efa_create_qp_cmd) {
		.pd = htole16(drv.pd), .qp_type = EFA_ADMIN_QP_SRD, .rq_base = htole64(rq),
		.send_cq = htole32(cq.num), .recv_cq = htole32(cq.num),
		.sq_ring_size = htole32(64 * 64), .sq_depth = htole32(64),
		.rq_ring_size = htole32(64 * 16), .rq_depth = htole32(64),
		.uar = htole16(drv.uar),
	};
}

static void check_qp(const struct efa_create_qp_cmd *cmd, int status, const char *why)
{
	CHECK_EQ(drv_admin_flags(&drv, cmd, sizeof(*cmd), EFA_ADMIN_CREATE_QP, 0, NULL, 0), status);
	if (why)
		drv_expect_violations(&drv, 1, why);
	drv_check_clean(&drv);
}

TEST(queue_pairs_that_cannot_be)
{
	struct efa_create_qp_cmd cmd;
	uint64_t rq;

	drv_open(&drv, "a", "profile=efa2");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	rq = test_alloc_apart(&drv.host, 1 << 20);
	cmd = qp_cmd(rq);
	cmd.pd = htole16(200);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "PD 200");
	cmd = qp_cmd(rq);
	cmd.send_cq = htole32(500);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "send CQ 500");
	cmd = qp_cmd(rq);
	cmd.recv_cq = htole32(0x10000 | cq.num);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "receive CQ 65536");
	cmd = qp_cmd(rq);
	cmd.uar = htole16(201);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "UAR 201");
	cmd = qp_cmd(rq);
	cmd.qp_type = 3;
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "type 3");
	cmd = qp_cmd(rq);
	cmd.flags = 0x10;
	check_qp(&cmd, EFA_ADMIN_MALFORMED, "flags");
	cmd.flags = EFA_CREATE_QP_64BIT_IDS;
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "without the capability");
	cmd = qp_cmd(rq);
	cmd.sq_base = htole64(rq);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "BAR 2");
	cmd = qp_cmd(rq);
	cmd.reserved60[3] = 1;
	check_qp(&cmd, EFA_ADMIN_MALFORMED, "reserved byte 63");
	/* ring shapes: users make them, so only what the attributes forbid accuses the driver */
	cmd = qp_cmd(rq);
	cmd.sq_depth = htole32(8192);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "at most 4096");
	cmd = qp_cmd(rq);
	cmd.sq_ring_size = htole32(512 << 10);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "at most 4096 in 262144");
	cmd = qp_cmd(rq);
	cmd.sq_depth = htole32(63);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.sq_depth = htole32(32);	/* 128-byte entries, which this one has not */
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.sq_depth = htole32(128);	/* 32-byte entries */
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.sq_depth = 0;
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd = qp_cmd(rq);
	cmd.rq_ring_size = htole32(1000);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.rq_ring_size = htole32(65536 * 16);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd = qp_cmd(rq);
	cmd.rq_depth = htole32(65);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	cmd.rq_depth = htole32(40000);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "40000 receive WRs");
	cmd = qp_cmd(0);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "not memory");
	cmd = qp_cmd(test_hole());
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "not memory");
	cmd = qp_cmd(cq.ring);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "overlaps the ring of CQ");
	cmd = qp_cmd(rq);
	cmd.rq_ring_size = 0;
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "0 bytes");
	cmd = qp_cmd(rq);
	check_qp(&cmd, 0, NULL);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "overlaps the ring of QP");
	drv_close(&drv);

	drv_open(&drv, "a", "profile=efa1");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	rq = test_alloc_apart(&drv.host, 4096);
	cmd = qp_cmd(rq);
	cmd.flags = EFA_CREATE_QP_UNSOLICITED;
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "without the capability");
	drv_close(&drv);
}

/* A driver that may have forgotten a CQ, for the adapter would not remove it, may have given its memory away. */
TEST(memory_of_what_was_forgotten)
{
	struct efa_create_qp_cmd cmd;

	drv_open(&drv, "a", "profile=efa2");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	cmd = qp_cmd(cq.ring);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, "overlaps the ring of CQ");
	CHECK_EQ(test_control(drv.dev, "inject op=destroy_cq action=fail status=7"), 0);
	CHECK_EQ(drv_destroy_cq(&cq), 7);
	check_qp(&cmd, EFA_ADMIN_ILLEGAL_PARAM, NULL);
	drv_close(&drv);
}

TEST(queue_pair_shapes)
{
	struct drv_qp qp;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &cq, .recv_cq = &cq, .rq_descs = 32768,
		.rq_wrs = 32768 / 3,
	};

	drv_open(&drv, "a", "profile=efa3");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	init.sq_depth = 2048;
	init.wqe_size = 128;
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);		/* exactly max_llq_size */
	init.wqe_size = 64;
	init.rq_descs = init.rq_wrs = 0;
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);		/* no receive queue */
	init.sq_depth = 32;
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);		/* exactly min_sq_depth */
	init.sq_depth = 16;
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), EFA_ADMIN_ILLEGAL_PARAM);
	init.sq_depth = 0;
	init.rq_descs = init.rq_wrs = 16;
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);		/* no send queue */
	drv_close(&drv);
}

TEST(qp_numbers)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 32,
		.wqe_size = 64,
	};
	static struct drv_qp qp[257];
	bool low[256] = { 0 };

	drv_open(&drv, "a", "qpn_base=0xff00");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	for (unsigned int i = 0; i < 256; i++) {
		CHECK_EQ(drv_create_qp(&drv, &init, &qp[i]), 0);
		CHECK(!low[qp[i].num & 0xff]);
		low[qp[i].num & 0xff] = true;
		CHECK(qp[i].handle != qp[i].num);
	}
	CHECK_EQ(drv_create_qp(&drv, &init, &qp[256]), EFA_ADMIN_RESOURCE_ALLOC);
	for (unsigned int i = 0; i < 256; i++)
		CHECK_EQ(drv_destroy_qp(&qp[i]), 0);
	/* not the same number at once, though the same low bits may be */
	CHECK_EQ(drv_create_qp(&drv, &init, &qp[1]), 0);
	CHECK(qp[1].num != qp[0].num);
	CHECK_EQ(drv_destroy_qp(&qp[0]), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no QP handle");
	drv_close(&drv);

	drv_open(&drv, "a", "qpn_base=0x1234 qpn_reuse=1");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp[0]), 0);
	CHECK_EQ(qp[0].num, 0x1234);
	CHECK_EQ(drv_destroy_qp(&qp[0]), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp[1]), 0);
	CHECK_EQ(qp[1].num, 0x1234);
	CHECK(qp[1].handle != qp[0].handle);
	drv_close(&drv);
}

TEST(a_view_of_a_queue_pair)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 64,
		.wqe_size = 128, .rq_descs = 32, .rq_wrs = 10,
	};
	struct drv_qp qp;
	char line[32];

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);
	snprintf(line, sizeof(line), "qp %u", qp.num);
	CHECK_EQ(test_control(drv.dev, line), 0);
	CHECK_EQ(test_answer_number("sq_depth"), 64);
	CHECK_EQ(test_answer_number("sq_entry"), 128);
	CHECK_EQ(test_answer_number("sq_bytes"), 8192);
	CHECK_EQ(test_answer_number("sq_llq"), qp.llq);
	CHECK_EQ(test_answer_number("sq_db"), qp.sq_db);
	CHECK_EQ(test_answer_number("rq_descs"), 32);
	CHECK_EQ(test_answer_number("rq_wrs"), 10);
	CHECK_EQ(test_answer_number("rq_base"), qp.rq_ring);
	CHECK_EQ(test_answer_number("rq_db"), qp.rq_db);
	CHECK_CONTAINS(test_answer, "state=RESET");
	CHECK_EQ(test_control(drv.dev, "qps"), 0);
	CHECK_EQ(atoi(test_answer), qp.num);
	snprintf(line, sizeof(line), "cq %u", cq.num);
	CHECK_EQ(test_control(drv.dev, line), 0);
	CHECK_EQ(test_answer_number("attached"), 2);
	CHECK(test_control(drv.dev, "qp 60000") < 0);
	CHECK(test_control(drv.dev, "qp") < 0);
	drv_close(&drv);
}

TEST(doorbells_and_rings_do_not_collide)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 2048,
		.wqe_size = 128, .rq_descs = 16, .rq_wrs = 16,
	};
	static struct drv_qp qp[256];

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	for (unsigned int i = 0; i < 256; i++)
		REQUIRE(!drv_create_qp(&drv, &init, &qp[i]));
	for (unsigned int i = 0; i < 256; i++) {
		CHECK(qp[i].llq + 2048 * 128 <= drv.dev->bar[2].size);
		CHECK(qp[i].sq_db + 8 <= drv.dev->bar[4].size);
		/* all of a process's doorbells are on the page of its UAR, nobody else's are */
		CHECK_EQ(qp[i].sq_db / 4096, drv.uar);
		CHECK_EQ(qp[i].rq_db / 4096, drv.uar);
		for (unsigned int j = 0; j < i; j++) {
			CHECK(qp[i].llq + 2048 * 128 <= qp[j].llq ||
			      qp[j].llq + 2048 * 128 <= qp[i].llq);
			CHECK(qp[i].sq_db != qp[j].sq_db && qp[i].sq_db != qp[j].rq_db &&
			      qp[i].rq_db != qp[j].rq_db && qp[i].rq_db != qp[j].sq_db);
		}
	}
	drv_close(&drv);
}

TEST(offsets_can_be_told_wrong)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 32,
		.wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	struct drv_cq bad;
	struct drv_qp qp;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "lie cq_db"), 0);
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &bad), 0);
	CHECK(bad.db >= drv.dev->bar[4].size);
	CHECK_EQ(test_control(drv.dev, "lie cq_reg"), 0);
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &bad), 0);
	CHECK_EQ(bad.db, EFA_REG_EQ_DB);
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	CHECK_EQ(test_control(drv.dev, "lie sq_db"), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);
	CHECK(qp.sq_db >= drv.dev->bar[4].size && qp.rq_db < drv.dev->bar[4].size);
	CHECK_EQ(test_control(drv.dev, "lie rq_db"), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);
	CHECK(qp.rq_db >= drv.dev->bar[4].size && qp.sq_db < drv.dev->bar[4].size);
	CHECK_EQ(test_control(drv.dev, "lie llq"), 0);
	CHECK_EQ(drv_create_qp(&drv, &init, &qp), 0);
	CHECK(qp.llq >= drv.dev->bar[2].size);
	CHECK(test_control(drv.dev, "lie often") < 0);
	drv_close(&drv);
}

/* ---- states ------------------------------------------------------------ */

enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR };

/* a new QP in @state; SQE cannot be reached by command */
static struct drv_qp qp_in(unsigned int state, enum efa_admin_qp_type type)
{
	struct drv_qp_init init = {
		.type = type, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 32, .wqe_size = 64,
	};
	const uint32_t both = EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;
	struct drv_qp qp;

	REQUIRE(!drv_create_qp(&drv, &init, &qp));
	if (state >= INIT)
		CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_QKEY, RESET, INIT, 0), 0);
	if (state == ERR)
		CHECK_EQ(drv_to_state(&qp, INIT, ERR), 0);
	if (state >= RTR && state <= SQD)
		CHECK_EQ(drv_modify_qp(&qp, both, INIT, RTR, 0), 0);
	if (state >= RTS && state <= SQD)
		CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN, RTR, RTS, 0), 0);
	if (state == SQD)
		CHECK_EQ(drv_modify_qp(&qp, both, RTS, SQD, 0), 0);
	return qp;
}

/* who may follow whom (section 6.10); attributes as they are required */
static const bool follows[7][7] = {
	/*	   RESET INIT RTR RTS SQD SQE ERR */
	[RESET] = { 1, 1, 0, 0, 0, 0, 0 },
	[INIT] =  { 1, 1, 1, 0, 0, 0, 1 },
	[RTR] =	  { 1, 0, 0, 1, 0, 0, 1 },
	[RTS] =	  { 1, 0, 0, 1, 1, 0, 1 },
	[SQD] =	  { 1, 0, 0, 1, 1, 0, 1 },
	[ERR] =	  { 1, 0, 0, 0, 0, 0, 1 },
};

TEST(transitions)
{
	const uint32_t both = EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	for (unsigned int from = RESET; from <= ERR; from++) {
		if (from == SQE)
			continue;
		for (unsigned int to = RESET; to <= ERR + 1; to++) {
			struct drv_qp qp = qp_in(from, EFA_ADMIN_QP_SRD);
			uint32_t mask = both;
			bool legal = to <= ERR && follows[from][to];

			if (from == RESET && to == INIT)
				mask |= EFA_MODIFY_QP_QKEY;
			if (from == RTR && to == RTS)
				mask |= EFA_MODIFY_QP_SQ_PSN;
			CHECK_EQ(drv_modify_qp(&qp, mask, from, to, 0),
				 legal ? 0 : EFA_ADMIN_ILLEGAL_PARAM);
			if (!legal)
				drv_expect_violations(&drv, 1, "to state");
			CHECK_EQ(drv_destroy_qp(&qp), 0);
		}
	}
	drv_close(&drv);
}

TEST(attributes_of_transitions)
{
	const uint32_t both = EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;
	struct drv_qp qp;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	qp = qp_in(RESET, EFA_ADMIN_QP_SRD);
	CHECK_EQ(drv_modify_qp(&qp, both, RESET, INIT, 0), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "attributes");
	CHECK_EQ(drv_modify_qp(&qp, 0x40, 0, 0, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "modify_mask");
	/* a user may be wrong about the current state, the driver is not to blame */
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN, RTR, RTS, 0),
		 EFA_ADMIN_ILLEGAL_PARAM);
	drv_check_clean(&drv);
	qp = qp_in(RTR, EFA_ADMIN_QP_SRD);
	CHECK_EQ(drv_modify_qp(&qp, both, RTR, RTS, 0), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "attributes");
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN | EFA_MODIFY_QP_RNR_RETRY, RTR, RTS,
			       8), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "rnr_retry 8");
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN | EFA_MODIFY_QP_RNR_RETRY, RTR, RTS,
			       5), 0);
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_RNR_RETRY, RTS, RTS, 5),
		 EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "attributes");
	CHECK_EQ(drv_modify_qp(&qp, EFA_MODIFY_QP_QKEY, 0, 0, 0), 0);	/* no state at all */
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQD_NOTIFY, RTS, SQD, 0), 0);
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_QKEY, SQD, ERR, 0),
		 EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "attributes");
	qp = qp_in(RTR, EFA_ADMIN_QP_UD);
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN | EFA_MODIFY_QP_RNR_RETRY, RTR, RTS,
			       5), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "SRD");
	qp.handle++;
	CHECK_EQ(drv_to_state(&qp, RTR, ERR), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no QP handle");
	drv_close(&drv);
}

static int query(const struct drv_qp *qp, struct efa_query_qp_resp *resp)
{
	struct efa_query_qp_cmd cmd = { .qp_handle = htole32(qp->handle) };

	return drv_admin(&drv, cmd, EFA_ADMIN_QUERY_QP, *resp);
}

TEST(query_tells_what_was_set)
{
	const uint32_t both = EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;
	struct efa_query_qp_resp resp;
	struct drv_qp qp;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	qp = qp_in(RTR, EFA_ADMIN_QP_SRD);
	qp.qkey = 0x8badf00d;
	CHECK_EQ(drv_modify_qp(&qp, both | EFA_MODIFY_QP_SQ_PSN | EFA_MODIFY_QP_RNR_RETRY |
			       EFA_MODIFY_QP_QKEY, RTR, RTS, 6), 0);
	CHECK_EQ(query(&qp, &resp), 0);
	CHECK_EQ(le32toh(resp.qp_state), RTS);
	CHECK_EQ(le32toh(resp.qkey), 0x8badf00d);
	CHECK_EQ(le32toh(resp.sq_psn), 7);
	CHECK_EQ(resp.rnr_retry, 6);
	CHECK_EQ(resp.sq_draining, 0);
	qp.handle ^= 1;
	CHECK_EQ(query(&qp, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no QP handle");
	drv_close(&drv);
}

/* ---- who keeps whom ---------------------------------------------------- */

enum kind { PD, UAR, EQ, CQ, QP, MR, AH, KINDS };

struct zoo {
	bool alive[KINDS];
	uint16_t pd, uar, eq, ah;
	struct drv_cq cq;
	struct drv_qp qp;
	struct drv_mr mr;
};

/* one of each, all referring to one another */
static void zoo_open(struct zoo *zoo)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &zoo->cq, .recv_cq = &zoo->cq,
		.sq_depth = 32, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	uint64_t ring;

	drv_open(&drv, "a", "");
	zoo->pd = drv.pd;
	zoo->uar = drv.uar;
	REQUIRE(!drv_create_eq(&drv, 16, 1, &ring, &zoo->eq));
	REQUIRE(!drv_create_cq(&drv, 64, 32, 0, zoo->eq, &zoo->cq));
	REQUIRE(!drv_create_qp(&drv, &init, &zoo->qp));
	REQUIRE(!drv_reg_mr(&drv, zoo->pd, 10000, 0, DRV_LOCAL, &zoo->mr));
	REQUIRE(!drv_create_ah(&drv, zoo->pd, some_gid, &zoo->ah));
	for (unsigned int i = 0; i < KINDS; i++)
		zoo->alive[i] = true;
}

static int destroy(struct zoo *zoo, enum kind kind)
{
	switch (kind) {
	case PD:
		return drv_dealloc_pd(&drv, zoo->pd);
	case UAR:
		return drv_dealloc_uar(&drv, zoo->uar);
	case EQ:
		return drv_destroy_eq(&drv, zoo->eq);
	case CQ:
		return drv_destroy_cq(&zoo->cq);
	case QP:
		return drv_destroy_qp(&zoo->qp);
	case MR:
		return drv_dereg_mr(&drv, zoo->mr.lkey);
	default:
		return drv_destroy_ah(&drv, zoo->pd, zoo->ah);
	}
}

static bool busy(const struct zoo *zoo, enum kind kind)
{
	const bool *alive = zoo->alive;

	return (kind == PD && (alive[QP] || alive[MR] || alive[AH])) ||
	       (kind == UAR && (alive[QP] || alive[CQ])) ||
	       (kind == EQ && alive[CQ]) || (kind == CQ && alive[QP]);
}

/* orders of destruction by number: permutation @n of all kinds */
static void permutation(unsigned int n, enum kind *order)
{
	enum kind left[KINDS];

	for (unsigned int i = 0; i < KINDS; i++)
		left[i] = i;
	for (unsigned int i = KINDS; i; i--) {
		unsigned int pick = n % i;

		n /= i;
		*order++ = left[pick];
		memmove(&left[pick], &left[pick + 1], (i - pick - 1) * sizeof(left[0]));
	}
}

TEST(objects_go_in_any_order_but_not_before_their_users)
{
	for (unsigned int n = 0; n < 5040; n += 7) {	/* a seventh of 7! */
		enum kind order[KINDS];
		struct zoo zoo;
		unsigned int left = KINDS;

		zoo_open(&zoo);
		permutation(n, order);
		while (left) {
			for (unsigned int i = 0; i < KINDS; i++) {
				enum kind kind = order[i];

				if (!zoo.alive[kind])
					continue;
				if (busy(&zoo, kind)) {
					CHECK_EQ(destroy(&zoo, kind), EFA_ADMIN_RESOURCE_BUSY);
					drv_expect_violations(&drv, 1, "is used by");
					continue;
				}
				CHECK_EQ(destroy(&zoo, kind), 0);
				zoo.alive[kind] = false;
				left--;
			}
		}
		for (unsigned int kind = 0; kind < KINDS; kind++)
			CHECK_EQ(destroy(&zoo, kind), EFA_ADMIN_ILLEGAL_PARAM);
		model_violations_clear(drv.dev);
		drv_close(&drv);
	}
}

TEST(a_sweep_of_failures)
{
	static const char *const points[] = {
		"create_eq", "create_cq", "create_qp", "reg_mr", "create_ah", "alloc_pd", "alloc_uar"
	};

	/* every creation fails once, nothing of it stays */
	for (unsigned int i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		struct drv_qp_init init = {
			.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 32,
			.wqe_size = 64,
		};
		unsigned int failures = 0;
		uint16_t eq = 0, ah, pd, uar;
		struct drv_qp qp;
		struct drv_mr mr;
		uint64_t ring;
		char line[80];

		drv_open(&drv, "a", "");
		REQUIRE(!drv_create_cq(&drv, 64, 32, 0, -1, &cq));
		snprintf(line, sizeof(line), "inject op=%s action=fail status=6", points[i]);
		CHECK_EQ(test_control(drv.dev, line), 0);
		failures += drv_create_eq(&drv, 16, 1, &ring, &eq) != 0;
		failures += drv_create_cq(&drv, 64, 32, 0, -1, &cq) != 0;
		failures += drv_create_qp(&drv, &init, &qp) != 0;
		failures += drv_reg_mr(&drv, drv.pd, 30000, 0, DRV_LOCAL, &mr) != 0;
		failures += drv_create_ah(&drv, drv.pd, some_gid, &ah) != 0;
		failures += drv_alloc_pd(&drv, &pd) != 0;
		failures += drv_alloc_uar(&drv, &uar) != 0;
		CHECK_EQ(failures, 1);
		CHECK_EQ(test_control(drv.dev, "stats"), 0);
		CHECK_EQ(test_answer_number("eq"), strcmp(points[i], "create_eq") != 0);
		CHECK_EQ(test_answer_number("cq"), 1 + (strcmp(points[i], "create_cq") != 0));
		CHECK_EQ(test_answer_number("qp"), strcmp(points[i], "create_qp") != 0);
		CHECK_EQ(test_answer_number("mr"), strcmp(points[i], "reg_mr") != 0);
		CHECK_EQ(test_answer_number("ah"), strcmp(points[i], "create_ah") != 0);
		drv_close(&drv);
	}
}

TEST(rings_outside_memory_are_noticed_in_use)
{
	struct drv_mr mr;

	drv_open(&drv, "a", "");
	drv.host.failing = true;
	CHECK_EQ(drv_reg_mr(&drv, drv.pd, 1000, 0, DRV_LOCAL, &mr), DRV_NO_ANSWER);
	CHECK(drv.dev->violations);
	model_violations_clear(drv.dev);
	drv.host.failing = false;
	drv_close(&drv);
}

/* ---- counters of the later interface ----------------------------------- */

TEST(f31_f32_event_counter_commands)
{
	struct efa_create_counter_cmd create = { .uar = htole16(0) };
	struct efa_create_counter_resp resp;
	struct efa_attach_counter_cmd attach = { 0 };
	struct efa_modify_counter_cmd modify = { 0 };
	struct efa_destroy_counter_cmd destroy_cmd = { 0 };
	struct efa_get_feature_resp feature;
	struct drv_qp qp;
	uint64_t count;

	drv_open(&drv, "a", "newest=1 max_counters=2 counter_max=9");
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_QUEUE_ATTR_2, &feature), 0);
	CHECK_EQ(le32toh(feature.u.queue2.max_event_counters), 2);
	CHECK_EQ(le64toh(feature.u.queue2.event_counter_max), 9);
	CHECK_EQ(le32toh(feature.u.queue2.counter_events), 0x3ff);
	CHECK_EQ(drv_create_cq(&drv, 64, 32, 0, -1, &cq), 0);
	qp = qp_in(RTS, EFA_ADMIN_QP_SRD);
	count = test_alloc(&drv.host, 8, 8);
	create.uar = htole16(drv.uar);
	create.addr = htole64(count + 4);
	CHECK_EQ(drv_admin(&drv, create, EFA_ADMIN_CREATE_COUNTER, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "aligned");
	create.addr = htole64(count);
	CHECK_EQ(drv_admin(&drv, create, EFA_ADMIN_CREATE_COUNTER, resp), 0);
	modify.handle = attach.handle = destroy_cmd.handle = resp.handle;
	CHECK_EQ(drv_admin(&drv, create, EFA_ADMIN_CREATE_COUNTER, resp), 0);
	CHECK_EQ(drv_admin(&drv, create, EFA_ADMIN_CREATE_COUNTER, resp), EFA_ADMIN_RESOURCE_ALLOC);

	modify.value = htole64(7);
	CHECK_EQ(drv_admin(&drv, modify, EFA_ADMIN_MODIFY_COUNTER, resp), 0);
	CHECK_EQ(*(uint64_t *)test_mem(&drv.host, count, 8), 7);
	modify.operation = EFA_COUNTER_ADD;
	modify.value = htole64(4);
	CHECK_EQ(drv_admin(&drv, modify, EFA_ADMIN_MODIFY_COUNTER, resp), 0);
	CHECK_EQ(*(uint64_t *)test_mem(&drv.host, count, 8), 1);	/* over 9 */
	modify.value = htole64(10);
	CHECK_EQ(drv_admin(&drv, modify, EFA_ADMIN_MODIFY_COUNTER, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "value 10");

	attach.qp_handle = htole32(qp.handle);
	attach.events = htole32(0x400);
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_ATTACH_COUNTER, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "events");
	attach.events = 0;
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_ATTACH_COUNTER, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "events 0x0");
	attach.events = htole32(EFA_COUNTER_SEND);
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_ATTACH_COUNTER, resp), 0);
	CHECK_EQ(drv_admin_flags(&drv, &destroy_cmd, sizeof(destroy_cmd), EFA_ADMIN_DESTROY_COUNTER,
				 0, NULL, 0), EFA_ADMIN_RESOURCE_BUSY);
	drv_expect_violations(&drv, 1, "attached");
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_DETACH_COUNTER, resp), 0);
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_DETACH_COUNTER, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "not attached");
	/* a QP that goes lets go */
	CHECK_EQ(drv_admin(&drv, attach, EFA_ADMIN_ATTACH_COUNTER, resp), 0);
	CHECK_EQ(drv_destroy_qp(&qp), 0);
	CHECK_EQ(drv_admin_flags(&drv, &destroy_cmd, sizeof(destroy_cmd), EFA_ADMIN_DESTROY_COUNTER,
				 0, NULL, 0), 0);
	drv_close(&drv);
}

TAP_MAIN
