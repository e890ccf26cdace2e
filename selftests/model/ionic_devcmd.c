// SPDX-License-Identifier: GPL-2.0
/*
 * Device command registers: request, answer and side data in BAR 0.
 *
 * A command that needs no guest memory is executed at its doorbell, because a
 * driver sends some before it makes the function a bus master, and until then the
 * function gets no time of its own. The others wait for ionic_work().
 */
#include <inttypes.h>
#include <string.h>

#include "ionic.h"
#include "log.h"

#define REQ	IONIC_REG_DEVCMD_REQ
#define RESP	IONIC_REG_DEVCMD_RESP
#define DATA	IONIC_REG_DEVCMD_DATA

/* a driver that has waited for so long may give up: drivers do after five seconds */
#define PATIENCE_NS	4000000000ull

void ionic_devcmd_reset(struct ionic *ionic)
{
	memset(&ionic->devcmd, 0, sizeof(ionic->devcmd));
}

static uint64_t load(const uint8_t *bytes, unsigned int size)
{
	uint64_t value = 0;

	memcpy(&value, bytes, size);
	return value;
}

uint64_t ionic_devcmd_read(struct ionic *ionic, uint64_t off, unsigned int size)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;

	if (ionic_within(off, size, IONIC_REG_DEVCMD_DONE, sizeof(devcmd->done)))
		return load((uint8_t *)&devcmd->done + (off - IONIC_REG_DEVCMD_DONE), size);
	if (ionic_within(off, size, REQ, sizeof(devcmd->req)))
		return load(devcmd->req + (off - REQ), size);
	if (ionic_within(off, size, RESP, sizeof(devcmd->resp)))
		return load(devcmd->resp + (off - RESP), size);
	if (ionic_within(off, size, DATA, sizeof(devcmd->data)))
		return load(devcmd->data + (off - DATA), size);
	return 0;	/* the doorbell, and what is reserved */
}

static void answer(struct ionic_devcmd *devcmd)
{
	memcpy(devcmd->resp, &devcmd->job.resp, sizeof(devcmd->resp));
	devcmd->done = IONIC_DEVCMD_DONE_BIT;
	devcmd->state = IONIC_DEVCMD_IDLE;
}

static bool hit(const struct ionic_job *job, enum inject_action action)
{
	return job->injected && job->hit.action == action;
}

static void execute(struct ionic *ionic)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;
	struct ionic_job *job = &devcmd->job;

	ionic->tally.devcmds++;
	ionic_cmd_run(ionic, job);
	devcmd->state = IONIC_DEVCMD_EXECUTED;
	devcmd->answer_when = 0;
	if (hit(job, INJECT_DROP))
		return;
	if (hit(job, INJECT_DELAY)) {
		devcmd->answer_when = model_now(&ionic->dev) + job->hit.ms * IONIC_NS_PER_MS;
		model_kick(&ionic->dev);	/* which asks for the time */
		return;
	}
	if (hit(job, INJECT_CORRUPT))
		for (size_t i = 0; i < sizeof(devcmd->data); i++)
			devcmd->data[i] ^= 0xff;
	answer(devcmd);
}

uint64_t ionic_devcmd_work(struct ionic *ionic)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;

	if (devcmd->state == IONIC_DEVCMD_WAITS)
		execute(ionic);
	if (devcmd->state != IONIC_DEVCMD_EXECUTED)
		return 0;
	if (devcmd->answer_when && devcmd->answer_when <= model_now(&ionic->dev))
		answer(devcmd);
	return devcmd->state == IONIC_DEVCMD_EXECUTED ? devcmd->answer_when : 0;
}

static void ring(struct ionic *ionic, uint64_t value)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;

	if (!value || ionic->fw.down)
		return;
	if (value != 1 || devcmd->state != IONIC_DEVCMD_IDLE || devcmd->done) {
		model_violation(&ionic->dev, "device command doorbell 0x%" PRIx64 " %s", value,
				value != 1 ? "must be 0 or 1" :
				devcmd->done ? "before done was cleared" :
				"while a command is running");
		return;
	}
	memset(&devcmd->job, 0, sizeof(devcmd->job));
	memcpy(&devcmd->job.req, devcmd->req, sizeof(devcmd->req));
	devcmd->job.devcmd = true;
	devcmd->state = IONIC_DEVCMD_WAITS;
	devcmd->rung = model_now(&ionic->dev);
	if (ionic_cmd_uses_dma(devcmd->job.req.opcode))
		model_kick(&ionic->dev);
	else
		execute(ionic);
}

static void store(struct ionic *ionic, uint8_t *bytes, unsigned int size, uint64_t value)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;

	if (devcmd->state != IONIC_DEVCMD_IDLE) {
		if (model_now(&ionic->dev) - devcmd->rung < PATIENCE_NS)
			model_violation(&ionic->dev, "store to the device command while one is "
					"running; wait for done");
		devcmd->state = IONIC_DEVCMD_IDLE;
	}
	memcpy(bytes, &value, size);
}

void ionic_devcmd_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value)
{
	struct ionic_devcmd *devcmd = &ionic->devcmd;

	if (off == IONIC_REG_DEVCMD_DOORBELL && size == 4)
		ring(ionic, value);
	else if (off == IONIC_REG_DEVCMD_DONE && size == 4 && !value)
		store(ionic, (uint8_t *)&devcmd->done, size, value);
	else if (ionic_within(off, size, REQ, sizeof(devcmd->req)))
		store(ionic, devcmd->req + (off - REQ), size, value);
	else if (ionic_within(off, size, DATA, sizeof(devcmd->data)))
		store(ionic, devcmd->data + (off - DATA), size, value);
	else
		model_violation(&ionic->dev, "store of 0x%" PRIx64 " (%u bytes) at 0x%" PRIx64
				" in the device command registers, where nothing takes it", value,
				size, off);
}
