// SPDX-License-Identifier: GPL-2.0
/* The responder: what packets of other adapters do here. */
#include <string.h>

#include "efa_net.h"

/* ---- answers ----------------------------------------------------------- */

static void fill_answer(const struct efa_pkt *request, struct efa_pkt *pkt)
{
	*pkt = (struct efa_pkt) {
		.magic = EFA_PKT_MAGIC,
		.src_qp = request->dst_qp,
		.dst_qp = request->src_qp,
		.epoch = request->epoch,
		.serial = request->serial,
		.slot = request->slot,
		.segment = request->segment,
	};
}

/* a lost answer is repeated when the requester repeats its question */
static void ack(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *request,
		enum efa_io_status status)
{
	struct efa_pkt pkt;

	fill_answer(request, &pkt);
	pkt.type = EFA_PKT_ACK;
	pkt.status = status;
	fabric_send(&efa->port, peer->gid, &pkt, sizeof(pkt));
}

/* ---- checks ------------------------------------------------------------ */

static void drop(struct efa *efa)
{
	efa->stats.basic.rx_drops++;
	efa->tally.drops++;
}

/* the QP that a packet is for, or NULL and why its sender cannot have it */
static struct efa_qp *target_qp(struct efa *efa, const struct efa_pkt *pkt,
				enum efa_admin_qp_type type, enum efa_io_status *status)
{
	struct efa_qp *qp = efa_qp_by_num(efa, pkt->dst_qp);

	*status = EFA_IO_REMOTE_BAD_DEST_QPN;
	if (!qp || qp->type != type || !efa_qp_receives(qp)) {
		drop(efa);
		return NULL;
	}
	if (qp->qkey != pkt->qkey) {
		efa->stats.basic.qkey_viol++;
		drop(efa);
		return NULL;
	}
	*status = EFA_IO_OK;
	return qp;
}

static enum efa_io_status check_rdma(struct efa *efa, const struct efa_qp *qp,
				     const struct efa_peer *peer, uint32_t cap)
{
	/* the other side thinks that we can do this */
	if (!(efa->config.device_caps & cap))
		return EFA_IO_REMOTE_FEATURE_MISMATCH;
	if (!efa_ah_to(qp->pd, peer))
		return EFA_IO_REMOTE_UNKNOWN_PEER;
	return EFA_IO_OK;
}

/* the region that [remote, remote + length) of a request lies in, or NULL */
static struct efa_mr *remote_mr(struct efa *efa, const struct efa_qp *qp,
				const struct efa_pkt *pkt, uint8_t permission)
{
	struct efa_mr *mr = efa_mr_by_rkey(efa, pkt->rkey);

	return efa_mr_allows(mr, qp->pd, pkt->remote, pkt->length, permission) ? mr : NULL;
}

/* ---- messages ---------------------------------------------------------- */

static void arrival_of(struct efa_peer *peer, const struct efa_pkt *pkt, unsigned int op,
		       struct efa_arrival *arrival)
{
	*arrival = (struct efa_arrival) {
		.peer = peer,
		.src_qp = pkt->src_qp,
		.op = op,
		.has_imm = pkt->has_imm,
		.imm = pkt->imm,
		.length = pkt->length,
	};
}

static enum efa_io_status message(struct efa *efa, struct efa_peer *peer,
				  const struct efa_pkt *pkt, const void *payload,
				  enum efa_admin_qp_type type)
{
	enum efa_io_status status;
	struct efa_qp *qp = target_qp(efa, pkt, type, &status);
	struct efa_arrival arrival;

	if (!qp)
		return status;
	arrival_of(peer, pkt, EFA_OP_SEND, &arrival);
	status = efa_rq_message(efa, qp, &arrival, payload);
	if (status && type == EFA_ADMIN_QP_UD)
		drop(efa);
	return status;
}

static void take_send(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
		      const void *payload)
{
	int seen = efa_peer_seen(peer, pkt);
	enum efa_io_status status;

	if (seen < 0)
		return;
	if (seen != EFA_TID_NEW) {
		efa->tally.duplicates++;
		ack(efa, peer, pkt, seen - EFA_TID_DONE);
		return;
	}
	status = message(efa, peer, pkt, payload, EFA_ADMIN_QP_SRD);
	efa_peer_mark(peer, pkt, EFA_TID_DONE + status);
	ack(efa, peer, pkt, status);
}

/* ---- writes ------------------------------------------------------------ */

static bool uses_wr(const struct efa_qp *qp, const struct efa_pkt *pkt)
{
	return pkt->has_imm && !(qp->flags & EFA_CREATE_QP_UNSOLICITED);
}

/* all that can be said before the data; asked again for every segment, for things change */
static enum efa_io_status check_write(struct efa *efa, struct efa_peer *peer,
				      const struct efa_pkt *pkt, struct efa_qp **qp,
				      struct efa_mr **mr)
{
	enum efa_io_status status;

	*mr = NULL;
	*qp = target_qp(efa, pkt, EFA_ADMIN_QP_SRD, &status);
	if (!*qp)
		return status;
	status = check_rdma(efa, *qp, peer, EFA_DEV_CAP_RDMA_WRITE);
	if (status)
		return status;
	if (pkt->length) {
		*mr = remote_mr(efa, *qp, pkt, EFA_MR_REMOTE_WRITE);
		if (!*mr)
			return EFA_IO_REMOTE_BAD_ADDRESS;
	}
	/* early, so that a long transfer is not repeated for want of a receive WR */
	if (uses_wr(*qp, pkt) && !efa_rq_peek(efa, *qp, NULL))
		return EFA_IO_REMOTE_RNR;
	return EFA_IO_OK;
}

static void notify(struct efa *efa, struct efa_peer *peer, struct efa_qp *qp,
		   const struct efa_pkt *pkt)
{
	struct efa_rx_wr wr = { 0 };
	struct efa_arrival arrival;

	if (!pkt->has_imm)
		return;
	arrival_of(peer, pkt, EFA_OP_RDMA_WRITE, &arrival);
	arrival.unsolicited = !uses_wr(qp, pkt);
	if (!arrival.unsolicited) {
		/* choice: the WR's buffers are not written; check_write() saw that it is there */
		efa_rq_peek(efa, qp, &wr);
		efa_rq_take(qp, &wr);
	}
	efa_rq_complete(efa, qp, wr.req_id, &arrival, EFA_IO_OK);
}

/* a new segment of a write; its status, or OK */
static enum efa_io_status write_segment(struct efa *efa, struct efa_peer *peer,
					const struct efa_pkt *pkt, const void *payload, bool *whole)
{
	struct efa_inbound *inbound = efa_peer_inbound(peer, pkt->tid, true);
	uint64_t at = pkt->remote + (uint64_t)pkt->segment * EFA_SEGMENT;
	enum efa_io_status status;
	struct efa_qp *qp;
	struct efa_mr *mr;

	status = check_write(efa, peer, pkt, &qp, &mr);
	if (!status && pkt->payload != efa_segment_length(pkt->length, pkt->segment))
		status = EFA_IO_REMOTE_BAD_STATUS;
	if (!status && !efa_window_mark(&inbound->base, &inbound->got, pkt->segment)) {
		efa->tally.duplicates++;
		return EFA_IO_OK;
	}
	if (!status && pkt->payload && efa_mr_write(efa, mr, at, payload, pkt->payload))
		status = EFA_IO_REMOTE_BAD_ADDRESS;
	if (status)
		return status;
	efa->stats.write.recv_bytes += pkt->payload;
	*whole = inbound->base == efa_segments(pkt->length);
	if (*whole) {
		efa_count(efa, qp, EFA_COUNTER_REMOTE_WRITE);
		notify(efa, peer, qp, pkt);
	}
	return EFA_IO_OK;
}

static void take_write(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
		       const void *payload)
{
	int seen = efa_peer_seen(peer, pkt);
	enum efa_io_status status;
	bool whole = false;

	if (seen < 0)
		return;
	if (seen >= EFA_TID_DONE) {
		efa->tally.duplicates++;
		ack(efa, peer, pkt, seen - EFA_TID_DONE);
		return;
	}
	status = write_segment(efa, peer, pkt, payload, &whole);
	if (status || whole) {
		efa_peer_inbound_end(peer, efa_peer_inbound(peer, pkt->tid, false));
		efa_peer_mark(peer, pkt, EFA_TID_DONE + status);
	} else {
		efa_peer_mark(peer, pkt, EFA_TID_BEGUN);
	}
	ack(efa, peer, pkt, status);
}

/* ---- reads ------------------------------------------------------------- */

static enum efa_io_status read_segment(struct efa *efa, struct efa_peer *peer,
				       const struct efa_pkt *request, struct efa_pkt *answer)
{
	uint64_t at = request->remote + (uint64_t)request->segment * EFA_SEGMENT;
	enum efa_io_status status;
	struct efa_qp *qp = target_qp(efa, request, EFA_ADMIN_QP_SRD, &status);
	struct efa_mr *mr;

	if (!qp)
		return status;
	status = check_rdma(efa, qp, peer, EFA_DEV_CAP_RDMA_READ);
	if (status)
		return status;
	if (request->segment >= efa_segments(request->length))
		return EFA_IO_REMOTE_BAD_STATUS;
	answer->payload = efa_segment_length(request->length, request->segment);
	if (answer->payload) {
		mr = remote_mr(efa, qp, request, EFA_MR_REMOTE_READ);
		if (!mr || efa_mr_read(efa, mr, at, answer + 1, answer->payload))
			return EFA_IO_REMOTE_BAD_ADDRESS;
	}
	efa->stats.read.resp_bytes += answer->payload;
	/* choice: a read counts with its last segment, again if that is asked for again */
	if (request->segment + 1 == efa_segments(request->length))
		efa_count(efa, qp, EFA_COUNTER_REMOTE_READ);
	return EFA_IO_OK;
}

static void take_read(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *request)
{
	struct efa_pkt *answer = (void *)efa->net->packet;
	enum efa_io_status status;

	fill_answer(request, answer);
	answer->type = EFA_PKT_DATA;
	status = read_segment(efa, peer, request, answer);
	if (status) {
		ack(efa, peer, request, status);
		return;
	}
	efa_net_count_sent(efa, answer);
	fabric_send(&efa->port, peer->gid, answer, sizeof(*answer) + answer->payload);
}

/* ---- all --------------------------------------------------------------- */

void efa_target_request(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
			const void *payload)
{
	switch (pkt->type) {
	case EFA_PKT_DATAGRAM:
		message(efa, peer, pkt, payload, EFA_ADMIN_QP_UD);
		break;
	case EFA_PKT_SEND:
		take_send(efa, peer, pkt, payload);
		break;
	case EFA_PKT_WRITE:
		take_write(efa, peer, pkt, payload);
		break;
	case EFA_PKT_READ:
		take_read(efa, peer, pkt);
		break;
	}
}

/* choice: acknowledgements carry nothing and are not counted */
static void count_received(struct efa *efa, const struct efa_pkt *pkt)
{
	if (pkt->type == EFA_PKT_ACK)
		return;
	efa->stats.basic.rx_pkts++;
	efa->stats.basic.rx_bytes += pkt->payload;
}

void efa_net_receive(struct model_device *dev, const uint8_t *from, const void *data, size_t len)
{
	struct efa *efa = efa_of(dev);
	struct efa_pkt pkt;
	struct efa_peer *peer;

	if (len < sizeof(pkt))
		return;
	memcpy(&pkt, data, sizeof(pkt));
	if (pkt.magic != EFA_PKT_MAGIC || pkt.payload != len - sizeof(pkt))
		return;		/* another kind of adapter on the same network */
	peer = efa_peer_get(efa, from);
	count_received(efa, &pkt);
	if (pkt.type == EFA_PKT_ACK || pkt.type == EFA_PKT_DATA)
		efa_transfer_answered(efa, peer, &pkt, (const char *)data + sizeof(pkt));
	else
		efa_target_request(efa, peer, &pkt, (const char *)data + sizeof(pkt));
	efa_peer_put(efa, peer);
}
