// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interrupts and event queues. An event is one word, new when its color bit is that of
 * the lap; the device is not told how far its ring has been read, so events must be
 * taken before a lap is full: there is at most one per arm of a CQ, and few of a QP, and
 * the rings are as long as there may be queues.
 *
 * An interrupt masks itself when it fires. Its handler takes a few events and unmasks
 * it; with more it leaves the rest to its thread, which does the unmasking then. So the
 * ring has one reader at a time.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "dion.h"

/*
 * choice: the in-tree driver fills a page of the host, which is one of 4 or, on others, 64
 * KiB; so both are known to work.
 */
#define DEPTH_LOG2_MIN	10
#define DEPTH_LOG2_MAX	14

#define IRQ_BUDGET	10
#define THREAD_BUDGET	1000

/*
 * choice: how the adapter counts what event queues raise is not known. What the in-tree
 * driver does works: to return nothing when it unmasks.
 */
static bool return_credits;
module_param(return_credits, bool, 0444);
MODULE_PARM_DESC(return_credits,
		 "Return the credits of all events when unmasking (unproved on hardware)");

/* ---- who an event is for ----------------------------------------------------- */

static void put_hw_cq(struct dion_hw_cq *cq)
{
	if (refcount_dec_and_test(&cq->users))
		complete(&cq->unused);
}

/* From here on events of the CQ reach it. */
int dion_hw_cq_add(struct dion_dev *dev, struct dion_hw_cq *cq)
{
	refcount_set(&cq->users, 1);
	init_completion(&cq->unused);
	return xa_insert_irq(&dev->hw_cqs, cq->id, cq, GFP_KERNEL);
}

/* No handler is at it any more afterwards. */
void dion_hw_cq_del(struct dion_dev *dev, struct dion_hw_cq *cq)
{
	xa_erase_irq(&dev->hw_cqs, cq->id);
	put_hw_cq(cq);
	wait_for_completion(&cq->unused);
}

static struct dion_hw_cq *get_hw_cq(struct dion_dev *dev, u32 id)
{
	struct dion_hw_cq *cq;
	unsigned long flags;

	xa_lock_irqsave(&dev->hw_cqs, flags);
	cq = xa_load(&dev->hw_cqs, id);
	if (cq)
		refcount_inc(&cq->users);
	xa_unlock_irqrestore(&dev->hw_cqs, flags);
	return cq;
}

static void cq_event(struct dion_dev *dev, u32 qid, u8 code)
{
	struct dion_hw_cq *cq = get_hw_cq(dev, qid);

	if (!cq) {
		ibdev_dbg(&dev->dvq.ibdev, "event %u of unknown CQ %u\n", code, qid);
		return;
	}
	if (code == IONIC_EQE_CQ_NOTIFY)
		cq->notify(cq);
	else if (code == IONIC_EQE_CQ_ERROR)
		cq->failed(cq);
	else
		ibdev_dbg(&dev->dvq.ibdev, "unknown event %u of CQ %u\n", code, qid);
	put_hw_cq(cq);
}

static void take_event(struct dion_dev *dev, u32 word)
{
	u32 qid = FIELD_GET(IONIC_EQE_QID, word);
	u8 code = FIELD_GET(IONIC_EQE_CODE, word);

	switch (FIELD_GET(IONIC_EQE_TYPE, word)) {
	case IONIC_EQE_CQ:
		cq_event(dev, qid, code);
		break;
	case IONIC_EQE_QP:
		dion_qp_event(dev, qid, code);
		break;
	default:
		ibdev_dbg(&dev->dvq.ibdev, "unknown event %#x\n", word);
	}
}

static bool next_event(struct dion_eq *eq, u32 *word)
{
	u32 lap_color = !(eq->taken >> eq->depth_log2 & 1);
	u32 slot = eq->taken & (BIT(eq->depth_log2) - 1);

	*word = be32_to_cpu(READ_ONCE(eq->ring[slot].word));
	if ((*word & IONIC_EQE_COLOR) != lap_color)
		return false;
	/* What the event is about was written before it: pairs with the device's order. */
	dma_rmb();
	eq->taken++;
	return true;
}

static u32 take_events(struct dion_eq *eq, u32 budget)
{
	u32 taken = 0;
	u32 word;

	while (taken < budget && next_event(eq, &word)) {
		take_event(eq->dev, word);
		taken++;
	}
	return taken;
}

/* ---- interrupts -------------------------------------------------------------- */

static void __iomem *reg(const struct dion_eq *eq, u32 offset)
{
	return eq->dev->eth.interrupts + IONIC_INTR_STRIDE * eq->interrupt + offset;
}

/* Leaves the ring to the next handler. */
static void unmask(struct dion_eq *eq, u32 taken)
{
	clear_bit_unlock(0, &eq->busy);
	writel((return_credits ? taken : 0) | IONIC_INTR_UNMASK, reg(eq, IONIC_INTR_CREDITS));
}

static irqreturn_t handle_irq(int irq, void *data)
{
	struct dion_eq *eq = data;
	u32 taken;

	/* An interrupt that is masked does not come; a broken device may send it all the same. */
	if (test_and_set_bit_lock(0, &eq->busy))
		return IRQ_HANDLED;
	taken = take_events(eq, IRQ_BUDGET);
	if (taken < IRQ_BUDGET) {
		unmask(eq, taken);
		return IRQ_HANDLED;
	}
	writel(taken, reg(eq, IONIC_INTR_CREDITS));
	return IRQ_WAKE_THREAD;
}

static irqreturn_t handle_irq_thread(int irq, void *data)
{
	struct dion_eq *eq = data;
	u32 taken;

	while (taken = take_events(eq, THREAD_BUDGET), taken == THREAD_BUDGET) {
		writel(taken, reg(eq, IONIC_INTR_CREDITS));
		cond_resched();
	}
	unmask(eq, taken);
	return IRQ_HANDLED;
}

/* Masked, and nothing left over from whoever had it before. */
static void reset_interrupt(struct dion_eq *eq)
{
	u32 credits;

	writel(1, reg(eq, IONIC_INTR_MASK));
	writel(1, reg(eq, IONIC_INTR_MASK_ASSERT));
	writel(0, reg(eq, IONIC_INTR_COAL_INIT));
	credits = readl(reg(eq, IONIC_INTR_CREDITS)) & IONIC_INTR_CREDIT_COUNT;
	writel(credits | IONIC_INTR_RESET_COAL, reg(eq, IONIC_INTR_CREDITS));
}

static int open_interrupt(struct dion_eq *eq)
{
	int ret;

	ret = dion_ethernet_get_interrupt(&eq->dev->eth, &eq->interrupt, &eq->vector);
	if (ret)
		return ret;
	reset_interrupt(eq);
	ret = request_threaded_irq(eq->vector, handle_irq, handle_irq_thread, 0, eq->name, eq);
	if (ret)
		dion_ethernet_put_interrupt(&eq->dev->eth, eq->interrupt);
	return ret;
}

static void close_interrupt(struct dion_eq *eq)
{
	writel(1, reg(eq, IONIC_INTR_MASK));
	free_irq(eq->vector, eq);
	dion_ethernet_put_interrupt(&eq->dev->eth, eq->interrupt);
}

/* ---- event queues ------------------------------------------------------------ */

static int tell_eq(struct dion_eq *eq, u32 id)
{
	const struct ionic_rdma_queue_req req = {
		.opcode = IONIC_OP_RDMA_CREATE_EQ,
		.lif = cpu_to_le16(eq->dev->eth.lif_index),
		.qid_version = cpu_to_le32(id),
		.target = cpu_to_le32(eq->interrupt),
		.depth_log2 = eq->depth_log2,
		.stride_log2 = ilog2(IONIC_EQE_SIZE),
		.ring_addr = cpu_to_le64(eq->dma),
	};

	return dion_ethernet_exec(&eq->dev->eth, &req);
}

/* Room for two events of every CQ, or QP, of a pipeline: they may all be at one EQ. */
static u8 choose_depth_log2(const struct dion_dev *dev)
{
	u32 queues = max(le32_to_cpu(dev->eth.rdma.cq.count), le32_to_cpu(dev->eth.rdma.sq.count));

	return clamp(order_base_2(queues), DEPTH_LOG2_MIN, DEPTH_LOG2_MAX);
}

static size_t ring_bytes(const struct dion_eq *eq)
{
	return sizeof(*eq->ring) << eq->depth_log2;
}

static void free_ring(struct dion_eq *eq)
{
	dma_free_coherent(dion_dma_device(eq->dev), ring_bytes(eq), eq->ring, eq->dma);
}

static void destroy_one(struct dion_eq *eq)
{
	close_interrupt(eq);
	free_ring(eq);
}

static int create_one(struct dion_eq *eq, struct dion_dev *dev, unsigned int i)
{
	int ret;

	eq->dev = dev;
	snprintf(eq->name, sizeof(eq->name), "dvq_ionic-eq%u@pci:%s", i, pci_name(dev->eth.pdev));
	eq->depth_log2 = choose_depth_log2(dev);
	eq->ring = dma_alloc_coherent(dion_dma_device(dev), ring_bytes(eq), &eq->dma, GFP_KERNEL);
	if (!eq->ring)
		return -ENOMEM;
	ret = open_interrupt(eq);
	if (ret)
		free_ring(eq);
	return ret;
}

static int start_one(struct dion_eq *eq, u32 id)
{
	int ret = tell_eq(eq, id);

	if (!ret)
		writel(0, reg(eq, IONIC_INTR_MASK));
	return ret;
}

static int create_all(struct dion_dev *dev, unsigned int wanted)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < wanted && !ret; i++) {
		ret = create_one(&dev->eqs[i], dev, i);
		if (!ret)
			dev->num_eqs++;
	}
	/* Another driver of the function may have taken interrupts since it was counted. */
	if (dev->num_eqs >= DION_MIN_EQ)
		ret = 0;
	/* choice: one that the adapter told of and refuses is a fault; it could be that fewer do */
	for (i = 0; i < dev->num_eqs && !ret; i++)
		ret = start_one(&dev->eqs[i], le32_to_cpu(dev->eth.rdma.eq.base) + i);
	return ret;
}

/**
 * dion_eqs_create() - as many event queues as there are interrupts for
 * @dev: the device; stopped if that fails, because it may know some of them by then
 *
 * Return: 0, or a negative errno and it has been said why.
 */
int dion_eqs_create(struct dion_dev *dev)
{
	unsigned int wanted = min3(le32_to_cpu(dev->eth.rdma.eq.count), dev->eth.eqs, DION_MAX_EQ);
	int ret;

	if (wanted < DION_MIN_EQ)
		return dev_err_probe(dion_dma_device(dev), -EINVAL,
				     "RDMA takes %u event queues (CPUs, interrupts), not %u\n",
				     DION_MIN_EQ, wanted);
	dev->eqs = kcalloc(wanted, sizeof(*dev->eqs), GFP_KERNEL);
	if (!dev->eqs)
		return -ENOMEM;
	ret = create_all(dev, wanted);
	if (ret) {
		dion_device_stop(dev);
		dion_eqs_destroy(dev);
		return dev_err_probe(dion_dma_device(dev), ret, "cannot create event queues\n");
	}
	return 0;
}

/* The device has been stopped. */
void dion_eqs_destroy(struct dion_dev *dev)
{
	unsigned int i;

	for (i = 0; i < dev->num_eqs; i++)
		destroy_one(&dev->eqs[i]);
	dev->num_eqs = 0;
	kfree(dev->eqs);
}

/*
 * EQs are used in pairs, one for each pipeline; the first pair is left to events of QPs.
 * choice: a CQ names its EQ without the base, as the in-tree driver does.
 */
u32 dion_eq_for(const struct dion_dev *dev, u32 comp_vector, u8 pipeline)
{
	u32 pairs = dev->num_eqs / DION_PIPELINES - 1;

	return (comp_vector % pairs + 1) * DION_PIPELINES + pipeline;
}
