/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * EFA receive queue: a ring of 16-byte buffer descriptors in host memory. A receive
 * takes one descriptor per buffer, so two things are counted: receives (room) and
 * descriptors (ring and doorbell). Both run freely.
 *
 * Posts store to the ring, publishing rings the doorbell; the device looks at nothing
 * beyond the doorbell's count, so what is not published can be undone.
 *
 * One thread posts at a time; see ids.h for who may poll beside it.
 */
#ifndef DVQ_EFA_RQ_H
#define DVQ_EFA_RQ_H

#include <dvq/efa/sq.h>

/* one buffer; the same layout as struct ibv_sge */
struct dvq_efa_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/**
 * struct dvq_efa_rq - a receive queue
 * @version: DVQ_EFA_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @ring: address of the ring. May be changed to another mapping of the same memory
 * @mask: descriptors of the ring - 1
 * @descs: descriptors put
 * @rung: value of @descs at the last doorbell
 * @max_sge: most buffers of a receive
 * @ids: the outstanding receives
 * @doorbell: address of the doorbell, write-only. May be changed like @ring
 * @qp_num: of the QP
 * @reserved: zero
 * @uid: the kernel's name for the QP
 * @ring_map: start of the ring's mapping, for closing
 * @ring_map_length: its length
 * @db_map: start of the doorbell's mapping
 * @db_map_length: its length
 */
struct dvq_efa_rq {
	uint32_t version;
	uint32_t size;
	uint64_t ring;
	uint32_t mask;
	uint32_t descs;
	uint32_t rung;
	uint32_t max_sge;
	struct dvq_efa_ids ids;
	uint64_t doorbell;
	uint32_t qp_num;
	uint32_t reserved;
	uint64_t uid;
	uint64_t ring_map;
	uint64_t ring_map_length;
	uint64_t db_map;
	uint64_t db_map_length;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_sge) == 16, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_rq, ids) == 32, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_rq, doorbell) == 152, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_rq) == 208, "layout");

/* Let a pool of dvq_efa_ids_slots(&rq->ids) slots make the ids. Before the first post. */
DVQ_INLINE int dvq_efa_rq_set_pool(struct dvq_efa_rq *rq, struct dvq_efa_id *slots)
{
	return dvq_efa_ids_set_pool(&rq->ids, slots);
}

/* receives that can be posted now */
DVQ_INLINE uint32_t dvq_efa_rq_room(const struct dvq_efa_rq *rq)
{
	return dvq_efa_ids_room(&rq->ids);
}

/* the device's length has 16 bits, and no message is longer: cut, never wrap to 0 */
DVQ_INLINE uint32_t dvq_efa_rq_length(uint32_t length)
{
	return length < EFA_RX_MAX_LENGTH ? length : EFA_RX_MAX_LENGTH;
}

/* word 1 of a descriptor: id 15:0, length 31:16, key 55:32, first 62, last 63 */
DVQ_INLINE void dvq_efa_rq_put(struct dvq_efa_rq *rq, const struct dvq_efa_sge *sge, uint64_t id,
			       uint32_t flags)
{
	const uint64_t slot = rq->descs++ & rq->mask;
	const uint64_t word = (uint64_t)((sge->lkey & EFA_RX_LKEY) | flags) << 32 |
			      (uint64_t)dvq_efa_rq_length(sge->length) << 16 | id;

	dvq_ring_store16b(rq->ring + slot * EFA_RX_DESC_SIZE, sge->addr, word);
}

/**
 * dvq_efa_rq_post() - put one receive
 * @rq: the receive queue
 * @sge: its buffers
 * @n: how many, 1 to max_sge
 * @wr_id: comes back with the completion; see ids.h for what it may be
 *
 * A buffer longer than 65535 bytes is used up to there.
 *
 * Return: 0; EINVAL if there is no buffer, there are too many, or the wr_id does not
 * fit; ENOMEM if the queue is full. On error nothing has changed.
 */
DVQ_INLINE int dvq_efa_rq_post(struct dvq_efa_rq *rq, const struct dvq_efa_sge *sge, uint32_t n,
			       uint64_t wr_id)
{
	struct dvq_efa_id_parts id;
	int ret;

	/* without a buffer there would be no descriptor, and it would never complete */
	if (dvq_unlikely(!n || (n > 1 && n > rq->max_sge)))
		return DVQ_EFA_EINVAL;
	ret = dvq_efa_ids_get(&rq->ids, wr_id, &id);
	if (dvq_unlikely(ret))
		return ret;

	if (n == 1) {
		dvq_efa_rq_put(rq, sge, id.low, EFA_RX_FIRST | EFA_RX_LAST);
		return 0;
	}
	dvq_efa_rq_put(rq, sge, id.low, EFA_RX_FIRST);
	for (uint32_t i = 1; i < n - 1; i++)
		dvq_efa_rq_put(rq, sge + i, 0, 0);
	dvq_efa_rq_put(rq, sge + n - 1, 0, EFA_RX_LAST);
	return 0;
}

/* Give the device all that was posted. Nothing posted: nothing happens. */
DVQ_INLINE void dvq_efa_rq_publish(struct dvq_efa_rq *rq)
{
	if (rq->descs == rq->rung)
		return;
	dvq_dma_write();
	dvq_doorbell32(rq->doorbell, rq->descs & EFA_QP_DB_COUNT);
	rq->rung = rq->descs;
}

/* Undo every post since the last publish: counts and pool are as before. */
DVQ_INLINE void dvq_efa_rq_abort(struct dvq_efa_rq *rq)
{
	uint64_t slot, word;

	while (rq->descs != rq->rung) {
		slot = --rq->descs & rq->mask;
		word = dvq_load64(rq->ring + slot * EFA_RX_DESC_SIZE + 8);
		if (word >> 32 & EFA_RX_FIRST)
			dvq_efa_ids_undo(&rq->ids, word & 0xffff);
	}
}

#endif /* DVQ_EFA_RQ_H */
