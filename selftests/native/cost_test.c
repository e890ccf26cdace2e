// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions per request and per completion of EFA; cost.h counts them. What is counted includes
 * the burst's own, its loop and the loading of what it is given (about five, in the row of the
 * list thirteen).
 *
 * The goals of the project are 50 for a send, 60 with two buffers or 32 bytes inline, 55 for a
 * write, 70 in wide entries, 30 for a receive and 50 for a completion. A limit is its goal, or what
 * it cost when it was written and three for what compilers differ by.
 */
#include "cost.h"
#include "rings.h"

struct request {
	struct dvq_efa_dest dest;
	uint64_t address, wr_id;
	uint32_t lkey, length, hints;
};

/* values that the compiler does not know */
struct burst {
	uint16_t ah, qp_num;
	uint32_t qkey, lkey, rkey, length, hints;
	uint64_t address;
	const char *data;
	const struct request *list;
};

/* ---- bursts ------------------------------------------------------------------------ */

/* to one peer out of one buffer: the request's values are in registers */
#define ONE_PEER(name, ...)								\
	__attribute__((noinline)) static int name(struct rings *r, const struct burst *from)	\
	{										\
		const struct burst values = *from, *const b = &values;			\
											\
		for (uint64_t i = 0; i < COST_BURST; i++) {					\
			struct dvq_efa_wr wr;						\
			int ret;							\
											\
			__VA_ARGS__							\
			dvq_efa_wr_set_dest(&wr, b->ah, b->qp_num, b->qkey);		\
			dvq_efa_wr_set_hints(&wr, b->hints);				\
			ret = dvq_efa_sq_post(&r->sq, &wr, i);				\
			if (ret)							\
				return ret;						\
		}									\
		dvq_efa_sq_publish(&r->sq);						\
		return 0;								\
	}

ONE_PEER(send_one,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

ONE_PEER(send_two,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64 + 32, b->length);)

ONE_PEER(send_inline,
	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_inline(&wr, b->data + i * 32, 32);)

ONE_PEER(read_one,
	dvq_efa_wr_rdma_read(&wr, b->rkey, b->address + i * 64);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

ONE_PEER(write_one,
	dvq_efa_wr_rdma_write(&wr, b->rkey, b->address + i * 64);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

/* every value of every request comes from memory, the destination ready as an entry has it */
__attribute__((noinline)) static int send_list(struct rings *r, const struct burst *b)
{
	const struct request *request = b->list;

	for (uint64_t i = 0; i < COST_BURST; i++, request++) {
		struct dvq_efa_wr wr;
		int ret;

		dvq_efa_wr_send(&wr);
		dvq_efa_wr_set_peer(&wr, &request->dest);
		dvq_efa_wr_set_sge(&wr, request->lkey, request->address, request->length);
		dvq_efa_wr_set_hints(&wr, request->hints);
		ret = dvq_efa_sq_post(&r->sq, &wr, request->wr_id);
		if (ret)
			return ret;
	}
	dvq_efa_sq_publish(&r->sq);
	return 0;
}

__attribute__((noinline)) static int receive_one(struct rings *r, const struct burst *from)
{
	const struct burst values = *from, *const b = &values;

	for (uint64_t i = 0; i < COST_BURST; i++) {
		struct dvq_efa_sge sge = { .addr = b->address + i * 64, .length = b->length,
					   .lkey = b->lkey };
		int ret = dvq_efa_rq_post(&r->rq, &sge, 1, i);

		if (ret)
			return ret;
	}
	dvq_efa_rq_publish(&r->rq);
	return 0;
}

__attribute__((noinline)) static int poll_burst(struct rings *r, const struct burst *b)
{
	static struct dvq_efa_wc wc[COST_BURST];

	(void)b;
	return dvq_efa_cq_poll(&r->cq, wc, COST_BURST) != COST_BURST;
}

/* ---- the child --------------------------------------------------------------------- */

struct row {
	const char *name;
	int (*post)(struct rings *r, const struct burst *b);
	uint32_t entry_size;
	bool staged, poll, wide_ids;
	unsigned int limit;
	uint32_t entries;	/* of the ring; 0: 256 */
	uint32_t qps;		/* 0: 1 */
};

static uint32_t entries_of(const struct row *row)
{
	return row->entries ? row->entries : 256;
}

static struct rings *open_row(const struct row *row, uint32_t qp_num)
{
	struct rings *r = rings_new();

	r->qp.qp_num = qp_num;
	r->sq_info.entry_size = row->entry_size;
	r->sq_info.entries = r->sq_info.max_wr = entries_of(row);
	r->rq_info.entries = r->rq_info.max_wr = entries_of(row);
	r->sq_info.max_batch = 64;
	if (row->wide_ids)
		r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
	r->cq_info.entries = 2 * entries_of(row);
	rings_open(r);
	if (row->staged)
		dvq_efa_sq_set_stage(&r->sq, r->stage);
	return r;
}

/* into the CQ of @to */
static void complete(struct rings *r, struct rings *to, const struct row *row)
{
	const uint32_t entries = entries_of(row);

	for (uint32_t i = 0; i < COST_BURST; i++) {
		if (row->post == receive_one)
			rings_recv_done(to, 0, r->qp.qp_num,
					rings_desc(r, (r->rq.descs - COST_BURST + i) % entries).req_id, 64);
		else
			rings_send_done(to, 0, r->qp.qp_num,
					rings_wqe_id(r, (r->sq.rung - COST_BURST + i) % entries), 0);
	}
}

/* runs @what, under the parent's eyes if @measured */
static void run(int (*what)(struct rings *r, const struct burst *b), struct rings *r,
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
	struct burst b = { .ah = 3, .qp_num = 4, .qkey = 5, .lkey = 6, .rkey = 7, .length = 64,
			   .hints = 1, .address = 0x10000, .data = calloc(COST_BURST, 32),
			   .list = calloc(COST_BURST, sizeof(*b.list)) };
	static struct dvq_efa_cq_qp qps[COST_MOST_QPS];
	struct rings *r[COST_MOST_QPS];
	const uint32_t n = row->qps ? row->qps : 1;

	for (uint32_t i = 0; i < n; i++) {
		r[i] = open_row(row, RINGS_QP_NUM + i);
		if (!i)
			CHECK_EQ(dvq_efa_cq_set_qps(&r[0]->cq, qps, COST_MOST_QPS), 0);
		CHECK_EQ(dvq_efa_cq_attach(&r[0]->cq, &r[i]->sq, &r[i]->rq), 0);
	}
	cost_watch_me();
	for (int i = 0; i < COST_WARM_UP + COST_MEASURE; i++) {
		struct rings *turn = r[i * 13 % n];

		run(row->post, turn, &b, i >= COST_WARM_UP && !row->poll);
		complete(turn, r[0], row);
		run(poll_burst, r[0], &b, i >= COST_WARM_UP && row->poll);
	}
	_exit(tap.failures != 0);
}

/* ---- the tests ------------------------------------------------------------------------ */

#define ROW(test, ...)							\
	TEST(test)							\
	{								\
		static const struct row row = { #test, __VA_ARGS__ };	\
									\
		cost_check(row.name, row.limit, child, &row);		\
	}

ROW(send_of_one_buffer, send_one, 64, .limit = 50)
ROW(send_of_one_buffer_in_wide_entries, send_one, 128, .limit = 61)
ROW(send_of_two_buffers, send_two, 64, .limit = 54)
ROW(send_of_32_bytes_inline, send_inline, 64, .limit = 59)
ROW(write_of_one_buffer, write_one, 64, .limit = 53)
ROW(read_of_one_buffer, read_one, 64, .limit = 53)
ROW(send_of_a_list, send_list, 64, .limit = 66)
ROW(staged_send_of_one_buffer, send_one, 64, .staged = true, .limit = 78)
ROW(receive, receive_one, 64, .limit = 30)
ROW(completion_of_a_send, send_one, 64, .poll = true, .limit = 50)
ROW(completion_of_a_send_with_a_64_bit_id, send_one, 64, .poll = true, .wide_ids = true, .limit = 69)
ROW(completion_of_a_receive, receive_one, 64, .poll = true, .limit = 50)

/* ---- it costs the same however large the ring and however many the queues ------------- */

static void check_flat(struct row row)
{
	cost_check_flat(row.name, child, &row, &row.entries, &row.qps);
}

TEST(flat)
{
	check_flat((struct row){ .name = "send", .post = send_one, .entry_size = 64 });
	check_flat((struct row){ .name = "receive", .post = receive_one, .entry_size = 64 });
	check_flat((struct row){ .name = "completion of a send", .post = send_one, .entry_size = 64, .poll = true });
	check_flat((struct row){ .name = "completion of a receive", .post = receive_one, .entry_size = 64, .poll = true });
}

TAP_MAIN
