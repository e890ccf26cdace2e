// SPDX-License-Identifier: GPL-2.0
/*
 * Controller memory in BAR 4. The first window is plain memory, each further one
 * shows the same memory and rings the queue of a slot when the slot's end is
 * written; windows lie IONIC_CMB_WINDOW apart, in the order of enum
 * ionic_cmb_type.
 *
 * In strict mode every store is looked at and all windows are one memory. In fast
 * mode the guest maps them. Then they cannot be one memory, as a mapping of one
 * file shows each page once; so each window has its own, and what a queue's slots
 * hold is looked for in the window that its driver uses.
 */
#include <inttypes.h>
#include <string.h>

#include "ionic_rdma.h"

void ionic_cmb_bar(const struct ionic_config *config, struct model_bar *bar)
{
	uint64_t used = config->cmb;

	if (!config->cmb)
		return;
	if (ionic_has_windows(config))
		used = (uint64_t)IONIC_CMB_TYPES * IONIC_CMB_WINDOW;
	bar->size = IONIC_PAGE;
	while (bar->size < used)
		bar->size *= 2;
	bar->is64 = true;
	bar->prefetch = true;
	bar->backed = true;
	if (config->strict)
		return;
	bar->areas[0] = (struct model_area){ .offset = 0, .length = used };
	bar->nareas = 1;
}

/* the window of a BAR offset; IONIC_CMB_TYPES if there is nothing */
static unsigned int window_at(const struct ionic_config *config, uint64_t off, unsigned int size)
{
	unsigned int window = off / IONIC_CMB_WINDOW;

	if (ionic_within(off, size, 0, config->cmb))
		return IONIC_CMB_PLAIN;
	if (!ionic_has_windows(config) || !window || window >= IONIC_CMB_TYPES ||
	    !(config->strides >> (window - 1) & 1))
		return IONIC_CMB_TYPES;
	return window;
}

/* where it is kept; NULL and a violation if there is nothing */
static uint8_t *locate(struct ionic *ionic, uint64_t off, unsigned int size, unsigned int *window)
{
	*window = window_at(&ionic->config, off, size);
	if (*window == IONIC_CMB_TYPES) {
		model_violation(&ionic->dev, "access to 0x%" PRIx64 " of the controller memory "
				"BAR, where there is no window", off);
		return NULL;
	}
	if (ionic->config.strict)
		off -= (uint64_t)*window * IONIC_CMB_WINDOW;
	return ionic->dev.bar[IONIC_BAR_CMB].mem + off;
}

uint64_t ionic_cmb_read(struct ionic *ionic, uint64_t off, unsigned int size)
{
	unsigned int window;
	uint8_t *mem = locate(ionic, off, size, &window);
	uint64_t value = 0;

	if (mem)
		memcpy(&value, mem, size);
	return value;
}

void ionic_cmb_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value)
{
	unsigned int window;
	uint8_t *mem = locate(ionic, off, size, &window);

	if (!mem)
		return;
	memcpy(mem, &value, size);
	if (ionic->rdma)
		ionic->rdma->tally.cmb_bytes += size;
	/* in fast mode only polling looks at windows, whoever stored */
	if (window != IONIC_CMB_PLAIN && ionic->config.strict)
		ionic_wq_express(ionic, window, off % IONIC_CMB_WINDOW, size);
}
