// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Registers. The CPU never loads from the device: it stores a request and the device
 * writes the value into memory. A read that fails says so apart from the value; a
 * value of all ones is what a device that has left the bus gives.
 */
#include <linux/bitfield.h>
#include <linux/io.h>
#include <linux/iopoll.h>

#include "efa.h"

/*
 * choice: ten times what other drivers grant. Waiting longer costs nothing but when a
 * device is mute, and a virtual machine may be off its CPU for tens of milliseconds.
 */
#define MMIO_TIMEOUT_US		500000
/* What is left in the answer's req_id before a read: never the number of that read. */
#define MMIO_POISON		0x9a

void efa_mmio_write(struct efa_dev *dev, u32 reg, u32 val)
{
	writel(val, dev->mmio.regs + reg);
}

/* Also after a reset, which makes the device forget the address. */
void efa_mmio_set_resp(struct efa_dev *dev)
{
	efa_mmio_write(dev, EFA_REG_MMIO_RESP_HI, upper_32_bits(dev->mmio.resp_dma));
	efa_mmio_write(dev, EFA_REG_MMIO_RESP_LO, lower_32_bits(dev->mmio.resp_dma));
}

static int read_locked(struct efa_dev *dev, u32 reg, u32 *val)
{
	struct efa_mmio *mmio = &dev->mmio;
	struct efa_mmio_resp *resp = mmio->resp;
	u16 seq = ++mmio->seq;
	__le16 id;

	WRITE_ONCE(resp->req_id, cpu_to_le16(seq + MMIO_POISON));
	efa_mmio_write(dev, EFA_REG_MMIO_REG_READ,
		       FIELD_PREP(EFA_MMIO_READ_REQ_ID, seq) |
		       FIELD_PREP(EFA_MMIO_READ_REG_OFF, reg));

	if (read_poll_timeout(READ_ONCE, id, id == cpu_to_le16(seq), 5, mmio->timeout_us, false,
			      resp->req_id))
		return -ETIMEDOUT;

	/* Pairs with the device, which writes req_id last. */
	dma_rmb();
	if (le16_to_cpu(resp->reg_off) != reg)
		return -EIO;
	*val = le32_to_cpu(resp->reg_val);
	return *val == U32_MAX ? -ENODEV : 0;
}

int efa_mmio_read(struct efa_dev *dev, u32 reg, u32 *val)
{
	int ret;

	mutex_lock(&dev->mmio.lock);
	ret = read_locked(dev, reg, val);
	mutex_unlock(&dev->mmio.lock);
	if (ret)
		dev_err_ratelimited(&dev->pdev->dev, "reading register %#x failed: %d\n", reg, ret);
	return ret;
}

int efa_mmio_init(struct efa_dev *dev)
{
	struct efa_mmio *mmio = &dev->mmio;

	mutex_init(&mmio->lock);
	mmio->timeout_us = MMIO_TIMEOUT_US;
	mmio->regs = pci_ioremap_bar(dev->pdev, EFA_BAR_REGS);
	if (!mmio->regs)
		return -EFAULT;

	mmio->resp = dma_alloc_coherent(&dev->pdev->dev, sizeof(*mmio->resp), &mmio->resp_dma,
					GFP_KERNEL);
	if (!mmio->resp) {
		iounmap(mmio->regs);
		return -ENOMEM;
	}
	efa_mmio_set_resp(dev);
	return 0;
}

void efa_mmio_cleanup(struct efa_dev *dev)
{
	struct efa_mmio *mmio = &dev->mmio;

	dma_free_coherent(&dev->pdev->dev, sizeof(*mmio->resp), mmio->resp, mmio->resp_dma);
	iounmap(mmio->regs);
	mutex_destroy(&mmio->lock);
}
