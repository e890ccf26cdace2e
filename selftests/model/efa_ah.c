// SPDX-License-Identifier: GPL-2.0
/* Address handles: numbers for peers, per protection domain. */
#include <endian.h>
#include <stdlib.h>

#include "efa.h"
#include "efa_net.h"

struct efa_ah *efa_ah_get(struct efa *efa, unsigned int num)
{
	return efa_table_get(&efa->ahs, num);
}

struct efa_ah *efa_ah_to(const struct efa_pd *pd, const struct efa_peer *peer)
{
	struct efa_ah *ah;

	LIST_FOREACH(ah, &peer->ahs, peer_link)
		if (ah->pd == pd)
			return ah;
	return NULL;
}

int efa_cmd_create_ah(struct efa *efa, struct efa_job *job)
{
	const struct efa_create_ah_cmd *cmd = (const void *)&job->cmd;
	struct efa_create_ah_resp *resp = (void *)&job->resp;
	struct efa_pd *pd = efa_pd_get(efa, le16toh(cmd->pd));
	struct efa_peer *peer;
	struct efa_ah *ah;
	int num;

	if (!pd)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no PD %u",
					le16toh(cmd->pd));
	peer = efa_peer_get(efa, cmd->dest_addr);
	ah = efa_ah_to(pd, peer);
	if (ah && efa->config.single_ah) {
		efa_peer_put(efa, peer);
		return EFA_ADMIN_ILLEGAL_PARAM;
	}
	if (ah) {
		efa_peer_put(efa, peer);
		ah->refs++;
		resp->ah = htole16(ah->num);
		return EFA_ADMIN_SUCCESS;
	}
	ah = calloc(1, sizeof(*ah));
	num = ah ? efa_table_add(&efa->ahs, ah) : -1;
	if (num < 0) {
		efa_peer_put(efa, peer);
		free(ah);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	ah->num = num;
	ah->refs = 1;
	ah->pd = pd;
	ah->peer = peer;
	LIST_INSERT_HEAD(&peer->ahs, ah, peer_link);
	pd->refs++;
	resp->ah = htole16(num);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_destroy_ah(struct efa *efa, struct efa_job *job)
{
	const struct efa_destroy_ah_cmd *cmd = (const void *)&job->cmd;
	unsigned int num = le16toh(cmd->ah);
	struct efa_ah *ah = efa_ah_get(efa, num);

	if (!ah || ah->pd->num != le16toh(cmd->pd))
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no AH %u of PD %u", num, le16toh(cmd->pd));
	if (--ah->refs)
		return EFA_ADMIN_SUCCESS;
	efa_net_flush_ah(efa, ah);
	efa_ah_free(efa, ah);
	return EFA_ADMIN_SUCCESS;
}

void efa_ah_free(struct efa *efa, struct efa_ah *ah)
{
	ah->pd->refs--;
	LIST_REMOVE(ah, peer_link);
	efa_peer_put(efa, ah->peer);
	efa_table_del(&efa->ahs, ah->num);
	free(ah);
}
