/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair with what it needs: PD, CQs, a queue key, and the way to peers.
 *
 *	struct endpoint *a = endpoint_new(self, &(struct endpoint_options) { .transport = SRD });
 *	struct endpoint *b = endpoint_new(peer, ...);
 *	struct route to_b = route_new(a, b);
 *
 * An RC queue pair comes as far as INIT by itself. Its way to a peer is a connection:
 * the first route from it makes it, and there is no second one.
 */
#ifndef SELFTESTS_ENDPOINT_H
#define SELFTESTS_ENDPOINT_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "adapter.h"
#include "connection.h"
#include "cq.h"

/* what is reliable is SRD on EFA and RC on ionic */
enum transport { RELIABLE, UD, SRD = RELIABLE, RC = RELIABLE };

#define ENDPOINT_QKEY	0x1badcafe
#define ENDPOINT_WR	64		/* usual depth of both queues */

/* for struct endpoint_options.rnr_retry, where 0 means "do not set it" */
#define RNR_RETRY(n)	RETRY(n)

/**
 * struct endpoint_options - what is not zero deviates from the usual
 *
 * @plain: without the extended interface; only ibv_post_send() works
 * @pd: of another endpoint
 * @send_cq, @recv_cq: of another endpoint; @send_cq alone serves both directions
 * @cq_kind, @cq_depth: of the endpoint's own CQs, when there is none of another
 * @send_wr, @recv_wr: ENDPOINT_WR
 * @send_sge, @recv_sge: as many as the adapter has
 * @inline_data: bytes
 * @sig_all: all sends are signalled
 * @flags: EFADV_QP_FLAGS_*
 * @wr_flags: EFADV_WR_EX_*
 * @qkey: ENDPOINT_QKEY
 * @rnr_retry: RNR_RETRY(n) of SRD
 * @connection: of RC
 * @state: how far to go, IBV_QPS_RTS; ENDPOINT_RESET: not at all. Where a connection
 *	must be made first: IBV_QPS_INIT
 */
struct endpoint_options {
	enum transport transport;
	bool plain;
	struct ibv_pd *pd;
	struct cq *send_cq, *recv_cq;
	enum cq_kind cq_kind;
	unsigned int cq_depth;
	unsigned int send_wr, recv_wr;
	unsigned int send_sge, recv_sge;
	unsigned int inline_data;
	bool sig_all;
	uint16_t flags;
	uint64_t wr_flags;
	uint32_t qkey;
	unsigned int rnr_retry;
	struct connection connection;
	int state;
};

#define ENDPOINT_RESET	(-1)

struct endpoint {
	const struct adapter *adapter;
	enum transport transport;
	struct ibv_pd *pd;
	struct cq *send_cq, *recv_cq;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;		/* NULL: plain */
	struct ibv_qp_cap cap;		/* as granted */
	uint32_t qkey;
	struct connection connection;
	struct address remote;		/* of RC, once there is a route */
};

static inline bool is_rc(const struct endpoint *endpoint)
{
	return endpoint->transport == RC && endpoint->adapter->kind == ADAPTER_IONIC;
}

/* must succeed; undone at the end of the test. @options: NULL: a reliable QP */
struct endpoint *endpoint_new(const struct adapter *adapter,
			      const struct endpoint_options *options);
/* the same, but a failure to create the QP is a result: NULL and errno */
struct endpoint *endpoint_try(const struct adapter *adapter,
			      const struct endpoint_options *options);
/* libdvq posts and polls for it, not libefa; in a program without libdvq never */
bool endpoint_is_taken_over(const struct endpoint *endpoint);
/* the QP alone: 0 or an errno */
int endpoint_destroy(struct endpoint *endpoint);

/* 0 or an errno; takes the steps in between */
int endpoint_modify(struct endpoint *endpoint, enum ibv_qp_state state);
/* one step with what it requires; @rnr_retry as in the options */
int endpoint_step(struct endpoint *endpoint, enum ibv_qp_state state, unsigned int rnr_retry);
/* the state the device tells */
enum ibv_qp_state endpoint_state(struct endpoint *endpoint);

/* all that can be asked of @transport on @adapter */
uint64_t endpoint_send_ops(const struct adapter *adapter, enum transport transport);
/* with ibv_wr_*() or ibv_post_send() */
static inline bool can_read(const struct adapter *adapter)
{
	return adapter->kind == ADAPTER_IONIC ||
	       adapter_data_path_can(adapter, EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
}

static inline bool can_write(const struct adapter *adapter)
{
	return adapter->kind == ADAPTER_IONIC ||
	       adapter_data_path_can(adapter, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE);
}

/* ibv_alloc_pd, ibv_create_ah to @gid; must succeed; undone at the end of the test */
struct ibv_pd *pd_new(const struct adapter *adapter);
struct ibv_ah *ah_new(struct ibv_pd *pd, const union ibv_gid *gid);
/* the same, but a failure is a result: NULL and errno; not undone */
struct ibv_ah *ah_try(struct ibv_pd *pd, const union ibv_gid *gid);
/* the device's number; of EFA */
uint16_t ah_number(struct ibv_ah *ah);

/**
 * struct route - where a send goes; of an RC queue pair that is no news
 */
struct route {
	struct ibv_ah *ah;
	uint32_t qpn, qkey;
};

struct address endpoint_address(const struct endpoint *endpoint);
/* RC: to RTR and RTS, if it is not there yet. 0 or an errno */
int endpoint_connect(struct endpoint *endpoint, const struct address *to);
struct route route_new(struct endpoint *from, const struct endpoint *to);
struct route route_to(struct endpoint *from, const struct address *to);

/*
 * Bytes of a receive buffer that lie before the message: UD leaves room for a routing header.
 * Whether an adapter does so nobody tells, so a message is sent to find out, once for each.
 */
unsigned int endpoint_header(const struct adapter *adapter, enum transport transport);

/**
 * struct duo - two endpoints that know each other, the usual scene of a test
 *
 * @a: of the adapter under test, @b: of the peer
 * @header: endpoint_header() of @b
 */
struct duo {
	struct endpoint *a, *b;
	struct route to_b, to_a;
	unsigned int header;
};

/* the same on both sides, but inline data is for A: the peer may be an adapter of another kind */
struct duo duo_new(const struct endpoint_options *options);
/* different on both sides */
struct duo duo_new2(const struct endpoint_options *a, const struct endpoint_options *b);

#endif /* SELFTESTS_ENDPOINT_H */
