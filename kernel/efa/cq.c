// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues. */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "cmd.h"
#include "efa.h"

static_assert(sizeof(struct dvq_efa_cq_req) == 16);
static_assert(sizeof(struct dvq_efa_cq_resp) == 40);
static_assert(sizeof(struct efa_cqe_rx) == EFA_CQE_SIZE);
static_assert(sizeof(struct efa_cqe_rx_ex) == EFA_CQE_SIZE_EX);

#define CQ_FLAGS	(DVQ_EFA_CQ_CHANNEL | DVQ_EFA_CQ_SGID | DVQ_EFA_CQ_64BIT_IDS)
/* entries that a command can carry, as a power of two */
#define MAX_DEPTH	32768U

static int check_flags(struct efa_dev *dev, const struct dvq_efa_cq_req *req)
{
	if (req->flags & ~CQ_FLAGS)
		return -EOPNOTSUPP;
	/* The core offers one vector even where no event can come from. */
	if (req->flags & DVQ_EFA_CQ_CHANNEL && !dev->num_eqs)
		return -EOPNOTSUPP;
	if (req->flags & DVQ_EFA_CQ_64BIT_IDS && !efa_has_cap(dev, EFA_DEV_CAP_64BIT_IDS))
		return -EOPNOTSUPP;
	if (req->flags & DVQ_EFA_CQ_SGID && req->cq_entry_size != EFA_CQE_SIZE_EX)
		return -EINVAL;
	return 0;
}

static int check_layout(struct efa_dev *dev, const struct dvq_efa_cq_req *req, u32 entries)
{
	if (memchr_inv(req->reserved_58, 0, sizeof(req->reserved_58)))
		return -EINVAL;
	if (req->cq_entry_size != EFA_CQE_SIZE && req->cq_entry_size != EFA_CQE_SIZE_EX)
		return -EINVAL;
	if (req->num_sub_cqs != dev->attr.sub_cqs_per_cq)
		return -EINVAL;
	if (!is_power_of_2(entries) || entries > min(dev->attr.max_cq_depth, MAX_DEPTH))
		return -EINVAL;
	return 0;
}

static int get_request(struct efa_dev *dev, const struct ib_cq_init_attr *attr,
		       struct ib_udata *udata, struct dvq_efa_cq_req *req)
{
	int ret;

	ret = ib_copy_validate_udata_in_cm(udata, *req, num_sub_cqs, 0);
	if (ret)
		return ret;
	if (attr->flags)
		return -EOPNOTSUPP;
	ret = check_layout(dev, req, attr->cqe);
	if (!ret)
		ret = check_flags(dev, req);
	if (ret)
		ibdev_dbg(&dev->dvq.ibdev,
			  "CQ of %u x %u entries of %u bytes, flags %#x, is not possible\n",
			  req->num_sub_cqs, attr->cqe, req->cq_entry_size, req->flags);
	return ret;
}

/* ---- the ring --------------------------------------------------------------------- */

static int check_umem(struct efa_dev *dev, struct ib_umem *umem, u32 entry_size)
{
	if (ib_umem_is_contiguous(umem) &&
	    IS_ALIGNED(ib_umem_start_dma_addr(umem), entry_size))
		return 0;
	ibdev_dbg(&dev->dvq.ibdev, "CQ memory is not one aligned DMA range\n");
	return -EINVAL;
}

/* Memory of the creator if there is any, else ours. */
static int get_ring(struct efa_dev *dev, struct efa_cq *cq, struct uverbs_attr_bundle *attrs,
		    u32 entry_size, size_t bytes, dma_addr_t *dma)
{
	int ret;

	cq->umem = ib_umem_get_cq_buf(&dev->dvq.ibdev, attrs, bytes, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(cq->umem))
		return PTR_ERR(cq->umem);
	if (!cq->umem) {
		ret = dvq_ring_alloc(&dev->dvq, &cq->ring, bytes, DMA_FROM_DEVICE);
		*dma = cq->ring.dma;
		return ret;
	}
	ret = check_umem(dev, cq->umem, entry_size);
	if (ret)
		ib_umem_release(cq->umem);
	else
		*dma = ib_umem_start_dma_addr(cq->umem);
	return ret;
}

static void put_ring(struct efa_dev *dev, struct efa_cq *cq)
{
	ib_umem_release(cq->umem);
	dvq_ring_free(&dev->dvq, &cq->ring);
}

/* ---- mappings and the record -------------------------------------------------------- */

static int map_cq(struct efa_cq *cq, struct efa_ucontext *ctx,
		  const struct efa_create_cq_result *result)
{
	struct efa_dev *dev = to_efa_dev(cq->dvq.ibcq.device);
	struct dvq_cq_info *info = &cq->dvq.ring[0];

	if (!cq->umem) {
		cq->ring_mmap = dvq_ring_mmap(&ctx->dvq, &cq->ring, DVQ_MMAP_PAGES_RO);
		if (IS_ERR(cq->ring_mmap))
			return PTR_ERR(cq->ring_mmap);
		info->ring_key = dvq_mmap_key(cq->ring_mmap);
		info->ring_length = cq->ring.length;
	}
	if (result->has_db) {
		cq->db_mmap = efa_mmap_bar(ctx, DVQ_MMAP_REGISTERS, dev->attr.db_bar,
					   result->db_offset, sizeof(u32), &info->db_offset);
		if (IS_ERR(cq->db_mmap)) {
			dvq_mmap_remove(cq->ring_mmap);
			return PTR_ERR(cq->db_mmap);
		}
		info->db_format = DVQ_DB_EFA_CQ;
		info->db_width = sizeof(u32);
		info->db_key = dvq_mmap_key(cq->db_mmap);
		info->db_length = cq->db_mmap->length;
	}
	return 0;
}

static void unmap_cq(struct efa_cq *cq)
{
	dvq_mmap_remove(cq->db_mmap);
	dvq_mmap_remove(cq->ring_mmap);
}

static void fill_info(struct efa_cq *cq, const struct dvq_efa_cq_req *req, u32 entries)
{
	struct dvq_cq_info *info = &cq->dvq.ring[0];

	info->cq_num = cq->cq_idx;
	info->mem = cq->umem ? DVQ_MEM_USER : DVQ_MEM_KERNEL;
	info->first_phase = 1;
	info->entry_size = req->cq_entry_size;
	info->entries = entries;
	info->sub_cqs = req->num_sub_cqs;
	if (req->flags & DVQ_EFA_CQ_64BIT_IDS)
		info->caps = DVQ_WQ_64BIT_IDS;
	if (cq->umem && !cq->umem->is_dmabuf)
		info->user_addr = cq->umem->address;
}

/* The provider is told nothing of a CQ in memory that it gave; the record has it all. */
static int respond(struct efa_cq *cq, struct ib_udata *udata)
{
	const struct dvq_cq_info *info = &cq->dvq.ring[0];
	struct dvq_efa_cq_resp resp = { .cq_idx = cq->cq_idx };

	if (!cq->umem) {
		resp.q_mmap_key = info->ring_key;
		resp.q_mmap_size = info->ring_length;
	}
	if (!cq->umem && cq->db_mmap) {
		resp.comp_mask = DVQ_EFA_CQ_RESP_DB;
		resp.db_off = info->db_offset;
		resp.db_mmap_key = info->db_key;
	}
	return ib_respond_udata(udata, resp);
}

/* ---- events ------------------------------------------------------------------------- */

static int events_on(struct efa_cq *cq)
{
	struct efa_cq *old;
	struct xarray *cqs;
	int ret = -EBUSY;

	if (!cq->eq)
		return 0;
	cqs = &cq->eq->cqs;
	xa_lock(cqs);
	/* The device may give the index on as soon as it has destroyed the CQ. */
	old = xa_load(cqs, cq->cq_idx);
	if (old && old->leaving) {
		/* Its last events are not ours. We have none: nobody knows the CQ yet. */
		xa_unlock(cqs);
		efa_eq_drain(cq->eq);
		xa_lock(cqs);
		old = xa_load(cqs, cq->cq_idx);
	}
	if (!old || old->leaving)
		ret = xa_err(__xa_store(cqs, cq->cq_idx, cq, GFP_KERNEL));
	xa_unlock(cqs);
	return ret;
}

static void events_off(struct efa_cq *cq)
{
	if (!cq->eq)
		return;
	/* Those that the device has told before it let go are not for the next one with the index. */
	efa_eq_drain(cq->eq);
	/* Unless another CQ has got the index. */
	xa_cmpxchg(&cq->eq->cqs, cq->cq_idx, cq, NULL, GFP_KERNEL);
	/* A handler that has found the CQ before has to finish; no other EQ's can have. */
	synchronize_irq(cq->eq->irq.nr);
}

static void set_leaving(struct efa_cq *cq, bool leaving)
{
	if (!cq->eq)
		return;
	xa_lock(&cq->eq->cqs);
	cq->leaving = leaving;
	xa_unlock(&cq->eq->cqs);
}

/* ---- create and destroy --------------------------------------------------------------- */

/* The device's part. On failure nothing is left but the ring. */
static int create_cq(struct efa_dev *dev, struct efa_cq *cq, struct efa_ucontext *ctx,
		     const struct dvq_efa_cq_req *req, dma_addr_t dma, u32 entries,
		     struct efa_create_cq_result *result)
{
	const struct efa_create_cq_params params = {
		.dma = dma,
		.depth = entries,
		.sub_cqs = req->num_sub_cqs,
		.uar = ctx->uar,
		.entry_size = req->cq_entry_size,
		.src_addr = req->flags & DVQ_EFA_CQ_SGID,
		.ids_64bit = req->flags & DVQ_EFA_CQ_64BIT_IDS,
		.eq = cq->eq,
	};
	int ret;

	ret = efa_cmd_create_cq(dev, &params, result);
	if (ret)
		return ret;
	cq->cq_idx = result->cq_idx;
	return 0;
}

/* A device that does not let go of the ring of a CQ that nobody has, yet or any more, is stopped. */
static void uncreate_cq(struct efa_dev *dev, struct efa_cq *cq)
{
	if (efa_settle(efa_cmd_destroy_cq(dev, cq->cq_idx)))
		efa_device_halt(dev);
}

static int new_cq(struct efa_dev *dev, struct efa_cq *cq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = &attrs->driver_udata;
	struct efa_ucontext *ctx = rdma_udata_to_drv_context(udata, struct efa_ucontext,
							     dvq.ibucontext);
	struct efa_create_cq_result result;
	struct dvq_efa_cq_req req;
	dma_addr_t dma;
	int ret;

	ret = get_request(dev, attr, udata, &req);
	if (ret)
		return ret;
	if (req.flags & DVQ_EFA_CQ_CHANNEL)
		cq->eq = &dev->eqs[attr->comp_vector % dev->num_eqs];
	ret = get_ring(dev, cq, attrs, req.cq_entry_size,
		       (size_t)req.cq_entry_size * attr->cqe * req.num_sub_cqs, &dma);
	if (ret)
		return ret;
	ret = create_cq(dev, cq, ctx, &req, dma, attr->cqe, &result);
	if (ret)
		goto err_put_ring;
	fill_info(cq, &req, attr->cqe);
	ret = dvq_cq_init(&cq->dvq, udata);
	if (ret)
		goto err_uncreate;
	ret = map_cq(cq, ctx, &result);
	if (ret)
		goto err_cleanup;
	cq->dvq.ibcq.cqe = attr->cqe;
	ret = respond(cq, udata);
	if (ret)
		goto err_unmap;
	/*
	 * Last: an event is kept in the channel with a pointer to the core's object, and where
	 * creation fails the core frees that without a look at the channel.
	 */
	ret = events_on(cq);
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	unmap_cq(cq);
err_cleanup:
	dvq_cq_cleanup(&cq->dvq);
err_uncreate:
	uncreate_cq(dev, cq);
err_put_ring:
	put_ring(dev, cq);
	return ret;
}

int efa_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs)
{
	struct efa_dev *dev = to_efa_dev(ibcq->device);
	int ret;

	ret = new_cq(dev, to_efa_cq(ibcq), attr, attrs);
	if (ret)
		efa_count_error(dev, EFA_STAT_CREATE_CQ);
	return ret;
}

int efa_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibcq->device);
	struct efa_cq *cq = to_efa_cq(ibcq);
	int ret;

	/* Its events go on until the device has let go of it, which it may refuse. */
	set_leaving(cq, true);
	ret = efa_settle(efa_cmd_destroy_cq(dev, cq->cq_idx));
	if (ret && !dvq_is_cleanup(udata)) {
		set_leaving(cq, false);
		return ret;
	}
	if (ret)
		uncreate_cq(dev, cq);
	events_off(cq);
	unmap_cq(cq);
	dvq_cq_cleanup(&cq->dvq);
	put_ring(dev, cq);
	return 0;
}
