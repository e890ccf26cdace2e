/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Direct verbs of EFA adapters, as libdvq has them.
 *
 * Names, layouts and values are those of rdma-core 65's header of the same name, and so
 * is the include guard: whichever of the two comes first is the one. A program built
 * with either runs with either library. The differences are in what happens at the
 * edges; Documentation/man has a page for each call:
 *
 * - NULL arguments give EINVAL, an error or NULL instead of a crash;
 * - a length must reach to the end of the last field that is needed, and nothing is
 *   written beyond it;
 * - the inline calls at the end may be made whatever the object was created for.
 *
 * Three ways to report an error live side by side: queries return 0 or a positive errno;
 * the two efadv_get_max_*_depth() return a depth or a negative errno; what creates
 * returns NULL and sets errno.
 */
#ifndef __EFADV_H__
#define __EFADV_H__

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* since rdma-core 65 in verbs.h */
struct ibv_comp_cntr;
struct ibv_comp_cntr_init_attr;

/* ---- device ------------------------------------------------------------------------ */

/* struct efadv_device_attr.device_caps */
enum {
	EFADV_DEVICE_ATTR_CAPS_RDMA_READ		= 1 << 0,
	EFADV_DEVICE_ATTR_CAPS_RNR_RETRY		= 1 << 1,
	EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID		= 1 << 2,
	EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE		= 1 << 3,
	EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV	= 1 << 4,
	EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF	= 1 << 5,
	EFADV_DEVICE_ATTR_CAPS_COMP_CNTR		= 1 << 6,
};

/**
 * struct efadv_device_attr - limits and abilities of the adapter
 * @comp_mask: written 0
 * @max_sq_wr: entries of a send queue, of 64 bytes
 * @max_rq_wr: buffer descriptors of a receive queue (a request takes one per SGE)
 * @max_sq_sge: SGEs of a send
 * @max_rq_sge: SGEs of a receive
 * @inline_buf_size: bytes of inline data in a 64-byte entry
 * @inline_buf_size_ex: the same in the widest entry
 * @device_caps: mask of EFADV_DEVICE_ATTR_CAPS_*
 * @max_rdma_size: bytes of an RDMA request
 */
struct efadv_device_attr {
	uint64_t comp_mask;
	uint32_t max_sq_wr;
	uint32_t max_rq_wr;
	uint16_t max_sq_sge;
	uint16_t max_rq_sge;
	uint16_t inline_buf_size;
	uint16_t inline_buf_size_ex;
	uint32_t device_caps;
	uint32_t max_rdma_size;
};

int efadv_query_device(struct ibv_context *ibvctx, struct efadv_device_attr *attr, uint32_t inlen);

/* struct efadv_sq_depth_attr.flags */
enum {
	EFADV_SQ_DEPTH_ATTR_INLINE_WRITE	= 1 << 0,
};

/**
 * struct efadv_sq_depth_attr - the QP that a send queue depth is asked for
 * @comp_mask: 0
 * @flags: mask of EFADV_SQ_DEPTH_ATTR_*
 * @max_send_sge: SGEs of a send
 * @max_rdma_sge: local SGEs of an RDMA request
 * @max_inline_data: bytes of inline data
 */
struct efadv_sq_depth_attr {
	uint64_t comp_mask;
	uint32_t flags;
	uint32_t max_send_sge;
	uint32_t max_rdma_sge;
	uint32_t max_inline_data;
};

/* The largest max_send_wr for a QP like that; or a negative errno. */
int efadv_get_max_sq_depth(struct ibv_context *ibvctx, struct efadv_sq_depth_attr *attr,
			   uint32_t inlen);

/**
 * struct efadv_rq_depth_attr - the QP that a receive queue depth is asked for
 * @comp_mask: 0
 * @max_recv_sge: SGEs of a receive; 0 is taken as 1
 */
struct efadv_rq_depth_attr {
	uint64_t comp_mask;
	uint32_t max_recv_sge;
};

/* The largest max_recv_wr for a QP like that; or a negative errno. */
int efadv_get_max_rq_depth(struct ibv_context *ibvctx, struct efadv_rq_depth_attr *attr,
			   uint32_t inlen);

/* ---- address handles and memory regions --------------------------------------------- */

/**
 * struct efadv_ah_attr - an address handle as the adapter knows it
 * @comp_mask: written 0
 * @ahn: the number that a send entry carries; several AHs of a peer may share it
 * @reserved: written 0
 */
struct efadv_ah_attr {
	uint64_t comp_mask;
	uint16_t ahn;
	uint8_t reserved[6];
};

int efadv_query_ah(struct ibv_ah *ibvah, struct efadv_ah_attr *attr, uint32_t inlen);

/* struct efadv_mr_attr.ic_id_validity */
enum {
	EFADV_MR_ATTR_VALIDITY_RECV_IC_ID	= 1 << 0,
	EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID	= 1 << 1,
	EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID	= 1 << 2,
};

/**
 * struct efadv_mr_attr - the interconnects that the adapter uses for a region
 * @comp_mask: written 0
 * @ic_id_validity: mask of EFADV_MR_ATTR_VALIDITY_*: which of the following are valid
 * @recv_ic_id: for received messages
 * @rdma_read_ic_id: for the local side of RDMA reads
 * @rdma_recv_ic_id: for RDMA from other hosts
 */
struct efadv_mr_attr {
	uint64_t comp_mask;
	uint16_t ic_id_validity;
	uint16_t recv_ic_id;
	uint16_t rdma_read_ic_id;
	uint16_t rdma_recv_ic_id;
};

int efadv_query_mr(struct ibv_mr *ibvmr, struct efadv_mr_attr *attr, uint32_t inlen);

/* ---- queue pairs ---------------------------------------------------------------------- */

/* driver_qp_type */
enum {
	EFADV_QP_DRIVER_TYPE_SRD	= 0,
};

/* struct efadv_qp_init_attr.flags */
enum {
	EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV	= 1 << 0,
	EFADV_QP_FLAGS_INLINE_WRITE		= 1 << 1,
};

/* struct efadv_qp_init_attr.wr_flags */
enum {
	EFADV_WR_EX_WITH_PROCESSING_HINTS	= 1 << 0,
};

/* hints of a send request */
enum efadv_wr_processing_hint {
	EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE	= 1 << 0,
};

/**
 * struct efadv_qp_init_attr - what the verbs cannot say about a new QP
 * @comp_mask: 0
 * @driver_qp_type: EFADV_QP_DRIVER_TYPE_SRD
 * @flags: mask of EFADV_QP_FLAGS_*
 * @sl: service level, 0: the default
 * @reserved: 0
 * @wr_flags: mask of EFADV_WR_EX_WITH_*
 */
struct efadv_qp_init_attr {
	uint64_t comp_mask;
	uint32_t driver_qp_type;
	uint16_t flags;
	uint8_t sl;
	uint8_t reserved;
	uint64_t wr_flags;
};

struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *ibvpd, struct ibv_qp_init_attr *attr,
				      uint32_t driver_qp_type);

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ibvctx, struct ibv_qp_init_attr_ex *attr_ex,
				  struct efadv_qp_init_attr *efa_attr, uint32_t inlen);

/* struct efadv_wq_attr.caps */
enum {
	EFADV_WQ_CAPS_64_BIT_REQ_ID	= 1 << 0,
};

/**
 * struct efadv_wq_attr - one work queue of a QP
 * @comp_mask: written 0
 * @buffer: first entry; write only, and of a send queue in device memory
 * @entry_size: bytes of an entry
 * @num_entries: entries of the ring; of a receive queue buffer descriptors
 * @doorbell: write only
 * @max_batch: most entries that may be written between two doorbells
 * @caps: mask of EFADV_WQ_CAPS_*
 * @reserved: written 0
 *
 * Before rdma-core 65 the last four bytes were reserved.
 */
struct efadv_wq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size;
	uint32_t num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;
	uint8_t reserved[2];
};

int efadv_query_qp_wqs(struct ibv_qp *ibvqp, struct efadv_wq_attr *sq_attr,
		       struct efadv_wq_attr *rq_attr, uint32_t inlen);

/* the setters of an extended QP */
struct efadv_qp {
	uint64_t comp_mask;
	void (*wr_set_processing_hints)(struct efadv_qp *efadv_qp, uint32_t hints);
};

struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *ibvqpx);

/* ---- completion queues ----------------------------------------------------------------- */

/* struct efadv_cq_init_attr.wc_flags */
enum {
	EFADV_WC_EX_WITH_SGID			= 1 << 0,
	EFADV_WC_EX_WITH_IS_UNSOLICITED		= 1 << 1,
};

/* struct efadv_cq_init_attr.flags */
enum {
	EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF	= 1 << 0,
};

/**
 * struct efadv_cq_init_attr - what the verbs cannot say about a new CQ
 * @comp_mask: 0
 * @wc_flags: mask of EFADV_WC_EX_WITH_*
 * @flags: mask of EFADV_CQ_INIT_FLAGS_*
 * @ext_mem_dmabuf: with EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF: zeroed memory for the ring,
 *	@length bytes at @offset of the dma-buf @fd; @buffer is its address for polling,
 *	or NULL
 */
struct efadv_cq_init_attr {
	uint64_t comp_mask;
	uint64_t wc_flags;
	uint64_t flags;
	struct {
		uint8_t *buffer;
		uint64_t length;
		uint64_t offset;
		int32_t fd;
		uint8_t reserved[4];
	} ext_mem_dmabuf;
};

struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ibvctx, struct ibv_cq_init_attr_ex *attr_ex,
				  struct efadv_cq_init_attr *efa_attr, uint32_t inlen);

/**
 * struct efadv_cq_attr - the ring of a CQ
 * @comp_mask: written 0
 * @buffer: first entry, read only; of external memory what its creator named, or NULL
 * @entry_size: bytes of an entry
 * @num_entries: entries of the ring
 * @doorbell: write only; NULL: there is none
 */
struct efadv_cq_attr {
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size;
	uint32_t num_entries;
	uint32_t *doorbell;
};

int efadv_query_cq(struct ibv_cq *ibvcq, struct efadv_cq_attr *attr, uint32_t inlen);

/* the readers of an extended CQ */
struct efadv_cq {
	uint64_t comp_mask;
	int (*wc_read_sgid)(struct efadv_cq *efadv_cq, union ibv_gid *sgid);
	bool (*wc_is_unsolicited)(struct efadv_cq *efadv_cq);
};

struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *ibvcqx);

/* ---- completion counters ----------------------------------------------------------------- */

/* struct efadv_memory_location.type */
enum {
	EFADV_MEMORY_LOCATION_VA	= 0,
	EFADV_MEMORY_LOCATION_DMABUF	= 1,
};

/**
 * struct efadv_memory_location - eight bytes of memory
 * @ptr: address; of a dma-buf optional
 * @dmabuf: where it is, with EFADV_MEMORY_LOCATION_DMABUF
 * @type: EFADV_MEMORY_LOCATION_*
 * @reserved: 0
 */
struct efadv_memory_location {
	uint8_t *ptr;
	struct {
		uint64_t offset;
		int32_t fd;
		uint32_t reserved;
	} dmabuf;
	uint8_t type;
	uint8_t reserved[7];
};

/* struct efadv_comp_cntr_init_attr.flags */
enum {
	EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM	= 1 << 0,
	EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM	= 1 << 1,
};

/**
 * struct efadv_comp_cntr_init_attr - where a new counter has its values
 * @comp_mask: 0
 * @flags: mask of EFADV_COMP_CNTR_INIT_*: which of the following are used
 * @reserved: 0
 * @comp_cntr_ext_mem: of the count of completions
 * @err_cntr_ext_mem: of the count of errors
 */
struct efadv_comp_cntr_init_attr {
	uint64_t comp_mask;
	uint32_t flags;
	uint32_t reserved;
	struct efadv_memory_location comp_cntr_ext_mem;
	struct efadv_memory_location err_cntr_ext_mem;
};

struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *ibvctx,
					     struct ibv_comp_cntr_init_attr *attr,
					     struct efadv_comp_cntr_init_attr *efa_attr,
					     uint32_t inlen);

/* ---- inline calls --------------------------------------------------------------------------- */

/*
 * A setter of the current send request, after the call that names its operation and
 * before ibv_wr_complete() or the next such call. The last one wins, 0 clears. Nothing
 * happens on a QP that was created without EFADV_WR_EX_WITH_PROCESSING_HINTS.
 */
static inline void efadv_wr_set_processing_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	if (efadv_qp && efadv_qp->wr_set_processing_hints)
		efadv_qp->wr_set_processing_hints(efadv_qp, hints);
}

/*
 * The GID of the sender of the current completion, a receive: 0; -ENOENT if the sender
 * has an AH here; -EOPNOTSUPP if the CQ was created without EFADV_WC_EX_WITH_SGID.
 */
static inline int efadv_wc_read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	if (!efadv_cq || !efadv_cq->wc_read_sgid)
		return -EOPNOTSUPP;
	return efadv_cq->wc_read_sgid(efadv_cq, sgid);
}

/*
 * The current completion is a write with immediate that used no receive: wr_id is 0 and
 * leads to no buffer. False on a CQ created without EFADV_WC_EX_WITH_IS_UNSOLICITED.
 */
static inline bool efadv_wc_is_unsolicited(struct efadv_cq *efadv_cq)
{
	if (!efadv_cq || !efadv_cq->wc_is_unsolicited)
		return false;
	return efadv_cq->wc_is_unsolicited(efadv_cq);
}

#ifdef __cplusplus
}
#endif

#endif /* __EFADV_H__ */
