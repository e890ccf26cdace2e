// SPDX-License-Identifier: GPL-2.0
/*
 * Completion events: one for each arming, for the right CQ, on every vector, none lost between
 * polling and arming, none left behind.
 *
 * libionic rings an arm with the next poll of the CQ, or with the next post to a queue of it; so
 * whoever arms must poll before it waits, as it should anyway.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "lib/adapter_test.h"
#include "lib/memory.h"
#include "lib/stall.h"
#include "lib/uverbs.h"

/**
 * struct scene - messages from A to B, whose receive CQ has a channel
 */
struct scene {
	struct ibv_comp_channel *channel;
	struct cq *cq;
	struct duo duo;
	struct buffer *from, *to;
};

static void scene_fill(struct scene *scene, enum cq_kind kind, int vector)
{
	struct cq_options cq = { .kind = kind, .channel = scene->channel, .vector = vector };
	struct endpoint_options a = {}, b = {};

	scene->cq = cq_new(peer, 64, &cq);
	b.recv_cq = scene->cq;
	scene->duo = duo_new2(&a, &b);
	scene->from = buffer_new(scene->duo.a->pd, 64, 0);
	scene->to = buffer_new(scene->duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
}

static struct scene scene_new(enum cq_kind kind, int vector)
{
	struct scene scene = { .channel = channel_new(peer) };

	scene_fill(&scene, kind, vector);
	return scene;
}

static void send_message(struct scene *scene, unsigned int flags)
{
	struct work work = send_work(&scene->duo.to_b, 1, scene->from, 0, 8);

	work.extra_flags = flags;
	post_one(scene->duo.a, &work);
	cq_wait_many(scene->duo.a->send_cq, 1);
}

/* one message; its receive completion is there, or will be in no time */
static void message(struct scene *scene)
{
	post_recv_one(scene->duo.b, 2, scene->to, 0, 8);
	send_message(scene, 0);
}

static void arm_for(struct scene *scene, int solicited)
{
	int err = ibv_req_notify_cq(scene->cq->cq, solicited);

	REQUIRE(!err);
	if (self->kind == ADAPTER_IONIC)
		CHECK(cq_quiet(scene->cq, 0));
}

static void arm(struct scene *scene)
{
	arm_for(scene, 0);
}

static void one_event(struct scene *scene)
{
	arm(scene);
	CHECK(!cq_event(scene->cq, QUIET_MS));
	message(scene);
	CHECK(cq_event(scene->cq, PATIENCE_MS));
	cq_wait_many(scene->cq, 1);
	CHECK(!cq_event(scene->cq, QUIET_MS));
}

ADAPTER_TEST(event_comes)
{
	struct scene scene;

	need_events();
	/* ionic puts queue pairs on its pipelines in turn */
	for (unsigned int n = 0; n < 4; n++) {
		scene = scene_new(CQ_PLAIN, 0);
		for (unsigned int i = 0; i < 3; i++)
			one_event(&scene);
	}
}

/* Events come late, twice or in the name of others. What another driver makes of an ionic that does so is its own. */
static void need_odd_events(void)
{
	need_model();
	need_events();
	if (self->kind == ADAPTER_IONIC && !self->dvq)
		SKIP("is about dvq_ionic");
}

/* interrupts of the EQ, or the EQs, of vector 0; none is caused by an event */
static void interrupt(unsigned int count)
{
	if (peer->kind == ADAPTER_IONIC)
		model_ask(peer->model, "irq count=%u", count);
	else
		model_ask(peer->model, "irq vector=1 count=%u", count);
}

/* The event of a message is spoilt: it does not come. */
static struct scene without_its_event(const char *injection)
{
	struct scene scene;

	need_odd_events();
	scene = scene_new(CQ_PLAIN, 0);
	arm(&scene);
	model_ask(peer->model, "%s", injection);
	message(&scene);
	cq_wait_many(scene.cq, 1);
	CHECK(!cq_event(scene.cq, QUIET_MS));
	return scene;
}

/* An EQ whose interrupt is lost stays silent until something else raises its vector. */
ADAPTER_TEST(event_whose_interrupt_is_lost)
{
	struct scene scene = without_its_event("inject op=eq_irq action=drop");

	interrupt(1);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	one_event(&scene);
}

/* An ionic says so again with the next event, whose handler finds both. */
ADAPTER_TEST(event_whose_interrupt_is_lost_for_good)
{
	unsigned int events = 0;
	struct scene scene;

	need_ionic();
	scene = without_its_event("inject op=eq_irq action=drop");
	arm(&scene);
	message(&scene);
	while (events < 2 && cq_event(scene.cq, PATIENCE_MS))
		events++;
	CHECK_EQ(events, 2);
	cq_wait_many(scene.cq, 1);
	one_event(&scene);
}

/* One for a CQ that does not exist is no event; the next one comes. */
ADAPTER_TEST(event_of_an_unknown_cq)
{
	struct scene scene = without_its_event("inject op=eq_entry action=corrupt");

	one_event(&scene);
}

/* In the middle of traffic; no event comes of them. */
ADAPTER_TEST(interrupts_without_an_event)
{
	struct scene scene;

	need_odd_events();
	scene = scene_new(CQ_PLAIN, 0);
	for (unsigned int i = 0; i < 5; i++) {
		interrupt(20);
		CHECK(!cq_event(scene.cq, 0));
		one_event(&scene);
	}
}

ADAPTER_TEST(event_of_extended_cq)
{
	struct scene scene;

	need_events();
	scene = scene_new(CQ_EXTENDED, 0);
	for (unsigned int i = 0; i < 5; i++)
		one_event(&scene);
}

ADAPTER_TEST(every_vector)
{
	need_events();
	printf("# %d vectors\n", peer->context->num_comp_vectors);
	CHECK(peer->context->num_comp_vectors >= 1);
	for (int i = 0; i < peer->context->num_comp_vectors; i++) {
		struct scene scene = scene_new(CQ_PLAIN, i);

		one_event(&scene);
		lab_drop_all();
	}
}

ADAPTER_TEST(vector_out_of_range)
{
	struct ibv_comp_channel *channel;

	need_events();
	channel = channel_new(self);
	CHECK(!ibv_create_cq(self->context, 16, NULL, channel, self->context->num_comp_vectors));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_create_cq(self->context, 16, NULL, channel, -1));
	CHECK_EQ(errno, EINVAL);
}

/* without arming there is none, and one arming is for one event, however many completions */
ADAPTER_TEST(one_event_for_one_arming)
{
	struct scene scene;

	need_events();
	scene = scene_new(CQ_PLAIN, 0);
	message(&scene);
	CHECK(!cq_event(scene.cq, QUIET_MS));
	cq_wait_many(scene.cq, 1);
	arm(&scene);
	for (unsigned int i = 0; i < 10; i++)
		message(&scene);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	CHECK(!cq_event(scene.cq, QUIET_MS));
	cq_wait_many(scene.cq, 10);
}

/* armed twice is armed once */
ADAPTER_TEST(armed_twice)
{
	struct scene scene;

	need_events();
	scene = scene_new(CQ_PLAIN, 0);
	arm(&scene);
	arm(&scene);
	message(&scene);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	CHECK(!cq_event(scene.cq, QUIET_MS));
	cq_wait_many(scene.cq, 1);
}

/* armed when completions are there that nobody has polled: at once; libionic's way is below */
ADAPTER_TEST(armed_too_late)
{
	struct scene scene;

	need_efa();
	need_events();
	scene = scene_new(CQ_PLAIN, 0);
	for (unsigned int i = 0; i < 20; i++) {
		message(&scene);
		sleep_ms(2);
		arm(&scene);
		CHECK(cq_event(scene.cq, PATIENCE_MS));
		cq_wait_many(scene.cq, 1);
	}
}

/* only "next completion" arming exists on EFA */
ADAPTER_TEST(solicited_only_refused)
{
	struct scene scene;

	need_efa();
	need_events();
	scene = scene_new(CQ_PLAIN, 0);
	CHECK_EQ(ibv_req_notify_cq(scene.cq->cq, 1), EOPNOTSUPP);
}

/* ---- of ionic ------------------------------------------------------------ */

/* an arm is rung when the CQ is polled: the adapter does not hear of it before */
ADAPTER_TEST(arm_is_rung_by_polling)
{
	struct model_stats before;
	struct scene scene;

	need_ionic();
	need_model();
	scene = scene_new(CQ_PLAIN, 0);
	model_stats(peer->model, &before);
	REQUIRE(!ibv_req_notify_cq(scene.cq->cq, 0));
	CHECK_EQ(model_delta(peer->model, &before, "cq_arms"), 0);
	CHECK(cq_quiet(scene.cq, 0));
	/* of both pipelines */
	CHECK_EQ(model_delta(peer->model, &before, "cq_arms"), 2);
}

ADAPTER_TEST(solicited_only)
{
	struct scene scene;

	need_ionic();
	scene = scene_new(CQ_PLAIN, 0);
	arm_for(&scene, 1);
	message(&scene);
	CHECK(!cq_event(scene.cq, QUIET_MS));
	post_recv_one(scene.duo.b, 2, scene.to, 0, 8);
	send_message(&scene, IBV_SEND_SOLICITED);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
	cq_wait_many(scene.cq, 2);
}

/* an error is always worth an event: here the flush */
ADAPTER_TEST(event_of_a_flush)
{
	need_ionic();
	for (int solicited = 0; solicited < 2; solicited++) {
		struct scene scene = scene_new(CQ_PLAIN, 0);
		struct completion completion;

		post_recv_one(scene.duo.b, 2, scene.to, 0, 8);
		arm_for(&scene, solicited);
		REQUIRE(!endpoint_modify(scene.duo.b, IBV_QPS_ERR));
		CHECK(cq_event(scene.cq, PATIENCE_MS));
		cq_wait(scene.cq, &completion);
		CHECK_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
	}
}

/* the message that is polled with the arm is seen by the poll; the next one by the event */
ADAPTER_TEST(polled_with_the_arm)
{
	struct scene scene;

	need_ionic();
	scene = scene_new(CQ_PLAIN, 0);
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

/* ---- races --------------------------------------------------------------- */

enum { STREAM = 400 };

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
ADAPTER_TEST(none_lost_between_poll_and_arm)
{
	unsigned int received = 0, events = 0;
	struct completion completion;
	struct scene scene;
	pthread_t sender;
	void *failure;

	need_events();
	scene = scene_new(CQ_PLAIN, 0);
	for (unsigned int i = 0; i < 64; i++)
		post_recv_one(scene.duo.b, i, scene.to, 0, 8);
	/* SRD would complain of a receiver that is not ready */
	if (self->kind == ADAPTER_EFA) {
		REQUIRE(adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY));
		scene.duo.a = endpoint_new(self, &(struct endpoint_options) {
			.rnr_retry = RNR_RETRY(7), .pd = scene.duo.a->pd });
	}
	arm(&scene);
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
	/* one when it is written, and one at once for an arm that was told before it was polled */
	CHECK(events <= 2 * STREAM + 1);
}

/* ---- several CQs --------------------------------------------------------- */

/* one channel, one vector, many CQs: each event names its own */
ADAPTER_TEST(many_cqs_on_one_channel)
{
	enum { CQS = 6 };
	struct scene scene[CQS];
	struct ibv_comp_channel *channel;
	unsigned int seen = 0;

	need_events();
	channel = channel_new(peer);
	for (unsigned int i = 0; i < CQS; i++) {
		scene[i].channel = channel;
		scene_fill(&scene[i], CQ_PLAIN, 0);
		arm(&scene[i]);
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
		CHECK(!(i & 1));
		seen |= 1u << i;
		cq_wait_many(scene[i].cq, 1);
		ibv_ack_cq_events(cq, 1);
	}
	CHECK_EQ(seen, 0x15);
	CHECK(!cq_event(scene[0].cq, QUIET_MS));
}

/* one vector, two channels */
ADAPTER_TEST(two_channels_on_one_vector)
{
	struct scene one, two;

	need_events();
	one = scene_new(CQ_PLAIN, 0);
	two = scene_new(CQ_PLAIN, 0);
	arm(&one);
	arm(&two);
	message(&two);
	CHECK(cq_event(two.cq, PATIENCE_MS));
	CHECK(!cq_event(one.cq, QUIET_MS));
	message(&one);
	CHECK(cq_event(one.cq, PATIENCE_MS));
	CHECK(!cq_event(two.cq, QUIET_MS));
	cq_wait_many(one.cq, 1);
	cq_wait_many(two.cq, 1);
}

struct destruction {
	struct cq *cq;
	volatile bool done;
};

static void *destroy(void *arg)
{
	struct destruction *destruction = arg;
	int err = ibv_destroy_cq(destruction->cq->cq);

	destruction->done = true;
	return (void *)(intptr_t)err;
}

/* An event that comes while the device is asked to destroy the CQ is not lost when it refuses. */
ADAPTER_TEST(event_while_destruction_is_refused)
{
	struct destruction destruction;
	struct scene scene;
	pthread_t thread;
	void *err;

	if (!self->dvq)
		SKIP("is about dvq: another driver may let go of the CQ nevertheless");
	scene = without_its_event("inject op=eq_irq action=drop");
	destruction = (struct destruction){ .cq = scene.cq };
	REQUIRE(!endpoint_destroy(scene.duo.b));
	model_ask(peer->model, "inject op=destroy_cq action=fail status=7");
	model_at_end(peer->model, "cont");
	model_ask(peer->model, "stop");
	REQUIRE(!pthread_create(&thread, NULL, destroy, &destruction));
	sleep_ms(200);
	CHECK(!destruction.done);
	interrupt(1);
	model_ask(peer->model, "cont");
	pthread_join(thread, &err);
	CHECK_EQ((intptr_t)err, peer->kind == ADAPTER_IONIC ? EIO : EBUSY);
	CHECK(cq_event(scene.cq, PATIENCE_MS));
}

/* the events of a CQ that was destroyed do not come for the one that got its number */
ADAPTER_TEST(armed_cq_destroyed)
{
	need_events();
	for (unsigned int i = 0; i < 34; i++) {
		struct scene scene = scene_new(CQ_PLAIN, 0);

		/* quickly, so that its predecessor's may just be coming; then with time for it to come */
		CHECK(!cq_event(scene.cq, i < 30 ? 0 : QUIET_MS));
		arm(&scene);
		if (i & 1)
			message(&scene);
		/* with an event nobody has fetched, half of the time */
		lab_drop_all();
	}
}

/* ---- acknowledging ------------------------------------------------------- */

/* destroying waits for the acknowledgement of events that were fetched */
ADAPTER_TEST(destroy_waits_for_acknowledgement)
{
	struct destruction destruction = { 0 };
	struct ibv_comp_channel *channel;
	struct endpoint *a, *b;
	struct buffer *from, *to;
	struct ibv_cq *cq;
	struct work work;
	struct route to_b;
	pthread_t thread;
	void *context, *err;

	need_events();
	channel = channel_new(peer);
	destruction.cq = cq_new(peer, 16, &(struct cq_options) { .channel = channel });
	a = endpoint_new(self, NULL);
	b = endpoint_new(peer, &(struct endpoint_options) { .recv_cq = destruction.cq });
	from = buffer_new(a->pd, 8, 0);
	to = buffer_new(b->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	to_b = route_new(a, b);
	route_new(b, a);
	work = send_work(&to_b, 1, from, 0, 8);
	REQUIRE(!ibv_req_notify_cq(destruction.cq->cq, 0));
	CHECK(cq_quiet(destruction.cq, 0));
	post_recv_one(b, 1, to, 0, 8);
	post_one(a, &work);
	REQUIRE(!ibv_get_cq_event(channel, &cq, &context));
	REQUIRE(!endpoint_destroy(b));
	REQUIRE(!pthread_create(&thread, NULL, destroy, &destruction));
	sleep_ms(100);
	CHECK(!destruction.done);
	ibv_ack_cq_events(cq, 1);
	pthread_join(thread, &err);
	CHECK_EQ((intptr_t)err, 0);
	CHECK(destruction.done);
	lab_forget(destruction.cq);
	free(destruction.cq);
}

ADAPTER_TEST(channel_in_use)
{
	struct ibv_comp_channel *channel;
	struct cq *cq;

	need_events();
	channel = channel_new(self);
	cq = cq_new(self, 16, &(struct cq_options) { .channel = channel });
	CHECK_EQ(ibv_destroy_comp_channel(channel), EBUSY);
	CHECK_EQ(cq_destroy(cq), 0);
}

/* ---- events of CQs that are not there yet, or not there -------------------- */

static void need_our_driver(void)
{
	need_model();
	need_events();
	if (!self->dvq)
		SKIP("is about dvq's drivers");
}

/* a CQ by the library, what the adapter calls it, and the channel of its events */
struct witness {
	struct ibv_comp_channel *channel;
	struct cq *cq;
	unsigned int numbers[2], n;
};

static struct witness witness_new(int vector)
{
	struct witness witness = { .channel = channel_new(self) };
	char before[4096];

	snprintf(before, sizeof(before), "%s", model_ask(self->model, "cqs"));
	witness.cq = cq_new(self, 16, &(struct cq_options) {
		.channel = witness.channel, .vector = vector,
	});
	witness.n = model_new(self->model, "cqs", before, witness.numbers, 2);
	REQUIRE(witness.n);
	return witness;
}

static void send_event(unsigned int number, unsigned int code)
{
	if (self->kind == ADAPTER_IONIC)
		model_ask(self->model, "event cq=%u code=%u", number, code);
	else
		model_ask(self->model, "event cq=%u", number);
}

/* Every event that its EQs got before has been looked at. */
static void witness_all(const struct witness *witness)
{
	for (unsigned int i = 0; i < witness->n; i++) {
		send_event(witness->numbers[i], 0);
		CHECK(cq_event(witness->cq, PATIENCE_MS));
	}
}

/* a creation whose answer goes to a stall */
struct late_cq {
	struct raw *raw;
	struct memory *memory;
	uint32_t channel, async;
	struct dvq_efa_cq_req efa;
	struct dvq_ionic_cq_req ionic;
	struct uv_call call;
	int err;
};

static uint32_t raw_channel(const struct raw *raw)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct ib_uverbs_create_comp_channel in = {};
	int err = uv_write(raw->fd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), &resp,
			   sizeof(resp), NULL);

	LAB_NEED(!err, "channel: %s", strerror(-err));
	return resp.fd;
}

static void late_cq_prepare(struct late_cq *late, const struct stall *stall)
{
	struct uv_data data = { .out = stall->page };
	struct dvq_ionic_ctx_resp context;

	if (self->kind == ADAPTER_EFA) {
		late->raw = raw_new(self);
		late->efa = raw_cq_req(late->raw);
		late->efa.flags = DVQ_EFA_CQ_CHANNEL;
		data.in = &late->efa;
		data.in_len = sizeof(late->efa);
		data.out_len = sizeof(struct dvq_efa_cq_resp);
	} else {
		late->raw = raw_new_ionic(self, &context);
		late->memory = memory_plain(2);
		late->ionic.udma_mask = 3;
		for (unsigned int i = 0; i < 2; i++)
			late->ionic.ring[i] = (struct dvq_ionic_ring) {
				.addr = (uintptr_t)late->memory->base + i * PAGE, .size = PAGE,
				.mask = 127, .depth_log2 = 7, .stride_log2 = 5,
			};
		data.in = &late->ionic;
		data.in_len = sizeof(late->ionic);
		data.out_len = sizeof(struct dvq_ionic_cq_resp);
	}
	late->channel = raw_channel(late->raw);
	late->async = raw_async(late->raw);
	raw_cq_start(&late->call, 64, &data);
	uv_handle(&late->call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, late->channel);
	uv_handle(&late->call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, late->async);
}

static void *late_cq_create(void *arg)
{
	struct late_cq *late = arg;

	late->err = uv_run(late->raw->fd, &late->call);
	return NULL;
}

/*
 * The adapter has the CQ, the process has not yet, and then will not have it: by whoever arms it, as its number can be
 * guessed, or by an adapter that lies, events come meanwhile. They would be left in the channel when the CQ is gone.
 */
ADAPTER_TEST(events_of_a_cq_whose_creation_fails)
{
	struct witness witness;
	unsigned int numbers[2], n;
	struct late_cq late = {};
	struct stall *stall;
	char before[4096];
	pthread_t thread;

	need_our_driver();
	stall = stall_new();
	if (!stall)
		SKIP("the kernel has no userfaultfd (CONFIG_USERFAULTFD)");
	witness = witness_new(0);
	late_cq_prepare(&late, stall);
	snprintf(before, sizeof(before), "%s", model_ask(self->model, "cqs"));
	REQUIRE(!pthread_create(&thread, NULL, late_cq_create, &late));
	stall_reached(stall);
	n = model_new(self->model, "cqs", before, numbers, 2);
	CHECK_EQ(n, self->kind == ADAPTER_IONIC ? 2 : 1);
	for (unsigned int i = 0; i < n; i++) {
		send_event(numbers[i], 0);
		if (self->kind == ADAPTER_IONIC)
			send_event(numbers[i], 8);	/* broken */
	}
	witness_all(&witness);
	CHECK(!fd_is_readable(late.channel, 0));
	CHECK(!fd_is_readable(late.async, 0));
	stall_fail(stall);
	pthread_join(thread, NULL);
	CHECK_EQ(late.err, -EFAULT);
	CHECK_EQ(model_new(self->model, "cqs", before, numbers, 2), 0);
	close(late.channel);
	close(late.async);
}

/* One that the adapter has told, but for which no interrupt has come, is not the next CQ's with that number. */
ADAPTER_TEST(event_of_the_predecessor)
{
	struct witness first, second;

	need_efa();
	need_our_driver();
	first = witness_new(0);
	model_ask(self->model, "inject op=eq_irq action=drop");
	send_event(first.numbers[0], 0);
	REQUIRE(!cq_destroy(first.cq));
	second = witness_new(0);
	if (second.numbers[0] != first.numbers[0])
		SKIP("the adapter gives the number to nobody: give the model's qpn_reuse=1");
	model_ask(self->model, "irq vector=1 count=1");
	witness_all(&second);
	CHECK(!fd_is_readable(second.channel->fd, QUIET_MS));
}

/* Whoever destroys a CQ waits for the handler of its own EQ only. */
ADAPTER_TEST(event_on_the_eq_of_others)
{
	struct witness here, there;
	uint64_t eq;

	need_efa();
	need_our_driver();
	if (self->context->num_comp_vectors < 2)
		SKIP("needs two vectors");
	here = witness_new(0);
	there = witness_new(1);
	REQUIRE(model_find(model_ask(self->model, "cq %u", there.numbers[0]), "eq", &eq));
	model_ask(self->model, "event cq=%u eq=%u", here.numbers[0], (unsigned int)eq);
	witness_all(&there);
	CHECK(!fd_is_readable(here.channel->fd, 0));
	witness_all(&here);
	CHECK(!fd_is_readable(there.channel->fd, 0));
}

/* ---- again and again (F-11) ---------------------------------------------- */

static unsigned int mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int lines = 0;
	int c;

	REQUIRE(maps);
	while ((c = getc(maps)) != EOF)
		lines += c == '\n';
	fclose(maps);
	return lines;
}

/* what an open context maps is given back when it is closed */
ADAPTER_TEST(f11_open_and_close_with_channel)
{
	enum { ROUNDS = 300 };
	unsigned int before = 0;

	need_events();
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct adapter adapter = *self;
		struct ibv_comp_channel *channel;
		struct ibv_cq *cq[3];

		/* what the libraries allocate once is allocated by now */
		if (i == 10)
			before = mappings();
		if (i == 12 && self->kind == ADAPTER_EFA && libefa_release() < 56 && mappings() > before)
			SKIP("this libefa leaves mappings behind by itself");
		adapter_open(&adapter);
		channel = ibv_create_comp_channel(adapter.context);
		REQUIRE(channel);
		/* several, so that doorbells lie at other places than the page's beginning */
		for (unsigned int j = 0; j < 3; j++) {
			cq[j] = ibv_create_cq(adapter.context, 16, NULL, channel, 0);
			REQUIRE(cq[j]);
			REQUIRE(!ibv_req_notify_cq(cq[j], 0));
		}
		for (unsigned int j = 0; j < 3; j++)
			REQUIRE(!ibv_destroy_cq(cq[j]));
		REQUIRE(!ibv_destroy_comp_channel(channel));
		adapter_close(&adapter);
	}
	CHECK_EQ(mappings(), before);
}

/* ---- asynchronous events ------------------------------------------------- */

/* EFA has none for QPs and CQs: errors are told by completions alone */
ADAPTER_TEST(no_asynchronous_event)
{
	struct pollfd pollfd = { .fd = self->context->async_fd, .events = POLLIN };
	struct endpoint *endpoint;

	need_efa();
	endpoint = endpoint_new(self, NULL);
	REQUIRE(!endpoint_modify(endpoint, IBV_QPS_ERR));
	REQUIRE(!endpoint_destroy(endpoint));
	CHECK_EQ(poll(&pollfd, 1, QUIET_MS), 0);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
