/* SPDX-License-Identifier: GPL-2.0 */
/* What ionic_dv_test.c and its stock library share. */
#ifndef SELFTESTS_STOCK_IONIC_H
#define SELFTESTS_STOCK_IONIC_H

#include <infiniband/ionic_dv.h>
#include <infiniband/verbs.h>

#define STOCK_RESULT	4242	/* tells that it was the stock library that answered */

/* the last call; exported as "ionic_log" */
struct ionic_log {
	char call[32];
	unsigned int calls;
	const void *object;
	uint8_t mask;
	bool enable, expdb, require;
};

#endif /* SELFTESTS_STOCK_IONIC_H */
