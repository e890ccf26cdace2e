/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Direct verbs of AMD Pensando ionic adapters, as libdvq has them.
 *
 * Names, values and the include guard are those of rdma-core 65's header of the same name:
 * whichever of the two comes first is the one, and a program built with either runs with
 * either library. Below the released calls are those that have been proposed to rdma-core
 * (pull request 1771) under the proposed names and layouts; they are not in its header.
 *
 * What is different from the stock library, with a page for each call in
 * Documentation/man:
 *
 * - a queue that is required to be in controller memory and cannot be there is not created,
 *   and receive queues can be there, if the adapter is driven by dvq_ionic.ko;
 * - NULL gives EINVAL, 0 or NULL instead of a crash, and a pipeline mask of 0 EINVAL.
 *
 * Calls that return int return 0 or a positive errno: EPERM for what is not ionic's.
 */
#ifndef IONIC_DV_H
#define IONIC_DV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* what is not done, the queues that follow show by being slow: nobody may miss it */
#define IONIC_DV_CHECK_RESULT	__attribute__((warn_unused_result))

/* ---- pipelines --------------------------------------------------------------------- */

/* bits of a pipeline mask */
enum {
	IONIC_UDMA_MASK_LOW	= 1 << 0,
	IONIC_UDMA_MASK_HIGH	= 1 << 1,
};

/**
 * ionic_dv_ctx_get_udma_count() - hardware pipelines of an adapter
 * @ibctx: an open device
 *
 * Return: 1 or 2; 0 if it is no ionic adapter.
 */
uint8_t ionic_dv_ctx_get_udma_count(struct ibv_context *ibctx);

/**
 * ionic_dv_ctx_get_udma_mask() - the same as a mask
 * @ibctx: an open device
 *
 * Return: a bit for each pipeline; 0 if it is no ionic adapter.
 */
uint8_t ionic_dv_ctx_get_udma_mask(struct ibv_context *ibctx);

/**
 * ionic_dv_pd_get_udma_mask() - pipelines that queues created under a PD may be on
 * @ibpd: a PD or parent domain
 *
 * Return: the mask; 0 if it is not ionic's.
 */
uint8_t ionic_dv_pd_get_udma_mask(struct ibv_pd *ibpd);

/**
 * ionic_dv_pd_set_udma_mask() - restrict the pipelines of queues created from now on
 * @ibpd: a PD or parent domain; a parent domain begins with what its PD had
 * @udma_mask: not 0, and within ionic_dv_ctx_get_udma_mask()
 *
 * Return: 0, EINVAL or EPERM.
 */
IONIC_DV_CHECK_RESULT
int ionic_dv_pd_set_udma_mask(struct ibv_pd *ibpd, uint8_t udma_mask);

/* ---- placement --------------------------------------------------------------------- */

/**
 * ionic_dv_pd_set_sqcmb() - where send queues created from now on are to be
 * @ibpd: a PD or parent domain; a parent domain begins with what its PD had
 * @enable: in controller memory; else in host memory, and the rest means nothing
 * @expdb: with an express doorbell
 * @require: creation of a queue fails if it cannot be had; else what can be had is taken.
 *	The errno then is ENOSPC (no room, the ring is too large) or EOPNOTSUPP (no
 *	controller memory, no express doorbell, or the administrator forbids it). Of entries
 *	for whose size there is none, and of receive entries of several SGEs, libionic
 *	does not ask for one: such a queue is made without it
 *
 * Queues that exist stay where they are. dvq_qp_query() tells where a queue is.
 *
 * Return: 0; EPERM; EINVAL if @enable, @expdb and @require are set and the adapter has no
 * express doorbell for send queues.
 */
IONIC_DV_CHECK_RESULT
int ionic_dv_pd_set_sqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require);

/* The same for receive queues. */
IONIC_DV_CHECK_RESULT
int ionic_dv_pd_set_rqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require);

/* ---- proposed: what is ionic's ------------------------------------------------------ */

bool ionic_dv_is_ionic_ctx(struct ibv_context *ibctx);
bool ionic_dv_is_ionic_pd(struct ibv_pd *ibpd);
bool ionic_dv_is_ionic_cq(struct ibv_cq *ibcq);
bool ionic_dv_is_ionic_qp(struct ibv_qp *ibqp);

/* pipelines that a CQ has rings on; 0: not ionic's, or not told */
uint8_t ionic_dv_cq_get_udma_mask(struct ibv_cq *ibcq);
/* pipeline of a QP; 0 also if it is not ionic's, or not told */
uint8_t ionic_dv_qp_get_udma_idx(struct ibv_qp *ibqp);

/* ---- proposed: rings ------------------------------------------------------------------ */

/**
 * struct ionic_dv_ctx - the doorbells of an open device
 * @db_page: the page, 4096 bytes, for writing only
 * @db_ptr: doorbells, by type of queue; one 64-bit store of ionic_dv_queue.db_val and the
 *	index
 * @sq_qtype: type of send queues
 * @rq_qtype: type of receive queues
 * @cq_qtype: type of completion queues
 */
struct ionic_dv_ctx {
	void *db_page;
	uint64_t *db_ptr;
	uint8_t sq_qtype;
	uint8_t rq_qtype;
	uint8_t cq_qtype;
};

/**
 * struct ionic_dv_queue - a ring in host memory
 * @ptr: its memory
 * @size: bytes
 * @db_val: what is stored to the doorbell, or'ed with the index
 * @mask: entries - 1
 * @depth_log2: log2 of the entries
 * @stride_log2: log2 of the bytes of an entry
 */
struct ionic_dv_queue {
	void *ptr;
	size_t size;
	uint64_t db_val;
	uint16_t mask;
	uint8_t depth_log2;
	uint8_t stride_log2;
};

struct ionic_dv_cq {
	struct ionic_dv_queue q;
};

struct ionic_dv_qp {
	struct ionic_dv_queue rq;
	struct ionic_dv_queue sq;
};

int ionic_dv_get_ctx(struct ionic_dv_ctx *dvctx, struct ibv_context *ibctx);
/* EINVAL: the CQ has no ring on that pipeline */
int ionic_dv_get_cq(struct ionic_dv_cq *dvcq, struct ibv_cq *ibcq, uint8_t udma_idx);
/* EOPNOTSUPP: a ring is in controller memory, or in memory that the process cannot see */
int ionic_dv_get_qp(struct ionic_dv_qp *dvqp, struct ibv_qp *ibqp);

/* ---- proposed: somebody else rings ------------------------------------------------------- */

/*
 * Of queues that are open (dvq_ionic_sq_open(), dvq_ionic_rq_open()) and whose structs are
 * still where they were when they were opened. Of others it is up to the stock library,
 * EOPNOTSUPP if that does not have the calls. Another thread may post and poll meanwhile.
 */

/**
 * ionic_dv_qp_set_gda() - let somebody else ring the doorbells of a QP
 * @ibqp: the QP
 * @enable_send: publishing sends does not ring; else it does
 * @enable_recv: the same of receives
 *
 * Return: 0; EPERM; EINVAL if a queue has express doorbells; EOPNOTSUPP if one is to be
 * enabled that is not open.
 */
int ionic_dv_qp_set_gda(struct ibv_qp *ibqp, bool enable_send, bool enable_recv);
/* what to store to the doorbell for all that was published */
int ionic_dv_qp_get_send_dbell_data(struct ibv_qp *ibqp, uint64_t *dbdata);
int ionic_dv_qp_get_recv_dbell_data(struct ibv_qp *ibqp, uint64_t *dbdata);

/* ---- proposed, and only where the stock library has them: else EOPNOTSUPP ---------------- */

/* struct ionic_cq_init_attr_ex.comp_mask, .flags */
enum {
	IONIC_CQ_INIT_ATTR_MASK_FLAGS	= 1 << 0,
};

enum {
	IONIC_CQ_INIT_ATTR_CCQE		= 1 << 0,
};

struct ionic_cq_init_attr_ex {
	uint32_t comp_mask;
	uint32_t flags;
};

int ionic_dv_pd_set_expdb_mask(struct ibv_pd *ibpd, uint8_t mask);
/* @ionic_attr NULL or without flags: the same as ibv_create_cq_ex(), everywhere */
struct ibv_cq_ex *ionic_dv_create_cq_ex(struct ibv_context *ibctx,
					struct ibv_cq_init_attr_ex *attr,
					struct ionic_cq_init_attr_ex *ionic_attr);

#ifdef __cplusplus
}
#endif

#endif /* IONIC_DV_H */
