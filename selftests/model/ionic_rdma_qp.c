// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: their commands, states and errors.
 *
 * A queue pair in an error state does nothing; its host reports what is left as
 * flushed by itself. A completion of kind "flushed" tells it to do so, for each
 * queue, also when that is empty, because somebody may wait for an event.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ionic_rdma.h"

#define TIMER_MAX	31	/* verbs' codes of times have 5 bits */
#define RETRY_MAX	7	/* and their numbers of retries 3 */
#define READS_LOG2_MAX	5	/* the 16 that drivers offer, rounded up to 2^n - 1 */
#define ACCESS		(IONIC_QP_REMOTE_WRITE | IONIC_QP_REMOTE_READ | IONIC_QP_REMOTE_ATOMIC)
#define FLAGS_CREATE	(IONIC_QP_SQ_SPEC | IONIC_QP_RQ_SPEC | IONIC_QP_REMOTE_PRIV | \
			 IONIC_QP_SQ_CMB | IONIC_QP_RQ_CMB | IONIC_QP_PRIVILEGED)
#define ATTRS_KNOWN	0x021fffffu
#define CONNECTED_RTR	(IONIC_QPA_AV | IONIC_QPA_PATH_MTU | IONIC_QPA_DEST_QPN | IONIC_QPA_RQ_PSN)

struct ionic_qp *ionic_qp_get(struct ionic *ionic, unsigned int id)
{
	return id < ionic->config.qps ? ionic->rdma->qps[id] : NULL;
}

void ionic_qp_activate(struct ionic *ionic, struct ionic_qp *qp)
{
	if (!qp->active) {
		TAILQ_INSERT_TAIL(&ionic->rdma->active, qp, link);
		qp->active = true;
	}
	model_kick(&ionic->dev);
}

static void deactivate(struct ionic *ionic, struct ionic_qp *qp)
{
	if (qp->active)
		TAILQ_REMOVE(&ionic->rdma->active, qp, link);
	qp->active = false;
}

/* ---- errors ----------------------------------------------------------------------- */

static void push_flush(struct ionic *ionic, struct ionic_qp *qp, struct ionic_cq *cq,
		       enum ionic_cqe_type type)
{
	struct ionic_cqe cqe = { .status_length = htobe32(IONIC_IO_FLUSHED) };

	if (!cq)
		return;
	ionic->rdma->tally.flushes++;
	ionic_cq_push(ionic, cq, &cqe, HW_PREP(IONIC_CQE_QID, qp->id) |
		      HW_PREP(IONIC_CQE_TYPE, (uint32_t)type) | IONIC_CQE_ERROR, false);
}

/* a receive that failed may be seen now */
static void release(struct ionic *ionic, struct ionic_qp *qp)
{
	if (qp->rsp.holding)
		ionic_cq_release(ionic, qp->rq.cq);
	qp->rsp.holding = false;
}

void ionic_qp_error(struct ionic *ionic, struct ionic_qp *qp)
{
	if (qp->state == IONIC_QPS_ERR)
		return;
	qp->state = IONIC_QPS_ERR;
	qp->unasked = true;
	qp->draining = false;
	deactivate(ionic, qp);
	ionic_requester_reset(qp);
	ionic_responder_reset(qp);
	push_flush(ionic, qp, qp->sq.cq, IONIC_CQE_SEND_NPG);
	push_flush(ionic, qp, qp->rq.cq, IONIC_CQE_RECV);
	release(ionic, qp);
}

void ionic_qp_send_error(struct ionic *ionic, struct ionic_qp *qp)
{
	qp->state = IONIC_QPS_SQE;
	qp->unasked = true;
	qp->draining = false;
	ionic_requester_reset(qp);
	push_flush(ionic, qp, qp->sq.cq, IONIC_CQE_SEND_NPG);
}

/* ---- queues ----------------------------------------------------------------------- */

/* the express window for slots of that size, if the adapter has it for that kind of queue */
static unsigned int window_of(const struct ionic_config *config, unsigned int stride_log2,
			      uint64_t kind)
{
	unsigned int window = stride_log2 - 6 + IONIC_CMB_EXPRESS_64;

	if (!(config->expdb & kind) || window >= IONIC_CMB_TYPES ||
	    !(config->strides >> (window - 1) & 1))
		return 0;
	return window;
}

static bool overlap(const struct ionic_wq *wq, uint64_t addr, uint64_t bytes)
{
	return wq->mem.cmb && wq->mem.pages[0] < addr + bytes &&
	       addr < wq->mem.pages[0] + wq->mem.length;
}

/* the QP that has a ring in that part of controller memory, or NULL */
static const struct ionic_qp *cmb_owner(struct ionic *ionic, uint64_t addr, uint64_t bytes)
{
	for (unsigned int i = 0; i < ionic->config.qps; i++) {
		const struct ionic_qp *qp = ionic->rdma->qps[i];

		if (qp && (overlap(&qp->sq, addr, bytes) || overlap(&qp->rq, addr, bytes)))
			return qp;
	}
	return NULL;
}

/* a word that an earlier owner left would ring at once */
static void clear_windows(struct ionic *ionic, const struct ionic_wq *wq)
{
	uint8_t *mem = ionic->dev.bar[IONIC_BAR_CMB].mem;

	if (ionic->config.strict || !wq->window)
		return;
	memset(mem + (uint64_t)wq->window * IONIC_CMB_WINDOW + wq->mem.pages[0], 0,
	       wq->mem.length);
}

static enum ionic_aq_status place_in_cmb(struct ionic *ionic, const struct ionic_aq_job *job,
					 struct ionic_wq *wq, const struct ionic_aq_queue *queue,
					 uint64_t kind)
{
	uint64_t addr = le64toh(queue->addr), bytes = 1ull << (wq->depth_log2 + wq->stride_log2);
	const struct ionic_qp *other = cmb_owner(ionic, addr, bytes);
	const char *why;

	if (le32toh(queue->pages) != 1 || queue->page_log2 || addr % IONIC_PAGE ||
	    bytes > ionic->config.cmb || addr > ionic->config.cmb - bytes)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "%" PRIu64 " bytes at 0x%"
				       PRIx64 " of controller memory, which has %" PRIu64, bytes,
				       addr, ionic->config.cmb);
	if (other)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "controller memory at 0x%"
				       PRIx64 " is that of QP %u", addr, other->id);
	if (ionic_mem_set(ionic, &wq->mem, 1, addr, 0, 0, bytes, &why))
		return IONIC_AQ_BAD_ATTR;
	wq->mem.cmb = true;
	wq->window = window_of(&ionic->config, wq->stride_log2, kind);
	clear_windows(ionic, wq);
	return IONIC_AQ_OK;
}

static enum ionic_aq_status set_queue(struct ionic *ionic, const struct ionic_aq_job *job,
				      struct ionic_wq *wq, const struct ionic_aq_queue *queue,
				      bool cmb, uint64_t kind)
{
	unsigned int qp = le32toh(((const struct ionic_aq_create_qp *)job->bytes)->qp);
	struct ionic_cq *cq = ionic_cq_get(ionic, le32toh(queue->cq));
	const char *why;

	if (!queue->pages && !queue->depth_log2)
		return IONIC_AQ_OK;	/* the QP has none */
	if (!cq || ionic_pipeline(ionic, cq->id) != ionic_pipeline(ionic, qp))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "CQ %u does not exist, or "
				       "is on another pipeline than QP %u", le32toh(queue->cq), qp);
	if (!queue->depth_log2 || queue->depth_log2 > IONIC_DEPTH_LOG2_MAX ||
	    queue->stride_log2 < 6 || queue->stride_log2 > ionic->config.max_stride ||
	    queue->dir_log2 ||
	    le32toh(queue->table) != IONIC_AQ_NO_TABLE)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "2^%u slots of 2^%u bytes, "
				       "table 0x%x", queue->depth_log2, queue->stride_log2,
				       le32toh(queue->table));
	wq->depth_log2 = queue->depth_log2;
	wq->stride_log2 = queue->stride_log2;
	wq->cq = cq;
	if (cmb)
		return place_in_cmb(ionic, job, wq, queue, kind);
	if (ionic_mem_set(ionic, &wq->mem, le32toh(queue->pages), le64toh(queue->addr),
			  queue->page_log2, 0, 1ull << (wq->depth_log2 + wq->stride_log2), &why))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "pages of a ring %s", why);
	return IONIC_AQ_OK;
}

/* a queue that has been set begins or ends to count */
static void account(struct ionic *ionic, struct ionic_wq *wq, int n)
{
	struct ionic_rdma *rdma = ionic->rdma;

	if (!wq->cq)
		return;
	wq->cq->refs += n;
	if (!wq->mem.cmb)
		return;
	rdma->tally.cmb_pages += n * (int64_t)((wq->mem.length + IONIC_PAGE - 1) / IONIC_PAGE);
	rdma->express += wq->window ? n : 0;
	ionic->dev.polled = rdma->express && !ionic->config.strict;
}

/* ---- create and destroy ----------------------------------------------------------- */

static enum ionic_aq_status check_create(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_qp *cmd = (const struct ionic_aq_create_qp *)job->bytes;
	unsigned int id = le32toh(cmd->qp);

	if (id >= ionic->config.qps || ionic_qp_get(ionic, id))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "QP %u exists, or is not "
				       "one of %" PRIu64, id, ionic->config.qps);
	if (cmd->type != IONIC_QPT_RC && cmd->type != IONIC_QPT_UC && cmd->type != IONIC_QPT_UD)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_TYPE, "type %u is not offered",
				       cmd->type);
	if (id == IONIC_QPN_SMI ||
	    (id == IONIC_QPN_GSI && (cmd->type != IONIC_QPT_UD || le16toh(cmd->pid))))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "QP %u is not for that: 0 "
				       "is nobody's, 1 for datagrams of the kernel", id);
	if (be32toh(cmd->flags) & ~FLAGS_CREATE)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "flags 0x%x, known are 0x%x",
				       be32toh(cmd->flags), FLAGS_CREATE);
	if (le16toh(cmd->pid) >= ionic->config.dbpages)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "doorbell page %u of %"
				       PRIu64, le16toh(cmd->pid), ionic->config.dbpages);
	return IONIC_AQ_OK;
}

static void free_memory(struct ionic_qp *qp)
{
	ionic_mem_free(&qp->sq.mem);
	ionic_mem_free(&qp->rq.mem);
	free(qp->req.ops);
	free(qp->req.copies);
	free(qp->rsp.recv.wqe);
	free(qp);
}

static bool allocate(struct ionic_qp *qp)
{
	qp->req.ops = calloc(1ul << qp->sq.depth_log2, sizeof(*qp->req.ops));
	qp->req.copies = calloc(1ul << qp->sq.depth_log2, 1ul << qp->sq.stride_log2);
	qp->rsp.recv.wqe = calloc(1, 1ul << qp->rq.stride_log2);
	return qp->req.ops && qp->req.copies && qp->rsp.recv.wqe;
}

static enum ionic_aq_status set_queues(struct ionic *ionic, const struct ionic_aq_job *job,
				       struct ionic_qp *qp)
{
	const struct ionic_aq_create_qp *cmd = (const struct ionic_aq_create_qp *)job->bytes;
	const struct ionic_aq_queue sq = cmd->sq, rq = cmd->rq;
	uint32_t flags = be32toh(cmd->flags);
	enum ionic_aq_status status;

	qp->sq.spec = flags & IONIC_QP_SQ_SPEC;
	qp->rq.spec = flags & IONIC_QP_RQ_SPEC;
	status = set_queue(ionic, job, &qp->sq, &sq, flags & IONIC_QP_SQ_CMB, IONIC_EXPRESS_SQ);
	if (!status)
		status = set_queue(ionic, job, &qp->rq, &rq, flags & IONIC_QP_RQ_CMB,
				   IONIC_EXPRESS_RQ);
	if (!status && qp->rq.mem.cmb && overlap(&qp->sq, le64toh(rq.addr), qp->rq.mem.length))
		status = ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "both queues are at one "
					 "place in controller memory");
	return status;
}

enum ionic_aq_status ionic_aq_create_qp(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_qp *cmd = (const struct ionic_aq_create_qp *)job->bytes;
	enum ionic_aq_status status = check_create(ionic, job);
	struct ionic_qp *qp;

	if (status)
		return status;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return IONIC_AQ_BAD_ATTR;
	qp->id = le32toh(cmd->qp);
	qp->pd = le32toh(cmd->pd);
	qp->pid = le16toh(cmd->pid);
	qp->type = cmd->type;
	qp->attr.flags = be32toh(cmd->flags);
	status = set_queues(ionic, job, qp);
	if (!status && !allocate(qp))
		status = IONIC_AQ_BAD_ATTR;
	if (status) {
		free_memory(qp);
		return status;
	}
	account(ionic, &qp->sq, 1);
	account(ionic, &qp->rq, 1);
	ionic->rdma->qps[qp->id] = qp;
	return IONIC_AQ_OK;
}

void ionic_qp_free(struct ionic *ionic, struct ionic_qp *qp)
{
	deactivate(ionic, qp);
	ionic_mr_unbind(ionic, qp);
	account(ionic, &qp->sq, -1);
	account(ionic, &qp->rq, -1);
	if (qp->attr.has_ah)
		ionic_ah_free(ionic, ionic_ah_get(ionic, qp->attr.ah));
	ionic->rdma->qps[qp->id] = NULL;
	free_memory(qp);
}

enum ionic_aq_status ionic_aq_destroy_qp(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_destroy *cmd = (const struct ionic_aq_destroy *)job->bytes;
	struct ionic_qp *qp = ionic_qp_get(ionic, le32toh(cmd->id));

	if (!qp)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "QP %u does not exist",
				       le32toh(cmd->id));
	release(ionic, qp);
	ionic_qp_free(ionic, qp);
	return IONIC_AQ_OK;
}

/* ---- modify ----------------------------------------------------------------------- */

static bool may_become(enum ionic_qp_state from, enum ionic_qp_state to)
{
	static const uint8_t next[] = {	/* a bit per state, besides RESET and ERR */
		[IONIC_QPS_RESET] = 1 << IONIC_QPS_INIT,
		[IONIC_QPS_INIT] = 1 << IONIC_QPS_INIT | 1 << IONIC_QPS_RTR,
		[IONIC_QPS_RTR] = 1 << IONIC_QPS_RTS,
		[IONIC_QPS_RTS] = 1 << IONIC_QPS_RTS | 1 << IONIC_QPS_SQD,
		[IONIC_QPS_SQD] = 1 << IONIC_QPS_SQD | 1 << IONIC_QPS_RTS,
		[IONIC_QPS_SQE] = 1 << IONIC_QPS_RTS,
		[IONIC_QPS_ERR] = 0,
	};

	return to == IONIC_QPS_RESET || to == IONIC_QPS_ERR || next[from] >> to & 1;
}

/* attributes without which a state makes no sense */
static uint32_t needed(const struct ionic_qp *qp, enum ionic_qp_state to)
{
	bool connected = ionic_qp_connected(qp);

	if (to == qp->state)
		return 0;
	switch (to) {
	case IONIC_QPS_INIT:
		return connected ? 0 : IONIC_QPA_QKEY;
	case IONIC_QPS_RTR:
		return connected ? CONNECTED_RTR : 0;
	case IONIC_QPS_RTS:
		return qp->state == IONIC_QPS_RTR ? IONIC_QPA_SQ_PSN : 0;
	default:
		return 0;
	}
}

/*
 * Attributes that a change of state alone may set: what is under way is made for them.
 * The same as the verbs' table of transitions has.
 */
static uint32_t fixed(const struct ionic_qp *qp, enum ionic_qp_state to)
{
	uint32_t attrs = IONIC_QPA_PATH_MTU | IONIC_QPA_DEST_QPN | IONIC_QPA_RQ_PSN |
			 IONIC_QPA_SQ_PSN;

	if (qp->state == IONIC_QPS_INIT && to == IONIC_QPS_RTR)
		attrs &= ~(IONIC_QPA_PATH_MTU | IONIC_QPA_DEST_QPN | IONIC_QPA_RQ_PSN);
	if (qp->state == IONIC_QPS_RTR && to == IONIC_QPS_RTS)
		attrs &= ~IONIC_QPA_SQ_PSN;
	return attrs;
}

static bool table_agrees(__le32 table, uint8_t depth_log2)
{
	return le32toh(table) == (depth_log2 ? IONIC_AQ_NO_TABLE : 0);
}

/* Do the values make sense? Drivers may pass on what users gave them. */
static bool in_range(const struct ionic_aq_modify_qp *cmd, uint32_t mask)
{
	return !((mask & IONIC_QPA_TIMEOUT && cmd->timeout > TIMER_MAX) ||
		 (mask & IONIC_QPA_RNR_TIMER && cmd->rnr_timer > TIMER_MAX) ||
		 (mask & IONIC_QPA_RETRY && HW_GET(IONIC_QP_RETRY, cmd->retry) > RETRY_MAX) ||
		 (mask & IONIC_QPA_RNR_RETRY &&
		  HW_GET(IONIC_QP_RNR_RETRY, cmd->retry) > RETRY_MAX) ||
		 (mask & IONIC_QPA_RRQ_DEPTH && cmd->rrq_depth_log2 > READS_LOG2_MAX) ||
		 (mask & IONIC_QPA_RSQ_DEPTH && cmd->rsq_depth_log2 > READS_LOG2_MAX));
}

static enum ionic_aq_status check_modify(struct ionic *ionic, const struct ionic_aq_job *job,
					 const struct ionic_qp *qp, enum ionic_qp_state to)
{
	const struct ionic_aq_modify_qp *cmd = (const struct ionic_aq_modify_qp *)job->bytes;
	uint32_t mask = be32toh(cmd->mask);

	if (mask & ~ATTRS_KNOWN || cmd->dcqcn_profile || cmd->pkey)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "attribute mask 0x%x, DCQCN "
				       "profile %u, P_Key %u", mask, cmd->dcqcn_profile,
				       le16toh(cmd->pkey));
	/* choice: the host checks these before it asks, but may be behind a change of state */
	if (mask & IONIC_QPA_CUR_STATE &&
	    HW_GET(IONIC_QP_STATE_CUR, cmd->type_state) != qp->state)
		return IONIC_AQ_BAD_STATE;
	/* the same: who does not know that the QP has failed goes on from where it was */
	if (mask & IONIC_QPA_STATE && qp->unasked && to <= IONIC_QPS_ERR &&
	    !may_become(qp->state, to))
		return IONIC_AQ_BAD_STATE;
	if (mask & IONIC_QPA_STATE && (to > IONIC_QPS_ERR || !may_become(qp->state, to)))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_STATE, "QP %u cannot go from state "
				       "%u to %u", qp->id, qp->state, to);
	if (needed(qp, to) & ~mask)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "QP %u to state %u needs "
				       "attributes 0x%x, not only 0x%x", qp->id, to,
				       needed(qp, to), mask);
	if (fixed(qp, to) & mask)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "QP %u from state %u to %u "
				       "cannot change attributes 0x%x", qp->id, qp->state, to,
				       fixed(qp, to) & mask);
	if (mask & IONIC_QPA_PATH_MTU && (cmd->pmtu_log2 < IONIC_MTU_LOG2_MIN ||
					  cmd->pmtu_log2 > IONIC_MTU_LOG2_MAX))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "path MTU 2^%u",
				       cmd->pmtu_log2);
	if ((mask & IONIC_QPA_RRQ_DEPTH && !table_agrees(cmd->rrq_table, cmd->rrq_depth_log2)) ||
	    (mask & IONIC_QPA_RSQ_DEPTH && !table_agrees(cmd->rsq_table, cmd->rsq_depth_log2)))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "tables 0x%x and 0x%x for "
				       "depths 2^%u and 2^%u", le32toh(cmd->rrq_table),
				       le32toh(cmd->rsq_table), cmd->rrq_depth_log2,
				       cmd->rsq_depth_log2);
	/* choice: nobody says that the host checks these, so they may be a user's */
	return in_range(cmd, mask) ? IONIC_AQ_OK : IONIC_AQ_BAD_ATTR;
}

static enum ionic_aq_status set_path(struct ionic *ionic, const struct ionic_aq_job *job,
				     struct ionic_qp *qp)
{
	const struct ionic_aq_modify_qp *cmd = (const struct ionic_aq_modify_qp *)job->bytes;
	uint32_t id = HW_GET(IONIC_QP_AH, le32toh(cmd->ah_len));
	struct ionic_ah *ah;

	if (!ionic_qp_connected(qp))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "a path for QP %u, which "
				       "sends datagrams", qp->id);
	if (qp->attr.has_ah ? id != qp->attr.ah : ionic_ah_get(ionic, id) != NULL)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "address handle %u is not "
				       "that of QP %u", id, qp->id);
	ah = ionic_ah_set(ionic, job, id, qp->pd, le64toh(cmd->hdr_addr),
			  HW_GET(IONIC_QP_HDR_LEN, le32toh(cmd->ah_len)), cmd->hdr_profile);
	if (!ah)
		return IONIC_AQ_BAD_ATTR;
	ah->of_qp = true;
	qp->attr.ah = id;
	qp->attr.has_ah = true;
	return IONIC_AQ_OK;
}

static void set_flags(struct ionic_qp *qp, uint32_t mask, uint16_t flags)
{
	uint16_t changes = (mask & IONIC_QPA_ACCESS ? ACCESS : 0) |
			   (mask & IONIC_QPA_SQD_NOTIFY ? IONIC_QP_SQD_NOTIFY : 0);

	qp->attr.flags = (qp->attr.flags & ~changes) | (flags & changes);
}

static void set_attrs(struct ionic_qp *qp, const struct ionic_aq_modify_qp *cmd)
{
	struct ionic_qp_attr *attr = &qp->attr;
	uint32_t mask = be32toh(cmd->mask);

	set_flags(qp, mask, be16toh(cmd->flags));
	if (mask & IONIC_QPA_RQ_PSN)
		attr->rq_psn = le32toh(cmd->rq_psn) & IONIC_PSN_MASK;
	if (mask & IONIC_QPA_SQ_PSN)
		attr->sq_psn = le32toh(cmd->sq_psn) & IONIC_PSN_MASK;
	if (mask & IONIC_QPA_QKEY && !ionic_qp_connected(qp))
		attr->qkey = le32toh(cmd->qkey_dest_qpn);
	if (mask & IONIC_QPA_DEST_QPN && ionic_qp_connected(qp))
		attr->dest_qpn = le32toh(cmd->qkey_dest_qpn);
	if (mask & IONIC_QPA_RATE_LIMIT)
		attr->rate_limit = le32toh(cmd->rate_limit);
	if (mask & IONIC_QPA_PATH_MTU)
		attr->pmtu_log2 = cmd->pmtu_log2;
	if (mask & IONIC_QPA_RETRY)
		attr->retry = HW_GET(IONIC_QP_RETRY, cmd->retry);
	if (mask & IONIC_QPA_RNR_RETRY)
		attr->rnr_retry = HW_GET(IONIC_QP_RNR_RETRY, cmd->retry);
	if (mask & IONIC_QPA_RNR_TIMER)
		attr->rnr_timer = cmd->rnr_timer;
	if (mask & IONIC_QPA_TIMEOUT)
		attr->timeout = cmd->timeout;
	if (mask & IONIC_QPA_RRQ_DEPTH)
		attr->rrq_depth_log2 = cmd->rrq_depth_log2;
	if (mask & IONIC_QPA_RSQ_DEPTH)
		attr->rsq_depth_log2 = cmd->rsq_depth_log2;
}

/* as created; the address handle stays with the QP */
static void start_over(struct ionic *ionic, struct ionic_qp *qp)
{
	struct ionic_qp_attr attr = {
		.flags = qp->attr.flags & FLAGS_CREATE,
		.ah = qp->attr.ah, .has_ah = qp->attr.has_ah,
	};

	deactivate(ionic, qp);
	release(ionic, qp);
	ionic_requester_reset(qp);
	ionic_responder_reset(qp);
	qp->attr = attr;
	qp->sq.posted = qp->sq.next = qp->req.head = qp->req.cursor = 0;
	qp->rq.posted = qp->rq.next = 0;
	qp->req.msn = 0;
	qp->comm_est = qp->draining = false;
	clear_windows(ionic, &qp->sq);
	clear_windows(ionic, &qp->rq);
}

static void enter(struct ionic *ionic, struct ionic_qp *qp, enum ionic_qp_state to)
{
	enum ionic_qp_state from = qp->state;

	if (to == IONIC_QPS_ERR) {
		ionic_qp_error(ionic, qp);
		qp->unasked = false;
		return;
	}
	qp->state = to;
	qp->unasked = false;
	if (from != to)
		qp->draining = to == IONIC_QPS_SQD;
	if (to == IONIC_QPS_RESET)
		start_over(ionic, qp);
	else if (to == IONIC_QPS_RTR && from != to)
		qp->rsp.psn = qp->attr.rq_psn;
	else if (to == IONIC_QPS_RTS && from == IONIC_QPS_RTR)
		ionic_requester_start(qp);
	if (to >= IONIC_QPS_RTS)
		ionic_qp_activate(ionic, qp);
}

enum ionic_aq_status ionic_aq_modify_qp(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_modify_qp *cmd = (const struct ionic_aq_modify_qp *)job->bytes;
	struct ionic_qp *qp = ionic_qp_get(ionic, le32toh(cmd->qp));
	uint32_t mask = be32toh(cmd->mask);
	enum ionic_aq_status status;
	enum ionic_qp_state to;

	if (!qp)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "QP %u does not exist",
				       le32toh(cmd->qp));
	to = mask & IONIC_QPA_STATE ? HW_GET(IONIC_QP_STATE_NEXT, cmd->type_state) : qp->state;
	status = check_modify(ionic, job, qp, to);
	if (!status && mask & IONIC_QPA_AV)
		status = set_path(ionic, job, qp);
	if (status)
		return status;
	set_attrs(qp, cmd);
	if (mask & IONIC_QPA_STATE)
		enter(ionic, qp, to);
	return IONIC_AQ_OK;
}

/* ---- query ------------------------------------------------------------------------ */

static uint16_t reported_flags(const struct ionic_qp *qp)
{
	return (qp->attr.flags & (ACCESS | IONIC_QP_SQD_NOTIFY)) |
	       (qp->draining ? IONIC_QP_SQ_DRAINING : 0);
}

static struct ionic_qp_sq_answer sq_answer(const struct ionic_qp *qp)
{
	const struct ionic_qp_attr *attr = &qp->attr;

	return (struct ionic_qp_sq_answer){
		.rnr_timer = attr->rnr_timer, .timeout = attr->timeout,
		.flags = htobe16(reported_flags(qp)),
		.qkey_dest_qpn = htobe32(ionic_qp_connected(qp) ? attr->dest_qpn : attr->qkey),
		.rate_limit = htobe32(attr->rate_limit),
		.rq_psn = htobe32(ionic_qp_receives(qp) ? qp->rsp.psn : attr->rq_psn),
	};
}

static struct ionic_qp_rq_answer rq_answer(const struct ionic_qp *qp)
{
	const struct ionic_qp_attr *attr = &qp->attr;
	bool sends = qp->state >= IONIC_QPS_RTS && qp->state <= IONIC_QPS_SQE;

	return (struct ionic_qp_rq_answer){
		.state_pmtu = HW_PREP(IONIC_QP_STATE, qp->state) |
			      HW_PREP(IONIC_QP_PMTU_LOG2, attr->pmtu_log2),
		.retry = HW_PREP(IONIC_QP_RETRY, attr->retry) |
			 HW_PREP(IONIC_QP_RNR_RETRY, attr->rnr_retry),
		.rrq_depth_log2 = attr->rrq_depth_log2, .rsq_depth_log2 = attr->rsq_depth_log2,
		.sq_psn = htobe32(sends ? qp->req.next_psn : attr->sq_psn),
		.flags = htobe16(reported_flags(qp)),
	};
}

static int write_path(struct ionic *ionic, const struct ionic_qp *qp, uint64_t addr)
{
	const struct ionic_ah *ah = qp->attr.has_ah ? ionic_ah_get(ionic, qp->attr.ah) : NULL;

	if (!addr || !ah)
		return 0;
	return ionic_write(ionic, addr, ah->header.bytes, ah->header.len, "answer to query_qp");
}

enum ionic_aq_status ionic_aq_query_qp(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_query_qp *cmd = (const struct ionic_aq_query_qp *)job->bytes;
	struct ionic_qp *qp = ionic_qp_get(ionic, le32toh(cmd->qp));
	struct ionic_qp_sq_answer sq;
	struct ionic_qp_rq_answer rq;

	if (!qp)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "QP %u does not exist",
				       le32toh(cmd->qp));
	if (cmd->pid || (qp->attr.has_ah && le32toh(cmd->ah) != qp->attr.ah))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "page %u, address handle %u",
				       le16toh(cmd->pid), le32toh(cmd->ah));
	sq = sq_answer(qp);
	rq = rq_answer(qp);
	if (write_path(ionic, qp, le64toh(cmd->hdr_addr)) ||
	    ionic_write(ionic, le64toh(cmd->sq_addr), &sq, sizeof(sq), "answer to query_qp") ||
	    ionic_write(ionic, le64toh(cmd->rq_addr), &rq, sizeof(rq), "answer to query_qp"))
		return IONIC_AQ_BAD_ATTR;
	return IONIC_AQ_OK;
}
