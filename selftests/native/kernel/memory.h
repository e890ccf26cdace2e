/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Of the kernel what code that describes memory to a device needs, for tests of its source:
 * pages of a size that the test chooses, memory, and DMA mappings of which the device's side
 * can be looked at. To be included by one source file of a program.
 */
#ifndef NATIVE_KERNEL_MEMORY_H
#define NATIVE_KERNEL_MEMORY_H

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
typedef u64 dma_addr_t;

#define GFP_KERNEL		0
#define __GFP_ZERO		1
#define __GFP_NOWARN		2
#define cpu_to_le64(x)		htole64(x)
#define cpu_to_le32(x)		htole32(x)
#define le64_to_cpu(x)		le64toh(x)
#define lower_32_bits(x)	((u32)(x))
#define upper_32_bits(x)	((u32)((x) >> 32))
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define round_up(a, b)		(DIV_ROUND_UP(a, b) * (b))
#define min(a, b)		((a) < (b) ? (a) : (b))

static unsigned int kernel_warnings;

#define WARN_ON_ONCE(condition)	((condition) ? kernel_warnings++, true : false)

/* ---- pages and memory ------------------------------------------------------------------- */

static size_t kernel_page = 4096;

#define PAGE_SIZE		kernel_page
#define offset_in_page(p)	((uintptr_t)(p) & (PAGE_SIZE - 1))

static size_t kernel_allocations;

static inline void *kernel_zalloc(size_t align, size_t bytes)
{
	void *mem = aligned_alloc(align, round_up(bytes, align));

	assert(mem);
	kernel_allocations++;
	return memset(mem, 0, bytes);
}

static inline void kfree(const void *mem)
{
	kernel_allocations -= mem != NULL;
	free((void *)mem);
}

#define kzalloc(bytes, flags)		kernel_zalloc(8, bytes)
#define kcalloc(n, bytes, flags)	kernel_zalloc(8, (n) * (bytes))
#define kvcalloc(n, bytes, flags)	kernel_zalloc(8, (n) * (bytes))
/* always of zeros, as nobody asks for less */
#define __vmalloc(bytes, flags)		((void)(flags), kernel_zalloc(PAGE_SIZE, bytes))
#define kvfree(mem)			kfree(mem)

/* A page is where it begins: of vmalloc memory each lies anywhere. */
#define vmalloc_to_page(mem)	((void *)((uintptr_t)(mem) - offset_in_page(mem)))

/* ---- DMA -------------------------------------------------------------------------------- */

#define DMA_TO_DEVICE	1
#define DMA_MAPPINGS	4096

static struct kernel_mapping {
	const uint8_t *mem;
	dma_addr_t dma;
	size_t bytes;		/* 0: free */
} kernel_mappings[DMA_MAPPINGS];

static inline dma_addr_t kernel_map(const void *mem, size_t bytes)
{
	unsigned int n = 0;

	while (kernel_mappings[n].bytes)
		assert(++n < DMA_MAPPINGS);
	/* far from each other, and not in the order of their memory */
	kernel_mappings[n] = (struct kernel_mapping) {
		mem, ((u64)(n * 2654435761u) << 24) + offset_in_page(mem), bytes,
	};
	return kernel_mappings[n].dma;
}

static inline void kernel_unmap(dma_addr_t dma, size_t bytes)
{
	unsigned int n = 0;

	while (kernel_mappings[n].dma != dma || kernel_mappings[n].bytes != bytes)
		assert(++n < DMA_MAPPINGS);
	kernel_mappings[n].bytes = 0;
}

static inline unsigned int kernel_mapped(void)
{
	unsigned int n, mapped = 0;

	for (n = 0; n < DMA_MAPPINGS; n++)
		mapped += kernel_mappings[n].bytes != 0;
	return mapped;
}

/* What the device reads there; NULL if it may not. */
static inline const void *kernel_dma(dma_addr_t dma, size_t bytes)
{
	unsigned int n;

	for (n = 0; n < DMA_MAPPINGS; n++) {
		const struct kernel_mapping *at = &kernel_mappings[n];

		if (dma >= at->dma && dma + bytes <= at->dma + at->bytes)
			return at->mem + (dma - at->dma);
	}
	return NULL;
}

/* A mapping of a page does not go beyond it. */
static inline dma_addr_t kernel_map_page(void *page, size_t offset, size_t bytes)
{
	assert(offset + bytes <= PAGE_SIZE);
	return kernel_map((uint8_t *)page + offset, bytes);
}

#define dma_map_single(dev, mem, bytes, way)		((void)(dev), kernel_map(mem, bytes))
#define dma_map_page(dev, page, offset, bytes, way)	\
	((void)(dev), kernel_map_page(page, offset, bytes))
#define dma_unmap_single(dev, dma, bytes, way)		((void)(dev), kernel_unmap(dma, bytes))
#define dma_unmap_page(dev, dma, bytes, way)		((void)(dev), kernel_unmap(dma, bytes))
#define dma_mapping_error(dev, dma)			((void)(dev), (dma) == UINT64_MAX)

/* ---- user memory ------------------------------------------------------------------------ */

/**
 * struct ib_umem - a user's buffer
 * @start: its address; the device calls its bytes by the same
 * @length: bytes
 * @pages: the device's address of each page of the kernel that it touches
 */
struct ib_umem {
	u64 start, length;
	const dma_addr_t *pages;
};

struct ib_block_iter {
	u64 at;
	dma_addr_t dma;
};

static inline size_t ib_umem_num_dma_blocks(const struct ib_umem *umem, unsigned long size)
{
	return DIV_ROUND_UP(umem->start + umem->length, size) - umem->start / size;
}

/* the device's address of the byte that is called @at */
static inline dma_addr_t kernel_umem_dma(const struct ib_umem *umem, u64 at)
{
	return umem->pages[at / PAGE_SIZE - umem->start / PAGE_SIZE] + at % PAGE_SIZE;
}

static inline bool kernel_umem_block(const struct ib_umem *umem, struct ib_block_iter *iter)
{
	if (iter->at >= umem->start + umem->length)
		return false;
	iter->dma = kernel_umem_dma(umem, iter->at);
	return true;
}

#define rdma_umem_for_each_dma_block(umem, iter, size)			\
	for ((iter)->at = (umem)->start / (size) * (size);		\
	     kernel_umem_block(umem, iter); (iter)->at += (size))
#define rdma_block_iter_dma_address(iter)	((iter)->dma)

#endif /* NATIVE_KERNEL_MEMORY_H */
