/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's side of an ionic adapter's RDMA, on top of test_ionic.h: one admin
 * queue, event queues on vectors of their own, rings in guest or controller
 * memory. It does what a correct driver does unless a test does otherwise.
 */
#ifndef MODEL_TEST_RNIC_H
#define MODEL_TEST_RNIC_H

#include <hw/ionic_rdma_admin.h>
#include <hw/ionic_rdma_io.h>
#include "test_ionic.h"

#define RNIC_EQS		4
#define RNIC_EQ_LOG2		10
#define RNIC_AQ_LOG2		6
#define RNIC_ADMIN_CQ		1023	/* out of the way of those a test makes */
#define RNIC_FIRST_VECTOR	8	/* of the event queues */
#define RNIC_PD			1
#define RNIC_QKEY		0x11111111
#define RNIC_NO_ANSWER		(-1)
#define RNIC_HDR_LEN		62
#define RNIC_ALL_ACCESS		(IONIC_MR_LOCAL_WRITE | IONIC_MR_REMOTE_WRITE | \
				 IONIC_MR_REMOTE_READ | IONIC_MR_REMOTE_ATOMIC)

struct rnic {
	struct nic nic;			/* first */
	uint64_t eq_ring[RNIC_EQS];
	uint32_t eq_taken[RNIC_EQS];
	uint64_t aq_ring;
	uint16_t aq_posted;
	uint64_t aq_cq_ring;
	unsigned int aq_cq_taken, aq_cq_log2;
	uint16_t aq_cq_arms;
	uint16_t aq_index;		/* of the last answer */
};

struct rcq {
	struct rnic *rnic;
	unsigned int id;
	unsigned int log2;
	uint64_t ring;
	unsigned int taken;		/* free-running */
	uint16_t arms, solicited_arms;
};

struct rqp {
	struct rnic *rnic;
	unsigned int id;
	enum ionic_qp_type type;
	struct rcq *cq;
	unsigned int log2, stride_log2;	/* of both rings */
	uint64_t sq, rq;		/* addresses, or offsets in controller memory */
	bool sq_cmb, rq_cmb;
	uint16_t sq_posted, rq_posted;
	uint32_t flags;			/* of CREATE_QP */
	uint32_t ah;
	uint32_t pmtu_log2, timeout, retry, rnr_retry, rnr_timer, rrq_log2, rsq_log2;
	uint32_t dest;
};

struct rmr {
	uint32_t key;
	uint64_t va;
	uint64_t addr;			/* of the first byte, contiguous */
	size_t len;
};

/* ---- adapter ---------------------------------------------------------------------- */

void rnic_open(struct rnic *rnic, const char *name, const char *options);
/* what rnic_open() does after the Ethernet side has started */
void rnic_start(struct rnic *rnic);
void rnic_close(struct rnic *rnic);
void *rnic_mem(struct rnic *rnic, uint64_t addr, size_t len);

/* by the Ethernet admin queue */
int rnic_reset(struct rnic *rnic);
int rnic_create(struct rnic *rnic, unsigned int opcode, unsigned int id, unsigned int target,
		unsigned int depth_log2, unsigned int stride_log2, uint64_t addr);

/* ---- RDMA admin queue ------------------------------------------------------------- */

/* any command of the RDMA admin queue, and its bytes: of one that nobody knows, those of a header */
union raq_command {
	struct ionic_aq_create_cq cq;
	struct ionic_aq_create_qp qp;
	struct ionic_aq_create_mr mr;
	struct ionic_aq_modify_qp modify;
	struct ionic_aq_query_qp query;
	struct ionic_aq_create_ah ah;
	struct ionic_aq_stats stats;
	struct ionic_aq_destroy destroy;
	uint8_t bytes[128];
};
size_t raq_size(unsigned int op);

/* posts a command of @size bytes with its header, which is filled in from @size and @op */
void raq_post(struct rnic *rnic, void *cmd, unsigned int op, size_t size);
void raq_ring(struct rnic *rnic);
/* the next answer: its status, or RNIC_NO_ANSWER */
int raq_answer(struct rnic *rnic);
int raq(struct rnic *rnic, void *cmd, unsigned int op, size_t size);
void raq_arm(struct rnic *rnic);	/* its CQ */
int raq_destroy(struct rnic *rnic, unsigned int op, uint32_t id);

/* the next event of an event queue; false if there is none */
bool req_event(struct rnic *rnic, unsigned int eq, unsigned int *type, unsigned int *code,
	       unsigned int *qid);

/* ---- objects ---------------------------------------------------------------------- */

struct ionic_aq_create_cq rcq_command(const struct rcq *cq, unsigned int eq);
void rcq_open(struct rcq *cq, struct rnic *rnic, unsigned int id, unsigned int eq,
	      unsigned int log2);
/* the next entry, or NULL; taken */
const struct ionic_cqe *rcq_take(struct rcq *cq);
void rcq_told(struct rcq *cq);		/* tells the adapter how far the host is */
void rcq_arm(struct rcq *cq, bool solicited); /* and has it looked at */
/* fields of an entry */
unsigned int rcqe_type(const struct ionic_cqe *cqe);
unsigned int rcqe_qid(const struct ionic_cqe *cqe);
bool rcqe_is_error(const struct ionic_cqe *cqe);
uint32_t rcqe_value(const struct ionic_cqe *cqe); /* status or length */

/* contiguous memory; the key has tag 7 */
struct ionic_aq_create_mr rmr_command(const struct rmr *mr, uint16_t flags);
void rmr_open(struct rmr *mr, struct rnic *rnic, unsigned int number, size_t len, uint16_t flags);

/* a header template from @rnic to @peer, IPv6 link-local */
void rnic_template(const struct rnic *rnic, const struct rnic *peer, uint8_t *bytes);
int rah_create_hops(struct rnic *rnic, unsigned int id, const struct rnic *peer, uint8_t hops);
int rah_create(struct rnic *rnic, unsigned int id, const struct rnic *peer);

/* numbers of a QP that rqp_open() will make; to be changed before it */
void rqp_init(struct rqp *qp, struct rnic *rnic, unsigned int id, enum ionic_qp_type type,
	      struct rcq *cq);
struct ionic_aq_create_qp rqp_command(const struct rqp *qp);
void rqp_open(struct rqp *qp);
struct ionic_aq_modify_qp rqp_modify_command(const struct rqp *qp, uint32_t mask,
					     enum ionic_qp_state state);
int rqp_modify(struct rqp *qp, uint32_t mask, enum ionic_qp_state state);
/* INIT, RTR (and RTS) towards @peer; PSNs follow from the numbers */
void rqp_to_rtr(struct rqp *qp, struct rqp *peer);
void rqp_connect(struct rqp *qp, struct rqp *peer);
void rqp_to_rts(struct rqp *qp);	/* datagrams */
/* what QUERY_QP tells of the receive queue and the state */
const struct ionic_qp_rq_answer *rqp_query(struct rqp *qp);
int rqp_state(struct rqp *qp);
uint32_t rqp_psn(const struct rqp *qp);	/* first of its sends */

/* ---- work requests ---------------------------------------------------------------- */

/* the slot that is posted next, zeroed, with its id; for a test to fill */
void *rqp_send_slot(struct rqp *qp);
void *rqp_recv_slot(struct rqp *qp);
/* the slot is done: the next one is next */
void rqp_sent(struct rqp *qp);
void rqp_received(struct rqp *qp);
void rqp_ring(struct rqp *qp);
void rqp_ring_recv(struct rqp *qp);

struct ionic_sge rsge(const struct rmr *mr, size_t off, size_t len);
/* opcodes by the adapter's version */
uint8_t rop(const struct rqp *qp, uint8_t v1, uint8_t v2);
/* posts and rings */
void rqp_recv(struct rqp *qp, const struct rmr *mr, size_t off, size_t len);
/* a send, write or read with one buffer; remote address and key, or address handle, QP, Q_Key */
struct ionic_wqe_send *rqp_begin(struct rqp *qp, uint8_t v1, uint8_t v2, const struct rmr *mr,
				 size_t off, size_t len);
void rwqe_remote(struct ionic_wqe_send *wqe, const struct rmr *mr, size_t off);
void rwqe_datagram(struct ionic_wqe_send *wqe, uint32_t ah, uint32_t qpn, uint32_t qkey);
void rqp_end(struct rqp *qp);		/* posts and rings what rqp_begin() began */
void rqp_send(struct rqp *qp, const struct rmr *mr, size_t off, size_t len);
void rqp_write(struct rqp *qp, const struct rmr *mr, size_t off, size_t len,
	       const struct rmr *remote, size_t remote_off);
void rqp_read(struct rqp *qp, const struct rmr *mr, size_t off, size_t len,
	      const struct rmr *remote, size_t remote_off);
void rqp_atomic(struct rqp *qp, bool add, uint64_t swap_add, uint64_t compare,
		const struct rmr *mr, size_t off, const struct rmr *remote, size_t remote_off);

#endif /* MODEL_TEST_RNIC_H */
