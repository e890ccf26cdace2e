// SPDX-License-Identifier: GPL-2.0
/*
 * dvq_ionic's part of the verbs calls, without libionic: every length, every answer byte, rings
 * that are none, pipelines that do not meet, answers that cannot be given.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "lib/ionic_test.h"
#include "lib/memory.h"
#include "lib/stall.h"
#include "lib/stock_abi.h"
#include "lib/uverbs.h"
#ifdef HAS_STOCK_ABI
#include <rdma/ionic-abi.h>
#endif

#define UNTOUCHED	0xaa
#define QP_FAILED	8	/* of the adapter's codes of events */

/**
 * struct host - a context of one's own with memory for rings
 *
 * @pinned: KiB of this process that the kernel held before
 */
struct host {
	struct raw *raw;
	struct dvq_ionic_ctx_resp context;
	struct memory *memory;
	struct model_stats before;
	long pinned;
};

static void need_dvq(void)
{
	if (!self->dvq)
		SKIP("is about dvq_ionic");
}

static struct host host_new(void)
{
	struct host host = { .memory = memory_plain(64) };

	need_dvq();
	if (self->model[0])
		model_stats(self->model, &host.before);
	host.pinned = memory_pinned();
	host.raw = raw_new_ionic(self, &host.context);
	return host;
}

static void expect_nothing_left(const struct host *host)
{
	adapter_expect_objects(self, &host->before);
	CHECK_EQ(memory_pinned(), host->pinned);
}

/* the @n-th ring in the memory, with 2^@depth_log2 entries of 2^@stride_log2 bytes */
static struct dvq_ionic_ring ring(const struct host *host, unsigned int n, uint8_t depth_log2,
				  uint8_t stride_log2)
{
	return (struct dvq_ionic_ring) {
		.addr = (uintptr_t)host->memory->base + n * 8 * PAGE,
		.size = 1u << (depth_log2 + stride_log2), .mask = (1u << depth_log2) - 1,
		.depth_log2 = depth_log2, .stride_log2 = stride_log2,
	};
}

/* ---- context -------------------------------------------------------------------------------- */

IONIC_TEST(f64_context_answers_of_every_length)
{
	const struct dvq_ionic_ctx_req req = { .reserved_0 = { 1, 2 } };
	const size_t place = offsetof(struct dvq_ionic_ctx_resp, dbell_offset);
	struct dvq_ionic_ctx_resp want;

	need_dvq();
	raw_new_ionic(self, &want);
	CHECK_EQ(want.page_shift, 12);
	CHECK(want.version == 1 || want.version == 2);
	CHECK_EQ(want.udma_count, 2);
	CHECK_EQ(want.phc_offset, 0);
	CHECK_EQ(want.reserved_0, 0);
	CHECK_EQ(want.reserved_e8[0] | want.reserved_e8[1] | want.reserved_e8[2], 0);
	/* 32 is what the stock driver answers */
	for (size_t len = 8; len <= 64; len += 4) {
		uint8_t answer[80], zero[80] = {};
		size_t known = len < sizeof(want) ? len : sizeof(want);
		int fd = uv_open(self);

		memset(answer, UNTOUCHED, sizeof(answer));
		CHECK_EQ(uv_get_context(fd, &(struct uv_data) { &req, 8, answer, len }), 0);
		/* every context has a doorbell page of its own */
		memcpy(&want.dbell_offset, answer + place, sizeof(want.dbell_offset));
		CHECK(!memcmp(answer, &want, known));
		CHECK(!memcmp(answer + known, zero, len - known));
		for (size_t i = len; i < sizeof(answer); i++)
			LAB_NEED(answer[i] == UNTOUCHED, "byte %zu of %zu", i, len);
	}
}

IONIC_TEST(f66_context_requests_of_other_lengths)
{
	struct dvq_ionic_ctx_resp resp;
	uint32_t req[8] = {};

	need_dvq();
	CHECK_EQ(uv_get_context(uv_open(self), &(struct uv_data) { req, 4, &resp, 40 }), -EINVAL);
	/* a later library may say more, as long as it means nothing */
	CHECK_EQ(uv_get_context(uv_open(self), &(struct uv_data) { req, 32, &resp, 40 }), 0);
	req[7] = 1;
	CHECK_EQ(uv_get_context(uv_open(self), &(struct uv_data) { req, 32, &resp, 40 }),
		 -EOPNOTSUPP);
}

/* field by field and value by value what the kernel's own header says (F-85) */
IONIC_TEST(f85_layouts_of_the_stock_abi)
{
#ifdef HAS_STOCK_ABI
	SAME(dvq_ionic_ctx_req, reserved_0, ionic_ctx_req, rsvd);
	SAME_SIZE(dvq_ionic_ctx_req, ionic_ctx_req);
	SAME(dvq_ionic_ctx_resp, reserved_0, ionic_ctx_resp, rsvd);
	SAME(dvq_ionic_ctx_resp, page_shift, ionic_ctx_resp, page_shift);
	SAME(dvq_ionic_ctx_resp, dbell_offset, ionic_ctx_resp, dbell_offset);
	SAME(dvq_ionic_ctx_resp, version, ionic_ctx_resp, version);
	SAME(dvq_ionic_ctx_resp, qp_opcodes, ionic_ctx_resp, qp_opcodes);
	SAME(dvq_ionic_ctx_resp, admin_opcodes, ionic_ctx_resp, admin_opcodes);
	SAME(dvq_ionic_ctx_resp, sq_qtype, ionic_ctx_resp, sq_qtype);
	SAME(dvq_ionic_ctx_resp, rq_qtype, ionic_ctx_resp, rq_qtype);
	SAME(dvq_ionic_ctx_resp, cq_qtype, ionic_ctx_resp, cq_qtype);
	SAME(dvq_ionic_ctx_resp, admin_qtype, ionic_ctx_resp, admin_qtype);
	SAME(dvq_ionic_ctx_resp, max_stride, ionic_ctx_resp, max_stride);
	SAME(dvq_ionic_ctx_resp, max_spec, ionic_ctx_resp, max_spec);
	SAME(dvq_ionic_ctx_resp, udma_count, ionic_ctx_resp, udma_count);
	SAME(dvq_ionic_ctx_resp, expdb_mask, ionic_ctx_resp, expdb_mask);
	SAME(dvq_ionic_ctx_resp, expdb_qtypes, ionic_ctx_resp, expdb_qtypes);
	SAME(dvq_ionic_ctx_resp, reserved_e8, ionic_ctx_resp, rsvd2);
	/* what upstream has proposed comes behind */
	CHECK_EQ(offsetof(struct dvq_ionic_ctx_resp, phc_offset), sizeof(struct ionic_ctx_resp));
	SAME(dvq_ionic_ring, addr, ionic_qdesc, addr);
	SAME(dvq_ionic_ring, size, ionic_qdesc, size);
	SAME(dvq_ionic_ring, mask, ionic_qdesc, mask);
	SAME(dvq_ionic_ring, depth_log2, ionic_qdesc, depth_log2);
	SAME(dvq_ionic_ring, stride_log2, ionic_qdesc, stride_log2);
	SAME_SIZE(dvq_ionic_ring, ionic_qdesc);
	SAME(dvq_ionic_cq_req, ring, ionic_cq_req, cq);
	SAME(dvq_ionic_cq_req, udma_mask, ionic_cq_req, udma_mask);
	SAME(dvq_ionic_cq_req, reserved_108, ionic_cq_req, rsvd);
	SAME_SIZE(dvq_ionic_cq_req, ionic_cq_req);
	SAME(dvq_ionic_cq_resp, cqid, ionic_cq_resp, cqid);
	SAME(dvq_ionic_cq_resp, udma_mask, ionic_cq_resp, udma_mask);
	SAME(dvq_ionic_cq_resp, reserved_48, ionic_cq_resp, rsvd);
	SAME_SIZE(dvq_ionic_cq_resp, ionic_cq_resp);
	SAME(dvq_ionic_qp_req, sq, ionic_qp_req, sq);
	SAME(dvq_ionic_qp_req, rq, ionic_qp_req, rq);
	SAME(dvq_ionic_qp_req, sq_spec, ionic_qp_req, sq_spec);
	SAME(dvq_ionic_qp_req, rq_spec, ionic_qp_req, rq_spec);
	SAME(dvq_ionic_qp_req, sq_cmb, ionic_qp_req, sq_cmb);
	SAME(dvq_ionic_qp_req, rq_cmb, ionic_qp_req, rq_cmb);
	SAME(dvq_ionic_qp_req, udma_mask, ionic_qp_req, udma_mask);
	SAME(dvq_ionic_qp_req, reserved_128, ionic_qp_req, rsvd);
	SAME_SIZE(dvq_ionic_qp_req, ionic_qp_req);
	SAME(dvq_ionic_qp_resp, qpid, ionic_qp_resp, qpid);
	SAME(dvq_ionic_qp_resp, sq_cmb, ionic_qp_resp, sq_cmb);
	SAME(dvq_ionic_qp_resp, rq_cmb, ionic_qp_resp, rq_cmb);
	SAME(dvq_ionic_qp_resp, udma_idx, ionic_qp_resp, udma_idx);
	SAME(dvq_ionic_qp_resp, reserved_38, ionic_qp_resp, rsvd);
	SAME(dvq_ionic_qp_resp, sq_cmb_offset, ionic_qp_resp, sq_cmb_offset);
	SAME(dvq_ionic_qp_resp, rq_cmb_offset, ionic_qp_resp, rq_cmb_offset);
	SAME_SIZE(dvq_ionic_qp_resp, ionic_qp_resp);
	SAME(dvq_ionic_ah_resp, ahid, ionic_ah_resp, ahid);
	SAME(dvq_ionic_ah_resp, reserved_20, ionic_ah_resp, pad);
	SAME_SIZE(dvq_ionic_ah_resp, ionic_ah_resp);
	SAME_VALUE(DVQ_IONIC_ABI_VERSION, IONIC_ABI_VERSION);
	SAME_VALUE(DVQ_IONIC_EXPDB_64, IONIC_EXPDB_64);
	SAME_VALUE(DVQ_IONIC_EXPDB_128, IONIC_EXPDB_128);
	SAME_VALUE(DVQ_IONIC_EXPDB_256, IONIC_EXPDB_256);
	SAME_VALUE(DVQ_IONIC_EXPDB_512, IONIC_EXPDB_512);
	SAME_VALUE(DVQ_IONIC_EXPDB_SQ, IONIC_EXPDB_SQ);
	SAME_VALUE(DVQ_IONIC_EXPDB_RQ, IONIC_EXPDB_RQ);
	SAME_VALUE(DVQ_IONIC_CMB_ENABLE, IONIC_CMB_ENABLE);
	SAME_VALUE(DVQ_IONIC_CMB_REQUIRE, IONIC_CMB_REQUIRE);
	SAME_VALUE(DVQ_IONIC_CMB_EXPDB, IONIC_CMB_EXPDB);
	SAME_VALUE(DVQ_IONIC_CMB_WC, IONIC_CMB_WC);
	SAME_VALUE(DVQ_IONIC_CMB_UC, IONIC_CMB_UC);
#else
	SKIP("the distribution's <rdma/ionic-abi.h> is older than this ABI");
#endif
}

/* by this number a library decides whether it knows the driver (F-84) */
IONIC_TEST(f84_abi_number)
{
	char path[512];
	int number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/abi_version",
		 self->device->dev_name);
	file = fopen(path, "r");
	REQUIRE(file);
	CHECK_EQ(fscanf(file, "%d", &number), 1);
	fclose(file);
	CHECK_EQ(number, DVQ_IONIC_ABI_VERSION);
}

/* it is mapped where the answer says, in one way */
IONIC_TEST(f61_doorbell_page)
{
	struct host host = host_new();
	int fd = host.raw->fd;
	off_t at = host.context.dbell_offset;
	void *page;

	CHECK_EQ(at % PAGE, 0);
	page = mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, at);
	REQUIRE(page != MAP_FAILED);
	CHECK(mmap(NULL, 2 * PAGE, PROT_WRITE, MAP_SHARED, fd, at) == MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_WRITE, MAP_PRIVATE, fd, at) == MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, at) == MAP_FAILED);
	CHECK(mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, fd, at + 16 * PAGE) == MAP_FAILED);
	munmap(page, PAGE);
}

/* ---- CQ -------------------------------------------------------------------------------------- */

static struct dvq_ionic_cq_req cq_request(const struct host *host, uint8_t pipelines)
{
	struct dvq_ionic_cq_req req = { .udma_mask = pipelines };

	for (unsigned int i = 0; i < 2; i++)
		if (pipelines & 1u << i)
			req.ring[i] = ring(host, i, 7, 5);
	return req;
}

/* 0 or a negative errno; the CQ goes with the context */
static int cq_of(const struct host *host, const struct dvq_ionic_cq_req *req, uint32_t *cq)
{
	struct dvq_ionic_cq_resp resp;

	return raw_cq(host->raw, 16, &(struct uv_data) { req, sizeof(*req), &resp, sizeof(resp) },
		      cq);
}

static uint32_t cq_on(const struct host *host, uint8_t pipelines)
{
	struct dvq_ionic_cq_req req = cq_request(host, pipelines);
	uint32_t cq;
	int err = cq_of(host, &req, &cq);

	LAB_NEED(!err, "a CQ on pipelines %u: %s", pipelines, strerror(-err));
	return cq;
}

/* nothing of the kernel's stack, whichever pipelines there are (F-64) */
IONIC_TEST(f64_cq_answers)
{
	struct host host = host_new();

	for (uint8_t pipelines = 1; pipelines <= 3; pipelines++)
		for (size_t len = 0; len <= 24; len += 4) {
			struct dvq_ionic_cq_req req = cq_request(&host, pipelines);
			uint8_t answer[32];
			const struct dvq_ionic_cq_resp *resp = (void *)answer;
			uint32_t cq;

			memset(answer, UNTOUCHED, sizeof(answer));
			memset(req.reserved_108, 0xff, sizeof(req.reserved_108));
			CHECK_EQ(raw_cq(host.raw, 16, &(struct uv_data) { &req, sizeof(req), answer,
									  len }, &cq), 0);
			for (size_t i = len; i < sizeof(answer); i++)
				LAB_NEED(answer[i] == UNTOUCHED, "byte %zu of %zu", i, len);
			if (len >= 4 && !(pipelines & 1))
				CHECK_EQ(resp->cqid[0], 0);
			if (len >= 8 && !(pipelines & 2))
				CHECK_EQ(resp->cqid[1], 0);
			if (len >= 12)
				CHECK_EQ(resp->udma_mask, pipelines);
			for (size_t i = 9; i < len; i++)
				CHECK_EQ(answer[i], 0);
			CHECK_EQ(raw_cq_destroy(host.raw, cq), 0);
		}
	expect_nothing_left(&host);
}

static void expect_no_cq(const struct host *host, struct dvq_ionic_cq_req req, int err)
{
	uint32_t cq;

	CHECK_EQ(cq_of(host, &req, &cq), err);
	expect_nothing_left(host);
}

/* the second ring is spoilt, so that the first one has to be undone */
IONIC_TEST(cq_rings_that_are_none)
{
	struct host host = host_new();
	struct dvq_ionic_cq_req good = cq_request(&host, 3), bad;

	bad = good;
	bad.udma_mask = 0;
	expect_no_cq(&host, bad, -EINVAL);
	bad.udma_mask = 4;
	expect_no_cq(&host, bad, -EINVAL);
	bad = good;
	bad.ring[1].addr = 0;
	expect_no_cq(&host, bad, -EINVAL);
	bad.ring[1].addr = good.ring[1].addr + 64;
	expect_no_cq(&host, bad, -EINVAL);
	bad = good;
	bad.ring[1].size--;
	expect_no_cq(&host, bad, -EINVAL);
	bad = good;
	bad.ring[1].mask--;
	expect_no_cq(&host, bad, -EINVAL);
	bad = good;
	bad.ring[1].depth_log2 = 0;
	bad.ring[1].mask = 0;
	expect_no_cq(&host, bad, -EINVAL);
	bad.ring[1].depth_log2 = 17;
	bad.ring[1].mask = 0xffff;
	bad.ring[1].size = 1u << 22;
	expect_no_cq(&host, bad, -EINVAL);
	/* entries of another size than the adapter has, which the stock driver lets through */
	bad = good;
	bad.ring[1].stride_log2 = 6;
	expect_no_cq(&host, bad, -EINVAL);
	/* memory that is not there */
	bad = good;
	bad.ring[1].addr = 0x10000;
	expect_no_cq(&host, bad, -EFAULT);
}

IONIC_TEST(f66_cq_requests_of_other_lengths)
{
	struct host host = host_new();
	struct {
		struct dvq_ionic_cq_req req;
		uint32_t more[4];
	} req = { .req = cq_request(&host, 3) };
	uint32_t cq;

	CHECK_EQ(raw_cq(host.raw, 16, UV_IN(&req, 32), &cq), -EINVAL);
	CHECK_EQ(raw_cq(host.raw, 16, UV_IN(&req, sizeof(req)), &cq), 0);
	CHECK_EQ(raw_cq_destroy(host.raw, cq), 0);
	req.more[3] = 1;
	CHECK_EQ(raw_cq(host.raw, 16, UV_IN(&req, sizeof(req)), &cq), -EOPNOTSUPP);
	expect_nothing_left(&host);
}

/* an answer that cannot be given undoes everything (F-63) */
IONIC_TEST(f52_f63_cq_answer_to_nowhere)
{
	struct host host = host_new();
	struct dvq_ionic_cq_req req = cq_request(&host, 3);
	uint32_t cq;

	for (unsigned int i = 0; i < 5; i++)
		CHECK_EQ(raw_cq(host.raw, 16, &(struct uv_data) { &req, sizeof(req), (void *)PAGE,
								  16 }, &cq), -EFAULT);
	expect_nothing_left(&host);
}

/* ---- QP -------------------------------------------------------------------------------------- */

struct qp {
	struct raw_qp raw;
	struct dvq_ionic_qp_req req;
	struct dvq_ionic_qp_resp resp;
	uint32_t handle;
};

static struct qp qp_request(const struct host *host, uint32_t send_cq, uint32_t recv_cq)
{
	struct qp qp = {
		.raw = {
			.type = IB_UVERBS_QPT_RC, .send_cq = send_cq, .recv_cq = recv_cq,
			.cap = { .max_send_wr = 63, .max_recv_wr = 63, .max_send_sge = 1,
				 .max_recv_sge = 1 },
		},
		.req = { .sq = ring(host, 2, 6, 6), .rq = ring(host, 3, 6, 6) },
	};

	/* libionic leaves what it finds there */
	memset(qp.req.reserved_128, 0x5a, sizeof(qp.req.reserved_128));
	return qp;
}

static int qp_create(const struct host *host, struct qp *qp)
{
	memset(&qp->resp, UNTOUCHED, sizeof(qp->resp));
	return raw_qp_data(host->raw, &qp->raw,
			   &(struct uv_data) { &qp->req, sizeof(qp->req), &qp->resp,
					       sizeof(qp->resp) }, &qp->handle);
}

static void qp_expect(const struct host *host, struct qp *qp, unsigned int pipeline)
{
	int err = qp_create(host, qp);

	LAB_NEED(!err, "creating a QP: %s", strerror(-err));
	CHECK_EQ(qp->resp.udma_idx, pipeline);
	CHECK_EQ(qp->resp.reserved_38, 0);
	CHECK_EQ(raw_qp_destroy(host->raw, qp->handle), 0);
}

IONIC_TEST(f64_qp_answer)
{
	struct host host = host_new();
	struct qp qp = qp_request(&host, cq_on(&host, 3), 0);

	qp.raw.recv_cq = qp.raw.send_cq;
	REQUIRE(!qp_create(&host, &qp));
	CHECK(qp.resp.qpid >= 2 && qp.resp.qpid < 1u << 24);
	CHECK_EQ(qp.resp.sq_cmb, 0);
	CHECK_EQ(qp.resp.rq_cmb, 0);
	CHECK_EQ(qp.resp.sq_cmb_offset, 0);
	CHECK_EQ(qp.resp.rq_cmb_offset, 0);
	CHECK_EQ(qp.resp.reserved_38, 0);
	CHECK(qp.resp.udma_idx < 2);
	CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
}

/* a creation that somebody else waits for */
struct creation {
	const struct host *host;
	struct uv_call call;
	uint32_t qp_num, async;
	int err;
};

static void creation_prepare(struct creation *creation, const struct host *host, struct qp *qp, void *answer)
{
	creation->host = host;
	creation->async = raw_async(host->raw);
	raw_qp_start(&creation->call, host->raw, &qp->raw,
		     &(struct uv_data) { &qp->req, sizeof(qp->req), answer, sizeof(qp->resp) },
		     &creation->qp_num);
	uv_handle(&creation->call, UVERBS_ATTR_CREATE_QP_EVENT_FD, creation->async);
}

static void *creation_run(void *arg)
{
	struct creation *creation = arg;

	creation->err = uv_run(creation->host->raw->fd, &creation->call);
	return NULL;
}

/* As event_test has it for CQs: events that came before would be left in the file when the QP is gone. */
IONIC_TEST(events_of_a_qp_whose_creation_fails)
{
	struct creation witness = {}, late = {};
	struct qp first, second;
	struct stall *stall;
	unsigned int number;
	char before[4096];
	pthread_t thread;
	struct host host;

	need_model();
	host = host_new();
	stall = stall_new();
	if (!stall)
		SKIP("the kernel has no userfaultfd (CONFIG_USERFAULTFD)");
	first = qp_request(&host, cq_on(&host, 3), 0);
	first.raw.recv_cq = first.raw.send_cq;
	second = first;
	creation_prepare(&witness, &host, &first, &first.resp);
	creation_run(&witness);
	REQUIRE(!witness.err);
	creation_prepare(&late, &host, &second, stall->page);
	snprintf(before, sizeof(before), "%s", model_ask(self->model, "qps"));
	REQUIRE(!pthread_create(&thread, NULL, creation_run, &late));
	stall_reached(stall);
	REQUIRE(model_new(self->model, "qps", before, &number, 1) == 1);
	model_ask(self->model, "event qp=%u code=%u", number, QP_FAILED);
	model_ask(self->model, "event qp=%u code=%u", first.resp.qpid, QP_FAILED);
	CHECK(fd_is_readable(witness.async, 60000));
	CHECK(!fd_is_readable(late.async, 0));
	stall_fail(stall);
	pthread_join(thread, NULL);
	CHECK_EQ(late.err, -EFAULT);
	CHECK_EQ(model_new(self->model, "qps", before, &number, 1), 0);
	close(late.async);
	close(witness.async);
}

/* where both CQs have a ring and the request lets it (F-70) */
IONIC_TEST(f70_pipelines)
{
	struct host host = host_new();
	uint32_t first = cq_on(&host, 1), second = cq_on(&host, 2), both = cq_on(&host, 3);
	struct qp qp = qp_request(&host, both, both);
	unsigned int seen = 0;

	qp.req.udma_mask = 1;
	qp_expect(&host, &qp, 0);
	qp.req.udma_mask = 2;
	qp_expect(&host, &qp, 1);
	for (unsigned int i = 0; i < 2; i++) {
		qp.req.udma_mask = 0;
		REQUIRE(!qp_create(&host, &qp));
		seen |= 1u << qp.resp.udma_idx;
		CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
	}
	CHECK_EQ(seen, 3);
	qp.raw.send_cq = first;
	qp.req.udma_mask = 0;
	qp_expect(&host, &qp, 0);
	qp.req.udma_mask = 2;
	CHECK_EQ(qp_create(&host, &qp), -EINVAL);
	qp.raw.recv_cq = second;
	qp.req.udma_mask = 0;
	CHECK_EQ(qp_create(&host, &qp), -EINVAL);
	qp.raw.send_cq = second;
	qp_expect(&host, &qp, 1);
	qp.req.udma_mask = 4;
	CHECK_EQ(qp_create(&host, &qp), -EINVAL);
}

static void expect_no_qp(const struct host *host, struct qp qp, int err)
{
	struct model_stats before;

	if (self->model[0])
		model_stats(self->model, &before);
	CHECK_EQ(qp_create(host, &qp), err);
	if (self->model[0])
		adapter_expect_objects(self, &before);
}

/* a creator may round its memory up; the adapter is told of the pages that the ring takes */
IONIC_TEST(rings_in_more_memory_than_they_need)
{
	struct host host = host_new();
	struct dvq_ionic_cq_req req = cq_request(&host, 3);
	struct qp qp;
	uint32_t cq;

	for (size_t pages = 1; pages <= 8; pages++) {
		req.ring[0].size = pages * PAGE;
		req.ring[1].size = (9 - pages) * PAGE;
		REQUIRE(!cq_of(&host, &req, &cq));
		qp = qp_request(&host, cq, cq);
		qp.req.sq.size = (9 - pages) * PAGE;
		qp.req.rq.size = pages * PAGE;
		REQUIRE(!qp_create(&host, &qp));
		CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
		CHECK_EQ(raw_cq_destroy(host.raw, cq), 0);
	}
	expect_nothing_left(&host);
}

/* of the receive queue, so that the send queue has to be undone; and less than the verbs ask for */
IONIC_TEST(qp_rings_that_are_none)
{
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3);
	struct qp good = qp_request(&host, cq, cq), bad;

	bad = good;
	bad.req.rq.addr += 8;
	expect_no_qp(&host, bad, -EINVAL);
	bad.req.rq.addr = 0x10000;
	expect_no_qp(&host, bad, -EFAULT);
	bad = good;
	bad.req.rq.size /= 2;
	expect_no_qp(&host, bad, -EINVAL);
	bad = good;
	bad.req.rq.stride_log2 = 5;
	expect_no_qp(&host, bad, -EINVAL);
	bad.req.rq.stride_log2 = host.context.max_stride + 1;
	bad.req.rq.size = 1u << 20;
	expect_no_qp(&host, bad, -EINVAL);
	bad = good;
	bad.req.sq = ring(&host, 2, 5, 6);
	expect_no_qp(&host, bad, -EINVAL);
	bad = good;
	bad.raw.cap.max_send_sge = 3;
	expect_no_qp(&host, bad, -EINVAL);
	bad = good;
	bad.raw.cap.max_inline_data = 33;
	expect_no_qp(&host, bad, -EINVAL);
	bad = good;
	bad.req.rq_spec = 17;
	expect_no_qp(&host, bad, -EINVAL);
	good.req.udma_mask = 1;
	qp_expect(&host, &good, 0);
}

IONIC_TEST(f66_qp_requests_of_other_lengths)
{
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3), more[4] = { 0 };
	struct qp qp = qp_request(&host, cq, cq);
	uint8_t req[sizeof(qp.req) + sizeof(more)];
	struct uv_data data = { req, sizeof(qp.req), &qp.resp, sizeof(qp.resp) };

	memset(req, 0, sizeof(req));
	memcpy(req, &qp.req, sizeof(qp.req));
	data.in_len = sizeof(qp.req) - 8;
	CHECK_EQ(raw_qp_data(host.raw, &qp.raw, &data, &qp.handle), -EINVAL);
	for (data.in_len = sizeof(qp.req); data.in_len <= sizeof(req); data.in_len += 4) {
		/* shorter answers than there is to say are cut */
		for (data.out_len = 8; data.out_len <= sizeof(qp.resp); data.out_len += 4) {
			memset(&qp.resp, UNTOUCHED, sizeof(qp.resp));
			CHECK_EQ(raw_qp_data(host.raw, &qp.raw, &data, &qp.handle), 0);
			for (size_t i = data.out_len; i < sizeof(qp.resp); i++)
				LAB_NEED(((uint8_t *)&qp.resp)[i] == UNTOUCHED, "byte %zu of %zu", i,
					 data.out_len);
			CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
		}
		data.out_len = sizeof(qp.resp);
	}
	data.in_len = sizeof(req);
	req[sizeof(req) - 1] = 1;
	CHECK_EQ(raw_qp_data(host.raw, &qp.raw, &data, &qp.handle), -EOPNOTSUPP);
}

/* One buffer for both queues (Linux 7.2): not had, and not passed over either. Older kernels know none. */
IONIC_TEST(qp_in_one_buffer)
{
	enum { CREATE_QP_BUF_UMEM = 15 };
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3), qp_num;
	struct qp qp = qp_request(&host, cq, cq);
	/* struct ib_uverbs_buffer_desc: an address */
	const struct { uint32_t type, fd, flags, optional_flags; uint64_t addr, length; } desc = {
		.type = 1, .addr = (uintptr_t)host.memory->base, .length = 64 * PAGE,
	};
	struct uv_call call;
	int err;

	raw_qp_start(&call, host.raw, &qp.raw,
		     &(struct uv_data) { &qp.req, sizeof(qp.req), &qp.resp, sizeof(qp.resp) }, &qp_num);
	uv_in(&call, CREATE_QP_BUF_UMEM, &desc, sizeof(desc));
	err = uv_run(host.raw->fd, &call);
	CHECK(err == -EOPNOTSUPP || err == -EPROTONOSUPPORT);
}

/* with rings in controller memory, if there is any: its pages come back (F-63) */
IONIC_TEST(f63_qp_answer_to_nowhere)
{
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3);
	struct qp qp = qp_request(&host, cq, cq);
	struct model_stats before;

	qp.req.sq_cmb = qp.req.rq_cmb = DVQ_IONIC_CMB_ENABLE;
	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int i = 0; i < 10; i++)
		CHECK_EQ(raw_qp_data(host.raw, &qp.raw,
				     &(struct uv_data) { &qp.req, sizeof(qp.req), (void *)PAGE,
							 sizeof(qp.resp) }, &qp.handle), -EFAULT);
	if (self->model[0])
		adapter_expect_objects(self, &before);
	REQUIRE(!qp_create(&host, &qp));
	CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
}

/*
 * The core's answer cannot be given, and the adapter refuses to undo: nobody is left to try again, so the
 * driver does. What the core could not undo it would warn of, and keep.
 */
IONIC_TEST(answer_to_nowhere_and_a_refusal)
{
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3);
	struct qp qp = qp_request(&host, cq, cq);
	struct dvq_ionic_cq_req cq_req = cq_request(&host, 3);
	struct dvq_ionic_cq_resp cq_resp;
	struct model_stats before;
	struct uv_call call;

	need_model();
	if (!self->dvq)
		SKIP("is about dvq_ionic");
	model_stats(self->model, &before);
	model_ask(self->model, "inject op=destroy_qp action=fail status=3");
	raw_qp_start(&call, host.raw, &qp.raw,
		     &(struct uv_data) { &qp.req, sizeof(qp.req), &qp.resp, sizeof(qp.resp) },
		     (uint32_t *)8);
	CHECK_EQ(uv_run(host.raw->fd, &call), -EFAULT);
	model_ask(self->model, "inject op=destroy_cq action=fail status=3");
	raw_cq_start(&call, 16, &(struct uv_data) { &cq_req, sizeof(cq_req), &cq_resp, sizeof(cq_resp) });
	uv_to_nowhere(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
	CHECK_EQ(uv_run(host.raw->fd, &call), -EFAULT);
	model_ask(self->model, "inject op=destroy_mr action=fail status=3");
	CHECK_EQ(raw_mr(host.raw, before.text, 64, (uintptr_t)before.text, 0, NULL,
			(void *)8), -EFAULT);
	CHECK_STR(model_ask(self->model, "inject list"), "");
	adapter_expect_objects(self, &before);
}

/* the length is the ring's, and it goes with the queue pair */
IONIC_TEST(f71_ring_in_controller_memory)
{
	struct host host = host_new();
	uint32_t cq = cq_on(&host, 3);
	struct qp qp = qp_request(&host, cq, cq);
	int fd = host.raw->fd;
	void *map;

	/* whoever wants to map it in both ways gets the usual one */
	qp.req.sq_cmb = DVQ_IONIC_CMB_ENABLE | DVQ_IONIC_CMB_WC | DVQ_IONIC_CMB_UC;
	REQUIRE(!qp_create(&host, &qp));
	CHECK(!(qp.resp.sq_cmb & DVQ_IONIC_CMB_WC) != !(qp.resp.sq_cmb & DVQ_IONIC_CMB_UC) ||
	      !(qp.resp.sq_cmb & DVQ_IONIC_CMB_ENABLE));
	CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
	qp.req.sq_cmb = DVQ_IONIC_CMB_ENABLE;
	REQUIRE(!qp_create(&host, &qp));
	if (!(qp.resp.sq_cmb & DVQ_IONIC_CMB_ENABLE))
		SKIP("the adapter has no controller memory");
	CHECK(!(qp.resp.sq_cmb & DVQ_IONIC_CMB_WC) != !(qp.resp.sq_cmb & DVQ_IONIC_CMB_UC));
	CHECK(qp.resp.sq_cmb_offset != 0);
	CHECK(mmap(NULL, 2 * qp.req.sq.size, PROT_WRITE, MAP_SHARED, fd,
		   qp.resp.sq_cmb_offset) == MAP_FAILED);
	map = mmap(NULL, qp.req.sq.size, PROT_WRITE, MAP_SHARED, fd, qp.resp.sq_cmb_offset);
	REQUIRE(map != MAP_FAILED);
	CHECK_EQ(raw_qp_destroy(host.raw, qp.handle), 0);
	CHECK(mmap(NULL, qp.req.sq.size, PROT_WRITE, MAP_SHARED, fd, qp.resp.sq_cmb_offset) ==
	      MAP_FAILED);
	munmap(map, qp.req.sq.size);
}

/* ---- AH -------------------------------------------------------------------------------------- */

IONIC_TEST(f64_ah_answer)
{
	struct host host = host_new();
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	uint8_t answer[16];
	uint32_t ah;

	attr.grh.hop_limit = 3;
	memset(answer, UNTOUCHED, sizeof(answer));
	REQUIRE(!raw_ah(host.raw, host.raw->pd, &attr, UV_OUT(answer, 12), &ah));
	for (unsigned int i = 4; i < 12; i++)
		CHECK_EQ(answer[i], 0);
	CHECK_EQ(answer[12], UNTOUCHED);
	CHECK_EQ(raw_ah_destroy(host.raw, ah), 0);
	CHECK_EQ(raw_ah(host.raw, host.raw->pd, &attr, UV_OUT((void *)PAGE, 8), &ah), -EFAULT);
	expect_nothing_left(&host);
}

/* the hop limit in the header that the adapter has for @gid, asked for with @limit */
static unsigned int header_hops(const struct host *host, const void *gid, uint8_t limit)
{
	struct ib_uverbs_ah_attr attr = raw_ah_attr(gid);
	struct dvq_ionic_ah_resp resp;
	unsigned int hops = 0;
	const char *header;
	uint32_t ah;
	int err;

	attr.grh.hop_limit = limit;
	err = raw_ah(host->raw, host->raw->pd, &attr, UV_OUT(&resp, sizeof(resp)), &ah);
	LAB_NEED(!err, "an AH with hop limit %u: %s", limit, strerror(-err));
	header = strstr(model_ask(self->model, "ah %u", resp.ahid), "header=");
	/* two digits for each byte; the field is the eighth of IPv6, behind 14 of Ethernet */
	REQUIRE(header && sscanf(header + strlen("header=") + 2 * (14 + 7), "%2x", &hops) == 1);
	CHECK_EQ(raw_ah_destroy(host->raw, ah), 0);
	return hops;
}

/* as asked for; the core has its own for a peer: that of the route */
IONIC_TEST(f76_hop_limit)
{
	static const uint8_t group[16] = { 0xff, 0x0e, [15] = 1 };
	struct host host = host_new();

	need_model();
	CHECK_EQ(header_hops(&host, group, 0), 64);
	for (unsigned int limit = 1; limit <= 255; limit += 127)
		CHECK_EQ(header_hops(&host, group, limit), limit);
	for (unsigned int limit = 0; limit <= 255; limit += 85)
		CHECK_EQ(header_hops(&host, &peer->gid, limit), 64);
}

IONIC_TEST_MAIN
