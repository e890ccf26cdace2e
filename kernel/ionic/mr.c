// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions and windows. Their key is an index, which is ours to choose, and a tag
 * of 8 bits that differs from one key to the next, so that a stale key is found out.
 * fastreg.c has regions of the kernel.
 */
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

#define SUPPORTED_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
				 IB_ACCESS_MW_BIND | IB_ZERO_BASED | IB_ACCESS_HUGETLB)

int dion_key_new(struct dion_dev *dev, u32 *key)
{
	int index = dion_numbers_get(&dev->mrs, GFP_KERNEL);

	if (index < 0)
		return index;
	*key = FIELD_PREP(IONIC_KEY_MR, index) |
	       ((u32)atomic_inc_return(&dev->key_tag) & IONIC_KEY_TAG);
	return 0;
}

void dion_key_put(struct dion_dev *dev, u32 key)
{
	dion_numbers_put(&dev->mrs, FIELD_GET(IONIC_KEY_MR, key));
}

/* ---- regions ----------------------------------------------------------------- */

/* Only what access allows. */
u16 dion_mr_flags(int access)
{
	static const struct {
		int verbs;
		u16 device;
	} bits[] = {
		{ IB_ACCESS_LOCAL_WRITE, IONIC_MR_LOCAL_WRITE },
		{ IB_ACCESS_REMOTE_WRITE, IONIC_MR_REMOTE_WRITE },
		{ IB_ACCESS_REMOTE_READ, IONIC_MR_REMOTE_READ },
		{ IB_ACCESS_REMOTE_ATOMIC, IONIC_MR_REMOTE_ATOMIC },
		{ IB_ACCESS_MW_BIND, IONIC_MR_MW_BIND },
		{ IB_ZERO_BASED, IONIC_MR_ZERO_BASED },
	};
	u16 flags = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bits); i++)
		if (access & bits[i].verbs)
			flags |= bits[i].device;
	return flags;
}

static int check_access(struct dion_dev *dev, int access)
{
	/* What is in the optional range may be ignored, and is. */
	if (access & ~(SUPPORTED_ACCESS | IB_ACCESS_OPTIONAL)) {
		ibdev_dbg(&dev->dvq.ibdev, "no MR with access %#x\n", access);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int tell_mr(struct dion_dev *dev, u32 key, u32 pd, struct ib_umem *umem, u64 iova,
		   int access)
{
	struct ionic_aq_create_mr cmd = {
		.header = DION_AQ_HEADER(CREATE_MR, struct ionic_aq_create_mr),
		.va = cpu_to_le64(iova),
		.length = cpu_to_le64(umem->length),
		.pd = cpu_to_le32(pd),
		.key = cpu_to_le32(key),
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
		.flags = cpu_to_le16(dion_mr_flags(access)),
	};
	struct dion_pagelist list = {};
	unsigned long page_size;
	int ret;

	page_size = dvq_mr_in_range(iova, umem->length) ?
		    ib_umem_find_best_pgsz(umem, dion_page_sizes(dev), iova) : 0;
	if (!page_size) {
		ibdev_dbg(&dev->dvq.ibdev, "no page size fits MR of %zu bytes at %#llx\n",
			  umem->length, iova);
		return -EINVAL;
	}
	ret = dion_pagelist_init(dev, &list, umem, page_size, iova);
	if (ret)
		return ret;
	cmd.pages = cpu_to_le32(list.pages);
	cmd.addr = cpu_to_le64(list.addr);
	cmd.page_log2 = list.page_log2;
	ret = dion_admin_exec(dev, &cmd);
	dion_pagelist_cleanup(dev, &list);
	return ret;
}

/* Takes @umem over, also when it fails. */
static struct ib_mr *new_mr(struct ib_pd *ibpd, struct ib_umem *umem, u64 iova, int access)
{
	struct dion_dev *dev = to_dion_dev(ibpd->device);
	struct dion_mr *mr;
	u32 key;
	int ret;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr) {
		ret = -ENOMEM;
		goto err_release;
	}
	ret = dion_key_new(dev, &key);
	if (ret)
		goto err_free;
	ret = tell_mr(dev, key, to_dion_pd(ibpd)->id, umem, iova, access);
	if (ret)
		goto err_put_key;
	mr->umem = umem;
	mr->ibmr.lkey = key;
	mr->ibmr.rkey = key;
	mr->ibmr.iova = iova;
	mr->ibmr.length = umem->length;
	return &mr->ibmr;

err_put_key:
	dion_key_put(dev, key);
err_free:
	kfree(mr);
err_release:
	ib_umem_release(umem);
	return ERR_PTR(ret);
}

struct ib_mr *dion_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata)
{
	int ret;

	ret = ib_no_udata_io(udata);
	if (!ret && dmah)
		ret = -EOPNOTSUPP;
	if (!ret)
		ret = check_access(to_dion_dev(ibpd->device), access);
	if (ret)
		return ERR_PTR(ret);
	return new_mr(ibpd, ib_umem_get_va(ibpd->device, start, length, access), iova, access);
}

struct ib_mr *dion_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	struct ib_umem_dmabuf *dmabuf;
	int ret;

	ret = ib_no_udata_io(&attrs->driver_udata);
	if (!ret && dmah)
		ret = -EOPNOTSUPP;
	if (!ret)
		ret = check_access(to_dion_dev(ibpd->device), access);
	if (ret)
		return ERR_PTR(ret);

	dmabuf = ib_umem_dmabuf_get_pinned(ibpd->device, offset, length, fd, access);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	return new_mr(ibpd, &dmabuf->umem, iova, access);
}

/*
 * Users bind windows by requests, of which we see nothing, and a device may refuse to let go of a
 * region that a window is bound to. Only windows of its PD can be, so while there are any a refusal
 * says nothing about the device. When the core cleans up it comes back for what was refused as long
 * as anything else goes, and windows always go.
 *
 * @bound: there may have been such a window
 */
static int destroy_region(struct dion_dev *dev, struct dion_mr *mr, bool *bound)
{
	struct dion_pd *pd = to_dion_pd(mr->ibmr.pd);
	u32 key = mr->ibmr.lkey;
	int gone, ret;

	/* Before the device is asked; pairs with the order of dion_dealloc_mw(). */
	gone = atomic_read_acquire(&pd->windows_gone);
	ret = dion_admin_ask_destroy(dev, IONIC_AQ_DESTROY_MR, key);
	/* All that were made until now were gone before, or one was there in between. */
	*bound = atomic_read(&pd->windows_made) != gone;
	if (ret && *bound) {
		ibdev_dbg(&dev->dvq.ibdev, "MR %#x may have windows: %d\n", key, ret);
		mr->refused = false;
		return ret;
	}
	if (ret)
		ret = dion_admin_refused(dev, IONIC_AQ_DESTROY_MR, key, ret, &mr->refused);
	if (!ret)
		dion_key_put(dev, key);
	return ret;
}

int dion_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibmr->device);
	struct dion_mr *mr = to_dion_mr(ibmr);
	bool bound = false;
	int ret = 0;

	/* Nobody tries again to destroy one of the kernel. */
	if (!udata)
		mr->refused = true;
	/* All memory is no region of the device; the tag may be another by now. */
	if (FIELD_GET(IONIC_KEY_MR, ibmr->lkey)) {
		do
			ret = destroy_region(dev, mr, &bound);
		while (ret && !bound && dvq_mr_is_cleanup(ibmr, udata));
	}
	if (ret)
		return ret;
	ib_umem_release(mr->umem);
	dion_memory_put(dev, &mr->table);
	kfree(mr);
	return 0;
}

/* ---- windows ----------------------------------------------------------------- */

static int tell_mw(struct dion_dev *dev, u32 key, u32 pd, enum ib_mw_type type)
{
	u16 flags = IONIC_MR_USER_KEY | IONIC_MR_WINDOW;
	struct ionic_aq_create_mr cmd = {
		.header = DION_AQ_HEADER(CREATE_MR, struct ionic_aq_create_mr),
		.pd = cpu_to_le32(pd),
		.key = cpu_to_le32(key),
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
	};

	if (type == IB_MW_TYPE_2)
		flags |= IONIC_MR_INVALIDATE;
	cmd.flags = cpu_to_le16(flags);
	return dion_admin_exec(dev, &cmd);
}

int dion_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibmw->device);
	struct dion_pd *pd = to_dion_pd(ibmw->pd);
	u32 key;
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	ret = dion_key_new(dev, &key);
	if (ret)
		return ret;
	atomic_inc(&pd->windows_made);
	ret = tell_mw(dev, key, pd->id, ibmw->type);
	if (ret) {
		atomic_inc(&pd->windows_gone);
		dion_key_put(dev, key);
		return ret;
	}
	ibmw->rkey = key;
	return 0;
}

/* The tag of the key may be another by now; the index is what counts. */
int dion_dealloc_mw(struct ib_mw *ibmw)
{
	struct dion_dev *dev = to_dion_dev(ibmw->device);

	if (dion_admin_forget(dev, IONIC_AQ_DESTROY_MR, ibmw->rkey))
		dion_key_put(dev, ibmw->rkey);
	/*
	 * After the answer: from here on no region is bound to it. If the device thinks otherwise it keeps
	 * a region, whose memory is worth a reset.
	 */
	atomic_inc_return_release(&to_dion_pd(ibmw->pd)->windows_gone);
	return 0;
}
