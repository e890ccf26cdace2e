// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA admin queues. Commands of one queue are answered strictly in order, each
 * by one CQE that names its first slot. A command waits while its CQ has no
 * room: the queue is deeper than the CQ.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "ionic_rdma.h"

#define COMMANDS_PER_SLICE	4u

static unsigned int mask(const struct ionic_aq *aq)
{
	return (1u << aq->depth_log2) - 1;
}

void ionic_aq_doorbell(struct ionic *ionic, struct ionic_aq *aq, uint16_t pid, uint64_t value)
{
	unsigned int index = HW_GET(IONIC_DB_INDEX, value);

	if (pid || value & ~(IONIC_DB_QID | IONIC_DB_INDEX) || index > mask(aq) ||
	    ((aq->posted - aq->head) & mask(aq)) + ((index - aq->posted) & mask(aq)) > mask(aq)) {
		model_violation(&ionic->dev, "doorbell 0x%016" PRIx64 " of RDMA admin queue %u in "
				"page %u: oldest slot %u, last index %u", value, aq->id, pid,
				aq->head, aq->posted);
		return;
	}
	aq->posted = index;
	model_kick(&ionic->dev);
}

/* the slots of the command at the head; false (a violation) if not all of it is posted */
static bool fetch(struct ionic *ionic, struct ionic_aq *aq)
{
	struct ionic_aq_job *job = &aq->job;
	const struct ionic_aq_header *header = (const struct ionic_aq_header *)job->bytes;
	unsigned int posted = (aq->posted - aq->head) & mask(aq);

	memset(job, 0, sizeof(*job));
	job->slot = aq->head;
	job->slots = 1;
	for (unsigned int i = 0; i < job->slots; i++) {
		uint64_t addr = aq->ring + ((aq->head + i) & mask(aq)) * IONIC_AQ_SLOT;

		if (ionic_read(ionic, addr, job->bytes + i * IONIC_AQ_SLOT, IONIC_AQ_SLOT,
			       "RDMA admin command"))
			return false;
		if (i)
			continue;
		job->slots = IONIC_AQ_SLOTS(le16toh(header->len));
		if (job->slots > posted || job->slots > IONIC_AQ_BODY_MAX / IONIC_AQ_SLOT) {
			model_violation(&ionic->dev, "RDMA admin command %u of %u bytes, but only "
					"%u slots are posted", header->op, le16toh(header->len),
					posted);
			job->slots = 1;
			return false;
		}
	}
	return true;
}

static void push_entry(struct ionic *ionic, struct ionic_aq *aq, unsigned int slot,
		       enum ionic_aq_status status, uint32_t word)
{
	struct ionic_aq_cqe cqe = {
		.index = htobe16(slot),
		.op = aq->job.bytes[0],
		.status = htobe32(status),
	};

	ionic_cq_push(ionic, aq->cq, &cqe, word | (status ? IONIC_CQE_ERROR : 0), false);
}

static uint32_t cqe_word(unsigned int id, enum ionic_cqe_type type)
{
	return HW_PREP(IONIC_CQE_QID, id) | HW_PREP(IONIC_CQE_TYPE, (uint32_t)type);
}

static bool hit(const struct ionic_aq_job *job, enum inject_action action)
{
	return job->injected && job->hit.action == action;
}

static void push(struct ionic *ionic, struct ionic_aq *aq)
{
	const struct ionic_aq_job *job = &aq->job;

	push_entry(ionic, aq, (job->slot + hit(job, INJECT_CORRUPT)) & mask(aq), aq->status,
		   cqe_word(aq->id, IONIC_CQE_ADMIN));
}

/* A refusal that is not the command's, ahead of its answer: who takes it for one is misled. */
static void push_stray(struct ionic *ionic, struct ionic_aq *aq)
{
	unsigned int slot = aq->job.slot;

	if (aq->stray.action == INJECT_FAIL)
		push_entry(ionic, aq, (slot + aq->stray.status) & mask(aq), IONIC_AQ_BAD_STATE,
			   cqe_word(aq->id, IONIC_CQE_ADMIN));
	else if (aq->stray.action == INJECT_CORRUPT)
		push_entry(ionic, aq, slot, IONIC_AQ_BAD_STATE,
			   cqe_word(~aq->id, IONIC_CQE_ADMIN));
	else if (aq->stray.action == INJECT_DUP)
		push_entry(ionic, aq, slot, IONIC_AQ_BAD_STATE,
			   cqe_word(aq->id, IONIC_CQE_RECV));
}

/* Is there room for all entries that the command makes? A CQ may be too small for a fault. */
static bool has_room(const struct ionic_aq *aq)
{
	unsigned int room = ionic_cq_room(aq->cq);

	return room >= 1u + aq->has_stray + hit(&aq->job, INJECT_DUP) ||
	       room == (1u << aq->cq->depth_log2) - 1;
}

static void start(struct ionic *ionic, struct ionic_aq *aq)
{
	struct ionic_aq_job *job = &aq->job;

	aq->running = true;
	aq->answer_when = 0;
	aq->status = fetch(ionic, aq) ? ionic_aq_run(ionic, job) : IONIC_AQ_BAD_CMD;
	if (aq->status)
		ionic->rdma->tally.admin_errors++;
	aq->has_stray = !hit(job, INJECT_DROP) &&
			inject_match(&ionic->dev, "stray_answer", &aq->stray);
	if (hit(job, INJECT_DELAY))
		aq->answer_when = model_now(&ionic->dev) + job->hit.ms * IONIC_NS_PER_MS;
}

static void answer(struct ionic *ionic, struct ionic_aq *aq)
{
	const struct ionic_aq_job *job = &aq->job;

	aq->running = false;
	aq->head = (aq->head + job->slots) & mask(aq);
	if (hit(job, INJECT_DROP))
		return;
	if (aq->has_stray)
		push_stray(ionic, aq);
	push(ionic, aq);
	if (hit(job, INJECT_DUP))
		push(ionic, aq);
}

/* a slice of one queue; true if there is more to do now */
static bool work(struct ionic *ionic, struct ionic_aq *aq, uint64_t *when)
{
	for (unsigned int i = 0; i < COMMANDS_PER_SLICE; i++) {
		if (!aq->live || aq->head == aq->posted || !ionic_cq_room(aq->cq))
			return false;
		if (!aq->running)
			start(ionic, aq);
		if (aq->answer_when > model_now(&ionic->dev)) {
			*when = ionic_earlier(*when, aq->answer_when);
			return false;
		}
		if (!has_room(aq))
			return false;
		answer(ionic, aq);
	}
	return true;
}

bool ionic_aq_work(struct ionic *ionic, uint64_t *when)
{
	bool more = false;

	for (unsigned int i = 0; i < ionic->config.aqs; i++)
		more |= work(ionic, &ionic->rdma->aqs[i], when);
	return more;
}
