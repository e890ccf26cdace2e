// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of a queue pair: doorbells, express windows, and WQEs taken apart. A WQE
 * is copied once when it is taken; its buffers are read when they are needed.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ionic_rdma.h"

#define FLAGS_SEND	(IONIC_WQE_FENCE | IONIC_WQE_SOLICITED | IONIC_WQE_INLINE | \
			 IONIC_WQE_SIGNALED | IONIC_WQE_COLOR | IONIC_WQE_SPEC)
#define SLOTS_PER_POLL	64u

static uint64_t slot_off(const struct ionic_wq *wq, unsigned int slot)
{
	return (uint64_t)slot << wq->stride_log2;
}

/* the oldest slot that must not be written again */
static uint16_t oldest(const struct ionic_qp *qp, const struct ionic_wq *wq)
{
	return wq == &qp->sq ? qp->req.head : qp->rq.next;
}

static const char *name_of(const struct ionic_qp *qp, const struct ionic_wq *wq)
{
	return wq == &qp->sq ? "send" : "receive";
}

/* may the host post now? */
static bool takes_posts(const struct ionic_qp *qp, const struct ionic_wq *wq)
{
	return wq == &qp->sq ? qp->state >= IONIC_QPS_RTS : qp->state >= IONIC_QPS_INIT;
}

/* and is what it posts looked at? In an error state the host flushes by itself. */
static bool listens(const struct ionic_qp *qp, const struct ionic_wq *wq)
{
	return takes_posts(qp, wq) && qp->state != IONIC_QPS_ERR;
}

void ionic_wq_doorbell(struct ionic *ionic, struct ionic_qp *qp, struct ionic_wq *wq,
		       uint64_t value)
{
	unsigned int index = HW_GET(IONIC_DB_INDEX, value), mask = ionic_wq_mask(wq);

	if (!wq->cq || value & ~(IONIC_DB_QID | IONIC_DB_INDEX) || index > mask) {
		model_violation(&ionic->dev, "doorbell 0x%016" PRIx64 " of the %s queue of QP %u: "
				"index must be 0 to %u and other bits 0", value, name_of(qp, wq),
				qp->id, mask);
		return;
	}
	/* the host rings all the same */
	if (qp->state == IONIC_QPS_ERR)
		return;
	if (qp->state == IONIC_QPS_SQE && wq == &qp->sq) {
		ionic_requester_skip(qp, index);
		return;
	}
	if (!takes_posts(qp, wq)) {
		if (ionic_rdma_stray(ionic, qp->pid))
			model_violation(&ionic->dev, "doorbell of the %s queue of QP %u in state "
					"%u, too early", name_of(qp, wq), qp->id, qp->state);
		return;
	}
	if (((wq->posted - oldest(qp, wq)) & mask) + ((index - wq->posted) & mask) > mask) {
		model_violation(&ionic->dev, "doorbell of the %s queue of QP %u: index %u after "
				"%u overruns the ring, whose oldest entry is %u", name_of(qp, wq),
				qp->id, index, wq->posted, oldest(qp, wq));
		return;
	}
	wq->posted = index;
	ionic_qp_activate(ionic, qp);
}

/* ---- express windows -------------------------------------------------------------- */

static uint64_t express_word(const struct ionic_qp *qp, const struct ionic_wq *wq,
			     unsigned int slot)
{
	uint64_t type = wq == &qp->sq ? IONIC_DB_RDMA_SQ : IONIC_DB_RDMA_RQ;

	return HW_PREP(IONIC_DB_INDEX, (uint64_t)((slot + 1) & ionic_wq_mask(wq))) |
	       HW_PREP(IONIC_DB_SCHED, (uint64_t)IONIC_DB_SCHED_EXPRESS) |
	       HW_PREP(IONIC_DB_QID, (uint64_t)qp->id) | HW_PREP(IONIC_DB_QTYPE, type);
}

/* a slot with a good word was found; it must be the next one of a queue that takes it */
static void rung(struct ionic *ionic, struct ionic_qp *qp, struct ionic_wq *wq, unsigned int slot)
{
	unsigned int mask = ionic_wq_mask(wq);

	ionic->rdma->tally.doorbells_express++;
	/* one that does not listen stays where it is, however often it is rung */
	if (listens(qp, wq) && slot != wq->posted) {
		model_violation(&ionic->dev, "express doorbell of slot %u of the %s queue of QP "
				"%u, whose next is %u", slot, name_of(qp, wq), qp->id, wq->posted);
		return;
	}
	ionic_wq_doorbell(ionic, qp, wq, HW_PREP(IONIC_DB_QID, (uint64_t)qp->id) |
			  HW_PREP(IONIC_DB_INDEX, (uint64_t)((slot + 1) & mask)));
}

static bool contains(const struct ionic_wq *wq, uint64_t off)
{
	return wq->mem.cmb && off >= wq->mem.pages[0] &&
	       off - wq->mem.pages[0] < wq->mem.length;
}

/* the queue whose ring has @off of the plain window; NULL if there is none */
static struct ionic_wq *owner(struct ionic *ionic, uint64_t off, struct ionic_qp **qp)
{
	for (unsigned int i = 0; i < ionic->config.qps; i++) {
		*qp = ionic->rdma->qps[i];
		if (!*qp)
			continue;
		if (contains(&(*qp)->sq, off))
			return &(*qp)->sq;
		if (contains(&(*qp)->rq, off))
			return &(*qp)->rq;
	}
	return NULL;
}

void ionic_wq_express(struct ionic *ionic, unsigned int window, uint64_t off, unsigned int size)
{
	struct ionic_qp *qp;
	struct ionic_wq *wq = ionic->rdma ? owner(ionic, off, &qp) : NULL;
	uint64_t stride, at, word;

	if (!wq || wq->window != window) {
		/* pages of a queue that was reset stay mapped until its process lets go */
		if (!ionic->rdma || !ionic->rdma->excused)
			model_violation(&ionic->dev, "store to express window %u at 0x%" PRIx64
					", where %s", window, off,
					wq ? "a queue of another stride lives" : "no queue lives");
		return;
	}
	stride = 1ull << wq->stride_log2;
	at = off - wq->mem.pages[0];
	if ((at + size) % stride)
		return;
	at = at + size - sizeof(word);
	memcpy(&word, ionic->dev.bar[IONIC_BAR_CMB].mem + wq->mem.pages[0] + at, sizeof(word));
	if (word == express_word(qp, wq, at / stride))
		rung(ionic, qp, wq, at / stride);
	else
		model_violation(&ionic->dev, "express doorbell 0x%016" PRIx64 " in slot %" PRIu64
				" of the %s queue of QP %u, must be 0x%016" PRIx64, word,
				at / stride, name_of(qp, wq), qp->id,
				express_word(qp, wq, at / stride));
}

/* one slot of a mapped window; true if it was written */
static bool poll_slot(struct ionic *ionic, struct ionic_qp *qp, struct ionic_wq *wq)
{
	uint8_t *mem = ionic->dev.bar[IONIC_BAR_CMB].mem;
	uint64_t at = wq->mem.pages[0] + slot_off(wq, wq->posted), stride = 1ull << wq->stride_log2;
	uint8_t *slot = mem + (uint64_t)wq->window * IONIC_CMB_WINDOW + at;
	uint64_t *word = (uint64_t *)(slot + stride - sizeof(*word));
	uint64_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	if (!value)
		return false;
	if (value != express_word(qp, wq, wq->posted)) {
		model_violation(&ionic->dev, "express doorbell 0x%016" PRIx64 " in slot %u of the "
				"%s queue of QP %u, must be 0x%016" PRIx64, value, wq->posted,
				name_of(qp, wq), qp->id, express_word(qp, wq, wq->posted));
		__atomic_store_n(word, 0, __ATOMIC_RELAXED);
		return false;
	}
	/* one memory, though the guest sees two: what is in the window is in the plain one too */
	memcpy(mem + at, slot, stride);
	/* the next lap is seen by its word being there again */
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	rung(ionic, qp, wq, wq->posted);
	return true;
}

static bool poll_queue(struct ionic *ionic, struct ionic_qp *qp, struct ionic_wq *wq)
{
	bool any = false;

	if (!ionic->dev.polled || !wq->mem.cmb || !wq->window || !listens(qp, wq))
		return false;
	for (unsigned int i = 0; i < SLOTS_PER_POLL && poll_slot(ionic, qp, wq); i++)
		any = true;
	return any;
}

bool ionic_wq_poll(struct ionic *ionic)
{
	bool any = false;

	for (unsigned int i = 0; i < ionic->config.qps && ionic->rdma->express; i++) {
		struct ionic_qp *qp = ionic->rdma->qps[i];

		if (!qp)
			continue;
		any |= poll_queue(ionic, qp, &qp->sq);
		any |= poll_queue(ionic, qp, &qp->rq);
	}
	return any;
}

/* ---- WQEs ------------------------------------------------------------------------- */

/* copies the slot at wq->next and goes on to the next one */
static int take(struct ionic *ionic, struct ionic_wq *wq, uint8_t *copy)
{
	int err = ionic_mem_read(ionic, &wq->mem, slot_off(wq, wq->next), copy,
				 1ull << wq->stride_log2, "WQE");

	wq->next = (wq->next + 1) & ionic_wq_mask(wq);
	return err;
}

/* the adapter is not told which queues give the end of their slots to doorbells */
static size_t room(const struct ionic_wq *wq)
{
	return 1ul << wq->stride_log2;
}

static uint64_t sum(const struct ionic_sgl *sgl)
{
	uint64_t length = 0;

	for (unsigned int i = 0; i < sgl->count; i++)
		length += be32toh(sgl->sge[i].length);
	return length;
}

/* do the short lengths of the spec format say what the SGEs say? */
static bool spec_agrees(const uint8_t *wqe, const struct ionic_sgl *sgl, unsigned int format)
{
	const union ionic_spec *spec = (const union ionic_spec *)(wqe + IONIC_WQE_PAYLOAD);

	for (unsigned int i = 0; i < sgl->count; i++) {
		uint32_t length = format == IONIC_SPEC32 ? be32toh(spec->length32[i]) :
							   be16toh(spec->length16[i]);

		if (length != be32toh(sgl->sge[i].length))
			return false;
	}
	return true;
}

/* NULL, or what is wrong; @length: of the message, as the WQE says */
static const char *parse_sgl(const struct ionic_wq *wq, const uint8_t *wqe, uint32_t length,
			     struct ionic_sgl *sgl)
{
	const struct ionic_wqe_header *header = (const struct ionic_wqe_header *)wqe;
	unsigned int format = HW_GET(IONIC_WQE_SPEC, be16toh(header->flags));
	size_t at = format ? IONIC_WQE_SPEC_SGES : IONIC_WQE_PAYLOAD;

	*sgl = (struct ionic_sgl){
		.count = header->num_sge, .length = length,
		.sge = (const struct ionic_sge *)(wqe + at),
	};
	if (format > IONIC_SPEC16 || (format && !wq->spec))
		return "has SGEs in a format that the queue was not made for";
	if (at + sgl->count * sizeof(*sgl->sge) > room(wq) ||
	    (format == IONIC_SPEC32 && sgl->count > IONIC_SPEC32_MAX) ||
	    (format == IONIC_SPEC16 && sgl->count > IONIC_SPEC16_MAX))
		return "has more SGEs than there is room for";
	if (format && !spec_agrees(wqe, sgl, format))
		return "has lengths in front that its SGEs do not have";
	return sum(sgl) == length ? NULL : "has a length that is not the sum of its SGEs";
}

static const char *parse_inline(const struct ionic_wq *wq, const uint8_t *wqe, uint32_t length,
				struct ionic_sgl *sgl)
{
	const struct ionic_wqe_header *header = (const struct ionic_wqe_header *)wqe;

	*sgl = (struct ionic_sgl){ .length = length, .data = wqe + IONIC_WQE_PAYLOAD };
	if (header->num_sge)
		return "is inline and has SGEs";
	return length > room(wq) - IONIC_WQE_PAYLOAD ? "has more inline data than fits" : NULL;
}

/* opcodes: what they are in both numberings */
struct opcode {
	uint8_t v1, v2;
	enum ionic_op_kind kind;
	bool imm, inv, add;
};

static const struct opcode opcodes[] = {
	{ IONIC_V1_SEND, IONIC_V2_SEND, IONIC_OP_KIND_SEND, false, false, false },
	{ IONIC_V1_SEND_INV, IONIC_V2_SEND_INV, IONIC_OP_KIND_SEND, false, true, false },
	{ IONIC_V1_SEND_IMM, IONIC_V2_SEND_IMM, IONIC_OP_KIND_SEND, true, false, false },
	{ IONIC_V1_READ, IONIC_V2_READ, IONIC_OP_KIND_READ, false, false, false },
	{ IONIC_V1_WRITE, IONIC_V2_WRITE, IONIC_OP_KIND_WRITE, false, false, false },
	{ IONIC_V1_WRITE_IMM, IONIC_V2_WRITE_IMM, IONIC_OP_KIND_WRITE, true, false, false },
	{ IONIC_V1_CMP_SWAP, IONIC_V2_CMP_SWAP, IONIC_OP_KIND_ATOMIC, false, false, false },
	{ IONIC_V1_FETCH_ADD, IONIC_V2_FETCH_ADD, IONIC_OP_KIND_ATOMIC, false, false, true },
	{ IONIC_V1_REG_MR, IONIC_V2_REG_MR, IONIC_OP_KIND_REG_MR, false, false, false },
	{ IONIC_V1_LOCAL_INV, IONIC_V2_LOCAL_INV, IONIC_OP_KIND_LOCAL_INV, false, false, false },
	{ IONIC_V1_BIND_MW, IONIC_V2_BIND_MW, IONIC_OP_KIND_BIND_MW, false, false, false },
};

static const struct opcode *find_opcode(const struct ionic *ionic, unsigned int op)
{
	for (unsigned int i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		if (op == (ionic->config.rdma_version < 2 ? opcodes[i].v1 : opcodes[i].v2))
			return &opcodes[i];
	return NULL;
}

static uint64_t join(__be32 high, __be32 low)
{
	return (uint64_t)be32toh(high) << 32 | be32toh(low);
}

static const char *parse_common(const struct ionic_qp *qp, struct ionic_op *op, uint16_t flags)
{
	const struct ionic_wqe_send *wqe = (const struct ionic_wqe_send *)op->wqe;
	uint32_t length = be32toh(wqe->length);

	op->ah = be32toh(wqe->ah_addr_hi);
	op->dest_qpn = be32toh(wqe->qpn_addr_lo);
	op->qkey = be32toh(wqe->qkey_rkey);
	op->remote_addr = join(wqe->ah_addr_hi, wqe->qpn_addr_lo);
	op->rkey = be32toh(wqe->qkey_rkey);
	if (flags & IONIC_WQE_INLINE)
		return parse_inline(&qp->sq, op->wqe, length, &op->sgl);
	return parse_sgl(&qp->sq, op->wqe, length, &op->sgl);
}

/* v1 has an SGE where v2 has an address; its key lies elsewhere */
static const char *parse_atomic(const struct ionic *ionic, struct ionic_op *op)
{
	const struct ionic_wqe_atomic *wqe = (const struct ionic_wqe_atomic *)op->wqe;
	const uint32_t size = sizeof(uint64_t);

	op->remote_addr = join(wqe->addr_hi, wqe->addr_lo);
	op->rkey = be32toh(wqe->rkey);
	op->swap_add = join(wqe->swap_add_hi, wqe->swap_add_lo);
	op->compare = join(wqe->compare_hi, wqe->compare_lo);
	if (wqe->header.num_sge != 1)
		return "is atomic and has not one SGE";
	op->sgl = (struct ionic_sgl){ .count = 1, .length = size };
	if (ionic->config.rdma_version < 2) {
		op->sgl.sge = &wqe->local.sge;
		return be32toh(wqe->local.sge.length) == size ? NULL :
		       "is atomic and its SGE has not 8 bytes";
	}
	op->sgl.own = (struct ionic_sge){
		.addr = wqe->local.addr, .length = htobe32(size), .key = wqe->lkey,
	};
	op->sgl.sge = &op->sgl.own;
	return NULL;
}

static const char *parse_body(struct ionic *ionic, const struct ionic_qp *qp, struct ionic_op *op,
			      uint16_t flags)
{
	if (flags & IONIC_WQE_INLINE && op->kind != IONIC_OP_KIND_SEND &&
	    op->kind != IONIC_OP_KIND_WRITE)
		return "is inline but sends nothing";
	switch (op->kind) {
	case IONIC_OP_KIND_SEND:
	case IONIC_OP_KIND_WRITE:
	case IONIC_OP_KIND_READ:
		return parse_common(qp, op, flags);
	case IONIC_OP_KIND_ATOMIC:
		return parse_atomic(ionic, op);
	default:
		op->sgl = (struct ionic_sgl){ 0 };
		return NULL;
	}
}

static void count(struct ionic *ionic, const struct ionic_op *op, uint16_t flags)
{
	struct ionic_rdma_tally *tally = &ionic->rdma->tally;

	tally->wqes_inline += !!(flags & IONIC_WQE_INLINE);
	tally->wqes_spec += !!(flags & IONIC_WQE_SPEC);
	switch (op->kind) {
	case IONIC_OP_KIND_SEND:
		tally->wqes_send++;
		break;
	case IONIC_OP_KIND_WRITE:
		tally->wqes_write++;
		break;
	case IONIC_OP_KIND_READ:
		tally->wqes_read++;
		break;
	case IONIC_OP_KIND_ATOMIC:
		tally->wqes_atomic++;
		break;
	default:
		tally->wqes_local++;
	}
}

void ionic_wq_take_send(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op)
{
	const struct ionic_wqe_header *header;
	unsigned int slot = qp->sq.next;
	const struct opcode *opcode;
	const char *why = NULL;
	uint16_t flags;

	*op = (struct ionic_op){ .wqe = qp->req.copies + slot_off(&qp->sq, slot) };
	if (take(ionic, &qp->sq, op->wqe)) {
		op->status = IONIC_IO_LOCAL_QP_OP;
		return;
	}
	header = (const struct ionic_wqe_header *)op->wqe;
	flags = be16toh(header->flags);
	opcode = find_opcode(ionic, header->op);
	if (!opcode) {
		model_violation(&ionic->dev, "WQE %u of QP %u: opcode 0x%02x", slot, qp->id,
				header->op);
		op->status = IONIC_IO_LOCAL_QP_OP;
		return;
	}
	op->kind = opcode->kind;
	op->imm = opcode->imm;
	op->inv = opcode->inv;
	op->add = opcode->add;
	op->fence = flags & IONIC_WQE_FENCE;
	op->solicited = flags & IONIC_WQE_SOLICITED;
	op->imm_key = header->imm_key_length;
	if (le64toh(header->id) != slot)
		why = "has another slot's id";
	else if (flags & ~FLAGS_SEND)
		why = "has flags that do not exist";
	else
		why = parse_body(ionic, qp, op, flags);
	if (why) {
		model_violation(&ionic->dev, "WQE %u of QP %u (opcode 0x%02x) %s", slot, qp->id,
				header->op, why);
		op->status = IONIC_IO_LOCAL_QP_OP;
	} else if (op->sgl.length > IONIC_MSG_MAX) {
		op->status = IONIC_IO_LOCAL_LEN;
	}
	count(ionic, op, flags);
}

bool ionic_wq_take_recv(struct ionic *ionic, struct ionic_qp *qp, enum ionic_io_status *status)
{
	struct ionic_recv *recv = &qp->rsp.recv;
	const struct ionic_wqe_header *header = (const struct ionic_wqe_header *)recv->wqe;
	unsigned int slot = qp->rq.next;
	const char *why;

	*status = IONIC_IO_OK;
	/* what is in a mapped window is posted, though nobody has looked yet */
	if (qp->rq.next == qp->rq.posted && !poll_queue(ionic, qp, &qp->rq))
		return false;
	recv->live = true;
	recv->done = 0;
	recv->id = slot;
	ionic->rdma->tally.wqes_recv++;
	if (take(ionic, &qp->rq, recv->wqe)) {
		*status = IONIC_IO_LOCAL_QP_OP;
		return true;
	}
	recv->id = le64toh(header->id);
	why = parse_sgl(&qp->rq, recv->wqe, be32toh(header->imm_key_length), &recv->sgl);
	if (recv->id > ionic_wq_mask(&qp->rq))
		why = "has an id that is not below the ring's size";
	else if (header->op || be16toh(header->flags) & ~IONIC_WQE_SPEC)
		why = "has an opcode or flags";
	if (why) {
		model_violation(&ionic->dev, "receive WQE %u of QP %u %s", slot, qp->id, why);
		*status = IONIC_IO_LOCAL_QP_OP;
	}
	return true;
}

/* ---- buffers ---------------------------------------------------------------------- */

typedef int (*copy_fn)(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key,
		       uint64_t addr, void *buf, size_t len);

static int read_part(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		     void *buf, size_t len)
{
	return ionic_mr_read(ionic, qp, key, addr, buf, len, 0);
}

static int write_part(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		      void *buf, size_t len)
{
	return ionic_mr_write(ionic, qp, key, addr, buf, len, IONIC_MR_LOCAL_WRITE);
}

/* the SGEs as one run of bytes, of which [@off, @off + @len) is copied */
static enum ionic_io_status copy(struct ionic *ionic, const struct ionic_qp *qp,
				 const struct ionic_sgl *sgl, uint64_t off, uint8_t *buf,
				 size_t len, copy_fn part_fn)
{
	for (unsigned int i = 0; i < sgl->count && len; i++) {
		const struct ionic_sge *sge = &sgl->sge[i];
		uint64_t size = be32toh(sge->length);
		size_t part;

		if (off >= size) {
			off -= size;
			continue;
		}
		part = size - off < len ? size - off : len;
		if (part_fn(ionic, qp, be32toh(sge->key), be64toh(sge->addr) + off, buf, part))
			return IONIC_IO_LOCAL_PROT;
		buf += part;
		len -= part;
		off = 0;
	}
	return len ? IONIC_IO_LOCAL_LEN : IONIC_IO_OK;
}

enum ionic_io_status ionic_sgl_gather(struct ionic *ionic, const struct ionic_qp *qp,
				      const struct ionic_sgl *sgl, uint64_t off, void *buf,
				      size_t len)
{
	if (!sgl->data)
		return copy(ionic, qp, sgl, off, buf, len, read_part);
	memcpy(buf, sgl->data + off, len);
	return IONIC_IO_OK;
}

enum ionic_io_status ionic_sgl_scatter(struct ionic *ionic, const struct ionic_qp *qp,
				       const struct ionic_sgl *sgl, uint64_t off, const void *buf,
				       size_t len)
{
	/* write_part() only reads from it */
	return copy(ionic, qp, sgl, off, (uint8_t *)(uintptr_t)buf, len, write_part);
}
