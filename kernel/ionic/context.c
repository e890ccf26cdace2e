// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* User contexts: each has a doorbell page of its own, which says whose queue is rung. */
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

static_assert(sizeof(struct dvq_ionic_ctx_req) == 8);
static_assert(sizeof(struct dvq_ionic_ctx_resp) == 40);

static int respond(struct dion_dev *dev, struct dion_ucontext *ctx, struct ib_udata *udata)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;
	struct dvq_ionic_ctx_resp resp = {
		.page_shift = PAGE_SHIFT,
		.dbell_offset = dvq_mmap_key(ctx->doorbells),
		.version = rdma->version,
		.qp_opcodes = rdma->qp_opcodes,
		.admin_opcodes = rdma->admin_opcodes,
		.sq_qtype = rdma->sq.qtype,
		.rq_qtype = rdma->rq.qtype,
		.cq_qtype = rdma->cq.qtype,
		.admin_qtype = rdma->aq.qtype,
		.max_stride = rdma->max_stride_log2,
		.max_spec = DION_MAX_SPEC,
		.udma_count = DION_PIPELINES,
		.expdb_mask = dev->eth.express_sizes,
		.expdb_qtypes = dev->eth.express_queues,
	};

	return ib_respond_udata(udata, resp);
}

static int map_doorbells(struct dion_dev *dev, struct dion_ucontext *ctx)
{
	phys_addr_t page = dev->eth.doorbells + ((phys_addr_t)ctx->pid << PAGE_SHIFT);
	struct dvq_mmap *doorbells;

	doorbells = dvq_mmap_insert(&ctx->dvq, DVQ_MMAP_REGISTERS, page, PAGE_SIZE);
	if (IS_ERR(doorbells))
		return PTR_ERR(doorbells);
	ctx->doorbells = doorbells;
	return 0;
}

int dion_alloc_ucontext(struct ib_ucontext *ibctx, struct ib_udata *udata)
{
	struct dion_ucontext *ctx = to_dion_ucontext(ibctx);
	struct dion_dev *dev = to_dion_dev(ibctx->device);
	struct dvq_ionic_ctx_req req;
	int ret;

	ret = ib_copy_validate_udata_in(udata, req, reserved_0);
	if (ret)
		return ret;
	ret = dvq_ucontext_init(&ctx->dvq);
	if (ret)
		return ret;
	ret = dion_numbers_get(&dev->pids, GFP_KERNEL);
	if (ret < 0) {
		ibdev_dbg(ibctx->device, "all %u doorbell pages are in use\n", dev->eth.pids - 1);
		goto err_cleanup;
	}
	ctx->pid = ret;
	ret = map_doorbells(dev, ctx);
	if (ret)
		goto err_put_pid;
	ret = respond(dev, ctx, udata);
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	dvq_mmap_remove(ctx->doorbells);
err_put_pid:
	dion_numbers_put(&dev->pids, ctx->pid);
err_cleanup:
	dvq_ucontext_cleanup(&ctx->dvq);
	return ret;
}

void dion_dealloc_ucontext(struct ib_ucontext *ibctx)
{
	struct dion_ucontext *ctx = to_dion_ucontext(ibctx);

	/* A context goes after its file, and that after all mappings: the page is free. */
	dvq_mmap_remove(ctx->doorbells);
	dion_numbers_put(&to_dion_dev(ibctx->device)->pids, ctx->pid);
	dvq_ucontext_cleanup(&ctx->dvq);
}

/*
 * The core takes the device's pages from every process; ours have nothing to add. That
 * there is such an op lets the device go while processes have it open.
 */
void dion_disassociate_ucontext(struct ib_ucontext *ibctx)
{
}
