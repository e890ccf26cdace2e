// SPDX-License-Identifier: GPL-2.0
/*
 * The responder: executes requests in the order of their PSNs, queues the answers
 * and sends them in that order.
 *
 * A request that must not be executed is answered negatively and ends the QP,
 * after that answer is on its way. One that finds no receive WQE is answered with
 * "not ready" and comes again; so does everything behind a gap.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "ionic_rdma.h"

void ionic_responder_reset(struct ionic_qp *qp)
{
	struct ionic_responder *rsp = &qp->rsp;

	rsp->told = rsp->failed = rsp->recv.live = false;
	rsp->message = IONIC_RX_IDLE;
	rsp->first = rsp->count = 0;
	rsp->msn = 0;
	rsp->full_when = 0;
	memset(rsp->replay, 0, sizeof(rsp->replay));
}

/* ---- answers ---------------------------------------------------------------------- */

static bool has_room(const struct ionic_qp *qp)
{
	return qp->rsp.count < IONIC_RESPONSES - 1;
}

static struct ionic_response *queue(struct ionic *ionic, struct ionic_qp *qp,
				    enum ionic_response_kind kind, uint32_t psn)
{
	struct ionic_responder *rsp = &qp->rsp;
	struct ionic_response *response =
		&rsp->queue[(rsp->first + rsp->count++) % IONIC_RESPONSES];

	*response = (struct ionic_response){
		.kind = kind, .psn = psn, .msn = rsp->msn, .syndrome = IONIC_SYNDROME_ACK,
	};
	ionic_qp_activate(ionic, qp);
	return response;
}

static void acknowledge(struct ionic *ionic, struct ionic_qp *qp)
{
	if (qp->type == IONIC_QPT_RC)
		queue(ionic, qp, IONIC_RESPONSE_ACK, ionic_psn_add(qp->rsp.psn, -1));
}

/* what comes behind is not told of again */
static void tell(struct ionic *ionic, struct ionic_qp *qp, uint8_t syndrome)
{
	if (qp->rsp.told || qp->type != IONIC_QPT_RC)
		return;
	qp->rsp.told = true;
	if ((syndrome & IONIC_SYNDROME_KIND) == IONIC_SYNDROME_RNR)
		ionic->rdma->tally.rnr++;
	else
		ionic->rdma->tally.naks++;
	queue(ionic, qp, IONIC_RESPONSE_ACK, qp->rsp.psn)->syndrome = syndrome;
}

/* an unreliable QP only drops what it cannot do */
static void refuse(struct ionic *ionic, struct ionic_qp *qp, unsigned int code)
{
	static const unsigned int events[] = {
		[IONIC_NAK_INVALID] = IONIC_EQE_QP_REQUEST,
		[IONIC_NAK_ACCESS] = IONIC_EQE_QP_ACCESS,
		[IONIC_NAK_OPERATION] = IONIC_EQE_QP_ERROR,
	};

	qp->rsp.message = IONIC_RX_IDLE;
	if (qp->type != IONIC_QPT_RC)
		return;
	qp->rsp.told = false;
	tell(ionic, qp, IONIC_SYNDROME_NAK | code);
	qp->rsp.failed = true;
	ionic_qp_event(ionic, qp, events[code]);
}

static void drop(struct ionic *ionic)
{
	ionic->rdma->tally.drops++;
}

/* ---- receive completions ---------------------------------------------------------- */

static void push(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet,
		 uint32_t op, uint32_t length, enum ionic_io_status status)
{
	uint32_t src = qp->type == IONIC_QPT_UD ? packet->src_qpn : qp->attr.dest_qpn;
	struct ionic_cqe cqe = {
		.u.recv.id = htole64(qp->rsp.recv.id),
		.u.recv.src_qpn_op = htobe32(HW_PREP(IONIC_CQE_SRC_QPN, src) |
					     HW_PREP(IONIC_CQE_RECV_OP, op) |
					     (packet->has_vlan ? IONIC_CQE_HAS_VLAN : 0) |
					     (packet->ipv4 ? IONIC_CQE_IPV4 : 0)),
		.u.recv.vlan = htobe16(packet->vlan),
		.status_length = htobe32(status ? status : length),
	};

	memcpy(cqe.u.recv.src_mac, packet->src_mac, sizeof(cqe.u.recv.src_mac));
	if (packet->parts & IONIC_WIRE_HAS_IMM)
		cqe.u.recv.imm_rkey = packet->imm;
	if (packet->parts & IONIC_WIRE_HAS_INV)
		cqe.u.recv.imm_rkey = htobe32(packet->inv_key);
	qp->rsp.recv.live = false;
	qp->received++;
	ionic_cq_complete(ionic, qp->rq.cq, &cqe, HW_PREP(IONIC_CQE_QID, qp->id) |
			  HW_PREP(IONIC_CQE_TYPE, (uint32_t)IONIC_CQE_RECV) |
			  (status ? IONIC_CQE_ERROR : 0), packet->solicited, "recv_completion");
}

static uint32_t recv_op(const struct ionic_packet *packet)
{
	if (packet->parts & IONIC_WIRE_IS_WRITE)
		return IONIC_RECV_WRITE_IMM;
	if (packet->parts & IONIC_WIRE_HAS_IMM)
		return IONIC_RECV_SEND_IMM;
	return packet->parts & IONIC_WIRE_HAS_INV ? IONIC_RECV_SEND_INV : IONIC_RECV_SEND;
}

/* the receive WQE in use is no good; its owner and the sender are told */
static void fail_recv(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet,
		      enum ionic_io_status status)
{
	ionic_cq_hold(qp->rq.cq);
	qp->rsp.holding = true;
	push(ionic, qp, packet, recv_op(packet), 0, status);
	if (qp->type == IONIC_QPT_RC)
		refuse(ionic, qp, status == IONIC_IO_LOCAL_LEN ? IONIC_NAK_INVALID :
								 IONIC_NAK_OPERATION);
	else
		ionic_qp_error(ionic, qp);
}

/* takes a receive WQE; false if there is none (the sender is told) or it is no good */
static bool take_recv(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	enum ionic_io_status status;

	/* one that a lost unreliable message had: the host waits for each, in their order */
	if (qp->rsp.recv.live) {
		qp->rsp.recv.done = 0;
		return true;
	}
	if (!ionic_wq_take_recv(ionic, qp, &status)) {
		drop(ionic);
		tell(ionic, qp, IONIC_SYNDROME_RNR | (qp->attr.rnr_timer & IONIC_SYNDROME_CODE));
		return false;
	}
	if (!status)
		return true;
	fail_recv(ionic, qp, packet, status);
	return false;
}

/* ---- requests --------------------------------------------------------------------- */

/* a packet was executed */
static void executed(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;

	rsp->psn = ionic_psn_add(rsp->psn, 1);
	rsp->told = false;
	if (packet->parts & IONIC_WIRE_ENDS) {
		rsp->msn = ionic_psn_add(rsp->msn, 1);
		rsp->message = IONIC_RX_IDLE;
	}
	if (packet->ack_req)
		acknowledge(ionic, qp);
}

/* do packets come in the order of a message, each but the last one full? */
static bool in_sequence(const struct ionic_qp *qp, const struct ionic_packet *packet)
{
	int message = packet->parts & IONIC_WIRE_IS_SEND ? IONIC_RX_SEND : IONIC_RX_WRITE;

	if (packet->payload_len > ionic_qp_mtu(qp) ||
	    (!(packet->parts & IONIC_WIRE_ENDS) && packet->payload_len != ionic_qp_mtu(qp)))
		return false;
	if (packet->parts & IONIC_WIRE_BEGINS)
		return qp->rsp.message == IONIC_RX_IDLE;
	return (int)qp->rsp.message == message;
}

static void end_send(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	struct ionic_recv *recv = &qp->rsp.recv;

	if (packet->parts & IONIC_WIRE_HAS_INV &&
	    ionic_mr_invalidate(ionic, qp, packet->inv_key)) {
		fail_recv(ionic, qp, packet, IONIC_IO_MEM_MGMT);
		return;
	}
	push(ionic, qp, packet, recv_op(packet), recv->done, IONIC_IO_OK);
	executed(ionic, qp, packet);
}

static void receive_send(struct ionic *ionic, struct ionic_qp *qp,
			 const struct ionic_packet *packet)
{
	struct ionic_recv *recv = &qp->rsp.recv;
	enum ionic_io_status status = IONIC_IO_OK;

	if (packet->parts & IONIC_WIRE_BEGINS) {
		if (!take_recv(ionic, qp, packet))
			return;
		qp->rsp.message = IONIC_RX_SEND;
	}
	if (recv->done + packet->payload_len > recv->sgl.length)
		status = IONIC_IO_LOCAL_LEN;
	else
		status = ionic_sgl_scatter(ionic, qp, &recv->sgl, recv->done, packet->payload,
					   packet->payload_len);
	if (status) {
		fail_recv(ionic, qp, packet, status);
		return;
	}
	recv->done += packet->payload_len;
	if (packet->parts & IONIC_WIRE_ENDS)
		end_send(ionic, qp, packet);
	else
		executed(ionic, qp, packet);
}

/* the whole range is looked at before its first byte is written */
static bool begin_write(struct ionic *ionic, struct ionic_qp *qp,
			const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;

	if (!(qp->attr.flags & IONIC_QP_REMOTE_WRITE) ||
	    !ionic_mr_allows(ionic, qp, packet->rkey, packet->addr, packet->length,
			     IONIC_MR_REMOTE_WRITE)) {
		refuse(ionic, qp, IONIC_NAK_ACCESS);
		return false;
	}
	rsp->addr = packet->addr;
	rsp->rkey = packet->rkey;
	rsp->length = packet->length;
	rsp->done = 0;
	return true;
}

static void receive_write(struct ionic *ionic, struct ionic_qp *qp,
			  const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;
	bool ends = packet->parts & IONIC_WIRE_ENDS;

	if (packet->parts & IONIC_WIRE_BEGINS && !begin_write(ionic, qp, packet))
		return;
	if (ends ? rsp->done + packet->payload_len != rsp->length :
		   rsp->done + packet->payload_len > rsp->length) {
		refuse(ionic, qp, IONIC_NAK_INVALID);
		return;
	}
	if (packet->parts & IONIC_WIRE_HAS_IMM && !take_recv(ionic, qp, packet))
		return;
	if (ionic_mr_write(ionic, qp, rsp->rkey, rsp->addr + rsp->done, packet->payload,
			   packet->payload_len, IONIC_MR_REMOTE_WRITE)) {
		refuse(ionic, qp, IONIC_NAK_ACCESS);
		return;
	}
	rsp->message = IONIC_RX_WRITE;
	rsp->done += packet->payload_len;
	if (packet->parts & IONIC_WIRE_HAS_IMM)
		push(ionic, qp, packet, recv_op(packet), rsp->length, IONIC_IO_OK);
	executed(ionic, qp, packet);
}

static unsigned int resources(const struct ionic_qp *qp)
{
	return (1u << qp->attr.rsq_depth_log2) - 1;
}

/*
 * Reads and atomics that wait to be answered. Not the answers that are given again: their
 * requester may have them by now, and goes on.
 */
static unsigned int pending(const struct ionic_qp *qp)
{
	const struct ionic_responder *rsp = &qp->rsp;
	unsigned int n = 0;

	for (unsigned int i = 0; i < rsp->count; i++) {
		const struct ionic_response *response =
			&rsp->queue[(rsp->first + i) % IONIC_RESPONSES];

		n += response->kind != IONIC_RESPONSE_ACK && !response->repeat;
	}
	return n;
}

static uint32_t read_packets(const struct ionic_qp *qp, uint32_t length)
{
	return length ? ((uint64_t)length + ionic_qp_mtu(qp) - 1) >> qp->attr.pmtu_log2 : 1;
}

static bool may_read(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	return qp->attr.flags & IONIC_QP_REMOTE_READ &&
	       ionic_mr_allows(ionic, qp, packet->rkey, packet->addr, packet->length,
			       IONIC_MR_REMOTE_READ);
}

static struct ionic_response *answer_read(struct ionic *ionic, struct ionic_qp *qp,
					  const struct ionic_packet *packet)
{
	struct ionic_response *response = queue(ionic, qp, IONIC_RESPONSE_READ, packet->psn);

	response->addr = packet->addr;
	response->rkey = packet->rkey;
	response->length = packet->length;
	return response;
}

static void receive_read(struct ionic *ionic, struct ionic_qp *qp,
			 const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;

	if (rsp->message != IONIC_RX_IDLE || pending(qp) >= resources(qp) ||
	    packet->length > IONIC_MSG_MAX) {
		refuse(ionic, qp, IONIC_NAK_INVALID);
		return;
	}
	if (!may_read(ionic, qp, packet)) {
		refuse(ionic, qp, IONIC_NAK_ACCESS);
		return;
	}
	rsp->msn = ionic_psn_add(rsp->msn, 1);
	rsp->psn = ionic_psn_add(rsp->psn, read_packets(qp, packet->length));
	rsp->told = false;
	answer_read(ionic, qp, packet);
}

static int exchange(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet,
		    uint64_t *old)
{
	uint64_t now, raw;
	int err;

	err = ionic_mr_read(ionic, qp, packet->rkey, packet->addr, &raw, sizeof(raw),
			    IONIC_MR_REMOTE_ATOMIC);
	if (err)
		return err;
	*old = now = le64toh(raw);
	if ((packet->opcode & ~IONIC_WIRE_CLASS) == IONIC_WIRE_FETCH_ADD)
		now += packet->swap_add;
	else if (now == packet->compare)
		now = packet->swap_add;
	raw = htole64(now);
	return ionic_mr_write(ionic, qp, packet->rkey, packet->addr, &raw, sizeof(raw),
			      IONIC_MR_REMOTE_ATOMIC);
}

static void receive_atomic(struct ionic *ionic, struct ionic_qp *qp,
			   const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;
	unsigned int slot = rsp->replay_next++ % IONIC_REPLAYS;
	uint64_t old;

	if (rsp->message != IONIC_RX_IDLE || pending(qp) >= resources(qp) ||
	    packet->addr % sizeof(uint64_t)) {
		refuse(ionic, qp, IONIC_NAK_INVALID);
		return;
	}
	if (!(qp->attr.flags & IONIC_QP_REMOTE_ATOMIC) || exchange(ionic, qp, packet, &old)) {
		refuse(ionic, qp, IONIC_NAK_ACCESS);
		return;
	}
	rsp->replay[slot].psn = packet->psn;
	rsp->replay[slot].value = old;
	rsp->replay[slot].valid = true;
	rsp->msn = ionic_psn_add(rsp->msn, 1);
	rsp->psn = ionic_psn_add(rsp->psn, 1);
	rsp->told = false;
	queue(ionic, qp, IONIC_RESPONSE_ATOMIC, packet->psn)->value = old;
}

static void execute(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	if (packet->parts & IONIC_WIRE_IS_ATOMIC)
		receive_atomic(ionic, qp, packet);
	else if (!(packet->parts & (IONIC_WIRE_IS_SEND | IONIC_WIRE_IS_WRITE)))
		receive_read(ionic, qp, packet);
	else if (!in_sequence(qp, packet))
		refuse(ionic, qp, IONIC_NAK_INVALID);
	else if (packet->parts & IONIC_WIRE_IS_SEND)
		receive_send(ionic, qp, packet);
	else
		receive_write(ionic, qp, packet);
}

static void repeat_atomic(struct ionic *ionic, struct ionic_qp *qp, uint32_t psn)
{
	const struct ionic_responder *rsp = &qp->rsp;
	struct ionic_response *response;

	for (unsigned int i = 0; i < IONIC_REPLAYS; i++) {
		if (!rsp->replay[i].valid || rsp->replay[i].psn != psn)
			continue;
		response = queue(ionic, qp, IONIC_RESPONSE_ATOMIC, psn);
		response->value = rsp->replay[i].value;
		response->repeat = true;
		return;
	}
}

/* it was executed, but the answer has not arrived: the same answer again */
static void repeat(struct ionic *ionic, struct ionic_qp *qp, const struct ionic_packet *packet)
{
	ionic->rdma->tally.duplicates++;
	if (packet->parts & IONIC_WIRE_IS_ATOMIC) {
		repeat_atomic(ionic, qp, packet->psn);
	} else if (packet->parts & (IONIC_WIRE_IS_SEND | IONIC_WIRE_IS_WRITE)) {
		if (packet->ack_req)
			acknowledge(ionic, qp);
	} else if (may_read(ionic, qp, packet)) {
		answer_read(ionic, qp, packet)->repeat = true;
	}
}

static void receive_reliable(struct ionic *ionic, struct ionic_qp *qp,
			     const struct ionic_packet *packet)
{
	int32_t ahead = ionic_psn_diff(packet->psn, qp->rsp.psn);

	if (qp->rsp.failed || !has_room(qp)) {
		drop(ionic);
	} else if (ahead > 0) {
		drop(ionic);
		tell(ionic, qp, IONIC_SYNDROME_NAK | IONIC_NAK_SEQUENCE);
	} else if (ahead < 0) {
		repeat(ionic, qp, packet);
	} else {
		qp->rsp.told = false;
		execute(ionic, qp, packet);
	}
}

/* a gap loses the message it is in; the next one begins where it begins */
static void receive_unreliable(struct ionic *ionic, struct ionic_qp *qp,
			       const struct ionic_packet *packet)
{
	struct ionic_responder *rsp = &qp->rsp;

	if (packet->psn != rsp->psn || packet->parts & IONIC_WIRE_BEGINS)
		rsp->message = IONIC_RX_IDLE;
	if (packet->parts & IONIC_WIRE_BEGINS)
		rsp->psn = packet->psn;
	if (packet->psn != rsp->psn ||
	    !(packet->parts & (IONIC_WIRE_IS_SEND | IONIC_WIRE_IS_WRITE))) {
		drop(ionic);
		return;
	}
	execute(ionic, qp, packet);
}

/* the network header goes in front of the data */
static void receive_datagram(struct ionic *ionic, struct ionic_qp *qp,
			     const struct ionic_packet *packet)
{
	struct ionic_recv *recv = &qp->rsp.recv;
	enum ionic_io_status status = IONIC_IO_LOCAL_LEN;
	uint32_t length = IONIC_WIRE_GRH + packet->payload_len;

	if (packet->qkey != qp->attr.qkey || !(packet->parts & IONIC_WIRE_IS_SEND)) {
		drop(ionic);
		return;
	}
	if (!take_recv(ionic, qp, packet))
		return;
	if (length <= recv->sgl.length)
		status = ionic_sgl_scatter(ionic, qp, &recv->sgl, 0, packet->network,
					   IONIC_WIRE_GRH);
	if (!status)
		status = ionic_sgl_scatter(ionic, qp, &recv->sgl, IONIC_WIRE_GRH, packet->payload,
					   packet->payload_len);
	if (status)
		fail_recv(ionic, qp, packet, status);
	else
		push(ionic, qp, packet, recv_op(packet), length, IONIC_IO_OK);
}

void ionic_responder_packet(struct ionic *ionic, struct ionic_qp *qp,
			    const struct ionic_packet *packet)
{
	static const uint8_t classes[] = {
		[IONIC_QPT_RC] = IONIC_WIRE_RC, [IONIC_QPT_UC] = IONIC_WIRE_UC,
		[IONIC_QPT_UD] = IONIC_WIRE_UD,
	};

	if (!qp->rq.cq || !ionic_qp_receives(qp) ||
	    (packet->opcode & IONIC_WIRE_CLASS) != classes[qp->type]) {
		drop(ionic);
		return;
	}
	if (qp->state == IONIC_QPS_RTR && !qp->comm_est) {
		qp->comm_est = true;
		ionic_qp_event(ionic, qp, IONIC_EQE_COMM_EST);
	}
	if (qp->type == IONIC_QPT_RC)
		receive_reliable(ionic, qp, packet);
	else if (qp->type == IONIC_QPT_UC)
		receive_unreliable(ionic, qp, packet);
	else
		receive_datagram(ionic, qp, packet);
}

/* ---- sending answers -------------------------------------------------------------- */

static void next_response(struct ionic_qp *qp)
{
	qp->rsp.first = (qp->rsp.first + 1) % IONIC_RESPONSES;
	qp->rsp.count--;
}

static unsigned int read_opcode(bool first, bool last)
{
	if (!last)
		return first ? IONIC_WIRE_READ_FIRST : IONIC_WIRE_READ_MIDDLE;
	return first ? IONIC_WIRE_READ_ONLY : IONIC_WIRE_READ_LAST;
}

/* one packet of a read's answer; 0, -ENOBUFS, or -EACCES: the memory is no longer allowed */
static int send_read(struct ionic *ionic, struct ionic_qp *qp, struct ionic_response *response,
		     struct ionic_packet *packet)
{
	uint32_t rest = response->length - response->sent;
	uint8_t payload[IONIC_MTU_MAX];
	int err;

	packet->payload_len = rest < ionic_qp_mtu(qp) ? rest : ionic_qp_mtu(qp);
	packet->payload = payload;
	packet->opcode = read_opcode(!response->sent, packet->payload_len == rest);
	packet->psn = ionic_psn_add(response->psn, response->sent >> qp->attr.pmtu_log2);
	if (ionic_mr_read(ionic, qp, response->rkey, response->addr + response->sent, payload,
			  packet->payload_len, IONIC_MR_REMOTE_READ))
		return -EACCES;
	err = ionic_rdma_transmit(ionic, ionic_ah_get(ionic, qp->attr.ah), packet);
	if (err != -ENOBUFS)
		response->sent += packet->payload_len;
	return err == -ENOBUFS ? err : 0;
}

/* 0, or -ENOBUFS: the network takes no more */
static int send_response(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_response *response = &qp->rsp.queue[qp->rsp.first];
	struct ionic_packet packet = {
		.opcode = response->kind == IONIC_RESPONSE_ATOMIC ? IONIC_WIRE_ATOMIC_ACK :
								    IONIC_WIRE_ACK,
		.pkey = IONIC_PKEY_DEFAULT, .dest_qpn = qp->attr.dest_qpn,
		.psn = response->psn, .msn = response->msn, .syndrome = response->syndrome,
		.value = response->value,
	};
	int err;

	if (response->kind != IONIC_RESPONSE_READ) {
		err = ionic_rdma_transmit(ionic, ionic_ah_get(ionic, qp->attr.ah), &packet);
		if (err == -ENOBUFS)
			return err;
		next_response(qp);
		return 0;
	}
	err = send_read(ionic, qp, response, &packet);
	if (err == -EACCES) {
		/* refused is what is not answered yet, and all behind it */
		response->psn = packet.psn;
		response->kind = IONIC_RESPONSE_ACK;
		response->syndrome = IONIC_SYNDROME_NAK | IONIC_NAK_ACCESS;
		qp->rsp.count = 1;
		qp->rsp.failed = true;
		ionic->rdma->tally.naks++;
		ionic_qp_event(ionic, qp, IONIC_EQE_QP_ACCESS);
	} else if (!err && response->sent == response->length) {
		next_response(qp);
	}
	return err == -ENOBUFS ? err : 0;
}

bool ionic_responder_work(struct ionic *ionic, struct ionic_qp *qp, unsigned int budget,
			  uint64_t *when)
{
	struct ionic_responder *rsp = &qp->rsp;

	if (rsp->full_when > model_now(&ionic->dev)) {
		*when = rsp->full_when;
		return false;
	}
	while (rsp->count && budget--) {
		if (send_response(ionic, qp)) {
			*when = rsp->full_when = model_now(&ionic->dev) + IONIC_FULL_NS;
			return false;
		}
	}
	if (!rsp->count && rsp->failed)
		ionic_qp_error(ionic, qp);
	return rsp->count;
}
