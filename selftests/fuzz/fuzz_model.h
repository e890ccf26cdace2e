/* SPDX-License-Identifier: GPL-2.0 */
/* What every guest can do to an adapter's model, whatever the adapter is. */
#ifndef SELFTESTS_FUZZ_MODEL_H
#define SELFTESTS_FUZZ_MODEL_H

#include "device.h"
#include "fuzz.h"
#include "inject.h"
#include "test_host.h"

static inline bool fuzz_is_mapped(const struct model_device *dev, unsigned int bar, uint64_t off)
{
	for (unsigned int i = 0; i < dev->bar[bar].nareas; i++)
		if (off - dev->bar[bar].areas[i].offset < dev->bar[bar].areas[i].length)
			return true;
	return false;
}

/* an access anywhere: trapped, or straight to memory where that is mapped */
static inline void fuzz_access(struct fuzz *f, struct model_device *dev,
			       const struct fuzz_known *known)
{
	uint8_t how = fuzz8(f);
	unsigned int bar = 2 * (how & 3), size = 1u << (how >> 2 & 3);
	uint64_t off = how & 0x20 ? fuzz32(f) : fuzz8(f), value;

	if (bar > 4 || !dev->bar[bar].size)
		bar = 0;
	off = off % dev->bar[bar].size & ~(uint64_t)(size - 1);
	if (bar == dev->msix_bar && off >= dev->msix_table)
		return;		/* these never reach the device */
	if (how & 0x40) {
		dev->ops->bar_read(dev, bar, off, size);
		return;
	}
	value = fuzz_number(f, known);
	if (fuzz_is_mapped(dev, bar, off) && !(how & 0x80))
		memcpy(dev->bar[bar].mem + off, &value, size);
	else
		dev->ops->bar_write(dev, bar, off, size,
				    size < 8 ? value & ((1ull << 8 * size) - 1) : value);
}

/* bytes of the guest's memory */
static inline void fuzz_scribble(struct fuzz *f, struct test_host *host,
				 const struct fuzz_known *known)
{
	uint64_t at = fuzz_number(f, known);
	uint8_t len = fuzz8(f) & 127, bytes[128];
	void *mem = test_mem(host, at, len);

	fuzz_bytes(f, bytes, len);
	if (mem)
		memcpy(mem, bytes, len);
}

/* somebody tells the model to fail */
static inline void fuzz_inject(struct fuzz *f, struct model_device *dev)
{
	static const char *const actions[] = {
		"fail status=5", "drop", "delay ms=7", "dup", "corrupt",
	};
	unsigned int point = fuzz8(f), points = 0;
	char line[200];

	while (dev->inject_points[points].name)
		points++;
	snprintf(line, sizeof(line), "inject op=%s nth=%u count=%u action=%s",
		 dev->inject_points[point % points].name, 1 + fuzz8(f) % 4, 1 + fuzz8(f) % 4,
		 actions[fuzz8(f) % 5]);
	test_control(dev, line);
}

/* nobody fails any more, and what is late comes within @ms */
static inline void fuzz_calm(struct test_host *host, unsigned int ms)
{
	inject_clear(host->dev);
	host->failing = false;
	test_run_ms(ms);
}

#endif /* SELFTESTS_FUZZ_MODEL_H */
