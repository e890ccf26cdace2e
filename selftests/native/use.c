// SPDX-License-Identifier: GPL-2.0
/*
 * A use of every call of dvq/efa.h, for compilers (see headers): C11 without a libc,
 * C++17, and in CUDA and HIP a kernel.
 */
#include <dvq/efa.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define ENTRY extern "C" __global__ void
#elif defined(__cplusplus)
#define ENTRY extern "C" void
#else
#define ENTRY void
#endif

ENTRY use_sq(struct dvq_efa_sq *sq, struct dvq_efa_id *ids, void *stage, const char *data,
	     uint32_t n, int *errors);
ENTRY use_rq(struct dvq_efa_rq *rq, struct dvq_efa_id *ids, const struct dvq_efa_sge *sge,
	     uint32_t n, int *errors);
ENTRY use_cq(struct dvq_efa_cq *cq, struct dvq_efa_cq_qp *qps, struct dvq_efa_sq *sq,
	     struct dvq_efa_rq *rq, struct dvq_efa_wc *wc, uint32_t n, uint32_t *sum);

ENTRY use_sq(struct dvq_efa_sq *sq, struct dvq_efa_id *ids, void *stage, const char *data,
	     uint32_t n, int *errors)
{
	struct dvq_efa_dest dest;
	struct dvq_efa_wr wr;

	*errors += dvq_efa_sq_set_pool(sq, ids) != 0;
	*errors += dvq_efa_sq_set_stage(sq, stage) != 0;
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_dest(&wr, 1, 2, 3);
	dvq_efa_wr_set_sge(&wr, 4, 5, n);
	dvq_efa_wr_set_sge(&wr, 4, 5, n);
	*errors += dvq_efa_sq_post(sq, &wr, 6) != 0;
	dvq_efa_wr_send_imm(&wr, n);
	dvq_efa_wr_set_inline(&wr, data, n);
	dvq_efa_wr_set_inline(&wr, data, 3);
	*errors += dvq_efa_sq_post(sq, &wr, 7) != 0;
	dvq_efa_wr_rdma_read(&wr, n, 8);
	dvq_efa_wr_set_hints(&wr, DVQ_EFA_HINT_BURST);
	dvq_efa_wr_set_sge(&wr, 4, 5, n);
	*errors += dvq_efa_sq_post(sq, &wr, 9) != 0;
	dvq_efa_sq_publish(sq);
	dvq_efa_wr_rdma_write(&wr, n, 8);
	dvq_efa_wr_set_inline(&wr, data, 80);
	*errors += dvq_efa_sq_post(sq, &wr, 10) != 0;
	dvq_efa_wr_rdma_write_imm(&wr, n, 8, 11);
	dvq_efa_dest_init(&dest, 1, 2, 3);
	dvq_efa_wr_set_peer(&wr, &dest);
	dvq_efa_wr_set_sge(&wr, 4, 5, n);
	*errors += dvq_efa_sq_post(sq, &wr, 12) != 0;
	*errors += dvq_efa_sq_abort(sq) != 0;
	*errors += (int)dvq_efa_sq_room(sq) + (int)dvq_efa_sq_pending(sq);
}

ENTRY use_rq(struct dvq_efa_rq *rq, struct dvq_efa_id *ids, const struct dvq_efa_sge *sge,
	     uint32_t n, int *errors)
{
	*errors += dvq_efa_rq_set_pool(rq, ids) != 0;
	*errors += dvq_efa_rq_post(rq, sge, 1, 1) != 0;
	dvq_efa_rq_publish(rq);
	*errors += dvq_efa_rq_post(rq, sge, n, 2) != 0;
	dvq_efa_rq_abort(rq);
	*errors += (int)dvq_efa_rq_room(rq);
}

ENTRY use_cq(struct dvq_efa_cq *cq, struct dvq_efa_cq_qp *qps, struct dvq_efa_sq *sq,
	     struct dvq_efa_rq *rq, struct dvq_efa_wc *wc, uint32_t n, uint32_t *sum)
{
	*sum += (uint32_t)dvq_efa_cq_set_qps(cq, qps, 16);
	*sum += (uint32_t)dvq_efa_cq_attach(cq, sq, rq);
	n = dvq_efa_cq_poll(cq, wc, n);
	for (uint32_t i = 0; i < n; i++) {
		*sum += dvq_efa_wc_status(&wc[i]) + dvq_efa_wc_opcode(&wc[i], true);
		*sum += dvq_efa_wc_has_imm(&wc[i]) + dvq_efa_wc_unsolicited(&wc[i]);
	}
	*sum += (uint32_t)dvq_efa_cq_detach(cq, sq->qp_num);
	dvq_efa_cq_event(cq);
	*sum += (uint32_t)dvq_efa_cq_arm(cq);
}
