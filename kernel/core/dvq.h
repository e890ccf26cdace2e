/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a hardware driver sees of dvq.ko.
 *
 * dvq.ko is a library, not a layer: a driver is an ordinary ib_core driver with
 * its own struct ib_device_ops. It embeds the structs below as the *first* member
 * of its own (INIT_RDMA_OBJ_SIZE() and ib_alloc_device() check that), fills the
 * records when it creates an object, and lists dvq_uapi_defs in its driver_def.
 * From then on dvq answers its uverbs methods and restrack queries from the
 * records alone and calls the driver for nothing but controller memory.
 *
 * Locking: a record is written before its create op returns and not changed until
 * the object is gone, so readers need no lock. What does change says so.
 */
#ifndef DVQ_CORE_H
#define DVQ_CORE_H

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include <rdma/dvq-abi.h>

#include "placement.h"

struct dvq_device;
struct dvq_pool;

/**
 * struct dvq_cmb - a region of controller memory
 * @length: bytes; a multiple of info.cmb_page
 * @expdb_size: bytes of an entry whose last store shall ring (express doorbell), 0:
 *	nothing shall; the driver sets it to 0 where nothing does
 * @addr: where it is, filled by the driver; page aligned
 * @priv: for the driver
 */
struct dvq_cmb {
	size_t length;
	u32 expdb_size;
	phys_addr_t addr;
	u64 priv;
};

/**
 * struct dvq_ops - what dvq asks of a driver; NULL where the device has no
 *	controller memory to give
 *
 * @cmb_get: reserve cmb->length bytes of controller memory and fill the rest of it. 0,
 *	or -ENOSPC. May sleep.
 * @cmb_put: give it back. May be called under mmap_lock (from mmap_free), so it
 *	must not take a lock that is held across a user copy. Cannot fail.
 * @cmb_part: fill @part, of which length and expdb_size are given, for what begins at
 *	@offset in @whole; never given back by itself. Cannot fail.
 */
struct dvq_ops {
	int (*cmb_get)(struct dvq_device *dev, struct dvq_cmb *cmb);
	void (*cmb_put)(struct dvq_device *dev, struct dvq_cmb *cmb);
	void (*cmb_part)(struct dvq_device *dev, const struct dvq_cmb *whole, size_t offset,
			 struct dvq_cmb *part);
};

/**
 * struct dvq_device - first member of a driver's device
 * @ibdev: what the RDMA core knows of it
 * @info: the constant part of what QUERY_DEVICE answers. Filled by the driver
 *	between dvq_device_init() and ib_register_device().
 * @ops: may be NULL
 * @ahs: address handles that the device holds now; kept by the driver
 * @cmb_free: bytes of controller memory not in use; kept by the driver
 * @mmap_errors: mappings that were refused; counted by dvq
 * @sq_mode: enum dvq_place_mode for send queues; changed at any time
 * @rq_mode: the same for receive queues
 */
struct dvq_device {
	struct ib_device ibdev;
	struct dvq_device_info info;
	const struct dvq_ops *ops;
	atomic_t ahs;
	atomic64_t cmb_free;
	atomic64_t mmap_errors;
	u8 sq_mode;
	u8 rq_mode;
	/* private: dvq's own */
	struct ida key_slots;
};

static inline struct dvq_device *to_dvq_device(struct ib_device *ibdev)
{
	return container_of(ibdev, struct dvq_device, ibdev);
}

/* Before registration; sets the ops that dvq implements. The reverse after it. */
void dvq_device_init(struct dvq_device *dev, const struct dvq_ops *ops);
void dvq_device_cleanup(struct dvq_device *dev);

extern const struct uapi_definition dvq_uapi_defs[];

/*
 * For a driver's device_group, if it places work queues: what the administrator chooses
 * for each kind, and where that is asked for.
 */
extern struct device_attribute dvq_attr_sq_placement;
extern struct device_attribute dvq_attr_rq_placement;

static inline enum dvq_place_mode dvq_place_mode(const struct dvq_device *dev,
						 enum dvq_wq_kind kind)
{
	return READ_ONCE(*(kind == DVQ_WQ_SQ ? &dev->sq_mode : &dev->rq_mode));
}

/* ---- contexts and mappings --------------------------------------------------- */

/**
 * struct dvq_ucontext - first member of a driver's context
 * @ibucontext: what the RDMA core knows of it
 * @key_slot: picks the range of mmap keys of this context, so that a key names one
 *	mapping among all contexts of the device (up to DVQ_KEY_SLOTS of them)
 * @changes: the page with struct dvq_changes, once somebody has asked for it
 */
struct dvq_ucontext {
	struct ib_ucontext ibucontext;
	int key_slot;
	/* private: dvq's own */
	struct dvq_mmap *changes;
};

/**
 * struct dvq_uid - names one object for ever; private to dvq
 * @node: in the table of those that user space has, and can ask for
 * @ctx: the context it was made in; NULL: it is the kernel's
 * @number: what it is called
 */
struct dvq_uid {
	struct hlist_node node;
	struct dvq_ucontext *ctx;
	u64 number;
};

int dvq_ucontext_init(struct dvq_ucontext *ctx);
void dvq_ucontext_cleanup(struct dvq_ucontext *ctx);

enum dvq_mmap_kind {
	DVQ_MMAP_REGISTERS,	/* device registers: uncached, store only */
	DVQ_MMAP_DEVICE_MEM,	/* device memory: write-combining, store only */
	DVQ_MMAP_PAGES,		/* dvq_ring memory: cached, load and store */
	DVQ_MMAP_PAGES_RO,	/* dvq_ring memory: cached, load only */
};

/**
 * struct dvq_mmap - something that user space may map
 * @rdma: the core's part; its last reference is dropped when the driver has removed
 *	it and no process maps it any more
 * @kind: what it is, which says how it is mapped
 * @phys: where it is: registers and device memory
 * @pages: the same of ring memory
 * @length: bytes, whole pages
 * @release: called then, before the struct is freed; may run under mmap_lock
 */
struct dvq_mmap {
	struct rdma_user_mmap_entry rdma;
	enum dvq_mmap_kind kind;
	union {
		phys_addr_t phys;
		void *pages;
	};
	size_t length;
	void (*release)(struct dvq_mmap *entry);
};

/**
 * dvq_mmap_insert() - offer a range of device address space to a context
 * @ctx: who may map it
 * @kind: DVQ_MMAP_REGISTERS or DVQ_MMAP_DEVICE_MEM
 * @phys: first byte, page aligned
 * @length: bytes, page aligned
 *
 * Return: the entry, to be given to dvq_mmap_remove(), or an ERR_PTR.
 */
struct dvq_mmap *dvq_mmap_insert(struct dvq_ucontext *ctx, enum dvq_mmap_kind kind,
				 phys_addr_t phys, size_t length);

/* NULL and ERR_PTR are fine. Mappings that exist stay valid. */
void dvq_mmap_remove(struct dvq_mmap *entry);

static inline u64 dvq_mmap_key(const struct dvq_mmap *entry)
{
	return entry ? rdma_user_mmap_get_offset(&entry->rdma) : 0;
}

/**
 * dvq_cmb_mmap() - take controller memory for a queue, and offer it to a context
 * @ctx: who may map it
 * @pool: where to take it from; NULL: from what the device has left
 * @cmb: what is wanted; filled with what it is
 * @kind: DVQ_MMAP_DEVICE_MEM or DVQ_MMAP_REGISTERS
 *
 * Return: the entry, to be given to dvq_mmap_remove() when the device has let go of the
 * memory, or an ERR_PTR. The memory goes back when no process maps it any more.
 */
struct dvq_mmap *dvq_cmb_mmap(struct dvq_ucontext *ctx, struct dvq_pool *pool,
			      struct dvq_cmb *cmb, enum dvq_mmap_kind kind);

/**
 * struct dvq_ring - ring memory of the kernel that user space and device share
 * @cpu: page-aligned, zeroed, physically contiguous
 * @dma: the device's address of it
 * @length: bytes, whole pages
 * @dir: which way it is mapped for DMA
 */
struct dvq_ring {
	void *cpu;
	dma_addr_t dma;
	size_t length;
	enum dma_data_direction dir;
};

int dvq_ring_alloc(struct dvq_device *dev, struct dvq_ring *ring, size_t bytes,
		   enum dma_data_direction dir);
/*
 * Fine on a ring that was never allocated. Pages that a process still maps, or is about
 * to, live on until it unmaps them; the device must have let go of them.
 */
void dvq_ring_free(struct dvq_device *dev, struct dvq_ring *ring);
struct dvq_mmap *dvq_ring_mmap(struct dvq_ucontext *ctx, const struct dvq_ring *ring,
			       enum dvq_mmap_kind kind);

/* ---- objects ------------------------------------------------------------------- */

/**
 * dvq_is_cleanup() - does the core clean up after somebody, rather than do as he asks?
 * @udata: of a destroy op
 *
 * Then the op must not fail: the core may have nobody else to try again, warns, and forgets
 * an object that the device still uses. A call has attributes, or came by write() and has
 * a length; cleaning up has neither. A creation whose answer cannot be given is undone with what
 * it had, a request to the driver, which no destroy op takes; who gives one nevertheless is not told
 * of a refusal.
 */
static inline bool dvq_is_cleanup(struct ib_udata *udata)
{
	struct uverbs_attr_bundle *attrs;

	if (!udata)
		return true;
	attrs = rdma_udata_to_uverbs_attr_bundle(udata);
	return udata->inlen || (bitmap_empty(attrs->attr_present, UVERBS_API_ATTR_BKEY_LEN) &&
				!attrs->ucore.inlen);
}

/* The same of a region, whose creation may have no request: nobody knows it yet. */
static inline bool dvq_mr_is_cleanup(const struct ib_mr *ibmr, struct ib_udata *udata)
{
	return dvq_is_cleanup(udata) || (ibmr->uobject && list_empty(&ibmr->uobject->list));
}

/**
 * dvq_mr_in_range() - is a memory region inside of all addresses, and not empty?
 * @iova: of its first byte
 * @length: in bytes
 *
 * Of a region across the end of all addresses not every kernel's umem says so.
 */
static inline bool dvq_mr_in_range(u64 iova, u64 length)
{
	return length && iova + length - 1 >= iova;
}

/**
 * struct dvq_pd - first member of a driver's PD
 * @ibpd: what the RDMA core knows of it
 * @lock: protects @policy and @pool
 * @policy: what queues of the PD may get
 * @pool: where from, or NULL
 */
struct dvq_pd {
	struct ib_pd ibpd;
	spinlock_t lock;
	struct dvq_pd_policy policy;
	struct dvq_pool *pool;
};

static inline struct dvq_pd *to_dvq_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct dvq_pd, ibpd);
}

void dvq_pd_init(struct dvq_pd *pd);
void dvq_pd_cleanup(struct dvq_pd *pd);

/* @pool: where to put the pool, to be given to dvq_pool_put() */
struct dvq_pd_policy dvq_pd_policy(struct dvq_pd *pd, struct dvq_pool **pool);

/* NULL is fine. */
void dvq_pool_put(struct dvq_pool *pool);
u64 dvq_pool_free_bytes(struct dvq_pool *pool);

#define DVQ_PIPELINES	2

/**
 * struct dvq_cq - first member of a driver's CQ
 * @ibcq: what the RDMA core knows of it
 * @ring: one record per pipeline; @ring[i].entries is 0 where the CQ has none. The
 *	uid and qps fields are filled by dvq.
 * @own: private to dvq; apart, so that a CQ of EFA is no larger than 512 bytes
 */
struct dvq_cq {
	struct ib_cq ibcq;
	struct dvq_cq_info ring[DVQ_PIPELINES];
	struct dvq_cq_own *own;
};

static inline struct dvq_cq *to_dvq_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct dvq_cq, ibcq);
}

/* After the records are filled; the counters start at 0. */
int dvq_cq_init(struct dvq_cq *cq, struct ib_udata *udata);
void dvq_cq_cleanup(struct dvq_cq *cq);

/**
 * struct dvq_qp - first member of a driver's QP
 * @ibqp: what the RDMA core knows of it
 * @info: the uid is filled by dvq, and resets counted
 * @sq: the send queue's record
 * @rq: the receive queue's record
 * @uid: its name, filled by dvq
 */
struct dvq_qp {
	struct ib_qp ibqp;
	struct dvq_qp_info info;
	struct dvq_wq_info sq;
	struct dvq_wq_info rq;
	struct dvq_uid uid;
};

static inline struct dvq_qp *to_dvq_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct dvq_qp, ibqp);
}

/*
 * After the records are filled: gives the QP its uid and counts it on both its CQs'
 * sub-CQs, those of its pipeline. dvq_qp_cleanup() when the device has let go of it.
 */
void dvq_qp_init(struct dvq_qp *qp, struct dvq_cq *send_cq, struct dvq_cq *recv_cq,
		 struct ib_udata *udata);
void dvq_qp_cleanup(struct dvq_qp *qp);
/* The device has brought it to RESET. The caller keeps two of these apart. */
void dvq_qp_was_reset(struct dvq_qp *qp);

/**
 * struct dvq_ah - first member of a driver's AH
 * @ibah: what the RDMA core knows of it
 * @ah_num: the device's number
 * @users: how many AHs share it; NULL: one
 */
struct dvq_ah {
	struct ib_ah ibah;
	u32 ah_num;
	refcount_t *users;
};

static inline struct dvq_ah *to_dvq_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct dvq_ah, ibah);
}

/* In the destroy op, when the number may become another's. */
void dvq_ah_cleanup(struct dvq_ah *ah);

#endif /* DVQ_CORE_H */
