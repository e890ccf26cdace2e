/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test of ionic in one header.
 *
 *	IONIC_TEST(send_arrives)
 *	{
 *		...
 *	}
 *	IONIC_TEST_MAIN
 */
#ifndef SELFTESTS_IONIC_TEST_H
#define SELFTESTS_IONIC_TEST_H

#include "adapter_test.h"

#define IONIC_TEST(test_name)	ADAPTER_TEST(test_name)

/* the same test over both transports: test_name_rc and test_name_ud */
#define IONIC_TEST_BOTH(test_name)						\
	static void test_name(enum transport transport);			\
	IONIC_TEST(test_name##_rc) { test_name(RC); }				\
	IONIC_TEST(test_name##_ud) { test_name(UD); }				\
	static void test_name(enum transport transport)

#define IONIC_TEST_MAIN	ADAPTER_TEST_MAIN(ADAPTER_IONIC)

/* what the adapter calls an error, in the vendor_err of its completion */
enum ionic_status {
	IONIC_LOCAL_LENGTH = 1, IONIC_LOCAL_OPERATION, IONIC_LOCAL_PROTECTION, IONIC_FLUSHED,
	IONIC_BIND, IONIC_BAD_RESPONSE, IONIC_LOCAL_ACCESS, IONIC_REMOTE_REQUEST,
	IONIC_REMOTE_ACCESS, IONIC_REMOTE_OPERATION, IONIC_RETRIES, IONIC_RNR_RETRIES,
};

/* the next completion of @cq */
__attribute__((unused))
static void expect_status(struct cq *cq, uint64_t id, enum ibv_wc_status status)
{
	struct completion completion;

	cq_wait(cq, &completion);
	CHECK_EQ(completion.id, id);
	CHECK_STR(ibv_wc_status_str(completion.status), ibv_wc_status_str(status));
}

__attribute__((unused))
static void expect_error(struct cq *cq, uint64_t id, enum ibv_wc_status status,
			 enum ionic_status vendor)
{
	struct completion completion;

	cq_wait(cq, &completion);
	CHECK_EQ(completion.id, id);
	CHECK_STR(ibv_wc_status_str(completion.status), ibv_wc_status_str(status));
	CHECK_EQ(completion.vendor_err, vendor);
}

#endif /* SELFTESTS_IONIC_TEST_H */
