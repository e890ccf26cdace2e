// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interrupts and what they bring: vector 0 the answers to commands and asynchronous
 * events, each further vector the completion events of one queue (EQ).
 *
 * An entry of a ring is new when its phase bit is that of the lap, 1 on even laps.
 */
#include <linux/bitfield.h>
#include <linux/cpumask.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "cmd.h"
#include "efa.h"

#define AENQ_DEPTH	16	/* a power of two */
#define AENQ_BYTES	(AENQ_DEPTH * EFA_ADMIN_ENTRY_SIZE)
#define EQ_MAX_DEPTH	32768	/* the largest power of two that a command can carry */

/* ---- vectors -------------------------------------------------------------------- */

static int irq_request(struct efa_dev *dev, struct efa_irq *irq, unsigned int vector,
		       irq_handler_t handler, void *data)
{
	unsigned int cpu = cpumask_local_spread(max(vector, 1U) - 1, dev_to_node(&dev->pdev->dev));
	int ret;

	irq->nr = pci_irq_vector(dev->pdev, vector);
	ret = request_irq(irq->nr, handler, 0, irq->name, data);
	if (ret) {
		dev_err(&dev->pdev->dev, "interrupt vector %u: %d\n", vector, ret);
		return ret;
	}
	irq_update_affinity_hint(irq->nr, cpumask_of(cpu));
	return 0;
}

static void irq_free(struct efa_irq *irq, void *data)
{
	irq_update_affinity_hint(irq->nr, NULL);
	free_irq(irq->nr, data);
}

/* ---- asynchronous events ---------------------------------------------------------- */

static void aenq_event(struct efa_dev *dev, const struct efa_aenq_entry *entry)
{
	u16 group = le16_to_cpu(entry->group);
	u16 syndrome = le16_to_cpu(entry->syndrome);

	switch (group) {
	case EFA_AENQ_KEEP_ALIVE:
		atomic64_inc(&dev->keep_alives);
		break;
	case EFA_AENQ_FATAL:
		dev_err_ratelimited(&dev->pdev->dev, "reports a fatal error, syndrome %#x\n",
				    syndrome);
		/* choice: users are told; whether the device still works, commands will show */
		if (__ratelimit(&dev->fatal_limit))
			schedule_work(&dev->fatal_work);
		break;
	case EFA_AENQ_WARNING:
		dev_warn_ratelimited(&dev->pdev->dev, "reports a warning, syndrome %#x\n",
				     syndrome);
		break;
	case EFA_AENQ_NOTIFICATION:
		dev_info_ratelimited(&dev->pdev->dev, "notifies, syndrome %#x\n", syndrome);
		break;
	default:
		dev_warn_ratelimited(&dev->pdev->dev, "event of unknown group %u, syndrome %#x\n",
				     group, syndrome);
	}
}

/* To a device that was reset a doorbell is one of a queue that it does not have. */
static void ring(struct efa_dev *dev, u32 reg, u32 val)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->quiet_lock, flags);
	if (!dev->quiet)
		efa_mmio_write(dev, reg, val);
	spin_unlock_irqrestore(&dev->quiet_lock, flags);
}

static void aenq_drain(struct efa_dev *dev)
{
	struct efa_aenq *aenq = &dev->aenq;
	const struct efa_aenq_entry *entry;
	u32 start = aenq->consumed;
	u8 phase;

	while (aenq->consumed - start < AENQ_DEPTH) {
		entry = &aenq->ring[aenq->consumed % AENQ_DEPTH];
		phase = !(aenq->consumed & AENQ_DEPTH);
		if (FIELD_GET(EFA_AENQ_PHASE, READ_ONCE(entry->flags)) != phase)
			break;
		/* Pairs with the device, which writes the phase last. */
		dma_rmb();
		aenq_event(dev, entry);
		aenq->consumed++;
	}
	/* Gives the entries back; writel() puts our reads of them before. */
	if (aenq->consumed != start)
		ring(dev, EFA_REG_AENQ_CONS_DB, aenq->consumed);
}

int efa_aenq_alloc(struct efa_dev *dev)
{
	struct efa_aenq *aenq = &dev->aenq;

	aenq->ring = dma_alloc_coherent(&dev->pdev->dev, AENQ_BYTES, &aenq->dma, GFP_KERNEL);
	return aenq->ring ? 0 : -ENOMEM;
}

void efa_aenq_start(struct efa_dev *dev)
{
	struct efa_aenq *aenq = &dev->aenq;

	efa_mmio_write(dev, EFA_REG_AENQ_BASE_LO, lower_32_bits(aenq->dma));
	efa_mmio_write(dev, EFA_REG_AENQ_BASE_HI, upper_32_bits(aenq->dma));
	efa_mmio_write(dev, EFA_REG_AENQ_CAPS,
		       FIELD_PREP(EFA_AENQ_CAPS_DEPTH, AENQ_DEPTH) |
		       FIELD_PREP(EFA_AENQ_CAPS_ENTRY_SIZE, EFA_ADMIN_ENTRY_SIZE) |
		       FIELD_PREP(EFA_AENQ_CAPS_VECTOR, 0));
	/* All entries are free. */
	efa_mmio_write(dev, EFA_REG_AENQ_CONS_DB, 0);
}

/* The device is stopped. */
void efa_aenq_free(struct efa_dev *dev)
{
	dma_free_coherent(&dev->pdev->dev, AENQ_BYTES, dev->aenq.ring, dev->aenq.dma);
}

int efa_aenq_enable(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	u32 groups;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_AENQ_CONFIG, &resp);
	if (ret)
		return ret;
	groups = le32_to_cpu(resp.u.aenq.supported_groups);
	if (~groups & EFA_AENQ_GROUPS) {
		dev_err(&dev->pdev->dev, "lacks event groups: has %#x, %#x are needed\n", groups,
			EFA_AENQ_GROUPS);
		return -EOPNOTSUPP;
	}
	return efa_cmd_set_aenq_groups(dev, EFA_AENQ_GROUPS);
}

static irqreturn_t mgmt_irq(int irq, void *data)
{
	struct efa_dev *dev = data;

	efa_admin_drain(dev);
	aenq_drain(dev);
	return IRQ_HANDLED;
}

int efa_mgmt_irq_request(struct efa_dev *dev)
{
	struct efa_irq *irq = &dev->mgmt_irq;
	int ret;

	snprintf(irq->name, sizeof(irq->name), "efa-mgmnt@pci:%s", pci_name(dev->pdev));
	ret = irq_request(dev, irq, 0, mgmt_irq, dev);
	if (!ret)
		efa_mmio_write(dev, EFA_REG_INTR_MASK, 0);
	return ret;
}

void efa_mgmt_irq_free(struct efa_dev *dev)
{
	irq_free(&dev->mgmt_irq, dev);
}

/* ---- completion events ------------------------------------------------------------ */

static void eq_event(struct efa_eq *eq, const struct efa_eqe *eqe)
{
	struct device *device = &eq->dev->pdev->dev;
	u32 common = le32_to_cpu(eqe->common);
	u16 cqn = le16_to_cpu(eqe->cqn);
	struct efa_cq *cq;
	u32 *events;

	if (FIELD_GET(EFA_EQE_TYPE, common) != EFA_EQE_TYPE_COMPLETION) {
		dev_warn_ratelimited(device, "event of unknown kind %#x\n", common);
		return;
	}
	/* The CQ stays until this handler has returned: efa_destroy_cq() waits for it. */
	cq = xa_load(&eq->cqs, cqn);
	if (!cq) {
		dev_warn_ratelimited(device, "event for unknown CQ %u\n", cqn);
		return;
	}
	/* A CQ has one EQ, so one who counts. Whom the handler wakes finds it counted. */
	events = &cq->dvq.ring[0].events;
	WRITE_ONCE(*events, *events + 1);
	cq->dvq.ibcq.comp_handler(&cq->dvq.ibcq, cq->dvq.ibcq.cq_context);
}

static void eq_arm(struct efa_eq *eq)
{
	ring(eq->dev, EFA_REG_EQ_DB, EFA_EQ_DB_ARM | FIELD_PREP(EFA_EQ_DB_EQN, eq->eqn));
}

static bool eq_take(struct efa_eq *eq)
{
	const struct efa_eqe *eqe;
	u32 start = eq->consumed;
	u8 phase;

	/* No more than there is room for: a device gone wild must not keep us here. */
	while (eq->consumed - start < eq->depth) {
		eqe = &eq->ring[eq->consumed & (eq->depth - 1)];
		phase = !(eq->consumed & eq->depth);
		if (FIELD_GET(EFA_EQE_PHASE, le32_to_cpu(READ_ONCE(eqe->common))) != phase)
			break;
		/* Pairs with the device, which writes the phase last. */
		dma_rmb();
		eq_event(eq, eqe);
		eq->consumed++;
	}
	return eq->consumed != start;
}

static irqreturn_t eq_irq(int irq, void *data)
{
	struct efa_eq *eq = data;

	eq_take(eq);
	/* Also when nothing was found: it takes an armed queue to raise the next interrupt. */
	eq_arm(eq);
	return IRQ_HANDLED;
}

/* What the device has told so far is passed on, though its interrupt may not have come yet. */
void efa_eq_drain(struct efa_eq *eq)
{
	mutex_lock(&eq->drain_lock);
	if (!eq->shut) {
		disable_irq(eq->irq.nr);
		if (eq_take(eq))
			eq_arm(eq);
		enable_irq(eq->irq.nr);
	}
	mutex_unlock(&eq->drain_lock);
}

static size_t eq_bytes(const struct efa_eq *eq)
{
	return eq->depth * sizeof(*eq->ring);
}

/* A device that does not let go of the ring is stopped. */
static void eq_release(struct efa_dev *dev, struct efa_eq *eq)
{
	if (efa_settle(efa_cmd_destroy_eq(dev, eq->eqn)))
		efa_device_halt(dev);
}

static int eq_create(struct efa_dev *dev, struct efa_eq *eq, unsigned int vector)
{
	struct efa_create_eq_params params;
	int ret;

	eq->dev = dev;
	mutex_init(&eq->drain_lock);
	xa_init(&eq->cqs);
	eq->depth = rounddown_pow_of_two(min_t(u32, dev->attr.max_eq_depth, EQ_MAX_DEPTH));
	snprintf(eq->irq.name, sizeof(eq->irq.name), "efa-comp%u@pci:%s", vector - 1,
		 pci_name(dev->pdev));
	eq->ring = dma_alloc_coherent(&dev->pdev->dev, eq_bytes(eq), &eq->dma, GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;

	params.dma = eq->dma;
	params.depth = eq->depth;
	params.vector = vector;
	ret = efa_cmd_create_eq(dev, &params, &eq->eqn);
	if (ret)
		goto err_free_ring;
	ret = irq_request(dev, &eq->irq, vector, eq_irq, eq);
	if (ret)
		goto err_destroy;
	eq_arm(eq);
	return 0;

err_destroy:
	eq_release(dev, eq);
err_free_ring:
	dma_free_coherent(&dev->pdev->dev, eq_bytes(eq), eq->ring, eq->dma);
	return ret;
}

static void eq_destroy(struct efa_dev *dev, struct efa_eq *eq)
{
	irq_free(&eq->irq, eq);
	xa_destroy(&eq->cqs);
	mutex_destroy(&eq->drain_lock);
	eq_release(dev, eq);
	dma_free_coherent(&dev->pdev->dev, eq_bytes(eq), eq->ring, eq->dma);
}

int efa_eqs_create(struct efa_dev *dev)
{
	unsigned int n = min_t(u32, dev->attr.max_eq, dev->num_vectors - 1);
	int ret;

	if (!n || !dev->attr.max_eq_depth)
		return 0;
	dev->eqs = kcalloc(n, sizeof(*dev->eqs), GFP_KERNEL);
	if (!dev->eqs)
		return -ENOMEM;
	for (; dev->num_eqs < n; dev->num_eqs++) {
		ret = eq_create(dev, &dev->eqs[dev->num_eqs], dev->num_eqs + 1);
		if (ret) {
			efa_eqs_destroy(dev);
			return ret;
		}
	}
	return 0;
}

void efa_eqs_destroy(struct efa_dev *dev)
{
	while (dev->num_eqs)
		eq_destroy(dev, &dev->eqs[--dev->num_eqs]);
	kfree(dev->eqs);
	dev->eqs = NULL;
}

/* For shutdown, which leaves everything else as it is. */
void efa_eqs_free_irqs(struct efa_dev *dev)
{
	unsigned int n;

	for (n = 0; n < dev->num_eqs; n++) {
		mutex_lock(&dev->eqs[n].drain_lock);
		dev->eqs[n].shut = true;
		irq_free(&dev->eqs[n].irq, &dev->eqs[n]);
		mutex_unlock(&dev->eqs[n].drain_lock);
	}
}
