/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Driver of the Amazon EFA adapter: what its files share.
 *
 *	main.c			PCI: probe, remove, shutdown, interrupt vectors
 *	mmio.c			registers
 *	device.c		reset, versions, attributes, failure
 *	admin.c			admin queue
 *	cmd.c			one function for each admin command
 *	event.c			interrupts, asynchronous events, event queues
 *	context.c pd.c ah.c cq.c qp.c mr.c	objects of the verbs
 *	pagelist.c		how the pages of an MR are told to the device
 *	query.c stats.c		device, port, statistics
 *	counter.c		completion counters, where the kernel has them
 *
 * A device fails once and for all (efa_device_fail()): when it leaves a command
 * without an answer, or is no longer on the bus. The admin queue is closed then, the
 * device is reset or cut off from memory (bus mastering), and users get
 * IB_EVENT_DEVICE_FATAL. A command that fails with -ETIME or -ENODEV does so only after
 * that, so nobody frees memory that the device may still use, and destroying an object
 * succeeds.
 *
 * Locks, outer first: efa_pd.ah_lock or efa_qp.lock; then, inside a command,
 * efa_admin.lock (a spinlock, also taken by interrupts). efa_mmio.lock is not taken
 * inside any other but efa_dev.stop_lock; efa_dev.quiet_lock is the innermost.
 */
#ifndef DVQ_EFA_H
#define DVQ_EFA_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/ratelimit.h>
#include <linux/rbtree.h>
#include <linux/semaphore.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include <hw/efa_admin.h>
#include <hw/efa_io.h>
#include <hw/efa_regs.h>
#include <rdma/dvq-efa-abi.h>

#include "dvq.h"

struct efa_dev;

/* ---- registers ------------------------------------------------------------------ */

/**
 * struct efa_mmio - registers; the CPU only stores, the device answers by DMA
 * @regs: BAR 0
 * @lock: serialises reads: @resp and @seq
 * @resp: where the device writes its answer
 * @resp_dma: the device's address of it
 * @seq: number of the last read
 * @timeout_us: how long a read may take
 */
struct efa_mmio {
	void __iomem *regs;
	struct mutex lock;
	struct efa_mmio_resp *resp;
	dma_addr_t resp_dma;
	u16 seq;
	u32 timeout_us;
};

int efa_mmio_init(struct efa_dev *dev);
void efa_mmio_cleanup(struct efa_dev *dev);
void efa_mmio_set_resp(struct efa_dev *dev);
int efa_mmio_read(struct efa_dev *dev, u32 reg, u32 *val);
void efa_mmio_write(struct efa_dev *dev, u32 reg, u32 val);

/* ---- admin queue ---------------------------------------------------------------- */

#define EFA_ADMIN_DEPTH		32	/* commands in flight; a power of two */

enum efa_admin_state {
	EFA_ADMIN_FREE,
	EFA_ADMIN_SUBMITTED,
	EFA_ADMIN_DONE,
};

/**
 * struct efa_admin_ctx - a command in flight
 * @done: completed together with the change to EFA_ADMIN_DONE
 * @state: who may touch the rest: nobody, the device's answer, the caller
 * @id: what the answer carries
 * @error: 0 or a negative errno, instead of an answer
 * @resp: where the answer goes
 * @resp_len: bytes of it that the caller wants
 */
struct efa_admin_ctx {
	struct completion done;
	enum efa_admin_state state;
	u16 id;
	int error;
	void *resp;
	size_t resp_len;
};

/**
 * struct efa_admin - the admin queue and its completion queue
 * @lock: protects all below up to @stats; taken by the interrupt handler
 * @open: commands are accepted
 * @checksum: completions carry a checksum
 * @aq: ring of commands
 * @acq: ring of completions
 * @aq_dma: the device's address of @aq
 * @acq_dma: the device's address of @acq
 * @submitted: commands ever put into @aq
 * @consumed: completions ever taken from @acq
 * @used: which contexts are not free
 * @ctx: the contexts; the low bits of a command id say which
 * @slots: counts the free contexts, so that callers sleep for one
 * @timeout: jiffies that a command may take
 * @poll: jiffies after which a waiter looks into @acq itself
 * @stats: counted at any time, read at any time
 */
struct efa_admin {
	spinlock_t lock;
	bool open;
	bool checksum;
	struct efa_aq_entry *aq;
	struct efa_acq_entry *acq;
	dma_addr_t aq_dma;
	dma_addr_t acq_dma;
	u32 submitted;
	u32 consumed;
	DECLARE_BITMAP(used, EFA_ADMIN_DEPTH);
	struct efa_admin_ctx ctx[EFA_ADMIN_DEPTH];

	struct semaphore slots;
	unsigned long timeout;
	unsigned long poll;

	struct {
		atomic64_t submitted;
		atomic64_t completed;
		atomic64_t errors;
		atomic64_t no_completion;
	} stats;
};

void efa_admin_init(struct efa_admin *admin);
int efa_admin_alloc(struct efa_dev *dev);
void efa_admin_start(struct efa_dev *dev);
void efa_admin_free(struct efa_dev *dev);
void efa_admin_close(struct efa_admin *admin);
bool efa_admin_drain(struct efa_dev *dev);
int efa_admin_exec(struct efa_dev *dev, void *cmd, size_t cmd_len, void *resp, size_t resp_len);

/* ---- events --------------------------------------------------------------------- */

struct efa_irq {
	int nr;
	char name[40];
};

/**
 * struct efa_aenq - queue of asynchronous events; touched by the handler of vector 0
 *	only, once that is installed
 * @ring: EFA_AENQ_DEPTH entries
 * @dma: the device's address of it
 * @consumed: events ever taken
 */
struct efa_aenq {
	struct efa_aenq_entry *ring;
	dma_addr_t dma;
	u32 consumed;
};

/**
 * struct efa_eq - queue of completion events; touched by its handler only, once that is
 *	installed, or with @drain_lock while the handler is kept out; but for @cqs
 * @dev: whose it is
 * @irq: its vector
 * @ring: @depth entries
 * @dma: the device's address of it
 * @depth: entries, a power of two
 * @consumed: events ever taken
 * @eqn: the device's number
 * @cqs: CQs that raise events here, by CQ index. Looked into by the handler, for which others
 *	are unknown: a CQ is freed after it was erased and this handler, no other, has been
 *	waited for. Its lock protects efa_cq.leaving, too.
 * @drain_lock: serialises efa_eq_drain(); protects @shut
 * @shut: the system goes down, and there is no handler any more, though there may be users
 */
struct efa_eq {
	struct efa_dev *dev;
	struct efa_irq irq;
	struct efa_eqe *ring;
	dma_addr_t dma;
	u32 depth;
	u32 consumed;
	u16 eqn;
	struct xarray cqs;
	struct mutex drain_lock;
	bool shut;
};

int efa_aenq_alloc(struct efa_dev *dev);
void efa_aenq_start(struct efa_dev *dev);
void efa_aenq_free(struct efa_dev *dev);
int efa_aenq_enable(struct efa_dev *dev);
int efa_mgmt_irq_request(struct efa_dev *dev);
void efa_mgmt_irq_free(struct efa_dev *dev);
int efa_eqs_create(struct efa_dev *dev);
void efa_eqs_destroy(struct efa_dev *dev);
void efa_eqs_free_irqs(struct efa_dev *dev);
void efa_eq_drain(struct efa_eq *eq);

/* ---- device --------------------------------------------------------------------- */

/**
 * struct efa_attr - what the device tells of itself, fields as in hw/efa_admin.h
 * @db_bar: checked: a BAR that exists and is ours
 */
struct efa_attr {
	u64 supported_features;
	u64 page_size_cap;
	u64 guid;
	u32 device_caps;
	u32 max_rdma_size;
	u32 max_link_speed_gbps;
	u32 db_bar;

	u32 max_qp;
	u32 max_sq_depth;
	u32 max_rq_depth;
	u32 max_cq;
	u32 max_cq_depth;
	u32 max_mr;
	u32 max_mr_pages;
	u32 max_pd;
	u32 max_ah;
	u32 max_llq_size;
	u16 sub_cqs_per_cq;
	u16 min_sq_depth;
	u16 max_send_sges;
	u16 max_recv_sges;
	u16 max_rdma_sges;
	u16 max_tx_batch;
	u32 inline_buf_size;
	u32 inline_buf_size_ex;

	u32 counter_events;
	u32 max_event_counters;
	u64 event_counter_max;

	union ib_gid gid;
	u32 mtu;

	u32 max_eq;
	u32 max_eq_depth;
};

/* failures of verbs, one counter each; stats.c has the names */
enum efa_verb_stat {
	EFA_STAT_ALLOC_PD,
	EFA_STAT_CREATE_QP,
	EFA_STAT_CREATE_CQ,
	EFA_STAT_REG_MR,
	EFA_STAT_ALLOC_UCONTEXT,
	EFA_STAT_CREATE_AH,
	EFA_STAT_VERBS,
};

/**
 * struct efa_dev - an adapter
 * @dvq: what dvq.ko and the RDMA core know of it
 * @pdev: the PCI function
 * @mmio: registers
 * @admin: admin queue
 * @aenq: asynchronous events
 * @mgmt_irq: vector 0, of @admin and @aenq
 * @eqs: completion event queues, @num_eqs of them
 * @num_eqs: may be 0
 * @num_vectors: MSI-X vectors that we have
 * @caps: register CAPS as read by the last reset
 * @attr: what the device tells of itself
 * @qp_generations: how many QPs the device has created in each slot of its table
 * @qp_mask: of the bits of a QP number that say the slot
 * @verb_errors: failed verbs, by enum efa_verb_stat
 * @keep_alives: keep-alive events so far
 * @registered: users may be told of a failure. Cleared, and @fail_work waited for,
 *	before the RDMA core forgets the device.
 * @fail_reason: for the reset that @fail_work does
 * @fail_work: stops a device that has failed
 * @fatal_work: tells users that the device has reported a fatal error
 * @fatal_limit: of how often: what users do not fetch stays in the kernel's memory
 * @stop_lock: serialises stopping the device
 * @quiet_lock: protects @quiet, and that nobody rings once it is set
 * @quiet: interrupts that are still under way ring no doorbell: the device is being reset
 * @stopped: the device has been reset or cut off: it touches no memory of ours
 */
struct efa_dev {
	struct dvq_device dvq;
	struct pci_dev *pdev;
	struct efa_mmio mmio;
	struct efa_admin admin;
	struct efa_aenq aenq;
	struct efa_irq mgmt_irq;
	struct efa_eq *eqs;
	unsigned int num_eqs;
	unsigned int num_vectors;
	u32 caps;
	struct efa_attr attr;
	atomic_t *qp_generations;
	u32 qp_mask;
	atomic64_t verb_errors[EFA_STAT_VERBS];
	atomic64_t keep_alives;
	bool registered;
	enum efa_reset_reason fail_reason;
	struct work_struct fail_work;
	struct work_struct fatal_work;
	struct ratelimit_state fatal_limit;
	struct mutex stop_lock;
	spinlock_t quiet_lock;
	bool quiet;
	struct completion stopped;
};

static inline struct efa_dev *to_efa_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct efa_dev, dvq.ibdev);
}

static inline bool efa_has_cap(const struct efa_dev *dev, u32 cap)
{
	return dev->attr.device_caps & cap;
}

#define EFA_COMP_CNTR_ENTRIES	2	/* event counters of a completion counter */

static inline bool efa_has_comp_cntrs(const struct efa_dev *dev)
{
	return efa_has_cap(dev, EFA_DEV_CAP_EVENT_COUNTERS) &&
	       dev->attr.max_event_counters >= EFA_COMP_CNTR_ENTRIES;
}

void efa_device_init(struct efa_dev *dev);
bool efa_device_is_present(struct efa_dev *dev);
int efa_device_reset(struct efa_dev *dev, enum efa_reset_reason reason);
int efa_device_check_versions(struct efa_dev *dev);
int efa_device_set_dma_width(struct efa_dev *dev);
int efa_device_is_ready(struct efa_dev *dev);
int efa_device_read_attr(struct efa_dev *dev);
int efa_device_read_hints(struct efa_dev *dev);
void efa_device_send_host_info(struct efa_dev *dev);
void efa_device_fail(struct efa_dev *dev, enum efa_reset_reason reason);
void efa_device_stop(struct efa_dev *dev, enum efa_reset_reason reason);
void efa_device_was_reset(struct efa_dev *dev);
void efa_device_halt(struct efa_dev *dev);

/*
 * What the result of a command means for the memory it was about: 0 when the device
 * does not use it any more, be it that it said so or that it has failed. In the latter
 * case efa_admin_exec() has waited until it was stopped.
 */
static inline int efa_settle(int ret)
{
	return ret == -ENODEV || ret == -ETIME ? 0 : ret;
}

/* ---- objects of the verbs --------------------------------------------------------- */

struct efa_ucontext {
	struct dvq_ucontext dvq;
	u16 uar;
};

/**
 * struct efa_pd - protection domain
 * @pdn: the device's number
 * @ah_lock: protects @ahs and the user counts of what is in it; held while the
 *	device creates or destroys an AH, so that it sees one AH per destination
 * @ahs: struct efa_shared_ah, by GID
 */
struct efa_pd {
	struct dvq_pd dvq;
	u16 pdn;
	struct mutex ah_lock;
	struct rb_root ahs;
};

/* An AH of the device: one per PD and destination, whatever the verbs create. */
struct efa_shared_ah {
	struct rb_node node;
	union ib_gid gid;
	refcount_t users;
	u16 ah_num;
};

struct efa_ah {
	struct dvq_ah dvq;
	struct efa_shared_ah *shared;
};

/**
 * struct efa_cq - completion queue
 * @leaving: the device is asked to destroy it, so another CQ may get the index. Protected by
 *	the lock of efa_eq.cqs; only with @eq.
 * @umem: memory of the creator, or NULL and the ring is in @ring
 * @eq: where its events go, or NULL
 */
struct efa_cq {
	struct dvq_cq dvq;
	u16 cq_idx;
	bool leaving;
	struct dvq_ring ring;
	struct ib_umem *umem;
	struct efa_eq *eq;
	struct dvq_mmap *ring_mmap;
	struct dvq_mmap *db_mmap;
};

/**
 * struct efa_qp - queue pair
 * @lock: serialises state changes and destruction: @state, @alive and what the
 *	device has
 * @state: what the device was told last
 * @alive: the device knows the QP, so a query may ask for it
 * @handle: names the QP in commands
 * @cap: as created
 * @rq_ring: not allocated if there is no receive queue
 */
struct efa_qp {
	struct dvq_qp dvq;
	struct mutex lock;
	enum ib_qp_state state;
	bool alive;
	u32 handle;
	struct ib_qp_cap cap;
	struct dvq_ring rq_ring;
	struct dvq_mmap *rq_mmap;
	struct dvq_mmap *rq_db_mmap;
	struct dvq_mmap *sq_mmap;
	struct dvq_mmap *sq_db_mmap;
};

struct efa_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;
	struct efa_reg_mr_resp resp;
};

static inline struct efa_ucontext *to_efa_ucontext(struct ib_ucontext *ibctx)
{
	return container_of(ibctx, struct efa_ucontext, dvq.ibucontext);
}

static inline struct efa_pd *to_efa_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct efa_pd, dvq.ibpd);
}

static inline struct efa_ah *to_efa_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct efa_ah, dvq.ibah);
}

static inline struct efa_cq *to_efa_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct efa_cq, dvq.ibcq);
}

static inline struct efa_qp *to_efa_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct efa_qp, dvq.ibqp);
}

static inline struct efa_mr *to_efa_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct efa_mr, ibmr);
}

int efa_alloc_ucontext(struct ib_ucontext *ibctx, struct ib_udata *udata);
void efa_dealloc_ucontext(struct ib_ucontext *ibctx);
void efa_disassociate_ucontext(struct ib_ucontext *ibctx);
struct dvq_mmap *efa_mmap_bar(struct efa_ucontext *ctx, enum dvq_mmap_kind kind, u32 bar,
			      u32 offset, u32 length, u32 *in_page);

int efa_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int efa_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

int efa_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
int efa_destroy_ah(struct ib_ah *ibah, u32 flags);

int efa_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		       struct uverbs_attr_bundle *attrs);
int efa_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);

int efa_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int efa_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int efa_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init_attr);
int efa_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

struct ib_mr *efa_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 virt_addr,
			      int access, struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *efa_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 virt_addr,
				     int fd, int access, struct ib_dmah *dmah,
				     struct uverbs_attr_bundle *attrs);
int efa_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
extern const struct uapi_definition efa_mr_defs[];

void efa_set_comp_cntr_ops(struct efa_dev *dev);
extern const struct uapi_definition efa_comp_cntr_defs[];

int efa_query_device(struct ib_device *ibdev, struct ib_device_attr *attr, struct ib_udata *udata);
int efa_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int efa_query_port_speed(struct ib_device *ibdev, u32 port, u64 *speed);
int efa_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int efa_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
enum rdma_link_layer efa_get_link_layer(struct ib_device *ibdev, u32 port);
int efa_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable);
void efa_fill_device_info(struct efa_dev *dev);

struct rdma_hw_stats *efa_alloc_hw_device_stats(struct ib_device *ibdev);
struct rdma_hw_stats *efa_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int efa_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats, u32 port, int index);

static inline void efa_count_error(struct efa_dev *dev, enum efa_verb_stat stat)
{
	atomic64_inc(&dev->verb_errors[stat]);
}

#endif /* DVQ_EFA_H */
