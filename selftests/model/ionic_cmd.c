// SPDX-License-Identifier: GPL-2.0
/*
 * One row per command: which of its bytes mean something, by which way it may
 * come, and what it needs. All others are checked to be zero.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "ionic.h"
#include "log.h"

#define BY_DEVCMD	1
#define BY_ADMINQ	2

/* one bit per byte of a field; opcodes are understood */
#define BYTES(type, field)						\
	(UINT64_MAX >> (64 - sizeof(((struct type *)0)->field)) << offsetof(struct type, field))
#define HEADER		BYTES(ionic_req, opcode)
#define RDMA_QUEUE							\
	~(BYTES(ionic_rdma_queue_req, reserved1) | BYTES(ionic_rdma_queue_req, reserved24))

static const struct command {
	const char *name;
	int (*run)(struct ionic *ionic, struct ionic_job *job);
	uint64_t bytes;
	uint8_t ways;
	bool uses_dma;
	bool needs_lif;			/* carries the number of a LIF, which must be live */
} commands[] = {
	[IONIC_OP_NOP] = { "nop", ionic_cmd_nop, 0, .ways = BY_DEVCMD | BY_ADMINQ },
	[IONIC_OP_IDENTIFY] = {
		"identify", ionic_cmd_identify, BYTES(ionic_identify_req, version),
		.ways = BY_DEVCMD,
	},
	[IONIC_OP_INIT] = { "init", ionic_cmd_init, 0, .ways = BY_DEVCMD },
	[IONIC_OP_RESET] = { "reset", ionic_cmd_reset, 0, .ways = BY_DEVCMD },
	[IONIC_OP_PORT_IDENTIFY] = {
		"port_identify", ionic_cmd_port_identify,
		BYTES(ionic_port_identify_req, port) | BYTES(ionic_port_identify_req, version),
		.ways = BY_DEVCMD,
	},
	[IONIC_OP_PORT_INIT] = {
		"port_init", ionic_cmd_port_init,
		BYTES(ionic_port_init_req, port) | BYTES(ionic_port_init_req, info_addr),
		.ways = BY_DEVCMD, .uses_dma = true,
	},
	[IONIC_OP_PORT_RESET] = {
		"port_reset", ionic_cmd_port_reset, BYTES(ionic_port_init_req, port),
		.ways = BY_DEVCMD,
	},
	[IONIC_OP_PORT_SETATTR] = {
		"port_setattr", ionic_cmd_port_setattr,
		BYTES(ionic_port_setattr_req, port) | BYTES(ionic_port_setattr_req, attr) |
		BYTES(ionic_port_setattr_req, value), .ways = BY_DEVCMD, .uses_dma = true,
	},
	[IONIC_OP_LIF_IDENTIFY] = {
		"lif_identify", ionic_cmd_lif_identify,
		BYTES(ionic_lif_identify_req, type) | BYTES(ionic_lif_identify_req, version),
		.ways = BY_DEVCMD,
	},
	[IONIC_OP_LIF_INIT] = {
		"lif_init", ionic_cmd_lif_init,
		BYTES(ionic_lif_init_req, type) | BYTES(ionic_lif_init_req, lif) |
		BYTES(ionic_lif_init_req, info_addr), .ways = BY_DEVCMD, .uses_dma = true,
	},
	/* may come to a LIF that is not live: drivers send it twice */
	[IONIC_OP_LIF_RESET] = {
		"lif_reset", ionic_cmd_lif_reset, BYTES(ionic_req, lif), .ways = BY_DEVCMD,
	},
	[IONIC_OP_LIF_GETATTR] = {
		"lif_getattr", ionic_cmd_lif_getattr,
		BYTES(ionic_lif_getattr_req, attr) | BYTES(ionic_lif_getattr_req, lif),
		.ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_LIF_SETATTR] = {
		"lif_setattr", ionic_cmd_lif_setattr,
		BYTES(ionic_lif_setattr_req, attr) | BYTES(ionic_lif_setattr_req, lif) |
		BYTES(ionic_lif_setattr_req, value), .ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_RX_MODE_SET] = {
		"rx_mode_set", ionic_cmd_rx_mode_set,
		BYTES(ionic_rx_mode_req, lif) | BYTES(ionic_rx_mode_req, mode),
		.ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_RX_FILTER_ADD] = {
		"rx_filter_add", ionic_cmd_rx_filter_add,
		BYTES(ionic_filter_add_req, qtype) | BYTES(ionic_filter_add_req, lif) |
		BYTES(ionic_filter_add_req, qid) | BYTES(ionic_filter_add_req, match) |
		BYTES(ionic_filter_add_req, value), .ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_RX_FILTER_DEL] = {
		"rx_filter_del", ionic_cmd_rx_filter_del,
		BYTES(ionic_filter_del_req, lif) | BYTES(ionic_filter_del_req, filter),
		.ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_Q_IDENTIFY] = {
		"q_identify", ionic_cmd_q_identify,
		BYTES(ionic_q_identify_req, lif_type) | BYTES(ionic_q_identify_req, type) |
		BYTES(ionic_q_identify_req, version), .ways = BY_DEVCMD,
	},
	[IONIC_OP_Q_INIT] = {
		"q_init", ionic_cmd_q_init,
		~(BYTES(ionic_q_init_req, reserved1) | BYTES(ionic_q_init_req, reserved6) |
		  BYTES(ionic_q_init_req, reserved44)),
		.ways = BY_DEVCMD | BY_ADMINQ, .uses_dma = true, .needs_lif = true,
	},
	[IONIC_OP_Q_CONTROL] = {
		"q_control", ionic_cmd_q_control,
		BYTES(ionic_q_control_req, type) | BYTES(ionic_q_control_req, lif) |
		BYTES(ionic_q_control_req, index) | BYTES(ionic_q_control_req, oper),
		.ways = BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_DISCOVER_CMB] = { "discover_cmb", ionic_cmd_discover_cmb, 0, .ways = BY_DEVCMD },
	[IONIC_OP_RDMA_RESET] = {
		"rdma_reset", ionic_cmd_rdma_reset, BYTES(ionic_rdma_reset_req, lif),
		.ways = BY_DEVCMD | BY_ADMINQ, .needs_lif = true,
	},
	[IONIC_OP_RDMA_CREATE_EQ] = {
		"rdma_create_eq", ionic_cmd_rdma_create_eq, RDMA_QUEUE, .ways = BY_ADMINQ,
		.needs_lif = true,
	},
	[IONIC_OP_RDMA_CREATE_CQ] = {
		"rdma_create_cq", ionic_cmd_rdma_create_cq, RDMA_QUEUE, .ways = BY_ADMINQ,
		.needs_lif = true,
	},
	[IONIC_OP_RDMA_CREATE_AQ] = {
		"rdma_create_aq", ionic_cmd_rdma_create_aq, RDMA_QUEUE, .ways = BY_ADMINQ,
		.needs_lif = true,
	},
	/* drivers send these when a user asks them to, so they are no mistake */
	[IONIC_OP_FW_DOWNLOAD] = {
		"fw_download", ionic_cmd_fw_update, UINT64_MAX, .ways = BY_DEVCMD,
	},
	[IONIC_OP_FW_CONTROL] = {
		"fw_control", ionic_cmd_fw_update, UINT64_MAX, .ways = BY_DEVCMD,
	},
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

#define CAN		INJECT_CAN
#define COMMAND(name)	{ #name, INJECT_COMMAND }
/* one that no admin queue takes, which could answer it twice */
#define DEVCMD(name)	{ #name, INJECT_COMMAND & ~CAN(DUP) }

const struct inject_point ionic_inject_points[] = {
	COMMAND(nop), DEVCMD(identify), DEVCMD(init), DEVCMD(reset), DEVCMD(port_identify),
	DEVCMD(port_init), DEVCMD(port_reset), DEVCMD(port_setattr), DEVCMD(lif_identify),
	DEVCMD(lif_init), DEVCMD(lif_reset), COMMAND(lif_getattr), COMMAND(lif_setattr),
	COMMAND(rx_mode_set), COMMAND(rx_filter_add), COMMAND(rx_filter_del), DEVCMD(q_identify),
	COMMAND(q_init), COMMAND(q_control), DEVCMD(discover_cmb), DEVCMD(fw_download),
	DEVCMD(fw_control), COMMAND(rdma_reset), COMMAND(rdma_create_eq), COMMAND(rdma_create_cq),
	COMMAND(rdma_create_aq),
	/* commands of the RDMA admin queues */
	COMMAND(create_cq), COMMAND(create_qp), COMMAND(create_mr), COMMAND(stats_hdrs),
	COMMAND(stats_vals), COMMAND(destroy_mr), COMMAND(destroy_cq), COMMAND(modify_qp),
	COMMAND(query_qp), COMMAND(destroy_qp), COMMAND(create_ah), COMMAND(destroy_ah),
	COMMAND(qp_stats_hdrs), COMMAND(qp_stats_vals),
	/* what is not a command */
	{ "admin_irq", CAN(DROP) },
	{ "send_completion", INJECT_COMPLETION },
	{ "recv_completion", INJECT_COMPLETION },
	{ "eq_entry", CAN(DROP) | CAN(CORRUPT) | CAN(DUP) },
	{ "eq_irq", CAN(DROP) },
	{ "stray_answer", CAN(FAIL) | CAN(CORRUPT) | CAN(DUP) },
	{ 0 }
};

static const struct command *find(unsigned int opcode)
{
	if (opcode >= COMMANDS || !commands[opcode].run)
		return NULL;
	return &commands[opcode];
}

bool ionic_cmd_uses_dma(unsigned int opcode)
{
	const struct command *command = find(opcode);

	return command && command->uses_dma;
}

static const char *way(const struct ionic_job *job)
{
	return job->devcmd ? "device command" : "admin command";
}

void ionic_object(struct ionic *ionic, const char *kind, const char *name, const char *fmt,
		  va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	model_violation(&ionic->dev, "%s %s: %s", kind, name,
			text ? text : "(no memory for the text)");
	free(text);
}

static const char *name_of(const struct ionic_job *job)
{
	const struct command *command = find(job->req.opcode);

	return command ? command->name : "unknown";
}

int ionic_refuse(struct ionic *ionic, const struct ionic_job *job, int status, const char *fmt, ...)
{
	va_list args;

	if (ionic->excused)
		return status;
	va_start(args, fmt);
	ionic_object(ionic, way(job), name_of(job), fmt, args);
	va_end(args);
	return status;
}

/* the same of what no driver sends whatever it was told: there is no excuse for that */
__attribute__((format(printf, 4, 5)))
static int refuse_form(struct ionic *ionic, const struct ionic_job *job, int status,
		       const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	ionic_object(ionic, way(job), name_of(job), fmt, args);
	va_end(args);
	return status;
}

/* what every command has in common */
static int check(struct ionic *ionic, const struct ionic_job *job, const struct command *command)
{
	const uint8_t *bytes = (const uint8_t *)&job->req;
	uint64_t used = command->bytes | HEADER;

	if (!(command->ways & (job->devcmd ? BY_DEVCMD : BY_ADMINQ)))
		return refuse_form(ionic, job, IONIC_EOPCODE, "must be %s",
				   job->devcmd ? "an admin command" : "a device command");
	for (unsigned int i = 0; i < IONIC_REQ_SIZE; i++)
		if (bytes[i] && !(used >> i & 1))
			return refuse_form(ionic, job, IONIC_EINVAL, "reserved byte %u is 0x%02x, "
					   "must be zero", i, bytes[i]);
	if (command->needs_lif && le16toh(job->req.lif))
		return refuse_form(ionic, job, IONIC_EINVAL, "LIF %u, must be 0",
				   le16toh(job->req.lif));
	if (command->needs_lif && !ionic->lif.live)
		return ionic_refuse(ionic, job, IONIC_EINVAL, "comes before lif_init");
	return IONIC_SUCCESS;
}

static int run(struct ionic *ionic, struct ionic_job *job, const struct command *command)
{
	int status;

	if (!command)
		return refuse_form(ionic, job, IONIC_EOPCODE, "opcode %u does not exist",
				   job->req.opcode);
	status = check(ionic, job, command);
	return status ? status : command->run(ionic, job);
}

/* The driver will not know, or know wrongly, what was done. Registers cannot answer twice. */
static bool misleads(const struct ionic_job *job)
{
	return job->injected && (job->hit.action == INJECT_DROP ||
				 job->hit.action == INJECT_CORRUPT ||
				 (job->hit.action == INJECT_DUP && !job->devcmd));
}

static void damage(struct ionic_resp *resp)
{
	for (size_t i = 0; i < sizeof(resp->data); i++)
		resp->data[i] ^= 0xff;
}

void ionic_cmd_run(struct ionic *ionic, struct ionic_job *job)
{
	const struct command *command = find(job->req.opcode);
	int status;

	if (command)
		job->injected = inject_match(&ionic->dev, command->name, &job->hit);
	if (job->injected && job->hit.action == INJECT_FAIL)
		status = job->hit.status;
	else if (job->injected && job->hit.action == INJECT_DROP)
		status = IONIC_SUCCESS;		/* nobody will see it */
	else
		status = run(ionic, job, command);
	job->resp.status = status;
	if (job->injected && job->hit.action == INJECT_CORRUPT)
		damage(&job->resp);
	if (misleads(job))
		ionic->excused = true;
	if (status)
		ionic->tally.cmd_errors++;
	log_trace(ionic->dev.name, "%s %s: status %d%s", way(job), name_of(job), status,
		  job->injected ? " (injected)" : "");
}
