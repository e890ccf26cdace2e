// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* What the adapter and its port are. */
#include <linux/etherdevice.h>
#include <linux/sysfs.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

#define GID_TABLE_LENGTH	256
#define PKEY_TABLE_LENGTH	1
#define LINK_LOCAL_PREFIX	0xfe80000000000000ULL

/* Page sizes were told from version 2.1 on. */
unsigned long dion_page_sizes(const struct dion_dev *dev)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;

	if (rdma->version > 2 || (rdma->version == 2 && rdma->minor_version >= 1))
		return le64_to_cpu(rdma->page_sizes);
	return IONIC_RDMA_PAGE_SIZES;
}

u32 dion_max_sge(const struct dion_dev *dev)
{
	u32 room = BIT(dev->eth.rdma.max_stride_log2) - IONIC_WQE_PAYLOAD;

	return min_t(u32, room / sizeof(struct ionic_sge), DION_MAX_SGE);
}

int dion_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibdev);
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = dev->eth.pdev->vendor;
	attr->vendor_part_id = dev->eth.pdev->device;
	attr->hw_ver = dev->eth.asic_rev;
	attr->device_cap_flags = IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B;
	attr->max_mr_size = (u64)le32_to_cpu(rdma->page_table_entries) * PAGE_SIZE / 2;
	attr->page_size_cap = dion_page_sizes(dev);
	attr->max_qp = le32_to_cpu(rdma->sq.count);
	attr->max_qp_wr = DION_MAX_WR;
	attr->max_send_sge = dion_max_sge(dev);
	attr->max_recv_sge = dion_max_sge(dev);
	attr->max_sge_rd = dion_max_sge(dev);
	attr->max_cq = le32_to_cpu(rdma->cq.count) / DION_PIPELINES;
	attr->max_cqe = DION_MAX_CQE;
	attr->max_mr = le32_to_cpu(rdma->mrs);
	attr->max_mw = le32_to_cpu(rdma->mrs);
	attr->max_pd = DION_MAX_PD;
	attr->max_ah = le32_to_cpu(rdma->ahs);
	attr->max_pkeys = PKEY_TABLE_LENGTH;
	attr->max_qp_rd_atom = DION_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = DION_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = DION_MAX_RD_ATOMIC * attr->max_qp;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	/* There is no opcode for masked atomics. */
	attr->masked_atomic_cap = IB_ATOMIC_NONE;
	attr->max_fast_reg_page_list_len = le32_to_cpu(rdma->page_table_entries) / 2;
	return 0;
}

/* The constant part of what dvq answers for the device. */
void dion_fill_device_info(struct dion_dev *dev)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;
	struct dvq_device_info *info = &dev->dvq.info;
	u32 stride = BIT(rdma->max_stride_log2);

	info->driver = DVQ_DRIVER_IONIC;
	info->caps = DVQ_DEVICE_RDMA_READ | DVQ_DEVICE_RDMA_WRITE | DVQ_DEVICE_RNR_RETRY |
		     DVQ_DEVICE_CQ_EVENTS;
	info->sub_cqs_per_cq = 1;
	info->max_sq_wr = DION_MAX_WR;
	info->max_rq_desc = DION_MAX_WR;
	info->max_send_sge = dion_max_sge(dev);
	info->max_recv_sge = dion_max_sge(dev);
	info->max_rdma_sge = dion_max_sge(dev);
	info->max_inline = IONIC_WQE_SIZE_MIN - IONIC_WQE_PAYLOAD;
	info->max_inline_ex = stride - IONIC_WQE_PAYLOAD;
	info->max_rdma_size = IONIC_MSG_MAX;
	info->pipelines = DION_PIPELINES;
	info->max_ah = le32_to_cpu(rdma->ahs);
	info->wqe_version = rdma->version < 2 ? 1 : 2;
	dion_fill_placement_info(dev);
}

int dion_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = to_dion_dev(ibdev)->eth.netdev;
	bool up = netif_running(netdev) && netif_carrier_ok(netdev);

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	if (up)
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	else if (netif_running(netdev))
		attr->phys_state = IB_PORT_PHYS_STATE_POLLING;
	else
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	attr->max_mtu = iboe_get_mtu(netdev->max_mtu);
	attr->active_mtu = iboe_get_mtu(netdev->mtu);
	attr->gid_tbl_len = GID_TABLE_LENGTH;
	attr->pkey_tbl_len = PKEY_TABLE_LENGTH;
	attr->ip_gids = true;
	attr->max_msg_sz = IONIC_MSG_MAX;
	attr->max_vl_num = 1;
	attr->subnet_prefix = LINK_LOCAL_PREFIX;
	return ib_get_eth_speed(ibdev, port, &attr->active_speed, &attr->active_width);
}

int dion_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= PKEY_TABLE_LENGTH)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

enum rdma_link_layer dion_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

int dion_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->gid_tbl_len = GID_TABLE_LENGTH;
	immutable->pkey_tbl_len = PKEY_TABLE_LENGTH;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

int dion_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *attr)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, attr->node_desc, IB_DEVICE_NODE_DESC_MAX);
	return 0;
}

void dion_get_fw_str(struct ib_device *ibdev, char *text)
{
	strscpy(text, to_dion_dev(ibdev)->eth.fw_version, IB_FW_VERSION_NAME_MAX);
}

/* ---- sysfs ------------------------------------------------------------------- */

static struct dion_dev *from_device(struct device *device)
{
	return rdma_device_to_drv_device(device, struct dion_dev, dvq.ibdev);
}

static ssize_t hw_rev_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "0x%x\n", from_device(device)->eth.asic_rev);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t hca_type_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "dvq_ionic\n");
}
static DEVICE_ATTR_RO(hca_type);

static struct attribute *attrs[] = {
	&dev_attr_hw_rev.attr,
	&dev_attr_hca_type.attr,
	&dvq_attr_sq_placement.attr,
	&dvq_attr_rq_placement.attr,
	NULL
};

const struct attribute_group dion_attr_group = {
	.attrs = attrs,
};
