// SPDX-License-Identifier: GPL-2.0
/*
 * Several processes: they talk to each other, they die in the middle of it, they fork with
 * everything in use.
 */
#include <spawn.h>
#include <sys/personality.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "lib/dialogue.h"
#include "lib/adapter_test.h"
#include "lib/exchange.h"

extern char **environ;

static void socket_pair(int fd[2])
{
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
}

/* ---- talking ------------------------------------------------------------- */

struct talk {
	int fd;
	enum transport transport;
};

/* the other side: its own context on the peer adapter */
static void answer(void *arg)
{
	const struct talk *talk = arg;
	struct adapter adapter = *peer;
	struct dialogue dialogue = {
		.adapter = &adapter, .transport = talk->transport, .fd = talk->fd, .speaker = 1,
		.messages = 200,
	};

	adapter.model[0] = 0;
	adapter.context = ibv_open_device(adapter.device);
	REQUIRE(adapter.context);
	dialogue_run(&dialogue);
	lab_drop_all();
	CHECK_EQ(ibv_close_device(adapter.context), 0);
}

static void two_processes(enum transport transport)
{
	struct talk talk = { .transport = transport };
	int fd[2];
	pid_t pid;
	struct dialogue dialogue = {
		.adapter = self, .transport = transport, .messages = 200,
	};

	socket_pair(fd);
	talk.fd = fd[1];
	pid = child_start(answer, &talk);
	close(fd[1]);
	dialogue.fd = fd[0];
	dialogue_run(&dialogue);
	child_end(pid);
	close(fd[0]);
}

ADAPTER_TEST(two_processes_reliably)
{
	two_processes(RELIABLE);
}

ADAPTER_TEST(two_processes_by_datagrams)
{
	two_processes(UD);
}

/* a program of its own, not a copy of this one */
ADAPTER_TEST(two_programs)
{
	char *argv[] = { "process_test", "answer", NULL };
	posix_spawn_file_actions_t actions;
	int fd[2];
	pid_t pid;
	struct dialogue dialogue = { .adapter = self, .transport = RELIABLE, .messages = 200 };

	socket_pair(fd);
	fflush(stdout);
	posix_spawn_file_actions_init(&actions);
	/* where its main() looks for it */
	posix_spawn_file_actions_adddup2(&actions, fd[1], 3);
	REQUIRE(!posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ));
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	dialogue.fd = fd[0];
	dialogue_run(&dialogue);
	child_end(pid);
	close(fd[0]);
}

/* ---- dying --------------------------------------------------------------- */

/* sends and writes to the parent as fast as it can, until it is killed */
static void pester(void *arg)
{
	const struct talk *talk = arg;
	struct adapter adapter = *peer;
	struct endpoint *endpoint;
	struct buffer *buffer;
	struct address parent, own;
	struct route route;

	adapter.context = ibv_open_device(adapter.device);
	REQUIRE(adapter.context);
	endpoint = endpoint_new(&adapter, NULL);
	buffer = buffer_new(endpoint->pd, 64 * 4096, IBV_ACCESS_LOCAL_WRITE);
	exchange_recv(talk->fd, &parent, sizeof(parent));
	route = route_to(endpoint, &parent);
	for (unsigned int i = 0; i < ENDPOINT_WR; i++)
		post_recv_one(endpoint, i, buffer, i * 64, 64);
	own = endpoint_address(endpoint);
	exchange_send(talk->fd, &own, sizeof(own));
	for (;;) {
		struct work work = send_work(&route, 1, buffer, 0, 4000);
		struct completion completion;

		while (!post(endpoint, &work, 1))
			;
		while (cq_take(endpoint->send_cq, &completion))
			;
	}
}

ADAPTER_TEST(killed_in_traffic)
{
	struct ibv_pd *pd = pd_new(self);
	struct buffer *buffer = buffer_new(pd, 64 * 4096, IBV_ACCESS_LOCAL_WRITE);
	struct model_stats before;

	if (peer->model[0])
		model_stats(peer->model, &before);
	for (unsigned int round = 0; round < 6; round++) {
		struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
			.pd = pd });
		struct address own = endpoint_address(endpoint), child;
		struct talk talk;
		struct completion completion;
		struct route route;
		struct work work;
		int fd[2], status;
		pid_t pid;

		socket_pair(fd);
		talk.fd = fd[1];
		pid = child_start(pester, &talk);
		close(fd[1]);
		exchange_send(fd[0], &own, sizeof(own));
		exchange_recv(fd[0], &child, sizeof(child));
		route = route_to(endpoint, &child);
		work = send_work(&route, 1, buffer, 0, 8);
		/* a good while in the middle of it, with a receive now and then */
		for (unsigned int i = 0; i < 10 * round; i++) {
			post_recv_one(endpoint, i, buffer, 0, 4096);
			cq_wait_many(endpoint->recv_cq, 1);
		}
		post_one(endpoint, &work);
		cq_wait_many(endpoint->send_cq, 1);
		REQUIRE(!kill(pid, SIGKILL));
		REQUIRE(waitpid(pid, &status, 0) == pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		/* it is gone as a whole */
		post_one(endpoint, &work);
		cq_wait(endpoint->send_cq, &completion);
		CHECK_EQ(completion.status, self->kind == ADAPTER_EFA ? IBV_WC_REM_INV_RD_REQ_ERR :
					    IBV_WC_RETRY_EXC_ERR);
		if (route.ah)
			REQUIRE(!lab_drop(route.ah));
		close(fd[0]);
	}
	if (peer != self)
		adapter_expect_objects(peer, &before);
}

/* holds one of everything and waits to be killed */
static void hold_everything(void *arg)
{
	const struct talk *talk = arg;
	struct adapter adapter = *self;
	struct ibv_comp_channel *channel;
	char byte = 0;

	adapter.context = ibv_open_device(adapter.device);
	REQUIRE(adapter.context);
	channel = ibv_create_comp_channel(adapter.context);
	REQUIRE(channel);
	for (unsigned int i = 0; i < 3; i++) {
		struct endpoint *endpoint = endpoint_new(&adapter, &(struct endpoint_options) {
			.transport = i & 1 ? UD : RELIABLE, .state = i == 2 ? ENDPOINT_RESET : 0 });
		struct buffer *buffer = buffer_new(endpoint->pd, 3000000, IBV_ACCESS_LOCAL_WRITE);

		ah_new(endpoint->pd, &self->gid);
		ah_new(endpoint->pd, &peer->gid);
		if (i < 2)
			post_recv_one(endpoint, 1, buffer, 0, 4096);
	}
	exchange_send(talk->fd, &byte, 1);
	pause();
}

/* nothing of a process that dies stays in the adapter */
ADAPTER_TEST(killed_with_everything)
{
	struct model_stats before;

	need_model();
	model_stats(self->model, &before);
	for (unsigned int round = 0; round < 5; round++) {
		struct talk talk;
		int fd[2], status;
		char byte;
		pid_t pid;

		socket_pair(fd);
		talk.fd = fd[1];
		pid = child_start(hold_everything, &talk);
		close(fd[1]);
		exchange_recv(fd[0], &byte, 1);
		CHECK(model_delta(self->model, &before, "qp") == 3);
		REQUIRE(!kill(pid, SIGKILL));
		REQUIRE(waitpid(pid, &status, 0) == pid);
		adapter_expect_objects(self, &before);
		close(fd[0]);
	}
}

/* ---- forking (F-15) ------------------------------------------------------ */

/**
 * struct busy - traffic that goes on while a child comes and goes
 */
struct busy {
	struct duo duo;
	struct buffer *from, *to;
	unsigned int sent;
};

static void busy_exchange(struct busy *busy, unsigned int n)
{
	for (; n; n--, busy->sent++) {
		struct work work = send_work(&busy->duo.to_b, busy->sent, busy->from, 0, 600);

		buffer_fill(busy->from, busy->sent);
		post_recv_one(busy->duo.b, busy->sent, busy->to, 0, 600);
		post_one(busy->duo.a, &work);
		cq_wait_many(busy->duo.a->send_cq, 1);
		cq_wait_many(busy->duo.b->recv_cq, 1);
		buffer_expect(busy->to, 0, 600, busy->sent);
	}
}

static void just_exit(void *arg)
{
	(void)arg;
}

static void exec_something(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", NULL);
	lab_fail(__FILE__, __LINE__, "/bin/true: %s", strerror(errno));
}

/* the child's memory is its own */
static void scribble(void *arg)
{
	struct busy *busy = arg;

	for (unsigned int i = 0; i < 50; i++) {
		memset(busy->from->memory, i, busy->from->size);
		memset(busy->to->memory, ~i, busy->to->size);
		sleep_ms(2);
	}
}

static void fork_and_go_on(void (*child)(void *arg))
{
	struct busy busy = { .duo = duo_new(NULL) };
	pid_t pid;

	busy.from = buffer_new(busy.duo.a->pd, 600, 0);
	busy.to = buffer_new(busy.duo.b->pd, 600, IBV_ACCESS_LOCAL_WRITE);
	busy_exchange(&busy, 10);
	for (unsigned int round = 0; round < 4; round++) {
		pid = child_start(child, &busy);
		busy_exchange(&busy, 60);
		child_end(pid);
		busy_exchange(&busy, 10);
	}
}

ADAPTER_TEST(f15_forked_child_exits)
{
	fork_and_go_on(just_exit);
}

ADAPTER_TEST(f15_forked_child_executes)
{
	fork_and_go_on(exec_something);
}

ADAPTER_TEST(f15_forked_child_writes_to_its_memory)
{
	fork_and_go_on(scribble);
}

/* ---- the rings are the parent's ------------------------------------------ */

static sigjmp_buf fault;

static void faulted(int signal)
{
	(void)signal;
	siglongjmp(fault, 1);
}

static bool store_faults(volatile uint32_t *word, uint32_t value)
{
	if (sigsetjmp(fault, 1))
		return true;
	*word = value;
	return false;
}

struct rings {
	struct efadv_wq_attr sq, rq;
};

static void touch_rings(void *arg)
{
	const struct rings *rings = arg;

	signal(SIGSEGV, faulted);
	signal(SIGBUS, faulted);
	CHECK(store_faults((uint32_t *)rings->sq.buffer, 0));
	CHECK(store_faults(rings->sq.doorbell, 1));
	CHECK(store_faults((uint32_t *)rings->rq.buffer, 0));
	CHECK(store_faults(rings->rq.doorbell, 1));
}

ADAPTER_TEST(f15_forked_child_cannot_reach_rings)
{
	struct busy busy = { .duo = duo_new(NULL) };
	struct rings rings = { 0 };
	struct model_stats before;
	pid_t pid;

	if (self->kind != ADAPTER_EFA)
		SKIP("needs efadv_query_qp_wqs(), which tells where the rings are");
	if (!self->dvq)
		SKIP("needs dvq_efa: the other driver's mappings are inherited");
	busy.from = buffer_new(busy.duo.a->pd, 600, 0);
	busy.to = buffer_new(busy.duo.b->pd, 600, IBV_ACCESS_LOCAL_WRITE);
	REQUIRE(!efadv_query_qp_wqs(busy.duo.a->qp, &rings.sq, &rings.rq, sizeof(rings.sq)));
	busy_exchange(&busy, 3);
	if (self->model[0])
		model_stats(self->model, &before);
	pid = child_start(touch_rings, &rings);
	child_end(pid);
	if (self->model[0]) {
		CHECK_EQ(model_delta(self->model, &before, "doorbells_sq"), 0);
		CHECK_EQ(model_delta(self->model, &before, "doorbells_rq"), 0);
	}
	busy_exchange(&busy, 3);
}

/* ---- executable stacks (F-61) -------------------------------------------- */

static int set_personality(void *old)
{
	return personality(*(int *)old) < 0 ? errno : 0;
}

/* mappings of the adapter that can be executed */
static unsigned int executable_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int found = 0;
	char line[512], flags[8];

	REQUIRE(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%*s %7s", flags) == 1 && strstr(line, "/dev/infiniband/"))
			found += flags[2] == 'x';
	fclose(maps);
	return found;
}

/* such a program (setarch -X) asks for every readable mapping to be executable */
ADAPTER_TEST(f61_executable_stack)
{
	static int old;
	struct busy busy;

	old = personality(0xffffffff);
	REQUIRE(old >= 0 && personality(old | READ_IMPLIES_EXEC) >= 0);
	lab_hold(set_personality, &old);
	busy = (struct busy) { .duo = duo_new(NULL) };
	busy.from = buffer_new(busy.duo.a->pd, 600, 0);
	busy.to = buffer_new(busy.duo.b->pd, 600, IBV_ACCESS_LOCAL_WRITE);
	busy_exchange(&busy, 20);
	if (self->dvq)
		CHECK_EQ(executable_mappings(), 0);
}

/* ---- main ---------------------------------------------------------------- */

/* as the other program: the socket is file 3 */
static int answer_main(void)
{
	struct talk talk = { .fd = 3, .transport = RELIABLE };
	char why[200];

	if (!adapters_find(ADAPTER_ANY, why, sizeof(why)))
		return 1;
	model_leave();
	adapter_open(peer);
	answer(&talk);
	return tap.failures ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "answer"))
		return answer_main();
	return adapter_test_main(ADAPTER_ANY, argc, argv);
}
