// SPDX-License-Identifier: GPL-2.0
/*
 * Posters that are not the thread of the verbs. The one of poster/ionic.h is written from
 * Documentation/rings.rst alone: the page says enough if the adapter, in its strict mode, has
 * nothing to object to. The one of gpu/ionic.h is a GPU's, here a thread that has nothing but its
 * memory and mappings of its own, and stores to them as a GPU does.
 */
#define DVQ_WC_WHOLE	0
#include <dvq/dvq.h>
#include <infiniband/ionic_dv.h>
#include <pthread.h>

#include "gpu/ionic.h"
#include "poster/ionic.h"

#include "lib/ionic_test.h"

enum place { HOST, CMB, EXPRESS };

/* A sends, B receives */
struct scene {
	struct duo duo;
	struct poster a, b;
	struct poster_cq a_cq, b_cq;
	struct buffer *from, *to;
};

#define SLOT	64
#define SLOTS	256	/* more than there are entries of a ring */

static void need_place(enum place place)
{
	const uint64_t express = DVQ_DEVICE_SQ_EXPDB | DVQ_DEVICE_RQ_EXPDB;
	struct dvq_device_info here, there;

	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_ionic");
	REQUIRE(!dvq_device_query(self->context, &here, sizeof(here)));
	REQUIRE(!dvq_device_query(peer->context, &there, sizeof(there)));
	here.caps &= there.caps;
	if (place >= CMB && !(here.caps & DVQ_DEVICE_SQ_CMB))
		SKIP("the adapter has no controller memory");
	if (place == EXPRESS && (here.caps & express) != express)
		SKIP("the adapter has no express doorbells");
}

static struct ibv_pd *pd_at(const struct adapter *adapter, enum place place)
{
	struct ibv_pd *pd = pd_new(adapter);
	const bool cmb = place >= CMB, express = place == EXPRESS;

	REQUIRE(!ionic_dv_pd_set_udma_mask(pd, IONIC_UDMA_MASK_LOW));
	REQUIRE(!ionic_dv_pd_set_sqcmb(pd, cmb, express, cmb));
	REQUIRE(!ionic_dv_pd_set_rqcmb(pd, cmb, express, cmb));
	return pd;
}

static struct scene scene_at(enum place place, unsigned int depth)
{
	struct endpoint_options a = {
		.transport = RC, .send_wr = depth, .recv_wr = depth, .send_sge = 1, .recv_sge = 1,
		.cq_depth = 2 * depth,
	}, b = a;
	struct scene scene = { 0 };

	need_place(place);
	a.pd = pd_at(self, place);
	b.pd = pd_at(peer, place);
	scene.duo = duo_new2(&a, &b);
	REQUIRE(poster_open(&scene.a, scene.duo.a->qp));
	REQUIRE(poster_open(&scene.b, scene.duo.b->qp));
	REQUIRE(poster_open_cq(&scene.a_cq, scene.duo.a->qp->send_cq));
	REQUIRE(poster_open_cq(&scene.b_cq, scene.duo.b->qp->recv_cq));
	CHECK_EQ(!!scene.a.sq.cmb, place >= CMB);
	CHECK_EQ(!!(scene.a.sq.info.caps & DVQ_WQ_EXPDB), place == EXPRESS);
	scene.from = buffer_new(scene.duo.a->pd, SLOTS * SLOT, 0);
	scene.to = buffer_new(scene.duo.b->pd, SLOTS * SLOT, IBV_ACCESS_LOCAL_WRITE);
	return scene;
}

static uint64_t place_of(const struct buffer *buffer, uint64_t n)
{
	return n * SLOT % buffer->size;
}

static bool send_one(struct scene *scene, uint64_t n)
{
	memcpy(scene->from->data + place_of(scene->from, n), &n, sizeof(n));
	return poster_send(&scene->a, buffer_addr(scene->from, place_of(scene->from, n)), 8,
			   scene->from->mr->lkey);
}

static bool give_one(struct scene *scene, uint64_t n)
{
	return poster_recv(&scene->b, buffer_addr(scene->to, place_of(scene->to, n)), SLOT,
			   scene->to->mr->lkey);
}

/* polls until @n sends of A and @n receives of B are done, and looks at what has arrived */
static void finish(struct scene *scene, uint64_t from, uint64_t n)
{
	uint64_t end = now_ms() + PATIENCE_MS, value;
	struct ionic_cqe cqe;

	while (scene->a.sq.done != (uint32_t)(from + n) || scene->b.rq.done != (uint32_t)(from + n)) {
		LAB_NEED(now_ms() < end, "sends done %u, receives %u", scene->a.sq.done,
			 scene->b.rq.done);
		LAB_NEED(poster_poll(&scene->a_cq, &scene->a, &cqe) < POSTER_STALE, "a bad send");
		switch (poster_poll(&scene->b_cq, &scene->b, &cqe)) {
		case POSTER_RECEIVE:
			CHECK_EQ(be32toh(cqe.status_length), 8);
			value = scene->b.rq.done - 1;
			CHECK_EQ(cqe.u.recv.id & IONIC_CQE_INDEX, value & (scene->b.rq.info.entries - 1));
			CHECK(!memcmp(scene->to->data + place_of(scene->to, value), &value, 8));
			break;
		case POSTER_NOTHING:
			break;
		default:
			LAB_NEED(false, "a bad receive");
		}
	}
}

/* bursts of all sizes up to a full ring, over many laps */
static void bursts(enum place place)
{
	struct scene scene = scene_at(place, 64);
	uint64_t n = 0;

	for (unsigned int burst = 0; burst < 80; burst++) {
		uint32_t most = scene.a.sq.info.entries < scene.b.rq.info.entries ?
				scene.a.sq.info.entries : scene.b.rq.info.entries;
		uint32_t size = 1 + burst * 7 % (most - 1);

		for (uint32_t i = 0; i < size; i++)
			REQUIRE(give_one(&scene, n + i));
		poster_ring(&scene.b.rq);
		for (uint32_t i = 0; i < size; i++)
			REQUIRE(send_one(&scene, n + i));
		poster_ring(&scene.a.sq);
		finish(&scene, n, size);
		n += size;
	}
	printf("# %llu messages\n", (unsigned long long)n);
}

IONIC_TEST(f96_host_memory)
{
	bursts(HOST);
}

IONIC_TEST(f96_controller_memory)
{
	bursts(CMB);
}

IONIC_TEST(f96_express_doorbells)
{
	bursts(EXPRESS);
}

/* one entry stays empty */
IONIC_TEST(f96_full_queues)
{
	struct scene scene = scene_at(HOST, 32);
	uint32_t n = 0, m = 0;

	while (give_one(&scene, n))
		n++;
	CHECK_EQ(n, scene.b.rq.info.entries - 1);
	poster_ring(&scene.b.rq);
	while (m < n && send_one(&scene, m))
		m++;
	CHECK(m == n || m == scene.a.sq.info.entries - 1);
	poster_ring(&scene.a.sq);
	finish(&scene, 0, m);
	CHECK(send_one(&scene, m));
}

/* ---- a GPU, all but its hardware ------------------------------------------------------- */

#define GPU_SLOTS	64	/* messages; they are written again and again */
#define GPU_ROUNDS	10

struct gpu_scene {
	struct scene scene;
	struct buffer *remote;
	struct ionic_gpu *gpu;
	struct dvq_ionic_sq sq;
	struct dvq_ionic_cq cq;
	pthread_t thread;
	bool ended;
};

static void *run_gpu(void *arg)
{
	struct gpu_scene *s = arg;

	ionic_gpu_run(s->gpu);
	__atomic_store_n(&s->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* the state of the rings in memory of the GPU's, with the addresses that it has for their pages */
static void gpu_open(struct gpu_scene *s)
{
	struct scene *scene = &s->scene;
	struct ionic_gpu *gpu = s->gpu = calloc(1, sizeof(*gpu));

	REQUIRE(gpu);
	s->remote = buffer_new(scene->duo.b->pd, GPU_SLOTS * SLOT,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	buffer_fill(scene->from, 77);
	REQUIRE(!dvq_ionic_sq_open(scene->duo.a->qp, &s->sq, sizeof(s->sq)));
	REQUIRE(!dvq_ionic_cq_open(scene->duo.a->qp->send_cq, &s->cq, sizeof(s->cq)));
	gpu->sq = s->sq;
	gpu->sq.wq.cmb = (uintptr_t)scene->a.sq.cmb;
	gpu->sq.wq.doorbell = (uintptr_t)scene->a.sq.doorbell;
	gpu->cq = s->cq;
	gpu->cq.doorbell = (uintptr_t)scene->a_cq.doorbell;
	gpu->work = (struct ionic_gpu_work) {
		.messages = GPU_SLOTS * GPU_ROUNDS, .address = buffer_addr(scene->from, 0),
		.remote = buffer_addr(s->remote, 0), .stride = SLOT, .slots = GPU_SLOTS,
		.length = SLOT, .lkey = scene->from->mr->lkey, .rkey = s->remote->mr->rkey,
		.patience = UINT64_MAX,
	};
}

/*
 * Two of them at a time, each with a queue of its own as warps would have, and this thread goes on
 * with the verbs.
 */
static void gpu_posts(enum place place)
{
	const uint64_t end = now_ms() + PATIENCE_MS;
	struct gpu_scene s[2] = { 0 };
	bool ended = false;

	for (int i = 0; i < 2; i++) {
		s[i].scene = scene_at(place, 32);
		gpu_open(&s[i]);
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&s[i].thread, NULL, run_gpu, &s[i]));
	while (!ended && now_ms() < end) {
		struct ibv_mr *mr = ibv_reg_mr(s[0].scene.duo.a->pd, s, sizeof(s), 0);

		CHECK(mr && !ibv_dereg_mr(mr));
		ended = __atomic_load_n(&s[0].ended, __ATOMIC_ACQUIRE) &&
			__atomic_load_n(&s[1].ended, __ATOMIC_ACQUIRE);
	}
	for (int i = 0; i < 2; i++) {
		struct ionic_gpu *gpu = s[i].gpu;

		if (!ended)
			*(volatile uint64_t *)&gpu->work.patience = 0;
		pthread_join(s[i].thread, NULL);
		CHECK_EQ(gpu->error, 0);
		CHECK_EQ(gpu->status, IONIC_IO_OK);
		CHECK_EQ(gpu->done, gpu->work.messages);
		CHECK(!memcmp(s[i].remote->data, s[i].scene.from->data, s[i].remote->size));
		dvq_ionic_cq_close(&s[i].cq);
		dvq_ionic_sq_close(&s[i].sq);
		free(gpu);
	}
}

/* a poster rings at the page that get_ctx() told, after another took away its own mapping of it */
IONIC_TEST(doorbells_of_the_context_outlast_a_poster)
{
	struct scene scene = scene_at(HOST, 64);
	struct ionic_dv_ctx ctx;
	uint8_t *own;

	CHECK_EQ(ionic_dv_get_ctx(&ctx, scene.duo.a->qp->context), 0);
	own = (uint8_t *)scene.a.sq.doorbell - scene.a.sq.info.db_offset;
	CHECK(own != ctx.db_page);
	munmap(own, scene.a.sq.info.db_length);
	munmap((uint8_t *)scene.a.rq.doorbell - scene.a.rq.info.db_offset, scene.a.rq.info.db_length);
	scene.a.sq.doorbell = (volatile uint64_t *)&ctx.db_ptr[ctx.sq_qtype];
	for (uint64_t n = 0; n < 100; n++) {
		CHECK(give_one(&scene, n) && send_one(&scene, n));
		poster_ring(&scene.b.rq);
		poster_ring(&scene.a.sq);
		finish(&scene, n, 1);
	}
}

IONIC_TEST(gpu_posts_and_polls_by_itself_host)
{
	gpu_posts(HOST);
}

IONIC_TEST(gpu_posts_and_polls_by_itself_cmb)
{
	gpu_posts(CMB);
}

IONIC_TEST(gpu_posts_and_polls_by_itself_express)
{
	gpu_posts(EXPRESS);
}

IONIC_TEST_MAIN
