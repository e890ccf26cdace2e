// SPDX-License-Identifier: GPL-2.0
/*
 * The main job on an EFA adapter: make an SRD queue pair, ask where its rings are, post
 * sends with processing hints, see them arrive. Twice: with ibv_wr_*() and
 * efadv_wr_set_processing_hints(), and by the inline setters of <dvq/efa.h>. On the
 * modelled adapter everything is compared with what the model saw.
 *
 * What is verbs only (PD, CQ, AH, modify to RTS) is in selftests/lib.
 */
#include <dvq/dvq.h>
#include <infiniband/efadv.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/adapter.h"
#include "../lib/buffer.h"
#include "../lib/endpoint.h"
#include "../lib/show.h"

#define HINTED		24
#define PLAIN		40
#define MESSAGES	(HINTED + PLAIN)
#define MESSAGE_SIZE	1000	/* bytes */
#define SEED		0x5eed

/* of both ways, one after the other on the same places */
struct scene {
	struct endpoint *a, *b;
	struct route to_b;
	struct buffer *out, *in;
};

static bool is_hinted(unsigned int i)
{
	return i % 8 < 3;	/* 24 of 64 */
}

/* ---- what the adapter is ---------------------------------------------------------------- */

static void show_device(const struct adapter *adapter)
{
	struct dvq_device_info info;

	printf("%s: part 0x%x, ", adapter_name(adapter), adapter->attr.vendor_part_id);
	if (!adapter->dvq) {
		printf("not driven by dvq_efa\n");
		return;
	}
	NEED_ZERO(dvq_device_query(adapter->context, &info, sizeof(info)));
	printf("driven by dvq_efa, %u-entry send queues, inline %u (%u wide), batch %u, "
	       "%u ring%s per CQ%s%s\n", info.max_sq_wr, info.max_inline, info.max_inline_ex,
	       info.max_tx_batch, info.sub_cqs_per_cq, info.sub_cqs_per_cq > 1 ? "s" : "",
	       info.caps & DVQ_DEVICE_RDMA_READ ? ", RDMA read" : "",
	       info.caps & DVQ_DEVICE_RDMA_WRITE ? ", RDMA write" : "");
}

/* ---- where the rings are ------------------------------------------------------------------ */

static void show_wqs(const struct endpoint *endpoint)
{
	struct efadv_wq_attr sq = { 0 }, rq = { 0 };
	const char *model;

	NEED_ZERO(efadv_query_qp_wqs(endpoint->qp, &sq, &rq, sizeof(sq)));
	printf("  QP %u, send queue at %p, doorbell %p, max batch %u, caps 0x%x\n",
	       endpoint->qp->qp_num, (void *)sq.buffer, (void *)sq.doorbell, sq.max_batch,
	       sq.caps);
	printf("  QP %u, receive queue at %p, doorbell %p, max batch %u, caps 0x%x\n",
	       endpoint->qp->qp_num, (void *)rq.buffer, (void *)rq.doorbell, rq.max_batch,
	       rq.caps);
	if (!endpoint->adapter->model[0])
		return;

	model = model_ask(endpoint->adapter->model, "qp %u", endpoint->qp->qp_num);
	printf("    %-24s %10s %10s\n", "", "efadv", "model");
	show_row("SQ entry size", sq.entry_size, show_told(model, "sq_entry"));
	show_row("SQ entries", sq.num_entries, show_told(model, "sq_depth"));
	show_row("SQ doorbell in page", (uintptr_t)sq.doorbell % 4096,
		 show_told(model, "sq_db") % 4096);
	show_row("SQ ring in page", (uintptr_t)sq.buffer % 4096,
		 show_told(model, "sq_llq") % 4096);
	show_row("RQ entry size", rq.entry_size, show_told(model, "rq_entry"));
	show_row("RQ entries", rq.num_entries, show_told(model, "rq_descs"));
	show_row("RQ doorbell in page", (uintptr_t)rq.doorbell % 4096,
		 show_told(model, "rq_db") % 4096);
}

/* ---- by the verbs ---------------------------------------------------------------------------- */

static void post_receives(const struct scene *scene)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = buffer_sge(scene->in, i * MESSAGE_SIZE, MESSAGE_SIZE);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		NEED_ZERO(ibv_post_recv(scene->b->qp, &wr, &bad));
	}
}

static void post_by_verbs(const struct scene *scene)
{
	struct ibv_qp_ex *qp = scene->a->ex;
	struct efadv_qp *efa_qp = efadv_qp_from_ibv_qp_ex(qp);

	ibv_wr_start(qp);
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = buffer_sge(scene->out, i * MESSAGE_SIZE, MESSAGE_SIZE);

		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(qp);
		ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
		ibv_wr_set_ud_addr(qp, scene->to_b.ah, scene->to_b.qpn, scene->to_b.qkey);
		if (is_hinted(i))
			efadv_wr_set_processing_hints(efa_qp,
						      EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE);
	}
	NEED_ZERO(ibv_wr_complete(qp));
}

static void by_verbs(const struct scene *scene)
{
	post_receives(scene);
	post_by_verbs(scene);
	cq_wait_many(scene->a->send_cq, MESSAGES);
	cq_wait_many(scene->b->recv_cq, MESSAGES);
}

/* ---- by the inline setters ------------------------------------------------------------------- */

#define ROWS	256	/* of a CQ's table; at least as many as QPs use the CQ */

/* the rings of one side, and what the poller needs to know whose a completion is */
struct rings {
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;
	struct dvq_efa_cq_qp rows[ROWS];
};

static void open_sender(struct rings *r, const struct endpoint *endpoint)
{
	NEED_ZERO(dvq_efa_sq_open(endpoint->qp, &r->sq, sizeof(r->sq)));
	NEED_ZERO(dvq_efa_cq_open(endpoint->send_cq->cq, &r->cq, sizeof(r->cq)));
	NEED_ZERO(dvq_efa_cq_set_qps(&r->cq, r->rows, ROWS));
	NEED_ZERO(dvq_efa_cq_attach(&r->cq, &r->sq, NULL));
}

static void open_receiver(struct rings *r, const struct endpoint *endpoint)
{
	NEED_ZERO(dvq_efa_rq_open(endpoint->qp, &r->rq, sizeof(r->rq)));
	NEED_ZERO(dvq_efa_cq_open(endpoint->recv_cq->cq, &r->cq, sizeof(r->cq)));
	NEED_ZERO(dvq_efa_cq_set_qps(&r->cq, r->rows, ROWS));
	NEED_ZERO(dvq_efa_cq_attach(&r->cq, NULL, &r->rq));
}

static void post_receives_inline(const struct scene *scene, struct rings *r)
{
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct dvq_efa_sge sge = {
			.addr = buffer_addr(scene->in, i * MESSAGE_SIZE),
			.length = MESSAGE_SIZE,
			.lkey = scene->in->mr->lkey,
		};

		NEED_ZERO(dvq_efa_rq_post(&r->rq, &sge, 1, i));
	}
	dvq_efa_rq_publish(&r->rq);
}

static void post_sends_inline(const struct scene *scene, struct rings *r)
{
	struct dvq_ah_info ah;

	NEED_ZERO(dvq_ah_query(scene->to_b.ah, &ah, sizeof(ah)));
	for (unsigned int i = 0; i < MESSAGES; i++) {
		struct dvq_efa_wr wr;

		dvq_efa_wr_send(&wr);
		dvq_efa_wr_set_dest(&wr, ah.ah_num, scene->to_b.qpn, scene->to_b.qkey);
		dvq_efa_wr_set_sge(&wr, scene->out->mr->lkey,
				   buffer_addr(scene->out, i * MESSAGE_SIZE), MESSAGE_SIZE);
		if (is_hinted(i))
			dvq_efa_wr_set_hints(&wr, DVQ_EFA_HINT_BURST);
		NEED_ZERO(dvq_efa_sq_post(&r->sq, &wr, i));
	}
	dvq_efa_sq_publish(&r->sq);
}

static void poll_inline(struct dvq_efa_cq *cq, unsigned int n)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct dvq_efa_wc wc[16];

	while (n) {
		uint32_t got = dvq_efa_cq_poll(cq, wc, 16);

		for (uint32_t i = 0; i < got; i++)
			LAB_NEED(wc[i].status == EFA_IO_OK, "request %" PRIu64 " ended with %u",
				 wc[i].wr_id, wc[i].status);
		LAB_NEED(got <= n, "more completions than requests");
		n -= got;
		LAB_NEED(now_ms() < end, "%u completions are missing", n);
	}
}

static void by_setters(const struct scene *scene)
{
	static struct rings sender, receiver;

	open_sender(&sender, scene->a);
	open_receiver(&receiver, scene->b);
	post_receives_inline(scene, &receiver);
	post_sends_inline(scene, &sender);
	poll_inline(&sender.cq, MESSAGES);
	poll_inline(&receiver.cq, MESSAGES);
	dvq_efa_cq_close(&receiver.cq);
	dvq_efa_rq_close(&receiver.rq);
	dvq_efa_cq_close(&sender.cq);
	dvq_efa_sq_close(&sender.sq);
}

/* ---- the same scene for both --------------------------------------------- */

/* SRD delivers in any order, so a message lies wherever a receive was next: each says which it is */
static void verify(const struct scene *scene)
{
	bool seen[MESSAGES] = { false };

	for (unsigned int slot = 0; slot < MESSAGES; slot++) {
		const uint8_t *data = scene->in->data + slot * MESSAGE_SIZE;
		uint32_t number;

		memcpy(&number, data, sizeof(number));
		if (number >= MESSAGES || seen[number]) {
			lab_note(__FILE__, __LINE__, "slot %u has no message of ours", slot);
			continue;
		}
		seen[number] = true;
		if (memcmp(data, scene->out->data + number * MESSAGE_SIZE, MESSAGE_SIZE))
			lab_note(__FILE__, __LINE__, "message %u arrived damaged", number);
	}
}

static void fill_messages(struct scene *scene)
{
	buffer_fill(scene->out, SEED);
	for (uint32_t i = 0; i < MESSAGES; i++)
		memcpy(scene->out->data + i * MESSAGE_SIZE, &i, sizeof(i));
}

static struct scene make_scene(void)
{
	const struct endpoint_options options = {
		.transport = SRD,
		.send_wr = MESSAGES,
		.recv_wr = MESSAGES,
		.send_sge = 1,
		.recv_sge = 1,
		.wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS,
	};
	struct scene scene = {
		.a = endpoint_new(self, &options),
		.b = endpoint_new(peer, &options),
	};

	scene.to_b = route_new(scene.a, scene.b);
	/* the adapter acknowledges to who it has an AH for */
	route_new(scene.b, scene.a);
	scene.out = buffer_new(scene.a->pd, MESSAGES * MESSAGE_SIZE, IBV_ACCESS_LOCAL_WRITE);
	scene.in = buffer_new(scene.b->pd, MESSAGES * MESSAGE_SIZE, IBV_ACCESS_LOCAL_WRITE);
	fill_messages(&scene);
	return scene;
}

static void play(const char *title, void (*way)(const struct scene *scene))
{
	struct scene scene = make_scene();
	struct model_stats before;

	printf("\n%s\n", title);
	show_wqs(scene.a);
	if (self->model[0])
		model_stats(self->model, &before);
	way(&scene);
	verify(&scene);
	printf("  %u sends with the hint and %u without: all completed, %u bytes verified\n",
	       HINTED, PLAIN, MESSAGES * MESSAGE_SIZE);
	if (self->model[0]) {
		show_growth(self->model, &before, "WQEs with the hint", "wqe_hint1", HINTED);
		show_growth(self->model, &before, "WQEs without", "wqe_hint0", PLAIN);
	}
	lab_drop_all();
}

int main(void)
{
	char why[200];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!adapters_find(ADAPTER_EFA, why, sizeof(why))) {
		printf("%s\n", why);
		return 4;
	}
	adapters_open();
	show_device(self);
	if (peer != self)
		show_device(peer);
	LAB_NEED(self->dvq && peer->dvq, "load dvq_efa for both adapters");

	play("Posting with ibv_wr_*() and efadv_wr_set_processing_hints()", by_verbs);
	play("Posting with the inline setters of <dvq/efa.h>", by_setters);
	show_violations();
	adapters_close();
	return show_result();
}
