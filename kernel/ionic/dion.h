/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Driver of the RDMA side of the AMD Pensando ionic adapter: what its files share.
 *
 *	main.c			auxiliary device: probe, remove
 *	ethernet.c ethernet.sh	what is taken from ionic.ko, the Ethernet driver
 *	device.c		reset and failure
 *	admin.c			RDMA admin queues
 *	event.c			interrupts, event queues
 *	context.c pd.c ah.c cq.c qp.c modify.c mr.c	objects of the verbs
 *	place.c			controller memory for work queues
 *	post.c poll.c fastreg.c	work requests, completions and regions of the kernel
 *	header.c		what packets begin with
 *	pagelist.c		how the pages of a ring or MR are told to the device
 *	number.c		numbers of objects, which are the driver's to choose
 *	query.c stats.c		device, port, counters
 *
 * Names begin with dion_: ionic_ is what include/hw/ gives the adapter's layouts and
 * ionic.ko its own structs, which ethernet.c finds by their names.
 *
 * The RDMA side fails once and for all (dion_device_fail()): when an admin command
 * stays without an answer. It is reset then, so that it touches no memory of ours,
 * the admin queues are closed, and users get IB_EVENT_DEVICE_FATAL. Commands fail
 * with -ENODEV from then on, and destroying an object succeeds. What brings it back
 * is a new auxiliary device: ionic.ko makes one after a reset of the adapter or its
 * firmware, or the driver is bound again.
 *
 * Locks: dion_qp.lock is held across commands, which take dion_aq.lock (a spinlock, also
 * taken by interrupts). dion_dev.stop_lock is not taken inside any other. Those of the
 * kernel's queues are spinlocks for any context: the lock of dion_dev.qps, inside it
 * dion_cq_ring.lock, inside that one of dion_sends.lock and dion_recvs.lock. Whoever is told
 * of completions under dion_cq.tell_lock may poll, arm and post, so it is outside of the
 * last three.
 */
#ifndef DION_H
#define DION_H

#include <linux/auxiliary_bus.h>
#include <linux/bitfield.h>
#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include <hw/ionic_cmd.h>
#include <hw/ionic_identity.h>
#include <hw/ionic_rdma_admin.h>
#include <hw/ionic_rdma_io.h>
#include <hw/ionic_regs.h>
#include <rdma/dvq-ionic-abi.h>

#include "dvq.h"

struct dion_dev;
struct ionic_lif;

#define DION_PIPELINES		DVQ_PIPELINES	/* choice: the adapter does not tell */
#define DION_ALL_PIPELINES	(BIT(DION_PIPELINES) - 1)

#define DION_MAX_PD		1024
#define DION_MAX_AQ		4
#define DION_MIN_EQ		4	/* two for QP events, a pair for completions */
#define DION_MAX_EQ		32
#define DION_MAX_SGE		8
#define DION_MAX_SPEC		8
#define DION_MAX_RD_ATOMIC	16
#define DION_MAX_WR		(BIT(16) - 1)
#define DION_MAX_CQE		(DION_MAX_WR - IONIC_CQE_SPARE)

/* ---- the Ethernet driver ----------------------------------------------------- */

#define DION_EXPRESS_SIZES	4	/* of entries: 64, 128, 256, 512 bytes */
#define DION_EXPRESS_LOG2_MIN	6

/**
 * struct dion_ethernet - what ionic.ko has told of the adapter, read once at probe
 * @lif: its handle, for calls into it
 * @pdev: the PCI function
 * @netdev: the Ethernet port; held
 * @tracker: of that reference
 * @lif_index: names the LIF in commands
 * @doorbells: doorbell page of process id (pid) 0; that of others follow
 * @pids: doorbell pages that there are
 * @kernel_doorbells: page 0, mapped
 * @interrupts: registers of interrupt 0; those of others follow
 * @eqs: event queues that there are interrupts for
 * @rdma: the RDMA part of what the LIF says of itself
 * @express_queues: mask of enum dvq_ionic_expdb_queues
 * @express_sizes: mask of enum dvq_ionic_expdb_sizes
 * @express_windows: for each of them where controller memory is seen with express
 *	doorbells, or 0
 * @cmb_bytes: controller memory, 0: none
 * @asic_rev: revision of the chip
 * @fw_version: of the firmware, terminated
 */
struct dion_ethernet {
	struct ionic_lif *lif;
	struct pci_dev *pdev;
	struct net_device *netdev;
	netdevice_tracker tracker;
	u16 lif_index;
	phys_addr_t doorbells;
	u32 pids;
	u64 __iomem *kernel_doorbells;
	u8 __iomem *interrupts;
	u32 eqs;
	struct ionic_rdma_identity rdma;
	u8 express_queues;
	u8 express_sizes;
	phys_addr_t express_windows[DION_EXPRESS_SIZES];
	u64 cmb_bytes;
	u8 asic_rev;
	char fw_version[IONIC_REG_TEXT_SIZE + 1];
};

int dion_ethernet_check(struct device *dev);
int dion_ethernet_open(struct dion_ethernet *eth, struct auxiliary_device *adev);
void dion_ethernet_close(struct dion_ethernet *eth);
int dion_ethernet_exec(const struct dion_ethernet *eth, const void *req);
void dion_ethernet_reset_rdma(const struct dion_ethernet *eth);
int dion_ethernet_get_interrupt(const struct dion_ethernet *eth, u32 *index, int *vector);
void dion_ethernet_put_interrupt(const struct dion_ethernet *eth, u32 index);
int dion_ethernet_get_cmb(const struct dion_ethernet *eth, int order, u8 stride_log2,
			  u32 *page, phys_addr_t *addr, bool *express);
void dion_ethernet_put_cmb(const struct dion_ethernet *eth, u32 page, int order);

/* ---- numbers ----------------------------------------------------------------- */

/**
 * struct dion_numbers - a range of numbers, given out in turn so that one comes again
 *	as late as possible
 * @used: which are in use
 * @first: least
 * @last: greatest
 * @next: where to look first; a hint, so it needs no lock
 */
struct dion_numbers {
	struct ida used;
	u32 first;
	u32 last;
	u32 next;
};

void dion_numbers_init(struct dion_numbers *numbers, u32 first, u32 last);
void dion_numbers_cleanup(struct dion_numbers *numbers);
int dion_numbers_get(struct dion_numbers *numbers, gfp_t gfp);
void dion_numbers_put(struct dion_numbers *numbers, u32 number);

/**
 * struct dion_qids - queue ids, which say the pipeline of the queue: groups of 2^shift
 *	ids belong to one and the other in turn
 * @pipelines: numbers within a pipeline
 * @base: first id
 * @shift: log2 of the ids of a group
 * @rotor: which pipeline gets the next queue that may be on either
 */
struct dion_qids {
	struct dion_numbers pipelines[DION_PIPELINES];
	u32 base;
	u8 shift;
	atomic_t rotor;
};

int dion_qids_init(struct dion_qids *qids, u32 base, u32 count, u8 shift);
void dion_qids_cleanup(struct dion_qids *qids);
int dion_qids_reserve(struct dion_qids *qids, u32 qid);
int dion_qids_get(struct dion_qids *qids, u8 pipelines, u32 *qid);
void dion_qids_put(struct dion_qids *qids, u32 qid);
u8 dion_qids_pipeline(const struct dion_qids *qids, u32 qid);

/* ---- events ------------------------------------------------------------------ */

/**
 * struct dion_hw_cq - a CQ of the device, as event handlers find it
 * @id: its number
 * @notify: called when it was armed and something came; in interrupts
 * @failed: called when the device says that it is broken; in interrupts
 * @users: handlers that are at it, and one for being known
 * @unused: completed when there are none
 */
struct dion_hw_cq {
	u32 id;
	void (*notify)(struct dion_hw_cq *cq);
	void (*failed)(struct dion_hw_cq *cq);
	refcount_t users;
	struct completion unused;
};

int dion_hw_cq_add(struct dion_dev *dev, struct dion_hw_cq *cq);
void dion_hw_cq_del(struct dion_dev *dev, struct dion_hw_cq *cq);

/**
 * struct dion_eq - an event queue; its ring is touched by one handler at a time
 * @dev: whose it is
 * @ring: of events
 * @dma: the device's address of it
 * @depth_log2: log2 of its events
 * @taken: events ever taken
 * @busy: bit 0: a handler is at it
 * @interrupt: index of its registers
 * @vector: Linux interrupt
 * @name: of the interrupt
 */
struct dion_eq {
	struct dion_dev *dev;
	struct ionic_eqe *ring;
	dma_addr_t dma;
	u8 depth_log2;
	u32 taken;
	unsigned long busy;
	u32 interrupt;
	int vector;
	char name[40];
};

int dion_eqs_create(struct dion_dev *dev);
void dion_eqs_destroy(struct dion_dev *dev);
u32 dion_eq_for(const struct dion_dev *dev, u32 comp_vector, u8 pipeline);

/* ---- admin queues ------------------------------------------------------------ */

/**
 * struct dion_aq - an RDMA admin queue and its CQ
 * @dev: whose it is
 * @id: its number
 * @cq: its CQ, as event handlers find it
 * @slots: ring of commands
 * @cqes: ring of completions
 * @slots_dma: the device's address of @slots
 * @cqes_dma: the device's address of @cqes
 * @lock: protects all below; taken by the interrupt handler
 * @open: commands are accepted
 * @paused: but not given to the device
 * @waiting: commands that the device does not have yet, oldest first
 * @running: commands that it has, oldest first
 * @posted: slots ever filled
 * @finished: slots ever given back
 * @answers: completions ever taken
 * @arms: how often the CQ was armed
 * @in_flight: length of @running
 * @progress: jiffies when it last moved
 * @watchdog: looks after it while something is running
 */
struct dion_aq {
	struct dion_dev *dev;
	u32 id;
	struct dion_hw_cq cq;
	u8 *slots;
	struct ionic_aq_cqe *cqes;
	dma_addr_t slots_dma;
	dma_addr_t cqes_dma;

	spinlock_t lock;
	bool open;
	bool paused;
	struct list_head waiting;
	struct list_head running;
	u32 posted;
	u32 finished;
	u32 answers;
	u32 arms;
	u32 in_flight;
	unsigned long progress;
	struct delayed_work watchdog;
};

/* Header of a command: DION_AQ_HEADER(CREATE_CQ, struct ionic_aq_create_cq) */
#define DION_AQ_HEADER(opcode, type) {						\
	.op = IONIC_AQ_##opcode,						\
	.len = cpu_to_le16(sizeof(type) - sizeof(struct ionic_aq_header)),	\
}

int dion_admin_create(struct dion_dev *dev);
void dion_admin_destroy(struct dion_dev *dev);
void dion_admin_pause(struct dion_dev *dev);
void dion_admin_close(struct dion_dev *dev);
int dion_admin_exec(struct dion_dev *dev, const void *cmd);
int dion_admin_exec_atomic(struct dion_dev *dev, const void *cmd);
int dion_admin_ask_destroy(struct dion_dev *dev, enum ionic_aq_op op, u32 id);
int dion_admin_refused(struct dion_dev *dev, enum ionic_aq_op op, u32 id, int ret, bool *refused);
int dion_admin_exec_destroy(struct dion_dev *dev, enum ionic_aq_op op, u32 id, bool *refused);
bool dion_admin_forget(struct dion_dev *dev, enum ionic_aq_op op, u32 id);
int dion_admin_exec_stats(struct dion_dev *dev, enum ionic_aq_op op, u32 qp, dma_addr_t addr,
			  size_t length);

/**
 * typedef dion_gone_fn - what is done when the device has let go of an object, or has not;
 *	in any context
 * @dev: the device
 * @id: of the object
 * @ret: 0 or a negative errno
 */
typedef void (*dion_gone_fn)(struct dion_dev *dev, u32 id, int ret);

struct dion_farewell;

struct dion_farewell *dion_farewell_new(struct dion_dev *dev, enum ionic_aq_op op,
					dion_gone_fn gone, gfp_t gfp);
void dion_farewell_free(struct dion_farewell *farewell);
void dion_farewell_send(struct dion_farewell *farewell, u32 id);

/* ---- device ------------------------------------------------------------------ */

/**
 * struct dion_stats - counters that the device has
 * @descs: their names, as the core wants them
 * @places: type and offset of each value
 * @count: how many
 * @of_port: how many of them, the first, are the port's; the others are those of a QP
 */
struct dion_stats {
	struct rdma_stat_desc *descs;
	u32 *places;
	unsigned int count;
	unsigned int of_port;
};

/**
 * struct dion_dev - an adapter
 * @dvq: what dvq.ko and the RDMA core know of it
 * @eth: what the Ethernet driver has told
 * @eqs: event queues, @num_eqs of them
 * @num_eqs: at least DION_MIN_EQ; one without a partner stays idle
 * @aqs: admin queues, @num_aqs of them
 * @num_aqs: at least one
 * @work: for the watchdogs of admin queues, @fail_work and those who tell of flushes; nothing on
 *	it waits for an admin command
 * @qp_work: for events of QPs, which wait for commands and for users, however many there are
 * @hw_cqs: struct dion_hw_cq by number; its lock is taken by interrupts
 * @qps: struct dion_qp by number; the same
 * @pids: doorbell pages of contexts
 * @pds: numbers of PDs
 * @ahs: numbers of AHs; a connected QP takes one too
 * @mrs: indices of keys
 * @key_tag: low bits of the last key given out
 * @cq_ids: numbers of CQs
 * @qp_ids: numbers of QPs
 * @gsi: bit 0: there is the QP of the communication manager
 * @abandoned: headers that the device did not say it has read
 * @counters: numbers of counters
 * @qp_generations: how many QPs there were of each number
 * @stats: counters of the port and of QPs
 * @fail_work: stops a device that has failed
 * @stop_lock: protects @stopped; held while it is set and while admin queues are opened
 * @stopped: the device has been reset: it touches no memory of ours
 * @flushed: the kernel's queues are flushed, and so is each that is opened from then on
 * @registered: users may be told of a failure. Cleared, and @fail_work waited for,
 *	before the RDMA core forgets the device.
 */
struct dion_dev {
	struct dvq_device dvq;
	struct dion_ethernet eth;
	unsigned int eth_max_seg;	/* bytes; of the DMA device, and its again when we go */

	struct dion_eq *eqs;
	unsigned int num_eqs;
	struct dion_aq *aqs;
	unsigned int num_aqs;
	struct workqueue_struct *work;
	struct workqueue_struct *qp_work;
	struct xarray hw_cqs;
	struct xarray qps;

	struct dion_numbers pids;
	struct dion_numbers pds;
	struct dion_numbers ahs;
	struct dion_numbers mrs;
	struct dion_numbers counters;
	atomic_t key_tag;
	struct dion_qids cq_ids;
	struct dion_qids qp_ids;
	unsigned long gsi;
	struct llist_head abandoned;
	atomic_t *qp_generations;

	struct dion_stats stats;

	struct work_struct fail_work;
	struct mutex stop_lock;
	bool stopped;
	bool flushed;
	bool registered;
};

static inline struct dion_dev *to_dion_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct dion_dev, dvq.ibdev);
}

static inline struct device *dion_dma_device(struct dion_dev *dev)
{
	return &dev->eth.pdev->dev;
}

/* What was stored to rings before is seen before: writeq() orders it. */
static inline void dion_ring_doorbell(struct dion_dev *dev, u8 qtype, u32 qid, u8 ring, u16 index)
{
	writeq(FIELD_PREP(IONIC_DB_QID, (u64)qid) | FIELD_PREP(IONIC_DB_RING, (u64)ring) | index,
	       &dev->eth.kernel_doorbells[qtype]);
}

int dion_device_reset(struct dion_dev *dev);
void dion_device_fail(struct dion_dev *dev);
void dion_device_stop(struct dion_dev *dev);
void dion_device_init(struct dion_dev *dev);

/* ---- memory ------------------------------------------------------------------ */

/**
 * struct dion_pagelist - memory as a command describes it
 * @pages: pages; 1 is contiguous memory
 * @addr: where it is, or where the table is
 * @page_log2: log2 of the bytes of a page
 * @table: for more than one page: their addresses; needed until the command is done
 * @table_bytes: its size
 */
struct dion_pagelist {
	u32 pages;
	dma_addr_t addr;
	u8 page_log2;
	__le64 *table;
	size_t table_bytes;
};

int dion_pagelist_init(struct dion_dev *dev, struct dion_pagelist *list, struct ib_umem *umem,
		       unsigned long page_size, u64 iova);
int dion_pagelist_init_ring(struct dion_dev *dev, struct dion_pagelist *list,
			    struct ib_umem *umem, size_t bytes);
void dion_pagelist_cleanup(struct dion_dev *dev, struct dion_pagelist *list);

/**
 * struct dion_header - what packets to a peer begin with
 * @abandoned: in dion_dev.abandoned
 * @addr: where the device reads it
 * @bytes: of the header, followed by room for the transport's
 * @len: of the header
 * @profile: enum ionic_hdr_profile
 */
struct dion_header {
	struct llist_node abandoned;
	dma_addr_t addr;
	u8 bytes[IONIC_HDR_LEN_IPV6 + IONIC_HDR_LEN_VLAN + 20];
	u8 len;
	u8 profile;
};

struct dion_header *dion_header_new(const struct rdma_ah_attr *attr, u16 udp_port, u8 ecn,
				    gfp_t gfp);

/**
 * struct dion_memory - ring of a queue of the kernel
 * @cpu: where it is; NULL: it is a user's
 * @dma: the device's address of it
 * @bytes: its size
 */
struct dion_memory {
	void *cpu;
	dma_addr_t dma;
	size_t bytes;
};

int dion_memory_get(struct dion_dev *dev, struct dion_memory *memory, size_t bytes);
void dion_memory_put(struct dion_dev *dev, struct dion_memory *memory);

/* ---- objects of the verbs ---------------------------------------------------- */

struct dion_ucontext {
	struct dvq_ucontext dvq;
	u16 pid;
	struct dvq_mmap *doorbells;
};

/**
 * struct dion_pd - protection domain
 * @dvq: what dvq.ko and the RDMA core know of it
 * @id: its number
 * @privileges: of its QPs, mask of IONIC_QP_PRIVILEGED and IONIC_QP_REMOTE_PRIV; only a PD of
 *	the kernel has any
 * @windows_made: windows that there ever were, and that are about to be
 * @windows_gone: how many of them the device has let go of
 */
struct dion_pd {
	struct dvq_pd dvq;
	u32 id;
	u16 privileges;
	atomic_t windows_made;
	atomic_t windows_gone;
};

/**
 * struct dion_ah - address handle
 * @dvq: what dvq.ko and the RDMA core know of it
 * @attr: the address, without the reference to the GID
 * @farewell: destroys one of the kernel's, which may be in any context then
 */
struct dion_ah {
	struct dvq_ah dvq;
	struct rdma_ah_attr attr;
	struct dion_farewell *farewell;
};

/**
 * struct dion_mr - memory region
 * @ibmr: what the RDMA core knows of it
 * @umem: its memory, if it is a user's
 * @table: for regions that requests register: addresses of their pages. The device reads
 *	it when it executes the request.
 * @only_page: the same if there is room for one page only
 * @max_pages: room in @table
 * @pages: pages that are there
 * @refused: the device has refused to destroy it
 */
struct dion_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;
	struct dion_memory table;
	u64 only_page;
	u32 max_pages;
	u32 pages;
	bool refused;
};

/* nothing of ours, but the core wants a struct */
struct dion_mw {
	struct ib_mw ibmw;
};

/**
 * struct dion_arms - arms of one kind of a ring of the kernel
 * @count: how often it was armed, as the doorbells count; protected by the ring's lock
 * @answered: what @count was at the last event; written by its handler without the lock
 */
struct dion_arms {
	u32 count;
	u32 answered;
};

/**
 * struct dion_cq_ring - the ring of a CQ on one pipeline
 * @hw: as event handlers find it
 * @cq: whose it is
 * @umem: its memory, if it is a user's
 * @refused: the device has refused to destroy it
 * @memory: its memory, if it is the kernel's: only those use what follows
 * @depth_log2: log2 of its entries
 * @slack: entries that may be taken before the device has to be told
 * @qps: struct dion_qp by number, those that deliver here
 * @lock: protects the rest, and lets a QP that is in @qps stay
 * @taken: entries ever taken
 * @told: how many of them the device knows of
 * @any: its arms for any completion
 * @solicited: those for solicited completions only
 * @mixed: written as dion_arms.answered: an event came with arms of both kinds unanswered, and nobody knows whether it answered both
 * @ready: send queues that may have something to report (dion_sends.ready)
 * @flush_sends: those to report as flushed when no entry is left (dion_sends.flush)
 * @flush_recvs: receive queues of that kind (dion_recvs.flush)
 */
struct dion_cq_ring {
	struct dion_hw_cq hw;
	struct dion_cq *cq;
	struct ib_umem *umem;
	bool refused;

	struct dion_memory memory;
	u8 depth_log2;
	u32 slack;
	struct xarray qps;
	spinlock_t lock;
	u32 taken;
	u32 told;
	struct dion_arms any;
	struct dion_arms solicited;
	bool mixed;
	struct list_head ready;
	struct list_head flush_sends;
	struct list_head flush_recvs;
};

/**
 * struct dion_cq - completion queue
 * @dvq: what dvq.ko and the RDMA core know of it
 * @pipelines: mask of those that it has a ring on
 * @rings: by pipeline
 * @created: its creation can no longer fail, so its events are told
 * @armed: of the kernel: bit 0: somebody wants to be told of what comes next
 * @turn: of the kernel: which ring is polled first; a hint, so it needs no lock
 * @flush_work: of the kernel: tells of queues to be flushed
 * @tell_lock: of the kernel: protects that nobody is told any more once @closed is set
 * @closed: it is about to go
 */
struct dion_cq {
	struct dvq_cq dvq;
	u8 pipelines;
	struct dion_cq_ring rings[DION_PIPELINES];
	bool created;
	unsigned long armed;
	u8 turn;
	struct work_struct flush_work;
	spinlock_t tell_lock;
	bool closed;
};

/* What a queue of the kernel does with requests. */
enum dion_flow {
	DION_CLOSED,	/* refuse them */
	DION_OPEN,	/* give them to the device */
	DION_FLUSHING,	/* the same, and report all as flushed when no completion is left */
};

/**
 * struct dion_send - a send request of the kernel, until it is reported
 * @wr_id: as given
 * @length: bytes of the message
 * @message: number of a message to a peer, counted since RESET
 * @opcode: enum ib_wc_opcode
 * @status: enum ionic_io_status
 * @remote: it is finished when its message is; otherwise when it is @done
 * @done: finished
 * @signaled: reported in any case; otherwise only if it fails
 */
struct dion_send {
	u64 wr_id;
	u32 length;
	u32 message;
	u8 opcode;
	u8 status;
	bool remote;
	bool done;
	bool signaled;
};

/**
 * struct dion_sends - send queue of the kernel
 * @by_slot: requests
 * @lock: protects what follows, and @by_slot
 * @flow: what is done with requests
 * @posted: requests ever posted
 * @retired: requests ever taken off the ring, which happens in its order
 * @messages: messages ever posted
 * @finished: messages ever finished
 * @ready: in dion_cq_ring.ready, under its lock
 * @flush: in dion_cq_ring.flush_sends, under its lock
 */
struct dion_sends {
	struct dion_send *by_slot;
	spinlock_t lock;
	enum dion_flow flow;
	u32 posted;
	u32 retired;
	u32 messages;
	u32 finished;
	struct list_head ready;
	struct list_head flush;
};

/**
 * struct dion_recv - room for a receive request of the kernel
 * @entry: in dion_recvs.used or .unused
 * @wr_id: as given
 * @used: there is one
 */
struct dion_recv {
	struct list_head entry;
	u64 wr_id;
	bool used;
};

/**
 * struct dion_recvs - receive queue of the kernel
 * @by_token: requests; the device names them by their place here, in any order
 * @lock: protects what follows, and @by_token
 * @flow: what is done with requests
 * @posted: requests ever posted
 * @used: those that the device has, oldest first
 * @unused: room for others
 * @flush: in dion_cq_ring.flush_recvs, under its lock
 */
struct dion_recvs {
	struct dion_recv *by_token;
	spinlock_t lock;
	enum dion_flow flow;
	u32 posted;
	struct list_head used;
	struct list_head unused;
	struct list_head flush;
};

/**
 * struct dion_work - what the kernel has to know of a QP that it posts to
 * @qp: whose it is
 * @sends: send queue
 * @recvs: receive queue
 * @send_ring: where sends are completed
 * @recv_ring: where receives are
 */
struct dion_work {
	struct dion_qp *qp;
	struct dion_sends sends;
	struct dion_recvs recvs;
	struct dion_cq_ring *send_ring;
	struct dion_cq_ring *recv_ring;
};

/**
 * struct dion_wq - send or receive queue of a QP
 * @ring: as the creator has described it
 * @spec: most SGEs of an entry that begins with their lengths
 * @umem: its memory, if it is a user's
 * @memory: its memory, if it is the kernel's
 * @cmb: its memory, if it is in the controller's
 * @cmb_offset: of that, as the device counts
 * @placed: mask of enum dvq_ionic_cmb, 0: host memory
 */
struct dion_wq {
	struct dvq_ionic_ring ring;
	u8 spec;
	struct ib_umem *umem;
	struct dion_memory memory;
	struct dvq_mmap *cmb;
	u64 cmb_offset;
	u8 placed;
};

/**
 * struct dion_qp - queue pair
 * @dvq: what dvq.ko and the RDMA core know of it
 * @lock: serialises state changes: @state and what the device has; protects from @av to
 *	@max_dest_rd_atomic
 * @state: what the device was told last
 * @sq: send queue
 * @rq: receive queue
 * @cap: as created
 * @sig_type: as created
 * @ah_num: number of the address of a connected QP
 * @av: that address, without the reference to the GID
 * @dest_qpn: QP number of the peer
 * @access: of the peer, mask of IONIC_QP_REMOTE_*
 * @privileges: its PD's
 * @max_rd_atomic: as asked for
 * @max_dest_rd_atomic: as asked for
 * @events: events that @event_work has not delivered yet, by code; DION_QP_BROKEN is ours
 * @event_work: delivers them
 * @created: its creation can no longer fail, so its events are told
 * @refused: the device has refused to destroy it
 * @gone: the device has destroyed it; under @lock
 * @work: NULL: a user posts and polls
 */
struct dion_qp {
	struct dvq_qp dvq;
	struct mutex lock;
	enum ib_qp_state state;
	struct dion_wq sq;
	struct dion_wq rq;
	struct ib_qp_cap cap;
	enum ib_sig_type sig_type;
	u32 ah_num;
	struct rdma_ah_attr av;
	u32 dest_qpn;
	u16 access;
	u16 privileges;
	u8 max_rd_atomic;
	u8 max_dest_rd_atomic;
	unsigned long events;
	struct work_struct event_work;
	bool created;
	bool refused;
	bool gone;
	struct dion_work *work;
};

#define DION_QP_BROKEN	16	/* behind the codes of the device, which have four bits */

/**
 * struct dion_counter - counter that QPs are bound to
 * @counter: what the RDMA core knows of it
 * @qps: by number of each what it had counted when it was bound; protected by the core's lock of
 *	the counter
 * @past: what those that are no longer bound have counted meanwhile; the same
 */
struct dion_counter {
	struct rdma_counter counter;
	struct xarray qps;
	u64 *past;
};

static inline struct dion_ucontext *to_dion_ucontext(struct ib_ucontext *ibctx)
{
	return container_of(ibctx, struct dion_ucontext, dvq.ibucontext);
}

static inline struct dion_pd *to_dion_pd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct dion_pd, dvq.ibpd);
}

static inline struct dion_ah *to_dion_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct dion_ah, dvq.ibah);
}

static inline struct dion_mr *to_dion_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct dion_mr, ibmr);
}

static inline struct dion_cq *to_dion_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct dion_cq, dvq.ibcq);
}

static inline struct dion_qp *to_dion_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct dion_qp, dvq.ibqp);
}

int dion_alloc_ucontext(struct ib_ucontext *ibctx, struct ib_udata *udata);
void dion_dealloc_ucontext(struct ib_ucontext *ibctx);
void dion_disassociate_ucontext(struct ib_ucontext *ibctx);

int dion_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int dion_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

int dion_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr, struct ib_udata *udata);
int dion_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
			struct ib_udata *udata);
int dion_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int dion_destroy_ah(struct ib_ah *ibah, u32 flags);
void dion_free_abandoned(struct dion_dev *dev);

int dion_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   struct uverbs_attr_bundle *attrs);
int dion_create_user_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			struct uverbs_attr_bundle *attrs);
int dion_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);

/* what the device takes of it; the creator may have given more */
static inline size_t dion_ring_bytes(const struct dvq_ionic_ring *ring)
{
	return BIT_ULL(ring->depth_log2 + ring->stride_log2);
}

int dion_ring_check(struct dion_dev *dev, const struct dvq_ionic_ring *ring, u8 stride_min,
		    u8 stride_max);

int dion_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int dion_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int dion_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr);
int dion_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void dion_qp_event(struct dion_dev *dev, u32 qid, u8 code);
u16 dion_qp_flags(const struct dion_qp *qp);
int dion_qp_break(struct dion_qp *qp);

int dion_work_create(struct dion_qp *qp, const struct ib_qp_init_attr *attr);
void dion_work_destroy(struct dion_qp *qp);
int dion_work_attach(struct dion_qp *qp);
void dion_work_detach(struct dion_qp *qp);
void dion_work_state(struct dion_qp *qp, enum ib_qp_state state, enum ib_qp_state from);
void dion_work_flush(struct dion_work *work);
void dion_work_flush_all(struct dion_dev *dev);
void dion_flush_more_sends(struct dion_work *work);
void dion_flush_more_recvs(struct dion_work *work);
int dion_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad);
int dion_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad);
void dion_cq_ring_init(struct dion_cq_ring *ring);
void dion_cq_flush_work(struct work_struct *work);
int dion_poll_cq(struct ib_cq *ibcq, int wanted, struct ib_wc *wc);
void dion_cq_tell(struct dion_cq *cq);
void dion_cq_ring_answered(struct dion_cq_ring *ring);
int dion_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

extern const struct dvq_ops dion_dvq_ops;
int dion_place(struct dion_ucontext *ctx, struct dvq_pd *pd, enum dvq_wq_kind kind, u8 wish,
	       struct dion_wq *wq);
void dion_unplace(struct dion_wq *wq);
void dion_fill_placement_info(struct dion_dev *dev);

struct ib_mr *dion_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length, u64 iova, int access,
			       struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_mr *dion_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset, u64 length, u64 iova,
				      int fd, int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs);
int dion_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
int dion_key_new(struct dion_dev *dev, u32 *key);
void dion_key_put(struct dion_dev *dev, u32 key);
u16 dion_mr_flags(int access);
struct ib_mr *dion_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *dion_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type, u32 max_pages);
int dion_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int count, unsigned int *offset);
int dion_fill_reg_mr(struct dion_dev *dev, struct ionic_wqe_reg_mr *wqe,
		     const struct ib_reg_wr *wr);
int dion_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int dion_dealloc_mw(struct ib_mw *ibmw);

u32 dion_max_sge(const struct dion_dev *dev);
unsigned long dion_page_sizes(const struct dion_dev *dev);
int dion_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		      struct ib_udata *udata);
int dion_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int dion_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
enum rdma_link_layer dion_get_link_layer(struct ib_device *ibdev, u32 port);
int dion_get_port_immutable(struct ib_device *ibdev, u32 port,
			    struct ib_port_immutable *immutable);
int dion_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *attr);
void dion_get_fw_str(struct ib_device *ibdev, char *text);
void dion_fill_device_info(struct dion_dev *dev);
extern const struct attribute_group dion_attr_group;

int dion_stats_init(struct dion_dev *dev);
void dion_stats_cleanup(struct dion_dev *dev);
extern const struct ib_device_ops dion_port_stats_ops;
extern const struct ib_device_ops dion_qp_stats_ops;

#endif /* DION_H */
