/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where a work queue goes: one pure function of what was asked, what the PD
 * allows, what the administrator chose and what the device has left. It knows
 * nothing of the kernel, so that placement_test.c drives its whole table.
 */
#ifndef DVQ_PLACEMENT_H
#define DVQ_PLACEMENT_H

#include <linux/types.h>

/* The administrator's choice for one kind of queue of one device. */
enum dvq_place_mode {
	DVQ_MODE_OFF,		/* never controller memory */
	DVQ_MODE_EXPLICIT,	/* only for who insists: REQUIRE, or a PD policy that allows it */
	DVQ_MODE_ON,		/* for everyone who asks */
};

/**
 * struct dvq_place_req - everything that a decision rests on
 * @wish: enum dvq_place bits of the creation request; without DVQ_PLACE_CMB it
 *	asks for host memory, which is always granted
 * @policy: the PD's word for this kind of queue (enum dvq_place), 0: none
 * @mode: enum dvq_place_mode
 * @has_cmb: the device can place this kind of queue at all
 * @has_expdb: it has an express doorbell for this kind of queue and stride
 * @bytes: size of the ring
 * @max_bytes: largest ring that the device can place
 * @free_bytes: room in the pool now, as far as known; the reservation that
 *	follows may still find it gone
 */
struct dvq_place_req {
	__u32 wish;
	__u32 policy;
	enum dvq_place_mode mode;
	_Bool has_cmb;
	_Bool has_expdb;
	__u64 bytes;
	__u64 max_bytes;
	__u64 free_bytes;
};

enum dvq_placed {
	DVQ_PLACED_HOST,
	DVQ_PLACED_CMB,
	DVQ_PLACED_CMB_EXPDB,
};

/**
 * dvq_place() - decide
 * @req: what the decision rests on
 *
 * Return: an enum dvq_placed, or -EOPNOTSUPP or -ENOSPC when the request or the
 * policy requires what cannot be had. Never more than the wish asks for.
 */
int dvq_place(const struct dvq_place_req *req);

/*
 * What a reservation that came back empty means for the same request: fall back
 * to host memory (DVQ_PLACED_HOST), or -ENOSPC.
 */
int dvq_place_no_room(const struct dvq_place_req *req);

#endif /* DVQ_PLACEMENT_H */
