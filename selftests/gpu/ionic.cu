// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A GPU that writes to a peer over ionic by itself: the host's part. It has a connected QP in RTS and
 * the QP's send CQ, made by the verbs with nothing special, and from here on touches neither until
 * the GPU is done. Rings are memory of the verbs' provider, and doorbells one page of the context.
 *
 *	nvcc -std=c++17 $(pkg-config --cflags dvq) ionic.cu ... $(pkg-config --libs dvq)
 */
#include <dvq/dvq.h>

#include "gpu.h"
#include "ionic.h"

GPU_KERNEL(ionic_gpu_kernel, struct ionic_gpu, ionic_gpu_run)

/* memory of the host, from @address on; pages are registered whole */
static int show_memory(uint64_t *address, uint64_t bytes, uint64_t *pages)
{
	const uint64_t end = *address + bytes;

	*pages = *address & ~(uint64_t)4095;
	return gpu_sees(*pages, (end - *pages + 4095) & ~(uint64_t)4095, *address, GPU_HOST, address);
}

static int show_sq(struct dvq_ionic_wq *wq, uint64_t *pages)
{
	int ret = show_memory(&wq->ring, (uint64_t)(wq->reqs.mask + 1) << wq->entry_log2, pages);

	if (!ret && wq->cmb)
		ret = gpu_sees(wq->cmb_map, wq->cmb_map_length, wq->cmb, GPU_ADAPTER, &wq->cmb);
	return ret ? ret : gpu_sees(wq->db_map, wq->db_map_length, wq->doorbell, GPU_ADAPTER, &wq->doorbell);
}

static int show_cq(struct dvq_ionic_cq *cq, uint64_t *pages)
{
	int ret = 0;

	for (int i = 0; i < DVQ_IONIC_PIPELINES && !ret; i++)
		if (cq->ring[i].ring)
			ret = show_memory(&cq->ring[i].ring,
					  (uint64_t)(cq->ring[i].mask + 1) * IONIC_CQE_SIZE, &pages[i]);
	return ret ? ret : gpu_sees(cq->db_map, cq->db_map_length, cq->doorbell, GPU_ADAPTER, &cq->doorbell);
}

static int run_opened(struct ionic_gpu *gpu, uint64_t *pages)
{
	void *there;
	int ret = show_sq(&gpu->sq.wq, &pages[0]);

	if (!ret)
		ret = show_cq(&gpu->cq, &pages[1]);
	if (!ret)
		ret = gpu_put(&there, gpu, sizeof(*gpu));
	if (ret)
		return ret;
	ret = GPU_LAUNCH(ionic_gpu_kernel, (struct ionic_gpu *)there);
	return ret ? ret : gpu_take(there, gpu, sizeof(*gpu));
}

extern "C" int ionic_gpu_write(struct ibv_qp *qp, struct ibv_cq *send_cq, struct ionic_gpu *gpu);

/* gpu->work is to be done; 0, an errno value of libdvq or an error of the GPU's runtime */
extern "C" int ionic_gpu_write(struct ibv_qp *qp, struct ibv_cq *send_cq, struct ionic_gpu *gpu)
{
	uint64_t pages[1 + DVQ_IONIC_PIPELINES] = { 0 };
	struct dvq_ionic_sq sq;
	struct dvq_ionic_cq cq;
	int ret;

	ret = dvq_ionic_sq_open(qp, &sq, sizeof(sq));
	if (ret)
		return ret;
	ret = dvq_ionic_cq_open(send_cq, &cq, sizeof(cq));
	if (!ret) {
		/* copies: what was opened is closed with the host's addresses */
		gpu->sq = sq;
		gpu->cq = cq;
		ret = run_opened(gpu, pages);
		gpu_forget(cq.db_map);
		dvq_ionic_cq_close(&cq);
	}
	for (int i = 0; i < 1 + DVQ_IONIC_PIPELINES; i++)
		if (pages[i])
			gpu_forget(pages[i]);
	if (sq.wq.cmb)
		gpu_forget(sq.wq.cmb_map);
	gpu_forget(sq.wq.db_map);
	dvq_ionic_sq_close(&sq);
	return ret;
}
