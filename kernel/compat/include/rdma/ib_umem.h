/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef COMPAT_RDMA_IB_UMEM_H
#define COMPAT_RDMA_IB_UMEM_H

#include <rdma/ib_verbs.h>
#include_next <rdma/ib_umem.h>

/* In 7.2, under this name. */
#ifndef COMPAT_HAVE_UMEM_GET_VA
#define ib_umem_get_va(device, addr, size, access) ib_umem_get(device, addr, size, access)
#endif

/* In 6.17. */
#ifndef COMPAT_HAVE_UMEM_IS_CONTIGUOUS
static inline dma_addr_t ib_umem_start_dma_addr(struct ib_umem *umem)
{
	return sg_dma_address(umem->sgt_append.sgt.sgl) + ib_umem_offset(umem);
}

static inline bool ib_umem_is_contiguous(struct ib_umem *umem)
{
	unsigned long page_size;

	page_size = ib_umem_find_best_pgsz(umem, ULONG_MAX, ib_umem_start_dma_addr(umem));
	return page_size && ib_umem_num_dma_blocks(umem, page_size) == 1;
}
#endif

/* In 7.2. Before it a process has no way to say where a CQ shall be. */
#ifndef COMPAT_HAVE_UMEM_GET_CQ_BUF
struct uverbs_attr_bundle;

static inline struct ib_umem *ib_umem_get_cq_buf(struct ib_device *device,
						 const struct uverbs_attr_bundle *attrs,
						 size_t size, int access)
{
	return NULL;
}
#endif

#if !defined(COMPAT_HAVE_UMEM_GET_CQ_BUF_OR_VA) || !defined(COMPAT_HAVE_QP_BUF_UMEM)
struct uverbs_attr_bundle;

/* The same of CQs and queues of a QP whose ring has an address in the driver's own request. */
static inline struct ib_umem *compat_umem_get_va(struct ib_device *device,
						 const struct uverbs_attr_bundle *attrs,
						 u64 addr, size_t size, int access)
{
	return ib_umem_get_va(device, addr, size, access);
}
#endif

#ifndef COMPAT_HAVE_UMEM_GET_CQ_BUF_OR_VA
#define ib_umem_get_cq_buf_or_va(device, attrs, addr, size, access)		\
	compat_umem_get_va(device, attrs, addr, size, access)
#endif

#ifndef COMPAT_HAVE_QP_BUF_UMEM
/* as in 7.2; the kernel knows no such attributes, so no call is found to have them */
#define UVERBS_ATTR_CREATE_QP_BUF_UMEM		15
#define UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM	16
#define UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM	17
#define ib_umem_get_attr_or_va(device, attrs, attr, addr, size, access)		\
	((void)(attr), compat_umem_get_va(device, attrs, addr, size, access))
#endif

#endif /* COMPAT_RDMA_IB_UMEM_H */
