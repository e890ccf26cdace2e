/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files of dvq.ko share among themselves. */
#ifndef DVQ_CORE_PRIVATE_H
#define DVQ_CORE_PRIVATE_H

#include "dvq.h"

extern const struct uapi_definition dvq_region_defs[];

/**
 * struct dvq_pool_mmap - all of a pool, offered to a context
 * @entry: holds a reference to @pool until no process maps it any more
 * @pool: the pool
 */
struct dvq_pool_mmap {
	struct dvq_mmap entry;
	struct dvq_pool *pool;
};

struct dvq_pool *dvq_pool_create(struct dvq_device *dev, size_t length);
struct dvq_pool *dvq_pool_get(struct dvq_pool *pool);
size_t dvq_pool_length(const struct dvq_pool *pool);
struct dvq_pool_mmap *dvq_pool_mmap(struct dvq_ucontext *ctx, struct dvq_pool *pool);

/**
 * struct dvq_cq_own - what nobody but dvq needs of a CQ
 * @uid: its name
 * @sub_qps: queues that deliver to each sub-CQ now: first all of pipeline 0, then all
 *	of pipeline 1
 */
struct dvq_cq_own {
	struct dvq_uid uid;
	atomic_t sub_qps[];
};

/* Sub-CQs of each pipeline that there is a ring on. */
static inline u32 dvq_sub_cqs(const struct dvq_cq *cq)
{
	return max(cq->ring[0].sub_cqs, cq->ring[1].sub_cqs);
}

static inline atomic_t *dvq_sub_qps(const struct dvq_cq *cq, u32 pipeline)
{
	return cq->own->sub_qps + pipeline * dvq_sub_cqs(cq);
}

/* The mapping of a context's struct dvq_changes, made when it is asked for first; or an ERR_PTR. */
struct dvq_mmap *dvq_changes_get(struct dvq_ucontext *ctx);
void dvq_changes_qp(struct dvq_ucontext *ctx);

/* Nothing of it can be asked for before, nor afterwards. */
void dvq_uid_init(struct dvq_uid *uid, struct dvq_ucontext *ctx);
void dvq_uid_cleanup(struct dvq_uid *uid);
/* Has @ctx an object of this name? */
bool dvq_uid_is_alive(u64 number, const struct dvq_ucontext *ctx);

int dvq_mmap_vma(struct ib_ucontext *ibctx, struct vm_area_struct *vma);
void dvq_mmap_free(struct rdma_user_mmap_entry *entry);
int dvq_mmap_publish(struct dvq_ucontext *ctx, struct dvq_mmap *entry);

int dvq_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq);
int dvq_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp);

#endif /* DVQ_CORE_PRIVATE_H */
