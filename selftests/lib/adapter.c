// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "lab.h"
#include "model.h"

#define VENDOR	"0x1d0f"

static struct adapter first, second;
struct adapter *self, *peer;

const char *const adapter_counter_names[PORT_COUNTERS] = {
	"tx_bytes", "tx_pkts", "rx_bytes", "rx_pkts", "rx_drops",
	"send_bytes", "send_wrs", "recv_bytes", "recv_wrs",
	"rdma_read_wrs", "rdma_read_bytes", "rdma_read_wr_err", "rdma_read_resp_bytes",
	"rdma_write_wrs", "rdma_write_bytes", "rdma_write_wr_err", "rdma_write_recv_bytes",
	"retrans_bytes", "retrans_pkts", "retrans_timeout_events",
	"unresponsive_remote_events", "impaired_remote_conn_events",
};

static bool read_sysfs(const struct ibv_device *device, const char *file, char *text, size_t size)
{
	char path[PATH_MAX + 256];
	FILE *in;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", device->ibdev_path, file);
	in = fopen(path, "r");
	if (!in)
		return false;
	ok = fgets(text, size, in);
	fclose(in);
	if (ok)
		text[strcspn(text, "\n")] = 0;
	return ok;
}

static bool is_efa(const struct ibv_device *device)
{
	char vendor[32];

	return read_sysfs(device, "device/vendor", vendor, sizeof(vendor)) &&
	       !strcmp(vendor, VENDOR);
}

static bool driven_by(const struct ibv_device *device, const char *driver)
{
	char path[PATH_MAX + 64], target[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/device/driver", device->ibdev_path);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = 0;
	return !strcmp(strrchr(target, '/') + 1, driver);
}

static struct ibv_device *by_name(struct ibv_device **list, const char *name)
{
	while (*list && strcmp(ibv_get_device_name(*list), name))
		list++;
	return *list;
}

static struct ibv_device *next_efa(struct ibv_device **list, const struct ibv_device *but)
{
	for (; *list; list++)
		if (is_efa(*list) && *list != but)
			return *list;
	return NULL;
}

static struct ibv_device *choose(struct ibv_device **list, const char *variable,
				 const struct ibv_device *but, char *why, unsigned int size)
{
	const char *name = getenv(variable);
	struct ibv_device *device;

	if (!name || !*name) {
		device = next_efa(list, but);
		if (!device)
			snprintf(why, size,
				 "no EFA adapter: load dvq_efa.ko, or name a device in DVQ_DEV");
		return device;
	}
	device = by_name(list, name);
	if (!device)
		snprintf(why, size,
			 "no RDMA device %s: ibv_devices lists those there are; set %s to one",
			 name, variable);
	return device;
}

bool adapters_find(char *why, unsigned int size)
{
	/* never freed: adapters point into it as long as the program runs */
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list) {
		snprintf(why, size, "no RDMA devices (%s): load ib_uverbs.ko and dvq_efa.ko",
			 strerror(errno));
		return false;
	}
	self = peer = &first;
	first.device = choose(list, "DVQ_DEV", NULL, why, size);
	if (!first.device)
		return false;
	first.dvq = driven_by(first.device, "dvq_efa");
	second.device = choose(list, "DVQ_PEER_DEV", first.device, why, size);
	if (!second.device)
		return !getenv("DVQ_PEER_DEV") || !*getenv("DVQ_PEER_DEV");
	if (second.device != first.device) {
		second.dvq = driven_by(second.device, "dvq_efa");
		peer = &second;
	}
	return true;
}

void adapter_open(struct adapter *adapter)
{
	int err;

	adapter->context = ibv_open_device(adapter->device);
	LAB_NEED(adapter->context, "cannot open %s: %s", adapter_name(adapter), strerror(errno));
	err = ibv_query_gid(adapter->context, 1, 0, &adapter->gid);
	LAB_NEED(!err, "ibv_query_gid: %s", strerror(errno));
	err = ibv_query_device(adapter->context, &adapter->attr);
	LAB_NEED(!err, "ibv_query_device: %s", strerror(err));
	err = ibv_query_port(adapter->context, 1, &adapter->port);
	LAB_NEED(!err, "ibv_query_port: %s", strerror(err));
	err = efadv_query_device(adapter->context, &adapter->efa, sizeof(adapter->efa));
	LAB_NEED(!err, "efadv_query_device: %s", strerror(err));
	if (!adapter->model[0] && model_present())
		LAB_NEED(model_name(&adapter->gid, adapter->model, sizeof(adapter->model)),
			 "the model has no adapter with the GID of %s", adapter_name(adapter));
}

void adapter_close(struct adapter *adapter)
{
	int err = ibv_close_device(adapter->context);

	LAB_NEED(!err, "ibv_close_device: %s", strerror(errno));
	adapter->context = NULL;
}

void adapters_open(void)
{
	adapter_open(self);
	if (peer != self)
		adapter_open(peer);
}

void adapters_close(void)
{
	adapter_close(self);
	if (peer != self)
		adapter_close(peer);
}

bool adapter_counter(const struct adapter *adapter, bool of_port, const char *name,
		     uint64_t *value)
{
	char file[128], text[64];

	snprintf(file, sizeof(file), "%shw_counters/%s", of_port ? "ports/1/" : "", name);
	if (!read_sysfs(adapter->device, file, text, sizeof(text)))
		return false;
	*value = strtoull(text, NULL, 10);
	return true;
}

void adapter_port_counters(const struct adapter *adapter, struct port_counters *counters)
{
	/* the core hands out what it read up to 10 ms ago */
	sleep_ms(25);
	for (unsigned int i = 0; i < PORT_COUNTERS; i++)
		if (!adapter_counter(adapter, true, adapter_counter_names[i], &counters->value[i]))
			counters->value[i] = 0;
}
