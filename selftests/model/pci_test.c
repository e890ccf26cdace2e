// SPDX-License-Identifier: GPL-2.0
#include <linux/pci_regs.h>

#include "device.h"
#include "pci.h"
#include "tap.h"

static struct model_device dev;

static const struct pci_ids ids = {
	.vendor = 0x1d0f, .device = 0xefa2, .subvendor = 0x1234, .subdevice = 0x5678,
	.class_code = 0x028000, .revision = 3,
};

static void set_up(void)
{
	memset(&dev, 0, sizeof(dev));
	dev.bar[0] = (struct model_bar) { .size = 0x4000, .is64 = true };
	dev.bar[2] = (struct model_bar) { .size = 0x100000, .is64 = true, .prefetch = true };
	dev.bar[4] = (struct model_bar) { .size = 0x1000 };
	dev.vectors = 33;
	dev.msix_bar = 4;
	dev.msix_table = 0;
	dev.msix_pba = 0x800;
	pci_init(&dev, &ids);
	pci_add_pm(&dev);
	pci_add_pcie(&dev);
	pci_add_msix(&dev);
}

static uint32_t get(unsigned int off, unsigned int size)
{
	uint32_t value = 0;

	memcpy(&value, dev.config + off, size);
	return value;
}

static unsigned int cap(uint8_t id)
{
	unsigned int off = dev.config[PCI_CAPABILITY_LIST];

	while (off && dev.config[off] != id)
		off = dev.config[off + 1];
	return off;
}

TEST(header)
{
	set_up();
	CHECK_EQ(get(PCI_VENDOR_ID, 4), 0xefa21d0f);
	CHECK_EQ(get(PCI_SUBSYSTEM_VENDOR_ID, 4), 0x56781234);
	CHECK_EQ(get(PCI_CLASS_REVISION, 4), 0x02800003);
	CHECK_EQ(get(PCI_HEADER_TYPE, 1), PCI_HEADER_TYPE_NORMAL);
	CHECK_EQ(get(PCI_INTERRUPT_PIN, 1), 0);
	CHECK_EQ(get(PCI_BASE_ADDRESS_0, 4), PCI_BASE_ADDRESS_MEM_TYPE_64);
	CHECK_EQ(get(PCI_BASE_ADDRESS_1, 4), 0);
	CHECK_EQ(get(PCI_BASE_ADDRESS_2, 4),
		 PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	CHECK_EQ(get(PCI_BASE_ADDRESS_4, 4), 0);
}

TEST(no_capability_no_list)
{
	memset(&dev, 0, sizeof(dev));
	pci_init(&dev, &ids);
	CHECK_EQ(get(PCI_STATUS, 2) & PCI_STATUS_CAP_LIST, 0);
	CHECK_EQ(get(PCI_CAPABILITY_LIST, 1), 0);
	CHECK(!pci_config_write(&dev, 0x40, 4, 0xffffffff));
	CHECK_EQ(get(0x40, 4), 0);
}

TEST(capabilities)
{
	unsigned int pm, pcie, msix;

	set_up();
	pm = cap(PCI_CAP_ID_PM);
	pcie = cap(PCI_CAP_ID_EXP);
	msix = cap(PCI_CAP_ID_MSIX);
	REQUIRE(pm && pcie && msix);
	CHECK(get(PCI_STATUS, 2) & PCI_STATUS_CAP_LIST);
	/* they do not lie in each other */
	CHECK(pm >= 0x40 && pm % 4 == 0);
	CHECK(pcie >= pm + 8 && pcie % 4 == 0);
	CHECK(msix >= pcie + 60 && msix % 4 == 0);
	CHECK(msix + 12 <= MODEL_CONFIG_SIZE);
	CHECK_EQ(dev.config[msix + 1], 0);

	CHECK_EQ(get(pcie + PCI_EXP_FLAGS, 2), 2);
	CHECK(get(pcie + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR);
	CHECK_EQ(get(msix + PCI_MSIX_FLAGS, 2), 32);
	CHECK_EQ(get(msix + PCI_MSIX_TABLE, 4), 4);
	CHECK_EQ(get(msix + PCI_MSIX_PBA, 4), 0x804);
}

TEST(command_and_interrupt_line)
{
	set_up();
	CHECK(!pci_config_write(&dev, PCI_COMMAND, 2, 0xffff));
	CHECK_EQ(get(PCI_COMMAND, 2), 0x0546);
	CHECK(!pci_config_write(&dev, PCI_COMMAND, 2, 0));
	CHECK_EQ(get(PCI_COMMAND, 2), 0);
	CHECK(!pci_config_write(&dev, PCI_INTERRUPT_LINE, 1, 11));
	CHECK_EQ(get(PCI_INTERRUPT_LINE, 1), 11);
}

TEST(the_rest_is_kept)
{
	static const uint8_t read_only[] = {
		PCI_VENDOR_ID, PCI_CLASS_REVISION, PCI_BASE_ADDRESS_0, PCI_BASE_ADDRESS_1,
		PCI_BASE_ADDRESS_2, PCI_BASE_ADDRESS_4, PCI_ROM_ADDRESS, PCI_SUBSYSTEM_VENDOR_ID,
		PCI_CAPABILITY_LIST, 0xfc,
	};
	uint8_t before[MODEL_CONFIG_SIZE];

	set_up();
	memcpy(before, dev.config, sizeof(before));
	for (unsigned int i = 0; i < sizeof(read_only); i++) {
		CHECK(!pci_config_write(&dev, read_only[i], 4, 0xffffffff));
		CHECK(!pci_config_write(&dev, read_only[i], 4, 0));
	}
	CHECK(!pci_config_write(&dev, PCI_STATUS, 2, 0xffff));
	CHECK(!memcmp(before, dev.config, sizeof(before)));
}

/* every bit of every byte: nothing outside the known registers changes */
TEST(writes_of_ones_everywhere)
{
	unsigned int changed = 0;
	uint8_t before[MODEL_CONFIG_SIZE];

	set_up();
	memcpy(before, dev.config, sizeof(before));
	for (unsigned int off = 0; off < MODEL_CONFIG_SIZE; off++)
		pci_config_write(&dev, off, 1, 0xff);
	for (unsigned int off = 0; off < MODEL_CONFIG_SIZE; off++)
		changed += before[off] != dev.config[off];
	/* command 2, cache line, interrupt line, PM 1, MSI-X 1, device control 2, link control 1 */
	CHECK_EQ(changed, 9);
}

TEST(power_state_and_msix_control)
{
	unsigned int pm, msix;

	set_up();
	pm = cap(PCI_CAP_ID_PM) + PCI_PM_CTRL;
	msix = cap(PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;
	pci_config_write(&dev, pm, 2, 3);
	CHECK_EQ(get(pm, 2), 3 | PCI_PM_CTRL_NO_SOFT_RESET);
	pci_config_write(&dev, pm, 2, 0);
	CHECK_EQ(get(pm, 2), PCI_PM_CTRL_NO_SOFT_RESET);
	pci_config_write(&dev, msix, 2, PCI_MSIX_FLAGS_ENABLE | 5);
	CHECK_EQ(get(msix, 2), PCI_MSIX_FLAGS_ENABLE | 32);
}

TEST(function_level_reset)
{
	unsigned int ctl;

	set_up();
	ctl = cap(PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
	CHECK(!pci_config_write(&dev, ctl, 2, 0x2810));
	CHECK_EQ(get(ctl, 2), 0x2810);
	CHECK(pci_config_write(&dev, ctl, 2, 0x2810 | PCI_EXP_DEVCTL_BCR_FLR));
	CHECK_EQ(get(ctl, 2), 0x2810);
	/* other widths that reach the bit, and ones that do not */
	CHECK(pci_config_write(&dev, ctl + 1, 1, 0x80));
	CHECK(pci_config_write(&dev, ctl, 4, 0x8000));
	CHECK(pci_config_write(&dev, ctl - 2, 4, 0x80000000));
	CHECK(!pci_config_write(&dev, ctl, 1, 0xff));
	CHECK(!pci_config_write(&dev, ctl + 2, 2, 0x8000));
}

TEST(writes_at_the_end_stay_inside)
{
	set_up();
	CHECK(!pci_config_write(&dev, MODEL_CONFIG_SIZE - 2, 4, 0xffffffff));
	CHECK(!pci_config_write(&dev, MODEL_CONFIG_SIZE, 4, 0xffffffff));
}

TAP_MAIN
