/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel lists of live QPs, by RDMA netlink (`rdma resource show qp -dd` asks the same). */
#ifndef DVQ_TOOLS_RESTRACK_H
#define DVQ_TOOLS_RESTRACK_H

#include <stdbool.h>
#include <stdint.h>

/* one of the two queues; entries is 0 if the QP has none, or the driver tells nothing */
struct tracked_wq {
	char mem[16];
	uint64_t entry_size, entries, max_wr, max_batch, caps, ring_length, db_offset, pipeline;
};

/**
 * struct tracked_qp - a QP as listed
 * @type: what the driver calls a QP of a kind of its own, else the verbs' name
 * @owner: name of the process, or of the kernel module in brackets
 * @dvq: the driver has told the records, so @sq and @rq are filled
 */
struct tracked_qp {
	uint32_t qp_num;
	char type[16];
	uint8_t state;
	uint32_t pid;
	char owner[32];
	bool dvq;
	uint64_t uid;
	struct tracked_wq sq, rq;
};

/*
 * Calls @show for each QP of the device. 0, or an errno: ENODEV if there is no such device.
 */
int restrack_qps(const char *device, void (*show)(const struct tracked_qp *qp, void *arg),
		 void *arg);

#endif /* DVQ_TOOLS_RESTRACK_H */
