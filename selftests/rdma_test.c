// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA over SRD: reads, writes, writes with immediate (that take a receive and that
 * take none), inline writes; from nothing to many packets, byte for byte.
 */
#include "lib/efa_test.h"

#define SEED		7654321
#define BIG		(8u << 20)
#define HUGE_SIZE	(64u << 20)

static unsigned int remote_access(void)
{
	return IBV_ACCESS_LOCAL_WRITE | (can_read(peer) ? IBV_ACCESS_REMOTE_READ : 0) |
	       (can_write(peer) ? IBV_ACCESS_REMOTE_WRITE : 0);
}

/**
 * struct scene - two endpoints and a buffer at each, the source larger than what is moved
 */
struct scene {
	struct duo duo;
	struct buffer *local, *remote;
};

static struct scene scene_new(const struct endpoint_options *options, size_t size)
{
	struct scene scene = { .duo = duo_new(options) };

	scene.local = buffer_new(scene.duo.a->pd, size, IBV_ACCESS_LOCAL_WRITE);
	scene.remote = buffer_new(scene.duo.b->pd, size, remote_access());
	return scene;
}

/* EFA's provider calls a read a send: see Documentation/rings.rst */
static enum ibv_wc_opcode send_opcode(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_READ ? IBV_WC_SEND : IBV_WC_RDMA_WRITE;
}

static void expect_done(struct scene *scene, uint64_t id, enum ibv_wr_opcode opcode)
{
	struct completion completion;

	cq_wait(scene->duo.a->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, id);
	CHECK_EQ(completion.opcode, send_opcode(opcode));
	CHECK_EQ(completion.qp_num, scene->duo.a->qp->qp_num);
}

/* moves @len bytes between @off of the local buffer and @remote_off of the remote one; looks at all */
static void move(struct scene *scene, enum ibv_wr_opcode opcode, size_t off, size_t remote_off,
		 size_t len)
{
	bool read = opcode == IBV_WR_RDMA_READ;
	struct buffer *from = read ? scene->remote : scene->local;
	struct buffer *to = read ? scene->local : scene->remote;
	size_t from_off = read ? remote_off : off, to_off = read ? off : remote_off;
	struct work work = rdma_work(opcode, &scene->duo.to_b, len + 1, scene->local, off, len,
				     scene->remote, remote_off);

	buffer_clear(from);
	buffer_clear(to);
	fill(from->data + from_off, len, SEED + len);
	post_one(scene->duo.a, &work);
	expect_done(scene, len + 1, opcode);
	buffer_expect(to, to_off, len, SEED + len);
	buffer_expect_clear(to, 0, to_off);
	buffer_expect_clear(to, to_off + len, to->size - to_off - len);
	buffer_expect_guards(to);
}

static void move_sizes(enum ibv_wr_opcode opcode, const struct endpoint_options *options)
{
	const unsigned int mtu = adapter_mtu(self);
	const unsigned int sizes[] = {
		0, 1, 3, 8, 63, 64, 65, 4095, 4096, 4097, mtu - 1, mtu, mtu + 1, 2 * mtu,
		2 * mtu + 1, 65535, 65536, 65537,
	};
	struct scene scene = scene_new(options, 80000);

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		move(&scene, opcode, 1000 + i, 5000 - 3 * i, sizes[i]);
	/* a write tells nobody at its target */
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
}

EFA_TEST(read_sizes)
{
	need_read();
	move_sizes(IBV_WR_RDMA_READ, NULL);
}

EFA_TEST(write_sizes)
{
	need_write();
	move_sizes(IBV_WR_RDMA_WRITE, NULL);
}

EFA_TEST(read_sizes_polled_extended)
{
	need_read();
	move_sizes(IBV_WR_RDMA_READ, &(struct endpoint_options) { .cq_kind = CQ_EXTENDED });
}

EFA_TEST(write_sizes_polled_by_efadv)
{
	need_write();
	move_sizes(IBV_WR_RDMA_WRITE, &(struct endpoint_options) { .cq_kind = CQ_EFA });
}

/* entries of 128 bytes have the remote memory at the same place */
EFA_TEST(read_and_write_in_wide_entries)
{
	struct endpoint_options wide = { .inline_data = self->efa.inline_buf_size_ex };

	need_read();
	need_write();
	need_wide();
	move_sizes(IBV_WR_RDMA_WRITE, &wide);
	move_sizes(IBV_WR_RDMA_READ, &wide);
}

static void move_once(enum ibv_wr_opcode opcode, size_t len)
{
	struct scene scene = scene_new(NULL, len + 100);

	if (len > self->efa.max_rdma_size)
		SKIP("larger than one RDMA of this adapter");
	move(&scene, opcode, 7, 33, len);
}

EFA_TEST(read_of_8_mib)
{
	need_read();
	move_once(IBV_WR_RDMA_READ, BIG);
}

EFA_TEST(write_of_8_mib)
{
	need_write();
	move_once(IBV_WR_RDMA_WRITE, BIG);
}

EFA_TEST(write_of_64_mib)
{
	need_write();
	move_once(IBV_WR_RDMA_WRITE, HUGE_SIZE);
}

/* many at once, all over one buffer, in both directions */
EFA_TEST(reads_and_writes_together)
{
	enum { PIECES = 48, PIECE = 20000 };
	struct scene scene;
	struct buffer *back;

	need_read();
	need_write();
	scene = scene_new(NULL, PIECES * PIECE);
	back = buffer_new(scene.duo.a->pd, PIECES * PIECE, IBV_ACCESS_LOCAL_WRITE);
	for (unsigned int i = 0; i < PIECES; i++)
		fill(scene.local->data + i * PIECE, PIECE, SEED + i);
	for (unsigned int i = 0; i < PIECES; i++) {
		struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, i, scene.local,
					     i * PIECE, PIECE, scene.remote, i * PIECE);

		post_one(scene.duo.a, &work);
	}
	cq_wait_many(scene.duo.a->send_cq, PIECES);
	for (unsigned int i = 0; i < PIECES; i++)
		buffer_expect(scene.remote, i * PIECE, PIECE, SEED + i);
	/* read back while the first half is written anew with the same */
	for (unsigned int i = 0; i < PIECES; i++) {
		struct work work[2] = {
			rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, i, back, i * PIECE, PIECE,
				  scene.remote, i * PIECE),
			rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, i, scene.local,
				  i * PIECE, PIECE, scene.remote, i * PIECE),
		};

		REQUIRE(!post(scene.duo.a, work, i < PIECES / 4 ? 2 : 1));
	}
	cq_wait_many(scene.duo.a->send_cq, PIECES + PIECES / 4);
	for (unsigned int i = 0; i < PIECES; i++)
		buffer_expect(back, i * PIECE, PIECE, SEED + i);
	buffer_expect_guards(back);
	buffer_expect_guards(scene.remote);
}

/* ---- write with immediate ------------------------------------------------ */

static const unsigned int imm_sizes[] = { 0, 1, 64, 4096, 9000, 65535, 65536, 200000 };

#define IMM_SIZES	(sizeof(imm_sizes) / sizeof(imm_sizes[0]))

/* a short entry, as rdma-core 44 has it unless it is asked for GIDs, has half of a write's length */
static unsigned int told_length(const struct cq *cq, unsigned int len)
{
	return libefa_release() < 56 && !cq->efa ? len & 0xffff : len;
}

/*
 * @takes_receive: the target's QP is an ordinary one: the completion is that of a receive, whose
 * own memory stays as it is
 */
static void write_imm(bool takes_receive, enum cq_kind kind)
{
	struct endpoint_options a = {}, b = {
		.cq_kind = kind,
		.flags = takes_receive ? 0 : EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV,
	};
	struct scene scene = { .duo = duo_new2(&a, &b) };
	struct buffer *unused = buffer_new(scene.duo.b->pd, 1000, IBV_ACCESS_LOCAL_WRITE);

	scene.local = buffer_new(scene.duo.a->pd, 250000, 0);
	scene.remote = buffer_new(scene.duo.b->pd, 250000, remote_access());
	for (unsigned int i = 0; i < IMM_SIZES; i++) {
		size_t len = imm_sizes[i];
		struct work work = rdma_work(IBV_WR_RDMA_WRITE_WITH_IMM, &scene.duo.to_b, i,
					     scene.local, 10 * i, len, scene.remote, 77 * i);
		struct completion completion;

		work.imm = 0x80402010 + i;
		buffer_clear(scene.remote);
		fill(scene.local->data + 10 * i, len, SEED + i);
		if (takes_receive)
			post_recv_one(scene.duo.b, 500 + i, unused, 0, unused->size);
		post_one(scene.duo.a, &work);
		expect_done(&scene, i, IBV_WR_RDMA_WRITE_WITH_IMM);
		cq_wait(scene.duo.b->recv_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, takes_receive ? 500 + i : 0);
		CHECK_EQ(completion.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(completion.flags, IBV_WC_WITH_IMM);
		CHECK_EQ(completion.imm, 0x80402010 + i);
		CHECK_EQ(completion.byte_len, told_length(scene.duo.b->recv_cq, len));
		CHECK_EQ(completion.src_qp, scene.duo.a->qp->qp_num);
		CHECK_EQ(completion.slid, ah_number(scene.duo.to_a.ah));
		if (kind == CQ_EFA && scene.duo.b->recv_cq->unsolicited)
			CHECK_EQ(completion.unsolicited, !takes_receive);
		buffer_expect(scene.remote, 77 * i, len, SEED + i);
		buffer_expect_clear(scene.remote, 0, 77 * i);
		buffer_expect_clear(scene.remote, 77 * i + len,
				    scene.remote->size - 77 * i - len);
		buffer_expect_clear(unused, 0, unused->size);
	}
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
}

EFA_TEST(write_imm_takes_a_receive)
{
	need_write();
	write_imm(true, CQ_PLAIN);
}

EFA_TEST(write_imm_takes_a_receive_polled_by_efadv)
{
	need_write();
	write_imm(true, CQ_EFA);
}

EFA_TEST(write_imm_unsolicited)
{
	need_write();
	need_unsolicited();
	write_imm(false, CQ_EFA);
}

EFA_TEST(write_imm_unsolicited_polled_plain)
{
	need_write();
	need_unsolicited();
	write_imm(false, CQ_PLAIN);
}

/* a send to such a QP still takes a receive, and the two are told apart */
EFA_TEST(send_to_unsolicited_qp)
{
	struct endpoint_options options = {
		.cq_kind = CQ_EFA, .flags = EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV,
	};
	bool seen_send = false, seen_write = false;
	struct scene scene;
	struct work work[2];

	need_write();
	need_unsolicited();
	scene = scene_new(&options, 100);
	post_recv_one(scene.duo.b, 9, scene.remote, 0, 50);
	buffer_fill(scene.local, SEED);
	work[0] = rdma_work(IBV_WR_RDMA_WRITE_WITH_IMM, &scene.duo.to_b, 1, scene.local, 0, 20,
			    scene.remote, 50);
	work[1] = send_work(&scene.duo.to_b, 2, scene.local, 0, 30);
	REQUIRE(!post(scene.duo.a, work, 2));
	cq_wait_many(scene.duo.a->send_cq, 2);
	for (int i = 0; i < 2; i++) {
		struct completion completion;

		cq_wait(scene.duo.b->recv_cq, &completion);
		completion_expect_success(&completion);
		if (completion.unsolicited) {
			CHECK_EQ(completion.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
			CHECK_EQ(completion.byte_len, 20);
			seen_write = true;
		} else {
			CHECK_EQ(completion.opcode, IBV_WC_RECV);
			CHECK_EQ(completion.id, 9);
			CHECK_EQ(completion.byte_len, 30);
			seen_send = true;
		}
	}
	CHECK(seen_send && seen_write);
	buffer_expect(scene.remote, 0, 30, SEED);
	buffer_expect(scene.remote, 50, 20, SEED);
}

/* ---- inline write -------------------------------------------------------- */

EFA_TEST(f26_write_inline)
{
	struct endpoint_options options = {
		.flags = EFADV_QP_FLAGS_INLINE_WRITE, .inline_data = self->efa.inline_buf_size_ex,
	};
	struct scene scene;
	uint8_t data[256];

	need_write();
	need_wide();
	scene = scene_new(&options, 300);
	for (unsigned int len = 0; len <= options.inline_data; len++) {
		struct work work = {
			.opcode = len & 1 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
			.id = len, .inlined = true, .imm = len, .to = scene.duo.to_b,
			.sge = { { .addr = (uintptr_t)data, .length = len } }, .sges = 1,
			.remote_addr = buffer_addr(scene.remote, len),
			.rkey = scene.remote->mr->rkey,
		};

		buffer_clear(scene.remote);
		fill(data, sizeof(data), SEED + len);
		if (len & 1)
			REQUIRE(!post_recv(scene.duo.b, len, &(struct ibv_sge) {
				.addr = buffer_addr(scene.remote, 0), .length = 1,
				.lkey = scene.remote->mr->lkey }, 1));
		post_one(scene.duo.a, &work);
		memset(data, 0xee, sizeof(data));
		expect_done(&scene, len, IBV_WR_RDMA_WRITE);
		if (len & 1)
			cq_wait_many(scene.duo.b->recv_cq, 1);
		buffer_expect(scene.remote, len, len, SEED + len);
		buffer_expect_clear(scene.remote, 0, len);
		buffer_expect_clear(scene.remote, 2 * len, scene.remote->size - 2 * len);
	}
}

/* the QP must have been made for it; a read has nothing to put inline (F-26) */
EFA_TEST(f26_inline_refused)
{
	struct endpoint_options with = { .flags = EFADV_QP_FLAGS_INLINE_WRITE, .inline_data = 32 };
	struct endpoint_options without = { .inline_data = 32 };
	bool wide = self->provider.inline_buf_size_ex > self->provider.inline_buf_size;
	uint8_t data[8] = { 0 };

	need_write();
	need_read();
	if (libefa_release() < 64 && !adapter_is_taken_over(self))
		SKIP("libefa posts what the adapter cannot do: a newer one does not");
	for (int i = 0; i < (wide ? 2 : 1); i++) {
		struct scene scene = scene_new(i ? &with : &without, 100);
		struct work work = {
			.opcode = i ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .inlined = true,
			.sge = { { .addr = (uintptr_t)data, .length = 8 } }, .sges = 1,
			.remote_addr = buffer_addr(scene.remote, 0), .rkey = scene.remote->mr->rkey,
			.to = scene.duo.to_b,
		};

		CHECK_EQ(post(scene.duo.a, &work, 1), EINVAL);
		CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
		buffer_expect_clear(scene.remote, 0, 100);
	}
}

/* an adapter without RDMA writes makes no QP for inline ones */
EFA_TEST(f26_flag_on_an_adapter_without_writes)
{
	struct cq *cq = cq_new(self, 16, NULL);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .send_cq = cq->cq, .recv_cq = cq->cq,
		.pd = pd_new(self), .send_ops_flags = IBV_QP_EX_WITH_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct efadv_qp_init_attr efa = { .flags = EFADV_QP_FLAGS_INLINE_WRITE };

	if (can_write(self))
		SKIP("is about adapters without RDMA write");
	errno = 0;
	CHECK(!efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EOPNOTSUPP);
}

/* RDMA takes one local SGE, whatever sends take */
EFA_TEST(rdma_of_two_sges_refused)
{
	struct scene scene;
	struct work work;

	need_write();
	scene = scene_new(NULL, 100);
	work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, 1, scene.local, 0, 10,
			 scene.remote, 0);
	work.sge[1] = buffer_sge(scene.local, 10, 10);
	work.sges = 2;
	CHECK_EQ(post(scene.duo.a, &work, 1), EINVAL);
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	buffer_expect_clear(scene.remote, 0, 100);
}

/* ibv_post_send() knows sends only */
EFA_TEST(rdma_by_post_send_refused)
{
	struct scene scene;
	struct work work;

	need_write();
	scene = scene_new(&(struct endpoint_options) { .plain = true }, 100);
	work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, 1, scene.local, 0, 10,
			 scene.remote, 0);
	CHECK_EQ(post(scene.duo.a, &work, 1), EINVAL);
	work.opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(post(scene.duo.a, &work, 1), EINVAL);
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
}

/* nor does UD (F-33) */
EFA_TEST(f33_rdma_on_ud_refused)
{
	static const uint64_t ops[] = {
		IBV_QP_EX_WITH_RDMA_READ, IBV_QP_EX_WITH_RDMA_WRITE,
		IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
		IBV_QP_EX_WITH_LOCAL_INV, IBV_QP_EX_WITH_SEND_WITH_INV,
	};
	struct cq *cq = cq_new(self, 16, NULL);
	struct ibv_pd *pd = pd_new(self);

	for (unsigned int i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct ibv_qp_init_attr_ex attr = {
			.qp_type = IBV_QPT_UD, .send_cq = cq->cq, .recv_cq = cq->cq, .pd = pd,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				 .max_recv_sge = 1 },
			.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
			.send_ops_flags = IBV_QP_EX_WITH_SEND | ops[i],
		};

		errno = 0;
		CHECK(!ibv_create_qp_ex(self->context, &attr));
		CHECK_EQ(errno, EOPNOTSUPP);
	}
}

EFA_TEST_MAIN
