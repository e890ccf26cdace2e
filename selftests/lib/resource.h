/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel keeps account of for an adapter, as `rdma resource` asks for it: by netlink. */
#ifndef SELFTESTS_RESOURCE_H
#define SELFTESTS_RESOURCE_H

#include <stdint.h>

#include "adapter.h"

#define RESOURCE_KINDS	16

/**
 * struct resources - how many there are of each kind, of all processes and of the kernel
 */
struct resources {
	unsigned int kinds;
	struct {
		char name[16];
		uint64_t count;
	} of[RESOURCE_KINDS];
};

/* must succeed */
struct resources resources_now(const struct adapter *adapter);
/* notes a failure for each kind of which there are not as many as before; true: none */
bool resources_expect(const struct adapter *adapter, const struct resources *before,
		      const char *what);

/*
 * What follows makes its own socket and neither allocates nor prints: 0 or a negative errno.
 */

/* lists all of a kind with every detail; @command: RDMA_NLDEV_CMD_RES_*_GET */
int resources_dump(uint32_t device_index, uint16_t command);
/* binds a queue pair to a counter of its own, or ends that */
int resources_bind_counter(uint32_t device_index, uint32_t qpn, uint32_t *counter);
int resources_unbind_counter(uint32_t device_index, uint32_t qpn, uint32_t counter);

/* what netlink calls the adapter; must succeed */
uint32_t resources_device_index(const struct adapter *adapter);

#endif /* SELFTESTS_RESOURCE_H */
