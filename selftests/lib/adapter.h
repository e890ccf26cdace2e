/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The adapters under test, both of one kind. The first is $DVQ_DEV, or else the first
 * found; the peer is $DVQ_PEER_DEV, or else the second found, or else the first again:
 * every test must also hold when an adapter talks to itself.
 */
#ifndef SELFTESTS_ADAPTER_H
#define SELFTESTS_ADAPTER_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

enum adapter_kind { ADAPTER_ANY, ADAPTER_EFA, ADAPTER_IONIC };

/**
 * struct adapter - an open adapter and what it says of itself
 *
 * @model: its name on the control channel, "" on hardware: then injections and
 *	counters of the model cannot be had, and the test skips what needs them
 * @dvq: driven by dvq_efa or dvq_ionic (otherwise by another driver, in the lab the
 *	oracle)
 * @stock: the test has chosen that libdvq leaves the data path to the provider
 * @netdev: the network interface of an ionic, "" on EFA
 * @gid: the first one
 * @efa: of EFA only
 * @provider: the same as the loaded libefa knows it: an older release says less, and refuses what it
 *	does not know
 */
struct adapter {
	enum adapter_kind kind;
	struct ibv_device *device;
	struct ibv_context *context;
	char model[32];
	bool dvq, stock;
	char netdev[IF_NAMESIZE];
	union ibv_gid gid;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct efadv_device_attr efa, provider;
};

/* filled by adapters_find(), the contexts by adapters_open() */
extern struct adapter *self, *peer;

/*
 * An adapter that is named and not there is a failure, where none at all is nothing to test. One sentence that
 * says what to do is in @why.
 */
bool adapter_is_missing(char *why, unsigned int size);
/* finds them without opening; false with one sentence that says what to do in @why */
bool adapters_find(enum adapter_kind kind, char *why, unsigned int size);
/* must succeed */
void adapters_open(void);
void adapters_close(void);
/* an open context of one's own; must succeed. The port is up afterwards */
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

/* a function of the loaded libefa itself, not libdvq's of the same name; NULL if this release has none */
void *libefa_call(const char *name);
/* the rdma-core that it is of, as its file is named: 44, 56, 65; must be found */
unsigned int libefa_release(void);

/* by the calls of the distribution's libraries, too */
static inline bool adapter_provider_can(const struct adapter *adapter, uint32_t caps)
{
	return (adapter->provider.device_caps & caps) == caps;
}

/* Does libdvq post and poll for the calls of the verbs here? See Documentation/takeover.rst. */
bool adapter_is_taken_over(const struct adapter *adapter);

/* who posts and polls here can do that */
static inline bool adapter_data_path_can(const struct adapter *adapter, uint32_t caps)
{
	return adapter_provider_can(adapter, caps) ||
	       (adapter_can(adapter, caps) && adapter_is_taken_over(adapter));
}

/* largest send in bytes (of an ionic: as a datagram) */
static inline unsigned int adapter_mtu(const struct adapter *adapter)
{
	return adapter->kind == ADAPTER_EFA ? adapter->port.max_msg_sz :
	       128u << adapter->port.active_mtu;
}

static inline unsigned int adapter_send_sge(const struct adapter *adapter)
{
	return adapter->kind == ADAPTER_EFA ? adapter->efa.max_sq_sge :
	       (unsigned int)adapter->attr.max_sge;
}

static inline unsigned int adapter_recv_sge(const struct adapter *adapter)
{
	return adapter->kind == ADAPTER_EFA ? adapter->efa.max_rq_sge :
	       (unsigned int)adapter->attr.max_sge;
}

/* the model's counters of an adapter's live objects, ended by NULL: a test may leave none behind */
const char *const *adapter_objects(const struct adapter *adapter);
struct model_stats;
/* notes a failure for each kind of which there are not as many as before */
void adapter_expect_objects(const struct adapter *adapter, const struct model_stats *before);

#define PORT_COUNTERS	22

/* the hw_counters of port 1, in the order of adapter_counter_names */
struct port_counters {
	uint64_t value[PORT_COUNTERS];
};

extern const char *const adapter_counter_names[PORT_COUNTERS];

/* a file of hw_counters, of port 1 or of the device; false if the driver has no such counter */
bool adapter_counter(const struct adapter *adapter, bool of_port, const char *name,
		     uint64_t *value);
/* all of them must be there */
void adapter_port_counters(const struct adapter *adapter, struct port_counters *counters);

#endif /* SELFTESTS_ADAPTER_H */
