// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

#include <rdma/dvq-abi.h>

#include "placement.h"

static _Bool required(const struct dvq_place_req *req)
{
	return (req->wish | req->policy) & DVQ_PLACE_REQUIRE;
}

/* Does anybody who may say so let this wish through? */
static _Bool allowed(const struct dvq_place_req *req)
{
	if (req->policy & DVQ_PLACE_SET && !(req->policy & DVQ_PLACE_CMB))
		return 0;

	switch (req->mode) {
	case DVQ_MODE_OFF:
		return 0;
	case DVQ_MODE_EXPLICIT:
		return req->wish & DVQ_PLACE_REQUIRE || req->policy & DVQ_PLACE_CMB;
	case DVQ_MODE_ON:
		return 1;
	}
	return 0;
}

static _Bool expdb_allowed(const struct dvq_place_req *req)
{
	return req->has_expdb &&
	       (!(req->policy & DVQ_PLACE_SET) || req->policy & DVQ_PLACE_EXPDB);
}

int dvq_place_no_room(const struct dvq_place_req *req)
{
	return required(req) ? -ENOSPC : DVQ_PLACED_HOST;
}

int dvq_place(const struct dvq_place_req *req)
{
	if (!(req->wish & DVQ_PLACE_CMB))
		return DVQ_PLACED_HOST;

	if (!req->has_cmb || !allowed(req))
		return required(req) ? -EOPNOTSUPP : DVQ_PLACED_HOST;

	if (req->wish & DVQ_PLACE_EXPDB && !expdb_allowed(req) && required(req))
		return -EOPNOTSUPP;

	if (req->bytes > req->max_bytes || req->bytes > req->free_bytes)
		return dvq_place_no_room(req);

	if (req->wish & DVQ_PLACE_EXPDB && expdb_allowed(req))
		return DVQ_PLACED_CMB_EXPDB;
	return DVQ_PLACED_CMB;
}
