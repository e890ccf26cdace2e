// SPDX-License-Identifier: GPL-2.0
/*
 * Take-over: libdvq carries the data path of queues that the stock provider made. What it does with
 * requests and completions other tests look at, run with DVQ_DATAPATH=take-over; here is which queues are
 * taken, what becomes of those that were not, and that objects which come back at the same address, handle
 * or number are not taken for those that were there before.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/efa_test.h"

/* ---- scenes --------------------------------------------------------------------------- */

static int leave_it_to_the_library(void *unused)
{
	(void)unused;
	self->stock = peer->stock = false;
	return dvq_efa_set_datapath(self->context, DVQ_DATAPATH_AUTO) ?:
	       dvq_efa_set_datapath(peer->context, DVQ_DATAPATH_AUTO);
}

/* for queues that the test creates from now on */
static void choose(enum dvq_datapath datapath)
{
	if (!self->dvq || !peer->dvq)
		SKIP("needs the adapters to be driven by dvq_efa");
	CHECK_EQ(dvq_efa_set_datapath(self->context, datapath), 0);
	CHECK_EQ(dvq_efa_set_datapath(peer->context, datapath), 0);
	self->stock = peer->stock = datapath == DVQ_DATAPATH_STOCK;
	lab_hold(leave_it_to_the_library, self);
}

static struct endpoint *new_taken(const struct endpoint_options *options)
{
	struct endpoint *e;

	choose(DVQ_DATAPATH_TAKE_OVER);
	e = endpoint_new(self, options);
	CHECK_EQ(dvq_efa_is_taken_over(e->qp), 1);
	return e;
}

static struct endpoint *new_stock(const struct endpoint_options *options)
{
	struct endpoint *e;

	choose(DVQ_DATAPATH_STOCK);
	e = endpoint_new(self, options);
	CHECK_EQ(dvq_efa_is_taken_over(e->qp), 0);
	return e;
}

/* an endpoint talks to itself: @n messages one after the other, each completes once on each side */
static void talk(struct endpoint *e, struct route route, unsigned int n)
{
	/* a datagram may have a header before it */
	struct buffer *buffer = buffer_new(e->pd, 72, IBV_ACCESS_LOCAL_WRITE);
	struct completion completion;

	for (unsigned int i = 0; i < n; i++) {
		struct work work = send_work(&route, 1000 + i, buffer, 0, 8);

		post_recv_one(e, 2000 + i, buffer, 8, 64);
		post_one(e, &work);
		for (unsigned int side = 0; side < 2; side++) {
			cq_wait(side && e->recv_cq != e->send_cq ? e->recv_cq : e->send_cq, &completion);
			completion_expect_success(&completion);
			CHECK(completion.id == 1000 + i || completion.id == 2000 + i);
			CHECK_EQ(completion.qp_num, e->qp->qp_num);
		}
	}
}

static struct efadv_qp_init_attr srd(void)
{
	return (struct efadv_qp_init_attr){ .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
}

static struct ibv_qp_init_attr_ex init_attr(struct ibv_pd *pd, struct cq *cq)
{
	return (struct ibv_qp_init_attr_ex){
		.send_cq = cq->cq, .recv_cq = cq->cq, .qp_type = IBV_QPT_DRIVER,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd, .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
}

/* ---- which queues are taken --------------------------------------------------------------- */

/* The mark is written to a plain CQ or QP as well: the provider must have made room for all of it. */
EFA_TEST(objects_are_as_large_as_extended_ones)
{
	struct cq *cq = cq_new(self, 16, NULL);
	struct endpoint *plain = endpoint_new(self, &(struct endpoint_options){
					      .transport = UD, .plain = true });

	CHECK(malloc_usable_size(cq->cq) >= sizeof(struct ibv_cq_ex));
	CHECK(malloc_usable_size(cq->cq) < 65536);
	CHECK(malloc_usable_size(plain->qp) >= sizeof(struct ibv_qp_ex));
	CHECK(malloc_usable_size(plain->qp) < 65536);
}

EFA_TEST(choices)
{
	struct endpoint *undecided = endpoint_new(self, NULL);

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_efa");
	CHECK_EQ(dvq_efa_set_datapath(NULL, DVQ_DATAPATH_STOCK), EINVAL);
	CHECK_EQ(dvq_efa_set_datapath(self->context, 3), EINVAL);
	CHECK_EQ(dvq_efa_take_over(NULL), EINVAL);
	CHECK_EQ(dvq_efa_is_taken_over(NULL), 0);
	CHECK_EQ(dvq_efa_is_taken_over(undecided->qp), adapter_is_taken_over(self));
	new_taken(NULL);
	new_stock(NULL);
	new_taken(&(struct endpoint_options){ .transport = UD });
	new_stock(&(struct endpoint_options){ .transport = UD });
}

EFA_TEST(hints_are_there_on_every_release)
{
	struct ibv_pd *pd = pd_new(self);
	struct cq *cq = cq_new(self, 64, NULL);
	struct ibv_qp_init_attr_ex attr = init_attr(pd, cq);
	struct efadv_qp_init_attr efa = srd();
	struct ibv_qp *qp;

	choose(DVQ_DATAPATH_AUTO);
	efa.wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS;
	qp = efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK(efadv_qp_from_ibv_qp_ex(ibv_qp_to_qp_ex(qp))->wr_set_processing_hints);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	efa.wr_flags = 1 << 5;
	CHECK(!efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)) && errno == EOPNOTSUPP);
}

/* of a CQ all QPs or none */
EFA_TEST(cq_with_a_foreign_qp)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint_options options = { .send_cq = cq };
	struct endpoint *foreign = new_stock(&options);
	struct ibv_qp_init_attr_ex attr = init_attr(foreign->pd, cq);
	struct efadv_qp_init_attr efa = srd();

	choose(DVQ_DATAPATH_TAKE_OVER);
	errno = 0;
	CHECK(!efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EBUSY);
	CHECK(strstr(dvq_reason(), "stock"));
	CHECK_EQ(dvq_efa_take_over(foreign->qp), EBUSY);
	talk(foreign, route_new(foreign, foreign), 3);
	/* gone, but the ring has been polled by the provider */
	CHECK_EQ(endpoint_destroy(foreign), 0);
	errno = 0;
	CHECK(!efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EBUSY);
	choose(DVQ_DATAPATH_STOCK);
	foreign = new_stock(&options);
	talk(foreign, route_new(foreign, foreign), 3);
}

EFA_TEST(qp_taken_over_by_name)
{
	struct endpoint *e = new_stock(&(struct endpoint_options){ .state = ENDPOINT_RESET }), *late;

	CHECK_EQ(dvq_efa_take_over(e->qp), 0);
	CHECK_EQ(dvq_efa_is_taken_over(e->qp), 1);
	CHECK_EQ(dvq_efa_take_over(e->qp), 0);
	CHECK_EQ(endpoint_modify(e, IBV_QPS_RTS), 0);
	talk(e, route_new(e, e), 200);

	late = new_stock(NULL);
	CHECK_EQ(dvq_efa_take_over(late->qp), EBUSY);
	talk(late, route_new(late, late), 3);
	/* the provider has posted, and goes on with its phase after a RESET */
	CHECK_EQ(endpoint_modify(late, IBV_QPS_RESET), 0);
	CHECK_EQ(dvq_efa_take_over(late->qp), EBUSY);
	CHECK(strstr(dvq_reason(), "stock library"));
	CHECK_EQ(endpoint_modify(late, IBV_QPS_RTS), 0);
	talk(late, route_new(late, late), 100);
	/* also where nothing has completed on its CQ */
	late = new_stock(NULL);
	CHECK_EQ(endpoint_modify(late, IBV_QPS_RESET), 0);
	CHECK_EQ(dvq_efa_take_over(late->qp), EBUSY);
	CHECK(strstr(dvq_reason(), "was reset"));
	late = new_stock(&(struct endpoint_options){ .state = IBV_QPS_INIT });
	post_recv_one(late, 1, buffer_new(late->pd, 8, IBV_ACCESS_LOCAL_WRITE), 0, 8);
	CHECK_EQ(dvq_efa_take_over(late->qp), EBUSY);
}

/* reset before its first post: nobody else has posted to it, so it is taken all the same */
EFA_TEST(plain_qp_that_was_reset)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint *first = new_taken(&(struct endpoint_options){ .send_cq = cq }), *plain;

	choose(DVQ_DATAPATH_STOCK);
	plain = endpoint_new(self, &(struct endpoint_options){
			     .transport = UD, .plain = true, .send_cq = cq, .pd = first->pd });
	CHECK_EQ(endpoint_modify(plain, IBV_QPS_RESET), 0);
	CHECK_EQ(endpoint_modify(plain, IBV_QPS_RTS), 0);
	talk(plain, route_new(plain, plain), 100);
	CHECK_EQ(dvq_efa_is_taken_over(plain->qp), 1);
}

/* a QP that the library did not see being created, on a CQ of its own: taken before it posts */
EFA_TEST(plain_qp_on_a_taken_cq)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint *first = new_taken(&(struct endpoint_options){ .send_cq = cq }), *plain;

	choose(DVQ_DATAPATH_STOCK);
	plain = endpoint_new(self, &(struct endpoint_options){
			     .transport = UD, .plain = true, .send_cq = cq, .pd = first->pd });
	CHECK_EQ(dvq_efa_is_taken_over(plain->qp), 0);
	talk(plain, route_new(plain, plain), 100);
	CHECK_EQ(dvq_efa_is_taken_over(plain->qp), 1);
	talk(first, route_new(first, first), 10);
	talk(plain, route_new(plain, plain), 10);
}

EFA_TEST(extended_qp_on_a_taken_cq)
{
	struct cq *cq = cq_new(self, 256, NULL);
	struct endpoint *first = new_taken(&(struct endpoint_options){ .send_cq = cq }), *other;

	choose(DVQ_DATAPATH_AUTO);
	other = endpoint_new(self, &(struct endpoint_options){
			     .transport = UD, .send_cq = cq, .pd = first->pd });
	CHECK_EQ(dvq_efa_is_taken_over(other->qp), 1);
	talk(other, route_new(other, other), 100);
	talk(first, route_new(first, first), 10);
}

/* the provider asks for a ring of one descriptor then, which holds no receive of two SGEs */
EFA_TEST(qp_without_receives)
{
	struct endpoint *target = new_taken(NULL);
	struct buffer *buffer = buffer_new(target->pd, 72, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr_ex attr = init_attr(target->pd, target->send_cq);
	struct efadv_qp_init_attr efa = srd();
	struct efadv_wq_attr sq, rq;
	struct ibv_recv_wr recv, *bad;
	struct ibv_sge sge;
	struct ibv_qp *qp;

	attr.cap.max_recv_wr = 0;
	attr.cap.max_recv_sge = 2;
	qp = efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_EQ(dvq_efa_is_taken_over(qp), 1);
	CHECK_EQ(efadv_query_qp_wqs(qp, &sq, &rq, sizeof(rq)), 0);
	CHECK(!rq.buffer && !rq.doorbell && !rq.num_entries);
	CHECK(sq.buffer && sq.num_entries);
	sge = (struct ibv_sge){ .addr = (uintptr_t)buffer->data, .length = 8, .lkey = buffer->mr->lkey };
	recv = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
	CHECK_EQ(ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1,
							  .qkey = ENDPOINT_QKEY },
			       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	CHECK(ibv_post_recv(qp, &recv, &bad));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	talk(target, route_new(target, target), 3);
}

/* both of its CQs have to be free */
EFA_TEST(qp_between_two_kinds_of_cqs)
{
	struct cq *taken = cq_new(self, 64, NULL), *stock = cq_new(self, 64, NULL);
	struct endpoint *a = new_taken(&(struct endpoint_options){ .send_cq = taken });
	struct ibv_qp_init_attr_ex attr;
	struct efadv_qp_init_attr efa = srd();

	new_stock(&(struct endpoint_options){ .send_cq = stock, .pd = a->pd });
	choose(DVQ_DATAPATH_TAKE_OVER);
	attr = init_attr(a->pd, taken);
	attr.recv_cq = stock->cq;
	errno = 0;
	CHECK(!efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EBUSY);
	talk(a, route_new(a, a), 3);
}

EFA_TEST(kinds_of_cqs)
{
	for (enum cq_kind kind = CQ_PLAIN; kind <= CQ_EFA; kind++) {
		struct endpoint *e = new_taken(&(struct endpoint_options){ .cq_kind = kind });

		talk(e, route_new(e, e), 300);
	}
}

/* what a CQ tells the provider was told before; the test has what the readers need from then, too */
EFA_TEST(cq_that_is_taken_after_its_creation)
{
	struct completion completion;
	bool seen = false;
	struct endpoint *e;
	struct buffer *buffer;
	struct route route;
	struct work work;
	struct cq *cq;

	choose(DVQ_DATAPATH_STOCK);
	need_write();
	need_unsolicited();
	cq = cq_new(self, 64, &(struct cq_options){ .kind = CQ_EFA });
	CHECK(cq->unsolicited);
	e = new_taken(&(struct endpoint_options){
		      .send_cq = cq, .flags = EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV });
	buffer = buffer_new(e->pd, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	route = route_new(e, e);
	work = rdma_work(IBV_WR_RDMA_WRITE_WITH_IMM, &route, 7, buffer, 0, 8, buffer, 32);
	post_one(e, &work);
	for (unsigned int i = 0; i < 2; i++) {
		cq_wait(cq, &completion);
		completion_expect_success(&completion);
		CHECK_EQ(completion.unsolicited, completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
		CHECK_EQ(completion.id, completion.unsolicited ? 0 : 7);
		seen |= completion.unsolicited;
		if (cq->sgid && completion.unsolicited)
			CHECK_EQ(completion.sgid_result, -ENOENT);
	}
	CHECK(seen);
}

/* both polls of one CQ in turn */
EFA_TEST(both_polls)
{
	struct endpoint *e = new_taken(&(struct endpoint_options){ .cq_kind = CQ_EXTENDED });
	struct buffer *buffer = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(e, e);
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_cq_ex *ex = e->send_cq->ex;
	uint64_t seen = 0, end = now_ms() + PATIENCE_MS;
	struct ibv_wc wc[3];

	attr.comp_mask = 1;
	CHECK_EQ(ibv_start_poll(ex, &attr), EINVAL);
	attr.comp_mask = 0;
	CHECK_EQ(ibv_start_poll(ex, &attr), ENOENT);
	for (unsigned int i = 0; i < 40; i++) {
		struct work work = send_work(&route, i, buffer, 0, 8);

		post_recv_one(e, i, buffer, 0, 8);
		post_one(e, &work);
	}
	for (unsigned int turn = 0; seen != (1ull << 40) - 1 && now_ms() < end; turn++) {
		if (turn % 2) {
			int n = ibv_poll_cq(ibv_cq_ex_to_cq(ex), 3, wc);

			for (int i = 0; i < n; i++) {
				CHECK(!(seen & 1ull << wc[i].wr_id));
				seen |= 1ull << wc[i].wr_id;
			}
		} else if (!ibv_start_poll(ex, &attr)) {
			do {
				CHECK(!(seen & 1ull << ex->wr_id));
				seen |= 1ull << ex->wr_id;
			} while (turn % 4 && !ibv_next_poll(ex));
			ibv_end_poll(ex);
		}
	}
	CHECK_EQ(seen, (1ull << 40) - 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_event(struct ibv_comp_channel *channel, const struct cq *cq)
{
	struct pollfd pollfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *from;
	void *context;

	REQUIRE(poll(&pollfd, 1, PATIENCE_MS) == 1);
	REQUIRE(!ibv_get_cq_event(channel, &from, &context));
	CHECK(from == cq->cq);
}

/* the adapter knows how many there were, and is told; whether an entry comes before an arm or after it */
EFA_TEST(events_that_are_acknowledged_late)
{
	struct ibv_comp_channel *channel;
	struct model_stats before;
	struct buffer *buffer;
	struct route route;
	struct endpoint *e;
	struct work work;
	struct cq *cq;

	need_model();
	need_events();
	channel = channel_new(self);
	cq = cq_new(self, 64, &(struct cq_options){ .channel = channel });
	e = new_taken(&(struct endpoint_options){ .send_cq = cq });
	route = route_new(e, e);
	buffer = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	work = send_work(&route, 1, buffer, 0, 8);
	model_stats(self->model, &before);
	for (unsigned int i = 0; i < 6; i++) {
		CHECK_EQ(ibv_req_notify_cq(cq->cq, 0), 0);
		talk(e, route, 1);
		take_event(channel, cq);
	}
	for (unsigned int i = 0; i < 6; i++) {
		post_recv_one(e, 2, buffer, 0, 8);
		post_one(e, &work);
		sleep_ms(QUIET_MS);
		CHECK_EQ(ibv_req_notify_cq(cq->cq, 0), 0);
		/* the model makes it at once */
		take_event(channel, cq);
		cq_wait_many(cq, 2);
	}
	ibv_ack_cq_events(cq->cq, 12);
	CHECK_EQ(ibv_req_notify_cq(cq->cq, 0), 0);
	CHECK_EQ(model_wait_delta(self->model, &before, "cq_arms", 13), 13);
	CHECK_EQ(model_delta(self->model, &before, "cq_sn_mismatches"), 0);
}

/* ---- what the provider would crash on ------------------------------------------------------- */

EFA_TEST(calls_out_of_place)
{
	struct endpoint *e = new_taken(NULL);
	struct buffer *buffer = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(e, e);
	struct ibv_qp_ex *ex = e->ex;

	/* a setter without a request */
	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, buffer->mr->lkey, buffer_addr(buffer, 0), 8);
	CHECK_EQ(ibv_wr_complete(ex), EINVAL);
	/* what the device does not do */
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_atomic_fetch_add(ex, 1, 0, 1);
	CHECK_EQ(ibv_wr_complete(ex), EOPNOTSUPP);
	/* data twice */
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, buffer->mr->lkey, buffer_addr(buffer, 0), 8);
	ibv_wr_set_inline_data(ex, buffer->data, 8);
	CHECK_EQ(ibv_wr_complete(ex), EINVAL);
	/* nowhere to go */
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, NULL, 1, 1);
	CHECK_EQ(ibv_wr_complete(ex), EINVAL);
	/* nothing at all is fine */
	ibv_wr_start(ex);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	ibv_wr_start(ex);
	ibv_wr_abort(ex);
	talk(e, route, 100);
}

/* ---- objects that come back ------------------------------------------------------------------- */

/* an address is no sign of anything */
EFA_TEST(qps_and_cqs_at_the_same_address)
{
	bool same_qp = false, same_cq = false;
	struct ibv_qp *old_qp = NULL;
	struct ibv_cq *old_cq = NULL;

	for (unsigned int i = 0; i < 20; i++) {
		struct cq *cq = cq_new(self, 64, NULL);
		struct endpoint_options options = { .send_cq = cq };
		struct endpoint *e = i % 2 ? new_stock(&options) : new_taken(&options);

		same_qp |= e->qp == old_qp;
		same_cq |= cq->cq == old_cq;
		old_qp = e->qp;
		old_cq = cq->cq;
		talk(e, route_new(e, e), 3);
		CHECK_EQ(endpoint_destroy(e), 0);
		CHECK_EQ(cq_destroy(cq), 0);
	}
	if (!same_qp || !same_cq)
		SKIP("no object came back at its address");
}

/*
 * An AH at the address of one that is gone leads elsewhere: its number is asked for again. The device's
 * numbers are held back by another AH, so that they differ.
 */
EFA_TEST(ahs_at_the_same_address)
{
	struct endpoint *e = new_taken(NULL), *far;
	struct buffer *out = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE), *in;
	bool same = false;

	if (peer == self)
		SKIP("needs two adapters");
	far = endpoint_new(peer, NULL);
	route_new(far, e);
	in = buffer_new(far->pd, 64, IBV_ACCESS_LOCAL_WRITE);
	ah_new(e->pd, &self->gid);
	for (unsigned int i = 0; i < 10; i++) {
		struct endpoint *to = i % 2 ? far : e;
		struct ibv_ah *ah = ah_try(e->pd, &to->adapter->gid), *before = ah;
		struct work work;

		REQUIRE(ah);
		post_recv_one(to, i, to == far ? in : out, 0, 8);
		work = send_work(&(struct route){ .ah = ah, .qpn = to->qp->qp_num, .qkey = to->qkey }, i, out,
				 0, 8);
		post_one(e, &work);
		cq_wait_many(e->send_cq, 1);
		cq_wait_many(to->recv_cq, 1);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
		ah = ah_try(e->pd, &(i % 2 ? self : peer)->gid);
		REQUIRE(ah);
		same |= ah == before;
		to = i % 2 ? e : far;
		post_recv_one(to, i, to == far ? in : out, 0, 8);
		work.to = (struct route){ .ah = ah, .qpn = to->qp->qp_num, .qkey = to->qkey };
		post_one(e, &work);
		cq_wait_many(e->send_cq, 1);
		cq_wait_many(to->recv_cq, 1);
		CHECK_EQ(ibv_destroy_ah(ah), 0);
	}
	if (!same)
		SKIP("no AH came back at its address");
}

/* ---- RESET, which nobody tells of ---------------------------------------------------------------- */

/* all the way round without a call that posts in between */
EFA_TEST(reset_and_again)
{
	struct cq *cq = cq_new(self, 512, NULL);
	struct endpoint *e = new_taken(&(struct endpoint_options){ .send_cq = cq });
	struct endpoint *other = new_taken(&(struct endpoint_options){ .send_cq = cq, .pd = e->pd });
	struct buffer *buffer = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(e, e), others = route_new(other, other);
	struct completion completion;

	for (unsigned int round = 0; round < 5; round++) {
		struct work work = send_work(&route, 5000, buffer, 0, 8);
		struct model_stats before;

		talk(e, route, 30 + round);
		if (self->model[0])
			model_stats(self->model, &before);
		/* completions that nobody polls: some of it, and one of the other */
		for (unsigned int i = 0; i < 5; i++) {
			post_recv_one(e, 6000, buffer, 0, 8);
			post_one(e, &work);
		}
		work = send_work(&others, 7000 + round, buffer, 0, 8);
		post_recv_one(other, 8000 + round, buffer, 0, 8);
		post_one(other, &work);
		if (self->model[0])
			CHECK_EQ(model_wait_delta(self->model, &before, "completions", 12), 12);
		else
			sleep_ms(QUIET_MS);
		/* and receives that are lost */
		for (unsigned int i = 0; i < 20; i++)
			post_recv_one(e, 9000, buffer, 0, 8);
		CHECK_EQ(endpoint_modify(e, IBV_QPS_RESET), 0);
		CHECK_EQ(endpoint_modify(e, IBV_QPS_RTS), 0);
		/* as many as there were at first */
		for (unsigned int i = 0; i < e->cap.max_recv_wr; i++)
			post_recv_one(e, 2000, buffer, 0, 8);
		work = send_work(&route, 1000, buffer, 0, 8);
		post_one(e, &work);
		for (unsigned int i = 0, own = 0; own < 2; i++) {
			REQUIRE(i < 4);
			cq_wait(cq, &completion);
			completion_expect_success(&completion);
			if (completion.qp_num == other->qp->qp_num) {
				CHECK(completion.id == 7000 + round || completion.id == 8000 + round);
				continue;
			}
			CHECK(completion.id == 1000 || completion.id == 2000);
			own++;
		}
		CHECK_EQ(endpoint_modify(e, IBV_QPS_RESET), 0);
		CHECK_EQ(endpoint_modify(e, IBV_QPS_RTS), 0);
	}
	CHECK(cq_quiet(cq, QUIET_MS));
}

struct resetter {
	struct endpoint *e;
	struct buffer *buffer;
	int err;
};

static void *reset_and_post(void *arg)
{
	struct resetter *resetter = arg;
	struct ibv_sge sge = buffer_sge(resetter->buffer, 0, 8);

	resetter->err = endpoint_modify(resetter->e, IBV_QPS_RESET) ?:
			endpoint_modify(resetter->e, IBV_QPS_RTS) ?:
			post_recv(resetter->e, 2000, &sge, 1);
	return NULL;
}

/* who polls in a block may wait there for a thread that resets a QP of the CQ and posts to it */
EFA_TEST(reset_beside_an_open_block)
{
	struct cq *cq = cq_new(self, 64, &(struct cq_options){ .kind = CQ_EXTENDED });
	struct endpoint *e = new_taken(&(struct endpoint_options){ .send_cq = cq });
	struct buffer *buffer = buffer_new(e->pd, 8, IBV_ACCESS_LOCAL_WRITE);
	struct route route = route_new(e, e);
	struct work work = send_work(&route, 2, buffer, 0, 8);
	struct resetter resetter = { .e = e, .buffer = buffer };
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t end = now_ms() + PATIENCE_MS;
	struct completion completion;
	pthread_t thread;
	int ret;

	post_recv_one(e, 1, buffer, 0, 8);
	post_one(e, &work);
	do
		ret = ibv_start_poll(cq->ex, &attr);
	while (ret == ENOENT && now_ms() < end);
	REQUIRE(!ret);
	/* nothing is on its way that could take the receive of afterwards */
	do
		ret = ibv_next_poll(cq->ex);
	while (ret == ENOENT && now_ms() < end);
	REQUIRE(!ret);
	REQUIRE(!pthread_create(&thread, NULL, reset_and_post, &resetter));
	pthread_join(thread, NULL);
	CHECK_EQ(resetter.err, 0);
	CHECK(cq->ex->wr_id == 1 || cq->ex->wr_id == 2);
	CHECK_EQ(ibv_next_poll(cq->ex), ENOENT);
	ibv_end_poll(cq->ex);
	work = send_work(&route, 1000, buffer, 0, 8);
	post_one(e, &work);
	for (unsigned int i = 0; i < 2; i++) {
		cq_wait(cq, &completion);
		completion_expect_success(&completion);
		CHECK(completion.id == 1000 || completion.id == 2000);
	}
}

/* ---- threads ----------------------------------------------------------------------------------------- */

#define MANY	3000

struct poster {
	struct endpoint *e;
	struct route route;
	struct buffer *buffer;
	int err;
};

/* sends and receives of its own, each as soon as there is room */
static void *post_many(void *arg)
{
	struct poster *poster = arg;
	unsigned int sent = 0, given = 0;
	uint64_t end = now_ms() + PATIENCE_MS;

	/* as long as it goes on at all */
	while (sent < MANY && now_ms() < end) {
		struct ibv_sge sge = buffer_sge(poster->buffer, 0, 8);
		struct work work = send_work(&poster->route, sent, poster->buffer, 0, 8);
		int err = given < MANY ? post_recv(poster->e, given, &sge, 1) : 0;

		given += !err && given < MANY;
		if (err && err != ENOMEM)
			poster->err = err;
		err = sent < given ? post(poster->e, &work, 1) : ENOMEM;
		sent += !err;
		if (!err)
			end = now_ms() + PATIENCE_MS;
		else if (err != ENOMEM)
			poster->err = err;
	}
	return NULL;
}

/* two that post, on one CQ that a third polls, while a fourth makes and destroys QPs on it */
EFA_TEST(posters_a_poller_and_a_maker)
{
	struct cq *cq = cq_new(self, 1024, &(struct cq_options){ .kind = CQ_EXTENDED });
	struct poster posters[2];
	unsigned int counts[2] = { 0 }, left = 4 * MANY;
	uint64_t end = now_ms() + PATIENCE_MS;
	struct endpoint_options options = { .send_cq = cq, .sig_all = true };
	pthread_t threads[2];

	for (unsigned int i = 0; i < 2; i++) {
		if (adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
			options.rnr_retry = RNR_RETRY(7);
		posters[i].e = new_taken(&options);
		options.pd = posters[i].e->pd;
		posters[i].route = route_new(posters[i].e, posters[i].e);
		posters[i].buffer = buffer_new(options.pd, 8, IBV_ACCESS_LOCAL_WRITE);
		posters[i].err = 0;
	}
	for (unsigned int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, post_many, &posters[i]));
	while (left && now_ms() < end) {
		struct ibv_wc wc[8];
		int n = ibv_poll_cq(cq->cq, 8, wc);

		for (int i = 0; i < n; i++) {
			CHECK_EQ(wc[i].status, IBV_WC_SUCCESS);
			counts[wc[i].qp_num == posters[1].e->qp->qp_num]++;
		}
		if (n <= 0)
			continue;
		left -= n;
		if (left % 500 < 4)
			CHECK_EQ(endpoint_destroy(new_taken(&options)), 0);
		end = now_ms() + PATIENCE_MS;
	}
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(posters[i].err, 0);
		CHECK_EQ(counts[i], 2 * MANY);
	}
}

/* ---- what is left -------------------------------------------------------------------------------------- */

static unsigned int uverbs_mappings(void)
{
	unsigned int n = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	REQUIRE(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "/dev/infiniband/uverbs") != NULL;
	fclose(maps);
	return n;
}

static void live(enum dvq_datapath datapath)
{
	struct adapter mine = *self;
	struct endpoint *e;

	mine.stock = datapath == DVQ_DATAPATH_STOCK;
	adapter_open(&mine);
	CHECK_EQ(dvq_efa_set_datapath(mine.context, datapath), 0);
	e = endpoint_new(&mine, NULL);
	CHECK_EQ(dvq_efa_is_taken_over(e->qp), datapath == DVQ_DATAPATH_TAKE_OVER);
	talk(e, route_new(e, e), 3);
	lab_drop_all();
	adapter_close(&mine);
}

/* how many more mappings there are after some lives; of the library's own the last goes with its next call */
static int left_behind(enum dvq_datapath datapath)
{
	struct efadv_device_attr attr;
	unsigned int before;

	live(datapath);
	REQUIRE(!efadv_query_device(self->context, &attr, sizeof(attr)));
	before = uverbs_mappings();
	for (unsigned int i = 0; i < 20; i++)
		live(datapath);
	REQUIRE(!efadv_query_device(self->context, &attr, sizeof(attr)));
	return (int)(uverbs_mappings() - before);
}

/* libefa of rdma-core 44 leaves some itself; the library adds none to them */
EFA_TEST(destroy_and_close_leave_no_mapping)
{
	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_efa");
	if (libefa_release() >= 56)
		CHECK_EQ(left_behind(DVQ_DATAPATH_TAKE_OVER), 0);
	else
		CHECK_EQ(left_behind(DVQ_DATAPATH_TAKE_OVER), left_behind(DVQ_DATAPATH_STOCK));
}

static void exit_at_once(void *unused)
{
	(void)unused;
}

EFA_TEST(f15_children_do_no_harm)
{
	struct endpoint *e = new_taken(NULL);
	struct route route = route_new(e, e);

	talk(e, route, 10);
	for (unsigned int i = 0; i < 3; i++) {
		child_end(child_start(exit_at_once, NULL));
		talk(e, route, 30);
	}
}

EFA_TEST_MAIN
