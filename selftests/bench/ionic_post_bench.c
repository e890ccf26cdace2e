// SPDX-License-Identifier: GPL-2.0
/*
 * What posting and polling costs on an ionic adapter that dvq_ionic drives, with the queues in host memory,
 * in controller memory and with express doorbells: the inline code of <dvq/ionic.h> against the stock
 * provider. Documentation/performance.rst
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/ionic_dv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../lib/show.h"
#include "scene.h"

#define ROWS	1024

enum place { HOST, CMB, EXPRESS, PLACES };

static const char *const place_names[PLACES] = { "host ring", "CMB ring", "express doorbell" };

/* what dvq posts to and polls, beside what the scene has */
struct rings {
	struct scene scene;
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;
	struct dvq_ionic_cq_qp rows[ROWS];
	struct dvq_ionic_req *slots;
};

/* ---- doorbells that take no time ---------------------------------------------------- */

/*
 * The model sees each store to the doorbell page, which takes as long as a thousand requests. So all that
 * is measured rings on a page of plain memory instead, and what was rung there is passed on after each
 * step. The instructions are the same.
 */
#define PAGE_BYTES	4096
#define DOORBELLS	16	/* words at the start of the page that are used */

/*
 * Of two doorbells at one word in one step, as of the two rings of a CQ, only the last is passed on. CQs that are
 * never full need none.
 */
#define CQ_DEPTH	8192

static uint64_t *quiet;	/* the plain page, in the place of libionic's mapping */
static uint64_t real;	/* another mapping of the doorbell page */

static void pass_on(void *scene)
{
	(void)scene;
	for (unsigned int i = 0; i < DOORBELLS; i++) {
		uint64_t value = ((volatile uint64_t *)quiet)[i];

		if (!value)
			continue;
		quiet[i] = 0;
		dvq_doorbell64(real + i * 8, value);
	}
}

/* the only mapping of the device, before there are queues */
static void find_doorbells(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end;
	char line[512];

	LAB_NEED(maps, "/proc/self/maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/dev/infiniband/uverbs") ||
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) != 2)
			continue;
		LAB_NEED(!quiet && end - start == PAGE_BYTES, "libionic has other mappings than expected");
		quiet = (uint64_t *)(uintptr_t)start;
	}
	fclose(maps);
	LAB_NEED(quiet, "libionic has no doorbell page");
}

static void quieten(void)
{
	static struct dvq_ionic_sq sq;

	NEED_ZERO(dvq_ionic_sq_open(endpoint_new(self, NULL)->qp, &sq, sizeof(sq)));
	real = sq.wq.doorbell & ~(uint64_t)(PAGE_BYTES - 1);
	LAB_NEED(mmap(quiet, PAGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) == quiet,
		 "mmap: %s", strerror(errno));
}

static uint64_t quiet_one(uint64_t doorbell)
{
	return (uint64_t)(uintptr_t)quiet + doorbell % PAGE_BYTES;
}

/* ---- by dvq ------------------------------------------------------------------------- */

#define SENDS(name, ...)								\
	static int name(void *arg, unsigned int n)					\
	{										\
		struct rings *r = arg;							\
		const struct values values = r->scene.values, *const v = &values;	\
											\
		for (unsigned int i = 0; i < n; i++) {					\
			struct dvq_ionic_wr wr;						\
			int ret;							\
											\
			__VA_ARGS__							\
			ret = dvq_ionic_sq_post(&r->sq, &wr, i);			\
			if (ret)							\
				return ret;						\
		}									\
		dvq_ionic_sq_publish(&r->sq);						\
		return 0;								\
	}

SENDS(send_one,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);)

SENDS(send_inline,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, v->data, REQUEST_INLINE);)

SENDS(write_one,
	dvq_ionic_wr_rdma_write(&wr, v->rkey, v->remote);
	dvq_ionic_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);)

static int (*dvq_sends(const struct request *request))(void *arg, unsigned int n)
{
	if (request->opcode == IBV_WR_RDMA_WRITE)
		return write_one;
	return request->inlined ? send_inline : send_one;
}

static int post_recv(void *arg, unsigned int n)
{
	struct rings *r = arg;
	const struct ibv_sge from = r->scene.recv_sge;

	for (unsigned int i = 0; i < n; i++) {
		struct dvq_ionic_sge sge = { .addr = from.addr, .length = from.length, .lkey = from.lkey };
		int ret = dvq_ionic_rq_post(&r->rq, &sge, 1, i);

		if (ret)
			return ret;
	}
	dvq_ionic_rq_publish(&r->rq);
	return 0;
}

static int poll_cq(void *arg, unsigned int n)
{
	struct dvq_ionic_wc wc[POST_BATCH];
	struct rings *r = arg;
	uint32_t got = dvq_ionic_cq_poll(&r->cq, wc, n);

	for (uint32_t i = 0; i < got; i++)
		if (wc[i].status)
			return -wc[i].status;
	return (int)got;
}

/* ---- scenes ------------------------------------------------------------------------- */

static int close_rings(void *object)
{
	struct rings *r = object;

	dvq_ionic_cq_close(&r->cq);
	dvq_ionic_rq_close(&r->rq);
	dvq_ionic_sq_close(&r->sq);
	free(r->slots);
	free(r);
	return 0;
}

static struct ibv_pd *pd_at(enum place place)
{
	struct ibv_pd *pd = pd_new(self);

	NEED_ZERO(ionic_dv_pd_set_sqcmb(pd, place >= CMB, place == EXPRESS, place >= CMB));
	NEED_ZERO(ionic_dv_pd_set_rqcmb(pd, place >= CMB, place == EXPRESS, place >= CMB));
	return pd;
}

/* the test library makes queue pairs of ionic without ibv_wr_*() */
static bool extend(struct endpoint *endpoint, const struct endpoint_options *options)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .pd = endpoint->pd, .send_cq = endpoint->send_cq->cq,
		.recv_cq = endpoint->recv_cq->cq,
		.cap = {
			.max_send_wr = options->send_wr ?: ENDPOINT_WR, .max_recv_wr = ENDPOINT_WR,
			.max_send_sge = options->send_sge, .max_recv_sge = options->recv_sge,
			.max_inline_data = options->inline_data,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_RDMA_READ,
	};

	NEED_ZERO(ibv_destroy_qp(endpoint->qp));
	endpoint->qp = ibv_create_qp_ex(self->context, &attr);
	if (!endpoint->qp)
		return false;
	endpoint->ex = ibv_qp_to_qp_ex(endpoint->qp);
	NEED_ZERO(endpoint_step(endpoint, IBV_QPS_INIT, 0));
	return endpoint->ex;
}

/* @listed: for ibv_post_send(). NULL: the provider has no other way */
static struct rings *rings_new(enum place place, const struct request *request, bool listed)
{
	struct endpoint_options options = {
		.transport = RC, .pd = pd_at(place), .send_sge = 1, .recv_sge = 1,
		.inline_data = request->inlined, .cq_depth = CQ_DEPTH, .send_wr = request->depth,
	};
	struct rings *r = calloc(1, sizeof(*r));
	struct endpoint *a, *b;

	LAB_NEED(r, "no memory");
	lab_hold(close_rings, r);
	a = endpoint_new(self, &options);
	if (!listed && !extend(a, &options))
		return NULL;
	options.inline_data = 0;
	b = endpoint_new(self, &options);
	scene_init(&r->scene, request, a, b);
	return r;
}

static void give_slots(struct rings *r, struct dvq_ionic_reqs *reqs)
{
	r->slots = calloc(dvq_ionic_reqs_slots(reqs), sizeof(*r->slots));
	LAB_NEED(r->slots, "no memory");
}

static void open_cq(struct rings *r, struct ibv_cq *cq)
{
	NEED_ZERO(dvq_ionic_cq_open(cq, &r->cq, sizeof(r->cq)));
	NEED_ZERO(dvq_ionic_cq_set_qps(&r->cq, r->rows, ROWS));
	r->cq.doorbell = quiet_one(r->cq.doorbell);
}

static void dvq_posts_sends(struct rings *r)
{
	NEED_ZERO(dvq_ionic_sq_open(r->scene.a->qp, &r->sq, sizeof(r->sq)));
	r->sq.wq.doorbell = quiet_one(r->sq.wq.doorbell);
	give_slots(r, &r->sq.wq.reqs);
	NEED_ZERO(dvq_ionic_sq_set_slots(&r->sq, r->slots));
	open_cq(r, r->scene.a->send_cq->cq);
	NEED_ZERO(dvq_ionic_cq_attach(&r->cq, &r->sq, NULL));
}

static void dvq_posts_receives(struct rings *r)
{
	NEED_ZERO(dvq_ionic_rq_open(r->scene.b->qp, &r->rq, sizeof(r->rq)));
	r->rq.wq.doorbell = quiet_one(r->rq.wq.doorbell);
	give_slots(r, &r->rq.wq.reqs);
	NEED_ZERO(dvq_ionic_rq_set_slots(&r->rq, r->slots));
	open_cq(r, r->scene.b->recv_cq->cq);
	NEED_ZERO(dvq_ionic_cq_attach(&r->cq, NULL, &r->rq));
}

/* ---- comparisons -------------------------------------------------------------------- */

static struct post_way stock_way(const char *subject, struct rings *r, enum post_step measured)
{
	struct post_way way = scene_way(subject, &r->scene, measured);

	way.after = pass_on;
	return way;
}

static struct post_way dvq_way(struct rings *r, enum post_step measured)
{
	struct post_way way = stock_way("dvq", r, measured);

	if (measured == POST_SENDS || measured == POLL_SENDS) {
		dvq_posts_sends(r);
		way.step[POST_SENDS] = dvq_sends(&r->scene.request);
		way.step[POLL_SENDS] = poll_cq;
	} else {
		dvq_posts_receives(r);
		way.step[POST_RECEIVES] = post_recv;
		way.step[POLL_RECEIVES] = poll_cq;
	}
	return way;
}

static struct bench_case case_at(const char *name, enum place place)
{
	static char text[80];

	snprintf(text, sizeof(text), "%s, %s", name, place_names[place]);
	return (struct bench_case){ .part = "post", .adapter = "ionic", .name = text };
}

static void compare_sends(const char *name, const struct request *request, enum place place)
{
	const struct bench_case what = case_at(name, place);
	struct post_way ways[3] = {
		dvq_way(rings_new(place, request, true), POST_SENDS),
		stock_way("ibv_post_send", rings_new(place, request, true), POST_SENDS),
	};
	struct rings *r = rings_new(place, request, false);

	if (r)
		ways[2] = stock_way("ibv_wr", r, POST_SENDS);
	post_compare(&what, ways, r ? 3 : 2);
	lab_drop_all();
}

static const struct request a_send = { .opcode = IBV_WR_SEND, .sges = 1 };

static void compare_receives(enum place place)
{
	const struct bench_case what = case_at("receive", place);
	const struct post_way ways[] = {
		dvq_way(rings_new(place, &a_send, true), POST_RECEIVES),
		stock_way("ibv_post_recv", rings_new(place, &a_send, true), POST_RECEIVES),
	};

	post_compare(&what, ways, 2);
	lab_drop_all();
}

static void compare_polls(const char *name, enum post_step step)
{
	const struct bench_case what = { .part = "post", .adapter = "ionic", .name = name };
	const struct post_way ways[] = {
		dvq_way(rings_new(HOST, &a_send, true), step),
		stock_way("ibv_poll_cq", rings_new(HOST, &a_send, true), step),
	};

	post_compare(&what, ways, 2);
	lab_drop_all();
}

int main(void)
{
	const struct request inlined = { .opcode = IBV_WR_SEND, .inlined = REQUEST_INLINE };
	const struct request write = { .opcode = IBV_WR_RDMA_WRITE, .sges = 1 };
	const struct request deep = { .opcode = IBV_WR_SEND, .sges = 1, .depth = 512 };
	char why[200];

	LAB_NEED(adapters_find(ADAPTER_IONIC, why, sizeof(why)), "%s", why);
	peer = self;
	adapters_open();
	LAB_NEED(self->dvq, "%s: load dvq_ionic", adapter_name(self));
	find_doorbells();
	quieten();
	for (enum place place = 0; place < PLACES; place++) {
		compare_sends("send, 1 SGE", &a_send, place);
		compare_sends("send, inline 32 B", &inlined, place);
		compare_sends("RDMA write, 1 SGE", &write, place);
		compare_receives(place);
	}
	compare_sends("send, 1 SGE, ring of 512", &deep, HOST);
	compare_polls("completion of a send", POLL_SENDS);
	compare_polls("completion of a receive", POLL_RECEIVES);
	adapters_close();
	return 0;
}
