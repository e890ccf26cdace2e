// SPDX-License-Identifier: GPL-2.0
/*
 * usage: uverbs_fuzz_test [--seed S] [--from N] [--count C] [--round R] [--thin T]
 *        [--trace] [TEST]...
 *
 * Random calls of uverbs: valid ones, and the same spoilt (lib/fuzz.h). They are made in rounds,
 * each by a process of its own with an own context, so that a round can be repeated alone:
 *
 *	--seed S	what follows from it (DVQ_SEED; 20261130)
 *	--from N	begins with this round, makes no other unless --count says so
 *	--count C	calls (DVQ_COUNT; 100000)
 *	--round R	calls of a round (1000)
 *	--thin T	only one of T calls that the adapter would hear of is made, to be faster (1)
 *	--trace		prints every call
 *
 * Half of the rounds are of one thread; others have threads that share the file, processes that
 * share it, are killed in the middle, or have their requests changed while the kernel reads them.
 * After each round the adapter must have heard of nothing that a correct driver would not say, no
 * object may be left, no call may have taken longer than CALL_SECONDS; and a new context must
 * still work.
 */
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <sys/mman.h>

#include "lib/adapter_test.h"
#include "lib/fuzz.h"
#include "lib/resource.h"

#define CALL_SECONDS	40	/* a guest has few and slow processors, and shares them */
#define ENOUGH_CALLS	50000	/* to judge by */
#define SEND_EVERY	16	/* rounds */
#define SEND_BYTES	1000

static struct {
	uint64_t seed, from, count, round, thin;
	bool trace;
} options = { .seed = 20261130, .count = 100000, .round = 1000, .thin = 1 };

static struct fuzz_tally *tally;

static struct fuzz_tally *tally_new(void)
{
	void *at = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);

	LAB_NEED(at != MAP_FAILED, "no memory");
	return at;
}

/* ---- a round: in a process of its own -------------------------------------------- */

enum mode { ALONE, THREADS, SCRIBBLED, PROCESSES, KILLED, MODES };

static const char *const mode_names[MODES] = {
	"alone", "threads", "scribbled", "processes", "killed",
};

static enum mode mode_of(uint64_t round)
{
	static const enum mode modes[] = {
		ALONE, ALONE, THREADS, ALONE, PROCESSES, ALONE, SCRIBBLED, KILLED,
	};

	return modes[round % (sizeof(modes) / sizeof(modes[0]))];
}

static uint64_t round_seed(uint64_t round)
{
	return options.seed * 1000003 + round;
}

struct worker {
	struct fuzzer fuzzer;
	uint64_t calls;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *worker = arg;

	fuzzer_run(&worker->fuzzer, worker->calls);
	return NULL;
}

struct scribbler {
	struct fuzzer fuzzer;
	atomic_bool stop;
	pthread_t thread;
};

static void *scribble(void *arg)
{
	struct scribbler *scribbler = arg;

	fuzzer_scribble(&scribbler->fuzzer, &scribbler->stop);
	return NULL;
}

static void init_worker(struct worker *worker, struct fuzz_world *world, unsigned int lane,
			uint64_t seed, uint64_t calls)
{
	fuzzer_init(&worker->fuzzer, world, lane, seed);
	worker->fuzzer.trace = options.trace;
	worker->calls = calls;
}

static void run_threads(struct fuzz_world *world, uint64_t seed, unsigned int n, bool scribbled)
{
	struct worker workers[FUZZ_LANES];
	struct scribbler scribbler = {};

	for (unsigned int i = 0; i < n; i++)
		init_worker(&workers[i], world, i, seed, options.round / n);
	if (scribbled) {
		fuzzer_init(&scribbler.fuzzer, world, FUZZ_LANES - 1, seed);
		pthread_create(&scribbler.thread, NULL, scribble, &scribbler);
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	if (scribbled) {
		atomic_store(&scribbler.stop, true);
		pthread_join(scribbler.thread, NULL);
	}
}

/* A child has the file and knows the objects, but none of the mappings. */
static void run_processes(struct fuzz_world *world, uint64_t seed)
{
	struct worker worker;
	int status = 0;
	pid_t child = fork();

	LAB_NEED(child >= 0, "fork: %s", strerror(errno));
	if (!child)
		world->count[FUZZ_MAP] = 0;
	init_worker(&worker, world, !child, seed, options.round / 2);
	work(&worker);
	if (!child)
		_exit(0);
	LAB_NEED(waitpid(child, &status, 0) == child && !status, "the second process: 0x%x",
		 status);
}

static void run_round(uint64_t round, enum mode mode, bool doorbells)
{
	const uint64_t seed = round_seed(round);
	static struct fuzz_world world;
	struct worker worker;

	fuzz_world_open(&world, self, tally, seed);
	world.doorbells = doorbells;
	world.thin = options.thin;
	world.shared = mode != ALONE;
	switch (mode) {
	case THREADS:
	case KILLED:
		run_threads(&world, seed, 3, false);
		break;
	case SCRIBBLED:
		run_threads(&world, seed, FUZZ_SCRIBBLED, true);
		break;
	case PROCESSES:
		run_processes(&world, seed);
		break;
	default:
		init_worker(&worker, &world, 0, seed, options.round);
		work(&worker);
	}
}

/* ---- its parent, who watches -------------------------------------------- */

static uint64_t calls_of_round(void)
{
	uint64_t calls = 0;

	for (unsigned int i = 0; i < FUZZ_LANES; i++)
		calls += atomic_load(&tally->lane[i].calls);
	return calls;
}

static void show_lane(unsigned int i)
{
	const struct fuzz_lane *lane = &tally->lane[i];
	const uint64_t calls = atomic_load(&lane->calls);
	const uint64_t since = atomic_load(&lane->since);

	if (!calls && !since)
		return;
	printf("# lane %u: call %llu, ", i, (unsigned long long)calls);
	if (since)
		printf("in %s for %llu ms", fuzz_types[atomic_load(&lane->type)].name,
		       (unsigned long long)(now_ms() - since));
	else
		printf("in none");
	printf("; before:");
	for (unsigned int n = FUZZ_HISTORY; n; n--)
		if (calls >= n)
			printf(" %s", fuzz_types[lane->history[(calls - n) % FUZZ_HISTORY]].name);
	putchar('\n');
}

static void show_file(const char *path)
{
	char line[200];
	FILE *file = fopen(path, "r");

	if (!file)
		return;
	printf("# %s:\n", path);
	while (fgets(line, sizeof(line), file))
		printf("#   %s", line);
	fclose(file);
}

static void show_stacks(pid_t pid)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/proc/%d/task/*/stack", pid);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		show_file(found.gl_pathv[i]);
	globfree(&found);
}

static void show_round(uint64_t round, enum mode mode)
{
	printf("# round %llu (%s): again with --seed %llu --round %llu --thin %llu --from %llu\n",
	       (unsigned long long)round, mode_names[mode], (unsigned long long)options.seed,
	       (unsigned long long)options.round, (unsigned long long)options.thin,
	       (unsigned long long)round);
	for (unsigned int i = 0; i < FUZZ_LANES; i++)
		show_lane(i);
}

/**
 * struct patience - how long the call of a lane has been looked at
 * @calls: which one it is
 * @looks: how often, about a millisecond apart: the clock alone may leap when the guest has to wait
 */
struct patience {
	uint64_t calls, looks;
};

static bool is_stuck(struct patience *patience)
{
	bool stuck = false;

	for (unsigned int i = 0; i < FUZZ_LANES; i++) {
		const struct fuzz_lane *lane = &tally->lane[i];
		const uint64_t since = atomic_load(&lane->since), calls = atomic_load(&lane->calls);

		if (!since || calls != patience[i].calls)
			patience[i] = (struct patience) { .calls = calls };
		else if (++patience[i].looks > CALL_SECONDS * 100 &&
			 now_ms() > since + CALL_SECONDS * 1000 * lab_slow())
			stuck = true;
	}
	return stuck;
}

/* Waits until the process has ended, or has done enough to be killed. */
static void watch(pid_t pid, uint64_t round, enum mode mode, uint64_t enough)
{
	struct patience patience[FUZZ_LANES] = {};
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (is_stuck(patience)) {
			show_round(round, mode);
			show_stacks(pid);
			kill(pid, SIGKILL);
			LAB_NEED(false, "a call does not come back");
		}
		if (enough && calls_of_round() >= enough)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	if (enough && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	show_round(round, mode);
	LAB_NEED(false, "the process of the round ended with status 0x%x", status);
}

/* returns how many calls were made */
static uint64_t make_round(uint64_t round, enum mode mode, bool doorbells)
{
	uint64_t enough =
		mode == KILLED ? 50 + round_seed(round) * 2654435761u % (options.round - 100) : 0;
	pid_t pid;

	memset(tally->lane, 0, sizeof(tally->lane));
	fflush(stdout);
	pid = fork();
	LAB_NEED(pid >= 0, "fork: %s", strerror(errno));
	if (!pid) {
		lab_forget_all();
		model_leave();
		alarm(0);
		tap.failures = 0;
		if (!setjmp(tap.out))
			run_round(round, mode, doorbells);
		fflush(stdout);
		_exit(tap.failures ? 1 : 0);
	}
	watch(pid, round, mode, enough);
	return calls_of_round();
}

/* ---- what must hold after each round -------------------------------------------- */

static void check_model(uint64_t round, enum mode mode, const struct model_stats *before)
{
	const unsigned int failures = tap.failures;
	char *end;

	if (!self->model[0])
		return;
	if (strtoull(model_ask(self->model, "violations"), &end, 10))
		lab_note(__FILE__, __LINE__, "the model objects:%s", end);
	adapter_expect_objects(self, before);
	if (tap.failures == failures)
		return;
	show_round(round, mode);
	LAB_NEED(false, "the adapter heard or kept what it should not");
}

struct scene {
	struct duo duo;
	struct buffer *from, *to;
	struct model_stats before;
	struct resources resources;
};

/* One that was there all the time still sends. */
static void check_send(const struct scene *scene, uint64_t id)
{
	struct work work = send_work(&scene->duo.to_b, id, scene->from, 0, SEND_BYTES);
	struct completion completion;

	post_recv_one(scene->duo.b, id, scene->to, 0, SEND_BYTES + scene->duo.header);
	post_one(scene->duo.a, &work);
	cq_wait(scene->duo.a->send_cq, &completion);
	CHECK_EQ(completion.status, IBV_WC_SUCCESS);
	cq_wait(scene->duo.b->recv_cq, &completion);
	CHECK_EQ(completion.status, IBV_WC_SUCCESS);
	CHECK_EQ(completion.id, id);
}

static struct scene scene_new(void)
{
	struct scene scene = { .duo = duo_new(NULL) };

	scene.from = buffer_new(scene.duo.a->pd, SEND_BYTES, 0);
	scene.to =
		buffer_new(scene.duo.b->pd, SEND_BYTES + scene.duo.header, IBV_ACCESS_LOCAL_WRITE);
	scene.resources = resources_now(self);
	if (self->model[0])
		model_stats(self->model, &scene.before);
	return scene;
}

/* ---- tests -------------------------------------------- */

static uint64_t made;

ADAPTER_TEST(calls)
{
	const struct scene scene = scene_new();
	const uint64_t begin = now_ms();
	uint64_t round = options.from, ms;

	tally = tally ?: tally_new();
	printf("# %llu calls, --seed %llu --from %llu\n", (unsigned long long)options.count,
	       (unsigned long long)options.seed, (unsigned long long)options.from);
	for (made = 0; made < options.count; round++) {
		allow_seconds(TEST_SECONDS);
		made += make_round(round, mode_of(round), false);
		check_model(round, mode_of(round), &scene.before);
		if (round % SEND_EVERY == 0)
			check_send(&scene, round);
		if (round % 200 == 199)
			printf("# %llu calls in %llu s\n", (unsigned long long)made,
			       (unsigned long long)(now_ms() - begin) / 1000);
	}
	check_send(&scene, round);
	resources_expect(self, &scene.resources, "at the end");
	ms = now_ms() - begin;
	printf("# %llu calls in %llu.%03llu s, %llu per second\n", (unsigned long long)made,
	       (unsigned long long)ms / 1000, (unsigned long long)ms % 1000,
	       (unsigned long long)(made * 1000 / (ms ?: 1)));
}

/* ---- coverage -------------------------------------------- */

static void show_type(unsigned int type, uint64_t ok, uint64_t failed)
{
	uint64_t all = ok + failed;

	printf("# %-18s %8llu ok %8llu failed, %6llu us, at most %7llu:", fuzz_types[type].name,
	       (unsigned long long)ok, (unsigned long long)failed,
	       (unsigned long long)(tally->time[type] / (all ?: 1)),
	       (unsigned long long)tally->longest[type]);
	for (unsigned int err = 1; err < FUZZ_ERRNOS; err++) {
		const char *name = strerrorname_np(err);
		uint64_t n = tally->result[type][err];

		if (n)
			printf(" %s %llu", name ? name : "?", (unsigned long long)n);
	}
	putchar('\n');
}

static void judge(const struct fuzz_type *type, uint64_t whole, uint64_t failed)
{
	const bool can = fuzz_can_succeed(self, type);

	if (!(type->flags & FUZZ_EITHER) && can != !!whole)
		lab_note(__FILE__, __LINE__, "%s %s", type->name,
			 can ? "never succeeded" : "is not supported, but succeeded");
	if (!(type->flags & FUZZ_ALWAYS) && !failed)
		lab_note(__FILE__, __LINE__, "%s never failed", type->name);
}

ADAPTER_TEST(every_call_succeeds_and_fails)
{
	if (!tally || !made)
		SKIP("nothing was called");
	for (unsigned int type = 0; type < fuzz_types_count; type++) {
		uint64_t failed = 0;

		for (unsigned int err = 1; err < FUZZ_ERRNOS; err++)
			failed += tally->result[type][err];
		show_type(type, tally->result[type][0], failed);
		if (made / options.thin >= ENOUGH_CALLS)
			judge(&fuzz_types[type], tally->whole[type], failed);
	}
}

/* ---- doorbells -------------------------------------------- */

/* What a user stores there is heard by the adapter: it may object, but all else goes on. */
ADAPTER_TEST(doorbells)
{
	const struct scene scene = scene_new();
	const uint64_t rounds = options.count / options.round / 20 + 1;

	expect_violations();
	tally = tally ?: tally_new();
	for (uint64_t round = options.from; round < options.from + rounds; round++) {
		allow_seconds(TEST_SECONDS);
		make_round(round, round % 4 ? ALONE : KILLED, true);
		adapter_expect_objects(self, &scene.before);
		check_send(&scene, round);
	}
	resources_expect(self, &scene.resources, "at the end");
}

/* ---- options -------------------------------------------- */

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end) {
		fprintf(stderr, "uverbs_fuzz_test: '%s' is no number\n", text);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'f' },
		{ "count", required_argument, NULL, 'c' },
		{ "round", required_argument, NULL, 'r' },
		{ "thin", required_argument, NULL, 'n' },
		{ "trace", no_argument, NULL, 't' },
		{},
	};
	const char *seed = getenv("DVQ_SEED"), *count = getenv("DVQ_COUNT");
	int option;

	if (seed && *seed)
		options.seed = number(seed);
	if (count && *count)
		options.count = number(count);
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (option) {
		case 's':
			options.seed = number(optarg);
			break;
		case 'f':
			options.from = number(optarg);
			options.count = 1;
			break;
		case 'c':
			options.count = number(optarg);
			break;
		case 'r':
			options.round = number(optarg);
			break;
		case 'n':
			options.thin = number(optarg);
			break;
		case 't':
			options.trace = true;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	argv[optind - 1] = argv[0];
	return adapter_test_main(ADAPTER_ANY, argc - optind + 1, argv + optind - 1);
}
