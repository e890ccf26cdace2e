/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What dvq doctor finds, a line for each layer of each adapter, and the verdict: the lowest
 * layer that is at fault.
 */
#ifndef DVQ_TOOLS_REPORT_H
#define DVQ_TOOLS_REPORT_H

#include <stdbool.h>

/* in the order in which they stand on each other; a fault explains those of the layers above it */
enum layer {
	LAYER_ADAPTER,
	LAYER_KERNEL,
	LAYER_ETHERNET,		/* of ionic: the kernel's ionic.ko */
	LAYER_MODULE,
	LAYER_DRIVER,
	LAYER_UVERBS,
	LAYER_ABI,
	LAYER_PROVIDER,
	LAYER_DEVICE,
	LAYER_METHODS,
	LAYER_LIMITS,
	LAYERS
};

enum state { STATE_OK, STATE_NOTE, STATE_BAD };

/**
 * report() - one finding
 *
 * @subject: the PCI function, the RDMA device or what else it is about
 * @advice: what to do, a sentence or a command; NULL if nothing has to be done
 *
 * The text is for printf.
 */
__attribute__((format(printf, 5, 6)))
void report(enum layer layer, enum state state, const char *subject, const char *advice,
	    const char *fmt, ...);

/* has a layer that the others stand on been found at fault, for @subject? */
bool report_is_bad(const char *subject);

/* everything, and the verdict; 1 if a layer is at fault, else 0 */
int report_print(bool json);

#endif /* DVQ_TOOLS_REPORT_H */
