// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* PCI driver of the Amazon EFA adapter. */
#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm.h>

#include "efa.h"

#define BARS_AT_ONCE	(BIT(EFA_BAR_REGS) | BIT(EFA_BAR_LLQ))
#define MAX_VECTORS	256U	/* commands name a vector by 8 bits */

static const struct pci_device_id efa_pci_ids[] = {
	{ PCI_DEVICE(EFA_PCI_VENDOR, EFA_PCI_DEVICE_EFA0) },
	{ PCI_DEVICE(EFA_PCI_VENDOR, EFA_PCI_DEVICE_EFA1) },
	{ PCI_DEVICE(EFA_PCI_VENDOR, EFA_PCI_DEVICE_EFA2) },
	{ PCI_DEVICE(EFA_PCI_VENDOR, EFA_PCI_DEVICE_EFA3) },
	{ PCI_DEVICE(EFA_PCI_VENDOR, EFA_PCI_DEVICE_EFA4) },
	{}
};
MODULE_DEVICE_TABLE(pci, efa_pci_ids);

/* ---- the RDMA device -------------------------------------------------------------- */

static const struct ib_device_ops efa_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_EFA,
	.uverbs_abi_ver = DVQ_EFA_ABI_VERSION,
	.uverbs_robust_udata = 1,

	.alloc_hw_device_stats = efa_alloc_hw_device_stats,
	.alloc_hw_port_stats = efa_alloc_hw_port_stats,
	.alloc_pd = efa_alloc_pd,
	.alloc_ucontext = efa_alloc_ucontext,
	.create_qp = efa_create_qp,
	.create_user_ah = efa_create_ah,
	.create_user_cq = efa_create_user_cq,
	.dealloc_pd = efa_dealloc_pd,
	.dealloc_ucontext = efa_dealloc_ucontext,
	.dereg_mr = efa_dereg_mr,
	.destroy_ah = efa_destroy_ah,
	.destroy_cq = efa_destroy_cq,
	.destroy_qp = efa_destroy_qp,
	.disassociate_ucontext = efa_disassociate_ucontext,
	.get_hw_stats = efa_get_hw_stats,
	.get_link_layer = efa_get_link_layer,
	.get_port_immutable = efa_get_port_immutable,
	.modify_qp = efa_modify_qp,
	.query_device = efa_query_device,
	.query_gid = efa_query_gid,
	.query_pkey = efa_query_pkey,
	.query_port = efa_query_port,
	.query_port_speed = efa_query_port_speed,
	.query_qp = efa_query_qp,
	.reg_user_mr = efa_reg_user_mr,
	.reg_user_mr_dmabuf = efa_reg_user_mr_dmabuf,

	INIT_RDMA_OBJ_SIZE(ib_ah, efa_ah, dvq.ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, efa_cq, dvq.ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, efa_pd, dvq.ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, efa_qp, dvq.ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, efa_ucontext, dvq.ibucontext),
};

static const struct uapi_definition efa_uapi_defs[] = {
	UAPI_DEF_CHAIN(efa_mr_defs),
	UAPI_DEF_CHAIN(efa_comp_cntr_defs),
	UAPI_DEF_CHAIN(dvq_uapi_defs),
	{},
};

static struct efa_dev *ibdev_alloc(struct pci_dev *pdev)
{
	struct efa_dev *dev = ib_alloc_device(efa_dev, dvq.ibdev);

	if (!dev)
		return NULL;
	dev->pdev = pdev;
	pci_set_drvdata(pdev, dev);
	dvq_device_init(&dev->dvq, NULL);
	ib_set_device_ops(&dev->dvq.ibdev, &efa_ops);
	efa_device_init(dev);
	return dev;
}

static void ibdev_free(struct efa_dev *dev)
{
	pci_set_drvdata(dev->pdev, NULL);
	dvq_device_cleanup(&dev->dvq);
	ib_dealloc_device(&dev->dvq.ibdev);
}

/* The low bits of QP numbers, as many as max_qp takes, are unique among the QPs alive. */
static int qp_generations_alloc(struct efa_dev *dev)
{
	u32 slots = roundup_pow_of_two(min_t(u32, dev->attr.max_qp, BIT(16)));

	dev->qp_generations = kvcalloc(slots, sizeof(*dev->qp_generations), GFP_KERNEL);
	if (!dev->qp_generations)
		return -ENOMEM;
	dev->qp_mask = slots - 1;
	return 0;
}

static void ibdev_unregister(struct efa_dev *dev)
{
	/* Nobody is told of a failure from here on: the core would not survive it. */
	WRITE_ONCE(dev->registered, false);
	flush_work(&dev->fail_work);
	flush_work(&dev->fatal_work);

	ib_unregister_device(&dev->dvq.ibdev);
	kvfree(dev->qp_generations);
}

static int ibdev_register(struct efa_dev *dev)
{
	struct ib_device *ibdev = &dev->dvq.ibdev;
	int ret;

	ret = qp_generations_alloc(dev);
	if (ret)
		return ret;

	ibdev->node_type = RDMA_NODE_UNSPECIFIED;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = dev->num_eqs ?: 1;
	ibdev->dev.parent = &dev->pdev->dev;
	ibdev->driver_def = efa_uapi_defs;
	memcpy(&ibdev->node_guid, &dev->attr.guid, sizeof(ibdev->node_guid));
	efa_fill_device_info(dev);
	efa_set_comp_cntr_ops(dev);

	ret = ib_register_device(ibdev, "efa_%d", &dev->pdev->dev);
	if (ret) {
		kvfree(dev->qp_generations);
		return ret;
	}
	WRITE_ONCE(dev->registered, true);
	/* Of a device that died before nobody was told. */
	flush_work(&dev->fail_work);
	if (completion_done(&dev->stopped)) {
		ibdev_unregister(dev);
		return -ENODEV;
	}
	return 0;
}

/* ---- the PCI function --------------------------------------------------------------- */

static bool has_mem_bar(struct pci_dev *pdev, unsigned int bar)
{
	return bar < PCI_STD_NUM_BARS && pci_resource_flags(pdev, bar) & IORESOURCE_MEM;
}

static int pci_open(struct efa_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	if (!has_mem_bar(pdev, EFA_BAR_REGS) || !has_mem_bar(pdev, EFA_BAR_LLQ)) {
		dev_err(&pdev->dev, "lacks a memory BAR\n");
		ret = -ENODEV;
		goto err_disable;
	}
	ret = pci_request_selected_regions(pdev, BARS_AT_ONCE, KBUILD_MODNAME);
	if (ret)
		goto err_disable;
	/* for efa_slot_reset(); not yet a bus master, so that it does not come back as one */
	pci_save_state(pdev);
	return 0;

err_disable:
	pci_disable_device(pdev);
	return ret;
}

static void pci_close(struct efa_dev *dev)
{
	pci_release_selected_regions(dev->pdev, BARS_AT_ONCE);
	pci_disable_device(dev->pdev);
}

/* What processes map begins and ends at a page, so that they see nothing else. */
static int check_mappable(struct efa_dev *dev, unsigned int bar)
{
	if (PAGE_ALIGNED(pci_resource_start(dev->pdev, bar)) &&
	    PAGE_ALIGNED(pci_resource_len(dev->pdev, bar)))
		return 0;
	dev_err(&dev->pdev->dev, "BAR %u is not made of pages\n", bar);
	return -ENODEV;
}

static bool db_bar_is_extra(struct efa_dev *dev)
{
	return !(BIT(dev->attr.db_bar) & BARS_AT_ONCE);
}

static int db_bar_open(struct efa_dev *dev)
{
	u32 bar = dev->attr.db_bar;
	int ret;

	if (!has_mem_bar(dev->pdev, bar)) {
		dev_err(&dev->pdev->dev, "claims doorbells in BAR %u\n", bar);
		return -ENODEV;
	}
	ret = check_mappable(dev, bar);
	if (!ret)
		ret = check_mappable(dev, EFA_BAR_LLQ);
	if (!ret && db_bar_is_extra(dev))
		ret = pci_request_region(dev->pdev, bar, KBUILD_MODNAME);
	return ret;
}

static void db_bar_close(struct efa_dev *dev)
{
	if (db_bar_is_extra(dev))
		pci_release_region(dev->pdev, dev->attr.db_bar);
}

static int vectors_alloc(struct efa_dev *dev)
{
	int ret;

	ret = pci_alloc_irq_vectors(dev->pdev, 1, min(num_online_cpus() + 1, MAX_VECTORS),
				    PCI_IRQ_MSIX);
	if (ret < 0) {
		dev_err(&dev->pdev->dev, "no MSI-X vectors: %d\n", ret);
		return ret;
	}
	dev->num_vectors = ret;
	return 0;
}

/* ---- the device --------------------------------------------------------------------- */

/* From reset to a device that takes DMA addresses. */
static int device_start(struct efa_dev *dev)
{
	int ret;

	ret = efa_device_reset(dev, EFA_RESET_NORMAL);
	if (ret == -ETIME)
		return -EPROBE_DEFER;
	if (!ret)
		ret = efa_device_check_versions(dev);
	if (!ret)
		ret = efa_device_set_dma_width(dev);
	if (!ret)
		ret = efa_device_is_ready(dev);
	return ret;
}

static int hw_open(struct efa_dev *dev)
{
	int ret;

	ret = efa_mmio_init(dev);
	if (ret)
		return ret;
	/* Even a register is read by DMA. */
	pci_set_master(dev->pdev);
	ret = device_start(dev);
	if (ret)
		goto err_clear_master;
	ret = vectors_alloc(dev);
	if (ret)
		goto err_clear_master;
	ret = efa_admin_alloc(dev);
	if (ret)
		goto err_free_vectors;
	ret = efa_aenq_alloc(dev);
	if (ret)
		goto err_free_admin;
	efa_admin_start(dev);
	efa_aenq_start(dev);
	ret = efa_mgmt_irq_request(dev);
	if (ret)
		goto err_stop;
	return 0;

err_stop:
	efa_device_stop(dev, EFA_RESET_INIT_ERROR);
	efa_aenq_free(dev);
err_free_admin:
	efa_admin_free(dev);
err_free_vectors:
	pci_free_irq_vectors(dev->pdev);
err_clear_master:
	pci_clear_master(dev->pdev);
	efa_mmio_cleanup(dev);
	return ret;
}

/* First the device lets go of all memory, then the memory goes. */
static void hw_close(struct efa_dev *dev, enum efa_reset_reason reason)
{
	flush_work(&dev->fail_work);
	efa_device_stop(dev, reason);
	efa_mgmt_irq_free(dev);
	cancel_work_sync(&dev->fatal_work);
	efa_aenq_free(dev);
	efa_admin_free(dev);
	pci_free_irq_vectors(dev->pdev);
	efa_mmio_cleanup(dev);
}

/* What the device can do, and what it is told of us. */
static int device_configure(struct efa_dev *dev)
{
	int ret;

	ret = efa_device_read_attr(dev);
	if (!ret)
		ret = efa_device_read_hints(dev);
	if (!ret)
		ret = efa_aenq_enable(dev);
	return ret;
}

/* All that a probe does. After a reset of the function it is done again. */
static int efa_open(struct pci_dev *pdev)
{
	struct efa_dev *dev;
	int ret;

	dev = ibdev_alloc(pdev);
	if (!dev)
		return -ENOMEM;
	ret = pci_open(dev);
	if (ret)
		goto err_ibdev_free;
	ret = hw_open(dev);
	if (ret)
		goto err_pci_close;
	ret = device_configure(dev);
	if (ret)
		goto err_hw_close;
	ret = db_bar_open(dev);
	if (ret)
		goto err_hw_close;
	ret = efa_eqs_create(dev);
	if (ret)
		goto err_db_bar_close;
	efa_device_send_host_info(dev);
	ret = ibdev_register(dev);
	if (ret)
		goto err_eqs_destroy;
	return 0;

err_eqs_destroy:
	efa_eqs_destroy(dev);
err_db_bar_close:
	db_bar_close(dev);
err_hw_close:
	hw_close(dev, EFA_RESET_INIT_ERROR);
err_pci_close:
	pci_close(dev);
err_ibdev_free:
	ibdev_free(dev);
	return ret;
}

static void efa_close(struct efa_dev *dev)
{
	/* No command shall wait for a device that was pulled out. */
	if (!completion_done(&dev->stopped) &&
	    (!efa_device_is_present(dev) || efa_device_is_ready(dev)))
		efa_device_fail(dev, EFA_RESET_NORMAL);
	ibdev_unregister(dev);
	efa_eqs_destroy(dev);
	db_bar_close(dev);
	hw_close(dev, EFA_RESET_NORMAL);
	pci_close(dev);
	ibdev_free(dev);
}

/* ---- the driver ----------------------------------------------------------------------- */

static int efa_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	int ret = efa_open(pdev);

	return ret ? dev_err_probe(&pdev->dev, ret, "cannot be driven\n") : 0;
}

static void efa_remove(struct pci_dev *pdev)
{
	struct efa_dev *dev = pci_get_drvdata(pdev);

	/* There is none between an error of the bus, or a reset, and its end. */
	if (dev)
		efa_close(dev);
}

/* Users may still be there; nothing reaches the device from here on, nor comes from it. */
static void efa_shutdown(struct pci_dev *pdev)
{
	struct efa_dev *dev = pci_get_drvdata(pdev);

	if (!dev)
		return;
	cancel_work_sync(&dev->fail_work);
	efa_device_stop(dev, EFA_RESET_SHUTDOWN);
	efa_eqs_free_irqs(dev);
	efa_mgmt_irq_free(dev);
	pci_free_irq_vectors(pdev);
}

/* ---- errors of the bus, and resets that others ask for --------------------------------- */

/*
 * The device forgets all that its users have, so they lose it, as if it were pulled out and
 * put in again. The core holds the device's lock meanwhile: neither probe nor remove runs.
 */
static void efa_let_go(struct pci_dev *pdev)
{
	struct efa_dev *dev = pci_get_drvdata(pdev);

	if (dev)
		efa_close(dev);
}

static void efa_come_back(struct pci_dev *pdev)
{
	int ret;

	/* It was not let go, or it is back: an error that has cost nothing. */
	if (pci_get_drvdata(pdev))
		return;
	ret = efa_open(pdev);
	if (ret)
		dev_err(&pdev->dev, "cannot be driven after a reset or sleep: %d\n", ret);
}

static pci_ers_result_t efa_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	efa_let_go(pdev);
	return state == pci_channel_io_frozen ? PCI_ERS_RESULT_NEED_RESET :
						PCI_ERS_RESULT_DISCONNECT;
}

/*
 * The reset has cleared the configuration space; efa_open() saved it. The device was kept if the
 * error alone has cost nothing and another function below the port asked for the reset.
 */
static pci_ers_result_t efa_slot_reset(struct pci_dev *pdev)
{
	struct efa_dev *dev = pci_get_drvdata(pdev);

	pci_restore_state(pdev);
	/* for the next time: what is restored is no longer saved */
	pci_save_state(pdev);
	if (dev) {
		efa_device_was_reset(dev);
		efa_let_go(pdev);
	}
	return PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers efa_err_handlers = {
	.error_detected = efa_error_detected,
	.slot_reset = efa_slot_reset,
	.resume = efa_come_back,
	.reset_prepare = efa_let_go,
	.reset_done = efa_come_back,
};

/* ---- sleep ------------------------------------------------------------------------------ */

/*
 * The device may lose its power, and if it does not, it would wake with addresses of memory that is
 * no longer ours: that of a hibernated system is another kernel's meanwhile.
 */
static int efa_suspend(struct device *device)
{
	efa_let_go(to_pci_dev(device));
	return 0;
}

static int efa_resume(struct device *device)
{
	efa_come_back(to_pci_dev(device));
	return 0;
}

static DEFINE_SIMPLE_DEV_PM_OPS(efa_pm, efa_suspend, efa_resume);

static struct pci_driver efa_pci_driver = {
	.name = KBUILD_MODNAME,
	.id_table = efa_pci_ids,
	.probe = efa_probe,
	.remove = efa_remove,
	.shutdown = efa_shutdown,
	.err_handler = &efa_err_handlers,
	.driver.pm = pm_sleep_ptr(&efa_pm),
};
module_pci_driver(efa_pci_driver);

MODULE_DESCRIPTION("Amazon EFA adapter (dvq)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(DVQ_VERSION);
