// SPDX-License-Identifier: GPL-2.0
/*
 * The examples of the manual pages do on an adapter what the pages say. The headers in example/ are
 * made from Documentation/man.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/ionic_dv.h>
#include <stdlib.h>
#include <string.h>

#include "example/dvq_ionic.7.h"
#include "example/dvq_ionic_cq_poll.3.h"
#include "example/dvq_ionic_sq_open.3.h"
#include "example/dvq_ionic_sq_post.3.h"
#include "example/dvq_ionic_wr_send.3.h"
#include "example/dvq_pd_set_policy.3.h"
#include "example/dvq_qp_query.3.h"
#include "example/dvq_region_alloc.3.h"
#include "example/ionic_dv_get_ctx.3.h"
#include "example/ionic_dv_pd_set_sqcmb.3.h"
#include "example/ionic_dv_pd_set_udma_mask.3.h"
#include "example/ionic_dv_qp_set_gda.3.h"

#include "lib/ionic_test.h"

#define BYTES	100
#define SEED	4711
#define ROWS	1024

/* The pages' examples send whole regions, the guards of a buffer included. */

/* one side, in host memory, with a CQ for both directions, as the pages have it */
struct side {
	struct endpoint *endpoint;
	struct rings rings;
	struct dvq_ionic_cq_qp rows[ROWS];
};

static int close_side(void *object)
{
	struct side *side = object;

	close_rings(&side->rings);
	free((void *)(uintptr_t)side->rings.sq.wq.reqs.slots);
	free((void *)(uintptr_t)side->rings.rq.wq.reqs.slots);
	free(side);
	return 0;
}

static struct ibv_pd *pd_in_host_memory(const struct adapter *adapter)
{
	struct ibv_pd *pd = pd_new(adapter);

	LAB_NEED(!ionic_dv_pd_set_sqcmb(pd, false, false, false) &&
		 !ionic_dv_pd_set_rqcmb(pd, false, false, false), "%s", dvq_reason());
	return pd;
}

static struct endpoint *endpoint_with_one_cq(const struct adapter *adapter)
{
	return endpoint_new(adapter, &(struct endpoint_options){
		.pd = pd_in_host_memory(adapter),
		.send_cq = cq_new(adapter, 2 * ENDPOINT_WR, NULL) });
}

/* what follows happens under the verbs: the rings are opened, and the QP is not used by them */
static struct side *side_new(struct endpoint *endpoint)
{
	struct side *side = calloc(1, sizeof(*side));

	LAB_NEED(side, "no memory");
	side->endpoint = endpoint;
	lab_hold(close_side, side);
	REQUIRE(!open_rings(endpoint->qp, &side->rings));
	REQUIRE(!give_slots(&side->rings.sq, &side->rings.rq));
	REQUIRE(!dvq_ionic_cq_set_qps(&side->rings.cq, side->rows, ROWS));
	REQUIRE(!dvq_ionic_cq_attach(&side->rings.cq, &side->rings.sq, &side->rings.rq));
	return side;
}

/* two sides that are connected */
struct pair {
	struct side *a, *b;
	struct buffer *out, *in;
};

static struct pair pair_new(void)
{
	struct endpoint *a, *b;
	struct pair pair;

	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_ionic");
	a = endpoint_with_one_cq(self);
	b = endpoint_with_one_cq(peer);
	route_new(a, b);
	route_new(b, a);
	pair.a = side_new(a);
	pair.b = side_new(b);
	pair.out = buffer_new(a->pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	pair.in = buffer_new(b->pd, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	buffer_fill(pair.out, SEED);
	return pair;
}

/* where the atomic is: 8 bytes of the guard, which the write before has set */
static uint64_t counter_of(const struct buffer *buffer)
{
	uint64_t counter;

	memcpy(&counter, buffer->mr->addr, sizeof(counter));
	return counter;
}

/* the next completion, a success; the time limit of the test ends the waiting */
static void wait_for(struct dvq_ionic_cq *cq, uint64_t id)
{
	struct dvq_ionic_wc wc;

	while (!dvq_ionic_cq_poll(cq, &wc, 1))
		;
	CHECK_EQ(wc.wr_id, id);
	CHECK_EQ(dvq_ionic_wc_status(&wc), IBV_WC_SUCCESS);
}

IONIC_TEST(write_and_count)
{
	struct pair pair = pair_new();
	struct dvq_ionic_sq *sq = &pair.a->rings.sq;
	struct dvq_ionic_cq *cq = &pair.a->rings.cq;
	const uint32_t rkey = pair.in->mr->rkey;
	const uint64_t remote = (uintptr_t)pair.in->mr->addr;
	struct buffer *old = buffer_new(pair.a->endpoint->pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr tail = *pair.out->mr;
	uint64_t before;

	REQUIRE(!write_one(sq, rkey, remote, pair.out->mr, 1));
	wait_for(cq, 1);
	buffer_expect(pair.in, 0, BYTES, SEED);
	before = counter_of(pair.in);
	/* of the first, which is not signaled, nothing is heard; the second comes behind it */
	REQUIRE(!count(sq, rkey, remote, old->mr, 2));
	tail.addr = pair.out->data;
	tail.length = BYTES;
	REQUIRE(!write_one(sq, rkey, buffer_addr(pair.in, 0), &tail, 3));
	wait_for(cq, 3);
	CHECK_EQ(counter_of(pair.in), before + 1);
	CHECK_EQ(counter_of(old), before);
}

IONIC_TEST(drained)
{
	struct pair pair = pair_new();
	struct dvq_ionic_sge sge = { buffer_addr(pair.in, 0), BYTES, pair.in->mr->lkey };

	for (uint64_t id = 0; id < 3; id++)
		REQUIRE(!dvq_ionic_rq_post(&pair.b->rings.rq, &sge, 1, id));
	dvq_ionic_rq_publish(&pair.b->rings.rq);
	CHECK_EQ(drain(&pair.b->rings.cq, pair.b->endpoint->qp, 3), 0);
}

IONIC_TEST(somebody_else_rings)
{
	struct pair pair = pair_new();
	struct dvq_ionic_sq *sq = &pair.a->rings.sq;
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;
	uint64_t value;

	dvq_ionic_wr_rdma_write(&wr, pair.in->mr->rkey, buffer_addr(pair.in, 0));
	dvq_ionic_wr_set_sge(&wr, pair.out->mr->lkey, buffer_addr(pair.out, 0), BYTES);
	REQUIRE(!dvq_ionic_sq_post(sq, &wr, 5));
	REQUIRE(!publish_for(pair.a->endpoint->qp, sq, &value));
	CHECK_EQ(dvq_ionic_cq_poll(&pair.a->rings.cq, &wc, 1), 0);
	dvq_doorbell64(sq->wq.doorbell, value);
	wait_for(&pair.a->rings.cq, 5);
	buffer_expect(pair.in, 0, BYTES, SEED);
}

/* A doorbell that says nothing new, from the addresses that the direct verbs tell. */
IONIC_TEST(doorbells)
{
	struct endpoint *a, *b;

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_ionic");
	a = endpoint_with_one_cq(self);
	b = endpoint_with_one_cq(peer);
	route_new(a, b);
	CHECK_EQ(ring(a->qp, 0), 0);
	CHECK_EQ(show_send_queue(a->qp), 0);
}

IONIC_TEST(pipelines)
{
	struct cq *cq = cq_new(self, 2 * ENDPOINT_WR, NULL);
	struct ibv_qp *qp[2] = { NULL, NULL };

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_ionic");
	CHECK_EQ(two_pipelines(pd_new(self), cq->cq, qp), 0);
	for (unsigned int i = 0; i < 2 && qp[i]; i++) {
		CHECK_EQ(ionic_dv_qp_get_udma_idx(qp[i]), i);
		CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
	}
}

IONIC_TEST(placement)
{
	struct cq *cq = cq_new(self, 2 * ENDPOINT_WR, NULL);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq->cq, .recv_cq = cq->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1 },
	};
	struct dvq_device_info device;
	struct dvq_wq_info sq, rq;
	struct dvq_region region;
	struct dvq_qp_info info;
	struct ibv_qp *qp;
	struct ibv_pd *pd;

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_ionic");
	REQUIRE(!dvq_device_query(self->context, &device, sizeof(device)));
	if (!(device.caps & DVQ_DEVICE_RQ_EXPDB))
		SKIP("the adapter has no express doorbells for receive queues");
	CHECK_EQ(receive_queues_in_cmb(pd_new(self)), 0);
	pd = pd_new(self);
	CHECK_EQ(reserve(pd, device.cmb_bytes + 1, &region), ENOSPC);
	CHECK_EQ(reserve(pd, device.cmb_bytes / 2, &region), 0);
	qp = qp_in_cmb(pd, &attr);
	REQUIRE(qp);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(dvq_region_free(&region), 0);
	qp = qp_in_cmb(pd_new(self), &attr);
	REQUIRE(qp);
	CHECK_EQ(dvq_qp_query(qp, &info, sizeof(info), &sq, &rq, sizeof(rq)), 0);
	CHECK_EQ(rq.mem, DVQ_MEM_CMB);
	CHECK(rq.caps & DVQ_WQ_EXPDB);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
}

IONIC_TEST_MAIN
