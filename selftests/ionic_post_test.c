// SPDX-License-Identifier: GPL-2.0
/*
 * Posting and polling by the inline code of <dvq/ionic.h> on an adapter: every kind of request,
 * every byte compared, with the queues in host memory, in controller memory and with express
 * doorbells; wraps, full rings, undoing, windows, errors, flushes, events, both pipelines. What
 * the code puts into memory without an adapter is tested in native/.
 */
#include <dvq/dvq.h>
#include <infiniband/ionic_dv.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ionic_test.h"

#define ROWS	1024
#define SEED	77

enum place { HOST, CMB, EXPRESS };

/* one side: the rings of an endpoint, opened */
struct side {
	struct endpoint *endpoint;
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq send_cq, recv_cq;
	struct dvq_ionic_cq_qp send_rows[ROWS], recv_rows[ROWS];
	struct dvq_ionic_req *sends, *recvs;
};

static int close_side(void *object)
{
	struct side *side = object;

	dvq_ionic_cq_close(&side->recv_cq);
	dvq_ionic_cq_close(&side->send_cq);
	dvq_ionic_rq_close(&side->rq);
	dvq_ionic_sq_close(&side->sq);
	free(side->recvs);
	free(side->sends);
	free(side);
	return 0;
}

static void *zeroed(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	LAB_NEED(memory, "no memory");
	return memory;
}

/* must succeed; undone at the end of the test */
static struct side *side_new(struct endpoint *endpoint)
{
	struct side *side = zeroed(1, sizeof(*side));

	side->endpoint = endpoint;
	lab_hold(close_side, side);
	REQUIRE(!dvq_ionic_sq_open(endpoint->qp, &side->sq, sizeof(side->sq)));
	REQUIRE(!dvq_ionic_rq_open(endpoint->qp, &side->rq, sizeof(side->rq)));
	REQUIRE(!dvq_ionic_cq_open(endpoint->send_cq->cq, &side->send_cq, sizeof(side->send_cq)));
	REQUIRE(!dvq_ionic_cq_open(endpoint->recv_cq->cq, &side->recv_cq, sizeof(side->recv_cq)));
	side->sends = zeroed(dvq_ionic_reqs_slots(&side->sq.wq.reqs), sizeof(*side->sends));
	side->recvs = zeroed(dvq_ionic_reqs_slots(&side->rq.wq.reqs), sizeof(*side->recvs));
	REQUIRE(!dvq_ionic_sq_set_slots(&side->sq, side->sends));
	REQUIRE(!dvq_ionic_rq_set_slots(&side->rq, side->recvs));
	REQUIRE(!dvq_ionic_cq_set_qps(&side->send_cq, side->send_rows, ROWS));
	REQUIRE(!dvq_ionic_cq_set_qps(&side->recv_cq, side->recv_rows, ROWS));
	REQUIRE(!dvq_ionic_cq_attach(&side->send_cq, &side->sq, NULL));
	REQUIRE(!dvq_ionic_cq_attach(&side->recv_cq, NULL, &side->rq));
	return side;
}

/* ---- placement ---------------------------------------------------------------------- */

static uint64_t caps_of(const struct adapter *adapter)
{
	struct dvq_device_info info;

	LAB_NEED(!dvq_device_query(adapter->context, &info, sizeof(info)), "%s", dvq_reason());
	return info.caps;
}

static void need_place(enum place place)
{
	const uint64_t express = DVQ_DEVICE_SQ_EXPDB | DVQ_DEVICE_RQ_EXPDB;
	uint64_t caps;

	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_ionic");
	caps = caps_of(self) & caps_of(peer);
	if (place >= CMB && !(caps & DVQ_DEVICE_SQ_CMB))
		SKIP("the adapter has no controller memory");
	if (place == EXPRESS && (caps & express) != express)
		SKIP("the adapter has no express doorbells");
}

static struct ibv_pd *pd_at(const struct adapter *adapter, enum place place)
{
	struct ibv_pd *pd = pd_new(adapter);
	int err;

	err = ionic_dv_pd_set_sqcmb(pd, place >= CMB, place == EXPRESS, place >= CMB);
	if (!err)
		err = ionic_dv_pd_set_rqcmb(pd, place >= CMB, place == EXPRESS, place >= CMB);
	LAB_NEED(!err, "the placement was refused: %s", dvq_reason());
	return pd;
}

static void expect_place(const struct side *side, enum place place)
{
	CHECK_EQ(!!side->sq.wq.cmb, place >= CMB);
	CHECK_EQ(!!side->rq.wq.cmb, place >= CMB);
	CHECK_EQ(!!side->sq.wq.express, place == EXPRESS);
	CHECK_EQ(!!side->rq.wq.express, place == EXPRESS);
}

/* A sends, B receives */
struct scene {
	struct side *a, *b;
	struct route to_b;
	uint32_t ah;
	struct buffer *out, *in;
	bool ud;
};

#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

/*
 * One receive SGE: libionic asks for express doorbells only where entries have just 64 bytes.
 * Receives are given to one adapter and sends to another, so a sender has to wait for receives,
 * which connections do.
 */
static struct scene scene_of(enum place place, const struct endpoint_options *usual, size_t bytes)
{
	struct endpoint_options a = *usual, b;
	struct dvq_ah_info ah;
	struct scene scene = { .ud = usual->transport == UD };
	struct duo duo;

	need_place(place);
	a.recv_sge = a.recv_sge ?: 1;
	b = a;
	b.inline_data = 0;
	a.pd = pd_at(self, place);
	b.pd = pd_at(peer, place);
	duo = duo_new2(&a, &b);
	scene.a = side_new(duo.a);
	scene.b = side_new(duo.b);
	expect_place(scene.a, place);
	expect_place(scene.b, place);
	scene.to_b = duo.to_b;
	if (scene.ud) {
		REQUIRE(!dvq_ah_query(duo.to_b.ah, &ah, sizeof(ah)));
		scene.ah = ah.ah_num;
	}
	scene.out = buffer_new(duo.a->pd, bytes, ACCESS_ALL);
	scene.in = buffer_new(duo.b->pd, bytes, ACCESS_ALL);
	buffer_fill(scene.out, SEED);
	return scene;
}

static struct scene scene_at(enum place place, size_t bytes)
{
	return scene_of(place, &(struct endpoint_options){ .transport = RC, .send_sge = 2 }, bytes);
}

/* the same test wherever the queues are: test_name_host, test_name_cmb, test_name_express */
#define IONIC_TEST_PLACES(test_name)						\
	static void test_name(enum place place);				\
	IONIC_TEST(test_name##_host) { test_name(HOST); }			\
	IONIC_TEST(test_name##_cmb) { test_name(CMB); }				\
	IONIC_TEST(test_name##_express) { test_name(EXPRESS); }			\
	static void test_name(enum place place)

/* ---- requests ----------------------------------------------------------------------- */

static void set_dest(const struct scene *scene, struct dvq_ionic_wr *wr)
{
	if (scene->ud)
		dvq_ionic_wr_set_dest(wr, scene->ah, scene->to_b.qpn, scene->to_b.qkey);
}

static void set_local(const struct scene *scene, struct dvq_ionic_wr *wr, size_t off, size_t len)
{
	dvq_ionic_wr_set_sge(wr, scene->out->mr->lkey, buffer_addr(scene->out, off), len);
}

static struct dvq_ionic_wr send_wr(const struct scene *scene, size_t off, size_t len)
{
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_send(&wr);
	set_dest(scene, &wr);
	set_local(scene, &wr, off, len);
	return wr;
}

static struct dvq_ionic_sge in_sge(const struct scene *scene, size_t off, size_t len)
{
	return (struct dvq_ionic_sge){
		.addr = buffer_addr(scene->in, off), .length = len, .lkey = scene->in->mr->lkey,
	};
}

static void receive(const struct scene *scene, uint64_t id, size_t off, size_t len)
{
	struct dvq_ionic_sge sge = in_sge(scene, off, len);

	REQUIRE(!dvq_ionic_rq_post(&scene->b->rq, &sge, 1, id));
}

/* published */
static void give(const struct scene *scene, uint64_t id, size_t off, size_t len)
{
	receive(scene, id, off, len);
	dvq_ionic_rq_publish(&scene->b->rq);
}

/* posts and publishes; must be taken */
static void put(struct side *side, const struct dvq_ionic_wr *wr, uint64_t id)
{
	REQUIRE(!dvq_ionic_sq_post(&side->sq, wr, id));
	dvq_ionic_sq_publish(&side->sq);
}

static struct dvq_ionic_wc take(struct dvq_ionic_cq *cq)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct dvq_ionic_wc wc;

	while (!dvq_ionic_cq_poll(cq, &wc, 1))
		LAB_NEED(now_ms() < end, "no completion came");
	return wc;
}

/* the next one is a success of @id */
static struct dvq_ionic_wc expect(struct dvq_ionic_cq *cq, uint64_t id)
{
	struct dvq_ionic_wc wc = take(cq);

	CHECK_EQ(wc.status, IONIC_IO_OK);
	CHECK_EQ(wc.wr_id, id);
	return wc;
}

/* the next one has a status of the verbs */
static void expect_bad(struct dvq_ionic_cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct dvq_ionic_wc wc = take(cq);

	CHECK_STR(ibv_wc_status_str(dvq_ionic_wc_status(&wc)), ibv_wc_status_str(status));
	CHECK_EQ(wc.wr_id, id);
}

/* ---- every kind of request ---------------------------------------------------------- */

IONIC_TEST_PLACES(sends_of_every_length)
{
	static const unsigned int lengths[] = { 0, 1, 31, 64, 1000, 4096, 100000 };
	struct scene scene = scene_at(place, 200000);
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		buffer_clear(scene.in);
		give(&scene, 100 + i, 0, 200000);
		wr = send_wr(&scene, 0, lengths[i]);
		put(scene.a, &wr, i);
		wc = expect(&scene.a->send_cq, i);
		CHECK_EQ(wc.opcode, IBV_WC_SEND);
		CHECK_EQ(wc.qp_num, scene.a->endpoint->qp->qp_num);
		wc = expect(&scene.b->recv_cq, 100 + i);
		CHECK_EQ(wc.opcode, IBV_WC_RECV);
		CHECK_EQ(wc.flags & (DVQ_IONIC_WC_IMM | DVQ_IONIC_WC_INV | DVQ_IONIC_WC_GRH), 0);
		CHECK_EQ(wc.byte_len, lengths[i]);
		buffer_expect(scene.in, 0, lengths[i], SEED);
		buffer_expect_clear(scene.in, lengths[i], 1000);
		buffer_expect_guards(scene.in);
	}
}

/* a program that publishes, and another that rings */
IONIC_TEST_PLACES(f92_somebody_else_rings)
{
	struct scene scene = scene_at(place, 4096);
	struct ibv_qp *qp = scene.a->endpoint->qp;
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 100);
	struct dvq_ionic_wc wc;
	uint64_t data;

	CHECK_EQ(ionic_dv_qp_set_gda(qp, true, false), place == EXPRESS ? EINVAL : 0);
	if (place == EXPRESS)
		return;
	for (unsigned int i = 0; i < 3; i++)
		give(&scene, i, i * 1000, 1000);
	put(scene.a, &wr, 0);
	put(scene.a, &wr, 1);
	sleep_ms(QUIET_MS);
	CHECK(!dvq_ionic_cq_poll(&scene.a->send_cq, &wc, 1));
	/* the last value is for both */
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(qp, &data), 0);
	dvq_doorbell64(scene.a->sq.wq.doorbell, data);
	CHECK_EQ(ionic_dv_qp_set_gda(qp, false, false), 0);
	for (unsigned int i = 0; i < 2; i++) {
		expect(&scene.a->send_cq, i);
		expect(&scene.b->recv_cq, i);
	}
	put(scene.a, &wr, 2);
	expect(&scene.a->send_cq, 2);
	expect(&scene.b->recv_cq, 2);
	buffer_expect(scene.in, 2000, 100, SEED);
}

IONIC_TEST_PLACES(datagrams)
{
	const struct endpoint_options options = { .transport = UD, .send_sge = 1 };
	struct scene scene = scene_of(place, &options, 16384);
	const unsigned int lengths[] = { 0, 1, 100, adapter_mtu(self) };
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		buffer_clear(scene.in);
		give(&scene, 100 + i, 0, 16384);
		dvq_ionic_wr_send_imm(&wr, 0x10203040 + i);
		set_dest(&scene, &wr);
		set_local(&scene, &wr, 0, lengths[i]);
		put(scene.a, &wr, i);
		expect(&scene.a->send_cq, i);
		wc = expect(&scene.b->recv_cq, 100 + i);
		CHECK_EQ(wc.byte_len, lengths[i] + 40);
		CHECK(wc.flags & DVQ_IONIC_WC_GRH);
		CHECK(wc.flags & DVQ_IONIC_WC_IMM);
		CHECK_EQ(wc.imm, 0x10203040 + i);
		CHECK_EQ(wc.src_qp, scene.a->endpoint->qp->qp_num);
		buffer_expect(scene.in, 40, lengths[i], SEED);
		buffer_expect_guards(scene.in);
	}
}

IONIC_TEST_PLACES(sends_of_two_pieces_with_immediate)
{
	struct scene scene = scene_at(place, 4096);
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	dvq_ionic_wr_send_imm(&wr, 0x12345678);
	set_local(&scene, &wr, 0, 300);
	set_local(&scene, &wr, 300, 700);
	give(&scene, 1, 0, 4096);
	put(scene.a, &wr, 2);
	expect(&scene.a->send_cq, 2);
	wc = expect(&scene.b->recv_cq, 1);
	CHECK_EQ(wc.byte_len, 1000);
	CHECK(wc.flags & DVQ_IONIC_WC_IMM);
	CHECK_EQ(wc.imm, 0x12345678);
	buffer_expect(scene.in, 0, 1000, SEED);
}

IONIC_TEST_PLACES(sends_inline)
{
	const struct endpoint_options options = { .transport = RC, .send_sge = 1,
						  .inline_data = 200 };
	struct scene scene = scene_of(place, &options, 4096);
	struct dvq_ionic_wr wr;

	CHECK(scene.a->sq.max_inline >= 200);
	for (unsigned int len = 0; len <= scene.a->sq.max_inline; len += len < 40 ? 1 : 33) {
		dvq_ionic_wr_send(&wr);
		dvq_ionic_wr_set_inline(&wr, len ? scene.out->data : NULL, len);
		buffer_clear(scene.in);
		give(&scene, len, 0, 4096);
		put(scene.a, &wr, len);
		expect(&scene.a->send_cq, len);
		CHECK_EQ(expect(&scene.b->recv_cq, len).byte_len, len);
		buffer_expect(scene.in, 0, len, SEED);
		buffer_expect_clear(scene.in, len, 300);
	}
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, scene.out->data, scene.a->sq.max_inline + 1);
	CHECK_EQ(dvq_ionic_sq_post(&scene.a->sq, &wr, 1), EINVAL);
}

/* as many pieces as a request may have, on both sides */
IONIC_TEST(sends_and_receives_of_many_pieces)
{
	const struct endpoint_options options = { .transport = RC, .recv_sge = 8 };
	struct scene scene = scene_of(CMB, &options, 16384);
	unsigned int sends = scene.a->sq.wq.max_sge, receives = scene.b->rq.wq.max_sge;
	struct dvq_ionic_sge sge[32];
	struct dvq_ionic_wr wr;

	REQUIRE(sends >= 8 && receives >= 8 && receives <= 32);
	for (unsigned int turn = 0; turn < 100; turn++) {
		dvq_ionic_wr_send(&wr);
		for (unsigned int i = 0; i < sends; i++)
			set_local(&scene, &wr, i * 500, 500);
		for (unsigned int i = 0; i < receives; i++)
			sge[i] = in_sge(&scene, i * 600, 600);
		REQUIRE(!dvq_ionic_rq_post(&scene.b->rq, sge, receives, turn));
		dvq_ionic_rq_publish(&scene.b->rq);
		put(scene.a, &wr, turn);
		expect(&scene.a->send_cq, turn);
		CHECK_EQ(expect(&scene.b->recv_cq, turn).byte_len, sends * 500);
	}
	buffer_expect(scene.in, 0, sends * 500, SEED);
	CHECK_EQ(dvq_ionic_rq_post(&scene.b->rq, sge, receives + 1, 1), EINVAL);
}

IONIC_TEST_PLACES(rdma_reads_and_writes)
{
	struct scene scene = scene_at(place, 200000);
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_write(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 100));
	set_local(&scene, &wr, 0, 150000);
	put(scene.a, &wr, 6);
	CHECK_EQ(expect(&scene.a->send_cq, 6).opcode, IBV_WC_RDMA_WRITE);
	buffer_expect_clear(scene.in, 0, 100);
	buffer_expect(scene.in, 100, 150000, SEED);
	buffer_expect_clear(scene.in, 150100, 200000 - 150100);

	dvq_ionic_wr_rdma_write(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0));
	dvq_ionic_wr_set_inline(&wr, scene.out->data, 16);
	put(scene.a, &wr, 7);
	expect(&scene.a->send_cq, 7);
	buffer_expect(scene.in, 0, 16, SEED);

	buffer_fill(scene.in, SEED + 1);
	dvq_ionic_wr_rdma_read(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0));
	set_local(&scene, &wr, 0, 200000);
	put(scene.a, &wr, 5);
	CHECK_EQ(expect(&scene.a->send_cq, 5).opcode, IBV_WC_RDMA_READ);
	buffer_expect(scene.out, 0, 200000, SEED + 1);
	buffer_expect_guards(scene.out);
}

IONIC_TEST_PLACES(rdma_writes_with_immediate)
{
	struct scene scene = scene_at(place, 200000);
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	give(&scene, 8, 150000, 100);
	dvq_ionic_wr_rdma_write_imm(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0), 99);
	set_local(&scene, &wr, 0, 100000);
	put(scene.a, &wr, 7);
	expect(&scene.a->send_cq, 7);
	wc = expect(&scene.b->recv_cq, 8);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.imm, 99);
	CHECK_EQ(wc.byte_len, 100000);
	buffer_expect(scene.in, 0, 100000, SEED);
}

static uint64_t number_at(const struct buffer *buffer, size_t off)
{
	uint64_t number;

	memcpy(&number, buffer->data + off, sizeof(number));
	return number;
}

IONIC_TEST_PLACES(atomics)
{
	struct scene scene = scene_at(place, 4096);
	uint64_t number = 0x1122334455667788;
	struct dvq_ionic_wr wr;

	memcpy(scene.in->data + 64, &number, sizeof(number));
	dvq_ionic_wr_fetch_add(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 64),
			       0x0101010101010101);
	set_local(&scene, &wr, 8, 8);
	put(scene.a, &wr, 1);
	CHECK_EQ(expect(&scene.a->send_cq, 1).opcode, IBV_WC_FETCH_ADD);
	CHECK_EQ(number_at(scene.out, 8), 0x1122334455667788);
	CHECK_EQ(number_at(scene.in, 64), 0x1223344556677889);

	for (int i = 0; i < 2; i++) {
		/* the second time it is not what is compared with */
		dvq_ionic_wr_cmp_swap(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 64),
				      0x1223344556677889, 0xfedcba9876543210);
		set_local(&scene, &wr, 16, 8);
		put(scene.a, &wr, 2);
		CHECK_EQ(expect(&scene.a->send_cq, 2).opcode, IBV_WC_COMP_SWAP);
		CHECK_EQ(number_at(scene.out, 16), i ? 0xfedcba9876543210 : 0x1223344556677889);
		CHECK_EQ(number_at(scene.in, 64), 0xfedcba9876543210);
	}
}

static int drop_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

/* a window opened, used and taken out of use by either side */
IONIC_TEST_PLACES(windows)
{
	struct scene scene = scene_at(place, 4096);
	struct dvq_ionic_bind bind = { .lkey = scene.in->mr->lkey, .length = 1000, .type = 2,
				       .access = IBV_ACCESS_REMOTE_WRITE,
				       .address = buffer_addr(scene.in, 1000) };
	struct ibv_mw *mw = ibv_alloc_mw(scene.b->endpoint->pd, IBV_MW_TYPE_2);
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	REQUIRE(mw);
	lab_hold(drop_mw, mw);
	for (int turn = 0; turn < 2; turn++) {
		bind.rkey = turn ? bind.new_rkey : mw->rkey;
		bind.new_rkey = ibv_inc_rkey(bind.rkey);
		dvq_ionic_wr_bind_mw(&wr, &bind);
		put(scene.b, &wr, 10);
		CHECK_EQ(expect(&scene.b->send_cq, 10).opcode, IBV_WC_BIND_MW);
		dvq_ionic_wr_rdma_write(&wr, bind.new_rkey, buffer_addr(scene.in, 1000));
		set_local(&scene, &wr, 0, 1000);
		put(scene.a, &wr, 11);
		expect(&scene.a->send_cq, 11);
		buffer_expect(scene.in, 1000, 1000, SEED);
		buffer_expect_clear(scene.in, 2000, 2096);
		if (turn) {
			give(&scene, 12, 0, 100);
			dvq_ionic_wr_send_inv(&wr, bind.new_rkey);
			put(scene.a, &wr, 13);
			expect(&scene.a->send_cq, 13);
			wc = expect(&scene.b->recv_cq, 12);
			CHECK(wc.flags & DVQ_IONIC_WC_INV);
			CHECK_EQ(wc.imm, bind.new_rkey);
		} else {
			dvq_ionic_wr_local_inv(&wr, bind.new_rkey);
			put(scene.b, &wr, 14);
			CHECK_EQ(expect(&scene.b->send_cq, 14).opcode, IBV_WC_LOCAL_INV);
		}
	}
	dvq_ionic_wr_rdma_write(&wr, bind.new_rkey, buffer_addr(scene.in, 1000));
	set_local(&scene, &wr, 0, 1000);
	put(scene.a, &wr, 15);
	expect_bad(&scene.a->send_cq, 15, IBV_WC_REM_ACCESS_ERR);
}

/* ---- many --------------------------------------------------------------------------- */

/* blocks of sends, each with contents of its own, in order on both sides */
static void traffic(struct scene *scene, unsigned int blocks, unsigned int block)
{
	struct dvq_ionic_wr wr;
	struct dvq_ionic_wc wc;

	for (unsigned int i = 0; i < blocks; i++) {
		buffer_clear(scene->in);
		for (unsigned int j = 0; j < block; j++)
			receive(scene, j, j * 16, 16);
		dvq_ionic_rq_publish(&scene->b->rq);
		for (unsigned int j = 0; j < block; j++) {
			wr = send_wr(scene, j * 16, 16);
			/* only the last of a block is signaled */
			dvq_ionic_wr_set_flags(&wr, j == block - 1 ? DVQ_IONIC_SIGNALED : 0);
			REQUIRE(!dvq_ionic_sq_post(&scene->a->sq, &wr, j));
		}
		dvq_ionic_sq_publish(&scene->a->sq);
		expect(&scene->a->send_cq, block - 1);
		for (unsigned int j = 0; j < block; j++) {
			wc = expect(&scene->b->recv_cq, j);
			CHECK_EQ(wc.byte_len, 16);
		}
		buffer_expect(scene->in, 0, block * 16, SEED);
		CHECK_EQ(dvq_ionic_sq_room(&scene->a->sq), scene->a->sq.wq.reqs.limit);
		CHECK_EQ(dvq_ionic_rq_room(&scene->b->rq), scene->b->rq.wq.reqs.limit);
	}
	CHECK_EQ(scene->a->send_cq.bad + scene->a->send_cq.stale, 0);
	CHECK_EQ(scene->b->recv_cq.bad + scene->b->recv_cq.stale, 0);
}

IONIC_TEST_PLACES(rings_wrap)
{
	struct scene scene = scene_at(place, 4096);

	traffic(&scene, 40, 23);	/* ends at every place of 64 entries, and wraps the CQ too */
	traffic(&scene, 3, 63);
}

IONIC_TEST_PLACES(f28_rings_that_are_full)
{
	struct scene scene = scene_at(place, 4096);
	struct dvq_ionic_sge sge = in_sge(&scene, 0, 64);
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 16);
	unsigned int sends = dvq_ionic_sq_room(&scene.a->sq);
	unsigned int receives = dvq_ionic_rq_room(&scene.b->rq);

	CHECK_EQ(sends, scene.a->endpoint->cap.max_send_wr);
	CHECK_EQ(receives, scene.b->endpoint->cap.max_recv_wr);
	for (unsigned int i = 0; i < receives; i++)
		REQUIRE(!dvq_ionic_rq_post(&scene.b->rq, &sge, 1, i));
	CHECK_EQ(dvq_ionic_rq_post(&scene.b->rq, &sge, 1, 0), ENOMEM);
	dvq_ionic_rq_publish(&scene.b->rq);
	for (unsigned int i = 0; i < sends; i++)
		REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, i));
	CHECK_EQ(dvq_ionic_sq_post(&scene.a->sq, &wr, 0), ENOMEM);
	dvq_ionic_sq_publish(&scene.a->sq);
	for (unsigned int i = 0; i < sends && i < receives; i++) {
		expect(&scene.a->send_cq, i);
		expect(&scene.b->recv_cq, i);
	}
	CHECK_EQ(dvq_ionic_sq_post(&scene.a->sq, &wr, 0), 0);
}

/* what was put together and given up never reaches the adapter (F-13) */
IONIC_TEST_PLACES(f13_blocks_given_up)
{
	struct scene scene = scene_at(place, 4096);
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 16);

	traffic(&scene, 1, 61);		/* so that the next block wraps */
	for (unsigned int i = 0; i < 5; i++)
		REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, i));
	dvq_ionic_sq_abort(&scene.a->sq);
	CHECK_EQ(dvq_ionic_sq_room(&scene.a->sq), scene.a->sq.wq.reqs.limit);
	receive(&scene, 1, 0, 64);
	dvq_ionic_rq_abort(&scene.b->rq);
	traffic(&scene, 10, 23);
}

/* entries of all sizes, with payload in every byte that they have (F-18) */
IONIC_TEST_PLACES(f18_entries_arrive_whole)
{
	for (unsigned int size = 64; size <= 512; size *= 2) {
		const struct endpoint_options options = {
			.transport = RC, .send_sge = 1,
			.inline_data = size - 32 - (place == EXPRESS ? 8 : 0),
		};
		struct scene scene = scene_of(place, &options, 4096);
		struct dvq_ionic_wr wr;

		CHECK_EQ(1u << scene.a->sq.wq.entry_log2, size);
		for (unsigned int turn = 0; turn < 200; turn += 8) {
			for (unsigned int i = 0; i < 8; i++)
				receive(&scene, i, i * 500, 500);
			dvq_ionic_rq_publish(&scene.b->rq);
			for (unsigned int i = 0; i < 8; i++) {
				fill(scene.out->data, scene.a->sq.max_inline, turn + i);
				dvq_ionic_wr_send(&wr);
				dvq_ionic_wr_set_inline(&wr, scene.out->data,
							scene.a->sq.max_inline);
				REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, i));
			}
			dvq_ionic_sq_publish(&scene.a->sq);
			for (unsigned int i = 0; i < 8; i++) {
				expect(&scene.a->send_cq, i);
				expect(&scene.b->recv_cq, i);
				buffer_expect(scene.in, i * 500, scene.a->sq.max_inline, turn + i);
			}
		}
	}
}

IONIC_TEST(doorbells_are_saved)
{
	struct scene scene = scene_at(HOST, 4096);
	struct model_stats before;

	need_model();
	model_stats(self->model, &before);
	traffic(&scene, 1, 20);
	CHECK_EQ(model_delta(self->model, &before, "doorbells_express"), 0);
}

IONIC_TEST(express_doorbells_ring_for_each)
{
	struct scene scene = scene_at(EXPRESS, 4096);
	struct model_stats a, b;

	need_model();
	if (self == peer)
		SKIP("needs two adapters");
	model_stats(self->model, &a);
	model_stats(peer->model, &b);
	traffic(&scene, 1, 20);
	CHECK_EQ(model_delta(self->model, &a, "doorbells_express"), 20);
	CHECK_EQ(model_delta(peer->model, &b, "doorbells_express"), 20);
}

/* ---- errors ------------------------------------------------------------------------- */

IONIC_TEST_PLACES(errors_flush_what_is_behind)
{
	struct scene scene = scene_at(place, 4096);
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 16), bad;

	for (unsigned int i = 0; i < 3; i++)
		receive(&scene, 20 + i, 0, 64);
	dvq_ionic_rq_publish(&scene.b->rq);
	dvq_ionic_wr_send(&bad);
	dvq_ionic_wr_set_sge(&bad, 0x00abcd00, buffer_addr(scene.out, 0), 16);
	dvq_ionic_wr_set_flags(&wr, 0);
	dvq_ionic_wr_set_flags(&bad, 0);
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, 1));
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &bad, 1234567890123456789ull));
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, 3));
	dvq_ionic_sq_publish(&scene.a->sq);
	/* failures are reported though nothing is signaled */
	expect_bad(&scene.a->send_cq, 1234567890123456789ull, IBV_WC_LOC_PROT_ERR);
	expect_bad(&scene.a->send_cq, 3, IBV_WC_WR_FLUSH_ERR);
	put(scene.a, &wr, 4);
	expect_bad(&scene.a->send_cq, 4, IBV_WC_WR_FLUSH_ERR);
	/* what came before arrived */
	expect(&scene.b->recv_cq, 20);
	/* and when the peer fails, its receives come back */
	REQUIRE(!endpoint_modify(scene.b->endpoint, IBV_QPS_ERR));
	expect_bad(&scene.b->recv_cq, 21, IBV_WC_WR_FLUSH_ERR);
	expect_bad(&scene.b->recv_cq, 22, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(dvq_ionic_rq_room(&scene.b->rq), scene.b->rq.wq.reqs.limit);
}

IONIC_TEST(error_of_the_peer)
{
	struct scene scene = scene_at(HOST, 4096);
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_write(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0));
	set_local(&scene, &wr, 0, 16);
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, 1));
	dvq_ionic_wr_rdma_write(&wr, 0x00abcd00, buffer_addr(scene.in, 0));
	set_local(&scene, &wr, 0, 16);
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, 2));
	REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, 3));
	dvq_ionic_sq_publish(&scene.a->sq);
	expect(&scene.a->send_cq, 1);
	expect_bad(&scene.a->send_cq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_bad(&scene.a->send_cq, 3, IBV_WC_WR_FLUSH_ERR);
}

IONIC_TEST(message_that_is_too_long_for_its_receive)
{
	struct scene scene = scene_at(HOST, 4096);
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 100);

	receive(&scene, 1, 0, 99);
	receive(&scene, 2, 0, 99);
	dvq_ionic_rq_publish(&scene.b->rq);
	put(scene.a, &wr, 3);
	expect_bad(&scene.b->recv_cq, 1, IBV_WC_LOC_LEN_ERR);
	expect_bad(&scene.b->recv_cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_bad(&scene.a->send_cq, 3, IBV_WC_REM_INV_REQ_ERR);
}

static void reopen(struct side *side)
{
	struct ibv_qp *qp = side->endpoint->qp;

	CHECK_EQ(dvq_ionic_cq_detach(&side->send_cq, qp->qp_num), 0);
	CHECK_EQ(dvq_ionic_cq_detach(&side->recv_cq, qp->qp_num), 0);
	dvq_ionic_sq_close(&side->sq);
	dvq_ionic_rq_close(&side->rq);
	REQUIRE(!dvq_ionic_sq_open(qp, &side->sq, sizeof(side->sq)));
	REQUIRE(!dvq_ionic_rq_open(qp, &side->rq, sizeof(side->rq)));
	REQUIRE(!dvq_ionic_sq_set_slots(&side->sq, side->sends));
	REQUIRE(!dvq_ionic_rq_set_slots(&side->rq, side->recvs));
	REQUIRE(!dvq_ionic_cq_attach(&side->send_cq, &side->sq, NULL));
	REQUIRE(!dvq_ionic_cq_attach(&side->recv_cq, NULL, &side->rq));
}

/* after RESET a queue begins anew */
IONIC_TEST_PLACES(reset)
{
	struct scene scene = scene_at(place, 4096);
	struct side *sides[2] = { scene.a, scene.b };
	struct address address[2];

	traffic(&scene, 1, 20);
	for (int i = 0; i < 2; i++) {
		REQUIRE(!endpoint_modify(sides[i]->endpoint, IBV_QPS_RESET));
		reopen(sides[i]);
		address[i] = endpoint_address(sides[i]->endpoint);
		REQUIRE(!endpoint_step(sides[i]->endpoint, IBV_QPS_INIT, 0));
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(!endpoint_connect(sides[i]->endpoint, &address[!i]));
	traffic(&scene, 4, 23);
}

/* ---- who else was there ------------------------------------------------------------- */

IONIC_TEST(queue_that_the_verbs_used)
{
	const struct endpoint_options options = { .transport = RC, .send_sge = 1, .recv_sge = 1 };
	struct endpoint *endpoint;
	struct buffer *buffer;
	struct dvq_ionic_rq rq;

	need_place(HOST);
	endpoint = endpoint_new(self, &options);
	buffer = buffer_new(endpoint->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	post_recv_one(endpoint, 1, buffer, 0, 64);
	CHECK_EQ(dvq_ionic_rq_open(endpoint->qp, &rq, sizeof(rq)), EBUSY);
}

/* completions of a QP that is gone are nobody's (F-07, F-22) */
IONIC_TEST(f07_f22_completions_of_a_qp_that_is_gone)
{
	struct scene scene = scene_at(HOST, 4096);
	struct dvq_ionic_wr wr = send_wr(&scene, 0, 16);
	uint32_t qp_num = scene.a->endpoint->qp->qp_num;
	/* those of the sends, of which the last speaks for all, and who sends to itself receives as well */
	unsigned int all = peer == self ? 5 : 1;
	struct model_stats before;
	struct dvq_ionic_wc wc;

	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int i = 0; i < 4; i++)
		receive(&scene, i, 0, 64);
	dvq_ionic_rq_publish(&scene.b->rq);
	for (unsigned int i = 0; i < 4; i++)
		REQUIRE(!dvq_ionic_sq_post(&scene.a->sq, &wr, i));
	dvq_ionic_sq_publish(&scene.a->sq);
	for (unsigned int i = 0; i < 4; i++)
		expect(&scene.b->recv_cq, i);
	if (self->model[0])
		CHECK(model_wait_delta(self->model, &before, "completions", all) >= all);
	else
		sleep_ms(QUIET_MS);
	CHECK_EQ(endpoint_destroy(scene.a->endpoint), 0);
	CHECK_EQ(dvq_ionic_cq_detach(&scene.a->send_cq, qp_num), 0);
	CHECK_EQ(dvq_ionic_cq_poll(&scene.a->send_cq, &wc, 1), 0);
	CHECK(scene.a->send_cq.stale > 0);
	CHECK_EQ(scene.a->send_cq.bad, 0);
}

/* ---- events ------------------------------------------------------------------------- */

IONIC_TEST(events)
{
	const struct endpoint_options options = { .transport = RC, .send_sge = 1, .recv_sge = 1 };
	struct endpoint_options with_cq = options;
	struct scene scene = { 0 };
	struct dvq_ionic_wr wr;
	struct cq *cq;
	struct duo duo;

	need_place(HOST);
	cq = cq_new(peer, 64, &(struct cq_options){ .channel = channel_new(peer) });
	with_cq.recv_cq = cq;
	duo = duo_new2(&options, &with_cq);
	scene.a = side_new(duo.a);
	scene.b = side_new(duo.b);
	scene.out = buffer_new(duo.a->pd, 4096, ACCESS_ALL);
	scene.in = buffer_new(duo.b->pd, 4096, ACCESS_ALL);
	wr = send_wr(&scene, 0, 16);

	for (unsigned int i = 0; i < 10; i++) {
		give(&scene, i, 0, 64);
		dvq_ionic_cq_arm(&scene.b->recv_cq, false);
		put(scene.a, &wr, i);
		expect(&scene.a->send_cq, i);
		CHECK(cq_event(cq, PATIENCE_MS));
		expect(&scene.b->recv_cq, i);
	}
	/* not armed: no event */
	give(&scene, 1, 0, 64);
	put(scene.a, &wr, 1);
	expect(&scene.a->send_cq, 1);
	CHECK(!cq_event(cq, QUIET_MS));
	/* it is there already: an event at once */
	dvq_ionic_cq_arm(&scene.b->recv_cq, false);
	CHECK(cq_event(cq, PATIENCE_MS));
	expect(&scene.b->recv_cq, 1);
	/* as often as the ring has entries, which the adapter would take for never */
	for (uint32_t i = 0; i <= scene.b->recv_cq.ring[0].mask; i++)
		dvq_ionic_cq_arm(&scene.b->recv_cq, false);
	give(&scene, 1, 0, 64);
	put(scene.a, &wr, 1);
	CHECK(cq_event(cq, PATIENCE_MS));
	expect(&scene.a->send_cq, 1);
	expect(&scene.b->recv_cq, 1);

	/* solicited ones only */
	dvq_ionic_cq_arm(&scene.b->recv_cq, true);
	give(&scene, 2, 0, 64);
	put(scene.a, &wr, 2);
	expect(&scene.a->send_cq, 2);
	expect(&scene.b->recv_cq, 2);
	CHECK(!cq_event(cq, QUIET_MS));
	dvq_ionic_wr_set_flags(&wr, DVQ_IONIC_SOLICITED | DVQ_IONIC_SIGNALED);
	give(&scene, 3, 0, 64);
	put(scene.a, &wr, 3);
	expect(&scene.a->send_cq, 3);
	CHECK(cq_event(cq, PATIENCE_MS));
	expect(&scene.b->recv_cq, 3);
}

/* queue pairs of one CQ on both pipelines */
IONIC_TEST(both_pipelines)
{
	struct scene scene[4];
	struct endpoint_options options = { .transport = RC, .send_sge = 2 };
	bool seen[2] = { false, false };

	for (int i = 0; i < 4; i++) {
		scene[i] = scene_of(HOST, &options, 4096);
		seen[ionic_dv_qp_get_udma_idx(scene[i].a->endpoint->qp)] = true;
		seen[ionic_dv_qp_get_udma_idx(scene[i].b->endpoint->qp)] = true;
	}
	CHECK(seen[0] && seen[1]);
	for (int i = 0; i < 4; i++)
		traffic(&scene[i], 2, 23);
}

/* ---- two threads ring at one place ---------------------------------------------------- */

struct ringer {
	struct scene scene;
	unsigned int done, failed;
};

/* threads cannot end a test, so what goes wrong is counted */
static void *ring_often(void *arg)
{
	struct ringer *ringer = arg;
	struct side *a = ringer->scene.a, *b = ringer->scene.b;
	struct dvq_ionic_wr wr = send_wr(&ringer->scene, 0, 16);
	struct dvq_ionic_sge sge = in_sge(&ringer->scene, 0, 64);
	struct dvq_ionic_wc wc;

	for (unsigned int i = 0; i < 2000 && !ringer->failed; i++) {
		uint64_t end = now_ms() + PATIENCE_MS;
		unsigned int got = 0;

		ringer->failed += dvq_ionic_rq_post(&b->rq, &sge, 1, i) != 0;
		dvq_ionic_rq_publish(&b->rq);
		ringer->failed += dvq_ionic_sq_post(&a->sq, &wr, i) != 0;
		dvq_ionic_sq_publish(&a->sq);
		while (got < 2 && now_ms() < end)
			got += dvq_ionic_cq_poll(&a->send_cq, &wc, 1) +
			       dvq_ionic_cq_poll(&b->recv_cq, &wc, 1);
		ringer->failed += got != 2 || wc.status;
		ringer->done += got == 2;
	}
	return NULL;
}

/* send queues of one context have one doorbell, and receive queues another: no ring is lost (F-35) */
IONIC_TEST(f35_two_threads_ring_at_one_place)
{
	struct ringer ringer[2] = { { .scene = scene_at(HOST, 4096) },
				    { .scene = scene_at(HOST, 4096) } };
	pthread_t thread[2];

	CHECK_EQ(ringer[0].scene.a->sq.wq.doorbell % 4096, ringer[1].scene.a->sq.wq.doorbell % 4096);
	CHECK(ringer[0].scene.a->sq.wq.db_value != ringer[1].scene.a->sq.wq.db_value);
	for (unsigned int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&thread[i], NULL, ring_often, &ringer[i]));
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		CHECK_EQ(ringer[i].failed, 0);
		CHECK_EQ(ringer[i].done, 2000);
	}
}

IONIC_TEST_MAIN
