/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The RDMA side of the modelled ionic adapter, inside.
 *
 *	ionic_rdma.c		creation, reset, device commands, doorbells, the slice of work
 *	ionic_rdma_aq.c		RDMA admin queues
 *	ionic_rdma_cmd.c	table of their commands
 *	ionic_rdma_eq.c		event queues
 *	ionic_rdma_cq.c		completion queues
 *	ionic_rdma_mem.c	memory given as a list of pages
 *	ionic_rdma_mr.c		memory regions and windows
 *	ionic_rdma_ah.c		address handles, header templates
 *	ionic_rdma_qp.c		queue pairs: CREATE, MODIFY, QUERY, DESTROY, errors
 *	ionic_rdma_wq.c		rings of a queue pair, WQEs taken apart
 *	ionic_rdma_send.c	requester: from WQE to packets and completions
 *	ionic_rdma_recv.c	responder: from packets to memory and completions
 *	ionic_rdma_wire.c	packets: RoCEv2 in Ethernet frames (ionic_rdma_wire.h)
 *	ionic_rdma_stats.c	counters
 *	ionic_rdma_control.c	verbs of the control channel
 *
 * Everything runs under the model lock, as in ionic.h.
 */
#ifndef IONIC_RDMA_H
#define IONIC_RDMA_H

#include <sys/queue.h>

#include <hw/ionic_rdma_admin.h>
#include <hw/ionic_rdma_io.h>
#include "ionic.h"
#include "ionic_rdma_wire.h"

#define IONIC_AQ_BODY_MAX	(2 * IONIC_AQ_SLOT)
#define IONIC_WINDOW		128	/* packets sent and not acknowledged */
#define IONIC_RESPONSES		256	/* waiting to be sent */
#define IONIC_REPLAYS		32	/* results of atomics kept for repeated requests */
#define IONIC_PIPELINES		2
#define IONIC_DEPTH_LOG2_MAX	16	/* of every ring */
#define IONIC_CQ_STRIDE_LOG2	5
#define IONIC_FULL_NS		100000u	/* the network takes no more: try again after */
#define IONIC_MTU_LOG2_MIN	8
#define IONIC_MTU_LOG2_MAX	12
#define IONIC_MTU_MAX		(1u << IONIC_MTU_LOG2_MAX)

struct ionic_qp;

/* ---- memory ----------------------------------------------------------------------- */

/*
 * Bytes [0, length) in pages, guest memory or controller memory. One page means
 * that all of it is contiguous.
 */
struct ionic_mem {
	uint64_t length;
	uint64_t offset;		/* of byte 0 in the first page */
	unsigned int page_log2;		/* with more than one page */
	uint32_t count;
	uint64_t *pages;
	bool cmb;			/* pages are offsets in the plain window */
};

/*
 * From the four fields that commands carry; -EINVAL (it cannot be so) or -EFAULT (the
 * table is no memory) with the reason in @why
 */
int ionic_mem_set(struct ionic *ionic, struct ionic_mem *mem, uint32_t pages, uint64_t addr,
		  unsigned int page_log2, uint64_t offset, uint64_t length, const char **why);
void ionic_mem_free(struct ionic_mem *mem);
/* inside of [0, length), which the caller has checked; 0 or -EFAULT (recorded) */
int ionic_mem_read(struct ionic *ionic, const struct ionic_mem *mem, uint64_t off, void *buf,
		   size_t len, const char *what);
int ionic_mem_write(struct ionic *ionic, const struct ionic_mem *mem, uint64_t off,
		    const void *buf, size_t len, const char *what);

/* ---- objects ---------------------------------------------------------------------- */

struct ionic_eq {
	unsigned int id;
	bool live;
	uint16_t intr;
	unsigned int depth_log2;
	uint64_t ring;
	uint32_t prod;			/* free-running */
};

/*
 * Arms are counted: armed while @arm_prod, which a doorbell sets, is not
 * @arm_cons. One event uses up all arms that came before it.
 */
struct ionic_cq {
	unsigned int id;
	uint16_t pid;
	struct ionic_eq *eq;
	unsigned int depth_log2;
	struct ionic_mem mem;
	bool of_aq;			/* an admin queue answers here */
	uint16_t prod, cons;		/* wrapped; cons as the host told last */
	bool color;
	uint16_t arm_prod, arm_cons;	/* for any completion */
	uint16_t sol_prod, sol_cons;	/* for solicited ones */
	bool sol_unseen;		/* a solicited one since the host's position */
	bool overrun;
	unsigned int refs;		/* QPs, once for each direction, and AQs */
	bool rung;			/* on the list of those to look at */
	unsigned int holds;		/* errors whose flush is not told yet */
	bool withheld;			/* the end of an entry, which shows it and all behind it */
	uint64_t withheld_off;		/* bytes into the ring */
	uint8_t withheld_end[sizeof(uint64_t)];
	TAILQ_ENTRY(ionic_cq) link;
};

/* a command in the ring or under execution */
struct ionic_aq_job {
	uint8_t bytes[IONIC_AQ_BODY_MAX]; /* header and body */
	uint16_t slot;
	unsigned int slots;
	bool injected;
	struct inject_hit hit;
};

struct ionic_aq {
	unsigned int id;
	bool live;
	struct ionic_cq *cq;
	unsigned int depth_log2;
	uint64_t ring;
	uint16_t posted, head;
	bool running;
	enum ionic_aq_status status;	/* of the job */
	uint64_t answer_when;
	struct ionic_aq_job job;
	bool has_stray;			/* an entry that nobody asked for goes with its answer */
	struct inject_hit stray;
};

/*
 * A key: an MR of user memory, one that WQEs fill in (fast registration), or a
 * window onto an MR.
 */
struct ionic_mr {
	uint32_t key;			/* with its present tag */
	uint32_t pd;
	uint16_t flags;			/* IONIC_MR_* */
	bool valid;			/* false: nothing registered or bound now */
	uint64_t va, length;
	uint64_t base;			/* address that users have for va: va, or 0 if zero based */
	struct ionic_mem mem;
	struct ionic_mr *under;		/* windows: the MR they show, NULL: unbound */
	uint32_t qp;			/* type 2 windows: the QP they are bound to */
	unsigned int windows;		/* bound to this MR */
};

struct ionic_ah {
	unsigned int id;
	uint32_t pd;
	bool of_qp;			/* came with MODIFY_QP: goes with the QP alone */
	struct ionic_wire_header header;
};

/* ---- queue pairs ------------------------------------------------------------------ */

/* indices are wrapped to the ring */
struct ionic_wq {
	struct ionic_cq *cq;
	unsigned int depth_log2, stride_log2;
	struct ionic_mem mem;
	bool spec;			/* WQEs may use the spec format */
	unsigned int window;		/* express window it could ring by, 0: none */
	uint16_t posted;		/* from doorbells */
	uint16_t next;			/* first one not taken */
};

static inline unsigned int ionic_wq_mask(const struct ionic_wq *wq)
{
	return (1u << wq->depth_log2) - 1;
}

enum ionic_op_kind {
	IONIC_OP_KIND_SEND,
	IONIC_OP_KIND_WRITE,
	IONIC_OP_KIND_READ,
	IONIC_OP_KIND_ATOMIC,
	/* those that send nothing */
	IONIC_OP_KIND_REG_MR,
	IONIC_OP_KIND_LOCAL_INV,
	IONIC_OP_KIND_BIND_MW,
};

/* buffers of a WQE */
struct ionic_sgl {
	unsigned int count;
	uint64_t length;
	const struct ionic_sge *sge;	/* in the WQE's copy; NULL: inline */
	const uint8_t *data;		/* inline bytes */
	struct ionic_sge own;		/* v2 atomics name theirs in another way */
};

/*
 * A send WQE from when it is taken to when it is retired.
 *
 * @packets: PSNs it has, from @psn on; @done of them are acknowledged or answered
 * @status: not IONIC_IO_OK: it failed here, and is reported when it is the oldest
 */
struct ionic_op {
	enum ionic_op_kind kind;
	bool add;			/* atomics: fetch and add */
	bool imm, inv, solicited, fence;
	uint32_t psn, packets, done;
	enum ionic_io_status status;
	struct ionic_sgl sgl;
	uint64_t remote_addr;
	uint32_t rkey;			/* or the key that a local operation is for */
	uint32_t imm_key;
	uint64_t swap_add, compare;
	uint32_t ah, dest_qpn, qkey;	/* UD */
	uint8_t *wqe;			/* copy of the slot */
};

/* requester of a connected QP, and what of it UD uses */
struct ionic_requester {
	struct ionic_op *ops;		/* by slot */
	uint8_t *copies;		/* of slots */
	uint16_t head;			/* oldest that is not retired; sq.next ends the list */
	uint16_t cursor;		/* slot whose packet is sent next, ... */
	uint32_t cursor_packet;		/* ... and which one */
	uint32_t next_psn;		/* of the next op */
	uint32_t una;			/* oldest PSN that is not acknowledged */
	uint16_t msn;			/* messages finished since RESET */
	unsigned int reads;		/* reads and atomics sent and not answered */
	unsigned int retries, rnr_retries; /* left */
	bool lost;			/* a gap in the answers was noticed */
	uint64_t timeout_when, rnr_when, full_when; /* 0: no such wait */
};

enum ionic_response_kind {
	IONIC_RESPONSE_ACK,
	IONIC_RESPONSE_READ,
	IONIC_RESPONSE_ATOMIC,
};

struct ionic_response {
	enum ionic_response_kind kind;
	bool repeat;			/* of what was answered before: takes none of rsq_depth */
	uint8_t syndrome;		/* ACK */
	uint32_t psn, msn;
	uint64_t addr;			/* READ */
	uint32_t rkey, length;
	uint32_t sent;			/* bytes of it */
	uint64_t value;			/* ATOMIC */
};

struct ionic_recv {
	bool live;			/* a receive WQE is in use */
	uint64_t id;
	struct ionic_sgl sgl;
	uint32_t done;
	uint8_t *wqe;
};

struct ionic_responder {
	uint32_t psn;			/* expected */
	uint32_t msn;
	bool told;			/* that what is expected is missing */
	bool failed;			/* the last response is a NAK that ends the QP */
	bool holding;			/* the receive CQ, until the flush is told */
	enum { IONIC_RX_IDLE, IONIC_RX_SEND, IONIC_RX_WRITE } message; /* under way */
	struct ionic_recv recv;
	uint64_t addr;			/* WRITE: where it goes on */
	uint32_t rkey, length, done;
	struct ionic_response queue[IONIC_RESPONSES];
	unsigned int first, count;
	struct {
		uint32_t psn;
		uint64_t value;
		bool valid;
	} replay[IONIC_REPLAYS];
	unsigned int replay_next;
	uint64_t full_when;
};

struct ionic_qp_attr {
	uint16_t flags;			/* IONIC_QP_* */
	uint32_t rq_psn, sq_psn, qkey, dest_qpn, rate_limit;
	uint8_t pmtu_log2, retry, rnr_retry, rnr_timer, timeout;
	uint8_t rsq_depth_log2, rrq_depth_log2;
	uint16_t pkey;
	uint32_t ah;
	bool has_ah;
};

struct ionic_qp {
	unsigned int id;
	uint32_t pd;
	uint16_t pid;
	enum ionic_qp_type type;
	enum ionic_qp_state state;
	bool unasked;			/* an error state that no command asked for */
	struct ionic_qp_attr attr;
	struct ionic_wq sq, rq;
	struct ionic_requester req;
	struct ionic_responder rsp;
	bool draining;			/* SQD, and not all sends are finished */
	bool comm_est;			/* the event was sent since RTR */
	bool active;
	TAILQ_ENTRY(ionic_qp) link;
	uint64_t sent, received;	/* messages, for QP statistics */
	uint32_t forced_status, forced_count; /* control verb "complete" */
};

/* ---- the whole -------------------------------------------------------------------- */

/* counted since creation; control verb "stats" */
struct ionic_rdma_tally {
	uint64_t admin[IONIC_AQ_OPS], admin_errors;
	uint64_t doorbells_sq, doorbells_rq, doorbells_cq, doorbells_express;
	uint64_t cq_arms, aq_arms;	/* of CQs of work queues; of those of admin queues */
	uint64_t doorbells_stray;
	uint64_t wqes_send, wqes_write, wqes_read, wqes_atomic, wqes_local;
	uint64_t wqes_inline, wqes_spec, wqes_recv;
	uint64_t completions, completions_error, cq_overruns, flushes, eq_events;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, drops, hop_drops;
	uint64_t rnr, naks, timeouts, retries, duplicates;
	uint64_t cmb_pages;		/* of live queues, now */
	uint64_t cmb_bytes;		/* stored to controller memory, in strict mode */
};

TAILQ_HEAD(ionic_qp_list, ionic_qp);
TAILQ_HEAD(ionic_cq_list, ionic_cq);

struct ionic_rdma {
	struct ionic_eq *eqs;
	struct ionic_aq *aqs;
	struct ionic_cq **cqs;
	struct ionic_qp **qps;
	struct ionic_mr **mrs;
	struct ionic_ah **ahs;
	struct ionic_qp_list active;	/* QPs with something to do */
	struct ionic_cq_list rung;	/* CQs with doorbells that were not looked at */
	uint64_t page_table_used;
	unsigned int express;		/* queues that could ring by a window */
	/*
	 * The driver has reset us and need not tell all users at once: until it starts anew,
	 * doorbells of queues that are no more are no mistake.
	 */
	bool excused;
	struct ionic_rdma_tally tally;
};

/* ---- ionic_rdma.c ----------------------------------------------------------------- */

/*
 * Counts a doorbell in page @pid of what is not there, or does not listen yet. Is it a mistake?
 * Not after a reset, and not in a user's page: one thread may ring while another has its
 * queue reset or destroyed.
 */
bool ionic_rdma_stray(struct ionic *ionic, uint16_t pid);

/* ---- ionic_rdma_aq.c, ionic_rdma_cmd.c -------------------------------------------- */

void ionic_aq_doorbell(struct ionic *ionic, struct ionic_aq *aq, uint16_t pid, uint64_t value);
bool ionic_aq_work(struct ionic *ionic, uint64_t *when);

extern const char *const ionic_aq_names[IONIC_AQ_OPS];
/* executes a command; a status */
enum ionic_aq_status ionic_aq_run(struct ionic *ionic, struct ionic_aq_job *job);
/* answers @status to a command that no correct driver sends; a violation, unless excused */
enum ionic_aq_status ionic_aq_refuse(struct ionic *ionic, const struct ionic_aq_job *job,
				     enum ionic_aq_status status, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

enum ionic_aq_status ionic_aq_create_cq(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_destroy_cq(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_create_qp(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_modify_qp(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_query_qp(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_destroy_qp(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_create_mr(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_destroy_mr(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_create_ah(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_destroy_ah(struct ionic *ionic, const struct ionic_aq_job *job);
enum ionic_aq_status ionic_aq_stats(struct ionic *ionic, const struct ionic_aq_job *job);

/* ---- ionic_rdma_eq.c, ionic_rdma_cq.c --------------------------------------------- */

void ionic_eq_event(struct ionic *ionic, struct ionic_eq *eq, unsigned int type, unsigned int code,
		    unsigned int qid);
/* an event of a QP, on the event queue of its pipeline */
void ionic_qp_event(struct ionic *ionic, const struct ionic_qp *qp, unsigned int code);

struct ionic_cq *ionic_cq_get(struct ionic *ionic, unsigned int id);
void ionic_cq_free(struct ionic *ionic, struct ionic_cq *cq);
/* NULL: no memory. The numbers were checked; the ring is for the caller to set. */
struct ionic_cq *ionic_cq_new(struct ionic *ionic, unsigned int id, struct ionic_eq *eq,
			      unsigned int depth_log2, uint16_t pid);
void ionic_cq_doorbell(struct ionic *ionic, struct ionic_cq *cq, uint16_t pid, uint64_t value);
/* entries that can be written before the host has read others */
unsigned int ionic_cq_room(const struct ionic_cq *cq);
/* answers the arms that came by doorbells */
void ionic_cq_work(struct ionic *ionic);
/*
 * Writes an entry; @word is qid_type_flags without the color. @solicited: counts for
 * arms of that kind.
 */
void ionic_cq_push(struct ionic *ionic, struct ionic_cq *cq, void *cqe, uint32_t word,
		   bool solicited);

/* the same for completions of work, of which @point (an injection point) may make others */
void ionic_cq_complete(struct ionic *ionic, struct ionic_cq *cq, void *cqe, uint32_t word,
		       bool solicited, const char *point);

/*
 * What is written in between is seen at its end, all at once, and interrupts then.
 * choice: an error and the flush behind it. libionic 65 reports nothing as flushed, ever, to
 * who sees an error in one poll and the flush in a later one.
 */
void ionic_cq_hold(struct ionic_cq *cq);
void ionic_cq_release(struct ionic *ionic, struct ionic_cq *cq);

static inline unsigned int ionic_pipeline(const struct ionic *ionic, unsigned int id)
{
	return id >> ionic->config.pipeline_shift & (IONIC_PIPELINES - 1);
}

/* ---- ionic_rdma_mr.c -------------------------------------------------------------- */

void ionic_mr_free(struct ionic *ionic, struct ionic_mr *mr);
/* windows of type 2 that are bound to a QP that goes */
void ionic_mr_unbind(struct ionic *ionic, const struct ionic_qp *qp);
/*
 * May the QP do with [@addr, @addr + @len) of what @key stands for what @access (IONIC_MR_*;
 * 0: read it here) says? A length of 0 is always allowed.
 */
bool ionic_mr_allows(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		     uint64_t len, uint16_t access);
/* copies it; 0, -EACCES if that is not allowed, -EFAULT if it is not memory (recorded) */
int ionic_mr_read(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		  void *buf, size_t len, uint16_t access);
int ionic_mr_write(struct ionic *ionic, const struct ionic_qp *qp, uint32_t key, uint64_t addr,
		   const void *buf, size_t len, uint16_t access);
/* operations of the send queue; IONIC_IO_OK or IONIC_IO_MEM_MGMT */
enum ionic_io_status ionic_mr_register(struct ionic *ionic, const struct ionic_qp *qp,
				       const struct ionic_wqe_reg_mr *wqe);
enum ionic_io_status ionic_mr_bind(struct ionic *ionic, const struct ionic_qp *qp,
				   const struct ionic_wqe_bind_mw *wqe);
enum ionic_io_status ionic_mr_invalidate(struct ionic *ionic, const struct ionic_qp *qp,
					 uint32_t key);

/* ---- ionic_rdma_ah.c -------------------------------------------------------------- */

struct ionic_ah *ionic_ah_get(struct ionic *ionic, unsigned int id);
/* reads a template and keeps it under @id, new or not; NULL after a violation */
struct ionic_ah *ionic_ah_set(struct ionic *ionic, const struct ionic_aq_job *job, unsigned int id,
			      uint32_t pd, uint64_t addr, uint32_t len, unsigned int profile);
void ionic_ah_free(struct ionic *ionic, struct ionic_ah *ah);

/* ---- ionic_rdma_qp.c -------------------------------------------------------------- */

struct ionic_qp *ionic_qp_get(struct ionic *ionic, unsigned int id);
void ionic_qp_free(struct ionic *ionic, struct ionic_qp *qp);
/* ERR: everything stops, both queues tell their host to flush */
void ionic_qp_error(struct ionic *ionic, struct ionic_qp *qp);
/* SQE: the send queue alone */
void ionic_qp_send_error(struct ionic *ionic, struct ionic_qp *qp);
void ionic_qp_activate(struct ionic *ionic, struct ionic_qp *qp);

static inline bool ionic_qp_connected(const struct ionic_qp *qp)
{
	return qp->type == IONIC_QPT_RC || qp->type == IONIC_QPT_UC;
}

static inline uint32_t ionic_qp_mtu(const struct ionic_qp *qp)
{
	return ionic_qp_connected(qp) ? 1u << qp->attr.pmtu_log2 : IONIC_MTU_MAX;
}

static inline bool ionic_qp_receives(const struct ionic_qp *qp)
{
	return qp->state >= IONIC_QPS_RTR && qp->state <= IONIC_QPS_SQE;
}

/* ---- ionic_rdma_wq.c -------------------------------------------------------------- */

void ionic_wq_doorbell(struct ionic *ionic, struct ionic_qp *qp, struct ionic_wq *wq,
		       uint64_t value);
/* takes the WQE at sq.next apart into its op; the copy is in op->wqe */
void ionic_wq_take_send(struct ionic *ionic, struct ionic_qp *qp, struct ionic_op *op);
/* takes the next receive WQE; false if there is none. A status if it is no good */
bool ionic_wq_take_recv(struct ionic *ionic, struct ionic_qp *qp, enum ionic_io_status *status);
/* copies a part of a WQE's buffers */
enum ionic_io_status ionic_sgl_gather(struct ionic *ionic, const struct ionic_qp *qp,
				      const struct ionic_sgl *sgl, uint64_t off, void *buf,
				      size_t len);
enum ionic_io_status ionic_sgl_scatter(struct ionic *ionic, const struct ionic_qp *qp,
				       const struct ionic_sgl *sgl, uint64_t off, const void *buf,
				       size_t len);
/* a store to an express window (strict mode) */
void ionic_wq_express(struct ionic *ionic, unsigned int window, uint64_t off, unsigned int size);
/* looks at the express windows that are mapped; true if a queue was rung */
bool ionic_wq_poll(struct ionic *ionic);

/* ---- ionic_rdma_send.c ------------------------------------------------------------ */

/* forgets what is under way and what is posted; the MSN stays */
void ionic_requester_reset(struct ionic_qp *qp);
/* RTS: begins with the PSN it was given */
void ionic_requester_start(struct ionic_qp *qp);
/* what was posted up to @index is the host's to flush */
void ionic_requester_skip(struct ionic_qp *qp, uint16_t index);
/* sends at most @budget packets; true if there is more to do now; *when as usual */
bool ionic_requester_work(struct ionic *ionic, struct ionic_qp *qp, unsigned int budget,
			  uint64_t *when);
/* sends a packet whose payload is at hand; 0 or an errno of ionic_net_send() */
int ionic_rdma_transmit(struct ionic *ionic, const struct ionic_ah *ah,
			const struct ionic_packet *packet);
/* an ACK, NAK, read response or atomic answer */
void ionic_requester_packet(struct ionic *ionic, struct ionic_qp *qp,
			    const struct ionic_packet *packet);

/* ---- ionic_rdma_recv.c ------------------------------------------------------------ */

void ionic_responder_reset(struct ionic_qp *qp);
/* sends at most @budget responses */
bool ionic_responder_work(struct ionic *ionic, struct ionic_qp *qp, unsigned int budget,
			  uint64_t *when);
/* a request, or a datagram */
void ionic_responder_packet(struct ionic *ionic, struct ionic_qp *qp,
			    const struct ionic_packet *packet);

/* ---- ionic_rdma_control.c --------------------------------------------------------- */

void ionic_rdma_print_stats(const struct ionic *ionic, FILE *out);
/* verbs about RDMA; -ENOSYS: there is no such verb */
int ionic_rdma_control(struct ionic *ionic, int argc, char **argv, FILE *out);
/* what each of them takes, as help */
void ionic_rdma_print_usage(FILE *out);

#endif /* IONIC_RDMA_H */
