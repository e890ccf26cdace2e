// SPDX-License-Identifier: GPL-2.0
/* The doorbell BAR: a page for each process of the LIF, in it a word for each type of queue. */
#include <inttypes.h>

#include "ionic.h"

void ionic_doorbell_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value)
{
	const struct ionic_config *config = &ionic->config;
	uint64_t page = off / IONIC_PAGE, type = off % IONIC_PAGE / IONIC_DB_STRIDE;
	uint64_t first = config->hw_lif * config->dbpages;

	if (ionic->fw.down)
		return;
	if (size != IONIC_DB_STRIDE) {
		model_violation(&ionic->dev, "doorbell store of %u bytes at 0x%" PRIx64
				", must be 8 bytes", size, off);
		return;
	}
	if (page < first || page - first >= config->dbpages) {
		model_violation(&ionic->dev, "doorbell in page %" PRIu64 ", the LIF has %" PRIu64
				" to %" PRIu64, page, first, first + config->dbpages - 1);
		return;
	}
	if (page == first && type <= IONIC_Q_TX)
		ionic_queue_doorbell(ionic, type, value);
	else if (!ionic_rdma_doorbell(ionic, page - first, type, value))
		model_violation(&ionic->dev, "doorbell of type %" PRIu64 " in page %" PRIu64
				" of the LIF: no such queue", type, page - first);
}
