/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter, Ethernet: rings and the blocks of host memory that
 * the adapter keeps up to date.
 *
 * One copy for driver and model. Everything is little-endian. Sizes and lengths
 * are bytes unless a field says otherwise. In completions the last byte carries
 * the color: 1 on the first lap, visible last.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_ETH_H
#define DVQ_HW_IONIC_ETH_H

#include <linux/types.h>

#include "ionic_identity.h"

#define IONIC_COMP_COLOR	0x80

/* ---- transmit --------------------------------------------------------------------- */

#define IONIC_TX_FLAGS		0x000000000000000full
#define IONIC_TX_OPCODE		0x00000000000000f0ull
#define IONIC_TX_NSG		0x0000000000000f00ull
#define IONIC_TX_ADDR		0xfffffffffffff000ull

/* IONIC_TX_FLAGS */
#define IONIC_TX_VLAN		0x1	/* insert vlan_tci */
#define IONIC_TX_ENCAP		0x2	/* the frame is a tunnel packet */
#define IONIC_TX_TSO_FIRST	0x4
#define IONIC_TX_TSO_LAST	0x8

enum ionic_tx_opcode {
	IONIC_TX_PLAIN			= 0,
	IONIC_TX_CSUM			= 1,	/* one 16-bit checksum */
	IONIC_TX_CSUM_HW		= 2,
	IONIC_TX_TSO			= 3,
};

struct ionic_tx_desc {
	__le64 cmd;			/* IONIC_TX_* */
	__le16 len;			/* of the first buffer */
	__le16 vlan_tci;
	__le16 csum_start;		/* TSO: header length */
	__le16 csum_offset;		/* from csum_start. TSO: segment size */
};

#define IONIC_TX_SG_MAX		15
#define IONIC_TX_SG_SLOT	256	/* 16 elements */
#define IONIC_RX_SG_MAX		8
#define IONIC_RX_SG_SLOT	128

struct ionic_sg {			/* element of a list; the slot has the descriptor's index */
	__le64 addr;
	__le16 len;
	__le16 reserved10[3];
};

struct ionic_tx_comp {			/* for all descriptors up to and with comp_index */
	__u8 status;
	__u8 reserved1;
	__le16 comp_index;
	__u8 reserved4[11];
	__u8 color;
};

/* ---- receive ---------------------------------------------------------------------- */

enum ionic_rx_opcode {
	IONIC_RX_SINGLE			= 0,
	IONIC_RX_SG			= 1,	/* list ends at a zero element or is full */
};

struct ionic_rx_desc {
	__u8 opcode;			/* enum ionic_rx_opcode */
	__u8 reserved1[5];
	__le16 len;			/* of the first buffer */
	__le64 addr;
};

/* struct ionic_rx_comp.csum_flags */
#define IONIC_RX_TCP_OK		0x01
#define IONIC_RX_TCP_BAD	0x02
#define IONIC_RX_UDP_OK		0x04
#define IONIC_RX_UDP_BAD	0x08
#define IONIC_RX_IP_OK		0x10
#define IONIC_RX_IP_BAD		0x20
#define IONIC_RX_VLAN		0x40	/* stripped to vlan_tci */
#define IONIC_RX_CSUM		0x80	/* csum is valid */

#define IONIC_RX_PKT_TYPE	0x7f	/* beside the color */

struct ionic_rx_comp {			/* one per descriptor, in their order */
	__u8 status;
	__u8 nsg;
	__le16 comp_index;
	__le32 rss_hash;
	__le16 csum;			/* of what follows the Ethernet header, not inverted */
	__le16 vlan_tci;
	__le16 len;
	__u8 csum_flags;
	__u8 type_color;
};

/* ---- notify queue ----------------------------------------------------------------- */

#define IONIC_NOTIFY_DESC_SIZE	4	/* unused descriptors, rounded up to a page, ... */
#define IONIC_NOTIFY_EVENTS	4096	/* ... so events begin here */

enum ionic_notify_code {
	IONIC_NOTIFY_LINK		= 1,
	IONIC_NOTIFY_RESET		= 2,
	IONIC_NOTIFY_HEARTBEAT		= 3,
	IONIC_NOTIFY_LOG		= 4,
	IONIC_NOTIFY_XCVR		= 5,
};

struct ionic_notify_event {
	__le64 id;			/* 1, 2, 3, ... from Q_INIT on; visible last */
	__le16 code;			/* enum ionic_notify_code */
	union {
		struct {
			__le16 status;	/* enum ionic_link */
			__le32 speed;	/* Mb/s */
		} __attribute__((packed)) link;
		struct {
			__u8 code;
			__u8 state;	/* 0 pending, 1 complete, 2 error */
		} reset;
		__u8 bytes[54];
	} __attribute__((packed)) data;
} __attribute__((packed));

/* ---- memory of the port ----------------------------------------------------------- */

enum ionic_phy {
	IONIC_PHY_NONE			= 0,
	IONIC_PHY_COPPER		= 1,
	IONIC_PHY_FIBRE			= 2,
};

/* struct ionic_xcvr.pid */
#define IONIC_XCVR_100G_CR4	1
#define IONIC_XCVR_200G_CR4	8
#define IONIC_XCVR_400G_CR4	9
#define IONIC_XCVR_100G_SR4	52

/* struct ionic_port_status.status */
#define IONIC_PORT_LINK_UP	1
#define IONIC_PORT_LINK_DOWN	2

struct ionic_port_status {
	__le32 id;
	__le32 speed;
	__u8 status;			/* IONIC_PORT_LINK_* */
	__le16 link_down_count;
	__u8 fec;
	__u8 reserved12[48];
} __attribute__((packed));

struct ionic_xcvr {
	__u8 state;			/* 3: EEPROM read */
	__u8 phy;			/* enum ionic_phy */
	__le16 pid;			/* IONIC_XCVR_* */
	__u8 eeprom[256];
};

struct ionic_port_info {		/* PORT_INIT */
	struct ionic_port_config config;
	struct ionic_port_status status;
	struct ionic_xcvr xcvr;
	__le64 stats[89];
} __attribute__((packed));

/* ---- memory of the LIF ------------------------------------------------------------ */

enum ionic_link {
	IONIC_LINK_DOWN			= 0,
	IONIC_LINK_UP			= 1,
};

struct ionic_lif_status {
	__le64 event_id;
	__u8 port;
	__u8 reserved9;
	__le16 link;			/* enum ionic_link */
	__le32 speed;			/* Mb/s */
	__le16 link_down_count;
	__u8 reserved18[46];
};

/* places in struct ionic_lif_info.stats */
enum ionic_lif_stat {
	IONIC_STAT_RX_UNICAST_BYTES	= 0,
	IONIC_STAT_RX_UNICAST		= 1,
	IONIC_STAT_RX_MULTICAST_BYTES	= 2,
	IONIC_STAT_RX_MULTICAST		= 3,
	IONIC_STAT_RX_BROADCAST_BYTES	= 4,
	IONIC_STAT_RX_BROADCAST		= 5,
	IONIC_STAT_RX_UNICAST_DROPS	= 9,
	IONIC_STAT_RX_MULTICAST_DROPS	= 11,
	IONIC_STAT_RX_BROADCAST_DROPS	= 13,
	IONIC_STAT_RX_DMA_ERRORS	= 14,
	IONIC_STAT_TX_UNICAST_BYTES	= 16,
	IONIC_STAT_TX_UNICAST		= 17,
	IONIC_STAT_TX_MULTICAST_BYTES	= 18,
	IONIC_STAT_TX_MULTICAST		= 19,
	IONIC_STAT_TX_BROADCAST_BYTES	= 20,
	IONIC_STAT_TX_BROADCAST		= 21,
	IONIC_STAT_TX_UNICAST_DROPS	= 25,
	IONIC_STAT_TX_MULTICAST_DROPS	= 27,
	IONIC_STAT_TX_BROADCAST_DROPS	= 29,
	IONIC_STAT_TX_DMA_ERRORS	= 30,
	IONIC_STAT_RX_QUEUE_DISABLED	= 32,
	IONIC_STAT_RX_QUEUE_EMPTY	= 33,
	IONIC_STAT_RX_DESC_FETCH_ERRORS	= 35,
	IONIC_STAT_RX_DESC_DATA_ERRORS	= 36,
	IONIC_STAT_TX_QUEUE_DISABLED	= 40,
	IONIC_STAT_TX_DESC_FETCH_ERRORS	= 42,
	IONIC_STAT_TX_DESC_DATA_ERRORS	= 43,
	IONIC_STAT_TX_RDMA_BYTES	= 48,
	IONIC_STAT_TX_RDMA_PACKETS	= 49,
	IONIC_STAT_RX_RDMA_BYTES	= 56,
	IONIC_STAT_RX_RDMA_PACKETS	= 57,
	IONIC_STATS			= 128,
};

struct ionic_lif_info {			/* LIF_INIT */
	struct ionic_lif_config config;
	struct ionic_lif_status status;
	__le64 stats[IONIC_STATS];	/* by enum ionic_lif_stat */
};

#endif /* DVQ_HW_IONIC_ETH_H */
