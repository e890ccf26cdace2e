// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Questions to the kernel's records. */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* an attribute of a method has a length of 16 bits */
static bool bad_size(uint32_t size)
{
	return !size || size > UINT16_MAX;
}

static int bad_argument(void)
{
	return dvq_refuse(EINVAL, "an argument is NULL or has no size");
}

DVQ_API int dvq_device_query(struct ibv_context *context, struct dvq_device_info *info,
			     uint32_t size)
{
	struct dvq_call call;

	if (!context || !info || bad_size(size))
		return bad_argument();
	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	dvq_call_out(&call, DVQ_ATTR_QUERY_DEVICE_INFO, info, size);
	return dvq_call_device(&call, context, 0);
}

static int query_qp(struct ibv_qp *qp, uint32_t driver_id, struct dvq_qp_info *info,
		    uint32_t info_size, struct dvq_wq_info *sq, struct dvq_wq_info *rq,
		    uint32_t wq_size)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	dvq_call_handle(&call, DVQ_ATTR_QUERY_QP_QP, qp->handle);
	dvq_call_out(&call, DVQ_ATTR_QUERY_QP_INFO, info, info_size);
	if (sq)
		dvq_call_out(&call, DVQ_ATTR_QUERY_QP_SQ, sq, wq_size);
	if (rq)
		dvq_call_out(&call, DVQ_ATTR_QUERY_QP_RQ, rq, wq_size);
	return dvq_call_device(&call, qp->context, driver_id);
}

DVQ_API int dvq_qp_query(struct ibv_qp *qp, struct dvq_qp_info *info, uint32_t info_size,
			 struct dvq_wq_info *sq, struct dvq_wq_info *rq, uint32_t wq_size)
{
	if (!qp || !info || bad_size(info_size) || ((sq || rq) && bad_size(wq_size)))
		return bad_argument();
	return query_qp(qp, 0, info, info_size, sq, rq, wq_size);
}

int dvq_efa_query_qp(struct ibv_qp *qp, struct dvq_qp_info *info, struct dvq_wq_info *sq,
		     struct dvq_wq_info *rq)
{
	return query_qp(qp, DVQ_RDMA_DRIVER_EFA, info, sizeof(*info), sq, rq, sizeof(*sq));
}

int dvq_ionic_query_qp(struct ibv_qp *qp, struct dvq_qp_info *info, struct dvq_wq_info *sq,
		       struct dvq_wq_info *rq)
{
	return query_qp(qp, DVQ_RDMA_DRIVER_IONIC, info, sizeof(*info), sq, rq, sizeof(*sq));
}

static int query_cq(struct ibv_cq *cq, uint32_t driver_id, uint32_t pipeline,
		    struct dvq_cq_info *info, uint32_t size)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_CQ);
	dvq_call_handle(&call, DVQ_ATTR_QUERY_CQ_CQ, cq->handle);
	dvq_call_out(&call, DVQ_ATTR_QUERY_CQ_INFO, info, size);
	if (pipeline != DVQ_ANY_PIPELINE)
		dvq_call_in(&call, DVQ_ATTR_QUERY_CQ_PIPELINE, &pipeline, sizeof(pipeline));
	return dvq_call_device(&call, cq->context, driver_id);
}

DVQ_API int dvq_cq_query(struct ibv_cq *cq, struct dvq_cq_info *info, uint32_t size)
{
	if (!cq || !info || bad_size(size))
		return bad_argument();
	return query_cq(cq, 0, DVQ_ANY_PIPELINE, info, size);
}

int dvq_efa_query_cq(struct ibv_cq *cq, struct dvq_cq_info *info)
{
	return query_cq(cq, DVQ_RDMA_DRIVER_EFA, DVQ_ANY_PIPELINE, info, sizeof(*info));
}

int dvq_ionic_query_cq(struct ibv_cq *cq, uint32_t pipeline, struct dvq_cq_info *info)
{
	return query_cq(cq, DVQ_RDMA_DRIVER_IONIC, pipeline, info, sizeof(*info));
}

static int query_ah(struct ibv_ah *ah, uint32_t driver_id, struct dvq_ah_info *info, uint32_t size)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_AH);
	dvq_call_handle(&call, DVQ_ATTR_QUERY_AH_AH, ah->handle);
	dvq_call_out(&call, DVQ_ATTR_QUERY_AH_INFO, info, size);
	return dvq_call_device(&call, ah->context, driver_id);
}

DVQ_API int dvq_ah_query(struct ibv_ah *ah, struct dvq_ah_info *info, uint32_t size)
{
	if (!ah || !info || bad_size(size))
		return bad_argument();
	return query_ah(ah, 0, info, size);
}

int dvq_efa_query_ah(struct ibv_ah *ah, struct dvq_ah_info *info)
{
	return query_ah(ah, DVQ_RDMA_DRIVER_EFA, info, sizeof(*info));
}

/* @pool NULL: none is named */
static int set_policy(struct ibv_pd *pd, const struct dvq_pd_policy *policy, uint32_t size,
		      const struct dvq_region *pool)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_SET_PD_POLICY);
	dvq_call_handle(&call, DVQ_ATTR_SET_PD_POLICY_PD, pd->handle);
	dvq_call_in(&call, DVQ_ATTR_SET_PD_POLICY_POLICY, policy, size);
	if (pool)
		dvq_call_handle(&call, DVQ_ATTR_SET_PD_POLICY_POOL, pool->handle);
	return dvq_call_device(&call, pd->context, 0);
}

DVQ_API int dvq_pd_set_policy(struct ibv_pd *pd, const struct dvq_pd_policy *policy, uint32_t size)
{
	if (!pd || !policy || bad_size(size))
		return bad_argument();
	return set_policy(pd, policy, size, NULL);
}

DVQ_API int dvq_pd_set_pool(struct ibv_pd *pd, const struct dvq_pd_policy *policy, uint32_t size,
			    const struct dvq_region *pool)
{
	if (!pd || !policy || bad_size(size) || !pool || !pool->context)
		return bad_argument();
	if (pool->context != pd->context)
		return dvq_refuse(EINVAL, "the region is of another open device than the PD");
	return set_policy(pd, policy, size, pool);
}

DVQ_API int dvq_pd_get_policy(struct ibv_pd *pd, struct dvq_pd_policy *policy, uint32_t size)
{
	struct dvq_call call;

	if (!pd || !policy || bad_size(size))
		return bad_argument();
	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_GET_PD_POLICY);
	dvq_call_handle(&call, DVQ_ATTR_GET_PD_POLICY_PD, pd->handle);
	dvq_call_out(&call, DVQ_ATTR_GET_PD_POLICY_POLICY, policy, size);
	return dvq_call_device(&call, pd->context, 0);
}

int dvq_query_uids(int cmd_fd, const uint64_t *uids, uint16_t n, uint8_t *alive)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_UIDS);
	dvq_call_in(&call, DVQ_ATTR_QUERY_UIDS_UIDS, uids, (uint16_t)(n * sizeof(*uids)));
	dvq_call_out(&call, DVQ_ATTR_QUERY_UIDS_ALIVE, alive, n);
	return dvq_call_issue(&call, cmd_fd, DVQ_RDMA_DRIVER_EFA);
}
