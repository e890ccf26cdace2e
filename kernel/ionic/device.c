// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Reset and failure of the RDMA side as a whole; what failure means is in dion.h. */
#include "dion.h"

/* Return: 0, or a negative errno: it may still run, or has no RDMA at all. */
int dion_device_reset(struct dion_dev *dev)
{
	const struct ionic_rdma_reset_req req = {
		.opcode = IONIC_OP_RDMA_RESET,
		.lif = cpu_to_le16(dev->eth.lif_index),
	};

	return dion_ethernet_exec(&dev->eth, &req);
}

/* For good: afterwards the device touches no memory of ours and takes no commands. May sleep. */
void dion_device_stop(struct dion_dev *dev)
{
	mutex_lock(&dev->stop_lock);
	if (!dev->stopped) {
		dion_admin_pause(dev);
		if (dion_device_reset(dev))
			dion_ethernet_reset_rdma(&dev->eth);
		dion_admin_close(dev);
		/*
		 * First this: pairs with dion_work_state(), which opens a queue first. Their
		 * order is that of the locks of the queue.
		 */
		WRITE_ONCE(dev->flushed, true);
		dion_work_flush_all(dev);
		dev->stopped = true;
	}
	mutex_unlock(&dev->stop_lock);
}

static void fail_work(struct work_struct *work)
{
	struct dion_dev *dev = container_of(work, struct dion_dev, fail_work);
	struct ib_event event = {
		.device = &dev->dvq.ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = 1,
	};

	dion_device_stop(dev);
	if (READ_ONCE(dev->registered))
		ib_dispatch_event(&event);
}

/* Any context; what has to be done is done by @fail_work. */
void dion_device_fail(struct dion_dev *dev)
{
	queue_work(dev->work, &dev->fail_work);
}

void dion_device_init(struct dion_dev *dev)
{
	mutex_init(&dev->stop_lock);
	INIT_WORK(&dev->fail_work, fail_work);
	init_llist_head(&dev->abandoned);
	xa_init_flags(&dev->hw_cqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
}
