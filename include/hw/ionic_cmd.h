/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter: commands of the device command registers and of
 * the admin queue, which share layouts and status codes.
 *
 * One copy for driver and model. Everything is little-endian except MAC
 * addresses. Sizes and lengths are bytes unless a field says otherwise; fields
 * named "reserved" and bits not named are written as zero. Some 8-byte fields
 * are not aligned: those structures are packed.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_CMD_H
#define DVQ_HW_IONIC_CMD_H

#include <linux/types.h>

#define IONIC_REQ_SIZE		64
#define IONIC_RESP_SIZE		16

enum ionic_opcode {
	/* device command registers */
	IONIC_OP_NOP			= 0,
	IONIC_OP_IDENTIFY		= 1,
	IONIC_OP_INIT			= 2,
	IONIC_OP_RESET			= 3,
	IONIC_OP_PORT_IDENTIFY		= 10,
	IONIC_OP_PORT_INIT		= 11,
	IONIC_OP_PORT_RESET		= 12,
	IONIC_OP_PORT_SETATTR		= 14,
	IONIC_OP_LIF_IDENTIFY		= 20,
	IONIC_OP_LIF_INIT		= 21,
	IONIC_OP_LIF_RESET		= 22,
	IONIC_OP_Q_IDENTIFY		= 39,
	IONIC_OP_VF_SETATTR		= 61,
	IONIC_OP_VF_CTRL		= 62,
	IONIC_OP_DISCOVER_CMB		= 80,
	IONIC_OP_FW_DOWNLOAD		= 252,
	IONIC_OP_FW_CONTROL		= 253,
	/* admin queue */
	IONIC_OP_LIF_GETATTR		= 23,
	IONIC_OP_LIF_SETATTR		= 24,
	IONIC_OP_LIF_SETPHC		= 25,
	IONIC_OP_RX_MODE_SET		= 30,
	IONIC_OP_RX_FILTER_ADD		= 31,
	IONIC_OP_RX_FILTER_DEL		= 32,
	IONIC_OP_Q_CONTROL		= 41,
	IONIC_OP_RDMA_CREATE_EQ		= 51,
	IONIC_OP_RDMA_CREATE_CQ		= 52,
	IONIC_OP_RDMA_CREATE_AQ		= 53,
	/* both */
	IONIC_OP_Q_INIT			= 40,
	IONIC_OP_RDMA_RESET		= 50,
};

enum ionic_status {
	IONIC_SUCCESS		= 0,
	IONIC_EVERSION		= 1,
	IONIC_EOPCODE		= 2,
	IONIC_EIO		= 3,
	IONIC_EPERM		= 4,
	IONIC_EQID		= 5,
	IONIC_EQTYPE		= 6,
	IONIC_ENOENT		= 7,
	IONIC_EINTR		= 8,
	IONIC_EAGAIN		= 9,	/* device command: ask again a second later */
	IONIC_ENOMEM		= 10,
	IONIC_EFAULT		= 11,
	IONIC_EBUSY		= 12,
	IONIC_EEXIST		= 13,
	IONIC_EINVAL		= 14,
	IONIC_ENOSPC		= 15,
	IONIC_ERANGE		= 16,
	IONIC_EADDR		= 17,
	IONIC_EDEVCMD		= 18,
	IONIC_ENOSUPP		= 19,
	IONIC_EERROR		= 29,
	IONIC_ERDMA		= 30,
	IONIC_EVFID		= 31,
	IONIC_EFW		= 32,
};

struct ionic_req {			/* 64 bytes: what all commands share */
	__u8 opcode;			/* enum ionic_opcode */
	__u8 reserved1;			/* some commands have an argument here */
	__le16 lif;
	__u8 args[60];
};

#define IONIC_RESP_COLOR	0x80	/* 1 on the first lap; the device makes it visible last */

struct ionic_resp {			/* 16 bytes: what all completions share */
	__u8 status;			/* enum ionic_status */
	__u8 reserved1;
	__le16 comp_index;		/* admin queue: which descriptor */
	__u8 data[11];
	__u8 color;			/* admin queue: IONIC_RESP_COLOR */
};

/* ---- device ----------------------------------------------------------------------- */

#define IONIC_IDENTIFY_VERSION		2
#define IONIC_LIF_IDENTIFY_VERSION	1

struct ionic_identify_req {		/* IDENTIFY */
	__u8 opcode;
	__u8 version;
	__u8 reserved2[62];
};

struct ionic_discover_cmb_req {		/* DISCOVER_CMB: struct ionic_cmb_layout */
	__u8 opcode;
	__u8 reserved1[63];
};

/* ---- port ------------------------------------------------------------------------- */

struct ionic_port_identify_req {	/* PORT_IDENTIFY */
	__u8 opcode;
	__u8 port;
	__u8 version;
	__u8 reserved3[61];
};

struct ionic_port_init_req {		/* PORT_INIT; side data: struct ionic_port_config */
	__u8 opcode;
	__u8 port;
	__u8 reserved2[6];
	__le64 info_addr;		/* struct ionic_port_info */
	__u8 reserved16[48];
};

enum ionic_port_attr {
	IONIC_PORT_ATTR_STATE		= 0,	/* 1 byte, enum ionic_port_state */
	IONIC_PORT_ATTR_SPEED		= 1,	/* 4 bytes, Mb/s */
	IONIC_PORT_ATTR_MTU		= 2,	/* 4 bytes */
	IONIC_PORT_ATTR_AUTONEG		= 3,	/* 1 byte */
	IONIC_PORT_ATTR_FEC		= 4,	/* 1 byte: 0 none, 1 FireCode, 2 Reed-Solomon */
	IONIC_PORT_ATTR_PAUSE		= 5,	/* 1 byte, IONIC_PAUSE_* */
	IONIC_PORT_ATTR_LOOPBACK	= 6,	/* 1 byte: 0 none, 1 MAC, 2 PHY */
	IONIC_PORT_ATTR_STATS		= 7,	/* 1 byte: 0 reset */
};

enum ionic_port_state {
	IONIC_PORT_NONE			= 0,
	IONIC_PORT_DOWN			= 1,
	IONIC_PORT_UP			= 2,
};

/* IONIC_PORT_ATTR_PAUSE */
#define IONIC_PAUSE_TYPE	0x0f	/* 0 none, 1 link, 2 priority */
#define IONIC_PAUSE_TX		0x10
#define IONIC_PAUSE_RX		0x20

struct ionic_port_setattr_req {		/* PORT_SETATTR */
	__u8 opcode;
	__u8 port;
	__u8 attr;			/* enum ionic_port_attr */
	__u8 reserved3;
	union {
		__u8 byte;
		__le32 number;
	} value;
	__u8 reserved8[56];
};

/* ---- LIF (logical interface) ------------------------------------------------------ */

struct ionic_lif_identify_req {		/* LIF_IDENTIFY: struct ionic_lif_identity */
	__u8 opcode;
	__u8 type;			/* 0 */
	__u8 version;
	__u8 reserved3[61];
};

struct ionic_lif_init_req {		/* LIF_INIT */
	__u8 opcode;
	__u8 type;			/* 0 */
	__le16 lif;
	__u8 reserved4[4];
	__le64 info_addr;		/* struct ionic_lif_info */
	__u8 reserved16[48];
};

struct ionic_lif_init_resp {
	__u8 status;
	__u8 reserved1;
	__le16 hw_lif;			/* for doorbell pages */
	__u8 reserved4[12];
};

enum ionic_lif_attr {
	IONIC_LIF_ATTR_STATE		= 0,	/* 1 byte, enum ionic_lif_state */
	IONIC_LIF_ATTR_NAME		= 1,	/* 16 bytes */
	IONIC_LIF_ATTR_MTU		= 2,	/* 4 bytes */
	IONIC_LIF_ATTR_MAC		= 3,	/* 6 bytes */
	IONIC_LIF_ATTR_FEATURES		= 4,	/* 8 bytes, IONIC_FEAT_* */
	IONIC_LIF_ATTR_RSS		= 5,	/* struct ionic_rss */
	IONIC_LIF_ATTR_STATS		= 6,	/* 1 byte: 0 reset */
	IONIC_LIF_ATTR_TXSTAMP		= 7,	/* 2 bytes */
};

enum ionic_lif_state {
	IONIC_LIF_QUIESCE		= 0,
	IONIC_LIF_ENABLE		= 1,
	IONIC_LIF_DISABLE		= 2,
};

/* IONIC_LIF_ATTR_FEATURES: asked for, and what was granted of it */
#define IONIC_FEAT_VLAN_TX_TAG		0x00000001
#define IONIC_FEAT_VLAN_RX_STRIP	0x00000002
#define IONIC_FEAT_VLAN_RX_FILTER	0x00000004
#define IONIC_FEAT_RX_HASH		0x00000008
#define IONIC_FEAT_RX_CSUM		0x00000010
#define IONIC_FEAT_TX_SG		0x00000020
#define IONIC_FEAT_RX_SG		0x00000040
#define IONIC_FEAT_TX_CSUM		0x00000080
#define IONIC_FEAT_TSO			0x00000100
#define IONIC_FEAT_TSO_IPV6		0x00000200
#define IONIC_FEAT_TSO_ECN		0x00000400
#define IONIC_FEAT_TSO_GRE		0x00000800
#define IONIC_FEAT_TSO_GRE_CSUM		0x00001000
#define IONIC_FEAT_TSO_IPXIP4		0x00002000
#define IONIC_FEAT_TSO_IPXIP6		0x00004000
#define IONIC_FEAT_TSO_UDP		0x00008000
#define IONIC_FEAT_TSO_UDP_CSUM		0x00010000
#define IONIC_FEAT_RX_CSUM_GENEVE	0x00020000
#define IONIC_FEAT_TX_CSUM_GENEVE	0x00040000
#define IONIC_FEAT_TSO_GENEVE		0x00080000
#define IONIC_FEAT_TIMESTAMP		0x00100000
#define IONIC_FEAT_RDMA_TIMESTAMP	0x00200000

#define IONIC_NAME_SIZE			16
#define IONIC_RSS_KEY_SIZE		40

struct ionic_rss {
	__le16 types;			/* 0: off */
	__u8 key[IONIC_RSS_KEY_SIZE];
	__u8 reserved[6];
	__le64 table_addr;		/* one byte per entry: receive queue */
} __attribute__((packed));

struct ionic_lif_getattr_req {		/* LIF_GETATTR */
	__u8 opcode;
	__u8 attr;			/* enum ionic_lif_attr */
	__le16 lif;
	__u8 reserved4[60];
};

struct ionic_lif_getattr_resp {
	__u8 status;
	__u8 reserved1;
	__le16 comp_index;
	__u8 mac[6];			/* IONIC_LIF_ATTR_MAC */
	__u8 reserved10[5];
	__u8 color;
};

struct ionic_lif_setattr_req {		/* LIF_SETATTR */
	__u8 opcode;
	__u8 attr;			/* enum ionic_lif_attr */
	__le16 lif;
	union {
		__u8 byte;
		__u8 name[IONIC_NAME_SIZE];
		__le32 number;
		__u8 mac[6];
		__le64 features;
		struct ionic_rss rss;
		__u8 bytes[60];
	} __attribute__((packed)) value;
} __attribute__((packed));

struct ionic_lif_setattr_resp {
	__u8 status;
	__u8 reserved1;
	__le16 comp_index;
	__le64 features;		/* IONIC_LIF_ATTR_FEATURES */
	__u8 reserved12[3];
	__u8 color;
} __attribute__((packed));

/* ---- receive filters -------------------------------------------------------------- */

#define IONIC_RX_UNICAST	0x0001	/* that match a filter */
#define IONIC_RX_MULTICAST	0x0002	/* that match a filter */
#define IONIC_RX_BROADCAST	0x0004
#define IONIC_RX_PROMISC	0x0008
#define IONIC_RX_ALLMULTI	0x0010
#define IONIC_RX_RDMA_SNIFFER	0x0020

struct ionic_rx_mode_req {		/* RX_MODE_SET */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif;
	__le16 mode;			/* IONIC_RX_* */
	__u8 reserved6[58];
};

enum ionic_filter_match {
	IONIC_FILTER_VLAN		= 0x00,
	IONIC_FILTER_MAC		= 0x01,
	IONIC_FILTER_MAC_VLAN		= 0x02,
	IONIC_FILTER_CLASS		= 0x10,
};

struct ionic_filter_add_req {		/* RX_FILTER_ADD */
	__u8 opcode;
	__u8 qtype;
	__le16 lif;
	__le32 qid;
	__le16 match;			/* enum ionic_filter_match */
	union {
		__le16 vlan;
		__u8 mac[6];
		struct {
			__le16 vlan;
			__u8 mac[6];
		} mac_vlan;
		__u8 bytes[54];
	} value;
};

struct ionic_filter_add_resp {
	__u8 status;
	__u8 reserved1;
	__le16 comp_index;
	__le32 filter;
	__u8 reserved8[7];
	__u8 color;
};

struct ionic_filter_del_req {		/* RX_FILTER_DEL */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif;
	__le32 filter;
	__u8 reserved8[56];
};

/* ---- queues ----------------------------------------------------------------------- */

enum ionic_qtype {			/* logical; doorbells use the type that Q_INIT returns */
	IONIC_Q_ADMIN			= 0,
	IONIC_Q_NOTIFY			= 1,
	IONIC_Q_RX			= 2,
	IONIC_Q_TX			= 3,
	IONIC_Q_EVENT			= 4,
	IONIC_Q_TYPES			= 16,
};

struct ionic_q_identify_req {		/* Q_IDENTIFY: struct ionic_q_identity */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif_type;		/* 0 */
	__u8 type;			/* enum ionic_qtype */
	__u8 version;			/* the driver's highest */
	__u8 reserved6[58];
};

/* struct ionic_q_init_req.flags */
#define IONIC_Q_IRQ		0x0001	/* interrupt with each completion */
#define IONIC_Q_ENABLED		0x0002	/* starts enabled */
#define IONIC_Q_SG		0x0004	/* sg_addr is valid */
#define IONIC_Q_EQ		0x0008
#define IONIC_Q_CMB		0x0010	/* ring_addr is an offset in controller memory */
#define IONIC_Q_DEBUG		0x0080

#define IONIC_Q_SIZE_MIN	2	/* log2 of the entries */
#define IONIC_Q_SIZE_MAX	16

struct ionic_q_init_req {		/* Q_INIT */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif;
	__u8 type;			/* enum ionic_qtype */
	__u8 version;
	__u8 reserved6[2];
	__le32 index;
	__le16 pid;			/* doorbell page within the LIF */
	__le16 intr;
	__le16 flags;			/* IONIC_Q_* */
	__u8 cos;
	__u8 size_log2;
	__le64 ring_addr;
	__le64 cq_addr;
	__le64 sg_addr;
	__u8 reserved44[12];
	__le64 features;
} __attribute__((packed));

struct ionic_q_init_resp {
	__u8 status;
	__u8 reserved1;
	__le16 comp_index;
	__le32 hw_index;		/* queue id of doorbells */
	__u8 hw_type;			/* place of doorbells within the page */
	__u8 reserved9[6];
	__u8 color;
};

enum ionic_q_oper {
	IONIC_Q_DISABLE			= 0,
	IONIC_Q_ENABLE			= 1,
	IONIC_Q_HANG_RESET		= 2,
};

struct ionic_q_control_req {		/* Q_CONTROL */
	__u8 opcode;
	__u8 type;			/* enum ionic_qtype */
	__le16 lif;
	__le32 index;
	__u8 oper;			/* enum ionic_q_oper */
	__u8 reserved9[55];
};

/* ---- RDMA ------------------------------------------------------------------------- */

#define IONIC_RDMA_QID		0x00ffffff	/* qid_version: queue */
#define IONIC_RDMA_VERSION	0xff000000	/* qid_version: RDMA version, or 0 */

struct ionic_rdma_reset_req {		/* RDMA_RESET */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif;			/* index, not the hardware's number */
	__u8 reserved4[60];
};

struct ionic_rdma_queue_req {		/* RDMA_CREATE_EQ, _CQ, _AQ */
	__u8 opcode;
	__u8 reserved1;
	__le16 lif;
	__le32 qid_version;
	__le32 target;			/* EQ: interrupt; CQ: EQ; AQ: CQ */
	__le16 pid;
	__u8 depth_log2;
	__u8 stride_log2;
	__le64 ring_addr;		/* contiguous, zeroed */
	__u8 reserved24[40];
};

#endif /* DVQ_HW_IONIC_CMD_H */
