/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * EFA completion queue: one ring, or several of the same size back to back (sub-CQs), in
 * memory that the device writes.
 *
 * An entry is new when its phase bit has the value of the lap, which each sub-CQ counts
 * for itself. A poll looks for a run of new entries, passes one fence, and
 * then reads them all. The consumer doorbell counts the entries of all sub-CQs together.
 *
 * Whose a completion is, a table says that the caller keeps with dvq_efa_cq_attach() and
 * dvq_efa_cq_detach(). An entry whose QP is not there, whose id has another generation,
 * or whose id is not out, belongs to a queue that is gone: it is taken off the ring,
 * counted in @stale and not reported. An unsolicited write has no id: while one to its
 * number waits, no QP is attached.
 *
 * One thread polls, attaches and detaches at a time.
 */
#ifndef DVQ_EFA_CQ_H
#define DVQ_EFA_CQ_H

#include <dvq/efa/rq.h>

#define DVQ_EFA_MAX_SUB_CQS	16

/*
 * A row of the table: whose the completions of a QP number are. The key of a side has the
 * QP number and the flags of the common entry, where an entry has them in its first word: so
 * that is recognised by one comparison. DVQ_EFA_KEY_* are besides, where an entry has its id.
 */
struct dvq_efa_cq_qp {
	uint64_t send_key;	/* DVQ_EFA_NO_QP: the row is free */
	uint64_t send;		/* address of the struct dvq_efa_ids, or 0 */
	uint64_t recv_key;
	uint64_t recv;
};

#define DVQ_EFA_ROW_LOG2	5
#define DVQ_EFA_NO_QP		(~(uint64_t)0)
#define DVQ_EFA_KEY_SLOW	((uint64_t)1)	/* the side has no pool, or is not there */
#define DVQ_EFA_KEY_WIDE	((uint64_t)2)	/* its ids have 64 bits */

/**
 * struct dvq_efa_sub_cq - one ring of a completion queue
 * @next: byte offset of the next entry from the start of the first ring
 * @phase: phase bit that a new entry has
 */
struct dvq_efa_sub_cq {
	uint32_t next;
	uint32_t phase;
};

/**
 * struct dvq_efa_cq - a completion queue
 * @version: DVQ_EFA_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @ring: address of the first sub-CQ's first entry, read-only. May be changed to another
 *	mapping of the same memory
 * @doorbell: address of the doorbell, write-only; 0: there is none
 * @bytes: of one sub-CQ, a power of two
 * @entry_size: 16 or 32
 * @sub_cqs: how many
 * @next_sub: where the next poll begins
 * @consumed: entries taken from all sub-CQs
 * @events: completion events taken
 * @qps: address of the table of struct dvq_efa_cq_qp; 0: nothing is looked up
 * @qp_mask: rows of the table - 1
 * @stale: entries dropped
 * @sub: the sub-CQs
 * @cq_num: the device's number
 * @reserved: zero
 * @uid: the kernel's name for the CQ
 * @ring_map: start of the ring's mapping, for closing; 0: the ring is the caller's memory
 * @ring_map_length: its length
 * @db_map: start of the doorbell's mapping
 * @db_map_length: its length
 */
struct dvq_efa_cq {
	uint32_t version;
	uint32_t size;
	uint64_t ring;
	uint64_t doorbell;
	uint32_t bytes;
	uint32_t entry_size;
	uint32_t sub_cqs;
	uint32_t next_sub;
	uint32_t consumed;
	uint32_t events;
	uint64_t qps;
	uint32_t qp_mask;
	uint32_t stale;
	struct dvq_efa_sub_cq sub[DVQ_EFA_MAX_SUB_CQS];
	uint32_t cq_num;
	uint32_t reserved;
	uint64_t uid;
	uint64_t ring_map;
	uint64_t ring_map_length;
	uint64_t db_map;
	uint64_t db_map_length;
};

/**
 * struct dvq_efa_wc - one completion
 * @wr_id: what was posted; 0 if no receive was used (see dvq_efa_wc_unsolicited());
 *	without a table the request id as the device gave it
 * @req_id: low bits of the request id
 * @status: enum efa_io_status; dvq_efa_wc_status() is the verbs' value
 * @flags: EFA_CQE_*; dvq_efa_wc_opcode() and others take them apart
 * @qp_num: local QP number
 * @length_lo: low bits of the length
 * @ah: the device's AH number of the sender, EFA_AH_UNKNOWN
 * @src_qp: sender's QP number
 * @imm: a number; the verbs' imm_data is its big-endian form
 * @byte_len: bytes received
 * @has_sgid: @sgid is valid: the sender has no AH here
 * @sgid: the sender's GID, in network order, if the CQ was created to tell it
 *
 * From @req_id to @imm it is the device's entry as it stands. A send's completion has
 * zeros from @ah on.
 */
struct dvq_efa_wc {
	uint64_t wr_id;
	uint16_t req_id;
	uint8_t status;
	uint8_t flags;
	uint16_t qp_num;
	uint16_t length_lo;
	uint16_t ah;
	uint16_t src_qp;
	uint32_t imm;
	uint32_t byte_len;
	uint32_t has_sgid;
	uint64_t sgid[2];
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_cq_qp) == 1 << DVQ_EFA_ROW_LOG2, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_cq, qps) == 48, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_cq, sub) == 64, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_cq) == 240, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_wc, req_id) == 8, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_wc, ah) == 16, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_wc, byte_len) == 24, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_wc) == 48, "layout");

/* word 0 of an entry: id 15:0, status 23:16, flags 31:24, QP 47:32 */
#define DVQ_EFA_C0_FLAGS	24
#define DVQ_EFA_C0_QPN		32
#define DVQ_EFA_C0_SEND		((uint64_t)EFA_CQE_QTYPE_SEND << 1 << DVQ_EFA_C0_FLAGS)
#define DVQ_EFA_C0_RECV		((uint64_t)EFA_CQE_QTYPE_RECV << 1 << DVQ_EFA_C0_FLAGS)
/* what is compared with a key of the table */
#define DVQ_EFA_C0_SEND_KEY	((uint64_t)0xffff << DVQ_EFA_C0_QPN |			\
				 (uint64_t)EFA_CQE_QTYPE << DVQ_EFA_C0_FLAGS)
#define DVQ_EFA_C0_RECV_KEY	(DVQ_EFA_C0_SEND_KEY |					\
				 (uint64_t)(EFA_CQE_OP | EFA_CQE_UNSOLICITED) << DVQ_EFA_C0_FLAGS)

#define DVQ_EFA_CQE_FLAGS	offsetof(struct efa_cqe_common, flags)
#define DVQ_EFA_CQE_QPN		offsetof(struct efa_cqe_common, qp_num)

/* it is of the lap whose entries have @phase */
DVQ_INLINE bool dvq_efa_cqe_is_new(uint64_t entry, uint32_t phase)
{
	const uint32_t flags = dvq_load_phase(entry + DVQ_EFA_CQE_FLAGS);

	return phase ? flags & EFA_CQE_PHASE : !(flags & EFA_CQE_PHASE);
}

/* ---- the table of QPs --------------------------------------------------------------- */

DVQ_INLINE struct dvq_efa_cq_qp *dvq_efa_cq_row(uint64_t qps, uint64_t qp_mask, uint64_t qp_num)
{
	return (struct dvq_efa_cq_qp *)(uintptr_t)qps + (qp_num & qp_mask);
}

DVQ_INLINE bool dvq_efa_cq_row_is(const struct dvq_efa_cq_qp *row, uint32_t qp_num)
{
	return row->send_key != DVQ_EFA_NO_QP && row->send_key >> DVQ_EFA_C0_QPN == qp_num;
}

DVQ_INLINE void dvq_efa_cq_clear_row(struct dvq_efa_cq_qp *row)
{
	row->send_key = DVQ_EFA_NO_QP;
	row->send = 0;
	row->recv_key = DVQ_EFA_NO_QP;
	row->recv = 0;
}

/*
 * @rows: a power of two. The low bits of the QP numbers that are alive on a device are
 * unique if there are as many rows as the device has QPs (max_qp of ibv_query_device(),
 * rounded up); with fewer, dvq_efa_cq_attach() may find a row taken.
 *
 * Return: 0; EINVAL if @rows is not a power of two.
 */
DVQ_INLINE int dvq_efa_cq_set_qps(struct dvq_efa_cq *cq, struct dvq_efa_cq_qp *qps, uint32_t rows)
{
	if (!rows || rows & (rows - 1))
		return DVQ_EFA_EINVAL;
	for (uint32_t i = 0; i < rows; i++)
		dvq_efa_cq_clear_row(qps + i);
	cq->qps = (uint64_t)(uintptr_t)qps;
	cq->qp_mask = rows - 1;
	return 0;
}

/* a write with immediate to the QP that used no receive, and so has no id, waits to be polled */
DVQ_APART bool dvq_efa_cq_has_unsolicited(const struct dvq_efa_cq *cq, uint32_t qp_num)
{
	const uint32_t sign = EFA_CQE_QTYPE_RECV << 1 | EFA_CQE_UNSOLICITED;

	for (uint32_t i = 0; i < cq->sub_cqs; i++) {
		const uint64_t start = cq->ring + (uint64_t)i * cq->bytes;
		uint32_t at = cq->sub[i].next & (cq->bytes - 1), phase = cq->sub[i].phase;
		uint32_t flags;

		for (uint32_t left = cq->bytes; left; left -= cq->entry_size) {
			if (!dvq_efa_cqe_is_new(start + at, phase))
				break;
			dvq_dma_read();
			flags = dvq_load8(start + at + DVQ_EFA_CQE_FLAGS);
			if ((flags & (EFA_CQE_QTYPE | EFA_CQE_UNSOLICITED)) == sign &&
			    dvq_load16(start + at + DVQ_EFA_CQE_QPN) == qp_num)
				return true;
			at += cq->entry_size;
			if (at == cq->bytes) {
				at = 0;
				phase ^= EFA_CQE_PHASE;
			}
		}
	}
	return false;
}

/*
 * Completions of a QP are reported from now on: @sq's sends, @rq's receives. Either may
 * be NULL, and each must stay where it is, and with the pool that it has, until
 * dvq_efa_cq_detach(). Attach a QP before it can receive.
 *
 * Return: 0; EINVAL without a table or a queue, or if the two are not of one QP; EEXIST
 * if the row is taken; EBUSY if an unsolicited completion of an earlier QP of the number is
 * still on a ring: it has no generation, so poll until it is gone.
 */
DVQ_INLINE int dvq_efa_cq_attach(struct dvq_efa_cq *cq, struct dvq_efa_sq *sq,
				 struct dvq_efa_rq *rq)
{
	struct dvq_efa_cq_qp *row;
	uint32_t qp_num;

	if (!cq->qps || (!sq && !rq) || (sq && rq && sq->qp_num != rq->qp_num))
		return DVQ_EFA_EINVAL;
	qp_num = sq ? sq->qp_num : rq->qp_num;
	row = dvq_efa_cq_row(cq->qps, cq->qp_mask, qp_num);
	if (row->send_key != DVQ_EFA_NO_QP)
		return DVQ_EFA_EEXIST;
	if (rq && cq->ring && dvq_efa_cq_has_unsolicited(cq, qp_num))
		return DVQ_EFA_EBUSY;
	row->send = sq ? (uint64_t)(uintptr_t)&sq->ids : 0;
	row->recv = rq ? (uint64_t)(uintptr_t)&rq->ids : 0;
	row->send_key = (uint64_t)qp_num << DVQ_EFA_C0_QPN | DVQ_EFA_C0_SEND;
	if (sq && sq->ids.wide)
		row->send_key |= DVQ_EFA_KEY_WIDE;
	else if (!sq || !sq->ids.slots)
		row->send_key |= DVQ_EFA_KEY_SLOW;
	row->recv_key = (uint64_t)qp_num << DVQ_EFA_C0_QPN | DVQ_EFA_C0_RECV;
	if (!rq || !rq->ids.slots)
		row->recv_key |= DVQ_EFA_KEY_SLOW;
	return 0;
}

/* What is still to come of the QP is dropped. EINVAL if it is not attached. */
DVQ_INLINE int dvq_efa_cq_detach(struct dvq_efa_cq *cq, uint32_t qp_num)
{
	struct dvq_efa_cq_qp *row;

	if (!cq->qps)
		return DVQ_EFA_EINVAL;
	row = dvq_efa_cq_row(cq->qps, cq->qp_mask, qp_num);
	if (!dvq_efa_cq_row_is(row, qp_num))
		return DVQ_EFA_EINVAL;
	dvq_efa_cq_clear_row(row);
	return 0;
}

/* ---- one entry ---------------------------------------------------------------------- */

/* 16-bit id, or all of it: bits 31:16 are at byte 6, 63:32 at byte 8 */
DVQ_INLINE uint64_t dvq_efa_cqe_id(uint64_t entry, bool wide)
{
	const uint64_t word0 = dvq_load64(entry);
	const uint64_t low = word0 & 0xffff;

	return wide ? low | word0 >> 48 << 16 | dvq_load64(entry + 8) << 32 : low;
}

DVQ_INLINE uint32_t dvq_efa_wc_op(const struct dvq_efa_wc *wc)
{
	return (wc->flags & EFA_CQE_OP) >> 4;
}

/* stores of their own: pairing words in vector registers costs more than it saves */
DVQ_INLINE void dvq_efa_wc_store(struct dvq_efa_wc *wc, size_t offset, uint64_t word)
{
	dvq_store64((uint64_t)(uintptr_t)wc + offset, word);
}

DVQ_INLINE void dvq_efa_wc_fill_send(struct dvq_efa_wc *wc, uint64_t word0)
{
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, req_id), word0);
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, ah), 0);
	/* and has_sgid */
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, byte_len), 0);
}

DVQ_INLINE void dvq_efa_wc_fill_recv(struct dvq_efa_wc *wc, uint64_t word0, uint64_t word1)
{
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, req_id), word0);
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, ah), word1);
	dvq_efa_wc_store(wc, offsetof(struct dvq_efa_wc, byte_len), word0 >> 48);
}

/* what a 32-byte receive entry has beyond 16: two uses of the same bytes */
DVQ_INLINE void dvq_efa_wc_extend(struct dvq_efa_wc *wc, uint64_t entry)
{
	if (dvq_efa_wc_op(wc) == EFA_OP_RDMA_WRITE) {
		wc->byte_len |= (uint32_t)dvq_load16(entry + 16) << 16;
	} else if (wc->ah == EFA_AH_UNKNOWN) {
		wc->sgid[0] = dvq_load64(entry + 16);
		wc->sgid[1] = dvq_load64(entry + 24);
		wc->has_sgid = 1;
	}
}

/* which request the entry ends, any entry; @ids NULL: it is not asked; false: none */
DVQ_INLINE bool dvq_efa_cqe_request(struct dvq_efa_ids *ids, uint64_t entry, uint32_t flags,
				    uint64_t *wr_id)
{
	const bool send = (flags & EFA_CQE_QTYPE) == EFA_CQE_QTYPE_SEND << 1;

	if (!send && flags & EFA_CQE_UNSOLICITED) {
		*wr_id = 0;
		return true;
	}
	*wr_id = dvq_efa_cqe_id(entry, send && (!ids || ids->wide));
	return !ids || dvq_efa_ids_put(ids, *wr_id, wr_id);
}

/* any entry; @row NULL: there is no table; false: it is nobody's */
DVQ_INLINE bool dvq_efa_cqe_any(const struct dvq_efa_cq_qp *row, uint64_t entry, uint32_t size,
				struct dvq_efa_wc *wc)
{
	const uint32_t flags = dvq_load8(entry + DVQ_EFA_CQE_FLAGS);
	const uint32_t qtype = (flags & EFA_CQE_QTYPE) >> 1;
	uint64_t ids;

	if (qtype != EFA_CQE_QTYPE_SEND && qtype != EFA_CQE_QTYPE_RECV)
		return false;
	ids = !row ? 0 : qtype == EFA_CQE_QTYPE_SEND ? row->send : row->recv;
	if (row && !ids)
		return false;
	if (!dvq_efa_cqe_request((struct dvq_efa_ids *)(uintptr_t)ids, entry, flags, &wc->wr_id))
		return false;
	if (qtype == EFA_CQE_QTYPE_SEND) {
		dvq_efa_wc_fill_send(wc, dvq_load64(entry));
		return true;
	}
	dvq_efa_wc_fill_recv(wc, dvq_load64(entry), dvq_load64(entry + 8));
	if (size == EFA_CQE_SIZE_EX)
		dvq_efa_wc_extend(wc, entry);
	return true;
}

/* any entry, with the row that its QP number leads to */
DVQ_APART bool dvq_efa_cqe_slow(const struct dvq_efa_cq_qp *row, uint64_t entry, uint32_t size,
				 struct dvq_efa_wc *wc)
{
	if (!dvq_efa_cq_row_is(row, dvq_load16(entry + DVQ_EFA_CQE_QPN)))
		return false;
	return dvq_efa_cqe_any(row, entry, size, wc);
}

/*
 * The common entries, with as little as can be: a plain receive from a known AH with a pool of
 * ids, a send with a pool of 16-bit ids or with ids of 64. All others go the long way.
 */
DVQ_INLINE bool dvq_efa_cqe_take(uint64_t qps, uint64_t row_mask, uint64_t entry, uint32_t size,
				 struct dvq_efa_wc *wc)
{
	const uint64_t word0 = dvq_load64(entry);
	const struct dvq_efa_cq_qp *row = (const struct dvq_efa_cq_qp *)(uintptr_t)
		(qps + (word0 >> (DVQ_EFA_C0_QPN - DVQ_EFA_ROW_LOG2) & row_mask));
	struct dvq_efa_ids *ids;

	if (word0 & DVQ_EFA_C0_RECV) {
		const uint64_t word1 = dvq_load64(entry + 8);

		/* an entry of 16 bytes has nothing more to say of an unknown AH */
		if (dvq_unlikely((word0 & DVQ_EFA_C0_RECV_KEY) != row->recv_key) ||
		    (size == EFA_CQE_SIZE_EX && dvq_unlikely((uint16_t)word1 == EFA_AH_UNKNOWN)))
			return dvq_efa_cqe_slow(row, entry, size, wc);
		ids = (struct dvq_efa_ids *)(uintptr_t)row->recv;
		if (dvq_unlikely(!dvq_efa_ids_push(ids, word0 & 0xffff, &wc->wr_id)))
			return false;
		dvq_efa_wc_fill_recv(wc, word0, word1);
		return true;
	}
	ids = (struct dvq_efa_ids *)(uintptr_t)row->send;
	if (dvq_unlikely((word0 & DVQ_EFA_C0_SEND_KEY) != row->send_key)) {
		if (dvq_unlikely(((word0 & DVQ_EFA_C0_SEND_KEY) | DVQ_EFA_KEY_WIDE) != row->send_key))
			return dvq_efa_cqe_slow(row, entry, size, wc);
		if (dvq_unlikely(!dvq_efa_ids_put(ids, dvq_efa_cqe_id(entry, true), &wc->wr_id)))
			return false;
	} else if (dvq_unlikely(!dvq_efa_ids_push(ids, word0 & 0xffff, &wc->wr_id))) {
		return false;
	}
	dvq_efa_wc_fill_send(wc, word0);
	return true;
}

/* ---- polling ------------------------------------------------------------------------ */

/* new entries from @entry on, up to @end; where the run ends; @phase is a constant */
DVQ_INLINE uint64_t dvq_efa_cq_run_of(uint64_t entry, uint64_t end, uint32_t size, uint32_t phase)
{
	for (; entry + 4 * size <= end; entry += 4 * size) {
		if (!dvq_efa_cqe_is_new(entry, phase))
			return entry;
		if (!dvq_efa_cqe_is_new(entry + size, phase))
			return entry + size;
		if (!dvq_efa_cqe_is_new(entry + 2 * size, phase))
			return entry + 2 * size;
		if (!dvq_efa_cqe_is_new(entry + 3 * size, phase))
			return entry + 3 * size;
	}
	while (entry != end && dvq_efa_cqe_is_new(entry, phase))
		entry += size;
	return entry;
}

DVQ_INLINE uint64_t dvq_efa_cq_run(uint64_t entry, uint64_t end, uint32_t size, uint32_t phase)
{
	return phase ? dvq_efa_cq_run_of(entry, end, size, EFA_CQE_PHASE) :
		       dvq_efa_cq_run_of(entry, end, size, 0);
}

DVQ_INLINE void dvq_efa_cq_ring(struct dvq_efa_cq *cq, uint32_t arm)
{
	if (!cq->doorbell)
		return;
	dvq_dma_release();
	dvq_doorbell32(cq->doorbell, arm | (cq->events << 29 & EFA_CQ_DB_CMD_SN) |
		       (cq->consumed & EFA_CQ_DB_CONS_INDEX));
}

/* the entries of a run; where the completions end that are to be reported */
DVQ_INLINE struct dvq_efa_wc *dvq_efa_cq_take(const struct dvq_efa_cq *cq, uint64_t entry,
					      uint64_t end, uint32_t size, struct dvq_efa_wc *wc)
{
	/* QP numbers have 16 bits; the mask is where a number times the size of a row has its */
	const uint64_t qps = cq->qps, row_mask = (uint64_t)(cq->qp_mask & 0xffff) << DVQ_EFA_ROW_LOG2;

	if (!qps) {
		for (; entry != end; entry += size)
			wc += dvq_efa_cqe_any(NULL, entry, size, wc);
		return wc;
	}
	for (; entry != end; entry += size) {
		if (!dvq_unlikely(!dvq_efa_cqe_take(qps, row_mask, entry, size, wc)))
			wc++;
		dvq_opaque(entry);
	}
	return wc;
}

/* the new entries of a sub-CQ, at most *@room, which is counted down */
DVQ_INLINE struct dvq_efa_wc *dvq_efa_cq_visit(struct dvq_efa_cq *cq, struct dvq_efa_sub_cq *sub,
					       uint32_t size, struct dvq_efa_wc *wc,
					       uint32_t *room)
{
	uint32_t rest, most, taken;

	do {
		const uint64_t start = cq->ring + sub->next;
		uint64_t end;

		rest = cq->bytes - (sub->next & (cq->bytes - 1));
		most = *room < rest / size ? *room * size : rest;
		end = dvq_efa_cq_run(start, start + most, size, sub->phase);
		if (end == start)
			break;
		dvq_dma_read();
		wc = dvq_efa_cq_take(cq, start, end, size, wc);
		taken = (uint32_t)(end - start);
		sub->next += taken;
		*room -= taken / size;
		if (taken != rest)
			break;
		/* the ring goes on at its start */
		sub->next -= cq->bytes;
		sub->phase ^= EFA_CQE_PHASE;
	} while (*room);
	return wc;
}

/* all sub-CQs, in turn from where the last poll stopped; how many entries were taken */
DVQ_INLINE uint32_t dvq_efa_cq_round(struct dvq_efa_cq *cq, uint32_t size, struct dvq_efa_wc *wc,
				     uint32_t n, uint32_t *good)
{
	const uint32_t first = cq->next_sub;
	struct dvq_efa_wc *end = wc;
	uint32_t room = n, sub = first;

	do {
		end = dvq_efa_cq_visit(cq, &cq->sub[sub], size, end, &room);
		if (++sub >= cq->sub_cqs)
			sub = 0;
	} while (sub != first && room);
	cq->next_sub = sub;
	*good = (uint32_t)(end - wc);
	return n - room;
}

DVQ_INLINE uint32_t dvq_efa_cq_poll_sized(struct dvq_efa_cq *cq, uint32_t size,
					  struct dvq_efa_wc *wc, uint32_t n)
{
	uint32_t dropped = 0, good, taken;

	do {
		taken = dvq_efa_cq_round(cq, size, wc, n, &good);
		if (!taken)
			return 0;
		cq->consumed += taken;
		if (dvq_unlikely(taken != good))
			cq->stale += taken - good;
		dvq_efa_cq_ring(cq, 0);
		dropped += taken;
	} while (!good && (uint64_t)dropped * size < (uint64_t)cq->bytes * cq->sub_cqs);
	return good;
}

/**
 * dvq_efa_cq_poll() - take completions
 * @cq: the completion queue
 * @wc: room for @n
 * @n: how many at most
 *
 * Entries that belong to nobody are passed over. Room goes back to the queues and ids
 * to their pools; the consumer doorbell, if there is one, is rung.
 *
 * Return: how many there are in @wc; 0 only when no new entry is left (or as many stale ones as
 * the CQ has entries were dropped).
 */
DVQ_INLINE uint32_t dvq_efa_cq_poll(struct dvq_efa_cq *cq, struct dvq_efa_wc *wc, uint32_t n)
{
	/* once per call, so that the loops have a constant stride */
	if (cq->entry_size == EFA_CQE_SIZE_EX)
		return dvq_efa_cq_poll_sized(cq, EFA_CQE_SIZE_EX, wc, n);
	return dvq_efa_cq_poll_sized(cq, EFA_CQE_SIZE, wc, n);
}

/**
 * dvq_efa_cq_arm() - ask for an event when the next completion comes
 * @cq: the completion queue
 *
 * Poll once more afterwards: what came before is not told.
 *
 * Return: 0; EINVAL if the CQ has no doorbell (it was created without a channel, or the device
 * has no events).
 */
DVQ_INLINE int dvq_efa_cq_arm(struct dvq_efa_cq *cq)
{
	if (!cq->doorbell)
		return DVQ_EFA_EINVAL;
	dvq_efa_cq_ring(cq, EFA_CQ_DB_ARM);
	return 0;
}

/* Count an event that ibv_get_cq_event() delivered, before arming again. */
DVQ_INLINE void dvq_efa_cq_event(struct dvq_efa_cq *cq)
{
	cq->events++;
}

/* ---- what a completion means to the verbs --------------------------------------------- */

DVQ_INLINE bool dvq_efa_wc_is_recv(const struct dvq_efa_wc *wc)
{
	return (wc->flags & EFA_CQE_QTYPE) == EFA_CQE_QTYPE_RECV << 1;
}

/* imm is valid */
DVQ_INLINE bool dvq_efa_wc_has_imm(const struct dvq_efa_wc *wc)
{
	return dvq_efa_wc_is_recv(wc) && wc->flags & EFA_CQE_HAS_IMM;
}

/* a write with immediate that used no receive: there is no wr_id */
DVQ_INLINE bool dvq_efa_wc_unsolicited(const struct dvq_efa_wc *wc)
{
	return dvq_efa_wc_is_recv(wc) && wc->flags & EFA_CQE_UNSOLICITED;
}

/* enum ibv_wc_status; its values are fixed, so the header need not be there */
DVQ_INLINE uint32_t dvq_efa_wc_status(const struct dvq_efa_wc *wc)
{
	switch (wc->status) {
	case EFA_IO_OK:
		return 0;	/* IBV_WC_SUCCESS */
	case EFA_IO_FLUSHED:
		return 5;	/* IBV_WC_WR_FLUSH_ERR */
	case EFA_IO_LOCAL_QP_INTERNAL:
	case EFA_IO_LOCAL_UNSUPPORTED_OP:
	case EFA_IO_LOCAL_INVALID_AH:
		return 2;	/* IBV_WC_LOC_QP_OP_ERR */
	case EFA_IO_LOCAL_INVALID_LKEY:
		return 4;	/* IBV_WC_LOC_PROT_ERR */
	case EFA_IO_LOCAL_BAD_LENGTH:
		return 1;	/* IBV_WC_LOC_LEN_ERR */
	case EFA_IO_REMOTE_BAD_ADDRESS:
		return 10;	/* IBV_WC_REM_ACCESS_ERR */
	case EFA_IO_REMOTE_ABORT:
		return 16;	/* IBV_WC_REM_ABORT_ERR */
	case EFA_IO_REMOTE_BAD_DEST_QPN:
		return 15;	/* IBV_WC_REM_INV_RD_REQ_ERR */
	case EFA_IO_REMOTE_RNR:
		return 13;	/* IBV_WC_RNR_RETRY_EXC_ERR */
	case EFA_IO_REMOTE_BAD_LENGTH:
	case EFA_IO_REMOTE_FEATURE_MISMATCH:
		return 9;	/* IBV_WC_REM_INV_REQ_ERR */
	case EFA_IO_REMOTE_BAD_STATUS:
		return 7;	/* IBV_WC_BAD_RESP_ERR */
	case EFA_IO_LOCAL_UNRESP_REMOTE:
	case EFA_IO_LOCAL_UNREACH_REMOTE:
		return 20;	/* IBV_WC_RESP_TIMEOUT_ERR */
	case EFA_IO_REMOTE_UNKNOWN_PEER:
		return 11;	/* IBV_WC_REM_OP_ERR */
	default:
		return 21;	/* IBV_WC_GENERAL_ERR */
	}
}

/*
 * enum ibv_wc_opcode. The stock provider reports an RDMA read as a send; @reads tells
 * the truth instead.
 */
DVQ_INLINE uint32_t dvq_efa_wc_opcode(const struct dvq_efa_wc *wc, bool reads)
{
	const uint32_t op = dvq_efa_wc_op(wc);
	const bool write = op == EFA_OP_RDMA_WRITE;

	if (dvq_efa_wc_is_recv(wc))
		return write ? 129 : 128;	/* IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV */
	if (op == EFA_OP_RDMA_READ && reads)
		return 2;			/* IBV_WC_RDMA_READ */
	return write ? 1 : 0;			/* IBV_WC_RDMA_WRITE, IBV_WC_SEND */
}

#endif /* DVQ_EFA_CQ_H */
