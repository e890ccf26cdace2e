// SPDX-License-Identifier: GPL-2.0
/* Memory that a command gives as one address or as a table of pages. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ionic_rdma.h"

#define TABLE_CHUNK	512u	/* entries read at a time */

static int read_table(struct ionic *ionic, struct ionic_mem *mem, uint64_t addr)
{
	uint64_t chunk[TABLE_CHUNK];

	for (uint32_t i = 0; i < mem->count; i += TABLE_CHUNK) {
		uint32_t n = mem->count - i < TABLE_CHUNK ? mem->count - i : TABLE_CHUNK;

		if (model_dma_read(&ionic->dev, addr + 8ull * i, chunk, n * sizeof(chunk[0])))
			return -EFAULT;
		for (uint32_t j = 0; j < n; j++)
			mem->pages[i + j] = le64toh(chunk[j]);
	}
	return 0;
}

/* the pages are as many as the bytes need; asked before there is memory for their list */
static const char *check_count(uint32_t pages, unsigned int page_log2, uint64_t offset,
			       uint64_t length)
{
	uint64_t page = 1ull << page_log2;

	if (offset >= page)
		return "begin behind their first page";
	/* a sum that wraps is of less than two pages */
	if ((offset + length + page - 1) >> page_log2 != pages)
		return "are not as many as the length needs";
	return NULL;
}

static bool aligned(const struct ionic_mem *mem)
{
	uint64_t page = 1ull << mem->page_log2;

	for (uint32_t i = 0; i < mem->count; i++)
		if (mem->pages[i] & (page - 1))
			return false;
	return true;
}

int ionic_mem_set(struct ionic *ionic, struct ionic_mem *mem, uint32_t pages, uint64_t addr,
		  unsigned int page_log2, uint64_t offset, uint64_t length, const char **why)
{
	*mem = (struct ionic_mem){ .length = length };
	*why = NULL;
	if (!pages || (pages > 1 && (page_log2 < 12 || page_log2 > 31))) {
		*why = "are none, or of a size that does not exist";
		return -EINVAL;
	}
	if (pages > 1)
		*why = check_count(pages, page_log2, offset, length);
	if (*why)
		return -EINVAL;
	mem->pages = calloc(pages, sizeof(*mem->pages));
	if (!mem->pages) {
		*why = "are more than the model has memory for";
		return -EINVAL;
	}
	mem->count = pages;
	if (pages == 1) {
		mem->pages[0] = addr;
		return 0;
	}
	mem->page_log2 = page_log2;
	mem->offset = offset;
	if (read_table(ionic, mem, addr)) {
		*why = "are listed in a table that is not memory";
		ionic_mem_free(mem);
		return -EFAULT;
	}
	if (aligned(mem))
		return 0;
	*why = "are not aligned to their size";
	ionic_mem_free(mem);
	return -EINVAL;
}

void ionic_mem_free(struct ionic_mem *mem)
{
	free(mem->pages);
	*mem = (struct ionic_mem){ 0 };
}

/* the address of byte @off, and in *@len how many follow it there, at most what it was */
static uint64_t translate(const struct ionic_mem *mem, uint64_t off, size_t *len)
{
	uint64_t page, rest;

	if (mem->count == 1)
		return mem->pages[0] + off;
	off += mem->offset;
	page = 1ull << mem->page_log2;
	rest = page - (off & (page - 1));
	if (*len > rest)
		*len = rest;
	return mem->pages[off >> mem->page_log2] + (off & (page - 1));
}

int ionic_mem_read(struct ionic *ionic, const struct ionic_mem *mem, uint64_t off, void *buf,
		   size_t len, const char *what)
{
	uint8_t *to = buf;

	while (len) {
		size_t part = len;
		uint64_t addr = translate(mem, off, &part);

		if (mem->cmb)
			memcpy(to, ionic->dev.bar[IONIC_BAR_CMB].mem + addr, part);
		else if (ionic_read(ionic, addr, to, part, what))
			return -EFAULT;
		to += part;
		off += part;
		len -= part;
	}
	return 0;
}

int ionic_mem_write(struct ionic *ionic, const struct ionic_mem *mem, uint64_t off,
		    const void *buf, size_t len, const char *what)
{
	const uint8_t *from = buf;

	while (len) {
		size_t part = len;
		uint64_t addr = translate(mem, off, &part);

		if (ionic_write(ionic, addr, from, part, what))
			return -EFAULT;
		from += part;
		off += part;
		len -= part;
	}
	return 0;
}
