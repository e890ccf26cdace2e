// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pages of an MR, as REG_MR takes them: a list of 64-bit addresses.
 *
 * Up to four stand in the command itself. A list that fits one piece (4 KiB, the
 * device's unit whatever the CPU's page size) is one block, given by its address. A
 * longer one lies in vmalloc memory, and the device finds its pieces through a chain
 * of chunks:
 *
 *	chunk 0: address of piece 0, 1, ... 509, record of chunk 1
 *	...
 *	last:    addresses of the remaining pieces, record of zeros
 *
 * A record is the length and the address of a chunk. It follows the last address
 * directly, so a chunk's length is 8 times its addresses plus the record's 12 bytes.
 *
 * choice: a long list is never asked for as one block, which may be had on a fresh
 * machine and not on one that has run for a week.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "efa.h"
#include "pagelist.h"

#define PIECE_ENTRIES	(EFA_CHUNK_PIECE / sizeof(__le64))

static_assert(EFA_CHUNK_PTRS * sizeof(__le64) + sizeof(struct efa_ctrl_buf) <= EFA_CHUNK_SIZE);

/**
 * struct efa_page_chunk - a chunk of the chain
 * @ptrs: its memory, EFA_CHUNK_SIZE bytes
 * @dma: the device's address of it
 * @bytes: length that the device is told; 0 until mapped
 * @num_ptrs: addresses in it so far, each of a mapped piece
 */
struct efa_page_chunk {
	__le64 *ptrs;
	dma_addr_t dma;
	u32 bytes;
	unsigned int num_ptrs;
};

/* Streaming mappings, all towards the device. */
static int map_single(struct efa_dev *dev, void *mem, size_t bytes, dma_addr_t *dma)
{
	*dma = dma_map_single(&dev->pdev->dev, mem, bytes, DMA_TO_DEVICE);
	return dma_mapping_error(&dev->pdev->dev, *dma) ? -ENOMEM : 0;
}

static int add_piece(struct efa_dev *dev, struct efa_page_chunk *chunk, const void *mem)
{
	dma_addr_t dma;

	dma = dma_map_page(&dev->pdev->dev, vmalloc_to_page(mem), offset_in_page(mem),
			   EFA_CHUNK_PIECE, DMA_TO_DEVICE);
	if (dma_mapping_error(&dev->pdev->dev, dma))
		return -ENOMEM;
	chunk->ptrs[chunk->num_ptrs++] = cpu_to_le64(dma);
	return 0;
}

static void set_next(struct efa_page_chunk *chunk, const struct efa_page_chunk *next)
{
	struct efa_ctrl_buf *record = (struct efa_ctrl_buf *)&chunk->ptrs[chunk->num_ptrs];

	record->length = cpu_to_le32(next->bytes);
	record->addr_lo = cpu_to_le32(lower_32_bits(next->dma));
	record->addr_hi = cpu_to_le32(upper_32_bits(next->dma));
}

/* Chunk @n of the list; the one behind it is there already. */
static int map_chunk(struct efa_dev *dev, struct efa_page_list *list, size_t n)
{
	struct efa_page_chunk *chunk = &list->chunks[n];
	size_t pieces = DIV_ROUND_UP(list->count, PIECE_ENTRIES);
	size_t piece = n * EFA_CHUNK_PTRS;
	size_t end = min(pieces, piece + EFA_CHUNK_PTRS);
	u32 bytes = (end - piece) * sizeof(__le64) + sizeof(struct efa_ctrl_buf);
	int ret;

	chunk->ptrs = kzalloc(EFA_CHUNK_SIZE, GFP_KERNEL);
	if (!chunk->ptrs)
		return -ENOMEM;
	for (; piece < end; piece++) {
		ret = add_piece(dev, chunk, &list->entries[piece * PIECE_ENTRIES]);
		if (ret)
			return ret;
	}
	if (n + 1 < list->num_chunks)
		set_next(chunk, chunk + 1);

	ret = map_single(dev, chunk->ptrs, bytes, &chunk->dma);
	if (!ret)
		chunk->bytes = bytes;
	return ret;
}

static void unmap_chunk(struct efa_dev *dev, struct efa_page_chunk *chunk)
{
	if (chunk->bytes)
		dma_unmap_single(&dev->pdev->dev, chunk->dma, chunk->bytes, DMA_TO_DEVICE);
	while (chunk->num_ptrs--)
		dma_unmap_page(&dev->pdev->dev, le64_to_cpu(chunk->ptrs[chunk->num_ptrs]),
			       EFA_CHUNK_PIECE, DMA_TO_DEVICE);
	kfree(chunk->ptrs);
}

static int map_indirect(struct efa_dev *dev, struct efa_page_list *list)
{
	size_t n = DIV_ROUND_UP(DIV_ROUND_UP(list->count, PIECE_ENTRIES), EFA_CHUNK_PTRS);
	int ret;

	list->form = EFA_PAGES_INDIRECT;
	list->chunks = kvcalloc(n, sizeof(*list->chunks), GFP_KERNEL);
	if (!list->chunks)
		return -ENOMEM;
	list->num_chunks = n;
	/* From the end: a chunk names the next one. */
	while (n--) {
		ret = map_chunk(dev, list, n);
		if (ret)
			return ret;
	}
	list->dma = list->chunks[0].dma;
	list->dma_bytes = list->chunks[0].bytes;
	return 0;
}

static int map_direct(struct efa_dev *dev, struct efa_page_list *list)
{
	u32 bytes = list->count * sizeof(*list->entries);
	int ret;

	list->form = EFA_PAGES_DIRECT;
	ret = map_single(dev, list->entries, bytes, &list->dma);
	if (!ret)
		list->dma_bytes = bytes;
	return ret;
}

/* What lies behind the last address in its piece is zero, and the device may see it. */
static int fill_entries(struct efa_page_list *list, struct ib_umem *umem, unsigned long page_size)
{
	struct ib_block_iter biter;
	__le64 *entry;

	list->count = ib_umem_num_dma_blocks(umem, page_size);
	if (list->count <= PIECE_ENTRIES)
		list->entries = kcalloc(list->count, sizeof(*entry), GFP_KERNEL);
	else
		/* As long as the user likes, so that there is no memory for it is not worth a line. */
		list->entries = __vmalloc(round_up(list->count, PIECE_ENTRIES) * sizeof(*entry),
					  GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!list->entries)
		return -ENOMEM;

	entry = list->entries;
	rdma_umem_for_each_dma_block(umem, &biter, page_size) {
		if (WARN_ON_ONCE(entry == list->entries + list->count))
			return -EINVAL;
		*entry++ = cpu_to_le64(rdma_block_iter_dma_address(&biter));
	}
	return 0;
}

int efa_page_list_init(struct efa_dev *dev, struct efa_page_list *list, struct ib_umem *umem,
		       unsigned long page_size)
{
	int ret;

	memset(list, 0, sizeof(*list));
	ret = fill_entries(list, umem, page_size);
	if (!ret && list->count > PIECE_ENTRIES)
		ret = map_indirect(dev, list);
	else if (!ret && list->count > EFA_REG_MR_INLINE_PAGES)
		ret = map_direct(dev, list);
	if (ret)
		efa_page_list_cleanup(dev, list);
	return ret;
}

void efa_page_list_cleanup(struct efa_dev *dev, struct efa_page_list *list)
{
	size_t n;

	if (list->form == EFA_PAGES_DIRECT && list->dma_bytes)
		dma_unmap_single(&dev->pdev->dev, list->dma, list->dma_bytes, DMA_TO_DEVICE);
	for (n = 0; n < list->num_chunks; n++)
		unmap_chunk(dev, &list->chunks[n]);
	kvfree(list->chunks);
	kvfree(list->entries);
}
