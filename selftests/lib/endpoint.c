// SPDX-License-Identifier: GPL-2.0
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "endpoint.h"
#include "lab.h"
#include "work.h"

static int drop_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

struct ibv_pd *pd_new(const struct adapter *adapter)
{
	struct ibv_pd *pd = ibv_alloc_pd(adapter->context);

	LAB_NEED(pd, "ibv_alloc_pd: %s", strerror(errno));
	lab_hold(drop_pd, pd);
	return pd;
}

static int drop_ah(void *object)
{
	return ibv_destroy_ah(object);
}

struct ibv_ah *ah_try(struct ibv_pd *pd, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = *gid, .hop_limit = 64 },
	};

	return ibv_create_ah(pd, &attr);
}

struct ibv_ah *ah_new(struct ibv_pd *pd, const union ibv_gid *gid)
{
	struct ibv_ah *ah = ah_try(pd, gid);

	LAB_NEED(ah, "ibv_create_ah: %s", strerror(errno));
	lab_hold(drop_ah, ah);
	return ah;
}

uint16_t ah_number(struct ibv_ah *ah)
{
	struct efadv_ah_attr attr = {};
	int err = efadv_query_ah(ah, &attr, sizeof(attr));

	LAB_NEED(!err, "efadv_query_ah: %s", strerror(err));
	return attr.ahn;
}

uint64_t endpoint_send_ops(const struct adapter *adapter, enum transport transport)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (transport == UD)
		return ops;
	if (can_read(adapter))
		ops |= IBV_QP_EX_WITH_RDMA_READ;
	if (can_write(adapter))
		ops |= IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	return ops;
}

static void choose_cqs(struct endpoint *endpoint, const struct endpoint_options *options)
{
	struct cq_options cq = { .kind = options->cq_kind };
	unsigned int depth = options->cq_depth;

	if (!depth)
		depth = (options->send_wr ?: ENDPOINT_WR) + (options->recv_wr ?: ENDPOINT_WR);
	endpoint->send_cq = options->send_cq ?: cq_new(endpoint->adapter, depth, &cq);
	endpoint->recv_cq = options->recv_cq;
	if (!endpoint->recv_cq)
		endpoint->recv_cq = options->send_cq ?: cq_new(endpoint->adapter, depth, &cq);
}

/* libionic knows ibv_post_send() only */
static bool is_plain(const struct adapter *adapter, const struct endpoint_options *options)
{
	return options->plain || adapter->kind == ADAPTER_IONIC;
}

static void fill_attr(struct endpoint *endpoint, const struct endpoint_options *options,
		      struct ibv_qp_init_attr_ex *attr)
{
	const struct adapter *adapter = endpoint->adapter;

	*attr = (struct ibv_qp_init_attr_ex) {
		.qp_type = endpoint->transport == UD ? IBV_QPT_UD :
			   is_rc(endpoint) ? IBV_QPT_RC : IBV_QPT_DRIVER,
		.qp_context = endpoint,
		.pd = endpoint->pd,
		.send_cq = endpoint->send_cq->cq,
		.recv_cq = endpoint->recv_cq->cq,
		.sq_sig_all = options->sig_all,
		.cap = {
			.max_send_wr = options->send_wr ?: ENDPOINT_WR,
			.max_recv_wr = options->recv_wr ?: ENDPOINT_WR,
			.max_send_sge = options->send_sge ?: adapter_send_sge(adapter),
			.max_recv_sge = options->recv_sge ?: adapter_recv_sge(adapter),
			.max_inline_data = options->inline_data,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	if (is_plain(endpoint->adapter, options))
		return;
	attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr->send_ops_flags = endpoint_send_ops(endpoint->adapter, endpoint->transport);
}

static struct ibv_qp *create_qp(struct endpoint *endpoint, const struct endpoint_options *options)
{
	struct ibv_context *context = endpoint->adapter->context;
	struct efadv_qp_init_attr efa = {
		.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD,
		.flags = options->flags,
		.wr_flags = options->wr_flags,
	};
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;

	fill_attr(endpoint, options, &attr);
	qp = attr.qp_type != IBV_QPT_DRIVER ? ibv_create_qp_ex(context, &attr) :
	     efadv_create_qp_ex(context, &attr, &efa, sizeof(efa));
	endpoint->cap = attr.cap;
	return qp;
}

static int drop(void *object)
{
	struct endpoint *endpoint = object;
	int err = endpoint->qp ? ibv_destroy_qp(endpoint->qp) : 0;

	if (!err)
		free(endpoint);
	return err;
}

struct endpoint *endpoint_try(const struct adapter *adapter,
			      const struct endpoint_options *options)
{
	static const struct endpoint_options usual;
	struct endpoint *endpoint = calloc(1, sizeof(*endpoint));
	enum ibv_qp_state state;
	int err;

	LAB_NEED(endpoint, "no memory");
	options = options ?: &usual;
	endpoint->adapter = adapter;
	endpoint->transport = options->transport;
	endpoint->qkey = options->qkey ?: ENDPOINT_QKEY;
	endpoint->connection = options->connection;
	endpoint->pd = options->pd ?: pd_new(adapter);
	choose_cqs(endpoint, options);
	endpoint->qp = create_qp(endpoint, options);
	if (!endpoint->qp) {
		err = errno;
		free(endpoint);
		errno = err;
		return NULL;
	}
	lab_hold(drop, endpoint);
	if (!is_plain(adapter, options))
		endpoint->ex = ibv_qp_to_qp_ex(endpoint->qp);
	state = options->state ?: is_rc(endpoint) ? IBV_QPS_INIT : IBV_QPS_RTS;
	for (int next = IBV_QPS_INIT; options->state != ENDPOINT_RESET && next <= (int)state;
	     next++) {
		err = endpoint_step(endpoint, next, options->rnr_retry);
		LAB_NEED(!err, "ibv_modify_qp to state %d: %s", next, strerror(err));
	}
	return endpoint;
}

struct endpoint *endpoint_new(const struct adapter *adapter,
			      const struct endpoint_options *options)
{
	struct endpoint *endpoint = endpoint_try(adapter, options);

	LAB_NEED(endpoint, "creating a QP: %s", strerror(errno));
	return endpoint;
}

bool endpoint_is_taken_over(const struct endpoint *endpoint)
{
	int (*ask)(struct ibv_qp *qp) = (int (*)(struct ibv_qp *))dlsym(RTLD_DEFAULT,
									"dvq_efa_is_taken_over");

	return ask && ask(endpoint->qp);
}

int endpoint_destroy(struct endpoint *endpoint)
{
	return lab_drop(endpoint);
}

int endpoint_step(struct endpoint *endpoint, enum ibv_qp_state state, unsigned int rnr_retry)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = endpoint->qkey };
	int mask = IBV_QP_STATE;

	if (is_rc(endpoint)) {
		mask = connection_step(&endpoint->connection, endpoint->adapter, state,
				       &endpoint->remote, &attr);
		return ibv_modify_qp(endpoint->qp, &attr, mask);
	}
	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	if (state == IBV_QPS_RTS && endpoint->qp->state == IBV_QPS_RTR)
		mask |= IBV_QP_SQ_PSN;
	if (state == IBV_QPS_RTS && rnr_retry) {
		attr.rnr_retry = rnr_retry - 1;
		mask |= IBV_QP_RNR_RETRY;
	}
	return ibv_modify_qp(endpoint->qp, &attr, mask);
}

int endpoint_modify(struct endpoint *endpoint, enum ibv_qp_state state)
{
	int err = 0;

	while (!err && endpoint->qp->state < IBV_QPS_RTS && endpoint->qp->state + 1 < state &&
	       state <= IBV_QPS_RTS)
		err = endpoint_step(endpoint, endpoint->qp->state + 1, 0);
	return err ?: endpoint_step(endpoint, state, 0);
}

enum ibv_qp_state endpoint_state(struct endpoint *endpoint)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err = ibv_query_qp(endpoint->qp, &attr, IBV_QP_STATE, &init);

	LAB_NEED(!err, "ibv_query_qp: %s", strerror(err));
	return attr.qp_state;
}

struct address endpoint_address(const struct endpoint *endpoint)
{
	return (struct address) {
		.gid = endpoint->adapter->gid,
		.qpn = endpoint->qp->qp_num,
		.qkey = endpoint->qkey,
		.psn = endpoint->connection.psn ?: CONNECTION_PSN,
	};
}

int endpoint_connect(struct endpoint *endpoint, const struct address *to)
{
	int err;

	if (endpoint->qp->state != IBV_QPS_INIT)
		return 0;
	endpoint->remote = *to;
	err = endpoint_step(endpoint, IBV_QPS_RTR, 0);
	return err ?: endpoint_step(endpoint, IBV_QPS_RTS, 0);
}

struct route route_to(struct endpoint *from, const struct address *to)
{
	int err;

	if (is_rc(from)) {
		err = endpoint_connect(from, to);
		LAB_NEED(!err, "connecting to QP %u: %s", to->qpn, strerror(err));
		return (struct route) { .qpn = to->qpn };
	}
	return (struct route) {
		.ah = ah_new(from->pd, &to->gid), .qpn = to->qpn, .qkey = to->qkey,
	};
}

struct route route_new(struct endpoint *from, const struct endpoint *to)
{
	struct address address = endpoint_address(to);

	return route_to(from, &address);
}

#define HEADER_UNKNOWN	UINT32_MAX

static uint32_t probe_header(const struct adapter *adapter)
{
	struct endpoint *endpoint = endpoint_new(adapter, &(struct endpoint_options) {
		.transport = UD, .inline_data = 8 });
	struct buffer *buffer = buffer_new(endpoint->pd, 100, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(endpoint, endpoint);
	struct work work = send_work(&route, 1, buffer, 0, 8);
	struct completion completion;

	post_recv_one(endpoint, 1, buffer, 0, 100);
	post_one(endpoint, &work);
	cq_wait_many(endpoint->send_cq, 1);
	cq_wait(endpoint->recv_cq, &completion);
	completion_expect_success(&completion);
	LAB_NEED(completion.byte_len >= 8, "a UD message of 8 bytes arrived with %u",
		 completion.byte_len);
	return completion.byte_len - 8;
}

unsigned int endpoint_header(const struct adapter *adapter, enum transport transport)
{
	static uint32_t headers[2] = { HEADER_UNKNOWN, HEADER_UNKNOWN };
	uint32_t *header = &headers[adapter->device == peer->device];

	if (transport != UD)
		return 0;
	if (*header == HEADER_UNKNOWN)
		*header = probe_header(adapter);
	return *header;
}

struct duo duo_new2(const struct endpoint_options *a, const struct endpoint_options *b)
{
	struct duo duo = {
		.header = endpoint_header(peer, b ? b->transport : SRD),
		.a = endpoint_new(self, a), .b = endpoint_new(peer, b),
	};

	duo.to_b = route_new(duo.a, duo.b);
	duo.to_a = route_new(duo.b, duo.a);
	return duo;
}

struct duo duo_new(const struct endpoint_options *options)
{
	static const struct endpoint_options usual;
	struct endpoint_options a = options ? *options : usual, b = a;

	b.inline_data = 0;
	b.flags &= ~EFADV_QP_FLAGS_INLINE_WRITE;
	return duo_new2(&a, &b);
}
