// SPDX-License-Identifier: GPL-2.0
/*
 * Sizes and offsets that programs and other builds of this library rely on, checked by
 * the compiler: this file's test is that it compiles. The tables of the direct-verbs
 * structs are those of rdma-core's releases.
 */
#include <stddef.h>

#include <dvq/dvq.h>
#include <infiniband/efadv.h>

#include "tap.h"

#define SIZE(type, bytes)	_Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, offset)	_Static_assert(offsetof(type, field) == (offset), #type " " #field)
#define VALUE(name, value)	_Static_assert((name) == (value), #name)

SIZE(struct efadv_device_attr, 32);
AT(struct efadv_device_attr, max_sq_wr, 8);
AT(struct efadv_device_attr, max_rq_wr, 12);
AT(struct efadv_device_attr, max_sq_sge, 16);
AT(struct efadv_device_attr, max_rq_sge, 18);
AT(struct efadv_device_attr, inline_buf_size, 20);
AT(struct efadv_device_attr, inline_buf_size_ex, 22);
AT(struct efadv_device_attr, device_caps, 24);
AT(struct efadv_device_attr, max_rdma_size, 28);

SIZE(struct efadv_ah_attr, 16);
AT(struct efadv_ah_attr, ahn, 8);
AT(struct efadv_ah_attr, reserved, 10);

SIZE(struct efadv_mr_attr, 16);
AT(struct efadv_mr_attr, ic_id_validity, 8);
AT(struct efadv_mr_attr, recv_ic_id, 10);
AT(struct efadv_mr_attr, rdma_read_ic_id, 12);
AT(struct efadv_mr_attr, rdma_recv_ic_id, 14);

SIZE(struct efadv_sq_depth_attr, 24);
AT(struct efadv_sq_depth_attr, flags, 8);
AT(struct efadv_sq_depth_attr, max_send_sge, 12);
AT(struct efadv_sq_depth_attr, max_rdma_sge, 16);
AT(struct efadv_sq_depth_attr, max_inline_data, 20);

SIZE(struct efadv_rq_depth_attr, 16);
AT(struct efadv_rq_depth_attr, max_recv_sge, 8);

SIZE(struct efadv_wq_attr, 40);
AT(struct efadv_wq_attr, buffer, 8);
AT(struct efadv_wq_attr, entry_size, 16);
AT(struct efadv_wq_attr, num_entries, 20);
AT(struct efadv_wq_attr, doorbell, 24);
AT(struct efadv_wq_attr, max_batch, 32);
AT(struct efadv_wq_attr, caps, 36);
AT(struct efadv_wq_attr, reserved, 38);

SIZE(struct efadv_cq_attr, 32);
AT(struct efadv_cq_attr, buffer, 8);
AT(struct efadv_cq_attr, entry_size, 16);
AT(struct efadv_cq_attr, num_entries, 20);
AT(struct efadv_cq_attr, doorbell, 24);

SIZE(struct efadv_qp_init_attr, 24);
AT(struct efadv_qp_init_attr, driver_qp_type, 8);
AT(struct efadv_qp_init_attr, flags, 12);
AT(struct efadv_qp_init_attr, sl, 14);
AT(struct efadv_qp_init_attr, reserved, 15);
AT(struct efadv_qp_init_attr, wr_flags, 16);

SIZE(struct efadv_cq_init_attr, 56);
AT(struct efadv_cq_init_attr, wc_flags, 8);
AT(struct efadv_cq_init_attr, flags, 16);
AT(struct efadv_cq_init_attr, ext_mem_dmabuf.buffer, 24);
AT(struct efadv_cq_init_attr, ext_mem_dmabuf.length, 32);
AT(struct efadv_cq_init_attr, ext_mem_dmabuf.offset, 40);
AT(struct efadv_cq_init_attr, ext_mem_dmabuf.fd, 48);
AT(struct efadv_cq_init_attr, ext_mem_dmabuf.reserved, 52);

SIZE(struct efadv_qp, 16);
AT(struct efadv_qp, wr_set_processing_hints, 8);

SIZE(struct efadv_cq, 24);
AT(struct efadv_cq, wc_read_sgid, 8);
AT(struct efadv_cq, wc_is_unsolicited, 16);

SIZE(struct efadv_memory_location, 32);
AT(struct efadv_memory_location, dmabuf.offset, 8);
AT(struct efadv_memory_location, dmabuf.fd, 16);
AT(struct efadv_memory_location, dmabuf.reserved, 20);
AT(struct efadv_memory_location, type, 24);
AT(struct efadv_memory_location, reserved, 25);

SIZE(struct efadv_comp_cntr_init_attr, 80);
AT(struct efadv_comp_cntr_init_attr, flags, 8);
AT(struct efadv_comp_cntr_init_attr, reserved, 12);
AT(struct efadv_comp_cntr_init_attr, comp_cntr_ext_mem, 16);
AT(struct efadv_comp_cntr_init_attr, err_cntr_ext_mem, 48);

VALUE(EFADV_DEVICE_ATTR_CAPS_RDMA_READ, 1);
VALUE(EFADV_DEVICE_ATTR_CAPS_RNR_RETRY, 2);
VALUE(EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID, 4);
VALUE(EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, 8);
VALUE(EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV, 0x10);
VALUE(EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF, 0x20);
VALUE(EFADV_DEVICE_ATTR_CAPS_COMP_CNTR, 0x40);
VALUE(EFADV_QP_DRIVER_TYPE_SRD, 0);
VALUE(EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV, 1);
VALUE(EFADV_QP_FLAGS_INLINE_WRITE, 2);
VALUE(EFADV_WR_EX_WITH_PROCESSING_HINTS, 1);
VALUE(EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE, 1);
VALUE(EFADV_WQ_CAPS_64_BIT_REQ_ID, 1);
VALUE(EFADV_WC_EX_WITH_SGID, 1);
VALUE(EFADV_WC_EX_WITH_IS_UNSOLICITED, 2);
VALUE(EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF, 1);
VALUE(EFADV_SQ_DEPTH_ATTR_INLINE_WRITE, 1);
VALUE(EFADV_MR_ATTR_VALIDITY_RECV_IC_ID, 1);
VALUE(EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID, 2);
VALUE(EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID, 4);
VALUE(EFADV_MEMORY_LOCATION_VA, 0);
VALUE(EFADV_MEMORY_LOCATION_DMABUF, 1);
VALUE(EFADV_COMP_CNTR_INIT_WITH_COMP_EXTERNAL_MEM, 1);
VALUE(EFADV_COMP_CNTR_INIT_WITH_ERR_EXTERNAL_MEM, 2);

/* what of the verbs' objects the library touches */
#ifdef __x86_64__
AT(struct ibv_context, cmd_fd, 264);
AT(struct ibv_context_ops, post_send, 200);
AT(struct ibv_qp, handle, 48);
AT(struct ibv_qp, state, 56);
AT(struct ibv_qp_ex, wr_start, 320);
AT(struct ibv_cq_ex, start_poll, 144);
#endif

/* entries of the adapter, of which the inline code knows the words */
SIZE(struct efa_wqe_meta, 32);
AT(struct efa_wqe_meta, ctrl1, 2);
AT(struct efa_wqe_meta, ctrl2, 3);
AT(struct efa_wqe_meta, dest_qp_num, 4);
AT(struct efa_wqe_meta, length, 6);
AT(struct efa_wqe_meta, imm, 8);
AT(struct efa_wqe_meta, ah, 12);
AT(struct efa_wqe_meta, ctrl3, 14);
AT(struct efa_wqe_meta, qkey, 16);
AT(struct efa_wqe_meta, req_id_ex, 26);
SIZE(struct efa_wqe, 64);
SIZE(struct efa_wqe_wide, 128);
AT(struct efa_wqe, u.rdma.local, 48);
AT(struct efa_wqe_wide, u.rdma.u.inline_data, 48);
SIZE(struct efa_rx_desc, 16);
SIZE(struct efa_cqe_tx, 16);
SIZE(struct efa_cqe_rx, 16);
SIZE(struct efa_cqe_rx_ex, 32);
AT(struct efa_cqe_common, status, 2);
AT(struct efa_cqe_common, flags, 3);
AT(struct efa_cqe_common, qp_num, 4);
AT(struct efa_cqe_tx, req_id_ex, 6);
AT(struct efa_cqe_rx, length, 6);
AT(struct efa_cqe_rx, ah, 8);
AT(struct efa_cqe_rx, src_qp_num, 10);
AT(struct efa_cqe_rx, imm, 12);
AT(struct efa_cqe_rx_ex, u.length_hi, 16);

/* a receive takes the verbs' SGEs as they are */
SIZE(struct dvq_efa_sge, sizeof(struct ibv_sge));
AT(struct dvq_efa_sge, addr, offsetof(struct ibv_sge, addr));
AT(struct dvq_efa_sge, length, offsetof(struct ibv_sge, length));
AT(struct dvq_efa_sge, lkey, offsetof(struct ibv_sge, lkey));

TEST(f14_layouts)
{
	/* errno values without a libc are those of the libc */
	CHECK_EQ(DVQ_EFA_ENOMEM, ENOMEM);
	CHECK_EQ(DVQ_EFA_EBUSY, EBUSY);
	CHECK_EQ(DVQ_EFA_EEXIST, EEXIST);
	CHECK_EQ(DVQ_EFA_EINVAL, EINVAL);
	CHECK_EQ(DVQ_EFA_EOPNOTSUPP, EOPNOTSUPP);
}

TAP_MAIN
