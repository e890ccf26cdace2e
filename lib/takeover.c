// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Take-over: which queues the library carries itself, and how calls come here.
 *
 * A CQ is taken over with all of its QPs, or not at all: whoever polls must know every
 * request. It is taken when it is created, or with its first QP, as long as nobody has
 * used it; from then on every QP that is created on it is taken, too. That is possible
 * because some calls of the verbs go through pointers of the context, the QP or the CQ
 * that are public. Destroying does not, nor does modifying; the kernel counts those
 * (struct dvq_changes), and where a count has moved the object is asked for again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "takeover.h"

#define MIN_ROWS	256
#define MAX_ROWS	65536

/*
 * Protects the lists. Taken before the gate of a CQ, and not by who posts or polls, but for the first
 * post to a QP that was not seen being created. Who has it waits for no lock that a program holds, such
 * as those of the blocks of ibv_wr_start(), nor for the loader's (dladdr()), which is held while the constructor
 * of a plug-in calls us.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct take_context *contexts;
static struct take_cq *cqs;
static struct take_qp *qps;

void dvq_takeover_in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	contexts = NULL;
	cqs = NULL;
	qps = NULL;
}

static void enter(void)
{
	dvq_see_process();
	pthread_mutex_lock(&lock);
}

/* for what can wait for the next call */
static bool try_enter(void)
{
	dvq_see_process();
	return !pthread_mutex_trylock(&lock);
}

static void leave(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- request ids ----------------------------------------------------------------------- */

void take_pool_refill(struct take_pool *pool)
{
	for (uint32_t i = 0; i < pool->limit; i++) {
		__atomic_store_n(&pool->slots[i].out, 0, __ATOMIC_RELAXED);
		pool->free[i] = (uint16_t)i;
	}
	pool->head = 0;
	__atomic_store_n(&pool->tail, pool->limit, __ATOMIC_RELEASE);
}

int take_pool_init(struct take_pool *pool, uint32_t limit)
{
	uint32_t size = 1;

	while (size < limit)
		size *= 2;
	pool->mask = size - 1;
	pool->limit = limit;
	pool->slots = calloc(size, sizeof(*pool->slots));
	pool->free = calloc(size, sizeof(*pool->free));
	if (!pool->slots || !pool->free) {
		take_pool_drop(pool);
		return ENOMEM;
	}
	take_pool_refill(pool);
	return 0;
}

void take_pool_drop(struct take_pool *pool)
{
	free(pool->slots);
	free(pool->free);
	pool->slots = NULL;
	pool->free = NULL;
}

/* ---- what is still there ---------------------------------------------------------------- */

int take_query_qp(const struct take_qp *taken, struct dvq_qp_info *info)
{
	struct dvq_call call;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	dvq_call_handle(&call, DVQ_ATTR_QUERY_QP_QP, taken->handle);
	dvq_call_out(&call, DVQ_ATTR_QUERY_QP_INFO, info, sizeof(*info));
	return dvq_call_issue(&call, taken->context->identity.fd, DVQ_RDMA_DRIVER_EFA);
}

/* by name: by handle it would be held, and another thread could not destroy it meanwhile */
static bool is_gone(const struct take_context *context, uint64_t uid)
{
	uint8_t alive;
	int ret;

	if (!dvq_file_is_same(&context->identity))
		return true;
	ret = dvq_query_uids(context->identity.fd, &uid, 1, &alive);
	return ret ? dvq_tells_of_none(ret) : !alive;
}

static void detach(struct take_cq *cq, const struct take_qp *taken)
{
	struct take_row *row;
	uint32_t was;

	if (!cq)
		return;
	was = take_enter(&cq->gate);
	row = &cq->rows[taken->info.qp_num & cq->row_mask];
	if (row->qp == taken)
		memset(row, 0, sizeof(*row));
	take_leave(&cq->gate, was);
}

static void free_qp(struct take_qp *taken)
{
	detach(taken->send_cq, taken);
	detach(taken->recv_cq, taken);
	take_pool_drop(&taken->sends);
	take_pool_drop(&taken->receives);
	free((void *)(uintptr_t)taken->sq.stage);
	free(taken);
}

static void free_cq(struct take_cq *cq)
{
	free(cq->backlog);
	free(cq->rows);
	free(cq);
}

/* the kernel could not say of some whether they are there; the next call asks again */
static bool untold;

/* what is asked about at once */
struct question {
	uint64_t uid[TAKE_ASK];
	bool *gone[TAKE_ASK];
	uint16_t n;
};

static void ask(const struct take_context *context, struct question *question)
{
	uint8_t alive[TAKE_ASK];
	int ret;

	if (!question->n)
		return;
	ret = dvq_query_uids(context->identity.fd, question->uid, question->n, alive);
	/* a device that was taken away tells nothing more: then it is the file that counts */
	untold |= ret && ret != EIO && !dvq_tells_of_none(ret);
	for (uint16_t i = 0; i < question->n; i++)
		*question->gone[i] = ret ? dvq_tells_of_none(ret) : !alive[i];
	question->n = 0;
}

static void ask_about(const struct take_context *context, struct question *question, uint64_t uid,
		      bool *gone)
{
	question->uid[question->n] = uid;
	question->gone[question->n++] = gone;
	if (question->n == TAKE_ASK)
		ask(context, question);
}

/* CQs first: of one that is gone all QPs are, too, when they are asked about */
static void look_for_gone(const struct take_context *context)
{
	const bool closed = !dvq_file_is_same(&context->identity);
	struct question question = { .n = 0 };
	struct take_cq *cq;
	struct take_qp *qp;

	for (cq = cqs; cq; cq = cq->next) {
		if (cq->context != context)
			continue;
		cq->gone = closed;
		if (!closed)
			ask_about(context, &question, cq->uid, &cq->gone);
	}
	ask(context, &question);
	for (qp = qps; qp; qp = qp->next) {
		if (qp->context != context)
			continue;
		qp->gone = closed;
		if (!closed)
			ask_about(context, &question, qp->info.uid, &qp->gone);
	}
	ask(context, &question);
}

static bool is_used(const struct take_context *context)
{
	const struct take_qp *taken;
	const struct take_cq *cq;

	for (taken = qps; taken; taken = taken->next)
		if (taken->context == context)
			return true;
	for (cq = cqs; cq; cq = cq->next)
		if (cq->context == context)
			return true;
	return false;
}

static void free_context(struct take_context *context)
{
	dvq_unmap((uintptr_t)context->changes, context->changes_length);
	free(context->ahs);
	free(context);
}

/*
 * The kernel destroys no CQ before its QPs. But it may have had no memory to tell of those, so they are looked
 * for here.
 */
static bool has_qp(const struct take_cq *cq)
{
	const struct take_qp *taken;

	for (taken = qps; taken; taken = taken->next)
		if (taken->send_cq == cq || taken->recv_cq == cq)
			return true;
	return false;
}

/* QPs first: theirs is the way to their CQs */
static void reap_locked(void)
{
	struct take_context **context = &contexts;
	struct take_qp **qp = &qps;
	struct take_cq **cq = &cqs;

	untold = false;
	for (struct take_context *each = contexts; each; each = each->next)
		look_for_gone(each);
	while (*qp) {
		struct take_qp *this = *qp;

		if (!this->gone) {
			qp = &this->next;
			continue;
		}
		*qp = this->next;
		free_qp(this);
	}
	while (*cq) {
		struct take_cq *this = *cq;

		if (!this->gone || has_qp(this)) {
			cq = &this->next;
			continue;
		}
		*cq = this->next;
		free_cq(this);
	}
	while (*context) {
		struct take_context *this = *context;

		if (dvq_file_is_same(&this->identity) || is_used(this)) {
			context = &this->next;
			continue;
		}
		*context = this->next;
		free_context(this);
	}
}

/* Counts of the kernel tell of QPs; a CQ may go without that. */
static bool has_moved(void)
{
	struct take_context *context;
	bool moved = untold;

	for (context = contexts; context; context = context->next) {
		if (!dvq_file_is_same(&context->identity)) {
			moved = true;
		} else if (context->changes->qps != context->reaped) {
			context->reaped = context->changes->qps;
			moved = true;
		}
	}
	return moved;
}

void dvq_takeover_reap(bool all)
{
	/* also in a child, whose parent has some */
	if (!__atomic_load_n(&contexts, __ATOMIC_RELAXED))
		return;
	if (all)
		enter();
	else if (!try_enter())
		return;
	if (has_moved() || all)
		reap_locked();
	leave();
}

/* ---- AH numbers ----------------------------------------------------------------------------- */

int take_ask_ah(struct take_context *context, struct ibv_ah *ah, uint64_t gone, uint16_t *number)
{
	struct take_ah *note = take_note_of(context, ah);
	struct dvq_ah_info info;
	uint64_t data;
	int ret;

	if (ah->context != context->context)
		return EINVAL;
	ret = dvq_efa_query_ah(ah, &info);
	if (ret)
		return ret;
	*number = (uint16_t)info.ah_num;
	data = gone | *number;
	__atomic_store_n(&note->data, data, __ATOMIC_RELAXED);
	__atomic_store_n(&note->key, (uintptr_t)ah ^ data, __ATOMIC_RELAXED);
	return 0;
}

/* ---- calls of a context ------------------------------------------------------------------------ */

static int hook_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

/* of the slots that nobody calls one has what we know */
static struct take_context *slot_of(const struct ibv_context *context)
{
	return (struct take_context *)(void *)context->ops._compat_attach_mcast;
}

/* the same marks as on QPs and CQs */
static struct take_context *context_of(const struct ibv_context *context)
{
	if (__atomic_load_n(&context->ops.post_send, __ATOMIC_ACQUIRE) != hook_post_send)
		return NULL;
	return slot_of(context);
}

/*
 * Of a context whose @call came to us, whoever may have put himself before us since. It may be ours only
 * since just now: loading the pointer again pairs with the release in hook().
 */
#define CONTEXT_HERE(context, call)						\
	((void)__atomic_load_n(&(call), __ATOMIC_ACQUIRE), slot_of(context))

static int adopt(struct ibv_qp *qp);

/* A QP without the extended interface, created on a CQ of ours: taken before it does anything. */
static int find(struct ibv_qp *qp, struct take_qp **taken)
{
	int ret;

	*taken = take_qp_of(qp);
	if (!dvq_unlikely(!*taken))
		return 0;
	if (!take_cq_of(qp->send_cq) && !take_cq_of(qp->recv_cq))
		return 0;
	ret = adopt(qp);
	if (!ret)
		*taken = take_qp_of(qp);
	return ret;
}

static int hook_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct take_qp *taken;
	int ret = find(qp, &taken);

	if (ret) {
		*bad = wr;
		return ret;
	}
	return taken ? take_post_send(taken, wr, bad) :
		       CONTEXT_HERE(qp->context, qp->context->ops.post_send)->post_send(qp, wr, bad);
}

static int hook_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct take_qp *taken;
	int ret = find(qp, &taken);

	if (ret) {
		*bad = wr;
		return ret;
	}
	return taken ? take_post_recv(taken, wr, bad) :
		       CONTEXT_HERE(qp->context, qp->context->ops.post_recv)->post_recv(qp, wr, bad);
}

static int hook_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct take_cq *taken = take_cq_of(cq);

	return taken ? take_poll_cq(taken, n, wc) :
		       CONTEXT_HERE(cq->context, cq->context->ops.poll_cq)->poll_cq(cq, n, wc);
}

static int hook_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct take_cq *taken = take_cq_of(cq);

	return taken ? take_arm(cq, taken, solicited_only) :
		       CONTEXT_HERE(cq->context, cq->context->ops.req_notify_cq)->
				req_notify_cq(cq, solicited_only);
}

/* Queue pairs with the extended interface, other than by efadv_create_qp_ex(). */
static struct ibv_qp *hook_create_qp_ex(struct ibv_context *context,
					struct ibv_qp_init_attr_ex *attr)
{
	struct verbs_context *vctx = verbs_get_ctx(context);
	struct ibv_qp *qp = CONTEXT_HERE(context, vctx->create_qp_ex)->create_qp_ex(context, attr);
	int ret;

	if (!qp || !(attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) || take_qp_of(qp))
		return qp;
	ret = dvq_takeover_qp(qp, attr->send_ops_flags, NULL, DVQ_TAKEOVER_IF_WANTED);
	if (!ret)
		return qp;
	ibv_destroy_qp(qp);
	errno = ret;
	return NULL;
}

/* ---- who wants it --------------------------------------------------------------------------------- */

/* what the environment says; AUTO if nothing that is known */
static enum dvq_datapath environment(void)
{
	const char *value = secure_getenv("DVQ_DATAPATH");

	if (value && !strcmp(value, "take-over"))
		return DVQ_DATAPATH_TAKE_OVER;
	if (value && !strcmp(value, "stock"))
		return DVQ_DATAPATH_STOCK;
	return DVQ_DATAPATH_AUTO;
}

/* Ours, also if another library has put calls of its own before ours. With the lock. */
static struct take_context *known(const struct ibv_context *context)
{
	struct take_context *taken;

	for (taken = contexts; taken; taken = taken->next)
		if (taken == slot_of(context) && taken->context == context)
			return taken;
	return NULL;
}

static enum dvq_datapath chosen_locked(const struct ibv_context *context)
{
	const struct take_context *taken = known(context);

	return taken && taken->mode != DVQ_DATAPATH_AUTO ? taken->mode : environment();
}

static enum dvq_datapath chosen(const struct ibv_context *context)
{
	enum dvq_datapath datapath;

	enter();
	datapath = chosen_locked(context);
	leave();
	return datapath;
}

/* processing hints came with release 64; a stock library that has a name for them does them */
static bool stock_can(struct ibv_context *context)
{
	const struct dvq_stock *stock = dvq_stock(context);

	return stock && (stock->release ? stock->release >= 64 : !!stock->qp_from_ibv_qp_ex);
}

bool dvq_takeover_is_wanted(struct ibv_context *context)
{
	switch (chosen(context)) {
	case DVQ_DATAPATH_TAKE_OVER:
		return true;
	case DVQ_DATAPATH_STOCK:
		return false;
	default:
		return !stock_can(context);
	}
}

bool dvq_takeover_is_forced(struct ibv_context *context)
{
	return chosen(context) == DVQ_DATAPATH_TAKE_OVER;
}

static void *code_below(const struct take_context *taken, const struct ibv_context *context)
{
	return taken ? (void *)taken->post_send : (void *)context->ops.post_send;
}

void *dvq_provider_code(struct ibv_context *context)
{
	void *code;

	enter();
	code = code_below(known(context), context);
	leave();
	return code;
}

const void *dvq_posting_code(const struct ibv_context *context)
{
	return code_below(context_of(context), context);
}

/* ---- taking a context -------------------------------------------------------------------------------- */

static int map_changes(struct take_context *taken)
{
	struct ibv_context *context = taken->context;
	const uint64_t none = 0;
	struct dvq_context_info info;
	struct dvq_call call;
	uint8_t alive;
	void *map;
	int ret;

	dvq_call_init(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_CONTEXT);
	dvq_call_out(&call, DVQ_ATTR_QUERY_CONTEXT_INFO, &info, sizeof(info));
	ret = dvq_call_device(&call, context, DVQ_RDMA_DRIVER_EFA);
	if (ret)
		return ret;
	if (!info.changes_key || info.changes_length < sizeof(struct dvq_changes) ||
	    dvq_query_uids(context->cmd_fd, &none, 1, &alive))
		return dvq_refuse(EOPNOTSUPP, "the kernel does not tell what was destroyed");
	ret = dvq_map(context->cmd_fd, info.changes_key, info.changes_length, PROT_READ, &map);
	if (ret)
		return ret;
	taken->changes = map;
	taken->changes_length = info.changes_length;
	return 0;
}

static int count_rows(struct take_context *taken)
{
	struct ibv_device_attr attr;
	int ret;

	ret = ibv_query_device(taken->context, &attr);
	if (ret)
		return dvq_refuse(ret, "%s: cannot be queried",
				  ibv_get_device_name(taken->context->device));
	taken->rows = MIN_ROWS;
	/* the low bits of the QP numbers that are alive are unique among so many */
	while (taken->rows < MAX_ROWS && taken->rows < (uint32_t)attr.max_qp)
		taken->rows *= 2;
	return 0;
}

/* Calls may be under way in other threads: for them it is either the provider or us. */
static void hook(struct take_context *taken)
{
	struct ibv_context *context = taken->context;
	struct verbs_context *vctx = verbs_get_ctx_op(context, create_qp_ex);
	struct ibv_context_ops *ops = &context->ops;

	taken->post_send = ops->post_send;
	taken->post_recv = ops->post_recv;
	taken->poll_cq = ops->poll_cq;
	taken->req_notify_cq = ops->req_notify_cq;
	ops->_compat_attach_mcast = (void *(*)(void))(void *)taken;
	if (vctx) {
		taken->create_qp_ex = vctx->create_qp_ex;
		__atomic_store_n(&vctx->create_qp_ex, hook_create_qp_ex, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&ops->post_recv, hook_post_recv, __ATOMIC_RELEASE);
	__atomic_store_n(&ops->poll_cq, hook_poll_cq, __ATOMIC_RELEASE);
	__atomic_store_n(&ops->req_notify_cq, hook_req_notify_cq, __ATOMIC_RELEASE);
	__atomic_store_n(&ops->post_send, hook_post_send, __ATOMIC_RELEASE);
}

/* an open context has its file alone, so what else is noted for that one is closed */
static void forget_closed(const struct ibv_context *context)
{
	struct take_context **at = &contexts, *old;

	while ((old = *at)) {
		if (old->identity.fd != context->cmd_fd || is_used(old)) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		free_context(old);
	}
}

static unsigned int count_hooks(const struct ibv_context *context)
{
	const struct ibv_context_ops *ops = &context->ops;

	return (ops->post_send == hook_post_send) + (ops->post_recv == hook_post_recv) +
	       (ops->poll_cq == hook_poll_cq) + (ops->req_notify_cq == hook_req_notify_cq);
}

/*
 * libibverbs has a function there, which nobody calls; a second copy of us has memory. Without the lock; what we
 * put there meanwhile take_context_locked() knows.
 */
static bool is_slot_taken(const struct ibv_context *context)
{
	const void *slot = slot_of(context);
	Dl_info info;

	return !context_of(context) && slot && !dladdr(slot, &info);
}

/*
 * Others may replace the same calls. Who did it before us is passed what is not ours. Who did it
 * afterwards may pass all on to us, or nothing: what we took already goes on as he lets it, but nothing more is
 * taken, for if calls do not come here, two post to one ring. To put ours before his again
 * would lose his, and end in a circle if he passes on. The same of a second copy of this library, which
 * has the slot and has our functions under other addresses.
 * @foreign: is_slot_taken()
 */
static int take_context_locked(struct ibv_context *context, bool foreign, struct take_context **result)
{
	struct take_context *taken = known(context);
	int ret;

	*result = taken;
	if (taken && count_hooks(context) == 4)
		return 0;
	if (taken || foreign || count_hooks(context))
		return dvq_refuse(EBUSY, "another library has replaced calls of the context");
	forget_closed(context);
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return dvq_refuse(ENOMEM, "no memory");
	taken->context = context;
	taken->ahs = calloc(TAKE_AHS, sizeof(*taken->ahs));
	ret = taken->ahs ? dvq_file_remember(&taken->identity, context->cmd_fd) :
			   dvq_refuse(ENOMEM, "no memory");
	if (!ret)
		ret = count_rows(taken);
	if (!ret)
		ret = map_changes(taken);
	if (ret) {
		free_context(taken);
		return ret;
	}
	hook(taken);
	taken->next = contexts;
	__atomic_store_n(&contexts, taken, __ATOMIC_RELAXED);
	*result = taken;
	return 0;
}

/* ---- taking a CQ --------------------------------------------------------------------------------------- */

/* The kernel gives the ring zeroed, and so does who gives memory of his own; an entry has a type. */
static bool was_polled(const struct dvq_efa_cq *ring)
{
	for (uint32_t i = 0; i < ring->sub_cqs; i++)
		if (dvq_load64(ring->ring + (uint64_t)i * ring->bytes))
			return true;
	return false;
}

static int map_cq(struct ibv_cq *cq, struct take_cq *taken, const struct dvq_cq_info *info)
{
	const struct dvq_object object = {
		.context = cq->context, .uid = info->uid,
	};
	void *ring = NULL, *db = NULL;
	int ret;

	ret = dvq_efa_cq_fill(&taken->ring, info, 0, 0);
	if (!ret && info->ring_key)
		ret = dvq_borrow(&object, info->ring_key, info->ring_length, PROT_READ, &ring);
	if (!ret && info->db_key)
		ret = dvq_borrow(&object, info->db_key, info->db_length, PROT_WRITE, &db);
	if (ret)
		return ret;
	return dvq_efa_cq_fill(&taken->ring, info, ring ? (uintptr_t)ring + info->ring_offset :
			       info->user_addr, db ? (uintptr_t)db + info->db_offset : 0);
}

static int fill_cq(struct ibv_cq *cq, struct take_cq *taken, uint32_t attached)
{
	struct dvq_cq_info info;
	int ret;

	ret = dvq_efa_query_cq(cq, &info);
	if (ret)
		return ret;
	if (info.qps > attached)
		return dvq_refuse(EBUSY, "the CQ has queue pairs that the stock library posts to");
	ret = map_cq(cq, taken, &info);
	if (ret)
		return ret;
	if (taken->ring.ring && was_polled(&taken->ring))
		return dvq_refuse(EBUSY, "the CQ has been used by the stock library");
	taken->uid = info.uid;
	taken->row_mask = taken->context->rows - 1;
	taken->rows = calloc(taken->context->rows, sizeof(*taken->rows));
	taken->seen = taken->context->changes->qps;
	return taken->rows ? 0 : dvq_refuse(ENOMEM, "no memory");
}

/* one that is ours already, or a new one that nobody sees before keep_cq() */
static int find_cq(struct ibv_cq *cq, const struct dvq_efadv_readers *readers,
		   struct take_context *context, uint32_t attached, struct take_cq **result)
{
	struct take_cq *taken = cq ? take_cq_of(cq) : NULL;
	int ret;

	*result = taken;
	if (!cq || taken)
		return 0;
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return dvq_refuse(ENOMEM, "no memory");
	taken->context = context;
	taken->wants_sgid = readers->cq && readers->cq->wc_read_sgid;
	taken->wants_unsolicited = readers->has_unsolicited && readers->cq->wc_is_unsolicited;
	ret = fill_cq(cq, taken, attached);
	if (ret) {
		free_cq(taken);
		return ret;
	}
	*result = taken;
	return 0;
}

static void keep_cq(struct ibv_cq *cq, struct take_cq *taken, const struct dvq_efadv_readers *readers)
{
	if (!cq || take_cq_of(cq) == taken)
		return;
	taken->next = cqs;
	cqs = taken;
	take_cq_mark(cq, taken, readers);
}

static void drop_cq(const struct ibv_cq *cq, struct take_cq *taken)
{
	if (taken && take_cq_of(cq) != taken)
		free_cq(taken);
}

/*
 * The CQs of a QP. Both are taken or neither: what is polled here and posted to by the provider,
 * or the other way round, never completes.
 */
struct pair {
	struct ibv_cq *send_cq, *recv_cq;	/* either may be NULL, before there is a QP */
	struct dvq_efadv_readers send_readers, recv_readers;
	struct take_cq *send, *recv;
};

/* before the lock is taken */
static struct pair pair_of(struct ibv_cq *send_cq, struct ibv_cq *recv_cq)
{
	return (struct pair){
		.send_cq = send_cq, .send_readers = dvq_efadv_readers_of(send_cq),
		.recv_cq = recv_cq, .recv_readers = dvq_efadv_readers_of(recv_cq),
	};
}

static void keep_pair(const struct pair *pair)
{
	keep_cq(pair->send_cq, pair->send, &pair->send_readers);
	keep_cq(pair->recv_cq, pair->recv, &pair->recv_readers);
}

static void drop_pair(const struct pair *pair)
{
	if (pair->recv != pair->send)
		drop_cq(pair->recv_cq, pair->recv);
	drop_cq(pair->send_cq, pair->send);
}

/* @attached: times that the kernel may count a user of each; then keep_pair() or drop_pair() */
static int find_pair(struct pair *pair, struct take_context *context, uint32_t attached)
{
	int ret;

	ret = find_cq(pair->send_cq, &pair->send_readers, context, attached, &pair->send);
	if (ret)
		return ret;
	if (pair->recv_cq == pair->send_cq) {
		pair->recv = pair->send;
		return 0;
	}
	ret = find_cq(pair->recv_cq, &pair->recv_readers, context, attached, &pair->recv);
	if (ret)
		drop_cq(pair->send_cq, pair->send);
	return ret;
}

/* before there is a QP: neither has another user. @wc_flags NULL: what they tell the provider knows */
static int take_pair(struct pair *pair, struct ibv_context *ibvctx, const uint64_t *wc_flags)
{
	const bool foreign = is_slot_taken(ibvctx);
	struct take_context *context;
	int ret;

	dvq_takeover_reap(true);
	enter();
	ret = take_context_locked(ibvctx, foreign, &context);
	if (!ret)
		ret = find_pair(pair, context, 0);
	if (!ret) {
		if (wc_flags) {
			pair->send->wants_sgid = *wc_flags & EFADV_WC_EX_WITH_SGID;
			pair->send->wants_unsolicited = *wc_flags & EFADV_WC_EX_WITH_IS_UNSOLICITED;
		}
		keep_pair(pair);
	}
	leave();
	return ret;
}

int dvq_takeover_cq(struct ibv_cq *cq, uint64_t wc_flags)
{
	struct pair pair = pair_of(cq, NULL);

	return take_pair(&pair, cq->context, &wc_flags);
}

int dvq_takeover_cqs(struct ibv_cq *send_cq, struct ibv_cq *recv_cq)
{
	const struct ibv_cq *any = send_cq ? send_cq : recv_cq;
	struct pair pair = pair_of(send_cq, recv_cq);

	return any ? take_pair(&pair, any->context, NULL) : 0;
}

bool dvq_takeover_has_cq(const struct ibv_cq *cq)
{
	return cq && take_cq_of(cq);
}

/* ---- taking a QP ----------------------------------------------------------------------------------------- */

static int map_wq(const struct dvq_object *object, const struct dvq_wq_info *wq, int prot,
		  uint64_t *ring, uint64_t *doorbell)
{
	void *map, *db;
	int ret;

	ret = dvq_borrow(object, wq->ring_key, wq->ring_length, prot, &map);
	if (!ret)
		ret = dvq_borrow(object, wq->db_key, wq->db_length, PROT_WRITE, &db);
	if (ret)
		return ret;
	*ring = (uintptr_t)map + wq->ring_offset;
	*doorbell = (uintptr_t)db + wq->db_offset;
	return 0;
}

static int fill_sends(const struct dvq_object *object, struct take_qp *taken,
		      const struct dvq_wq_info *wq)
{
	struct dvq_efa_sq *sq = &taken->sq;
	uint64_t ring, doorbell;
	void *stage;
	int ret;

	if (wq->kind == DVQ_WQ_NONE)
		return take_pool_init(&taken->sends, 0);
	/* whether the record is one to work with, before anything is mapped */
	ret = dvq_efa_sq_fill(sq, &taken->info, wq, 0, 0);
	if (!ret)
		ret = map_wq(object, wq, PROT_WRITE, &ring, &doorbell);
	if (ret)
		return ret;
	dvq_efa_sq_fill(sq, &taken->info, wq, ring, doorbell);
	stage = aligned_alloc(64, sq->bytes);
	if (!stage)
		return dvq_refuse(ENOMEM, "no memory");
	dvq_efa_sq_set_stage(sq, stage);
	taken->wide = wq->caps & DVQ_WQ_64BIT_IDS;
	ret = take_pool_init(&taken->sends, wq->max_wr);
	if (ret)
		return dvq_refuse(ret, "no memory");
	/* wide ids are ours in full, of others the ring's code adds the generation */
	taken->sends.tag = taken->wide ? (uint64_t)taken->info.generation << 32 : sq->ids.tag_low;
	return 0;
}

static int fill_receives(const struct dvq_object *object, struct take_qp *taken,
			 const struct dvq_wq_info *wq)
{
	struct dvq_efa_rq *rq = &taken->rq;
	uint64_t ring, doorbell;
	int ret;

	if (dvq_has_no_wq(wq))
		return take_pool_init(&taken->receives, 0);
	ret = dvq_efa_rq_fill(rq, &taken->info, wq, 0, 0);
	if (!ret)
		ret = map_wq(object, wq, PROT_READ | PROT_WRITE, &ring, &doorbell);
	if (ret)
		return ret;
	dvq_efa_rq_fill(rq, &taken->info, wq, ring, doorbell);
	/* every descriptor that was ever posted has a flag */
	if (dvq_load64(rq->ring + 8))
		return dvq_refuse(EBUSY, "receives were posted to the QP by the stock library");
	ret = take_pool_init(&taken->receives, wq->max_wr);
	if (ret)
		return dvq_refuse(ret, "no memory");
	taken->receives.tag = rq->ids.tag_low;
	return 0;
}

static int fill_qp(struct take_qp *taken, uint16_t flags)
{
	struct dvq_object object = { .context = taken->qp->context };
	const uint64_t now = taken->context->changes->qps;
	struct dvq_wq_info sq, rq;
	int ret;

	ret = dvq_efa_query_qp(taken->qp, &taken->info, &sq, &rq);
	if (ret)
		return ret;
	object.uid = taken->info.uid;
	taken->handle = taken->qp->handle;
	taken->sig_all = taken->info.flags & DVQ_QP_SIG_ALL;
	taken->inline_write = flags & EFADV_QP_FLAGS_INLINE_WRITE;
	taken->send_seen = now;
	taken->recv_seen = now;
	taken->send_resets = taken->info.resets;
	taken->recv_resets = taken->info.resets;
	ret = fill_sends(&object, taken, &sq);
	return ret ? ret : fill_receives(&object, taken, &rq);
}

/*
 * What is on the CQ of the number is an earlier QP's, which of an unsolicited write nothing else tells. Where there
 * can be none the ring is not looked at: libefa 44 unmaps that of a CQ whose destruction the kernel refuses.
 */
static int forget_unsolicited(struct take_cq *cq, const struct take_qp *taken)
{
	if (cq->unsolicited && take_cq_forget(cq, taken, true))
		return dvq_refuse(ENOMEM, "no memory");
	cq->unsolicited |= taken->info.flags & DVQ_QP_UNSOLICITED;
	return 0;
}

static int attach_side(struct take_cq *cq, struct take_qp *taken, bool recv)
{
	const uint32_t was = take_enter(&cq->gate);
	struct take_row *row;
	int ret = 0;

	row = &cq->rows[taken->info.qp_num & cq->row_mask];
	/*
	 * Another one of the same number is gone, also where its destroyer has not returned yet. So may
	 * be one of which it could not be said to the CQ so far.
	 */
	if (row->qp && row->qp != taken &&
	    (row->qp_num == taken->info.qp_num || is_gone(cq->context, row->qp->info.uid)))
		memset(row, 0, sizeof(*row));
	if (row->qp && row->qp != taken)
		ret = dvq_refuse(EBUSY, "two QPs with the same low bits of their number");
	else if (recv)
		ret = forget_unsolicited(cq, taken);
	if (!ret) {
		row->qp = taken;
		row->qp_num = taken->info.qp_num;
		row->wide = taken->wide;
		if (recv)
			row->recv = &taken->receives;
		else
			row->send = &taken->sends;
	}
	take_leave(&cq->gate, was);
	return ret;
}

static int attach(struct take_qp *taken, const struct pair *pair)
{
	int ret;

	taken->send_cq = pair->send;
	taken->recv_cq = pair->recv;
	ret = attach_side(pair->send, taken, false);
	return ret ? ret : attach_side(pair->recv, taken, true);
}

/*
 * Where the provider is in a ring it does not tell, and a send queue cannot be read: it must not have posted.
 * What a QP without the extended interface is given comes to us first, if a CQ of it was ours when it
 * was created. Of another one only that it never was where it can send: after RESET the phase
 * would go on where the provider left it.
 */
static int look_at_past(const struct take_qp *taken, bool seen)
{
	const struct ibv_qp *qp = taken->qp;

	if (seen && !((const struct ibv_qp_ex *)qp)->wr_start)
		return 0;
	if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_INIT)
		return dvq_refuse(EBUSY, "the QP is beyond INIT: the stock library may have posted to it");
	if (taken->info.resets)
		return dvq_refuse(EBUSY, "the QP was reset: the stock library may have posted to it");
	return 0;
}

/* @seen: a CQ of it is ours already. Nobody sees it before it is marked. */
static int new_qp(struct ibv_qp *qp, struct take_context *context, const struct pair *pair,
		  uint16_t flags, bool seen, struct take_qp **result)
{
	struct take_qp *taken = calloc(1, sizeof(*taken));
	int ret;

	if (!taken)
		return dvq_refuse(ENOMEM, "no memory");
	taken->qp = qp;
	taken->context = context;
	ret = fill_qp(taken, flags);
	if (!ret)
		ret = look_at_past(taken, seen);
	if (!ret)
		ret = attach(taken, pair);
	if (ret) {
		free_qp(taken);
		return ret;
	}
	*result = taken;
	return 0;
}

/* what is found out about a QP before the lock is taken */
struct newcomer {
	bool foreign;			/* the slot of its context */
	struct efadv_qp *setter;
	struct pair pair;
};

/* The QP and its CQs, or nothing: whoever is told no goes on with the provider. */
static int take_qp_locked(struct ibv_qp *qp, const struct newcomer *newcomer, uint64_t ops,
			  uint16_t flags, bool hints)
{
	struct pair pair = newcomer->pair;
	const bool seen = take_cq_of(qp->send_cq) || take_cq_of(qp->recv_cq);
	struct take_context *context;
	struct take_qp *taken = NULL;
	int ret;

	if (take_qp_of(qp))
		return 0;
	if (!qp->send_cq || !qp->recv_cq)
		return dvq_refuse(EINVAL, "the QP has no CQ");
	ret = take_context_locked(qp->context, newcomer->foreign, &context);
	if (!ret)
		ret = find_pair(&pair, context, qp->send_cq == qp->recv_cq ? 2 : 1);
	if (ret)
		return ret;
	ret = new_qp(qp, context, &pair, flags, seen, &taken);
	if (ret) {
		drop_pair(&pair);
		return ret;
	}
	taken->hints = hints;
	keep_pair(&pair);
	taken->next = qps;
	qps = taken;
	take_qp_mark(qp, taken, ops, newcomer->setter);
	return 0;
}

/*
 * With the lock: whoever is taking a CQ over is done, or will hear of the QP from the kernel and leave
 * the CQ alone.
 */
static bool is_needed(const struct ibv_qp *qp, enum dvq_takeover_need need)
{
	if (need == DVQ_TAKEOVER_MUST || take_cq_of(qp->send_cq) || take_cq_of(qp->recv_cq))
		return true;
	return need == DVQ_TAKEOVER_IF_WANTED &&
	       chosen_locked(qp->context) == DVQ_DATAPATH_TAKE_OVER;
}

int dvq_takeover_qp(struct ibv_qp *qp, uint64_t ops, const struct efadv_qp_init_attr *attr,
		    enum dvq_takeover_need need)
{
	const struct newcomer newcomer = {
		.foreign = is_slot_taken(qp->context), .setter = dvq_efadv_setter_of(qp),
		.pair = pair_of(qp->send_cq, qp->recv_cq),
	};
	int ret = 0;

	/* a QP that is gone may have had this one's number, or its place in a table */
	dvq_takeover_reap(true);
	enter();
	if (is_needed(qp, need))
		ret = take_qp_locked(qp, &newcomer, ops, attr ? attr->flags : 0,
				     attr && attr->wr_flags & EFADV_WR_EX_WITH_PROCESSING_HINTS);
	leave();
	return ret;
}

static int adopt(struct ibv_qp *qp)
{
	return dvq_takeover_qp(qp, 0, NULL, DVQ_TAKEOVER_MUST);
}

/* ---- what others ask ------------------------------------------------------------------------------------------ */

struct efadv_qp *dvq_takeover_efadv_qp(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = take_qp_of(&qp->qp_base);

	return taken ? &taken->efadv : NULL;
}

struct efadv_cq *dvq_takeover_efadv_cq(struct ibv_cq_ex *cq)
{
	struct take_cq *taken = take_cq_of(ibv_cq_ex_to_cq(cq));

	return taken ? &taken->efadv : NULL;
}

/* ---- by choice --------------------------------------------------------------------------------------------------- */

DVQ_API int dvq_efa_set_datapath(struct ibv_context *context, enum dvq_datapath datapath)
{
	struct take_context *taken;
	bool foreign;
	int ret;

	dvq_borrow_reap();
	if (!context || datapath > DVQ_DATAPATH_TAKE_OVER)
		return dvq_refuse(EINVAL, "an argument is NULL, or no data path has that number");
	foreign = is_slot_taken(context);
	enter();
	taken = known(context);
	ret = taken ? 0 : take_context_locked(context, foreign, &taken);
	if (!ret)
		taken->mode = datapath;
	leave();
	return ret;
}

DVQ_API int dvq_efa_take_over(struct ibv_qp *qp)
{
	const struct efadv_qp_init_attr any = {
		.flags = EFADV_QP_FLAGS_INLINE_WRITE,
		.wr_flags = EFADV_WR_EX_WITH_PROCESSING_HINTS,
	};
	const struct ibv_qp_ex *ex = (const struct ibv_qp_ex *)qp;
	uint64_t ops = 0;

	dvq_borrow_reap();
	if (!qp)
		return dvq_refuse(EINVAL, "an argument is NULL");
	/* what a QP of others is followed by is not ours to look at */
	if (!dvq_is_efa(qp->context))
		return dvq_refuse(EOPNOTSUPP, "%s: not an EFA adapter",
				  ibv_get_device_name(qp->context->device));
	if (take_qp_of(qp))
		return 0;
	if (ex->wr_send)
		ops |= IBV_QP_EX_WITH_SEND;
	if (ex->wr_send_imm)
		ops |= IBV_QP_EX_WITH_SEND_WITH_IMM;
	if (ex->wr_rdma_read)
		ops |= IBV_QP_EX_WITH_RDMA_READ;
	if (ex->wr_rdma_write)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE;
	if (ex->wr_rdma_write_imm)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	return dvq_takeover_qp(qp, ops, &any, DVQ_TAKEOVER_MUST);
}

DVQ_API int dvq_efa_is_taken_over(struct ibv_qp *qp)
{
	return qp && dvq_is_efa(qp->context) && take_qp_of(qp);
}
