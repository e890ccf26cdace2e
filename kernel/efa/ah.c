// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles. The device is asked once for each PD and destination, because newer
 * ones refuse a second time and nothing announces which do; the AHs of the verbs to one
 * destination share what it gave.
 */
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "cmd.h"
#include "efa.h"

static_assert(sizeof(struct dvq_efa_ah_resp) == 8);

static int compare(const union ib_gid *gid, const struct rb_node *node)
{
	return memcmp(gid, &rb_entry(node, struct efa_shared_ah, node)->gid, sizeof(*gid));
}

static int compare_key(const void *key, const struct rb_node *node)
{
	return compare(key, node);
}

static bool less(struct rb_node *node, const struct rb_node *other)
{
	return compare(&rb_entry(node, struct efa_shared_ah, node)->gid, other) < 0;
}

static struct efa_shared_ah *new_shared(struct efa_dev *dev, struct efa_pd *pd,
					const union ib_gid *gid)
{
	struct efa_shared_ah *shared;
	int ret;

	shared = kzalloc_obj(*shared, GFP_KERNEL_ACCOUNT);
	if (!shared)
		return ERR_PTR(-ENOMEM);
	shared->gid = *gid;
	refcount_set(&shared->users, 1);
	ret = efa_cmd_create_ah(dev, pd->pdn, gid, &shared->ah_num);
	if (ret) {
		kfree(shared);
		return ERR_PTR(ret);
	}
	rb_add(&shared->node, &pd->ahs, less);
	atomic_inc(&dev->dvq.ahs);
	return shared;
}

static struct efa_shared_ah *get_shared(struct efa_dev *dev, struct efa_pd *pd,
					const union ib_gid *gid)
{
	struct efa_shared_ah *shared;
	struct rb_node *node;

	mutex_lock(&pd->ah_lock);
	node = rb_find(gid, &pd->ahs, compare_key);
	if (node) {
		shared = rb_entry(node, struct efa_shared_ah, node);
		refcount_inc(&shared->users);
	} else {
		shared = new_shared(dev, pd, gid);
	}
	mutex_unlock(&pd->ah_lock);
	return shared;
}

static void put_shared(struct efa_dev *dev, struct efa_pd *pd, struct efa_shared_ah *shared)
{
	mutex_lock(&pd->ah_lock);
	if (refcount_dec_and_test(&shared->users)) {
		efa_cmd_destroy_ah(dev, pd->pdn, shared->ah_num);
		atomic_dec(&dev->dvq.ahs);
		rb_erase(&shared->node, &pd->ahs);
		kfree(shared);
	}
	mutex_unlock(&pd->ah_lock);
}

static int check_attr(struct efa_dev *dev, const struct rdma_ah_init_attr *attr)
{
	if (!(attr->flags & RDMA_CREATE_AH_SLEEPABLE))
		return -EOPNOTSUPP;
	/* A send without a destination GID would go nowhere, and say it was done. */
	if (!(rdma_ah_get_ah_flags(attr->ah_attr) & IB_AH_GRH)) {
		ibdev_dbg(&dev->dvq.ibdev, "AH without a global route (is_global is 0)\n");
		return -EINVAL;
	}
	if (rdma_ah_read_grh(attr->ah_attr)->sgid_index) {
		ibdev_dbg(&dev->dvq.ibdev, "AH with source GID index %u, there is only 0\n",
			  rdma_ah_read_grh(attr->ah_attr)->sgid_index);
		return -EINVAL;
	}
	return 0;
}

int efa_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr, struct ib_udata *udata)
{
	struct efa_dev *dev = to_efa_dev(ibah->device);
	struct efa_pd *pd = to_efa_pd(ibah->pd);
	struct efa_ah *ah = to_efa_ah(ibah);
	struct dvq_efa_ah_resp resp = {};
	int ret;

	ret = check_attr(dev, attr);
	if (!ret)
		ret = ib_is_udata_in_empty(udata);
	if (ret)
		goto err_count;

	ah->shared = get_shared(dev, pd, &rdma_ah_read_grh(attr->ah_attr)->dgid);
	if (IS_ERR(ah->shared)) {
		ret = PTR_ERR(ah->shared);
		goto err_count;
	}
	ah->dvq.ah_num = ah->shared->ah_num;
	ah->dvq.users = &ah->shared->users;

	resp.ah_num = ah->shared->ah_num;
	ret = udata ? ib_respond_udata(udata, resp) : 0;
	if (ret)
		goto err_put;
	return 0;

err_put:
	put_shared(dev, pd, ah->shared);
err_count:
	efa_count_error(dev, EFA_STAT_CREATE_AH);
	return ret;
}

int efa_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	if (!(flags & RDMA_DESTROY_AH_SLEEPABLE))
		return -EOPNOTSUPP;
	dvq_ah_cleanup(&to_efa_ah(ibah)->dvq);
	put_shared(to_efa_dev(ibah->device), to_efa_pd(ibah->pd), to_efa_ah(ibah)->shared);
	return 0;
}
