// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The kernel's records as ionic ring structs. Nothing is mapped here, so that it can be
 * tested without a device. A record that the inline code could not work with is refused.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define MAX_ENTRIES	65536	/* indices have 16 bits */
#define MIN_CQ_ENTRIES	4	/* fewer leave no room between two doorbells */

static int odd_record(const char *what)
{
	return dvq_refuse(EOPNOTSUPP, "the kernel describes a %s that this library does not know",
			  what);
}

static bool has_doorbell(uint8_t format, uint8_t width, uint64_t key, uint32_t offset,
			 uint64_t length)
{
	return format == DVQ_DB_IONIC && width == sizeof(uint64_t) && key &&
	       dvq_fits(offset, sizeof(uint64_t), length, sizeof(uint64_t));
}

static bool has_memory(const struct dvq_wq_info *wq)
{
	const uint64_t bytes = (uint64_t)wq->entries * wq->entry_size;

	/* 64 bytes of an entry are one line of the processor's */
	if (wq->mem == DVQ_MEM_CMB)
		return wq->ring_key && dvq_fits(wq->ring_offset, bytes, wq->ring_length, 64);
	return wq->mem == DVQ_MEM_USER && !(wq->caps & DVQ_WQ_EXPDB);
}

static bool can_post(const struct dvq_wq_info *wq)
{
	return dvq_is_power_of_two(wq->entry_size) && wq->entry_size >= IONIC_WQE_SIZE_MIN &&
	       dvq_is_power_of_two(wq->entries) && wq->entries >= 2 && wq->entries <= MAX_ENTRIES &&
	       has_memory(wq) && has_doorbell(wq->db_format, wq->db_width, wq->db_key,
					      wq->db_offset, wq->db_length);
}

/* the word at the end of an entry has the queue's type, too, which is its doorbell's place */
static uint64_t express_of(const struct dvq_wq_info *wq)
{
	const uint64_t type = wq->db_offset / IONIC_DB_STRIDE;

	if (!(wq->caps & DVQ_WQ_EXPDB))
		return 0;
	return wq->db_value | type << 48 | (uint64_t)IONIC_DB_SCHED_EXPRESS << 19;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void fill_wq(struct dvq_ionic_wq *wq, const struct dvq_qp_info *info,
		    const struct dvq_wq_info *record, const struct dvq_ionic_places *at)
{
	wq->ring = at->ring;
	wq->cmb = at->cmb;
	wq->doorbell = at->doorbell;
	wq->db_value = record->db_value;
	wq->express = express_of(record);
	wq->entry_log2 = (uint16_t)__builtin_ctz(record->entry_size);
	wq->gda = 0;
	wq->uid = info->uid;
	dvq_ionic_reqs_init(&wq->reqs, record->entries, info->qp_num, record->kind == DVQ_WQ_RQ,
			    at->ud);
}

int dvq_ionic_sq_fill(struct dvq_ionic_sq *sq, const struct dvq_qp_info *info,
		      const struct dvq_wq_info *wq, uint32_t wqe_version,
		      const struct dvq_ionic_places *at)
{
	if (wq->kind != DVQ_WQ_SQ)
		return dvq_refuse(EINVAL, "the QP has no send queue");
	if (!can_post(wq) || wqe_version < 1 || wqe_version > 2)
		return odd_record("send queue");

	memset(sq, 0, sizeof(*sq));
	sq->version = DVQ_IONIC_RING_VERSION;
	sq->size = sizeof(*sq);
	sq->max_inline = smaller(info->max_inline, DVQ_IONIC_MAX_INLINE);
	sq->wqe_version = wqe_version;
	fill_wq(&sq->wq, info, wq, at);
	sq->wq.max_sge = smaller(info->max_send_sge, DVQ_IONIC_MAX_SGE);
	return 0;
}

int dvq_ionic_rq_fill(struct dvq_ionic_rq *rq, const struct dvq_qp_info *info,
		      const struct dvq_wq_info *wq, const struct dvq_ionic_places *at)
{
	const uint32_t room = wq->entry_size < IONIC_WQE_SIZE_MIN ? 0 :
			      (wq->entry_size - IONIC_WQE_PAYLOAD) / sizeof(struct ionic_sge);

	if (wq->kind != DVQ_WQ_RQ)
		return dvq_refuse(EINVAL, "the QP has no receive queue");
	if (!can_post(wq))
		return odd_record("receive queue");

	memset(rq, 0, sizeof(*rq));
	rq->version = DVQ_IONIC_RING_VERSION;
	rq->size = sizeof(*rq);
	fill_wq(&rq->wq, info, wq, at);
	rq->wq.max_sge = smaller(info->max_recv_sge, room);
	return 0;
}

static bool can_poll(const struct dvq_cq_info *info)
{
	return info->entry_size == IONIC_CQE_SIZE && dvq_is_power_of_two(info->entries) &&
	       info->entries >= MIN_CQ_ENTRIES && info->entries <= MAX_ENTRIES &&
	       info->sub_cqs == 1 && info->pipeline < DVQ_IONIC_PIPELINES &&
	       info->mem == DVQ_MEM_USER && info->first_phase == 1 &&
	       has_doorbell(info->db_format, info->db_width, info->db_key, info->db_offset,
			    info->db_length);
}

int dvq_ionic_cq_add(struct dvq_ionic_cq *cq, const struct dvq_cq_info *info)
{
	struct dvq_ionic_cq_ring *ring;

	if (!can_poll(info))
		return odd_record("completion queue");
	if (!info->user_addr)
		return dvq_refuse(EOPNOTSUPP, "the CQ is in memory that the process does not see");

	if (!cq->version) {
		cq->version = DVQ_IONIC_RING_VERSION;
		cq->size = sizeof(*cq);
		cq->uid = info->uid;
	}
	ring = &cq->ring[info->pipeline];
	ring->ring = info->user_addr;
	ring->db_value = info->db_value;
	ring->mask = info->entries - 1;
	ring->credit = smaller(DVQ_IONIC_CQ_CREDIT, info->entries / 2);
	return 0;
}
