// SPDX-License-Identifier: GPL-2.0
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter.h"
#include "lab.h"
#include "model.h"
#include "netdev.h"

#define NO_SUCH_DEVICE	"no RDMA device %s: ibv_devices lists those there are; set %s to one"

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

static enum adapter_kind kind_of(const struct ibv_device *device)
{
	char vendor[32];

	if (!read_sysfs(device, "device/vendor", vendor, sizeof(vendor)))
		return ADAPTER_ANY;
	if (!strcmp(vendor, "0x1d0f"))
		return ADAPTER_EFA;
	return strcmp(vendor, "0x1dd8") ? ADAPTER_ANY : ADAPTER_IONIC;
}

/* EFA's driver is that of the PCI function, ionic's that of an auxiliary device of it */
static bool driven_by_dvq(const struct ibv_device *device)
{
	char pattern[PATH_MAX + 64], target[PATH_MAX] = "";
	glob_t found;

	snprintf(pattern, sizeof(pattern), kind_of(device) == ADAPTER_EFA ? "%s/device/driver" :
		 "%s/device/ionic.rdma.*/driver", device->ibdev_path);
	if (glob(pattern, 0, NULL, &found))
		return false;
	if (readlink(found.gl_pathv[0], target, sizeof(target) - 1) < 0)
		target[0] = 0;
	globfree(&found);
	return strstr(target, "/dvq_");
}

static struct ibv_device *by_name(struct ibv_device **list, const char *name)
{
	while (*list && strcmp(ibv_get_device_name(*list), name))
		list++;
	return *list;
}

/* by name: the order of the list is nobody's, and another one when a driver has let go and come back */
static struct ibv_device *next_of(struct ibv_device **list, enum adapter_kind kind,
				  const struct ibv_device *but)
{
	struct ibv_device *first_device = NULL;

	for (; *list; list++) {
		enum adapter_kind found = kind_of(*list);

		if (*list == but || !found || (found != kind && kind != ADAPTER_ANY))
			continue;
		if (!first_device || strcmp((*list)->name, first_device->name) < 0)
			first_device = *list;
	}
	return first_device;
}

static const char *kind_name(enum adapter_kind kind)
{
	static const char *const names[] = {
		[ADAPTER_ANY] = "EFA or ionic", [ADAPTER_EFA] = "EFA", [ADAPTER_IONIC] = "ionic",
	};

	return names[kind];
}

static struct ibv_device *choose(struct ibv_device **list, enum adapter_kind kind,
				 const char *variable, const struct ibv_device *but,
				 char *why, unsigned int size)
{
	const char *name = getenv(variable);
	struct ibv_device *device;

	if (!name || !*name) {
		device = next_of(list, kind, but);
		if (!device)
			snprintf(why, size,
				 "no %s adapter: load dvq's driver, or name a device in DVQ_DEV",
				 kind_name(kind));
		return device;
	}
	device = by_name(list, name);
	if (!device)
		snprintf(why, size, NO_SUCH_DEVICE, name, variable);
	else if (kind != ADAPTER_ANY && kind_of(device) != kind)
		snprintf(why, size, "%s in %s is no %s adapter", name, variable, kind_name(kind));
	else
		return device;
	return NULL;
}

static void describe(struct adapter *adapter, struct ibv_device *device)
{
	adapter->device = device;
	adapter->kind = kind_of(device);
	adapter->dvq = driven_by_dvq(device);
	if (adapter->kind == ADAPTER_IONIC)
		netdev_of(device, adapter->netdev);
}

bool adapter_is_missing(char *why, unsigned int size)
{
	static const char *const variables[] = { "DVQ_DEV", "DVQ_PEER_DEV" };
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool missing = false;

	for (unsigned int i = 0; i < 2 && !missing; i++) {
		const char *name = getenv(variables[i]);

		missing = name && *name && !(list && by_name(list, name));
		if (missing)
			snprintf(why, size, NO_SUCH_DEVICE, name, variables[i]);
	}
	if (list)
		ibv_free_device_list(list);
	return missing;
}

bool adapters_find(enum adapter_kind kind, char *why, unsigned int size)
{
	/* never freed: adapters point into it as long as the program runs */
	struct ibv_device **list = ibv_get_device_list(NULL), *device;

	if (!list) {
		snprintf(why, size, "no RDMA devices (%s): load ib_uverbs.ko and dvq's drivers",
			 strerror(errno));
		return false;
	}
	self = peer = &first;
	device = choose(list, kind, "DVQ_DEV", NULL, why, size);
	if (!device)
		return false;
	describe(&first, device);
	device = choose(list, first.kind, "DVQ_PEER_DEV", device, why, size);
	if (!device)
		return !getenv("DVQ_PEER_DEV") || !*getenv("DVQ_PEER_DEV");
	if (device != first.device) {
		describe(&second, device);
		peer = &second;
	}
	return true;
}

static bool port_is_ready(struct adapter *adapter)
{
	static const union ibv_gid none;

	return (!adapter->netdev[0] || netdev_has_address(adapter->netdev)) &&
	       !ibv_query_gid(adapter->context, 1, 0, &adapter->gid) &&
	       memcmp(&adapter->gid, &none, sizeof(none)) &&
	       !ibv_query_port(adapter->context, 1, &adapter->port) &&
	       adapter->port.state == IBV_PORT_ACTIVE;
}

/* A GID of an ionic comes with an address of its interface, and peers resolve that address. */
static void await_port(struct adapter *adapter)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	if (adapter->netdev[0])
		netdev_up(adapter->netdev);
	while (!port_is_ready(adapter)) {
		LAB_NEED(now_ms() < end, "the port of %s does not come up", adapter_name(adapter));
		sleep_ms(20);
	}
}

static void find_model(struct adapter *adapter)
{
	uint8_t mac[6];
	bool found;

	if (adapter->model[0] || !model_present())
		return;
	if (adapter->netdev[0]) {
		netdev_mac(adapter->netdev, mac);
		found = model_name(mac, sizeof(mac), adapter->model, sizeof(adapter->model));
	} else {
		found = model_name(&adapter->gid, sizeof(adapter->gid), adapter->model,
				   sizeof(adapter->model));
	}
	LAB_NEED(found, "the model has no adapter with the address of %s", adapter_name(adapter));
}

void *libefa_call(const char *name)
{
	void *library = dlopen("libefa.so.1", RTLD_NOW | RTLD_LOCAL);

	return library ? dlsym(library, name) : NULL;
}

unsigned int libefa_release(void)
{
	void *call = libefa_call("efadv_query_device");
	unsigned int release = 0;
	char path[PATH_MAX];
	const char *name;
	Dl_info info;

	LAB_NEED(call && dladdr(call, &info) && realpath(info.dli_fname, path), "libefa is not there");
	name = strrchr(path, '/') + 1;
	LAB_NEED(sscanf(name, "libefa.so.1.%*u.%u", &release) == 1, "%s says no release", path);
	return release;
}

bool adapter_is_taken_over(const struct adapter *adapter)
{
	const char *choice = getenv("DVQ_DATAPATH");

	if (adapter->kind != ADAPTER_EFA || !adapter->dvq || adapter->stock ||
	    !dlsym(RTLD_DEFAULT, "dvq_efa_take_over"))
		return false;
	if (choice && !strcmp(choice, "take-over"))
		return true;
	if (choice && !strcmp(choice, "stock"))
		return false;
	return libefa_release() < 64;
}

static void ask_provider(struct adapter *adapter)
{
	int (*query)(struct ibv_context *, struct efadv_device_attr *, uint32_t);
	int err;

	query = libefa_call("efadv_query_device");
	LAB_NEED(query, "no libefa with efadv_query_device");
	err = query(adapter->context, &adapter->provider, sizeof(adapter->provider));
	LAB_NEED(!err, "efadv_query_device of libefa: %s", strerror(err));
}

void adapter_open(struct adapter *adapter)
{
	int err;

	adapter->context = ibv_open_device(adapter->device);
	LAB_NEED(adapter->context, "cannot open %s: %s", adapter_name(adapter), strerror(errno));
	await_port(adapter);
	err = ibv_query_device(adapter->context, &adapter->attr);
	LAB_NEED(!err, "ibv_query_device: %s", strerror(err));
	err = adapter->kind == ADAPTER_EFA ?
	      efadv_query_device(adapter->context, &adapter->efa, sizeof(adapter->efa)) : 0;
	LAB_NEED(!err, "efadv_query_device: %s", strerror(err));
	if (adapter->kind == ADAPTER_EFA)
		ask_provider(adapter);
	find_model(adapter);
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

const char *const *adapter_objects(const struct adapter *adapter)
{
	static const char *const of_efa[] = {
		"pd", "uar", "cq", "qp", "mr", "mr_pages", "ah", NULL,
	};
	static const char *const of_ionic[] = {
		"cq", "qp", "mr", "mr_pages", "ah", "cmb_pages", NULL,
	};

	return adapter->kind == ADAPTER_EFA ? of_efa : of_ionic;
}

void adapter_expect_objects(const struct adapter *adapter, const struct model_stats *before)
{
	const char *const *object;

	if (!adapter->model[0])
		return;
	for (object = adapter_objects(adapter); *object; object++) {
		int64_t left = model_delta(adapter->model, before, *object);

		if (left)
			lab_note(__FILE__, __LINE__, "%s of %s: %lld left behind", *object,
				 adapter->model, (long long)left);
	}
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
		LAB_NEED(adapter_counter(adapter, true, adapter_counter_names[i], &counters->value[i]),
			 "%s has no counter %s", adapter_name(adapter), adapter_counter_names[i]);
}
