/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter, RDMA: admin queue, event queue, page tables,
 * headers and statistics. The queues themselves are made with the commands of
 * ionic_cmd.h.
 *
 * One copy for driver and model. Byte orders are mixed, as the types say. All
 * numbers of objects (EQ, CQ, QP, AH, PD, MR) are the driver's choice. Sizes and
 * lengths are bytes unless a field says otherwise; fields named "reserved" and
 * bits not named are written as zero.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_RDMA_ADMIN_H
#define DVQ_HW_IONIC_RDMA_ADMIN_H

#include <linux/types.h>

/* ---- admin queue (AQ): ring of 64-byte slots -------------------------------------- */

#define IONIC_AQ_SLOT		64
#define IONIC_AQ_HEADER		4
/* slots of a command with @len bytes behind the header; only the first has a header */
#define IONIC_AQ_SLOTS(len)	((IONIC_AQ_HEADER + (len) + IONIC_AQ_SLOT - 1) / IONIC_AQ_SLOT)

enum ionic_aq_op {
	IONIC_AQ_NOOP			= 0,
	IONIC_AQ_CREATE_CQ		= 1,
	IONIC_AQ_CREATE_QP		= 2,
	IONIC_AQ_CREATE_MR		= 3,	/* also memory windows */
	IONIC_AQ_STATS_HDRS		= 4,
	IONIC_AQ_STATS_VALS		= 5,
	IONIC_AQ_DESTROY_MR		= 6,
	IONIC_AQ_DESTROY_CQ		= 8,
	IONIC_AQ_MODIFY_QP		= 9,
	IONIC_AQ_QUERY_QP		= 10,
	IONIC_AQ_DESTROY_QP		= 11,
	IONIC_AQ_DEBUG			= 12,
	IONIC_AQ_CREATE_AH		= 13,
	IONIC_AQ_QUERY_AH		= 14,
	IONIC_AQ_MODIFY_DCQCN		= 15,
	IONIC_AQ_DESTROY_AH		= 16,
	IONIC_AQ_QP_STATS_HDRS		= 17,
	IONIC_AQ_QP_STATS_VALS		= 18,
	IONIC_AQ_OPS			= 19,
};

enum ionic_aq_status {
	IONIC_AQ_OK			= 0,
	IONIC_AQ_BAD_CMD		= 1,
	IONIC_AQ_BAD_INDEX		= 2,
	IONIC_AQ_BAD_STATE		= 3,
	IONIC_AQ_BAD_TYPE		= 4,
	IONIC_AQ_BAD_ATTR		= 5,
	IONIC_AQ_MSG_TOO_BIG		= 6,
};

struct ionic_aq_header {		/* first in every command */
	__u8 op;			/* enum ionic_aq_op */
	__u8 reserved1;
	__le16 len;			/* of what follows the header */
};

#define IONIC_AQ_NO_TABLE	0xffffffff /* table: none preassigned */

/*
 * Memory, in four fields of the commands below. @pages 0: none. 1: @addr is the
 * first byte (MR: with the page offset), contiguous. More: @addr is a table of
 * @pages 64-bit little-endian page addresses, read while the command runs.
 */

struct ionic_aq_create_cq {
	struct ionic_aq_header header;
	__le32 eq;
	__u8 depth_log2;
	__u8 stride_log2;
	__u8 dir_log2;			/* 0 */
	__u8 page_log2;
	__le32 flags;			/* 0 */
	__le32 cq;
	__le32 table;			/* IONIC_AQ_NO_TABLE */
	__le32 pages;
	__le64 addr;
	__le16 pid;			/* doorbell page within the LIF */
} __attribute__((packed));

/* QP numbers that have a meaning */
#define IONIC_QPN_SMI		0	/* never used */
#define IONIC_QPN_GSI		1	/* of the communication manager; on pipeline 0 */

enum ionic_qp_type {
	IONIC_QPT_RC			= 0,
	IONIC_QPT_UC			= 1,
	IONIC_QPT_RD			= 2,
	IONIC_QPT_UD			= 3,	/* GSI too */
	IONIC_QPT_SRQ			= 4,
	IONIC_QPT_XRC_INI		= 5,
	IONIC_QPT_XRC_TGT		= 6,
	IONIC_QPT_XRC_SRQ		= 7,
};

enum ionic_qp_state {
	IONIC_QPS_RESET			= 0,
	IONIC_QPS_INIT			= 1,
	IONIC_QPS_RTR			= 2,
	IONIC_QPS_RTS			= 3,
	IONIC_QPS_SQD			= 4,
	IONIC_QPS_SQE			= 5,
	IONIC_QPS_ERR			= 6,
};

/* QP flags: 32 bits at creation, 16 bits in MODIFY_QP and QUERY_QP */
#define IONIC_QP_REMOTE_WRITE	0x0001
#define IONIC_QP_REMOTE_READ	0x0002
#define IONIC_QP_REMOTE_ATOMIC	0x0004
#define IONIC_QP_SQ_SPEC	0x0100	/* WQEs may use the spec format */
#define IONIC_QP_RQ_SPEC	0x0200
#define IONIC_QP_REMOTE_PRIV	0x0400	/* the peer may use key 0 */
#define IONIC_QP_SQ_DRAINING	0x0800	/* query only */
#define IONIC_QP_SQD_NOTIFY	0x1000	/* event when the send queue has drained */
#define IONIC_QP_SQ_CMB		0x2000	/* ring address: offset in controller memory */
#define IONIC_QP_RQ_CMB		0x4000
#define IONIC_QP_PRIVILEGED	0x8000	/* the QP may use key 0 */

struct ionic_aq_queue {			/* one work queue of a QP */
	__le32 cq;
	__u8 depth_log2;
	__u8 stride_log2;
	__u8 dir_log2;			/* 0 */
	__u8 page_log2;
	__le32 table;			/* IONIC_AQ_NO_TABLE */
	__le32 pages;
	__le64 addr;
} __attribute__((packed));

struct ionic_aq_create_qp {		/* two slots */
	struct ionic_aq_header header;
	__le32 pd;
	__be32 flags;			/* IONIC_QP_* */
	struct ionic_aq_queue sq;
	struct ionic_aq_queue rq;
	__le32 qp;
	__le16 pid;			/* doorbell page within the LIF; first in the second slot */
	__u8 type;			/* enum ionic_qp_type */
	__u8 reserved67;
} __attribute__((packed));

/* struct ionic_aq_modify_qp.mask: which fields are valid; bits of verbs' ibv_qp_attr_mask */
#define IONIC_QPA_STATE		0x00000001
#define IONIC_QPA_CUR_STATE	0x00000002
#define IONIC_QPA_SQD_NOTIFY	0x00000004
#define IONIC_QPA_ACCESS	0x00000008
#define IONIC_QPA_PKEY		0x00000010
#define IONIC_QPA_PORT		0x00000020
#define IONIC_QPA_QKEY		0x00000040
#define IONIC_QPA_AV		0x00000080
#define IONIC_QPA_PATH_MTU	0x00000100
#define IONIC_QPA_TIMEOUT	0x00000200
#define IONIC_QPA_RETRY		0x00000400
#define IONIC_QPA_RNR_RETRY	0x00000800
#define IONIC_QPA_RQ_PSN	0x00001000
#define IONIC_QPA_RRQ_DEPTH	0x00002000	/* max_rd_atomic */
#define IONIC_QPA_ALT_PATH	0x00004000
#define IONIC_QPA_RNR_TIMER	0x00008000
#define IONIC_QPA_SQ_PSN	0x00010000
#define IONIC_QPA_RSQ_DEPTH	0x00020000	/* max_dest_rd_atomic */
#define IONIC_QPA_PATH_MIG	0x00040000
#define IONIC_QPA_CAP		0x00080000
#define IONIC_QPA_DEST_QPN	0x00100000
#define IONIC_QPA_RATE_LIMIT	0x02000000

#define IONIC_QP_RETRY		0x0f	/* retry: attempts after a timeout */
#define IONIC_QP_RNR_RETRY	0xf0	/* retry: attempts after RNR; 7: for ever */
#define IONIC_QP_STATE_NEXT	0x0f	/* type_state */
#define IONIC_QP_STATE_CUR	0xf0	/* type_state: only with IONIC_QPA_CUR_STATE */
#define IONIC_QP_AH		0x00ffffff /* ah_len */
#define IONIC_QP_HDR_LEN	0xff000000 /* ah_len */

struct ionic_aq_modify_qp {
	struct ionic_aq_header header;
	__be32 mask;			/* IONIC_QPA_* */
	__u8 dcqcn_profile;		/* 0 */
	__u8 hdr_profile;		/* enum ionic_hdr_profile, with the AV */
	__be16 flags;			/* IONIC_QP_* */
	__le32 rq_psn;
	__le32 sq_psn;
	__le32 qkey_dest_qpn;		/* connected: peer's QP; else Q_Key */
	__le32 rate_limit;		/* kb/s */
	__u8 pmtu_log2;			/* bytes */
	__u8 retry;			/* IONIC_QP_RETRY, IONIC_QP_RNR_RETRY */
	__u8 rnr_timer;			/* verbs code */
	__u8 timeout;			/* verbs exponent: 4.096 us << n, 0: none */
	__u8 rsq_depth_log2;		/* responder: 2^n - 1 reads and atomics */
	__u8 rrq_depth_log2;		/* initiator: the same */
	__le16 pkey;
	__le32 ah_len;			/* IONIC_QP_AH, IONIC_QP_HDR_LEN; with the AV */
	__u8 pcp;			/* service level, with the AV */
	__u8 dscp;			/* with the AV */
	__u8 reserved42;
	__u8 type_state;		/* IONIC_QP_STATE_* */
	__le32 rrq_table;		/* IONIC_AQ_NO_TABLE if rrq_depth_log2, else 0 */
	__le32 rsq_table;		/* IONIC_AQ_NO_TABLE if rsq_depth_log2, else 0 */
	__le64 hdr_addr;		/* header template, with the AV */
	__le32 qp;
} __attribute__((packed));

struct ionic_aq_query_qp {
	struct ionic_aq_header header;
	__le64 hdr_addr;		/* 0: not wanted */
	__le64 sq_addr;			/* struct ionic_qp_sq_answer */
	__le64 rq_addr;			/* struct ionic_qp_rq_answer */
	__le32 ah;
	__le32 qp;
	__le16 pid;			/* 0 */
} __attribute__((packed));

struct ionic_qp_sq_answer {
	__u8 rnr_timer;
	__u8 timeout;
	__be16 flags;			/* IONIC_QP_* */
	__be16 reserved4;
	__be16 pkey;
	__be32 qkey_dest_qpn;
	__be32 rate_limit;
	__be32 rq_psn;			/* here, not below */
};

#define IONIC_QP_PMTU_LOG2	0x0f	/* state_pmtu */
#define IONIC_QP_STATE		0xf0	/* state_pmtu */

struct ionic_qp_rq_answer {
	__u8 state_pmtu;		/* IONIC_QP_STATE, IONIC_QP_PMTU_LOG2 */
	__u8 retry;			/* IONIC_QP_RETRY, IONIC_QP_RNR_RETRY */
	__u8 rrq_depth_log2;
	__u8 rsq_depth_log2;
	__be32 sq_psn;
	__be16 flags;			/* IONIC_QP_* */
	__be16 reserved10;
};

#define IONIC_MR_LOCAL_WRITE	0x0001
#define IONIC_MR_REMOTE_WRITE	0x0002
#define IONIC_MR_REMOTE_READ	0x0004
#define IONIC_MR_REMOTE_ATOMIC	0x0008
#define IONIC_MR_MW_BIND	0x0010
#define IONIC_MR_ZERO_BASED	0x0020
#define IONIC_MR_USER_KEY	0x2000	/* WQEs may change the tag */
#define IONIC_MR_WINDOW		0x4000
#define IONIC_MR_INVALIDATE	0x8000	/* WQEs may invalidate it */

/* keys: number and a tag of 8 bits; 0 is all memory, for privileged QPs */
#define IONIC_KEY_TAG		0x000000ff
#define IONIC_KEY_MR		0xffffff00

struct ionic_aq_create_mr {
	struct ionic_aq_header header;
	__le64 va;
	__le64 length;
	__le32 pd;
	__le32 key;
	__le32 table;			/* IONIC_AQ_NO_TABLE */
	__le32 pages;
	__le64 addr;
	__le16 flags;			/* IONIC_MR_* */
	__u8 table_type;		/* 0 */
	__u8 dir_log2;			/* 0 */
	__u8 page_log2;
} __attribute__((packed));

struct ionic_aq_create_ah {
	struct ionic_aq_header header;
	__le64 hdr_addr;
	__le32 hdr_len;
	__le32 pd;
	__le32 ah;
	__le16 pid;			/* 0 */
	__u8 hdr_profile;		/* enum ionic_hdr_profile */
	__u8 crypto;			/* 0 */
} __attribute__((packed));

struct ionic_aq_stats {			/* the four STATS commands */
	struct ionic_aq_header header;
	__le64 addr;
	__le32 length;
	__le32 qp;			/* QP_STATS_VALS; else 0 */
	__u8 type_state;		/* 0 */
} __attribute__((packed));

struct ionic_aq_destroy {		/* the four DESTROY commands */
	struct ionic_aq_header header;
	__le32 id;
};

/* completion of a command, in the AQ's CQ; first comes status, then the tail of all CQEs */
struct ionic_aq_cqe {
	__be16 index;			/* of the command's first slot */
	__u8 op;			/* enum ionic_aq_op */
	__u8 reserved3[17];
	__le16 sq_cons;
	__le16 rq_cons;
	__be32 status;			/* enum ionic_aq_status, with IONIC_CQE_ERROR */
	__be32 qid_type_flags;		/* IONIC_CQE_*, ionic_rdma_io.h */
};

/* ---- header template -------------------------------------------------------------- */

enum ionic_hdr_profile {
	IONIC_HDR_IPV4			= 0,
	IONIC_HDR_IPV4_VLAN		= 1,
	IONIC_HDR_IPV6			= 2,
	IONIC_HDR_IPV6_VLAN		= 3,
};

/* Ethernet, VLAN tag, IP and UDP; lengths and checksums are filled in per packet */
#define IONIC_HDR_LEN_IPV4	42
#define IONIC_HDR_LEN_IPV6	62
#define IONIC_HDR_LEN_VLAN	4	/* more */
#define IONIC_ROCE_PORT		4791

/* ---- event queue (EQ) ------------------------------------------------------------- */

#define IONIC_EQE_SIZE		4
#define IONIC_EQE_COLOR		0x00000001 /* 1 on the first lap; visible last */
#define IONIC_EQE_TYPE		0x0000000e /* enum ionic_eqe_type */
#define IONIC_EQE_CODE		0x000000f0
#define IONIC_EQE_QID		0xffffff00

enum ionic_eqe_type {
	IONIC_EQE_CQ			= 0,
	IONIC_EQE_QP			= 1,
};

/* IONIC_EQE_CODE of a CQ */
#define IONIC_EQE_CQ_NOTIFY	0
#define IONIC_EQE_CQ_ERROR	8
/* IONIC_EQE_CODE of a QP */
#define IONIC_EQE_SRQ_LEVEL	0
#define IONIC_EQE_SQ_DRAINED	1
#define IONIC_EQE_COMM_EST	2
#define IONIC_EQE_LAST_WQE	3
#define IONIC_EQE_QP_ERROR	8
#define IONIC_EQE_QP_REQUEST	9
#define IONIC_EQE_QP_ACCESS	10

struct ionic_eqe {
	__be32 word;			/* IONIC_EQE_* */
};

/* ---- statistics ------------------------------------------------------------------- */

#define IONIC_STATS_OFFSET	0x0fffffff
#define IONIC_STATS_TYPE	0xf0000000 /* enum ionic_stats_type */
#define IONIC_STATS_NAME	28

enum ionic_stats_type {
	IONIC_STATS_END			= 0,
	IONIC_STATS_U8			= 1,
	IONIC_STATS_LE16		= 2,
	IONIC_STATS_LE32		= 3,
	IONIC_STATS_LE64		= 4,
	IONIC_STATS_BE16		= 5,
	IONIC_STATS_BE32		= 6,
	IONIC_STATS_BE64		= 7,
};

struct ionic_stats_header {
	__be32 type_offset;		/* of the value in its page */
	__u8 name[IONIC_STATS_NAME];	/* ends with a zero */
};

#endif /* DVQ_HW_IONIC_RDMA_ADMIN_H */
