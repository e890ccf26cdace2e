// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Controller memory: for work queues, and for regions of users (DVQ_OBJECT_CMB). One
 * plain window shows all of it, and for each entry size that has express doorbells
 * another one shows the same memory again: there the store of an entry's last bytes
 * rings. The device is told the place in the plain window, whichever is mapped.
 *
 * Who gets what is decided by dvq_place(), see Documentation/placement.rst.
 */
#include <linux/log2.h>
#include <linux/mm.h>

#include "dion.h"

/* choice: like the in-tree driver's limit for send queues; the memory is for many */
#define MAX_RING_BYTES	(16 * PAGE_SIZE)

#define KNOWN_WISHES	(DVQ_IONIC_CMB_ENABLE | DVQ_IONIC_CMB_REQUIRE | DVQ_IONIC_CMB_EXPDB | \
			 DVQ_IONIC_CMB_WC | DVQ_IONIC_CMB_UC)

/* ---- the memory -------------------------------------------------------------- */

static int cmb_get(struct dvq_device *dvq, struct dvq_cmb *cmb)
{
	struct dion_dev *dev = container_of(dvq, struct dion_dev, dvq);
	u8 stride_log2 = cmb->expdb_size ? ilog2(cmb->expdb_size) : 0;
	int order = get_order(cmb->length);
	bool express;
	u32 page;
	int ret;

	ret = dion_ethernet_get_cmb(&dev->eth, order, stride_log2, &page, &cmb->addr, &express);
	if (ret) {
		ibdev_dbg(&dvq->ibdev, "no %zu bytes of controller memory: %d\n", cmb->length,
			  ret);
		return -ENOSPC;
	}
	if (!express)
		cmb->expdb_size = 0;
	cmb->priv = (u64)page << PAGE_SHIFT;
	atomic64_sub(PAGE_SIZE << order, &dvq->cmb_free);
	return 0;
}

static void cmb_put(struct dvq_device *dvq, struct dvq_cmb *cmb)
{
	struct dion_dev *dev = container_of(dvq, struct dion_dev, dvq);
	int order = get_order(cmb->length);

	dion_ethernet_put_cmb(&dev->eth, cmb->priv >> PAGE_SHIFT, order);
	atomic64_add(PAGE_SIZE << order, &dvq->cmb_free);
}

/* All windows show the same memory, so a place in one is a place in each. */
static void cmb_part(struct dvq_device *dvq, const struct dvq_cmb *whole, size_t offset,
		     struct dvq_cmb *part)
{
	struct dion_dev *dev = container_of(dvq, struct dion_dev, dvq);
	phys_addr_t window = 0;

	part->priv = whole->priv + offset;
	part->addr = whole->addr + offset;
	if (part->expdb_size)
		window = dev->eth.express_windows[ilog2(part->expdb_size) - DION_EXPRESS_LOG2_MIN];
	if (window)
		part->addr = window + part->priv;
	else
		part->expdb_size = 0;
}

const struct dvq_ops dion_dvq_ops = {
	.cmb_get = cmb_get,
	.cmb_put = cmb_put,
	.cmb_part = cmb_part,
};

/* ---- a work queue ------------------------------------------------------------ */

static bool has_express(const struct dion_dev *dev, enum dvq_wq_kind kind, u8 stride_log2)
{
	u8 queue = kind == DVQ_WQ_SQ ? DVQ_IONIC_EXPDB_SQ : DVQ_IONIC_EXPDB_RQ;

	if (!(dev->eth.express_queues & queue))
		return false;
	return stride_log2 >= DION_EXPRESS_LOG2_MIN &&
	       stride_log2 < DION_EXPRESS_LOG2_MIN + DION_EXPRESS_SIZES &&
	       dev->eth.express_sizes & BIT(stride_log2 - DION_EXPRESS_LOG2_MIN);
}

static u32 to_dvq_wish(u8 wish)
{
	u32 place = 0;

	if (wish & DVQ_IONIC_CMB_ENABLE)
		place |= DVQ_PLACE_CMB;
	if (wish & DVQ_IONIC_CMB_EXPDB)
		place |= DVQ_PLACE_EXPDB;
	if (wish & DVQ_IONIC_CMB_REQUIRE)
		place |= DVQ_PLACE_REQUIRE;
	return place;
}

/*
 * Send entries are written once and gain from write combining. Receive entries with an
 * express doorbell must each reach the device without a fence, so they do only if the
 * user says so. To ask for both is to ask for neither. The owner of a region may map it,
 * too, and a page has one memory type for all who do: the region's, write-combining.
 */
static u8 mapping(enum dvq_wq_kind kind, u8 wish, bool express, bool of_region)
{
	const u8 both = DVQ_IONIC_CMB_WC | DVQ_IONIC_CMB_UC;

	if (of_region)
		return DVQ_IONIC_CMB_WC;
	if ((wish & both) == DVQ_IONIC_CMB_WC || (wish & both) == DVQ_IONIC_CMB_UC)
		return wish & both;
	return kind == DVQ_WQ_RQ && express ? DVQ_IONIC_CMB_UC : DVQ_IONIC_CMB_WC;
}

static int reserve(struct dion_ucontext *ctx, struct dvq_pool *pool, enum dvq_wq_kind kind, u8 wish,
		   struct dvq_place_req *req, struct dion_wq *wq)
{
	struct dvq_cmb cmb = { .length = req->bytes };
	struct dvq_mmap *entry;
	int placed;
	u8 how;

	placed = dvq_place(req);
	if (placed <= DVQ_PLACED_HOST)
		return placed;
	if (placed == DVQ_PLACED_CMB_EXPDB)
		cmb.expdb_size = BIT(wq->ring.stride_log2);
	how = mapping(kind, wish, cmb.expdb_size, pool && !cmb.expdb_size);
	entry = dvq_cmb_mmap(&ctx->dvq, pool, &cmb, how == DVQ_IONIC_CMB_WC ?
			     DVQ_MMAP_DEVICE_MEM : DVQ_MMAP_REGISTERS);
	if (entry == ERR_PTR(-ENOSPC))
		return dvq_place_no_room(req);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (placed == DVQ_PLACED_CMB_EXPDB && !cmb.expdb_size) {
		/* The window is not there after all: decide again, knowing that. */
		dvq_mmap_remove(entry);
		req->has_expdb = false;
		return reserve(ctx, pool, kind, wish, req, wq);
	}

	wq->cmb = entry;
	wq->cmb_offset = cmb.priv;
	wq->placed = DVQ_IONIC_CMB_ENABLE | how | (wish & DVQ_IONIC_CMB_REQUIRE) |
		     (cmb.expdb_size ? DVQ_IONIC_CMB_EXPDB : 0);
	return 0;
}

/* Bits that we do not know are dropped, unless it is all or nothing. */
static bool is_beyond_us(u8 wish)
{
	return wish & DVQ_IONIC_CMB_ENABLE && wish & DVQ_IONIC_CMB_REQUIRE && wish & ~KNOWN_WISHES;
}

/**
 * dion_place() - put a work queue into controller memory if it may and can be there
 * @ctx: whose it will be
 * @pd: whose policy counts
 * @kind: DVQ_WQ_SQ or DVQ_WQ_RQ
 * @wish: mask of enum dvq_ionic_cmb
 * @wq: the queue; @ring is valid
 *
 * Return: 0, and @wq->placed tells where it is; or a negative errno, see dvq_place().
 */
int dion_place(struct dion_ucontext *ctx, struct dvq_pd *pd, enum dvq_wq_kind kind, u8 wish,
	       struct dion_wq *wq)
{
	struct dion_dev *dev = to_dion_dev(ctx->dvq.ibucontext.device);
	struct dvq_pool *pool;
	struct dvq_pd_policy policy = dvq_pd_policy(pd, &pool);
	struct dvq_place_req req = {
		.wish = to_dvq_wish(wish),
		.policy = kind == DVQ_WQ_SQ ? policy.sq : policy.rq,
		.mode = dvq_place_mode(&dev->dvq, kind),
		.has_cmb = dev->eth.cmb_bytes,
		.has_expdb = has_express(dev, kind, wq->ring.stride_log2),
		.bytes = PAGE_ALIGN((u64)wq->ring.size),
		.max_bytes = MAX_RING_BYTES,
		.free_bytes = pool ? dvq_pool_free_bytes(pool) :
				     max_t(s64, atomic64_read(&dev->dvq.cmb_free), 0),
	};
	int ret;

	if (is_beyond_us(wish))
		ret = -EOPNOTSUPP;
	else
		ret = reserve(ctx, pool, kind, wish, &req, wq);
	if (ret)
		ibdev_dbg(&dev->dvq.ibdev,
			  "no place for the %s: wish %#x, policy %#x, mode %d, %llu bytes of %llu: %d\n",
			  kind == DVQ_WQ_SQ ? "SQ" : "RQ", wish, req.policy, req.mode,
			  req.bytes, req.free_bytes, ret);
	dvq_pool_put(pool);
	return ret;
}

/* The memory goes back when no process maps it any more. Fine on a queue in host memory. */
void dion_unplace(struct dion_wq *wq)
{
	dvq_mmap_remove(wq->cmb);
}

/* What dvq answers about it. */
void dion_fill_placement_info(struct dion_dev *dev)
{
	struct dvq_device_info *info = &dev->dvq.info;

	if (!dev->eth.cmb_bytes)
		return;
	info->caps |= DVQ_DEVICE_SQ_CMB | DVQ_DEVICE_RQ_CMB;
	if (dev->eth.express_sizes && dev->eth.express_queues & DVQ_IONIC_EXPDB_SQ)
		info->caps |= DVQ_DEVICE_SQ_EXPDB;
	if (dev->eth.express_sizes && dev->eth.express_queues & DVQ_IONIC_EXPDB_RQ)
		info->caps |= DVQ_DEVICE_RQ_EXPDB;
	info->max_sq_bytes = MAX_RING_BYTES;
	info->cmb_bytes = dev->eth.cmb_bytes;
	info->cmb_page = PAGE_SIZE;
	atomic64_set(&dev->dvq.cmb_free, dev->eth.cmb_bytes);
}
