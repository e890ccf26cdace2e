// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues: rings that the host empties without telling how far it is. Each
 * event is announced by a message of its own kind: see struct ionic_intr.pending.
 */
#include <endian.h>

#include "ionic_rdma.h"

static void write_event(struct ionic *ionic, struct ionic_eq *eq, unsigned int type,
			unsigned int code, unsigned int qid)
{
	uint32_t slot = eq->prod & ((1u << eq->depth_log2) - 1);
	bool color = !(eq->prod >> eq->depth_log2 & 1);
	struct ionic_eqe eqe = {
		htobe32(HW_PREP(IONIC_EQE_QID, qid) | HW_PREP(IONIC_EQE_CODE, code) |
			HW_PREP(IONIC_EQE_TYPE, type) | (color ? IONIC_EQE_COLOR : 0)),
	};

	/* what the event is about is there before it; pairs with the driver's dma_rmb() */
	model_wmb(&ionic->dev);
	ionic_write(ionic, eq->ring + slot * sizeof(eqe), &eqe, sizeof(eqe), "event");
	model_wmb(&ionic->dev);
	eq->prod++;
	ionic->rdma->tally.eq_events++;
}

void ionic_eq_event(struct ionic *ionic, struct ionic_eq *eq, unsigned int type, unsigned int code,
		    unsigned int qid)
{
	struct inject_hit hit;
	bool injected;

	if (!eq->live)
		return;
	injected = inject_match(&ionic->dev, "eq_entry", &hit);
	if (injected && hit.action == INJECT_DROP)
		return;
	if (injected && hit.action == INJECT_CORRUPT)
		qid = ~qid;	/* of a queue that does not exist */
	write_event(ionic, eq, type, code, qid);
	if (injected && hit.action == INJECT_DUP)
		write_event(ionic, eq, type, code, qid);
	if (!inject_match(&ionic->dev, "eq_irq", &hit) || hit.action != INJECT_DROP)
		ionic_intr_event(ionic, eq->intr);
}

/* choice: QPs of a pipeline tell their events to the queue of its number */
void ionic_qp_event(struct ionic *ionic, const struct ionic_qp *qp, unsigned int code)
{
	unsigned int eq = ionic_pipeline(ionic, qp->id);

	if (eq < ionic->config.eqs)
		ionic_eq_event(ionic, &ionic->rdma->eqs[eq], IONIC_EQE_QP, code, qp->id);
}
