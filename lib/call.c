// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The encoding of uverbs method calls. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

_Static_assert(offsetof(struct dvq_call, attrs) == sizeof(struct ib_uverbs_ioctl_hdr),
	       "the attributes follow the header");

void dvq_call_init(struct dvq_call *call, uint16_t object, uint16_t method)
{
	memset(call, 0, sizeof(*call));
	call->hdr.length = sizeof(call->hdr);
	call->hdr.object_id = object;
	call->hdr.method_id = method;
}

static struct ib_uverbs_attr *add_attr(struct dvq_call *call, uint16_t id)
{
	struct ib_uverbs_attr *attr = &call->attrs[call->hdr.num_attrs++];

	call->hdr.length += sizeof(*attr);
	attr->attr_id = id;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

void dvq_call_handle(struct dvq_call *call, uint16_t id, uint32_t handle)
{
	add_attr(call, id)->data = handle;
}

void dvq_call_in(struct dvq_call *call, uint16_t id, const void *data, uint16_t length)
{
	struct ib_uverbs_attr *attr = add_attr(call, id);

	attr->len = length;
	if (length <= sizeof(attr->data))
		memcpy(&attr->data, data, length);
	else
		attr->data = (uintptr_t)data;
}

void dvq_call_out(struct dvq_call *call, uint16_t id, void *data, uint16_t length)
{
	struct ib_uverbs_attr *attr = add_attr(call, id);

	attr->len = length;
	attr->data = (uintptr_t)data;
}

int dvq_call_issue(struct dvq_call *call, int cmd_fd, uint32_t driver_id)
{
	call->hdr.driver_id = driver_id;
	return ioctl(cmd_fd, RDMA_VERBS_IOCTL, &call->hdr) ? errno : 0;
}
