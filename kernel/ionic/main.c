// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Auxiliary driver: the device is one that ionic.ko makes beside its network interface. */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/addrconf.h>

#include "dion.h"

/* ---- the RDMA device --------------------------------------------------------- */

static const struct ib_device_ops dion_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_IONIC,
	.uverbs_abi_ver = DVQ_IONIC_ABI_VERSION,
	.uverbs_robust_udata = 1,
	.device_group = &dion_attr_group,

	.alloc_mr = dion_alloc_mr,
	.alloc_mw = dion_alloc_mw,
	.alloc_pd = dion_alloc_pd,
	.alloc_ucontext = dion_alloc_ucontext,
	.create_ah = dion_create_ah,
	.create_cq = dion_create_cq,
	.create_qp = dion_create_qp,
	.create_user_ah = dion_create_user_ah,
	.create_user_cq = dion_create_user_cq,
	.dealloc_mw = dion_dealloc_mw,
	.dealloc_pd = dion_dealloc_pd,
	.dealloc_ucontext = dion_dealloc_ucontext,
	.dereg_mr = dion_dereg_mr,
	.destroy_ah = dion_destroy_ah,
	.destroy_cq = dion_destroy_cq,
	.destroy_qp = dion_destroy_qp,
	.disassociate_ucontext = dion_disassociate_ucontext,
	.get_dev_fw_str = dion_get_fw_str,
	.get_dma_mr = dion_get_dma_mr,
	.get_link_layer = dion_get_link_layer,
	.get_port_immutable = dion_get_port_immutable,
	.map_mr_sg = dion_map_mr_sg,
	.modify_device = dion_modify_device,
	.modify_qp = dion_modify_qp,
	.poll_cq = dion_poll_cq,
	.post_recv = dion_post_recv,
	.post_send = dion_post_send,
	.query_ah = dion_query_ah,
	.query_device = dion_query_device,
	.query_pkey = dion_query_pkey,
	.query_port = dion_query_port,
	.query_qp = dion_query_qp,
	.reg_user_mr = dion_reg_user_mr,
	.reg_user_mr_dmabuf = dion_reg_user_mr_dmabuf,
	.req_notify_cq = dion_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, dion_ah, dvq.ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, dion_cq, dvq.ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, dion_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, dion_pd, dvq.ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, dion_qp, dvq.ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, dion_ucontext, dvq.ibucontext),
};

static void ibdev_unregister(struct dion_dev *dev)
{
	/* Nobody is told of a failure from here on: the core would not survive it. */
	WRITE_ONCE(dev->registered, false);
	flush_work(&dev->fail_work);
	/* Now, so that destroying what users leave behind waits for nothing. */
	dion_device_stop(dev);
	ib_unregister_device(&dev->dvq.ibdev);
}

static int ibdev_register(struct dion_dev *dev)
{
	struct ib_device *ibdev = &dev->dvq.ibdev;
	int ret;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = dev->num_eqs / DION_PIPELINES - 1;
	ibdev->dev.parent = dion_dma_device(dev);
	/* Pieces of memory are told by page lists, so they may be as long as they are. */
	dma_set_max_seg_size(dion_dma_device(dev), UINT_MAX);
	ibdev->driver_def = dvq_uapi_defs;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->eth.netdev->dev_addr);
	dion_fill_device_info(dev);

	ret = ib_device_set_netdev(ibdev, dev->eth.netdev, 1);
	if (!ret)
		ret = ib_register_device(ibdev, "ionic_%d", dion_dma_device(dev));
	if (ret)
		return ret;
	WRITE_ONCE(dev->registered, true);
	/* Of a device that died before nobody was told. */
	flush_work(&dev->fail_work);
	if (READ_ONCE(dev->stopped)) {
		ibdev_unregister(dev);
		return -ENODEV;
	}
	return 0;
}

/* ---- numbers ----------------------------------------------------------------- */

/* A device that cannot destroy what has memory of ours is not to create it. */
static bool identity_is_usable(const struct ionic_rdma_identity *rdma)
{
	return rdma->version <= 2 && rdma->admin_opcodes > IONIC_AQ_DESTROY_QP &&
	       rdma->max_stride_log2 >= ilog2(IONIC_WQE_SIZE_MIN) &&
	       rdma->max_stride_log2 <= 16 && le32_to_cpu(rdma->ahs) > 1 &&
	       le32_to_cpu(rdma->mrs) > 1 && le32_to_cpu(rdma->page_table_entries) > 1;
}

static int refuse_identity(const struct dion_dev *dev)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;

	return dev_err_probe(&dev->eth.pdev->dev, -ENODEV,
			     "cannot use RDMA %u.%u, %u commands, stride 2^%u, %u AHs, %u MRs\n",
			     rdma->version, rdma->minor_version, rdma->admin_opcodes,
			     rdma->max_stride_log2, le32_to_cpu(rdma->ahs),
			     le32_to_cpu(rdma->mrs));
}

static int qids_init(struct dion_dev *dev)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;
	u32 qps = le32_to_cpu(rdma->sq.count);
	int ret;

	/* The base of QPs does not count; no driver has ever used it. */
	ret = dion_qids_init(&dev->qp_ids, 0, qps, rdma->pipeline_shift);
	if (!ret)
		ret = dion_qids_init(&dev->cq_ids, le32_to_cpu(rdma->cq.base),
				     le32_to_cpu(rdma->cq.count), rdma->pipeline_shift);
	if (!ret)
		ret = dion_qids_reserve(&dev->qp_ids, IONIC_QPN_SMI);
	if (!ret)
		ret = dion_qids_reserve(&dev->qp_ids, IONIC_QPN_GSI);
	if (ret)
		return ret;
	dev->qp_generations = kvcalloc(qps, sizeof(*dev->qp_generations), GFP_KERNEL);
	return dev->qp_generations ? 0 : -ENOMEM;
}

static void numbers_cleanup(struct dion_dev *dev)
{
	kvfree(dev->qp_generations);
	dion_qids_cleanup(&dev->qp_ids);
	dion_qids_cleanup(&dev->cq_ids);
	dion_numbers_cleanup(&dev->mrs);
	dion_numbers_cleanup(&dev->ahs);
	dion_numbers_cleanup(&dev->pds);
	dion_numbers_cleanup(&dev->pids);
}

static int numbers_init(struct dion_dev *dev)
{
	const struct ionic_rdma_identity *rdma = &dev->eth.rdma;
	int ret;

	if (!identity_is_usable(rdma))
		return refuse_identity(dev);
	/* Page 0 is the kernel's; key 0 is all memory. */
	dion_numbers_init(&dev->pids, 1, dev->eth.pids - 1);
	dion_numbers_init(&dev->pds, 0, DION_MAX_PD - 1);
	dion_numbers_init(&dev->ahs, 0, min(le32_to_cpu(rdma->ahs) - 1, IONIC_QP_AH));
	dion_numbers_init(&dev->mrs, 1, min(le32_to_cpu(rdma->mrs) - 1, IONIC_KEY_MR >> 8));
	ret = qids_init(dev);
	if (ret) {
		numbers_cleanup(dev);
		return dev_err_probe(dion_dma_device(dev), ret,
				     "%u QPs, %u CQs, groups of 2^%u: not two pipelines\n",
				     le32_to_cpu(rdma->sq.count), le32_to_cpu(rdma->cq.count),
				     rdma->pipeline_shift);
	}
	return 0;
}

/* ---- the device -------------------------------------------------------------- */

/* Storage may be behind the device, so neither may wait until memory is freed. */
static int queues_get(struct dion_dev *dev)
{
	dev->work = alloc_workqueue("dvq_ionic", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!dev->work)
		return -ENOMEM;
	dev->qp_work = alloc_workqueue("dvq_ionic_qp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (dev->qp_work)
		return 0;
	destroy_workqueue(dev->work);
	return -ENOMEM;
}

static void queues_put(struct dion_dev *dev)
{
	destroy_workqueue(dev->qp_work);
	destroy_workqueue(dev->work);
}

static struct dion_dev *dev_alloc(struct auxiliary_device *adev)
{
	struct dion_dev *dev;
	int ret;

	dev = ib_alloc_device(dion_dev, dvq.ibdev);
	if (!dev)
		return ERR_PTR(-ENOMEM);
	ret = dion_ethernet_open(&dev->eth, adev);
	if (ret)
		goto err_dealloc;
	ret = queues_get(dev);
	if (ret)
		goto err_close;
	/* A page list says where pages are, in however few pieces their memory comes. */
	dev->eth_max_seg = dma_get_max_seg_size(dion_dma_device(dev));
	dma_set_max_seg_size(dion_dma_device(dev), UINT_MAX);
	dvq_device_init(&dev->dvq, dev->eth.cmb_bytes ? &dion_dvq_ops : NULL);
	ib_set_device_ops(&dev->dvq.ibdev, &dion_ops);
	dion_device_init(dev);
	auxiliary_set_drvdata(adev, dev);
	return dev;

err_close:
	dion_ethernet_close(&dev->eth);
err_dealloc:
	ib_dealloc_device(&dev->dvq.ibdev);
	return ERR_PTR(ret);
}

static void dev_free(struct dion_dev *dev)
{
	xa_destroy(&dev->qps);
	xa_destroy(&dev->hw_cqs);
	dvq_device_cleanup(&dev->dvq);
	queues_put(dev);
	dma_set_max_seg_size(dion_dma_device(dev), dev->eth_max_seg);
	dion_ethernet_close(&dev->eth);
	ib_dealloc_device(&dev->dvq.ibdev);
}

static int hw_open(struct dion_dev *dev)
{
	int ret;

	ret = dion_device_reset(dev);
	if (ret)
		return dev_err_probe(dion_dma_device(dev), ret, "no RDMA on this interface\n");
	ret = dion_eqs_create(dev);
	if (ret)
		return ret;
	ret = dion_admin_create(dev);
	if (ret) {
		dion_eqs_destroy(dev);
		return dev_err_probe(dion_dma_device(dev), ret, "cannot create admin queues\n");
	}
	return 0;
}

/* First the device lets go of all memory, then the memory goes. */
static void hw_close(struct dion_dev *dev)
{
	dion_device_stop(dev);
	dion_admin_destroy(dev);
	dion_free_abandoned(dev);
	cancel_work_sync(&dev->fail_work);
	dion_eqs_destroy(dev);
}

static int dion_probe(struct auxiliary_device *adev, const struct auxiliary_device_id *id)
{
	struct dion_dev *dev;
	int ret;

	ret = dion_ethernet_check(&adev->dev);
	if (ret)
		return ret;
	dev = dev_alloc(adev);
	if (IS_ERR(dev))
		return PTR_ERR(dev);
	ret = numbers_init(dev);
	if (ret)
		goto err_dev_free;
	ret = hw_open(dev);
	if (ret)
		goto err_numbers_cleanup;
	ret = dion_stats_init(dev);
	if (ret)
		goto err_hw_close;
	ret = ibdev_register(dev);
	if (ret)
		goto err_stats_cleanup;
	return 0;

err_stats_cleanup:
	dion_stats_cleanup(dev);
err_hw_close:
	hw_close(dev);
err_numbers_cleanup:
	numbers_cleanup(dev);
err_dev_free:
	dev_free(dev);
	return ret;
}

static void dion_remove(struct auxiliary_device *adev)
{
	struct dion_dev *dev = auxiliary_get_drvdata(adev);

	ibdev_unregister(dev);
	dion_stats_cleanup(dev);
	hw_close(dev);
	numbers_cleanup(dev);
	dev_free(dev);
}

/* Nothing goes to memory any more, whoever owns it next. */
static void dion_shutdown(struct auxiliary_device *adev)
{
	dion_device_stop(auxiliary_get_drvdata(adev));
}

static const struct auxiliary_device_id dion_ids[] = {
	{ .name = "ionic.rdma" },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, dion_ids);

static struct auxiliary_driver dion_driver = {
	.name = "rdma",
	.id_table = dion_ids,
	.probe = dion_probe,
	.remove = dion_remove,
	.shutdown = dion_shutdown,
};
module_auxiliary_driver(dion_driver);

MODULE_DESCRIPTION("RDMA on AMD Pensando ionic adapters (dvq)");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(DVQ_VERSION);
