/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues of all three kinds behind one way of taking completions, with deadlines. */
#ifndef SELFTESTS_CQ_H
#define SELFTESTS_CQ_H

#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "adapter.h"

enum cq_kind {
	CQ_PLAIN,	/* ibv_create_cq, ibv_poll_cq */
	CQ_EXTENDED,	/* ibv_create_cq_ex, ibv_start_poll */
	CQ_EFA,		/* efadv_create_cq, with the GID of senders and the unsolicited mark if
			 * the adapter has them */
};

/**
 * struct cq_options - what is not zero deviates from the usual
 *
 * @channel: for events of @vector
 */
struct cq_options {
	enum cq_kind kind;
	struct ibv_comp_channel *channel;
	int vector;
};

struct cq {
	const struct adapter *adapter;
	struct ibv_cq *cq;
	struct ibv_cq_ex *ex;		/* NULL: CQ_PLAIN */
	struct efadv_cq *efa;		/* NULL: not CQ_EFA */
	bool sgid, unsolicited;		/* what @efa can tell */
	uint64_t taken;			/* completions, by waiting for them */
};

/* what standard flags CQ_EXTENDED and CQ_EFA are created with: all that EFA has */
#define CQ_WC_FLAGS	(IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | \
			 IBV_WC_EX_WITH_SRC_QP | IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | \
			 IBV_WC_EX_WITH_DLID_PATH_BITS)

/**
 * struct completion - one completion, however it was polled
 *
 * @sgid_result: of efadv_wc_read_sgid(); then @sgid. 1: the CQ cannot tell
 * @unsolicited: a write that used no receive
 */
struct completion {
	uint64_t id;
	enum ibv_wc_status status;
	enum ibv_wc_opcode opcode;
	uint32_t vendor_err;
	unsigned int flags;
	uint32_t byte_len;
	uint32_t imm;			/* host order */
	uint32_t qp_num, src_qp;
	uint32_t slid;
	uint8_t sl, dlid_path_bits;
	int sgid_result;
	union ibv_gid sgid;
	bool unsolicited;
};

/* must succeed; undone at the end of the test. @options: NULL: plain */
struct cq *cq_new(const struct adapter *adapter, unsigned int depth,
		  const struct cq_options *options);
/* 0 or an errno */
int cq_destroy(struct cq *cq);

/* takes one if there is one; an error of the poll ends the test */
bool cq_take(struct cq *cq, struct completion *completion);
/* takes one; must come in time */
void cq_wait(struct cq *cq, struct completion *completion);
/* takes @n, which must come in time and be successes; their contents do not matter */
void cq_wait_many(struct cq *cq, unsigned int n);
/* true if none comes for @ms */
bool cq_quiet(struct cq *cq, unsigned int ms);
/* notes a failure that says what came, unless it is a success */
void completion_expect_success(const struct completion *completion);

/* waits for an event; false if none comes for @ms. It must be for @cq and is acknowledged */
bool cq_event(struct cq *cq, unsigned int ms);

struct ibv_comp_channel *channel_new(const struct adapter *adapter);

#endif /* SELFTESTS_CQ_H */
