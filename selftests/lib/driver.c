// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "driver.h"
#include "lab.h"
#include "model.h"
#include "pci.h"

/* EFA's is a PCI function, ionic's an auxiliary device of one */
static void find_device(char *path, size_t size)
{
	char pattern[PATH_MAX + 64], real[PATH_MAX];
	glob_t found;

	snprintf(pattern, sizeof(pattern), self->kind == ADAPTER_EFA ? "%s/device" :
		 "%s/device/ionic.rdma.*", self->device->ibdev_path);
	LAB_NEED(!glob(pattern, 0, NULL, &found), "%s: not found", pattern);
	LAB_NEED(realpath(found.gl_pathv[0], real), "%s: %s", pattern, strerror(errno));
	globfree(&found);
	snprintf(path, size, "%s", real);
}

static void write_name(const char *driver, const char *file, const char *name)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", driver, file);
	LAB_NEED(sysfs_write(path, name), "%s: %s", path, strerror(errno));
}

void driver_rebind(void)
{
	enum adapter_kind kind = self->kind;
	char device[PATH_MAX], link[PATH_MAX + 16], driver[PATH_MAX], why[256];
	const char *name;

	find_device(device, sizeof(device));
	name = strrchr(device, '/') + 1;
	snprintf(link, sizeof(link), "%s/driver", device);
	LAB_NEED(realpath(link, driver), "%s: %s", link, strerror(errno));
	adapters_close();
	write_name(driver, "unbind", name);
	if (self->model[0])
		model_ask(self->model, "inject clear");
	write_name(driver, "bind", name);
	LAB_NEED(adapters_find(kind, why, sizeof(why)), "%s", why);
	adapters_open();
}
