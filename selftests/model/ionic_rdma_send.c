// SPDX-License-Identifier: GPL-2.0
/*
 * The requester: takes send WQEs, makes packets of them, and completes them.
 *
 * Ops live in the ring slots [head, next). The cursor is the packet that is sent
 * next; it runs ahead of what is acknowledged by at most IONIC_WINDOW packets.
 * When something was lost it goes back to the oldest unacknowledged packet. Ops
 * that send nothing (registration, windows) and failures found here wait until
 * they are the oldest, so that what came before them is finished.
 *
 * Completions: every message of a connected QP makes an MSN entry, everything
 * else an NPG entry, one each.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ionic_rdma.h"

#define ACK_EVERY	16u	/* packets; and the last of each message */
#define TIMEOUT_NS	4096ull	/* << exponent */
#define RNR_FOR_EVER	7
#define QKEY_OWN	0x80000000u
#define NS_PER_US	1000ull

/* verbs' RNR timer codes, in units of 10 us */
static const uint32_t rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static void reload_retries(struct ionic_qp *qp)
{
	qp->req.retries = qp->attr.retry;
	qp->req.rnr_retries = qp->attr.rnr_retry;
}

static unsigned int next_slot(const struct ionic_qp *qp, unsigned int slot)
{
	return (slot + 1) & ionic_wq_mask(&qp->sq);
}

/* retransmission is under way from here on */
static void go_back(struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;

	req->cursor = req->head;
	req->cursor_packet = req->head == qp->sq.next ? 0 : req->ops[req->head].done;
	req->reads = 0;
}

void ionic_requester_reset(struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;

	qp->sq.next = req->head = req->cursor = qp->sq.posted;
	req->lost = false;
	req->cursor_packet = 0;
	req->reads = 0;
	req->timeout_when = req->rnr_when = req->full_when = 0;
	reload_retries(qp);
}

void ionic_requester_start(struct ionic_qp *qp)
{
	ionic_requester_reset(qp);
	qp->req.next_psn = qp->req.una = qp->attr.sq_psn;
}

void ionic_requester_skip(struct ionic_qp *qp, uint16_t index)
{
	qp->sq.posted = qp->sq.next = qp->req.head = qp->req.cursor = index;
}

/* ---- completions ------------------------------------------------------------------ */

static bool is_local(const struct ionic_qp *qp, const struct ionic_op *op)
{
	return qp->type == IONIC_QPT_UD || op->kind >= IONIC_OP_KIND_REG_MR;
}

static void push(struct ionic *ionic, struct ionic_qp *qp, struct ionic_cqe *cqe,
		 enum ionic_cqe_type type, enum ionic_io_status status)
{
	cqe->status_length = htobe32(status);
	ionic_cq_complete(ionic, qp->sq.cq, cqe, HW_PREP(IONIC_CQE_QID, qp->id) |
			  HW_PREP(IONIC_CQE_TYPE, (uint32_t)type) |
			  (status ? IONIC_CQE_ERROR : 0), false, "send_completion");
}

static void push_npg(struct ionic *ionic, struct ionic_qp *qp, unsigned int slot,
		     enum ionic_io_status status)
{
	struct ionic_cqe cqe = { .u.send.id = htole64(slot) };

	push(ionic, qp, &cqe, IONIC_CQE_SEND_NPG, status);
}

static void push_msn(struct ionic *ionic, struct ionic_qp *qp, enum ionic_io_status status)
{
	struct ionic_cqe cqe = { 0 };

	qp->req.msn = next_slot(qp, qp->req.msn);
	cqe.u.send.msn = htobe32(qp->req.msn);
	push(ionic, qp, &cqe, IONIC_CQE_SEND_MSN, status);
}

/* the oldest op is done; the cursor stays where it is unless it was on it */
static void retire(struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;

	if (req->cursor == req->head) {
		req->cursor = next_slot(qp, req->head);
		req->cursor_packet = 0;
	}
	req->head = next_slot(qp, req->head);
}

static void fail(struct ionic *ionic, struct ionic_qp *qp, enum ionic_io_status status,
		 bool remote);

static void finish(struct ionic *ionic, struct ionic_qp *qp)
{
	const struct ionic_op *op = &qp->req.ops[qp->req.head];
	unsigned int slot = qp->req.head;

	if (qp->forced_count) {
		qp->forced_count--;
		fail(ionic, qp, qp->forced_status, !is_local(qp, op));
		return;
	}
	qp->sent++;
	retire(qp);
	if (is_local(qp, op))
		push_npg(ionic, qp, slot, IONIC_IO_OK);
	else
		push_msn(ionic, qp, IONIC_IO_OK);
}

/* the oldest op fails, and with it the queue */
static void fail(struct ionic *ionic, struct ionic_qp *qp, enum ionic_io_status status,
		 bool remote)
{
	unsigned int slot = qp->req.head;

	retire(qp);
	ionic_cq_hold(qp->sq.cq);
	if (remote)
		push_msn(ionic, qp, status);
	else
		push_npg(ionic, qp, slot, status);
	/* choice: datagrams leave the receive queue alone, as verbs have it */
	if (qp->type == IONIC_QPT_UD)
		ionic_qp_send_error(ionic, qp);
	else
		ionic_qp_error(ionic, qp);
	ionic_cq_release(ionic, qp->sq.cq);
}

/* all sends that had begun are finished: what SQD waits for */
static void check_drained(struct ionic *ionic, struct ionic_qp *qp)
{
	if (!qp->draining || qp->state != IONIC_QPS_SQD || qp->req.head != qp->sq.next)
		return;
	qp->draining = false;
	if (qp->attr.flags & IONIC_QP_SQD_NOTIFY)
		ionic_qp_event(ionic, qp, IONIC_EQE_SQ_DRAINED);
}

/* ---- packets ---------------------------------------------------------------------- */

static uint32_t packets_of(const struct ionic_qp *qp, const struct ionic_op *op)
{
	uint32_t size = ionic_qp_mtu(qp);

	if (op->kind >= IONIC_OP_KIND_REG_MR)
		return 0;
	if (op->kind == IONIC_OP_KIND_ATOMIC || !op->sgl.length)
		return 1;
	return (op->sgl.length + size - 1) / size;
}

/* opcodes of the packets of a message: middle, first, last, only */
static unsigned int opcode_of(const struct ionic_op *op, bool first, bool last)
{
	if (op->kind == IONIC_OP_KIND_WRITE) {
		if (!last)
			return first ? IONIC_WIRE_WRITE_FIRST : IONIC_WIRE_WRITE_MIDDLE;
		if (op->imm)
			return first ? IONIC_WIRE_WRITE_ONLY_IMM : IONIC_WIRE_WRITE_LAST_IMM;
		return first ? IONIC_WIRE_WRITE_ONLY : IONIC_WIRE_WRITE_LAST;
	}
	if (!last)
		return first ? IONIC_WIRE_SEND_FIRST : IONIC_WIRE_SEND_MIDDLE;
	if (op->imm)
		return first ? IONIC_WIRE_SEND_ONLY_IMM : IONIC_WIRE_SEND_LAST_IMM;
	if (op->inv)
		return first ? IONIC_WIRE_SEND_ONLY_INV : IONIC_WIRE_SEND_LAST_INV;
	return first ? IONIC_WIRE_SEND_ONLY : IONIC_WIRE_SEND_LAST;
}

static unsigned int class_of(const struct ionic_qp *qp)
{
	return qp->type == IONIC_QPT_RC ? IONIC_WIRE_RC :
	       qp->type == IONIC_QPT_UC ? IONIC_WIRE_UC : IONIC_WIRE_UD;
}

/* the packet at @packet of a send or write */
static struct ionic_packet data_packet(const struct ionic_qp *qp, const struct ionic_op *op,
				       uint32_t packet)
{
	bool first = !packet, last = packet == op->packets - 1;

	return (struct ionic_packet){
		.opcode = opcode_of(op, first, last) | class_of(qp),
		.solicited = last && op->solicited,
		.ack_req = qp->type == IONIC_QPT_RC && (last || packet % ACK_EVERY == 0),
		.pkey = IONIC_PKEY_DEFAULT,
		.dest_qpn = qp->type == IONIC_QPT_UD ? op->dest_qpn : qp->attr.dest_qpn,
		.psn = ionic_psn_add(op->psn, packet),
		.qkey = op->qkey & QKEY_OWN ? qp->attr.qkey : op->qkey, .src_qpn = qp->id,
		.addr = op->remote_addr, .rkey = op->rkey, .length = op->sgl.length,
		.imm = op->imm_key, .inv_key = be32toh(op->imm_key),
	};
}

/* a read that goes on in the middle asks for the rest only */
static struct ionic_packet request_packet(const struct ionic_qp *qp, const struct ionic_op *op,
					  uint32_t packet)
{
	uint64_t done = (uint64_t)packet << qp->attr.pmtu_log2;
	unsigned int atomic = op->add ? IONIC_WIRE_FETCH_ADD : IONIC_WIRE_CMP_SWAP;

	return (struct ionic_packet){
		.opcode = op->kind == IONIC_OP_KIND_READ ? IONIC_WIRE_READ_REQUEST : atomic,
		.ack_req = true,
		.pkey = IONIC_PKEY_DEFAULT, .dest_qpn = qp->attr.dest_qpn,
		.psn = ionic_psn_add(op->psn, packet),
		.addr = op->remote_addr + done, .rkey = op->rkey,
		.length = op->sgl.length - done,
		.swap_add = op->swap_add, .compare = op->compare,
	};
}

static int transmit(struct ionic *ionic, const struct ionic_ah *ah, uint8_t *frame, size_t at,
		    size_t payload_len)
{
	size_t len = ionic_wire_end(frame, &ah->header, at, payload_len);
	int err = ionic_net_send(ionic, frame, len);

	if (err)
		return err;
	ionic->rdma->tally.tx_packets++;
	ionic->rdma->tally.tx_bytes += len;
	ionic_stats_add(ionic, IONIC_STAT_TX_RDMA_PACKETS, 1);
	ionic_stats_add(ionic, IONIC_STAT_TX_RDMA_BYTES, len);
	return 0;
}

int ionic_rdma_transmit(struct ionic *ionic, const struct ionic_ah *ah,
			const struct ionic_packet *packet)
{
	uint8_t frame[IONIC_WIRE_FRAME_MAX];
	size_t at = ionic_wire_begin(frame, &ah->header, packet, packet->payload_len);

	if (packet->payload_len)
		memcpy(frame + at, packet->payload, packet->payload_len);
	return transmit(ionic, ah, frame, at, packet->payload_len);
}

/* one packet of a send or write, its payload straight from memory; 0, -ENOBUFS or -EACCES */
static int send_data(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op,
		     const struct ionic_ah *ah, uint32_t packet)
{
	struct ionic_packet wire = data_packet(qp, op, packet);
	uint64_t off = (uint64_t)packet * ionic_qp_mtu(qp), rest = op->sgl.length - off;
	size_t len = rest < ionic_qp_mtu(qp) ? rest : ionic_qp_mtu(qp), at;
	uint8_t frame[IONIC_WIRE_FRAME_MAX];

	at = ionic_wire_begin(frame, &ah->header, &wire, len);
	op->status = ionic_sgl_gather(ionic, qp, &op->sgl, off, frame + at, len);
	if (op->status)
		return -EACCES;
	return transmit(ionic, ah, frame, at, len) == -ENOBUFS ? -ENOBUFS : 0;
}

/* ---- the state of a connected QP -------------------------------------------------- */

static void start_timer(struct ionic *ionic, struct ionic_qp *qp)
{
	if (qp->attr.timeout && qp->type == IONIC_QPT_RC)
		qp->req.timeout_when = model_now(&ionic->dev) + (TIMEOUT_NS << qp->attr.timeout);
}

static bool outstanding(const struct ionic_qp *qp)
{
	const struct ionic_requester *req = &qp->req;

	return req->cursor != req->head || req->cursor_packet != req->ops[req->head].done;
}

/* forward progress: all that was tried again may be tried as often again */
static void progress(struct ionic *ionic, struct ionic_qp *qp)
{
	reload_retries(qp);
	qp->req.lost = false;
	qp->req.timeout_when = 0;
	if (qp->req.head != qp->sq.next && outstanding(qp))
		start_timer(ionic, qp);
}

/* takes the next WQE of the ring into the list of ops */
static void begin(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_op *op = &qp->req.ops[qp->sq.next];

	ionic_wq_take_send(ionic, qp, op);
	op->psn = qp->req.next_psn;
	op->packets = op->status ? 0 : packets_of(qp, op);
	qp->req.next_psn = ionic_psn_add(op->psn, op->packets);
}

static bool is_read(const struct ionic_op *op)
{
	return op->kind == IONIC_OP_KIND_READ || op->kind == IONIC_OP_KIND_ATOMIC;
}

static unsigned int reads_max(const struct ionic_qp *qp)
{
	return (1u << qp->attr.rrq_depth_log2) - 1;
}

/* must the op at the cursor wait for others? */
static bool must_wait(const struct ionic_qp *qp, const struct ionic_op *op)
{
	const struct ionic_requester *req = &qp->req;
	uint32_t psn = ionic_psn_add(op->psn, req->cursor_packet);

	if (op->status || op->kind >= IONIC_OP_KIND_REG_MR)
		return req->cursor != req->head;
	if (op->fence && req->reads && !req->cursor_packet)
		return true;
	if (is_read(op) && req->reads >= reads_max(qp) && reads_max(qp))
		return true;
	return qp->type == IONIC_QPT_RC &&
	       ionic_psn_diff(psn, req->una) >= (int32_t)IONIC_WINDOW;
}

static enum ionic_io_status run_local(struct ionic *ionic, struct ionic_qp *qp,
				      const struct ionic_op *op)
{
	switch (op->kind) {
	case IONIC_OP_KIND_REG_MR:
		return ionic_mr_register(ionic, qp, (const struct ionic_wqe_reg_mr *)op->wqe);
	case IONIC_OP_KIND_LOCAL_INV:
		return ionic_mr_invalidate(ionic, qp, be32toh(op->imm_key));
	default:
		return ionic_mr_bind(ionic, qp, (const struct ionic_wqe_bind_mw *)op->wqe);
	}
}

/* checked before the first packet leaves, so that nothing of a bad WQE arrives */
static enum ionic_io_status check_op(struct ionic *ionic, const struct ionic_qp *qp,
				     const struct ionic_op *op)
{
	if (is_read(op) && (qp->type != IONIC_QPT_RC || !reads_max(qp)))
		return IONIC_IO_LOCAL_QP_OP;
	if (op->sgl.data)
		return IONIC_IO_OK;
	for (unsigned int i = 0; i < op->sgl.count; i++) {
		const struct ionic_sge *sge = &op->sgl.sge[i];

		if (!ionic_mr_allows(ionic, qp, be32toh(sge->key), be64toh(sge->addr),
				     be32toh(sge->length), is_read(op) ? IONIC_MR_LOCAL_WRITE : 0))
			return IONIC_IO_LOCAL_PROT;
	}
	return IONIC_IO_OK;
}

static void advance(struct ionic_qp *qp, uint32_t packets)
{
	struct ionic_requester *req = &qp->req;

	req->cursor_packet += packets;
	if (req->cursor_packet < req->ops[req->cursor].packets)
		return;
	req->cursor = next_slot(qp, req->cursor);
	req->cursor_packet = req->cursor == qp->sq.next ? 0 : req->ops[req->cursor].done;
}

/* what an op without packets does; false: the queue failed */
static bool step_local(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op)
{
	if (!op->status)
		op->status = run_local(ionic, qp, op);
	if (op->status) {
		fail(ionic, qp, op->status, false);
		return false;
	}
	finish(ionic, qp);
	return true;
}

/* sends what the cursor is at; 0, or -ENOBUFS */
static int step_remote(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op)
{
	struct ionic_requester *req = &qp->req;
	const struct ionic_ah *ah = ionic_ah_get(ionic, qp->attr.ah);
	struct ionic_packet request;
	int err;

	if (!is_read(op)) {
		err = send_data(ionic, qp, op, ah, req->cursor_packet);
		if (!err)
			advance(qp, 1);
		return err;
	}
	request = request_packet(qp, op, req->cursor_packet);
	err = ionic_rdma_transmit(ionic, ah, &request);
	if (err == -ENOBUFS)
		return err;
	req->reads++;
	advance(qp, op->packets - req->cursor_packet);
	return 0;
}

/* unreliable: gone is done */
static void finish_unreliable(struct ionic *ionic, struct ionic_qp *qp)
{
	while (qp->req.head != qp->req.cursor && !qp->req.ops[qp->req.head].status &&
	       qp->req.ops[qp->req.head].kind < IONIC_OP_KIND_REG_MR) {
		qp->req.una = ionic_psn_add(qp->req.una, qp->req.ops[qp->req.head].packets);
		finish(ionic, qp);
	}
}

/* one step of a connected QP; true if there may be another */
static bool step_connected(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;
	struct ionic_op *op;

	if (req->cursor == qp->sq.next) {
		if (qp->sq.next == qp->sq.posted || qp->state != IONIC_QPS_RTS)
			return false;
		begin(ionic, qp);
	}
	op = &req->ops[req->cursor];
	if (must_wait(qp, op))
		return false;
	if (!op->status && !req->cursor_packet && op->kind < IONIC_OP_KIND_REG_MR)
		op->status = check_op(ionic, qp, op);
	if (op->status && req->cursor != req->head)
		return false;
	if (op->status || op->kind >= IONIC_OP_KIND_REG_MR)
		return step_local(ionic, qp, op);
	if (step_remote(ionic, qp, op) == -ENOBUFS) {
		req->full_when = model_now(&ionic->dev) + IONIC_FULL_NS;
		return false;
	}
	if (!req->timeout_when)
		start_timer(ionic, qp);
	if (qp->type == IONIC_QPT_UC)
		finish_unreliable(ionic, qp);
	return true;
}

/* ---- datagrams -------------------------------------------------------------------- */

static enum ionic_io_status check_datagram(struct ionic *ionic, const struct ionic_qp *qp,
					   const struct ionic_op *op, const struct ionic_ah *ah)
{
	if (op->kind != IONIC_OP_KIND_SEND || op->inv || !ah || ah->pd != qp->pd)
		return IONIC_IO_LOCAL_QP_OP;
	if (op->sgl.length > IONIC_MTU_MAX)
		return IONIC_IO_LOCAL_LEN;
	return check_op(ionic, qp, op);
}

/* one datagram; true if there may be another */
static bool step_datagram(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;
	const struct ionic_ah *ah;
	struct ionic_op *op;
	int err = 0;

	if (req->head == qp->sq.next) {
		if (qp->sq.next == qp->sq.posted || qp->state != IONIC_QPS_RTS)
			return false;
		begin(ionic, qp);
	}
	op = &req->ops[req->head];
	ah = ionic_ah_get(ionic, op->ah);
	if (!op->status)
		op->status = check_datagram(ionic, qp, op, ah);
	if (!op->status)
		err = send_data(ionic, qp, op, ah, 0);
	if (err == -ENOBUFS) {
		req->full_when = model_now(&ionic->dev) + IONIC_FULL_NS;
		return false;
	}
	if (op->status) {
		fail(ionic, qp, op->status, false);
		return false;
	}
	finish(ionic, qp);
	return true;
}

/* ---- time ------------------------------------------------------------------------- */

static bool sends(const struct ionic_qp *qp)
{
	return qp->state == IONIC_QPS_RTS || qp->state == IONIC_QPS_SQD;
}

static void time_out(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_requester *req = &qp->req;

	req->timeout_when = 0;
	ionic->rdma->tally.timeouts++;
	if (!req->retries) {
		fail(ionic, qp, IONIC_IO_RETRY_EXCEEDED, true);
		return;
	}
	req->retries--;
	ionic->rdma->tally.retries++;
	go_back(qp);
}

/* is a wait over? Then what it waited for happens; false while it is not */
static bool pass_waits(struct ionic *ionic, struct ionic_qp *qp, uint64_t *when)
{
	struct ionic_requester *req = &qp->req;
	uint64_t now = model_now(&ionic->dev);

	if (req->timeout_when && req->timeout_when <= now && !req->rnr_when)
		time_out(ionic, qp);
	if (req->rnr_when && req->rnr_when <= now)
		req->rnr_when = 0;
	if (req->full_when && req->full_when <= now)
		req->full_when = 0;
	*when = req->rnr_when ? req->rnr_when : req->full_when;
	return !*when;
}

bool ionic_requester_work(struct ionic *ionic, struct ionic_qp *qp, unsigned int budget,
			  uint64_t *when)
{
	bool more = true;

	if (!qp->sq.cq || !sends(qp) || !pass_waits(ionic, qp, when))
		return false;
	while (more && budget-- && sends(qp))
		more = qp->type == IONIC_QPT_UD ? step_datagram(ionic, qp) :
						  step_connected(ionic, qp);
	check_drained(ionic, qp);
	*when = ionic_earlier(qp->req.full_when, qp->req.timeout_when);
	return more && sends(qp);
}

/* ---- answers ---------------------------------------------------------------------- */

/* everything before @psn has arrived, but reads and atomics need their answers */
static void acknowledge(struct ionic *ionic, struct ionic_qp *qp, uint32_t psn)
{
	struct ionic_requester *req = &qp->req;
	bool any = false;

	while (req->head != qp->sq.next && ionic_psn_diff(psn, req->una) > 0) {
		struct ionic_op *op = &req->ops[req->head];
		int32_t got = ionic_psn_diff(psn, ionic_psn_add(op->psn, op->done));

		if (!op->packets || (is_read(op) && got > 0))
			break;
		if (got > (int32_t)(op->packets - op->done))
			got = op->packets - op->done;
		if (got <= 0)
			break;
		op->done += got;
		req->una = ionic_psn_add(op->psn, op->done);
		any = true;
		if (op->done < op->packets)
			break;
		finish(ionic, qp);
	}
	if (any)
		progress(ionic, qp);
}

/* was that packet sent and is it not finished? */
static bool expected(const struct ionic_qp *qp, uint32_t psn)
{
	return qp->req.head != qp->sq.next && ionic_psn_diff(psn, qp->req.una) >= 0 &&
	       ionic_psn_diff(psn, qp->req.next_psn) < 0;
}

static enum ionic_io_status nak_status(unsigned int code)
{
	switch (code) {
	case IONIC_NAK_INVALID:
		return IONIC_IO_REMOTE_INV_REQ;
	case IONIC_NAK_ACCESS:
		return IONIC_IO_REMOTE_ACCESS;
	case IONIC_NAK_OPERATION:
		return IONIC_IO_REMOTE_OP;
	default:
		return IONIC_IO_BAD_RESP;
	}
}

static void not_ready(struct ionic *ionic, struct ionic_qp *qp, unsigned int timer)
{
	struct ionic_requester *req = &qp->req;

	if (!req->rnr_retries) {
		fail(ionic, qp, IONIC_IO_RNR_EXCEEDED, true);
		return;
	}
	if (qp->attr.rnr_retry != RNR_FOR_EVER)
		req->rnr_retries--;
	req->rnr_when = model_now(&ionic->dev) + rnr_10us[timer] * 10 * NS_PER_US;
	req->timeout_when = 0;
	go_back(qp);
}

static void negative(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	unsigned int code = packet->syndrome & IONIC_SYNDROME_CODE;
	unsigned int kind = packet->syndrome & IONIC_SYNDROME_KIND;

	acknowledge(ionic, qp, packet->psn);
	if (qp->req.head == qp->sq.next)
		return;
	if (kind == IONIC_SYNDROME_RNR) {
		not_ready(ionic, qp, code);
	} else if (code == IONIC_NAK_SEQUENCE) {
		ionic->rdma->tally.retries++;
		go_back(qp);
	} else {
		fail(ionic, qp, nak_status(code), true);
	}
}

/* the op that waits for this answer: the oldest one; NULL if something before it was lost */
static struct ionic_op *answered_op(struct ionic *ionic, struct ionic_qp *qp,
				    const struct ionic_packet *packet)
{
	struct ionic_op *op;

	/* what was sent before a read is acknowledged by its answer */
	acknowledge(ionic, qp, packet->psn);
	if (qp->req.head == qp->sq.next)
		return NULL;
	op = &qp->req.ops[qp->req.head];
	if (packet->psn == ionic_psn_add(op->psn, op->done))
		return op;
	/* all that was on the way behind the lost one comes here: ask again once */
	if (!qp->req.lost) {
		ionic->rdma->tally.retries++;
		go_back(qp);
		qp->req.lost = true;
	}
	return NULL;
}

static void answered(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op)
{
	op->done++;
	qp->req.una = ionic_psn_add(op->psn, op->done);
	if (op->done == op->packets) {
		if (qp->req.reads)
			qp->req.reads--;
		finish(ionic, qp);
	}
	progress(ionic, qp);
}

static void read_response(struct ionic *ionic, struct ionic_qp *qp,
			  const struct ionic_packet *packet)
{
	struct ionic_op *op = answered_op(ionic, qp, packet);
	uint64_t off, rest;

	if (!op)
		return;
	off = op->kind == IONIC_OP_KIND_READ ? (uint64_t)op->done << qp->attr.pmtu_log2 : 0;
	rest = op->sgl.length - off;
	if (op->kind != IONIC_OP_KIND_READ ||
	    packet->payload_len != (rest < ionic_qp_mtu(qp) ? rest : ionic_qp_mtu(qp))) {
		fail(ionic, qp, IONIC_IO_BAD_RESP, true);
		return;
	}
	op->status = ionic_sgl_scatter(ionic, qp, &op->sgl, off, packet->payload,
				       packet->payload_len);
	if (op->status)
		fail(ionic, qp, op->status, false);
	else
		answered(ionic, qp, op);
}

/* the value goes to memory in the host's own order */
static void atomic_response(struct ionic *ionic, struct ionic_qp *qp,
			    const struct ionic_packet *packet)
{
	struct ionic_op *op = answered_op(ionic, qp, packet);
	uint64_t value = htole64(packet->value);

	if (!op)
		return;
	if (op->kind != IONIC_OP_KIND_ATOMIC) {
		fail(ionic, qp, IONIC_IO_BAD_RESP, true);
		return;
	}
	op->status = ionic_sgl_scatter(ionic, qp, &op->sgl, 0, &value, sizeof(value));
	if (op->status)
		fail(ionic, qp, op->status, false);
	else
		answered(ionic, qp, op);
}

void ionic_requester_packet(struct ionic *ionic, struct ionic_qp *qp,
			    const struct ionic_packet *packet)
{
	unsigned int opcode = packet->opcode & ~IONIC_WIRE_CLASS;

	if (qp->type != IONIC_QPT_RC || packet->opcode & IONIC_WIRE_CLASS || !sends(qp))
		return;
	if (!expected(qp, packet->psn)) {
		ionic->rdma->tally.duplicates++;
		return;
	}
	if (opcode == IONIC_WIRE_ATOMIC_ACK)
		atomic_response(ionic, qp, packet);
	else if (opcode != IONIC_WIRE_ACK)
		read_response(ionic, qp, packet);
	else if ((packet->syndrome & IONIC_SYNDROME_KIND) == 0)
		acknowledge(ionic, qp, ionic_psn_add(packet->psn, 1));
	else
		negative(ionic, qp, packet);
	if (qp->state != IONIC_QPS_ERR)
		ionic_qp_activate(ionic, qp);
}
