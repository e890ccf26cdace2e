// SPDX-License-Identifier: GPL-2.0
/*
 * The RDMA side as a whole. All numbers of objects are the driver's choice, so
 * every kind has a table with room for each number.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ionic_rdma.h"

#define PACKETS_PER_SLICE	16u	/* of one QP, in each direction */
#define AQ_STRIDE_LOG2		6
#define EQ_STRIDE_LOG2		2

int ionic_rdma_open(struct ionic *ionic)
{
	const struct ionic_config *config = &ionic->config;
	struct ionic_rdma *rdma;

	if (!config->rdma)
		return 0;
	rdma = calloc(1, sizeof(*rdma));
	if (!rdma)
		return -ENOMEM;
	ionic->rdma = rdma;
	TAILQ_INIT(&rdma->active);
	TAILQ_INIT(&rdma->rung);
	rdma->eqs = calloc(config->eqs + 1, sizeof(*rdma->eqs));
	rdma->aqs = calloc(config->aqs + 1, sizeof(*rdma->aqs));
	rdma->cqs = calloc(config->cqs + 1, sizeof(*rdma->cqs));
	rdma->qps = calloc(config->qps + 1, sizeof(*rdma->qps));
	rdma->mrs = calloc(config->mrs + 1, sizeof(*rdma->mrs));
	rdma->ahs = calloc(config->ahs + 1, sizeof(*rdma->ahs));
	return rdma->eqs && rdma->aqs && rdma->cqs && rdma->qps && rdma->mrs && rdma->ahs ?
	       0 : -ENOMEM;
}

void ionic_rdma_close(struct ionic *ionic)
{
	struct ionic_rdma *rdma = ionic->rdma;

	if (!rdma)
		return;
	if (rdma->eqs && rdma->aqs && rdma->cqs && rdma->qps && rdma->mrs && rdma->ahs)
		ionic_rdma_forget(ionic);
	free(rdma->eqs);
	free(rdma->aqs);
	free(rdma->cqs);
	free(rdma->qps);
	free(rdma->mrs);
	free(rdma->ahs);
	free(rdma);
}

/* windows before what they show, QPs before their CQs */
static void free_objects(struct ionic *ionic)
{
	const struct ionic_config *config = &ionic->config;
	struct ionic_rdma *rdma = ionic->rdma;

	for (unsigned int i = 0; i < config->qps; i++)
		if (rdma->qps[i])
			ionic_qp_free(ionic, rdma->qps[i]);
	for (unsigned int i = 0; i < config->mrs; i++)
		if (rdma->mrs[i] && rdma->mrs[i]->flags & IONIC_MR_WINDOW)
			ionic_mr_free(ionic, rdma->mrs[i]);
	for (unsigned int i = 0; i < config->mrs; i++)
		if (rdma->mrs[i])
			ionic_mr_free(ionic, rdma->mrs[i]);
	for (unsigned int i = 0; i < config->ahs; i++)
		if (rdma->ahs[i])
			ionic_ah_free(ionic, rdma->ahs[i]);
	for (unsigned int i = 0; i < config->cqs; i++)
		if (rdma->cqs[i])
			ionic_cq_free(ionic, rdma->cqs[i]);
}

/* does a driver use it? */
static bool in_use(const struct ionic *ionic)
{
	for (unsigned int i = 0; i < ionic->config.aqs; i++)
		if (ionic->rdma->aqs[i].live)
			return true;
	return false;
}

void ionic_rdma_forget(struct ionic *ionic)
{
	struct ionic_rdma *rdma = ionic->rdma;

	if (!rdma)
		return;
	rdma->excused |= in_use(ionic);
	free_objects(ionic);
	for (unsigned int i = 0; i < ionic->config.aqs; i++)
		rdma->aqs[i] = (struct ionic_aq){ .id = i };
	for (unsigned int i = 0; i < ionic->config.eqs; i++)
		rdma->eqs[i] = (struct ionic_eq){ .id = i };
}

bool ionic_rdma_frame(struct ionic *ionic, const uint8_t *frame, size_t len)
{
	struct ionic_rdma *rdma = ionic->rdma;
	struct ionic_packet packet;
	struct ionic_qp *qp;

	if (!rdma || !in_use(ionic) || !ionic_wire_is_roce(frame, len) ||
	    !ionic_filter_is_mine(ionic, frame))
		return false;
	rdma->tally.rx_packets++;
	rdma->tally.rx_bytes += len;
	ionic_stats_add(ionic, IONIC_STAT_RX_RDMA_PACKETS, 1);
	ionic_stats_add(ionic, IONIC_STAT_RX_RDMA_BYTES, len);
	qp = ionic_wire_parse(frame, len, &packet) ? ionic_qp_get(ionic, packet.dest_qpn) : NULL;
	if (qp && ionic->config.routed && ionic_wire_hops(&packet) <= 1)
		rdma->tally.hop_drops++;
	else if (!qp || packet.pkey != IONIC_PKEY_DEFAULT)
		rdma->tally.drops++;
	else if (packet.parts & IONIC_WIRE_IS_RESPONSE)
		ionic_requester_packet(ionic, qp, &packet);
	else
		ionic_responder_packet(ionic, qp, &packet);
	return true;
}

/* ---- device commands -------------------------------------------------------------- */

int ionic_cmd_rdma_reset(struct ionic *ionic, struct ionic_job *job)
{
	if (!ionic->rdma)
		return ionic_refuse(ionic, job, IONIC_EOPCODE, "is not offered");
	/* the first command of a driver that starts */
	ionic->rdma->excused = false;
	ionic_rdma_forget(ionic);
	return IONIC_SUCCESS;
}

/* a request for a ring, in host order */
struct ring_request {
	unsigned int id, target, depth_log2;
	uint16_t pid;
	uint64_t addr, bytes;
};

static int check_ring(struct ionic *ionic, const struct ionic_job *job, struct ring_request *ring,
		      uint64_t count, unsigned int stride_log2)
{
	const struct ionic_rdma_queue_req *req = (const struct ionic_rdma_queue_req *)&job->req;
	uint32_t qid = le32toh(req->qid_version);

	*ring = (struct ring_request){
		.id = HW_GET(IONIC_RDMA_QID, qid), .target = le32toh(req->target),
		.depth_log2 = req->depth_log2, .pid = le16toh(req->pid),
		.addr = le64toh(req->ring_addr),
	};
	if (!ionic->rdma)
		return ionic_refuse(ionic, job, IONIC_EOPCODE, "is not offered");
	if (ring->id >= count)
		return ionic_refuse(ionic, job, IONIC_EQID, "number %u of %" PRIu64, ring->id,
				    count);
	if (req->stride_log2 != stride_log2 || !ring->depth_log2 ||
	    ring->depth_log2 > IONIC_DEPTH_LOG2_MAX)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "2^%u entries of 2^%u bytes, must be "
				    "2^1 to 2^%u of 2^%u", ring->depth_log2, req->stride_log2,
				    IONIC_DEPTH_LOG2_MAX, stride_log2);
	ring->bytes = 1ull << (ring->depth_log2 + stride_log2);
	if (ring->pid)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "doorbell page %u, must be the "
				    "kernel's, 0", ring->pid);
	if (!ring->addr || ring->addr % IONIC_PAGE ||
	    !ionic_reachable(ionic, ring->addr, ring->bytes))
		return ionic_refuse(ionic, job, IONIC_EADDR, "ring at 0x%" PRIx64 ", must be %"
				    PRIu64 " bytes of memory that begin a page", ring->addr,
				    ring->bytes);
	return IONIC_SUCCESS;
}

int ionic_cmd_rdma_create_eq(struct ionic *ionic, struct ionic_job *job)
{
	struct ring_request ring;
	int status = check_ring(ionic, job, &ring, ionic->config.eqs, EQ_STRIDE_LOG2);
	struct ionic_eq *eq;

	if (status)
		return status;
	eq = &ionic->rdma->eqs[ring.id];
	if (eq->live)
		return ionic_refuse(ionic, job, IONIC_EEXIST, "EQ %u exists", ring.id);
	if (ring.target >= ionic->config.vectors)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "interrupt %u of %" PRIu64,
				    ring.target, ionic->config.vectors);
	*eq = (struct ionic_eq){
		.id = ring.id, .live = true, .intr = ring.target,
		.depth_log2 = ring.depth_log2, .ring = ring.addr,
	};
	return IONIC_SUCCESS;
}

int ionic_cmd_rdma_create_cq(struct ionic *ionic, struct ionic_job *job)
{
	struct ring_request ring;
	int status = check_ring(ionic, job, &ring, ionic->config.cqs, IONIC_CQ_STRIDE_LOG2);
	const char *why = NULL;
	struct ionic_cq *cq;

	if (status)
		return status;
	if (ionic_cq_get(ionic, ring.id))
		return ionic_refuse(ionic, job, IONIC_EEXIST, "CQ %u exists", ring.id);
	if (ring.target >= ionic->config.eqs || !ionic->rdma->eqs[ring.target].live)
		return ionic_refuse(ionic, job, IONIC_EQID, "EQ %u does not exist", ring.target);
	cq = ionic_cq_new(ionic, ring.id, &ionic->rdma->eqs[ring.target], ring.depth_log2,
			  ring.pid);
	if (!cq)
		return IONIC_ENOMEM;
	if (ionic_mem_set(ionic, &cq->mem, 1, ring.addr, 0, 0, ring.bytes, &why)) {
		ionic_cq_free(ionic, cq);
		return IONIC_ENOMEM;
	}
	return IONIC_SUCCESS;
}

int ionic_cmd_rdma_create_aq(struct ionic *ionic, struct ionic_job *job)
{
	struct ring_request ring;
	int status = check_ring(ionic, job, &ring, ionic->config.aqs, AQ_STRIDE_LOG2);
	struct ionic_cq *cq;
	struct ionic_aq *aq;

	if (status)
		return status;
	aq = &ionic->rdma->aqs[ring.id];
	if (aq->live)
		return ionic_refuse(ionic, job, IONIC_EEXIST, "admin queue %u exists", ring.id);
	cq = ionic_cq_get(ionic, ring.target);
	if (!cq)
		return ionic_refuse(ionic, job, IONIC_EQID, "CQ %u does not exist", ring.target);
	cq->refs++;
	cq->of_aq = true;
	*aq = (struct ionic_aq){
		.id = ring.id, .live = true, .cq = cq,
		.depth_log2 = ring.depth_log2, .ring = ring.addr,
	};
	return IONIC_SUCCESS;
}

/* ---- doorbells -------------------------------------------------------------------- */

bool ionic_rdma_stray(struct ionic *ionic, uint16_t pid)
{
	ionic->rdma->tally.doorbells_stray++;
	return !pid && !ionic->rdma->excused && !ionic->excused;
}

static void missing(struct ionic *ionic, uint16_t pid, const char *what, unsigned int id)
{
	if (ionic_rdma_stray(ionic, pid))
		model_violation(&ionic->dev, "doorbell of %s %u, which does not exist", what, id);
}

static void work_queue_doorbell(struct ionic *ionic, uint16_t pid, bool send, uint64_t value)
{
	unsigned int id = HW_GET(IONIC_DB_QID, value);
	struct ionic_qp *qp = ionic_qp_get(ionic, id);

	if (!qp) {
		missing(ionic, pid, "QP", id);
		return;
	}
	if (qp->pid != pid) {
		model_violation(&ionic->dev, "doorbell of QP %u in page %u of the LIF, must be in "
				"its own, %u", id, pid, qp->pid);
		return;
	}
	if (send)
		ionic->rdma->tally.doorbells_sq++;
	else
		ionic->rdma->tally.doorbells_rq++;
	ionic_wq_doorbell(ionic, qp, send ? &qp->sq : &qp->rq, value);
}

static void cq_doorbell(struct ionic *ionic, uint16_t pid, uint64_t value)
{
	unsigned int id = HW_GET(IONIC_DB_QID, value);
	struct ionic_cq *cq = ionic_cq_get(ionic, id);

	if (cq)
		ionic_cq_doorbell(ionic, cq, pid, value);
	else
		missing(ionic, pid, "CQ", id);
}

static void aq_doorbell(struct ionic *ionic, uint16_t pid, uint64_t value)
{
	unsigned int id = HW_GET(IONIC_DB_QID, value);

	if (id < ionic->config.aqs && ionic->rdma->aqs[id].live)
		ionic_aq_doorbell(ionic, &ionic->rdma->aqs[id], pid, value);
	else
		missing(ionic, 0, "admin queue", id); /* users have none */
}

bool ionic_rdma_doorbell(struct ionic *ionic, uint16_t pid, unsigned int type, uint64_t value)
{
	if (!ionic->rdma)
		return false;
	switch (type) {
	case IONIC_DB_RDMA_SQ:
	case IONIC_DB_RDMA_RQ:
		work_queue_doorbell(ionic, pid, type == IONIC_DB_RDMA_SQ, value);
		return true;
	case IONIC_DB_RDMA_CQ:
		cq_doorbell(ionic, pid, value);
		return true;
	case IONIC_DB_RDMA_AQ:
		aq_doorbell(ionic, pid, value);
		return true;
	default:
		return false;	/* nobody rings an EQ */
	}
}

/* ---- work ------------------------------------------------------------------------- */

/* a QP that has nothing more to do, now or later, leaves the list */
static bool work_qp(struct ionic *ionic, struct ionic_qp *qp, uint64_t *when)
{
	uint64_t send_when = 0, respond_when = 0;
	bool more;

	more = ionic_responder_work(ionic, qp, PACKETS_PER_SLICE, &respond_when);
	more |= ionic_requester_work(ionic, qp, PACKETS_PER_SLICE, &send_when);
	*when = ionic_earlier(*when, ionic_earlier(send_when, respond_when));
	if (!more && !send_when && !respond_when && qp->active) {
		TAILQ_REMOVE(&ionic->rdma->active, qp, link);
		qp->active = false;
	}
	return more;
}

bool ionic_rdma_work(struct ionic *ionic, uint64_t *when)
{
	struct ionic_rdma *rdma = ionic->rdma;
	struct ionic_qp *qp, *next;
	bool more;

	if (!rdma)
		return false;
	ionic_cq_work(ionic);
	more = ionic_aq_work(ionic, when);
	for (qp = TAILQ_FIRST(&rdma->active); qp; qp = next) {
		next = TAILQ_NEXT(qp, link);
		more |= work_qp(ionic, qp, when);
	}
	return more;
}
