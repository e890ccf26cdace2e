// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* User contexts, and what of the device's address space they may map. */
#include <linux/err.h>
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "cmd.h"
#include "efa.h"

static_assert(sizeof(struct dvq_efa_ucontext_req) == 8);
static_assert(sizeof(struct dvq_efa_ucontext_resp) == 24);

/*
 * Limits that an old user does not know of would be broken in silence. The administrator hears of
 * it: what has to be mended is the system's library, not the program.
 */
static int check_user_caps(struct efa_dev *dev, struct ib_udata *udata)
{
	struct dvq_efa_ucontext_req req = {};
	u32 needed = 0;
	int ret;

	/* choice: what is unknown or too long promises more, so it is not looked at */
	ret = ib_copy_from_udata(&req, udata, min(sizeof(req), udata->inlen));
	if (ret)
		return ret;
	if (dev->attr.max_tx_batch)
		needed |= DVQ_EFA_USER_TX_BATCH;
	if (dev->attr.min_sq_depth)
		needed |= DVQ_EFA_USER_MIN_SQ_WR;
	if (needed & ~req.supported_caps) {
		ibdev_warn_ratelimited(&dev->dvq.ibdev,
				       "a program's library obeys limits %#x of %#x: it needs a newer libefa\n",
				       req.supported_caps & needed, needed);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int respond(struct efa_dev *dev, struct ib_udata *udata)
{
	struct dvq_efa_ucontext_resp resp = {
		.cmds_supp_udata_mask = DVQ_EFA_CMD_QUERY_DEVICE | DVQ_EFA_CMD_CREATE_AH,
		.sub_cqs_per_cq = dev->attr.sub_cqs_per_cq,
		.inline_buf_size = dev->attr.inline_buf_size,
		.max_llq_size = dev->attr.max_llq_size,
		.max_tx_batch = dev->attr.max_tx_batch,
		.min_sq_wr = dev->attr.min_sq_depth,
		.inline_buf_size_ex = dev->attr.inline_buf_size_ex,
	};

	return ib_respond_udata(udata, resp);
}

int efa_alloc_ucontext(struct ib_ucontext *ibctx, struct ib_udata *udata)
{
	struct efa_ucontext *ctx = to_efa_ucontext(ibctx);
	struct efa_dev *dev = to_efa_dev(ibctx->device);
	int ret;

	ret = check_user_caps(dev, udata);
	if (ret)
		goto err_count;
	ret = dvq_ucontext_init(&ctx->dvq);
	if (ret)
		goto err_count;
	ret = efa_cmd_alloc_uar(dev, &ctx->uar);
	if (ret)
		goto err_cleanup;
	ret = respond(dev, udata);
	if (ret)
		goto err_dealloc_uar;
	return 0;

err_dealloc_uar:
	efa_cmd_dealloc_uar(dev, ctx->uar);
err_cleanup:
	dvq_ucontext_cleanup(&ctx->dvq);
err_count:
	efa_count_error(dev, EFA_STAT_ALLOC_UCONTEXT);
	return ret;
}

void efa_dealloc_ucontext(struct ib_ucontext *ibctx)
{
	struct efa_ucontext *ctx = to_efa_ucontext(ibctx);

	efa_cmd_dealloc_uar(to_efa_dev(ibctx->device), ctx->uar);
	dvq_ucontext_cleanup(&ctx->dvq);
}

/*
 * The core takes the device's pages from every process; ours have nothing to add. That
 * there is such an op lets the device go while processes have it open.
 */
void efa_disassociate_ucontext(struct ib_ucontext *ibctx)
{
}

/* where the registers end that only we may write */
#define REGS_END	(EFA_REG_EQ_DB + sizeof(u32))

/**
 * efa_mmap_bar() - offer the pages around a place in a BAR to a context
 * @ctx: who may map them
 * @kind: DVQ_MMAP_REGISTERS or DVQ_MMAP_DEVICE_MEM
 * @bar: which BAR
 * @offset: bytes from its start, as the device has told
 * @length: bytes
 * @in_page: where to put the bytes from the start of the mapping to the place
 *
 * Return: the entry, or an ERR_PTR: -EIO if the place is not inside the BAR, or on a page with
 * registers.
 */
struct dvq_mmap *efa_mmap_bar(struct efa_ucontext *ctx, enum dvq_mmap_kind kind, u32 bar,
			      u32 offset, u32 length, u32 *in_page)
{
	struct efa_dev *dev = to_efa_dev(ctx->dvq.ibucontext.device);
	u64 start = ALIGN_DOWN(offset, PAGE_SIZE);
	u64 end = PAGE_ALIGN((u64)offset + length);

	if (end > pci_resource_len(dev->pdev, bar) ||
	    (bar == EFA_BAR_REGS && start < PAGE_ALIGN(REGS_END))) {
		ibdev_err_ratelimited(&dev->dvq.ibdev,
				      "names %u bytes at %#x, beyond BAR %u or among its registers\n",
				      length, offset, bar);
		return ERR_PTR(-EIO);
	}
	*in_page = offset - start;
	return dvq_mmap_insert(&ctx->dvq, kind, pci_resource_start(dev->pdev, bar) + start,
			       end - start);
}
