/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a modelled adapter is, seen from outside: a PCI function with BARs that
 * is read, written, reset and given time, and that reaches guest memory and
 * interrupts only through its host. Device code knows nothing of sockets,
 * QEMU or threads; its unit tests drive it through this header alone.
 *
 * Threads and the one lock: every op of every device, and every fabric
 * delivery, runs under the process-wide model lock. An op must therefore be
 * short: register accesses only note what is wanted and call model_kick(); the
 * engine thread then calls ->work() in slices until it says there is no more.
 * The transport answers the guest's access as soon as the op returns, so work
 * always happens after the answer, as on hardware.
 */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MODEL_BARS		6
#define MODEL_CONFIG_SIZE	256
#define MODEL_NAME_MAX		32
#define MODEL_VIOLATIONS_KEPT	64

struct inject_rule;
struct model_device;
struct model_host;

/**
 * struct model_host_ops - what the transport does for a device
 *
 * @dma_read: copies @len bytes of guest memory at @addr into @buf. May cross
 *	ranges. Returns 0, or -EFAULT (nothing copied) when any byte of it is
 *	not guest memory that may be read. Sees what the guest had stored before
 *	whatever else the device has read already (pairs with the guest's wmb()).
 * @dma_write: the same in the other direction. Bytes become visible to the
 *	guest in increasing order of address only within one aligned 8-byte
 *	word; a caller that needs order uses two calls with @wmb between them.
 * @wmb: everything written before is visible before anything written after.
 *	Pairs with the guest driver's dma_rmb() behind its phase test.
 * @irq: raises MSI-X @vector once. Dropped while the guest has not enabled it.
 * @kick: asks that ->work() be called soon. Idempotent.
 * @timer: asks that ->work() be called at @when (ns of @now at the latest;
 *	the earliest wanted time counts). 0 forgets it.
 * @now: monotonic time in ns. Virtual in unit tests.
 * @leave: the device is pulled out, as by the control channel's "gone", when the slice
 *	of ->work() that is under way, or the next one, is over.
 */
struct model_host_ops {
	int (*dma_read)(struct model_host *host, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(struct model_host *host, uint64_t addr, const void *buf, size_t len);
	void (*wmb)(struct model_host *host);
	void (*irq)(struct model_host *host, unsigned int vector);
	void (*kick)(struct model_host *host);
	void (*timer)(struct model_host *host, uint64_t when);
	uint64_t (*now)(struct model_host *host);
	void (*leave)(struct model_host *host);
};

/* first member of whatever the transport keeps for a device */
struct model_host {
	const struct model_host_ops *ops;
};

/* part of a BAR that the guest may map; page multiples */
struct model_area {
	uint64_t offset;
	uint64_t length;
};

#define MODEL_AREAS	4

/**
 * struct model_bar - one memory BAR
 *
 * @size: bytes, a power of two; 0: absent
 * @is64: 64-bit BAR, takes the next index too
 * @prefetch: prefetchable
 * @areas: @nareas parts that the guest maps; accesses outside are trapped. A
 *	device in strict mode has none. Stores into a mapped part are not seen
 *	one by one: the device reads @mem when a doorbell tells it to, or polls.
 * @mem: backing memory of the whole BAR, shared with the guest where mapped;
 *	the transport allocates it (zeroed) before the first ->reset(). NULL when
 *	the device did not ask for it (@backed false).
 */
struct model_bar {
	uint64_t size;
	bool is64;
	bool prefetch;
	bool backed;
	struct model_area areas[MODEL_AREAS];
	unsigned int nareas;
	uint8_t *mem;
};

/**
 * struct model_device_ops - what a device does
 *
 * @reset: back to power-up state (also FLR, guest reboot, return from "gone").
 *	Clears BAR memory itself. Must not touch guest memory afterwards; kicks
 *	and timers from before are forgotten by the host.
 * @bar_read: a trapped load of @size (1, 2, 4 or 8) bytes; returns the value.
 * @bar_write: a trapped store. Values arrive in host order, low bits.
 * @work: one slice of outstanding work, well under a millisecond; true if there
 *	is more to do now.
 * @poll: looks at the words in mapped BAR memory that the guest may have stored
 *	to since the last look; true if there is work, which makes ->work() be
 *	called. Only while @polled is set; how often is the engine's choice
 *	(at once after activity, then ever less, at least every millisecond).
 *	May be NULL.
 * @control: a command of the control channel (argv[0] is the verb, see
 *	Documentation/model.rst). Writes one line without newline to @out.
 *	Returns 0, or a negative errno with the reason in @out; -ENOSYS for a
 *	verb it does not know.
 * @link: the cable was plugged in (@up) or pulled.
 * @destroy: frees the device; no op follows.
 */
struct model_device_ops {
	void (*reset)(struct model_device *dev);
	uint64_t (*bar_read)(struct model_device *dev, unsigned int bar, uint64_t off,
			     unsigned int size);
	void (*bar_write)(struct model_device *dev, unsigned int bar, uint64_t off,
			  unsigned int size, uint64_t value);
	bool (*work)(struct model_device *dev);
	bool (*poll)(struct model_device *dev);
	int (*control)(struct model_device *dev, int argc, char **argv, FILE *out);
	void (*link)(struct model_device *dev, bool up);
	void (*destroy)(struct model_device *dev);
};

struct inject_point;

/**
 * struct model_device - base of every device, first member of its own struct
 *
 * @config: PCI configuration space. The device fills ids, class and the
 *	capability list at creation (helpers in pci.h); the transport keeps it
 *	afterwards (command, MSI-X control, BAR registers).
 * @vectors: size of the MSI-X table. The table and PBA live in BAR
 *	@msix_bar at @msix_table and @msix_pba.
 * @polled: set by the device while it needs ->poll(), that is while there is a
 *	mapped doorbell the guest could ring
 * @inject_points: the names inject_match() is called with, see inject.h; NULL
 *	if the device has none. Injecting under another name is refused.
 * @inject_rules: faults asked for, see inject.h
 * @violations: accesses a correct driver would not make, counted since the
 *	last clear; the first MODEL_VIOLATIONS_KEPT of them as text.
 */
struct model_device {
	const struct model_device_ops *ops;
	struct model_host *host;
	char name[MODEL_NAME_MAX];
	uint8_t config[MODEL_CONFIG_SIZE];
	struct model_bar bar[MODEL_BARS];
	unsigned int vectors;
	unsigned int msix_bar;
	uint32_t msix_table;
	uint32_t msix_pba;
	bool polled;
	const struct inject_point *inject_points;
	struct inject_rule *inject_rules;
	uint64_t violations;
	char *violation_text[MODEL_VIOLATIONS_KEPT];
};

/**
 * model_violation() - record an access that a correct driver would not make
 *
 * The text says what was done, to which object, and what would be right, in one
 * line. A test run with any violation that no test asked for fails.
 */
void model_violation(struct model_device *dev, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void model_violations_clear(struct model_device *dev);

/* zeroes the memory of a backed BAR and gives its pages back; for ->reset() */
void model_bar_clear(struct model_device *dev, unsigned int bar);

/* forgets violations and injection rules, then calls ->destroy() */
void model_device_destroy(struct model_device *dev);

static inline int model_dma_read(struct model_device *dev, uint64_t addr, void *buf, size_t len)
{
	return dev->host->ops->dma_read(dev->host, addr, buf, len);
}

static inline int model_dma_write(struct model_device *dev, uint64_t addr, const void *buf,
				  size_t len)
{
	return dev->host->ops->dma_write(dev->host, addr, buf, len);
}

static inline void model_wmb(struct model_device *dev)
{
	dev->host->ops->wmb(dev->host);
}

static inline void model_irq(struct model_device *dev, unsigned int vector)
{
	dev->host->ops->irq(dev->host, vector);
}

static inline void model_kick(struct model_device *dev)
{
	dev->host->ops->kick(dev->host);
}

static inline void model_timer(struct model_device *dev, uint64_t when)
{
	dev->host->ops->timer(dev->host, when);
}

static inline uint64_t model_now(struct model_device *dev)
{
	return dev->host->ops->now(dev->host);
}

static inline void model_leave(struct model_device *dev)
{
	dev->host->ops->leave(dev->host);
}

/**
 * struct model_type - a kind of device that can be made by name
 *
 * @create: makes a device from "key=value" options (NULL-terminated array;
 *	the keys are those of Documentation/model.rst). On a bad option returns
 *	NULL and prints one sentence to @err that says what would be right.
 *	BARs, config and vectors are filled; ->reset() has not run yet.
 */
struct model_type {
	const char *name;
	struct model_device *(*create)(const char *name, char **options, FILE *err);
};

extern const struct model_type efa_type;	/* efa.c */
extern const struct model_type ionic_type;	/* ionic.c */

#endif /* MODEL_DEVICE_H */
