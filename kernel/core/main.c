// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dvq: direct verbs queues. The library that the hardware drivers share; see
 * dvq.h for how the two meet.
 */
#include <linux/module.h>
#include <rdma/uverbs_ioctl.h>

#include "core.h"

/*
 * Owner and driver_id stay unset: both are the driver's to say, and the first
 * table that sets a member wins.
 */
static const struct ib_device_ops dvq_device_ops = {
	.mmap = dvq_mmap_vma,
	.mmap_free = dvq_mmap_free,
	.fill_res_cq_entry = dvq_fill_res_cq,
	.fill_res_qp_entry = dvq_fill_res_qp,
};

void dvq_device_init(struct dvq_device *dev, const struct dvq_ops *ops)
{
	dev->ops = ops;
	dev->info.abi_version = DVQ_ABI_VERSION;
	atomic_set(&dev->ahs, 0);
	atomic64_set(&dev->cmb_free, 0);
	atomic64_set(&dev->mmap_errors, 0);
	/* libionic asks for every receive queue, and no released driver has ever granted it. */
	dev->sq_mode = DVQ_MODE_ON;
	dev->rq_mode = DVQ_MODE_EXPLICIT;
	ida_init(&dev->key_slots);
	ib_set_device_ops(&dev->ibdev, &dvq_device_ops);
}
EXPORT_SYMBOL_GPL(dvq_device_init);

void dvq_device_cleanup(struct dvq_device *dev)
{
	ida_destroy(&dev->key_slots);
}
EXPORT_SYMBOL_GPL(dvq_device_cleanup);

void dvq_pd_init(struct dvq_pd *pd)
{
	spin_lock_init(&pd->lock);
	memset(&pd->policy, 0, sizeof(pd->policy));
	pd->pool = NULL;
}
EXPORT_SYMBOL_GPL(dvq_pd_init);

void dvq_pd_cleanup(struct dvq_pd *pd)
{
	dvq_pool_put(pd->pool);
}
EXPORT_SYMBOL_GPL(dvq_pd_cleanup);

struct dvq_pd_policy dvq_pd_policy(struct dvq_pd *pd, struct dvq_pool **pool)
{
	struct dvq_pd_policy policy;

	spin_lock(&pd->lock);
	policy = pd->policy;
	*pool = dvq_pool_get(pd->pool);
	spin_unlock(&pd->lock);
	return policy;
}
EXPORT_SYMBOL_GPL(dvq_pd_policy);

/* NULL: it is made for the kernel. */
static struct dvq_ucontext *context_of(struct ib_udata *udata)
{
	return !udata ? NULL :
	       rdma_udata_to_drv_context(udata, struct dvq_ucontext, ibucontext);
}

int dvq_cq_init(struct dvq_cq *cq, struct ib_udata *udata)
{
	unsigned int i;

	cq->own = kzalloc(struct_size(cq->own, sub_qps, DVQ_PIPELINES * dvq_sub_cqs(cq)), GFP_KERNEL);
	if (!cq->own)
		return -ENOMEM;
	dvq_uid_init(&cq->own->uid, context_of(udata));
	for (i = 0; i < DVQ_PIPELINES; i++)
		cq->ring[i].uid = cq->own->uid.number;
	return 0;
}
EXPORT_SYMBOL_GPL(dvq_cq_init);

void dvq_cq_cleanup(struct dvq_cq *cq)
{
	dvq_uid_cleanup(&cq->own->uid);
	kfree(cq->own);
	cq->own = NULL;
}
EXPORT_SYMBOL_GPL(dvq_cq_cleanup);

void dvq_qp_init(struct dvq_qp *qp, struct dvq_cq *send_cq, struct dvq_cq *recv_cq,
		 struct ib_udata *udata)
{
	dvq_uid_init(&qp->uid, context_of(udata));
	qp->info.uid = qp->uid.number;
	atomic_inc(dvq_sub_qps(send_cq, qp->sq.pipeline) + qp->info.send_sub_cq);
	atomic_inc(dvq_sub_qps(recv_cq, qp->rq.pipeline) + qp->info.recv_sub_cq);
}
EXPORT_SYMBOL_GPL(dvq_qp_init);

void dvq_qp_cleanup(struct dvq_qp *qp)
{
	struct dvq_cq *send_cq = to_dvq_cq(qp->ibqp.send_cq);
	struct dvq_cq *recv_cq = to_dvq_cq(qp->ibqp.recv_cq);

	atomic_dec(dvq_sub_qps(send_cq, qp->sq.pipeline) + qp->info.send_sub_cq);
	atomic_dec(dvq_sub_qps(recv_cq, qp->rq.pipeline) + qp->info.recv_sub_cq);
	/* Who sees the count finds it gone. */
	dvq_uid_cleanup(&qp->uid);
	dvq_changes_qp(qp->uid.ctx);
}
EXPORT_SYMBOL_GPL(dvq_qp_cleanup);

/* Here, because placement.c knows nothing of the kernel. */
EXPORT_SYMBOL_GPL(dvq_place);
EXPORT_SYMBOL_GPL(dvq_place_no_room);

MODULE_DESCRIPTION("Direct verbs queues: work queue records and their uverbs methods");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(DVQ_VERSION);
/* For programs: a driver needs no symbol of it on each kernel. */
MODULE_SOFTDEP("pre: ib_uverbs");
