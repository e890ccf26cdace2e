/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Amazon EFA adapter: data path layouts (work requests, completions, doorbells).
 *
 * One copy for driver, library and model. Everything is little-endian except
 * GIDs, which are raw network order. Sizes and lengths are bytes unless a field
 * says otherwise. Compiles as C11, C++17 and CUDA; needs no libc.
 *
 * Source of every fact: Documentation/hw/efa.rst.
 */
#ifndef DVQ_HW_EFA_IO_H
#define DVQ_HW_EFA_IO_H

#include <linux/types.h>

enum efa_op {
	EFA_OP_SEND		= 0,
	EFA_OP_RDMA_READ	= 1,
	EFA_OP_RDMA_WRITE	= 2,
	EFA_OP_FAST_REG		= 3,	/* kernel QPs only */
	EFA_OP_FAST_INVALIDATE	= 4,	/* kernel QPs only */
};

enum efa_io_status {
	EFA_IO_OK			= 0,
	EFA_IO_FLUSHED			= 1,
	EFA_IO_LOCAL_QP_INTERNAL	= 2,
	EFA_IO_LOCAL_UNSUPPORTED_OP	= 3,
	EFA_IO_LOCAL_INVALID_AH		= 4,
	EFA_IO_LOCAL_INVALID_LKEY	= 5,
	EFA_IO_LOCAL_BAD_LENGTH		= 6,
	EFA_IO_REMOTE_BAD_ADDRESS	= 7,
	EFA_IO_REMOTE_ABORT		= 8,
	EFA_IO_REMOTE_BAD_DEST_QPN	= 9,
	EFA_IO_REMOTE_RNR		= 10,
	EFA_IO_REMOTE_BAD_LENGTH	= 11,
	EFA_IO_REMOTE_BAD_STATUS	= 12,
	EFA_IO_LOCAL_UNRESP_REMOTE	= 13,
	EFA_IO_REMOTE_UNKNOWN_PEER	= 14,
	EFA_IO_LOCAL_UNREACH_REMOTE	= 15,
	EFA_IO_REMOTE_FEATURE_MISMATCH	= 18,
};

#define EFA_AH_UNKNOWN		0xffff	/* in a receive completion: sender has no AH here */
#define EFA_LKEY_BITS		0x00ffffff /* key bits that a descriptor carries */

/* ---- send queue: ring of 64- or 128-byte WQEs in BAR 2 ---------------- */

#define EFA_WQE_SIZE		64
#define EFA_WQE_SIZE_WIDE	128
#define EFA_WQE_META_SIZE	32
#define EFA_WQE_INLINE		32	/* largest inline data of a 64-byte WQE */
#define EFA_WQE_INLINE_WIDE	80	/* the same of a 128-byte WQE */
#define EFA_WQE_SEND_SGES	2

/* struct efa_wqe_meta.ctrl1 */
#define EFA_WQE_OP		0x0f	/* enum efa_op */
#define EFA_WQE_HAS_IMM		0x10
#define EFA_WQE_INLINE_MSG	0x20
#define EFA_WQE_META_EXT	0x40	/* MBZ */
#define EFA_WQE_META_DESC	0x80	/* always 1 */
/* struct efa_wqe_meta.ctrl2 */
#define EFA_WQE_PHASE		0x01	/* parity of the lap, 0 on the first */
#define EFA_WQE_FIRST		0x04	/* always 1 */
#define EFA_WQE_LAST		0x08	/* always 1 */
#define EFA_WQE_COMP_REQ	0x10	/* always 1: unsignaled work does not exist */
#define EFA_WQE_CTRL2_MBZ	0xe2
/* struct efa_wqe_meta.ctrl3 */
#define EFA_WQE_HINTS		0x03
#define EFA_WQE_HINT_BURST	0x01	/* favour throughput of bursts of small packets */
#define EFA_WQE_CTRL3_MBZ	0xfc

struct efa_wqe_meta {			/* 32 bytes, first in every WQE */
	__le16 req_id;
	__u8 ctrl1;
	__u8 ctrl2;
	__le16 dest_qp_num;
	__le16 length;			/* inline: bytes; else: buffer descriptors */
	__le32 imm;			/* number, not the verbs user's big-endian word */
	__le16 ah;
	__u8 ctrl3;
	__u8 reserved15;
	__le32 qkey;
	__u8 reserved20[6];
	__le16 req_id_ex[3];		/* bits 31:16, 47:32, 63:48 of a 64-bit id */
};

struct efa_tx_buf {			/* local buffer descriptor of a WQE */
	__le32 length;
	__le32 lkey;			/* EFA_LKEY_BITS */
	__le32 addr_lo;
	__le32 addr_hi;
};

struct efa_remote_mem {
	__le32 length;			/* of the whole transfer */
	__le32 rkey;			/* all 32 bits */
	__le32 addr_lo;
	__le32 addr_hi;
};

struct efa_fast_reg {			/* kernel QPs only */
	__le32 lkey;
	__u8 permissions;
	__u8 flags;			/* 4:0 page shift, 6:5 list mode */
	__u8 reserved6[2];
	__le64 iova;
	__le64 length;
	__le64 list;
};

struct efa_wqe {			/* the 64-byte form */
	struct efa_wqe_meta meta;
	union {
		struct efa_tx_buf sgl[EFA_WQE_SEND_SGES];
		__u8 inline_data[EFA_WQE_INLINE];
		struct {
			struct efa_remote_mem remote;
			struct efa_tx_buf local;
		} rdma;
		struct efa_fast_reg fast_reg;
	} u;
};

struct efa_wqe_wide {			/* the 128-byte form; unused tail is zero */
	struct efa_wqe_meta meta;
	union {
		struct efa_tx_buf sgl[EFA_WQE_SEND_SGES];
		__u8 inline_data[EFA_WQE_INLINE_WIDE];
		struct {
			struct efa_remote_mem remote;
			union {
				struct efa_tx_buf local;
				__u8 inline_data[EFA_WQE_INLINE_WIDE]; /* write only */
			} u;
		} rdma;
		__u8 bytes[96];
	} u;
};

/* ---- receive queue: ring of 16-byte descriptors in host memory -------- */

#define EFA_RX_DESC_SIZE	16
#define EFA_RX_LKEY		0x00ffffff
#define EFA_RX_MBZ		0x3f000000
#define EFA_RX_FIRST		0x40000000
#define EFA_RX_LAST		0x80000000
#define EFA_RX_MAX_LENGTH	65535

struct efa_rx_desc {
	__le32 addr_lo;
	__le32 addr_hi;
	__le16 req_id;			/* first descriptor of a WR; 0 in the others */
	__le16 length;
	__le32 lkey_ctrl;		/* EFA_RX_* */
};

/* ---- completion queue: num_sub_cqs rings back to back ----------------- */

#define EFA_CQE_SIZE		16
#define EFA_CQE_SIZE_EX		32

/* struct efa_cqe_common.flags */
#define EFA_CQE_PHASE		0x01	/* 1 on the first lap */
#define EFA_CQE_QTYPE		0x06	/* enum efa_cqe_qtype */
#define EFA_CQE_HAS_IMM		0x08	/* receive only */
#define EFA_CQE_OP		0x70	/* enum efa_op */
#define EFA_CQE_UNSOLICITED	0x80	/* receive only: no receive WR was used */

enum efa_cqe_qtype {
	EFA_CQE_QTYPE_SEND	= 1,
	EFA_CQE_QTYPE_RECV	= 2,
};

struct efa_cqe_common {
	__le16 req_id;
	__u8 status;			/* enum efa_io_status */
	__u8 flags;			/* EFA_CQE_*; the device makes it visible last */
	__le16 qp_num;			/* local */
};

struct efa_cqe_tx {			/* 16 bytes */
	struct efa_cqe_common common;
	__le16 req_id_ex[3];		/* bits 31:16, 47:32, 63:48 of a 64-bit id */
	__u8 reserved12[4];
};

struct efa_cqe_rx {			/* 16 bytes */
	struct efa_cqe_common common;
	__le16 length;			/* bits 15:0 */
	__le16 ah;			/* of the sender, EFA_AH_UNKNOWN */
	__le16 src_qp_num;
	__le32 imm;			/* number */
};

struct efa_cqe_rx_ex {			/* 32 bytes */
	struct efa_cqe_rx rx;
	union {
		__le16 length_hi;	/* RDMA write: bits 31:16 of the length */
		__u8 src_addr[16];	/* AH unknown and the CQ asked for it: sender's GID */
	} u;
};

/* ---- doorbells: 32-bit stores ------------------------------------------ */

/* SQ: WQEs posted, RQ: descriptors posted; free-running, 16 bits, rest zero */
#define EFA_QP_DB_COUNT		0x0000ffff

#define EFA_CQ_DB_CONS_INDEX	0x0000ffff /* entries taken from all sub-CQs, free-running */
#define EFA_CQ_DB_CMD_SN	0x60000000 /* completion events taken so far, modulo 4 */
#define EFA_CQ_DB_ARM		0x80000000

/* ---- event queue: ring in host memory ----------------------------------- */

#define EFA_EQE_SIZE		16
#define EFA_EQE_PHASE		0x00000001 /* 1 on the first lap */
#define EFA_EQE_TYPE		0x000001fe
#define EFA_EQE_TYPE_COMPLETION	0

struct efa_eqe {
	__le32 common;			/* EFA_EQE_* */
	__u8 reserved4[4];
	__le16 cqn;
	__u8 reserved10[6];
};

#endif /* DVQ_HW_EFA_IO_H */
