// SPDX-License-Identifier: GPL-2.0
/*
 * What goes wrong ends in the right error at the right side, changes nothing else, and leaves
 * the QP in use: SRD goes on after an error.
 */
#include "lib/efa_test.h"

#define SEED	998877

/* what the adapter calls an error, in the vendor_err of its completion */
enum device_status {
	DEVICE_FLUSHED = 1, DEVICE_INVALID_AH = 4, DEVICE_INVALID_LKEY = 5, DEVICE_BAD_LENGTH = 6,
	DEVICE_BAD_ADDRESS = 7, DEVICE_BAD_DEST_QPN = 9, DEVICE_RNR = 10,
	DEVICE_REMOTE_BAD_LENGTH = 11, DEVICE_BAD_STATUS = 12, DEVICE_UNRESPONSIVE = 13,
	DEVICE_UNKNOWN_PEER = 14, DEVICE_UNREACHABLE = 15,
};

/**
 * struct scene - two endpoints with a buffer each
 */
struct scene {
	struct duo duo;
	struct buffer *local, *remote;
};

static bool polled_by_library;	/* the last scene's completions */

static struct scene scene_new(const struct endpoint_options *options)
{
	struct scene scene = { .duo = duo_new(options) };
	unsigned int remote = IBV_ACCESS_LOCAL_WRITE;

	if (can_read(peer))
		remote |= IBV_ACCESS_REMOTE_READ;
	if (can_write(peer))
		remote |= IBV_ACCESS_REMOTE_WRITE;
	scene.local = buffer_new(scene.duo.a->pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	scene.remote = buffer_new(scene.duo.b->pd, 4096, remote);
	buffer_fill(scene.local, SEED);
	polled_by_library = endpoint_is_taken_over(scene.duo.a);
	return scene;
}

/* an older libefa does not know what all of them mean; where libdvq polls, it does not matter */
static bool is_known(unsigned int device_status)
{
	if (polled_by_library)
		return true;
	switch (device_status) {
	case DEVICE_BAD_ADDRESS:
	case DEVICE_UNKNOWN_PEER:
	case DEVICE_UNREACHABLE:
		return libefa_release() >= 56;
	case 18:
		return libefa_release() >= 65;
	}
	return true;
}

static enum ibv_wc_status status_of(unsigned int device_status)
{
	static const enum ibv_wc_status table[] = {
		IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR,
		IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_LEN_ERR,
		IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ABORT_ERR, IBV_WC_REM_INV_RD_REQ_ERR,
		IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_BAD_RESP_ERR,
		IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_REM_OP_ERR, IBV_WC_RESP_TIMEOUT_ERR,
		IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_REM_INV_REQ_ERR,
	};

	return device_status < sizeof(table) / sizeof(table[0]) && is_known(device_status) ?
	       table[device_status] : IBV_WC_GENERAL_ERR;
}

static void expect_error(struct cq *cq, uint64_t id, enum ibv_wc_status status,
			 enum device_status vendor)
{
	struct completion completion;

	cq_wait(cq, &completion);
	CHECK_EQ(completion.id, id);
	CHECK_STR(ibv_wc_status_str(completion.status), ibv_wc_status_str(status));
	CHECK_EQ(completion.vendor_err, vendor);
}

/* a message still gets through, and nothing but it */
static void expect_works(struct scene *scene)
{
	struct work work = send_work(&scene->duo.to_b, 4711, scene->local, 0, 100);
	unsigned int header = scene->duo.header;
	struct completion completion;

	CHECK(cq_quiet(scene->duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(scene->duo.b->recv_cq, QUIET_MS));
	buffer_clear(scene->remote);
	post_recv_one(scene->duo.b, 4712, scene->remote, 0, 4096);
	post_one(scene->duo.a, &work);
	cq_wait(scene->duo.a->send_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, 4711);
	cq_wait(scene->duo.b->recv_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, 4712);
	CHECK_EQ(completion.byte_len, header + 100);
	buffer_expect(scene->remote, header, 100, SEED);
	buffer_expect_clear(scene->remote, header + 100, 3996 - header);
}

/* ---- receiver not ready (F-78) ------------------------------------------- */

static void need_rnr_retry(void)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RNR_RETRY, "the adapter has no RNR retry");
}

static void rnr_retries(unsigned int retries)
{
	struct model_stats before;
	struct scene scene;
	struct work work;

	need_rnr_retry();
	scene = scene_new(&(struct endpoint_options) { .rnr_retry = RNR_RETRY(retries) });
	work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	if (self->model[0])
		model_stats(self->model, &before);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR, DEVICE_RNR);
	if (self->model[0])
		CHECK_EQ(model_delta(self->model, &before, "rnr"), retries + 1);
	expect_works(&scene);
}

EFA_TEST(f78_rnr_without_retry)
{
	rnr_retries(0);
}

EFA_TEST(f78_rnr_with_one_retry)
{
	rnr_retries(1);
}

EFA_TEST(f78_rnr_with_six_retries)
{
	rnr_retries(6);
}

/* every failed message is told of, and takes one place in the queue until it is polled */
EFA_TEST(f78_rnr_of_many)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .send_wr = 32 });

	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int i = 0; i < 32; i++) {
			struct work work = send_work(&scene.duo.to_b, i, scene.local, 0, i);

			post_one(scene.duo.a, &work);
		}
		for (uint32_t seen = 0; seen != UINT32_MAX; ) {
			struct completion completion;

			cq_wait(scene.duo.a->send_cq, &completion);
			CHECK_EQ(completion.status, IBV_WC_RNR_RETRY_EXC_ERR);
			REQUIRE(completion.id < 32 && !(seen & 1u << completion.id));
			seen |= 1u << completion.id;
		}
	}
	expect_works(&scene);
}

EFA_TEST(f78_rnr_with_endless_retry)
{
	struct completion completion;
	struct scene scene;
	struct work work;

	need_rnr_retry();
	scene = scene_new(&(struct endpoint_options) { .rnr_retry = RNR_RETRY(7) });
	work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	post_one(scene.duo.a, &work);
	CHECK(cq_quiet(scene.duo.a->send_cq, 100));
	post_recv_one(scene.duo.b, 2, scene.remote, 0, 4096);
	cq_wait(scene.duo.a->send_cq, &completion);
	completion_expect_success(&completion);
	cq_wait(scene.duo.b->recv_cq, &completion);
	completion_expect_success(&completion);
	buffer_expect(scene.remote, 0, 10, SEED);
	expect_works(&scene);
}

EFA_TEST(f78_rnr_of_write_imm)
{
	struct scene scene;
	struct work work;

	need_write();
	scene = scene_new(NULL);
	work = rdma_work(IBV_WR_RDMA_WRITE_WITH_IMM, &scene.duo.to_b, 1, scene.local, 0, 4096,
			 scene.remote, 0);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_RNR_RETRY_EXC_ERR, DEVICE_RNR);
	expect_works(&scene);
}

/* UD tells its sender nothing */
EFA_TEST(ud_without_receive)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = UD });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	struct port_counters before, after;

	adapter_port_counters(peer, &before);
	post_one(scene.duo.a, &work);
	cq_wait_many(scene.duo.a->send_cq, 1);
	adapter_port_counters(peer, &after);
	CHECK_STR(adapter_counter_names[4], "rx_drops");
	CHECK_EQ(after.value[4] - before.value[4], 1);
	expect_works(&scene);
}

/* ---- local memory -------------------------------------------------------- */

static void bad_local(enum transport transport, struct work *work, struct scene *scene)
{
	work->opcode = IBV_WR_SEND;
	work->id = 1;
	work->to = scene->duo.to_b;
	post_recv_one(scene->duo.b, 4712, scene->remote, 0, 4096);
	post_one(scene->duo.a, work);
	expect_error(scene->duo.a->send_cq, 1, IBV_WC_LOC_PROT_ERR, DEVICE_INVALID_LKEY);
	CHECK(cq_quiet(scene->duo.b->recv_cq, QUIET_MS));
	/* the receive is still there, and used first */
	if (transport == SRD) {
		*work = send_work(&scene->duo.to_b, 2, scene->local, 0, 5);
		post_one(scene->duo.a, work);
		cq_wait_many(scene->duo.a->send_cq, 1);
		cq_wait_many(scene->duo.b->recv_cq, 1);
	}
}

EFA_TEST_BOTH(lkey_unknown)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);

	work.sge[0].lkey ^= 0x00500000;
	bad_local(transport, &work, &scene);
}

EFA_TEST_BOTH(lkey_of_another_pd)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *foreign = buffer_new(pd_new(self), 100, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&scene.duo.to_b, 1, foreign, 0, 10);

	bad_local(transport, &work, &scene);
}

EFA_TEST_BOTH(local_address_outside)
{
	static const long beyond[] = { -1, 1, 1 << 20 };

	for (unsigned int i = 0; i < 3; i++) {
		struct scene scene = scene_new(&(struct endpoint_options) {
			.transport = transport });
		struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 100);
		struct ibv_mr *mr = scene.local->mr;

		/* begins before it, ends one byte behind it, or is nowhere near */
		work.sge[0].addr = (uintptr_t)mr->addr + (beyond[i] < 0 ? -1l :
					  (long)mr->length - 100 + beyond[i]);
		bad_local(transport, &work, &scene);
	}
}

EFA_TEST_BOTH(lkey_of_second_sge)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);

	if (self->efa.max_sq_sge < 2)
		SKIP("the adapter sends one SGE only");
	work.sge[1] = work.sge[0];
	work.sge[1].lkey ^= 0x00500000;
	work.sges = 2;
	bad_local(transport, &work, &scene);
}

/* a read writes to its local memory, which must allow it */
EFA_TEST(read_into_read_only_memory)
{
	struct buffer *constant;
	struct scene scene;
	struct work work;

	need_read();
	scene = scene_new(NULL);
	constant = buffer_new(scene.duo.a->pd, 100, 0);
	work = rdma_work(IBV_WR_RDMA_READ, &scene.duo.to_b, 1, constant, 0, 100, scene.remote, 0);
	buffer_fill(scene.remote, 3);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_LOC_PROT_ERR, DEVICE_INVALID_LKEY);
	buffer_expect_clear(constant, 0, 100);
	expect_works(&scene);
}

/* the receiver's mistake is told to the receiver, and to the sender as somebody else's */
EFA_TEST(receive_into_bad_memory)
{
	struct scene scene = scene_new(NULL);
	struct buffer *constant = buffer_new(scene.duo.b->pd, 100, 0);

	need_model();
	for (unsigned int i = 0; i < 2; i++) {
		struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 50);
		struct ibv_sge sge = buffer_sge(i ? constant : scene.remote, 0, 100);

		if (!i)
			sge.lkey ^= 0x00500000;
		REQUIRE(!post_recv(scene.duo.b, 2, &sge, 1));
		post_one(scene.duo.a, &work);
		expect_error(scene.duo.a->send_cq, 1, IBV_WC_BAD_RESP_ERR, DEVICE_BAD_STATUS);
		expect_error(scene.duo.b->recv_cq, 2, IBV_WC_LOC_PROT_ERR, DEVICE_INVALID_LKEY);
		buffer_expect_clear(constant, 0, 100);
		buffer_expect_clear(scene.remote, 0, 4096);
	}
	expect_works(&scene);
}

/* Memory that is registered and that the adapter cannot reach all the same, here and there. */
EFA_TEST(memory_not_reached)
{
	struct work work;
	struct scene scene;

	need_model();
	scene = scene_new(NULL);
	work = send_work(&scene.duo.to_b, 1, scene.local, 0, 50);
	model_ask(self->model, "inject op=dma_payload action=drop");
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_LOC_PROT_ERR, DEVICE_INVALID_LKEY);
	model_ask(peer->model, "inject op=dma_payload action=drop");
	post_recv_one(scene.duo.b, 2, scene.remote, 0, 100);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_BAD_RESP_ERR, DEVICE_BAD_STATUS);
	expect_error(scene.duo.b->recv_cq, 2, IBV_WC_LOC_PROT_ERR, DEVICE_INVALID_LKEY);
	expect_works(&scene);
}

/* ---- remote memory ------------------------------------------------------- */

static void bad_remote(struct scene *scene, const struct work *work)
{
	struct model_stats before;

	buffer_clear(scene->remote);
	if (peer->model[0])
		model_stats(peer->model, &before);
	post_one(scene->duo.a, work);
	expect_error(scene->duo.a->send_cq, work->id, IBV_WC_REM_ACCESS_ERR, DEVICE_BAD_ADDRESS);
	buffer_expect_clear(scene->remote, 0, 4096);
	buffer_expect_guards(scene->remote);
}

static const enum ibv_wr_opcode rdma_opcodes[] = {
	IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
};

#define RDMA_OPCODES	3

static void need_rdma(void)
{
	need_read();
	need_write();
}

EFA_TEST(rkey_unknown)
{
	struct scene scene;

	need_rdma();
	scene = scene_new(NULL);
	for (unsigned int i = 0; i < RDMA_OPCODES; i++) {
		struct work work = rdma_work(rdma_opcodes[i], &scene.duo.to_b, i, scene.local, 0,
					     4096, scene.remote, 0);

		work.rkey ^= 0x00500000;
		bad_remote(&scene, &work);
	}
	expect_works(&scene);
}

EFA_TEST(rkey_of_another_pd)
{
	struct buffer *foreign;
	struct scene scene;

	need_rdma();
	scene = scene_new(NULL);
	foreign = buffer_new(pd_new(peer), 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ);
	for (unsigned int i = 0; i < RDMA_OPCODES; i++) {
		struct work work = rdma_work(rdma_opcodes[i], &scene.duo.to_b, i, scene.local, 0,
					     4096, foreign, 0);

		bad_remote(&scene, &work);
		buffer_expect_clear(foreign, 0, 4096);
	}
	expect_works(&scene);
}

/* not even the part that would be inside */
EFA_TEST(remote_address_outside)
{
	struct scene scene;

	need_rdma();
	scene = scene_new(NULL);
	for (unsigned int i = 0; i < RDMA_OPCODES; i++) {
		struct ibv_mr *mr = scene.remote->mr;
		struct work work = rdma_work(rdma_opcodes[i], &scene.duo.to_b, i, scene.local, 0,
					     1000, scene.remote, 0);

		work.remote_addr = (uintptr_t)mr->addr - 1;
		bad_remote(&scene, &work);
		work.remote_addr = (uintptr_t)mr->addr + mr->length - 999;
		bad_remote(&scene, &work);
		work.remote_addr = (uintptr_t)mr->addr + mr->length + (1 << 20);
		bad_remote(&scene, &work);
		work.remote_addr = UINT64_MAX - 500;
		bad_remote(&scene, &work);
	}
	expect_works(&scene);
}

EFA_TEST(remote_access_not_granted)
{
	static const unsigned int access[RDMA_OPCODES] = {
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE,
	};
	struct scene scene;

	need_rdma();
	scene = scene_new(NULL);
	for (unsigned int i = 0; i < RDMA_OPCODES; i++) {
		struct buffer *closed = buffer_new(scene.duo.b->pd, 4096, access[i]);
		struct work work = rdma_work(rdma_opcodes[i], &scene.duo.to_b, i, scene.local, 0,
					     4096, closed, 0);

		bad_remote(&scene, &work);
		buffer_expect_clear(closed, 0, 4096);
	}
	expect_works(&scene);
}

/* RDMA needs a target that knows its initiator */
EFA_TEST(target_without_ah)
{
	struct endpoint *a, *b;
	struct buffer *local, *remote;
	struct route to_b;

	need_rdma();
	a = endpoint_new(self, NULL);
	b = endpoint_new(peer, NULL);
	to_b = route_new(a, b);
	local = buffer_new(a->pd, 100, IBV_ACCESS_LOCAL_WRITE);
	remote = buffer_new(b->pd, 100, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			    IBV_ACCESS_REMOTE_READ);
	buffer_fill(local, SEED);
	for (unsigned int i = 0; i < RDMA_OPCODES; i++) {
		struct work work = rdma_work(rdma_opcodes[i], &to_b, i, local, 0, 100, remote, 0);

		post_one(a, &work);
		expect_error(a->send_cq, i, IBV_WC_REM_OP_ERR, DEVICE_UNKNOWN_PEER);
		buffer_expect_clear(remote, 0, 100);
		buffer_expect(local, 0, 100, SEED);
	}
	ah_new(b->pd, &self->gid);
	for (unsigned int i = 0; i < 2; i++) {
		struct work work = rdma_work(rdma_opcodes[i], &to_b, i, local, 0, 100, remote, 0);

		post_one(a, &work);
		cq_wait_many(a->send_cq, 1);
	}
}

/* ---- the way ------------------------------------------------------------- */

/* the message is not cut, the receive stays for one that fits */
EFA_TEST(receive_too_short)
{
	struct scene scene = scene_new(NULL);
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 101);
	struct completion completion;

	need_model();
	post_recv_one(scene.duo.b, 2, scene.remote, 0, 100);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_REM_INV_REQ_ERR, DEVICE_REMOTE_BAD_LENGTH);
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
	buffer_expect_clear(scene.remote, 0, 4096);
	work = send_work(&scene.duo.to_b, 3, scene.local, 0, 100);
	post_one(scene.duo.a, &work);
	cq_wait_many(scene.duo.a->send_cq, 1);
	cq_wait(scene.duo.b->recv_cq, &completion);
	completion_expect_success(&completion);
	CHECK_EQ(completion.id, 2);
	buffer_expect(scene.remote, 0, 100, SEED);
	expect_works(&scene);
}

/* a wrong key is a wrong door, whoever knocks (F-37) */
EFA_TEST_BOTH(f37_qkey_wrong)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	struct port_counters before, after;
	struct completion completion;

	need_model();
	post_recv_one(scene.duo.b, 2, scene.remote, 0, 4096);
	adapter_port_counters(peer, &before);
	work.to.qkey ^= 1;
	post_one(scene.duo.a, &work);
	if (transport == SRD)
		expect_error(scene.duo.a->send_cq, 1, IBV_WC_REM_INV_RD_REQ_ERR,
			     DEVICE_BAD_DEST_QPN);
	else
		cq_wait_many(scene.duo.a->send_cq, 1);
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
	adapter_port_counters(peer, &after);
	CHECK_EQ(after.value[4] - before.value[4], 1);
	work.to.qkey ^= 1;
	post_one(scene.duo.a, &work);
	cq_wait_many(scene.duo.a->send_cq, 1);
	cq_wait(scene.duo.b->recv_cq, &completion);
	CHECK_EQ(completion.id, 2);
}

/* a QP number that nobody has, that of another kind of QP, that of a QP that does not receive */
EFA_TEST(destination_wrong)
{
	struct scene scene = scene_new(NULL);
	struct endpoint *other[] = {
		endpoint_new(peer, &(struct endpoint_options) { .transport = UD }),
		endpoint_new(peer, &(struct endpoint_options) { .state = ENDPOINT_RESET }),
		endpoint_new(peer, &(struct endpoint_options) { .state = IBV_QPS_INIT }),
		endpoint_new(peer, NULL),
	};
	const unsigned int n = sizeof(other) / sizeof(other[0]);
	uint32_t gone = other[n - 1]->qp->qp_num;
	struct work work = send_work(&scene.duo.to_b, 0, scene.local, 0, 10);

	need_model();
	REQUIRE(!endpoint_destroy(other[n - 1]));
	for (unsigned int i = 0; i < n; i++) {
		work.id = i;
		work.to.qpn = i == n - 1 ? gone : other[i]->qp->qp_num;
		post_one(scene.duo.a, &work);
		expect_error(scene.duo.a->send_cq, i, IBV_WC_REM_INV_RD_REQ_ERR,
			     DEVICE_BAD_DEST_QPN);
	}
	/* and one that is in error */
	REQUIRE(!endpoint_modify(other[2], IBV_QPS_ERR));
	work.to.qpn = other[2]->qp->qp_num;
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, n - 1, IBV_WC_REM_INV_RD_REQ_ERR, DEVICE_BAD_DEST_QPN);
	expect_works(&scene);
}

/* an AH belongs to its PD */
EFA_TEST_BOTH(ah_of_another_pd)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);

	need_model();
	work.to.ah = ah_new(pd_new(self), &peer->gid);
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, IBV_WC_LOC_QP_OP_ERR, DEVICE_INVALID_AH);
	expect_works(&scene);
}

/* what is under way to an AH that goes is given up */
EFA_TEST(ah_destroyed_under_way)
{
	struct scene scene;
	struct work work;

	need_model();
	need_rnr_retry();
	scene = scene_new(&(struct endpoint_options) { .rnr_retry = RNR_RETRY(7) });
	for (unsigned int i = 0; i < 3; i++) {
		work = send_work(&scene.duo.to_b, i, scene.local, 0, 10);
		post_one(scene.duo.a, &work);
	}
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	REQUIRE(!lab_drop(scene.duo.to_b.ah));
	for (unsigned int i = 0; i < 3; i++) {
		struct completion completion;

		cq_wait(scene.duo.a->send_cq, &completion);
		CHECK_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
	}
	scene.duo.to_b = route_new(scene.duo.a, scene.duo.b);
	expect_works(&scene);
}

/* ---- the cable ----------------------------------------------------------- */

static uint64_t port_counter(const struct adapter *adapter, const char *name)
{
	uint64_t value = 0;

	sleep_ms(25);
	CHECK(adapter_counter(adapter, true, name, &value));
	return value;
}

/* the oldest adapters leave the network's statistics at zero */
static bool counts_network(void)
{
	return self->attr.vendor_part_id != 0xefa0;
}

/* nobody has that address, or ever had */
EFA_TEST(nobody_there)
{
	static const union ibv_gid nobody = { .raw = { 0xfe, 0x80, [15] = 0x66 } };
	struct scene scene;
	struct work work;
	uint64_t before;

	need_model();
	scene = scene_new(NULL);
	work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	work.to.ah = ah_new(scene.duo.a->pd, &nobody);
	before = port_counter(self, "unresponsive_remote_events");
	post_one(scene.duo.a, &work);
	expect_error(scene.duo.a->send_cq, 1, status_of(DEVICE_UNREACHABLE), DEVICE_UNREACHABLE);
	if (counts_network())
		CHECK_EQ(port_counter(self, "unresponsive_remote_events") - before, 1);
	expect_works(&scene);
}

/* it has answered before, so this is a different matter */
EFA_TEST(cable_pulled)
{
	struct scene scene;
	struct work work;
	uint64_t before;

	need_model();
	scene = scene_new(NULL);
	work = send_work(&scene.duo.to_b, 1, scene.local, 0, 10);
	model_at_end(peer->model, "link up");
	before = port_counter(self, "unresponsive_remote_events");
	for (unsigned int i = 0; i < 2; i++) {
		expect_works(&scene);
		model_ask(peer->model, "link down");
		post_one(scene.duo.a, &work);
		expect_error(scene.duo.a->send_cq, 1, IBV_WC_RESP_TIMEOUT_ERR,
			     DEVICE_UNRESPONSIVE);
		model_ask(peer->model, "link up");
	}
	expect_works(&scene);
	if (counts_network())
		CHECK_EQ(port_counter(self, "unresponsive_remote_events") - before, 2);
}

/* packets are lost now and then; SRD does not show it */
EFA_TEST(packets_lost)
{
	struct scene scene;
	uint64_t before;

	need_model();
	scene = scene_new(NULL);
	before = port_counter(self, "retrans_pkts");
	for (unsigned int i = 0; i < 20; i++) {
		struct work work = send_work(&scene.duo.to_b, i, scene.local, i, 100);
		struct completion completion;

		buffer_clear(scene.remote);
		/* the message itself, or its acknowledgement */
		model_ask(i & 1 ? self->model : peer->model, "drop count=1");
		post_recv_one(scene.duo.b, i, scene.remote, 0, 4096);
		post_one(scene.duo.a, &work);
		cq_wait(scene.duo.a->send_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, i);
		cq_wait(scene.duo.b->recv_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, i);
		CHECK(!memcmp(scene.remote->data, scene.local->data + i, 100));
	}
	if (counts_network())
		CHECK(port_counter(self, "retrans_pkts") - before >= 20);
	expect_works(&scene);
}

EFA_TEST(packets_lost_in_rdma)
{
	enum { LEN = 1 << 20 };
	struct buffer *from, *to;
	struct scene scene;

	need_model();
	need_rdma();
	scene = scene_new(NULL);
	from = buffer_new(scene.duo.a->pd, LEN, IBV_ACCESS_LOCAL_WRITE);
	to = buffer_new(scene.duo.b->pd, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ);
	for (unsigned int i = 0; i < 4; i++) {
		struct work work = rdma_work(i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
					     &scene.duo.to_b, i, from, 0, LEN, to, 0);

		buffer_clear(i & 1 ? from : to);
		buffer_fill(i & 1 ? to : from, i);
		model_drop(self->model, 3, 2);
		model_drop(peer->model, 5, 2);
		post_one(scene.duo.a, &work);
		cq_wait_many(scene.duo.a->send_cq, 1);
		/* what carries the data is enough to be lost */
		CHECK_EQ(model_drop((i & 1 ? peer : self)->model, 0, 0), 0);
		buffer_expect(i & 1 ? from : to, 0, LEN, i);
	}
	expect_works(&scene);
}

/* ---- the status of every completion (F-25) ------------------------------- */

static void every_status(enum cq_kind kind)
{
	struct scene scene;

	need_model();
	scene = scene_new(&(struct endpoint_options) { .cq_kind = kind });
	for (unsigned int status = 0; status < 256; status += status < 24 ? 1 : 77) {
		struct work work = send_work(&scene.duo.to_b, status, scene.local, 0, 8);

		/* on both sides, of one message each */
		for (unsigned int side = 0; side < 2; side++) {
			struct adapter *adapter = side ? peer : self;
			struct completion completion;

			model_ask(adapter->model, "inject op=%s action=fail status=%u",
				  side ? "recv_completion" : "send_completion", status);
			post_recv_one(scene.duo.b, status, scene.remote, 0, 100);
			post_one(scene.duo.a, &work);
			cq_wait(side ? scene.duo.b->recv_cq : scene.duo.a->send_cq, &completion);
			CHECK_EQ(completion.id, status);
			CHECK_EQ(completion.vendor_err, status);
			cq_wait_many(side ? scene.duo.a->send_cq : scene.duo.b->recv_cq, 1);
			CHECK_STR(ibv_wc_status_str(completion.status),
				  ibv_wc_status_str(status_of(status)));
		}
	}
	expect_works(&scene);
}

EFA_TEST(f25_every_status_polled_plain)
{
	every_status(CQ_PLAIN);
}

EFA_TEST(f25_every_status_polled_extended)
{
	every_status(CQ_EXTENDED);
}

/* ---- ERR ----------------------------------------------------------------- */

/* all that is outstanding comes back flushed, each once; afterwards nothing can be posted */
EFA_TEST_BOTH(error_state_flushes)
{
	struct scene scene;
	unsigned int sends = transport == SRD ? 5 : 0;
	bool seen[2][8] = { 0 };

	need_model();
	if (transport == SRD)
		need_rnr_retry();
	scene = scene_new(&(struct endpoint_options) {
		.transport = transport, .rnr_retry = transport == SRD ? RNR_RETRY(7) : 0 });
	for (unsigned int i = 0; i < sends; i++) {
		struct work work = send_work(&scene.duo.to_b, i, scene.local, 0, 8);

		post_one(scene.duo.a, &work);
	}
	for (unsigned int i = 0; i < 7; i++)
		post_recv_one(scene.duo.a, 100 + i, scene.local, 0, 8);
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_ERR));
	for (unsigned int i = 0; i < sends + 7; i++) {
		bool recv = i >= sends;
		unsigned int id;
		struct completion completion;

		cq_wait(recv ? scene.duo.a->recv_cq : scene.duo.a->send_cq, &completion);
		CHECK_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(completion.vendor_err, DEVICE_FLUSHED);
		id = completion.id - (recv ? 100 : 0);
		REQUIRE(id < 7 && !seen[recv][id]);
		seen[recv][id] = true;
	}
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(scene.duo.a->recv_cq, QUIET_MS));
	CHECK_EQ(endpoint_state(scene.duo.a), IBV_QPS_ERR);
	/* and from the beginning */
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_RESET));
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_RTS));
	expect_works(&scene);
}

/* ---- states -------------------------------------------------------------- */

EFA_TEST_BOTH(post_in_every_state)
{
	static const struct {
		enum ibv_qp_state state;
		int send, recv;
	} rules[] = {
		{ IBV_QPS_RESET, EINVAL, EINVAL }, { IBV_QPS_INIT, EINVAL, 0 },
		{ IBV_QPS_RTR, EINVAL, 0 }, { IBV_QPS_RTS, 0, 0 }, { IBV_QPS_SQD, 0, 0 },
		{ IBV_QPS_ERR, EINVAL, EINVAL },
	};

	for (unsigned int plain = 0; plain < 2; plain++) {
		struct scene scene = scene_new(&(struct endpoint_options) {
			.transport = transport, .plain = plain });
		struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
			.transport = transport, .plain = plain, .state = ENDPOINT_RESET,
			.pd = scene.duo.a->pd });
		struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);
		struct ibv_sge sge = buffer_sge(scene.local, 100, 8);

		for (unsigned int i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
			if (i)
				REQUIRE(!endpoint_modify(endpoint, rules[i].state));
			CHECK_EQ(endpoint->qp->state, rules[i].state);
			CHECK_EQ(endpoint_state(endpoint), rules[i].state);
			if (rules[i].state == IBV_QPS_RTS)
				post_recv_one(scene.duo.b, i, scene.remote, 0, 100);
			CHECK_EQ(post(endpoint, &work, 1), rules[i].send);
			CHECK_EQ(post_recv(endpoint, 2, &sge, 1), rules[i].recv);
			if (rules[i].state == IBV_QPS_RTS) {
				cq_wait_many(endpoint->send_cq, 1);
				cq_wait_many(scene.duo.b->recv_cq, 1);
			}
		}
		/* what was posted in SQD waited there, and the receives in vain */
		for (unsigned int i = 0; i < 5; i++) {
			struct completion completion;

			cq_wait(i ? endpoint->recv_cq : endpoint->send_cq, &completion);
			CHECK_EQ(completion.status, IBV_WC_WR_FLUSH_ERR);
		}
	}
}

/* drained: sends wait, receives go on; back in RTS the sends go out */
EFA_TEST_BOTH(drained_and_back)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .transport = transport });
	struct work there = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);
	struct work back = send_work(&scene.duo.to_a, 2, scene.remote, 0, 8);

	need_model();
	post_recv_one(scene.duo.a, 3, scene.local, 100, 100);
	post_recv_one(scene.duo.b, 4, scene.remote, 100, 100);
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_SQD));
	post_one(scene.duo.a, &there);
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	post_one(scene.duo.b, &back);
	cq_wait_many(scene.duo.b->send_cq, 1);
	cq_wait_many(scene.duo.a->recv_cq, 1);
	REQUIRE(!endpoint_modify(scene.duo.a, IBV_QPS_RTS));
	cq_wait_many(scene.duo.a->send_cq, 1);
	cq_wait_many(scene.duo.b->recv_cq, 1);
}

/* ---- full queues (F-28) -------------------------------------------------- */

/* room comes back with the completion that is polled, one for one */
static void send_queue_full(bool plain)
{
	enum { MORE = 3 };
	struct scene scene = scene_new(&(struct endpoint_options) {
		.plain = plain, .send_wr = 8, .recv_wr = 256, .cq_depth = 512 });
	unsigned int depth = scene.duo.a->cap.max_send_wr, posted;
	struct work work[MORE];

	for (unsigned int i = 0; i < depth + MORE + 2; i++)
		post_recv_one(scene.duo.b, i, scene.remote, 0, 8);
	for (unsigned int i = 0; i < MORE; i++)
		work[i] = send_work(&scene.duo.to_b, i, scene.local, 0, 8);
	for (unsigned int i = 0; i + 2 < depth; i++)
		REQUIRE(!post(scene.duo.a, work, 1));
	/* two places left for three: a list fills them, a block none */
	if (plain) {
		CHECK_EQ(post_list(scene.duo.a, work, MORE, &posted), ENOMEM);
		CHECK_EQ(posted, 2);
	} else {
		CHECK_EQ(post_block(scene.duo.a, work, MORE), ENOMEM);
		CHECK_EQ(post_block(scene.duo.a, work, 2), 0);
	}
	CHECK_EQ(post(scene.duo.a, work, 1), ENOMEM);
	for (unsigned int i = 0; i < MORE; i++) {
		cq_wait_many(scene.duo.a->send_cq, 1);
		CHECK_EQ(post(scene.duo.a, work, 1), 0);
		CHECK_EQ(post(scene.duo.a, work, 1), ENOMEM);
	}
	cq_wait_many(scene.duo.a->send_cq, depth);
	cq_wait_many(scene.duo.b->recv_cq, depth + MORE);
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
	CHECK(cq_quiet(scene.duo.b->recv_cq, QUIET_MS));
}

EFA_TEST(f28_send_queue_full_by_wr)
{
	send_queue_full(false);
}

EFA_TEST(f28_send_queue_full_by_post_send)
{
	send_queue_full(true);
}

EFA_TEST(f28_receive_queue_full)
{
	struct scene scene = scene_new(&(struct endpoint_options) { .recv_wr = 8 });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);
	unsigned int depth = scene.duo.b->cap.max_recv_wr;
	struct ibv_sge sge[WORK_SGES];
	struct ibv_recv_wr wr[3], *bad = NULL;

	/* with all the SGEs they may have */
	for (unsigned int i = 0; i < scene.duo.b->cap.max_recv_sge; i++)
		sge[i] = buffer_sge(scene.remote, i * 8, 8);
	for (unsigned int i = 0; i < 3; i++)
		wr[i] = (struct ibv_recv_wr) {
			.wr_id = depth - 2 + i, .sg_list = sge,
			.num_sge = scene.duo.b->cap.max_recv_sge,
			.next = i < 2 ? &wr[i + 1] : NULL,
		};
	for (unsigned int i = 0; i + 2 < depth; i++)
		REQUIRE(!post_recv(scene.duo.b, i, sge, scene.duo.b->cap.max_recv_sge));
	CHECK_EQ(ibv_post_recv(scene.duo.b->qp, wr, &bad), ENOMEM);
	CHECK(bad == &wr[2]);
	for (unsigned int i = 0; i < depth; i++) {
		struct completion completion;

		post_one(scene.duo.a, &work);
		cq_wait_many(scene.duo.a->send_cq, 1);
		CHECK_EQ(post_recv(scene.duo.b, depth + i, sge, 1), ENOMEM);
		cq_wait(scene.duo.b->recv_cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.id, i);
		CHECK_EQ(post_recv(scene.duo.b, depth + i, sge, 1), 0);
	}
}

/* ---- what EFA does not do (F-29) ----------------------------------------- */

static void flags(enum transport transport, bool plain, bool sig_all)
{
	static const unsigned int refused[] = { IBV_SEND_FENCE, IBV_SEND_SOLICITED,
						IBV_SEND_IP_CSUM };
	struct scene scene = scene_new(&(struct endpoint_options) {
		.transport = transport, .plain = plain, .sig_all = sig_all });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);
	struct completion completion;

	post_recv_one(scene.duo.b, 2, scene.remote, 0, 100);
	for (unsigned int i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		work.extra_flags = refused[i];
		CHECK_EQ(post(scene.duo.a, &work, 1), EINVAL);
	}
	work.extra_flags = 0;
	work.unsignalled = true;
	CHECK_EQ(post(scene.duo.a, &work, 1), sig_all ? 0 : EINVAL);
	if (sig_all)
		cq_wait(scene.duo.a->send_cq, &completion);
	CHECK(cq_quiet(scene.duo.a->send_cq, QUIET_MS));
}

EFA_TEST_BOTH(f29_send_flags_by_wr)
{
	flags(transport, false, false);
	flags(transport, false, true);
}

EFA_TEST_BOTH(f29_send_flags_by_post_send)
{
	flags(transport, true, false);
	flags(transport, true, true);
}

EFA_TEST_BOTH(sges_too_many)
{
	struct scene scene = scene_new(&(struct endpoint_options) {
		.transport = transport, .send_sge = 1, .recv_sge = 1 });
	struct work work = send_work(&scene.duo.to_b, 1, scene.local, 0, 8);

	work.sge[1] = work.sge[0];
	work.sges = 2;
	CHECK_EQ(post_block(scene.duo.a, &work, 1), EINVAL);
	CHECK_EQ(post_list(scene.duo.a, &work, 1, NULL), EINVAL);
	CHECK_EQ(post_recv(scene.duo.b, 1, work.sge, 2), EINVAL);
	expect_works(&scene);
}

/* ---- a CQ that is too small (F-10) --------------------------------------- */

EFA_TEST(f10_cq_overrun)
{
	enum { SENDS = 128 };
	struct model_stats before;
	struct scene scene;
	unsigned int depth, taken = 0;
	bool seen[SENDS] = { 0 };
	struct completion completion;
	struct cq *small;

	need_model();
	small = cq_new(self, 64, NULL);
	depth = small->cq->cqe;
	scene = scene_new(&(struct endpoint_options) { .send_wr = SENDS });
	scene.duo.a = endpoint_new(self, &(struct endpoint_options) {
		.send_cq = small, .send_wr = SENDS, .pd = scene.duo.a->pd });
	model_stats(self->model, &before);
	for (unsigned int i = 0; i < SENDS; i++) {
		struct work work = send_work(&scene.duo.to_b, i, scene.local, 0, 1);

		post_one(scene.duo.a, &work);
	}
	/* nobody has posted a receive; that makes no difference here */
	CHECK_EQ(model_wait_delta(self->model, &before, "rnr", SENDS), SENDS);
	CHECK_EQ(model_wait_delta(self->model, &before, "cq_overruns", SENDS - depth), SENDS - depth);
	sleep_ms(QUIET_MS);
	CHECK_EQ(model_delta(self->model, &before, "cq_overruns"), SENDS - depth);
	while (cq_take(small, &completion)) {
		REQUIRE(completion.id < SENDS && !seen[completion.id]);
		seen[completion.id] = true;
		taken++;
	}
	CHECK_EQ(taken, depth);
	/* with room again it works on */
	for (unsigned int i = 0; i < depth; i++) {
		struct work work = send_work(&scene.duo.to_b, i, scene.local, 0, 1);

		post_one(scene.duo.a, &work);
		cq_wait(small, &completion);
		CHECK_EQ(completion.status, IBV_WC_RNR_RETRY_EXC_ERR);
	}
}

/* a CQ with room for the sum of its queues loses nothing */
EFA_TEST(f10_cq_for_the_sum_of_its_queues)
{
	enum { SENDS = 64 };
	struct model_stats before;
	struct scene scene;
	struct endpoint *second;
	struct route route;
	struct cq *shared;

	need_model();
	scene = scene_new(&(struct endpoint_options) { .send_wr = SENDS });
	shared = cq_new(self, 2 * SENDS, NULL);
	scene.duo.a = endpoint_new(self, &(struct endpoint_options) {
		.send_cq = shared, .send_wr = SENDS, .pd = scene.duo.a->pd });
	second = endpoint_new(self, &(struct endpoint_options) {
		.send_cq = shared, .send_wr = SENDS, .pd = scene.duo.a->pd });
	route = route_new(second, scene.duo.b);
	model_stats(self->model, &before);
	for (unsigned int i = 0; i < SENDS; i++) {
		struct work one = send_work(&scene.duo.to_b, i, scene.local, 0, 1);
		struct work two = send_work(&route, i, scene.local, 0, 1);

		post_one(scene.duo.a, &one);
		post_one(second, &two);
	}
	CHECK_EQ(model_wait_delta(self->model, &before, "rnr", 2 * SENDS), 2 * SENDS);
	sleep_ms(QUIET_MS);
	CHECK_EQ(model_delta(self->model, &before, "cq_overruns"), 0);
	for (unsigned int i = 0; i < 2 * SENDS; i++) {
		struct completion completion;

		cq_wait(shared, &completion);
	}
}

EFA_TEST_MAIN
