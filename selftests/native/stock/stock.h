/* SPDX-License-Identifier: GPL-2.0 */
/* What the test and its stock library share. */
#ifndef SELFTESTS_STOCK_H
#define SELFTESTS_STOCK_H

#include <infiniband/verbs.h>
#include <infiniband/efadv.h>

/* the last call; exported as "stock_log" */
struct stock_log {
	char call[32];
	unsigned int calls;
	uint32_t inlen;
	unsigned char input[128];	/* the efadv struct, inlen bytes of it */
	struct ibv_qp_cap cap;
	uint64_t ops;			/* send_ops_flags */
	int error;			/* creation fails with it */
	void (*hook)(void);		/* called while a QP is created; NULL: not */
};

/* objects as a provider makes them: the public part and what it points out from there */
struct stock_qp {
	struct ibv_qp_ex ex;
	struct efadv_qp efadv;
	uint32_t hints;
};

struct stock_cq {
	struct ibv_cq_ex ex;
	/* before rdma-core 52 the struct ends behind wc_read_sgid; what follows is private */
	struct efadv_cq efadv;
};

#endif /* SELFTESTS_STOCK_H */
