// SPDX-License-Identifier: GPL-2.0
/* Receive mode and the list of addresses that are let in. */
#include <endian.h>
#include <string.h>

#include "ionic.h"

#define RX_MODES	(IONIC_RX_UNICAST | IONIC_RX_MULTICAST | IONIC_RX_BROADCAST | \
			 IONIC_RX_PROMISC | IONIC_RX_ALLMULTI)

void ionic_filter_forget(struct ionic *ionic)
{
	ionic->lif.nfilters = 0;
	ionic->lif.next_filter = 1;
	ionic->lif.rx_mode = 0;
}

static struct ionic_filter *find(const struct ionic *ionic, const uint8_t *mac)
{
	for (unsigned int i = 0; i < ionic->lif.nfilters; i++)
		if (!memcmp(ionic->lif.filters[i].mac, mac, IONIC_MAC_SIZE))
			return &ionic->lif.filters[i];
	return NULL;
}

bool ionic_filter_is_mine(const struct ionic *ionic, const uint8_t *mac)
{
	return !memcmp(mac, ionic->lif.mac, IONIC_MAC_SIZE) ||
	       (!ionic_is_multicast(mac) && find(ionic, mac));
}

bool ionic_is_broadcast(const uint8_t *mac)
{
	static const uint8_t all[IONIC_MAC_SIZE] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	return !memcmp(mac, all, sizeof(all));
}

bool ionic_filter_accepts(const struct ionic *ionic, const uint8_t *mac)
{
	uint16_t mode = ionic->lif.rx_mode;

	if (mode & IONIC_RX_PROMISC)
		return true;
	if (ionic_is_broadcast(mac))
		return mode & IONIC_RX_BROADCAST;
	if (!ionic_is_multicast(mac))
		return mode & IONIC_RX_UNICAST && find(ionic, mac);
	return mode & IONIC_RX_ALLMULTI || (mode & IONIC_RX_MULTICAST && find(ionic, mac));
}

int ionic_cmd_rx_mode_set(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_rx_mode_req *req = (const struct ionic_rx_mode_req *)&job->req;
	uint16_t mode = le16toh(req->mode);

	if (mode & ~RX_MODES)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "mode 0x%x, known are 0x%x", mode,
				    RX_MODES);
	ionic->lif.rx_mode = mode;
	return IONIC_SUCCESS;
}

int ionic_cmd_rx_filter_add(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_filter_add_req *req = (const struct ionic_filter_add_req *)&job->req;
	struct ionic_filter_add_resp *resp = (struct ionic_filter_add_resp *)&job->resp;
	struct ionic_lif *lif = &ionic->lif;
	struct ionic_filter *filter;

	if (le16toh(req->match) != IONIC_FILTER_MAC)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "match 0x%x needs a feature that was "
				    "not granted", le16toh(req->match));
	if (req->qtype || req->qid)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "queue %u of type %u, must be 0 and "
				    "0", le32toh(req->qid), req->qtype);
	for (unsigned int i = IONIC_MAC_SIZE; i < sizeof(req->value.bytes); i++)
		if (req->value.bytes[i])
			return ionic_refuse(ionic, job, IONIC_EINVAL, "byte %u behind the MAC "
					    "address must be zero", i);
	filter = find(ionic, req->value.mac);
	if (filter) {
		resp->filter = htole32(filter->id);
		return IONIC_EEXIST;
	}
	if (lif->nfilters == ionic->config.filters)
		return IONIC_ENOSPC;
	filter = &lif->filters[lif->nfilters++];
	filter->id = lif->next_filter++;
	memcpy(filter->mac, req->value.mac, IONIC_MAC_SIZE);
	resp->filter = htole32(filter->id);
	return IONIC_SUCCESS;
}

int ionic_cmd_rx_filter_del(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_filter_del_req *req = (const struct ionic_filter_del_req *)&job->req;
	struct ionic_lif *lif = &ionic->lif;

	for (unsigned int i = 0; i < lif->nfilters; i++) {
		if (lif->filters[i].id != le32toh(req->filter))
			continue;
		lif->filters[i] = lif->filters[--lif->nfilters];
		return IONIC_SUCCESS;
	}
	return ionic_refuse(ionic, job, IONIC_ENOENT, "filter %u does not exist",
			    le32toh(req->filter));
}
