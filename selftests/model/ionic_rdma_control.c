// SPDX-License-Identifier: GPL-2.0
/* Verbs of the control channel about RDMA objects. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ionic_rdma.h"
#include "option.h"

/* ---- counters --------------------------------------------------------------------- */

static void print_admin(const struct ionic_rdma_tally *tally, FILE *out)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < IONIC_AQ_OPS; i++) {
		total += tally->admin[i];
		if (tally->admin[i] && ionic_aq_names[i])
			fprintf(out, " admin_%s=%" PRIu64, ionic_aq_names[i], tally->admin[i]);
	}
	fprintf(out, " admin=%" PRIu64 " admin_errors=%" PRIu64, total, tally->admin_errors);
}

/* entries of a table of pointers that are not NULL */
static uint64_t live(void *const *table, uint64_t size)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < size; i++)
		n += table[i] != NULL;
	return n;
}

static void print_objects(const struct ionic *ionic, FILE *out)
{
	const struct ionic_config *config = &ionic->config;
	const struct ionic_rdma *rdma = ionic->rdma;
	uint64_t eqs = 0;

	for (unsigned int i = 0; i < config->eqs; i++)
		eqs += rdma->eqs[i].live;
	fprintf(out, " eq=%" PRIu64 " cq=%" PRIu64 " qp=%" PRIu64 " mr=%" PRIu64 " ah=%" PRIu64
		" mr_pages=%" PRIu64, eqs, live((void **)rdma->cqs, config->cqs),
		live((void **)rdma->qps, config->qps), live((void **)rdma->mrs, config->mrs),
		live((void **)rdma->ahs, config->ahs), rdma->page_table_used);
}

void ionic_rdma_print_stats(const struct ionic *ionic, FILE *out)
{
	const struct ionic_rdma_tally *t = &ionic->rdma->tally;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "wqes_send", t->wqes_send }, { "wqes_write", t->wqes_write },
		{ "wqes_read", t->wqes_read }, { "wqes_atomic", t->wqes_atomic },
		{ "wqes_local", t->wqes_local }, { "wqes_recv", t->wqes_recv },
		{ "wqes_inline", t->wqes_inline }, { "wqes_spec", t->wqes_spec },
		{ "doorbells_sq", t->doorbells_sq }, { "doorbells_rq", t->doorbells_rq },
		{ "doorbells_cq", t->doorbells_cq }, { "cq_arms", t->cq_arms },
		{ "aq_arms", t->aq_arms },
		{ "doorbells_express", t->doorbells_express },
		{ "doorbells_stray", t->doorbells_stray },
		{ "completions", t->completions }, { "completions_error", t->completions_error },
		{ "cq_overruns", t->cq_overruns }, { "flushes", t->flushes },
		{ "eq_events", t->eq_events },
		{ "tx_packets", t->tx_packets }, { "tx_bytes", t->tx_bytes },
		{ "rx_packets", t->rx_packets }, { "rx_bytes", t->rx_bytes },
		{ "drops", t->drops }, { "hop_drops", t->hop_drops }, { "rnr", t->rnr }, { "naks", t->naks },
		{ "timeouts", t->timeouts }, { "retries", t->retries },
		{ "duplicates", t->duplicates }, { "cmb_pages", t->cmb_pages },
		{ "cmb_bytes", t->cmb_bytes },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, " %s=%" PRIu64, rows[i].name, rows[i].value);
	print_admin(t, out);
	print_objects(ionic, out);
}

/* ---- objects ---------------------------------------------------------------------- */

static int print_qps(struct ionic *ionic, char **words, FILE *out)
{
	const char *space = "";

	(void)words;
	for (unsigned int i = 0; i < ionic->config.qps; i++) {
		if (!ionic->rdma->qps[i])
			continue;
		fprintf(out, "%s%u", space, i);
		space = " ";
	}
	return 0;
}

static int print_cqs(struct ionic *ionic, char **words, FILE *out)
{
	const char *space = "";

	(void)words;
	for (unsigned int i = 0; i < ionic->config.cqs; i++) {
		if (!ionic->rdma->cqs[i])
			continue;
		fprintf(out, "%s%u", space, i);
		space = " ";
	}
	return 0;
}

/* the number in words[0], the only word */
static int one_number(char **words, uint64_t *number, FILE *out)
{
	struct option_key key = { "the object's number", words[0] };

	if (words[0] && !words[1])
		return option_number(&key, UINT32_MAX, number, out);
	fputs("want one number", out);
	return -EINVAL;
}

static int missing(const char *what, uint64_t number, FILE *out)
{
	fprintf(out, "there is no %s %" PRIu64, what, number);
	return -ENOENT;
}

static const char *type_name(enum ionic_qp_type type)
{
	return type == IONIC_QPT_RC ? "rc" : type == IONIC_QPT_UC ? "uc" : "ud";
}

static const char *state_name(enum ionic_qp_state state)
{
	static const char *const names[] = {
		[IONIC_QPS_RESET] = "reset", [IONIC_QPS_INIT] = "init", [IONIC_QPS_RTR] = "rtr",
		[IONIC_QPS_RTS] = "rts", [IONIC_QPS_SQD] = "sqd", [IONIC_QPS_SQE] = "sqe",
		[IONIC_QPS_ERR] = "err",
	};

	return names[state];
}

static void print_wq(const char *name, const struct ionic_wq *wq, FILE *out)
{
	if (!wq->cq)
		return;
	fprintf(out, " %s_cq=%u %s_depth=%u %s_stride=%u %s_addr=0x%" PRIx64 " %s_pages=%u "
		"%s_cmb=%d %s_window=%u %s_spec=%d %s_posted=%u %s_next=%u", name, wq->cq->id,
		name, 1u << wq->depth_log2, name, 1u << wq->stride_log2, name, wq->mem.pages[0],
		name, wq->mem.count, name, wq->mem.cmb, name, wq->window, name, wq->spec, name,
		wq->posted, name, wq->next);
}

static int print_qp(struct ionic *ionic, char **words, FILE *out)
{
	const struct ionic_qp *qp;
	uint64_t number;

	if (one_number(words, &number, out))
		return -EINVAL;
	qp = ionic_qp_get(ionic, number);
	if (!qp)
		return missing("QP", number, out);
	fprintf(out, "num=%u type=%s state=%s pd=%u pid=%u flags=0x%x qkey=0x%x dest=%u mtu=%u "
		"timeout=%u retry=%u rnr_retry=%u rnr_timer=%u rrq=%u rsq=%u ah=%d", qp->id,
		type_name(qp->type), state_name(qp->state), qp->pd, qp->pid, qp->attr.flags,
		qp->attr.qkey, qp->attr.dest_qpn, 1u << qp->attr.pmtu_log2, qp->attr.timeout,
		qp->attr.retry, qp->attr.rnr_retry, qp->attr.rnr_timer, qp->attr.rrq_depth_log2,
		qp->attr.rsq_depth_log2, qp->attr.has_ah ? (int)qp->attr.ah : -1);
	fprintf(out, " send_psn=%u acked_psn=%u recv_psn=%u msn=%u sq_head=%u sent=%" PRIu64
		" received=%" PRIu64, qp->req.next_psn, qp->req.una, qp->rsp.psn, qp->req.msn,
		qp->req.head, qp->sent, qp->received);
	print_wq("sq", &qp->sq, out);
	print_wq("rq", &qp->rq, out);
	return 0;
}

static int print_cq(struct ionic *ionic, char **words, FILE *out)
{
	const struct ionic_cq *cq;
	uint64_t number;

	if (one_number(words, &number, out))
		return -EINVAL;
	cq = ionic_cq_get(ionic, number);
	if (!cq)
		return missing("CQ", number, out);
	fprintf(out, "num=%u eq=%u pid=%u depth=%u addr=0x%" PRIx64 " pages=%u attached=%u "
		"produced=%u consumed=%u armed=%d armed_solicited=%d overrun=%d", cq->id,
		cq->eq->id, cq->pid, 1u << cq->depth_log2, cq->mem.pages[0], cq->mem.count,
		cq->refs, cq->prod, cq->cons, cq->arm_prod != cq->arm_cons,
		cq->sol_prod != cq->sol_cons, cq->overrun);
	return 0;
}

static int print_mr(struct ionic *ionic, char **words, FILE *out)
{
	const struct ionic_mr *mr = NULL;
	uint64_t key;

	if (one_number(words, &key, out))
		return -EINVAL;
	if (HW_GET(IONIC_KEY_MR, (uint32_t)key) < ionic->config.mrs)
		mr = ionic->rdma->mrs[HW_GET(IONIC_KEY_MR, (uint32_t)key)];
	if (!mr)
		return missing("key", key, out);
	fprintf(out, "key=0x%x pd=%u flags=0x%x valid=%d va=0x%" PRIx64 " length=%" PRIu64
		" page_shift=%u pages=%u first=0x%" PRIx64 " windows=%u", mr->key, mr->pd,
		mr->flags, mr->valid, mr->va, mr->length, mr->mem.page_log2, mr->mem.count,
		mr->mem.count ? mr->mem.pages[0] : 0, mr->windows);
	return 0;
}

/* the template too, for those who want to know what is in front of their packets */
static int print_ah(struct ionic *ionic, char **words, FILE *out)
{
	const struct ionic_ah *ah;
	uint64_t number;

	if (one_number(words, &number, out))
		return -EINVAL;
	ah = ionic_ah_get(ionic, number);
	if (!ah)
		return missing("address handle", number, out);
	fprintf(out, "num=%u pd=%u vlan=%d ipv4=%d header=", ah->id, ah->pd, ah->header.vlan,
		ah->header.ipv4);
	for (size_t i = 0; i < ah->header.len; i++)
		fprintf(out, "%02x", ah->header.bytes[i]);
	return 0;
}

/* ---- faults ----------------------------------------------------------------------- */

static int force_completions(struct ionic *ionic, char **words, FILE *out)
{
	enum { QP, STATUS, COUNT };
	struct option_key keys[] = {
		[QP] = { "qp", NULL }, [STATUS] = { "status", NULL }, [COUNT] = { "count", NULL },
		{ 0 }
	};
	uint64_t number = 0, status = 0, count = 1;
	struct ionic_qp *qp;

	if (option_parse(keys, words, out) || option_number(&keys[QP], UINT32_MAX, &number, out) ||
	    option_number(&keys[STATUS], UINT8_MAX, &status, out) ||
	    option_number(&keys[COUNT], UINT32_MAX, &count, out))
		return -EINVAL;
	qp = ionic_qp_get(ionic, number);
	if (!qp || !status) {
		fputs("want qp= of a live QP and status= that is not 0", out);
		return -EINVAL;
	}
	qp->forced_status = status;
	qp->forced_count = count;
	return 0;
}

/* an event that nothing caused */
static int send_event(struct ionic *ionic, char **words, FILE *out)
{
	enum { QP, CQ, CODE, TYPE };
	struct option_key keys[] = {
		[QP] = { "qp", NULL }, [CQ] = { "cq", NULL }, [CODE] = { "code", NULL },
		[TYPE] = { "type", NULL }, { 0 }
	};
	uint64_t qp = 0, cq = 0, code = 0, type = IONIC_EQE_CQ;

	if (option_parse(keys, words, out) || option_number(&keys[QP], UINT32_MAX, &qp, out) ||
	    option_number(&keys[CQ], UINT32_MAX, &cq, out) ||
	    option_number(&keys[CODE], 15, &code, out) ||
	    option_number(&keys[TYPE], 7, &type, out))
		return -EINVAL;
	if (keys[QP].value && !keys[CQ].value && !keys[TYPE].value && ionic_qp_get(ionic, qp)) {
		ionic_qp_event(ionic, ionic_qp_get(ionic, qp), code);
		return 0;
	}
	if (keys[CQ].value && !keys[QP].value && ionic_cq_get(ionic, cq)) {
		ionic_eq_event(ionic, ionic_cq_get(ionic, cq)->eq, type, code, cq);
		return 0;
	}
	fputs("want qp= or cq= of one that is live", out);
	return -EINVAL;
}

/* messages that nothing caused, whatever the interrupt's registers say */
static int interrupt(struct ionic *ionic, char **words, FILE *out)
{
	enum { EQ, COUNT };
	struct option_key keys[] = { [EQ] = { "eq", NULL }, [COUNT] = { "count", NULL }, { 0 } };
	uint64_t eq = 0, count = 1;

	if (option_parse(keys, words, out) || option_number(&keys[EQ], UINT32_MAX, &eq, out) ||
	    option_number(&keys[COUNT], 1000, &count, out))
		return -EINVAL;
	if (keys[EQ].value && (eq >= ionic->config.eqs || !ionic->rdma->eqs[eq].live))
		return missing("EQ", eq, out);
	for (unsigned int i = 0; i < ionic->config.eqs; i++)
		for (uint64_t n = 0; n < count; n++)
			if (ionic->rdma->eqs[i].live && (!keys[EQ].value || i == eq))
				model_irq(&ionic->dev, ionic->rdma->eqs[i].intr);
	return 0;
}

/* ---- dispatch --------------------------------------------------------------------- */

static const struct verb {
	const char *name;
	int (*run)(struct ionic *ionic, char **words, FILE *out);
	const char *usage;
} verbs[] = {
	{ "qps", print_qps, "qps" },
	{ "cqs", print_cqs, "cqs" },
	{ "qp", print_qp, "qp N" },
	{ "cq", print_cq, "cq N" },
	{ "mr", print_mr, "mr KEY" },
	{ "ah", print_ah, "ah N" },
	{ "complete", force_completions, "complete qp=N status=N [count=N]" },
	{ "event", send_event, "event qp=N code=N|cq=N code=N [type=N]" },
	{ "irq", interrupt, "irq [eq=N] [count=N]" },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

int ionic_rdma_control(struct ionic *ionic, int argc, char **argv, FILE *out)
{
	(void)argc;
	for (unsigned int i = 0; i < VERBS; i++)
		if (!strcmp(verbs[i].name, argv[0]))
			return verbs[i].run(ionic, argv + 1, out);
	return -ENOSYS;
}

void ionic_rdma_print_usage(FILE *out)
{
	for (unsigned int i = 0; i < VERBS; i++)
		fprintf(out, "; %s", verbs[i].usage);
}
