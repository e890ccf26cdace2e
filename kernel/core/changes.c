// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A page per context in which user space sees that objects have gone or were reset.
 *
 * A library that works beside the provider does not hear of ibv_destroy_qp() and the
 * like: these calls end in the provider. Whatever it remembers by a handle, a number or
 * an address would in the end be about another object. It looks at these counts instead,
 * and asks again when one has moved.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core.h"

static_assert(sizeof(struct dvq_changes) <= PAGE_SIZE);

static void release(struct dvq_mmap *entry)
{
	/* A process that still maps it holds a reference of its own. */
	free_page((unsigned long)entry->pages);
}

static struct dvq_mmap *changes_new(struct dvq_ucontext *ctx)
{
	struct dvq_mmap *entry;
	int ret = -ENOMEM;

	entry = kzalloc_obj(*entry, GFP_KERNEL_ACCOUNT);
	if (!entry)
		return ERR_PTR(ret);
	entry->kind = DVQ_MMAP_PAGES_RO;
	entry->length = PAGE_SIZE;
	entry->pages = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!entry->pages)
		goto err_free;
	ret = dvq_mmap_publish(ctx, entry);
	if (ret)
		goto err_free_page;
	entry->release = release;
	return entry;

err_free_page:
	free_page((unsigned long)entry->pages);
err_free:
	kfree(entry);
	return ERR_PTR(ret);
}

struct dvq_mmap *dvq_changes_get(struct dvq_ucontext *ctx)
{
	struct dvq_mmap *entry = READ_ONCE(ctx->changes), *first;

	if (entry)
		return entry;
	entry = changes_new(ctx);
	if (IS_ERR(entry))
		return entry;
	/* Who counts sees a whole entry. Two may ask at once; one of the pages is the context's. */
	first = cmpxchg(&ctx->changes, NULL, entry);
	if (!first)
		return entry;
	dvq_mmap_remove(entry);
	return first;
}

static struct dvq_changes *changes_of(struct dvq_ucontext *ctx)
{
	struct dvq_mmap *entry = ctx ? READ_ONCE(ctx->changes) : NULL;

	return entry ? entry->pages : NULL;
}

/* The page is user space's to read, so these are plain numbers; two may count at once. */
static void count(u64 *value)
{
	atomic64_inc((atomic64_t *)value);
}

void dvq_changes_qp(struct dvq_ucontext *ctx)
{
	struct dvq_changes *changes = changes_of(ctx);

	if (changes)
		count(&changes->qps);
}

void dvq_qp_was_reset(struct dvq_qp *qp)
{
	WRITE_ONCE(qp->info.resets, qp->info.resets + 1);
	dvq_changes_qp(qp->uid.ctx);
}
EXPORT_SYMBOL_GPL(dvq_qp_was_reset);

void dvq_ah_cleanup(struct dvq_ah *ah)
{
	struct ib_uobject *uobject = ah->ibah.uobject;
	struct dvq_changes *changes;

	if (!uobject)
		return;
	changes = changes_of(container_of(uobject->context, struct dvq_ucontext, ibucontext));
	if (changes)
		count(&changes->ahs);
}
EXPORT_SYMBOL_GPL(dvq_ah_cleanup);
