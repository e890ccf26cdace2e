/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Ionic completion queue: a ring on each hardware pipeline that the CQ was created for, in
 * host memory that the adapter writes. A QP delivers to the ring of its own pipeline.
 *
 * An entry is new when its color bit is the lap's. An entry of a send queue may end many
 * requests or, while an earlier one is still out, none to be reported yet; so a poll takes
 * entries while there is room for what they end, and a queue that has more to report than
 * there was room for waits in a list.
 *
 * Whose an entry is, a table says that the caller keeps with dvq_ionic_cq_attach() and
 * dvq_ionic_cq_detach(). Entries of other QPs are taken off the ring, counted in @stale, and
 * not reported.
 *
 * The first error of a queue is followed by its flush: everything that is still out is
 * reported as flushed once the rings are empty, signaled or not, and so is what is posted
 * after it.
 *
 * One thread polls, attaches, detaches and posts to the queues of a CQ at a time.
 */
#ifndef DVQ_IONIC_CQ_H
#define DVQ_IONIC_CQ_H

#include <dvq/ionic/rq.h>
#include <dvq/ionic/sq.h>

#define DVQ_IONIC_PIPELINES	2
#define DVQ_IONIC_NO_QP		0xffffffu	/* never a QP number */

/*
 * Entries taken before the adapter is told; CQs have 100 more than what was asked for, so this
 * many can be outstanding.
 */
#define DVQ_IONIC_CQ_CREDIT	64

/*
 * A row of the table: whose the completions of a QP number are. The key of a side is what the
 * last word of a good entry says, masked: so that is recognised by one comparison. A side that
 * is not there or has failed has DVQ_IONIC_KEY_SLOW, too, which is masked in entries.
 */
struct dvq_ionic_cq_qp {
	uint64_t send;		/* address of the struct dvq_ionic_reqs, or 0 */
	uint64_t recv;
	uint32_t send_key;	/* DVQ_IONIC_NO_KEY: the row is free */
	uint32_t recv_key;
	uint64_t reserved;
};

#define DVQ_IONIC_ROW_LOG2	5
#define DVQ_IONIC_NO_KEY	0xffffffffu
#define DVQ_IONIC_KEY_SLOW	IONIC_CQE_COLOR
/* both types of sends */
#define DVQ_IONIC_SEND_BIT	0x40u
#define DVQ_IONIC_NPG_BIT	0x20u
#define DVQ_IONIC_SEND_MASK	(IONIC_CQE_QID | 0xc0u | IONIC_CQE_ERROR)
#define DVQ_IONIC_RECV_BIT	((uint32_t)IONIC_CQE_RECV << 5)
#define DVQ_IONIC_RECV_MASK	(IONIC_CQE_QID | IONIC_CQE_TYPE | IONIC_CQE_ERROR)

/**
 * struct dvq_ionic_cq_ring - the ring of a completion queue on one pipeline
 * @ring: address of the first entry; 0: there is no ring on this pipeline
 * @db_value: what is stored to the doorbell, without ring and index
 * @mask: entries - 1
 * @consumed: entries taken; counts run freely
 * @rung: value of @consumed at the last doorbell
 * @credit: entries that are taken before the next
 * @armed: doorbells that asked for an event, modulo 2^31; the upper bit: no entry was taken since
 * @armed_solicited: the same for solicited completions only
 */
struct dvq_ionic_cq_ring {
	uint64_t ring;
	uint64_t db_value;
	uint32_t mask;
	uint32_t consumed;
	uint32_t rung;
	uint32_t credit;
	uint32_t armed;
	uint32_t armed_solicited;
};

/**
 * struct dvq_ionic_cq - a completion queue
 * @version: DVQ_IONIC_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @doorbell: address of the doorbell, which both rings share, write-only
 * @qps: address of the table of struct dvq_ionic_cq_qp
 * @qp_mask: rows of the table - 1
 * @stale: entries dropped: of QPs that are not attached
 * @bad: entries dropped: they say what cannot be
 * @next_ring: where the next poll begins
 * @list: address of the first queue that has more to report, or has failed
 * @ring: the rings
 * @uid: the kernel's name for the CQ
 * @db_map: start of the doorbell's mapping
 * @db_map_length: its length
 */
struct dvq_ionic_cq {
	uint32_t version;
	uint32_t size;
	uint64_t doorbell;
	uint64_t qps;
	uint32_t qp_mask;
	uint32_t stale;
	uint32_t bad;
	uint32_t next_ring;
	uint64_t list;
	struct dvq_ionic_cq_ring ring[DVQ_IONIC_PIPELINES];
	uint64_t uid;
	uint64_t db_map;
	uint64_t db_map_length;
};

/* in struct dvq_ionic_cq_ring.armed */
#define DVQ_IONIC_CQ_QUIET	0x80000000u

/* struct dvq_ionic_wc.flags */
#define DVQ_IONIC_WC_IMM	0x01	/* imm is an immediate */
#define DVQ_IONIC_WC_INV	0x02	/* imm is the key that the peer has taken out of use */
#define DVQ_IONIC_WC_GRH	0x04	/* the first 40 bytes are a routing header */
#define DVQ_IONIC_WC_VLAN	0x08	/* vlan is valid */
#define DVQ_IONIC_WC_IPV4	0x10	/* the packet came over IPv4 */

/**
 * struct dvq_ionic_wc - one completion
 * @wr_id: what was posted
 * @qp_num: local QP number
 * @byte_len: bytes received; of a send what was to be sent
 * @imm: a number (the verbs' imm_data is its big-endian form), or a key; see @flags
 * @src_qp: sender's QP number
 * @status: enum ionic_io_status; dvq_ionic_wc_status() is the verbs' value
 * @opcode: enum ibv_wc_opcode
 * @flags: DVQ_IONIC_WC_*
 * @sl: service level that the packet came with
 * @vlan: VLAN id, with DVQ_IONIC_WC_VLAN
 * @src_mac: sender's, in network order
 * @reserved: zero
 *
 * From @imm on, but for @status and @opcode, a send's completion has zeros.
 */
struct dvq_ionic_wc {
	uint64_t wr_id;
	uint32_t qp_num;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t src_qp;
	uint8_t status;
	uint8_t opcode;
	uint8_t flags;
	uint8_t sl;
	uint16_t vlan;
	uint8_t src_mac[6];
	uint32_t reserved;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_cq_qp) == 1 << DVQ_IONIC_ROW_LOG2, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_cq_ring) == 40, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_cq, ring) == 48, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_cq) == 152, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_wc, imm) == 16, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_wc, status) == 24, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_wc, src_mac) == 30, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_wc) == 40, "layout");

/* ---- the list of queues that have more to report ------------------------------------ */

DVQ_INLINE struct dvq_ionic_reqs *dvq_ionic_reqs_at(uint64_t address)
{
	return (struct dvq_ionic_reqs *)(uintptr_t)address;
}

DVQ_INLINE void dvq_ionic_cq_enlist(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs)
{
	if (reqs->state & DVQ_IONIC_LISTED)
		return;
	reqs->state |= DVQ_IONIC_LISTED;
	reqs->next = cq->list;
	cq->list = (uint64_t)(uintptr_t)reqs;
}

DVQ_INLINE void dvq_ionic_cq_delist(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs)
{
	uint64_t *link = &cq->list;

	if (!(reqs->state & DVQ_IONIC_LISTED))
		return;
	while (*link != (uint64_t)(uintptr_t)reqs)
		link = &dvq_ionic_reqs_at(*link)->next;
	*link = reqs->next;
	reqs->state &= ~(uint32_t)DVQ_IONIC_LISTED;
}

/* ---- one entry ---------------------------------------------------------------------- */

#define DVQ_IONIC_CQE_COLOR_BYTE	31	/* where the big-endian word has its low bits */

DVQ_INLINE uint32_t dvq_ionic_be32(uint64_t word, unsigned int shift)
{
	return (uint32_t)dvq_swap32((uint32_t)(word >> shift));
}

/* color of a new entry, in its place: 1 on even laps */
DVQ_INLINE uint32_t dvq_ionic_cq_color(const struct dvq_ionic_cq_ring *ring, uint32_t count)
{
	return count & (ring->mask + 1) ? 0 : IONIC_CQE_COLOR;
}

DVQ_INLINE uint64_t dvq_ionic_cq_entry(const struct dvq_ionic_cq_ring *ring, uint32_t count)
{
	return ring->ring + (uint64_t)(count & ring->mask) * IONIC_CQE_SIZE;
}

DVQ_INLINE bool dvq_ionic_cqe_has_color(uint64_t entry, uint32_t color)
{
	return (dvq_load_phase(entry + DVQ_IONIC_CQE_COLOR_BYTE) & IONIC_CQE_COLOR) == color;
}

DVQ_INLINE bool dvq_ionic_cq_is_new(const struct dvq_ionic_cq_ring *ring, uint32_t count)
{
	return dvq_ionic_cqe_has_color(dvq_ionic_cq_entry(ring, count),
				       dvq_ionic_cq_color(ring, count));
}

/* ---- the table of QPs --------------------------------------------------------------- */

DVQ_INLINE struct dvq_ionic_cq_qp *dvq_ionic_cq_row(const struct dvq_ionic_cq *cq, uint32_t qp_num)
{
	return (struct dvq_ionic_cq_qp *)(uintptr_t)cq->qps + (qp_num & cq->qp_mask);
}

DVQ_INLINE bool dvq_ionic_cq_row_is(const struct dvq_ionic_cq_qp *row, uint32_t qp_num)
{
	return row->send_key != DVQ_IONIC_NO_KEY && row->send_key >> 8 == qp_num;
}

DVQ_INLINE void dvq_ionic_cq_clear_row(struct dvq_ionic_cq_qp *row)
{
	row->send = 0;
	row->recv = 0;
	row->send_key = DVQ_IONIC_NO_KEY;
	row->recv_key = DVQ_IONIC_NO_KEY;
	row->reserved = 0;
}

/* the queue has failed: its entries are looked at one by one */
DVQ_INLINE void dvq_ionic_cq_set_failed(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs)
{
	struct dvq_ionic_cq_qp *row = dvq_ionic_cq_row(cq, reqs->qp_num);

	reqs->state |= DVQ_IONIC_FAILED;
	if (reqs->receive)
		row->recv_key |= DVQ_IONIC_KEY_SLOW;
	else
		row->send_key |= DVQ_IONIC_KEY_SLOW;
}

DVQ_INLINE void dvq_ionic_cq_fail(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs)
{
	dvq_ionic_cq_set_failed(cq, reqs);
	dvq_ionic_cq_enlist(cq, reqs);
}

/*
 * @rows: a power of two. With as many as the adapter has QPs (max_qp of ibv_query_device(),
 * rounded up) no two QPs that are alive share a row.
 *
 * Return: 0; EINVAL if @rows is not a power of two.
 */
DVQ_INLINE int dvq_ionic_cq_set_qps(struct dvq_ionic_cq *cq, struct dvq_ionic_cq_qp *qps,
				    uint32_t rows)
{
	if (!rows || rows & (rows - 1))
		return DVQ_IONIC_EINVAL;
	for (uint32_t i = 0; i < rows; i++)
		dvq_ionic_cq_clear_row(qps + i);
	cq->qps = (uint64_t)(uintptr_t)qps;
	cq->qp_mask = rows - 1;
	return 0;
}

/*
 * Completions of a QP are reported from now on: @sq's sends, @rq's receives. Either may be
 * NULL, and each must stay where and what it is until dvq_ionic_cq_detach(): to open it again
 * after a RESET, detach it first. Before its first post.
 *
 * Return: 0; EINVAL without a table or a queue, if the two are not of one QP, or it has a number
 * that there cannot be; EEXIST if the row is taken.
 */
DVQ_INLINE int dvq_ionic_cq_attach(struct dvq_ionic_cq *cq, struct dvq_ionic_sq *sq,
				   struct dvq_ionic_rq *rq)
{
	struct dvq_ionic_cq_qp *row;
	uint32_t qp_num;

	if (!cq->qps || (!sq && !rq) || (sq && rq && sq->wq.reqs.qp_num != rq->wq.reqs.qp_num))
		return DVQ_IONIC_EINVAL;
	qp_num = sq ? sq->wq.reqs.qp_num : rq->wq.reqs.qp_num;
	if (qp_num >= DVQ_IONIC_NO_QP)
		return DVQ_IONIC_EINVAL;
	row = dvq_ionic_cq_row(cq, qp_num);
	if (row->send_key != DVQ_IONIC_NO_KEY)
		return DVQ_IONIC_EEXIST;
	row->send = sq ? (uint64_t)(uintptr_t)&sq->wq.reqs : 0;
	row->recv = rq ? (uint64_t)(uintptr_t)&rq->wq.reqs : 0;
	row->send_key = qp_num << 8 | DVQ_IONIC_SEND_BIT | (sq ? 0 : DVQ_IONIC_KEY_SLOW);
	row->recv_key = qp_num << 8 | DVQ_IONIC_RECV_BIT | (rq ? 0 : DVQ_IONIC_KEY_SLOW);
	/* it may have failed under another table */
	if (sq && sq->wq.reqs.state & DVQ_IONIC_FAILED)
		dvq_ionic_cq_fail(cq, &sq->wq.reqs);
	if (rq && rq->wq.reqs.state & DVQ_IONIC_FAILED)
		dvq_ionic_cq_fail(cq, &rq->wq.reqs);
	return 0;
}

/* what is on a ring of a QP becomes nobody's: its number may come again */
DVQ_INLINE void dvq_ionic_cq_void(const struct dvq_ionic_cq_ring *ring, uint32_t qp_num)
{
	const uint64_t nobody = dvq_swap32(IONIC_CQE_QID) << 32;

	for (uint32_t count = ring->consumed; dvq_ionic_cq_is_new(ring, count); count++) {
		const uint64_t at = dvq_ionic_cq_entry(ring, count) + 24;
		uint64_t word;

		dvq_dma_read();
		word = dvq_load64(at);
		if (dvq_ionic_be32(word, 32) >> 8 == qp_num)
			dvq_store64(at, word | nobody);
		if (count - ring->consumed == ring->mask)
			break;
	}
}

/*
 * What is still to come of the QP is dropped. Best after it was destroyed: then nothing comes
 * any more. EINVAL if it is not attached.
 */
DVQ_INLINE int dvq_ionic_cq_detach(struct dvq_ionic_cq *cq, uint32_t qp_num)
{
	struct dvq_ionic_cq_qp *row;

	if (!cq->qps)
		return DVQ_IONIC_EINVAL;
	row = dvq_ionic_cq_row(cq, qp_num);
	if (!dvq_ionic_cq_row_is(row, qp_num))
		return DVQ_IONIC_EINVAL;
	if (row->send)
		dvq_ionic_cq_delist(cq, dvq_ionic_reqs_at(row->send));
	if (row->recv)
		dvq_ionic_cq_delist(cq, dvq_ionic_reqs_at(row->recv));
	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES; i++)
		if (cq->ring[i].ring)
			dvq_ionic_cq_void(&cq->ring[i], qp_num);
	dvq_ionic_cq_clear_row(row);
	return 0;
}

/* ---- what a send queue has to report ------------------------------------------------ */

/* words of their own: pairing fields in registers costs less than storing bytes */
DVQ_INLINE void dvq_ionic_wc_store(struct dvq_ionic_wc *wc, size_t offset, uint64_t word)
{
	dvq_store64((uint64_t)(uintptr_t)wc + offset, word);
}

/* @word: dvq_ionic_req_word() of the request */
DVQ_INLINE void dvq_ionic_wc_fill(struct dvq_ionic_wc *wc, const struct dvq_ionic_reqs *reqs,
				  uint64_t wr_id, uint64_t word)
{
	wc->wr_id = wr_id;
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, qp_num), word << 32 | reqs->qp_num);
	/* and src_qp */
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, imm), 0);
	/* status and opcode stand there as they do in the request */
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, status),
			   word >> DVQ_IONIC_REQ_STATUS & 0xffff);
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, src_mac) + 2, 0);
}

/* the oldest request of a send queue is done, all that was before it too; @word: its own */
DVQ_INLINE bool dvq_ionic_send_is_done(const struct dvq_ionic_reqs *reqs, uint64_t word)
{
	if (word & (uint64_t)DVQ_IONIC_REQ_DONE << DVQ_IONIC_REQ_FLAGS)
		return true;
	return word & (uint64_t)DVQ_IONIC_REQ_MESSAGE << DVQ_IONIC_REQ_FLAGS &&
	       (int32_t)(reqs->done - reqs->retired_messages) > 0;
}

/* the oldest request of a queue goes; true if that is reported, in @wc */
DVQ_INLINE bool dvq_ionic_retire(struct dvq_ionic_reqs *reqs, uint64_t word,
				 struct dvq_ionic_wc *wc)
{
	const struct dvq_ionic_req *req = dvq_ionic_reqs_slot(reqs, reqs->retired);
	const bool report = word & ((uint64_t)DVQ_IONIC_REQ_SIGNALED << DVQ_IONIC_REQ_FLAGS |
				    (uint64_t)0xff << DVQ_IONIC_REQ_STATUS);

	if (report)
		dvq_ionic_wc_fill(wc, reqs, req->wr_id, word);
	reqs->retired++;
	if (word & (uint64_t)DVQ_IONIC_REQ_MESSAGE << DVQ_IONIC_REQ_FLAGS)
		reqs->retired_messages++;
	if (word & (uint64_t)DVQ_IONIC_REQ_DONE << DVQ_IONIC_REQ_FLAGS)
		reqs->waiting--;
	return report;
}

DVQ_INLINE uint64_t dvq_ionic_oldest_word(const struct dvq_ionic_reqs *reqs)
{
	return dvq_ionic_req_word(dvq_ionic_reqs_slot(reqs, reqs->retired));
}

/* something is out, and the oldest is done */
DVQ_INLINE bool dvq_ionic_send_has_more(const struct dvq_ionic_reqs *reqs)
{
	return reqs->retired != reqs->given &&
	       dvq_ionic_send_is_done(reqs, dvq_ionic_oldest_word(reqs));
}

/* what is done, up to @room reports; how many there are */
DVQ_INLINE uint32_t dvq_ionic_send_report(struct dvq_ionic_reqs *reqs, struct dvq_ionic_wc *wc,
					  uint32_t room)
{
	uint32_t n = 0;

	while (n != room && reqs->retired != reqs->given) {
		const uint64_t word = dvq_ionic_oldest_word(reqs);

		if (!dvq_ionic_send_is_done(reqs, word))
			break;
		n += dvq_ionic_retire(reqs, word, wc + n);
	}
	return n;
}

/* the request that is message number @number; it is out */
DVQ_INLINE struct dvq_ionic_req *dvq_ionic_send_message(const struct dvq_ionic_reqs *reqs,
							uint32_t number)
{
	uint32_t count = reqs->retired, left = number - reqs->retired_messages;
	struct dvq_ionic_req *req;

	for (;; count++) {
		req = dvq_ionic_reqs_slot(reqs, count);
		if (req->flags & DVQ_IONIC_REQ_MESSAGE && !left--)
			return req;
	}
}

/* ---- entries ------------------------------------------------------------------------ */

/* it fails, but what is on the rings still counts */
DVQ_INLINE void dvq_ionic_cq_fail_last(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs)
{
	reqs->state |= DVQ_IONIC_FAILING;
	dvq_ionic_cq_enlist(cq, reqs);
}

/* messages below a number are done; false: that cannot be */
DVQ_INLINE bool dvq_ionic_cqe_msn(struct dvq_ionic_reqs *reqs, uint64_t entry, uint32_t status)
{
	const uint32_t msn = (uint32_t)dvq_swap32(dvq_load32(entry + 4));
	const uint32_t more = (msn - reqs->done) & reqs->mask;

	if (!more || more > reqs->given_messages - reqs->done)
		return false;
	reqs->done += more;
	/* an earlier entry may have reported it alone, with an error */
	if (dvq_unlikely(status) && (int32_t)(reqs->done - reqs->retired_messages) > 0)
		dvq_ionic_send_message(reqs, reqs->done - 1)->status = (uint8_t)status;
	return true;
}

/* one request is done; false: that cannot be */
DVQ_INLINE bool dvq_ionic_cqe_npg(struct dvq_ionic_reqs *reqs, uint64_t entry, uint32_t status)
{
	struct dvq_ionic_req *req;

	req = dvq_ionic_reqs_find(reqs, (uint32_t)(dvq_load64(entry + 16) & IONIC_CQE_INDEX));
	if (!req)
		return false;
	req->flags |= DVQ_IONIC_REQ_DONE;
	req->status = (uint8_t)status;
	reqs->waiting++;
	return true;
}

/* flags by enum ionic_recv_op: DVQ_IONIC_WC_IMM, DVQ_IONIC_WC_INV */
DVQ_INLINE uint32_t dvq_ionic_recv_flags(uint32_t op)
{
	if (op == IONIC_RECV_SEND_IMM || op == IONIC_RECV_WRITE_IMM)
		return DVQ_IONIC_WC_IMM;
	return op == IONIC_RECV_SEND_INV ? DVQ_IONIC_WC_INV : 0;
}

#define DVQ_IONIC_RECV_OPS	0x03000000u	/* enum ionic_recv_op, where the source is */

/* flags 15:8 and opcode 7:0 by enum ionic_recv_op, in 16 bits each */
#define DVQ_IONIC_RECV_MEANING							\
	((uint64_t)(DVQ_IONIC_WC_INV << 8) << IONIC_RECV_SEND_INV * 16 |	\
	 (uint64_t)(DVQ_IONIC_WC_IMM << 8) << IONIC_RECV_SEND_IMM * 16 |	\
	 (uint64_t)(DVQ_IONIC_WC_IMM << 8 | DVQ_IONIC_WC_RECV_WRITE) << IONIC_RECV_WRITE_IMM * 16)

/* the entry's words: source and first 4 bytes of the MAC; 2 more, VLAN tag, immediate */
DVQ_APART void dvq_ionic_wc_fill_recv(struct dvq_ionic_wc *wc, const struct dvq_ionic_reqs *reqs,
				      uint64_t entry, uint32_t length)
{
	const uint64_t word1 = dvq_load64(entry + 8), word2 = dvq_load64(entry + 16);
	const uint32_t source = dvq_ionic_be32(word1, 0);
	const uint32_t op = (source & IONIC_CQE_RECV_OP) >> 24;
	const uint64_t opcode = op == IONIC_RECV_WRITE_IMM ? DVQ_IONIC_WC_RECV_WRITE :
							     DVQ_IONIC_WC_RECV;
	uint32_t flags = dvq_ionic_recv_flags(op);
	/* the priority counts without a VLAN, too */
	const uint32_t tag = dvq_ionic_be32(word2, 0) & 0xffff;

	wc->imm = flags ? dvq_ionic_be32(word2, 32) : 0;
	wc->src_qp = source & IONIC_CQE_SRC_QPN;
	if (reqs->ud)
		flags |= DVQ_IONIC_WC_GRH;
	if (source & IONIC_CQE_IPV4)
		flags |= DVQ_IONIC_WC_IPV4;
	if (source & IONIC_CQE_HAS_VLAN)
		flags |= DVQ_IONIC_WC_VLAN;
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, qp_num),
			   reqs->qp_num | (uint64_t)length << 32);
	/* status, opcode, flags, service level, VLAN, MAC */
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, status), opcode << 8 |
			   (uint64_t)flags << 16 | (uint64_t)(tag >> 13) << 24 |
			   (uint64_t)(tag & 0xfff) << 32 | word1 >> 32 << 48);
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, src_mac) + 2,
			   word1 >> 48 | (word2 & 0xffff) << 16);
}

/* without VLAN and priority, and of an operation that is known; @source: word 1 swapped */
DVQ_INLINE bool dvq_ionic_cqe_is_plain(uint64_t entry, uint64_t source)
{
	const uint64_t special = (uint64_t)((IONIC_CQE_RECV_OP & ~DVQ_IONIC_RECV_OPS) |
					    IONIC_CQE_HAS_VLAN) << 32;

	return !(source & special) && !dvq_load16(entry + offsetof(struct ionic_cqe, u.recv.vlan));
}

/* the same as dvq_ionic_wc_fill_recv() for such an entry */
DVQ_INLINE void dvq_ionic_wc_fill_plain(struct dvq_ionic_wc *wc, const struct dvq_ionic_reqs *reqs,
					uint64_t entry, uint64_t source, uint32_t length)
{
	const uint32_t op = (uint32_t)(source >> 32 & DVQ_IONIC_RECV_OPS) >> 24;
	uint64_t opcode_flags = DVQ_IONIC_WC_RECV | (uint64_t)reqs->ud * DVQ_IONIC_WC_GRH << 8 |
				(source >> 63) * DVQ_IONIC_WC_IPV4 << 8;
	uint64_t imm = 0;

	if (op != IONIC_RECV_SEND) {
		imm = dvq_swap32(dvq_load32(entry + offsetof(struct ionic_cqe, u.recv.imm_rkey)));
		opcode_flags |= DVQ_IONIC_RECV_MEANING >> op * 16 & 0xffff;
	}
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, qp_num),
			   reqs->qp_num | (uint64_t)length << 32);
	/* and src_qp */
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, imm),
			   (source & (uint64_t)IONIC_CQE_SRC_QPN << 32) | imm);
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, status), opcode_flags << 8 |
			   (uint64_t)dvq_load16(entry + offsetof(struct ionic_cqe, u.recv.src_mac)) << 48);
	dvq_ionic_wc_store(wc, offsetof(struct dvq_ionic_wc, src_mac) + 2,
			   dvq_load32(entry + offsetof(struct ionic_cqe, u.recv.src_mac) + 2));
}

/* entries go back in the order of posting */
DVQ_INLINE void dvq_ionic_recv_retire(struct dvq_ionic_reqs *reqs)
{
	while (reqs->retired != reqs->given &&
	       dvq_ionic_reqs_slot(reqs, reqs->retired)->flags & DVQ_IONIC_REQ_DONE) {
		reqs->retired++;
		reqs->waiting--;
	}
}

/* a receive; how many reports it makes, in @wc */
DVQ_INLINE uint32_t dvq_ionic_cqe_recv(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs,
				       uint64_t entry, uint32_t status_length, bool error,
				       struct dvq_ionic_wc *wc)
{
	struct dvq_ionic_req *req;

	req = dvq_ionic_reqs_find(reqs, (uint32_t)(dvq_load64(entry) & IONIC_CQE_INDEX));
	if (dvq_unlikely(!req)) {
		cq->bad++;
		return 0;
	}
	req->flags |= DVQ_IONIC_REQ_DONE;
	reqs->waiting++;
	if (dvq_unlikely(error)) {
		req->status = (uint8_t)status_length;
		dvq_ionic_wc_fill(wc, reqs, req->wr_id, dvq_ionic_req_word(req));
		dvq_ionic_cq_fail(cq, reqs);
	} else {
		wc->wr_id = req->wr_id;
		dvq_ionic_wc_fill_recv(wc, reqs, entry, status_length);
	}
	dvq_ionic_recv_retire(reqs);
	return 1;
}

/* an entry of a send queue; how many reports it makes, up to @room, from @wc on */
DVQ_INLINE uint32_t dvq_ionic_cqe_send(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs,
				       uint64_t entry, uint32_t type, uint32_t status,
				       struct dvq_ionic_wc *wc, uint32_t room)
{
	const bool good = type == IONIC_CQE_SEND_MSN ? dvq_ionic_cqe_msn(reqs, entry, status) :
						       dvq_ionic_cqe_npg(reqs, entry, status);
	uint32_t n;

	if (dvq_unlikely(!good)) {
		cq->bad++;
		return 0;
	}
	n = dvq_ionic_send_report(reqs, wc, room);
	if (dvq_unlikely(status))
		dvq_ionic_cq_fail(cq, reqs);
	else if (n == room && dvq_ionic_send_has_more(reqs))
		dvq_ionic_cq_enlist(cq, reqs);
	return n;
}

/* an error is never taken for success: what is no status is "general" to the verbs */
DVQ_INLINE uint32_t dvq_ionic_cqe_status(uint32_t status)
{
	return status && status < 0xff ? status : 0xff;
}

/* any entry; how many reports it makes, up to @room, from @wc on */
DVQ_APART uint32_t dvq_ionic_cqe_any(struct dvq_ionic_cq *cq, uint64_t entry,
				     struct dvq_ionic_wc *wc, uint32_t room)
{
	const uint64_t word = dvq_load64(entry + 24);
	const uint32_t tail = dvq_ionic_be32(word, 32), qp_num = tail >> 8;
	const uint32_t type = (tail & IONIC_CQE_TYPE) >> 5;
	const bool error = tail & IONIC_CQE_ERROR;
	const struct dvq_ionic_cq_qp *row = dvq_ionic_cq_row(cq, qp_num);
	const bool send = type == IONIC_CQE_SEND_MSN || type == IONIC_CQE_SEND_NPG;
	uint32_t status_length = dvq_ionic_be32(word, 0);
	struct dvq_ionic_reqs *reqs;

	if (dvq_unlikely(!dvq_ionic_cq_row_is(row, qp_num))) {
		cq->stale++;
		return 0;
	}
	if (dvq_unlikely(!send && type != IONIC_CQE_RECV)) {
		cq->bad++;
		return 0;
	}
	reqs = dvq_ionic_reqs_at(send ? row->send : row->recv);
	if (dvq_unlikely(!reqs)) {
		cq->stale++;
		return 0;
	}
	/* what is out of a failed queue is flushed, whatever else is said of it */
	if (dvq_unlikely(reqs->state & DVQ_IONIC_FAILED))
		return 0;
	if (dvq_unlikely(error)) {
		status_length = dvq_ionic_cqe_status(status_length);
		/* of messages it says which are done, however the last one of them ended */
		if (status_length == IONIC_IO_FLUSHED && type != IONIC_CQE_SEND_MSN) {
			dvq_ionic_cq_fail(cq, reqs);
			return 0;
		}
	}
	if (send)
		return dvq_ionic_cqe_send(cq, reqs, entry, type, error ? status_length : 0, wc,
					  room);
	return dvq_ionic_cqe_recv(cq, reqs, entry, status_length, error, wc);
}

/* ---- good entries of the common kinds, with as little as can be ----------------------- */

/*
 * Messages are done, and no other request of the queue waits for one before it. Up to @end;
 * where the reports end.
 */
DVQ_INLINE struct dvq_ionic_wc *dvq_ionic_send_messages(struct dvq_ionic_reqs *reqs,
							struct dvq_ionic_wc *wc,
							const struct dvq_ionic_wc *end)
{
	const uint64_t report = (uint64_t)DVQ_IONIC_REQ_SIGNALED << DVQ_IONIC_REQ_FLAGS |
				(uint64_t)0xff << DVQ_IONIC_REQ_STATUS;
	const uint32_t first = reqs->retired_messages;
	uint32_t left = reqs->done - first, retired = reqs->retired;

	/* as many messages are out, so no count of requests is needed beside theirs */
	while ((int32_t)left > 0 && wc != end) {
		const struct dvq_ionic_req *req = dvq_ionic_reqs_slot(reqs, retired);
		const uint64_t word = dvq_ionic_req_word(req);

		/* one that is told by itself, and was not yet */
		if (dvq_unlikely(!(word & (uint64_t)DVQ_IONIC_REQ_MESSAGE << DVQ_IONIC_REQ_FLAGS)))
			break;
		retired++;
		left--;
		if (word & report)
			dvq_ionic_wc_fill(wc++, reqs, req->wr_id, word);
	}
	reqs->retired = retired;
	reqs->retired_messages = reqs->done - left;
	return wc;
}

/* the entry at @index is the oldest that the adapter has */
DVQ_INLINE bool dvq_ionic_is_oldest(const struct dvq_ionic_reqs *reqs, uint32_t index)
{
	return !((index ^ reqs->retired) & reqs->mask) && reqs->retired != reqs->given;
}

/* messages below a number are done; false: that cannot be, or the queue is not as above */
DVQ_INLINE bool dvq_ionic_cqe_take_msn(struct dvq_ionic_cq *cq, struct dvq_ionic_reqs *reqs,
				       uint64_t entry, struct dvq_ionic_wc **wc,
				       const struct dvq_ionic_wc *end)
{
	if (dvq_unlikely(reqs->waiting || !dvq_ionic_cqe_msn(reqs, entry, 0)))
		return false;
	*wc = dvq_ionic_send_messages(reqs, *wc, end);
	if (dvq_unlikely(*wc == end) && dvq_ionic_send_has_more(reqs))
		dvq_ionic_cq_enlist(cq, reqs);
	return true;
}

/* one request is done; false: others wait for it, or it for others */
DVQ_INLINE bool dvq_ionic_cqe_take_npg(struct dvq_ionic_reqs *reqs, uint64_t entry,
				       struct dvq_ionic_wc **wc)
{
	const uint32_t index = dvq_load16(entry + 16);

	if (dvq_unlikely(!dvq_ionic_is_oldest(reqs, index) || reqs->waiting ||
			 reqs->done != reqs->retired_messages))
		return false;
	*wc += dvq_ionic_retire(reqs, dvq_ionic_oldest_word(reqs), *wc);
	return true;
}

/* a receive is done; false: it is not the oldest, or others wait for it */
DVQ_INLINE bool dvq_ionic_cqe_take_recv(struct dvq_ionic_reqs *reqs, uint64_t entry, uint32_t length,
					struct dvq_ionic_wc *wc)
{
	const uint64_t source = dvq_swap64(dvq_load64(entry + 8));
	const uint32_t index = dvq_load16(entry);

	if (dvq_unlikely(!dvq_ionic_is_oldest(reqs, index) || reqs->waiting))
		return false;
	wc->wr_id = dvq_ionic_reqs_slot(reqs, index)->wr_id;
	reqs->retired++;
	if (dvq_ionic_cqe_is_plain(entry, source))
		dvq_ionic_wc_fill_plain(wc, reqs, entry, source, length);
	else
		dvq_ionic_wc_fill_recv(wc, reqs, entry, length);
	return true;
}

/* an entry of a table at @qps; where the reports end that it makes, from @wc up to @end */
DVQ_INLINE struct dvq_ionic_wc *dvq_ionic_cqe_take(struct dvq_ionic_cq *cq, uint64_t qps,
						   uint64_t row_mask, uint64_t entry,
						   struct dvq_ionic_wc *wc,
						   const struct dvq_ionic_wc *end)
{
	/* status or length 63:32, then as the key of a row */
	const uint64_t tail = dvq_swap64(dvq_load64(entry + 24));
	const struct dvq_ionic_cq_qp *row = (const struct dvq_ionic_cq_qp *)(uintptr_t)
		(qps + (tail >> (8 - DVQ_IONIC_ROW_LOG2) & row_mask));

	if (tail & DVQ_IONIC_SEND_BIT) {
		struct dvq_ionic_reqs *reqs = dvq_ionic_reqs_at(row->send);

		if (dvq_unlikely((tail & DVQ_IONIC_SEND_MASK) != row->send_key))
			return wc + dvq_ionic_cqe_any(cq, entry, wc, (uint32_t)(end - wc));
		if (tail & DVQ_IONIC_NPG_BIT ? dvq_ionic_cqe_take_npg(reqs, entry, &wc) :
					       dvq_ionic_cqe_take_msn(cq, reqs, entry, &wc, end))
			return wc;
		return wc + dvq_ionic_cqe_any(cq, entry, wc, (uint32_t)(end - wc));
	}
	if (dvq_unlikely((tail & DVQ_IONIC_RECV_MASK) != row->recv_key ||
			 !dvq_ionic_cqe_take_recv(dvq_ionic_reqs_at(row->recv), entry,
						  (uint32_t)(tail >> 32), wc)))
		return wc + dvq_ionic_cqe_any(cq, entry, wc, (uint32_t)(end - wc));
	return wc + 1;
}

/* ---- polling ------------------------------------------------------------------------ */

DVQ_INLINE void dvq_ionic_cq_ring_doorbell(const struct dvq_ionic_cq *cq,
					   struct dvq_ionic_cq_ring *ring)
{
	if (ring->rung == ring->consumed)
		return;
	dvq_dma_release();
	dvq_doorbell64(cq->doorbell, ring->db_value | (ring->consumed & ring->mask));
	ring->rung = ring->consumed;
	ring->armed &= ~DVQ_IONIC_CQ_QUIET;
	ring->armed_solicited &= ~DVQ_IONIC_CQ_QUIET;
}

/* new entries from @entry on, up to @end; where the run ends; @color is a constant */
DVQ_INLINE uint64_t dvq_ionic_cq_run_of(uint64_t entry, uint64_t end, uint32_t color)
{
	const uint64_t size = IONIC_CQE_SIZE;

	for (; entry + 4 * size <= end; entry += 4 * size) {
		if (!dvq_ionic_cqe_has_color(entry, color))
			return entry;
		if (!dvq_ionic_cqe_has_color(entry + size, color))
			return entry + size;
		if (!dvq_ionic_cqe_has_color(entry + 2 * size, color))
			return entry + 2 * size;
		if (!dvq_ionic_cqe_has_color(entry + 3 * size, color))
			return entry + 3 * size;
	}
	while (entry != end && dvq_ionic_cqe_has_color(entry, color))
		entry += size;
	return entry;
}

/* the same from the next entry on, up to @most and to where the ring ends */
DVQ_INLINE uint64_t dvq_ionic_cq_run(const struct dvq_ionic_cq_ring *ring, uint64_t entry,
				     uint32_t most)
{
	const uint32_t rest = ring->mask + 1 - (ring->consumed & ring->mask);
	const uint64_t end = entry + (uint64_t)(most < rest ? most : rest) * IONIC_CQE_SIZE;

	return dvq_ionic_cq_color(ring, ring->consumed) ?
	       dvq_ionic_cq_run_of(entry, end, IONIC_CQE_COLOR) :
	       dvq_ionic_cq_run_of(entry, end, 0);
}

/*
 * Entries of one ring while there is room, up to @end; where the reports end. An adapter that
 * keeps bringing entries without any is left after a ring's worth of them.
 */
DVQ_INLINE struct dvq_ionic_wc *dvq_ionic_cq_visit(struct dvq_ionic_cq *cq,
						   struct dvq_ionic_cq_ring *ring,
						   struct dvq_ionic_wc *wc,
						   const struct dvq_ionic_wc *end)
{
	/* QP numbers have 24 bits; the mask is where a number times the size of a row has its */
	const uint64_t qps = cq->qps;
	const uint64_t row_mask = (uint64_t)(cq->qp_mask & 0xffffff) << DVQ_IONIC_ROW_LOG2;
	const struct dvq_ionic_wc *first_wc = wc;
	const uint32_t first = ring->consumed;

	while (wc != end) {
		const uint64_t start = dvq_ionic_cq_entry(ring, ring->consumed);
		const uint64_t stop = dvq_ionic_cq_run(ring, start, (uint32_t)(end - wc));
		uint64_t entry = start;

		if (start == stop)
			break;
		dvq_dma_read();
		do {
			wc = dvq_ionic_cqe_take(cq, qps, row_mask, entry, wc, end);
			entry += IONIC_CQE_SIZE;
		} while (entry != stop && wc != end);
		ring->consumed += (uint32_t)(entry - start) / IONIC_CQE_SIZE;
		if (ring->consumed - ring->rung >= ring->credit)
			dvq_ionic_cq_ring_doorbell(cq, ring);
		if (dvq_unlikely(ring->consumed - first > (uint32_t)(wc - first_wc) + ring->mask))
			break;
	}
	return wc;
}

/* what queues in the list had to report when there was no room; they leave it unless failed */
DVQ_INLINE uint32_t dvq_ionic_cq_resume(struct dvq_ionic_cq *cq, struct dvq_ionic_wc *wc,
					uint32_t room)
{
	uint64_t next = cq->list;
	uint32_t n = 0;

	while (next && n != room) {
		struct dvq_ionic_reqs *reqs = dvq_ionic_reqs_at(next);

		next = reqs->next;
		if (!reqs->receive)
			n += dvq_ionic_send_report(reqs, wc + n, room - n);
		if (n != room && !(reqs->state & (DVQ_IONIC_FAILED | DVQ_IONIC_FAILING)))
			dvq_ionic_cq_delist(cq, reqs);
	}
	return n;
}

/* the oldest request of a failed queue goes; true if that is reported, in @wc */
DVQ_INLINE bool dvq_ionic_flush_one(struct dvq_ionic_reqs *reqs, struct dvq_ionic_wc *wc)
{
	struct dvq_ionic_req *req = dvq_ionic_reqs_slot(reqs, reqs->retired);

	if (reqs->receive && req->flags & DVQ_IONIC_REQ_DONE) {
		/* was reported when it came */
		reqs->waiting--;
		reqs->retired++;
		return false;
	}
	if (!dvq_ionic_send_is_done(reqs, dvq_ionic_req_word(req)) && !req->status)
		req->status = IONIC_IO_FLUSHED;
	return dvq_ionic_retire(reqs, dvq_ionic_req_word(req), wc);
}

DVQ_INLINE bool dvq_ionic_cq_is_empty(const struct dvq_ionic_cq *cq)
{
	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES; i++)
		if (cq->ring[i].ring && dvq_ionic_cq_is_new(&cq->ring[i], cq->ring[i].consumed))
			return false;
	return true;
}

/* the rings are empty: all that is out of failed queues */
DVQ_INLINE uint32_t dvq_ionic_cq_flush(struct dvq_ionic_cq *cq, struct dvq_ionic_wc *wc,
				       uint32_t room)
{
	uint32_t n = 0;

	for (uint64_t next = cq->list; next; next = dvq_ionic_reqs_at(next)->next) {
		struct dvq_ionic_reqs *reqs = dvq_ionic_reqs_at(next);

		if (reqs->state & DVQ_IONIC_FAILING)
			dvq_ionic_cq_set_failed(cq, reqs);
		if (!(reqs->state & DVQ_IONIC_FAILED))
			continue;
		while (n != room && reqs->retired != reqs->given)
			n += dvq_ionic_flush_one(reqs, wc + n);
	}
	return n;
}

/* the entries of all rings, in turn from where the last poll began; @got: reports before, and then */
DVQ_INLINE uint32_t dvq_ionic_cq_round(struct dvq_ionic_cq *cq, struct dvq_ionic_wc *wc, uint32_t n,
				       uint32_t got)
{
	const uint32_t first = cq->next_ring;

	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES && got != n; i++) {
		struct dvq_ionic_cq_ring *ring = &cq->ring[(first + i) % DVQ_IONIC_PIPELINES];

		if (ring->ring)
			got = (uint32_t)(dvq_ionic_cq_visit(cq, ring, wc + got, wc + n) - wc);
	}
	cq->next_ring = (first + 1) % DVQ_IONIC_PIPELINES;
	return got;
}

DVQ_INLINE uint32_t dvq_ionic_cq_consumed(const struct dvq_ionic_cq *cq)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES; i++)
		sum += cq->ring[i].consumed;
	return sum;
}

/*
 * Queues have failed, and there is room: all that is out of them, once the rings are empty. An entry may have
 * come since they were visited, and then they are visited again. An adapter that keeps bringing
 * entries without any report is left after a CQ's worth of them.
 */
DVQ_APART uint32_t dvq_ionic_cq_finish(struct dvq_ionic_cq *cq, struct dvq_ionic_wc *wc, uint32_t n)
{
	const uint32_t first = dvq_ionic_cq_consumed(cq);
	uint32_t got = 0, most = 0;

	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES; i++)
		most += cq->ring[i].ring ? cq->ring[i].mask + 1 : 0;
	while (!dvq_ionic_cq_is_empty(cq)) {
		if (dvq_ionic_cq_consumed(cq) - first >= most + got)
			return got;
		got = dvq_ionic_cq_round(cq, wc, n, got);
		if (got == n)
			return got;
	}
	return got + dvq_ionic_cq_flush(cq, wc + got, n - got);
}

/**
 * dvq_ionic_cq_poll() - take completions
 * @cq: the completion queue
 * @wc: room for @n
 * @n: how many at most
 *
 * Room goes back to the queues; the adapter is told now and then how far the ring was read.
 *
 * Return: how many there are in @wc; fewer than @n when no more are there (or a whole ring's worth
 * of entries ended nothing that is reported).
 */
DVQ_INLINE uint32_t dvq_ionic_cq_poll(struct dvq_ionic_cq *cq, struct dvq_ionic_wc *wc, uint32_t n)
{
	uint32_t got = 0;

	if (dvq_unlikely(!cq->qps))
		return 0;
	if (dvq_unlikely(cq->list))
		got = dvq_ionic_cq_resume(cq, wc, n);
	got = dvq_ionic_cq_round(cq, wc, n, got);
	if (dvq_unlikely(cq->list) && got != n)
		got += dvq_ionic_cq_finish(cq, wc + got, n - got);
	return got;
}

/**
 * dvq_ionic_cq_arm() - ask for an event when the next completion is there
 * @cq: the completion queue
 * @solicited: only for one that the sender marked as solicited, or an error
 *
 * An entry that is on a ring already raises it, too. Poll until nothing comes before arming: what
 * was taken off the rings and not yet reported raises none. Each ring raises at most one event for
 * all arms since its last one, so a CQ on two pipelines may raise two. The adapter counts arms modulo
 * a ring's entries. One more on a ring where nothing has come since is not written, so idle rings do
 * not count; but do not arm with @solicited as many times as a ring has entries while only others come.
 */
DVQ_INLINE void dvq_ionic_cq_arm(struct dvq_ionic_cq *cq, bool solicited)
{
	const uint64_t which = solicited ? IONIC_DB_RING_CQ_ARM_SOL : IONIC_DB_RING_CQ_ARM;

	for (uint32_t i = 0; i < DVQ_IONIC_PIPELINES; i++) {
		struct dvq_ionic_cq_ring *ring = &cq->ring[i];
		uint32_t *armed = solicited ? &ring->armed_solicited : &ring->armed;

		if (!ring->ring)
			continue;
		dvq_ionic_cq_ring_doorbell(cq, ring);
		/* an arm that nothing has come after is still unanswered */
		if ((*armed & DVQ_IONIC_CQ_QUIET) && !dvq_ionic_cq_is_new(ring, ring->consumed))
			continue;
		*armed = (*armed + 1) | DVQ_IONIC_CQ_QUIET;
		dvq_doorbell64(cq->doorbell, ring->db_value | which << 16 | (*armed & ring->mask));
	}
}

/*
 * The program has put the QP into the error state: flush the queue without waiting for the
 * adapter to say so. EINVAL if it is not attached.
 */
DVQ_INLINE int dvq_ionic_cq_flush_qp(struct dvq_ionic_cq *cq, uint32_t qp_num)
{
	const struct dvq_ionic_cq_qp *row;

	if (!cq->qps)
		return DVQ_IONIC_EINVAL;
	row = dvq_ionic_cq_row(cq, qp_num);
	if (!dvq_ionic_cq_row_is(row, qp_num))
		return DVQ_IONIC_EINVAL;
	if (row->send)
		dvq_ionic_cq_fail_last(cq, dvq_ionic_reqs_at(row->send));
	if (row->recv)
		dvq_ionic_cq_fail_last(cq, dvq_ionic_reqs_at(row->recv));
	return 0;
}

/* ---- what a completion means to the verbs ------------------------------------------- */

/* enum ibv_wc_status; its values are fixed, so the header need not be there */
DVQ_INLINE uint32_t dvq_ionic_wc_status(const struct dvq_ionic_wc *wc)
{
	switch (wc->status) {
	case IONIC_IO_OK:
		return 0;	/* IBV_WC_SUCCESS */
	case IONIC_IO_LOCAL_LEN:
		return 1;	/* IBV_WC_LOC_LEN_ERR */
	case IONIC_IO_LOCAL_QP_OP:
		return 2;	/* IBV_WC_LOC_QP_OP_ERR */
	case IONIC_IO_LOCAL_PROT:
		return 4;	/* IBV_WC_LOC_PROT_ERR */
	case IONIC_IO_FLUSHED:
		return 5;	/* IBV_WC_WR_FLUSH_ERR */
	case IONIC_IO_MEM_MGMT:
		return 6;	/* IBV_WC_MW_BIND_ERR */
	case IONIC_IO_BAD_RESP:
		return 7;	/* IBV_WC_BAD_RESP_ERR */
	case IONIC_IO_LOCAL_ACCESS:
		return 8;	/* IBV_WC_LOC_ACCESS_ERR */
	case IONIC_IO_REMOTE_INV_REQ:
		return 9;	/* IBV_WC_REM_INV_REQ_ERR */
	case IONIC_IO_REMOTE_ACCESS:
		return 10;	/* IBV_WC_REM_ACCESS_ERR */
	case IONIC_IO_REMOTE_OP:
		return 11;	/* IBV_WC_REM_OP_ERR */
	case IONIC_IO_RETRY_EXCEEDED:
		return 12;	/* IBV_WC_RETRY_EXC_ERR */
	case IONIC_IO_RNR_EXCEEDED:
		return 13;	/* IBV_WC_RNR_RETRY_EXC_ERR */
	default:
		return 21;	/* IBV_WC_GENERAL_ERR */
	}
}

#endif /* DVQ_IONIC_CQ_H */
