// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"
#include "pci.h"

bool pci_name_of(const struct ibv_device *device, char name[PCI_NAME])
{
	char path[PATH_MAX + 16], target[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/device", device->ibdev_path);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = 0;
	snprintf(name, PCI_NAME, "%s", strrchr(target, '/') + 1);
	return true;
}

void pci_name(const struct adapter *adapter, char name[PCI_NAME])
{
	LAB_NEED(pci_name_of(adapter->device, name), "%s has no PCI function: %s",
		 adapter_name(adapter), strerror(errno));
}

bool sysfs_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
	return ok;
}
