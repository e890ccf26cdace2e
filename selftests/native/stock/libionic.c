// SPDX-License-Identifier: GPL-2.0
/*
 * A stock library for ionic_dv_test.c: the released calls, and with PROPOSED some of those
 * that are not. It notes what it was given and is opened under the real library's name.
 */
#include <string.h>

#include "ionic.h"

struct ionic_log ionic_log;
int ionic_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* a function of the provider, by which its object is found */
int ionic_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 0;
}

static int note(const char *call, const void *object)
{
	ionic_log.calls++;
	ionic_log.object = object;
	memset(ionic_log.call, 0, sizeof(ionic_log.call));
	strncpy(ionic_log.call, call, sizeof(ionic_log.call) - 1);
	return STOCK_RESULT;
}

uint8_t ionic_dv_ctx_get_udma_count(struct ibv_context *ctx)
{
	note("ctx_get_udma_count", ctx);
	return 2;
}

uint8_t ionic_dv_ctx_get_udma_mask(struct ibv_context *ctx)
{
	note("ctx_get_udma_mask", ctx);
	return 3;
}

uint8_t ionic_dv_pd_get_udma_mask(struct ibv_pd *pd)
{
	note("pd_get_udma_mask", pd);
	return 2;
}

int ionic_dv_pd_set_udma_mask(struct ibv_pd *pd, uint8_t mask)
{
	ionic_log.mask = mask;
	return note("pd_set_udma_mask", pd);
}

static int note_cmb(const char *call, struct ibv_pd *pd, bool enable, bool expdb, bool require)
{
	ionic_log.enable = enable;
	ionic_log.expdb = expdb;
	ionic_log.require = require;
	return note(call, pd);
}

int ionic_dv_pd_set_sqcmb(struct ibv_pd *pd, bool enable, bool expdb, bool require)
{
	return note_cmb("pd_set_sqcmb", pd, enable, expdb, require);
}

int ionic_dv_pd_set_rqcmb(struct ibv_pd *pd, bool enable, bool expdb, bool require)
{
	return note_cmb("pd_set_rqcmb", pd, enable, expdb, require);
}

#ifdef PROPOSED
uint8_t ionic_dv_cq_get_udma_mask(struct ibv_cq *cq)
{
	note("cq_get_udma_mask", cq);
	return 3;
}

uint8_t ionic_dv_qp_get_udma_idx(struct ibv_qp *qp)
{
	note("qp_get_udma_idx", qp);
	return 1;
}

int ionic_dv_pd_set_expdb_mask(struct ibv_pd *pd, uint8_t mask)
{
	ionic_log.mask = mask;
	return note("pd_set_expdb_mask", pd);
}

int ionic_dv_qp_set_gda(struct ibv_qp *qp, bool send, bool recv)
{
	ionic_log.enable = send;
	ionic_log.expdb = recv;
	return note("qp_set_gda", qp);
}

int ionic_dv_qp_get_send_dbell_data(struct ibv_qp *qp, uint64_t *data)
{
	(void)data;
	return note("qp_get_send_dbell_data", qp);
}

int ionic_dv_qp_get_recv_dbell_data(struct ibv_qp *qp, uint64_t *data)
{
	(void)data;
	return note("qp_get_recv_dbell_data", qp);
}

int ionic_dv_get_ctx(struct ionic_dv_ctx *out, struct ibv_context *ctx)
{
	(void)out;
	return note("get_ctx", ctx);
}

int ionic_dv_get_cq(struct ionic_dv_cq *out, struct ibv_cq *cq, uint8_t pipeline)
{
	(void)out;
	ionic_log.mask = pipeline;
	return note("get_cq", cq);
}

int ionic_dv_get_qp(struct ionic_dv_qp *out, struct ibv_qp *qp)
{
	(void)out;
	return note("get_qp", qp);
}

struct ibv_cq_ex *ionic_dv_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr,
					struct ionic_cq_init_attr_ex *ionic_attr)
{
	(void)ionic_attr;
	note("create_cq_ex", ctx);
	return (struct ibv_cq_ex *)attr;
}
#endif
