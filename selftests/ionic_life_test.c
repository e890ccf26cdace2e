// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of ionic come and go: in any order, up to their limits, refused by the adapter or by the
 * driver, and none is left behind.
 */
#include "lib/async.h"
#include "lib/driver.h"
#include "lib/ionic_test.h"
#include "lib/memory.h"
#include "lib/resource.h"
#include "lib/uverbs.h"

/* before anything is made */
static struct model_stats objects_now(void)
{
	struct model_stats stats = {};

	if (self->model[0])
		model_stats(self->model, &stats);
	return stats;
}

/* ---- in any order ---------------------------------------------------------------------------- */

enum { PDS = 4, CQS = 6, QPS = 12, MRS = 12, MWS = 6, AHS = 12 };

/**
 * struct zoo - what is there of each kind; NULL: not now
 *
 * @users: of each PD; of each CQ
 */
struct zoo {
	struct ibv_pd *pd[PDS];
	struct ibv_cq *cq[CQS];
	struct ibv_qp *qp[QPS];
	struct ibv_mr *mr[MRS];
	struct ibv_mw *mw[MWS];
	struct ibv_ah *ah[AHS];
	uint8_t memory[64 * 1024];
	uint32_t random;
};

static unsigned int dice(struct zoo *zoo, unsigned int n)
{
	return lab_random(&zoo->random) % n;
}

static struct ibv_qp *new_qp(struct zoo *zoo, struct ibv_pd *pd)
{
	struct ibv_cq *send = zoo->cq[dice(zoo, CQS)], *recv = zoo->cq[dice(zoo, CQS)];
	struct ibv_qp_init_attr attr = {
		.qp_type = dice(zoo, 2) ? IBV_QPT_RC : IBV_QPT_UD, .send_cq = send, .recv_cq = recv,
		.cap = {
			.max_send_wr = 1 + dice(zoo, 300), .max_recv_wr = 1 + dice(zoo, 300),
			.max_send_sge = 1 + dice(zoo, 7), .max_recv_sge = 1 + dice(zoo, 8),
			.max_inline_data = dice(zoo, 200),
		},
	};
	struct ibv_qp *qp = send && recv ? ibv_create_qp(pd, &attr) : NULL;

	LAB_NEED(qp || !send || !recv, "ibv_create_qp: %s", strerror(errno));
	return qp;
}

/* EBUSY is what the library says of what others still need */
#define TOGGLE(slot, make, destroy)						\
	do {									\
		if (slot) {							\
			int err = destroy(slot);				\
			LAB_NEED(!err || err == EBUSY, #destroy ": %s", strerror(err)); \
			if (!err)						\
				(slot) = NULL;					\
		} else {							\
			(slot) = (make);					\
		}								\
	} while (0)

static void turn(struct zoo *zoo)
{
	struct ibv_ah_attr to = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = peer->gid, .hop_limit = 9 },
	};
	struct ibv_pd *pd = zoo->pd[dice(zoo, PDS)];
	unsigned int kind = dice(zoo, 12), i = dice(zoo, 12);

	if (!pd || !kind) {
		i %= PDS;
		TOGGLE(zoo->pd[i], ibv_alloc_pd(self->context), ibv_dealloc_pd);
	} else if (kind == 1) {
		i %= CQS;
		TOGGLE(zoo->cq[i], ibv_create_cq(self->context, 1 + dice(zoo, 500), NULL, NULL, 0),
		       ibv_destroy_cq);
	} else if (kind < 5) {
		TOGGLE(zoo->qp[i], new_qp(zoo, pd), ibv_destroy_qp);
	} else if (kind < 8) {
		TOGGLE(zoo->mr[i], ibv_reg_mr(pd, zoo->memory + dice(zoo, 30000),
					      1 + dice(zoo, 30000), IBV_ACCESS_LOCAL_WRITE),
		       ibv_dereg_mr);
	} else if (kind < 10) {
		i %= MWS;
		TOGGLE(zoo->mw[i], ibv_alloc_mw(pd, 1 + dice(zoo, 2)), ibv_dealloc_mw);
	} else {
		TOGGLE(zoo->ah[i], ibv_create_ah(pd, &to), ibv_destroy_ah);
	}
}

static void clear_zoo(struct zoo *zoo)
{
	for (unsigned int i = 0; i < QPS; i++)
		CHECK(!zoo->qp[i] || !ibv_destroy_qp(zoo->qp[i]));
	for (unsigned int i = 0; i < MRS; i++)
		CHECK(!zoo->mr[i] || !ibv_dereg_mr(zoo->mr[i]));
	for (unsigned int i = 0; i < MWS; i++)
		CHECK(!zoo->mw[i] || !ibv_dealloc_mw(zoo->mw[i]));
	for (unsigned int i = 0; i < AHS; i++)
		CHECK(!zoo->ah[i] || !ibv_destroy_ah(zoo->ah[i]));
	for (unsigned int i = 0; i < CQS; i++)
		CHECK(!zoo->cq[i] || !ibv_destroy_cq(zoo->cq[i]));
	for (unsigned int i = 0; i < PDS; i++)
		CHECK(!zoo->pd[i] || !ibv_dealloc_pd(zoo->pd[i]));
}

IONIC_TEST(random_turns)
{
	static struct zoo zoo;
	struct model_stats before = objects_now();

	zoo.random = 77;
	for (unsigned int i = 0; i < 2000; i++)
		turn(&zoo);
	clear_zoo(&zoo);
	adapter_expect_objects(self, &before);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { TABLE_PAGES = 32768, TABLE_BYTES = TABLE_PAGES * 8 };

/* a region that is described by a table of pages; @refused: by the adapter */
struct region {
	struct ibv_pd *pd;
	struct memory *memory;
	bool refused;
};

static void register_once(void *arg)
{
	struct region *region = arg;
	struct ibv_mr *mr;

	if (region->refused)
		model_ask(self->model, "inject op=create_mr action=fail status=5");
	mr = ibv_reg_mr(region->pd, region->memory->base, region->memory->size, 0);
	CHECK_EQ(!mr, region->refused);
	if (mr)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
}

IONIC_TEST(memory_of_tables_comes_back)
{
	struct region region;

	need_model();
	allow_seconds(600);
	region.pd = pd_new(self);
	region.memory = memory_scattered(TABLE_PAGES, 4096);
	for (unsigned int i = 0; i < 2; i++) {
		region.refused = i;
		memory_expect_returned(i ? "regions that are refused" : "regions", TABLE_BYTES,
				       register_once, &region);
	}
}

/* ---- limits ---------------------------------------------------------------------------------- */

/**
 * struct limit - a kind of object of which as many are made as there can be
 *
 * @most: at most so many; @least: at least, some are in use already
 */
struct limit {
	const char *what;
	void *(*make)(void *with);
	int (*destroy)(void *object);
	void *with;
	unsigned int least, most;
};

static void expect_limit(const struct limit *limit)
{
	void **made = calloc(limit->most + 1, sizeof(*made));
	unsigned int n = 0;

	REQUIRE(made);
	while (n <= limit->most && (made[n] = limit->make(limit->with)))
		n++;
	if (n < limit->least || n > limit->most)
		lab_note(__FILE__, __LINE__, "%u %s, wanted %u to %u", n, limit->what,
			 limit->least, limit->most);
	if (n <= limit->most)
		CHECK_STR(strerror(errno), strerror(ENOMEM));
	/* one goes, one comes */
	REQUIRE(n && !limit->destroy(made[n / 2]));
	made[n / 2] = limit->make(limit->with);
	CHECK(made[n / 2]);
	for (; n; n--)
		REQUIRE(!limit->destroy(made[n - 1]));
	free(made);
}

static void *make_pd(void *with)
{
	(void)with;
	return ibv_alloc_pd(self->context);
}

static int destroy_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static void *make_cq(void *with)
{
	(void)with;
	return ibv_create_cq(self->context, 1, NULL, NULL, 0);
}

static int destroy_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static void *make_qp(void *with)
{
	struct endpoint *endpoint = with;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = endpoint->send_cq->cq,
		.recv_cq = endpoint->send_cq->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(endpoint->pd, &attr);
}

static int destroy_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static void *make_mw(void *with)
{
	return ibv_alloc_mw(with, IBV_MW_TYPE_2);
}

static int destroy_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static void *make_ah(void *with)
{
	return ah_try(with, &peer->gid);
}

static int destroy_ah(void *object)
{
	return ibv_destroy_ah(object);
}

IONIC_TEST(as_many_as_there_can_be)
{
	struct model_stats before = objects_now();
	struct ibv_device_attr *attr = &self->attr;
	struct ibv_pd *pd = pd_new(self);
	struct endpoint *endpoint = endpoint_new(self, NULL);
	struct limit limits[] = {
		{ "PDs", make_pd, destroy_pd, NULL, attr->max_pd - 8, attr->max_pd },
		{ "CQs", make_cq, destroy_cq, NULL, attr->max_cq - 16, attr->max_cq },
		{ "QPs", make_qp, destroy_qp, endpoint, attr->max_qp - 8, attr->max_qp },
		/* they and regions are numbered together */
		{ "windows", make_mw, destroy_mw, pd, attr->max_mw - 16, attr->max_mw },
		{ "AHs", make_ah, destroy_ah, pd, attr->max_ah - 16, attr->max_ah },
	};

	allow_seconds(400);
	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		expect_limit(&limits[i]);
	lab_drop_all();
	adapter_expect_objects(self, &before);
}

/* ---- refused by the driver ------------------------------------------------------------------- */

static void expect_no_qp(struct ibv_qp_init_attr attr, int err)
{
	struct ibv_qp *qp = ibv_create_qp(pd_new(self), &attr);

	if (qp) {
		lab_note(__FILE__, __LINE__, "a QP of type %d, %u, %u, %u, %u, %u is granted",
			 attr.qp_type, attr.cap.max_send_wr, attr.cap.max_recv_wr,
			 attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data);
		ibv_destroy_qp(qp);
	} else if (errno != err) {
		lab_note(__FILE__, __LINE__, "a QP of type %d, %u, %u, %u, %u, %u: %s, wanted %s",
			 attr.qp_type, attr.cap.max_send_wr, attr.cap.max_recv_wr,
			 attr.cap.max_send_sge, attr.cap.max_recv_sge, attr.cap.max_inline_data,
			 strerror(errno), strerror(err));
	}
}

IONIC_TEST(queues_that_cannot_be)
{
	struct model_stats before = objects_now();
	struct cq *cq = cq_new(self, 64, NULL);
	struct ibv_qp_init_attr good = {
		.qp_type = IBV_QPT_RC, .send_cq = cq->cq, .recv_cq = cq->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	}, bad;

	bad = good;
	bad.cap.max_send_wr = 65536;
	expect_no_qp(bad, EINVAL);
	bad = good;
	bad.cap.max_recv_wr = 65536;
	expect_no_qp(bad, EINVAL);
	bad = good;
	bad.cap.max_send_sge = 9;
	expect_no_qp(bad, EINVAL);
	bad = good;
	bad.cap.max_recv_sge = 9;
	expect_no_qp(bad, EINVAL);
	bad = good;
	bad.cap.max_inline_data = 4096;
	expect_no_qp(bad, EINVAL);
	CHECK(!ibv_create_cq(self->context, self->attr.max_cqe + 1, NULL, NULL, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_create_cq(self->context, 0, NULL, NULL, 0));
	CHECK_EQ(errno, EINVAL);
	lab_drop_all();
	adapter_expect_objects(self, &before);
}

/* what the adapter or its driver does not have (F-68, F-69) */
IONIC_TEST(f68_f69_not_supported)
{
	struct cq *cq = cq_new(self, 64, NULL);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq->cq, .recv_cq = cq->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };

	attr.qp_type = IBV_QPT_UC;
	expect_no_qp(attr, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_RAW_PACKET;
	expect_no_qp(attr, EOPNOTSUPP);
	attr.qp_type = IBV_QPT_XRC_SEND;
	expect_no_qp(attr, EOPNOTSUPP);
	CHECK_EQ(self->attr.max_srq, 0);
	CHECK(!ibv_create_srq(pd_new(self), &srq));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ibv_resize_cq(cq->cq, 128), EOPNOTSUPP);
}

/* ---- refused by the adapter ------------------------------------------------------------------ */

/* status of an admin command, see Documentation/hw/ionic-rdma.rst */
enum { BAD_COMMAND = 1, NO_STATUS = 7 };

static int try_cq(struct endpoint *endpoint)
{
	struct ibv_cq *cq = ibv_create_cq(self->context, 16, NULL, NULL, 0);

	(void)endpoint;
	return cq ? ibv_destroy_cq(cq) : errno;
}

static int try_qp(struct endpoint *endpoint)
{
	struct ibv_qp *qp = make_qp(endpoint);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int try_mr(struct endpoint *endpoint)
{
	static uint8_t memory[100000];
	struct ibv_mr *mr = ibv_reg_mr(endpoint->pd, memory, sizeof(memory), 0);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static int try_mw(struct endpoint *endpoint)
{
	struct ibv_mw *mw = make_mw(endpoint->pd);

	return mw ? ibv_dealloc_mw(mw) : errno;
}

static int try_ah(struct endpoint *endpoint)
{
	struct ibv_ah *ah = make_ah(endpoint->pd);

	return ah ? ibv_destroy_ah(ah) : errno;
}

static int try_init(struct endpoint *endpoint)
{
	return endpoint_step(endpoint, IBV_QPS_INIT, 0);
}

static int try_query(struct endpoint *endpoint)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(endpoint->qp, &attr, IBV_QP_STATE, &init);
}

static const struct {
	const char *point;
	int (*attempt)(struct endpoint *endpoint);
} commands[] = {
	{ "create_cq", try_cq }, { "create_qp", try_qp }, { "create_mr", try_mr },
	{ "create_mr", try_mw }, { "create_ah", try_ah }, { "modify_qp", try_init },
	{ "query_qp", try_query },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

IONIC_TEST(f57_creation_refused)
{
	struct model_stats before;
	struct endpoint *endpoint;

	need_model();
	endpoint = endpoint_new(self, &(struct endpoint_options) { .state = IBV_QPS_INIT });
	model_stats(self->model, &before);
	for (unsigned int i = 0; i < COMMANDS; i++)
		for (unsigned int status = 1; status <= NO_STATUS; status++) {
			int want = status == BAD_COMMAND ? EOPNOTSUPP :
				   status == NO_STATUS ? EIO : EINVAL;

			model_ask(self->model, "inject op=%s action=fail status=%u",
				  commands[i].point, status);
			CHECK_EQ(commands[i].attempt(endpoint), want);
			adapter_expect_objects(self, &before);
			CHECK_EQ(commands[i].attempt(endpoint), 0);
			adapter_expect_objects(self, &before);
		}
}

/* a CQ is two rings in the adapter, and the second one fails */
IONIC_TEST(f52_second_half_refused)
{
	struct endpoint *endpoint;
	struct model_stats before;
	long pinned;

	need_model();
	endpoint = endpoint_new(self, NULL);
	model_stats(self->model, &before);
	pinned = memory_pinned();
	model_ask(self->model, "inject op=create_cq nth=2 action=fail status=5");
	CHECK_EQ(try_cq(endpoint), EINVAL);
	CHECK_EQ(memory_pinned(), pinned);
	adapter_expect_objects(self, &before);
	CHECK_EQ(try_cq(endpoint), 0);
}

static struct raw *raw_context(void)
{
	struct dvq_ionic_ctx_resp resp;

	return raw_new_ionic(self, &resp);
}

static void raw_mr_of(const struct raw *raw)
{
	static uint8_t memory[100];
	struct ib_uverbs_reg_mr_resp resp;
	int err = raw_mr(raw, memory, sizeof(memory), (uintptr_t)memory, 0, NULL, &resp);

	LAB_NEED(!err, "registering: %s", strerror(-err));
}

static struct dvq_ionic_ring raw_ring(const struct memory *memory, unsigned int n, uint8_t stride)
{
	return (struct dvq_ionic_ring) {
		.addr = (uintptr_t)memory->base + n * PAGE, .size = PAGE, .mask = 31,
		.depth_log2 = 5, .stride_log2 = stride,
	};
}

static void raw_queues_of(const struct raw *raw, bool with_qp)
{
	struct memory *memory = memory_plain(3);
	const struct dvq_ionic_cq_req cq_req = {
		.udma_mask = 1, .ring = { raw_ring(memory, 0, 5) },
	};
	const struct dvq_ionic_qp_req qp_req = {
		.sq = raw_ring(memory, 1, 6), .rq = raw_ring(memory, 2, 6),
	};
	struct dvq_ionic_cq_resp cq_resp;
	struct dvq_ionic_qp_resp qp_resp;
	struct raw_qp qp = {
		.type = IB_UVERBS_QPT_RC,
		.cap = { .max_send_wr = 31, .max_recv_wr = 31, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int err = raw_cq(raw, 16, &(struct uv_data) { &cq_req, sizeof(cq_req), &cq_resp,
						      sizeof(cq_resp) }, &qp.send_cq);

	qp.recv_cq = qp.send_cq;
	if (!err && with_qp)
		err = raw_qp_data(raw, &qp, &(struct uv_data) { &qp_req, sizeof(qp_req), &qp_resp,
								sizeof(qp_resp) }, &qp.send_cq);
	LAB_NEED(!err, "creating queues: %s", strerror(-err));
}

/* what was not destroyed is still there, and is the next time */
IONIC_TEST(destruction_refused)
{
	static const char *const points[] = { "destroy_qp", "destroy_cq", "destroy_mr" };
	static uint8_t memory[100];
	struct model_stats before = objects_now();

	need_model();
	for (unsigned int i = 0; i < 3; i++) {
		struct endpoint *endpoint = endpoint_new(self, NULL);
		struct ibv_cq *cq = make_cq(NULL);
		struct ibv_qp *qp = make_qp(endpoint);
		struct ibv_mr *mr = ibv_reg_mr(endpoint->pd, memory, sizeof(memory), 0);

		REQUIRE(cq && qp && mr);
		model_ask(self->model, "inject op=%s action=fail status=3", points[i]);
		CHECK((i == 0 ? ibv_destroy_qp(qp) :
		       i == 1 ? ibv_destroy_cq(cq) : ibv_dereg_mr(mr)) != 0);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		CHECK_EQ(ibv_destroy_cq(cq), 0);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		lab_drop_all();
		adapter_expect_objects(self, &before);
	}
}

/* what the adapter uses no memory for is asked for twice at once */
IONIC_TEST(destruction_refused_once)
{
	struct model_stats before = objects_now();
	struct ibv_mw *mw;
	struct ibv_ah *ah;
	struct ibv_pd *pd;

	need_model();
	pd = pd_new(self);
	mw = make_mw(pd);
	ah = make_ah(pd);
	REQUIRE(mw && ah);
	model_ask(self->model, "inject op=destroy_mr action=fail status=3");
	model_ask(self->model, "inject op=destroy_ah action=fail status=3");
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	adapter_expect_objects(self, &before);
}

/* Then the numbers stay taken: no memory is at stake, so the adapter goes on for everybody. */
IONIC_TEST(numbers_refused_for_ever)
{
	struct model_stats before = objects_now(), now;
	struct ibv_pd *pd;
	struct ibv_mw *mw;
	struct ibv_ah *ah;

	need_model();
	if (!self->dvq)
		SKIP("is about dvq_ionic");
	allow_seconds(120);
	pd = pd_new(self);
	mw = make_mw(pd);
	ah = make_ah(pd);
	REQUIRE(mw && ah);
	model_ask(self->model, "inject op=destroy_mr count=2 action=fail status=3");
	model_ask(self->model, "inject op=destroy_ah count=2 action=fail status=3");
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	CHECK_STR(model_ask(self->model, "inject list"), "");
	model_stats(self->model, &now);
	CHECK_EQ(model_stat(&now, "mr") - model_stat(&before, "mr"), 1);
	CHECK_EQ(model_stat(&now, "ah") - model_stat(&before, "ah"), 1);
	mw = make_mw(pd);
	REQUIRE(mw);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	/* once around: the model refuses a number that it has */
	for (int i = 0; i < self->attr.max_ah; i++) {
		ah = make_ah(pd);
		REQUIRE(ah);
		REQUIRE(!ibv_destroy_ah(ah));
	}
	lab_drop_all();
	CHECK(async_quiet(self, QUIET_MS));
	driver_rebind();
	adapter_expect_objects(self, &before);
}

/* Nobody is left to try again, so the RDMA side is failed; nothing stays in the kernel. */
IONIC_TEST(file_closed_while_adapter_refuses)
{
	static const char *const points[] = { "destroy_qp", "destroy_cq", "destroy_mr" };
	struct resources before;

	need_model();
	if (!self->dvq)
		SKIP("is about dvq_ionic");
	for (unsigned int i = 0; i < 3; i++) {
		struct model_stats empty = objects_now();

		before = resources_now(self);
		/* a context without anything else, which the core could be busy with meanwhile */
		if (i == 2)
			raw_mr_of(raw_context());
		else
			raw_queues_of(raw_context(), i == 0);
		model_ask(self->model, "inject op=%s count=1000 action=fail status=3", points[i]);
		lab_drop_all();
		resources_expect(self, &before, points[i]);
		async_expect(self, IBV_EVENT_DEVICE_FATAL, NULL);
		driver_rebind();
		adapter_expect_objects(self, &empty);
	}
}

/* ---- the node's description (F-72) ----------------------------------------------------------- */

/* 64 bytes without an end: every file of the device is read, and none shows more than it has */
IONIC_TEST(f72_description_without_an_end)
{
	char path[512], command[1024], text[200] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%.200s/node_desc", self->device->ibdev_path);
	file = fopen(path, "w");
	REQUIRE(file);
	memset(text, 'x', 64);
	CHECK_EQ(fwrite(text, 1, 64, file), 64);
	CHECK_EQ(fclose(file), 0);
	file = fopen(path, "r");
	REQUIRE(file);
	memset(text, 0, sizeof(text));
	CHECK(fread(text, 1, sizeof(text) - 1, file) <= 65);
	fclose(file);
	CHECK_EQ(strspn(text, "x"), 64);
	snprintf(command, sizeof(command), "find %.200s/ -type f -perm -400 -exec cat {} + > "
		 "/dev/null 2>&1", self->device->ibdev_path);
	if (system(command))
		printf("# not every file of the device can be read\n");
	file = fopen(path, "w");
	REQUIRE(file);
	fputs("ionic", file);
	CHECK_EQ(fclose(file), 0);
}

IONIC_TEST_MAIN
