// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. One of the verbs is up to two of the device, one for each pipeline,
 * in memory that the creator gives. A QP delivers to the one of its own pipeline.
 */
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

static_assert(sizeof(struct dvq_ionic_ring) == 16);
static_assert(sizeof(struct dvq_ionic_cq_req) == 40);
static_assert(sizeof(struct dvq_ionic_cq_resp) == 16);

/**
 * dion_ring_check() - is this a ring that the device can be given?
 * @dev: the device
 * @ring: from a user
 * @stride_min: log2 of the least entry
 * @stride_max: log2 of the greatest
 *
 * Return: 0 or -EINVAL.
 */
int dion_ring_check(struct dion_dev *dev, const struct dvq_ionic_ring *ring, u8 stride_min,
		    u8 stride_max)
{
	if (!ring->addr || !PAGE_ALIGNED(ring->addr) || !ring->depth_log2 ||
	    ring->depth_log2 > 16 || ring->mask != BIT(ring->depth_log2) - 1 ||
	    ring->stride_log2 < stride_min || ring->stride_log2 > stride_max ||
	    ring->size < dion_ring_bytes(ring)) {
		ibdev_dbg(&dev->dvq.ibdev,
			  "not a ring: %u bytes at %#llx, mask %#x, depth 2^%u, stride 2^%u\n",
			  ring->size, ring->addr, ring->mask, ring->depth_log2,
			  ring->stride_log2);
		return -EINVAL;
	}
	return 0;
}

/* ---- events ------------------------------------------------------------------ */

static struct ib_cq *to_ibcq(struct dion_hw_cq *hw)
{
	return &container_of(hw, struct dion_cq_ring, hw)->cq->dvq.ibcq;
}

static void notify(struct dion_hw_cq *hw)
{
	struct ib_cq *ibcq = to_ibcq(hw);

	ibcq->comp_handler(ibcq, ibcq->cq_context);
}

static void failed(struct dion_hw_cq *hw)
{
	struct ib_cq *ibcq = to_ibcq(hw);
	struct ib_event event = {
		.device = ibcq->device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = ibcq,
	};

	ibcq->event_handler(&event, ibcq->cq_context);
}

/* ---- one ring ---------------------------------------------------------------- */

static int tell_cq(struct dion_dev *dev, struct dion_cq_ring *ring,
		   const struct dvq_ionic_ring *from, u32 eq, u16 pid)
{
	struct ionic_aq_create_cq cmd = {
		.header = DION_AQ_HEADER(CREATE_CQ, struct ionic_aq_create_cq),
		.eq = cpu_to_le32(eq),
		.depth_log2 = from->depth_log2,
		.stride_log2 = from->stride_log2,
		.cq = cpu_to_le32(ring->hw.id),
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
		.pid = cpu_to_le16(pid),
	};
	struct dion_pagelist list = {};
	int ret;

	ret = dion_pagelist_init_ring(dev, &list, ring->umem, dion_ring_bytes(from));
	if (ret)
		return ret;
	cmd.pages = cpu_to_le32(list.pages);
	cmd.addr = cpu_to_le64(list.addr);
	cmd.page_log2 = list.page_log2;
	ret = dion_admin_exec(dev, &cmd);
	dion_pagelist_cleanup(dev, &list);
	return ret;
}

static int create_ring(struct dion_cq *cq, u8 pipeline, const struct dvq_ionic_ring *from,
		       u32 eq, struct dion_ucontext *ctx, struct uverbs_attr_bundle *attrs)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	struct dion_cq_ring *ring = &cq->rings[pipeline];
	struct ib_device *ibdev = &dev->dvq.ibdev;
	int ret;

	ret = dion_ring_check(dev, from, ilog2(IONIC_CQE_SIZE), ilog2(IONIC_CQE_SIZE));
	if (ret)
		return ret;
	/* The core's own attribute speaks of one buffer, so it cannot be meant for two rings. */
	if (is_power_of_2(cq->pipelines))
		ring->umem = ib_umem_get_cq_buf_or_va(ibdev, attrs, from->addr, from->size,
						      IB_ACCESS_LOCAL_WRITE);
	else
		ring->umem = ib_umem_get_va(ibdev, from->addr, from->size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(ring->umem))
		return PTR_ERR(ring->umem);

	ring->cq = cq;
	ring->hw.notify = notify;
	ring->hw.failed = failed;
	ret = dion_qids_get(&dev->cq_ids, BIT(pipeline), &ring->hw.id);
	if (ret)
		goto err_release;
	ret = dion_hw_cq_add(dev, &ring->hw);
	if (ret)
		goto err_put_id;
	ret = tell_cq(dev, ring, from, eq, ctx->pid);
	if (ret)
		goto err_del;
	return 0;

err_del:
	dion_hw_cq_del(dev, &ring->hw);
err_put_id:
	dion_qids_put(&dev->cq_ids, ring->hw.id);
err_release:
	ib_umem_release(ring->umem);
	return ret;
}

static int destroy_ring(struct dion_dev *dev, struct dion_cq_ring *ring)
{
	int ret;

	ret = dion_admin_exec_destroy(dev, IONIC_AQ_DESTROY_CQ, ring->hw.id, &ring->refused);
	if (ret)
		return ret;
	dion_hw_cq_del(dev, &ring->hw);
	dion_qids_put(&dev->cq_ids, ring->hw.id);
	ib_umem_release(ring->umem);
	return 0;
}

/* ---- all of it --------------------------------------------------------------- */

static void fill_record(struct dion_cq *cq, u8 pipeline, const struct dvq_ionic_ring *from,
			const struct dion_ucontext *ctx)
{
	u8 qtype = to_dion_dev(cq->dvq.ibcq.device)->eth.rdma.cq.qtype;
	const struct ib_umem *umem = cq->rings[pipeline].umem;

	cq->dvq.ring[pipeline] = (struct dvq_cq_info) {
		.cq_num = cq->rings[pipeline].hw.id,
		.mem = DVQ_MEM_USER,
		.db_format = DVQ_DB_IONIC,
		.db_width = sizeof(u64),
		.first_phase = 1,
		.entry_size = IONIC_CQE_SIZE,
		.entries = BIT(from->depth_log2),
		.sub_cqs = 1,
		.pipeline = pipeline,
		.pipelines = cq->pipelines,
		.db_offset = qtype * IONIC_DB_STRIDE,
		.db_key = dvq_mmap_key(ctx->doorbells),
		.db_length = PAGE_SIZE,
		.db_value = FIELD_PREP(IONIC_DB_QID, (u64)cq->rings[pipeline].hw.id),
		.user_addr = umem->is_dmabuf ? 0 : umem->address,
	};
}

/* Those that are gone are taken out of the mask, so that what failed can be tried again. */
static int destroy_rings(struct dion_cq *cq)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	u8 pipeline;
	int ret;

	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++) {
		if (!(cq->pipelines & BIT(pipeline)))
			continue;
		ret = destroy_ring(dev, &cq->rings[pipeline]);
		if (ret)
			return ret;
		cq->pipelines &= ~BIT(pipeline);
		/* Who asks is not told of a ring that is gone. */
		cq->dvq.ring[pipeline].entries = 0;
	}
	return 0;
}

/* The creator will never see the CQ, so a device that refuses has only one more chance. */
static void undo_rings(struct dion_cq *cq)
{
	while (destroy_rings(cq))
		;
}

static int create_rings(struct dion_cq *cq, const struct dvq_ionic_cq_req *req, u32 comp_vector,
			struct dion_ucontext *ctx, struct uverbs_attr_bundle *attrs)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	u8 pipeline;
	int ret;

	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++) {
		if (!(cq->pipelines & BIT(pipeline)))
			continue;
		ret = create_ring(cq, pipeline, &req->ring[pipeline],
				  dion_eq_for(dev, comp_vector, pipeline), ctx, attrs);
		if (ret) {
			cq->pipelines &= BIT(pipeline) - 1;
			undo_rings(cq);
			return ret;
		}
	}
	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++)
		if (cq->pipelines & BIT(pipeline))
			fill_record(cq, pipeline, &req->ring[pipeline], ctx);
	return 0;
}

static int respond(struct dion_cq *cq, struct ib_udata *udata)
{
	struct dvq_ionic_cq_resp resp = { .udma_mask = cq->pipelines };
	u8 pipeline;

	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++)
		if (cq->pipelines & BIT(pipeline))
			resp.cqid[pipeline] = cq->rings[pipeline].hw.id;
	return ib_respond_udata(udata, resp);
}

int dion_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct dion_ucontext *ctx = to_dion_ucontext(attrs->context);
	struct dion_cq *cq = to_dion_cq(ibcq);
	struct dvq_ionic_cq_req req;
	int ret;

	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > DION_MAX_CQE)
		return -EINVAL;
	ret = ib_copy_validate_udata_in(udata, req, reserved_108);
	if (ret)
		return ret;
	cq->pipelines = req.udma_mask & DION_ALL_PIPELINES;
	if (!cq->pipelines)
		return -EINVAL;

	ret = create_rings(cq, &req, attr->comp_vector, ctx, attrs);
	if (ret)
		return ret;
	ret = dvq_cq_init(&cq->dvq);
	if (ret)
		goto err_undo;
	ret = respond(cq, udata);
	if (ret)
		goto err_cleanup;
	ibcq->cqe = attr->cqe;
	return 0;

err_cleanup:
	dvq_cq_cleanup(&cq->dvq);
err_undo:
	undo_rings(cq);
	return ret;
}

int dion_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct dion_cq *cq = to_dion_cq(ibcq);
	int ret;

	do
		ret = destroy_rings(cq);
	while (ret && dvq_is_cleanup(udata));
	if (ret)
		return ret;
	dvq_cq_cleanup(&cq->dvq);
	return 0;
}
