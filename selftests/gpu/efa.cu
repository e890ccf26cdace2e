// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A GPU that sends over EFA by itself: the host's part. It has a QP in RTS and the QP's send CQ, made by
 * the verbs with nothing special, and from here on touches neither until the GPU is done.
 *
 *	nvcc -std=c++17 $(pkg-config --cflags dvq) efa.cu ... $(pkg-config --libs dvq)
 *
 * The adapter must be able to reach the buffers: registered memory of the host, or of the GPU by
 * ibv_reg_dmabuf_mr().
 */
#include <dvq/dvq.h>

#include "efa.h"
#include "gpu.h"

GPU_KERNEL(efa_gpu_kernel, struct efa_gpu, efa_gpu_run)

/* the addresses of ring and doorbell become those of the GPU; posts go there, not to a stage */
static int show_sq(struct dvq_efa_sq *sq)
{
	int ret = gpu_sees(sq->ring_map, sq->ring_map_length, sq->ring, GPU_ADAPTER, &sq->ring);

	sq->build = sq->ring;
	return ret ? ret : gpu_sees(sq->db_map, sq->db_map_length, sq->doorbell, GPU_ADAPTER, &sq->doorbell);
}

static int show_cq(struct dvq_efa_cq *cq)
{
	int ret = gpu_sees(cq->ring_map, cq->ring_map_length, cq->ring, GPU_READ_ONLY, &cq->ring);

	/* there is none where nobody asks for events */
	if (ret || !cq->doorbell)
		return ret;
	return gpu_sees(cq->db_map, cq->db_map_length, cq->doorbell, GPU_ADAPTER, &cq->doorbell);
}

static int run_opened(struct efa_gpu *gpu)
{
	void *there;
	int ret = show_sq(&gpu->sq);

	if (!ret)
		ret = show_cq(&gpu->cq);
	if (!ret)
		ret = gpu_put(&there, gpu, sizeof(*gpu));
	if (ret)
		return ret;
	ret = GPU_LAUNCH(efa_gpu_kernel, (struct efa_gpu *)there);
	return ret ? ret : gpu_take(there, gpu, sizeof(*gpu));
}

extern "C" int efa_gpu_send(struct ibv_qp *qp, struct ibv_cq *send_cq, struct efa_gpu *gpu);

/* gpu->work is to be done; 0, an errno value of libdvq or an error of the GPU's runtime */
extern "C" int efa_gpu_send(struct ibv_qp *qp, struct ibv_cq *send_cq, struct efa_gpu *gpu)
{
	struct dvq_efa_sq sq;
	struct dvq_efa_cq cq;
	int ret;

	ret = dvq_efa_sq_open(qp, &sq, sizeof(sq));
	if (ret)
		return ret;
	ret = dvq_efa_cq_open(send_cq, &cq, sizeof(cq));
	if (!ret) {
		/* copies: what was opened is closed with the host's addresses */
		gpu->sq = sq;
		gpu->cq = cq;
		ret = run_opened(gpu);
		gpu_forget(cq.db_map);
		gpu_forget(cq.ring_map);
		dvq_efa_cq_close(&cq);
	}
	gpu_forget(sq.db_map);
	gpu_forget(sq.ring_map);
	dvq_efa_sq_close(&sq);
	return ret;
}
