// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Opening and closing of EFA receive queues. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SIZE	208	/* of struct dvq_efa_rq as first published */

static int map_rq(int cmd_fd, uint64_t uid, const struct dvq_wq_info *wq, void **ring, void **db)
{
	int ret = dvq_map_for(uid, cmd_fd, wq->ring_key, wq->ring_length, PROT_READ | PROT_WRITE,
			      ring);

	if (ret)
		return ret;
	ret = dvq_map_for(uid, cmd_fd, wq->db_key, wq->db_length, PROT_WRITE, db);
	if (ret)
		dvq_unmap_for(uid, (uintptr_t)*ring, wq->ring_length);
	return ret;
}

static void note_maps(struct dvq_efa_rq *rq, const struct dvq_wq_info *wq, void *ring, void *db)
{
	rq->ring_map = (uintptr_t)ring;
	rq->ring_map_length = wq->ring_length;
	rq->db_map = (uintptr_t)db;
	rq->db_map_length = wq->db_length;
}

/*
 * The kernel gives the ring zeroed, and every descriptor that was ever posted has a flag.
 * RESET sets the device's count back and leaves the ring as it is.
 */
static bool was_used(const struct ibv_qp *qp, const struct dvq_efa_rq *rq)
{
	return qp->state != IBV_QPS_RESET && dvq_load64(rq->ring + 8);
}

DVQ_API int dvq_efa_rq_open(struct ibv_qp *qp, struct dvq_efa_rq *rq, uint32_t size)
{
	struct dvq_qp_info info;
	struct dvq_wq_info wq;
	struct dvq_efa_rq new;
	void *ring, *db;
	int ret;

	if (!qp || !rq || size < FIRST_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_efa_query_qp(qp, &info, NULL, &wq);
	if (ret)
		return ret;
	/* whether the record is one to work with, before anything is mapped */
	ret = dvq_efa_rq_fill(&new, &info, &wq, 0, 0);
	if (ret)
		return ret;
	ret = map_rq(qp->context->cmd_fd, info.uid, &wq, &ring, &db);
	if (ret)
		return ret;
	dvq_efa_rq_fill(&new, &info, &wq, (uintptr_t)ring + wq.ring_offset,
			(uintptr_t)db + wq.db_offset);
	note_maps(&new, &wq, ring, db);
	if (was_used(qp, &new)) {
		dvq_efa_rq_close(&new);
		return dvq_refuse(EBUSY, "receives were posted to the QP through the verbs");
	}
	memset(rq, 0, size);
	memcpy(rq, &new, size < sizeof(new) ? size : sizeof(new));
	return 0;
}

DVQ_API void dvq_efa_rq_close(struct dvq_efa_rq *rq)
{
	if (!rq)
		return;
	dvq_unmap_for(rq->uid, rq->ring_map, rq->ring_map_length);
	dvq_unmap_for(rq->uid, rq->db_map, rq->db_map_length);
	rq->ring_map_length = 0;
	rq->db_map_length = 0;
}
