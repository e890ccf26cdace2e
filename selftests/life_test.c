// SPDX-License-Identifier: GPL-2.0
/*
 * Objects come and go: in every order, up to the limits, when the adapter refuses, when their
 * number is used again. Nothing stays behind.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "lib/efa_test.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/uverbs.h"

static void count_objects(struct model_stats *stats)
{
	if (self->model[0])
		model_stats(self->model, stats);
}

/* another GID than that of any adapter, and than those with other @n */
static union ibv_gid stranger(unsigned int n)
{
	union ibv_gid gid = { .raw = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x66 } };

	gid.raw[14] = n >> 8;
	gid.raw[15] = n;
	return gid;
}

/* ---- all objects, in random order ---------------------------------------- */

#define HERD	24

/* objects that live at the same time, each with what it was made from */
struct herd {
	struct ibv_pd *pd[HERD];
	struct ibv_comp_channel *channel[HERD];
	struct ibv_cq *cq[HERD], *cq_with[HERD];
	struct ibv_qp *qp[HERD];
	struct ibv_ah *ah[HERD];
	struct ibv_mr *mr[HERD];
	uint8_t *memory;
	/* users of each */
	unsigned int pd_users[HERD], cq_users[HERD], channel_users[HERD];
	/* what each was made from */
	unsigned int qp_pd[HERD], qp_cq[HERD], ah_pd[HERD], mr_pd[HERD], cq_channel[HERD];
	uint32_t random;
	unsigned int made, destroyed, refused;
};

static unsigned int pick(struct herd *herd)
{
	return lab_random(&herd->random) % HERD;
}

static void expect_destroyed(struct herd *herd, int err, bool busy)
{
	CHECK_EQ(err, busy ? EBUSY : 0);
	herd->destroyed += !err;
	herd->refused += err != 0;
}

static void pd_turn(struct herd *herd, unsigned int i)
{
	bool busy = herd->pd_users[i];

	if (!herd->pd[i]) {
		herd->pd[i] = ibv_alloc_pd(self->context);
		REQUIRE(herd->pd[i]);
		herd->made++;
		return;
	}
	expect_destroyed(herd, ibv_dealloc_pd(herd->pd[i]), busy);
	if (!busy)
		herd->pd[i] = NULL;
}

static void channel_turn(struct herd *herd, unsigned int i)
{
	bool busy = herd->channel_users[i];

	if (!herd->channel[i]) {
		herd->channel[i] = ibv_create_comp_channel(self->context);
		REQUIRE(herd->channel[i]);
		herd->made++;
		return;
	}
	expect_destroyed(herd, ibv_destroy_comp_channel(herd->channel[i]), busy);
	if (!busy)
		herd->channel[i] = NULL;
}

static void cq_turn(struct herd *herd, unsigned int i)
{
	unsigned int from = pick(herd);
	bool busy = herd->cq_users[i];

	if (!herd->cq[i]) {
		struct ibv_comp_channel *channel = herd->channel[from];

		herd->cq[i] = ibv_create_cq(self->context, 1 + pick(herd) * 20, NULL, channel, 0);
		if (!herd->cq[i] && channel && errno == EOPNOTSUPP)
			return;		/* no events */
		REQUIRE(herd->cq[i]);
		herd->cq_channel[i] = channel ? from : HERD;
		if (channel)
			herd->channel_users[from]++;
		herd->made++;
		return;
	}
	expect_destroyed(herd, ibv_destroy_cq(herd->cq[i]), busy);
	if (busy)
		return;
	herd->cq[i] = NULL;
	if (herd->cq_channel[i] < HERD)
		herd->channel_users[herd->cq_channel[i]]--;
}

static void qp_turn(struct herd *herd, unsigned int i)
{
	unsigned int pd = pick(herd), cq = pick(herd);

	if (herd->qp[i]) {
		expect_destroyed(herd, ibv_destroy_qp(herd->qp[i]), false);
		herd->qp[i] = NULL;
		herd->pd_users[herd->qp_pd[i]]--;
		herd->cq_users[herd->qp_cq[i]]--;
		return;
	}
	if (!herd->pd[pd] || !herd->cq[cq])
		return;
	struct ibv_qp_init_attr attr = {
		.send_cq = herd->cq[cq], .recv_cq = herd->cq[cq],
		.qp_type = i & 1 ? IBV_QPT_UD : IBV_QPT_DRIVER,
		.cap = { .max_send_wr = 1 + pick(herd), .max_recv_wr = 1 + pick(herd) * 10,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	herd->qp[i] = i & 1 ? ibv_create_qp(herd->pd[pd], &attr) :
			      efadv_create_driver_qp(herd->pd[pd], &attr, EFADV_QP_DRIVER_TYPE_SRD);
	REQUIRE(herd->qp[i]);
	herd->qp_pd[i] = pd;
	herd->qp_cq[i] = cq;
	herd->pd_users[pd]++;
	herd->cq_users[cq]++;
	herd->made++;
}

static void ah_turn(struct herd *herd, unsigned int i)
{
	unsigned int pd = pick(herd);
	/* few enough that the same meet in one PD */
	union ibv_gid gid = stranger(pick(herd) / 6);

	if (herd->ah[i]) {
		expect_destroyed(herd, ibv_destroy_ah(herd->ah[i]), false);
		herd->ah[i] = NULL;
		herd->pd_users[herd->ah_pd[i]]--;
		return;
	}
	if (!herd->pd[pd])
		return;
	herd->ah[i] = ah_try(herd->pd[pd], &gid);
	REQUIRE(herd->ah[i]);
	herd->ah_pd[i] = pd;
	herd->pd_users[pd]++;
	herd->made++;
}

static void mr_turn(struct herd *herd, unsigned int i)
{
	unsigned int pd = pick(herd);

	if (herd->mr[i]) {
		expect_destroyed(herd, ibv_dereg_mr(herd->mr[i]), false);
		herd->mr[i] = NULL;
		herd->pd_users[herd->mr_pd[i]]--;
		return;
	}
	if (!herd->pd[pd])
		return;
	herd->mr[i] = ibv_reg_mr(herd->pd[pd], herd->memory + i * 1000, 1 + pick(herd) * 5000,
				 IBV_ACCESS_LOCAL_WRITE);
	REQUIRE(herd->mr[i]);
	herd->mr_pd[i] = pd;
	herd->pd_users[pd]++;
	herd->made++;
}

static void (*const turns[])(struct herd *herd, unsigned int i) = {
	pd_turn, channel_turn, cq_turn, qp_turn, ah_turn, mr_turn,
};

#define TURNS	(sizeof(turns) / sizeof(turns[0]))

static void clear(struct herd *herd)
{
	for (unsigned int i = 0; i < HERD; i++) {
		if (herd->qp[i])
			qp_turn(herd, i);
		if (herd->ah[i])
			ah_turn(herd, i);
		if (herd->mr[i])
			mr_turn(herd, i);
	}
	for (unsigned int i = 0; i < HERD; i++)
		if (herd->cq[i])
			cq_turn(herd, i);
	for (unsigned int i = 0; i < HERD; i++) {
		if (herd->pd[i])
			pd_turn(herd, i);
		if (herd->channel[i])
			channel_turn(herd, i);
	}
}

/* what is in use stays, what is not goes */
EFA_TEST(any_order)
{
	static struct herd herd;
	struct model_stats before;

	count_objects(&before);
	herd.random = 20260101;
	herd.memory = calloc(1, 200000);
	REQUIRE(herd.memory);
	for (unsigned int i = 0; i < 3000; i++)
		turns[lab_random(&herd.random) % TURNS](&herd, pick(&herd));
	clear(&herd);
	free(herd.memory);
	printf("# %u made, %u destroyed, %u refused\n", herd.made, herd.destroyed, herd.refused);
	CHECK_EQ(herd.made, herd.destroyed);
	CHECK(herd.refused);
	adapter_expect_objects(self, &before);
}

/* ---- one kind, again and again ------------------------------------------- */

/* one CQ for both directions */
EFA_TEST(f24_qp_again_and_again)
{
	struct cq *cq = cq_new(self, 16, NULL);
	struct ibv_pd *pd = pd_new(self);
	struct model_stats before;

	count_objects(&before);
	for (unsigned int i = 0; i < 300; i++) {
		struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
			.transport = i & 1 ? UD : SRD, .pd = pd, .send_cq = cq, .plain = i & 2,
			.send_wr = 1 << i % 10, .recv_wr = 1 << (i + 5) % 10 });

		REQUIRE(!endpoint_destroy(endpoint));
	}
	adapter_expect_objects(self, &before);
}

/* rings as large as there are, and the answer to their creation, which may be one that cannot be given */
struct rings {
	struct raw *raw;
	uint32_t cq;
	struct raw_qp qp;
	bool refused;
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
};

static struct uv_data rings_answer(const struct rings *rings, void *out, size_t len)
{
	return (struct uv_data) { .out = rings->refused ? (void *)8 : out, .out_len = len };
}

static void cq_turn_of_memory(void *arg)
{
	struct rings *rings = arg;
	struct dvq_efa_cq_req req = raw_cq_req(rings->raw);
	struct uv_data data = rings_answer(rings, &rings->cq_resp, sizeof(rings->cq_resp));
	uint32_t cq;

	data.in = &req;
	data.in_len = sizeof(req);
	CHECK_EQ(raw_cq(rings->raw, self->attr.max_cqe, &data, &cq), rings->refused ? -EFAULT : 0);
	if (!rings->refused)
		CHECK_EQ(raw_cq_destroy(rings->raw, cq), 0);
}

static void qp_turn_of_memory(void *arg)
{
	struct rings *rings = arg;
	struct uv_data data = rings_answer(rings, &rings->qp_resp, sizeof(rings->qp_resp));
	uint32_t qp;

	data.in = &rings->qp.req;
	data.in_len = sizeof(rings->qp.req);
	CHECK_EQ(raw_qp_data(rings->raw, &rings->qp, &data, &qp), rings->refused ? -EFAULT : 0);
	if (!rings->refused)
		CHECK_EQ(raw_qp_destroy(rings->raw, qp), 0);
}

EFA_TEST(memory_of_rings_comes_back)
{
	struct rings rings = { .raw = raw_new(self) };
	struct dvq_efa_cq_resp resp;

	if (!self->dvq)
		SKIP("is about dvq_efa");
	allow_seconds(300);
	rings.cq = raw_cq_new(rings.raw, &resp);
	rings.qp = raw_qp_usual(rings.raw, rings.cq);
	rings.qp.cap.max_recv_wr = self->efa.max_rq_wr;
	rings.qp.req.rq_ring_size = self->efa.max_rq_wr * 16;
	/* once, to know how large they are */
	cq_turn_of_memory(&rings);
	qp_turn_of_memory(&rings);
	REQUIRE(rings.cq_resp.q_mmap_size && rings.qp_resp.rq_mmap_size);
	for (unsigned int i = 0; i < 2; i++) {
		rings.refused = i;
		memory_expect_returned(i ? "CQs refused at the end" : "CQs",
				       rings.cq_resp.q_mmap_size, cq_turn_of_memory, &rings);
		memory_expect_returned(i ? "QPs refused at the end" : "QPs",
				       rings.qp_resp.rq_mmap_size, qp_turn_of_memory, &rings);
	}
}

EFA_TEST(context_again_and_again)
{
	struct model_stats before;

	count_objects(&before);
	for (unsigned int i = 0; i < 200; i++) {
		struct adapter adapter = *self;

		adapter_open(&adapter);
		adapter_close(&adapter);
	}
	adapter_expect_objects(self, &before);
}

/* ---- many threads -------------------------------------------------------- */

enum { MAKERS = 4, POLLERS = 2, MAKER_ROUNDS = 40 };

/* threads cannot end a test, so what goes wrong is counted */
static struct crowd {
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	atomic_uint made, refused, wrong, done[2];
	atomic_bool stop;
} crowd;

/* QPs on both CQs, every other one the other way round */
static void *make_and_destroy(void *arg)
{
	unsigned int turn = (uintptr_t)arg;

	for (unsigned int i = 0; i < MAKER_ROUNDS; i++, turn++) {
		struct ibv_qp_init_attr attr = {
			.send_cq = crowd.cq[turn & 1], .recv_cq = crowd.cq[!(turn & 1)],
			.qp_type = turn & 2 ? IBV_QPT_UD : IBV_QPT_DRIVER,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				 .max_recv_sge = 1 },
		};
		struct ibv_qp *qp = turn & 2 ? ibv_create_qp(crowd.pd, &attr) :
			efadv_create_driver_qp(crowd.pd, &attr, EFADV_QP_DRIVER_TYPE_SRD);

		atomic_fetch_add(qp ? &crowd.made : &crowd.refused, 1);
		if (qp && ibv_destroy_qp(qp))
			atomic_fetch_add(&crowd.wrong, 1);
	}
	return NULL;
}

static void *poll_both(void *unused)
{
	struct ibv_wc wc[4];

	(void)unused;
	while (!atomic_load(&crowd.stop))
		for (unsigned int i = 0; i < 2; i++) {
			int n = ibv_poll_cq(crowd.cq[i], 4, wc);

			for (int j = 0; j < n; j++)
				if (wc[j].status)
					atomic_fetch_add(&crowd.wrong, 1);
			if (n < 0)
				atomic_fetch_add(&crowd.wrong, 1);
			else
				atomic_fetch_add(&crowd.done[i], n);
		}
	return NULL;
}

static void wait_for(atomic_uint *counter, unsigned int want)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (atomic_load(counter) < want)
		LAB_NEED(now_ms() < end, "%u completions of %u", atomic_load(counter), want);
}

/*
 * QPs come and go on CQs that others poll, some creations fail, and a QP that stays works on: each
 * of its completions comes.
 */
EFA_TEST(f20_f24_makers_and_pollers)
{
	struct cq *cq[2] = { cq_new(self, 256, NULL), cq_new(self, 256, NULL) };
	struct endpoint *stays = endpoint_new(self, &(struct endpoint_options) {
		.send_cq = cq[0], .recv_cq = cq[1] });
	struct buffer *buffer = buffer_new(stays->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(stays, stays);
	pthread_t maker[MAKERS], poller[POLLERS];
	struct model_stats before;
	unsigned int sent = 0;

	count_objects(&before);
	memset(&crowd, 0, sizeof(crowd));
	crowd.pd = stays->pd;
	crowd.cq[0] = cq[0]->cq;
	crowd.cq[1] = cq[1]->cq;
	for (uintptr_t i = 0; i < MAKERS; i++)
		REQUIRE(!pthread_create(&maker[i], NULL, make_and_destroy, (void *)i));
	for (unsigned int i = 0; i < POLLERS; i++)
		REQUIRE(!pthread_create(&poller[i], NULL, poll_both, NULL));
	do {
		struct work work = send_work(&route, sent, buffer, 0, 8);

		/* one that nobody has met yet is enough, and there is room for 64 */
		if (self->model[0] && sent % 8 == 0 && !*model_ask(self->model, "inject list"))
			model_ask(self->model, "inject op=create_qp action=fail status=%u",
				  sent & 8 ? 2 : 5);
		post_recv_one(stays, sent, buffer, 0, 64);
		post_one(stays, &work);
		sent++;
		wait_for(&crowd.done[0], sent);
		wait_for(&crowd.done[1], sent);
	} while (atomic_load(&crowd.made) + atomic_load(&crowd.refused) < MAKERS * MAKER_ROUNDS);
	for (unsigned int i = 0; i < MAKERS; i++)
		pthread_join(maker[i], NULL);
	atomic_store(&crowd.stop, true);
	for (unsigned int i = 0; i < POLLERS; i++)
		pthread_join(poller[i], NULL);
	printf("# %u made, %u refused, %u sent\n", crowd.made, crowd.refused, sent);
	CHECK_EQ(crowd.wrong, 0);
	CHECK(!self->model[0] || crowd.refused);
	CHECK_EQ(crowd.done[0], sent);
	CHECK_EQ(crowd.done[1], sent);
	adapter_expect_objects(self, &before);
}

/* ---- limits -------------------------------------------------------------- */

/* F-09: all there are, then no more; one less, then one more */
EFA_TEST(f09_as_many_qps_as_promised)
{
	unsigned int max = self->attr.max_qp, made = 0;
	struct endpoint_options options = { .send_wr = 1, .recv_wr = 1, .state = ENDPOINT_RESET };
	struct endpoint *last = NULL, *endpoint;
	struct model_stats before;

	count_objects(&before);
	options.pd = pd_new(self);
	options.send_cq = cq_new(self, 16, NULL);
	while (made <= max && (endpoint = endpoint_try(self, &options))) {
		last = endpoint;
		made++;
	}
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(made, max);
	REQUIRE(last);
	REQUIRE(!endpoint_destroy(last));
	last = endpoint_try(self, &options);
	CHECK(last);
	CHECK(!endpoint_try(self, &options));
	CHECK_EQ(errno, ENOMEM);
	lab_drop_all();
	adapter_expect_objects(self, &before);
}

EFA_TEST(as_many_cqs_as_promised)
{
	unsigned int max = self->attr.max_cq, made = 0;
	struct ibv_cq **cq = calloc(max + 1, sizeof(*cq));

	REQUIRE(cq);
	while (made <= max && (cq[made] = ibv_create_cq(self->context, 1, NULL, NULL, 0)))
		made++;
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(made, max);
	while (made)
		CHECK_EQ(ibv_destroy_cq(cq[--made]), 0);
	free(cq);
}

EFA_TEST(as_many_pds_as_promised)
{
	unsigned int max = self->attr.max_pd, made = 0;
	struct ibv_pd **pd = calloc(max + 1, sizeof(*pd));

	REQUIRE(pd);
	while (made <= max && (pd[made] = ibv_alloc_pd(self->context)))
		made++;
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(made, max);
	while (made)
		CHECK_EQ(ibv_dealloc_pd(pd[--made]), 0);
	free(pd);
}

EFA_TEST(f53_as_many_ahs_as_promised)
{
	unsigned int max = self->attr.max_ah, made = 0;
	struct ibv_ah **ah = calloc(max + 1, sizeof(*ah));
	struct ibv_pd *pd = pd_new(self);
	struct model_stats before;
	int logged;

	REQUIRE(ah);
	count_objects(&before);
	for (; made <= max; made++) {
		union ibv_gid gid = stranger(made);

		ah[made] = ah_try(pd, &gid);
		if (!ah[made])
			break;
	}
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(made, max);
	/* however often it is asked for, the log is not filled */
	logged = log_open();
	for (unsigned int i = 0; i < 50; i++) {
		union ibv_gid gid = stranger(made + i);

		CHECK(!ah_try(pd, &gid));
	}
	CHECK(!self->dvq || log_count(logged, "efa") <= 1);
	while (made)
		CHECK_EQ(ibv_destroy_ah(ah[--made]), 0);
	free(ah);
	adapter_expect_objects(self, &before);
}

static void need_dvq(const char *why)
{
	if (!self->dvq)
		SKIP(why);
}

static uint64_t counted_ahs(void)
{
	uint64_t ahs = UINT64_MAX;

	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	adapter_counter(self, false, "ahs", &ahs);
	return ahs;
}

static void make_ahs_and_wait(void *arg)
{
	const int *done = arg;
	struct adapter adapter = *self;
	struct ibv_pd *pd;
	char byte = 0;

	adapter.context = ibv_open_device(adapter.device);
	REQUIRE(adapter.context);
	pd = pd_new(&adapter);
	for (unsigned int i = 0; i < 30; i++) {
		union ibv_gid gid = stranger(i);

		REQUIRE(ah_try(pd, &gid));
	}
	REQUIRE(write(*done, &byte, 1) == 1);
	pause();
}

/* how many there are is told, whatever comes and goes, and however it goes */
EFA_TEST(f53_ahs_are_counted)
{
	struct ibv_ah *ah[60] = { NULL };
	struct ibv_pd *pd = pd_new(self);
	int done[2], status;
	uint32_t random = 53;
	char byte;
	pid_t pid;

	need_model();
	need_dvq("needs dvq_efa: the other driver does not count them");
	CHECK_EQ(counted_ahs(), 0);
	for (unsigned int round = 0; round < 10; round++) {
		struct model_stats stats;

		for (unsigned int i = 0; i < 40; i++) {
			unsigned int n = lab_random(&random) % 60;
			/* some of them to the same peer */
			union ibv_gid gid = stranger(n / 2);

			if (ah[n])
				REQUIRE(!ibv_destroy_ah(ah[n]));
			ah[n] = ah[n] ? NULL : ah_try(pd, &gid);
		}
		model_stats(self->model, &stats);
		CHECK(model_stat(&stats, "ah") > 0);
		CHECK_EQ(counted_ahs(), model_stat(&stats, "ah"));
	}
	for (unsigned int n = 0; n < 60; n++)
		if (ah[n])
			REQUIRE(!ibv_destroy_ah(ah[n]));
	CHECK_EQ(counted_ahs(), 0);

	REQUIRE(!pipe(done));
	pid = child_start(make_ahs_and_wait, &done[1]);
	REQUIRE(read(done[0], &byte, 1) == 1);
	CHECK_EQ(counted_ahs(), 30);
	REQUIRE(!kill(pid, SIGKILL));
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(counted_ahs(), 0);
	close(done[0]);
	close(done[1]);
}

/*
 * Depths that are promised work, larger ones are refused before the adapter hears of them. For send
 * queues there are two promises: what fits into the adapter's memory, and the adapter's own limit.
 */
EFA_TEST(as_deep_as_promised)
{
	struct efadv_sq_depth_attr sq = { .max_send_sge = self->efa.max_sq_sge };
	struct efadv_rq_depth_attr rq = { .max_recv_sge = self->efa.max_rq_sge };
	struct endpoint_options options = { .state = ENDPOINT_RESET, .cq_depth = 16 };
	int depth = efadv_get_max_sq_depth(self->context, &sq, sizeof(sq));
	struct endpoint *endpoint;

	REQUIRE(depth > 0);
	if (depth > (int)self->efa.max_sq_wr)
		depth = self->efa.max_sq_wr;
	options.send_wr = depth;
	endpoint = endpoint_new(self, &options);
	CHECK_EQ(endpoint->cap.max_send_wr, depth);
	options.send_wr = depth + 1;
	CHECK(!endpoint_try(self, &options));
	CHECK_EQ(errno, EINVAL);
	options.send_wr = 1;

	depth = efadv_get_max_rq_depth(self->context, &rq, sizeof(rq));
	REQUIRE(depth > 0);
	options.recv_wr = depth;
	endpoint = endpoint_new(self, &options);
	CHECK(endpoint->cap.max_recv_wr >= (unsigned int)depth);
	options.recv_wr = depth + 1;
	CHECK(!endpoint_try(self, &options));
	CHECK_EQ(errno, EINVAL);

	CHECK(!ibv_create_cq(self->context, self->attr.max_cqe + 1, NULL, NULL, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK(cq_new(self, self->attr.max_cqe, NULL)->cq->cqe >= self->attr.max_cqe);
}

/* F-21: a queue smaller than the adapter's smallest is that one, and the adapter hears so */
EFA_TEST(f21_tiny_queues)
{
	struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
		.send_wr = 1, .recv_wr = 1, .recv_sge = 1 });
	struct efadv_wq_attr sq = {}, rq = {};
	unsigned int least = raw_new(self)->context.min_sq_wr;
	uint64_t value;
	const char *text;

	REQUIRE(!efadv_query_qp_wqs(endpoint->qp, &sq, &rq, sizeof(sq)));
	CHECK_EQ(endpoint->cap.max_send_wr, least ?: 1);
	CHECK_EQ(sq.num_entries, least ?: 1);
	CHECK(sq.max_batch < sq.num_entries || sq.num_entries == 1 || sq.max_batch == 65535);
	CHECK_EQ(rq.num_entries, 1);
	if (!self->model[0])
		return;
	text = model_ask(self->model, "qp %u", endpoint->qp->qp_num);
	CHECK(model_find(text, "sq_depth", &value) && value == sq.num_entries);
	CHECK(model_find(text, "sq_bytes", &value) && value == sq.num_entries * sq.entry_size);
}

/* F-36: other types of QP, shared receive queues */
EFA_TEST(f36_what_efa_has_not)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_RAW_PACKET,
						  IBV_QPT_XRC_SEND };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct cq *cq = cq_new(self, 16, NULL);
	struct ibv_pd *pd = pd_new(self);

	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct ibv_qp_init_attr attr = {
			.qp_type = types[i], .send_cq = cq->cq, .recv_cq = cq->cq,
			.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
				 .max_recv_sge = 1 },
		};

		CHECK(!ibv_create_qp(pd, &attr));
		CHECK_EQ(errno, EOPNOTSUPP);
	}
	CHECK(!ibv_create_srq(pd, &srq));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(self->attr.max_srq, 0);
	CHECK_EQ(self->device->transport_type, IBV_TRANSPORT_UNSPECIFIED);
	CHECK_EQ(self->device->node_type, IBV_NODE_UNSPECIFIED);
}

/* an SRQ where there can be none: somebody else's, it matters not whose */
EFA_TEST(f36_qp_with_an_srq)
{
	struct cq *cq = cq_new(self, 16, NULL);
	struct ibv_srq srq = { .context = self->context };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = cq->cq, .recv_cq = cq->cq, .srq = &srq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	errno = 0;
	CHECK(!ibv_create_qp(pd_new(self), &attr));
	CHECK(errno == EINVAL || errno == EOPNOTSUPP);
}

/* ---- address handles (F-46) ---------------------------------------------- */

/* one PD, one peer, one handle of the adapter, whatever the order they go in */
EFA_TEST(f46_ahs_shared)
{
	static const unsigned int orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct ibv_pd *pd = pd_new(self), *other = pd_new(self);
	union ibv_gid gid = stranger(1), far = stranger(2);

	need_dvq("needs dvq_efa: the other driver makes an AH of the adapter for each");
	need_model();
	for (unsigned int i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct model_stats before;
		struct ibv_ah *ah[3], *foreign, *elsewhere;

		model_stats(self->model, &before);
		for (unsigned int j = 0; j < 3; j++) {
			ah[j] = ah_new(pd, &gid);
			CHECK_EQ(ah_number(ah[j]), ah_number(ah[0]));
		}
		CHECK_EQ(model_delta(self->model, &before, "admin_create_ah"), 1);
		/* another PD, another peer: others */
		foreign = ah_new(other, &gid);
		elsewhere = ah_new(pd, &far);
		CHECK(ah_number(foreign) != ah_number(ah[0]));
		CHECK(ah_number(elsewhere) != ah_number(ah[0]));
		CHECK_EQ(model_delta(self->model, &before, "admin_create_ah"), 3);
		REQUIRE(!lab_drop(foreign));
		REQUIRE(!lab_drop(elsewhere));
		for (unsigned int j = 0; j < 3; j++) {
			CHECK_EQ(model_delta(self->model, &before, "admin_destroy_ah"), 2);
			REQUIRE(!lab_drop(ah[orders[i][j]]));
		}
		CHECK_EQ(model_delta(self->model, &before, "admin_destroy_ah"), 3);
		CHECK_EQ(model_delta(self->model, &before, "ah"), 0);
	}
}

/* an adapter that refuses a second one never gets to hear of it */
EFA_TEST(f46_ahs_of_a_strict_adapter)
{
	struct ibv_pd *pd = pd_new(self);

	need_dvq("needs dvq_efa: the other driver asks for a second one");
	need_model();
	model_set(self->model, "single_ah", "1");
	for (unsigned int i = 0; i < 20; i++) {
		struct ibv_ah *ah = ah_try(pd, &peer->gid), *second = ah_try(pd, &peer->gid);

		CHECK(ah && second);
		if (ah)
			CHECK_EQ(ibv_destroy_ah(ah), 0);
		if (second)
			CHECK_EQ(ibv_destroy_ah(second), 0);
	}
}

EFA_TEST(f37_ah_without_route)
{
	struct ibv_ah_attr attr = { .dlid = 1, .port_num = 1 };
	struct ibv_pd *pd = pd_new(self);

	need_dvq("needs dvq_efa: the other driver makes an AH that leads nowhere");
	errno = 0;
	CHECK(!ibv_create_ah(pd, &attr));
	CHECK_EQ(errno, EINVAL);
	attr = (struct ibv_ah_attr) { .is_global = 1, .port_num = 1,
				      .grh = { .dgid = peer->gid, .sgid_index = 1 } };
	CHECK(!ibv_create_ah(pd, &attr));
	CHECK_EQ(errno, EINVAL);
}

/* ---- the adapter refuses ------------------------------------------------- */

/*
 * Every object, each with the commands that make it. One that fails half-way undoes the first
 * half.
 */
static void *make_pd(void)
{
	return ibv_alloc_pd(self->context);
}

static int unmake_pd(void *pd)
{
	return ibv_dealloc_pd(pd);
}

static void *make_context(void)
{
	return ibv_open_device(self->device);
}

static int unmake_context(void *context)
{
	return ibv_close_device(context);
}

static void *make_cq(void)
{
	return ibv_create_cq(self->context, 100, NULL, NULL, 0);
}

static int unmake_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

static struct ibv_pd *parent_pd;	/* of the objects below */
static struct cq *parent_cq;
static struct buffer *parent_memory;

static void *make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = parent_cq->cq, .recv_cq = parent_cq->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 300, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(parent_pd, &attr);
}

static int unmake_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

static void *make_ah(void)
{
	return ah_try(parent_pd, &peer->gid);
}

static int unmake_ah(void *ah)
{
	return ibv_destroy_ah(ah);
}

static void *make_mr(void)
{
	return ibv_reg_mr(parent_pd, parent_memory->memory, parent_memory->size,
			  IBV_ACCESS_LOCAL_WRITE);
}

static int unmake_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

static const struct kind {
	const char *name;
	void *(*make)(void);
	int (*unmake)(void *object);
	const char *command, *undo;
	const char *error_counter;	/* of the device, NULL: none */
	bool undo_fails;		/* a refusal to destroy is told, and the object stays */
} kinds[] = {
	{ "context", make_context, unmake_context, "alloc_uar", "dealloc_uar",
	  "alloc_ucontext_err", false },
	{ "pd", make_pd, unmake_pd, "alloc_pd", "dealloc_pd", "alloc_pd_err", false },
	{ "cq", make_cq, unmake_cq, "create_cq", "destroy_cq", "create_cq_err", false },
	{ "qp", make_qp, unmake_qp, "create_qp", "destroy_qp", "create_qp_err", true },
	{ "ah", make_ah, unmake_ah, "create_ah", "destroy_ah", "create_ah_err", false },
	{ "mr", make_mr, unmake_mr, "reg_mr", "dereg_mr", "reg_mr_err", true },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* status of an admin command, and what the user gets to see: any error that makes sense */
static bool sane(int err, unsigned int status)
{
	switch (status) {
	case 1:		/* no resources */
		return err == ENOMEM || err == ENOSPC;
	case 2:		/* bad opcode */
	case 3:		/* unsupported opcode */
		return err == EOPNOTSUPP || err == EINVAL;
	case 4:		/* malformed */
	case 5:		/* illegal parameter */
		return err == EINVAL;
	case 7:		/* busy */
		return err == EBUSY || err == EINVAL || err == EIO;
	default:
		return err == EINVAL || err == EIO;
	}
}

static uint64_t error_counter(const char *name)
{
	uint64_t value = 0;

	sleep_ms(25);
	if (name)
		adapter_counter(self, false, name, &value);
	return value;
}

static void prepare_parents(void)
{
	parent_pd = pd_new(self);
	parent_cq = cq_new(self, 100, NULL);
	parent_memory = buffer_new(parent_pd, 100000, IBV_ACCESS_LOCAL_WRITE);
}

static void refuse_to_make(const struct kind *kind)
{
	for (unsigned int status = 1; status <= 8; status++) {
		uint64_t errors = error_counter(kind->error_counter);
		struct model_stats before;
		void *object;

		model_stats(self->model, &before);
		model_ask(self->model, "inject op=%s action=fail status=%u", kind->command, status);
		object = kind->make();
		if (object) {
			lab_note(__FILE__, __LINE__,
				 "%s was made, although the adapter answered %u",
				 kind->name, status);
			kind->unmake(object);
		} else if (!sane(errno, status)) {
			lab_note(__FILE__, __LINE__, "%s, status %u: %s", kind->name, status,
				 strerror(errno));
		}
		adapter_expect_objects(self, &before);
		CHECK_EQ(error_counter(kind->error_counter) - errors, kind->error_counter ? 1 : 0);
		/* the next one is made */
		object = kind->make();
		REQUIRE(object);
		REQUIRE(!kind->unmake(object));
		adapter_expect_objects(self, &before);
	}
}

static void refuse_to_destroy(const struct kind *kind)
{
	struct model_stats before;
	void *object;
	int err;

	model_stats(self->model, &before);
	object = kind->make();
	REQUIRE(object);
	model_ask(self->model, "inject op=%s action=fail status=7", kind->undo);
	err = kind->unmake(object);
	if (kind->undo_fails) {
		CHECK(err != 0);
		REQUIRE(!kind->unmake(object));
		adapter_expect_objects(self, &before);
	} else {
		CHECK_EQ(err, 0);
	}
}

#define REFUSED(kind)								\
	EFA_TEST(kind##_refused)						\
	{									\
		need_model();							\
		prepare_parents();						\
		for (unsigned int i = 0; i < KINDS; i++)			\
			if (!strcmp(kinds[i].name, #kind))			\
				refuse_to_make(&kinds[i]);			\
	}

REFUSED(context)
REFUSED(pd)
REFUSED(cq)
REFUSED(qp)
REFUSED(ah)
REFUSED(mr)

/* a QP or region that the adapter does not give up stays whole, and can be destroyed later */
EFA_TEST(destruction_refused)
{
	need_model();
	if (self->kind == ADAPTER_EFA && libefa_release() < 56)
		SKIP("libefa frees what could not be destroyed: a newer one does not");
	prepare_parents();
	for (unsigned int i = 0; i < KINDS; i++)
		if (kinds[i].undo_fails)
			refuse_to_destroy(&kinds[i]);
}

/* ---- numbers used again -------------------------------------------------- */

/* F-22, F-23: what a QP has left in a CQ is gone with it, and what others have left is not */
EFA_TEST(f22_f23_completions_of_destroyed_qp)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint_options options = { .send_cq = cq };
	struct endpoint *stays = endpoint_new(self, &options), *goes;
	struct buffer *buffer = buffer_new(stays->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(stays, stays);
	struct ibv_wc wc[8];
	uint64_t end;
	int seen = 0;

	/* sends with nobody there: an error each, that nobody polls */
	for (unsigned int round = 0; round < 3; round++) {
		struct work work = send_work(&route, 100 + round, buffer, 0, 8);
		struct route other;
		struct work doomed;

		options.pd = stays->pd;
		goes = endpoint_new(self, &options);
		other = route_new(goes, stays);
		post_one(stays, &work);
		sleep_ms(2);
		doomed = send_work(&other, 900, buffer, 0, 8);
		for (unsigned int i = 0; i < 5; i++)
			post_one(goes, &doomed);
		sleep_ms(QUIET_MS);
		REQUIRE(!endpoint_destroy(goes));
	}
	end = now_ms() + PATIENCE_MS;
	/* the provider may call a stale entry an error of the poll; libdvq does not. All, then nothing more */
	for (unsigned int tries = 0; tries < 100; tries += seen >= 3 || now_ms() > end) {
		int n = ibv_poll_cq(cq->cq, 8, wc);

		for (int i = 0; i < n; i++) {
			CHECK_EQ(wc[i].wr_id, 100 + seen);
			CHECK_EQ(wc[i].qp_num, stays->qp->qp_num);
			seen++;
		}
	}
	CHECK_EQ(seen, 3);
	/* and all of the CQ is there for those who come after */
	for (unsigned int i = 0; i < 600; i++) {
		struct work work = send_work(&route, i, buffer, 0, 8);

		post_recv_one(stays, 1000 + i, buffer, 0, 8);
		post_one(stays, &work);
		cq_wait_many(cq, 2);
	}
}

static bool numbers_come_back(const struct endpoint_options *options)
{
	uint32_t number[2];

	for (unsigned int i = 0; i < 2; i++) {
		struct endpoint *endpoint = endpoint_new(self, options);

		number[i] = endpoint->qp->qp_num;
		REQUIRE(!endpoint_destroy(endpoint));
	}
	return number[0] == number[1];
}

/*
 * F-08: the same QP number at once: completions of the one before are not taken for its own. The
 * marks that tell them apart are few: with 16 entries there are 12 bits of them.
 */
EFA_TEST(f08_qp_number_used_again)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint_options options = { .send_cq = cq, .send_wr = 16 };

	if (!numbers_come_back(&options))
		SKIP("needs an adapter that uses QP numbers again at once: option qpn_reuse=1");
	if (self->kind == ADAPTER_EFA && libefa_release() < 64 && !adapter_is_taken_over(self))
		SKIP("libefa does not tell the completions of both apart: a newer one does");
	for (unsigned int round = 0; round < 40; round++) {
		struct endpoint *endpoint = endpoint_new(self, &options);
		struct buffer *buffer = buffer_new(endpoint->pd, 8, IBV_ACCESS_LOCAL_WRITE);
		struct route route = route_new(endpoint, endpoint);
		struct work work = send_work(&route, round, buffer, 0, 8);
		struct ibv_wc wc;
		int n = 0;

		/* its own is the first that is delivered */
		post_one(endpoint, &work);
		for (uint64_t end = now_ms() + PATIENCE_MS; n <= 0 && now_ms() < end; )
			n = ibv_poll_cq(cq->cq, 1, &wc);
		REQUIRE(n == 1);
		CHECK_EQ(wc.wr_id, round);
		/* then some that nobody polls */
		for (unsigned int i = 0; i < 3; i++) {
			work.id = 5000;
			post_one(endpoint, &work);
		}
		sleep_ms(QUIET_MS);
		REQUIRE(!endpoint_destroy(endpoint));
	}
}

EFA_TEST_MAIN
