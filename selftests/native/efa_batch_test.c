// SPDX-License-Identifier: GPL-2.0
/* How many entries go between two doorbells, as the driver derives it from the device's limits. */
#include "../../kernel/efa/batch.h"
#include "tap.h"

TEST(f04_limit_in_entries)
{
	/* none is what 16 bits can count */
	CHECK_EQ(efa_batch_max(0, 0, 64, 512), 65535);
	CHECK_EQ(efa_batch_max(0, 0, 128, 512), 65535);
	CHECK_EQ(efa_batch_max(16, 0, 64, 512), 16);
	CHECK_EQ(efa_batch_max(16, 0, 128, 512), 8);
	CHECK_EQ(efa_batch_max(3, 0, 128, 512), 1);
	CHECK_EQ(efa_batch_max(1, 0, 64, 512), 1);
	/* not what can be created, but never nothing */
	CHECK_EQ(efa_batch_max(1, 0, 128, 512), 1);
}

TEST(f04_limit_below_a_full_ring)
{
	CHECK_EQ(efa_batch_max(0, 1, 64, 32), 31);
	CHECK_EQ(efa_batch_max(64, 1, 64, 32), 31);
	CHECK_EQ(efa_batch_max(32, 1, 64, 32), 31);
	CHECK_EQ(efa_batch_max(31, 1, 64, 32), 31);
	CHECK_EQ(efa_batch_max(16, 1, 64, 32), 16);
	CHECK_EQ(efa_batch_max(16, 1, 64, 1), 1);
}

TEST(f04_entry_larger_than_the_limit)
{
	CHECK(efa_batch_fits(0, 128));
	CHECK(efa_batch_fits(1, 64));
	CHECK(efa_batch_fits(2, 128));
	CHECK(!efa_batch_fits(1, 128));
}

TAP_MAIN
