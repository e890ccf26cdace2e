// SPDX-License-Identifier: GPL-2.0
/*
 * The RDMA admin queues of an ionic adapter when it is slow, repeats itself, talks nonsense or
 * forgets to say that it has answered: each command finds its own answer and the queue goes on;
 * where there is none, the RDMA side is failed and nobody is left waiting. (What is refused:
 * ionic_life_test. What is not answered: sweep_test.)
 */
#include <rdma/rdma_netlink.h>
#include <sched.h>

#include "lib/async.h"
#include "lib/driver.h"
#include "lib/ionic_test.h"
#include "lib/log.h"
#include "lib/resource.h"

static void need_dvq_ionic(void)
{
	need_model();
	if (!self->dvq)
		SKIP("is about dvq_ionic");
}

/* ---- one of each command ----------------------------------------------------------------------- */

/* what the commands make, in the order of the steps below */
static struct {
	struct endpoint *endpoint;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
} life;

static uint8_t memory[4096];

/* must succeed, as the steps must: all of it is undone at the end of the test */
static void life_new(void)
{
	life.endpoint = endpoint_new(self, NULL);
}

static int create_cq(void)
{
	life.cq = ibv_create_cq(self->context, 16, NULL, NULL, 0);
	return life.cq ? 0 : errno;
}

static int create_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = life.endpoint->send_cq->cq,
		.recv_cq = life.endpoint->send_cq->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	life.qp = ibv_create_qp(life.endpoint->pd, &attr);
	return life.qp ? 0 : errno;
}

static int modify_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };

	return ibv_modify_qp(life.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_QKEY);
}

static int query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = {};
	int err = ibv_query_qp(life.qp, &attr, IBV_QP_STATE | IBV_QP_QKEY, &init);

	CHECK(err || (attr.qp_state == IBV_QPS_INIT && attr.qkey == 1));
	return err;
}

static int create_ah(void)
{
	life.ah = ah_try(life.endpoint->pd, &self->gid);
	return life.ah ? 0 : errno;
}

static int create_mr(void)
{
	life.mr = ibv_reg_mr(life.endpoint->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	return life.mr ? 0 : errno;
}

static int stats_vals(void)
{
	uint64_t value;

	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	return adapter_counter(self, true, "wqes_send", &value) ? 0 : EIO;
}

static int destroy_mr(void)
{
	return ibv_dereg_mr(life.mr);
}

static int destroy_ah(void)
{
	return ibv_destroy_ah(life.ah);
}

static int destroy_qp(void)
{
	return ibv_destroy_qp(life.qp);
}

static int destroy_cq(void)
{
	return ibv_destroy_cq(life.cq);
}

static const struct step {
	const char *command;
	int (*run)(void);
} steps[] = {
	{ "create_cq", create_cq }, { "create_qp", create_qp }, { "modify_qp", modify_qp },
	{ "query_qp", query_qp }, { "create_ah", create_ah }, { "create_mr", create_mr },
	{ "stats_vals", stats_vals }, { "destroy_mr", destroy_mr }, { "destroy_ah", destroy_ah },
	{ "destroy_qp", destroy_qp }, { "destroy_cq", destroy_cq },
};

#define STEPS	(sizeof(steps) / sizeof(steps[0]))

/* @fault: what befalls its answer, in words */
static void step(const struct step *step, const char *fault)
{
	int err = step->run();

	LAB_NEED(!err, "%s, %s: %s", step->command, fault, strerror(err));
}

/* two commands that wait for their answers asleep */
static int registration(void)
{
	int err = create_mr();

	return err ?: destroy_mr();
}

static int give_back(void *cpus)
{
	return sched_setaffinity(0, sizeof(cpu_set_t), cpus) ? errno : 0;
}

/* the driver has a queue for each CPU: from here on to the end of the test it is the same one */
static void one_queue(void)
{
	static cpu_set_t before;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
	REQUIRE(!sched_setaffinity(0, sizeof(first), &first));
	lab_hold(give_back, &before);
}

/* The watchdog may have found an answer before the adapter came to say that it is there. */
static void await_injection(const char *fault)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (model_ask(self->model, "inject list")[0]) {
		LAB_NEED(now_ms() < end, "%s: did not happen", fault);
		sleep_ms(5);
	}
}

/* Nothing was lost: each command is told of, by an event of its own or with others. */
static void expect_events(const char *after)
{
	struct model_stats before;
	int err;

	model_stats(self->model, &before);
	err = registration();
	LAB_NEED(!err, "after %s: %s", after, strerror(err));
	if (model_wait_delta(self->model, &before, "eq_events", 2) < 2)
		lab_note(__FILE__, __LINE__, "after %s no event comes", after);
}

/* ---- answers that are odd ---------------------------------------------------------------------- */

/* @point: NULL: the command */
static const struct fault {
	const char *point, *action;
} faults[] = {
	/* longer than the watchdog looks away */
	{ NULL, "delay ms=150" },
	{ NULL, "dup" },
	/* ahead of the answer a refusal: of the next slot, of others, of the slot before */
	{ "stray_answer", "fail status=1" },
	{ "stray_answer", "fail status=2" },
	{ "stray_answer", "fail status=256" },
	{ "stray_answer", "fail status=511" },
	/* of the slot, by another queue; of the slot's number, but no answer */
	{ "stray_answer", "corrupt" },
	{ "stray_answer", "dup" },
	{ "eq_irq", "drop" },
	{ "eq_entry", "drop" },
	{ "eq_entry", "corrupt" },
	{ "eq_entry", "dup" },
};

#define FAULTS	(sizeof(faults) / sizeof(faults[0]))

IONIC_TEST(f48_odd_answers_of_every_command)
{
	char fault[80];

	need_dvq_ionic();
	one_queue();
	life_new();
	for (unsigned int i = 0; i < FAULTS; i++) {
		for (unsigned int j = 0; j < STEPS; j++) {
			snprintf(fault, sizeof(fault), "op=%s action=%s",
				 faults[i].point ?: steps[j].command, faults[i].action);
			model_ask(self->model, "inject %s", fault);
			step(&steps[j], fault);
			await_injection(fault);
		}
		expect_events(faults[i].action);
	}
}

/* each is told of, and once */
IONIC_TEST(f48_odd_answers_are_logged_once)
{
	static const char text[] = "unexpected answer";
	static const char *const odd[] = {
		"op=create_mr action=dup", "op=stray_answer action=fail status=1",
		"op=stray_answer action=corrupt", "op=stray_answer action=dup",
	};
	int log;

	need_dvq_ionic();
	one_queue();
	life_new();
	/* what the tests before have said must not silence this one */
	sleep_ms(5500);
	for (unsigned int i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		log = log_open();
		model_ask(self->model, "inject %s", odd[i]);
		CHECK_EQ(registration(), 0);
		CHECK_EQ(registration(), 0);
		CHECK_EQ(log_count(log, text), 1);
	}
}

/* ---- an adapter that forgets to say so --------------------------------------------------------- */

/* again and again; the next command's event comes */
IONIC_TEST(event_of_an_answer_is_lost)
{
	static const char *const losses[] = {
		"op=eq_irq action=drop", "op=eq_entry action=drop", "op=eq_entry action=corrupt",
	};

	need_dvq_ionic();
	one_queue();
	life_new();
	for (unsigned int i = 0; i < 12; i++) {
		const char *loss = losses[i % 3];

		model_ask(self->model, "inject %s", loss);
		CHECK_EQ(registration(), 0);
		await_injection(loss);
		expect_events(loss);
	}
}

/* Not one: answers are found by looking. */
IONIC_TEST(no_event_at_all)
{
	static const char *const points[] = { "eq_irq", "eq_entry" };

	need_dvq_ionic();
	one_queue();
	life_new();
	for (unsigned int i = 0; i < 2; i++) {
		model_ask(self->model, "inject op=%s count=1000000 action=drop", points[i]);
		for (unsigned int j = 0; j < STEPS; j++)
			step(&steps[j], points[i]);
		model_ask(self->model, "inject clear");
		expect_events(points[i]);
	}
}

/* Each vector, with nothing to tell. */
IONIC_TEST(interrupts_without_a_reason)
{
	need_dvq_ionic();
	life_new();
	for (unsigned int i = 0; i < 10; i++) {
		model_ask(self->model, "irq count=20");
		CHECK_EQ(registration(), 0);
	}
}

/* ---- events that do not exist ------------------------------------------------------------------ */

/* @cq: as the adapter calls it */
static void odd_events_of_cq(unsigned int cq)
{
	enum { NOTIFY = 0, BROKEN = 8, CODES = 16, QP_TYPE = 1, TYPES = 8 };

	for (unsigned int code = 0; code < CODES; code++)
		if (code != NOTIFY && code != BROKEN)
			model_ask(self->model, "event cq=%u code=%u", cq, code);
	for (unsigned int type = QP_TYPE + 1; type < TYPES; type++) {
		model_ask(self->model, "event cq=%u code=%u type=%u", cq, NOTIFY, type);
		model_ask(self->model, "event cq=%u code=%u type=%u", cq, BROKEN, type);
	}
	/* of a CQ that does not exist */
	model_ask(self->model, "inject op=eq_entry action=corrupt");
	model_ask(self->model, "event cq=%u code=%u", cq, BROKEN);
}

static void odd_events_of_qp(unsigned int qp)
{
	static const unsigned int codes[] = { 0, 4, 5, 6, 7, 11, 12, 13, 14, 15 };

	for (unsigned int i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		model_ask(self->model, "event qp=%u code=%u", qp, codes[i]);
	model_ask(self->model, "inject op=eq_entry action=corrupt");
	model_ask(self->model, "event qp=%u code=8", qp);
}

/* Of every CQ that the adapter has, those of the admin queues among them. */
IONIC_TEST(events_that_do_not_exist)
{
	char cqs[4096], *rest = cqs, *number;

	need_dvq_ionic();
	life_new();
	async_forget(self);
	snprintf(cqs, sizeof(cqs), "%s", model_ask(self->model, "cqs"));
	while ((number = strsep(&rest, " ")))
		odd_events_of_cq(strtoul(number, NULL, 10));
	odd_events_of_qp(life.endpoint->qp->qp_num);
	/* behind all of the queue pair's */
	model_ask(self->model, "event qp=%u code=2", life.endpoint->qp->qp_num);
	async_expect(self, IBV_EVENT_COMM_EST, life.endpoint->qp);
	for (unsigned int i = 0; i < STEPS; i++)
		step(&steps[i], "events that do not exist");
	CHECK(async_quiet(self, QUIET_MS));
}

/* ---- answers that do not come ------------------------------------------------------------------ */

/* After one that is lost the RDMA side is failed, and well again when its driver has come back. */
static void expect_failure(const char *what)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err = create_mr();

	if (err != ENODEV)
		lab_note(__FILE__, __LINE__, "%s: %s, wanted %s", what, strerror(err),
			 strerror(ENODEV));
	async_expect(self, IBV_EVENT_DEVICE_FATAL, NULL);
	CHECK_EQ(create_mr(), ENODEV);
	/* whoever looks after it can list the QPs, which work no more */
	CHECK_EQ(ibv_query_qp(life.endpoint->qp, &attr, IBV_QP_STATE, &init), 0);
	CHECK_EQ(attr.qp_state, IBV_QPS_ERR);
	CHECK_EQ(resources_dump(resources_device_index(self), RDMA_NLDEV_CMD_RES_QP_GET), 0);
	lab_drop_all();
	driver_rebind();
	one_queue();
	life_new();
	for (unsigned int i = 0; i < STEPS; i++)
		step(&steps[i], what);
	expect_events(what);
	async_forget(self);
}

/* None; one for another slot, as a success; one when nobody waits any more. */
IONIC_TEST(f48_no_answer_of_its_own)
{
	static const char *const losses[] = {
		"op=create_mr action=drop", "op=create_mr action=corrupt",
		"op=create_mr action=delay ms=30000",
	};

	need_dvq_ionic();
	allow_seconds(300);
	one_queue();
	life_new();
	async_forget(self);
	for (unsigned int i = 0; i < 3; i++) {
		model_ask(self->model, "inject %s", losses[i]);
		expect_failure(losses[i]);
	}
}

/* entries that a CQ of the adapter was given */
static uint64_t produced(const char *cq)
{
	uint64_t count;

	REQUIRE(model_find(model_ask(self->model, "cq %.8s", cq), "produced", &count));
	return count;
}

/* the CQ that answers come on */
static unsigned int answering_cq(void)
{
	char cqs[4096], *rest = cqs, *number;

	snprintf(cqs, sizeof(cqs), "%s", model_ask(self->model, "cqs"));
	while ((number = strsep(&rest, " "))) {
		uint64_t before = produced(number);

		REQUIRE(!registration());
		if (produced(number) != before)
			return strtoul(number, NULL, 10);
	}
	LAB_NEED(false, "no CQ of the adapter has answers");
}

IONIC_TEST(cq_of_an_admin_queue_fails)
{
	need_dvq_ionic();
	one_queue();
	life_new();
	async_forget(self);
	model_ask(self->model, "event cq=%u code=8", answering_cq());
	async_expect(self, IBV_EVENT_DEVICE_FATAL, NULL);
	CHECK_EQ(create_mr(), ENODEV);
	lab_drop_all();
	driver_rebind();
	life_new();
	CHECK_EQ(registration(), 0);
}

IONIC_TEST_MAIN
