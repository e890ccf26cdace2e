// SPDX-License-Identifier: GPL-2.0
/*
 * A use of every call of dvq/ionic.h, for compilers (see headers): C11 without a libc,
 * C++17, and in CUDA and HIP a kernel.
 */
#include <dvq/ionic.h>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define ENTRY extern "C" __global__ void
#elif defined(__cplusplus)
#define ENTRY extern "C" void
#else
#define ENTRY void
#endif

ENTRY use_sq(struct dvq_ionic_sq *sq, struct dvq_ionic_req *slots, const char *data, uint32_t n,
	     int *errors);
ENTRY use_operations(struct dvq_ionic_sq *sq, const struct dvq_ionic_bind *bind, uint32_t n,
		     int *errors);
ENTRY use_rq(struct dvq_ionic_rq *rq, struct dvq_ionic_req *slots, const struct dvq_ionic_sge *sge,
	     uint32_t n, int *errors);
ENTRY use_cq(struct dvq_ionic_cq *cq, struct dvq_ionic_cq_qp *qps, struct dvq_ionic_sq *sq,
	     struct dvq_ionic_rq *rq, struct dvq_ionic_wc *wc, uint32_t n, uint32_t *sum);

ENTRY use_sq(struct dvq_ionic_sq *sq, struct dvq_ionic_req *slots, const char *data, uint32_t n,
	     int *errors)
{
	struct dvq_ionic_wr wr;

	*errors += dvq_ionic_sq_set_slots(sq, slots) != 0;
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	dvq_ionic_wr_set_sge(&wr, 4, 5, n);
	dvq_ionic_wr_set_sge(&wr, 4, 5, n);
	*errors += dvq_ionic_sq_post(sq, &wr, 6) != 0;
	dvq_ionic_wr_send_imm(&wr, n);
	dvq_ionic_wr_set_inline(&wr, data, n);
	dvq_ionic_wr_set_inline(&wr, data, 3);
	dvq_ionic_wr_set_flags(&wr, DVQ_IONIC_SOLICITED);
	*errors += dvq_ionic_sq_post(sq, &wr, 7) != 0;
	dvq_ionic_sq_publish(sq);
	dvq_ionic_wr_send_inv(&wr, n);
	*errors += dvq_ionic_sq_post(sq, &wr, 8) != 0;
	dvq_ionic_sq_abort(sq);
	*errors += (int)dvq_ionic_sq_room(sq) + (int)dvq_ionic_reqs_pending(&sq->wq.reqs);
}

ENTRY use_operations(struct dvq_ionic_sq *sq, const struct dvq_ionic_bind *bind, uint32_t n,
		     int *errors)
{
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_read(&wr, n, 8);
	dvq_ionic_wr_set_sge(&wr, 4, 5, n);
	*errors += dvq_ionic_sq_post(sq, &wr, 1) != 0;
	dvq_ionic_wr_rdma_write(&wr, n, 8);
	*errors += dvq_ionic_sq_post(sq, &wr, 2) != 0;
	dvq_ionic_wr_rdma_write_imm(&wr, n, 8, 11);
	*errors += dvq_ionic_sq_post(sq, &wr, 3) != 0;
	dvq_ionic_wr_cmp_swap(&wr, n, 8, 1, 2);
	dvq_ionic_wr_set_sge(&wr, 4, 5, 8);
	*errors += dvq_ionic_sq_post(sq, &wr, 4) != 0;
	dvq_ionic_wr_fetch_add(&wr, n, 8, 1);
	*errors += dvq_ionic_sq_post(sq, &wr, 5) != 0;
	dvq_ionic_wr_local_inv(&wr, n);
	*errors += dvq_ionic_sq_post(sq, &wr, 6) != 0;
	dvq_ionic_wr_bind_mw(&wr, bind);
	*errors += dvq_ionic_sq_post(sq, &wr, 7) != 0;
}

ENTRY use_rq(struct dvq_ionic_rq *rq, struct dvq_ionic_req *slots, const struct dvq_ionic_sge *sge,
	     uint32_t n, int *errors)
{
	*errors += dvq_ionic_rq_set_slots(rq, slots) != 0;
	*errors += dvq_ionic_rq_post(rq, sge, n, 1) != 0;
	dvq_ionic_rq_publish(rq);
	*errors += dvq_ionic_rq_post(rq, sge, 1, 2) != 0;
	dvq_ionic_rq_abort(rq);
	*errors += (int)dvq_ionic_rq_room(rq);
}

ENTRY use_cq(struct dvq_ionic_cq *cq, struct dvq_ionic_cq_qp *qps, struct dvq_ionic_sq *sq,
	     struct dvq_ionic_rq *rq, struct dvq_ionic_wc *wc, uint32_t n, uint32_t *sum)
{
	*sum += (uint32_t)dvq_ionic_cq_set_qps(cq, qps, 16);
	*sum += (uint32_t)dvq_ionic_cq_attach(cq, sq, rq);
	n = dvq_ionic_cq_poll(cq, wc, n);
	for (uint32_t i = 0; i < n; i++)
		*sum += dvq_ionic_wc_status(&wc[i]) + wc[i].opcode;
	dvq_ionic_cq_arm(cq, true);
	*sum += (uint32_t)dvq_ionic_cq_flush_qp(cq, sq->wq.reqs.qp_num);
	*sum += (uint32_t)dvq_ionic_cq_detach(cq, sq->wq.reqs.qp_num);
}
