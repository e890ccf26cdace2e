// SPDX-License-Identifier: GPL-2.0
/*
 * Another function below the port of an EFA adapter, which wants a reset after an error that cost the
 * adapter nothing. The kernel does for all functions what one of them votes for, so it is enough that
 * dvq_efa's vote is changed. bus_error_test.sh loads this.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/pci.h>

static int on_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if ((u32)regs_return_value(regs) == (__force u32)PCI_ERS_RESULT_CAN_RECOVER)
		regs_set_return_value(regs, (__force u32)PCI_ERS_RESULT_NEED_RESET);
	return 0;
}

static struct kretprobe vote_probe = {
	.kp.symbol_name = "dvq_efa:efa_error_detected", .handler = on_return,
};

static int __init vote_test_init(void)
{
	return register_kretprobe(&vote_probe);
}

static void __exit vote_test_exit(void)
{
	unregister_kretprobe(&vote_probe);
}

module_init(vote_test_init);
module_exit(vote_test_exit);

MODULE_DESCRIPTION("Tests of resets that others ask for");
MODULE_LICENSE("GPL");
