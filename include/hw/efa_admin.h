/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Amazon EFA adapter: admin queue layouts (commands, completions, events).
 *
 * One copy for driver and model. Everything is little-endian except GIDs, which
 * are raw network order. Sizes and lengths are bytes unless a field says
 * otherwise; fields named "reserved" and bits not named are written as zero.
 *
 * Source of every fact: Documentation/hw/efa.rst.
 */
#ifndef DVQ_HW_EFA_ADMIN_H
#define DVQ_HW_EFA_ADMIN_H

#include <linux/types.h>

#define EFA_ADMIN_ENTRY_SIZE	64	/* of AQ, ACQ and AENQ alike */
#define EFA_ADMIN_API_VERSION	1	/* oldest that a device may report */

enum efa_admin_opcode {
	EFA_ADMIN_CREATE_QP	= 1,
	EFA_ADMIN_MODIFY_QP	= 2,
	EFA_ADMIN_QUERY_QP	= 3,
	EFA_ADMIN_DESTROY_QP	= 4,
	EFA_ADMIN_CREATE_AH	= 5,
	EFA_ADMIN_DESTROY_AH	= 6,
	EFA_ADMIN_REG_MR	= 7,
	EFA_ADMIN_DEREG_MR	= 8,
	EFA_ADMIN_CREATE_CQ	= 9,
	EFA_ADMIN_DESTROY_CQ	= 10,
	EFA_ADMIN_GET_FEATURE	= 11,
	EFA_ADMIN_SET_FEATURE	= 12,
	EFA_ADMIN_GET_STATS	= 13,
	EFA_ADMIN_ALLOC_PD	= 14,
	EFA_ADMIN_DEALLOC_PD	= 15,
	EFA_ADMIN_ALLOC_UAR	= 16,
	EFA_ADMIN_DEALLOC_UAR	= 17,
	EFA_ADMIN_CREATE_EQ	= 18,
	EFA_ADMIN_DESTROY_EQ	= 19,
	EFA_ADMIN_ALLOC_MR	= 20,
	/* later interface, offered behind a switch only */
	EFA_ADMIN_CREATE_COUNTER	= 25,
	EFA_ADMIN_DESTROY_COUNTER	= 26,
	EFA_ADMIN_ATTACH_COUNTER	= 27,
	EFA_ADMIN_MODIFY_COUNTER	= 28,
	EFA_ADMIN_DETACH_COUNTER	= 29,
};

enum efa_admin_status {
	EFA_ADMIN_SUCCESS		= 0,
	EFA_ADMIN_RESOURCE_ALLOC	= 1,
	EFA_ADMIN_BAD_OPCODE		= 2,
	EFA_ADMIN_UNSUPPORTED_OPCODE	= 3,
	EFA_ADMIN_MALFORMED		= 4,
	EFA_ADMIN_ILLEGAL_PARAM		= 5,
	EFA_ADMIN_UNKNOWN_ERROR		= 6,
	EFA_ADMIN_RESOURCE_BUSY		= 7,
};

/* ---- queue entries -------------------------------------------------------- */

#define EFA_ADMIN_CMD_ID	0x0fff
/* efa_aq_hdr.flags */
#define EFA_AQ_PHASE		0x01	/* 1 on the first lap */
#define EFA_AQ_CTRL_DATA	0x02	/* a control buffer is referenced */
#define EFA_AQ_CTRL_INDIRECT	0x04	/* ... through a chain of chunks */
/* efa_acq_hdr.flags, efa_aenq_entry.flags */
#define EFA_ACQ_PHASE		0x01	/* 1 on the first lap */
#define EFA_AENQ_PHASE		0x01	/* 1 on the first lap */

struct efa_aq_hdr {			/* first in every command */
	__le16 command_id;		/* EFA_ADMIN_CMD_ID */
	__u8 opcode;			/* enum efa_admin_opcode */
	__u8 flags;			/* EFA_AQ_* */
};

struct efa_acq_hdr {			/* first in every completion */
	__le16 command_id;		/* EFA_ADMIN_CMD_ID */
	__u8 status;			/* enum efa_admin_status */
	__u8 flags;			/* EFA_ACQ_PHASE; made visible last */
	__le16 checksum;		/* from interface 0.2 on: see below */
	__u8 reserved6[2];
};

/*
 * Checksum of a completion: CRC-16 with the reflected polynomial 0xa001
 * (0x8005), initial value 0xffff, result inverted ("CRC-16/USB"), over all 64
 * bytes of the entry with the checksum field taken as zero.
 */
#define EFA_ACQ_CRC_INIT	0xffff
#define EFA_ACQ_CRC_XOR		0xffff

struct efa_aq_entry {
	struct efa_aq_hdr hdr;
	__u8 body[60];
};

struct efa_acq_entry {
	struct efa_acq_hdr hdr;
	__u8 body[56];
};

enum efa_aenq_group {
	EFA_AENQ_FATAL		= 1,
	EFA_AENQ_WARNING	= 2,
	EFA_AENQ_NOTIFICATION	= 3,
	EFA_AENQ_KEEP_ALIVE	= 4,
};
#define EFA_AENQ_GROUPS		0x1e	/* bit mask of the four */

struct efa_aenq_entry {
	__le16 group;			/* enum efa_aenq_group */
	__le16 syndrome;		/* no value is defined */
	__u8 flags;			/* EFA_AENQ_PHASE; made visible last */
	__u8 reserved5[3];
	__le32 timestamp_lo;
	__le32 timestamp_hi;
	__u8 data[48];			/* no layout is defined */
};

/* ---- control buffers ------------------------------------------------------- */

struct efa_ctrl_buf {			/* 12 bytes */
	__le32 length;
	__le32 addr_lo;
	__le32 addr_hi;
};

/*
 * Indirect form: a chain of chunks of at most 4096 bytes. A chunk holds the DMA
 * addresses of 4 KiB pieces of the page list, then (at length - 12) the record
 * of the next chunk, all zero in the last one.
 */
#define EFA_CHUNK_SIZE		4096
#define EFA_CHUNK_PTRS		510	/* most addresses in one chunk */
#define EFA_CHUNK_PIECE		4096	/* bytes of page list behind one address */

/* ---- QP ---------------------------------------------------------------------- */

enum efa_admin_qp_type {
	EFA_ADMIN_QP_UD		= 1,
	EFA_ADMIN_QP_SRD	= 2,
};

/* the values of the RDMA core's enum ib_qp_state */
enum efa_admin_qp_state {
	EFA_ADMIN_QPS_RESET	= 0,
	EFA_ADMIN_QPS_INIT	= 1,
	EFA_ADMIN_QPS_RTR	= 2,
	EFA_ADMIN_QPS_RTS	= 3,
	EFA_ADMIN_QPS_SQD	= 4,
	EFA_ADMIN_QPS_SQE	= 5,
	EFA_ADMIN_QPS_ERR	= 6,
};

/* efa_create_qp_cmd.flags */
#define EFA_CREATE_QP_SQ_VIRT		0x01
#define EFA_CREATE_QP_RQ_VIRT		0x02
#define EFA_CREATE_QP_UNSOLICITED	0x04	/* needs EFA_DEV_CAP_UNSOLICITED */
#define EFA_CREATE_QP_64BIT_IDS		0x08	/* needs EFA_DEV_CAP_64BIT_IDS */
#define EFA_CREATE_QP_FLAGS_MBZ		0xf0

struct efa_create_qp_cmd {
	struct efa_aq_hdr hdr;
	__le16 pd;
	__u8 qp_type;			/* enum efa_admin_qp_type */
	__u8 flags;			/* EFA_CREATE_QP_* */
	__le64 sq_base;			/* 0: the SQ is in BAR 2 */
	__le64 rq_base;			/* DMA address, 0 without RQ */
	__le32 send_cq;
	__le32 recv_cq;
	__le32 sq_lkey;
	__le32 rq_lkey;
	__le32 sq_ring_size;		/* bytes; / sq_depth is the WQE size, 64 or 128 */
	__le32 sq_depth;		/* WQEs */
	__le32 rq_ring_size;		/* bytes */
	__le32 rq_depth;		/* WRs */
	__le16 uar;
	__u8 sl;			/* 0: default service level */
	__u8 reserved59;
	__u8 reserved60[4];
};

struct efa_create_qp_resp {
	struct efa_acq_hdr hdr;
	__le32 qp_handle;		/* names the QP in later commands */
	__le16 qp_num;			/* low ceil(log2(max_qp)) bits unique among live QPs */
	__u8 reserved14[2];
	__le16 send_sub_cq;
	__le16 recv_sub_cq;
	__le32 sq_db_offset;		/* bytes into the doorbell BAR */
	__le32 rq_db_offset;		/* bytes into the doorbell BAR */
	__le32 llq_offset;		/* bytes into BAR 2 */
};

/* efa_modify_qp_cmd.modify_mask */
#define EFA_MODIFY_QP_STATE		0x01
#define EFA_MODIFY_QP_CUR_STATE		0x02
#define EFA_MODIFY_QP_QKEY		0x04
#define EFA_MODIFY_QP_SQ_PSN		0x08
#define EFA_MODIFY_QP_SQD_NOTIFY	0x10
#define EFA_MODIFY_QP_RNR_RETRY		0x20	/* SRD; needs EFA_DEV_CAP_RNR_RETRY */
#define EFA_MODIFY_QP_MASK		0x3f

struct efa_modify_qp_cmd {
	struct efa_aq_hdr hdr;
	__le32 modify_mask;		/* EFA_MODIFY_QP_* */
	__le32 qp_handle;
	__le32 qp_state;		/* enum efa_admin_qp_state */
	__le32 cur_qp_state;
	__le32 qkey;
	__le32 sq_psn;
	__u8 sqd_notify;
	__u8 rnr_retry;			/* 0..7, 7: without limit */
	__u8 reserved30[2];
};

struct efa_query_qp_cmd {
	struct efa_aq_hdr hdr;
	__le32 qp_handle;
};

struct efa_query_qp_resp {
	struct efa_acq_hdr hdr;
	__le32 qp_state;
	__le32 qkey;
	__le32 sq_psn;
	__u8 sq_draining;
	__u8 rnr_retry;
	__u8 reserved22[2];
};

struct efa_destroy_qp_cmd {
	struct efa_aq_hdr hdr;
	__le32 qp_handle;
};

/* ---- AH ---------------------------------------------------------------------- */

struct efa_create_ah_cmd {
	struct efa_aq_hdr hdr;
	__u8 dest_addr[16];		/* GID */
	__le16 pd;
	__u8 reserved22[2];
};

struct efa_create_ah_resp {
	struct efa_acq_hdr hdr;
	__le16 ah;
	__u8 reserved10[2];
};

struct efa_destroy_ah_cmd {
	struct efa_aq_hdr hdr;
	__le16 ah;
	__le16 pd;
};

/* ---- MR ---------------------------------------------------------------------- */

#define EFA_REG_MR_INLINE_PAGES	4

/* efa_reg_mr_cmd.flags */
#define EFA_REG_MR_PAGE_SHIFT	0x1f
#define EFA_REG_MR_FLAGS_MBZ	0x60
#define EFA_REG_MR_PHYS		0x80	/* no translation */
/* efa_reg_mr_cmd.permissions */
#define EFA_MR_LOCAL_WRITE	0x01
#define EFA_MR_REMOTE_WRITE	0x02	/* needs EFA_DEV_CAP_RDMA_WRITE */
#define EFA_MR_REMOTE_READ	0x04	/* needs EFA_DEV_CAP_RDMA_READ */
#define EFA_MR_PERMISSIONS	0x07

struct efa_reg_mr_cmd {
	struct efa_aq_hdr hdr;
	__le16 pd;
	__u8 reserved6[2];
	union {
		__le64 pages[EFA_REG_MR_INLINE_PAGES];	/* without EFA_AQ_CTRL_DATA */
		struct efa_ctrl_buf list;		/* with it; the rest is zero */
	} u;
	__le64 length;
	__u8 flags;			/* EFA_REG_MR_* */
	__u8 permissions;		/* EFA_MR_* */
	__u8 reserved50[2];
	__le32 page_num;		/* redundant, 0 is accepted */
	__le64 iova;			/* first address as used in WQEs */
};

/* efa_reg_mr_resp.ic_validity */
#define EFA_MR_IC_RECV		0x01
#define EFA_MR_IC_RDMA_READ	0x02
#define EFA_MR_IC_RDMA_RECV	0x04

struct efa_reg_mr_resp {
	struct efa_acq_hdr hdr;
	__le32 lkey;
	__le32 rkey;
	__u8 ic_validity;		/* EFA_MR_IC_*: which of the ids below hold */
	__u8 recv_ic;			/* interconnect path of received sends */
	__u8 rdma_read_ic;
	__u8 rdma_recv_ic;		/* ... of incoming RDMA writes */
};

struct efa_dereg_mr_cmd {
	struct efa_aq_hdr hdr;
	__le32 lkey;
};

struct efa_alloc_mr_cmd {
	struct efa_aq_hdr hdr;
	__le16 pd;
	__u8 reserved6[2];
	__le32 max_pages;
};

struct efa_alloc_mr_resp {
	struct efa_acq_hdr hdr;
	__le32 lkey;
	__le32 rkey;
};

/* ---- CQ ---------------------------------------------------------------------- */

/* efa_create_cq_cmd.caps1 */
#define EFA_CREATE_CQ_INTERRUPT	0x20
#define EFA_CREATE_CQ_VIRT	0x40
#define EFA_CREATE_CQ_CAPS1_MBZ	0x9f
/* efa_create_cq_cmd.caps2 */
#define EFA_CREATE_CQ_WORDS	0x1f	/* entry size in 32-bit words, 4 or 8 */
#define EFA_CREATE_CQ_SRC_ADDR	0x20	/* needs 8 words */
#define EFA_CREATE_CQ_64BIT_IDS	0x40	/* needs EFA_DEV_CAP_64BIT_IDS */
#define EFA_CREATE_CQ_CAPS2_MBZ	0x80

struct efa_create_cq_cmd {
	struct efa_aq_hdr hdr;
	__u8 caps1;			/* EFA_CREATE_CQ_* */
	__u8 caps2;
	__le16 sub_cq_depth;		/* entries of one sub-CQ, power of two */
	__le16 eqn;			/* 0 without EFA_CREATE_CQ_INTERRUPT */
	__u8 reserved10[2];
	__le32 base_lo;			/* DMA address of the ring */
	__le32 base_hi;
	__le32 lkey;
	__le16 num_sub_cqs;		/* == sub_cqs_per_cq of the device */
	__le16 uar;
};

#define EFA_CREATE_CQ_DB_VALID	0x00000001

struct efa_create_cq_resp {
	struct efa_acq_hdr hdr;
	__le16 cq_idx;
	__le16 sub_cq_depth;		/* actual */
	__le32 db_offset;		/* bytes into the doorbell BAR */
	__le32 flags;			/* EFA_CREATE_CQ_DB_VALID */
};

struct efa_destroy_cq_cmd {
	struct efa_aq_hdr hdr;
	__le16 cq_idx;
	__u8 reserved6[2];
};

/* ---- features ---------------------------------------------------------------- */

enum efa_admin_feature {
	EFA_FEATURE_DEVICE_ATTR		= 1,
	EFA_FEATURE_AENQ_CONFIG		= 2,
	EFA_FEATURE_NETWORK_ATTR	= 3,
	EFA_FEATURE_QUEUE_ATTR_1	= 4,
	EFA_FEATURE_HW_HINTS		= 5,
	EFA_FEATURE_HOST_INFO		= 6,
	EFA_FEATURE_EVENT_QUEUE_ATTR	= 7,
	EFA_FEATURE_QUEUE_ATTR_2	= 9,
};

/* efa_device_attr.device_caps */
#define EFA_DEV_CAP_RDMA_READ		0x00000001
#define EFA_DEV_CAP_RNR_RETRY		0x00000002
#define EFA_DEV_CAP_DATA_POLLING_128	0x00000004
#define EFA_DEV_CAP_RDMA_WRITE		0x00000008
#define EFA_DEV_CAP_UNSOLICITED		0x00000010
#define EFA_DEV_CAP_EVENT_COUNTERS	0x00000020	/* later interface */
#define EFA_DEV_CAP_64BIT_IDS		0x00000400	/* later interface */

struct efa_device_attr {
	__le64 supported_features;	/* bit n: enum efa_admin_feature n */
	__le64 page_size_cap;		/* bit n: MR pages of 2^n bytes */
	__le32 fw_version;
	__le32 admin_api_version;
	__le32 device_version;
	__le16 db_bar;			/* BAR index of the doorbells */
	__u8 phys_addr_width;		/* bits */
	__u8 virt_addr_width;		/* bits */
	__le32 device_caps;		/* EFA_DEV_CAP_* */
	__le32 max_rdma_size;
	__le64 guid;			/* byte image is the node GUID */
	__le16 max_link_speed_gbps;	/* 0: not told */
	__u8 reserved50[6];
};

struct efa_queue_attr_1 {
	__le32 max_qp;
	__le32 max_sq_depth;		/* WQEs */
	__le32 inline_buf_size;		/* superseded by efa_queue_attr_2 */
	__le32 max_rq_depth;		/* descriptors, not WRs */
	__le32 max_cq;
	__le32 max_cq_depth;
	__le16 sub_cqs_per_cq;
	__le16 min_sq_depth;		/* WQEs, 0: none */
	__le16 max_send_sges;
	__le16 max_recv_sges;
	__le32 max_mr;
	__le32 max_mr_pages;		/* of 4096 bytes */
	__le32 max_pd;
	__le32 max_ah;
	__le32 max_llq_size;		/* bytes of one SQ ring */
	__le16 max_rdma_sges;
	__le16 max_tx_batch;		/* 64-byte units between two doorbells, 0: any */
};

struct efa_queue_attr_2 {
	__le16 inline_buf_size_ex;
	__u8 reserved2[6];		/* the rest: later interface */
	__le32 counter_events;		/* EFA_COUNTER_* that a counter may count */
	__le32 max_event_counters;
	__le64 event_counter_max;	/* wraps to 0 after it */
};

struct efa_network_attr {
	__u8 addr[16];			/* own GID */
	__le32 mtu;			/* largest payload of a packet */
};

struct efa_event_queue_attr {
	__le32 max_eq;
	__le32 max_eq_depth;		/* entries */
	__le32 event_bitmask;		/* EFA_EQ_EVENT_* */
};
#define EFA_EQ_EVENT_COMPLETION	0x00000001

struct efa_aenq_config {
	__le32 supported_groups;	/* bit n: enum efa_aenq_group n */
	__le32 enabled_groups;
};

struct efa_hw_hints {			/* all ms, 0: no advice */
	__le16 mmio_read_timeout;
	__le16 driver_watchdog_timeout;
	__le16 admin_completion_timeout;
	__le16 poll_interval;
};

struct efa_host_info {			/* 180 bytes, in a control buffer */
	__u8 os_dist[128];
	__le32 os_type;			/* 0: Linux */
	__u8 kernel_ver_str[32];
	__le32 kernel_ver;
	__le32 driver_ver;
	__le16 bdf;			/* 2:0 function, 7:3 device, 15:8 bus */
	__le16 spec_ver;		/* 7:0 minor, 15:8 major */
	__le32 flags;			/* EFA_HOST_* */
};
#define EFA_HOST_INTREE		0x00000001
#define EFA_HOST_GDR		0x00000002
#define EFA_HOST_SPEC_VER	0x0200

struct efa_get_feature_cmd {
	struct efa_aq_hdr hdr;
	struct efa_ctrl_buf ctrl;
	__u8 reserved16;
	__u8 feature_id;		/* enum efa_admin_feature */
	__u8 reserved18[2];
	__u8 reserved20[44];
};

struct efa_get_feature_resp {
	struct efa_acq_hdr hdr;
	union {
		__u8 bytes[56];
		struct efa_device_attr device;
		struct efa_aenq_config aenq;
		struct efa_network_attr network;
		struct efa_queue_attr_1 queue1;
		struct efa_queue_attr_2 queue2;
		struct efa_hw_hints hints;
		struct efa_event_queue_attr eq;
	} u;
};

struct efa_set_feature_cmd {
	struct efa_aq_hdr hdr;
	struct efa_ctrl_buf ctrl;	/* EFA_FEATURE_HOST_INFO */
	__u8 reserved16;
	__u8 feature_id;		/* enum efa_admin_feature */
	__u8 reserved18[2];
	union {
		__u8 bytes[44];
		struct efa_aenq_config aenq;	/* supported_groups is sent as 0 */
	} u;
};

/* ---- statistics ---------------------------------------------------------------- */

enum efa_stats_type {
	EFA_STATS_BASIC		= 0,
	EFA_STATS_MESSAGES	= 1,
	EFA_STATS_RDMA_READ	= 2,
	EFA_STATS_RDMA_WRITE	= 3,	/* needs EFA_DEV_CAP_RDMA_WRITE */
	EFA_STATS_NETWORK	= 4,
};

enum efa_stats_scope {
	EFA_STATS_ALL		= 0,
	EFA_STATS_QUEUE		= 1,
};

struct efa_get_stats_cmd {
	struct efa_aq_hdr hdr;
	struct efa_ctrl_buf ctrl;	/* always zero */
	__u8 type;			/* enum efa_stats_type */
	__u8 scope;			/* enum efa_stats_scope */
	__le16 scope_modifier;
};

struct efa_stats_basic {
	__le64 tx_bytes;
	__le64 tx_pkts;
	__le64 rx_bytes;
	__le64 rx_pkts;
	__le64 rx_drops;
	__le64 qkey_viol;
};

struct efa_stats_messages {
	__le64 send_bytes;
	__le64 send_wrs;
	__le64 recv_bytes;
	__le64 recv_wrs;
};

struct efa_stats_rdma_read {
	__le64 read_wrs;
	__le64 read_bytes;
	__le64 read_wr_err;
	__le64 read_resp_bytes;
};

struct efa_stats_rdma_write {
	__le64 write_wrs;
	__le64 write_bytes;
	__le64 write_wr_err;
	__le64 write_recv_bytes;
};

struct efa_stats_network {
	__le64 retrans_bytes;
	__le64 retrans_pkts;
	__le64 retrans_timeout_events;
	__le64 unresponsive_remote_events;
	__le64 impaired_remote_conn_events;
};

struct efa_get_stats_resp {
	struct efa_acq_hdr hdr;
	union {
		__u8 bytes[48];
		struct efa_stats_basic basic;
		struct efa_stats_messages messages;
		struct efa_stats_rdma_read rdma_read;
		struct efa_stats_rdma_write rdma_write;
		struct efa_stats_network network;
	} u;
};

/* ---- PD, UAR, EQ --------------------------------------------------------------- */

struct efa_alloc_pd_cmd {
	struct efa_aq_hdr hdr;
};

struct efa_alloc_pd_resp {
	struct efa_acq_hdr hdr;
	__le16 pd;
	__u8 reserved10[2];
};

struct efa_dealloc_pd_cmd {
	struct efa_aq_hdr hdr;
	__le16 pd;
	__u8 reserved6[2];
};

struct efa_alloc_uar_cmd {
	struct efa_aq_hdr hdr;
};

struct efa_alloc_uar_resp {
	struct efa_acq_hdr hdr;
	__le16 uar;
	__u8 reserved10[2];
};

struct efa_dealloc_uar_cmd {
	struct efa_aq_hdr hdr;
	__le16 uar;
	__u8 reserved6[2];
};

#define EFA_CREATE_EQ_WORDS	0x1f	/* entry size in 32-bit words: 4 */
#define EFA_CREATE_EQ_CAPS_MBZ	0xe0

struct efa_create_eq_cmd {
	struct efa_aq_hdr hdr;
	__le16 depth;			/* entries, power of two */
	__u8 vector;			/* MSI-X table index, not 0 */
	__u8 caps;			/* EFA_CREATE_EQ_WORDS */
	__le32 base_lo;			/* DMA address of the ring */
	__le32 base_hi;
	__le32 event_bitmask;		/* EFA_EQ_EVENT_* */
	__u8 reserved20[4];
};

struct efa_create_eq_resp {
	struct efa_acq_hdr hdr;
	__le16 eqn;
	__u8 reserved10[2];
};

struct efa_destroy_eq_cmd {
	struct efa_aq_hdr hdr;
	__le16 eqn;
	__u8 reserved6[2];
};

/* ---- event counters (later interface) --------------------------------------------- */

/* events that a counter may count; efa_queue_attr_2.counter_events, attach command */
#define EFA_COUNTER_SEND		0x0001	/* send completed */
#define EFA_COUNTER_SEND_ERROR		0x0002
#define EFA_COUNTER_RECV		0x0004	/* receive completed */
#define EFA_COUNTER_RECV_ERROR		0x0008
#define EFA_COUNTER_READ		0x0010	/* RDMA read completed */
#define EFA_COUNTER_READ_ERROR		0x0020
#define EFA_COUNTER_WRITE		0x0040	/* RDMA write completed */
#define EFA_COUNTER_WRITE_ERROR		0x0080
#define EFA_COUNTER_REMOTE_READ		0x0100	/* a peer has read from here */
#define EFA_COUNTER_REMOTE_WRITE	0x0200	/* a peer has written here */

#define EFA_COUNTER_ATTACH_QP		0	/* efa_attach_counter_cmd.attach_type */
/* efa_modify_counter_cmd.operation */
#define EFA_COUNTER_SET			0
#define EFA_COUNTER_ADD			1

struct efa_create_counter_cmd {
	struct efa_aq_hdr hdr;
	__le16 uar;
	__u8 reserved6[2];
	__le64 addr;			/* DMA address of the 8-byte count, aligned */
};

struct efa_create_counter_resp {
	struct efa_acq_hdr hdr;
	__le32 handle;
};

struct efa_destroy_counter_cmd {
	struct efa_aq_hdr hdr;
	__le32 handle;
};

struct efa_attach_counter_cmd {		/* attach and detach */
	struct efa_aq_hdr hdr;
	__le32 handle;
	__u8 attach_type;		/* EFA_COUNTER_ATTACH_QP */
	__u8 reserved9[3];
	__le32 qp_handle;
	__le32 events;			/* EFA_COUNTER_* */
};

struct efa_modify_counter_cmd {
	struct efa_aq_hdr hdr;
	__le32 handle;
	__u8 operation;			/* EFA_COUNTER_SET, EFA_COUNTER_ADD */
	__u8 reserved9[7];
	__le64 value;
};

/* ---- indirect register reads ----------------------------------------------------- */

struct efa_mmio_resp {			/* 8 bytes, written by the device */
	__le16 req_id;			/* made visible last */
	__le16 reg_off;			/* bytes */
	__le32 reg_val;
};

#endif /* DVQ_HW_EFA_ADMIN_H */
