// SPDX-License-Identifier: GPL-2.0
/*
 * The direct-verbs calls of ionic against their manual pages: foreign devices, what goes to
 * the stock library, what the kernel is told, and what its records answer. The kernel is
 * fake_kernel.c, the stock library stock/libionic.c, with and without the proposed calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fake_kernel.h"
#include "internal.h"
#include "stock/ionic.h"
#include "tap.h"

#define PERMITTED	(DVQ_PLACE_SET | DVQ_PLACE_CMB | DVQ_PLACE_EXPDB)

static struct ionic_log *ionic_log;

/* a context whose provider is the stock library "65" or "next" */
static struct ibv_context *open_with(enum fake_driver driver, const char *release)
{
	struct ibv_context *context = fake_open(driver);
	char file[512];
	void *stock;

	snprintf(file, sizeof(file), "%s/%s/libionic.so.1.0.65.0", STOCK_DIR, release);
	stock = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!stock)
		printf("# %s\n", dlerror());
	REQUIRE(stock);
	context->ops.post_send = (int (*)(struct ibv_qp *, struct ibv_send_wr *,
					  struct ibv_send_wr **))dlsym(stock, "ionic_post_send");
	ionic_log = dlsym(stock, "ionic_log");
	REQUIRE(ionic_log && context->ops.post_send);
	memset(ionic_log, 0, sizeof(*ionic_log));
	return context;
}

static struct ibv_pd pd_of(struct ibv_context *context)
{
	return (struct ibv_pd) { .context = context, .handle = 1 };
}

static struct ibv_qp qp_of(struct ibv_context *context)
{
	return (struct ibv_qp) { .context = context, .handle = 1 };
}

static struct ibv_cq cq_of(struct ibv_context *context)
{
	return (struct ibv_cq) { .context = context, .handle = 1 };
}

TEST(null_is_an_error)
{
	struct ionic_cq_init_attr_ex ionic_attr = {};
	struct ibv_cq_init_attr_ex attr = {};
	struct ionic_dv_ctx dvctx;
	struct ionic_dv_cq dvcq;
	struct ionic_dv_qp dvqp;
	uint64_t data;

	CHECK_EQ(ionic_dv_ctx_get_udma_count(NULL), 0);
	CHECK_EQ(ionic_dv_ctx_get_udma_mask(NULL), 0);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(NULL), 0);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(NULL, 1), EINVAL);
	CHECK_EQ(ionic_dv_pd_set_sqcmb(NULL, true, true, true), EINVAL);
	CHECK_EQ(ionic_dv_pd_set_rqcmb(NULL, true, true, true), EINVAL);
	CHECK(!ionic_dv_is_ionic_ctx(NULL) && !ionic_dv_is_ionic_pd(NULL));
	CHECK(!ionic_dv_is_ionic_cq(NULL) && !ionic_dv_is_ionic_qp(NULL));
	CHECK_EQ(ionic_dv_cq_get_udma_mask(NULL), 0);
	CHECK_EQ(ionic_dv_qp_get_udma_idx(NULL), 0);
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, NULL), EINVAL);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, NULL, 0), EINVAL);
	CHECK_EQ(ionic_dv_get_qp(&dvqp, NULL), EINVAL);
	CHECK_EQ(ionic_dv_pd_set_expdb_mask(NULL, 1), EINVAL);
	CHECK_EQ(ionic_dv_qp_set_gda(NULL, true, true), EINVAL);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(NULL, &data), EINVAL);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(NULL, &data), EINVAL);
	errno = 0;
	CHECK(!ionic_dv_create_cq_ex(NULL, &attr, &ionic_attr));
	CHECK_EQ(errno, EINVAL);
}

TEST(output_null_is_an_error)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "next");
	struct ibv_qp qp = qp_of(context);
	struct ibv_cq cq = cq_of(context);

	CHECK_EQ(ionic_dv_get_ctx(NULL, context), EINVAL);
	CHECK_EQ(ionic_dv_get_cq(NULL, &cq, 0), EINVAL);
	CHECK_EQ(ionic_dv_get_qp(NULL, &qp), EINVAL);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(&qp, NULL), EINVAL);
	CHECK_EQ(ionic_log->calls, 0);
	fake_close(context);
}

/* another adapter, EFA's among them: EPERM, and nobody is asked */
static void expect_foreign(enum fake_driver driver)
{
	struct ibv_context *context = open_with(driver, "next");
	struct ionic_cq_init_attr_ex ionic_attr = {};
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_pd pd = pd_of(context);
	struct ibv_qp qp = qp_of(context);
	struct ibv_cq cq = cq_of(context);
	struct ionic_dv_ctx dvctx;
	struct ionic_dv_cq dvcq;
	struct ionic_dv_qp dvqp;
	uint64_t data;

	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, false, false, false), EPERM);
	CHECK_CONTAINS(dvq_reason(), "not an ionic adapter");
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, true), EPERM);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(&pd, 1), EPERM);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(&pd, 0), EPERM);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(&pd), 0);
	CHECK_EQ(ionic_dv_ctx_get_udma_count(context), 0);
	CHECK_EQ(ionic_dv_ctx_get_udma_mask(context), 0);
	CHECK(!ionic_dv_is_ionic_ctx(context) && !ionic_dv_is_ionic_pd(&pd));
	CHECK(!ionic_dv_is_ionic_cq(&cq) && !ionic_dv_is_ionic_qp(&qp));
	CHECK_EQ(ionic_dv_cq_get_udma_mask(&cq), 0);
	CHECK_EQ(ionic_dv_qp_get_udma_idx(&qp), 0);
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), EPERM);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 0), EPERM);
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), EPERM);
	CHECK_EQ(ionic_dv_pd_set_expdb_mask(&pd, 1), EPERM);
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, true, true), EPERM);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(&qp, &data), EPERM);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), EPERM);
	errno = 0;
	CHECK(!ionic_dv_create_cq_ex(context, &attr, &ionic_attr));
	CHECK_EQ(errno, EPERM);
	CHECK_EQ(ionic_log->calls, 0);
	CHECK_EQ(fake_kernel.policies, 0);
	fake_close(context);
}

TEST(other_devices)
{
	expect_foreign(FAKE_DVQ);
	expect_foreign(FAKE_IN_TREE);
	expect_foreign(FAKE_OTHER);
}

/* ---- pipelines ---------------------------------------------------------------------- */

TEST(f42_f70_pipelines_are_the_stock_librarys)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	CHECK_EQ(ionic_dv_ctx_get_udma_count(context), 2);
	CHECK_STR(ionic_log->call, "ctx_get_udma_count");
	CHECK_EQ(ionic_dv_ctx_get_udma_mask(context), 3);
	CHECK(ionic_log->object == context);
	CHECK_EQ(ionic_dv_pd_get_udma_mask(&pd), 2);
	CHECK(ionic_log->object == &pd);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(&pd, 2), STOCK_RESULT);
	CHECK_EQ(ionic_log->mask, 2);
	CHECK_EQ(ionic_log->calls, 4);
	CHECK_EQ(ionic_dv_pd_set_udma_mask(&pd, 0), EINVAL);
	CHECK_EQ(ionic_log->calls, 4);
	fake_close(context);
}

/* ---- placement ---------------------------------------------------------------------- */

TEST(wish_goes_to_the_provider_and_permission_to_the_kernel)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, false, false), STOCK_RESULT);
	CHECK_STR(ionic_log->call, "pd_set_rqcmb");
	CHECK(ionic_log->object == &pd);
	CHECK(ionic_log->enable && !ionic_log->expdb && !ionic_log->require);
	CHECK_EQ(fake_kernel.policy.rq, PERMITTED);
	CHECK_EQ(fake_kernel.policy.sq, 0);
	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, true, true, false), STOCK_RESULT);
	CHECK_STR(ionic_log->call, "pd_set_sqcmb");
	CHECK(ionic_log->enable && ionic_log->expdb && !ionic_log->require);
	CHECK_EQ(fake_kernel.policy.sq, PERMITTED);
	CHECK_EQ(fake_kernel.policy.rq, PERMITTED);
	/* what is permitted already is left alone */
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, false), STOCK_RESULT);
	CHECK_EQ(fake_kernel.policies, 2);
	fake_close(context);
}

/* a parent domain may want host memory while another of the same PD does not */
TEST(host_memory_forbids_nothing_to_others)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd a = pd_of(context), b = pd_of(context);

	CHECK_EQ(ionic_dv_pd_set_rqcmb(&a, false, true, true), STOCK_RESULT);
	CHECK(!ionic_log->enable);
	CHECK_EQ(fake_kernel.policies, 0);
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&b, true, false, false), STOCK_RESULT);
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&a, false, false, false), STOCK_RESULT);
	CHECK_EQ(fake_kernel.policy.rq, PERMITTED);
	fake_close(context);
}

/* the wish says it, and so no other queue of the PD is let through */
TEST(f17_require_needs_no_permission)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, false, true), STOCK_RESULT);
	CHECK(ionic_log->require);
	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, true, true, true), STOCK_RESULT);
	CHECK_EQ(fake_kernel.policies, 0);
	fake_close(context);
}

TEST(f17_require_of_an_express_doorbell_that_there_is_not)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	/* the fake adapter has them for send queues only */
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, true), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "no express doorbell for receive queues");
	CHECK_EQ(ionic_log->calls, 0);
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, false), STOCK_RESULT);
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, false, true, true), STOCK_RESULT);
	fake_kernel.device.caps &= ~(uint64_t)DVQ_DEVICE_SQ_EXPDB;
	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, true, true, true), EINVAL);
	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, true, false, true), STOCK_RESULT);
	fake_close(context);
}

TEST(policy_of_the_program_stays)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	fake_kernel.policy.rq = DVQ_PLACE_SET;
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, false), STOCK_RESULT);
	CHECK_EQ(fake_kernel.policy.rq, DVQ_PLACE_SET);
	fake_close(context);
}

TEST(kernel_that_refuses)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_pd pd = pd_of(context);

	fake_kernel.error = EIO;
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, false, false), EIO);
	CHECK_EQ(ionic_log->calls, 0);
	fake_close(context);
}

/* ---- the in-tree driver ------------------------------------------------------------- */

TEST(in_tree_driver_is_all_the_stock_librarys)
{
	struct ibv_context *context = open_with(FAKE_IONIC_IN_TREE, "next");
	struct ionic_cq_init_attr_ex ionic_attr = {
		.comp_mask = IONIC_CQ_INIT_ATTR_MASK_FLAGS, .flags = IONIC_CQ_INIT_ATTR_CCQE,
	};
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_pd pd = pd_of(context);
	struct ibv_qp qp = qp_of(context);
	struct ibv_cq cq = cq_of(context);
	struct ionic_dv_ctx dvctx;
	struct ionic_dv_cq dvcq;
	struct ionic_dv_qp dvqp;
	uint64_t data;

	CHECK(ionic_dv_is_ionic_ctx(context) && ionic_dv_is_ionic_pd(&pd));
	CHECK(ionic_dv_is_ionic_cq(&cq) && ionic_dv_is_ionic_qp(&qp));
	CHECK_EQ(ionic_dv_pd_set_rqcmb(&pd, true, true, true), STOCK_RESULT);
	CHECK_EQ(ionic_dv_pd_set_sqcmb(&pd, true, false, false), STOCK_RESULT);
	CHECK_EQ(ionic_dv_cq_get_udma_mask(&cq), 3);
	CHECK_EQ(ionic_dv_qp_get_udma_idx(&qp), 1);
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), STOCK_RESULT);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 1), STOCK_RESULT);
	CHECK_EQ(ionic_log->mask, 1);
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), STOCK_RESULT);
	CHECK_EQ(ionic_dv_pd_set_expdb_mask(&pd, 5), STOCK_RESULT);
	CHECK_EQ(ionic_log->mask, 5);
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, true, false), STOCK_RESULT);
	CHECK(ionic_log->enable && !ionic_log->expdb);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(&qp, &data), STOCK_RESULT);
	CHECK_STR(ionic_log->call, "qp_get_send_dbell_data");
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), STOCK_RESULT);
	CHECK_STR(ionic_log->call, "qp_get_recv_dbell_data");
	CHECK((void *)ionic_dv_create_cq_ex(context, &attr, &ionic_attr) == (void *)&attr);
	fake_close(context);
}

TEST(proposed_calls_that_the_stock_library_has_not)
{
	struct ibv_context *context = open_with(FAKE_IONIC_IN_TREE, "65");
	struct ionic_cq_init_attr_ex ionic_attr = {
		.comp_mask = IONIC_CQ_INIT_ATTR_MASK_FLAGS, .flags = IONIC_CQ_INIT_ATTR_CCQE,
	};
	struct ibv_cq_init_attr_ex attr = {};
	struct ibv_pd pd = pd_of(context);
	struct ibv_qp qp = qp_of(context);
	struct ibv_cq cq = cq_of(context);
	struct ionic_dv_ctx dvctx;
	struct ionic_dv_cq dvcq;
	struct ionic_dv_qp dvqp;
	uint64_t data;

	CHECK_EQ(ionic_dv_cq_get_udma_mask(&cq), 0);
	CHECK_EQ(ionic_dv_qp_get_udma_idx(&qp), 0);
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "ionic_dv_get_ctx");
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 0), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_pd_set_expdb_mask(&pd, 1), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_qp_set_gda(&qp, true, true), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_qp_get_send_dbell_data(&qp, &data), EOPNOTSUPP);
	CHECK_EQ(ionic_dv_qp_get_recv_dbell_data(&qp, &data), EOPNOTSUPP);
	errno = 0;
	CHECK(!ionic_dv_create_cq_ex(context, &attr, &ionic_attr));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ionic_log->calls, 0);
	fake_close(context);
}

/* ---- records ------------------------------------------------------------------------ */

TEST(records_answer_on_dvqs_devices)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ibv_qp qp = qp_of(context);
	struct ibv_cq cq = cq_of(context);
	struct ionic_dv_cq dvcq;
	struct ionic_dv_qp dvqp;

	CHECK_EQ(ionic_dv_cq_get_udma_mask(&cq), 3);
	CHECK_EQ(ionic_dv_qp_get_udma_idx(&qp), 1);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 1), 0);
	CHECK(dvcq.q.ptr == fake_kernel.memory[3]);
	CHECK_EQ(dvcq.q.size, 128 * 32);
	CHECK_EQ(dvcq.q.db_val, 8 << 24);
	CHECK_EQ(dvcq.q.mask, 127);
	CHECK_EQ(dvcq.q.depth_log2, 7);
	CHECK_EQ(dvcq.q.stride_log2, 5);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 0), 0);
	CHECK_EQ(dvcq.q.db_val, 5 << 24);
	CHECK_EQ(ionic_dv_get_cq(&dvcq, &cq, 2), EINVAL);
	/* the copy of a ring in controller memory is no ring */
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "controller memory");
	fake_kernel.qps[1].sq.mem = DVQ_MEM_USER;
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), 0);
	CHECK(dvqp.sq.ptr == fake_kernel.memory[0]);
	CHECK_EQ(dvqp.sq.mask, 63);
	CHECK_EQ(dvqp.sq.stride_log2, 6);
	CHECK(dvqp.rq.ptr == fake_kernel.memory[1]);
	CHECK_EQ(dvqp.rq.size, 128 * 64);
	CHECK_EQ(dvqp.rq.db_val, 9 << 24);
	fake_kernel.qps[1].rq.user_addr = 0;
	CHECK_EQ(ionic_dv_get_qp(&dvqp, &qp), EOPNOTSUPP);
	CHECK_EQ(ionic_log->calls, 0);
	fake_close(context);
}

/* ---- doorbells ---------------------------------------------------------------------- */

/* the verbs, which the library makes its questions with; objects are those at handle 1 */
static int probes;
static bool no_room;

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	*pd = pd_of(context);
	probes++;
	return pd;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	struct ibv_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe, (void)cq_context, (void)channel, (void)vector;
	*cq = cq_of(context);
	probes++;
	return cq;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp;

	(void)attr;
	errno = ENOSPC;
	if (no_room)
		return NULL;
	qp = calloc(1, sizeof(*qp));
	*qp = qp_of(pd->context);
	probes++;
	return qp;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	probes--;
	return 0;
}

/* CQs and QPs are destroyed by the fake kernel, which counts them */
static int left_of_probes(void)
{
	return probes - (int)fake_kernel.destroyed;
}

static void *map_page(struct ibv_context *context)
{
	return mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x4000);
}

/* provider and posters have the page mapped as well, before or after; what was told stays */
TEST(doorbells_are_told_at_a_page_that_nobody_else_unmaps)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	void *provider = map_page(context), *before = map_page(context), *after;
	struct ionic_dv_ctx dvctx, again;

	probes = 0;
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), 0);
	after = map_page(context);
	CHECK(dvctx.db_page != provider && dvctx.db_page != before && dvctx.db_page != after);
	CHECK((void *)dvctx.db_ptr == dvctx.db_page);
	CHECK_EQ(dvctx.sq_qtype, 3);
	CHECK_EQ(dvctx.rq_qtype, 4);
	CHECK_EQ(dvctx.cq_qtype, 5);
	munmap(before, 0x1000);
	munmap(after, 0x1000);
	munmap(provider, 0x1000);
	CHECK_EQ(ionic_dv_get_ctx(&again, context), 0);
	CHECK(again.db_page == dvctx.db_page);
	*(volatile uint64_t *)&dvctx.db_ptr[dvctx.sq_qtype] = 1;
	CHECK_EQ(fake_mappings(), 1);
	CHECK_EQ(left_of_probes(), 0);
	fake_close(context);
	CHECK_EQ(ionic_dv_get_ctx(NULL, NULL), EINVAL);
	CHECK_EQ(fake_mappings(), 0);
}

TEST(doorbells_that_cannot_be_asked_for)
{
	struct ibv_context *context = open_with(FAKE_IONIC, "65");
	struct ionic_dv_ctx dvctx;

	probes = 0;
	no_room = true;
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), ENOSPC);
	no_room = false;
	fake_kernel.cqs[1].info.db_key = 0x123;	/* not a page */
	CHECK_EQ(ionic_dv_get_ctx(&dvctx, context), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "cannot map");
	CHECK_EQ(left_of_probes(), 0);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(layouts)
{
	CHECK_EQ(sizeof(struct ionic_dv_ctx), 24);
	CHECK_EQ(offsetof(struct ionic_dv_ctx, cq_qtype), 18);
	CHECK_EQ(sizeof(struct ionic_dv_queue), 32);
	CHECK_EQ(offsetof(struct ionic_dv_queue, mask), 24);
	CHECK_EQ(sizeof(struct ionic_dv_cq), 32);
	CHECK_EQ(sizeof(struct ionic_dv_qp), 64);
	CHECK_EQ(offsetof(struct ionic_dv_qp, sq), 32);
	CHECK_EQ(sizeof(struct ionic_cq_init_attr_ex), 8);
}

TAP_MAIN
