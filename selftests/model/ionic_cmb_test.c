// SPDX-License-Identifier: GPL-2.0
/* Controller memory and its windows. */
#include "ionic.h"
#include "tap.h"
#include "test_ionic.h"

static struct nic nic;

static void cmb_set(uint64_t off, unsigned int size, uint64_t value)
{
	nic.dev->ops->bar_write(nic.dev, IONIC_BAR_CMB, off, size, value);
}

static uint64_t cmb_get(uint64_t off, unsigned int size)
{
	return nic.dev->ops->bar_read(nic.dev, IONIC_BAR_CMB, off, size);
}

TEST(plain_memory_keeps_what_is_stored)
{
	nic_plug(&nic, "a", "mode=strict cmb=64K");
	cmb_set(0, 8, 0x1122334455667788);
	cmb_set(65535, 1, 0xaa);
	CHECK_EQ(cmb_get(0, 8), 0x1122334455667788);
	CHECK_EQ(cmb_get(2, 2), 0x5566);
	CHECK_EQ(cmb_get(65535, 1), 0xaa);
	CHECK_EQ(nic.dev->bar[4].mem[0], 0x88);
	CHECK_STR(nic_violation(&nic), "");
	nic.dev->ops->reset(nic.dev);
	CHECK_EQ(cmb_get(0, 8), 0);
	nic_close(&nic);
}

TEST(windows_show_the_same_memory)
{
	nic_plug(&nic, "a", "mode=strict");
	cmb_set(0x1234560, 8, 42);
	CHECK_CONTAINS(nic_violation(&nic), "express window 2");
	CHECK_EQ(cmb_get(0x234560, 8), 42);
	CHECK_EQ(cmb_get(4 * IONIC_CMB_WINDOW + 0x234560, 8), 42);
	nic_close(&nic);
}

TEST(there_is_nothing_between_windows)
{
	nic_plug(&nic, "a", "mode=strict strides=1");
	cmb_get(2 * IONIC_CMB_WINDOW, 8);
	CHECK_CONTAINS(nic_violation(&nic), "no window");
	cmb_set(5 * IONIC_CMB_WINDOW, 8, 1);
	CHECK_CONTAINS(nic_violation(&nic), "no window");
	nic_close(&nic);
	nic_plug(&nic, "a", "mode=strict cmb=12K");
	cmb_set(12 << 10, 4, 1);
	CHECK_CONTAINS(nic_violation(&nic), "no window");
	nic_close(&nic);
}

/* where the guest's mapping failed it comes here, and must see what it would have seen */
TEST(mapped_windows_have_memory_of_their_own)
{
	nic_plug(&nic, "a", "mode=fast");
	cmb_set(8, 8, 1);
	CHECK_EQ(nic.dev->bar[4].mem[8], 1);
	CHECK_EQ(cmb_get(IONIC_CMB_WINDOW + 8, 8), 0);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TAP_MAIN
