// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Controller memory of one's own. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SIZE	40	/* of struct dvq_region as first published */

static int bad_argument(void)
{
	return dvq_refuse(EINVAL, "an argument is NULL or too short");
}

static int call_free(struct ibv_context *context, uint32_t handle)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_FREE);
	dvq_call_handle(&call, DVQ_ATTR_CMB_FREE_HANDLE, handle);
	return dvq_call_device(&call, context, 0);
}

DVQ_API int dvq_region_alloc(struct ibv_context *context, uint64_t length,
			     struct dvq_region *region, uint32_t size)
{
	const struct dvq_cmb_alloc req = { .length = length };
	struct dvq_cmb_info info = {};
	struct dvq_region new = {};
	struct dvq_call call;
	int ret;

	if (!context || !region || size < FIRST_SIZE)
		return bad_argument();
	dvq_call_init(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_ALLOC);
	dvq_call_handle(&call, DVQ_ATTR_CMB_ALLOC_HANDLE, 0);
	dvq_call_in(&call, DVQ_ATTR_CMB_ALLOC_REQ, &req, sizeof(req));
	dvq_call_out(&call, DVQ_ATTR_CMB_ALLOC_INFO, &info, sizeof(info));
	ret = dvq_call_device(&call, context, 0);
	if (ret)
		return ret;
	new.context = context;
	new.length = info.length;
	new.key = info.key;
	new.handle = (uint32_t)call.attrs[0].data;
	memset(region, 0, size);
	memcpy(region, &new, size < sizeof(new) ? size : sizeof(new));
	return 0;
}

DVQ_API int dvq_region_map(struct dvq_region *region, void **address)
{
	int ret;

	if (!region || !region->context || !address)
		return bad_argument();
	if (!region->map) {
		ret = dvq_map(region->context->cmd_fd, region->key, region->length,
			      PROT_READ | PROT_WRITE, address);
		if (ret)
			return ret;
		region->map = (uintptr_t)*address;
	}
	*address = (void *)(uintptr_t)region->map;
	return 0;
}

DVQ_API int dvq_region_free(struct dvq_region *region)
{
	int ret;

	if (!region || !region->context)
		return 0;
	if (region->map)
		dvq_unmap(region->map, region->length);
	region->map = 0;
	ret = call_free(region->context, region->handle);
	/* a device that was removed has taken it along */
	if (ret && ret != EIO)
		return ret;
	region->context = NULL;
	return 0;
}
