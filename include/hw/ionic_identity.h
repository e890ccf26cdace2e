/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * AMD Pensando ionic adapter: what the adapter tells about itself, in the side
 * data of the identify commands.
 *
 * One copy for driver and model. Everything is little-endian except MAC
 * addresses. Every answer fills the IONIC_DEVCMD_DATA_SIZE bytes; what a
 * structure here does not name is reserved and zero.
 *
 * Source of every fact: Documentation/hw/ionic.rst.
 */
#ifndef DVQ_HW_IONIC_IDENTITY_H
#define DVQ_HW_IONIC_IDENTITY_H

#include <linux/types.h>

#define IONIC_OS_LINUX		1

struct ionic_driver_identity {		/* from the driver, with IDENTIFY */
	__le32 os_type;			/* IONIC_OS_LINUX */
	__le32 os_dist;
	__u8 os_dist_text[128];
	__le32 kernel_version;
	__u8 kernel_text[32];
	__u8 driver_text[32];
};

#define IONIC_CAP_VF_CTRL	0x01
#define IONIC_CAP_DISCOVER_CMB	0x02
#define IONIC_CAP_EXTRA_STATS	0x10

struct ionic_device_identity {		/* IDENTIFY */
	__u8 version;
	__u8 type;
	__u8 reserved2[2];
	__u8 nports;
	__u8 reserved5[3];
	__le32 nlifs;
	__le32 nintrs;
	__le32 dbpages_per_lif;
	/* microseconds to device units: (usec + (div / mult) / 2) * mult / div */
	__le32 coal_mult;
	__le32 coal_div;
	__le32 eq_count;
	__le64 clock_mask;
	__le32 clock_mult;
	__le32 clock_shift;
	__le64 capabilities;		/* IONIC_CAP_* */
};

struct ionic_port_config {
	__le32 speed;			/* Mb/s */
	__le32 mtu;
	__u8 state;			/* enum ionic_port_state */
	__u8 autoneg;
	__u8 fec;
	__u8 pause;
	__u8 loopback;
	__u8 reserved13[243];
};

struct ionic_port_identity {		/* PORT_IDENTIFY */
	__u8 version;
	__u8 type;			/* 1: Ethernet */
	__u8 lanes;
	__u8 autoneg;
	__le32 min_frame;
	__le32 max_frame;
	__u8 fec[4];
	__u8 pause[2];
	__u8 loopback[2];
	__le32 speeds[16];
	__u8 reserved84[44];
	struct ionic_port_config config; /* the driver hands it back with PORT_INIT */
};

#define IONIC_LIF_CAP_ETH	0x1
#define IONIC_LIF_CAP_RDMA	0x2

struct ionic_lif_config {
	__u8 state;			/* enum ionic_lif_state */
	__u8 reserved1[3];
	__u8 name[16];
	__le32 mtu;
	__u8 mac[6];
	__le16 vlan;
	__le64 features;		/* IONIC_FEAT_* */
	__le32 queues[16];		/* by enum ionic_qtype */
	__u8 reserved104[152];
};

struct ionic_eth_identity {
	__u8 version;
	__u8 reserved1[3];
	__le32 max_unicast_filters;	/* unicast and multicast together; 0: none */
	__le32 max_multicast_filters;
	__le16 rss_table_size;		/* entries of one byte */
	__le32 min_frame;
	__le32 max_frame;
	__u8 reserved22[2];
	__le64 txstamp_modes;
	__le64 rxstamp_filters;
	__u8 reserved40[88];
	struct ionic_lif_config config;
} __attribute__((packed));

struct ionic_rdma_qtype {
	__u8 qtype;			/* place of doorbells within the page */
	__u8 reserved1[3];
	__le32 count;
	__le32 base;
};

#define IONIC_RDMA_STATS_PORT	0x1
#define IONIC_RDMA_STATS_QP	0x2

/* page_sizes is valid from version 2, minor version 1 on; before it is this */
#define IONIC_RDMA_PAGE_SIZES	0x40201000

struct ionic_rdma_identity {
	__u8 version;			/* 1: v1 send opcodes; 2: v2 */
	__u8 qp_opcodes;
	__u8 admin_opcodes;		/* opcodes below this exist */
	__u8 minor_version;
	__le32 page_table_entries;
	__le32 mrs;
	__le32 ahs;
	__u8 max_stride_log2;
	__u8 cl_stride;
	__u8 pte_stride;
	__u8 rrq_stride;
	__u8 rsq_stride;
	__u8 dcqcn_profiles;
	__u8 pipeline_shift;		/* log2 of the queue ids per group; groups alternate */
	__u8 reserved23;
	__le64 page_sizes;		/* bit n: 2^n */
	struct ionic_rdma_qtype aq;
	struct ionic_rdma_qtype sq;
	struct ionic_rdma_qtype rq;
	struct ionic_rdma_qtype cq;
	struct ionic_rdma_qtype eq;
	__le16 stats;			/* IONIC_RDMA_STATS_* */
	__u8 reserved94[162];
} __attribute__((packed));

struct ionic_lif_identity {		/* LIF_IDENTIFY */
	__le64 capabilities;		/* IONIC_LIF_CAP_* */
	struct ionic_eth_identity eth;
	struct ionic_rdma_identity rdma;
} __attribute__((packed));

/* struct ionic_q_identity.features */
#define IONIC_Q_FEAT_CQ		0x00000001
#define IONIC_Q_FEAT_SG		0x00000002
#define IONIC_Q_FEAT_EQ		0x00000004
#define IONIC_Q_FEAT_CMB	0x00000008
#define IONIC_Q_FEAT_EXPRESS	0x00000400 /* of TX: RDMA send queues; of RX: receive queues */
#define IONIC_Q_FEAT_TIMESTAMP	0x00010000

struct ionic_q_identity {		/* Q_IDENTIFY */
	__u8 version;
	__u8 supported;			/* bit n: version n */
	__u8 reserved2[6];
	__le64 features;		/* IONIC_Q_FEAT_* */
	__le16 desc_size;
	__le16 comp_size;
	__le16 sg_size;			/* of one descriptor's list */
	__le16 max_sg;			/* elements */
	__le16 sg_stride;		/* elements */
};

/* ---- controller memory ------------------------------------------------------------ */

#define IONIC_CMB_REGIONS_MAX	16
#define IONIC_CMB_UNIT		65536	/* of offset and length */
#define IONIC_CMB_PAGE		4096
#define IONIC_CMB_LENGTH	128	/* the only length in units that drivers take */

#define IONIC_CMB_EXPRESS	0x00000001
#define IONIC_CMB_ALIGN_4K	0x00000002
#define IONIC_CMB_VERSION	0xff000000

enum ionic_cmb_type {
	IONIC_CMB_PLAIN			= 0,
	/* windows onto the plain region; a store to the end of a slot rings its queue */
	IONIC_CMB_EXPRESS_64		= 1,
	IONIC_CMB_EXPRESS_128		= 2,
	IONIC_CMB_EXPRESS_256		= 3,
	IONIC_CMB_EXPRESS_512		= 4,
	IONIC_CMB_TYPES			= 5,
};

struct ionic_cmb_region {
	__u8 bar;			/* PCI number */
	__u8 type;			/* enum ionic_cmb_type */
	__u8 reserved2[6];
	__le32 offset;			/* IONIC_CMB_UNIT; the plain region begins at 0 */
	__le32 length;			/* IONIC_CMB_UNIT */
};

struct ionic_cmb_layout {		/* DISCOVER_CMB */
	__le32 nregions;
	__le32 flags;			/* IONIC_CMB_* */
	struct ionic_cmb_region regions[IONIC_CMB_REGIONS_MAX];
};

#endif /* DVQ_HW_IONIC_IDENTITY_H */
