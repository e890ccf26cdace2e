/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef COMPAT_RDMA_DVQ_EFA_ABI_H
#define COMPAT_RDMA_DVQ_EFA_ABI_H

#include_next <rdma/dvq-efa-abi.h>

/* A promise that needs ib_umem_get_cq_buf(). */
#ifndef COMPAT_HAVE_UMEM_GET_CQ_BUF
#define DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM	0
#endif

/* One that needs an object of the core. */
#ifndef COMPAT_HAVE_COMP_CNTR
#define DVQ_EFA_DEVICE_COMP_CNTR	0
#endif

#endif /* COMPAT_RDMA_DVQ_EFA_ABI_H */
