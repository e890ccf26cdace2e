// SPDX-License-Identifier: GPL-2.0
/* Queue pairs: creation, the state machine, destruction. */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

#include "efa_net.h"

/* handles look like neither indices nor QP numbers, so that a mix-up shows */
#define HANDLE_MARK		0x40000000
#define HANDLE_INDEX		0x000003ff
#define HANDLE_GENERATION	0x000ffc00

#define FLUSHES_PER_SLICE	256

struct efa_qp *efa_qp_by_handle(struct efa *efa, uint32_t handle)
{
	struct efa_qp *qp = efa_table_get(&efa->qps, handle & HANDLE_INDEX);

	return qp && qp->handle == handle ? qp : NULL;
}

struct efa_qp *efa_qp_by_num(struct efa *efa, unsigned int num)
{
	return num <= UINT16_MAX ? efa->qp_by_num[num] : NULL;
}

const char *efa_qp_state_name(enum efa_admin_qp_state state)
{
	static const char *const names[] = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"
	};

	return names[state];
}

/* ---- CREATE_QP --------------------------------------------------------- */

static int check_flags(struct efa *efa, const struct efa_job *job)
{
	const struct efa_create_qp_cmd *cmd = (const void *)&job->cmd;
	uint64_t caps = efa->config.device_caps;

	if (efa->config.mbz && cmd->flags & EFA_CREATE_QP_FLAGS_MBZ)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED, "flags 0x%x", cmd->flags);
	if (cmd->flags & (EFA_CREATE_QP_SQ_VIRT | EFA_CREATE_QP_RQ_VIRT) || cmd->sq_base ||
	    cmd->sq_lkey || cmd->rq_lkey)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "only a send ring in BAR 2 and a receive ring at a DMA address "
				  "are offered");
	if (cmd->flags & EFA_CREATE_QP_UNSOLICITED && !(caps & EFA_DEV_CAP_UNSOLICITED))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "unsolicited receive without the capability");
	if (cmd->flags & EFA_CREATE_QP_64BIT_IDS && !(caps & EFA_DEV_CAP_64BIT_IDS))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "64-bit request ids without the capability");
	if (cmd->qp_type != EFA_ADMIN_QP_UD && cmd->qp_type != EFA_ADMIN_QP_SRD)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "type %u", cmd->qp_type);
	return EFA_ADMIN_SUCCESS;
}

/* a status; the shape of the ring comes from a user, so being odd is no driver's fault */
static int check_sq(struct efa *efa, const struct efa_job *job, struct efa_sq *sq)
{
	const struct efa_create_qp_cmd *cmd = (const void *)&job->cmd;
	const struct efa_config *config = &efa->config;
	uint32_t bytes = le32toh(cmd->sq_ring_size), depth = le32toh(cmd->sq_depth);

	if (!bytes && !depth)
		return EFA_ADMIN_SUCCESS;
	if (depth > config->max_sq_depth || bytes > config->max_llq_size)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "send ring of %u WQEs in %u bytes, at most %" PRIu64 " in %" PRIu64,
				  depth, bytes, config->max_sq_depth, config->max_llq_size);
	if (!efa_power_of_two(depth) || bytes % depth || depth < config->min_sq_depth)
		return EFA_ADMIN_ILLEGAL_PARAM;
	sq->depth = depth;
	sq->wqe_size = bytes / depth;
	if (sq->wqe_size == EFA_WQE_SIZE)
		return EFA_ADMIN_SUCCESS;
	/* nothing announces 128-byte WQEs but the inline size */
	if (sq->wqe_size == EFA_WQE_SIZE_WIDE && config->inline_size_ex > EFA_WQE_INLINE)
		return EFA_ADMIN_SUCCESS;
	return EFA_ADMIN_ILLEGAL_PARAM;
}

static int check_rq(struct efa *efa, const struct efa_job *job, struct efa_rq *rq)
{
	const struct efa_create_qp_cmd *cmd = (const void *)&job->cmd;
	uint32_t bytes = le32toh(cmd->rq_ring_size);
	char owner[64];

	rq->descs = bytes / EFA_RX_DESC_SIZE;
	rq->wrs = le32toh(cmd->rq_depth);
	rq->base = le64toh(cmd->rq_base);
	if (!bytes)
		return rq->base ? efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					     "a receive ring of 0 bytes at 0x%" PRIx64, rq->base) :
				  EFA_ADMIN_SUCCESS;
	if (rq->wrs > efa->config.max_rq_depth)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "%u receive WRs, at most %" PRIu64 " descriptors", rq->wrs,
				  efa->config.max_rq_depth);
	if (!efa_power_of_two(bytes) || bytes < EFA_RX_DESC_SIZE || rq->wrs > rq->descs ||
	    rq->descs > efa->config.max_rq_depth)
		return EFA_ADMIN_ILLEGAL_PARAM;
	if (!efa_ring_reachable(efa, rq->base, bytes))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "receive ring 0x%" PRIx64 ", %u bytes, is not memory of the guest",
				  rq->base, bytes);
	if (efa_ring_taken(efa, rq->base, bytes, owner, sizeof(owner)))
		return efa_refuse_taken(efa, job, rq->base, owner);
	return EFA_ADMIN_SUCCESS;
}

static int find_objects(struct efa *efa, const struct efa_job *job, struct efa_qp *want)
{
	const struct efa_create_qp_cmd *cmd = (const void *)&job->cmd;

	want->pd = efa_pd_get(efa, le16toh(cmd->pd));
	want->uar = efa_uar_get(efa, le16toh(cmd->uar));
	want->send_cq = efa_table_get(&efa->cqs, le32toh(cmd->send_cq));
	want->recv_cq = efa_table_get(&efa->cqs, le32toh(cmd->recv_cq));
	if (want->pd && want->uar && want->send_cq && want->recv_cq)
		return EFA_ADMIN_SUCCESS;
	return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				"PD %u, UAR %u, send CQ %u and receive CQ %u: one does not exist",
				le16toh(cmd->pd), le16toh(cmd->uar), le32toh(cmd->send_cq),
				le32toh(cmd->recv_cq));
}

/* ceil(log2(max_qp)): so many low bits of the numbers are unique among live QPs */
static unsigned int unique_bits(const struct efa *efa)
{
	unsigned int bits = 0;

	while (1u << bits < efa->config.max_qp)
		bits++;
	return bits;
}

/* index, number and places follow from each other */
static int settle(struct efa *efa, struct efa_qp *qp)
{
	int index = efa_table_add(&efa->qps, qp);
	uint64_t db;

	if (index < 0)
		return EFA_ADMIN_RESOURCE_ALLOC;
	efa->qp_generation++;
	qp->index = index;
	qp->handle = HANDLE_MARK | index |
		     HW_PREP(HANDLE_GENERATION, efa->qp_generation);
	qp->num = efa->config.qpn_base + index;
	if (!efa->config.qpn_reuse)
		qp->num += efa->qp_lives[index]++ << unique_bits(efa);
	efa->qp_by_num[qp->num] = qp;

	db = efa->db_base + (uint64_t)qp->uar->num * EFA_DB_PAGE + index * EFA_DB_QP_STRIDE;
	qp->sq.db = db;
	qp->rq.db = db + 4;
	qp->sq.llq = index * efa->llq_slot;
	qp->send_sub = qp->recv_sub = index % efa->config.sub_cqs;
	return EFA_ADMIN_SUCCESS;
}

/* an offset outside every BAR, if a test wants the driver to be told one */
static uint32_t told(const struct efa *efa, enum efa_lie which, uint64_t offset)
{
	return efa->lie == which ? 1u << 31 : offset;
}

static void fill_create_resp(const struct efa *efa, const struct efa_qp *qp,
			     struct efa_create_qp_resp *resp)
{
	resp->qp_handle = htole32(qp->handle);
	resp->qp_num = htole16(qp->num);
	resp->send_sub_cq = htole16(qp->send_sub);
	resp->recv_sub_cq = htole16(qp->recv_sub);
	resp->sq_db_offset = htole32(told(efa, EFA_LIE_SQ_DB, qp->sq.db));
	resp->rq_db_offset = htole32(told(efa, EFA_LIE_RQ_DB, qp->rq.db));
	resp->llq_offset = htole32(told(efa, EFA_LIE_LLQ, qp->sq.llq));
}

int efa_cmd_create_qp(struct efa *efa, struct efa_job *job)
{
	const struct efa_create_qp_cmd *cmd = (const void *)&job->cmd;
	struct efa_qp want = {
		.type = cmd->qp_type, .flags = cmd->flags, .sl = cmd->sl,
		.state = EFA_ADMIN_QPS_RESET,
	};
	int status = check_flags(efa, job);
	struct efa_qp *qp;

	if (!status)
		status = find_objects(efa, job, &want);
	if (!status)
		status = check_sq(efa, job, &want.sq);
	if (!status)
		status = check_rq(efa, job, &want.rq);
	if (status)
		return status;
	/* choice: ids wider than the completions could tell are refused */
	if (want.flags & EFA_CREATE_QP_64BIT_IDS && !want.send_cq->ids64)
		return EFA_ADMIN_ILLEGAL_PARAM;

	qp = malloc(sizeof(*qp));
	if (!qp)
		return EFA_ADMIN_RESOURCE_ALLOC;
	*qp = want;
	status = settle(efa, qp);
	if (status) {
		free(qp);
		return status;
	}
	if (efa->config.device_caps & EFA_DEV_CAP_RNR_RETRY && qp->type == EFA_ADMIN_QP_SRD)
		qp->rnr_retry = efa->config.rnr_default;
	TAILQ_INIT(&qp->transfers);
	efa_sq_init(qp);
	efa_rq_init(qp);
	efa_sq_reset(efa, qp);
	efa_rq_reset(efa, qp);
	qp->pd->refs++;
	qp->uar->refs++;
	qp->send_cq->refs++;
	qp->recv_cq->refs++;
	efa->dev.polled = efa->config.polled;
	fill_create_resp(efa, qp, (void *)&job->resp);
	return EFA_ADMIN_SUCCESS;
}

/* ---- MODIFY_QP --------------------------------------------------------- */

#define BIT(state)	(1u << EFA_ADMIN_QPS_##state)

static const uint8_t next_states[] = {
	[EFA_ADMIN_QPS_RESET] = BIT(RESET) | BIT(INIT),
	[EFA_ADMIN_QPS_INIT] = BIT(INIT) | BIT(RTR) | BIT(RESET) | BIT(ERR),
	[EFA_ADMIN_QPS_RTR] = BIT(RTS) | BIT(RESET) | BIT(ERR),
	[EFA_ADMIN_QPS_RTS] = BIT(RTS) | BIT(SQD) | BIT(RESET) | BIT(ERR),
	[EFA_ADMIN_QPS_SQD] = BIT(SQD) | BIT(RTS) | BIT(RESET) | BIT(ERR),
	[EFA_ADMIN_QPS_SQE] = BIT(RTS) | BIT(RESET) | BIT(ERR),
	[EFA_ADMIN_QPS_ERR] = BIT(RESET) | BIT(ERR),
};

/* EFA_MODIFY_QP_* that must come with a transition */
static uint32_t required(unsigned int from, unsigned int to)
{
	if (from == EFA_ADMIN_QPS_RESET && to == EFA_ADMIN_QPS_INIT)
		return EFA_MODIFY_QP_QKEY;
	if (from == EFA_ADMIN_QPS_RTR && to == EFA_ADMIN_QPS_RTS)
		return EFA_MODIFY_QP_SQ_PSN;
	return 0;
}

/* ... and those that may */
static uint32_t optional(unsigned int from, unsigned int to)
{
	if (to == EFA_ADMIN_QPS_RESET || to == EFA_ADMIN_QPS_ERR)
		return 0;
	if (from == EFA_ADMIN_QPS_RTS && to == EFA_ADMIN_QPS_SQD)
		return EFA_MODIFY_QP_SQD_NOTIFY;
	if (from == EFA_ADMIN_QPS_RTR)
		return EFA_MODIFY_QP_QKEY | EFA_MODIFY_QP_RNR_RETRY;
	return EFA_MODIFY_QP_QKEY;
}

static int check_attributes(struct efa *efa, const struct efa_job *job, const struct efa_qp *qp,
			    unsigned int to)
{
	const struct efa_modify_qp_cmd *cmd = (const void *)&job->cmd;
	uint32_t mask = le32toh(cmd->modify_mask) &
			~(EFA_MODIFY_QP_STATE | EFA_MODIFY_QP_CUR_STATE);
	uint32_t must = required(qp->state, to), may = must | optional(qp->state, to);

	if (mask & ~may || must & ~mask)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"QP %u from %s to %s: attributes 0x%x, want 0x%x and at "
					"most 0x%x", qp->num, efa_qp_state_name(qp->state),
					efa_qp_state_name(to), mask, must, may);
	if (!(mask & EFA_MODIFY_QP_RNR_RETRY))
		return EFA_ADMIN_SUCCESS;
	if (qp->type != EFA_ADMIN_QP_SRD || cmd->rnr_retry > 7 ||
	    !(efa->config.device_caps & EFA_DEV_CAP_RNR_RETRY))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "rnr_retry %u: wants an SRD QP, the capability, and at most 7",
				  cmd->rnr_retry);
	return EFA_ADMIN_SUCCESS;
}

static int check_modify(struct efa *efa, const struct efa_job *job, const struct efa_qp *qp,
			unsigned int *to)
{
	const struct efa_modify_qp_cmd *cmd = (const void *)&job->cmd;
	uint32_t mask = le32toh(cmd->modify_mask);

	*to = mask & EFA_MODIFY_QP_STATE ? le32toh(cmd->qp_state) : qp->state;
	if (mask & ~EFA_MODIFY_QP_MASK)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED, "modify_mask 0x%x", mask);
	/* a user may claim another current state than the real one */
	if (mask & EFA_MODIFY_QP_CUR_STATE && le32toh(cmd->cur_qp_state) != qp->state)
		return EFA_ADMIN_ILLEGAL_PARAM;
	if (*to > EFA_ADMIN_QPS_ERR)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "QP %u from %s to state %u",
				  qp->num, efa_qp_state_name(qp->state), *to);
	if (mask & EFA_MODIFY_QP_STATE && !(next_states[qp->state] >> *to & 1))
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"QP %u from %s to state %u", qp->num,
					efa_qp_state_name(qp->state), *to);
	return check_attributes(efa, job, qp, *to);
}

static void enter_state(struct efa *efa, struct efa_qp *qp, enum efa_admin_qp_state to)
{
	qp->state = to;
	if (to == EFA_ADMIN_QPS_RESET) {
		efa_transfer_cancel_all(efa, qp);
		efa_sq_deactivate(efa, qp);
		efa_sq_reset(efa, qp);
		efa_rq_reset(efa, qp);
	} else {
		/* what waited may be started now, or must be flushed */
		efa_sq_activate(efa, qp);
	}
}

int efa_cmd_modify_qp(struct efa *efa, struct efa_job *job)
{
	const struct efa_modify_qp_cmd *cmd = (const void *)&job->cmd;
	struct efa_qp *qp = efa_qp_by_handle(efa, le32toh(cmd->qp_handle));
	uint32_t mask = le32toh(cmd->modify_mask);
	unsigned int to;
	int status;

	if (!qp)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no QP handle 0x%x", le32toh(cmd->qp_handle));
	status = check_modify(efa, job, qp, &to);
	if (status)
		return status;
	if (mask & EFA_MODIFY_QP_QKEY)
		qp->qkey = le32toh(cmd->qkey);
	if (mask & EFA_MODIFY_QP_SQ_PSN)
		qp->sq_psn = le32toh(cmd->sq_psn);
	if (mask & EFA_MODIFY_QP_RNR_RETRY)
		qp->rnr_retry = cmd->rnr_retry;
	if (mask & EFA_MODIFY_QP_STATE)
		enter_state(efa, qp, to);
	return EFA_ADMIN_SUCCESS;
}

/* ---- QUERY_QP, DESTROY_QP ---------------------------------------------- */

int efa_cmd_query_qp(struct efa *efa, struct efa_job *job)
{
	const struct efa_query_qp_cmd *cmd = (const void *)&job->cmd;
	struct efa_query_qp_resp *resp = (void *)&job->resp;
	struct efa_qp *qp = efa_qp_by_handle(efa, le32toh(cmd->qp_handle));

	if (!qp)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no QP handle 0x%x", le32toh(cmd->qp_handle));
	resp->qp_state = htole32(qp->state);
	resp->qkey = htole32(qp->qkey);
	resp->sq_psn = htole32(qp->sq_psn);
	resp->sq_draining = qp->state == EFA_ADMIN_QPS_SQD && !TAILQ_EMPTY(&qp->transfers);
	resp->rnr_retry = qp->rnr_retry;
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_destroy_qp(struct efa *efa, struct efa_job *job)
{
	const struct efa_destroy_qp_cmd *cmd = (const void *)&job->cmd;
	struct efa_qp *qp = efa_qp_by_handle(efa, le32toh(cmd->qp_handle));

	if (!qp)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no QP handle 0x%x", le32toh(cmd->qp_handle));
	/* no completion after the answer: the driver frees the rings then */
	if (efa->config.flush_on_destroy &&
	    efa_sq_flush(efa, qp, FLUSHES_PER_SLICE) + efa_rq_flush(efa, qp, FLUSHES_PER_SLICE))
		return EFA_JOB_MORE;
	efa_qp_free(efa, qp);
	return EFA_ADMIN_SUCCESS;
}

void efa_qp_free(struct efa *efa, struct efa_qp *qp)
{
	efa_transfer_cancel_all(efa, qp);
	efa_sq_deactivate(efa, qp);
	efa_counter_detach_all(efa, qp);
	qp->pd->refs--;
	qp->uar->refs--;
	qp->send_cq->refs--;
	qp->recv_cq->refs--;
	efa->qp_by_num[qp->num] = NULL;
	efa_table_del(&efa->qps, qp->index);
	efa->dev.polled = efa->config.polled && efa->qps.used;
	free(qp->sq.copy);
	free(qp->sq.stored);
	free(qp->rq.copy);
	free(qp);
}
