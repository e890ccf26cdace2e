// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions per request and per completion of ionic; cost.h counts them. The limits are what
 * it cost when it was written, and five for what compilers differ by.
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
	bool poll;
	unsigned int limit;
};

static struct ionic_rings *open_row(const struct row *row)
{
	struct ionic_rings *r = ionic_rings_new();

	r->ud = row->post == send_datagram;
	r->sq_info.entries = r->rq_info.entries = 256;
	r->cq_info[0].entries = 512;
	r->cq_info[1].entries = 0;
	ionic_rings_place(&r->sq_info, row->place);
	ionic_rings_open(r);
	return r;
}

/* one entry for each request */
static void complete(struct ionic_rings *r, const struct row *row, uint32_t count)
{
	if (row->post == receive_one)
		ionic_recv(r, count % 256, 64, 0);
	else if (r->ud)
		ionic_npg(r, count % 256, 0);
	else
		ionic_msn(r, (count + 1) % 256, 0);
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
	struct ionic_rings *r = open_row(row);

	cost_watch_me();
	for (uint32_t i = 0; i < COST_WARM_UP + COST_MEASURE; i++) {
		run(row->post, r, &b, i >= COST_WARM_UP && !row->poll);
		for (uint32_t j = 0; j < COST_BURST; j++)
			complete(r, row, i * COST_BURST + j);
		run(poll_burst, r, &b, i >= COST_WARM_UP && row->poll);
	}
	_exit(0);
}

/* ---- the tests --------------------------------------------------------------------- */

#define ROW(test, ...)							\
	TEST(test)							\
	{								\
		static const struct row row = { #test, __VA_ARGS__ };	\
									\
		cost_check(row.name, row.limit, child, &row);		\
	}

ROW(send_of_one_buffer, send_one, .limit = 82)
ROW(send_of_two_buffers, send_two, .limit = 97)
ROW(send_of_24_bytes_inline, send_inline, .limit = 79)
ROW(datagram_of_one_buffer, send_datagram, .limit = 82)
ROW(write_of_one_buffer, write_one, .limit = 82)
ROW(send_in_controller_memory, send_one, CMB, .limit = 117)
ROW(send_inline_with_express_doorbell, send_inline, EXPRESS, .limit = 121)
ROW(receive, receive_one, .limit = 68)
ROW(completion_of_a_message, send_one, .poll = true, .limit = 166)
ROW(completion_of_a_datagram, send_datagram, .poll = true, .limit = 158)
ROW(completion_of_a_receive, receive_one, .poll = true, .limit = 175)

TAP_MAIN
