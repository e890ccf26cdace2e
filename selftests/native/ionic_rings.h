/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP and a CQ of an ionic adapter in plain memory: rings, controller memory and doorbells
 * that the test can look into, filled by the library's own code from records that the test
 * makes up. With it the device's half of the work: completions.
 */
#ifndef SELFTESTS_IONIC_RINGS_H
#define SELFTESTS_IONIC_RINGS_H

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dvq/ionic.h>

#include "internal.h"
#include "tap.h"

#define RINGS_MAX_BYTES	(1 << 16)
#define RINGS_MAX_SLOTS	256
#define RINGS_QP_NUM	0x123456
#define RINGS_SQ_QTYPE	3
#define RINGS_RQ_QTYPE	4

/* places of a queue; those in controller memory keep a copy in the host's */
enum place { HOST, CMB, EXPRESS };

struct ionic_rings {
	struct dvq_qp_info qp;
	struct dvq_wq_info sq_info, rq_info;
	struct dvq_cq_info cq_info[2];
	uint32_t wqe_version;
	bool ud;
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq cq;
	struct dvq_ionic_cq_qp qps[16];
	struct dvq_ionic_req sends[RINGS_MAX_SLOTS], recvs[RINGS_MAX_SLOTS];
	/* memory that the adapter would share */
	uint8_t *sq_ring, *rq_ring, *sq_cmb, *rq_cmb, *cq_ring[2];
	uint64_t sq_db, rq_db, cq_db;
	/* the device's side of the completion rings */
	uint32_t produced[2];
};

static inline struct dvq_wq_info ionic_wq_record(uint8_t kind, uint32_t entry_size,
						 uint32_t entries)
{
	return (struct dvq_wq_info) {
		.kind = kind, .mem = DVQ_MEM_USER, .db_format = DVQ_DB_IONIC, .db_width = 8,
		.entry_size = entry_size, .entries = entries, .max_wr = entries - 1,
		.max_batch = entries - 1, .db_key = 0x2000, .db_length = 4096,
		.db_offset = 8 * (kind == DVQ_WQ_SQ ? RINGS_SQ_QTYPE : RINGS_RQ_QTYPE),
		.db_value = (uint64_t)RINGS_QP_NUM << 24,
	};
}

static inline struct dvq_cq_info ionic_cq_record(uint32_t pipeline, uint8_t *ring)
{
	return (struct dvq_cq_info) {
		.uid = 78, .cq_num = 5 + pipeline, .mem = DVQ_MEM_USER,
		.db_format = DVQ_DB_IONIC, .db_width = 8, .first_phase = 1, .entry_size = 32,
		.entries = 16, .sub_cqs = 1, .pipeline = pipeline, .pipelines = 3,
		.db_key = 0x2000, .db_length = 4096, .db_offset = 40,
		.db_value = (5 + pipeline) << 24, .user_addr = (uintptr_t)ring,
	};
}

/* records for a QP of 8 + 8 entries and a CQ of 16 on both pipelines */
static inline struct ionic_rings *ionic_rings_new(void)
{
	struct ionic_rings *r = calloc(1, sizeof(*r));

	r->qp = (struct dvq_qp_info) {
		.uid = 77, .qp_num = RINGS_QP_NUM, .max_inline = 32, .max_send_sge = 2,
		.max_recv_sge = 2, .max_rdma_sge = 2,
	};
	r->wqe_version = 2;
	r->sq_info = ionic_wq_record(DVQ_WQ_SQ, 64, 8);
	r->rq_info = ionic_wq_record(DVQ_WQ_RQ, 64, 8);
	r->sq_ring = calloc(1, RINGS_MAX_BYTES);
	r->rq_ring = calloc(1, RINGS_MAX_BYTES);
	r->sq_cmb = calloc(1, RINGS_MAX_BYTES);
	r->rq_cmb = calloc(1, RINGS_MAX_BYTES);
	for (int i = 0; i < 2; i++) {
		r->cq_ring[i] = calloc(1, RINGS_MAX_BYTES);
		r->cq_info[i] = ionic_cq_record(i, r->cq_ring[i]);
	}
	r->sq_db = r->rq_db = r->cq_db = ~0ull;
	return r;
}

static inline void ionic_rings_free(struct ionic_rings *r)
{
	free(r->sq_ring);
	free(r->rq_ring);
	free(r->sq_cmb);
	free(r->rq_cmb);
	free(r->cq_ring[0]);
	free(r->cq_ring[1]);
	free(r);
}

static inline void ionic_rings_place(struct dvq_wq_info *wq, enum place place)
{
	wq->mem = place == HOST ? DVQ_MEM_USER : DVQ_MEM_CMB;
	wq->caps = place == EXPRESS ? DVQ_WQ_EXPDB : 0;
	wq->ring_key = place == HOST ? 0 : 0x1000;
	wq->ring_length = place == HOST ? 0 : RINGS_MAX_BYTES;
}

/* without slots and table */
static inline void ionic_rings_fill(struct ionic_rings *r)
{
	struct dvq_ionic_places sq = {
		.ring = (uintptr_t)r->sq_ring, .doorbell = (uintptr_t)&r->sq_db, .ud = r->ud,
		.cmb = r->sq_info.mem == DVQ_MEM_CMB ? (uintptr_t)r->sq_cmb : 0,
	};
	struct dvq_ionic_places rq = {
		.ring = (uintptr_t)r->rq_ring, .doorbell = (uintptr_t)&r->rq_db, .ud = r->ud,
		.cmb = r->rq_info.mem == DVQ_MEM_CMB ? (uintptr_t)r->rq_cmb : 0,
	};

	CHECK_EQ(dvq_ionic_sq_fill(&r->sq, &r->qp, &r->sq_info, r->wqe_version, &sq), 0);
	CHECK_EQ(dvq_ionic_rq_fill(&r->rq, &r->qp, &r->rq_info, &rq), 0);
	memset(&r->cq, 0, sizeof(r->cq));
	for (int i = 0; i < 2; i++)
		if (r->cq_info[i].entries)
			CHECK_EQ(dvq_ionic_cq_add(&r->cq, &r->cq_info[i]), 0);
	r->cq.doorbell = (uintptr_t)&r->cq_db;
	CHECK_EQ(dvq_ionic_cq_set_qps(&r->cq, r->qps, 16), 0);
}

static inline void ionic_rings_open(struct ionic_rings *r)
{
	ionic_rings_fill(r);
	CHECK_EQ(dvq_ionic_sq_set_slots(&r->sq, r->sends), 0);
	CHECK_EQ(dvq_ionic_rq_set_slots(&r->rq, r->recvs), 0);
	CHECK_EQ(dvq_ionic_cq_attach(&r->cq, &r->sq, &r->rq), 0);
}

/* an open pair whose send queue is at @place, with entries of @entry_size */
__attribute__((unused))
static struct ionic_rings *ionic_rings_at(enum place place, uint32_t entry_size)
{
	struct ionic_rings *r = ionic_rings_new();

	r->sq_info.entry_size = r->rq_info.entry_size = entry_size;
	r->qp.max_inline = entry_size - 32 - (place == EXPRESS ? 8 : 0);
	r->qp.max_send_sge = r->qp.max_recv_sge = (entry_size - 32 - (place == EXPRESS ? 16 : 0)) /
						  16;
	ionic_rings_place(&r->sq_info, place);
	ionic_rings_place(&r->rq_info, place);
	ionic_rings_open(r);
	return r;
}

/*
 * The inline calls once per program instead of once per use: under sanitizers each costs
 * the compiler seconds.
 */
__attribute__((noinline, unused))
static uint32_t ionic_poll(struct ionic_rings *r, struct dvq_ionic_wc *wc, uint32_t n)
{
	return dvq_ionic_cq_poll(&r->cq, wc, n);
}

__attribute__((noinline, unused))
static int ionic_post(struct ionic_rings *r, const struct dvq_ionic_wr *wr, uint64_t wr_id)
{
	return dvq_ionic_sq_post(&r->sq, wr, wr_id);
}

__attribute__((noinline, unused))
static void ionic_publish(struct ionic_rings *r)
{
	dvq_ionic_sq_publish(&r->sq);
	dvq_ionic_rq_publish(&r->rq);
}

__attribute__((noinline, unused))
static struct dvq_ionic_wr ionic_send(void)
{
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, 0x01020304, 0x1122334455667788, 100);
	return wr;
}

__attribute__((noinline, unused))
static int ionic_post_recv(struct ionic_rings *r, uint64_t wr_id)
{
	struct dvq_ionic_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };

	return dvq_ionic_rq_post(&r->rq, &sge, 1, wr_id);
}

/* ---- the device ------------------------------------------------------------------------- */

__attribute__((noinline, unused))
static void ionic_cqe(struct ionic_rings *r, int pipeline, struct ionic_cqe cqe, uint32_t qp_num,
		      uint32_t type, bool error)
{
	uint32_t entries = r->cq_info[pipeline].entries, n = r->produced[pipeline]++;
	uint32_t color = n / entries % 2 ? 0 : IONIC_CQE_COLOR;

	cqe.qid_type_flags = htobe32(qp_num << 8 | type << 5 | (error ? IONIC_CQE_ERROR : 0) |
				     color);
	memcpy(r->cq_ring[pipeline] + n % entries * 32, &cqe, sizeof(cqe));
}

/* messages below @msn are done; with a status the last of them is not well */
static inline void ionic_msn(struct ionic_rings *r, uint32_t msn, uint32_t status)
{
	struct ionic_cqe cqe = { .u.send.msn = htobe32(msn), .status_length = htobe32(status) };

	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_SEND_MSN, status);
}

static inline void ionic_npg(struct ionic_rings *r, uint32_t slot, uint32_t status)
{
	/* with a timestamp */
	struct ionic_cqe cqe = { .u.send.id = htole64(0xabcdef0000000000 | slot),
				 .status_length = htobe32(status) };

	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_SEND_NPG, status);
}

static inline void ionic_recv(struct ionic_rings *r, uint32_t token, uint32_t length,
			      uint32_t status)
{
	struct ionic_cqe cqe = { .u.recv.id = htole64(0xabcdef0000000000 | token),
				 .u.recv.src_qpn_op = htobe32(0x77),
				 .status_length = htobe32(status ? status : length) };

	ionic_cqe(r, 0, cqe, RINGS_QP_NUM, IONIC_CQE_RECV, status);
}

#endif /* SELFTESTS_IONIC_RINGS_H */
