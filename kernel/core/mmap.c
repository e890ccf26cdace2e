// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Mappings that user space may make, and their keys.
 *
 * A key is an mmap() offset on the context's file. The core's keys are unique
 * within a context; ours also are among the contexts of a device, because each
 * context draws from a range of its own. A library can then tell from
 * /proc/self/maps which mapping belongs to which queue although a process may
 * have several contexts of one device open.
 */
#include <linux/mm.h>
#include <linux/personality.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "core.h"

#define DVQ_KEY_SLOTS	4096
/* in pages; the core keeps offsets of mmap() in 32 bits of pages */
#define DVQ_KEYS_PER_SLOT	((u32)(BIT_ULL(32) / DVQ_KEY_SLOTS))

int dvq_ucontext_init(struct dvq_ucontext *ctx)
{
	struct dvq_device *dev = to_dvq_device(ctx->ibucontext.device);
	int slot = ida_alloc(&dev->key_slots, GFP_KERNEL);

	if (slot < 0)
		return slot;
	ctx->key_slot = slot;
	ctx->changes = NULL;
	return 0;
}
EXPORT_SYMBOL_GPL(dvq_ucontext_init);

void dvq_ucontext_cleanup(struct dvq_ucontext *ctx)
{
	dvq_mmap_remove(ctx->changes);
	ida_free(&to_dvq_device(ctx->ibucontext.device)->key_slots, ctx->key_slot);
}
EXPORT_SYMBOL_GPL(dvq_ucontext_cleanup);

int dvq_mmap_publish(struct dvq_ucontext *ctx, struct dvq_mmap *entry)
{
	/* Beyond DVQ_KEY_SLOTS contexts ranges are shared: still right within each. */
	u32 first = (u32)(ctx->key_slot % DVQ_KEY_SLOTS) * DVQ_KEYS_PER_SLOT;
	u32 last = first + (DVQ_KEYS_PER_SLOT - 1);

	/* Key 0 means "none" in every answer. */
	return rdma_user_mmap_entry_insert_range(&ctx->ibucontext, &entry->rdma, entry->length,
						 max_t(u32, first, 1), last);
}

static struct dvq_mmap *mmap_new(struct dvq_ucontext *ctx, const struct dvq_mmap *from)
{
	struct dvq_mmap *entry;
	int ret;

	entry = kmemdup(from, sizeof(*from), GFP_KERNEL);
	if (!entry)
		return ERR_PTR(-ENOMEM);

	ret = dvq_mmap_publish(ctx, entry);
	if (ret) {
		kfree(entry);
		return ERR_PTR(ret);
	}
	return entry;
}

struct dvq_mmap *dvq_mmap_insert(struct dvq_ucontext *ctx, enum dvq_mmap_kind kind,
				 phys_addr_t phys, size_t length)
{
	const struct dvq_mmap entry = { .kind = kind, .phys = phys, .length = length };

	return mmap_new(ctx, &entry);
}
EXPORT_SYMBOL_GPL(dvq_mmap_insert);

static void get_pages(const struct dvq_mmap *entry)
{
	size_t off;

	for (off = 0; off < entry->length; off += PAGE_SIZE)
		get_page(virt_to_page(entry->pages + off));
}

static void put_pages(struct dvq_mmap *entry)
{
	size_t off;

	for (off = 0; off < entry->length; off += PAGE_SIZE)
		put_page(virt_to_page(entry->pages + off));
}

/*
 * The entry has a reference of every page: an mmap() that has found it goes on inserting them
 * while another thread destroys the queue, or while its creation fails, and frees the ring.
 */
struct dvq_mmap *dvq_ring_mmap(struct dvq_ucontext *ctx, const struct dvq_ring *ring,
			       enum dvq_mmap_kind kind)
{
	struct dvq_mmap from = {
		.kind = kind, .pages = ring->cpu, .length = ring->length, .release = put_pages,
	};
	struct dvq_mmap *entry;

	get_pages(&from);
	entry = mmap_new(ctx, &from);
	if (IS_ERR(entry))
		put_pages(&from);
	return entry;
}
EXPORT_SYMBOL_GPL(dvq_ring_mmap);

void dvq_mmap_remove(struct dvq_mmap *entry)
{
	if (!IS_ERR_OR_NULL(entry))
		rdma_user_mmap_entry_remove(&entry->rdma);
}
EXPORT_SYMBOL_GPL(dvq_mmap_remove);

void dvq_mmap_free(struct rdma_user_mmap_entry *rdma)
{
	struct dvq_mmap *entry = container_of(rdma, struct dvq_mmap, rdma);

	if (entry->release)
		entry->release(entry);
	kfree(entry);
}

static int map_pages(struct vm_area_struct *vma, const struct dvq_mmap *entry)
{
	size_t off;
	int ret;

	for (off = 0; off < entry->length; off += PAGE_SIZE) {
		ret = vm_insert_page(vma, vma->vm_start + off, virt_to_page(entry->pages + off));
		if (ret)
			return ret;
	}
	return 0;
}

static int map_entry(struct dvq_ucontext *ctx, struct vm_area_struct *vma, struct dvq_mmap *entry)
{
	pgprot_t prot;

	/*
	 * Where code cannot be told from data (READ_IMPLIES_EXEC, as of programs with an
	 * executable stack) every readable mapping is asked for with it: they get the mapping
	 * without. Who asks by himself is told no.
	 */
	if (vma->vm_flags & VM_EXEC && !(current->personality & READ_IMPLIES_EXEC))
		return -EPERM;
	vm_flags_clear(vma, VM_EXEC | VM_MAYEXEC);
	vma->vm_page_prot = vm_get_page_prot(vma->vm_flags);
	prot = vma->vm_page_prot;
	/*
	 * A child of fork() has no business with its parent's queues: its stores would reach
	 * the device behind the parent's back. It faults instead.
	 */
	vm_flags_set(vma, VM_DONTCOPY);

	switch (entry->kind) {
	case DVQ_MMAP_REGISTERS:
		prot = pgprot_noncached(prot);
		break;
	case DVQ_MMAP_DEVICE_MEM:
		prot = pgprot_writecombine(prot);
		break;
	case DVQ_MMAP_PAGES_RO:
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
		return map_pages(vma, entry);
	case DVQ_MMAP_PAGES:
		return map_pages(vma, entry);
	}
	return rdma_user_mmap_io(&ctx->ibucontext, vma, PHYS_PFN(entry->phys), entry->length, prot,
				 &entry->rdma);
}

int dvq_mmap_vma(struct ib_ucontext *ibctx, struct vm_area_struct *vma)
{
	struct dvq_ucontext *ctx = container_of(ibctx, struct dvq_ucontext, ibucontext);
	struct rdma_user_mmap_entry *rdma;
	int ret = -EINVAL;

	rdma = rdma_user_mmap_entry_get(ibctx, vma);
	if (rdma) {
		ret = map_entry(ctx, vma, container_of(rdma, struct dvq_mmap, rdma));
		rdma_user_mmap_entry_put(rdma);
	}
	if (ret) {
		atomic64_inc(&to_dvq_device(ibctx->device)->mmap_errors);
		ibdev_dbg(ibctx->device, "mapping %lu bytes at page %#lx: %d\n",
			  vma->vm_end - vma->vm_start, vma->vm_pgoff, ret);
	}
	return ret;
}
