// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The admin queue: commands go into one ring, answers come out of another, in any
 * order. An entry is new when its phase bit is that of the lap, which is 1 on even
 * laps. The low bits of a command id name a context, the bits above make an answer
 * that comes late, twice or from nowhere recognisable; such an answer is ignored.
 *
 * A caller sleeps until the interrupt brings its answer, and looks into the ring
 * itself from time to time, so that a lost interrupt costs little and the queue goes
 * on. No answer at all within the timeout is a failure of the device.
 */
#include <linux/bitfield.h>
#include <linux/crc16.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>

#include "efa.h"

#define TIMEOUT_MS	30000	/* where the device gives no advice */
#define POLL_MS		100
#define RING_BYTES	(EFA_ADMIN_DEPTH * EFA_ADMIN_ENTRY_SIZE)

/* choice: a device that is busy says so, not that the request is wrong */
static int status_to_errno(u8 status)
{
	switch (status) {
	case EFA_ADMIN_SUCCESS:
		return 0;
	case EFA_ADMIN_RESOURCE_ALLOC:
		return -ENOMEM;
	case EFA_ADMIN_UNSUPPORTED_OPCODE:
		return -EOPNOTSUPP;
	case EFA_ADMIN_RESOURCE_BUSY:
		return -EBUSY;
	default:
		return -EINVAL;
	}
}

/* ---- answers -------------------------------------------------------------------- */

static void finish_locked(struct efa_admin_ctx *ctx, int error)
{
	ctx->error = error;
	ctx->state = EFA_ADMIN_DONE;
	complete(&ctx->done);
}

static bool checksum_is_good(const struct efa_acq_entry *entry)
{
	struct efa_acq_entry copy = *entry;
	u16 crc;

	copy.hdr.checksum = 0;
	crc = crc16(EFA_ACQ_CRC_INIT, (const u8 *)&copy, sizeof(copy)) ^ EFA_ACQ_CRC_XOR;
	return crc == le16_to_cpu(entry->hdr.checksum);
}

static void take_answer(struct efa_dev *dev, const struct efa_acq_entry *entry)
{
	u16 id = le16_to_cpu(entry->hdr.command_id) & EFA_ADMIN_CMD_ID;
	struct efa_admin_ctx *ctx = &dev->admin.ctx[id % EFA_ADMIN_DEPTH];

	lockdep_assert_held(&dev->admin.lock);

	if (dev->admin.checksum && !checksum_is_good(entry)) {
		dev_err_ratelimited(&dev->pdev->dev, "answer %#x is damaged, ignored\n", id);
		return;
	}
	if (ctx->state != EFA_ADMIN_SUBMITTED || ctx->id != id) {
		dev_err_ratelimited(&dev->pdev->dev, "answer %#x has no command, ignored\n", id);
		return;
	}
	memcpy(ctx->resp, entry, ctx->resp_len);
	atomic64_inc(&dev->admin.stats.completed);
	finish_locked(ctx, status_to_errno(entry->hdr.status));
}

/* True if there was anything. Called by the interrupt handler and by waiters. */
bool efa_admin_drain(struct efa_dev *dev)
{
	struct efa_admin *admin = &dev->admin;
	const struct efa_acq_entry *entry;
	struct efa_acq_entry copy;
	unsigned long flags;
	unsigned int n;
	u8 phase;

	spin_lock_irqsave(&admin->lock, flags);
	/* No more than can be in flight: a device gone wild must not keep us here. */
	for (n = 0; n < EFA_ADMIN_DEPTH; n++) {
		entry = &admin->acq[admin->consumed % EFA_ADMIN_DEPTH];
		phase = !(admin->consumed & EFA_ADMIN_DEPTH);
		if (FIELD_GET(EFA_ACQ_PHASE, READ_ONCE(entry->hdr.flags)) != phase)
			break;
		/* Pairs with the device, which writes the phase last. */
		dma_rmb();
		copy = *entry;
		admin->consumed++;
		take_answer(dev, &copy);
	}
	spin_unlock_irqrestore(&admin->lock, flags);
	return n;
}

/* ---- commands ------------------------------------------------------------------- */

static void write_entry_locked(struct efa_dev *dev, const void *cmd, size_t cmd_len, u16 id)
{
	struct efa_admin *admin = &dev->admin;
	struct efa_aq_entry *entry = &admin->aq[admin->submitted % EFA_ADMIN_DEPTH];
	u8 phase = !(admin->submitted & EFA_ADMIN_DEPTH);

	memset(entry, 0, sizeof(*entry));
	memcpy(entry, cmd, cmd_len);
	entry->hdr.command_id = cpu_to_le16(id);
	entry->hdr.flags |= FIELD_PREP(EFA_AQ_PHASE, phase);
	admin->submitted++;
	atomic64_inc(&admin->stats.submitted);
	/* writel() puts the entry before the doorbell; the device fetches it after. */
	efa_mmio_write(dev, EFA_REG_AQ_PROD_DB, admin->submitted & U16_MAX);
}

/* The context, or NULL when the queue is closed. The caller has a slot. */
static struct efa_admin_ctx *submit(struct efa_dev *dev, const void *cmd, size_t cmd_len,
				    void *resp, size_t resp_len)
{
	struct efa_admin *admin = &dev->admin;
	struct efa_admin_ctx *ctx = NULL;
	unsigned long flags, n;

	spin_lock_irqsave(&admin->lock, flags);
	n = find_first_zero_bit(admin->used, EFA_ADMIN_DEPTH);
	if (admin->open && !WARN_ON_ONCE(n == EFA_ADMIN_DEPTH)) {
		__set_bit(n, admin->used);
		ctx = &admin->ctx[n];
		reinit_completion(&ctx->done);
		ctx->state = EFA_ADMIN_SUBMITTED;
		ctx->id = (n | admin->submitted * EFA_ADMIN_DEPTH) & EFA_ADMIN_CMD_ID;
		ctx->resp = resp;
		ctx->resp_len = resp_len;
		write_entry_locked(dev, cmd, cmd_len, ctx->id);
	}
	spin_unlock_irqrestore(&admin->lock, flags);
	return ctx;
}

static void wait_for_answer(struct efa_dev *dev, struct efa_admin_ctx *ctx)
{
	struct efa_admin *admin = &dev->admin;
	unsigned long left = admin->timeout;
	unsigned long slice;

	while (left) {
		slice = min(left, admin->poll);
		if (wait_for_completion_timeout(&ctx->done, slice))
			return;
		left = efa_device_is_present(dev) ? left - slice : 0;
		if (efa_admin_drain(dev))
			dev_dbg(&dev->pdev->dev, "answers without an interrupt\n");
	}
}

/* Takes the context back, whatever became of the command. */
static int retire(struct efa_dev *dev, struct efa_admin_ctx *ctx)
{
	struct efa_admin *admin = &dev->admin;
	unsigned long flags;
	int ret;

	spin_lock_irqsave(&admin->lock, flags);
	ret = ctx->state == EFA_ADMIN_DONE ? ctx->error : -ETIME;
	ctx->state = EFA_ADMIN_FREE;
	__clear_bit(ctx - admin->ctx, admin->used);
	spin_unlock_irqrestore(&admin->lock, flags);
	return ret;
}

/**
 * efa_admin_exec() - have the device carry out a command
 * @dev: the device
 * @cmd: the command, beginning with struct efa_aq_hdr with opcode and flags filled
 * @cmd_len: bytes of it
 * @resp: where to put the answer, beginning with struct efa_acq_hdr
 * @resp_len: bytes of it
 *
 * Return: 0; what the device said as a negative errno; -ENODEV when it has failed
 * before or meanwhile; -ETIME when it does not answer, which is a failure. After these
 * two the device is stopped: it may have carried out the command or not, but it no
 * longer uses any memory. The wait for that is bounded by the time of a reset.
 */
int efa_admin_exec(struct efa_dev *dev, void *cmd, size_t cmd_len, void *resp, size_t resp_len)
{
	const struct efa_aq_hdr *hdr = cmd;
	struct efa_admin *admin = &dev->admin;
	struct efa_admin_ctx *ctx;
	int ret = -ENODEV;

	down(&admin->slots);
	ctx = submit(dev, cmd, cmd_len, resp, resp_len);
	if (ctx) {
		wait_for_answer(dev, ctx);
		ret = retire(dev, ctx);
	}
	up(&admin->slots);

	if (ret)
		atomic64_inc(&admin->stats.errors);
	if (ret == -ETIME) {
		atomic64_inc(&admin->stats.no_completion);
		dev_err_ratelimited(&dev->pdev->dev, "command %u was not answered\n", hdr->opcode);
		efa_device_fail(dev, EFA_RESET_ADMIN_TIMEOUT);
	} else if (ret) {
		dev_dbg(&dev->pdev->dev, "command %u failed: %d\n", hdr->opcode, ret);
	}
	if (ret == -ETIME || ret == -ENODEV)
		wait_for_completion(&dev->stopped);
	return ret;
}

/* ---- life ----------------------------------------------------------------------- */

/* No more commands; those in flight end with -ENODEV. */
void efa_admin_close(struct efa_admin *admin)
{
	unsigned long flags;
	unsigned int n;

	spin_lock_irqsave(&admin->lock, flags);
	admin->open = false;
	for (n = 0; n < EFA_ADMIN_DEPTH; n++)
		if (admin->ctx[n].state == EFA_ADMIN_SUBMITTED)
			finish_locked(&admin->ctx[n], -ENODEV);
	spin_unlock_irqrestore(&admin->lock, flags);
}

int efa_admin_alloc(struct efa_dev *dev)
{
	struct efa_admin *admin = &dev->admin;
	struct device *dma_dev = &dev->pdev->dev;

	admin->aq = dma_alloc_coherent(dma_dev, RING_BYTES, &admin->aq_dma, GFP_KERNEL);
	if (!admin->aq)
		return -ENOMEM;
	admin->acq = dma_alloc_coherent(dma_dev, RING_BYTES, &admin->acq_dma, GFP_KERNEL);
	if (!admin->acq) {
		dma_free_coherent(dma_dev, RING_BYTES, admin->aq, admin->aq_dma);
		return -ENOMEM;
	}
	return 0;
}

/*
 * The capabilities come last of each group: writing them starts the queue. Interrupts
 * are masked until somebody handles them; answers are found by looking.
 */
void efa_admin_start(struct efa_dev *dev)
{
	unsigned int timeout = FIELD_GET(EFA_CAPS_ADMIN_TIMEOUT, dev->caps);
	struct efa_admin *admin = &dev->admin;

	if (timeout)
		admin->timeout = msecs_to_jiffies(timeout * EFA_TIMEOUT_UNIT_MS);

	efa_mmio_write(dev, EFA_REG_INTR_MASK, EFA_INTR_MASK_EN);

	efa_mmio_write(dev, EFA_REG_AQ_BASE_LO, lower_32_bits(admin->aq_dma));
	efa_mmio_write(dev, EFA_REG_AQ_BASE_HI, upper_32_bits(admin->aq_dma));
	efa_mmio_write(dev, EFA_REG_AQ_CAPS,
		       FIELD_PREP(EFA_AQ_CAPS_DEPTH, EFA_ADMIN_DEPTH) |
		       FIELD_PREP(EFA_AQ_CAPS_ENTRY_SIZE, EFA_ADMIN_ENTRY_SIZE));

	efa_mmio_write(dev, EFA_REG_ACQ_BASE_LO, lower_32_bits(admin->acq_dma));
	efa_mmio_write(dev, EFA_REG_ACQ_BASE_HI, upper_32_bits(admin->acq_dma));
	efa_mmio_write(dev, EFA_REG_ACQ_CAPS,
		       FIELD_PREP(EFA_ACQ_CAPS_DEPTH, EFA_ADMIN_DEPTH) |
		       FIELD_PREP(EFA_ACQ_CAPS_ENTRY_SIZE, EFA_ADMIN_ENTRY_SIZE) |
		       FIELD_PREP(EFA_ACQ_CAPS_VECTOR, 0));
	admin->open = true;
}

/* The device is stopped, and no caller is left. */
void efa_admin_free(struct efa_dev *dev)
{
	struct efa_admin *admin = &dev->admin;

	dma_free_coherent(&dev->pdev->dev, RING_BYTES, admin->acq, admin->acq_dma);
	dma_free_coherent(&dev->pdev->dev, RING_BYTES, admin->aq, admin->aq_dma);
}

void efa_admin_init(struct efa_admin *admin)
{
	unsigned int n;

	spin_lock_init(&admin->lock);
	sema_init(&admin->slots, EFA_ADMIN_DEPTH);
	admin->timeout = msecs_to_jiffies(TIMEOUT_MS);
	admin->poll = msecs_to_jiffies(POLL_MS);
	for (n = 0; n < EFA_ADMIN_DEPTH; n++)
		init_completion(&admin->ctx[n].done);
}
