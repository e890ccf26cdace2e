// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ring memory that the kernel allocates, the device uses and a process maps. */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "core.h"

int dvq_ring_alloc(struct dvq_device *dev, struct dvq_ring *ring, size_t bytes,
		   enum dma_data_direction dir)
{
	struct device *dma_device = dev->ibdev.dma_device;

	ring->length = PAGE_ALIGN(bytes);
	ring->dir = dir;
	/*
	 * alloc_pages_exact() splits the block, so every page has a reference of its own: it
	 * survives in a process that still maps it, or is about to (dvq_ring_mmap()).
	 */
	ring->cpu = alloc_pages_exact(ring->length, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!ring->cpu)
		return -ENOMEM;

	ring->dma = dma_map_single(dma_device, ring->cpu, ring->length, dir);
	if (dma_mapping_error(dma_device, ring->dma)) {
		free_pages_exact(ring->cpu, ring->length);
		ring->cpu = NULL;
		return -ENOMEM;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(dvq_ring_alloc);

void dvq_ring_free(struct dvq_device *dev, struct dvq_ring *ring)
{
	if (!ring->cpu)
		return;
	dma_unmap_single(dev->ibdev.dma_device, ring->dma, ring->length, ring->dir);
	free_pages_exact(ring->cpu, ring->length);
	ring->cpu = NULL;
}
EXPORT_SYMBOL_GPL(dvq_ring_free);
