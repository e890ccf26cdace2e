// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Opening and closing of ionic completion queues: the rings of all their pipelines. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SIZE	152	/* of struct dvq_ionic_cq as first published */

/*
 * All rings of a CQ that has those of @info, which then is the last of their records; how far it
 * came, if it fails, does not matter.
 */
static int fill(struct ibv_cq *cq, struct dvq_cq_info *info, struct dvq_ionic_cq *new)
{
	const uint32_t pipelines = info->pipelines;
	int ret = 0;

	memset(new, 0, sizeof(*new));
	for (uint32_t pipeline = 0; !ret && pipeline < DVQ_IONIC_PIPELINES; pipeline++) {
		if (!(pipelines & 1u << pipeline))
			continue;
		ret = dvq_ionic_query_cq(cq, pipeline, info);
		if (!ret)
			ret = dvq_ionic_cq_add(new, info);
	}
	if (!ret && !new->version)
		return dvq_refuse(EOPNOTSUPP, "the kernel describes a CQ without rings");
	return ret;
}

DVQ_API int dvq_ionic_cq_open(struct ibv_cq *cq, struct dvq_ionic_cq *ring, uint32_t size)
{
	struct dvq_ionic_cq new;
	struct dvq_cq_info info;
	void *db;
	int ret;

	if (!cq || !ring || size < FIRST_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_ionic_query_cq(cq, DVQ_ANY_PIPELINE, &info);
	/* whether the records are such to work with, before anything is mapped */
	if (!ret)
		ret = fill(cq, &info, &new);
	/* all doorbells of a context are in one page, and of one type in one place */
	if (!ret)
		ret = dvq_map_for(new.uid, cq->context->cmd_fd, info.db_key, info.db_length,
				  PROT_WRITE, &db);
	if (ret)
		return ret;
	new.doorbell = (uintptr_t)db + info.db_offset;
	new.db_map = (uintptr_t)db;
	new.db_map_length = info.db_length;
	memset(ring, 0, size);
	memcpy(ring, &new, size < sizeof(new) ? size : sizeof(new));
	return 0;
}

DVQ_API void dvq_ionic_cq_close(struct dvq_ionic_cq *ring)
{
	if (!ring)
		return;
	dvq_unmap_for(ring->uid, ring->db_map, ring->db_map_length);
	ring->db_map_length = 0;
}
