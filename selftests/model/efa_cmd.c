// SPDX-License-Identifier: GPL-2.0
/*
 * One row per admin command: its size, which of its bytes must be zero, what it
 * may refer to and what the adapter must offer for it to exist.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "efa.h"

/* bytes [off, off + len) of a command that are reserved */
struct hole {
	uint8_t off, len;
};

#define HOLES_MAX	4
#define HOLE(type, field) \
	{ offsetof(struct type, field), sizeof(((struct type *)0)->field) }

static const struct command {
	const char *name;
	int (*run)(struct efa *efa, struct efa_job *job);
	uint8_t size;			/* the rest of the entry is reserved too */
	struct hole holes[HOLES_MAX];
	uint8_t ctrl_flags;		/* EFA_AQ_CTRL_* that it may carry */
	uint32_t needs_cap;		/* EFA_DEV_CAP_* or 0 */
	bool needs_eq;
	bool removes;			/* see efa_cmd_removes() */
} commands[] = {
	[EFA_ADMIN_CREATE_QP] = {
		"create_qp", efa_cmd_create_qp, sizeof(struct efa_create_qp_cmd),
		{ HOLE(efa_create_qp_cmd, reserved59), HOLE(efa_create_qp_cmd, reserved60) },
	},
	[EFA_ADMIN_MODIFY_QP] = {
		"modify_qp", efa_cmd_modify_qp, sizeof(struct efa_modify_qp_cmd),
		{ HOLE(efa_modify_qp_cmd, reserved30) },
	},
	[EFA_ADMIN_QUERY_QP] = {
		"query_qp", efa_cmd_query_qp, sizeof(struct efa_query_qp_cmd),
	},
	[EFA_ADMIN_DESTROY_QP] = {
		"destroy_qp", efa_cmd_destroy_qp, sizeof(struct efa_destroy_qp_cmd),
		.removes = true,
	},
	[EFA_ADMIN_CREATE_AH] = {
		"create_ah", efa_cmd_create_ah, sizeof(struct efa_create_ah_cmd),
		{ HOLE(efa_create_ah_cmd, reserved22) },
	},
	[EFA_ADMIN_DESTROY_AH] = {
		"destroy_ah", efa_cmd_destroy_ah, sizeof(struct efa_destroy_ah_cmd),
		.removes = true,
	},
	[EFA_ADMIN_REG_MR] = {
		"reg_mr", efa_cmd_reg_mr, sizeof(struct efa_reg_mr_cmd),
		{ HOLE(efa_reg_mr_cmd, reserved6), HOLE(efa_reg_mr_cmd, reserved50) },
		.ctrl_flags = EFA_AQ_CTRL_DATA | EFA_AQ_CTRL_INDIRECT,
	},
	[EFA_ADMIN_DEREG_MR] = {
		"dereg_mr", efa_cmd_dereg_mr, sizeof(struct efa_dereg_mr_cmd),
		.removes = true,
	},
	[EFA_ADMIN_CREATE_CQ] = {
		"create_cq", efa_cmd_create_cq, sizeof(struct efa_create_cq_cmd),
		{ HOLE(efa_create_cq_cmd, reserved10) },
	},
	[EFA_ADMIN_DESTROY_CQ] = {
		"destroy_cq", efa_cmd_destroy_cq, sizeof(struct efa_destroy_cq_cmd),
		{ HOLE(efa_destroy_cq_cmd, reserved6) },
		.removes = true,
	},
	[EFA_ADMIN_GET_FEATURE] = {
		"get_feature", efa_cmd_get_feature, sizeof(struct efa_get_feature_cmd),
		{ HOLE(efa_get_feature_cmd, ctrl), HOLE(efa_get_feature_cmd, reserved16),
		  HOLE(efa_get_feature_cmd, reserved18), HOLE(efa_get_feature_cmd, reserved20) },
	},
	[EFA_ADMIN_SET_FEATURE] = {
		"set_feature", efa_cmd_set_feature, sizeof(struct efa_set_feature_cmd),
		{ HOLE(efa_set_feature_cmd, reserved16), HOLE(efa_set_feature_cmd, reserved18) },
		.ctrl_flags = EFA_AQ_CTRL_DATA,
	},
	[EFA_ADMIN_GET_STATS] = {
		"get_stats", efa_cmd_get_stats, sizeof(struct efa_get_stats_cmd),
		{ HOLE(efa_get_stats_cmd, ctrl) },
	},
	[EFA_ADMIN_ALLOC_PD] = {
		"alloc_pd", efa_cmd_alloc_pd, sizeof(struct efa_alloc_pd_cmd),
	},
	[EFA_ADMIN_DEALLOC_PD] = {
		"dealloc_pd", efa_cmd_dealloc_pd, sizeof(struct efa_dealloc_pd_cmd),
		{ HOLE(efa_dealloc_pd_cmd, reserved6) },
		.removes = true,
	},
	[EFA_ADMIN_ALLOC_UAR] = {
		"alloc_uar", efa_cmd_alloc_uar, sizeof(struct efa_alloc_uar_cmd),
	},
	[EFA_ADMIN_DEALLOC_UAR] = {
		"dealloc_uar", efa_cmd_dealloc_uar, sizeof(struct efa_dealloc_uar_cmd),
		{ HOLE(efa_dealloc_uar_cmd, reserved6) },
		.removes = true,
	},
	[EFA_ADMIN_CREATE_EQ] = {
		"create_eq", efa_cmd_create_eq, sizeof(struct efa_create_eq_cmd),
		{ HOLE(efa_create_eq_cmd, reserved20) },
		.needs_eq = true,
	},
	[EFA_ADMIN_DESTROY_EQ] = {
		"destroy_eq", efa_cmd_destroy_eq, sizeof(struct efa_destroy_eq_cmd),
		{ HOLE(efa_destroy_eq_cmd, reserved6) },
		.needs_eq = true,
		.removes = true,
	},
	[EFA_ADMIN_ALLOC_MR] = {
		"alloc_mr", efa_cmd_alloc_mr, sizeof(struct efa_alloc_mr_cmd),
		{ HOLE(efa_alloc_mr_cmd, reserved6) },
	},
	[EFA_ADMIN_CREATE_COUNTER] = {
		"create_counter", efa_cmd_create_counter, sizeof(struct efa_create_counter_cmd),
		{ HOLE(efa_create_counter_cmd, reserved6) },
		.needs_cap = EFA_DEV_CAP_EVENT_COUNTERS,
	},
	[EFA_ADMIN_DESTROY_COUNTER] = {
		"destroy_counter", efa_cmd_destroy_counter,
		sizeof(struct efa_destroy_counter_cmd),
		.needs_cap = EFA_DEV_CAP_EVENT_COUNTERS,
		.removes = true,
	},
	[EFA_ADMIN_ATTACH_COUNTER] = {
		"attach_counter", efa_cmd_attach_counter, sizeof(struct efa_attach_counter_cmd),
		{ HOLE(efa_attach_counter_cmd, reserved9) },
		.needs_cap = EFA_DEV_CAP_EVENT_COUNTERS,
	},
	[EFA_ADMIN_MODIFY_COUNTER] = {
		"modify_counter", efa_cmd_modify_counter, sizeof(struct efa_modify_counter_cmd),
		{ HOLE(efa_modify_counter_cmd, reserved9) },
		.needs_cap = EFA_DEV_CAP_EVENT_COUNTERS,
	},
	[EFA_ADMIN_DETACH_COUNTER] = {
		"detach_counter", efa_cmd_detach_counter, sizeof(struct efa_attach_counter_cmd),
		{ HOLE(efa_attach_counter_cmd, reserved9) },
		.needs_cap = EFA_DEV_CAP_EVENT_COUNTERS,
		.removes = true,
	},
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

#define CAN		INJECT_CAN
#define COMMAND(name)	{ #name, INJECT_COMMAND }

/* commands by their names above, and the points of other files */
const struct inject_point efa_inject_points[] = {
	COMMAND(create_qp), COMMAND(modify_qp), COMMAND(query_qp), COMMAND(destroy_qp),
	COMMAND(create_ah), COMMAND(destroy_ah), COMMAND(reg_mr), COMMAND(dereg_mr),
	COMMAND(create_cq), COMMAND(destroy_cq), COMMAND(get_feature), COMMAND(set_feature),
	COMMAND(get_stats), COMMAND(alloc_pd), COMMAND(dealloc_pd), COMMAND(alloc_uar),
	COMMAND(dealloc_uar), COMMAND(create_eq), COMMAND(destroy_eq), COMMAND(alloc_mr),
	COMMAND(create_counter), COMMAND(destroy_counter), COMMAND(attach_counter),
	COMMAND(modify_counter), COMMAND(detach_counter), COMMAND(unknown_command),
	{ "reg_read", CAN(FAIL) | CAN(DROP) | CAN(CORRUPT) },		/* efa_regs.c */
	{ "admin_irq", CAN(DROP) },					/* efa_admin.c */
	{ "stray_answer", CAN(FAIL) | CAN(CORRUPT) },
	{ "answer_id", CAN(FAIL) | CAN(CORRUPT) },
	{ "answer_body", CAN(FAIL) | CAN(CORRUPT) },
	{ "dma_command", CAN(FAIL) | CAN(DROP) },			/* efa.c */
	{ "dma_list", CAN(FAIL) | CAN(DROP) },
	{ "dma_payload", CAN(FAIL) | CAN(DROP) },
	{ "dma_receive", CAN(FAIL) | CAN(DROP) },
	{ "eq_irq", CAN(DROP) },					/* efa_eq.c */
	{ "eq_entry", CAN(DROP) | CAN(CORRUPT) },
	{ "send_completion", INJECT_COMPLETION },			/* efa_cq.c */
	{ "recv_completion", INJECT_COMPLETION },
	{ 0 }
};

const char *efa_cmd_name(unsigned int opcode)
{
	if (opcode >= COMMANDS || !commands[opcode].name)
		return "unknown_command";
	return commands[opcode].name;
}

bool efa_cmd_removes(unsigned int opcode)
{
	return opcode < COMMANDS && commands[opcode].removes;
}

static void record(struct efa *efa, const struct efa_job *job, const char *fmt, va_list args)
{
	char text[200];

	vsnprintf(text, sizeof(text), fmt, args);
	model_violation(&efa->dev, "%s (command id 0x%x): %s",
			efa_cmd_name(job->cmd.hdr.opcode), le16toh(job->cmd.hdr.command_id),
			text);
}

int efa_refuse(struct efa *efa, const struct efa_job *job, int status, const char *fmt, ...)
{
	bool told = status == EFA_ADMIN_ILLEGAL_PARAM || status == EFA_ADMIN_UNSUPPORTED_OPCODE;
	va_list args;

	/* no answer makes a driver forget how a command is put together */
	if (told && efa->admin.doubt == EFA_DOUBT_LIED)
		return status;
	va_start(args, fmt);
	record(efa, job, fmt, args);
	va_end(args);
	return status;
}

int efa_refuse_taken(struct efa *efa, const struct efa_job *job, uint64_t base, const char *owner)
{
	if (efa->admin.doubt < EFA_DOUBT_KEPT)
		return efa_refuse(efa, job, EFA_ADMIN_ILLEGAL_PARAM,
				  "ring 0x%" PRIx64 " overlaps the ring of %s", base, owner);
	return EFA_ADMIN_ILLEGAL_PARAM;
}

int efa_refuse_stale(struct efa *efa, const struct efa_job *job, int status, const char *fmt, ...)
{
	enum efa_doubt enough = status == EFA_ADMIN_RESOURCE_BUSY ? EFA_DOUBT_KEPT : EFA_DOUBT_LOST;
	va_list args;

	if (efa->admin.doubt >= enough)
		return status;
	va_start(args, fmt);
	record(efa, job, fmt, args);
	va_end(args);
	return status;
}

/* the first byte that must be zero and is not, or -1 */
static int stray_byte(const struct command *command, const uint8_t *entry)
{
	for (unsigned int i = 0; i < HOLES_MAX; i++)
		for (unsigned int j = 0; j < command->holes[i].len; j++)
			if (entry[command->holes[i].off + j])
				return command->holes[i].off + j;
	for (unsigned int i = command->size; i < EFA_ADMIN_ENTRY_SIZE; i++)
		if (entry[i])
			return i;
	return -1;
}

static int check(struct efa *efa, const struct efa_job *job, const struct command *command)
{
	uint8_t flags = job->cmd.hdr.flags & ~EFA_AQ_PHASE;
	int byte;

	if (flags & ~command->ctrl_flags || flags == EFA_AQ_CTRL_INDIRECT)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "flags 0x%x do not go with this command", job->cmd.hdr.flags);
	if (!efa->config.mbz)
		return EFA_ADMIN_SUCCESS;
	byte = stray_byte(command, (const uint8_t *)&job->cmd);
	if (byte >= 0)
		return efa_refuse(efa, job, EFA_ADMIN_MALFORMED,
				  "reserved byte %d is 0x%02x, must be zero", byte,
				  ((const uint8_t *)&job->cmd)[byte]);
	return EFA_ADMIN_SUCCESS;
}

static bool offered(const struct efa_config *config, const struct command *command)
{
	if (command->needs_eq)
		return config->features & 1u << EFA_FEATURE_EVENT_QUEUE_ATTR && config->max_eq;
	return !command->needs_cap || config->device_caps & command->needs_cap;
}

int efa_cmd_run(struct efa *efa, struct efa_job *job)
{
	unsigned int opcode = job->cmd.hdr.opcode;
	const struct command *command = &commands[opcode < COMMANDS ? opcode : 0];
	int status;

	if (!opcode)
		return efa_refuse(efa, job, EFA_ADMIN_BAD_OPCODE, "opcode 0");
	if (!command->run || !offered(&efa->config, command))
		return efa_refuse(efa, job, EFA_ADMIN_UNSUPPORTED_OPCODE,
				  "opcode %u is not offered by this adapter", opcode);
	status = check(efa, job, command);
	return status ? status : command->run(efa, job);
}
