// SPDX-License-Identifier: GPL-2.0
#include "connection.h"

#define OR(value, usual)	((value) ? (value) - 1 : (usual))

static int to_init(const struct connection *connection, struct ibv_qp_attr *attr)
{
	attr->port_num = 1;
	attr->qp_access_flags = connection->access ? connection->access & ~ACCESS(0) :
				ACCESS_REMOTE;
	return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int to_rtr(const struct connection *connection, const struct adapter *adapter,
		  const struct address *to, struct ibv_qp_attr *attr)
{
	attr->ah_attr = (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1, .grh = { .dgid = to->gid, .hop_limit = 64 },
	};
	attr->path_mtu = connection->mtu ?: adapter->port.active_mtu;
	attr->dest_qp_num = to->qpn;
	attr->rq_psn = to->psn;
	attr->max_dest_rd_atomic = OR(connection->responder, 16);
	attr->min_rnr_timer = connection->rnr_timer ?: CONNECTION_RNR_TIMER;
	return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static int to_rts(const struct connection *connection, struct ibv_qp_attr *attr)
{
	attr->timeout = connection->timeout ?: CONNECTION_TIMEOUT;
	attr->retry_cnt = OR(connection->retry, 7);
	attr->rnr_retry = OR(connection->rnr_retry, 7);
	attr->sq_psn = connection->psn ?: CONNECTION_PSN;
	attr->max_rd_atomic = OR(connection->reads, 16);
	return IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

int connection_step(const struct connection *connection, const struct adapter *adapter,
		    enum ibv_qp_state state, const struct address *to, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE;

	*attr = (struct ibv_qp_attr) { .qp_state = state };
	if (state == IBV_QPS_INIT)
		mask |= to_init(connection, attr);
	if (state == IBV_QPS_RTR)
		mask |= to_rtr(connection, adapter, to, attr);
	if (state == IBV_QPS_RTS)
		mask |= to_rts(connection, attr);
	return mask;
}
