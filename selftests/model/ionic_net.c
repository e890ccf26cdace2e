// SPDX-License-Identifier: GPL-2.0
/*
 * A switch between the adapters of this process. It knows which adapter has an
 * address and sends a frame only there, also back to its sender, as RDMA between
 * queues of one adapter wants it; what nobody is known to wait for goes to all.
 * Addresses of the fabric are those the adapters were
 * made with, whatever their drivers call themselves later.
 */
#include <errno.h>
#include <string.h>

#include "ionic.h"

#define HEADER_SIZE	14u

static struct ionic *adapters;

static void receive(struct model_device *dev, const uint8_t *from, const void *data, size_t len)
{
	struct ionic *ionic = ionic_of(dev);

	(void)from;
	if (len >= HEADER_SIZE && !ionic_rdma_frame(ionic, data, len))
		ionic_rx_frame(ionic, data, len);
}

int ionic_net_attach(struct ionic *ionic)
{
	struct fabric_port *port = &ionic->net;
	int err;

	memcpy(port->addr, ionic->config.mac, IONIC_MAC_SIZE);
	port->addr_len = IONIC_MAC_SIZE;
	port->dev = &ionic->dev;
	port->receive = receive;
	port->seed = ionic->config.seed;
	port->reorder = ionic->config.reorder;
	err = fabric_attach(port);
	if (err)
		return err;
	ionic->next = adapters;
	adapters = ionic;
	return 0;
}

void ionic_net_detach(struct ionic *ionic)
{
	for (struct ionic **link = &adapters; *link; link = &(*link)->next) {
		if (*link == ionic) {
			*link = ionic->next;
			fabric_detach(&ionic->net);
			return;
		}
	}
}

void ionic_net_update(struct ionic *ionic)
{
	ionic->net.up = ionic->lif.live && ionic_port_link(ionic);
}

static const struct ionic *owner(const uint8_t *mac)
{
	for (const struct ionic *ionic = adapters; ionic; ionic = ionic->next)
		if (ionic_filter_is_mine(ionic, mac))
			return ionic;
	return NULL;
}

int ionic_net_send(struct ionic *ionic, const uint8_t *frame, size_t len)
{
	const struct ionic *to = ionic_is_multicast(frame) ? NULL : owner(frame);

	if (to)
		return fabric_send(&ionic->net, to->net.addr, frame, len);
	return fabric_broadcast(&ionic->net, frame, len);
}
