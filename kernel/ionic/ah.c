// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Address handles: headers that the device keeps for datagram queues. */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

static_assert(sizeof(struct dvq_ionic_ah_resp) == 8);

/* choice: without a flow label the port that the in-tree driver uses for all */
#define DEFAULT_UDP_PORT	28272

static u16 udp_port(const struct rdma_ah_attr *attr)
{
	u32 flow_label = rdma_ah_read_grh(attr)->flow_label;

	return flow_label ? rdma_flow_label_to_udp_sport(flow_label) : DEFAULT_UDP_PORT;
}

static int tell_ah(struct dion_dev *dev, u32 ah, u32 pd, struct dion_header *header)
{
	struct ionic_aq_create_ah cmd = {
		.header = DION_AQ_HEADER(CREATE_AH, struct ionic_aq_create_ah),
		.hdr_len = cpu_to_le32(header->len),
		.pd = cpu_to_le32(pd),
		.ah = cpu_to_le32(ah),
		.hdr_profile = header->profile,
	};
	struct device *dma_device = dion_dma_device(dev);
	dma_addr_t addr;
	int ret;

	addr = dma_map_single(dma_device, header->bytes, sizeof(header->bytes), DMA_TO_DEVICE);
	if (dma_mapping_error(dma_device, addr))
		return -ENOMEM;
	cmd.hdr_addr = cpu_to_le64(addr);
	ret = dion_admin_exec(dev, &cmd);
	dma_unmap_single(dma_device, addr, sizeof(header->bytes), DMA_TO_DEVICE);
	return ret;
}

static int create(struct dion_dev *dev, struct dion_ah *ah, u32 pd,
		  const struct rdma_ah_attr *attr)
{
	struct dion_header *header;
	int ret;

	header = dion_header_new(attr, udp_port(attr), INET_ECN_NOT_ECT);
	if (IS_ERR(header))
		return PTR_ERR(header);
	ret = dion_numbers_get(&dev->ahs);
	if (ret < 0)
		goto out;
	ah->dvq.ah_num = ret;
	ret = tell_ah(dev, ah->dvq.ah_num, pd, header);
	if (ret)
		dion_numbers_put(&dev->ahs, ah->dvq.ah_num);
	else
		atomic_inc(&dev->dvq.ahs);
out:
	kfree(header);
	return ret;
}

/* As of windows, see dion_dealloc_mw(). */
int dion_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct dion_dev *dev = to_dion_dev(ibah->device);
	struct dion_ah *ah = to_dion_ah(ibah);
	bool refused = false;

	while (dion_admin_exec_destroy(dev, IONIC_AQ_DESTROY_AH, ah->dvq.ah_num, &refused))
		;
	dion_numbers_put(&dev->ahs, ah->dvq.ah_num);
	atomic_dec(&dev->dvq.ahs);
	return 0;
}

int dion_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibah->device);
	struct dion_ah *ah = to_dion_ah(ibah);
	struct dvq_ionic_ah_resp resp = {};
	int ret;

	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;
	ret = create(dev, ah, to_dion_pd(ibah->pd)->id, attr->ah_attr);
	if (ret)
		return ret;
	resp.ahid = ah->dvq.ah_num;
	ret = ib_respond_udata(udata, resp);
	if (ret)
		dion_destroy_ah(ibah, RDMA_DESTROY_AH_SLEEPABLE);
	return ret;
}
