// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions per request and per completion, counted one by one on the real processor:
 * a child runs a burst of 16 between two breakpoints, the parent steps it through. The
 * numbers repeat exactly, so a change that makes the data path longer fails here.
 *
 * The limits are the goals of the project plus what is the burst's own: its loop and the
 * loading of what it is given, and what compilers differ by (CALLER).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rings.h"

#define BURST	16
#define WARM_UP	3
#define MEASURE	4
#define CALLER	8	/* index, address, compare, jump, a share of calling; two of slack */
#define FROM_MEMORY 8	/* loads of the request's eight values, where they are not at hand */

/* the parent sees it as a stop that is no single step */
#ifdef __x86_64__
#define BREAKPOINT()	__asm__ volatile("int3" ::: "memory")
#else
#define BREAKPOINT()	abort()
#endif

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
		for (uint64_t i = 0; i < BURST; i++) {					\
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

ONE_PEER(write_one,
	dvq_efa_wr_rdma_write(&wr, b->rkey, b->address + i * 64);
	dvq_efa_wr_set_sge(&wr, b->lkey, b->address + i * 64, b->length);)

/* every value of every request comes from memory, the destination ready as an entry has it */
__attribute__((noinline)) static int send_list(struct rings *r, const struct burst *b)
{
	const struct request *request = b->list;

	for (uint64_t i = 0; i < BURST; i++, request++) {
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

	for (uint64_t i = 0; i < BURST; i++) {
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
	static struct dvq_efa_wc wc[BURST];

	(void)b;
	return dvq_efa_cq_poll(&r->cq, wc, BURST) != BURST;
}

/* ---- the child --------------------------------------------------------------------- */

struct row {
	const char *name;
	int (*post)(struct rings *r, const struct burst *b);
	uint32_t entry_size;
	bool staged, poll;
	unsigned int limit;
};

static struct rings *open_row(const struct row *row)
{
	struct rings *r = rings_new();

	r->sq_info.entry_size = row->entry_size;
	r->sq_info.entries = r->sq_info.max_wr = r->rq_info.entries = r->rq_info.max_wr = 256;
	r->sq_info.max_batch = 64;
	r->cq_info.entries = 512;
	rings_open(r);
	if (row->staged)
		dvq_efa_sq_set_stage(&r->sq, r->stage);
	return r;
}

static void complete(struct rings *r, const struct row *row)
{
	for (uint32_t i = 0; i < BURST; i++) {
		if (row->post == receive_one)
			rings_recv_done(r, 0, r->qp.qp_num,
					rings_desc(r, (r->rq.descs - BURST + i) % 256).req_id, 64);
		else
			rings_send_done(r, 0, r->qp.qp_num,
					rings_wqe_id(r, (r->sq.rung - BURST + i) % 256), 0);
	}
}

/* runs @what, under the parent's eyes if @measured */
static void run(int (*what)(struct rings *r, const struct burst *b), struct rings *r,
		const struct burst *b, bool measured)
{
	int ret;

	if (measured)
		BREAKPOINT();
	ret = what(r, b);
	if (measured)
		BREAKPOINT();
	if (ret)
		_exit(1);
}

static void child(const struct row *row)
{
	struct burst b = { .ah = 3, .qp_num = 4, .qkey = 5, .lkey = 6, .rkey = 7, .length = 64,
			   .hints = 1, .address = 0x10000, .data = calloc(BURST, 32),
			   .list = calloc(BURST, sizeof(*b.list)) };
	struct rings *r = open_row(row);

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(2);
	for (int i = 0; i < WARM_UP + MEASURE; i++) {
		run(row->post, r, &b, i >= WARM_UP && !row->poll);
		complete(r, row);
		run(poll_burst, r, &b, i >= WARM_UP && row->poll);
	}
	_exit(0);
}

/* ---- the parent -------------------------------------------------------------------- */

static bool is_step(pid_t pid)
{
	siginfo_t info;

	return !ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && info.si_code == TRAP_TRACE;
}

/* instructions between the breakpoints, per request; negative: it did not work */
static double count(const struct row *row)
{
	unsigned long steps = 0, bursts = 0;
	bool inside = false;
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		child(row);
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) != SIGTRAP) {
			kill(pid, SIGKILL);
			continue;
		}
		if (is_step(pid)) {
			steps++;
		} else {
			bursts += inside;
			inside = !inside;
		}
		ptrace(inside ? PTRACE_SINGLESTEP : PTRACE_CONT, pid, NULL, NULL);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) || bursts != MEASURE)
		return -1;
	return (double)steps / MEASURE / BURST;
}

static void check(const struct row *row)
{
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
	(void)count;
	(void)row;
	SKIP("counts optimised code without sanitizers on x86-64 only");
#else
	double n = count(row);

	REQUIRE(n > 0);
	printf("# %s: %.1f instructions\n", row->name, n);
	CHECK(n <= row->limit);
#endif
}

#define ROW(test, ...)							\
	TEST(test)							\
	{								\
		static const struct row row = { #test, __VA_ARGS__ };	\
									\
		check(&row);						\
	}

ROW(send_of_one_buffer, send_one, 64, .limit = 50 + CALLER)
ROW(send_of_one_buffer_in_wide_entries, send_one, 128, .limit = 70 + CALLER)
ROW(send_of_two_buffers, send_two, 64, .limit = 60 + CALLER)
ROW(send_of_32_bytes_inline, send_inline, 64, .limit = 60 + CALLER)
ROW(write_of_one_buffer, write_one, 64, .limit = 60 + CALLER)
ROW(send_of_a_list, send_list, 64, .limit = 50 + CALLER + FROM_MEMORY)
ROW(staged_send_of_one_buffer, send_one, 64, .staged = true, .limit = 85 + CALLER)
ROW(receive, receive_one, 64, .limit = 30 + CALLER)
ROW(completion_of_a_send, send_one, 64, .poll = true, .limit = 50 + 3)
ROW(completion_of_a_receive, receive_one, 64, .poll = true, .limit = 56 + 3)

TAP_MAIN
