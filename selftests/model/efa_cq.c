// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: sub-CQ rings back to back, one doorbell for all of them.
 *
 * The doorbell tells how many entries were taken in total. With one sub-CQ that
 * says exactly what is free; with several an entry is only dropped when its ring
 * is full whatever was taken from the others. A CQ without doorbell never tells,
 * so there the oldest entry is lost instead.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"

static uint64_t db_offset(const struct efa *efa, const struct efa_cq *cq)
{
	if (efa->lie == EFA_LIE_CQ_DB)
		return 1ull << 31;
	if (efa->lie == EFA_LIE_CQ_REG)
		return EFA_REG_EQ_DB;
	return efa->db_base + efa->db_half + (uint64_t)cq->uar->num * EFA_DB_PAGE +
	       cq->num * EFA_DB_CQ_STRIDE;
}

static uint64_t ring_bytes(const struct efa *efa, const struct efa_cq *cq)
{
	return efa->config.sub_cqs * cq->depth * cq->entry_size;
}

/* what can be said without looking at other objects; a status */
static int check_shape(struct efa *efa, const struct efa_job *job)
{
	const struct efa_create_cq_cmd *cmd = (const void *)&job->cmd;
	unsigned int words = HW_GET(EFA_CREATE_CQ_WORDS, cmd->caps2);
	unsigned int depth = le16toh(cmd->sub_cq_depth);

	if (efa->config.mbz &&
	    (cmd->caps1 & EFA_CREATE_CQ_CAPS1_MBZ || cmd->caps2 & EFA_CREATE_CQ_CAPS2_MBZ))
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED, "caps 0x%x, 0x%x", cmd->caps1,
				  cmd->caps2);
	if (cmd->caps1 & EFA_CREATE_CQ_VIRT)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "rings at registered addresses are not offered");
	if (words != EFA_CQE_SIZE / 4 && words != EFA_CQE_SIZE_EX / 4)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "entry size %u words, want 4 or 8", words);
	if (cmd->caps2 & EFA_CREATE_CQ_SRC_ADDR && words != EFA_CQE_SIZE_EX / 4)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "source addresses need entries of 8 words");
	if (cmd->caps2 & EFA_CREATE_CQ_64BIT_IDS &&
	    !(efa->config.device_caps & EFA_DEV_CAP_64BIT_IDS))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "64-bit request ids without the capability");
	if (le16toh(cmd->num_sub_cqs) != efa->config.sub_cqs)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "%u sub-CQs, the adapter has %" PRIu64 " per CQ",
				  le16toh(cmd->num_sub_cqs), efa->config.sub_cqs);
	if (depth > efa->config.max_cq_depth)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "depth %u, at most %" PRIu64, depth, efa->config.max_cq_depth);
	/* the provider rounds, so this is a user's number and no driver's fault */
	return efa_power_of_two(depth) ? EFA_ADMIN_SUCCESS : EFA_ADMIN_ILLEGAL_PARAM;
}

static int check_ring(struct efa *efa, const struct efa_job *job, uint64_t base, uint64_t bytes)
{
	char owner[64];

	if (!efa_ring_reachable(efa, base, bytes))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "ring 0x%" PRIx64 ", %" PRIu64 " bytes, is not memory of the guest",
				  base, bytes);
	/* a creator can give its own memory to two CQs: a user's mistake and no driver's */
	if (efa_ring_of_cq(efa, base, bytes))
		return EFA_ADMIN_ILLEGAL_PARAM;
	if (efa_ring_taken(efa, base, bytes, owner, sizeof(owner)))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "ring 0x%" PRIx64 " overlaps the ring of %s", base, owner);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_create_cq(struct efa *efa, struct efa_job *job)
{
	const struct efa_create_cq_cmd *cmd = (const void *)&job->cmd;
	struct efa_create_cq_resp *resp = (void *)&job->resp;
	bool interrupts = cmd->caps1 & EFA_CREATE_CQ_INTERRUPT;
	struct efa_uar *uar = efa_uar_get(efa, le16toh(cmd->uar));
	struct efa_eq *eq = efa_table_get(&efa->eqs, le16toh(cmd->eqn));
	struct efa_cq *cq;
	struct efa_cq want = {
		.base = le32toh(cmd->base_lo) | (uint64_t)le32toh(cmd->base_hi) << 32,
		.depth = le16toh(cmd->sub_cq_depth),
		.entry_size = 4 * HW_GET(EFA_CREATE_CQ_WORDS, cmd->caps2),
		.uar = uar,
		.eq = interrupts ? eq : NULL,
		.src_addr = cmd->caps2 & EFA_CREATE_CQ_SRC_ADDR,
		.ids64 = cmd->caps2 & EFA_CREATE_CQ_64BIT_IDS,
		.doorbell = interrupts || efa->config.cq_doorbells,
	};
	int status = check_shape(efa, job);
	int num;

	if (status)
		return status;
	if (!uar)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no UAR %u",
					le16toh(cmd->uar));
	if (interrupts && !eq)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "EQ %u does not exist",
					le16toh(cmd->eqn));
	if (!interrupts && cmd->eqn)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "EQ %u given without interrupt mode", le16toh(cmd->eqn));
	status = check_ring(efa, job, want.base, ring_bytes(efa, &want));
	if (status)
		return status;

	cq = malloc(sizeof(*cq));
	want.produced = calloc(efa->config.sub_cqs, sizeof(*want.produced));
	if (!cq || !want.produced)
		abort();
	num = efa_table_add(&efa->cqs, cq);
	if (num < 0) {
		free(want.produced);
		free(cq);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	*cq = want;
	cq->num = num;
	uar->refs++;
	if (cq->eq)
		cq->eq->refs++;
	resp->cq_idx = htole16(num);
	resp->sub_cq_depth = cmd->sub_cq_depth;
	if (cq->doorbell) {
		resp->db_offset = htole32(db_offset(efa, cq));
		resp->flags = htole32(EFA_CREATE_CQ_DB_VALID);
	}
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_destroy_cq(struct efa *efa, struct efa_job *job)
{
	const struct efa_destroy_cq_cmd *cmd = (const void *)&job->cmd;
	unsigned int num = le16toh(cmd->cq_idx);
	struct efa_cq *cq = efa_table_get(&efa->cqs, num);

	if (!cq)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no CQ %u",
					num);
	if (cq->refs)
		return efa_refuse_stale(efa, job, EFA_ADMIN_RESOURCE_BUSY,
					"CQ %u is used by queues of %u QPs", num, cq->refs);
	efa_cq_free(efa, cq);
	return EFA_ADMIN_SUCCESS;
}

void efa_cq_free(struct efa *efa, struct efa_cq *cq)
{
	cq->uar->refs--;
	if (cq->eq)
		cq->eq->refs--;
	efa_table_del(&efa->cqs, cq->num);
	free(cq->produced);
	free(cq);
}

/* ---- doorbell ---------------------------------------------------------- */

static void send_event(struct efa *efa, struct efa_cq *cq)
{
	cq->armed = false;
	cq->event_due = false;
	cq->events++;
	efa_eq_event(efa, cq->eq, cq->num);
}

static void arm(struct efa *efa, struct efa_cq *cq, uint32_t value)
{
	if (!cq->eq) {
		model_violation(&efa->dev, "CQ %u: armed, but it was created without interrupts",
				cq->num);
		return;
	}
	efa->tally.arms_cq++;
	cq->arms++;
	if (HW_GET(EFA_CQ_DB_CMD_SN, value) != (cq->events & 3))
		efa->tally.sn_mismatches++;
	cq->armed = true;
	if (cq->total == cq->consumed)
		return;
	/* entries the consumer has not seen: the event comes at once, from efa_cq_work() */
	cq->event_due = true;
	efa->cq_events_due = true;
	model_kick(&efa->dev);
}

void efa_cq_doorbell(struct efa *efa, unsigned int uar, unsigned int num, uint32_t value)
{
	struct efa_cq *cq = efa_table_get(&efa->cqs, num);
	uint16_t ahead;

	if (!cq || cq->uar->num != uar || !cq->doorbell) {
		model_violation(&efa->dev, "store of 0x%x to the doorbell of CQ %u on the page of "
				"UAR %u: no such doorbell was given out", value, num, uar);
		return;
	}
	efa->tally.doorbells_cq++;
	if (value & ~(EFA_CQ_DB_CONS_INDEX | EFA_CQ_DB_CMD_SN | EFA_CQ_DB_ARM)) {
		model_violation(&efa->dev, "CQ %u: doorbell 0x%x has reserved bits set", num,
				value);
		return;
	}
	ahead = value - cq->consumed;
	if (cq->consumed + ahead > cq->total) {
		model_violation(&efa->dev, "CQ %u: doorbell says %u entries were taken, %" PRIu64
				" were written (modulo 65536: %u)", num,
				HW_GET(EFA_CQ_DB_CONS_INDEX, value), cq->total,
				(uint16_t)cq->total);
		return;
	}
	cq->consumed += ahead;
	if (value & EFA_CQ_DB_ARM)
		arm(efa, cq, value);
}

void efa_cq_work(struct efa *efa)
{
	struct efa_cq *cq;
	unsigned int from = 0;

	if (!efa->cq_events_due)
		return;
	efa->cq_events_due = false;
	while ((cq = efa_table_next(&efa->cqs, &from)))
		if (cq->event_due && cq->armed)
			send_event(efa, cq);
}

/* ---- entries ----------------------------------------------------------- */

static bool full(const struct efa *efa, const struct efa_cq *cq, unsigned int sub)
{
	uint64_t produced = cq->produced[sub];
	/* at most this many of them were taken */
	uint64_t taken = cq->consumed < produced ? cq->consumed : produced;

	return cq->doorbell && !efa->config.cq_overwrite && produced - taken >= cq->depth;
}

static void write_entry(struct efa *efa, struct efa_cq *cq, unsigned int sub,
			struct efa_cqe_rx_ex *cqe)
{
	uint64_t count = cq->produced[sub];
	uint64_t to = cq->base +
		      (sub * (uint64_t)cq->depth + count % cq->depth) * cq->entry_size;
	struct efa_cqe_common *common = &cqe->rx.common;
	const size_t head = offsetof(struct efa_cqe_common, qp_num);

	if (full(efa, cq, sub)) {
		cq->overruns++;
		efa->tally.cq_overruns++;
		return;
	}
	common->flags &= ~EFA_CQE_PHASE;
	if (!(count / cq->depth & 1))
		common->flags |= EFA_CQE_PHASE;

	/* the byte with the phase comes last: pairs with the consumer's read barrier */
	if (model_dma_write(&efa->dev, to + head, (char *)cqe + head, cq->entry_size - head))
		goto fault;
	model_wmb(&efa->dev);
	if (model_dma_write(&efa->dev, to, cqe, head))
		goto fault;

	cq->produced[sub]++;
	cq->total++;
	efa->tally.completions++;
	if (common->status)
		efa->tally.completions_error++;
	if (cq->armed)
		send_event(efa, cq);
	return;
fault:
	model_violation(&efa->dev, "CQ %u: entry at 0x%" PRIx64 " is not memory of the guest",
			cq->num, to);
}

void efa_cq_push(struct efa *efa, struct efa_cq *cq, unsigned int sub, struct efa_cqe_rx_ex *cqe)
{
	struct efa_cqe_common *common = &cqe->rx.common;
	bool recv = HW_GET(EFA_CQE_QTYPE, common->flags) == EFA_CQE_QTYPE_RECV;
	struct inject_hit hit;

	/* payload first: pairs with the consumer's read barrier behind its phase test */
	model_wmb(&efa->dev);
	if (inject_match(&efa->dev, recv ? "recv_completion" : "send_completion", &hit)) {
		if (hit.action == INJECT_DROP)
			return;
		if (hit.action == INJECT_FAIL)
			common->status = hit.status;
		if (hit.action == INJECT_CORRUPT)
			common->req_id ^= htole16(0xffff);
		if (hit.action == INJECT_DUP)
			write_entry(efa, cq, sub, cqe);
	}
	write_entry(efa, cq, sub, cqe);
}
