/* SPDX-License-Identifier: GPL-2.0 */
/* Filling the configuration space of a modelled function. */
#ifndef MODEL_PCI_H
#define MODEL_PCI_H

#include <stdbool.h>
#include <stdint.h>

struct model_device;

struct pci_ids {
	uint16_t vendor, device, subvendor, subdevice;
	uint32_t class_code;	/* 24 bits: base, sub, interface */
	uint8_t revision;
};

/* header, BAR type bits and an empty capability list; call after bar[] is set */
void pci_init(struct model_device *dev, const struct pci_ids *ids);
void pci_add_pm(struct model_device *dev);
void pci_add_pcie(struct model_device *dev);	/* endpoint, v2, with FLR */
void pci_add_msix(struct model_device *dev);	/* from vectors, msix_* */

/*
 * A guest write to configuration space: keeps what is writable, ignores the
 * rest. True when the write asked for a function-level reset.
 */
bool pci_config_write(struct model_device *dev, uint32_t off, unsigned int size, uint32_t value);

#endif /* MODEL_PCI_H */
