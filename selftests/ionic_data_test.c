// SPDX-License-Identifier: GPL-2.0
/*
 * Messages arrive on ionic: RC and UD, at every size that is special, byte for byte, and every
 * field of their completions.
 */
#include "lib/ionic_test.h"

#define SEED	1234567
#define LARGE	(1u << 20)

static void expect_send(struct duo *duo, uint64_t id)
{
	struct completion completion;

	cq_wait(duo->a->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, id);
	CHECK_EQ(completion.opcode, IBV_WC_SEND);
	CHECK_EQ(completion.qp_num, duo->a->qp->qp_num);
}

/* the receive that belongs to one send */
static void expect_receive(struct duo *duo, const struct work *work, uint64_t id, uint32_t len)
{
	bool imm = work->opcode == IBV_WR_SEND_WITH_IMM, ud = duo->a->transport == UD;
	struct completion completion;

	cq_wait(duo->b->recv_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, id);
	CHECK_EQ(completion.opcode, IBV_WC_RECV);
	CHECK_EQ(completion.byte_len, duo->header + len);
	CHECK_EQ(completion.qp_num, duo->b->qp->qp_num);
	CHECK_EQ(completion.src_qp, duo->a->qp->qp_num);
	CHECK_EQ(completion.flags, (ud ? IBV_WC_GRH : 0) | (imm ? IBV_WC_WITH_IMM : 0));
	if (imm)
		CHECK_EQ(completion.imm, work->imm);
	CHECK_EQ(completion.sl, 0);
}

/* one send of @work, whose @len bytes arrive in @to as @seed's pattern; nothing else does */
static void exchange(struct duo *duo, const struct work *work, struct buffer *to, uint32_t len,
		     uint32_t seed)
{
	buffer_clear(to);
	post_recv_one(duo->b, work->id + 1000, to, 0, to->size);
	post_one(duo->a, work);
	expect_send(duo, work->id);
	expect_receive(duo, work, work->id + 1000, len);
	buffer_expect(to, duo->header, len, seed);
	buffer_expect_clear(to, duo->header + len, to->size - duo->header - len);
	buffer_expect_guards(to);
}

/* what is special about a size: the packet, the page, nothing at all; 0 ends */
static const unsigned int rc_sizes[] = {
	1, 2, 3, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097,
	65535, 65536, 65537, 100003, LARGE, 0,
};

static const unsigned int ud_sizes[] = {
	1, 2, 3, 4, 63, 64, 65, 255, 256, 257, 1020, 1021, 1022, 1023, 1024, 0,
};

IONIC_TEST_BOTH(send_of_every_size)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	const unsigned int *size = transport == UD ? ud_sizes : rc_sizes;
	struct buffer *from = buffer_new(duo.a->pd, LARGE, 0);
	struct buffer *to = buffer_new(duo.b->pd, LARGE + 40, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(from, SEED);
	for (uint64_t id = 1; *size; size++, id++) {
		struct work work = send_work(&duo.to_b, id, from, 0, *size);

		exchange(&duo, &work, to, *size, SEED);
	}
}

/* every path MTU that the port allows cuts messages elsewhere */
IONIC_TEST(send_over_every_mtu)
{
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= self->port.active_mtu; mtu++) {
		struct duo duo = duo_new(&(struct endpoint_options) { .connection.mtu = mtu });
		struct buffer *from = buffer_new(duo.a->pd, 10000, 0);
		struct buffer *to = buffer_new(duo.b->pd, 10000, IBV_ACCESS_LOCAL_WRITE);
		unsigned int bytes = 128u << mtu;

		buffer_fill(from, SEED);
		for (unsigned int len = bytes - 1; len <= bytes + 1; len++) {
			struct work work = send_work(&duo.to_b, len, from, 0, len);

			exchange(&duo, &work, to, len, SEED);
			work.sge[0].length += bytes;
			exchange(&duo, &work, to, bytes + len, SEED);
		}
	}
}

/* as an SGE of no bytes, and as no SGE */
IONIC_TEST_BOTH(send_of_nothing)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *from = buffer_new(duo.a->pd, 64, 0);
	struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 0);

	exchange(&duo, &work, to, 0, SEED);
	work.sges = 0;
	exchange(&duo, &work, to, 0, SEED);
}

IONIC_TEST_BOTH(immediate)
{
	static const uint32_t values[] = { 0, 1, 0x80000000, 0x12345678, UINT32_MAX };
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *from = buffer_new(duo.a->pd, 1000, 0);
	struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 1000);

	buffer_fill(from, SEED);
	work.opcode = IBV_WR_SEND_WITH_IMM;
	for (unsigned int i = 0; i < 5; i++, work.id++) {
		work.imm = values[i];
		exchange(&duo, &work, to, 1000, SEED);
	}
	work.sges = 0;
	exchange(&duo, &work, to, 0, SEED);
}

/* of memory that is not registered and changes as soon as it is posted */
static void exchange_inline(struct duo *duo, struct buffer *to, unsigned int len)
{
	uint8_t data[512];
	struct work work = {
		.opcode = IBV_WR_SEND, .id = len, .inlined = true, .to = duo->to_b, .sges = 1,
		.sge = { { .addr = (uintptr_t)data, .length = len } },
	};

	fill(data, sizeof(data), len);
	buffer_clear(to);
	post_recv_one(duo->b, len + 1000, to, 0, to->size);
	post_one(duo->a, &work);
	memset(data, 0, sizeof(data));
	expect_send(duo, len);
	expect_receive(duo, &work, len + 1000, len);
	buffer_expect(to, duo->header, len, len);
	buffer_expect_clear(to, duo->header + len, to->size - duo->header - len);
}

IONIC_TEST_BOTH(inline_of_every_length)
{
	static const unsigned int wanted[] = { 1, 32, 80, 200 };

	for (unsigned int i = 0; i < 4; i++) {
		struct duo duo = duo_new(&(struct endpoint_options) {
			.transport = transport, .inline_data = wanted[i], .send_sge = 1 });
		struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
		unsigned int most = duo.a->cap.max_inline_data;
		struct model_stats before;

		CHECK(most >= wanted[i]);
		REQUIRE(most <= 512);
		if (self->model[0])
			model_stats(self->model, &before);
		for (unsigned int len = 0; len <= most; len += i < 2 ? 1 : 7)
			exchange_inline(&duo, to, len);
		exchange_inline(&duo, to, most);
		if (self->model[0])
			CHECK(model_delta(self->model, &before, "wqes_inline") >= most / 7);
	}
}

/* several pieces, each from memory of its own */
IONIC_TEST_BOTH(inline_of_several_pieces)
{
	struct duo duo = duo_new(&(struct endpoint_options) {
		.transport = transport, .inline_data = 60 });
	struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	uint8_t data[60], *at = data;
	struct work work = {
		.opcode = IBV_WR_SEND, .id = 1, .inlined = true, .to = duo.to_b,
	};

	fill(data, sizeof(data), SEED);
	for (unsigned int len = 5; len <= 15; len += 5, at += len - 5)
		work.sge[work.sges++] = (struct ibv_sge) { .addr = (uintptr_t)at, .length = len };
	exchange(&duo, &work, to, 30, SEED);
}

/* @n pieces of different lengths, from the end of the buffer to its beginning, with gaps */
static unsigned int scatter(const struct buffer *buffer, struct ibv_sge *sge, unsigned int n,
			    unsigned int total)
{
	unsigned int len = total / n, sum = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int piece = i + 1 < n ? len + i % 3 : total - sum;

		sge[i] = buffer_sge(buffer, (n - 1 - i) * 512, piece);
		sum += piece;
	}
	return sum;
}

static void fill_pieces(struct buffer *buffer, const struct ibv_sge *sge, unsigned int n)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint8_t *piece = buffer->data + (sge[i].addr - buffer_addr(buffer, 0));

		for (unsigned int j = 0; j < sge[i].length; j++)
			piece[j] = pattern(SEED, at++);
	}
}

static void expect_pieces(const struct buffer *buffer, const struct ibv_sge *sge, unsigned int n,
			  unsigned int skip, unsigned int len)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < n; i++)
		for (unsigned int j = 0; j < sge[i].length; j++, at++) {
			uint8_t have = buffer->data[sge[i].addr - buffer_addr(buffer, 0) + j];
			uint8_t want = at < skip || at >= skip + len ? have :
				       pattern(SEED, at - skip);

			LAB_NEED(have == want, "byte %u of %u, piece %u of %u", at, len, i, n);
		}
}

static void exchange_pieces(struct duo *duo, struct buffer *from, struct buffer *to,
			    unsigned int out, unsigned int in)
{
	unsigned int len = 700, room = duo->header + len;
	struct work work = { .opcode = IBV_WR_SEND, .id = out, .sges = out, .to = duo->to_b };
	struct ibv_sge sge[8];

	scatter(from, work.sge, out, len);
	fill_pieces(from, work.sge, out);
	buffer_clear(to);
	scatter(to, sge, in, room);
	REQUIRE(!post_recv(duo->b, in, sge, in));
	post_one(duo->a, &work);
	expect_send(duo, out);
	expect_receive(duo, &work, in, len);
	expect_pieces(to, sge, in, duo->header, len);
	buffer_expect_guards(to);
}

IONIC_TEST_BOTH(every_number_of_sges)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *from = buffer_new(duo.a->pd, 8 * 512, 0);
	struct buffer *to = buffer_new(duo.b->pd, 8 * 512, IBV_ACCESS_LOCAL_WRITE);
	struct model_stats before;

	CHECK_EQ(duo.a->cap.max_send_sge, 8);
	CHECK_EQ(duo.b->cap.max_recv_sge, 8);
	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int out = 2; out <= 8; out++)
		for (unsigned int in = 2; in <= 8; in += 3)
			exchange_pieces(&duo, from, to, out, in);
	/* three and more are listed in another way */
	if (self->model[0])
		CHECK(model_delta(self->model, &before, "wqes_spec") >= 18);
}

/* whatever their queues were made for */
IONIC_TEST(queues_of_every_width)
{
	for (unsigned int n = 1; n <= 8; n++) {
		struct duo duo = duo_new(&(struct endpoint_options) {
			.send_sge = n, .recv_sge = 9 - n });
		struct buffer *from = buffer_new(duo.a->pd, 8 * 512, 0);
		struct buffer *to = buffer_new(duo.b->pd, 8 * 512, IBV_ACCESS_LOCAL_WRITE);

		CHECK(duo.a->cap.max_send_sge >= n);
		CHECK(duo.b->cap.max_recv_sge >= 9 - n);
		for (unsigned int out = 2; out <= n; out++)
			exchange_pieces(&duo, from, to, out, 9 - n > 1 ? 9 - n : 1);
	}
}

/* a completion for those that ask for one, in order, and then the ring is free again */
IONIC_TEST_BOTH(unsignalled_sends)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *from = buffer_new(duo.a->pd, 64, 0);
	struct buffer *to = buffer_new(duo.b->pd, 256 * ENDPOINT_WR, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(from, SEED);
	for (unsigned int i = 0; i < 4 * ENDPOINT_WR; i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, 64);

		work.unsignalled = i % 8 != 7;
		post_recv_one(duo.b, i, to, i % ENDPOINT_WR * 256, 256);
		post_one(duo.a, &work);
		if (!work.unsignalled)
			expect_send(&duo, i);
		expect_receive(&duo, &work, i, 64);
	}
	CHECK(cq_quiet(duo.a->send_cq, QUIET_MS));
}

/* what the queue signals by itself */
IONIC_TEST(all_signalled)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .sig_all = true });
	struct buffer *from = buffer_new(duo.a->pd, 64, 0);
	struct buffer *to = buffer_new(duo.b->pd, 256, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 64);

	buffer_fill(from, SEED);
	work.unsignalled = true;
	exchange(&duo, &work, to, 64, SEED);
}

/* the first 40 bytes of a datagram's buffer are the header: addresses of both sides */
IONIC_TEST(f77_header_of_a_datagram)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = UD });
	struct buffer *from = buffer_new(duo.a->pd, 64, 0);
	struct buffer *to = buffer_new(duo.b->pd, 256, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 64);
	const struct ibv_grh *grh = (void *)to->data;

	CHECK_EQ(duo.header, 40);
	buffer_fill(from, SEED);
	exchange(&duo, &work, to, 64, SEED);
	CHECK_EQ(be32toh(grh->version_tclass_flow) >> 28, 6);
	CHECK(!memcmp(&grh->sgid, &self->gid, 16));
	CHECK(!memcmp(&grh->dgid, &peer->gid, 16));
}

/* replies to whoever sent: the address in the completion and in the header is enough */
IONIC_TEST(f77_reply_to_a_datagram)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = UD });
	struct buffer *a = buffer_new(duo.a->pd, 256, IBV_ACCESS_LOCAL_WRITE);
	struct buffer *b = buffer_new(duo.b->pd, 256, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, a, 0, 64);
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct completion completion;
	struct work reply;

	post_recv_one(duo.b, 2, b, 0, 256);
	post_one(duo.a, &work);
	expect_send(&duo, 1);
	cq_wait(duo.b->recv_cq, &completion);
	wc.src_qp = completion.src_qp;
	reply = work;
	reply.sge[0] = buffer_sge(b, 100, 50);
	reply.to = (struct route) {
		.ah = ibv_create_ah_from_wc(duo.b->pd, &wc, (void *)b->data, 1),
		.qpn = completion.src_qp, .qkey = duo.a->qkey,
	};
	REQUIRE(reply.to.ah);
	post_recv_one(duo.a, 3, a, 100, 156);
	post_one(duo.b, &reply);
	cq_wait_many(duo.b->send_cq, 1);
	cq_wait(duo.a->recv_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.byte_len, 90);
	CHECK_EQ(completion.src_qp, duo.b->qp->qp_num);
	CHECK_EQ(ibv_destroy_ah(reply.to.ah), 0);
}

IONIC_TEST_MAIN
