// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile EFA adapter against the data path of the library: whatever is on a completion ring
 * and whenever it comes, polling stays within rings, tables and the caller's memory, ends, and
 * reports no request that is not out. Beside it a program that posts with any arguments.
 */
#define DVQ_TRACE "device_acts.h"

#include <dvq/efa.h>

#include "fuzz.h"
#include "internal.h"

#define QP_NUM	0x1207
#define ROWS	16
#define IDS	4096	/* requests that one input can post */

static struct {
	struct fuzz *f;
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;
	/* memory of its own size each, so that a sanitizer sees what is beyond */
	uint8_t *sq_ring, *rq_ring, *cq_ring, *stage;
	struct dvq_efa_id *sq_ids, *rq_ids;
	struct dvq_efa_cq_qp *qps;
	uint32_t *doorbell;
	uint32_t produced[DVQ_EFA_MAX_SUB_CQS];
	bool attached;
	/* by wr_id: posted and not yet reported, of the send queue and the receive queue */
	bool out[2][IDS];
	uint32_t posted[2];
	/* the device while the library polls */
	bool busy, polling;
	unsigned int looks;
} p;

static uint32_t entries(void)
{
	return p.cq.bytes / p.cq.entry_size;
}

/* ---- the device ----------------------------------------------------------------------- */

static uint64_t some_id(bool send)
{
	const struct dvq_efa_ids *ids = send ? &p.sq.ids : &p.rq.ids;
	uint8_t how = fuzz8(p.f);
	uint64_t id = how >> 2;

	if (how & 1)
		id = (id & ids->mask) | ids->tag;
	if (how & 2)
		id = fuzz64(p.f);
	return id;
}

static void write_entry(void)
{
	uint8_t how = fuzz8(p.f), entry[32] = { 0 };
	unsigned int sub = (how >> 5) % p.cq.sub_cqs;
	uint32_t n = p.produced[sub]++;
	uint32_t phase = (n / entries() & 1) ^ 1;
	uint8_t *at = p.cq_ring + sub * p.cq.bytes + n % entries() * p.cq.entry_size;

	if (how & 1) {
		fuzz_bytes(p.f, entry, p.cq.entry_size);
	} else {
		bool send = how & 2;
		uint64_t id = some_id(send);
		struct efa_cqe_tx *cqe = (void *)entry;

		cqe->common.req_id = id;
		cqe->common.qp_num = QP_NUM;
		cqe->common.flags = (send ? EFA_CQE_QTYPE_SEND : EFA_CQE_QTYPE_RECV) << 1;
		cqe->req_id_ex[0] = id >> 16;
		cqe->req_id_ex[1] = id >> 32;
		cqe->req_id_ex[2] = id >> 48;
		if (how & 4)
			entry[fuzz8(p.f) % 32] = fuzz8(p.f);
	}
	if (!(how & 8))
		entry[3] = (entry[3] & ~EFA_CQE_PHASE) | phase;
	memcpy(at, entry, p.cq.entry_size);
}

/* the library looks at the phase bit at @address */
static void device_acts(uint64_t address)
{
	uint32_t sub;

	if (!p.polling)
		return;
	/* at most each entry of a poll twice, and one look per sub-CQ that finds nothing */
	FUZZ_CHECK(p.looks--);
	if (!p.busy)
		return;
	sub = (address - p.cq.ring) / p.cq.bytes;
	*(uint8_t *)(uintptr_t)address = (fuzz8(p.f) & ~EFA_CQE_PHASE) | p.cq.sub[sub].phase;
}

/* ---- the program ---------------------------------------------------------------------- */

static void took(const struct dvq_efa_wc *wc)
{
	bool recv = dvq_efa_wc_is_recv(wc);
	const struct dvq_efa_ids *ids = recv ? &p.rq.ids : &p.sq.ids;

	dvq_efa_wc_status(wc);
	dvq_efa_wc_opcode(wc, true);
	dvq_efa_wc_has_imm(wc);
	/* without a table or a pool the library does not know what is out */
	if (dvq_efa_wc_unsolicited(wc) || !p.cq.qps || !ids->slots)
		return;
	FUZZ_CHECK(wc->wr_id < IDS && p.out[recv][wc->wr_id]);
	p.out[recv][wc->wr_id] = false;
}

__attribute__((noinline)) static uint32_t poll_cq(struct dvq_efa_wc *wc, uint32_t n)
{
	return dvq_efa_cq_poll(&p.cq, wc, n);
}

static void poll(uint8_t how)
{
	uint32_t n = how & 31, got;
	struct dvq_efa_wc *wc = malloc(n * sizeof(*wc) + 1);

	p.busy = how & 0x20;
	p.polling = true;
	p.looks = 4 * (entries() * p.cq.sub_cqs + n) * (p.cq.sub_cqs + 1) + 64;
	got = poll_cq(wc, n);
	p.polling = false;
	FUZZ_CHECK(got <= n);
	for (uint32_t i = 0; i < got; i++)
		took(&wc[i]);
	free(wc);
}

static void check_room(void)
{
	FUZZ_CHECK(dvq_efa_sq_room(&p.sq) <= p.sq.ids.limit);
	FUZZ_CHECK(dvq_efa_rq_room(&p.rq) <= p.rq.ids.limit);
}

static void build(struct dvq_efa_wr *wr, uint8_t op)
{
	switch (op % 5) {
	case 0:
		dvq_efa_wr_send(wr);
		break;
	case 1:
		dvq_efa_wr_send_imm(wr, fuzz32(p.f));
		break;
	case 2:
		dvq_efa_wr_rdma_read(wr, fuzz32(p.f), fuzz64(p.f));
		break;
	case 3:
		dvq_efa_wr_rdma_write(wr, fuzz32(p.f), fuzz64(p.f));
		break;
	default:
		dvq_efa_wr_rdma_write_imm(wr, fuzz32(p.f), fuzz64(p.f), fuzz32(p.f));
	}
}

static void set_inline(struct dvq_efa_wr *wr)
{
	uint32_t length = fuzz8(p.f);
	uint8_t *data = malloc(length + !length);

	fuzz_bytes(p.f, data, length);
	dvq_efa_wr_set_inline(wr, data, length);
	free(data);
}

static void set(struct dvq_efa_wr *wr, uint8_t what)
{
	switch (what & 3) {
	case 0:
		dvq_efa_wr_set_dest(wr, fuzz16(p.f), fuzz16(p.f), fuzz32(p.f));
		break;
	case 1:
		dvq_efa_wr_set_sge(wr, fuzz32(p.f), fuzz64(p.f), fuzz32(p.f));
		break;
	case 2:
		set_inline(wr);
		break;
	default:
		dvq_efa_wr_set_hints(wr, fuzz32(p.f));
	}
}

__attribute__((noinline)) static int post_wr(const struct dvq_efa_wr *wr, uint64_t wr_id)
{
	return dvq_efa_sq_post(&p.sq, wr, wr_id);
}

/* names of its own for a pool; else the caller's, which must fit */
static uint64_t name_of(const struct dvq_efa_ids *ids, bool recv)
{
	return ids->slots ? p.posted[recv] : fuzz8(p.f);
}

static void post(void)
{
	uint8_t how = fuzz8(p.f);
	uint64_t wr_id = name_of(&p.sq.ids, false);
	struct dvq_efa_wr wr;

	if (p.posted[0] == IDS)
		return;
	build(&wr, how);
	for (unsigned int i = how >> 6; i; i--)
		set(&wr, fuzz8(p.f));
	if (!post_wr(&wr, wr_id) && p.sq.ids.slots)
		p.out[0][p.posted[0]++] = true;
}

static void post_recv(void)
{
	uint8_t n = fuzz8(p.f) & 7;
	uint64_t wr_id = name_of(&p.rq.ids, true);
	struct dvq_efa_sge *sge = calloc(n + 1, sizeof(*sge));

	if (p.posted[1] < IDS) {
		fuzz_bytes(p.f, sge, fuzz8(p.f) % (n * sizeof(*sge) + 1));
		if (!dvq_efa_rq_post(&p.rq, sge, n, wr_id) && p.rq.ids.slots)
			p.out[1][p.posted[1]++] = true;
	}
	free(sge);
}

static void publish(uint8_t how)
{
	if (how & 1)
		dvq_efa_sq_publish(&p.sq);
	if (how & 2)
		dvq_efa_rq_publish(&p.rq);
}

static void attach(uint8_t how)
{
	if (!p.cq.qps)
		return;
	if (p.attached)
		dvq_efa_cq_detach(&p.cq, QP_NUM);
	else
		dvq_efa_cq_attach(&p.cq, how & 1 ? NULL : &p.sq, how & 2 ? NULL : &p.rq);
	p.attached = dvq_efa_cq_row_is(&p.qps[QP_NUM % ROWS], QP_NUM);
}

static void act(void)
{
	uint8_t what = fuzz8(p.f);

	switch (what & 15) {
	case 0:
	case 1:
	case 2:
		post();
		break;
	case 3:
	case 4:
		post_recv();
		break;
	case 5:
		publish(fuzz8(p.f));
		break;
	case 6:
		/* what the program takes back is not out; the device saw nothing of it */
		if (!p.sq.ids.slots)
			dvq_efa_sq_abort(&p.sq);
		break;
	case 7:
		attach(fuzz8(p.f));
		break;
	case 8:
		dvq_efa_cq_arm(&p.cq);
		dvq_efa_cq_event(&p.cq);
		break;
	case 9:
	case 10:
		poll(fuzz8(p.f));
		break;
	default:
		write_entry();
	}
	check_room();
}

/* ---- opening -------------------------------------------------------------------------- */

static struct dvq_wq_info wq_record(uint8_t kind, uint32_t entry_size, uint32_t size)
{
	return (struct dvq_wq_info) {
		.kind = kind, .mem = kind == DVQ_WQ_SQ ? DVQ_MEM_CMB : DVQ_MEM_KERNEL,
		.db_format = DVQ_DB_EFA_COUNT, .db_width = 4, .entry_size = entry_size,
		.entries = size, .max_wr = size, .max_batch = fuzz8(p.f), .ring_key = 0x1000,
		.ring_length = 1 << 20, .db_key = 0x2000, .db_length = 4096,
	};
}

static void open_queues(void)
{
	uint8_t how = fuzz8(p.f), sizes = fuzz8(p.f);
	struct dvq_qp_info qp = {
		.uid = 1, .qp_num = QP_NUM, .generation = fuzz8(p.f), .max_inline = 80,
		.max_send_sge = 2, .max_recv_sge = 1 + (sizes & 3), .max_rdma_sge = 1,
	};
	struct dvq_wq_info sq = wq_record(DVQ_WQ_SQ, how & 1 ? 128 : 64, 1u << (sizes >> 2 & 3));
	struct dvq_wq_info rq = wq_record(DVQ_WQ_RQ, 16, 1u << (sizes >> 4 & 3));

	sq.caps = (how & 2 ? DVQ_WQ_64BIT_IDS : 0) | (how & 4 ? DVQ_WQ_HINTS : 0);
	/* a limit that is no power of two */
	sq.max_wr -= sq.max_wr > 2 && sizes & 0x40;
	rq.max_wr -= rq.max_wr > 2 && sizes & 0x80;
	p.sq_ring = calloc(sq.entries, sq.entry_size);
	p.rq_ring = calloc(rq.entries, rq.entry_size);
	p.doorbell = calloc(1, sizeof(*p.doorbell));
	FUZZ_CHECK(!dvq_efa_sq_fill(&p.sq, &qp, &sq, (uintptr_t)p.sq_ring,
				    (uintptr_t)p.doorbell));
	FUZZ_CHECK(!dvq_efa_rq_fill(&p.rq, &qp, &rq, (uintptr_t)p.rq_ring,
				    (uintptr_t)p.doorbell));
	if (how & 8) {
		p.sq_ids = calloc(dvq_efa_ids_slots(&p.sq.ids), sizeof(*p.sq_ids));
		FUZZ_CHECK(!dvq_efa_sq_set_pool(&p.sq, p.sq_ids));
	}
	if (how & 16) {
		p.rq_ids = calloc(dvq_efa_ids_slots(&p.rq.ids), sizeof(*p.rq_ids));
		FUZZ_CHECK(!dvq_efa_rq_set_pool(&p.rq, p.rq_ids));
	}
	if (how & 32) {
		p.stage = calloc(1, p.sq.bytes);
		FUZZ_CHECK(!dvq_efa_sq_set_stage(&p.sq, p.stage));
	}
}

static void open_cq(void)
{
	uint8_t how = fuzz8(p.f);
	struct dvq_cq_info info = {
		.cq_num = 3, .mem = DVQ_MEM_KERNEL, .db_format = DVQ_DB_EFA_CQ, .db_width = 4,
		.first_phase = 1, .entry_size = how & 1 ? 32 : 16, .entries = 1u << (how >> 1 & 3),
		.sub_cqs = 1 + (how >> 3 & 3), .ring_key = 0x3000, .ring_length = 1 << 20,
		.db_key = 0x4000, .db_length = 4096,
	};

	p.cq_ring = calloc(info.entries * info.sub_cqs, info.entry_size);
	FUZZ_CHECK(!dvq_efa_cq_fill(&p.cq, &info, (uintptr_t)p.cq_ring,
				    how & 32 ? 0 : (uintptr_t)p.doorbell));
	if (how & 64)
		return;
	p.qps = calloc(ROWS, sizeof(*p.qps));
	FUZZ_CHECK(!dvq_efa_cq_set_qps(&p.cq, p.qps, ROWS));
	FUZZ_CHECK(!dvq_efa_cq_attach(&p.cq, &p.sq, &p.rq));
	p.attached = true;
}

static void close_all(void)
{
	free(p.sq_ring);
	free(p.rq_ring);
	free(p.cq_ring);
	free(p.stage);
	free(p.sq_ids);
	free(p.rq_ids);
	free(p.qps);
	free(p.doorbell);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };

	memset(&p, 0, sizeof(p));
	p.f = &f;
	open_queues();
	open_cq();
	while (fuzz_left(&f))
		act();
	close_all();
	return 0;
}
