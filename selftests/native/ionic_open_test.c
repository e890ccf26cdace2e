// SPDX-License-Identifier: GPL-2.0
/* dvq.h: opening and closing of ionic rings, and records that cannot be. */
#include <errno.h>

#include <dvq/dvq.h>
#include <infiniband/ionic_dv.h>

#include "fake_kernel.h"
#include "internal.h"
#include "tap.h"

static struct ibv_qp qp_of(struct ibv_context *context)
{
	return (struct ibv_qp) { .context = context, .handle = 1, .state = IBV_QPS_INIT,
				 .qp_type = IBV_QPT_RC };
}

TEST(open_maps_and_close_unmaps_exactly)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;

	for (int i = 0; i < 200; i++) {
		REQUIRE(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)) == 0);
		REQUIRE(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)) == 0);
		REQUIRE(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)) == 0);
		/* the send queue is in controller memory; the doorbell page is one and the same */
		if (!i)
			CHECK(fake_mappings() >= 2 && fake_mappings() <= 4);
		for (int twice = 0; twice < 2; twice++) {
			dvq_ionic_sq_close(&sq);
			dvq_ionic_rq_close(&rq);
			dvq_ionic_cq_close(&cq);
		}
	}
	CHECK_EQ(fake_mappings(), 0);
	dvq_ionic_sq_close(NULL);
	dvq_ionic_rq_close(NULL);
	dvq_ionic_cq_close(NULL);
	fake_close(context);
}

TEST(open_fills_the_structs)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;

	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), 0);
	CHECK_EQ(sq.version, DVQ_IONIC_RING_VERSION);
	CHECK_EQ(sq.size, sizeof(sq));
	CHECK_EQ(sq.wqe_version, 2);
	CHECK_EQ(sq.max_inline, 24);
	CHECK_EQ(sq.wq.ring, (uintptr_t)fake_kernel.memory[0]);
	CHECK_EQ(sq.wq.cmb, sq.wq.cmb_map);
	CHECK_EQ(sq.wq.doorbell, sq.wq.db_map + 24);
	CHECK_EQ(sq.wq.express, 0x0003000009580000);
	CHECK_EQ(sq.wq.max_sge, 1);
	CHECK_EQ(sq.wq.uid, 101);
	CHECK(!sq.wq.reqs.ud && !sq.wq.reqs.receive);
	CHECK_EQ(dvq_ionic_reqs_slots(&sq.wq.reqs), 64);
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), 0);
	CHECK_EQ(rq.wq.ring, (uintptr_t)fake_kernel.memory[1]);
	CHECK_EQ(rq.wq.cmb, 0);
	CHECK_EQ(rq.wq.express, 0);
	CHECK_EQ(rq.wq.max_sge, 2);
	CHECK(rq.wq.reqs.receive);
	CHECK_EQ(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)), 0);
	CHECK_EQ(cq.doorbell, cq.db_map + 40);
	CHECK_EQ(cq.uid, 102);
	CHECK_EQ(cq.ring[0].ring, (uintptr_t)fake_kernel.memory[2]);
	CHECK_EQ(cq.ring[1].ring, (uintptr_t)fake_kernel.memory[3]);
	CHECK_EQ(cq.ring[1].db_value, 8 << 24);
	CHECK_EQ(cq.ring[1].mask, 127);
	CHECK_EQ(cq.ring[1].credit, 64);
	dvq_ionic_sq_close(&sq);
	dvq_ionic_rq_close(&rq);
	dvq_ionic_cq_close(&cq);
	qp.qp_type = IBV_QPT_UD;
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), 0);
	CHECK(sq.wq.reqs.ud);
	dvq_ionic_sq_close(&sq);
	fake_close(context);
}

/* the direct verbs find the rings that are open, in the structs of the program */
TEST(f92_somebody_else_rings)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_req slots[64];
	struct dvq_ionic_sge sge = { .addr = 0x1000, .length = 1, .lkey = 1 };
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	uint64_t data = 0, doorbell;

	/* nothing is open: the stock library's, which does not have it */
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, false, true), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), EOPNOTSUPP);

	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), 0);
	CHECK_EQ(dvq_ionic_rq_set_slots(&rq, slots), 0);
	rq.wq.doorbell = (uintptr_t)&doorbell;
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, true, true), EOPNOTSUPP);
	CHECK_EQ(rq.wq.gda, 0);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(&qp, &data), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, false, true), 0);

	doorbell = 0;
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(dvq_ionic_rq_post(&rq, &sge, 1, i), 0);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), 0);
	CHECK_EQ(data, rq.wq.db_value);
	dvq_ionic_rq_publish(&rq);
	CHECK_EQ(doorbell, 0);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), 0);
	CHECK_EQ(data, rq.wq.db_value | 3);
	CHECK_EQ(data, dvq_ionic_rq_db_data(&rq));
	/* and then it rings again */
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, false, false), 0);
	CHECK_EQ(dvq_ionic_rq_post(&rq, &sge, 1, 3), 0);
	dvq_ionic_rq_publish(&rq);
	CHECK_EQ(doorbell, rq.wq.db_value | 4);

	/* the send queue rings by itself, so nothing is changed */
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), 0);
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, true, true), EINVAL);
	CHECK_EQ(rq.wq.gda | sq.wq.gda, 0);
	CHECK_EQ(dvq_ionic_sq_set_gda(&sq, true), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_sq_set_gda(&sq, false), 0);
	dvq_ionic_sq_close(&sq);
	dvq_ionic_rq_close(&rq);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), EOPNOTSUPP);
	fake_close(context);
}

/* opened again after a RESET, and only then the old one is closed */
static void close_one_of_two(bool first)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_rq a, b, copy;
	uint64_t data;

	REQUIRE(!dvq_ionic_rq_open(&qp, &a, sizeof(a)));
	REQUIRE(!dvq_ionic_rq_open(&qp, &b, sizeof(b)));
	copy = first ? a : b;
	dvq_ionic_rq_close(&copy);
	memset(first ? &a : &b, 0xee, sizeof(a));
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, false, true), 0);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), 0);
	CHECK_EQ(data, first ? b.wq.db_value : a.wq.db_value);
	CHECK((first ? &b : &a)->wq.gda);
	CHECK_EQ((first ? &a : &b)->wq.gda, 0xeeee);
	dvq_ionic_rq_close(first ? &b : &a);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), EOPNOTSUPP);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(old_ring_is_closed_after_the_new_one_is_open)
{
	close_one_of_two(true);
	close_one_of_two(false);
}

TEST(cq_on_the_second_pipeline_only)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct dvq_ionic_cq cq;

	fake_kernel.cqs[1].info = fake_kernel.cqs[1].second;
	fake_kernel.cqs[1].info.pipelines = 2;
	CHECK_EQ(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)), 0);
	CHECK_EQ(cq.ring[0].ring, 0);
	CHECK_EQ(cq.ring[1].db_value, 8 << 24);
	dvq_ionic_cq_close(&cq);
	fake_close(context);
}

TEST(f14_sizes_of_older_and_newer_programs)
{
	struct {
		struct dvq_ionic_sq sq;
		uint8_t more[16], beyond;
	} newer;
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;

	memset(&newer, 0xee, sizeof(newer));
	CHECK_EQ(dvq_ionic_sq_open(&qp, &newer.sq, sizeof(newer.sq) + 16), 0);
	CHECK_EQ(newer.sq.size, sizeof(newer.sq));
	for (int i = 0; i < 16; i++)
		CHECK_EQ(newer.more[i], 0);
	CHECK_EQ(newer.beyond, 0xee);
	dvq_ionic_sq_close(&newer.sq);
	CHECK_EQ(dvq_ionic_sq_open(&qp, &newer.sq, sizeof(newer.sq) - 1), EINVAL);
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq) - 1), EINVAL);
	CHECK_EQ(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq) - 1), EINVAL);
	CHECK_EQ(dvq_ionic_sq_open(NULL, &newer.sq, sizeof(newer.sq)), EINVAL);
	CHECK_EQ(dvq_ionic_rq_open(&qp, NULL, sizeof(rq)), EINVAL);
	CHECK_EQ(dvq_ionic_cq_open(NULL, &cq, sizeof(cq)), EINVAL);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(queues_that_were_used)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;

	fake_kernel.memory[0][9] = 1;
	fake_kernel.memory[1][15] = 1;
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), EBUSY);
	CHECK_CONTAINS(dvq_reason(), "posted to already");
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), EBUSY);
	CHECK_EQ(fake_mappings(), 0);
	/* after RESET what is there is old */
	qp.state = IBV_QPS_RESET;
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), 0);
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), 0);
	dvq_ionic_sq_close(&sq);
	dvq_ionic_rq_close(&rq);
	fake_close(context);
}

TEST(memory_that_the_process_does_not_see)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;

	fake_kernel.qps[1].rq.user_addr = 0;
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), EOPNOTSUPP);
	fake_kernel.cqs[1].second.user_addr = 0;
	CHECK_EQ(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "does not see");
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(queue_that_does_not_exist)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;

	memset(&fake_kernel.qps[1].rq, 0, sizeof(struct dvq_wq_info));
	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "no receive queue");
	memset(&fake_kernel.qps[1].sq, 0, sizeof(struct dvq_wq_info));
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), EINVAL);
	qp.handle = 2;
	CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), ENOENT);
	fake_close(context);
}

TEST(other_devices)
{
	static const enum fake_driver drivers[] = { FAKE_DVQ, FAKE_IN_TREE, FAKE_OTHER,
						    FAKE_IONIC_IN_TREE };

	for (int i = 0; i < 4; i++) {
		struct ibv_context *context = fake_open(drivers[i]);
		struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
		struct ibv_qp qp = qp_of(context);
		struct dvq_ionic_sq sq;
		struct dvq_ionic_rq rq;
		struct dvq_ionic_cq cq;

		CHECK_EQ(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), EOPNOTSUPP);
		CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), EOPNOTSUPP);
		CHECK_EQ(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)), EOPNOTSUPP);
		fake_close(context);
	}
}

TEST(records_that_cannot_be)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	const struct fake_kernel good = fake_kernel;
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;

#define REFUSED(open, change)							\
	do {									\
		change;								\
		CHECK_EQ(open, EOPNOTSUPP);					\
		CHECK_CONTAINS(dvq_reason(), "does not know");			\
		fake_kernel = good;						\
	} while (0)
#define SQ(change) REFUSED(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), fake_kernel.qps[1].sq.change)
#define RQ(change) REFUSED(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), fake_kernel.qps[1].rq.change)
#define CQ(change) REFUSED(dvq_ionic_cq_open(&verbs_cq, &cq, sizeof(cq)), fake_kernel.cqs[1].change)
	SQ(entry_size = 32);
	SQ(entry_size = 96);
	SQ(entries = 0);
	SQ(entries = 1);
	SQ(entries = 48);
	SQ(entries = 131072);
	SQ(ring_key = 0);
	SQ(ring_length = 64 * 64 - 1);
	SQ(ring_offset = 4);
	REFUSED(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), (fake_kernel.qps[1].sq.ring_offset = 32,
							  fake_kernel.qps[1].sq.ring_length = 0x2000));
	SQ(mem = DVQ_MEM_KERNEL);
	SQ(mem = DVQ_MEM_USER);
	SQ(db_format = DVQ_DB_EFA_COUNT);
	SQ(db_width = 4);
	SQ(db_key = 0);
	SQ(db_offset = 4096);
	SQ(db_offset = 4);
	RQ(entry_size = 0);
	RQ(entries = 3);
	RQ(db_width = 0);
	CQ(info.entry_size = 64);
	CQ(info.entries = 2);
	CQ(info.entries = 100);
	CQ(info.sub_cqs = 2);
	CQ(info.first_phase = 0);
	CQ(info.mem = DVQ_MEM_KERNEL);
	CQ(second.db_format = DVQ_DB_NONE);
	REFUSED(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), fake_kernel.device.wqe_version = 0);
	REFUSED(dvq_ionic_sq_open(&qp, &sq, sizeof(sq)), fake_kernel.device.wqe_version = 3);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TAP_MAIN
