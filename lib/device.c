// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Who drives a device, found by asking.
 *
 * The answer that matters comes with each call: a dvq method either exists on the file
 * of the context or it does not, and nothing is remembered of that. Only the data path
 * (dvq_is_efa()) keeps a note, because it is called once per request.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* the adapters of a kind; include/hw has them one by one */
struct parts {
	uint32_t vendor, first, last;
};

static const struct parts efa_parts = { 0x1d0f, 0xefa0, 0xefa4 };
static const struct parts ionic_parts = { 0x1dd8, 0x1002, 0x1003 };

/* a kernel that has no such method, driver or ioctl says one of these */
static bool may_be_no_dvq(int error)
{
	return error == EPROTONOSUPPORT || error == EINVAL || error == ENOTTY || error == ENOSYS;
}

static int query_as(struct ibv_context *context, uint32_t driver_id, void *info, uint16_t size)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	dvq_call_out(&call, DVQ_ATTR_QUERY_DEVICE_INFO, info, size);
	return dvq_call_issue(&call, context->cmd_fd, driver_id);
}

/*
 * Does dvq answer to this driver id on the context, whatever else it said? EIO is dvq's, of a device
 * that was taken away: who does not know the method says so first.
 */
static bool dvq_answers(struct ibv_context *context, uint32_t driver_id)
{
	struct dvq_device_info info;
	int ret = query_as(context, driver_id, &info, sizeof(info));

	return !ret || ret == EIO;
}

static int no_dvq(struct ibv_context *context)
{
	return dvq_refuse(EOPNOTSUPP, "%s: not driven by dvq",
			  ibv_get_device_name(context->device));
}

static int kernel_refused(struct ibv_context *context, int error)
{
	errno = error;
	return dvq_refuse(error, "%s: refused by the kernel: %m",
			  ibv_get_device_name(context->device));
}

static int call_as(struct dvq_call *call, struct ibv_context *context, uint32_t driver_id)
{
	int ret = dvq_call_issue(call, context->cmd_fd, driver_id);

	if (!ret)
		return 0;
	if (may_be_no_dvq(ret) && !dvq_answers(context, driver_id))
		return no_dvq(context);
	if (ret == EPROTONOSUPPORT)
		return dvq_refuse(EOPNOTSUPP, "%s: dvq's kernel module is too old for this call",
				  ibv_get_device_name(context->device));
	return kernel_refused(context, ret);
}

int dvq_call_device(struct dvq_call *call, struct ibv_context *context, uint32_t driver_id)
{
	int ret;

	if (driver_id)
		return call_as(call, context, driver_id);
	ret = call_as(call, context, DVQ_RDMA_DRIVER_EFA);
	if (ret != EOPNOTSUPP || dvq_answers(context, DVQ_RDMA_DRIVER_EFA))
		return ret;
	return call_as(call, context, DVQ_RDMA_DRIVER_IONIC);
}

static bool is_one_of(struct ibv_context *context, const struct parts *parts)
{
	struct ibv_device_attr attr;

	if (ibv_query_device(context, &attr))
		return false;
	return attr.vendor_id == parts->vendor && attr.vendor_part_id >= parts->first &&
	       attr.vendor_part_id <= parts->last;
}

enum dvq_owner dvq_efa_owner(struct ibv_context *context)
{
	if (dvq_answers(context, DVQ_RDMA_DRIVER_EFA))
		return DVQ_OWNER_DVQ;
	return is_one_of(context, &efa_parts) ? DVQ_OWNER_STOCK : DVQ_OWNER_FOREIGN;
}

enum dvq_owner dvq_ionic_owner(struct ibv_context *context)
{
	if (dvq_answers(context, DVQ_RDMA_DRIVER_IONIC))
		return DVQ_OWNER_DVQ;
	return is_one_of(context, &ionic_parts) ? DVQ_OWNER_STOCK : DVQ_OWNER_FOREIGN;
}

/*
 * A note is good for the context that it was made for. A closed context's address can be
 * that of another one later; then device, file and provider would all have to be the same
 * again, and the answer with them.
 */
struct note {
	const struct ibv_context *context;
	const struct ibv_device *device;
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int cmd_fd;
	char name[IBV_SYSFS_NAME_MAX];
	char dev_name[IBV_SYSFS_NAME_MAX];
	bool is_efa;
};

static __thread struct note note;

static bool note_fits(const struct ibv_context *context)
{
	return note.context == context && note.device == context->device &&
	       note.cmd_fd == context->cmd_fd && note.post_send == context->ops.post_send &&
	       !strncmp(note.name, context->device->name, sizeof(note.name)) &&
	       !strncmp(note.dev_name, context->device->dev_name, sizeof(note.dev_name));
}

bool dvq_is_efa(struct ibv_context *context)
{
	if (note_fits(context))
		return note.is_efa;
	note.is_efa = dvq_efa_owner(context) != DVQ_OWNER_FOREIGN;
	note.context = context;
	note.device = context->device;
	note.cmd_fd = context->cmd_fd;
	note.post_send = context->ops.post_send;
	memcpy(note.name, context->device->name, sizeof(note.name));
	memcpy(note.dev_name, context->device->dev_name, sizeof(note.dev_name));
	return note.is_efa;
}

static int query_device(struct ibv_context *context, uint32_t driver_id,
			struct dvq_device_info *info)
{
	struct dvq_call call;

	memset(info, 0, sizeof(*info));
	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	dvq_call_out(&call, DVQ_ATTR_QUERY_DEVICE_INFO, info, sizeof(*info));
	return dvq_call_device(&call, context, driver_id);
}

int dvq_efa_query_device(struct ibv_context *context, struct dvq_device_info *info)
{
	return query_device(context, DVQ_RDMA_DRIVER_EFA, info);
}

int dvq_ionic_query_device(struct ibv_context *context, struct dvq_device_info *info)
{
	return query_device(context, DVQ_RDMA_DRIVER_IONIC, info);
}
