// SPDX-License-Identifier: GPL-2.0
/*
 * What posting and polling costs on an EFA adapter that dvq_efa drives: the inline code of <dvq/efa.h>
 * against the stock provider. Documentation/performance.rst
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/show.h"
#include "scene.h"

#define ROWS	256

/* what dvq posts to and polls, beside what the scene has */
struct rings {
	struct scene scene;
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;
	struct dvq_efa_cq_qp rows[ROWS];
	struct dvq_efa_id *ids;
};

/* ---- by dvq ------------------------------------------------------------------------- */

#define SENDS(name, ...)								\
	static int name(void *arg, unsigned int n)					\
	{										\
		struct rings *r = arg;							\
		const struct values values = r->scene.values, *const v = &values;	\
											\
		for (unsigned int i = 0; i < n; i++) {					\
			struct dvq_efa_wr wr;						\
			int ret;							\
											\
			__VA_ARGS__							\
			dvq_efa_wr_set_dest(&wr, v->ah, (uint16_t)v->qpn, v->qkey);	\
			ret = dvq_efa_sq_post(&r->sq, &wr, i);				\
			if (ret)							\
				return ret;						\
		}									\
		dvq_efa_sq_publish(&r->sq);						\
		return 0;								\
	}

SENDS(send_one,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);)

SENDS(send_hinted,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);
	dvq_efa_wr_set_hints(&wr, v->hints);)

SENDS(send_two,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local + REQUEST_BYTES, REQUEST_BYTES);)

SENDS(send_inline,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_inline(&wr, v->data, REQUEST_INLINE);)

SENDS(write_one,
	dvq_efa_wr_rdma_write(&wr, v->rkey, v->remote);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);)

SENDS(read_one,
	dvq_efa_wr_rdma_read(&wr, v->rkey, v->remote);
	dvq_efa_wr_set_sge(&wr, v->lkey, v->local, REQUEST_BYTES);)

static int (*dvq_sends(const struct request *request))(void *arg, unsigned int n)
{
	if (request->opcode == IBV_WR_RDMA_WRITE)
		return write_one;
	if (request->opcode == IBV_WR_RDMA_READ)
		return read_one;
	if (request->hints)
		return send_hinted;
	if (request->inlined)
		return send_inline;
	return request->sges == 2 ? send_two : send_one;
}

static int post_recv(void *arg, unsigned int n)
{
	struct rings *r = arg;
	const struct ibv_sge from = r->scene.recv_sge;

	for (unsigned int i = 0; i < n; i++) {
		struct dvq_efa_sge sge = { .addr = from.addr, .length = from.length, .lkey = from.lkey };
		int ret = dvq_efa_rq_post(&r->rq, &sge, 1, i);

		if (ret)
			return ret;
	}
	dvq_efa_rq_publish(&r->rq);
	return 0;
}

static int poll_cq(void *arg, unsigned int n)
{
	struct dvq_efa_wc wc[POST_BATCH];
	struct rings *r = arg;
	uint32_t got = dvq_efa_cq_poll(&r->cq, wc, n);

	for (uint32_t i = 0; i < got; i++)
		if (wc[i].status)
			return -wc[i].status;
	return (int)got;
}

/* ---- scenes ------------------------------------------------------------------------- */

static int close_rings(void *object)
{
	struct rings *r = object;

	dvq_efa_cq_close(&r->cq);
	dvq_efa_rq_close(&r->rq);
	dvq_efa_sq_close(&r->sq);
	free(r->ids);
	free(r);
	return 0;
}

static struct rings *rings_new(const struct request *request, unsigned int inline_data, bool plain,
			       enum cq_kind cq_kind)
{
	const struct endpoint_options options = {
		.plain = plain, .inline_data = inline_data, .cq_kind = cq_kind, .rnr_retry = RNR_RETRY(7),
		.send_wr = request->depth,
		.wr_flags = request->hints ? EFADV_WR_EX_WITH_PROCESSING_HINTS : 0,
	};
	struct rings *r = calloc(1, sizeof(*r));
	struct endpoint *a, *b;

	LAB_NEED(r, "no memory");
	lab_hold(close_rings, r);
	a = endpoint_new(self, &options);
	b = endpoint_new(self, &options);
	scene_init(&r->scene, request, a, b);
	r->scene.values.ah = ah_number(r->scene.to_b.ah);
	return r;
}

static void dvq_posts_sends(struct rings *r)
{
	NEED_ZERO(dvq_efa_sq_open(r->scene.a->qp, &r->sq, sizeof(r->sq)));
	NEED_ZERO(dvq_efa_cq_open(r->scene.a->send_cq->cq, &r->cq, sizeof(r->cq)));
	r->ids = calloc(dvq_efa_ids_slots(&r->sq.ids), sizeof(*r->ids));
	LAB_NEED(r->ids, "no memory");
	NEED_ZERO(dvq_efa_sq_set_pool(&r->sq, r->ids));
	NEED_ZERO(dvq_efa_cq_set_qps(&r->cq, r->rows, ROWS));
	NEED_ZERO(dvq_efa_cq_attach(&r->cq, &r->sq, NULL));
}

static void dvq_posts_receives(struct rings *r)
{
	NEED_ZERO(dvq_efa_rq_open(r->scene.b->qp, &r->rq, sizeof(r->rq)));
	NEED_ZERO(dvq_efa_cq_open(r->scene.b->recv_cq->cq, &r->cq, sizeof(r->cq)));
	r->ids = calloc(dvq_efa_ids_slots(&r->rq.ids), sizeof(*r->ids));
	LAB_NEED(r->ids, "no memory");
	NEED_ZERO(dvq_efa_rq_set_pool(&r->rq, r->ids));
	NEED_ZERO(dvq_efa_cq_set_qps(&r->cq, r->rows, ROWS));
	NEED_ZERO(dvq_efa_cq_attach(&r->cq, NULL, &r->rq));
}

/* ---- comparisons -------------------------------------------------------------------- */

#define WIDE	(REQUEST_INLINE + 1)	/* more inline data than an entry of 64 bytes holds */

static struct post_way stock_way(const char *subject, struct rings *r, enum post_step measured)
{
	return scene_way(subject, &r->scene, measured);
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

/* @inline_data: what the queue is made for; with @listed also by ibv_post_send() */
static void compare_sends(const char *name, const struct request *request, unsigned int inline_data,
			  bool listed)
{
	const struct bench_case what = { .part = "post", .adapter = "efa", .name = name };
	struct post_way ways[3] = {
		dvq_way(rings_new(request, inline_data, false, CQ_PLAIN), POST_SENDS),
		stock_way("ibv_wr", rings_new(request, inline_data, false, CQ_PLAIN), POST_SENDS),
	};

	if (listed)
		ways[2] = stock_way("ibv_post_send", rings_new(request, inline_data, true, CQ_PLAIN),
				    POST_SENDS);
	post_compare(&what, ways, listed ? 3 : 2);
	lab_drop_all();
}

static const struct request a_send = { .opcode = IBV_WR_SEND, .sges = 1 };

static void compare_receives(void)
{
	const struct bench_case what = { .part = "post", .adapter = "efa", .name = "receive" };
	const struct post_way ways[] = {
		dvq_way(rings_new(&a_send, 0, false, CQ_PLAIN), POST_RECEIVES),
		stock_way("ibv_post_recv", rings_new(&a_send, 0, false, CQ_PLAIN), POST_RECEIVES),
	};

	post_compare(&what, ways, 2);
	lab_drop_all();
}

static void compare_polls(const char *name, enum post_step step)
{
	const struct bench_case what = { .part = "post", .adapter = "efa", .name = name };
	struct post_way ways[] = {
		dvq_way(rings_new(&a_send, 0, false, CQ_PLAIN), step),
		stock_way("ibv_poll_cq", rings_new(&a_send, 0, false, CQ_PLAIN), step),
		stock_way("ibv_start_poll", rings_new(&a_send, 0, false, CQ_EXTENDED), step),
	};

	ways[2].step[POLL_SENDS] = scene_next_sends;
	ways[2].step[POLL_RECEIVES] = scene_next_receives;
	post_compare(&what, ways, 3);
	lab_drop_all();
}

int main(void)
{
	const struct request two = { .opcode = IBV_WR_SEND, .sges = 2 };
	const struct request inlined = { .opcode = IBV_WR_SEND, .inlined = REQUEST_INLINE };
	const struct request hinted = { .opcode = IBV_WR_SEND, .sges = 1,
					.hints = EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE };
	const struct request write = { .opcode = IBV_WR_RDMA_WRITE, .sges = 1 };
	const struct request deep = { .opcode = IBV_WR_SEND, .sges = 1, .depth = 512 };
	const struct request read = { .opcode = IBV_WR_RDMA_READ, .sges = 1 };
	char why[200];

	LAB_NEED(adapters_find(ADAPTER_EFA, why, sizeof(why)), "%s", why);
	peer = self;
	adapters_open();
	LAB_NEED(self->dvq, "%s: load dvq_efa", adapter_name(self));
	compare_sends("send, 1 SGE", &a_send, 0, true);
	compare_sends("send, 1 SGE, hint", &hinted, 0, false);
	compare_sends("send, 2 SGE", &two, 0, true);
	compare_sends("send, inline 32 B", &inlined, REQUEST_INLINE, true);
	compare_sends("send, 1 SGE, 128-byte WQE", &a_send, WIDE, true);
	compare_sends("send, inline 32 B, 128-byte WQE", &inlined, WIDE, true);
	compare_sends("RDMA write, 1 SGE", &write, 0, false);
	compare_sends("RDMA read, 1 SGE", &read, 0, false);
	compare_sends("send, 1 SGE, ring of 512", &deep, 0, true);
	compare_receives();
	compare_polls("completion of a send", POLL_SENDS);
	compare_polls("completion of a receive", POLL_RECEIVES);
	adapters_close();
	return 0;
}
