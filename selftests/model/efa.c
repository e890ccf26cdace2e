// SPDX-License-Identifier: GPL-2.0
/*
 * The adapter as a PCI function: where its parts lie in the BARs, reset, and the
 * slice of work that everything else is called from.
 *
 *	BAR 0	registers, MSI-X table and PBA		always trapped
 *	BAR 2	LLQ: a slot per QP index		mapped, in strict mode trapped
 *	db_bar	doorbells, two halves (efa.h)		trapped; first half mapped if polled
 *
 * A doorbell BAR 0 or 2 holds the doorbells behind its other contents.
 */
#include <errno.h>
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"
#include "log.h"
#include "pci.h"

#define REGS_BAR_SIZE	0x4000
#define MSIX_TABLE	0x2000
#define MSIX_PBA	0x3000
#define PAGE		4096

static uint64_t round_up_pow2(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

/* ---- objects ----------------------------------------------------------- */

void efa_forget_all(struct efa *efa)
{
	struct efa_counter *counter;
	struct efa_qp *qp;
	struct efa_cq *cq;
	struct efa_eq *eq;
	struct efa_mr *mr;
	struct efa_ah *ah;
	void *object;
	unsigned int from;

	efa->net->starved = false;
	efa_admin_reset(efa);
	for (from = 0; (qp = efa_table_next(&efa->qps, &from)); )
		efa_qp_free(efa, qp);
	for (from = 0; (counter = efa_table_next(&efa->counters, &from)); )
		efa_counter_free(efa, counter);
	for (from = 0; (cq = efa_table_next(&efa->cqs, &from)); )
		efa_cq_free(efa, cq);
	for (from = 0; (eq = efa_table_next(&efa->eqs, &from)); )
		efa_eq_free(efa, eq);
	for (from = 0; (mr = efa_table_next(&efa->mrs, &from)); )
		efa_mr_free(efa, mr);
	for (from = 0; (ah = efa_table_next(&efa->ahs, &from)); )
		efa_ah_free(efa, ah);
	for (from = 0; (object = efa_table_next(&efa->uars, &from)); free(object))
		efa_table_del(&efa->uars, from - 1);
	for (from = 0; (object = efa_table_next(&efa->pds, &from)); free(object))
		efa_table_del(&efa->pds, from - 1);
	efa->cq_events_due = false;
	efa_net_reset(efa);
}

static bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

static struct efa_cq *cq_at(struct efa *efa, uint64_t base, uint64_t bytes)
{
	unsigned int from = 0;
	struct efa_cq *cq;

	while ((cq = efa_table_next(&efa->cqs, &from)))
		if (overlaps(base, bytes, cq->base,
			     efa->config.sub_cqs * cq->depth * cq->entry_size))
			break;
	return cq;
}

bool efa_ring_of_cq(struct efa *efa, uint64_t base, uint64_t bytes)
{
	return cq_at(efa, base, bytes);
}

bool efa_ring_taken(struct efa *efa, uint64_t base, uint64_t bytes, char *owner, size_t len)
{
	const struct efa_admin *admin = &efa->admin;
	const struct {
		const char *name;
		uint64_t base;
		uint32_t depth;
	} admin_rings[] = {
		{ "AQ", admin->aq_base, admin->aq_depth },
		{ "ACQ", admin->acq_base, admin->acq_depth },
		{ "AENQ", admin->aenq_base, admin->aenq_depth },
	};
	unsigned int from;
	struct efa_eq *eq;
	struct efa_cq *cq;
	struct efa_qp *qp;

	for (unsigned int i = 0; i < sizeof(admin_rings) / sizeof(admin_rings[0]); i++) {
		if (overlaps(base, bytes, admin_rings[i].base,
			     (uint64_t)admin_rings[i].depth * EFA_ADMIN_ENTRY_SIZE)) {
			snprintf(owner, len, "%s", admin_rings[i].name);
			return true;
		}
	}
	for (from = 0; (eq = efa_table_next(&efa->eqs, &from)); ) {
		if (overlaps(base, bytes, eq->base, (uint64_t)eq->depth * EFA_EQE_SIZE)) {
			snprintf(owner, len, "EQ %u", eq->num);
			return true;
		}
	}
	cq = cq_at(efa, base, bytes);
	if (cq) {
		snprintf(owner, len, "CQ %u", cq->num);
		return true;
	}
	for (from = 0; (qp = efa_table_next(&efa->qps, &from)); ) {
		if (overlaps(base, bytes, qp->rq.base,
			     (uint64_t)qp->rq.descs * EFA_RX_DESC_SIZE)) {
			snprintf(owner, len, "QP %u (receive)", qp->num);
			return true;
		}
	}
	return false;
}

bool efa_dma_fails(struct efa *efa, const char *point)
{
	struct inject_hit hit;

	if (!inject_match(&efa->dev, point, &hit))
		return false;
	if (hit.action == INJECT_FAIL) {
		efa->regs.status |= EFA_DEV_STS_FATAL_ERROR;
		efa_aenq_event(efa, EFA_AENQ_FATAL, hit.status & UINT16_MAX);
	}
	return true;
}

bool efa_ring_reachable(struct efa *efa, uint64_t base, uint64_t bytes)
{
	uint8_t byte;

	return base && base + bytes > base && !model_dma_read(&efa->dev, base, &byte, 1) &&
	       !model_dma_read(&efa->dev, base + bytes - 1, &byte, 1);
}

/* ---- BARs -------------------------------------------------------------- */

static void qp_doorbell(struct efa *efa, uint64_t off, uint32_t value)
{
	unsigned int uar = off / EFA_DB_PAGE;
	unsigned int index = off % EFA_DB_PAGE / EFA_DB_QP_STRIDE;
	bool recv = off % EFA_DB_QP_STRIDE;
	struct efa_qp *qp = efa_table_get(&efa->qps, index);

	if (!qp || qp->uar->num != uar || !(recv ? qp->rq.descs : qp->sq.depth)) {
		model_violation(&efa->dev, "store of 0x%x to doorbell offset 0x%" PRIx64
				": no live %s queue has its doorbell there", value,
				efa->db_base + off, recv ? "receive" : "send");
		return;
	}
	if (recv)
		efa_rq_doorbell(efa, qp, value);
	else
		efa_sq_doorbell(efa, qp, value);
}

static void doorbell(struct efa *efa, uint64_t off, unsigned int size, uint64_t value)
{
	if (size != 4 || off % 4) {
		model_violation(&efa->dev, "%u-byte store to doorbell offset 0x%" PRIx64
				": doorbells take aligned 4-byte stores", size,
				efa->db_base + off);
		return;
	}
	if (off < efa->db_half)
		qp_doorbell(efa, off, value);
	else
		efa_cq_doorbell(efa, (off - efa->db_half) / EFA_DB_PAGE,
				off % EFA_DB_PAGE / EFA_DB_CQ_STRIDE, value);
}

static bool in_doorbells(const struct efa *efa, unsigned int bar, uint64_t off)
{
	return bar == efa->db_bar && off >= efa->db_base && off < efa->db_base + 2 * efa->db_half;
}

static void efa_bar_write(struct model_device *dev, unsigned int bar, uint64_t off,
			  unsigned int size, uint64_t value)
{
	struct efa *efa = efa_of(dev);

	if (in_doorbells(efa, bar, off))
		doorbell(efa, off - efa->db_base, size, value);
	else if (bar == EFA_BAR_LLQ && off < efa->llq_bytes)
		efa_llq_store(efa, off, size, value);
	else if (bar == EFA_BAR_REGS && off < MSIX_TABLE)
		efa_reg_write(efa, off, size, value);
	else
		model_violation(dev, "store of 0x%" PRIx64 " to BAR %u at 0x%" PRIx64
				": nothing is there", value, bar, off);
}

static uint64_t efa_bar_read(struct model_device *dev, unsigned int bar, uint64_t off,
			     unsigned int size)
{
	model_violation(dev, "%u-byte load from BAR %u at 0x%" PRIx64 ": this adapter is only "
			"stored to", size, bar, off);
	return 0;
}

/* ---- polled doorbells -------------------------------------------------- */

static uint32_t db_word(const struct efa *efa, uint64_t off)
{
	/* pairs with the driver's barrier between WQEs or descriptors and their doorbell */
	return le32toh(__atomic_load_n((uint32_t *)(efa->dev.bar[efa->db_bar].mem + off),
				       __ATOMIC_ACQUIRE));
}

void efa_db_clear(struct efa *efa, uint64_t off, uint32_t *seen)
{
	*seen = 0;
	if (efa->config.polled)
		memset(efa->dev.bar[efa->db_bar].mem + off, 0, sizeof(*seen));
}

static bool efa_poll(struct model_device *dev)
{
	struct efa *efa = efa_of(dev);
	unsigned int from = 0;
	struct efa_qp *qp;

	while ((qp = efa_table_next(&efa->qps, &from)))
		if (db_word(efa, qp->sq.db) != qp->sq.db_word ||
		    db_word(efa, qp->rq.db) != qp->rq.db_word)
			return true;
	return false;
}

static void read_doorbells(struct efa *efa)
{
	unsigned int from = 0;
	struct efa_qp *qp;

	while ((qp = efa_table_next(&efa->qps, &from))) {
		uint32_t sq = db_word(efa, qp->sq.db), rq = db_word(efa, qp->rq.db);

		if (rq != qp->rq.db_word) {
			qp->rq.db_word = rq;
			qp_doorbell(efa, qp->rq.db - efa->db_base, rq);
		}
		if (sq != qp->sq.db_word) {
			qp->sq.db_word = sq;
			qp_doorbell(efa, qp->sq.db - efa->db_base, sq);
		}
	}
}

/* ---- operations -------------------------------------------------------- */

static bool efa_work(struct model_device *dev)
{
	struct efa *efa = efa_of(dev);
	uint64_t regs, admin, net;
	bool more;

	regs = efa_regs_work(efa);
	more = efa_admin_work(efa, &admin);
	if (dev->polled)
		read_doorbells(efa);
	efa_cq_work(efa);
	more |= efa_sq_work(efa);
	more |= efa_net_work(efa, &net);
	model_timer(dev, efa_sooner(regs, efa_sooner(admin, net)));
	return more;
}

static void efa_reset(struct model_device *dev)
{
	struct efa *efa = efa_of(dev);

	efa_forget_all(efa);
	efa_regs_reset(efa);
	dev->polled = false;
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		if (dev->bar[i].backed)
			model_bar_clear(dev, i);
}

static void efa_link(struct model_device *dev, bool up)
{
	efa_of(dev)->port.up = up;
}

static void efa_free(struct efa *efa)
{
	efa_forget_all(efa);
	efa_net_free(efa);
	efa_table_free(&efa->pds);
	efa_table_free(&efa->uars);
	efa_table_free(&efa->eqs);
	efa_table_free(&efa->cqs);
	efa_table_free(&efa->qps);
	efa_table_free(&efa->ahs);
	efa_table_free(&efa->mrs);
	efa_table_free(&efa->counters);
	free(efa->qp_by_num);
	free(efa->qp_lives);
	free(efa);
}

static void efa_destroy(struct model_device *dev)
{
	struct efa *efa = efa_of(dev);

	fabric_detach(&efa->port);
	efa_free(efa);
}

static const struct model_device_ops efa_ops = {
	.reset = efa_reset,
	.bar_read = efa_bar_read,
	.bar_write = efa_bar_write,
	.work = efa_work,
	.poll = efa_poll,
	.control = efa_control,
	.link = efa_link,
	.destroy = efa_destroy,
};

/* ---- creation ---------------------------------------------------------- */

static void add_area(struct model_bar *bar, uint64_t offset, uint64_t length)
{
	bar->backed = true;
	bar->areas[bar->nareas++] = (struct model_area) { offset, length };
}

static void lay_out_bars(struct efa *efa)
{
	const struct efa_config *config = &efa->config;
	struct model_bar *bar = efa->dev.bar;

	efa->llq_slot = round_up_pow2(config->max_llq_size > PAGE ? config->max_llq_size : PAGE);
	efa->llq_bytes = efa->llq_slot * config->max_qp;
	efa->db_half = round_up_pow2(config->max_uar) * EFA_DB_PAGE;
	efa->db_bar = MODEL_BARS;
	bar[EFA_BAR_REGS].size = REGS_BAR_SIZE;
	bar[EFA_BAR_LLQ].size = round_up_pow2(efa->llq_bytes);
	bar[EFA_BAR_LLQ].prefetch = true;
	bar[EFA_BAR_LLQ].backed = true;
	if (!config->strict)
		add_area(&bar[EFA_BAR_LLQ], 0, efa->llq_bytes);

	if (config->db_bar == EFA_BAR_REGS || config->db_bar == EFA_BAR_LLQ ||
	    config->db_bar == 4) {
		struct model_bar *db = &bar[config->db_bar];

		efa->db_bar = config->db_bar;
		efa->db_base = db->size;
		if (db->size && db->size < 2 * efa->db_half)
			efa->db_base = 2 * efa->db_half;
		db->size = round_up_pow2(efa->db_base + 2 * efa->db_half);
		if (config->polled)
			add_area(db, efa->db_base, efa->db_half);
	}
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		bar[i].is64 = bar[i].size;
}

static void fill_config_space(struct efa *efa)
{
	const struct pci_ids ids = {
		.vendor = EFA_PCI_VENDOR,
		.device = efa->config.device_id,
		.subvendor = EFA_PCI_VENDOR,
		.subdevice = efa->config.device_id,
		.class_code = 0x020000,
	};

	efa->dev.vectors = efa->config.vectors;
	efa->dev.msix_bar = EFA_BAR_REGS;
	efa->dev.msix_table = MSIX_TABLE;
	efa->dev.msix_pba = MSIX_PBA;
	pci_init(&efa->dev, &ids);
	pci_add_pm(&efa->dev);
	pci_add_pcie(&efa->dev);
	pci_add_msix(&efa->dev);
}

static void init_tables(struct efa *efa)
{
	const struct efa_config *config = &efa->config;
	bool reuse = config->qpn_reuse;

	efa_table_init(&efa->pds, 0, config->max_pd, config->max_pd, reuse);
	efa_table_init(&efa->uars, 0, config->max_uar, config->max_uar, reuse);
	efa_table_init(&efa->eqs, 0, config->max_eq ? config->max_eq : 1, config->max_eq, reuse);
	efa_table_init(&efa->cqs, 0, config->max_cq, config->max_cq, reuse);
	efa_table_init(&efa->qps, 0, config->max_qp, config->max_qp, reuse);
	efa_table_init(&efa->ahs, 0, config->max_ah, config->max_ah, reuse);
	/* key index 0 stays unused; one more than the limit, or reuse would be at once */
	efa_table_init(&efa->mrs, 1, config->max_mr + 1, config->max_mr, reuse);
	efa_table_init(&efa->counters, 0, config->max_counters ? config->max_counters : 1,
		       config->max_counters, reuse);
}

static struct model_device *efa_create(const char *name, char **options, FILE *err)
{
	struct efa *efa = calloc(1, sizeof(*efa));

	if (!efa)
		abort();
	if (efa_config_parse(&efa->config, name, options, err)) {
		free(efa);
		return NULL;
	}
	snprintf(efa->dev.name, sizeof(efa->dev.name), "%s", name);
	efa->dev.ops = &efa_ops;
	efa->dev.inject_points = efa_inject_points;
	efa->qp_by_num = calloc(UINT16_MAX + 1, sizeof(*efa->qp_by_num));
	efa->qp_lives = calloc(efa->config.max_qp, sizeof(*efa->qp_lives));
	if (!efa->qp_by_num || !efa->qp_lives)
		abort();
	TAILQ_INIT(&efa->active);
	TAILQ_INIT(&efa->admin.late);
	init_tables(efa);
	efa_net_init(efa);
	lay_out_bars(efa);
	fill_config_space(efa);

	memcpy(efa->port.addr, efa->config.gid, EFA_GID_SIZE);
	efa->port.addr_len = EFA_GID_SIZE;
	efa->port.up = true;
	efa->port.reorder = efa->config.reorder;
	efa->port.seed = efa->config.seed;
	efa->port.dev = &efa->dev;
	efa->port.receive = efa_net_receive;
	if (fabric_attach(&efa->port)) {
		fputs("another adapter has this gid; give each its own", err);
		efa_free(efa);
		return NULL;
	}
	return &efa->dev;
}

const struct model_type efa_type = {
	.name = "efa",
	.create = efa_create,
};
