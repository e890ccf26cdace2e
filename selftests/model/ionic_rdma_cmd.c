// SPDX-License-Identifier: GPL-2.0
/* One row per command of the RDMA admin queues: its length and what must be zero in it. */
#include <endian.h>

#include "ionic_rdma.h"
#include "log.h"

#define KIND	"RDMA admin command"

const char *const ionic_aq_names[IONIC_AQ_OPS] = {
	[IONIC_AQ_CREATE_CQ] = "create_cq",
	[IONIC_AQ_CREATE_QP] = "create_qp",
	[IONIC_AQ_CREATE_MR] = "create_mr",
	[IONIC_AQ_STATS_HDRS] = "stats_hdrs",
	[IONIC_AQ_STATS_VALS] = "stats_vals",
	[IONIC_AQ_DESTROY_MR] = "destroy_mr",
	[IONIC_AQ_DESTROY_CQ] = "destroy_cq",
	[IONIC_AQ_MODIFY_QP] = "modify_qp",
	[IONIC_AQ_QUERY_QP] = "query_qp",
	[IONIC_AQ_DESTROY_QP] = "destroy_qp",
	[IONIC_AQ_CREATE_AH] = "create_ah",
	[IONIC_AQ_DESTROY_AH] = "destroy_ah",
	[IONIC_AQ_QP_STATS_HDRS] = "qp_stats_hdrs",
	[IONIC_AQ_QP_STATS_VALS] = "qp_stats_vals",
};

/* @zero: offset of a byte that must be zero, 0: none */
static const struct command {
	enum ionic_aq_status (*run)(struct ionic *ionic, const struct ionic_aq_job *job);
	uint8_t size;			/* with the header */
	uint8_t zero;
} commands[IONIC_AQ_OPS] = {
	[IONIC_AQ_CREATE_CQ] = { ionic_aq_create_cq, .size = sizeof(struct ionic_aq_create_cq) },
	[IONIC_AQ_CREATE_QP] = {
		ionic_aq_create_qp, .size = sizeof(struct ionic_aq_create_qp),
		.zero = offsetof(struct ionic_aq_create_qp, reserved67),
	},
	[IONIC_AQ_CREATE_MR] = { ionic_aq_create_mr, .size = sizeof(struct ionic_aq_create_mr) },
	[IONIC_AQ_STATS_HDRS] = { ionic_aq_stats, .size = sizeof(struct ionic_aq_stats) },
	[IONIC_AQ_STATS_VALS] = { ionic_aq_stats, .size = sizeof(struct ionic_aq_stats) },
	[IONIC_AQ_DESTROY_MR] = { ionic_aq_destroy_mr, .size = sizeof(struct ionic_aq_destroy) },
	[IONIC_AQ_DESTROY_CQ] = { ionic_aq_destroy_cq, .size = sizeof(struct ionic_aq_destroy) },
	[IONIC_AQ_MODIFY_QP] = {
		ionic_aq_modify_qp, .size = sizeof(struct ionic_aq_modify_qp),
		.zero = offsetof(struct ionic_aq_modify_qp, reserved42),
	},
	[IONIC_AQ_QUERY_QP] = { ionic_aq_query_qp, .size = sizeof(struct ionic_aq_query_qp) },
	[IONIC_AQ_DESTROY_QP] = { ionic_aq_destroy_qp, .size = sizeof(struct ionic_aq_destroy) },
	[IONIC_AQ_CREATE_AH] = { ionic_aq_create_ah, .size = sizeof(struct ionic_aq_create_ah) },
	[IONIC_AQ_DESTROY_AH] = { ionic_aq_destroy_ah, .size = sizeof(struct ionic_aq_destroy) },
	[IONIC_AQ_QP_STATS_HDRS] = { ionic_aq_stats, .size = sizeof(struct ionic_aq_stats) },
	[IONIC_AQ_QP_STATS_VALS] = { ionic_aq_stats, .size = sizeof(struct ionic_aq_stats) },
};

static const char *name_of(unsigned int op)
{
	return op < IONIC_AQ_OPS && ionic_aq_names[op] ? ionic_aq_names[op] : "unknown";
}

enum ionic_aq_status ionic_aq_refuse(struct ionic *ionic, const struct ionic_aq_job *job,
				     enum ionic_aq_status status, const char *fmt, ...)
{
	va_list args;

	if (ionic->excused)
		return status;
	va_start(args, fmt);
	ionic_object(ionic, KIND, name_of(job->bytes[0]), fmt, args);
	va_end(args);
	return status;
}

/* the same of what no driver sends whatever it was told: there is no excuse for that */
__attribute__((format(printf, 4, 5)))
static enum ionic_aq_status refuse_form(struct ionic *ionic, const struct ionic_aq_job *job,
					enum ionic_aq_status status, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	ionic_object(ionic, KIND, name_of(job->bytes[0]), fmt, args);
	va_end(args);
	return status;
}

static enum ionic_aq_status check(struct ionic *ionic, const struct ionic_aq_job *job)
{
	const struct ionic_aq_header *header = (const struct ionic_aq_header *)job->bytes;
	const struct command *command;

	if (header->op >= IONIC_AQ_OPS || !commands[header->op].run)
		return refuse_form(ionic, job, IONIC_AQ_BAD_CMD, "opcode %u does not exist",
				   header->op);
	if (header->op >= ionic->config.admin_opcodes)
		return ionic_aq_refuse(ionic, job, IONIC_AQ_BAD_CMD, "opcode %u is not offered",
				       header->op);
	command = &commands[header->op];
	if (header->reserved1 || le16toh(header->len) != command->size - IONIC_AQ_HEADER)
		return refuse_form(ionic, job, IONIC_AQ_BAD_CMD, "%u bytes behind the header, "
				   "must be %u", le16toh(header->len),
				   command->size - IONIC_AQ_HEADER);
	if (command->zero && job->bytes[command->zero])
		return refuse_form(ionic, job, IONIC_AQ_BAD_ATTR, "reserved byte %u is 0x%02x, "
				   "must be zero", command->zero, job->bytes[command->zero]);
	return IONIC_AQ_OK;
}

/*
 * The driver will not know what was done. A second answer misleads nobody: it names a slot
 * that is no longer the next one.
 */
static bool misleads(const struct ionic_aq_job *job)
{
	return job->injected && (job->hit.action == INJECT_DROP ||
				 job->hit.action == INJECT_CORRUPT);
}

enum ionic_aq_status ionic_aq_run(struct ionic *ionic, struct ionic_aq_job *job)
{
	unsigned int op = job->bytes[0];
	enum ionic_aq_status status;

	if (op < IONIC_AQ_OPS)
		ionic->rdma->tally.admin[op]++;
	if (op < IONIC_AQ_OPS && ionic_aq_names[op])
		job->injected = inject_match(&ionic->dev, ionic_aq_names[op], &job->hit);
	if (job->injected && job->hit.action == INJECT_FAIL) {
		status = job->hit.status;
	} else if (job->injected && job->hit.action == INJECT_DROP) {
		status = IONIC_AQ_OK;	/* nobody will see it */
	} else {
		status = check(ionic, job);
		if (!status)
			status = commands[op].run(ionic, job);
	}
	if (misleads(job))
		ionic->excused = true;
	log_trace(ionic->dev.name, "RDMA admin command %s: status %d%s", name_of(op), status,
		  job->injected ? " (injected)" : "");
	return status;
}
