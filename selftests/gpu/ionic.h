/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A GPU that writes to a peer over ionic by itself: the part that runs on it. ionic.cu has the host's
 * part, efa.h the rules: who posts, which fences, who polls; here is what differs.
 *
 * The ring is memory of the host (or, in controller memory, has a copy there), which the GPU reads
 * and writes as well. Of one connection the adapter tells by one completion of several requests, so a
 * poll may report more than there are entries on the ring.
 */
#ifndef SELFTESTS_GPU_IONIC_H
#define SELFTESTS_GPU_IONIC_H

#include <dvq/ionic.h>

#define IONIC_GPU_SLOTS	256	/* at least as many as the ring has entries */
#define IONIC_GPU_BATCH	16

struct ionic_gpu_work {
	uint64_t messages;
	uint64_t address;	/* of the first message, as it was registered */
	uint64_t remote;	/* where it goes */
	uint32_t stride;	/* from one message to the next, on both sides; they go round after @slots */
	uint32_t slots;
	uint32_t length;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t reserved;
	uint64_t patience;	/* polls without a completion until it gives up */
};

struct ionic_gpu {
	struct dvq_ionic_sq sq;
	struct dvq_ionic_cq cq;
	struct dvq_ionic_cq_qp rows[1];
	struct dvq_ionic_req slots[IONIC_GPU_SLOTS];
	struct ionic_gpu_work work;
	/* what came of it */
	uint64_t posted, done;
	uint32_t status;	/* the first that was not IONIC_IO_OK */
	int32_t error;		/* errno of dvq_ionic_*() */
};

/* slots and table hold addresses of this memory, so they are made where it is used */
DVQ_INLINE int ionic_gpu_start(struct ionic_gpu *gpu)
{
	int ret;

	if (dvq_ionic_reqs_slots(&gpu->sq.wq.reqs) > IONIC_GPU_SLOTS)
		return DVQ_IONIC_EINVAL;
	ret = dvq_ionic_sq_set_slots(&gpu->sq, gpu->slots);
	if (!ret)
		ret = dvq_ionic_cq_set_qps(&gpu->cq, gpu->rows, 1);
	if (!ret)
		ret = dvq_ionic_cq_attach(&gpu->cq, &gpu->sq, NULL);
	return ret;
}

/* as many as there is room for, a batch at most; then the adapter is told */
DVQ_INLINE int ionic_gpu_post(struct ionic_gpu *gpu)
{
	const struct ionic_gpu_work *work = &gpu->work;
	struct dvq_ionic_wr wr;
	int ret = 0;

	for (uint32_t i = 0; i < IONIC_GPU_BATCH && gpu->posted < work->messages; i++) {
		const uint64_t at = gpu->posted % work->slots * work->stride;

		dvq_ionic_wr_rdma_write(&wr, work->rkey, work->remote + at);
		dvq_ionic_wr_set_sge(&wr, work->lkey, work->address + at, work->length);
		ret = dvq_ionic_sq_post(&gpu->sq, &wr, gpu->posted);
		if (ret)
			break;
		gpu->posted++;
	}
	dvq_ionic_sq_publish(&gpu->sq);
	return ret == DVQ_IONIC_ENOMEM ? 0 : ret;
}

/* how many requests have ended */
DVQ_INLINE uint32_t ionic_gpu_poll(struct ionic_gpu *gpu)
{
	struct dvq_ionic_wc wc[IONIC_GPU_BATCH];
	const uint32_t n = dvq_ionic_cq_poll(&gpu->cq, wc, IONIC_GPU_BATCH);

	for (uint32_t i = 0; i < n; i++)
		if (wc[i].status != IONIC_IO_OK && !gpu->status)
			gpu->status = wc[i].status;
	gpu->done += n;
	return n;
}

/* one thread of the GPU; returns when all is done, or nothing has come for too long */
DVQ_INLINE void ionic_gpu_run(struct ionic_gpu *gpu)
{
	uint64_t idle = 0;

	gpu->error = ionic_gpu_start(gpu);
	while (!gpu->error && gpu->done < gpu->work.messages && idle < gpu->work.patience) {
		gpu->error = ionic_gpu_post(gpu);
		idle = ionic_gpu_poll(gpu) ? 0 : idle + 1;
	}
}

#endif /* SELFTESTS_GPU_IONIC_H */
