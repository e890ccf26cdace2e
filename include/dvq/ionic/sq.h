/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Ionic send queue: a ring of entries of 64 to 512 bytes, of which one stays empty. wq.h has
 * what publishing does, reqs.h how requests complete.
 */
#ifndef DVQ_IONIC_SQ_H
#define DVQ_IONIC_SQ_H

#include <dvq/ionic/wq.h>
#include <dvq/ionic/wr.h>

/**
 * struct dvq_ionic_sq - a send queue
 * @version: DVQ_IONIC_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @max_inline: bytes of inline data that a request may carry
 * @wqe_version: numbering of opcodes, 1 or 2
 * @wq: the ring
 */
struct dvq_ionic_sq {
	uint32_t version;
	uint32_t size;
	uint32_t max_inline;
	uint32_t wqe_version;
	struct dvq_ionic_wq wq;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_sq) == 168, "layout");

/* dvq_ionic_reqs_slots(&sq->wq.reqs) slots, without which nothing is posted. Before the first. */
DVQ_INLINE int dvq_ionic_sq_set_slots(struct dvq_ionic_sq *sq, struct dvq_ionic_req *slots)
{
	return dvq_ionic_reqs_set_slots(&sq->wq.reqs, slots);
}

/* requests that can be posted now */
DVQ_INLINE uint32_t dvq_ionic_sq_room(const struct dvq_ionic_sq *sq)
{
	return dvq_ionic_reqs_room(&sq->wq.reqs);
}

DVQ_INLINE bool dvq_ionic_sq_takes_kind(const struct dvq_ionic_sq *sq,
					const struct dvq_ionic_wr *wr)
{
	/* datagrams, and nothing else, have a destination of their own */
	if (sq->wq.reqs.ud)
		return wr->kind & DVQ_IONIC_KIND_DATAGRAM && wr->has_dest;
	if (wr->has_dest)
		return false;
	if (!(wr->kind & DVQ_IONIC_KIND_ATOMIC))
		return true;
	/* version 1 has a key where a 64-byte entry would have its doorbell */
	return wr->sges == 1 &&
	       (sq->wqe_version >= 2 || !sq->wq.express || sq->wq.entry_log2 > 6);
}

DVQ_INLINE bool dvq_ionic_sq_takes(const struct dvq_ionic_sq *sq, const struct dvq_ionic_wr *wr)
{
	if (wr->sges > sq->wq.max_sge || wr->bytes > 1u << sq->wq.entry_log2)
		return false;
	if (wr->flags & IONIC_WQE_INLINE && wr->length > sq->max_inline)
		return false;
	return dvq_ionic_sq_takes_kind(sq, wr);
}

/* the first 64 bytes, which have what depends on the queue */
DVQ_INLINE void dvq_ionic_sq_put_head(struct dvq_ionic_sq *sq, const struct dvq_ionic_wr *wr)
{
	const uint32_t count = sq->wq.reqs.posted, mask = sq->wq.reqs.mask;
	const uint32_t color = count & (mask + 1) ? 0 : IONIC_WQE_COLOR;
	const bool v1 = sq->wqe_version < 2;
	const uint64_t *word = wr->word;
	uint64_t w1 = word[1] | (v1 ? wr->op_v1 : wr->op_v2) |
		      (uint64_t)wr->num_sge << DVQ_IONIC_W1_NUM_SGE |
		      dvq_swap16((uint16_t)(wr->flags | color)) << DVQ_IONIC_W1_FLAGS;
	uint64_t w3 = word[3], w5 = word[5], w7 = word[7];

	if (wr->kind & DVQ_IONIC_KIND_DATA)
		w3 |= dvq_swap32(wr->length) << 32;
	if (dvq_unlikely(wr->kind & DVQ_IONIC_KIND_ATOMIC)) {
		if (v1)
			w7 = dvq_swap_pair(wr->length, wr->lkey);
		else
			w5 |= dvq_swap32(wr->lkey) << 32;
	}
	dvq_ring_store64b(sq->wq.ring + dvq_ionic_wq_offset(&sq->wq, count), count & mask, w1,
			  word[2], w3, word[4], w5, word[6], w7);
}

/**
 * dvq_ionic_sq_post() - put one request
 * @sq: the send queue
 * @wr: what to do; stays the caller's
 * @wr_id: comes back with the completion
 *
 * Return: 0; EINVAL if a setter was refused or it is not a request for this queue; ENOMEM if
 * the queue is full. On error nothing has changed.
 */
DVQ_INLINE int dvq_ionic_sq_post(struct dvq_ionic_sq *sq, const struct dvq_ionic_wr *wr,
				 uint64_t wr_id)
{
	struct dvq_ionic_reqs *reqs = &sq->wq.reqs;
	struct dvq_ionic_req *req;
	bool message;

	if (dvq_unlikely(wr->error))
		return (int)wr->error;
	if (dvq_unlikely(!dvq_ionic_sq_takes(sq, wr)))
		return DVQ_IONIC_EINVAL;
	if (dvq_unlikely(!dvq_ionic_reqs_room(reqs)))
		return DVQ_IONIC_ENOMEM;

	message = wr->kind & DVQ_IONIC_KIND_MESSAGE && !reqs->ud;
	req = dvq_ionic_reqs_slot(reqs, reqs->posted);
	req->wr_id = wr_id;
	req->length = wr->length;
	req->opcode = wr->opcode;
	req->flags = (uint8_t)((wr->flags & IONIC_WQE_SIGNALED ? DVQ_IONIC_REQ_SIGNALED : 0) |
			       (message ? DVQ_IONIC_REQ_MESSAGE : 0));
	req->status = IONIC_IO_OK;
	dvq_ionic_sq_put_head(sq, wr);
	dvq_ionic_wq_store(&sq->wq, wr->word, (wr->bytes + 63) / 64);
	reqs->posted++;
	reqs->messages += message;
	return 0;
}

/* Give the adapter all that was posted. Nothing posted: nothing happens. */
DVQ_INLINE void dvq_ionic_sq_publish(struct dvq_ionic_sq *sq)
{
	dvq_ionic_wq_publish(&sq->wq);
}

/* Undo every post since the last publish; the adapter was told nothing of them. */
DVQ_INLINE void dvq_ionic_sq_abort(struct dvq_ionic_sq *sq)
{
	dvq_ionic_wq_abort(&sq->wq);
}

/**
 * dvq_ionic_sq_set_gda() - let somebody else ring the doorbell
 * @sq: the queue
 * @enable: publishing does not ring; else it does again
 *
 * For a GPU, say, that rings when it wants the work done. Then store dvq_ionic_sq_db_data() to the
 * doorbell, 8 bytes at once, in the order of publishing; leaving some out is fine.
 *
 * Return: 0; EINVAL if the entries have an express doorbell: they ring by themselves.
 */
DVQ_INLINE int dvq_ionic_sq_set_gda(struct dvq_ionic_sq *sq, bool enable)
{
	return dvq_ionic_wq_set_gda(&sq->wq, enable);
}

/* What to store to the doorbell: it tells the adapter of all send requests that were published. */
DVQ_INLINE uint64_t dvq_ionic_sq_db_data(const struct dvq_ionic_sq *sq)
{
	return dvq_ionic_wq_db_data(&sq->wq);
}

#endif /* DVQ_IONIC_SQ_H */
