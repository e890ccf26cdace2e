// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The uverbs methods of DVQ_OBJECT. They read records and answer; what each call
 * means is written in dvq-abi.h.
 */
#define UVERBS_MODULE_NAME dvq

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_named_ioctl.h>

#include "core.h"

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_DEVICE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibctx = ib_uverbs_get_ucontext(attrs);
	struct dvq_device_info info;
	struct dvq_device *dev;

	if (IS_ERR(ibctx))
		return PTR_ERR(ibctx);

	dev = to_dvq_device(ibctx->device);
	info = dev->info;
	info.ahs = atomic_read(&dev->ahs);
	info.cmb_free = atomic64_read(&dev->cmb_free);
	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_DEVICE_INFO, &info,
					     sizeof(info));
}

static bool place_is_valid(u32 place)
{
	const u32 needs_cmb = DVQ_PLACE_EXPDB | DVQ_PLACE_REQUIRE;

	if (place & ~(DVQ_PLACE_SET | DVQ_PLACE_CMB | needs_cmb))
		return false;
	if (place && !(place & DVQ_PLACE_SET))
		return false;
	return !(place & needs_cmb) || place & DVQ_PLACE_CMB;
}

/* The pool that the policy names, with a reference, or NULL. */
static struct dvq_pool *find_pool(struct uverbs_attr_bundle *attrs)
{
	struct dvq_pool_mmap *region = uverbs_attr_get_obj(attrs, DVQ_ATTR_SET_PD_POLICY_POOL);

	return IS_ERR(region) ? NULL : dvq_pool_get(region->pool);
}

static void set_policy(struct dvq_pd *pd, const struct dvq_pd_policy *policy,
		       struct dvq_pool *pool)
{
	spin_lock(&pd->lock);
	pd->policy = *policy;
	/* Who changes what is allowed need not know the region. */
	if (pool || !(policy->sq | policy->rq))
		swap(pd->pool, pool);
	spin_unlock(&pd->lock);
	/* May sleep, so not under the lock. */
	dvq_pool_put(pool);
}

static int UVERBS_HANDLER(DVQ_METHOD_SET_PD_POLICY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd = uverbs_attr_get_obj(attrs, DVQ_ATTR_SET_PD_POLICY_PD);
	struct dvq_pd *pd = to_dvq_pd(ibpd);
	struct dvq_pd_policy policy;
	int ret;

	ret = uverbs_copy_from_or_zero(&policy, attrs, DVQ_ATTR_SET_PD_POLICY_POLICY);
	if (ret)
		return ret;
	if (!place_is_valid(policy.sq) || !place_is_valid(policy.rq)) {
		ibdev_dbg(ibpd->device, "PD policy sq %#x rq %#x is not valid\n", policy.sq,
			  policy.rq);
		return -EINVAL;
	}
	if ((policy.sq | policy.rq) & DVQ_PLACE_REQUIRE && !to_dvq_device(ibpd->device)->ops) {
		ibdev_dbg(ibpd->device, "PD policy requires placement, the device has none\n");
		return -EOPNOTSUPP;
	}

	set_policy(pd, &policy, find_pool(attrs));
	return 0;
}

static int UVERBS_HANDLER(DVQ_METHOD_GET_PD_POLICY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd = uverbs_attr_get_obj(attrs, DVQ_ATTR_GET_PD_POLICY_PD);
	struct dvq_pool *pool;
	struct dvq_pd_policy policy = dvq_pd_policy(to_dvq_pd(ibpd), &pool);

	dvq_pool_put(pool);
	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_GET_PD_POLICY_POLICY, &policy,
					     sizeof(policy));
}

static int put_wq(struct uverbs_attr_bundle *attrs, u16 attr, const struct dvq_wq_info *wq)
{
	if (!uverbs_attr_is_valid(attrs, attr))
		return 0;
	return uverbs_copy_to_struct_or_zero(attrs, attr, wq, sizeof(*wq));
}

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_QP)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, DVQ_ATTR_QUERY_QP_QP);
	const struct dvq_qp *qp = to_dvq_qp(ibqp);
	int ret;

	ret = uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_QP_INFO, &qp->info,
					    sizeof(qp->info));
	if (ret)
		return ret;
	ret = put_wq(attrs, DVQ_ATTR_QUERY_QP_SQ, &qp->sq);
	if (ret)
		return ret;
	return put_wq(attrs, DVQ_ATTR_QUERY_QP_RQ, &qp->rq);
}

/* The ring on the pipeline that was asked for, else the first that there is. */
static const struct dvq_cq_info *find_ring(const struct dvq_cq *cq,
					   struct uverbs_attr_bundle *attrs)
{
	u32 pipeline;
	int ret;

	ret = uverbs_copy_from(&pipeline, attrs, DVQ_ATTR_QUERY_CQ_PIPELINE);
	if (ret == -ENOENT)
		return cq->ring[0].entries ? &cq->ring[0] : &cq->ring[1];
	if (ret)
		return ERR_PTR(ret);
	if (pipeline >= DVQ_PIPELINES || !cq->ring[pipeline].entries) {
		ibdev_dbg(cq->ibcq.device, "CQ has no ring on pipeline %u\n", pipeline);
		return ERR_PTR(-EINVAL);
	}
	return &cq->ring[pipeline];
}

static int put_sub_qps(struct uverbs_attr_bundle *attrs, const atomic_t *sub_qps, u32 n)
{
	u32 *counts;
	u32 i;

	if (!uverbs_attr_is_valid(attrs, DVQ_ATTR_QUERY_CQ_QPS))
		return 0;

	counts = uverbs_kcalloc(attrs, n, sizeof(*counts));
	if (IS_ERR(counts))
		return PTR_ERR(counts);
	for (i = 0; i < n; i++)
		counts[i] = atomic_read(&sub_qps[i]);
	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_CQ_QPS, counts,
					     n * sizeof(*counts));
}

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_CQ)(struct uverbs_attr_bundle *attrs)
{
	struct ib_cq *ibcq = uverbs_attr_get_obj(attrs, DVQ_ATTR_QUERY_CQ_CQ);
	const struct dvq_cq *cq = to_dvq_cq(ibcq);
	const struct dvq_cq_info *ring;
	struct dvq_cq_info info;
	const atomic_t *sub_qps;
	u32 i;
	int ret;

	ring = find_ring(cq, attrs);
	if (IS_ERR(ring))
		return PTR_ERR(ring);

	/* only the count of events changes, and may while it is copied */
	info = data_race(*ring);
	info.events = READ_ONCE(ring->events);
	sub_qps = dvq_sub_qps(cq, info.pipeline);
	for (i = 0; i < info.sub_cqs; i++)
		info.qps += atomic_read(&sub_qps[i]);
	ret = uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_CQ_INFO, &info, sizeof(info));
	if (ret)
		return ret;
	return put_sub_qps(attrs, sub_qps, info.sub_cqs);
}

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_AH)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ah *ibah = uverbs_attr_get_obj(attrs, DVQ_ATTR_QUERY_AH_AH);
	const struct dvq_ah *ah = to_dvq_ah(ibah);
	struct dvq_ah_info info = {
		.ah_num = ah->ah_num,
		.users = ah->users ? refcount_read(ah->users) : 1,
	};

	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_AH_INFO, &info, sizeof(info));
}

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_CONTEXT)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibctx = ib_uverbs_get_ucontext(attrs);
	struct dvq_context_info info = {};
	struct dvq_mmap *changes;

	if (IS_ERR(ibctx))
		return PTR_ERR(ibctx);
	changes = dvq_changes_get(container_of(ibctx, struct dvq_ucontext, ibucontext));
	if (IS_ERR(changes))
		return PTR_ERR(changes);
	info.changes_key = dvq_mmap_key(changes);
	info.changes_length = changes->length;
	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_CONTEXT_INFO, &info,
					     sizeof(info));
}

static int UVERBS_HANDLER(DVQ_METHOD_QUERY_UIDS)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *ibctx = ib_uverbs_get_ucontext(attrs);
	const struct dvq_ucontext *ctx;
	const u64 *uids;
	u8 *alive;
	int i, n;

	if (IS_ERR(ibctx))
		return PTR_ERR(ibctx);
	ctx = container_of(ibctx, struct dvq_ucontext, ibucontext);
	n = uverbs_attr_ptr_get_array_size(attrs, DVQ_ATTR_QUERY_UIDS_UIDS, sizeof(*uids));
	if (n < 0)
		return n;
	uids = uverbs_attr_get_alloced_ptr(attrs, DVQ_ATTR_QUERY_UIDS_UIDS);
	if (IS_ERR(uids))
		return PTR_ERR(uids);
	alive = uverbs_kcalloc(attrs, n, sizeof(*alive));
	if (IS_ERR(alive))
		return PTR_ERR(alive);
	for (i = 0; i < n; i++)
		alive[i] = dvq_uid_is_alive(uids[i], ctx);
	return uverbs_copy_to_struct_or_zero(attrs, DVQ_ATTR_QUERY_UIDS_ALIVE, alive, n);
}

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_DEVICE,
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_DEVICE_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_device_info, reserved),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_SET_PD_POLICY,
	UVERBS_ATTR_IDR(DVQ_ATTR_SET_PD_POLICY_PD, UVERBS_OBJECT_PD, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(DVQ_ATTR_SET_PD_POLICY_POLICY,
			   UVERBS_ATTR_STRUCT(struct dvq_pd_policy, rq),
			   UA_MANDATORY),
	UVERBS_ATTR_IDR(DVQ_ATTR_SET_PD_POLICY_POOL, DVQ_OBJECT_CMB, UVERBS_ACCESS_READ,
			UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_GET_PD_POLICY,
	UVERBS_ATTR_IDR(DVQ_ATTR_GET_PD_POLICY_PD, UVERBS_OBJECT_PD, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_GET_PD_POLICY_POLICY,
			    UVERBS_ATTR_STRUCT(struct dvq_pd_policy, rq),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_QP,
	UVERBS_ATTR_IDR(DVQ_ATTR_QUERY_QP_QP, UVERBS_OBJECT_QP, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_QP_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_qp_info, resets),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_QP_SQ,
			    UVERBS_ATTR_STRUCT(struct dvq_wq_info, user_addr),
			    UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_QP_RQ,
			    UVERBS_ATTR_STRUCT(struct dvq_wq_info, user_addr),
			    UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_CQ,
	UVERBS_ATTR_IDR(DVQ_ATTR_QUERY_CQ_CQ, UVERBS_OBJECT_CQ, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_CQ_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_cq_info, user_addr),
			    UA_MANDATORY),
	UVERBS_ATTR_PTR_IN(DVQ_ATTR_QUERY_CQ_PIPELINE, UVERBS_ATTR_TYPE(u32), UA_OPTIONAL),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_CQ_QPS, UVERBS_ATTR_MIN_SIZE(sizeof(u32)),
			    UA_OPTIONAL));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_AH,
	UVERBS_ATTR_IDR(DVQ_ATTR_QUERY_AH_AH, UVERBS_OBJECT_AH, UVERBS_ACCESS_READ,
			UA_MANDATORY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_AH_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_ah_info, users),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_CONTEXT,
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_CONTEXT_INFO,
			    UVERBS_ATTR_STRUCT(struct dvq_context_info, changes_length),
			    UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(
	DVQ_METHOD_QUERY_UIDS,
	UVERBS_ATTR_PTR_IN(DVQ_ATTR_QUERY_UIDS_UIDS, UVERBS_ATTR_MIN_SIZE(sizeof(u64)),
			   UA_MANDATORY, UA_ALLOC_AND_COPY),
	UVERBS_ATTR_PTR_OUT(DVQ_ATTR_QUERY_UIDS_ALIVE, UVERBS_ATTR_MIN_SIZE(sizeof(u8)),
			    UA_MANDATORY));

DECLARE_UVERBS_GLOBAL_METHODS(DVQ_OBJECT,
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_DEVICE),
			      &UVERBS_METHOD(DVQ_METHOD_SET_PD_POLICY),
			      &UVERBS_METHOD(DVQ_METHOD_GET_PD_POLICY),
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_QP),
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_CQ),
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_AH),
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_CONTEXT),
			      &UVERBS_METHOD(DVQ_METHOD_QUERY_UIDS));

const struct uapi_definition dvq_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(DVQ_OBJECT),
	UAPI_DEF_CHAIN(dvq_region_defs),
	{},
};
EXPORT_SYMBOL_GPL(dvq_uapi_defs);
