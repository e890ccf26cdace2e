// SPDX-License-Identifier: GPL-2.0
/* Verbs of the control channel: what the adapter has seen, and faults on request. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"
#include "option.h"

/* ---- what was seen ----------------------------------------------------- */

static void print_admin(const struct efa_tally *tally, FILE *out)
{
	uint64_t total = 0, unknown = 0;

	for (unsigned int i = 0; i < sizeof(tally->admin) / sizeof(tally->admin[0]); i++) {
		total += tally->admin[i];
		if (efa_cmd_name(i) == efa_cmd_name(0))
			unknown += tally->admin[i];
		else if (tally->admin[i])
			fprintf(out, " admin_%s=%" PRIu64, efa_cmd_name(i), tally->admin[i]);
	}
	if (unknown)
		fprintf(out, " admin_%s=%" PRIu64, efa_cmd_name(0), unknown);
	fprintf(out, " admin=%" PRIu64 " admin_errors=%" PRIu64, total, tally->admin_errors);
}

static int stats(struct efa *efa, char **words, FILE *out)
{
	const struct efa_tally *t = &efa->tally;
	const struct efa_net_stats *s = &efa->stats;

	(void)words;
#define PUT(key, value)	fprintf(out, " " key "=%" PRIu64, (uint64_t)(value))
	fprintf(out, "wqes_send=%" PRIu64, t->wqes[EFA_OP_SEND]);
	PUT("wqes_read", t->wqes[EFA_OP_RDMA_READ]);
	PUT("wqes_write", t->wqes[EFA_OP_RDMA_WRITE]);
	PUT("wqes_inline", t->wqes_inline);
	PUT("wqes_wide", t->wqes_wide);
	PUT("wqe_hint0", t->wqes_hint[0]);
	PUT("wqe_hint1", t->wqes_hint[1]);
	PUT("wqe_hint2", t->wqes_hint[2]);
	PUT("wqe_hint3", t->wqes_hint[3]);
	PUT("max_batch", t->max_batch);
	PUT("doorbells_sq", t->doorbells_sq);
	PUT("doorbells_rq", t->doorbells_rq);
	PUT("doorbells_cq", t->doorbells_cq);
	PUT("cq_arms", t->arms_cq);
	PUT("cq_sn_mismatches", t->sn_mismatches);
	PUT("tx_bytes", s->basic.tx_bytes);
	PUT("tx_packets", s->basic.tx_pkts);
	PUT("rx_bytes", s->basic.rx_bytes);
	PUT("rx_packets", s->basic.rx_pkts);
	PUT("send_bytes", s->messages.send_bytes);
	PUT("recv_bytes", s->messages.recv_bytes);
	PUT("read_bytes", s->read.bytes);
	PUT("write_bytes", s->write.bytes);
	PUT("completions", t->completions);
	PUT("completions_error", t->completions_error);
	PUT("cq_overruns", t->cq_overruns);
	PUT("rnr", t->rnr);
	PUT("retries", t->retries);
	PUT("duplicates", t->duplicates);
	PUT("flushes", t->flushes);
	PUT("drops", t->drops);
	PUT("qkey_violations", s->basic.qkey_viol);
	print_admin(t, out);
	PUT("reg_reads", t->reg_reads);
	PUT("resets", t->resets);
	PUT("reset_reason", t->reset_reason);
	PUT("aenq_events", t->aenq_events);
	PUT("aenq_dropped", t->aenq_dropped);
	PUT("eq_events", t->eq_events);
	PUT("pd", efa->pds.used);
	PUT("uar", efa->uars.used);
	PUT("eq", efa->eqs.used);
	PUT("cq", efa->cqs.used);
	PUT("qp", efa->qps.used);
	PUT("mr", efa->mrs.used);
	PUT("mr_pages", efa->pages_used);
	PUT("ah", efa->ahs.used);
	PUT("counter", efa->counters.used);
#undef PUT
	return 0;
}

static int print_qps(struct efa *efa, char **words, FILE *out)
{
	unsigned int from = 0;
	struct efa_qp *qp;
	const char *space = "";

	(void)words;
	for (; (qp = efa_table_next(&efa->qps, &from)); space = " ")
		fprintf(out, "%s%u", space, qp->num);
	return 0;
}

static int print_cqs(struct efa *efa, char **words, FILE *out)
{
	unsigned int from = 0;
	struct efa_cq *cq;
	const char *space = "";

	(void)words;
	for (; (cq = efa_table_next(&efa->cqs, &from)); space = " ")
		fprintf(out, "%s%u", space, cq->num);
	return 0;
}

/* the number in words[0], the only word */
static int one_number(char **words, uint64_t max, uint64_t *number, FILE *out)
{
	struct option_key key = { "the object's number", words[0] };

	if (words[0] && !words[1])
		return option_number(&key, max, number, out);
	fputs("want one number", out);
	return -EINVAL;
}

static int print_qp(struct efa *efa, char **words, FILE *out)
{
	const struct efa_qp *qp;
	uint64_t num;

	if (one_number(words, UINT16_MAX, &num, out))
		return -EINVAL;
	qp = efa_qp_by_num(efa, num);
	if (!qp) {
		fprintf(out, "there is no QP %" PRIu64, num);
		return -ENOENT;
	}
	fprintf(out, "num=%u handle=0x%x type=%s state=%s pd=%u uar=%u sl=%u flags=0x%x qkey=0x%x "
		"rnr_retry=%u db_bar=%u send_cq=%u send_sub=%u recv_cq=%u recv_sub=%u", qp->num,
		qp->handle, qp->type == EFA_ADMIN_QP_UD ? "ud" : "srd",
		efa_qp_state_name(qp->state), qp->pd->num, qp->uar->num, qp->sl, qp->flags,
		qp->qkey, qp->rnr_retry, efa->db_bar, qp->send_cq->num, qp->send_sub,
		qp->recv_cq->num, qp->recv_sub);
	fprintf(out, " sq_depth=%u sq_entry=%u sq_bytes=%u sq_llq=0x%" PRIx64 " sq_db=0x%" PRIx64
		" sq_posted=%" PRIu64 " sq_started=%" PRIu64 " sq_completed=%" PRIu64,
		qp->sq.depth, qp->sq.wqe_size, qp->sq.depth * qp->sq.wqe_size, qp->sq.llq,
		qp->sq.db, qp->sq.posted, qp->sq.started, qp->sq.completed);
	fprintf(out, " rq_descs=%u rq_wrs=%u rq_entry=%u rq_base=0x%" PRIx64 " rq_db=0x%" PRIx64
		" rq_posted=%" PRIu64 " rq_fetched=%" PRIu64 " rq_consumed=%" PRIu64,
		qp->rq.descs, qp->rq.wrs, EFA_RX_DESC_SIZE, qp->rq.base, qp->rq.db, qp->rq.posted,
		qp->rq.fetched, qp->rq.consumed);
	return 0;
}

static int print_cq(struct efa *efa, char **words, FILE *out)
{
	const struct efa_cq *cq;
	uint64_t num;

	if (one_number(words, UINT16_MAX, &num, out))
		return -EINVAL;
	cq = efa_table_get(&efa->cqs, num);
	if (!cq) {
		fprintf(out, "there is no CQ %" PRIu64, num);
		return -ENOENT;
	}
	fprintf(out, "num=%u uar=%u base=0x%" PRIx64 " depth=%u entry=%u sub_cqs=%" PRIu64
		" bytes=%" PRIu64 " db=0x%" PRIx64 " db_valid=%u eq=%d src_addr=%u ids64=%u "
		"attached=%u produced=%" PRIu64 " consumed=%" PRIu64 " armed=%u arms=%" PRIu64
		" events=%u overruns=%" PRIu64, cq->num, cq->uar->num, cq->base, cq->depth,
		cq->entry_size, efa->config.sub_cqs,
		efa->config.sub_cqs * cq->depth * cq->entry_size,
		efa->db_base + efa->db_half + (uint64_t)cq->uar->num * EFA_DB_PAGE +
		cq->num * EFA_DB_CQ_STRIDE, cq->doorbell, cq->eq ? (int)cq->eq->num : -1,
		cq->src_addr, cq->ids64, cq->refs, cq->total, cq->consumed, cq->armed, cq->arms,
		cq->events, cq->overruns);
	for (unsigned int i = 0; i < efa->config.sub_cqs; i++)
		fprintf(out, " produced%u=%" PRIu64, i, cq->produced[i]);
	return 0;
}

static int print_mr(struct efa *efa, char **words, FILE *out)
{
	const struct efa_mr *mr;
	uint64_t key;

	if (one_number(words, UINT32_MAX, &key, out))
		return -EINVAL;
	mr = efa_mr_by_lkey(efa, key);
	if (!mr)
		mr = efa_mr_by_rkey(efa, key);
	if (!mr) {
		fprintf(out, "no MR has the key 0x%" PRIx64, key);
		return -ENOENT;
	}
	fprintf(out, "lkey=0x%x rkey=0x%x pd=%u iova=0x%" PRIx64 " length=%" PRIu64
		" page_shift=%u pages=%" PRIu64 " permissions=0x%x valid=%u", mr->lkey, mr->rkey,
		mr->pd->num, mr->iova, mr->length, mr->page_shift, mr->page_count,
		mr->permissions, mr->valid);
	if (mr->valid && mr->page_count)
		fprintf(out, " first=0x%" PRIx64 " last=0x%" PRIx64, mr->pages[0],
			mr->pages[mr->page_count - 1]);
	return 0;
}

static int print_ah(struct efa *efa, char **words, FILE *out)
{
	const struct efa_ah *ah;
	uint64_t num;

	if (one_number(words, UINT16_MAX, &num, out))
		return -EINVAL;
	ah = efa_ah_get(efa, num);
	if (!ah) {
		fprintf(out, "there is no AH %" PRIu64, num);
		return -ENOENT;
	}
	fprintf(out, "num=%u pd=%u refs=%u gid=", ah->num, ah->pd->num, ah->refs);
	for (unsigned int i = 0; i < EFA_GID_SIZE; i++)
		fprintf(out, "%02x", ah->peer->gid[i]);
	return 0;
}

/* ---- faults ------------------------------------------------------------ */

static int aenq(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = {
		{ .key = "group" }, { .key = "syndrome" }, { .key = "count" },
		{ .key = "overrun" }, { .key = NULL },
	};
	uint64_t group = EFA_AENQ_KEEP_ALIVE, syndrome = 0, count = 1, overrun = 0, sent = 0;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[0], UINT16_MAX, &group, out) ||
	    option_number(&keys[1], UINT16_MAX, &syndrome, out) ||
	    option_number(&keys[2], 1024, &count, out) ||
	    option_number(&keys[3], 1, &overrun, out))
		return -EINVAL;
	while (count--)
		sent += overrun ? efa_aenq_overrun(efa, group, syndrome) :
				  efa_aenq_event(efa, group, syndrome);
	fprintf(out, "sent=%" PRIu64, sent);
	return 0;
}

static int fatal(struct efa *efa, char **words, FILE *out)
{
	(void)words;
	efa->regs.status |= EFA_DEV_STS_FATAL_ERROR;
	fprintf(out, "sent=%u", efa_aenq_event(efa, EFA_AENQ_FATAL, 0));
	return 0;
}

static int ready(struct efa *efa, char **words, FILE *out)
{
	uint64_t on;

	if (one_number(words, 1, &on, out))
		return -EINVAL;
	efa->regs.not_ready = !on;
	return 0;
}

static int reset_fault(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = { { .key = "stuck" }, { .key = NULL } };
	const char *stuck;

	if (option_parse(keys, words, out))
		return -EINVAL;
	stuck = keys[0].value ? keys[0].value : "";
	if (strcmp(stuck, "on") && strcmp(stuck, "off") && strcmp(stuck, "none")) {
		fputs("want stuck=on (never ends), stuck=off (never begins) or stuck=none", out);
		return -EINVAL;
	}
	efa->regs.stuck_on = !strcmp(stuck, "on");
	efa->regs.stuck_off = !strcmp(stuck, "off");
	model_kick(&efa->dev);
	return 0;
}

static int stray_answer(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = { { .key = "id" }, { .key = "status" }, { .key = NULL } };
	uint64_t id = 0, status = 0;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[0], UINT16_MAX, &id, out) ||
	    option_number(&keys[1], UINT8_MAX, &status, out))
		return -EINVAL;
	efa_admin_stray(efa, id, status);
	return 0;
}

static int force_status(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = {
		{ .key = "qp" }, { .key = "status" }, { .key = "count" }, { .key = NULL },
	};
	uint64_t num = UINT16_MAX + 1, status = 0, count = 1;
	struct efa_qp *qp;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[0], UINT16_MAX, &num, out) ||
	    option_number(&keys[1], UINT8_MAX, &status, out) ||
	    option_number(&keys[2], UINT32_MAX, &count, out))
		return -EINVAL;
	qp = efa_qp_by_num(efa, num);
	if (!qp) {
		fputs("want qp=N with the number of a live QP", out);
		return -ENOENT;
	}
	qp->forced_status = status;
	qp->forced_count = count;
	return 0;
}

static int lie(struct efa *efa, char **words, FILE *out)
{
	static const char *const names[] = { "none", "sq_db", "rq_db", "cq_db", "llq", "cq_reg" };

	for (unsigned int i = 0; words[0] && !words[1] && i < sizeof(names) / sizeof(names[0]);
	     i++) {
		if (!strcmp(words[0], names[i])) {
			efa->lie = i;
			return 0;
		}
	}
	fputs("want the offset to tell wrong: sq_db, rq_db, cq_db, llq, cq_reg or none", out);
	return -EINVAL;
}

/* an event that nothing caused, on the queue where it belongs or on another */
static int send_event(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = { { .key = "cq" }, { .key = "eq" }, { .key = NULL } };
	uint64_t cqn = UINT16_MAX + 1, eqn = 0;
	struct efa_cq *cq;
	struct efa_eq *eq;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[0], UINT16_MAX, &cqn, out) ||
	    option_number(&keys[1], UINT16_MAX, &eqn, out))
		return -EINVAL;
	cq = efa_table_get(&efa->cqs, cqn);
	eq = keys[1].value ? efa_table_get(&efa->eqs, eqn) : cq ? cq->eq : NULL;
	if (!cq || !eq) {
		fputs("want cq=N with the number of a live CQ, and eq=N, or a CQ with one", out);
		return -ENOENT;
	}
	efa_eq_event(efa, eq, cqn);
	return 0;
}

static int set(struct efa *efa, char **words, FILE *out)
{
	struct efa_config config = efa->config;
	int err = efa_config_set(&config, words, out);

	if (!err)
		efa->config = config;
	model_kick(&efa->dev);
	return err;
}

static int get(struct efa *efa, char **words, FILE *out)
{
	return efa_config_get(&efa->config, words[0] && !words[1] ? words[0] : NULL, out);
}

/* an interrupt without a reason */
static int interrupt(struct efa *efa, char **words, FILE *out)
{
	struct option_key keys[] = { { .key = "vector" }, { .key = "count" }, { .key = NULL } };
	uint64_t vector = 0, count = 1;

	if (option_parse(keys, words, out) ||
	    option_number(&keys[0], efa->dev.vectors - 1, &vector, out) ||
	    option_number(&keys[1], 1024, &count, out))
		return -EINVAL;
	while (count--)
		model_irq(&efa->dev, vector);
	return 0;
}

/* texts in quotes, as they contain blanks */
static int print_host(struct efa *efa, char **words, FILE *out)
{
	const struct efa_host_info *host = &efa->host_info;

	(void)words;
	fprintf(out, "os_type=%u kernel_ver=0x%x driver_ver=0x%x bdf=0x%x spec_ver=0x%x flags=0x%x "
		"os_dist='%.*s' kernel='%.*s'", le32toh(host->os_type), le32toh(host->kernel_ver),
		le32toh(host->driver_ver), le16toh(host->bdf), le16toh(host->spec_ver),
		le32toh(host->flags), (int)sizeof(host->os_dist), host->os_dist,
		(int)sizeof(host->kernel_ver_str), host->kernel_ver_str);
	return 0;
}

/* ---- dispatch ---------------------------------------------------------- */

static int help(struct efa *efa, char **words, FILE *out);

static const struct verb {
	const char *name;
	int (*run)(struct efa *efa, char **words, FILE *out);
	const char *usage;		/* words behind the name; NULL: none are taken */
} verbs[] = {
	{ "stats", stats, NULL },
	{ "qps", print_qps, NULL },
	{ "cqs", print_cqs, NULL },
	{ "qp", print_qp, "N" },
	{ "cq", print_cq, "N" },
	{ "mr", print_mr, "KEY" },
	{ "ah", print_ah, "N" },
	{ "aenq", aenq, "group=N [syndrome=N] [count=N] [overrun=1]" },
	{ "fatal", fatal, NULL },
	{ "ready", ready, "0|1" },
	{ "reset", reset_fault, "stuck=on|off|none" },
	{ "answer", stray_answer, "id=N [status=N]" },
	{ "complete", force_status, "qp=N status=N [count=N]" },
	{ "lie", lie, "sq_db|rq_db|cq_db|llq|cq_reg|none" },
	{ "irq", interrupt, "vector=N [count=N]" },
	{ "event", send_event, "cq=N [eq=N]" },
	{ "host", print_host, NULL },
	{ "get", get, "KEY" },
	{ "set", set, "KEY=VALUE..." },
	{ "help", help, NULL },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

static void print_usage(const struct verb *verb, FILE *out)
{
	fprintf(out, "%s%s%s", verb->name, verb->usage ? " " : "", verb->usage ? verb->usage : "");
}

/* what the slot does not describe itself */
static int help(struct efa *efa, char **words, FILE *out)
{
	const char *separator = "";

	(void)efa;
	(void)words;
	for (unsigned int i = 0; i < VERBS; i++) {
		if (!strcmp(verbs[i].name, "stats") || !strcmp(verbs[i].name, "help"))
			continue;
		fputs(separator, out);
		print_usage(&verbs[i], out);
		separator = "; ";
	}
	return 0;
}

/* a verb that takes words wants one at least, another takes none */
static int run(const struct verb *verb, struct efa *efa, char **words, FILE *out)
{
	if (!verb->usage == !words[0])
		return verb->run(efa, words, out);
	fputs("usage: ", out);
	print_usage(verb, out);
	return -EINVAL;
}

int efa_control(struct model_device *dev, int argc, char **argv, FILE *out)
{
	char **words = calloc(argc, sizeof(*words));
	int err = -ENOSYS;

	if (!words)
		return -ENOMEM;
	/* option_parse() wants the list ended by NULL */
	memcpy(words, argv + 1, (argc - 1) * sizeof(*words));
	for (unsigned int i = 0; i < VERBS; i++)
		if (!strcmp(argv[0], verbs[i].name))
			err = run(&verbs[i], efa_of(dev), words, out);
	free(words);
	return err;
}
