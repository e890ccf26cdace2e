// SPDX-License-Identifier: GPL-2.0
/*
 * The failure sweep over everything that a program can ask of an adapter: each admin command, and
 * on a kernel that can do that each allocation, fails once in each operation. Calls are made
 * without the library, one operation of the kernel each.
 */
#include <fcntl.h>
#include <rdma/rdma_netlink.h>
#include <sys/mman.h>

#include "lib/adapter_test.h"
#include "lib/driver.h"
#include "lib/memory.h"
#include "lib/resource.h"
#include "lib/sweep.h"
#include "lib/uverbs.h"

#define RING_PAGES	8	/* room for each ring of ionic */
#define SMALL_PAGES	1	/* of a region whose pages are in the command */
#define LIST_PAGES	20	/* in one list */
#define INDIRECT_PAGES	1100	/* in lists of a list */

/* Attributes of kernels after 6.16, which older headers do not have. */
enum { CREATE_CQ_BUFFER_VA = UVERBS_ATTR_CREATE_CQ_EVENT_FD + 1, CREATE_CQ_BUFFER_LENGTH };

/**
 * struct scene - what operations work on: a context with a PD, memory, and what they make
 *
 * @index: of the adapter to netlink
 * @rings: memory for rings of ionic, and for a caller's CQ of EFA
 * @dmabuf: as many pages as @list has; -1 if there can be none
 * @pd, @ah, @cq, @qp, @mr, @mw, @region: handles
 * @key, @length: what can be mapped
 */
static struct scene {
	struct raw *raw;
	uint32_t index;
	struct memory *rings, *small, *list, *indirect;
	int dmabuf;
	int channel, fd;
	uint32_t pd, ah, cq, qp, qpn, mr, mw, region, counter;
	uint64_t key;
	size_t length;
	void *map;
} at;

static bool is_efa(void)
{
	return self->kind == ADAPTER_EFA;
}

static int drop_dmabuf(void *object)
{
	return close(*(int *)object) ? errno : 0;
}

static void set_up(void)
{
	struct dvq_ionic_ctx_resp context;
	struct memory *exported;
	const char *why;

	at.raw = is_efa() ? raw_new(self) : raw_new_ionic(self, &context);
	at.index = resources_device_index(self);
	at.rings = memory_plain(4 * RING_PAGES);
	at.small = memory_plain(SMALL_PAGES);
	at.list = memory_scattered(LIST_PAGES, LIST_PAGES);
	at.indirect = memory_scattered(INDIRECT_PAGES, INDIRECT_PAGES);
	exported = memory_scattered(LIST_PAGES, LIST_PAGES);
	at.dmabuf = memory_dmabuf(exported, exported->size, &why);
	if (at.dmabuf >= 0)
		lab_hold(drop_dmabuf, &at.dmabuf);
	/* so that no page of it comes with the first use by the kernel */
	memset(at.rings->base, 0, at.rings->size);
	memset(at.small->base, 0, at.small->size);
}

/* ---- contexts ---------------------------------------------------------------------- */

static int context_open(const struct operation *operation)
{
	const struct dvq_efa_ucontext_req efa = {
		.supported_caps = DVQ_EFA_USER_TX_BATCH | DVQ_EFA_USER_MIN_SQ_WR,
	};
	const struct dvq_ionic_ctx_req ionic = {};
	struct dvq_ionic_ctx_resp answer;
	char path[128];
	int err;

	(void)operation;
	snprintf(path, sizeof(path), "/dev/infiniband/%.64s", self->device->dev_name);
	at.fd = open(path, O_RDWR | O_CLOEXEC);
	if (at.fd < 0)
		return -errno;
	err = uv_get_context(at.fd, &(struct uv_data) {
		is_efa() ? (const void *)&efa : &ionic, is_efa() ? sizeof(efa) : sizeof(ionic),
		&answer, is_efa() ? 24 : sizeof(answer),
	});
	if (err)
		close(at.fd);
	return err;
}

static int context_close(const struct operation *operation)
{
	(void)operation;
	return close(at.fd) ? -errno : 0;
}

static int query_device(const struct operation *operation)
{
	(void)operation;
	return raw_query_device(at.raw->fd, NULL);
}

static int query_port(const struct operation *operation)
{
	struct ib_uverbs_query_port in = { .port_num = 1 };
	struct ib_uverbs_query_port_resp resp;

	(void)operation;
	return uv_write(at.raw->fd, IB_USER_VERBS_CMD_QUERY_PORT, &in, sizeof(in), &resp,
			sizeof(resp), NULL);
}

/* ---- PDs --------------------------------------------------------------------------- */

static int pd_make(const struct operation *operation)
{
	struct dvq_efa_pd_resp resp;

	(void)operation;
	return raw_pd(at.raw, is_efa() ? UV_OUT(&resp, sizeof(resp)) : NULL, &at.pd);
}

static int pd_drop(const struct operation *operation)
{
	(void)operation;
	return raw_pd_destroy(at.raw, at.pd);
}

#define ALLOW	(DVQ_PLACE_SET | DVQ_PLACE_CMB | DVQ_PLACE_EXPDB)

/* of the context's own PD; with a region unless @places is 0 */
static int set_policy(uint32_t places)
{
	const struct dvq_pd_policy policy = { .sq = places, .rq = places };
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_SET_PD_POLICY);
	uv_handle(&call, DVQ_ATTR_SET_PD_POLICY_PD, at.raw->pd);
	uv_in(&call, DVQ_ATTR_SET_PD_POLICY_POLICY, &policy, sizeof(policy));
	if (places && !is_efa())
		uv_handle(&call, DVQ_ATTR_SET_PD_POLICY_POOL, at.region);
	return uv_run(at.raw->fd, &call);
}

static int policy_set(const struct operation *operation)
{
	(void)operation;
	return set_policy(ALLOW);
}

static int policy_clear(const struct operation *operation)
{
	(void)operation;
	return set_policy(0);
}

static int policy_get(const struct operation *operation)
{
	struct dvq_pd_policy policy;
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_GET_PD_POLICY);
	uv_handle(&call, DVQ_ATTR_GET_PD_POLICY_PD, at.raw->pd);
	uv_out(&call, DVQ_ATTR_GET_PD_POLICY_POLICY, &policy, sizeof(policy));
	return uv_run(at.raw->fd, &call);
}

/* ---- address handles ----------------------------------------------------------------- */

static int make_ah(uint32_t *ah)
{
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	struct dvq_efa_ah_resp resp;

	attr.grh.hop_limit = 64;
	return raw_ah(at.raw, at.raw->pd, &attr, UV_OUT(&resp, sizeof(resp)), ah);
}

static int ah_make(const struct operation *operation)
{
	(void)operation;
	return make_ah(&at.ah);
}

static int ah_drop(const struct operation *operation)
{
	(void)operation;
	return raw_ah_destroy(at.raw, at.ah);
}

static uint32_t first_ah;

static int first_ah_make(const struct operation *operation)
{
	(void)operation;
	return make_ah(&first_ah);
}

static int first_ah_drop(const struct operation *operation)
{
	(void)operation;
	return raw_ah_destroy(at.raw, first_ah);
}

static int ah_query(const struct operation *operation)
{
	struct dvq_ah_info info;
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_AH);
	uv_handle(&call, DVQ_ATTR_QUERY_AH_AH, at.ah);
	uv_out(&call, DVQ_ATTR_QUERY_AH_INFO, &info, sizeof(info));
	return uv_run(at.raw->fd, &call);
}

/* ---- regions and windows ------------------------------------------------------------- */

enum { MR_SMALL, MR_LIST, MR_INDIRECT };

static int mr_make(const struct operation *operation)
{
	const struct memory *memory = operation->arg == MR_SMALL ? at.small :
				      operation->arg == MR_LIST ? at.list : at.indirect;
	struct ib_uverbs_reg_mr_resp resp;
	int err;

	err = raw_mr(at.raw, memory->base, memory->size, (uintptr_t)memory->base,
		     IBV_ACCESS_LOCAL_WRITE, NULL, &resp);
	at.mr = resp.mr_handle;
	return err;
}

static int mr_drop(const struct operation *operation)
{
	(void)operation;
	return raw_mr_destroy(at.raw, at.mr);
}

static int dmabuf_mr_make(const struct operation *operation)
{
	uint64_t offset = 0, length = at.list->size, iova = 0x10000;
	uint32_t access = IBV_ACCESS_LOCAL_WRITE, lkey, rkey;
	struct uv_call call;
	int err;

	(void)operation;
	uv_start(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	uv_handle(&call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	uv_handle(&call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, at.raw->pd);
	uv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, &offset, sizeof(offset));
	uv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &length, sizeof(length));
	uv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &iova, sizeof(iova));
	uv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_FD, &at.dmabuf, sizeof(at.dmabuf));
	uv_in(&call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, sizeof(access));
	uv_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &lkey, sizeof(lkey));
	uv_out(&call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &rkey, sizeof(rkey));
	err = uv_run(at.raw->fd, &call);
	at.mr = call.attr[0].data;
	return err;
}

static int mr_query(const struct operation *operation)
{
	uint16_t validity, id[3];
	struct uv_call call;

	(void)operation;
	uv_start(&call, UVERBS_OBJECT_MR, DVQ_EFA_METHOD_MR_QUERY);
	uv_handle(&call, DVQ_EFA_ATTR_MR_QUERY_HANDLE, at.mr);
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_VALIDITY, &validity, sizeof(validity));
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RECV_IC, &id[0], sizeof(id[0]));
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC, &id[1], sizeof(id[1]));
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC, &id[2], sizeof(id[2]));
	return uv_run(at.raw->fd, &call);
}

static int mw_make(const struct operation *operation)
{
	struct ib_uverbs_alloc_mw in = { .pd_handle = at.raw->pd, .mw_type = operation->arg };
	struct ib_uverbs_alloc_mw_resp resp;
	int err;

	err = uv_write(at.raw->fd, IB_USER_VERBS_CMD_ALLOC_MW, &in, sizeof(in), &resp,
		       sizeof(resp), NULL);
	at.mw = resp.mw_handle;
	return err;
}

static int mw_drop(const struct operation *operation)
{
	struct ib_uverbs_dealloc_mw in = { .mw_handle = at.mw };

	(void)operation;
	return uv_write(at.raw->fd, IB_USER_VERBS_CMD_DEALLOC_MW, &in, sizeof(in), NULL, 0, NULL);
}

/* ---- completion queues ---------------------------------------------------------------- */

static int channel_make(const struct operation *operation)
{
	struct ib_uverbs_create_comp_channel in = {};
	struct ib_uverbs_create_comp_channel_resp resp;
	int err;

	(void)operation;
	err = uv_write(at.raw->fd, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), &resp,
		       sizeof(resp), NULL);
	at.channel = resp.fd;
	return err;
}

static int channel_drop(const struct operation *operation)
{
	(void)operation;
	return close(at.channel) ? -errno : 0;
}

#define CQE		64
#define CQE_IN_A_PAGE	16	/* a caller's memory of EFA must be in one piece */

static struct dvq_ionic_ring ring_of(unsigned int n, uint8_t stride_log2)
{
	const uint8_t depth_log2 = 6;

	return (struct dvq_ionic_ring) {
		.addr = (uintptr_t)at.rings->base + n * RING_PAGES * PAGE,
		.size = 1u << (depth_log2 + stride_log2), .mask = (1u << depth_log2) - 1,
		.depth_log2 = depth_log2, .stride_log2 = stride_log2,
	};
}

/* @CQ_FIRST, @CQ_SECOND: on one pipeline of ionic only */
enum { CQ_USUAL, CQ_SENDERS, CQ_LONG_IDS, CQ_EVENTS, CQ_OF_MEMORY, CQ_FIRST, CQ_SECOND };

static size_t efa_cq_bytes(void)
{
	return (size_t)CQE_IN_A_PAGE * 32 * at.raw->context.sub_cqs_per_cq;
}

static void add_memory(struct uv_call *call)
{
	uint64_t length = efa_cq_bytes(), place = (uintptr_t)at.rings->base;

	uv_in(call, CREATE_CQ_BUFFER_VA, &place, sizeof(place));
	uv_in(call, CREATE_CQ_BUFFER_LENGTH, &length, sizeof(length));
}

static int make_cq(int kind)
{
	struct dvq_efa_cq_req efa = raw_cq_req(at.raw);
	struct dvq_ionic_cq_req ionic = {
		.udma_mask = kind == CQ_FIRST ? 1 : kind == CQ_SECOND ? 2 : 3,
		.ring = { ring_of(0, 5), ring_of(1, 5) },
	};
	struct dvq_efa_cq_resp resp;
	struct uv_data data = {
		is_efa() ? (const void *)&efa : &ionic, is_efa() ? sizeof(efa) : sizeof(ionic),
		&resp, is_efa() ? sizeof(resp) : sizeof(struct dvq_ionic_cq_resp),
	};
	bool of_memory = kind == CQ_OF_MEMORY;
	struct uv_call call;
	int err;

	if (kind == CQ_EVENTS)
		efa.flags = DVQ_EFA_CQ_CHANNEL;
	if (kind == CQ_SENDERS)
		efa.flags = DVQ_EFA_CQ_SGID;
	if (kind == CQ_LONG_IDS)
		efa.flags = DVQ_EFA_CQ_64BIT_IDS;
	raw_cq_start(&call, of_memory ? CQE_IN_A_PAGE : CQE, &data);
	if (kind == CQ_EVENTS)
		uv_handle(&call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, at.channel);
	if (of_memory)
		add_memory(&call);
	err = uv_run(at.raw->fd, &call);
	at.cq = call.attr[0].data;
	at.key = resp.q_mmap_key;
	at.length = resp.q_mmap_size;
	return err;
}

static int cq_make(const struct operation *operation)
{
	return make_cq(operation->arg);
}

static int usual_cq_make(const struct operation *operation)
{
	(void)operation;
	return make_cq(CQ_USUAL);
}

static int cq_drop(const struct operation *operation)
{
	(void)operation;
	return raw_cq_destroy(at.raw, at.cq);
}

static int events_cq_make(const struct operation *operation)
{
	int err = channel_make(operation);

	return err ? err : make_cq(CQ_EVENTS);
}

static int cq_query(const struct operation *operation)
{
	struct dvq_cq_info info;
	uint32_t qps[16];
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_CQ);
	uv_handle(&call, DVQ_ATTR_QUERY_CQ_CQ, at.cq);
	uv_out(&call, DVQ_ATTR_QUERY_CQ_INFO, &info, sizeof(info));
	uv_out(&call, DVQ_ATTR_QUERY_CQ_QPS, qps, sizeof(qps));
	return uv_run(at.raw->fd, &call);
}

static bool cq_is_known(const struct operation *operation)
{
	return !cq_query(operation);
}

/* ---- queue pairs ---------------------------------------------------------------------- */

enum { QP_SRD, QP_UD, QP_WIDE, QP_UNSOLICITED, QP_LONG_IDS, QP_SEND_ONLY, QP_RECV_ONLY };

static int make_efa_qp(int kind)
{
	struct raw_qp qp = raw_qp_usual(at.raw, at.cq);
	struct dvq_efa_qp_resp resp;
	struct uv_data data = { &qp.req, sizeof(qp.req), &resp, sizeof(resp) };
	struct uv_call call;
	int err;

	if (kind == QP_UD)
		qp.type = IB_UVERBS_QPT_UD;
	if (kind == QP_WIDE)
		qp.req.sq_ring_size *= 2;
	if (kind == QP_UNSOLICITED)
		qp.req.flags = DVQ_EFA_QP_UNSOLICITED;
	if (kind == QP_LONG_IDS)
		qp.req.flags = DVQ_EFA_QP_64BIT_IDS;
	if (kind == QP_SEND_ONLY)
		qp.cap.max_recv_wr = qp.cap.max_recv_sge = qp.req.rq_ring_size = 0;
	if (kind == QP_RECV_ONLY)
		qp.cap.max_send_wr = qp.cap.max_send_sge = qp.req.sq_ring_size = 0;
	raw_qp_start(&call, at.raw, &qp, &data, &at.qpn);
	err = uv_run(at.raw->fd, &call);
	at.qp = call.attr[0].data;
	return err;
}

/* besides QP_UD; of what they are made, and where they are put */
enum { QP_RC, QP_CMB = QP_UD + 1, QP_EXPRESS, QP_POOL };

static int make_ionic_qp(int kind)
{
	static const uint8_t places[] = {
		[QP_CMB] = DVQ_IONIC_CMB_ENABLE | DVQ_IONIC_CMB_REQUIRE,
		[QP_EXPRESS] = DVQ_IONIC_CMB_ENABLE | DVQ_IONIC_CMB_REQUIRE | DVQ_IONIC_CMB_EXPDB,
		[QP_POOL] = DVQ_IONIC_CMB_ENABLE | DVQ_IONIC_CMB_REQUIRE,
	};
	const struct raw_qp qp = {
		.type = kind == QP_UD ? IB_UVERBS_QPT_UD : IB_UVERBS_QPT_RC,
		.send_cq = at.cq, .recv_cq = at.cq,
		.cap = { .max_send_wr = 63, .max_recv_wr = 63, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	const struct dvq_ionic_qp_req req = {
		.sq = ring_of(2, 6), .rq = ring_of(3, 6), .sq_cmb = places[kind],
		.rq_cmb = places[kind],
	};
	struct dvq_ionic_qp_resp resp;
	struct uv_data data = { &req, sizeof(req), &resp, sizeof(resp) };
	struct uv_call call;
	int err;

	raw_qp_start(&call, at.raw, &qp, &data, &at.qpn);
	err = uv_run(at.raw->fd, &call);
	at.qp = call.attr[0].data;
	at.key = resp.sq_cmb_offset;
	at.length = req.sq.size;
	return err;
}

static int qp_make(const struct operation *operation)
{
	return is_efa() ? make_efa_qp(operation->arg) : make_ionic_qp(operation->arg);
}

static int qp_drop(const struct operation *operation)
{
	(void)operation;
	return raw_qp_destroy(at.raw, at.qp);
}

/* the kind that such a QP needs */
static int qp_cq_make(const struct operation *operation)
{
	return make_cq(is_efa() && operation->arg == QP_LONG_IDS ? CQ_LONG_IDS : CQ_USUAL);
}

static int qp_and_cq_make(const struct operation *operation)
{
	int err = qp_cq_make(operation);

	return err ? err : qp_make(operation);
}

static int qp_and_cq_drop(const struct operation *operation)
{
	int err = qp_drop(operation);

	return err ? err : cq_drop(operation);
}

static int region_make(const struct operation *operation)
{
	const struct dvq_cmb_alloc req = { .length = 16 * PAGE };
	struct dvq_cmb_info info;
	struct uv_call call;
	int err;

	(void)operation;
	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_ALLOC);
	uv_handle(&call, DVQ_ATTR_CMB_ALLOC_HANDLE, 0);
	uv_in(&call, DVQ_ATTR_CMB_ALLOC_REQ, &req, sizeof(req));
	uv_out(&call, DVQ_ATTR_CMB_ALLOC_INFO, &info, sizeof(info));
	err = uv_run(at.raw->fd, &call);
	at.region = call.attr[0].data;
	at.key = info.key;
	at.length = info.length;
	return err;
}

static int region_drop(const struct operation *operation)
{
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_FREE);
	uv_handle(&call, DVQ_ATTR_CMB_FREE_HANDLE, at.region);
	return uv_run(at.raw->fd, &call);
}

static int region_query(const struct operation *operation)
{
	struct dvq_cmb_info info;
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_QUERY);
	uv_handle(&call, DVQ_ATTR_CMB_QUERY_HANDLE, at.region);
	uv_out(&call, DVQ_ATTR_CMB_QUERY_INFO, &info, sizeof(info));
	return uv_run(at.raw->fd, &call);
}

/* a CQ, and a region that queue pairs are put into */
static int pool_and_cq_make(const struct operation *operation)
{
	int err = region_make(operation);

	if (!err)
		err = set_policy(ALLOW);
	return err ? err : make_cq(CQ_USUAL);
}

static int pool_and_cq_drop(const struct operation *operation)
{
	int err = cq_drop(operation);

	if (!err)
		err = set_policy(0);
	return err ? err : region_drop(operation);
}

static int qp_query(const struct operation *operation)
{
	struct ib_uverbs_query_qp_resp resp;

	(void)operation;
	return raw_qp_query(at.raw, at.qp, IBV_QP_STATE, &resp);
}

static int qp_query_queues(const struct operation *operation)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;
	struct uv_call call;

	(void)operation;
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	uv_handle(&call, DVQ_ATTR_QUERY_QP_QP, at.qp);
	uv_out(&call, DVQ_ATTR_QUERY_QP_INFO, &info, sizeof(info));
	uv_out(&call, DVQ_ATTR_QUERY_QP_SQ, &sq, sizeof(sq));
	uv_out(&call, DVQ_ATTR_QUERY_QP_RQ, &rq, sizeof(rq));
	return uv_run(at.raw->fd, &call);
}

/* ---- states --------------------------------------------------------------------------- */

static bool is_connected(int kind)
{
	return !is_efa() && kind != QP_UD;
}

static void to_rtr(struct ib_uverbs_modify_qp *attr)
{
	attr->attr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	memcpy(attr->dest.dgid, &peer->gid, sizeof(attr->dest.dgid));
	attr->dest.is_global = 1;
	attr->dest.port_num = 1;
	attr->dest.hop_limit = 64;
	attr->path_mtu = IBV_MTU_1024;
	attr->dest_qp_num = at.qpn;
	attr->min_rnr_timer = 12;
	attr->max_dest_rd_atomic = 1;
}

static void to_rts(struct ib_uverbs_modify_qp *attr)
{
	attr->attr_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_MAX_QP_RD_ATOMIC;
	attr->timeout = 15;
	attr->retry_cnt = 7;
	attr->rnr_retry = 7;
	attr->max_rd_atomic = 1;
}

static int change(int kind, int from, int to)
{
	struct ib_uverbs_modify_qp attr = { .attr_mask = IBV_QP_STATE, .qp_state = to };
	bool connected = is_connected(kind);

	if (to == IBV_QPS_INIT) {
		attr.attr_mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  (connected ? IBV_QP_ACCESS_FLAGS : IBV_QP_QKEY);
		attr.port_num = 1;
	}
	if (to == IBV_QPS_RTR && connected)
		to_rtr(&attr);
	if (to == IBV_QPS_RTS && from == IBV_QPS_RTR) {
		attr.attr_mask |= IBV_QP_SQ_PSN;
		if (connected)
			to_rts(&attr);
	}
	return raw_qp_modify(at.raw, at.qp, &attr, NULL);
}

/* the state that every QP goes through before */
static int before(int state)
{
	switch (state) {
	case IBV_QPS_ERR:
	case IBV_QPS_SQD:
		return IBV_QPS_RTS;
	default:
		return state - 1;
	}
}

static int bring_to(int kind, int state)
{
	int err = state == IBV_QPS_RESET ? 0 : bring_to(kind, before(state));

	return err || state == IBV_QPS_RESET ? err : change(kind, before(state), state);
}

static int qp_bring(const struct operation *operation)
{
	int err = qp_and_cq_make(operation);

	return err ? err : bring_to(operation->arg, operation->from);
}

static int qp_change(const struct operation *operation)
{
	return change(operation->arg, operation->from, operation->to);
}

static bool state_held(const struct operation *operation)
{
	struct ib_uverbs_query_qp_resp resp;

	return !raw_qp_query(at.raw, at.qp, IBV_QP_STATE, &resp) &&
	       resp.qp_state == operation->from;
}

/* ---- mappings ------------------------------------------------------------------------- */

static int map(const struct operation *operation)
{
	at.map = mmap(NULL, at.length, operation->arg, MAP_SHARED, at.raw->fd, at.key);
	return at.map == MAP_FAILED ? -errno : 0;
}

static int unmap(const struct operation *operation)
{
	(void)operation;
	return munmap(at.map, at.length) ? -errno : 0;
}

/* the queues of a QP that dvq tells of */
enum { MAP_SQ, MAP_SQ_DOORBELL, MAP_RQ, MAP_RQ_DOORBELL };

static int find_key(int which)
{
	struct dvq_wq_info sq, rq, *wq = which < MAP_RQ ? &sq : &rq;
	bool doorbell = which == MAP_SQ_DOORBELL || which == MAP_RQ_DOORBELL;
	struct dvq_qp_info info;
	struct uv_call call;
	int err;

	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	uv_handle(&call, DVQ_ATTR_QUERY_QP_QP, at.qp);
	uv_out(&call, DVQ_ATTR_QUERY_QP_INFO, &info, sizeof(info));
	uv_out(&call, DVQ_ATTR_QUERY_QP_SQ, &sq, sizeof(sq));
	uv_out(&call, DVQ_ATTR_QUERY_QP_RQ, &rq, sizeof(rq));
	err = uv_run(at.raw->fd, &call);
	at.key = doorbell ? wq->db_key : wq->ring_key;
	at.length = doorbell ? wq->db_length : wq->ring_length;
	return err;
}

/* a queue pair, of ionic in controller memory, of which @from is to be mapped */
static int qp_to_map(const struct operation *operation)
{
	int err = make_cq(CQ_USUAL);

	if (!err)
		err = is_efa() ? make_efa_qp(QP_SRD) : make_ionic_qp(QP_CMB);
	return err ? err : find_key(operation->from);
}

/* ---- accounts and counters -------------------------------------------------------------- */

static int dump(const struct operation *operation)
{
	return resources_dump(at.index, operation->to);
}

/* one value of each group is enough: they are all read for it */
static int read_counters(const struct operation *operation)
{
	char path[512], text[64];
	ssize_t len;
	int fd, err;

	(void)operation;
	snprintf(path, sizeof(path), "%s/ports/1/hw_counters/%s", self->device->ibdev_path,
		 is_efa() ? "tx_bytes" : "tx_packets");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text));
	err = len < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* the core hands out what it read up to 10 ms ago */
static int forget_counters(const struct operation *operation)
{
	(void)operation;
	sleep_ms(25);
	return 0;
}

/* A kind of statistics that the device does not have reads as zeros. */
static int zeros_if_unknown(const char *command, int err)
{
	(void)command;
	return is_efa() && (err == -EOPNOTSUPP || err == -EINVAL) ? 0 : err;
}

static int counter_bind(const struct operation *operation)
{
	(void)operation;
	return resources_bind_counter(at.index, at.qpn, &at.counter);
}

static int counter_unbind(const struct operation *operation)
{
	(void)operation;
	return resources_unbind_counter(at.index, at.qpn, at.counter);
}

static int counter_and_qp_make(const struct operation *operation)
{
	int err = qp_bring(operation);

	return err ? err : counter_bind(operation);
}

static int counter_and_qp_drop(const struct operation *operation)
{
	int err = counter_unbind(operation);

	return err ? err : qp_and_cq_drop(operation);
}

static int counters_and_time(const struct operation *operation)
{
	int err = counter_and_qp_make(operation);

	return err ? err : forget_counters(operation);
}

/* Nor is the sum of the queue pairs' counters missed. */
static int port_only(const char *command, int err)
{
	return strcmp(command, "qp_stats_vals") ? err : 0;
}

/* Binding reads what the queue pair has counted so far; whatever fails then is ENOMEM to the core. */
static int no_memory(const char *command, int err)
{
	(void)command;
	return err ? -ENOMEM : 0;
}

/* The state of a queue pair of an adapter that has failed is known without it. */
static int known_of_the_dead(const char *command, int err)
{
	(void)command;
	return err == -ENODEV ? 0 : err;
}

/* What has no memory is asked for again. Closing cannot be refused at all. */
static int never(const char *command, int err)
{
	(void)command;
	(void)err;
	return 0;
}

/* ---- what not every adapter or kernel has ------------------------------------------------- */

static bool has_dmabuf(void)
{
	return at.dmabuf >= 0;
}

static bool has_cq_events(void)
{
	return has_events(self);
}

static bool has_senders(void)
{
	return adapter_can(self, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID);
}

static bool has_external(void)
{
	return at.raw->device.device_caps & DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM;
}

static bool has_wide(void)
{
	return self->efa.inline_buf_size_ex > self->efa.inline_buf_size;
}

static bool has_unsolicited(void)
{
	return at.raw->device.device_caps & DVQ_EFA_DEVICE_UNSOLICITED;
}

static bool has_long_ids(void)
{
	return at.raw->device.device_caps & DVQ_EFA_DEVICE_64BIT_IDS;
}

/* ---- the operations --------------------------------------------------------------------- */

#define OF_ANY		\
	{ .name = "context_open", .run = context_open, .undo = context_close },			\
	{ .name = "context_close", .run = context_close, .prepare = context_open, .expect = never },	\
	{ .name = "query_device", .run = query_device },						\
	{ .name = "query_port", .run = query_port },							\
	{ .name = "pd_alloc", .run = pd_make, .undo = pd_drop },					\
	{ .name = "pd_dealloc", .run = pd_drop, .prepare = pd_make, .destroys = true,	\
	  .expect = never },								\
	{ .name = "pd_policy_get", .run = policy_get },						\
	{ .name = "ah_create", .run = ah_make, .undo = ah_drop },					\
	{ .name = "ah_create_second", .run = ah_make, .undo = ah_drop, .prepare = first_ah_make,	\
	  .tidy = first_ah_drop },							\
	{ .name = "ah_destroy", .run = ah_drop, .prepare = ah_make, .destroys = true,	\
	  .expect = never },								\
	{ .name = "ah_query", .run = ah_query, .prepare = ah_make, .tidy = ah_drop },			\
	{ .name = "mr_reg_small", .run = mr_make, .undo = mr_drop, .arg = MR_SMALL },			\
	{ .name = "mr_reg_list", .run = mr_make, .undo = mr_drop, .arg = MR_LIST },			\
	{ .name = "mr_reg_indirect", .run = mr_make, .undo = mr_drop, .arg = MR_INDIRECT },		\
	{ .name = "mr_reg_dmabuf", .run = dmabuf_mr_make, .undo = mr_drop,			\
	  .offered = has_dmabuf },				\
	{ .name = "mr_dereg", .run = mr_drop, .prepare = mr_make, .arg = MR_LIST,	\
	  .destroys = true, .untracked = "mr" },					\
	{ .name = "channel_create", .run = channel_make, .undo = channel_drop },			\
	{ .name = "cq_create", .run = cq_make, .undo = cq_drop, .arg = CQ_USUAL },			\
	{ .name = "cq_create_events", .run = cq_make, .undo = cq_drop, .prepare = channel_make,	\
	  .tidy = channel_drop, .arg = CQ_EVENTS, .offered = has_cq_events },					\
	{ .name = "cq_query_rings", .run = cq_query, .prepare = usual_cq_make, .tidy = cq_drop },	\
	{ .name = "qp_query", .run = qp_query, .prepare = qp_bring, .tidy = qp_and_cq_drop,		\
	  .arg = QP_SRD, .from = IBV_QPS_INIT, .expect = known_of_the_dead },		\
	{ .name = "qp_query_queues", .run = qp_query_queues, .prepare = qp_bring,			\
	  .tidy = qp_and_cq_drop, .arg = QP_SRD, .from = IBV_QPS_INIT },		\
	{ .name = "counters_read", .run = read_counters, .prepare = forget_counters,			\
	  .expect = zeros_if_unknown },							\
	DUMP("dump_pds", RDMA_NLDEV_CMD_RES_PD_GET),					\
	DUMP("dump_cqs", RDMA_NLDEV_CMD_RES_CQ_GET),					\
	DUMP("dump_qps", RDMA_NLDEV_CMD_RES_QP_GET),					\
	DUMP("dump_mrs", RDMA_NLDEV_CMD_RES_MR_GET),					\
	DUMP("dump_contexts", RDMA_NLDEV_CMD_RES_CTX_GET)

#define DUMP(title, command)								\
	{ .name = title, .run = dump, .prepare = qp_bring, .tidy = qp_and_cq_drop, .arg = QP_SRD,	\
	  .from = IBV_QPS_INIT, .to = command }

#define QP_IF(title, kind, can)								\
	{ .name = "qp_create_" title, .run = qp_make, .undo = qp_drop,			\
	  .prepare = qp_cq_make, .tidy = cq_drop, .arg = kind, .offered = can },		\
	{ .name = "qp_destroy_" title, .run = qp_drop, .prepare = qp_and_cq_make,	\
	  .tidy = cq_drop, .arg = kind, .destroys = true, .offered = can }

#define QP(title, kind)	QP_IF(title, kind, NULL)

#define STEP(title, kind, old, new)							\
	{ .name = "qp_modify_" title, .run = qp_change, .prepare = qp_bring, .tidy = qp_and_cq_drop,	\
	  .held = state_held, .arg = kind, .from = IBV_QPS_##old, .to = IBV_QPS_##new }

#define STEPS(title, kind)								\
	STEP(title "_reset_init", kind, RESET, INIT),					\
	STEP(title "_init_rtr", kind, INIT, RTR),					\
	STEP(title "_rtr_rts", kind, RTR, RTS),						\
	STEP(title "_rts_sqd", kind, RTS, SQD),						\
	STEP(title "_sqd_rts", kind, SQD, RTS),						\
	STEP(title "_rts_err", kind, RTS, ERR),						\
	STEP(title "_err_reset", kind, ERR, RESET)

#define MAP(title, which, protection)							\
	{ .name = "map_" title, .run = map, .undo = unmap, .prepare = qp_to_map,			\
	  .tidy = qp_and_cq_drop, .arg = protection, .from = which }

/* @rest: of an adapter on which a CQ is two rings, of which one may be gone */
#define CQ_DESTROY(rest)								\
	{ .name = "cq_destroy", .run = cq_drop, .prepare = usual_cq_make,		\
	  .destroys = true, .partly = rest, .held = cq_is_known },			\
	{ .name = "cq_destroy_events", .run = cq_drop, .prepare = events_cq_make,	\
	  .tidy = channel_drop, .destroys = true, .partly = rest, .held = cq_is_known,	\
	  .offered = has_cq_events }

#define CQ(title, kind, can)								\
	{ .name = "cq_create_" title, .run = cq_make, .undo = cq_drop, .arg = kind,	\
	  .offered = can }

static const struct operation on_efa[] = {
	OF_ANY,
	{ .name = "pd_policy_set", .run = policy_set, .undo = policy_clear },
	{ .name = "mr_query", .run = mr_query, .prepare = mr_make, .tidy = mr_drop, .arg = MR_SMALL },
	CQ_DESTROY(false),
	CQ("senders", CQ_SENDERS, has_senders),
	CQ("long_ids", CQ_LONG_IDS, has_long_ids),
	CQ("memory", CQ_OF_MEMORY, has_external),
	QP("srd", QP_SRD),
	QP("ud", QP_UD),
	QP_IF("wide", QP_WIDE, has_wide),
	QP_IF("unsolicited", QP_UNSOLICITED, has_unsolicited),
	QP_IF("long_ids", QP_LONG_IDS, has_long_ids),
	QP("send_only", QP_SEND_ONLY),
	QP("recv_only", QP_RECV_ONLY),
	STEPS("srd", QP_SRD),
	STEPS("ud", QP_UD),
	{ .name = "map_cq", .run = map, .undo = unmap, .prepare = usual_cq_make, .tidy = cq_drop,
	  .arg = PROT_READ },
	MAP("sq", MAP_SQ, PROT_WRITE),
	MAP("sq_doorbell", MAP_SQ_DOORBELL, PROT_WRITE),
	MAP("rq", MAP_RQ, PROT_READ | PROT_WRITE),
	MAP("rq_doorbell", MAP_RQ_DOORBELL, PROT_WRITE),
};

static const struct operation on_ionic[] = {
	OF_ANY,
	{ .name = "pd_policy_set", .run = policy_set, .undo = policy_clear, .prepare = region_make,
	  .tidy = region_drop },
	{ .name = "mw_alloc_1", .run = mw_make, .undo = mw_drop, .arg = IBV_MW_TYPE_1 },
	{ .name = "mw_alloc_2", .run = mw_make, .undo = mw_drop, .arg = IBV_MW_TYPE_2 },
	{ .name = "mw_dealloc", .run = mw_drop, .prepare = mw_make, .arg = IBV_MW_TYPE_2,
	  .destroys = true, .expect = never },
	CQ_DESTROY(true),
	CQ("first_pipeline", CQ_FIRST, NULL),
	CQ("second_pipeline", CQ_SECOND, NULL),
	QP("rc", QP_RC),
	QP("ud", QP_UD),
	QP("cmb", QP_CMB),
	QP("express", QP_EXPRESS),
	{ .name = "qp_create_pool", .run = qp_make, .undo = qp_drop, .prepare = pool_and_cq_make,
	  .tidy = pool_and_cq_drop, .arg = QP_POOL },
	STEPS("rc", QP_RC),
	STEPS("ud", QP_UD),
	{ .name = "cmb_alloc", .run = region_make, .undo = region_drop },
	{ .name = "cmb_free", .run = region_drop, .prepare = region_make, .destroys = true },
	{ .name = "cmb_query", .run = region_query, .prepare = region_make, .tidy = region_drop },
	{ .name = "cmb_map", .run = map, .undo = unmap, .prepare = region_make, .tidy = region_drop,
	  .arg = PROT_READ | PROT_WRITE },
	MAP("sq", MAP_SQ, PROT_WRITE),
	MAP("rq", MAP_RQ, PROT_WRITE),
	MAP("doorbell", MAP_SQ_DOORBELL, PROT_WRITE),
	{ .name = "counter_bind", .run = counter_bind, .undo = counter_unbind, .prepare = qp_bring,
	  .tidy = qp_and_cq_drop, .arg = QP_RC, .from = IBV_QPS_INIT, .answers = true,
	  .expect = no_memory },
	{ .name = "counter_unbind", .run = counter_unbind, .prepare = counter_and_qp_make,
	  .tidy = qp_and_cq_drop, .arg = QP_RC, .from = IBV_QPS_INIT, .answers = true,
	  .expect = port_only },
	{ .name = "counters_read_of_qp", .run = read_counters, .prepare = counters_and_time,
	  .tidy = counter_and_qp_drop, .arg = QP_RC, .from = IBV_QPS_INIT,
	  .expect = port_only },
};

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

/* all that there are in the operations above */
static const char *const efa_commands[] = {
	"alloc_uar", "dealloc_uar", "alloc_pd", "dealloc_pd", "create_ah", "destroy_ah", "reg_mr", "dereg_mr",
	"create_cq", "destroy_cq", "create_qp", "modify_qp", "query_qp", "destroy_qp", "get_stats", NULL
};

static const char *const ionic_commands[] = {
	"create_ah", "destroy_ah", "create_mr", "destroy_mr", "create_cq", "destroy_cq", "create_qp", "modify_qp",
	"query_qp", "destroy_qp", "stats_vals", "qp_stats_vals", NULL
};

static void need_dvq(void)
{
	if (!self->dvq)
		SKIP("is about dvq's drivers");
}

static void each(void (*sweep)(const struct operation *operation))
{
	const struct operation *operations = is_efa() ? on_efa : on_ionic;
	unsigned int count = is_efa() ? COUNT(on_efa) : COUNT(on_ionic);

	for (unsigned int i = 0; i < count; i++) {
		if (operations[i].offered && !operations[i].offered())
			printf("# %s: not offered\n", operations[i].name);
		else
			sweep(&operations[i]);
	}
}

ADAPTER_TEST(each_command_refused)
{
	need_dvq();
	need_model();
	set_up();
	sweep_begin();
	each(sweep_commands);
	sweep_expect(is_efa() ? efa_commands : ionic_commands);
}

/* That is the end of the adapter each time, so the driver takes it anew. */
static void sweep_silence_of(const struct operation *operation)
{
	static struct model_stats empty;
	bool tried = true;

	while (tried) {
		model_stats(self->model, &empty);
		set_up();
		tried = sweep_silence(operation);
		lab_drop_all();
		if (!tried)
			return;
		driver_rebind();
		adapter_expect_objects(self, &empty);
	}
}

/* waits for the deadline of each: the model's option admin_timeout makes that of EFA short */
ADAPTER_TEST(each_command_unanswered)
{
	need_dvq();
	need_model();
	set_up();
	lab_drop_all();
	sweep_begin();
	each(sweep_silence_of);
	sweep_expect(is_efa() ? efa_commands : ionic_commands);
}

ADAPTER_TEST(each_allocation_fails)
{
	const char *why = sweep_no_allocations();

	if (why)
		SKIP(why);
	need_dvq();
	set_up();
	each(sweep_allocations);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
