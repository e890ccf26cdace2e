// SPDX-License-Identifier: GPL-2.0
/*
 * The poster of poster/efa.h, which is written from Documentation/rings.rst alone: the page says
 * enough if the adapter, in its strict mode, has nothing to object to.
 */
#include <dvq/dvq.h>

#include "poster/efa.h"

#include "lib/efa_test.h"

/* A sends, B receives; each with one CQ, which its caller keeps over QPs */
struct scene {
	struct duo duo;
	struct poster a, b;
	struct poster_cq a_cq, b_cq;
	struct buffer *from, *to;
	uint64_t sent, received;
};

#define SLOT	64

static void need_dvq_and_model(void)
{
	need_model();
	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_efa");
}

static struct scene scene_new(unsigned int depth)
{
	struct endpoint_options options = {
		.send_wr = depth, .recv_wr = depth, .recv_sge = 1, .cq_depth = 4 * depth,
	};
	struct scene scene = { 0 };

	need_dvq_and_model();
	scene.duo = duo_new(&options);
	REQUIRE(poster_open(&scene.a, scene.duo.a->qp));
	REQUIRE(poster_open(&scene.b, scene.duo.b->qp));
	REQUIRE(poster_open_cq(&scene.a_cq, scene.duo.a->qp->send_cq));
	REQUIRE(poster_open_cq(&scene.b_cq, scene.duo.b->qp->recv_cq));
	scene.from = buffer_new(scene.duo.a->pd, depth * SLOT, 0);
	scene.to = buffer_new(scene.duo.b->pd, depth * SLOT, IBV_ACCESS_LOCAL_WRITE);
	return scene;
}

static bool send_one(struct scene *scene, uint64_t n)
{
	const uint64_t slot = n * SLOT % scene->from->size;
	const uint64_t at = buffer_addr(scene->from, slot);
	struct efa_wqe wqe = {
		.meta = { .ctrl1 = EFA_OP_SEND, .dest_qp_num = scene->duo.to_b.qpn, .length = 1,
			  .ah = ah_number(scene->duo.to_b.ah), .qkey = scene->duo.to_b.qkey },
		.u.sgl[0] = { .length = 8, .lkey = scene->from->mr->lkey & EFA_LKEY_BITS,
			      .addr_lo = at, .addr_hi = at >> 32 },
	};

	memcpy(scene->from->data + slot, &n, sizeof(n));
	return poster_send(&scene->a, &wqe, n);
}

static bool give_one(struct scene *scene, uint64_t n)
{
	return poster_recv(&scene->b, buffer_addr(scene->to, n * SLOT % scene->to->size), SLOT,
			   scene->to->mr->lkey, n);
}

static uint64_t take_one(struct poster_cq *cq, struct poster *p, struct efa_cqe_rx *cqe)
{
	uint64_t end = now_ms() + PATIENCE_MS, id;

	while (!poster_poll(cq, p, cqe, &id))
		LAB_NEED(now_ms() < end, "no completion came");
	CHECK_EQ(cqe->common.status, EFA_IO_OK);
	return id;
}

/* bursts of all sizes up to a full ring, also beyond a batch, over many laps */
EFA_TEST(f96_sends_and_receives)
{
	enum { DEPTH = 64, BURSTS = 120 };
	struct scene scene = scene_new(DEPTH);
	struct model_stats before;
	struct efa_cqe_rx cqe;
	uint64_t n = 0, sum = 0, want = 0;

	model_stats(self->model, &before);
	for (unsigned int burst = 0; burst < BURSTS; burst++) {
		unsigned int size = 1 + burst * 7 % scene.a.wq[0].info.max_wr;

		for (unsigned int i = 0; i < size; i++)
			REQUIRE(give_one(&scene, n + i));
		poster_ring(&scene.b.wq[1], false);
		for (unsigned int i = 0; i < size; i++) {
			REQUIRE(send_one(&scene, n + i));
			want += n + i;
		}
		poster_ring(&scene.a.wq[0], true);
		for (unsigned int i = 0; i < size; i++) {
			uint64_t got;

			take_one(&scene.a_cq, &scene.a, &cqe);
			got = take_one(&scene.b_cq, &scene.b, &cqe);
			CHECK_EQ(cqe.length, 8);
			CHECK_EQ(cqe.src_qp_num, scene.duo.a->qp->qp_num);
			memcpy(&got, scene.to->data + got * SLOT % scene.to->size, sizeof(got));
			sum += got;
		}
		n += size;
	}
	CHECK_EQ(sum, want);
	CHECK_EQ(model_delta(self->model, &before, "wqes_send"), n);
	printf("# %llu messages\n", (unsigned long long)n);
}

/* full is full, one completion makes one room */
EFA_TEST(f96_full_queues)
{
	struct scene scene = scene_new(32);
	const uint32_t sends = scene.a.wq[0].info.max_wr, receives = scene.b.wq[1].info.max_wr;
	struct efa_cqe_rx cqe;

	for (uint32_t i = 0; i < receives; i++)
		REQUIRE(give_one(&scene, i));
	CHECK(!give_one(&scene, receives));
	poster_ring(&scene.b.wq[1], false);
	for (uint32_t i = 0; i < sends; i++)
		REQUIRE(send_one(&scene, i));
	CHECK(!send_one(&scene, sends));
	poster_ring(&scene.a.wq[0], true);
	take_one(&scene.a_cq, &scene.a, &cqe);
	CHECK(send_one(&scene, sends));
	CHECK(!send_one(&scene, sends));
}

/* what a QP leaves in the CQ is not its successor's, whose number may be the same */
EFA_TEST(f96_completions_of_a_qp_that_is_gone)
{
	struct scene scene = scene_new(16);
	struct endpoint_options options = {
		.send_wr = 16, .recv_wr = 16, .recv_sge = 1, .pd = scene.duo.a->pd,
		.send_cq = scene.duo.a->send_cq, .recv_cq = scene.duo.a->recv_cq,
	};
	struct efa_cqe_rx cqe;
	uint64_t n = 0, id;

	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 4; i++)
			REQUIRE(give_one(&scene, i));
		poster_ring(&scene.b.wq[1], false);
		for (unsigned int i = 0; i < 3; i++)
			REQUIRE(send_one(&scene, n++));
		poster_ring(&scene.a.wq[0], true);
		for (unsigned int i = 0; i < 3; i++)
			take_one(&scene.b_cq, &scene.b, &cqe);
		sleep_ms(QUIET_MS);
		REQUIRE(!endpoint_destroy(scene.duo.a));
		scene.duo.a = endpoint_new(self, &options);
		REQUIRE(poster_open(&scene.a, scene.duo.a->qp));
		/* one that is out and cannot be done yet */
		REQUIRE(send_one(&scene, n));
		CHECK(!poster_poll(&scene.a_cq, &scene.a, &cqe, &id));
		poster_ring(&scene.a.wq[0], true);
		CHECK_EQ(take_one(&scene.a_cq, &scene.a, &cqe), n++);
		take_one(&scene.b_cq, &scene.b, &cqe);
	}
}

EFA_TEST_MAIN
