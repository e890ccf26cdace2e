// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. The host tells its position now and then, so between two
 * such doorbells at most a ring of entries may be written. An entry that finds
 * no room is lost, and its CQ with it.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ionic_rdma.h"

struct ionic_cq *ionic_cq_get(struct ionic *ionic, unsigned int id)
{
	return id < ionic->config.cqs ? ionic->rdma->cqs[id] : NULL;
}

struct ionic_cq *ionic_cq_new(struct ionic *ionic, unsigned int id, struct ionic_eq *eq,
			      unsigned int depth_log2, uint16_t pid)
{
	struct ionic_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	*cq = (struct ionic_cq){
		.id = id, .pid = pid, .eq = eq, .depth_log2 = depth_log2, .color = true,
	};
	ionic->rdma->cqs[id] = cq;
	return cq;
}

void ionic_cq_free(struct ionic *ionic, struct ionic_cq *cq)
{
	if (cq->rung)
		TAILQ_REMOVE(&ionic->rdma->rung, cq, link);
	ionic->rdma->cqs[cq->id] = NULL;
	ionic_mem_free(&cq->mem);
	free(cq);
}

static unsigned int mask(const struct ionic_cq *cq)
{
	return (1u << cq->depth_log2) - 1;
}

unsigned int ionic_cq_room(const struct ionic_cq *cq)
{
	return mask(cq) - ((cq->prod - cq->cons) & mask(cq));
}

static void notify(struct ionic *ionic, struct ionic_cq *cq)
{
	ionic_eq_event(ionic, cq->eq, IONIC_EQE_CQ, IONIC_EQE_CQ_NOTIFY, cq->id);
}

/*
 * An arm is answered at once if the host has not seen all entries, so that none can
 * be missed between its last look and the arm.
 */
static void answer_arms(struct ionic *ionic, struct ionic_cq *cq)
{
	if (cq->holds)
		return;
	if (cq->arm_prod != cq->arm_cons && cq->prod != cq->cons) {
		cq->arm_cons = cq->arm_prod;
		notify(ionic, cq);
	}
	if (cq->sol_prod != cq->sol_cons && cq->sol_unseen) {
		cq->sol_cons = cq->sol_prod;
		cq->sol_unseen = false;
		notify(ionic, cq);
	}
}

static void overrun(struct ionic *ionic, struct ionic_cq *cq)
{
	ionic->rdma->tally.cq_overruns++;
	if (cq->overrun)
		return;
	cq->overrun = true;
	ionic_eq_event(ionic, cq->eq, IONIC_EQE_CQ, IONIC_EQE_CQ_ERROR, cq->id);
}

/* the end of an entry has its color, which says that all of it is there; pairs with the host's dma_rmb() */
static void show(struct ionic *ionic, struct ionic_cq *cq, uint64_t off, const uint8_t *end)
{
	if (cq->holds && !cq->withheld) {
		cq->withheld = true;
		cq->withheld_off = off;
		memcpy(cq->withheld_end, end, sizeof(cq->withheld_end));
		return;
	}
	model_wmb(&ionic->dev);
	ionic_mem_write(ionic, &cq->mem, off, end, sizeof(cq->withheld_end), "CQE");
}

void ionic_cq_hold(struct ionic_cq *cq)
{
	cq->holds++;
}

void ionic_cq_release(struct ionic *ionic, struct ionic_cq *cq)
{
	if (--cq->holds)
		return;
	if (cq->withheld) {
		cq->withheld = false;
		show(ionic, cq, cq->withheld_off, cq->withheld_end);
	}
	answer_arms(ionic, cq);
}

void ionic_cq_push(struct ionic *ionic, struct ionic_cq *cq, void *cqe, uint32_t word,
		   bool solicited)
{
	struct ionic_cqe *entry = cqe;
	uint64_t off = (uint64_t)cq->prod << IONIC_CQ_STRIDE_LOG2;
	const size_t head = IONIC_CQE_SIZE - sizeof(uint64_t);

	if (!ionic_cq_room(cq) || cq->overrun) {
		overrun(ionic, cq);
		return;
	}
	entry->qid_type_flags = htobe32(word | (cq->color ? IONIC_CQE_COLOR : 0));
	ionic_mem_write(ionic, &cq->mem, off, cqe, head, "CQE");
	show(ionic, cq, off + head, (const uint8_t *)cqe + head);
	cq->prod = (cq->prod + 1) & mask(cq);
	if (!cq->prod)
		cq->color = !cq->color;
	if (HW_GET(IONIC_CQE_TYPE, word) != IONIC_CQE_ADMIN) {
		ionic->rdma->tally.completions++;
		ionic->rdma->tally.completions_error += !!(word & IONIC_CQE_ERROR);
	}
	cq->sol_unseen |= solicited || word & IONIC_CQE_ERROR;
	answer_arms(ionic, cq);
}

void ionic_cq_complete(struct ionic *ionic, struct ionic_cq *cq, void *cqe, uint32_t word,
		       bool solicited, const char *point)
{
	struct ionic_cqe *entry = cqe;
	struct inject_hit hit;

	if (!inject_match(&ionic->dev, point, &hit)) {
		ionic_cq_push(ionic, cq, cqe, word, solicited);
		return;
	}
	if (hit.action == INJECT_DROP)
		return;
	if (hit.action == INJECT_FAIL) {
		entry->status_length = htobe32(hit.status);
		word |= IONIC_CQE_ERROR;
	}
	if (hit.action == INJECT_CORRUPT)
		word ^= IONIC_CQE_QID;	/* of a QP that does not exist */
	ionic_cq_push(ionic, cq, cqe, word, solicited);
	if (hit.action == INJECT_DUP)
		ionic_cq_push(ionic, cq, cqe, word, solicited);
}

static void count_arm(struct ionic *ionic, const struct ionic_cq *cq)
{
	if (cq->of_aq)
		ionic->rdma->tally.aq_arms++;
	else
		ionic->rdma->tally.cq_arms++;
}

void ionic_cq_doorbell(struct ionic *ionic, struct ionic_cq *cq, uint16_t pid, uint64_t value)
{
	unsigned int index = HW_GET(IONIC_DB_INDEX, value), ring = HW_GET(IONIC_DB_RING, value);

	if (pid != cq->pid || value & ~(IONIC_DB_QID | IONIC_DB_INDEX | IONIC_DB_RING) ||
	    index > mask(cq) || ring > IONIC_DB_RING_CQ_ARM_SOL) {
		model_violation(&ionic->dev, "doorbell 0x%016" PRIx64 " of CQ %u in page %u: must "
				"be in page %u, ring 0 to 2, index 0 to %u and other bits 0",
				value, cq->id, pid, cq->pid, mask(cq));
		return;
	}
	switch (ring) {
	case IONIC_DB_RING_PROD:
		ionic->rdma->tally.doorbells_cq++;
		/* the host cannot have read what was not written */
		if (((index - cq->cons) & mask(cq)) > ((cq->prod - cq->cons) & mask(cq))) {
			model_violation(&ionic->dev, "doorbell of CQ %u: position %u is not "
					"between %u and the last entry, %u", cq->id, index,
					cq->cons, cq->prod);
			return;
		}
		cq->cons = index;
		if (cq->cons == cq->prod)
			cq->sol_unseen = false;
		break;
	case IONIC_DB_RING_CQ_ARM:
		count_arm(ionic, cq);
		cq->arm_prod = index;
		break;
	default:
		count_arm(ionic, cq);
		cq->sol_prod = index;
	}
	if (!cq->rung)
		TAILQ_INSERT_TAIL(&ionic->rdma->rung, cq, link);
	cq->rung = true;
	model_kick(&ionic->dev);
}

void ionic_cq_work(struct ionic *ionic)
{
	struct ionic_cq *cq;

	while ((cq = TAILQ_FIRST(&ionic->rdma->rung))) {
		TAILQ_REMOVE(&ionic->rdma->rung, cq, link);
		cq->rung = false;
		answer_arms(ionic, cq);
	}
}

/* ---- commands --------------------------------------------------------------------- */

enum ionic_aq_status ionic_aq_create_cq(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_cq *cmd = (const struct ionic_aq_create_cq *)job->bytes;
	unsigned int id = le32toh(cmd->cq), eq = le32toh(cmd->eq);
	const char *why;
	struct ionic_cq *cq;

	if (id >= ionic->config.cqs || ionic_cq_get(ionic, id))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "CQ %u exists, or is not "
				       "one of %" PRIu64, id, ionic->config.cqs);
	if (eq >= ionic->config.eqs || !ionic->rdma->eqs[eq].live)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "EQ %u does not exist", eq);
	if (cmd->stride_log2 != IONIC_CQ_STRIDE_LOG2 || !cmd->depth_log2 ||
	    cmd->depth_log2 > IONIC_DEPTH_LOG2_MAX || cmd->dir_log2 || cmd->flags ||
	    le32toh(cmd->table) != IONIC_AQ_NO_TABLE)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "2^%u entries of 2^%u bytes, "
				       "flags 0x%x, table 0x%x", cmd->depth_log2, cmd->stride_log2,
				       le32toh(cmd->flags), le32toh(cmd->table));
	if (le16toh(cmd->pid) >= ionic->config.dbpages)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "doorbell page %u of %"
				       PRIu64, le16toh(cmd->pid), ionic->config.dbpages);
	cq = ionic_cq_new(ionic, id, &ionic->rdma->eqs[eq], cmd->depth_log2, le16toh(cmd->pid));
	if (!cq)
		return IONIC_AQ_BAD_ATTR;
	if (ionic_mem_set(ionic, &cq->mem, le32toh(cmd->pages), le64toh(cmd->addr), cmd->page_log2,
			  0, 1ull << (cmd->depth_log2 + IONIC_CQ_STRIDE_LOG2), &why)) {
		ionic_cq_free(ionic, cq);
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "pages of the ring %s", why);
	}
	return IONIC_AQ_OK;
}

enum ionic_aq_status ionic_aq_destroy_cq(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_destroy *cmd = (const struct ionic_aq_destroy *)job->bytes;
	struct ionic_cq *cq = ionic_cq_get(ionic, le32toh(cmd->id));

	if (!cq)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "CQ %u does not exist",
				       le32toh(cmd->id));
	if (cq->refs)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_STATE, "CQ %u is used by %u queues",
				       cq->id, cq->refs);
	ionic_cq_free(ionic, cq);
	return IONIC_AQ_OK;
}
