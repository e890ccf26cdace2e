// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The adapter as a whole: reset, versions, attributes, failure. */
#include <linux/bitfield.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/jiffies.h>
#include <linux/utsname.h>
#include <linux/version.h>

#include "cmd.h"
#include "efa.h"

bool efa_device_is_present(struct efa_dev *dev)
{
	return !pci_channel_offline(dev->pdev) && pci_device_is_present(dev->pdev);
}

/* ---- reset ---------------------------------------------------------------------- */

/* By the clock: each read of a device that has gone mute takes long. */
static int wait_reset_busy(struct efa_dev *dev, bool busy)
{
	unsigned int units = FIELD_GET(EFA_CAPS_RESET_TIMEOUT, dev->caps);
	unsigned long end = jiffies + msecs_to_jiffies(units * EFA_TIMEOUT_UNIT_MS);
	bool late;
	u32 sts;

	do {
		/* The last look is one after the end, whatever became of those before. */
		late = time_after(jiffies, end);
		/* A read that fails in the middle of a reset is no answer, not a failure. */
		if (!efa_mmio_read(dev, EFA_REG_DEV_STS, &sts) &&
		    !!(sts & EFA_DEV_STS_RESET_BUSY) == busy)
			return 0;
		if (!efa_device_is_present(dev))
			return -ENODEV;
		msleep(EFA_TIMEOUT_UNIT_MS);
	} while (!late);
	return -ETIME;
}

static int check_resettable(struct efa_dev *dev)
{
	u32 sts;
	int ret;

	ret = efa_mmio_read(dev, EFA_REG_DEV_STS, &sts);
	if (!ret)
		ret = efa_mmio_read(dev, EFA_REG_CAPS, &dev->caps);
	if (ret)
		return ret;
	if (!(sts & EFA_DEV_STS_READY) || !FIELD_GET(EFA_CAPS_RESET_TIMEOUT, dev->caps)) {
		dev_err(&dev->pdev->dev, "cannot be reset: status %#x, capabilities %#x\n", sts,
			dev->caps);
		return -EINVAL;
	}
	return 0;
}

static void begin_reset(struct efa_dev *dev, enum efa_reset_reason reason)
{
	efa_mmio_write(dev, EFA_REG_DEV_CTL,
		       EFA_DEV_CTL_RESET | FIELD_PREP(EFA_DEV_CTL_RESET_REASON, reason));
	efa_mmio_set_resp(dev);
}

/*
 * choice: of a device that does not say that it can be reset, on its end: it may do as it is told
 * all the same, as stores need no DMA. Else it would reach for freed memory as soon as it is a
 * bus master again, before the next reset.
 */
static void reset_unseen(struct efa_dev *dev, enum efa_reset_reason reason)
{
	begin_reset(dev, reason);
	msleep(EFA_TIMEOUT_UNIT_MS);
	efa_mmio_write(dev, EFA_REG_DEV_CTL, 0);
}

static int reset_checked(struct efa_dev *dev, enum efa_reset_reason reason)
{
	int ret;

	begin_reset(dev, reason);
	ret = wait_reset_busy(dev, true);
	/* Also when it has not begun: a request that stands would keep out the next one. */
	efa_mmio_write(dev, EFA_REG_DEV_CTL, 0);
	if (!ret)
		ret = wait_reset_busy(dev, false);
	if (ret)
		dev_err(&dev->pdev->dev, "does not finish a reset: %d\n", ret);
	return ret;
}

int efa_device_reset(struct efa_dev *dev, enum efa_reset_reason reason)
{
	int ret = check_resettable(dev);

	return ret ?: reset_checked(dev, reason);
}

int efa_device_is_ready(struct efa_dev *dev)
{
	u32 sts;
	int ret;

	ret = efa_mmio_read(dev, EFA_REG_DEV_STS, &sts);
	if (ret)
		return ret;
	if (!(sts & EFA_DEV_STS_READY)) {
		dev_err(&dev->pdev->dev, "is not ready after a reset: status %#x\n", sts);
		return -ENODEV;
	}
	return 0;
}

/* ---- identity ------------------------------------------------------------------- */

int efa_device_check_versions(struct efa_dev *dev)
{
	u32 version, controller;
	int ret;

	ret = efa_mmio_read(dev, EFA_REG_VERSION, &version);
	if (!ret)
		ret = efa_mmio_read(dev, EFA_REG_CONTROLLER_VERSION, &controller);
	if (ret)
		return ret;

	version &= EFA_VERSION_MAJOR | EFA_VERSION_MINOR;
	controller &= ~EFA_CTRL_VERSION_IMPL;
	if (version < EFA_VERSION_MIN || controller < EFA_CTRL_VERSION_MIN) {
		dev_err(&dev->pdev->dev, "interface %#x, controller %#x: too old\n", version,
			controller);
		return -EOPNOTSUPP;
	}
	dev->admin.checksum = version >= EFA_VERSION_CHECKSUM;
	return 0;
}

int efa_device_set_dma_width(struct efa_dev *dev)
{
	unsigned int width = FIELD_GET(EFA_CAPS_DMA_WIDTH, dev->caps);

	if (width < 32 || width > 64) {
		dev_err(&dev->pdev->dev, "claims DMA addresses of %u bits\n", width);
		return -EINVAL;
	}
	dma_set_max_seg_size(&dev->pdev->dev, UINT_MAX);
	return dma_set_mask_and_coherent(&dev->pdev->dev, DMA_BIT_MASK(width));
}

static int read_device_attr(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	const struct efa_device_attr *from = &resp.u.device;
	struct efa_attr *attr = &dev->attr;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_DEVICE_ATTR, &resp);
	if (ret)
		return ret;
	attr->supported_features = le64_to_cpu(from->supported_features);
	attr->page_size_cap = le64_to_cpu(from->page_size_cap);
	memcpy(&attr->guid, &from->guid, sizeof(attr->guid));
	attr->device_caps = le32_to_cpu(from->device_caps);
	attr->max_rdma_size = le32_to_cpu(from->max_rdma_size);
	attr->max_link_speed_gbps = le16_to_cpu(from->max_link_speed_gbps);
	attr->db_bar = le16_to_cpu(from->db_bar);

	if (le32_to_cpu(from->admin_api_version) < EFA_ADMIN_API_VERSION) {
		dev_err(&dev->pdev->dev, "claims admin interface version 0\n");
		return -EINVAL;
	}
	/* The RDMA core finds a page size for any buffer only if one is not above the CPU's. */
	if (!(attr->page_size_cap & GENMASK_ULL(PAGE_SHIFT, 12))) {
		dev_err(&dev->pdev->dev, "has no MR page size up to %lu bytes: %#llx\n", PAGE_SIZE,
			attr->page_size_cap);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int read_queue_attr(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	const struct efa_queue_attr_1 *from = &resp.u.queue1;
	struct efa_attr *attr = &dev->attr;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_QUEUE_ATTR_1, &resp);
	if (ret)
		return ret;
	attr->max_qp = le32_to_cpu(from->max_qp);
	attr->max_sq_depth = le32_to_cpu(from->max_sq_depth);
	attr->max_rq_depth = le32_to_cpu(from->max_rq_depth);
	attr->max_cq = le32_to_cpu(from->max_cq);
	attr->max_cq_depth = le32_to_cpu(from->max_cq_depth);
	attr->max_mr = le32_to_cpu(from->max_mr);
	attr->max_mr_pages = le32_to_cpu(from->max_mr_pages);
	attr->max_pd = le32_to_cpu(from->max_pd);
	attr->max_ah = le32_to_cpu(from->max_ah);
	attr->max_llq_size = le32_to_cpu(from->max_llq_size);
	attr->sub_cqs_per_cq = le16_to_cpu(from->sub_cqs_per_cq);
	attr->min_sq_depth = le16_to_cpu(from->min_sq_depth);
	attr->max_send_sges = le16_to_cpu(from->max_send_sges);
	attr->max_recv_sges = le16_to_cpu(from->max_recv_sges);
	attr->max_rdma_sges = le16_to_cpu(from->max_rdma_sges);
	attr->max_tx_batch = le16_to_cpu(from->max_tx_batch);
	attr->inline_buf_size = le32_to_cpu(from->inline_buf_size);
	attr->inline_buf_size_ex = attr->inline_buf_size;

	if (!attr->max_qp || !attr->sub_cqs_per_cq) {
		dev_err(&dev->pdev->dev, "claims %u QPs and CQs of %u rings\n", attr->max_qp,
			attr->sub_cqs_per_cq);
		return -EINVAL;
	}

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_QUEUE_ATTR_2, &resp);
	if (!ret) {
		attr->inline_buf_size_ex = le16_to_cpu(resp.u.queue2.inline_buf_size_ex);
		/* zeros to a device that does not have them */
		attr->counter_events = le32_to_cpu(resp.u.queue2.counter_events);
		attr->max_event_counters = le32_to_cpu(resp.u.queue2.max_event_counters);
		attr->event_counter_max = le64_to_cpu(resp.u.queue2.event_counter_max);
	}
	return ret == -EOPNOTSUPP ? 0 : ret;
}

static int read_network_attr(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_NETWORK_ATTR, &resp);
	if (ret)
		return ret;
	memcpy(dev->attr.gid.raw, resp.u.network.addr, sizeof(dev->attr.gid.raw));
	dev->attr.mtu = le32_to_cpu(resp.u.network.mtu);
	return 0;
}

static int read_eq_attr(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_EVENT_QUEUE_ATTR, &resp);
	if (ret)
		return ret == -EOPNOTSUPP ? 0 : ret;
	dev->attr.max_eq = le32_to_cpu(resp.u.eq.max_eq);
	dev->attr.max_eq_depth = le32_to_cpu(resp.u.eq.max_eq_depth);
	return 0;
}

int efa_device_read_attr(struct efa_dev *dev)
{
	int ret;

	ret = read_device_attr(dev);
	if (!ret)
		ret = read_queue_attr(dev);
	if (!ret)
		ret = read_network_attr(dev);
	if (!ret)
		ret = read_eq_attr(dev);
	return ret;
}

/* choice: no longer, lest those who wait for the reset of a mute device are taken for stuck tasks */
#define MMIO_TIMEOUT_MAX_MS	5000U

/* A hint of 0 is no advice. The device's time of missing keep-alives is not used. */
int efa_device_read_hints(struct efa_dev *dev)
{
	struct efa_get_feature_resp resp;
	const struct efa_hw_hints *hints = &resp.u.hints;
	int ret;

	ret = efa_cmd_get_feature(dev, EFA_FEATURE_HW_HINTS, &resp);
	if (ret)
		return ret;
	if (hints->mmio_read_timeout)
		dev->mmio.timeout_us = USEC_PER_MSEC *
			min_t(u32, le16_to_cpu(hints->mmio_read_timeout), MMIO_TIMEOUT_MAX_MS);
	if (hints->admin_completion_timeout)
		dev->admin.timeout =
			msecs_to_jiffies(le16_to_cpu(hints->admin_completion_timeout));
	if (hints->poll_interval)
		dev->admin.poll = msecs_to_jiffies(le16_to_cpu(hints->poll_interval));
	return 0;
}

/* Of use to whoever looks after the device; whether it takes it makes no difference to us. */
void efa_device_send_host_info(struct efa_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	struct efa_host_info *info;
	dma_addr_t dma;
	int ret;

	info = dma_alloc_coherent(&pdev->dev, sizeof(*info), &dma, GFP_KERNEL);
	if (!info)
		return;
	strscpy(info->os_dist, utsname()->release, sizeof(info->os_dist));
	strscpy(info->kernel_ver_str, utsname()->version, sizeof(info->kernel_ver_str));
	info->kernel_ver = cpu_to_le32(LINUX_VERSION_CODE);
	info->bdf = cpu_to_le16(pci_dev_id(pdev));
	info->spec_ver = cpu_to_le16(EFA_HOST_SPEC_VER);

	ret = efa_cmd_set_host_info(dev, dma, sizeof(*info));
	if (ret)
		dev_dbg(&pdev->dev, "host information was not taken: %d\n", ret);
	dma_free_coherent(&pdev->dev, sizeof(*info), info, dma);
}

/* ---- failure -------------------------------------------------------------------- */

static void tell_users(struct efa_dev *dev)
{
	struct ib_event event = {
		.device = &dev->dvq.ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_DEVICE_FATAL,
	};

	if (READ_ONCE(dev->registered))
		ib_dispatch_event(&event);
}

/* Interrupt handlers run until their vectors are freed, but they no longer ring. */
static void quiet(struct efa_dev *dev)
{
	spin_lock_irq(&dev->quiet_lock);
	dev->quiet = true;
	spin_unlock_irq(&dev->quiet_lock);
}

static int last_reset(struct efa_dev *dev, enum efa_reset_reason reason)
{
	int ret = check_resettable(dev);

	if (!ret)
		return reset_checked(dev, reason);
	reset_unseen(dev, reason);
	return ret;
}

static void stop_locked(struct efa_dev *dev, enum efa_reset_reason reason)
{
	efa_admin_close(&dev->admin);
	quiet(dev);
	if (!efa_device_is_present(dev))
		dev_warn(&dev->pdev->dev, "has left the bus, or the bus has failed\n");
	else if (last_reset(dev, reason))
		dev_err(&dev->pdev->dev, "is cut off from memory\n");
	pci_clear_master(dev->pdev);
	complete_all(&dev->stopped);
}

/* The device lets go of all memory: by a reset, or because it can no longer reach it. */
void efa_device_stop(struct efa_dev *dev, enum efa_reset_reason reason)
{
	mutex_lock(&dev->stop_lock);
	if (!completion_done(&dev->stopped))
		stop_locked(dev, reason);
	mutex_unlock(&dev->stop_lock);
}

/*
 * Somebody else has reset the function, in use. It has forgotten all, and where to write registers.
 * Not every kernel that says so has done it, so it is reset once more.
 */
void efa_device_was_reset(struct efa_dev *dev)
{
	mutex_lock(&dev->stop_lock);
	if (!completion_done(&dev->stopped)) {
		pci_set_master(dev->pdev);
		efa_mmio_set_resp(dev);
		stop_locked(dev, EFA_RESET_NORMAL);
	}
	mutex_unlock(&dev->stop_lock);
}

static void fail_work_fn(struct work_struct *work)
{
	struct efa_dev *dev = container_of(work, struct efa_dev, fail_work);

	efa_device_stop(dev, dev->fail_reason);
	tell_users(dev);
}

static void fatal_work_fn(struct work_struct *work)
{
	struct efa_dev *dev = container_of(work, struct efa_dev, fatal_work);

	tell_users(dev);
}

/* From any context; the rest is done by a work. */
void efa_device_fail(struct efa_dev *dev, enum efa_reset_reason reason)
{
	dev->fail_reason = reason;
	efa_admin_close(&dev->admin);
	queue_work(system_long_wq, &dev->fail_work);
}

/* For a device that does not let go of memory which has to be freed. */
void efa_device_halt(struct efa_dev *dev)
{
	efa_device_fail(dev, EFA_RESET_INVALID_STATE);
	wait_for_completion(&dev->stopped);
}

void efa_device_init(struct efa_dev *dev)
{
	efa_admin_init(&dev->admin);
	mutex_init(&dev->stop_lock);
	spin_lock_init(&dev->quiet_lock);
	init_completion(&dev->stopped);
	INIT_WORK(&dev->fail_work, fail_work_fn);
	INIT_WORK(&dev->fatal_work, fatal_work_fn);
	ratelimit_state_init(&dev->fatal_limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	/* what is left out is not worth a line */
	ratelimit_set_flags(&dev->fatal_limit, RATELIMIT_MSG_ON_RELEASE);
}
