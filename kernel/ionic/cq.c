// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues. One of the verbs is up to two of the device, one for each pipeline,
 * in memory that the creator gives. A QP delivers to the one of its own pipeline. One of
 * the kernel has both; poll.c is about what comes on them.
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

/*
 * Until its creation can no longer fail nobody hears of a CQ: an event is kept in the channel with
 * a pointer to the core's object, and where creation fails the core frees that without a look at
 * the channel. The device knows the CQ before, and who guesses its number can arm it.
 */
static bool is_created(struct dion_hw_cq *hw)
{
	/* Pairs with set_created(). */
	return smp_load_acquire(&container_of(hw, struct dion_cq_ring, hw)->cq->created);
}

static void set_created(struct dion_cq *cq)
{
	/* Pairs with is_created(): a handler finds the whole CQ. */
	smp_store_release(&cq->created, true);
}

static void notify(struct dion_hw_cq *hw)
{
	struct ib_cq *ibcq = to_ibcq(hw);

	if (is_created(hw))
		ibcq->comp_handler(ibcq, ibcq->cq_context);
}

/*
 * Both rings of a CQ of the kernel are armed at once and may answer at once. One call is
 * enough: whoever is called polls both and arms again, which finds what came meanwhile.
 */
static void notify_kernel(struct dion_hw_cq *hw)
{
	struct dion_cq_ring *ring = container_of(hw, struct dion_cq_ring, hw);

	dion_cq_ring_answered(ring);
	dion_cq_tell(ring->cq);
}

static void failed(struct dion_hw_cq *hw)
{
	struct ib_cq *ibcq = to_ibcq(hw);
	struct ib_event event = {
		.device = ibcq->device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = ibcq,
	};

	if (is_created(hw) && ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

/* ---- one ring ---------------------------------------------------------------- */

static int describe_ring(struct dion_dev *dev, const struct dion_cq_ring *ring,
			 struct dion_pagelist *list)
{
	if (!ring->memory.cpu)
		return dion_pagelist_init_ring(dev, list, ring->umem,
					       IONIC_CQE_SIZE << ring->depth_log2);
	list->pages = 1;
	list->addr = ring->memory.dma;
	return 0;
}

static int tell_cq(struct dion_dev *dev, struct dion_cq_ring *ring, u32 eq, u16 pid)
{
	struct ionic_aq_create_cq cmd = {
		.header = DION_AQ_HEADER(CREATE_CQ, struct ionic_aq_create_cq),
		.eq = cpu_to_le32(eq),
		.depth_log2 = ring->depth_log2,
		.stride_log2 = ilog2(IONIC_CQE_SIZE),
		.cq = cpu_to_le32(ring->hw.id),
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
		.pid = cpu_to_le16(pid),
	};
	struct dion_pagelist list = {};
	int ret;

	ret = describe_ring(dev, ring, &list);
	if (ret)
		return ret;
	cmd.pages = cpu_to_le32(list.pages);
	cmd.addr = cpu_to_le64(list.addr);
	cmd.page_log2 = list.page_log2;
	ret = dion_admin_exec(dev, &cmd);
	dion_pagelist_cleanup(dev, &list);
	return ret;
}

static int get_user_memory(struct dion_cq *cq, struct dion_cq_ring *ring,
			   const struct dvq_ionic_ring *from, struct uverbs_attr_bundle *attrs)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	struct ib_device *ibdev = &dev->dvq.ibdev;
	struct ib_umem *umem;
	int ret;

	ret = dion_ring_check(dev, from, ilog2(IONIC_CQE_SIZE), ilog2(IONIC_CQE_SIZE));
	if (ret)
		return ret;
	/* The core's own attribute speaks of one buffer, so it cannot be meant for two rings. */
	if (is_power_of_2(cq->pipelines))
		umem = ib_umem_get_cq_buf_or_va(ibdev, attrs, from->addr, from->size,
						IB_ACCESS_LOCAL_WRITE);
	else
		umem = ib_umem_get_va(ibdev, from->addr, from->size, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	ring->umem = umem;
	ring->depth_log2 = from->depth_log2;
	ring->hw.notify = notify;
	return 0;
}

static int get_kernel_memory(struct dion_cq *cq, struct dion_cq_ring *ring, u32 entries)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	int ret;

	/* One stays empty, and the device has to have room for the spare ones. */
	ring->depth_log2 = max_t(u8, order_base_2(entries + IONIC_CQE_SPARE + 1),
				 PAGE_SHIFT - ilog2(IONIC_CQE_SIZE));
	ret = dion_memory_get(dev, &ring->memory, IONIC_CQE_SIZE << ring->depth_log2);
	if (ret)
		return ret;
	ring->slack = (BIT(ring->depth_log2) - 1 - entries) / 2;
	ring->hw.notify = notify_kernel;
	dion_cq_ring_init(ring);
	return 0;
}

static void put_memory(struct dion_dev *dev, struct dion_cq_ring *ring)
{
	ib_umem_release(ring->umem);
	dion_memory_put(dev, &ring->memory);
}

/* From memory to a ring that the device knows. The memory is taken over, also if that fails. */
static int create_ring(struct dion_cq *cq, u8 pipeline, u32 eq, u16 pid)
{
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	struct dion_cq_ring *ring = &cq->rings[pipeline];
	int ret;

	ring->cq = cq;
	ring->hw.failed = failed;
	ret = dion_qids_get(&dev->cq_ids, BIT(pipeline), &ring->hw.id);
	if (ret)
		goto err_put_memory;
	ret = dion_hw_cq_add(dev, &ring->hw);
	if (ret)
		goto err_put_id;
	ret = tell_cq(dev, ring, eq, pid);
	if (ret)
		goto err_del;
	return 0;

err_del:
	dion_hw_cq_del(dev, &ring->hw);
err_put_id:
	dion_qids_put(&dev->cq_ids, ring->hw.id);
err_put_memory:
	put_memory(dev, ring);
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
	put_memory(dev, ring);
	return 0;
}

/* ---- all of it --------------------------------------------------------------- */

/* Where the creator sees the ring; memory of a dma-buf it may not see at all. */
static u64 user_addr(const struct dion_cq_ring *ring)
{
	return ring->umem && !ring->umem->is_dmabuf ? ring->umem->address : 0;
}

/* @ctx: NULL: of the kernel */
static void fill_record(struct dion_cq *cq, u8 pipeline, const struct dion_ucontext *ctx)
{
	u8 qtype = to_dion_dev(cq->dvq.ibcq.device)->eth.rdma.cq.qtype;
	const struct dion_cq_ring *ring = &cq->rings[pipeline];

	cq->dvq.ring[pipeline] = (struct dvq_cq_info) {
		.cq_num = ring->hw.id,
		.mem = ctx ? DVQ_MEM_USER : DVQ_MEM_KERNEL,
		.db_format = DVQ_DB_IONIC,
		.db_width = sizeof(u64),
		.first_phase = 1,
		.entry_size = IONIC_CQE_SIZE,
		.entries = BIT(ring->depth_log2),
		.sub_cqs = 1,
		.pipeline = pipeline,
		.pipelines = cq->pipelines,
		.db_offset = qtype * IONIC_DB_STRIDE,
		.db_key = ctx ? dvq_mmap_key(ctx->doorbells) : 0,
		.db_length = PAGE_SIZE,
		.db_value = FIELD_PREP(IONIC_DB_QID, (u64)ring->hw.id),
		.user_addr = user_addr(ring),
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

/* @attrs: NULL: of the kernel, with room for attr->cqe */
static int get_memory(struct dion_cq *cq, u8 pipeline, const struct ib_cq_init_attr *attr,
		      const struct dvq_ionic_cq_req *req, struct uverbs_attr_bundle *attrs)
{
	struct dion_cq_ring *ring = &cq->rings[pipeline];

	if (!attrs)
		return get_kernel_memory(cq, ring, attr->cqe);
	return get_user_memory(cq, ring, &req->ring[pipeline], attrs);
}

static int create_rings(struct dion_cq *cq, const struct ib_cq_init_attr *attr,
			const struct dvq_ionic_cq_req *req, struct uverbs_attr_bundle *attrs)
{
	struct dion_ucontext *ctx = attrs ? to_dion_ucontext(attrs->context) : NULL;
	struct dion_dev *dev = to_dion_dev(cq->dvq.ibcq.device);
	u8 pipeline;
	int ret;

	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++) {
		if (!(cq->pipelines & BIT(pipeline)))
			continue;
		ret = get_memory(cq, pipeline, attr, req, attrs);
		if (!ret)
			ret = create_ring(cq, pipeline,
					  dion_eq_for(dev, attr->comp_vector, pipeline),
					  ctx ? ctx->pid : 0);
		if (ret) {
			cq->pipelines &= BIT(pipeline) - 1;
			undo_rings(cq);
			return ret;
		}
	}
	for (pipeline = 0; pipeline < DION_PIPELINES; pipeline++)
		if (cq->pipelines & BIT(pipeline))
			fill_record(cq, pipeline, ctx);
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

static int check_init_attr(const struct ib_cq_init_attr *attr)
{
	if (attr->flags)
		return -EOPNOTSUPP;
	return attr->cqe && attr->cqe <= DION_MAX_CQE ? 0 : -EINVAL;
}

int dion_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct dion_cq *cq = to_dion_cq(ibcq);
	struct dvq_ionic_cq_req req;
	int ret;

	ret = check_init_attr(attr);
	if (ret)
		return ret;
	ret = ib_copy_validate_udata_in(udata, req, reserved_108);
	if (ret)
		return ret;
	cq->pipelines = req.udma_mask & DION_ALL_PIPELINES;
	if (!cq->pipelines)
		return -EINVAL;

	ret = create_rings(cq, attr, &req, attrs);
	if (ret)
		return ret;
	ret = dvq_cq_init(&cq->dvq, udata);
	if (ret)
		goto err_undo;
	ret = respond(cq, udata);
	if (ret)
		goto err_cleanup;
	ibcq->cqe = attr->cqe;
	set_created(cq);
	return 0;

err_cleanup:
	dvq_cq_cleanup(&cq->dvq);
err_undo:
	undo_rings(cq);
	return ret;
}

/* Of the kernel; @attrs is NULL. */
int dion_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs)
{
	struct dion_cq *cq = to_dion_cq(ibcq);
	int ret;

	ret = check_init_attr(attr);
	if (ret)
		return ret;
	INIT_WORK(&cq->flush_work, dion_cq_flush_work);
	spin_lock_init(&cq->tell_lock);
	cq->pipelines = DION_ALL_PIPELINES;
	ret = create_rings(cq, attr, NULL, NULL);
	if (ret)
		return ret;
	ret = dvq_cq_init(&cq->dvq, NULL);
	if (ret) {
		undo_rings(cq);
		return ret;
	}
	ibcq->cqe = attr->cqe;
	set_created(cq);
	return 0;
}

/*
 * The core stops its worker before it destroys a CQ, but an event or a flush that comes
 * in between starts it again. Nobody is told from here on, and the worker is at rest.
 */
static void stop_telling(struct dion_cq *cq)
{
	struct ib_cq *ibcq = &cq->dvq.ibcq;

	spin_lock_irq(&cq->tell_lock);
	cq->closed = true;
	spin_unlock_irq(&cq->tell_lock);
	cancel_work_sync(&cq->flush_work);
	if (ibcq->poll_ctx == IB_POLL_WORKQUEUE || ibcq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)
		cancel_work_sync(&ibcq->work);
}

int dion_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct dion_cq *cq = to_dion_cq(ibcq);
	int ret;

	if (!udata) {
		stop_telling(cq);
		/* Nobody tries again to destroy one of the kernel. */
		undo_rings(cq);
		dvq_cq_cleanup(&cq->dvq);
		return 0;
	}
	do
		ret = destroy_rings(cq);
	while (ret && dvq_is_cleanup(udata));
	if (ret)
		return ret;
	dvq_cq_cleanup(&cq->dvq);
	return 0;
}
