// SPDX-License-Identifier: GPL-2.0
/*
 * One PCI function goes to sleep and wakes, as it would with the whole system: its bus is asked to,
 * step by step. sleep_test.sh says which one when it loads this:
 *
 *	insmod sleep_test.ko device=0000:01:00.0
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

static int call(int (*step)(struct device *device), struct device *device)
{
	return step ? step(device) : 0;
}

/* Interrupts go on meanwhile, also in the steps that have none in a sleep of the system. */
static int sleep_and_wake(struct device *device, const struct dev_pm_ops *pm)
{
	int ret;

	ret = call(pm->suspend, device) ?: call(pm->suspend_late, device) ?:
	      call(pm->suspend_noirq, device);
	if (ret)
		return ret;
	return call(pm->resume_noirq, device) ?: call(pm->resume_early, device) ?:
	       call(pm->resume, device);
}

static int set_device(const char *value, const struct kernel_param *param)
{
	struct device *device;
	char name[32];
	int ret;

	strscpy(name, value, sizeof(name));
	device = bus_find_device_by_name(&pci_bus_type, NULL, strim(name));
	if (!device)
		return -ENODEV;
	device_lock(device);
	if (pci_bus_type.pm && pci_bus_type.pm->suspend)
		ret = sleep_and_wake(device, pci_bus_type.pm);
	else
		ret = -EOPNOTSUPP;
	device_unlock(device);
	put_device(device);
	return ret;
}

static const struct kernel_param_ops device_ops = { .set = set_device };
module_param_cb(device, &device_ops, NULL, 0);

static int __init sleep_test_init(void)
{
	return 0;
}

static void __exit sleep_test_exit(void)
{
}

module_init(sleep_test_init);
module_exit(sleep_test_exit);

MODULE_DESCRIPTION("Tests of sleep");
MODULE_LICENSE("GPL");
