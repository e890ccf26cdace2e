/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the pages of an MR are told to the device; see pagelist.c. */
#ifndef DVQ_EFA_PAGELIST_H
#define DVQ_EFA_PAGELIST_H

#include <linux/types.h>
#include <hw/efa_admin.h>

struct efa_dev;
struct efa_page_chunk;
struct ib_umem;

enum efa_page_form {
	EFA_PAGES_INLINE,	/* in the command */
	EFA_PAGES_DIRECT,	/* in one block of memory */
	EFA_PAGES_INDIRECT,	/* in pieces, found through a chain of chunks */
};

/**
 * struct efa_page_list - addresses of the pages of a buffer
 * @form: how the device gets them
 * @entries: the addresses, @count of them, rounded up to whole pieces
 * @dma: the device's address of @entries (direct) or of the first chunk (indirect)
 * @dma_bytes: bytes of @entries (direct) or of the first chunk (indirect)
 * @chunks: the chain, @num_chunks long
 */
struct efa_page_list {
	enum efa_page_form form;
	__le64 *entries;
	size_t count;
	dma_addr_t dma;
	u32 dma_bytes;
	struct efa_page_chunk *chunks;
	size_t num_chunks;
};

int efa_page_list_init(struct efa_dev *dev, struct efa_page_list *list, struct ib_umem *umem,
		       unsigned long page_size);
/* The device has its copy when REG_MR is answered. */
void efa_page_list_cleanup(struct efa_dev *dev, struct efa_page_list *list);

#endif /* DVQ_EFA_PAGELIST_H */
