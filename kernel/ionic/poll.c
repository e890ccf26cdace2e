// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completions of the kernel's queues. The device says in what it writes which requests are
 * finished; they are reported in the order of their ring, and those that were not signaled
 * not at all. One entry can finish many.
 *
 * A queue in error is flushed here: when the ring has no entry left, all that was posted and
 * is posted from then on is reported as flushed. What starts that is an error of the queue,
 * the device's hint, a change to ERR, or the end of the device. There may be nothing that
 * makes an interrupt then, so whoever has armed the CQ is told by a worker.
 *
 * An entry that makes no sense ends its QP: it goes to ERR, which tells the device to stop,
 * and its user hears of it.
 */
#include <linux/if_vlan.h>

#include "dion.h"

/* ---- flushing ---------------------------------------------------------------- */

/* Tells who has armed the CQ. In any context. */
void dion_cq_tell(struct dion_cq *cq)
{
	struct ib_cq *ibcq = &cq->dvq.ibcq;
	unsigned long flags;

	spin_lock_irqsave(&cq->tell_lock, flags);
	if (!cq->closed && test_and_clear_bit(0, &cq->armed) && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);
	spin_unlock_irqrestore(&cq->tell_lock, flags);
}

/* Tells of completions that no interrupt comes for. */
void dion_cq_flush_work(struct work_struct *work)
{
	dion_cq_tell(container_of(work, struct dion_cq, flush_work));
}

static void tell_of_flush(struct dion_cq_ring *ring)
{
	queue_work(to_dion_dev(ring->cq->dvq.ibcq.device)->work, &ring->cq->flush_work);
}

static void start_flush_sends(struct dion_work *work)
{
	struct dion_sends *sends = &work->sends;

	lockdep_assert_held(&work->send_ring->lock);
	lockdep_assert_held(&sends->lock);
	sends->flow = DION_FLUSHING;
	if (sends->retired != sends->posted && list_empty(&sends->flush))
		list_add_tail(&sends->flush, &work->send_ring->flush_sends);
}

static void start_flush_recvs(struct dion_work *work)
{
	struct dion_recvs *recvs = &work->recvs;

	lockdep_assert_held(&work->recv_ring->lock);
	lockdep_assert_held(&recvs->lock);
	recvs->flow = DION_FLUSHING;
	if (!list_empty(&recvs->used) && list_empty(&recvs->flush))
		list_add_tail(&recvs->flush, &work->recv_ring->flush_recvs);
}

static void flush_send_queue(struct dion_work *work, bool begin)
{
	struct dion_cq_ring *ring = work->send_ring;
	unsigned long flags;
	bool flushing;

	spin_lock_irqsave(&ring->lock, flags);
	spin_lock(&work->sends.lock);
	flushing = begin || work->sends.flow == DION_FLUSHING;
	if (flushing)
		start_flush_sends(work);
	spin_unlock(&work->sends.lock);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (flushing)
		tell_of_flush(ring);
}

static void flush_recv_queue(struct dion_work *work, bool begin)
{
	struct dion_cq_ring *ring = work->recv_ring;
	unsigned long flags;
	bool flushing;

	spin_lock_irqsave(&ring->lock, flags);
	spin_lock(&work->recvs.lock);
	flushing = begin || work->recvs.flow == DION_FLUSHING;
	if (flushing)
		start_flush_recvs(work);
	spin_unlock(&work->recvs.lock);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (flushing)
		tell_of_flush(ring);
}

/*
 * More was posted to a send queue that is flushed, if it still is: another processor may have opened
 * it since, and what is sent must not be reported as flushed. In any context.
 */
void dion_flush_more_sends(struct dion_work *work)
{
	flush_send_queue(work, false);
}

/* The same of the receive queue. */
void dion_flush_more_recvs(struct dion_work *work)
{
	flush_recv_queue(work, false);
}

/* From now on what is posted to either queue, and was, is flushed. In any context. */
void dion_work_flush(struct dion_work *work)
{
	flush_send_queue(work, true);
	flush_recv_queue(work, true);
}

/* The device has been stopped: nothing more comes from it. */
void dion_work_flush_all(struct dion_dev *dev)
{
	struct dion_qp *qp;
	unsigned long qpn;

	xa_lock_irq(&dev->qps);
	xa_for_each(&dev->qps, qpn, qp)
		if (qp->work)
			dion_work_flush(qp->work);
	xa_unlock_irq(&dev->qps);
}

/* ---- entries of the ring ----------------------------------------------------- */

/* The next entry, or NULL if it is not there yet. */
static const struct ionic_cqe *next_cqe(const struct dion_cq_ring *ring)
{
	const struct ionic_cqe *cqes = ring->memory.cpu;
	const struct ionic_cqe *cqe = &cqes[ring->taken & (BIT(ring->depth_log2) - 1)];
	u32 lap_color = !(ring->taken >> ring->depth_log2 & 1);

	if ((be32_to_cpu(READ_ONCE(cqe->qid_type_flags)) & IONIC_CQE_COLOR) != lap_color)
		return NULL;
	/* The color comes last: pairs with the device's order of writing. */
	dma_rmb();
	return cqe;
}

static void ring_cq(struct dion_cq_ring *ring, u8 which, u32 index)
{
	struct dion_dev *dev = to_dion_dev(ring->cq->dvq.ibcq.device);

	dion_ring_doorbell(dev, dev->eth.rdma.cq.qtype, ring->hw.id, which,
			   index & (BIT(ring->depth_log2) - 1));
}

static void tell_position(struct dion_cq_ring *ring)
{
	if (ring->told == ring->taken)
		return;
	ring->told = ring->taken;
	ring_cq(ring, IONIC_DB_RING_PROD, ring->taken);
}

/* The worker that ends the QP is waited for before the QP goes. */
static void broken(struct dion_qp *qp, const struct ionic_cqe *cqe)
{
	struct dion_dev *dev = to_dion_dev(qp->dvq.ibqp.device);

	ibdev_err_ratelimited(&dev->dvq.ibdev, "QP %u: a completion makes no sense: %*ph\n",
			      qp->dvq.ibqp.qp_num, (int)sizeof(*cqe), cqe);
	set_bit(DION_QP_BROKEN, &qp->events);
	queue_work(dev->qp_work, &qp->event_work);
}

/* ---- sends ------------------------------------------------------------------- */

static enum ib_wc_status to_wc_status(u32 status)
{
	static const u8 statuses[] = {
		[IONIC_IO_OK] = IB_WC_SUCCESS,
		[IONIC_IO_LOCAL_LEN] = IB_WC_LOC_LEN_ERR,
		[IONIC_IO_LOCAL_QP_OP] = IB_WC_LOC_QP_OP_ERR,
		[IONIC_IO_LOCAL_PROT] = IB_WC_LOC_PROT_ERR,
		[IONIC_IO_FLUSHED] = IB_WC_WR_FLUSH_ERR,
		[IONIC_IO_MEM_MGMT] = IB_WC_MW_BIND_ERR,
		[IONIC_IO_BAD_RESP] = IB_WC_BAD_RESP_ERR,
		[IONIC_IO_LOCAL_ACCESS] = IB_WC_LOC_ACCESS_ERR,
		[IONIC_IO_REMOTE_INV_REQ] = IB_WC_REM_INV_REQ_ERR,
		[IONIC_IO_REMOTE_ACCESS] = IB_WC_REM_ACCESS_ERR,
		[IONIC_IO_REMOTE_OP] = IB_WC_REM_OP_ERR,
		[IONIC_IO_RETRY_EXCEEDED] = IB_WC_RETRY_EXC_ERR,
		[IONIC_IO_RNR_EXCEEDED] = IB_WC_RNR_RETRY_EXC_ERR,
		[IONIC_IO_XRC] = IB_WC_GENERAL_ERR,
		[IONIC_IO_LOCAL_SGL] = IB_WC_LOC_QP_OP_ERR,
	};

	return status < ARRAY_SIZE(statuses) ? statuses[status] : IB_WC_GENERAL_ERR;
}

/* What an entry with the mark of an error says; such a one without a status is one, too. */
static u8 error_of(const struct ionic_cqe *cqe)
{
	u32 status = be32_to_cpu(cqe->status_length);

	if (!(be32_to_cpu(cqe->qid_type_flags) & IONIC_CQE_ERROR))
		return IONIC_IO_OK;
	return status && status < U8_MAX ? status : U8_MAX;
}

static struct dion_send *send_at(struct dion_work *work, u32 index)
{
	return &work->sends.by_slot[index & work->qp->sq.ring.mask];
}

static bool is_done(const struct dion_sends *sends, const struct dion_send *send)
{
	return send->remote ? (s32)(sends->finished - send->message) > 0 : send->done;
}

static void set_status(struct dion_send *send, u8 status)
{
	send->status = status;
	/* Whatever it was, it is finished by itself. */
	send->remote = false;
	send->done = true;
}

/* All messages up to a number are finished; that of the last one may be an error. */
static bool finish_messages(struct dion_work *work, const struct ionic_cqe *cqe, u8 status)
{
	struct dion_sends *sends = &work->sends;
	u32 mask = work->qp->sq.ring.mask;
	u32 more = (be32_to_cpu(cqe->u.send.msn) - sends->finished) & mask;
	struct dion_send *send;
	u32 i;

	if (!more || more > sends->messages - sends->finished)
		return false;
	sends->finished += more;
	if (!status)
		return true;
	for (i = sends->retired; i != sends->posted; i++) {
		send = send_at(work, i);
		if (send->remote && send->message == sends->finished - 1)
			set_status(send, status);
	}
	return true;
}

/* One request is finished, or has failed. */
static bool finish_slot(struct dion_work *work, const struct ionic_cqe *cqe, u8 status)
{
	struct dion_sends *sends = &work->sends;
	u32 mask = work->qp->sq.ring.mask;
	u32 slot = FIELD_GET(IONIC_CQE_INDEX, le64_to_cpu(cqe->u.send.id));
	struct dion_send *send;

	if (slot > mask || ((slot - sends->retired) & mask) >= sends->posted - sends->retired)
		return false;
	send = send_at(work, slot);
	if (is_done(sends, send) || (send->remote && !status))
		return false;
	set_status(send, status);
	return true;
}

static void take_send(struct dion_work *work, const struct ionic_cqe *cqe, bool messages)
{
	struct dion_cq_ring *ring = work->send_ring;
	struct dion_sends *sends = &work->sends;
	u8 status = error_of(cqe);
	bool sense = true;

	spin_lock(&sends->lock);
	if (messages)
		sense = finish_messages(work, cqe, status);
	else if (status != IONIC_IO_FLUSHED)
		sense = finish_slot(work, cqe, status);
	if (sense && sends->retired != sends->posted && list_empty(&sends->ready))
		list_add_tail(&sends->ready, &ring->ready);
	/* What comes after an error, or after the flush, does not count. */
	if (sends->flow == DION_FLUSHING)
		sense = true;
	if (status)
		start_flush_sends(work);
	spin_unlock(&sends->lock);
	if (!sense)
		broken(work->qp, cqe);
}

static void report_send(const struct dion_work *work, const struct dion_send *send,
			struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id = send->wr_id,
		.status = to_wc_status(send->status),
		.opcode = send->opcode,
		.vendor_err = send->status,
		.byte_len = send->length,
		.qp = &work->qp->dvq.ibqp,
		.port_num = 1,
	};
}

/* Takes what is done off the head of a send queue. */
static int retire(struct dion_work *work, struct ib_wc *wc, int wanted)
{
	struct dion_sends *sends = &work->sends;
	const struct dion_send *send;
	int got = 0;

	spin_lock(&sends->lock);
	while (got < wanted && sends->retired != sends->posted) {
		send = send_at(work, sends->retired);
		if (!is_done(sends, send))
			break;
		if (send->signaled || send->status)
			report_send(work, send, &wc[got++]);
		sends->retired++;
	}
	/* What there was no room for stays ready. */
	if (sends->retired == sends->posted ||
	    !is_done(sends, send_at(work, sends->retired)))
		list_del_init(&sends->ready);
	spin_unlock(&sends->lock);
	return got;
}

/* Everything that is posted and not done yet is flushed. */
static void mark_flushed(struct dion_work *work)
{
	struct dion_sends *sends = &work->sends;
	u32 i;

	lockdep_assert_held(&work->send_ring->lock);
	lockdep_assert_held(&sends->lock);
	for (i = sends->retired; i != sends->posted; i++)
		if (!is_done(sends, send_at(work, i)))
			set_status(send_at(work, i), IONIC_IO_FLUSHED);
	sends->finished = sends->messages;
	list_del_init(&sends->flush);
	if (sends->retired != sends->posted && list_empty(&sends->ready))
		list_add_tail(&sends->ready, &work->send_ring->ready);
}

/* ---- receives ---------------------------------------------------------------- */

static void report_recv(const struct dion_work *work, const struct dion_recv *recv, u8 status,
			struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id = recv->wr_id,
		.status = to_wc_status(status),
		.opcode = IB_WC_RECV,
		.vendor_err = status,
		.qp = &work->qp->dvq.ibqp,
		.port_num = 1,
	};
}

static void put_recv(struct dion_recvs *recvs, struct dion_recv *recv)
{
	recv->used = false;
	list_move_tail(&recv->entry, &recvs->unused);
}

static void report_kind(const struct ionic_cqe *cqe, struct ib_wc *wc)
{
	switch (FIELD_GET(IONIC_CQE_RECV_OP, be32_to_cpu(cqe->u.recv.src_qpn_op))) {
	case IONIC_RECV_SEND_INV:
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = be32_to_cpu(cqe->u.recv.imm_rkey);
		break;
	case IONIC_RECV_WRITE_IMM:
		wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case IONIC_RECV_SEND_IMM:
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->u.recv.imm_rkey;
		break;
	default:
		break;
	}
}

/* Of a datagram: what its receiver makes the address to answer to of. */
static void report_sender(const struct ionic_cqe *cqe, struct ib_wc *wc)
{
	u32 word = be32_to_cpu(cqe->u.recv.src_qpn_op);
	u16 tag = be16_to_cpu(cqe->u.recv.vlan);

	wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_SMAC | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = word & IONIC_CQE_IPV4 ? RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	memcpy(wc->smac, cqe->u.recv.src_mac, sizeof(wc->smac));
	wc->sl = tag >> VLAN_PRIO_SHIFT;
	if (word & IONIC_CQE_HAS_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = tag & VLAN_VID_MASK;
	}
}

/* The request that an entry is about, or NULL. */
static struct dion_recv *find_recv(struct dion_work *work, const struct ionic_cqe *cqe)
{
	u32 token = FIELD_GET(IONIC_CQE_INDEX, le64_to_cpu(cqe->u.recv.id));
	struct dion_recv *recv;

	if (token >= work->qp->rq.ring.mask)
		return NULL;
	recv = &work->recvs.by_token[token];
	return recv->used ? recv : NULL;
}

/* Return: was there something to report? */
static bool take_recv(struct dion_work *work, const struct ionic_cqe *cqe, struct ib_wc *wc)
{
	struct dion_recvs *recvs = &work->recvs;
	struct dion_recv *recv = NULL;
	u8 status = error_of(cqe);
	bool sense = true;

	spin_lock(&recvs->lock);
	if (status != IONIC_IO_FLUSHED) {
		recv = find_recv(work, cqe);
		sense = recv || recvs->flow == DION_FLUSHING;
	}
	if (recv) {
		report_recv(work, recv, status, wc);
		put_recv(recvs, recv);
	}
	if (status)
		start_flush_recvs(work);
	spin_unlock(&recvs->lock);
	if (!sense)
		broken(work->qp, cqe);
	if (!recv || status)
		return recv;
	wc->byte_len = be32_to_cpu(cqe->status_length);
	wc->src_qp = FIELD_GET(IONIC_CQE_SRC_QPN, be32_to_cpu(cqe->u.recv.src_qpn_op));
	report_kind(cqe, wc);
	if (work->qp->dvq.ibqp.qp_type != IB_QPT_RC)
		report_sender(cqe, wc);
	return true;
}

static int flush_recvs(struct dion_work *work, struct ib_wc *wc, int wanted)
{
	struct dion_recvs *recvs = &work->recvs;
	struct dion_recv *recv;
	int got = 0;

	spin_lock(&recvs->lock);
	while (got < wanted && !list_empty(&recvs->used)) {
		recv = list_first_entry(&recvs->used, struct dion_recv, entry);
		report_recv(work, recv, IONIC_IO_FLUSHED, &wc[got++]);
		put_recv(recvs, recv);
	}
	if (list_empty(&recvs->used))
		list_del_init(&recvs->flush);
	spin_unlock(&recvs->lock);
	return got;
}

/* ---- polling ----------------------------------------------------------------- */

static bool is_send(u32 type)
{
	return type == IONIC_CQE_SEND_MSN || type == IONIC_CQE_SEND_NPG;
}

/* Return: was there something to report at once? */
static bool take_cqe(struct dion_cq_ring *ring, const struct ionic_cqe *cqe, struct ib_wc *wc)
{
	u32 word = be32_to_cpu(cqe->qid_type_flags);
	u32 type = FIELD_GET(IONIC_CQE_TYPE, word);
	struct dion_qp *qp = xa_load(&ring->qps, FIELD_GET(IONIC_CQE_QID, word));

	/* It was destroyed, or reset. */
	if (!qp)
		return false;
	if (type == IONIC_CQE_RECV && qp->work->recv_ring == ring)
		return take_recv(qp->work, cqe, wc);
	if (is_send(type) && qp->work->send_ring == ring)
		take_send(qp->work, cqe, type == IONIC_CQE_SEND_MSN);
	else
		broken(qp, cqe);
	return false;
}

static int retire_first(struct dion_cq_ring *ring, struct ib_wc *wc, int wanted)
{
	struct dion_sends *sends = list_first_entry(&ring->ready, struct dion_sends, ready);

	return retire(container_of(sends, struct dion_work, sends), wc, wanted);
}

static void mark_first(struct dion_cq_ring *ring)
{
	struct dion_sends *sends = list_first_entry(&ring->flush_sends, struct dion_sends, flush);

	spin_lock(&sends->lock);
	mark_flushed(container_of(sends, struct dion_work, sends));
	spin_unlock(&sends->lock);
}

static int flush_first(struct dion_cq_ring *ring, struct ib_wc *wc, int wanted)
{
	struct dion_recvs *recvs = list_first_entry(&ring->flush_recvs, struct dion_recvs, flush);

	return flush_recvs(container_of(recvs, struct dion_work, recvs), wc, wanted);
}

/* Of a device that never stops writing, one lap at a time. */
static int poll_ring(struct dion_cq_ring *ring, struct ib_wc *wc, int wanted)
{
	u32 lap = ring->taken + BIT(ring->depth_log2);
	const struct ionic_cqe *cqe;
	int got = 0;

	lockdep_assert_held(&ring->lock);
	while (got < wanted) {
		if (!list_empty(&ring->ready)) {
			got += retire_first(ring, wc + got, wanted - got);
			continue;
		}
		cqe = next_cqe(ring);
		if (cqe && ring->taken == lap)
			break;
		if (cqe) {
			got += take_cqe(ring, cqe, wc + got);
			ring->taken++;
		} else if (!list_empty(&ring->flush_sends)) {
			mark_first(ring);
		} else if (!list_empty(&ring->flush_recvs)) {
			got += flush_first(ring, wc + got, wanted - got);
		} else {
			break;
		}
	}
	/* choice: not with every poll, but before the device could think that there is no room */
	if (ring->taken - ring->told >= ring->slack)
		tell_position(ring);
	return got;
}

int dion_poll_cq(struct ib_cq *ibcq, int wanted, struct ib_wc *wc)
{
	struct dion_cq *cq = to_dion_cq(ibcq);
	u8 turn = READ_ONCE(cq->turn);
	struct dion_cq_ring *ring;
	unsigned long flags;
	unsigned int i;
	int got = 0;

	WRITE_ONCE(cq->turn, turn + 1);
	for (i = 0; i < DION_PIPELINES && got < wanted; i++) {
		ring = &cq->rings[(turn + i) % DION_PIPELINES];
		spin_lock_irqsave(&ring->lock, flags);
		got += poll_ring(ring, wc + got, wanted - got);
		spin_unlock_irqrestore(&ring->lock, flags);
	}
	return got;
}

/* What the next poll would report without an entry of the device. */
static bool has_own(const struct dion_cq_ring *ring)
{
	return !list_empty(&ring->ready) || !list_empty(&ring->flush_sends) ||
	       !list_empty(&ring->flush_recvs);
}

/* Return: were there any to be answered? */
static bool note_answer(struct dion_arms *arms)
{
	u32 count = READ_ONCE(arms->count);
	bool had = count != arms->answered;

	WRITE_ONCE(arms->answered, count);
	return had;
}

/*
 * In interrupts. An event answers all arms of its kind that the device had seen; those that it had not
 * seen, being rung just now, are few.
 */
void dion_cq_ring_answered(struct dion_cq_ring *ring)
{
	bool any = note_answer(&ring->any), solicited = note_answer(&ring->solicited);

	if (any && solicited)
		WRITE_ONCE(ring->mixed, true);
	/*
	 * Before the caller looks at dion_cq.armed; pairs with dion_req_notify_cq(): who arms sees that the
	 * ring has answered, or is told.
	 */
	smp_mb();
}

/*
 * The device counts arms modulo the ring's depth and takes one more for none when all are unanswered:
 * those of a ring whose QPs are idle while those of the other one make all the events. Long before
 * that it is armed for sure, and is left alone; early enough that those which an event was
 * wrongly taken to answer, being rung just then, do not make up for the rest.
 *
 * Counted before the doorbell: an event that comes at once is the answer to this one, too.
 */
static void ring_arm(struct dion_cq_ring *ring, u8 which, struct dion_arms *arms)
{
	if (arms->count - READ_ONCE(arms->answered) >= BIT(ring->depth_log2) / 4)
		return;
	WRITE_ONCE(arms->count, arms->count + 1);
	ring_cq(ring, which, arms->count);
}

/*
 * The device answers an arm at once if it has written something since the position that it
 * was told last. choice: who has mixed both kinds of arms is told of all completions from then on.
 */
static void arm(struct dion_cq_ring *ring, bool solicited)
{
	tell_position(ring);
	if (solicited && !READ_ONCE(ring->mixed))
		ring_arm(ring, IONIC_DB_RING_CQ_ARM_SOL, &ring->solicited);
	else
		ring_arm(ring, IONIC_DB_RING_CQ_ARM, &ring->any);
}

int dion_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	struct dion_cq *cq = to_dion_cq(ibcq);
	bool missed = false, own = false;
	struct dion_cq_ring *ring;
	unsigned long irq;
	unsigned int i;

	/*
	 * Before the doorbells, before looking at what others add to the lists, and before looking at what was
	 * answered: pairs with dion_cq_ring_answered().
	 */
	set_bit(0, &cq->armed);
	smp_mb__after_atomic();
	for (i = 0; i < DION_PIPELINES; i++) {
		ring = &cq->rings[i];
		spin_lock_irqsave(&ring->lock, irq);
		arm(ring, solicited);
		own |= has_own(ring);
		missed |= own || next_cqe(ring);
		spin_unlock_irqrestore(&ring->lock, irq);
	}
	if (own)
		tell_of_flush(&cq->rings[0]);
	return missed && flags & IB_CQ_REPORT_MISSED_EVENTS;
}

/* ---- QPs of a ring ----------------------------------------------------------- */

void dion_cq_ring_init(struct dion_cq_ring *ring)
{
	spin_lock_init(&ring->lock);
	xa_init(&ring->qps);
	INIT_LIST_HEAD(&ring->ready);
	INIT_LIST_HEAD(&ring->flush_sends);
	INIT_LIST_HEAD(&ring->flush_recvs);
}

/* From here on its completions reach it. */
int dion_work_attach(struct dion_qp *qp)
{
	struct dion_work *work = qp->work;
	u32 qpn = qp->dvq.ibqp.qp_num;
	int ret;

	ret = xa_insert(&work->send_ring->qps, qpn, qp, GFP_KERNEL);
	if (ret || work->send_ring == work->recv_ring)
		return ret;
	ret = xa_insert(&work->recv_ring->qps, qpn, qp, GFP_KERNEL);
	if (ret)
		xa_erase(&work->send_ring->qps, qpn);
	return ret;
}

static void void_cqe(struct ionic_cqe *cqe)
{
	cqe->qid_type_flags |= cpu_to_be32(IONIC_CQE_QID);
}

/* The next entry of the QP that is there and not taken, from where the ring is at; or NULL. */
static struct ionic_cqe *next_cqe_of(struct dion_cq_ring *ring, u32 qpn, u32 lap)
{
	struct ionic_cqe *cqes = ring->memory.cpu;
	struct ionic_cqe *cqe;

	lockdep_assert_held(&ring->lock);
	while (ring->taken != lap && next_cqe(ring)) {
		cqe = &cqes[ring->taken++ & (BIT(ring->depth_log2) - 1)];
		if (FIELD_GET(IONIC_CQE_QID, be32_to_cpu(cqe->qid_type_flags)) == qpn)
			return cqe;
	}
	return NULL;
}

/* Entries that are there and not taken become nobody's: the number may get another owner. */
static void void_cqes(struct dion_cq_ring *ring, u32 qpn)
{
	u32 taken = ring->taken, lap = taken + BIT(ring->depth_log2);
	struct ionic_cqe *cqe;

	while ((cqe = next_cqe_of(ring, qpn, lap)))
		void_cqe(cqe);
	ring->taken = taken;
}

/* The same of those of sends, but what they say is noted as if they were polled for now. */
static void take_sends(struct dion_work *work)
{
	struct dion_cq_ring *ring = work->send_ring;
	u32 taken = ring->taken, lap = taken + BIT(ring->depth_log2);
	struct ionic_cqe *cqe;
	u32 type;

	while ((cqe = next_cqe_of(ring, work->qp->dvq.ibqp.qp_num, lap))) {
		type = FIELD_GET(IONIC_CQE_TYPE, be32_to_cpu(cqe->qid_type_flags));
		if (!is_send(type))
			continue;
		take_send(work, cqe, type == IONIC_CQE_SEND_MSN);
		void_cqe(cqe);
	}
	ring->taken = taken;
}

static void reset_sends(struct dion_qp *qp)
{
	struct dion_cq_ring *ring = qp->work->send_ring;
	struct dion_sends *sends = &qp->work->sends;

	spin_lock_irq(&ring->lock);
	void_cqes(ring, qp->dvq.ibqp.qp_num);
	spin_lock(&sends->lock);
	sends->flow = DION_CLOSED;
	sends->posted = 0;
	sends->retired = 0;
	sends->messages = 0;
	sends->finished = 0;
	list_del_init(&sends->ready);
	list_del_init(&sends->flush);
	spin_unlock(&sends->lock);
	spin_unlock_irq(&ring->lock);
}

static void reset_recvs(struct dion_qp *qp)
{
	struct dion_cq_ring *ring = qp->work->recv_ring;
	struct dion_recvs *recvs = &qp->work->recvs;

	spin_lock_irq(&ring->lock);
	void_cqes(ring, qp->dvq.ibqp.qp_num);
	spin_lock(&recvs->lock);
	recvs->flow = DION_CLOSED;
	recvs->posted = 0;
	while (!list_empty(&recvs->used))
		put_recv(recvs, list_first_entry(&recvs->used, struct dion_recv, entry));
	list_del_init(&recvs->flush);
	spin_unlock(&recvs->lock);
	spin_unlock_irq(&ring->lock);
}

/* The device has let go of it. Nobody polls it any more afterwards. */
void dion_work_detach(struct dion_qp *qp)
{
	struct dion_work *work = qp->work;
	u32 qpn = qp->dvq.ibqp.qp_num;

	xa_erase(&work->send_ring->qps, qpn);
	if (work->recv_ring != work->send_ring)
		xa_erase(&work->recv_ring->qps, qpn);
	reset_sends(qp);
	reset_recvs(qp);
}

/*
 * After SQE what was posted before is flushed, and what follows is sent. The error and the
 * device's hint may not have been polled for yet; later they would be taken for new ones.
 */
static void open_sends(struct dion_work *work)
{
	struct dion_cq_ring *ring = work->send_ring;
	struct dion_sends *sends = &work->sends;
	bool flushed;

	spin_lock_irq(&ring->lock);
	take_sends(work);
	spin_lock(&sends->lock);
	flushed = sends->flow == DION_FLUSHING;
	if (flushed)
		mark_flushed(work);
	sends->flow = DION_OPEN;
	spin_unlock(&sends->lock);
	spin_unlock_irq(&ring->lock);
	if (flushed)
		tell_of_flush(ring);
}

/* One that sends for the first time was not in SQE: if it is flushed, it has failed since it was told to. */
static void open_sends_first(struct dion_work *work)
{
	spin_lock_irq(&work->sends.lock);
	if (work->sends.flow == DION_CLOSED)
		work->sends.flow = DION_OPEN;
	spin_unlock_irq(&work->sends.lock);
}

static void open_recvs(struct dion_work *work)
{
	spin_lock_irq(&work->recvs.lock);
	work->recvs.flow = DION_OPEN;
	spin_unlock_irq(&work->recvs.lock);
}

/*
 * The device was told of a change of state. It may have been stopped since it has answered, and all
 * queues flushed; then one that was opened just now is flushed again.
 */
void dion_work_state(struct dion_qp *qp, enum ib_qp_state state, enum ib_qp_state from)
{
	switch (state) {
	case IB_QPS_RESET:
		reset_sends(qp);
		reset_recvs(qp);
		break;
	case IB_QPS_INIT:
		open_recvs(qp->work);
		break;
	case IB_QPS_RTS:
		if (from == IB_QPS_RTR)
			open_sends_first(qp->work);
		else
			open_sends(qp->work);
		break;
	case IB_QPS_ERR:
		dion_work_flush(qp->work);
		break;
	default:
		break;
	}
	if (state != IB_QPS_RESET && READ_ONCE(to_dion_dev(qp->dvq.ibqp.device)->flushed))
		dion_work_flush(qp->work);
}
