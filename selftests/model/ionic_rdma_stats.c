// SPDX-License-Identifier: GPL-2.0
/* Counters: a list of names with places, and pages of values, as the driver asks for them. */
#include <endian.h>
#include <string.h>

#include "ionic_rdma.h"

#define VALUES_MAX	32u

/* of the port; every value is little-endian with 64 bits, one after the other */
static const struct {
	const char *name;
	size_t offset;
} port_counters[] = {
#define COUNTER(field)	{ #field, offsetof(struct ionic_rdma_tally, field) }
	COUNTER(tx_packets), COUNTER(tx_bytes), COUNTER(rx_packets), COUNTER(rx_bytes),
	COUNTER(drops), COUNTER(wqes_send), COUNTER(wqes_write), COUNTER(wqes_read),
	COUNTER(wqes_atomic), COUNTER(rnr), COUNTER(naks), COUNTER(timeouts), COUNTER(retries),
	COUNTER(duplicates), COUNTER(cq_overruns),
};

#define PORT_COUNTERS	(sizeof(port_counters) / sizeof(port_counters[0]))

static const char *const qp_counters[] = { "messages_sent", "messages_received" };

#define QP_COUNTERS	(sizeof(qp_counters) / sizeof(qp_counters[0]))

static uint64_t port_value(const struct ionic_rdma *rdma, unsigned int i)
{
	return *(const uint64_t *)((const char *)&rdma->tally + port_counters[i].offset);
}

static void set_name(struct ionic_stats_header *header, unsigned int i, const char *name)
{
	header->type_offset = htobe32(HW_PREP(IONIC_STATS_TYPE, (uint32_t)IONIC_STATS_LE64) |
				      HW_PREP(IONIC_STATS_OFFSET, i * (uint32_t)sizeof(uint64_t)));
	strncpy((char *)header->name, name, sizeof(header->name) - 1);
}

/* the list ends with an entry of type 0 */
static int write_names(struct ionic *ionic, uint64_t addr, bool qp)
{
	struct ionic_stats_header headers[VALUES_MAX] = { 0 };
	unsigned int count = qp ? QP_COUNTERS : PORT_COUNTERS;

	for (unsigned int i = 0; i < count; i++)
		set_name(&headers[i], i, qp ? qp_counters[i] : port_counters[i].name);
	return ionic_write(ionic, addr, headers, (count + 1) * sizeof(headers[0]), "statistics");
}

static int write_port(struct ionic *ionic, uint64_t addr)
{
	uint64_t values[PORT_COUNTERS];

	for (unsigned int i = 0; i < PORT_COUNTERS; i++)
		values[i] = htole64(port_value(ionic->rdma, i));
	return ionic_write(ionic, addr, values, sizeof(values), "statistics");
}

static int write_qp(struct ionic *ionic, uint64_t addr, const struct ionic_qp *qp)
{
	uint64_t values[QP_COUNTERS] = { htole64(qp->sent), htole64(qp->received) };

	return ionic_write(ionic, addr, values, sizeof(values), "statistics");
}

/* is the set of that command offered? */
static bool offered(const struct ionic_config *config, unsigned int op)
{
	bool qp = op == IONIC_AQ_QP_STATS_HDRS || op == IONIC_AQ_QP_STATS_VALS;

	return config->rdma_stats & (qp ? IONIC_RDMA_STATS_QP : IONIC_RDMA_STATS_PORT);
}

enum ionic_aq_status ionic_aq_stats(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_stats *cmd = (const struct ionic_aq_stats *)job->bytes;
	struct ionic_qp *qp = ionic_qp_get(ionic, le32toh(cmd->qp));
	uint64_t addr = le64toh(cmd->addr);
	unsigned int op = cmd->header.op;
	int err;

	if (!offered(&ionic->config, op) || cmd->type_state ||
	    (op != IONIC_AQ_QP_STATS_VALS && cmd->qp) ||
	    le32toh(cmd->length) < VALUES_MAX * sizeof(struct ionic_stats_header))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "QP %u, %u bytes, state %u",
				       le32toh(cmd->qp), le32toh(cmd->length), cmd->type_state);
	switch (op) {
	case IONIC_AQ_STATS_HDRS:
	case IONIC_AQ_QP_STATS_HDRS:
		err = write_names(ionic, addr, op == IONIC_AQ_QP_STATS_HDRS);
		break;
	case IONIC_AQ_STATS_VALS:
		err = write_port(ionic, addr);
		break;
	default:
		/* choice: a counter may outlive its QPs, so a missing one is no mistake */
		if (!qp)
			return IONIC_AQ_BAD_INDEX;
		err = write_qp(ionic, addr, qp);
	}
	return err ? IONIC_AQ_BAD_ATTR : IONIC_AQ_OK;
}
