// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration space of an endpoint with memory BARs, MSI-X, power management
 * and PCI Express capabilities. Which bits a guest may change is written down
 * once, in writable_bits(); all others keep what the device put there.
 *
 * BAR registers are read-only here: QEMU keeps the addresses and asks only for
 * the type bits.
 */
#include <string.h>
#include <linux/pci_regs.h>

#include "device.h"
#include "pci.h"

#define FIRST_CAP	0x40
#define PM_SIZE		8
#define MSIX_SIZE	12
#define PCIE_SIZE	60	/* version 2 */

static uint16_t get16(const uint8_t *config, unsigned int off)
{
	return config[off] | config[off + 1] << 8;
}

static void put16(uint8_t *config, unsigned int off, uint16_t value)
{
	config[off] = value;
	config[off + 1] = value >> 8;
}

static void put32(uint8_t *config, unsigned int off, uint32_t value)
{
	put16(config, off, value);
	put16(config, off + 2, value >> 16);
}

void pci_init(struct model_device *dev, const struct pci_ids *ids)
{
	uint8_t *config = dev->config;

	memset(config, 0, sizeof(dev->config));
	put16(config, PCI_VENDOR_ID, ids->vendor);
	put16(config, PCI_DEVICE_ID, ids->device);
	put16(config, PCI_SUBSYSTEM_VENDOR_ID, ids->subvendor);
	put16(config, PCI_SUBSYSTEM_ID, ids->subdevice);
	put32(config, PCI_CLASS_REVISION, ids->class_code << 8 | ids->revision);

	for (unsigned int i = 0; i < MODEL_BARS; i++) {
		if (!dev->bar[i].size)
			continue;
		put32(config, PCI_BASE_ADDRESS_0 + 4 * i,
		      (dev->bar[i].is64 ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0) |
		      (dev->bar[i].prefetch ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
	}
}

static unsigned int cap_size(uint8_t id)
{
	switch (id) {
	case PCI_CAP_ID_PM:
		return PM_SIZE;
	case PCI_CAP_ID_MSIX:
		return MSIX_SIZE;
	default:
		return PCIE_SIZE;
	}
}

/* appends a capability to the list, all zero but for its id; returns its offset */
static unsigned int add_cap(struct model_device *dev, uint8_t id)
{
	uint8_t *config = dev->config;
	unsigned int link = PCI_CAPABILITY_LIST, off = FIRST_CAP;

	while (config[link]) {
		off = config[link];
		link = off + PCI_CAP_LIST_NEXT;
		off += (cap_size(config[off]) + 3) & ~3u;
	}
	config[link] = off;
	config[off] = id;
	put16(config, PCI_STATUS, get16(config, PCI_STATUS) | PCI_STATUS_CAP_LIST);
	return off;
}

static unsigned int find_cap(const uint8_t *config, uint8_t id)
{
	unsigned int off = config[PCI_CAPABILITY_LIST];

	while (off && config[off] != id)
		off = config[off + PCI_CAP_LIST_NEXT];
	return off;
}

void pci_add_pm(struct model_device *dev)
{
	unsigned int off = add_cap(dev, PCI_CAP_ID_PM);

	put16(dev->config, off + PCI_PM_PMC, 3);	/* specification 1.2 */
	put16(dev->config, off + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
}

void pci_add_pcie(struct model_device *dev)
{
	unsigned int off = add_cap(dev, PCI_CAP_ID_EXP);
	uint16_t link = PCI_EXP_LNKCAP_SLS_8_0GB | PCI_EXP_LNKSTA_NLW_X8;

	put16(dev->config, off + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(dev->config, off + PCI_EXP_DEVCAP,
	      PCI_EXP_DEVCAP_FLR | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_EXT_TAG);
	put32(dev->config, off + PCI_EXP_LNKCAP, link);
	put16(dev->config, off + PCI_EXP_LNKSTA, link);
	put32(dev->config, off + PCI_EXP_LNKCAP2, PCI_EXP_LNKCAP2_SLS_2_5GB |
	      PCI_EXP_LNKCAP2_SLS_5_0GB | PCI_EXP_LNKCAP2_SLS_8_0GB);
	put16(dev->config, off + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS_8_0GT);
}

void pci_add_msix(struct model_device *dev)
{
	unsigned int off = add_cap(dev, PCI_CAP_ID_MSIX);

	put16(dev->config, off + PCI_MSIX_FLAGS, dev->vectors - 1);
	put32(dev->config, off + PCI_MSIX_TABLE, dev->msix_table | dev->msix_bar);
	put32(dev->config, off + PCI_MSIX_PBA, dev->msix_pba | dev->msix_bar);
}

/* a set bit may be changed by the guest and reads back as written */
static void writable_bits(const uint8_t *config, uint8_t *mask)
{
	unsigned int off;

	memset(mask, 0, MODEL_CONFIG_SIZE);
	put16(mask, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY |
	      PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	mask[PCI_CACHE_LINE_SIZE] = 0xff;
	mask[PCI_INTERRUPT_LINE] = 0xff;

	off = find_cap(config, PCI_CAP_ID_PM);
	if (off)
		put16(mask, off + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
	off = find_cap(config, PCI_CAP_ID_MSIX);
	if (off)
		put16(mask, off + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	off = find_cap(config, PCI_CAP_ID_EXP);
	if (off) {
		put16(mask, off + PCI_EXP_DEVCTL, (uint16_t)~PCI_EXP_DEVCTL_BCR_FLR);
		put16(mask, off + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC);
	}
}

static bool asks_for_flr(const uint8_t *config, uint32_t off, unsigned int size, uint32_t value)
{
	unsigned int cap = find_cap(config, PCI_CAP_ID_EXP);
	unsigned int byte = cap + PCI_EXP_DEVCTL + 1;

	if (!cap || byte < off || byte >= off + size)
		return false;
	return value >> 8 * (byte - off) & PCI_EXP_DEVCTL_BCR_FLR >> 8;
}

bool pci_config_write(struct model_device *dev, uint32_t off, unsigned int size, uint32_t value)
{
	uint8_t mask[MODEL_CONFIG_SIZE];

	writable_bits(dev->config, mask);
	for (unsigned int i = 0; i < size && off + i < MODEL_CONFIG_SIZE; i++) {
		uint8_t *byte = &dev->config[off + i];

		*byte = (*byte & ~mask[off + i]) | (value >> 8 * i & mask[off + i]);
	}
	return asks_for_flr(dev->config, off, size, value);
}
