// SPDX-License-Identifier: GPL-2.0
/*
 * dvq's uverbs methods on an EFA adapter: lengths, flags, pointers and handles by the rules of
 * dvq-abi.h, and values equal to what the stock ABI says of the same object.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "lib/efa_test.h"
#include "lib/memory.h"
#include "lib/uverbs.h"

#define CANARY	0xa5

/* ---- rules that hold for every method ------------------------------------------------------- */

/*
 * An output attribute of @size bytes, number @n of @call, which works: shorter is EINVAL, longer is
 * zero-filled, a bad pointer EFAULT, absent EINVAL, and a handle must be one of the right kind.
 */
static void check_output(int fd, const struct uv_call *call, unsigned int n, size_t size)
{
	struct uv_call bad;
	uint8_t buffer[512];

	memset(buffer, CANARY, sizeof(buffer));
	bad = *call;
	bad.attr[n].data = (uintptr_t)buffer;
	bad.attr[n].len = size + 16;
	CHECK_EQ(uv_run(fd, &bad), 0);
	for (size_t i = size; i < size + 16; i++)
		CHECK_EQ(buffer[i], 0);
	CHECK_EQ(buffer[size + 16], CANARY);
	CHECK(bad.attr[n].flags & UVERBS_ATTR_F_VALID_OUTPUT);

	bad = *call;
	bad.attr[n].len = size - 1;
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
	bad = *call;
	bad.attr[n].data = 8;
	CHECK_EQ(uv_run(fd, &bad), -EFAULT);
	bad = *call;
	bad.attr[n].attr_data.reserved = 1;
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
}

/* Attribute @n of @call is mandatory. */
static void check_mandatory(int fd, const struct uv_call *call, unsigned int n)
{
	struct uv_call bad = *call;

	bad.hdr.num_attrs--;
	memmove(&bad.attr[n], &bad.attr[n + 1], (UV_ATTRS - n - 1) * sizeof(bad.attr[0]));
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
}

/* Attribute @n is a handle; @other names an object of another kind. */
static void check_handle(int fd, const struct uv_call *call, unsigned int n, uint32_t other)
{
	struct uv_call bad = *call;

	bad.attr[n].data = 0xfffff;
	CHECK_EQ(uv_run(fd, &bad), -ENOENT);
	bad = *call;
	bad.attr[n].data = other;
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
	bad = *call;
	bad.attr[n].len = 4;
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
}

/* The call as a whole. */
static void check_call(int fd, const struct uv_call *call)
{
	struct uv_call bad = *call;

	bad.hdr.driver_id = RDMA_DRIVER_MLX5;
	CHECK_EQ(uv_run(fd, &bad), -EINVAL);
	bad = *call;
	bad.hdr.reserved1 = 1;
	CHECK_EQ(uv_run(fd, &bad), -EPROTONOSUPPORT);
	bad = *call;
	bad.hdr.method_id += 100;
	CHECK_EQ(uv_run(fd, &bad), -EPROTONOSUPPORT);
	/* an attribute that no kernel knows: an error if it matters to the caller */
	bad = *call;
	uv_const(&bad, DVQ_ID_NS + 28, 1);
	CHECK_EQ(uv_run(fd, &bad), -EPROTONOSUPPORT);
	bad.attr[bad.hdr.num_attrs - 1].flags = 0;
	CHECK_EQ(uv_run(fd, &bad), 0);
}

/* ---- device ------------------------------------------------------------------------------------ */

static void start_device(struct uv_call *call, struct dvq_device_info *info)
{
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	uv_out(call, DVQ_ATTR_QUERY_DEVICE_INFO, info, sizeof(*info));
}

EFA_TEST(device)
{
	const struct raw *raw = raw_new(self);
	struct dvq_device_info info;
	struct uv_call call;

	memset(&info, CANARY, sizeof(info));
	start_device(&call, &info);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	check_output(raw->fd, &call, 0, sizeof(info));
	check_mandatory(raw->fd, &call, 0);
	check_call(raw->fd, &call);

	CHECK_EQ(info.abi_version, DVQ_ABI_VERSION);
	CHECK_EQ(info.driver, DVQ_DRIVER_EFA);
	CHECK_EQ(info.sub_cqs_per_cq, raw->context.sub_cqs_per_cq);
	CHECK(info.max_sq_wr <= raw->device.max_sq_wr);
	CHECK_EQ(info.max_rq_desc, raw->device.max_rq_wr);
	CHECK_EQ(info.max_send_sge, raw->device.max_sq_sge);
	CHECK_EQ(info.max_recv_sge, raw->device.max_rq_sge);
	CHECK_EQ(info.max_inline, raw->context.inline_buf_size);
	CHECK_EQ(info.max_inline_ex, raw->context.inline_buf_size_ex);
	CHECK_EQ(info.max_sq_bytes, raw->context.max_llq_size);
	CHECK_EQ(info.max_tx_batch, raw->context.max_tx_batch);
	CHECK_EQ(info.min_sq_wr, raw->context.min_sq_wr);
	CHECK_EQ(info.max_rdma_size, raw->device.max_rdma_size);
	CHECK_EQ(info.max_ah, self->attr.max_ah);
	CHECK_EQ(info.pipelines, 0);
	CHECK_EQ(info.cmb_bytes, 0);
	CHECK_EQ(info.cmb_free, 0);
	CHECK_EQ(info.cmb_page, 0);
}

EFA_TEST(device_caps)
{
	static const struct {
		uint64_t dvq;
		uint32_t stock;
	} pairs[] = {
		{ DVQ_DEVICE_RDMA_READ, DVQ_EFA_DEVICE_RDMA_READ },
		{ DVQ_DEVICE_RDMA_WRITE, DVQ_EFA_DEVICE_RDMA_WRITE },
		{ DVQ_DEVICE_RNR_RETRY, DVQ_EFA_DEVICE_RNR_RETRY },
		{ DVQ_DEVICE_UNSOLICITED, DVQ_EFA_DEVICE_UNSOLICITED },
		{ DVQ_DEVICE_64BIT_IDS, DVQ_EFA_DEVICE_64BIT_IDS },
		{ DVQ_DEVICE_CQ_EVENTS, DVQ_EFA_DEVICE_CQ_NOTIFICATIONS },
		{ DVQ_DEVICE_DATA_POLLING_128, DVQ_EFA_DEVICE_DATA_POLLING_128 },
	};
	const struct raw *raw = raw_new(self);
	struct dvq_device_info info;
	struct uv_call call;

	start_device(&call, &info);
	REQUIRE(uv_run(raw->fd, &call) == 0);
	for (unsigned int i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!(info.caps & pairs[i].dvq) != !(raw->device.device_caps & pairs[i].stock))
			lab_note(__FILE__, __LINE__, "capability 0x%llx of dvq and 0x%x of the "
				 "stock ABI differ", (unsigned long long)pairs[i].dvq,
				 pairs[i].stock);
	CHECK(info.caps & DVQ_DEVICE_SQ_ALWAYS_CMB);
	CHECK_EQ(!(info.caps & DVQ_DEVICE_WQE_128), raw->context.inline_buf_size_ex <= 32);
	CHECK(!(info.caps & (DVQ_DEVICE_SQ_CMB | DVQ_DEVICE_RQ_CMB | DVQ_DEVICE_SQ_EXPDB |
			     DVQ_DEVICE_RQ_EXPDB)));
}

EFA_TEST(device_needs_a_context)
{
	struct dvq_device_info info;
	struct uv_call call;

	start_device(&call, &info);
	CHECK_EQ(uv_run(uv_open(self), &call), -EINVAL);
}

/* ---- PD policy ---------------------------------------------------------------------------------- */

static int set_policy(const struct raw *raw, const void *policy, size_t len)
{
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_SET_PD_POLICY);
	uv_handle(&call, DVQ_ATTR_SET_PD_POLICY_PD, raw->pd);
	uv_in(&call, DVQ_ATTR_SET_PD_POLICY_POLICY, policy, len);
	return uv_run(raw->fd, &call);
}

static int set_policies(const struct raw *raw, uint32_t sq, uint32_t rq)
{
	const struct dvq_pd_policy policy = { .sq = sq, .rq = rq };

	return set_policy(raw, &policy, sizeof(policy));
}

static void start_get_policy(struct uv_call *call, const struct raw *raw,
			     struct dvq_pd_policy *policy)
{
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_GET_PD_POLICY);
	uv_handle(call, DVQ_ATTR_GET_PD_POLICY_PD, raw->pd);
	uv_out(call, DVQ_ATTR_GET_PD_POLICY_POLICY, policy, sizeof(*policy));
}

EFA_TEST(pd_policy)
{
	const uint32_t set = DVQ_PLACE_SET, cmb = set | DVQ_PLACE_CMB, all = cmb | DVQ_PLACE_EXPDB;
	const struct raw *raw = raw_new(self);
	struct dvq_pd_policy policy;
	struct dvq_cq_resp_pad { struct dvq_efa_cq_resp resp; } cq;
	uint32_t other = raw_cq_new(raw, &cq.resp);
	struct uv_call call;

	start_get_policy(&call, raw, &policy);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(policy.sq, 0);
	CHECK_EQ(policy.rq, 0);
	check_output(raw->fd, &call, 1, sizeof(policy));
	check_mandatory(raw->fd, &call, 0);
	check_mandatory(raw->fd, &call, 1);
	check_handle(raw->fd, &call, 0, other);
	check_call(raw->fd, &call);

	CHECK_EQ(set_policies(raw, cmb, all), 0);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(policy.sq, cmb);
	CHECK_EQ(policy.rq, all);

	CHECK_EQ(set_policies(raw, DVQ_PLACE_CMB, 0), -EINVAL);
	CHECK_EQ(set_policies(raw, 0, set | DVQ_PLACE_EXPDB), -EINVAL);
	CHECK_EQ(set_policies(raw, set | DVQ_PLACE_REQUIRE, 0), -EINVAL);
	CHECK_EQ(set_policies(raw, set | 1 << 4, 0), -EINVAL);
	CHECK_EQ(set_policies(raw, 0, set | 1u << 31), -EINVAL);
	/* this device has nothing to choose, so nothing to insist on */
	CHECK_EQ(set_policies(raw, cmb | DVQ_PLACE_REQUIRE, 0), -EOPNOTSUPP);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(policy.sq, cmb);
	CHECK_EQ(policy.rq, all);
	CHECK_EQ(set_policies(raw, 0, 0), 0);
}

EFA_TEST(pd_policy_length)
{
	struct dvq_pd_policy policy[2] = { { .sq = DVQ_PLACE_SET } };
	const struct raw *raw = raw_new(self);

	CHECK_EQ(set_policy(raw, policy, 4), -EINVAL);
	CHECK_EQ(set_policy(raw, policy, sizeof(policy)), 0);
	policy[1].rq = 1;
	CHECK_EQ(set_policy(raw, policy, sizeof(policy)), -EOPNOTSUPP);
}

/* ---- QP ------------------------------------------------------------------------------------------- */

struct qp_records {
	struct dvq_qp_info info;
	struct dvq_wq_info sq, rq;
};

enum { QP_ATTR_QP, QP_ATTR_INFO, QP_ATTR_SQ, QP_ATTR_RQ };

static void start_qp(struct uv_call *call, uint32_t qp, struct qp_records *records)
{
	memset(records, CANARY, sizeof(*records));
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	uv_handle(call, DVQ_ATTR_QUERY_QP_QP, qp);
	uv_out(call, DVQ_ATTR_QUERY_QP_INFO, &records->info, sizeof(records->info));
	uv_out(call, DVQ_ATTR_QUERY_QP_SQ, &records->sq, sizeof(records->sq));
	uv_out(call, DVQ_ATTR_QUERY_QP_RQ, &records->rq, sizeof(records->rq));
}

static void query_qp(const struct raw *raw, uint32_t qp, struct qp_records *records)
{
	struct uv_call call;
	int err;

	start_qp(&call, qp, records);
	err = uv_run(raw->fd, &call);
	LAB_NEED(!err, "QUERY_QP: %s", strerror(-err));
}

/* What dvq-abi.h promises of every queue. */
static void check_wq(const struct dvq_wq_info *wq)
{
	CHECK_EQ(wq->db_format, DVQ_DB_EFA_COUNT);
	CHECK_EQ(wq->db_width, 4);
	CHECK_EQ(wq->db_length, PAGE);
	CHECK(wq->db_offset + wq->db_width <= wq->db_length);
	CHECK(wq->ring_offset + wq->entries * wq->entry_size <= wq->ring_length);
	CHECK_EQ(wq->ring_length % PAGE, 0);
	CHECK(wq->max_batch >= 1 && wq->max_wr <= wq->entries);
	CHECK_EQ(wq->entries & (wq->entries - 1), 0);
	CHECK_EQ(wq->pipeline, 0);
	CHECK_EQ(wq->reserved, 0);
	CHECK_EQ(wq->db_value, 0);
	CHECK_EQ(wq->user_addr, 0);
}

static uint32_t batch_limit(const struct raw *raw, uint32_t entry_size, uint32_t entries)
{
	uint32_t batch = 65535;

	if (raw->context.max_tx_batch)
		batch = raw->context.max_tx_batch * 64 / entry_size;
	if (raw->context.min_sq_wr && batch > entries - 1)
		batch = entries - 1;
	return batch ? batch : 1;
}

static void check_qp(const struct raw *raw, const struct raw_qp *qp)
{
	struct dvq_efa_qp_resp resp;
	struct qp_records records;
	uint32_t qp_num, handle = raw_qp_new(raw, qp, &resp, &qp_num);
	uint32_t entry_size = qp->req.sq_ring_size / qp->cap.max_send_wr;

	query_qp(raw, handle, &records);
	CHECK_EQ(records.info.qp_num, qp_num);
	CHECK_EQ(records.info.send_sub_cq, resp.send_sub_cq_idx);
	CHECK_EQ(records.info.recv_sub_cq, resp.recv_sub_cq_idx);
	CHECK_EQ(records.info.max_inline, qp->cap.max_inline_data);
	CHECK_EQ(records.info.max_send_sge, qp->cap.max_send_sge);
	CHECK_EQ(records.info.max_recv_sge, qp->cap.max_recv_sge);
	CHECK_EQ(records.info.max_rdma_sge, qp->type == IB_UVERBS_QPT_UD ? 0 : 1);
	CHECK_EQ(records.info.flags, qp->req.flags & 1 ? DVQ_QP_UNSOLICITED : 0);
	CHECK_EQ(records.info.resets, 0);

	check_wq(&records.sq);
	CHECK_EQ(records.sq.kind, DVQ_WQ_SQ);
	CHECK_EQ(records.sq.mem, DVQ_MEM_CMB);
	CHECK_EQ(records.sq.caps,
		 DVQ_WQ_HINTS | (qp->req.flags & DVQ_EFA_QP_64BIT_IDS ? DVQ_WQ_64BIT_IDS : 0));
	CHECK_EQ(records.sq.entry_size, entry_size);
	CHECK_EQ(records.sq.entries, qp->cap.max_send_wr);
	CHECK_EQ(records.sq.max_wr, qp->cap.max_send_wr);
	CHECK_EQ(records.sq.max_batch, batch_limit(raw, entry_size, qp->cap.max_send_wr));
	CHECK_EQ(records.sq.ring_key, resp.llq_desc_mmap_key);
	CHECK_EQ(records.sq.ring_offset, resp.llq_desc_offset);
	CHECK_EQ(records.sq.db_key, resp.sq_db_mmap_key);
	CHECK_EQ(records.sq.db_offset, resp.sq_db_offset);

	check_wq(&records.rq);
	CHECK_EQ(records.rq.kind, DVQ_WQ_RQ);
	CHECK_EQ(records.rq.mem, DVQ_MEM_KERNEL);
	CHECK_EQ(records.rq.caps, 0);
	CHECK_EQ(records.rq.entry_size, 16);
	CHECK_EQ(records.rq.entries, qp->req.rq_ring_size / 16);
	CHECK_EQ(records.rq.max_wr, qp->cap.max_recv_wr);
	CHECK_EQ(records.rq.max_batch, records.rq.entries);
	CHECK_EQ(records.rq.ring_key, resp.rq_mmap_key);
	CHECK_EQ(records.rq.ring_length, resp.rq_mmap_size);
	CHECK_EQ(records.rq.ring_offset, 0);
	CHECK_EQ(records.rq.db_key, resp.rq_db_mmap_key);
	CHECK_EQ(records.rq.db_offset, resp.rq_db_offset);
	CHECK_EQ(raw_qp_destroy(raw, handle), 0);
}

EFA_TEST(qp_records)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp)), qp = usual;

	check_qp(raw, &usual);
	qp.type = IB_UVERBS_QPT_UD;
	check_qp(raw, &qp);
	qp = usual;
	qp.cap.max_recv_sge = 2;
	qp.cap.max_recv_wr = 8;
	check_qp(raw, &qp);
	qp = usual;
	qp.cap.max_send_wr = 512;
	qp.req.sq_ring_size = 512 * 64;
	check_qp(raw, &qp);
	if (raw->context.inline_buf_size_ex > 32) {
		qp.req.sq_ring_size = 512 * 128;
		qp.cap.max_inline_data = raw->context.inline_buf_size_ex;
		check_qp(raw, &qp);
	}
	qp = usual;
	qp.req.flags = DVQ_EFA_QP_UNSOLICITED;
	if (raw->device.device_caps & DVQ_EFA_DEVICE_UNSOLICITED)
		check_qp(raw, &qp);
}

/* Ids of 64 bits take a CQ that can carry them. */
EFA_TEST(qp_records_of_64bit_ids)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct raw_qp qp;
	uint32_t cq;

	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_64BIT_IDS))
		SKIP("the adapter has no request ids of 64 bits");
	req.flags = DVQ_EFA_CQ_64BIT_IDS;
	REQUIRE(raw_cq(raw, 64, UV_IN(&req, sizeof(req)), &cq) == 0);
	qp = raw_qp_usual(raw, cq);
	qp.req.flags = DVQ_EFA_QP_64BIT_IDS;
	check_qp(raw, &qp);
}

static const struct dvq_wq_info no_wq;

EFA_TEST(qp_without_queues)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp qp = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	struct dvq_efa_qp_resp resp;
	struct qp_records records;
	uint32_t qp_num;

	qp.cap.max_recv_wr = qp.req.rq_ring_size = 0;
	query_qp(raw, raw_qp_new(raw, &qp, &resp, &qp_num), &records);
	CHECK(!memcmp(&records.rq, &no_wq, sizeof(no_wq)));
	CHECK_EQ(records.sq.kind, DVQ_WQ_SQ);

	qp = raw_qp_usual(raw, qp.send_cq);
	qp.cap.max_send_wr = qp.req.sq_ring_size = 0;
	query_qp(raw, raw_qp_new(raw, &qp, &resp, &qp_num), &records);
	CHECK(!memcmp(&records.sq, &no_wq, sizeof(no_wq)));
	CHECK_EQ(records.rq.kind, DVQ_WQ_RQ);
}

EFA_TEST(qp_call)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), qp_num;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct dvq_efa_qp_resp resp;
	struct qp_records records;
	struct uv_call call;

	start_qp(&call, raw_qp_new(raw, &usual, &resp, &qp_num), &records);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	check_output(raw->fd, &call, QP_ATTR_INFO, sizeof(records.info));
	check_output(raw->fd, &call, QP_ATTR_SQ, sizeof(records.sq));
	check_output(raw->fd, &call, QP_ATTR_RQ, sizeof(records.rq));
	check_mandatory(raw->fd, &call, QP_ATTR_QP);
	check_mandatory(raw->fd, &call, QP_ATTR_INFO);
	check_handle(raw->fd, &call, QP_ATTR_QP, cq);
	check_call(raw->fd, &call);

	/* the queues are optional */
	call.hdr.num_attrs = QP_ATTR_SQ;
	CHECK_EQ(uv_run(raw->fd, &call), 0);
}

/* A QP number that comes again is told apart by its generation, and every QP by its uid. */
EFA_TEST(qp_identity)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	struct dvq_efa_qp_resp resp;
	struct qp_records records;
	uint32_t qp, qp_num, mask = 1, again = 0;
	uint64_t uid = 0;
	uint32_t generations[512];

	memset(generations, 0xff, sizeof(generations));
	while (mask + 1 < (uint32_t)self->attr.max_qp)
		mask = mask * 2 + 1;
	REQUIRE(mask < sizeof(generations) / sizeof(generations[0]));
	for (int i = 0; i < self->attr.max_qp + 50; i++) {
		uint32_t *generation;

		qp = raw_qp_new(raw, &usual, &resp, &qp_num);
		query_qp(raw, qp, &records);
		CHECK(records.info.uid > uid);
		uid = records.info.uid;
		generation = &generations[qp_num & mask];
		if (*generation != ~0u) {
			CHECK_EQ(records.info.generation, *generation + 1);
			again++;
		}
		*generation = records.info.generation;
		CHECK_EQ(raw_qp_destroy(raw, qp), 0);
	}
	CHECK(again > 0);
}

static uint64_t uid_of_new_qp(const struct raw *raw, const struct raw_qp *usual)
{
	struct dvq_efa_qp_resp resp;
	struct qp_records records;
	uint32_t qp, qp_num;

	qp = raw_qp_new(raw, usual, &resp, &qp_num);
	query_qp(raw, qp, &records);
	CHECK_EQ(raw_qp_destroy(raw, qp), 0);
	return records.info.uid;
}

/* The library knows open rings by it. Devices that count for themselves meet, one by one. */
EFA_TEST(uids_of_two_devices)
{
	const struct raw *raw[2];
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp usual[2];
	uint64_t uid[2];
	int behind;

	if (self == peer)
		SKIP("needs two adapters");
	for (int i = 0; i < 2; i++) {
		raw[i] = raw_new(i ? peer : self);
		usual[i] = raw_qp_usual(raw[i], raw_cq_new(raw[i], &cq_resp));
		uid[i] = uid_of_new_qp(raw[i], &usual[i]);
	}
	behind = uid[0] > uid[1];
	do {
		uid[behind] = uid_of_new_qp(raw[behind], &usual[behind]);
		CHECK(uid[behind] != uid[!behind]);
	} while (uid[behind] < uid[!behind]);
}

/* Keys are unique among the contexts of a device. */
EFA_TEST(keys_of_two_contexts)
{
	const struct raw *one = raw_new(self), *two = raw_new(self);
	struct dvq_efa_cq_resp first, second;

	raw_cq_new(one, &first);
	raw_cq_new(two, &second);
	CHECK(first.q_mmap_key != second.q_mmap_key);
	CHECK(first.q_mmap_key != second.db_mmap_key);
}

/* ---- CQ ------------------------------------------------------------------------------------------- */

enum { CQ_ATTR_CQ, CQ_ATTR_INFO };

static void start_cq(struct uv_call *call, uint32_t cq, struct dvq_cq_info *info)
{
	memset(info, CANARY, sizeof(*info));
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_CQ);
	uv_handle(call, DVQ_ATTR_QUERY_CQ_CQ, cq);
	uv_out(call, DVQ_ATTR_QUERY_CQ_INFO, info, sizeof(*info));
}

static void query_cq(const struct raw *raw, uint32_t cq, struct dvq_cq_info *info)
{
	struct uv_call call;
	int err;

	start_cq(&call, cq, info);
	err = uv_run(raw->fd, &call);
	LAB_NEED(!err, "QUERY_CQ: %s", strerror(-err));
}

static void check_cq(const struct raw *raw, const struct dvq_efa_cq_req *req)
{
	struct dvq_efa_cq_resp resp;
	struct dvq_cq_info info;
	uint32_t cq;

	REQUIRE(raw_cq(raw, 256, &(struct uv_data){ req, sizeof(*req), &resp, sizeof(resp) },
		       &cq) == 0);
	query_cq(raw, cq, &info);
	CHECK_EQ(info.cq_num, resp.cq_idx);
	CHECK_EQ(info.mem, DVQ_MEM_KERNEL);
	CHECK_EQ(info.first_phase, 1);
	CHECK_EQ(info.entry_size, req->cq_entry_size);
	CHECK_EQ(info.entries, 256);
	CHECK_EQ(info.sub_cqs, req->num_sub_cqs);
	CHECK_EQ(info.qps, 0);
	CHECK_EQ(info.caps, req->flags & DVQ_EFA_CQ_64BIT_IDS ? DVQ_WQ_64BIT_IDS : 0);
	CHECK_EQ(info.pipeline, 0);
	CHECK_EQ(info.pipelines, 0);
	CHECK_EQ(info.ring_offset, 0);
	CHECK_EQ(info.ring_key, resp.q_mmap_key);
	CHECK_EQ(info.ring_length, resp.q_mmap_size);
	CHECK(info.entries * info.entry_size * info.sub_cqs <= info.ring_length);
	CHECK_EQ(info.user_addr, 0);
	if (resp.comp_mask & DVQ_EFA_CQ_RESP_DB) {
		CHECK_EQ(info.db_format, DVQ_DB_EFA_CQ);
		CHECK_EQ(info.db_width, 4);
		CHECK_EQ(info.db_key, resp.db_mmap_key);
		CHECK_EQ(info.db_offset, resp.db_off);
		CHECK_EQ(info.db_length, PAGE);
	} else {
		CHECK_EQ(info.db_format, DVQ_DB_NONE);
		CHECK_EQ(info.db_key, 0);
	}
	CHECK_EQ(raw_cq_destroy(raw, cq), 0);
}

EFA_TEST(cq_records)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);

	check_cq(raw, &req);
	req.cq_entry_size = 16;
	check_cq(raw, &req);
	req.flags = DVQ_EFA_CQ_64BIT_IDS;
	if (raw->device.device_caps & DVQ_EFA_DEVICE_64BIT_IDS)
		check_cq(raw, &req);
	req.flags = DVQ_EFA_CQ_CHANNEL;
	if (raw->device.device_caps & DVQ_EFA_DEVICE_CQ_NOTIFICATIONS)
		check_cq(raw, &req);
}

EFA_TEST(cq_call)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp resp;
	struct dvq_cq_info info;
	struct uv_call call, more;
	uint32_t pipeline = 0;

	start_cq(&call, raw_cq_new(raw, &resp), &info);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	check_output(raw->fd, &call, CQ_ATTR_INFO, sizeof(info));
	check_mandatory(raw->fd, &call, CQ_ATTR_CQ);
	check_mandatory(raw->fd, &call, CQ_ATTR_INFO);
	check_handle(raw->fd, &call, CQ_ATTR_CQ, raw->pd);
	check_call(raw->fd, &call);

	more = call;
	uv_in(&more, DVQ_ATTR_QUERY_CQ_PIPELINE, &pipeline, sizeof(pipeline));
	CHECK_EQ(uv_run(raw->fd, &more), 0);
	more = call;
	pipeline = 1;
	uv_in(&more, DVQ_ATTR_QUERY_CQ_PIPELINE, &pipeline, sizeof(pipeline));
	CHECK_EQ(uv_run(raw->fd, &more), -EINVAL);
	more = call;
	uv_in(&more, DVQ_ATTR_QUERY_CQ_PIPELINE, &pipeline, 2);
	CHECK_EQ(uv_run(raw->fd, &more), -EINVAL);
}

/* Who delivers to which ring. */
EFA_TEST(cq_users)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp resp;
	struct dvq_cq_info info;
	uint32_t cq = raw_cq_new(raw, &cq_resp), counts[9], want[8] = {}, qp_num, qp;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct uv_call call;

	REQUIRE(raw->context.sub_cqs_per_cq <= 8);
	for (int i = 0; i < 3; i++) {
		qp = raw_qp_new(raw, &usual, &resp, &qp_num);
		want[resp.send_sub_cq_idx]++;
		want[resp.recv_sub_cq_idx]++;
	}
	memset(counts, CANARY, sizeof(counts));
	start_cq(&call, cq, &info);
	uv_out(&call, DVQ_ATTR_QUERY_CQ_QPS, counts, sizeof(counts));
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(info.qps, 6);
	CHECK(!memcmp(counts, want, raw->context.sub_cqs_per_cq * sizeof(counts[0])));
	CHECK_EQ(counts[8], 0);

	CHECK_EQ(raw_qp_destroy(raw, qp), 0);
	query_cq(raw, cq, &info);
	CHECK_EQ(info.qps, 4);
	call.attr[2].len = 2;
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
}

/* ---- AH ------------------------------------------------------------------------------------------- */

static void start_ah(struct uv_call *call, uint32_t ah, struct dvq_ah_info *info)
{
	memset(info, CANARY, sizeof(*info));
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_AH);
	uv_handle(call, DVQ_ATTR_QUERY_AH_AH, ah);
	uv_out(call, DVQ_ATTR_QUERY_AH_INFO, info, sizeof(*info));
}

EFA_TEST(ah)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	struct dvq_efa_ah_resp resp;
	struct dvq_device_info device;
	struct dvq_ah_info info;
	uint32_t first, second;
	struct uv_call call, ahs;

	REQUIRE(raw_ah(raw, raw->pd, &attr, UV_OUT(&resp, sizeof(resp)), &first) == 0);
	start_ah(&call, first, &info);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(info.ah_num, resp.ah_num);
	CHECK_EQ(info.users, 1);
	check_output(raw->fd, &call, 1, sizeof(info));
	check_mandatory(raw->fd, &call, 0);
	check_mandatory(raw->fd, &call, 1);
	check_handle(raw->fd, &call, 0, raw->pd);
	check_call(raw->fd, &call);

	REQUIRE(raw_ah(raw, raw->pd, &attr, NULL, &second) == 0);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(info.users, 2);
	start_device(&ahs, &device);
	CHECK_EQ(uv_run(raw->fd, &ahs), 0);
	CHECK_EQ(device.ahs, 1);
	CHECK_EQ(raw_ah_destroy(raw, second), 0);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(info.users, 1);
	CHECK_EQ(raw_ah_destroy(raw, first), 0);
	CHECK_EQ(uv_run(raw->fd, &call), -ENOENT);
	CHECK_EQ(uv_run(raw->fd, &ahs), 0);
	CHECK_EQ(device.ahs, 0);
}

/* ---- context -------------------------------------------------------------------------------------- */

static void start_context(struct uv_call *call, struct dvq_context_info *info)
{
	memset(info, CANARY, sizeof(*info));
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_CONTEXT);
	uv_out(call, DVQ_ATTR_QUERY_CONTEXT_INFO, info, sizeof(*info));
}

/* must succeed; until the process ends */
static const volatile struct dvq_changes *map_changes(const struct raw *raw)
{
	struct dvq_context_info info;
	struct uv_call call;
	void *page;

	start_context(&call, &info);
	REQUIRE(!uv_run(raw->fd, &call));
	page = mmap(NULL, info.changes_length, PROT_READ, MAP_SHARED, raw->fd, info.changes_key);
	REQUIRE(page != MAP_FAILED);
	return page;
}

EFA_TEST(context)
{
	const struct raw *raw = raw_new(self), *other = raw_new(self);
	struct dvq_context_info info, again;
	struct uv_call call;

	start_context(&call, &info);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	check_output(raw->fd, &call, 0, sizeof(info));
	check_mandatory(raw->fd, &call, 0);
	check_call(raw->fd, &call);
	/* one page, however often it is asked for, and of no other context */
	start_context(&call, &again);
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(again.changes_key, info.changes_key);
	CHECK_EQ(again.changes_length, PAGE);
	CHECK_EQ(uv_run(other->fd, &call), 0);
	CHECK(again.changes_key != info.changes_key);
	/* for reading */
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, raw->fd, info.changes_key) ==
	      MAP_FAILED && errno == EPERM);
}

EFA_TEST(context_counts_what_goes)
{
	const struct raw *raw = raw_new(self), *other = raw_new(self);
	const volatile struct dvq_changes *changes = map_changes(raw), *others = map_changes(other);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	uint64_t qps = changes->qps, ahs = changes->ahs, elsewhere = others->qps;
	struct dvq_efa_ah_resp resp;
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	uint32_t qp, qp_num, first, second;

	qp = raw_qp_new(raw, &usual, &qp_resp, &qp_num);
	REQUIRE(!raw_ah(raw, raw->pd, &attr, UV_OUT(&resp, sizeof(resp)), &first));
	REQUIRE(!raw_ah(raw, raw->pd, &attr, NULL, &second));
	CHECK_EQ(changes->qps, qps);
	CHECK_EQ(changes->ahs, ahs);

	/* the device still has the number for the other, but the handle is free */
	CHECK_EQ(raw_ah_destroy(raw, second), 0);
	CHECK_EQ(changes->ahs, ahs + 1);
	CHECK_EQ(raw_ah_destroy(raw, first), 0);
	CHECK_EQ(changes->ahs, ahs + 2);
	CHECK_EQ(changes->qps, qps);
	CHECK_EQ(raw_qp_destroy(raw, qp), 0);
	CHECK_EQ(changes->qps, qps + 1);
	CHECK_EQ(others->qps, elsewhere);
}

static void start_uids(struct uv_call *call, const uint64_t *uids, unsigned int n, uint8_t *alive)
{
	uv_start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_UIDS);
	uv_in(call, DVQ_ATTR_QUERY_UIDS_UIDS, uids, n * sizeof(*uids));
	uv_out(call, DVQ_ATTR_QUERY_UIDS_ALIVE, alive, n);
}

/* each is there for its own context, from its creation to its destruction */
EFA_TEST(uids)
{
	struct endpoint *e = endpoint_new(self, NULL);
	const struct raw *other = raw_new(self);
	const int fd = self->context->cmd_fd;
	struct dvq_cq_info cq;
	struct dvq_qp_info qp;
	uint64_t uids[4096] = { 0 };
	uint8_t alive[4096];
	struct uv_call call;

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_efa");
	REQUIRE(!dvq_qp_query(e->qp, &qp, sizeof(qp), NULL, NULL, 0));
	REQUIRE(!dvq_cq_query(e->send_cq->cq, &cq, sizeof(cq)));
	uids[1] = qp.uid;
	uids[2] = cq.uid;
	uids[3] = ~0ULL;
	uids[4095] = qp.uid;
	start_uids(&call, uids, 4096, alive);
	CHECK_EQ(uv_run(fd, &call), 0);
	for (unsigned int i = 0; i < 4096; i++)
		CHECK_EQ(alive[i], i == 1 || i == 2 || i == 4095);
	CHECK_EQ(uv_run(other->fd, &call), 0);
	for (unsigned int i = 0; i < 4096; i++)
		CHECK_EQ(alive[i], 0);
	/* one fits into the attribute itself */
	start_uids(&call, &uids[1], 1, alive);
	CHECK_EQ(uv_run(fd, &call), 0);
	CHECK_EQ(alive[0], 1);
	check_mandatory(fd, &call, 0);
	check_mandatory(fd, &call, 1);
	check_call(fd, &call);
	REQUIRE(!endpoint_destroy(e));
	start_uids(&call, uids, 4, alive);
	CHECK_EQ(uv_run(fd, &call), 0);
	CHECK_EQ(alive[1], 0);
	CHECK_EQ(alive[2], 1);
	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_QUERY_UIDS);
	uv_in(&call, DVQ_ATTR_QUERY_UIDS_UIDS, uids, 12);
	uv_out(&call, DVQ_ATTR_QUERY_UIDS_ALIVE, alive, 4);
	CHECK_EQ(uv_run(fd, &call), -EINVAL);
}

/* through the verbs, for modifying by hand is no news of this test */
EFA_TEST(context_counts_resets)
{
	struct endpoint *e = endpoint_new(self, NULL);
	const struct raw as_raw = { .fd = self->context->cmd_fd };
	const volatile struct dvq_changes *changes;
	struct dvq_qp_info before, after;
	uint64_t qps;

	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_efa");
	changes = map_changes(&as_raw);
	REQUIRE(!dvq_qp_query(e->qp, &before, sizeof(before), NULL, NULL, 0));
	qps = changes->qps;
	CHECK_EQ(endpoint_modify(e, IBV_QPS_ERR), 0);
	CHECK_EQ(changes->qps, qps);
	CHECK_EQ(endpoint_modify(e, IBV_QPS_RESET), 0);
	CHECK_EQ(changes->qps, qps + 1);
	REQUIRE(!dvq_qp_query(e->qp, &after, sizeof(after), NULL, NULL, 0));
	CHECK_EQ(after.resets, before.resets + 1);
	CHECK_EQ(after.uid, before.uid);
}

/* ---- controller memory ------------------------------------------------------------------------------ */

EFA_TEST(no_controller_memory)
{
	const struct raw *raw = raw_new(self);
	const struct dvq_cmb_alloc req = { .length = PAGE };
	struct dvq_cmb_info info;
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_ALLOC);
	uv_handle(&call, DVQ_ATTR_CMB_ALLOC_HANDLE, 0);
	uv_in(&call, DVQ_ATTR_CMB_ALLOC_REQ, &req, sizeof(req));
	uv_out(&call, DVQ_ATTR_CMB_ALLOC_INFO, &info, sizeof(info));
	CHECK_EQ(uv_run(raw->fd, &call), -EOPNOTSUPP);
}

/* ---- calls from many threads ------------------------------------------------------------------------- */

struct caller {
	const struct raw *raw;
	uint32_t qp;
	int worst;
};

static void *query_often(void *arg)
{
	struct caller *caller = arg;
	struct qp_records records;
	struct uv_call call;
	int err;

	start_qp(&call, caller->qp, &records);
	for (int i = 0; i < 500; i++) {
		err = uv_run(caller->raw->fd, &call);
		if (err)
			caller->worst = err;
	}
	return NULL;
}

/* Objects are taken for reading: a query never makes another one fail. */
EFA_TEST(queries_do_not_exclude_each_other)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	struct dvq_efa_qp_resp resp;
	uint32_t qp_num, qp = raw_qp_new(raw, &usual, &resp, &qp_num);
	struct caller caller[4];
	pthread_t thread[4];

	for (int i = 0; i < 4; i++) {
		caller[i] = (struct caller){ .raw = raw, .qp = qp };
		REQUIRE(!pthread_create(&thread[i], NULL, query_often, &caller[i]));
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		CHECK_EQ(caller[i].worst, 0);
	}
}

EFA_TEST_MAIN
