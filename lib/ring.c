// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The kernel's records as ring structs. Nothing is mapped here, so that it can be tested
 * without a device. A record that the inline code could not work with is refused.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* The doorbell tells counts apart modulo 2^16, so a ring must be smaller than that. */
#define MAX_ENTRIES	32768

#define WORD		sizeof(uint64_t)	/* entries are read and written in */

static int odd_record(const char *what)
{
	return dvq_refuse(EOPNOTSUPP, "the kernel describes a %s that this library does not know",
			  what);
}

static bool can_count(const struct dvq_wq_info *wq)
{
	return dvq_is_power_of_two(wq->entries) && wq->entries <= MAX_ENTRIES && wq->max_wr &&
	       wq->max_wr <= wq->entries && wq->db_format == DVQ_DB_EFA_COUNT &&
	       wq->db_width == sizeof(uint32_t);
}

static bool is_mapped(const struct dvq_wq_info *wq)
{
	const uint64_t bytes = (uint64_t)wq->entries * wq->entry_size;

	return wq->ring_key && dvq_fits(wq->ring_offset, bytes, wq->ring_length, WORD) &&
	       wq->db_key && dvq_fits(wq->db_offset, sizeof(uint32_t), wq->db_length,
				      sizeof(uint32_t));
}

int dvq_efa_sq_fill(struct dvq_efa_sq *sq, const struct dvq_qp_info *info,
		    const struct dvq_wq_info *wq, uint64_t ring, uint64_t doorbell)
{
	const bool wide = wq->entry_size == EFA_WQE_SIZE_WIDE;
	const uint32_t room = wide ? EFA_WQE_INLINE_WIDE : EFA_WQE_INLINE;

	if (wq->kind != DVQ_WQ_SQ)
		return dvq_refuse(EINVAL, "the QP has no send queue");
	if ((wq->entry_size != EFA_WQE_SIZE && !wide) || !can_count(wq) || !is_mapped(wq))
		return odd_record("send queue");

	memset(sq, 0, sizeof(*sq));
	sq->version = DVQ_EFA_RING_VERSION;
	sq->size = sizeof(*sq);
	sq->build = ring;
	sq->word1_mask = ~(uint64_t)0;
	if (!(wq->caps & DVQ_WQ_HINTS))
		sq->word1_mask &= ~DVQ_EFA_W1_HINTS;
	sq->bytes = wq->entries * wq->entry_size;
	/* a limit of nothing would never let a request through */
	sq->max_batch = wq->max_batch ? wq->max_batch : 1;
	if (sq->max_batch > wq->entries)
		sq->max_batch = wq->entries;
	sq->batch = sq->max_batch;
	sq->entry_size = wq->entry_size;
	sq->max_inline = info->max_inline < room ? info->max_inline : room;
	dvq_efa_ids_init(&sq->ids, wq->max_wr, info->generation,
			 !!(wq->caps & DVQ_WQ_64BIT_IDS));
	sq->ring = ring;
	sq->doorbell = doorbell;
	sq->qp_num = info->qp_num;
	sq->uid = info->uid;
	return 0;
}

int dvq_efa_rq_fill(struct dvq_efa_rq *rq, const struct dvq_qp_info *info,
		    const struct dvq_wq_info *wq, uint64_t ring, uint64_t doorbell)
{
	if (wq->kind != DVQ_WQ_RQ || dvq_has_no_wq(wq))
		return dvq_refuse(EINVAL, "the QP has no receive queue");
	if (wq->entry_size != EFA_RX_DESC_SIZE || !can_count(wq) || !is_mapped(wq))
		return odd_record("receive queue");

	memset(rq, 0, sizeof(*rq));
	rq->version = DVQ_EFA_RING_VERSION;
	rq->size = sizeof(*rq);
	rq->ring = ring;
	rq->mask = wq->entries - 1;
	rq->max_sge = info->max_recv_sge ? info->max_recv_sge : 1;
	dvq_efa_ids_init(&rq->ids, wq->max_wr, info->generation, 0);
	rq->doorbell = doorbell;
	rq->qp_num = info->qp_num;
	rq->uid = info->uid;
	return 0;
}

static bool can_poll(const struct dvq_cq_info *info)
{
	const uint64_t bytes = (uint64_t)info->entries * info->entry_size * info->sub_cqs;

	if (info->entry_size != EFA_CQE_SIZE && info->entry_size != EFA_CQE_SIZE_EX)
		return false;
	if (!dvq_is_power_of_two(info->entries) || !info->sub_cqs || bytes > UINT32_MAX ||
	    info->first_phase > 1)
		return false;
	if (info->ring_key && !dvq_fits(info->ring_offset, bytes, info->ring_length, WORD))
		return false;
	return !info->db_key || (info->db_format == DVQ_DB_EFA_CQ &&
				 info->db_width == sizeof(uint32_t) &&
				 dvq_fits(info->db_offset, sizeof(uint32_t), info->db_length,
					  sizeof(uint32_t)));
}

int dvq_efa_cq_fill(struct dvq_efa_cq *cq, const struct dvq_cq_info *info, uint64_t ring,
		    uint64_t doorbell)
{
	if (!can_poll(info))
		return odd_record("completion queue");
	if (info->sub_cqs > DVQ_EFA_MAX_SUB_CQS)
		return dvq_refuse(EOPNOTSUPP, "the CQ has %u sub-CQs, the library takes %d",
				  info->sub_cqs, DVQ_EFA_MAX_SUB_CQS);

	memset(cq, 0, sizeof(*cq));
	cq->version = DVQ_EFA_RING_VERSION;
	cq->size = sizeof(*cq);
	cq->ring = ring;
	cq->doorbell = doorbell;
	cq->bytes = info->entries * info->entry_size;
	cq->entry_size = info->entry_size;
	cq->sub_cqs = info->sub_cqs;
	for (uint32_t i = 0; i < info->sub_cqs; i++) {
		cq->sub[i].next = i * cq->bytes;
		cq->sub[i].phase = info->first_phase;
	}
	cq->cq_num = info->cq_num;
	cq->uid = info->uid;
	return 0;
}
