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

	efa_db_clear(efa, sq->db, &sq->db_word);
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

/* ---- stores to the ring (strict mode sees each) ------------------------ */

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

/* ---- doorbell ---------------------------------------------------------- */

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
	/* a look at a polled word may find what several stores have added up to */
	if (efa->config.polled)
		return true;
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
	if (n > efa->tally.max_batch && !efa->config.polled)
		efa->tally.max_batch = n;
	for (; n; n--)
		take_wqe(efa, qp, sq->posted++);
	efa_sq_activate(efa, qp);
}

/* ---- work requests ----------------------------------------------------- */

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

	status = efa_wqe_parse(efa, qp, qp->sq.started, copy_of(&qp->sq, qp->sq.started), &wr);
	if (!status)
		start = start_wr(efa, qp, &wr, &status);
	if (start == NO_ROOM)
		return false;
	qp->sq.started++;
	if (start == DONE)
		efa_sq_complete(efa, qp, wr.req_id, wr.op, status);
	return true;
}

/* ---- completions ------------------------------------------------------- */

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
		efa_sq_complete(efa, qp, efa_wqe_req_id(qp, meta), HW_GET(EFA_WQE_OP, meta->ctrl1),
				EFA_IO_FLUSHED);
	}
	return n;
}

/* ---- work -------------------------------------------------------------- */

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
