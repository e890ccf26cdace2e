// SPDX-License-Identifier: GPL-2.0
/* The completion queue: every kind of entry, sub-CQs, what is stale, the doorbell. */
#include <stdlib.h>
#include <unistd.h>

#include "dice.h"
#include "rings.h"

static struct dvq_efa_wc wc[64];

TEST(empty)
{
	struct rings *r = rings_new();

	rings_open(r);
	r->cq_db = 0xdead;
	CHECK_EQ(rings_poll(r, wc, 8), 0);
	CHECK_EQ(rings_poll(r, wc, 0), 0);
	CHECK_EQ(r->cq_db, 0xdead);
	rings_free(r);
}

TEST(send_completion)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post(r, 0xaaaaaaaabbbbbbbb), 0);
	memset(wc, 0xee, sizeof(wc));
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), EFA_IO_REMOTE_RNR);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 0xaaaaaaaabbbbbbbb);
	CHECK_EQ(wc[0].qp_num, RINGS_QP_NUM);
	CHECK_EQ(wc[0].status, EFA_IO_REMOTE_RNR);
	CHECK_EQ(wc[0].byte_len, 0);
	CHECK_EQ(wc[0].ah, 0);
	CHECK_EQ(wc[0].imm, 0);
	CHECK_EQ(wc[0].has_sgid, 0);
	CHECK(!dvq_efa_wc_is_recv(&wc[0]));
	CHECK(!dvq_efa_wc_has_imm(&wc[0]));
	CHECK(!dvq_efa_wc_unsolicited(&wc[0]));
	CHECK_EQ(r->cq_db, 1);
	rings_free(r);
}

static void recv_entry(struct rings *r, struct efa_cqe_rx_ex cqe, uint16_t id)
{
	cqe.rx.common.req_id = id;
	cqe.rx.common.qp_num = RINGS_QP_NUM;
	cqe.rx.common.flags |= EFA_CQE_QTYPE_RECV << 1;
	rings_cqe(r, 0, &cqe, r->cq_info.entry_size);
}

TEST(receive_completion)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 42), 0);
	memset(wc, 0xee, sizeof(wc));
	recv_entry(r, (struct efa_cqe_rx_ex) {
		.rx = { .length = 0xfedc, .ah = 0x1234, .src_qp_num = 0x5678, .imm = 0xdeadbeef },
	}, rings_desc(r, 0).req_id);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 42);
	CHECK_EQ(wc[0].byte_len, 0xfedc);
	CHECK_EQ(wc[0].ah, 0x1234);
	CHECK_EQ(wc[0].src_qp, 0x5678);
	CHECK_EQ(wc[0].imm, 0xdeadbeef);
	CHECK_EQ(wc[0].has_sgid, 0);
	CHECK(dvq_efa_wc_is_recv(&wc[0]));
	CHECK(!dvq_efa_wc_has_imm(&wc[0]));
	CHECK_EQ(dvq_efa_rq_room(&r->rq), 8);
	rings_free(r);
}

TEST(receive_completion_with_immediate)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 42), 0);
	recv_entry(r, (struct efa_cqe_rx_ex) {
		.rx = { .common.flags = EFA_CQE_HAS_IMM, .imm = 7 } }, rings_desc(r, 0).req_id);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK(dvq_efa_wc_has_imm(&wc[0]));
	CHECK_EQ(wc[0].imm, 7);
	CHECK_EQ(dvq_efa_wc_opcode(&wc[0], false), 128);
	rings_free(r);
}

TEST(f38_sender_without_ah_shows_its_gid)
{
	struct efa_cqe_rx_ex cqe = { .rx.ah = EFA_AH_UNKNOWN };
	struct rings *r = rings_new();

	for (int i = 0; i < 16; i++)
		cqe.u.src_addr[i] = 0xf0 + i;
	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 42), 0);
	recv_entry(r, cqe, rings_desc(r, 0).req_id);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 42);
	CHECK_EQ(wc[0].ah, EFA_AH_UNKNOWN);
	CHECK_EQ(wc[0].has_sgid, 1);
	CHECK(!memcmp(wc[0].sgid, cqe.u.src_addr, 16));
	rings_free(r);
}

TEST(write_with_immediate_has_a_long_length)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 42), 0);
	recv_entry(r, (struct efa_cqe_rx_ex) {
		.rx = { .common.flags = EFA_OP_RDMA_WRITE << 4 | EFA_CQE_HAS_IMM,
			.length = 0x0001, .ah = EFA_AH_UNKNOWN },
		.u.length_hi = 0x4000,
	}, rings_desc(r, 0).req_id);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 42);
	CHECK_EQ(wc[0].byte_len, 0x40000001);
	CHECK_EQ(wc[0].has_sgid, 0);
	CHECK_EQ(dvq_efa_wc_opcode(&wc[0], false), 129);
	CHECK_EQ(dvq_efa_rq_room(&r->rq), 8);
	rings_free(r);
}

TEST(unsolicited_write_uses_no_receive)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 42), 0);
	/* the id means nothing, even if it is one that is out */
	recv_entry(r, (struct efa_cqe_rx_ex) {
		.rx = { .common.flags = EFA_OP_RDMA_WRITE << 4 | EFA_CQE_HAS_IMM |
					EFA_CQE_UNSOLICITED,
			.length = 0x10, .imm = 9 },
		.u.length_hi = 1,
	}, rings_desc(r, 0).req_id);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK(dvq_efa_wc_unsolicited(&wc[0]));
	CHECK_EQ(wc[0].wr_id, 0);
	CHECK_EQ(wc[0].byte_len, 0x10010);
	CHECK_EQ(wc[0].imm, 9);
	CHECK_EQ(dvq_efa_rq_room(&r->rq), 7);
	rings_recv_done(r, 0, RINGS_QP_NUM, rings_desc(r, 0).req_id, 1);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 42);
	rings_free(r);
}

TEST(entries_of_16_bytes)
{
	struct rings *r = rings_new();

	r->cq_info.entry_size = EFA_CQE_SIZE;
	rings_open(r);
	/* what follows an entry is another one, not its tail */
	memset(r->cq_ring + 16, 0x11 & ~EFA_CQE_PHASE, 15 * 16);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(rings_post_recv(r, i), 0);
		recv_entry(r, (struct efa_cqe_rx_ex) {
			.rx = { .length = 5, .ah = EFA_AH_UNKNOWN,
				.common.flags = i == 2 ? EFA_OP_RDMA_WRITE << 4 : 0 },
		}, rings_desc(r, i).req_id);
		CHECK_EQ(rings_poll(r, wc, 8), 1);
		CHECK_EQ(wc[0].wr_id, i);
		CHECK_EQ(wc[0].byte_len, 5);
		CHECK_EQ(wc[0].has_sgid, 0);
	}
	rings_free(r);
}

TEST(wide_ids)
{
	struct rings *r = rings_new();
	uint64_t id;

	/* without a pool the id is the wr_id, with one the generation is checked */
	r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
	rings_fill(r);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
	CHECK_EQ(rings_post(r, 0xfedcba9876543210), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 0xfedcba9876543210);
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);

	rings_fill(r);
	rings_pools(r);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
	memset(r->cq_ring, 0, RINGS_MAX_BYTES);
	r->produced[0] = 0;
	CHECK_EQ(rings_post(r, 0xfedcba9876543210), 0);
	id = rings_wqe_id(r, 0);
	CHECK_EQ(id >> 32, 5);
	rings_send_done(r, 0, RINGS_QP_NUM, id - (1ull << 32), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, id, 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 0xfedcba9876543210);
	CHECK_EQ(r->cq.stale, 1);
	rings_free(r);
}

/* a send completion's upper bytes are undefined where ids have 16 bits */
TEST(undefined_bytes_of_a_send_do_not_matter)
{
	struct rings *r = rings_new();
	uint8_t entry[32];

	rings_open(r);
	for (int fill = 0; fill < 256; fill += 85) {
		uint16_t id, qp_num = RINGS_QP_NUM;

		CHECK_EQ(rings_post(r, fill), 0);
		id = rings_wqe_id(r, (fill / 85) % 8);
		memset(entry, fill, sizeof(entry));
		memcpy(entry, &id, 2);
		entry[2] = 0;
		entry[3] = EFA_CQE_QTYPE_SEND << 1;
		memcpy(entry + 4, &qp_num, 2);
		rings_cqe(r, 0, entry, 32);
		CHECK_EQ(rings_poll(r, wc, 8), 1);
		CHECK_EQ(wc[0].wr_id, fill);
	}
	rings_free(r);
}

TEST(wrap_and_consumer_doorbell)
{
	struct rings *r = rings_new();
	uint32_t total = 0;

	rings_open(r);
	/* three at a time through a ring of 16: runs are cut by its end */
	for (int round = 0; round < 30000; round++) {
		uint32_t slot = r->sq.next / 64;

		for (int i = 0; i < 3; i++) {
			REQUIRE(rings_post(r, total + i) == 0);
			rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, (slot + i) % 8), 0);
		}
		REQUIRE(rings_poll(r, wc, 8) == 3);
		for (int i = 0; i < 3; i++)
			REQUIRE(wc[i].wr_id == total + i);
		total += 3;
		REQUIRE(r->cq_db == (total & 0xffff));
	}
	rings_free(r);
}

TEST(no_more_than_asked_for)
{
	struct rings *r = rings_new();

	rings_open(r);
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, i), 0);
	}
	wc[3].wr_id = 0xdead;
	CHECK_EQ(rings_poll(r, wc, 3), 3);
	CHECK_EQ(wc[3].wr_id, 0xdead);
	CHECK_EQ(r->cq_db, 3);
	CHECK_EQ(rings_poll(r, wc, 8), 5);
	CHECK_EQ(wc[0].wr_id, 3);
	rings_free(r);
}

TEST(full_ring)
{
	struct rings *r = rings_new();

	r->sq_info.entries = r->sq_info.max_wr = 16;
	rings_open(r);
	for (int lap = 0; lap < 3; lap++) {
		for (int i = 0; i < 16; i++) {
			CHECK_EQ(rings_post(r, i), 0);
			rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, i), 0);
		}
		/* each entry once, although there is room for more */
		CHECK_EQ(rings_poll(r, wc, 64), 16);
		CHECK_EQ(rings_poll(r, wc, 64), 0);
	}
	rings_free(r);
}

TEST(sub_cqs_in_turn)
{
	struct rings *r = rings_new();
	uint32_t seen[3] = {};

	r->cq_info.sub_cqs = 3;
	r->cq_info.entries = 4;
	r->sq_info.entries = r->sq_info.max_wr = 16;
	rings_open(r);
	for (int i = 0; i < 12; i++) {
		CHECK_EQ(rings_post(r, i % 3), 0);
		rings_send_done(r, i % 3, RINGS_QP_NUM, rings_wqe_id(r, i), 0);
	}
	/* two at a time never serve one of them twice before the others */
	for (int i = 0; i < 6; i++) {
		CHECK_EQ(rings_poll(r, wc, 2), 2);
		seen[wc[0].wr_id]++;
		seen[wc[1].wr_id]++;
		if (i == 2)
			for (int sub = 0; sub < 3; sub++)
				CHECK_EQ(seen[sub], 2);
	}
	CHECK_EQ(rings_poll(r, wc, 2), 0);
	CHECK_EQ(r->cq_db, 12);
	/* each has its own lap */
	for (int i = 0; i < 9; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 1, RINGS_QP_NUM, rings_wqe_id(r, (12 + i) % 16), 0);
		CHECK_EQ(rings_poll(r, wc, 8), 1);
		CHECK_EQ(wc[0].wr_id, i);
	}
	CHECK_EQ(r->cq_db, 21);
	rings_free(r);
}

TEST(more_sub_cqs_than_the_struct_has)
{
	struct rings *r = rings_new();

	r->cq_info.sub_cqs = DVQ_EFA_MAX_SUB_CQS + 1;
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, 1, 0), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "17 sub-CQs");
	r->cq_info.sub_cqs = DVQ_EFA_MAX_SUB_CQS;
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, 1, 0), 0);
	r->cq_info.sub_cqs = 0;
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, 1, 0), EOPNOTSUPP);
	rings_free(r);
}

/* Entries that were never written have the other phase. */
static void check_first_phase(uint8_t phase)
{
	struct rings *r = rings_new();

	r->cq_info.first_phase = phase;
	memset(r->cq_ring, phase ? 0 : 0xff, RINGS_MAX_BYTES);
	rings_open(r);
	CHECK_EQ(r->cq.sub[0].phase, phase);
	for (int i = 0; i < 40; i++) {
		CHECK_EQ(rings_poll(r, wc, 1), 0);
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, i % 8), 0);
		CHECK_EQ(rings_poll(r, wc, 1), 1);
		CHECK_EQ(wc[0].wr_id, i);
	}
	rings_free(r);
}

TEST(first_phase_is_the_kernels_to_say)
{
	check_first_phase(1);
	check_first_phase(0);
}

TEST(records_that_cannot_be)
{
	struct rings *r = rings_new();
	const struct dvq_cq_info good = r->cq_info;

#define REFUSED(change)								\
	do {									\
		r->cq_info.change;						\
		CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, 1, 2), EOPNOTSUPP); \
		CHECK_CONTAINS(dvq_reason(), "does not know");			\
		r->cq_info = good;						\
	} while (0)
	/* one bit is compared, so another value would never come */
	REFUSED(first_phase = 2);
	REFUSED(first_phase = 0xff);
	REFUSED(entry_size = 0);
	REFUSED(entry_size = 64);
	REFUSED(entries = 0);
	REFUSED(entries = 24);
	REFUSED(entries = 1u << 31);
	REFUSED(ring_offset = 4);
	REFUSED(ring_offset = RINGS_MAX_BYTES);
	REFUSED(ring_length = 16 * EFA_CQE_SIZE_EX - 8);
	REFUSED(db_format = DVQ_DB_EFA_COUNT);
	REFUSED(db_width = 8);
	REFUSED(db_offset = 2);
	REFUSED(db_offset = 4096);
#undef REFUSED
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, 1, 2), 0);
	rings_free(r);
}

TEST(f23_stale_between_valid_is_no_error)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post(r, 1), 0);
	CHECK_EQ(rings_post(r, 2), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	rings_send_done(r, 0, RINGS_QP_NUM + 1, rings_wqe_id(r, 1), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 1), 0);
	CHECK_EQ(rings_poll(r, wc, 3), 2);
	CHECK_EQ(wc[0].wr_id, 1);
	CHECK_EQ(wc[1].wr_id, 2);
	CHECK_EQ(r->cq.stale, 1);
	CHECK_EQ(r->cq_db, 3);
	/* only stale ones: none, and they are off the ring */
	for (int i = 0; i < 5; i++)
		rings_send_done(r, 0, RINGS_QP_NUM + 1, 0, 0);
	CHECK_EQ(rings_poll(r, wc, 1), 0);
	CHECK_EQ(r->cq.stale, 6);
	CHECK_EQ(r->cq_db, 8);
	/* none is said only when nothing is left */
	CHECK_EQ(rings_post(r, 3), 0);
	rings_send_done(r, 0, RINGS_QP_NUM + 1, 0, 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 2), 0);
	CHECK_EQ(rings_poll(r, wc, 1), 1);
	CHECK_EQ(wc[0].wr_id, 3);
	rings_free(r);
}

/* F-22: the last QP of the CQ is gone */
TEST(f22_completions_without_any_qp_are_dropped)
{
	struct rings *r = rings_new();

	rings_open(r);
	for (int i = 0; i < 6; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, i), 0);
	}
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	CHECK_EQ(rings_poll(r, wc, 64), 0);
	CHECK_EQ(r->cq_db, 6);
	CHECK_EQ(r->cq.stale, 6);
	/* a new QP begins clean */
	r->qp.generation++;
	CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &r->sq_info, (uintptr_t)r->sq_ring,
				 (uintptr_t)&r->sq_db), 0);
	CHECK_EQ(dvq_efa_sq_set_pool(&r->sq, r->sq_ids), 0);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, NULL), 0);
	CHECK_EQ(rings_post(r, 99), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 64), 1);
	CHECK_EQ(wc[0].wr_id, 99);
	rings_free(r);
}

/*
 * F-07: A and B on one CQ; B is destroyed with entries pending. A stays full for many
 * laps and sees each wr_id exactly once.
 */
TEST(f07_stale_entries_never_reach_another_queue)
{
	struct rings *a = rings_new();
	struct dvq_efa_id b_ids[8];
	uint8_t b_ring[8 * 64];
	struct dvq_efa_sq b;
	uint32_t b_db;
	uint64_t done = 0, posted = 0;

	rings_open(a);
	a->qp.qp_num++;
	CHECK_EQ(dvq_efa_sq_fill(&b, &a->qp, &a->sq_info, (uintptr_t)b_ring, (uintptr_t)&b_db), 0);
	a->qp.qp_num--;
	CHECK_EQ(dvq_efa_sq_set_pool(&b, b_ids), 0);
	CHECK_EQ(dvq_efa_cq_attach(&a->cq, &b, NULL), 0);
	for (int i = 0; i < 8; i++) {
		struct dvq_efa_wr wr = rings_send();

		CHECK_EQ(rings_post_wr(&b, &wr, 1000 + i), 0);
	}
	CHECK_EQ(rings_post(a, posted++), 0);
	rings_send_done(a, 0, RINGS_QP_NUM, rings_wqe_id(a, 0), 0);
	for (int i = 0; i < 8; i++) {
		uint16_t id;

		memcpy(&id, b_ring + i * 64, 2);
		rings_send_done(a, 0, RINGS_QP_NUM + 1, id, 0);
	}
	CHECK_EQ(dvq_efa_cq_detach(&a->cq, RINGS_QP_NUM + 1), 0);
	CHECK_EQ(rings_poll(a, wc, 64), 1);
	CHECK_EQ(wc[0].wr_id, done++);
	CHECK_EQ(a->cq.stale, 8);
	while (done < 10 * 8) {
		while (!rings_post(a, posted))
			posted++;
		REQUIRE(posted - done == 8);
		rings_send_done(a, 0, RINGS_QP_NUM, rings_wqe_id(a, done % 8), 0);
		REQUIRE(rings_poll(a, wc, 64) == 1);
		REQUIRE(wc[0].wr_id == done++);
		REQUIRE(dvq_efa_sq_room(&a->sq) == 1);
	}
	rings_free(a);
}

/*
 * The same number again at once, @entries deep, once more than the id has generations: none of
 * what the QP before left behind is the new one's.
 */
static void recycle(uint32_t entries, uint32_t bits)
{
	struct rings *r = rings_new();
	uint16_t old[4];

	r->sq_info.entries = r->sq_info.max_wr = entries;
	r->cq_info.entries = 64;
	rings_open(r);
	for (uint32_t cycle = 0; cycle < (1u << bits) + 1; cycle++) {
		for (int i = 0; i < 4; i++) {
			CHECK_EQ(rings_post(r, i), 0);
			old[i] = rings_wqe_id(r, i);
		}
		CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
		r->qp.generation++;
		CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &r->sq_info, (uintptr_t)r->sq_ring,
					 (uintptr_t)&r->sq_db), 0);
		CHECK_EQ(dvq_efa_sq_set_pool(&r->sq, r->sq_ids), 0);
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
		CHECK_EQ(rings_post(r, 500 + cycle), 0);
		for (int i = 0; i < 4; i++)
			rings_send_done(r, 0, RINGS_QP_NUM, old[i], 0);
		CHECK_EQ(rings_poll(r, wc, 64), 0);
		CHECK_EQ(r->cq.stale, 4 * (cycle + 1));
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
		CHECK_EQ(rings_poll(r, wc, 64), 1);
		CHECK_EQ(wc[0].wr_id, 500 + cycle);
	}
	rings_free(r);
}

TEST(f08_recycled_qp_number)
{
	recycle(4096, 4);
	recycle(32768, 1);
	recycle(8, 13);
}

TEST(f08_recycled_number_on_the_receive_side)
{
	struct rings *r = rings_new();
	uint16_t old;

	rings_open(r);
	CHECK_EQ(rings_post_recv(r, 1), 0);
	old = rings_desc(r, 0).req_id;
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	r->qp.generation++;
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, (uintptr_t)r->rq_ring,
				 (uintptr_t)&r->rq_db), 0);
	/* without a pool as well */
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), 0);
	CHECK_EQ(rings_post_recv(r, 2), 0);
	rings_recv_done(r, 0, RINGS_QP_NUM, old, 1);
	CHECK_EQ(rings_poll(r, wc, 64), 0);
	rings_recv_done(r, 0, RINGS_QP_NUM, rings_desc(r, 0).req_id, 1);
	CHECK_EQ(rings_poll(r, wc, 64), 1);
	CHECK_EQ(wc[0].wr_id, 2);
	rings_free(r);
}

/* one ring full of what is nobody's does not hide what waits on another */
TEST(f23_stale_on_one_sub_cq_and_valid_on_another)
{
	for (uint32_t sub_cq = 0; sub_cq < 3; sub_cq++) {
		struct rings *r = rings_new();

		r->cq_info.sub_cqs = 3;
		rings_open(r);
		CHECK_EQ(rings_post(r, 7), 0);
		for (uint32_t i = 0; i < 3 * 16; i++)
			if (i / 16 != sub_cq)
				rings_send_done(r, i / 16, RINGS_QP_NUM + 1, 0, 0);
		rings_send_done(r, sub_cq, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
		CHECK_EQ(rings_poll(r, wc, 8), 1);
		CHECK_EQ(wc[0].wr_id, 7);
		rings_free(r);
	}
}

static void unsolicited_for(struct rings *r, uint32_t sub_cq, uint16_t qp_num, uint32_t imm)
{
	struct efa_cqe_rx_ex cqe = {
		.rx = { .common = { .qp_num = qp_num,
				    .flags = EFA_CQE_QTYPE_RECV << 1 | EFA_OP_RDMA_WRITE << 4 |
					     EFA_CQE_HAS_IMM | EFA_CQE_UNSOLICITED },
			.imm = imm } };

	rings_cqe(r, sub_cq, &cqe, r->cq_info.entry_size);
}

static void next_qp(struct rings *r)
{
	r->qp.generation++;
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, (uintptr_t)r->rq_ring,
				 (uintptr_t)&r->rq_db), 0);
	CHECK_EQ(dvq_efa_rq_set_pool(&r->rq, r->rq_ids), 0);
}

/* One that used no receive has no generation: it must be off the ring before the number is another QP's. */
TEST(f08_recycled_number_and_a_write_that_used_no_receive)
{
	struct rings *r = rings_new();

	r->cq_info.sub_cqs = 2;
	rings_open(r);
	/* nearly a lap, so that what is looked for goes on at the start of the ring */
	for (uint32_t round = 0; round < 40; round++) {
		const uint32_t sub_cq = round % 2;

		unsolicited_for(r, sub_cq, RINGS_QP_NUM, round);
		CHECK_EQ(rings_poll(r, wc, 8), 1);
		CHECK_EQ(wc[0].imm, round);
		for (uint32_t i = 0; i < 3; i++)
			rings_send_done(r, sub_cq, RINGS_QP_NUM + 1, 0, 0);
		unsolicited_for(r, sub_cq, RINGS_QP_NUM, 99);
		CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
		next_qp(r);
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), DVQ_EFA_EBUSY);
		/* its sends are told apart, and so is another number */
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, NULL), 0);
		CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
		r->rq.qp_num++;
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), 0);
		CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM + 1), 0);
		r->rq.qp_num--;
		CHECK_EQ(rings_poll(r, wc, 8), 0);
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), 0);
	}
	/* a CQ that is full of others, also where their flag means nothing; and one without memory here */
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	for (uint32_t i = 0; i < 16; i++) {
		struct efa_cqe_common cqe = { .qp_num = RINGS_QP_NUM,
					      .flags = EFA_CQE_QTYPE_SEND << 1 | EFA_CQE_UNSOLICITED };

		rings_cqe(r, 0, &cqe, sizeof(cqe));
		unsolicited_for(r, 1, RINGS_QP_NUM + 1, 0);
	}
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), 0);
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM), 0);
	r->cq.ring = 0;
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, &r->rq), 0);
	rings_free(r);
}

TEST(f09_qp_numbers_above_the_table)
{
	struct rings *r = rings_new();
	struct dvq_efa_sq sq[17];

	rings_fill(r);
	for (uint32_t i = 0; i < 17; i++) {
		r->qp.qp_num = 0xff00 + i;
		CHECK_EQ(dvq_efa_sq_fill(&sq[i], &r->qp, &r->sq_info, 1, 2), 0);
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, &sq[i], NULL), i < 16 ? 0 : DVQ_EFA_EEXIST);
	}
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, 0xff10), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, 0xff00), 0);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &sq[16], NULL), 0);
	rings_free(r);
}

/* the same row, another number: for entries that take the common way and those that do not */
TEST(number_that_shares_a_row)
{
	struct efa_cqe_rx_ex unsolicited = {
		.rx.common = { .qp_num = RINGS_QP_NUM + 16,
			       .flags = EFA_CQE_QTYPE_RECV << 1 | EFA_CQE_UNSOLICITED } };
	struct rings *r = rings_new();

	for (int pools = 0; pools < 2; pools++) {
		rings_fill(r);
		if (pools)
			rings_pools(r);
		memset(r->cq_ring, 0, RINGS_MAX_BYTES);
		r->produced[0] = 0;
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
		CHECK_EQ(rings_post(r, 1), 0);
		CHECK_EQ(rings_post_recv(r, 1), 0);
		rings_send_done(r, 0, RINGS_QP_NUM + 16, rings_wqe_id(r, 0), 0);
		rings_recv_done(r, 0, RINGS_QP_NUM + 16, rings_desc(r, 0).req_id, 1);
		rings_cqe(r, 0, &unsolicited, sizeof(unsolicited));
		CHECK_EQ(rings_poll(r, wc, 8), 0);
		CHECK_EQ(r->cq.stale, 3);
		CHECK_EQ(dvq_efa_sq_room(&r->sq), 7);
		CHECK_EQ(dvq_efa_rq_room(&r->rq), 7);
	}
	rings_free(r);
}

TEST(table_checks_its_arguments)
{
	struct rings *r = rings_new();
	struct dvq_efa_cq bare;

	rings_open(r);
	CHECK_EQ(dvq_efa_cq_set_qps(&r->cq, r->qps, 0), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_set_qps(&r->cq, r->qps, 12), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, NULL, NULL), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), DVQ_EFA_EEXIST);
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, RINGS_QP_NUM + 16), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_detach(&r->cq, 0xffffffff), DVQ_EFA_EINVAL);
	r->rq.qp_num++;
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_fill(&bare, &r->cq_info, 1, 0), 0);
	CHECK_EQ(dvq_efa_cq_attach(&bare, &r->sq, NULL), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_cq_detach(&bare, RINGS_QP_NUM), DVQ_EFA_EINVAL);
	rings_free(r);
}

TEST(one_direction_attached)
{
	struct rings *r = rings_new();

	rings_fill(r);
	rings_pools(r);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, NULL), 0);
	CHECK_EQ(rings_post(r, 1), 0);
	CHECK_EQ(rings_post_recv(r, 2), 0);
	rings_recv_done(r, 0, RINGS_QP_NUM, rings_desc(r, 0).req_id, 1);
	recv_entry(r, (struct efa_cqe_rx_ex) { .rx.common.flags = EFA_CQE_UNSOLICITED }, 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(wc[0].wr_id, 1);
	CHECK_EQ(r->cq.stale, 2);
	rings_free(r);
}

TEST(without_a_table_entries_come_as_they_are)
{
	struct rings *r = rings_new();

	r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, (uintptr_t)r->cq_ring, 0), 0);
	rings_send_done(r, 0, 77, 0x123456789abcdef0, 5);
	rings_recv_done(r, 0, 78, 0x4321, 100);
	rings_recv_done(r, 0, 78, 0x4322, 100);
	r->cq_ring[2 * 32 + 3] &= ~EFA_CQE_QTYPE;	/* of no kind */
	CHECK_EQ(rings_poll(r, wc, 8), 2);
	CHECK_EQ(wc[0].wr_id, 0x123456789abcdef0);
	CHECK_EQ(wc[0].qp_num, 77);
	CHECK_EQ(wc[0].status, 5);
	CHECK_EQ(wc[1].wr_id, 0x4321);
	CHECK_EQ(wc[1].byte_len, 100);
	CHECK_EQ(r->cq.stale, 1);
	rings_free(r);
}

TEST(entries_of_no_kind_are_dropped)
{
	struct rings *r = rings_new();
	struct dvq_efa_wr wr = rings_send();

	rings_open(r);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 1), 0);
	CHECK_EQ(rings_post_recv(r, 1), 0);
	for (uint32_t qtype = 0; qtype < 4; qtype += 3) {
		struct efa_cqe_tx cqe = { .common = { .qp_num = RINGS_QP_NUM,
						      .req_id = rings_wqe_id(r, 0),
						      .flags = qtype << 1 } };

		rings_cqe(r, 0, &cqe, sizeof(cqe));
	}
	CHECK_EQ(rings_poll(r, wc, 8), 0);
	CHECK_EQ(r->cq.stale, 2);
	CHECK_EQ(dvq_efa_sq_room(&r->sq), 7);
	rings_free(r);
}

TEST(completion_that_comes_twice_is_dropped)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post(r, 1), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	CHECK_EQ(dvq_efa_sq_room(&r->sq), 8);
	rings_free(r);
}

TEST(f25_status_table)
{
	static const uint8_t want[] = {
		0, 5, 2, 2, 2, 4, 1, 10, 16, 15, 13, 9, 7, 20, 11, 20, 21, 21, 9,
	};
	struct dvq_efa_wc one = {};

	CHECK_EQ(IBV_WC_LOC_LEN_ERR, 1);
	CHECK_EQ(IBV_WC_LOC_QP_OP_ERR, 2);
	CHECK_EQ(IBV_WC_LOC_PROT_ERR, 4);
	CHECK_EQ(IBV_WC_WR_FLUSH_ERR, 5);
	CHECK_EQ(IBV_WC_BAD_RESP_ERR, 7);
	CHECK_EQ(IBV_WC_REM_INV_REQ_ERR, 9);
	CHECK_EQ(IBV_WC_REM_ACCESS_ERR, 10);
	CHECK_EQ(IBV_WC_REM_OP_ERR, 11);
	CHECK_EQ(IBV_WC_RNR_RETRY_EXC_ERR, 13);
	CHECK_EQ(IBV_WC_REM_INV_RD_REQ_ERR, 15);
	CHECK_EQ(IBV_WC_REM_ABORT_ERR, 16);
	CHECK_EQ(IBV_WC_RESP_TIMEOUT_ERR, 20);
	CHECK_EQ(IBV_WC_GENERAL_ERR, 21);
	for (uint32_t status = 0; status < 256; status++) {
		one.status = status;
		CHECK_EQ(dvq_efa_wc_status(&one), status < sizeof(want) ? want[status] : 21);
	}
}

TEST(opcode_table)
{
	static const struct {
		uint8_t qtype, op;
		uint32_t stock, truth;
	} rows[] = {
		{ EFA_CQE_QTYPE_SEND, EFA_OP_SEND, IBV_WC_SEND, IBV_WC_SEND },
		{ EFA_CQE_QTYPE_SEND, EFA_OP_RDMA_READ, IBV_WC_SEND, IBV_WC_RDMA_READ },
		{ EFA_CQE_QTYPE_SEND, EFA_OP_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE },
		{ EFA_CQE_QTYPE_RECV, EFA_OP_SEND, IBV_WC_RECV, IBV_WC_RECV },
		{ EFA_CQE_QTYPE_RECV, EFA_OP_RDMA_WRITE, IBV_WC_RECV_RDMA_WITH_IMM,
		  IBV_WC_RECV_RDMA_WITH_IMM },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dvq_efa_wc one = { .flags = rows[i].qtype << 1 | rows[i].op << 4 };

		CHECK_EQ(dvq_efa_wc_opcode(&one, false), rows[i].stock);
		CHECK_EQ(dvq_efa_wc_opcode(&one, true), rows[i].truth);
	}
}

TEST(arming)
{
	struct rings *r = rings_new();

	rings_open(r);
	CHECK_EQ(rings_post(r, 1), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	for (uint32_t events = 0; events < 6; events++) {
		CHECK_EQ(dvq_efa_cq_arm(&r->cq), 0);
		CHECK_EQ(r->cq_db, 0x80000000 | (events & 3) << 29 | 1);
		dvq_efa_cq_event(&r->cq);
	}
	rings_free(r);
}

TEST(without_a_doorbell)
{
	struct rings *r = rings_new();

	r->cq_info.db_key = 0;
	rings_open(r);
	CHECK_EQ(r->cq.doorbell, 0);
	CHECK_EQ(dvq_efa_cq_arm(&r->cq), DVQ_EFA_EINVAL);
	CHECK_EQ(rings_post(r, 1), 0);
	rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, 0), 0);
	CHECK_EQ(rings_poll(r, wc, 8), 1);
	rings_free(r);
}

/* Whatever the device writes: no access outside, the account stays sane, it ends. */
TEST(random_bytes)
{
	unsigned int seed = (unsigned int)getpid();

	printf("# seed %u\n", seed);
	for (int round = 0; round < 2000; round++) {
		struct rings *r = rings_new();

		r->cq_info.entry_size = rand_r(&seed) & 1 ? 16 : 32;
		r->cq_info.sub_cqs = 1 + rand_r(&seed) % 4;
		if (rand_r(&seed) & 1)
			r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
		rings_fill(r);
		if (rand_r(&seed) & 1)
			rings_pools(r);
		CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
		for (int i = 0; i < 5; i++) {
			CHECK_EQ(rings_post(r, i), 0);
			CHECK_EQ(rings_post_recv(r, i), 0);
		}
		for (int i = 0; i < 4 * 16 * 32; i++)
			r->cq_ring[i] = rand_r(&seed);
		for (int entry = 0; entry < 128; entry++) {	/* half of them of our QP */
			uint8_t *at = r->cq_ring + entry * r->cq_info.entry_size;
			uint16_t qp_num = RINGS_QP_NUM;

			if (rand_r(&seed) & 1)
				memcpy(at + 4, &qp_num, 2);
			if (rand_r(&seed) & 1)
				at[0] &= 0x2f, at[1] = 0;
		}
		for (int i = 0; i < 8; i++)
			REQUIRE(rings_poll(r, wc, 1 + rand_r(&seed) % 64) <= 64);
		REQUIRE(dvq_efa_sq_room(&r->sq) >= 3 && dvq_efa_sq_room(&r->sq) <= 8);
		REQUIRE(dvq_efa_rq_room(&r->rq) >= 3 && dvq_efa_rq_room(&r->rq) <= 8);
		rings_free(r);
	}
}

/* ---- the common entries go a short way, which ends where the long one does ------------- */

static uint64_t thrown = 20261130;

/* @both[1] knows no short way; some with 64-bit ids, which have none either */
static void open_both(struct rings *both[2], uint32_t round)
{
	for (int i = 0; i < 2; i++) {
		both[i] = rings_new();
		both[i]->cq_info.entry_size = round % 2 ? EFA_CQE_SIZE_EX : EFA_CQE_SIZE;
		if (round % 4 == 3)
			both[i]->sq_info.caps |= DVQ_WQ_64BIT_IDS;
		rings_open(both[i]);
	}
	both[1]->qps[RINGS_QP_NUM % 16].send_key |= DVQ_EFA_KEY_SLOW;
	both[1]->qps[RINGS_QP_NUM % 16].recv_key |= DVQ_EFA_KEY_SLOW;
}

static void post_to_both(struct rings *both[2], uint64_t wr_id)
{
	const bool send = dice_one_in(&thrown, 2);

	for (int i = 0; i < 2; i++) {
		if (send)
			rings_post(both[i], wr_id);
		else
			rings_post_recv(both[i], wr_id);
		rings_publish(both[i]);
	}
}

/* mostly what there can be, now and then anything */
static void complete_both(struct rings *both[2])
{
	const bool recv = dice_one_in(&thrown, 2);
	const uint32_t slot = dice(&thrown) % 8;
	uint64_t id = recv ? rings_desc(both[0], slot).req_id : rings_wqe_id(both[0], slot);
	uint32_t flags = (recv ? EFA_CQE_QTYPE_RECV : EFA_CQE_QTYPE_SEND) << 1;
	struct efa_cqe_rx_ex cqe;
	uint8_t *bytes = (uint8_t *)&cqe;

	for (uint32_t i = 0; i < sizeof(cqe); i++)
		bytes[i] = dice(&thrown);
	if (dice_one_in(&thrown, 20))
		id ^= 1u << dice(&thrown) % 16;
	if (dice_one_in(&thrown, 6))
		flags ^= dice(&thrown) & 0xf8;
	if (dice_one_in(&thrown, 40))
		flags = dice(&thrown) & 0xff;
	cqe.rx.common.req_id = (uint16_t)id;
	cqe.rx.common.flags = (uint8_t)flags;
	cqe.rx.common.qp_num = dice_one_in(&thrown, 20) ? dice(&thrown) : RINGS_QP_NUM;
	if (!recv) {
		memcpy(bytes + 6, &(uint16_t){ (uint16_t)(id >> 16) }, 2);
		memcpy(bytes + 8, &(uint32_t){ (uint32_t)(id >> 32) }, 4);
	} else if (dice_one_in(&thrown, 3)) {
		cqe.rx.ah = EFA_AH_UNKNOWN;
	}
	for (int i = 0; i < 2; i++)
		rings_cqe(both[i], 0, &cqe, both[i]->cq_info.entry_size);
}

static uint32_t poll_both(struct rings *both[2])
{
	const uint32_t most = 1 + dice(&thrown) % 16;
	static struct dvq_efa_wc wcs[2][16];
	uint32_t n[2];

	for (int i = 0; i < 2; i++) {
		/* a poll may write to what it then does not count */
		memset(wcs[i], 0xee, sizeof(wcs[i]));
		n[i] = rings_poll(both[i], wcs[i], most);
	}
	CHECK_EQ(n[0], n[1]);
	CHECK(!memcmp(wcs[0], wcs[1], n[0] * sizeof(wcs[0][0])));
	CHECK_EQ(both[0]->cq.stale, both[1]->cq.stale);
	CHECK_EQ(both[0]->cq.consumed, both[1]->cq.consumed);
	CHECK_EQ(both[0]->cq_db, both[1]->cq_db);
	CHECK_EQ(dvq_efa_sq_room(&both[0]->sq), dvq_efa_sq_room(&both[1]->sq));
	CHECK_EQ(dvq_efa_rq_room(&both[0]->rq), dvq_efa_rq_room(&both[1]->rq));
	CHECK_EQ(both[0]->sq.ids.head, both[1]->sq.ids.head);
	CHECK_EQ(both[0]->rq.ids.head, both[1]->rq.ids.head);
	return n[0];
}

TEST(short_way_and_long_way_agree)
{
	uint32_t reports = 0;

	for (uint32_t round = 0; round < 40 && !tap.failures; round++) {
		struct rings *both[2];

		open_both(both, round);
		for (uint64_t step = 0; step < 1000; step++) {
			for (uint32_t i = dice(&thrown) % 6; i; i--)
				post_to_both(both, step << 8 | i);
			for (uint32_t i = dice(&thrown) % 5; i; i--)
				complete_both(both);
			reports += poll_both(both);
		}
		rings_free(both[0]);
		rings_free(both[1]);
	}
	printf("# %u completions\n", reports);
	CHECK(reports > 10000);
}

TAP_MAIN
