/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How many entries of a send queue may be written between two doorbells. Pure, so that
 * efa_batch_test.c runs it outside of a kernel.
 */
#ifndef DVQ_EFA_BATCH_H
#define DVQ_EFA_BATCH_H

#include <linux/types.h>

#define EFA_BATCH_UNIT	64U	/* bytes; what a device counts its limit in */
#define EFA_BATCH_NONE	65535U	/* the doorbell counts in 16 bits */

/*
 * A device whose limit is below one entry takes no such entry at all, and libefa never
 * comes to an end when it divides the limit by the entry and gets 0.
 *
 * @limit: of the device, in units; 0: none
 */
static inline _Bool efa_batch_fits(__u32 limit, __u32 entry_size)
{
	return !limit || limit * EFA_BATCH_UNIT >= entry_size;
}

/*
 * @has_least: the device has a least size of send queues; such a one cannot take a full
 *	ring by one doorbell
 */
static inline __u32 efa_batch_max(__u32 limit, _Bool has_least, __u32 entry_size, __u32 entries)
{
	__u32 batch = limit ? limit * EFA_BATCH_UNIT / entry_size : EFA_BATCH_NONE;

	if (has_least && batch >= entries)
		batch = entries - 1;
	return batch ? batch : 1;
}

#endif /* DVQ_EFA_BATCH_H */
