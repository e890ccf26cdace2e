// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: a key, a range of addresses and the page list behind it.
 *
 * A page list can be hundreds of megabytes, so REG_MR reads it over several
 * slices. Its three forms differ only in where entry n is found:
 *
 *	inline		in the command
 *	direct		at the address in the command
 *	indirect	in 4 KiB pieces, whose addresses are in a chain of chunks
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"

#define KEY_INDEX		0x000fffff
#define KEY_GENERATION		0x00f00000
#define RKEY_MARK		0x5a000000	/* rkey=distinct: bits that no lkey has */

#define ENTRIES_PER_PIECE	(EFA_CHUNK_PIECE / 8)
#define PIECES_PER_SLICE	64
#define ENTRIES_PER_SLICE	(PIECES_PER_SLICE * ENTRIES_PER_PIECE)
#define FAST_PAGES_MAX		65536

static uint32_t rkey_of(const struct efa *efa, uint32_t lkey)
{
	return efa->config.distinct_rkeys ? lkey | RKEY_MARK : lkey;
}

static struct efa_mr *mr_by_index(struct efa *efa, uint32_t key)
{
	return efa_table_get(&efa->mrs, key & KEY_INDEX);
}

struct efa_mr *efa_mr_by_lkey(struct efa *efa, uint32_t lkey)
{
	struct efa_mr *mr = mr_by_index(efa, lkey);

	return mr && mr->lkey == lkey ? mr : NULL;
}

struct efa_mr *efa_mr_by_rkey(struct efa *efa, uint32_t rkey)
{
	struct efa_mr *mr = mr_by_index(efa, rkey);

	return mr && mr->rkey == rkey ? mr : NULL;
}

void efa_mr_free(struct efa *efa, struct efa_mr *mr)
{
	if (mr->lkey)
		efa_table_del(&efa->mrs, mr->lkey & KEY_INDEX);
	efa->pages_used -= mr->page_count;
	mr->pd->refs--;
	free(mr->pages);
	free(mr);
}

/* ---- access ------------------------------------------------------------ */

bool efa_mr_allows(const struct efa_mr *mr, const struct efa_pd *pd, uint64_t addr, uint64_t len,
		   uint8_t permissions)
{
	return mr && mr->valid && mr->pd == pd && (mr->permissions & permissions) == permissions &&
	       addr >= mr->iova && addr - mr->iova <= mr->length &&
	       len <= mr->length - (addr - mr->iova);
}

/* DMA address of @addr and how many bytes from there, at most @len, are contiguous */
static uint64_t translate(const struct efa_mr *mr, uint64_t addr, size_t len, size_t *run)
{
	uint64_t page = 1ull << mr->page_shift, mask = page - 1;
	uint64_t n, dma;

	if (mr->phys) {
		*run = len;
		return addr;
	}
	n = ((addr & ~mask) - (mr->iova & ~mask)) >> mr->page_shift;
	dma = mr->pages[n] + (addr & mask);
	*run = page - (addr & mask);
	while (*run < len && mr->pages[n + 1] == mr->pages[n] + page) {
		*run += page;
		n++;
	}
	if (*run > len)
		*run = len;
	return dma;
}

static int fault(struct efa *efa, const struct efa_mr *mr, uint64_t addr, uint64_t dma)
{
	model_violation(&efa->dev, "MR 0x%x: address 0x%" PRIx64 " leads to 0x%" PRIx64
			", which is not memory of the guest: unmapped while registered?",
			mr->lkey, addr, dma);
	return -EFAULT;
}

int efa_mr_read(struct efa *efa, struct efa_mr *mr, uint64_t addr, void *buf, size_t len)
{
	size_t run;

	if (efa_dma_fails(efa, "dma_payload"))
		return -EFAULT;
	for (; len; len -= run, addr += run, buf = (char *)buf + run) {
		uint64_t dma = translate(mr, addr, len, &run);

		if (model_dma_read(&efa->dev, dma, buf, run))
			return fault(efa, mr, addr, dma);
	}
	return 0;
}

int efa_mr_write(struct efa *efa, struct efa_mr *mr, uint64_t addr, const void *buf, size_t len)
{
	size_t run;

	if (efa_dma_fails(efa, "dma_payload"))
		return -EFAULT;
	for (; len; len -= run, addr += run, buf = (const char *)buf + run) {
		uint64_t dma = translate(mr, addr, len, &run);

		if (model_dma_write(&efa->dev, dma, buf, run))
			return fault(efa, mr, addr, dma);
	}
	return 0;
}

/* ---- REG_MR ------------------------------------------------------------ */

static uint64_t record_addr(const struct efa_ctrl_buf *buf)
{
	return le32toh(buf->addr_lo) | (uint64_t)le32toh(buf->addr_hi) << 32;
}

static bool allowed_permissions(const struct efa *efa, uint8_t permissions)
{
	uint64_t caps = efa->config.device_caps;

	return !(permissions & ~EFA_MR_PERMISSIONS) &&
	       (!(permissions & EFA_MR_REMOTE_READ) || caps & EFA_DEV_CAP_RDMA_READ) &&
	       (!(permissions & EFA_MR_REMOTE_WRITE) || caps & EFA_DEV_CAP_RDMA_WRITE);
}

/* of a range that is not empty and does not wrap */
static uint64_t pages_of(uint64_t iova, uint64_t length, unsigned int shift)
{
	return ((iova + length - 1) >> shift) - (iova >> shift) + 1;
}

/* the list record or inline pages, as far as the command shows; a status */
static int check_list_form(struct efa *efa, const struct efa_job *job, uint64_t pages)
{
	const struct efa_reg_mr_cmd *cmd = (const void *)&job->cmd;
	const uint8_t *rest = (const uint8_t *)&cmd->u + sizeof(cmd->u.list);
	uint32_t length = le32toh(cmd->u.list.length);
	uint8_t form = job->cmd.hdr.flags & (EFA_AQ_CTRL_DATA | EFA_AQ_CTRL_INDIRECT);

	if (!form) {
		if (pages > EFA_REG_MR_INLINE_PAGES)
			return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
					  "%" PRIu64 " pages do not fit into the command", pages);
		return EFA_ADMIN_SUCCESS;
	}
	if (form == EFA_AQ_CTRL_DATA && length != pages * 8)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "direct list of %u bytes for %" PRIu64 " pages: want 8 bytes each",
				  length, pages);
	for (size_t i = 0; efa->config.mbz && i < sizeof(cmd->u) - sizeof(cmd->u.list); i++)
		if (rest[i])
			return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
					  "byte %zu behind the list record is not zero", i);
	return EFA_ADMIN_SUCCESS;
}

/* checks the command and fills @want with what it asks for; a status */
static int check_reg_mr(struct efa *efa, const struct efa_job *job, struct efa_mr *want)
{
	const struct efa_reg_mr_cmd *cmd = (const void *)&job->cmd;
	uint8_t shift_bits = EFA_REG_MR_PAGE_SHIFT, mbz = EFA_REG_MR_FLAGS_MBZ;
	uint32_t page_num = le32toh(cmd->page_num);

	if (efa->config.newest) {	/* pages above 2 GiB: one more bit */
		shift_bits |= shift_bits + 1;
		mbz &= ~shift_bits;
	}
	if (efa->config.mbz && cmd->flags & mbz)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED, "flags 0x%x", cmd->flags);
	want->pd = efa_pd_get(efa, le16toh(cmd->pd));
	if (!want->pd)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no PD %u",
					le16toh(cmd->pd));
	want->permissions = cmd->permissions;
	if (!allowed_permissions(efa, want->permissions))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "permissions 0x%x with device capabilities 0x%" PRIx64,
				  want->permissions, efa->config.device_caps);
	want->iova = le64toh(cmd->iova);
	want->length = le64toh(cmd->length);
	want->phys = cmd->flags & EFA_REG_MR_PHYS;
	want->page_shift = cmd->flags & shift_bits;
	want->valid = true;
	if (!want->length || want->iova + want->length - 1 < want->iova)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "length %" PRIu64 " at 0x%" PRIx64, want->length, want->iova);
	if (want->phys)
		return want->page_shift ?
		       efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "a page size without translation") : EFA_ADMIN_SUCCESS;
	/* a user can ask for this much */
	if (want->length > efa->config.max_mr_pages * 4096)
		return EFA_ADMIN_ILLEGAL_PARAM;
	if (!(efa->config.page_size_cap >> want->page_shift & 1))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "pages of 2^%u bytes are not in page_size_cap",
				  want->page_shift);
	want->page_count = pages_of(want->iova, want->length, want->page_shift);
	if (page_num && page_num != want->page_count)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "page_num %u, but the range has %" PRIu64, page_num,
				  want->page_count);
	return check_list_form(efa, job, want->page_count);
}

/* entries are taken over in place, so they are checked where they lie */
static int check_entries(struct efa *efa, const struct efa_job *job, const struct efa_mr *mr,
			 uint64_t from, uint64_t to)
{
	uint64_t mask = (1ull << mr->page_shift) - 1;
	uint64_t width = efa->config.dma_width;

	for (uint64_t i = from; i < to; i++) {
		uint64_t page = mr->pages[i] = le64toh(mr->pages[i]);

		if (page & mask || (width < 64 && page >> width))
			return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					  "page %" PRIu64 " is 0x%" PRIx64 ": not a DMA address "
					  "of a page of 2^%u bytes", i, page, mr->page_shift);
	}
	return EFA_ADMIN_SUCCESS;
}

static int read_entries(struct efa *efa, const struct efa_job *job, struct efa_mr *mr,
			uint64_t addr, uint64_t from, uint64_t n)
{
	if (efa_dma_fails(efa, "dma_list"))
		return EFA_ADMIN_ILLEGAL_PARAM;
	if (model_dma_read(&efa->dev, addr, mr->pages + from, n * 8))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "page list at 0x%" PRIx64 " is not memory of the guest", addr);
	return check_entries(efa, job, mr, from, from + n);
}

static int read_direct(struct efa *efa, struct efa_job *job, struct efa_mr *mr)
{
	const struct efa_reg_mr_cmd *cmd = (const void *)&job->cmd;
	uint64_t n = mr->page_count - job->done;
	int status;

	if (n > ENTRIES_PER_SLICE)
		n = ENTRIES_PER_SLICE;
	status = read_entries(efa, job, mr, record_addr(&cmd->u.list) + job->done * 8, job->done,
			      n);
	job->done += n;
	return status;
}

static uint64_t pieces(uint64_t entries)
{
	return (entries + ENTRIES_PER_PIECE - 1) / ENTRIES_PER_PIECE;
}

/* begins with the chunk that @record describes; a status */
static int enter_chunk(struct efa *efa, struct efa_job *job, const struct efa_ctrl_buf *record)
{
	uint64_t left = pieces(job->mr->page_count - job->done);
	uint64_t pointers = left < EFA_CHUNK_PTRS ? left : EFA_CHUNK_PTRS;
	uint32_t want = pointers * 8 + sizeof(*record);

	job->chunk_addr = record_addr(record);
	job->chunk_length = le32toh(record->length);
	job->chunk_piece = 0;
	if (job->chunk_length == want)
		return EFA_ADMIN_SUCCESS;
	return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
			  "chunk of %u bytes where %" PRIu64 " addresses are left: want %u",
			  job->chunk_length, left, want);
}

/* the record at the end of a chunk: the next one, or zero in the last */
static int leave_chunk(struct efa *efa, struct efa_job *job)
{
	static const struct efa_ctrl_buf none;
	uint64_t at = job->chunk_addr + job->chunk_length - sizeof(none);
	struct efa_ctrl_buf next;

	if (model_dma_read(&efa->dev, at, &next, sizeof(next)))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "chunk at 0x%" PRIx64 " is not memory of the guest",
				  job->chunk_addr);
	if (job->done < job->mr->page_count)
		return enter_chunk(efa, job, &next);
	if (memcmp(&next, &none, sizeof(none)))
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "the last chunk names a next one");
	return EFA_ADMIN_SUCCESS;
}

static int read_piece(struct efa *efa, struct efa_job *job, struct efa_mr *mr)
{
	uint64_t n = mr->page_count - job->done;
	uint64_t at = job->chunk_addr + 8 * job->chunk_piece;
	uint64_t addr;
	int status;

	if (n > ENTRIES_PER_PIECE)
		n = ENTRIES_PER_PIECE;
	if (model_dma_read(&efa->dev, at, &addr, sizeof(addr)))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "chunk at 0x%" PRIx64 " is not memory of the guest",
				  job->chunk_addr);
	status = read_entries(efa, job, mr, le64toh(addr), job->done, n);
	if (status)
		return status;
	job->done += n;
	job->chunk_piece++;
	if (job->chunk_piece == EFA_CHUNK_PTRS || job->done == mr->page_count)
		return leave_chunk(efa, job);
	return EFA_ADMIN_SUCCESS;
}

static int read_indirect(struct efa *efa, struct efa_job *job, struct efa_mr *mr)
{
	const struct efa_reg_mr_cmd *cmd = (const void *)&job->cmd;
	int status = EFA_ADMIN_SUCCESS;

	if (!job->done)
		status = enter_chunk(efa, job, &cmd->u.list);
	for (unsigned int i = 0; !status && i < PIECES_PER_SLICE && job->done < mr->page_count; i++)
		status = read_piece(efa, job, mr);
	return status;
}

static int read_list(struct efa *efa, struct efa_job *job, struct efa_mr *mr)
{
	const struct efa_reg_mr_cmd *cmd = (const void *)&job->cmd;

	if (job->cmd.hdr.flags & EFA_AQ_CTRL_INDIRECT)
		return read_indirect(efa, job, mr);
	if (job->cmd.hdr.flags & EFA_AQ_CTRL_DATA)
		return read_direct(efa, job, mr);
	job->done = mr->page_count;
	memcpy(mr->pages, cmd->u.pages, mr->page_count * 8);
	return check_entries(efa, job, mr, 0, mr->page_count);
}

/* a copy of @want on the adapter's books, not in the table yet */
static struct efa_mr *new_mr(struct efa *efa, const struct efa_mr *want)
{
	struct efa_mr *mr;

	if (want->page_count > efa->config.total_pages - efa->pages_used)
		return NULL;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return NULL;
	*mr = *want;
	mr->pages = malloc(mr->page_count * 8 + 8);
	if (!mr->pages) {
		free(mr);
		return NULL;
	}
	efa->pages_used += mr->page_count;
	mr->pd->refs++;
	return mr;
}

/* gives it its keys; a status */
static int publish(struct efa *efa, struct efa_mr *mr)
{
	int index = efa_table_add(&efa->mrs, mr);

	if (index < 0)
		return EFA_ADMIN_RESOURCE_ALLOC;
	mr->lkey = index | (efa->mr_generation++ * (KEY_INDEX + 1) & KEY_GENERATION);
	mr->rkey = rkey_of(efa, mr->lkey);
	return EFA_ADMIN_SUCCESS;
}

static int begin_reg_mr(struct efa *efa, struct efa_job *job)
{
	struct efa_mr want = { 0 };
	int status = check_reg_mr(efa, job, &want);

	if (status)
		return status;
	job->mr = new_mr(efa, &want);
	return job->mr ? EFA_ADMIN_SUCCESS : EFA_ADMIN_RESOURCE_ALLOC;
}

int efa_cmd_reg_mr(struct efa *efa, struct efa_job *job)
{
	struct efa_reg_mr_resp *resp = (void *)&job->resp;
	int status = EFA_ADMIN_SUCCESS;

	if (!job->mr)
		status = begin_reg_mr(efa, job);
	if (!status && job->done < job->mr->page_count)
		status = read_list(efa, job, job->mr);
	if (!status && job->done < job->mr->page_count)
		return EFA_JOB_MORE;
	if (!status)
		status = publish(efa, job->mr);
	if (status) {
		if (job->mr)
			efa_mr_free(efa, job->mr);
		return status;
	}
	resp->lkey = htole32(job->mr->lkey);
	resp->rkey = htole32(job->mr->rkey);
	/* choice: three different ids, so that a mix-up shows */
	resp->ic_validity = efa->config.ic_validity;
	resp->recv_ic = efa->config.ic_validity & EFA_MR_IC_RECV ? 1 : 0;
	resp->rdma_read_ic = efa->config.ic_validity & EFA_MR_IC_RDMA_READ ? 2 : 0;
	resp->rdma_recv_ic = efa->config.ic_validity & EFA_MR_IC_RDMA_RECV ? 3 : 0;
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_dereg_mr(struct efa *efa, struct efa_job *job)
{
	const struct efa_dereg_mr_cmd *cmd = (const void *)&job->cmd;
	struct efa_mr *mr = efa_mr_by_lkey(efa, le32toh(cmd->lkey));

	if (!mr)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no MR with lkey 0x%x", le32toh(cmd->lkey));
	efa_mr_free(efa, mr);
	return EFA_ADMIN_SUCCESS;
}

/* ---- registration by WQE ----------------------------------------------- */

int efa_cmd_alloc_mr(struct efa *efa, struct efa_job *job)
{
	const struct efa_alloc_mr_cmd *cmd = (const void *)&job->cmd;
	struct efa_alloc_mr_resp *resp = (void *)&job->resp;
	struct efa_mr want = {
		.pd = efa_pd_get(efa, le16toh(cmd->pd)),
		.max_pages = le32toh(cmd->max_pages),
	};
	struct efa_mr *mr;
	int status;

	if (!want.pd)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no PD %u",
					le16toh(cmd->pd));
	if (!want.max_pages || want.max_pages > efa->config.max_mr_pages)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "max_pages %u: want 1 to %" PRIu64, want.max_pages,
				  efa->config.max_mr_pages);
	/* choice: a list that one WQE brings is read in one go, so not without end */
	if (want.max_pages > FAST_PAGES_MAX)
		return EFA_ADMIN_RESOURCE_ALLOC;
	want.page_count = want.max_pages;
	mr = new_mr(efa, &want);
	status = mr ? publish(efa, mr) : EFA_ADMIN_RESOURCE_ALLOC;
	if (status) {
		if (mr)
			efa_mr_free(efa, mr);
		return status;
	}
	resp->lkey = htole32(mr->lkey);
	resp->rkey = htole32(mr->rkey);
	return EFA_ADMIN_SUCCESS;
}

/* the MR that the key names whatever its generation, if WQEs of @pd may change it */
static struct efa_mr *fast_mr(struct efa *efa, const struct efa_pd *pd, uint32_t key)
{
	struct efa_mr *mr = mr_by_index(efa, key);

	if (key & ~EFA_LKEY_BITS || !mr || !mr->max_pages || mr->pd != pd)
		return NULL;
	return mr;
}

static int read_fast_list(struct efa *efa, struct efa_mr *mr, const struct efa_fast_reg *reg,
			  uint64_t pages)
{
	uint64_t mask = (1ull << mr->page_shift) - 1;

	if (reg->flags & 0x20) {
		if (model_dma_read(&efa->dev, le64toh(reg->list), mr->pages, pages * 8))
			return -EFAULT;
	} else {
		mr->pages[0] = reg->list;
	}
	for (uint64_t i = 0; i < pages; i++) {
		mr->pages[i] = le64toh(mr->pages[i]);
		if (mr->pages[i] & mask)
			return -EINVAL;
	}
	return 0;
}

enum efa_io_status efa_mr_fast_reg(struct efa *efa, struct efa_pd *pd,
				   const struct efa_fast_reg *reg)
{
	uint32_t key = le32toh(reg->lkey);
	struct efa_mr *mr = fast_mr(efa, pd, key);
	uint64_t iova = le64toh(reg->iova), length = le64toh(reg->length), pages;
	unsigned int shift = reg->flags & EFA_REG_MR_PAGE_SHIFT;
	bool list = reg->flags & 0x20;

	if (!mr || mr->valid)
		return EFA_IO_LOCAL_INVALID_LKEY;
	if (!length || length > (uint64_t)mr->max_pages << shift ||
	    iova + length - 1 < iova || !(efa->config.page_size_cap >> shift & 1) ||
	    !allowed_permissions(efa, reg->permissions))
		return EFA_IO_LOCAL_BAD_LENGTH;
	pages = pages_of(iova, length, shift);
	if (pages > mr->max_pages || (!list && pages > 1))
		return EFA_IO_LOCAL_BAD_LENGTH;
	mr->page_shift = shift;
	if (read_fast_list(efa, mr, reg, pages))
		return EFA_IO_LOCAL_INVALID_LKEY;
	mr->iova = iova;
	mr->length = length;
	mr->permissions = reg->permissions;
	mr->lkey = key;
	mr->rkey = rkey_of(efa, key);
	mr->valid = true;
	return EFA_IO_OK;
}

enum efa_io_status efa_mr_fast_invalidate(struct efa *efa, struct efa_pd *pd, uint32_t lkey)
{
	struct efa_mr *mr = fast_mr(efa, pd, lkey & EFA_LKEY_BITS);

	if (!mr || !mr->valid || mr->lkey != (lkey & EFA_LKEY_BITS))
		return EFA_IO_LOCAL_INVALID_LKEY;
	mr->valid = false;
	return EFA_IO_OK;
}
