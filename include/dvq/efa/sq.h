/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * EFA send queue: a ring of 64- or 128-byte entries in device memory.
 *
 * Two ways to fill it:
 *
 * - Direct (the default): a post stores its entry to the ring at once. Publishing rings
 *   the doorbell; a post that completes a batch rings it too, so requests may start
 *   before they are published, and there is no way back.
 * - Staged, after dvq_efa_sq_set_stage(): a post stores to memory of the caller, and
 *   publishing copies to the ring, in pieces of a batch. Until then nothing has reached
 *   the device and dvq_efa_sq_abort() undoes every post since the last publish.
 *
 * One thread posts at a time; see ids.h for who may poll beside it.
 */
#ifndef DVQ_EFA_SQ_H
#define DVQ_EFA_SQ_H

#include <dvq/barrier.h>
#include <dvq/efa/ids.h>
#include <dvq/efa/wr.h>
#include <dvq/mmio.h>

#define DVQ_EFA_RING_VERSION	1	/* of the ring structs; same version, same offsets */

/**
 * struct dvq_efa_sq - a send queue
 * @version: DVQ_EFA_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @build: where posts store: the ring, or the stage
 * @word1_mask: clears what the device does not know (hints)
 * @next: byte offset of the next entry in the ring
 * @bytes: of the ring, a power of two
 * @batch: most posts between two doorbells
 * @left: posts that are left of the batch; 0: no batch is open
 * @phase: of the lap, where word 0 of an entry has it
 * @entry_size: 64 or 128
 * @rung: what the last doorbell said, not cut to 16 bits
 * @max_inline: bytes of inline data that a request may carry
 * @ids: the outstanding requests
 * @ring: address of the ring, write-only. May be changed to another mapping of the same
 *	memory (of a GPU, say), together with @build
 * @doorbell: address of the doorbell, write-only. May be changed like @ring
 * @stage: address of the stage; 0: direct
 * @max_batch: most entries that may be written between two doorbells
 * @qp_num: of the QP
 * @uid: the kernel's name for the QP
 * @ring_map: start of the ring's mapping, for closing
 * @ring_map_length: its length
 * @db_map: start of the doorbell's mapping
 * @db_map_length: its length
 */
struct dvq_efa_sq {
	uint32_t version;
	uint32_t size;
	uint64_t build;
	uint64_t word1_mask;
	uint32_t next;
	uint32_t bytes;
	uint32_t batch;
	uint32_t left;
	uint32_t phase;
	uint32_t entry_size;
	uint32_t rung;
	uint32_t max_inline;
	struct dvq_efa_ids ids;
	uint64_t ring;
	uint64_t doorbell;
	uint64_t stage;
	uint32_t max_batch;
	uint32_t qp_num;
	uint64_t uid;
	uint64_t ring_map;
	uint64_t ring_map_length;
	uint64_t db_map;
	uint64_t db_map_length;
};

DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_sq, next) == 24, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_sq, ids) == 56, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_sq, ring) == 176, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_sq) == 248, "layout");

/* ---- set-up ----------------------------------------------------------------------- */

/*
 * Post to @stage, as many bytes of ordinary memory as the ring has (sq->bytes), 8-byte
 * aligned, instead of the ring. Before the first post.
 */
DVQ_INLINE int dvq_efa_sq_set_stage(struct dvq_efa_sq *sq, void *stage)
{
	if (sq->ids.issued)
		return DVQ_EFA_EBUSY;
	sq->stage = (uint64_t)(uintptr_t)stage;
	sq->build = sq->stage;
	/* more than there can be: a post never rings */
	sq->batch = sq->bytes;
	return 0;
}

/* Let a pool of dvq_efa_ids_slots(&sq->ids) slots make the ids. Before the first post. */
DVQ_INLINE int dvq_efa_sq_set_pool(struct dvq_efa_sq *sq, struct dvq_efa_id *slots)
{
	return dvq_efa_ids_set_pool(&sq->ids, slots);
}

/* requests that can be posted now */
DVQ_INLINE uint32_t dvq_efa_sq_room(const struct dvq_efa_sq *sq)
{
	return dvq_efa_ids_room(&sq->ids);
}

/* posted and not published */
DVQ_INLINE uint32_t dvq_efa_sq_pending(const struct dvq_efa_sq *sq)
{
	return sq->left ? sq->batch - sq->left : 0;
}

/* ---- posting ---------------------------------------------------------------------- */

/* @n more entries are in the ring and become the device's */
DVQ_INLINE void dvq_efa_sq_ring(struct dvq_efa_sq *sq, uint32_t n)
{
	dvq_wc_flush();
	sq->rung += n;
	dvq_doorbell32(sq->doorbell, sq->rung & EFA_QP_DB_COUNT);
}

DVQ_INLINE bool dvq_efa_sq_takes_inline(const struct dvq_efa_sq *sq, const struct dvq_efa_wr *wr)
{
	if (wr->op != EFA_OP_SEND && sq->entry_size != EFA_WQE_SIZE_WIDE)
		return false;
	return wr->inline_bytes <= sq->max_inline;
}

/* @next is where the entry ends that was just put */
DVQ_INLINE void dvq_efa_sq_advance(struct dvq_efa_sq *sq, uint32_t next)
{
	sq->next = next;
	if (dvq_unlikely(next == sq->bytes)) {
		sq->next = 0;
		sq->phase ^= (uint32_t)DVQ_EFA_W0_PHASE;
	}
}

DVQ_INLINE void dvq_efa_sq_put(struct dvq_efa_sq *sq, const struct dvq_efa_wr *wr,
			       const struct dvq_efa_id_parts *id)
{
	const uint32_t next = sq->next;
	const uint64_t entry = sq->build + next;
	const uint64_t *word = wr->word;
	uint64_t word0 = word[0] | wr->ctrl;

	/* what does not depend on the queue together, outside the caller's loop */
	dvq_opaque(word0);
	dvq_ring_store64b(entry, word0 | id->low | sq->phase,
			  (word[1] | wr->imm | wr->hints) & sq->word1_mask, word[2], id->high,
			  word[4], word[5], word[6], word[7]);
	if (sq->entry_size == EFA_WQE_SIZE) {
		dvq_efa_sq_advance(sq, next + EFA_WQE_SIZE);
		return;
	}
	dvq_ring_store64b(entry + 64, word[8], word[9], word[10], word[11], word[12], word[13],
			  word[14], word[15]);
	dvq_efa_sq_advance(sq, next + EFA_WQE_SIZE_WIDE);
}

/* the first post of a batch */
DVQ_INLINE void dvq_efa_sq_begin(struct dvq_efa_sq *sq)
{
	if (!sq->stage)
		dvq_wc_start();
	sq->left = sq->batch;
}

/**
 * dvq_efa_sq_post() - put one request
 * @sq: the send queue
 * @wr: what to do; stays the caller's
 * @wr_id: comes back with the completion; see ids.h for what it may be
 *
 * Return: 0; EINVAL if a setter was refused, or the inline data or the wr_id is more
 * than the queue takes; ENOMEM if the queue is full. On error nothing has changed.
 */
DVQ_INLINE int dvq_efa_sq_post(struct dvq_efa_sq *sq, const struct dvq_efa_wr *wr, uint64_t wr_id)
{
	struct dvq_efa_id_parts id;
	int ret;

	if (dvq_unlikely(wr->error))
		return (int)wr->error;
	if (wr->is_inline && dvq_unlikely(!dvq_efa_sq_takes_inline(sq, wr)))
		return DVQ_EFA_EINVAL;
	ret = dvq_efa_ids_get(&sq->ids, wr_id, &id);
	if (dvq_unlikely(ret))
		return ret;

	if (dvq_unlikely(!sq->left))
		dvq_efa_sq_begin(sq);
	dvq_efa_sq_put(sq, wr, &id);
	if (dvq_unlikely(!--sq->left))
		dvq_efa_sq_ring(sq, sq->batch);
	return 0;
}

/* @n staged entries, beginning at byte @from, go to the ring as one batch */
DVQ_INLINE void dvq_efa_sq_copy_out(struct dvq_efa_sq *sq, uint32_t from, uint32_t n)
{
	const uint64_t ring = sq->ring, stage = sq->stage;
	const uint32_t mask = sq->bytes - 1, end = from + n * sq->entry_size;

	dvq_wc_start();
	for (; from != end; from += 64)
		dvq_wc_copy64b(ring + (from & mask), stage + (from & mask));
	dvq_efa_sq_ring(sq, n);
}

DVQ_INLINE void dvq_efa_sq_publish_stage(struct dvq_efa_sq *sq)
{
	uint32_t pending = dvq_efa_sq_pending(sq);
	uint32_t n;

	for (; pending; pending -= n) {
		n = pending < sq->max_batch ? pending : sq->max_batch;
		dvq_efa_sq_copy_out(sq, sq->next - pending * sq->entry_size, n);
	}
}

/* Give the device all that was posted. Nothing posted: nothing happens. */
DVQ_INLINE void dvq_efa_sq_publish(struct dvq_efa_sq *sq)
{
	if (sq->stage)
		dvq_efa_sq_publish_stage(sq);
	else if (sq->left)
		dvq_efa_sq_ring(sq, sq->batch - sq->left);
	sq->left = 0;
}

/* takes the newest staged entry back */
DVQ_INLINE void dvq_efa_sq_unput(struct dvq_efa_sq *sq)
{
	uint64_t entry;

	if (!sq->next) {
		sq->next = sq->bytes;
		sq->phase ^= (uint32_t)DVQ_EFA_W0_PHASE;
	}
	sq->next -= sq->entry_size;
	entry = sq->stage + sq->next;
	dvq_efa_ids_undo(&sq->ids, (dvq_load64(entry) & 0xffff) | dvq_load64(entry + 24));
}

/**
 * dvq_efa_sq_abort() - undo every post since the last publish
 * @sq: a staged send queue
 *
 * The counts, the phase and the pool of ids are as before the first of them; ring and
 * doorbell were not touched.
 *
 * Return: 0; EOPNOTSUPP on a direct queue that has unpublished posts.
 */
DVQ_INLINE int dvq_efa_sq_abort(struct dvq_efa_sq *sq)
{
	if (!sq->stage)
		return sq->left ? DVQ_EFA_EOPNOTSUPP : 0;
	for (uint32_t pending = dvq_efa_sq_pending(sq); pending; pending--)
		dvq_efa_sq_unput(sq);
	sq->left = 0;
	return 0;
}

#endif /* DVQ_EFA_SQ_H */
