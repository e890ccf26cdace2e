// SPDX-License-Identifier: GPL-2.0
/*
 * The layouts of include/hw/ionic_*.h against the offsets of
 * Documentation/hw/ionic.rst: a field that moves is found here, not in a guest.
 */
#include <stddef.h>
#include <stdint.h>

#include <hw/field.h>
#include <hw/ionic_cmd.h>
#include <hw/ionic_eth.h>
#include <hw/ionic_identity.h>
#include <hw/ionic_rdma_admin.h>
#include <hw/ionic_rdma_io.h>
#include <hw/ionic_regs.h>
#include "tap.h"

#define SIZE(type, bytes)		CHECK_EQ(sizeof(type), bytes)
#define AT(type, field, offset)		CHECK_EQ(offsetof(type, field), offset)

TEST(requests_and_responses_fill_their_registers)
{
	SIZE(struct ionic_req, 64);
	SIZE(struct ionic_resp, 16);
	SIZE(struct ionic_identify_req, 64);
	SIZE(struct ionic_discover_cmb_req, 64);
	SIZE(struct ionic_port_identify_req, 64);
	SIZE(struct ionic_port_init_req, 64);
	SIZE(struct ionic_port_setattr_req, 64);
	SIZE(struct ionic_lif_identify_req, 64);
	SIZE(struct ionic_lif_init_req, 64);
	SIZE(struct ionic_lif_init_resp, 16);
	SIZE(struct ionic_lif_getattr_req, 64);
	SIZE(struct ionic_lif_getattr_resp, 16);
	SIZE(struct ionic_lif_setattr_req, 64);
	SIZE(struct ionic_lif_setattr_resp, 16);
	SIZE(struct ionic_rx_mode_req, 64);
	SIZE(struct ionic_filter_add_req, 64);
	SIZE(struct ionic_filter_add_resp, 16);
	SIZE(struct ionic_filter_del_req, 64);
	SIZE(struct ionic_q_identify_req, 64);
	SIZE(struct ionic_q_init_req, 64);
	SIZE(struct ionic_q_init_resp, 16);
	SIZE(struct ionic_q_control_req, 64);
	SIZE(struct ionic_rdma_reset_req, 64);
	SIZE(struct ionic_rdma_queue_req, 64);
	CHECK_EQ(IONIC_REG_DEVCMD_REQ + IONIC_REQ_SIZE, IONIC_REG_DEVCMD_RESP);
	CHECK_EQ(IONIC_REG_DEVCMD_DATA + IONIC_DEVCMD_DATA_SIZE, IONIC_REG_DEVCMD_END);
}

TEST(request_fields)
{
	AT(struct ionic_port_init_req, info_addr, 0x8);
	AT(struct ionic_port_setattr_req, attr, 0x2);
	AT(struct ionic_port_setattr_req, value, 0x4);
	AT(struct ionic_lif_init_req, info_addr, 0x8);
	AT(struct ionic_lif_init_resp, hw_lif, 0x2);
	AT(struct ionic_lif_setattr_req, value, 0x4);
	AT(struct ionic_lif_setattr_req, value.rss.key, 0x6);
	AT(struct ionic_lif_setattr_req, value.rss.table_addr, 0x34);
	AT(struct ionic_lif_setattr_resp, features, 0x4);
	AT(struct ionic_lif_getattr_resp, mac, 0x4);
	AT(struct ionic_rx_mode_req, mode, 0x4);
	AT(struct ionic_filter_add_req, match, 0x8);
	AT(struct ionic_filter_add_req, value.mac, 0xa);
	AT(struct ionic_filter_add_req, value.mac_vlan.mac, 0xc);
	AT(struct ionic_filter_add_resp, filter, 0x4);
	AT(struct ionic_filter_del_req, filter, 0x4);
	AT(struct ionic_q_identify_req, type, 0x4);
	AT(struct ionic_q_init_req, index, 0x8);
	AT(struct ionic_q_init_req, pid, 0xc);
	AT(struct ionic_q_init_req, intr, 0xe);
	AT(struct ionic_q_init_req, flags, 0x10);
	AT(struct ionic_q_init_req, size_log2, 0x13);
	AT(struct ionic_q_init_req, ring_addr, 0x14);
	AT(struct ionic_q_init_req, cq_addr, 0x1c);
	AT(struct ionic_q_init_req, sg_addr, 0x24);
	AT(struct ionic_q_init_req, features, 0x38);
	AT(struct ionic_q_init_resp, hw_index, 0x4);
	AT(struct ionic_q_init_resp, hw_type, 0x8);
	AT(struct ionic_q_init_resp, color, 0xf);
	AT(struct ionic_q_control_req, index, 0x4);
	AT(struct ionic_q_control_req, oper, 0x8);
	AT(struct ionic_rdma_queue_req, qid_version, 4);
	AT(struct ionic_rdma_queue_req, target, 8);
	AT(struct ionic_rdma_queue_req, pid, 12);
	AT(struct ionic_rdma_queue_req, depth_log2, 14);
	AT(struct ionic_rdma_queue_req, stride_log2, 15);
	AT(struct ionic_rdma_queue_req, ring_addr, 16);
}

TEST(identities)
{
	AT(struct ionic_driver_identity, kernel_version, 0x88);
	AT(struct ionic_driver_identity, driver_text, 0xac);

	AT(struct ionic_device_identity, nports, 0x4);
	AT(struct ionic_device_identity, nlifs, 0x8);
	AT(struct ionic_device_identity, nintrs, 0xc);
	AT(struct ionic_device_identity, dbpages_per_lif, 0x10);
	AT(struct ionic_device_identity, coal_mult, 0x14);
	AT(struct ionic_device_identity, clock_mask, 0x20);
	AT(struct ionic_device_identity, capabilities, 0x30);

	SIZE(struct ionic_port_config, 256);
	AT(struct ionic_port_config, state, 0x8);
	AT(struct ionic_port_config, loopback, 0xc);
	AT(struct ionic_port_identity, fec, 0xc);
	AT(struct ionic_port_identity, speeds, 0x14);
	AT(struct ionic_port_identity, config, 0x80);

	AT(struct ionic_lif_identity, eth.max_unicast_filters, 0xc);
	AT(struct ionic_lif_identity, eth.rss_table_size, 0x14);
	AT(struct ionic_lif_identity, eth.min_frame, 0x16);
	AT(struct ionic_lif_identity, eth.max_frame, 0x1a);
	AT(struct ionic_lif_identity, eth.txstamp_modes, 0x20);
	AT(struct ionic_lif_identity, eth.config, 0x88);
	AT(struct ionic_lif_identity, eth.config.name, 0x8c);
	AT(struct ionic_lif_identity, eth.config.mtu, 0x9c);
	AT(struct ionic_lif_identity, eth.config.mac, 0xa0);
	AT(struct ionic_lif_identity, eth.config.features, 0xa8);
	AT(struct ionic_lif_identity, eth.config.queues, 0xb0);
	AT(struct ionic_lif_identity, rdma, 0x188);
	AT(struct ionic_lif_identity, rdma.page_table_entries, 0x18c);
	AT(struct ionic_lif_identity, rdma.max_stride_log2, 0x198);
	AT(struct ionic_lif_identity, rdma.pipeline_shift, 0x19e);
	AT(struct ionic_lif_identity, rdma.page_sizes, 0x1a0);
	AT(struct ionic_lif_identity, rdma.aq, 0x1a8);
	AT(struct ionic_lif_identity, rdma.sq, 0x1b4);
	AT(struct ionic_lif_identity, rdma.rq, 0x1c0);
	AT(struct ionic_lif_identity, rdma.cq, 0x1cc);
	AT(struct ionic_lif_identity, rdma.eq, 0x1d8);
	AT(struct ionic_lif_identity, rdma.eq.count, 0x1dc);
	AT(struct ionic_lif_identity, rdma.stats, 0x1e4);
	SIZE(struct ionic_lif_identity, 8 + 384 + 256);

	AT(struct ionic_q_identity, features, 0x8);
	AT(struct ionic_q_identity, desc_size, 0x10);
	AT(struct ionic_q_identity, sg_stride, 0x18);

	AT(struct ionic_cmb_layout, regions, 8);
	SIZE(struct ionic_cmb_region, 16);
	AT(struct ionic_cmb_region, offset, 0x8);
	AT(struct ionic_cmb_region, length, 0xc);
}

TEST(blocks_of_host_memory)
{
	AT(struct ionic_port_info, status, 0x100);
	AT(struct ionic_port_info, status.link_down_count, 0x109);
	AT(struct ionic_port_info, status.fec, 0x10b);
	AT(struct ionic_port_info, xcvr.state, 0x13c);
	AT(struct ionic_port_info, xcvr.pid, 0x13e);
	AT(struct ionic_port_info, xcvr.eeprom, 0x140);
	AT(struct ionic_port_info, stats, 0x240);
	SIZE(struct ionic_port_info, 0x508);

	AT(struct ionic_lif_info, status, 0x100);
	AT(struct ionic_lif_info, status.port, 0x108);
	AT(struct ionic_lif_info, status.link, 0x10a);
	AT(struct ionic_lif_info, status.speed, 0x10c);
	AT(struct ionic_lif_info, status.link_down_count, 0x110);
	AT(struct ionic_lif_info, stats, 0x140);
	SIZE(struct ionic_lif_info, 1344);
	AT(struct ionic_lif_info, stats[IONIC_STAT_RX_UNICAST_DROPS], 0x188);
	AT(struct ionic_lif_info, stats[IONIC_STAT_RX_DMA_ERRORS], 0x1b0);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_UNICAST_BYTES], 0x1c0);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_UNICAST_DROPS], 0x208);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_DMA_ERRORS], 0x230);
	AT(struct ionic_lif_info, stats[IONIC_STAT_RX_QUEUE_DISABLED], 0x240);
	AT(struct ionic_lif_info, stats[IONIC_STAT_RX_DESC_FETCH_ERRORS], 0x258);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_QUEUE_DISABLED], 0x280);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_DESC_DATA_ERRORS], 0x298);
	AT(struct ionic_lif_info, stats[IONIC_STAT_TX_RDMA_BYTES], 0x2c0);
	AT(struct ionic_lif_info, stats[IONIC_STAT_RX_RDMA_PACKETS], 0x308);
}

TEST(ethernet_rings)
{
	SIZE(struct ionic_tx_desc, 16);
	AT(struct ionic_tx_desc, csum_start, 0xc);
	SIZE(struct ionic_sg, 16);
	AT(struct ionic_sg, len, 0x8);
	SIZE(struct ionic_tx_comp, 16);
	SIZE(struct ionic_rx_desc, 16);
	AT(struct ionic_rx_desc, len, 0x6);
	AT(struct ionic_rx_desc, addr, 0x8);
	SIZE(struct ionic_rx_comp, 16);
	AT(struct ionic_rx_comp, rss_hash, 0x4);
	AT(struct ionic_rx_comp, len, 0xc);
	AT(struct ionic_rx_comp, type_color, 0xf);
	SIZE(struct ionic_notify_event, 64);
	AT(struct ionic_notify_event, code, 8);
	AT(struct ionic_notify_event, data.link.status, 10);
	AT(struct ionic_notify_event, data.link.speed, 12);
	AT(struct ionic_notify_event, data.reset.state, 11);
}

TEST(rdma_admin_commands)
{
	SIZE(struct ionic_aq_create_cq, 4 + 34);
	AT(struct ionic_aq_create_cq, page_log2, 11);
	AT(struct ionic_aq_create_cq, cq, 16);
	AT(struct ionic_aq_create_cq, addr, 28);
	AT(struct ionic_aq_create_cq, pid, 36);

	SIZE(struct ionic_aq_create_qp, 4 + 64);
	AT(struct ionic_aq_create_qp, flags, 8);
	AT(struct ionic_aq_create_qp, sq.cq, 12);
	AT(struct ionic_aq_create_qp, sq.depth_log2, 16);
	AT(struct ionic_aq_create_qp, sq.page_log2, 19);
	AT(struct ionic_aq_create_qp, sq.pages, 24);
	AT(struct ionic_aq_create_qp, sq.addr, 28);
	AT(struct ionic_aq_create_qp, rq.cq, 36);
	AT(struct ionic_aq_create_qp, rq.stride_log2, 41);
	AT(struct ionic_aq_create_qp, rq.addr, 52);
	AT(struct ionic_aq_create_qp, qp, 60);
	AT(struct ionic_aq_create_qp, pid, 64);
	AT(struct ionic_aq_create_qp, type, 66);
	CHECK_EQ(IONIC_AQ_SLOTS(64), 2);
	CHECK_EQ(IONIC_AQ_SLOTS(60), 1);
	CHECK_EQ(IONIC_AQ_SLOTS(4), 1);

	SIZE(struct ionic_aq_modify_qp, 4 + 60);
	AT(struct ionic_aq_modify_qp, hdr_profile, 9);
	AT(struct ionic_aq_modify_qp, rq_psn, 12);
	AT(struct ionic_aq_modify_qp, qkey_dest_qpn, 20);
	AT(struct ionic_aq_modify_qp, pmtu_log2, 28);
	AT(struct ionic_aq_modify_qp, timeout, 31);
	AT(struct ionic_aq_modify_qp, rrq_depth_log2, 33);
	AT(struct ionic_aq_modify_qp, ah_len, 36);
	AT(struct ionic_aq_modify_qp, pcp, 40);
	AT(struct ionic_aq_modify_qp, type_state, 43);
	AT(struct ionic_aq_modify_qp, rrq_table, 44);
	AT(struct ionic_aq_modify_qp, hdr_addr, 52);
	AT(struct ionic_aq_modify_qp, qp, 60);

	SIZE(struct ionic_aq_query_qp, 4 + 34);
	AT(struct ionic_aq_query_qp, rq_addr, 20);
	AT(struct ionic_aq_query_qp, ah, 28);
	AT(struct ionic_aq_query_qp, pid, 36);
	SIZE(struct ionic_qp_sq_answer, 20);
	AT(struct ionic_qp_sq_answer, pkey, 6);
	AT(struct ionic_qp_sq_answer, rq_psn, 16);
	SIZE(struct ionic_qp_rq_answer, 12);
	AT(struct ionic_qp_rq_answer, sq_psn, 4);
	AT(struct ionic_qp_rq_answer, flags, 8);

	SIZE(struct ionic_aq_create_mr, 4 + 45);
	AT(struct ionic_aq_create_mr, pd, 20);
	AT(struct ionic_aq_create_mr, addr, 36);
	AT(struct ionic_aq_create_mr, flags, 44);
	AT(struct ionic_aq_create_mr, page_log2, 48);
	SIZE(struct ionic_aq_create_ah, 4 + 24);
	AT(struct ionic_aq_create_ah, ah, 20);
	AT(struct ionic_aq_create_ah, hdr_profile, 26);
	SIZE(struct ionic_aq_stats, 4 + 17);
	AT(struct ionic_aq_stats, qp, 16);
	SIZE(struct ionic_aq_destroy, 4 + 4);

	SIZE(struct ionic_aq_cqe, IONIC_CQE_SIZE);
	AT(struct ionic_aq_cqe, sq_cons, 20);
	AT(struct ionic_aq_cqe, status, 24);
	AT(struct ionic_aq_cqe, qid_type_flags, 28);
	SIZE(struct ionic_eqe, IONIC_EQE_SIZE);
	SIZE(struct ionic_stats_header, 32);
}

TEST(rdma_work_requests)
{
	SIZE(struct ionic_wqe_header, IONIC_WQE_HEADER);
	AT(struct ionic_wqe_header, op, 8);
	AT(struct ionic_wqe_header, flags, 10);
	AT(struct ionic_wqe_header, imm_key_length, 12);
	SIZE(struct ionic_wqe_send, IONIC_WQE_PAYLOAD);
	SIZE(struct ionic_wqe_recv, IONIC_WQE_PAYLOAD);
	AT(struct ionic_wqe_send, length, 28);
	SIZE(struct ionic_sge, 16);
	AT(struct ionic_sge, key, 12);
	SIZE(struct ionic_wqe_atomic, 64);
	AT(struct ionic_wqe_atomic, swap_add_hi, 28);
	AT(struct ionic_wqe_atomic, compare_lo, 40);
	AT(struct ionic_wqe_atomic, lkey, 44);
	AT(struct ionic_wqe_atomic, local.sge.key, 60);
	AT(struct ionic_wqe_atomic, local.addr, 48);
	SIZE(struct ionic_wqe_reg_mr, 64);
	AT(struct ionic_wqe_reg_mr, addr, 40);
	AT(struct ionic_wqe_reg_mr, flags, 52);
	AT(struct ionic_wqe_reg_mr, page_log2, 55);
	SIZE(struct ionic_wqe_bind_mw, 64);
	AT(struct ionic_wqe_bind_mw, lkey, 32);
	AT(struct ionic_wqe_bind_mw, flags, 36);
	SIZE(union ionic_spec, IONIC_WQE_SPEC_SGES - IONIC_WQE_PAYLOAD);
}

TEST(rdma_completions)
{
	SIZE(struct ionic_cqe, IONIC_CQE_SIZE);
	AT(struct ionic_cqe, u.recv.src_qpn_op, 8);
	AT(struct ionic_cqe, u.recv.src_mac, 12);
	AT(struct ionic_cqe, u.recv.vlan, 18);
	AT(struct ionic_cqe, u.recv.imm_rkey, 20);
	AT(struct ionic_cqe, u.send.msn, 4);
	AT(struct ionic_cqe, u.send.id, 16);
	AT(struct ionic_cqe, status_length, 24);
	AT(struct ionic_cqe, qid_type_flags, 28);
}

/* the examples of the sheet */
TEST(doorbell_words)
{
	CHECK_EQ(HW_PREP(IONIC_DB_QID, 5ull) | HW_PREP(IONIC_DB_INDEX, 3ull),
		 0x0000000005000003);
	CHECK_EQ(HW_PREP(IONIC_DB_QID, 0x12ull) | HW_PREP(IONIC_DB_INDEX, 5ull) |
		 HW_PREP(IONIC_DB_RING, (uint64_t)IONIC_DB_RING_CQ_ARM), 0x0000000012010005);
	CHECK_EQ(HW_PREP(IONIC_DB_QTYPE, 3ull) | HW_PREP(IONIC_DB_QID, 0x1234ull) |
		 HW_PREP(IONIC_DB_SCHED, (uint64_t)IONIC_DB_SCHED_EXPRESS) |
		 HW_PREP(IONIC_DB_INDEX, 1ull), 0x0003001234580001);
	CHECK_EQ(HW_GET(IONIC_TX_ADDR, 0x12345000ull) << 12, 0x12345000);
}

TAP_MAIN
