// SPDX-License-Identifier: GPL-2.0
/*
 * A stock library for efadv_test.c: the calls of its RELEASE, which note what they were
 * given and make objects out of nothing. It is opened under the real library's names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stock.h"

#define RESULT	4242	/* of queries: tells that it was we who answered */

struct stock_log stock_log;
int stock_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* a function of the provider, by which its object is found */
int stock_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static int note(const char *call, const void *input, uint32_t inlen)
{
	stock_log.calls++;
	memset(stock_log.call, 0, sizeof(stock_log.call));
	strncpy(stock_log.call, call, sizeof(stock_log.call) - 1);
	memset(stock_log.input, 0, sizeof(stock_log.input));
	if (input)
		memcpy(stock_log.input, input, inlen);
	stock_log.inlen = inlen;
	return RESULT;
}

static void *failed(void)
{
	errno = stock_log.error;
	return NULL;
}

int efadv_query_device(struct ibv_context *ctx, struct efadv_device_attr *attr, uint32_t inlen)
{
	(void)ctx;
	(void)attr;
	return note("query_device", NULL, inlen);
}

int efadv_query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	(void)ah;
	(void)attr;
	return note("query_ah", NULL, inlen);
}

struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr,
				      uint32_t driver_qp_type)
{
	struct stock_qp *qp = calloc(1, sizeof(*qp));

	(void)driver_qp_type;
	note("create_driver_qp", NULL, 0);
	stock_log.cap = attr->cap;
	if (stock_log.error)
		return free(qp), failed();
	attr->cap.max_send_wr = 256;
	if (stock_log.hook)
		stock_log.hook();
	qp->ex.qp_base.context = pd->context;
	qp->ex.qp_base.handle = 1;
	qp->ex.qp_base.send_cq = attr->send_cq;
	qp->ex.qp_base.recv_cq = attr->recv_cq;
	return &qp->ex.qp_base;
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				  struct efadv_qp_init_attr *efa_attr, uint32_t inlen)
{
	struct stock_qp *qp = calloc(1, sizeof(*qp));

	note("create_qp_ex", efa_attr, inlen);
	stock_log.cap = attr->cap;
	if (stock_log.error)
		return free(qp), failed();
	stock_log.ops = attr->send_ops_flags;
	if (stock_log.hook)
		stock_log.hook();
	qp->ex.qp_base.context = ctx;
	qp->ex.qp_base.handle = 1;
	qp->ex.qp_base.send_cq = attr->send_cq;
	qp->ex.qp_base.recv_cq = attr->recv_cq;
	return &qp->ex.qp_base;
}

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
				  struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
	struct stock_cq *cq = calloc(1, sizeof(*cq));

	(void)attr;
	note("create_cq", efa_attr, inlen);
	if (stock_log.error)
		return free(cq), failed();
	cq->ex.context = ctx;
	return &cq->ex;
}

struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *cq)
{
	return &((struct stock_cq *)cq)->efadv;
}

#if RELEASE >= 50
int efadv_query_mr(struct ibv_mr *mr, struct efadv_mr_attr *attr, uint32_t inlen)
{
	(void)mr;
	(void)attr;
	return note("query_mr", NULL, inlen);
}
#endif

#if RELEASE >= 59
int efadv_query_qp_wqs(struct ibv_qp *qp, struct efadv_wq_attr *sq, struct efadv_wq_attr *rq,
		       uint32_t inlen)
{
	(void)qp;
	(void)sq;
	(void)rq;
	return note("query_qp_wqs", NULL, inlen);
}

int efadv_query_cq(struct ibv_cq *cq, struct efadv_cq_attr *attr, uint32_t inlen)
{
	(void)cq;
	(void)attr;
	return note("query_cq", NULL, inlen);
}
#endif

#if RELEASE >= 63
int efadv_get_max_sq_depth(struct ibv_context *ctx, struct efadv_sq_depth_attr *attr,
			   uint32_t inlen)
{
	(void)ctx;
	return note("get_max_sq_depth", attr, inlen);
}

int efadv_get_max_rq_depth(struct ibv_context *ctx, struct efadv_rq_depth_attr *attr,
			   uint32_t inlen)
{
	(void)ctx;
	note("get_max_rq_depth", attr, inlen);
	return 32768 / (int)attr->max_recv_sge;
}
#endif

#if RELEASE >= 64
struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return &((struct stock_qp *)qp)->efadv;
}
#endif

#if RELEASE >= 65
struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *ctx,
					     struct ibv_comp_cntr_init_attr *attr,
					     struct efadv_comp_cntr_init_attr *efa_attr,
					     uint32_t inlen)
{
	(void)ctx;
	note("create_comp_cntr", efa_attr, inlen);
	return (struct ibv_comp_cntr *)attr;
}
#endif
