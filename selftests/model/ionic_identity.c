// SPDX-License-Identifier: GPL-2.0
/* What the adapter tells of itself: answers to the identify commands. */
#include <endian.h>
#include <string.h>

#include "ionic.h"

#define FRAME_MIN	64
#define FRAME_OVERHEAD	18	/* Ethernet header and one VLAN tag */
#define MTU_DEFAULT	1500

static uint32_t max_frame(const struct ionic *ionic)
{
	return ionic->config.mtu + FRAME_OVERHEAD;
}

/* the answer, in place of what the driver had there */
static void put(struct ionic *ionic, const void *identity, size_t size)
{
	memset(ionic->devcmd.data, 0, sizeof(ionic->devcmd.data));
	memcpy(ionic->devcmd.data, identity, size);
}

int ionic_cmd_identify(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_identify_req *req = (const struct ionic_identify_req *)&job->req;
	const struct ionic_config *config = &ionic->config;
	struct ionic_device_identity identity = {
		.version = IONIC_IDENTIFY_VERSION,
		.nports = 1,
		.nlifs = htole32(1),
		.nintrs = htole32(config->vectors),
		.dbpages_per_lif = htole32(config->dbpages),
		.coal_mult = htole32(config->coal_mult),
		.coal_div = htole32(config->coal_div),
		.capabilities = htole64(ionic_has_windows(config) ? IONIC_CAP_DISCOVER_CMB : 0),
	};

	if (req->version != IONIC_IDENTIFY_VERSION)
		return IONIC_EVERSION;
	put(ionic, &identity, sizeof(identity));
	return IONIC_SUCCESS;
}

int ionic_cmd_port_identify(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_port_identify_req *req =
		(const struct ionic_port_identify_req *)&job->req;
	struct ionic_port_identity identity = {
		.version = 1, .type = 1, .lanes = 4, .autoneg = 1,
		.min_frame = htole32(FRAME_MIN),
		.max_frame = htole32(max_frame(ionic)),
		.fec = { 0, 1, 2 },
		.speeds = { htole32(ionic_port_speed(ionic)) },
	};

	if (req->port)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "port %u, must be 0", req->port);
	if (req->version)
		return IONIC_EVERSION;
	ionic_port_default(ionic, &identity.config);
	put(ionic, &identity, sizeof(identity));
	return IONIC_SUCCESS;
}

static struct ionic_eth_identity eth_identity(const struct ionic *ionic)
{
	const struct ionic_config *config = &ionic->config;
	struct ionic_eth_identity eth = {
		.version = 1,
		.max_unicast_filters = htole32(config->filters),
		.max_multicast_filters = htole32(config->filters),
		.rss_table_size = htole16(config->rss_table),
		.min_frame = htole32(FRAME_MIN),
		.max_frame = htole32(max_frame(ionic)),
		.config.mtu = htole32(MTU_DEFAULT),
		.config.queues = {
			[IONIC_Q_ADMIN] = htole32(1),
			[IONIC_Q_NOTIFY] = htole32(config->notifyq),
			[IONIC_Q_RX] = htole32(config->queues),
			[IONIC_Q_TX] = htole32(config->queues),
		},
	};

	memcpy(eth.config.mac, config->mac, sizeof(eth.config.mac));
	return eth;
}

static struct ionic_rdma_qtype qtype(unsigned int type, uint64_t count)
{
	return (struct ionic_rdma_qtype){ .qtype = type, .count = htole32(count) };
}

static struct ionic_rdma_identity rdma_identity(const struct ionic_config *config)
{
	return (struct ionic_rdma_identity){
		.version = config->rdma_version,
		.minor_version = config->rdma_minor,
		.qp_opcodes = config->qp_opcodes,
		.admin_opcodes = config->admin_opcodes,
		.page_table_entries = htole32(config->page_table),
		.mrs = htole32(config->mrs),
		.ahs = htole32(config->ahs),
		.max_stride_log2 = config->max_stride,
		.pipeline_shift = config->pipeline_shift,
		.page_sizes = htole64(config->page_sizes),
		.aq = qtype(IONIC_DB_RDMA_AQ, config->aqs),
		.sq = qtype(IONIC_DB_RDMA_SQ, config->qps),
		.rq = qtype(IONIC_DB_RDMA_RQ, config->qps),
		.cq = qtype(IONIC_DB_RDMA_CQ, config->cqs),
		.eq = qtype(IONIC_DB_RDMA_EQ, config->eqs),
		.stats = htole16(config->rdma_stats),
	};
}

int ionic_cmd_lif_identify(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_lif_identify_req *req =
		(const struct ionic_lif_identify_req *)&job->req;
	struct ionic_lif_identity identity = { .capabilities = htole64(IONIC_LIF_CAP_ETH) };

	if (req->type)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "LIF type %u, must be 0", req->type);
	if (req->version != IONIC_LIF_IDENTIFY_VERSION)
		return IONIC_EVERSION;
	identity.eth = eth_identity(ionic);
	if (ionic->config.rdma) {
		identity.capabilities |= htole64(IONIC_LIF_CAP_RDMA);
		identity.rdma = rdma_identity(&ionic->config);
	}
	put(ionic, &identity, sizeof(identity));
	return IONIC_SUCCESS;
}

static uint64_t express(const struct ionic *ionic, uint64_t kind)
{
	return ionic->config.expdb & kind ? IONIC_Q_FEAT_EXPRESS : 0;
}

int ionic_cmd_q_identify(struct ionic *ionic, struct ionic_job *job)
{
	const struct ionic_q_identify_req *req = (const struct ionic_q_identify_req *)&job->req;
	const uint64_t sg = IONIC_Q_FEAT_CQ | IONIC_Q_FEAT_SG;
	const struct ionic_q_identity identities[] = {
		[IONIC_Q_ADMIN] = {
			.supported = 1, .features = htole64(IONIC_Q_FEAT_CQ),
			.desc_size = htole16(IONIC_REQ_SIZE), .comp_size = htole16(IONIC_RESP_SIZE),
		},
		[IONIC_Q_NOTIFY] = {
			.supported = 1, .features = htole64(IONIC_Q_FEAT_CQ),
			.desc_size = htole16(IONIC_NOTIFY_DESC_SIZE),
			.comp_size = htole16(sizeof(struct ionic_notify_event)),
		},
		[IONIC_Q_RX] = {
			.supported = 1, .features = htole64(sg | express(ionic, IONIC_EXPRESS_RQ)),
			.desc_size = htole16(sizeof(struct ionic_rx_desc)),
			.comp_size = htole16(sizeof(struct ionic_rx_comp)),
			.sg_size = htole16(IONIC_RX_SG_SLOT), .max_sg = htole16(IONIC_RX_SG_MAX),
			.sg_stride = htole16(IONIC_RX_SG_SLOT / sizeof(struct ionic_sg)),
		},
		/* version 1 is the one with 16 elements per slot */
		[IONIC_Q_TX] = {
			.version = 1, .supported = 3,
			.features = htole64(sg | express(ionic, IONIC_EXPRESS_SQ)),
			.desc_size = htole16(sizeof(struct ionic_tx_desc)),
			.comp_size = htole16(sizeof(struct ionic_tx_comp)),
			.sg_size = htole16(IONIC_TX_SG_SLOT), .max_sg = htole16(IONIC_TX_SG_MAX),
			.sg_stride = htole16(IONIC_TX_SG_SLOT / sizeof(struct ionic_sg)),
		},
	};

	if (le16toh(req->lif_type))
		return ionic_refuse(ionic, job, IONIC_EINVAL, "LIF type %u, must be 0",
				    le16toh(req->lif_type));
	if (req->type >= sizeof(identities) / sizeof(identities[0]))
		return IONIC_EQTYPE;
	put(ionic, &identities[req->type], sizeof(identities[0]));
	return IONIC_SUCCESS;
}

/* the plain window first, then one for each stride, 8 MiB apart whether all are there or not */
int ionic_cmd_discover_cmb(struct ionic *ionic, struct ionic_job *job)
{
	struct ionic_cmb_layout layout = { .flags = htole32(IONIC_CMB_EXPRESS) };
	unsigned int n = 0;

	if (!ionic_has_windows(&ionic->config))
		return ionic_refuse(ionic, job, IONIC_EOPCODE, "is not offered");
	for (unsigned int type = IONIC_CMB_PLAIN; type < IONIC_CMB_TYPES; type++) {
		if (type != IONIC_CMB_PLAIN && !(ionic->config.strides >> (type - 1) & 1))
			continue;
		layout.regions[n++] = (struct ionic_cmb_region){
			.bar = IONIC_BAR_CMB, .type = type,
			.offset = htole32(type * IONIC_CMB_LENGTH),
			.length = htole32(IONIC_CMB_LENGTH),
		};
	}
	layout.nregions = htole32(n);
	put(ionic, &layout, sizeof(layout));
	return IONIC_SUCCESS;
}
