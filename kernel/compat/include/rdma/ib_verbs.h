/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Before 7.2 some ops have another shape, and some do not exist. A driver's table is then
 * a struct of ours, which has those ops in the newest shape besides the kernel's; when it
 * is set, ops.c puts functions of the old shape into the kernel's table that call them.
 */
#ifndef COMPAT_RDMA_IB_VERBS_H
#define COMPAT_RDMA_IB_VERBS_H

#include_next <rdma/ib_verbs.h>

/* The fastest that the kernel knows: it shows any other as SDR. */
#ifndef COMPAT_HAVE_SPEED_XDR
#define IB_SPEED_XDR	IB_SPEED_NDR
#endif

#ifndef COMPAT_HAVE_CREATE_USER_CQ
struct ib_dmah;
struct uverbs_attr_bundle;

struct compat_device_ops {
	struct ib_device_ops;
	int (*create_user_cq)(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			      struct uverbs_attr_bundle *attrs);
	struct ib_mr *(*newest_reg_user_mr)(struct ib_pd *pd, u64 start, u64 length,
					    u64 virt_addr, int access, struct ib_dmah *dmah,
					    struct ib_udata *udata);
	struct ib_mr *(*newest_reg_user_mr_dmabuf)(struct ib_pd *pd, u64 offset, u64 length,
						   u64 virt_addr, int fd, int access,
						   struct ib_dmah *dmah,
						   struct uverbs_attr_bundle *attrs);
	/* nobody asks for these, unless the kernel has them */
#ifndef COMPAT_HAVE_QUERY_PORT_SPEED
	int (*query_port_speed)(struct ib_device *device, u32 port, u64 *speed);
#endif
#ifndef COMPAT_HAVE_ROBUST_UDATA
	unsigned int uverbs_robust_udata:1;
#endif
};

void compat_set_device_ops(struct ib_device *device, const struct compat_device_ops *ops);
void compat_dealloc_device(struct ib_device *device);

#ifndef COMPAT_OPS_C
#define ib_device_ops		compat_device_ops
#define ib_set_device_ops	compat_set_device_ops
#define ib_dealloc_device	compat_dealloc_device
#define reg_user_mr		newest_reg_user_mr
#define reg_user_mr_dmabuf	newest_reg_user_mr_dmabuf
#endif
#endif /* COMPAT_HAVE_CREATE_USER_CQ */

#endif /* COMPAT_RDMA_IB_VERBS_H */
