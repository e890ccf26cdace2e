// SPDX-License-Identifier: GPL-2.0
/*
 * What of a modelled function is looked at before any driver knows it (F-81): configuration space, BARs,
 * MSI-X and capabilities, byte by byte. What is not in a table here has to be zero, so that nothing is
 * missing or moves unnoticed. Ids, classes and BARs are those of Documentation/hw/; what no document
 * tells of the hardware is marked "ours".
 */
#include <linux/pci_regs.h>
#include <stdlib.h>

#include "device.h"
#include "tap.h"
#include "test_host.h"

struct row {
	unsigned int off, size;
	uint32_t value;
};

#define WHOLE(type64)	(PCI_BASE_ADDRESS_MEM_TYPE_64 | (type64))
#define PM		0x40
#define EXP		0x48
#define MSIX		0x84

/* the capabilities of both: power management, PCI Express, MSI-X */
static const struct row capabilities[] = {
	{ PCI_STATUS, 2, PCI_STATUS_CAP_LIST }, { PCI_CAPABILITY_LIST, 1, PM },
	{ PM, 2, PCI_CAP_ID_PM | EXP << 8 },
	{ PM + PCI_PM_PMC, 2, 3 },				/* ours */
	{ PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET },	/* ours */
	{ EXP, 2, PCI_CAP_ID_EXP | MSIX << 8 }, { EXP + PCI_EXP_FLAGS, 2, 2 },
	{ EXP + PCI_EXP_DEVCAP, 4, 0x10008020 },	/* FLR, role-based errors, extended tags */
	/* a link of 8 lanes at 8 GT/s: ours, but for that it is a link that can be */
	{ EXP + PCI_EXP_LNKCAP, 4, 0x83 }, { EXP + PCI_EXP_LNKSTA, 2, 0x83 },
	{ EXP + PCI_EXP_LNKCAP2, 4, 0x0e }, { EXP + PCI_EXP_LNKCTL2, 2, 3 },
	{ MSIX, 2, PCI_CAP_ID_MSIX },
};

static const struct row efa[] = {
	{ PCI_VENDOR_ID, 2, 0x1d0f }, { PCI_SUBSYSTEM_VENDOR_ID, 2, 0x1d0f },
	{ PCI_CLASS_DEVICE, 2, 0x0200 },
	{ PCI_BASE_ADDRESS_0, 4, WHOLE(0) },
	{ PCI_BASE_ADDRESS_2, 4, WHOLE(PCI_BASE_ADDRESS_MEM_PREFETCH) },
	{ PCI_BASE_ADDRESS_4, 4, WHOLE(0) },
	{ MSIX + PCI_MSIX_FLAGS, 2, 32 },			/* ours */
	{ MSIX + PCI_MSIX_TABLE, 4, 0x2000 }, { MSIX + PCI_MSIX_PBA, 4, 0x3000 },	/* ours */
};

static const struct row ionic[] = {
	{ PCI_VENDOR_ID, 2, 0x1dd8 }, { PCI_DEVICE_ID, 2, 0x1002 },
	{ PCI_CLASS_DEVICE, 2, 0x0200 },
	{ PCI_REVISION_ID, 1, 1 },				/* ours */
	{ PCI_SUBSYSTEM_VENDOR_ID, 2, 0x1dd8 }, { PCI_SUBSYSTEM_ID, 2, 0x1002 },	/* ours */
	{ PCI_BASE_ADDRESS_0, 4, WHOLE(0) }, { PCI_BASE_ADDRESS_2, 4, WHOLE(0) },
	{ PCI_BASE_ADDRESS_4, 4, WHOLE(PCI_BASE_ADDRESS_MEM_PREFETCH) },
	{ MSIX + PCI_MSIX_FLAGS, 2, 63 },			/* ours */
	{ MSIX + PCI_MSIX_TABLE, 4, 0x6000 }, { MSIX + PCI_MSIX_PBA, 4, 0x7000 },	/* ours */
};

static bool told[MODEL_CONFIG_SIZE];

static void compare(const struct model_device *dev, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t value = 0;

		memcpy(&value, dev->config + rows[i].off, rows[i].size);
		memset(told + rows[i].off, 1, rows[i].size);
		if (value != rows[i].value)
			tap_fail(__FILE__, __LINE__, "0x%02x: 0x%x, wanted 0x%x", rows[i].off, value,
				 rows[i].value);
	}
}

static void expect_nothing_else(const struct model_device *dev)
{
	for (unsigned int off = 0; off < MODEL_CONFIG_SIZE; off++)
		if (dev->config[off] && !told[off])
			tap_fail(__FILE__, __LINE__, "0x%02x: 0x%02x, which is in no table", off,
				 dev->config[off]);
	memset(told, 0, sizeof(told));
}

static void expect_bars(const struct model_device *dev, const uint64_t *sizes)
{
	for (unsigned int i = 0; i < MODEL_BARS; i++) {
		uint32_t bits;

		CHECK_EQ(dev->bar[i].size, i % 2 ? 0 : sizes[i / 2]);
		/* a BAR that is not there has no type */
		memcpy(&bits, dev->config + PCI_BASE_ADDRESS_0 + 4 * i, sizeof(bits));
		CHECK_EQ(!bits, !dev->bar[i].size);
	}
	/* table and PBA in pages of their own, within their BAR */
	CHECK(dev->msix_table + 16 * dev->vectors <= dev->msix_pba ||
	      dev->msix_pba + 8 <= dev->msix_table);
	CHECK_EQ(dev->msix_table % 4096 | dev->msix_pba % 4096, 0);
	CHECK(dev->msix_pba + (dev->vectors + 63) / 64 * 8 <= dev->bar[dev->msix_bar].size);
	CHECK(dev->msix_table + 16 * dev->vectors <= dev->bar[dev->msix_bar].size);
}

static struct model_device *make(const struct model_type *type, const char *option)
{
	char *copy = strdup(option), *options[] = { copy, NULL };
	struct model_device *dev = type->create("a", options, stderr);

	free(copy);
	REQUIRE(dev);
	return dev;
}

TEST(f81_efa_looks_like_hardware)
{
	static const uint64_t sizes[] = { 16 << 10, 64 << 20, 2 << 20 };
	static const char *const profiles[] = { "profile=efa0", "profile=efa1", "profile=efa2",
						"profile=efa3" };

	for (uint32_t i = 0; i < 4; i++) {
		struct model_device *dev = make(&efa_type, profiles[i]);
		const struct row id[] = {
			{ PCI_DEVICE_ID, 2, 0xefa0 + i }, { PCI_SUBSYSTEM_ID, 2, 0xefa0 + i },
		};

		compare(dev, id, 2);
		compare(dev, efa, sizeof(efa) / sizeof(efa[0]));
		compare(dev, capabilities, sizeof(capabilities) / sizeof(capabilities[0]));
		expect_nothing_else(dev);
		expect_bars(dev, sizes);
		model_device_destroy(dev);
	}
}

TEST(f81_ionic_looks_like_hardware)
{
	static const uint64_t sizes[] = { 32 << 10, 256 << 10, 64 << 20 };
	struct model_device *dev = make(&ionic_type, "profile=salina");

	compare(dev, ionic, sizeof(ionic) / sizeof(ionic[0]));
	compare(dev, capabilities, sizeof(capabilities) / sizeof(capabilities[0]));
	expect_nothing_else(dev);
	expect_bars(dev, sizes);
	model_device_destroy(dev);
}

TAP_MAIN
