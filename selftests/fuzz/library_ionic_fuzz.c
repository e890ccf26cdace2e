// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile ionic adapter against the data path of the library: as library_efa_fuzz.c, with
 * messages, flushes, two pipelines, and queues in host memory, controller memory and behind
 * express doorbells.
 */
#define DVQ_TRACE "device_acts.h"

#include <endian.h>

#include <dvq/ionic.h>

#include "fuzz.h"
#include "internal.h"

#define QPS	2
#define ROWS	4
#define IDS	4096	/* requests that one input can post to a queue */

struct qp {
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	/* memory of its own size each, so that a sanitizer sees what is beyond */
	uint8_t *sq_ring, *rq_ring, *sq_cmb, *rq_cmb;
	struct dvq_ionic_req *sends, *recvs;
	bool attached;
	/* by wr_id: posted and not yet reported */
	uint8_t out[2][IDS];
	uint32_t posted[2];
};

static struct {
	struct fuzz *f;
	struct qp qp[QPS];
	struct dvq_ionic_cq cq;
	uint8_t *cq_ring[2];
	struct dvq_ionic_cq_qp *qps;
	uint64_t *doorbell;
	uint32_t produced[2];
	/* the device while the library polls */
	bool busy, polling;
	unsigned int looks;
} p;

static uint32_t number_of(unsigned int qp)
{
	return 0x123450 + qp;
}

/* ---- the device ----------------------------------------------------------------------- */

static void write_entry(void)
{
	uint8_t how = fuzz8(p.f), bytes = fuzz8(p.f);
	unsigned int ring = how >> 7 && p.cq.ring[1].ring ? 1 : 0;
	uint32_t entries = p.cq.ring[ring].mask + 1, n = p.produced[ring]++;
	uint32_t color = n / entries % 2 ? 0 : IONIC_CQE_COLOR, tail;
	struct ionic_cqe cqe = {
		.u.send.msn = htobe32(bytes), .u.send.id = htole64(bytes),
		.status_length = htobe32(how & 8 ? fuzz32(p.f) : 0),
	};

	if ((how & 3) == IONIC_CQE_RECV)
		cqe.u.recv.id = htole64(bytes);
	tail = number_of(how >> 6 & 1) << 8 | (how & 3u) << 5 | (how & 8 ? IONIC_CQE_ERROR : 0);
	if (how & 16)
		fuzz_bytes(p.f, &cqe, bytes % 32);
	if (how & 32)
		tail = fuzz32(p.f);
	cqe.qid_type_flags = htobe32((tail & ~IONIC_CQE_COLOR) | color);
	memcpy(p.cq_ring[ring] + n % entries * sizeof(cqe), &cqe, sizeof(cqe));
}

/* the library looks at the color at @address: the entry is always new */
static void device_acts(uint64_t address)
{
	const struct dvq_ionic_cq_ring *ring;
	uint32_t at;

	if (!p.polling)
		return;
	FUZZ_CHECK(p.looks--);
	if (!p.busy)
		return;
	ring = &p.cq.ring[p.cq.ring[1].ring && address - p.cq.ring[1].ring < p.cq.ring[1].mask * 32 + 32];
	at = (address - ring->ring) / IONIC_CQE_SIZE;
	/* its lap is that of the next entry, or the one behind */
	at = ring->consumed + ((at - ring->consumed) & ring->mask);
	*(uint8_t *)(uintptr_t)address = (fuzz8(p.f) & ~IONIC_CQE_COLOR) |
					 dvq_ionic_cq_color(ring, at);
}

/* ---- the program ---------------------------------------------------------------------- */

static void took(const struct dvq_ionic_wc *wc)
{
	struct qp *qp = &p.qp[wc->qp_num - number_of(0)];
	bool recv = wc->opcode >= DVQ_IONIC_WC_RECV;

	FUZZ_CHECK(wc->qp_num - number_of(0) < QPS);
	FUZZ_CHECK(wc->wr_id < IDS && qp->out[recv][wc->wr_id]);
	qp->out[recv][wc->wr_id] = false;
	dvq_ionic_wc_status(wc);
}

__attribute__((noinline)) static uint32_t poll_cq(struct dvq_ionic_wc *wc, uint32_t n)
{
	return dvq_ionic_cq_poll(&p.cq, wc, n);
}

static void poll(uint8_t how)
{
	uint32_t n = how & 31, got, entries = p.cq.ring[0].mask + p.cq.ring[1].mask + 2;
	struct dvq_ionic_wc *wc = malloc(n * sizeof(*wc) + 1);

	p.busy = how & 0x20;
	p.polling = true;
	/* each entry and report twice, and as many once more where a queue has failed */
	p.looks = 8 * (entries + n) + 64;
	got = poll_cq(wc, n);
	p.polling = false;
	FUZZ_CHECK(got <= n);
	for (uint32_t i = 0; i < got; i++)
		took(&wc[i]);
	free(wc);
}

static void check_room(void)
{
	for (unsigned int i = 0; i < QPS; i++) {
		FUZZ_CHECK(dvq_ionic_sq_room(&p.qp[i].sq) <= p.qp[i].sq.wq.reqs.mask);
		FUZZ_CHECK(dvq_ionic_rq_room(&p.qp[i].rq) <= p.qp[i].rq.wq.reqs.mask);
	}
}

static void bind(struct dvq_ionic_wr *wr)
{
	struct dvq_ionic_bind bind = {
		.rkey = fuzz32(p.f), .lkey = fuzz32(p.f), .access = fuzz8(p.f),
		.address = fuzz64(p.f), .length = fuzz16(p.f), .type = fuzz8(p.f) & 3,
	};

	bind.new_rkey = bind.rkey ^ fuzz16(p.f);
	dvq_ionic_wr_bind_mw(wr, &bind);
}

static void build(struct dvq_ionic_wr *wr, uint8_t op)
{
	switch (op % 10) {
	case 0:
		dvq_ionic_wr_send(wr);
		break;
	case 1:
		dvq_ionic_wr_send_imm(wr, fuzz32(p.f));
		break;
	case 2:
		dvq_ionic_wr_send_inv(wr, fuzz32(p.f));
		break;
	case 3:
		dvq_ionic_wr_rdma_read(wr, fuzz32(p.f), fuzz64(p.f));
		break;
	case 4:
		dvq_ionic_wr_rdma_write(wr, fuzz32(p.f), fuzz64(p.f));
		break;
	case 5:
		dvq_ionic_wr_rdma_write_imm(wr, fuzz32(p.f), fuzz64(p.f), fuzz32(p.f));
		break;
	case 6:
		dvq_ionic_wr_cmp_swap(wr, fuzz32(p.f), fuzz64(p.f), fuzz64(p.f), fuzz64(p.f));
		break;
	case 7:
		dvq_ionic_wr_fetch_add(wr, fuzz32(p.f), fuzz64(p.f), fuzz64(p.f));
		break;
	case 8:
		dvq_ionic_wr_local_inv(wr, fuzz32(p.f));
		break;
	default:
		bind(wr);
	}
}

static void set_inline(struct dvq_ionic_wr *wr)
{
	uint32_t length = fuzz8(p.f) * 3u;
	uint8_t *data = calloc(1, length + !length);

	fuzz_bytes(p.f, data, length & 15);
	dvq_ionic_wr_set_inline(wr, data, length);
	free(data);
}

static void set(struct dvq_ionic_wr *wr, uint8_t what)
{
	switch (what & 3) {
	case 0:
		dvq_ionic_wr_set_dest(wr, fuzz32(p.f), fuzz32(p.f), fuzz32(p.f));
		break;
	case 1:
		/* as often as it likes */
		for (unsigned int n = what >> 2; n; n--)
			dvq_ionic_wr_set_sge(wr, fuzz8(p.f), fuzz16(p.f),
					     what & 0x80 ? fuzz32(p.f) : 8);
		break;
	case 2:
		set_inline(wr);
		break;
	default:
		dvq_ionic_wr_set_flags(wr, fuzz16(p.f));
	}
}

__attribute__((noinline)) static int post_wr(struct qp *qp, const struct dvq_ionic_wr *wr,
					     uint64_t wr_id)
{
	return dvq_ionic_sq_post(&qp->sq, wr, wr_id);
}

static void post(struct qp *qp)
{
	uint8_t how = fuzz8(p.f);
	struct dvq_ionic_wr wr;

	if (qp->posted[0] == IDS)
		return;
	build(&wr, how & 15);
	for (unsigned int i = how >> 6; i; i--)
		set(&wr, fuzz8(p.f));
	if (qp->sq.wq.reqs.ud && how & 16)
		dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	if (!post_wr(qp, &wr, qp->posted[0]))
		qp->out[0][qp->posted[0]++] = true;
}

static void post_recv(struct qp *qp)
{
	uint8_t n = fuzz8(p.f) & 31;
	struct dvq_ionic_sge *sge = calloc(n + 1, sizeof(*sge));

	if (qp->posted[1] < IDS) {
		fuzz_bytes(p.f, sge, fuzz8(p.f) % (n * sizeof(*sge) + 1));
		if (!dvq_ionic_rq_post(&qp->rq, sge, n, qp->posted[1]))
			qp->out[1][qp->posted[1]++] = true;
	}
	free(sge);
}

/* what is taken back is not out any more */
static void forget_pending(struct qp *qp, bool recv, const struct dvq_ionic_reqs *reqs)
{
	for (uint32_t n = dvq_ionic_reqs_pending(reqs); n; n--)
		qp->out[recv][dvq_ionic_reqs_slot(reqs, reqs->posted - n)->wr_id] = false;
}

static void abort_posts(struct qp *qp)
{
	forget_pending(qp, false, &qp->sq.wq.reqs);
	forget_pending(qp, true, &qp->rq.wq.reqs);
	dvq_ionic_sq_abort(&qp->sq);
	dvq_ionic_rq_abort(&qp->rq);
}

/* what is out of a queue that goes is not reported any more, and the queue begins anew */
static void attach(struct qp *qp, uint8_t how)
{
	const uint32_t number = qp->sq.wq.reqs.qp_num;

	if (qp->attached)
		FUZZ_CHECK(!dvq_ionic_cq_detach(&p.cq, number));
	else
		FUZZ_CHECK(!dvq_ionic_cq_attach(&p.cq, how & 1 ? NULL : &qp->sq,
						(how & 3) == 2 ? NULL : &qp->rq));
	qp->attached = !qp->attached;
}

static void act(void)
{
	uint8_t what = fuzz8(p.f);
	struct qp *qp = &p.qp[what >> 7];

	switch (what & 15) {
	case 0:
	case 1:
	case 2:
		post(qp);
		break;
	case 3:
		post_recv(qp);
		break;
	case 4:
	case 5:
		dvq_ionic_sq_publish(&qp->sq);
		dvq_ionic_rq_publish(&qp->rq);
		break;
	case 6:
		abort_posts(qp);
		break;
	case 7:
		attach(qp, fuzz8(p.f));
		break;
	case 8:
		dvq_ionic_cq_arm(&p.cq, what & 16);
		break;
	case 9:
		if (qp->attached)
			dvq_ionic_cq_flush_qp(&p.cq, qp->sq.wq.reqs.qp_num);
		break;
	case 10:
	case 11:
		poll(fuzz8(p.f));
		break;
	default:
		write_entry();
	}
	check_room();
}

/* ---- opening -------------------------------------------------------------------------- */

static struct dvq_wq_info wq_record(uint8_t kind, uint32_t size, uint32_t entries, uint8_t place)
{
	return (struct dvq_wq_info) {
		.kind = kind, .mem = place ? DVQ_MEM_CMB : DVQ_MEM_USER,
		.caps = place > 1 ? DVQ_WQ_EXPDB : 0, .db_format = DVQ_DB_IONIC, .db_width = 8,
		.entry_size = size, .entries = entries, .max_wr = entries - 1,
		.max_batch = entries - 1, .ring_key = place ? 0x1000 : 0,
		.ring_length = place ? 1 << 20 : 0, .db_key = 0x2000, .db_length = 4096,
		.db_offset = kind == DVQ_WQ_SQ ? 24 : 32, .db_value = 0x123450u << 24,
	};
}

static void open_qp(struct qp *qp, uint32_t number)
{
	uint8_t how = fuzz8(p.f), sizes = fuzz8(p.f), place = sizes >> 6;
	struct dvq_qp_info info = {
		.uid = number, .qp_num = number, .max_inline = fuzz16(p.f),
		.max_send_sge = fuzz8(p.f), .max_recv_sge = fuzz8(p.f),
	};
	struct dvq_wq_info sq = wq_record(DVQ_WQ_SQ, 64u << (how & 3), 2u << (sizes & 3), place);
	struct dvq_wq_info rq = wq_record(DVQ_WQ_RQ, 64u << (how >> 2 & 3), 2u << (sizes >> 2 & 3),
					  place);
	struct dvq_ionic_places at = { .doorbell = (uintptr_t)p.doorbell, .ud = how & 16 };

	qp->sq_ring = calloc(sq.entries, sq.entry_size);
	qp->rq_ring = calloc(rq.entries, rq.entry_size);
	if (place) {
		qp->sq_cmb = calloc(sq.entries, sq.entry_size);
		qp->rq_cmb = calloc(rq.entries, rq.entry_size);
	}
	at.ring = (uintptr_t)qp->sq_ring;
	at.cmb = (uintptr_t)qp->sq_cmb;
	FUZZ_CHECK(!dvq_ionic_sq_fill(&qp->sq, &info, &sq, how & 32 ? 1 : 2, &at));
	at.ring = (uintptr_t)qp->rq_ring;
	at.cmb = (uintptr_t)qp->rq_cmb;
	FUZZ_CHECK(!dvq_ionic_rq_fill(&qp->rq, &info, &rq, &at));
	/* without slots nothing can be posted */
	if (how & 64)
		return;
	qp->sends = calloc(dvq_ionic_reqs_slots(&qp->sq.wq.reqs), sizeof(*qp->sends));
	qp->recvs = calloc(dvq_ionic_reqs_slots(&qp->rq.wq.reqs), sizeof(*qp->recvs));
	FUZZ_CHECK(!dvq_ionic_sq_set_slots(&qp->sq, qp->sends));
	FUZZ_CHECK(!dvq_ionic_rq_set_slots(&qp->rq, qp->recvs));
}

static void open_cq(void)
{
	uint8_t how = fuzz8(p.f);

	for (uint32_t i = 0; i < 1u + (how & 1); i++) {
		struct dvq_cq_info info = {
			.cq_num = 5 + i, .mem = DVQ_MEM_USER, .db_format = DVQ_DB_IONIC,
			.db_width = 8, .first_phase = 1, .entry_size = 32,
			.entries = 4u << (how >> (1 + 2 * i) & 3), .sub_cqs = 1, .pipeline = i,
			.pipelines = 1 + 2 * (how & 1), .db_key = 0x2000, .db_length = 4096,
		};

		p.cq_ring[i] = calloc(info.entries, info.entry_size);
		info.user_addr = (uintptr_t)p.cq_ring[i];
		FUZZ_CHECK(!dvq_ionic_cq_add(&p.cq, &info));
	}
	p.cq.doorbell = (uintptr_t)p.doorbell;
	p.qps = calloc(ROWS, sizeof(*p.qps));
	FUZZ_CHECK(!dvq_ionic_cq_set_qps(&p.cq, p.qps, ROWS));
	for (unsigned int i = 0; i < QPS; i++)
		attach(&p.qp[i], 0);
}

static void close_all(void)
{
	for (unsigned int i = 0; i < QPS; i++) {
		free(p.qp[i].sq_ring);
		free(p.qp[i].rq_ring);
		free(p.qp[i].sq_cmb);
		free(p.qp[i].rq_cmb);
		free(p.qp[i].sends);
		free(p.qp[i].recvs);
		free(p.cq_ring[i]);
	}
	free(p.qps);
	free(p.doorbell);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };

	memset(&p, 0, sizeof(p));
	p.f = &f;
	p.doorbell = calloc(1, sizeof(*p.doorbell));
	for (unsigned int i = 0; i < QPS; i++)
		open_qp(&p.qp[i], number_of(i));
	open_cq();
	while (fuzz_left(&f))
		act();
	close_all();
	return 0;
}
