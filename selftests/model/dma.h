/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of one guest as a device sees it: ranges of bus addresses, sorted,
 * never overlapping, with holes between them. A range is a piece of a file that
 * is mapped here too, or only a reservation (ROMs, the BARs of other devices)
 * that no device may touch. Transfers may cross from one range into the next.
 *
 * No lock of its own: all calls are made under the model lock, so a range that
 * dma_map_remove() has taken out is not in use by anybody.
 */
#ifndef MODEL_DMA_H
#define MODEL_DMA_H

#include <stddef.h>
#include <stdint.h>

#define DMA_READABLE	1u
#define DMA_WRITABLE	2u

#define DMA_RANGES_MAX	65535u

struct dma_range {
	uint64_t addr;
	uint64_t len;
	uint8_t *mem;		/* NULL: a reservation */
	unsigned int access;	/* DMA_READABLE, DMA_WRITABLE */
};

/**
 * struct dma_map - the ranges of one guest; all zero is an empty one
 *
 * @last: index of the range found last, where the next search begins
 * @faults: transfers refused because a byte of them was not memory, or not
 *	memory for that direction
 */
struct dma_map {
	struct dma_range *ranges;
	size_t count, capacity;
	size_t last;
	uint64_t reads, writes, bytes, faults;
};

/**
 * dma_map_add() - the guest has memory at @addr
 *
 * @fd: the file it is in, at @offset; not kept. -1: a reservation.
 *
 * Returns 0, -EINVAL for a range that is empty, wraps, is not a page multiple or
 * reaches past the end of its file, -EEXIST if it overlaps another, -ENOSPC if
 * there are DMA_RANGES_MAX, or the error of mapping it.
 */
int dma_map_add(struct dma_map *map, uint64_t addr, uint64_t len, unsigned int access, int fd,
		uint64_t offset);

/* 0, or -ENOENT unless it is exactly a range that was added */
int dma_map_remove(struct dma_map *map, uint64_t addr, uint64_t len);
void dma_map_clear(struct dma_map *map);

/*
 * Copy all of it or nothing; -EFAULT if nothing. 1, 2, 4 and 8 bytes that lie on
 * a multiple of their size are one load or store.
 */
int dma_read(struct dma_map *map, uint64_t addr, void *buf, size_t len);
int dma_write(struct dma_map *map, uint64_t addr, const void *buf, size_t len);

#endif /* MODEL_DMA_H */
