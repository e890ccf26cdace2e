// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Controller memory: for a work queue, or as DVQ_OBJECT_CMB, a region that a process
 * owns and maps.
 *
 * The region's pages belong to its mmap entry, not to the queue or uverbs object:
 * freeing that only takes the key away, and the pages go back to the driver when the
 * last mapping is gone too.
 */
#define UVERBS_MODULE_NAME dvq

#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_named_ioctl.h>

#include "core.h"

struct cmb_region {
	struct dvq_mmap entry;
	struct dvq_device *dev;
	struct dvq_cmb cmb;
};

static void give_back(struct dvq_mmap *entry)
{
	struct cmb_region *region = container_of(entry, struct cmb_region, entry);

	region->dev->ops->cmb_put(region->dev, &region->cmb);
}

static struct cmb_region *new_region(struct dvq_ucontext *ctx, const struct dvq_cmb *wanted,
				     enum dvq_mmap_kind kind)
{
	struct dvq_device *dev = to_dvq_device(ctx->ibucontext.device);
	struct cmb_region *region;
	int ret;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return ERR_PTR(-ENOMEM);

	region->dev = dev;
	region->cmb = *wanted;
	ret = dev->ops->cmb_get(dev, &region->cmb);
	if (ret)
		goto free_region;

	region->entry.kind = kind;
	region->entry.phys = region->cmb.addr;
	region->entry.length = region->cmb.length;
	region->entry.release = give_back;
	ret = dvq_mmap_publish(ctx, &region->entry);
	if (ret)
		goto put_cmb;
	return region;

put_cmb:
	dev->ops->cmb_put(dev, &region->cmb);
free_region:
	kfree(region);
	return ERR_PTR(ret);
}

struct dvq_mmap *dvq_cmb_mmap(struct dvq_ucontext *ctx, struct dvq_cmb *cmb,
			      enum dvq_mmap_kind kind)
{
	struct cmb_region *region = new_region(ctx, cmb, kind);

	if (IS_ERR(region))
		return ERR_CAST(region);
	*cmb = region->cmb;
	return &region->entry;
}
EXPORT_SYMBOL_GPL(dvq_cmb_mmap);

static int put_info(struct uverbs_attr_bundle *attrs, u16 attr, const struct cmb_region *region)
{
	struct dvq_cmb_info info = {
		.length = region->cmb.length,
		.key = dvq_mmap_key(&region->entry),
	};

	return uverbs_copy_to_struct_or_zero(attrs, attr, &info, sizeof(info));
}

static int UVERBS_HANDLER(DVQ_METHOD_CMB_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, DVQ_ATTR_CMB_ALLOC_HANDLE);
	struct dvq_ucontext *ctx = container_of(attrs->context, struct dvq_ucontext, ibucontext);
	struct dvq_device *dev = to_dvq_device(attrs->context->device);
	struct dvq_cmb wanted = {};
	struct dvq_cmb_alloc req;
	struct cmb_region *region;
	int ret;

	ret = uverbs_copy_from_or_zero(&req, attrs, DVQ_ATTR_CMB_ALLOC_REQ);
	if (ret)
		return ret;
	if (!dev->ops) {
		ibdev_dbg(&dev->ibdev, "no controller memory to allocate\n");
		return -EOPNOTSUPP;
	}
	if (!req.length || req.flags || req.reserved)
		return -EINVAL;
	if (req.length > dev->info.cmb_bytes)
		return -ENOSPC;

	wanted.length = round_up(req.length, dev->info.cmb_page);
	region = new_region(ctx, &wanted, DVQ_MMAP_DEVICE_MEM);
	if (IS_ERR(region))
		return PTR_ERR(region);

	uobj->object = region;
	uverbs_finalize_uobj_create(attrs, DVQ_ATTR_CMB_ALLOC_HANDLE);
	return put_info(attrs, DVQ_ATTR_CMB_ALLOC_INFO, region);
}

static int UVERBS_HANDLER(DVQ_METHOD_CMB_QUERY)(struct uverbs_attr_bundle *attrs)
{
	return put_info(attrs, DVQ_ATTR_CMB_QUERY_INFO,
			uverbs_attr_get_obj(attrs, DVQ_ATTR_CMB_QUERY_HANDLE));
}

static int free_region_object(struct ib_uobject *uobj, enum rdma_remove_reason why,
			      struct uverbs_attr_bundle *attrs)
{
	struct cmb_region *region = uobj->object;

	dvq_mmap_remove(&region->entry);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_CMB_ALLOC,
	UVERBS_ATTR_IDR(DVQ_ATTR_CMB_ALLOC_HANDLE, DVQ_OBJECT_CMB, UVERBS_ACCESS_NEW,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(DVQ_ATTR_CMB_ALLOC_REQ,
			   UVERBS_ATTR_STRUCT(struct dvq_cmb_alloc, reserved),
			   UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_CMB_ALLOC_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_cmb_info, key),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_CMB_QUERY,
	UVERBS_ATTR_IDR(DVQ_ATTR_CMB_QUERY_HANDLE, DVQ_OBJECT_CMB, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_CMB_QUERY_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_cmb_info, key),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD_DESTROY(
	DVQ_METHOD_CMB_FREE,
	UVERBS_ATTR_IDR(DVQ_ATTR_CMB_FREE_HANDLE, DVQ_OBJECT_CMB, UVERBS_ACCESS_DESTROY,
			UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(DVQ_OBJECT_CMB,
			    UVERBS_TYPE_ALLOC_IDR(free_region_object),
			    &UVERBS_METHOD(DVQ_METHOD_CMB_ALLOC),
			    &UVERBS_METHOD(DVQ_METHOD_CMB_QUERY),
			    &UVERBS_METHOD(DVQ_METHOD_CMB_FREE));

const struct uapi_definition dvq_cmb_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(DVQ_OBJECT_CMB),
	{},
};
