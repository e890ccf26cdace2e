// SPDX-License-Identifier: GPL-2.0
/*
 * Posting and polling by the inline code of <dvq/efa.h> on an adapter: every kind of request,
 * every byte compared; wraps, batches, full rings, ids, staged blocks and their undoing, events.
 * What the code puts into memory without an adapter is tested in native/.
 */
#include <arpa/inet.h>
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <stdlib.h>
#include <string.h>

#include "lib/efa_test.h"

#define ROWS	256
#define SEED	77

/* one side: the rings of an endpoint, opened */
struct side {
	struct endpoint *endpoint;
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq send_cq, recv_cq;
	struct dvq_efa_cq_qp send_rows[ROWS], recv_rows[ROWS];
	struct dvq_efa_id *send_ids, *recv_ids;
	uint8_t *stage;
};

static int close_side(void *object)
{
	struct side *side = object;

	dvq_efa_cq_close(&side->recv_cq);
	dvq_efa_cq_close(&side->send_cq);
	dvq_efa_rq_close(&side->rq);
	dvq_efa_sq_close(&side->sq);
	free(side->stage);
	free(side->recv_ids);
	free(side->send_ids);
	free(side);
	return 0;
}

static void *zeroed(size_t n, size_t size)
{
	void *memory = calloc(n, size);

	LAB_NEED(memory, "no memory");
	return memory;
}

/* rings with pools of ids; must succeed; undone at the end of the test */
static struct side *side_new(struct endpoint *endpoint)
{
	struct side *side = zeroed(1, sizeof(*side));

	side->endpoint = endpoint;
	lab_hold(close_side, side);
	REQUIRE(!dvq_efa_sq_open(endpoint->qp, &side->sq, sizeof(side->sq)));
	REQUIRE(!dvq_efa_rq_open(endpoint->qp, &side->rq, sizeof(side->rq)));
	REQUIRE(!dvq_efa_cq_open(endpoint->send_cq->cq, &side->send_cq, sizeof(side->send_cq)));
	REQUIRE(!dvq_efa_cq_open(endpoint->recv_cq->cq, &side->recv_cq, sizeof(side->recv_cq)));
	side->send_ids = zeroed(dvq_efa_ids_slots(&side->sq.ids), sizeof(*side->send_ids));
	side->recv_ids = zeroed(dvq_efa_ids_slots(&side->rq.ids), sizeof(*side->recv_ids));
	REQUIRE(!dvq_efa_sq_set_pool(&side->sq, side->send_ids));
	REQUIRE(!dvq_efa_rq_set_pool(&side->rq, side->recv_ids));
	REQUIRE(!dvq_efa_cq_set_qps(&side->send_cq, side->send_rows, ROWS));
	REQUIRE(!dvq_efa_cq_set_qps(&side->recv_cq, side->recv_rows, ROWS));
	REQUIRE(!dvq_efa_cq_attach(&side->send_cq, &side->sq, NULL));
	REQUIRE(!dvq_efa_cq_attach(&side->recv_cq, NULL, &side->rq));
	return side;
}

static void stage_side(struct side *side)
{
	side->stage = zeroed(1, side->sq.bytes);
	REQUIRE(!dvq_efa_sq_set_stage(&side->sq, side->stage));
}

/* A sends, B receives */
struct scene {
	struct side *a, *b;
	struct route to_b;
	uint16_t ah;
	struct buffer *out, *in;
};

/*
 * Receives are given to one adapter and sends to another: that the former has got its doorbell
 * first, nothing says. So a sender waits for receives.
 */
static struct endpoint_options patient(const struct endpoint_options *options)
{
	struct endpoint_options patient = { 0 };

	if (options)
		patient = *options;
	if (patient.transport == SRD && adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		patient.rnr_retry = RNR_RETRY(7);
	return patient;
}

static struct scene scene_new(const struct endpoint_options *usual, size_t bytes)
{
	const struct endpoint_options options = patient(usual);
	struct dvq_ah_info ah;
	struct scene scene;
	struct duo duo;

	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_efa");
	duo = duo_new(&options);
	scene.a = side_new(duo.a);
	scene.b = side_new(duo.b);
	scene.to_b = duo.to_b;
	REQUIRE(!dvq_ah_query(duo.to_b.ah, &ah, sizeof(ah)));
	CHECK_EQ(ah.ah_num, ah_number(duo.to_b.ah));
	scene.ah = ah.ah_num;
	scene.out = buffer_new(duo.a->pd, bytes, IBV_ACCESS_LOCAL_WRITE);
	scene.in = buffer_new(duo.b->pd, bytes,
			      IBV_ACCESS_LOCAL_WRITE |
			      (can_read(peer) ? IBV_ACCESS_REMOTE_READ : 0) |
			      (adapter_can(peer, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE) ?
			       IBV_ACCESS_REMOTE_WRITE : 0));
	buffer_fill(scene.out, SEED);
	return scene;
}

static void set_dest(const struct scene *scene, struct dvq_efa_wr *wr)
{
	dvq_efa_wr_set_dest(wr, scene->ah, scene->to_b.qpn, scene->to_b.qkey);
}

static void set_local(const struct scene *scene, struct dvq_efa_wr *wr, size_t off, size_t len)
{
	dvq_efa_wr_set_sge(wr, scene->out->mr->lkey, buffer_addr(scene->out, off), len);
}

static struct dvq_efa_wr send_wr(const struct scene *scene, size_t off, size_t len)
{
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	set_dest(scene, &wr);
	set_local(scene, &wr, off, len);
	return wr;
}

static struct dvq_efa_sge in_sge(const struct scene *scene, size_t off, size_t len)
{
	return (struct dvq_efa_sge){
		.addr = buffer_addr(scene->in, off), .length = len, .lkey = scene->in->mr->lkey,
	};
}

static void receive(const struct scene *scene, uint64_t id, size_t off, size_t len)
{
	struct dvq_efa_sge sge = in_sge(scene, off, len);

	REQUIRE(!dvq_efa_rq_post(&scene->b->rq, &sge, 1, id));
}

/* posts and publishes; must be taken */
static void put(const struct scene *scene, const struct dvq_efa_wr *wr, uint64_t id)
{
	REQUIRE(!dvq_efa_sq_post(&scene->a->sq, wr, id));
	dvq_efa_sq_publish(&scene->a->sq);
}

static void take(struct dvq_efa_cq *cq, struct dvq_efa_wc *wc)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (!dvq_efa_cq_poll(cq, wc, 1))
		LAB_NEED(now_ms() < end, "no completion came");
}

/* the next one is a success of @id */
static struct dvq_efa_wc expect(struct dvq_efa_cq *cq, uint64_t id)
{
	struct dvq_efa_wc wc;

	take(cq, &wc);
	CHECK_EQ(wc.status, EFA_IO_OK);
	CHECK_EQ(dvq_efa_wc_status(&wc), IBV_WC_SUCCESS);
	CHECK_EQ(wc.wr_id, id);
	return wc;
}

/* ---- every kind of request -------------------------------------------------------------- */

static void sends_of_every_length(const struct endpoint_options *options)
{
	const unsigned int lengths[] = { 0, 1, 31, 64, 1000, adapter_mtu(self) };
	struct scene scene = scene_new(options, 16384);
	unsigned int skip = options->transport == UD ? 40 : 0;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		unsigned int len = lengths[i] > skip ? lengths[i] - skip : lengths[i];
		struct dvq_efa_wr wr = send_wr(&scene, 0, len);
		struct dvq_efa_wc wc;

		buffer_clear(scene.in);
		receive(&scene, 100 + i, 0, 16384);
		dvq_efa_rq_publish(&scene.b->rq);
		put(&scene, &wr, i);
		expect(&scene.a->send_cq, i);
		wc = expect(&scene.b->recv_cq, 100 + i);
		CHECK(dvq_efa_wc_is_recv(&wc));
		CHECK(!dvq_efa_wc_has_imm(&wc));
		CHECK_EQ(wc.src_qp, scene.a->endpoint->qp->qp_num);
		if (options->transport == SRD) {
			CHECK_EQ(wc.byte_len, len);
			buffer_expect(scene.in, 0, len, SEED);
		} else {
			CHECK(!memcmp(scene.in->data + wc.byte_len - len, scene.out->data, len));
		}
		buffer_expect_guards(scene.in);
	}
}

EFA_TEST_BOTH(sends)
{
	sends_of_every_length(&(struct endpoint_options){ .transport = transport });
}

EFA_TEST(sends_of_two_pieces)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr = send_wr(&scene, 0, 300);

	set_local(&scene, &wr, 300, 700);
	receive(&scene, 1, 0, 4096);
	dvq_efa_rq_publish(&scene.b->rq);
	put(&scene, &wr, 2);
	expect(&scene.a->send_cq, 2);
	CHECK_EQ(expect(&scene.b->recv_cq, 1).byte_len, 1000);
	buffer_expect(scene.in, 0, 1000, SEED);
}

EFA_TEST(sends_with_immediate)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr;
	struct dvq_efa_wc wc;

	dvq_efa_wr_send_imm(&wr, 0x12345678);
	set_dest(&scene, &wr);
	set_local(&scene, &wr, 0, 10);
	receive(&scene, 1, 0, 4096);
	dvq_efa_rq_publish(&scene.b->rq);
	put(&scene, &wr, 2);
	expect(&scene.a->send_cq, 2);
	wc = expect(&scene.b->recv_cq, 1);
	CHECK(dvq_efa_wc_has_imm(&wc));
	CHECK_EQ(wc.imm, 0x12345678);
}

static void inline_sends(unsigned int max)
{
	struct scene scene = scene_new(&(struct endpoint_options){ .inline_data = max }, 4096);

	CHECK_EQ(scene.a->sq.entry_size, max > 32 ? 128 : 64);
	for (unsigned int len = 0; len <= max; len += len < 8 ? 1 : 8) {
		struct dvq_efa_wr wr;

		dvq_efa_wr_send(&wr);
		set_dest(&scene, &wr);
		dvq_efa_wr_set_inline(&wr, len ? scene.out->data : NULL, len);
		buffer_clear(scene.in);
		receive(&scene, len, 0, 4096);
		dvq_efa_rq_publish(&scene.b->rq);
		put(&scene, &wr, len);
		expect(&scene.a->send_cq, len);
		CHECK_EQ(expect(&scene.b->recv_cq, len).byte_len, len);
		buffer_expect(scene.in, 0, len, SEED);
	}
}

EFA_TEST(sends_inline)
{
	inline_sends(self->efa.inline_buf_size);
}

EFA_TEST(sends_inline_wide)
{
	need_wide();
	inline_sends(self->efa.inline_buf_size_ex);
}

EFA_TEST(inline_data_that_is_too_long)
{
	struct scene scene = scene_new(&(struct endpoint_options){ .inline_data = 8 }, 4096);
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	set_dest(&scene, &wr);
	dvq_efa_wr_set_inline(&wr, scene.out->data, scene.a->sq.max_inline + 1);
	CHECK_EQ(dvq_efa_sq_post(&scene.a->sq, &wr, 1), EINVAL);
	CHECK_EQ(dvq_efa_sq_room(&scene.a->sq), scene.a->sq.ids.limit);
}

EFA_TEST(rdma_reads)
{
	struct scene scene;
	struct dvq_efa_wr wr;
	struct dvq_efa_wc wc;

	need_read();
	scene = scene_new(NULL, 200000);
	buffer_fill(scene.in, SEED + 1);
	dvq_efa_wr_rdma_read(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0));
	set_dest(&scene, &wr);
	set_local(&scene, &wr, 0, 200000);
	put(&scene, &wr, 5);
	wc = expect(&scene.a->send_cq, 5);
	CHECK_EQ(dvq_efa_wc_opcode(&wc, true), IBV_WC_RDMA_READ);
	CHECK_EQ(dvq_efa_wc_opcode(&wc, false), IBV_WC_SEND);
	buffer_expect(scene.out, 0, 200000, SEED + 1);
	buffer_expect_guards(scene.out);
}

EFA_TEST(rdma_writes)
{
	struct scene scene;
	struct dvq_efa_wr wr;
	struct dvq_efa_wc wc;

	need_device_write();
	scene = scene_new(NULL, 200000);
	dvq_efa_wr_rdma_write(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 100));
	set_dest(&scene, &wr);
	set_local(&scene, &wr, 0, 150000);
	put(&scene, &wr, 6);
	wc = expect(&scene.a->send_cq, 6);
	CHECK_EQ(dvq_efa_wc_opcode(&wc, true), IBV_WC_RDMA_WRITE);
	buffer_expect_clear(scene.in, 0, 100);
	buffer_expect(scene.in, 100, 150000, SEED);
	buffer_expect_clear(scene.in, 150100, 200000 - 150100);
}

static void write_imm(const struct scene *scene)
{
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_write_imm(&wr, scene->in->mr->rkey, buffer_addr(scene->in, 0), 99);
	set_dest(scene, &wr);
	set_local(scene, &wr, 0, 100000);
	put(scene, &wr, 7);
	expect(&scene->a->send_cq, 7);
}

EFA_TEST(rdma_writes_with_immediate)
{
	struct scene scene;
	struct dvq_efa_wc wc;

	need_device_write();
	scene = scene_new(NULL, 200000);
	receive(&scene, 8, 150000, 100);
	dvq_efa_rq_publish(&scene.b->rq);
	write_imm(&scene);
	wc = expect(&scene.b->recv_cq, 8);
	CHECK_EQ(dvq_efa_wc_opcode(&wc, true), IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.imm, 99);
	/* more than 16 bits, which is what an entry of 16 bytes has */
	CHECK_EQ(wc.byte_len, scene.b->recv_cq.entry_size == 16 ? 100000 % 65536 : 100000);
	CHECK(!dvq_efa_wc_unsolicited(&wc));
	buffer_expect(scene.in, 0, 100000, SEED);
}

EFA_TEST(rdma_writes_with_immediate_unsolicited)
{
	struct scene scene;
	struct dvq_efa_wc wc;

	need_device_write();
	need_unsolicited();
	scene = scene_new(&(struct endpoint_options){
			  .flags = EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV }, 200000);
	write_imm(&scene);
	wc = expect(&scene.b->recv_cq, 0);
	CHECK(dvq_efa_wc_unsolicited(&wc));
	CHECK_EQ(wc.imm, 99);
	CHECK_EQ(dvq_efa_rq_room(&scene.b->rq), scene.b->rq.ids.limit);
}

EFA_TEST(rdma_writes_inline)
{
	struct scene scene;
	struct dvq_efa_wr wr;

	need_device_write();
	need_wide();
	scene = scene_new(&(struct endpoint_options){ .flags = EFADV_QP_FLAGS_INLINE_WRITE,
						      .inline_data = 32 }, 4096);
	CHECK_EQ(scene.a->sq.entry_size, 128);
	for (unsigned int len = 0; len <= 32; len += 8) {
		buffer_clear(scene.in);
		dvq_efa_wr_rdma_write(&wr, scene.in->mr->rkey, buffer_addr(scene.in, 0));
		set_dest(&scene, &wr);
		dvq_efa_wr_set_inline(&wr, scene.out->data, len);
		put(&scene, &wr, len);
		expect(&scene.a->send_cq, len);
		buffer_expect(scene.in, 0, len, SEED);
		buffer_expect_clear(scene.in, len, 4096 - len);
	}
}

EFA_TEST(f27_receives_of_many_pieces)
{
	unsigned int max = self->efa.max_rq_sge;
	struct scene scene = scene_new(NULL, 8192);
	struct dvq_efa_sge sge[16];
	struct dvq_efa_wr wr = send_wr(&scene, 0, 1000 * (max - 1) + 10);

	REQUIRE(max <= 16);
	/* often enough to break a request at the end of the ring */
	for (unsigned int turn = 0; turn < 3 * scene.b->rq.ids.limit; turn++) {
		for (unsigned int i = 0; i < max; i++)
			sge[i] = in_sge(&scene, i * 1000, 1000);
		REQUIRE(!dvq_efa_rq_post(&scene.b->rq, sge, max, turn));
		dvq_efa_rq_publish(&scene.b->rq);
		put(&scene, &wr, turn);
		expect(&scene.a->send_cq, turn);
		expect(&scene.b->recv_cq, turn);
	}
	buffer_expect(scene.in, 0, 1000 * (max - 1) + 10, SEED);
	CHECK_EQ(dvq_efa_rq_post(&scene.b->rq, sge, 0, 1), EINVAL);
	CHECK_EQ(dvq_efa_rq_post(&scene.b->rq, sge, max + 1, 1), EINVAL);
}

/* ---- many ------------------------------------------------------------------------------- */

/* as many as the ring holds, in blocks; the ids come back each once, in any order */
static void traffic(struct scene *scene, unsigned int blocks, unsigned int block)
{
	struct dvq_efa_wr wr = send_wr(scene, 0, 16);
	struct dvq_efa_wc wc;

	for (unsigned int i = 0; i < blocks; i++) {
		uint64_t sent = 0, arrived = 0;

		for (unsigned int j = 0; j < block; j++)
			receive(scene, j, 0, 64);
		dvq_efa_rq_publish(&scene->b->rq);
		for (unsigned int j = 0; j < block; j++)
			REQUIRE(!dvq_efa_sq_post(&scene->a->sq, &wr, j));
		dvq_efa_sq_publish(&scene->a->sq);
		for (unsigned int j = 0; j < block; j++) {
			take(&scene->a->send_cq, &wc);
			CHECK(!(sent & 1ull << wc.wr_id));
			sent |= 1ull << wc.wr_id;
			take(&scene->b->recv_cq, &wc);
			CHECK(!(arrived & 1ull << wc.wr_id));
			arrived |= 1ull << wc.wr_id;
		}
		CHECK_EQ(dvq_efa_sq_room(&scene->a->sq), scene->a->sq.ids.limit);
	}
}

EFA_TEST(rings_wrap)
{
	struct scene scene = scene_new(NULL, 4096);

	traffic(&scene, 40, 23);	/* of 64 entries: ends at every place */
	traffic(&scene, 5, 64);
}

EFA_TEST(f01_batches_are_cut)
{
	struct scene scene = scene_new(NULL, 4096);
	struct model_stats before;
	unsigned int batch;

	need_model();
	batch = scene.a->sq.max_batch;
	if (batch > 63)
		SKIP("the adapter takes a whole ring at once");
	model_stats(self->model, &before);
	traffic(&scene, 1, 3 * batch + 1 > 64 ? 64 : 3 * batch + 1);
	CHECK_EQ(model_delta(self->model, &before, "doorbells_sq"),
		 ((3 * batch + 1 > 64 ? 64 : 3 * batch + 1) + batch - 1) / batch);
}

EFA_TEST(f28_rings_that_are_full)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr = send_wr(&scene, 0, 16);
	struct dvq_efa_sge sge = in_sge(&scene, 0, 64);
	unsigned int sends = dvq_efa_sq_room(&scene.a->sq);
	unsigned int receives = dvq_efa_rq_room(&scene.b->rq);

	for (unsigned int i = 0; i < receives; i++)
		REQUIRE(!dvq_efa_rq_post(&scene.b->rq, &sge, 1, i));
	CHECK_EQ(dvq_efa_rq_post(&scene.b->rq, &sge, 1, 0), ENOMEM);
	dvq_efa_rq_publish(&scene.b->rq);
	for (unsigned int i = 0; i < sends; i++)
		REQUIRE(!dvq_efa_sq_post(&scene.a->sq, &wr, i));
	CHECK_EQ(dvq_efa_sq_post(&scene.a->sq, &wr, 0), ENOMEM);
	dvq_efa_sq_publish(&scene.a->sq);
	take(&scene.a->send_cq, &(struct dvq_efa_wc){ 0 });
	CHECK_EQ(dvq_efa_sq_room(&scene.a->sq), 1);
	CHECK_EQ(dvq_efa_sq_post(&scene.a->sq, &wr, 0), 0);
	CHECK_EQ(dvq_efa_sq_post(&scene.a->sq, &wr, 0), ENOMEM);
	dvq_efa_sq_publish(&scene.a->sq);
	for (unsigned int i = 0; i < sends && i < receives; i++)
		take(&scene.a->send_cq, &(struct dvq_efa_wc){ 0 });
}

/* what was put together and given up never reaches the adapter (F-13) */
EFA_TEST(f13_blocks_given_up)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr = send_wr(&scene, 0, 16);
	struct model_stats before;

	need_model();
	stage_side(scene.a);
	traffic(&scene, 1, 62);		/* so that the next block wraps */
	model_stats(self->model, &before);
	for (unsigned int i = 0; i < 5; i++)
		REQUIRE(!dvq_efa_sq_post(&scene.a->sq, &wr, i));
	CHECK_EQ(dvq_efa_sq_abort(&scene.a->sq), 0);
	CHECK_EQ(dvq_efa_sq_room(&scene.a->sq), scene.a->sq.ids.limit);
	CHECK_EQ(model_delta(self->model, &before, "doorbells_sq"), 0);
	traffic(&scene, 20, 23);
}

EFA_TEST(errors_tell_whose_they_are)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr = send_wr(&scene, 0, 16), bad;
	struct dvq_efa_wc wc;

	dvq_efa_wr_send(&bad);
	set_dest(&scene, &bad);
	dvq_efa_wr_set_sge(&bad, 0x00abcdef, buffer_addr(scene.out, 0), 16);
	put(&scene, &bad, 1234567890123456789ull);
	take(&scene.a->send_cq, &wc);
	CHECK_EQ(wc.wr_id, 1234567890123456789ull);
	CHECK_EQ(wc.status, EFA_IO_LOCAL_INVALID_LKEY);
	CHECK_EQ(dvq_efa_wc_status(&wc), IBV_WC_LOC_PROT_ERR);
	/* and nothing else is disturbed */
	receive(&scene, 1, 0, 64);
	dvq_efa_rq_publish(&scene.b->rq);
	put(&scene, &wr, 2);
	expect(&scene.a->send_cq, 2);
	expect(&scene.b->recv_cq, 1);
}

/* completions of a QP that is gone are not those of its successor (F-07, F-22, F-23) */
EFA_TEST(f07_f22_f23_completions_of_a_qp_that_is_gone)
{
	struct scene scene = scene_new(NULL, 4096);
	struct dvq_efa_wr wr = send_wr(&scene, 0, 16);
	/* who sends to itself receives as well */
	unsigned int both = peer == self ? 8 : 4;
	struct model_stats before;
	struct dvq_efa_wc wc[8];

	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int i = 0; i < 4; i++)
		receive(&scene, i, 0, 64);
	dvq_efa_rq_publish(&scene.b->rq);
	for (unsigned int i = 0; i < 4; i++)
		REQUIRE(!dvq_efa_sq_post(&scene.a->sq, &wr, i));
	dvq_efa_sq_publish(&scene.a->sq);
	for (unsigned int i = 0; i < 4; i++)
		take(&scene.b->recv_cq, &wc[i]);
	if (self->model[0])
		CHECK_EQ(model_wait_delta(self->model, &before, "completions", both), both);
	else
		sleep_ms(QUIET_MS);
	CHECK_EQ(dvq_efa_cq_detach(&scene.a->send_cq, scene.a->sq.qp_num), 0);
	CHECK_EQ(dvq_efa_cq_poll(&scene.a->send_cq, wc, 8), 0);
	CHECK_EQ(scene.a->send_cq.stale, 4);
	CHECK_EQ(scene.a->send_cq.consumed, 4);
}

/* ---- events ----------------------------------------------------------------------------- */

EFA_TEST(events)
{
	const struct endpoint_options options = patient(NULL);
	struct ibv_comp_channel *channel;
	struct endpoint *a, *b;
	struct scene scene;
	struct dvq_ah_info ah;
	struct dvq_efa_wr wr;
	struct cq *cq;

	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_efa");
	need_events();
	channel = channel_new(peer);
	cq = cq_new(peer, 64, &(struct cq_options){ .channel = channel });
	a = endpoint_new(self, &options);
	b = endpoint_new(peer, &(struct endpoint_options){ .recv_cq = cq, .send_cq = cq });
	scene.to_b = route_new(a, b);
	route_new(b, a);
	REQUIRE(!dvq_ah_query(scene.to_b.ah, &ah, sizeof(ah)));
	scene.ah = ah.ah_num;
	scene.a = side_new(a);
	scene.b = side_new(b);
	scene.out = buffer_new(a->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	scene.in = buffer_new(b->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	wr = send_wr(&scene, 0, 16);

	for (unsigned int i = 0; i < 10; i++) {
		receive(&scene, i, 0, 64);
		dvq_efa_rq_publish(&scene.b->rq);
		CHECK_EQ(dvq_efa_cq_arm(&scene.b->recv_cq), 0);
		put(&scene, &wr, i);
		expect(&scene.a->send_cq, i);
		CHECK(cq_event(cq, PATIENCE_MS));
		dvq_efa_cq_event(&scene.b->recv_cq);
		expect(&scene.b->recv_cq, i);
	}
	/* not armed: no event */
	receive(&scene, 1, 0, 64);
	dvq_efa_rq_publish(&scene.b->rq);
	put(&scene, &wr, 1);
	expect(&scene.a->send_cq, 1);
	expect(&scene.b->recv_cq, 1);
	CHECK(!cq_event(cq, QUIET_MS));
}

EFA_TEST_MAIN
