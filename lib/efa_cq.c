// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Opening and closing of EFA completion queues. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SIZE	240	/* of struct dvq_efa_cq as first published */

/* Either may be absent: the ring of a CQ in memory of the caller, and the doorbell. */
static int map_cq(int cmd_fd, const struct dvq_cq_info *info, void **ring, void **db)
{
	int ret = 0;

	*ring = NULL;
	*db = NULL;
	if (info->ring_key)
		ret = dvq_map_for(info->uid, cmd_fd, info->ring_key, info->ring_length, PROT_READ,
				  ring);
	if (!ret && info->db_key)
		ret = dvq_map_for(info->uid, cmd_fd, info->db_key, info->db_length, PROT_WRITE, db);
	if (ret && *ring)
		dvq_unmap_for(info->uid, (uintptr_t)*ring, info->ring_length);
	return ret;
}

static void note_maps(struct dvq_efa_cq *cq, const struct dvq_cq_info *info, void *ring, void *db)
{
	cq->ring_map = (uintptr_t)ring;
	cq->ring_map_length = ring ? info->ring_length : 0;
	cq->db_map = (uintptr_t)db;
	cq->db_map_length = db ? info->db_length : 0;
}

DVQ_API int dvq_efa_cq_open(struct ibv_cq *cq, struct dvq_efa_cq *ring, uint32_t size)
{
	struct dvq_cq_info info;
	struct dvq_efa_cq new;
	void *map, *db;
	int ret;

	if (!cq || !ring || size < FIRST_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_efa_query_cq(cq, &info);
	if (ret)
		return ret;
	/* whether the record is one to work with, before anything is mapped */
	ret = dvq_efa_cq_fill(&new, &info, 0, 0);
	if (ret)
		return ret;
	ret = map_cq(cq->context->cmd_fd, &info, &map, &db);
	if (ret)
		return ret;
	dvq_efa_cq_fill(&new, &info, map ? (uintptr_t)map + info.ring_offset : info.user_addr,
			db ? (uintptr_t)db + info.db_offset : 0);
	note_maps(&new, &info, map, db);
	memset(ring, 0, size);
	memcpy(ring, &new, size < sizeof(new) ? size : sizeof(new));
	return 0;
}

DVQ_API void dvq_efa_cq_close(struct dvq_efa_cq *ring)
{
	if (!ring)
		return;
	dvq_unmap_for(ring->uid, ring->ring_map, ring->ring_map_length);
	dvq_unmap_for(ring->uid, ring->db_map, ring->db_map_length);
	ring->ring_map_length = 0;
	ring->db_map_length = 0;
}
