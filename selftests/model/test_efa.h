/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's side of an EFA adapter, as small as it can be: for tests of the
 * model, which include tap.h before it. It does what a correct driver does unless
 * a test does otherwise, and keeps phases, counts and ids of its own.
 */
#ifndef MODEL_TEST_EFA_H
#define MODEL_TEST_EFA_H

#include <stdbool.h>
#include <stdint.h>

#include <hw/efa_admin.h>
#include <hw/efa_io.h>
#include <hw/efa_regs.h>
#include "test_host.h"

#define DRV_AQ_DEPTH	32
#define DRV_AENQ_DEPTH	16
#define DRV_NO_ANSWER	(-1)

/**
 * struct drv - an adapter and its driver
 *
 * @attr, @queue, @gid, @mtu: what the adapter told at drv_open()
 * @bad_checksums: answers whose checksum was wrong; they are dropped
 */
struct drv {
	struct test_host host;
	struct model_device *dev;
	struct efa_device_attr attr;
	struct efa_queue_attr_1 queue;
	uint8_t gid[16];
	uint32_t mtu;
	uint32_t version;
	uint64_t resp, aq, acq, aenq;
	uint16_t read_seq, aq_count;
	uint32_t acq_count, aenq_count;
	unsigned int bad_checksums, stray_answers;
	uint16_t pd, uar;
};

#define DRV_MR_PAGES	1025	/* most pages of an MR of drv_reg_mr() */

struct drv_mr {
	uint32_t lkey, rkey;
	uint64_t addr;		/* first byte, as used in WQEs */
	uint64_t length;
	uint64_t pages[DRV_MR_PAGES];
};

struct drv_cq {
	struct drv *drv;
	uint16_t num;
	uint16_t depth;
	unsigned int entry_size, subs;
	uint64_t ring, db;
	bool db_valid;
	uint32_t taken[8];	/* per sub-CQ */
	unsigned int next_sub;
	uint16_t total;
	unsigned int events;
};

struct drv_qp {
	struct drv *drv;
	struct drv_cq *send_cq, *recv_cq;
	uint32_t handle;
	uint16_t num;
	unsigned int sq_depth, wqe_size, rq_descs;
	uint64_t sq_db, rq_db, llq, rq_ring;
	uint16_t sq_count, rq_count;
	uint32_t qkey;
	bool trapped;		/* store WQEs through trapped accesses */
};

#define DRV_QKEY	0x11111111

/* ---- adapter ----------------------------------------------------------- */

/* an adapter of these options (one string, words), with nothing done to it */
void drv_plug(struct drv *drv, const char *name, const char *options);
/* the same, probed: reset, admin rings, features; a PD and a UAR */
void drv_open(struct drv *drv, const char *name, const char *options);

#ifdef SELFTESTS_TAP_H
/* fails the running test if there was a violation, and shows it */
static inline void drv_check_clean(struct drv *drv)
{
	CHECK_EQ(drv->dev->violations, 0);
	for (unsigned int i = 0; i < drv->dev->violations && i < MODEL_VIOLATIONS_KEPT; i++)
		printf("# %s: %s\n", drv->dev->name, drv->dev->violation_text[i]);
	model_violations_clear(drv->dev);
}

/* exactly @n violations, the last containing @text; they are forgotten */
static inline void drv_expect_violations(struct drv *drv, unsigned int n, const char *text)
{
	CHECK_EQ(drv->dev->violations, n);
	if (drv->dev->violations && drv->dev->violations <= MODEL_VIOLATIONS_KEPT)
		CHECK_CONTAINS(drv->dev->violation_text[drv->dev->violations - 1], text);
	model_violations_clear(drv->dev);
}

static inline void drv_close(struct drv *drv)
{
	drv_check_clean(drv);
	CHECK_EQ(drv->bad_checksums, 0);
	test_host_close(&drv->host);
}
#endif

void drv_write(struct drv *drv, unsigned int reg, uint32_t value);
/* false if no (right) answer came */
bool drv_reg_read(struct drv *drv, unsigned int reg, uint32_t *value);
void drv_set_resp(struct drv *drv);
/* the handshake of a reset; false if it did not work within 10 s */
bool drv_reset(struct drv *drv, unsigned int reason);
void drv_start_queues(struct drv *drv);
void drv_doorbell(struct drv *drv, uint64_t off, uint32_t value);

/* ---- admin ------------------------------------------------------------- */

/* posts a command (opcode and flags given); its id */
uint16_t drv_submit(struct drv *drv, const void *cmd, size_t len, uint8_t opcode, uint8_t flags);
/* the next answer in the ring; false if there is none */
bool drv_answer(struct drv *drv, struct efa_acq_entry *resp);
/* a command to its end: status or DRV_NO_ANSWER. @resp may be NULL */
int drv_admin_flags(struct drv *drv, const void *cmd, size_t len, uint8_t opcode, uint8_t flags,
		    void *resp, size_t resp_len);
#define drv_admin(drv, cmd, opcode, resp)	\
	drv_admin_flags(drv, &(cmd), sizeof(cmd), opcode, 0, &(resp), sizeof(resp))
bool drv_event(struct drv *drv, struct efa_aenq_entry *event);
uint16_t drv_crc(const void *data, size_t len);

/* commands of one object; the status */
int drv_get_feature(struct drv *drv, unsigned int id, struct efa_get_feature_resp *resp);
int drv_enable_events(struct drv *drv, uint32_t groups);
int drv_alloc_pd(struct drv *drv, uint16_t *pd);
int drv_dealloc_pd(struct drv *drv, uint16_t pd);
int drv_alloc_uar(struct drv *drv, uint16_t *uar);
int drv_dealloc_uar(struct drv *drv, uint16_t uar);
int drv_create_ah(struct drv *drv, uint16_t pd, const uint8_t *gid, uint16_t *ah);
int drv_destroy_ah(struct drv *drv, uint16_t pd, uint16_t ah);
int drv_create_eq(struct drv *drv, unsigned int depth, unsigned int vector, uint64_t *ring,
		  uint16_t *eqn);
int drv_destroy_eq(struct drv *drv, uint16_t eqn);
int drv_dereg_mr(struct drv *drv, uint32_t lkey);
int drv_stats(struct drv *drv, unsigned int type, struct efa_get_stats_resp *resp);

#define DRV_LOCAL	EFA_MR_LOCAL_WRITE
#define DRV_REMOTE	(EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_WRITE | EFA_MR_REMOTE_READ)

/* registers @length new bytes, pages apart from each other, the first @offset into a page */
int drv_reg_mr(struct drv *drv, uint16_t pd, uint64_t length, unsigned int offset,
	       uint8_t permissions, struct drv_mr *mr);
/* memory of an MR of drv_reg_mr(): copies to or from it through its pages */
void drv_mr_write(struct drv *drv, const struct drv_mr *mr, uint64_t off, const void *data,
		  size_t len);
void drv_mr_read(struct drv *drv, const struct drv_mr *mr, uint64_t off, void *data, size_t len);

/* ---- queues ------------------------------------------------------------ */

#define DRV_CQ_SRC_ADDR	1
#define DRV_CQ_IDS64	2

/* @eqn: -1 for none */
int drv_create_cq(struct drv *drv, unsigned int depth, unsigned int entry_size, unsigned int flags,
		  int eqn, struct drv_cq *cq);
int drv_destroy_cq(struct drv_cq *cq);

struct drv_qp_init {
	enum efa_admin_qp_type type;
	struct drv_cq *send_cq, *recv_cq;
	unsigned int sq_depth, wqe_size, rq_descs, rq_wrs;
	uint8_t flags;
};

int drv_create_qp(struct drv *drv, const struct drv_qp_init *init, struct drv_qp *qp);
int drv_destroy_qp(struct drv_qp *qp);
int drv_modify_qp(struct drv_qp *qp, uint32_t mask, unsigned int cur, unsigned int state,
		  unsigned int rnr_retry);
/* from RESET to RTS */
void drv_bring_up(struct drv_qp *qp, unsigned int rnr_retry);
int drv_to_state(struct drv_qp *qp, unsigned int from, unsigned int to);

/* an empty WQE of this operation for the next slot */
void drv_wqe(struct drv_qp *qp, struct efa_wqe_wide *wqe, unsigned int op, uint64_t req_id,
	     uint16_t dest_qp, uint16_t ah);
void drv_tx_buf(struct efa_tx_buf *buf, uint64_t addr, uint32_t length, uint32_t lkey);
void drv_remote(struct efa_wqe_wide *wqe, uint64_t addr, uint32_t length, uint32_t rkey);
/* stores it in the ring; no doorbell */
void drv_store_wqe(struct drv_qp *qp, const struct efa_wqe_wide *wqe);
void drv_ring_sq(struct drv_qp *qp);
/* a send or RDMA of one buffer, stored and rung */
void drv_send(struct drv_qp *qp, uint64_t req_id, uint16_t dest_qp, uint16_t ah,
	      const struct drv_mr *mr, uint64_t off, uint32_t length);
void drv_rdma(struct drv_qp *qp, unsigned int op, uint64_t req_id, uint16_t dest_qp, uint16_t ah,
	      const struct drv_mr *local, uint64_t off, uint32_t length,
	      const struct drv_mr *remote, uint64_t remote_off);

void drv_store_rx(struct drv_qp *qp, uint16_t req_id, uint64_t addr, uint32_t length, uint32_t lkey,
		  uint32_t ctrl);
void drv_ring_rq(struct drv_qp *qp);
/* a receive WR of one buffer, stored and rung */
void drv_recv(struct drv_qp *qp, uint16_t req_id, const struct drv_mr *mr, uint64_t off,
	      uint32_t length);

/* the next completion; false if there is none */
bool drv_poll(struct drv_cq *cq, struct efa_cqe_rx_ex *cqe);
/* tells the adapter what was taken */
void drv_ring_cq(struct drv_cq *cq, bool arm);
/* runs, polls one completion of @qtype, checks id and status */
bool drv_wait(struct drv_cq *cq, unsigned int qtype, uint16_t req_id, unsigned int status,
	      struct efa_cqe_rx_ex *cqe);

/* ---- two adapters ------------------------------------------------------ */

struct drv_end {
	struct drv drv;
	struct drv_cq cq;
	struct drv_qp qp;
	struct drv_mr mr;
	uint16_t ah;		/* to the other end */
};

/* two adapters with a QP each that can reach the other, memory of 256 KiB */
void drv_pair_open(struct drv_end end[2], const char *options, enum efa_admin_qp_type type,
		   unsigned int wqe_size);
#ifdef SELFTESTS_TAP_H
static inline void drv_pair_close(struct drv_end end[2])
{
	drv_close(&end[0].drv);
	drv_close(&end[1].drv);
}
#endif

#endif /* MODEL_TEST_EFA_H */
