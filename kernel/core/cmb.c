// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Controller memory that processes map.
 *
 * A *pool* is memory that was reserved from the driver in one piece: what a region
 * (DVQ_OBJECT_CMB) consists of. A *piece* is the memory of one work queue, from a pool
 * that the policy of its PD names, or else reserved from the driver by itself.
 *
 * Memory belongs to the mmap entry that shows it, not to the queue or region: that only
 * takes the key away, and the memory goes back when the last mapping is gone too. A pool
 * goes back when no entry, piece or policy refers to it.
 */
#include <linux/genalloc.h>
#include <linux/kref.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "core.h"

/* ---- pools ------------------------------------------------------------------- */

/**
 * struct dvq_pool - memory of a region
 * @users: entries, pieces and policies that refer to it
 * @dev: where it comes from
 * @cmb: all of it
 * @space: what pieces are made of; addresses are those of @cmb
 */
struct dvq_pool {
	struct kref users;
	struct dvq_device *dev;
	struct dvq_cmb cmb;
	struct gen_pool *space;
};

static int create_space(struct dvq_pool *pool)
{
	pool->space = gen_pool_create(ilog2(pool->dev->info.cmb_page), NUMA_NO_NODE);
	if (!pool->space)
		return -ENOMEM;
	/* A driver's own blocks are as large and aligned as the next power of two. */
	gen_pool_set_algo(pool->space, gen_pool_first_fit_order_align, NULL);
	return gen_pool_add(pool->space, pool->cmb.addr, pool->cmb.length, NUMA_NO_NODE);
}

static void destroy_space(struct dvq_pool *pool)
{
	if (pool->space)
		gen_pool_destroy(pool->space);
}

struct dvq_pool *dvq_pool_create(struct dvq_device *dev, size_t length)
{
	struct dvq_pool *pool;
	int ret;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	kref_init(&pool->users);
	pool->dev = dev;
	pool->cmb.length = length;
	ret = dev->ops->cmb_get(dev, &pool->cmb);
	if (ret)
		goto free_pool;
	ret = create_space(pool);
	if (ret)
		goto destroy_space;
	return pool;

destroy_space:
	destroy_space(pool);
	dev->ops->cmb_put(dev, &pool->cmb);
free_pool:
	kfree(pool);
	return ERR_PTR(ret);
}

static void free_pool(struct kref *users)
{
	struct dvq_pool *pool = container_of(users, struct dvq_pool, users);

	destroy_space(pool);
	pool->dev->ops->cmb_put(pool->dev, &pool->cmb);
	kfree(pool);
}

struct dvq_pool *dvq_pool_get(struct dvq_pool *pool)
{
	if (pool)
		kref_get(&pool->users);
	return pool;
}

void dvq_pool_put(struct dvq_pool *pool)
{
	if (pool)
		kref_put(&pool->users, free_pool);
}
EXPORT_SYMBOL_GPL(dvq_pool_put);

u64 dvq_pool_free_bytes(struct dvq_pool *pool)
{
	return gen_pool_avail(pool->space);
}
EXPORT_SYMBOL_GPL(dvq_pool_free_bytes);

size_t dvq_pool_length(const struct dvq_pool *pool)
{
	return pool->cmb.length;
}

static void whole_released(struct dvq_mmap *entry)
{
	dvq_pool_put(container_of(entry, struct dvq_pool_mmap, entry)->pool);
}

struct dvq_pool_mmap *dvq_pool_mmap(struct dvq_ucontext *ctx, struct dvq_pool *pool)
{
	struct dvq_pool_mmap *whole;
	int ret;

	whole = kzalloc(sizeof(*whole), GFP_KERNEL_ACCOUNT);
	if (!whole)
		return ERR_PTR(-ENOMEM);
	whole->pool = pool;
	whole->entry.kind = DVQ_MMAP_DEVICE_MEM;
	whole->entry.phys = pool->cmb.addr;
	whole->entry.length = pool->cmb.length;
	whole->entry.release = whole_released;
	ret = dvq_mmap_publish(ctx, &whole->entry);
	if (ret) {
		kfree(whole);
		return ERR_PTR(ret);
	}
	dvq_pool_get(pool);
	return whole;
}

/* ---- pieces ------------------------------------------------------------------ */

/**
 * struct piece - memory of a work queue
 * @entry: how it is mapped
 * @dev: where it comes from
 * @pool: what it is a part of, or NULL
 * @place: its address there
 * @cmb: what it is
 */
struct piece {
	struct dvq_mmap entry;
	struct dvq_device *dev;
	struct dvq_pool *pool;
	unsigned long place;
	struct dvq_cmb cmb;
};

static int take_from_pool(struct piece *piece, struct dvq_pool *pool)
{
	piece->place = gen_pool_alloc(pool->space, piece->cmb.length);
	if (!piece->place)
		return -ENOSPC;
	piece->pool = dvq_pool_get(pool);
	piece->dev->ops->cmb_part(piece->dev, &pool->cmb, piece->place - pool->cmb.addr,
				  &piece->cmb);
	return 0;
}

static void give_back(struct piece *piece)
{
	if (piece->pool) {
		gen_pool_free(piece->pool->space, piece->place, piece->cmb.length);
		dvq_pool_put(piece->pool);
	} else {
		piece->dev->ops->cmb_put(piece->dev, &piece->cmb);
	}
}

static void piece_released(struct dvq_mmap *entry)
{
	give_back(container_of(entry, struct piece, entry));
}

static int publish_piece(struct dvq_ucontext *ctx, struct piece *piece, enum dvq_mmap_kind kind)
{
	piece->entry.kind = kind;
	piece->entry.phys = piece->cmb.addr;
	piece->entry.length = piece->cmb.length;
	piece->entry.release = piece_released;
	return dvq_mmap_publish(ctx, &piece->entry);
}

struct dvq_mmap *dvq_cmb_mmap(struct dvq_ucontext *ctx, struct dvq_pool *pool,
			      struct dvq_cmb *cmb, enum dvq_mmap_kind kind)
{
	struct dvq_device *dev = to_dvq_device(ctx->ibucontext.device);
	struct piece *piece;
	int ret;

	piece = kzalloc(sizeof(*piece), GFP_KERNEL_ACCOUNT);
	if (!piece)
		return ERR_PTR(-ENOMEM);
	piece->dev = dev;
	piece->cmb = *cmb;
	ret = pool ? take_from_pool(piece, pool) : dev->ops->cmb_get(dev, &piece->cmb);
	if (ret)
		goto free_piece;
	ret = publish_piece(ctx, piece, kind);
	if (ret)
		goto give_back;
	*cmb = piece->cmb;
	return &piece->entry;

give_back:
	give_back(piece);
free_piece:
	kfree(piece);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(dvq_cmb_mmap);
