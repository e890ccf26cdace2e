// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong on ionic ends in the right error at the right side. An RC queue pair is stopped
 * by it: what was posted behind is flushed, and a reset makes it good again. UD goes on.
 */
#include "lib/async.h"
#include "lib/ionic_test.h"

#define SEED	998877

/**
 * struct scene - two endpoints with a buffer each
 */
struct scene {
	struct duo duo;
	struct buffer *local, *remote;
};

static struct scene scene_new(const struct endpoint_options *options)
{
	struct scene scene = { .duo = duo_new(options) };

	scene.local = buffer_new(scene.duo.a->pd, 8192, IBV_ACCESS_LOCAL_WRITE);
	scene.remote = buffer_new(scene.duo.b->pd, 8192, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	buffer_fill(scene.local, SEED);
	return scene;
}

static struct work write_work(const struct scene *scene, uint64_t id, size_t len)
{
	return rdma_work(IBV_WR_RDMA_WRITE, &scene->duo.to_b, id, scene->local, 0, len,
			 scene->remote, 0);
}

/* @work fails as said, what is behind it is flushed, and A is in ERR */
static void expect_stops(struct scene *scene, const struct work *work, enum ibv_wc_status status,
			 enum ionic_status vendor)
{
	struct work behind[2] = { write_work(scene, 71, 8), write_work(scene, 72, 8) };

	behind[0].unsignalled = true;
	post_recv_one(scene->duo.a, 73, scene->local, 0, 8);
	post_one(scene->duo.a, work);
	REQUIRE(!post(scene->duo.a, behind, 2));
	expect_error(scene->duo.a->send_cq, work->id, status, vendor);
	expect_status(scene->duo.a->send_cq, 71, IBV_WC_WR_FLUSH_ERR);
	expect_status(scene->duo.a->send_cq, 72, IBV_WC_WR_FLUSH_ERR);
	expect_status(scene->duo.a->recv_cq, 73, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(endpoint_state(scene->duo.a), IBV_QPS_ERR);
	CHECK(cq_quiet(scene->duo.a->send_cq, 0));
}

static void reset(struct endpoint *endpoint, const struct endpoint *to)
{
	struct address address = endpoint_address(to);

	REQUIRE(!endpoint_modify(endpoint, IBV_QPS_RESET));
	REQUIRE(!endpoint_step(endpoint, IBV_QPS_INIT, 0));
	REQUIRE(!endpoint_connect(endpoint, &address));
}

/* a message gets through, and nothing but it */
static void expect_works(struct scene *scene)
{
	struct work work = send_work(&scene->duo.to_b, 4711, scene->local, 0, 100);
	unsigned int header = scene->duo.header;

	CHECK(cq_quiet(scene->duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(scene->duo.b->recv_cq, QUIET_MS));
	buffer_fill(scene->local, SEED);
	buffer_clear(scene->remote);
	post_recv_one(scene->duo.b, 4712, scene->remote, 0, 4096);
	post_one(scene->duo.a, &work);
	expect_status(scene->duo.a->send_cq, 4711, IBV_WC_SUCCESS);
	expect_status(scene->duo.b->recv_cq, 4712, IBV_WC_SUCCESS);
	buffer_expect(scene->remote, header, 100, SEED);
}

/* both sides begin anew; completions of before are gone */
static void expect_works_after_reset(struct scene *scene)
{
	reset(scene->duo.a, scene->duo.b);
	reset(scene->duo.b, scene->duo.a);
	expect_works(scene);
}

/* ---- mistakes at home ------------------------------------------------------------------------ */

IONIC_TEST(key_unknown)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	work.sge[0].lkey ^= 0x1000;
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	expect_works_after_reset(&scene);
}

/* the tag of a key is part of it */
IONIC_TEST(key_with_another_tag)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	work.sge[0].lkey ^= 1;
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
}

IONIC_TEST(key_of_another_pd)
{
	struct scene scene = scene_new(NULL);
	struct buffer *other = buffer_new(pd_new(self), 64, IBV_ACCESS_LOCAL_WRITE);
	struct work work = write_work(&scene, 1, 8);

	work.sge[0] = buffer_sge(other, 0, 8);
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
}

/* it opens all memory, and only the kernel may use it */
IONIC_TEST(key_of_all_memory)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	work.sge[0].lkey = 0;
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
}

IONIC_TEST(local_address_outside)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct scene scene = scene_new(NULL);
		struct work work = write_work(&scene, 1, 8);

		work.sge[0].addr = buffer_addr(scene.local, 0) + (i == 0 ? 1ull << 40 :
				   8192 + BUFFER_GUARD - (i == 1 ? 0 : 7));
		expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	}
}

IONIC_TEST(key_of_a_later_piece)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	work.sges = 4;
	for (unsigned int i = 1; i < 4; i++)
		work.sge[i] = work.sge[0];
	work.sge[3].lkey ^= 0x1000;
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	buffer_expect_clear(scene.remote, 0, 4096);
}

IONIC_TEST(read_into_memory_that_is_read_only)
{
	struct scene scene = scene_new(NULL);
	struct buffer *constant = buffer_new(scene.duo.a->pd, 64, 0);
	struct work work = rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, 1, constant, 0, 8,
				     scene.remote, 0);

	buffer_fill(scene.remote, SEED);
	expect_stops(&scene, &work, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	buffer_expect_clear(constant, 0, 64);
}

IONIC_TEST(invalidate_what_is_no_window)
{
	struct scene scene = scene_new(NULL);
	struct work work = invalidate_work(1, scene.local->mr->lkey);

	expect_stops(&scene, &work, IBV_WC_MW_BIND_ERR, IONIC_BIND);
}

/* ---- mistakes that the other side finds ------------------------------------------------------ */

IONIC_TEST(remote_key_unknown)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	work.rkey ^= 0x1000;
	expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
	buffer_expect_clear(scene.remote, 0, 4096);
	expect_works_after_reset(&scene);
}

IONIC_TEST(remote_key_of_another_pd)
{
	struct scene scene = scene_new(NULL);
	struct buffer *other = buffer_new(pd_new(peer), 64, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	struct work work = rdma_work(IBV_WR_RDMA_WRITE, &scene.duo.to_b, 1, scene.local, 0, 8,
				     other, 0);

	expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
	buffer_expect_clear(other, 0, 64);
}

IONIC_TEST(remote_address_outside)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	for (unsigned int i = 0; i < 3; i++) {
		struct scene scene = scene_new(NULL);
		struct work work = write_work(&scene, 1, 8);

		work.opcode = opcodes[i];
		work.remote_addr += 8192 + BUFFER_GUARD;
		expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
	}
}

/* each by the region that does not allow it, and by the queue pair */
IONIC_TEST(remote_access_not_granted)
{
	static const struct { enum ibv_wr_opcode opcode; unsigned int access; } each[] = {
		{ IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC },
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct scene scene = scene_new(NULL);
		struct buffer *closed = buffer_new(scene.duo.b->pd, 64, IBV_ACCESS_LOCAL_WRITE |
						   (ACCESS_REMOTE & ~each[i].access));
		struct work work = rdma_work(each[i].opcode, &scene.duo.to_b, 1, scene.local, 0, 8,
					     closed, 0);

		expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
		buffer_expect_clear(closed, 0, 64);
	}
	for (unsigned int i = 0; i < 4; i++) {
		struct scene scene = scene_new(&(struct endpoint_options) {
			.connection.access = ACCESS(ACCESS_REMOTE & ~each[i].access) });
		struct work work = write_work(&scene, 1, 8);

		work.opcode = each[i].opcode;
		expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
		buffer_expect_clear(scene.remote, 0, 64);
	}
}

IONIC_TEST(atomic_across_words)
{
	struct scene scene = scene_new(NULL);
	struct work work = atomic_work(IBV_WR_ATOMIC_FETCH_AND_ADD, &scene.duo.to_b, 1, scene.local,
				       0, scene.remote, 4, 1, 0);

	expect_stops(&scene, &work, IBV_WC_REM_INV_REQ_ERR, IONIC_REMOTE_REQUEST);
	buffer_expect_clear(scene.remote, 0, 64);
}

IONIC_TEST(receive_too_small)
{
	struct scene scene = scene_new(NULL);
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 4000);

	post_recv_one(scene.duo.b, 2, scene.remote, 0, 3999);
	post_recv_one(scene.duo.b, 3, scene.remote, 0, 4000);
	expect_stops(&scene, &work, IBV_WC_REM_INV_REQ_ERR, IONIC_REMOTE_REQUEST);
	expect_error(scene.duo.b->recv_cq, 2, IBV_WC_LOC_LEN_ERR, IONIC_LOCAL_LENGTH);
	expect_status(scene.duo.b->recv_cq, 3, IBV_WC_WR_FLUSH_ERR);
	buffer_expect_guards(scene.remote);
	expect_works_after_reset(&scene);
}

IONIC_TEST(receive_into_bad_memory)
{
	struct scene scene = scene_new(NULL);
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);
	struct ibv_sge sge = buffer_sge(scene.remote, 0, 100);

	sge.lkey ^= 0x1000;
	REQUIRE(!post_recv(scene.duo.b, 2, &sge, 1));
	expect_stops(&scene, &work, IBV_WC_REM_OP_ERR, IONIC_REMOTE_OPERATION);
	expect_error(scene.duo.b->recv_cq, 2, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	expect_works_after_reset(&scene);
}

/* what came before is done and reported as such */
IONIC_TEST(good_work_before_bad)
{
	struct scene scene = scene_new(NULL);
	struct work work[8];

	for (unsigned int i = 0; i < 8; i++)
		work[i] = write_work(&scene, i, 1000);
	work[5].rkey ^= 0x1000;
	REQUIRE(!post(scene.duo.a, work, 8));
	for (unsigned int i = 0; i < 5; i++)
		expect_status(scene.duo.a->send_cq, i, IBV_WC_SUCCESS);
	expect_error(scene.duo.a->send_cq, 5, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
	expect_status(scene.duo.a->send_cq, 6, IBV_WC_WR_FLUSH_ERR);
	expect_status(scene.duo.a->send_cq, 7, IBV_WC_WR_FLUSH_ERR);
	buffer_expect(scene.remote, 0, 1000, SEED);
}

/* ---- receiver not ready (F-78) --------------------------------------------------------------- */

IONIC_TEST(f78_not_ready)
{
	for (unsigned int retries = 0; retries < 4; retries += 3) {
		struct scene scene = scene_new(&(struct endpoint_options) {
			.connection.rnr_retry = RETRY(retries) });
		struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);
		struct model_stats before;

		if (peer->model[0])
			model_stats(peer->model, &before);
		expect_stops(&scene, &work, IBV_WC_RNR_RETRY_EXC_ERR, IONIC_RNR_RETRIES);
		if (peer->model[0])
			CHECK_EQ(model_delta(peer->model, &before, "rnr"), retries + 1);
	}
}

IONIC_TEST(f78_ready_at_last)
{
	struct scene scene = scene_new(NULL);
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 4000);

	post_one(scene.duo.a, &work);
	CHECK(cq_quiet(scene.duo.a->send_cq, 300));
	post_recv_one(scene.duo.b, 2, scene.remote, 0, 4000);
	expect_status(scene.duo.a->send_cq, 1, IBV_WC_SUCCESS);
	expect_status(scene.duo.b->recv_cq, 2, IBV_WC_SUCCESS);
	buffer_expect(scene.remote, 0, 4000, SEED);
}

IONIC_TEST(f78_write_with_immediate_not_ready)
{
	struct scene scene = scene_new(&(struct endpoint_options) {
		.connection.rnr_retry = RETRY(1) });
	struct work work = write_work(&scene, 1, 100);

	work.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	expect_stops(&scene, &work, IBV_WC_RNR_RETRY_EXC_ERR, IONIC_RNR_RETRIES);
}

/* ---- the network ----------------------------------------------------------------------------- */

static void need_two(void)
{
	need_model();
	if (peer == self)
		SKIP("needs two adapters: one does not lose what it sends itself");
}

/* nobody answers */
IONIC_TEST(retries_exceeded)
{
	struct scene scene = scene_new(&(struct endpoint_options) {
		.connection = { .retry = RETRY(2), .timeout = 14 } });
	struct work work = write_work(&scene, 1, 100);

	REQUIRE(!endpoint_destroy(scene.duo.b));
	expect_stops(&scene, &work, IBV_WC_RETRY_EXC_ERR, IONIC_RETRIES);
}

IONIC_TEST(no_retries)
{
	struct scene scene = scene_new(&(struct endpoint_options) {
		.connection = { .retry = RETRY(0), .timeout = 12 } });
	struct work work = write_work(&scene, 1, 100);

	need_two();
	/* not one: packets of the Ethernet interface are lost as well */
	model_drop(self->model, 0, 1000);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_RETRY_EXC_ERR, IONIC_RETRIES);
	model_drop(self->model, 0, 0);
}

/* lost packets of all kinds come again, and everything happens once */
static void lose(enum ibv_wr_opcode opcode, const struct adapter *loser)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .connection.timeout = 13 });
	const struct adapter *sender = opcode == IBV_WR_RDMA_READ ? peer : self;
	/* of what carries no data there may be only one, a request or an acknowledgement */
	unsigned int packets = loser == sender ? 5000 / adapter_mtu(loser) + 1 : 1;

	for (unsigned int skip = 0; skip < 6; skip++) {
		bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		struct work work = write_work(&scene, skip, atomic ? 8 : 5000);
		uint64_t *word = (uint64_t *)scene.remote->data;

		buffer_clear(scene.remote);
		buffer_fill(opcode == IBV_WR_RDMA_READ ? scene.remote : scene.local, SEED);
		*word = atomic ? 100 : *word;
		work.opcode = opcode;
		work.compare_add = 1;
		if (opcode == IBV_WR_SEND)
			post_recv_one(scene.duo.b, 50, scene.remote, 0, 5000);
		model_drop(loser->model, atomic ? 0 : skip, 1);
		post_one(scene.duo.a, &work);
		expect_status(scene.duo.a->send_cq, skip, IBV_WC_SUCCESS);
		if (opcode == IBV_WR_SEND)
			expect_status(scene.duo.b->recv_cq, 50, IBV_WC_SUCCESS);
		if (atomic)
			CHECK_EQ(*word, 101);
		else
			buffer_expect(opcode == IBV_WR_RDMA_READ ? scene.local : scene.remote, 0,
				      5000, SEED);
		/* what was not lost must not be lost later */
		if (model_drop(loser->model, 0, 0))
			CHECK(!atomic && skip >= packets);
	}
}

IONIC_TEST(lost_packets)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
	};

	need_two();
	for (unsigned int i = 0; i < 4; i++) {
		lose(opcodes[i], self);
		lose(opcodes[i], peer);
	}
}

static void wait_for_state(enum ibv_port_state state)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct ibv_port_attr port;

	do {
		LAB_NEED(!ibv_query_port(self->context, 1, &port), "ibv_query_port");
		LAB_NEED(now_ms() < end, "the port stays in state %d", port.state);
	} while (port.state != state);
}

/* a cable that is out for less than all retries take, here 17 seconds, delays, no more */
IONIC_TEST(cable_pulled_for_a_while)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .connection.timeout = 19 });
	struct work work = write_work(&scene, 1, 5000);

	need_two();
	model_at_end(self->model, "link up");
	for (unsigned int i = 0; i < 3; i++) {
		buffer_clear(scene.remote);
		model_ask(self->model, "link down");
		post_one(scene.duo.a, &work);
		wait_for_state(IBV_PORT_DOWN);
		CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
		model_ask(self->model, "link up");
		wait_for_state(IBV_PORT_ACTIVE);
		expect_status(scene.duo.a->send_cq, 1, IBV_WC_SUCCESS);
		buffer_expect(scene.remote, 0, 5000, SEED);
	}
}

/* ---- every status of the adapter (F-25) ------------------------------------------------------ */

IONIC_TEST(f25_every_status)
{
	static const enum ibv_wc_status want[] = {
		[1] = IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
		IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR,
		IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
		IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_GENERAL_ERR,
		IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR,
	};

	need_model();
	for (unsigned int status = 1; status < 16; status++) {
		struct scene scene = scene_new(NULL);
		struct work work = write_work(&scene, status, 8);

		if (status == IONIC_FLUSHED)
			continue;
		model_ask(self->model, "complete qp=%u status=%u", scene.duo.a->qp->qp_num, status);
		post_one(scene.duo.a, &work);
		expect_error(scene.duo.a->send_cq, status, want[status], status);
		lab_drop_all();
	}
}

/* ---- UD -------------------------------------------------------------------------------------- */

/* @work is lost without a word, and the next one arrives */
static void expect_lost(struct scene *scene, const struct work *work)
{
	post_recv_one(scene->duo.b, 9, scene->remote, 4096, 4096);
	post_one(scene->duo.a, work);
	expect_status(scene->duo.a->send_cq, work->id, IBV_WC_SUCCESS);
	CHECK(cq_quiet(scene->duo.b->recv_cq, QUIET_MS));
}

IONIC_TEST(datagrams_to_nobody)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = UD });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);
	struct work wrong = work;

	wrong.to.qkey++;
	expect_lost(&scene, &wrong);
	wrong = work;
	wrong.to.qpn = 0xfffffe;
	expect_lost(&scene, &wrong);
	post_one(scene.duo.a, &work);
	expect_status(scene.duo.a->send_cq, 1, IBV_WC_SUCCESS);
	expect_status(scene.duo.b->recv_cq, 9, IBV_WC_SUCCESS);
	buffer_expect(scene.remote, 4096 + 40, 100, SEED);
}

IONIC_TEST(datagram_without_receive)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = UD });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);

	for (unsigned int i = 0; i < 5; i++) {
		post_one(scene.duo.a, &work);
		expect_status(scene.duo.a->send_cq, 1, IBV_WC_SUCCESS);
	}
	expect_works(&scene);
}

/* a send failure stops the send queue only, and a step to RTS makes it good */
IONIC_TEST(datagram_of_bad_memory)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = UD });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);

	work.sge[0].lkey ^= 0x1000;
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_LOC_PROT_ERR, IONIC_LOCAL_PROTECTION);
	CHECK_EQ(endpoint_state(scene.duo.a), IBV_QPS_SQE);
}

/* ---- flushing -------------------------------------------------------------------------------- */

IONIC_TEST_BOTH(flush)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });

	for (unsigned int i = 0; i < 20; i++)
		post_recv_one(scene.duo.b, i, scene.remote, 0, 100);
	REQUIRE(!endpoint_modify(scene.duo.b, IBV_QPS_ERR));
	for (unsigned int i = 0; i < 20; i++)
		expect_status(scene.duo.b->recv_cq, i, IBV_WC_WR_FLUSH_ERR);
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
	CHECK_EQ(endpoint_state(scene.duo.b), IBV_QPS_ERR);
}

/* sends that nobody takes */
IONIC_TEST(flush_of_sends)
{
	struct scene scene = scene_new(NULL);

	for (unsigned int i = 0; i < 20; i++) {
		struct work work = send_work(&scene.duo.to_b, i, scene.local, 0, 100);

		work.unsignalled = i & 1;
		post_one(scene.duo.a, &work);
	}
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_ERR));
	for (unsigned int i = 0; i < 20; i++)
		expect_status(scene.duo.a->send_cq, i, IBV_WC_WR_FLUSH_ERR);
	expect_works_after_reset(&scene);
}

/* it is taken, and flushed at once */
IONIC_TEST(sends_after_an_error)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_ERR));
	for (work.id = 0; work.id < 5; work.id++) {
		post_one(scene.duo.a, &work);
		expect_status(scene.duo.a->send_cq, work.id, IBV_WC_WR_FLUSH_ERR);
	}
}

/* not one by one: libionic cannot poll any more if one is posted after another was flushed */
IONIC_TEST(receives_after_an_error)
{
	struct scene scene = scene_new(NULL);

	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_ERR));
	for (unsigned int i = 0; i < 5; i++)
		post_recv_one(scene.duo.a, i, scene.local, 0, 8);
	for (unsigned int i = 0; i < 5; i++)
		expect_status(scene.duo.a->recv_cq, i, IBV_WC_WR_FLUSH_ERR);
}

IONIC_TEST_BOTH(posting_in_every_state)
{
	for (int state = IBV_QPS_RESET; state < IBV_QPS_RTR; state++) {
		struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
			.transport = transport, .state = state ?: ENDPOINT_RESET });
		struct buffer *buffer = buffer_new(endpoint->pd, 64, IBV_ACCESS_LOCAL_WRITE);
		struct work work = {
			.opcode = IBV_WR_SEND, .sges = 1, .sge = { buffer_sge(buffer, 0, 8) },
		};
		struct ibv_sge sge = buffer_sge(buffer, 0, 64);

		if (transport == UD)
			work.to.ah = ah_new(endpoint->pd, &self->gid);
		CHECK_EQ(post(endpoint, &work, 1), EINVAL);
		CHECK_EQ(post_recv(endpoint, 1, &sge, 1), state == IBV_QPS_RESET ? EINVAL : 0);
	}
}

/* completions that nobody took belong to a life before the reset */
IONIC_TEST(reset_forgets)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);
	uint64_t end = now_ms() + PATIENCE_MS;

	for (unsigned int i = 0; i < 10; i++)
		post_one(scene.duo.a, &work);
	while (first_difference(scene.remote->data, 8, SEED) < 8)
		LAB_NEED(now_ms() < end, "nothing arrives");
	sleep_ms(20);
	expect_works_after_reset(&scene);
}

/* ---- full queues ----------------------------------------------------------------------------- */

IONIC_TEST(f28_full_send_queue)
{
	struct scene scene = scene_new(NULL);
	unsigned int most = scene.duo.a->cap.max_send_wr;

	CHECK(most >= ENDPOINT_WR);
	for (unsigned int round = 0; round < 3; round++) {
		struct work work = send_work(&scene.duo.to_b, 0, scene.local, 0, 8);

		/* they wait for a receive */
		for (work.id = 0; work.id < most; work.id++)
			post_one(scene.duo.a, &work);
		CHECK_EQ(post(scene.duo.a, &work, 1), ENOMEM);
		for (unsigned int i = 0; i < most; i++)
			post_recv_one(scene.duo.b, i, scene.remote, 0, 8);
		for (unsigned int i = 0; i < most; i++) {
			expect_status(scene.duo.a->send_cq, i, IBV_WC_SUCCESS);
			expect_status(scene.duo.b->recv_cq, i, IBV_WC_SUCCESS);
		}
	}
}

IONIC_TEST_BOTH(f28_full_receive_queue)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	unsigned int most = scene.duo.b->cap.max_recv_wr;
	struct ibv_sge sge = buffer_sge(scene.remote, 0, 100);
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);

	CHECK(most >= ENDPOINT_WR);
	for (unsigned int i = 0; i < most; i++)
		post_recv_one(scene.duo.b, i, scene.remote, 0, 100);
	CHECK_EQ(post_recv(scene.duo.b, 1, &sge, 1), ENOMEM);
	post_one(scene.duo.a, &work);
	expect_status(scene.duo.a->send_cq, 1, IBV_WC_SUCCESS);
	expect_status(scene.duo.b->recv_cq, 0, IBV_WC_SUCCESS);
	CHECK_EQ(post_recv(scene.duo.b, 1, &sge, 1), 0);
	CHECK_EQ(post_recv(scene.duo.b, 1, &sge, 1), ENOMEM);
}

/* what comes before the bad one is on its way */
IONIC_TEST(list_with_a_bad_entry)
{
	struct scene scene = scene_new(NULL);
	struct work work[5];
	unsigned int posted;

	for (unsigned int i = 0; i < 5; i++)
		work[i] = write_work(&scene, i, 8);
	work[3].sges = WORK_SGES;
	CHECK(post_list(scene.duo.a, work, 5, &posted) != 0);
	CHECK_EQ(posted, 3);
	for (unsigned int i = 0; i < 3; i++)
		expect_status(scene.duo.a->send_cq, i, IBV_WC_SUCCESS);
	expect_works(&scene);
}

/* ---- a CQ that is too small -------------------------------------------------------------------- */

/* What finds no room is lost and counted, the CQ is told to have failed, and nothing else suffers. */
IONIC_TEST(completion_queue_that_overruns)
{
	enum { MORE = 9 };
	unsigned int depth, taken = 0;
	struct completion completion;
	struct model_stats before;
	uint64_t cq, value, lost, counted = 0;
	struct scene scene;
	struct cq *small;

	need_model();
	small = cq_new(self, 16, NULL);
	scene = scene_new(NULL);
	scene.duo.a = endpoint_new(self, &(struct endpoint_options) {
		.send_cq = small, .send_wr = 1000, .pd = scene.duo.a->pd });
	scene.duo.b = endpoint_new(peer, &(struct endpoint_options) { .pd = scene.duo.b->pd });
	scene.duo.to_b = route_new(scene.duo.a, scene.duo.b);
	route_new(scene.duo.b, scene.duo.a);
	REQUIRE(model_find(model_ask(self->model, "qp %u", scene.duo.a->qp->qp_num), "sq_cq", &cq));
	REQUIRE(model_find(model_ask(self->model, "cq %u", (unsigned int)cq), "depth", &value));
	depth = value;
	REQUIRE(depth + MORE <= scene.duo.a->cap.max_send_wr);
	REQUIRE(adapter_counter(self, true, "cq_overruns", &lost));
	model_stats(self->model, &before);
	async_forget(self);
	for (unsigned int i = 0; i < depth + MORE; i++) {
		struct work work = write_work(&scene, i, 8);

		post_one(scene.duo.a, &work);
	}
	async_expect(self, IBV_EVENT_CQ_ERR, small->cq);
	/* an entry of the ring stays empty */
	CHECK_EQ(model_wait_delta(self->model, &before, "cq_overruns", MORE + 1), MORE + 1);
	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	CHECK(adapter_counter(self, true, "cq_overruns", &counted));
	CHECK_EQ(counted - lost, MORE + 1);
	while (cq_take(small, &completion)) {
		CHECK_EQ(completion.status, IBV_WC_SUCCESS);
		CHECK_EQ(completion.id, taken);
		taken++;
	}
	CHECK_EQ(taken, depth - 1);
	/* once */
	CHECK(async_quiet(self, QUIET_MS));
	lab_drop_all();
	scene = scene_new(NULL);
	expect_works(&scene);
}

/* ---- asynchronous events --------------------------------------------------------------------- */

IONIC_TEST(events_of_a_queue_pair)
{
	static const struct { unsigned int code; enum ibv_event_type type; } each[] = {
		{ 1, IBV_EVENT_SQ_DRAINED }, { 2, IBV_EVENT_COMM_EST },
		{ 3, IBV_EVENT_QP_LAST_WQE_REACHED }, { 8, IBV_EVENT_QP_FATAL },
		{ 9, IBV_EVENT_QP_REQ_ERR }, { 10, IBV_EVENT_QP_ACCESS_ERR },
	};
	struct endpoint *endpoint;

	need_model();
	async_forget(self);
	endpoint = endpoint_new(self, NULL);
	for (unsigned int i = 0; i < 6; i++) {
		model_ask(self->model, "event qp=%u code=%u", endpoint->qp->qp_num, each[i].code);
		async_expect(self, each[i].type, endpoint->qp);
	}
	/* one that says nothing */
	model_ask(self->model, "event qp=%u code=0", endpoint->qp->qp_num);
	CHECK(async_quiet(self, QUIET_MS));
}

IONIC_TEST(event_of_a_refused_write)
{
	struct scene scene = scene_new(NULL);
	struct work work = write_work(&scene, 1, 8);

	async_forget(peer);
	work.rkey ^= 0x1000;
	expect_stops(&scene, &work, IBV_WC_REM_ACCESS_ERR, IONIC_REMOTE_ACCESS);
	async_expect(peer, IBV_EVENT_QP_ACCESS_ERR, scene.duo.b->qp);
}

IONIC_TEST_MAIN
