// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ops of the newest shape behind ops of the kernel's; see include/rdma/ib_verbs.h. Part
 * of dvq.ko where it is needed at all.
 */
#define COMPAT_OPS_C

#include <linux/module.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* The drivers' tables by device. */
static DEFINE_XARRAY(tables);

static const struct compat_device_ops *table_of(struct ib_device *device)
{
	return xa_load(&tables, (unsigned long)device);
}

/* ---- CQ: one op for user CQs (which have a bundle) and the kernel's ------------------- */

static int create_cq_attrs(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	const struct compat_device_ops *table = table_of(cq->device);

	if (attrs)
		return table->create_user_cq(cq, attr, attrs);
	return table->create_cq ? table->create_cq(cq, attr, NULL) : -EOPNOTSUPP;
}

#ifdef COMPAT_HAVE_CREATE_CQ_ATTRS
#define create_cq_op	create_cq_attrs
#else
static int create_cq_op(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			struct ib_udata *udata)
{
	return create_cq_attrs(cq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}
#endif

/* ---- MR: DMA handles since 6.17 ------------------------------------------------------- */

#ifdef COMPAT_HAVE_REG_MR_DMAH
#define DMAH_ARG	struct ib_dmah *dmah,
#define DMAH		dmah
#else
#define DMAH_ARG
#define DMAH		NULL
#endif

#ifdef COMPAT_HAVE_DMABUF_ATTRS
#define DMABUF_ARG	struct uverbs_attr_bundle *attrs
#define DMABUF_ATTRS	attrs
#else
#define DMABUF_ARG	struct ib_udata *udata
#define DMABUF_ATTRS	rdma_udata_to_uverbs_attr_bundle(udata)
#endif

static struct ib_mr *reg_user_mr_op(struct ib_pd *pd, u64 start, u64 length, u64 virt_addr,
				    int access, DMAH_ARG struct ib_udata *udata)
{
	return table_of(pd->device)->newest_reg_user_mr(pd, start, length, virt_addr, access,
							DMAH, udata);
}

static struct ib_mr *reg_user_mr_dmabuf_op(struct ib_pd *pd, u64 offset, u64 length,
					   u64 virt_addr, int fd, int access, DMAH_ARG DMABUF_ARG)
{
	return table_of(pd->device)->newest_reg_user_mr_dmabuf(pd, offset, length, virt_addr, fd,
							       access, DMAH, DMABUF_ATTRS);
}

/* ---- the table ------------------------------------------------------------------------ */

static bool has_newest(const struct compat_device_ops *ops)
{
	return ops->create_user_cq || ops->newest_reg_user_mr || ops->newest_reg_user_mr_dmabuf;
}

/* Without memory the device has none of these ops, and says so to who wants one. */
void compat_set_device_ops(struct ib_device *device, const struct compat_device_ops *ops)
{
	struct ib_device_ops old = *(const struct ib_device_ops *)ops;

	/* The driver's own is for the kernel's CQs: a program's is not to come there. */
	if (ops->create_user_cq)
		old.create_cq = NULL;
	if (has_newest(ops) &&
	    !xa_is_err(xa_store(&tables, (unsigned long)device, (void *)ops, GFP_KERNEL))) {
		if (ops->create_user_cq)
			old.create_cq = create_cq_op;
		if (ops->newest_reg_user_mr)
			old.reg_user_mr = reg_user_mr_op;
		if (ops->newest_reg_user_mr_dmabuf)
			old.reg_user_mr_dmabuf = reg_user_mr_dmabuf_op;
	}
	ib_set_device_ops(device, &old);
}
EXPORT_SYMBOL_GPL(compat_set_device_ops);

void compat_dealloc_device(struct ib_device *device)
{
	xa_erase(&tables, (unsigned long)device);
	ib_dealloc_device(device);
}
EXPORT_SYMBOL_GPL(compat_dealloc_device);
