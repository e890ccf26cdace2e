/* SPDX-License-Identifier: GPL-2.0 */
/* Our copy of a user ABI against the kernel's own header, for tests. */
#ifndef SELFTESTS_STOCK_ABI_H
#define SELFTESTS_STOCK_ABI_H

#include <stddef.h>

#define FIELD_SIZE(type, field)	sizeof(((struct type *)0)->field)
#define SAME(ours, our_field, theirs, their_field)					\
	do {										\
		CHECK_EQ(offsetof(struct ours, our_field), offsetof(struct theirs, their_field)); \
		CHECK_EQ(FIELD_SIZE(ours, our_field), FIELD_SIZE(theirs, their_field));	\
	} while (0)
#define SAME_SIZE(ours, theirs)	CHECK_EQ(sizeof(struct ours), sizeof(struct theirs))
#define SAME_VALUE(ours, theirs)	CHECK_EQ((int)(ours), (int)(theirs))

/* the newest of both headers came with the first of this one */
#if __has_include(<rdma/ionic-abi.h>)
#define HAS_STOCK_ABI
#endif

#endif /* SELFTESTS_STOCK_ABI_H */
