// SPDX-License-Identifier: GPL-2.0
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric.h"
#include "log.h"
#include "pci.h"
#include "slot.h"

#define PAGE		4096u
#define MSIX_ENTRY	16u

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "register values are handed over as the host stores them");

static struct slot *to_slot(struct model_host *host)
{
	return (struct slot *)host;
}

static bool is_bus_master(const struct slot *slot)
{
	return slot->dev->config[PCI_COMMAND] & PCI_COMMAND_MASTER;
}

/* after anything that decides whether the device may work */
static void update(struct slot *slot)
{
	struct fabric_port *port = fabric_find(slot->dev);

	bool running = slot->attached && !slot->gone && is_bus_master(slot);

	slot->task.held = !running || slot->stopped;
	if (port) {
		port->held = slot->stopped;
		port->gone = !running;
	}
}

/* the device names what it wanted there; here it is only known that it must not */
static int master_check(struct slot *slot)
{
	if (is_bus_master(slot))
		return 0;
	model_violation(slot->dev, "DMA while bus mastering is off; the driver must enable it "
			"before it gives the device anything to do");
	return -EFAULT;
}

static int host_dma_read(struct model_host *host, uint64_t addr, void *buf, size_t len)
{
	struct slot *slot = to_slot(host);

	/* what the device read before tells it that this is valid; pairs with the guest's wmb() */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return master_check(slot) ?: dma_read(&slot->dma, addr, buf, len);
}

static int host_dma_write(struct model_host *host, uint64_t addr, const void *buf, size_t len)
{
	struct slot *slot = to_slot(host);

	return master_check(slot) ?: dma_write(&slot->dma, addr, buf, len);
}

static void host_wmb(struct model_host *host)
{
	(void)host;
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void host_irq(struct model_host *host, unsigned int vector)
{
	struct slot *slot = to_slot(host);

	if (vector < slot->dev->vectors && is_bus_master(slot))
		slot_fire(slot, vector);
	else
		slot->irqs_dropped++;
}

static void host_kick(struct model_host *host)
{
	engine_kick(&to_slot(host)->task);
}

static void host_timer(struct model_host *host, uint64_t when)
{
	engine_timer(&to_slot(host)->task, when);
}

static uint64_t host_now(struct model_host *host)
{
	(void)host;
	return engine_now();
}

/* not at once: the device is in the middle of something, and being pulled resets it */
static void host_leave(struct model_host *host)
{
	struct slot *slot = to_slot(host);

	slot->leaving = true;
	engine_kick(&slot->task);
}

static void slice_is_over(struct engine_task *task)
{
	struct slot *slot = (struct slot *)((char *)task - offsetof(struct slot, task));

	if (slot->leaving)
		slot_set_gone(slot, true);
}

static const struct model_host_ops host_ops = {
	.dma_read = host_dma_read,
	.dma_write = host_dma_write,
	.wmb = host_wmb,
	.irq = host_irq,
	.kick = host_kick,
	.timer = host_timer,
	.now = host_now,
	.leave = host_leave,
};

/* what a device promised when it was made; QEMU aborts on some of it */
static void check_device(const struct model_device *dev)
{
	for (unsigned int i = 0; i < MODEL_BARS; i++) {
		const struct model_bar *bar = &dev->bar[i];

		assert(!(bar->size & (bar->size - 1)));
		assert(bar->nareas <= MODEL_AREAS && (bar->backed || !bar->nareas));
		for (unsigned int j = 0; j < bar->nareas; j++) {
			const struct model_area *area = &bar->areas[j];

			assert(area->length && !(area->offset % PAGE) && !(area->length % PAGE));
			assert(area->offset + area->length <= bar->size);
		}
	}
	assert(dev->vectors && dev->msix_bar < MODEL_BARS);
	assert(dev->msix_table + dev->vectors * MSIX_ENTRY <= dev->bar[dev->msix_bar].size);
	assert(dev->msix_pba + (dev->vectors + 63) / 64 * 8 <= dev->bar[dev->msix_bar].size);
}

/* sealed: a guest process that could shrink it would kill this one */
static int back_bar(struct slot *slot, unsigned int index)
{
	struct model_bar *bar = &slot->dev->bar[index];
	int fd = memfd_create(slot->dev->name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *mem;

	slot->bar_fd[index] = fd;
	if (fd < 0 || ftruncate(fd, bar->size) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	mem = mmap(NULL, bar->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	bar->mem = mem;
	return 0;
}

static int back_bars(struct slot *slot)
{
	int err = 0;

	for (unsigned int i = 0; i < MODEL_BARS && !err; i++)
		if (slot->dev->bar[i].backed)
			err = back_bar(slot, i);
	return err;
}

static int make_vectors(struct slot *slot)
{
	slot->vector_fd = malloc(slot->dev->vectors * sizeof(*slot->vector_fd));
	if (!slot->vector_fd)
		return -ENOMEM;
	for (unsigned int i = 0; i < slot->dev->vectors; i++)
		slot->vector_fd[i] = -1;
	return 0;
}

struct slot *slot_create(struct model_device *dev, const char *type, FILE *err)
{
	struct slot *slot = calloc(1, sizeof(*slot));

	check_device(dev);
	if (!slot) {
		fprintf(err, "there must be memory for %s\n", dev->name);
		model_device_destroy(dev);
		return NULL;
	}
	slot->host.ops = &host_ops;
	slot->dev = dev;
	slot->type = type;
	slot->task.dev = dev;
	slot->task.after = slice_is_over;
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		slot->bar_fd[i] = -1;
	memcpy(slot->power_up_config, dev->config, sizeof(dev->config));
	dev->host = &slot->host;
	engine_add(&slot->task);

	if (make_vectors(slot) || back_bars(slot)) {
		fprintf(err, "there must be memory for the BARs of %s\n", dev->name);
		slot_destroy(slot);
		return NULL;
	}
	slot_reset(slot);
	return slot;
}

void slot_destroy(struct slot *slot)
{
	struct model_bar bar[MODEL_BARS];

	engine_remove(&slot->task);
	dma_map_clear(&slot->dma);
	for (unsigned int i = 0; slot->vector_fd && i < slot->dev->vectors; i++)
		slot_set_vector(slot, i, -1);
	free(slot->vector_fd);

	memcpy(bar, slot->dev->bar, sizeof(bar));
	model_device_destroy(slot->dev);
	for (unsigned int i = 0; i < MODEL_BARS; i++) {
		if (bar[i].mem)
			munmap(bar[i].mem, bar[i].size);
		if (slot->bar_fd[i] >= 0)
			close(slot->bar_fd[i]);
	}
	free(slot);
}

void slot_reset(struct slot *slot)
{
	engine_cancel(&slot->task);
	memcpy(slot->dev->config, slot->power_up_config, sizeof(slot->dev->config));
	slot->dev->ops->reset(slot->dev);
	update(slot);
}

void slot_attach(struct slot *slot)
{
	slot->attached = true;
	update(slot);
}

void slot_detach(struct slot *slot)
{
	slot->attached = false;
	dma_map_clear(&slot->dma);
	for (unsigned int i = 0; i < slot->dev->vectors; i++)
		slot_set_vector(slot, i, -1);
	slot_reset(slot);
}

uint64_t slot_region_size(const struct slot *slot, unsigned int region)
{
	if (region < MODEL_BARS)
		return slot->dev->bar[region].size;
	return region == SLOT_CONFIG ? MODEL_CONFIG_SIZE : 0;
}

static bool is_msix(const struct model_device *dev, unsigned int bar, uint64_t off)
{
	uint64_t table = dev->msix_table, pba = dev->msix_pba;

	return bar == dev->msix_bar &&
	       ((off >= table && off - table < dev->vectors * MSIX_ENTRY) ||
		(off >= pba && off - pba < (dev->vectors + 63) / 64 * 8));
}

/* the largest naturally aligned piece that an access of @count bytes can begin with */
static unsigned int piece(uint64_t off, uint32_t count)
{
	unsigned int size = 8;

	while (size > count || off % size)
		size /= 2;
	return size;
}

static void read_bar(struct slot *slot, unsigned int bar, uint64_t off, uint8_t *buf,
		     uint32_t count)
{
	while (count) {
		unsigned int size = piece(off, count);
		uint64_t value = 0;

		if (!is_msix(slot->dev, bar, off))
			value = slot->dev->ops->bar_read(slot->dev, bar, off, size);
		log_trace(slot->dev->name, "read bar %u +0x%" PRIx64 " %u: 0x%" PRIx64, bar, off,
			  size, value);
		memcpy(buf, &value, size);
		buf += size;
		off += size;
		count -= size;
	}
}

static void write_bar(struct slot *slot, unsigned int bar, uint64_t off, const uint8_t *buf,
		      uint32_t count)
{
	while (count) {
		unsigned int size = piece(off, count);
		uint64_t value = 0;

		memcpy(&value, buf, size);
		log_trace(slot->dev->name, "write bar %u +0x%" PRIx64 " %u: 0x%" PRIx64, bar, off,
			  size, value);
		if (!is_msix(slot->dev, bar, off))
			slot->dev->ops->bar_write(slot->dev, bar, off, size, value);
		buf += size;
		off += size;
		count -= size;
	}
}

static void write_config(struct slot *slot, uint64_t off, const uint8_t *buf, uint32_t count)
{
	bool reset = false;

	while (count) {
		unsigned int size = count < 4 ? count : 4;
		uint32_t value = 0;

		memcpy(&value, buf, size);
		reset |= pci_config_write(slot->dev, off, size, value);
		buf += size;
		off += size;
		count -= size;
	}
	if (reset) {
		log_note(slot->dev->name, "function-level reset");
		slot_reset(slot);
	}
	update(slot);
}

void slot_read(struct slot *slot, unsigned int region, uint64_t off, uint8_t *buf, uint32_t count)
{
	if (slot->gone) {
		memset(buf, 0xff, count);
		/* QEMU takes 0xff for a pin number and complains of it */
		if (region == SLOT_CONFIG && off <= PCI_INTERRUPT_PIN &&
		    off + count > PCI_INTERRUPT_PIN)
			buf[PCI_INTERRUPT_PIN - off] = 0;
	} else if (region == SLOT_CONFIG) {
		memcpy(buf, slot->dev->config + off, count);
	} else {
		slot->trapped_reads++;
		read_bar(slot, region, off, buf, count);
	}
}

void slot_write(struct slot *slot, unsigned int region, uint64_t off, const uint8_t *buf,
		uint32_t count)
{
	if (slot->gone)
		return;
	if (region == SLOT_CONFIG) {
		write_config(slot, off, buf, count);
	} else {
		slot->trapped_writes++;
		write_bar(slot, region, off, buf, count);
	}
}

void slot_set_vector(struct slot *slot, unsigned int vector, int fd)
{
	if (slot->vector_fd[vector] >= 0)
		close(slot->vector_fd[vector]);
	slot->vector_fd[vector] = fd;
}

void slot_fire(struct slot *slot, unsigned int vector)
{
	uint64_t one = 1;

	/* a write that fails found a counter that says "pending" already */
	if (slot->vector_fd[vector] >= 0 &&
	    write(slot->vector_fd[vector], &one, sizeof(one)) == sizeof(one))
		slot->irqs++;
	else
		slot->irqs_dropped++;
}

void slot_set_gone(struct slot *slot, bool gone)
{
	slot->leaving = false;
	if (slot->gone == gone)
		return;
	if (gone)
		log_note(slot->dev->name, "leaves the bus");
	slot->gone = gone;
	/* when pulled it loses its state at once, and comes back as from power-up */
	slot_reset(slot);
}

void slot_set_stopped(struct slot *slot, bool stopped)
{
	slot->stopped = stopped;
	update(slot);
}

void slot_stats(const struct slot *slot, FILE *out)
{
	const struct fabric_port *port = fabric_find(slot->dev);
	const struct dma_map *dma = &slot->dma;

	if (port)
		fprintf(out, "net_sent=%" PRIu64 " net_received=%" PRIu64 " net_dropped=%" PRIu64
			" ", port->sent, port->received, port->dropped);
	fprintf(out, "dma_reads=%" PRIu64 " dma_writes=%" PRIu64 " dma_bytes=%" PRIu64
		" dma_faults=%" PRIu64 " irqs=%" PRIu64 " irqs_dropped=%" PRIu64
		" trapped_reads=%" PRIu64 " trapped_writes=%" PRIu64,
		dma->reads, dma->writes, dma->bytes, dma->faults, slot->irqs, slot->irqs_dropped,
		slot->trapped_reads, slot->trapped_writes);
}
