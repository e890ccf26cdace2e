// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers: send WRs under way, from their first packet to their completion.
 *
 * A transfer is on the list of its QP always, on the sending list while it has
 * a segment to send, and (sends and writes) on the peer's list of open
 * transactions. It waits for its deadline in between.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"

#define PACKETS_PER_SLICE	16
#define BYTES_PER_SLICE		(4 * EFA_SEGMENT)
#define BLOCKED_NS		100000	/* until a full queue is tried again */

/*
 * Lives of adapters in this process so far. A peer tells by it that what it
 * remembers of an adapter is of an earlier life, also when the adapter was
 * unplugged and another took its address. Under the model lock.
 */
static uint64_t epochs;

void efa_net_init(struct efa *efa)
{
	struct efa_net *net = calloc(1, sizeof(*net));

	if (!net)
		abort();
	efa->net = net;
	TAILQ_INIT(&net->free_transfers);
	TAILQ_INIT(&net->sending);
	TAILQ_INIT(&net->peers);
	for (unsigned int i = 0; i < EFA_TRANSFERS; i++)
		TAILQ_INSERT_TAIL(&net->free_transfers, &net->transfers[i], free_link);
}

/* the QPs, and with them the operations, are gone already */
void efa_net_reset(struct efa *efa)
{
	struct efa_net *net = efa->net;
	struct efa_peer *peer;

	while ((peer = TAILQ_FIRST(&net->peers)))
		efa_peer_free(efa, peer);
	net->epoch = ++epochs;
	net->next_deadline = 0;
	net->blocked_until = 0;
	net->starved = false;
}

void efa_net_free(struct efa *efa)
{
	efa_net_reset(efa);
	free(efa->net);
}

bool efa_window_mark(uint32_t *base, uint64_t *marked, uint32_t segment)
{
	if (segment < *base || segment - *base >= 64 || *marked >> (segment - *base) & 1)
		return false;
	*marked |= 1ull << (segment - *base);
	while (*marked & 1) {
		*marked >>= 1;
		(*base)++;
	}
	return true;
}

/* ---- local memory ------------------------------------------------------ */

/* copies [off, off + len) of what the WR sends */
static enum efa_io_status gather(struct efa *efa, const struct efa_qp *qp, const struct efa_wr *wr,
				 uint32_t off, uint32_t len, uint8_t *to)
{
	if (wr->is_inline) {
		memcpy(to, wr->data + off, len);
		return EFA_IO_OK;
	}
	for (unsigned int i = 0; len && i < wr->bufs; i++) {
		struct efa_mr *mr = efa_mr_by_lkey(efa, wr->buf[i].lkey);
		uint32_t part = wr->buf[i].length - off;

		if (off >= wr->buf[i].length) {
			off -= wr->buf[i].length;
			continue;
		}
		if (part > len)
			part = len;
		if (!efa_mr_allows(mr, qp->pd, wr->buf[i].addr + off, part, 0) ||
		    efa_mr_read(efa, mr, wr->buf[i].addr + off, to, part))
			return EFA_IO_LOCAL_INVALID_LKEY;
		to += part;
		len -= part;
		off = 0;
	}
	return EFA_IO_OK;
}

/* stores a segment of a read where the WR wants it */
static enum efa_io_status scatter(struct efa *efa, const struct efa_transfer *xfer, uint32_t off,
				  const void *from, uint32_t len)
{
	struct efa_mr *mr = efa_mr_by_lkey(efa, xfer->wr.buf[0].lkey);
	uint64_t addr = xfer->wr.buf[0].addr + off;

	if (!len)
		return EFA_IO_OK;
	if (!efa_mr_allows(mr, xfer->qp->pd, addr, len, EFA_MR_LOCAL_WRITE) ||
	    efa_mr_write(efa, mr, addr, from, len))
		return EFA_IO_LOCAL_INVALID_LKEY;
	return EFA_IO_OK;
}

/* ---- begin and end ----------------------------------------------------- */

static unsigned int slot_of(const struct efa *efa, const struct efa_transfer *xfer)
{
	return xfer - efa->net->transfers;
}

static void set_deadline(struct efa *efa, struct efa_transfer *xfer, uint64_t ms)
{
	struct efa_net *net = efa->net;

	xfer->deadline = model_now(&efa->dev) + ms * EFA_NS_PER_MS;
	if (net->next_deadline && net->next_deadline <= xfer->deadline)
		return;
	net->next_deadline = xfer->deadline;
	/* a packet may have brought this about: the clock is set from efa_work() */
	model_kick(&efa->dev);
}

static void want_send(struct efa *efa, struct efa_transfer *xfer)
{
	if (xfer->sending)
		return;
	xfer->sending = true;
	TAILQ_INSERT_TAIL(&efa->net->sending, xfer, send_link);
	model_kick(&efa->dev);
}

static void stop_send(struct efa *efa, struct efa_transfer *xfer)
{
	if (!xfer->sending)
		return;
	xfer->sending = false;
	TAILQ_REMOVE(&efa->net->sending, xfer, send_link);
}

static void close_transaction(struct efa_transfer *xfer)
{
	if (!xfer->open)
		return;
	xfer->open = false;
	TAILQ_REMOVE(&xfer->peer->open, xfer, peer_link);
}

/* from the first segment, under new numbers: what was answered before counts no more */
static void begin(struct efa *efa, struct efa_transfer *xfer)
{
	struct efa_net *net = efa->net;

	close_transaction(xfer);
	xfer->serial = ++net->serial;
	xfer->base = xfer->next = 0;
	xfer->acked = 0;
	xfer->tries = 0;
	xfer->not_ready = false;
	if (xfer->wr.op != EFA_OP_RDMA_READ) {
		xfer->tid = ++net->tid;
		xfer->open = true;
		TAILQ_INSERT_TAIL(&xfer->peer->open, xfer, peer_link);
	}
	want_send(efa, xfer);
}

bool efa_transfer_start(struct efa *efa, struct efa_qp *qp, struct efa_ah *ah,
			const struct efa_wr *wr)
{
	struct efa_net *net = efa->net;
	struct efa_transfer *xfer = TAILQ_FIRST(&net->free_transfers);
	struct efa_transfer *oldest = TAILQ_FIRST(&ah->peer->open);

	if (!xfer || (oldest && net->tid + 1 - oldest->tid >= EFA_TIDS)) {
		net->starved = true;
		return false;
	}
	TAILQ_REMOVE(&net->free_transfers, xfer, free_link);
	memset(xfer, 0, sizeof(*xfer));
	xfer->qp = qp;
	xfer->ah = ah;
	xfer->peer = ah->peer;
	xfer->peer->refs++;
	xfer->wr = *wr;
	xfer->segments = efa_segments(wr->length);
	TAILQ_INSERT_TAIL(&qp->transfers, xfer, qp_link);
	begin(efa, xfer);
	return true;
}

static void free_xfer(struct efa *efa, struct efa_transfer *xfer)
{
	struct efa_net *net = efa->net;

	stop_send(efa, xfer);
	close_transaction(xfer);
	TAILQ_REMOVE(&xfer->qp->transfers, xfer, qp_link);
	efa_peer_put(efa, xfer->peer);
	xfer->qp = NULL;
	TAILQ_INSERT_TAIL(&net->free_transfers, xfer, free_link);
	if (net->starved) {
		net->starved = false;
		model_kick(&efa->dev);
	}
}

static void count_end(struct efa *efa, const struct efa_transfer *xfer, enum efa_io_status status)
{
	struct efa_net_stats *stats = &efa->stats;

	switch (xfer->wr.op) {
	case EFA_OP_RDMA_READ:
		if (status)
			stats->read.wr_err++;
		else
			stats->read.bytes += xfer->wr.length;
		break;
	case EFA_OP_RDMA_WRITE:
		if (status)
			stats->write.wr_err++;
		else
			stats->write.bytes += xfer->wr.length;
		break;
	}
}

static void complete(struct efa *efa, struct efa_transfer *xfer, enum efa_io_status status)
{
	struct efa_qp *qp = xfer->qp;
	unsigned int code = xfer->wr.op;
	uint64_t req_id = xfer->wr.req_id;

	count_end(efa, xfer, status);
	free_xfer(efa, xfer);
	efa_sq_complete(efa, qp, req_id, code, status);
}

bool efa_transfer_flush_one(struct efa *efa, struct efa_qp *qp)
{
	struct efa_transfer *xfer = TAILQ_FIRST(&qp->transfers);

	if (!xfer)
		return false;
	efa->tally.flushes++;
	complete(efa, xfer, EFA_IO_FLUSHED);
	return true;
}

void efa_transfer_cancel_all(struct efa *efa, struct efa_qp *qp)
{
	struct efa_transfer *xfer;

	while ((xfer = TAILQ_FIRST(&qp->transfers)))
		free_xfer(efa, xfer);
}

void efa_net_flush_ah(struct efa *efa, struct efa_ah *ah)
{
	for (unsigned int i = 0; i < EFA_TRANSFERS; i++) {
		struct efa_transfer *xfer = &efa->net->transfers[i];

		if (xfer->qp && xfer->ah == ah) {
			efa->tally.flushes++;
			complete(efa, xfer, EFA_IO_FLUSHED);
		}
	}
}

/* ---- sending ----------------------------------------------------------- */

/* choice: acknowledgements carry nothing and are not counted */
void efa_net_count_sent(struct efa *efa, const struct efa_pkt *pkt)
{
	efa->stats.basic.tx_pkts++;
	efa->stats.basic.tx_bytes += pkt->payload;
}

static void fill(struct efa *efa, const struct efa_qp *qp, const struct efa_wr *wr,
		 struct efa_pkt *pkt)
{
	*pkt = (struct efa_pkt) {
		.magic = EFA_PKT_MAGIC,
		.has_imm = wr->has_imm,
		.src_qp = qp->num,
		.dst_qp = wr->dest_qp,
		.epoch = efa->net->epoch,
		.qkey = wr->qkey,
		.imm = wr->imm,
		.length = wr->length,
		.rkey = wr->rkey,
		.remote = wr->remote,
	};
}

enum efa_io_status efa_net_datagram(struct efa *efa, struct efa_qp *qp, struct efa_ah *ah,
				    const struct efa_wr *wr)
{
	struct efa_pkt *pkt = (void *)efa->net->packet;
	enum efa_io_status status;

	fill(efa, qp, wr, pkt);
	pkt->type = EFA_PKT_DATAGRAM;
	pkt->payload = wr->length;
	status = gather(efa, qp, wr, 0, wr->length, (uint8_t *)(pkt + 1));
	if (status)
		return status;
	/* unreliable: a full queue or a pulled cable loses it, nobody is told */
	fabric_send(&efa->port, ah->peer->gid, pkt, sizeof(*pkt) + pkt->payload);
	efa_net_count_sent(efa, pkt);
	return EFA_IO_OK;
}

static const uint8_t packet_type[] = {
	[EFA_OP_SEND] = EFA_PKT_SEND,
	[EFA_OP_RDMA_READ] = EFA_PKT_READ,
	[EFA_OP_RDMA_WRITE] = EFA_PKT_WRITE,
};

/* 0; -ENOBUFS: try later; -EIO: the operation ended in an error of our own */
static int send_segment(struct efa *efa, struct efa_transfer *xfer, uint32_t segment)
{
	struct efa_pkt *pkt = (void *)efa->net->packet;
	uint32_t len = efa_segment_length(xfer->wr.length, segment);
	enum efa_io_status status;

	fill(efa, xfer->qp, &xfer->wr, pkt);
	pkt->type = packet_type[xfer->wr.op];
	pkt->slot = slot_of(efa, xfer);
	pkt->serial = xfer->serial;
	pkt->segment = segment;
	if (xfer->wr.op != EFA_OP_RDMA_READ) {
		pkt->tid = xfer->tid;
		pkt->oldest = TAILQ_FIRST(&xfer->peer->open)->tid;
		pkt->payload = len;
		status = gather(efa, xfer->qp, &xfer->wr, segment * EFA_SEGMENT, len,
				(uint8_t *)(pkt + 1));
		if (status) {
			complete(efa, xfer, status);
			return -EIO;
		}
	}
	/* a pulled cable is not told either: the deadline will */
	if (fabric_send(&efa->port, xfer->peer->gid, pkt, sizeof(*pkt) + pkt->payload) == -ENOBUFS)
		return -ENOBUFS;
	efa_net_count_sent(efa, pkt);
	if (xfer->tries) {
		efa->tally.retries++;
		efa->stats.network.retrans_pkts++;
		efa->stats.network.retrans_bytes += pkt->payload;
	}
	return 0;
}

static bool answered(const struct efa_transfer *xfer, uint32_t segment)
{
	return segment < xfer->base || (segment - xfer->base < 64 &&
				      xfer->acked >> (segment - xfer->base) & 1);
}

/* the next segment that may go out, or xfer->segments */
static uint32_t next_segment(struct efa_transfer *xfer)
{
	if (xfer->next < xfer->base)
		xfer->next = xfer->base;
	while (xfer->next < xfer->segments && answered(xfer, xfer->next))
		xfer->next++;
	if (xfer->next >= xfer->base + EFA_WINDOW)
		return xfer->segments;
	return xfer->next;
}

/* one packet of the first operation that waits; false if none can go */
static bool send_one(struct efa *efa, size_t *bytes)
{
	struct efa_net *net = efa->net;
	struct efa_transfer *xfer = TAILQ_FIRST(&net->sending);
	uint32_t segment;
	int err;

	if (!xfer)
		return false;
	segment = next_segment(xfer);
	if (segment == xfer->segments) {
		stop_send(efa, xfer);
		return true;
	}
	*bytes += efa_segment_length(xfer->wr.length, segment);
	err = send_segment(efa, xfer, segment);
	if (err == -ENOBUFS) {
		net->blocked_until = model_now(&efa->dev) + BLOCKED_NS;
		return false;
	}
	if (err)
		return true;
	xfer->next = segment + 1;
	set_deadline(efa, xfer, efa->config.ack_ms);
	/* others wait too */
	TAILQ_REMOVE(&net->sending, xfer, send_link);
	TAILQ_INSERT_TAIL(&net->sending, xfer, send_link);
	return true;
}

/* ---- waiting ----------------------------------------------------------- */

static void time_out(struct efa *efa, struct efa_transfer *xfer)
{
	xfer->deadline = 0;
	if (xfer->not_ready) {
		begin(efa, xfer);
		return;
	}
	efa->stats.network.timeouts++;
	if (++xfer->tries < efa->config.ack_tries) {
		xfer->next = xfer->base;
		want_send(efa, xfer);
		return;
	}
	efa->stats.network.unresponsive++;
	complete(efa, xfer, xfer->peer->answered ? EFA_IO_LOCAL_UNRESP_REMOTE :
					       EFA_IO_LOCAL_UNREACH_REMOTE);
}

static void check_deadlines(struct efa *efa)
{
	struct efa_net *net = efa->net;
	uint64_t now = model_now(&efa->dev);

	if (!net->next_deadline || now < net->next_deadline)
		return;
	net->next_deadline = 0;
	for (unsigned int i = 0; i < EFA_TRANSFERS; i++) {
		struct efa_transfer *xfer = &net->transfers[i];

		if (xfer->qp && xfer->deadline && xfer->deadline <= now)
			time_out(efa, xfer);
		if (xfer->qp && xfer->deadline &&
		    (!net->next_deadline || xfer->deadline < net->next_deadline))
			net->next_deadline = xfer->deadline;
	}
}

bool efa_net_work(struct efa *efa, uint64_t *when)
{
	struct efa_net *net = efa->net;
	size_t bytes = 0;
	bool more = true;

	check_deadlines(efa);
	if (net->blocked_until > model_now(&efa->dev)) {
		*when = net->blocked_until;
		return false;
	}
	net->blocked_until = 0;
	for (unsigned int i = 0; more && i < PACKETS_PER_SLICE && bytes < BYTES_PER_SLICE; i++)
		more = send_one(efa, &bytes);
	*when = net->blocked_until ? net->blocked_until : net->next_deadline;
	return more;
}

/* ---- answers ----------------------------------------------------------- */

static struct efa_transfer *xfer_of(struct efa *efa, const struct efa_pkt *pkt)
{
	struct efa_transfer *xfer = pkt->slot < EFA_TRANSFERS ? &efa->net->transfers[pkt->slot] : NULL;

	return xfer && xfer->qp && xfer->serial == pkt->serial && !xfer->not_ready ? xfer : NULL;
}

static void receiver_not_ready(struct efa *efa, struct efa_transfer *xfer)
{
	uint8_t limit = xfer->qp->rnr_retry;

	efa->tally.rnr++;
	if (limit != 7 && xfer->rnr_tries >= limit) {
		complete(efa, xfer, EFA_IO_REMOTE_RNR);
		return;
	}
	xfer->rnr_tries++;
	xfer->not_ready = true;
	stop_send(efa, xfer);
	/* the peer has answered this transaction; the next try is another one */
	close_transaction(xfer);
	set_deadline(efa, xfer, efa->config.rnr_ms);
}

static void segment_done(struct efa *efa, struct efa_transfer *xfer, uint32_t segment)
{
	if (!efa_window_mark(&xfer->base, &xfer->acked, segment))
		return;
	xfer->tries = 0;
	if (xfer->base == xfer->segments) {
		complete(efa, xfer, EFA_IO_OK);
		return;
	}
	set_deadline(efa, xfer, efa->config.ack_ms);
	want_send(efa, xfer);
}

static void read_data(struct efa *efa, struct efa_transfer *xfer, const struct efa_pkt *pkt,
		      const void *payload)
{
	enum efa_io_status status;

	if (xfer->wr.op != EFA_OP_RDMA_READ || pkt->segment >= xfer->segments ||
	    pkt->payload != efa_segment_length(xfer->wr.length, pkt->segment)) {
		complete(efa, xfer, EFA_IO_REMOTE_BAD_STATUS);
		return;
	}
	if (answered(xfer, pkt->segment))
		return;
	status = scatter(efa, xfer, pkt->segment * EFA_SEGMENT, payload, pkt->payload);
	if (status)
		complete(efa, xfer, status);
	else
		segment_done(efa, xfer, pkt->segment);
}

void efa_transfer_answered(struct efa *efa, struct efa_peer *peer, const struct efa_pkt *pkt,
		     const void *payload)
{
	struct efa_transfer *xfer = xfer_of(efa, pkt);

	if (!xfer || xfer->peer != peer)
		return;		/* an answer to something that is over */
	peer->answered = true;
	if (pkt->type == EFA_PKT_DATA)
		read_data(efa, xfer, pkt, payload);
	else if (pkt->status == EFA_IO_REMOTE_RNR)
		receiver_not_ready(efa, xfer);
	else if (pkt->status)
		complete(efa, xfer, pkt->status);
	else
		segment_done(efa, xfer, pkt->segment);
}
