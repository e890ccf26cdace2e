// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues: rings of descriptors in host memory. They are read some time
 * after their doorbell, at the latest when a message wants one, and checked then;
 * the WRs they form are used in ring order.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"

#define FETCH_MAX	256	/* descriptors read in one go */
#define GRH_SIZE	40	/* room at the start of a UD receive buffer, left alone */

/* bits that the model adds to its copy of a descriptor */
#define RX_BAD		0x01000000

void efa_rq_init(struct efa_qp *qp)
{
	struct efa_rq *rq = &qp->rq;

	if (!rq->descs)
		return;
	rq->copy = malloc(rq->descs * sizeof(*rq->copy));
	if (!rq->copy)
		abort();
}

void efa_rq_reset(struct efa *efa, struct efa_qp *qp)
{
	struct efa_rq *rq = &qp->rq;

	efa_db_clear(efa, rq->db, &rq->db_word);
	if (!rq->descs)
		return;
	rq->posted = rq->fetched = rq->consumed = rq->ready = 0;
	rq->in_wr = 0;
}

void efa_rq_doorbell(struct efa *efa, struct efa_qp *qp, uint32_t value)
{
	struct efa_rq *rq = &qp->rq;
	uint16_t n = value - rq->posted;

	efa->tally.doorbells_rq++;
	if (value & ~EFA_QP_DB_COUNT) {
		model_violation(&efa->dev, "QP %u: receive doorbell 0x%x: the count has 16 bits",
				qp->num, value);
		return;
	}
	if (!n)
		return;		/* drivers ring after every post call, empty ones too */
	if (qp->state == EFA_ADMIN_QPS_RESET) {
		model_violation(&efa->dev, "QP %u: receive doorbell %u in state RESET", qp->num,
				value);
		return;
	}
	if (rq->posted + n - rq->consumed > rq->descs) {
		model_violation(&efa->dev, "QP %u: receive doorbell %u: %" PRIu64 " descriptors "
				"outstanding and %u more, the ring has %u", qp->num, value,
				rq->posted - rq->consumed, n, rq->descs);
		return;
	}
	rq->posted += n;
	efa_sq_activate(efa, qp);
}

/* ---- descriptors ------------------------------------------------------- */

static struct efa_rx_desc *desc_at(const struct efa_rq *rq, uint64_t count)
{
	return &rq->copy[count % rq->descs];
}

/* NULL, or what is wrong with a descriptor */
static const char *fault_of(const struct efa *efa, const struct efa_rq *rq,
			    const struct efa_rx_desc *desc)
{
	uint32_t ctrl = le32toh(desc->lkey_ctrl);

	if (ctrl & EFA_RX_MBZ && efa->config.mbz)
		return "reserved bits are not zero";
	if (!rq->in_wr && !(ctrl & EFA_RX_FIRST))
		return "first is not set at the beginning of a WR";
	if (rq->in_wr && ctrl & EFA_RX_FIRST)
		return "first is set before the WR's last descriptor";
	if (rq->in_wr && desc->req_id)
		return "a request id belongs to the first descriptor only";
	if (rq->in_wr >= efa->config.recv_sges)
		return "more descriptors in a WR than max_recv_sges";
	return NULL;
}

/* ends the WR at a bad descriptor, so that the ones behind it can be used */
static void make_bad(struct efa_rx_desc *desc)
{
	desc->lkey_ctrl = htole32(EFA_RX_FIRST | EFA_RX_LAST | RX_BAD);
}

static void check_desc(struct efa *efa, struct efa_qp *qp, uint64_t count)
{
	struct efa_rq *rq = &qp->rq;
	struct efa_rx_desc *desc = desc_at(rq, count);
	const char *fault = fault_of(efa, rq, desc);

	if (fault) {
		model_violation(&efa->dev, "QP %u: receive descriptor %" PRIu64 ": %s", qp->num,
				count, fault);
		make_bad(desc);
	} else {
		desc->lkey_ctrl &= ~htole32(EFA_RX_MBZ);
	}
	rq->in_wr++;
	if (le32toh(desc->lkey_ctrl) & EFA_RX_LAST) {
		rq->in_wr = 0;
		rq->ready++;
	}
}

/* descriptors that could not be read: as many WRs without a buffer that works */
static void lose(struct efa_rq *rq, uint64_t n)
{
	for (; n; n--, rq->fetched++) {
		make_bad(desc_at(rq, rq->fetched));
		rq->ready++;
	}
	rq->in_wr = 0;
}

bool efa_rq_fetch(struct efa *efa, struct efa_qp *qp)
{
	struct efa_rq *rq = &qp->rq;
	uint64_t n = rq->posted - rq->fetched;
	uint64_t slot, to_end;

	if (!n)
		return false;
	slot = rq->fetched % rq->descs;
	to_end = rq->descs - slot;
	if (n > to_end)
		n = to_end;
	if (n > FETCH_MAX)
		n = FETCH_MAX;
	if (efa_dma_fails(efa, "dma_receive")) {
		lose(rq, n);
		return rq->fetched < rq->posted;
	}
	if (model_dma_read(&efa->dev, rq->base + slot * sizeof(*rq->copy), rq->copy + slot,
			   n * sizeof(*rq->copy))) {
		model_violation(&efa->dev, "QP %u: receive ring at 0x%" PRIx64 " is not memory "
				"of the guest", qp->num, rq->base);
		memset(rq->copy + slot, 0, n * sizeof(*rq->copy));
	}
	for (uint64_t end = rq->fetched + n; rq->fetched < end; rq->fetched++)
		check_desc(efa, qp, rq->fetched);
	if (rq->fetched == rq->posted && rq->in_wr) {
		model_violation(&efa->dev, "QP %u: receive doorbell %" PRIu64 " in the middle of "
				"a WR", qp->num, rq->posted);
		make_bad(desc_at(rq, rq->fetched - 1));
		rq->in_wr = 0;
		rq->ready++;
	}
	return rq->fetched < rq->posted;
}

static void take_apart(const struct efa_rq *rq, struct efa_rx_wr *wr)
{
	uint64_t count = rq->consumed;
	uint32_t ctrl;

	wr->req_id = le16toh(desc_at(rq, count)->req_id);
	wr->count = 0;
	wr->bad = false;
	do {
		const struct efa_rx_desc *desc = desc_at(rq, count++);
		struct efa_rx_buf *buf = &wr->buf[wr->count];

		ctrl = le32toh(desc->lkey_ctrl);
		if (ctrl & RX_BAD) {
			wr->bad = true;
			continue;
		}
		buf->addr = le32toh(desc->addr_lo) | (uint64_t)le32toh(desc->addr_hi) << 32;
		buf->length = le16toh(desc->length);
		buf->lkey = ctrl & EFA_RX_LKEY;
		wr->count++;
	} while (!(ctrl & EFA_RX_LAST));
	wr->descs = count - rq->consumed;
}

bool efa_rq_peek(struct efa *efa, struct efa_qp *qp, struct efa_rx_wr *wr)
{
	struct efa_rq *rq = &qp->rq;

	/* what was announced before the message came is there for it */
	while (!rq->ready && efa_rq_fetch(efa, qp))
		;
	if (!rq->ready)
		return false;
	if (wr)
		take_apart(rq, wr);
	return true;
}

void efa_rq_take(struct efa_qp *qp, const struct efa_rx_wr *wr)
{
	qp->rq.consumed += wr->descs;
	qp->rq.ready--;
}

/* ---- completions ------------------------------------------------------- */

void efa_rq_complete(struct efa *efa, struct efa_qp *qp, uint16_t req_id,
		     const struct efa_arrival *arrival, enum efa_io_status status)
{
	struct efa_ah *ah = arrival->peer ? efa_ah_to(qp->pd, arrival->peer) : NULL;
	struct efa_cqe_rx_ex cqe = { 0 };
	struct efa_cqe_common *common = &cqe.rx.common;

	common->req_id = htole16(req_id);
	common->status = status;
	common->flags = HW_PREP(EFA_CQE_QTYPE, EFA_CQE_QTYPE_RECV) |
			HW_PREP(EFA_CQE_OP, arrival->op) |
			(arrival->has_imm ? EFA_CQE_HAS_IMM : 0) |
			(arrival->unsolicited ? EFA_CQE_UNSOLICITED : 0);
	common->qp_num = htole16(qp->num);
	cqe.rx.length = htole16(arrival->length);
	cqe.rx.ah = htole16(ah ? ah->num : EFA_AH_UNKNOWN);
	cqe.rx.src_qp_num = htole16(arrival->src_qp);
	cqe.rx.imm = htole32(arrival->imm);
	if (arrival->op == EFA_OP_RDMA_WRITE)
		cqe.u.length_hi = htole16(arrival->length >> 16);
	else if (!ah && arrival->peer && qp->recv_cq->src_addr)
		memcpy(cqe.u.src_addr, arrival->peer->gid, EFA_GID_SIZE);
	efa_count(efa, qp, status ? EFA_COUNTER_RECV_ERROR : EFA_COUNTER_RECV);
	efa_cq_push(efa, qp->recv_cq, qp->recv_sub, &cqe);
}

unsigned int efa_rq_flush(struct efa *efa, struct efa_qp *qp, unsigned int budget)
{
	static const struct efa_arrival nothing;
	struct efa_rx_wr wr;
	unsigned int n;

	for (n = 0; n < budget && efa_rq_peek(efa, qp, &wr); n++) {
		efa_rq_take(qp, &wr);
		efa->tally.flushes++;
		efa_rq_complete(efa, qp, wr.req_id, &nothing, EFA_IO_FLUSHED);
	}
	return n;
}

/* ---- messages ---------------------------------------------------------- */

static uint32_t room_in(const struct efa_rx_wr *wr)
{
	uint32_t room = 0;

	for (unsigned int i = 0; i < wr->count; i++)
		room += wr->buf[i].length;
	return room;
}

static bool may_scatter(struct efa *efa, const struct efa_qp *qp, const struct efa_rx_wr *wr,
			uint32_t length)
{
	for (unsigned int i = 0; length && i < wr->count; i++) {
		uint32_t part = wr->buf[i].length < length ? wr->buf[i].length : length;

		if (part && !efa_mr_allows(efa_mr_by_lkey(efa, wr->buf[i].lkey), qp->pd,
					   wr->buf[i].addr, part, EFA_MR_LOCAL_WRITE))
			return false;
		length -= part;
	}
	return true;
}

/* bytes [off, off + len) of the WR's buffers */
static bool scatter(struct efa *efa, const struct efa_rx_wr *wr, uint32_t off, const uint8_t *data,
		    uint32_t len)
{
	for (unsigned int i = 0; len && i < wr->count; i++) {
		const struct efa_rx_buf *buf = &wr->buf[i];
		uint32_t part;

		if (off >= buf->length) {
			off -= buf->length;
			continue;
		}
		part = buf->length - off < len ? buf->length - off : len;
		if (efa_mr_write(efa, efa_mr_by_lkey(efa, buf->lkey), buf->addr + off, data, part))
			return false;
		data += part;
		len -= part;
		off = 0;
	}
	return true;
}

enum efa_io_status efa_rq_message(struct efa *efa, struct efa_qp *qp,
				  const struct efa_arrival *arrival, const void *data)
{
	struct efa_arrival done = *arrival;
	uint32_t header = 0;
	struct efa_rx_wr wr;

	if (!efa_rq_peek(efa, qp, &wr))
		return EFA_IO_REMOTE_RNR;
	if (efa->config.ud_grh && qp->type == EFA_ADMIN_QP_UD)
		header = GRH_SIZE;
	done.length = arrival->length + header;
	if (!wr.bad && done.length > room_in(&wr))
		return EFA_IO_REMOTE_BAD_LENGTH;

	efa_rq_take(qp, &wr);
	if (wr.bad || !may_scatter(efa, qp, &wr, done.length) ||
	    !scatter(efa, &wr, header, data, arrival->length)) {
		/* choice: the receiver learns whose mistake it was, the sender that it was not his */
		efa_rq_complete(efa, qp, wr.req_id, &done,
				wr.bad ? EFA_IO_LOCAL_QP_INTERNAL : EFA_IO_LOCAL_INVALID_LKEY);
		return EFA_IO_REMOTE_BAD_STATUS;
	}
	efa->stats.messages.recv_wrs++;
	efa->stats.messages.recv_bytes += arrival->length;
	efa_rq_complete(efa, qp, wr.req_id, &done, EFA_IO_OK);
	return EFA_IO_OK;
}
