/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP and a CQ in plain memory: rings and doorbells that the test can look into, filled
 * by the library's own code from records that the test makes up. With it the device's
 * half of the work: which request a slot holds, and completions.
 */
#ifndef SELFTESTS_RINGS_H
#define SELFTESTS_RINGS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dvq/efa.h>

#include "internal.h"
#include "tap.h"

#define RINGS_MAX_BYTES	(2 << 20)
#define RINGS_MAX_IDS	65536
#define RINGS_QP_NUM	0x1207

struct rings {
	struct dvq_qp_info qp;
	struct dvq_wq_info sq_info, rq_info;
	struct dvq_cq_info cq_info;
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;
	struct dvq_efa_cq_qp qps[16];
	/* memory that the adapter would share, and the pools */
	uint8_t *sq_ring, *rq_ring, *cq_ring, *stage;
	struct dvq_efa_id *sq_ids, *rq_ids;
	uint32_t sq_db, rq_db, cq_db;
	/* the device's side of the completion rings */
	uint32_t produced[DVQ_EFA_MAX_SUB_CQS];
};

static inline struct dvq_wq_info rings_wq(uint8_t kind, uint32_t entry_size, uint32_t entries)
{
	return (struct dvq_wq_info) {
		.kind = kind,
		.mem = kind == DVQ_WQ_SQ ? DVQ_MEM_CMB : DVQ_MEM_KERNEL,
		.db_format = DVQ_DB_EFA_COUNT,
		.db_width = 4,
		.caps = kind == DVQ_WQ_SQ ? DVQ_WQ_HINTS : 0,
		.entry_size = entry_size,
		.entries = entries,
		.max_wr = entries,
		.max_batch = entries,
		.ring_key = 0x1000,
		.ring_length = RINGS_MAX_BYTES,
		.db_key = 0x2000,
		.db_length = 4096,
	};
}

/* records for a QP of 8 + 8 and a CQ of 16; the test changes them before rings_open() */
static inline struct rings *rings_new(void)
{
	struct rings *r = calloc(1, sizeof(*r));

	r->qp = (struct dvq_qp_info) {
		.uid = 77, .qp_num = RINGS_QP_NUM, .generation = 5, .max_inline = 32,
		.max_send_sge = 2, .max_recv_sge = 1, .max_rdma_sge = 1,
	};
	r->sq_info = rings_wq(DVQ_WQ_SQ, EFA_WQE_SIZE, 8);
	r->rq_info = rings_wq(DVQ_WQ_RQ, EFA_RX_DESC_SIZE, 8);
	r->cq_info = (struct dvq_cq_info) {
		.uid = 78, .cq_num = 3, .mem = DVQ_MEM_KERNEL, .db_format = DVQ_DB_EFA_CQ,
		.db_width = 4, .first_phase = 1, .entry_size = EFA_CQE_SIZE_EX, .entries = 16,
		.sub_cqs = 1, .ring_key = 0x3000, .ring_length = RINGS_MAX_BYTES,
		.db_key = 0x4000, .db_length = 4096,
	};
	r->sq_ring = calloc(1, RINGS_MAX_BYTES);
	r->rq_ring = calloc(1, RINGS_MAX_BYTES);
	r->cq_ring = calloc(1, RINGS_MAX_BYTES);
	r->stage = calloc(1, RINGS_MAX_BYTES);
	r->sq_ids = calloc(RINGS_MAX_IDS, sizeof(*r->sq_ids));
	r->rq_ids = calloc(RINGS_MAX_IDS, sizeof(*r->rq_ids));
	return r;
}

static inline void rings_free(struct rings *r)
{
	free(r->sq_ring);
	free(r->rq_ring);
	free(r->cq_ring);
	free(r->stage);
	free(r->sq_ids);
	free(r->rq_ids);
	free(r);
}

/* without pools and table */
static inline void rings_fill(struct rings *r)
{
	CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &r->sq_info, (uintptr_t)r->sq_ring,
				 (uintptr_t)&r->sq_db), 0);
	CHECK_EQ(dvq_efa_rq_fill(&r->rq, &r->qp, &r->rq_info, (uintptr_t)r->rq_ring,
				 (uintptr_t)&r->rq_db), 0);
	CHECK_EQ(dvq_efa_cq_fill(&r->cq, &r->cq_info, (uintptr_t)r->cq_ring,
				 r->cq_info.db_key ? (uintptr_t)&r->cq_db : 0), 0);
	CHECK_EQ(dvq_efa_cq_set_qps(&r->cq, r->qps, 16), 0);
}

static inline void rings_pools(struct rings *r)
{
	CHECK_EQ(dvq_efa_sq_set_pool(&r->sq, r->sq_ids), 0);
	CHECK_EQ(dvq_efa_rq_set_pool(&r->rq, r->rq_ids), 0);
}

static inline void rings_open(struct rings *r)
{
	rings_fill(r);
	rings_pools(r);
	CHECK_EQ(dvq_efa_cq_attach(&r->cq, &r->sq, &r->rq), 0);
}

/*
 * The inline calls once per program instead of once per use: under sanitizers each costs
 * the compiler seconds.
 */
__attribute__((noinline, unused))
static uint32_t rings_poll(struct rings *r, struct dvq_efa_wc *wc, uint32_t n)
{
	return dvq_efa_cq_poll(&r->cq, wc, n);
}

__attribute__((noinline, unused))
static int rings_post_wr(struct dvq_efa_sq *sq, const struct dvq_efa_wr *wr, uint64_t wr_id)
{
	return dvq_efa_sq_post(sq, wr, wr_id);
}

__attribute__((noinline, unused))
static void rings_publish(struct rings *r)
{
	dvq_efa_sq_publish(&r->sq);
}

__attribute__((noinline, unused))
static void rings_set_inline(struct dvq_efa_wr *wr, const void *data, uint32_t length)
{
	dvq_efa_wr_set_inline(wr, data, length);
}

/* a send of one buffer to somewhere */
__attribute__((noinline, unused))
static struct dvq_efa_wr rings_send(void)
{
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_dest(&wr, 0x0a0b, 0x0c0d, 0x11223344);
	dvq_efa_wr_set_sge(&wr, 0x00abcdef, 0x1122334455667788, 100);
	return wr;
}

static inline int rings_post(struct rings *r, uint64_t wr_id)
{
	struct dvq_efa_wr wr = rings_send();

	return rings_post_wr(&r->sq, &wr, wr_id);
}

__attribute__((noinline, unused))
static int rings_post_recv(struct rings *r, uint64_t wr_id)
{
	struct dvq_efa_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };

	return dvq_efa_rq_post(&r->rq, &sge, 1, wr_id);
}

static inline struct efa_wqe rings_wqe(const struct rings *r, uint32_t slot)
{
	struct efa_wqe wqe;

	memcpy(&wqe, r->sq_ring + slot * r->sq.entry_size, sizeof(wqe));
	return wqe;
}

static inline struct efa_rx_desc rings_desc(const struct rings *r, uint32_t slot)
{
	struct efa_rx_desc desc;

	memcpy(&desc, r->rq_ring + slot * sizeof(desc), sizeof(desc));
	return desc;
}

/* 64-bit id of the send request in a slot */
static inline uint64_t rings_wqe_id(const struct rings *r, uint32_t slot)
{
	struct efa_wqe wqe = rings_wqe(r, slot);

	return wqe.meta.req_id | (uint64_t)wqe.meta.req_id_ex[0] << 16 |
	       (uint64_t)wqe.meta.req_id_ex[1] << 32 | (uint64_t)wqe.meta.req_id_ex[2] << 48;
}

/* The device writes an entry; the phase bit is its to choose. */
__attribute__((noinline, unused))
static void rings_cqe(struct rings *r, uint32_t sub, const void *entry, size_t bytes)
{
	uint32_t entries = r->cq_info.entries, size = r->cq_info.entry_size;
	uint32_t n = r->produced[sub]++;
	uint8_t *at = r->cq_ring + ((size_t)sub * entries + n % entries) * size;

	memcpy(at, entry, bytes);
	at[3] = (at[3] & ~EFA_CQE_PHASE) | (((n / entries) & 1) ^ r->cq_info.first_phase);
}

static inline void rings_send_done(struct rings *r, uint32_t sub, uint32_t qp_num, uint64_t id,
				   uint8_t status)
{
	struct efa_cqe_tx cqe = {
		.common = { .req_id = id, .status = status, .qp_num = qp_num,
			    .flags = EFA_CQE_QTYPE_SEND << 1 },
		.req_id_ex = { id >> 16, id >> 32, id >> 48 },
	};

	rings_cqe(r, sub, &cqe, sizeof(cqe));
}

static inline void rings_recv_done(struct rings *r, uint32_t sub, uint32_t qp_num, uint16_t id,
				   uint16_t length)
{
	struct efa_cqe_rx_ex cqe = {
		.rx = { .common = { .req_id = id, .qp_num = qp_num,
				    .flags = EFA_CQE_QTYPE_RECV << 1 },
			.length = length, .ah = 4, .src_qp_num = 9 },
	};

	rings_cqe(r, sub, &cqe, sizeof(cqe));
}

#endif /* SELFTESTS_RINGS_H */
