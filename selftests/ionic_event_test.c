// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events on ionic: one for each arming, for the right CQ, on every vector, from either
 * pipeline, none lost between polling and arming.
 *
 * libionic rings an arm with the next poll of the CQ, or with the next post to a queue of it; so
 * whoever arms must poll before it waits.
 */
#include <poll.h>
#include <pthread.h>

#include "lib/ionic_test.h"

/**
 * struct scene - messages from A to B, whose receive CQ has a channel
 */
struct scene {
	struct ibv_comp_channel *channel;
	struct cq *cq;
	struct duo duo;
	struct buffer *from, *to;
};

static void scene_fill(struct scene *scene, int vector)
{
	struct cq_options cq = { .channel = scene->channel, .vector = vector };
	struct endpoint_options a = {}, b = {};

	scene->cq = cq_new(peer, 64, &cq);
	b.recv_cq = scene->cq;
	scene->duo = duo_new2(&a, &b);
	scene->from = buffer_new(scene->duo.a->pd, 64, 0);
	scene->to = buffer_new(scene->duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
}

static struct scene scene_new(int vector)
{
	struct scene scene = { .channel = channel_new(peer) };

	scene_fill(&scene, vector);
	return scene;
}

static void send_message(struct scene *scene, unsigned int flags)
{
	struct work work = send_work(&scene->duo.to_b, 1, scene->from, 0, 8);

	work.extra_flags = flags;
	post_one(scene->duo.a, &work);
	cq_wait_many(scene->duo.a->send_cq, 1);
}

/* one message; its receive completion is there */
static void message(struct scene *scene)
{
	post_recv_one(scene->duo.b, 2, scene->to, 0, 8);
	send_message(scene, 0);
}

/* the next completion, or the next solicited one; the CQ must be empty */
static void arm(struct scene *scene, int solicited)
{
	REQUIRE(!ibv_req_notify_cq(scene->cq->cq, solicited));
	CHECK(cq_quiet(scene->cq, 0));
}

static void one_event(struct scene *scene)
{
	arm(scene, 0);
	CHECK(!cq_event(scene->cq, QUIET_MS));
	message(scene);
	CHECK(cq_event(scene->cq, PATIENCE_MS));
	cq_wait_many(scene->cq, 1);
	CHECK(!cq_event(scene->cq, QUIET_MS));
}

/* queue pairs are put on the pipelines in turn */
IONIC_TEST(event_comes)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct scene scene = scene_new(0);

		for (unsigned int n = 0; n < 3; n++)
			one_event(&scene);
	}
}

/* an arm is rung when the CQ is polled: the adapter does not hear of it before */
IONIC_TEST(arm_is_rung_by_polling)
{
	struct scene scene = scene_new(0);
	struct model_stats before;

	need_model();
	model_stats(peer->model, &before);
	REQUIRE(!ibv_req_notify_cq(scene.cq->cq, 0));
	CHECK_EQ(model_delta(peer->model, &before, "cq_arms"), 0);
	CHECK(cq_quiet(scene.cq, 0));
	/* of both pipelines */
	CHECK_EQ(model_delta(peer->model, &before, "cq_arms"), 2);
}

IONIC_TEST(every_vector)
{
	printf("# %d vectors\n", peer->context->num_comp_vectors);
	CHECK(peer->context->num_comp_vectors >= 1);
	for (int i = 0; i < peer->context->num_comp_vectors; i++) {
		struct scene scene = scene_new(i);

		one_event(&scene);
		lab_drop_all();
	}
}

IONIC_TEST(vector_out_of_range)
{
	struct ibv_comp_channel *channel = channel_new(self);

	CHECK(!ibv_create_cq(self->context, 16, NULL, channel, self->context->num_comp_vectors));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_create_cq(self->context, 16, NULL, channel, -1));
	CHECK_EQ(errno, EINVAL);
}

IONIC_TEST(no_event_without_arming)
{
	struct scene scene = scene_new(0);

	message(&scene);
	CHECK(!cq_event(scene.cq, QUIET_MS));
	cq_wait_many(scene.cq, 1);
	CHECK(!cq_event(scene.cq, QUIET_MS));
}

IONIC_TEST(one_event_for_one_arming)
{
	struct scene scene = scene_new(0);

	arm(&scene, 0);
	for (unsigned int i = 0; i < 10; i++)
		message(&scene);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	CHECK(!cq_event(scene.cq, QUIET_MS));
	cq_wait_many(scene.cq, 10);
}

/* the message that is polled with the arm is seen by the poll; the next one by the event */
IONIC_TEST(armed_too_late)
{
	struct scene scene = scene_new(0);

	for (unsigned int i = 0; i < 20; i++) {
		message(&scene);
		REQUIRE(!ibv_req_notify_cq(scene.cq->cq, 0));
		cq_wait_many(scene.cq, 1);
		CHECK(cq_quiet(scene.cq, 0));
		message(&scene);
		CHECK(cq_event(scene.cq, PATIENCE_MS));
		cq_wait_many(scene.cq, 1);
		while (cq_event(scene.cq, 0))
			;
	}
}

IONIC_TEST(solicited_only)
{
	struct scene scene = scene_new(0);

	arm(&scene, 1);
	message(&scene);
	CHECK(!cq_event(scene.cq, QUIET_MS));
	post_recv_one(scene.duo.b, 2, scene.to, 0, 8);
	send_message(&scene, IBV_SEND_SOLICITED);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	cq_wait_many(scene.cq, 2);
}

/* an error is always worth an event: here the flush */
IONIC_TEST(event_of_a_flush)
{
	for (int solicited = 0; solicited < 2; solicited++) {
		struct scene scene = scene_new(0);

		post_recv_one(scene.duo.b, 2, scene.to, 0, 8);
		arm(&scene, solicited);
		REQUIRE(!endpoint_modify(scene.duo.b, IBV_QPS_ERR));
		CHECK(cq_event(scene.cq, PATIENCE_MS));
		expect_status(scene.cq, 2, IBV_WC_WR_FLUSH_ERR);
	}
}

/* ---- races ----------------------------------------------------------------------------------- */

enum { STREAM = 300 };

static void *stream(void *arg)
{
	struct scene *scene = arg;
	uint32_t random = 1;

	for (unsigned int i = 0; i < STREAM; i++) {
		struct work work = send_work(&scene->duo.to_b, 1, scene->from, 0, 8);
		struct completion completion;
		uint64_t end = now_ms() + PATIENCE_MS;

		if (post(scene->duo.a, &work, 1))
			return "post";
		while (!cq_take(scene->duo.a->send_cq, &completion))
			if (now_ms() > end)
				return "no completion";
		if (completion.status != IBV_WC_SUCCESS)
			return "error completion";
		/* long enough for the receiver to find nothing and wait, or nearly */
		if (lab_random(&random) % 3 == 0)
			sleep_ms(1);
		for (uint32_t n = lab_random(&random) % 2000; n; n--)
			__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

/* what every program does: arm, poll until empty, wait; a completion lost between is a hang */
IONIC_TEST(none_lost_between_poll_and_arm)
{
	unsigned int received = 0, events = 0;
	struct scene scene = scene_new(0);
	struct completion completion;
	pthread_t sender;
	void *failure;

	for (unsigned int i = 0; i < 32; i++)
		post_recv_one(scene.duo.b, i, scene.to, 0, 8);
	arm(&scene, 0);
	REQUIRE(!pthread_create(&sender, NULL, stream, &scene));
	while (received < STREAM) {
		if (!cq_event(scene.cq, PATIENCE_MS))
			break;
		events++;
		REQUIRE(!ibv_req_notify_cq(scene.cq->cq, 0));
		while (cq_take(scene.cq, &completion)) {
			received++;
			post_recv_one(scene.duo.b, 1, scene.to, 0, 8);
		}
	}
	pthread_join(sender, &failure);
	CHECK_STR(failure ? (char *)failure : "", "");
	CHECK_EQ(received, STREAM);
	printf("# %u events for %u completions\n", events, received);
}

/* ---- several CQs ----------------------------------------------------------------------------- */

IONIC_TEST(many_cqs_on_one_channel)
{
	enum { CQS = 6 };
	struct ibv_comp_channel *channel = channel_new(peer);
	struct scene scene[CQS];
	unsigned int seen = 0;

	for (unsigned int i = 0; i < CQS; i++) {
		scene[i].channel = channel;
		scene_fill(&scene[i], 0);
		arm(&scene[i], 0);
	}
	for (unsigned int i = 0; i < CQS; i += 2)
		message(&scene[i]);
	for (unsigned int n = 0; n < CQS / 2; n++) {
		struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
		struct ibv_cq *cq;
		void *context;
		unsigned int i = 0;

		REQUIRE(poll(&pollfd, 1, PATIENCE_MS) == 1);
		REQUIRE(!ibv_get_cq_event(channel, &cq, &context));
		while (i < CQS && scene[i].cq->cq != cq)
			i++;
		REQUIRE(i < CQS);
		CHECK(context == scene[i].cq);
		seen |= 1u << i;
		cq_wait_many(scene[i].cq, 1);
		ibv_ack_cq_events(cq, 1);
	}
	CHECK_EQ(seen, 0x15);
	CHECK(!cq_event(scene[0].cq, QUIET_MS));
}

/* the events of a CQ that was destroyed do not come for another one */
IONIC_TEST(armed_cq_destroyed)
{
	for (unsigned int i = 0; i < 20; i++) {
		struct scene scene = scene_new(0);

		CHECK(!cq_event(scene.cq, 0));
		arm(&scene, 0);
		if (i & 1)
			message(&scene);
		/* with an event nobody has fetched, half of the time */
		lab_drop_all();
	}
}

IONIC_TEST_MAIN
