// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory regions of user memory and of dma-bufs. */
#define UVERBS_MODULE_NAME dvq_efa

#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_named_ioctl.h>

#include "cmd.h"
#include "efa.h"
#include "pagelist.h"

/* The values are the device's and the user's. */
static_assert(EFA_MR_IC_RECV == DVQ_EFA_MR_IC_RECV);
static_assert(EFA_MR_IC_RDMA_READ == DVQ_EFA_MR_IC_RDMA_READ);
static_assert(EFA_MR_IC_RDMA_RECV == DVQ_EFA_MR_IC_RDMA_RECV);

#define IC_TOLD		(EFA_MR_IC_RECV | EFA_MR_IC_RDMA_READ | EFA_MR_IC_RDMA_RECV)
/* what a REG_MR command can say, however much more the device can do */
#define MAX_PAGE_SHIFT	31

/* The rights that can be asked for, and what the device calls and needs for each. */
static const struct {
	int access;
	u8 permission;
	u32 cap;
} rights[] = {
	{ IB_ACCESS_LOCAL_WRITE,	EFA_MR_LOCAL_WRITE,	0 },
	{ IB_ACCESS_REMOTE_WRITE,	EFA_MR_REMOTE_WRITE,	EFA_DEV_CAP_RDMA_WRITE },
	{ IB_ACCESS_REMOTE_READ,	EFA_MR_REMOTE_READ,	EFA_DEV_CAP_RDMA_READ },
};

/* The permissions, or -EOPNOTSUPP. Optional rights are for others to grant. */
static int access_to_permissions(struct efa_dev *dev, int access)
{
	int permissions = 0;
	unsigned int n;

	access &= ~IB_ACCESS_OPTIONAL;
	for (n = 0; n < ARRAY_SIZE(rights); n++) {
		if (!(access & rights[n].access))
			continue;
		if (rights[n].cap && !efa_has_cap(dev, rights[n].cap))
			break;
		permissions |= rights[n].permission;
		access &= ~rights[n].access;
	}
	if (access) {
		ibdev_dbg(&dev->dvq.ibdev, "MR with access rights %#x, which do not exist\n",
			  access);
		return -EOPNOTSUPP;
	}
	return permissions;
}

static int register_umem(struct efa_dev *dev, struct efa_mr *mr, u16 pdn, u64 virt_addr,
			 u8 permissions)
{
	struct efa_reg_mr_params params = {
		.pdn = pdn,
		.iova = virt_addr,
		.length = mr->umem->length,
		.permissions = permissions,
	};
	struct efa_page_list list;
	unsigned long page_size;
	int ret;

	page_size = ib_umem_find_best_pgsz(mr->umem, dev->attr.page_size_cap &
						     GENMASK_ULL(MAX_PAGE_SHIFT, 0), virt_addr);
	if (!page_size) {
		ibdev_dbg(&dev->dvq.ibdev, "MR at %#llx fits no page size\n", virt_addr);
		return -EOPNOTSUPP;
	}
	params.page_shift = ilog2(page_size);

	ret = efa_page_list_init(dev, &list, mr->umem, page_size);
	if (ret)
		return ret;
	params.pages = &list;
	ret = efa_cmd_reg_mr(dev, &params, &mr->resp);
	efa_page_list_cleanup(dev, &list);
	return ret;
}

/* Takes the umem over, also on failure; it may be an ERR_PTR. */
static struct ib_mr *new_mr(struct ib_pd *ibpd, struct ib_umem *umem, u64 virt_addr,
			    u8 permissions)
{
	struct efa_mr *mr;
	int ret;

	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = kzalloc_obj(*mr);
	if (!mr) {
		ret = -ENOMEM;
		goto err_release_umem;
	}
	mr->umem = umem;
	ret = register_umem(to_efa_dev(ibpd->device), mr, to_efa_pd(ibpd)->pdn, virt_addr,
			    permissions);
	if (ret)
		goto err_free_mr;

	mr->ibmr.lkey = le32_to_cpu(mr->resp.lkey);
	mr->ibmr.rkey = le32_to_cpu(mr->resp.rkey);
	mr->ibmr.iova = virt_addr;
	mr->ibmr.length = umem->length;
	return &mr->ibmr;

err_free_mr:
	kfree(mr);
err_release_umem:
	ib_umem_release(umem);
	return ERR_PTR(ret);
}

static struct ib_mr *count_failure(struct ib_pd *ibpd, struct ib_mr *ibmr)
{
	if (IS_ERR(ibmr))
		efa_count_error(to_efa_dev(ibpd->device), EFA_STAT_REG_MR);
	return ibmr;
}

/* The permissions, or why there can be no MR, whatever its memory. */
static int check_request(struct ib_pd *ibpd, u64 length, u64 virt_addr, int access,
			 struct ib_dmah *dmah, struct ib_udata *udata)
{
	int ret;

	if (!dvq_mr_in_range(virt_addr, length)) {
		ibdev_dbg(ibpd->device, "MR of %llu bytes at %#llx\n", length, virt_addr);
		return -EINVAL;
	}
	if (dmah)
		return -EOPNOTSUPP;
	ret = ib_no_udata_io(udata);
	return ret ?: access_to_permissions(to_efa_dev(ibpd->device), access);
}

struct ib_mr *efa_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata)
{
	int permissions = check_request(ibpd, length, virt_addr, access, dmah, udata);
	struct ib_umem *umem;

	if (permissions < 0)
		return count_failure(ibpd, ERR_PTR(permissions));
	umem = ib_umem_get_va(ibpd->device, start, length, access);
	return count_failure(ibpd, new_mr(ibpd, umem, virt_addr, permissions));
}

struct ib_mr *efa_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 virt_addr,
				     int fd, int access, struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs)
{
	int permissions = check_request(ibpd, length, virt_addr, access, dmah,
					&attrs->driver_udata);
	struct ib_umem_dmabuf *dmabuf;
	struct ib_umem *umem;

	if (permissions < 0)
		return count_failure(ibpd, ERR_PTR(permissions));
	/* Pinned: the device cannot be told that the exporter moves the memory. */
	dmabuf = ib_umem_dmabuf_get_pinned(ibpd->device, offset, length, fd, access);
	umem = IS_ERR(dmabuf) ? ERR_CAST(dmabuf) : &dmabuf->umem;
	return count_failure(ibpd, new_mr(ibpd, umem, virt_addr, permissions));
}

/* What the device does not let go of stays pinned, until it is stopped for that. */
int efa_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibmr->device);
	struct efa_mr *mr = to_efa_mr(ibmr);
	int ret;

	ret = efa_settle(efa_cmd_dereg_mr(dev, ibmr->lkey));
	if (ret && !dvq_mr_is_cleanup(ibmr, udata))
		return ret;
	/* Nobody is left to try again. */
	if (ret && efa_settle(efa_cmd_dereg_mr(dev, ibmr->lkey)))
		efa_device_halt(dev);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/* ---- the query method ------------------------------------------------------------- */

/* An id that the device has not told reads as 0. */
static int put_ic(struct uverbs_attr_bundle *attrs, u16 attr, bool told, u16 id)
{
	if (!uverbs_attr_is_valid(attrs, attr))
		return 0;
	id = told ? id : 0;
	return uverbs_copy_to(attrs, attr, &id, sizeof(id));
}

static int UVERBS_HANDLER(DVQ_EFA_METHOD_MR_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *ibmr = uverbs_attr_get_obj(attrs, DVQ_EFA_ATTR_MR_QUERY_HANDLE);
	const struct efa_reg_mr_resp *resp = &to_efa_mr(ibmr)->resp;
	u16 told = resp->ic_validity & IC_TOLD;
	int ret;

	ret = uverbs_copy_to(attrs, DVQ_EFA_ATTR_MR_QUERY_VALIDITY, &told, sizeof(told));
	if (!ret)
		ret = put_ic(attrs, DVQ_EFA_ATTR_MR_QUERY_RECV_IC, told & EFA_MR_IC_RECV,
			     resp->recv_ic);
	if (!ret)
		ret = put_ic(attrs, DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC,
			     told & EFA_MR_IC_RDMA_READ, resp->rdma_read_ic);
	if (!ret)
		ret = put_ic(attrs, DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC,
			     told & EFA_MR_IC_RDMA_RECV, resp->rdma_recv_ic);
	return ret;
}

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_EFA_METHOD_MR_QUERY,
	UVERBS_ATTR_IDR(DVQ_EFA_ATTR_MR_QUERY_HANDLE, UVERBS_OBJECT_MR, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_EFA_ATTR_MR_QUERY_VALIDITY, UVERBS_ATTR_TYPE(u16), UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_EFA_ATTR_MR_QUERY_RECV_IC, UVERBS_ATTR_TYPE(u16), UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC, UVERBS_ATTR_TYPE(u16),
			    UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC, UVERBS_ATTR_TYPE(u16),
			    UA_OPTIONAL));

ADD_UVERBS_METHODS(efa_mr_methods, UVERBS_OBJECT_MR, &UVERBS_METHOD(DVQ_EFA_METHOD_MR_QUERY));

const struct uapi_definition efa_mr_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &efa_mr_methods),
	{},
};
