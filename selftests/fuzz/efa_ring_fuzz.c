// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile programs on two EFA models that can reach each other: queues were made as they
 * should be, then come work requests, doorbells, arms and stores that are right, nearly
 * right or noise.
 */
#include "fuzz_efa.h"

static struct drv_end ends[2];
static struct fuzz_known known;

/* what an input may ask for at both ends, bits of its second byte; UD and WIDE choose the QP */
enum {
	UD = 0x01, WIDE = 0x02,
	EVENTS = 0x04,		/* the CQ has an EQ and is armed */
	LONG_IDS = 0x08,	/* 64-bit request ids, if the adapter has them */
	UNSOLICITED = 0x10,	/* as well */
	KEY = 0x20,		/* of an MR that WQEs register */
};

/* zero where there is none */
static struct more {
	uint32_t arm;		/* to EQ_DB */
	uint32_t key;
	bool long_ids;
} more[2];

static struct more *more_of(const struct drv_end *end)
{
	return &more[end - ends];
}

static void fast_reg(struct fuzz *f, struct drv_end *at, struct efa_wqe_wide *wqe, uint8_t how)
{
	struct efa_fast_reg reg = {
		.lkey = htole32(more_of(at)->key),
		.permissions = how & 0x80 ? DRV_REMOTE : DRV_LOCAL,
		.flags = 12 | (how & 0x40 ? 0x20 : 0),
		.iova = htole64(at->mr.addr + fuzz8(f)), .length = htole64(fuzz16(f)),
		.list = htole64(at->mr.pages[0]),
	};

	memcpy(&wqe->u, &reg, sizeof(reg));
}

static void request(struct fuzz *f, struct drv_end *at, const struct drv_end *to)
{
	struct efa_wqe_wide wqe;
	uint8_t how = fuzz8(f);
	unsigned int op = how & 3;
	uint64_t id = more_of(at)->long_ids ? fuzz64(f) : fuzz16(f);
	uint32_t lkey = how & 0x40 ? more_of(at)->key : at->mr.lkey;
	uint32_t rkey = how & 0x80 ? more_of(to)->key : to->mr.rkey;

	if (op == EFA_OP_FAST_REG && how & 4)
		op = EFA_OP_FAST_INVALIDATE;
	drv_wqe(&at->qp, &wqe, op, id, to->qp.num, at->ah);
	wqe.meta.length = htole16(1);
	if (op == EFA_OP_SEND) {
		drv_tx_buf(&wqe.u.sgl[0], at->mr.addr + fuzz8(f), fuzz16(f) % 9000, lkey);
	} else if (op >= EFA_OP_FAST_REG) {
		fast_reg(f, at, &wqe, how);
	} else {
		uint32_t length = how & 4 ? fuzz16(f) : fuzz8(f);

		drv_remote(&wqe, to->mr.addr + fuzz8(f), length, rkey);
		drv_tx_buf(&wqe.u.rdma.u.local, at->mr.addr + fuzz8(f), length, lkey);
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
	const uint64_t places[] = { at->qp.sq_db, at->qp.rq_db, at->cq.db };
	uint8_t place = fuzz8(f) & 3;

	if (place == 3)
		drv_write(&at->drv, EFA_REG_EQ_DB, fuzz_number(f, &known));
	else
		drv_doorbell(&at->drv, places[place], fuzz_number(f, &known));
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

static uint32_t alloc_key(struct drv *drv)
{
	struct efa_alloc_mr_cmd cmd = { .pd = htole16(drv->pd), .max_pages = htole32(32) };
	struct efa_alloc_mr_resp resp;

	FUZZ_CHECK(!drv_admin(drv, cmd, EFA_ADMIN_ALLOC_MR, resp));
	return le32toh(resp.lkey);
}

/* another CQ and QP in place of the plain ones, which stay */
static void equip(struct drv_end *end, uint8_t how, enum efa_admin_qp_type type,
		  unsigned int wqe_size)
{
	const uint32_t caps = le32toh(end->drv.attr.device_caps);
	const bool ids64 = how & LONG_IDS && caps & EFA_DEV_CAP_64BIT_IDS;
	struct drv_qp_init init = {
		.type = type, .send_cq = &end->cq, .recv_cq = &end->cq, .sq_depth = 64,
		.wqe_size = wqe_size, .rq_descs = 64, .rq_wrs = 64,
	};
	uint64_t ring;
	uint16_t eqn = 0;
	int eq = -1;

	if (how & EVENTS && !drv_create_eq(&end->drv, 4, 1, &ring, &eqn)) {
		eq = eqn;
		more_of(end)->arm = eqn | EFA_EQ_DB_ARM;
	}
	if (how & KEY)
		more_of(end)->key = alloc_key(&end->drv);
	more_of(end)->long_ids = ids64;
	if (ids64)
		init.flags |= EFA_CREATE_QP_64BIT_IDS;
	if (how & UNSOLICITED && type == EFA_ADMIN_QP_SRD && caps & EFA_DEV_CAP_UNSOLICITED)
		init.flags |= EFA_CREATE_QP_UNSOLICITED;
	FUZZ_CHECK(!drv_create_cq(&end->drv, 256, EFA_CQE_SIZE_EX,
				  DRV_CQ_SRC_ADDR | (ids64 ? DRV_CQ_IDS64 : 0), eq, &end->cq));
	FUZZ_CHECK(!drv_create_qp(&end->drv, &init, &end->qp));
	drv_bring_up(&end->qp, 0);
	if (eq < 0)
		return;
	drv_write(&end->drv, EFA_REG_EQ_DB, more_of(end)->arm);
	drv_ring_cq(&end->cq, true);
}

static void learn(struct drv_end *end)
{
	fuzz_learn(&known, end->mr.addr);
	fuzz_learn(&known, end->mr.lkey);
	fuzz_learn(&known, end->mr.rkey);
	fuzz_learn(&known, end->qp.num);
	fuzz_learn(&known, end->ah);
	fuzz_learn(&known, end->qp.sq_count);
	if (more_of(end)->arm)
		fuzz_learn(&known, more_of(end)->arm);
	if (more_of(end)->key)
		fuzz_learn(&known, more_of(end)->key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };
	const char *options = efa_options_of(&f);
	uint8_t how = fuzz8(&f);
	/* older adapters have one size of entries */
	unsigned int wqe_size = how & WIDE && !strstr(options, "profile=") ? 128 : 64;
	enum efa_admin_qp_type type = how & UD ? EFA_ADMIN_QP_UD : EFA_ADMIN_QP_SRD;

	memset(&known, 0, sizeof(known));
	memset(more, 0, sizeof(more));
	drv_pair_open(ends, options, type, wqe_size);
	for (unsigned int i = 0; i < 2 && how & (EVENTS | LONG_IDS | UNSOLICITED | KEY); i++)
		equip(&ends[i], how, type, wqe_size);
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
