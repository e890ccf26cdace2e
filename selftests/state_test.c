// SPDX-License-Identifier: GPL-2.0
/*
 * The states of a QP (F-55): every transition with everything it requires and may have is made,
 * every other one is refused before the adapter hears of it, and what was set is what is told.
 */
#include "lib/efa_test.h"

static const enum ibv_qp_state states[] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
};

#define STATES	(sizeof(states) / sizeof(states[0]))

#define INIT_MASK	(IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)

/* one row per transition: what it requires, and what it may have besides */
static const struct transition {
	enum ibv_qp_state from, to;
	int required, optional;
} transitions[] = {
	{ IBV_QPS_RESET, IBV_QPS_RESET, 0, 0 },
	{ IBV_QPS_RESET, IBV_QPS_INIT, INIT_MASK, 0 },
	{ IBV_QPS_INIT, IBV_QPS_INIT, 0, INIT_MASK },
	{ IBV_QPS_INIT, IBV_QPS_RTR, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_SQ_PSN,
	  IBV_QP_CUR_STATE | IBV_QP_QKEY | IBV_QP_RNR_RETRY },
	{ IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY },
	{ IBV_QPS_SQD, IBV_QPS_SQD, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY },
	{ IBV_QPS_SQD, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY },
	{ IBV_QPS_INIT, IBV_QPS_RESET, 0, 0 }, { IBV_QPS_INIT, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_RTR, IBV_QPS_RESET, 0, 0 }, { IBV_QPS_RTR, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_RTS, IBV_QPS_RESET, 0, 0 }, { IBV_QPS_RTS, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_SQD, IBV_QPS_RESET, 0, 0 }, { IBV_QPS_SQD, IBV_QPS_ERR, 0, 0 },
	{ IBV_QPS_ERR, IBV_QPS_RESET, 0, 0 }, { IBV_QPS_ERR, IBV_QPS_ERR, 0, 0 },
};

static const struct transition *find(enum ibv_qp_state from, enum ibv_qp_state to)
{
	for (unsigned int i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

static const int attributes[] = {
	IBV_QP_CUR_STATE, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY,
	IBV_QP_SQ_PSN, IBV_QP_RNR_RETRY,
};

#define ATTRIBUTES	(sizeof(attributes) / sizeof(attributes[0]))

/* as the core has it for UD */
static int optional(const struct transition *transition, enum transport transport)
{
	int mask = transition->optional;

	if (transport == UD || !adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		mask &= ~IBV_QP_RNR_RETRY;
	return mask;
}

static int step(struct endpoint *endpoint, enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = {
		.qp_state = to, .cur_qp_state = from, .port_num = 1, .qkey = 0x1234567,
		.sq_psn = 99, .rnr_retry = 3,
	};

	return ibv_modify_qp(endpoint->qp, &attr, mask | IBV_QP_STATE);
}

static uint64_t modify_commands(void)
{
	struct model_stats stats;

	if (!self->model[0])
		return 0;
	model_stats(self->model, &stats);
	return model_stat(&stats, "admin_modify_qp");
}

static struct endpoint *endpoint_in(enum transport transport, enum ibv_qp_state state)
{
	struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
		.transport = transport, .state = ENDPOINT_RESET });

	if (state == IBV_QPS_ERR)
		REQUIRE(!endpoint_modify(endpoint, IBV_QPS_INIT));
	if (state == IBV_QPS_SQD)
		REQUIRE(!endpoint_modify(endpoint, IBV_QPS_RTS));
	if (state != IBV_QPS_RESET)
		REQUIRE(!endpoint_modify(endpoint, state));
	return endpoint;
}

/* @mask is what goes with the new state */
static void expect_made(enum transport transport, const struct transition *transition, int mask)
{
	struct endpoint *endpoint = endpoint_in(transport, transition->from);
	uint64_t commands = modify_commands();
	int err = step(endpoint, transition->from, transition->to, mask);

	if (err)
		lab_note(__FILE__, __LINE__, "%d to %d with 0x%x: %s", transition->from,
			 transition->to, mask, strerror(err));
	else
		CHECK_EQ(endpoint_state(endpoint), transition->to);
	if (self->model[0])
		CHECK_EQ(modify_commands() - commands, 1);
	lab_drop_all();
}

static void expect_refused(enum transport transport, enum ibv_qp_state from, enum ibv_qp_state to,
			   int mask)
{
	struct endpoint *endpoint = endpoint_in(transport, from);
	uint64_t commands = modify_commands();
	int err = step(endpoint, from, to, mask);

	/* what the adapter cannot do at all may be found out first */
	if (mask & IBV_QP_RNR_RETRY && err == EOPNOTSUPP &&
	    !adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		err = EINVAL;
	if (err != EINVAL)
		lab_note(__FILE__, __LINE__, "%d to %d with 0x%x: %s, wanted %s", from, to, mask,
			 strerror(err), strerror(EINVAL));
	CHECK_EQ(endpoint_state(endpoint), from);
	CHECK_EQ(modify_commands() - commands, 0);
	lab_drop_all();
}

EFA_TEST_BOTH(f55_every_transition)
{
	for (unsigned int i = 0; i < STATES; i++) {
		for (unsigned int j = 0; j < STATES; j++) {
			const struct transition *transition = find(states[i], states[j]);
			int all;

			if (!transition) {
				expect_refused(transport, states[i], states[j],
					       states[j] == IBV_QPS_INIT ? INIT_MASK : 0);
				continue;
			}
			all = transition->required | optional(transition, transport);
			expect_made(transport, transition, transition->required);
			if (all != transition->required)
				expect_made(transport, transition, all);
		}
	}
}

/* each attribute that is missing, and each that does not belong */
EFA_TEST_BOTH(f55_every_attribute)
{
	for (unsigned int i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		const struct transition *transition = &transitions[i];

		for (unsigned int j = 0; j < ATTRIBUTES; j++) {
			int attribute = attributes[j];

			if (transition->required & attribute)
				expect_refused(transport, transition->from, transition->to,
					       transition->required & ~attribute);
			else if (!(transition->optional & attribute))
				expect_refused(transport, transition->from, transition->to,
					       transition->required | attribute);
		}
	}
}

/* what EFA has not got at all */
EFA_TEST_BOTH(f55_foreign_attributes)
{
	static const int foreign[] = {
		IBV_QP_ACCESS_FLAGS, IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_TIMEOUT,
		IBV_QP_RETRY_CNT, IBV_QP_RQ_PSN, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER,
		IBV_QP_PATH_MIG_STATE, IBV_QP_CAP, IBV_QP_DEST_QPN, IBV_QP_RATE_LIMIT,
	};

	for (unsigned int i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RTS);
		uint64_t commands = modify_commands();
		int err = step(endpoint, IBV_QPS_RTS, IBV_QPS_RTS, foreign[i]);

		/* the core may find it before the driver does */
		if (err != EOPNOTSUPP && err != EINVAL)
			lab_note(__FILE__, __LINE__, "attribute 0x%x: %s", foreign[i],
				 strerror(err));
		CHECK_EQ(modify_commands() - commands, 0);
		lab_drop_all();
	}
}

static int modify_init(struct endpoint *endpoint, unsigned int port, unsigned int pkey_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = port, .pkey_index = pkey_index,
	};

	return ibv_modify_qp(endpoint->qp, &attr, IBV_QP_STATE | INIT_MASK);
}

EFA_TEST_BOTH(one_port_one_pkey)
{
	struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RESET);

	CHECK_EQ(modify_init(endpoint, 2, 0), EINVAL);
	CHECK_EQ(modify_init(endpoint, 0, 0), EINVAL);
	CHECK(modify_init(endpoint, 1, 1) != 0);
	CHECK_EQ(endpoint_state(endpoint), IBV_QPS_RESET);
	CHECK_EQ(modify_init(endpoint, 1, 0), 0);
}

/* the state that the user believes in is not taken for granted */
EFA_TEST_BOTH(f55_wrong_current_state)
{
	struct endpoint *endpoint = endpoint_in(transport, IBV_QPS_RTS);
	uint64_t commands = modify_commands();
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_INIT };

	CHECK_EQ(ibv_modify_qp(endpoint->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
	CHECK_EQ(endpoint_state(endpoint), IBV_QPS_RTS);
	CHECK_EQ(modify_commands() - commands, 0);
}

EFA_TEST(f55_rnr_retry_range)
{
	need_caps(EFADV_DEVICE_ATTR_CAPS_RNR_RETRY, "the adapter has no RNR retry");
	for (unsigned int retries = 0; retries <= 8; retries++) {
		struct endpoint *endpoint = endpoint_in(SRD, IBV_QPS_RTR);
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;
		int err;

		/* refused by dvq_efa; the other driver leaves that to the adapter */
		if (retries == 8 && !self->dvq)
			break;
		err = endpoint_step(endpoint, IBV_QPS_RTS, RNR_RETRY(retries));
		if (retries == 8) {
			CHECK_EQ(err, EINVAL);
			break;
		}
		REQUIRE(!err);
		REQUIRE(!ibv_query_qp(endpoint->qp, &attr, IBV_QP_RNR_RETRY, &init));
		CHECK_EQ(attr.rnr_retry, retries);
		lab_drop_all();
	}
}

/* what was set and what was granted */
EFA_TEST_BOTH(f55_query)
{
	struct endpoint *endpoint = endpoint_new(self, &(struct endpoint_options) {
		.transport = transport, .qkey = 0x89abcdef, .send_wr = 100, .recv_wr = 50,
		.send_sge = 1, .recv_sge = 2, .inline_data = 17, .state = ENDPOINT_RESET });
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY |
			 IBV_QP_SQ_PSN | IBV_QP_CAP;

	REQUIRE(!endpoint_modify(endpoint, IBV_QPS_RTR));
	REQUIRE(!ibv_modify_qp(endpoint->qp, &(struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .sq_psn = 0x654321 }, IBV_QP_STATE | IBV_QP_SQ_PSN));
	REQUIRE(!ibv_query_qp(endpoint->qp, &attr, mask, &init));
	CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQ(attr.pkey_index, 0);
	CHECK_EQ(attr.port_num, 1);
	CHECK_EQ(attr.qkey, 0x89abcdef);
	CHECK_EQ(attr.sq_psn, 0x654321);
	CHECK_EQ(attr.cap.max_send_wr, 128);
	/* 50 of 2 SGEs are 100 descriptors, for which there is a ring of 128 */
	CHECK_EQ(attr.cap.max_recv_wr, 64);
	CHECK_EQ(attr.cap.max_send_sge, 1);
	CHECK_EQ(attr.cap.max_recv_sge, 2);
	CHECK(attr.cap.max_inline_data >= 17);
	CHECK(init.send_cq == endpoint->send_cq->cq);
	CHECK(init.recv_cq == endpoint->recv_cq->cq);
	CHECK_EQ(init.qp_type, transport == UD ? IBV_QPT_UD : IBV_QPT_DRIVER);
}

/* what cannot be asked */
EFA_TEST(query_foreign_attributes)
{
	static const int foreign[] = { IBV_QP_AV, IBV_QP_TIMEOUT, IBV_QP_ACCESS_FLAGS };
	struct endpoint *endpoint = endpoint_new(self, NULL);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (unsigned int i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		CHECK_EQ(ibv_query_qp(endpoint->qp, &attr, foreign[i], &init), EOPNOTSUPP);
}

/* as it was asked for, though it is none of the adapter's business */
EFA_TEST(query_who_is_signalled)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (int all = 0; all <= 1; all++) {
		struct endpoint *endpoint =
			endpoint_new(self, &(struct endpoint_options) { .sig_all = all });

		CHECK_EQ(ibv_query_qp(endpoint->qp, &attr, IBV_QP_STATE, &init), 0);
		CHECK_EQ(init.sq_sig_all, all);
	}
}

/* a queue key may be changed on the way; messages with the old one are not taken */
EFA_TEST(qkey_changed)
{
	struct duo duo = duo_new(NULL);
	struct buffer *from = buffer_new(duo.a->pd, 8, 0);
	struct buffer *to = buffer_new(duo.b->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 8);
	struct completion completion;

	need_model();
	post_recv_one(duo.b, 2, to, 0, 8);
	REQUIRE(!ibv_modify_qp(duo.b->qp, &(struct ibv_qp_attr) { .qkey = 0x777 }, IBV_QP_QKEY));
	post_one(duo.a, &work);
	cq_wait(duo.a->send_cq, &completion);
	CHECK_EQ(completion.status, IBV_WC_REM_INV_RD_REQ_ERR);
	work.to.qkey = 0x777;
	post_one(duo.a, &work);
	cq_wait_many(duo.a->send_cq, 1);
	cq_wait_many(duo.b->recv_cq, 1);
}

/* RESET forgets what was outstanding, and begins again with empty rings */
EFA_TEST_BOTH(reset_and_again)
{
	struct duo duo = duo_new(&(struct endpoint_options) { .transport = transport });
	struct buffer *from = buffer_new(duo.a->pd, 8, 0);
	struct buffer *to = buffer_new(duo.b->pd, 100, IBV_ACCESS_LOCAL_WRITE);
	struct work work = send_work(&duo.to_b, 1, from, 0, 8);

	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 5 + round; i++) {
			post_recv_one(duo.b, i, to, 0, 100);
			post_one(duo.a, &work);
			cq_wait_many(duo.a->send_cq, 1);
			cq_wait_many(duo.b->recv_cq, 1);
		}
		/* some that nobody will use */
		for (unsigned int i = 0; i < round; i++)
			post_recv_one(duo.b, i, to, 0, 100);
		REQUIRE(!endpoint_modify(duo.a, IBV_QPS_RESET));
		REQUIRE(!endpoint_modify(duo.b, IBV_QPS_RESET));
		REQUIRE(!endpoint_modify(duo.a, IBV_QPS_RTS));
		REQUIRE(!endpoint_modify(duo.b, IBV_QPS_RTS));
	}
	CHECK(cq_quiet(duo.b->recv_cq, QUIET_MS));
}

EFA_TEST_MAIN
