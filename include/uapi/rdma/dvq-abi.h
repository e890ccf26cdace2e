/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
#ifndef RDMA_DVQ_ABI_H
#define RDMA_DVQ_ABI_H

#include <linux/types.h>

/**
 * DOC: General
 *
 * dvq's own calls are uverbs ioctl methods (RDMA_VERBS_IOCTL on the file of an
 * open context, &ibv_context.cmd_fd) of two objects in the driver namespace:
 * %DVQ_OBJECT, which only groups methods, and %DVQ_OBJECT_CMB, a region of
 * controller memory. They are issued with the driver id of the adapter
 * (RDMA_DRIVER_EFA, RDMA_DRIVER_IONIC). Objects of the verbs (PD, CQ, QP, AH) are
 * named by their handles and taken for reading only: a call never disturbs
 * another thread's use of them, and the answer stays true until the object is
 * destroyed unless a field says otherwise.
 *
 * Every struct grows by length. An input shorter than today's is zero-extended,
 * a longer one must be zero beyond what the kernel knows. An output is cut to the
 * caller's length, and what the kernel does not know is zero-filled: zero always
 * means "none" or "not told". A length below the first published one (the whole
 * struct as it stands here unless a comment says otherwise) is EINVAL.
 *
 * What an errno means, for every method:
 *
 *  - EPROTONOSUPPORT: this kernel or driver has no such object, method or
 *    mandatory attribute; dvq does not drive the device.
 *  - EINVAL: an attribute is missing, too short, or out of range; reserved
 *    fields are not zero; the objects named do not belong together.
 *  - EOPNOTSUPP: understood, but the device cannot do it; or a longer input
 *    carries something this kernel does not know.
 *  - ENOENT: no object with that handle on this file.
 *  - EBUSY: the object is being destroyed, or still in use.
 *  - EFAULT: a user pointer cannot be read or written.
 *  - EIO: the device has been removed or is being reset.
 *  - ENOSPC: no controller memory left, or none as large as asked for.
 *  - ENOMEM: no kernel memory.
 */

#define DVQ_ABI_VERSION	1

#define DVQ_ID_NS	0x1000	/* the driver namespace of uverbs ids */

enum dvq_objects {
	DVQ_OBJECT_CMB	= DVQ_ID_NS + 0xa,
	DVQ_OBJECT	= DVQ_ID_NS + 0xb,
};

enum dvq_methods {		/* of DVQ_OBJECT */
	DVQ_METHOD_QUERY_DEVICE	= DVQ_ID_NS,
	DVQ_METHOD_SET_PD_POLICY,
	DVQ_METHOD_GET_PD_POLICY,
	DVQ_METHOD_QUERY_QP,
	DVQ_METHOD_QUERY_CQ,
	DVQ_METHOD_QUERY_AH,
	DVQ_METHOD_QUERY_CONTEXT,
	DVQ_METHOD_QUERY_UIDS,
};

enum dvq_cmb_methods {		/* of DVQ_OBJECT_CMB */
	DVQ_METHOD_CMB_ALLOC	= DVQ_ID_NS,
	DVQ_METHOD_CMB_QUERY,
	DVQ_METHOD_CMB_FREE,
};

/* ---- device -------------------------------------------------------------- */

enum dvq_attrs_query_device {
	DVQ_ATTR_QUERY_DEVICE_INFO = DVQ_ID_NS,	/* out, struct dvq_device_info */
};

enum dvq_driver {
	DVQ_DRIVER_EFA		= 1,
	DVQ_DRIVER_IONIC	= 2,
};

/**
 * enum dvq_device_caps - what the adapter and its driver can do
 *
 * @DVQ_DEVICE_RDMA_READ: RDMA reads
 * @DVQ_DEVICE_RDMA_WRITE: RDMA writes, with and without immediate
 * @DVQ_DEVICE_RNR_RETRY: the number of retries on a missing receive can be set
 * @DVQ_DEVICE_UNSOLICITED: QPs whose incoming writes with immediate take no
 *	receive WR
 * @DVQ_DEVICE_64BIT_IDS: QPs with request ids of 64 bits on the send side
 * @DVQ_DEVICE_WQE_128: send queues of 128-byte entries
 * @DVQ_DEVICE_CQ_EVENTS: completion channels
 * @DVQ_DEVICE_SQ_ALWAYS_CMB: every send queue is in controller memory; there is
 *	nothing to choose
 * @DVQ_DEVICE_SQ_CMB: send queues can be placed in controller memory
 * @DVQ_DEVICE_RQ_CMB: receive queues can be placed in controller memory
 * @DVQ_DEVICE_SQ_EXPDB: ... and be rung by the last store of an entry (express
 *	doorbell)
 * @DVQ_DEVICE_RQ_EXPDB: the same for receive queues
 * @DVQ_DEVICE_DATA_POLLING_128: data lands in order within aligned blocks of 128
 *	bytes, so that a program may poll for it
 */
enum dvq_device_caps {
	DVQ_DEVICE_RDMA_READ		= 1 << 0,
	DVQ_DEVICE_RDMA_WRITE		= 1 << 1,
	DVQ_DEVICE_RNR_RETRY		= 1 << 2,
	DVQ_DEVICE_UNSOLICITED		= 1 << 3,
	DVQ_DEVICE_64BIT_IDS		= 1 << 4,
	DVQ_DEVICE_WQE_128		= 1 << 5,
	DVQ_DEVICE_CQ_EVENTS		= 1 << 6,
	DVQ_DEVICE_SQ_ALWAYS_CMB	= 1 << 7,
	DVQ_DEVICE_SQ_CMB		= 1 << 8,
	DVQ_DEVICE_RQ_CMB		= 1 << 9,
	DVQ_DEVICE_SQ_EXPDB		= 1 << 10,
	DVQ_DEVICE_RQ_EXPDB		= 1 << 11,
	DVQ_DEVICE_DATA_POLLING_128	= 1 << 12,
};

/**
 * struct dvq_device_info - the adapter as direct posters need to know it
 * @abi_version: DVQ_ABI_VERSION of the kernel
 * @driver: enum dvq_driver
 * @caps: mask of enum dvq_device_caps
 * @sub_cqs_per_cq: rings that every CQ is made of
 * @max_sq_wr: most entries of a send queue, counted in 64-byte entries
 * @max_rq_desc: most entries of a receive queue (EFA: buffer descriptors, of which
 *	a WR takes one per SGE)
 * @max_send_sge: most SGEs of a send
 * @max_recv_sge: most SGEs of a receive
 * @max_rdma_sge: most local SGEs of an RDMA read or write
 * @max_inline: bytes of inline data in the narrowest send entry
 * @max_inline_ex: bytes of inline data in the widest send entry
 * @max_sq_bytes: most bytes of a send queue in controller memory
 * @max_tx_batch: 64-byte units that may be written to a send queue in controller
 *	memory between two doorbells; 0: no limit
 * @min_sq_wr: least entries of a send queue; 0: no limit
 * @max_rdma_size: most bytes of one RDMA read or write
 * @pipelines: hardware pipelines that queues can be bound to; 0: none to choose
 * @max_ah: most address handles; 0: not told
 * @ahs: address handles in use now, as the device counts them. A snapshot.
 * @cmb_bytes: controller memory for DVQ_OBJECT_CMB and queue placement; 0: none
 * @cmb_free: bytes of it not in use now. A snapshot.
 * @cmb_page: granule of that memory in bytes
 * @wqe_version: ionic: 1 or 2, which numbering send opcodes have; else 0
 * @reserved: zero
 */
struct dvq_device_info {
	__u32 abi_version;
	__u32 driver;
	__aligned_u64 caps;
	__u32 sub_cqs_per_cq;
	__u32 max_sq_wr;
	__u32 max_rq_desc;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_rdma_sge;
	__u32 max_inline;
	__u32 max_inline_ex;
	__u32 max_sq_bytes;
	__u32 max_tx_batch;
	__u32 min_sq_wr;
	__u32 max_rdma_size;
	__u32 pipelines;
	__u32 max_ah;
	__u32 ahs;
	__u32 cmb_page;
	__aligned_u64 cmb_bytes;
	__aligned_u64 cmb_free;
	__u32 wqe_version;
	__u32 reserved;
};

/* ---- context ------------------------------------------------------------- */

enum dvq_attrs_query_context {
	DVQ_ATTR_QUERY_CONTEXT_INFO = DVQ_ID_NS,	/* out, struct dvq_context_info */
};

/**
 * struct dvq_context_info - what the open context itself has
 * @changes_key: offset to mmap() for struct dvq_changes, for reading only
 * @changes_length: bytes to map there, the exact length
 */
struct dvq_context_info {
	__aligned_u64 changes_key;
	__aligned_u64 changes_length;
};

/**
 * struct dvq_changes - counts of what happened to objects of the context
 * @qps: QPs that were destroyed or brought to RESET
 * @ahs: address handles that were destroyed
 *
 * A library that keeps something about an object of another library sees here, with
 * one load, that it has to ask again. A count is raised before the call that it
 * counts returns. Counts begin anywhere and never go back.
 */
struct dvq_changes {
	__aligned_u64 qps;
	__aligned_u64 ahs;
};

/**
 * enum dvq_attrs_query_uids - which of some QPs and CQs of the context are still there
 *
 * @DVQ_ATTR_QUERY_UIDS_UIDS: in, array of __u64: uids of QPs and CQs. At most as many as
 *	an attribute has room for; EINVAL: not a multiple of 8 bytes.
 * @DVQ_ATTR_QUERY_UIDS_ALIVE: out, array of __u8: for each, 1 if the context that asks has
 *	it, else 0
 *
 * Unlike a query by handle it holds no object: one that another thread destroys at the same
 * time is destroyed.
 */
enum dvq_attrs_query_uids {
	DVQ_ATTR_QUERY_UIDS_UIDS = DVQ_ID_NS,
	DVQ_ATTR_QUERY_UIDS_ALIVE,
};

/* ---- placement policy of a PD ---------------------------------------------- */

enum dvq_attrs_set_pd_policy {
	DVQ_ATTR_SET_PD_POLICY_PD = DVQ_ID_NS,	/* PD handle */
	DVQ_ATTR_SET_PD_POLICY_POLICY,		/* in, struct dvq_pd_policy */
	DVQ_ATTR_SET_PD_POLICY_POOL,		/* optional CMB handle */
};

enum dvq_attrs_get_pd_policy {
	DVQ_ATTR_GET_PD_POLICY_PD = DVQ_ID_NS,	/* PD handle */
	DVQ_ATTR_GET_PD_POLICY_POLICY,		/* out, struct dvq_pd_policy */
};

/**
 * enum dvq_place - how a queue may be placed
 *
 * @DVQ_PLACE_SET: this policy says something; without it (the whole word is
 *	then zero) the device's mode for that queue kind decides alone
 * @DVQ_PLACE_CMB: controller memory is allowed
 * @DVQ_PLACE_EXPDB: the express doorbell is allowed; needs DVQ_PLACE_CMB
 * @DVQ_PLACE_REQUIRE: a creation that asked for controller memory fails when it
 *	cannot have exactly what it asked for; needs DVQ_PLACE_CMB
 */
enum dvq_place {
	DVQ_PLACE_SET		= 1 << 0,
	DVQ_PLACE_CMB		= 1 << 1,
	DVQ_PLACE_EXPDB		= 1 << 2,
	DVQ_PLACE_REQUIRE	= 1 << 3,
};

/**
 * struct dvq_pd_policy - what queues created under a PD from now on may get
 * @sq: mask of enum dvq_place for send queues
 * @rq: mask of enum dvq_place for receive queues
 *
 * A policy permits, narrows or tightens what the request of a creation asks for;
 * it never gives a queue more than was asked. Queues that exist keep their place.
 * A parent domain is the same PD as its root.
 *
 * With DVQ_ATTR_SET_PD_POLICY_POOL queues that are placed in controller memory are
 * placed in that region, and nowhere else; without it in what the device has left. What
 * the caller itself keeps in the region is then its own risk. The region stays until
 * another one is named, or a policy of zeros is set.
 *
 * DVQ_PLACE_REQUIRE on a device without any placement is EOPNOTSUPP at once.
 */
struct dvq_pd_policy {
	__u32 sq;
	__u32 rq;
};

/* ---- work queues of a QP ------------------------------------------------------ */

enum dvq_attrs_query_qp {
	DVQ_ATTR_QUERY_QP_QP = DVQ_ID_NS,	/* QP handle */
	DVQ_ATTR_QUERY_QP_INFO,			/* out, struct dvq_qp_info */
	DVQ_ATTR_QUERY_QP_SQ,			/* out, optional, struct dvq_wq_info */
	DVQ_ATTR_QUERY_QP_RQ,			/* out, optional, struct dvq_wq_info */
};

/**
 * struct dvq_qp_info - what both work queues of a QP share
 * @uid: names this QP among all that this load of the module has made; a handle
 *	or QP number may come again, this does not
 * @qp_num: QP number
 * @generation: how often a QP with this number (EFA: with these low bits) was
 *	created before on the device; put it into the spare high bits of 16-bit
 *	request ids, so that completions of an earlier QP are told apart
 * @send_sub_cq: ring of the send CQ that takes this QP's completions
 * @recv_sub_cq: the same for the receive CQ
 * @max_inline: bytes of inline data that a send of this QP may carry
 * @max_send_sge: most SGEs of a send
 * @max_recv_sge: most SGEs of a receive
 * @max_rdma_sge: most local SGEs of an RDMA read or write
 * @flags: mask of enum dvq_qp_flags
 * @resets: how often the QP was brought to RESET since it was created; this changes
 */
struct dvq_qp_info {
	__aligned_u64 uid;
	__u32 qp_num;
	__u32 generation;
	__u32 send_sub_cq;
	__u32 recv_sub_cq;
	__u32 max_inline;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_rdma_sge;
	__u32 flags;
	__u32 resets;
};

/**
 * enum dvq_qp_flags - properties of a QP
 * @DVQ_QP_UNSOLICITED: incoming writes with immediate take no receive WR
 * @DVQ_QP_SIG_ALL: every send completes, whether its WR asks for it or not (sq_sig_all)
 */
enum dvq_qp_flags {
	DVQ_QP_UNSOLICITED	= 1 << 0,
	DVQ_QP_SIG_ALL		= 1 << 1,
};

enum dvq_wq_kind {
	DVQ_WQ_NONE	= 0,	/* the QP has no such queue */
	DVQ_WQ_SQ	= 1,
	DVQ_WQ_RQ	= 2,
	DVQ_WQ_CQ	= 3,
};

/**
 * enum dvq_mem - where a ring is
 * @DVQ_MEM_NONE: there is no ring
 * @DVQ_MEM_KERNEL: host memory that the kernel allocated; mapped by ring_key
 * @DVQ_MEM_USER: memory that the creator gave (possibly of a GPU), at user_addr of
 *	its address space if that is not 0
 * @DVQ_MEM_CMB: controller memory, mapped by ring_key, write-combining or uncached
 *	as the driver has chosen; never read it. If user_addr is not 0 the creator keeps a copy of the ring there.
 */
enum dvq_mem {
	DVQ_MEM_NONE	= 0,
	DVQ_MEM_KERNEL	= 1,
	DVQ_MEM_USER	= 2,
	DVQ_MEM_CMB	= 3,
};

/**
 * enum dvq_wq_caps - what may be done with a work queue
 * @DVQ_WQ_64BIT_IDS: entries carry request ids of 64 bits, and so do completions
 * @DVQ_WQ_HINTS: entries take processing hints
 * @DVQ_WQ_EXPDB: the last store of an entry rings it
 */
enum dvq_wq_caps {
	DVQ_WQ_64BIT_IDS	= 1 << 0,
	DVQ_WQ_HINTS		= 1 << 1,
	DVQ_WQ_EXPDB		= 1 << 2,
};

/**
 * enum dvq_db_format - what is stored to a doorbell
 * @DVQ_DB_NONE: there is no doorbell
 * @DVQ_DB_EFA_COUNT: free-running count of entries posted, modulo 2^16
 * @DVQ_DB_EFA_CQ: consumer index, arm bit and command sequence number
 * @DVQ_DB_IONIC: db_value | (index & mask of the ring)
 */
enum dvq_db_format {
	DVQ_DB_NONE		= 0,
	DVQ_DB_EFA_COUNT	= 1,
	DVQ_DB_EFA_CQ		= 2,
	DVQ_DB_IONIC		= 3,
};

/**
 * struct dvq_wq_info - one send or receive queue
 * @kind: enum dvq_wq_kind; all else is zero with DVQ_WQ_NONE
 * @mem: enum dvq_mem
 * @db_format: enum dvq_db_format
 * @db_width: bytes of the one store that rings the doorbell
 * @caps: mask of enum dvq_wq_caps
 * @entry_size: bytes of an entry, also the distance of two
 * @entries: entries of the ring, a power of two
 * @max_wr: most WRs outstanding, fewer than entries where one takes several or an entry
 *	stays empty
 * @max_batch: most entries that may be written between two doorbells
 * @ring_offset: bytes from the start of the ring's mapping to the first entry
 * @db_offset: bytes from the start of the doorbell's mapping to the doorbell
 * @pipeline: hardware pipeline, 0 where there is one only
 * @reserved: zero
 * @ring_key: offset to mmap() on the context's file for the ring; 0: none
 * @ring_length: bytes to map there, the exact length
 * @db_key: offset to mmap() for the doorbell's page; 0: none
 * @db_length: bytes to map there, the exact length
 * @db_value: constant part of what is stored, see enum dvq_db_format
 * @user_addr: see enum dvq_mem
 *
 * Mappings are made with MAP_SHARED: a ring in controller memory and a doorbell
 * for writing only, a ring in kernel memory for reading and writing. Keys are
 * unique among the contexts of a device that are open at one time.
 */
struct dvq_wq_info {
	__u8 kind;
	__u8 mem;
	__u8 db_format;
	__u8 db_width;
	__u32 caps;
	__u32 entry_size;
	__u32 entries;
	__u32 max_wr;
	__u32 max_batch;
	__u32 ring_offset;
	__u32 db_offset;
	__u32 pipeline;
	__u32 reserved;
	__aligned_u64 ring_key;
	__aligned_u64 ring_length;
	__aligned_u64 db_key;
	__aligned_u64 db_length;
	__aligned_u64 db_value;
	__aligned_u64 user_addr;
};

/* ---- completion queue ------------------------------------------------------------ */

enum dvq_attrs_query_cq {
	DVQ_ATTR_QUERY_CQ_CQ = DVQ_ID_NS,	/* CQ handle */
	DVQ_ATTR_QUERY_CQ_INFO,			/* out, struct dvq_cq_info */
	DVQ_ATTR_QUERY_CQ_PIPELINE,		/* in, optional u32; absent: the CQ's first */
	DVQ_ATTR_QUERY_CQ_QPS,			/* out, optional, array of u32, see below */
};

/**
 * struct dvq_cq_info - the ring of a CQ on one pipeline
 * @uid: names this CQ among all that this load of the module has made
 * @cq_num: the device's number of the CQ
 * @mem: enum dvq_mem
 * @db_format: enum dvq_db_format
 * @db_width: bytes of the one store that rings the doorbell
 * @first_phase: value of the phase (color) bit of the first lap's entries
 * @entry_size: bytes of an entry
 * @entries: entries of one sub-CQ, a power of two
 * @sub_cqs: rings, back to back, entries x entry_size bytes each
 * @qps: QPs attached now; a QP that uses the CQ for both directions counts twice.
 *	A snapshot.
 * @caps: DVQ_WQ_64BIT_IDS when send completions carry ids of 64 bits
 * @pipeline: the pipeline this ring belongs to
 * @pipelines: mask of pipelines that the CQ has rings on; 0: there is one only
 * @ring_offset: bytes from the start of the mapping to the first entry
 * @db_offset: bytes from the start of the doorbell's mapping to the doorbell
 * @events: completion events that were handed on so far (EFA; ionic does not count
 *	them); this changes
 * @ring_key: offset to mmap() for the ring, for reading only; 0: none
 * @ring_length: bytes to map there, the exact length
 * @db_key: offset to mmap() for the doorbell's page, for writing only; 0: this CQ
 *	has no doorbell
 * @db_length: bytes to map there, the exact length
 * @db_value: constant part of what is stored, see enum dvq_db_format
 * @user_addr: see enum dvq_mem
 *
 * DVQ_ATTR_QUERY_CQ_QPS takes one u32 per sub-CQ: how many queues deliver there
 * now; a shorter array is filled as far as it goes.
 */
struct dvq_cq_info {
	__aligned_u64 uid;
	__u32 cq_num;
	__u8 mem;
	__u8 db_format;
	__u8 db_width;
	__u8 first_phase;
	__u32 entry_size;
	__u32 entries;
	__u32 sub_cqs;
	__u32 qps;
	__u32 caps;
	__u32 pipeline;
	__u32 pipelines;
	__u32 ring_offset;
	__u32 db_offset;
	__u32 events;
	__aligned_u64 ring_key;
	__aligned_u64 ring_length;
	__aligned_u64 db_key;
	__aligned_u64 db_length;
	__aligned_u64 db_value;
	__aligned_u64 user_addr;
};

/* ---- address handle ---------------------------------------------------------------- */

enum dvq_attrs_query_ah {
	DVQ_ATTR_QUERY_AH_AH = DVQ_ID_NS,	/* AH handle */
	DVQ_ATTR_QUERY_AH_INFO,			/* out, struct dvq_ah_info */
};

/**
 * struct dvq_ah_info - an address handle as the device knows it
 * @ah_num: the number that a send entry carries
 * @users: address handles of the verbs that share it now. A snapshot.
 */
struct dvq_ah_info {
	__u32 ah_num;
	__u32 users;
};

/* ---- controller memory --------------------------------------------------------------- */

enum dvq_attrs_cmb_alloc {
	DVQ_ATTR_CMB_ALLOC_HANDLE = DVQ_ID_NS,	/* new CMB handle */
	DVQ_ATTR_CMB_ALLOC_REQ,			/* in, struct dvq_cmb_alloc */
	DVQ_ATTR_CMB_ALLOC_INFO,		/* out, struct dvq_cmb_info */
};

enum dvq_attrs_cmb_query {
	DVQ_ATTR_CMB_QUERY_HANDLE = DVQ_ID_NS,	/* CMB handle */
	DVQ_ATTR_CMB_QUERY_INFO,		/* out, struct dvq_cmb_info */
};

enum dvq_attrs_cmb_free {
	DVQ_ATTR_CMB_FREE_HANDLE = DVQ_ID_NS,	/* CMB handle, destroyed */
};

/**
 * struct dvq_cmb_alloc - ask for a region of controller memory
 * @length: bytes; not 0
 * @flags: zero
 * @reserved: zero
 */
struct dvq_cmb_alloc {
	__aligned_u64 length;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct dvq_cmb_info - a region of controller memory
 * @length: bytes, what was asked for rounded up to the device's granule
 * @key: offset to mmap() for it, write-combining
 *
 * The memory goes back to the device when the region is freed, no process has it
 * mapped any more, no policy names it and no queue is in it.
 */
struct dvq_cmb_info {
	__aligned_u64 length;
	__aligned_u64 key;
};

#endif /* RDMA_DVQ_ABI_H */
