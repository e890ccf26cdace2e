// SPDX-License-Identifier: GPL-2.0
/*
 * Take-over without an adapter: the kernel is fake_kernel.c, the provider stock/libefa.c, and the device
 * this test, which looks at the rings and writes completions.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvq/dvq.h>
#include <infiniband/efadv.h>

#include "cost.h"
#include "fake_kernel.h"
#include "internal.h"
#include "stock/stock.h"
#include "takeover.h"
#include "tap.h"

#define SEND_LIMIT	260
#define POLL_LIMIT	165

#define MINUTE	60	/* until a test that waits for itself is ended */

#define GUARD	0x5a	/* behind what rdma-core 44 has of a QP */

/* objects of a provider, with what must not be written behind them */
struct scene {
	struct ibv_context *context;
	struct { struct ibv_qp_ex ex; uint8_t guard[16]; } qp;
	struct { struct ibv_cq_ex ex; uint8_t guard[16]; } cq;
	struct ibv_ah ah;
	struct ibv_pd pd;
	uint8_t *file;		/* of the fake kernel: rings and doorbells by key */
	unsigned int received;	/* entries written to the CQ */
	struct stock_log *stock;
};

static struct scene s;

static struct dvq_changes *changes(void)
{
	return (struct dvq_changes *)(s.file + fake_kernel.context.changes_key);
}

static int provider_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	(void)wr;
	(void)bad;
	return 111;
}

static int provider_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	return 222;
}

static int provider_arm(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 333;
}

static enum ibv_wc_opcode provider_opcode(struct ibv_cq_ex *cq)
{
	(void)cq;
	return (enum ibv_wc_opcode)444;
}

/* a QP and a CQ of 32-byte entries in one ring, nothing taken over */
static void set_scene(int release)
{
	void *stock = dlopen(release == 44 ? STOCK_DIR "/44/libefa.so.1.2.44.0" :
					     STOCK_DIR "/65/libefa.so.1.7.65.0", RTLD_NOW | RTLD_LOCAL);
	struct ibv_context *context = fake_open(FAKE_DVQ);

	memset(&s, 0, sizeof(s));
	memset(s.qp.guard, GUARD, sizeof(s.qp.guard));
	memset(s.cq.guard, GUARD, sizeof(s.cq.guard));
	REQUIRE(stock);
	context->ops.post_send = (int (*)(struct ibv_qp *, struct ibv_send_wr *,
					  struct ibv_send_wr **))dlsym(stock, "stock_post_send");
	s.stock = dlsym(stock, "stock_log");
	memset(s.stock, 0, sizeof(*s.stock));
	context->ops.post_recv = provider_post_recv;
	context->ops.poll_cq = provider_poll;
	context->ops.req_notify_cq = provider_arm;
	s.context = context;
	s.file = mmap(NULL, FAKE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, context->cmd_fd, 0);
	REQUIRE(s.file != MAP_FAILED);
	fake_kernel.cqs[1].info.sub_cqs = 1;
	fake_kernel.cqs[1].info.qps = 2;
	s.pd.context = context;
	s.ah = (struct ibv_ah){ .context = context, .handle = 1 };
	s.cq.ex = (struct ibv_cq_ex){ .context = context, .handle = 1, .read_opcode = provider_opcode };
	s.qp.ex.qp_base = (struct ibv_qp){
		.context = context, .handle = 1, .qp_num = 55, .state = IBV_QPS_RESET,
		.send_cq = ibv_cq_ex_to_cq(&s.cq.ex), .recv_cq = ibv_cq_ex_to_cq(&s.cq.ex),
	};
	s.qp.ex.wr_send = (void (*)(struct ibv_qp_ex *))(void *)provider_opcode;
	s.qp.ex.wr_rdma_write = (void (*)(struct ibv_qp_ex *, uint32_t, uint64_t))(void *)provider_opcode;
}

static void end_scene(void)
{
	for (size_t i = 0; i < sizeof(s.qp.guard); i++) {
		CHECK_EQ(s.qp.guard[i], GUARD);
		CHECK_EQ(s.cq.guard[i], GUARD);
	}
	munmap(s.file, FAKE_FILE_BYTES);
	fake_kernel.qps[1].exists = false;
	fake_kernel.cqs[1].exists = false;
	fake_close(s.context);
	/* forgets it all */
	efadv_query_device(NULL, NULL, 0);
}

static void take(void)
{
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), 0);
	CHECK_EQ(dvq_efa_is_taken_over(&s.qp.ex.qp_base), 1);
	s.qp.ex.qp_base.state = IBV_QPS_RTS;
}

static uint64_t *wqe(unsigned int n)
{
	return (uint64_t *)(s.file + fake_kernel.qps[1].sq.ring_key + fake_kernel.qps[1].sq.ring_offset) + 8 * n;
}

static uint32_t doorbell(const struct dvq_wq_info *wq)
{
	return *(uint32_t *)(s.file + wq->db_key + wq->db_offset);
}

static uint32_t sends_rung(void)
{
	return doorbell(&fake_kernel.qps[1].sq);
}

/* as the device: @id ends; @flags without the phase */
static void complete(uint16_t id, uint8_t status, uint8_t flags, uint16_t qp_num, uint16_t low)
{
	const struct dvq_cq_info *info = &fake_kernel.cqs[1].info;
	uint8_t *entry = s.file + info->ring_key + s.received % info->entries * info->entry_size;
	uint8_t phase = !(s.received / info->entries % 2);

	memset(entry, 0, info->entry_size);
	memcpy(entry, &id, 2);
	entry[2] = status;
	entry[3] = (uint8_t)(flags | phase);
	memcpy(entry + 4, &qp_num, 2);
	memcpy(entry + 6, &low, 2);
	s.received++;
}

#define SENT	(EFA_CQE_QTYPE_SEND << 1)
#define GOT	(EFA_CQE_QTYPE_RECV << 1)

static uint16_t id_of(unsigned int n)
{
	return (uint16_t)wqe(n)[0];
}

static void put_send(uint64_t wr_id)
{
	s.qp.ex.wr_id = wr_id;
	s.qp.ex.wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(&s.qp.ex);
	ibv_wr_set_ud_addr(&s.qp.ex, &s.ah, 77, 0x1234);
	ibv_wr_set_sge(&s.qp.ex, 0xabc, 0x1000, 100);
}

static int send_one(uint64_t wr_id)
{
	ibv_wr_start(&s.qp.ex);
	put_send(wr_id);
	return ibv_wr_complete(&s.qp.ex);
}

static struct ibv_cq *cq(void)
{
	return ibv_cq_ex_to_cq(&s.cq.ex);
}

/* a QP without the extended interface at @handle, as the provider leaves it, on a CQ */
static struct ibv_qp_ex *set_plain_qp(uint32_t handle, struct ibv_cq *on, enum ibv_qp_state state)
{
	struct stock_qp *qp = calloc(1, sizeof(*qp));
	struct fake_qp *fake = &fake_kernel.qps[handle];
	struct ibv_qp_ex *ex = &qp->ex;

	REQUIRE(qp);
	ex->qp_base = (struct ibv_qp){
		.context = s.context, .handle = handle, .qp_num = 55 + handle, .state = state,
		.send_cq = on, .recv_cq = on,
	};
	*fake = fake_kernel.qps[1];
	fake->exists = true;
	fake->info.uid = 300 + handle;
	fake->info.qp_num = 55 + handle;
	fake->info.resets = 0;
	fake->sq.ring_key = 0x80000 + handle * 0x4000;
	fake->rq.ring_key = fake->sq.ring_key + 0x2000;
	return ex;
}

static void drop_plain_qp(struct ibv_qp_ex *ex)
{
	fake_kernel.qps[ex->qp_base.handle].exists = false;
	free(ex);
}

static int post_recv_to(struct ibv_qp *qp)
{
	struct ibv_sge sge = { .addr = 0x2000, .length = 10, .lkey = 5 };
	struct ibv_recv_wr wr = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* a second CQ, at handle 2, with a ring of its own; @qps: users of it that the kernel counts */
static void set_other_cq(struct ibv_cq_ex *other, uint32_t qps)
{
	*other = (struct ibv_cq_ex){ .context = s.context, .handle = 2 };
	fake_kernel.cqs[2] = fake_kernel.cqs[1];
	fake_kernel.cqs[2].info.uid = 202;
	fake_kernel.cqs[2].info.qps = qps;
	fake_kernel.cqs[2].info.ring_key = 0x50000;
}

/* ---- which objects ------------------------------------------------------------------------ */

TEST(calls_of_others_go_to_the_provider)
{
	struct { struct ibv_qp_ex ex; } other_qp = {};
	struct { struct ibv_cq_ex ex; } other_cq = {};
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_send_wr send = {}, *bad_send;
	struct ibv_wc wc;

	set_scene(65);
	take();
	other_cq.ex.context = s.context;
	other_qp.ex.qp_base = s.qp.ex.qp_base;
	other_qp.ex.qp_base.send_cq = other_qp.ex.qp_base.recv_cq = ibv_cq_ex_to_cq(&other_cq.ex);
	CHECK_EQ(ibv_post_recv(&other_qp.ex.qp_base, &wr, &bad), 111);
	CHECK_EQ(ibv_post_send(&other_qp.ex.qp_base, &send, &bad_send), 0);
	CHECK_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(&other_cq.ex), 1, &wc), 222);
	CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(&other_cq.ex), 0), 333);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 0);
	end_scene();
}

/* the provider makes another object at the same place: it has the provider's functions again */
TEST(an_address_is_no_mark)
{
	struct ibv_wc wc;

	set_scene(65);
	take();
	s.qp.ex.wr_start = NULL;
	s.cq.ex.start_poll = NULL;
	CHECK_EQ(dvq_efa_is_taken_over(&s.qp.ex.qp_base), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 222);
	end_scene();
}

TEST(what_the_provider_has_used)
{
	set_scene(65);
	fake_kernel.cqs[1].info.qps = 3;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	fake_kernel.cqs[1].info.qps = 2;
	complete(1, 0, SENT, 55, 0);
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	memset(s.file + fake_kernel.cqs[1].info.ring_key, 0, 64);
	s.qp.ex.qp_base.state = IBV_QPS_RTS;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	s.qp.ex.qp_base.state = IBV_QPS_INIT;
	s.file[fake_kernel.qps[1].rq.ring_key + 8] = 1;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	s.file[fake_kernel.qps[1].rq.ring_key + 8] = 0;
	/* it has been at RTS: the phase of its send queue goes on */
	fake_kernel.qps[1].info.resets = 1;
	for (enum ibv_qp_state state = IBV_QPS_RESET; state <= IBV_QPS_INIT; state++) {
		s.qp.ex.qp_base.state = state;
		CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
		CHECK(strstr(dvq_reason(), "reset"));
	}
	fake_kernel.qps[1].info.resets = 0;
	CHECK(s.qp.ex.wr_start == NULL);
	/* who was told no goes on with the provider, polling too */
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 222);
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), 0);
	end_scene();
}

static void provider_start(struct ibv_qp_ex *qp)
{
	(void)qp;
}

/* on a CQ of ours: one that was created behind our back may have been posted to, a plain one not */
TEST(qp_on_a_cq_that_is_ours)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_qp_ex *plain, *foreign;

	set_scene(65);
	take();
	foreign = set_plain_qp(2, cq(), IBV_QPS_RTS);
	foreign->wr_start = provider_start;
	CHECK_EQ(post_recv_to(&foreign->qp_base), EBUSY);
	CHECK(strstr(dvq_reason(), "beyond INIT"));
	CHECK_EQ(dvq_efa_take_over(&foreign->qp_base), EBUSY);
	bad = NULL;
	CHECK_EQ(ibv_post_send(&foreign->qp_base, &send, &bad), EBUSY);
	CHECK(bad == &send);
	foreign->qp_base.state = IBV_QPS_RESET;
	fake_kernel.qps[2].info.resets = 1;
	CHECK_EQ(dvq_efa_take_over(&foreign->qp_base), EBUSY);
	CHECK(strstr(dvq_reason(), "reset"));
	CHECK(foreign->wr_start == provider_start);
	CHECK(!take_cq_of(cq())->rows[57].qp);
	CHECK_EQ(s.file[fake_kernel.qps[2].rq.ring_key + 8], 0);
	/* as it was created */
	fake_kernel.qps[2].info.resets = 0;
	CHECK_EQ(dvq_efa_take_over(&foreign->qp_base), 0);

	plain = set_plain_qp(3, cq(), IBV_QPS_RTS);
	fake_kernel.qps[3].info.resets = 1;
	CHECK_EQ(post_recv_to(&plain->qp_base), 0);
	CHECK_EQ(dvq_efa_is_taken_over(&plain->qp_base), 1);
	CHECK_EQ(doorbell(&fake_kernel.qps[3].rq), 1);
	drop_plain_qp(plain);
	drop_plain_qp(foreign);
	end_scene();
}

static int (*next_post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
static int (*next_poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
static unsigned int passed_on;

static int pass_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	passed_on++;
	return next_post_recv(qp, wr, bad);
}

static int pass_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	passed_on++;
	return next_poll_cq(cq, n, wc);
}

static int (*next_post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

static int pass_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	passed_on++;
	return next_post_send(qp, wr, bad);
}

/* another library, which comes after us and passes on what it is given */
static void hook_in_between(void)
{
	next_post_send = s.context->ops.post_send;
	next_post_recv = s.context->ops.post_recv;
	next_poll_cq = s.context->ops.poll_cq;
	s.context->ops.post_send = pass_post_send;
	s.context->ops.post_recv = pass_post_recv;
	s.context->ops.poll_cq = pass_poll_cq;
	passed_on = 0;
}

TEST(library_that_came_after_us)
{
	struct ibv_qp_ex *plain, *stranger;
	struct ibv_cq_ex other;

	set_scene(65);
	take();
	hook_in_between();
	set_other_cq(&other, 2);
	stranger = set_plain_qp(2, ibv_cq_ex_to_cq(&other), IBV_QPS_INIT);
	CHECK_EQ(dvq_efa_take_over(&stranger->qp_base), EBUSY);
	CHECK(strstr(dvq_reason(), "another library"));
	CHECK(!dvq_takeover_has_cq(ibv_cq_ex_to_cq(&other)));
	/* not what is new on a CQ of ours either */
	plain = set_plain_qp(3, cq(), IBV_QPS_INIT);
	CHECK_EQ(post_recv_to(&plain->qp_base), EBUSY);
	/* its functions stay, and all goes on through them */
	CHECK(s.context->ops.post_send == pass_post_send);
	CHECK(s.context->ops.post_recv == pass_post_recv);
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 0);
	CHECK_EQ(post_recv_to(&stranger->qp_base), 111);
	CHECK_EQ(passed_on, 4);
	/* what was chosen is known */
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_TAKE_OVER), 0);
	CHECK(dvq_takeover_is_forced(s.context));
	/* it goes away */
	s.context->ops.post_send = next_post_send;
	s.context->ops.post_recv = next_post_recv;
	CHECK_EQ(dvq_efa_take_over(&stranger->qp_base), EBUSY);
	s.context->ops.poll_cq = next_poll_cq;
	CHECK_EQ(dvq_efa_take_over(&stranger->qp_base), 0);
	CHECK_EQ(post_recv_to(&plain->qp_base), 0);
	drop_plain_qp(plain);
	drop_plain_qp(stranger);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

static void *release_of_stock(void *release)
{
	*(unsigned int *)release = dvq_stock(s.context)->release;
	return NULL;
}

/* the provider is found behind both, also where there is another of its name */
TEST(provider_below_a_library_that_came_after_us)
{
	unsigned int release = 0;
	pthread_t thread;

	/* by name it is the one that was loaded first */
	for (int provider = 44; provider <= 65; provider += 65 - 44) {
		set_scene(provider);
		take();
		hook_in_between();
		REQUIRE(!pthread_create(&thread, NULL, release_of_stock, &release));
		pthread_join(thread, NULL);
		CHECK_EQ(release, (unsigned int)provider);
		end_scene();
	}
}

/* one that came before us is passed what is not ours */
TEST(library_that_came_before_us)
{
	struct ibv_cq_ex other;
	struct ibv_qp_ex *stranger;

	set_scene(65);
	hook_in_between();
	take();
	set_other_cq(&other, 2);
	stranger = set_plain_qp(2, ibv_cq_ex_to_cq(&other), IBV_QPS_INIT);
	CHECK_EQ(post_recv_to(&stranger->qp_base), 111);
	CHECK_EQ(passed_on, 1);
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
	CHECK_EQ(passed_on, 1);
	drop_plain_qp(stranger);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

/* a second copy of the library, or whoever else uses the slot */
TEST(context_of_another_library)
{
	void *memory = malloc(8);

	set_scene(65);
	s.context->ops._compat_attach_mcast = (void *(*)(void))memory;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	CHECK(strstr(dvq_reason(), "another library"));
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_TAKE_OVER), EBUSY);
	CHECK(s.context->ops.post_recv == provider_post_recv);
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 111);
	/* a function that nobody calls there, as libibverbs has it */
	s.context->ops._compat_attach_mcast = (void *(*)(void))(void *)dlsym;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), 0);
	free(memory);
	end_scene();
}

static sem_t in_constructor;
static unsigned int asked, asked_below_it, waited;

static void *constructor(void *unused)
{
	dvq_takeover_is_forced(s.context);
	dvq_stock(s.context);
	sem_post(&in_constructor);
	return unused;
}

/* Once the loader answers when another thread's constructor, which calls us, has returned. */
static void wait_for_constructor(void)
{
	struct timespec until;
	pthread_t thread;

	if (asked++ != asked_below_it)
		return;
	fake_loader_asked = NULL;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	REQUIRE(!pthread_create(&thread, NULL, constructor, NULL));
	if (sem_timedwait(&in_constructor, &until))
		waited++;
	else
		pthread_join(thread, NULL);
	fake_loader_asked = wait_for_constructor;
}

enum { WENT_ON, WAITED, NOT_ASKED };

/* @call is made with a constructor below the first time that the loader is asked, then the second, and so on. */
static void call_below_constructors(void (*call)(void))
{
	int status;
	pid_t pid;

	for (asked_below_it = 0; ; asked_below_it++) {
		/* where nothing has been looked for yet */
		pid = fork();
		if (!pid) {
			set_scene(65);
			sem_init(&in_constructor, 0, 0);
			s.context->ops._compat_attach_mcast = (void *(*)(void))(void *)dlsym;
			asked = waited = 0;
			fake_loader_asked = wait_for_constructor;
			call();
			_exit(waited || tap.failures ? WAITED : asked <= asked_below_it ? NOT_ASKED : WENT_ON);
		}
		REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		if (WEXITSTATUS(status) != WENT_ON)
			break;
	}
	CHECK(asked_below_it > 0);
	CHECK_EQ(WEXITSTATUS(status), NOT_ASKED);
}

static void *look_for_stock(void *unused)
{
	CHECK(dvq_stock(s.context));
	return unused;
}

/* in a thread that has not looked for it yet either */
static void call_stock(void)
{
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, look_for_stock, NULL));
	pthread_join(thread, NULL);
}

static void call_set_datapath(void)
{
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_TAKE_OVER), 0);
}

static void call_take_over(void)
{
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), 0);
}

/* The loader's lock is held while the constructor of a plug-in runs: who asks the loader has none of ours. */
TEST(constructor_of_a_plug_in)
{
	call_below_constructors(call_stock);
	call_below_constructors(call_set_datapath);
	call_below_constructors(call_take_over);
}

TEST(both_cqs_or_neither)
{
	struct ibv_cq_ex other;

	set_scene(65);
	set_other_cq(&other, 2);
	fake_kernel.cqs[1].info.qps = 1;
	s.qp.ex.qp_base.recv_cq = ibv_cq_ex_to_cq(&other);
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EBUSY);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 222);
	fake_kernel.cqs[2].info.qps = 1;
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 0);
	CHECK_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(&other), 1, &(struct ibv_wc){}), 0);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

/* of another provider: its QP may end where the verbs' does */
TEST(qp_of_another_adapter)
{
	struct ibv_context *context = fake_open(FAKE_OTHER);
	struct ibv_qp *qp = calloc(1, sizeof(*qp));

	REQUIRE(qp);
	qp->context = context;
	CHECK_EQ(dvq_efa_is_taken_over(qp), 0);
	CHECK_EQ(dvq_efa_take_over(qp), EOPNOTSUPP);
	free(qp);
	fake_close(context);
}

TEST(a_kernel_that_counts_nothing)
{
	set_scene(65);
	memset(&fake_kernel.context, 0, sizeof(fake_kernel.context));
	CHECK_EQ(dvq_efa_take_over(&s.qp.ex.qp_base), EOPNOTSUPP);
	CHECK(s.context->ops.post_recv == provider_post_recv);
	end_scene();
}

static struct ibv_qp_init_attr_ex attr_on(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, uint64_t ops)
{
	return (struct ibv_qp_init_attr_ex) {
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops, .pd = &s.pd, .send_cq = send_cq, .recv_cq = recv_cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
}

/* a new release has hints; an old one is given what it knows, and the rest is ours */
TEST(create_qp_ex_beyond_the_provider)
{
	struct efadv_qp_init_attr efa = { .wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;

	set_scene(44);
	attr = attr_on(cq(), cq(), IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	fake_kernel.cqs[1].info.qps = 0;
	qp = efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(s.stock->inlen, 16);
	CHECK_EQ(s.stock->ops, IBV_QP_EX_WITH_SEND);
	CHECK_EQ(attr.send_ops_flags, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	CHECK(efadv_qp_from_ibv_qp_ex((struct ibv_qp_ex *)qp)->wr_set_processing_hints);
	free(qp);
	/* what decides how large a queue is, or goes to the kernel, the provider must know */
	efa.flags = EFADV_QP_FLAGS_INLINE_WRITE;
	errno = 0;
	CHECK(!efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa)) && errno == EOPNOTSUPP);
	efa.flags = 0;
	efa.sl = 1;
	errno = 0;
	CHECK(!efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa)) && errno == EOPNOTSUPP);
	efa.sl = 0;
	efa.wr_flags = 2;
	errno = 0;
	CHECK(!efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa)) && errno == EOPNOTSUPP);
	end_scene();
}

TEST(create_qp_ex_that_the_provider_can_do)
{
	struct efadv_qp_init_attr efa = { .wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS };
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;

	set_scene(65);
	attr = attr_on(cq(), cq(), IBV_QP_EX_WITH_SEND);
	fake_kernel.cqs[1].info.qps = 0;
	qp = efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(s.stock->inlen, 24);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 0);
	free(qp);
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_TAKE_OVER), 0);
	qp = efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	free(qp);
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_AUTO), 0);
	setenv("DVQ_DATAPATH", "take-over", 1);
	/* another one, of the same number and handle */
	fake_kernel.qps[1].info.uid++;
	changes()->qps++;
	qp = efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	free(qp);
	unsetenv("DVQ_DATAPATH");
	end_scene();
}

static struct ibv_qp *create_qp_on(struct ibv_cq_ex *send_cq, struct ibv_cq_ex *recv_cq)
{
	struct ibv_qp_init_attr_ex attr = attr_on(ibv_cq_ex_to_cq(send_cq), ibv_cq_ex_to_cq(recv_cq),
						  IBV_QP_EX_WITH_SEND);
	struct efadv_qp_init_attr efa = {};

	return efadv_create_qp_ex(s.context, &attr, &efa, sizeof(efa));
}

/* the receive CQ is the provider's already; so is a new QP on it, and its other CQ */
TEST(create_qp_ex_on_a_cq_that_is_used)
{
	struct ibv_cq_ex other;
	struct ibv_qp *qp;

	set_scene(44);
	set_other_cq(&other, 1);
	fake_kernel.cqs[1].info.qps = 0;
	qp = create_qp_on(&s.cq.ex, &other);
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 222);
	free(qp);
	/* one that is ours leaves no choice */
	fake_kernel.cqs[1].info.qps = 2;
	take();
	errno = 0;
	CHECK(!create_qp_on(&s.cq.ex, &other) && errno == EBUSY);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

/* also where the provider could do all of it */
TEST(create_qp_ex_on_a_cq_that_is_ours)
{
	struct ibv_qp *qp;

	set_scene(65);
	take();
	fake_kernel.qps[1].info.uid = 999;
	changes()->qps++;
	qp = create_qp_on(&s.cq.ex, &s.cq.ex);
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	free(qp);
	end_scene();
}

static struct ibv_qp *create_driver_qp_on(struct ibv_cq_ex *send_cq, struct ibv_cq_ex *recv_cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = ibv_cq_ex_to_cq(send_cq), .recv_cq = ibv_cq_ex_to_cq(recv_cq),
		.qp_type = IBV_QPT_DRIVER, .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
	};

	return efadv_create_driver_qp(&s.pd, &attr, EFADV_QP_DRIVER_TYPE_SRD);
}

/* another thread takes the CQ over, before it and the kernel know of the QP */
static void take_meanwhile(void)
{
	take();
	/* this one is another QP of the CQ */
	fake_kernel.qps[1].info.uid++;
	changes()->qps++;
}

static void take_meanwhile_and_fail(void)
{
	take_meanwhile();
	fake_kernel.qps[1].error = ENOMEM;
}

/* what the provider posts to and the library polls never completes: it is taken, too, or not created */
static void create_while_the_cq_is_taken(struct ibv_qp *(*create)(struct ibv_cq_ex *, struct ibv_cq_ex *))
{
	struct ibv_qp *qp;

	set_scene(65);
	qp = create(&s.cq.ex, &s.cq.ex);
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 0);
	free(qp);
	s.stock->hook = take_meanwhile;
	qp = create(&s.cq.ex, &s.cq.ex);
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	CHECK_EQ(fake_kernel.destroyed, 0);
	free(qp);
	end_scene();

	set_scene(65);
	s.stock->hook = take_meanwhile_and_fail;
	errno = 0;
	CHECK(!create(&s.cq.ex, &s.cq.ex) && errno == ENOMEM);
	CHECK_EQ(fake_kernel.destroyed, 1);
	end_scene();
}

TEST(create_qp_while_another_thread_takes_its_cq)
{
	create_while_the_cq_is_taken(create_qp_on);
	create_while_the_cq_is_taken(create_driver_qp_on);
}

/* of the in-tree driver nothing is taken, whatever was chosen */
TEST(create_qp_of_the_in_tree_driver)
{
	struct ibv_qp *qp;

	setenv("DVQ_DATAPATH", "take-over", 1);
	set_scene(65);
	fake_kernel.driver = FAKE_IN_TREE;
	for (unsigned int i = 0; i < 2; i++) {
		qp = i ? create_driver_qp_on(&s.cq.ex, &s.cq.ex) : create_qp_on(&s.cq.ex, &s.cq.ex);
		CHECK(qp);
		CHECK_EQ(fake_kernel.destroyed, 0);
		free(qp);
	}
	unsetenv("DVQ_DATAPATH");
	end_scene();
}

/* what the provider is asked for, and what becomes of the CQ if it cannot be taken over */
static struct ibv_cq_ex *create_cq_that_is_not_taken(uint64_t wc_flags, uint64_t stock_flags)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct efadv_cq_init_attr efa = { .wc_flags = wc_flags };
	struct ibv_cq_ex *ex;

	/* there is no CQ at the handle that the provider gives it */
	errno = 0;
	ex = efadv_create_cq(s.context, &attr, &efa, sizeof(efa));
	CHECK_EQ(((const struct efadv_cq_init_attr *)s.stock->input)->wc_flags, stock_flags);
	if (ex)
		CHECK(!dvq_takeover_has_cq(ibv_cq_ex_to_cq(ex)));
	else
		CHECK_EQ(errno, ENOENT);
	return ex;
}

/* It goes on with the provider, unless that was not told all of what is wanted, or take-over was. */
TEST(create_cq_that_cannot_be_taken)
{
	struct ibv_cq_ex *ex;

	set_scene(44);
	fake_kernel.abi.device_caps = DVQ_EFA_DEVICE_CQ_WITH_SGID;
	/* entries of the whole length are had for a flag */
	for (uint64_t wc_flags = 0; wc_flags <= EFADV_WC_EX_WITH_SGID; wc_flags++) {
		ex = create_cq_that_is_not_taken(wc_flags, EFADV_WC_EX_WITH_SGID);
		CHECK(ex);
		free(ex);
	}
	CHECK_EQ(fake_kernel.destroyed, 0);
	fake_kernel.abi.device_caps |= DVQ_EFA_DEVICE_UNSOLICITED;
	CHECK(!create_cq_that_is_not_taken(EFADV_WC_EX_WITH_IS_UNSOLICITED, EFADV_WC_EX_WITH_SGID));
	CHECK_EQ(fake_kernel.destroyed, 1);
	CHECK_EQ(dvq_efa_set_datapath(s.context, DVQ_DATAPATH_TAKE_OVER), 0);
	CHECK(!create_cq_that_is_not_taken(0, EFADV_WC_EX_WITH_SGID));
	CHECK_EQ(fake_kernel.destroyed, 2);
	end_scene();
}

/* The device gives the number of a QP away before the call returns that destroys it. */
TEST(number_of_a_qp_that_is_being_destroyed)
{
	struct ibv_qp_ex again;
	struct ibv_wc wc;

	set_scene(65);
	take();
	again = s.qp.ex;
	again.wr_start = NULL;
	again.qp_base.handle = 2;
	again.qp_base.state = IBV_QPS_RESET;
	fake_kernel.qps[2] = fake_kernel.qps[1];
	fake_kernel.qps[2].info.uid = 202;
	fake_kernel.qps[1].error = EBUSY;
	changes()->qps++;
	CHECK_EQ(dvq_efa_take_over(&again.qp_base), 0);
	fake_kernel.qps[1].exists = false;
	again.qp_base.state = IBV_QPS_RTS;
	ibv_wr_start(&again);
	again.wr_id = 70;
	again.wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(&again);
	ibv_wr_set_ud_addr(&again, &s.ah, 77, 0x1234);
	CHECK_EQ(ibv_wr_complete(&again), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 70);
	fake_kernel.qps[2].exists = false;
	end_scene();
}

static void unsolicited_write(void)
{
	complete(0, 0, GOT | EFA_CQE_HAS_IMM | EFA_OP_RDMA_WRITE << 4 | EFA_CQE_UNSOLICITED, 55, 100);
}

/* What used no receive has no generation: on the ring or set aside, it is not the next QP's of that number. */
TEST(f08_unsolicited_write_to_a_qp_that_is_gone)
{
	struct ibv_qp_ex *again;
	struct ibv_wc wc[8];

	for (int aside = 0; aside < 2; aside++) {
		set_scene(65);
		fake_kernel.qps[1].info.flags |= DVQ_QP_UNSOLICITED;
		take();
		CHECK_EQ(send_one(1), 0);
		unsolicited_write();
		if (aside) {
			take_cq_forget(take_cq_of(cq()), take_qp_of(&s.qp.ex.qp_base), false);
			CHECK_EQ(take_cq_of(cq())->backlog_count, 1);
		}
		fake_kernel.qps[1].exists = false;
		changes()->qps++;
		again = set_plain_qp(2, cq(), IBV_QPS_RESET);
		again->qp_base.qp_num = fake_kernel.qps[2].info.qp_num = 55;
		CHECK_EQ(dvq_efa_take_over(&again->qp_base), 0);
		CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
		/* its own */
		unsolicited_write();
		CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
		CHECK_EQ(wc[0].byte_len, 100);
		drop_plain_qp(again);
		end_scene();
	}
}

/* a QP that is new on the CQ takes nothing from those that are there */
TEST(completions_that_wait_while_a_qp_is_created)
{
	struct ibv_qp_ex *another;
	struct ibv_wc wc[8];

	set_scene(65);
	fake_kernel.qps[1].info.flags |= DVQ_QP_UNSOLICITED;
	take();
	CHECK_EQ(send_one(1), 0);
	CHECK_EQ(send_one(2), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	unsolicited_write();
	another = set_plain_qp(2, cq(), IBV_QPS_RESET);
	CHECK_EQ(dvq_efa_take_over(&another->qp_base), 0);
	complete(id_of(1), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 3);
	CHECK_EQ(wc[0].wr_id, 1);
	CHECK_EQ(wc[1].byte_len, 100);
	CHECK_EQ(wc[2].wr_id, 2);
	drop_plain_qp(another);
	end_scene();
}

/* gone, and the kernel had no memory to tell when it was looked for; another QP has its low bits */
TEST(number_that_shares_a_row_with_one_that_is_gone)
{
	struct ibv_qp_ex again;

	set_scene(65);
	take();
	again = s.qp.ex;
	again.wr_start = NULL;
	again.qp_base.handle = 2;
	again.qp_base.state = IBV_QPS_RESET;
	fake_kernel.qps[2] = fake_kernel.qps[1];
	fake_kernel.qps[2].info.uid = 202;
	fake_kernel.qps[2].info.qp_num = again.qp_base.qp_num = 55 + 256;
	CHECK_EQ(dvq_efa_take_over(&again.qp_base), EBUSY);
	fake_kernel.qps[1].exists = false;
	fake_kernel.error = ENOMEM;
	fake_kernel.failures = 2;
	CHECK_EQ(dvq_takeover_qp(&again.qp_base, 0, NULL, DVQ_TAKEOVER_MUST), 0);
	CHECK_EQ(fake_kernel.error, 0);
	CHECK_EQ(take_cq_of(cq())->rows[55].qp->handle, 2);
	fake_kernel.qps[2].exists = false;
	end_scene();
}

/* ---- blocks ------------------------------------------------------------------------------------ */

TEST(block_of_sends)
{
	set_scene(65);
	take();
	ibv_wr_start(&s.qp.ex);
	put_send(11);
	efadv_wr_set_processing_hints(efadv_qp_from_ibv_qp_ex(&s.qp.ex), 1);
	put_send(12);
	CHECK_EQ(wqe(0)[0], 0);
	CHECK_EQ(sends_rung(), 0);
	CHECK_EQ(ibv_wr_complete(&s.qp.ex), 0);
	CHECK_EQ(sends_rung(), 2);
	/* length 1, destination 77, complete, first and last, no phase, descriptors */
	CHECK_EQ(wqe(0)[0] >> 16, 0x0001004d1c80ull);
	CHECK_EQ(wqe(0)[1], 0x0001432100000000ull);
	CHECK_EQ(wqe(0)[2], 0x1234);
	CHECK_EQ(wqe(0)[4], 0x00000abc00000064ull);
	CHECK_EQ(wqe(0)[5], 0x1000);
	CHECK_EQ(wqe(1)[1], 0x0000432100000000ull);
	CHECK(id_of(0) != id_of(1));
	end_scene();
}

TEST(f13_block_undone)
{
	set_scene(65);
	take();
	for (unsigned int round = 0; round < 200; round++) {
		uint64_t before[8];

		memcpy(before, wqe(round % 64), 64);
		ibv_wr_start(&s.qp.ex);
		put_send(1);
		put_send(2);
		if (round % 2) {
			s.qp.ex.wr_flags = 0;
			ibv_wr_send(&s.qp.ex);
			put_send(3);
			CHECK_EQ(ibv_wr_complete(&s.qp.ex), EINVAL);
		} else {
			ibv_wr_abort(&s.qp.ex);
		}
		CHECK_EQ(sends_rung(), round);
		CHECK(!memcmp(before, wqe(round % 64), 64));
		CHECK_EQ(send_one(round), 0);
		CHECK_EQ(sends_rung(), round + 1);
		complete(id_of(round % 64), 0, SENT, 55, 0);
		CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 1);
	}
	end_scene();
}

TEST(f28_full_queues)
{
	struct ibv_sge sge = { .addr = 0x2000, .length = 10, .lkey = 5 };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 64; i++)
		CHECK_EQ(send_one(i), 0);
	CHECK_EQ(send_one(64), ENOMEM);
	complete(id_of(5), 0, SENT, 55, 0);
	CHECK_EQ(send_one(64), ENOMEM);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 5);
	CHECK_EQ(send_one(64), 0);
	CHECK_EQ(send_one(65), ENOMEM);
	for (unsigned int i = 0; i < 128; i++)
		CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), 0);
	CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), ENOMEM);
	CHECK(bad == &recv);
	CHECK_EQ(doorbell(&fake_kernel.qps[1].rq), 128);
	recv.num_sge = 0;
	CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), EINVAL);
	end_scene();
}

/* of max_recv_wr 0 with two SGEs: a ring of one descriptor, which holds none */
TEST(qp_without_receives)
{
	set_scene(65);
	fake_kernel.qps[1].rq.entries = fake_kernel.qps[1].rq.max_batch = 1;
	fake_kernel.qps[1].rq.max_wr = 0;
	fake_kernel.qps[1].info.max_recv_sge = 2;
	take();
	CHECK_EQ(send_one(1), 0);
	CHECK(post_recv_to(&s.qp.ex.qp_base));
	CHECK_EQ(doorbell(&fake_kernel.qps[1].rq), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	complete(0, 0, GOT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 2, &(struct ibv_wc){}), 1);
	end_scene();
}

TEST(list_of_post_send)
{
	struct ibv_sge sge = { .addr = 0x2000, .length = 10, .lkey = 5 };
	struct ibv_send_wr third = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr second = { .opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED,
				      .imm_data = htonl(99), .next = &third };
	struct ibv_send_wr first = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
				     .sg_list = &sge, .num_sge = 1, .next = &second }, *bad = NULL;

	set_scene(65);
	take();
	first.wr.ud.ah = second.wr.ud.ah = third.wr.ud.ah = &s.ah;
	CHECK_EQ(ibv_post_send(&s.qp.ex.qp_base, &first, &bad), EINVAL);
	CHECK(bad == &third);
	/* those before it are on their way */
	CHECK_EQ(sends_rung(), 2);
	CHECK_EQ((uint32_t)wqe(1)[1], 99);
	s.qp.ex.qp_base.state = IBV_QPS_ERR;
	CHECK_EQ(ibv_post_send(&s.qp.ex.qp_base, &first, &bad), EINVAL);
	CHECK(bad == &first);
	CHECK_EQ(sends_rung(), 2);
	end_scene();
}

/* ---- completions ---------------------------------------------------------------------------------- */

TEST(completions_that_nobody_waits_for)
{
	struct ibv_wc wc[8];

	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	CHECK_EQ(send_one(2), 0);
	complete(id_of(0), 0, SENT, 56, 0);			/* of no QP */
	complete(id_of(0), 0, SENT, 55 + 256, 0);		/* nor with the same low bits */
	complete(id_of(0) ^ 0x8000, 0, SENT, 55, 0);		/* another generation */
	complete((uint16_t)(id_of(1) + 1), 0, SENT, 55, 0);	/* not out */
	complete(id_of(1), 0, GOT, 55, 0);			/* of the other queue */
	complete(id_of(1), EFA_IO_LOCAL_INVALID_LKEY, SENT, 55, 0);
	complete(id_of(1), 0, SENT, 55, 0);			/* told twice */
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 2);
	CHECK_EQ(wc[0].status, IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(wc[0].vendor_err, EFA_IO_LOCAL_INVALID_LKEY);
	CHECK_EQ(wc[0].qp_num, 55);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 1);
	end_scene();
}

TEST(f22_f23_completions_of_a_qp_that_is_gone)
{
	struct ibv_wc wc[8];

	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	/* the handle is another QP's now */
	fake_kernel.qps[1].info.uid = 999;
	changes()->qps++;
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	end_scene();
}

/* the kernel has no memory to say it when it is asked first */
TEST(f22_f23_qp_that_is_gone_is_asked_for_again)
{
	struct ibv_wc wc[8];

	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	fake_kernel.qps[1].exists = false;
	fake_kernel.error = ENOMEM;
	changes()->qps++;
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	fake_kernel.error = 0;
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	end_scene();
}

/* another thread may destroy what we ask about: by handle that would be EBUSY for it (F-20) */
TEST(f20_nothing_is_held_that_others_destroy)
{
	struct efadv_device_attr attr;
	struct ibv_wc wc[8];
	unsigned int held;

	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	held = fake_kernel.held;
	changes()->qps++;
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	CHECK_EQ(efadv_query_device(s.context, &attr, sizeof(attr)), 0);
	CHECK_EQ(fake_kernel.held, held);
	/* and it is still known */
	CHECK_EQ(dvq_efa_is_taken_over(&s.qp.ex.qp_base), 1);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	end_scene();
}

TEST(extended_poll)
{
	struct ibv_poll_cq_attr attr = {};
	struct ibv_sge sge = { .addr = 0x2000, .length = 10, .lkey = 5 };
	struct ibv_recv_wr recv = { .wr_id = 70, .sg_list = &sge, .num_sge = 1 }, *bad;

	set_scene(65);
	take();
	CHECK_EQ(ibv_start_poll(&s.cq.ex, &attr), ENOENT);
	CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), 0);
	CHECK_EQ(send_one(1), 0);
	complete(id_of(0), 0, SENT | EFA_OP_RDMA_WRITE << 4, 55, 0);
	complete((uint16_t)*(uint64_t *)(s.file + fake_kernel.qps[1].rq.ring_key + 8), 0, GOT, 55, 33);
	CHECK_EQ(ibv_start_poll(&s.cq.ex, &attr), 0);
	CHECK_EQ(s.cq.ex.wr_id, 1);
	CHECK_EQ(ibv_wc_read_opcode(&s.cq.ex), IBV_WC_RDMA_WRITE);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), 0);
	CHECK_EQ(s.cq.ex.wr_id, 70);
	CHECK_EQ(s.cq.ex.status, IBV_WC_SUCCESS);
	CHECK_EQ(ibv_wc_read_opcode(&s.cq.ex), IBV_WC_RECV);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), ENOENT);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), ENOENT);
	ibv_end_poll(&s.cq.ex);
	/* what it was not created to tell it still cannot */
	CHECK(!s.cq.ex.read_imm_data);
	CHECK_EQ(efadv_wc_read_sgid(efadv_cq_from_ibv_cq_ex(&s.cq.ex), &(union ibv_gid){}), -EOPNOTSUPP);
	CHECK_EQ(doorbell(&(struct dvq_wq_info){ .db_key = fake_kernel.cqs[1].info.db_key,
						 .db_offset = fake_kernel.cqs[1].info.db_offset }), 2);
	end_scene();
}

static int provider_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	(void)efadv_cq;
	(void)sgid;
	return 555;
}

static bool provider_unsolicited(struct efadv_cq *efadv_cq)
{
	(void)efadv_cq;
	return false;
}

static int provider_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return EINVAL;
}

/* the CQ of the scene, as a provider makes it that has been asked for all that it can tell */
static struct stock_cq telling_cq(void)
{
	struct stock_cq own = { .ex = s.cq.ex };

	own.ex.start_poll = provider_start_poll;
	own.efadv.wc_read_sgid = provider_sgid;
	own.efadv.wc_is_unsolicited = provider_unsolicited;
	return own;
}

/* a write with immediate that used no receive, then a message of an unknown AH */
static void complete_what_only_efa_tells(uint16_t recv_id)
{
	const struct dvq_cq_info *info = &fake_kernel.cqs[1].info;
	uint8_t *entry;

	complete(0, 0, GOT | EFA_CQE_HAS_IMM | EFA_OP_RDMA_WRITE << 4 | EFA_CQE_UNSOLICITED, 55, 100);
	entry = s.file + info->ring_key + s.received * info->entry_size;
	complete(recv_id, 0, GOT, 55, 33);
	memset(entry + 8, 0xff, 2);
	memset(entry + 16, 0x77, 16);
}

static uint16_t recv_id(unsigned int n)
{
	return (uint16_t)((uint64_t *)(s.file + fake_kernel.qps[1].rq.ring_key))[2 * n + 1];
}

/* what a CQ tells was said to the provider when it was created; who asked before the take-over has his pointer */
static void look_at_readers(int release, bool wanted)
{
	struct efadv_cq *before, *after;
	struct stock_cq own;
	union ibv_gid gid;

	set_scene(release);
	own = telling_cq();
	if (!wanted)
		own.efadv.wc_read_sgid = NULL;
	if (!wanted && release >= 52)
		own.efadv.wc_is_unsolicited = NULL;
	s.qp.ex.qp_base.send_cq = s.qp.ex.qp_base.recv_cq = ibv_cq_ex_to_cq(&own.ex);
	before = efadv_cq_from_ibv_cq_ex(&own.ex);
	take();
	after = efadv_cq_from_ibv_cq_ex(&own.ex);
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
	complete_what_only_efa_tells(recv_id(0));
	CHECK_EQ(ibv_start_poll(&own.ex, &(struct ibv_poll_cq_attr){}), 0);
	CHECK_EQ(own.ex.wr_id, 0);
	CHECK_EQ(efadv_wc_is_unsolicited(after), wanted && release >= 52);
	CHECK_EQ(efadv_wc_is_unsolicited(before), wanted && release >= 52);
	CHECK_EQ(efadv_wc_read_sgid(after, &gid), wanted ? -ENOENT : -EOPNOTSUPP);
	CHECK_EQ(efadv_wc_read_sgid(before, &gid), wanted ? -ENOENT : -EOPNOTSUPP);
	CHECK_EQ(ibv_next_poll(&own.ex), 0);
	CHECK_EQ(own.ex.wr_id, 70);
	CHECK(!efadv_wc_is_unsolicited(after) && !efadv_wc_is_unsolicited(before));
	for (unsigned int i = 0; i < 2; i++) {
		memset(&gid, 0, sizeof(gid));
		CHECK_EQ(efadv_wc_read_sgid(i ? before : after, &gid), wanted ? 0 : -EOPNOTSUPP);
		CHECK_EQ(gid.raw[15], wanted ? 0x77 : 0);
	}
	CHECK_EQ(ibv_next_poll(&own.ex), ENOENT);
	ibv_end_poll(&own.ex);
	/* before release 52 the provider's struct ends there */
	if (release < 52)
		CHECK(own.efadv.wc_is_unsolicited == provider_unsolicited);
	/* the provider has made another CQ at this place */
	own.ex.start_poll = provider_start_poll;
	if (wanted && release >= 52)
		CHECK_EQ(efadv_wc_read_sgid(&own.efadv, &gid), -EOPNOTSUPP);
	end_scene();
}

TEST(readers_of_a_cq_that_is_taken_later)
{
	look_at_readers(65, true);
	look_at_readers(65, false);
	look_at_readers(44, true);
	look_at_readers(44, false);
}

/* the receive CQ is another one */
TEST(readers_of_two_cqs_that_are_taken_later)
{
	struct ibv_cq_ex other;
	struct stock_cq own;

	set_scene(65);
	set_other_cq(&other, 1);
	fake_kernel.cqs[1].info.qps = 1;
	own = telling_cq();
	s.qp.ex.qp_base.send_cq = ibv_cq_ex_to_cq(&other);
	s.qp.ex.qp_base.recv_cq = ibv_cq_ex_to_cq(&own.ex);
	take();
	complete_what_only_efa_tells(0);
	CHECK_EQ(ibv_start_poll(&own.ex, &(struct ibv_poll_cq_attr){}), 0);
	CHECK(efadv_wc_is_unsolicited(&own.efadv));
	ibv_end_poll(&own.ex);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

static unsigned int provider_hints;

static void provider_set_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	(void)efadv_qp;
	(void)hints;
	provider_hints++;
}

/* the setter, too */
TEST(setter_of_a_qp_that_is_taken_later)
{
	struct efadv_qp *before;
	struct stock_qp own = {};

	set_scene(65);
	own.ex = s.qp.ex;
	own.ex.wr_start = provider_start;
	own.efadv.wr_set_processing_hints = provider_set_hints;
	provider_hints = 0;
	before = efadv_qp_from_ibv_qp_ex(&own.ex);
	CHECK(before == &own.efadv);
	CHECK_EQ(dvq_efa_take_over(&own.ex.qp_base), 0);
	own.ex.qp_base.state = IBV_QPS_RTS;
	ibv_wr_start(&own.ex);
	own.ex.wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(&own.ex);
	ibv_wr_set_ud_addr(&own.ex, &s.ah, 77, 0x1234);
	efadv_wr_set_processing_hints(before, EFADV_WR_PROCESSING_HINT_BURST_PPS_SENSITIVE);
	CHECK_EQ(ibv_wr_complete(&own.ex), 0);
	CHECK_EQ(wqe(0)[1] & DVQ_EFA_W1_HINTS, (uint64_t)DVQ_EFA_HINT_BURST << DVQ_EFA_W1_CTRL3);
	CHECK_EQ(provider_hints, 0);
	end_scene();
}

/* a block of polling, with a completion in it */
static void open_block(void)
{
	CHECK_EQ(send_one(1), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_start_poll(&s.cq.ex, &(struct ibv_poll_cq_attr){}), 0);
}

static void lose_qp(void)
{
	fake_kernel.qps[1].exists = false;
	changes()->qps++;
}

TEST(calls_in_a_block_of_polling)
{
	set_scene(65);
	take();
	alarm(MINUTE);
	open_block();
	/* the QP is reset and comes back to RTS */
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	CHECK_EQ(send_one(2), 0);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), ENOENT);
	ibv_end_poll(&s.cq.ex);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 1);
	end_scene();

	/* it goes, and the next call of the library forgets it */
	set_scene(65);
	take();
	open_block();
	lose_qp();
	efadv_query_device(NULL, NULL, 0);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), ENOENT);
	ibv_end_poll(&s.cq.ex);
	alarm(0);
	end_scene();
}

static int pipes[2][2];

static void *poll_slowly(void *unused)
{
	char byte = 0;

	open_block();
	CHECK_EQ(write(pipes[0][1], &byte, 1), 1);
	CHECK_EQ(read(pipes[1][0], &byte, 1), 1);
	ibv_end_poll(&s.cq.ex);
	return unused;
}

/* a QP goes while another thread is in a block */
TEST(block_of_another_thread)
{
	pthread_t thread;
	char byte = 0;

	set_scene(65);
	take();
	alarm(MINUTE);
	REQUIRE(!pipe(pipes[0]) && !pipe(pipes[1]));
	REQUIRE(!pthread_create(&thread, NULL, poll_slowly, NULL));
	CHECK_EQ(read(pipes[0][0], &byte, 1), 1);
	lose_qp();
	efadv_query_device(NULL, NULL, 0);
	CHECK(!take_cq_of(cq())->rows[55].qp);
	CHECK_EQ(write(pipes[1][1], &byte, 1), 1);
	pthread_join(thread, NULL);
	alarm(0);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
	end_scene();
}

/*
 * The program may wait in a block for a thread that posts, to a QP that it posts to itself for
 * instance. So who posts does not wait for the end of a block, also not after a RESET.
 */
TEST(reset_and_block_of_another_thread)
{
	pthread_t thread;
	char byte = 0;

	set_scene(65);
	take();
	alarm(MINUTE);
	REQUIRE(!pipe(pipes[0]) && !pipe(pipes[1]));
	REQUIRE(!pthread_create(&thread, NULL, poll_slowly, NULL));
	CHECK_EQ(read(pipes[0][0], &byte, 1), 1);
	/* not polled before the RESET, so never */
	CHECK_EQ(send_one(2), 0);
	complete(id_of(1), 0, SENT, 55, 0);
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	CHECK_EQ(send_one(3), 0);
	CHECK_EQ(ibv_req_notify_cq(cq(), 0), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &(struct ibv_wc){}), 0);
	/* the block is as it was */
	CHECK_EQ(s.cq.ex.wr_id, 1);
	CHECK_EQ(ibv_wc_read_opcode(&s.cq.ex), IBV_WC_SEND);
	CHECK_EQ(take_cq_of(cq())->gate.turn, TAKE_OPEN);
	CHECK_EQ(write(pipes[1][1], &byte, 1), 1);
	pthread_join(thread, NULL);
	CHECK_EQ(take_cq_of(cq())->gate.turn, TAKE_FREE);
	alarm(0);
	for (int i = 0; i < 4; i++)
		close(pipes[i / 2][i % 2]);
	end_scene();
}

struct first_poster {
	struct ibv_cq_ex *polls;
	struct ibv_qp *posts_to;
	pthread_barrier_t *both;
	int poll, post;
};

static void *post_first(void *arg)
{
	struct first_poster *poster = arg;

	poster->poll = ibv_start_poll(poster->polls, &(struct ibv_poll_cq_attr){});
	pthread_barrier_wait(poster->both);
	poster->post = post_recv_to(poster->posts_to);
	pthread_barrier_wait(poster->both);
	if (!poster->poll)
		ibv_end_poll(poster->polls);
	return NULL;
}

/* each has a block open, and is the first to post to a QP that completes where the other one's is */
TEST(first_posts_in_blocks_of_two_cqs)
{
	struct ibv_qp_ex *qps[3];
	struct first_poster posters[2];
	pthread_barrier_t both;
	struct ibv_cq_ex other;
	pthread_t threads[2];

	set_scene(65);
	take();
	set_other_cq(&other, 2);
	qps[0] = set_plain_qp(2, ibv_cq_ex_to_cq(&other), IBV_QPS_INIT);
	CHECK_EQ(dvq_efa_take_over(&qps[0]->qp_base), 0);
	qps[1] = set_plain_qp(3, cq(), IBV_QPS_INIT);
	qps[2] = set_plain_qp(4, ibv_cq_ex_to_cq(&other), IBV_QPS_INIT);
	/* something to poll on each */
	CHECK_EQ(send_one(1), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	CHECK_EQ(post_recv_to(&qps[0]->qp_base), 0);
	s.received = 0;
	fake_kernel.cqs[1].info.ring_key += 0x20000;
	complete((uint16_t)*(uint64_t *)(s.file + fake_kernel.qps[2].rq.ring_key + 8), 0, GOT, 57, 33);
	fake_kernel.cqs[1].info.ring_key -= 0x20000;

	alarm(MINUTE);
	pthread_barrier_init(&both, NULL, 2);
	posters[0] = (struct first_poster){ &s.cq.ex, &qps[2]->qp_base, &both, -1, -1 };
	posters[1] = (struct first_poster){ &other, &qps[1]->qp_base, &both, -1, -1 };
	for (unsigned int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, post_first, &posters[i]));
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(posters[i].poll, 0);
		CHECK_EQ(posters[i].post, 0);
		CHECK_EQ(dvq_efa_is_taken_over(posters[i].posts_to), 1);
	}
	alarm(0);
	pthread_barrier_destroy(&both);
	for (unsigned int i = 0; i < 3; i++)
		drop_plain_qp(qps[i]);
	fake_kernel.cqs[2].exists = false;
	end_scene();
}

/* also in one's own; the block is still open then, and its CQ is another's to open only afterwards */
TEST(arm_and_poll_in_a_block)
{
	struct ibv_wc wc;

	set_scene(65);
	take();
	alarm(MINUTE);
	open_block();
	CHECK_EQ(send_one(2), 0);
	complete(id_of(1), 0, SENT, 55, 0);
	CHECK_EQ(ibv_req_notify_cq(cq(), 0), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 2);
	CHECK_EQ(s.cq.ex.wr_id, 1);
	CHECK_EQ(take_cq_of(cq())->gate.turn, TAKE_OPEN);
	CHECK_EQ(ibv_next_poll(&s.cq.ex), ENOENT);
	CHECK_EQ(take_cq_of(cq())->gate.turn, TAKE_OPEN);
	ibv_end_poll(&s.cq.ex);
	CHECK_EQ(take_cq_of(cq())->gate.turn, TAKE_FREE);
	alarm(0);
	end_scene();
}

static unsigned int opened;

static void *open_and_end(void *unused)
{
	CHECK_EQ(ibv_start_poll(&s.cq.ex, &(struct ibv_poll_cq_attr){}), 0);
	__atomic_store_n(&opened, 1, __ATOMIC_RELEASE);
	ibv_end_poll(&s.cq.ex);
	return unused;
}

/* what is read in a block is one thread's: a second block waits for the end of the first, whatever goes on */
TEST(one_block_at_a_time)
{
	pthread_t thread;

	set_scene(65);
	take();
	alarm(MINUTE);
	open_block();
	CHECK_EQ(send_one(2), 0);
	complete(id_of(1), 0, SENT, 55, 0);
	opened = 0;
	REQUIRE(!pthread_create(&thread, NULL, open_and_end, NULL));
	for (unsigned int i = 0; i < 1000; i++) {
		CHECK_EQ(ibv_req_notify_cq(cq(), 0), 0);
		sched_yield();
	}
	CHECK_EQ(__atomic_load_n(&opened, __ATOMIC_ACQUIRE), 0);
	CHECK_EQ(s.cq.ex.wr_id, 1);
	ibv_end_poll(&s.cq.ex);
	pthread_join(thread, NULL);
	CHECK_EQ(opened, 1);
	CHECK_EQ(s.cq.ex.wr_id, 2);
	alarm(0);
	end_scene();
}

/* the kernel tells that the CQ is gone, and has no memory then to tell the same of its QP */
TEST(cq_that_is_gone_before_its_qp)
{
	unsigned int calls;

	set_scene(65);
	take();
	fake_kernel.cqs[1].exists = false;
	lose_qp();
	fake_kernel.error = ENOMEM;
	fake_kernel.passes = 1;
	fake_kernel.failures = 1;
	efadv_query_device(NULL, NULL, 0);
	CHECK_EQ(fake_kernel.error, 0);
	/* the next call asks again, and then there is nothing left to ask about */
	calls = fake_kernel.calls;
	efadv_query_device(NULL, NULL, 0);
	CHECK_EQ(fake_kernel.calls, calls + 2);
	efadv_query_device(NULL, NULL, 0);
	CHECK_EQ(fake_kernel.calls, calls + 2);
	end_scene();
}

static int see_queues_of_the_parent(void *unused)
{
	(void)unused;
	efadv_query_device(NULL, NULL, 0);
	return 0;
}

/* not one that shares its memory, as that of vfork() and posix_spawn() does */
TEST(f15_child_that_is_no_other_process)
{
	static uint8_t stack[65536] __attribute__((aligned(64)));
	int status = -1;
	pid_t child;

	set_scene(65);
	take();
	child = clone(see_queues_of_the_parent, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	lose_qp();
	efadv_query_device(NULL, NULL, 0);
	CHECK(!take_cq_of(cq())->rows[55].qp);
	end_scene();
}

static uint32_t cq_doorbell(void)
{
	const struct dvq_cq_info *info = &fake_kernel.cqs[1].info;

	return *(uint32_t *)(s.file + info->db_key + info->db_offset);
}

static uint32_t arm_bits(void)
{
	CHECK_EQ(ibv_req_notify_cq(cq(), 0), 0);
	return cq_doorbell();
}

/* the events that there were, also where they are acknowledged late or were never taken */
TEST(arming)
{
	struct dvq_cq_info *info = &fake_kernel.cqs[1].info;
	struct ibv_wc wc;
	unsigned int calls;

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 8; i++)
		CHECK_EQ(send_one(i), 0);
	CHECK_EQ(ibv_req_notify_cq(cq(), 1), EOPNOTSUPP);
	complete(id_of(0), 0, SENT, 55, 0);
	calls = fake_kernel.calls;
	CHECK_EQ(arm_bits(), 0x80000000);
	CHECK_EQ(fake_kernel.calls, calls);
	/* this device makes no event of what came before an arm */
	CHECK_EQ(arm_bits(), 0x80000000);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(arm_bits(), 0x80000001);
	/* nothing new came: there is nothing to ask for */
	calls = fake_kernel.calls;
	CHECK_EQ(arm_bits(), 0x80000001);
	CHECK_EQ(fake_kernel.calls, calls);
	/* an event, taken and acknowledged; nor here */
	complete(id_of(1), 0, SENT, 55, 0);
	info->events = s.cq.ex.comp_events_completed = 1;
	CHECK_EQ(arm_bits(), 0xa0000001);
	CHECK_EQ(fake_kernel.calls, calls);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	/* one that is not acknowledged yet */
	complete(id_of(2), 0, SENT, 55, 0);
	info->events = 2;
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(arm_bits(), 0xc0000003);
	/* an entry that came just before the arm did, so that there was no event */
	complete(id_of(3), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(arm_bits(), 0xc0000004);
	/* the kernel cannot tell; then an older one that does not count; then both are acknowledged */
	complete(id_of(4), 0, SENT, 55, 0);
	fake_kernel.error = ENOMEM;
	CHECK_EQ(arm_bits(), 0xc0000004);
	fake_kernel.error = 0;
	info->events = 0;
	CHECK_EQ(arm_bits(), 0xc0000004);
	s.cq.ex.comp_events_completed = 3;
	CHECK_EQ(arm_bits(), 0xe0000004);
	/* nothing was taken since, but there is an entry, and of that there was an event */
	info->events = 4;
	CHECK_EQ(arm_bits(), 0x80000004);
	end_scene();
}

/* ---- what others do to the objects ------------------------------------------------------------------ */

TEST(number_of_an_ah)
{
	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	fake_kernel.ahs[1].ah_num = 0x99;
	CHECK_EQ(send_one(2), 0);
	CHECK_EQ(wqe(1)[1] >> 32 & 0xffff, 0x4321);
	/* one was destroyed, it may have been this one's predecessor */
	changes()->ahs++;
	CHECK_EQ(send_one(3), 0);
	CHECK_EQ(wqe(2)[1] >> 32 & 0xffff, 0x99);
	/* one that the kernel does not know */
	s.ah.handle = 99;
	changes()->ahs++;
	CHECK_EQ(send_one(4), EINVAL);
	CHECK_EQ(sends_rung(), 3);
	end_scene();
}

TEST(reset_between_posts)
{
	struct ibv_sge sge = { .addr = 0x2000, .length = 10, .lkey = 5 };
	struct ibv_recv_wr recv = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc[8];

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 64; i++)
		CHECK_EQ(send_one(i), 0);
	for (unsigned int i = 0; i < 100; i++)
		CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), 0);
	complete(id_of(9), 0, SENT, 55, 0);
	/* RESET and back to RTS */
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	for (unsigned int i = 0; i < 64; i++)
		CHECK_EQ(send_one(100 + i), 0);
	CHECK_EQ(sends_rung(), 64);
	CHECK_EQ(send_one(1), ENOMEM);
	for (unsigned int i = 0; i < 128; i++)
		CHECK_EQ(ibv_post_recv(&s.qp.ex.qp_base, &recv, &bad), 0);
	CHECK_EQ(doorbell(&fake_kernel.qps[1].rq), 128);
	/* the completion of before is no more, although its id is out again */
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	complete(id_of(9), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 109);
	end_scene();
}

/* What ended before a RESET is polled until something is posted; each queue for itself (takeover.rst). */
TEST(completions_between_a_reset_and_the_first_post)
{
	struct ibv_wc wc[8];

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(send_one(i), 0);
	complete(id_of(0), 0, SENT, 55, 0);
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	CHECK_EQ(wc[0].wr_id, 0);
	complete(id_of(1), 0, SENT, 55, 0);
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 1);
	complete(id_of(2), 0, SENT, 55, 0);
	CHECK_EQ(send_one(9), 0);
	CHECK_EQ(ibv_poll_cq(cq(), 8, wc), 0);
	end_scene();
}

/* a send ends, and then the QP is reset; of its other queue nothing is forgotten */
static void send_and_reset(unsigned int i)
{
	CHECK_EQ(send_one(i), 0);
	complete(id_of(i % 64), 0, SENT, 55, 0);
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
}

static void forget_resets(void)
{
	fake_kernel.qps[1].info.resets = 0;
	take_qp_of(&s.qp.ex.qp_base)->recv_resets = 0;
}

/* another QP of the CQ is reset again and again; what was set aside for that does not pile up */
TEST(resets_beside_completions)
{
	struct ibv_wc wc;

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 1000; i++) {
		send_and_reset(i);
		CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
		CHECK_EQ(wc.wr_id, i);
		forget_resets();
	}
	CHECK(take_cq_of(cq())->backlog_size <= 64);
	end_scene();
}

/* what was set aside is polled bit by bit, so that there is always something left of it */
TEST(backlog_that_is_never_empty)
{
	struct ibv_wc wc;

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 1000; i++) {
		send_and_reset(i);
		forget_resets();
		if (i < 2)
			continue;
		CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
		CHECK_EQ(wc.wr_id, i - 2);
	}
	CHECK_EQ(take_cq_of(cq())->backlog_size, 64);
	CHECK_EQ(ibv_poll_cq(cq(), 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 998);
	end_scene();
}

/* Fewer than were asked for: the CQ is empty. So a program arms, polls until then and sleeps. */
TEST(poll_that_returns_fewer_leaves_nothing)
{
	struct ibv_wc wc[40];

	set_scene(65);
	take();
	for (unsigned int i = 0; i < 50; i++)
		CHECK_EQ(send_one(i), 0);
	/* among them one that nobody waits for */
	complete(id_of(0), 0, SENT, 56, 0);
	for (unsigned int i = 0; i < 17; i++)
		complete(id_of(i), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 16, wc), 16);
	CHECK_EQ(ibv_poll_cq(cq(), 16, wc), 1);
	/* a whole batch of them, before and after others */
	complete(id_of(17), 0, SENT, 55, 0);
	for (unsigned int i = 0; i < 40; i++)
		complete(id_of(0), 0, SENT, 56, 0);
	complete(id_of(18), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 40, wc), 2);
	/* some that were set aside, some on the ring */
	complete(id_of(19), 0, SENT, 55, 0);
	fake_kernel.qps[1].info.resets++;
	changes()->qps++;
	CHECK_EQ(post_recv_to(&s.qp.ex.qp_base), 0);
	CHECK_EQ(take_cq_of(cq())->backlog_count, 1);
	forget_resets();
	for (unsigned int i = 20; i < 22; i++)
		complete(id_of(i), 0, SENT, 55, 0);
	CHECK_EQ(ibv_poll_cq(cq(), 16, wc), 3);
	CHECK_EQ(wc[0].wr_id, 19);
	CHECK_EQ(wc[2].wr_id, 21);
	CHECK_EQ(ibv_poll_cq(cq(), 16, wc), 0);
	end_scene();
}

/* the kernel cannot tell now whether there was one */
TEST(reset_that_is_not_told)
{
	set_scene(65);
	take();
	CHECK_EQ(send_one(1), 0);
	changes()->qps++;
	fake_kernel.qps[1].error = ENOMEM;
	CHECK_EQ(send_one(2), ENOMEM);
	/* a device that was removed is posted to as ever, and nobody gets it */
	fake_kernel.qps[1].error = EIO;
	CHECK_EQ(send_one(3), 0);
	fake_kernel.qps[1].error = 0;
	CHECK_EQ(send_one(4), 0);
	CHECK_EQ(sends_rung(), 3);
	end_scene();
}

/* ---- what it costs ------------------------------------------------------------------------------------ */

__attribute__((noinline)) static void send_burst(struct efadv_qp *efa)
{
	ibv_wr_start(&s.qp.ex);
	for (unsigned int i = 0; i < COST_BURST; i++) {
		put_send(i);
		efadv_wr_set_processing_hints(efa, 1);
	}
	ibv_wr_complete(&s.qp.ex);
}

__attribute__((noinline)) static int poll_burst(struct ibv_wc *wc)
{
	return ibv_poll_cq(cq(), COST_BURST, wc);
}

/* bursts of one kind between breakpoints, and of the other beside them; @arg: polls are counted */
static void measure(const void *arg)
{
	const bool polls = *(const bool *)arg;
	unsigned int sent = 0;
	struct efadv_qp *efa;
	struct ibv_wc wc[COST_BURST];

	set_scene(65);
	take();
	efa = efadv_qp_from_ibv_qp_ex(&s.qp.ex);
	cost_watch_me();
	for (unsigned int i = 0; i < COST_WARM_UP + COST_MEASURE; i++) {
		const bool counted = i >= COST_WARM_UP;
		int n;

		if (counted && !polls)
			COST_BREAKPOINT();
		send_burst(efa);
		if (counted && !polls)
			COST_BREAKPOINT();
		for (unsigned int j = 0; j < COST_BURST; j++)
			complete(id_of((sent + j) % 64), 0, SENT, 55, 0);
		sent += COST_BURST;
		if (counted && polls)
			COST_BREAKPOINT();
		n = poll_burst(wc);
		if (counted && polls)
			COST_BREAKPOINT();
		if (n != COST_BURST || sends_rung() != sent)
			_exit(1);
	}
	_exit(0);
}

/* what the stock provider of release 65 costs was measured natively: 154 and 118 to 145 */
TEST(cost_of_a_send_with_a_hint)
{
	cost_check("send of one SGE with a hint by ibv_wr_*", SEND_LIMIT, measure, &(bool){ false });
}

TEST(cost_of_a_completion)
{
	cost_check("completion by ibv_poll_cq()", POLL_LIMIT, measure, &(bool){ true });
}

TAP_MAIN
