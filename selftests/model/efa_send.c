// SPDX-License-Identifier: GPL-2.0
/*
 * Send queues. WQEs lie in BAR 2; a doorbell announces them and the model takes
 * its copy there and then, because their slots may be written again as soon as
 * anything completes. A slot that was taken is filled with ones, so that a
 * doorbell for a WQE that was never (fully) stored is found out.
 *
 * Counts run freely: [started, posted) waits, completions come in any order.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"

#define WQES_PER_TURN	8
#define TURNS_PER_SLICE	8
#define FLUSHES_PER_TURN 64
#define POISON		0xff
#define STORE_SIZE	8	/* the ring is written in units of this */

static uint8_t *ring(struct efa *efa, const struct efa_qp *qp)
{
	return efa->dev.bar[EFA_BAR_LLQ].mem + qp->sq.llq;
}

static size_t ring_bytes(const struct efa_sq *sq)
{
	return (size_t)sq->depth * sq->wqe_size;
}

static uint32_t units(const struct efa_sq *sq)
{
	return sq->wqe_size / EFA_WQE_SIZE;
}

static uint8_t *copy_of(const struct efa_sq *sq, uint64_t count)
{
	return sq->copy + count % sq->depth * sq->wqe_size;
}

void efa_sq_init(struct efa_qp *qp)
{
	struct efa_sq *sq = &qp->sq;

	if (!sq->depth)
		return;
	sq->copy = malloc(ring_bytes(sq));
	sq->stored = calloc(ring_bytes(sq) / EFA_WQE_SIZE, 1);
	if (!sq->copy || !sq->stored)
		abort();
	sq->phase_checked = true;
}

void efa_sq_reset(struct efa *efa, struct efa_qp *qp)
{
	struct efa_sq *sq = &qp->sq;

	if (!sq->depth)
		return;
	/* drivers begin again at count 0 but keep their phase: it tells nothing any more */
	if (sq->posted)
		sq->phase_checked = false;
	sq->posted = sq->started = sq->completed = 0;
	sq->batch = 0;
	sq->batch_told = false;
	memset(sq->stored, 0, ring_bytes(sq) / EFA_WQE_SIZE);
	memset(ring(efa, qp), POISON, ring_bytes(sq));
	sq->db_word = 0;
	if (efa->config.polled)
		memset(efa->dev.bar[efa->db_bar].mem + sq->db, 0, sizeof(uint32_t));
}

static void enlist(struct efa *efa, struct efa_qp *qp)
{
	if (qp->active)
		return;
	qp->active = true;
	TAILQ_INSERT_TAIL(&efa->active, qp, active_link);
}

void efa_sq_activate(struct efa *efa, struct efa_qp *qp)
{
	enlist(efa, qp);
	model_kick(&efa->dev);
}

void efa_sq_deactivate(struct efa *efa, struct efa_qp *qp)
{
	if (!qp->active)
		return;
	qp->active = false;
	TAILQ_REMOVE(&efa->active, qp, active_link);
}

/* ---- stores to the ring (strict mode sees each) ------------------------------------ */

/* one bit per store unit, WQE by WQE */
static bool stored(const struct efa_sq *sq, uint64_t unit)
{
	return sq->stored[unit / 8] >> unit % 8 & 1;
}

static unsigned int stored_in_slot(const struct efa_sq *sq, uint64_t slot)
{
	unsigned int n = 0;
	uint64_t first = slot * (sq->wqe_size / STORE_SIZE);

	for (unsigned int i = 0; i < sq->wqe_size / STORE_SIZE; i++)
		n += stored(sq, first + i);
	return n;
}

static void count_batch(struct efa *efa, struct efa_qp *qp)
{
	struct efa_sq *sq = &qp->sq;
	uint64_t limit = efa->config.max_tx_batch;

	sq->batch += units(sq);
	if (!limit || sq->batch <= limit || sq->batch_told)
		return;
	sq->batch_told = true;
	model_violation(&efa->dev, "QP %u: %u units of 64 bytes stored since the last doorbell, "
			"max_tx_batch is %" PRIu64, qp->num, sq->batch, limit);
}

static void note_store(struct efa *efa, struct efa_qp *qp, uint64_t off, unsigned int size)
{
	struct efa_sq *sq = &qp->sq;
	uint64_t unit = off / STORE_SIZE;

	if (size != STORE_SIZE || off % STORE_SIZE) {
		model_violation(&efa->dev, "QP %u: %u-byte store at byte %" PRIu64 " of the send "
				"ring: WQEs are copied in aligned 8-byte units", qp->num, size,
				off);
		return;
	}
	if (stored(sq, unit))
		model_violation(&efa->dev, "QP %u: byte %" PRIu64 " of the send ring stored "
				"twice before its doorbell", qp->num, off);
	if (!stored_in_slot(sq, off / sq->wqe_size))
		count_batch(efa, qp);
	sq->stored[unit / 8] |= 1u << unit % 8;
}

void efa_llq_store(struct efa *efa, uint64_t off, unsigned int size, uint64_t value)
{
	struct efa_qp *qp = efa_table_get(&efa->qps, off / efa->llq_slot);
	uint64_t in_slot = off % efa->llq_slot;
	uint64_t image = htole64(value);

	if (!qp || in_slot + size > ring_bytes(&qp->sq)) {
		model_violation(&efa->dev, "store to BAR 2 at 0x%" PRIx64 ": no send ring of a "
				"live QP is there", off);
		return;
	}
	if (efa->config.strict)
		note_store(efa, qp, in_slot, size);
	memcpy(ring(efa, qp) + in_slot, &image, size);
}

/* every WQE of the batch is there in full; strict mode only */
static bool batch_complete(struct efa *efa, struct efa_qp *qp, uint16_t n)
{
	struct efa_sq *sq = &qp->sq;

	for (uint64_t count = sq->posted; count < sq->posted + n; count++) {
		unsigned int got = stored_in_slot(sq, count % sq->depth);

		if (got == sq->wqe_size / STORE_SIZE)
			continue;
		model_violation(&efa->dev, "QP %u: doorbell for WQE %" PRIu64 ", of which only "
				"%u of %u bytes were stored", qp->num, count, got * STORE_SIZE,
				sq->wqe_size);
		return false;
	}
	return true;
}

/* ---- doorbell ---------------------------------------------------------------------- */

static bool may_ring(struct efa *efa, struct efa_qp *qp, uint32_t value, uint16_t n)
{
	const struct efa_sq *sq = &qp->sq;

	if (qp->state < EFA_ADMIN_QPS_RTS) {
		model_violation(&efa->dev, "QP %u: send doorbell %u in state %s: want RTS",
				qp->num, value, efa_qp_state_name(qp->state));
		return false;
	}
	if (sq->posted + n - sq->completed > sq->depth) {
		model_violation(&efa->dev, "QP %u: send doorbell %u: %" PRIu64 " WQEs outstanding "
				"and %u more, depth %u", qp->num, value,
				sq->posted - sq->completed, n, sq->depth);
		return false;
	}
	if (efa->config.min_sq_depth && n >= sq->depth) {
		model_violation(&efa->dev, "QP %u: send doorbell %u announces all %u WQEs at "
				"once: want depth - 1 at most", qp->num, value, n);
		return false;
	}
	if (efa->config.max_tx_batch && n * units(sq) > efa->config.max_tx_batch) {
		model_violation(&efa->dev, "QP %u: send doorbell %u announces %u units of 64 "
				"bytes, max_tx_batch is %" PRIu64, qp->num, value, n * units(sq),
				efa->config.max_tx_batch);
		return false;
	}
	return true;
}

static void count_wqe(struct efa *efa, const struct efa_sq *sq, const uint8_t *wqe)
{
	const struct efa_wqe_meta *meta = (const void *)wqe;
	struct efa_tally *tally = &efa->tally;
	unsigned int op = HW_GET(EFA_WQE_OP, meta->ctrl1);

	if (op < sizeof(tally->wqes) / sizeof(tally->wqes[0]))
		tally->wqes[op]++;
	if (meta->ctrl1 & EFA_WQE_INLINE_MSG)
		tally->wqes_inline++;
	if (sq->wqe_size == EFA_WQE_SIZE_WIDE)
		tally->wqes_wide++;
	tally->wqes_hint[HW_GET(EFA_WQE_HINTS, meta->ctrl3)]++;
}

static void take_wqe(struct efa *efa, struct efa_qp *qp, uint64_t count)
{
	struct efa_sq *sq = &qp->sq;
	size_t off = count % sq->depth * sq->wqe_size;
	size_t bits = sq->wqe_size / STORE_SIZE / 8;

	memcpy(sq->copy + off, ring(efa, qp) + off, sq->wqe_size);
	memset(ring(efa, qp) + off, POISON, sq->wqe_size);
	memset(sq->stored + count % sq->depth * bits, 0, bits);
	count_wqe(efa, sq, sq->copy + off);
}

void efa_sq_doorbell(struct efa *efa, struct efa_qp *qp, uint32_t value)
{
	struct efa_sq *sq = &qp->sq;
	uint16_t n = value - sq->posted;

	efa->tally.doorbells_sq++;
	if (value & ~EFA_QP_DB_COUNT) {
		model_violation(&efa->dev, "QP %u: send doorbell 0x%x: the count has 16 bits",
				qp->num, value);
		return;
	}
	sq->batch = 0;
	sq->batch_told = false;
	if (!n || !may_ring(efa, qp, value, n) ||
	    (efa->config.strict && !batch_complete(efa, qp, n)))
		return;
	if (n > efa->tally.max_batch)
		efa->tally.max_batch = n;
	for (; n; n--)
		take_wqe(efa, qp, sq->posted++);
	efa_sq_activate(efa, qp);
}

/* ---- WQEs ---------------------------------------------------------------------------- */

/* what a correct poster does not write; the status of its completion */
static enum efa_io_status malformed(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				    const char *what)
{
	model_violation(&efa->dev, "QP %u: WQE %" PRIu64 ": %s", qp->num, count, what);
	return EFA_IO_LOCAL_QP_INTERNAL;
}

static bool all_zero(const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		if (*byte++)
			return false;
	return true;
}

static enum efa_io_status check_meta(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const struct efa_wqe_meta *meta)
{
	const uint8_t always = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ;

	if (!(meta->ctrl1 & EFA_WQE_META_DESC) || (meta->ctrl2 & always) != always)
		return malformed(efa, qp, count,
				 "meta_desc, first, last and comp_req must all be 1");
	if (qp->sq.phase_checked &&
	    (meta->ctrl2 & EFA_WQE_PHASE) != (count / qp->sq.depth & 1))
		return malformed(efa, qp, count, "phase is not the parity of the lap");
	if (!efa->config.mbz)
		return EFA_IO_OK;
	if (meta->ctrl1 & EFA_WQE_META_EXT || meta->ctrl2 & EFA_WQE_CTRL2_MBZ ||
	    meta->ctrl3 & EFA_WQE_CTRL3_MBZ || meta->reserved15 ||
	    !all_zero(meta->reserved20, sizeof(meta->reserved20)))
		return malformed(efa, qp, count, "reserved bits of the metadata are not zero");
	if (!(qp->flags & EFA_CREATE_QP_64BIT_IDS) &&
	    !all_zero(meta->req_id_ex, sizeof(meta->req_id_ex)))
		return malformed(efa, qp, count,
				 "upper request id bits on a QP with 16-bit ids");
	return EFA_IO_OK;
}

static uint64_t req_id(const struct efa_qp *qp, const struct efa_wqe_meta *meta)
{
	uint64_t id = le16toh(meta->req_id);

	if (qp->flags & EFA_CREATE_QP_64BIT_IDS)
		id |= (uint64_t)le16toh(meta->req_id_ex[0]) << 16 |
		      (uint64_t)le16toh(meta->req_id_ex[1]) << 32 |
		      (uint64_t)le16toh(meta->req_id_ex[2]) << 48;
	return id;
}

static enum efa_io_status parse_bufs(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const struct efa_tx_buf *buf, unsigned int n,
				     struct efa_wr *wr)
{
	uint64_t length = 0;

	wr->bufs = n;
	for (unsigned int i = 0; i < n; i++) {
		uint32_t lkey = le32toh(buf[i].lkey);

		if (lkey & ~EFA_LKEY_BITS && efa->config.mbz)
			return malformed(efa, qp, count, "lkey with more than 24 bits");
		wr->buf[i].addr = le32toh(buf[i].addr_lo) | (uint64_t)le32toh(buf[i].addr_hi) << 32;
		wr->buf[i].length = le32toh(buf[i].length);
		wr->buf[i].lkey = lkey & EFA_LKEY_BITS;
		length += wr->buf[i].length;
	}
	if (length > UINT32_MAX)
		return EFA_IO_LOCAL_BAD_LENGTH;
	wr->length = length;
	return EFA_IO_OK;
}

static enum efa_io_status parse_inline(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				       const uint8_t *data, unsigned int length, unsigned int room,
				       struct efa_wr *wr)
{
	if (length > room) {
		malformed(efa, qp, count, "more inline bytes than the WQE holds");
		return EFA_IO_LOCAL_BAD_LENGTH;
	}
	wr->length = length;
	memcpy(wr->data, data, length);
	return EFA_IO_OK;
}

/* the bytes from @used to the end of the WQE */
static enum efa_io_status check_tail(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, size_t used)
{
	if (!efa->config.mbz || all_zero(wqe + used, qp->sq.wqe_size - used))
		return EFA_IO_OK;
	return malformed(efa, qp, count, "the unused tail of the WQE is not zero");
}

static enum efa_io_status parse_send(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, struct efa_wr *wr)
{
	const struct efa_wqe_wide *wide = (const void *)wqe;
	bool is_wide = qp->sq.wqe_size == EFA_WQE_SIZE_WIDE;
	unsigned int length = le16toh(wide->meta.length);
	size_t room = is_wide ? EFA_WQE_INLINE_WIDE : EFA_WQE_INLINE;
	enum efa_io_status status;

	if (wr->is_inline) {
		status = parse_inline(efa, qp, count, wide->u.inline_data, length, room, wr);
		return status ? status : check_tail(efa, qp, count, wqe, EFA_WQE_META_SIZE + room);
	}
	if (length > efa->config.send_sges) {
		malformed(efa, qp, count, "more buffer descriptors than max_send_sges");
		return EFA_IO_LOCAL_BAD_LENGTH;
	}
	status = parse_bufs(efa, qp, count, wide->u.sgl, length, wr);
	return status ? status : check_tail(efa, qp, count, wqe, EFA_WQE_SIZE);
}

static enum efa_io_status parse_rdma(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, struct efa_wr *wr)
{
	const struct efa_wqe_wide *wide = (const void *)wqe;
	const struct efa_remote_mem *remote = &wide->u.rdma.remote;
	unsigned int length = le16toh(wide->meta.length);
	enum efa_io_status status;

	wr->rkey = le32toh(remote->rkey);
	wr->remote = le32toh(remote->addr_lo) | (uint64_t)le32toh(remote->addr_hi) << 32;
	if (wr->has_imm && wr->op == EFA_OP_RDMA_READ)
		return malformed(efa, qp, count, "immediate data with a read");
	if (wr->is_inline) {
		if (wr->op == EFA_OP_RDMA_READ || qp->sq.wqe_size != EFA_WQE_SIZE_WIDE)
			return malformed(efa, qp, count,
					 "inline data belongs to writes of 128-byte WQEs only");
		status = parse_inline(efa, qp, count, wide->u.rdma.u.inline_data, length,
				      EFA_WQE_INLINE_WIDE, wr);
	} else if (length > 1) {
		malformed(efa, qp, count, "more than one local buffer");
		status = EFA_IO_LOCAL_BAD_LENGTH;
	} else {
		status = parse_bufs(efa, qp, count, &wide->u.rdma.u.local, length, wr);
		if (!status)
			status = check_tail(efa, qp, count, wqe, EFA_WQE_SIZE);
	}
	if (!status && le32toh(remote->length) != wr->length)
		return EFA_IO_LOCAL_BAD_LENGTH;
	return status;
}

static enum efa_io_status parse(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				struct efa_wr *wr)
{
	const uint8_t *wqe = copy_of(&qp->sq, count);
	const struct efa_wqe *narrow = (const void *)wqe;
	const struct efa_wqe_meta *meta = &narrow->meta;
	enum efa_io_status status;

	*wr = (struct efa_wr) {
		.op = HW_GET(EFA_WQE_OP, meta->ctrl1),
		.req_id = req_id(qp, meta),
		.dest_qp = le16toh(meta->dest_qp_num),
		.ah = le16toh(meta->ah),
		.qkey = le32toh(meta->qkey),
		.imm = le32toh(meta->imm),
		.has_imm = meta->ctrl1 & EFA_WQE_HAS_IMM,
		.is_inline = meta->ctrl1 & EFA_WQE_INLINE_MSG,
	};
	status = check_meta(efa, qp, count, meta);
	if (status)
		return status;
	switch (wr->op) {
	case EFA_OP_SEND:
		return parse_send(efa, qp, count, wqe, wr);
	case EFA_OP_RDMA_READ:
	case EFA_OP_RDMA_WRITE:
		return parse_rdma(efa, qp, count, wqe, wr);
	case EFA_OP_FAST_REG:
	case EFA_OP_FAST_INVALIDATE:
		wr->fast_reg = narrow->u.fast_reg;
		return EFA_IO_OK;
	}
	return malformed(efa, qp, count, "there is no such operation");
}

/* what a user may ask for that this QP or adapter does not do */
static enum efa_io_status check_op(const struct efa *efa, const struct efa_qp *qp,
				   const struct efa_wr *wr)
{
	uint64_t caps = efa->config.device_caps;
	bool rdma = wr->op == EFA_OP_RDMA_READ || wr->op == EFA_OP_RDMA_WRITE;

	if (wr->op != EFA_OP_SEND && qp->type != EFA_ADMIN_QP_SRD)
		return EFA_IO_LOCAL_UNSUPPORTED_OP;
	if ((wr->op == EFA_OP_RDMA_READ && !(caps & EFA_DEV_CAP_RDMA_READ)) ||
	    (wr->op == EFA_OP_RDMA_WRITE && !(caps & EFA_DEV_CAP_RDMA_WRITE)))
		return EFA_IO_LOCAL_UNSUPPORTED_OP;
	if (wr->length > (rdma ? efa->config.max_rdma_size : efa->config.mtu))
		return EFA_IO_LOCAL_BAD_LENGTH;
	return EFA_IO_OK;
}

static enum efa_io_status check_lkeys(struct efa *efa, const struct efa_qp *qp,
				      const struct efa_wr *wr)
{
	uint8_t permission = wr->op == EFA_OP_RDMA_READ ? EFA_MR_LOCAL_WRITE : 0;

	for (unsigned int i = 0; i < wr->bufs; i++)
		if (wr->buf[i].length &&
		    !efa_mr_allows(efa_mr_by_lkey(efa, wr->buf[i].lkey), qp->pd, wr->buf[i].addr,
				   wr->buf[i].length, permission))
			return EFA_IO_LOCAL_INVALID_LKEY;
	return EFA_IO_OK;
}

static void count_start(struct efa *efa, const struct efa_wr *wr)
{
	switch (wr->op) {
	case EFA_OP_SEND:
		efa->stats.messages.send_wrs++;
		efa->stats.messages.send_bytes += wr->length;
		break;
	case EFA_OP_RDMA_READ:
		efa->stats.read.wrs++;
		break;
	case EFA_OP_RDMA_WRITE:
		efa->stats.write.wrs++;
		break;
	}
}

enum start { STARTED, DONE, NO_ROOM };

/* DONE: *@status is its completion */
static enum start start_wr(struct efa *efa, struct efa_qp *qp, const struct efa_wr *wr,
			   enum efa_io_status *status)
{
	struct efa_ah *ah;

	*status = check_op(efa, qp, wr);
	if (*status)
		return DONE;
	if (wr->op == EFA_OP_FAST_REG) {
		*status = efa_mr_fast_reg(efa, qp->pd, &wr->fast_reg);
		return DONE;
	}
	if (wr->op == EFA_OP_FAST_INVALIDATE) {
		*status = efa_mr_fast_invalidate(efa, qp->pd, le32toh(wr->fast_reg.lkey));
		return DONE;
	}
	ah = efa_ah_get(efa, wr->ah);
	if (!ah || ah->pd != qp->pd) {
		*status = EFA_IO_LOCAL_INVALID_AH;
		return DONE;
	}
	*status = check_lkeys(efa, qp, wr);
	if (*status)
		return DONE;
	if (qp->type == EFA_ADMIN_QP_UD) {
		count_start(efa, wr);
		*status = efa_net_datagram(efa, qp, ah, wr);
		return DONE;
	}
	if (!efa_transfer_start(efa, qp, ah, wr))
		return NO_ROOM;
	count_start(efa, wr);
	return STARTED;
}

/* false if the WQE must wait */
static bool start_wqe(struct efa *efa, struct efa_qp *qp)
{
	enum efa_io_status status;
	struct efa_wr wr;
	enum start start = DONE;

	status = parse(efa, qp, qp->sq.started, &wr);
	if (!status)
		start = start_wr(efa, qp, &wr, &status);
	if (start == NO_ROOM)
		return false;
	qp->sq.started++;
	if (start == DONE)
		efa_sq_complete(efa, qp, wr.req_id, wr.op, status);
	return true;
}

/* ---- completions ------------------------------------------------------------------------ */

static void count_completion(struct efa *efa, struct efa_qp *qp, unsigned int op, bool error)
{
	switch (op) {
	case EFA_OP_SEND:
		efa_count(efa, qp, error ? EFA_COUNTER_SEND_ERROR : EFA_COUNTER_SEND);
		break;
	case EFA_OP_RDMA_READ:
		efa_count(efa, qp, error ? EFA_COUNTER_READ_ERROR : EFA_COUNTER_READ);
		break;
	case EFA_OP_RDMA_WRITE:
		efa_count(efa, qp, error ? EFA_COUNTER_WRITE_ERROR : EFA_COUNTER_WRITE);
		break;
	}
}

void efa_sq_complete(struct efa *efa, struct efa_qp *qp, uint64_t req_id, unsigned int op,
		     enum efa_io_status status)
{
	struct efa_cqe_rx_ex cqe = { 0 };
	struct efa_cqe_tx *tx = (void *)&cqe;

	if (qp->forced_count) {
		qp->forced_count--;
		status = qp->forced_status;
	}
	qp->sq.completed++;
	tx->common.req_id = htole16(req_id);
	tx->common.status = status;
	tx->common.flags = HW_PREP(EFA_CQE_QTYPE, EFA_CQE_QTYPE_SEND) | HW_PREP(EFA_CQE_OP, op);
	tx->common.qp_num = htole16(qp->num);
	if (qp->send_cq->ids64 && qp->flags & EFA_CREATE_QP_64BIT_IDS) {
		tx->req_id_ex[0] = htole16(req_id >> 16);
		tx->req_id_ex[1] = htole16(req_id >> 32);
		tx->req_id_ex[2] = htole16(req_id >> 48);
	}
	count_completion(efa, qp, op, status);
	efa_cq_push(efa, qp->send_cq, qp->send_sub, &cqe);
}

unsigned int efa_sq_flush(struct efa *efa, struct efa_qp *qp, unsigned int budget)
{
	struct efa_sq *sq = &qp->sq;
	unsigned int n = 0;

	while (n < budget && efa_transfer_flush_one(efa, qp))
		n++;
	for (; n < budget && sq->started < sq->posted; n++) {
		const struct efa_wqe_meta *meta = (const void *)copy_of(sq, sq->started++);

		efa->tally.flushes++;
		efa_sq_complete(efa, qp, req_id(qp, meta), HW_GET(EFA_WQE_OP, meta->ctrl1),
				EFA_IO_FLUSHED);
	}
	return n;
}

/* ---- work --------------------------------------------------------------------------------- */

/* a turn of one QP; true if it wants another one, *@stuck if that must wait for others */
static bool turn(struct efa *efa, struct efa_qp *qp, bool *stuck)
{
	struct efa_sq *sq = &qp->sq;
	bool fetch = efa_rq_fetch(efa, qp);

	if (efa_qp_flushes_sends(qp)) {
		unsigned int n = efa_sq_flush(efa, qp, FLUSHES_PER_TURN);

		if (qp->state == EFA_ADMIN_QPS_ERR)
			n += efa_rq_flush(efa, qp, FLUSHES_PER_TURN);
		return n || fetch;
	}
	if (qp->state != EFA_ADMIN_QPS_RTS)
		return fetch;
	for (unsigned int i = 0; i < WQES_PER_TURN && sq->started < sq->posted; i++) {
		if (!start_wqe(efa, qp)) {
			*stuck = true;
			break;
		}
	}
	return sq->started < sq->posted || fetch;
}

bool efa_sq_work(struct efa *efa)
{
	bool progress = false;

	for (unsigned int i = 0; i < TURNS_PER_SLICE; i++) {
		struct efa_qp *qp = TAILQ_FIRST(&efa->active);
		bool stuck = false;

		if (!qp)
			return false;
		efa_sq_deactivate(efa, qp);
		if (turn(efa, qp, &stuck))
			enlist(efa, qp);
		progress |= !stuck;
	}
	/* what is stuck is kicked when an operation ends */
	return progress && !TAILQ_EMPTY(&efa->active);
}
