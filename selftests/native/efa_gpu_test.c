// SPDX-License-Identifier: GPL-2.0
/* The GPU's part of gpu/efa.h as a thread; this one is the adapter, and knows doorbells and rings only. */
#include <pthread.h>
#include <sched.h>

#include "../gpu/efa.h"
#include "rings.h"

enum { MESSAGES = 3000, ENTRIES = 32, SLOTS = 5, STRIDE = 64 };

static void *run_gpu(void *gpu)
{
	efa_gpu_run(gpu);
	return NULL;
}

/* the phase bit last, as the adapter does */
static void complete(struct rings *r, uint16_t id, uint8_t status)
{
	const uint32_t entries = r->cq_info.entries, n = r->produced[0]++;
	const uint8_t phase = (n / entries & 1) ^ r->cq_info.first_phase;
	struct efa_cqe_tx cqe = {
		.common = { .req_id = id, .status = status, .qp_num = RINGS_QP_NUM,
			    .flags = EFA_CQE_QTYPE_SEND << 1 | !phase },
	};
	uint8_t *at = r->cq_ring + n % entries * r->cq_info.entry_size;

	memcpy(at, &cqe, sizeof(cqe));
	__atomic_store_n(&at[3], EFA_CQE_QTYPE_SEND << 1 | phase, __ATOMIC_RELEASE);
}

static void check_entry(const struct efa_wqe *wqe, uint32_t n)
{
	CHECK_EQ(wqe->meta.ctrl2 & EFA_WQE_PHASE, n / ENTRIES & 1);
	CHECK_EQ(wqe->meta.dest_qp_num, 4);
	CHECK_EQ(wqe->u.sgl[0].addr_lo, 0x10000 + n % SLOTS * STRIDE);
}

TEST(gpu_posts_and_polls_by_itself)
{
	struct rings *r = rings_new();
	struct efa_gpu *gpu = calloc(1, sizeof(*gpu));
	uint16_t seen = 0;
	pthread_t thread;

	r->sq_info.entries = r->sq_info.max_wr = ENTRIES;
	r->sq_info.max_batch = 8;
	r->cq_info.entries = 2 * ENTRIES;
	rings_fill(r);
	gpu->sq = r->sq;
	gpu->cq = r->cq;
	gpu->work = (struct efa_gpu_work) {
		.messages = MESSAGES, .address = 0x10000, .stride = STRIDE, .slots = SLOTS, .length = 8,
		.lkey = 6, .qkey = 5, .qp_num = 4, .ah = 3, .patience = UINT64_MAX,
	};
	REQUIRE(!pthread_create(&thread, NULL, run_gpu, gpu));
	for (uint32_t n = 0; n < MESSAGES; n++) {
		struct efa_wqe wqe;

		while ((uint16_t)__atomic_load_n(&r->sq_db, __ATOMIC_ACQUIRE) == seen)
			sched_yield();
		wqe = rings_wqe(r, n % ENTRIES);
		check_entry(&wqe, n);
		seen++;
		complete(r, wqe.meta.req_id, n == 77 ? EFA_IO_REMOTE_RNR : EFA_IO_OK);
	}
	pthread_join(thread, NULL);
	CHECK_EQ(gpu->error, 0);
	CHECK_EQ(gpu->status, EFA_IO_REMOTE_RNR);
	CHECK_EQ(gpu->done, MESSAGES);
	free(gpu);
	rings_free(r);
}

/* an adapter that never answers */
TEST(gpu_gives_up)
{
	struct rings *r = rings_new();
	struct efa_gpu *gpu = calloc(1, sizeof(*gpu));

	rings_fill(r);
	gpu->sq = r->sq;
	gpu->cq = r->cq;
	gpu->work = (struct efa_gpu_work){ .messages = 100, .slots = 1, .patience = 1000 };
	efa_gpu_run(gpu);
	CHECK_EQ(gpu->error, 0);
	CHECK_EQ(gpu->posted, r->sq_info.max_wr);
	CHECK_EQ(gpu->done, 0);
	free(gpu);
	rings_free(r);
}

TAP_MAIN
