// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
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
	memory->huge = true;
	memory->file_pages = size / PAGE;
	LAB_NEED(!ftruncate(memory->fd, size), "ftruncate: %s", strerror(errno));
	memory->base = map(memory, NULL, size, 0);
	lab_hold(drop, memory);
	return memory;
}

/* pages of the file, in its order */
static int udmabuf(int device, struct memory *memory, size_t size)
{
	struct udmabuf_create create = { .memfd = memory->fd, .flags = UDMABUF_FLAGS_CLOEXEC,
					 .size = size };
	int fd;

	if (memory->parted)
		map(memory, memory->base, 2 * PAGE, 0);
	LAB_NEED(!fcntl(memory->fd, F_ADD_SEALS, F_SEAL_SHRINK), "F_ADD_SEALS: %s",
		 strerror(errno));
	fd = ioctl(device, UDMABUF_CREATE, &create);
	LAB_NEED(fd >= 0, "UDMABUF_CREATE: %s", strerror(errno));
	return fd;
}

/* as in <drm/drm.h> and <drm/drm_mode.h>, which are not among the kernel's headers in Debian */
struct drm_dumb {
	uint32_t height, width, bits, flags;
	uint32_t handle, pitch;
	uint64_t size;
};

struct drm_export {
	uint32_t handle, flags;
	int32_t fd;
};

#define DRM_CREATE_DUMB	_IOWR('d', 0xb2, struct drm_dumb)
#define DRM_EXPORT	_IOWR('d', 0x2d, struct drm_export)

/* a graphics card without hardware, which shares buffers as others do */
static int open_vgem(void)
{
	const char *card;
	char path[64];
	glob_t found;
	int fd = -1;

	if (system("modprobe -q vgem") || glob("/sys/devices/*/vgem/drm/card*", 0, NULL, &found))
		return -1;
	card = strrchr(found.gl_pathv[0], '/');
	if (snprintf(path, sizeof(path), "/dev/dri%s", card) < (int)sizeof(path))
		fd = open(path, O_RDWR | O_CLOEXEC);
	globfree(&found);
	return fd;
}

/* pages of its own: they take the place of the file's in the mapping */
static int vgem_dmabuf(int card, struct memory *memory, size_t size)
{
	struct drm_dumb dumb = { .height = size / PAGE, .width = PAGE, .bits = 8 };
	struct drm_export export = { .flags = O_CLOEXEC | O_RDWR };

	LAB_NEED(!ioctl(card, DRM_CREATE_DUMB, &dumb) && dumb.size == size, "DRM_CREATE_DUMB: %s",
		 strerror(errno));
	export.handle = dumb.handle;
	LAB_NEED(!ioctl(card, DRM_EXPORT, &export), "DRM_EXPORT: %s", strerror(errno));
	LAB_NEED(mmap(memory->base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, export.fd,
		      0) != MAP_FAILED, "mmap of a dma-buf: %s", strerror(errno));
	return export.fd;
}

int memory_dmabuf(struct memory *memory, size_t size, const char **why)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device >= 0) {
		fd = udmabuf(device, memory, size);
	} else {
		/* its pages are small ones */
		device = memory->huge ? -1 : open_vgem();
		if (device < 0) {
			*why = memory->huge ? "no /dev/udmabuf: the kernel needs CONFIG_UDMABUF" :
			       "neither /dev/udmabuf nor vgem: the kernel needs CONFIG_UDMABUF or CONFIG_DRM_VGEM";
			return -1;
		}
		fd = vgem_dmabuf(device, memory, size);
	}
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

/* bytes that nobody has, or that would be had at once */
static int64_t available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	long long kib = -1;
	char line[128];

	LAB_NEED(file, "/proc/meminfo: %s", strerror(errno));
	while (kib < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %lld kB", &kib) != 1)
			kib = -1;
	fclose(file);
	LAB_NEED(kib >= 0, "/proc/meminfo says nothing of MemAvailable");
	return kib * 1024;
}

void memory_expect_returned(const char *what, size_t bytes, void (*turn)(void *arg), void *arg)
{
	const unsigned int warm_up = 4;
	int64_t before, missing;
	uint64_t end;

	for (unsigned int i = 0; i < warm_up; i++)
		turn(arg);
	before = available();
	for (uint64_t i = 0; i < MEMORY_TURNS / bytes; i++)
		turn(arg);
	/* what is freed late is freed within that time */
	end = now_ms() + 5000 * lab_slow();
	while (missing = before - available(), missing > (int64_t)MEMORY_TURNS / 2 && now_ms() < end)
		sleep_ms(100);
	printf("# %s, %llu turns: %lld KiB less\n", what,
	       (unsigned long long)(MEMORY_TURNS / bytes), (long long)missing / 1024);
	if (missing > (int64_t)MEMORY_TURNS / 2)
		lab_note(__FILE__, __LINE__, "%s: memory does not come back", what);
}
