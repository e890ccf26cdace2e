// SPDX-License-Identifier: GPL-2.0
/*
 * The lists in which an EFA adapter is told the pages of a region (F-50), on kernels with pages
 * of 4 and of 64 KiB: what the device finds when it follows them is the user's buffer, from the
 * first byte to the last.
 */
#include "kernel/memory.h"

#include <hw/efa_admin.h>

/* the driver's source, without the rest of the driver */
#define DVQ_EFA_H

struct efa_dev {
	struct {
		int dev;
	} *pdev;
};

#include "../../kernel/efa/pagelist.c"
#include "tap.h"

#define DEVICE_PAGE	4096ul
#define PAGES_MAX	(2 * EFA_CHUNK_PTRS * 512 + 20)

static dma_addr_t pages[PAGES_MAX];

/* no two of them beside each other */
static void scatter(void)
{
	for (u64 i = 0; i < PAGES_MAX; i++)
		pages[i] = ((i * 7919 + 13) % PAGES_MAX * 2 + 1) * PAGE_SIZE;
}

/* ---- the device's side ------------------------------------------------------------------ */

static u64 found[PAGES_MAX];

static size_t read_entries(dma_addr_t dma, size_t n, size_t at)
{
	const __le64 *entries = kernel_dma(dma, n * sizeof(*entries));

	REQUIRE(entries && at + n <= PAGES_MAX);
	for (size_t i = 0; i < n; i++)
		found[at + i] = le64toh(entries[i]);
	return at + n;
}

/* The pieces that a chunk names, then the next chunk. Lengths have to come out exactly. */
static void follow(dma_addr_t dma, u32 bytes, size_t count)
{
	size_t at = 0;

	while (bytes) {
		size_t left = DIV_ROUND_UP(count - at, EFA_CHUNK_PIECE / 8);
		size_t ptrs = min(left, (size_t)EFA_CHUNK_PTRS);
		const struct efa_ctrl_buf *next;
		const uint8_t *chunk;

		CHECK_EQ(bytes, ptrs * 8 + sizeof(*next));
		chunk = kernel_dma(dma, bytes);
		REQUIRE(chunk && left);
		for (size_t i = 0; i < ptrs; i++) {
			u64 piece;

			memcpy(&piece, chunk + 8 * i, sizeof(piece));
			/* the device fetches whole pieces */
			REQUIRE(kernel_dma(le64toh(piece), EFA_CHUNK_PIECE));
			at = read_entries(le64toh(piece), min(count - at, (size_t)512), at);
		}
		next = (const void *)(chunk + 8 * ptrs);
		bytes = le32toh(next->length);
		dma = (u64)le32toh(next->addr_hi) << 32 | le32toh(next->addr_lo);
	}
	CHECK_EQ(dma, 0);
	CHECK_EQ(at, count);
}

static void read_list(const struct efa_page_list *list)
{
	switch (list->form) {
	case EFA_PAGES_INLINE:
		CHECK(list->count <= EFA_REG_MR_INLINE_PAGES);
		for (size_t i = 0; i < list->count; i++)
			found[i] = le64toh(list->entries[i]);
		break;
	case EFA_PAGES_DIRECT:
		CHECK(list->count > EFA_REG_MR_INLINE_PAGES && list->count <= 512);
		CHECK_EQ(list->dma_bytes, list->count * 8);
		read_entries(list->dma, list->count, 0);
		break;
	case EFA_PAGES_INDIRECT:
		CHECK(list->count > 512);
		follow(list->dma, list->dma_bytes, list->count);
		break;
	}
}

/* ---- regions ---------------------------------------------------------------------------- */

/* of @count pages of the device, @size bytes each, of which the first begins at @off */
static void region(size_t count, size_t off, unsigned long size)
{
	struct ib_umem umem = { .pages = pages };
	struct efa_page_list list;
	struct efa_dev dev = { 0 };
	size_t wanted, n = 0;
	u64 at;

	umem.start = 0x7f0000000000 + off;
	umem.length = count * size - off - off / 2;
	wanted = ib_umem_num_dma_blocks(&umem, size);
	REQUIRE(efa_page_list_init(&dev, &list, &umem, size) == 0);
	CHECK_EQ(list.count, wanted);
	memset(found, 0, sizeof(found[0]) * wanted);
	read_list(&list);
	/* the first and the last byte of each page that the device will reach for */
	for (at = umem.start; at < umem.start + umem.length; n++) {
		u64 end = min((at / size + 1) * size, umem.start + umem.length);

		if (found[n] + at % size != kernel_umem_dma(&umem, at) ||
		    found[n] + (end - 1) % size != kernel_umem_dma(&umem, end - 1)) {
			tap_fail(__FILE__, __LINE__, "page %zu of %zu of %lu bytes from %zu", n,
				 wanted, size, off);
			break;
		}
		at = end;
	}
	efa_page_list_cleanup(&dev, &list);
	CHECK_EQ(kernel_mapped(), 0);
	CHECK_EQ(kernel_allocations, 0);
	CHECK_EQ(kernel_warnings, 0);
}

static void regions(unsigned long size)
{
	static const size_t counts[] = {
		1, 4, 5, 511, 512, 513, 1024, 1025, EFA_CHUNK_PTRS * 512, EFA_CHUNK_PTRS * 512 + 1,
		2 * EFA_CHUNK_PTRS * 512 + 7,
	};
	static const size_t offs[] = { 0, 1, 100, 2048, 4095 };

	scatter();
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (size_t j = 0; j < sizeof(offs) / sizeof(offs[0]); j++)
			if (counts[i] > 1 || offs[j] < 2000)
				region(counts[i], offs[j], size);
}

TEST(f50_kernel_pages_of_4_kib)
{
	kernel_page = 4096;
	regions(DEVICE_PAGE);
}

/* a device that knows pages of 4 KiB only */
TEST(f50_kernel_pages_of_64_kib_device_pages_of_4)
{
	kernel_page = 65536;
	regions(DEVICE_PAGE);
}

TEST(f50_kernel_and_device_pages_of_64_kib)
{
	kernel_page = 65536;
	regions(65536);
}

TAP_MAIN
