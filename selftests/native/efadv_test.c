// SPDX-License-Identifier: GPL-2.0
/*
 * The direct-verbs calls against their manual pages: lengths, foreign devices, what goes
 * to the stock library and what does not. The kernel is fake_kernel.c, the stock library
 * stock/libefa.c in two releases.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <infiniband/efadv.h>

#include "fake_kernel.h"
#include "internal.h"
#include "stock/stock.h"
#include "tap.h"

#define STOCK_RESULT	4242

static struct stock_log *stock_log;

/* a context whose provider is the stock library of a release */
static struct ibv_context *open_with(enum fake_driver driver, int release)
{
	struct ibv_context *context = fake_open(driver);
	const char *file = release == 44 ? STOCK_DIR "/44/libefa.so.1.2.44.0" :
					   STOCK_DIR "/65/libefa.so.1.7.65.0";
	void *stock = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!stock)
		printf("# %s\n", dlerror());
	REQUIRE(stock);
	context->ops.post_send = (int (*)(struct ibv_qp *, struct ibv_send_wr *,
					  struct ibv_send_wr **))dlsym(stock, "stock_post_send");
	stock_log = dlsym(stock, "stock_log");
	REQUIRE(stock_log && context->ops.post_send);
	memset(stock_log, 0, sizeof(*stock_log));
	return context;
}

static void fill(void *data, size_t n)
{
	memset(data, 0xee, n);
}

static bool is_filled(const void *data, size_t from, size_t to)
{
	const unsigned char *bytes = data;

	for (size_t i = from; i < to; i++)
		if (bytes[i] != 0xee)
			return false;
	return true;
}

static bool is_zero(const void *data, size_t from, size_t to)
{
	const unsigned char *bytes = data;

	for (size_t i = from; i < to; i++)
		if (bytes[i])
			return false;
	return true;
}

/* ---- the stock library ------------------------------------------------------------- */

TEST(release_in_a_file_name)
{
	CHECK_EQ(dvq_stock_release("/usr/lib/x86_64-linux-gnu/libefa.so.1.7.65.0"), 65);
	CHECK_EQ(dvq_stock_release("libefa.so.1.2.44.0"), 44);
	CHECK_EQ(dvq_stock_release("libefa.so.1"), 0);
	CHECK_EQ(dvq_stock_release("libefa.so.1.2"), 0);
	CHECK_EQ(dvq_stock_release("libefa-rdmav34.so"), 0);
	CHECK_EQ(dvq_stock_release("libefa.so.1.2.44.0.bak"), 0);
	CHECK_EQ(dvq_stock_release("libmlx5.so.1.2.44.0"), 0);
}

TEST(provider_of_the_context_is_found)
{
	struct ibv_context *old = open_with(FAKE_IN_TREE, 44);
	struct ibv_context *new = open_with(FAKE_IN_TREE, 65);
	const struct dvq_stock *stock;

	stock = dvq_stock(old);
	REQUIRE(stock);
	CHECK_EQ(stock->release, 44);
	CHECK(stock->create_cq && !stock->query_mr && !stock->query_qp_wqs);
	CHECK(!stock->qp_from_ibv_qp_ex && !stock->create_comp_cntr);
	stock = dvq_stock(new);
	REQUIRE(stock);
	CHECK_EQ(stock->release, 65);
	CHECK(stock->query_qp_wqs && stock->get_max_rq_depth && stock->create_comp_cntr);
	/* never ourselves, whatever scope a name is looked up in */
	CHECK(stock->query_device != efadv_query_device);
	fake_close(old);
	fake_close(new);
}

/* ---- all calls: NULL and foreign devices ------------------------------------------- */

TEST(null_is_an_error)
{
	char any[128] = {};
	void *p = any;

	CHECK_EQ(efadv_query_device(NULL, p, 32), EINVAL);
	CHECK_EQ(efadv_query_ah(NULL, p, 16), EINVAL);
	CHECK_EQ(efadv_query_mr(NULL, p, 16), EINVAL);
	CHECK_EQ(efadv_query_qp_wqs(NULL, p, p, 40), EINVAL);
	CHECK_EQ(efadv_query_cq(NULL, p, 32), EINVAL);
	CHECK_EQ(efadv_get_max_sq_depth(NULL, p, 24), -EINVAL);
	CHECK_EQ(efadv_get_max_rq_depth(NULL, p, 16), -EINVAL);
	errno = 0;
	CHECK(!efadv_create_driver_qp(NULL, p, 0));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!efadv_create_qp_ex(NULL, p, p, 24));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!efadv_create_cq(NULL, p, p, 56));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!efadv_create_comp_cntr(NULL, p, p, 80));
	CHECK_EQ(errno, EINVAL);
	CHECK(!efadv_qp_from_ibv_qp_ex(NULL));
	CHECK(!efadv_cq_from_ibv_cq_ex(NULL));
	efadv_wr_set_processing_hints(NULL, 1);
	CHECK_EQ(efadv_wc_read_sgid(NULL, p), -EOPNOTSUPP);
	CHECK(!efadv_wc_is_unsolicited(NULL));
}

TEST(output_struct_null_is_an_error)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct ibv_ah ah = { .context = context, .handle = 1 };
	struct ibv_mr mr = { .context = context, .handle = 1 };
	struct efadv_wq_attr wq;

	CHECK_EQ(efadv_query_device(context, NULL, 32), EINVAL);
	CHECK_EQ(efadv_query_ah(&ah, NULL, 16), EINVAL);
	CHECK_EQ(efadv_query_mr(&mr, NULL, 16), EINVAL);
	CHECK_EQ(efadv_query_qp_wqs(&qp, NULL, &wq, 40), EINVAL);
	CHECK_EQ(efadv_query_qp_wqs(&qp, &wq, NULL, 40), EINVAL);
	CHECK_EQ(efadv_query_cq(&cq, NULL, 32), EINVAL);
	CHECK_EQ(efadv_get_max_sq_depth(context, NULL, 24), -EINVAL);
	CHECK_EQ(efadv_get_max_rq_depth(context, NULL, 16), -EINVAL);
	fake_close(context);
}

/* the table of the sheet, before anything else is looked at */
TEST(other_adapters)
{
	struct ibv_context *context = open_with(FAKE_OTHER, 65);
	struct stock_qp qp = { .ex.qp_base = { .context = context, .handle = 1 } };
	struct stock_cq cq = { .ex.context = context };
	struct ibv_ah ah = { .context = context };
	struct ibv_mr mr = { .context = context };
	struct ibv_pd pd = { .context = context };
	char any[128] = {};
	void *p = any;

	CHECK_EQ(efadv_query_device(context, p, 0), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "not an EFA");
	CHECK_EQ(efadv_query_ah(&ah, p, 0), EOPNOTSUPP);
	CHECK_EQ(efadv_query_mr(&mr, p, 0), EOPNOTSUPP);
	CHECK_EQ(efadv_query_qp_wqs(&qp.ex.qp_base, p, p, 0), EOPNOTSUPP);
	CHECK_EQ(efadv_query_cq(ibv_cq_ex_to_cq(&cq.ex), p, 0), EOPNOTSUPP);
	CHECK_EQ(efadv_get_max_sq_depth(context, p, 0), -EOPNOTSUPP);
	CHECK_EQ(efadv_get_max_rq_depth(context, p, 0), -EOPNOTSUPP);
	errno = 0;
	CHECK(!efadv_create_driver_qp(&pd, p, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	errno = 0;
	CHECK(!efadv_create_qp_ex(context, p, p, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	errno = 0;
	CHECK(!efadv_create_cq(context, p, p, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	errno = 0;
	CHECK(!efadv_create_comp_cntr(context, p, p, 0));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK(!efadv_qp_from_ibv_qp_ex(&qp.ex));
	CHECK(!efadv_cq_from_ibv_cq_ex(&cq.ex));
	CHECK_EQ(stock_log->calls, 0);
	CHECK(is_zero(any, 0, sizeof(any)));
	fake_close(context);
}

TEST(in_tree_driver_goes_to_the_stock_library)
{
	struct ibv_context *context = open_with(FAKE_IN_TREE, 65);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct ibv_ah ah = { .context = context };
	struct efadv_sq_depth_attr depth = {};
	struct efadv_rq_depth_attr rq_depth = { .max_recv_sge = 2 };
	char any[128] = {};
	void *p = any;

	CHECK_EQ(efadv_query_device(context, p, 32), STOCK_RESULT);
	CHECK_EQ(efadv_query_ah(&ah, p, 16), STOCK_RESULT);
	CHECK_EQ(efadv_query_qp_wqs(&qp, p, p, 40), STOCK_RESULT);
	CHECK_STR(stock_log->call, "query_qp_wqs");
	CHECK_EQ(stock_log->inlen, 40);
	CHECK_EQ(efadv_query_cq(&cq, p, 32), STOCK_RESULT);
	CHECK_EQ(efadv_get_max_sq_depth(context, &depth, 24), STOCK_RESULT);
	CHECK_EQ(efadv_get_max_rq_depth(context, &rq_depth, 16), 16384);
	/* where it would divide by zero */
	rq_depth.max_recv_sge = 0;
	CHECK_EQ(efadv_get_max_rq_depth(context, &rq_depth, 16), 32768);
	fake_close(context);
}

TEST(in_tree_driver_and_a_stock_library_without_the_call)
{
	struct ibv_context *context = open_with(FAKE_IN_TREE, 44);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct efadv_sq_depth_attr depth = {};
	struct efadv_rq_depth_attr rq_depth = {};
	struct efadv_wq_attr wq;
	struct efadv_cq_attr cq_attr;

	CHECK_EQ(efadv_query_qp_wqs(&qp, &wq, &wq, 40), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "neither");
	CHECK_EQ(efadv_query_cq(&cq, &cq_attr, 32), EOPNOTSUPP);
	CHECK_EQ(efadv_get_max_sq_depth(context, &depth, 24), -EOPNOTSUPP);
	CHECK_EQ(efadv_get_max_rq_depth(context, &rq_depth, 16), -EOPNOTSUPP);
	fake_close(context);
}

/* ---- device ------------------------------------------------------------------------ */

TEST(query_device)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct efadv_device_attr attr;

	fill(&attr, sizeof(attr));
	CHECK_EQ(efadv_query_device(context, &attr, sizeof(attr)), 0);
	CHECK_EQ(attr.comp_mask, 0);
	CHECK_EQ(attr.max_sq_wr, 4097);
	CHECK_EQ(attr.max_rq_wr, 32769);
	CHECK_EQ(attr.max_sq_sge, 2);
	CHECK_EQ(attr.max_rq_sge, 3);
	CHECK_EQ(attr.inline_buf_size, 32);
	CHECK_EQ(attr.inline_buf_size_ex, 80);
	CHECK_EQ(attr.device_caps, 0x7f);
	CHECK_EQ(attr.max_rdma_size, 1 << 30);
	fake_kernel.device.max_inline_ex = 0;
	CHECK_EQ(efadv_query_device(context, &attr, sizeof(attr)), 0);
	CHECK_EQ(attr.inline_buf_size_ex, 32);
	CHECK_EQ(stock_log->calls, 0);
	fake_close(context);
}

TEST(query_device_caps_one_by_one)
{
	static const uint32_t abi[] = { 1, 2, 8, 32, 64, 128, 256, 4, 16, 512 };
	static const uint32_t efadv[] = { 1, 2, 4, 8, 0x10, 0x20, 0x40, 0, 0, 0 };
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct efadv_device_attr attr;

	for (int i = 0; i < 10; i++) {
		fake_kernel.abi.device_caps = abi[i];
		CHECK_EQ(efadv_query_device(context, &attr, sizeof(attr)), 0);
		CHECK_EQ(attr.device_caps, efadv[i]);
	}
	fake_close(context);
}

TEST(f14_query_device_lengths)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct {
		struct efadv_device_attr attr;
		unsigned char more[16];
	} u;

	for (uint32_t n = 0; n < sizeof(u); n++) {
		fill(&u, sizeof(u));
		CHECK_EQ(efadv_query_device(context, &u.attr, n), n < 24 ? EINVAL : 0);
		CHECK(is_filled(&u, n < 24 ? 0 : n, sizeof(u)));
		if (n >= 28)
			CHECK_EQ(u.attr.device_caps, n >= 32 ? 0x7f : 0x7f & ~9);
		if (n >= 32)
			CHECK(is_zero(&u, 32, n));
	}
	fake_close(context);
}

TEST(f40_sq_depth)
{
	static const struct {
		struct efadv_sq_depth_attr attr;
		int want;
	} rows[] = {
		/* 262144 + 4096 bytes of queue */
		{ { }, 4096 },
		{ { .max_send_sge = 2, .max_rdma_sge = 1, .max_inline_data = 32 }, 4096 },
		{ { .max_inline_data = 33 }, 2048 },
		{ { .max_inline_data = 80 }, 2048 },
		{ { .flags = EFADV_SQ_DEPTH_ATTR_INLINE_WRITE }, 2048 },
		{ { .max_inline_data = 81 }, -EINVAL },
		{ { .max_send_sge = 3 }, -EINVAL },
		{ { .max_rdma_sge = 2 }, -EINVAL },
		{ { .flags = 2 }, -EINVAL },
		{ { .comp_mask = 1 }, -EINVAL },
	};
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct efadv_sq_depth_attr attr;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		attr = rows[i].attr;
		CHECK_EQ(efadv_get_max_sq_depth(context, &attr, sizeof(attr)), rows[i].want);
	}
	fake_kernel.device.caps &= ~DVQ_DEVICE_RDMA_WRITE;
	attr = (struct efadv_sq_depth_attr) { .flags = EFADV_SQ_DEPTH_ATTR_INLINE_WRITE };
	CHECK_EQ(efadv_get_max_sq_depth(context, &attr, sizeof(attr)), -EOPNOTSUPP);
	attr.flags = 0;
	fake_kernel.device.max_inline_ex = 0;
	attr.max_inline_data = 33;
	CHECK_EQ(efadv_get_max_sq_depth(context, &attr, sizeof(attr)), -EINVAL);
	CHECK_EQ(stock_log->calls, 0);
	fake_close(context);
}

/* entries that no batch has room for cannot be created, so there is no depth of them */
TEST(f04_sq_depth_of_entries_larger_than_a_batch)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct efadv_sq_depth_attr wide = { .max_inline_data = 33 }, narrow = {};

	for (uint32_t limit = 0; limit < 3; limit++) {
		fake_kernel.device.max_tx_batch = limit;
		CHECK_EQ(efadv_get_max_sq_depth(context, &wide, sizeof(wide)),
			 limit == 1 ? -EOPNOTSUPP : 2048);
		CHECK_EQ(efadv_get_max_sq_depth(context, &narrow, sizeof(narrow)), 4096);
	}
	CHECK_EQ(stock_log->calls, 0);
	fake_close(context);
}

TEST(f40_rq_depth)
{
	static const int want[] = { 32768, 32768, 16384, 10922, -EINVAL };
	struct ibv_context *context = open_with(FAKE_DVQ, 44);

	for (uint32_t sges = 0; sges < 5; sges++) {
		struct efadv_rq_depth_attr attr = { .max_recv_sge = sges };

		CHECK_EQ(efadv_get_max_rq_depth(context, &attr, sizeof(attr)), want[sges]);
		attr.comp_mask = 1;
		CHECK_EQ(efadv_get_max_rq_depth(context, &attr, sizeof(attr)), -EINVAL);
	}
	fake_close(context);
}

/* F-14, F-40: input structs */
TEST(f14_f40_depth_lengths)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct {
		struct efadv_sq_depth_attr attr;
		unsigned char more[8];
	} sq = {};
	struct {
		struct efadv_rq_depth_attr attr;
		unsigned char more[8];
	} rq = {};

	for (uint32_t n = 0; n <= sizeof(sq); n++)
		CHECK_EQ(efadv_get_max_sq_depth(context, &sq.attr, n), n < 24 ? -EINVAL : 4096);
	for (uint32_t n = 0; n <= sizeof(rq); n++)
		CHECK_EQ(efadv_get_max_rq_depth(context, &rq.attr, n), n < 12 ? -EINVAL : 32768);
	sq.more[7] = 1;
	rq.more[7] = 1;
	CHECK_EQ(efadv_get_max_sq_depth(context, &sq.attr, sizeof(sq)), -EINVAL);
	CHECK_EQ(efadv_get_max_rq_depth(context, &rq.attr, sizeof(rq)), -EINVAL);
	fake_close(context);
}

/* ---- AH, MR, rings ----------------------------------------------------------------- */

TEST(f14_query_ah)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct ibv_ah ah = { .context = context, .handle = 1 };
	struct {
		struct efadv_ah_attr attr;
		unsigned char more[8];
	} u;

	for (uint32_t n = 0; n < sizeof(u); n++) {
		fill(&u, sizeof(u));
		CHECK_EQ(efadv_query_ah(&ah, &u.attr, n), n < 10 ? EINVAL : 0);
		CHECK(is_filled(&u, n < 10 ? 0 : n, sizeof(u)));
		if (n < 10)
			continue;
		CHECK_EQ(u.attr.comp_mask, 0);
		CHECK_EQ(u.attr.ahn, 0x4321);
		CHECK(is_zero(&u, 10, n));
	}
	fake_close(context);
}

TEST(f14_query_mr)
{
	/* dvq's driver and the in-tree one alike; the library may be an old one */
	static const enum fake_driver drivers[] = { FAKE_DVQ, FAKE_IN_TREE };

	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = open_with(drivers[i], 44);
		struct ibv_mr mr = { .context = context, .handle = 1 };
		struct efadv_mr_attr attr;

		for (int j = 0; j < 4; j++)
			fake_kernel.mr[j] = 5 + j;
		fill(&attr, sizeof(attr));
		CHECK_EQ(efadv_query_mr(&mr, &attr, 15), EINVAL);
		CHECK(is_filled(&attr, 0, sizeof(attr)));
		CHECK_EQ(efadv_query_mr(&mr, &attr, sizeof(attr)), 0);
		CHECK_EQ(attr.comp_mask, 0);
		CHECK_EQ(attr.ic_id_validity, 5);
		CHECK_EQ(attr.recv_ic_id, 6);
		CHECK_EQ(attr.rdma_read_ic_id, 7);
		CHECK_EQ(attr.rdma_recv_ic_id, 8);
		fake_kernel.error = ENOENT;
		fill(&attr, sizeof(attr));
		CHECK_EQ(efadv_query_mr(&mr, &attr, sizeof(attr)), ENOENT);
		CHECK(is_zero(&attr, 0, sizeof(attr)));
		fake_close(context);
	}
}

TEST(query_qp_wqs)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct efadv_wq_attr sq, rq;

	fake_kernel.qps[1].sq.caps |= DVQ_WQ_64BIT_IDS;
	fill(&sq, sizeof(sq));
	fill(&rq, sizeof(rq));
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK_EQ(sq.comp_mask, 0);
	CHECK_EQ(sq.entry_size, 64);
	CHECK_EQ(sq.num_entries, 64);
	CHECK_EQ(sq.max_batch, 32);
	CHECK_EQ(sq.caps, EFADV_WQ_CAPS_64_BIT_REQ_ID);
	CHECK_EQ((uintptr_t)sq.buffer % 4096, 64);
	CHECK_EQ((uintptr_t)sq.doorbell % 4096, 0x124);
	CHECK(is_zero(sq.reserved, 0, 2));
	CHECK_EQ(rq.entry_size, 16);
	CHECK_EQ(rq.num_entries, 128);
	CHECK_EQ(rq.max_batch, 64);
	CHECK_EQ(rq.caps, 0);
	CHECK(rq.buffer && rq.doorbell);
	/* a stand-in for the program: the memory is there */
	*sq.doorbell = 1;
	*rq.doorbell = 1;
	memset(sq.buffer, 1, 64 * 64);
	memset(rq.buffer, 1, 128 * 16);
	fake_kernel.qps[1].exists = false;
	fake_close(context);
}

/* the older struct ended in reserved[4]; every length, and nothing beyond it */
TEST(f14_query_qp_wqs_lengths)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct {
		struct efadv_wq_attr attr;
		unsigned char more[8];
	} sq, rq;

	fake_kernel.qps[1].sq.caps |= DVQ_WQ_64BIT_IDS;
	for (uint32_t n = 0; n < sizeof(sq); n++) {
		uint32_t end = n < 36 ? 0 : n > 40 ? 40 : n;

		fill(&sq, sizeof(sq));
		fill(&rq, sizeof(rq));
		CHECK_EQ(efadv_query_qp_wqs(&qp, &sq.attr, &rq.attr, n), n < 36 ? EINVAL : 0);
		CHECK(is_filled(&sq, end, sizeof(sq)));
		CHECK(is_filled(&rq, end, sizeof(rq)));
		if (n >= 36)
			CHECK_EQ(sq.attr.max_batch, 32);
		if (n >= 38)
			CHECK_EQ(sq.attr.caps, 1);
	}
	fake_close(context);
}

TEST(query_qp_wqs_without_a_receive_queue)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp qp = { .context = context, .handle = 1 };
	struct efadv_wq_attr sq, rq;

	memset(&fake_kernel.qps[1].rq, 0, sizeof(struct dvq_wq_info));
	fill(&rq, sizeof(rq));
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK(is_zero(&rq, 0, sizeof(rq)));
	CHECK_EQ(sq.num_entries, 64);
	/* of max_recv_wr 0 with more than one SGE: a ring that takes nothing, not even mapped by the provider */
	fake_kernel.qps[1].rq = fake_kernel.qps[1].sq;
	fake_kernel.qps[1].rq.kind = DVQ_WQ_RQ;
	fake_kernel.qps[1].rq.max_wr = 0;
	fill(&rq, sizeof(rq));
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK(is_zero(&rq, 0, sizeof(rq)));
	qp.handle = 2;
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), ENOENT);
	fake_close(context);
}

TEST(f14_query_cq)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct dvq_cq_info *info = &fake_kernel.cqs[1].info;
	struct {
		struct efadv_cq_attr attr;
		unsigned char more[8];
	} u;

	for (uint32_t n = 0; n < sizeof(u); n++) {
		uint32_t end = n < 24 ? 0 : n > 32 ? 32 : n;

		fill(&u, sizeof(u));
		CHECK_EQ(efadv_query_cq(&cq, &u.attr, n), n < 24 ? EINVAL : 0);
		CHECK(is_filled(&u, end, sizeof(u)));
	}
	CHECK_EQ(u.attr.comp_mask, 0);
	CHECK(u.attr.buffer != NULL);
	CHECK_EQ(u.attr.entry_size, 32);
	CHECK_EQ(u.attr.num_entries, 128);	/* of one sub-CQ */
	CHECK_EQ((uintptr_t)u.attr.doorbell % 4096, 0x888);

	/* rings beyond the mapping, also where their bytes are more than can be counted */
	info->entries = 512;
	CHECK_EQ(efadv_query_cq(&cq, &u.attr, sizeof(u.attr)), EOPNOTSUPP);
	info->entries = 1u << 31;
	info->entry_size = 1u << 31;
	info->sub_cqs = 4;
	CHECK_EQ(efadv_query_cq(&cq, &u.attr, sizeof(u.attr)), EOPNOTSUPP);
	info->entries = 128;
	info->entry_size = 32;
	info->sub_cqs = 0;
	CHECK_EQ(efadv_query_cq(&cq, &u.attr, sizeof(u.attr)), EOPNOTSUPP);
	info->sub_cqs = 2;

	info->db_key = 0;
	info->mem = DVQ_MEM_USER;
	info->ring_key = 0;
	info->user_addr = 0x5000;
	CHECK_EQ(efadv_query_cq(&cq, &u.attr, sizeof(u.attr)), 0);
	CHECK(u.attr.doorbell == NULL);
	CHECK_EQ((uintptr_t)u.attr.buffer, 0x5000);
	fake_close(context);
}

/* ---- creation ---------------------------------------------------------------------- */

TEST(f44_create_qp_ex_passes_on_what_the_stock_library_takes)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct efadv_qp_init_attr efa = { .flags = 3, .sl = 7, .wr_flags = 1 }, *passed;
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER,
					    .cap = { .max_recv_wr = 4, .max_recv_sge = 2 } };
	struct ibv_qp *qp;

	qp = efadv_create_qp_ex(context, &attr, &efa, sizeof(efa));
	REQUIRE(qp);
	CHECK_STR(stock_log->call, "create_qp_ex");
	CHECK_EQ(stock_log->inlen, 24);
	passed = (struct efadv_qp_init_attr *)stock_log->input;
	CHECK_EQ(passed->flags, 3);
	CHECK_EQ(passed->sl, 7);
	CHECK_EQ(passed->wr_flags, 1);
	CHECK_EQ(stock_log->cap.max_recv_sge, 2);
	free(qp);
	stock_log->error = ENOSPC;
	errno = 0;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, ENOSPC);
	fake_close(context);
}

TEST(f14_f30_f44_create_qp_ex_lengths)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER };
	struct {
		struct efadv_qp_init_attr attr;
		unsigned char more[8];
	} efa = { .attr.sl = 9 };

	for (uint32_t n = 0; n <= sizeof(efa); n++) {
		struct ibv_qp *qp;

		errno = 0;
		qp = efadv_create_qp_ex(context, &attr, &efa.attr, n);
		CHECK_EQ(!qp, n < 12);
		if (qp)
			CHECK_EQ(stock_log->input[14], n < 15 ? 0 : 9);
		else
			CHECK_EQ(errno, EINVAL);
		free(qp);
	}
	efa.more[7] = 1;
	errno = 0;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa.attr, sizeof(efa)));
	CHECK_EQ(errno, EINVAL);
	efa.attr.reserved = 1;
	errno = 0;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa.attr, sizeof(efa.attr)));
	CHECK_EQ(errno, EINVAL);
	efa.attr.reserved = 0;
	efa.attr.comp_mask = 1;
	errno = 0;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa.attr, sizeof(efa.attr)));
	CHECK_EQ(errno, EINVAL);
	fake_close(context);
}

TEST(create_qp_ex_with_an_old_stock_library)
{
	static const struct efadv_qp_init_attr asks[] = {
		{ .flags = EFADV_QP_FLAGS_UNSOLICITED_WRITE_RECV },
		{ .flags = EFADV_QP_FLAGS_INLINE_WRITE },
		{ .sl = 1 },
		{ .wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS },
	};
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER };
	struct efadv_qp_init_attr efa;
	struct ibv_qp *qp;

	for (int i = 0; i < 4; i++) {
		efa = asks[i];
		errno = 0;
		CHECK(!efadv_create_qp_ex(context, &attr, &efa, sizeof(efa)));
		CHECK_EQ(errno, EOPNOTSUPP);
		CHECK_CONTAINS(dvq_reason(), "rdma-core 44");
	}
	CHECK_EQ(stock_log->calls, 0);
	memset(&efa, 0, sizeof(efa));
	qp = efadv_create_qp_ex(context, &attr, &efa, sizeof(efa));
	CHECK(qp);
	CHECK_EQ(stock_log->inlen, 16);
	free(qp);
	fake_close(context);
}

TEST(f05_qp_without_receive_sges)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_DRIVER };
	struct ibv_qp_init_attr plain = { .qp_type = IBV_QPT_DRIVER };
	struct ibv_pd pd = { .context = context };
	struct efadv_qp_init_attr efa = {};
	struct ibv_qp *qp;

	qp = efadv_create_qp_ex(context, &attr, &efa, sizeof(efa));
	CHECK(qp);
	CHECK_EQ(stock_log->cap.max_recv_sge, 1);
	free(qp);
	qp = efadv_create_driver_qp(&pd, &plain, 0);
	CHECK(qp);
	CHECK_EQ(stock_log->cap.max_recv_sge, 1);
	CHECK_EQ(plain.cap.max_send_wr, 256);
	free(qp);
	/* as it was after a failure */
	attr.cap.max_recv_sge = 0;
	plain.cap.max_recv_sge = 0;
	stock_log->error = ENOMEM;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa, sizeof(efa)));
	CHECK(!efadv_create_driver_qp(&pd, &plain, 0));
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(attr.cap.max_recv_sge, 0);
	CHECK_EQ(plain.cap.max_recv_sge, 0);
	fake_close(context);
}

TEST(qp_with_more_descriptors_than_can_be_counted)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_qp_init_attr_ex attr = { .cap = { .max_recv_wr = 16385, .max_recv_sge = 2 } };
	struct ibv_qp_init_attr plain = { .cap = { .max_recv_wr = 1u << 31, .max_recv_sge = 2 } };
	struct ibv_pd pd = { .context = context };
	struct efadv_qp_init_attr efa = {};

	errno = 0;
	CHECK(!efadv_create_qp_ex(context, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EINVAL);
	errno = 0;
	CHECK(!efadv_create_driver_qp(&pd, &plain, 0));
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(stock_log->calls, 0);
	fake_close(context);
}

static int fake_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return 77;
}

TEST(create_cq_does_what_the_stock_library_leaves_out)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_comp_channel channel = { .context = context, .refcnt = 3 };
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .channel = &channel,
					    .cq_context = &attr };
	struct efadv_cq_init_attr efa = { .wc_flags = 3 };
	struct ibv_cq_ex *cq;

	cq = efadv_create_cq(context, &attr, &efa, sizeof(efa));
	REQUIRE(cq);
	CHECK(cq->context == context);
	CHECK(cq->channel == &channel);
	CHECK(cq->cq_context == &attr);
	CHECK_EQ(channel.refcnt, 4);
	CHECK_EQ(stock_log->inlen, 16);
	CHECK_EQ(stock_log->input[8], 3);
	CHECK_EQ(pthread_mutex_trylock(&cq->mutex), 0);
	free(cq);
	attr.channel = NULL;
	cq = efadv_create_cq(context, &attr, &efa, sizeof(efa));
	REQUIRE(cq);
	CHECK(!cq->channel && cq->cq_context == &attr);
	CHECK_EQ(channel.refcnt, 4);
	free(cq);
	fake_close(context);
}

TEST(f14_f30_create_cq_lengths_and_unknown_bits)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct {
		struct efadv_cq_init_attr attr;
		unsigned char more[8];
	} efa = {};

	for (uint32_t n = 0; n <= sizeof(efa); n++) {
		struct ibv_cq_ex *cq;

		errno = 0;
		cq = efadv_create_cq(context, &attr, &efa.attr, n);
		CHECK_EQ(!cq, n < 16);
		if (!cq)
			CHECK_EQ(errno, EINVAL);
		free(cq);
	}
	efa.more[0] = 1;
	errno = 0;
	CHECK(!efadv_create_cq(context, &attr, &efa.attr, sizeof(efa)));
	CHECK_EQ(errno, EINVAL);
	efa.attr.flags = 2;
	errno = 0;
	CHECK(!efadv_create_cq(context, &attr, &efa.attr, sizeof(efa.attr)));
	CHECK_EQ(errno, EOPNOTSUPP);
	efa.attr.flags = 0;
	efa.attr.ext_mem_dmabuf.reserved[3] = 1;
	errno = 0;
	CHECK(!efadv_create_cq(context, &attr, &efa.attr, sizeof(efa.attr)));
	CHECK_EQ(errno, EINVAL);
	fake_close(context);
}

TEST(create_cq_in_external_memory)
{
	struct efadv_cq_init_attr efa = { .flags = EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF,
					  .ext_mem_dmabuf = { .fd = 5, .length = 4096 } };
	struct ibv_context *old = open_with(FAKE_DVQ, 44);
	struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
	struct ibv_context *context;
	struct ibv_cq_ex *cq;

	errno = 0;
	CHECK(!efadv_create_cq(old, &attr, &efa, sizeof(efa)));
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(stock_log->calls, 0);
	context = open_with(FAKE_DVQ, 65);
	cq = efadv_create_cq(context, &attr, &efa, sizeof(efa));
	REQUIRE(cq);
	CHECK_EQ(stock_log->inlen, 56);
	CHECK_EQ(stock_log->input[48], 5);
	/* no address to poll at */
	REQUIRE(cq->start_poll);
	CHECK_EQ(cq->start_poll(cq, NULL), EOPNOTSUPP);
	free(cq);
	efa.ext_mem_dmabuf.buffer = (uint8_t *)&efa;
	cq = efadv_create_cq(context, &attr, &efa, sizeof(efa));
	REQUIRE(cq);
	CHECK(!cq->start_poll || cq->start_poll == fake_start_poll);
	free(cq);
	fake_close(old);
	fake_close(context);
}

TEST(f14_comp_cntr)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65), *old;
	struct {
		struct efadv_comp_cntr_init_attr attr;
		unsigned char more[8];
	} efa = { .attr.err_cntr_ext_mem.type = 1 };
	char any[16];
	void *attr = any;

	for (uint32_t n = 0; n <= sizeof(efa); n++) {
		errno = 0;
		CHECK_EQ(!efadv_create_comp_cntr(context, attr, &efa.attr, n), n < 49);
		if (n >= 49) {
			CHECK_EQ(stock_log->inlen, 80);
			CHECK_EQ(stock_log->input[72], n > 72);
		} else {
			CHECK_EQ(errno, EINVAL);
		}
	}
	efa.more[7] = 1;
	CHECK(!efadv_create_comp_cntr(context, attr, &efa.attr, sizeof(efa)));
	efa.attr.reserved = 1;
	CHECK(!efadv_create_comp_cntr(context, attr, &efa.attr, 80));
	efa.attr.reserved = 0;
	efa.attr.comp_cntr_ext_mem.dmabuf.reserved = 1;
	CHECK(!efadv_create_comp_cntr(context, attr, &efa.attr, 80));
	efa.attr.comp_cntr_ext_mem.dmabuf.reserved = 0;
	efa.attr.err_cntr_ext_mem.reserved[6] = 1;
	errno = 0;
	CHECK(!efadv_create_comp_cntr(context, attr, &efa.attr, 80));
	CHECK_EQ(errno, EINVAL);
	efa.attr.err_cntr_ext_mem.reserved[6] = 0;
	old = open_with(FAKE_DVQ, 44);
	errno = 0;
	CHECK(!efadv_create_comp_cntr(old, attr, &efa.attr, 80));
	CHECK_EQ(errno, EOPNOTSUPP);
	fake_close(context);
	fake_close(old);
}

/* ---- hints, sgid, unsolicited ------------------------------------------------------ */

static void take_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	((struct stock_qp *)((char *)efadv_qp - offsetof(struct stock_qp, efadv)))->hints = hints;
}

TEST(f41_hints)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct stock_qp qp = { .ex.qp_base.context = context };
	struct efadv_qp *efadv_qp;

	/* without the flag: a pointer that may be used, by the stock header's inline too */
	efadv_qp = efadv_qp_from_ibv_qp_ex(&qp.ex);
	REQUIRE(efadv_qp && efadv_qp->wr_set_processing_hints);
	efadv_wr_set_processing_hints(efadv_qp, 1);
	efadv_qp->wr_set_processing_hints(efadv_qp, 1);
	efadv_wr_set_processing_hints(&qp.efadv, 1);
	CHECK_EQ(qp.hints, 0);
	qp.efadv.wr_set_processing_hints = take_hints;
	efadv_qp = efadv_qp_from_ibv_qp_ex(&qp.ex);
	CHECK(efadv_qp == &qp.efadv);
	efadv_wr_set_processing_hints(efadv_qp, 5);
	CHECK_EQ(qp.hints, 5);
	fake_close(context);

	context = open_with(FAKE_DVQ, 44);
	qp.ex.qp_base.context = context;
	efadv_qp = efadv_qp_from_ibv_qp_ex(&qp.ex);
	REQUIRE(efadv_qp);
	efadv_wr_set_processing_hints(efadv_qp, 1);
	CHECK_EQ(qp.hints, 5);
	fake_close(context);
}

TEST(data_path_asks_the_kernel_once)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct stock_qp qp = { .ex.qp_base.context = context };
	unsigned int calls;

	efadv_qp_from_ibv_qp_ex(&qp.ex);
	calls = fake_kernel.calls;
	for (int i = 0; i < 100; i++)
		efadv_qp_from_ibv_qp_ex(&qp.ex);
	CHECK_EQ(fake_kernel.calls, calls);
	/* another device at the same place */
	fake_kernel.driver = FAKE_OTHER;
	snprintf(context->device->dev_name, sizeof(context->device->dev_name), "uverbs1");
	CHECK(!efadv_qp_from_ibv_qp_ex(&qp.ex));
	fake_close(context);
}

static int read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	(void)efadv_cq;
	sgid->raw[0] = 0xfe;
	return 0;
}

static bool say_yes(struct efadv_cq *efadv_cq)
{
	(void)efadv_cq;
	return true;
}

TEST(f38_sgid_and_unsolicited)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 65);
	struct stock_cq cq = { .ex.context = context }, other = { .ex.context = context };
	struct efadv_cq *efadv_cq, *again;
	union ibv_gid gid = {};

	efadv_cq = efadv_cq_from_ibv_cq_ex(&cq.ex);
	REQUIRE(efadv_cq && efadv_cq->wc_read_sgid && efadv_cq->wc_is_unsolicited);
	CHECK_EQ(efadv_wc_read_sgid(efadv_cq, &gid), -EOPNOTSUPP);
	CHECK(!efadv_wc_is_unsolicited(efadv_cq));
	/* one of two; the pointer stays, and is another CQ's for another CQ */
	cq.efadv.wc_read_sgid = read_sgid;
	again = efadv_cq_from_ibv_cq_ex(&cq.ex);
	CHECK(again == efadv_cq);
	CHECK(efadv_cq_from_ibv_cq_ex(&other.ex) != efadv_cq);
	CHECK(efadv_cq_from_ibv_cq_ex(&cq.ex) == efadv_cq);
	CHECK_EQ(efadv_wc_read_sgid(again, &gid), 0);
	CHECK_EQ(gid.raw[0], 0xfe);
	CHECK(!efadv_wc_is_unsolicited(again));
	/* both: the provider's own */
	cq.efadv.wc_is_unsolicited = say_yes;
	efadv_cq = efadv_cq_from_ibv_cq_ex(&cq.ex);
	CHECK(efadv_cq == &cq.efadv);
	CHECK(efadv_wc_is_unsolicited(efadv_cq));
	fake_close(context);
}

/* before 52 the second pointer is something private of the provider */
TEST(unsolicited_of_an_old_stock_library)
{
	struct ibv_context *context = open_with(FAKE_DVQ, 44);
	struct stock_cq cq = { .ex.context = context };
	struct efadv_cq *efadv_cq;
	union ibv_gid gid;

	cq.efadv.wc_read_sgid = read_sgid;
	memset(&cq.efadv.wc_is_unsolicited, 0x77, sizeof(void *));
	efadv_cq = efadv_cq_from_ibv_cq_ex(&cq.ex);
	REQUIRE(efadv_cq);
	CHECK(!efadv_wc_is_unsolicited(efadv_cq));
	CHECK_EQ(efadv_wc_read_sgid(efadv_cq, &gid), 0);
	fake_close(context);
}

int main(int argc, char **argv)
{
	/* what the library makes of a release that is too old for it is takeover_test.c */
	setenv("DVQ_DATAPATH", "stock", 1);
	return tap_main(argc, argv);
}
