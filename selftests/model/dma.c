// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "dma.h"

#define PAGE	4096u	/* of the protocol, whatever the host's pages are */

static bool contains(const struct dma_range *range, uint64_t addr)
{
	return addr >= range->addr && addr - range->addr < range->len;
}

/* index of the first range that ends behind @addr; count if there is none */
static size_t bisect(const struct dma_map *map, uint64_t addr)
{
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (map->ranges[mid].addr + (map->ranges[mid].len - 1) < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static const struct dma_range *find(struct dma_map *map, uint64_t addr)
{
	if (map->last >= map->count || !contains(&map->ranges[map->last], addr))
		map->last = bisect(map, addr);
	if (map->last >= map->count || !contains(&map->ranges[map->last], addr))
		return NULL;
	return &map->ranges[map->last];
}

/* reading past the end of a file would be a SIGBUS, so look before */
static int map_file(struct dma_range *range, int fd, uint64_t offset)
{
	int prot = (range->access & DMA_READABLE ? PROT_READ : 0) |
		   (range->access & DMA_WRITABLE ? PROT_WRITE : 0);
	struct stat st;
	void *mem;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || range->addr % PAGE || range->len % PAGE || offset % PAGE ||
	    offset > (uint64_t)st.st_size || range->len > (uint64_t)st.st_size - offset)
		return -EINVAL;
	mem = mmap(NULL, range->len, prot, MAP_SHARED, fd, offset);
	if (mem == MAP_FAILED)
		return -errno;
	range->mem = mem;
	return 0;
}

static void unmap(struct dma_range *range)
{
	if (range->mem)
		munmap(range->mem, range->len);
}

static int make_room(struct dma_map *map)
{
	size_t capacity = map->capacity ? 2 * map->capacity : 32;
	struct dma_range *ranges;

	if (map->count == DMA_RANGES_MAX)
		return -ENOSPC;
	if (map->count < map->capacity)
		return 0;
	ranges = realloc(map->ranges, capacity * sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	map->ranges = ranges;
	map->capacity = capacity;
	return 0;
}

int dma_map_add(struct dma_map *map, uint64_t addr, uint64_t len, unsigned int access, int fd,
		uint64_t offset)
{
	struct dma_range range = { .addr = addr, .len = len, .access = access };
	size_t at;
	int err;

	if (!len || len > UINT64_MAX - addr || access & ~(DMA_READABLE | DMA_WRITABLE))
		return -EINVAL;
	at = bisect(map, addr);
	if (at < map->count && map->ranges[at].addr < addr + len)
		return -EEXIST;
	err = make_room(map);
	if (err)
		return err;
	if (fd >= 0) {
		err = map_file(&range, fd, offset);
		if (err)
			return err;
	}
	memmove(&map->ranges[at + 1], &map->ranges[at], (map->count - at) * sizeof(range));
	map->ranges[at] = range;
	map->count++;
	return 0;
}

int dma_map_remove(struct dma_map *map, uint64_t addr, uint64_t len)
{
	size_t at = bisect(map, addr);
	struct dma_range *range;

	if (at == map->count)
		return -ENOENT;
	range = &map->ranges[at];
	if (range->addr != addr || range->len != len)
		return -ENOENT;
	unmap(range);
	map->count--;
	memmove(range, range + 1, (map->count - at) * sizeof(*range));
	return 0;
}

void dma_map_clear(struct dma_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		unmap(&map->ranges[i]);
	free(map->ranges);
	map->ranges = NULL;
	map->count = map->capacity = 0;
}

/* the part of a transfer that lies in one range */
struct segment {
	uint8_t *mem;
	size_t len;
};

static int next_segment(struct dma_map *map, uint64_t addr, size_t len, unsigned int access,
			struct segment *segment)
{
	const struct dma_range *range = find(map, addr);
	uint64_t left;

	if (!range || !range->mem || !(range->access & access))
		return -EFAULT;
	left = range->len - (addr - range->addr);
	segment->mem = range->mem + (addr - range->addr);
	segment->len = len < left ? len : left;
	return 0;
}

/* walked before the first byte is copied: a transfer is done whole or not at all */
static int check(struct dma_map *map, uint64_t addr, size_t len, unsigned int access)
{
	struct segment segment;

	for (; len; addr += segment.len, len -= segment.len) {
		if (next_segment(map, addr, len, access, &segment)) {
			map->faults++;
			return -EFAULT;
		}
	}
	return 0;
}

static void load(void *buf, const uint8_t *mem, size_t len)
{
	uintptr_t misaligned = (uintptr_t)mem & (len - 1);
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	if (len == 8 && !misaligned) {
		v8 = __atomic_load_n((const uint64_t *)mem, __ATOMIC_RELAXED);
		memcpy(buf, &v8, len);
	} else if (len == 4 && !misaligned) {
		v4 = __atomic_load_n((const uint32_t *)mem, __ATOMIC_RELAXED);
		memcpy(buf, &v4, len);
	} else if (len == 2 && !misaligned) {
		v2 = __atomic_load_n((const uint16_t *)mem, __ATOMIC_RELAXED);
		memcpy(buf, &v2, len);
	} else {
		memcpy(buf, mem, len);
	}
}

static void store(uint8_t *mem, const void *buf, size_t len)
{
	uintptr_t misaligned = (uintptr_t)mem & (len - 1);
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	if (len == 8 && !misaligned) {
		memcpy(&v8, buf, len);
		__atomic_store_n((uint64_t *)mem, v8, __ATOMIC_RELAXED);
	} else if (len == 4 && !misaligned) {
		memcpy(&v4, buf, len);
		__atomic_store_n((uint32_t *)mem, v4, __ATOMIC_RELAXED);
	} else if (len == 2 && !misaligned) {
		memcpy(&v2, buf, len);
		__atomic_store_n((uint16_t *)mem, v2, __ATOMIC_RELAXED);
	} else {
		memcpy(mem, buf, len);
	}
}

int dma_read(struct dma_map *map, uint64_t addr, void *buf, size_t len)
{
	struct segment segment;
	uint8_t *to = buf;

	if (check(map, addr, len, DMA_READABLE))
		return -EFAULT;
	map->reads++;
	map->bytes += len;
	for (; len; addr += segment.len, len -= segment.len, to += segment.len) {
		next_segment(map, addr, len, DMA_READABLE, &segment);
		load(to, segment.mem, segment.len);
	}
	return 0;
}

int dma_write(struct dma_map *map, uint64_t addr, const void *buf, size_t len)
{
	const uint8_t *from = buf;
	struct segment segment;

	if (check(map, addr, len, DMA_WRITABLE))
		return -EFAULT;
	map->writes++;
	map->bytes += len;
	for (; len; addr += segment.len, len -= segment.len, from += segment.len) {
		next_segment(map, addr, len, DMA_WRITABLE, &segment);
		store(segment.mem, from, segment.len);
	}
	return 0;
}
