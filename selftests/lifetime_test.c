// SPDX-License-Identifier: GPL-2.0
/*
 * Who lives longer: threads that make, use and destroy at once; processes that end in the middle of a
 * call; files that are passed on; mappings and event channels that outlive what they belong to, the
 * adapter included.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lib/adapter_test.h"
#include "lib/memory.h"
#include "lib/pci.h"
#include "lib/uverbs.h"

#define THREADS		4

static uint8_t memory[3 * 1024 * 1024] __attribute__((aligned(4096)));

/* ---- one of everything, by plain verbs: the lab's lists are for one thread -------------------- */

struct set {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
};

static struct ibv_ah *make_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1, .grh = { .dgid = self->gid, .hop_limit = 64 },
	};

	return ibv_create_ah(pd, &attr);
}

static bool make(struct set *set, struct ibv_context *context, size_t bytes)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = ENDPOINT_QKEY,
	};

	*set = (struct set) { .pd = ibv_alloc_pd(context) };
	set->cq = set->pd ? ibv_create_cq(context, 32, NULL, NULL, 0) : NULL;
	attr.send_cq = attr.recv_cq = set->cq;
	set->qp = set->cq ? ibv_create_qp(set->pd, &attr) : NULL;
	set->mr = set->qp ? ibv_reg_mr(set->pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE) : NULL;
	set->ah = set->mr ? make_ah(set->pd) : NULL;
	return set->ah && !ibv_modify_qp(set->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
							  IBV_QP_PORT | IBV_QP_QKEY);
}

static bool unmake(const struct set *set)
{
	return !ibv_destroy_ah(set->ah) && !ibv_dereg_mr(set->mr) && !ibv_destroy_qp(set->qp) &&
	       !ibv_destroy_cq(set->cq) && !ibv_dealloc_pd(set->pd);
}

/* ---- threads ---------------------------------------------------------------------------------- */

struct thread {
	pthread_t id;
	void (*body)(struct thread *thread);
	struct ibv_context *context;
	struct ibv_pd *pd;
	volatile bool *stop;
	unsigned int n, turns, failures;
};

static void *thread_main(void *arg)
{
	struct thread *thread = arg;

	/* once at least, however late it begins */
	do {
		thread->body(thread);
		thread->turns++;
	} while (!*thread->stop);
	return NULL;
}

static void threads_start(struct thread *threads, unsigned int count, volatile bool *stop,
			  void (*body)(struct thread *thread), struct ibv_pd *pd)
{
	for (unsigned int i = 0; i < count; i++) {
		threads[i] = (struct thread) {
			.body = body, .context = self->context, .pd = pd, .stop = stop, .n = i,
		};
		LAB_NEED(!pthread_create(&threads[i].id, NULL, thread_main, &threads[i]),
			 "pthread_create");
	}
}

static void threads_end(struct thread *threads, unsigned int count, volatile bool *stop)
{
	*stop = true;
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
	for (unsigned int i = 0; i < count; i++) {
		CHECK(threads[i].turns > 0);
		CHECK_EQ(threads[i].failures, 0);
	}
}

/* what goes on meanwhile must not suffer */
static void traffic(unsigned int messages)
{
	struct duo duo = duo_new(NULL);
	struct buffer *from = buffer_new(duo.a->pd, 600, 0);
	struct buffer *to = buffer_new(duo.b->pd, 600, IBV_ACCESS_LOCAL_WRITE);

	for (unsigned int i = 0; i < messages; i++) {
		struct work work = send_work(&duo.to_b, i, from, 0, 600);

		buffer_fill(from, i);
		post_recv_one(duo.b, i, to, 0, 600);
		post_one(duo.a, &work);
		cq_wait_many(duo.a->send_cq, 1);
		cq_wait_many(duo.b->recv_cq, 1);
		buffer_expect(to, 0, 600, i);
	}
	buffer_expect_guards(to);
}

static void with_threads(void (*body)(struct thread *thread), unsigned int count, struct ibv_pd *pd)
{
	struct thread threads[THREADS];
	volatile bool stop = false;
	struct model_stats before;

	if (self->model[0])
		model_stats(self->model, &before);
	threads_start(threads, count, &stop, body, pd);
	traffic(200);
	threads_end(threads, count, &stop);
	lab_drop_all();
	adapter_expect_objects(self, &before);
}

static void make_and_unmake(struct thread *thread)
{
	struct set set;

	thread->failures += !make(&set, thread->context, thread->n & 1 ? 4096 : sizeof(memory)) ||
			    !unmake(&set);
}

ADAPTER_TEST(threads_make_and_destroy)
{
	with_threads(make_and_unmake, THREADS, NULL);
}

static void register_same_memory(struct thread *thread)
{
	struct ibv_mr *mr = ibv_reg_mr(thread->pd, memory + thread->n * 100, 70000,
				       IBV_ACCESS_LOCAL_WRITE);

	thread->failures += !mr || ibv_dereg_mr(mr);
}

ADAPTER_TEST(threads_register_the_same_memory)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->context);

	REQUIRE(pd);
	with_threads(register_same_memory, THREADS, pd);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* On EFA they share one handle of the adapter, which comes with the first and goes with the last. */
static void handle_to_same_gid(struct thread *thread)
{
	struct ibv_ah *ah = make_ah(thread->pd);

	thread->failures += !ah || ibv_destroy_ah(ah);
}

ADAPTER_TEST(threads_share_an_address)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->context);

	REQUIRE(pd);
	with_threads(handle_to_same_gid, THREADS, pd);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
}

/* ---- ends in the middle ----------------------------------------------------------------------- */

/* threads in all kinds of calls, until somebody kills them or one of them leaves */
static void leave_in_the_middle(void *arg)
{
	unsigned int us = *(unsigned int *)arg;
	struct adapter adapter = *self;
	static volatile bool stop;
	struct thread threads[THREADS];

	adapter.context = ibv_open_device(adapter.device);
	REQUIRE(adapter.context);
	self = &adapter;
	threads_start(threads, THREADS, &stop, make_and_unmake, NULL);
	usleep(us);
	if (us & 1)
		raise(SIGKILL);
	fflush(stdout);
	_exit(0);
}

ADAPTER_TEST(process_ends_in_the_middle_of_calls)
{
	struct model_stats before;
	uint32_t random = 4711;

	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int round = 0; round < 20; round++) {
		unsigned int us = lab_random(&random) % 60000;
		pid_t pid = child_start(leave_in_the_middle, &us);
		int status;

		REQUIRE(waitpid(pid, &status, 0) == pid);
		CHECK(us & 1 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL :
			       WIFEXITED(status) && !WEXITSTATUS(status));
		adapter_expect_objects(self, &before);
	}
}

/* ---- files that are passed on ------------------------------------------------------------------ */

static void make_objects(void *arg)
{
	struct raw *raw = arg;
	uint32_t pd;

	CHECK_EQ(raw_pd(raw, NULL, &pd), 0);
	CHECK_EQ(raw_pd(raw, NULL, &pd), 0);
	CHECK_EQ(raw_pd_destroy(raw, raw->pd), 0);
}

static struct raw *any_raw(void)
{
	struct dvq_ionic_ctx_resp resp;

	return self->kind == ADAPTER_EFA ? raw_new(self) : raw_new_ionic(self, &resp);
}

/* Objects belong to the file: they may be made and destroyed by whoever has it, and go with its last user. */
ADAPTER_TEST(child_works_on_inherited_file)
{
	struct raw *raw = any_raw();
	struct model_stats before;
	pid_t pid;

	if (self->model[0])
		model_stats(self->model, &before);
	pid = child_start(make_objects, raw);
	child_end(pid);
	/* the one that was there has gone, two have come and stay without the child */
	if (self->kind == ADAPTER_EFA && self->model[0])
		CHECK_EQ(model_delta(self->model, &before, "pd"), 1);
	CHECK(raw_pd_destroy(raw, raw->pd) < 0);
	CHECK_EQ(lab_drop(raw), 0);
	if (self->kind == ADAPTER_EFA && self->model[0])
		CHECK_EQ(model_delta(self->model, &before, "pd"), (uint64_t)-1);
}

/* the file lives on in a child that only sleeps; then everything goes with the child */
static void wait_for_word(void *arg)
{
	char byte;

	while (read(*(int *)arg, &byte, 1) > 0)
		;
}

ADAPTER_TEST(file_outlives_its_process)
{
	struct model_stats before;
	struct raw *raw;
	int fd[2];
	pid_t pid;

	need_model();
	if (self->kind != ADAPTER_EFA)
		SKIP("counts the adapter's PDs, which an ionic does not know");
	model_stats(self->model, &before);
	raw = any_raw();
	REQUIRE(!pipe2(fd, O_CLOEXEC));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		close(fd[1]);
		wait_for_word(&fd[0]);
		_exit(0);
	}
	close(fd[0]);
	CHECK_EQ(lab_drop(raw), 0);
	CHECK_EQ(model_delta(self->model, &before, "pd"), 1);
	close(fd[1]);
	child_end(pid);
	adapter_expect_objects(self, &before);
}

/* ---- mappings --------------------------------------------------------------------------------- */

/* what a QP of an EFA maps, as the provider does */
struct rings {
	uint32_t qp, cq;
	uint8_t *llq, *rq, *entries;
	volatile uint32_t *doorbell;
	size_t llq_bytes, rq_bytes, cq_bytes;
};

static void *map(const struct raw *raw, uint64_t key, size_t bytes, int prot)
{
	void *at = mmap(NULL, bytes, prot, MAP_SHARED, raw->fd, key);

	LAB_NEED(at != MAP_FAILED, "mmap: %s", strerror(errno));
	return at;
}

static struct rings rings_new(const struct raw *raw)
{
	struct dvq_efa_qp_resp qp;
	struct dvq_efa_cq_resp cq;
	struct raw_qp usual;
	struct rings rings;
	uint32_t num;

	rings.cq = raw_cq_new(raw, &cq);
	usual = raw_qp_usual(raw, rings.cq);
	rings.qp = raw_qp_new(raw, &usual, &qp, &num);
	rings.llq_bytes = PAGE;
	rings.rq_bytes = qp.rq_mmap_size;
	rings.cq_bytes = cq.q_mmap_size;
	rings.llq = map(raw, qp.llq_desc_mmap_key, rings.llq_bytes, PROT_WRITE);
	rings.rq = map(raw, qp.rq_mmap_key, rings.rq_bytes, PROT_READ | PROT_WRITE);
	rings.entries = map(raw, cq.q_mmap_key, rings.cq_bytes, PROT_READ);
	rings.doorbell = map(raw, qp.rq_db_mmap_key, PAGE, PROT_WRITE);
	return rings;
}

static void rings_unmap(const struct rings *rings)
{
	CHECK(!munmap(rings->llq, rings->llq_bytes));
	CHECK(!munmap(rings->rq, rings->rq_bytes));
	CHECK(!munmap(rings->entries, rings->cq_bytes));
	CHECK(!munmap((void *)rings->doorbell, PAGE));
}

/* Memory of a ring is nobody else's while somebody sees it. */
ADAPTER_TEST(mapping_outlives_its_queue)
{
	struct rings rings, other;
	struct raw *raw;

	need_efa();
	if (!self->dvq)
		SKIP("needs dvq_efa: how long other drivers keep memory is theirs");
	raw = raw_new(self);
	rings = rings_new(raw);
	fill(rings.rq, rings.rq_bytes, 1);
	CHECK_EQ(raw_qp_destroy(raw, rings.qp), 0);
	CHECK_EQ(raw_cq_destroy(raw, rings.cq), 0);
	for (unsigned int i = 0; i < 50; i++) {
		other = rings_new(raw);
		/* clean, not what is still to be seen through the first mapping */
		for (size_t at = 0; at < other.rq_bytes; at++)
			LAB_NEED(!other.rq[at], "byte %zu of a new ring", at);
		fill(other.rq, other.rq_bytes, 2);
		CHECK_EQ(raw_qp_destroy(raw, other.qp), 0);
		CHECK_EQ(raw_cq_destroy(raw, other.cq), 0);
		rings_unmap(&other);
		REQUIRE(first_difference(rings.rq, rings.rq_bytes, 1) == rings.rq_bytes);
	}
	/* nor with the file */
	CHECK_EQ(lab_drop(raw), 0);
	CHECK_EQ(first_difference(rings.rq, rings.rq_bytes, 1), rings.rq_bytes);
	rings_unmap(&rings);
}

/* ---- a mapping that is being made ------------------------------------------------------------- */

#define MMAP_TEST	"/sys/module/mmap_test/parameters/"

static int drop_module(void *unused)
{
	(void)unused;
	CHECK(sysfs_write(MMAP_TEST "hold", "0"));
	return syscall(SYS_delete_module, "mmap_test", 0) ? errno : 0;
}

/* selftests/kernel/mmap_test.c */
static void need_mmap_test(void)
{
	const char *build = getenv("DVQ_BUILD");
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/test_modules/mmap_test.ko", build ? build : "");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		SKIP("no mmap_test.ko: it is built for guests only (make suite), with kprobes (CONFIG_KPROBES)");
	LAB_NEED(!syscall(SYS_finit_module, fd, "", 0), "%s: %s", path, strerror(errno));
	close(fd);
	lab_hold(drop_module, path);
}

/* @pages that were mapped have @references each */
static void expect_references(unsigned int pages, int references)
{
	FILE *in = fopen(MMAP_TEST "pages", "r");
	unsigned int have = 0;
	int least, most;

	REQUIRE(in);
	CHECK_EQ(fscanf(in, "%u %d %d", &have, &least, &most), 3);
	fclose(in);
	CHECK_EQ(have, pages);
	CHECK_EQ(least, references);
	CHECK_EQ(most, references);
}

/*
 * An mmap() has found the ring and is still at work while @destroy frees it: what it inserts from then on must not
 * be somebody else's. Only the entry that it holds keeps the pages here, as nothing maps them any more.
 */
static void map_during_destroy(const struct raw *raw, uint64_t key, size_t bytes, int prot,
			       int (*destroy)(const struct raw *raw, uint32_t handle), uint32_t handle)
{
	CHECK(sysfs_write(MMAP_TEST "hold", "1"));
	CHECK(!munmap(map(raw, key, bytes, prot), bytes));
	CHECK_EQ(destroy(raw, handle), 0);
	expect_references(bytes / PAGE, 1);
	CHECK(sysfs_write(MMAP_TEST "hold", "0"));
	expect_references(bytes / PAGE, 0);
}

ADAPTER_TEST(ring_destroyed_while_it_is_mapped)
{
	struct dvq_efa_qp_resp qp_resp;
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp usual;
	struct raw *raw;
	uint32_t cq, qp, num;

	need_efa();
	if (!self->dvq)
		SKIP("needs dvq_efa: how other drivers keep memory is theirs");
	raw = raw_new(self);
	need_mmap_test();
	cq = raw_cq_new(raw, &cq_resp);
	usual = raw_qp_usual(raw, cq);
	usual.cap.max_recv_wr = 1024;
	usual.req.rq_ring_size = 1024 * 16;
	qp = raw_qp_new(raw, &usual, &qp_resp, &num);
	map_during_destroy(raw, qp_resp.rq_mmap_key, qp_resp.rq_mmap_size, PROT_READ | PROT_WRITE,
			   raw_qp_destroy, qp);
	map_during_destroy(raw, cq_resp.q_mmap_key, cq_resp.q_mmap_size, PROT_READ, raw_cq_destroy, cq);
}

/* ---- the adapter goes first ------------------------------------------------------------------- */

static char slot[PCI_NAME];

/* the driver of the PCI function lets go of it; the last thing that is undone is that it takes it again */
static int take_again(void *unused)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	char path[PATH_MAX], why[256];

	(void)unused;
	adapters_close();
	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/bind",
		 self->kind == ADAPTER_EFA ? "dvq_efa" : "ionic");
	LAB_NEED(sysfs_write(path, slot), "binding again: %s", strerror(errno));
	while (!adapters_find(self->kind, why, sizeof(why)) || peer == self)
		LAB_NEED(now_ms() < end, "%s", why);
	adapters_open();
	return 0;
}

static void take_adapter_away(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/unbind",
		 self->kind == ADAPTER_EFA ? "dvq_efa" : "ionic");
	CHECK(sysfs_write(path, slot));
}

static void need_to_lose_it(void)
{
	if (!self->dvq)
		SKIP("needs dvq's driver: others may not come back");
	if (peer == self)
		SKIP("needs two adapters: one goes away");
	need_leave();
	pci_name(self, slot);
	lab_hold(take_again, slot);
}

/* Doorbells swallow stores, rings keep what they had; nobody gets a signal. */
ADAPTER_TEST(mapping_outlives_the_adapter)
{
	struct rings rings;
	struct raw *raw;

	need_efa();
	need_to_lose_it();
	raw = raw_new(self);
	rings = rings_new(raw);
	fill(rings.rq, rings.rq_bytes, 1);
	take_adapter_away();
	*rings.doorbell = 1;
	memset(rings.llq, 0xff, 64);
	CHECK_EQ(first_difference(rings.rq, rings.rq_bytes, 1), rings.rq_bytes);
	CHECK_EQ(rings.entries[0], 0);
	CHECK_EQ(lab_drop(raw), 0);
	*rings.doorbell = 2;
	CHECK_EQ(first_difference(rings.rq, rings.rq_bytes, 1), rings.rq_bytes);
	rings_unmap(&rings);
}

ADAPTER_TEST(doorbell_page_outlives_the_adapter)
{
	struct dvq_ionic_ctx_resp resp;
	volatile uint64_t *page;
	struct raw *raw;

	need_ionic();
	need_to_lose_it();
	raw = raw_new_ionic(self, &resp);
	page = map(raw, resp.dbell_offset, PAGE, PROT_WRITE);
	take_adapter_away();
	page[0] = 1;
	CHECK_EQ(lab_drop(raw), 0);
	page[0] = 2;
	CHECK(!munmap((void *)page, PAGE));
}

/* who waits for events is woken and told, and can close */
ADAPTER_TEST(channels_outlive_the_adapter)
{
	struct ibv_comp_channel *channel;
	struct ibv_async_event event;
	struct ibv_context *context;
	struct set set;
	struct ibv_cq *cq;
	void *cookie;

	need_events();
	need_to_lose_it();
	context = ibv_open_device(self->device);
	REQUIRE(context);
	channel = ibv_create_comp_channel(context);
	REQUIRE(channel);
	cq = ibv_create_cq(context, 16, NULL, channel, 0);
	REQUIRE(cq && !ibv_req_notify_cq(cq, 0));
	REQUIRE(make(&set, context, 4096));
	take_adapter_away();
	CHECK(fd_is_readable(context->async_fd, PATIENCE_MS));
	CHECK(!ibv_get_async_event(context, &event));
	CHECK_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	CHECK(fd_is_readable(channel->fd, PATIENCE_MS));
	CHECK(ibv_get_cq_event(channel, &cq, &cookie));
	CHECK(!ibv_alloc_pd(context));
	/* in the order of a program that does not know */
	CHECK(unmake(&set));
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(channel), 0);
	CHECK_EQ(ibv_close_device(context), 0);
}

/* Regions whose memory went first: what was pinned is let go with the region, not with the mapping. */
ADAPTER_TEST(region_outlives_its_mapping)
{
	struct ibv_pd *pd = pd_new(self);
	struct ibv_mr *mr[8];

	for (unsigned int i = 0; i < 8; i++) {
		void *at = mmap(NULL, 70 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		REQUIRE(at != MAP_FAILED);
		mr[i] = ibv_reg_mr(pd, at, 70 * PAGE, IBV_ACCESS_LOCAL_WRITE);
		REQUIRE(mr[i]);
		CHECK(!munmap(at, 70 * PAGE));
	}
	traffic(5);
	for (unsigned int i = 0; i < 8; i++)
		CHECK_EQ(ibv_dereg_mr(mr[i]), 0);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
