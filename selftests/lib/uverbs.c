// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lab.h"
#include "uverbs.h"

/* ---- calls ------------------------------------------------------------------------- */

/* enum rdma_driver_id; headers before Linux 6.18 do not have it */
#define DRIVER_IONIC	21

void uv_start(struct uv_call *call, uint16_t object, uint16_t method)
{
	memset(call, 0, sizeof(*call));
	call->hdr.object_id = object;
	call->hdr.method_id = method;
	/* a program tests adapters of one kind */
	call->hdr.driver_id = self->kind == ADAPTER_IONIC ? DRIVER_IONIC : RDMA_DRIVER_EFA;
}

static struct ib_uverbs_attr *add(struct uv_call *call, uint16_t id, size_t len, uint64_t data)
{
	struct ib_uverbs_attr *attr = &call->attr[call->hdr.num_attrs];

	LAB_NEED(call->hdr.num_attrs < UV_ATTRS, "more than %u attributes", UV_ATTRS);
	call->hdr.num_attrs++;
	attr->attr_id = id;
	attr->len = len;
	attr->data = data;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

/* The kernel wants what fits into the attribute there. */
struct ib_uverbs_attr *uv_in(struct uv_call *call, uint16_t id, const void *data, size_t len)
{
	uint64_t value = (uintptr_t)data;

	if (len <= sizeof(value)) {
		value = 0;
		memcpy(&value, data, len);
	}
	return add(call, id, len, value);
}

struct ib_uverbs_attr *uv_out(struct uv_call *call, uint16_t id, void *data, size_t len)
{
	return add(call, id, len, (uintptr_t)data);
}

void uv_to_nowhere(struct uv_call *call, uint16_t id)
{
	for (unsigned int i = 0; i < call->hdr.num_attrs; i++)
		if (call->attr[i].attr_id == id)
			call->attr[i].data = 8;
}

struct ib_uverbs_attr *uv_handle(struct uv_call *call, uint16_t id, uint32_t handle)
{
	return add(call, id, 0, handle);
}

struct ib_uverbs_attr *uv_const(struct uv_call *call, uint16_t id, uint64_t value)
{
	return add(call, id, sizeof(value), value);
}

void uv_data(struct uv_call *call, const struct uv_data *data)
{
	if (!data)
		return;
	if (data->in_len)
		uv_in(call, UVERBS_ATTR_UHW_IN, data->in, data->in_len);
	if (data->out_len)
		uv_out(call, UVERBS_ATTR_UHW_OUT, data->out, data->out_len);
}

int uv_run(int fd, struct uv_call *call)
{
	call->hdr.length = sizeof(call->hdr) + call->hdr.num_attrs * sizeof(call->attr[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, &call->hdr) ? -errno : 0;
}

int uv_write(int fd, uint32_t command, const void *in, size_t in_len, void *out, size_t out_len,
	     const struct uv_data *data)
{
	uint64_t number = command;
	struct uv_call call;

	uv_start(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	uv_in(&call, UVERBS_ATTR_WRITE_CMD, &number, sizeof(number));
	if (in_len)
		uv_in(&call, UVERBS_ATTR_CORE_IN, in, in_len);
	if (out_len)
		uv_out(&call, UVERBS_ATTR_CORE_OUT, out, out_len);
	uv_data(&call, data);
	return uv_run(fd, &call);
}

/* ---- contexts ---------------------------------------------------------------------- */

static int open_node(const struct adapter *adapter)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%.64s", adapter->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	LAB_NEED(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

static int drop_fd(void *object)
{
	int fd = *(int *)object;

	free(object);
	return close(fd) ? errno : 0;
}

int uv_open(const struct adapter *adapter)
{
	int *held = malloc(sizeof(*held));

	LAB_NEED(held, "no memory");
	*held = open_node(adapter);
	lab_hold(drop_fd, held);
	return *held;
}

int uv_get_context(int fd, const struct uv_data *data)
{
	uint64_t core_support;
	struct uv_call call;
	uint32_t vectors;

	uv_start(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	uv_out(&call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	uv_out(&call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &core_support, sizeof(core_support));
	uv_data(&call, data);
	return uv_run(fd, &call);
}

int raw_query_device(int fd, const struct uv_data *data)
{
	struct ib_uverbs_ex_query_device_resp resp;
	struct ib_uverbs_ex_query_device in = {};

	return uv_write(fd, IB_USER_VERBS_EX_CMD_QUERY_DEVICE | IB_USER_VERBS_CMD_FLAG_EXTENDED,
			&in, sizeof(in), &resp, sizeof(resp), data);
}

static int drop_raw(void *object)
{
	struct raw *raw = object;
	int err = close(raw->fd) ? errno : 0;

	free(raw);
	return err;
}

struct raw *raw_new(const struct adapter *adapter)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	const struct dvq_efa_ucontext_req req = {
		.supported_caps = DVQ_EFA_USER_TX_BATCH | DVQ_EFA_USER_MIN_SQ_WR,
	};
	struct dvq_efa_pd_resp pd;
	int err;

	LAB_NEED(raw, "no memory");
	raw->fd = open_node(adapter);
	lab_hold(drop_raw, raw);
	err = uv_get_context(raw->fd, &(struct uv_data){ &req, sizeof(req), &raw->context,
							 sizeof(raw->context) });
	LAB_NEED(!err, "GET_CONTEXT: %s", strerror(-err));
	err = raw_query_device(raw->fd, &(struct uv_data){ .out = &raw->device,
							   .out_len = sizeof(raw->device) });
	LAB_NEED(!err, "query device: %s", strerror(-err));
	err = raw_pd(raw, &(struct uv_data){ .out = &pd, .out_len = sizeof(pd) }, &raw->pd);
	LAB_NEED(!err, "alloc PD: %s", strerror(-err));
	raw->pdn = pd.pdn;
	return raw;
}

struct raw *raw_new_ionic(const struct adapter *adapter, struct dvq_ionic_ctx_resp *resp)
{
	struct raw *raw = calloc(1, sizeof(*raw));
	const struct dvq_ionic_ctx_req req = {};
	int err;

	LAB_NEED(raw, "no memory");
	raw->fd = open_node(adapter);
	lab_hold(drop_raw, raw);
	err = uv_get_context(raw->fd, &(struct uv_data){ &req, sizeof(req), resp, sizeof(*resp) });
	LAB_NEED(!err, "GET_CONTEXT: %s", strerror(-err));
	err = raw_pd(raw, NULL, &raw->pd);
	LAB_NEED(!err, "alloc PD: %s", strerror(-err));
	return raw;
}

/* ---- PD ---------------------------------------------------------------------------- */

int raw_pd(const struct raw *raw, const struct uv_data *data, uint32_t *pd)
{
	struct ib_uverbs_alloc_pd_resp resp;
	struct ib_uverbs_alloc_pd in = {};
	int err;

	err = uv_write(raw->fd, IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), &resp, sizeof(resp),
		       data);
	*pd = resp.pd_handle;
	return err;
}

int raw_pd_destroy(const struct raw *raw, uint32_t pd)
{
	struct ib_uverbs_dealloc_pd in = { .pd_handle = pd };

	return uv_write(raw->fd, IB_USER_VERBS_CMD_DEALLOC_PD, &in, sizeof(in), NULL, 0, NULL);
}

/* ---- CQ ---------------------------------------------------------------------------- */

struct dvq_efa_cq_req raw_cq_req(const struct raw *raw)
{
	return (struct dvq_efa_cq_req){ .cq_entry_size = 32,
					.num_sub_cqs = raw->context.sub_cqs_per_cq };
}

void raw_cq_start(struct uv_call *call, uint32_t cqe, const struct uv_data *data)
{
	static uint32_t granted;
	uint64_t user_handle = 0;
	uint32_t vector = 0;

	uv_start(call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uv_handle(call, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	uv_in(call, UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe));
	uv_in(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user_handle, sizeof(user_handle));
	uv_in(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector));
	uv_out(call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &granted, sizeof(granted));
	uv_data(call, data);
}

int raw_cq(const struct raw *raw, uint32_t cqe, const struct uv_data *data, uint32_t *cq)
{
	struct uv_call call;
	int err;

	raw_cq_start(&call, cqe, data);
	err = uv_run(raw->fd, &call);
	*cq = call.attr[0].data;
	return err;
}

int raw_cq_destroy(const struct raw *raw, uint32_t cq)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct uv_call call;

	uv_start(&call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY);
	uv_handle(&call, UVERBS_ATTR_DESTROY_CQ_HANDLE, cq);
	uv_out(&call, UVERBS_ATTR_DESTROY_CQ_RESP, &resp, sizeof(resp));
	return uv_run(raw->fd, &call);
}

uint32_t raw_cq_new(const struct raw *raw, struct dvq_efa_cq_resp *resp)
{
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct uv_data data = { &req, sizeof(req), resp, sizeof(*resp) };
	uint32_t cq;
	int err;

	err = raw_cq(raw, 64, &data, &cq);
	LAB_NEED(!err, "create CQ: %s", strerror(-err));
	return cq;
}

/* ---- QP ---------------------------------------------------------------------------- */

struct raw_qp raw_qp_usual(const struct raw *raw, uint32_t cq)
{
	uint32_t depth = raw->context.min_sq_wr > 32 ? raw->context.min_sq_wr : 32;

	return (struct raw_qp){
		.type = IB_UVERBS_QPT_DRIVER,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = 16, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.req = { .sq_ring_size = depth * 64, .rq_ring_size = 16 * 16,
			 .driver_qp_type = DVQ_EFA_QP_SRD },
	};
}

uint32_t raw_async(const struct raw *raw)
{
	struct uv_call call;
	int err;

	uv_start(&call, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	uv_handle(&call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	err = uv_run(raw->fd, &call);
	LAB_NEED(!err, "events: %s", strerror(-err));
	return call.attr[0].data;
}

bool fd_is_readable(int fd, int ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return poll(&pollfd, 1, ms) == 1;
}

void raw_qp_start(struct uv_call *call, const struct raw *raw, const struct raw_qp *qp,
		  const struct uv_data *data, uint32_t *qp_num)
{
	static struct ib_uverbs_qp_cap granted;
	uint64_t user_handle = 0;

	uv_start(call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	uv_handle(call, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	uv_handle(call, UVERBS_ATTR_CREATE_QP_PD_HANDLE, raw->pd);
	uv_handle(call, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, qp->send_cq);
	uv_handle(call, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, qp->recv_cq);
	uv_in(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, &user_handle, sizeof(user_handle));
	uv_in(call, UVERBS_ATTR_CREATE_QP_CAP, &qp->cap, sizeof(qp->cap));
	uv_const(call, UVERBS_ATTR_CREATE_QP_TYPE, qp->type);
	uv_out(call, UVERBS_ATTR_CREATE_QP_RESP_CAP, &granted, sizeof(granted));
	uv_out(call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, qp_num, sizeof(*qp_num));
	uv_data(call, data);
}

int raw_qp_data(const struct raw *raw, const struct raw_qp *qp, const struct uv_data *data,
		uint32_t *handle)
{
	struct uv_call call;
	uint32_t qp_num;
	int err;

	raw_qp_start(&call, raw, qp, data, &qp_num);
	err = uv_run(raw->fd, &call);
	*handle = call.attr[0].data;
	return err;
}

int raw_qp_create(const struct raw *raw, const struct raw_qp *qp, uint32_t *handle)
{
	return raw_qp_data(raw, qp, &(struct uv_data){ .in = &qp->req, .in_len = sizeof(qp->req) },
			   handle);
}

int raw_qp_destroy(const struct raw *raw, uint32_t qp)
{
	struct ib_uverbs_destroy_qp_resp resp;
	struct uv_call call;

	uv_start(&call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY);
	uv_handle(&call, UVERBS_ATTR_DESTROY_QP_HANDLE, qp);
	uv_out(&call, UVERBS_ATTR_DESTROY_QP_RESP, &resp, sizeof(resp));
	return uv_run(raw->fd, &call);
}

uint32_t raw_qp_new(const struct raw *raw, const struct raw_qp *qp, struct dvq_efa_qp_resp *resp,
		    uint32_t *qp_num)
{
	struct uv_data data = { &qp->req, sizeof(qp->req), resp, sizeof(*resp) };
	struct uv_call call;
	int err;

	raw_qp_start(&call, raw, qp, &data, qp_num);
	err = uv_run(raw->fd, &call);
	LAB_NEED(!err, "create QP: %s", strerror(-err));
	return call.attr[0].data;
}

int raw_qp_modify(const struct raw *raw, uint32_t qp, const struct ib_uverbs_modify_qp *attr,
		  const struct uv_data *data)
{
	struct ib_uverbs_modify_qp in = *attr;

	in.qp_handle = qp;
	return uv_write(raw->fd, IB_USER_VERBS_CMD_MODIFY_QP, &in, sizeof(in), NULL, 0, data);
}

int raw_qp_query(const struct raw *raw, uint32_t qp, uint32_t mask,
		 struct ib_uverbs_query_qp_resp *resp)
{
	struct ib_uverbs_query_qp in = { .qp_handle = qp, .attr_mask = mask };

	return uv_write(raw->fd, IB_USER_VERBS_CMD_QUERY_QP, &in, sizeof(in), resp, sizeof(*resp),
			NULL);
}

/* ---- AH, MR ------------------------------------------------------------------------ */

struct ib_uverbs_ah_attr raw_ah_attr(const void *gid)
{
	struct ib_uverbs_ah_attr attr = { .is_global = 1, .port_num = 1 };

	memcpy(attr.grh.dgid, gid, sizeof(attr.grh.dgid));
	return attr;
}

int raw_ah(const struct raw *raw, uint32_t pd, const struct ib_uverbs_ah_attr *attr,
	   const struct uv_data *data, uint32_t *ah)
{
	struct ib_uverbs_create_ah in = { .pd_handle = pd, .attr = *attr };
	struct ib_uverbs_create_ah_resp resp;
	int err;

	err = uv_write(raw->fd, IB_USER_VERBS_CMD_CREATE_AH, &in, sizeof(in), &resp, sizeof(resp),
		       data);
	*ah = resp.ah_handle;
	return err;
}

int raw_ah_destroy(const struct raw *raw, uint32_t ah)
{
	struct ib_uverbs_destroy_ah in = { .ah_handle = ah };

	return uv_write(raw->fd, IB_USER_VERBS_CMD_DESTROY_AH, &in, sizeof(in), NULL, 0, NULL);
}

int raw_mr(const struct raw *raw, const void *addr, size_t length, uint64_t iova, uint32_t access,
	   const struct uv_data *data, struct ib_uverbs_reg_mr_resp *resp)
{
	struct ib_uverbs_reg_mr in = { .start = (uintptr_t)addr, .length = length, .hca_va = iova,
				       .pd_handle = raw->pd, .access_flags = access };

	return uv_write(raw->fd, IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), resp, sizeof(*resp),
			data);
}

int raw_mr_destroy(const struct raw *raw, uint32_t mr)
{
	struct ib_uverbs_dereg_mr in = { .mr_handle = mr };

	return uv_write(raw->fd, IB_USER_VERBS_CMD_DEREG_MR, &in, sizeof(in), NULL, 0, NULL);
}
