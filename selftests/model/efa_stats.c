// SPDX-License-Identifier: GPL-2.0
/* GET_STATS */
#include <endian.h>

#include "efa.h"

static void put(struct efa_get_stats_resp *resp, const uint64_t *values, unsigned int n)
{
	uint8_t *to = resp->u.bytes;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t value = htole64(values[i]);

		__builtin_memcpy(to + 8 * i, &value, sizeof(value));
	}
}

#define PUT(resp, group)	put(resp, (const uint64_t *)&(group), sizeof(group) / 8)

int efa_cmd_get_stats(struct efa *efa, struct efa_job *job)
{
	const struct efa_get_stats_cmd *cmd = (const void *)&job->cmd;
	struct efa_get_stats_resp *resp = (void *)&job->resp;

	/* choice: per-queue statistics have no documented form, so there are none */
	if (cmd->scope != EFA_STATS_ALL || cmd->scope_modifier)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "scope %u, modifier %u: only scope 0 is defined", cmd->scope,
				  le16toh(cmd->scope_modifier));
	switch (cmd->type) {
	case EFA_STATS_BASIC:
		PUT(resp, efa->stats.basic);
		return EFA_ADMIN_SUCCESS;
	case EFA_STATS_MESSAGES:
		PUT(resp, efa->stats.messages);
		return EFA_ADMIN_SUCCESS;
	case EFA_STATS_RDMA_READ:
		PUT(resp, efa->stats.read);
		return EFA_ADMIN_SUCCESS;
	case EFA_STATS_RDMA_WRITE:
		if (!(efa->config.device_caps & EFA_DEV_CAP_RDMA_WRITE))
			break;
		PUT(resp, efa->stats.write);
		return EFA_ADMIN_SUCCESS;
	case EFA_STATS_NETWORK:
		/* adapters without such counters answer zeros */
		if (efa->config.network_stats)
			PUT(resp, efa->stats.network);
		return EFA_ADMIN_SUCCESS;
	}
	return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
			  "statistics type %u is not offered", cmd->type);
}
