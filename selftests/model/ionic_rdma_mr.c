// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions and windows. Local and remote key are one: a number, which the
 * driver chose, and a tag of 8 bits, which work requests may change. Key 0 is
 * all of memory, for QPs that are privileged.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ionic_rdma.h"

#define ACCESS		(IONIC_MR_LOCAL_WRITE | IONIC_MR_REMOTE_WRITE | IONIC_MR_REMOTE_READ | \
			 IONIC_MR_REMOTE_ATOMIC | IONIC_MR_MW_BIND | IONIC_MR_ZERO_BASED)
#define REMOTE		(IONIC_MR_REMOTE_WRITE | IONIC_MR_REMOTE_READ | IONIC_MR_REMOTE_ATOMIC)
#define KINDS		(IONIC_MR_USER_KEY | IONIC_MR_WINDOW | IONIC_MR_INVALIDATE)
#define FAST		(IONIC_MR_USER_KEY | IONIC_MR_INVALIDATE)
#define WINDOW1		(IONIC_MR_USER_KEY | IONIC_MR_WINDOW)
#define WINDOW2		(IONIC_MR_USER_KEY | IONIC_MR_WINDOW | IONIC_MR_INVALIDATE)
#define PAGE_SIZES_FROM	0x0201	/* version and minor version that tell page sizes */

static uint32_t number(uint32_t key)
{
	return HW_GET(IONIC_KEY_MR, key);
}

static struct ionic_mr *by_number(struct ionic *ionic, uint32_t key)
{
	return number(key) < ionic->config.mrs ? ionic->rdma->mrs[number(key)] : NULL;
}

static struct ionic_mr *by_key(struct ionic *ionic, uint32_t key)
{
	struct ionic_mr *mr = by_number(ionic, key);

	return mr && mr->key == key ? mr : NULL;
}

static bool is_window(const struct ionic_mr *mr)
{
	return mr->flags & IONIC_MR_WINDOW;
}

/* nothing registered or bound any more; the number stays */
static void empty(struct ionic *ionic, struct ionic_mr *mr)
{
	ionic->rdma->page_table_used -= mr->mem.count;
	ionic_mem_free(&mr->mem);
	if (mr->under)
		mr->under->windows--;
	mr->under = NULL;
	mr->valid = false;
	mr->flags &= KINDS;
}

void ionic_mr_free(struct ionic *ionic, struct ionic_mr *mr)
{
	ionic->rdma->mrs[number(mr->key)] = NULL;
	empty(ionic, mr);
	free(mr);
}

void ionic_mr_unbind(struct ionic *ionic, const struct ionic_qp *qp)
{
	for (unsigned int i = 0; i < ionic->config.mrs; i++) {
		struct ionic_mr *mr = ionic->rdma->mrs[i];

		if (mr && mr->under && mr->flags & IONIC_MR_INVALIDATE && mr->qp == qp->id)
			empty(ionic, mr);
	}
}

/* ---- use -------------------------------------------------------------------------- */

/* a key of the right owner, or NULL */
static struct ionic_mr *find(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key,
			     uint16_t access)
{
	struct ionic_mr *mr = by_key(ionic, key);

	if (!mr || !mr->valid || mr->pd != qp->pd)
		return NULL;
	if (!is_window(mr))
		return mr;
	/* windows are for the other side, those of type 2 for one QP's other side */
	if (!(access & REMOTE) || (mr->flags & IONIC_MR_INVALIDATE && mr->qp != qp->id))
		return NULL;
	return mr;
}

static bool inside(const struct ionic_mr *mr, uint64_t addr, uint64_t len)
{
	return addr >= mr->base && len <= mr->length && addr - mr->base <= mr->length - len;
}

static bool privileged(const struct ionic_qp *qp, uint16_t access)
{
	return qp->attr.flags & (access & REMOTE ? IONIC_QP_REMOTE_PRIV : IONIC_QP_PRIVILEGED);
}

bool ionic_mr_allows(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		     uint64_t len, uint16_t access)
{
	const struct ionic_mr *mr;

	if (!len)
		return true;
	if (!key)
		return privileged(qp, access);
	mr = find(ionic, qp, key, access);
	return mr && (mr->flags & access) == access && inside(mr, addr, len);
}

/* the memory behind an allowed access, and where in it; NULL: key 0, @off is the address */
static const struct ionic_mem *locate(struct ionic *ionic, uint32_t key, uint64_t addr,
				      uint64_t *off)
{
	const struct ionic_mr *mr;

	*off = addr;
	if (!key)
		return NULL;
	mr = by_key(ionic, key);
	*off = addr - mr->base;
	if (!mr->under)
		return &mr->mem;
	*off += mr->va - mr->under->va;
	return &mr->under->mem;
}

int ionic_mr_read(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		  void *buf, size_t len, uint16_t access)
{
	const struct ionic_mem *mem;
	uint64_t off;

	if (!ionic_mr_allows(ionic, qp, key, addr, len, access))
		return -EACCES;
	if (!len)
		return 0;
	mem = locate(ionic, key, addr, &off);
	return mem ? ionic_mem_read(ionic, mem, off, buf, len, "memory region") :
		     ionic_read(ionic, off, buf, len, "memory of key 0");
}

int ionic_mr_write(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		   const void *buf, size_t len, uint16_t access)
{
	const struct ionic_mem *mem;
	uint64_t off;

	if (!ionic_mr_allows(ionic, qp, key, addr, len, access))
		return -EACCES;
	if (!len)
		return 0;
	mem = locate(ionic, key, addr, &off);
	return mem ? ionic_mem_write(ionic, mem, off, buf, len, "memory region") :
		     ionic_write(ionic, off, buf, len, "memory of key 0");
}

/* ---- what can be registered -------------------------------------------------------- */

static bool range_is_ok(uint64_t va, uint64_t length)
{
	return length && va + length >= va;
}

/* one page may have any size, which is not looked at */
static bool page_size_is_ok(const struct ionic_config *config, uint32_t pages,
			    unsigned int page_log2)
{
	bool told = (config->rdma_version << 8 | config->rdma_minor) >= PAGE_SIZES_FROM;
	uint64_t sizes = told ? config->page_sizes : IONIC_RDMA_PAGE_SIZES;

	return pages < 2 || (page_log2 < 64 && sizes >> page_log2 & 1);
}

/* ---- work requests ---------------------------------------------------------------- */

static void retag(struct ionic_mr *mr, uint8_t tag)
{
	mr->key = (mr->key & IONIC_KEY_MR) | tag;
}

static uint64_t base_of(uint16_t flags, uint64_t va)
{
	return flags & IONIC_MR_ZERO_BASED ? 0 : va;
}

/* takes entries of the page table; false if there are not enough */
static bool take_pages(struct ionic *ionic, uint32_t pages)
{
	/* the control channel may have set less than are in use */
	if (ionic->rdma->page_table_used + pages > ionic->config.page_table)
		return false;
	ionic->rdma->page_table_used += pages;
	return true;
}

enum ionic_io_status ionic_mr_register(struct ionic *ionic, const struct ionic_qp *qp,
				       const struct ionic_wqe_reg_mr *wqe)
{
	uint32_t key = be32toh(wqe->header.imm_key_length), pages = be32toh(wqe->pages);
	struct ionic_mr *mr = by_number(ionic, key);
	uint16_t flags = be16toh(wqe->flags);
	const char *why;

	if (!mr || mr->pd != qp->pd || (mr->flags & KINDS) != FAST || mr->valid ||
	    flags & ~ACCESS || !range_is_ok(be64toh(wqe->va), be64toh(wqe->length)) ||
	    !page_size_is_ok(&ionic->config, pages, wqe->page_log2) || !take_pages(ionic, pages))
		return IONIC_IO_MEM_MGMT;
	if (ionic_mem_set(ionic, &mr->mem, pages, be64toh(wqe->addr), wqe->page_log2,
			  be64toh(wqe->offset), be64toh(wqe->length), &why)) {
		ionic->rdma->page_table_used -= pages;
		return IONIC_IO_MEM_MGMT;
	}
	mr->va = be64toh(wqe->va);
	mr->length = be64toh(wqe->length);
	mr->base = base_of(flags, mr->va);
	mr->flags |= flags;
	mr->valid = true;
	retag(mr, wqe->header.num_sge);
	return IONIC_IO_OK;
}

/* what a window may show of a region */
static bool may_show(const struct ionic_qp *qp, const struct ionic_mr *under, uint64_t va,
		     uint64_t length, uint16_t flags)
{
	uint16_t writes = IONIC_MR_REMOTE_WRITE | IONIC_MR_REMOTE_ATOMIC;

	return under && under->valid && !is_window(under) && under->pd == qp->pd &&
	       under->flags & IONIC_MR_MW_BIND && va >= under->va && length <= under->length &&
	       va - under->va <= under->length - length &&
	       !(flags & writes && !(under->flags & IONIC_MR_LOCAL_WRITE));
}

enum ionic_io_status ionic_mr_bind(struct ionic *ionic, const struct ionic_qp *qp,
				   const struct ionic_wqe_bind_mw *wqe)
{
	struct ionic_mr *mw = by_key(ionic, be32toh(wqe->header.imm_key_length));
	struct ionic_mr *under = by_key(ionic, be32toh(wqe->lkey));
	uint64_t va = be64toh(wqe->va), length = be64toh(wqe->length);
	uint16_t flags = be16toh(wqe->flags);
	bool type2 = flags & IONIC_MR_INVALIDATE;

	if (!mw || !is_window(mw) || mw->pd != qp->pd || flags & ~(ACCESS | KINDS) ||
	    type2 != !!(mw->flags & IONIC_MR_INVALIDATE) || (type2 && (mw->valid || !length)) ||
	    (length && !may_show(qp, under, va, length, flags)))
		return IONIC_IO_MEM_MGMT;
	empty(ionic, mw);
	retag(mw, wqe->header.num_sge);
	if (!length)
		return IONIC_IO_OK;
	mw->va = va;
	mw->length = length;
	mw->base = base_of(flags, va);
	mw->flags |= flags & ACCESS;
	mw->under = under;
	mw->qp = qp->id;
	mw->valid = true;
	under->windows++;
	return IONIC_IO_OK;
}

enum ionic_io_status ionic_mr_invalidate(struct ionic *ionic, const struct ionic_qp *qp,
					 uint32_t key)
{
	struct ionic_mr *mr = by_key(ionic, key);

	if (!mr || !mr->valid || mr->pd != qp->pd || !(mr->flags & IONIC_MR_INVALIDATE) ||
	    mr->windows || (is_window(mr) && mr->qp != qp->id))
		return IONIC_IO_MEM_MGMT;
	empty(ionic, mr);
	return IONIC_IO_OK;
}

/* ---- commands --------------------------------------------------------------------- */

/* of a region whose pages come with the command */
static enum ionic_aq_status set_pages(struct ionic *ionic, const struct ionic_aq_job *job,
				      struct ionic_mr *mr)
{
	const struct ionic_aq_create_mr *cmd = (const struct ionic_aq_create_mr *)job->bytes;
	uint32_t pages = le32toh(cmd->pages);
	uint64_t page = 1ull << (cmd->page_log2 & 63);
	const char *why;

	mr->va = le64toh(cmd->va);
	mr->length = le64toh(cmd->length);
	mr->base = base_of(mr->flags, mr->va);
	if (!range_is_ok(mr->va, mr->length))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "%" PRIu64 " bytes at 0x%"
				       PRIx64, mr->length, mr->va);
	if (!page_size_is_ok(&ionic->config, pages, cmd->page_log2))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "pages of 2^%u bytes, which "
				       "the identity does not offer", cmd->page_log2);
	if (!take_pages(ionic, pages))
		return IONIC_AQ_BAD_ATTR;
	if (ionic_mem_set(ionic, &mr->mem, pages, le64toh(cmd->addr), cmd->page_log2,
			  mr->va & (page - 1), mr->length, &why)) {
		ionic->rdma->page_table_used -= pages;
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "pages %s", why);
	}
	mr->valid = true;
	return IONIC_AQ_OK;
}

static enum ionic_aq_status check_mr(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_mr *cmd = (const struct ionic_aq_create_mr *)job->bytes;
	uint32_t key = le32toh(cmd->key);
	uint16_t flags = le16toh(cmd->flags), kind = flags & KINDS;

	if (!number(key) || number(key) >= ionic->config.mrs || by_number(ionic, key))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "key 0x%x exists, or its "
				       "number is not 1 to %" PRIu64, key, ionic->config.mrs - 1);
	if (flags & ~(ACCESS | KINDS) ||
	    (kind && kind != FAST && kind != WINDOW1 && kind != WINDOW2))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_TYPE, "flags 0x%04x are of no "
				       "kind", flags);
	if (le32toh(cmd->table) != IONIC_AQ_NO_TABLE || cmd->table_type || cmd->dir_log2)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "table 0x%x of type %u",
				       le32toh(cmd->table), cmd->table_type);
	if (kind && (cmd->va || cmd->length || cmd->pages || cmd->addr || cmd->page_log2))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "memory for a key that gets "
				       "it from work requests");
	return IONIC_AQ_OK;
}

enum ionic_aq_status ionic_aq_create_mr(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_mr *cmd = (const struct ionic_aq_create_mr *)job->bytes;
	enum ionic_aq_status status = check_mr(ionic, job);
	struct ionic_mr *mr;

	if (status)
		return status;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return IONIC_AQ_BAD_ATTR;
	mr->key = le32toh(cmd->key);
	mr->pd = le32toh(cmd->pd);
	mr->flags = le16toh(cmd->flags);
	if (!(mr->flags & KINDS))
		status = set_pages(ionic, job, mr);
	if (status)
		free(mr);
	else
		ionic->rdma->mrs[number(mr->key)] = mr;
	return status;
}

enum ionic_aq_status ionic_aq_destroy_mr(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_destroy *cmd = (const struct ionic_aq_destroy *)job->bytes;
	struct ionic_mr *mr = by_number(ionic, le32toh(cmd->id));

	if (!mr)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "key 0x%x does not exist",
				       le32toh(cmd->id));
	/* choice: users may try that, so it is no mistake of the driver */
	if (mr->windows)
		return IONIC_AQ_BAD_STATE;
	ionic_mr_free(ionic, mr);
	return IONIC_AQ_OK;
}
