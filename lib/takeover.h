/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Take-over: the data path of EFA queues, carried by the library where the provider of the
 * installed rdma-core cannot (takeover.c), for the calls of the verbs that post
 * (takeover_post.c) and poll (takeover_poll.c).
 *
 * Creating, modifying and destroying stays the provider's. What the provider counts for
 * these queues (producer, consumer, request ids) is never used again.
 */
#ifndef DVQ_LIB_TAKEOVER_H
#define DVQ_LIB_TAKEOVER_H

#include <infiniband/efadv.h>
#include <sched.h>

#include "internal.h"

/* ---- locks -------------------------------------------------------------------------- */

/*
 * Of the sends of a QP, from ibv_wr_start() to ibv_wr_complete() or for one call, and of its receives. Whoever spins
 * long has been left by the scheduler.
 */
struct take_lock {
	uint32_t held;
};

#if defined(__x86_64__)
#define TAKE_RELAX()	__asm__ volatile("pause")
#else
#define TAKE_RELAX()	__asm__ volatile("yield")
#endif

static inline void take_relax(unsigned int *turns)
{
	TAKE_RELAX();
	if (++*turns % 1024 == 0)
		sched_yield();
}

static inline void take_lock(struct take_lock *lock)
{
	unsigned int turns = 0;

	while (__atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
			take_relax(&turns);
}

static inline void take_unlock(struct take_lock *lock)
{
	__atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

/*
 * Of a CQ. From ibv_start_poll() to ibv_end_poll() it is the program that runs, and it may wait
 * there for a thread that wants something of the same CQ: one that posts first after a RESET, takes a
 * QP over or forgets one. So a block is open, and not held: whoever comes borrows the CQ, mostly for the time
 * of a few stores, where QPs are gone for that of asking the kernel. Only another block waits for the end of one.
 * Nobody waits for another thread while he is in; it is the last lock that is taken.
 */
enum take_turn {
	TAKE_FREE,
	TAKE_OPEN,	/* a block of polling is, and its thread is in the program */
	TAKE_BUSY,	/* somebody is in */
};

struct take_gate {
	uint32_t turn;
};

/* what the gate was, for take_leave() */
static inline uint32_t take_enter(struct take_gate *gate)
{
	unsigned int turns = 0;
	uint32_t was;

	/* of a busy one nothing is changed */
	while (dvq_unlikely((was = __atomic_exchange_n(&gate->turn, TAKE_BUSY,
						       __ATOMIC_ACQUIRE)) == TAKE_BUSY))
		while (__atomic_load_n(&gate->turn, __ATOMIC_RELAXED) == TAKE_BUSY)
			take_relax(&turns);
	return was;
}

/* pairs with the acquire in take_enter() */
static inline void take_leave(struct take_gate *gate, uint32_t turn)
{
	__atomic_store_n(&gate->turn, turn, __ATOMIC_RELEASE);
}

/* to open a block: there is no other one */
static inline void take_enter_alone(struct take_gate *gate)
{
	unsigned int turns = 0;
	uint32_t was;

	while (dvq_unlikely((was = take_enter(gate)) != TAKE_FREE)) {
		take_leave(gate, was);
		while (__atomic_load_n(&gate->turn, __ATOMIC_RELAXED) != TAKE_FREE)
			take_relax(&turns);
	}
}

/* ---- request ids --------------------------------------------------------------------- */

/* a request that is out, or was */
struct take_slot {
	uint64_t wr_id;
	uint64_t out;
};

/**
 * struct take_pool - the request ids of a queue
 * @slots: by index
 * @free: ring of indices that are free, as large as @mask tells
 * @mask: entries of @free - 1; also the bits of an id that are the index
 * @limit: how many indices there are
 * @tag: the rest of every id: the generation of the QP
 * @head: where the next index is taken from; the poster's, below its lock
 * @apart: keeps what two threads write in two cache lines
 * @tail: where the next one is put back; the poller's, below its lock
 *
 * Poster and poller meet in @tail alone, so that neither takes the other's lock.
 */
struct take_pool {
	struct take_slot *slots;
	uint16_t *free;
	uint32_t mask;
	uint32_t limit;
	uint64_t tag;
	uint32_t head;
	uint32_t apart[15];
	uint32_t tail;
};

int take_pool_init(struct take_pool *pool, uint32_t limit);
void take_pool_drop(struct take_pool *pool);
/* all ids are free; poster and poller are kept out by the caller */
void take_pool_refill(struct take_pool *pool);

static inline bool take_pool_is_empty(struct take_pool *pool)
{
	/* pairs with the release in take_pool_put() */
	return pool->head == __atomic_load_n(&pool->tail, __ATOMIC_ACQUIRE);
}

/* the pool is not empty */
static inline uint32_t take_pool_get(struct take_pool *pool, uint64_t wr_id)
{
	const uint32_t index = pool->free[pool->head++ & pool->mask];
	struct take_slot *slot = &pool->slots[index];

	/* the poller reads them when the device has completed the request */
	__atomic_store_n(&slot->wr_id, wr_id, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->out, 1, __ATOMIC_RELAXED);
	return index;
}

/* the newest @n were not posted after all */
static inline void take_pool_undo(struct take_pool *pool, uint32_t n)
{
	while (n--) {
		const uint32_t index = pool->free[--pool->head & pool->mask];

		__atomic_store_n(&pool->slots[index].out, 0, __ATOMIC_RELAXED);
	}
}

/* The request with @id is done; false if it is not out: another queue's, or told twice. */
static inline bool take_pool_put(struct take_pool *pool, uint64_t id, uint64_t *wr_id)
{
	const uint32_t index = (uint32_t)id & pool->mask;
	struct take_slot *slot = &pool->slots[index];

	if (dvq_unlikely((id & ~(uint64_t)pool->mask) != pool->tag || index >= pool->limit ||
			 !__atomic_load_n(&slot->out, __ATOMIC_RELAXED)))
		return false;
	*wr_id = __atomic_load_n(&slot->wr_id, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->out, 0, __ATOMIC_RELAXED);
	pool->free[pool->tail & pool->mask] = (uint16_t)index;
	__atomic_store_n(&pool->tail, pool->tail + 1, __ATOMIC_RELEASE);
	return true;
}

/* ---- a context ------------------------------------------------------------------------ */

/* a note about an AH: @key ^ @data is its address, @data the count of AHs then and its number */
struct take_ah {
	uint64_t key;
	uint64_t data;
};

#define TAKE_AHS	4096
#define TAKE_ASK	64	/* objects that the kernel is asked about at once */

/**
 * struct take_context - a context whose calls come here first
 * @next: of all
 * @context: the context
 * @identity: tells whether the file is still the context's
 * @mode: what was chosen for it
 * @changes: counts what is destroyed
 * @changes_length: of its mapping
 * @reaped: count of changes when objects were looked for that are gone
 * @ahs: TAKE_AHS notes of AH numbers
 * @rows: QP numbers that a CQ tells apart, a power of two
 * @post_send, @post_recv, @poll_cq, @req_notify_cq, @create_qp_ex: of the provider
 */
struct take_context {
	struct take_context *next;
	struct ibv_context *context;
	struct dvq_file identity;
	enum dvq_datapath mode;
	const volatile struct dvq_changes *changes;
	uint64_t changes_length;
	uint64_t reaped;
	struct take_ah *ahs;
	uint32_t rows;
	int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
	int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
	int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
	int (*req_notify_cq)(struct ibv_cq *cq, int solicited_only);
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
};

static inline struct take_ah *take_note_of(struct take_context *context, const struct ibv_ah *ah)
{
	const uint64_t hash = (uintptr_t)ah / 16 * 0x9e3779b97f4a7c15ull;

	return &context->ahs[hash >> 52];
}

_Static_assert(TAKE_AHS == 1 << 12, "12 bits of a hash");

/* asks the kernel, and notes the answer as one of when @gone was the count of AHs */
int take_ask_ah(struct take_context *context, struct ibv_ah *ah, uint64_t gone, uint16_t *number);

/*
 * The device's number of an AH: 0 or an errno. Only the kernel tells it, so it is noted. A note is
 * good as long as no AH of the context was destroyed since: then its address is still that
 * AH's. The two words of a note are read without a lock; that they belong together the key tells.
 */
static inline int take_ah_number(struct take_context *context, struct ibv_ah *ah, uint16_t *number)
{
	const uint64_t gone = context->changes->ahs << 16;
	const struct take_ah *note = take_note_of(context, ah);
	const uint64_t data = __atomic_load_n(&note->data, __ATOMIC_RELAXED);
	const uint64_t key = __atomic_load_n(&note->key, __ATOMIC_RELAXED);

	if (dvq_unlikely((key ^ data) != (uintptr_t)ah || (data & ~(uint64_t)0xffff) != gone))
		return take_ask_ah(context, ah, gone, number);
	*number = (uint16_t)data;
	return 0;
}

/* ---- a CQ -------------------------------------------------------------------------------- */

struct take_qp;

/* whose the completions of a QP number are; @qp NULL: nobody's */
struct take_row {
	struct take_qp *qp;
	struct take_pool *send, *recv;	/* NULL: that queue completes elsewhere */
	uint32_t qp_num;
	bool wide;			/* ids of @send have 64 bits */
};

/**
 * struct take_cq - a CQ that the library polls
 * @efadv: what efadv_cq_from_ibv_cq_ex() gives
 * @gate: protects all that follows up to @backlog_size, but for @current, which is the open block's
 * @ring: the ring
 * @rows: by the low bits of a QP number
 * @row_mask: how many there are - 1
 * @seen: count of changes when the rows were right
 * @current: the completion of an open block of polling
 * @unrung: entries were taken since the last doorbell
 * @armed: there was an arm since the beginning
 * @armed_at: entries that had been taken at the last arm
 * @backlog: completions that were taken off the ring when a QP was reset, oldest first
 * @backlog_first, @backlog_count, @backlog_size: what of it is used
 * @context, @uid: which CQ it is
 * @gone: it is not there any more
 * @unsolicited: a QP was attached whose incoming writes take no receive
 * @wants_sgid, @wants_unsolicited: what it was created to tell
 * @next: of all
 */
struct take_cq {
	struct efadv_cq efadv;
	struct take_gate gate;
	struct dvq_efa_cq ring;
	struct take_row *rows;
	uint32_t row_mask;
	uint64_t seen;
	struct dvq_efa_wc current;
	bool unrung;
	bool armed;
	uint32_t armed_at;
	struct dvq_efa_wc *backlog;
	uint32_t backlog_first, backlog_count, backlog_size;

	struct take_context *context;
	uint64_t uid;
	bool gone;
	bool unsolicited;
	bool wants_sgid, wants_unsolicited;
	struct take_cq *next;
};

/*
 * Marks. An object is ours if a function pointer of it is; it is ours no more once the
 * provider has made another at that address. Beside it, in a slot that means nothing on
 * EFA and that stock leaves empty (tag matching, XRC), is where we keep what we know.
 */
int take_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
void take_wr_start(struct ibv_qp_ex *qp);

static inline struct take_cq *take_cq_of(const struct ibv_cq *cq)
{
	const struct ibv_cq_ex *ex = (const struct ibv_cq_ex *)cq;

	if (!cq || __atomic_load_n(&ex->start_poll, __ATOMIC_ACQUIRE) != take_start_poll)
		return NULL;
	return (struct take_cq *)(void *)ex->read_tm_info;
}

/* of a CQ that is known to be ours */
static inline struct take_cq *take_cq_here(const struct ibv_cq_ex *cq)
{
	return (struct take_cq *)(void *)cq->read_tm_info;
}

/*
 * Puts our functions into the CQ, the mark last; also where @readers are, which the program may have been
 * given. With the lock.
 */
void take_cq_mark(struct ibv_cq *cq, struct take_cq *taken, const struct dvq_efadv_readers *readers);
int take_poll_cq(struct take_cq *cq, int n, struct ibv_wc *wc);
int take_arm(struct ibv_cq *ibvcq, struct take_cq *cq, int solicited_only);
/*
 * Takes all there is off the ring, to be polled later, but for completions of one side of
 * a QP: those are no more. Inside the gate. 0, or ENOMEM: then nothing was taken further.
 */
int take_cq_forget(struct take_cq *cq, const struct take_qp *qp, bool recv);

/* ---- a QP ------------------------------------------------------------------------------------ */

/**
 * struct take_qp - a QP that the library posts to
 * @efadv: what efadv_qp_from_ibv_qp_ex() gives; the first member
 * @qp: the QP
 * @context: its context
 * @send_lock: protects what follows up to @send_resets, and from ibv_wr_start() on is
 *	held until the block ends
 * @sq: the send queue, staged; no ring: there is none
 * @sends: its request ids
 * @word: the entry of the request that is being built, in the stage; NULL: there is none
 * @op: of it, enum efa_op
 * @has_data: its buffers or inline data have been set
 * @error: first of the block
 * @send_seen: count of changes when the queue was right
 * @send_resets: resets of the QP then
 * @recv_lock: protects what follows up to @recv_resets
 * @rq: the receive queue; no ring: there is none
 * @receives: its request ids
 * @recv_seen, @recv_resets: as of the send queue
 * @info: the kernel's record
 * @wide: send ids have 64 bits
 * @sig_all: requests need not ask for their completion
 * @inline_write: RDMA writes may carry inline data
 * @hints: the QP takes processing hints
 * @gone: it is not there any more
 * @send_cq, @recv_cq: where it completes
 * @next: of all
 */
struct take_qp {
	struct efadv_qp efadv;
	struct ibv_qp *qp;
	struct take_context *context;
	struct take_lock send_lock;
	struct dvq_efa_sq sq;
	struct take_pool sends;
	uint64_t *word;
	uint32_t op;
	bool has_data;
	int error;
	uint64_t send_seen;
	uint32_t send_resets;
	struct take_lock recv_lock;
	struct dvq_efa_rq rq;
	struct take_pool receives;
	uint64_t recv_seen;
	uint32_t recv_resets;

	struct dvq_qp_info info;
	uint32_t handle;
	bool wide, sig_all, inline_write, hints, gone;
	struct take_cq *send_cq, *recv_cq;
	struct take_qp *next;
};

static inline struct take_qp *take_qp_of(const struct ibv_qp *qp)
{
	const struct ibv_qp_ex *ex = (const struct ibv_qp_ex *)qp;

	if (__atomic_load_n(&ex->wr_start, __ATOMIC_ACQUIRE) != take_wr_start)
		return NULL;
	return (struct take_qp *)(void *)ex->wr_set_xrc_srqn;
}

static inline struct take_qp *take_qp_here(const struct ibv_qp_ex *qp)
{
	return (struct take_qp *)(void *)qp->wr_set_xrc_srqn;
}

/*
 * Puts our functions into the QP, builders of @ops (IBV_QP_EX_WITH_*), the mark last; also where @setter is, which
 * the program may have been given; NULL: there is none. With the lock.
 */
void take_qp_mark(struct ibv_qp *qp, struct take_qp *taken, uint64_t ops, struct efadv_qp *setter);
int take_post_send(struct take_qp *taken, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int take_post_recv(struct take_qp *taken, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
/* the QP's record as it is now; its handle may be another's by now: compare the uid */
int take_query_qp(const struct take_qp *taken, struct dvq_qp_info *info);

#endif /* DVQ_LIB_TAKEOVER_H */
