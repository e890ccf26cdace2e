// SPDX-License-Identifier: GPL-2.0
/* The notify queue: events that nobody asked for, a ring without flow control. */
#include <endian.h>

#include "ionic.h"

#define ID_SIZE	sizeof(((struct ionic_notify_event *)0)->id)

void ionic_notify(struct ionic *ionic, struct ionic_notify_event *event)
{
	struct ionic_queue *q = &ionic->lif.notifyq;
	uint64_t addr;

	if (!q->live || !q->enabled)
		return;
	addr = q->ring + IONIC_NOTIFY_EVENTS +
	       (q->event_id & ionic_queue_mask(q)) * sizeof(*event);
	event->id = htole64(++q->event_id);
	ionic_write(ionic, addr + ID_SIZE, (const uint8_t *)event + ID_SIZE,
		    sizeof(*event) - ID_SIZE, "event");
	/* a larger id says that the event is there; pairs with the driver's dma_rmb() */
	model_wmb(&ionic->dev);
	ionic_write(ionic, addr, &event->id, ID_SIZE, "event");
	model_wmb(&ionic->dev);
	ionic->tally.notify_events++;
	ionic_intr_credit(ionic, q->intr);
}
