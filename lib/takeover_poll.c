// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Polling of CQs that were taken over: ibv_poll_cq(), the extended poll and its readers,
 * ibv_req_notify_cq().
 *
 * Whose a completion is, a table says by QP number. Completions of QPs that are gone, of
 * earlier QPs of the same number and of requests that are not out are passed over; the
 * program never hears of them.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "takeover.h"

#define BATCH	16	/* entries that a poll takes with one fence */

static inline uint32_t entries(const struct dvq_efa_cq *ring)
{
	return ring->bytes / ring->entry_size;
}

/* ---- whose it is ------------------------------------------------------------------------ */

/* of rows that have a QP: those whose QP is no more lose it; false: ask again */
static bool sweep_some(struct take_cq *cq, struct take_row *const *rows, uint16_t n)
{
	uint8_t alive[TAKE_ASK] = { 0 };
	uint64_t uids[TAKE_ASK];
	int ret = 0;

	for (uint16_t i = 0; i < n; i++)
		uids[i] = rows[i]->qp->info.uid;
	if (n)
		ret = dvq_query_uids(cq->context->identity.fd, uids, n, alive);
	if (ret && !dvq_tells_of_none(ret))
		return ret == EIO;
	for (uint16_t i = 0; i < n; i++)
		if (ret || !alive[i])
			memset(rows[i], 0, sizeof(*rows[i]));
	return true;
}

/*
 * QPs have gone or were reset: those that are no more leave the table. While the kernel does not say
 * which, the next poll asks again.
 */
static void sweep(struct take_cq *cq, uint64_t now)
{
	struct take_row *rows[TAKE_ASK];
	bool done = true;
	uint16_t n = 0;

	for (uint32_t i = 0; i <= cq->row_mask; i++) {
		if (!cq->rows[i].qp)
			continue;
		rows[n++] = &cq->rows[i];
		if (n < TAKE_ASK)
			continue;
		done &= sweep_some(cq, rows, n);
		n = 0;
	}
	done &= sweep_some(cq, rows, n);
	if (done)
		cq->seen = now;
}

static inline void check_rows(struct take_cq *cq)
{
	const uint64_t now = cq->context->changes->qps;

	if (dvq_unlikely(now != cq->seen))
		sweep(cq, now);
}

/* puts the wr_id in; false: it is nobody's */
static inline bool resolve(const struct take_cq *cq, struct dvq_efa_wc *wc)
{
	const struct take_row *row = &cq->rows[wc->qp_num & cq->row_mask];

	if (dvq_unlikely(!row->qp || row->qp_num != wc->qp_num))
		return false;
	if (dvq_efa_wc_is_recv(wc)) {
		if (dvq_unlikely(!row->recv))
			return false;
		if (wc->flags & EFA_CQE_UNSOLICITED)
			return true;
		if (dvq_unlikely(!take_pool_put(row->recv, wc->req_id, &wc->wr_id)))
			return false;
		/* counted as the ring's ids are, so that it has room again */
		dvq_write_once(row->qp->rq.ids.completed, row->qp->rq.ids.completed + 1);
		return true;
	}
	return row->send &&
	       take_pool_put(row->send, row->wide ? wc->wr_id : wc->req_id, &wc->wr_id);
}

/* ---- taking entries ------------------------------------------------------------------------ */

/* without a table the ring's code takes every entry and leaves its id in wr_id */
static inline uint32_t take(struct take_cq *cq, struct dvq_efa_wc *wc, uint32_t n, uint32_t *good)
{
	struct dvq_efa_cq *ring = &cq->ring;
	uint32_t taken;

	if (ring->entry_size == EFA_CQE_SIZE_EX)
		taken = dvq_efa_cq_round(ring, EFA_CQE_SIZE_EX, wc, n, good);
	else
		taken = dvq_efa_cq_round(ring, EFA_CQE_SIZE, wc, n, good);
	ring->consumed += taken;
	ring->stale += taken - *good;
	cq->unrung |= taken != 0;
	return taken;
}

static uint32_t take_backlog(struct take_cq *cq, struct dvq_efa_wc *wc, uint32_t n)
{
	if (n > cq->backlog_count)
		n = cq->backlog_count;
	memcpy(wc, cq->backlog + cq->backlog_first, n * sizeof(*wc));
	cq->backlog_count -= n;
	/* at its start again, or it would grow with all that ever was in it */
	cq->backlog_first = cq->backlog_count ? cq->backlog_first + n : 0;
	return n;
}

/*
 * Up to @n completions that somebody waits for. 0 only if there is no entry left, or a
 * whole ring of them was nobody's: a device that goes on for ever does not keep us here.
 * @emptied: no entry is left; there may be fewer than @n otherwise, too.
 */
static inline uint32_t next(struct take_cq *cq, struct dvq_efa_wc *wc, uint32_t n, bool *emptied)
{
	uint32_t all = entries(&cq->ring) * cq->ring.sub_cqs + cq->backlog_count;
	uint32_t taken, good, left;

	do {
		if (dvq_unlikely(cq->backlog_count)) {
			taken = good = take_backlog(cq, wc, n);
			*emptied = false;
		} else {
			taken = take(cq, wc, n, &good);
			*emptied = taken < n;
		}
		left = 0;
		for (uint32_t i = 0; i < good; i++) {
			if (dvq_unlikely(!resolve(cq, &wc[i]))) {
				cq->ring.stale++;
				continue;
			}
			if (dvq_unlikely(left != i))
				wc[left] = wc[i];
			left++;
		}
		all -= taken < all ? taken : all;
	} while (!left && taken && all);
	return left;
}

static inline void ring_doorbell(struct take_cq *cq)
{
	if (!cq->unrung)
		return;
	dvq_efa_cq_ring(&cq->ring, 0);
	cq->unrung = false;
}

/* ---- when a QP is reset ----------------------------------------------------------------------- */

static bool is_of(const struct dvq_efa_wc *wc, const struct take_qp *qp, bool recv)
{
	return wc->qp_num == qp->info.qp_num && dvq_efa_wc_is_recv(wc) == recv;
}

/* Room for one more at the end of the backlog. Half of it may have been polled since it was that large. */
static int make_room(struct take_cq *cq)
{
	const uint32_t size = cq->backlog_size ? 2 * cq->backlog_size : 4 * BATCH;
	struct dvq_efa_wc *more;

	if (cq->backlog_first + cq->backlog_count < cq->backlog_size)
		return 0;
	if (cq->backlog_first >= cq->backlog_count && cq->backlog_size) {
		memcpy(cq->backlog, cq->backlog + cq->backlog_first,
		       cq->backlog_count * sizeof(*cq->backlog));
		cq->backlog_first = 0;
		return 0;
	}
	more = malloc(size * sizeof(*more));
	if (!more)
		return ENOMEM;
	if (cq->backlog_count)
		memcpy(more, cq->backlog + cq->backlog_first, cq->backlog_count * sizeof(*more));
	free(cq->backlog);
	cq->backlog = more;
	cq->backlog_size = size;
	cq->backlog_first = 0;
	return 0;
}

static void forget_backlog(struct take_cq *cq, const struct take_qp *qp, bool recv)
{
	struct dvq_efa_wc *from = cq->backlog + cq->backlog_first, *to = from;

	for (uint32_t i = 0; i < cq->backlog_count; i++)
		if (!is_of(&from[i], qp, recv))
			*to++ = from[i];
	cq->backlog_count = (uint32_t)(to - from);
}

int take_cq_forget(struct take_cq *cq, const struct take_qp *qp, bool recv)
{
	uint32_t all = entries(&cq->ring) * cq->ring.sub_cqs;
	struct dvq_efa_wc wc;
	uint32_t good;

	forget_backlog(cq, qp, recv);
	if (!cq->ring.ring)
		return 0;
	for (; all; all--) {
		if (make_room(cq))
			return ENOMEM;
		if (!take(cq, &wc, 1, &good))
			break;
		if (good && !is_of(&wc, qp, recv))
			cq->backlog[cq->backlog_first + cq->backlog_count++] = wc;
	}
	ring_doorbell(cq);
	return 0;
}

/* ---- ibv_poll_cq() ------------------------------------------------------------------------------ */

static inline void fill_wc(struct ibv_wc *to, const struct dvq_efa_wc *from)
{
	to->wr_id = from->wr_id;
	to->status = dvq_efa_wc_status(from);
	to->opcode = dvq_efa_wc_opcode(from, false);
	to->vendor_err = from->status;
	to->byte_len = from->byte_len;
	to->imm_data = htonl(from->imm);
	to->qp_num = from->qp_num;
	to->src_qp = from->src_qp;
	to->wc_flags = dvq_efa_wc_has_imm(from) ? IBV_WC_WITH_IMM : 0;
	to->pkey_index = 0;
	to->slid = from->ah;
	to->sl = 0;
	to->dlid_path_bits = 0;
}

int take_poll_cq(struct take_cq *cq, int n, struct ibv_wc *wc)
{
	struct dvq_efa_wc batch[BATCH];
	uint32_t found, most, was;
	bool emptied;
	int polled = 0;

	if (dvq_unlikely(!cq->ring.ring))
		return -EOPNOTSUPP;
	was = take_enter(&cq->gate);
	check_rows(cq);
	while (polled < n) {
		most = n - polled < BATCH ? (uint32_t)(n - polled) : BATCH;
		found = next(cq, batch, most, &emptied);
		for (uint32_t i = 0; i < found; i++)
			fill_wc(&wc[polled++], &batch[i]);
		/* to a program that then waits for an event, fewer than it asked for say that all is polled */
		if (!found || emptied)
			break;
	}
	ring_doorbell(cq);
	take_leave(&cq->gate, was);
	return polled;
}

/* ---- the extended poll ----------------------------------------------------------------------------- */

static inline int step(struct ibv_cq_ex *ex, struct take_cq *cq)
{
	bool emptied;

	if (!next(cq, &cq->current, 1, &emptied))
		return ENOENT;
	ex->wr_id = cq->current.wr_id;
	ex->status = dvq_efa_wc_status(&cq->current);
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct take_cq *cq = take_cq_here(ex);

	take_enter(&cq->gate);
	ring_doorbell(cq);
	take_leave(&cq->gate, TAKE_FREE);
}

int take_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct take_cq *cq;
	int ret;

	/* it may have been ours only since just now: pairs with the release in take_cq_mark() */
	(void)__atomic_load_n(&ex->start_poll, __ATOMIC_ACQUIRE);
	cq = take_cq_here(ex);
	if (dvq_unlikely(!attr || attr->comp_mask))
		return EINVAL;
	if (dvq_unlikely(!cq->ring.ring))
		return EOPNOTSUPP;
	take_enter_alone(&cq->gate);
	check_rows(cq);
	ret = step(ex, cq);
	if (ret)
		ring_doorbell(cq);
	take_leave(&cq->gate, ret ? TAKE_FREE : TAKE_OPEN);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct take_cq *cq = take_cq_here(ex);
	const uint32_t was = take_enter(&cq->gate);
	int ret = step(ex, cq);

	take_leave(&cq->gate, was);
	return ret;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return dvq_efa_wc_opcode(&take_cq_here(ex)->current, false);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return take_cq_here(ex)->current.status;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return take_cq_here(ex)->current.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return htonl(take_cq_here(ex)->current.imm);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return take_cq_here(ex)->current.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return take_cq_here(ex)->current.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return dvq_efa_wc_has_imm(&take_cq_here(ex)->current) ? IBV_WC_WITH_IMM : 0;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return take_cq_here(ex)->current.ah;
}

static uint8_t read_zero(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static int wc_read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	const struct take_cq *cq = (struct take_cq *)efadv_cq;

	if (!cq->wants_sgid)
		return -EOPNOTSUPP;
	if (!cq->current.has_sgid)
		return -ENOENT;
	memcpy(sgid->raw, cq->current.sgid, sizeof(sgid->raw));
	return 0;
}

static bool wc_is_unsolicited(struct efadv_cq *efadv_cq)
{
	const struct take_cq *cq = (struct take_cq *)efadv_cq;

	return cq->wants_unsolicited && dvq_efa_wc_unsolicited(&cq->current);
}

/*
 * A program may have asked for the readers before the take-over, and keep what it got as long as the
 * CQ lives: that is the provider's struct. It is as far from the CQ in each that a provider makes.
 */
static ptrdiff_t readers_at;	/* 0: none was seen. Written with the lock */

static struct take_cq *early(struct efadv_cq *efadv_cq)
{
	return take_cq_of((struct ibv_cq *)(void *)((char *)efadv_cq -
			  __atomic_load_n(&readers_at, __ATOMIC_RELAXED)));
}

static int early_read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	struct take_cq *cq = early(efadv_cq);

	return cq ? wc_read_sgid(&cq->efadv, sgid) : -EOPNOTSUPP;
}

static bool early_is_unsolicited(struct efadv_cq *efadv_cq)
{
	struct take_cq *cq = early(efadv_cq);

	return cq && wc_is_unsolicited(&cq->efadv);
}

static void replace_readers(struct ibv_cq *cq, const struct dvq_efadv_readers *readers)
{
	const ptrdiff_t at = (char *)readers->cq - (char *)cq;

	/* with a second provider in the process, programs have to ask again for the readers of its CQs */
	if (!readers->cq || (readers_at && readers_at != at))
		return;
	__atomic_store_n(&readers_at, at, __ATOMIC_RELAXED);
	if (readers->cq->wc_read_sgid)
		__atomic_store_n(&readers->cq->wc_read_sgid, early_read_sgid, __ATOMIC_RELEASE);
	if (readers->has_unsolicited && readers->cq->wc_is_unsolicited)
		__atomic_store_n(&readers->cq->wc_is_unsolicited, early_is_unsolicited,
				 __ATOMIC_RELEASE);
}

/* what the CQ was not created to tell stays as it is: nobody may ask */
#define REPLACE(ex, slot, with)							\
	do {									\
		if ((ex)->slot)							\
			(ex)->slot = (with);					\
	} while (0)

void take_cq_mark(struct ibv_cq *cq, struct take_cq *taken, const struct dvq_efadv_readers *readers)
{
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq;

	taken->efadv.wc_read_sgid = wc_read_sgid;
	taken->efadv.wc_is_unsolicited = wc_is_unsolicited;
	REPLACE(ex, read_opcode, read_opcode);
	REPLACE(ex, read_vendor_err, read_vendor_err);
	REPLACE(ex, read_byte_len, read_byte_len);
	REPLACE(ex, read_imm_data, read_imm_data);
	REPLACE(ex, read_qp_num, read_qp_num);
	REPLACE(ex, read_src_qp, read_src_qp);
	REPLACE(ex, read_wc_flags, read_wc_flags);
	REPLACE(ex, read_slid, read_slid);
	REPLACE(ex, read_sl, read_zero);
	REPLACE(ex, read_dlid_path_bits, read_zero);
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_tm_info = (void (*)(struct ibv_cq_ex *, struct ibv_wc_tm_info *))(void *)taken;
	replace_readers(cq, readers);
	__atomic_store_n(&ex->start_poll, take_start_poll, __ATOMIC_RELEASE);
}

/* ---- ibv_req_notify_cq() ------------------------------------------------------------------------------ */

/* there is an entry on the ring that was not taken yet */
static bool has_more(const struct dvq_efa_cq *ring)
{
	for (uint32_t i = 0; i < ring->sub_cqs; i++) {
		const struct dvq_efa_sub_cq *sub = &ring->sub[i];

		if (dvq_efa_cqe_is_new(ring->ring + (uint64_t)i * ring->bytes + sub->next, sub->phase))
			return true;
	}
	return false;
}

/*
 * The device wants to be told, in two bits, how many events there were. The verbs tell only of those
 * that were acknowledged, which may be late. An arm makes one at most, and none without an entry beyond those that
 * had been taken. Which entries do, those that waited or only later ones, is the device's business. So
 * if there may have been an event that was not acknowledged, the kernel is to be asked, which has handed it
 * on; who has acknowledged one since the last arm has acknowledged that arm's. Never is the count too high; one that
 * was on its way to the kernel counts a later time, and the device takes any count.
 */
static bool may_lack_events(const struct take_cq *cq, uint32_t acknowledged)
{
	const struct dvq_efa_cq *ring = &cq->ring;

	return (int32_t)(acknowledged - ring->events) <= 0 && cq->armed &&
	       (ring->consumed != cq->armed_at || has_more(ring));
}

static void raise_events(struct dvq_efa_cq *ring, uint32_t events)
{
	if ((int32_t)(events - ring->events) > 0)
		ring->events = events;
}

int take_arm(struct ibv_cq *ibvcq, struct take_cq *cq, int solicited_only)
{
	const uint32_t acknowledged = __atomic_load_n(&ibvcq->comp_events_completed, __ATOMIC_RELAXED);
	struct dvq_efa_cq *ring = &cq->ring;
	struct dvq_cq_info info;
	uint32_t was;
	int ret;

	if (solicited_only)
		return EOPNOTSUPP;
	if (!ring->ring)
		return EOPNOTSUPP;
	was = take_enter(&cq->gate);
	if (may_lack_events(cq, acknowledged)) {
		take_leave(&cq->gate, was);
		ret = dvq_efa_query_cq(ibvcq, &info);
		was = take_enter(&cq->gate);
		if (!ret)
			raise_events(ring, info.events);
	}
	raise_events(ring, acknowledged);
	ret = dvq_efa_cq_arm(ring);
	if (!ret) {
		cq->armed = true;
		cq->armed_at = ring->consumed;
	}
	take_leave(&cq->gate, was);
	return ret;
}
