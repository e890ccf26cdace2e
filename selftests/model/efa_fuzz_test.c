// SPDX-License-Identifier: GPL-2.0
/*
 * A guest that does not know what it is doing: random stores, commands, rings.
 * The model may object to all of it, but must stay alive, stay inside its memory
 * and be usable after a reset. A seed other than the built-in ones is given by
 * the environment variable EFA_FUZZ_SEED.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "efa.h"
#include "tap.h"
#include "test_efa.h"

#define ROUNDS	4000

static uint64_t state;

static uint64_t any(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t n)
{
	return any() % n;
}

/* numbers near those that mean something, and a few that mean nothing */
static uint64_t number(void)
{
	switch (below(8)) {
	case 0:
		return any();
	case 1:
		return any() & 0xffffffff;
	case 2:
		return 0;
	case 3:
		return 1ull << below(64);
	case 4:
		return 0x10000000 + below(TEST_RANGE_SIZE);
	case 5:
		return 0x10000000 + below(TEST_RANGE_SIZE / TEST_PAGE) * TEST_PAGE;
	default:
		return below(300);
	}
}

static void scribble(void *to, size_t len)
{
	uint8_t *byte = to;

	while (len--)
		*byte++ = any();
}

/* random, but with the numbers of objects often right */
static void random_command(struct drv_end *at)
{
	uint8_t cmd[64] = { 0 };
	uint8_t opcode = below(32), flags = below(4) ? 0 : any();
	unsigned int fields = below(16);

	for (unsigned int i = 0; i < fields; i++) {
		unsigned int size = 1u << below(4);
		unsigned int off = 4 + below((60 - size) / size + 1) * size;
		uint64_t value = number();

		memcpy(cmd + off, &value, size);
	}
	if (opcode == EFA_ADMIN_CREATE_QP && below(2)) {
		struct efa_create_qp_cmd *create = (void *)cmd;

		create->qp_type = 1 + below(2);
		create->sq_depth = htole32(64);
		create->sq_ring_size = htole32(64 * (64 << below(2)));
		create->pd = htole16(at->drv.pd);
		create->uar = htole16(at->drv.uar);
	}
	if ((opcode == EFA_ADMIN_MODIFY_QP || opcode == EFA_ADMIN_DESTROY_QP) && below(2)) {
		uint32_t handle = htole32(at->qp.handle);

		memcpy(cmd + (opcode == EFA_ADMIN_MODIFY_QP ? 8 : 4), &handle, 4);
	}
	drv_submit(&at->drv, cmd, sizeof(cmd), opcode, flags & ~EFA_AQ_PHASE);
}

static void random_wqe(struct drv_end *at, struct drv_end *to)
{
	struct efa_wqe_wide wqe;
	unsigned int hits = below(6);

	drv_wqe(&at->qp, &wqe, below(5), any() & 0xffff, below(4) ? to->qp.num : number(),
		below(4) ? at->ah : number());
	wqe.meta.length = htole16(below(4));
	drv_remote(&wqe, to->mr.addr + number(), below(2) ? 100 : number(), to->mr.rkey);
	if (!(wqe.meta.ctrl1 & EFA_WQE_OP))
		drv_tx_buf(&wqe.u.sgl[0], at->mr.addr, below(9000), at->mr.lkey);
	drv_tx_buf(&wqe.u.rdma.u.local, at->mr.addr + below(1000), below(2) ? 100 : number(),
		   at->mr.lkey);
	while (hits--)
		((uint8_t *)&wqe)[below(at->qp.wqe_size)] = any();
	drv_store_wqe(&at->qp, &wqe);
}

static void random_store(struct drv_end *at)
{
	static const unsigned int sizes[] = { 1, 2, 4, 4, 4, 4, 8 };
	struct model_device *dev = at->drv.dev;
	unsigned int bar = 2 * below(3), size = sizes[below(7)];
	uint64_t off = below(4) ? below(0x100) : below(dev->bar[bar].size);

	if (bar == EFA_BAR_LLQ && dev->bar[EFA_BAR_LLQ].nareas)
		return;		/* mapped: no store of the guest is trapped there */
	if (bar == 4 && efa_of(dev)->config.polled && off < efa_of(dev)->db_half)
		return;
	/* a reset is the end of the game, and has its own place below */
	if (bar == EFA_BAR_REGS && (off & ~7) == (EFA_REG_DEV_CTL & ~7))
		return;
	off &= ~(uint64_t)(size - 1);
	dev->ops->bar_write(dev, bar, off, size, size < 8 ? number() & ((1ull << 8 * size) - 1) :
							    number());
}

static void act(struct drv_end *at, struct drv_end *to)
{
	switch (below(12)) {
	case 0:
	case 1:
		random_store(at);
		break;
	case 2:
	case 3:
		random_command(at);
		break;
	case 4:
	case 5:
		random_wqe(at, to);
		drv_ring_sq(&at->qp);
		break;
	case 6:
		drv_store_rx(&at->qp, any(), at->mr.addr + below(1000), below(2000), at->mr.lkey,
			     below(4) ? EFA_RX_FIRST | EFA_RX_LAST : any());
		drv_ring_rq(&at->qp);
		break;
	case 7:
		drv_doorbell(&at->drv, below(2) ? at->qp.sq_db : at->qp.rq_db, number());
		break;
	case 8:
		drv_doorbell(&at->drv, at->cq.db, number());
		break;
	case 9:
		/* over rings and page lists alike */
		scribble(test_mem(&at->drv.host, 0x10000000 + below(1 << 20), 64), below(64));
		break;
	case 10:
		test_run();
		break;
	default:
		if (!below(20))
			test_run_ms(below(200));
	}
}

/* from where ever it is to a working adapter */
static void check_recovers(struct drv_end *at)
{
	drv_set_resp(&at->drv);
	CHECK(drv_reset(&at->drv, EFA_RESET_GENERIC));
	CHECK_EQ(test_control(at->drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("qp"), 0);
	CHECK_EQ(test_answer_number("cq"), 0);
	CHECK_EQ(test_answer_number("mr"), 0);
	CHECK_EQ(test_answer_number("mr_pages"), 0);
	CHECK_EQ(test_answer_number("ah"), 0);
	CHECK_EQ(test_answer_number("pd"), 0);
	drv_start_queues(&at->drv);
	CHECK_EQ(drv_alloc_pd(&at->drv, &at->drv.pd), 0);
	model_violations_clear(at->drv.dev);
	at->drv.bad_checksums = 0;
}

static void play(const char *options, uint64_t seed)
{
	static struct drv_end end[2];

	printf("# options '%s', seed %" PRIu64 "\n", options, seed);
	state = seed;
	drv_pair_open(end, options, EFA_ADMIN_QP_SRD, 64);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int who = below(2);

		act(&end[who], &end[!who]);
	}
	test_run_ms(2000);
	check_recovers(&end[0]);
	check_recovers(&end[1]);
	drv_pair_close(end);
}

TEST(a_guest_that_does_not_know_what_it_does)
{
	static const char *const options[] = {
		"", "mode=strict", "doorbell=poll", "newest=1", "profile=efa1", "mbz=lax",
		"mbz=lax mode=strict qpn_reuse=1 flush_on_destroy=1", "profile=efa2 cq_doorbells=0",
	};
	const char *given = getenv("EFA_FUZZ_SEED");

	for (unsigned int i = 0; i < 8; i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			play(options[i], given ? strtoull(given, NULL, 0) + seed : seed);
}

TAP_MAIN
