// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sq_placement and rq_placement of a device: what the administrator allows queues of
 * that kind. What the words mean is written in Documentation/placement.rst.
 */
#include <linux/sysfs.h>

#include "core.h"

static const char *const mode_names[] = {
	[DVQ_MODE_OFF]		= "off",
	[DVQ_MODE_EXPLICIT]	= "explicit",
	[DVQ_MODE_ON]		= "on",
};

static struct dvq_device *from_device(struct device *device)
{
	return rdma_device_to_drv_device(device, struct dvq_device, ibdev);
}

static ssize_t show_mode(u8 mode, char *buf)
{
	return sysfs_emit(buf, "%s\n", mode_names[mode]);
}

static ssize_t store_mode(u8 *mode, const char *buf, size_t count)
{
	int ret = sysfs_match_string(mode_names, buf);

	if (ret < 0)
		return ret;
	WRITE_ONCE(*mode, ret);
	return count;
}

static ssize_t sq_placement_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return show_mode(READ_ONCE(from_device(device)->sq_mode), buf);
}

static ssize_t sq_placement_store(struct device *device, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return store_mode(&from_device(device)->sq_mode, buf, count);
}

static ssize_t rq_placement_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return show_mode(READ_ONCE(from_device(device)->rq_mode), buf);
}

static ssize_t rq_placement_store(struct device *device, struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return store_mode(&from_device(device)->rq_mode, buf, count);
}

struct device_attribute dvq_attr_sq_placement = __ATTR_RW(sq_placement);
EXPORT_SYMBOL_GPL(dvq_attr_sq_placement);

struct device_attribute dvq_attr_rq_placement = __ATTR_RW(rq_placement);
EXPORT_SYMBOL_GPL(dvq_attr_rq_placement);
