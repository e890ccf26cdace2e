// SPDX-License-Identifier: GPL-2.0
/*
 * RC on ionic reaches into its peer's memory: reads, writes, atomics; and into its own tables:
 * windows of both types and invalidation of their keys.
 */
#include "lib/ionic_test.h"

#define SEED	7654321
#define SIZE	(1u << 20)
#define LARGE	(16u << 20)

/**
 * struct scene - two connected endpoints with a buffer each
 */
struct scene {
	struct duo duo;
	struct buffer *local, *remote;
};

static struct scene scene_new_of(size_t size)
{
	struct scene scene = { .duo = duo_new(NULL) };

	scene.local = buffer_new(scene.duo.a->pd, size, IBV_ACCESS_LOCAL_WRITE);
	scene.remote = buffer_new(scene.duo.b->pd, size, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE |
				  IBV_ACCESS_MW_BIND);
	return scene;
}

static struct scene scene_new(void)
{
	return scene_new_of(SIZE);
}

static void expect_done(struct scene *scene, uint64_t id, enum ibv_wc_opcode opcode)
{
	struct completion completion;

	cq_wait(scene->duo.a->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, id);
	CHECK_EQ(completion.opcode, opcode);
	CHECK_EQ(completion.qp_num, scene->duo.a->qp->qp_num);
}

static const unsigned int sizes[] = {
	0, 1, 3, 4, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2048, 4095, 4096, 4097, 65535, 65537,
	300007, SIZE - 100, 0,
};

/* ---- reads and writes ------------------------------------------------------------------------ */

IONIC_TEST(write_of_every_size)
{
	struct scene scene = scene_new();

	buffer_fill(scene.local, SEED);
	for (unsigned int i = 0; !i || sizes[i]; i++) {
		struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, i, scene.local, 0,
					     sizes[i], scene.remote, i);

		buffer_clear(scene.remote);
		post_one(scene.duo.a, &work);
		expect_done(&scene, i, IBV_WC_RDMA_WRITE);
		buffer_expect(scene.remote, i, sizes[i], SEED);
		buffer_expect_clear(scene.remote, 0, i);
		buffer_expect_clear(scene.remote, i + sizes[i], SIZE - i - sizes[i]);
		buffer_expect_guards(scene.remote);
	}
	CHECK(cq_quiet(scene.duo.b->recv_cq, 0));
}

IONIC_TEST(read_of_every_size)
{
	struct scene scene = scene_new();

	buffer_fill(scene.remote, SEED);
	for (unsigned int i = 0; !i || sizes[i]; i++) {
		struct work work = rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, i, scene.local, i,
					     sizes[i], scene.remote, 0);

		buffer_clear(scene.local);
		post_one(scene.duo.a, &work);
		expect_done(&scene, i, IBV_WC_RDMA_READ);
		buffer_expect(scene.local, i, sizes[i], SEED);
		buffer_expect_clear(scene.local, 0, i);
		buffer_expect_clear(scene.local, i + sizes[i], SIZE - i - sizes[i]);
		buffer_expect_guards(scene.local);
	}
}

/* more packets than a window, a page table of many entries */
IONIC_TEST(many_megabytes)
{
	struct scene scene = scene_new_of(LARGE);
	struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, 1, scene.local, 0, LARGE,
				     scene.remote, 0);

	buffer_fill(scene.local, SEED);
	post_one(scene.duo.a, &work);
	expect_done(&scene, 1, IBV_WC_RDMA_WRITE);
	buffer_expect(scene.remote, 0, LARGE, SEED);
	buffer_clear(scene.local);
	work.opcode = IBV_WR_RDMA_READ;
	post_one(scene.duo.a, &work);
	expect_done(&scene, 1, IBV_WC_RDMA_READ);
	buffer_expect(scene.local, 0, LARGE, SEED);
}

IONIC_TEST(pieces)
{
	struct scene scene = scene_new();
	struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, 1, scene.local, 0, 1,
				     scene.remote, 0);

	for (unsigned int n = 1; n <= 8; n++) {
		buffer_clear(scene.remote);
		buffer_fill(scene.local, SEED);
		work.sges = n;
		/* one after the other, so that the pattern goes through */
		for (unsigned int i = 0; i < n; i++)
			work.sge[i] = buffer_sge(scene.local, i * 900, 900);
		work.opcode = IBV_WR_RDMA_WRITE;
		post_one(scene.duo.a, &work);
		expect_done(&scene, 1, IBV_WC_RDMA_WRITE);
		buffer_expect(scene.remote, 0, n * 900, SEED);
		buffer_clear(scene.local);
		work.opcode = IBV_WR_RDMA_READ;
		post_one(scene.duo.a, &work);
		expect_done(&scene, 1, IBV_WC_RDMA_READ);
		buffer_expect(scene.local, 0, n * 900, SEED);
		buffer_expect_clear(scene.local, n * 900, 5000);
	}
}

IONIC_TEST(inline_write)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .inline_data = 96 });
	struct buffer *remote = buffer_new(duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	uint8_t data[96];

	REQUIRE(duo.a->cap.max_inline_data >= 96);
	for (unsigned int len = 0; len <= 96; len += 3) {
		struct work work = {
			.opcode = IBV_WR_RDMA_WRITE, .id = len, .inlined = true, .sges = 1,
			.sge = { { .addr = (uintptr_t)data, .length = len } },
			.remote_addr = buffer_addr(remote, len), .rkey = remote->mr->rkey,
		};

		fill(data, sizeof(data), len);
		buffer_clear(remote);
		post_one(duo.a, &work);
		memset(data, 0, sizeof(data));
		cq_wait_many(duo.a->send_cq, 1);
		buffer_expect(remote, len, len, len);
		buffer_expect_clear(remote, 2 * len, 4096 - 2 * len);
	}
}

/* takes a receive, touches none of its memory, and comes behind the data */
IONIC_TEST(write_with_immediate)
{
	static const unsigned int lengths[] = { 0, 1, 1024, 1025, 100000 };
	struct scene scene = scene_new();
	struct buffer *unused = buffer_new(scene.duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);

	buffer_fill(scene.local, SEED);
	for (unsigned int i = 0; i < 5; i++) {
		struct work work = rdma_work(IBV_WR_RDMA_WRITE_WITH_IMM, &scene.duo.to_b, i,
					     scene.local, 0, lengths[i], scene.remote, 5);
		struct completion completion;

		work.imm = 0xabcd0000 + i;
		buffer_clear(scene.remote);
		post_recv_one(scene.duo.b, i + 10, unused, 0, 64);
		post_one(scene.duo.a, &work);
		cq_wait(scene.duo.b->recv_cq, &completion);
		buffer_expect(scene.remote, 5, lengths[i], SEED);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, i + 10);
		CHECK_EQ(completion.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(completion.flags, IBV_WC_WITH_IMM);
		CHECK_EQ(completion.imm, work.imm);
		CHECK_EQ(completion.byte_len, lengths[i]);
		expect_done(&scene, i, IBV_WC_RDMA_WRITE);
		buffer_expect_clear(unused, 0, 64);
	}
}

/* more at once than the adapters agreed on: the others wait, and all arrive in order */
IONIC_TEST(more_reads_than_agreed)
{
	struct endpoint_options few = {
		.connection = { .reads = RETRY(2), .responder = RETRY(2) },
	};
	struct duo duo = duo_new(&few);
	struct buffer *local = buffer_new(duo.a->pd, ENDPOINT_WR * 3000, IBV_ACCESS_LOCAL_WRITE);
	struct buffer *remote = buffer_new(duo.b->pd, ENDPOINT_WR * 3000,
					   IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);

	buffer_fill(remote, SEED);
	for (unsigned int i = 0; i < ENDPOINT_WR; i++) {
		struct work work = rdma_work(IBV_WR_RDMA_READ, &duo.to_b, i, local, i * 3000, 3000,
					     remote, i * 3000);

		post_one(duo.a, &work);
	}
	for (unsigned int i = 0; i < ENDPOINT_WR; i++)
		expect_status(duo.a->send_cq, i, IBV_WC_SUCCESS);
	buffer_expect(local, 0, ENDPOINT_WR * 3000, SEED);
}

/* a send that is fenced carries what the read before it has brought */
IONIC_TEST(fence)
{
	struct scene scene = scene_new();
	struct buffer *to = buffer_new(scene.duo.b->pd, SIZE, IBV_ACCESS_LOCAL_WRITE);
	struct work work[2] = {
		rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, 1, scene.local, 0, 200000,
			  scene.remote, 0),
		send_work(&scene.duo.to_b, 2, scene.local, 0, 200000),
	};

	buffer_fill(scene.remote, SEED);
	work[1].extra_flags = IBV_SEND_FENCE;
	for (unsigned int i = 0; i < 5; i++) {
		buffer_clear(scene.local);
		buffer_clear(to);
		post_recv_one(scene.duo.b, 3, to, 0, SIZE);
		REQUIRE(!post(scene.duo.a, work, 2));
		expect_done(&scene, 1, IBV_WC_RDMA_READ);
		expect_done(&scene, 2, IBV_WC_SEND);
		expect_status(scene.duo.b->recv_cq, 3, IBV_WC_SUCCESS);
		buffer_expect(to, 0, 200000, SEED);
	}
}

/* ---- atomics --------------------------------------------------------------------------------- */

static uint64_t *word(const struct buffer *buffer, size_t off)
{
	return (uint64_t *)(buffer->data + off);
}

static uint64_t atomic(struct scene *scene, enum ibv_wr_opcode opcode, uint64_t compare_add,
		       uint64_t swap)
{
	struct work work = atomic_work(opcode, &scene->duo.to_b, 1, scene->local, 64, scene->remote,
				       128, compare_add, swap);

	post_one(scene->duo.a, &work);
	expect_done(scene, 1, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? IBV_WC_FETCH_ADD :
			      IBV_WC_COMP_SWAP);
	return *word(scene->local, 64);
}

IONIC_TEST(fetch_and_add)
{
	static const uint64_t values[] = { 1, 0, 0xffffffff, 1ull << 63, UINT64_MAX, 12345 };
	struct scene scene = scene_new();
	uint64_t sum = 0x123456789abcdef0;

	*word(scene.remote, 128) = sum;
	for (unsigned int i = 0; i < 6; i++) {
		CHECK_EQ(atomic(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, values[i], 0), sum);
		sum += values[i];
		CHECK_EQ(*word(scene.remote, 128), sum);
	}
	CHECK_EQ(*word(scene.remote, 120), 0);
	CHECK_EQ(*word(scene.remote, 136), 0);
	CHECK_EQ(*word(scene.local, 56), 0);
	CHECK_EQ(*word(scene.local, 72), 0);
}

IONIC_TEST(compare_and_swap)
{
	struct scene scene = scene_new();
	uint64_t first = 0x0123456789abcdef, second = 0xfedcba9876543210;

	*word(scene.remote, 128) = first;
	CHECK_EQ(atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, first, second), first);
	CHECK_EQ(*word(scene.remote, 128), second);
	/* one bit is enough to differ, in either half */
	CHECK_EQ(atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, second ^ 1, first), second);
	CHECK_EQ(atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, second ^ 1ull << 63, first), second);
	CHECK_EQ(*word(scene.remote, 128), second);
}

/* two sides add to one word at once: no addition is lost */
IONIC_TEST(additions_of_two)
{
	struct scene scene = scene_new();
	struct buffer *home = buffer_new(scene.duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	struct duo other = duo_new2(&(struct endpoint_options) { .pd = scene.duo.a->pd },
				    &(struct endpoint_options) { .pd = scene.duo.b->pd });

	for (unsigned int i = 0; i < 100; i++) {
		struct work work = atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, &scene.duo.to_b, i,
					       scene.local, 0, scene.remote, 0, 3, 0);

		post_one(scene.duo.a, &work);
		post_one(other.a, &work);
		cq_wait_many(scene.duo.a->send_cq, 1);
		cq_wait_many(other.a->send_cq, 1);
	}
	CHECK_EQ(*word(scene.remote, 0), 600);
	buffer_expect_clear(home, 0, 64);
}

/* ---- windows --------------------------------------------------------------------------------- */

static int drop_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static struct ibv_mw *window_new(struct scene *scene, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(scene->duo.b->pd, type);

	LAB_NEED(mw, "ibv_alloc_mw: %s", strerror(errno));
	lab_hold(drop_mw, mw);
	return mw;
}

/* B binds, its completion says so */
static void bind2(struct scene *scene, struct ibv_mw *mw, size_t off, size_t len,
		  unsigned int access)
{
	struct work work = bind_work(9, mw, ibv_inc_rkey(mw->rkey), scene->remote->mr,
				     buffer_addr(scene->remote, off), len, access);
	struct completion completion;

	post_one(scene->duo.b, &work);
	cq_wait(scene->duo.b->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, 9);
	CHECK_EQ(completion.opcode, IBV_WC_BIND_MW);
	mw->rkey = work.bind.rkey;
}

/* A writes @len bytes at @off by @rkey; returns how that ends. A is of no use after an error */
static enum ibv_wc_status write_by_key(struct scene *scene, uint32_t rkey, size_t off, size_t len)
{
	struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene->duo.to_b, 5, scene->local, 0, len,
				     scene->remote, off);
	struct completion completion;

	work.rkey = rkey;
	post_one(scene->duo.a, &work);
	cq_wait(scene->duo.a->send_cq, &completion);
	CHECK_EQ(completion.id, 5);
	return completion.status;
}

IONIC_TEST(window_of_type_2)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);

	buffer_fill(scene.local, SEED);
	bind2(&scene, mw, 1000, 500, IBV_ACCESS_REMOTE_WRITE);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 1000, 500), IBV_WC_SUCCESS);
	buffer_expect(scene.remote, 1000, 500, SEED);
	buffer_expect_clear(scene.remote, 0, 1000);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 1001, 500), IBV_WC_REM_ACCESS_ERR);
	buffer_expect_clear(scene.remote, 1500, 100);
}

IONIC_TEST(window_allows_what_it_says)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);

	bind2(&scene, mw, 0, 4096, IBV_ACCESS_REMOTE_READ);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 0, 100), IBV_WC_REM_ACCESS_ERR);
	buffer_expect_clear(scene.remote, 0, 4096);
}

/* the owner takes the key back by work of its own */
IONIC_TEST(local_invalidate)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);
	struct work work;
	struct completion completion;

	bind2(&scene, mw, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 0, 100), IBV_WC_SUCCESS);
	work = invalidate_work(8, mw->rkey);
	post_one(scene.duo.b, &work);
	cq_wait(scene.duo.b->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.opcode, IBV_WC_LOCAL_INV);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 0, 100), IBV_WC_REM_ACCESS_ERR);
}

/* a key comes again under another tag, and the old one is dead */
IONIC_TEST(window_bound_again)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);
	struct work work;
	uint32_t old;

	bind2(&scene, mw, 0, 100, IBV_ACCESS_REMOTE_WRITE);
	old = mw->rkey;
	work = invalidate_work(8, old);
	post_one(scene.duo.b, &work);
	cq_wait_many(scene.duo.b->send_cq, 1);
	bind2(&scene, mw, 200, 100, IBV_ACCESS_REMOTE_WRITE);
	CHECK_EQ(mw->rkey >> 8, old >> 8);
	CHECK(mw->rkey != old);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 200, 100), IBV_WC_SUCCESS);
	CHECK_EQ(write_by_key(&scene, old, 0, 100), IBV_WC_REM_ACCESS_ERR);
}

/* the sender takes the key back: the receiver hears which */
IONIC_TEST(send_with_invalidate)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);
	struct buffer *to = buffer_new(scene.duo.b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&scene.duo.to_b, 6, scene.local, 0, 1500);
	struct ibv_wc wc = {};
	uint64_t end = now_ms() + PATIENCE_MS;

	buffer_fill(scene.local, SEED);
	bind2(&scene, mw, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
	work.opcode = IBV_WR_SEND_WITH_INV;
	work.invalidate = mw->rkey;
	post_recv_one(scene.duo.b, 7, to, 0, 4096);
	post_one(scene.duo.a, &work);
	expect_done(&scene, 6, IBV_WC_SEND);
	while (!ibv_poll_cq(scene.duo.b->recv_cq->cq, 1, &wc))
		LAB_NEED(now_ms() < end, "nothing arrives");
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, 7);
	CHECK_EQ(wc.byte_len, 1500);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, mw->rkey);
	buffer_expect(to, 0, 1500, SEED);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 0, 100), IBV_WC_REM_ACCESS_ERR);
}

static int bind1(struct scene *scene, struct ibv_mw *mw, size_t off, size_t len)
{
	struct ibv_mw_bind bind = {
		.wr_id = 3, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = scene->remote->mr, .addr = buffer_addr(scene->remote, off),
			.length = len, .mw_access_flags = len ? IBV_ACCESS_REMOTE_WRITE : 0,
		},
	};
	int err = ibv_bind_mw(scene->duo.b->qp, mw, &bind);

	if (!err)
		expect_status(scene->duo.b->send_cq, 3, IBV_WC_SUCCESS);
	return err;
}

IONIC_TEST(window_of_type_1)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_1);
	uint32_t old;

	buffer_fill(scene.local, SEED);
	REQUIRE(!bind1(&scene, mw, 100, 100));
	old = mw->rkey;
	CHECK_EQ(write_by_key(&scene, old, 100, 100), IBV_WC_SUCCESS);
	buffer_expect(scene.remote, 100, 100, SEED);
	/* elsewhere, without invalidating first */
	REQUIRE(!bind1(&scene, mw, 1000, 100));
	CHECK(mw->rkey != old);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 1000, 100), IBV_WC_SUCCESS);
	/* and nowhere */
	REQUIRE(!bind1(&scene, mw, 0, 0));
	CHECK_EQ(write_by_key(&scene, mw->rkey, 1000, 100), IBV_WC_REM_ACCESS_ERR);
}

/* as long as a window shows a region, the adapter keeps it, however often it is asked not to */
IONIC_TEST(region_below_a_window)
{
	struct scene scene = scene_new();
	struct ibv_mw *mw = window_new(&scene, IBV_MW_TYPE_2);
	struct ibv_mr *mr = scene.remote->mr;
	struct work work;

	bind2(&scene, mw, 0, 100, IBV_ACCESS_REMOTE_WRITE);
	for (unsigned int i = 0; i < 3; i++)
		CHECK(ibv_dereg_mr(mr) != 0);
	CHECK_EQ(write_by_key(&scene, mw->rkey, 0, 100), IBV_WC_SUCCESS);
	work = invalidate_work(8, mw->rkey);
	post_one(scene.duo.b, &work);
	cq_wait_many(scene.duo.b->send_cq, 1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	buffer_lose_mr(scene.remote);
}

/* Its region is the younger one, which the kernel takes back first. */
static void die_with_a_window(void *arg)
{
	struct scene scene;
	struct ibv_mw *mw;

	(void)arg;
	/* contexts of its own, which nobody else keeps */
	self->context = ibv_open_device(self->device);
	if (peer != self)
		peer->context = ibv_open_device(peer->device);
	REQUIRE(self->context && peer->context);
	scene.duo = duo_new(NULL);
	mw = window_new(&scene, IBV_MW_TYPE_1);
	scene.remote = buffer_new(scene.duo.b->pd, SIZE, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE |
				  IBV_ACCESS_MW_BIND);
	REQUIRE(!bind1(&scene, mw, 0, 100));
	raise(SIGKILL);
}

/* everything of a program that is killed goes, and nobody else notices */
IONIC_TEST(program_with_a_window_is_killed)
{
	struct model_stats before;
	struct scene scene;
	int status;
	pid_t pid;

	need_model();
	scene = scene_new();
	model_stats(peer->model, &before);
	pid = child_start(die_with_a_window, NULL);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	if (peer != self)
		adapter_expect_objects(peer, &before);
	buffer_fill(scene.local, SEED);
	CHECK_EQ(write_by_key(&scene, scene.remote->mr->rkey, 0, 100), IBV_WC_SUCCESS);
	buffer_expect(scene.remote, 0, 100, SEED);
}

/* ---- posting what cannot be ------------------------------------------------------------------ */

IONIC_TEST(refused_when_posted)
{
	struct scene scene = scene_new();
	struct work work = atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, &scene.duo.to_b, 1, scene.local,
				       0, scene.remote, 0, 1, 0);

	work.sge[0].length = 4;
	CHECK(post(scene.duo.a, &work, 1) != 0);
	work.sge[0].length = 8;
	work.sges = 2;
	work.sge[1] = work.sge[0];
	CHECK(post(scene.duo.a, &work, 1) != 0);
	work = rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, 1, scene.local, 0, 8, scene.remote, 0);
	work.inlined = true;
	CHECK(post(scene.duo.a, &work, 1) != 0);
	work.inlined = false;
	work.sges = 9;
	CHECK(post(scene.duo.a, &work, 1) != 0);
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	work.sges = 1;
	post_one(scene.duo.a, &work);
	expect_done(&scene, 1, IBV_WC_RDMA_READ);
}

IONIC_TEST_MAIN
