// SPDX-License-Identifier: GPL-2.0
/*
 * Many messages: rings wrap, batches are rung in time, deliveries overtake each other, several
 * senders share a receiver, and each message is there once.
 */
#include "lib/efa_test.h"

#define SLOT	512		/* bytes that one message may have, with its header */
#define MESSAGE	(SLOT - 40)

/**
 * struct flow - messages from A to B, of which at most @window are under way
 *
 * A message of number n has length_of(n) bytes of pattern n, begun by n itself; its immediate is n,
 * too. Receives of random shapes (1 to all SGEs) are posted into slots of their own.
 */
struct flow {
	struct duo *duo;
	struct buffer *from, *to;
	unsigned int window, batch;
	bool by_list;
	uint32_t random;
	unsigned int total, sent, acked, arrived, posted;
	uint8_t *seen;
	unsigned int inversions;	/* arrivals of a number below one that came before */
	unsigned int highest;
};

static unsigned int length_of(unsigned int n)
{
	return 4 + n * 37 % (MESSAGE - 4);
}

static void write_message(uint8_t *at, unsigned int n)
{
	fill(at, length_of(n), n);
	memcpy(at, &n, sizeof(n));
}

static void flow_post_receive(struct flow *flow)
{
	unsigned int slot = flow->posted % flow->window, at = slot * SLOT, left = SLOT;
	unsigned int n = 1 + lab_random(&flow->random) % flow->duo->b->cap.max_recv_sge;
	struct ibv_sge sge[WORK_SGES];

	for (unsigned int i = 0; i < n; i++) {
		unsigned int len = i + 1 < n ? 1 + lab_random(&flow->random) % (left / 2) : left;

		sge[i] = buffer_sge(flow->to, at, len);
		at += len;
		left -= len;
	}
	REQUIRE(!post_recv(flow->duo->b, slot, sge, n));
	flow->posted++;
}

static void flow_check(struct flow *flow, const struct completion *completion)
{
	unsigned int header = flow->duo->header;
	uint8_t *at = flow->to->data + completion->id * SLOT + header;
	uint8_t want[SLOT];
	unsigned int n;

	completion_expect_success(completion);
	memcpy(&n, at, sizeof(n));
	REQUIRE(n < flow->total);
	REQUIRE(!flow->seen[n]);
	flow->seen[n] = 1;
	write_message(want, n);
	REQUIRE(completion->byte_len == header + length_of(n));
	REQUIRE(!memcmp(at, want, length_of(n)));
	REQUIRE(completion->imm == n);
	if (n < flow->highest)
		flow->inversions++;
	else
		flow->highest = n;
}

static void flow_receive(struct flow *flow)
{
	struct completion completion;

	while (cq_take(flow->duo->b->recv_cq, &completion)) {
		flow_check(flow, &completion);
		flow->arrived++;
		/* the slot just emptied is the one to post, whatever came first */
		flow->posted = completion.id;
		if (flow->arrived + flow->window <= flow->total)
			flow_post_receive(flow);
	}
}

static void flow_send(struct flow *flow)
{
	unsigned int room = flow->window - (flow->sent - flow->acked);
	unsigned int n = 1 + lab_random(&flow->random) % flow->batch;
	struct work work[64];

	/* what is sent must find a receive: SRD would complain */
	if (room > flow->arrived + flow->window - flow->sent)
		room = flow->arrived + flow->window - flow->sent;
	if (n > room)
		n = room;
	if (n > flow->total - flow->sent)
		n = flow->total - flow->sent;
	if (!n)
		return;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int number = flow->sent + i, at = number % flow->window * SLOT;

		write_message(flow->from->data + at, number);
		work[i] = send_work(&flow->duo->to_b, number, flow->from, at, length_of(number));
		work[i].opcode = IBV_WR_SEND_WITH_IMM;
		work[i].imm = number;
	}
	REQUIRE(!(flow->by_list ? post_list(flow->duo->a, work, n, NULL) :
		  post_block(flow->duo->a, work, n)));
	flow->sent += n;
}

static void flow_run(struct flow *flow)
{
	/* a model that looks at every store takes a millisecond for a message */
	uint64_t end = now_ms() + PATIENCE_MS + 4ull * flow->total;
	struct completion completion;

	flow->seen = calloc(flow->total, 1);
	REQUIRE(flow->seen);
	for (unsigned int i = 0; i < flow->window; i++)
		flow_post_receive(flow);
	while (flow->arrived < flow->total || flow->acked < flow->total) {
		REQUIRE(now_ms() < end);
		flow_send(flow);
		flow_receive(flow);
		while (cq_take(flow->duo->a->send_cq, &completion)) {
			completion_expect_success(&completion);
			flow->acked++;
		}
	}
	free(flow->seen);
	CHECK(cq_quiet(flow->duo->b->recv_cq, QUIET_MS));
	CHECK(cq_quiet(flow->duo->a->send_cq, QUIET_MS));
	buffer_expect_guards(flow->to);
}

static struct flow flow_new(struct duo *duo, unsigned int window, unsigned int batch,
			    unsigned int total)
{
	return (struct flow) {
		.duo = duo, .window = window, .batch = batch, .total = total, .random = total,
		.from = buffer_new(duo->a->pd, window * SLOT, 0),
		.to = buffer_new(duo->b->pd, window * SLOT, IBV_ACCESS_LOCAL_WRITE),
	};
}

/* rings of all sizes, smallest first, with less under way than fits and with all of it */
static void wrap(enum transport transport, bool plain, unsigned int total)
{
	static const unsigned int depths[] = { 1, 2, 5, 16, 64 };

	for (unsigned int i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct endpoint_options options = {
			.transport = transport, .plain = plain, .send_wr = depths[i],
			.recv_wr = depths[i], .cq_kind = i & 1 ? CQ_EXTENDED : CQ_PLAIN,
		};
		struct duo duo = duo_new(&options);
		struct flow flow = flow_new(&duo, depths[i], depths[i], total);

		flow.by_list = plain;
		flow_run(&flow);
	}
}

EFA_TEST_BOTH(rings_wrap_by_wr)
{
	wrap(transport, false, 700);
}

EFA_TEST_BOTH(rings_wrap_by_post_send)
{
	wrap(transport, true, 700);
}

/* entries of 128 bytes */
EFA_TEST(wide_ring_wraps)
{
	struct endpoint_options options = {
		.inline_data = self->efa.inline_buf_size_ex, .send_wr = 16, .recv_wr = 16,
	};
	struct duo duo;
	struct flow flow;

	need_wide();
	duo = duo_new(&options);
	flow = flow_new(&duo, 16, 16, 1000);
	flow_run(&flow);
}

/* the 16-bit counts of doorbells and of the CQ pass 65536 */
EFA_TEST(counts_pass_16_bits)
{
	struct endpoint_options options = { .send_wr = 64, .recv_wr = 64, .cq_depth = 64 };
	struct duo duo = duo_new(&options);
	struct flow flow = flow_new(&duo, 64, 64, 66000);

	allow_seconds(400);
	flow_run(&flow);
}

/* one CQ for everything, no larger than what can be under way */
EFA_TEST_BOTH(one_cq_for_all)
{
	struct cq *cq = cq_new(self, 2 * 8 + 2 * 8, NULL);
	struct endpoint_options options = {
		.transport = transport, .send_cq = cq, .send_wr = 8, .recv_wr = 8,
	};
	struct endpoint *a = endpoint_new(self, &options), *b = endpoint_new(self, &options);
	struct route to_b = route_new(a, b);
	struct buffer *from = buffer_new(a->pd, 8 * SLOT, 0);
	struct buffer *to = buffer_new(b->pd, 8 * SLOT, IBV_ACCESS_LOCAL_WRITE);
	unsigned int sends = 0, receives = 0;

	/* SRD takes the way back for granted in nothing but RDMA, so no AH leads back */
	for (unsigned int round = 0; round < 40; round++) {
		for (unsigned int i = 0; i < 8; i++) {
			struct work work = send_work(&to_b, i, from, i * SLOT, MESSAGE);

			fill(from->data + i * SLOT, MESSAGE, round * 8 + i);
			post_recv_one(b, 100 + i, to, i * SLOT, SLOT);
			post_one(a, &work);
		}
		for (unsigned int i = 0; i < 16; i++) {
			struct completion completion;

			cq_wait(cq, &completion);
			completion_expect_success(&completion);
			if (completion.qp_num == a->qp->qp_num) {
				CHECK(completion.id < 8);
				sends++;
			} else {
				CHECK_EQ(completion.qp_num, b->qp->qp_num);
				CHECK(completion.id >= 100);
				CHECK_EQ(completion.slid, 0xffff);
				receives++;
			}
		}
	}
	CHECK_EQ(sends, 320);
	CHECK_EQ(receives, 320);
}

/* ---- batches (F-01) ------------------------------------------------------ */

/* more than fits between two doorbells, in one call: rung in pieces, and all arrives */
static void long_batch(bool plain, unsigned int inline_data)
{
	enum { N = 60 };
	struct endpoint_options options = {
		.plain = plain, .inline_data = inline_data, .send_wr = 64, .recv_wr = 64,
	};
	struct duo duo = duo_new(&options);
	struct buffer *from = buffer_new(duo.a->pd, N, 0);
	struct buffer *to = buffer_new(duo.b->pd, N, IBV_ACCESS_LOCAL_WRITE);
	struct efadv_wq_attr sq = {}, rq = {};
	struct model_stats before;
	struct work work[N];
	int sum = 0;

	REQUIRE(!efadv_query_qp_wqs(duo.a->qp, &sq, &rq, sizeof(sq)));
	buffer_fill(from, 5);
	for (unsigned int i = 0; i < N; i++) {
		post_recv_one(duo.b, i, to, i, 1);
		work[i] = send_work(&duo.to_b, i, from, i, 1);
	}
	if (self->model[0])
		model_stats(self->model, &before);
	REQUIRE(!post(duo.a, work, N));
	cq_wait_many(duo.a->send_cq, N);
	cq_wait_many(duo.b->recv_cq, N);
	if (self->model[0])
		CHECK_EQ(model_delta(self->model, &before, "doorbells_sq"),
			 (N + sq.max_batch - 1) / sq.max_batch);
	/* in whatever order */
	for (unsigned int i = 0; i < N; i++)
		sum += to->data[i] - from->data[i];
	CHECK_EQ(sum, 0);
}

EFA_TEST(f01_batch_longer_than_allowed_by_wr)
{
	long_batch(false, 0);
}

EFA_TEST(f01_batch_longer_than_allowed_by_post_send)
{
	long_batch(true, 0);
}

EFA_TEST(f01_batch_longer_than_allowed_wide)
{
	need_wide();
	long_batch(false, self->efa.inline_buf_size_ex);
}

/* ---- order (F-75) -------------------------------------------------------- */

/* neither transport keeps the order, and the model makes sure that it does not */
EFA_TEST_BOTH(f75_messages_arrive_as_a_set)
{
	struct endpoint_options options = { .transport = transport };
	struct duo duo = duo_new(&options);
	struct flow flow = flow_new(&duo, 64, 16, 600);

	flow_run(&flow);
	printf("# %u of %u messages were overtaken\n", flow.inversions, flow.total);
	if (self->model[0])
		CHECK(flow.inversions);
}

/* a long message may be overtaken by a short one; both are whole */
EFA_TEST(f75_long_write_and_short_send)
{
	enum { LONG = 1 << 20 };
	struct duo duo;
	struct buffer *from, *to;

	need_write();
	duo = duo_new(NULL);
	from = buffer_new(duo.a->pd, LONG + 8, 0);
	to = buffer_new(duo.b->pd, LONG + 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	for (unsigned int round = 0; round < 4; round++) {
		struct work work[2] = {
			rdma_work(IBV_WR_RDMA_WRITE, &duo.to_b, 1, from, 0, LONG, to, 0),
			send_work(&duo.to_b, 2, from, LONG, 8),
		};

		buffer_fill(from, round);
		post_recv_one(duo.b, 3, to, LONG, 8);
		REQUIRE(!post(duo.a, work, 2));
		cq_wait_many(duo.a->send_cq, 2);
		cq_wait_many(duo.b->recv_cq, 1);
		buffer_expect(to, 0, LONG + 8, round);
	}
}

/* ---- many senders -------------------------------------------------------- */

/* one receiver tells its senders apart */
EFA_TEST_BOTH(many_senders)
{
	enum { SENDERS = 6, EACH = 20 };
	struct endpoint_options options = {
		.transport = transport, .recv_wr = SENDERS * EACH, .cq_kind = CQ_EXTENDED,
		.cq_depth = 256,
	};
	struct endpoint *receiver = endpoint_new(peer, &options), *sender[SENDERS];
	unsigned int header = endpoint_header(peer, transport), slot = header + 1;
	struct buffer *to = buffer_new(receiver->pd, SENDERS * EACH * slot, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_ah *back = ah_new(receiver->pd, &self->gid);
	unsigned int seen[SENDERS] = { 0 };

	for (unsigned int i = 0; i < SENDERS * EACH; i++)
		post_recv_one(receiver, i, to, i * slot, slot);
	for (unsigned int i = 0; i < SENDERS; i++) {
		struct buffer *from;
		struct route route;

		sender[i] = endpoint_new(self, &(struct endpoint_options) {
			.transport = transport });
		from = buffer_new(sender[i]->pd, 1, 0);
		route = route_new(sender[i], receiver);
		from->data[0] = 100 + i;
		for (unsigned int j = 0; j < EACH; j++) {
			struct work work = send_work(&route, j, from, 0, 1);

			post_one(sender[i], &work);
		}
	}
	for (unsigned int i = 0; i < SENDERS * EACH; i++) {
		struct completion completion;
		unsigned int s = 0;

		cq_wait(receiver->recv_cq, &completion);
		completion_expect_success(&completion);
		while (s < SENDERS && sender[s]->qp->qp_num != completion.src_qp)
			s++;
		REQUIRE(s < SENDERS);
		seen[s]++;
		CHECK_EQ(to->data[completion.id * slot + header], 100 + s);
		CHECK_EQ(completion.slid, ah_number(back));
	}
	for (unsigned int i = 0; i < SENDERS; i++) {
		CHECK_EQ(seen[i], EACH);
		cq_wait_many(sender[i]->send_cq, EACH);
	}
}

/* a QP that sends to itself */
EFA_TEST_BOTH(to_itself)
{
	struct endpoint_options options = { .transport = transport };
	struct endpoint *alone = endpoint_new(self, &options);
	struct route route = route_new(alone, alone);
	struct buffer *from = buffer_new(alone->pd, 3000, 0);
	unsigned int header = endpoint_header(self, transport);
	struct buffer *to = buffer_new(alone->pd, header + 3000, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&route, 1, from, 0, 3000);
	struct completion completion;

	buffer_fill(from, 3);
	post_recv_one(alone, 2, to, 0, header + 3000);
	post_one(alone, &work);
	cq_wait_many(alone->send_cq, 1);
	cq_wait(alone->recv_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.src_qp, alone->qp->qp_num);
	buffer_expect(to, header, 3000, 3);
}

/* ---- who is there (F-38) ------------------------------------------------- */

/* before there is an AH for the sender its GID is told, afterwards the AH is */
EFA_TEST_BOTH(f38_sender_without_ah)
{
	struct endpoint_options options = { .transport = transport, .cq_kind = CQ_EFA };
	struct endpoint *a = endpoint_new(self, &options), *b = endpoint_new(peer, &options);
	struct route to_b = route_new(a, b);
	struct buffer *from = buffer_new(a->pd, 8, 0);
	struct buffer *to = buffer_new(b->pd, 100, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_ah *back = NULL;

	need_caps(EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID, "the adapter does not tell source GIDs");
	for (unsigned int round = 0; round < 4; round++) {
		struct work work = send_work(&to_b, round, from, 0, 8);
		struct completion completion;

		if (round & 1)
			back = ah_new(b->pd, &self->gid);
		post_recv_one(b, round, to, 0, 100);
		post_one(a, &work);
		cq_wait_many(a->send_cq, 1);
		cq_wait(b->recv_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.src_qp, a->qp->qp_num);
		if (round & 1) {
			CHECK_EQ(completion.slid, ah_number(back));
			CHECK_EQ(completion.sgid_result, -ENOENT);
			REQUIRE(!lab_drop(back));
		} else {
			CHECK_EQ(completion.slid, 0xffff);
			CHECK_EQ(completion.sgid_result, 0);
			CHECK(!memcmp(&completion.sgid, &self->gid, sizeof(self->gid)));
		}
	}
}

/* ---- blocks that post nothing (F-13) ------------------------------------- */

static void build_send(struct ibv_qp_ex *qp, const struct work *work)
{
	qp->wr_id = work->id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_ud_addr(qp, work->to.ah, work->to.qpn, work->to.qkey);
	ibv_wr_set_sge(qp, work->sge[0].lkey, work->sge[0].addr, work->sge[0].length);
}

/* aborted or refused at any place of the ring: as if it had never been */
EFA_TEST(f13_block_undone)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .send_wr = 32, .inline_data = 32 });
	struct buffer *from = buffer_new(duo.a->pd, 32, 0);
	struct buffer *to = buffer_new(duo.b->pd, 32, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 0, from, 0, 8);
	uint8_t data[64] = { 0 };

	for (unsigned int round = 0; round < 80; round++) {
		bool abort = round % 3 == 0;
		struct completion completion;

		ibv_wr_start(duo.a->ex);
		for (unsigned int i = 0; i < 5; i++) {
			build_send(duo.a->ex, &work);
			if (!abort && i == 2)
				ibv_wr_set_inline_data(duo.a->ex, data, 33);
		}
		if (abort)
			ibv_wr_abort(duo.a->ex);
		else
			CHECK_EQ(ibv_wr_complete(duo.a->ex), EINVAL);
		work.id = 1000 + round;
		buffer_fill(from, round);
		post_recv_one(duo.b, round, to, 0, 32);
		post_one(duo.a, &work);
		cq_wait(duo.a->send_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, 1000 + round);
		cq_wait(duo.b->recv_cq, &completion);
		CHECK_EQ(completion.byte_len, 8);
		buffer_expect(to, 0, 8, round);
	}
	CHECK(cq_quiet(duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(duo.b->recv_cq, QUIET_MS));
}

EFA_TEST_MAIN
