// SPDX-License-Identifier: GPL-2.0
/* Options, and what of them is seen in configuration space and BARs. */
#include <endian.h>
#include <linux/pci_regs.h>
#include <stdlib.h>

#include "ionic.h"
#include "tap.h"
#include "test_ionic.h"

static struct nic nic;

static uint16_t config16(unsigned int off)
{
	return nic.dev->config[off] | nic.dev->config[off + 1] << 8;
}

TEST(what_the_bus_sees)
{
	nic_plug(&nic, "a", "");
	CHECK_EQ(config16(PCI_VENDOR_ID), 0x1dd8);
	CHECK_EQ(config16(PCI_DEVICE_ID), 0x1002);
	CHECK_EQ(config16(PCI_CLASS_DEVICE), 0x0200);
	CHECK_EQ(nic.dev->bar[0].size, 0x8000);
	CHECK_EQ(nic.dev->bar[2].size, 64 * 4096);
	CHECK_EQ(nic.dev->bar[4].size, 64 << 20);
	for (unsigned int bar = 0; bar < 6; bar += 2)
		CHECK(nic.dev->bar[bar].is64);
	CHECK_EQ(nic.dev->vectors, 64);
	CHECK_EQ(nic.dev->msix_bar, 0);
	/* behind the last interrupt's registers, in pages of their own */
	CHECK(nic.dev->msix_table >= IONIC_REG_INTR(256));
	CHECK(nic.dev->msix_pba >= nic.dev->msix_table + 256 * 16);
	CHECK_EQ(nic.dev->bar[2].nareas, 0);
	nic_close(&nic);
}

TEST(doorbells_of_a_lif_that_is_not_the_first)
{
	nic_plug(&nic, "a", "hw_lif=2 dbpages=64");
	CHECK_EQ(nic.dev->bar[2].size, 256 * 4096);
	nic_close(&nic);
}

TEST(controller_memory_sizes)
{
	nic_plug(&nic, "a", "cmb=none");
	CHECK_EQ(nic.dev->bar[4].size, 0);
	nic_close(&nic);
	nic_plug(&nic, "a", "cmb=64K");
	CHECK_EQ(nic.dev->bar[4].size, 64 << 10);
	CHECK_EQ(nic.dev->bar[4].areas[0].length, 64 << 10);
	nic_close(&nic);
	nic_plug(&nic, "a", "cmb=12K");
	CHECK_EQ(nic.dev->bar[4].size, 16 << 10);
	CHECK_EQ(nic.dev->bar[4].areas[0].length, 12 << 10);
	nic_close(&nic);
	nic_plug(&nic, "a", "profile=giglio");
	CHECK_EQ(nic.dev->bar[4].size, 8 << 20);
	nic_close(&nic);
	nic_plug(&nic, "a", "profile=ethernet");
	CHECK_EQ(nic.dev->bar[4].size, 0);
	nic_close(&nic);
}

TEST(strict_mode_maps_nothing)
{
	nic_plug(&nic, "a", "mode=fast");
	CHECK_EQ(nic.dev->bar[4].nareas, 1);
	CHECK_EQ(nic.dev->bar[4].areas[0].length, 40 << 20);
	nic_close(&nic);
	nic_plug(&nic, "a", "mode=strict");
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		CHECK_EQ(nic.dev->bar[i].nareas, 0);
	CHECK(nic.dev->bar[4].mem);
	nic_close(&nic);
}

TEST(names_make_addresses)
{
	static struct nic other;

	nic_plug(&nic, "ionic0", "");
	nic_plug(&other, "ionic1", "");
	CHECK(memcmp(ionic_of(nic.dev)->config.mac, ionic_of(other.dev)->config.mac, 6));
	CHECK_EQ(ionic_of(nic.dev)->config.mac[0], 2);
	nic_close(&other);
	nic_close(&nic);
	nic_plug(&nic, "a", "mac=00:ae:cd:01:02:03 serial=S1 fw=9.9");
	CHECK(!memcmp(ionic_of(nic.dev)->config.mac, "\x00\xae\xcd\x01\x02\x03", 6));
	CHECK_STR(ionic_of(nic.dev)->config.serial, "S1");
	CHECK_STR(ionic_of(nic.dev)->config.fw, "9.9");
	nic_close(&nic);
}

static void check_refused(const char *option, const char *why)
{
	char text[256] = "", *copy = strdup(option), *words[] = { copy, NULL };
	FILE *err = fmemopen(text, sizeof(text), "w");
	struct model_device *dev = ionic_type.create("a", words, err);

	fclose(err);
	CHECK(!dev);
	CHECK_CONTAINS(text, why);
	free(copy);
}

TEST(what_is_refused)
{
	check_refused("profile=elba", "one of salina giglio ethernet, not 'elba'");
	check_refused("mode=slow", "one of fast strict");
	check_refused("expdb=yes", "one of none sq rq both");
	check_refused("mac=01:00:00:00:00:01", "unicast");
	check_refused("mac=00:00:00:00:00:00", "unicast");
	check_refused("mac=02:00:00:00:00:01x", "unicast");
	check_refused("mac=2", "unicast");
	check_refused("cmb=16M", "up to 8M");
	check_refused("cmb=5", "multiple of 4K");
	check_refused("cmb=0", "none, or");
	check_refused("cmb=8Mx", "not '8Mx'");
	check_refused("queues=0", "at least 1");
	check_refused("queues=65", "0 to 64");
	check_refused("strides=0", "expdb must be none");
	check_refused("fw=123456789012345678901234567890123", "at most 32");
	check_refused("colour=red", "key=value");
}

TEST(express_without_windows_is_refused)
{
	char text[256] = "", *words[] = { "cmb=64K", "expdb=sq", NULL };
	FILE *err = fmemopen(text, sizeof(text), "w");

	CHECK(!ionic_type.create("a", words, err));
	fclose(err);
	CHECK_CONTAINS(text, "expdb must be none unless cmb is 8M");
}

TEST(two_adapters_cannot_have_one_address)
{
	char text[256] = "", *words[] = { "mac=02:00:00:00:00:01", NULL };
	FILE *err = fmemopen(text, sizeof(text), "w");

	nic_plug(&nic, "a", words[0]);
	CHECK(!ionic_type.create("b", words, err));
	fclose(err);
	CHECK_CONTAINS(text, "no other adapter has");
	nic_close(&nic);
}

TAP_MAIN
