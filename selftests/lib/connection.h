/* SPDX-License-Identifier: GPL-2.0 */
/* What the two ends of a connected queue pair agree on, and the steps that tell the adapter. */
#ifndef SELFTESTS_CONNECTION_H
#define SELFTESTS_CONNECTION_H

#include <infiniband/verbs.h>

#include "adapter.h"

/* for values where 0 means "the usual" */
#define RETRY(n)	((n) + 1)

/**
 * struct connection - what is not zero deviates from the usual
 *
 * @mtu: that of the port
 * @timeout: 4.096 us << n until an answer is missed; CONNECTION_TIMEOUT
 * @retry: RETRY(n), how often it is waited; 7
 * @rnr_retry: RETRY(n), how often a receiver may be not ready; 7, which is for ever
 * @rnr_timer: code of the pause after that; CONNECTION_RNR_TIMER
 * @reads, @responder: RETRY(n), reads and atomics under way as requester and as responder; 16
 * @access: ACCESS(IBV_ACCESS_*) for the other side; all
 * @psn: packet number that the sender begins with
 */
struct connection {
	enum ibv_mtu mtu;
	unsigned int timeout;
	unsigned int retry, rnr_retry;
	unsigned int rnr_timer;
	unsigned int reads, responder;
	unsigned int access;
	uint32_t psn;
};

#define ACCESS(flags)		((flags) | 1u << 31)
#define ACCESS_REMOTE		(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
				 IBV_ACCESS_REMOTE_ATOMIC)

#define CONNECTION_TIMEOUT	15	/* 134 ms */
#define CONNECTION_RNR_TIMER	12	/* 640 us */
#define CONNECTION_PSN		0xfffff0	/* so that every test sees it wrap */

/**
 * struct address - how an endpoint is reached; may be sent to another process
 *
 * @psn: its first one
 */
struct address {
	union ibv_gid gid;
	uint32_t qpn, qkey, psn;
};

/* fills @attr for the step to @state and returns the mask; @to is needed for RTR only */
int connection_step(const struct connection *connection, const struct adapter *adapter,
		    enum ibv_qp_state state, const struct address *to, struct ibv_qp_attr *attr);

#endif /* SELFTESTS_CONNECTION_H */
