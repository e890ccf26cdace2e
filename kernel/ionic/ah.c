// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles: headers that the device keeps for datagram queues. Those of the kernel
 * come and go in any context.
 */
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

static int exec(struct dion_dev *dev, const void *cmd, gfp_t gfp)
{
	return gfpflags_allow_blocking(gfp) ? dion_admin_exec(dev, cmd) :
					      dion_admin_exec_atomic(dev, cmd);
}

static void unmap(struct dion_dev *dev, struct dion_header *header)
{
	dma_unmap_single(dion_dma_device(dev), header->addr, sizeof(header->bytes), DMA_TO_DEVICE);
}

/* Takes @header over. */
static int tell_ah(struct dion_dev *dev, u32 ah, u32 pd, struct dion_header *header, gfp_t gfp)
{
	struct ionic_aq_create_ah cmd = {
		.header = DION_AQ_HEADER(CREATE_AH, struct ionic_aq_create_ah),
		.hdr_len = cpu_to_le32(header->len),
		.pd = cpu_to_le32(pd),
		.ah = cpu_to_le32(ah),
		.hdr_profile = header->profile,
	};
	struct device *dma_device = dion_dma_device(dev);
	int ret;

	header->addr = dma_map_single(dma_device, header->bytes, sizeof(header->bytes),
				      DMA_TO_DEVICE);
	if (dma_mapping_error(dma_device, header->addr)) {
		kfree(header);
		return -ENOMEM;
	}
	cmd.hdr_addr = cpu_to_le64(header->addr);
	ret = exec(dev, &cmd, gfp);
	if (ret == -ETIMEDOUT) {
		/* The device may read it until it has been stopped. */
		llist_add(&header->abandoned, &dev->abandoned);
		return ret;
	}
	unmap(dev, header);
	kfree(header);
	return ret;
}

/* The device has been stopped. */
void dion_free_abandoned(struct dion_dev *dev)
{
	struct dion_header *header, *next;

	llist_for_each_entry_safe(header, next, llist_del_all(&dev->abandoned), abandoned) {
		unmap(dev, header);
		kfree(header);
	}
}

static int create(struct dion_ah *ah, const struct rdma_ah_attr *attr, gfp_t gfp)
{
	struct dion_dev *dev = to_dion_dev(ah->dvq.ibah.device);
	struct dion_header *header;
	int ret;

	header = dion_header_new(attr, udp_port(attr), INET_ECN_NOT_ECT, gfp);
	if (IS_ERR(header))
		return PTR_ERR(header);
	ret = dion_numbers_get(&dev->ahs, gfp);
	if (ret < 0) {
		kfree(header);
		return ret;
	}
	ah->dvq.ah_num = ret;
	ret = tell_ah(dev, ah->dvq.ah_num, to_dion_pd(ah->dvq.ibah.pd)->id, header, gfp);
	if (ret) {
		dion_numbers_put(&dev->ahs, ah->dvq.ah_num);
		return ret;
	}
	atomic_inc(&dev->dvq.ahs);
	ah->attr = *attr;
	/* The core holds that reference, for as long as it likes. */
	ah->attr.grh.sgid_attr = NULL;
	return 0;
}

static void put_number(struct dion_dev *dev, u32 number)
{
	dion_numbers_put(&dev->ahs, number);
	atomic_dec(&dev->dvq.ahs);
}

/* The number stays taken if the device refuses to forget it. */
static void gone(struct dion_dev *dev, u32 number, int ret)
{
	if (!ret || ret == -ENODEV)
		put_number(dev, number);
	else
		ibdev_warn(&dev->dvq.ibdev, "refuses to destroy AH %u: %d\n", number, ret);
}

int dion_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct dion_dev *dev = to_dion_dev(ibah->device);
	struct dion_ah *ah = to_dion_ah(ibah);

	dvq_ah_cleanup(&ah->dvq);
	if (ah->farewell) {
		dion_farewell_send(ah->farewell, ah->dvq.ah_num);
		return 0;
	}
	if (dion_admin_forget(dev, IONIC_AQ_DESTROY_AH, ah->dvq.ah_num))
		put_number(dev, ah->dvq.ah_num);
	return 0;
}

int dion_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			struct ib_udata *udata)
{
	struct dion_ah *ah = to_dion_ah(ibah);
	struct dvq_ionic_ah_resp resp = {};
	int ret;

	ret = ib_is_udata_in_empty(udata);
	if (ret)
		return ret;
	ret = create(ah, attr->ah_attr, GFP_KERNEL);
	if (ret)
		return ret;
	resp.ahid = ah->dvq.ah_num;
	ret = ib_respond_udata(udata, resp);
	if (ret)
		dion_destroy_ah(ibah, RDMA_DESTROY_AH_SLEEPABLE);
	return ret;
}

/* Of the kernel. */
int dion_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	gfp_t gfp = attr->flags & RDMA_CREATE_AH_SLEEPABLE ? GFP_KERNEL : GFP_ATOMIC;
	struct dion_ah *ah = to_dion_ah(ibah);
	int ret;

	ah->farewell = dion_farewell_new(to_dion_dev(ibah->device), IONIC_AQ_DESTROY_AH, gone, gfp);
	if (!ah->farewell)
		return -ENOMEM;
	ret = create(ah, attr->ah_attr, gfp);
	if (ret)
		dion_farewell_free(ah->farewell);
	return ret;
}

int dion_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_dion_ah(ibah)->attr;
	return 0;
}
