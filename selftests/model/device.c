// SPDX-License-Identifier: GPL-2.0
/* What all devices share: the list of violations, BAR memory, the end. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"
#include "inject.h"
#include "log.h"

void model_violation(struct model_device *dev, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);

	log_note(dev->name, "violation: %s", text ? text : "(no memory for the text)");
	if (dev->violations < MODEL_VIOLATIONS_KEPT)
		dev->violation_text[dev->violations] = text;
	else
		free(text);
	dev->violations++;
}

void model_violations_clear(struct model_device *dev)
{
	for (unsigned int i = 0; i < MODEL_VIOLATIONS_KEPT; i++) {
		free(dev->violation_text[i]);
		dev->violation_text[i] = NULL;
	}
	dev->violations = 0;
}

void model_bar_clear(struct model_device *dev, unsigned int bar)
{
	struct model_bar *b = &dev->bar[bar];

	/*
	 * Taking the pages out of the file empties the guest's mapping as well,
	 * and a BAR of many MiB costs what was used of it. Memory that is no
	 * shared file (unit tests) is written.
	 */
	if (madvise(b->mem, b->size, MADV_REMOVE))
		memset(b->mem, 0, b->size);
}

void model_device_destroy(struct model_device *dev)
{
	model_violations_clear(dev);
	inject_clear(dev);
	dev->ops->destroy(dev);
}
