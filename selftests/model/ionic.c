// SPDX-License-Identifier: GPL-2.0
/* A modelled ionic function as a whole: creation, reset, BAR dispatch, the slice of work. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ionic_rdma.h"
#include "pci.h"

#define CLASS_ETHERNET	0x020000

/* what ionic_write_entry() keeps for last: the word with the color in its last byte */
#define TAIL		8

int ionic_read(struct ionic *ionic, uint64_t addr, void *buf, size_t len, const char *what)
{
	int err = model_dma_read(&ionic->dev, addr, buf, len);

	if (err)
		model_violation(&ionic->dev, "%s at 0x%" PRIx64 " (%zu bytes) is not memory that "
				"the adapter may read", what, addr, len);
	return err;
}

int ionic_write(struct ionic *ionic, uint64_t addr, const void *buf, size_t len, const char *what)
{
	int err = model_dma_write(&ionic->dev, addr, buf, len);

	if (err)
		model_violation(&ionic->dev, "%s at 0x%" PRIx64 " (%zu bytes) is not memory that "
				"the adapter may write", what, addr, len);
	return err;
}

int ionic_write_entry(struct ionic *ionic, uint64_t addr, const void *entry, size_t len,
		      const char *what)
{
	size_t head = len - TAIL;
	int err;

	err = ionic_write(ionic, addr, entry, head, what);
	if (err)
		return err;
	/* pairs with the driver's dma_rmb() behind its look at the color */
	model_wmb(&ionic->dev);
	return ionic_write(ionic, addr + head, (const uint8_t *)entry + head, TAIL, what);
}

bool ionic_reachable(struct ionic *ionic, uint64_t addr, uint64_t bytes)
{
	uint8_t byte;

	return !model_dma_read(&ionic->dev, addr, &byte, 1) &&
	       !model_dma_read(&ionic->dev, addr + bytes - 1, &byte, 1);
}

void ionic_forget_all(struct ionic *ionic)
{
	ionic_lif_forget(ionic);
	ionic_port_forget(ionic);
	ionic_intr_reset(ionic);
	ionic->excused = false;
}

static void reset(struct model_device *dev)
{
	struct ionic *ionic = ionic_of(dev);

	ionic_forget_all(ionic);
	ionic_devcmd_reset(ionic);
	memset(&ionic->fw, 0, sizeof(ionic->fw));
	ionic->ready = false;
	if (dev->bar[IONIC_BAR_CMB].mem)
		model_bar_clear(dev, IONIC_BAR_CMB);
	ionic->tally.resets++;
}

static uint64_t read_regs(struct ionic *ionic, uint64_t off, unsigned int size)
{
	if (ionic_within(off, size, 0, IONIC_REG_INFO_END))
		return ionic_info_read(ionic, off, size);
	if (ionic_within(off, size, IONIC_REG_DEVCMD_DOORBELL,
			 IONIC_REG_DEVCMD_END - IONIC_REG_DEVCMD_DOORBELL))
		return ionic_devcmd_read(ionic, off, size);
	if (off >= IONIC_REG_INTR(0))
		return ionic_intr_read(ionic, off, size);
	return 0;	/* interrupt status: never anything there */
}

static void write_regs(struct ionic *ionic, uint64_t off, unsigned int size, uint64_t value)
{
	if (ionic_within(off, size, IONIC_REG_DEVCMD_DOORBELL,
			 IONIC_REG_DEVCMD_END - IONIC_REG_DEVCMD_DOORBELL))
		ionic_devcmd_write(ionic, off, size, value);
	else if (off >= IONIC_REG_INTR(0))
		ionic_intr_write(ionic, off, size, value);
	else
		model_violation(&ionic->dev, "store of 0x%" PRIx64 " to read-only register 0x%"
				PRIx64, value, off);
}

static uint64_t bar_read(struct model_device *dev, unsigned int bar, uint64_t off,
			 unsigned int size)
{
	struct ionic *ionic = ionic_of(dev);

	switch (bar) {
	case IONIC_BAR_REGS:
		return read_regs(ionic, off, size);
	case IONIC_BAR_CMB:
		return ionic_cmb_read(ionic, off, size);
	default:
		model_violation(dev, "load from the doorbells at 0x%" PRIx64 ", which only take "
				"stores", off);
		return 0;
	}
}

static void bar_write(struct model_device *dev, unsigned int bar, uint64_t off, unsigned int size,
		      uint64_t value)
{
	struct ionic *ionic = ionic_of(dev);

	switch (bar) {
	case IONIC_BAR_REGS:
		write_regs(ionic, off, size, value);
		break;
	case IONIC_BAR_CMB:
		ionic_cmb_write(ionic, off, size, value);
		break;
	default:
		ionic_doorbell_write(ionic, off, size, value);
	}
}

static bool work(struct model_device *dev)
{
	struct ionic *ionic = ionic_of(dev);
	uint64_t when, admin_when = 0, tx_when = 0, rdma_when = 0;
	bool more;

	if (ionic->fw.down)
		return false;
	when = ionic_devcmd_work(ionic);
	ionic_port_work(ionic);
	ionic_lif_work(ionic);
	more = ionic_adminq_work(ionic, &admin_when);
	more |= ionic_tx_work(ionic, &tx_when);
	more |= ionic_rdma_work(ionic, &rdma_when);
	when = ionic_earlier(when, ionic_stats_work(ionic));
	when = ionic_earlier(when, ionic_earlier(rdma_when, ionic_earlier(admin_when, tx_when)));
	if (when)
		model_timer(dev, when);
	return more;
}

/* express doorbells in mapped controller memory */
static bool poll(struct model_device *dev)
{
	struct ionic *ionic = ionic_of(dev);

	return !ionic->fw.down && ionic_wq_poll(ionic);
}

static void set_cable(struct model_device *dev, bool up)
{
	struct ionic *ionic = ionic_of(dev);

	ionic->port.cable = up;
	ionic_net_update(ionic);
	model_kick(dev);
}

static void destroy(struct model_device *dev)
{
	struct ionic *ionic = ionic_of(dev);

	ionic_net_detach(ionic);
	ionic_rdma_close(ionic);
	free(ionic->intr);
	free(ionic->lif.filters);
	free(ionic->lif.rxq);
	free(ionic->lif.txq);
	free(ionic);
}

static const struct model_device_ops ionic_ops = {
	.reset = reset,
	.bar_read = bar_read,
	.bar_write = bar_write,
	.work = work,
	.poll = poll,
	.control = ionic_control,
	.link = set_cable,
	.destroy = destroy,
};

static uint64_t power_of_two(uint64_t least)
{
	uint64_t size = IONIC_PAGE;

	while (size < least)
		size *= 2;
	return size;
}

/*
 * Doorbells are trapped. They cannot be mapped and polled: all queues of one type
 * and process ring at the same word, which says in its value whose doorbell it
 * is, so of two that ring between two looks one would be lost.
 */
static void set_up_bars(struct ionic *ionic)
{
	struct model_bar *bar = ionic->dev.bar;

	bar[IONIC_BAR_REGS].size = IONIC_REGS_SIZE;
	bar[IONIC_BAR_REGS].is64 = true;
	bar[IONIC_BAR_DOORBELLS].size =
		power_of_two((ionic->config.hw_lif + 1) * ionic->config.dbpages * IONIC_PAGE);
	bar[IONIC_BAR_DOORBELLS].is64 = true;
	ionic_cmb_bar(&ionic->config, &bar[IONIC_BAR_CMB]);
}

static void set_up_pci(struct ionic *ionic)
{
	const struct pci_ids ids = {
		.vendor = IONIC_PCI_VENDOR, .device = ionic->config.device_id,
		.subvendor = IONIC_PCI_VENDOR, .subdevice = ionic->config.device_id,
		.class_code = CLASS_ETHERNET, .revision = ionic->config.asic_rev,
	};
	struct model_device *dev = &ionic->dev;

	dev->vectors = ionic->config.vectors;
	dev->msix_bar = IONIC_BAR_REGS;
	dev->msix_table = IONIC_MSIX_TABLE;
	dev->msix_pba = IONIC_MSIX_PBA;
	pci_init(dev, &ids);
	pci_add_pm(dev);
	pci_add_pcie(dev);
	pci_add_msix(dev);
}

static int allocate(struct ionic *ionic)
{
	const struct ionic_config *config = &ionic->config;
	struct ionic_lif *lif = &ionic->lif;

	ionic->intr = calloc(config->vectors, sizeof(*ionic->intr));
	lif->filters = calloc(config->filters + 1, sizeof(*lif->filters));
	lif->rxq = calloc(config->queues, sizeof(*lif->rxq));
	lif->txq = calloc(config->queues, sizeof(*lif->txq));
	return ionic->intr && lif->filters && lif->rxq && lif->txq ? 0 : -ENOMEM;
}

/* queues know what they are before anybody starts them */
static void name_queues(struct ionic *ionic)
{
	ionic->lif.adminq.q.type = IONIC_Q_ADMIN;
	ionic->lif.notifyq.type = IONIC_Q_NOTIFY;
	for (unsigned int i = 0; i < ionic->config.queues; i++) {
		ionic->lif.rxq[i].type = IONIC_Q_RX;
		ionic->lif.rxq[i].index = i;
		ionic->lif.txq[i].type = IONIC_Q_TX;
		ionic->lif.txq[i].index = i;
	}
}

static struct model_device *create(const char *name, char **options, FILE *err)
{
	struct ionic *ionic = calloc(1, sizeof(*ionic));

	if (!ionic) {
		fprintf(err, "there must be memory for %s", name);
		return NULL;
	}
	snprintf(ionic->dev.name, sizeof(ionic->dev.name), "%s", name);
	ionic->dev.ops = &ionic_ops;
	ionic->dev.inject_points = ionic_inject_points;
	if (ionic_config_parse(&ionic->config, name, options, err))
		goto free;
	if (allocate(ionic) || ionic_rdma_open(ionic)) {
		fprintf(err, "there must be memory for %s", name);
		goto free;
	}
	name_queues(ionic);
	set_up_bars(ionic);
	set_up_pci(ionic);
	ionic->port.cable = true;
	if (ionic_net_attach(ionic)) {
		fprintf(err, "mac of %s must be one that no other adapter has", name);
		goto free;
	}
	return &ionic->dev;
free:
	destroy(&ionic->dev);
	return NULL;
}

const struct model_type ionic_type = { .name = "ionic", .create = create };
