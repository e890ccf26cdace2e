// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that lies to the library: what it answers of a device, its QPs and CQs, is nearly
 * right or noise. Whatever opens then works within what was mapped, and everything is unmapped
 * again. Addresses of rings that are the process's own memory are the one thing that is true.
 */
#include <errno.h>
#include <unistd.h>

#include <infiniband/efadv.h>
#include <infiniband/ionic_dv.h>

#include "fake_kernel.h"
#include "fuzz.h"
#include "internal.h"

/* of the file: whatever is mapped of it is there */
#define FILE_BYTES	(INT64_MAX & ~(off_t)4095)
#define POSTS		5

static struct ibv_context *context;
static struct ibv_qp qp;
static struct ibv_cq cq;
static struct ibv_ah ah;
static struct ibv_mr mr;

static const struct fuzz_known known = {
	.value = { 0x10000, 0x1000, 0x4000, 0x2000, 1u << 31, 1ull << 32, 1ull << 40, 65536,
		   32768, 4096, 64, 16, 8, 63, 4097, 0xfff },
};

/* ---- lies ----------------------------------------------------------------------------- */

static uint64_t true_address(uint64_t told, unsigned int ring)
{
	return told ? (uintptr_t)fake_kernel.memory[ring] : 0;
}

static void lie(struct fuzz *f)
{
	struct fake_qp *q = &fake_kernel.qps[1];
	struct fake_cq *c = &fake_kernel.cqs[1];
	uint8_t what = fuzz8(f);

	if (what & 1)
		fuzz_spoil(f, &q->sq, sizeof(q->sq), &known);
	if (what & 2)
		fuzz_spoil(f, &q->rq, sizeof(q->rq), &known);
	if (what & 4)
		fuzz_spoil(f, &c->info, sizeof(c->info), &known);
	if (what & 8)
		fuzz_spoil(f, &c->second, sizeof(c->second), &known);
	if (what & 16)
		fuzz_spoil(f, &q->info, sizeof(q->info), &known);
	if (what & 32)
		fuzz_spoil(f, &fake_kernel.device, sizeof(fake_kernel.device), &known);
	if (what & 64)
		fuzz_spoil(f, &fake_kernel.abi, sizeof(fake_kernel.abi), &known);
	fake_kernel.error = what & 128 ? fuzz8(f) : 0;
	q->sq.user_addr = true_address(q->sq.user_addr, 0);
	q->rq.user_addr = true_address(q->rq.user_addr, 1);
	c->info.user_addr = true_address(c->info.user_addr, 2);
	c->second.user_addr = true_address(c->second.user_addr, 3);
}

/* a ring in memory of the process is as long as the truth is */
static bool is_there(uint64_t ring, uint64_t bytes)
{
	for (unsigned int i = 0; i < 4; i++)
		if (ring == (uintptr_t)fake_kernel.memory[i])
			return bytes <= sizeof(fake_kernel.memory[i]);
	return ring;
}

static void touch(uint64_t address, uint64_t bytes, bool write)
{
	volatile uint8_t *byte = (volatile uint8_t *)(uintptr_t)address;
	uint8_t first, last;

	if (!address || !bytes)
		return;
	first = byte[0];
	last = byte[bytes - 1];
	if (!write)
		return;
	byte[0] = first;
	byte[bytes - 1] = last;
}

/* ---- EFA ------------------------------------------------------------------------------ */

__attribute__((noinline)) static void use_efa_sq(struct dvq_efa_sq *sq)
{
	struct dvq_efa_wr wr;

	for (unsigned int i = 0; i < POSTS; i++) {
		dvq_efa_wr_send(&wr);
		dvq_efa_wr_set_sge(&wr, 1, 2, 3);
		dvq_efa_sq_post(sq, &wr, i);
	}
	dvq_efa_sq_publish(sq);
	touch(sq->ring, sq->bytes, true);
}

__attribute__((noinline)) static void use_efa_rq(struct dvq_efa_rq *rq)
{
	const struct dvq_efa_sge sge[3] = { { 1, 2, 3 } };

	for (unsigned int i = 0; i < POSTS; i++)
		dvq_efa_rq_post(rq, sge, 1 + i % 3, i);
	dvq_efa_rq_publish(rq);
	touch(rq->ring, (rq->mask + 1ull) * EFA_RX_DESC_SIZE, true);
}

__attribute__((noinline)) static void use_efa_cq(struct dvq_efa_cq *ring)
{
	struct dvq_efa_wc wc[16];

	if (!is_there(ring->ring, (uint64_t)ring->bytes * ring->sub_cqs))
		return;
	dvq_efa_cq_poll(ring, wc, 16);
	dvq_efa_cq_arm(ring);
}

static void open_efa(void)
{
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq ring;

	if (!dvq_efa_sq_open(&qp, &sq, sizeof(sq))) {
		use_efa_sq(&sq);
		dvq_efa_sq_close(&sq);
	}
	if (!dvq_efa_rq_open(&qp, &rq, sizeof(rq))) {
		use_efa_rq(&rq);
		dvq_efa_rq_close(&rq);
	}
	if (!dvq_efa_cq_open(&cq, &ring, sizeof(ring))) {
		use_efa_cq(&ring);
		dvq_efa_cq_close(&ring);
	}
}

static void use_wq(const struct efadv_wq_attr *wq)
{
	touch((uintptr_t)wq->buffer, (uint64_t)wq->num_entries * wq->entry_size, true);
	if (wq->doorbell)
		*(volatile uint32_t *)wq->doorbell = 0;
}

static void ask_efadv(void)
{
	struct efadv_wq_attr sq, rq;
	struct efadv_cq_attr ring;
	struct efadv_device_attr device;
	struct efadv_ah_attr handle;
	struct efadv_mr_attr region;
	struct efadv_sq_depth_attr sq_depth = { 0 };
	struct efadv_rq_depth_attr rq_depth = { 0 };

	efadv_query_device(context, &device, sizeof(device));
	efadv_query_ah(&ah, &handle, sizeof(handle));
	efadv_query_mr(&mr, &region, sizeof(region));
	efadv_get_max_sq_depth(context, &sq_depth, sizeof(sq_depth));
	efadv_get_max_rq_depth(context, &rq_depth, sizeof(rq_depth));
	if (!efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq))) {
		use_wq(&sq);
		use_wq(&rq);
	}
	if (efadv_query_cq(&cq, &ring, sizeof(ring)))
		return;
	if (is_there((uintptr_t)ring.buffer, (uint64_t)ring.num_entries * ring.entry_size))
		touch((uintptr_t)ring.buffer, (uint64_t)ring.num_entries * ring.entry_size,
		      false);
	if (ring.doorbell)
		*(volatile uint32_t *)ring.doorbell = 0;
}

/* ---- ionic ---------------------------------------------------------------------------- */

static uint64_t ring_bytes(const struct dvq_ionic_wq *wq)
{
	return (wq->reqs.mask + 1ull) << wq->entry_log2;
}

__attribute__((noinline)) static void use_ionic_sq(struct dvq_ionic_sq *sq)
{
	struct dvq_ionic_req *slots;
	struct dvq_ionic_wr wr;

	if (!is_there(sq->wq.ring, ring_bytes(&sq->wq)))
		return;
	slots = calloc(dvq_ionic_reqs_slots(&sq->wq.reqs), sizeof(*slots));
	dvq_ionic_sq_set_slots(sq, slots);
	for (unsigned int i = 0; i < POSTS; i++) {
		dvq_ionic_wr_send(&wr);
		dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
		dvq_ionic_sq_post(sq, &wr, i);
	}
	dvq_ionic_sq_publish(sq);
	touch(sq->wq.cmb, ring_bytes(&sq->wq), true);
	free(slots);
}

__attribute__((noinline)) static void use_ionic_rq(struct dvq_ionic_rq *rq)
{
	const struct dvq_ionic_sge sge[3] = { { 1, 2, 3 } };
	struct dvq_ionic_req *slots;

	if (!is_there(rq->wq.ring, ring_bytes(&rq->wq)))
		return;
	slots = calloc(dvq_ionic_reqs_slots(&rq->wq.reqs), sizeof(*slots));
	dvq_ionic_rq_set_slots(rq, slots);
	for (unsigned int i = 0; i < POSTS; i++)
		dvq_ionic_rq_post(rq, sge, i % 4, i);
	dvq_ionic_rq_publish(rq);
	touch(rq->wq.cmb, ring_bytes(&rq->wq), true);
	free(slots);
}

__attribute__((noinline)) static void use_ionic_cq(struct dvq_ionic_cq *ring)
{
	struct dvq_ionic_cq_qp rows[4];
	struct dvq_ionic_wc wc[16];

	for (unsigned int i = 0; i < DVQ_IONIC_PIPELINES; i++)
		if (ring->ring[i].ring &&
		    !is_there(ring->ring[i].ring, (ring->ring[i].mask + 1ull) * IONIC_CQE_SIZE))
			return;
	dvq_ionic_cq_set_qps(ring, rows, 4);
	dvq_ionic_cq_poll(ring, wc, 16);
	dvq_ionic_cq_arm(ring, false);
}

static void open_ionic(void)
{
	struct dvq_ionic_sq sq;
	struct dvq_ionic_rq rq;
	struct dvq_ionic_cq ring;

	if (!dvq_ionic_sq_open(&qp, &sq, sizeof(sq))) {
		use_ionic_sq(&sq);
		dvq_ionic_sq_close(&sq);
	}
	if (!dvq_ionic_rq_open(&qp, &rq, sizeof(rq))) {
		use_ionic_rq(&rq);
		dvq_ionic_rq_close(&rq);
	}
	if (!dvq_ionic_cq_open(&cq, &ring, sizeof(ring))) {
		use_ionic_cq(&ring);
		dvq_ionic_cq_close(&ring);
	}
}

static void check_queue(const struct ionic_dv_queue *queue)
{
	FUZZ_CHECK(queue->ptr && queue->size == 1ull << queue->depth_log2 << queue->stride_log2);
	FUZZ_CHECK(queue->mask == (uint16_t)((1ull << queue->depth_log2) - 1));
}

static void ask_ionic_dv(void)
{
	struct ionic_dv_qp queues;
	struct ionic_dv_cq ring;

	ionic_dv_cq_get_udma_mask(&cq);
	ionic_dv_qp_get_udma_idx(&qp);
	if (!ionic_dv_get_qp(&queues, &qp)) {
		check_queue(&queues.sq);
		check_queue(&queues.rq);
	}
	for (unsigned int i = 0; i < 3; i++)
		if (!ionic_dv_get_cq(&ring, &cq, i))
			check_queue(&ring.q);
}

/* ---- both ----------------------------------------------------------------------------- */

static void ask(struct fuzz *f)
{
	struct dvq_device_info device;
	struct dvq_qp_info info;
	struct dvq_wq_info sq, rq;
	struct dvq_cq_info ring;
	/* sizes of programs that are older or newer; structs begin where they end */
	uint8_t size = fuzz8(f);

	dvq_device_query(context, &device, size < sizeof(device) ? size : sizeof(device));
	dvq_qp_query(&qp, &info, size < sizeof(info) ? size : sizeof(info), &sq, &rq,
		     size < sizeof(sq) ? size : sizeof(sq));
	dvq_cq_query(&cq, &ring, size < sizeof(ring) ? size : sizeof(ring));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = { data, data + size };
	bool ionic = fuzz8(&f) & 1;

	context = fake_open(ionic ? FAKE_IONIC : FAKE_DVQ);
	FUZZ_CHECK(!ftruncate(context->cmd_fd, FILE_BYTES));
	qp = (struct ibv_qp){ .context = context, .handle = 1, .state = fuzz8(&f) & 1 };
	cq = (struct ibv_cq){ .context = context, .handle = 1 };
	ah = (struct ibv_ah){ .context = context, .handle = 1 };
	mr = (struct ibv_mr){ .context = context, .handle = 1 };
	while (fuzz_left(&f)) {
		lie(&f);
		if (ionic) {
			open_ionic();
			ask_ionic_dv();
		} else {
			open_efa();
			ask_efadv();
		}
		ask(&f);
	}
	/* loans end when the kernel knows their objects no more */
	fake_kernel.error = 0;
	fake_kernel.qps[1].exists = fake_kernel.cqs[1].exists = false;
	dvq_borrow_reap();
	FUZZ_CHECK(!fake_mappings());
	fake_close(context);
	return 0;
}
