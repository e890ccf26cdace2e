// SPDX-License-Identifier: GPL-2.0
/* Event counters of the later interface: 8 bytes of memory that follow events of QPs. */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"

#define SLOTS	(sizeof(((struct efa_qp *)0)->counters) / sizeof(((struct efa_qp *)0)->counters[0]))

static void store(struct efa *efa, struct efa_counter *counter)
{
	uint64_t value = htole64(counter->value);

	if (model_dma_write(&efa->dev, counter->addr, &value, sizeof(value)))
		model_violation(&efa->dev, "event counter %u at 0x%" PRIx64 " is not memory of the "
				"guest", counter->num, counter->addr);
}

/* wraps to 0 after the largest value */
static void add(struct efa *efa, struct efa_counter *counter, uint64_t n)
{
	uint64_t max = efa->config.counter_max;

	counter->value += n;
	if (max != UINT64_MAX)
		counter->value %= max + 1;
	store(efa, counter);
}

int efa_cmd_create_counter(struct efa *efa, struct efa_job *job)
{
	const struct efa_create_counter_cmd *cmd = (const void *)&job->cmd;
	struct efa_create_counter_resp *resp = (void *)&job->resp;
	struct efa_uar *uar = efa_uar_get(efa, le16toh(cmd->uar));
	uint64_t addr = le64toh(cmd->addr);
	struct efa_counter *counter;
	int num;

	if (!uar)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no UAR %u",
					le16toh(cmd->uar));
	if (addr % 8 || !efa_ring_reachable(efa, addr, 8))
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "count at 0x%" PRIx64 ": want 8 aligned bytes of guest memory",
				  addr);
	counter = calloc(1, sizeof(*counter));
	num = counter ? efa_table_add(&efa->counters, counter) : -1;
	if (num < 0) {
		free(counter);
		return EFA_ADMIN_RESOURCE_ALLOC;
	}
	counter->num = num;
	counter->uar = uar;
	counter->addr = addr;
	uar->refs++;
	resp->handle = htole32(num);
	return EFA_ADMIN_SUCCESS;
}

static struct efa_counter *counter_of(struct efa *efa, uint32_t handle)
{
	return efa_table_get(&efa->counters, handle);
}

static int unknown(struct efa *efa, const struct efa_job *job, uint32_t handle)
{
	return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "there is no event counter %u",
				handle);
}

int efa_cmd_destroy_counter(struct efa *efa, struct efa_job *job)
{
	const struct efa_destroy_counter_cmd *cmd = (const void *)&job->cmd;
	struct efa_counter *counter = counter_of(efa, le32toh(cmd->handle));

	if (!counter)
		return unknown(efa, job, le32toh(cmd->handle));
	if (counter->refs)
		return efa_refuse_stale(efa, job, EFA_ADMIN_RESOURCE_BUSY,
					"event counter %u is attached to %u QPs", counter->num,
					counter->refs);
	efa_counter_free(efa, counter);
	return EFA_ADMIN_SUCCESS;
}

void efa_counter_free(struct efa *efa, struct efa_counter *counter)
{
	counter->uar->refs--;
	efa_table_del(&efa->counters, counter->num);
	free(counter);
}

/* where @qp holds exactly this attachment, or NULL */
static uint32_t *slot_events(struct efa_qp *qp, uint32_t number, uint32_t events)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		if (qp->counters[i].events == events &&
		    qp->counters[i].number == number)
			return &qp->counters[i].events;
	return NULL;
}

/* counter and QP of an attach or detach command; a status */
static int both_ends(struct efa *efa, const struct efa_job *job, struct efa_counter **counter,
		     struct efa_qp **qp)
{
	const struct efa_attach_counter_cmd *cmd = (const void *)&job->cmd;
	uint32_t events = le32toh(cmd->events);

	*counter = counter_of(efa, le32toh(cmd->handle));
	*qp = efa_qp_by_handle(efa, le32toh(cmd->qp_handle));
	if (!*counter)
		return unknown(efa, job, le32toh(cmd->handle));
	if (cmd->attach_type != EFA_COUNTER_ATTACH_QP)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM, "attach type %u",
				  cmd->attach_type);
	if (!*qp)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"there is no QP handle 0x%x", le32toh(cmd->qp_handle));
	if (!events || events & ~efa->config.counter_events)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "events 0x%x, supported are 0x%" PRIx64, events,
				  efa->config.counter_events);
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_attach_counter(struct efa *efa, struct efa_job *job)
{
	const struct efa_attach_counter_cmd *cmd = (const void *)&job->cmd;
	struct efa_counter *counter;
	struct efa_qp *qp;
	int status = both_ends(efa, job, &counter, &qp);

	if (status)
		return status;
	for (unsigned int i = 0; i < SLOTS; i++) {
		if (qp->counters[i].events)
			continue;
		qp->counters[i].events = le32toh(cmd->events);
		qp->counters[i].number = counter->num;
		counter->refs++;
		return EFA_ADMIN_SUCCESS;
	}
	return EFA_ADMIN_RESOURCE_ALLOC;
}

int efa_cmd_detach_counter(struct efa *efa, struct efa_job *job)
{
	const struct efa_attach_counter_cmd *cmd = (const void *)&job->cmd;
	struct efa_counter *counter;
	struct efa_qp *qp;
	int status = both_ends(efa, job, &counter, &qp);
	uint32_t *events;

	if (status)
		return status;
	events = slot_events(qp, counter->num, le32toh(cmd->events));
	if (!events)
		return efa_refuse_stale(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
					"event counter %u is not attached to QP %u for events 0x%x",
					counter->num, qp->num, le32toh(cmd->events));
	*events = 0;
	counter->refs--;
	return EFA_ADMIN_SUCCESS;
}

int efa_cmd_modify_counter(struct efa *efa, struct efa_job *job)
{
	const struct efa_modify_counter_cmd *cmd = (const void *)&job->cmd;
	struct efa_counter *counter = counter_of(efa, le32toh(cmd->handle));
	uint64_t value = le64toh(cmd->value);

	if (!counter)
		return unknown(efa, job, le32toh(cmd->handle));
	if (cmd->operation > EFA_COUNTER_ADD || value > efa->config.counter_max)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "operation %u, value %" PRIu64, cmd->operation, value);
	if (cmd->operation == EFA_COUNTER_SET)
		counter->value = 0;
	add(efa, counter, value);
	return EFA_ADMIN_SUCCESS;
}

void efa_counter_detach_all(struct efa *efa, struct efa_qp *qp)
{
	for (unsigned int i = 0; i < SLOTS; i++) {
		if (!qp->counters[i].events)
			continue;
		counter_of(efa, qp->counters[i].number)->refs--;
		qp->counters[i].events = 0;
	}
}

void efa_count(struct efa *efa, struct efa_qp *qp, uint32_t event)
{
	for (unsigned int i = 0; i < SLOTS; i++)
		if (qp->counters[i].events & event)
			add(efa, counter_of(efa, qp->counters[i].number), 1);
}
