// SPDX-License-Identifier: GPL-2.0
/* The admin queue: one command after the other, each answered in order. */
#include <string.h>

#include "ionic.h"

#define COMMANDS_PER_SLICE	8u

void ionic_adminq_forget(struct ionic *ionic)
{
	struct ionic_adminq *adminq = &ionic->lif.adminq;

	ionic_queue_forget(&adminq->q);
	adminq->running = false;
}

static void answer(struct ionic *ionic, struct ionic_adminq *adminq)
{
	struct ionic_job *job = &adminq->job;
	struct ionic_resp again = job->resp;
	uint16_t index = ionic_queue_take(&adminq->q);

	adminq->running = false;
	if (job->injected && job->hit.action == INJECT_DROP)
		return;
	ionic_queue_complete(ionic, &adminq->q, index, &job->resp);
	if (job->injected && job->hit.action == INJECT_DUP)
		ionic_queue_complete(ionic, &adminq->q, index, &again);
}

static void start(struct ionic *ionic, struct ionic_adminq *adminq)
{
	struct ionic_job *job = &adminq->job;

	memset(job, 0, sizeof(*job));
	adminq->answer_when = 0;
	adminq->running = true;
	ionic->tally.admin++;
	if (ionic_queue_read(ionic, &adminq->q, &job->req, sizeof(job->req))) {
		job->resp.status = IONIC_EFAULT;
		return;
	}
	ionic_cmd_run(ionic, job);
	if (job->injected && job->hit.action == INJECT_DELAY)
		adminq->answer_when = model_now(&ionic->dev) + job->hit.ms * IONIC_NS_PER_MS;
}

bool ionic_adminq_work(struct ionic *ionic, uint64_t *when)
{
	struct ionic_adminq *adminq = &ionic->lif.adminq;

	for (unsigned int i = 0; i < COMMANDS_PER_SLICE; i++) {
		if (!ionic_queue_ready(&adminq->q))
			return false;
		if (!adminq->running)
			start(ionic, adminq);
		if (adminq->answer_when > model_now(&ionic->dev)) {
			*when = adminq->answer_when;
			return false;
		}
		answer(ionic, adminq);
	}
	return ionic_queue_ready(&adminq->q);
}
