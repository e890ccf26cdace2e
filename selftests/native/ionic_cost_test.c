// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions per request and per completion of ionic; cost.h counts them. The goals of the
 * project are 120 for a request in host memory and 100 for a completion. The limits are what it
 * cost when it was written, and three for what compilers differ by.
 */
#include "cost.h"
#include "ionic_rings.h"

/* values that the compiler does not know */
struct burst {
	uint32_t lkey, rkey, length, ah, qp_num, qkey;
	uint64_t address;
	const char *data;
};

/* ---- bursts ------------------------------------------------------------------------ */

#define REQUESTS(name, ...)								\
	__attribute__((noinline)) static int name(struct ionic_rings *r, const struct burst *from)	\
	{										\
		const struct burst values = *from, *const b = &values;			\
											\
		for (uint64_t i = 0; i < COST_BURST; i++) {				\
			struct dvq_ionic_wr wr;						\
			int ret;							\
											\
			__VA_ARGS__							\
			ret = dvq_ionic_sq_post(&r->sq, &wr, i);			\
			if (ret)							\
				return ret;						\
		}									\
		dvq_ionic_sq_publish(&r->sq);						\
		return 0;								\
	}

REQUESTS(send_one,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

REQUESTS(send_two,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);
	dvq_ionic_wr_set_sge(&wr, b->lkey, b->address + i * 64 + 32, b->length);)

REQUESTS(send_inline,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, b->data + i * 24, 24);)

REQUESTS(send_datagram,
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_dest(&wr, b->ah, b->qp_num, b->qkey);
	dvq_ionic_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

REQUESTS(write_one,
	dvq_ionic_wr_rdma_write(&wr, b->rkey, b->address + i * 64);
	dvq_ionic_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

__attribute__((noinline)) static int receive_one(struct ionic_rings *r, const struct burst *from)
{
	const struct burst values = *from, *const b = &values;

	for (uint64_t i = 0; i < COST_BURST; i++) {
		struct dvq_ionic_sge sge = { .addr = b->address + i * 64, .length = b->length,
					     .lkey = b->lkey };
		int ret = dvq_ionic_rq_post(&r->rq, &sge, 1, i);

		if (ret)
			return ret;
	}
	dvq_ionic_rq_publish(&r->rq);
	return 0;
}

__attribute__((noinline)) static int poll_burst(struct ionic_rings *r, const struct burst *b)
{
	static struct dvq_ionic_wc wc[COST_BURST];

	(void)b;
	return dvq_ionic_cq_poll(&r->cq, wc, COST_BURST) != COST_BURST;
}

/* ---- the child --------------------------------------------------------------------- */

struct row {
	const char *name;
	int (*post)(struct ionic_rings *r, const struct burst *b);
	enum place place;
	bool poll, imm;
	unsigned int limit;
	uint32_t entries;	/* of the ring; 0: 256 */
	uint32_t qps;		/* 0: 1 */
};

static uint32_t entries_of(const struct row *row)
{
	return row->entries ? row->entries : 256;
}

static struct ionic_rings *open_row(const struct row *row, uint32_t qp_num)
{
	struct ionic_rings *r = ionic_rings_new();

	r->qp.qp_num = qp_num;
	r->ud = row->post == send_datagram;
	r->sq_info.entries = r->rq_info.entries = entries_of(row);
	r->cq_info[0].entries = 2 * entries_of(row);
	r->cq_info[1].entries = 0;
	ionic_rings_place(&r->sq_info, row->place);
	ionic_rings_open(r);
	return r;
}

/* one entry for each request, into the CQ of @to */
static void complete(struct ionic_rings *r, struct ionic_rings *to, const struct row *row)
{
	const struct dvq_ionic_reqs *sq = &r->sq.wq.reqs, *rq = &r->rq.wq.reqs;

	for (uint32_t i = 0; i < COST_BURST; i++) {
		struct ionic_cqe cqe = { .status_length = htobe32(row->post == receive_one ? 64 : 0) };
		uint32_t type = r->ud ? IONIC_CQE_SEND_NPG : IONIC_CQE_SEND_MSN;

		if (row->post == receive_one) {
			type = IONIC_CQE_RECV;
			cqe.u.recv.id = htole64((rq->retired + i) & rq->mask);
			cqe.u.recv.src_qpn_op = htobe32(0x77 | row->imm * IONIC_RECV_WRITE_IMM << 24);
		} else if (r->ud) {
			cqe.u.send.id = htole64((sq->retired + i) & sq->mask);
		} else {
			cqe.u.send.msn = htobe32((sq->done + 1 + i) & sq->mask);
		}
		ionic_cqe(to, 0, cqe, r->qp.qp_num, type, false);
	}
}

static void run(int (*what)(struct ionic_rings *r, const struct burst *b), struct ionic_rings *r,
		const struct burst *b, bool measured)
{
	int ret;

	if (measured)
		COST_BREAKPOINT();
	ret = what(r, b);
	if (measured)
		COST_BREAKPOINT();
	if (ret)
		_exit(1);
}

static void child(const void *arg)
{
	const struct row *row = arg;
	struct burst b = { .lkey = 6, .rkey = 7, .length = 64, .ah = 3, .qp_num = 4, .qkey = 5,
			   .address = 0x10000, .data = calloc(COST_BURST, 32) };
	static struct dvq_ionic_cq_qp qps[COST_MOST_QPS];
	struct ionic_rings *r[COST_MOST_QPS];
	const uint32_t n = row->qps ? row->qps : 1;

	for (uint32_t i = 0; i < n; i++) {
		r[i] = open_row(row, RINGS_QP_NUM + i);
		if (!i)
			CHECK_EQ(dvq_ionic_cq_set_qps(&r[0]->cq, qps, COST_MOST_QPS), 0);
		CHECK_EQ(dvq_ionic_cq_attach(&r[0]->cq, &r[i]->sq, &r[i]->rq), 0);
	}
	cost_watch_me();
	for (uint32_t i = 0; i < COST_WARM_UP + COST_MEASURE; i++) {
		struct ionic_rings *turn = r[i * 13 % n];

		run(row->post, turn, &b, i >= COST_WARM_UP && !row->poll);
		complete(turn, r[0], row);
		run(poll_burst, r[0], &b, i >= COST_WARM_UP && row->poll);
	}
	_exit(tap.failures != 0);
}

/* ---- the tests --------------------------------------------------------------------- */

#define ROW(test, ...)							\
	TEST(test)							\
	{								\
		static const struct row row = { #test, __VA_ARGS__ };	\
									\
		cost_check(row.name, row.limit, child, &row);		\
	}

ROW(send_of_one_buffer, send_one, .limit = 80)
ROW(send_of_two_buffers, send_two, .limit = 94)
ROW(send_of_24_bytes_inline, send_inline, .limit = 78)
ROW(datagram_of_one_buffer, send_datagram, .limit = 80)
ROW(write_of_one_buffer, write_one, .limit = 81)
ROW(send_in_controller_memory, send_one, CMB, .limit = 104)
ROW(send_inline_with_express_doorbell, send_inline, EXPRESS, .limit = 116)
ROW(receive, receive_one, .limit = 67)
ROW(completion_of_a_message, send_one, .poll = true, .limit = 94)
ROW(completion_of_a_datagram, send_datagram, .poll = true, .limit = 84)
ROW(completion_of_a_receive, receive_one, .poll = true, .limit = 94)
ROW(completion_of_a_receive_with_immediate, receive_one, .poll = true, .imm = true, .limit = 100)

/* ---- it costs the same however large the ring and however many the queues ------------- */

static void check_flat(struct row row)
{
	cost_check_flat(row.name, child, &row, &row.entries, &row.qps);
}

TEST(flat)
{
	check_flat((struct row){ .name = "send", .post = send_one });
	check_flat((struct row){ .name = "receive", .post = receive_one });
	check_flat((struct row){ .name = "completion of a message", .post = send_one, .poll = true });
	check_flat((struct row){ .name = "completion of a datagram", .post = send_datagram, .poll = true });
	check_flat((struct row){ .name = "completion of a receive", .post = receive_one, .poll = true });
}

TAP_MAIN
