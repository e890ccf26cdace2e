// SPDX-License-Identifier: GPL-2.0
/*
 * The order of stores, fences and doorbells (F-02, F-03): what the hooks of DVQ_TRACE
 * see, and that the fences are there in the machine code's terms is barrier.h's to say.
 */
#define DVQ_TRACE "trace.h"
#include "rings.h"

#define CHECK_TRACE(want) do { CHECK_STR(trace_log, want); trace_clear(); } while (0)

static struct rings *open_with(uint32_t max_batch, uint32_t entry_size)
{
	struct rings *r = rings_new();

	r->sq_info.max_batch = max_batch;
	r->sq_info.entry_size = entry_size;
	rings_open(r);
	trace_clear();
	return r;
}

TEST(f02_f03_send_flushes_between_the_last_store_and_the_doorbell)
{
	struct rings *r = open_with(8, 64);

	CHECK_EQ(rings_post(r, 1), 0);
	CHECK_EQ(rings_post(r, 2), 0);
	CHECK_TRACE("wc_start store64 store64");
	rings_publish(r);
	CHECK_TRACE("wc_flush db:0x2");
	rings_publish(r);
	CHECK_TRACE("");
	/* each batch begins with a fence of its own: there is no lock that would bring one */
	CHECK_EQ(rings_post(r, 3), 0);
	rings_publish(r);
	CHECK_TRACE("wc_start store64 wc_flush db:0x3");
	rings_free(r);
}

TEST(f02_f03_batch_that_fills_up)
{
	struct rings *r = open_with(2, 64);

	for (int i = 0; i < 3; i++)
		CHECK_EQ(rings_post(r, i), 0);
	rings_publish(r);
	CHECK_TRACE("wc_start store64 store64 wc_flush db:0x2 wc_start store64 wc_flush db:0x3");
	rings_free(r);
}

TEST(f02_f03_wide_entries)
{
	struct rings *r = open_with(8, 128);

	CHECK_EQ(rings_post(r, 1), 0);
	rings_publish(r);
	CHECK_TRACE("wc_start store64 store64 wc_flush db:0x1");
	rings_free(r);
}

TEST(f02_f03_staged_batches)
{
	struct rings *r = open_with(2, 64);

	CHECK_EQ(dvq_efa_sq_set_stage(&r->sq, r->stage), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(rings_post(r, i), 0);
	/* to ordinary memory: no fence */
	CHECK_TRACE("store64 store64 store64");
	rings_publish(r);
	CHECK_TRACE("wc_start store64 store64 wc_flush db:0x2 wc_start store64 wc_flush db:0x3");
	CHECK_EQ(rings_post(r, 4), 0);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	rings_publish(r);
	CHECK_TRACE("store64");
	rings_free(r);
}

TEST(refused_post_does_nothing)
{
	struct rings *r = open_with(8, 64);
	struct dvq_efa_wr wr = rings_send();

	dvq_efa_wr_fail(&wr, DVQ_EFA_EINVAL);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 1), DVQ_EFA_EINVAL);
	rings_publish(r);
	CHECK_TRACE("");
	rings_free(r);
}

TEST(f02_receive_takes_the_barrier_of_host_memory)
{
	struct rings *r = open_with(8, 64);

	CHECK_EQ(rings_post_recv(r, 1), 0);
	CHECK_EQ(rings_post_recv(r, 2), 0);
	dvq_efa_rq_publish(&r->rq);
	CHECK_TRACE("store16 store16 dma_write db:0x2");
	dvq_efa_rq_publish(&r->rq);
	CHECK_TRACE("");
	rings_free(r);
}

TEST(poll_passes_one_fence_between_phases_and_entries)
{
	struct rings *r = open_with(8, 64);
	struct dvq_efa_wc wc[8];

	CHECK_EQ(rings_poll(r, wc, 8), 0);
	CHECK_TRACE("phase");
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, i), 0);
	}
	trace_clear();
	CHECK_EQ(rings_poll(r, wc, 8), 3);
	CHECK_TRACE("phase phase phase phase dma_read dma_release db:0x3");
	CHECK_EQ(dvq_efa_cq_arm(&r->cq), 0);
	CHECK_TRACE("dma_release db:0x80000003");
	/* nor more than one when there are many */
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		rings_send_done(r, 0, RINGS_QP_NUM, rings_wqe_id(r, (3 + i) % 8), 0);
	}
	trace_clear();
	CHECK_EQ(rings_poll(r, wc, 8), 8);
	CHECK_TRACE("phase phase phase phase phase phase phase phase dma_read dma_release db:0xb");
	rings_free(r);
}

TAP_MAIN
