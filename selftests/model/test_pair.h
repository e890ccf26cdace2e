/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two adapters that talk to each other, for test programs about RDMA traffic. Like
 * tap.h, which they include before it, it defines what it declares.
 */
#ifndef MODEL_TEST_PAIR_H
#define MODEL_TEST_PAIR_H

#include <endian.h>

#include <hw/field.h>
#include "ionic_rdma.h"
#include "test_rnic.h"

#define BIG	(300 * 1000)	/* bytes of each memory region: many packets, no round number */

/* two adapters, each with a CQ, a region and a QP */
static struct rnic a, b;
static struct rcq acq, bcq;
static struct rmr amr, bmr;
static struct rqp aqp, bqp;

static inline uint8_t *mem_of(struct rnic *rnic, const struct rmr *mr)
{
	return rnic_mem(rnic, mr->addr, mr->len);
}

static inline void open_adapters(const char *options)
{
	rnic_open(&a, "a", options);
	rnic_open(&b, "b", options);
	rcq_open(&acq, &a, 0, 2, 8);
	rcq_open(&bcq, &b, 0, 3, 8);
	rmr_open(&amr, &a, 1, BIG, RNIC_ALL_ACCESS);
	rmr_open(&bmr, &b, 2, BIG, RNIC_ALL_ACCESS);
	for (size_t i = 0; i < BIG; i++) {
		mem_of(&a, &amr)[i] = i * 7 + (i >> 8);
		mem_of(&b, &bmr)[i] = 0xee;
	}
	rqp_init(&aqp, &a, 2, IONIC_QPT_RC, &acq);
	rqp_init(&bqp, &b, 3, IONIC_QPT_RC, &bcq);
}

static inline void open_both(const char *options)
{
	open_adapters(options);
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_connect(&aqp, &bqp);
	rqp_connect(&bqp, &aqp);
}

static inline void open_datagrams(const char *options)
{
	open_adapters(options);
	aqp.type = bqp.type = IONIC_QPT_UD;
	rqp_open(&aqp);
	rqp_open(&bqp);
	rqp_to_rts(&aqp);
	rqp_to_rts(&bqp);
	CHECK_EQ(rah_create(&a, 1, &b), 0);
}

static inline void close_both(void)
{
	CHECK_STR(nic_violation(&a.nic), "");
	CHECK_STR(nic_violation(&b.nic), "");
	rnic_close(&b);
	rnic_close(&a);
}

/* the sender's completion: the next message is finished */
static inline void check_sent(struct rqp *qp, unsigned int msn)
{
	const struct ionic_cqe *cqe = rcq_take(qp->cq);

	REQUIRE(cqe);
	CHECK_EQ(rcqe_type(cqe), IONIC_CQE_SEND_MSN);
	CHECK_EQ(rcqe_qid(cqe), qp->id);
	CHECK(!rcqe_is_error(cqe));
	CHECK_EQ(be32toh(cqe->u.send.msn), msn);
	rcq_told(qp->cq);
}

static inline const struct ionic_cqe *check_received(struct rqp *qp, unsigned int op,
						      uint32_t length)
{
	const struct ionic_cqe *cqe = rcq_take(qp->cq);

	if (!cqe) {
		tap_fail(__FILE__, __LINE__, "nothing was received");
		longjmp(tap.out, 1);
	}
	CHECK_EQ(rcqe_type(cqe), IONIC_CQE_RECV);
	CHECK_EQ(rcqe_qid(cqe), qp->id);
	CHECK(!rcqe_is_error(cqe));
	CHECK_EQ(rcqe_value(cqe), length);
	CHECK_EQ(HW_GET(IONIC_CQE_RECV_OP, be32toh(cqe->u.recv.src_qpn_op)), op);
	rcq_told(qp->cq);
	return cqe;
}

/* a number of the control verb "stats" */
static inline uint64_t tally(struct rnic *rnic, const char *key)
{
	CHECK_EQ(test_control(rnic->nic.dev, "stats"), 0);
	return test_answer_number(key);
}

/* the next completion is an error of that kind; it is taken */
static inline void check_failed(struct rqp *qp, enum ionic_cqe_type type,
				enum ionic_io_status status)
{
	const struct ionic_cqe *cqe = rcq_take(qp->cq);

	REQUIRE(cqe);
	CHECK_EQ(rcqe_qid(cqe), qp->id);
	CHECK_EQ(rcqe_type(cqe), type);
	CHECK(rcqe_is_error(cqe));
	CHECK_EQ(rcqe_value(cqe), status);
	rcq_told(qp->cq);
}

/* a QP in the error state: both its queues were told to flush */
static inline void check_flushed(struct rqp *qp)
{
	check_failed(qp, IONIC_CQE_SEND_NPG, IONIC_IO_FLUSHED);
	check_failed(qp, IONIC_CQE_RECV, IONIC_IO_FLUSHED);
	CHECK_EQ(rqp_state(qp), IONIC_QPS_ERR);
}

#endif /* MODEL_TEST_PAIR_H */
