// SPDX-License-Identifier: GPL-2.0
/*
 * Interrupt registers. An interrupt fires when it is not masked and entries were
 * written that the driver has not given back; firing copies mask_assert to the
 * mask. It starts masked: before the driver's first store to the mask nothing is
 * sent, because its handler may not be ready.
 *
 * choice: coalescing timers are kept but take no time, every message goes at once.
 */
#include <inttypes.h>
#include <string.h>

#include "ionic.h"

void ionic_intr_reset(struct ionic *ionic)
{
	memset(ionic->intr, 0, ionic->config.vectors * sizeof(*ionic->intr));
	for (unsigned int i = 0; i < ionic->config.vectors; i++)
		ionic->intr[i].mask = 1;
}

static void evaluate(struct ionic *ionic, unsigned int index)
{
	struct ionic_intr *intr = &ionic->intr[index];

	if (intr->mask || (intr->credits <= 0 && !intr->pending))
		return;
	intr->mask = intr->mask_assert;
	intr->pending = false;
	ionic->tally.irqs++;
	model_irq(&ionic->dev, index);
}

void ionic_intr_credit(struct ionic *ionic, uint16_t index)
{
	if (index == IONIC_NO_INTR)
		return;
	ionic->intr[index].credits++;
	evaluate(ionic, index);
}

void ionic_intr_event(struct ionic *ionic, uint16_t index)
{
	ionic->intr[index].pending = true;
	evaluate(ionic, index);
}

/* the interrupt whose registers are at @off; NULL and a violation if there is none */
static struct ionic_intr *find(struct ionic *ionic, uint64_t off, unsigned int size)
{
	uint64_t index = (off - IONIC_REG_INTR(0)) / IONIC_INTR_STRIDE;

	if (index < ionic->config.vectors && size == 4 && off % 4 == 0)
		return &ionic->intr[index];
	model_violation(&ionic->dev, "access of %u bytes to register 0x%" PRIx64 ", must be 4 "
			"bytes of interrupt 0 to %" PRIu64, size, off, ionic->config.vectors - 1);
	return NULL;
}

uint64_t ionic_intr_read(struct ionic *ionic, uint64_t off, unsigned int size)
{
	const struct ionic_intr *intr = find(ionic, off, size);

	if (!intr)
		return 0;
	switch (off % IONIC_INTR_STRIDE) {
	case IONIC_INTR_COAL_INIT:
		return intr->coal_init;
	case IONIC_INTR_MASK:
		return intr->mask;
	case IONIC_INTR_CREDITS:
		return (uint16_t)intr->credits;
	case IONIC_INTR_MASK_ASSERT:
		return intr->mask_assert;
	default:
		return 0;	/* the timer never runs */
	}
}

static void take_back(struct ionic *ionic, unsigned int index, uint32_t value)
{
	struct ionic_intr *intr = &ionic->intr[index];

	intr->credits -= value & IONIC_INTR_CREDIT_COUNT;
	if (value & IONIC_INTR_UNMASK)
		intr->mask = 0;
}

/* the largest value of a register; -1: read-only */
static int64_t limit(uint64_t reg)
{
	switch (reg) {
	case IONIC_INTR_COAL_INIT:
		return IONIC_INTR_COAL_MAX;
	case IONIC_INTR_MASK:
	case IONIC_INTR_MASK_ASSERT:
		return 1;
	case IONIC_INTR_CREDITS:
		return IONIC_INTR_CREDIT_COUNT | IONIC_INTR_UNMASK | IONIC_INTR_RESET_COAL;
	default:
		return -1;
	}
}

void ionic_intr_write(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value)
{
	struct ionic_intr *intr = find(ionic, off, size);
	uint64_t reg = off % IONIC_INTR_STRIDE;

	if (!intr)
		return;
	if ((int64_t)value > limit(reg)) {
		model_violation(&ionic->dev, "store of 0x%" PRIx64 " to register 0x%" PRIx64
				" of interrupt %td, which does not take it", value, reg,
				intr - ionic->intr);
		return;
	}
	switch (reg) {
	case IONIC_INTR_COAL_INIT:
		intr->coal_init = value;
		break;
	case IONIC_INTR_MASK:
		intr->mask = value;
		break;
	case IONIC_INTR_MASK_ASSERT:
		intr->mask_assert = value;
		break;
	default:
		take_back(ionic, intr - ionic->intr, value);
	}
	evaluate(ionic, intr - ionic->intr);
}
