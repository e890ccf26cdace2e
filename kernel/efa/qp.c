// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs of user space: UD and SRD (the verbs' driver-specific kind). The send ring
 * is in the device's memory and given by the device, the receive ring in host memory and
 * given by us.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "batch.h"
#include "cmd.h"
#include "efa.h"

static_assert(EFA_BATCH_UNIT == EFA_WQE_SIZE);
static_assert(sizeof(struct dvq_efa_qp_req) == 24);
static_assert(sizeof(struct dvq_efa_qp_resp) == 64);
static_assert(sizeof(struct efa_wqe) == EFA_WQE_SIZE);
static_assert(sizeof(struct efa_wqe_wide) == EFA_WQE_SIZE_WIDE);
static_assert(sizeof(struct efa_rx_desc) == EFA_RX_DESC_SIZE);

/* The device's states are the core's. */
static_assert(EFA_ADMIN_QPS_RESET == (int)IB_QPS_RESET);
static_assert(EFA_ADMIN_QPS_INIT == (int)IB_QPS_INIT);
static_assert(EFA_ADMIN_QPS_RTR == (int)IB_QPS_RTR);
static_assert(EFA_ADMIN_QPS_RTS == (int)IB_QPS_RTS);
static_assert(EFA_ADMIN_QPS_SQD == (int)IB_QPS_SQD);
static_assert(EFA_ADMIN_QPS_SQE == (int)IB_QPS_SQE);
static_assert(EFA_ADMIN_QPS_ERR == (int)IB_QPS_ERR);

#define QP_FLAGS	(DVQ_EFA_QP_UNSOLICITED | DVQ_EFA_QP_64BIT_IDS)
#define MAX_RNR_RETRY	7	/* without limit */

/* ---- what can be asked for ---------------------------------------------------------- */

static u32 wqe_size(const struct ib_qp_cap *cap, const struct dvq_efa_qp_req *req)
{
	return cap->max_send_wr ? req->sq_ring_size / cap->max_send_wr : 0;
}

static bool caps_are_possible(struct efa_dev *dev, const struct ib_qp_cap *cap, u32 wqe_size)
{
	u32 max_inline = wqe_size == EFA_WQE_SIZE_WIDE ? EFA_WQE_INLINE_WIDE : EFA_WQE_INLINE;

	return cap->max_send_sge <= dev->attr.max_send_sges &&
	       cap->max_recv_sge <= dev->attr.max_recv_sges &&
	       cap->max_inline_data <= min(max_inline, dev->attr.inline_buf_size_ex);
}

static bool sq_is_possible(struct efa_dev *dev, const struct ib_qp_cap *cap,
			   const struct dvq_efa_qp_req *req)
{
	u32 size = wqe_size(cap, req);

	if (!cap->max_send_wr)
		return !req->sq_ring_size;
	/* The size of an entry is told by nothing else, so it must come out exactly. */
	if ((u64)size * cap->max_send_wr != req->sq_ring_size)
		return false;
	return (size == EFA_WQE_SIZE || size == EFA_WQE_SIZE_WIDE) &&
	       is_power_of_2(cap->max_send_wr) &&
	       cap->max_send_wr >= dev->attr.min_sq_depth &&
	       cap->max_send_wr <= dev->attr.max_sq_depth &&
	       req->sq_ring_size <= dev->attr.max_llq_size;
}

/* A ring of descriptors, of which a WR takes one for each SGE. */
static bool rq_is_possible(struct efa_dev *dev, const struct ib_qp_cap *cap,
			   const struct dvq_efa_qp_req *req)
{
	u32 descs = req->rq_ring_size / EFA_RX_DESC_SIZE;

	if (!req->rq_ring_size)
		return !cap->max_recv_wr;
	return req->rq_ring_size % EFA_RX_DESC_SIZE == 0 &&
	       is_power_of_2(descs) &&
	       descs <= dev->attr.max_rq_depth &&
	       (u64)cap->max_recv_wr * max(cap->max_recv_sge, 1U) <= descs;
}

/* Rings in memory of the creator: there are none, and he must not believe otherwise. */
static bool has_buffers(const struct uverbs_attr_bundle *attrs)
{
	return uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_BUF_UMEM) ||
	       uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_RQ_BUF_UMEM) ||
	       uverbs_attr_is_valid(attrs, UVERBS_ATTR_CREATE_QP_SQ_BUF_UMEM);
}

static int check_request(struct efa_dev *dev, const struct ib_qp_init_attr *attr,
			 const struct dvq_efa_qp_req *req)
{
	if (attr->create_flags || attr->srq || req->flags & ~QP_FLAGS)
		return -EOPNOTSUPP;
	if (attr->qp_type != IB_QPT_UD &&
	    (attr->qp_type != IB_QPT_DRIVER || req->driver_qp_type != DVQ_EFA_QP_SRD))
		return -EOPNOTSUPP;
	if (req->flags & DVQ_EFA_QP_UNSOLICITED && !efa_has_cap(dev, EFA_DEV_CAP_UNSOLICITED))
		return -EOPNOTSUPP;
	if (req->flags & DVQ_EFA_QP_64BIT_IDS && !efa_has_cap(dev, EFA_DEV_CAP_64BIT_IDS))
		return -EOPNOTSUPP;
	if (memchr_inv(req->reserved_98, 0, sizeof(req->reserved_98)) ||
	    !attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (!caps_are_possible(dev, &attr->cap, wqe_size(&attr->cap, req)) ||
	    !sq_is_possible(dev, &attr->cap, req) || !rq_is_possible(dev, &attr->cap, req))
		return -EINVAL;
	if (!efa_batch_fits(dev->attr.max_tx_batch, wqe_size(&attr->cap, req)))
		return -EOPNOTSUPP;
	return 0;
}

static int get_request(struct efa_dev *dev, const struct ib_qp_init_attr *attr,
		       struct ib_udata *udata, struct dvq_efa_qp_req *req)
{
	const struct ib_qp_cap *cap = &attr->cap;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	if (has_buffers(rdma_udata_to_uverbs_attr_bundle(udata))) {
		ibdev_dbg(&dev->dvq.ibdev, "QP in memory of its creator\n");
		return -EOPNOTSUPP;
	}
	ret = ib_copy_validate_udata_in_cm(udata, *req, driver_qp_type, 0);
	if (!ret)
		ret = check_request(dev, attr, req);
	if (ret)
		ibdev_dbg(&dev->dvq.ibdev,
			  "QP type %d flags %#x, SQ %u WRs in %u bytes, RQ %u WRs in %u bytes, SGEs %u and %u, inline %u: %d\n",
			  attr->qp_type, req->flags, cap->max_send_wr, req->sq_ring_size,
			  cap->max_recv_wr, req->rq_ring_size, cap->max_send_sge,
			  cap->max_recv_sge, cap->max_inline_data, ret);
	return ret;
}

/* ---- mappings --------------------------------------------------------------------- */

static int map_db(struct efa_ucontext *ctx, struct dvq_mmap **entry, u32 offset,
		  struct dvq_wq_info *wq)
{
	struct efa_dev *dev = to_efa_dev(ctx->dvq.ibucontext.device);
	struct dvq_mmap *mmap;

	mmap = efa_mmap_bar(ctx, DVQ_MMAP_REGISTERS, dev->attr.db_bar, offset, sizeof(u32),
			    &wq->db_offset);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	*entry = mmap;
	wq->db_format = DVQ_DB_EFA_COUNT;
	wq->db_width = sizeof(u32);
	wq->db_key = dvq_mmap_key(mmap);
	wq->db_length = mmap->length;
	return 0;
}

static int map_sq(struct efa_qp *qp, struct efa_ucontext *ctx,
		  const struct efa_create_qp_result *result)
{
	struct dvq_wq_info *wq = &qp->dvq.sq;
	struct dvq_mmap *mmap;

	if (wq->kind == DVQ_WQ_NONE)
		return 0;
	mmap = efa_mmap_bar(ctx, DVQ_MMAP_DEVICE_MEM, EFA_BAR_LLQ, result->llq_offset,
			    wq->entry_size * wq->entries, &wq->ring_offset);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	qp->sq_mmap = mmap;
	wq->ring_key = dvq_mmap_key(mmap);
	wq->ring_length = mmap->length;
	return map_db(ctx, &qp->sq_db_mmap, result->sq_db_offset, wq);
}

static int map_rq(struct efa_qp *qp, struct efa_ucontext *ctx,
		  const struct efa_create_qp_result *result)
{
	struct dvq_wq_info *wq = &qp->dvq.rq;
	struct dvq_mmap *mmap;

	if (wq->kind == DVQ_WQ_NONE)
		return 0;
	mmap = dvq_ring_mmap(&ctx->dvq, &qp->rq_ring, DVQ_MMAP_PAGES);
	if (IS_ERR(mmap))
		return PTR_ERR(mmap);
	qp->rq_mmap = mmap;
	wq->ring_key = dvq_mmap_key(mmap);
	wq->ring_length = mmap->length;
	return map_db(ctx, &qp->rq_db_mmap, result->rq_db_offset, wq);
}

/* Also after a failure in the middle. */
static void unmap_qp(struct efa_qp *qp)
{
	dvq_mmap_remove(qp->rq_db_mmap);
	dvq_mmap_remove(qp->rq_mmap);
	dvq_mmap_remove(qp->sq_db_mmap);
	dvq_mmap_remove(qp->sq_mmap);
}

static int map_qp(struct efa_qp *qp, struct efa_ucontext *ctx,
		  const struct efa_create_qp_result *result)
{
	int ret;

	ret = map_sq(qp, ctx, result);
	if (!ret)
		ret = map_rq(qp, ctx, result);
	if (ret)
		unmap_qp(qp);
	return ret;
}

/* ---- records ---------------------------------------------------------------------- */

static void fill_sq(struct efa_dev *dev, struct efa_qp *qp, const struct dvq_efa_qp_req *req)
{
	struct dvq_wq_info *wq = &qp->dvq.sq;

	if (!qp->cap.max_send_wr)
		return;
	wq->kind = DVQ_WQ_SQ;
	wq->mem = DVQ_MEM_CMB;
	/* choice: no device announces hints, and none is known to mind them */
	wq->caps = DVQ_WQ_HINTS;
	if (req->flags & DVQ_EFA_QP_64BIT_IDS)
		wq->caps |= DVQ_WQ_64BIT_IDS;
	wq->entry_size = wqe_size(&qp->cap, req);
	wq->entries = qp->cap.max_send_wr;
	wq->max_wr = wq->entries;
	wq->max_batch = efa_batch_max(dev->attr.max_tx_batch, dev->attr.min_sq_depth,
				      wq->entry_size, wq->entries);
}

static void fill_rq(struct efa_qp *qp, const struct dvq_efa_qp_req *req)
{
	struct dvq_wq_info *wq = &qp->dvq.rq;

	if (!req->rq_ring_size)
		return;
	wq->kind = DVQ_WQ_RQ;
	wq->mem = DVQ_MEM_KERNEL;
	wq->entry_size = EFA_RX_DESC_SIZE;
	wq->entries = req->rq_ring_size / EFA_RX_DESC_SIZE;
	wq->max_wr = qp->cap.max_recv_wr;
	wq->max_batch = wq->entries;
}

static void fill_info(struct efa_dev *dev, struct efa_qp *qp, const struct ib_qp_init_attr *attr,
		      const struct dvq_efa_qp_req *req, const struct efa_create_qp_result *result)
{
	struct dvq_qp_info *info = &qp->dvq.info;
	atomic_t *generation = &dev->qp_generations[result->qp_num & dev->qp_mask];

	info->qp_num = result->qp_num;
	info->generation = atomic_inc_return(generation) - 1;
	info->send_sub_cq = result->send_sub_cq;
	info->recv_sub_cq = result->recv_sub_cq;
	info->max_inline = qp->cap.max_inline_data;
	info->max_send_sge = qp->cap.max_send_sge;
	info->max_recv_sge = qp->cap.max_recv_sge;
	/* An entry has room for one, however many the device may do. */
	if (qp->dvq.ibqp.qp_type == IB_QPT_DRIVER)
		info->max_rdma_sge = min_t(u32, dev->attr.max_rdma_sges, 1);
	if (req->flags & DVQ_EFA_QP_UNSOLICITED)
		info->flags = DVQ_QP_UNSOLICITED;
	if (attr->sq_sig_type == IB_SIGNAL_ALL_WR)
		info->flags |= DVQ_QP_SIG_ALL;
	fill_sq(dev, qp, req);
	fill_rq(qp, req);
}

/* ---- create and destroy --------------------------------------------------------------- */

static int create_qp(struct efa_dev *dev, struct efa_qp *qp, const struct ib_qp_init_attr *attr,
		     struct efa_ucontext *ctx, const struct dvq_efa_qp_req *req,
		     struct efa_create_qp_result *result)
{
	struct efa_create_qp_params params = {
		.type = attr->qp_type == IB_QPT_UD ? EFA_ADMIN_QP_UD : EFA_ADMIN_QP_SRD,
		.sl = req->sl,
		.pdn = to_efa_pd(qp->dvq.ibqp.pd)->pdn,
		.uar = ctx->uar,
		.send_cq = to_efa_cq(attr->send_cq)->cq_idx,
		.recv_cq = to_efa_cq(attr->recv_cq)->cq_idx,
		.sq_depth = attr->cap.max_send_wr,
		.sq_bytes = req->sq_ring_size,
		.rq_depth = attr->cap.max_recv_wr,
		.rq_bytes = req->rq_ring_size,
		.rq_dma = qp->rq_ring.dma,
	};

	if (req->flags & DVQ_EFA_QP_UNSOLICITED)
		params.flags |= EFA_CREATE_QP_UNSOLICITED;
	if (req->flags & DVQ_EFA_QP_64BIT_IDS)
		params.flags |= EFA_CREATE_QP_64BIT_IDS;
	return efa_cmd_create_qp(dev, &params, result);
}

static int check_result(struct efa_dev *dev, const struct efa_create_qp_result *result)
{
	if (max(result->send_sub_cq, result->recv_sub_cq) < dev->attr.sub_cqs_per_cq)
		return 0;
	ibdev_err_ratelimited(&dev->dvq.ibdev, "QP %#x is given sub-CQs %u and %u of %u\n",
			      result->qp_num, result->send_sub_cq, result->recv_sub_cq,
			      dev->attr.sub_cqs_per_cq);
	return -EIO;
}

/* A device that does not let go of the ring of a QP that nobody has, yet or any more, is stopped. */
static void uncreate_qp(struct efa_dev *dev, u32 handle)
{
	if (efa_settle(efa_cmd_destroy_qp(dev, handle)))
		efa_device_halt(dev);
}

static int respond(const struct efa_qp *qp, struct ib_udata *udata)
{
	const struct dvq_qp_info *info = &qp->dvq.info;
	const struct dvq_wq_info *sq = &qp->dvq.sq;
	const struct dvq_wq_info *rq = &qp->dvq.rq;
	struct dvq_efa_qp_resp resp = {
		.rq_db_offset = rq->db_offset,
		.sq_db_offset = sq->db_offset,
		.llq_desc_offset = sq->ring_offset,
		.rq_mmap_key = rq->ring_key,
		.rq_mmap_size = rq->ring_length,
		.rq_db_mmap_key = rq->db_key,
		.sq_db_mmap_key = sq->db_key,
		.llq_desc_mmap_key = sq->ring_key,
		.send_sub_cq_idx = info->send_sub_cq,
		.recv_sub_cq_idx = info->recv_sub_cq,
	};

	return ib_respond_udata(udata, resp);
}

static int new_qp(struct efa_dev *dev, struct efa_qp *qp, const struct ib_qp_init_attr *attr,
		  struct ib_udata *udata)
{
	struct efa_create_qp_result result;
	struct dvq_efa_qp_req req = {};
	struct efa_ucontext *ctx;
	int ret;

	ret = get_request(dev, attr, udata, &req);
	if (ret)
		return ret;
	ctx = rdma_udata_to_drv_context(udata, struct efa_ucontext, dvq.ibucontext);
	if (req.rq_ring_size) {
		ret = dvq_ring_alloc(&dev->dvq, &qp->rq_ring, req.rq_ring_size, DMA_TO_DEVICE);
		if (ret)
			return ret;
	}
	ret = create_qp(dev, qp, attr, ctx, &req, &result);
	if (ret)
		goto err_free_ring;
	ret = check_result(dev, &result);
	if (ret)
		goto err_uncreate;

	qp->handle = result.handle;
	qp->cap = attr->cap;
	qp->state = IB_QPS_RESET;
	qp->alive = true;
	mutex_init(&qp->lock);
	qp->dvq.ibqp.qp_num = result.qp_num;
	fill_info(dev, qp, attr, &req, &result);

	ret = map_qp(qp, ctx, &result);
	if (ret)
		goto err_uncreate;
	ret = respond(qp, udata);
	if (ret)
		goto err_unmap;
	dvq_qp_init(&qp->dvq, &to_efa_cq(attr->send_cq)->dvq, &to_efa_cq(attr->recv_cq)->dvq,
		    udata);
	return 0;

err_unmap:
	unmap_qp(qp);
err_uncreate:
	uncreate_qp(dev, result.handle);
err_free_ring:
	dvq_ring_free(&dev->dvq, &qp->rq_ring);
	return ret;
}

int efa_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibqp->device);
	int ret;

	ret = new_qp(dev, to_efa_qp(ibqp), attr, udata);
	if (ret)
		efa_count_error(dev, EFA_STAT_CREATE_QP);
	return ret;
}

/*
 * The device's part; when it refuses, the QP stays as it was. Where nobody is left to try
 * again, this does.
 */
static int destroy_qp(struct efa_dev *dev, struct efa_qp *qp, struct ib_udata *udata)
{
	int ret;

	mutex_lock(&qp->lock);
	ret = efa_settle(efa_cmd_destroy_qp(dev, qp->handle));
	if (ret && dvq_is_cleanup(udata)) {
		uncreate_qp(dev, qp->handle);
		ret = 0;
	}
	if (!ret)
		qp->alive = false;
	mutex_unlock(&qp->lock);
	return ret;
}

int efa_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibqp->device);
	struct efa_qp *qp = to_efa_qp(ibqp);
	int ret;

	ret = destroy_qp(dev, qp, udata);
	if (ret)
		return ret;
	dvq_qp_cleanup(&qp->dvq);
	unmap_qp(qp);
	dvq_ring_free(&dev->dvq, &qp->rq_ring);
	return 0;
}

/* ---- modify ----------------------------------------------------------------------- */

#define MODIFY_ATTRS	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY |	\
			 IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY | IB_QP_SQ_PSN |	\
			 IB_QP_RNR_RETRY)
/* those that every change of state may carry */
#define STATE_ATTRS	IB_QP_STATE
#define CUR_STATES	(BIT(IB_QPS_RTR) | BIT(IB_QPS_RTS) | BIT(IB_QPS_SQD) | BIT(IB_QPS_SQE))

/* Changes of state of SRD QPs; of UD QPs the core knows. */
static const struct {
	bool valid;
	int required;
	int optional;
} srd_table[IB_QPS_ERR + 1][IB_QPS_ERR + 1] = {
	[IB_QPS_RESET] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_INIT] = {
			.valid = true,
			.required = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		},
	},
	[IB_QPS_INIT] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
		[IB_QPS_INIT] = {
			.valid = true,
			.optional = IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY,
		},
		[IB_QPS_RTR] = {
			.valid = true,
			.optional = IB_QP_PKEY_INDEX | IB_QP_QKEY,
		},
	},
	[IB_QPS_RTR] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
		[IB_QPS_RTS] = {
			.valid = true,
			.required = IB_QP_SQ_PSN,
			.optional = IB_QP_CUR_STATE | IB_QP_QKEY | IB_QP_RNR_RETRY,
		},
	},
	[IB_QPS_RTS] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
		[IB_QPS_RTS] = {
			.valid = true,
			.optional = IB_QP_CUR_STATE | IB_QP_QKEY,
		},
		[IB_QPS_SQD] = {
			.valid = true,
			.optional = IB_QP_EN_SQD_ASYNC_NOTIFY,
		},
	},
	[IB_QPS_SQD] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
		[IB_QPS_RTS] = {
			.valid = true,
			.optional = IB_QP_CUR_STATE | IB_QP_QKEY,
		},
		[IB_QPS_SQD] = {
			.valid = true,
			.optional = IB_QP_PKEY_INDEX | IB_QP_QKEY,
		},
	},
	[IB_QPS_SQE] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
		[IB_QPS_RTS] = {
			.valid = true,
			.optional = IB_QP_CUR_STATE | IB_QP_QKEY,
		},
	},
	[IB_QPS_ERR] = {
		[IB_QPS_RESET] = { .valid = true },
		[IB_QPS_ERR] = { .valid = true },
	},
};

static bool srd_change_is_ok(enum ib_qp_state cur, enum ib_qp_state new, int mask)
{
	mask &= ~STATE_ATTRS;
	return srd_table[cur][new].valid &&
	       (mask & srd_table[cur][new].required) == srd_table[cur][new].required &&
	       !(mask & ~(srd_table[cur][new].required | srd_table[cur][new].optional));
}

static bool change_is_ok(const struct efa_qp *qp, enum ib_qp_state cur, enum ib_qp_state new,
			 int mask)
{
	if (qp->dvq.ibqp.qp_type == IB_QPT_UD)
		return ib_modify_qp_is_ok(cur, new, IB_QPT_UD, mask);
	return srd_change_is_ok(cur, new, mask);
}

/* What does not depend on the state. */
static int check_modify(struct efa_dev *dev, const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~MODIFY_ATTRS)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PORT && attr->port_num != 1)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EOPNOTSUPP;
	if (mask & IB_QP_RNR_RETRY && !efa_has_cap(dev, EFA_DEV_CAP_RNR_RETRY))
		return -EOPNOTSUPP;
	if (mask & IB_QP_RNR_RETRY && attr->rnr_retry > MAX_RNR_RETRY)
		return -EINVAL;
	if (mask & IB_QP_CUR_STATE &&
	    (attr->cur_qp_state > IB_QPS_ERR || !(BIT(attr->cur_qp_state) & CUR_STATES)))
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state > IB_QPS_ERR)
		return -EINVAL;
	return 0;
}

static void fill_modify(struct efa_modify_qp_cmd *cmd, const struct ib_qp_attr *attr, int mask,
			enum ib_qp_state cur)
{
	u32 modify = 0;

	if (mask & IB_QP_STATE) {
		modify |= EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE;
		cmd->qp_state = cpu_to_le32(attr->qp_state);
		cmd->cur_qp_state = cpu_to_le32(cur);
	}
	if (mask & IB_QP_QKEY) {
		modify |= EFA_MODIFY_QP_QKEY;
		cmd->qkey = cpu_to_le32(attr->qkey);
	}
	if (mask & IB_QP_SQ_PSN) {
		modify |= EFA_MODIFY_QP_SQ_PSN;
		cmd->sq_psn = cpu_to_le32(attr->sq_psn);
	}
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) {
		modify |= EFA_MODIFY_QP_SQD_NOTIFY;
		cmd->sqd_notify = attr->en_sqd_async_notify;
	}
	if (mask & IB_QP_RNR_RETRY) {
		modify |= EFA_MODIFY_QP_RNR_RETRY;
		cmd->rnr_retry = attr->rnr_retry;
	}
	cmd->modify_mask = cpu_to_le32(modify);
}

static int modify_locked(struct efa_dev *dev, struct efa_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	/* The user may know better: the device can have changed the state by itself. */
	enum ib_qp_state cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	enum ib_qp_state new = mask & IB_QP_STATE ? attr->qp_state : cur;
	struct efa_modify_qp_cmd cmd = { .qp_handle = cpu_to_le32(qp->handle) };
	int ret;

	if (!change_is_ok(qp, cur, new, mask)) {
		ibdev_dbg(&dev->dvq.ibdev, "QP %#x: no change from %d to %d with attributes %#x\n",
			  qp->dvq.ibqp.qp_num, cur, new, mask);
		return -EINVAL;
	}
	fill_modify(&cmd, attr, mask, cur);
	/* Port and P_Key are none of the device's business. */
	if (!cmd.modify_mask)
		return 0;
	ret = efa_cmd_modify_qp(dev, &cmd);
	if (ret || !(mask & IB_QP_STATE))
		return ret;
	qp->state = new;
	if (new == IB_QPS_RESET)
		dvq_qp_was_reset(&qp->dvq);
	return 0;
}

int efa_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibqp->device);
	struct efa_qp *qp = to_efa_qp(ibqp);
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	ret = check_modify(dev, attr, mask);
	if (ret) {
		ibdev_dbg(ibqp->device, "QP %#x: attributes %#x cannot be set: %d\n",
			  ibqp->qp_num, mask, ret);
		return ret;
	}
	mutex_lock(&qp->lock);
	ret = modify_locked(dev, qp, attr, mask);
	mutex_unlock(&qp->lock);
	return ret;
}

/* ---- query ------------------------------------------------------------------------ */

#define QUERY_ATTRS	(IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY |	\
			 IB_QP_SQ_PSN | IB_QP_CAP | IB_QP_RNR_RETRY)

int efa_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init_attr)
{
	struct efa_dev *dev = to_efa_dev(ibqp->device);
	struct efa_qp *qp = to_efa_qp(ibqp);
	struct efa_query_qp_resp resp;
	/* Destroyed under a listing of QPs, which goes on for this error only. */
	int ret = -EAGAIN;

	if (mask & ~QUERY_ATTRS)
		return -EOPNOTSUPP;

	mutex_lock(&qp->lock);
	if (qp->alive)
		ret = efa_cmd_query_qp(dev, qp->handle, &resp);
	mutex_unlock(&qp->lock);
	/* A device that was stopped has no QPs any more, but whoever looks after it wants to see them. */
	if (ret == -ENODEV) {
		memset(&resp, 0, sizeof(resp));
		resp.qp_state = cpu_to_le32(EFA_ADMIN_QPS_ERR);
		ret = 0;
	}
	if (ret)
		return ret;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = le32_to_cpu(resp.qp_state);
	attr->cur_qp_state = attr->qp_state;
	attr->qkey = le32_to_cpu(resp.qkey);
	attr->sq_psn = le32_to_cpu(resp.sq_psn);
	attr->sq_draining = resp.sq_draining;
	attr->rnr_retry = resp.rnr_retry;
	attr->port_num = 1;
	attr->cap = qp->cap;

	memset(init_attr, 0, sizeof(*init_attr));
	init_attr->event_handler = ibqp->event_handler;
	init_attr->qp_context = ibqp->qp_context;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->cap = qp->cap;
	init_attr->sq_sig_type = qp->dvq.info.flags & DVQ_QP_SIG_ALL ? IB_SIGNAL_ALL_WR :
								       IB_SIGNAL_REQ_WR;
	return 0;
}
