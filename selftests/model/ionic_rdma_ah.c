// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles: header templates by number. Those of datagrams have commands of
 * their own; one of a connected QP comes with MODIFY_QP, may come again, and goes
 * with its QP.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ionic_rdma.h"

struct ionic_ah *ionic_ah_get(struct ionic *ionic, unsigned int id)
{
	return id < ionic->config.ahs ? ionic->rdma->ahs[id] : NULL;
}

void ionic_ah_free(struct ionic *ionic, struct ionic_ah *ah)
{
	ionic->rdma->ahs[ah->id] = NULL;
	free(ah);
}

static struct ionic_ah *new(struct ionic *ionic, unsigned int id)
{
	struct ionic_ah *ah = calloc(1, sizeof(*ah));

	if (ah) {
		ah->id = id;
		ionic->rdma->ahs[id] = ah;
	}
	return ah;
}

struct ionic_ah *ionic_ah_set(struct ionic *ionic, const struct ionic_aq_job *job, unsigned int id,
			      uint32_t pd, uint64_t addr, uint32_t len, unsigned int profile)
{
	uint8_t bytes[IONIC_WIRE_HEADER_MAX];
	struct ionic_wire_header header;
	struct ionic_ah *ah;
	const char *why;

	if (id >= ionic->config.ahs || len > sizeof(bytes)) {
		ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "address handle %u of %" PRIu64
				", template of %u bytes", id, ionic->config.ahs, len);
		return NULL;
	}
	if (ionic_read(ionic, addr, bytes, len, "header template"))
		return NULL;
	why = ionic_wire_header_parse(&header, bytes, len, profile);
	if (why) {
		ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "header template of %u bytes, "
				"profile %u, %s", len, profile, why);
		return NULL;
	}
	ah = ionic_ah_get(ionic, id);
	if (!ah)
		ah = new(ionic, id);
	if (!ah)
		return NULL;
	ah->pd = pd;
	ah->header = header;
	return ah;
}

enum ionic_aq_status ionic_aq_create_ah(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_create_ah *cmd = (const struct ionic_aq_create_ah *)job->bytes;
	unsigned int id = le32toh(cmd->ah);

	if (ionic_ah_get(ionic, id))
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "address handle %u exists",
				       id);
	if (cmd->pid || cmd->crypto)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_ATTR, "page %u, crypto %u, must "
				       "be 0 and 0", le16toh(cmd->pid), cmd->crypto);
	if (!ionic_ah_set(ionic, job, id, le32toh(cmd->pd), le64toh(cmd->hdr_addr),
			  le32toh(cmd->hdr_len), cmd->hdr_profile))
		return IONIC_AQ_BAD_ATTR;
	return IONIC_AQ_OK;
}

enum ionic_aq_status ionic_aq_destroy_ah(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_destroy *cmd = (const struct ionic_aq_destroy *)job->bytes;
	struct ionic_ah *ah = ionic_ah_get(ionic, le32toh(cmd->id));

	if (!ah)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_INDEX, "address handle %u does "
				       "not exist", le32toh(cmd->id));
	if (ah->of_qp)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_STATE, "address handle %u is that "
				       "of a connected QP", ah->id);
	ionic_ah_free(ionic, ah);
	return IONIC_AQ_OK;
}
