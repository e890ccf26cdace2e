// SPDX-License-Identifier: GPL-2.0
/*
 * The adapter is pulled out again and again, at any moment, while processes make and destroy objects on it
 * and send: while they are at it, while its driver is still probing, before and after its driver has
 * noticed, or by its driver being taken away. Whatever their calls return then, every call returns, no
 * process dies of it, and each time the adapter is put back it works.
 *
 * DVQ_REMOVALS is how often (12; `make soak`: 1000), DVQ_SEED makes the moments others.
 */
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/adapter_test.h"
#include "lib/netdev.h"
#include "lib/pci.h"

#define WORKERS		3
#define ACTION_MS	20000	/* a driver that needs longer to let go, or to come back, is stuck */
#define ANSWER_MS	(200 * lab_slow())	/* a worker does not wait longer for a completion */
#define LONGEST		2000	/* bytes of a message */
#define SPREAD_US	20000	/* the moment of a removal after traffic was seen */

/* shared by all processes */
static struct {
	volatile bool stop;
	/* by all workers; messages that came whole, and that came and were not what was sent */
	uint32_t exchanges, messages, wrong, failures;
} *shared;

static char pci[PCI_NAME];
static unsigned int ud_header;	/* bytes before a datagram */

/* ---- workers ---------------------------------------------------------------------------------- */

static struct ibv_device *device_of_slot(struct ibv_device **list)
{
	char name[PCI_NAME];

	for (; list && *list; list++)
		if (pci_name_of(*list, name) && !strcmp(name, pci))
			return *list;
	return NULL;
}

/* of a sound adapter comes a success, of one that is taken away an error or nothing at all */
static void take(struct cq *cq, struct completion *completion)
{
	uint64_t end = now_ms() + ANSWER_MS;

	while (!cq_take(cq, completion))
		LAB_NEED(now_ms() < end, "no completion");
	LAB_NEED(completion->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(completion->status));
}

/* what is said to have come has come, whatever becomes of the adapter */
static void check_message(const struct buffer *to, unsigned int header, unsigned int len, uint32_t seed,
			  const struct completion *completion)
{
	bool right = completion->byte_len == header + len &&
		     first_difference(to->data + header, len, seed) == len;

	__atomic_fetch_add(right ? &shared->messages : &shared->wrong, 1, __ATOMIC_RELAXED);
}

/* what a program does; ends early, by lab_fail(), where the adapter is not there any more */
static void exchange(struct adapter *adapter, uint32_t *random)
{
	struct endpoint_options options = {
		.transport = lab_random(random) & 1 ? UD : RELIABLE, .send_wr = 16, .recv_wr = 16,
	};
	struct endpoint *a = endpoint_new(adapter, &options), *b = endpoint_new(adapter, &options);
	/* small, and large enough for page lists of several pages */
	struct buffer *buffer = buffer_new(a->pd, lab_random(random) & 3 ? 16384 : 3000000,
					   IBV_ACCESS_LOCAL_WRITE);
	struct buffer *to = buffer_new(b->pd, 16384, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(a, b);
	unsigned int header = options.transport == UD ? ud_header : 0;

	for (unsigned int i = lab_random(random) % 64; i && !shared->stop; i--) {
		unsigned int len = lab_random(random) % LONGEST;
		uint32_t seed = lab_random(random);
		struct work work = send_work(&route, i, buffer, 0, len);
		struct completion completion;

		fill(buffer->data, len, seed);
		memset(to->data, 0, header + LONGEST);
		post_recv_one(b, i, to, 0, 4096);
		post_one(a, &work);
		take(a->send_cq, &completion);
		take(b->recv_cq, &completion);
		check_message(to, header, len, seed, &completion);
	}
	__atomic_fetch_add(&shared->exchanges, 1, __ATOMIC_RELAXED);
}

/* with a context of its own, for a while */
static bool visit(uint32_t *random)
{
	struct ibv_device **list = ibv_get_device_list(NULL), *device = device_of_slot(list);
	struct ibv_context *context = device ? ibv_open_device(device) : NULL;
	bool ok = context;

	if (list)
		ibv_free_device_list(list);
	for (unsigned int i = lab_random(random) % 8; i && ok && !shared->stop; i--) {
		struct adapter adapter = *self;

		adapter.device = context->device;
		adapter.context = context;
		ok = !ibv_query_gid(context, 1, 0, &adapter.gid) &&
		     !ibv_query_port(context, 1, &adapter.port) &&
		     adapter.port.state == IBV_PORT_ACTIVE;
		if (!ok)
			break;
		tap.failures = 0;
		if (!setjmp(tap.out))
			exchange(&adapter, random);
		else
			ok = false;
		lab_drop_all();
		ok &= !tap.failures;
	}
	if (context)
		ibv_close_device(context);
	return ok;
}

struct worker {
	pid_t pid;
	uint32_t random;
};

static void work(void *arg)
{
	uint32_t random = ((struct worker *)arg)->random;

	/* what does not work any more is not worth a word */
	REQUIRE(freopen("/dev/null", "w", stdout));
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(0);
	while (!shared->stop) {
		if (!visit(&random)) {
			__atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
			sleep_ms(2);
		}
	}
	tap.failures = 0;
}

static int worker_end(void *object)
{
	struct worker *worker = object;

	shared->stop = true;
	child_end(worker->pid);
	return 0;
}

static void worker_start(struct worker *worker, uint32_t random)
{
	worker->random = random;
	worker->pid = child_start(work, worker);
	lab_hold(worker_end, worker);
}

/* ---- the adapter comes and goes --------------------------------------------------------------- */

/* false: it is not there */
static bool try_to_take_out(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", pci);
	return sysfs_write(path, "1");
}

static void take_out(void)
{
	CHECK(try_to_take_out());
}

static void *rescan(void *unused)
{
	(void)unused;
	return sysfs_write("/sys/bus/pci/rescan", "1") ? "" : NULL;
}

static void put_in(void)
{
	CHECK(rescan(NULL));
}

/* the directory of the bus and the name by which the driver of @self can be told to let go of it */
static bool driver_of(char dir[PATH_MAX], char name[256])
{
	char pattern[PATH_MAX];
	glob_t found;

	if (self->kind == ADAPTER_EFA) {
		snprintf(dir, PATH_MAX, "/sys/bus/pci/drivers/dvq_efa");
		snprintf(name, 256, "%s", pci);
		return true;
	}
	snprintf(dir, PATH_MAX, "/sys/bus/auxiliary/drivers/dvq_ionic.rdma");
	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/ionic.rdma.*", pci);
	if (glob(pattern, 0, NULL, &found))
		return false;
	snprintf(name, 256, "%s", strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
	return true;
}

static void bind_again(bool noticed)
{
	char dir[PATH_MAX], path[PATH_MAX + 16], name[256];

	(void)noticed;
	if (!driver_of(dir, name)) {
		CHECK(!"the adapter has a driver");
		return;
	}
	snprintf(path, sizeof(path), "%s/unbind", dir);
	CHECK(sysfs_write(path, name));
	snprintf(path, sizeof(path), "%s/bind", dir);
	CHECK(sysfs_write(path, name));
}

static void pull(bool noticed)
{
	model_ask(self->model, "gone");
	if (noticed)
		sleep_ms(300);
	take_out();
	model_ask(self->model, "back");
	put_in();
}

/* nobody tells the driver before it is asked to let go of a sound adapter */
static void take_out_in_order(bool noticed)
{
	(void)noticed;
	take_out();
	put_in();
}

static uint32_t dice;

/* gone in the middle of the probe, or shortly after it */
static void pull_while_probing(bool noticed)
{
	static unsigned int probe_us = 200000;
	pthread_t thread;
	uint64_t start;
	void *ok;

	(void)noticed;
	take_out();
	LAB_NEED(!pthread_create(&thread, NULL, rescan, NULL), "pthread_create");
	usleep(lab_random(&dice) % probe_us);
	model_ask(self->model, "gone");
	pthread_join(thread, &ok);
	CHECK(ok);
	/* the bus has not found it if it went that early */
	try_to_take_out();
	model_ask(self->model, "back");
	start = now_ms();
	put_in();
	probe_us = (now_ms() - start) * 1000 + 1000;
}

static bool rdma_device_is_there(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool there = device_of_slot(list);

	if (list)
		ibv_free_device_list(list);
	return there;
}

static void interface_up(void)
{
	char pattern[PATH_MAX];
	glob_t found;

	if (self->kind != ADAPTER_IONIC)
		return;
	snprintf(pattern, sizeof(pattern), "/sys/bus/pci/devices/%s/net/*", pci);
	if (glob(pattern, 0, NULL, &found))
		return;
	netdev_up(strrchr(found.gl_pathv[0], '/') + 1);
	globfree(&found);
}

static void await_device(void)
{
	uint64_t end = now_ms() + ACTION_MS * lab_slow();

	while (!rdma_device_is_there()) {
		LAB_NEED(now_ms() < end, "the RDMA device does not come back");
		sleep_ms(5);
	}
	interface_up();
}

/* the workers have noticed that it is back */
static void await_traffic(void)
{
	uint32_t before = shared->messages;
	uint64_t end = now_ms() + ACTION_MS * lab_slow();

	while (shared->messages - before < 4) {
		LAB_NEED(now_ms() < end, "there is no traffic");
		sleep_ms(1);
	}
}

/*
 * The core destroys the queues of a device that is taken away before it takes programs their mappings of them,
 * so for a moment they ring for queues that are gone. That is nobody's fault; whatever else the model objects
 * to is.
 */
static bool is_stray_doorbell(const char *violation)
{
	if (self->kind == ADAPTER_EFA)
		return strstr(violation, "queue has its doorbell there") ||
		       strstr(violation, "no such doorbell was given out");
	return (strstr(violation, "doorbell of QP") || strstr(violation, "doorbell of CQ")) &&
	       strstr(violation, "which does not exist");
}

static void expect_stray_doorbells_only(void)
{
	char text[16384], *rest;

	snprintf(text, sizeof(text), "%s", model_ask(self->model, "violations"));
	strtoull(text, &rest, 10);
	for (char *one = strtok_r(rest, ";", &rest); one; one = strtok_r(NULL, ";", &rest))
		if (!is_stray_doorbell(one))
			lab_note(__FILE__, __LINE__, "the model objects:%s", one);
	model_ask(self->model, "violations clear");
}

static const struct action {
	const char *name;
	void (*run)(bool noticed);
	bool noticed;
	unsigned int weight;
} actions[] = {
	{ "pulled", pull, false, 5 },
	{ "pulled and noticed before it was told", pull, true, 1 },
	{ "taken out in order", take_out_in_order, false, 1 },
	{ "pulled while probing", pull_while_probing, false, 2 },
	{ "driver taken away", bind_again, false, 1 },
};

#define ACTIONS	(sizeof(actions) / sizeof(actions[0]))

static unsigned int choose(unsigned int round)
{
	unsigned int sum = 0, n = 0, i;

	/* each once */
	if (round < ACTIONS)
		return round;
	for (i = 0; i < ACTIONS; i++)
		sum += actions[i].weight;
	n = lab_random(&dice) % sum;
	for (i = 0; n >= actions[i].weight; i++)
		n -= actions[i].weight;
	return i;
}

static unsigned int number(const char *variable, unsigned int usual)
{
	const char *text = getenv(variable);

	return text && *text ? strtoul(text, NULL, 0) : usual;
}

/* the last thing that is undone */
static int come_back(void *unused)
{
	char why[256];

	(void)unused;
	LAB_NEED(adapters_find(self->kind, why, sizeof(why)), "%s", why);
	adapters_open();
	return 0;
}

/*
 * Of EFA asked by a process of its own: libefa 44 leaves pages of its CQs mapped, and with them a context open,
 * which the removals would end.
 */
static unsigned int header_of_datagrams(void)
{
	int status;
	pid_t pid;

	if (self->kind != ADAPTER_EFA)
		return endpoint_header(self, UD);
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		_exit(endpoint_header(self, UD));
	REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

ADAPTER_TEST(removed_under_load)
{
	unsigned int rounds = number("DVQ_REMOVALS", 12), done[ACTIONS] = {};
	uint64_t slowest[ACTIONS] = {};
	struct model_stats before;
	static struct worker workers[WORKERS];

	need_model();
	if (!self->dvq)
		SKIP("needs dvq's driver: others may not come back");
	dice = number("DVQ_SEED", 20261130);
	printf("# seed %u, %u removals\n", dice, rounds);
	allow_seconds(60 + rounds * (ACTION_MS / 1000));
	pci_name(self, pci);
	ud_header = header_of_datagrams();
	lab_drop_all();
	adapters_close();
	lab_hold(come_back, pci);
	model_stats(self->model, &before);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(shared != MAP_FAILED);
	for (unsigned int i = 0; i < WORKERS; i++)
		worker_start(&workers[i], lab_random(&dice));
	interface_up();
	for (unsigned int round = 0; round < rounds; round++) {
		unsigned int i = choose(round);
		uint64_t start;

		await_traffic();
		usleep(lab_random(&dice) % SPREAD_US);
		start = now_ms();
		actions[i].run(actions[i].noticed);
		await_device();
		if (now_ms() - start > slowest[i])
			slowest[i] = now_ms() - start;
		CHECK(now_ms() - start < ACTION_MS * lab_slow());
		expect_stray_doorbells_only();
		done[i]++;
	}
	await_traffic();
	for (unsigned int i = 0; i < WORKERS; i++)
		lab_drop(&workers[i]);
	for (unsigned int i = 0; i < ACTIONS; i++)
		printf("# %s: %u, the slowest %llu ms\n", actions[i].name, done[i],
		       (unsigned long long)slowest[i]);
	printf("# %u exchanges, %u messages, %u times not there\n", shared->exchanges, shared->messages,
	       shared->failures);
	CHECK_EQ(shared->wrong, 0);
	CHECK(shared->failures);
	adapter_expect_objects(self, &before);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
