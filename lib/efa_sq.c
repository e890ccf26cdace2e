// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Opening and closing of EFA send queues. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SIZE	248	/* of struct dvq_efa_sq as first published */

static int map_sq(int cmd_fd, uint64_t uid, const struct dvq_wq_info *wq, void **ring, void **db)
{
	int ret = dvq_map_for(uid, cmd_fd, wq->ring_key, wq->ring_length, PROT_WRITE, ring);

	if (ret)
		return ret;
	ret = dvq_map_for(uid, cmd_fd, wq->db_key, wq->db_length, PROT_WRITE, db);
	if (ret)
		dvq_unmap_for(uid, (uintptr_t)*ring, wq->ring_length);
	return ret;
}

static void note_maps(struct dvq_efa_sq *sq, const struct dvq_wq_info *wq, void *ring, void *db)
{
	sq->ring_map = (uintptr_t)ring;
	sq->ring_map_length = wq->ring_length;
	sq->db_map = (uintptr_t)db;
	sq->db_map_length = wq->db_length;
}

DVQ_API int dvq_efa_sq_open(struct ibv_qp *qp, struct dvq_efa_sq *sq, uint32_t size)
{
	struct dvq_qp_info info;
	struct dvq_wq_info wq;
	struct dvq_efa_sq new;
	void *ring, *db;
	int ret;

	if (!qp || !sq || size < FIRST_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_efa_query_qp(qp, &info, &wq, NULL);
	if (ret)
		return ret;
	/* whether the record is one to work with, before anything is mapped */
	ret = dvq_efa_sq_fill(&new, &info, &wq, 0, 0);
	if (ret)
		return ret;
	ret = map_sq(qp->context->cmd_fd, info.uid, &wq, &ring, &db);
	if (ret)
		return ret;
	dvq_efa_sq_fill(&new, &info, &wq, (uintptr_t)ring + wq.ring_offset,
			(uintptr_t)db + wq.db_offset);
	note_maps(&new, &wq, ring, db);
	memset(sq, 0, size);
	memcpy(sq, &new, size < sizeof(new) ? size : sizeof(new));
	return 0;
}

DVQ_API void dvq_efa_sq_close(struct dvq_efa_sq *sq)
{
	if (!sq)
		return;
	dvq_unmap_for(sq->uid, sq->ring_map, sq->ring_map_length);
	dvq_unmap_for(sq->uid, sq->db_map, sq->db_map_length);
	sq->ring_map_length = 0;
	sq->db_map_length = 0;
}
