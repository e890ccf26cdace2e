// SPDX-License-Identifier: GPL-2.0
/*
 * Completion event queues. An armed EQ raises its vector once at the next entry;
 * entries that came after the last interrupt and before the arm store raise it
 * at the arm store, or an event in between would be lost.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>

#include "efa.h"

int efa_cmd_create_eq(struct efa *efa, struct efa_job *job)
{
	const struct efa_create_eq_cmd *cmd = (const void *)&job->cmd;
	struct efa_create_eq_resp *resp = (void *)&job->resp;
	uint64_t base = le32toh(cmd->base_lo) | (uint64_t)le32toh(cmd->base_hi) << 32;
	uint32_t depth = le16toh(cmd->depth), events = le32toh(cmd->event_bitmask);
	uint64_t bytes = (uint64_t)depth * EFA_EQE_SIZE;
	struct efa_eq *eq;
	char owner[64];
	int num;

	if (cmd->caps & EFA_CREATE_EQ_CAPS_MBZ && efa->config.mbz)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED, "caps 0x%x", cmd->caps);
	if (HW_GET(EFA_CREATE_EQ_WORDS, cmd->caps) != EFA_EQE_SIZE / 4)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "entry size %u words, want 4",
				  HW_GET(EFA_CREATE_EQ_WORDS, cmd->caps));
	if (!efa_power_of_two(depth) || depth > efa->config.max_eq_depth)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "depth %u: want a power of two up to %" PRIu64, depth,
				  efa->config.max_eq_depth);
	if (!cmd->vector || cmd->vector >= efa->dev.vectors)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "vector %u: want 1 to %u", cmd->vector, efa->dev.vectors - 1);
	if (events & ~efa->config.eq_events || !events)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "event mask 0x%x, supported are 0x%" PRIx64, events,
				  efa->config.eq_events);
	if (!efa_ring_reachable(efa, base, bytes))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "ring 0x%" PRIx64 " is not memory of the guest", base);
	if (efa_ring_taken(efa, base, bytes, owner, sizeof(owner)))
		return efa_refuse_taken(efa, job, base, owner);

	eq = calloc(1, sizeof(*eq));
	num = eq ? efa_table_add(&efa->eqs, eq) : -1;
	if (num < 0) {
		free(eq);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	eq->num = num;
	eq->vector = cmd->vector;
	eq->base = base;
	eq->depth = depth;
	resp->eqn = htole16(num);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_destroy_eq(struct efa *efa, struct efa_job *job)
{
	const struct efa_destroy_eq_cmd *cmd = (const void *)&job->cmd;
	unsigned int num = le16toh(cmd->eqn);
	struct efa_eq *eq = efa_table_get(&efa->eqs, num);

	if (!eq)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no EQ %u",
					num);
	if (eq->refs)
		return efa_refuse_stale(efa, job, EFA_ADMIN_RESOURCE_BUSY,
					"EQ %u is used by %u CQs", num, eq->refs);
	efa_eq_free(efa, eq);
	return EFA_ADMIN_SUCCESS;
}

void efa_eq_free(struct efa *efa, struct efa_eq *eq)
{
	efa_table_del(&efa->eqs, eq->num);
	free(eq);
}

static void raise_irq(struct efa *efa, struct efa_eq *eq)
{
	struct inject_hit hit;

	eq->armed = false;
	eq->unseen = false;
	if (inject_match(&efa->dev, "eq_irq", &hit) && hit.action == INJECT_DROP)
		return;
	model_irq(&efa->dev, eq->vector);
}

void efa_eq_doorbell(struct efa *efa, uint32_t value)
{
	unsigned int num = HW_GET(EFA_EQ_DB_EQN, value);
	struct efa_eq *eq = efa_table_get(&efa->eqs, num);

	if (value & ~(EFA_EQ_DB_EQN | EFA_EQ_DB_ARM) || !(value & EFA_EQ_DB_ARM)) {
		model_violation(&efa->dev, "EQ_DB = 0x%x: want the EQ number and bit 31", value);
		return;
	}
	if (!eq) {
		model_violation(&efa->dev, "EQ_DB = 0x%x: there is no EQ %u", value, num);
		return;
	}
	eq->armed = true;
	eq->since_arm = 0;
	if (eq->unseen)
		raise_irq(efa, eq);
}

void efa_eq_event(struct efa *efa, struct efa_eq *eq, unsigned int cqn)
{
	uint32_t count = eq->produced;
	uint64_t to = eq->base + (uint64_t)(count % eq->depth) * EFA_EQE_SIZE;
	struct efa_eqe eqe = { .cqn = htole16(cqn) };
	struct inject_hit hit;

	if (inject_match(&efa->dev, "eq_entry", &hit)) {
		if (hit.action == INJECT_DROP)
			return;
		if (hit.action == INJECT_CORRUPT)
			eqe.cqn = htole16(~cqn);
	}
	if (eq->since_arm == eq->depth) {
		/* nothing tells what the driver has taken; not more than it has room for */
		model_violation(&efa->dev, "EQ %u: %u entries since it was armed, depth %u: make "
				"it as deep as there are CQs", eq->num, eq->since_arm + 1,
				eq->depth);
		return;
	}
	eq->produced++;
	eq->since_arm++;
	efa->tally.eq_events++;

	/* the byte with the phase comes last: pairs with the driver's dma_rmb() */
	if (model_dma_write(&efa->dev, to + 1, (char *)&eqe + 1, sizeof(eqe) - 1))
		goto fault;
	model_wmb(&efa->dev);
	eqe.common = htole32(count / eq->depth & 1 ? 0 : EFA_EQE_PHASE);
	if (model_dma_write(&efa->dev, to, &eqe.common, 1))
		goto fault;
	eq->unseen = true;
	if (eq->armed)
		raise_irq(efa, eq);
	return;
fault:
	model_violation(&efa->dev, "EQ %u: entry at 0x%" PRIx64 " is not memory of the guest",
			eq->num, to);
}
