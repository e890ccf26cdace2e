// SPDX-License-Identifier: GPL-2.0
/* The port: its commands, the link, and the block of guest memory that tells of both. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "ionic.h"

#define MBPS_PER_GBPS	1000
#define FEC_MAX		2
#define LOOPBACK_MAX	2
#define XCVR_READ	3

uint32_t ionic_port_speed(const struct ionic *ionic)
{
	return ionic->config.link_gbps * MBPS_PER_GBPS;
}

void ionic_port_default(struct ionic *ionic, struct ionic_port_config *config)
{
	memset(config, 0, sizeof(*config));
	config->speed = htole32(ionic_port_speed(ionic));
	config->mtu = htole32(ionic->config.mtu);
	config->state = IONIC_PORT_UP;
}

bool ionic_port_link(const struct ionic *ionic)
{
	return ionic->port.live && ionic->port.cable &&
	       ionic->port.config.state == IONIC_PORT_UP && !ionic->fw.down;
}

void ionic_port_forget(struct ionic *ionic)
{
	ionic->port.live = ionic->port.link = false;
	ionic->port.link_downs = 0;
	ionic_net_update(ionic);
}

static uint16_t copper(uint64_t gbps)
{
	return gbps > 200 ? IONIC_XCVR_400G_CR4 :
	       gbps > 100 ? IONIC_XCVR_200G_CR4 : IONIC_XCVR_100G_CR4;
}

/* the statistics behind it stay zero */
static void publish(struct ionic *ionic)
{
	const struct ionic_port *port = &ionic->port;
	struct ionic_port_info info = {
		.config = port->config,
		.status.speed = htole32(port->link ? ionic_port_speed(ionic) : 0),
		.status.status = port->link ? IONIC_PORT_LINK_UP : IONIC_PORT_LINK_DOWN,
		.status.link_down_count = htole16(port->link_downs),
		.status.fec = port->config.fec,
		.xcvr.state = XCVR_READ,
		.xcvr.phy = IONIC_PHY_COPPER,
		.xcvr.pid = htole16(copper(ionic->config.link_gbps)),
	};

	ionic_write(ionic, port->info, &info, offsetof(struct ionic_port_info, stats), "port info");
}

void ionic_port_work(struct ionic *ionic)
{
	struct ionic_port *port = &ionic->port;
	bool link = ionic_port_link(ionic);

	if (!port->live || link == port->link)
		return;
	port->link = link;
	if (!link)
		port->link_downs++;
	publish(ionic);
}

static bool is_zero(const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len && !*byte) {
		byte++;
		len--;
	}
	return !len;
}

int ionic_cmd_port_init(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_port_init_req *req = (const struct ionic_port_init_req *)&job->req;
	const struct ionic_port_config *config =
		(const struct ionic_port_config *)ionic->devcmd.data;
	uint64_t info = le64toh(req->info_addr);

	if (req->port)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "port %u, must be 0", req->port);
	if (ionic->port.live)
		return ionic_refuse(ionic, job, IONIC_EBUSY, "the port was not reset");
	if (!is_zero(config->reserved13, sizeof(config->reserved13)) ||
	    config->state > IONIC_PORT_UP || config->fec > FEC_MAX ||
	    config->loopback > LOOPBACK_MAX)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "side data is no configuration such "
				    "as port_identify gave");
	if (!info || info % sizeof(uint64_t) ||
	    !ionic_reachable(ionic, info, sizeof(struct ionic_port_info)))
		return ionic_refuse(ionic, job, IONIC_EADDR, "info address 0x%" PRIx64
				    " is no memory", info);
	ionic->port.config = *config;
	ionic->port.info = info;
	ionic->port.live = true;
	ionic->port.link = ionic_port_link(ionic);
	publish(ionic);
	return IONIC_SUCCESS;
}

int ionic_cmd_port_reset(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_port_init_req *req = (const struct ionic_port_init_req *)&job->req;

	if (req->port)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "port %u, must be 0", req->port);
	ionic_port_forget(ionic);
	return IONIC_SUCCESS;
}

/* the largest value of each attribute */
static const uint32_t attr_max[] = {
	[IONIC_PORT_ATTR_STATE] = IONIC_PORT_UP,
	[IONIC_PORT_ATTR_SPEED] = UINT32_MAX,
	[IONIC_PORT_ATTR_MTU] = UINT32_MAX,
	[IONIC_PORT_ATTR_AUTONEG] = 1,
	[IONIC_PORT_ATTR_FEC] = FEC_MAX,
	[IONIC_PORT_ATTR_PAUSE] = IONIC_PAUSE_RX | IONIC_PAUSE_TX | 2,
	[IONIC_PORT_ATTR_LOOPBACK] = LOOPBACK_MAX,
	[IONIC_PORT_ATTR_STATS] = 0,
};

static void set_attr(struct ionic_port_config *config, unsigned int attr, uint32_t value)
{
	switch (attr) {
	case IONIC_PORT_ATTR_STATE:
		config->state = value;
		break;
	case IONIC_PORT_ATTR_SPEED:
		config->speed = htole32(value);
		break;
	case IONIC_PORT_ATTR_MTU:
		config->mtu = htole32(value);
		break;
	case IONIC_PORT_ATTR_AUTONEG:
		config->autoneg = value;
		break;
	case IONIC_PORT_ATTR_FEC:
		config->fec = value;
		break;
	case IONIC_PORT_ATTR_PAUSE:
		config->pause = value;
		break;
	case IONIC_PORT_ATTR_LOOPBACK:
		config->loopback = value;
		break;
	}
}

int ionic_cmd_port_setattr(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_port_setattr_req *req = (const struct ionic_port_setattr_req *)&job->req;
	uint32_t value = le32toh(req->value.number);

	if (req->port || !ionic->port.live)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "port %u, must be 0 after port_init",
				    req->port);
	if (req->attr >= sizeof(attr_max) / sizeof(attr_max[0]) || value > attr_max[req->attr])
		return ionic_refuse(ionic, job, IONIC_EINVAL, "attribute %u cannot be 0x%x",
				    req->attr, value);
	set_attr(&ionic->port.config, req->attr, value);
	ionic_net_update(ionic);
	publish(ionic);
	ionic_port_work(ionic);
	return IONIC_SUCCESS;
}
