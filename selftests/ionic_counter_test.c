// SPDX-License-Identifier: GPL-2.0
/*
 * The port's hw_counters are those that the adapter names, with its values; each operation moves
 * its own. Counters of a queue pair count what is bound to them.
 */
#include "lib/ionic_test.h"

#define LEN	1000	/* bytes of every message here */

static uint64_t counter(const struct adapter *adapter, const char *name)
{
	uint64_t value;

	LAB_NEED(adapter_counter(adapter, true, name, &value), "%s has no counter %s",
		 adapter_name(adapter), name);
	return value;
}

/* the core hands out what it read up to 10 ms ago */
static void settle(void)
{
	sleep_ms(100);
}

/**
 * struct scene - two connected endpoints with a buffer each
 */
struct scene {
	struct duo duo;
	struct buffer *local, *remote;
};

static struct scene scene_new(void)
{
	struct scene scene = { .duo = duo_new(NULL) };

	scene.local = buffer_new(scene.duo.a->pd, LEN, IBV_ACCESS_LOCAL_WRITE);
	scene.remote = buffer_new(scene.duo.b->pd, LEN, IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE);
	return scene;
}

static void do_one(struct scene *scene, enum ibv_wr_opcode opcode)
{
	bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
	struct work work = rdma_work(opcode, &scene->duo.to_b, 1, scene->local, 0,
				     atomic ? 8 : LEN, scene->remote, 0);

	if (opcode == IBV_WR_SEND)
		post_recv_one(scene->duo.b, 2, scene->remote, 0, LEN);
	post_one(scene->duo.a, &work);
	cq_wait_many(scene->duo.a->send_cq, 1);
	if (opcode == IBV_WR_SEND)
		cq_wait_many(scene->duo.b->recv_cq, 1);
}

IONIC_TEST(each_operation_moves_its_own)
{
	static const struct { enum ibv_wr_opcode opcode; const char *name; } each[] = {
		{ IBV_WR_SEND, "wqes_send" }, { IBV_WR_RDMA_WRITE, "wqes_write" },
		{ IBV_WR_RDMA_READ, "wqes_read" }, { IBV_WR_ATOMIC_FETCH_AND_ADD, "wqes_atomic" },
	};
	struct scene scene;

	/* real adapters have names of their own */
	need_model();
	scene = scene_new();
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t before[4], sent, received;

		settle();
		for (unsigned int j = 0; j < 4; j++)
			before[j] = counter(self, each[j].name);
		sent = counter(self, "tx_packets");
		received = counter(peer, "rx_packets");
		do_one(&scene, each[i].opcode);
		settle();
		for (unsigned int j = 0; j < 4; j++)
			CHECK_EQ(counter(self, each[j].name) - before[j], i == j);
		CHECK(counter(self, "tx_packets") > sent);
		CHECK(counter(peer, "rx_packets") > received);
	}
}

IONIC_TEST(values_are_the_adapters)
{
	static const char *const names[] = {
		"tx_packets", "tx_bytes", "rx_packets", "rx_bytes", "drops", "wqes_send",
		"wqes_write", "wqes_read", "wqes_atomic", "rnr", "naks", "timeouts", "retries",
		"duplicates", "cq_overruns",
	};
	struct model_stats stats;
	struct scene scene;

	need_model();
	scene = scene_new();
	for (unsigned int i = 0; i < 10; i++)
		do_one(&scene, i & 1 ? IBV_WR_SEND : IBV_WR_RDMA_READ);
	settle();
	model_stats(self->model, &stats);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_EQ(counter(self, names[i]), model_stat(&stats, names[i]));
}

/* an adapter that does not answer costs the values of this reading, and says so */
IONIC_TEST(values_refused)
{
	struct scene scene;
	uint64_t value;

	need_model();
	scene = scene_new();
	do_one(&scene, IBV_WR_SEND);
	settle();
	model_ask(self->model, "inject op=stats_vals action=fail status=5");
	CHECK(!adapter_counter(self, true, "wqes_send", &value));
	settle();
	CHECK(adapter_counter(self, true, "wqes_send", &value));
}

/* ---- of a queue pair ------------------------------------------------------------------------ */

static void rdma_tool(char *output, size_t size, const char *format, uint32_t number)
{
	char command[256], words[128];
	size_t len;
	FILE *pipe;

	snprintf(words, sizeof(words), format, number);
	snprintf(command, sizeof(command), "rdma %s 2>&1", words);
	pipe = popen(command, "r");
	REQUIRE(pipe);
	len = fread(output, 1, size - 1, pipe);
	output[len] = 0;
	LAB_NEED(!pclose(pipe), "%s: %s", command, output);
}

static void need_rdma_tool(void)
{
	if (access("/usr/bin/rdma", X_OK) && access("/usr/sbin/rdma", X_OK) &&
	    access("/sbin/rdma", X_OK))
		SKIP("no rdma: install iproute2");
}

static void bind_qp(const struct scene *scene)
{
	char output[4096], words[128];

	snprintf(words, sizeof(words), "statistic qp bind link %.40s/1 lqpn %%u",
		 adapter_name(self));
	rdma_tool(output, sizeof(output), words, scene->duo.a->qp->qp_num);
}

/* what is said of the only counter there is, the number behind @word */
static unsigned long of_counter(const char *word)
{
	char output[4096], words[128];
	const char *found;

	snprintf(words, sizeof(words), "statistic qp show link %.40s/1", adapter_name(self));
	rdma_tool(output, sizeof(output), words, 0);
	found = strstr(output, word);
	LAB_NEED(found, "no %s in: %s", word, output);
	return strtoul(found + strlen(word), NULL, 10);
}

static void unbind_qp(const struct scene *scene)
{
	char output[4096], words[128];

	snprintf(words, sizeof(words), "statistic qp unbind link %.40s/1 cntn %lu lqpn %%u",
		 adapter_name(self), of_counter("cntn "));
	rdma_tool(output, sizeof(output), words, scene->duo.a->qp->qp_num);
}

static void send_some(struct scene *scene, unsigned int count)
{
	while (count--)
		do_one(scene, IBV_WR_SEND);
	settle();
}

IONIC_TEST(messages_of_a_queue_pair)
{
	struct scene scene;

	need_rdma_tool();
	need_model();
	scene = scene_new();
	bind_qp(&scene);
	send_some(&scene, 7);
	CHECK_EQ(of_counter("messages_sent "), 7);
}

/* the port has what was counted for queue pairs while they were bound, once, and keeps it */
IONIC_TEST(messages_of_a_queue_pair_that_is_gone)
{
	struct scene scene;
	uint64_t before;

	need_rdma_tool();
	need_model();
	if (!self->dvq)
		SKIP("is about dvq_ionic");
	scene = scene_new();
	settle();
	before = counter(self, "messages_sent");
	send_some(&scene, 2);
	CHECK_EQ(counter(self, "messages_sent") - before, 0);
	bind_qp(&scene);
	send_some(&scene, 7);
	CHECK_EQ(counter(self, "messages_sent") - before, 7);
	unbind_qp(&scene);
	settle();
	CHECK_EQ(counter(self, "messages_sent") - before, 7);
	send_some(&scene, 3);
	CHECK_EQ(counter(self, "messages_sent") - before, 7);
	bind_qp(&scene);
	send_some(&scene, 4);
	CHECK_EQ(of_counter("messages_sent "), 4);
	CHECK_EQ(counter(self, "messages_sent") - before, 11);
	REQUIRE(!lab_drop(scene.duo.a));
	settle();
	CHECK_EQ(counter(self, "messages_sent") - before, 11);
}

IONIC_TEST_MAIN
