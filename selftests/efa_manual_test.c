// SPDX-License-Identifier: GPL-2.0
/*
 * The examples of the manual pages do on an adapter what the pages say. The headers in example/ are
 * made from Documentation/man.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/efadv.h>

#include "example/dvq_efa.7.h"
#include "example/dvq_efa_cq_poll.3.h"
#include "example/dvq_efa_sq_open.3.h"
#include "example/dvq_efa_sq_post.3.h"
#include "example/dvq_efa_wr_send.3.h"
#include "example/dvq_qp_query.3.h"
#include "example/dvq_reason.3.h"
#include "example/efadv_create_cq.3.h"
#include "example/efadv_create_qp_ex.3.h"
#include "example/efadv_get_max_sq_depth.3.h"
#include "example/efadv_query_ah.3.h"
#include "example/efadv_query_cq.3.h"
#include "example/efadv_query_device.3.h"
#include "example/efadv_query_mr.3.h"
#include "example/efadv_query_qp_wqs.3.h"
#include "example/efadv_wc_read_sgid.3.h"
#include "example/efadv_wr_set_processing_hints.3.h"

#include "lib/efa_test.h"

#define BYTES	100
#define SEED	4711

/* The pages' examples send whole regions, the guards of a buffer included. */

/* one side, with a CQ for both directions, as the pages have it; a sender waits for receives */
struct side {
	struct endpoint *endpoint;
	struct rings rings;
};

static struct side side_new(const struct adapter *adapter)
{
	struct endpoint_options options = { .send_cq = cq_new(adapter, 2 * ENDPOINT_WR, NULL) };
	struct side side;

	if (adapter_can(adapter, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		options.rnr_retry = RNR_RETRY(7);
	side.endpoint = endpoint_new(adapter, &options);
	return side;
}

static struct buffer *buffer_for(const struct side *side, unsigned int access)
{
	return buffer_new(side->endpoint->pd, BYTES, IBV_ACCESS_LOCAL_WRITE | access);
}

/* The page's bound is for who waits: on a slow system it may take several of them. */
static void wait_patiently(struct dvq_efa_cq *cq, struct dvq_efa_wc *wc)
{
	int ret;

	do
		ret = wait_for_one(cq, wc);
	while (ret == ETIMEDOUT);
	CHECK_EQ(dvq_efa_wc_status(wc), IBV_WC_SUCCESS);
	REQUIRE(!ret);
}

static void need_dvq(void)
{
	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_efa");
}

EFA_TEST(rings_and_messages)
{
	struct buffer *out, *in;
	struct side a, b;
	struct dvq_efa_wc wc;
	struct route to_b;

	need_dvq();
	a = side_new(self);
	b = side_new(peer);
	to_b = route_new(a.endpoint, b.endpoint);
	out = buffer_for(&a, 0);
	in = buffer_for(&b, 0);
	buffer_fill(out, SEED);
	REQUIRE(!open_rings(a.endpoint->qp, &a.rings));
	REQUIRE(!open_rings(b.endpoint->qp, &b.rings));
	REQUIRE(!post_receives(&b.rings.rq, in->mr, in->mr->length));
	REQUIRE(!watch(self->context, &a.rings.cq, &a.rings.sq, &a.rings.rq));
	REQUIRE(!watch(peer->context, &b.rings.cq, &b.rings.sq, &b.rings.rq));

	REQUIRE(!send_one(&a.rings.sq, to_b.ah, to_b.qpn, to_b.qkey, out->mr, 7));
	wait_patiently(&a.rings.cq, &wc);
	CHECK_EQ(wc.wr_id, 7);
	wait_patiently(&b.rings.cq, &wc);
	CHECK_EQ(wc.wr_id, 0);
	CHECK_EQ(wc.byte_len, out->mr->length);
	buffer_expect(in, 0, BYTES, SEED);
	close_rings(&b.rings);
	close_rings(&a.rings);
}

EFA_TEST(write_with_immediate)
{
	struct dvq_efa_dest dest;
	struct buffer *out, *in;
	struct side a, b;
	struct dvq_efa_wc wc;
	struct route to_b;

	need_dvq();
	need_write();
	a = side_new(self);
	b = side_new(peer);
	to_b = route_new(a.endpoint, b.endpoint);
	/* RDMA wants to be known at the other side */
	route_new(b.endpoint, a.endpoint);
	out = buffer_for(&a, 0);
	in = buffer_for(&b, IBV_ACCESS_REMOTE_WRITE);
	buffer_fill(out, SEED);
	REQUIRE(!open_rings(a.endpoint->qp, &a.rings));
	REQUIRE(!open_rings(b.endpoint->qp, &b.rings));
	REQUIRE(!post_receives(&b.rings.rq, in->mr, in->mr->length));
	REQUIRE(!watch(self->context, &a.rings.cq, &a.rings.sq, NULL));
	REQUIRE(!watch(peer->context, &b.rings.cq, NULL, &b.rings.rq));

	dvq_efa_dest_init(&dest, ah_number(to_b.ah), to_b.qpn, to_b.qkey);
	REQUIRE(!write_imm(&a.rings.sq, &dest, in->mr->rkey, (uintptr_t)in->mr->addr, out->mr, 8));
	wait_patiently(&a.rings.cq, &wc);
	CHECK_EQ(wc.wr_id, 8);
	wait_patiently(&b.rings.cq, &wc);
	CHECK(dvq_efa_wc_has_imm(&wc));
	CHECK_EQ(wc.imm, 42);
	buffer_expect(in, 0, BYTES, SEED);
	close_rings(&b.rings);
	close_rings(&a.rings);
}

EFA_TEST(queries)
{
	struct side a = side_new(self);
	struct route to_b = route_new(a.endpoint, a.endpoint);
	struct buffer *buffer = buffer_for(&a, 0);
	uint16_t number = 0xffff;
	struct ibv_ah *ah;
	bool came = true;

	CHECK_EQ(says_why_not(self->context), self->dvq ? 0 : EOPNOTSUPP);
	if (self->dvq)
		CHECK_EQ(show_send_queue(a.endpoint->qp), 0);
	CHECK_EQ(show_rings(a.endpoint->qp), 0);
	CHECK_EQ(number_of(to_b.ah, &number), 0);
	CHECK_EQ(number, ah_number(to_b.ah));
	CHECK_EQ(something_came(a.endpoint->send_cq->cq, &came), 0);
	CHECK(!came);
	CHECK_EQ(can_write_so_much(self->context, 1),
		 adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE));
	CHECK(receive_path(buffer->mr) >= -1);
	CHECK_EQ(handle_of_sender(a.endpoint->pd, NULL, &ah), -EOPNOTSUPP);
	show_depths(self->context);
}

EFA_TEST(creation)
{
	struct side a = side_new(self);
	struct ibv_cq_ex *cq = cq_with_gid(self->context, 16);
	struct ibv_qp *qp;

	if (adapter_can(self, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID)) {
		REQUIRE(cq);
		REQUIRE(efadv_cq_from_ibv_cq_ex(cq));
		CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	} else {
		CHECK(!cq);
	}
	qp = qp_with_hints(a.endpoint->pd, a.endpoint->send_cq->cq);
	if (!qp && errno == EOPNOTSUPP)
		SKIP("this release of libefa has no processing hints");
	REQUIRE(qp);
	CHECK(efadv_qp_from_ibv_qp_ex(ibv_qp_to_qp_ex(qp)));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

EFA_TEST(hint)
{
	struct endpoint *a = endpoint_try(self, &(struct endpoint_options){
		.wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS });
	struct endpoint *b = endpoint_new(peer, NULL);
	struct completion completion;
	struct buffer *out;
	struct route to_b;

	if (!a && errno == EOPNOTSUPP)
		SKIP("this release of libefa has no processing hints");
	REQUIRE(a);
	to_b = route_new(a, b);
	out = buffer_new(a->pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	post_recv_one(b, 1, buffer_new(b->pd, out->mr->length, IBV_ACCESS_LOCAL_WRITE), 0,
		      out->mr->length);
	REQUIRE(!send_hinted(a->ex, to_b.ah, to_b.qpn, to_b.qkey, out->mr, 9));
	cq_wait(a->send_cq, &completion);
	CHECK_EQ(completion.id, 9);
}

EFA_TEST_MAIN
