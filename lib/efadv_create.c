// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Direct verbs of EFA: what creates objects. The provider makes them, so the stock
 * library does it; what that release cannot do is EOPNOTSUPP. Input that it would take
 * wrongly (reserved fields, no receive SGEs) is caught here, and what it leaves undone on
 * a new CQ is done.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/efadv.h>

#include "internal.h"

#define END_OF(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))

#define MAX_RQ_DESCS	32768	/* the stock library counts them in 16 bits */

static void *fail(int error)
{
	errno = error;
	return NULL;
}

static void *bad_argument(void)
{
	return fail(dvq_refuse(EINVAL, "an argument is NULL"));
}

static void *bad_input(const char *what)
{
	return fail(dvq_refuse(EINVAL, "%s is not zero or not long enough", what));
}

static void *too_old(const struct dvq_stock *stock, const char *what)
{
	if (stock->release)
		return fail(dvq_refuse(EOPNOTSUPP, "rdma-core %u has no %s", stock->release,
				       what));
	return fail(dvq_refuse(EOPNOTSUPP, "the stock libefa has no %s", what));
}

/* the provider's library; NULL with errno for other devices and without one */
static const struct dvq_stock *stock_of(struct ibv_context *context)
{
	const struct dvq_stock *stock;

	if (dvq_efa_owner(context) == DVQ_OWNER_FOREIGN)
		return fail(dvq_refuse(EOPNOTSUPP, "%s: not an EFA adapter",
				       ibv_get_device_name(context->device)));
	stock = dvq_stock(context);
	if (!stock)
		return fail(dvq_refuse(EOPNOTSUPP, "the stock libefa cannot be loaded"));
	return stock;
}

/* Copies what the caller knows into @to; false if it says more than we know. */
static bool take_input(void *to, size_t known, const void *from, uint32_t inlen)
{
	const unsigned char *bytes = from;

	memset(to, 0, known);
	memcpy(to, from, inlen < known ? inlen : known);
	for (size_t i = known; i < inlen; i++)
		if (bytes[i])
			return false;
	return true;
}

static bool is_zero(const void *data, size_t length)
{
	const unsigned char *bytes = data;

	while (length--)
		if (*bytes++)
			return false;
	return true;
}

/* Release @release and later, or, where the file's name does not tell, @symbol is there. */
static bool is_since(const struct dvq_stock *stock, unsigned int release, bool symbol)
{
	return stock->release ? stock->release >= release : symbol;
}

static bool knows_hints(const struct dvq_stock *stock)
{
	return is_since(stock, 64, !!stock->qp_from_ibv_qp_ex);
}

/* ---- take-over ---------------------------------------------------------------------- */

/* Is the library to carry queues that are created on this context now? */
static bool shall_take(struct ibv_context *context)
{
	return dvq_takeover_is_wanted(context) && dvq_efa_owner(context) == DVQ_OWNER_DVQ;
}

/* ... or must they be, since they complete where the library polls? */
static bool must_take(const struct ibv_cq *send_cq, const struct ibv_cq *recv_cq)
{
	return dvq_takeover_has_cq(send_cq) || dvq_takeover_has_cq(recv_cq);
}

static uint32_t caps_of(struct ibv_context *context)
{
	struct efadv_device_attr attr;

	return efadv_query_device(context, &attr, sizeof(attr)) ? 0 : attr.device_caps;
}

/*
 * A new QP, which is to be taken over or not: if not, it must be nevertheless where another thread has taken a
 * CQ of it meanwhile. One that cannot be is no use to who asked for it.
 */
static struct ibv_qp *take_or_undo(struct ibv_qp *qp, uint64_t ops,
				   const struct efadv_qp_init_attr *attr, bool take)
{
	const int ret = dvq_takeover_qp(qp, ops, attr, take ? DVQ_TAKEOVER_MUST :
					DVQ_TAKEOVER_IF_CQ_IS);

	if (!ret)
		return qp;
	ibv_destroy_qp(qp);
	return fail(ret);
}

/* ---- queue pairs ------------------------------------------------------------------- */

/* A receive has a buffer; the stock library divides by the number. */
static bool fix_recv_cap(struct ibv_qp_cap *cap)
{
	if (!cap->max_recv_sge)
		cap->max_recv_sge = 1;
	return (uint64_t)cap->max_recv_sge * cap->max_recv_wr <= MAX_RQ_DESCS;
}

DVQ_API struct ibv_qp *efadv_create_driver_qp(struct ibv_pd *ibvpd, struct ibv_qp_init_attr *attr,
					      uint32_t driver_qp_type)
{
	const struct dvq_stock *stock;
	struct ibv_qp_init_attr copy;
	struct ibv_qp *qp;
	bool must, take;
	int ret;

	dvq_borrow_reap();
	if (!ibvpd || !attr)
		return bad_argument();
	stock = stock_of(ibvpd->context);
	if (!stock)
		return NULL;
	copy = *attr;
	if (!fix_recv_cap(&copy.cap))
		return fail(dvq_refuse(EINVAL, "more receive descriptors than a queue has"));
	must = must_take(attr->send_cq, attr->recv_cq);
	take = must || shall_take(ibvpd->context);
	ret = take ? dvq_takeover_cqs(attr->send_cq, attr->recv_cq) : 0;
	if (ret && (must || dvq_takeover_is_forced(ibvpd->context)))
		return fail(ret);
	qp = stock->create_driver_qp(ibvpd, &copy, driver_qp_type);
	if (qp)
		qp = take_or_undo(qp, 0, NULL, take && !ret);
	if (qp)
		attr->cap = copy.cap;
	return qp;
}

/*
 * Does the stock library know all that is asked for? NULL, or what it does not know. Hints are in
 * the data path alone; the rest goes to the kernel or decides how large a queue is.
 */
static const char *lacks_qp_feature(const struct dvq_stock *stock,
				    const struct efadv_qp_init_attr *attr, bool take)
{
	if (attr->flags & EFADV_QP_FLAGS_INLINE_WRITE &&
	    !is_since(stock, 63, !!stock->get_max_sq_depth))
		return "inline RDMA writes";
	if (attr->flags && !is_since(stock, 52, !!stock->query_qp_wqs))
		return "QP flags";
	if (attr->sl && !is_since(stock, 55, !!stock->query_qp_wqs))
		return "service levels";
	if (attr->wr_flags && !take && !knows_hints(stock))
		return "processing hints";
	return NULL;
}

#define WRITE_OPS	((uint64_t)(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM))

/* what of the data path the stock library would not take, although the queue can be made */
struct beyond {
	uint64_t ops;		/* of send_ops_flags */
	uint64_t wr_flags;
};

/* 0, or EOPNOTSUPP if that is beyond the device, or beyond us */
static int find_beyond(struct ibv_context *context, const struct dvq_stock *stock,
		       const struct ibv_qp_init_attr_ex *attr_ex,
		       const struct efadv_qp_init_attr *attr, struct beyond *beyond)
{
	memset(beyond, 0, sizeof(*beyond));
	if (attr->wr_flags & ~(uint64_t)EFADV_WR_EX_WITH_PROCESSING_HINTS)
		return dvq_refuse(EOPNOTSUPP, "a flag of wr_flags is not known");
	if (!knows_hints(stock))
		beyond->wr_flags = attr->wr_flags;
	if (!(attr_ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    is_since(stock, 46, !!stock->query_mr))
		return 0;
	beyond->ops = attr_ex->send_ops_flags & WRITE_OPS;
	if (beyond->ops && !(caps_of(context) & EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE))
		return dvq_refuse(EOPNOTSUPP, "the device has no RDMA write");
	return 0;
}

/*
 * By the stock library, without what is @beyond it, and taken over if @take. What was asked for is in
 * @attr_ex afterwards.
 */
static struct ibv_qp *create_qp(struct ibv_context *context, const struct dvq_stock *stock,
				struct ibv_qp_init_attr_ex *attr_ex,
				const struct efadv_qp_init_attr *asked_attr,
				const struct beyond *beyond, bool take)
{
	struct efadv_qp_init_attr attr = *asked_attr;
	const uint32_t recv_sge = attr_ex->cap.max_recv_sge;
	const struct ibv_qp_cap asked = attr_ex->cap;
	struct ibv_qp *qp;
	uint64_t ops = 0;

	if (!fix_recv_cap(&attr_ex->cap)) {
		attr_ex->cap = asked;
		return fail(dvq_refuse(EINVAL, "more receive descriptors than a queue has"));
	}
	attr.wr_flags &= ~beyond->wr_flags;
	attr_ex->send_ops_flags &= ~beyond->ops;
	/* the struct that every release takes, unless there is more to say */
	qp = stock->create_qp_ex(context, attr_ex, &attr, attr.wr_flags ? sizeof(attr) :
				 END_OF(struct efadv_qp_init_attr, reserved));
	attr_ex->send_ops_flags |= beyond->ops;
	if (!qp) {
		attr_ex->cap.max_recv_sge = recv_sge;
		return NULL;
	}
	if (attr_ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ops = attr_ex->send_ops_flags;
	return take_or_undo(qp, ops, asked_attr, take);
}

/* The same, and the library carries the queues. */
static struct ibv_qp *create_qp_and_take(struct ibv_context *context, const struct dvq_stock *stock,
					 struct ibv_qp_init_attr_ex *attr_ex,
					 const struct efadv_qp_init_attr *attr)
{
	const struct beyond none = {};
	struct beyond beyond;
	int ret;

	if (!attr_ex->send_cq || !attr_ex->recv_cq)
		return fail(dvq_refuse(EINVAL, "a QP needs two CQs"));
	ret = find_beyond(context, stock, attr_ex, attr, &beyond);
	if (ret)
		return fail(ret);
	ret = dvq_takeover_cqs(attr_ex->send_cq, attr_ex->recv_cq);
	if (ret) {
		if (beyond.ops || beyond.wr_flags || dvq_takeover_is_forced(context) ||
		    must_take(attr_ex->send_cq, attr_ex->recv_cq))
			return fail(ret);
		return create_qp(context, stock, attr_ex, attr, &none, false);
	}
	return create_qp(context, stock, attr_ex, attr, &beyond, true);
}

DVQ_API struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ibvctx,
					  struct ibv_qp_init_attr_ex *attr_ex,
					  struct efadv_qp_init_attr *efa_attr, uint32_t inlen)
{
	const struct beyond none = {};
	const struct dvq_stock *stock;
	struct efadv_qp_init_attr attr;
	const char *lacks;
	bool take;

	dvq_borrow_reap();
	if (!ibvctx || !attr_ex || !efa_attr)
		return bad_argument();
	stock = stock_of(ibvctx);
	if (!stock)
		return NULL;
	if (inlen < END_OF(struct efadv_qp_init_attr, driver_qp_type) ||
	    !take_input(&attr, sizeof(attr), efa_attr, inlen) || attr.comp_mask || attr.reserved)
		return bad_input("struct efadv_qp_init_attr");
	take = must_take(attr_ex->send_cq, attr_ex->recv_cq) || shall_take(ibvctx);
	lacks = lacks_qp_feature(stock, &attr, take);
	if (!stock->create_qp_ex || lacks)
		return too_old(stock, lacks ? lacks : "efadv_create_qp_ex()");
	if (take)
		return create_qp_and_take(ibvctx, stock, attr_ex, &attr);
	return create_qp(ibvctx, stock, attr_ex, &attr, &none, false);
}

static void ignore_hints(struct efadv_qp *efadv_qp, uint32_t hints)
{
	(void)efadv_qp;
	(void)hints;
}

/* what a QP without hints has; may be called, and does nothing */
static struct efadv_qp no_hints = {
	.wr_set_processing_hints = ignore_hints,
};

/* Without the extended interface nobody has been given one. */
struct efadv_qp *dvq_efadv_setter_of(struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;
	const struct dvq_stock *stock;

	if (!ex->wr_start)
		return NULL;
	stock = dvq_stock(qp->context);
	return stock && stock->qp_from_ibv_qp_ex ? stock->qp_from_ibv_qp_ex(ex) : NULL;
}

DVQ_API struct efadv_qp *efadv_qp_from_ibv_qp_ex(struct ibv_qp_ex *ibvqpx)
{
	const struct dvq_stock *stock;
	struct efadv_qp *qp;

	if (!ibvqpx)
		return NULL;
	qp = dvq_takeover_efadv_qp(ibvqpx);
	if (qp)
		return qp;
	if (!dvq_is_efa(ibvqpx->qp_base.context))
		return NULL;
	stock = dvq_stock(ibvqpx->qp_base.context);
	if (!stock || !stock->qp_from_ibv_qp_ex)
		return &no_hints;
	qp = stock->qp_from_ibv_qp_ex(ibvqpx);
	return qp->wr_set_processing_hints ? qp : &no_hints;
}

/* ---- completion queues ------------------------------------------------------------- */

static int refuse_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return EOPNOTSUPP;
}

/*
 * The stock library sets up the queue and leaves out what the verbs do for every CQ. The
 * channel's count is raised because ibv_destroy_cq() lowers it where cq->channel is set.
 */
static void set_up_cq(struct ibv_context *context, struct ibv_cq_ex *cq,
		      const struct ibv_cq_init_attr_ex *attr)
{
	cq->context = context;
	if (cq->channel == attr->channel && cq->cq_context == attr->cq_context)
		return;
	cq->cq_context = attr->cq_context;
	cq->comp_events_completed = 0;
	cq->async_events_completed = 0;
	pthread_mutex_init(&cq->mutex, NULL);
	pthread_cond_init(&cq->cond, NULL);
	if (!attr->channel || cq->channel)
		return;
	pthread_mutex_lock(&context->mutex);
	cq->channel = attr->channel;
	attr->channel->refcnt++;
	pthread_mutex_unlock(&context->mutex);
}

/*
 * What the library reads from an entry the stock library need not know. Before rdma-core 46 it
 * makes large entries only of CQs that shall tell a GID; the large ones have the whole length.
 */
static int fit_cq(struct ibv_context *context, const struct dvq_stock *stock,
		  struct efadv_cq_init_attr *attr)
{
	const uint32_t caps = caps_of(context);

	if (attr->wc_flags & EFADV_WC_EX_WITH_IS_UNSOLICITED &&
	    !is_since(stock, 52, !!stock->query_qp_wqs)) {
		if (!(caps & EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV))
			return dvq_refuse(EOPNOTSUPP, "the device has no unsolicited receives");
		attr->wc_flags &= ~(uint64_t)EFADV_WC_EX_WITH_IS_UNSOLICITED;
	}
	if (!is_since(stock, 46, !!stock->query_mr) &&
	    caps & EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID)
		attr->wc_flags |= EFADV_WC_EX_WITH_SGID;
	return 0;
}

DVQ_API struct ibv_cq_ex *efadv_create_cq(struct ibv_context *ibvctx,
					  struct ibv_cq_init_attr_ex *attr_ex,
					  struct efadv_cq_init_attr *efa_attr, uint32_t inlen)
{
	const struct dvq_stock *stock;
	struct efadv_cq_init_attr attr;
	bool external, take;
	struct ibv_cq_ex *cq;
	uint64_t wc_flags;
	int ret;

	dvq_borrow_reap();
	if (!ibvctx || !attr_ex || !efa_attr)
		return bad_argument();
	stock = stock_of(ibvctx);
	if (!stock)
		return NULL;
	if (inlen < END_OF(struct efadv_cq_init_attr, wc_flags) ||
	    !take_input(&attr, sizeof(attr), efa_attr, inlen) || attr.comp_mask ||
	    !is_zero(attr.ext_mem_dmabuf.reserved, sizeof(attr.ext_mem_dmabuf.reserved)))
		return bad_input("struct efadv_cq_init_attr");
	if (attr.flags & ~(uint64_t)EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF)
		return fail(dvq_refuse(EOPNOTSUPP, "a flag of the new CQ is not known"));
	external = attr.flags & EFADV_CQ_INIT_FLAGS_EXT_MEM_DMABUF;
	if (!stock->create_cq)
		return too_old(stock, "efadv_create_cq()");
	if (external && !is_since(stock, 59, !!stock->query_cq))
		return too_old(stock, "CQs in external memory");

	wc_flags = attr.wc_flags;
	take = shall_take(ibvctx);
	if (take) {
		ret = fit_cq(ibvctx, stock, &attr);
		if (ret)
			return fail(ret);
	}

	/* older releases scan from byte 16 on what they think is a tail */
	cq = stock->create_cq(ibvctx, attr_ex, &attr, external ? sizeof(attr) :
			      END_OF(struct efadv_cq_init_attr, wc_flags));
	if (!cq)
		return NULL;
	set_up_cq(ibvctx, cq, attr_ex);
	if (external && !attr.ext_mem_dmabuf.buffer)
		cq->start_poll = refuse_poll;
	if (!take)
		return cq;
	ret = dvq_takeover_cq(ibv_cq_ex_to_cq(cq), wc_flags);
	/* as the provider made it, it may tell more than was asked for, but not less */
	if (!ret || (!(wc_flags & ~attr.wc_flags) && !dvq_takeover_is_forced(ibvctx)))
		return cq;
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	return fail(ret);
}

/*
 * The readers of a CQ, filled where the provider has none. Before rdma-core 52 its struct
 * ends behind the first. A stand-in holds nothing but the address of the provider's
 * struct, so it is right for every CQ that ever has that address and is never freed.
 */
struct stand_in {
	struct efadv_cq cq;
	struct stand_in *next;
	struct efadv_cq *stock;
	bool has_unsolicited;
};

static int stand_in_read_sgid(struct efadv_cq *efadv_cq, union ibv_gid *sgid)
{
	struct efadv_cq *stock = ((struct stand_in *)efadv_cq)->stock;

	return stock->wc_read_sgid ? stock->wc_read_sgid(stock, sgid) : -EOPNOTSUPP;
}

static bool stand_in_is_unsolicited(struct efadv_cq *efadv_cq)
{
	struct stand_in *in = (struct stand_in *)efadv_cq;

	return in->has_unsolicited && in->stock->wc_is_unsolicited &&
	       in->stock->wc_is_unsolicited(in->stock);
}

static pthread_mutex_t stand_ins_lock = PTHREAD_MUTEX_INITIALIZER;	/* protects the list */
static struct stand_in *stand_ins;

void dvq_efadv_in_child(void)
{
	pthread_mutex_init(&stand_ins_lock, NULL);
	stand_ins = NULL;
}

static struct stand_in *find_stand_in(struct efadv_cq *stock, bool has_unsolicited)
{
	struct stand_in *in;

	for (in = stand_ins; in; in = in->next)
		if (in->stock == stock && in->has_unsolicited == has_unsolicited)
			return in;
	in = calloc(1, sizeof(*in));
	if (!in)
		return NULL;
	in->cq.wc_read_sgid = stand_in_read_sgid;
	in->cq.wc_is_unsolicited = stand_in_is_unsolicited;
	in->stock = stock;
	in->has_unsolicited = has_unsolicited;
	in->next = stand_ins;
	stand_ins = in;
	return in;
}

static struct efadv_cq *stand_in_for(struct efadv_cq *stock, bool has_unsolicited)
{
	static __thread struct stand_in *last;

	if (!last || last->stock != stock || last->has_unsolicited != has_unsolicited) {
		dvq_see_process();
		pthread_mutex_lock(&stand_ins_lock);
		last = find_stand_in(stock, has_unsolicited);
		pthread_mutex_unlock(&stand_ins_lock);
	}
	return last ? &last->cq : NULL;
}

static bool has_unsolicited_reader(const struct dvq_stock *stock)
{
	return is_since(stock, 52, !!stock->query_qp_wqs);
}

/* Without the extended interface nobody has been given any. */
struct dvq_efadv_readers dvq_efadv_readers_of(struct ibv_cq *cq)
{
	struct dvq_efadv_readers readers = { .cq = NULL };
	struct ibv_cq_ex *ex = (struct ibv_cq_ex *)cq;
	const struct dvq_stock *stock;

	if (!cq || !ex->start_poll || dvq_takeover_has_cq(cq))
		return readers;
	stock = dvq_stock(cq->context);
	if (!stock || !stock->cq_from_ibv_cq_ex)
		return readers;
	readers.cq = stock->cq_from_ibv_cq_ex(ex);
	readers.has_unsolicited = has_unsolicited_reader(stock);
	return readers;
}

DVQ_API struct efadv_cq *efadv_cq_from_ibv_cq_ex(struct ibv_cq_ex *ibvcqx)
{
	const struct dvq_stock *stock;
	bool has_unsolicited;
	struct efadv_cq *cq;

	if (!ibvcqx)
		return NULL;
	cq = dvq_takeover_efadv_cq(ibvcqx);
	if (cq)
		return cq;
	if (!dvq_is_efa(ibvcqx->context))
		return NULL;
	stock = dvq_stock(ibvcqx->context);
	if (!stock || !stock->cq_from_ibv_cq_ex)
		return NULL;
	cq = stock->cq_from_ibv_cq_ex(ibvcqx);
	has_unsolicited = has_unsolicited_reader(stock);
	if (has_unsolicited && cq->wc_is_unsolicited && cq->wc_read_sgid)
		return cq;
	return stand_in_for(cq, has_unsolicited);
}

/* ---- completion counters ----------------------------------------------------------- */

static bool is_clean(const struct efadv_memory_location *location)
{
	return !location->dmabuf.reserved &&
	       is_zero(location->reserved, sizeof(location->reserved));
}

DVQ_API struct ibv_comp_cntr *efadv_create_comp_cntr(struct ibv_context *ibvctx,
						     struct ibv_comp_cntr_init_attr *attr,
						     struct efadv_comp_cntr_init_attr *efa_attr,
						     uint32_t inlen)
{
	struct efadv_comp_cntr_init_attr copy;
	const struct dvq_stock *stock;

	dvq_borrow_reap();
	if (!ibvctx || !attr || !efa_attr)
		return bad_argument();
	stock = stock_of(ibvctx);
	if (!stock)
		return NULL;
	if (inlen <= offsetof(struct efadv_comp_cntr_init_attr, err_cntr_ext_mem) ||
	    !take_input(&copy, sizeof(copy), efa_attr, inlen) || copy.reserved ||
	    !is_clean(&copy.comp_cntr_ext_mem) || !is_clean(&copy.err_cntr_ext_mem))
		return bad_input("struct efadv_comp_cntr_init_attr");
	if (!stock->create_comp_cntr)
		return too_old(stock, "completion counters");
	return stock->create_comp_cntr(ibvctx, attr, &copy, sizeof(copy));
}
