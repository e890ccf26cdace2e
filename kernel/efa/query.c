// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the device and its port are, answered from what was read at probe. */
#include <linux/minmax.h>
#include <linux/pci.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "efa.h"

static_assert(sizeof(struct dvq_efa_device_resp) == 24);

#define DEFAULT_SPEED_GBPS	100	/* of devices that do not tell */
#define SPEED_PER_GBPS		10	/* the core counts in 100 Mb/s */

/* ---- device ----------------------------------------------------------------------- */

/* Capabilities: the device's bit and what each of our two interfaces calls it. */
static const struct {
	u32 device;
	u32 stock;
	u32 dvq;
} caps[] = {
	{ EFA_DEV_CAP_RDMA_READ, DVQ_EFA_DEVICE_RDMA_READ, DVQ_DEVICE_RDMA_READ },
	{ EFA_DEV_CAP_RNR_RETRY, DVQ_EFA_DEVICE_RNR_RETRY, DVQ_DEVICE_RNR_RETRY },
	{ EFA_DEV_CAP_DATA_POLLING_128, DVQ_EFA_DEVICE_DATA_POLLING_128,
	  DVQ_DEVICE_DATA_POLLING_128 },
	{ EFA_DEV_CAP_RDMA_WRITE, DVQ_EFA_DEVICE_RDMA_WRITE, DVQ_DEVICE_RDMA_WRITE },
	{ EFA_DEV_CAP_UNSOLICITED, DVQ_EFA_DEVICE_UNSOLICITED, DVQ_DEVICE_UNSOLICITED },
	{ EFA_DEV_CAP_64BIT_IDS, DVQ_EFA_DEVICE_64BIT_IDS, DVQ_DEVICE_64BIT_IDS },
};

static u32 stock_caps(struct efa_dev *dev)
{
	u32 mask = DVQ_EFA_DEVICE_CQ_WITH_SGID | DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM;
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(caps); n++)
		if (efa_has_cap(dev, caps[n].device))
			mask |= caps[n].stock;
	if (dev->num_eqs)
		mask |= DVQ_EFA_DEVICE_CQ_NOTIFICATIONS;
	if (efa_has_comp_cntrs(dev))
		mask |= DVQ_EFA_DEVICE_COMP_CNTR;
	return mask;
}

static u32 dvq_caps(struct efa_dev *dev)
{
	u32 mask = DVQ_DEVICE_SQ_ALWAYS_CMB;
	unsigned int n;

	for (n = 0; n < ARRAY_SIZE(caps); n++)
		if (efa_has_cap(dev, caps[n].device))
			mask |= caps[n].dvq;
	if (dev->num_eqs)
		mask |= DVQ_DEVICE_CQ_EVENTS;
	if (dev->attr.inline_buf_size_ex > EFA_WQE_INLINE)
		mask |= DVQ_DEVICE_WQE_128;
	return mask;
}

/* Before registration: the constant part of what dvq answers. */
void efa_fill_device_info(struct efa_dev *dev)
{
	struct dvq_device_info *info = &dev->dvq.info;
	const struct efa_attr *attr = &dev->attr;

	info->driver = DVQ_DRIVER_EFA;
	info->caps = dvq_caps(dev);
	info->sub_cqs_per_cq = attr->sub_cqs_per_cq;
	info->max_sq_wr = min(attr->max_sq_depth, attr->max_llq_size / EFA_WQE_SIZE);
	info->max_rq_desc = attr->max_rq_depth;
	info->max_send_sge = attr->max_send_sges;
	info->max_recv_sge = attr->max_recv_sges;
	info->max_rdma_sge = min_t(u32, attr->max_rdma_sges, 1);
	info->max_inline = min_t(u32, attr->inline_buf_size, EFA_WQE_INLINE);
	info->max_inline_ex = min_t(u32, attr->inline_buf_size_ex, EFA_WQE_INLINE_WIDE);
	info->max_sq_bytes = attr->max_llq_size;
	info->max_tx_batch = attr->max_tx_batch;
	info->min_sq_wr = attr->min_sq_depth;
	info->max_rdma_size = attr->max_rdma_size;
	info->max_ah = attr->max_ah;
}

static int respond_device(struct efa_dev *dev, struct ib_udata *udata)
{
	struct dvq_efa_device_resp resp = {
		.max_sq_wr = dev->attr.max_sq_depth,
		.max_rq_wr = dev->attr.max_rq_depth,
		.max_sq_sge = dev->attr.max_send_sges,
		.max_rq_sge = dev->attr.max_recv_sges,
		.max_rdma_size = dev->attr.max_rdma_size,
		.device_caps = stock_caps(dev),
	};

	return ib_respond_udata(udata, resp);
}

/* The core's limits are signed on some kernels. */
static u32 limit(u32 value)
{
	return min_t(u32, value, INT_MAX);
}

int efa_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibdev);
	const struct efa_attr *from = &dev->attr;
	int ret;

	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;

	attr->vendor_id = dev->pdev->vendor;
	attr->vendor_part_id = dev->pdev->device;
	attr->hw_ver = dev->pdev->subsystem_device;
	attr->max_mr_size = (u64)from->max_mr_pages * PAGE_SIZE;
	attr->page_size_cap = from->page_size_cap;
	attr->max_qp = limit(from->max_qp);
	attr->max_qp_wr = limit(min(from->max_sq_depth, from->max_rq_depth));
	attr->max_send_sge = from->max_send_sges;
	attr->max_recv_sge = from->max_recv_sges;
	attr->max_sge_rd = from->max_rdma_sges;
	attr->max_cq = limit(from->max_cq);
	attr->max_cqe = limit(from->max_cq_depth);
	attr->max_mr = limit(from->max_mr);
	attr->max_pd = limit(from->max_pd);
	attr->max_ah = limit(from->max_ah);
	attr->max_pkeys = 1;

	/* The core itself asks without anyone to respond to. */
	return udata ? respond_device(dev, udata) : 0;
}

/* ---- port ------------------------------------------------------------------------- */

static const struct {
	u32 gbps;
	u16 speed;
	u8 width;
} links[] = {
	{ 1600, IB_SPEED_XDR, IB_WIDTH_8X },
	{ 800, IB_SPEED_NDR, IB_WIDTH_8X },
	{ 400, IB_SPEED_HDR, IB_WIDTH_8X },
	{ 200, IB_SPEED_HDR, IB_WIDTH_4X },
	{ 120, IB_SPEED_FDR10, IB_WIDTH_12X },
	{ 100, IB_SPEED_EDR, IB_WIDTH_4X },
	{ 60, IB_SPEED_DDR, IB_WIDTH_12X },
	{ 50, IB_SPEED_HDR, IB_WIDTH_1X },
	{ 40, IB_SPEED_FDR10, IB_WIDTH_4X },
	{ 30, IB_SPEED_SDR, IB_WIDTH_12X },
	{ 0, IB_SPEED_EDR, IB_WIDTH_1X },
};

static u32 link_gbps(struct efa_dev *dev)
{
	return dev->attr.max_link_speed_gbps ?: DEFAULT_SPEED_GBPS;
}

static void fill_link(struct efa_dev *dev, struct ib_port_attr *attr)
{
	unsigned int n = 0;

	while (links[n].gbps > link_gbps(dev))
		n++;
	attr->active_speed = links[n].speed;
	attr->active_width = links[n].width;
}

/* The largest of the verbs' sizes that is not above the device's. */
static enum ib_mtu mtu_enum(u32 mtu)
{
	if (mtu >= 4096)
		return IB_MTU_4096;
	if (mtu >= 2048)
		return IB_MTU_2048;
	if (mtu >= 1024)
		return IB_MTU_1024;
	if (mtu >= 512)
		return IB_MTU_512;
	return IB_MTU_256;
}

int efa_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct efa_dev *dev = to_efa_dev(ibdev);

	attr->lmc = 1;
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	if (completion_done(&dev->stopped)) {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_mtu = mtu_enum(dev->attr.mtu);
	attr->active_mtu = attr->max_mtu;
	attr->max_msg_sz = dev->attr.mtu;
	attr->max_vl_num = 1;
	fill_link(dev, attr);
	return 0;
}

int efa_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed)
{
	*speed = link_gbps(to_efa_dev(ibdev)) * SPEED_PER_GBPS;
	return 0;
}

/* One address for every index: the core asks for 0 only. */
int efa_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	*gid = to_efa_dev(ibdev)->attr.gid;
	return 0;
}

int efa_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = 0xffff;
	return 0;
}

enum rdma_link_layer efa_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_UNSPECIFIED;
}

int efa_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	return 0;
}
