// SPDX-License-Identifier: GPL-2.0
/*
 * Data arrives: every operation of UD and SRD, by ibv_wr_* and by ibv_post_send(),
 * at every size that is special, byte for byte, and every field of its completion.
 */
#include "lib/efa_test.h"

#define SEED	1234567

/* the receive that belongs to one send */
static void expect_receive(struct duo *duo, const struct completion *completion, uint64_t id,
			   uint32_t len)
{
	completion_expect_success(completion);
	CHECK_EQ(completion->id, id);
	CHECK_EQ(completion->opcode, IBV_WC_RECV);
	CHECK_EQ(completion->byte_len, duo->header + len);
	CHECK_EQ(completion->qp_num, duo->b->qp->qp_num);
	CHECK_EQ(completion->src_qp, duo->a->qp->qp_num);
	CHECK_EQ(completion->slid, ah_number(duo->to_a.ah));
	CHECK_EQ(completion->sl, 0);
	CHECK_EQ(completion->dlid_path_bits, 0);
	CHECK(!completion->unsolicited);
}

static void expect_send(struct duo *duo, const struct completion *completion, uint64_t id)
{
	completion_expect_success(completion);
	CHECK_EQ(completion->id, id);
	CHECK_EQ(completion->opcode, IBV_WC_SEND);
	CHECK_EQ(completion->qp_num, duo->a->qp->qp_num);
	CHECK_EQ(completion->vendor_err, 0);
}

/* the message lies behind the header, and nothing else was written */
static void expect_data(struct duo *duo, const struct buffer *to, uint32_t len, uint32_t seed)
{
	buffer_expect(to, duo->header, len, seed);
	buffer_expect_clear(to, duo->header + len, to->size - duo->header - len);
	buffer_expect_guards(to);
}

/* one send of @work, whose @len bytes arrive in @to as @seed's pattern; nothing else does */
static void exchange(struct duo *duo, const struct work *work, struct buffer *to, uint32_t len,
		     uint32_t seed)
{
	bool imm = work->opcode == IBV_WR_SEND_WITH_IMM;
	struct completion completion;

	buffer_clear(to);
	post_recv_one(duo->b, work->id + 1000, to, 0, to->size);
	post_one(duo->a, work);
	cq_wait(duo->a->send_cq, &completion);
	expect_send(duo, &completion, work->id);
	cq_wait(duo->b->recv_cq, &completion);
	expect_receive(duo, &completion, work->id + 1000, len);
	CHECK_EQ(completion.flags, imm ? IBV_WC_WITH_IMM : 0);
	if (imm)
		CHECK_EQ(completion.imm, work->imm);
	expect_data(duo, to, len, seed);
}

/* every special size of a message up to the MTU */
static unsigned int message_sizes(unsigned int *size)
{
	const unsigned int mtu = adapter_mtu(self);
	const unsigned int sizes[] = {
		0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 1023, 1024, 4095,
		4096, 4097, mtu - 1, mtu,
	};

	memcpy(size, sizes, sizeof(sizes));
	return sizeof(sizes) / sizeof(sizes[0]);
}

static void send_sizes(enum transport transport, bool plain, enum cq_kind kind)
{
	struct endpoint_options options = {
		.transport = transport, .plain = plain, .cq_kind = kind,
	};
	struct duo duo = duo_new(&options);
	unsigned int sizes[32], n = message_sizes(sizes);
	struct buffer *from = buffer_new(duo.a->pd, adapter_mtu(self), 0);
	struct buffer *to = buffer_new(duo.b->pd, duo.header + adapter_mtu(self),
				       IBV_ACCESS_LOCAL_WRITE);

	for (unsigned int i = 0; i < n; i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, sizes[i]);

		buffer_fill(from, SEED + i);
		exchange(&duo, &work, to, sizes[i], SEED + i);
	}
	CHECK(cq_quiet(duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(duo.b->recv_cq, QUIET_MS));
}

EFA_TEST_BOTH(send_by_wr)
{
	send_sizes(transport, false, CQ_PLAIN);
}

EFA_TEST_BOTH(send_by_post_send)
{
	send_sizes(transport, true, CQ_PLAIN);
}

EFA_TEST_BOTH(send_polled_extended)
{
	send_sizes(transport, false, CQ_EXTENDED);
}

EFA_TEST_BOTH(send_polled_by_efadv)
{
	send_sizes(transport, true, CQ_EFA);
}

/* one byte too long is the sender's fault, and the receive stays */
static void send_too_long(enum transport transport, bool plain)
{
	struct endpoint_options options = { .transport = transport, .plain = plain };
	struct duo duo = duo_new(&options);
	const unsigned int mtu = adapter_mtu(self);
	struct buffer *from = buffer_new(duo.a->pd, mtu + 1, 0);
	struct buffer *to = buffer_new(duo.b->pd, duo.header + mtu + 1, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, mtu + 1);
	struct completion completion;

	post_recv_one(duo.b, 2, to, 0, to->size);
	post_one(duo.a, &work);
	cq_wait(duo.a->send_cq, &completion);
	CHECK_EQ(completion.id, 1);
	CHECK_EQ(completion.status, IBV_WC_LOC_LEN_ERR);
	CHECK(cq_quiet(duo.b->recv_cq, QUIET_MS));
	buffer_fill(from, SEED);
	work = send_work(&duo.to_b, 3, from, 0, mtu);
	post_one(duo.a, &work);
	cq_wait(duo.a->send_cq, &completion);
	expect_send(&duo, &completion, 3);
	cq_wait(duo.b->recv_cq, &completion);
	expect_receive(&duo, &completion, 2, mtu);
	expect_data(&duo, to, mtu, SEED);
}

EFA_TEST_BOTH(send_above_mtu_by_wr)
{
	send_too_long(transport, false);
}

EFA_TEST_BOTH(send_above_mtu_by_post_send)
{
	send_too_long(transport, true);
}

static void send_immediates(enum transport transport, bool plain, enum cq_kind kind)
{
	static const uint32_t imms[] = { 0, 1, 0x01020304, 0xfedcba98, 0x80000000, 0xffffffff };
	struct endpoint_options options = {
		.transport = transport, .plain = plain, .cq_kind = kind,
	};
	struct duo duo = duo_new(&options);
	struct buffer *from = buffer_new(duo.a->pd, 100, 0);
	struct buffer *to = buffer_new(duo.b->pd, 200, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(from, SEED);
	for (unsigned int i = 0; i < sizeof(imms) / sizeof(imms[0]); i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, i * 20);

		work.opcode = IBV_WR_SEND_WITH_IMM;
		work.imm = imms[i];
		exchange(&duo, &work, to, i * 20, SEED);
		/* and none where none was sent */
		work.opcode = IBV_WR_SEND;
		exchange(&duo, &work, to, i * 20, SEED);
	}
}

EFA_TEST_BOTH(send_with_imm_by_wr)
{
	send_immediates(transport, false, CQ_EXTENDED);
}

EFA_TEST_BOTH(send_with_imm_by_post_send)
{
	send_immediates(transport, true, CQ_PLAIN);
}

/* inline data is taken when posted, from memory that is not registered */
static void send_inline(enum transport transport, bool plain, unsigned int limit)
{
	struct endpoint_options options = {
		.transport = transport, .plain = plain, .inline_data = limit,
	};
	struct duo duo = duo_new(&options);
	struct buffer *to = buffer_new(duo.b->pd, 200, IBV_ACCESS_LOCAL_WRITE);
	uint8_t data[200];

	for (unsigned int len = 0; len <= limit; len++) {
		unsigned int cut = len / 3;
		struct work work = {
			.opcode = len & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
			.id = len, .inlined = true, .imm = ~len, .to = duo.to_b,
			.sge = { { .addr = (uintptr_t)data, .length = len } }, .sges = 1,
		};
		struct completion completion;

		if (len % 4 >= 2) {	/* gathered from two places */
			work.sge[0].length = cut;
			work.sge[1].addr = (uintptr_t)data + cut;
			work.sge[1].length = len - cut;
			work.sges = 2;
		}
		fill(data, sizeof(data), SEED + len);
		buffer_clear(to);
		post_recv_one(duo.b, len, to, 0, to->size);
		post_one(duo.a, &work);
		memset(data, 0xee, sizeof(data));
		cq_wait(duo.a->send_cq, &completion);
		expect_send(&duo, &completion, len);
		cq_wait(duo.b->recv_cq, &completion);
		expect_receive(&duo, &completion, len, len);
		expect_data(&duo, to, len, SEED + len);
	}
}

EFA_TEST_BOTH(send_inline_by_wr)
{
	send_inline(transport, false, self->efa.inline_buf_size);
}

EFA_TEST_BOTH(send_inline_by_post_send)
{
	send_inline(transport, true, self->efa.inline_buf_size);
}

/* entries of 128 bytes */
EFA_TEST_BOTH(send_inline_wide)
{
	need_wide();
	send_inline(transport, false, self->efa.inline_buf_size_ex);
	send_inline(transport, true, self->efa.inline_buf_size_ex);
}

static void inline_too_long(enum transport transport, bool plain)
{
	unsigned int limit = self->efa.inline_buf_size;
	struct endpoint_options options = {
		.transport = transport, .plain = plain, .inline_data = limit,
	};
	struct duo duo = duo_new(&options);
	uint8_t data[256] = { 0 };
	struct work work = {
		.opcode = IBV_WR_SEND, .inlined = true, .to = duo.to_b,
		.sge = { { .addr = (uintptr_t)data, .length = limit + 1 } }, .sges = 1,
	};

	CHECK_EQ(post(duo.a, &work, 1), EINVAL);
	CHECK(cq_quiet(duo.a->send_cq, QUIET_MS));
	work.sge[0].length = limit;
	CHECK_EQ(post(duo.a, &work, 1), 0);
	cq_wait_many(duo.a->send_cq, transport == UD ? 1 : 0);
	/* SRD tells that nobody had posted a receive */
	if (transport == SRD) {
		struct completion completion;

		cq_wait(duo.a->send_cq, &completion);
		CHECK_EQ(completion.status, IBV_WC_RNR_RETRY_EXC_ERR);
	}
}

EFA_TEST_BOTH(inline_above_limit_by_wr)
{
	inline_too_long(transport, false);
}

EFA_TEST_BOTH(inline_above_limit_by_post_send)
{
	inline_too_long(transport, true);
}

/* zero bytes inline need no memory at all (F-12) */
EFA_TEST(f12_inline_of_nothing)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .inline_data = 32 });
	struct buffer *to = buffer_new(duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	struct completion completion;

	for (unsigned int sges = 0; sges < 2; sges++) {
		struct work work = {
			.opcode = IBV_WR_SEND, .id = sges, .inlined = true, .sges = sges,
			.to = duo.to_b,
		};

		exchange(&duo, &work, to, 0, SEED);
	}
	CHECK(!cq_take(duo.a->send_cq, &completion));
}

/* ---- scatter and gather -------------------------------------------------- */

/* the pieces of one buffer, in an order of their own, are sent as one message */
static void gather(enum transport transport, bool plain)
{
	static const unsigned int length[] = { 13, 0, 200, 64, 1, 999, 4, 31 };
	struct endpoint_options options = { .transport = transport, .plain = plain };
	struct duo duo = duo_new(&options);
	struct buffer *from = buffer_new(duo.a->pd, 4096, 0);
	struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);

	for (unsigned int n = 0; n <= self->efa.max_sq_sge; n++) {
		struct work work = {
			.opcode = IBV_WR_SEND, .id = n, .sges = n, .to = duo.to_b,
		};
		unsigned int total = 0;
		uint8_t message[4096];

		for (unsigned int i = 0; i < n; i++)
			total += length[i];
		fill(message, total, SEED + n);
		buffer_clear(from);
		/* the last piece of the message lies first in memory */
		for (unsigned int i = 0, begin = 0, place = 3000; i < n; begin += length[i++]) {
			place -= length[i] + 7;
			memcpy(from->data + place, message + begin, length[i]);
			work.sge[i] = buffer_sge(from, place, length[i]);
		}
		exchange(&duo, &work, to, total, SEED + n);
	}
}

EFA_TEST_BOTH(gather_by_wr)
{
	gather(transport, false);
}

EFA_TEST_BOTH(gather_by_post_send)
{
	gather(transport, true);
}

/*
 * A message over the SGEs of one receive: each filled before the next is begun, and
 * not a byte outside of them (F-27).
 */
static void scatter_one(struct duo *duo, const struct buffer *from, struct buffer *to,
			const struct ibv_sge *sge, unsigned int n, unsigned int len)
{
	struct work work = send_work(&duo->to_b, len, from, 0, len);
	struct completion completion;
	uint8_t message[4096];
	unsigned int done = 0;

	buffer_clear(to);
	REQUIRE(!post_recv(duo->b, len, sge, n));
	post_one(duo->a, &work);
	cq_wait_many(duo->a->send_cq, 1);
	cq_wait(duo->b->recv_cq, &completion);
	expect_receive(duo, &completion, len, len);
	/* put together again, whatever was scattered leaves zeros */
	for (unsigned int i = 0; i < n; i++) {
		unsigned int part = duo->header + len - done;
		uint8_t *at = (uint8_t *)(uintptr_t)sge[i].addr;

		if (part > sge[i].length)
			part = sge[i].length;
		memcpy(message + done, at, part);
		memset(at, 0, part);
		done += part;
	}
	CHECK(!memcmp(message + duo->header, from->data, len));
	buffer_expect_clear(to, 0, to->size);
	buffer_expect_guards(to);
}

EFA_TEST_BOTH(f27_scatter)
{
	static const unsigned int length[] = { 100, 17, 1000, 64, 3, 300, 40, 500 };
	struct endpoint_options options = { .transport = transport };
	struct duo duo = duo_new(&options);
	struct buffer *from = buffer_new(duo.a->pd, 4096, 0);
	struct buffer *to = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(from, SEED);
	for (unsigned int n = 1; n <= self->efa.max_rq_sge && n <= 8; n++) {
		unsigned int capacity = 0;
		struct ibv_sge sge[8];

		/* the first SGE lies last in memory */
		for (unsigned int i = 0, at = 3900; i < n; i++) {
			at -= length[i] + 61;
			sge[i] = buffer_sge(to, at, length[i]);
			capacity += length[i];
		}
		/* ends before, at and behind the border of every SGE */
		for (unsigned int len = 0; duo.header + len <= capacity;
		     len += len % 39 == 1 ? 38 : 1)
			scatter_one(&duo, from, to, sge, n, len);
	}
}

/* a receive SGE longer than its descriptor can tell is cut, not wrapped (F-06) */
EFA_TEST(f06_receive_sge_of_64k_and_more)
{
	static const unsigned int length[] = { 65535, 65536, 65537, 1 << 20 };
	struct duo duo;
	const unsigned int mtu = adapter_mtu(self);
	struct buffer *from, *to;

	if (libefa_release() < 56 && !adapter_is_taken_over(self))
		SKIP("libefa cuts the length of a receive to 16 bits: a newer one does not");
	duo = duo_new(NULL);
	from = buffer_new(duo.a->pd, mtu, 0);
	to = buffer_new(duo.b->pd, 1 << 20, IBV_ACCESS_LOCAL_WRITE);
	buffer_fill(from, SEED);
	for (unsigned int i = 0; i < sizeof(length) / sizeof(length[0]); i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, mtu);
		struct completion completion;

		buffer_clear(to);
		post_recv_one(duo.b, i, to, 0, length[i]);
		post_one(duo.a, &work);
		cq_wait_many(duo.a->send_cq, 1);
		cq_wait(duo.b->recv_cq, &completion);
		expect_receive(&duo, &completion, i, mtu);
		buffer_expect(to, 0, mtu, SEED);
		buffer_expect_clear(to, mtu, to->size - mtu);
	}
}

EFA_TEST_MAIN
