// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory of the kernel: all of it, under key 0, for QPs of a PD that asked for that; and
 * regions of which a command makes only the key. What they are is said by work requests,
 * which give the device a table of pages that is ours as long as the region is.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "dion.h"

#define REMOTE_ACCESS	(IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* What a request may say about the peer. */
#define REG_ACCESS	(IB_ACCESS_LOCAL_WRITE | REMOTE_ACCESS | IB_ZERO_BASED)

/* Before the PD has any QP: the core asks when it makes the PD. */
struct ib_mr *dion_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct dion_pd *pd = to_dion_pd(ibpd);
	struct dion_mr *mr;

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	pd->privileges |= IONIC_QP_PRIVILEGED;
	if (access & REMOTE_ACCESS)
		pd->privileges |= IONIC_QP_REMOTE_PRIV;
	return &mr->ibmr;
}

static int tell_mr(struct dion_dev *dev, u32 key, u32 pd)
{
	const struct ionic_aq_create_mr cmd = {
		.header = DION_AQ_HEADER(CREATE_MR, struct ionic_aq_create_mr),
		.pd = cpu_to_le32(pd),
		.key = cpu_to_le32(key),
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
		.flags = cpu_to_le16(IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE),
	};

	return dion_admin_exec(dev, &cmd);
}

static int get_key(struct dion_dev *dev, struct dion_mr *mr, u32 pd)
{
	u32 key;
	int ret;

	ret = dion_key_new(dev, &key);
	if (ret)
		return ret;
	ret = tell_mr(dev, key, pd);
	if (ret) {
		dion_key_put(dev, key);
		return ret;
	}
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	return 0;
}

/* One page needs no table: the request has its address. */
static int get_table(struct dion_dev *dev, struct dion_mr *mr)
{
	if (mr->max_pages <= 1)
		return 0;
	return dion_memory_get(dev, &mr->table, mr->max_pages * sizeof(__le64));
}

struct ib_mr *dion_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_pages)
{
	struct dion_dev *dev = to_dion_dev(ibpd->device);
	struct dion_mr *mr;
	int ret;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_pages || max_pages > dev->dvq.ibdev.attrs.max_fast_reg_page_list_len)
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->max_pages = max_pages;
	ret = get_table(dev, mr);
	if (ret)
		goto err_free;
	ret = get_key(dev, mr, to_dion_pd(ibpd)->id);
	if (ret)
		goto err_put_table;
	return &mr->ibmr;

err_put_table:
	dion_memory_put(dev, &mr->table);
err_free:
	kfree(mr);
	return ERR_PTR(ret);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct dion_mr *mr = to_dion_mr(ibmr);
	__le64 *table = mr->table.cpu;

	if (mr->pages >= mr->max_pages)
		return -ENOMEM;
	if (!mr->pages)
		mr->only_page = addr;
	if (table)
		table[mr->pages] = cpu_to_le64(addr);
	mr->pages++;
	return 0;
}

int dion_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int count, unsigned int *offset)
{
	if (!(dion_page_sizes(to_dion_dev(ibmr->device)) & ibmr->page_size)) {
		ibdev_dbg(ibmr->device, "no pages of %u bytes\n", ibmr->page_size);
		return -EINVAL;
	}
	to_dion_mr(ibmr)->pages = 0;
	return ib_sg_to_pages(ibmr, sg, count, offset, set_page);
}

/**
 * dion_fill_reg_mr() - what a request that registers a region says of it
 * @dev: the device
 * @wqe: the request; zeroed
 * @wr: the same as the user of the verbs says it
 *
 * Return: 0; -EINVAL: nothing was mapped; -EOPNOTSUPP: access that is not offered.
 */
int dion_fill_reg_mr(struct dion_dev *dev, struct ionic_wqe_reg_mr *wqe,
		     const struct ib_reg_wr *wr)
{
	const struct dion_mr *mr = to_dion_mr(wr->mr);
	u64 in_page = mr->ibmr.iova & (mr->ibmr.page_size - 1);

	if (wr->access & ~(REG_ACCESS | IB_ACCESS_OPTIONAL))
		return -EOPNOTSUPP;
	if (!mr->pages)
		return -EINVAL;
	wqe->header.num_sge = wr->key & IONIC_KEY_TAG;
	wqe->header.imm_key_length = cpu_to_be32(mr->ibmr.lkey);
	wqe->va = cpu_to_be64(mr->ibmr.iova);
	wqe->length = cpu_to_be64(mr->ibmr.length);
	if (mr->pages > 1) {
		wqe->offset = cpu_to_be64(in_page);
		wqe->addr = cpu_to_be64(mr->table.dma);
	} else {
		wqe->addr = cpu_to_be64(mr->only_page + in_page);
	}
	wqe->pages = cpu_to_be32(mr->pages);
	wqe->flags = cpu_to_be16(dion_mr_flags(wr->access));
	wqe->page_log2 = ilog2(mr->ibmr.page_size);
	return 0;
}
