// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion counters: two event counters of the device, one of successes and one of errors, each
 * of 8 bytes in memory of the creator, who reads them there. Built for kernels that have such
 * objects; for others kernel/compat/counter.c says that there are none.
 */
#define UVERBS_MODULE_NAME dvq_efa

#include <linux/err.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_named_ioctl.h>

#include "cmd.h"
#include "efa.h"

#define COUNT_BYTES	sizeof(u64)

/* One event counter of the device. */
struct efa_event_counter {
	u32 handle;
	struct ib_umem *umem;
};

enum { SUCCESS, ERROR };

struct efa_comp_cntr {
	struct ib_comp_cntr ibcc;
	struct efa_event_counter entry[EFA_COMP_CNTR_ENTRIES];
};

static struct efa_comp_cntr *to_efa_comp_cntr(struct ib_comp_cntr *ibcc)
{
	return container_of(ibcc, struct efa_comp_cntr, ibcc);
}

/* What the verbs count, and the device's events for its successes and errors. */
static const struct {
	u32 op;
	u32 events[EFA_COMP_CNTR_ENTRIES];
} ops[] = {
	{ IB_QP_ATTACH_COMP_CNTR_OP_SEND, { EFA_COUNTER_SEND, EFA_COUNTER_SEND_ERROR } },
	{ IB_QP_ATTACH_COMP_CNTR_OP_RECV, { EFA_COUNTER_RECV, EFA_COUNTER_RECV_ERROR } },
	{ IB_QP_ATTACH_COMP_CNTR_OP_RDMA_READ, { EFA_COUNTER_READ, EFA_COUNTER_READ_ERROR } },
	{ IB_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE, { EFA_COUNTER_WRITE, EFA_COUNTER_WRITE_ERROR } },
	/* of what peers do here only that it was done is seen */
	{ IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ, { EFA_COUNTER_REMOTE_READ, 0 } },
	{ IB_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE, { EFA_COUNTER_REMOTE_WRITE, 0 } },
};

static u32 supported_ops(const struct efa_attr *attr)
{
	u32 mask = 0;
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(ops); n++)
		if (!(~attr->counter_events & (ops[n].events[SUCCESS] | ops[n].events[ERROR])))
			mask |= ops[n].op;
	return mask;
}

static u32 events_of(u32 op_mask, unsigned int entry)
{
	u32 events = 0;
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(ops); n++)
		if (op_mask & ops[n].op)
			events |= ops[n].events[entry];
	return events;
}

static int query_caps(struct ib_device *ibdev, struct ib_comp_cntr_caps *caps,
		      struct uverbs_attr_bundle *attrs)
{
	const struct efa_attr *attr = &to_efa_dev(ibdev)->attr;

	caps->max_value = attr->event_counter_max;
	caps->max_counters = attr->max_event_counters / EFA_COMP_CNTR_ENTRIES;
	caps->supported_qp_attach_ops = supported_ops(attr);
	return 0;
}

/* ---- create and destroy --------------------------------------------------------------- */

static int create_entry(struct efa_dev *dev, struct efa_event_counter *entry, u16 uar,
			const struct uverbs_attr_bundle *attrs, u16 attr)
{
	struct ib_umem *umem;
	dma_addr_t dma;
	int ret;

	umem = ib_umem_get_attr(&dev->dvq.ibdev, attrs, attr, COUNT_BYTES, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR_OR_NULL(umem))
		return umem ? PTR_ERR(umem) : -EINVAL;
	dma = ib_umem_start_dma_addr(umem);
	/* Aligned, it does not cross pages. */
	if (!IS_ALIGNED(dma, COUNT_BYTES)) {
		ibdev_dbg(&dev->dvq.ibdev, "completion counter at %#llx is not aligned\n",
			  (u64)dma);
		ret = -EINVAL;
		goto err_release;
	}
	ret = efa_cmd_create_counter(dev, uar, dma, &entry->handle);
	if (ret)
		goto err_release;
	entry->umem = umem;
	return 0;

err_release:
	ib_umem_release(umem);
	return ret;
}

/*
 * The op has no udata: nothing says whether somebody is left who could try again, and if nobody is,
 * the core forgets what the device still writes to.
 * choice: so it is asked twice for anybody, and one that lets go of nothing is stopped.
 */
static void destroy_entry(struct efa_dev *dev, struct efa_event_counter *entry)
{
	if (efa_settle(efa_cmd_destroy_counter(dev, entry->handle)) &&
	    efa_settle(efa_cmd_destroy_counter(dev, entry->handle)))
		efa_device_halt(dev);
	ib_umem_release(entry->umem);
}

static int create_comp_cntr(struct ib_comp_cntr *ibcc, struct uverbs_attr_bundle *attrs)
{
	struct efa_ucontext *ctx = rdma_udata_to_drv_context(&attrs->driver_udata,
							     struct efa_ucontext, dvq.ibucontext);
	struct efa_comp_cntr *cc = to_efa_comp_cntr(ibcc);
	struct efa_dev *dev = to_efa_dev(ibcc->device);
	int ret;

	ret = create_entry(dev, &cc->entry[SUCCESS], ctx->uar, attrs,
			   DVQ_EFA_ATTR_CREATE_COMP_CNTR_COMP);
	if (ret)
		return ret;
	ret = create_entry(dev, &cc->entry[ERROR], ctx->uar, attrs,
			   DVQ_EFA_ATTR_CREATE_COMP_CNTR_ERR);
	if (ret)
		destroy_entry(dev, &cc->entry[SUCCESS]);
	return ret;
}

static int destroy_comp_cntr(struct ib_comp_cntr *ibcc)
{
	struct efa_comp_cntr *cc = to_efa_comp_cntr(ibcc);
	struct efa_dev *dev = to_efa_dev(ibcc->device);

	destroy_entry(dev, &cc->entry[ERROR]);
	destroy_entry(dev, &cc->entry[SUCCESS]);
	return 0;
}

/* ---- use -------------------------------------------------------------------------------- */

static int modify_comp_cntr(struct ib_comp_cntr *ibcc, enum ib_comp_cntr_entry entry,
			    enum ib_comp_cntr_modify_op op, u64 value)
{
	struct efa_comp_cntr *cc = to_efa_comp_cntr(ibcc);
	struct efa_dev *dev = to_efa_dev(ibcc->device);

	if (value > dev->attr.event_counter_max)
		return -EINVAL;
	return efa_cmd_modify_counter(dev, cc->entry[entry == IB_COMP_CNTR_ENTRY_ERR].handle,
				      op == IB_COMP_CNTR_MODIFY_OP_SET ? EFA_COUNTER_SET :
									 EFA_COUNTER_ADD,
				      value);
}

static int attach_locked(struct efa_dev *dev, struct efa_qp *qp, struct efa_comp_cntr *cc,
			 u32 op_mask)
{
	u32 events = events_of(op_mask, SUCCESS), errors = events_of(op_mask, ERROR);
	int ret;

	if (!qp->alive)
		return -ENODEV;
	ret = efa_cmd_attach_counter(dev, cc->entry[SUCCESS].handle, qp->handle, events);
	if (ret || !errors)
		return ret;
	ret = efa_cmd_attach_counter(dev, cc->entry[ERROR].handle, qp->handle, errors);
	/* If the device refuses this too, the counter is attached until the QP goes. */
	if (ret)
		efa_cmd_detach_counter(dev, cc->entry[SUCCESS].handle, qp->handle, events);
	return ret;
}

/* The device detaches what a QP has when the QP goes. */
static int attach_comp_cntr(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			    struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct efa_dev *dev = to_efa_dev(ibqp->device);
	struct efa_qp *qp = to_efa_qp(ibqp);
	int ret;

	if (!attr->op_mask || attr->op_mask & ~supported_ops(&dev->attr)) {
		ibdev_dbg(&dev->dvq.ibdev, "completion counters of operations %#x do not exist\n",
			  attr->op_mask);
		return -EOPNOTSUPP;
	}
	mutex_lock(&qp->lock);
	ret = attach_locked(dev, qp, to_efa_comp_cntr(ibcc), attr->op_mask);
	mutex_unlock(&qp->lock);
	return ret;
}

/* ---- registration ----------------------------------------------------------------------- */

static const struct ib_device_ops comp_cntr_ops = {
	.create_comp_cntr = create_comp_cntr,
	.destroy_comp_cntr = destroy_comp_cntr,
	.modify_comp_cntr = modify_comp_cntr,
	.qp_attach_comp_cntr = attach_comp_cntr,
	.query_comp_cntr_caps = query_caps,

	INIT_RDMA_OBJ_SIZE(ib_comp_cntr, efa_comp_cntr, ibcc),
};

/* Before registration. A device without the operations has no such objects. */
void efa_set_comp_cntr_ops(struct efa_dev *dev)
{
	if (efa_has_comp_cntrs(dev))
		ib_set_device_ops(&dev->dvq.ibdev, &comp_cntr_ops);
}

ADD_UVERBS_ATTRIBUTES_SIMPLE(efa_comp_cntr_create, UVERBS_OBJECT_COMP_CNTR,
			     UVERBS_METHOD_COMP_CNTR_CREATE,
			     UVERBS_ATTR_UMEM(DVQ_EFA_ATTR_CREATE_COMP_CNTR_COMP, UA_MANDATORY),
			     UVERBS_ATTR_UMEM(DVQ_EFA_ATTR_CREATE_COMP_CNTR_ERR, UA_MANDATORY));

const struct uapi_definition efa_comp_cntr_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_COMP_CNTR, &efa_comp_cntr_create),
	{},
};
