// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile programs on two EFA models that can reach each other: queues were made as they
 * should be, then come work requests, doorbells, arms and stores that are right, nearly
 * right or noise.
 */
#include "fuzz_efa.h"

static struct drv_end ends[2];
static struct fuzz_known known;

static void request(struct fuzz *f, struct drv_end *at, const struct drv_end *to)
{
	struct efa_wqe_wide wqe;
	uint8_t how = fuzz8(f);
	unsigned int op = how & 3;

	drv_wqe(&at->qp, &wqe, op, fuzz16(f), to->qp.num, at->ah);
	wqe.meta.length = htole16(1);
	if (op == EFA_OP_SEND) {
		drv_tx_buf(&wqe.u.sgl[0], at->mr.addr + fuzz8(f), fuzz16(f) % 9000, at->mr.lkey);
	} else {
		uint32_t length = how & 4 ? fuzz16(f) : fuzz8(f);

		drv_remote(&wqe, to->mr.addr + fuzz8(f), length, to->mr.rkey);
		drv_tx_buf(&wqe.u.rdma.u.local, at->mr.addr + fuzz8(f), length, at->mr.lkey);
	}
	if (how & 8)
		fuzz_spoil(f, &wqe, at->qp.wqe_size, &known);
	if (how & 16)
		fuzz_bytes(f, (uint8_t *)&wqe + (fuzz8(f) & 31), fuzz8(f) & 31);
	drv_store_wqe(&at->qp, &wqe);
	if (!(how & 32))
		drv_ring_sq(&at->qp);
}

static void receive(struct fuzz *f, struct drv_end *at)
{
	uint8_t how = fuzz8(f);
	uint32_t flags = EFA_RX_FIRST | EFA_RX_LAST;

	drv_store_rx(&at->qp, fuzz16(f), at->mr.addr + fuzz8(f),
		     how & 1 ? fuzz_number(f, &known) : 9000,
		     how & 2 ? fuzz_number(f, &known) : at->mr.lkey, how & 4 ? fuzz32(f) : flags);
	if (!(how & 8))
		drv_ring_rq(&at->qp);
}

static void doorbell(struct fuzz *f, struct drv_end *at)
{
	const uint64_t places[] = { at->qp.sq_db, at->qp.rq_db, at->cq.db, at->qp.sq_db };

	drv_doorbell(&at->drv, places[fuzz8(f) & 3], fuzz_number(f, &known));
}

static void modify(struct fuzz *f, struct drv_end *at)
{
	uint8_t states = fuzz8(f);

	if (states & 0x80)
		drv_modify_qp(&at->qp, fuzz_number(f, &known), states & 7, states >> 4 & 7,
			      fuzz8(f));
	else
		drv_to_state(&at->qp, states & 7, states >> 4 & 7);
}

static void poll(struct drv_end *at)
{
	struct efa_cqe_rx_ex cqe;

	test_run();
	for (unsigned int i = 0; i < 256 && drv_poll(&at->cq, &cqe); i++)
		;
}

static void destroy(struct fuzz *f, struct drv_end *at)
{
	switch (fuzz8(f) & 3) {
	case 0:
		drv_destroy_qp(&at->qp);
		break;
	case 1:
		drv_destroy_cq(&at->cq);
		break;
	case 2:
		drv_dereg_mr(&at->drv, at->mr.lkey);
		break;
	default:
		drv_destroy_ah(&at->drv, at->drv.pd, at->ah);
	}
}

static void scribble(struct fuzz *f, struct drv_end *at)
{
	const uint64_t rings[] = { at->qp.rq_ring, at->cq.ring, at->mr.pages[0], at->drv.aq };
	uint64_t addr = rings[fuzz8(f) & 3] + fuzz16(f);
	uint8_t len = fuzz8(f) & 63;

	fuzz_bytes(f, test_mem(&at->drv.host, addr, len), len);
}

static void act(struct fuzz *f)
{
	uint8_t what = fuzz8(f);
	struct drv_end *at = &ends[what >> 7], *to = &ends[!(what >> 7)];

	switch (what & 15) {
	case 0:
		fuzz_access(f, at->drv.dev, &known);
		break;
	case 1:
		doorbell(f, at);
		break;
	case 2:
		modify(f, at);
		break;
	case 3:
		poll(at);
		drv_ring_cq(&at->cq, fuzz8(f) & 1);
		break;
	case 4:
		test_run_ms(fuzz8(f));
		break;
	case 5:
		scribble(f, at);
		break;
	case 6:
		fuzz_inject(f, at->drv.dev);
		break;
	case 7:
		at->drv.dev->ops->link(at->drv.dev, fuzz8(f) & 1);
		break;
	case 8:
		destroy(f, at);
		break;
	case 9:
		at->drv.host.failing = fuzz8(f) & 1;
		break;
	case 10:
	case 11:
		receive(f, at);
		break;
	default:
		request(f, at, to);
	}
}

static void learn(struct drv_end *end)
{
	fuzz_learn(&known, end->mr.addr);
	fuzz_learn(&known, end->mr.lkey);
	fuzz_learn(&known, end->mr.rkey);
	fuzz_learn(&known, end->qp.num);
	fuzz_learn(&known, end->ah);
	fuzz_learn(&known, end->qp.sq_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };
	const char *options = efa_options_of(&f);
	uint8_t how = fuzz8(&f);
	/* older adapters have one size of entries */
	bool wide = how & 2 && !strstr(options, "profile=");

	memset(&known, 0, sizeof(known));
	drv_pair_open(ends, options, how & 1 ? EFA_ADMIN_QP_UD : EFA_ADMIN_QP_SRD,
		      wide ? 128 : 64);
	learn(&ends[0]);
	learn(&ends[1]);
	while (fuzz_left(&f))
		act(&f);
	efa_recovers(&ends[0].drv);
	efa_recovers(&ends[1].drv);
	test_host_close(&ends[0].drv.host);
	test_host_close(&ends[1].drv.host);
	return 0;
}
