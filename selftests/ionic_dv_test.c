// SPDX-License-Identifier: GPL-2.0
/*
 * The direct-verbs calls of ionic on an adapter: where queues are created, who may say so, and what
 * happens when it cannot be; pipelines; what is told of rings. It wants the modules of dvq and
 * libionic, and looks at other adapters that are there: one of EFA, one without controller memory.
 */
#include <dvq/dvq.h>
#include <infiniband/ionic_dv.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ionic_test.h"

enum place { HOST, CMB, EXPRESS };
enum queue { SEND, RECEIVE };

/* what a PD is to prefer */
struct wish {
	bool enable, express, require;
};

static const struct wish host = { false, false, false };

static void need_dvq(void)
{
	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_ionic");
}

static uint64_t caps_of(struct ibv_context *context)
{
	struct dvq_device_info info;

	LAB_NEED(!dvq_device_query(context, &info, sizeof(info)), "dvq_device_query: %s",
		 dvq_reason());
	return info.caps;
}

static void need_cmb(void)
{
	need_dvq();
	if (!(caps_of(self->context) & DVQ_DEVICE_SQ_CMB))
		SKIP("the adapter has no controller memory");
}

static bool has_express(enum queue queue)
{
	return caps_of(self->context) & (queue == SEND ? DVQ_DEVICE_SQ_EXPDB : DVQ_DEVICE_RQ_EXPDB);
}

static uint64_t cmb_free(void)
{
	struct dvq_device_info info;

	LAB_NEED(!dvq_device_query(self->context, &info, sizeof(info)), "%s", dvq_reason());
	return info.cmb_free;
}

/* ---- PDs ---------------------------------------------------------------------------- */

static int set(struct ibv_pd *pd, enum queue queue, struct wish wish)
{
	return queue == SEND ? ionic_dv_pd_set_sqcmb(pd, wish.enable, wish.express, wish.require) :
			       ionic_dv_pd_set_rqcmb(pd, wish.enable, wish.express, wish.require);
}

static void must_set(struct ibv_pd *pd, enum queue queue, struct wish wish)
{
	LAB_NEED(!set(pd, queue, wish), "the preference was refused: %s", dvq_reason());
}

/* the other queue in host memory, so that it does not matter */
static struct ibv_pd *pd_with(enum queue queue, struct wish wish)
{
	struct ibv_pd *pd = pd_new(self);

	must_set(pd, !queue, host);
	must_set(pd, queue, wish);
	return pd;
}

static int drop_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static struct ibv_pd *domain_of(struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd };
	struct ibv_pd *domain = ibv_alloc_parent_domain(pd->context, &attr);

	LAB_NEED(domain, "ibv_alloc_parent_domain: %s", strerror(errno));
	lab_hold(drop_pd, domain);
	return domain;
}

/* ---- queue pairs -------------------------------------------------------------------- */

/* one receive SGE: libionic asks for express doorbells only where entries have just 64 bytes */
static struct endpoint *try_under(struct ibv_pd *pd, struct cq *cq)
{
	return endpoint_try(self, &(struct endpoint_options){
			    .pd = pd, .send_cq = cq, .send_sge = 1, .recv_sge = 1,
			    .state = ENDPOINT_RESET });
}

static struct endpoint *under(struct ibv_pd *pd)
{
	struct endpoint *endpoint = try_under(pd, NULL);

	LAB_NEED(endpoint, "creating a QP: %s", strerror(errno));
	return endpoint;
}

static enum place place_of(struct ibv_qp *qp, enum queue queue)
{
	struct dvq_wq_info sq, rq, *wq = queue == SEND ? &sq : &rq;
	struct dvq_qp_info info;

	LAB_NEED(!dvq_qp_query(qp, &info, sizeof(info), &sq, &rq, sizeof(sq)), "dvq_qp_query: %s",
		 dvq_reason());
	if (wq->mem != DVQ_MEM_CMB) {
		CHECK_EQ(wq->mem, DVQ_MEM_USER);
		CHECK_EQ(wq->ring_key, 0);
		CHECK_EQ(wq->caps & DVQ_WQ_EXPDB, 0);
		return HOST;
	}
	CHECK(wq->ring_key);
	return wq->caps & DVQ_WQ_EXPDB ? EXPRESS : CMB;
}

static enum place placed(enum queue queue, struct wish wish)
{
	return place_of(under(pd_with(queue, wish))->qp, queue);
}

/* the creation fails with @want and leaves nothing behind */
static void expect_refusal(struct ibv_pd *pd, int want)
{
	uint64_t before = cmb_free();

	errno = 0;
	CHECK(!try_under(pd, NULL));
	CHECK_EQ(errno, want);
	CHECK_EQ(cmb_free(), before);
}

/* ---- other adapters ----------------------------------------------------------------- */

static int close_context(void *object)
{
	return ibv_close_device(object);
}

static bool is_efa(struct ibv_context *context)
{
	struct ibv_device_attr attr;

	return !ibv_query_device(context, &attr) && attr.vendor_id == 0x1d0f;
}

static bool is_without_cmb(struct ibv_context *context)
{
	struct dvq_device_info info;

	return !dvq_device_query(context, &info, sizeof(info)) &&
	       info.driver == DVQ_DRIVER_IONIC && !(info.caps & DVQ_DEVICE_SQ_CMB);
}

/* the first device that is so; NULL: there is none */
static struct ibv_context *find(bool (*fits)(struct ibv_context *context))
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *found = NULL;

	LAB_NEED(list, "ibv_get_device_list: %s", strerror(errno));
	for (int i = 0; list[i] && !found; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);

		LAB_NEED(context, "ibv_open_device: %s", strerror(errno));
		if (fits(context))
			found = context;
		else
			ibv_close_device(context);
	}
	ibv_free_device_list(list);
	if (found)
		lab_hold(close_context, found);
	return found;
}

static struct ibv_pd *pd_on(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);

	LAB_NEED(pd, "ibv_alloc_pd: %s", strerror(errno));
	lab_hold(drop_pd, pd);
	return pd;
}

IONIC_TEST(pd_of_an_efa_adapter)
{
	struct ibv_context *context = find(is_efa);
	struct ionic_dv_ctx dvctx;
	struct ibv_pd *pd;

	if (!context)
		SKIP("needs an EFA adapter beside");
	pd = pd_on(context);
	CHECK_EQ(set(pd, SEND, host), EPERM);
	CHECK_EQ(set(pd, RECEIVE, host), EPERM);
	CHECK_EQ(set(pd, RECEIVE, (struct wish){ true, true, true }), EPERM);
	CHECK_CONTAINS(dvq_reason(), "not an ionic adapter");
	CHECK_EQ(ionic_dv_pd_set_udma_mask(pd, 1), EPERM);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(pd), 0);
	CHECK_EQ(ionic_dv_ctx_get_udma_count(context), 0);
	CHECK(!ionic_dv_is_ionic_ctx(context) && !ionic_dv_is_ionic_pd(pd));
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), EPERM);
	/* and EFA's calls do not take ionic's */
	CHECK(ionic_dv_is_ionic_ctx(self->context));
}

/* the in-tree driver: everything is the stock library's, and nothing of dvq is there */
IONIC_TEST(another_driver)
{
	struct ionic_dv_qp dvqp;
	struct dvq_qp_info info;
	struct endpoint *one;
	struct ibv_pd *pd;

	if (self->dvq)
		SKIP("needs the adapter to be driven by another driver");
	pd = pd_new(self);
	CHECK(ionic_dv_is_ionic_pd(pd));
	CHECK_EQ(ionic_dv_ctx_get_udma_count(self->context), 2);
	CHECK_EQ(set(pd, RECEIVE, (struct wish){ true, false, true }), 0);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(pd, 2), 0);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(pd), 2);
	/* which falls back and does not tell */
	one = under(pd);
	CHECK_EQ(dvq_qp_query(one->qp, &info, sizeof(info), NULL, NULL, 0), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_get_qp(&dvqp, one->qp), EOPNOTSUPP);
}

/* ---- placement ---------------------------------------------------------------------- */

/* F-60: a program that says nothing, as all of libionic's do: send queues as far as can be */
IONIC_TEST(program_that_says_nothing)
{
	struct endpoint *endpoint;

	need_cmb();
	endpoint = under(pd_new(self));
	CHECK_EQ(place_of(endpoint->qp, SEND), has_express(SEND) ? EXPRESS : CMB);
	CHECK_EQ(place_of(endpoint->qp, RECEIVE), HOST);
}

static void wishes_are_granted(enum queue queue)
{
	enum place best;

	need_cmb();
	best = has_express(queue) ? EXPRESS : CMB;
	for (int require = 0; require < 2; require++) {
		CHECK_EQ(placed(queue, (struct wish){ false, false, require }), HOST);
		CHECK_EQ(placed(queue, (struct wish){ false, true, require }), HOST);
		CHECK_EQ(placed(queue, (struct wish){ true, false, require }), CMB);
		if (!require || best == EXPRESS)
			CHECK_EQ(placed(queue, (struct wish){ true, true, require }), best);
	}
}

IONIC_TEST(send_queues_are_where_they_are_wished)
{
	wishes_are_granted(SEND);
}

IONIC_TEST(receive_queues_are_where_they_are_wished)
{
	wishes_are_granted(RECEIVE);
}

static void requires_express_that_there_is_not(enum queue queue)
{
	const struct wish all = { true, true, true };
	struct ibv_pd *pd;

	need_dvq();
	if (has_express(queue))
		SKIP("the adapter has express doorbells");
	pd = pd_with(queue, host);
	CHECK_EQ(set(pd, queue, all), EINVAL);
	/* nothing has changed */
	CHECK_EQ(place_of(under(pd)->qp, queue), HOST);
	CHECK_EQ(set(pd, queue, (struct wish){ true, true, false }), 0);
	CHECK_EQ(set(pd, queue, (struct wish){ false, true, true }), 0);
}

IONIC_TEST(f17_express_doorbell_of_send_queues_that_there_is_not)
{
	requires_express_that_there_is_not(SEND);
}

IONIC_TEST(f17_express_doorbell_of_receive_queues_that_there_is_not)
{
	requires_express_that_there_is_not(RECEIVE);
}

/* F-70, F-71: what is required and cannot be had */
static void pool_is_exhausted(enum queue queue)
{
	struct endpoint *held[1024], *one;
	struct endpoint_options large = { .send_wr = 1000, .recv_wr = 1000, .send_sge = 1,
					  .recv_sge = 1, .state = ENDPOINT_RESET };
	uint64_t before;
	unsigned int n;

	need_cmb();
	allow_seconds(300);
	before = cmb_free();
	large.pd = pd_with(queue, (struct wish){ true, false, true });
	large.send_cq = cq_new(self, 64, NULL);
	for (n = 0; n < 1024; n++) {
		held[n] = endpoint_try(self, &large);
		if (!held[n])
			break;
		CHECK_EQ(place_of(held[n]->qp, queue), CMB);
	}
	CHECK_EQ(errno, ENOSPC);
	REQUIRE(n > 0 && n < 1024);
	CHECK(cmb_free() < before / n);

	/* who does not insist falls back */
	must_set(large.pd, queue, (struct wish){ true, false, false });
	one = endpoint_new(self, &large);
	CHECK_EQ(place_of(one->qp, queue), HOST);
	CHECK_EQ(endpoint_destroy(one), 0);

	/* room for one comes back with one */
	must_set(large.pd, queue, (struct wish){ true, false, true });
	CHECK(!endpoint_try(self, &large));
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(endpoint_destroy(held[--n]), 0);
	one = endpoint_new(self, &large);
	CHECK_EQ(place_of(one->qp, queue), CMB);
	CHECK_EQ(endpoint_destroy(one), 0);
	while (n)
		CHECK_EQ(endpoint_destroy(held[--n]), 0);
	CHECK_EQ(cmb_free(), before);
}

IONIC_TEST(f17_f71_no_room_for_a_send_queue)
{
	pool_is_exhausted(SEND);
}

IONIC_TEST(f17_f71_no_room_for_a_receive_queue)
{
	pool_is_exhausted(RECEIVE);
}

static void ring_is_too_large(enum queue queue)
{
	struct endpoint_options large = { .send_wr = 20000, .recv_wr = 20000, .send_sge = 1,
					  .recv_sge = 1, .state = ENDPOINT_RESET };
	uint64_t before;

	need_cmb();
	before = cmb_free();
	large.pd = pd_with(queue, (struct wish){ true, false, true });
	large.send_cq = cq_new(self, 64, NULL);
	CHECK(!endpoint_try(self, &large));
	CHECK_EQ(errno, ENOSPC);
	CHECK_EQ(cmb_free(), before);
	must_set(large.pd, queue, (struct wish){ true, false, false });
	CHECK_EQ(place_of(endpoint_new(self, &large)->qp, queue), HOST);
}

IONIC_TEST(f17_f71_send_queue_that_is_too_large)
{
	ring_is_too_large(SEND);
}

IONIC_TEST(f17_f71_receive_queue_that_is_too_large)
{
	ring_is_too_large(RECEIVE);
}

static struct ibv_qp *qp_on(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return ibv_create_qp(pd, &attr);
}

static int drop_cq(void *object)
{
	return ibv_destroy_cq(object);
}

IONIC_TEST(f17_f71_adapter_without_controller_memory)
{
	struct ibv_context *context = find(is_without_cmb);
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	if (!context)
		SKIP("needs an ionic adapter without controller memory beside");
	pd = pd_on(context);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	REQUIRE(cq);
	lab_hold(drop_cq, cq);
	for (enum queue queue = SEND; queue <= RECEIVE; queue++) {
		CHECK_EQ(set(pd, !queue, host), 0);
		CHECK_EQ(set(pd, queue, (struct wish){ true, true, true }), EINVAL);
		CHECK_EQ(set(pd, queue, (struct wish){ true, false, true }), 0);
		errno = 0;
		CHECK(!qp_on(pd, cq));
		CHECK_EQ(errno, EOPNOTSUPP);
		CHECK_EQ(set(pd, queue, (struct wish){ true, true, false }), 0);
		qp = qp_on(pd, cq);
		REQUIRE(qp);
		CHECK_EQ(place_of(qp, SEND), HOST);
		CHECK_EQ(place_of(qp, RECEIVE), HOST);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
	}
}

/* ---- the administrator -------------------------------------------------------------- */

static void write_mode(enum queue queue, const char *mode)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof(path), "%.512s/%s_placement", self->device->ibdev_path,
		 queue == SEND ? "sq" : "rq");
	file = fopen(path, "w");
	LAB_NEED(file && fputs(mode, file) >= 0 && !fclose(file), "%s: %s", path, strerror(errno));
}

static int usual_modes(void *object)
{
	(void)object;
	write_mode(SEND, "on");
	write_mode(RECEIVE, "explicit");
	return 0;
}

static void modes_are_obeyed(enum queue queue)
{
	struct ibv_pd *silent, *pd;

	need_cmb();
	silent = pd_new(self);
	lab_hold(usual_modes, &usual_modes);
	pd = pd_with(queue, host);

	write_mode(queue, "off");
	CHECK_EQ(place_of(under(silent)->qp, queue), HOST);
	must_set(pd, queue, (struct wish){ true, false, false });
	CHECK_EQ(place_of(under(pd)->qp, queue), HOST);
	must_set(pd, queue, (struct wish){ true, false, true });
	expect_refusal(pd, EOPNOTSUPP);

	write_mode(queue, "explicit");
	CHECK_EQ(place_of(under(silent)->qp, queue), HOST);
	CHECK_EQ(place_of(under(pd)->qp, queue), CMB);
	must_set(pd, queue, (struct wish){ true, false, false });
	CHECK_EQ(place_of(under(pd)->qp, queue), CMB);

	write_mode(queue, "on");
	CHECK_EQ(place_of(under(silent)->qp, queue), has_express(queue) ? EXPRESS : CMB);
	CHECK_EQ(place_of(under(pd)->qp, queue), CMB);
}

IONIC_TEST(modes_of_send_queues)
{
	modes_are_obeyed(SEND);
}

IONIC_TEST(modes_of_receive_queues)
{
	modes_are_obeyed(RECEIVE);
}

/* who wants host memory gets it, whatever the administrator thinks */
IONIC_TEST(host_memory_in_every_mode)
{
	static const char *const modes[] = { "off", "explicit", "on" };
	struct endpoint *endpoint;
	struct ibv_pd *pd;

	need_cmb();
	lab_hold(usual_modes, &usual_modes);
	pd = pd_with(SEND, host);
	for (int i = 0; i < 3; i++) {
		write_mode(SEND, modes[i]);
		write_mode(RECEIVE, modes[i]);
		endpoint = under(pd);
		CHECK_EQ(place_of(endpoint->qp, SEND), HOST);
		CHECK_EQ(place_of(endpoint->qp, RECEIVE), HOST);
	}
}

/* ---- parent domains ----------------------------------------------------------------- */

static void domains_have_their_own(enum queue queue)
{
	struct ibv_pd *root, *a, *b, *child;
	struct endpoint *first, *under_a, *under_b;

	need_cmb();
	root = pd_with(queue, host);
	first = under(root);
	a = domain_of(root);
	b = domain_of(root);
	must_set(a, queue, (struct wish){ true, false, false });
	must_set(b, queue, host);
	for (int i = 0; i < 3; i++) {
		under_a = under(a);
		under_b = under(b);
		CHECK_EQ(place_of(under_a->qp, queue), CMB);
		CHECK_EQ(place_of(under_b->qp, queue), HOST);
		CHECK_EQ(place_of(under(root)->qp, queue), HOST);
	}
	/* a domain begins with what its parent has, and goes its own way */
	child = domain_of(a);
	must_set(a, queue, host);
	CHECK_EQ(place_of(under(child)->qp, queue), CMB);
	CHECK_EQ(place_of(under(a)->qp, queue), HOST);
	/* queues that exist stay where they are */
	CHECK_EQ(place_of(first->qp, queue), HOST);
	CHECK_EQ(place_of(under_a->qp, queue), CMB);
	CHECK_EQ(place_of(under_b->qp, queue), HOST);
}

IONIC_TEST(send_queues_of_parent_domains)
{
	domains_have_their_own(SEND);
}

IONIC_TEST(receive_queues_of_parent_domains)
{
	domains_have_their_own(RECEIVE);
}

/* insisting lets no other queue of the PD through */
IONIC_TEST(require_of_one_domain_is_nobody_elses)
{
	struct ibv_pd *root, *a, *b;

	need_cmb();
	root = pd_new(self);
	a = domain_of(root);
	b = domain_of(root);
	must_set(a, RECEIVE, (struct wish){ true, false, true });
	CHECK_EQ(place_of(under(a)->qp, RECEIVE), CMB);
	CHECK_EQ(place_of(under(b)->qp, RECEIVE), HOST);
	CHECK_EQ(place_of(under(root)->qp, RECEIVE), HOST);
}

IONIC_TEST(policy_of_the_program_counts)
{
	struct dvq_pd_policy policy = { .rq = DVQ_PLACE_SET };
	struct ibv_pd *pd;

	need_cmb();
	pd = pd_with(RECEIVE, host);
	REQUIRE(!dvq_pd_set_policy(pd, &policy, sizeof(policy)));
	must_set(pd, RECEIVE, (struct wish){ true, false, false });
	CHECK_EQ(place_of(under(pd)->qp, RECEIVE), HOST);
	must_set(pd, RECEIVE, (struct wish){ true, false, true });
	expect_refusal(pd, EOPNOTSUPP);
}

/* ---- pipelines ---------------------------------------------------------------------- */

static struct ibv_cq_ex *cq_under(struct ibv_pd *domain)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					    .parent_domain = domain };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(domain->context, &attr);

	LAB_NEED(cq, "ibv_create_cq_ex: %s", strerror(errno));
	lab_hold(drop_cq, ibv_cq_ex_to_cq(cq));
	return cq;
}

IONIC_TEST(f42_f70_pipelines)
{
	struct ibv_pd *root, *domain[2];
	struct ibv_cq *cq[2];
	struct ibv_qp *qp;

	need_dvq();
	CHECK_EQ(ionic_dv_ctx_get_udma_count(self->context), 2);
	CHECK_EQ(ionic_dv_ctx_get_udma_mask(self->context), 3);
	root = pd_new(self);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(root), 3);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(root, 0), EINVAL);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(root, 4), EINVAL);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(root), 3);
	for (int i = 0; i < 2; i++) {
		domain[i] = domain_of(root);
		CHECK_EQ(ionic_dv_pd_set_udma_mask(domain[i], 1 << i), 0);
		CHECK_EQ(ionic_dv_pd_get_udma_mask(domain[i]), 1 << i);
		cq[i] = ibv_cq_ex_to_cq(cq_under(domain[i]));
		CHECK_EQ(ionic_dv_cq_get_udma_mask(cq[i]), 1 << i);
	}
	for (int i = 0; i < 2; i++) {
		qp = qp_on(domain[i], cq[i]);
		REQUIRE(qp);
		CHECK_EQ(ionic_dv_qp_get_udma_idx(qp), i);
		CHECK_EQ(ibv_destroy_qp(qp), 0);
		errno = 0;
		CHECK(!qp_on(domain[i], cq[!i]));
		CHECK_EQ(errno, EINVAL);
	}
}

/* ---- rings -------------------------------------------------------------------------- */

IONIC_TEST(rings_are_told)
{
	struct endpoint *endpoint;
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	struct ionic_dv_ctx dvctx;
	struct ionic_dv_qp dvqp;
	struct ionic_dv_cq dvcq;

	need_dvq();
	endpoint = under(pd_with(SEND, host));
	REQUIRE(!dvq_qp_query(endpoint->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)));
	CHECK_EQ(ionic_dv_get_qp(&dvqp, endpoint->qp), 0);
	CHECK((uintptr_t)dvqp.sq.ptr == sq.user_addr);
	CHECK_EQ(dvqp.sq.db_val, (uint64_t)endpoint->qp->qp_num << 24);
	CHECK_EQ(dvqp.sq.mask, endpoint->cap.max_send_wr);
	CHECK_EQ(dvqp.sq.size, (uint64_t)sq.entries * sq.entry_size);
	CHECK((uintptr_t)dvqp.rq.ptr == rq.user_addr);
	CHECK_EQ(dvqp.rq.mask, endpoint->cap.max_recv_wr);
	CHECK_EQ(ionic_dv_cq_get_udma_mask(endpoint->send_cq->cq), 3);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ionic_dv_get_cq(&dvcq, endpoint->send_cq->cq, i), 0);
		CHECK(dvcq.q.ptr && dvcq.q.mask >= endpoint->send_cq->cq->cqe);
		CHECK_EQ(dvcq.q.stride_log2, 5);
	}
	CHECK_EQ(ionic_dv_get_cq(&dvcq, endpoint->send_cq->cq, 2), EINVAL);
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, self->context), 0);
	CHECK(dvctx.db_page && (void *)dvctx.db_ptr == dvctx.db_page);
	CHECK_EQ(dvctx.sq_qtype * 8, sq.db_offset);
	CHECK_EQ(dvctx.rq_qtype * 8, rq.db_offset);
	CHECK(dvctx.cq_qtype != dvctx.sq_qtype && dvctx.cq_qtype != dvctx.rq_qtype);
}

IONIC_TEST(rings_in_controller_memory_are_not_told)
{
	struct ionic_dv_qp dvqp;

	need_cmb();
	CHECK_EQ(ionic_dv_get_qp(&dvqp, under(pd_with(SEND, (struct wish){ true, false, true }))->qp),
		 EOPNOTSUPP);
	CHECK_EQ(ionic_dv_get_qp(&dvqp,
				 under(pd_with(RECEIVE, (struct wish){ true, false, true }))->qp),
		 EOPNOTSUPP);
}

/* asking where the doorbells are leaves nothing behind */
IONIC_TEST(question_for_doorbells_leaves_nothing)
{
	struct ionic_dv_ctx dvctx;
	uint64_t before;

	need_dvq();
	before = cmb_free();
	for (int i = 0; i < 50; i++)
		REQUIRE(!ionic_dv_get_ctx(&dvctx, self->context));
	CHECK_EQ(cmb_free(), before);
}

/* what is mapped at a page, as an offset of the device's file; 0: nothing */
static uint64_t key_at(const void *page)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	uint64_t key = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)page >= start && (uintptr_t)page < end && strstr(line, "uverbs"))
			key = offset + ((uintptr_t)page - start);
	if (maps)
		fclose(maps);
	return key;
}

/* the doorbells of a context that is opened here, and what the kernel says of their key */
static struct ibv_context *open_doorbells(struct ionic_dv_ctx *dvctx, uint64_t *key)
{
	struct ibv_context *context = ibv_open_device(self->context->device);
	struct dvq_cq_info info;
	struct ibv_cq *cq;

	REQUIRE(context);
	CHECK_EQ(ionic_dv_get_ctx(dvctx, context), 0);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	REQUIRE(cq && !dvq_cq_query(cq, &info, sizeof(info)));
	*key = info.db_key;
	ibv_destroy_cq(cq);
	return context;
}

/* the next context has the file's number, but not the page of the one before */
IONIC_TEST(doorbells_are_those_of_the_open_context)
{
	struct ionic_dv_ctx first, second, again;
	uint64_t first_key, second_key;
	struct ibv_context *context;
	int fd;

	need_dvq();
	context = open_doorbells(&first, &first_key);
	CHECK_EQ(key_at(first.db_page), first_key);
	fd = context->cmd_fd;
	ibv_close_device(context);
	context = open_doorbells(&second, &second_key);
	CHECK_EQ(context->cmd_fd, fd);
	CHECK(first_key != second_key);
	CHECK_EQ(key_at(second.db_page), second_key);
	CHECK_EQ(ionic_dv_get_ctx(&again, context), 0);
	CHECK(again.db_page == second.db_page);
	ibv_close_device(context);
	CHECK_EQ(ionic_dv_get_ctx(NULL, NULL), EINVAL);
	CHECK_EQ(key_at(second.db_page), 0);
}

IONIC_TEST(calls_that_the_stock_library_has_not)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ionic_cq_init_attr_ex ionic_attr = {
		.comp_mask = IONIC_CQ_INIT_ATTR_MASK_FLAGS, .flags = IONIC_CQ_INIT_ATTR_CCQE,
	};
	struct endpoint *endpoint;
	struct ibv_cq_ex *cq;

	need_dvq();
	endpoint = under(pd_new(self));
	CHECK_EQ(ionic_dv_qp_set_gda(endpoint->qp, true, true), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_pd_set_expdb_mask(endpoint->pd, 1), EOPNOTSUPP);
	errno = 0;
	CHECK(!ionic_dv_create_cq_ex(self->context, &attr, &ionic_attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	/* a plain CQ they need not have it for */
	ionic_attr.flags = 0;
	cq = ionic_dv_create_cq_ex(self->context, &attr, &ionic_attr);
	REQUIRE(cq);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cq = ionic_dv_create_cq_ex(self->context, &attr, &(struct ionic_cq_init_attr_ex){ .flags = 1 });
	REQUIRE(cq);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cq = ionic_dv_create_cq_ex(self->context, &attr, NULL);
	REQUIRE(cq);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

IONIC_TEST_MAIN
