// SPDX-License-Identifier: GPL-2.0
#include "scene.h"

#include <errno.h>
#include <infiniband/efadv.h>
#include <string.h>

#include "../lib/lab.h"

/* ---- requests ----------------------------------------------------------------------- */

static void fill_send(const struct scene *scene, struct ibv_send_wr *wr)
{
	const struct request *request = &scene->request;

	*wr = (struct ibv_send_wr) {
		.wr_id = 1,
		.sg_list = (struct ibv_sge *)scene->sge,
		.num_sge = request->inlined ? 1 : (int)request->sges,
		.opcode = request->opcode,
		.send_flags = IBV_SEND_SIGNALED | (request->inlined ? IBV_SEND_INLINE : 0),
	};
	if (is_rc(scene->a)) {
		wr->wr.rdma.remote_addr = scene->values.remote;
		wr->wr.rdma.rkey = scene->values.rkey;
		return;
	}
	wr->wr.ud.ah = scene->to_b.ah;
	wr->wr.ud.remote_qpn = scene->to_b.qpn;
	wr->wr.ud.remote_qkey = scene->to_b.qkey;
}

/* requests of lists are there before anything is measured */
static void fill_lists(struct scene *scene)
{
	for (unsigned int i = 0; i < POST_BATCH; i++) {
		fill_send(scene, &scene->sends[i]);
		scene->sends[i].next = i + 1 < POST_BATCH ? &scene->sends[i + 1] : NULL;
		scene->recvs[i] = (struct ibv_recv_wr) {
			.wr_id = 2, .sg_list = &scene->recv_sge, .num_sge = 1,
			.next = i + 1 < POST_BATCH ? &scene->recvs[i + 1] : NULL,
		};
	}
	scene->one_send = scene->sends[POST_BATCH - 1];
	scene->one_recv = scene->recvs[POST_BATCH - 1];
}

void scene_init(struct scene *scene, const struct request *request, struct endpoint *a, struct endpoint *b)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				    IBV_ACCESS_REMOTE_WRITE;
	const size_t bytes = 4096;

	scene->request = *request;
	scene->a = a;
	scene->b = b;
	/* who answers must know who asks */
	route_new(b, a);
	scene->to_b = route_new(a, b);
	scene->out = buffer_new(a->pd, bytes, access);
	scene->in = buffer_new(b->pd, bytes, access);
	scene->values = (struct values) {
		.qpn = scene->to_b.qpn, .qkey = scene->to_b.qkey, .lkey = scene->out->mr->lkey,
		.rkey = scene->in->mr->rkey, .hints = request->hints,
		.local = buffer_addr(scene->out, 0), .remote = buffer_addr(scene->in, 0),
		.data = (const char *)scene->out->data,
	};
	for (unsigned int i = 0; i < 2; i++)
		scene->sge[i] = buffer_sge(scene->out, i * REQUEST_BYTES,
					   request->inlined ?: REQUEST_BYTES);
	scene->recv_sge = buffer_sge(scene->in, 0, bytes);
	fill_lists(scene);
}

/* ---- lists -------------------------------------------------------------------------- */

int scene_post_recv(void *arg, unsigned int n)
{
	struct scene *scene = arg;
	struct ibv_recv_wr *bad;

	return ibv_post_recv(scene->b->qp, n == 1 ? &scene->one_recv : scene->recvs, &bad);
}

int scene_post_send(void *arg, unsigned int n)
{
	struct scene *scene = arg;
	struct ibv_send_wr *bad;

	return ibv_post_send(scene->a->qp, n == 1 ? &scene->one_send : scene->sends, &bad);
}

/* ---- sessions ----------------------------------------------------------------------- */

/* datagrams and SRD say where each one goes; what is connected does not */
#define SESSION(name, address, ...)							\
	static int name(void *arg, unsigned int n)					\
	{										\
		struct scene *scene = arg;						\
		const struct values values = scene->values, *const v = &values;		\
		struct ibv_qp_ex *qp = scene->a->ex;					\
											\
		ibv_wr_start(qp);							\
		for (unsigned int i = 0; i < n; i++) {					\
			qp->wr_id = i;							\
			qp->wr_flags = IBV_SEND_SIGNALED;				\
			__VA_ARGS__							\
			if (address)							\
				ibv_wr_set_ud_addr(qp, scene->to_b.ah, v->qpn, v->qkey);	\
		}									\
		return ibv_wr_complete(qp);						\
	}

#define SEND_ONE	ibv_wr_send(qp); ibv_wr_set_sge(qp, v->lkey, v->local, REQUEST_BYTES);
#define SEND_TWO	ibv_wr_send(qp); ibv_wr_set_sge_list(qp, 2, scene->sge);
#define SEND_INLINE	ibv_wr_send(qp); ibv_wr_set_inline_data(qp, (void *)v->data, REQUEST_INLINE);
#define WRITE_ONE	ibv_wr_rdma_write(qp, v->rkey, v->remote);			\
			ibv_wr_set_sge(qp, v->lkey, v->local, REQUEST_BYTES);
#define READ_ONE	ibv_wr_rdma_read(qp, v->rkey, v->remote);			\
			ibv_wr_set_sge(qp, v->lkey, v->local, REQUEST_BYTES);

SESSION(send_one, true, SEND_ONE)
SESSION(send_two, true, SEND_TWO)
SESSION(send_inline, true, SEND_INLINE)
SESSION(write_one, true, WRITE_ONE)
SESSION(read_one, true, READ_ONE)
SESSION(connected_send_one, false, SEND_ONE)
SESSION(connected_send_two, false, SEND_TWO)
SESSION(connected_send_inline, false, SEND_INLINE)
SESSION(connected_write_one, false, WRITE_ONE)
SESSION(connected_read_one, false, READ_ONE)

static int send_hinted(void *arg, unsigned int n)
{
	struct scene *scene = arg;
	const struct values values = scene->values, *const v = &values;
	struct ibv_qp_ex *qp = scene->a->ex;
	struct efadv_qp *efa = efadv_qp_from_ibv_qp_ex(qp);

	ibv_wr_start(qp);
	for (unsigned int i = 0; i < n; i++) {
		qp->wr_id = i;
		qp->wr_flags = IBV_SEND_SIGNALED;
		SEND_ONE
		ibv_wr_set_ud_addr(qp, scene->to_b.ah, v->qpn, v->qkey);
		efadv_wr_set_processing_hints(efa, v->hints);
	}
	return ibv_wr_complete(qp);
}

int (*scene_wr(const struct scene *scene))(void *scene, unsigned int n)
{
	const struct request *request = &scene->request;
	const bool rc = is_rc(scene->a);

	if (request->opcode == IBV_WR_RDMA_WRITE)
		return rc ? connected_write_one : write_one;
	if (request->opcode == IBV_WR_RDMA_READ)
		return rc ? connected_read_one : read_one;
	if (request->hints)
		return send_hinted;
	if (request->inlined)
		return rc ? connected_send_inline : send_inline;
	if (request->sges == 2)
		return rc ? connected_send_two : send_two;
	return rc ? connected_send_one : send_one;
}

/* ---- polling ------------------------------------------------------------------------ */

static int poll_list(struct cq *cq, unsigned int n)
{
	struct ibv_wc wc[POST_BATCH];
	int got = ibv_poll_cq(cq->cq, (int)n, wc);

	for (int i = 0; i < got; i++)
		if (wc[i].status != IBV_WC_SUCCESS)
			return -1;
	return got;
}

int scene_poll_sends(void *arg, unsigned int n)
{
	return poll_list(((struct scene *)arg)->a->send_cq, n);
}

int scene_poll_receives(void *arg, unsigned int n)
{
	return poll_list(((struct scene *)arg)->b->recv_cq, n);
}

/* what a program wants to know of each: id, status, and three things that are read by calls */
static int poll_session(struct ibv_cq_ex *cq, unsigned int n)
{
	struct ibv_poll_cq_attr attr = { 0 };
	volatile uint64_t seen;
	unsigned int got = 0;
	int err = ibv_start_poll(cq, &attr);

	if (err)
		return err == ENOENT ? 0 : -1;
	do {
		if (cq->status != IBV_WC_SUCCESS)
			break;
		seen = cq->wr_id;
		seen = ibv_wc_read_opcode(cq);
		seen = ibv_wc_read_byte_len(cq);
		seen = ibv_wc_read_qp_num(cq);
		got++;
	} while (got < n && !ibv_next_poll(cq));
	(void)seen;
	err = cq->status != IBV_WC_SUCCESS;
	ibv_end_poll(cq);
	return err ? -1 : (int)got;
}

int scene_next_sends(void *arg, unsigned int n)
{
	return poll_session(((struct scene *)arg)->a->send_cq->ex, n);
}

int scene_next_receives(void *arg, unsigned int n)
{
	return poll_session(((struct scene *)arg)->b->recv_cq->ex, n);
}

struct post_way scene_way(const char *subject, struct scene *scene, enum post_step measured)
{
	const bool receives = takes_receives(&scene->request);

	return (struct post_way) {
		.subject = subject, .scene = scene, .measured = measured,
		.step = {
			[POST_RECEIVES] = receives ? scene_post_recv : NULL,
			[POST_SENDS] = scene->a->ex ? scene_wr(scene) : scene_post_send,
			[POLL_SENDS] = scene_poll_sends,
			[POLL_RECEIVES] = receives ? scene_poll_receives : NULL,
		},
	};
}
