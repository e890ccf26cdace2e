// SPDX-License-Identifier: GPL-2.0
/*
 * An EFA adapter that stops answering, or is gone, with everything in use: verbs end with an error
 * in bounded time, users are told, what they destroy is destroyed, and the device no longer reaches
 * their memory. At the end of each test the driver lets go of the dead device and takes it again
 * when it is well.
 *
 * The device's admin timeout must be short (model option admin_timeout): a test waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <rdma/rdma_netlink.h>

#include "lib/async.h"
#include "lib/efa_test.h"
#include "lib/memory.h"
#include "lib/pci.h"
#include "lib/resource.h"
#include "lib/uverbs.h"

/*
 * Until the driver has noticed that nobody is there, and let go of everything: it has waited for one command, a second,
 * not for each.
 */
#define GONE_MS		(5000 * lab_slow())
#define CALLERS		40

static uint8_t memory[PAGE] __attribute__((aligned(4096)));

/* ---- the driver lets go and comes back -------------------------------------------------------- */

#define DRIVER	"/sys/bus/pci/drivers/dvq_efa"

static bool has_interrupts(const char *pci)
{
	FILE *in = fopen("/proc/interrupts", "r");
	char line[4096];
	bool found = false;

	LAB_NEED(in, "/proc/interrupts: %s", strerror(errno));
	while (!found && fgets(line, sizeof(line), in))
		found = strstr(line, "efa-") && strstr(line, pci);
	fclose(in);
	return found;
}

/* The last thing that is undone: nothing of the test is open any more. */
static int revive(void *unused)
{
	char pci[PCI_NAME], why[256];
	uint64_t start;

	(void)unused;
	pci_name(self, pci);
	CHECK(has_interrupts(pci));
	adapters_close();
	start = now_ms();
	CHECK(sysfs_write(DRIVER "/unbind", pci));
	CHECK(now_ms() - start < 5000 * lab_slow());
	CHECK(!has_interrupts(pci));
	model_ask(self->model, "back");
	model_ask(self->model, "inject clear");
	model_ask(self->model, "reset stuck=none");
	model_ask(self->model, "ready 1");
	LAB_NEED(sysfs_write(DRIVER "/bind", pci), "binding again: %s", strerror(errno));
	LAB_NEED(adapters_find(ADAPTER_EFA, why, sizeof(why)), "%s", why);
	adapters_open();
	CHECK(has_interrupts(pci));
	return 0;
}

/* ---- everything in use ------------------------------------------------------------------------ */

struct bench {
	struct raw *raw;
	uint32_t cq, qp, mr, ah;
	struct raw_qp usual;
	struct model_stats before;
};

/* Most of these wait for it. */
static void need_short_timeout(void)
{
	unsigned long units = strtoul(model_ask(self->model, "get admin_timeout"), NULL, 10);

	if (!units || units > 10)
		SKIP("the driver would wait for seconds: give the model's adapter admin_timeout=10");
}

static struct bench bench_new(void)
{
	struct bench bench;
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
	struct ib_uverbs_reg_mr_resp mr;
	uint32_t qp_num;

	need_model();
	if (!self->dvq)
		SKIP("needs dvq_efa: other drivers may not come back");
	need_short_timeout();
	lab_hold(revive, &bench);
	bench.raw = raw_new(self);
	memset(memory, 1, sizeof(memory));
	bench.cq = raw_cq_new(bench.raw, &cq_resp);
	bench.usual = raw_qp_usual(bench.raw, bench.cq);
	bench.qp = raw_qp_new(bench.raw, &bench.usual, &qp_resp, &qp_num);
	LAB_NEED(!raw_mr(bench.raw, memory, PAGE, 0, 1, NULL, &mr), "no MR");
	bench.mr = mr.mr_handle;
	LAB_NEED(!raw_ah(bench.raw, bench.raw->pd, &attr, NULL, &bench.ah), "no AH");
	model_stats(self->model, &bench.before);
	return bench;
}

static bool device_fatal(void)
{
	return async_next_is(self, IBV_EVENT_DEVICE_FATAL, PATIENCE_MS);
}

static void destroy_all(struct bench *bench)
{
	uint64_t start = now_ms();

	CHECK_EQ(raw_qp_destroy(bench->raw, bench->qp), 0);
	CHECK_EQ(raw_cq_destroy(bench->raw, bench->cq), 0);
	CHECK_EQ(raw_mr_destroy(bench->raw, bench->mr), 0);
	CHECK_EQ(raw_ah_destroy(bench->raw, bench->ah), 0);
	CHECK_EQ(raw_pd_destroy(bench->raw, bench->raw->pd), 0);
	CHECK(now_ms() - start < GONE_MS);
}

/* From now on nothing reaches the device, and everything that has to succeed does. */
static void expect_dead(struct bench *bench)
{
	struct ib_uverbs_query_qp_resp query = {};
	struct ibv_port_attr port;
	uint64_t start = now_ms(), value = 0;
	uint32_t pd;

	CHECK_EQ(raw_pd(bench->raw, NULL, &pd), -ENODEV);
	/* whoever looks after it can list the QPs, which work no more */
	CHECK_EQ(raw_qp_query(bench->raw, bench->qp, IBV_QP_STATE, &query), 0);
	CHECK_EQ(query.qp_state, IBV_QPS_ERR);
	CHECK_EQ(query.max_send_wr, bench->usual.cap.max_send_wr);
	CHECK_EQ(resources_dump(resources_device_index(self), RDMA_NLDEV_CMD_RES_QP_GET), 0);
	/* two commands that waited a second each are too late */
	CHECK(now_ms() - start < 2000 * lab_slow());
	CHECK(device_fatal());
	CHECK_EQ(ibv_query_port(self->context, 1, &port), 0);
	CHECK_EQ(port.state, IBV_PORT_DOWN);
	sleep_ms(25);
	CHECK(adapter_counter(self, false, "no_completion_cmds", &value) && value == 1);
	/* counters that the device keeps: an error, not a hang */
	CHECK(!adapter_counter(self, true, "tx_bytes", &value));
	destroy_all(bench);
}

static uint64_t reset_reason(void)
{
	struct model_stats stats;

	model_stats(self->model, &stats);
	return model_stat(&stats, "reset_reason");
}

/* It was reset, so it has forgotten everything. */
static void expect_reset(const struct bench *bench)
{
	struct model_stats now;

	CHECK_EQ(model_delta(self->model, &bench->before, "resets"), 1);
	model_stats(self->model, &now);
	for (const char *const *object = adapter_objects(self); *object; object++)
		CHECK_EQ(model_stat(&now, *object), 0);
}

static int pd_once(struct bench *bench)
{
	uint32_t pd;

	return raw_pd(bench->raw, NULL, &pd);
}

EFA_TEST(f79_command_not_answered)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=alloc_pd action=drop");
	CHECK_EQ(pd_once(&bench), -ETIME);
	expect_reset(&bench);
	CHECK_EQ(reset_reason(), 2);	/* admin timeout */
	expect_dead(&bench);
}

/* An answer that cannot be trusted is none. */
EFA_TEST(answer_damaged)
{
	struct bench bench = bench_new();

	if (self->attr.vendor_part_id < 0xefa3)
		SKIP("answers of older adapters carry no checksum");
	model_ask(self->model, "inject op=alloc_pd action=corrupt");
	CHECK_EQ(pd_once(&bench), -ETIME);
	expect_reset(&bench);
	expect_dead(&bench);
}

/* The answer comes when nobody waits for it any more. */
EFA_TEST(f48_answer_too_late)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=alloc_pd action=delay ms=%u", 10000 * lab_slow());
	CHECK_EQ(pd_once(&bench), -ETIME);
	sleep_ms(10500 * lab_slow());
	expect_dead(&bench);
}

/* Commands that hand memory to the device: it must be out of reach before the verb returns. */
EFA_TEST(f57_creation_not_answered)
{
	struct bench bench = bench_new();
	uint32_t handle;

	model_ask(self->model, "inject op=create_qp action=drop");
	CHECK_EQ(raw_qp_create(bench.raw, &bench.usual, &handle), -ETIME);
	expect_reset(&bench);
	expect_dead(&bench);
}

EFA_TEST(f57_registration_not_answered)
{
	struct bench bench = bench_new();
	struct ib_uverbs_reg_mr_resp mr;

	model_ask(self->model, "inject op=reg_mr action=drop");
	CHECK_EQ(raw_mr(bench.raw, memory, PAGE, 0, 1, NULL, &mr), -ETIME);
	expect_reset(&bench);
	expect_dead(&bench);
}

EFA_TEST(f57_destruction_not_answered)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=destroy_qp action=drop");
	CHECK_EQ(raw_qp_destroy(bench.raw, bench.qp), 0);
	expect_reset(&bench);
	CHECK(device_fatal());
	CHECK_EQ(raw_cq_destroy(bench.raw, bench.cq), 0);
	CHECK_EQ(pd_once(&bench), -ENODEV);
}

/* ---- every command, every way not to answer ------------------------------------------------- */

static int run_uar(struct bench *bench)
{
	const struct dvq_efa_ucontext_req req = { .supported_caps = 3 };

	(void)bench;
	return uv_get_context(uv_open(self), UV_IN(&req, sizeof(req)));
}

static int run_ah(struct bench *bench)
{
	static const uint8_t gid[16] = { 0xfe, 0x80, [15] = 77 };
	struct ib_uverbs_ah_attr attr = raw_ah_attr(gid);
	uint32_t ah;

	return raw_ah(bench->raw, bench->raw->pd, &attr, NULL, &ah);
}

static int run_cq(struct bench *bench)
{
	struct dvq_efa_cq_req req = raw_cq_req(bench->raw);
	uint32_t cq;

	return raw_cq(bench->raw, 64, UV_IN(&req, sizeof(req)), &cq);
}

static int run_qp(struct bench *bench)
{
	uint32_t qp;

	return raw_qp_create(bench->raw, &bench->usual, &qp);
}

static int run_mr(struct bench *bench)
{
	struct ib_uverbs_reg_mr_resp mr;

	return raw_mr(bench->raw, memory, PAGE, 0, 1, NULL, &mr);
}

static int run_modify(struct bench *bench)
{
	struct ib_uverbs_modify_qp attr = {
		.attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};

	return raw_qp_modify(bench->raw, bench->qp, &attr, NULL);
}

static int run_query(struct bench *bench)
{
	struct ib_uverbs_query_qp_resp query;

	return raw_qp_query(bench->raw, bench->qp, IBV_QP_STATE, &query);
}

static int run_stats(struct bench *bench)
{
	uint64_t value;

	(void)bench;
	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	return adapter_counter(self, true, "tx_bytes", &value) ? 0 : -ETIME;
}

static int run_destroy_qp(struct bench *bench)
{
	return raw_qp_destroy(bench->raw, bench->qp);
}

static int run_destroy_cq(struct bench *bench)
{
	return raw_qp_destroy(bench->raw, bench->qp) ?: raw_cq_destroy(bench->raw, bench->cq);
}

static int run_destroy_mr(struct bench *bench)
{
	return raw_mr_destroy(bench->raw, bench->mr);
}

static int run_destroy_ah(struct bench *bench)
{
	return raw_ah_destroy(bench->raw, bench->ah);
}

static int run_destroy_pd(struct bench *bench)
{
	uint32_t pd;

	return raw_pd(bench->raw, NULL, &pd) ?: raw_pd_destroy(bench->raw, pd);
}

/* what is destroyed, is destroyed, answer or not */
static const struct call {
	const char *command;
	int (*run)(struct bench *bench);
	int result;
} calls[] = {
	{ "alloc_uar", run_uar, -ETIME },
	{ "alloc_pd", pd_once, -ETIME },
	{ "create_ah", run_ah, -ETIME },
	{ "create_cq", run_cq, -ETIME },
	{ "create_qp", run_qp, -ETIME },
	{ "reg_mr", run_mr, -ETIME },
	{ "modify_qp", run_modify, -ETIME },
	{ "query_qp", run_query, -ETIME },
	{ "get_stats", run_stats, -ETIME },
	{ "destroy_qp", run_destroy_qp, 0 },
	{ "destroy_cq", run_destroy_cq, 0 },
	{ "dereg_mr", run_destroy_mr, 0 },
	{ "destroy_ah", run_destroy_ah, 0 },
	{ "dealloc_pd", run_destroy_pd, 0 },
};

#define CALLS	(sizeof(calls) / sizeof(calls[0]))

/* One call after which the device is dead; then all is undone and the device is well again. */
static void expect_death(const struct call *call, const char *fault, int result)
{
	struct bench bench = bench_new();
	uint64_t start = now_ms();
	int err;

	model_ask(self->model, "inject op=%s", fault);
	err = call->run(&bench);
	if (err != result)
		lab_note(__FILE__, __LINE__, "%s with '%s': %d, wanted %d", call->command, fault, err,
			 result);
	if (now_ms() - start > PATIENCE_MS)
		lab_note(__FILE__, __LINE__, "%s with '%s' took too long", call->command, fault);
	if (!device_fatal())
		lab_note(__FILE__, __LINE__, "%s with '%s': users are not told", call->command, fault);
	if (pd_once(&bench) != -ENODEV)
		lab_note(__FILE__, __LINE__, "%s with '%s': the device goes on", call->command, fault);
	lab_drop_all();
}

EFA_TEST(f57_every_command_not_answered)
{
	char fault[64];

	allow_seconds(900);
	for (unsigned int i = 0; i < CALLS; i++) {
		snprintf(fault, sizeof(fault), "%s action=drop", calls[i].command);
		expect_death(&calls[i], fault, calls[i].result);
	}
}

EFA_TEST(f57_every_answer_damaged)
{
	char fault[64];

	if (self->attr.vendor_part_id < 0xefa3)
		SKIP("answers of older adapters carry no checksum");
	allow_seconds(900);
	for (unsigned int i = 0; i < CALLS; i++) {
		snprintf(fault, sizeof(fault), "%s action=corrupt", calls[i].command);
		expect_death(&calls[i], fault, calls[i].result);
	}
}

/* The answer is a refusal, and for another slot. */
static void expect_refusal_elsewhere(void)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=alloc_pd action=fail status=4");
	model_ask(self->model, "inject op=answer_id action=fail status=2");
	CHECK_EQ(pd_once(&bench), -ETIME);
	expect_reset(&bench);
	expect_dead(&bench);
	lab_drop_all();
}

/* Under the id of an earlier command; of another slot; with a refusal on top; never fetched. */
EFA_TEST(f48_answer_for_somebody_else)
{
	static const char *const faults[] = {
		"answer_id action=corrupt", "answer_id action=fail status=1",
		"answer_id action=fail status=0x800", "dma_command action=drop",
		"dma_command action=fail status=3",
	};

	allow_seconds(300);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		expect_death(&calls[1], faults[i], -ETIME);
	expect_refusal_elsewhere();
}

static void expect_halt(void)
{
	struct bench bench = bench_new();

	model_ask(self->model, "inject op=answer_body action=fail status=255");
	CHECK_EQ(run_qp(&bench), -EIO);
	CHECK_EQ(reset_reason(), 4);
	lab_drop_all();
	CHECK_EQ(reset_reason(), 0);
}

/* Objects that cannot be, by an answer that is whole. */
EFA_TEST(f48_answer_of_nonsense)
{
	allow_seconds(300);
	expect_death(&calls[3], "answer_body action=fail status=255", -EIO);
	expect_death(&calls[4], "answer_body action=fail status=255", -EIO);
	expect_death(&calls[4], "answer_body action=corrupt", -EIO);
	/* by the driver, from an invalid state; then by its next probe */
	expect_halt();
}

/* It leaves the bus while it carries out a command. */
EFA_TEST(f79_gone_in_the_middle_of_a_command)
{
	char fault[64];

	allow_seconds(900);
	for (unsigned int i = 0; i < CALLS; i++) {
		snprintf(fault, sizeof(fault), "%s action=gone", calls[i].command);
		expect_death(&calls[i], fault, calls[i].result);
	}
}

/* A process goes away, and in the middle of its cleaning up the device does; also at the last step. */
EFA_TEST(f79_gone_while_a_file_is_closed)
{
	static const char *const commands[] = {
		"destroy_qp", "destroy_cq", "dereg_mr", "destroy_ah", "dealloc_pd", "dealloc_uar",
	};

	allow_seconds(600);
	for (unsigned int i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct bench bench = bench_new();
		uint64_t start;

		model_ask(self->model, "inject op=%s action=gone", commands[i]);
		start = now_ms();
		lab_drop(bench.raw);
		CHECK(now_ms() - start < GONE_MS);
		lab_drop_all();
	}
}

/* The driver lets go of the device with everything in use, and the device goes meanwhile. */
EFA_TEST(gone_while_it_is_unbound)
{
	static const char *const points[] = {
		"destroy_qp", "destroy_cq", "dereg_mr", "dealloc_uar", "destroy_eq", "reg_read",
		"reg_read nth=3",
	};
	char pci[PCI_NAME];

	allow_seconds(600);
	for (unsigned int i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		uint64_t start;

		bench_new();
		pci_name(self, pci);
		model_ask(self->model, "inject op=%s action=gone", points[i]);
		start = now_ms();
		CHECK(sysfs_write(DRIVER "/unbind", pci));
		CHECK(now_ms() - start < GONE_MS);
		model_ask(self->model, "back");
		model_ask(self->model, "inject clear");
		CHECK(sysfs_write(DRIVER "/bind", pci));
		lab_drop_all();
	}
}

/* ---- a reset that fails ----------------------------------------------------------------------- */

static bool bus_master(const char *pci)
{
	char path[PATH_MAX];
	uint16_t command = 0xffff;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", pci);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	LAB_NEED(fd >= 0 && pread(fd, &command, sizeof(command), 4) == sizeof(command), "%s: %s", path,
		 strerror(errno));
	close(fd);
	return command & 4;
}

/* Then the device is cut off from memory, and all else is as if the reset had worked. */
EFA_TEST(reset_fails_too)
{
	static const char *const faults[] = {
		"reset stuck=off", "reset stuck=on", "ready 0",
		"inject op=reg_read count=1000 action=drop",
		"inject op=reg_read count=1000 action=corrupt",
		"inject op=reg_read count=1000 action=fail status=0xffffffff",
	};
	char pci[PCI_NAME];

	allow_seconds(600);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct bench bench = bench_new();

		pci_name(self, pci);
		CHECK(bus_master(pci));
		model_ask(self->model, "inject op=alloc_pd action=drop");
		model_ask(self->model, "%s", faults[i]);
		CHECK_EQ(pd_once(&bench), -ETIME);
		CHECK(!bus_master(pci));
		expect_dead(&bench);
		lab_drop_all();
	}
}

/* Nobody noticed anything until the driver lets go of the device. */
EFA_TEST(reset_fails_at_unbinding)
{
	static const char *const faults[] = {
		"reset stuck=off", "reset stuck=on", "inject op=reg_read count=1000 action=drop",
		"inject op=reg_read count=1000 action=corrupt", "ready 0",
	};
	char pci[PCI_NAME];

	allow_seconds(300);
	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct bench bench = bench_new();

		pci_name(self, pci);
		model_ask(self->model, "%s", faults[i]);
		CHECK(sysfs_write(DRIVER "/unbind", pci));
		CHECK(!bus_master(pci));
		CHECK(!has_interrupts(pci));
		/* it was asked to, and has forgotten where our memory is: the next driver makes it a bus master */
		expect_reset(&bench);
		model_ask(self->model, "inject clear");
		model_ask(self->model, "reset stuck=none");
		model_ask(self->model, "ready 1");
		CHECK(sysfs_write(DRIVER "/bind", pci));
		lab_drop_all();
	}
}

/*
 * It answers until the reset has been asked for, and wants long to be waited for with every read: the time that a
 * reset may take counts, not how often we look, and a read has its limit. Else this would take half an hour.
 */
EFA_TEST(mute_during_the_reset)
{
	char pci[PCI_NAME];
	uint64_t start;

	allow_seconds(300);
	bench_new();
	model_set(self->model, "reset_timeout", "31");
	model_set(self->model, "mmio_hint", "65535");
	pci_name(self, pci);
	CHECK(sysfs_write(DRIVER "/unbind", pci));
	CHECK(sysfs_write(DRIVER "/bind", pci));
	/* those before: is it ready, twice, and what it can do */
	model_ask(self->model, "inject op=reg_read nth=4 count=1000 action=drop");
	start = now_ms();
	CHECK(sysfs_write(DRIVER "/unbind", pci));
	CHECK(now_ms() - start < 60000 * lab_slow());
	/* it was */
	CHECK(now_ms() - start > 5000);
	CHECK(!bus_master(pci));
	model_ask(self->model, "inject clear");
	CHECK(sysfs_write(DRIVER "/bind", pci));
}

/* ---- many callers --------------------------------------------------------------------------- */

struct caller {
	struct bench *bench;
	int err;
};

static void *call(void *arg)
{
	struct caller *caller = arg;

	caller->err = pd_once(caller->bench);
	return NULL;
}

/* All that are in flight and all that wait for a slot come back. */
EFA_TEST(f47_nobody_is_left_waiting)
{
	struct bench bench = bench_new();
	struct caller callers[CALLERS];
	pthread_t threads[CALLERS];
	unsigned int timeouts = 0;
	uint64_t start = now_ms();

	model_ask(self->model, "inject op=alloc_pd count=%d action=drop", CALLERS);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = (struct caller){ .bench = &bench };
		REQUIRE(!pthread_create(&threads[i], NULL, call, &callers[i]));
	}
	for (int i = 0; i < CALLERS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(callers[i].err == -ETIME || callers[i].err == -ENODEV);
		timeouts += callers[i].err == -ETIME;
	}
	CHECK(timeouts >= 1);
	CHECK(now_ms() - start < PATIENCE_MS);
	destroy_all(&bench);
}

/* ---- gone ------------------------------------------------------------------------------------- */

EFA_TEST(f79_gone)
{
	struct bench bench = bench_new();
	uint64_t start;

	model_ask(self->model, "gone");
	start = now_ms();
	CHECK_EQ(pd_once(&bench), -ETIME);
	CHECK(now_ms() - start < GONE_MS);
	expect_dead(&bench);
}

/* Nobody notices until a file is closed. */
EFA_TEST(f79_gone_and_closed)
{
	struct bench bench = bench_new();
	uint64_t start;

	model_ask(self->model, "gone");
	start = now_ms();
	lab_drop(bench.raw);
	CHECK(now_ms() - start < GONE_MS);
}

/* The driver is the first to notice, with files open. */
EFA_TEST(f79_gone_and_unbound)
{
	struct bench bench = bench_new();
	char pci[PCI_NAME];
	uint64_t start;
	uint32_t pd;

	pci_name(self, pci);
	model_ask(self->model, "gone");
	start = now_ms();
	CHECK(sysfs_write(DRIVER "/unbind", pci));
	CHECK(now_ms() - start < GONE_MS);
	CHECK_EQ(raw_pd(bench.raw, NULL, &pd), -EIO);
	model_ask(self->model, "back");
	CHECK(sysfs_write(DRIVER "/bind", pci));
}

static void wait_for_driver(const char *pci)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), DRIVER "/%s", pci);
	while (access(path, F_OK) && now_ms() < end)
		sleep_ms(20);
}

/* Pulled out and put back in, as the bus sees it. */
EFA_TEST(f79_pulled_out)
{
	struct bench bench = bench_new();
	char pci[PCI_NAME], path[PATH_MAX];
	uint64_t start;
	uint32_t pd;

	pci_name(self, pci);
	model_ask(self->model, "gone");
	start = now_ms();
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", pci);
	CHECK(sysfs_write(path, "1"));
	CHECK(now_ms() - start < GONE_MS);
	CHECK(access(path, F_OK));
	CHECK_EQ(raw_pd(bench.raw, NULL, &pd), -EIO);
	model_ask(self->model, "back");
	CHECK(sysfs_write("/sys/bus/pci/rescan", "1"));
	wait_for_driver(pci);
}

/* ---- events that overrun ------------------------------------------------------------------------- */

/*
 * A device that writes over what was not taken yet. The driver loses its place in the queue, and
 * with it events until the device is bound again; nothing else suffers.
 */
EFA_TEST(events_that_overrun)
{
	struct bench bench = bench_new();
	uint64_t alive = 0, end;

	for (int i = 0; i < 5; i++) {
		model_ask(self->model, "aenq group=4 count=%d overrun=1", 13 + i);
		CHECK_EQ(pd_once(&bench), 0);
	}
	for (int i = 0; i < 3; i++) {
		model_ask(self->model, "aenq group=1 count=100 overrun=1");
		CHECK_EQ(pd_once(&bench), 0);
	}
	lab_drop_all();
	model_ask(self->model, "aenq group=4 count=5");
	end = now_ms() + PATIENCE_MS;
	while (adapter_counter(self, false, "keep_alive_rcvd", &alive) && alive < 5 && now_ms() < end)
		sleep_ms(25);
	CHECK(alive >= 5);
}

/* ---- reset by somebody else ---------------------------------------------------------------------- */

/* A function-level reset through sysfs: users lose the device as if it were pulled out, and it is back. */
EFA_TEST(reset_by_sysfs)
{
	struct bench bench = bench_new();
	struct model_stats now;
	char pci[PCI_NAME], path[PATH_MAX];
	uint32_t pd;

	pci_name(self, pci);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", pci);
	CHECK(sysfs_write(path, "1"));
	CHECK(device_fatal());
	CHECK_EQ(raw_pd(bench.raw, NULL, &pd), -EIO);
	/* everything was given back in order before */
	CHECK_EQ(model_delta(self->model, &bench.before, "admin_destroy_qp"), 1);
	CHECK_EQ(model_delta(self->model, &bench.before, "admin_dereg_mr"), 1);
	model_stats(self->model, &now);
	CHECK(model_stat(&now, "eq") > 0);
	CHECK(has_interrupts(pci));
}

/* One that did not answer before: the reset gives it back without anybody else's help. */
EFA_TEST(dead_and_reset_by_sysfs)
{
	struct bench bench = bench_new();
	char pci[PCI_NAME], path[PATH_MAX];
	struct model_stats now;

	model_ask(self->model, "inject op=alloc_pd action=drop");
	CHECK_EQ(pd_once(&bench), -ETIME);
	pci_name(self, pci);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", pci);
	CHECK(sysfs_write(path, "1"));
	CHECK(has_interrupts(pci));
	model_stats(self->model, &now);
	CHECK(model_stat(&now, "eq") > 0);
}

/* A sound device is taken away with everything in use. */
EFA_TEST(unbound)
{
	struct bench bench = bench_new();
	struct model_stats now;
	char pci[PCI_NAME];
	uint32_t pd;

	pci_name(self, pci);
	CHECK(sysfs_write(DRIVER "/unbind", pci));
	CHECK_EQ(raw_pd(bench.raw, NULL, &pd), -EIO);
	expect_reset(&bench);
	CHECK_EQ(reset_reason(), 0);
	/* through their commands, not by the reset alone */
	model_stats(self->model, &now);
	CHECK_EQ(model_delta(self->model, &bench.before, "admin_destroy_qp"), 1);
	CHECK(sysfs_write(DRIVER "/bind", pci));
}

EFA_TEST_MAIN
