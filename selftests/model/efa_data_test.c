// SPDX-License-Identifier: GPL-2.0
/* The data path between two adapters, end to end. */
#include <endian.h>
#include <stdlib.h>
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

static uint8_t pattern[256 << 10], seen[256 << 10];

/* new bytes in @at's memory; what is at the other end is wiped */
static void fill(struct drv_end *from, struct drv_end *to, size_t len)
{
	static uint32_t state = 1;

	for (size_t i = 0; i < len; i++)
		pattern[i] = (state = state * 1103515245 + 12345) >> 16;
	drv_mr_write(&from->drv, &from->mr, 0, pattern, len);
	memset(seen, 0, len);
	drv_mr_write(&to->drv, &to->mr, 0, seen, len);
}

static bool arrived(struct drv_end *at, uint64_t off, size_t len)
{
	drv_mr_read(&at->drv, &at->mr, off, seen, len);
	return !memcmp(seen, pattern, len);
}

static void check_nothing(struct drv_end *at)
{
	struct efa_cqe_rx_ex cqe;

	test_run();
	CHECK(!drv_poll(&at->cq, &cqe));
}

static long long number(struct drv_end *at, const char *key)
{
	CHECK_EQ(test_control(at->drv.dev, "stats"), 0);
	return test_answer_number(key);
}

static uint64_t statistic(struct drv_end *at, unsigned int type, unsigned int index)
{
	struct efa_get_stats_resp resp;
	uint64_t value;

	CHECK_EQ(drv_stats(&at->drv, type, &resp), 0);
	memcpy(&value, resp.u.bytes + 8 * index, 8);
	return le64toh(value);
}

/* ---- messages ---------------------------------------------------------- */

static void messages(const char *options, enum efa_admin_qp_type type)
{
	static const unsigned int sizes[] = { 0, 1, 63, 64, 4095, 4096, 4097, 8927, 8928 };
	unsigned int header = type == EFA_ADMIN_QP_UD ? 40 : 0;
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, options, type, 64);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned int len = sizes[i];

		fill(&left, &right, 9000);
		drv_recv(&right.qp, 100 + i, &right.mr, 3, 9000);
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, len);
		CHECK(drv_wait(&left.cq, SEND, i, 0, &cqe));
		CHECK_EQ(HW_GET(EFA_CQE_OP, cqe.rx.common.flags), EFA_OP_SEND);
		CHECK_EQ(le16toh(cqe.rx.common.qp_num), left.qp.num);
		CHECK(drv_wait(&right.cq, RECV, 100 + i, 0, &cqe));
		CHECK_EQ(le16toh(cqe.rx.length), len + header);
		CHECK_EQ(le16toh(cqe.rx.common.qp_num), right.qp.num);
		CHECK_EQ(le16toh(cqe.rx.src_qp_num), left.qp.num);
		CHECK_EQ(le16toh(cqe.rx.ah), right.ah);
		CHECK_EQ(HW_GET(EFA_CQE_OP, cqe.rx.common.flags), EFA_OP_SEND);
		CHECK(!(cqe.rx.common.flags & (EFA_CQE_HAS_IMM | EFA_CQE_UNSOLICITED)));
		CHECK(arrived(&right, 3 + header, len));
	}
	CHECK_EQ(statistic(&left, EFA_STATS_MESSAGES, 1), 9);
	CHECK_EQ(statistic(&right, EFA_STATS_MESSAGES, 3), 9);
	CHECK_EQ(statistic(&left, EFA_STATS_MESSAGES, 0), statistic(&right, EFA_STATS_MESSAGES, 2));
	drv_pair_close(end);
}

TEST(messages_of_all_sizes)
{
	for (unsigned int i = 0; i < 4; i++) {
		char options[32];

		snprintf(options, sizeof(options), "profile=efa%u", i);
		messages(options, EFA_ADMIN_QP_SRD);
		messages(options, EFA_ADMIN_QP_UD);
	}
	messages("mode=strict", EFA_ADMIN_QP_SRD);
	messages("doorbell=poll", EFA_ADMIN_QP_SRD);
}

TEST(immediate_data)
{
	struct efa_wqe_wide wqe;
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	drv_recv(&right.qp, 1, &right.mr, 0, 100);
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 1, right.qp.num, left.ah);
	wqe.meta.ctrl1 |= EFA_WQE_HAS_IMM;
	wqe.meta.imm = htole32(0x12345678);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, &cqe));
	CHECK(drv_wait(&right.cq, RECV, 1, 0, &cqe));
	CHECK(cqe.rx.common.flags & EFA_CQE_HAS_IMM);
	CHECK_EQ(le32toh(cqe.rx.imm), 0x12345678);
	drv_pair_close(end);
}

static void inline_messages(unsigned int wqe_size, unsigned int room)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, wqe_size);
	for (unsigned int len = 0; len <= room; len++) {
		struct efa_wqe_wide wqe;
		struct efa_cqe_rx_ex cqe;

		fill(&left, &right, 200);
		drv_recv(&right.qp, len, &right.mr, 0, 200);
		drv_wqe(&left.qp, &wqe, EFA_OP_SEND, len, right.qp.num, left.ah);
		wqe.meta.ctrl1 |= EFA_WQE_INLINE_MSG;
		wqe.meta.length = htole16(len);
		memcpy(wqe.u.inline_data, pattern, len);
		drv_store_wqe(&left.qp, &wqe);
		drv_ring_sq(&left.qp);
		CHECK(drv_wait(&left.cq, SEND, len, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, len, 0, &cqe));
		CHECK_EQ(le16toh(cqe.rx.length), len);
		CHECK(arrived(&right, 0, len));
	}
	CHECK_EQ(number(&left, "wqes_inline"), room + 1);
	drv_pair_close(end);
}

TEST(inline_data)
{
	inline_messages(64, 32);
	inline_messages(128, 80);
}

TEST(gather_and_scatter)
{
	struct efa_wqe_wide wqe;
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int cut = 0; cut <= 5000; cut += 777) {
		fill(&left, &right, 5000);
		/* three buffers, in the wrong order and of which the last is not filled */
		drv_store_rx(&right.qp, 9, right.mr.addr + 50000, 1000, right.mr.lkey, EFA_RX_FIRST);
		drv_store_rx(&right.qp, 0, right.mr.addr + 20000, 2000, right.mr.lkey, 0);
		drv_store_rx(&right.qp, 0, right.mr.addr + 30000, 9000, right.mr.lkey, EFA_RX_LAST);
		drv_ring_rq(&right.qp);
		drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 1, right.qp.num, left.ah);
		wqe.meta.length = htole16(2);
		drv_tx_buf(&wqe.u.sgl[0], left.mr.addr, cut, left.mr.lkey);
		drv_tx_buf(&wqe.u.sgl[1], left.mr.addr + cut, 5000 - cut, left.mr.lkey);
		drv_store_wqe(&left.qp, &wqe);
		drv_ring_sq(&left.qp);
		CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, 9, 0, &cqe));
		CHECK_EQ(le16toh(cqe.rx.length), 5000);
		drv_mr_read(&right.drv, &right.mr, 50000, seen, 1000);
		drv_mr_read(&right.drv, &right.mr, 20000, seen + 1000, 2000);
		drv_mr_read(&right.drv, &right.mr, 30000, seen + 3000, 2000);
		CHECK(!memcmp(seen, pattern, 5000));
		drv_mr_read(&right.drv, &right.mr, 32000, seen, 1);
		CHECK_EQ(seen[0], 0);		/* not one byte more */
	}
	drv_pair_close(end);
}

TEST(loopback)
{
	uint16_t self;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	CHECK_EQ(drv_create_ah(&left.drv, left.drv.pd, left.drv.gid, &self), 0);
	drv_recv(&left.qp, 1, &left.mr, 1000, 100);
	fill(&left, &right, 100);
	drv_send(&left.qp, 2, left.qp.num, self, &left.mr, 0, 100);
	test_run();
	CHECK(drv_wait(&left.cq, RECV, 1, 0, NULL));
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	CHECK(arrived(&left, 1000, 100));
	drv_pair_close(end);
}

TEST(request_ids_of_64_bits)
{
	struct drv_cq wide_cq;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &wide_cq, .recv_cq = &wide_cq,
		.sq_depth = 64, .wqe_size = 64, .flags = EFA_CREATE_QP_64BIT_IDS,
	};
	struct efa_wqe_wide wqe;
	struct efa_cqe_rx_ex cqe;
	struct efa_cqe_tx *tx = (void *)&cqe;
	struct drv_qp qp;

	drv_pair_open(end, "newest=1", EFA_ADMIN_QP_SRD, 64);
	REQUIRE(!drv_create_cq(&left.drv, 64, 32, DRV_CQ_IDS64, -1, &wide_cq));
	REQUIRE(!drv_create_qp(&left.drv, &init, &qp));
	drv_bring_up(&qp, 0);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_wqe(&qp, &wqe, EFA_OP_SEND, 0x123456789abcdef0, right.qp.num, left.ah);
	drv_store_wqe(&qp, &wqe);
	drv_ring_sq(&qp);
	CHECK(drv_wait(&wide_cq, SEND, 0xdef0, 0, &cqe));
	CHECK_EQ(le16toh(tx->req_id_ex[0]), 0x9abc);
	CHECK_EQ(le16toh(tx->req_id_ex[1]), 0x5678);
	CHECK_EQ(le16toh(tx->req_id_ex[2]), 0x1234);
	/* a QP of long ids on a CQ of short ones cannot be */
	init.send_cq = &left.cq;
	CHECK_EQ(drv_create_qp(&left.drv, &init, &qp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_pair_close(end);
}

/* ---- errors of messages ------------------------------------------------ */

TEST(local_errors)
{
	struct efa_wqe_wide wqe;
	struct drv_mr foreign;
	uint16_t pd, ah;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	CHECK_EQ(drv_alloc_pd(&left.drv, &pd), 0);
	CHECK_EQ(drv_create_ah(&left.drv, pd, right.drv.gid, &ah), 0);
	CHECK_EQ(drv_reg_mr(&left.drv, pd, 4096, 0, DRV_LOCAL, &foreign), 0);
	for (unsigned int i = 0; i < 16; i++)
		drv_recv(&right.qp, i, &right.mr, 0, 9000);

	drv_send(&left.qp, 1, right.qp.num, 500, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_INVALID_AH, NULL));
	drv_send(&left.qp, 2, right.qp.num, ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_LOCAL_INVALID_AH, NULL));
	drv_send(&left.qp, 3, right.qp.num, left.ah, &foreign, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	foreign.lkey = 0x654321;
	drv_send(&left.qp, 4, right.qp.num, left.ah, &foreign, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 4, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	drv_send(&left.qp, 5, right.qp.num, left.ah, &left.mr, left.mr.length - 9, 10);
	CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	drv_send(&left.qp, 6, right.qp.num, left.ah, &left.mr, 0, 8929);
	CHECK(drv_wait(&left.cq, SEND, 6, EFA_IO_LOCAL_BAD_LENGTH, NULL));
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 7, right.qp.num, left.ah);
	wqe.meta.length = htole16(2);
	drv_tx_buf(&wqe.u.sgl[0], left.mr.addr, 0xffffffff, left.mr.lkey);
	drv_tx_buf(&wqe.u.sgl[1], left.mr.addr, 0xffffffff, left.mr.lkey);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 7, EFA_IO_LOCAL_BAD_LENGTH, NULL));
	/* the QP is none the worse for it */
	drv_send(&left.qp, 8, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 8, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 0, 0, NULL));
	drv_pair_close(end);
}

/* memory that the adapter cannot reach, here and there; nothing is found wrong with the driver */
TEST(payload_that_cannot_be_reached)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	drv_recv(&right.qp, 0, &right.mr, 0, 100);
	CHECK_EQ(test_control(left.drv.dev, "inject op=dma_payload action=drop"), 0);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	CHECK_EQ(test_control(right.drv.dev, "inject op=dma_payload action=drop"), 0);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_REMOTE_BAD_STATUS, NULL));
	CHECK(drv_wait(&right.cq, RECV, 0, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	/* descriptors */
	CHECK_EQ(test_control(right.drv.dev, "inject op=dma_receive action=drop"), 0);
	drv_recv(&right.qp, 1, &right.mr, 0, 100);
	drv_send(&left.qp, 3, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_REMOTE_BAD_STATUS, NULL));
	drv_recv(&right.qp, 2, &right.mr, 0, 100);
	drv_send(&left.qp, 4, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 4, 0, NULL));
	drv_pair_close(end);
}

TEST(remote_errors_of_srd)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_UD, .send_cq = &right.cq, .recv_cq = &right.cq,
		.sq_depth = 64, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	struct efa_wqe_wide wqe;
	struct drv_qp ud, idle;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	REQUIRE(!drv_create_qp(&right.drv, &init, &ud));
	drv_bring_up(&ud, 0);
	init.type = EFA_ADMIN_QP_SRD;
	REQUIRE(!drv_create_qp(&right.drv, &init, &idle));

	drv_send(&left.qp, 1, 60000, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_send(&left.qp, 2, ud.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_send(&left.qp, 3, idle.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_send(&left.qp, 4, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 4, EFA_IO_REMOTE_RNR, NULL));
	CHECK_EQ(statistic(&right, EFA_STATS_BASIC, 4), 3);

	drv_recv(&right.qp, 1, &right.mr, 0, 9);
	drv_send(&left.qp, 5, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_REMOTE_BAD_LENGTH, NULL));
	check_nothing(&right);
	/* the WR was not used up */
	drv_send(&left.qp, 6, right.qp.num, left.ah, &left.mr, 0, 9);
	CHECK(drv_wait(&left.cq, SEND, 6, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 1, 0, NULL));

	drv_recv(&right.qp, 2, &right.mr, 0, 100);
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 7, right.qp.num, left.ah);
	wqe.meta.qkey = htole32(0x80000000);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 7, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	CHECK_EQ(statistic(&right, EFA_STATS_BASIC, 5), 1);
	check_nothing(&right);

	CHECK_EQ(drv_to_state(&right.qp, RTS, ERR), 0);
	CHECK(drv_wait(&right.cq, RECV, 2, EFA_IO_FLUSHED, NULL));
	drv_send(&left.qp, 8, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 8, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_pair_close(end);
}

TEST(ud_is_never_told)
{
	struct efa_wqe_wide wqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	drv_send(&left.qp, 1, 60000, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);	/* no WR */
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	drv_recv(&right.qp, 1, &right.mr, 0, 9);
	drv_send(&left.qp, 3, right.qp.num, left.ah, &left.mr, 0, 10);	/* too small */
	CHECK(drv_wait(&left.cq, SEND, 3, 0, NULL));
	drv_wqe(&left.qp, &wqe, EFA_OP_SEND, 4, right.qp.num, left.ah);
	wqe.meta.qkey = 0;
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 4, 0, NULL));
	CHECK_EQ(statistic(&right, EFA_STATS_BASIC, 4), 4);
	CHECK_EQ(statistic(&right, EFA_STATS_BASIC, 5), 1);
	check_nothing(&right);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 5, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_LOCAL_UNSUPPORTED_OP, NULL));
	drv_pair_close(end);
}

TEST(receive_buffers_that_are_no_good)
{
	struct drv_mr read_only;
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	CHECK_EQ(drv_reg_mr(&right.drv, right.drv.pd, 4096, 0, 0, &read_only), 0);
	drv_recv(&right.qp, 1, &read_only, 0, 100);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_BAD_STATUS, NULL));
	CHECK(drv_wait(&right.cq, RECV, 1, EFA_IO_LOCAL_INVALID_LKEY, &cqe));
	/* an empty message needs no memory */
	drv_recv(&right.qp, 2, &read_only, 0, 100);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 0);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 2, 0, &cqe));
	drv_pair_close(end);
}

TEST(senders_without_an_address_handle_here)
{
	struct efa_cqe_rx_ex cqe;
	struct drv_cq plain;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &plain, .recv_cq = &plain,
		.sq_depth = 64, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	CHECK_EQ(drv_destroy_ah(&right.drv, right.drv.pd, right.ah), 0);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 1, 0, &cqe));
	CHECK_EQ(le16toh(cqe.rx.ah), EFA_AH_UNKNOWN);
	CHECK(!memcmp(cqe.u.src_addr, left.drv.gid, 16));
	/* a CQ that did not ask is not told */
	REQUIRE(!drv_create_cq(&right.drv, 16, 32, 0, -1, &plain));
	REQUIRE(!drv_create_qp(&right.drv, &init, &qp));
	drv_bring_up(&qp, 0);
	drv_recv(&qp, 2, &right.mr, 0, 10);
	drv_send(&left.qp, 2, qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	CHECK(drv_wait(&plain, RECV, 2, 0, &cqe));
	CHECK_EQ(cqe.u.src_addr[0], 0);
	drv_pair_close(end);
}

TEST(ud_header_room)
{
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_UD, 64);
	fill(&left, &right, 100);
	drv_recv(&right.qp, 1, &right.mr, 0, 140);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 100);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 1, 0, &cqe));
	CHECK_EQ(le16toh(cqe.rx.length), 140);
	CHECK(arrived(&right, 40, 100));
	drv_recv(&right.qp, 2, &right.mr, 0, 139);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 100);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	check_nothing(&right);
	drv_pair_close(end);

	/* without it the whole buffer is the message's */
	drv_pair_open(end, "ud_grh=0", EFA_ADMIN_QP_UD, 64);
	fill(&left, &right, 100);
	drv_recv(&right.qp, 1, &right.mr, 0, 100);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 100);
	CHECK(drv_wait(&right.cq, RECV, 1, 0, &cqe));
	CHECK_EQ(le16toh(cqe.rx.length), 100);
	CHECK(arrived(&right, 0, 100));
	drv_pair_close(end);
}

/* ---- receiver not ready ------------------------------------------------ */

static void set_rnr(unsigned int retries)
{
	CHECK_EQ(drv_to_state(&left.qp, RTS, RESET), 0);
	drv_bring_up(&left.qp, retries);
}

TEST(f78_receiver_not_ready)
{
	drv_pair_open(end, "rnr_ms=10", EFA_ADMIN_QP_SRD, 64);
	/* n retries, then the error; nothing arrives later */
	for (unsigned int n = 0; n < 7; n++) {
		struct efa_cqe_rx_ex cqe;

		set_rnr(n);
		drv_send(&left.qp, n, right.qp.num, left.ah, &left.mr, 0, 10);
		if (n) {
			test_run_ms(10 * n - 5);
			CHECK(!drv_poll(&left.cq, &cqe));
			test_run_ms(10);
		}
		CHECK(drv_wait(&left.cq, SEND, n, EFA_IO_REMOTE_RNR, NULL));
	}
	CHECK_EQ(number(&left, "rnr"), 1 + 2 + 3 + 4 + 5 + 6 + 7);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	test_run_ms(1000);
	check_nothing(&right);
	drv_send(&left.qp, 9, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 9, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 1, 0, NULL));

	/* 7: until somebody is there; others go on meanwhile */
	set_rnr(7);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run_ms(5000);
	check_nothing(&left);
	drv_send(&left.qp, 2, 60000, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_recv(&right.qp, 2, &right.mr, 0, 10);
	test_run_ms(10);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, 2, 0, NULL));
	check_nothing(&right);
	drv_pair_close(end);
}

TEST(f78_rnr_default)
{
	drv_pair_open(end, "rnr_default=7 rnr_ms=10", EFA_ADMIN_QP_SRD, 64);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run_ms(100);
	check_nothing(&left);
	drv_recv(&right.qp, 2, &right.mr, 0, 10);
	test_run_ms(10);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	drv_pair_close(end);

	/* without the capability never */
	drv_pair_open(end, "profile=efa0 rnr_default=7", EFA_ADMIN_QP_SRD, 64);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_RNR, NULL));
	drv_pair_close(end);
}

/* ---- RDMA -------------------------------------------------------------- */

static const unsigned int rdma_sizes[] = {
	0, 1, 100, 4096, 8929, 32767, 32768, 32769, 65536, 100000, 256 << 10
};

TEST(rdma_writes)
{
	struct efa_cqe_rx_ex cqe;
	uint64_t bytes = 0;

	drv_pair_open(end, "rkey=distinct", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 11; i++) {
		unsigned int len = rdma_sizes[i];

		fill(&left, &right, 256 << 10);
		drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, i, right.qp.num, left.ah, &left.mr, 0, len,
			 &right.mr, 0);
		CHECK(drv_wait(&left.cq, SEND, i, 0, &cqe));
		CHECK_EQ(HW_GET(EFA_CQE_OP, cqe.rx.common.flags), EFA_OP_RDMA_WRITE);
		CHECK(arrived(&right, 0, len));
		drv_mr_read(&right.drv, &right.mr, len, seen, len < 256 << 10);
		CHECK(len == 256 << 10 || seen[0] == 0);
		check_nothing(&right);
		bytes += len;
	}
	CHECK_EQ(statistic(&left, EFA_STATS_RDMA_WRITE, 0), 11);
	CHECK_EQ(statistic(&left, EFA_STATS_RDMA_WRITE, 1), bytes);
	CHECK_EQ(statistic(&right, EFA_STATS_RDMA_WRITE, 3), bytes);
	CHECK_EQ(number(&left, "retries"), 0);
	drv_pair_close(end);
}

TEST(rdma_reads)
{
	struct efa_cqe_rx_ex cqe;
	uint64_t bytes = 0;

	drv_pair_open(end, "rkey=distinct", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 11; i++) {
		unsigned int len = rdma_sizes[i];

		fill(&right, &left, 256 << 10);
		drv_rdma(&left.qp, EFA_OP_RDMA_READ, i, right.qp.num, left.ah, &left.mr, 0, len,
			 &right.mr, 0);
		CHECK(drv_wait(&left.cq, SEND, i, 0, &cqe));
		CHECK_EQ(HW_GET(EFA_CQE_OP, cqe.rx.common.flags), EFA_OP_RDMA_READ);
		CHECK(arrived(&left, 0, len));
		check_nothing(&right);
		bytes += len;
	}
	CHECK_EQ(statistic(&left, EFA_STATS_RDMA_READ, 0), 11);
	CHECK_EQ(statistic(&left, EFA_STATS_RDMA_READ, 1), bytes);
	CHECK_EQ(statistic(&right, EFA_STATS_RDMA_READ, 3), bytes);
	drv_pair_close(end);
}

TEST(inline_writes)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 128);
	for (unsigned int len = 0; len <= 80; len++) {
		struct efa_wqe_wide wqe;

		fill(&left, &right, 100);
		drv_wqe(&left.qp, &wqe, EFA_OP_RDMA_WRITE, len, right.qp.num, left.ah);
		wqe.meta.ctrl1 |= EFA_WQE_INLINE_MSG;
		wqe.meta.length = htole16(len);
		drv_remote(&wqe, right.mr.addr, len, right.mr.rkey);
		memcpy(wqe.u.rdma.u.inline_data, pattern, len);
		drv_store_wqe(&left.qp, &wqe);
		drv_ring_sq(&left.qp);
		CHECK(drv_wait(&left.cq, SEND, len, 0, NULL));
		CHECK(arrived(&right, 0, len));
	}
	drv_pair_close(end);
}

static void write_imm(struct drv_qp *to, uint16_t id, unsigned int len)
{
	struct efa_wqe_wide wqe;

	fill(&left, &right, len);
	drv_wqe(&left.qp, &wqe, EFA_OP_RDMA_WRITE, id, to->num, left.ah);
	wqe.meta.ctrl1 |= EFA_WQE_HAS_IMM;
	wqe.meta.imm = htole32(0xabcd0000 | id);
	wqe.meta.length = htole16(len != 0);
	drv_remote(&wqe, right.mr.addr, len, right.mr.rkey);
	if (len)
		drv_tx_buf(&wqe.u.rdma.u.local, left.mr.addr, len, left.mr.lkey);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
}

TEST(write_with_immediate_takes_a_receive)
{
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 11; i++) {
		unsigned int len = rdma_sizes[i];

		drv_recv(&right.qp, 50 + i, &left.mr, 0, 10);	/* a buffer that is never used */
		write_imm(&right.qp, i, len);
		CHECK(drv_wait(&left.cq, SEND, i, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, 50 + i, 0, &cqe));
		CHECK_EQ(HW_GET(EFA_CQE_OP, cqe.rx.common.flags), EFA_OP_RDMA_WRITE);
		CHECK(cqe.rx.common.flags & EFA_CQE_HAS_IMM);
		CHECK(!(cqe.rx.common.flags & EFA_CQE_UNSOLICITED));
		CHECK_EQ(le32toh(cqe.rx.imm), 0xabcd0000 | i);
		CHECK_EQ(le16toh(cqe.rx.length) | le16toh(cqe.u.length_hi) << 16, len);
		CHECK(arrived(&right, 0, len));
	}
	/* none there: the usual rules, and the data is not written */
	write_imm(&right.qp, 20, 100000);
	CHECK(drv_wait(&left.cq, SEND, 20, EFA_IO_REMOTE_RNR, NULL));
	CHECK(!arrived(&right, 0, 100));
	check_nothing(&right);
	drv_pair_close(end);
}

TEST(unsolicited_write_takes_none)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &right.cq, .recv_cq = &right.cq,
		.sq_depth = 64, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
		.flags = EFA_CREATE_QP_UNSOLICITED,
	};
	struct efa_cqe_rx_ex cqe;
	struct drv_qp qp;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	REQUIRE(!drv_create_qp(&right.drv, &init, &qp));
	drv_bring_up(&qp, 0);
	write_imm(&qp, 1, 70000);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	test_run();
	REQUIRE(drv_poll(&right.cq, &cqe));
	drv_ring_cq(&right.cq, false);
	CHECK(cqe.rx.common.flags & EFA_CQE_UNSOLICITED);
	CHECK(cqe.rx.common.flags & EFA_CQE_HAS_IMM);
	CHECK_EQ(le16toh(cqe.rx.length) | le16toh(cqe.u.length_hi) << 16, 70000);
	/* and leaves what is there to messages */
	drv_recv(&qp, 5, &right.mr, 0, 100);
	write_imm(&qp, 2, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	drv_send(&left.qp, 3, qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, 0, NULL));
	REQUIRE(drv_poll(&right.cq, &cqe));
	CHECK(drv_wait(&right.cq, RECV, 5, 0, &cqe));
	drv_pair_close(end);
}

TEST(rdma_errors)
{
	struct drv_mr other, none = { 0 };
	struct efa_wqe_wide wqe;
	uint16_t pd;

	drv_pair_open(end, "max_rdma_size=200000", EFA_ADMIN_QP_SRD, 64);
	/* local: a read needs to write here */
	CHECK_EQ(drv_reg_mr(&left.drv, left.drv.pd, 4096, 0, 0, &other), 0);
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 1, right.qp.num, left.ah, &other, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 2, right.qp.num, left.ah, &other, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 3, right.qp.num, left.ah, &left.mr, 0, 200001,
		 &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_LOCAL_BAD_LENGTH, NULL));
	drv_wqe(&left.qp, &wqe, EFA_OP_RDMA_WRITE, 4, right.qp.num, left.ah);
	wqe.meta.length = htole16(1);
	drv_remote(&wqe, right.mr.addr, 11, right.mr.rkey);
	drv_tx_buf(&wqe.u.rdma.u.local, left.mr.addr, 10, left.mr.lkey);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 4, EFA_IO_LOCAL_BAD_LENGTH, NULL));

	/* remote: key, range, permission, protection domain */
	none.rkey = 0x123456;
	for (unsigned int op = EFA_OP_RDMA_READ; op <= EFA_OP_RDMA_WRITE; op++) {
		uint8_t lacking = op == EFA_OP_RDMA_READ ? EFA_MR_REMOTE_READ : EFA_MR_REMOTE_WRITE;

		drv_rdma(&left.qp, op, 5, right.qp.num, left.ah, &left.mr, 0, 10, &none, 0);
		CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
		drv_rdma(&left.qp, op, 6, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr,
			 right.mr.length - 9);
		CHECK(drv_wait(&left.cq, SEND, 6, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
		/* only the last of many segments would leave the region: nothing is written */
		fill(&left, &right, 200000);
		drv_rdma(&left.qp, op, 7, right.qp.num, left.ah, &left.mr, 0, 199999, &right.mr,
			 right.mr.length - 199998);
		CHECK(drv_wait(&left.cq, SEND, 7, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
		CHECK(!arrived(&right, right.mr.length - 199998, 1000));
		CHECK_EQ(drv_reg_mr(&right.drv, right.drv.pd, 4096, 0, DRV_REMOTE & ~lacking,
				    &other), 0);
		drv_rdma(&left.qp, op, 8, right.qp.num, left.ah, &left.mr, 0, 10, &other, 0);
		CHECK(drv_wait(&left.cq, SEND, 8, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
		CHECK_EQ(drv_alloc_pd(&right.drv, &pd), 0);
		CHECK_EQ(drv_reg_mr(&right.drv, pd, 4096, 0, DRV_REMOTE, &other), 0);
		drv_rdma(&left.qp, op, 9, right.qp.num, left.ah, &left.mr, 0, 10, &other, 0);
		CHECK(drv_wait(&left.cq, SEND, 9, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
		CHECK_EQ(drv_dereg_mr(&right.drv, other.lkey), 0);
	}
	CHECK(statistic(&left, EFA_STATS_RDMA_READ, 2) >= 5);
	CHECK_EQ(statistic(&left, EFA_STATS_RDMA_WRITE, 2), 5);
	drv_pair_close(end);
}

TEST(rdma_needs_an_address_handle_at_the_target)
{
	struct drv_mr none;
	uint16_t pd, other;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	none = right.mr;
	none.rkey ^= 0x100000;
	CHECK_EQ(drv_destroy_ah(&right.drv, right.drv.pd, right.ah), 0);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_UNKNOWN_PEER, NULL));
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 2, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_REMOTE_UNKNOWN_PEER, NULL));
	/* that is found out ahead of a key that is none, and an AH of another PD does not help */
	CHECK_EQ(drv_alloc_pd(&right.drv, &pd), 0);
	CHECK_EQ(drv_create_ah(&right.drv, pd, left.drv.gid, &other), 0);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 3, right.qp.num, left.ah, &left.mr, 0, 10, &none, 0);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_REMOTE_UNKNOWN_PEER, NULL));
	CHECK_EQ(drv_create_ah(&right.drv, right.drv.pd, left.drv.gid, &right.ah), 0);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 4, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 4, 0, NULL));
	drv_pair_close(end);
}

TEST(an_address_handle_at_the_target_that_goes_during_a_transfer)
{
	drv_pair_open(end, "reorder=0", EFA_ADMIN_QP_SRD, 64);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &left.mr, 0, 256 << 10,
		 &right.mr, 0);
	left.drv.dev->ops->work(left.drv.dev);
	fabric_run(1);
	CHECK_EQ(drv_destroy_ah(&right.drv, right.drv.pd, right.ah), 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_UNKNOWN_PEER, NULL));
	drv_pair_close(end);
}

TEST(rdma_between_generations)
{
	drv_pair_open(end, "profile=efa0", EFA_ADMIN_QP_SRD, 64);
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 1, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_UNSUPPORTED_OP, NULL));
	/* an adapter that can asks one that cannot */
	CHECK_EQ(test_control(left.drv.dev, "set device_caps=9"), 0);
	efa_of(left.drv.dev)->config.max_rdma_size = 1 << 20;
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 2, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_REMOTE_FEATURE_MISMATCH, NULL));
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 3, right.qp.num, left.ah, &left.mr, 0, 10, &right.mr, 0);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_REMOTE_FEATURE_MISMATCH, NULL));
	drv_pair_close(end);
}

/* ---- lost packets ------------------------------------------------------ */

static void drop(struct drv_end *at, unsigned int skip, unsigned int count)
{
	fabric_drop(&efa_of(at->drv.dev)->port, skip, count);
}

TEST(every_packet_of_a_message_can_be_lost)
{
	drv_pair_open(end, "ack_ms=10", EFA_ADMIN_QP_SRD, 64);
	/* the message, then the answer: it is sent again, and taken once */
	for (unsigned int which = 0; which < 2; which++) {
		drv_recv(&right.qp, which, &right.mr, 0, 100);
		drv_recv(&right.qp, 90, &right.mr, 0, 100);
		drop(which ? &right : &left, 0, 3);
		fill(&left, &right, 100);
		drv_send(&left.qp, which, right.qp.num, left.ah, &left.mr, 0, 100);
		test_run_ms(100);
		CHECK(drv_wait(&left.cq, SEND, which, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, which ? 90 : 0, 0, NULL));
		CHECK(arrived(&right, 0, 100));
		check_nothing(&right);
		/* the second receive is left over and used next */
	}
	CHECK_EQ(number(&left, "retries"), 6);
	CHECK_EQ(number(&right, "duplicates"), 3);
	CHECK_EQ(statistic(&left, EFA_STATS_NETWORK, 1), 6);
	CHECK_EQ(statistic(&left, EFA_STATS_NETWORK, 2), 6);
	drv_pair_close(end);
}

/* ---- where a message is lost (F-73) ----------------------------------------- */

/* what each hop has counted so far */
struct hops {
	long long posted, packets, sent, lost, received, taken, untaken, completed;
};

static struct hops hops_from(struct drv_end *from, struct drv_end *to)
{
	const struct fabric_port *out = &efa_of(from->drv.dev)->port;

	return (struct hops) {
		.posted = number(from, "wqes_send"), .packets = number(from, "tx_packets"),
		.sent = out->sent, .lost = out->dropped,
		.received = efa_of(to->drv.dev)->port.received, .taken = number(to, "rx_packets"),
		.untaken = number(to, "drops"), .completed = number(to, "completions"),
	};
}

/* @n numbered messages; those that are @expected arrive, with their numbers, in any order */
static void numbered(struct drv_end *from, struct drv_end *to, unsigned int header, unsigned int n,
		     unsigned int expected)
{
	struct efa_cqe_rx_ex cqe;
	bool got[64] = { false };
	uint32_t value;

	for (value = 0; value < n; value++) {
		drv_recv(&to->qp, value, &to->mr, 1000 * value, 1000);
		drv_mr_write(&from->drv, &from->mr, 8 * value, &value, sizeof(value));
		drv_send(&from->qp, value, to->qp.num, from->ah, &from->mr, 8 * value, 8);
	}
	test_run_ms(100);
	for (unsigned int i = 0; i < expected; i++) {
		REQUIRE(drv_poll(&to->cq, &cqe));
		REQUIRE(le16toh(cqe.rx.common.req_id) < n);
		drv_mr_read(&to->drv, &to->mr, 1000 * le16toh(cqe.rx.common.req_id) + header, &value,
			    sizeof(value));
		REQUIRE(value < n);
		CHECK(!got[value]);
		got[value] = true;
	}
	CHECK(!drv_poll(&to->cq, &cqe));
	for (unsigned int i = 0; i < n; i++)
		REQUIRE(drv_poll(&from->cq, &cqe));
}

static void every_hop(enum efa_admin_qp_type type)
{
	bool datagrams = type == EFA_ADMIN_QP_UD;
	const unsigned int n = 32, header = datagrams ? 40 : 0;
	struct hops was, is;

	drv_pair_open(end, "ack_ms=10", type, 64);
	for (unsigned int way = 0; way < 2; way++) {
		struct drv_end *from = &end[way], *to = &end[!way];

		was = hops_from(from, to);
		numbered(from, to, header, n, n);
		is = hops_from(from, to);
		CHECK_EQ(is.posted - was.posted, n);
		CHECK_EQ(is.packets - was.packets, n);
		CHECK_EQ(is.sent - was.sent, n);
		CHECK_EQ(is.lost - was.lost, 0);
		CHECK_EQ(is.received - was.received, n);
		CHECK_EQ(is.taken - was.taken, n);
		CHECK_EQ(is.untaken - was.untaken, 0);
		CHECK_EQ(is.completed - was.completed, n);

		/* three are lost on the wire: told there, and at no other hop */
		was = is;
		drop(from, 5, 3);
		numbered(from, to, header, n, datagrams ? n - 3 : n);
		is = hops_from(from, to);
		CHECK_EQ(is.lost - was.lost, 3);
		CHECK_EQ(is.packets - was.packets, datagrams ? n : n + 3);
		CHECK_EQ(is.sent - is.lost - (was.sent - was.lost), is.received - was.received);
		CHECK_EQ(is.taken - was.taken, is.received - was.received);
		CHECK_EQ(is.untaken - was.untaken, 0);
		CHECK_EQ(is.completed - was.completed, datagrams ? n - 3 : n);
	}
	/* one is for nobody: it arrives, and is told where no queue pair takes it */
	if (datagrams) {
		was = hops_from(&left, &right);
		drv_send(&left.qp, 1, right.qp.num + 100, left.ah, &left.mr, 0, 8);
		CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
		check_nothing(&right);
		is = hops_from(&left, &right);
		CHECK_EQ(is.lost - was.lost, 0);
		CHECK_EQ(is.received - was.received, 1);
		CHECK_EQ(is.taken - was.taken, 1);
		CHECK_EQ(is.untaken - was.untaken, 1);
		CHECK_EQ(is.completed - was.completed, 0);
	}
	drv_pair_close(end);
}

TEST(f73_every_hop_of_datagrams)
{
	every_hop(EFA_ADMIN_QP_UD);
}

TEST(f73_every_hop_of_reliable_datagrams)
{
	every_hop(EFA_ADMIN_QP_SRD);
}

TEST(every_packet_of_a_transfer_can_be_lost)
{
	drv_pair_open(end, "ack_ms=10 ack_tries=20", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int skip = 0; skip < 8; skip++) {
		for (unsigned int which = 0; which < 2; which++) {
			unsigned int op;

			for (op = EFA_OP_RDMA_READ; op <= EFA_OP_RDMA_WRITE; op++) {
				bool read = op == EFA_OP_RDMA_READ;

				if (read)
					fill(&right, &left, 256 << 10);
				else
					fill(&left, &right, 256 << 10);
				drop(which ? &right : &left, skip, 2);
				drv_rdma(&left.qp, op, skip, right.qp.num, left.ah, &left.mr, 0,
					 256 << 10, &right.mr, 0);
				test_run_ms(200);
				CHECK(drv_wait(&left.cq, SEND, skip, 0, NULL));
				CHECK(arrived(read ? &left : &right, 0, 256 << 10));
				drop(which ? &right : &left, 0, 0);
			}
		}
	}
	CHECK(number(&left, "retries") >= 32);
	drv_pair_close(end);
}

/* a write whose answer was lost must not write again what was changed since */
TEST(late_duplicates_do_nothing)
{
	uint8_t byte = 0x5a;

	drv_pair_open(end, "ack_ms=10", EFA_ADMIN_QP_SRD, 64);
	fill(&left, &right, 100);
	drop(&right, 0, 1);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &left.mr, 0, 100,
		 &right.mr, 0);
	test_run();
	CHECK(arrived(&right, 0, 100));
	drv_mr_write(&right.drv, &right.mr, 7, &byte, 1);
	test_run_ms(20);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	drv_mr_read(&right.drv, &right.mr, 7, seen, 1);
	CHECK_EQ(seen[0], 0x5a);
	CHECK_EQ(number(&right, "duplicates"), 1);
	drv_pair_close(end);
}

TEST(silent_peers)
{
	uint16_t nobody;

	drv_pair_open(end, "ack_ms=10 ack_tries=4", EFA_ADMIN_QP_SRD, 64);
	CHECK_EQ(drv_create_ah(&left.drv, left.drv.pd, (const uint8_t *)"nobody knows him",
			       &nobody), 0);
	drv_send(&left.qp, 1, 1, nobody, &left.mr, 0, 10);
	test_run_ms(39);
	check_nothing(&left);
	test_run_ms(2);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_UNREACH_REMOTE, NULL));
	/* one that has answered before */
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	right.drv.dev->ops->link(right.drv.dev, false);
	drv_send(&left.qp, 3, right.qp.num, left.ah, &left.mr, 0, 10);
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 4, right.qp.num, left.ah, &left.mr, 0, 100000,
		 &right.mr, 0);
	test_run_ms(41);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_LOCAL_UNRESP_REMOTE, NULL));
	CHECK(drv_wait(&left.cq, SEND, 4, EFA_IO_LOCAL_UNRESP_REMOTE, NULL));
	CHECK_EQ(statistic(&left, EFA_STATS_NETWORK, 3), 3);
	/* the own cable pulled looks the same */
	right.drv.dev->ops->link(right.drv.dev, true);
	left.drv.dev->ops->link(left.drv.dev, false);
	drv_send(&left.qp, 5, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run_ms(41);
	CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_LOCAL_UNRESP_REMOTE, NULL));
	/* and heals in time */
	drv_recv(&right.qp, 2, &right.mr, 0, 10);
	drv_send(&left.qp, 6, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run_ms(25);
	left.drv.dev->ops->link(left.drv.dev, true);
	test_run_ms(10);
	CHECK(drv_wait(&left.cq, SEND, 6, 0, NULL));
	drv_pair_close(end);
}

TEST(a_peer_that_was_reset)
{
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &left.cq, .recv_cq = &left.cq,
		.sq_depth = 64, .wqe_size = 64, .rq_descs = 16, .rq_wrs = 16,
	};

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 20; i++) {
		drv_recv(&right.qp, i, &right.mr, 0, 10);
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
		CHECK(drv_wait(&left.cq, SEND, i, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, i, 0, NULL));
	}
	/* the sender begins a new life; what it sends now is no duplicate of the old */
	CHECK(drv_reset(&left.drv, 0));
	drv_start_queues(&left.drv);
	CHECK_EQ(drv_alloc_pd(&left.drv, &left.drv.pd), 0);
	CHECK_EQ(drv_alloc_uar(&left.drv, &left.drv.uar), 0);
	REQUIRE(!drv_reg_mr(&left.drv, left.drv.pd, 4096, 0, DRV_LOCAL, &left.mr));
	REQUIRE(!drv_create_cq(&left.drv, 64, 32, 0, -1, &left.cq));
	REQUIRE(!drv_create_qp(&left.drv, &init, &left.qp));
	REQUIRE(!drv_create_ah(&left.drv, left.drv.pd, right.drv.gid, &left.ah));
	drv_bring_up(&left.qp, 0);
	for (unsigned int i = 0; i < 20; i++) {
		drv_recv(&right.qp, i, &right.mr, 0, 10);
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
		CHECK(drv_wait(&left.cq, SEND, i, 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, i, 0, NULL));
	}
	drv_pair_close(end);
}

/* more transactions than the filter is wide, one of the first still open */
TEST(many_transactions_beside_a_slow_one)
{
	drv_pair_open(end, "ack_ms=60000 profile=efa1", EFA_ADMIN_QP_SRD, 64);
	drop(&left, 0, 1);
	drv_send(&left.qp, 999, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run();
	for (unsigned int i = 0; i < 66000; i++) {
		drv_send(&left.qp, i % 512, 60000, left.ah, &left.mr, 0, 0);
		test_run();
		if (i < 65535)
			REQUIRE(drv_wait(&left.cq, SEND, i % 512, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
		else
			break;	/* now all wait for the slow one */
	}
	check_nothing(&left);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	test_run_ms(60001);
	CHECK(drv_wait(&left.cq, SEND, 999, 0, NULL));
	CHECK(drv_wait(&left.cq, SEND, 65535 % 512, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_pair_close(end);
}

/* ---- order ------------------------------------------------------------- */

/* the order in which 48 messages posted together arrive */
static void arrivals(const char *options, uint16_t *order)
{
	drv_pair_open(end, options, EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 48; i++)
		drv_recv(&right.qp, i, &right.mr, 100 * i, 100);
	for (unsigned int i = 0; i < 48; i++) {
		struct efa_wqe_wide wqe;

		drv_wqe(&left.qp, &wqe, EFA_OP_SEND, i, right.qp.num, left.ah);
		wqe.meta.ctrl1 |= EFA_WQE_HAS_IMM;
		wqe.meta.imm = htole32(i);
		drv_store_wqe(&left.qp, &wqe);
	}
	drv_ring_sq(&left.qp);
	test_run();
	for (unsigned int i = 0; i < 48; i++) {
		struct efa_cqe_rx_ex cqe;

		REQUIRE(drv_poll(&right.cq, &cqe));
		CHECK_EQ(le16toh(cqe.rx.common.req_id), i);	/* WRs are used in ring order */
		order[i] = le32toh(cqe.rx.imm);
	}
	drv_pair_close(end);
}

TEST(f75_srd_order_follows_the_seed)
{
	uint16_t a[48], b[48], c[48], straight[48];
	bool got[48] = { false };
	unsigned int moved = 0;

	arrivals("max_tx_batch=0 seed=1", a);
	arrivals("max_tx_batch=0 seed=1", b);
	arrivals("max_tx_batch=0 seed=2", c);
	arrivals("max_tx_batch=0 reorder=0", straight);
	CHECK(!memcmp(a, b, sizeof(a)));
	CHECK(memcmp(a, c, sizeof(a)));
	for (unsigned int i = 0; i < 48; i++) {
		moved += a[i] != i;
		got[a[i]] = true;
		CHECK_EQ(straight[i], i);
	}
	CHECK(moved > 10);
	for (unsigned int i = 0; i < 48; i++)
		CHECK(got[i]);
}

/* ---- ends -------------------------------------------------------------- */

TEST(error_state_flushes_both_queues)
{
	unsigned int sends = 0, recvs = 0;
	struct efa_cqe_rx_ex cqe;

	drv_pair_open(end, "ack_ms=1000 max_tx_batch=0", EFA_ADMIN_QP_SRD, 64);
	right.drv.dev->ops->link(right.drv.dev, false);
	for (unsigned int i = 0; i < 40; i++)
		drv_recv(&left.qp, i, &left.mr, 0, 10);
	for (unsigned int i = 0; i < 10; i++)		/* under way */
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run();
	for (unsigned int i = 10; i < 40; i++)		/* some not even begun */
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK_EQ(drv_to_state(&left.qp, RTS, ERR), 0);
	test_run();
	while (drv_poll(&left.cq, &cqe)) {
		CHECK_EQ(cqe.rx.common.status, EFA_IO_FLUSHED);
		if (HW_GET(EFA_CQE_QTYPE, cqe.rx.common.flags) == SEND)
			CHECK_EQ(le16toh(cqe.rx.common.req_id), sends++);
		else
			CHECK_EQ(le16toh(cqe.rx.common.req_id), recvs++);
	}
	drv_ring_cq(&left.cq, false);
	CHECK_EQ(sends, 40);
	CHECK_EQ(recvs, 40);
	CHECK_EQ(number(&left, "flushes"), 80);
	/* what is posted afterwards goes the same way */
	drv_recv(&left.qp, 50, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, RECV, 50, EFA_IO_FLUSHED, NULL));
	drv_send(&left.qp, 51, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 51, EFA_IO_FLUSHED, NULL));
	test_run_ms(10000);
	check_nothing(&left);
	drv_pair_close(end);
}

TEST(reset_state_forgets)
{
	drv_pair_open(end, "ack_ms=100", EFA_ADMIN_QP_SRD, 64);
	right.drv.dev->ops->link(right.drv.dev, false);
	drv_recv(&left.qp, 1, &left.mr, 0, 10);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run();
	CHECK_EQ(drv_to_state(&left.qp, RTS, RESET), 0);
	test_run_ms(10000);
	check_nothing(&left);
	right.drv.dev->ops->link(right.drv.dev, true);
	drv_bring_up(&left.qp, 0);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	drv_pair_close(end);
}

TEST(draining)
{
	struct efa_query_qp_cmd cmd = { 0 };
	struct efa_query_qp_resp resp;

	drv_pair_open(end, "ack_ms=100", EFA_ADMIN_QP_SRD, 64);
	right.drv.dev->ops->link(right.drv.dev, false);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run();
	CHECK_EQ(drv_to_state(&left.qp, RTS, SQD), 0);
	cmd.qp_handle = htole32(left.qp.handle);
	CHECK_EQ(drv_admin(&left.drv, cmd, EFA_ADMIN_QUERY_QP, resp), 0);
	CHECK_EQ(resp.sq_draining, 1);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);	/* waits */
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_recv(&right.qp, 2, &right.mr, 0, 10);
	right.drv.dev->ops->link(right.drv.dev, true);
	test_run_ms(200);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	check_nothing(&left);
	CHECK_EQ(drv_admin(&left.drv, cmd, EFA_ADMIN_QUERY_QP, resp), 0);
	CHECK_EQ(resp.sq_draining, 0);
	/* receiving goes on */
	drv_recv(&left.qp, 9, &left.mr, 0, 10);
	drv_send(&right.qp, 3, left.qp.num, right.ah, &right.mr, 0, 10);
	CHECK(drv_wait(&right.cq, RECV, 1, 0, NULL));
	CHECK(drv_wait(&right.cq, SEND, 3, 0, NULL));
	CHECK(drv_wait(&left.cq, RECV, 9, 0, NULL));
	CHECK_EQ(drv_to_state(&left.qp, SQD, RTS), 0);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	drv_pair_close(end);
}

static void destroy_with_work(const char *options, unsigned int completions)
{
	struct efa_cqe_rx_ex cqe;
	unsigned int n = 0;

	drv_pair_open(end, options, EFA_ADMIN_QP_SRD, 64);
	right.drv.dev->ops->link(right.drv.dev, false);
	for (unsigned int i = 0; i < 20; i++) {
		drv_recv(&left.qp, i, &left.mr, 0, 10);
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
	}
	test_run();
	CHECK_EQ(drv_destroy_qp(&left.qp), 0);
	while (drv_poll(&left.cq, &cqe)) {
		CHECK_EQ(cqe.rx.common.status, EFA_IO_FLUSHED);
		n++;
	}
	drv_ring_cq(&left.cq, false);
	CHECK_EQ(n, completions);
	/* nothing after the answer */
	left.drv.host.nwrites = 0;
	test_run_ms(10000);
	CHECK_EQ(left.drv.host.nwrites, 0);
	CHECK_EQ(drv_destroy_cq(&left.cq), 0);
	drv_pair_close(end);
}

TEST(destruction_with_work_under_way)
{
	destroy_with_work("ack_ms=100 keepalive_ms=0", 0);
	destroy_with_work("ack_ms=100 keepalive_ms=0 flush_on_destroy=1", 40);
}

TEST(an_address_handle_that_goes_takes_its_work_along)
{
	drv_pair_open(end, "ack_ms=100", EFA_ADMIN_QP_SRD, 64);
	right.drv.dev->ops->link(right.drv.dev, false);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);
	test_run();
	CHECK_EQ(drv_destroy_ah(&left.drv, left.drv.pd, left.ah), 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_FLUSHED, NULL));
	drv_pair_close(end);
}

TEST(memory_that_goes_during_a_transfer)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	/* target */
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &left.mr, 0, 256 << 10,
		 &right.mr, 0);
	left.drv.dev->ops->work(left.drv.dev);
	fabric_run(1);
	CHECK_EQ(drv_dereg_mr(&right.drv, right.mr.lkey), 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_BAD_ADDRESS, NULL));
	/* initiator */
	REQUIRE(!drv_reg_mr(&right.drv, right.drv.pd, 256 << 10, 0, DRV_REMOTE, &right.mr));
	drv_rdma(&left.qp, EFA_OP_RDMA_READ, 2, right.qp.num, left.ah, &left.mr, 0, 256 << 10,
		 &right.mr, 0);
	left.drv.dev->ops->work(left.drv.dev);
	CHECK_EQ(drv_dereg_mr(&left.drv, left.mr.lkey), 0);
	CHECK(drv_wait(&left.cq, SEND, 2, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	/* initiator, what is sent: the segments beyond the first window find nothing */
	REQUIRE(!drv_reg_mr(&left.drv, left.drv.pd, 1 << 20, 0, DRV_REMOTE, &left.mr));
	REQUIRE(!drv_reg_mr(&right.drv, right.drv.pd, 1 << 20, 0, DRV_REMOTE, &right.mr));
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 3, right.qp.num, left.ah, &left.mr, 0, 1 << 20,
		 &right.mr, 0);
	left.drv.dev->ops->work(left.drv.dev);
	CHECK_EQ(drv_dereg_mr(&left.drv, left.mr.lkey), 0);
	CHECK(drv_wait(&left.cq, SEND, 3, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	/* what the target has of it goes with the sender's reset */
	CHECK(drv_reset(&left.drv, 0));
	CHECK(drv_reset(&right.drv, 0));
	drv_pair_close(end);
}

TEST(a_target_that_goes_during_a_transfer)
{
	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &left.mr, 0, 256 << 10,
		 &right.mr, 0);
	left.drv.dev->ops->work(left.drv.dev);
	fabric_run(1);
	CHECK_EQ(drv_destroy_qp(&right.qp), 0);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_BAD_DEST_QPN, NULL));
	drv_pair_close(end);
}

/* ---- much -------------------------------------------------------------- */

TEST(more_work_than_can_be_under_way)
{
	enum { QPS = 40, EACH = 64 };
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .sq_depth = EACH, .wqe_size = 64,
	};
	static struct drv_qp qp[QPS];
	struct drv_cq cq;
	struct efa_cqe_rx_ex cqe;
	unsigned int n = 0;

	drv_pair_open(end, "profile=efa1 rnr_ms=1", EFA_ADMIN_QP_SRD, 64);
	REQUIRE(!drv_create_cq(&left.drv, 4096, 32, 0, -1, &cq));
	init.send_cq = init.recv_cq = &cq;
	for (unsigned int i = 0; i < QPS; i++) {
		REQUIRE(!drv_create_qp(&left.drv, &init, &qp[i]));
		drv_bring_up(&qp[i], 0);
		for (unsigned int j = 0; j < EACH; j++)
			drv_rdma(&qp[i], j & 1 ? EFA_OP_RDMA_READ : EFA_OP_RDMA_WRITE, j,
				 right.qp.num, left.ah, &left.mr, 0, 5000, &right.mr, 0);
	}
	test_run();
	while (drv_poll(&cq, &cqe)) {
		CHECK_EQ(cqe.rx.common.status, 0);
		n++;
	}
	CHECK_EQ(n, QPS * EACH);
	drv_pair_close(end);
}

TEST(a_destination_that_does_not_take_its_packets)
{
	enum { QPS = 20, EACH = 64 };
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .sq_depth = EACH, .wqe_size = 64,
	};
	struct fabric_port *port;
	static struct drv_qp qp[QPS];
	struct efa_cqe_rx_ex cqe;
	unsigned int n = 0;
	struct drv_cq cq;

	drv_pair_open(end, "profile=efa1", EFA_ADMIN_QP_SRD, 64);
	port = &efa_of(right.drv.dev)->port;
	REQUIRE(!drv_create_cq(&left.drv, 2048, 32, 0, -1, &cq));
	init.send_cq = init.recv_cq = &cq;
	port->held = true;
	for (unsigned int i = 0; i < QPS; i++) {
		REQUIRE(!drv_create_qp(&left.drv, &init, &qp[i]));
		drv_bring_up(&qp[i], 0);
		for (unsigned int j = 0; j < EACH; j++)
			drv_rdma(&qp[i], EFA_OP_RDMA_READ, j, right.qp.num, left.ah, &left.mr, 0,
				 256 << 10, &right.mr, 0);
	}
	test_run_ms(10);
	CHECK_EQ(port->queued, FABRIC_QUEUE_MAX);
	check_nothing(&left);
	port->held = false;
	test_run_ms(10);
	while (drv_poll(&cq, &cqe)) {
		CHECK_EQ(cqe.rx.common.status, 0);
		n++;
	}
	CHECK_EQ(n, QPS * EACH);
	CHECK_EQ(number(&left, "retries"), 0);
	drv_pair_close(end);
}

TEST(a_gibibyte)
{
	struct efa_reg_mr_cmd cmd = {
		.length = htole64(1ull << 30), .flags = 12, .permissions = DRV_REMOTE,
		.iova = htole64(0x100000000),
	};
	const unsigned int pages = 1 << 18;
	unsigned int slices = 0;
	struct drv_mr mr[2] = { 0 };

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 2; i++) {
		struct test_host *host = &end[i].drv.host;
		uint64_t list = test_alloc(host, pages * 8, 8);
		uint64_t page = test_alloc(host, 256 * 4096, 4096);
		struct efa_reg_mr_resp resp;

		/* the same 256 pages over and over */
		for (unsigned int j = 0; j < pages; j++) {
			uint64_t at = htole64(page + j % 256 * 4096);

			memcpy(test_mem(host, list + 8 * j, 8), &at, 8);
		}
		cmd.pd = htole16(end[i].drv.pd);
		cmd.u.list.length = htole32(pages * 8);
		cmd.u.list.addr_lo = htole32(list);
		cmd.u.list.addr_hi = htole32(list >> 32);
		REQUIRE(!drv_admin_flags(&end[i].drv, &cmd, sizeof(cmd), EFA_ADMIN_REG_MR,
					 EFA_AQ_CTRL_DATA, &resp, sizeof(resp)));
		mr[i].lkey = le32toh(resp.lkey);
		mr[i].rkey = le32toh(resp.rkey);
		mr[i].addr = 0x100000000;
		memset(test_mem(host, page, 256 * 4096), i + 1, 256 * 4096);
	}
	drv_rdma(&left.qp, EFA_OP_RDMA_WRITE, 1, right.qp.num, left.ah, &mr[0], 0, 1 << 30, &mr[1],
		 0);
	/* in slices: nobody waits for the whole */
	while (left.drv.dev->ops->work(left.drv.dev) || fabric_pending()) {
		right.drv.dev->ops->work(right.drv.dev);
		fabric_run(8);
		slices++;
	}
	CHECK(slices > 1000);
	CHECK(drv_wait(&left.cq, SEND, 1, 0, NULL));
	drv_pair_close(end);
}

/* ---- faults on request ------------------------------------------------- */

TEST(completions_can_be_forged)
{
	struct efa_cqe_rx_ex cqe;
	char line[64];

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	snprintf(line, sizeof(line), "complete qp=%u status=16 count=2", left.qp.num);
	CHECK_EQ(test_control(left.drv.dev, line), 0);
	for (unsigned int i = 0; i < 3; i++) {
		drv_recv(&right.qp, i, &right.mr, 0, 10);
		drv_send(&left.qp, i, right.qp.num, left.ah, &left.mr, 0, 10);
		CHECK(drv_wait(&left.cq, SEND, i, i < 2 ? 16 : 0, NULL));
		CHECK(drv_wait(&right.cq, RECV, i, 0, NULL));
	}
	CHECK(test_control(left.drv.dev, "complete qp=60000 status=3") < 0);
	CHECK_EQ(test_control(left.drv.dev, "inject op=send_completion action=dup"), 0);
	CHECK_EQ(test_control(right.drv.dev, "inject op=recv_completion action=corrupt"), 0);
	drv_recv(&right.qp, 3, &right.mr, 0, 10);
	drv_send(&left.qp, 3, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, 0, NULL));
	CHECK(drv_wait(&left.cq, SEND, 3, 0, NULL));
	CHECK(drv_wait(&right.cq, RECV, (uint16_t)~3, 0, NULL));
	CHECK_EQ(test_control(left.drv.dev, "inject op=send_completion action=drop"), 0);
	CHECK_EQ(test_control(right.drv.dev, "inject op=recv_completion action=fail status=77"), 0);
	drv_recv(&right.qp, 4, &right.mr, 0, 10);
	drv_send(&left.qp, 4, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&right.cq, RECV, 4, 77, &cqe));
	check_nothing(&left);
	drv_pair_close(end);
}

TEST(event_counters)
{
	struct efa_create_counter_cmd create = { 0 };
	struct efa_create_counter_resp resp;
	struct efa_attach_counter_cmd attach = { 0 };
	uint64_t at[2], *count[2];

	drv_pair_open(end, "newest=1", EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < 2; i++) {
		at[i] = test_alloc(&left.drv.host, 8, 8);
		count[i] = test_mem(&left.drv.host, at[i], 8);
		create.uar = htole16(left.drv.uar);
		create.addr = htole64(at[i]);
		REQUIRE(!drv_admin(&left.drv, create, EFA_ADMIN_CREATE_COUNTER, resp));
		attach.handle = resp.handle;
		attach.qp_handle = htole32(left.qp.handle);
		attach.events = htole32(i ? EFA_COUNTER_SEND_ERROR | EFA_COUNTER_WRITE_ERROR :
					    EFA_COUNTER_SEND | EFA_COUNTER_RECV |
					    EFA_COUNTER_REMOTE_WRITE);
		REQUIRE(!drv_admin(&left.drv, attach, EFA_ADMIN_ATTACH_COUNTER, resp));
	}
	drv_send(&left.qp, 1, right.qp.num, left.ah, &left.mr, 0, 10);		/* RNR */
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_REMOTE_RNR, NULL));
	CHECK_EQ(le64toh(*count[1]), 1);
	CHECK_EQ(le64toh(*count[0]), 0);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_send(&left.qp, 2, right.qp.num, left.ah, &left.mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	CHECK_EQ(le64toh(*count[0]), 1);
	drv_rdma(&right.qp, EFA_OP_RDMA_WRITE, 3, left.qp.num, right.ah, &right.mr, 0, 100000,
		 &left.mr, 0);
	test_run();
	CHECK_EQ(le64toh(*count[0]), 2);
	drv_recv(&left.qp, 1, &left.mr, 0, 10);
	drv_send(&right.qp, 4, left.qp.num, right.ah, &right.mr, 0, 10);
	test_run();
	CHECK_EQ(le64toh(*count[0]), 3);
	drv_pair_close(end);
}

TEST(registration_by_wqe)
{
	struct efa_alloc_mr_cmd cmd = { .max_pages = htole32(4) };
	struct efa_alloc_mr_resp resp;
	struct efa_wqe_wide wqe;
	struct efa_fast_reg *fast = (void *)wqe.u.bytes;
	struct drv_mr mr = { 0 };
	uint64_t page, list;

	drv_pair_open(end, "", EFA_ADMIN_QP_SRD, 64);
	cmd.pd = htole16(left.drv.pd);
	REQUIRE(!drv_admin(&left.drv, cmd, EFA_ADMIN_ALLOC_MR, resp));
	page = test_alloc(&left.drv.host, 8192, 4096);
	list = test_alloc(&left.drv.host, 16, 8);
	*(uint64_t *)test_mem(&left.drv.host, list, 8) = htole64(page + 4096);
	*(uint64_t *)test_mem(&left.drv.host, list + 8, 8) = htole64(page);
	mr.addr = 0x5000;
	mr.lkey = ((le32toh(resp.lkey) + 0x100000) & 0xf00000) | (le32toh(resp.lkey) & 0xfffff);
	drv_send(&left.qp, 1, right.qp.num, left.ah, &mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 1, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	drv_wqe(&left.qp, &wqe, EFA_OP_FAST_REG, 2, 0, 0);
	fast->lkey = htole32(mr.lkey);
	fast->permissions = EFA_MR_LOCAL_WRITE;
	fast->flags = 12 | 0x20;
	fast->iova = htole64(mr.addr);
	fast->length = htole64(8192);
	fast->list = htole64(list);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 2, 0, NULL));
	memcpy(test_mem(&left.drv.host, page + 4096, 10), "registered", 10);
	drv_recv(&right.qp, 1, &right.mr, 0, 10);
	drv_send(&left.qp, 3, right.qp.num, left.ah, &mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 3, 0, NULL));
	drv_mr_read(&right.drv, &right.mr, 0, seen, 10);
	CHECK(!memcmp(seen, "registered", 10));
	drv_wqe(&left.qp, &wqe, EFA_OP_FAST_INVALIDATE, 4, 0, 0);
	fast->lkey = htole32(mr.lkey);
	drv_store_wqe(&left.qp, &wqe);
	drv_ring_sq(&left.qp);
	CHECK(drv_wait(&left.cq, SEND, 4, 0, NULL));
	drv_send(&left.qp, 5, right.qp.num, left.ah, &mr, 0, 10);
	CHECK(drv_wait(&left.cq, SEND, 5, EFA_IO_LOCAL_INVALID_LKEY, NULL));
	drv_pair_close(end);
}

TAP_MAIN
