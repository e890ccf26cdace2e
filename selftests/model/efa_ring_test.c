// SPDX-License-Identifier: GPL-2.0
/* Rings, doorbells and events: how work gets in and how its end is told. */
#include <endian.h>
#include <string.h>

#include <hw/field.h>
#include "efa.h"
#include "tap.h"
#include "test_efa.h"

static struct drv_end end[2];
#define left	end[0]
#define right	end[1]

#define SEND	EFA_CQE_QTYPE_SEND
#define RECV	EFA_CQE_QTYPE_RECV

enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR };

/* a send without data, which needs no memory at the other side */
static void store_empty(struct drv_qp *qp, uint16_t req_id)
{
	struct efa_wqe_wide wqe;

	drv_wqe(qp, &wqe, EFA_OP_SEND, req_id, right.qp.num, left.ah);
	drv_store_wqe(qp, &wqe);
}

static unsigned int drain(struct drv_cq *cq, unsigned int status)
{
	struct efa_cqe_rx_ex cqe;
	unsigned int n = 0;

	while (drv_poll(cq, &cqe)) {
		CHECK_EQ(cqe.rx.common.status, status);
		n++;
	}
	drv_ring_cq(cq, false);
	return n;
}

/* a QP of @type and @depth beside the pair's own, in RTS */
static struct drv_qp another(struct drv_end *at, unsigned int depth, unsigned int wqe_size,
			     unsigned int descs)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &at->cq, .recv_cq = &at->cq,
		.sq_depth = depth, .wqe_size = wqe_size, .rq_descs = descs, .rq_wrs = descs,
	};
	struct drv_qp qp;

	REQUIRE(!drv_create_qp(&at->drv, &init, &qp));
	drv_bring_up(&qp, 0);
	return qp;
}

/* ---- send ring --------------------------------------------------------- */

static void run_around(const char *options, unsigned int wqe_size)
{
	struct drv_qp qp;

	drv_pair_open(end, options, EFA_ADMIN_QP_UD, wqe_size);
	qp = another(&left, 32, wqe_size, 16);
	for (unsigned int i = 0; i < 3000; i++) {
		unsigned int batch = 1 + i % 8;

		for (unsigned int j = 0; j < batch; j++)
			store_empty(&qp, i);
		drv_ring_sq(&qp);
		test_run();
		CHECK_EQ(drain(&left.cq, 0), batch);
	}
	CHECK_EQ(test_control(left.drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("max_batch"), strstr(options, "poll") ? 0 : 8);
	CHECK_EQ(test_answer_number("wqes_wide") > 0, wqe_size == 128);
	drv_pair_close(end);
}

TEST(send_rings_wrap)
{
	run_around("", 64);
	run_around("", 128);
	run_around("mode=strict", 64);
	run_around("mode=strict", 128);
	run_around("doorbell=poll", 64);
	run_around("doorbell=poll db_bar=2", 64);
	run_around("db_bar=0", 64);
	run_around("profile=efa1", 64);
}

TEST(a_full_ring_and_one_more)
{
	struct drv_qp qp;

	drv_pair_open(end, "profile=efa1 ack_ms=1000", EFA_ADMIN_QP_SRD, 64);
	drv_to_state(&left.qp, RTS, SQD);	/* takes WQEs, starts none */
	for (unsigned int i = 0; i < 64; i++)
		store_empty(&left.qp, i);
	drv_ring_sq(&left.qp);
	test_run();
	drv_check_clean(&left.drv);
	store_empty(&left.qp, 64);
	drv_ring_sq(&left.qp);
	drv_expect_violations(&left.drv, 1, "64 WQEs outstanding and 1 more");
	/* the others were not harmed */
	left.qp.sq_count--;
	drv_to_state(&left.qp, SQD, RTS);
	test_run();
	CHECK_EQ(drain(&left.cq, EFA_IO_REMOTE_RNR), 64);
	drv_pair_close(end);

	/* with a minimum depth not even a full ring in one step */
	drv_pair_open(end, "profile=efa3 max_tx_batch=0", EFA_ADMIN_QP_UD, 64);
	qp = another(&left, 32, 64, 16);
	for (unsigned int i = 0; i < 32; i++)
		store_empty(&qp, i);
	drv_ring_sq(&qp);
	drv_expect_violations(&left.drv, 1, "depth - 1");
	drv_doorbell(&left.drv, qp.sq_db, 31);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 31);
	drv_pair_close(end);
}

TEST(f01_more_than_a_batch)
{
	static const struct {
		const char *options;
		unsigned int wqe_size, limit;
	} kinds[] = {
		{ "max_tx_batch=9", 64, 9 }, { "max_tx_batch=9", 128, 4 },
		{ "max_tx_batch=9 mode=strict", 64, 9 }, { "max_tx_batch=9 mode=strict", 128, 4 },
	};

	for (unsigned int i = 0; i < 4; i++) {
		bool strict = strstr(kinds[i].options, "strict");
		struct drv_qp qp;

		drv_pair_open(end, kinds[i].options, EFA_ADMIN_QP_UD, kinds[i].wqe_size);
		qp = another(&left, 64, kinds[i].wqe_size, 16);
		for (unsigned int lap = 0; lap < 3; lap++) {
			for (unsigned int j = 0; j < kinds[i].limit; j++)
				store_empty(&qp, j);
			drv_ring_sq(&qp);
			test_run();
			drain(&left.cq, 0);
		}
		drv_check_clean(&left.drv);
		for (unsigned int j = 0; j < kinds[i].limit + 1; j++)
			store_empty(&qp, j);
		/* strict mode sees the store, fast mode the doorbell */
		if (strict)
			drv_expect_violations(&left.drv, 1, "max_tx_batch is 9");
		drv_check_clean(&left.drv);
		drv_ring_sq(&qp);
		test_run();
		drv_expect_violations(&left.drv, 1, "max_tx_batch is 9");
		CHECK_EQ(drain(&left.cq, 0), 0);
		drv_pair_close(end);
	}
}

TEST(polling_may_miss_doorbells)
{
	struct drv_qp qp;

	drv_pair_open(end, "max_tx_batch=4 doorbell=poll", EFA_ADMIN_QP_UD, 64);
	qp = another(&left, 64, 64, 16);
	for (unsigned int i = 0; i < 64; i++) {
		store_empty(&qp, i);
		if (i % 4 == 3)
			drv_ring_sq(&qp);	/* as it should be, but nobody looks yet */
	}
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 64);
	drv_pair_close(end);
}

TEST(stores_that_strict_mode_sees)
{
	struct model_device *dev;
	struct efa_wqe_wide wqe;

	drv_pair_open(end, "mode=strict", EFA_ADMIN_QP_UD, 64);
	dev = left.drv.dev;
	dev->ops->bar_write(dev, 2, left.qp.llq, 4, 0);
	drv_expect_violations(&left.drv, 1, "4-byte store");
	dev->ops->bar_write(dev, 2, left.qp.llq + 4, 8, 0);
	drv_expect_violations(&left.drv, 1, "aligned 8-byte");
	dev->ops->bar_write(dev, 2, left.qp.llq + 64 * 64, 8, 0);
	drv_expect_violations(&left.drv, 1, "no send ring");
	dev->ops->bar_read(dev, 2, left.qp.llq, 8);
	drv_expect_violations(&left.drv, 1, "only stored to");

	/* a WQE of which a part is missing */
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 1, right.qp.num, left.ah);
	for (unsigned int i = 0; i < 56; i += 8) {
		uint64_t word;

		memcpy(&word, (char *)&wqe + i, 8);
		dev->ops->bar_write(dev, 2, left.qp.llq + i, 8, word);
	}
	drv_doorbell(&left.drv, left.qp.sq_db, 1);
	drv_expect_violations(&left.drv, 1, "only 56 of 64 bytes");
	dev->ops->bar_write(dev, 2, left.qp.llq + 48, 8, 0);
	drv_expect_violations(&left.drv, 1, "stored twice");
	dev->ops->bar_write(dev, 2, left.qp.llq + 56, 8, 0);
	drv_doorbell(&left.drv, left.qp.sq_db, 1);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);
	drv_pair_close(end);
}

TEST(a_doorbell_without_a_wqe)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	drv_doorbell(&left.drv, left.qp.sq_db, 1);
	test_run();
	drv_expect_violations(&left.drv, 1, "WQE 0");
	CHECK_EQ(drain(&left.cq, EFA_IO_LOCAL_QP_INTERNAL), 1);
	/* what was posted once is not there a second time */
	left.qp.sq_count = 1;
	store_empty(&left.qp, 1);
	drv_ring_sq(&left.qp);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);
	for (unsigned int i = 2; i < 65; i++) {
		store_empty(&left.qp, i);
		drv_ring_sq(&left.qp);
		test_run();
	}
	CHECK_EQ(drain(&left.cq, 0), 63);
	drv_doorbell(&left.drv, left.qp.sq_db, 66);
	test_run();
	drv_expect_violations(&left.drv, 1, "WQE 65");
	CHECK_EQ(drain(&left.cq, EFA_IO_LOCAL_QP_INTERNAL), 1);
	/* nor after RESET, when the phase does not give the old one away */
	CHECK_EQ(drv_to_state(&left.qp, RTS, RESET), 0);
	drv_bring_up(&left.qp, 0);
	for (unsigned int i = 0; i < 64; i++) {
		store_empty(&left.qp, i);
		drv_ring_sq(&left.qp);
		test_run();
	}
	CHECK_EQ(drain(&left.cq, 0), 64);
	drv_doorbell(&left.drv, left.qp.sq_db, 65);
	test_run();
	drv_expect_violations(&left.drv, 1, "WQE 64");
	CHECK_EQ(drain(&left.cq, EFA_IO_LOCAL_QP_INTERNAL), 1);
	drv_pair_close(end);
}

/* a send WQE that @spoil has spoilt */
static void check_wqe(void (*spoil)(struct efa_wqe_wide *wqe), unsigned int status,
		      const char *why)
{
	struct efa_wqe_wide wqe;

	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 5, right.qp.num, left.ah);
	wqe.meta.length = htole16(1);
	drv_tx_buf(&wqe.u.sgl[0], left.mr.addr, 10, left.mr.lkey);
	spoil(&wqe);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 5, status, NULL));
	drv_expect_violations(&left.drv, 1, why);
}

#define SPOIL(name, statement)							\
	static void name(struct efa_wqe_wide *wqe) { statement; }

SPOIL(no_meta_desc, wqe->meta.ctrl1 &= ~EFA_WQE_META_DESC)
SPOIL(no_first, wqe->meta.ctrl2 &= ~EFA_WQE_FIRST)
SPOIL(no_last, wqe->meta.ctrl2 &= ~EFA_WQE_LAST)
SPOIL(no_comp, wqe->meta.ctrl2 &= ~EFA_WQE_COMP_REQ)
SPOIL(meta_ext, wqe->meta.ctrl1 |= EFA_WQE_META_EXT)
SPOIL(ctrl2_bit, wqe->meta.ctrl2 |= 0x20)
SPOIL(ctrl3_bit, wqe->meta.ctrl3 |= 0x04)
SPOIL(byte15, wqe->meta.reserved15 = 1)
SPOIL(byte25, wqe->meta.reserved20[5] = 1)
SPOIL(upper_id, wqe->meta.req_id_ex[2] = 1)
SPOIL(phase, wqe->meta.ctrl2 ^= EFA_WQE_PHASE)
SPOIL(op15, wqe->meta.ctrl1 |= 15)
SPOIL(three_bufs, wqe->meta.length = htole16(3))
SPOIL(wide_key, wqe->u.sgl[0].lkey |= htole32(0x01000000))
SPOIL(long_inline, (wqe->meta.ctrl1 |= EFA_WQE_INLINE_MSG, wqe->meta.length = htole16(81)))
SPOIL(tail, wqe->u.bytes[95] = 1)
SPOIL(second_buf, wqe->u.sgl[1].length = htole32(1))
SPOIL(short_inline, (wqe->meta.ctrl1 |= EFA_WQE_INLINE_MSG, wqe->u.inline_data[1] = 1))

TEST(wqes_that_no_driver_posts)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 128);
	check_wqe(no_meta_desc, EFA_IO_LOCAL_QP_INTERNAL, "must all be 1");
	check_wqe(no_first, EFA_IO_LOCAL_QP_INTERNAL, "must all be 1");
	check_wqe(no_last, EFA_IO_LOCAL_QP_INTERNAL, "must all be 1");
	check_wqe(no_comp, EFA_IO_LOCAL_QP_INTERNAL, "must all be 1");
	check_wqe(meta_ext, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_wqe(ctrl2_bit, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_wqe(ctrl3_bit, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_wqe(byte15, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_wqe(byte25, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_wqe(upper_id, EFA_IO_LOCAL_QP_INTERNAL, "16-bit ids");
	check_wqe(phase, EFA_IO_LOCAL_QP_INTERNAL, "parity of the lap");
	check_wqe(op15, EFA_IO_LOCAL_QP_INTERNAL, "no such operation");
	check_wqe(three_bufs, EFA_IO_LOCAL_BAD_LENGTH, "max_send_sges");
	check_wqe(wide_key, EFA_IO_LOCAL_QP_INTERNAL, "24 bits");
	check_wqe(long_inline, EFA_IO_LOCAL_BAD_LENGTH, "inline bytes");
	check_wqe(tail, EFA_IO_LOCAL_QP_INTERNAL, "tail");
	check_wqe(second_buf, EFA_IO_LOCAL_QP_INTERNAL, "tail");
	check_wqe(short_inline, EFA_IO_LOCAL_QP_INTERNAL, "tail");
	drv_pair_close(end);
}

SPOIL(imm_read, wqe->meta.ctrl1 |= EFA_OP_RDMA_READ | EFA_WQE_HAS_IMM)
SPOIL(inline_read, wqe->meta.ctrl1 |= EFA_OP_RDMA_READ | EFA_WQE_INLINE_MSG)
SPOIL(inline_write, wqe->meta.ctrl1 |= EFA_OP_RDMA_WRITE | EFA_WQE_INLINE_MSG)
SPOIL(two_bufs_read, (wqe->meta.ctrl1 |= EFA_OP_RDMA_READ, wqe->meta.length = htole16(2)))
SPOIL(no_buf_read, (wqe->meta.ctrl1 |= EFA_OP_RDMA_READ, wqe->meta.length = 0,
		    wqe->u.rdma.u.local.lkey = htole32(1)))
SPOIL(short_inline_write, (inline_write(wqe), wqe->u.rdma.u.inline_data[1] = 1))

TEST(rdma_wqes_that_no_driver_posts)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	check_wqe(imm_read, EFA_IO_LOCAL_QP_INTERNAL, "immediate data");
	check_wqe(inline_read, EFA_IO_LOCAL_QP_INTERNAL, "128-byte WQEs only");
	check_wqe(inline_write, EFA_IO_LOCAL_QP_INTERNAL, "128-byte WQEs only");
	check_wqe(two_bufs_read, EFA_IO_LOCAL_BAD_LENGTH, "one local buffer");
	check_wqe(no_buf_read, EFA_IO_LOCAL_QP_INTERNAL, "tail");
	drv_pair_close(end);
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 128);
	check_wqe(short_inline_write, EFA_IO_LOCAL_QP_INTERNAL, "tail");
	drv_pair_close(end);
}

TEST(hints_are_seen_and_are_no_violation)
{
	struct efa_wqe_wide wqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	for (unsigned int i = 0; i < 10; i++) {
		drv_wqe(&left.qp, &wqe, EFA_OP_SEND, i, right.qp.num, left.ah);
		wqe.meta.ctrl3 = i < 6 ? EFA_WQE_HINT_BURST : 0;
		drv_store_wqe(&left.qp, &wqe);
	}
	drv_ring_sq(&left.qp);
	test_run();
	CHECK_EQ(test_control(left.drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("wqe_hint0"), 4);
	CHECK_EQ(test_answer_number("wqe_hint1"), 6);
	CHECK_EQ(test_answer_number("doorbells_sq"), 1);
	CHECK_EQ(test_answer_number("max_batch"), 10);
	drv_pair_close(end);
}

/* after RESET drivers keep their phase but begin at count 0 again */
TEST(the_phase_counts_until_reset)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	store_empty(&left.qp, 1);
	drv_ring_sq(&left.qp);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);
	CHECK_EQ(drv_to_state(&left.qp, RTS, RESET), 0);
	drv_bring_up(&left.qp, 0);
	for (unsigned int i = 0; i < 10; i++) {
		struct efa_wqe_wide wqe;

		drv_wqe(&left.qp, &wqe, EFA_OP_SEND, i, right.qp.num, left.ah);
		wqe.meta.ctrl2 ^= i & EFA_WQE_PHASE;
		drv_store_wqe(&left.qp, &wqe);
	}
	drv_ring_sq(&left.qp);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 10);
	drv_pair_close(end);
}

TEST(a_reset_before_use_keeps_the_phase_check)
{
	struct efa_wqe_wide wqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	CHECK_EQ(drv_to_state(&left.qp, RTS, RESET), 0);
	drv_bring_up(&left.qp, 0);
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 1, right.qp.num, left.ah);
	wqe.meta.ctrl2 ^= EFA_WQE_PHASE;
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	test_run();
	drv_expect_violations(&left.drv, 1, "parity");
	drv_pair_close(end);
}

/* ---- doorbells --------------------------------------------------------- */

TEST(doorbells_by_state)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &left.cq, .recv_cq = &left.cq,
		.sq_depth = 32, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	REQUIRE(!drv_create_qp(&left.drv, &init, &qp));
	/* a count that says nothing new is harmless anywhere */
	drv_doorbell(&left.drv, qp.sq_db, 0);
	drv_doorbell(&left.drv, qp.rq_db, 0);
	drv_check_clean(&left.drv);
	store_empty(&qp, 1);
	drv_ring_sq(&qp);
	drv_expect_violations(&left.drv, 1, "in state RESET");
	drv_recv(&qp, 1, &left.mr, 0, 100);
	drv_expect_violations(&left.drv, 1, "in state RESET");
	qp.sq_count = qp.rq_count = 0;
	CHECK_EQ(drv_modify_qp(&qp, EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_QKEY, 0, INIT, 0), 0);
	drv_recv(&qp, 1, &left.mr, 0, 100);
	drv_check_clean(&left.drv);
	store_empty(&qp, 1);
	drv_ring_sq(&qp);
	drv_expect_violations(&left.drv, 1, "in state INIT");
	drv_doorbell(&left.drv, qp.sq_db, 0x10001);
	drv_expect_violations(&left.drv, 1, "16 bits");
	drv_doorbell(&left.drv, qp.rq_db, 0x10001);
	drv_expect_violations(&left.drv, 1, "16 bits");
	drv_pair_close(end);
}

TEST(a_doorbell_belongs_to_one_process)
{
	uint16_t uar;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	CHECK_EQ(drv_alloc_uar(&left.drv, &uar), 0);
	/* the same place on the page of another UAR */
	drv_doorbell(&left.drv, left.qp.sq_db + (uar - left.drv.uar) * 4096, 1);
	drv_expect_violations(&left.drv, 1, "no live send queue");
	drv_doorbell(&left.drv, left.cq.db + (uar - left.drv.uar) * 4096, 0);
	drv_expect_violations(&left.drv, 1, "no such doorbell");
	CHECK_EQ(drv_destroy_qp(&left.qp), 0);
	drv_doorbell(&left.drv, left.qp.sq_db, 1);
	drv_expect_violations(&left.drv, 1, "no live send queue");
	drv_pair_close(end);
}

/* the words of a polled doorbell outlive their queue */
static void check_recycled(const char *options)
{
	struct drv_qp a, b;

	drv_pair_open(end, options, EFA_ADMIN_QP_UD, 64);
	a = another(&left, 64, 64, 64);
	for (unsigned int i = 0; i < 37; i++)
		store_empty(&a, i);
	for (unsigned int i = 0; i < 37; i++)
		drv_store_rx(&a, i, left.mr.addr, 10, left.mr.lkey, EFA_RX_FIRST | EFA_RX_LAST);
	drv_ring_sq(&a);
	drv_ring_rq(&a);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 37);
	CHECK_EQ(drv_destroy_qp(&a), 0);
	b = another(&left, 64, 64, 64);
	CHECK_EQ(b.sq_db, a.sq_db);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 0);
	store_empty(&b, 1);
	drv_ring_sq(&b);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);

	/* and when the last value was never looked at */
	store_empty(&b, 2);
	drv_ring_sq(&b);
	CHECK_EQ(drv_destroy_qp(&b), 0);
	a = another(&left, 64, 64, 64);
	CHECK_EQ(b.sq_db, a.sq_db);
	test_run();
	drain(&left.cq, 0);
	store_empty(&a, 3);
	drv_ring_sq(&a);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);
	/* RESET is a new beginning too */
	CHECK_EQ(drv_to_state(&a, RTS, RESET), 0);
	drv_bring_up(&a, 0);
	store_empty(&a, 4);
	drv_ring_sq(&a);
	test_run();
	CHECK_EQ(drain(&left.cq, 0), 1);
	drv_pair_close(end);
}

/* nobody rings the doorbell that a queue left to a QP without such a queue */
TEST(a_recycled_doorbell_may_have_no_queue)
{
	for (unsigned int sends = 0; sends < 2; sends++) {
		struct drv_qp_init init = {
			.type = EFA_ADMIN_QP_UD, .send_cq = &left.cq, .recv_cq = &left.cq,
			.wqe_size = 64, .sq_depth = sends ? 64 : 0, .rq_descs = sends ? 0 : 64,
			.rq_wrs = sends ? 0 : 64,
		};
		struct drv_qp a, b;

		drv_pair_open(end, "qpn_reuse=1 doorbell=poll", EFA_ADMIN_QP_UD, 64);
		a = another(&left, 64, 64, 64);
		store_empty(&a, 1);
		drv_ring_sq(&a);
		drv_store_rx(&a, 1, left.mr.addr, 10, left.mr.lkey, EFA_RX_FIRST | EFA_RX_LAST);
		drv_ring_rq(&a);
		test_run();
		CHECK_EQ(drain(&left.cq, 0), 1);
		CHECK_EQ(drv_destroy_qp(&a), 0);
		REQUIRE(!drv_create_qp(&left.drv, &init, &b));
		CHECK_EQ(b.sq_db, a.sq_db);
		test_run();
		drv_check_clean(&left.drv);
		CHECK(!left.drv.dev->ops->poll(left.drv.dev));
		drv_pair_close(end);
	}
}

TEST(f74_recycled_doorbells_are_empty)
{
	check_recycled("qpn_reuse=1 max_tx_batch=0");
	check_recycled("qpn_reuse=1 max_tx_batch=0 doorbell=poll");
}

TEST(polling_only_while_there_is_something_to_poll)
{
	drv_pair_open(end, "doorbell=poll", EFA_ADMIN_QP_UD, 64);
	CHECK(left.drv.dev->polled);
	CHECK(!left.drv.dev->ops->poll(left.drv.dev));
	store_empty(&left.qp, 1);
	drv_ring_sq(&left.qp);
	CHECK(left.drv.dev->ops->poll(left.drv.dev));
	test_run();
	CHECK(!left.drv.dev->ops->poll(left.drv.dev));
	CHECK_EQ(drain(&left.cq, 0), 1);
	/* a bad word is told once, not at every look */
	drv_doorbell(&left.drv, left.qp.sq_db, 0x20001);
	test_run();
	test_run();
	drv_expect_violations(&left.drv, 1, "16 bits");
	CHECK_EQ(drv_destroy_qp(&left.qp), 0);
	CHECK(!left.drv.dev->polled);
	drv_pair_close(end);
}

/* ---- receive ring ------------------------------------------------------ */

TEST(receive_rings_wrap)
{
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	qp = another(&right, 32, 64, 16);
	for (unsigned int i = 0; i < 5000; i++) {
		struct efa_wqe_wide wqe;
		unsigned int batch = 1 + i % 4, n = 0;

		for (unsigned int j = 0; j < batch; j++) {
			drv_store_rx(&qp, i + j, right.mr.addr, 64, right.mr.lkey, EFA_RX_FIRST);
			drv_store_rx(&qp, 0, right.mr.addr + 64, 64, right.mr.lkey, 0);
			drv_store_rx(&qp, 0, right.mr.addr + 128, 64, right.mr.lkey, EFA_RX_LAST);
		}
		drv_ring_rq(&qp);
		for (unsigned int j = 0; j < batch; j++) {
			drv_wqe(&left.qp, &wqe, EFA_OP_SEND, j, qp.num, left.ah);
			drv_store_wqe(&left.qp, &wqe);
		}
		drv_ring_sq(&left.qp);
		test_run();
		drain(&left.cq, 0);
		for (struct efa_cqe_rx_ex cqe; drv_poll(&right.cq, &cqe); n++)
			CHECK_EQ(le16toh(cqe.rx.common.req_id), (uint16_t)(i + n));
		drv_ring_cq(&right.cq, false);
		CHECK_EQ(n, batch);
	}
	CHECK(qp.rq_count < 60000);	/* 16-bit counts wrapped too */
	drv_pair_close(end);
}

TEST(a_full_receive_ring_and_one_more)
{
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	qp = another(&left, 32, 64, 16);
	for (unsigned int i = 0; i < 16; i++)
		drv_recv(&qp, i, &left.mr, 0, 10);
	test_run();
	drv_check_clean(&left.drv);
	drv_recv(&qp, 16, &left.mr, 0, 10);
	drv_expect_violations(&left.drv, 1, "16 descriptors outstanding and 1 more");
	drv_pair_close(end);
}

/* descriptors as given, one by one; then a message */
static void check_rx(const uint32_t *ctrl, unsigned int n, uint16_t second_id, unsigned int status,
		     const char *why)
{
	struct drv_qp qp = another(&right, 32, 64, 16);
	struct efa_wqe_wide wqe;

	for (unsigned int i = 0; i < n; i++)
		drv_store_rx(&qp, i ? second_id : 7, right.mr.addr, 64, right.mr.lkey, ctrl[i]);
	drv_ring_rq(&qp);
	test_run();
	CHECK(right.drv.dev->violations);
	if (right.drv.dev->violations)
		CHECK_CONTAINS(right.drv.dev->violation_text[0], why);
	model_violations_clear(right.drv.dev);
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 1, qp.num, left.ah);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 7, status, NULL));
	CHECK_EQ(drv_destroy_qp(&qp), 0);
}

TEST(receive_descriptors_that_no_driver_posts)
{
	const uint32_t one = EFA_RX_FIRST | EFA_RX_LAST;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	check_rx((uint32_t[]) { one | 0x01000000 }, 1, 0, EFA_IO_LOCAL_QP_INTERNAL, "reserved bits");
	check_rx((uint32_t[]) { EFA_RX_LAST }, 1, 0, EFA_IO_LOCAL_QP_INTERNAL, "first is not set");
	check_rx((uint32_t[]) { EFA_RX_FIRST, one }, 2, 0, EFA_IO_LOCAL_QP_INTERNAL,
		 "before the WR's last");
	check_rx((uint32_t[]) { EFA_RX_FIRST, EFA_RX_LAST }, 2, 9, EFA_IO_LOCAL_QP_INTERNAL,
		 "first descriptor only");
	check_rx((uint32_t[]) { EFA_RX_FIRST, 0, 0, EFA_RX_LAST }, 4, 0, EFA_IO_LOCAL_QP_INTERNAL,
		 "max_recv_sges");
	check_rx((uint32_t[]) { EFA_RX_FIRST, 0 }, 2, 0, EFA_IO_LOCAL_QP_INTERNAL,
		 "in the middle of a WR");
	drv_pair_close(end);
}

/* ---- completion queue -------------------------------------------------- */

TEST(the_phase_byte_comes_last)
{
	const struct test_write *write;
	unsigned int n;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	drv_recv(&right.qp, 1, &right.mr, 0, 140);
	test_run();
	n = right.drv.host.nwrites;
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 100);
	test_run();
	REQUIRE(right.drv.host.nwrites == n + 3);
	write = &right.drv.host.writes[n % TEST_WRITES_KEPT];
	REQUIRE(n % TEST_WRITES_KEPT + 2 < TEST_WRITES_KEPT);
	/* payload, the rest of the entry, its first four bytes */
	CHECK_EQ(write[0].addr, right.mr.pages[0] + 40);
	CHECK_EQ(write[1].addr, right.cq.ring + 4);
	CHECK_EQ(write[2].addr, right.cq.ring);
	CHECK_EQ(write[2].len, 4);
	CHECK(write[1].barriers > write[0].barriers);
	CHECK(write[2].barriers > write[1].barriers);
	drv_pair_close(end);
}

static void overrun(const char *options, unsigned int kept, unsigned int lost)
{
	struct drv_cq small;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &small, .recv_cq = &small,
		.sq_depth = 64, .wqe_size = 64,
	};
	struct efa_cqe_rx_ex cqe;
	unsigned int n = 0;
	struct drv_qp qp;

	drv_pair_open(end, options, EFA_ADMIN_QP_UD, 64);
	REQUIRE(!drv_create_cq(&left.drv, 16, 32, 0, -1, &small));
	REQUIRE(!drv_create_qp(&left.drv, &init, &qp));
	drv_bring_up(&qp, 0);
	for (unsigned int i = 0; i < 24; i++) {
		store_empty(&qp, i);
		drv_ring_sq(&qp);
		test_run();
	}
	while (drv_poll(&small, &cqe)) {
		CHECK_EQ(le16toh(cqe.rx.common.req_id), n);	/* nothing twice, nothing torn */
		n++;
	}
	CHECK_EQ(n, kept);
	CHECK_EQ(test_control(left.drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("cq_overruns"), lost);
	if (!kept) {
		drv_pair_close(end);
		return;
	}
	/* room again after the doorbell */
	drv_ring_cq(&small, false);
	store_empty(&qp, 24);
	drv_ring_sq(&qp);
	CHECK(drv_wait(&small, SEND, 24, 0, NULL));
	drv_pair_close(end);
}

TEST(f10_a_full_completion_queue_drops)
{
	overrun("profile=efa3", 16, 8);
	/* one QP uses one sub-CQ only */
	overrun("profile=efa1", 16, 8);
	/* overwritten: the first 8 slots are of the next lap, so the consumer sees none */
	overrun("profile=efa3 cq_overwrite=1", 0, 0);
}

TEST(polling_without_doorbell)
{
	drv_pair_open(end, "cq_doorbells=0", EFA_ADMIN_QP_UD, 64);
	CHECK(!left.cq.db_valid);
	for (unsigned int i = 0; i < 1000; i++) {
		store_empty(&left.qp, i);
		drv_ring_sq(&left.qp);
		CHECK(drv_wait(&left.cq, SEND, i, 0, NULL));
	}
	drv_doorbell(&left.drv, left.drv.uar * 4096 + (1 << 20) + 4 * left.cq.num, 0);
	drv_expect_violations(&left.drv, 1, "no such doorbell");
	drv_pair_close(end);
}

TEST(sub_cqs)
{
	bool used[2] = { false };

	drv_pair_open(end, "profile=efa1", EFA_ADMIN_QP_UD, 64);
	for (unsigned int i = 0; i < 4; i++) {
		struct drv_qp qp = another(&left, 32, 64, 0);
		uint32_t before[2] = { left.cq.taken[0], left.cq.taken[1] };

		for (unsigned int j = 0; j < 300; j++) {
			store_empty(&qp, j);
			drv_ring_sq(&qp);
			CHECK(drv_wait(&left.cq, SEND, j, 0, NULL));
		}
		/* all of a QP's completions come through one sub-CQ */
		CHECK((left.cq.taken[0] - before[0] == 300) != (left.cq.taken[1] - before[1] == 300));
		used[left.cq.taken[1] != before[1]] = true;
	}
	CHECK(used[0] && used[1]);
	drv_pair_close(end);
}

TEST(completion_doorbells_that_no_driver_rings)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	drv_doorbell(&left.drv, left.cq.db, 1);
	drv_expect_violations(&left.drv, 1, "1 entries were taken");
	drv_doorbell(&left.drv, left.cq.db, 0x00010000);
	drv_expect_violations(&left.drv, 1, "reserved bits");
	drv_doorbell(&left.drv, left.cq.db, EFA_CQ_DB_ARM);
	drv_expect_violations(&left.drv, 1, "without interrupts");
	drv_pair_close(end);
}

TEST(short_entries)
{
	struct drv_cq cq16;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &cq16, .recv_cq = &cq16,
		.sq_depth = 64, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	struct efa_cqe_rx_ex cqe;
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	REQUIRE(!drv_create_cq(&right.drv, 16, 16, 0, -1, &cq16));
	REQUIRE(!drv_create_qp(&right.drv, &init, &qp));
	drv_bring_up(&qp, 0);
	for (unsigned int i = 0; i < 100; i++) {
		drv_recv(&qp, i, &right.mr, 0, 500);
		drv_send(&left.qp, i, qp.num, left.ah, &left.mr, 0, 77);
		CHECK(drv_wait(&left.cq, SEND, i, 0, NULL));
		CHECK(drv_wait(&cq16, RECV, i, 0, &cqe));
		CHECK_EQ(le16toh(cqe.rx.length), 40 + 77);
		CHECK_EQ(le16toh(cqe.rx.ah), right.ah);
		CHECK_EQ(le16toh(cqe.rx.src_qp_num), left.qp.num);
	}
	drv_pair_close(end);
}

/* ---- events ------------------------------------------------------------ */

static struct drv_cq event_cq;
static struct drv_qp event_qp;
static uint64_t eq_ring;
static uint16_t eqn;
static unsigned int eq_taken;

static void arm_eq(void)
{
	drv_write(&left.drv, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | eqn);
}

static void open_events(const char *options, unsigned int eq_depth)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &event_cq, .recv_cq = &event_cq,
		.sq_depth = 64, .wqe_size = 64,
	};

	drv_pair_open(end, options, EFA_ADMIN_QP_UD, 64);
	REQUIRE(!drv_create_eq(&left.drv, eq_depth, 3, &eq_ring, &eqn));
	REQUIRE(!drv_create_cq(&left.drv, 64, 32, 0, eqn, &event_cq));
	REQUIRE(!drv_create_qp(&left.drv, &init, &event_qp));
	drv_bring_up(&event_qp, 0);
	eq_taken = 0;
}

/* the next event; its CQ or -1 */
static int take_event(unsigned int depth)
{
	struct efa_eqe *eqe = test_mem(&left.drv.host, eq_ring + eq_taken % depth * EFA_EQE_SIZE,
				       sizeof(*eqe));

	if ((le32toh(eqe->common) & EFA_EQE_PHASE) == (eq_taken / depth & 1))
		return -1;
	eq_taken++;
	return le16toh(eqe->cqn);
}

static void complete_one(uint16_t id)
{
	store_empty(&event_qp, id);
	drv_ring_sq(&event_qp);
	test_run();
}

TEST(an_armed_cq_makes_one_event)
{
	open_events("", 16);
	arm_eq();
	complete_one(1);
	CHECK_EQ(take_event(16), -1);		/* not armed */
	CHECK_EQ(drain(&event_cq, 0), 1);
	drv_ring_cq(&event_cq, true);
	test_run();
	CHECK_EQ(take_event(16), -1);		/* nothing yet */
	complete_one(2);
	complete_one(3);
	CHECK_EQ(take_event(16), event_cq.num);
	CHECK_EQ(take_event(16), -1);
	CHECK_EQ(left.drv.host.irqs[3], 1);
	drv_pair_close(end);
}

TEST(arming_with_entries_waiting_makes_the_event_at_once)
{
	open_events("", 16);
	arm_eq();
	complete_one(1);
	drv_ring_cq(&event_cq, true);		/* index 0: has seen nothing */
	test_run();
	CHECK_EQ(take_event(16), event_cq.num);
	CHECK_EQ(left.drv.host.irqs[3], 1);
	drv_pair_close(end);
}

TEST(an_arm_is_not_undone_by_a_plain_store)
{
	open_events("", 16);
	arm_eq();
	drv_ring_cq(&event_cq, true);
	drv_ring_cq(&event_cq, false);
	complete_one(1);
	CHECK_EQ(take_event(16), event_cq.num);
	drv_pair_close(end);
}

TEST(an_eq_interrupts_once_per_arm)
{
	open_events("", 16);
	drv_ring_cq(&event_cq, true);
	complete_one(1);
	CHECK_EQ(left.drv.host.irqs[3], 0);	/* EQ not armed */
	arm_eq();
	CHECK_EQ(left.drv.host.irqs[3], 1);	/* the event is older than the arm */
	CHECK_EQ(take_event(16), event_cq.num);
	drain(&event_cq, 0);
	event_cq.events++;
	drv_ring_cq(&event_cq, true);
	complete_one(2);
	CHECK_EQ(take_event(16), event_cq.num);
	CHECK_EQ(left.drv.host.irqs[3], 1);	/* not armed again */
	arm_eq();
	CHECK_EQ(left.drv.host.irqs[3], 2);
	arm_eq();
	CHECK_EQ(left.drv.host.irqs[3], 2);	/* nothing new */
	CHECK_EQ(test_control(left.drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("cq_arms"), 2);
	CHECK_EQ(test_answer_number("cq_sn_mismatches"), 0);
	CHECK_EQ(test_answer_number("eq_events"), 2);
	drv_pair_close(end);
}

TEST(event_rings_wrap)
{
	open_events("", 16);
	for (unsigned int i = 0; i < 300; i++) {
		arm_eq();
		drv_ring_cq(&event_cq, true);
		complete_one(i);
		CHECK_EQ(take_event(16), event_cq.num);
		event_cq.events++;
		CHECK_EQ(drain(&event_cq, 0), 1);
	}
	CHECK_EQ(left.drv.host.irqs[3], 300);
	drv_pair_close(end);
}

TEST(lost_and_wrong_events)
{
	open_events("", 16);
	CHECK_EQ(test_control(left.drv.dev, "inject op=eq_irq action=drop"), 0);
	arm_eq();
	drv_ring_cq(&event_cq, true);
	complete_one(1);
	CHECK_EQ(left.drv.host.irqs[3], 0);
	CHECK_EQ(take_event(16), event_cq.num);
	event_cq.events++;
	drain(&event_cq, 0);
	CHECK_EQ(test_control(left.drv.dev, "inject op=eq_entry action=corrupt"), 0);
	arm_eq();
	drv_ring_cq(&event_cq, true);
	complete_one(2);
	CHECK_EQ(take_event(16), (uint16_t)~event_cq.num);
	event_cq.events++;
	drv_ring_cq(&event_cq, false);
	drain(&event_cq, 0);
	CHECK_EQ(test_control(left.drv.dev, "inject op=eq_entry action=drop"), 0);
	drv_ring_cq(&event_cq, true);
	complete_one(3);
	CHECK_EQ(take_event(16), -1);
	drv_pair_close(end);
}

TEST(events_that_nothing_caused)
{
	char line[64];

	open_events("", 16);
	arm_eq();
	snprintf(line, sizeof(line), "event cq=%u", event_cq.num);
	CHECK_EQ(test_control(left.drv.dev, line), 0);
	CHECK_EQ(take_event(16), event_cq.num);
	CHECK_EQ(left.drv.host.irqs[3], 1);
	/* on a queue that is not the CQ's: of one that has none */
	snprintf(line, sizeof(line), "event cq=%u eq=0", left.cq.num);
	CHECK_EQ(test_control(left.drv.dev, line), 0);
	CHECK_EQ(take_event(16), left.cq.num);
	snprintf(line, sizeof(line), "event cq=%u", left.cq.num);
	CHECK(test_control(left.drv.dev, line) < 0);
	CHECK(test_control(left.drv.dev, "event cq=60000") < 0);
	CHECK(test_control(left.drv.dev, "event") < 0);
	drv_pair_close(end);
}

TEST(an_eq_that_is_too_small)
{
	open_events("", 4);
	for (unsigned int i = 0; i < 5; i++) {
		drv_ring_cq(&event_cq, true);
		complete_one(i);
		event_cq.events++;
		drain(&event_cq, 0);
	}
	drv_expect_violations(&left.drv, 1, "depth 4");
	drv_pair_close(end);
}

TEST(a_wrong_serial_number_is_counted)
{
	open_events("", 16);
	event_cq.events = 2;
	drv_ring_cq(&event_cq, true);
	CHECK_EQ(test_control(left.drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("cq_sn_mismatches"), 1);
	drv_pair_close(end);
}

TEST(rings_whose_memory_goes_away)
{
	struct drv_qp qp;

	open_events("", 16);
	qp = another(&left, 32, 64, 16);
	drv_recv(&qp, 1, &left.mr, 0, 10);
	left.drv.host.failing = true;
	test_run();
	drv_expect_violations(&left.drv, 2, "first is not set");
	complete_one(1);
	drv_expect_violations(&left.drv, 1, "CQ");
	left.drv.host.failing = false;
	complete_one(2);
	left.drv.host.failing = true;
	drv_ring_cq(&event_cq, true);
	test_run();
	drv_expect_violations(&left.drv, 1, "EQ");
	left.drv.host.failing = false;
	drv_pair_close(end);
}

TEST(a_cq_that_goes_while_its_event_is_due)
{
	open_events("", 16);
	complete_one(1);
	drv_ring_cq(&event_cq, true);
	CHECK_EQ(drv_destroy_qp(&event_qp), 0);
	CHECK_EQ(drv_destroy_cq(&event_cq), 0);
	test_run();
	CHECK_EQ(drv_destroy_eq(&left.drv, eqn), 0);
	drv_pair_close(end);
}

TAP_MAIN
