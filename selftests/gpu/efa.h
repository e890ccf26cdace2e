/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * A GPU that sends over EFA by itself: the part that runs on it. efa.cu has the host's part.
 *
 * Everything that the poster writes and reads often is in struct efa_gpu, in memory of the GPU: the
 * state of the rings, the request ids, the table of QPs. Send ring and doorbells are the adapter's
 * pages, the completion ring is the host's memory; the GPU sees them at addresses of its own.
 *
 * - One thread posts, publishes and polls: the fences of <dvq/barrier.h> order the stores of the
 *   thread that passes them. Many warps: a queue and a CQ for each (an array of struct efa_gpu).
 *   Lanes of one warp: __syncwarp(), the first lane posts for all, __syncwarp().
 * - What other threads of the GPU have put into the buffers must be visible to the adapter before the
 *   doorbell: they pass __threadfence_system() and then tell the poster (__syncthreads(), a flag).
 * - What the adapter has written to buffers is read only after the completion that tells of it.
 * - A full queue is no error: poll, and post again. Bound every wait: of an adapter that is gone no
 *   completion comes.
 *
 * Compiles as CUDA and HIP, and as C and C++ for tests, where a thread is the GPU.
 */
#ifndef SELFTESTS_GPU_EFA_H
#define SELFTESTS_GPU_EFA_H

#include <dvq/efa.h>

#define EFA_GPU_IDS	256	/* at least as many as requests can be outstanding */
#define EFA_GPU_BATCH	16

struct efa_gpu_work {
	uint64_t messages;
	uint64_t address;	/* of the first message, as it was registered */
	uint32_t stride;	/* from one message to the next; they go round after @slots */
	uint32_t slots;
	uint32_t length;
	uint32_t lkey;
	uint32_t qkey;
	uint16_t qp_num;	/* of the receiver */
	uint16_t ah;		/* dvq_ah_query() */
	uint64_t patience;	/* polls without a completion until it gives up */
};

struct efa_gpu {
	struct dvq_efa_sq sq;
	struct dvq_efa_cq cq;
	struct dvq_efa_cq_qp rows[1];
	struct dvq_efa_id ids[EFA_GPU_IDS];
	struct efa_gpu_work work;
	/* what came of it */
	uint64_t posted, done;
	uint32_t status;	/* the first that was not EFA_IO_OK */
	int32_t error;		/* errno of dvq_efa_*() */
};

/* the pool and the table hold addresses of this memory, so they are made where it is used */
DVQ_INLINE int efa_gpu_start(struct efa_gpu *gpu)
{
	int ret;

	if (dvq_efa_ids_slots(&gpu->sq.ids) > EFA_GPU_IDS)
		return DVQ_EFA_EINVAL;
	ret = dvq_efa_sq_set_pool(&gpu->sq, gpu->ids);
	if (!ret)
		ret = dvq_efa_cq_set_qps(&gpu->cq, gpu->rows, 1);
	if (!ret)
		ret = dvq_efa_cq_attach(&gpu->cq, &gpu->sq, NULL);
	return ret;
}

/* as many as there is room for, a batch at most; then the adapter is told */
DVQ_INLINE int efa_gpu_post(struct efa_gpu *gpu)
{
	const struct efa_gpu_work *work = &gpu->work;
	struct dvq_efa_wr wr;
	int ret = 0;

	for (uint32_t i = 0; i < EFA_GPU_BATCH && gpu->posted < work->messages; i++) {
		dvq_efa_wr_send(&wr);
		dvq_efa_wr_set_dest(&wr, work->ah, work->qp_num, work->qkey);
		dvq_efa_wr_set_sge(&wr, work->lkey,
				   work->address + gpu->posted % work->slots * work->stride, work->length);
		ret = dvq_efa_sq_post(&gpu->sq, &wr, gpu->posted);
		if (ret)
			break;
		gpu->posted++;
	}
	dvq_efa_sq_publish(&gpu->sq);
	return ret == DVQ_EFA_ENOMEM ? 0 : ret;
}

/* how many requests have ended */
DVQ_INLINE uint32_t efa_gpu_poll(struct efa_gpu *gpu)
{
	struct dvq_efa_wc wc[EFA_GPU_BATCH];
	const uint32_t n = dvq_efa_cq_poll(&gpu->cq, wc, EFA_GPU_BATCH);

	for (uint32_t i = 0; i < n; i++)
		if (wc[i].status != EFA_IO_OK && !gpu->status)
			gpu->status = wc[i].status;
	gpu->done += n;
	return n;
}

/* one thread of the GPU; returns when all is done, or nothing has come for too long */
DVQ_INLINE void efa_gpu_run(struct efa_gpu *gpu)
{
	uint64_t idle = 0;

	gpu->error = efa_gpu_start(gpu);
	while (!gpu->error && gpu->done < gpu->work.messages && idle < gpu->work.patience) {
		gpu->error = efa_gpu_post(gpu);
		idle = efa_gpu_poll(gpu) ? 0 : idle + 1;
	}
}

#endif /* SELFTESTS_GPU_EFA_H */
