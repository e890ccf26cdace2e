/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Ionic receive queue: one entry per receive, with its buffers. wq.h has what publishing does. */
#ifndef DVQ_IONIC_RQ_H
#define DVQ_IONIC_RQ_H

#include <dvq/ionic/wq.h>
#include <dvq/ionic/wr.h>

/* one buffer; the same layout as struct ibv_sge */
struct dvq_ionic_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/**
 * struct dvq_ionic_rq - a receive queue
 * @version: DVQ_IONIC_RING_VERSION
 * @size: bytes of this struct that the library knew
 * @wq: the ring
 */
struct dvq_ionic_rq {
	uint32_t version;
	uint32_t size;
	struct dvq_ionic_wq wq;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_sge) == 16, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_rq) == 160, "layout");

/* dvq_ionic_reqs_slots(&rq->wq.reqs) slots, without which nothing is posted. Before the first. */
DVQ_INLINE int dvq_ionic_rq_set_slots(struct dvq_ionic_rq *rq, struct dvq_ionic_req *slots)
{
	return dvq_ionic_reqs_set_slots(&rq->wq.reqs, slots);
}

/* receives that can be posted now */
DVQ_INLINE uint32_t dvq_ionic_rq_room(const struct dvq_ionic_rq *rq)
{
	return dvq_ionic_reqs_room(&rq->wq.reqs);
}

/* buffer @i of an entry; they begin behind the first 32 bytes */
DVQ_INLINE void dvq_ionic_rq_put_sge(uint64_t entry, uint32_t i, const struct dvq_ionic_sge *sge)
{
	const uint64_t at = entry + IONIC_WQE_PAYLOAD + i * sizeof(struct ionic_sge);

	dvq_store64(at, dvq_swap64(sge->addr));
	dvq_store64(at + 8, dvq_swap_pair(sge->length, sge->lkey));
}

DVQ_INLINE uint64_t dvq_ionic_rq_sum(const struct dvq_ionic_sge *sge, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += sge[i].length;
	return sum;
}

/**
 * dvq_ionic_rq_post() - put one receive
 * @rq: the receive queue
 * @sge: its buffers
 * @n: how many, up to max_sge of the ring; none, for messages without data
 * @wr_id: comes back with the completion
 *
 * Return: 0; EINVAL if there are too many buffers or more than 2 GiB; ENOMEM if the queue is
 * full. On error nothing has changed.
 */
DVQ_INLINE int dvq_ionic_rq_post(struct dvq_ionic_rq *rq, const struct dvq_ionic_sge *sge,
				 uint32_t n, uint64_t wr_id)
{
	struct dvq_ionic_reqs *reqs = &rq->wq.reqs;
	struct dvq_ionic_req *req;
	uint64_t entry, length;

	if (dvq_unlikely(n > rq->wq.max_sge))
		return DVQ_IONIC_EINVAL;
	length = dvq_ionic_rq_sum(sge, n);
	if (dvq_unlikely(length > IONIC_MSG_MAX))
		return DVQ_IONIC_EINVAL;
	if (dvq_unlikely(!dvq_ionic_reqs_room(reqs)))
		return DVQ_IONIC_ENOMEM;

	req = dvq_ionic_reqs_slot(reqs, reqs->posted);
	req->wr_id = wr_id;
	req->length = (uint32_t)length;
	req->opcode = DVQ_IONIC_WC_RECV;
	req->flags = DVQ_IONIC_REQ_SIGNALED;
	req->status = IONIC_IO_OK;
	entry = rq->wq.ring + dvq_ionic_wq_offset(&rq->wq, reqs->posted);
	dvq_ring_store64b(entry, reqs->posted & reqs->mask,
			  n << DVQ_IONIC_W1_NUM_SGE | dvq_swap32((uint32_t)length) <<
			  DVQ_IONIC_W1_IMM, 0, 0, 0, 0, 0, 0);
	dvq_ionic_wq_store(&rq->wq, NULL, 1);
	for (uint32_t i = 0; i < n; i++)
		dvq_ionic_rq_put_sge(entry, i, sge + i);
	reqs->posted++;
	return 0;
}

/* Give the adapter all that was posted. Nothing posted: nothing happens. */
DVQ_INLINE void dvq_ionic_rq_publish(struct dvq_ionic_rq *rq)
{
	dvq_ionic_wq_publish(&rq->wq);
}

/* Undo every post since the last publish. */
DVQ_INLINE void dvq_ionic_rq_abort(struct dvq_ionic_rq *rq)
{
	dvq_ionic_wq_abort(&rq->wq);
}

/**
 * dvq_ionic_rq_set_gda() - let somebody else ring the doorbell
 * @rq: the queue
 * @enable: publishing does not ring; else it does again
 *
 * For a GPU, say, that rings when it wants the work done. Then store dvq_ionic_rq_db_data() to the
 * doorbell, 8 bytes at once, in the order of publishing; leaving some out is fine.
 *
 * Return: 0; EINVAL if the entries have an express doorbell: they ring by themselves.
 */
DVQ_INLINE int dvq_ionic_rq_set_gda(struct dvq_ionic_rq *rq, bool enable)
{
	return dvq_ionic_wq_set_gda(&rq->wq, enable);
}

/* What to store to the doorbell: it tells the adapter of all receive requests that were published. */
DVQ_INLINE uint64_t dvq_ionic_rq_db_data(const struct dvq_ionic_rq *rq)
{
	return dvq_ionic_wq_db_data(&rq->wq);
}

#endif /* DVQ_IONIC_RQ_H */
