/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The EFA adapters under test. The first is $DVQ_DEV, or else the first found; the
 * peer is $DVQ_PEER_DEV, or else the second found, or else the first again: every
 * test must also hold when an adapter talks to itself.
 */
#ifndef SELFTESTS_ADAPTER_H
#define SELFTESTS_ADAPTER_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * struct adapter - an open adapter and what it says of itself
 *
 * @model: its name on the control channel, "" on hardware: then injections and
 *	counters of the model cannot be had, and the test skips what needs them
 * @dvq: driven by dvq_efa (otherwise by another driver, in the lab the oracle)
 */
struct adapter {
	struct ibv_device *device;
	struct ibv_context *context;
	char model[32];
	bool dvq;
	union ibv_gid gid;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct efadv_device_attr efa;
};

/* filled by adapters_find(), the contexts by adapters_open() */
extern struct adapter *self, *peer;

/* finds them without opening; false with one sentence that says what to do in @why */
bool adapters_find(char *why, unsigned int size);
/* must succeed */
void adapters_open(void);
void adapters_close(void);
/* an open context of one's own; must succeed */
void adapter_open(struct adapter *adapter);
void adapter_close(struct adapter *adapter);

static inline const char *adapter_name(const struct adapter *adapter)
{
	return ibv_get_device_name(adapter->device);
}

static inline bool adapter_can(const struct adapter *adapter, uint32_t caps)
{
	return (adapter->efa.device_caps & caps) == caps;
}

/* largest send in bytes */
static inline unsigned int adapter_mtu(const struct adapter *adapter)
{
	return adapter->port.max_msg_sz;
}

#define PORT_COUNTERS	22

/* the hw_counters of port 1, in the order of adapter_counter_names */
struct port_counters {
	uint64_t value[PORT_COUNTERS];
};

extern const char *const adapter_counter_names[PORT_COUNTERS];

/* a file of hw_counters, of port 1 or of the device; false if the driver has no such counter */
bool adapter_counter(const struct adapter *adapter, bool of_port, const char *name,
		     uint64_t *value);
void adapter_port_counters(const struct adapter *adapter, struct port_counters *counters);

#endif /* SELFTESTS_ADAPTER_H */
