// SPDX-License-Identifier: GPL-2.0
/* The receive queue: descriptors byte for byte, several buffers, wraps, room. */
#include "rings.h"

static struct rings *open_rq(uint32_t descs, uint32_t max_sge)
{
	struct rings *r = rings_new();

	r->rq_info.entries = descs;
	r->rq_info.max_wr = descs / max_sge;
	r->qp.max_recv_sge = max_sge;
	rings_open(r);
	return r;
}

TEST(descriptor_of_one_buffer)
{
	/* index 0 with generation 5 above 3 bits */
	static const uint8_t want[16] = {
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x28, 0x00, 0x10, 0x27, 0xef, 0xcd, 0xab, 0xc0,
	};
	struct dvq_efa_sge sge = { .addr = 0x1122334455667788, .length = 10000,
				   .lkey = 0x12abcdef };
	struct rings *r = open_rq(8, 1);

	memset(r->rq_ring, 0xee, 128);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, &sge, 1, 1), 0);
	CHECK(!memcmp(r->rq_ring, want, 16));
	CHECK_EQ(r->rq_ring[16], 0xee);
	CHECK_EQ(r->rq_db, 0);
	dvq_efa_rq_publish(&r->rq);
	CHECK_EQ(r->rq_db, 1);
	rings_free(r);
}

TEST(f06_long_buffers_are_cut_and_never_wrap)
{
	static const uint32_t lengths[][2] = {
		{ 0, 0 }, { 1, 1 }, { 65534, 65534 }, { 65535, 65535 }, { 65536, 65535 },
		{ 1 << 20, 65535 }, { ~0u, 65535 },
	};
	struct rings *r = open_rq(8, 1);

	for (uint32_t i = 0; i < 7; i++) {
		struct dvq_efa_sge sge = { .length = lengths[i][0] };

		CHECK_EQ(dvq_efa_rq_post(&r->rq, &sge, 1, i), 0);
		CHECK_EQ(rings_desc(r, i).length, lengths[i][1]);
		CHECK_EQ(rings_desc(r, i).lkey_ctrl, EFA_RX_FIRST | EFA_RX_LAST);
	}
	rings_free(r);
}

/* F-27, with a wrap inside a request */
TEST(f27_several_buffers_one_descriptor_each)
{
	struct rings *r = open_rq(8, 3);
	struct dvq_efa_sge sge[3];
	struct dvq_efa_wc wc[4];
	uint32_t count = 0;

	CHECK_EQ(r->rq.ids.limit, 2);
	for (int lap = 0; lap < 9; lap++) {
		uint32_t n = lap % 3 + 1;
		uint16_t id;

		for (uint32_t i = 0; i < 3; i++)
			sge[i] = (struct dvq_efa_sge) { .addr = lap * 0x1000 + i, .length = 100 + i,
							.lkey = 10 + i };
		CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, n, lap), 0);
		dvq_efa_rq_publish(&r->rq);
		CHECK_EQ(r->rq_db, count + n);
		id = rings_desc(r, count % 8).req_id;
		for (uint32_t i = 0; i < n; i++) {
			struct efa_rx_desc desc = rings_desc(r, (count + i) % 8);

			CHECK_EQ(desc.addr_lo, lap * 0x1000 + i);
			CHECK_EQ(desc.length, 100 + i);
			CHECK_EQ(desc.lkey_ctrl & EFA_RX_LKEY, 10 + i);
			CHECK_EQ(!!(desc.lkey_ctrl & EFA_RX_FIRST), i == 0);
			CHECK_EQ(!!(desc.lkey_ctrl & EFA_RX_LAST), i == n - 1);
			CHECK_EQ(desc.lkey_ctrl & EFA_RX_MBZ, 0);
			CHECK_EQ(desc.req_id, i ? 0 : id);
		}
		count += n;
		rings_recv_done(r, 0, r->qp.qp_num, id, 1);
		CHECK_EQ(rings_poll(r, wc, 4), 1);
		CHECK_EQ(wc[0].wr_id, lap);
	}
	rings_free(r);
}

TEST(number_of_buffers_is_checked)
{
	struct dvq_efa_sge sge[4] = {};
	struct rings *r = open_rq(8, 3);

	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 0, 1), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 4, 1), DVQ_EFA_EINVAL);
	CHECK_EQ(r->rq.descs, 0);
	CHECK_EQ(dvq_efa_rq_room(&r->rq), 2);
	rings_free(r);
}

TEST(f28_full_queue_counts_receives_not_descriptors)
{
	struct dvq_efa_sge sge[3] = {};
	struct rings *r = open_rq(8, 3);
	struct dvq_efa_rq before;

	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 1, 1), 0);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 1, 2), 0);
	before = r->rq;
	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 1, 3), DVQ_EFA_ENOMEM);
	CHECK(!memcmp(&before, &r->rq, sizeof(before)));
	rings_free(r);
}

TEST(doorbell_counts_modulo_65536)
{
	struct rings *r = open_rq(8, 1);
	struct dvq_efa_wc wc[4];

	for (uint32_t count = 0; count < 66000; count++) {
		REQUIRE(rings_post_recv(r, count) == 0);
		dvq_efa_rq_publish(&r->rq);
		REQUIRE(r->rq_db == ((count + 1) & 0xffff));
		rings_recv_done(r, 0, r->qp.qp_num, rings_desc(r, count % 8).req_id, 1);
		REQUIRE(rings_poll(r, wc, 4) == 1);
		REQUIRE(wc[0].wr_id == count);
	}
	r->rq_db = 0xdead;
	dvq_efa_rq_publish(&r->rq);
	CHECK_EQ(r->rq_db, 0xdead);
	rings_free(r);
}

TEST(abort_undoes_what_was_not_published)
{
	struct rings *r = open_rq(8, 3);
	struct dvq_efa_sge sge[3] = {};
	struct dvq_efa_rq before;

	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 2, 1), 0);
	dvq_efa_rq_publish(&r->rq);
	before = r->rq;
	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 3, 2), 0);
	dvq_efa_rq_abort(&r->rq);
	CHECK(!memcmp(&before, &r->rq, sizeof(before)));
	CHECK_EQ(r->rq_db, 2);
	CHECK_EQ(dvq_efa_rq_room(&r->rq), 1);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, sge, 3, 3), 0);
	dvq_efa_rq_publish(&r->rq);
	CHECK_EQ(r->rq_db, 5);
	rings_free(r);
}

TEST(callers_own_ids)
{
	struct dvq_efa_sge sge = {};
	struct rings *r = rings_new();

	rings_fill(r);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, &sge, 1, 8), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_rq_post(&r->rq, &sge, 1, 7), 0);
	CHECK_EQ(rings_desc(r, 0).req_id, 5 << 3 | 7);
	rings_free(r);
}

TEST(queue_that_takes_no_receives)
{
	struct rings *r = rings_new();

	r->rq_info.entries = 1;
	r->rq_info.max_wr = 0;
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, 0x1000, 0x2000), EINVAL);
	CHECK(strstr(dvq_reason(), "no receive queue"));
	rings_free(r);
}

TEST(queue_that_does_not_exist)
{
	struct rings *r = rings_new();

	memset(&r->rq_info, 0, sizeof(r->rq_info));
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, 1, 2), EINVAL);
	r->rq_info = rings_wq(DVQ_WQ_RQ, 32, 8);
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, 1, 2), EOPNOTSUPP);
	/* the device tells no receive SGEs: one is what a receive has */
	r->rq_info = rings_wq(DVQ_WQ_RQ, 16, 8);
	r->qp.max_recv_sge = 0;
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, 1, 2), 0);
	CHECK_EQ(r->rq.max_sge, 1);
	rings_free(r);
}

TAP_MAIN
