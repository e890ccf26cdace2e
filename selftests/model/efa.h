/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modelled EFA adapter, inside: its objects and how its files meet.
 *
 *	efa.c		creation, reset, BAR dispatch, the slice of work
 *	efa_profile.c	traits and options
 *	efa_regs.c	registers, indirect reads, reset handshake
 *	efa_admin.c	admin queue pair, events (AENQ)
 *	efa_cmd.c	table of admin commands
 *	efa_{feature,stats,pd,eq,cq,qp,ah,mr,counter}.c	the commands of one object
 *	efa_table.c	object numbers
 *	efa_send.c	send queues: stores, doorbells, completions
 *	efa_wqe.c	WQEs taken apart
 *	efa_recv.c	receive queues
 *	efa_{peer,transfer,target}.c	what goes between two adapters (efa_net.h)
 *	efa_control.c	verbs of the control channel
 *
 * Everything runs under the model lock (device.h). Register and doorbell stores
 * only note what is wanted; guest memory is touched from efa_work() and from
 * packet delivery alone.
 */
#ifndef EFA_H
#define EFA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include <hw/field.h>
#include <hw/efa_admin.h>
#include <hw/efa_io.h>
#include <hw/efa_regs.h>
#include "device.h"
#include "efa_config.h"
#include "fabric.h"
#include "inject.h"

#define EFA_REGS_SIZE		0x6c	/* defined part of BAR 0 */
#define EFA_REG_COUNT		(EFA_REGS_SIZE / 4)

/*
 * Doorbell BAR. The first half has a page per UAR with the doorbells of send
 * and receive queues; it can be mapped. The second half has a page per UAR with
 * the doorbells of CQs and is always trapped: an arm followed by a plain store
 * to the same word must not be lost.
 * choice: the index of a QP or CQ gives the place within the page.
 */
#define EFA_DB_PAGE		4096
#define EFA_DB_QP_STRIDE	8	/* SQ, then RQ 4 bytes on */
#define EFA_DB_CQ_STRIDE	4

#define EFA_NS_PER_MS		1000000ull

/* of two times, 0 meaning never */
static inline uint64_t efa_sooner(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static inline bool efa_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

struct efa;
struct efa_peer;

/* ---- numbers ----------------------------------------------------------- */

/* hands out the numbers of one kind of object; efa_table.c */
struct efa_table {
	void **slot;
	unsigned int first, size;	/* numbers are first .. size - 1 */
	unsigned int limit, used;	/* live objects, at most and now */
	unsigned int next;		/* where the search for a free one begins */
	unsigned int end;		/* numbers from here on were never given out */
	bool lowest;			/* always the lowest free number */
};

void efa_table_init(struct efa_table *table, unsigned int first, unsigned int size,
		    unsigned int limit, bool lowest);
void efa_table_free(struct efa_table *table);
/* the number given to @object, or -1 when the limit is reached */
int efa_table_add(struct efa_table *table, void *object);
void *efa_table_get(const struct efa_table *table, unsigned int number);
void efa_table_del(struct efa_table *table, unsigned int number);
/* the next live object from number @*from on, which is moved behind it; NULL at the end */
void *efa_table_next(const struct efa_table *table, unsigned int *from);

/* ---- objects ----------------------------------------------------------- */

struct efa_pd {
	unsigned int num;
	unsigned int refs;		/* QPs, MRs and AHs */
};

struct efa_uar {
	unsigned int num;
	unsigned int refs;		/* QPs and CQs */
};

struct efa_ah {
	unsigned int num;
	unsigned int refs;		/* CREATE_AH commands that returned it */
	struct efa_pd *pd;
	struct efa_peer *peer;
	LIST_ENTRY(efa_ah) peer_link;	/* among the AHs of the peer */
};

struct efa_mr {
	uint32_t lkey, rkey;
	struct efa_pd *pd;
	uint64_t iova, length;
	unsigned int page_shift;
	uint8_t permissions;		/* EFA_MR_* */
	bool phys;			/* iova is the DMA address */
	bool valid;			/* false: ALLOC_MR, not registered yet */
	uint64_t *pages;
	uint64_t page_count;		/* entries of @pages, all of the adapter's budget */
	uint32_t max_pages;		/* ALLOC_MR: largest list of a later registration */
};

struct efa_eq {
	unsigned int num;
	unsigned int vector;
	unsigned int refs;		/* CQs */
	uint64_t base;
	uint32_t depth;
	uint32_t produced;
	bool armed;
	bool unseen;			/* entries since the last interrupt */
	uint32_t since_arm;		/* entries since the last arm store */
};

struct efa_cq {
	unsigned int num;
	struct efa_uar *uar;
	struct efa_eq *eq;		/* NULL: no events */
	unsigned int refs;		/* QPs, once for each direction */
	uint64_t base;
	uint32_t depth;			/* entries of one sub-CQ */
	uint32_t entry_size;
	bool src_addr, ids64, doorbell;
	uint64_t *produced;		/* per sub-CQ */
	uint64_t total;			/* sum of them */
	uint64_t consumed;		/* told by the doorbell */
	bool armed;
	bool event_due;			/* armed while entries were waiting */
	uint32_t events;
	uint64_t overruns;
	uint64_t arms;
};

#define EFA_RECV_SGES_MAX	16	/* largest value of the trait recv_sges */

struct efa_rx_buf {
	uint64_t addr;
	uint32_t lkey;
	uint16_t length;
};

/* a receive WR taken apart */
struct efa_rx_wr {
	uint16_t req_id;
	bool bad;			/* its descriptors were out of rule */
	unsigned int descs;		/* that it takes in the ring */
	unsigned int count;
	struct efa_rx_buf buf[EFA_RECV_SGES_MAX];
};

/*
 * A send queue. Counts run freely in 64 bits; the doorbell carries the low 16 of
 * @posted. started <= posted; completed <= started + flushed ones.
 */
struct efa_sq {
	uint32_t depth;			/* 0: the QP has none */
	uint32_t wqe_size;
	uint64_t llq;			/* offset in BAR 2 */
	uint64_t db;			/* offset in the doorbell BAR */
	uint8_t *copy;			/* WQEs as they were at their doorbell */
	uint64_t posted, started, completed;
	uint32_t db_word;		/* last value seen, so that polling sees changes */
	bool phase_checked;		/* until the first RESET after use */
	/* strict mode: what was stored since it was last announced */
	uint8_t *stored;		/* one bit per 8 bytes of the ring */
	uint32_t batch;			/* 64-byte units begun since the last doorbell */
	bool batch_told;
};

/* A receive queue; the unit of all counts is the descriptor. */
struct efa_rq {
	uint32_t descs;			/* 0: the QP has none */
	uint32_t wrs;			/* as told by the driver */
	uint64_t base;
	uint64_t db;
	struct efa_rx_desc *copy;
	uint64_t posted, fetched, consumed;
	uint64_t ready;			/* whole WRs in [consumed, fetched) */
	unsigned int in_wr;		/* descriptors fetched of a WR whose last is to come */
	uint32_t db_word;
};

TAILQ_HEAD(efa_transfer_list, efa_transfer);

struct efa_qp {
	unsigned int index;		/* place in doorbell pages and LLQ memory */
	uint32_t handle;
	uint16_t num;
	struct efa_pd *pd;
	struct efa_uar *uar;
	struct efa_cq *send_cq, *recv_cq;
	unsigned int send_sub, recv_sub;
	enum efa_admin_qp_type type;
	enum efa_admin_qp_state state;
	uint8_t flags, sl;		/* as in CREATE_QP */
	uint32_t qkey, sq_psn;
	uint8_t rnr_retry;
	struct efa_sq sq;
	struct efa_rq rq;
	struct efa_transfer_list transfers;		/* under way */
	TAILQ_ENTRY(efa_qp) active_link;
	bool active;			/* has WQEs to start or to flush */
	uint32_t forced_status, forced_count; /* control verb "complete" */
	struct {
		uint32_t number;
		uint32_t events;
	} counters[8];			/* attached event counters, events 0: none */
};

/* completion counter of the later interface: 8 bytes of memory that the device adds to */
struct efa_counter {
	unsigned int num;
	struct efa_uar *uar;
	uint64_t addr;
	uint64_t value;
	unsigned int refs;		/* attachments */
};

/* ---- device ------------------------------------------------------------ */

/* counted since creation; control verb "stats" */
struct efa_tally {
	uint64_t wqes[5];		/* by enum efa_op */
	uint64_t wqes_inline, wqes_wide, wqes_hint[4];
	uint64_t doorbells_sq, doorbells_rq, doorbells_cq, arms_cq;
	uint64_t max_batch;		/* most WQEs announced by one doorbell */
	uint64_t completions, completions_error, cq_overruns, flushes;
	uint64_t rnr, retries, duplicates, drops;
	uint64_t admin[32];		/* by opcode; 0: of those beyond */
	uint64_t admin_errors;
	uint64_t reg_reads, resets, aenq_events, aenq_dropped, eq_events;
	uint64_t reset_reason;		/* as the last reset gave it */
	uint64_t sn_mismatches;		/* CQ arms with an unexpected cmd_sn */
};

struct efa_net_stats {
	struct {
		uint64_t tx_bytes, tx_pkts, rx_bytes, rx_pkts, rx_drops, qkey_viol;
	} basic;
	struct {
		uint64_t send_bytes, send_wrs, recv_bytes, recv_wrs;
	} messages;
	struct {
		uint64_t wrs, bytes, wr_err, resp_bytes;
	} read;
	struct {
		uint64_t wrs, bytes, wr_err, recv_bytes;
	} write;
	struct {
		uint64_t retrans_bytes, retrans_pkts, timeouts, unresponsive, impaired;
	} network;
};

#define EFA_READS_MAX	16	/* indirect reads asked for and not answered */

struct efa_regs {
	uint32_t word[EFA_REG_COUNT];	/* last value written */
	uint64_t resp_addr;		/* 0: not told */
	uint32_t status;		/* DEV_STS */
	uint32_t reads[EFA_READS_MAX];	/* MMIO_REG_READ words */
	unsigned int nreads;
	enum { EFA_RESET_IDLE, EFA_RESET_ENTERING, EFA_RESET_HELD, EFA_RESET_LEAVING } reset;
	uint64_t reset_when;		/* of the next edge */
	/* control verbs; they outlive a reset */
	bool stuck_on, stuck_off, not_ready;
};

/* the command under execution; some take several slices */
struct efa_job {
	struct efa_aq_entry cmd;
	struct efa_acq_entry resp;
	bool running;
	struct inject_hit hit;
	bool injected;
	bool holds_id;			/* its id was free and is in flight now */
	/* for commands that go on in the next slice */
	struct efa_mr *mr;
	uint64_t done;			/* page list entries read */
	uint64_t chunk_addr;		/* indirect list: the chunk being read */
	uint32_t chunk_length;
	unsigned int chunk_piece;	/* the next of its pointers */
};

/*
 * What injected faults have kept the driver from knowing since the last reset; each includes the
 * ones before it. A command may be wrong because of that, and then it is no violation.
 */
enum efa_doubt {
	EFA_DOUBT_NONE,
	EFA_DOUBT_KEPT,	/* a removal was refused: the driver may have forgotten what is there */
	EFA_DOUBT_LOST,	/* an answer did not come, or not in time: was the command done? */
	EFA_DOUBT_LIED,	/* an answer was false: numbers and limits may be, too */
};

/* a completion held back by an injection */
struct efa_late {
	TAILQ_ENTRY(efa_late) link;
	uint64_t when;
	struct efa_acq_entry resp;
};

struct efa_admin {
	uint64_t aq_base, acq_base, aenq_base;
	uint32_t aq_depth, acq_depth, aenq_depth; /* 0: not started */
	unsigned int acq_vector, aenq_vector;
	uint16_t aq_posted, aq_taken;	/* free-running */
	uint32_t acq_produced;
	unsigned int flying;		/* commands taken and not answered */
	uint32_t aenq_produced, aenq_consumed;
	uint32_t aenq_enabled;
	uint64_t keepalive_when;
	struct efa_job job;
	TAILQ_HEAD(, efa_late) late;
	uint64_t in_flight[EFA_ADMIN_CMD_ID / 64 + 1]; /* ids without an answer yet */
	enum efa_doubt doubt;		/* see efa_refuse() */
	bool aenq_overrun;		/* more events were written than there was room for */
};

/* an offset that is told wrong, outside every BAR */
enum efa_lie {
	EFA_LIE_NONE, EFA_LIE_SQ_DB, EFA_LIE_RQ_DB, EFA_LIE_CQ_DB, EFA_LIE_LLQ,
	EFA_LIE_CQ_REG,	/* the doorbell is where a register is */
};

struct efa {
	struct model_device dev;	/* first */
	struct efa_config config;
	unsigned int db_bar;		/* MODEL_BARS: nowhere */
	uint64_t db_base, db_half;	/* within that BAR */
	uint64_t llq_slot, llq_bytes;	/* of BAR 2 per QP index, and in all */
	struct efa_regs regs;
	struct efa_admin admin;

	struct efa_table pds, uars, eqs, cqs, qps, ahs, mrs, counters;
	struct efa_qp **qp_by_num;	/* 65536 */
	bool cq_events_due;		/* some CQ has event_due set */
	uint64_t pages_used;		/* page list entries of all MRs */
	uint32_t qp_generation, mr_generation;
	uint16_t *qp_lives;		/* by index: QPs that have had it */

	TAILQ_HEAD(, efa_qp) active;	/* QPs with WQEs to start or to flush */
	struct efa_net *net;		/* efa_net.h */
	struct fabric_port port;

	struct efa_tally tally;
	struct efa_net_stats stats;
	enum efa_lie lie;		/* control verb "lie" */
	struct efa_host_info host_info;	/* as told last; control verb "host" */
};

static inline struct efa *efa_of(struct model_device *dev)
{
	return (struct efa *)dev;
}

/* ---- efa.c ------------------------------------------------------------- */

/* every object gone, rings forgotten; DEV_CTL and power-up alike */
void efa_forget_all(struct efa *efa);
/* does [base, base + bytes) touch a ring that a live object owns? names it in @owner */
bool efa_ring_taken(struct efa *efa, uint64_t base, uint64_t bytes, char *owner, size_t len);
/* one of a CQ? */
bool efa_ring_of_cq(struct efa *efa, uint64_t base, uint64_t bytes);
/*
 * An access to memory that a rule lets fail, at injection point @point; with action=fail the
 * device reports it as a fatal error with that syndrome.
 */
bool efa_dma_fails(struct efa *efa, const char *point);
/*
 * Nobody has rung the doorbell at @off: @seen, and its word if that is polled. Also of a QP without the queue, for the
 * last one of its index may have had one.
 */
void efa_db_clear(struct efa *efa, uint64_t off, uint32_t *seen);
/* both ends of a ring can be reached */
bool efa_ring_reachable(struct efa *efa, uint64_t base, uint64_t bytes);

/* ---- efa_regs.c -------------------------------------------------------- */

void efa_regs_reset(struct efa *efa);
void efa_reg_write(struct efa *efa, uint64_t off, unsigned int size, uint64_t value);
/* answers indirect reads, moves the reset handshake; returns the time it wants next, 0: none */
uint64_t efa_regs_work(struct efa *efa);
static inline bool efa_ready(const struct efa *efa)
{
	return efa->regs.status & EFA_DEV_STS_READY && !efa->regs.not_ready;
}

/* ---- efa_admin.c ------------------------------------------------------- */

#define EFA_JOB_MORE	(-1)	/* call again in the next slice */

void efa_admin_reset(struct efa *efa);
void efa_admin_start_aq(struct efa *efa);
void efa_admin_start_acq(struct efa *efa);
void efa_admin_start_aenq(struct efa *efa);
void efa_admin_doorbell(struct efa *efa, uint32_t value);
void efa_aenq_doorbell(struct efa *efa, uint32_t value);
/* a slice; true if there is more to do now; *when: the time it wants next, 0: none */
bool efa_admin_work(struct efa *efa, uint64_t *when);
/* puts an event in the AENQ; false if the driver has not enabled or not made room for it */
bool efa_aenq_event(struct efa *efa, unsigned int group, unsigned int syndrome);
/* writes one over entries that the driver has not given back, as a device gone wild */
bool efa_aenq_overrun(struct efa *efa, unsigned int group, unsigned int syndrome);
/* writes an answer nobody asked for (control verb) */
void efa_admin_stray(struct efa *efa, unsigned int id, unsigned int status);
/* an injected fault keeps the driver from knowing something */
void efa_admin_doubt(struct efa *efa, enum efa_doubt doubt);
/* vector 0, unless INTR_MASK silences it */
void efa_admin_irq(struct efa *efa, unsigned int vector);

/* ---- efa_cmd.c --------------------------------------------------------- */

extern const struct inject_point efa_inject_points[];

const char *efa_cmd_name(unsigned int opcode);
/* does the command take something away? then a driver may do without it, whatever the answer */
bool efa_cmd_removes(unsigned int opcode);
/* executes (a slice of) the job; a status or EFA_JOB_MORE */
int efa_cmd_run(struct efa *efa, struct efa_job *job);

/*
 * Answers @status to a command that no correct driver sends, and records the
 * violation, unless the driver was told false limits.
 */
int efa_refuse(struct efa *efa, const struct efa_job *job, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/*
 * Memory of a new ring in which another object has its own. Not recorded when the driver may have forgotten that object,
 * and with it whose memory this is.
 */
int efa_refuse_taken(struct efa *efa, const struct efa_job *job, uint64_t base, const char *owner);
/*
 * The same for a command that does not go with what there is: an object that does not exist or is
 * in use, a state. Not recorded when an injected fault may have kept the driver from knowing it.
 */
int efa_refuse_stale(struct efa *efa, const struct efa_job *job, int status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* ---- the commands ------------------------------------------------------ */

int efa_cmd_get_feature(struct efa *efa, struct efa_job *job);
int efa_cmd_set_feature(struct efa *efa, struct efa_job *job);
int efa_cmd_get_stats(struct efa *efa, struct efa_job *job);
int efa_cmd_alloc_pd(struct efa *efa, struct efa_job *job);
int efa_cmd_dealloc_pd(struct efa *efa, struct efa_job *job);
int efa_cmd_alloc_uar(struct efa *efa, struct efa_job *job);
int efa_cmd_dealloc_uar(struct efa *efa, struct efa_job *job);
int efa_cmd_create_eq(struct efa *efa, struct efa_job *job);
int efa_cmd_destroy_eq(struct efa *efa, struct efa_job *job);
int efa_cmd_create_cq(struct efa *efa, struct efa_job *job);
int efa_cmd_destroy_cq(struct efa *efa, struct efa_job *job);
int efa_cmd_create_qp(struct efa *efa, struct efa_job *job);
int efa_cmd_modify_qp(struct efa *efa, struct efa_job *job);
int efa_cmd_query_qp(struct efa *efa, struct efa_job *job);
int efa_cmd_destroy_qp(struct efa *efa, struct efa_job *job);
int efa_cmd_create_ah(struct efa *efa, struct efa_job *job);
int efa_cmd_destroy_ah(struct efa *efa, struct efa_job *job);
int efa_cmd_reg_mr(struct efa *efa, struct efa_job *job);
int efa_cmd_dereg_mr(struct efa *efa, struct efa_job *job);
int efa_cmd_alloc_mr(struct efa *efa, struct efa_job *job);
int efa_cmd_create_counter(struct efa *efa, struct efa_job *job);
int efa_cmd_destroy_counter(struct efa *efa, struct efa_job *job);
int efa_cmd_attach_counter(struct efa *efa, struct efa_job *job);
int efa_cmd_modify_counter(struct efa *efa, struct efa_job *job);
int efa_cmd_detach_counter(struct efa *efa, struct efa_job *job);

struct efa_pd *efa_pd_get(struct efa *efa, unsigned int num);
struct efa_uar *efa_uar_get(struct efa *efa, unsigned int num);

/* ---- efa_eq.c, efa_cq.c ------------------------------------------------ */

void efa_eq_doorbell(struct efa *efa, uint32_t value);
void efa_eq_free(struct efa *efa, struct efa_eq *eq);
/* one completion event for @cqn */
void efa_eq_event(struct efa *efa, struct efa_eq *eq, unsigned int cqn);

/* @value stored to the doorbell of CQ @num through the page of UAR @uar */
void efa_cq_doorbell(struct efa *efa, unsigned int uar, unsigned int num, uint32_t value);
void efa_cq_work(struct efa *efa);
void efa_cq_free(struct efa *efa, struct efa_cq *cq);
/* writes an entry (32 bytes given, cut to the ring's entry size); the phase is filled in here */
void efa_cq_push(struct efa *efa, struct efa_cq *cq, unsigned int sub, struct efa_cqe_rx_ex *cqe);

/* ---- efa_mr.c ---------------------------------------------------------- */

void efa_mr_free(struct efa *efa, struct efa_mr *mr);
/* the MR of a 24-bit (lkey) or full (rkey) key, or NULL */
struct efa_mr *efa_mr_by_lkey(struct efa *efa, uint32_t lkey);
struct efa_mr *efa_mr_by_rkey(struct efa *efa, uint32_t rkey);
/* may @len bytes at @addr be used by @pd with all of @permissions? */
bool efa_mr_allows(const struct efa_mr *mr, const struct efa_pd *pd, uint64_t addr, uint64_t len,
		   uint8_t permissions);
/* copies through the page list; the range was checked. 0 or -EFAULT (a violation, recorded) */
int efa_mr_read(struct efa *efa, struct efa_mr *mr, uint64_t addr, void *buf, size_t len);
int efa_mr_write(struct efa *efa, struct efa_mr *mr, uint64_t addr, const void *buf, size_t len);
/* a registration by WQE (EFA_OP_FAST_REG, EFA_OP_FAST_INVALIDATE); a completion status */
enum efa_io_status efa_mr_fast_reg(struct efa *efa, struct efa_pd *pd,
				   const struct efa_fast_reg *reg);
enum efa_io_status efa_mr_fast_invalidate(struct efa *efa, struct efa_pd *pd, uint32_t lkey);

/* ---- efa_ah.c ---------------------------------------------------------- */

struct efa_ah *efa_ah_get(struct efa *efa, unsigned int num);
/* the AH of @pd that leads to @peer, or NULL */
struct efa_ah *efa_ah_to(const struct efa_pd *pd, const struct efa_peer *peer);
void efa_ah_free(struct efa *efa, struct efa_ah *ah);

/* ---- efa_qp.c ---------------------------------------------------------- */

struct efa_qp *efa_qp_by_handle(struct efa *efa, uint32_t handle);
struct efa_qp *efa_qp_by_num(struct efa *efa, unsigned int num);
void efa_qp_free(struct efa *efa, struct efa_qp *qp);
static inline bool efa_qp_receives(const struct efa_qp *qp)
{
	return qp->state == EFA_ADMIN_QPS_RTR || qp->state == EFA_ADMIN_QPS_RTS ||
	       qp->state == EFA_ADMIN_QPS_SQD || qp->state == EFA_ADMIN_QPS_SQE;
}
static inline bool efa_qp_flushes_sends(const struct efa_qp *qp)
{
	return qp->state == EFA_ADMIN_QPS_ERR || qp->state == EFA_ADMIN_QPS_SQE;
}
const char *efa_qp_state_name(enum efa_admin_qp_state state);

/* ---- efa_send.c -------------------------------------------------------- */

/* a trapped store to LLQ memory */
void efa_llq_store(struct efa *efa, uint64_t off, unsigned int size, uint64_t value);
void efa_sq_doorbell(struct efa *efa, struct efa_qp *qp, uint32_t value);
/* memory for a ring whose shape is filled in */
void efa_sq_init(struct efa_qp *qp);
/* empty ring, counts and doorbell word 0 */
void efa_sq_reset(struct efa *efa, struct efa_qp *qp);
void efa_sq_activate(struct efa *efa, struct efa_qp *qp);
void efa_sq_deactivate(struct efa *efa, struct efa_qp *qp);
/*
 * A slice for the active QPs, in turn: starts or flushes WQEs, flushes and reads
 * receive descriptors. True if there is more to do now.
 */
bool efa_sq_work(struct efa *efa);
/* flushes at most @budget of the QP's unfinished sends; how many */
unsigned int efa_sq_flush(struct efa *efa, struct efa_qp *qp, unsigned int budget);
/* @op: of the WQE. Frees nothing: the transfer, if any, is the caller's */
void efa_sq_complete(struct efa *efa, struct efa_qp *qp, uint64_t req_id, unsigned int op,
		     enum efa_io_status status);

/* ---- efa_recv.c -------------------------------------------------------- */

void efa_rq_doorbell(struct efa *efa, struct efa_qp *qp, uint32_t value);
void efa_rq_init(struct efa_qp *qp);
void efa_rq_reset(struct efa *efa, struct efa_qp *qp);
/* reads newly announced descriptors, a bounded number; true if there are more */
bool efa_rq_fetch(struct efa *efa, struct efa_qp *qp);
/* the oldest WR; false if there is none. @wr may be NULL */
bool efa_rq_peek(struct efa *efa, struct efa_qp *qp, struct efa_rx_wr *wr);
/* gives up the oldest WR, which peek has shown */
void efa_rq_take(struct efa_qp *qp, const struct efa_rx_wr *wr);
unsigned int efa_rq_flush(struct efa *efa, struct efa_qp *qp, unsigned int budget);

/* what a receive completion says */
struct efa_arrival {
	struct efa_peer *peer;
	uint16_t src_qp;
	unsigned int op;		/* enum efa_op */
	bool has_imm, unsolicited;
	uint32_t imm;
	uint32_t length;
};

void efa_rq_complete(struct efa *efa, struct efa_qp *qp, uint16_t req_id,
		     const struct efa_arrival *arrival, enum efa_io_status status);
/* a whole message for a receive WR: checks, scatters, completes; the status for its sender */
enum efa_io_status efa_rq_message(struct efa *efa, struct efa_qp *qp,
				  const struct efa_arrival *arrival, const void *data);

/* ---- efa_counter.c ----------------------------------------------------- */

/* @event: one EFA_COUNTER_* bit */
void efa_count(struct efa *efa, struct efa_qp *qp, uint32_t event);
void efa_counter_free(struct efa *efa, struct efa_counter *counter);
/* forgets the attachments of a QP that goes */
void efa_counter_detach_all(struct efa *efa, struct efa_qp *qp);

/* ---- efa_control.c ----------------------------------------------------- */

int efa_control(struct model_device *dev, int argc, char **argv, FILE *out);

#endif /* EFA_H */
