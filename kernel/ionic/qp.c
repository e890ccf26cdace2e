// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: creation, destruction and events. Both queues are rings in memory that
 * the creator gives; one in controller memory has its ring there, and the creator's is
 * but a copy. Those of the kernel are in memory of ours; post.c and poll.c use them.
 * modify.c has the states.
 */
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

static_assert(sizeof(struct dvq_ionic_qp_req) == 40);
static_assert(sizeof(struct dvq_ionic_qp_resp) == 24);

/* ---- events ------------------------------------------------------------------ */

static int to_ib_event(unsigned int code)
{
	switch (code) {
	case IONIC_EQE_SQ_DRAINED:
		return IB_EVENT_SQ_DRAINED;
	case IONIC_EQE_COMM_EST:
		return IB_EVENT_COMM_EST;
	case IONIC_EQE_LAST_WQE:
		return IB_EVENT_QP_LAST_WQE_REACHED;
	case IONIC_EQE_QP_ERROR:
		return IB_EVENT_QP_FATAL;
	case IONIC_EQE_QP_REQUEST:
		return IB_EVENT_QP_REQ_ERR;
	case IONIC_EQE_QP_ACCESS:
		return IB_EVENT_QP_ACCESS_ERR;
	default:
		return -ENOENT;
	}
}

/* There is no way to go on with a QP whose completions make no sense. */
static void break_qp(struct dion_qp *qp)
{
	struct dion_dev *dev = to_dion_dev(qp->dvq.ibqp.device);

	if (dion_qp_break(qp))
		dion_device_fail(dev);
	set_bit(IONIC_EQE_QP_ERROR, &qp->events);
}

static void event_work(struct work_struct *work)
{
	struct dion_qp *qp = container_of(work, struct dion_qp, event_work);
	struct ib_qp *ibqp = &qp->dvq.ibqp;
	struct ib_event event = {
		.device = ibqp->device,
		.element.qp = ibqp,
	};
	unsigned int code;
	int ret;

	if (test_and_clear_bit(DION_QP_BROKEN, &qp->events))
		break_qp(qp);
	for (code = 0; code < DION_QP_BROKEN; code++) {
		if (!test_and_clear_bit(code, &qp->events))
			continue;
		ret = to_ib_event(code);
		if (ret < 0) {
			ibdev_dbg(ibqp->device, "unknown event %u of QP %u\n", code, ibqp->qp_num);
			continue;
		}
		event.event = ret;
		ibqp->event_handler(&event, ibqp->qp_context);
	}
}

/*
 * In interrupts. Users of QPs may sleep in their handlers, so they are told by a worker. Of a QP that its creator
 * may never get nobody is told: the RDMA core frees it without a look at the events that it has.
 */
void dion_qp_event(struct dion_dev *dev, u32 qid, u8 code)
{
	struct dion_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qid);
	/* Pairs with dion_create_qp(): the worker finds the whole QP. */
	if (qp && smp_load_acquire(&qp->created)) {
		set_bit(code, &qp->events);
		queue_work(dev->qp_work, &qp->event_work);
	}
	xa_unlock_irqrestore(&dev->qps, flags);
	if (!qp)
		ibdev_dbg(&dev->dvq.ibdev, "event %u of unknown QP %u\n", code, qid);
}

/* ---- what can be asked for --------------------------------------------------- */

static int to_qp_type(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return IONIC_QPT_RC;
	case IB_QPT_UD:
	case IB_QPT_GSI:
		return IONIC_QPT_UD;
	default:
		return -EOPNOTSUPP;
	}
}

static int check_init_attr(struct dion_dev *dev, const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (to_qp_type(attr->qp_type) < 0 || attr->srq || attr->rwq_ind_tbl ||
	    attr->create_flags) {
		ibdev_dbg(&dev->dvq.ibdev, "no QP of type %d with flags %#x\n", attr->qp_type,
			  attr->create_flags);
		return -EOPNOTSUPP;
	}
	if (cap->max_send_wr > DION_MAX_WR || cap->max_recv_wr > DION_MAX_WR ||
	    cap->max_send_sge > dion_max_sge(dev) || cap->max_recv_sge > dion_max_sge(dev)) {
		ibdev_dbg(&dev->dvq.ibdev, "no QP with %u and %u WRs of %u and %u SGEs\n",
			  cap->max_send_wr, cap->max_recv_wr, cap->max_send_sge,
			  cap->max_recv_sge);
		return -EINVAL;
	}
	return 0;
}

static u32 spec_bytes(u8 spec)
{
	return spec > 2 ? IONIC_WQE_SPEC_SGES - IONIC_WQE_PAYLOAD : 0;
}

/* SGEs that an entry holds. The express doorbell at its end costs one. */
static u32 room_for_sges(const struct dion_wq *wq, bool express)
{
	u32 taken = IONIC_WQE_PAYLOAD + spec_bytes(wq->spec) + express * sizeof(struct ionic_sge);
	u32 bytes = BIT(wq->ring.stride_log2);
	u32 sges = bytes > taken ? (bytes - taken) / sizeof(struct ionic_sge) : 0;

	return wq->spec ? min_t(u32, sges, wq->spec) : sges;
}

static u32 room_for_inline(const struct dion_wq *wq, bool express)
{
	return BIT(wq->ring.stride_log2) - IONIC_WQE_PAYLOAD - express * IONIC_WQE_EXPRESS;
}

/* The creator has laid its rings out for what it wished. Do they hold what the verbs ask for? */
static int check_wq(struct dion_dev *dev, const struct dion_wq *wq, u8 wish, u32 wrs, u32 sges,
		    u32 inline_bytes)
{
	bool express = wish & DVQ_IONIC_CMB_ENABLE && wish & DVQ_IONIC_CMB_EXPDB;
	int ret;

	ret = dion_ring_check(dev, &wq->ring, ilog2(IONIC_WQE_SIZE_MIN),
			      dev->eth.rdma.max_stride_log2);
	if (ret)
		return ret;
	if (wq->spec > DION_MAX_SPEC || wrs > wq->ring.mask ||
	    sges > room_for_sges(wq, express) || inline_bytes > room_for_inline(wq, express)) {
		ibdev_dbg(&dev->dvq.ibdev,
			  "%u WRs of %u SGEs or %u bytes exceed mask %#x, stride 2^%u, spec %u\n",
			  wrs, sges, inline_bytes, wq->ring.mask, wq->ring.stride_log2, wq->spec);
		return -EINVAL;
	}
	return 0;
}

/*
 * A ring of the kernel's own: entries as small as they can be, and no less than a page of
 * them.
 */
static void lay_out_wq(struct dion_wq *wq, u32 wrs, u32 sges, u32 inline_bytes)
{
	u32 entry;

	/* choice: the format of SGEs that the in-tree driver uses */
	wq->spec = sges > 2 ? DION_MAX_SPEC : 2;
	entry = IONIC_WQE_PAYLOAD + max_t(u32, spec_bytes(wq->spec) +
					  sges * sizeof(struct ionic_sge), inline_bytes);
	wq->ring.stride_log2 = order_base_2(max_t(u32, entry, IONIC_WQE_SIZE_MIN));
	wq->ring.depth_log2 = max_t(u8, order_base_2(max(wrs, 1U) + 1),
				    PAGE_SHIFT - min_t(u8, wq->ring.stride_log2, PAGE_SHIFT - 1));
	wq->ring.mask = BIT(wq->ring.depth_log2) - 1;
	wq->ring.size = BIT(wq->ring.depth_log2 + wq->ring.stride_log2);
}

static int lay_out(struct dion_dev *dev, struct dion_qp *qp, const struct ib_qp_cap *cap)
{
	lay_out_wq(&qp->sq, cap->max_send_wr, cap->max_send_sge, cap->max_inline_data);
	lay_out_wq(&qp->rq, cap->max_recv_wr, cap->max_recv_sge, 0);
	if (max(qp->sq.ring.stride_log2, qp->rq.ring.stride_log2) <= dev->eth.rdma.max_stride_log2)
		return 0;
	ibdev_dbg(&dev->dvq.ibdev, "no entries of 2^%u and 2^%u bytes\n", qp->sq.ring.stride_log2,
		  qp->rq.ring.stride_log2);
	return -EINVAL;
}

/* ---- memory ------------------------------------------------------------------ */

static int get_wq_memory(struct dion_wq *wq, enum dvq_wq_kind kind, u8 wish, struct dvq_pd *pd,
			 struct ib_udata *udata)
{
	struct uverbs_attr_bundle *attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	struct dion_ucontext *ctx = to_dion_ucontext(attrs->context);
	u16 attr = kind == DVQ_WQ_SQ ? UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM :
				       UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM;
	struct ib_umem *umem;
	int ret;

	ret = dion_place(ctx, pd, kind, wish, wq);
	if (ret || wq->placed)
		return ret;
	/* The device only reads it, so it needs no access. */
	umem = ib_umem_get_attr_or_va(attrs->context->device, attrs, attr, wq->ring.addr,
				      wq->ring.size, 0);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	wq->umem = umem;
	return 0;
}

static void put_wq_memory(struct dion_dev *dev, struct dion_wq *wq)
{
	dion_unplace(wq);
	ib_umem_release(wq->umem);
	dion_memory_put(dev, &wq->memory);
}

/* ---- to the device ----------------------------------------------------------- */

static int describe_wq(struct dion_dev *dev, const struct dion_wq *wq, u32 cq,
		       struct ionic_aq_queue *queue, struct dion_pagelist *list)
{
	int ret;

	if (wq->placed || wq->memory.cpu) {
		list->pages = 1;
		list->addr = wq->placed ? wq->cmb_offset : wq->memory.dma;
	} else {
		ret = dion_pagelist_init_ring(dev, list, wq->umem, dion_ring_bytes(&wq->ring));
		if (ret)
			return ret;
	}
	*queue = (struct ionic_aq_queue) {
		.cq = cpu_to_le32(cq),
		.depth_log2 = wq->ring.depth_log2,
		.stride_log2 = wq->ring.stride_log2,
		.page_log2 = list->page_log2,
		.table = cpu_to_le32(IONIC_AQ_NO_TABLE),
		.pages = cpu_to_le32(list->pages),
		.addr = cpu_to_le64(list->addr),
	};
	return 0;
}

/* What the device is told at creation, and again with every change. */
u16 dion_qp_flags(const struct dion_qp *qp)
{
	u16 flags = qp->privileges;

	if (qp->sq.spec)
		flags |= IONIC_QP_SQ_SPEC;
	if (qp->rq.spec)
		flags |= IONIC_QP_RQ_SPEC;
	if (qp->sq.placed)
		flags |= IONIC_QP_SQ_CMB;
	if (qp->rq.placed)
		flags |= IONIC_QP_RQ_CMB;
	return flags;
}

static int tell_qp(struct dion_dev *dev, struct dion_qp *qp, const struct ib_qp_init_attr *attr,
		   u32 pd, u16 pid)
{
	u8 pipeline = dion_qids_pipeline(&dev->qp_ids, qp->dvq.ibqp.qp_num);
	struct ionic_aq_create_qp cmd = {
		.header = DION_AQ_HEADER(CREATE_QP, struct ionic_aq_create_qp),
		.pd = cpu_to_le32(pd),
		.flags = cpu_to_be32(dion_qp_flags(qp)),
		.qp = cpu_to_le32(qp->dvq.ibqp.qp_num),
		.pid = cpu_to_le16(pid),
		.type = to_qp_type(attr->qp_type),
	};
	struct dion_pagelist sq = {}, rq = {};
	int ret;

	ret = describe_wq(dev, &qp->sq, to_dion_cq(attr->send_cq)->rings[pipeline].hw.id, &cmd.sq,
			  &sq);
	if (!ret)
		ret = describe_wq(dev, &qp->rq, to_dion_cq(attr->recv_cq)->rings[pipeline].hw.id,
				  &cmd.rq, &rq);
	if (!ret)
		ret = dion_admin_exec(dev, &cmd);
	dion_pagelist_cleanup(dev, &rq);
	dion_pagelist_cleanup(dev, &sq);
	return ret;
}

/* ---- records ----------------------------------------------------------------- */

/* Where the creator sees the ring, or its copy of it; memory of a dma-buf it may not see at all. */
static u64 user_addr(const struct dion_wq *wq)
{
	if (!wq->umem)
		return wq->ring.addr;
	return wq->umem->is_dmabuf ? 0 : wq->umem->address;
}

/* @ctx: NULL: of the kernel */
static void fill_wq_record(struct dvq_wq_info *info, enum dvq_wq_kind kind,
			   const struct dion_wq *wq, u8 qtype, u32 qpn, u8 pipeline,
			   const struct dion_ucontext *ctx)
{
	*info = (struct dvq_wq_info) {
		.kind = kind,
		.mem = wq->placed ? DVQ_MEM_CMB : ctx ? DVQ_MEM_USER : DVQ_MEM_KERNEL,
		.db_format = DVQ_DB_IONIC,
		.db_width = sizeof(u64),
		.caps = wq->placed & DVQ_IONIC_CMB_EXPDB ? DVQ_WQ_EXPDB : 0,
		.entry_size = BIT(wq->ring.stride_log2),
		.entries = BIT(wq->ring.depth_log2),
		.max_wr = wq->ring.mask,
		.max_batch = wq->ring.mask,
		.db_offset = qtype * IONIC_DB_STRIDE,
		.pipeline = pipeline,
		.ring_key = dvq_mmap_key(wq->cmb),
		.ring_length = wq->placed ? PAGE_ALIGN(wq->ring.size) : 0,
		.db_key = ctx ? dvq_mmap_key(ctx->doorbells) : 0,
		.db_length = PAGE_SIZE,
		.db_value = FIELD_PREP(IONIC_DB_QID, (u64)qpn),
		.user_addr = user_addr(wq),
	};
}

static void fill_records(struct dion_dev *dev, struct dion_qp *qp, const struct dion_ucontext *ctx)
{
	u32 qpn = qp->dvq.ibqp.qp_num;
	u8 pipeline = dion_qids_pipeline(&dev->qp_ids, qpn);

	qp->dvq.info = (struct dvq_qp_info) {
		.qp_num = qpn,
		.generation = atomic_inc_return(&dev->qp_generations[qpn - dev->qp_ids.base]) - 1,
		.max_inline = qp->cap.max_inline_data,
		.max_send_sge = qp->cap.max_send_sge,
		.max_recv_sge = qp->cap.max_recv_sge,
		.max_rdma_sge = qp->cap.max_send_sge,
	};
	fill_wq_record(&qp->dvq.sq, DVQ_WQ_SQ, &qp->sq, dev->eth.rdma.sq.qtype, qpn, pipeline, ctx);
	fill_wq_record(&qp->dvq.rq, DVQ_WQ_RQ, &qp->rq, dev->eth.rdma.rq.qtype, qpn, pipeline, ctx);
}

static void fill_cap(struct dion_qp *qp)
{
	bool sq_express = qp->sq.placed & DVQ_IONIC_CMB_EXPDB;
	bool rq_express = qp->rq.placed & DVQ_IONIC_CMB_EXPDB;

	qp->cap = (struct ib_qp_cap) {
		.max_send_wr = qp->sq.ring.mask,
		.max_recv_wr = qp->rq.ring.mask,
		.max_send_sge = room_for_sges(&qp->sq, sq_express),
		.max_recv_sge = room_for_sges(&qp->rq, rq_express),
		.max_inline_data = room_for_inline(&qp->sq, sq_express),
	};
}

/* ---- creation ---------------------------------------------------------------- */

/* Both CQs and the creator must agree on a pipeline. */
static u8 common_pipelines(const struct ib_qp_init_attr *attr, u8 wanted)
{
	u8 pipelines = to_dion_cq(attr->send_cq)->pipelines & to_dion_cq(attr->recv_cq)->pipelines;

	return wanted ? pipelines & wanted : pipelines;
}

/* That of the communication manager has a number of its own, on the first pipeline. */
static int get_gsi(struct dion_dev *dev, struct dion_qp *qp)
{
	if (test_and_set_bit(0, &dev->gsi))
		return -EBUSY;
	qp->dvq.ibqp.qp_num = IONIC_QPN_GSI;
	return 0;
}

static int get_numbers(struct dion_dev *dev, struct dion_qp *qp, enum ib_qp_type type,
		       u8 pipelines)
{
	int ret;

	if (type == IB_QPT_GSI)
		return get_gsi(dev, qp);
	if (!pipelines) {
		ibdev_dbg(&dev->dvq.ibdev, "no pipeline that both CQs have\n");
		return -EINVAL;
	}
	ret = dion_qids_get(&dev->qp_ids, pipelines, &qp->dvq.ibqp.qp_num);
	if (ret || type != IB_QPT_RC)
		return ret;
	/* A connected QP keeps its peer's address in the device. */
	ret = dion_numbers_get(&dev->ahs, GFP_KERNEL);
	if (ret < 0) {
		dion_qids_put(&dev->qp_ids, qp->dvq.ibqp.qp_num);
		return ret;
	}
	qp->ah_num = ret;
	atomic_inc(&dev->dvq.ahs);
	return 0;
}

static void put_numbers(struct dion_dev *dev, struct dion_qp *qp, enum ib_qp_type type)
{
	if (type == IB_QPT_GSI) {
		clear_bit(0, &dev->gsi);
		return;
	}
	if (type == IB_QPT_RC) {
		dion_numbers_put(&dev->ahs, qp->ah_num);
		atomic_dec(&dev->dvq.ahs);
	}
	dion_qids_put(&dev->qp_ids, qp->dvq.ibqp.qp_num);
}

static int get_user_memory(struct dion_dev *dev, struct dion_qp *qp,
			   const struct dvq_ionic_qp_req *req, struct dvq_pd *pd,
			   struct ib_udata *udata)
{
	int ret;

	/* One buffer for both rings, of which nothing says where the second begins. */
	if (uverbs_attr_is_valid(rdma_udata_to_uverbs_attr_bundle(udata),
				 UVERBS_ATTR_CREATE_QP_BUF_UMEM)) {
		ibdev_dbg(&dev->dvq.ibdev, "QP with both queues in one buffer\n");
		return -EOPNOTSUPP;
	}
	ret = get_wq_memory(&qp->sq, DVQ_WQ_SQ, req->sq_cmb, pd, udata);
	if (ret)
		return ret;
	ret = get_wq_memory(&qp->rq, DVQ_WQ_RQ, req->rq_cmb, pd, udata);
	if (ret)
		put_wq_memory(dev, &qp->sq);
	return ret;
}

static void put_memory(struct dion_dev *dev, struct dion_qp *qp)
{
	put_wq_memory(dev, &qp->rq);
	put_wq_memory(dev, &qp->sq);
}

static int get_kernel_memory(struct dion_dev *dev, struct dion_qp *qp)
{
	int ret;

	ret = dion_memory_get(dev, &qp->sq.memory, qp->sq.ring.size);
	if (ret)
		return ret;
	ret = dion_memory_get(dev, &qp->rq.memory, qp->rq.ring.size);
	if (ret)
		dion_memory_put(dev, &qp->sq.memory);
	return ret;
}

static int check_request(struct dion_dev *dev, struct dion_qp *qp,
			 const struct dvq_ionic_qp_req *req, const struct ib_qp_cap *cap)
{
	int ret;

	qp->sq.ring = req->sq;
	qp->sq.spec = req->sq_spec;
	qp->rq.ring = req->rq;
	qp->rq.spec = req->rq_spec;
	ret = check_wq(dev, &qp->sq, req->sq_cmb, cap->max_send_wr, cap->max_send_sge,
		       cap->max_inline_data);
	if (!ret)
		ret = check_wq(dev, &qp->rq, req->rq_cmb, cap->max_recv_wr, cap->max_recv_sge, 0);
	return ret;
}

static int respond(struct dion_dev *dev, struct dion_qp *qp, struct ib_udata *udata)
{
	struct dvq_ionic_qp_resp resp = {
		.qpid = qp->dvq.ibqp.qp_num,
		.sq_cmb = qp->sq.placed,
		.rq_cmb = qp->rq.placed,
		.udma_idx = dion_qids_pipeline(&dev->qp_ids, qp->dvq.ibqp.qp_num),
		.sq_cmb_offset = dvq_mmap_key(qp->sq.cmb),
		.rq_cmb_offset = dvq_mmap_key(qp->rq.cmb),
	};

	return ib_respond_udata(udata, resp);
}

/* No event of the QP is delivered any more afterwards. */
static void forget(struct dion_dev *dev, struct dion_qp *qp)
{
	xa_erase_irq(&dev->qps, qp->dvq.ibqp.qp_num);
	if (qp->work)
		dion_work_detach(qp);
	cancel_work_sync(&qp->event_work);
}

static int destroy_in_device(struct dion_dev *dev, struct dion_qp *qp)
{
	int ret;

	/* Not beside dion_qp_break(), whose command would be refused. */
	mutex_lock(&qp->lock);
	ret = dion_admin_exec_destroy(dev, IONIC_AQ_DESTROY_QP, qp->dvq.ibqp.qp_num,
				      &qp->refused);
	qp->gone = !ret;
	mutex_unlock(&qp->lock);
	if (!ret)
		forget(dev, qp);
	return ret;
}

/* Of one that nobody will know, or tries to destroy again: the device has one more chance. */
static void destroy_at_once(struct dion_dev *dev, struct dion_qp *qp)
{
	while (destroy_in_device(dev, qp))
		;
}

static int make_known(struct dion_dev *dev, struct dion_qp *qp)
{
	u32 qpn = qp->dvq.ibqp.qp_num;
	int ret;

	ret = xa_insert_irq(&dev->qps, qpn, qp, GFP_KERNEL);
	if (ret || !qp->work)
		return ret;
	ret = dion_work_attach(qp);
	if (ret)
		xa_erase_irq(&dev->qps, qpn);
	return ret;
}

/*
 * From a QP that has numbers and memory to one that the device and its creator know.
 * @udata: NULL: of the kernel
 */
static int introduce(struct dion_dev *dev, struct dion_qp *qp, const struct ib_qp_init_attr *attr,
		     struct ib_udata *udata)
{
	struct dion_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct dion_ucontext, dvq.ibucontext);
	int ret;

	ret = make_known(dev, qp);
	if (ret)
		return ret;
	ret = tell_qp(dev, qp, attr, to_dion_pd(qp->dvq.ibqp.pd)->id, ctx ? ctx->pid : 0);
	if (ret) {
		/* There may be a late event of the number's last owner. */
		forget(dev, qp);
		return ret;
	}
	fill_cap(qp);
	fill_records(dev, qp, ctx);
	if (udata)
		ret = respond(dev, qp, udata);
	if (ret)
		destroy_at_once(dev, qp);
	return ret;
}

static void qp_init(struct dion_qp *qp, const struct ib_qp_init_attr *attr)
{
	mutex_init(&qp->lock);
	INIT_WORK(&qp->event_work, event_work);
	qp->state = IB_QPS_RESET;
	qp->sig_type = attr->sq_sig_type;
	qp->privileges = to_dion_pd(qp->dvq.ibqp.pd)->privileges;
}

static int create_user_qp(struct dion_dev *dev, struct dion_qp *qp, struct ib_qp_init_attr *attr,
			  struct ib_udata *udata)
{
	struct dvq_ionic_qp_req req;
	int ret;

	ret = ib_copy_validate_udata_in(udata, req, reserved_128);
	if (!ret)
		ret = check_request(dev, qp, &req, &attr->cap);
	if (ret)
		return ret;
	ret = get_numbers(dev, qp, attr->qp_type, common_pipelines(attr, req.udma_mask));
	if (ret)
		return ret;
	ret = get_user_memory(dev, qp, &req, to_dvq_pd(qp->dvq.ibqp.pd), udata);
	if (ret)
		goto err_put_numbers;
	ret = introduce(dev, qp, attr, udata);
	if (ret)
		goto err_put_memory;
	return 0;

err_put_memory:
	put_memory(dev, qp);
err_put_numbers:
	put_numbers(dev, qp, attr->qp_type);
	return ret;
}

static int create_kernel_qp(struct dion_dev *dev, struct dion_qp *qp, struct ib_qp_init_attr *attr)
{
	int ret;

	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	ret = lay_out(dev, qp, &attr->cap);
	if (ret)
		return ret;
	ret = get_numbers(dev, qp, attr->qp_type, common_pipelines(attr, 0));
	if (ret)
		return ret;
	ret = get_kernel_memory(dev, qp);
	if (ret)
		goto err_put_numbers;
	ret = dion_work_create(qp, attr);
	if (ret)
		goto err_put_memory;
	ret = introduce(dev, qp, attr, NULL);
	if (ret)
		goto err_destroy_work;
	return 0;

err_destroy_work:
	dion_work_destroy(qp);
err_put_memory:
	put_memory(dev, qp);
err_put_numbers:
	put_numbers(dev, qp, attr->qp_type);
	return ret;
}

int dion_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibqp->device);
	struct dion_qp *qp = to_dion_qp(ibqp);
	int ret;

	ret = check_init_attr(dev, attr);
	if (ret)
		return ret;
	qp_init(qp, attr);
	ret = udata ? create_user_qp(dev, qp, attr, udata) : create_kernel_qp(dev, qp, attr);
	if (ret)
		return ret;
	if (attr->sq_sig_type == IB_SIGNAL_ALL_WR)
		qp->dvq.info.flags |= DVQ_QP_SIG_ALL;
	dvq_qp_init(&qp->dvq, to_dvq_cq(attr->send_cq), to_dvq_cq(attr->recv_cq), udata);
	attr->cap = qp->cap;
	/* Pairs with dion_qp_event(). */
	smp_store_release(&qp->created, true);
	return 0;
}

int dion_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibqp->device);
	struct dion_qp *qp = to_dion_qp(ibqp);
	int ret;

	if (qp->work) {
		destroy_at_once(dev, qp);
		dion_work_destroy(qp);
	} else {
		do
			ret = destroy_in_device(dev, qp);
		while (ret && dvq_is_cleanup(udata));
		if (ret)
			return ret;
	}
	dvq_qp_cleanup(&qp->dvq);
	put_memory(dev, qp);
	put_numbers(dev, qp, ibqp->qp_type);
	return 0;
}
