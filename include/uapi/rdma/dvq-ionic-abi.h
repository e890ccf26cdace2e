/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
#ifndef RDMA_DVQ_IONIC_ABI_H
#define RDMA_DVQ_IONIC_ABI_H

#include <linux/types.h>

/**
 * DOC: General
 *
 * What dvq_ionic.ko and the distribution's libionic say to each other inside the
 * verbs' own calls (the driver part of GET_CONTEXT, CREATE_CQ, CREATE_QP and
 * CREATE_AH): the interface of the stock driver under names of our own, so that
 * unmodified programs run. dvq's own calls are in dvq-abi.h.
 *
 * All fields are in CPU byte order and naturally aligned. A request that is shorter
 * than its struct here is EINVAL; one that is longer must be zero beyond it, else
 * EOPNOTSUPP. An answer is cut to the caller's length or zero-filled up to it.
 * Calls that are not listed have no driver part: a non-empty one must be zero. Reserved
 * fields are named by their bit offset in the struct.
 */

#define DVQ_IONIC_ABI_VERSION	1

/* ---- context ------------------------------------------------------------------ */

/**
 * struct dvq_ionic_ctx_req - GET_CONTEXT
 * @reserved_0: ignored
 */
struct dvq_ionic_ctx_req {
	__u32 reserved_0[2];
};

/**
 * enum dvq_ionic_expdb_sizes - entry sizes that have an express doorbell
 * @DVQ_IONIC_EXPDB_64: 64 bytes
 * @DVQ_IONIC_EXPDB_128: 128 bytes
 * @DVQ_IONIC_EXPDB_256: 256 bytes
 * @DVQ_IONIC_EXPDB_512: 512 bytes
 */
enum dvq_ionic_expdb_sizes {
	DVQ_IONIC_EXPDB_64	= 1 << 0,
	DVQ_IONIC_EXPDB_128	= 1 << 1,
	DVQ_IONIC_EXPDB_256	= 1 << 2,
	DVQ_IONIC_EXPDB_512	= 1 << 3,
};

/**
 * enum dvq_ionic_expdb_queues - kinds of queues that have an express doorbell
 * @DVQ_IONIC_EXPDB_SQ: send queues
 * @DVQ_IONIC_EXPDB_RQ: receive queues
 */
enum dvq_ionic_expdb_queues {
	DVQ_IONIC_EXPDB_SQ	= 1 << 0,
	DVQ_IONIC_EXPDB_RQ	= 1 << 1,
};

/**
 * struct dvq_ionic_ctx_resp - GET_CONTEXT
 * @reserved_0: zero
 * @page_shift: log2 of the kernel's page size, which is that of doorbell pages and
 *	the alignment of rings
 * @dbell_offset: offset to mmap() for the doorbell page, plus the position inside
 *	the page
 * @version: RDMA version of the adapter; selects send opcodes
 * @qp_opcodes: send opcodes that there are
 * @admin_opcodes: admin opcodes that there are
 * @sq_qtype: place of send queue doorbells in the page, in units of 8 bytes
 * @rq_qtype: the same of receive queues
 * @cq_qtype: the same of completion queues
 * @admin_qtype: the same of the kernel's admin queues
 * @max_stride: log2 of the largest work queue entry
 * @max_spec: most SGEs of an entry that begins with their lengths
 * @udma_count: hardware pipelines
 * @expdb_mask: mask of enum dvq_ionic_expdb_sizes
 * @expdb_qtypes: mask of enum dvq_ionic_expdb_queues
 * @reserved_e8: zero
 * @phc_offset: offset to mmap() for a page with the adapter's clock; 0: none
 */
struct dvq_ionic_ctx_resp {
	__u32 reserved_0;
	__u32 page_shift;
	__aligned_u64 dbell_offset;
	__u16 version;
	__u8 qp_opcodes;
	__u8 admin_opcodes;
	__u8 sq_qtype;
	__u8 rq_qtype;
	__u8 cq_qtype;
	__u8 admin_qtype;
	__u8 max_stride;
	__u8 max_spec;
	__u8 udma_count;
	__u8 expdb_mask;
	__u8 expdb_qtypes;
	__u8 reserved_e8[3];
	__aligned_u64 phc_offset;
};

/* ---- rings ---------------------------------------------------------------------- */

/**
 * struct dvq_ionic_ring - memory of the caller that is to be a ring
 * @addr: page aligned
 * @size: bytes; at least 2^(@depth_log2 + @stride_log2)
 * @mask: 2^@depth_log2 - 1, which is also how many entries can be used
 * @depth_log2: log2 of the entries
 * @stride_log2: log2 of the bytes of an entry
 */
struct dvq_ionic_ring {
	__aligned_u64 addr;
	__u32 size;
	__u16 mask;
	__u8 depth_log2;
	__u8 stride_log2;
};

/* ---- completion queue ----------------------------------------------------------- */

/**
 * struct dvq_ionic_cq_req - CREATE_CQ
 * @ring: one for each pipeline in @udma_mask; ignored for the other
 * @udma_mask: pipelines wanted; not 0
 * @reserved_108: ignored
 */
struct dvq_ionic_cq_req {
	struct dvq_ionic_ring ring[2];
	__u8 udma_mask;
	__u8 reserved_108[7];
};

/**
 * struct dvq_ionic_cq_resp - CREATE_CQ
 * @cqid: the adapter's number of the ring on each pipeline in @udma_mask, else 0
 * @udma_mask: pipelines that the CQ has rings on
 * @reserved_48: zero
 */
struct dvq_ionic_cq_resp {
	__u32 cqid[2];
	__u8 udma_mask;
	__u8 reserved_48[7];
};

/* ---- queue pair ------------------------------------------------------------------- */

/**
 * enum dvq_ionic_cmb - placement of a ring in controller memory
 *
 * @DVQ_IONIC_CMB_ENABLE: wanted; answer: it is there
 * @DVQ_IONIC_CMB_REQUIRE: creation fails if it, or the express doorbell that was asked
 *	for with it, cannot be had
 * @DVQ_IONIC_CMB_EXPDB: with an express doorbell; answer: it has one
 * @DVQ_IONIC_CMB_WC: to be mapped write-combining; answer: it is
 * @DVQ_IONIC_CMB_UC: to be mapped uncached; answer: it is. Neither or both asked: the
 *	driver chooses.
 *
 * See Documentation/placement.rst for who decides. The ring of the request has to
 * fit the answer that was asked for and any smaller one.
 */
enum dvq_ionic_cmb {
	DVQ_IONIC_CMB_ENABLE	= 1 << 0,
	DVQ_IONIC_CMB_REQUIRE	= 1 << 1,
	DVQ_IONIC_CMB_EXPDB	= 1 << 2,
	DVQ_IONIC_CMB_WC	= 1 << 3,
	DVQ_IONIC_CMB_UC	= 1 << 4,
};

/**
 * struct dvq_ionic_qp_req - CREATE_QP
 * @sq: ring of the send queue; with a ring in controller memory the caller's copy
 * @rq: the same of the receive queue
 * @sq_spec: most SGEs of a send entry that begins with their lengths; 0: none does
 * @rq_spec: the same of receive entries
 * @sq_cmb: mask of enum dvq_ionic_cmb, 0: host memory
 * @rq_cmb: the same of the receive queue
 * @udma_mask: pipelines that will do; 0: any
 * @reserved_128: ignored; libionic does not clear it
 */
struct dvq_ionic_qp_req {
	struct dvq_ionic_ring sq;
	struct dvq_ionic_ring rq;
	__u8 sq_spec;
	__u8 rq_spec;
	__u8 sq_cmb;
	__u8 rq_cmb;
	__u8 udma_mask;
	__u8 reserved_128[3];
};

/**
 * struct dvq_ionic_qp_resp - CREATE_QP
 * @qpid: QP number
 * @sq_cmb: mask of enum dvq_ionic_cmb, 0: host memory
 * @rq_cmb: the same of the receive queue
 * @udma_idx: pipeline; completions go to that ring of both CQs
 * @reserved_38: zero
 * @sq_cmb_offset: offset to mmap() for the ring in controller memory, dvq_ionic_ring.size
 *	bytes; 0: none
 * @rq_cmb_offset: the same of the receive queue
 */
struct dvq_ionic_qp_resp {
	__u32 qpid;
	__u8 sq_cmb;
	__u8 rq_cmb;
	__u8 udma_idx;
	__u8 reserved_38;
	__aligned_u64 sq_cmb_offset;
	__aligned_u64 rq_cmb_offset;
};

/* ---- address handle ---------------------------------------------------------------- */

/**
 * struct dvq_ionic_ah_resp - CREATE_AH
 * @ahid: the adapter's number
 * @reserved_20: zero
 */
struct dvq_ionic_ah_resp {
	__u32 ahid;
	__u32 reserved_20;
};

#endif /* RDMA_DVQ_IONIC_ABI_H */
