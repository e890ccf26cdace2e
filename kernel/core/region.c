// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * DVQ_OBJECT_CMB: a region of controller memory that a process owns, may map, and may
 * name in the policy of a PD as the place for its queues.
 */
#define UVERBS_MODULE_NAME dvq

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_named_ioctl.h>

#include "core.h"

static struct dvq_pool_mmap *new_region(struct dvq_ucontext *ctx, size_t length)
{
	struct dvq_device *dev = to_dvq_device(ctx->ibucontext.device);
	struct dvq_pool_mmap *region;
	struct dvq_pool *pool;

	if (length > dev->info.cmb_bytes)
		return ERR_PTR(-ENOSPC);
	pool = dvq_pool_create(dev, round_up(length, dev->info.cmb_page));
	if (IS_ERR(pool))
		return ERR_CAST(pool);
	region = dvq_pool_mmap(ctx, pool);
	dvq_pool_put(pool);
	return region;
}

static int put_info(struct uverbs_attr_bundle *attrs, u16 attr,
		    const struct dvq_pool_mmap *region)
{
	struct dvq_cmb_info info = {
		.length = dvq_pool_length(region->pool),
		.key = dvq_mmap_key(&region->entry),
	};

	return uverbs_copy_to_struct_or_zero(attrs, attr, &info, sizeof(info));
}

static int UVERBS_HANDLER(DVQ_METHOD_CMB_ALLOC)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, DVQ_ATTR_CMB_ALLOC_HANDLE);
	struct dvq_ucontext *ctx = container_of(attrs->context, struct dvq_ucontext, ibucontext);
	struct dvq_device *dev = to_dvq_device(attrs->context->device);
	struct dvq_cmb_alloc req;
	struct dvq_pool_mmap *region;
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

	region = new_region(ctx, req.length);
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
	struct dvq_pool_mmap *region = uobj->object;

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

const struct uapi_definition dvq_region_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(DVQ_OBJECT_CMB),
	{},
};
