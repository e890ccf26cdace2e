/* SPDX-License-Identifier: GPL-2.0 */
/* An adapter's PCI function, as sysfs has it. */
#ifndef SELFTESTS_PCI_H
#define SELFTESTS_PCI_H

#include <stdbool.h>
#include <stddef.h>

#include "adapter.h"

#define PCI_NAME	64	/* bytes that hold the name of a function */

/* of the function that is @adapter's, as 0000:00:06.0; must succeed */
void pci_name(const struct adapter *adapter, char name[PCI_NAME]);
/* false: that is no RDMA device of a PCI function, or it is gone */
bool pci_name_of(const struct ibv_device *device, char name[PCI_NAME]);

/* all of @text with one write; false: errno */
bool sysfs_write(const char *path, const char *text);

#endif /* SELFTESTS_PCI_H */
