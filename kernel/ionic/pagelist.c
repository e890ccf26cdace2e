// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How memory is told to the device: one contiguous piece by its address, anything else
 * by a table of page addresses. The device reads the table while it executes the
 * command, so the table goes when the command is done. It has to be contiguous itself.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <rdma/iter.h>

#include "dion.h"

static void fill_table(struct dion_pagelist *list, struct ib_umem *umem, unsigned long page_size)
{
	struct ib_block_iter block;
	u32 i = 0;

	rdma_umem_for_each_dma_block(umem, &block, page_size) {
		if (i == list->pages)
			break;
		list->table[i++] = cpu_to_le64(rdma_block_iter_dma_address(&block));
	}
}

static dma_addr_t only_page(struct ib_umem *umem, unsigned long page_size)
{
	struct ib_block_iter block;

	rdma_umem_for_each_dma_block(umem, &block, page_size)
		break;
	return rdma_block_iter_dma_address(&block);
}

static int describe(struct dion_dev *dev, struct dion_pagelist *list, struct ib_umem *umem,
		    unsigned long page_size, size_t pages, u64 iova)
{
	if (pages > le32_to_cpu(dev->eth.rdma.page_table_entries)) {
		ibdev_dbg(&dev->dvq.ibdev, "%zu pages of %lu bytes are too many\n", pages,
			  page_size);
		return -EINVAL;
	}
	*list = (struct dion_pagelist) {
		.pages = pages,
		.page_log2 = ilog2(page_size),
	};
	if (pages == 1) {
		list->addr = only_page(umem, page_size) + (iova & (page_size - 1));
		return 0;
	}

	list->table_bytes = pages * sizeof(*list->table);
	list->table = dma_alloc_coherent(dion_dma_device(dev), list->table_bytes, &list->addr,
					 GFP_KERNEL | __GFP_NOWARN);
	if (!list->table)
		return -ENOMEM;
	fill_table(list, umem, page_size);
	return 0;
}

/**
 * dion_pagelist_init() - describe memory of a user
 * @dev: the device
 * @list: what to fill
 * @umem: the memory
 * @page_size: a size that the device knows and that @umem is made of
 * @iova: what its first byte is called in requests; only the offset in the page matters
 *
 * Return: 0, -EINVAL: more pages than the device has, or -ENOMEM.
 */
int dion_pagelist_init(struct dion_dev *dev, struct dion_pagelist *list, struct ib_umem *umem,
		       unsigned long page_size, u64 iova)
{
	return describe(dev, list, umem, page_size, ib_umem_num_dma_blocks(umem, page_size),
			iova);
}

/*
 * The same for a ring of @bytes, which begins with a page of the host. What the creator's
 * own request names was checked for that; the core's attributes name any memory. There may
 * be more of it than the ring needs, which the device is not told of: it wants as many
 * pages as the ring has.
 */
int dion_pagelist_init_ring(struct dion_dev *dev, struct dion_pagelist *list,
			    struct ib_umem *umem, size_t bytes)
{
	if (ib_umem_find_best_pgsz(umem, PAGE_SIZE, 0) != PAGE_SIZE) {
		ibdev_dbg(&dev->dvq.ibdev, "not a ring: %zu bytes that are no pages\n",
			  umem->length);
		return -EINVAL;
	}
	return describe(dev, list, umem, PAGE_SIZE, DIV_ROUND_UP(bytes, PAGE_SIZE), 0);
}

/* Fine on a zeroed list. */
void dion_pagelist_cleanup(struct dion_dev *dev, struct dion_pagelist *list)
{
	if (list->table)
		dma_free_coherent(dion_dma_device(dev), list->table_bytes, list->table, list->addr);
}

/* Contiguous memory of the kernel, zeroed. */
int dion_memory_get(struct dion_dev *dev, struct dion_memory *memory, size_t bytes)
{
	memory->cpu = dma_alloc_coherent(dion_dma_device(dev), bytes, &memory->dma,
					 GFP_KERNEL | __GFP_NOWARN);
	if (!memory->cpu)
		return -ENOMEM;
	memory->bytes = bytes;
	return 0;
}

/* Fine on zeroed memory. */
void dion_memory_put(struct dion_dev *dev, struct dion_memory *memory)
{
	if (memory->cpu)
		dma_free_coherent(dion_dma_device(dev), memory->bytes, memory->cpu, memory->dma);
}
