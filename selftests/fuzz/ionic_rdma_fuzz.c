// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile drivers and programs on two ionic models that can reach each other: RDMA admin
 * commands, work requests in host and controller memory, doorbells of all kinds, and packets;
 * right, nearly right or noise.
 */
#include <endian.h>

#include <hw/field.h>
#include "fuzz_model.h"
#include "ionic_rdma.h"
#include "test_rnic.h"

#define BYTES	65536	/* of each memory region */

/* few objects: making and forgetting tables is most of what an input costs */
#define SMALL	" qps=64 mrs=256 ahs=64 page_table=4096"

static const char *const options[] = {
	"mode=fast" SMALL, "mode=strict" SMALL, "rdma_version=1" SMALL,
	"rdma_version=1 mode=strict" SMALL, "reorder=2" SMALL, "profile=giglio" SMALL,
	"expdb=rq" SMALL, "expdb=sq mode=strict" SMALL,
};

struct side {
	struct rnic rnic;
	struct rcq cq;
	struct rmr mr;
	struct rqp qp;
	uint64_t page;		/* memory for templates and lists */
};

static struct side sides[2];

static struct fuzz_known known;

/* ---- commands ------------------------------------------------------------------------- */

static void admin_command(struct fuzz *f, struct side *s)
{
	static const uint8_t opcodes[] = {
		IONIC_OP_RDMA_RESET, IONIC_OP_RDMA_CREATE_EQ, IONIC_OP_RDMA_CREATE_CQ,
		IONIC_OP_RDMA_CREATE_AQ,
	};
	uint8_t how = fuzz8(f);
	struct ionic_rdma_queue_req req = {
		.opcode = opcodes[how & 3], .qid_version = htole32(how >> 2 & 15),
		.target = htole32(fuzz8(f)), .depth_log2 = 4 + (how >> 6), .stride_log2 = 5,
		.ring_addr = htole64(s->page),
	};

	fuzz_spoil(f, &req, sizeof(req), &known);
	nic_admin(&s->rnic.nic, &req, NULL);
}

static void rdma_command(struct fuzz *f, struct side *s)
{
	union raq_command cmd = { .bytes = { 0 } };
	uint8_t how = fuzz8(f), number = fuzz8(f);
	unsigned int op = (how & 31) % IONIC_AQ_OPS, size = raq_size(op);

	switch (op) {
	case IONIC_AQ_CREATE_CQ:
		cmd.cq = rcq_command(&s->cq, 2);
		cmd.cq.cq = htole32(number);
		break;
	case IONIC_AQ_CREATE_QP:
		cmd.qp = rqp_command(&s->qp);
		cmd.qp.qp = htole32(number);
		break;
	case IONIC_AQ_CREATE_MR:
		cmd.mr = rmr_command(&s->mr, fuzz16(f));
		cmd.mr.key = htole32(number << 8 | 7);
		if (number & 1) {
			cmd.mr.pages = htole32(fuzz8(f));
			cmd.mr.addr = htole64(s->page);
			cmd.mr.page_log2 = 12;
		}
		break;
	case IONIC_AQ_MODIFY_QP:
		cmd.modify = rqp_modify_command(&s->qp, fuzz32(f) & 0x021fffff, number & 7);
		if (number & 8) {
			cmd.modify.hdr_addr = htole64(s->page);
			cmd.modify.ah_len = htole32(HW_PREP(IONIC_QP_AH, s->qp.ah) |
						    HW_PREP(IONIC_QP_HDR_LEN,
							    (uint32_t)RNIC_HDR_LEN));
			cmd.modify.hdr_profile = number >> 4;
		}
		break;
	case IONIC_AQ_QUERY_QP:
		cmd.query = (struct ionic_aq_query_qp){
			.sq_addr = htole64(s->page), .rq_addr = htole64(s->page + 64),
			.hdr_addr = htole64(number & 1 ? s->page + 128 : 0),
			.qp = htole32(s->qp.id), .ah = htole32(s->qp.ah),
		};
		break;
	case IONIC_AQ_CREATE_AH:
		cmd.ah = (struct ionic_aq_create_ah){
			.hdr_addr = htole64(s->page), .hdr_len = htole32(RNIC_HDR_LEN),
			.pd = htole32(RNIC_PD), .ah = htole32(number),
			.hdr_profile = IONIC_HDR_IPV6,
		};
		break;
	case IONIC_AQ_STATS_HDRS:
	case IONIC_AQ_STATS_VALS:
	case IONIC_AQ_QP_STATS_HDRS:
	case IONIC_AQ_QP_STATS_VALS:
		cmd.stats = (struct ionic_aq_stats){
			.addr = htole64(s->page), .length = htole32(number * 16),
			.qp = htole32(op == IONIC_AQ_QP_STATS_VALS ? s->qp.id : 0),
		};
		break;
	default:
		cmd.destroy.id = htole32(number);
	}
	if (how & 0x20)
		fuzz_spoil(f, cmd.bytes + 4, size - 4, &known);
	if (how & 0x40)
		size = 4 + fuzz8(f) % 124;
	raq_post(&s->rnic, &cmd, op, size);
	raq_ring(&s->rnic);
	if (how & 0x80)
		return;
	test_run();
	while (raq_answer(&s->rnic) != RNIC_NO_ANSWER)
		;
}

/* ---- work requests -------------------------------------------------------------------- */

static void receive(struct fuzz *f, struct side *s)
{
	struct ionic_wqe_recv *wqe = rqp_recv_slot(&s->qp);
	uint8_t how = fuzz8(f);

	wqe->header.num_sge = 1;
	wqe->header.imm_key_length = htobe32(5000);
	*(struct ionic_sge *)(wqe + 1) = rsge(&s->mr, fuzz16(f), 5000);
	if (how & 1)
		fuzz_spoil(f, wqe, 64, &known);
	rqp_received(&s->qp);
	if (!(how & 2))
		rqp_ring_recv(&s->qp);
}

/* the slot that was built goes to its place by the window that rings */
static void store_express(struct fuzz *f, struct side *s, const uint8_t *slot)
{
	const struct rqp *qp = &s->qp;
	struct model_device *dev = s->rnic.nic.dev;
	uint64_t at = (qp->stride_log2 - 5ull) * IONIC_CMB_WINDOW + qp->sq +
		      ((uint64_t)qp->sq_posted << qp->stride_log2);
	uint8_t how = fuzz8(f);
	uint64_t ring = (uint64_t)s->rnic.nic.lif.rdma.sq.qtype << 48 | (uint64_t)qp->id << 24 |
			0x580000 | ((qp->sq_posted + 1) & ((1u << qp->log2) - 1)), value;

	if (how & 1)
		ring = fuzz_number(f, &known);
	if (at + (1ull << qp->stride_log2) > dev->bar[IONIC_BAR_CMB].size)
		return;
	for (unsigned int i = 0; i < 1u << qp->stride_log2; i += 8) {
		memcpy(&value, slot + i, 8);
		if (i == (1u << qp->stride_log2) - 8)
			value = ring;
		if (fuzz_is_mapped(dev, IONIC_BAR_CMB, at + i))
			memcpy(dev->bar[IONIC_BAR_CMB].mem + at + i, &value, 8);
		else
			dev->ops->bar_write(dev, IONIC_BAR_CMB, at + i, 8, value);
	}
	rqp_sent(&s->qp);
}

static void request(struct fuzz *f, struct side *s, const struct side *to)
{
	uint8_t how = fuzz8(f), op = fuzz8(f);
	uint32_t length = how & 1 ? fuzz16(f) : fuzz8(f);
	struct ionic_wqe_send *wqe = rqp_begin(&s->qp, op & 15, op, &s->mr, fuzz8(f), length);
	uint8_t slot[512];

	if (s->qp.type == IONIC_QPT_UD)
		rwqe_datagram(wqe, 1, to->qp.id, RNIC_QKEY);
	else if (how & 2)
		rwqe_remote(wqe, &to->mr, fuzz8(f));
	if (how & 4)
		wqe->header.flags = fuzz16(f);
	if (how & 8)
		fuzz_spoil(f, wqe, 64, &known);
	if (how & 16)
		fuzz_bytes(f, (uint8_t *)wqe + 32, fuzz8(f) & 31);
	if (how & 32 && s->qp.sq_cmb) {
		memcpy(slot, wqe, 1ul << s->qp.stride_log2);
		store_express(f, s, slot);
		return;
	}
	rqp_sent(&s->qp);
	if (!(how & 64))
		rqp_ring(&s->qp);
}

/* as version 1 and 2 number them, with both reads and atomics of one's own choice */
static void atomic(struct fuzz *f, struct side *s, const struct side *to)
{
	uint8_t how = fuzz8(f);

	rqp_atomic(&s->qp, how & 1, fuzz8(f), fuzz8(f), &s->mr, how & 2 ? fuzz8(f) : 64, &to->mr,
		   how & 4 ? fuzz8(f) : 128);
}

static void packet(struct fuzz *f, struct side *s, const struct side *to)
{
	uint8_t bytes[400] = { 0 }, how = fuzz8(f);
	uint16_t psn = fuzz8(f);

	rnic_template(&s->rnic, &to->rnic, bytes);
	bytes[RNIC_HDR_LEN - 3] = 100;
	bytes[RNIC_HDR_LEN] = how;
	bytes[RNIC_HDR_LEN + 2] = bytes[RNIC_HDR_LEN + 3] = 0xff;
	bytes[RNIC_HDR_LEN + 7] = to->qp.id;
	bytes[RNIC_HDR_LEN + 9] = bytes[RNIC_HDR_LEN + 10] = 0xff;
	bytes[RNIC_HDR_LEN + 11] = 0xf0 + psn;
	fuzz_bytes(f, bytes + RNIC_HDR_LEN + 12, fuzz8(f) & 63);
	fuzz_spoil(f, bytes, 128, &known);
	fabric_send(&ionic_of(s->rnic.nic.dev)->net, nic_mac(&to->rnic.nic), bytes,
		    60 + fuzz16(f) % (sizeof(bytes) - 60));
}

/* ---- the rest ------------------------------------------------------------------------- */

static void poll(struct fuzz *f, struct side *s)
{
	uint8_t how = fuzz8(f);

	test_run();
	for (unsigned int i = 0; i < 512 && rcq_take(&s->cq); i++)
		;
	if (how & 1)
		rcq_told(&s->cq);
	if (how & 2)
		rcq_arm(&s->cq, how & 4);
}

static void doorbell(struct fuzz *f, struct side *s)
{
	uint8_t how = fuzz8(f);

	nic_ring(&s->rnic.nic, how >> 4 & 1, how & 7,
		 how & 8 ? fuzz_number(f, &known) :
		 (uint64_t)s->qp.id << 24 | (uint64_t)(how >> 5) << 16 | fuzz8(f));
}

static void act(struct fuzz *f)
{
	uint8_t what = fuzz8(f);
	struct side *s = &sides[what >> 7], *to = &sides[!(what >> 7)];
	struct model_device *dev = s->rnic.nic.dev;

	switch (what & 31) {
	case 0:
	case 1:
		fuzz_access(f, dev, &known);
		break;
	case 2:
		admin_command(f, s);
		break;
	case 3:
	case 4:
		doorbell(f, s);
		break;
	case 5:
		test_run_ms(fuzz8(f) & 31);
		break;
	case 6:
		fuzz_scribble(f, &s->rnic.nic.host, &known);
		break;
	case 7:
		fuzz_inject(f, dev);
		break;
	case 8:
		dev->ops->link(dev, fuzz8(f) & 1);
		break;
	case 9:
		s->rnic.nic.host.failing = fuzz8(f) & 1;
		break;
	case 10:
	case 11:
		packet(f, s, to);
		break;
	case 12:
	case 13:
	case 14:
		poll(f, s);
		break;
	case 15:
	case 16:
		atomic(f, s, to);
		break;
	case 17:
	case 18:
	case 19:
		receive(f, s);
		break;
	case 20:
	case 21:
	case 22:
	case 23:
	case 24:
		rdma_command(f, s);
		break;
	default:
		request(f, s, to);
	}
}

static void open_side(struct side *s, const char *name, const char *with, uint8_t how,
		      unsigned int number)
{
	struct rqp *qp = &s->qp;

	rnic_open(&s->rnic, name, with);
	s->page = test_alloc(&s->rnic.nic.host, TEST_PAGE, TEST_PAGE);
	rcq_open(&s->cq, &s->rnic, 0, 2, 8);
	rmr_open(&s->mr, &s->rnic, number, BYTES, RNIC_ALL_ACCESS | IONIC_MR_MW_BIND);
	rqp_init(qp, &s->rnic, 2 + number, how & 1 ? IONIC_QPT_UD : IONIC_QPT_RC, &s->cq);
	qp->ah = 10 + number;
	qp->stride_log2 = 6 + (how >> 3 & 3);
	qp->sq_cmb = how & 2;
	qp->rq_cmb = how & 4;
	if (qp->sq_cmb)
		qp->sq = 0x10000;
	if (qp->rq_cmb)
		qp->rq = 0x20000;
	rqp_open(qp);
	fuzz_learn(&known, s->page);
	fuzz_learn(&known, s->mr.va);
	fuzz_learn(&known, s->mr.key);
	fuzz_learn(&known, s->rnic.aq_ring);
	fuzz_learn(&known, htobe64(s->mr.va));
	fuzz_learn(&known, htobe32(s->mr.key));
}

static void connect_sides(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (sides[i].qp.type == IONIC_QPT_UD) {
			rqp_to_rts(&sides[i].qp);
			rah_create(&sides[i].rnic, 1, &sides[!i].rnic);
		} else {
			rqp_connect(&sides[i].qp, &sides[!i].qp);
		}
		rnic_template(&sides[i].rnic, &sides[!i].rnic,
			      rnic_mem(&sides[i].rnic, sides[i].page, RNIC_HDR_LEN));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };
	const char *with = options[fuzz8(&f) % (sizeof(options) / sizeof(options[0]))];
	uint8_t how = fuzz8(&f);

	memset(&known, 0, sizeof(known));
	open_side(&sides[0], "a", with, how, 1);
	open_side(&sides[1], "b", with, how, 2);
	connect_sides();
	while (fuzz_left(&f))
		act(&f);
	/* from wherever they are to working adapters: each step must succeed */
	for (unsigned int i = 0; i < 2; i++)
		fuzz_calm(&sides[i].rnic.nic.host, 20);
	for (unsigned int i = 0; i < 2; i++) {
		nic_start(&sides[i].rnic.nic);
		rnic_start(&sides[i].rnic);
	}
	rnic_close(&sides[1].rnic);
	rnic_close(&sides[0].rnic);
	return 0;
}
