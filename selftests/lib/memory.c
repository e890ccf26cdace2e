// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lab.h"
#include "memory.h"

#define HUGE_PAGE	(2ul << 20)

static int drop(void *object)
{
	struct memory *memory = object;

	munmap(memory->base, memory->size);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory);
	return 0;
}

static struct memory *memory_new(size_t size, unsigned int memfd_flags)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	LAB_NEED(memory, "no memory");
	memory->size = size;
	memory->fd = memfd_create("dvq-test", MFD_CLOEXEC | MFD_ALLOW_SEALING | memfd_flags);
	LAB_NEED(memory->fd >= 0, "memfd_create: %s", strerror(errno));
	return memory;
}

static void *map(struct memory *memory, void *at, size_t len, off_t off)
{
	int fixed = at ? MAP_FIXED : 0;
	void *base = mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | fixed, memory->fd, off);

	LAB_NEED(base != MAP_FAILED, "mmap of %zu bytes: %s", len, strerror(errno));
	return base;
}

/*
 * Pages of a file get memory in the order of their first use, often one behind the
 * other. So they are used in strides.
 */
static void use_in_strides(const struct memory *memory)
{
	const size_t stride = 7;
	uint8_t byte = 0;

	for (size_t first = 0; first < stride; first++)
		for (size_t n = first; n < memory->file_pages; n += stride)
			LAB_NEED(pwrite(memory->fd, &byte, 1, n * PAGE) == 1, "pwrite: %s",
				 strerror(errno));
}

/* an address of its own that is aligned as the largest pages of the processor's tables are */
static uint8_t *reserve(size_t size)
{
	const size_t align = HUGE_PAGE;
	uint8_t *base = mmap(NULL, size + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	LAB_NEED(base != MAP_FAILED, "mmap: %s", strerror(errno));
	before = -(uintptr_t)base % align;
	if (before)
		munmap(base, before);
	munmap(base + before + size, align - before);
	return base + before;
}

/* where a page of the mapping lies in memory; 0 for those who may not know */
static uint64_t frame(const struct memory *memory, size_t n)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, &entry, sizeof(entry), ((uintptr_t)memory->base / PAGE + n) * 8) !=
	    sizeof(entry))
		entry = 0;
	close(fd);
	return entry & ((1ull << 55) - 1);
}

/* a border behind the first page is enough to rule out every larger page */
static void part_first_two(struct memory *memory)
{
	volatile uint8_t *byte = memory->base;

	if (memory->file_pages < 2)
		return;
	(void)(byte[0] + byte[PAGE]);
	if (frame(memory, 1) != frame(memory, 0) + 1)
		return;
	map(memory, memory->base, PAGE, PAGE);
	map(memory, memory->base + PAGE, PAGE, 0);
	memory->parted = true;
}

struct memory *memory_scattered(size_t pages, size_t file_pages)
{
	struct memory *memory = memory_new(pages * PAGE, 0);

	memory->file_pages = pages < file_pages ? pages : file_pages;
	LAB_NEED(!ftruncate(memory->fd, memory->file_pages * PAGE), "ftruncate: %s",
		 strerror(errno));
	use_in_strides(memory);
	memory->base = reserve(memory->size);
	lab_hold(drop, memory);
	for (size_t n = 0; n < pages; n += memory->file_pages) {
		size_t part = pages - n < memory->file_pages ? pages - n : memory->file_pages;

		map(memory, memory->base + n * PAGE, part * PAGE, 0);
	}
	part_first_two(memory);
	return memory;
}

struct memory *memory_plain(size_t pages)
{
	struct memory *memory = memory_new(pages * PAGE, 0);

	memory->file_pages = pages;
	LAB_NEED(!ftruncate(memory->fd, memory->size), "ftruncate: %s", strerror(errno));
	memory->base = map(memory, NULL, memory->size, 0);
	lab_hold(drop, memory);
	return memory;
}

static bool reserve_huge_pages(size_t n)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", "r+");
	size_t have = 0;

	if (!file)
		return false;
	if (fscanf(file, "%zu", &have) != 1)
		have = 0;
	if (have < n) {
		rewind(file);
		fprintf(file, "%zu\n", n);
		fflush(file);
		rewind(file);
		if (fscanf(file, "%zu", &have) != 1)
			have = 0;
	}
	fclose(file);
	return have >= n;
}

struct memory *memory_huge(size_t size, const char **why)
{
	struct memory *memory;

	if (!reserve_huge_pages(size / HUGE_PAGE)) {
		*why = "no huge pages: write their number to /proc/sys/vm/nr_hugepages";
		return NULL;
	}
	memory = memory_new(size, MFD_HUGETLB);
	memory->file_pages = size / PAGE;
	LAB_NEED(!ftruncate(memory->fd, size), "ftruncate: %s", strerror(errno));
	memory->base = map(memory, NULL, size, 0);
	lab_hold(drop, memory);
	return memory;
}

int memory_dmabuf(struct memory *memory, size_t size, const char **why)
{
	struct udmabuf_create create = { .memfd = memory->fd, .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = size };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	/* pages come in the file's order */
	if (memory->parted)
		map(memory, memory->base, 2 * PAGE, 0);
	if (device < 0) {
		*why = "no /dev/udmabuf: the kernel needs CONFIG_UDMABUF";
		return -1;
	}
	LAB_NEED(!fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK), "F_ADD_SEALS: %s",
		 strerror(errno));
	fd = ioctl(device, UDMABUF_CREATE, &create);
	LAB_NEED(fd >= 0, "UDMABUF_CREATE: %s", strerror(errno));
	close(device);
	return fd;
}

long memory_pinned(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256];
	long kilobytes = -1;

	LAB_NEED(status, "/proc/self/status: %s", strerror(errno));
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %ld", &kilobytes) == 1)
			break;
	fclose(status);
	LAB_NEED(kilobytes >= 0, "/proc/self/status has no VmPin");
	return kilobytes;
}
