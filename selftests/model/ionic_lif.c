// SPDX-License-Identifier: GPL-2.0
/* The logical interface: its life, its attributes, and the block of memory that tells of it. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "ionic.h"

#define MTU_MIN		68
#define RSS_TYPES	0x003f

void ionic_lif_forget(struct ionic *ionic)
{
	struct ionic_lif *lif = &ionic->lif;

	lif->live = false;
	lif->features = 0;
	memcpy(lif->mac, ionic->config.mac, sizeof(lif->mac));
	lif->link = false;
	lif->link_downs = 0;
	memset(lif->stats, 0, sizeof(lif->stats));
	lif->stats_when = lif->tx_when = 0;
	ionic_rdma_forget(ionic);
	ionic_filter_forget(ionic);
	ionic_adminq_forget(ionic);
	ionic_queue_forget(&lif->notifyq);
	for (unsigned int i = 0; i < ionic->config.queues; i++) {
		ionic_queue_forget(&lif->rxq[i]);
		ionic_queue_forget(&lif->txq[i]);
	}
	ionic_net_update(ionic);
}

static void publish(struct ionic *ionic)
{
	const struct ionic_lif *lif = &ionic->lif;
	struct ionic_lif_status status = {
		.event_id = htole64(lif->notifyq.event_id),
		.link = htole16(lif->link ? IONIC_LINK_UP : IONIC_LINK_DOWN),
		.speed = htole32(lif->link ? ionic_port_speed(ionic) : 0),
		.link_down_count = htole16(lif->link_downs),
	};

	ionic_write(ionic, lif->info + offsetof(struct ionic_lif_info, status), &status,
		    sizeof(status), "LIF info");
}

void ionic_lif_work(struct ionic *ionic)
{
	struct ionic_lif *lif = &ionic->lif;
	bool link = ionic_port_link(ionic);
	struct ionic_notify_event event = {
		.code = htole16(IONIC_NOTIFY_LINK),
		.data.link.status = htole16(link ? IONIC_LINK_UP : IONIC_LINK_DOWN),
		.data.link.speed = htole32(link ? ionic_port_speed(ionic) : 0),
	};

	if (!lif->live || link == lif->link)
		return;
	lif->link = link;
	if (!link)
		lif->link_downs++;
	/* the driver takes the state from the block, so that comes first */
	publish(ionic);
	ionic_notify(ionic, &event);
}

int ionic_cmd_lif_init(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_lif_init_req *req = (const struct ionic_lif_init_req *)&job->req;
	struct ionic_lif_init_resp *resp = (struct ionic_lif_init_resp *)&job->resp;
	uint64_t info = le64toh(req->info_addr);

	if (req->type || le16toh(req->lif))
		return ionic_refuse(ionic, job, IONIC_EINVAL, "type %u, LIF %u, must be 0 and 0",
				    req->type, le16toh(req->lif));
	if (!ionic->ready)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "comes before init");
	if (ionic->lif.live)
		return ionic_refuse(ionic, job, IONIC_EBUSY, "the LIF was not reset");
	if (!info || info % sizeof(uint64_t) ||
	    !ionic_reachable(ionic, info, sizeof(struct ionic_lif_info)))
		return ionic_refuse(ionic, job, IONIC_EADDR, "info address 0x%" PRIx64
				    " is no memory", info);
	ionic->lif.live = true;
	ionic->lif.info = info;
	ionic->lif.link = ionic_port_link(ionic);
	publish(ionic);
	ionic_net_update(ionic);
	resp->hw_lif = htole16(ionic->config.hw_lif);
	return IONIC_SUCCESS;
}

int ionic_cmd_lif_reset(struct ionic *ionic, struct ionic_job *job)
{
	if (le16toh(job->req.lif))
		return ionic_refuse(ionic, job, IONIC_EINVAL, "LIF %u, must be 0",
				    le16toh(job->req.lif));
	ionic_lif_forget(ionic);
	return IONIC_SUCCESS;
}

int ionic_cmd_lif_getattr(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_lif_getattr_req *req = (const struct ionic_lif_getattr_req *)&job->req;
	struct ionic_lif_getattr_resp *resp = (struct ionic_lif_getattr_resp *)&job->resp;

	/* choice: of the attributes only this one is known to be asked for */
	if (req->attr != IONIC_LIF_ATTR_MAC)
		return IONIC_EINVAL;
	memcpy(resp->mac, ionic->lif.mac, sizeof(resp->mac));
	return IONIC_SUCCESS;
}

/* bytes of each attribute's value; what follows is reserved */
static const uint8_t attr_size[] = {
	[IONIC_LIF_ATTR_STATE] = 1,
	[IONIC_LIF_ATTR_NAME] = IONIC_NAME_SIZE,
	[IONIC_LIF_ATTR_MTU] = 4,
	[IONIC_LIF_ATTR_MAC] = IONIC_MAC_SIZE,
	[IONIC_LIF_ATTR_FEATURES] = 8,
	[IONIC_LIF_ATTR_RSS] = sizeof(struct ionic_rss),
	[IONIC_LIF_ATTR_STATS] = 1,
};

#define ATTRS	(sizeof(attr_size) / sizeof(attr_size[0]))

static int stray_byte(const struct ionic_lif_setattr_req *req)
{
	for (unsigned int i = attr_size[req->attr]; i < sizeof(req->value.bytes); i++)
		if (req->value.bytes[i])
			return offsetof(struct ionic_lif_setattr_req, value) + i;
	return -1;
}

static int set_mtu(struct ionic *ionic, const struct ionic_job *job, uint32_t mtu)
{
	if (mtu < MTU_MIN || mtu > ionic->config.mtu)
		return ionic_refuse(ionic, job, IONIC_ERANGE, "MTU %u, must be %u to %" PRIu64, mtu,
				    MTU_MIN, ionic->config.mtu);
	/* choice: the port takes frames of any length that it has, whatever the LIF's is */
	return IONIC_SUCCESS;
}

static int set_mac(struct ionic *ionic, const struct ionic_job *job, const uint8_t *mac)
{
	static const uint8_t none[IONIC_MAC_SIZE];

	if (ionic_is_multicast(mac) || !memcmp(mac, none, sizeof(none)))
		return ionic_refuse(ionic, job, IONIC_EINVAL, "MAC address is not one of a "
				    "station");
	memcpy(ionic->lif.mac, mac, sizeof(ionic->lif.mac));
	return IONIC_SUCCESS;
}

/* hashing is never granted, so all that can be done is to turn it off */
static int set_rss(struct ionic *ionic, const struct ionic_job *job, const struct ionic_rss *rss)
{
	if (le16toh(rss->types) & ~RSS_TYPES)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "hash types 0x%x, known are 0x%x",
				    le16toh(rss->types), RSS_TYPES);
	return le16toh(rss->types) ? IONIC_ENOSUPP : IONIC_SUCCESS;
}

int ionic_cmd_lif_setattr(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_lif_setattr_req *req = (const struct ionic_lif_setattr_req *)&job->req;
	struct ionic_lif_setattr_resp *resp = (struct ionic_lif_setattr_resp *)&job->resp;
	struct ionic_lif *lif = &ionic->lif;

	if (req->attr >= ATTRS)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "attribute %u is not offered",
				    req->attr);
	if (stray_byte(req) >= 0)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "byte %d behind attribute %u must be "
				    "zero", stray_byte(req), req->attr);
	switch (req->attr) {
	case IONIC_LIF_ATTR_STATE:
		/* queues have an order of their own, so quiesce asks for nothing more */
		if (req->value.byte > IONIC_LIF_DISABLE)
			return ionic_refuse(ionic, job, IONIC_EINVAL, "state %u", req->value.byte);
		return IONIC_SUCCESS;
	case IONIC_LIF_ATTR_NAME:
		if (!memchr(req->value.name, 0, sizeof(req->value.name)))
			return ionic_refuse(ionic, job, IONIC_EINVAL, "name without an end");
		return IONIC_SUCCESS;
	case IONIC_LIF_ATTR_MTU:
		return set_mtu(ionic, job, le32toh(req->value.number));
	case IONIC_LIF_ATTR_MAC:
		return set_mac(ionic, job, req->value.mac);
	case IONIC_LIF_ATTR_FEATURES:
		lif->features = le64toh(req->value.features) & ionic->config.features;
		resp->features = htole64(lif->features);
		return IONIC_SUCCESS;
	case IONIC_LIF_ATTR_RSS:
		return set_rss(ionic, job, &req->value.rss);
	default:
		memset(lif->stats, 0, sizeof(lif->stats));
		return IONIC_SUCCESS;
	}
}
