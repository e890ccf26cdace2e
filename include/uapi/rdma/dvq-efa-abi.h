/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
#ifndef RDMA_DVQ_EFA_ABI_H
#define RDMA_DVQ_EFA_ABI_H

#include <linux/types.h>

/**
 * DOC: Driver data of the verbs on an EFA adapter
 *
 * What dvq_efa.ko takes and gives in the driver part ("udata") of uverbs commands
 * on a device of driver id RDMA_DRIVER_EFA, ABI version %DVQ_EFA_ABI_VERSION. It is
 * the interface that rdma-core's EFA provider speaks; the names are dvq's own, so
 * that this header and the system's can be included together. dvq's additions are
 * uverbs methods and stand in dvq-abi.h.
 *
 * Every struct grows by length. A request must reach at least to the member that
 * its description names and is zero-extended from there; what is longer than the
 * kernel knows must be zero (EOPNOTSUPP). A response is cut to the caller's
 * length, and what the kernel does not know of it is zero-filled. Commands without
 * a request here (PD, AH, MR, modify QP, query device) take no driver data: any
 * byte that is not zero is EOPNOTSUPP. comp_mask of a request is zero
 * (EOPNOTSUPP), and so are reserved bytes (EINVAL). Reserved fields are named by
 * their bit offset in the struct.
 *
 * A key is an offset to mmap() on the context's file with MAP_SHARED and the exact
 * length; 0 is never a key.
 */

#define DVQ_EFA_ABI_VERSION	1

/* ---- context -------------------------------------------------------------------- */

/**
 * enum dvq_efa_user_caps - what the caller promises to obey
 * @DVQ_EFA_USER_TX_BATCH: the limit of entries between two doorbells (max_tx_batch)
 * @DVQ_EFA_USER_MIN_SQ_WR: the least size of a send queue (min_sq_wr)
 */
enum dvq_efa_user_caps {
	DVQ_EFA_USER_TX_BATCH	= 1 << 0,
	DVQ_EFA_USER_MIN_SQ_WR	= 1 << 1,
};

/**
 * struct dvq_efa_ucontext_req - driver data of GET_CONTEXT, may be shorter or absent
 * @supported_caps: mask of enum dvq_efa_user_caps. A device with a limit that the
 *	caller does not promise to obey is EOPNOTSUPP. Bits that the kernel does not
 *	know, and whatever follows this struct, only promise more and are ignored.
 * @reserved_20: ignored
 */
struct dvq_efa_ucontext_req {
	__u32 supported_caps;
	__u8 reserved_20[4];
};

/**
 * enum dvq_efa_cmds - commands that have more driver data than the first release
 * @DVQ_EFA_CMD_QUERY_DEVICE: query device answers struct dvq_efa_device_resp
 * @DVQ_EFA_CMD_CREATE_AH: create AH answers struct dvq_efa_ah_resp
 */
enum dvq_efa_cmds {
	DVQ_EFA_CMD_QUERY_DEVICE	= 1 << 0,
	DVQ_EFA_CMD_CREATE_AH		= 1 << 1,
};

/**
 * struct dvq_efa_ucontext_resp - answer to GET_CONTEXT
 * @comp_mask: zero
 * @cmds_supp_udata_mask: mask of enum dvq_efa_cmds; both
 * @sub_cqs_per_cq: rings that every CQ is made of
 * @inline_buf_size: bytes of inline data in a 64-byte send entry
 * @max_llq_size: bytes of the largest send queue
 * @max_tx_batch: 64-byte units that may be written to a send queue between two
 *	doorbells; 0: no limit
 * @min_sq_wr: least entries of a send queue; 0: no limit
 * @inline_buf_size_ex: bytes of inline data in the widest send entry
 * @reserved_b0: zero
 */
struct dvq_efa_ucontext_resp {
	__u32 comp_mask;
	__u32 cmds_supp_udata_mask;
	__u16 sub_cqs_per_cq;
	__u16 inline_buf_size;
	__u32 max_llq_size;
	__u16 max_tx_batch;
	__u16 min_sq_wr;
	__u16 inline_buf_size_ex;
	__u8 reserved_b0[2];
};

/* ---- device --------------------------------------------------------------------- */

/**
 * enum dvq_efa_device_caps - what the device and its driver can do
 * @DVQ_EFA_DEVICE_RDMA_READ: RDMA reads
 * @DVQ_EFA_DEVICE_RNR_RETRY: modify QP takes rnr_retry
 * @DVQ_EFA_DEVICE_CQ_NOTIFICATIONS: completion channels
 * @DVQ_EFA_DEVICE_CQ_WITH_SGID: completions tell the sender's GID
 * @DVQ_EFA_DEVICE_DATA_POLLING_128: data lands in order within aligned blocks of
 *	128 bytes
 * @DVQ_EFA_DEVICE_RDMA_WRITE: RDMA writes
 * @DVQ_EFA_DEVICE_UNSOLICITED: QPs whose incoming writes with immediate take no
 *	receive WR
 * @DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM: CQs in memory of the caller
 * @DVQ_EFA_DEVICE_COMP_CNTR: completion counters
 * @DVQ_EFA_DEVICE_64BIT_IDS: request ids of 64 bits on the send side
 */
enum dvq_efa_device_caps {
	DVQ_EFA_DEVICE_RDMA_READ		= 1 << 0,
	DVQ_EFA_DEVICE_RNR_RETRY		= 1 << 1,
	DVQ_EFA_DEVICE_CQ_NOTIFICATIONS		= 1 << 2,
	DVQ_EFA_DEVICE_CQ_WITH_SGID		= 1 << 3,
	DVQ_EFA_DEVICE_DATA_POLLING_128		= 1 << 4,
	DVQ_EFA_DEVICE_RDMA_WRITE		= 1 << 5,
	DVQ_EFA_DEVICE_UNSOLICITED		= 1 << 6,
	DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM		= 1 << 7,
	DVQ_EFA_DEVICE_COMP_CNTR		= 1 << 8,
	DVQ_EFA_DEVICE_64BIT_IDS		= 1 << 9,
};

/**
 * struct dvq_efa_device_resp - answer to query device
 * @comp_mask: zero
 * @max_sq_wr: most entries of a send queue
 * @max_rq_wr: most buffer descriptors of a receive queue; a WR takes one per SGE
 * @max_sq_sge: most SGEs of a send
 * @max_rq_sge: most SGEs of a receive
 * @max_rdma_size: most bytes of one RDMA read or write
 * @device_caps: mask of enum dvq_efa_device_caps
 */
struct dvq_efa_device_resp {
	__u32 comp_mask;
	__u32 max_sq_wr;
	__u32 max_rq_wr;
	__u16 max_sq_sge;
	__u16 max_rq_sge;
	__u32 max_rdma_size;
	__u32 device_caps;
};

/* ---- PD and AH ------------------------------------------------------------------ */

/**
 * struct dvq_efa_pd_resp - answer to alloc PD
 * @comp_mask: zero
 * @pdn: the device's number of the PD
 * @reserved_30: zero
 */
struct dvq_efa_pd_resp {
	__u32 comp_mask;
	__u16 pdn;
	__u8 reserved_30[2];
};

/**
 * struct dvq_efa_ah_resp - answer to create AH
 * @comp_mask: zero
 * @ah_num: the number that a send entry carries; address handles of one PD to one
 *	destination share it
 * @reserved_30: zero
 */
struct dvq_efa_ah_resp {
	__u32 comp_mask;
	__u16 ah_num;
	__u8 reserved_30[2];
};

/* ---- CQ ------------------------------------------------------------------------- */

/**
 * enum dvq_efa_cq_flags - properties of a CQ
 * @DVQ_EFA_CQ_CHANNEL: the CQ raises events; needs CQ_NOTIFICATIONS
 * @DVQ_EFA_CQ_SGID: completions tell the sender's GID; needs 32-byte entries
 * @DVQ_EFA_CQ_64BIT_IDS: send completions carry request ids of 64 bits
 */
enum dvq_efa_cq_flags {
	DVQ_EFA_CQ_CHANNEL	= 1 << 0,
	DVQ_EFA_CQ_SGID		= 1 << 1,
	DVQ_EFA_CQ_64BIT_IDS	= 1 << 2,
};

/**
 * struct dvq_efa_cq_req - driver data of create CQ, at least to num_sub_cqs
 * @comp_mask: zero
 * @cq_entry_size: 16 or 32 bytes
 * @num_sub_cqs: sub_cqs_per_cq of the context
 * @flags: mask of enum dvq_efa_cq_flags; unknown bits are EOPNOTSUPP
 * @reserved_58: zero
 *
 * The verbs' number of entries is that of one sub-CQ and a power of two. Memory of
 * the caller (the verbs' buffer attributes) must be one contiguous DMA range, hold
 * all sub-CQs, start on a multiple of the entry size and be zeroed.
 */
struct dvq_efa_cq_req {
	__u32 comp_mask;
	__u32 cq_entry_size;
	__u16 num_sub_cqs;
	__u8 flags;
	__u8 reserved_58[5];
};

/**
 * enum dvq_efa_cq_resp_mask - what is valid in struct dvq_efa_cq_resp
 * @DVQ_EFA_CQ_RESP_DB: db_off and db_mmap_key
 */
enum dvq_efa_cq_resp_mask {
	DVQ_EFA_CQ_RESP_DB	= 1 << 0,
};

/**
 * struct dvq_efa_cq_resp - answer to create CQ
 * @comp_mask: mask of enum dvq_efa_cq_resp_mask
 * @reserved_20: zero
 * @q_mmap_key: key of the ring, to be mapped for reading only; 0 when the ring is
 *	in memory of the caller
 * @q_mmap_size: bytes to map there
 * @cq_idx: the device's number of the CQ
 * @reserved_d0: zero
 * @db_off: bytes from the start of the doorbell's page to the doorbell
 * @db_mmap_key: key of the doorbell's page, one page, to be mapped for writing only
 */
struct dvq_efa_cq_resp {
	__u32 comp_mask;
	__u8 reserved_20[4];
	__aligned_u64 q_mmap_key;
	__aligned_u64 q_mmap_size;
	__u16 cq_idx;
	__u8 reserved_d0[2];
	__u32 db_off;
	__aligned_u64 db_mmap_key;
};

/* ---- QP ------------------------------------------------------------------------- */

/**
 * enum dvq_efa_qp_type - kinds of QP whose verbs type is IB_QPT_DRIVER
 * @DVQ_EFA_QP_SRD: scalable reliable datagram
 */
enum dvq_efa_qp_type {
	DVQ_EFA_QP_SRD	= 0,
};

/**
 * enum dvq_efa_qp_flags - properties of a QP
 * @DVQ_EFA_QP_UNSOLICITED: incoming writes with immediate take no receive WR
 * @DVQ_EFA_QP_64BIT_IDS: send entries carry request ids of 64 bits
 */
enum dvq_efa_qp_flags {
	DVQ_EFA_QP_UNSOLICITED	= 1 << 0,
	DVQ_EFA_QP_64BIT_IDS	= 1 << 1,
};

/**
 * struct dvq_efa_qp_req - driver data of create QP, at least to driver_qp_type
 * @comp_mask: zero
 * @rq_ring_size: bytes of the receive ring: 16 for each buffer descriptor, of which
 *	there are a power of two; 0: no receive queue
 * @sq_ring_size: bytes of the send ring: max_send_wr entries, a power of two, of 64
 *	or 128 bytes; 0: no send queue
 * @driver_qp_type: enum dvq_efa_qp_type; unused with verbs type IB_QPT_UD
 * @flags: mask of enum dvq_efa_qp_flags; unknown bits are EOPNOTSUPP
 * @sl: service level; 0: default
 * @reserved_98: zero
 */
struct dvq_efa_qp_req {
	__u32 comp_mask;
	__u32 rq_ring_size;
	__u32 sq_ring_size;
	__u32 driver_qp_type;
	__u16 flags;
	__u8 sl;
	__u8 reserved_98[5];
};

/**
 * struct dvq_efa_qp_resp - answer to create QP
 * @comp_mask: zero
 * @rq_db_offset: bytes from the start of its page to the receive doorbell
 * @sq_db_offset: bytes from the start of its page to the send doorbell
 * @llq_desc_offset: bytes from the start of the send ring's mapping to the ring
 * @rq_mmap_key: key of the receive ring; 0: no receive queue
 * @rq_mmap_size: bytes to map there
 * @rq_db_mmap_key: key of the receive doorbell's page, one page
 * @sq_db_mmap_key: key of the send doorbell's page, one page
 * @llq_desc_mmap_key: key of the send ring, write-combining; to be mapped for
 *	writing only, llq_desc_offset plus the ring rounded up to pages
 * @send_sub_cq_idx: sub-CQ of the send CQ that takes this QP's completions
 * @recv_sub_cq_idx: the same for the receive CQ
 * @reserved_1e0: zero
 */
struct dvq_efa_qp_resp {
	__u32 comp_mask;
	__u32 rq_db_offset;
	__u32 sq_db_offset;
	__u32 llq_desc_offset;
	__aligned_u64 rq_mmap_key;
	__aligned_u64 rq_mmap_size;
	__aligned_u64 rq_db_mmap_key;
	__aligned_u64 sq_db_mmap_key;
	__aligned_u64 llq_desc_mmap_key;
	__u16 send_sub_cq_idx;
	__u16 recv_sub_cq_idx;
	__u8 reserved_1e0[4];
};

/* ---- MR ------------------------------------------------------------------------- */

#define DVQ_EFA_ID_NS	0x1000	/* the driver namespace of uverbs ids */

enum dvq_efa_mr_methods {		/* of UVERBS_OBJECT_MR */
	DVQ_EFA_METHOD_MR_QUERY	= DVQ_EFA_ID_NS,
};

/**
 * enum dvq_efa_attrs_mr_query - attributes of DVQ_EFA_METHOD_MR_QUERY
 * @DVQ_EFA_ATTR_MR_QUERY_HANDLE: MR handle
 * @DVQ_EFA_ATTR_MR_QUERY_VALIDITY: out, u16, mask of enum dvq_efa_mr_ic
 * @DVQ_EFA_ATTR_MR_QUERY_RECV_IC: out, optional u16, interconnect path that received
 *	sends take to the region
 * @DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC: out, optional u16, path of RDMA reads into it
 * @DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC: out, optional u16, path of incoming RDMA
 *	writes
 */
enum dvq_efa_attrs_mr_query {
	DVQ_EFA_ATTR_MR_QUERY_HANDLE = DVQ_EFA_ID_NS,
	DVQ_EFA_ATTR_MR_QUERY_VALIDITY,
	DVQ_EFA_ATTR_MR_QUERY_RECV_IC,
	DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC,
	DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC,
};

/**
 * enum dvq_efa_mr_ic - interconnect ids that the device has told
 * @DVQ_EFA_MR_IC_RECV: of received sends
 * @DVQ_EFA_MR_IC_RDMA_READ: of RDMA reads
 * @DVQ_EFA_MR_IC_RDMA_RECV: of incoming RDMA writes
 */
enum dvq_efa_mr_ic {
	DVQ_EFA_MR_IC_RECV	= 1 << 0,
	DVQ_EFA_MR_IC_RDMA_READ	= 1 << 1,
	DVQ_EFA_MR_IC_RDMA_RECV	= 1 << 2,
};

/* ---- completion counters (7.3) --------------------------------------------------------- */

/**
 * enum dvq_efa_comp_cntr_attrs - what EFA wants to create a completion counter
 * @DVQ_EFA_ATTR_CREATE_COMP_CNTR_COMP: struct ib_uverbs_buffer_desc of the 8 aligned bytes that
 *	count successes
 * @DVQ_EFA_ATTR_CREATE_COMP_CNTR_ERR: the same for errors
 */
enum dvq_efa_comp_cntr_attrs {
	DVQ_EFA_ATTR_CREATE_COMP_CNTR_COMP = DVQ_EFA_ID_NS,
	DVQ_EFA_ATTR_CREATE_COMP_CNTR_ERR,
};

#endif /* RDMA_DVQ_EFA_ABI_H */
