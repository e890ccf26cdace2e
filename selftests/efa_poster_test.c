// SPDX-License-Identifier: GPL-2.0
/*
 * Posters that are not the thread of the verbs. The one of poster/efa.h is written from
 * Documentation/rings.rst alone: the page says enough if the adapter, in its strict mode, has
 * nothing to object to. The one of gpu/efa.h is a GPU's, here a thread that has nothing but its
 * memory and mappings of its own.
 */
#include <dvq/dvq.h>
#include <pthread.h>

#include "gpu/efa.h"
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
	if (adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		options.rnr_retry = RNR_RETRY(7);
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

/* ---- a GPU, all but its hardware ------------------------------------------------------- */

#define GPU_SLOTS	32	/* messages; they are sent again and again */
#define GPU_ROUNDS	20

struct gpu_scene {
	struct scene scene;
	struct efa_gpu *gpu;
	struct dvq_efa_sq sq;
	struct dvq_efa_cq cq;
	pthread_t thread;
	uint64_t given, taken;
	uint32_t seen[GPU_SLOTS];
};

static void *run_gpu(void *gpu)
{
	efa_gpu_run(gpu);
	return NULL;
}

/* the state of the rings in memory of the GPU's, with the addresses that it has for their pages */
static void gpu_open(struct gpu_scene *s)
{
	struct scene *scene = &s->scene;
	struct efa_gpu *gpu = s->gpu = calloc(1, sizeof(*gpu));

	REQUIRE(gpu);
	REQUIRE(!dvq_efa_sq_open(scene->duo.a->qp, &s->sq, sizeof(s->sq)));
	REQUIRE(!dvq_efa_cq_open(scene->duo.a->qp->send_cq, &s->cq, sizeof(s->cq)));
	gpu->sq = s->sq;
	gpu->sq.build = gpu->sq.ring = (uintptr_t)scene->a.wq[0].ring;
	gpu->sq.doorbell = (uintptr_t)scene->a.wq[0].doorbell;
	gpu->cq = s->cq;
	gpu->cq.ring = (uintptr_t)scene->a_cq.ring;
	gpu->cq.doorbell = (uintptr_t)scene->a_cq.doorbell;
	gpu->work = (struct efa_gpu_work) {
		.messages = GPU_SLOTS * GPU_ROUNDS, .address = buffer_addr(scene->from, 0),
		.stride = SLOT, .slots = GPU_SLOTS, .length = 8, .lkey = scene->from->mr->lkey,
		.qkey = scene->duo.to_b.qkey, .qp_num = scene->duo.to_b.qpn,
		.ah = ah_number(scene->duo.to_b.ah), .patience = UINT64_MAX,
	};
	for (uint64_t i = 0; i < GPU_SLOTS; i++)
		memcpy(scene->from->data + i * SLOT, &i, sizeof(i));
}

/* receives as long as there is room, for all that is still to come */
static void gpu_give(struct gpu_scene *s)
{
	while (s->given < s->gpu->work.messages && give_one(&s->scene, s->given))
		s->given++;
	poster_ring(&s->scene.b.wq[1], false);
}

static void gpu_receive(struct gpu_scene *s)
{
	struct efa_cqe_rx cqe;
	uint64_t id, slot;

	while (poster_poll(&s->scene.b_cq, &s->scene.b, &cqe, &id)) {
		CHECK_EQ(cqe.common.status, EFA_IO_OK);
		memcpy(&slot, s->scene.to->data + id * SLOT % s->scene.to->size, sizeof(slot));
		LAB_NEED(slot < GPU_SLOTS, "a message that nobody sent");
		s->seen[slot]++;
		s->taken++;
	}
	gpu_give(s);
}

/*
 * Two of them at a time, each with a queue of its own as warps would have, and this thread goes on
 * with the verbs.
 */
EFA_TEST(gpu_posts_and_polls_by_itself)
{
	const uint64_t end = now_ms() + PATIENCE_MS;
	struct gpu_scene s[2] = { 0 };
	struct model_stats before;

	if (!adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		SKIP("the adapter does not wait for receives");
	for (int i = 0; i < 2; i++) {
		s[i].scene = scene_new(GPU_SLOTS);
		gpu_open(&s[i]);
		gpu_give(&s[i]);
	}
	model_stats(self->model, &before);
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&s[i].thread, NULL, run_gpu, s[i].gpu));
	while ((s[0].taken < s[0].gpu->work.messages || s[1].taken < s[1].gpu->work.messages) &&
	       now_ms() < end) {
		struct ibv_mr *mr = ibv_reg_mr(s[0].scene.duo.a->pd, s, sizeof(s), 0);

		CHECK(mr && !ibv_dereg_mr(mr));
		gpu_receive(&s[0]);
		gpu_receive(&s[1]);
	}
	for (int i = 0; i < 2; i++) {
		struct efa_gpu *gpu = s[i].gpu;

		/* with what has arrived its completion comes; without, it would wait for ever */
		if (s[i].taken < gpu->work.messages)
			*(volatile uint64_t *)&gpu->work.patience = 0;
		pthread_join(s[i].thread, NULL);
		CHECK_EQ(gpu->error, 0);
		CHECK_EQ(gpu->status, EFA_IO_OK);
		CHECK_EQ(gpu->done, gpu->work.messages);
		for (uint32_t slot = 0; slot < GPU_SLOTS; slot++)
			CHECK_EQ(s[i].seen[slot], GPU_ROUNDS);
		dvq_efa_cq_close(&s[i].cq);
		dvq_efa_sq_close(&s[i].sq);
		free(gpu);
	}
	CHECK_EQ(model_delta(self->model, &before, "wqes_send"), 2 * GPU_SLOTS * GPU_ROUNDS);
}

EFA_TEST_MAIN
