// SPDX-License-Identifier: GPL-2.0
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hw/field.h>
#include "ionic_rdma.h"
#include "test_rnic.h"

#define TAG	7

/* ---- adapter ---------------------------------------------------------------------- */

void *rnic_mem(struct rnic *rnic, uint64_t addr, size_t len)
{
	void *mem = test_mem(&rnic->nic.host, addr, len);

	MUST(mem);
	return mem;
}

int rnic_reset(struct rnic *rnic)
{
	struct ionic_rdma_reset_req req = { .opcode = IONIC_OP_RDMA_RESET };

	return nic_admin(&rnic->nic, &req, NULL);
}

int rnic_create(struct rnic *rnic, unsigned int opcode, unsigned int id, unsigned int target,
		unsigned int depth_log2, unsigned int stride_log2, uint64_t addr)
{
	struct ionic_rdma_queue_req req = {
		.opcode = opcode, .qid_version = htole32(id), .target = htole32(target),
		.depth_log2 = depth_log2, .stride_log2 = stride_log2, .ring_addr = htole64(addr),
	};

	return nic_admin(&rnic->nic, &req, NULL);
}

static uint64_t ring(struct rnic *rnic, unsigned int depth_log2, unsigned int stride_log2)
{
	return test_alloc_apart(&rnic->nic.host, 1ul << (depth_log2 + stride_log2));
}

static void open_eq(struct rnic *rnic, unsigned int i)
{
	rnic->eq_ring[i] = ring(rnic, RNIC_EQ_LOG2, 2);
	rnic->eq_taken[i] = 0;
	nic_intr_set(&rnic->nic, RNIC_FIRST_VECTOR + i, IONIC_INTR_MASK_ASSERT, 1);
	MUST(!rnic_create(rnic, IONIC_OP_RDMA_CREATE_EQ, i, RNIC_FIRST_VECTOR + i, RNIC_EQ_LOG2,
			  2, rnic->eq_ring[i]));
	nic_intr_set(&rnic->nic, RNIC_FIRST_VECTOR + i, IONIC_INTR_MASK, 0);
}

void rnic_start(struct rnic *rnic)
{
	MUST(!rnic_reset(rnic));
	for (unsigned int i = 0; i < RNIC_EQS; i++)
		open_eq(rnic, i);
	rnic->aq_cq_log2 = RNIC_AQ_LOG2;
	rnic->aq_cq_ring = ring(rnic, rnic->aq_cq_log2, 5);
	rnic->aq_ring = ring(rnic, RNIC_AQ_LOG2, 6);
	rnic->aq_posted = rnic->aq_cq_arms = rnic->aq_cq_taken = 0;
	MUST(!rnic_create(rnic, IONIC_OP_RDMA_CREATE_CQ, RNIC_ADMIN_CQ, 2, rnic->aq_cq_log2, 5,
			  rnic->aq_cq_ring));
	MUST(!rnic_create(rnic, IONIC_OP_RDMA_CREATE_AQ, 0, RNIC_ADMIN_CQ, RNIC_AQ_LOG2, 6,
			  rnic->aq_ring));
}

void rnic_open(struct rnic *rnic, const char *name, const char *options)
{
	memset(rnic, 0, sizeof(*rnic));
	nic_open(&rnic->nic, name, options);
	rnic_start(rnic);
}

void rnic_close(struct rnic *rnic)
{
	nic_close(&rnic->nic);
}

static uint64_t doorbell(unsigned int qid, unsigned int ring_no, unsigned int index)
{
	return HW_PREP(IONIC_DB_QID, (uint64_t)qid) | HW_PREP(IONIC_DB_RING, (uint64_t)ring_no) |
	       HW_PREP(IONIC_DB_INDEX, (uint64_t)index);
}

/* ---- RDMA admin queue ------------------------------------------------------------- */

size_t raq_size(unsigned int op)
{
	static const uint8_t sizes[IONIC_AQ_OPS] = {
		[IONIC_AQ_CREATE_CQ] = sizeof(struct ionic_aq_create_cq),
		[IONIC_AQ_CREATE_QP] = sizeof(struct ionic_aq_create_qp),
		[IONIC_AQ_CREATE_MR] = sizeof(struct ionic_aq_create_mr),
		[IONIC_AQ_STATS_HDRS] = sizeof(struct ionic_aq_stats),
		[IONIC_AQ_STATS_VALS] = sizeof(struct ionic_aq_stats),
		[IONIC_AQ_DESTROY_MR] = sizeof(struct ionic_aq_destroy),
		[IONIC_AQ_DESTROY_CQ] = sizeof(struct ionic_aq_destroy),
		[IONIC_AQ_MODIFY_QP] = sizeof(struct ionic_aq_modify_qp),
		[IONIC_AQ_QUERY_QP] = sizeof(struct ionic_aq_query_qp),
		[IONIC_AQ_DESTROY_QP] = sizeof(struct ionic_aq_destroy),
		[IONIC_AQ_CREATE_AH] = sizeof(struct ionic_aq_create_ah),
		[IONIC_AQ_QUERY_AH] = 12,	/* has no struct: no driver asks */
		[IONIC_AQ_DESTROY_AH] = sizeof(struct ionic_aq_destroy),
		[IONIC_AQ_QP_STATS_HDRS] = sizeof(struct ionic_aq_stats),
		[IONIC_AQ_QP_STATS_VALS] = sizeof(struct ionic_aq_stats),
	};

	return op < IONIC_AQ_OPS && sizes[op] ? sizes[op] : sizeof(struct ionic_aq_header);
}

void raq_post(struct rnic *rnic, void *cmd, unsigned int op, size_t size)
{
	struct ionic_aq_header *header = cmd;
	const uint8_t *bytes = cmd;

	header->op = op;
	header->len = htole16(size - IONIC_AQ_HEADER);
	for (size_t at = 0; at < size; at += IONIC_AQ_SLOT) {
		size_t part = size - at < IONIC_AQ_SLOT ? size - at : IONIC_AQ_SLOT;

		memcpy(rnic_mem(rnic, rnic->aq_ring + rnic->aq_posted * IONIC_AQ_SLOT, part),
		       bytes + at, part);
		rnic->aq_posted = (rnic->aq_posted + 1) % (1u << RNIC_AQ_LOG2);
	}
}

void raq_ring(struct rnic *rnic)
{
	nic_ring(&rnic->nic, 0, rnic->nic.lif.rdma.aq.qtype, doorbell(0, 0, rnic->aq_posted));
}

/* an entry of a ring of CQEs, if the color says that it is there */
static const struct ionic_cqe *entry(struct rnic *rnic, uint64_t ring_addr, unsigned int log2,
				     unsigned int taken)
{
	unsigned int slot = taken & ((1u << log2) - 1);
	const struct ionic_cqe *cqe = rnic_mem(rnic, ring_addr + slot * sizeof(*cqe), sizeof(*cqe));
	bool color = be32toh(cqe->qid_type_flags) & IONIC_CQE_COLOR;

	return color == !(taken >> log2 & 1) ? cqe : NULL;
}

int raq_answer(struct rnic *rnic)
{
	const struct ionic_cqe *cqe = entry(rnic, rnic->aq_cq_ring, rnic->aq_cq_log2,
					    rnic->aq_cq_taken);

	if (!cqe)
		return RNIC_NO_ANSWER;
	rnic->aq_cq_taken++;
	rnic->aq_index = be16toh(((const struct ionic_aq_cqe *)cqe)->index);
	nic_ring(&rnic->nic, 0, rnic->nic.lif.rdma.cq.qtype,
		 doorbell(RNIC_ADMIN_CQ, IONIC_DB_RING_PROD,
			  rnic->aq_cq_taken & ((1u << rnic->aq_cq_log2) - 1)));
	return rcqe_is_error(cqe) ? (int)rcqe_value(cqe) : 0;
}

int raq(struct rnic *rnic, void *cmd, unsigned int op, size_t size)
{
	raq_post(rnic, cmd, op, size);
	raq_ring(rnic);
	test_run();
	return raq_answer(rnic);
}

void raq_arm(struct rnic *rnic)
{
	nic_ring(&rnic->nic, 0, rnic->nic.lif.rdma.cq.qtype,
		 doorbell(RNIC_ADMIN_CQ, IONIC_DB_RING_CQ_ARM,
			  ++rnic->aq_cq_arms & ((1u << rnic->aq_cq_log2) - 1)));
	test_run();
}

int raq_destroy(struct rnic *rnic, unsigned int op, uint32_t id)
{
	struct ionic_aq_destroy cmd = { .id = htole32(id) };

	return raq(rnic, &cmd, op, sizeof(cmd));
}

bool req_event(struct rnic *rnic, unsigned int eq, unsigned int *type, unsigned int *code,
	       unsigned int *qid)
{
	uint32_t taken = rnic->eq_taken[eq], slot = taken & ((1u << RNIC_EQ_LOG2) - 1);
	const struct ionic_eqe *eqe = rnic_mem(rnic, rnic->eq_ring[eq] + slot * sizeof(*eqe),
					       sizeof(*eqe));
	uint32_t word = be32toh(eqe->word);

	if (!!(word & IONIC_EQE_COLOR) != !(taken >> RNIC_EQ_LOG2 & 1))
		return false;
	rnic->eq_taken[eq]++;
	*type = HW_GET(IONIC_EQE_TYPE, word);
	*code = HW_GET(IONIC_EQE_CODE, word);
	*qid = HW_GET(IONIC_EQE_QID, word);
	return true;
}

/* ---- objects ---------------------------------------------------------------------- */

struct ionic_aq_create_cq rcq_command(const struct rcq *cq, unsigned int eq)
{
	return (struct ionic_aq_create_cq){
		.eq = htole32(eq), .depth_log2 = cq->log2, .stride_log2 = 5,
		.cq = htole32(cq->id), .table = htole32(IONIC_AQ_NO_TABLE),
		.pages = htole32(1), .addr = htole64(cq->ring),
	};
}

void rcq_open(struct rcq *cq, struct rnic *rnic, unsigned int id, unsigned int eq,
	      unsigned int log2)
{
	struct ionic_aq_create_cq cmd;

	*cq = (struct rcq){ .rnic = rnic, .id = id, .log2 = log2, .ring = ring(rnic, log2, 5) };
	cmd = rcq_command(cq, eq);
	MUST(!raq(rnic, &cmd, IONIC_AQ_CREATE_CQ, sizeof(cmd)));
}

const struct ionic_cqe *rcq_take(struct rcq *cq)
{
	const struct ionic_cqe *cqe = entry(cq->rnic, cq->ring, cq->log2, cq->taken);

	cq->taken += cqe != NULL;
	return cqe;
}

static void ring_cq(const struct rcq *cq, unsigned int ring_no, unsigned int index)
{
	nic_ring(&cq->rnic->nic, 0, cq->rnic->nic.lif.rdma.cq.qtype,
		 doorbell(cq->id, ring_no, index & ((1u << cq->log2) - 1)));
}

void rcq_told(struct rcq *cq)
{
	ring_cq(cq, IONIC_DB_RING_PROD, cq->taken);
}

void rcq_arm(struct rcq *cq, bool solicited)
{
	if (solicited)
		ring_cq(cq, IONIC_DB_RING_CQ_ARM_SOL, ++cq->solicited_arms);
	else
		ring_cq(cq, IONIC_DB_RING_CQ_ARM, ++cq->arms);
	test_run();
}

unsigned int rcqe_type(const struct ionic_cqe *cqe)
{
	return HW_GET(IONIC_CQE_TYPE, be32toh(cqe->qid_type_flags));
}

unsigned int rcqe_qid(const struct ionic_cqe *cqe)
{
	return HW_GET(IONIC_CQE_QID, be32toh(cqe->qid_type_flags));
}

bool rcqe_is_error(const struct ionic_cqe *cqe)
{
	return be32toh(cqe->qid_type_flags) & IONIC_CQE_ERROR;
}

uint32_t rcqe_value(const struct ionic_cqe *cqe)
{
	return be32toh(cqe->status_length);
}

struct ionic_aq_create_mr rmr_command(const struct rmr *mr, uint16_t flags)
{
	return (struct ionic_aq_create_mr){
		.va = htole64(mr->va), .length = htole64(mr->len), .pd = htole32(RNIC_PD),
		.key = htole32(mr->key), .table = htole32(IONIC_AQ_NO_TABLE),
		.pages = htole32(mr->len ? 1 : 0), .addr = htole64(mr->addr),
		.flags = htole16(flags),
	};
}

void rmr_open(struct rmr *mr, struct rnic *rnic, unsigned int number, size_t len, uint16_t flags)
{
	struct ionic_aq_create_mr cmd;

	*mr = (struct rmr){ .key = number << 8 | TAG, .len = len };
	if (len) {
		mr->addr = test_alloc_apart(&rnic->nic.host, len);
		mr->va = 0x700000000000 + mr->addr;
	}
	cmd = rmr_command(mr, flags);
	MUST(!raq(rnic, &cmd, IONIC_AQ_CREATE_MR, sizeof(cmd)));
}

/* fe80:: and the MAC address at its end */
static void put_gid(uint8_t *at, const uint8_t *mac)
{
	memset(at, 0, 16);
	at[0] = 0xfe;
	at[1] = 0x80;
	memcpy(at + 10, mac, 6);
}

void rnic_template(const struct rnic *rnic, const struct rnic *peer, uint8_t *bytes)
{
	uint8_t *ip = bytes + 14, *udp = ip + 40;

	memset(bytes, 0, RNIC_HDR_LEN);
	memcpy(bytes, nic_mac(&peer->nic), 6);
	memcpy(bytes + 6, nic_mac(&rnic->nic), 6);
	bytes[12] = 0x86;
	bytes[13] = 0xdd;
	ip[0] = 0x60;
	ip[6] = 17;
	ip[7] = 64;
	put_gid(ip + 8, nic_mac(&rnic->nic));
	put_gid(ip + 24, nic_mac(&peer->nic));
	udp[0] = 0xc0;
	udp[2] = IONIC_ROCE_PORT >> 8;
	udp[3] = IONIC_ROCE_PORT & 0xff;
}

static uint64_t template_addr(struct rnic *rnic, const struct rnic *peer)
{
	uint64_t addr = test_alloc(&rnic->nic.host, RNIC_HDR_LEN, 8);

	rnic_template(rnic, peer, rnic_mem(rnic, addr, RNIC_HDR_LEN));
	return addr;
}

int rah_create_hops(struct rnic *rnic, unsigned int id, const struct rnic *peer, uint8_t hops)
{
	uint64_t addr = template_addr(rnic, peer);
	struct ionic_aq_create_ah cmd = {
		.hdr_addr = htole64(addr), .hdr_len = htole32(RNIC_HDR_LEN),
		.pd = htole32(RNIC_PD), .ah = htole32(id), .hdr_profile = IONIC_HDR_IPV6,
	};
	uint8_t *bytes = rnic_mem(rnic, addr, RNIC_HDR_LEN);

	bytes[14 + 7] = hops;
	return raq(rnic, &cmd, IONIC_AQ_CREATE_AH, sizeof(cmd));
}

int rah_create(struct rnic *rnic, unsigned int id, const struct rnic *peer)
{
	return rah_create_hops(rnic, id, peer, 64);
}

/* ---- queue pairs ------------------------------------------------------------------ */

void rqp_init(struct rqp *qp, struct rnic *rnic, unsigned int id, enum ionic_qp_type type,
	      struct rcq *cq)
{
	*qp = (struct rqp){
		.rnic = rnic, .id = id, .type = type, .cq = cq, .log2 = 5, .stride_log2 = 7,
		.ah = 500 + id, .pmtu_log2 = 10, .timeout = 14, .retry = 3, .rnr_retry = 7,
		.rnr_timer = 12, .rrq_log2 = 2, .rsq_log2 = 3,
	};
}

static struct ionic_aq_queue queue(const struct rqp *qp, uint64_t addr)
{
	return (struct ionic_aq_queue){
		.cq = htole32(qp->cq->id), .depth_log2 = qp->log2, .stride_log2 = qp->stride_log2,
		.table = htole32(IONIC_AQ_NO_TABLE), .pages = htole32(1), .addr = htole64(addr),
	};
}

struct ionic_aq_create_qp rqp_command(const struct rqp *qp)
{
	return (struct ionic_aq_create_qp){
		.pd = htole32(RNIC_PD), .qp = htole32(qp->id), .type = qp->type,
		.flags = htobe32(qp->flags | (qp->sq_cmb ? IONIC_QP_SQ_CMB : 0) |
				 (qp->rq_cmb ? IONIC_QP_RQ_CMB : 0)),
		.sq = queue(qp, qp->sq), .rq = queue(qp, qp->rq),
	};
}

void rqp_open(struct rqp *qp)
{
	struct ionic_aq_create_qp cmd;

	if (!qp->sq_cmb)
		qp->sq = ring(qp->rnic, qp->log2, qp->stride_log2);
	if (!qp->rq_cmb)
		qp->rq = ring(qp->rnic, qp->log2, qp->stride_log2);
	cmd = rqp_command(qp);
	MUST(!raq(qp->rnic, &cmd, IONIC_AQ_CREATE_QP, sizeof(cmd)));
}

uint32_t rqp_psn(const struct rqp *qp)
{
	return (0xfffff0 + qp->id) & IONIC_PSN_MASK;	/* soon wraps */
}

struct ionic_aq_modify_qp rqp_modify_command(const struct rqp *qp, uint32_t mask,
					     enum ionic_qp_state state)
{
	bool connected = qp->type == IONIC_QPT_RC || qp->type == IONIC_QPT_UC;

	return (struct ionic_aq_modify_qp){
		.mask = htobe32(mask), .qp = htole32(qp->id), .type_state = state,
		.flags = htobe16(qp->flags | IONIC_QP_REMOTE_WRITE | IONIC_QP_REMOTE_READ |
				 IONIC_QP_REMOTE_ATOMIC | IONIC_QP_SQD_NOTIFY),
		.sq_psn = htole32(rqp_psn(qp)),
		.qkey_dest_qpn = htole32(connected ? qp->dest : RNIC_QKEY),
		.pmtu_log2 = qp->pmtu_log2, .timeout = qp->timeout, .rnr_timer = qp->rnr_timer,
		.retry = HW_PREP(IONIC_QP_RETRY, qp->retry) |
			 HW_PREP(IONIC_QP_RNR_RETRY, qp->rnr_retry),
		.rsq_depth_log2 = qp->rsq_log2, .rrq_depth_log2 = qp->rrq_log2,
		.rrq_table = htole32(qp->rrq_log2 ? IONIC_AQ_NO_TABLE : 0),
		.rsq_table = htole32(qp->rsq_log2 ? IONIC_AQ_NO_TABLE : 0),
	};
}

int rqp_modify(struct rqp *qp, uint32_t mask, enum ionic_qp_state state)
{
	struct ionic_aq_modify_qp cmd = rqp_modify_command(qp, mask, state);

	return raq(qp->rnic, &cmd, IONIC_AQ_MODIFY_QP, sizeof(cmd));
}

void rqp_to_rtr(struct rqp *qp, struct rqp *peer)
{
	struct ionic_aq_modify_qp cmd;

	MUST(!rqp_modify(qp, IONIC_QPA_STATE | IONIC_QPA_ACCESS | IONIC_QPA_PKEY | IONIC_QPA_PORT,
			 IONIC_QPS_INIT));
	qp->dest = peer->id;
	cmd = rqp_modify_command(qp, IONIC_QPA_STATE | IONIC_QPA_AV | IONIC_QPA_PATH_MTU |
				 IONIC_QPA_DEST_QPN | IONIC_QPA_RQ_PSN | IONIC_QPA_RSQ_DEPTH |
				 IONIC_QPA_RNR_TIMER, IONIC_QPS_RTR);
	cmd.rq_psn = htole32(rqp_psn(peer));
	cmd.hdr_addr = htole64(template_addr(qp->rnic, peer->rnic));
	cmd.ah_len = htole32(HW_PREP(IONIC_QP_AH, qp->ah) |
			     HW_PREP(IONIC_QP_HDR_LEN, (uint32_t)RNIC_HDR_LEN));
	cmd.hdr_profile = IONIC_HDR_IPV6;
	MUST(!raq(qp->rnic, &cmd, IONIC_AQ_MODIFY_QP, sizeof(cmd)));
}

void rqp_connect(struct rqp *qp, struct rqp *peer)
{
	rqp_to_rtr(qp, peer);
	MUST(!rqp_modify(qp, IONIC_QPA_STATE | IONIC_QPA_SQ_PSN | IONIC_QPA_TIMEOUT |
			 IONIC_QPA_RETRY | IONIC_QPA_RNR_RETRY | IONIC_QPA_RRQ_DEPTH,
			 IONIC_QPS_RTS));
}

void rqp_to_rts(struct rqp *qp)
{
	MUST(!rqp_modify(qp, IONIC_QPA_STATE | IONIC_QPA_QKEY | IONIC_QPA_PKEY | IONIC_QPA_PORT,
			 IONIC_QPS_INIT));
	MUST(!rqp_modify(qp, IONIC_QPA_STATE, IONIC_QPS_RTR));
	MUST(!rqp_modify(qp, IONIC_QPA_STATE | IONIC_QPA_SQ_PSN, IONIC_QPS_RTS));
}

const struct ionic_qp_rq_answer *rqp_query(struct rqp *qp)
{
	uint64_t sq = test_alloc(&qp->rnic->nic.host, sizeof(struct ionic_qp_sq_answer), 8);
	uint64_t rq = test_alloc(&qp->rnic->nic.host, sizeof(struct ionic_qp_rq_answer), 8);
	struct ionic_aq_query_qp cmd = {
		.sq_addr = htole64(sq), .rq_addr = htole64(rq), .qp = htole32(qp->id),
		.ah = htole32(qp->ah),
	};

	MUST(!raq(qp->rnic, &cmd, IONIC_AQ_QUERY_QP, sizeof(cmd)));
	return rnic_mem(qp->rnic, rq, sizeof(struct ionic_qp_rq_answer));
}

int rqp_state(struct rqp *qp)
{
	return HW_GET(IONIC_QP_STATE, rqp_query(qp)->state_pmtu);
}

/* ---- work requests ---------------------------------------------------------------- */

static void *slot(struct rqp *qp, uint64_t addr, bool cmb, unsigned int index)
{
	uint64_t at = addr + ((uint64_t)index << qp->stride_log2);
	struct ionic_wqe_header *header;

	if (cmb)
		header = (void *)(qp->rnic->nic.dev->bar[IONIC_BAR_CMB].mem + at);
	else
		header = rnic_mem(qp->rnic, at, 1ul << qp->stride_log2);
	memset(header, 0, 1ul << qp->stride_log2);
	header->id = htole64(index);
	return header;
}

void *rqp_send_slot(struct rqp *qp)
{
	return slot(qp, qp->sq, qp->sq_cmb, qp->sq_posted);
}

void *rqp_recv_slot(struct rqp *qp)
{
	return slot(qp, qp->rq, qp->rq_cmb, qp->rq_posted);
}

void rqp_sent(struct rqp *qp)
{
	qp->sq_posted = (qp->sq_posted + 1) & ((1u << qp->log2) - 1);
}

void rqp_received(struct rqp *qp)
{
	qp->rq_posted = (qp->rq_posted + 1) & ((1u << qp->log2) - 1);
}

void rqp_ring(struct rqp *qp)
{
	nic_ring(&qp->rnic->nic, 0, qp->rnic->nic.lif.rdma.sq.qtype,
		 doorbell(qp->id, 0, qp->sq_posted));
}

void rqp_ring_recv(struct rqp *qp)
{
	nic_ring(&qp->rnic->nic, 0, qp->rnic->nic.lif.rdma.rq.qtype,
		 doorbell(qp->id, 0, qp->rq_posted));
}

struct ionic_sge rsge(const struct rmr *mr, size_t off, size_t len)
{
	return (struct ionic_sge){
		.addr = htobe64(mr->va + off), .length = htobe32(len), .key = htobe32(mr->key),
	};
}

uint8_t rop(const struct rqp *qp, uint8_t v1, uint8_t v2)
{
	return qp->rnic->nic.lif.rdma.version < 2 ? v1 : v2;
}

void rqp_recv(struct rqp *qp, const struct rmr *mr, size_t off, size_t len)
{
	struct ionic_wqe_recv *wqe = rqp_recv_slot(qp);

	wqe->header.num_sge = len != 0;
	wqe->header.imm_key_length = htobe32(len);
	if (len)
		*(struct ionic_sge *)(wqe + 1) = rsge(mr, off, len);
	rqp_received(qp);
	rqp_ring_recv(qp);
}

struct ionic_wqe_send *rqp_begin(struct rqp *qp, uint8_t v1, uint8_t v2, const struct rmr *mr,
				 size_t off, size_t len)
{
	struct ionic_wqe_send *wqe = rqp_send_slot(qp);

	wqe->header.op = rop(qp, v1, v2);
	wqe->header.flags = htobe16(IONIC_WQE_SIGNALED);
	wqe->header.num_sge = len != 0;
	wqe->length = htobe32(len);
	if (len)
		*(struct ionic_sge *)(wqe + 1) = rsge(mr, off, len);
	return wqe;
}

void rwqe_remote(struct ionic_wqe_send *wqe, const struct rmr *mr, size_t off)
{
	uint64_t addr = mr->va + off;

	wqe->ah_addr_hi = htobe32(addr >> 32);
	wqe->qpn_addr_lo = htobe32(addr);
	wqe->qkey_rkey = htobe32(mr->key);
}

void rwqe_datagram(struct ionic_wqe_send *wqe, uint32_t ah, uint32_t qpn, uint32_t qkey)
{
	wqe->ah_addr_hi = htobe32(ah);
	wqe->qpn_addr_lo = htobe32(qpn);
	wqe->qkey_rkey = htobe32(qkey);
}

void rqp_end(struct rqp *qp)
{
	rqp_sent(qp);
	rqp_ring(qp);
}

void rqp_send(struct rqp *qp, const struct rmr *mr, size_t off, size_t len)
{
	rqp_begin(qp, IONIC_V1_SEND, IONIC_V2_SEND, mr, off, len);
	rqp_end(qp);
}

void rqp_write(struct rqp *qp, const struct rmr *mr, size_t off, size_t len,
	       const struct rmr *remote, size_t remote_off)
{
	rwqe_remote(rqp_begin(qp, IONIC_V1_WRITE, IONIC_V2_WRITE, mr, off, len), remote,
		    remote_off);
	rqp_end(qp);
}

void rqp_read(struct rqp *qp, const struct rmr *mr, size_t off, size_t len,
	      const struct rmr *remote, size_t remote_off)
{
	rwqe_remote(rqp_begin(qp, IONIC_V1_READ, IONIC_V2_READ, mr, off, len), remote,
		    remote_off);
	rqp_end(qp);
}

void rqp_atomic(struct rqp *qp, bool add, uint64_t swap_add, uint64_t compare,
		const struct rmr *mr, size_t off, const struct rmr *remote, size_t remote_off)
{
	struct ionic_wqe_atomic *wqe = rqp_send_slot(qp);
	uint64_t addr = remote->va + remote_off;

	wqe->header.op = add ? rop(qp, IONIC_V1_FETCH_ADD, IONIC_V2_FETCH_ADD) :
			       rop(qp, IONIC_V1_CMP_SWAP, IONIC_V2_CMP_SWAP);
	wqe->header.flags = htobe16(IONIC_WQE_SIGNALED);
	wqe->header.num_sge = 1;
	wqe->addr_hi = htobe32(addr >> 32);
	wqe->addr_lo = htobe32(addr);
	wqe->rkey = htobe32(remote->key);
	wqe->swap_add_hi = htobe32(swap_add >> 32);
	wqe->swap_add_lo = htobe32(swap_add);
	wqe->compare_hi = htobe32(compare >> 32);
	wqe->compare_lo = htobe32(compare);
	if (qp->rnic->nic.lif.rdma.version < 2) {
		wqe->local.sge = rsge(mr, off, 8);
	} else {
		wqe->local.addr = htobe64(mr->va + off);
		wqe->lkey = htobe32(mr->key);
	}
	rqp_end(qp);
}
