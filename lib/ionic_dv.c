// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Direct verbs of ionic.
 *
 * What a PD or parent domain prefers is kept by the stock library, which makes the requests
 * of queues from it; so the calls that set or get it go there, on dvq's devices too. On
 * those the kernel is told as well, and what the proposed calls ask about queues is answered
 * from its records.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/ionic_dv.h>
#include <hw/ionic_regs.h>

#include "internal.h"

#define LIBIONIC	"libionic.so.1"

static int bad_argument(void)
{
	return dvq_refuse(EINVAL, "an argument is NULL");
}

static int not_ionic(struct ibv_context *context)
{
	return dvq_refuse(EPERM, "%s: not an ionic adapter",
			  ibv_get_device_name(context->device));
}

static int not_in_stock(const char *call)
{
	return dvq_refuse(EOPNOTSUPP, "the stock libionic has no %s()", call);
}

static bool is_ionic(struct ibv_context *context)
{
	return dvq_ionic_owner(context) != DVQ_OWNER_FOREIGN;
}

/* the stock library's @call; NULL: it has none, or there is no stock library */
static void *stock_call(struct ibv_context *context, const char *call)
{
	/* there since the first release; a handle more or less of a provider does not matter */
	void *handle = dvq_stock_open(context, LIBIONIC, "ionic_dv_ctx_get_udma_count");

	return handle ? dvq_stock_find(handle, call) : NULL;
}

/* ---- pipelines ---------------------------------------------------------------------- */

static uint8_t ask_context(struct ibv_context *context, const char *call)
{
	uint8_t (*stock)(struct ibv_context *);

	if (!context || !is_ionic(context))
		return 0;
	stock = (uint8_t (*)(struct ibv_context *))stock_call(context, call);
	return stock ? stock(context) : 0;
}

DVQ_API uint8_t ionic_dv_ctx_get_udma_count(struct ibv_context *ibctx)
{
	return ask_context(ibctx, "ionic_dv_ctx_get_udma_count");
}

DVQ_API uint8_t ionic_dv_ctx_get_udma_mask(struct ibv_context *ibctx)
{
	return ask_context(ibctx, "ionic_dv_ctx_get_udma_mask");
}

DVQ_API uint8_t ionic_dv_pd_get_udma_mask(struct ibv_pd *ibpd)
{
	uint8_t (*stock)(struct ibv_pd *);

	if (!ibpd || !is_ionic(ibpd->context))
		return 0;
	stock = (uint8_t (*)(struct ibv_pd *))stock_call(ibpd->context, "ionic_dv_pd_get_udma_mask");
	return stock ? stock(ibpd) : 0;
}

static int set_mask(struct ibv_pd *pd, uint8_t mask, const char *call)
{
	int (*stock)(struct ibv_pd *, uint8_t);

	stock = (int (*)(struct ibv_pd *, uint8_t))stock_call(pd->context, call);
	return stock ? stock(pd, mask) : not_in_stock(call);
}

DVQ_API int ionic_dv_pd_set_udma_mask(struct ibv_pd *ibpd, uint8_t udma_mask)
{
	if (!ibpd)
		return bad_argument();
	if (!is_ionic(ibpd->context))
		return not_ionic(ibpd->context);
	/* the kernel would take it as "any" for a QP and refuse a CQ */
	if (!udma_mask)
		return dvq_refuse(EINVAL, "a queue needs a pipeline");
	return set_mask(ibpd, udma_mask, "ionic_dv_pd_set_udma_mask");
}

/* ---- placement ---------------------------------------------------------------------- */

/*
 * To wish for controller memory is what every program does, because the stock library
 * begins with it; so for receive queues the kernel wants the PD's word as well. It belongs
 * to the PD and only permits: what differs between parent domains is in their wishes. What
 * the program said with dvq_pd_set_policy() stays.
 */
static int add_permission(struct ibv_pd *pd, enum dvq_wq_kind kind)
{
	struct dvq_pd_policy policy;
	uint32_t *word = kind == DVQ_WQ_SQ ? &policy.sq : &policy.rq;
	int ret;

	ret = dvq_pd_get_policy(pd, &policy, sizeof(policy));
	if (ret || *word)
		return ret;
	*word = DVQ_PLACE_SET | DVQ_PLACE_CMB | DVQ_PLACE_EXPDB;
	return dvq_pd_set_policy(pd, &policy, sizeof(policy));
}

/* protects what is between get and set: threads with a domain each share the PD's policy */
static pthread_mutex_t permit_lock = PTHREAD_MUTEX_INITIALIZER;

void dvq_ionic_dv_in_child(void)
{
	pthread_mutex_init(&permit_lock, NULL);
}

static int permit(struct ibv_pd *pd, enum dvq_wq_kind kind)
{
	int ret;

	dvq_see_process();
	pthread_mutex_lock(&permit_lock);
	ret = add_permission(pd, kind);
	pthread_mutex_unlock(&permit_lock);
	return ret;
}

static int check_express(struct ibv_context *context, enum dvq_wq_kind kind)
{
	const uint64_t cap = kind == DVQ_WQ_SQ ? DVQ_DEVICE_SQ_EXPDB : DVQ_DEVICE_RQ_EXPDB;
	struct dvq_device_info info;
	int ret;

	ret = dvq_ionic_query_device(context, &info);
	if (ret || info.caps & cap)
		return ret;
	return dvq_refuse(EINVAL, "%s: no express doorbell for %s queues",
			  ibv_get_device_name(context->device),
			  kind == DVQ_WQ_SQ ? "send" : "receive");
}

static int prepare_kernel(struct ibv_pd *pd, enum dvq_wq_kind kind, bool expdb, bool require)
{
	if (!require)
		return permit(pd, kind);
	return expdb ? check_express(pd->context, kind) : 0;
}

static int set_cmb(struct ibv_pd *pd, enum dvq_wq_kind kind, bool enable, bool expdb, bool require)
{
	const char *call = kind == DVQ_WQ_SQ ? "ionic_dv_pd_set_sqcmb" : "ionic_dv_pd_set_rqcmb";
	int (*stock)(struct ibv_pd *, bool, bool, bool);
	enum dvq_owner owner;
	int ret = 0;

	if (!pd)
		return bad_argument();
	owner = dvq_ionic_owner(pd->context);
	if (owner == DVQ_OWNER_FOREIGN)
		return not_ionic(pd->context);
	stock = (int (*)(struct ibv_pd *, bool, bool, bool))stock_call(pd->context, call);
	if (!stock)
		return not_in_stock(call);
	if (owner == DVQ_OWNER_DVQ && enable)
		ret = prepare_kernel(pd, kind, expdb, require);
	return ret ? ret : stock(pd, enable, expdb, require);
}

DVQ_API int ionic_dv_pd_set_sqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require)
{
	return set_cmb(ibpd, DVQ_WQ_SQ, enable, expdb, require);
}

DVQ_API int ionic_dv_pd_set_rqcmb(struct ibv_pd *ibpd, bool enable, bool expdb, bool require)
{
	return set_cmb(ibpd, DVQ_WQ_RQ, enable, expdb, require);
}

/* ---- what is ionic's ---------------------------------------------------------------- */

DVQ_API bool ionic_dv_is_ionic_ctx(struct ibv_context *ibctx)
{
	return ibctx && is_ionic(ibctx);
}

DVQ_API bool ionic_dv_is_ionic_pd(struct ibv_pd *ibpd)
{
	return ibpd && is_ionic(ibpd->context);
}

DVQ_API bool ionic_dv_is_ionic_cq(struct ibv_cq *ibcq)
{
	return ibcq && is_ionic(ibcq->context);
}

DVQ_API bool ionic_dv_is_ionic_qp(struct ibv_qp *ibqp)
{
	return ibqp && is_ionic(ibqp->context);
}

DVQ_API uint8_t ionic_dv_cq_get_udma_mask(struct ibv_cq *ibcq)
{
	uint8_t (*stock)(struct ibv_cq *);
	struct dvq_cq_info info;

	if (!ibcq)
		return 0;
	switch (dvq_ionic_owner(ibcq->context)) {
	case DVQ_OWNER_DVQ:
		return dvq_ionic_query_cq(ibcq, DVQ_ANY_PIPELINE, &info) ? 0 : info.pipelines;
	case DVQ_OWNER_STOCK:
		stock = (uint8_t (*)(struct ibv_cq *))stock_call(ibcq->context,
								 "ionic_dv_cq_get_udma_mask");
		return stock ? stock(ibcq) : 0;
	default:
		return 0;
	}
}

DVQ_API uint8_t ionic_dv_qp_get_udma_idx(struct ibv_qp *ibqp)
{
	uint8_t (*stock)(struct ibv_qp *);
	struct dvq_wq_info sq;
	struct dvq_qp_info info;

	if (!ibqp)
		return 0;
	switch (dvq_ionic_owner(ibqp->context)) {
	case DVQ_OWNER_DVQ:
		return dvq_ionic_query_qp(ibqp, &info, &sq, NULL) ? 0 : sq.pipeline;
	case DVQ_OWNER_STOCK:
		stock = (uint8_t (*)(struct ibv_qp *))stock_call(ibqp->context,
								 "ionic_dv_qp_get_udma_idx");
		return stock ? stock(ibqp) : 0;
	default:
		return 0;
	}
}

/* ---- rings -------------------------------------------------------------------------- */

static uint8_t log2_of(uint32_t power)
{
	return (uint8_t)__builtin_ctz(power);
}

/* indices have 16 bits */
#define MAX_ENTRIES	65536

static int describe(struct ionic_dv_queue *queue, uint64_t address, uint32_t entries,
		    uint32_t entry_size, uint64_t db_value)
{
	if (!dvq_is_power_of_two(entries) || !dvq_is_power_of_two(entry_size) ||
	    entries > MAX_ENTRIES)
		return dvq_refuse(EOPNOTSUPP,
				  "the kernel describes a queue that this library does not know");
	*queue = (struct ionic_dv_queue){
		.ptr = (void *)(uintptr_t)address,
		.size = (size_t)entries * entry_size,
		.db_val = db_value,
		.mask = (uint16_t)(entries - 1),
		.depth_log2 = log2_of(entries),
		.stride_log2 = log2_of(entry_size),
	};
	return 0;
}

static int describe_wq(struct ionic_dv_queue *queue, const struct dvq_wq_info *wq)
{
	/* the host's copy would be no ring: the adapter never looks at it */
	if (wq->mem != DVQ_MEM_USER)
		return dvq_refuse(EOPNOTSUPP, "a queue is in controller memory");
	if (!wq->user_addr)
		return dvq_refuse(EOPNOTSUPP, "a queue is in memory that the process does not see");
	return describe(queue, wq->user_addr, wq->entries, wq->entry_size, wq->db_value);
}

static int get_qp(struct ionic_dv_qp *dvqp, struct ibv_qp *qp)
{
	struct dvq_wq_info sq, rq;
	struct ionic_dv_qp answer;
	struct dvq_qp_info info;
	int ret;

	ret = dvq_ionic_query_qp(qp, &info, &sq, &rq);
	if (!ret)
		ret = describe_wq(&answer.sq, &sq);
	if (!ret)
		ret = describe_wq(&answer.rq, &rq);
	if (!ret)
		*dvqp = answer;
	return ret;
}

DVQ_API int ionic_dv_get_qp(struct ionic_dv_qp *dvqp, struct ibv_qp *ibqp)
{
	int (*stock)(struct ionic_dv_qp *, struct ibv_qp *);

	dvq_borrow_reap();
	if (!dvqp || !ibqp)
		return bad_argument();
	switch (dvq_ionic_owner(ibqp->context)) {
	case DVQ_OWNER_DVQ:
		return get_qp(dvqp, ibqp);
	case DVQ_OWNER_STOCK:
		stock = (int (*)(struct ionic_dv_qp *, struct ibv_qp *))stock_call(
			ibqp->context, "ionic_dv_get_qp");
		return stock ? stock(dvqp, ibqp) : not_in_stock("ionic_dv_get_qp");
	default:
		return not_ionic(ibqp->context);
	}
}

static int get_cq(struct ionic_dv_cq *dvcq, struct ibv_cq *cq, uint8_t pipeline)
{
	struct dvq_cq_info info;
	int ret;

	ret = dvq_ionic_query_cq(cq, pipeline, &info);
	if (ret)
		return ret;
	if (!info.user_addr)
		return dvq_refuse(EOPNOTSUPP, "the CQ is in memory that the process does not see");
	return describe(&dvcq->q, info.user_addr, info.entries, info.entry_size, info.db_value);
}

DVQ_API int ionic_dv_get_cq(struct ionic_dv_cq *dvcq, struct ibv_cq *ibcq, uint8_t udma_idx)
{
	int (*stock)(struct ionic_dv_cq *, struct ibv_cq *, uint8_t);

	dvq_borrow_reap();
	if (!dvcq || !ibcq)
		return bad_argument();
	switch (dvq_ionic_owner(ibcq->context)) {
	case DVQ_OWNER_DVQ:
		return get_cq(dvcq, ibcq, udma_idx);
	case DVQ_OWNER_STOCK:
		stock = (int (*)(struct ionic_dv_cq *, struct ibv_cq *, uint8_t))stock_call(
			ibcq->context, "ionic_dv_get_cq");
		return stock ? stock(dvcq, ibcq, udma_idx) : not_in_stock("ionic_dv_get_cq");
	default:
		return not_ionic(ibcq->context);
	}
}

/* ---- doorbells ---------------------------------------------------------------------- */

/* the queues whose records say where the doorbells are, for as long as it takes to ask */
struct probe {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static void close_probe(struct probe *probe)
{
	if (probe->qp)
		ibv_destroy_qp(probe->qp);
	if (probe->cq)
		ibv_destroy_cq(probe->cq);
	if (probe->pd)
		ibv_dealloc_pd(probe->pd);
}

static int open_probe(struct ibv_context *context, struct probe *probe)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	int error;

	*probe = (struct probe){ .pd = ibv_alloc_pd(context) };
	if (probe->pd)
		probe->cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = probe->cq;
	if (probe->cq)
		probe->qp = ibv_create_qp(probe->pd, &attr);
	if (probe->qp)
		return 0;
	error = errno;
	close_probe(probe);
	return dvq_refuse(error, "no queues to ask where the doorbells are: %s", strerror(error));
}

static int ask_probe(const struct probe *probe, struct ionic_dv_ctx *dvctx)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	struct dvq_cq_info cq;
	void *page;
	int ret;

	ret = dvq_ionic_query_qp(probe->qp, &info, &sq, &rq);
	if (!ret)
		ret = dvq_ionic_query_cq(probe->cq, DVQ_ANY_PIPELINE, &cq);
	if (ret)
		return ret;
	/*
	 * One of the library's own: all queues of a context share the page, and whoever posts by
	 * himself has mapped it, too, and may take that away while others ring there.
	 */
	ret = dvq_borrow_page(probe->cq->context, cq.db_key, cq.db_length, PROT_WRITE, &page);
	if (ret)
		return ret;
	*dvctx = (struct ionic_dv_ctx){
		.db_page = page,
		.db_ptr = page,
		.sq_qtype = (uint8_t)(sq.db_offset / IONIC_DB_STRIDE),
		.rq_qtype = (uint8_t)(rq.db_offset / IONIC_DB_STRIDE),
		.cq_qtype = (uint8_t)(cq.db_offset / IONIC_DB_STRIDE),
	};
	return 0;
}

static int get_ctx(struct ionic_dv_ctx *dvctx, struct ibv_context *context)
{
	struct probe probe;
	int ret;

	ret = open_probe(context, &probe);
	if (ret)
		return ret;
	ret = ask_probe(&probe, dvctx);
	close_probe(&probe);
	return ret;
}

DVQ_API int ionic_dv_get_ctx(struct ionic_dv_ctx *dvctx, struct ibv_context *ibctx)
{
	int (*stock)(struct ionic_dv_ctx *, struct ibv_context *);

	dvq_borrow_reap();
	if (!dvctx || !ibctx)
		return bad_argument();
	switch (dvq_ionic_owner(ibctx)) {
	case DVQ_OWNER_DVQ:
		return get_ctx(dvctx, ibctx);
	case DVQ_OWNER_STOCK:
		stock = (int (*)(struct ionic_dv_ctx *, struct ibv_context *))stock_call(
			ibctx, "ionic_dv_get_ctx");
		return stock ? stock(dvctx, ibctx) : not_in_stock("ionic_dv_get_ctx");
	default:
		return not_ionic(ibctx);
	}
}

/* ---- what only the provider can do -------------------------------------------------- */

DVQ_API int ionic_dv_pd_set_expdb_mask(struct ibv_pd *ibpd, uint8_t mask)
{
	if (!ibpd)
		return bad_argument();
	if (!is_ionic(ibpd->context))
		return not_ionic(ibpd->context);
	return set_mask(ibpd, mask, "ionic_dv_pd_set_expdb_mask");
}

/* of a QP that dvq knows; an address or a handle can be another QP's later */
static int qp_uid(struct ibv_qp *qp, uint64_t *uid)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	int ret;

	ret = dvq_ionic_query_qp(qp, &info, &sq, &rq);
	if (!ret)
		*uid = info.uid;
	return ret;
}

DVQ_API int ionic_dv_qp_set_gda(struct ibv_qp *ibqp, bool enable_send, bool enable_recv)
{
	int (*stock)(struct ibv_qp *, bool, bool);
	uint64_t uid;
	int ret;

	if (!ibqp)
		return bad_argument();
	if (!is_ionic(ibqp->context))
		return not_ionic(ibqp->context);
	ret = qp_uid(ibqp, &uid) ? ENOENT : dvq_ionic_open_set_gda(uid, enable_send, enable_recv);
	if (ret != ENOENT)
		return ret;
	stock = (int (*)(struct ibv_qp *, bool, bool))stock_call(ibqp->context,
								 "ionic_dv_qp_set_gda");
	return stock ? stock(ibqp, enable_send, enable_recv) : not_in_stock("ionic_dv_qp_set_gda");
}

static int get_dbell_data(struct ibv_qp *qp, bool receive, uint64_t *dbdata, const char *call)
{
	int (*stock)(struct ibv_qp *, uint64_t *);
	uint64_t uid;

	if (!qp || !dbdata)
		return bad_argument();
	if (!is_ionic(qp->context))
		return not_ionic(qp->context);
	if (!qp_uid(qp, &uid) && !dvq_ionic_open_db_data(uid, receive, dbdata))
		return 0;
	stock = (int (*)(struct ibv_qp *, uint64_t *))stock_call(qp->context, call);
	return stock ? stock(qp, dbdata) : not_in_stock(call);
}

DVQ_API int ionic_dv_qp_get_send_dbell_data(struct ibv_qp *ibqp, uint64_t *dbdata)
{
	return get_dbell_data(ibqp, false, dbdata, "ionic_dv_qp_get_send_dbell_data");
}

DVQ_API int ionic_dv_qp_get_recv_dbell_data(struct ibv_qp *ibqp, uint64_t *dbdata)
{
	return get_dbell_data(ibqp, true, dbdata, "ionic_dv_qp_get_recv_dbell_data");
}

static bool wants_plain_cq(const struct ionic_cq_init_attr_ex *attr)
{
	return !attr || !attr->comp_mask ||
	       (attr->comp_mask == IONIC_CQ_INIT_ATTR_MASK_FLAGS && !attr->flags);
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context,
				      struct ibv_cq_init_attr_ex *attr,
				      struct ionic_cq_init_attr_ex *ionic_attr)
{
	struct ibv_cq_ex *(*stock)(struct ibv_context *, struct ibv_cq_init_attr_ex *,
				   struct ionic_cq_init_attr_ex *);

	stock = (struct ibv_cq_ex *(*)(struct ibv_context *, struct ibv_cq_init_attr_ex *,
				       struct ionic_cq_init_attr_ex *))
		stock_call(context, "ionic_dv_create_cq_ex");
	if (stock)
		return stock(context, attr, ionic_attr);
	errno = not_in_stock("ionic_dv_create_cq_ex");
	return NULL;
}

DVQ_API struct ibv_cq_ex *ionic_dv_create_cq_ex(struct ibv_context *ibctx,
						struct ibv_cq_init_attr_ex *attr,
						struct ionic_cq_init_attr_ex *ionic_attr)
{
	int error = 0;

	if (!ibctx || !attr)
		error = bad_argument();
	else if (!is_ionic(ibctx))
		error = not_ionic(ibctx);
	if (error) {
		errno = error;
		return NULL;
	}
	if (wants_plain_cq(ionic_attr))
		return ibv_create_cq_ex(ibctx, attr);
	return create_cq_ex(ibctx, attr, ionic_attr);
}
