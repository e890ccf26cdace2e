// SPDX-License-Identifier: GPL-2.0
/*
 * Which counter moves for which operation, and that no other does (F-95): the port's
 * hw_counters on both sides, every operation once.
 */
#include <limits.h>

#include "lib/efa_test.h"

#define LEN	1000		/* bytes of every message here */
#define SOME	UINT64_MAX	/* moves, by how much is the network's business */
#define ANY	(UINT64_MAX - 1)	/* may move or not: acknowledgements */

struct expectation {
	const char *counter;
	uint64_t here, there;	/* growth at the initiator and at the target */
};

/**
 * struct action - one operation and what it counts; a counter not named does not move
 */
struct action {
	enum ibv_wr_opcode opcode;
	bool receive;			/* takes one */
	enum ibv_wc_status status;
	struct expectation moves[12];
};

/* data that goes to the target, and data that comes from it */
#define OUT(bytes)	{ "tx_bytes", bytes, 0 }, { "rx_bytes", 0, bytes }, \
			{ "tx_pkts", SOME, ANY }, { "rx_pkts", ANY, SOME }
#define BACK(bytes)	{ "tx_bytes", 0, bytes }, { "rx_bytes", bytes, 0 }, \
			{ "tx_pkts", SOME, SOME }, { "rx_pkts", SOME, SOME }

static const struct action send_action = {
	IBV_WR_SEND, true, IBV_WC_SUCCESS, {
		OUT(LEN), { "send_wrs", 1, 0 }, { "send_bytes", LEN, 0 },
		{ "recv_wrs", 0, 1 }, { "recv_bytes", 0, LEN },
	},
};

static const struct action send_imm_action = {
	IBV_WR_SEND_WITH_IMM, true, IBV_WC_SUCCESS, {
		OUT(LEN), { "send_wrs", 1, 0 }, { "send_bytes", LEN, 0 },
		{ "recv_wrs", 0, 1 }, { "recv_bytes", 0, LEN },
	},
};

static const struct action read_action = {
	IBV_WR_RDMA_READ, false, IBV_WC_SUCCESS, {
		BACK(LEN), { "rdma_read_wrs", 1, 0 }, { "rdma_read_bytes", LEN, 0 },
		{ "rdma_read_resp_bytes", 0, LEN },
	},
};

static const struct action write_action = {
	IBV_WR_RDMA_WRITE, false, IBV_WC_SUCCESS, {
		OUT(LEN), { "rdma_write_wrs", 1, 0 }, { "rdma_write_bytes", LEN, 0 },
		{ "rdma_write_recv_bytes", 0, LEN },
	},
};

/* the receive that carries the immediate is counted where receives of sends are not */
static const struct action write_imm_action = {
	IBV_WR_RDMA_WRITE_WITH_IMM, true, IBV_WC_SUCCESS, {
		OUT(LEN), { "rdma_write_wrs", 1, 0 }, { "rdma_write_bytes", LEN, 0 },
		{ "rdma_write_recv_bytes", 0, LEN },
	},
};

static const struct expectation *find(const struct action *action, const char *counter)
{
	for (unsigned int i = 0; action->moves[i].counter; i++)
		if (!strcmp(action->moves[i].counter, counter))
			return &action->moves[i];
	return NULL;
}

/* the model's packets have no headers that count; real ones may */
static bool exact(const char *counter)
{
	return self->model[0] || (strcmp(counter, "tx_bytes") && strcmp(counter, "rx_bytes"));
}

static void expect_growth(const char *counter, const char *side, uint64_t have, uint64_t want)
{
	if (want == ANY || have == want)
		return;
	if (have && (want == SOME || !exact(counter)))
		return;
	lab_note(__FILE__, __LINE__, "%s of the %s grew by %llu, wanted %s%llu", counter, side,
		 (unsigned long long)have, want == SOME ? "more than " : "",
		 want == SOME ? 0ull : (unsigned long long)want);
}

static uint64_t both(uint64_t here, uint64_t there)
{
	if (here == SOME || there == SOME)
		return SOME;
	return here == ANY || there == ANY ? ANY : here + there;
}

/* A model that the host does not let run for a while must not think that its packets are lost. */
static void send_once(const struct adapter *adapter)
{
	if (adapter->model[0])
		model_set(adapter->model, "ack_ms", "60000");
}

static void count(const struct action *action, enum transport transport)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *local = buffer_new(duo.a->pd, LEN, IBV_ACCESS_LOCAL_WRITE);
	struct buffer *remote = buffer_new(duo.b->pd, LEN, IBV_ACCESS_LOCAL_WRITE |
		(can_read(peer) ? IBV_ACCESS_REMOTE_READ : 0) |
		(can_write(peer) ? IBV_ACCESS_REMOTE_WRITE : 0));
	struct work work = rdma_work(action->opcode, &duo.to_b, 1, local, 0, LEN, remote, 0);
	struct port_counters here[2], there[2];

	send_once(self);
	send_once(peer);
	if (action->receive)
		post_recv_one(duo.b, 2, remote, 0, LEN);
	adapter_port_counters(self, &here[0]);
	adapter_port_counters(peer, &there[0]);
	post_one(duo.a, &work);
	cq_wait_many(duo.a->send_cq, 1);
	if (action->receive)
		cq_wait_many(duo.b->recv_cq, 1);
	adapter_port_counters(self, &here[1]);
	adapter_port_counters(peer, &there[1]);
	for (unsigned int i = 0; i < PORT_COUNTERS; i++) {
		const char *name = adapter_counter_names[i];
		const struct expectation *want = find(action, name);
		uint64_t grown_here = here[1].value[i] - here[0].value[i];
		uint64_t grown_there = there[1].value[i] - there[0].value[i];

		if (peer == self) {
			expect_growth(name, "adapter", grown_here,
				      want ? both(want->here, want->there) : 0);
			continue;
		}
		expect_growth(name, "initiator", grown_here, want ? want->here : 0);
		expect_growth(name, "target", grown_there, want ? want->there : 0);
	}
}

EFA_TEST(f95_send_counts)
{
	count(&send_action, SRD);
}

EFA_TEST(f95_send_imm_counts)
{
	count(&send_imm_action, SRD);
}

EFA_TEST(f95_read_counts)
{
	need_read();
	count(&read_action, SRD);
}

EFA_TEST(f95_write_counts)
{
	need_write();
	count(&write_action, SRD);
}

EFA_TEST(f95_write_imm_counts)
{
	need_write();
	count(&write_imm_action, SRD);
}

/* ---- the page -------------------------------------------------------------------- */

/* the names of a cell of the table, and those that @action expects to move by a known number */
static void compare_cell(const char *operation, const struct action *action, bool there, char *cell)
{
	char *name, *rest = NULL;
	unsigned int named = 0, expected = 0;

	for (name = strtok_r(cell, " \n", &rest); name; name = strtok_r(NULL, " \n", &rest)) {
		const struct expectation *want = find(action, name);
		uint64_t value = want ? there ? want->there : want->here : 0;

		if (!value || value == ANY || value == SOME)
			lab_note(__FILE__, __LINE__, "%s: the page says %s at the %s", operation,
				 name, there ? "target" : "initiator");
		named++;
	}
	for (unsigned int i = 0; action->moves[i].counter; i++) {
		uint64_t value = there ? action->moves[i].there : action->moves[i].here;

		expected += value && value != ANY && value != SOME;
	}
	CHECK_EQ(named, expected);
}

EFA_TEST(f95_page_says_the_same)
{
	static const struct {
		const char *operation;
		const struct action *action;
	} rows[] = {
		{ "send", &send_action }, { "send with immediate", &send_imm_action },
		{ "read", &read_action }, { "write", &write_action },
		{ "write with immediate", &write_imm_action },
	};
	char path[PATH_MAX], line[256];
	unsigned int found = 0;
	FILE *page;

	snprintf(path, sizeof(path), "%.*s/../Documentation/operations.rst",
		 (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__);
	page = fopen(path, "r");
	if (!page)
		SKIP("the source tree is not there any more");
	while (fgets(line, sizeof(line), page))
		for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			size_t length = strlen(rows[i].operation);
			char *cell = line + 25, *next;

			if (strncmp(line, rows[i].operation, length) ||
			    strncmp(line + length, "   ", 3) || strlen(line) < 76)
				continue;
			next = line + 76;
			next[-1] = '\0';
			compare_cell(rows[i].operation, rows[i].action, false, cell);
			compare_cell(rows[i].operation, rows[i].action, true, next);
			found++;
		}
	fclose(page);
	CHECK_EQ(found, sizeof(rows) / sizeof(rows[0]));
}

EFA_TEST_MAIN
