// SPDX-License-Identifier: GPL-2.0
/*
 * Much of everything on ionic: rings of all sizes wrap, lists are posted in one go, queue pairs of
 * both pipelines share CQs, both sides talk at once, and what was not polled when its queue pair
 * went does no harm.
 */
#include "lib/ionic_test.h"

#define SLOT	128

/**
 * struct stream - messages from A to B, of which each carries its number
 *
 * @depth: of the queues, and the slots in each buffer
 */
struct stream {
	struct duo duo;
	struct buffer *from, *to;
	unsigned int depth, posted, sent, arrived;
};

static struct stream stream_new(enum transport transport, unsigned int depth)
{
	struct stream stream = {
		.duo = duo_new(&(struct endpoint_options) {
			.transport = transport, .send_wr = depth, .recv_wr = depth,
			.send_sge = 1, .recv_sge = 1 }),
		.depth = depth,
	};

	stream.from = buffer_new(stream.duo.a->pd, depth * SLOT, 0);
	stream.to = buffer_new(stream.duo.b->pd, depth * SLOT, IBV_ACCESS_LOCAL_WRITE);
	return stream;
}

static void send_list(struct stream *stream, unsigned int n)
{
	struct work work[n];

	for (unsigned int i = 0; i < n; i++) {
		unsigned int number = stream->posted + i, slot = number % stream->depth;

		memcpy(stream->from->data + slot * SLOT, &number, sizeof(number));
		work[i] = send_work(&stream->duo.to_b, number, stream->from, slot * SLOT, 8);
		post_recv_one(stream->duo.b, number, stream->to, slot * SLOT, SLOT);
	}
	REQUIRE(!post(stream->duo.a, work, n));
	stream->posted += n;
}

static void take_all(struct stream *stream)
{
	struct completion completion;
	unsigned int number;

	for (; stream->sent < stream->posted; stream->sent++) {
		cq_wait(stream->duo.a->send_cq, &completion);
		completion_expect_success(&completion);
		LAB_NEED(completion.id == stream->sent, "send %llu instead of %u",
			 (unsigned long long)completion.id, stream->sent);
	}
	for (; stream->arrived < stream->posted; stream->arrived++) {
		cq_wait(stream->duo.b->recv_cq, &completion);
		completion_expect_success(&completion);
		memcpy(&number, stream->to->data + completion.id % stream->depth * SLOT +
		       stream->duo.header, sizeof(number));
		LAB_NEED(completion.id == stream->arrived && number == stream->arrived,
			 "message %u in receive %llu instead of %u", number,
			 (unsigned long long)completion.id, stream->arrived);
	}
}

/* around the power of two that a ring is made of, in lists of all lengths */
IONIC_TEST_BOTH(rings_wrap)
{
	static const unsigned int depths[] = { 1, 2, 63, 64, 100 };
	uint32_t random = 5;

	allow_seconds(240);
	for (unsigned int i = 0; i < 5; i++) {
		struct stream stream = stream_new(transport, depths[i]);

		while (stream.posted < 300) {
			send_list(&stream, 1 + lab_random(&random) % depths[i]);
			take_all(&stream);
		}
	}
}

/* more than an index of 16 bits counts; one completion in 64 */
IONIC_TEST(counts_pass_16_bits)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .send_wr = 128, .send_sge = 1 });
	struct buffer *from = buffer_new(duo.a->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	struct buffer *to = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	uint64_t sum = 0;

	allow_seconds(300);
	for (unsigned int i = 0; i < 66000 / 64; i++) {
		struct work work[64];

		for (unsigned int j = 0; j < 64; j++) {
			work[j] = rdma_work(IBV_WR_RDMA_WRITE, &duo.to_b, i, from, 0, 8, to, 0);
			work[j].unsignalled = j < 63;
		}
		*(uint64_t *)from->data = ++sum;
		REQUIRE(!post(duo.a, work, 64));
		expect_status(duo.a->send_cq, i, IBV_WC_SUCCESS);
		LAB_NEED(*(uint64_t *)to->data == sum, "round %u", i);
	}
}

IONIC_TEST(largest_queues)
{
	unsigned int most = self->attr.max_qp_wr;
	struct duo duo = duo_new(&(struct endpoint_options) {
		.send_wr = most, .recv_wr = most, .send_sge = 1, .recv_sge = 1,
		.cq_depth = self->attr.max_cqe });
	struct buffer *from = buffer_new(duo.a->pd, 64, 0);
	struct buffer *to = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);

	CHECK_EQ(duo.a->cap.max_send_wr, most);
	CHECK_EQ(duo.b->cap.max_recv_wr, most);
	for (unsigned int i = 0; i < 100; i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, 8);

		post_recv_one(duo.b, i, to, 0, 8);
		post_one(duo.a, &work);
		expect_status(duo.a->send_cq, i, IBV_WC_SUCCESS);
		expect_status(duo.b->recv_cq, i, IBV_WC_SUCCESS);
	}
}

/* ---- shared CQs ------------------------------------------------------------------------------ */

enum { PAIRS = 8 };

struct crowd {
	struct cq *a, *b;
	struct duo duo[PAIRS];
	struct buffer *from, *to;
};

/* @n pairs whose completions all come to one CQ on each side */
static struct crowd crowd_new(void)
{
	struct crowd crowd = { .a = cq_new(self, 512, NULL), .b = cq_new(peer, 512, NULL) };
	struct ibv_pd *a = pd_new(self), *b = pd_new(peer);

	for (unsigned int i = 0; i < PAIRS; i++)
		crowd.duo[i] = duo_new2(
			&(struct endpoint_options) { .send_cq = crowd.a, .pd = a },
			&(struct endpoint_options) { .send_cq = crowd.b, .pd = b });
	crowd.from = buffer_new(a, 64, 0);
	crowd.to = buffer_new(b, PAIRS * 64, IBV_ACCESS_LOCAL_WRITE);
	return crowd;
}

static void crowd_send(struct crowd *crowd, unsigned int i, uint64_t id)
{
	struct work work = send_work(&crowd->duo[i].to_b, id, crowd->from, 0, 8);

	post_recv_one(crowd->duo[i].b, id, crowd->to, i * 64, 8);
	post_one(crowd->duo[i].a, &work);
}

/* @n completions of each of the pairs of @mask, each under the number of its own queue pair */
static void crowd_expect(struct crowd *crowd, unsigned int mask, unsigned int n)
{
	unsigned int seen[2][PAIRS] = {};
	struct completion completion;

	for (unsigned int left = __builtin_popcount(mask) * n; left; left--)
		for (int side = 0; side < 2; side++) {
			struct endpoint *endpoint;
			unsigned int i;

			cq_wait(side ? crowd->b : crowd->a, &completion);
			completion_expect_success(&completion);
			i = completion.id % PAIRS;
			endpoint = side ? crowd->duo[i].b : crowd->duo[i].a;
			CHECK_EQ(completion.qp_num, endpoint->qp->qp_num);
			seen[side][i]++;
		}
	for (unsigned int i = 0; i < PAIRS; i++) {
		CHECK_EQ(seen[0][i], mask & 1u << i ? n : 0);
		CHECK_EQ(seen[1][i], mask & 1u << i ? n : 0);
	}
}

/* the pipeline of a queue pair, by the ring of the CQ that it uses */
static uint64_t pipeline(const struct endpoint *endpoint)
{
	uint64_t shift = 3, qpn = endpoint->qp->qp_num;

	return qpn >> shift & 1;
}

IONIC_TEST(f70_both_pipelines_share_a_cq)
{
	struct crowd crowd = crowd_new();
	unsigned int second = 0;

	for (unsigned int round = 0; round < 10; round++)
		for (unsigned int i = 0; i < PAIRS; i++)
			crowd_send(&crowd, i, round * PAIRS + i);
	crowd_expect(&crowd, (1u << PAIRS) - 1, 10);
	for (unsigned int i = 0; i < PAIRS; i++)
		second += pipeline(crowd.duo[i].a);
	/* they are put there in turn */
	if (self->model[0])
		CHECK_EQ(second, PAIRS / 2);
}

/* completions of a queue pair that is gone do not come, and hide none of the others (F-22, F-23) */
IONIC_TEST(f22_f23_destroyed_before_polling)
{
	struct crowd crowd = crowd_new();
	struct model_stats before;

	if (peer->model[0])
		model_stats(peer->model, &before);
	for (unsigned int round = 0; round < 5; round++)
		for (unsigned int i = 0; i < PAIRS; i++)
			crowd_send(&crowd, i, round * PAIRS + i);
	if (peer->model[0])
		model_wait_delta(peer->model, &before, "wqes_recv", 5 * PAIRS);
	sleep_ms(100);
	for (unsigned int i = 1; i < PAIRS; i += 2) {
		REQUIRE(!endpoint_destroy(crowd.duo[i].a));
		REQUIRE(!endpoint_destroy(crowd.duo[i].b));
	}
	for (unsigned int i = 1; i < PAIRS; i += 2)
		crowd.duo[i] = crowd.duo[0];
	crowd_expect(&crowd, 0x55, 5);
	CHECK(cq_quiet(crowd.a, QUIET_MS));
	CHECK(cq_quiet(crowd.b, QUIET_MS));
}

/* ---- both ways ------------------------------------------------------------------------------- */

IONIC_TEST(both_ways_at_once)
{
	struct duo duo = duo_new(NULL);
	struct buffer *a = buffer_new(duo.a->pd, 100000, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	struct buffer *b = buffer_new(duo.b->pd, 100000, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);

	for (unsigned int i = 0; i < 50; i++) {
		struct work to_b = rdma_work(IBV_WR_RDMA_WRITE, &duo.to_b, i, a, 0, 40000,
					     b, 50000);
		struct work to_a = rdma_work(IBV_WR_RDMA_WRITE, &duo.to_a, i, b, 0, 40000,
					     a, 50000);

		fill(a->data, 40000, i);
		fill(b->data, 40000, i + 1000);
		post_one(duo.a, &to_b);
		post_one(duo.b, &to_a);
		cq_wait_many(duo.a->send_cq, 1);
		cq_wait_many(duo.b->send_cq, 1);
		LAB_NEED(first_difference(b->data + 50000, 40000, i) == 40000, "to B, round %u", i);
		LAB_NEED(first_difference(a->data + 50000, 40000, i + 1000) == 40000,
			 "to A, round %u", i);
	}
}

IONIC_TEST_MAIN
