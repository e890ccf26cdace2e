/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter, RDMA: data path layouts (work requests and
 * completions; doorbells are in ionic_regs.h).
 *
 * One copy for driver, library and model. Byte orders are mixed, as the types
 * say. Sizes and lengths are bytes unless a field says otherwise. Compiles as
 * C11, C++17 and CUDA; needs no libc.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_RDMA_IO_H
#define DVQ_HW_IONIC_RDMA_IO_H

#include <linux/types.h>

/*
 * Work queues are rings of 2^depth slots of 2^stride bytes, stride 64 or more;
 * one slot stays empty. Payload (SGEs or inline data) begins at 32.
 */
#define IONIC_WQE_SIZE_MIN	64
#define IONIC_WQE_HEADER	16
#define IONIC_WQE_PAYLOAD	32
#define IONIC_WQE_SPEC_SGES	64	/* spec format: lengths at 32, SGEs here */
#define IONIC_WQE_EXPRESS	8	/* last bytes of a slot: doorbell word */
#define IONIC_SPEC32_MAX	8	/* lengths of 32 bits */
#define IONIC_SPEC16_MAX	16	/* lengths of 16 bits */
#define IONIC_MSG_MAX		0x80000000u

/* two numberings of send opcodes: by the RDMA version of the identity */
enum ionic_wqe_op_v1 {
	IONIC_V1_SEND			= 0,
	IONIC_V1_SEND_INV		= 1,
	IONIC_V1_SEND_IMM		= 2,
	IONIC_V1_READ			= 3,
	IONIC_V1_WRITE			= 4,
	IONIC_V1_WRITE_IMM		= 5,
	IONIC_V1_CMP_SWAP		= 6,
	IONIC_V1_FETCH_ADD		= 7,
	IONIC_V1_REG_MR			= 8,
	IONIC_V1_LOCAL_INV		= 9,
	IONIC_V1_BIND_MW		= 10,
	IONIC_V1_OPS			= 11,
};

#define IONIC_V2_OUT		0x20	/* payload leaves */
#define IONIC_V2_IMM		0x40
#define IONIC_V2_INV		0x80

enum ionic_wqe_op_v2 {
	IONIC_V2_SEND			= 0x20,
	IONIC_V2_SEND_INV		= 0xa0,
	IONIC_V2_SEND_IMM		= 0x60,
	IONIC_V2_READ			= 0x02,
	IONIC_V2_WRITE			= 0x21,
	IONIC_V2_WRITE_IMM		= 0x61,
	IONIC_V2_CMP_SWAP		= 0x04,
	IONIC_V2_FETCH_ADD		= 0x05,
	IONIC_V2_REG_MR			= 0x06,
	IONIC_V2_LOCAL_INV		= 0x07,
	IONIC_V2_BIND_MW		= 0x08,
};

/* struct ionic_wqe_header.flags */
#define IONIC_WQE_FENCE		0x0001	/* send: wait for reads and atomics before it */
#define IONIC_WQE_SOLICITED	0x0002
#define IONIC_WQE_INLINE	0x0004
#define IONIC_WQE_SIGNALED	0x0008
#define IONIC_WQE_COLOR		0x0010	/* 1 on the first lap; not every driver sets it */
#define IONIC_WQE_SPEC		0xf000	/* enum ionic_wqe_spec */

enum ionic_wqe_spec {
	IONIC_SPEC_NONE			= 0,
	IONIC_SPEC32			= 1,
	IONIC_SPEC16			= 2,
};

struct ionic_wqe_header {
	__le64 id;			/* send: slot; receive: token below the ring size */
	__u8 op;			/* by version; receive: 0 */
	__u8 num_sge;			/* REG_MR, BIND_MW: new tag of the key */
	__be16 flags;			/* IONIC_WQE_* */
	/* immediate as the user gives it, or a key; receive: sum of the SGEs' lengths */
	__be32 imm_key_length;
};

struct ionic_sge {
	__be64 addr;
	__be32 length;
	__be32 key;
};

struct ionic_wqe_send {			/* send, read, write; payload follows */
	struct ionic_wqe_header header;
	__be32 ah_addr_hi;		/* UD: AH; read, write: remote address */
	__be32 qpn_addr_lo;		/* UD: peer's QP; read, write: remote address */
	__be32 qkey_rkey;		/* UD: Q_Key; read, write: remote key */
	__be32 length;			/* of the whole message */
};

struct ionic_wqe_atomic {
	struct ionic_wqe_header header;
	__be32 addr_hi;
	__be32 addr_lo;
	__be32 rkey;
	__be32 swap_add_hi;
	__be32 swap_add_lo;
	__be32 compare_hi;
	__be32 compare_lo;
	__be32 lkey;			/* v2; v1: in sge */
	union {
		struct ionic_sge sge;	/* v1; length 8 */
		__be64 addr;		/* v2; the last 8 bytes stay free */
	} local;
};

struct ionic_wqe_reg_mr {
	struct ionic_wqe_header header;
	__be64 va;
	__be64 length;
	__be64 offset;			/* in the first page, with a table */
	__be64 addr;			/* as in CREATE_MR */
	__be32 pages;
	__be16 flags;			/* IONIC_MR_* access */
	__u8 dir_log2;
	__u8 page_log2;
	__u8 reserved56[8];
};

struct ionic_wqe_bind_mw {
	struct ionic_wqe_header header;
	__be64 va;
	__be64 length;			/* 0: unbind, type 1 windows only */
	__be32 lkey;
	__be16 flags;			/* IONIC_MR_* access, WINDOW, INVALIDATE */
	__u8 reserved38[26];
};

struct ionic_wqe_recv {			/* payload follows */
	struct ionic_wqe_header header;
	__u8 reserved16[16];
};

union ionic_spec {			/* lengths again, where the payload begins */
	__be32 length32[IONIC_SPEC32_MAX];
	__be16 length16[IONIC_SPEC16_MAX];
};

/* ---- completion queue ------------------------------------------------------------- */

#define IONIC_CQE_SIZE		32
#define IONIC_CQE_SPARE		100	/* more entries than are asked for, for flushes */

/* qid_type_flags */
#define IONIC_CQE_COLOR		0x00000001 /* 1 on the first lap; visible last */
#define IONIC_CQE_ERROR		0x00000002
#define IONIC_CQE_TYPE		0x000000e0 /* enum ionic_cqe_type */
#define IONIC_CQE_QID		0xffffff00

enum ionic_cqe_type {
	IONIC_CQE_ADMIN			= 0,
	IONIC_CQE_RECV			= 1,
	IONIC_CQE_SEND_MSN		= 2,	/* all messages before msn */
	IONIC_CQE_SEND_NPG		= 3,	/* one WQE, by its slot */
	IONIC_CQE_RECV_INDIRECT		= 4,
};

enum ionic_io_status {
	IONIC_IO_OK			= 0,
	IONIC_IO_LOCAL_LEN		= 1,
	IONIC_IO_LOCAL_QP_OP		= 2,
	IONIC_IO_LOCAL_PROT		= 3,
	IONIC_IO_FLUSHED		= 4,
	IONIC_IO_MEM_MGMT		= 5,
	IONIC_IO_BAD_RESP		= 6,
	IONIC_IO_LOCAL_ACCESS		= 7,
	IONIC_IO_REMOTE_INV_REQ		= 8,
	IONIC_IO_REMOTE_ACCESS		= 9,
	IONIC_IO_REMOTE_OP		= 10,
	IONIC_IO_RETRY_EXCEEDED		= 11,
	IONIC_IO_RNR_EXCEEDED		= 12,
	IONIC_IO_XRC			= 13,
	IONIC_IO_LOCAL_SGL		= 14,
};

/* 8-byte index fields: slot or token, and a timestamp if the CQ has them */
#define IONIC_CQE_INDEX		0x000000000000ffffull
#define IONIC_CQE_TIMESTAMP	0xffffffffffff0000ull

/* src_qpn_op */
#define IONIC_CQE_SRC_QPN	0x00ffffff
#define IONIC_CQE_RECV_OP	0x1f000000 /* enum ionic_recv_op */
#define IONIC_CQE_HAS_VLAN	0x40000000
#define IONIC_CQE_IPV4		0x80000000

enum ionic_recv_op {
	IONIC_RECV_SEND			= 0,
	IONIC_RECV_SEND_INV		= 1,
	IONIC_RECV_SEND_IMM		= 2,
	IONIC_RECV_WRITE_IMM		= 3,
};

struct ionic_cqe {
	union {
		struct {
			__le64 id;		/* IONIC_CQE_INDEX, IONIC_CQE_TIMESTAMP */
			__be32 src_qpn_op;	/* IONIC_CQE_* */
			__u8 src_mac[6];
			__be16 vlan;
			__be32 imm_rkey;	/* immediate as sent, or invalidated key */
		} recv;
		struct {
			__le32 reserved0;
			__be32 msn;		/* MSN type: messages finished */
			__u8 reserved8[8];
			__le64 id;		/* NPG type; timestamp of both */
		} send;
		__u8 bytes[24];
	} u;
	__be32 status_length;		/* error: enum ionic_io_status; receive: bytes */
	__be32 qid_type_flags;		/* IONIC_CQE_* */
};

#endif /* DVQ_HW_IONIC_RDMA_IO_H */
