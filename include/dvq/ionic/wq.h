/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What send and receive queues of an ionic adapter have in common: a ring in host memory to
 * which posts store, and how it is published. Nothing reaches the adapter before, so what is
 * not published can be undone.
 *
 *	host memory		the ring is what the adapter reads; a doorbell says how far
 *	controller memory	the entries are copied there, then the doorbell rings
 *	... with express	entry by entry, in ascending pieces of 64 bytes; the end of the
 *	doorbell		last piece is a word that rings when all before it is there
 *
 * One thread posts at a time.
 */
#ifndef DVQ_IONIC_WQ_H
#define DVQ_IONIC_WQ_H

#include <dvq/barrier.h>
#include <dvq/ionic/reqs.h>
#include <dvq/mmio.h>
#include <hw/ionic_rdma_io.h>
#include <hw/ionic_regs.h>

#define DVQ_IONIC_RING_VERSION	1	/* of the ring structs; same version, same offsets */

/**
 * struct dvq_ionic_wq - the ring of a send or receive queue
 * @ring: address of the ring in host memory; with @cmb a copy that only the poster reads
 * @cmb: address of the ring in controller memory, write-only; 0: the ring is @ring
 * @doorbell: address of the doorbell, write-only
 * @db_value: what is stored there, without the index
 * @express: the word at the end of an entry, without the index; 0: there is none
 * @entry_log2: log2 of the bytes of an entry
 * @gda: publishing does not ring: somebody else does. Written by any thread, beside posting and polling
 * @max_sge: most buffers of a request
 * @reqs: the outstanding requests
 * @uid: the kernel's name for the QP
 * @cmb_map: start of the mapping of controller memory, for closing
 * @cmb_map_length: its length
 * @db_map: start of the doorbell's mapping
 * @db_map_length: its length
 *
 * The first three may be changed to other mappings of the same memory (of a GPU, say).
 */
struct dvq_ionic_wq {
	uint64_t ring;
	uint64_t cmb;
	uint64_t doorbell;
	uint64_t db_value;
	uint64_t express;
	uint16_t entry_log2;
	uint16_t gda;
	uint32_t max_sge;
	struct dvq_ionic_reqs reqs;
	uint64_t uid;
	uint64_t cmb_map;
	uint64_t cmb_map_length;
	uint64_t db_map;
	uint64_t db_map_length;
};

DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_wq, gda) == 42, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_wq, reqs) == 48, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_wq) == 152, "layout");

/* ---- storing an entry --------------------------------------------------------------- */

/* where the entry of a count is, from the start of the ring */
DVQ_INLINE uint64_t dvq_ionic_wq_offset(const struct dvq_ionic_wq *wq, uint32_t count)
{
	return (uint64_t)(count & wq->reqs.mask) << wq->entry_log2;
}

/* the word at the end of the entry of a count: what the doorbell would say after it */
DVQ_INLINE uint64_t dvq_ionic_wq_express(const struct dvq_ionic_wq *wq, uint32_t count)
{
	return wq->express | ((count + 1) & wq->reqs.mask);
}

/* @pieces of 64 bytes from @word, the rest of the entry zero, the express word in its place */
DVQ_INLINE void dvq_ionic_wq_store(struct dvq_ionic_wq *wq, const uint64_t *word, uint32_t pieces)
{
	const uint64_t entry = wq->ring + dvq_ionic_wq_offset(wq, wq->reqs.posted);
	const uint32_t all = 1u << wq->entry_log2 >> 6;

	for (uint32_t i = 1; i < pieces; i++)
		dvq_ring_copy64b(entry + i * 64, (uint64_t)(uintptr_t)(word + i * 8));
	for (uint32_t i = pieces; i < all; i++)
		dvq_ring_store64b(entry + i * 64, 0, 0, 0, 0, 0, 0, 0, 0);
	if (wq->express)
		dvq_store64(entry + all * 64 - IONIC_WQE_EXPRESS,
			    dvq_ionic_wq_express(wq, wq->reqs.posted));
}

/* ---- publishing --------------------------------------------------------------------- */

DVQ_INLINE void dvq_ionic_wq_ring(const struct dvq_ionic_wq *wq)
{
	dvq_doorbell64(wq->doorbell, wq->db_value | (wq->reqs.posted & wq->reqs.mask));
}

/* everything new as one batch */
DVQ_INLINE void dvq_ionic_wq_copy(const struct dvq_ionic_wq *wq)
{
	const uint64_t ring = wq->ring, cmb = wq->cmb;
	const uint64_t mask = ((uint64_t)(wq->reqs.mask + 1) << wq->entry_log2) - 1;
	const uint64_t end = dvq_ionic_wq_offset(wq, wq->reqs.posted);

	dvq_wc_start();
	/* something was posted, and less than a ring */
	for (uint64_t at = dvq_ionic_wq_offset(wq, wq->reqs.given); at != end; at = (at + 64) & mask)
		dvq_wc_copy64b(cmb + at, ring + at);
	dvq_wc_flush();
}

/* The last 64 bytes of an entry, the word in them behind all that was stored so far. */
DVQ_INLINE void dvq_ionic_wq_copy_last(uint64_t to, uint64_t from, bool only)
{
#if DVQ_WC_WHOLE
	if (!only)
		dvq_wc_flush();
	dvq_wc_copy64b(to, from);
#else
	(void)only;
	for (uint32_t i = 0; i < 64 - IONIC_WQE_EXPRESS; i += 8)
		dvq_store64(to + i, dvq_load64(from + i));
	dvq_trace_store(to, 56);
	dvq_wc_flush();
	dvq_store64(to + 64 - IONIC_WQE_EXPRESS, dvq_load64(from + 64 - IONIC_WQE_EXPRESS));
	dvq_trace_store(to + 64 - IONIC_WQE_EXPRESS, 8);
#endif
}

/*
 * The adapter takes the entry when the word at its end arrives: all before must be there, and
 * the entry before, too. The fences are between stores to one mapping, which may combine them.
 */
DVQ_INLINE void dvq_ionic_wq_copy_express(const struct dvq_ionic_wq *wq)
{
	const uint32_t last = (1u << wq->entry_log2) - 64;

	for (uint32_t count = wq->reqs.given; count != wq->reqs.posted; count++) {
		const uint64_t at = dvq_ionic_wq_offset(wq, count);

		dvq_wc_start();
		for (uint32_t i = 0; i < last; i += 64)
			dvq_wc_copy64b(wq->cmb + at + i, wq->ring + at + i);
		dvq_ionic_wq_copy_last(wq->cmb + at + last, wq->ring + at + last, !last);
	}
	/* choice: the last entry leaves now, not when its buffer is wanted for something else */
	dvq_wc_flush();
}

/* Give the adapter all that was posted. Nothing posted: nothing happens. */
DVQ_INLINE void dvq_ionic_wq_publish(struct dvq_ionic_wq *wq)
{
	struct dvq_ionic_reqs *reqs = &wq->reqs;

	if (reqs->posted == reqs->given)
		return;
	if (wq->cmb && wq->express) {
		dvq_ionic_wq_copy_express(wq);
	} else {
		if (wq->cmb)
			dvq_ionic_wq_copy(wq);
		else
			dvq_dma_write();
		/* another thread may write it; after a fence the compiler looks anew */
		if (!wq->gda)
			dvq_ionic_wq_ring(wq);
	}
	dvq_write_once(reqs->given, reqs->posted);
	reqs->given_messages = reqs->messages;
}

/* what rings for all that was published */
DVQ_INLINE uint64_t dvq_ionic_wq_db_data(const struct dvq_ionic_wq *wq)
{
	return wq->db_value | (dvq_read_once(wq->reqs.given) & wq->reqs.mask);
}

/*
 * Let somebody else ring, or ring again, from the next publish on; also beside a thread that posts or
 * polls. EINVAL: entries with an express doorbell ring by themselves.
 */
DVQ_INLINE int dvq_ionic_wq_set_gda(struct dvq_ionic_wq *wq, bool enable)
{
	if (enable && wq->express)
		return DVQ_IONIC_EINVAL;
	dvq_write_once16(wq->gda, enable);
	return 0;
}

/* Undo every post since the last publish. */
DVQ_INLINE void dvq_ionic_wq_abort(struct dvq_ionic_wq *wq)
{
	wq->reqs.posted = wq->reqs.given;
	wq->reqs.messages = wq->reqs.given_messages;
}

#endif /* DVQ_IONIC_WQ_H */
