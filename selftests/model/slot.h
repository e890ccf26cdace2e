/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a device is plugged in: it gives the device what struct model_host
 * promises (guest memory, interrupts, time) and gives whoever speaks for the
 * guest a PCI function to access. It knows no protocol.
 *
 * A device runs while a guest is attached and has allowed it to be a bus master,
 * and nobody has pulled it (control channel). Otherwise it gets no time, and
 * packets for it are lost. So a driver that forgets pci_set_master() gets what it
 * gets from hardware, and a guest that reboots under load is not accused of
 * anything. A device that is stopped gets no time either, but its packets wait.
 *
 * Everything is called under the model lock.
 */
#ifndef MODEL_SLOT_H
#define MODEL_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "device.h"
#include "dma.h"
#include "engine.h"

#define SLOT_CONFIG	MODEL_BARS	/* region number behind those of the BARs */

/**
 * struct slot - one device and its surroundings
 *
 * @type: name of the device's type
 * @next: for whoever keeps several
 * @vector_fd: eventfd of each MSI-X vector, -1: the guest has not asked for it
 * @bar_fd: file of each backed BAR, for the guest to map; -1: not backed
 * @attached: a guest is there
 * @gone: pulled: reads are all ones, writes go nowhere
 * @stopped: told to do nothing
 */
struct slot {
	struct model_host host;		/* first: a device's host is its slot */
	struct model_device *dev;
	const char *type;
	struct slot *next;
	struct engine_task task;
	struct dma_map dma;
	int *vector_fd;
	int bar_fd[MODEL_BARS];
	uint8_t power_up_config[MODEL_CONFIG_SIZE];
	bool attached, gone, stopped;
	bool leaving;			/* to be pulled when its slice is over */
	uint64_t trapped_reads, trapped_writes;
	uint64_t irqs, irqs_dropped;
};

/*
 * Plugs in a device: BAR memory, first reset. The slot takes it over, also on
 * failure. NULL with one sentence in @err if there is no memory.
 */
struct slot *slot_create(struct model_device *dev, const char *type, FILE *err);
void slot_destroy(struct slot *slot);

void slot_attach(struct slot *slot);
/* takes away memory and interrupts and resets the device */
void slot_detach(struct slot *slot);
void slot_reset(struct slot *slot);

/*
 * Accesses of @count bytes inside region 0 to MODEL_BARS - 1 or SLOT_CONFIG; the
 * caller has checked that they are inside. They are cut into aligned pieces of
 * at most 8 bytes. The MSI-X table and PBA are the guest side's business and
 * never reach the device.
 */
uint64_t slot_region_size(const struct slot *slot, unsigned int region);
void slot_read(struct slot *slot, unsigned int region, uint64_t off, uint8_t *buf, uint32_t count);
void slot_write(struct slot *slot, unsigned int region, uint64_t off, const uint8_t *buf,
		uint32_t count);

/* takes over @fd (-1: none) for a vector of the device */
void slot_set_vector(struct slot *slot, unsigned int vector, int fd);
void slot_fire(struct slot *slot, unsigned int vector);

/* pulls the device, or plugs it in again as after power-up */
void slot_set_gone(struct slot *slot, bool gone);
void slot_set_stopped(struct slot *slot, bool stopped);

/* "key=value" pairs */
void slot_stats(const struct slot *slot, FILE *out);

#endif /* MODEL_SLOT_H */
