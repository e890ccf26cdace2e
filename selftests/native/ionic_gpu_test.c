// SPDX-License-Identifier: GPL-2.0
/* The GPU's part of gpu/ionic.h as a thread; this one is the adapter, and knows doorbells and rings only. */
#define DVQ_WC_WHOLE	0	/* as it is on a GPU */
#include <pthread.h>
#include <sched.h>

#include "../gpu/ionic.h"
#include "ionic_rings.h"

enum { MESSAGES = 3000, ENTRIES = 32, SLOTS = 5, STRIDE = 64 };

static void *run_gpu(void *gpu)
{
	ionic_gpu_run(gpu);
	return NULL;
}

/* the color bit last, as the adapter does */
static void complete(struct ionic_rings *r, uint32_t msn)
{
	const uint32_t entries = r->cq_info[0].entries, n = r->produced[0]++;
	const uint8_t color = n / entries % 2 ? 0 : IONIC_CQE_COLOR;
	struct ionic_cqe cqe = {
		.u.send.msn = htobe32(msn),
		.qid_type_flags = htobe32(RINGS_QP_NUM << 8 | IONIC_CQE_SEND_MSN << 5 | !color),
	};
	uint8_t *at = r->cq_ring[0] + n % entries * sizeof(cqe);

	memcpy(at, &cqe, sizeof(cqe));
	__atomic_store_n(&at[31], IONIC_CQE_SEND_MSN << 5 | color, __ATOMIC_RELEASE);
}

/*
 * Index behind the entries that are the adapter's. An express doorbell is the word at the end of the
 * entry at @index; the next lap brings the same again, so it is taken out.
 */
static uint32_t look(struct ionic_rings *r, enum place place, uint32_t index)
{
	uint64_t *word = (uint64_t *)(r->sq_cmb + index * 64 + 56);

	if (place != EXPRESS)
		return __atomic_load_n(&r->sq_db, __ATOMIC_ACQUIRE) & (ENTRIES - 1);
	if (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		return index;
	CHECK_EQ(*word & 0xffff, (index + 1) % ENTRIES);
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	return (index + 1) % ENTRIES;
}

/* one entry for what one doorbell has brought, as it comes */
static void gpu_posts(enum place place)
{
	struct ionic_rings *r = ionic_rings_new();
	struct ionic_gpu *gpu = calloc(1, sizeof(*gpu));
	uint32_t n = 0, index = 0;
	pthread_t thread;

	r->sq_info.entries = ENTRIES;
	r->cq_info[0].entries = 2 * ENTRIES;
	r->cq_info[1].entries = 0;
	r->sq_db = 0;
	ionic_rings_place(&r->sq_info, place);
	ionic_rings_fill(r);
	gpu->sq = r->sq;
	gpu->cq = r->cq;
	gpu->work = (struct ionic_gpu_work) {
		.messages = MESSAGES, .address = 0x10000, .remote = 0x20000, .stride = STRIDE,
		.slots = SLOTS, .length = STRIDE, .lkey = 6, .rkey = 7, .patience = UINT64_MAX,
	};
	REQUIRE(!pthread_create(&thread, NULL, run_gpu, gpu));
	while (n < MESSAGES) {
		const uint32_t now = look(r, place, index);
		const uint8_t *ring = place == HOST ? r->sq_ring : r->sq_cmb;

		if (now == index) {
			sched_yield();
			continue;
		}
		for (; index != now; index = (index + 1) % ENTRIES, n++) {
			struct ionic_wqe_send wqe;

			memcpy(&wqe, ring + index * 64, sizeof(wqe));
			CHECK_EQ(wqe.header.id, index);
			CHECK_EQ(be32toh(wqe.qpn_addr_lo), 0x20000 + n % SLOTS * STRIDE);
		}
		complete(r, n);
	}
	pthread_join(thread, NULL);
	CHECK_EQ(gpu->error, 0);
	CHECK_EQ(gpu->status, IONIC_IO_OK);
	CHECK_EQ(gpu->done, MESSAGES);
	free(gpu);
	ionic_rings_free(r);
}

TEST(gpu_posts_and_polls_by_itself_host)
{
	gpu_posts(HOST);
}

TEST(gpu_posts_and_polls_by_itself_cmb)
{
	gpu_posts(CMB);
}

TEST(gpu_posts_and_polls_by_itself_express)
{
	gpu_posts(EXPRESS);
}

/* an adapter that never answers */
TEST(gpu_gives_up)
{
	struct ionic_rings *r = ionic_rings_new();
	struct ionic_gpu *gpu = calloc(1, sizeof(*gpu));

	ionic_rings_fill(r);
	gpu->sq = r->sq;
	gpu->cq = r->cq;
	gpu->work = (struct ionic_gpu_work){ .messages = 100, .slots = 1, .patience = 1000 };
	ionic_gpu_run(gpu);
	CHECK_EQ(gpu->error, 0);
	CHECK_EQ(gpu->posted, r->sq_info.entries - 1);
	CHECK_EQ(gpu->done, 0);
	free(gpu);
	ionic_rings_free(r);
}

TAP_MAIN
