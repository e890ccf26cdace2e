// SPDX-License-Identifier: GPL-2.0
/*
 * The admin queue of an EFA adapter when the device refuses, is slow, repeats itself, talks
 * nonsense or forgets to interrupt: every verb ends with the right errno, nothing is left behind,
 * and the queue goes on. (A device that does not answer at all: dead_test.)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/utsname.h>

#include "lib/async.h"
#include "lib/driver.h"
#include "lib/efa_test.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/resource.h"
#include "lib/uverbs.h"

#define SOON_MS	(10000 * lab_slow())	/* the test would be pointless if everything took its time */

static uint64_t live(const char *objects)
{
	struct model_stats stats;

	model_stats(self->model, &stats);
	return model_stat(&stats, objects);
}

static uint64_t counted(const char *name)
{
	uint64_t value = 0;

	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	if (!adapter_counter(self, false, name, &value))
		lab_note(__FILE__, __LINE__, "there is no counter %s", name);
	return value;
}

/* ---- one of each verb --------------------------------------------------------------------- */

/* What the verbs below need and make. */
struct bench {
	struct raw *raw;
	uint32_t cq;
	struct raw_qp usual;
	uint32_t qp;
	struct ib_uverbs_ah_attr ah_attr;
};

static uint8_t memory[PAGE] __attribute__((aligned(4096)));

static struct bench bench_new(void)
{
	struct bench bench = { .raw = raw_new(self), .ah_attr = raw_ah_attr(&peer->gid) };
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
	uint32_t qp_num;

	need_model();
	memset(memory, 1, sizeof(memory));
	bench.cq = raw_cq_new(bench.raw, &cq_resp);
	bench.usual = raw_qp_usual(bench.raw, bench.cq);
	bench.qp = raw_qp_new(bench.raw, &bench.usual, &qp_resp, &qp_num);
	return bench;
}

static int verb_context(struct bench *bench, uint32_t *handle)
{
	const struct dvq_efa_ucontext_req req = { .supported_caps = 3 };

	(void)bench;
	*handle = uv_open(self);
	return uv_get_context(*handle, UV_IN(&req, sizeof(req)));
}

static int verb_pd(struct bench *bench, uint32_t *handle)
{
	return raw_pd(bench->raw, NULL, handle);
}

static int verb_ah(struct bench *bench, uint32_t *handle)
{
	return raw_ah(bench->raw, bench->raw->pd, &bench->ah_attr, NULL, handle);
}

static int verb_cq(struct bench *bench, uint32_t *handle)
{
	struct dvq_efa_cq_req req = raw_cq_req(bench->raw);

	return raw_cq(bench->raw, 64, UV_IN(&req, sizeof(req)), handle);
}

static int verb_qp(struct bench *bench, uint32_t *handle)
{
	return raw_qp_create(bench->raw, &bench->usual, handle);
}

static int verb_mr(struct bench *bench, uint32_t *handle)
{
	struct ib_uverbs_reg_mr_resp resp;
	int err;

	err = raw_mr(bench->raw, memory, PAGE, 0, 1, NULL, &resp);
	*handle = resp.mr_handle;
	return err;
}

/* creation: the command, the device's name of the object, what counts the failure */
static const struct verb {
	const char *command, *object, *counter;
	int (*run)(struct bench *bench, uint32_t *handle);
	int (*undo)(const struct raw *raw, uint32_t handle);
	const char *undo_command;
} verbs[] = {
	{ "alloc_uar", "uar", "alloc_ucontext_err", verb_context, NULL, NULL },
	{ "alloc_pd", "pd", "alloc_pd_err", verb_pd, raw_pd_destroy, "dealloc_pd" },
	{ "create_ah", "ah", "create_ah_err", verb_ah, raw_ah_destroy, "destroy_ah" },
	{ "create_cq", "cq", "create_cq_err", verb_cq, raw_cq_destroy, "destroy_cq" },
	{ "create_qp", "qp", "create_qp_err", verb_qp, raw_qp_destroy, "destroy_qp" },
	{ "reg_mr", "mr", "reg_mr_err", verb_mr, raw_mr_destroy, "dereg_mr" },
};

#define VERBS	(sizeof(verbs) / sizeof(verbs[0]))

/* what a device's refusal is to the user, by status */
static const int refusals[] = { 0, ENOMEM, EINVAL, EOPNOTSUPP, EINVAL, EINVAL, EINVAL, EBUSY, EINVAL };

static void check_refusal(struct bench *bench, const struct verb *verb, unsigned int status)
{
	uint64_t objects = live(verb->object), errors = counted(verb->counter);
	uint32_t handle;
	int err;

	model_ask(self->model, "inject op=%s action=fail status=%u", verb->command, status);
	err = verb->run(bench, &handle);
	if (err != -refusals[status])
		lab_note(__FILE__, __LINE__, "%s refused with %u: %d, wanted %d", verb->command,
			 status, err, -refusals[status]);
	if (live(verb->object) != objects)
		lab_note(__FILE__, __LINE__, "%s refused with %u leaves an object",
			 verb->command, status);
	if (counted(verb->counter) - errors != 1)
		lab_note(__FILE__, __LINE__, "%s refused with %u is not counted", verb->command,
			 status);
}

/* more of them than there are slots (F-47), and the queue works on */
EFA_TEST(f47_f57_creation_refused)
{
	struct bench bench = bench_new();
	uint32_t handle;

	for (unsigned int i = 0; i < VERBS; i++) {
		for (unsigned int status = 1; status < sizeof(refusals) / sizeof(refusals[0]); status++)
			check_refusal(&bench, &verbs[i], status);
		CHECK_EQ(verbs[i].run(&bench, &handle), 0);
		if (verbs[i].undo)
			CHECK_EQ(verbs[i].undo(bench.raw, handle), 0);
	}
}

EFA_TEST(f57_modify_and_query_refused)
{
	struct bench bench = bench_new();
	struct ib_uverbs_modify_qp attr = {
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};
	struct ib_uverbs_query_qp_resp query;

	model_ask(self->model, "inject op=modify_qp action=fail status=5");
	CHECK_EQ(raw_qp_modify(bench.raw, bench.qp, &attr, NULL), -EINVAL);
	model_ask(self->model, "inject op=query_qp action=fail status=5");
	CHECK_EQ(raw_qp_query(bench.raw, bench.qp, IBV_QP_STATE, &query), -EINVAL);
	/* the state that the driver keeps has not moved */
	CHECK_EQ(raw_qp_query(bench.raw, bench.qp, IBV_QP_STATE, &query), 0);
	CHECK_EQ(query.qp_state, IBV_QPS_RESET);
	CHECK_EQ(raw_qp_modify(bench.raw, bench.qp, &attr, NULL), 0);
}

/* ---- destruction --------------------------------------------------------------------------- */

/* What the device still writes to is kept, and can be destroyed later. */
EFA_TEST(destruction_refused)
{
	struct bench bench = bench_new();
	uint32_t handle;

	for (unsigned int i = 0; i < VERBS; i++) {
		const char *command = verbs[i].undo_command;
		bool keeps = command && strcmp(command, "dealloc_pd") && strcmp(command, "destroy_ah");

		if (!keeps)
			continue;
		REQUIRE(verbs[i].run(&bench, &handle) == 0);
		model_ask(self->model, "inject op=%s action=fail status=7", command);
		CHECK_EQ(verbs[i].undo(bench.raw, handle), -EBUSY);
		CHECK_EQ(verbs[i].undo(bench.raw, handle), 0);
		CHECK_EQ(verbs[i].undo(bench.raw, handle), -ENOENT);
	}
}

static void check_no_objects(const char *when)
{
	for (const char *const *object = adapter_objects(self); *object; object++)
		if (strcmp(*object, "uar") && strcmp(*object, "eq") &&
		    live(*object))
			lab_note(__FILE__, __LINE__, "%s: the device still has %llu of %s", when,
				 (unsigned long long)live(*object), *object);
}

static void one_of_each(struct bench *bench)
{
	uint32_t handle;

	for (unsigned int i = 1; i < VERBS; i++)
		LAB_NEED(!verbs[i].run(bench, &handle), "%s fails", verbs[i].command);
}

/* A process that goes away is cleaned up after, even if the device says no at first. */
EFA_TEST(file_closed_while_device_refuses)
{
	struct bench bench = bench_new();

	one_of_each(&bench);
	model_ask(self->model, "inject op=destroy_qp count=1 action=fail status=7");
	model_ask(self->model, "inject op=dereg_mr count=1 action=fail status=7");
	model_ask(self->model, "inject op=destroy_cq count=1 action=fail status=7");
	lab_drop_all();
	check_no_objects("after the file was closed");
}

/* And if it says no to the end, it is stopped: nothing stays in the kernel, nor is used again. */
EFA_TEST(file_closed_while_device_refuses_for_ever)
{
	static const char *const commands[] = { "destroy_qp", "dereg_mr", "destroy_cq" };
	struct resources before;

	need_model();
	for (unsigned int i = 0; i < 3; i++) {
		struct bench bench;

		before = resources_now(self);
		bench = bench_new();
		one_of_each(&bench);
		model_ask(self->model, "inject op=%s count=1000 action=fail status=7",
			  commands[i]);
		lab_drop_all();
		resources_expect(self, &before, commands[i]);
		CHECK(async_next_is(self, IBV_EVENT_DEVICE_FATAL, PATIENCE_MS));
		driver_rebind();
		check_no_objects("after the device was stopped");
	}
}

/* What has no memory is asked for twice, and is not worth stopping the device. */
EFA_TEST(numbers_refused_for_ever)
{
	struct bench bench = bench_new();
	uint32_t pd, ah;

	REQUIRE(!raw_pd(bench.raw, NULL, &pd));
	REQUIRE(!raw_ah(bench.raw, bench.raw->pd, &bench.ah_attr, NULL, &ah));
	model_ask(self->model, "inject op=dealloc_pd count=2 action=fail status=7");
	model_ask(self->model, "inject op=destroy_ah count=2 action=fail status=7");
	CHECK_EQ(raw_pd_destroy(bench.raw, pd), 0);
	CHECK_EQ(raw_ah_destroy(bench.raw, ah), 0);
	CHECK_STR(model_ask(self->model, "inject list"), "");
	lab_drop_all();
	CHECK(!async_next_is(self, IBV_EVENT_DEVICE_FATAL, QUIET_MS));
	/* the device's numbers come back with a reset */
	driver_rebind();
	check_no_objects("after a reset");
}

/* ---- answers that are odd -------------------------------------------------------------------- */

static void expect_soon(const char *what, uint64_t since)
{
	if (now_ms() - since > SOON_MS)
		lab_note(__FILE__, __LINE__, "%s took %llu ms", what,
			 (unsigned long long)(now_ms() - since));
}

static void pd_works(struct bench *bench, const char *what)
{
	uint64_t start = now_ms();
	uint32_t pd;
	int err;

	err = raw_pd(bench->raw, NULL, &pd);
	if (!err)
		err = raw_pd_destroy(bench->raw, pd);
	if (err)
		lab_note(__FILE__, __LINE__, "%s: PD: %d", what, err);
	expect_soon(what, start);
}

EFA_TEST(interrupt_lost)
{
	struct bench bench = bench_new();
	uint64_t unanswered = counted("no_completion_cmds");

	for (int i = 0; i < 5; i++) {
		model_ask(self->model, "inject op=admin_irq action=drop");
		pd_works(&bench, "command without an interrupt");
	}
	CHECK_EQ(counted("no_completion_cmds"), unanswered);
}

EFA_TEST(answer_late)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=alloc_pd action=delay ms=400");
	pd_works(&bench, "answer after 400 ms");
	/* later than the answers to commands behind it */
	model_ask(self->model, "inject op=alloc_pd action=delay ms=400");
	pd_works(&bench, "answer after 400 ms");
}

EFA_TEST(f48_answer_given_twice)
{
	struct bench bench = bench_new();
	uint64_t answered = counted("completed_cmds");

	for (int i = 0; i < 40; i++) {
		model_ask(self->model, "inject op=alloc_pd action=dup");
		pd_works(&bench, "answer given twice");
	}
	/* the second one counts for nothing */
	CHECK_EQ(counted("completed_cmds") - answered, 80);
}

/* Whatever the command is. */
EFA_TEST(f48_odd_answers_of_every_command)
{
	static const char *const faults[] = { "delay ms=150", "dup" };
	struct bench bench = bench_new();
	uint32_t handle;

	for (unsigned int i = 0; i < VERBS; i++) {
		for (unsigned int j = 0; j < sizeof(faults) / sizeof(faults[0]); j++) {
			model_ask(self->model, "inject op=%s action=%s", verbs[i].command, faults[j]);
			CHECK_EQ(verbs[i].run(&bench, &handle), 0);
			if (!verbs[i].undo)
				continue;
			model_ask(self->model, "inject op=%s action=%s", verbs[i].undo_command,
				  faults[j]);
			CHECK_EQ(verbs[i].undo(bench.raw, handle), 0);
		}
	}
	CHECK_STR(model_ask(self->model, "inject list"), "");
	pd_works(&bench, "after all");
}

/* Each vector, with nothing to tell. */
EFA_TEST(interrupts_without_a_reason)
{
	struct bench bench = bench_new();

	for (unsigned int vector = 0; vector < 3; vector++) {
		model_ask(self->model, "irq vector=%u count=50", vector);
		pd_works(&bench, "interrupt without a reason");
	}
}

/* Not one: answers are found by looking. */
EFA_TEST(no_interrupt_at_all)
{
	struct bench bench = bench_new();
	uint64_t unanswered = counted("no_completion_cmds");
	uint32_t handle;

	model_ask(self->model, "inject op=admin_irq count=1000000 action=drop");
	for (unsigned int i = 0; i < VERBS; i++) {
		CHECK_EQ(verbs[i].run(&bench, &handle), 0);
		if (verbs[i].undo)
			CHECK_EQ(verbs[i].undo(bench.raw, handle), 0);
	}
	model_ask(self->model, "inject clear");
	pd_works(&bench, "after all");
	CHECK_EQ(counted("no_completion_cmds"), unanswered);
}

/* Instead of a page list the device sees nothing: it refuses, and nothing is left behind. */
EFA_TEST(page_list_not_reached)
{
	struct bench bench = bench_new();
	/* more pieces than a command holds */
	struct memory *many = memory_scattered(8, 8);
	struct ib_uverbs_reg_mr_resp resp;
	uint64_t mrs = live("mr");

	model_ask(self->model, "inject op=dma_list action=drop");
	CHECK_EQ(raw_mr(bench.raw, many->base, many->size, 0, 1, NULL, &resp), -EINVAL);
	CHECK_EQ(live("mr"), mrs);
	CHECK_EQ(raw_mr(bench.raw, many->base, many->size, 0, 1, NULL, &resp), 0);
}

EFA_TEST(f48_answer_to_nothing)
{
	struct bench bench = bench_new();

	for (unsigned int id = 0; id < 4096; id += 37) {
		model_ask(self->model, "answer id=%u", id);
		if (id % 5 == 0)
			pd_works(&bench, "answer to nothing");
	}
	/* ahead of the right one: the right context with wrong upper bits; any other */
	for (int i = 0; i < 20; i++) {
		model_ask(self->model, "inject op=stray_answer action=corrupt");
		pd_works(&bench, "answer with wrong upper bits");
		model_ask(self->model, "inject op=stray_answer action=fail status=%d", i * 61);
		pd_works(&bench, "stray answer");
	}
}

/* each is told of, and once: unknown, of a context that is free, repeated, with wrong upper bits */
EFA_TEST(f48_odd_answers_are_logged_once)
{
	static const char text[] = "has no command, ignored";
	struct bench bench = bench_new();
	int log;

	/* what the tests before have said must not silence this one */
	sleep_ms(5500);
	log = log_open();
	model_ask(self->model, "answer id=4095");
	pd_works(&bench, "unknown answer");
	CHECK_EQ(log_count(log, text), 1);
	log = log_open();
	model_ask(self->model, "answer id=3");
	pd_works(&bench, "answer of a free context");
	CHECK_EQ(log_count(log, text), 1);
	log = log_open();
	model_ask(self->model, "inject op=alloc_pd action=dup");
	pd_works(&bench, "answer given twice");
	CHECK_EQ(log_count(log, text), 1);
	log = log_open();
	model_ask(self->model, "inject op=stray_answer action=corrupt");
	pd_works(&bench, "answer with wrong upper bits");
	CHECK_EQ(log_count(log, text), 1);
}

/* ---- many at once ------------------------------------------------------------------------------ */

#define CALLERS	48	/* more than can be in flight */

struct caller {
	const struct raw *raw;
	int err;
};

static void *pd_often(void *arg)
{
	struct caller *caller = arg;
	uint32_t pd;

	for (int i = 0; i < 40 && !caller->err; i++) {
		caller->err = raw_pd(caller->raw, NULL, &pd);
		if (!caller->err)
			caller->err = raw_pd_destroy(caller->raw, pd);
	}
	return NULL;
}

/* Every context in use, every lap of both rings, answers out of order. */
EFA_TEST(f47_more_callers_than_slots)
{
	struct bench bench = bench_new();
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];

	for (int i = 0; i < 20; i++)
		model_ask(self->model, "inject op=alloc_pd nth=%d action=delay ms=%d", 1 + 7 * i,
			  20 + i * 3);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .raw = bench.raw };
		REQUIRE(!pthread_create(&threads[i], NULL, pd_often, &callers[i]));
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(callers[i].err, 0);
	}
	pd_works(&bench, "after all");
}

/* AHs to one destination by all of them: the device sees one at a time, and none in the end. */
static void *ah_often(void *arg)
{
	struct caller *caller = arg;
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	uint32_t ah;

	for (int i = 0; i < 200 && !caller->err; i++) {
		caller->err = raw_ah(caller->raw, caller->raw->pd, &attr, NULL, &ah);
		if (!caller->err)
			caller->err = raw_ah_destroy(caller->raw, ah);
	}
	return NULL;
}

EFA_TEST(one_destination_many_callers)
{
	struct bench bench = bench_new();
	struct caller callers[8];
	pthread_t threads[8];

	model_set(self->model, "single_ah", "1");
	for (int i = 0; i < 8; i++) {
		callers[i] = (struct caller){ .raw = bench.raw };
		REQUIRE(!pthread_create(&threads[i], NULL, ah_often, &callers[i]));
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(callers[i].err, 0);
	}
	CHECK_EQ(live("ah"), 0);
	CHECK_EQ(counted("ahs"), 0);
}

/* ---- a device that lies --------------------------------------------------------------------------- */

EFA_TEST(offsets_outside_of_the_bars)
{
	static const char *const lies[] = { "sq_db", "rq_db", "llq", "cq_db" };
	struct bench bench = bench_new();
	uint32_t handle;

	model_at_end(self->model, "lie none");
	for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint64_t qps = live("qp"), cqs = live("cq");

		model_ask(self->model, "lie %s", lies[i]);
		if (!strcmp(lies[i], "cq_db"))
			CHECK_EQ(verb_cq(&bench, &handle), -EIO);
		else
			CHECK_EQ(verb_qp(&bench, &handle), -EIO);
		CHECK_EQ(live("qp"), qps);
		CHECK_EQ(live("cq"), cqs);
		model_ask(self->model, "lie none");
	}
	CHECK_EQ(verb_qp(&bench, &handle), 0);
}

static int bind_with_another_bar(void *bar)
{
	model_ask(self->model, "set db_bar=%s", (const char *)bar);
	driver_rebind();
	return 0;
}

/* Such a page would let the process reset the device, and put the device's queues where it likes. */
EFA_TEST(doorbell_among_the_registers)
{
	static char bar[16];
	struct bench bench = {};
	uint64_t cqs;
	uint32_t handle;

	need_model();
	if (!self->dvq)
		SKIP("is about dvq_efa");
	snprintf(bar, sizeof(bar), "%s", model_ask(self->model, "get db_bar"));
	lab_hold(bind_with_another_bar, bar);
	bind_with_another_bar("0");
	model_at_end(self->model, "lie none");
	bench.raw = raw_new(self);
	cqs = live("cq");
	model_ask(self->model, "lie cq_reg");
	CHECK_EQ(verb_cq(&bench, &handle), -EIO);
	CHECK_EQ(live("cq"), cqs);
	lab_drop_all();
	bench.raw = raw_new(self);
	CHECK_EQ(verb_cq(&bench, &handle), 0);
}

/* ---- asynchronous events ---------------------------------------------------------------------------- */

EFA_TEST(f79_keep_alives_are_counted)
{
	uint64_t before, more;

	need_model();
	model_set(self->model, "keepalive_ms", "0");
	before = counted("keep_alive_rcvd");
	/* several laps; those that find no entry free are lost, so each ten wait for the ten before */
	for (unsigned int sent = 10; sent <= 70; sent += 10) {
		uint64_t end = now_ms() + PATIENCE_MS;

		CHECK_STR(model_ask(self->model, "aenq group=4 count=10"), "sent=10");
		do
			more = counted("keep_alive_rcvd") - before;
		while (more < sent && now_ms() < end);
	}
	more = counted("keep_alive_rcvd") - before;
	/* one of the adapter's own may have been under way */
	CHECK(more == 70 || more == 71);
}

EFA_TEST(other_events_do_no_harm)
{
	static const unsigned int groups[] = { 0, 2, 3, 5, 77, 255, 256, 65535 };
	struct bench bench = bench_new();

	for (unsigned int i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		model_ask(self->model, "aenq group=%u syndrome=3 count=4", groups[i]);
		pd_works(&bench, "event of an odd group");
	}
}

EFA_TEST(fatal_error_is_told)
{
	struct bench bench = bench_new();

	model_ask(self->model, "fatal");
	CHECK(async_next_is(self, IBV_EVENT_DEVICE_FATAL, PATIENCE_MS));
	/* what still works, works */
	pd_works(&bench, "after a fatal error");
	CHECK(!async_next_is(self, IBV_EVENT_DEVICE_FATAL, QUIET_MS));
}

/* What nobody fetches would pile up in the kernel. */
EFA_TEST(fatal_errors_without_end)
{
	unsigned int told = 0;

	need_model();
	for (int i = 0; i < 60; i++) {
		model_ask(self->model, "aenq group=1");
		sleep_ms(10);
	}
	while (async_next_is(self, IBV_EVENT_DEVICE_FATAL, 200))
		told++;
	CHECK(told >= 1 && told <= 30);
}

/* ---- what the device is told of the host ---------------------------------------------------------- */

static uint64_t told(const char *text, const char *key)
{
	uint64_t value = UINT64_MAX;

	if (!model_find(text, key, &value))
		lab_note(__FILE__, __LINE__, "no %s in '%s'", key, text);
	return value;
}

static uint64_t option(const char *key)
{
	return strtoull(model_ask(self->model, "get %s", key), NULL, 10);
}

EFA_TEST(identity)
{
	need_model();
	CHECK_EQ(self->attr.vendor_id, 0x1d0f);
	CHECK_EQ(self->attr.vendor_part_id, option("device_id"));
	CHECK_EQ(self->attr.hw_ver, option("device_id"));
	/* as the device has it, byte for byte */
	CHECK_EQ((uint64_t)ibv_get_device_guid(self->device), option("guid"));
}

EFA_TEST(host_information)
{
	unsigned int domain, bus, slot, function;
	char path[PATH_MAX + 16], target[PATH_MAX], want[600], text[1024];
	unsigned int a = 0, b = 0, c = 0;
	struct utsname uts;
	ssize_t len;

	need_model();
	if (!self->dvq)
		SKIP("other drivers say what they like");
	snprintf(text, sizeof(text), "%s", model_ask(self->model, "host"));
	LAB_NEED(!uname(&uts), "uname: %s", strerror(errno));
	snprintf(path, sizeof(path), "%s/device", self->device->ibdev_path);
	len = readlink(path, target, sizeof(target) - 1);
	LAB_NEED(len > 0, "%s: %s", path, strerror(errno));
	target[len] = 0;
	REQUIRE(sscanf(strrchr(target, '/') + 1, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4);
	CHECK_EQ(told(text, "os_type"), 0);
	CHECK_EQ(told(text, "bdf"), bus << 8 | slot << 3 | function);
	CHECK_EQ(told(text, "spec_ver"), 0x200);
	CHECK_EQ(told(text, "driver_ver"), 0);
	/* neither in the kernel's tree nor with peer-to-peer memory of a GPU driver's own */
	CHECK_EQ(told(text, "flags"), 0);
	REQUIRE(sscanf(uts.release, "%u.%u.%u", &a, &b, &c) >= 2);
	CHECK_EQ(told(text, "kernel_ver") >> 8, a << 8 | b);
	snprintf(want, sizeof(want), "os_dist='%s' kernel='%.31s'", uts.release, uts.version);
	CHECK_CONTAINS(text, want);
}

EFA_TEST_MAIN
