// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of the LIF's own queues (admin, notify, receive, transmit): Q_INIT,
 * Q_CONTROL, doorbells, completions. There is no command that ends a queue; a
 * second Q_INIT starts it anew.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "ionic.h"

#define COMP_SIZE	16
#define FLAGS_KNOWN	(IONIC_Q_IRQ | IONIC_Q_ENABLED | IONIC_Q_SG)

/* bytes per slot and what a queue of each type is called */
static const struct kind {
	const char *name;
	uint32_t desc_size, comp_size, sg_size;
	uint8_t version;		/* newest */
} kinds[] = {
	[IONIC_Q_ADMIN] = { "admin", IONIC_REQ_SIZE, COMP_SIZE, 0, 0 },
	[IONIC_Q_NOTIFY] = { "notify", IONIC_NOTIFY_DESC_SIZE, 0, 0, 0 },
	[IONIC_Q_RX] = { "receive", sizeof(struct ionic_rx_desc), COMP_SIZE, IONIC_RX_SG_SLOT, 0 },
	[IONIC_Q_TX] = { "transmit", sizeof(struct ionic_tx_desc), COMP_SIZE, IONIC_TX_SG_SLOT, 1 },
};

struct ionic_queue *ionic_queue_get(struct ionic *ionic, unsigned int type, unsigned int index)
{
	struct ionic_lif *lif = &ionic->lif;

	switch (type) {
	case IONIC_Q_ADMIN:
		return index ? NULL : &lif->adminq.q;
	case IONIC_Q_NOTIFY:
		return index >= ionic->config.notifyq ? NULL : &lif->notifyq;
	case IONIC_Q_RX:
		return index >= ionic->config.queues ? NULL : &lif->rxq[index];
	case IONIC_Q_TX:
		return index >= ionic->config.queues ? NULL : &lif->txq[index];
	default:
		return NULL;
	}
}

/* what it is stays, what it does is over */
void ionic_queue_forget(struct ionic_queue *q)
{
	*q = (struct ionic_queue){ .type = q->type, .index = q->index };
}

/* a stretch of guest memory */
struct block {
	uint64_t addr, bytes;
};

enum { RING, CQ, SG, BLOCKS };

static void blocks_of(const struct ionic_queue *q, struct block *blocks)
{
	const struct kind *kind = &kinds[q->type];
	uint64_t depth = 1ull << q->size_log2;

	blocks[RING] = (struct block){ q->ring, kind->desc_size * depth };
	blocks[CQ] = (struct block){ q->cq, kind->comp_size * depth };
	blocks[SG] = (struct block){ q->sg_ring, q->sg ? kind->sg_size * depth : 0 };
	/* one block holds its descriptors, which nobody uses, and its events */
	if (q->type == IONIC_Q_NOTIFY)
		blocks[RING].bytes = IONIC_NOTIFY_EVENTS +
				     depth * sizeof(struct ionic_notify_event);
}

static bool overlap(const struct ionic_queue *a, const struct ionic_queue *b)
{
	struct block of_a[BLOCKS], of_b[BLOCKS];

	blocks_of(a, of_a);
	blocks_of(b, of_b);
	for (unsigned int i = 0; i < BLOCKS; i++)
		for (unsigned int j = 0; j < BLOCKS; j++)
			if (of_a[i].bytes && of_b[j].bytes &&
			    of_a[i].addr < of_b[j].addr + of_b[j].bytes &&
			    of_b[j].addr < of_a[i].addr + of_a[i].bytes)
				return true;
	return false;
}

/* memory of disabled queues may have been given to others; that of enabled ones may not */
static const struct ionic_queue *neighbour(struct ionic *ionic, const struct ionic_queue *q)
{
	for (unsigned int type = IONIC_Q_ADMIN; type <= IONIC_Q_TX; type++) {
		struct ionic_queue *other;

		for (unsigned int i = 0; (other = ionic_queue_get(ionic, type, i)); i++) {
			bool same = type == q->type && i == q->index;

			if (!same && other->live && other->enabled && overlap(q, other))
				return other;
		}
	}
	return NULL;
}

static int check_memory(struct ionic *ionic, const struct ionic_job *job,
			const struct ionic_queue *q)
{
	static const char *const names[BLOCKS] = { "ring", "completion ring", "SG ring" };
	const struct ionic_queue *other = neighbour(ionic, q);
	struct block blocks[BLOCKS];

	blocks_of(q, blocks);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		const struct block *b = &blocks[i];

		if (!b->bytes && b->addr)
			return ionic_refuse(ionic, job, IONIC_EINVAL, "%s address 0x%" PRIx64
					    ", but a %s queue as asked for has none", names[i],
					    b->addr, kinds[q->type].name);
		if (b->bytes && (!b->addr || b->addr % IONIC_PAGE ||
				 !ionic_reachable(ionic, b->addr, b->bytes)))
			return ionic_refuse(ionic, job, IONIC_EADDR, "%s at 0x%" PRIx64
					    ", must be %" PRIu64 " bytes of memory that begin a "
					    "page", names[i], b->addr, b->bytes);
	}
	if (other)
		return ionic_refuse(ionic, job, IONIC_EADDR, "memory is that of %s queue %u, which "
				    "is enabled", kinds[other->type].name, other->index);
	return IONIC_SUCCESS;
}

static int check_init(struct ionic *ionic, const struct ionic_job *job)
{
	const struct ionic_q_init_req *req = (const struct ionic_q_init_req *)&job->req;
	uint16_t flags = le16toh(req->flags);

	if (job->devcmd != (req->type == IONIC_Q_ADMIN))
		return ionic_refuse(ionic, job, IONIC_EQTYPE, "the admin queue is made by a device "
				    "command and the others by the admin queue; this is type %u",
				    req->type);
	if (!ionic_queue_get(ionic, req->type, le32toh(req->index)))
		return ionic_refuse(ionic, job, IONIC_EQID, "queue %u of type %u does not exist",
				    le32toh(req->index), req->type);
	if (req->version > kinds[req->type].version)
		return ionic_refuse(ionic, job, IONIC_EVERSION, "version %u of %s queues, newest "
				    "is %u", req->version, kinds[req->type].name,
				    kinds[req->type].version);
	if (flags & ~FLAGS_KNOWN || (flags & IONIC_Q_SG && !kinds[req->type].sg_size) ||
	    req->features || req->cos)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "flags 0x%x, features 0x%" PRIx64
				    ", class %u: not offered for %s queues", flags,
				    (uint64_t)le64toh(req->features), req->cos,
				    kinds[req->type].name);
	if (req->pid)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "doorbell page %u, must be 0",
				    le16toh(req->pid));
	if (flags & IONIC_Q_IRQ && le16toh(req->intr) >= ionic->config.vectors)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "interrupt %u of %" PRIu64,
				    le16toh(req->intr), ionic->config.vectors);
	if (req->size_log2 < IONIC_Q_SIZE_MIN || req->size_log2 > IONIC_Q_SIZE_MAX)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "2^%u entries, must be 2^%u to 2^%u",
				    req->size_log2, IONIC_Q_SIZE_MIN, IONIC_Q_SIZE_MAX);
	return IONIC_SUCCESS;
}

int ionic_cmd_q_init(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_q_init_req *req = (const struct ionic_q_init_req *)&job->req;
	struct ionic_q_init_resp *resp = (struct ionic_q_init_resp *)&job->resp;
	int status = check_init(ionic, job);
	struct ionic_queue q, *live;
	uint16_t flags = le16toh(req->flags);

	if (status)
		return status;
	q = (struct ionic_queue){
		.type = req->type, .index = le32toh(req->index),
		.live = true, .enabled = flags & IONIC_Q_ENABLED, .sg = flags & IONIC_Q_SG,
		.intr = flags & IONIC_Q_IRQ ? le16toh(req->intr) : IONIC_NO_INTR,
		.size_log2 = req->size_log2, .color = true,
		.ring = le64toh(req->ring_addr), .cq = le64toh(req->cq_addr),
		.sg_ring = le64toh(req->sg_addr),
	};
	status = check_memory(ionic, job, &q);
	if (status)
		return status;
	if (q.type == IONIC_Q_ADMIN)
		ionic_adminq_forget(ionic);
	live = ionic_queue_get(ionic, q.type, q.index);
	*live = q;
	resp->hw_index = htole32(q.index);
	resp->hw_type = q.type;
	return IONIC_SUCCESS;
}

int ionic_cmd_q_control(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_q_control_req *req = (const struct ionic_q_control_req *)&job->req;
	struct ionic_queue *q = ionic_queue_get(ionic, req->type, le32toh(req->index));

	if (!q || (req->type != IONIC_Q_RX && req->type != IONIC_Q_TX))
		return ionic_refuse(ionic, job, IONIC_EQID, "queue %u of type %u cannot be "
				    "controlled", le32toh(req->index), req->type);
	if (!q->live)
		return ionic_refuse(ionic, job, IONIC_EQID, "%s queue %u before its q_init",
				    kinds[q->type].name, q->index);
	if (req->oper > IONIC_Q_ENABLE)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "operation %u is not offered",
				    req->oper);
	q->enabled = req->oper == IONIC_Q_ENABLE;
	model_kick(&ionic->dev);
	return IONIC_SUCCESS;
}

void ionic_queue_doorbell(struct ionic *ionic, unsigned int type, uint64_t value)
{
	unsigned int qid = HW_GET(IONIC_DB_QID, value), index = HW_GET(IONIC_DB_INDEX, value);
	struct ionic_queue *q = ionic_queue_get(ionic, type, qid);
	unsigned int mask;

	if (!q || !q->live || type == IONIC_Q_NOTIFY) {
		if (!ionic->excused)
			model_violation(&ionic->dev, "doorbell of %s queue %u, which %s",
					kinds[type].name, qid,
					q && q->live ? "takes none" : "was not made");
		return;
	}
	mask = ionic_queue_mask(q);
	if (value & ~(IONIC_DB_QID | IONIC_DB_INDEX) || index > mask) {
		model_violation(&ionic->dev, "doorbell 0x%016" PRIx64 " of %s queue %u: index must "
				"be 0 to %u and other bits 0", value, kinds[type].name, qid, mask);
		return;
	}
	/* what the device has not completed cannot have been posted again */
	if (((q->posted - q->head) & mask) + ((index - q->posted) & mask) > mask) {
		model_violation(&ionic->dev, "doorbell of %s queue %u: index %u after %u overruns "
				"the ring, whose oldest entry is %u", kinds[type].name, qid, index,
				q->posted, q->head);
		return;
	}
	ionic->tally.doorbells[type]++;
	q->posted = index;
	model_kick(&ionic->dev);
}

int ionic_queue_read(struct ionic *ionic, struct ionic_queue *q, void *desc, size_t size)
{
	return ionic_read(ionic, q->ring + q->head * size, desc, size, kinds[q->type].name);
}

uint16_t ionic_queue_take(struct ionic_queue *q)
{
	uint16_t index = q->head;

	q->head = (q->head + 1) & ionic_queue_mask(q);
	return index;
}

void ionic_queue_complete(struct ionic *ionic, struct ionic_queue *q, uint16_t index, void *comp)
{
	struct ionic_resp *resp = comp;
	struct inject_hit hit;

	resp->comp_index = htole16(index);
	resp->color &= ~IONIC_COMP_COLOR;
	resp->color |= q->color ? IONIC_COMP_COLOR : 0;
	ionic_write_entry(ionic, q->cq + q->comp * COMP_SIZE, comp, COMP_SIZE, "completion");
	q->comp = (q->comp + 1) & ionic_queue_mask(q);
	if (!q->comp)
		q->color = !q->color;
	/* the driver looks at the ring when the message comes */
	model_wmb(&ionic->dev);
	if (q->type == IONIC_Q_ADMIN && inject_match(&ionic->dev, "admin_irq", &hit) &&
	    hit.action == INJECT_DROP)
		return;
	ionic_intr_credit(ionic, q->intr);
}
