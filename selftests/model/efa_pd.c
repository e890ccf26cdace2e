// SPDX-License-Identifier: GPL-2.0
/* Protection domains and user access regions: numbers that others refer to. */
#include <endian.h>
#include <stdlib.h>

#include "efa.h"

struct efa_pd *efa_pd_get(struct efa *efa, unsigned int num)
{
	return efa_table_get(&efa->pds, num);
}

struct efa_uar *efa_uar_get(struct efa *efa, unsigned int num)
{
	return efa_table_get(&efa->uars, num);
}

int efa_cmd_alloc_pd(struct efa *efa, struct efa_job *job)
{
	struct efa_alloc_pd_resp *resp = (void *)&job->resp;
	struct efa_pd *pd = calloc(1, sizeof(*pd));
	int num = pd ? efa_table_add(&efa->pds, pd) : -1;

	if (num < 0) {
		free(pd);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	pd->num = num;
	resp->pd = htole16(num);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_dealloc_pd(struct efa *efa, struct efa_job *job)
{
	const struct efa_dealloc_pd_cmd *cmd = (const void *)&job->cmd;
	unsigned int num = le16toh(cmd->pd);
	struct efa_pd *pd = efa_pd_get(efa, num);

	if (!pd)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no PD %u",
					num);
	if (pd->refs)
		return efa_refuse_stale(efa, job, EFA_ADMIN_RESOURCE_BUSY,
					"PD %u is used by %u QPs, MRs or AHs", num, pd->refs);
	efa_table_del(&efa->pds, num);
	free(pd);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_alloc_uar(struct efa *efa, struct efa_job *job)
{
	struct efa_alloc_uar_resp *resp = (void *)&job->resp;
	struct efa_uar *uar = calloc(1, sizeof(*uar));
	int num = uar ? efa_table_add(&efa->uars, uar) : -1;

	if (num < 0) {
		free(uar);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	uar->num = num;
	resp->uar = htole16(num);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_dealloc_uar(struct efa *efa, struct efa_job *job)
{
	const struct efa_dealloc_uar_cmd *cmd = (const void *)&job->cmd;
	unsigned int num = le16toh(cmd->uar);
	struct efa_uar *uar = efa_uar_get(efa, num);

	if (!uar)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no UAR %u",
					num);
	if (uar->refs)
		return efa_refuse_stale(efa, job, EFA_ADMIN_RESOURCE_BUSY,
					"UAR %u is used by %u QPs or CQs", num, uar->refs);
	efa_table_del(&efa->uars, num);
	free(uar);
	return EFA_ADMIN_SUCCESS;
}
