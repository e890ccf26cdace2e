// SPDX-License-Identifier: GPL-2.0
/*
 * Threads in the library, for the thread sanitizer (script tsan): one that posts beside one that
 * polls without a lock, as ids.h allows with the caller's ids; and many that open, ask and close
 * while the kernel fails now and then.
 */
#include <dvq/dvq.h>
#include <infiniband/efadv.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "fake_kernel.h"
#include "rings.h"

enum { MESSAGES = 20000, MAKERS = 4, ROUNDS = 300 };

/*
 * Words that two threads share without order are volatile (mmio.h) and no races: the compiler is
 * told to call these for them.
 */
#define IGNORED(name)	void name(void *address); void name(void *address) { (void)address; }
IGNORED(__tsan_volatile_read1)
IGNORED(__tsan_volatile_read2)
IGNORED(__tsan_volatile_read4)
IGNORED(__tsan_volatile_read8)
IGNORED(__tsan_volatile_write1)
IGNORED(__tsan_volatile_write2)
IGNORED(__tsan_volatile_write4)
IGNORED(__tsan_volatile_write8)

/* ---- a poster and a poller -------------------------------------------------------------- */

static struct rings *shared;
static atomic_uint posted, seen;	/* the adapter's view of the doorbell, and of the poller */
static atomic_bool bad;

static void *post_all(void *unused)
{
	(void)unused;
	for (unsigned int i = 0; i < MESSAGES; ) {
		struct dvq_efa_wr wr = rings_send();

		if (rings_post_wr(&shared->sq, &wr, i & 7)) {
			sched_yield();
			continue;
		}
		rings_publish(shared);
		atomic_store_explicit(&posted, ++i, memory_order_release);
	}
	return NULL;
}

/* the adapter and the poller in one: what was rung is done at once */
static void *poll_all(void *unused)
{
	struct dvq_efa_wc wc;

	(void)unused;
	for (unsigned int i = 0; i < MESSAGES; ) {
		if (atomic_load_explicit(&posted, memory_order_acquire) == i) {
			sched_yield();
			continue;
		}
		rings_send_done(shared, 0, RINGS_QP_NUM, (i & 7) | shared->qp.generation << 3, 0);
		if (rings_poll(shared, &wc, 1) != 1 || wc.wr_id != (i & 7))
			atomic_store(&bad, true);
		i++;
	}
	atomic_store(&seen, MESSAGES);
	return NULL;
}

TEST(f16_poster_beside_a_poller_without_a_lock)
{
	pthread_t poster, poller;

	shared = rings_new();
	rings_fill(shared);	/* the caller's ids: no pool */
	CHECK_EQ(dvq_efa_cq_attach(&shared->cq, &shared->sq, NULL), 0);
	REQUIRE(!pthread_create(&poster, NULL, post_all, NULL));
	REQUIRE(!pthread_create(&poller, NULL, poll_all, NULL));
	pthread_join(poster, NULL);
	pthread_join(poller, NULL);
	CHECK(!bad);
	CHECK_EQ(seen, MESSAGES);
	CHECK_EQ(dvq_efa_sq_room(&shared->sq), 8);
	rings_free(shared);
}

/* ---- queues that were taken over ---------------------------------------------------------- */

static struct {
	struct ibv_qp_ex qp;
	struct ibv_cq_ex cq;
	uint8_t *file;		/* of the fake kernel; other addresses than the library's */
} taken;

static void *send_many(void *unused)
{
	struct ibv_ah ah = { .context = taken.qp.qp_base.context, .handle = 1 };

	(void)unused;
	for (unsigned int i = 0; i < MESSAGES && !atomic_load(&bad); ) {
		int ret;

		ibv_wr_start(&taken.qp);
		taken.qp.wr_id = i;
		taken.qp.wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(&taken.qp);
		ibv_wr_set_ud_addr(&taken.qp, &ah, 77, 1);
		ibv_wr_set_sge(&taken.qp, 1, 0x1000, 8);
		ret = ibv_wr_complete(&taken.qp);
		if (!ret)
			atomic_store_explicit(&posted, ++i, memory_order_release);
		else if (ret != ENOMEM)
			atomic_store(&bad, true);
		else
			sched_yield();
	}
	return NULL;
}

/* stands for the provider's builder: the QP was created for sends */
static void no_builder(struct ibv_qp_ex *qp)
{
	(void)qp;
}

/* the adapter, which orders its stores by means that no program has: request @n is done; @device_lock is held */
__attribute__((no_sanitize("thread"), noinline)) static void complete(unsigned int n)
{
	const struct dvq_wq_info *sq = &fake_kernel.qps[1].sq;
	const struct dvq_cq_info *cq = &fake_kernel.cqs[1].info;
	const volatile uint8_t *wqe = taken.file + sq->ring_key + sq->ring_offset + n % sq->entries * 64;
	volatile uint8_t *entry = taken.file + cq->ring_key + n % cq->entries * cq->entry_size;

	entry[0] = wqe[0];
	entry[1] = wqe[1];
	entry[2] = 0;
	entry[4] = 55;
	__atomic_store_n(&entry[3], EFA_CQE_QTYPE_SEND << 1 | !(n / cq->entries % 2), __ATOMIC_RELEASE);
}

static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned int completed;

static void *poll_many(void *unused)
{
	struct ibv_wc wc[4];

	(void)unused;
	while (atomic_load(&seen) < MESSAGES && !atomic_load(&bad)) {
		int n;

		pthread_mutex_lock(&device_lock);
		/* never more than the ring has room for */
		if (completed < atomic_load_explicit(&posted, memory_order_acquire) &&
		    completed < atomic_load(&seen) + 64)
			complete(completed++);
		pthread_mutex_unlock(&device_lock);
		n = ibv_poll_cq(ibv_cq_ex_to_cq(&taken.cq), 4, wc);
		for (int i = 0; i < n; i++)
			if (wc[i].wr_id >= MESSAGES || wc[i].status)
				atomic_store(&bad, true);
		if (n > 0)
			atomic_fetch_add(&seen, n);
		else
			sched_yield();
	}
	return NULL;
}

static int not_called(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	(void)qp;
	(void)wr;
	(void)bad_wr;
	return EIO;
}

/* one that posts and two that poll, each with the locks of the library alone */
TEST(taken_over_poster_beside_pollers)
{
	struct ibv_context *mine = fake_open(FAKE_DVQ);
	pthread_t poster, poller[2];

	bad = false;
	posted = 0;
	seen = 0;
	fake_kernel.cqs[1].info.sub_cqs = 1;
	mine->ops.post_send = not_called;
	taken.file = mmap(NULL, FAKE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, mine->cmd_fd, 0);
	REQUIRE(taken.file != MAP_FAILED);
	taken.cq.context = mine;
	taken.cq.handle = 1;
	taken.qp.qp_base = (struct ibv_qp){
		.context = mine, .handle = 1, .state = IBV_QPS_INIT,
		.send_cq = ibv_cq_ex_to_cq(&taken.cq), .recv_cq = ibv_cq_ex_to_cq(&taken.cq),
	};
	taken.qp.wr_send = no_builder;
	REQUIRE(!dvq_efa_take_over(&taken.qp.qp_base));
	taken.qp.qp_base.state = IBV_QPS_RTS;
	REQUIRE(!pthread_create(&poster, NULL, send_many, NULL));
	for (unsigned int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&poller[i], NULL, poll_many, NULL));
	pthread_join(poster, NULL);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(poller[i], NULL);
	CHECK(!bad);
	CHECK_EQ(seen, MESSAGES);
	munmap(taken.file, FAKE_FILE_BYTES);
	fake_kernel.qps[1].exists = false;
	fake_close(mine);
}

/* ---- many that open and close -------------------------------------------------------- */

static struct ibv_context *context;

static void *open_and_close(void *arg)
{
	struct ibv_qp qp = { .context = context, .handle = 1, .state = IBV_QPS_INIT };
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	unsigned int turn = (uintptr_t)arg;

	for (unsigned int i = 0; i < ROUNDS; i++, turn++) {
		struct efadv_wq_attr sq_attr, rq_attr;
		struct dvq_efa_sq sq;
		struct dvq_efa_cq cq;
		int ret;

		/* for whoever asks next */
		__atomic_store_n(&fake_kernel.error, turn % 5 ? 0 : EIO, __ATOMIC_RELAXED);
		ret = dvq_efa_sq_open(&qp, &sq, sizeof(sq));
		if (!ret)
			dvq_efa_sq_close(&sq);
		else if (!dvq_reason()[0])
			atomic_store(&bad, true);
		ret = dvq_efa_cq_open(&verbs_cq, &cq, sizeof(cq));
		if (!ret)
			dvq_efa_cq_close(&cq);
		ret = efadv_query_qp_wqs(&qp, &sq_attr, &rq_attr, sizeof(sq_attr));
		if (ret && ret != EIO)
			atomic_store(&bad, true);
	}
	return NULL;
}

TEST(f20_many_open_ask_and_close)
{
	pthread_t maker[MAKERS];

	bad = false;
	context = fake_open(FAKE_DVQ);
	for (uintptr_t i = 0; i < MAKERS; i++)
		REQUIRE(!pthread_create(&maker[i], NULL, open_and_close, (void *)i));
	for (unsigned int i = 0; i < MAKERS; i++)
		pthread_join(maker[i], NULL);
	CHECK(!bad);
	fake_kernel.error = 0;
	/* what efadv_query_qp_wqs() has mapped goes with the QP */
	fake_kernel.qps[1].exists = false;
	fake_close(context);
}

TAP_MAIN
