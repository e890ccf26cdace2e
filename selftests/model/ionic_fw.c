// SPDX-License-Identifier: GPL-2.0
/* Device information registers, and the firmware behind them that can die and come back. */
#include <endian.h>
#include <string.h>

#include "ionic.h"
#include "log.h"

#define NS_PER_S	1000000000ull
#define GENERATIONS	16

static uint32_t heartbeat(struct ionic *ionic)
{
	if (ionic->fw.stuck)
		return ionic->fw.beat;
	/* never 0, which would say that there is none */
	return 1 + model_now(&ionic->dev) / NS_PER_S % UINT32_MAX;
}

static uint8_t fw_status(const struct ionic *ionic)
{
	return HW_PREP(IONIC_FW_GENERATION, ionic->fw.generation) |
	       (ionic->fw.down ? 0 : IONIC_FW_RUNNING);
}

uint64_t ionic_info_read(struct ionic *ionic, uint64_t off, unsigned int size)
{
	uint8_t info[IONIC_REG_INFO_END] = { 0 };
	const uint32_t signature = htole32(IONIC_SIGNATURE);
	const uint32_t beat = htole32(heartbeat(ionic));
	uint64_t value = 0;

	memcpy(info + IONIC_REG_SIGNATURE, &signature, sizeof(signature));
	info[IONIC_REG_INFO_VERSION] = 1;
	info[IONIC_REG_ASIC_TYPE] = ionic->config.asic;
	info[IONIC_REG_ASIC_REV] = ionic->config.asic_rev;
	info[IONIC_REG_FW_STATUS] = fw_status(ionic);
	memcpy(info + IONIC_REG_FW_HEARTBEAT, &beat, sizeof(beat));
	memcpy(info + IONIC_REG_FW_VERSION, ionic->config.fw, IONIC_REG_TEXT_SIZE);
	memcpy(info + IONIC_REG_SERIAL, ionic->config.serial, IONIC_REG_TEXT_SIZE);
	memcpy(&value, info + off, size);
	return value;
}

void ionic_fw_beat(struct ionic *ionic, bool running)
{
	ionic->fw.beat = heartbeat(ionic);
	ionic->fw.stuck = !running;
}

void ionic_fw_set(struct ionic *ionic, bool running)
{
	if (ionic->fw.down == !running)
		return;
	if (running) {
		ionic->fw.generation = (ionic->fw.generation + 1) % GENERATIONS;
	} else {
		ionic_forget_all(ionic);
		ionic_devcmd_reset(ionic);
		/* the driver finds out later, and goes on with what is no more until it resets */
		ionic->excused = true;
	}
	ionic->fw.down = !running;
	ionic_net_update(ionic);
	log_note(ionic->dev.name, "firmware %s", running ? "is back" : "has died");
}

int ionic_cmd_init(struct ionic *ionic, struct ionic_job *job)
{
	(void)job;
	ionic->ready = true;
	return IONIC_SUCCESS;
}

int ionic_cmd_reset(struct ionic *ionic, struct ionic_job *job)
{
	(void)job;
	ionic_forget_all(ionic);
	return IONIC_SUCCESS;
}

int ionic_cmd_nop(struct ionic *ionic, struct ionic_job *job)
{
	(void)ionic;
	(void)job;
	return IONIC_SUCCESS;
}

/* choice: there is no other image to take or to boot */
int ionic_cmd_fw_update(struct ionic *ionic, struct ionic_job *job)
{
	(void)ionic;
	(void)job;
	return IONIC_ENOSUPP;
}
