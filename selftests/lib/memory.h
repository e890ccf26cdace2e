/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of awkward shapes, for memory regions: many pages out of few, scattered on purpose, huge
 * pages, dma-bufs. All are files that can be written and looked at without the region.
 */
#ifndef SELFTESTS_MEMORY_H
#define SELFTESTS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct memory - a mapping of the file @fd, which has @file_pages pages of 4 KiB
 *
 * @parted: the first two pages are mapped the other way round
 * @huge: its pages are huge ones
 */
struct memory {
	uint8_t *base;
	size_t size;
	int fd;
	size_t file_pages;
	bool parted;
	bool huge;
};

#define PAGE	4096ul

/*
 * @pages of 4 KiB, scattered so that no larger page describes them, out of at most @file_pages
 * different ones. must succeed; undone at the end of the test
 */
struct memory *memory_scattered(size_t pages, size_t file_pages);

/* huge pages; NULL with a reason in @why if the kernel has none to give */
struct memory *memory_huge(size_t size, const char **why);

/* ordinary pages as they come */
struct memory *memory_plain(size_t pages);

/*
 * A dma-buf of what is mapped at @memory, [0, size); -1 with a reason in @why. To be closed by the caller. Where the
 * kernel makes none of a file (Debian 12's has no udmabuf), other pages are mapped there from then on, which can be
 * registered by the dma-buf alone.
 */
int memory_dmabuf(struct memory *memory, size_t size, const char **why);

/* what the kernel holds of this process's memory for devices, in KiB */
long memory_pinned(void);

/*
 * Takes @turn so often that what it allocates of the kernel's pages, @bytes and more, would be MEMORY_TURNS
 * in all, and notes a failure if most of that has not come back. Who counts objects does not see pages.
 */
#define MEMORY_TURNS	(128ull << 20)
void memory_expect_returned(const char *what, size_t bytes, void (*turn)(void *arg), void *arg);

#endif /* SELFTESTS_MEMORY_H */
