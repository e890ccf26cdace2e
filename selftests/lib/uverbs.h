/* SPDX-License-Identifier: GPL-2.0 */
/*
 * uverbs without libibverbs: calls that a well-behaved library would never make. A call is put
 * together attribute by attribute and run; what it returns is for the test to judge.
 *
 *	struct uv_call call;
 *
 *	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_AH);
 *	uv_handle(&call, DVQ_ATTR_QUERY_AH_AH, ah);
 *	uv_out(&call, DVQ_ATTR_QUERY_AH_INFO, &info, sizeof(info));
 *	CHECK_EQ(uv_run(raw->fd, &call), 0);
 */
#ifndef SELFTESTS_UVERBS_H
#define SELFTESTS_UVERBS_H

#include <rdma/dvq-abi.h>
#include <rdma/dvq-efa-abi.h>
#include <rdma/dvq-ionic-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapter.h"

#define UV_ATTRS	24

struct uv_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[UV_ATTRS];
};

/* driver data of a command, both ways; all zero: none */
struct uv_data {
	const void *in;
	size_t in_len;
	void *out;
	size_t out_len;
};

#define UV_IN(data, len)	(&(struct uv_data){ .in = (data), .in_len = (len) })
#define UV_OUT(data, len)	(&(struct uv_data){ .out = (data), .out_len = (len) })

/* ---- calls ------------------------------------------------------------------------- */

void uv_start(struct uv_call *call, uint16_t object, uint16_t method);
/* The attribute, for tests that want to spoil it. All are mandatory to the kernel. */
struct ib_uverbs_attr *uv_in(struct uv_call *call, uint16_t id, const void *data, size_t len);
struct ib_uverbs_attr *uv_out(struct uv_call *call, uint16_t id, void *data, size_t len);
/* what the call has for that answer is no address */
void uv_to_nowhere(struct uv_call *call, uint16_t id);
/* A new handle is in the attribute's data afterwards. */
struct ib_uverbs_attr *uv_handle(struct uv_call *call, uint16_t id, uint32_t handle);
struct ib_uverbs_attr *uv_const(struct uv_call *call, uint16_t id, uint64_t value);
void uv_data(struct uv_call *call, const struct uv_data *data);
/* 0 or a negative errno */
int uv_run(int fd, struct uv_call *call);

/* A command of the old write() interface (IB_USER_VERBS_CMD_*), through the same ioctl. */
int uv_write(int fd, uint32_t command, const void *in, size_t in_len, void *out, size_t out_len,
	     const struct uv_data *data);

/* ---- objects ----------------------------------------------------------------------- */

/**
 * struct raw - a context of one's own, opened without the library
 *
 * @context: EFA's answer to GET_CONTEXT
 * @device: EFA's answer to query device
 * @pd: a PD
 * @pdn: EFA's number of it
 */
struct raw {
	int fd;
	struct dvq_efa_ucontext_resp context;
	struct dvq_efa_device_resp device;
	uint32_t pd;
	uint16_t pdn;
};

/* The uverbs file of @adapter, without a context. Must succeed; undone at the end of the test. */
int uv_open(const struct adapter *adapter);
int uv_get_context(int fd, const struct uv_data *data);

/* must succeed; undone at the end of the test, or by lab_drop() */
struct raw *raw_new(const struct adapter *adapter);
struct raw *raw_new_ionic(const struct adapter *adapter, struct dvq_ionic_ctx_resp *resp);

int raw_query_device(int fd, const struct uv_data *data);

/* Handles of what these make go with the file, or with the destroy call. 0 or a negative errno. */
int raw_pd(const struct raw *raw, const struct uv_data *data, uint32_t *pd);
int raw_pd_destroy(const struct raw *raw, uint32_t pd);

/* What is not set is @cqe 64, 32-byte entries, sub-CQs as the device wants, no flags. */
struct dvq_efa_cq_req raw_cq_req(const struct raw *raw);
/* A call that creates a CQ, to be spoilt or run; its new handle is in attr[0]. */
void raw_cq_start(struct uv_call *call, uint32_t cqe, const struct uv_data *data);
int raw_cq(const struct raw *raw, uint32_t cqe, const struct uv_data *data, uint32_t *cq);
int raw_cq_destroy(const struct raw *raw, uint32_t cq);
/* must succeed: a usual CQ */
uint32_t raw_cq_new(const struct raw *raw, struct dvq_efa_cq_resp *resp);

/* must succeed: a file that tells of events of CQs and QPs which name it */
uint32_t raw_async(const struct raw *raw);
/* does this file, or a channel, have something to read within so many milliseconds? */
bool fd_is_readable(int fd, int ms);

/**
 * struct raw_qp - what to ask for a QP, and who takes its completions
 */
struct raw_qp {
	uint32_t type;			/* IB_UVERBS_QPT_* */
	uint32_t send_cq, recv_cq;
	struct ib_uverbs_qp_cap cap;
	struct dvq_efa_qp_req req;
};

/* A request that the device grants: SRD, 64-byte entries, both queues. */
struct raw_qp raw_qp_usual(const struct raw *raw, uint32_t cq);
void raw_qp_start(struct uv_call *call, const struct raw *raw, const struct raw_qp *qp,
		  const struct uv_data *data, uint32_t *qp_num);
int raw_qp_data(const struct raw *raw, const struct raw_qp *qp, const struct uv_data *data,
		uint32_t *handle);
int raw_qp_create(const struct raw *raw, const struct raw_qp *qp, uint32_t *handle);
int raw_qp_destroy(const struct raw *raw, uint32_t qp);
/* must succeed */
uint32_t raw_qp_new(const struct raw *raw, const struct raw_qp *qp, struct dvq_efa_qp_resp *resp,
		    uint32_t *qp_num);

int raw_qp_modify(const struct raw *raw, uint32_t qp, const struct ib_uverbs_modify_qp *attr,
		  const struct uv_data *data);
int raw_qp_query(const struct raw *raw, uint32_t qp, uint32_t mask,
		 struct ib_uverbs_query_qp_resp *resp);

/* An AH attribute that is right, to @gid (16 bytes). */
struct ib_uverbs_ah_attr raw_ah_attr(const void *gid);
int raw_ah(const struct raw *raw, uint32_t pd, const struct ib_uverbs_ah_attr *attr,
	   const struct uv_data *data, uint32_t *ah);
int raw_ah_destroy(const struct raw *raw, uint32_t ah);

int raw_mr(const struct raw *raw, const void *addr, size_t length, uint64_t iova, uint32_t access,
	   const struct uv_data *data, struct ib_uverbs_reg_mr_resp *resp);
int raw_mr_destroy(const struct raw *raw, uint32_t mr);

#endif /* SELFTESTS_UVERBS_H */
