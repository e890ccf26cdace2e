// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Posting to queues that were taken over: ibv_wr_*, ibv_post_send() and ibv_post_recv()
 * with the rules of the provider, on rings and setters of <dvq/efa.h>.
 *
 * The send queue is staged: nothing reaches the device before ibv_wr_complete(), so a
 * block can be undone as a whole. A builder makes an entry there, setters fill it in.
 *
 * Where the provider would read through a NULL pointer or take data twice, this is EINVAL.
 * A request that was given no destination goes to AH and QP number 0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "takeover.h"

_Static_assert(sizeof(struct dvq_efa_sge) == sizeof(struct ibv_sge) &&
	       offsetof(struct dvq_efa_sge, addr) == offsetof(struct ibv_sge, addr) &&
	       offsetof(struct dvq_efa_sge, length) == offsetof(struct ibv_sge, length) &&
	       offsetof(struct dvq_efa_sge, lkey) == offsetof(struct ibv_sge, lkey),
	       "a list of the verbs is one of ours");

/* ---- resets -------------------------------------------------------------------------- */

/*
 * RESET is the provider's to do, and so are all that come after it up to RTS. The counts of
 * changes tell that it happened to some QP of the context. The device begins to count
 * anew; the phase goes on where it was, as the stock library leaves it.
 */
static void restart_sq(struct take_qp *taken)
{
	const uint32_t phase = taken->sq.phase;
	struct dvq_efa_sq *sq = &taken->sq;

	sq->next = 0;
	sq->left = 0;
	sq->rung = 0;
	sq->phase = phase;
	sq->ids.issued = 0;
	sq->ids.completed = 0;
	take_pool_refill(&taken->sends);
}

static void restart_rq(struct take_qp *taken)
{
	taken->rq.descs = 0;
	taken->rq.rung = 0;
	taken->rq.ids.issued = 0;
	taken->rq.ids.completed = 0;
	take_pool_refill(&taken->receives);
}

/* 0, or the errno of what cannot be done now; then the next post tries again */
static int look_for_reset(struct take_qp *taken, bool recv, uint64_t now)
{
	struct take_cq *cq = recv ? taken->recv_cq : taken->send_cq;
	uint32_t *resets = recv ? &taken->recv_resets : &taken->send_resets;
	struct dvq_qp_info info;
	int ret = take_query_qp(taken, &info);

	/* unless device or QP is gone (then it is posted to nobody) it may have been reset */
	if (ret && ret != EIO && !dvq_tells_of_none(ret))
		return ret;
	if (ret || info.uid != taken->info.uid)
		return 0;
	if (info.resets != *resets) {
		const uint32_t was = take_enter(&cq->gate);

		/* completions of before are no more, and their ids go out again */
		ret = take_cq_forget(cq, taken, recv);
		if (!ret && recv)
			restart_rq(taken);
		else if (!ret)
			restart_sq(taken);
		take_leave(&cq->gate, was);
	}
	if (ret)
		return ret;
	*resets = info.resets;
	*(recv ? &taken->recv_seen : &taken->send_seen) = now;
	return 0;
}

/* with the send lock */
static inline int check_sends(struct take_qp *taken)
{
	const uint64_t now = taken->context->changes->qps;

	if (!dvq_unlikely(now != taken->send_seen))
		return 0;
	return look_for_reset(taken, false, now);
}

/* with the receive lock */
static inline int check_receives(struct take_qp *taken)
{
	const uint64_t now = taken->context->changes->qps;

	if (!dvq_unlikely(now != taken->recv_seen))
		return 0;
	return look_for_reset(taken, true, now);
}

/* ---- what both ways to send have in common --------------------------------------------- */

static inline bool can_send(const struct take_qp *taken)
{
	return taken->qp->state == IBV_QPS_RTS || taken->qp->state == IBV_QPS_SQD;
}

/* the device knows no unsignaled work, fences or solicited events */
static inline bool flags_are_good(const struct take_qp *taken, unsigned int flags)
{
	if (!(flags & IBV_SEND_SIGNALED) && !taken->sig_all)
		return false;
	return !(flags & ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_INLINE));
}

/* ---- entries ------------------------------------------------------------------------------- */

/*
 * The entry of a new request, in its place of the stage. It counts as posted from now on:
 * what is wrong later undoes the block. The queue has room. The words are those of <dvq/efa/wr.h>.
 */
static inline uint64_t *put(struct take_qp *taken, uint64_t wr_id, uint32_t op, uint32_t ctrl1,
			    uint32_t imm)
{
	const uint64_t ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ;
	struct dvq_efa_sq *sq = &taken->sq;
	uint64_t *word = (uint64_t *)(uintptr_t)(sq->stage + sq->next);
	const uint32_t index = take_pool_get(&taken->sends, wr_id);

	word[0] = (uint64_t)(EFA_WQE_META_DESC | ctrl1 | op) << DVQ_EFA_W0_CTRL1 |
		  ctrl2 << DVQ_EFA_W0_CTRL2 | index | sq->ids.tag_low | sq->phase;
	word[1] = imm;
	word[2] = 0;
	word[3] = taken->wide ? taken->sends.tag : 0;
	word[4] = 0;
	word[5] = 0;
	word[6] = 0;
	word[7] = 0;
	if (dvq_unlikely(sq->entry_size == EFA_WQE_SIZE_WIDE))
		memset(word + 8, 0, EFA_WQE_SIZE_WIDE - EFA_WQE_SIZE);
	if (!sq->left)
		sq->left = sq->batch;
	sq->left--;
	dvq_efa_sq_advance(sq, sq->next + sq->entry_size);
	taken->op = op;
	return word;
}

static inline void put_remote(uint64_t *word, uint32_t rkey, uint64_t remote)
{
	word[4] = (uint64_t)rkey << DVQ_EFA_BUF_KEY;
	word[5] = remote;
}

static inline void put_dest(uint64_t *word, uint16_t ah, uint32_t qp_num, uint32_t qkey)
{
	const uint64_t place = (uint64_t)0xffff;

	word[0] = (word[0] & ~(place << DVQ_EFA_W0_QPN)) |
		  (uint64_t)(uint16_t)qp_num << DVQ_EFA_W0_QPN;
	word[1] = (word[1] & ~(place << DVQ_EFA_W1_AH)) | (uint64_t)ah << DVQ_EFA_W1_AH;
	word[2] = qkey;
}

/* the @n-th buffer; the caller has looked at the number */
static inline void put_sge(uint64_t *word, uint32_t op, size_t n, uint32_t lkey, uint64_t addr,
			   uint32_t length)
{
	const bool rdma = op != EFA_OP_SEND;
	uint64_t *to = word + (rdma ? 6 : 4 + 2 * n);

	to[0] = (uint64_t)(lkey & EFA_LKEY_BITS) << DVQ_EFA_BUF_KEY | length;
	to[1] = addr;
	if (rdma)
		word[4] |= length;
	word[0] += (uint64_t)1 << DVQ_EFA_W0_LENGTH;
}

/* more inline data behind @have bytes of it; the caller has looked at the length */
static inline void put_inline(uint64_t *word, uint32_t op, size_t have, const void *data,
			      size_t length)
{
	const bool rdma = op != EFA_OP_SEND;

	word[0] |= (uint64_t)EFA_WQE_INLINE_MSG << DVQ_EFA_W0_CTRL1;
	word[0] += (uint64_t)length << DVQ_EFA_W0_LENGTH;
	if (rdma)
		word[4] += length;
	if (length)
		memcpy((uint8_t *)(word + (rdma ? 6 : 4)) + have, data, length);
}

/* of one without hints the device would mind them */
static inline void put_hints(struct take_qp *taken, uint32_t hints)
{
	const uint64_t bits = (uint64_t)(hints & DVQ_EFA_HINT_BURST) << DVQ_EFA_W1_CTRL3;

	taken->word[1] = (taken->word[1] & ~DVQ_EFA_W1_HINTS) | (bits & taken->sq.word1_mask);
}

/* ---- blocks of ibv_wr_* ------------------------------------------------------------------ */

static inline void fail(struct take_qp *taken, int error)
{
	if (!taken->error)
		taken->error = error;
}

void take_wr_start(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = take_qp_here(qp);

	take_lock(&taken->send_lock);
	taken->word = NULL;
	taken->error = check_sends(taken);
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = take_qp_here(qp);

	take_pool_undo(&taken->sends, dvq_efa_sq_pending(&taken->sq));
	dvq_efa_sq_abort(&taken->sq);
	taken->word = NULL;
	take_unlock(&taken->send_lock);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = take_qp_here(qp);
	const int error = taken->error;

	if (dvq_unlikely(error)) {
		wr_abort(qp);
		return error;
	}
	dvq_efa_sq_publish(&taken->sq);
	taken->word = NULL;
	take_unlock(&taken->send_lock);
	return 0;
}

/* a builder; NULL: the block has failed */
static inline uint64_t *begin(struct ibv_qp_ex *qp, uint32_t op, uint32_t ctrl1, uint32_t imm)
{
	struct take_qp *taken = take_qp_here(qp);

	if (dvq_unlikely(taken->error))
		return NULL;
	if (dvq_unlikely(!can_send(taken) || !flags_are_good(taken, qp->wr_flags))) {
		taken->error = EINVAL;
		return NULL;
	}
	if (dvq_unlikely(take_pool_is_empty(&taken->sends))) {
		taken->error = ENOMEM;
		return NULL;
	}
	taken->has_data = false;
	taken->word = put(taken, qp->wr_id, op, ctrl1, imm);
	return taken->word;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin(qp, EFA_OP_SEND, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	begin(qp, EFA_OP_SEND, EFA_WQE_HAS_IMM, ntohl(imm));
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
	uint64_t *word = begin(qp, EFA_OP_RDMA_READ, 0, 0);

	if (word)
		put_remote(word, rkey, remote);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
	uint64_t *word = begin(qp, EFA_OP_RDMA_WRITE, 0, 0);

	if (word)
		put_remote(word, rkey, remote);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, __be32 imm)
{
	uint64_t *word = begin(qp, EFA_OP_RDMA_WRITE, EFA_WQE_HAS_IMM, ntohl(imm));

	if (word)
		put_remote(word, rkey, remote);
}

/* the beginning of every setter; NULL: the block has failed, or has no request yet */
static inline struct take_qp *set(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = take_qp_here(qp);

	if (dvq_unlikely(taken->error))
		return NULL;
	if (dvq_unlikely(!taken->word)) {
		taken->error = EINVAL;
		return NULL;
	}
	return taken;
}

/* the same of the setters of data, of which a request has at most one */
static inline struct take_qp *set_data(struct ibv_qp_ex *qp)
{
	struct take_qp *taken = set(qp);

	if (!taken)
		return NULL;
	if (dvq_unlikely(taken->has_data)) {
		taken->error = EINVAL;
		return NULL;
	}
	taken->has_data = true;
	return taken;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct take_qp *taken = set_data(qp);

	if (taken)
		put_sge(taken->word, taken->op, 0, lkey, addr, length);
}

static inline size_t max_sges(const struct take_qp *taken, uint32_t op)
{
	const size_t most = op == EFA_OP_SEND ? EFA_WQE_SEND_SGES : 1;
	const size_t granted = op == EFA_OP_SEND ? taken->info.max_send_sge :
						   taken->info.max_rdma_sge;

	return granted < most ? granted : most;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t n, const struct ibv_sge *sge)
{
	struct take_qp *taken = set_data(qp);

	if (!taken)
		return;
	if (dvq_unlikely(n > max_sges(taken, taken->op))) {
		taken->error = EINVAL;
		return;
	}
	for (size_t i = 0; i < n; i++)
		put_sge(taken->word, taken->op, i, sge[i].lkey, sge[i].addr, sge[i].length);
}

static inline bool takes_inline(const struct take_qp *taken, size_t length)
{
	if (taken->op == EFA_OP_RDMA_READ)
		return false;
	if (taken->op == EFA_OP_RDMA_WRITE &&
	    (!taken->inline_write || taken->sq.entry_size != EFA_WQE_SIZE_WIDE))
		return false;
	return length <= taken->sq.max_inline;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	struct take_qp *taken = set_data(qp);

	if (!taken)
		return;
	if (dvq_unlikely(!takes_inline(taken, length))) {
		taken->error = EINVAL;
		return;
	}
	put_inline(taken->word, taken->op, 0, addr, length);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t n,
				    const struct ibv_data_buf *list)
{
	struct take_qp *taken = set_data(qp);
	size_t have = 0;

	if (!taken)
		return;
	/* also of no buffers it is inline */
	if (takes_inline(taken, 0))
		put_inline(taken->word, taken->op, 0, NULL, 0);
	else
		taken->error = EINVAL;
	for (size_t i = 0; i < n && !taken->error; i++) {
		/* each by itself first: the sum of two can be nothing */
		if (!takes_inline(taken, list[i].length) ||
		    !takes_inline(taken, have + list[i].length)) {
			taken->error = EINVAL;
			break;
		}
		put_inline(taken->word, taken->op, have, list[i].addr, list[i].length);
		have += list[i].length;
	}
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct take_qp *taken = set(qp);
	uint16_t number;

	if (!taken)
		return;
	if (dvq_unlikely(!ah || take_ah_number(taken->context, ah, &number))) {
		taken->error = EINVAL;
		return;
	}
	put_dest(taken->word, number, remote_qpn, remote_qkey);
}

static void wr_set_processing_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	struct take_qp *taken = (struct take_qp *)efadv_qp;

	/* too early, too late, or on a QP without them: nothing happens */
	if (taken->hints && taken->word && !taken->error)
		put_hints(taken, hints);
}

/* ---- what the device does not do, or the QP was not created for ---------------------------- */

static inline void refuse(struct ibv_qp_ex *qp)
{
	fail(take_qp_here(qp), EOPNOTSUPP);
}

static void no_op(struct ibv_qp_ex *qp)
{
	refuse(qp);
}

static void no_op_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	(void)imm;
	refuse(qp);
}

static void no_rdma(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote)
{
	(void)rkey;
	(void)remote;
	refuse(qp);
}

static void no_rdma_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, __be32 imm)
{
	(void)rkey;
	(void)remote;
	(void)imm;
	refuse(qp);
}

static void no_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, uint64_t compare,
		       uint64_t swap)
{
	(void)rkey;
	(void)remote;
	(void)compare;
	(void)swap;
	refuse(qp);
}

static void no_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, uint64_t add)
{
	(void)rkey;
	(void)remote;
	(void)add;
	refuse(qp);
}

static void no_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	(void)mw;
	(void)rkey;
	(void)info;
	refuse(qp);
}

static void no_rkey(struct ibv_qp_ex *qp, uint32_t rkey)
{
	(void)rkey;
	refuse(qp);
}

static void no_tso(struct ibv_qp_ex *qp, void *header, uint16_t length, uint16_t mss)
{
	(void)header;
	(void)length;
	(void)mss;
	refuse(qp);
}

static void no_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote, const void *data)
{
	(void)rkey;
	(void)remote;
	(void)data;
	refuse(qp);
}

/*
 * Every slot that rdma-core 44 has, and none behind: what newer headers call wr_flush is
 * there a flag word of the library's own.
 */
static void fill_builders(struct ibv_qp_ex *ex, uint64_t ops)
{
	ex->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : no_op;
	ex->wr_send_imm = ops & IBV_QP_EX_WITH_SEND_WITH_IMM ? wr_send_imm : no_op_imm;
	ex->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_rdma_read : no_rdma;
	ex->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_rdma_write : no_rdma;
	ex->wr_rdma_write_imm = ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ? wr_rdma_write_imm :
									 no_rdma_imm;
	ex->wr_atomic_cmp_swp = no_cmp_swp;
	ex->wr_atomic_fetch_add = no_fetch_add;
	ex->wr_bind_mw = no_bind_mw;
	ex->wr_local_inv = no_rkey;
	ex->wr_send_inv = no_rkey;
	ex->wr_send_tso = no_tso;
	ex->wr_atomic_write = no_atomic_write;
}

/* as the readers of a CQ (takeover_poll.c) */
static ptrdiff_t setter_at;	/* 0: none was seen. Written with the lock */

static void early_set_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	struct take_qp *taken = take_qp_of((struct ibv_qp *)(void *)((char *)efadv_qp -
					   __atomic_load_n(&setter_at, __ATOMIC_RELAXED)));

	if (taken)
		wr_set_processing_hints(&taken->efadv, hints);
}

static void replace_setter(struct ibv_qp *qp, struct efadv_qp *setter)
{
	const ptrdiff_t at = (char *)setter - (char *)qp;

	if (!setter || (setter_at && setter_at != at))
		return;
	__atomic_store_n(&setter_at, at, __ATOMIC_RELAXED);
	if (setter->wr_set_processing_hints)
		__atomic_store_n(&setter->wr_set_processing_hints, early_set_hints, __ATOMIC_RELEASE);
}

void take_qp_mark(struct ibv_qp *qp, struct take_qp *taken, uint64_t ops, struct efadv_qp *setter)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;

	taken->efadv.wr_set_processing_hints = wr_set_processing_hints;
	fill_builders(ex, ops);
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_xrc_srqn = (void (*)(struct ibv_qp_ex *, uint32_t))(void *)taken;
	replace_setter(qp, setter);
	__atomic_store_n(&ex->wr_start, take_wr_start, __ATOMIC_RELEASE);
}

/* ---- ibv_post_send() ------------------------------------------------------------------------- */

static bool fits(const struct take_qp *taken, const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	if (wr->num_sge < 0 || (size_t)wr->num_sge > max_sges(taken, EFA_OP_SEND))
		return false;
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return true;
	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes <= taken->sq.max_inline;
}

static void put_buffers(struct take_qp *taken, uint64_t *word, const struct ibv_send_wr *wr)
{
	const bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	size_t have = 0;

	if (is_inline)
		put_inline(word, taken->op, 0, NULL, 0);
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (!is_inline) {
			put_sge(word, taken->op, (size_t)i, sge->lkey, sge->addr, sge->length);
			continue;
		}
		put_inline(word, taken->op, have, (void *)(uintptr_t)sge->addr, sge->length);
		have += sge->length;
	}
}

/* all that can be wrong is looked at first: the requests before this one stay */
static int send_one(struct take_qp *taken, const struct ibv_send_wr *wr)
{
	const bool imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
	uint64_t *word;
	uint16_t ah;

	if (!can_send(taken) || !flags_are_good(taken, wr->send_flags))
		return EINVAL;
	if (take_pool_is_empty(&taken->sends))
		return ENOMEM;
	/* RDMA has no way through this call in the stock library either */
	if ((wr->opcode != IBV_WR_SEND && !imm) || !fits(taken, wr))
		return EINVAL;
	if (!wr->wr.ud.ah || take_ah_number(taken->context, wr->wr.ud.ah, &ah))
		return EINVAL;
	word = put(taken, wr->wr_id, EFA_OP_SEND, imm ? EFA_WQE_HAS_IMM : 0,
		   imm ? ntohl(wr->imm_data) : 0);
	put_buffers(taken, word, wr);
	put_dest(word, ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	return 0;
}

int take_post_send(struct take_qp *taken, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int ret;

	take_lock(&taken->send_lock);
	ret = check_sends(taken);
	for (; wr && !ret; wr = wr->next) {
		ret = send_one(taken, wr);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	/* those before the bad one are on their way */
	dvq_efa_sq_publish(&taken->sq);
	take_unlock(&taken->send_lock);
	return ret;
}

/* ---- ibv_post_recv() -------------------------------------------------------------------------- */

static int receive_one(struct take_qp *taken, const struct ibv_recv_wr *wr)
{
	struct dvq_efa_rq *rq = &taken->rq;
	uint32_t index;
	int ret;

	if (taken->qp->state == IBV_QPS_RESET || taken->qp->state == IBV_QPS_ERR)
		return EINVAL;
	/* without a buffer it would never complete */
	if (wr->num_sge <= 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return EINVAL;
	if (take_pool_is_empty(&taken->receives))
		return ENOMEM;
	index = take_pool_get(&taken->receives, wr->wr_id);
	ret = dvq_efa_rq_post(rq, (const struct dvq_efa_sge *)wr->sg_list, (uint32_t)wr->num_sge,
			      index);
	if (ret)
		take_pool_undo(&taken->receives, 1);
	return ret;
}

int take_post_recv(struct take_qp *taken, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int ret;

	take_lock(&taken->recv_lock);
	ret = check_receives(taken);
	for (; wr && !ret; wr = wr->next) {
		ret = receive_one(taken, wr);
		if (ret)
			break;
	}
	if (ret)
		*bad = wr;
	dvq_efa_rq_publish(&taken->rq);
	take_unlock(&taken->recv_lock);
	return ret;
}
