// SPDX-License-Identifier: GPL-2.0
/*
 * The stock user ABI of EFA, by the letter: lengths, reserved bytes, flags and limits of every
 * command, each with its errno, and that nothing of what is refused reaches the device.
 */
#include <errno.h>
#include <sys/mman.h>

#include "lib/efa_test.h"
#include "lib/log.h"
#include "lib/memory.h"
#include "lib/stock_abi.h"
#include "lib/uverbs.h"
#ifdef HAS_STOCK_ABI
#include <rdma/efa-abi.h>
#endif

#define ALL_USER_CAPS	(DVQ_EFA_USER_TX_BATCH | DVQ_EFA_USER_MIN_SQ_WR)

/* ---- what the device is asked ------------------------------------------------------- */

/* Commands that the device has seen; on hardware those that the driver has sent. */
static uint64_t commands(void)
{
	struct model_stats stats;
	uint64_t sent = 0;

	if (self->model[0]) {
		model_stats(self->model, &stats);
		return model_stat(&stats, "admin");
	}
	sleep_ms(25);	/* the core hands out what it read up to 10 ms ago */
	LAB_NEED(adapter_counter(self, false, "submitted_cmds", &sent), "there is no counter submitted_cmds");
	return sent;
}

/* The call fails with the errno and the device is not asked. */
#define REFUSED(call, error)							\
	do {									\
		uint64_t before_ = commands();					\
		CHECK_EQ(call, -(error));					\
		CHECK_EQ(commands() - before_, 0);				\
	} while (0)

static uint64_t live(const char *objects)
{
	struct model_stats stats;

	model_stats(self->model, &stats);
	return model_stat(&stats, objects);
}

/* ---- answers of any length ------------------------------------------------------------ */

#define CANARY	0xa5

struct answer {
	uint8_t bytes[128];
};

static struct uv_data answer_of(struct answer *answer, const void *in, size_t in_len, size_t len)
{
	memset(answer, CANARY, sizeof(*answer));
	return (struct uv_data){ in, in_len, answer, len };
}

/* @len bytes were asked for, of which @known are the driver's: the rest is zero, beyond is ours. */
static void check_answer(const struct answer *answer, size_t known, size_t len)
{
	size_t i;

	for (i = known; i < len; i++)
		if (answer->bytes[i])
			lab_note(__FILE__, __LINE__, "byte %zu of an answer of %zu is not zero", i, len);
	for (i = len; i < sizeof(answer->bytes); i++)
		if (answer->bytes[i] != CANARY)
			lab_note(__FILE__, __LINE__, "byte %zu behind an answer of %zu was written",
				 i, len);
}

/* ---- context -------------------------------------------------------------------------- */

static int open_with(const struct uv_data *data)
{
	return uv_get_context(uv_open(self), data);
}

static bool device_has_limits(void)
{
	const struct raw *raw = raw_new(self);

	return raw->context.max_tx_batch || raw->context.min_sq_wr;
}

EFA_TEST(f56_context_request)
{
	struct dvq_efa_ucontext_req req[2] = { { .supported_caps = ALL_USER_CAPS } };
	const size_t size = sizeof(req[0]);

	CHECK_EQ(open_with(UV_IN(req, size)), 0);
	/* shorter is zero-extended, longer only promises more */
	CHECK_EQ(open_with(UV_IN(req, 4)), 0);
	CHECK_EQ(open_with(UV_IN(req, 2 * size)), 0);
	req[1].supported_caps = 1;
	CHECK_EQ(open_with(UV_IN(req, 2 * size)), 0);
	req[0].supported_caps = ~0u;
	CHECK_EQ(open_with(UV_IN(req, size)), 0);
}

EFA_TEST(f56_context_limits_must_be_obeyed)
{
	struct dvq_efa_ucontext_req req = {};
	struct uv_data data = *UV_IN(&req, sizeof(req));
	const struct raw *raw = raw_new(self);
	int log;

	if (!device_has_limits()) {
		CHECK_EQ(open_with(NULL), 0);
		CHECK_EQ(open_with(&data), 0);
		return;
	}
	log = log_open();
	REFUSED(open_with(NULL), EOPNOTSUPP);
	CHECK_EQ(log_count(log, "it needs a newer libefa"), 1);
	REFUSED(open_with(&data), EOPNOTSUPP);
	req.supported_caps = ALL_USER_CAPS & ~DVQ_EFA_USER_TX_BATCH;
	if (raw->context.max_tx_batch)
		REFUSED(open_with(&data), EOPNOTSUPP);
	req.supported_caps = ALL_USER_CAPS & ~DVQ_EFA_USER_MIN_SQ_WR;
	if (raw->context.min_sq_wr)
		REFUSED(open_with(&data), EOPNOTSUPP);
}

EFA_TEST(f56_f64_context_answer)
{
	static const size_t lengths[] = { 4, 20, 24, 32, 64 };
	const struct dvq_efa_ucontext_req req = { .supported_caps = ALL_USER_CAPS };
	const struct raw *raw = raw_new(self);
	struct answer answer;
	struct uv_data data;

	CHECK_EQ(raw->context.comp_mask, 0);
	CHECK_EQ(raw->context.cmds_supp_udata_mask, 3);
	CHECK(raw->context.sub_cqs_per_cq >= 1);
	CHECK(raw->context.inline_buf_size_ex >= raw->context.inline_buf_size);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t known = lengths[i] < sizeof(raw->context) ? lengths[i] : sizeof(raw->context);

		data = answer_of(&answer, &req, sizeof(req), lengths[i]);
		CHECK_EQ(open_with(&data), 0);
		CHECK(!memcmp(&answer, &raw->context, known));
		check_answer(&answer, known, lengths[i]);
	}
}

EFA_TEST(context_answer_that_cannot_be_written)
{
	const struct dvq_efa_ucontext_req req = { .supported_caps = ALL_USER_CAPS };
	struct uv_data data = { &req, sizeof(req), (void *)8, 24 };
	uint64_t uars;

	need_model();
	uars = live("uar");
	CHECK_EQ(open_with(&data), -EFAULT);
	CHECK_EQ(live("uar"), uars);
}

/* field by field and value by value what the kernel's own header says (F-85) */
EFA_TEST(f85_layouts_of_the_stock_abi)
{
#ifdef HAS_STOCK_ABI
	SAME(dvq_efa_ucontext_req, supported_caps, efa_ibv_alloc_ucontext_cmd, supported_caps);
	SAME(dvq_efa_ucontext_req, reserved_20, efa_ibv_alloc_ucontext_cmd, reserved_20);
	SAME_SIZE(dvq_efa_ucontext_req, efa_ibv_alloc_ucontext_cmd);
	SAME(dvq_efa_ucontext_resp, comp_mask, efa_ibv_alloc_ucontext_resp, comp_mask);
	SAME(dvq_efa_ucontext_resp, cmds_supp_udata_mask, efa_ibv_alloc_ucontext_resp,
	     cmds_supp_udata_mask);
	SAME(dvq_efa_ucontext_resp, sub_cqs_per_cq, efa_ibv_alloc_ucontext_resp, sub_cqs_per_cq);
	SAME(dvq_efa_ucontext_resp, inline_buf_size, efa_ibv_alloc_ucontext_resp, inline_buf_size);
	SAME(dvq_efa_ucontext_resp, max_llq_size, efa_ibv_alloc_ucontext_resp, max_llq_size);
	SAME(dvq_efa_ucontext_resp, max_tx_batch, efa_ibv_alloc_ucontext_resp, max_tx_batch);
	SAME(dvq_efa_ucontext_resp, min_sq_wr, efa_ibv_alloc_ucontext_resp, min_sq_wr);
	SAME(dvq_efa_ucontext_resp, inline_buf_size_ex, efa_ibv_alloc_ucontext_resp, inline_buf_size_ex);
	SAME(dvq_efa_ucontext_resp, reserved_b0, efa_ibv_alloc_ucontext_resp, reserved_b0);
	SAME_SIZE(dvq_efa_ucontext_resp, efa_ibv_alloc_ucontext_resp);
	SAME(dvq_efa_device_resp, comp_mask, efa_ibv_ex_query_device_resp, comp_mask);
	SAME(dvq_efa_device_resp, max_sq_wr, efa_ibv_ex_query_device_resp, max_sq_wr);
	SAME(dvq_efa_device_resp, max_rq_wr, efa_ibv_ex_query_device_resp, max_rq_wr);
	SAME(dvq_efa_device_resp, max_sq_sge, efa_ibv_ex_query_device_resp, max_sq_sge);
	SAME(dvq_efa_device_resp, max_rq_sge, efa_ibv_ex_query_device_resp, max_rq_sge);
	SAME(dvq_efa_device_resp, max_rdma_size, efa_ibv_ex_query_device_resp, max_rdma_size);
	SAME(dvq_efa_device_resp, device_caps, efa_ibv_ex_query_device_resp, device_caps);
	SAME_SIZE(dvq_efa_device_resp, efa_ibv_ex_query_device_resp);
	SAME(dvq_efa_pd_resp, comp_mask, efa_ibv_alloc_pd_resp, comp_mask);
	SAME(dvq_efa_pd_resp, pdn, efa_ibv_alloc_pd_resp, pdn);
	SAME(dvq_efa_pd_resp, reserved_30, efa_ibv_alloc_pd_resp, reserved_30);
	SAME_SIZE(dvq_efa_pd_resp, efa_ibv_alloc_pd_resp);
	SAME(dvq_efa_ah_resp, comp_mask, efa_ibv_create_ah_resp, comp_mask);
	SAME(dvq_efa_ah_resp, ah_num, efa_ibv_create_ah_resp, efa_address_handle);
	SAME(dvq_efa_ah_resp, reserved_30, efa_ibv_create_ah_resp, reserved_30);
	SAME_SIZE(dvq_efa_ah_resp, efa_ibv_create_ah_resp);
	SAME(dvq_efa_cq_req, comp_mask, efa_ibv_create_cq, comp_mask);
	SAME(dvq_efa_cq_req, cq_entry_size, efa_ibv_create_cq, cq_entry_size);
	SAME(dvq_efa_cq_req, num_sub_cqs, efa_ibv_create_cq, num_sub_cqs);
	SAME(dvq_efa_cq_req, flags, efa_ibv_create_cq, flags);
	SAME(dvq_efa_cq_req, reserved_58, efa_ibv_create_cq, reserved_58);
	SAME_SIZE(dvq_efa_cq_req, efa_ibv_create_cq);
	SAME(dvq_efa_cq_resp, comp_mask, efa_ibv_create_cq_resp, comp_mask);
	SAME(dvq_efa_cq_resp, reserved_20, efa_ibv_create_cq_resp, reserved_20);
	SAME(dvq_efa_cq_resp, q_mmap_key, efa_ibv_create_cq_resp, q_mmap_key);
	SAME(dvq_efa_cq_resp, q_mmap_size, efa_ibv_create_cq_resp, q_mmap_size);
	SAME(dvq_efa_cq_resp, cq_idx, efa_ibv_create_cq_resp, cq_idx);
	SAME(dvq_efa_cq_resp, reserved_d0, efa_ibv_create_cq_resp, reserved_d0);
	SAME(dvq_efa_cq_resp, db_off, efa_ibv_create_cq_resp, db_off);
	SAME(dvq_efa_cq_resp, db_mmap_key, efa_ibv_create_cq_resp, db_mmap_key);
	SAME_SIZE(dvq_efa_cq_resp, efa_ibv_create_cq_resp);
	SAME(dvq_efa_qp_req, comp_mask, efa_ibv_create_qp, comp_mask);
	SAME(dvq_efa_qp_req, rq_ring_size, efa_ibv_create_qp, rq_ring_size);
	SAME(dvq_efa_qp_req, sq_ring_size, efa_ibv_create_qp, sq_ring_size);
	SAME(dvq_efa_qp_req, driver_qp_type, efa_ibv_create_qp, driver_qp_type);
	SAME(dvq_efa_qp_req, flags, efa_ibv_create_qp, flags);
	SAME(dvq_efa_qp_req, sl, efa_ibv_create_qp, sl);
	SAME(dvq_efa_qp_req, reserved_98, efa_ibv_create_qp, reserved_98);
	SAME_SIZE(dvq_efa_qp_req, efa_ibv_create_qp);
	SAME(dvq_efa_qp_resp, comp_mask, efa_ibv_create_qp_resp, comp_mask);
	SAME(dvq_efa_qp_resp, rq_db_offset, efa_ibv_create_qp_resp, rq_db_offset);
	SAME(dvq_efa_qp_resp, sq_db_offset, efa_ibv_create_qp_resp, sq_db_offset);
	SAME(dvq_efa_qp_resp, llq_desc_offset, efa_ibv_create_qp_resp, llq_desc_offset);
	SAME(dvq_efa_qp_resp, rq_mmap_key, efa_ibv_create_qp_resp, rq_mmap_key);
	SAME(dvq_efa_qp_resp, rq_mmap_size, efa_ibv_create_qp_resp, rq_mmap_size);
	SAME(dvq_efa_qp_resp, rq_db_mmap_key, efa_ibv_create_qp_resp, rq_db_mmap_key);
	SAME(dvq_efa_qp_resp, sq_db_mmap_key, efa_ibv_create_qp_resp, sq_db_mmap_key);
	SAME(dvq_efa_qp_resp, llq_desc_mmap_key, efa_ibv_create_qp_resp, llq_desc_mmap_key);
	SAME(dvq_efa_qp_resp, send_sub_cq_idx, efa_ibv_create_qp_resp, send_sub_cq_idx);
	SAME(dvq_efa_qp_resp, recv_sub_cq_idx, efa_ibv_create_qp_resp, recv_sub_cq_idx);
	SAME(dvq_efa_qp_resp, reserved_1e0, efa_ibv_create_qp_resp, reserved_1e0);
	SAME_SIZE(dvq_efa_qp_resp, efa_ibv_create_qp_resp);
	SAME_VALUE(DVQ_EFA_ABI_VERSION, EFA_UVERBS_ABI_VERSION);
	SAME_VALUE(DVQ_EFA_USER_TX_BATCH, EFA_ALLOC_UCONTEXT_CMD_SUPP_CAPS_TX_BATCH);
	SAME_VALUE(DVQ_EFA_USER_MIN_SQ_WR, EFA_ALLOC_UCONTEXT_CMD_SUPP_CAPS_MIN_SQ_WR);
	SAME_VALUE(DVQ_EFA_CMD_QUERY_DEVICE, EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE);
	SAME_VALUE(DVQ_EFA_CMD_CREATE_AH, EFA_USER_CMDS_SUPP_UDATA_CREATE_AH);
	SAME_VALUE(DVQ_EFA_CQ_CHANNEL, EFA_CREATE_CQ_WITH_COMPLETION_CHANNEL);
	SAME_VALUE(DVQ_EFA_CQ_SGID, EFA_CREATE_CQ_WITH_SGID);
	SAME_VALUE(DVQ_EFA_CQ_RESP_DB, EFA_CREATE_CQ_RESP_DB_OFF);
	SAME_VALUE(DVQ_EFA_QP_SRD, EFA_QP_DRIVER_TYPE_SRD);
	SAME_VALUE(DVQ_EFA_QP_UNSOLICITED, EFA_CREATE_QP_WITH_UNSOLICITED_WRITE_RECV);
	SAME_VALUE(DVQ_EFA_DEVICE_RDMA_READ, EFA_QUERY_DEVICE_CAPS_RDMA_READ);
	SAME_VALUE(DVQ_EFA_DEVICE_RNR_RETRY, EFA_QUERY_DEVICE_CAPS_RNR_RETRY);
	SAME_VALUE(DVQ_EFA_DEVICE_CQ_NOTIFICATIONS, EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS);
	SAME_VALUE(DVQ_EFA_DEVICE_CQ_WITH_SGID, EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID);
	SAME_VALUE(DVQ_EFA_DEVICE_DATA_POLLING_128, EFA_QUERY_DEVICE_CAPS_DATA_POLLING_128);
	SAME_VALUE(DVQ_EFA_DEVICE_RDMA_WRITE, EFA_QUERY_DEVICE_CAPS_RDMA_WRITE);
	SAME_VALUE(DVQ_EFA_DEVICE_UNSOLICITED, EFA_QUERY_DEVICE_CAPS_UNSOLICITED_WRITE_RECV);
	SAME_VALUE(DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM, EFA_QUERY_DEVICE_CAPS_CQ_WITH_EXT_MEM);
	SAME_VALUE(DVQ_EFA_MR_IC_RECV, EFA_QUERY_MR_VALIDITY_RECV_IC_ID);
	SAME_VALUE(DVQ_EFA_MR_IC_RDMA_READ, EFA_QUERY_MR_VALIDITY_RDMA_READ_IC_ID);
	SAME_VALUE(DVQ_EFA_MR_IC_RDMA_RECV, EFA_QUERY_MR_VALIDITY_RDMA_RECV_IC_ID);
	SAME_VALUE(DVQ_EFA_METHOD_MR_QUERY, EFA_IB_METHOD_MR_QUERY);
	SAME_VALUE(DVQ_EFA_ATTR_MR_QUERY_HANDLE, EFA_IB_ATTR_QUERY_MR_HANDLE);
#else
	SKIP("the distribution's <rdma/efa-abi.h> is older than this ABI");
#endif
}

/* by this number a library decides whether it knows the driver (F-84) */
EFA_TEST(f84_abi_number)
{
	char path[512];
	int number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/abi_version",
		 self->device->dev_name);
	file = fopen(path, "r");
	REQUIRE(file);
	CHECK_EQ(fscanf(file, "%d", &number), 1);
	fclose(file);
	CHECK_EQ(number, DVQ_EFA_ABI_VERSION);
}

/* ---- device, PD -------------------------------------------------------------------------- */

EFA_TEST(query_device)
{
	const struct raw *raw = raw_new(self);
	uint32_t zero[4] = {}, one[4] = { [3] = 1 };
	struct answer answer;
	struct uv_data data;
	uint32_t caps = 0;

	REFUSED(raw_query_device(raw->fd, UV_IN(one, sizeof(one))), EOPNOTSUPP);
	CHECK_EQ(raw_query_device(raw->fd, UV_IN(zero, sizeof(zero))), 0);
	data = answer_of(&answer, NULL, 0, 40);
	CHECK_EQ(raw_query_device(raw->fd, &data), 0);
	check_answer(&answer, sizeof(raw->device), 40);

	/* the library's own names for the same bits */
	if (raw->device.device_caps & DVQ_EFA_DEVICE_RDMA_READ)
		caps |= EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	if (raw->device.device_caps & DVQ_EFA_DEVICE_RDMA_WRITE)
		caps |= EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	CHECK_EQ(self->efa.device_caps &
		 (EFADV_DEVICE_ATTR_CAPS_RDMA_READ | EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE), caps);
	CHECK_EQ(raw->device.max_sq_wr, self->efa.max_sq_wr);
	CHECK_EQ(raw->device.max_rq_wr, self->efa.max_rq_wr);
	CHECK_EQ(raw->device.max_rdma_size, self->efa.max_rdma_size);
}

/* of libibverbs that have it */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
	__attribute__((weak));

/* The same without the library. The numbers are in the uapi headers of Linux 7.2. */
static int query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed)
{
	enum { METHOD = 7, PORT_NUM = 0, RESP = 1 };
	struct uv_call call;

	if (ibv_query_port_speed)
		return ibv_query_port_speed(context, port, speed);
	uv_start(&call, UVERBS_OBJECT_DEVICE, METHOD);
	uv_const(&call, PORT_NUM, port);
	uv_out(&call, RESP, speed, sizeof(*speed));
	return -uv_run(context->cmd_fd, &call);
}

/* in 100 Mb/s, as the device has it; the pair of lanes and speed is the next below */
EFA_TEST(f62_port_speed)
{
	unsigned int rate = 0;
	uint64_t speed = 0;
	char path[512];
	FILE *file;
	int err;

	err = query_port_speed(self->context, 1, &speed);
	if (err == EOPNOTSUPP || err == EPROTONOSUPPORT)
		SKIP("the kernel has no such question");
	REQUIRE(!err);
	snprintf(path, sizeof(path), "%.400s/ports/1/rate", self->device->ibdev_path);
	file = fopen(path, "r");
	REQUIRE(file);
	CHECK_EQ(fscanf(file, "%u", &rate), 1);
	fclose(file);
	CHECK(speed >= 10 * rate);
	/* the models' speeds are such pairs */
	if (self->model[0])
		CHECK_EQ(speed, 10 * rate);
}

EFA_TEST(pd)
{
	const struct raw *raw = raw_new(self);
	uint32_t zero[4] = {}, one[4] = { [2] = 1 }, pd;
	struct dvq_efa_pd_resp *resp;
	struct answer answer;
	struct uv_data data;

	REFUSED(raw_pd(raw, UV_IN(one, sizeof(one)), &pd), EOPNOTSUPP);
	CHECK_EQ(raw_pd(raw, UV_IN(zero, sizeof(zero)), &pd), 0);
	CHECK_EQ(raw_pd_destroy(raw, pd), 0);

	data = answer_of(&answer, NULL, 0, 16);
	CHECK_EQ(raw_pd(raw, &data, &pd), 0);
	check_answer(&answer, sizeof(*resp), 16);
	resp = (struct dvq_efa_pd_resp *)&answer;
	CHECK_EQ(resp->comp_mask, 0);
	CHECK(resp->pdn != raw->pdn);
	CHECK_EQ(raw_pd_destroy(raw, pd), 0);

	if (self->model[0]) {
		uint64_t pds = live("pd");

		CHECK_EQ(raw_pd(raw, UV_OUT((void *)8, 8), &pd),
			 -EFAULT);
		CHECK_EQ(live("pd"), pds);
	}
}

/* ---- CQ ---------------------------------------------------------------------------------- */

static int try_cq(const struct raw *raw, uint32_t cqe, const void *req, size_t len)
{
	uint32_t cq;

	return raw_cq(raw, cqe, UV_IN(req, len), &cq);
}

/* Makes and destroys it. */
static int cq_works(const struct raw *raw, uint32_t cqe, const void *req, size_t len)
{
	uint32_t cq;
	int err;

	err = raw_cq(raw, cqe, UV_IN(req, len), &cq);
	return err ? err : raw_cq_destroy(raw, cq);
}

EFA_TEST(f66_cq_request_length)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req[2] = { raw_cq_req(raw) };
	uint32_t cq;

	REFUSED(raw_cq(raw, 64, NULL, &cq), EINVAL);
	REFUSED(try_cq(raw, 64, req, 8), EINVAL);
	CHECK_EQ(cq_works(raw, 64, req, 10), 0);
	CHECK_EQ(cq_works(raw, 64, req, sizeof(req[0])), 0);
	CHECK_EQ(cq_works(raw, 64, req, sizeof(req)), 0);
	req[1].flags = 1;
	REFUSED(try_cq(raw, 64, req, sizeof(req)), EOPNOTSUPP);
}

#define CQ_REFUSED(member, value, error)					\
	do {									\
		struct dvq_efa_cq_req req_ = raw_cq_req(raw);			\
		req_.member = value;						\
		REFUSED(try_cq(raw, 64, &req_, sizeof(req_)), error);		\
	} while (0)

EFA_TEST(f30_cq_request)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct uv_data data = *UV_IN(&req, sizeof(req));
	struct uv_call call;

	CQ_REFUSED(comp_mask, 1, EOPNOTSUPP);
	CQ_REFUSED(cq_entry_size, 0, EINVAL);
	CQ_REFUSED(cq_entry_size, 8, EINVAL);
	CQ_REFUSED(cq_entry_size, 64, EINVAL);
	CQ_REFUSED(num_sub_cqs, 0, EINVAL);
	CQ_REFUSED(num_sub_cqs, req.num_sub_cqs + 1, EINVAL);
	CQ_REFUSED(flags, 1 << 3, EOPNOTSUPP);
	CQ_REFUSED(flags, 1 << 7, EOPNOTSUPP);
	CQ_REFUSED(reserved_58[0], 1, EINVAL);
	CQ_REFUSED(reserved_58[4], 1, EINVAL);
	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_64BIT_IDS))
		CQ_REFUSED(flags, DVQ_EFA_CQ_64BIT_IDS, EOPNOTSUPP);
	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_CQ_NOTIFICATIONS))
		CQ_REFUSED(flags, DVQ_EFA_CQ_CHANNEL, EOPNOTSUPP);

	/* flags of the verbs */
	raw_cq_start(&call, 64, &data);
	uv_const(&call, UVERBS_ATTR_CREATE_CQ_FLAGS, IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION);
	REFUSED(uv_run(raw->fd, &call), EOPNOTSUPP);

	/* the sender's address takes 32 bytes */
	req.flags = DVQ_EFA_CQ_SGID;
	CHECK_EQ(cq_works(raw, 64, &req, sizeof(req)), 0);
	req.cq_entry_size = 16;
	REFUSED(try_cq(raw, 64, &req, sizeof(req)), EINVAL);
	req.flags = 0;
	CHECK_EQ(cq_works(raw, 64, &req, sizeof(req)), 0);
}

EFA_TEST(cq_depth)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	uint32_t max = self->attr.max_cqe;

	REFUSED(try_cq(raw, 0, &req, sizeof(req)), EINVAL);
	REFUSED(try_cq(raw, 63, &req, sizeof(req)), EINVAL);
	REFUSED(try_cq(raw, 2 * max, &req, sizeof(req)), EINVAL);
	/* what 16 bits cannot carry must not become something small */
	REFUSED(try_cq(raw, 65536, &req, sizeof(req)), EINVAL);
	REFUSED(try_cq(raw, 1u << 31, &req, sizeof(req)), EINVAL);
	CHECK_EQ(cq_works(raw, 1, &req, sizeof(req)), 0);
	CHECK_EQ(cq_works(raw, 1024, &req, sizeof(req)), 0);
}

EFA_TEST(f64_cq_answer)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct dvq_efa_cq_resp *resp;
	struct answer answer;
	struct uv_data data = answer_of(&answer, &req, sizeof(req), 64);
	uint64_t value;
	uint32_t cq;

	CHECK_EQ(raw_cq(raw, 1024, &data, &cq), 0);
	check_answer(&answer, sizeof(*resp), 64);
	resp = (struct dvq_efa_cq_resp *)&answer;
	CHECK(resp->q_mmap_key);
	CHECK_EQ(resp->q_mmap_size, 1024 * 32 * req.num_sub_cqs);
	if (resp->comp_mask & DVQ_EFA_CQ_RESP_DB) {
		CHECK(resp->db_mmap_key && resp->db_mmap_key != resp->q_mmap_key);
		CHECK(resp->db_off < PAGE && resp->db_off % 4 == 0);
	} else {
		CHECK_EQ(resp->db_mmap_key, 0);
	}
	if (self->model[0]) {
		const char *text = model_ask(self->model, "cq %u", resp->cq_idx);

		CHECK(model_find(text, "depth", &value) && value == 1024);
		CHECK(model_find(text, "entry", &value) && value == 32);
	}
	CHECK_EQ(raw_cq_destroy(raw, cq), 0);
}

/* What was made for an answer that cannot be given is taken back. */
EFA_TEST(f52_f64_cq_answer_that_cannot_be_written)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req req = raw_cq_req(raw);
	struct uv_data bad = { &req, sizeof(req), (void *)8, 40 }, good = *UV_IN(&req, sizeof(req));
	struct uv_call call;
	uint64_t before;
	uint32_t cq;

	need_model();
	before = live("cq");
	CHECK_EQ(raw_cq(raw, 64, &bad, &cq), -EFAULT);
	CHECK_EQ(live("cq"), before);

	/* the core's own answer: it destroys the CQ while our request is still around */
	raw_cq_start(&call, 64, &good);
	uv_to_nowhere(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
	CHECK_EQ(uv_run(raw->fd, &call), -EFAULT);
	CHECK_EQ(live("cq"), before);
}

/* ---- mappings ------------------------------------------------------------------------------ */

/* 0 or a negative errno */
static int try_mmap(int fd, uint64_t key, size_t length, int prot, int flags)
{
	void *p = mmap(NULL, length, prot, flags, fd, key);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, length);
	return 0;
}

EFA_TEST(f61_mmap_rules)
{
	const struct raw *raw = raw_new(self), *other = raw_new(self);
	struct dvq_efa_qp_resp qp;
	struct dvq_efa_cq_resp cq;
	uint64_t before = 0, after = 0;
	uint32_t cq_handle = raw_cq_new(raw, &cq), qp_num;
	struct raw_qp usual = raw_qp_usual(raw, cq_handle);
	size_t llq;
	void *p;

	usual.req.rq_ring_size = 2 * PAGE;
	raw_qp_new(raw, &usual, &qp, &qp_num);
	llq = (qp.llq_desc_offset + usual.req.sq_ring_size + PAGE - 1) / PAGE * PAGE;
	CHECK_EQ(try_mmap(raw->fd, qp.llq_desc_mmap_key, llq, PROT_WRITE, MAP_SHARED), 0);
	/* it may be read, as any store buffer of the device: the device answers with zeros */
	CHECK_EQ(try_mmap(raw->fd, qp.llq_desc_mmap_key, llq, PROT_READ, MAP_SHARED), 0);
	CHECK_EQ(try_mmap(raw->fd, qp.sq_db_mmap_key, PAGE, PROT_WRITE, MAP_SHARED), 0);
	CHECK_EQ(try_mmap(raw->fd, qp.rq_db_mmap_key, PAGE, PROT_WRITE, MAP_SHARED), 0);
	CHECK_EQ(try_mmap(raw->fd, qp.rq_mmap_key, qp.rq_mmap_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED), 0);
	CHECK_EQ(try_mmap(raw->fd, cq.q_mmap_key, cq.q_mmap_size, PROT_READ, MAP_SHARED), 0);

	sleep_ms(25);
	CHECK(adapter_counter(self, false, "mmap_err", &before));
	CHECK_EQ(try_mmap(raw->fd, cq.q_mmap_key, cq.q_mmap_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED), -EPERM);
	CHECK_EQ(try_mmap(raw->fd, cq.q_mmap_key, cq.q_mmap_size, PROT_READ, MAP_PRIVATE), -EINVAL);
	CHECK_EQ(try_mmap(raw->fd, cq.q_mmap_key, cq.q_mmap_size + PAGE, PROT_READ, MAP_SHARED),
		 -EINVAL);
	CHECK_EQ(try_mmap(raw->fd, qp.sq_db_mmap_key, 2 * PAGE, PROT_WRITE, MAP_SHARED), -EINVAL);
	CHECK_EQ(try_mmap(raw->fd, 0, PAGE, PROT_WRITE, MAP_SHARED), -EINVAL);
	/* from its second page on */
	CHECK_EQ(try_mmap(raw->fd, qp.rq_mmap_key + PAGE, qp.rq_mmap_size - PAGE, PROT_READ,
			  MAP_SHARED), -EINVAL);
	CHECK_EQ(try_mmap(raw->fd, cq.q_mmap_key, cq.q_mmap_size, PROT_READ | PROT_EXEC, MAP_SHARED),
		 -EPERM);
	CHECK_EQ(try_mmap(other->fd, qp.sq_db_mmap_key, PAGE, PROT_WRITE, MAP_SHARED), -EINVAL);
	sleep_ms(25);
	CHECK(adapter_counter(self, false, "mmap_err", &after));
	CHECK_EQ(after - before, 8);

	/* a ring of completions cannot be made writable later */
	p = mmap(NULL, cq.q_mmap_size, PROT_READ, MAP_SHARED, raw->fd, cq.q_mmap_key);
	REQUIRE(p != MAP_FAILED);
	CHECK_EQ(mprotect(p, cq.q_mmap_size, PROT_READ | PROT_WRITE) ? errno : 0, EACCES);
	munmap(p, cq.q_mmap_size);
}

/* ---- QP ------------------------------------------------------------------------------------ */

static int try_qp(const struct raw *raw, const struct raw_qp *qp)
{
	uint32_t handle;

	return raw_qp_create(raw, qp, &handle);
}

static int qp_works(const struct raw *raw, const struct raw_qp *qp)
{
	uint32_t handle;
	int err;

	err = raw_qp_create(raw, qp, &handle);
	return err ? err : raw_qp_destroy(raw, handle);
}

#define QP_REFUSED(member, value, error)					\
	do {									\
		struct raw_qp qp_ = raw_qp_usual(raw, cq);			\
		qp_.member = value;						\
		REFUSED(try_qp(raw, &qp_), error);				\
	} while (0)

EFA_TEST(f66_qp_request_length)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp resp;
	uint32_t cq = raw_cq_new(raw, &resp), handle;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct dvq_efa_qp_req req[2] = { usual.req };

	REFUSED(raw_qp_data(raw, &usual, NULL, &handle), EINVAL);
	REFUSED(raw_qp_data(raw, &usual, UV_IN(req, 12), &handle), EINVAL);
	CHECK_EQ(raw_qp_data(raw, &usual, UV_IN(req, 16), &handle), 0);
	CHECK_EQ(raw_qp_destroy(raw, handle), 0);
	CHECK_EQ(raw_qp_data(raw, &usual, UV_IN(req, sizeof(req)), &handle), 0);
	CHECK_EQ(raw_qp_destroy(raw, handle), 0);
	req[1].flags = 1;
	REFUSED(raw_qp_data(raw, &usual, UV_IN(req, sizeof(req)), &handle),
		EOPNOTSUPP);
}

EFA_TEST(f30_qp_request)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp resp;
	uint32_t cq = raw_cq_new(raw, &resp);
	struct raw_qp usual = raw_qp_usual(raw, cq);

	CHECK_EQ(qp_works(raw, &usual), 0);
	QP_REFUSED(req.comp_mask, 1, EOPNOTSUPP);
	QP_REFUSED(req.driver_qp_type, 1, EOPNOTSUPP);
	QP_REFUSED(req.flags, 1 << 2, EOPNOTSUPP);
	QP_REFUSED(req.flags, 1 << 15, EOPNOTSUPP);
	QP_REFUSED(req.reserved_98[0], 1, EINVAL);
	QP_REFUSED(req.reserved_98[4], 1, EINVAL);
	QP_REFUSED(type, IB_UVERBS_QPT_RC, EOPNOTSUPP);
	QP_REFUSED(type, IB_UVERBS_QPT_UC, EOPNOTSUPP);
	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_UNSOLICITED))
		QP_REFUSED(req.flags, DVQ_EFA_QP_UNSOLICITED, EOPNOTSUPP);
	if (!(raw->device.device_caps & DVQ_EFA_DEVICE_64BIT_IDS))
		QP_REFUSED(req.flags, DVQ_EFA_QP_64BIT_IDS, EOPNOTSUPP);
	QP_REFUSED(cap.max_send_sge, raw->device.max_sq_sge + 1, EINVAL);
	QP_REFUSED(cap.max_recv_sge, raw->device.max_rq_sge + 1, EINVAL);
	QP_REFUSED(cap.max_inline_data, raw->context.inline_buf_size_ex + 1, EINVAL);
	/* what a 64-byte entry has no room for */
	QP_REFUSED(cap.max_inline_data, 33, EINVAL);

	usual.type = IB_UVERBS_QPT_UD;
	usual.req.driver_qp_type = 7;	/* of no meaning here */
	CHECK_EQ(qp_works(raw, &usual), 0);
}

/* every level goes to the device as it is; one that it refuses is the user's mistake */
EFA_TEST(f44_service_level)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), qp_num, handle;
	struct raw_qp qp = raw_qp_usual(raw, cq);
	struct dvq_efa_qp_resp resp;
	uint64_t value;

	need_model();
	for (unsigned int sl = 0; sl < 256; sl += sl < 8 ? 1 : 49) {
		qp.req.sl = sl;
		handle = raw_qp_new(raw, &qp, &resp, &qp_num);
		CHECK(model_find(model_ask(self->model, "qp %u", qp_num), "sl", &value) &&
		      value == sl);
		CHECK_EQ(raw_qp_destroy(raw, handle), 0);
	}
	/* 5: a parameter that is not valid */
	model_ask(self->model, "inject op=create_qp action=fail status=5");
	CHECK_EQ(try_qp(raw, &qp), -EINVAL);
	/* a request from before there were levels */
	CHECK_EQ(raw_qp_data(raw, &qp, UV_IN(&qp.req, 16), &handle), 0);
	CHECK_EQ(raw_qp_destroy(raw, handle), 0);
}

static int sq_of(const struct raw *raw, uint32_t cq, uint32_t depth, uint32_t bytes)
{
	struct raw_qp qp = raw_qp_usual(raw, cq);

	qp.cap.max_send_wr = depth;
	qp.req.sq_ring_size = bytes;
	return qp_works(raw, &qp);
}

EFA_TEST(f04_f51_qp_send_ring)
{
	const struct raw *raw = raw_new(self);
	uint32_t llq = raw->context.max_llq_size, max = raw->device.max_sq_wr;
	uint32_t wide = llq / 128 < max ? llq / 128 : max;
	struct dvq_efa_cq_resp resp;
	uint32_t cq = raw_cq_new(raw, &resp);

	REFUSED(sq_of(raw, cq, 0, 64), EINVAL);
	REFUSED(sq_of(raw, cq, 64, 0), EINVAL);
	REFUSED(sq_of(raw, cq, 64, 64 * 64 + 1), EINVAL);
	REFUSED(sq_of(raw, cq, 64, 64 * 32), EINVAL);
	REFUSED(sq_of(raw, cq, 64, 64 * 96), EINVAL);
	REFUSED(sq_of(raw, cq, 64, 64 * 256), EINVAL);
	REFUSED(sq_of(raw, cq, 96, 96 * 64), EINVAL);
	REFUSED(sq_of(raw, cq, 2 * max, 2 * max * 64), EINVAL);
	/* twice the entry size may be half the depth */
	REFUSED(sq_of(raw, cq, 2 * wide, 2 * wide * 128), EINVAL);
	/* bytes that only fit when a product is cut to 32 bits */
	REFUSED(sq_of(raw, cq, 1u << 26, 0), EINVAL);
	if (raw->context.min_sq_wr > 1)
		REFUSED(sq_of(raw, cq, raw->context.min_sq_wr / 2, raw->context.min_sq_wr * 32),
			EINVAL);
	CHECK_EQ(sq_of(raw, cq, max, max * 64), 0);
	/* nothing else tells which devices have such entries; F-04: they must fit a batch */
	if (raw->context.max_tx_batch == 1)
		REFUSED(sq_of(raw, cq, wide, wide * 128), EOPNOTSUPP);
	else if (raw->context.inline_buf_size_ex > 32)
		CHECK_EQ(sq_of(raw, cq, wide, wide * 128), 0);
	CHECK_EQ(sq_of(raw, cq, 0, 0), 0);
}

static int rq_of(const struct raw *raw, uint32_t cq, uint32_t wrs, uint32_t sges, uint32_t bytes)
{
	struct raw_qp qp = raw_qp_usual(raw, cq);

	qp.cap.max_recv_wr = wrs;
	qp.cap.max_recv_sge = sges;
	qp.req.rq_ring_size = bytes;
	return qp_works(raw, &qp);
}

EFA_TEST(qp_receive_ring)
{
	const struct raw *raw = raw_new(self);
	uint32_t max = raw->device.max_rq_wr;
	struct dvq_efa_cq_resp resp;
	uint32_t cq = raw_cq_new(raw, &resp);

	REFUSED(rq_of(raw, cq, 16, 1, 0), EINVAL);
	REFUSED(rq_of(raw, cq, 16, 1, 15 * 16), EINVAL);
	REFUSED(rq_of(raw, cq, 16, 1, 17 * 16), EINVAL);
	REFUSED(rq_of(raw, cq, 16, 1, 16 * 16 + 8), EINVAL);
	REFUSED(rq_of(raw, cq, 17, 1, 16 * 16), EINVAL);
	REFUSED(rq_of(raw, cq, 9, 2, 16 * 16), EINVAL);
	REFUSED(rq_of(raw, cq, 16, 1, 2 * max * 16), EINVAL);
	REFUSED(rq_of(raw, cq, 1u << 31, 2, 16 * 16), EINVAL);
	CHECK_EQ(rq_of(raw, cq, 8, 2, 16 * 16), 0);
	CHECK_EQ(rq_of(raw, cq, max, 1, max * 16), 0);
	/* as the library asks when there shall be no receives */
	CHECK_EQ(rq_of(raw, cq, 0, 2, 16), 0);
	CHECK_EQ(rq_of(raw, cq, 0, 0, 0), 0);
}

EFA_TEST(f64_qp_answer)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), qp_num, handle;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct dvq_efa_qp_resp *resp;
	struct answer answer;
	struct uv_data data = answer_of(&answer, &usual.req, sizeof(usual.req), 96);
	struct uv_call call;

	raw_qp_start(&call, raw, &usual, &data, &qp_num);
	REQUIRE(uv_run(raw->fd, &call) == 0);
	check_answer(&answer, sizeof(*resp), 96);
	resp = (struct dvq_efa_qp_resp *)&answer;
	CHECK_EQ(resp->comp_mask, 0);
	CHECK(resp->llq_desc_mmap_key && resp->sq_db_mmap_key);
	CHECK(resp->rq_mmap_key && resp->rq_db_mmap_key);
	CHECK_EQ(resp->rq_mmap_size, PAGE);
	CHECK(resp->sq_db_offset < PAGE && resp->rq_db_offset < PAGE);
	CHECK(resp->llq_desc_offset < PAGE);
	CHECK(resp->send_sub_cq_idx < raw->context.sub_cqs_per_cq);
	CHECK(resp->recv_sub_cq_idx < raw->context.sub_cqs_per_cq);

	/* without a receive queue there is nothing to map of it */
	usual.cap.max_recv_wr = usual.req.rq_ring_size = 0;
	handle = raw_qp_new(raw, &usual, resp, &qp_num);
	CHECK_EQ(resp->rq_mmap_key, 0);
	CHECK_EQ(resp->rq_mmap_size, 0);
	CHECK_EQ(resp->rq_db_mmap_key, 0);
	CHECK_EQ(raw_qp_destroy(raw, handle), 0);
}

EFA_TEST(qp_answer_that_cannot_be_written)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), handle;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct uv_data bad = { &usual.req, sizeof(usual.req), (void *)8, 64 };
	struct uv_data good = *UV_IN(&usual.req, sizeof(usual.req));
	struct uv_call call;
	uint64_t before;

	need_model();
	before = live("qp");
	CHECK_EQ(raw_qp_data(raw, &usual, &bad, &handle), -EFAULT);
	CHECK_EQ(live("qp"), before);

	/* the core's own answer: it destroys the QP while our request is still around */
	raw_qp_start(&call, raw, &usual, &good, (uint32_t *)8);
	CHECK_EQ(uv_run(raw->fd, &call), -EFAULT);
	CHECK_EQ(live("qp"), before);
	CHECK_EQ(raw_cq_destroy(raw, cq), 0);
}

/*
 * Nor can the adapter be done with it at once: nobody is left to try again, so the driver does. What the
 * core could not undo it would warn of, and keep.
 */
EFA_TEST(answer_that_cannot_be_written_and_a_refusal)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_req cq_req = raw_cq_req(raw);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp);
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct model_stats before;
	struct uv_call call;

	need_model();
	if (!self->dvq)
		SKIP("is about dvq_efa");
	model_stats(self->model, &before);
	model_ask(self->model, "inject op=destroy_qp action=fail status=7");
	raw_qp_start(&call, raw, &usual, UV_IN(&usual.req, sizeof(usual.req)), (uint32_t *)8);
	CHECK_EQ(uv_run(raw->fd, &call), -EFAULT);
	model_ask(self->model, "inject op=destroy_cq action=fail status=7");
	raw_cq_start(&call, 64, UV_IN(&cq_req, sizeof(cq_req)));
	uv_to_nowhere(&call, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
	CHECK_EQ(uv_run(raw->fd, &call), -EFAULT);
	model_ask(self->model, "inject op=dereg_mr action=fail status=7");
	CHECK_EQ(raw_mr(raw, before.text, 64, (uintptr_t)before.text, 0, NULL, (void *)8), -EFAULT);
	CHECK_STR(model_ask(self->model, "inject list"), "");
	adapter_expect_objects(self, &before);
	CHECK_EQ(raw_cq_destroy(raw, cq), 0);
}

/* Rings in memory of the creator (Linux 7.2): not had, and not passed over either. Older kernels know none. */
EFA_TEST(qp_memory_of_the_creator)
{
	static uint8_t ring[PAGE] __attribute__((aligned(4096)));
	/* struct ib_uverbs_buffer_desc: an address */
	const struct { uint32_t type, fd, flags, optional_flags; uint64_t addr, length; } desc = {
		.type = 1, .addr = (uintptr_t)ring, .length = sizeof(ring),
	};
	/* UVERBS_ATTR_CREATE_QP_BUF_UMEM, _RQ_BUF_UMEM, _SQ_BUF_UMEM */
	enum { FIRST = 15, LAST = 17 };
	const struct raw *raw = raw_new(self);
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), qp_num;
	struct raw_qp usual = raw_qp_usual(raw, cq);
	struct uv_data data = { &usual.req, sizeof(usual.req), &resp, sizeof(resp) };
	struct uv_call call;

	for (uint16_t attr = FIRST; attr <= LAST; attr++) {
		uint64_t before = commands();
		int err;

		raw_qp_start(&call, raw, &usual, &data, &qp_num);
		uv_in(&call, attr, &desc, sizeof(desc));
		err = uv_run(raw->fd, &call);
		CHECK(err == -EOPNOTSUPP || err == -EPROTONOSUPPORT);
		CHECK_EQ(commands() - before, 0);
	}
}

/* ---- modify QP ----------------------------------------------------------------------------- */

enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR, STATES };

#define CUR	IBV_QP_CUR_STATE
#define NOTIFY	IBV_QP_EN_SQD_ASYNC_NOTIFY
#define PKEY	IBV_QP_PKEY_INDEX
#define PORT	IBV_QP_PORT
#define QKEY	IBV_QP_QKEY
#define PSN	IBV_QP_SQ_PSN
#define RNR	IBV_QP_RNR_RETRY

/* The changes that exist; to RESET and ERR without more from everywhere but RESET to ERR. */
static const struct change {
	int from, to, required, optional;
} changes[] = {
	{ RESET, INIT, PKEY | PORT | QKEY, 0 },
	{ INIT, INIT, 0, PKEY | PORT | QKEY },
	{ INIT, RTR, 0, PKEY | QKEY },
	{ RTR, RTS, PSN, CUR | QKEY | RNR },
	{ RTS, RTS, 0, CUR | QKEY },
	{ RTS, SQD, 0, NOTIFY },
	{ SQD, SQD, 0, PKEY | QKEY },
	{ SQD, RTS, 0, CUR | QKEY },
	{ RESET, RESET, 0, 0 }, { INIT, RESET, 0, 0 }, { RTR, RESET, 0, 0 }, { RTS, RESET, 0, 0 },
	{ SQD, RESET, 0, 0 }, { ERR, RESET, 0, 0 },
	{ INIT, ERR, 0, 0 }, { RTR, ERR, 0, 0 }, { RTS, ERR, 0, 0 }, { SQD, ERR, 0, 0 },
	{ ERR, ERR, 0, 0 },
};

static const struct change *find_change(int from, int to)
{
	for (unsigned int i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].from == from && changes[i].to == to)
			return &changes[i];
	return NULL;
}

static bool has_rnr_retry(const struct raw *raw)
{
	return raw->device.device_caps & DVQ_EFA_DEVICE_RNR_RETRY;
}

static int modify(const struct raw *raw, uint32_t qp, int mask, int to, int cur)
{
	struct ib_uverbs_modify_qp attr = {
		.attr_mask = mask, .qp_state = to, .cur_qp_state = cur, .port_num = 1,
		.qkey = 0x1234, .sq_psn = 7, .rnr_retry = 3, .en_sqd_async_notify = 1,
	};

	return raw_qp_modify(raw, qp, &attr, NULL);
}

/* From RESET to @state by the usual way. */
static void walk_to(const struct raw *raw, uint32_t qp, int state)
{
	static const int ways[STATES][4] = {
		[INIT] = { INIT }, [RTR] = { INIT, RTR }, [RTS] = { INIT, RTR, RTS },
		[SQD] = { INIT, RTR, RTS, SQD }, [ERR] = { INIT, ERR },
	};
	int now = RESET;

	for (int i = 0; i < 4 && ways[state][i]; i++) {
		const struct change *change = find_change(now, ways[state][i]);

		now = ways[state][i];
		LAB_NEED(!modify(raw, qp, IBV_QP_STATE | change->required, now, 0),
			 "cannot get to state %d", now);
	}
}

static int expected(const struct raw *raw, uint32_t type, int from, int to, int mask)
{
	const struct change *change = find_change(from, to);
	int optional = change ? change->optional : 0;

	if (mask & RNR && !has_rnr_retry(raw))
		return -EOPNOTSUPP;
	if (!change)
		return -EINVAL;
	if (type == IB_UVERBS_QPT_UD)
		optional &= ~RNR;
	if ((mask & change->required) != change->required ||
	    mask & ~(change->required | optional))
		return -EINVAL;
	return 0;
}

/* One attempt; a QP that has changed is brought back to @from. */
static void try_change(const struct raw *raw, uint32_t qp, uint32_t type, int from, int to,
		       int mask)
{
	uint64_t before = commands();
	int want = expected(raw, type, from, to, mask);
	int have = modify(raw, qp, IBV_QP_STATE | mask, to, from);
	uint64_t sent = commands() - before;

	if (have != want || sent != (want ? 0 : 1))
		lab_note(__FILE__, __LINE__,
			 "%d to %d with 0x%x: %d, wanted %d, and %llu commands", from, to, mask,
			 have, want, (unsigned long long)sent);
	if (!have && from != to) {
		LAB_NEED(to == RESET || !modify(raw, qp, IBV_QP_STATE, RESET, 0), "no reset");
		walk_to(raw, qp, from);
	}
}

static void try_all(const struct raw *raw, uint32_t type)
{
	static const int attrs[] = { CUR, NOTIFY, PKEY, PORT, QKEY, PSN, RNR };
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	uint32_t qp, qp_num;

	usual.type = type;
	for (int from = RESET; from < STATES; from++) {
		if (from == SQE)	/* only a device gets there */
			continue;
		qp = raw_qp_new(raw, &usual, &qp_resp, &qp_num);
		walk_to(raw, qp, from);
		for (int to = RESET; to < STATES; to++) {
			const struct change *change = find_change(from, to);
			int required = change ? change->required : 0;

			try_change(raw, qp, type, from, to, required);
			for (unsigned int i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
				try_change(raw, qp, type, from, to, required ^ attrs[i]);
		}
		CHECK_EQ(raw_qp_destroy(raw, qp), 0);
	}
}

EFA_TEST(f55_modify_qp_srd)
{
	try_all(raw_new(self), IB_UVERBS_QPT_DRIVER);
}

EFA_TEST(f55_modify_qp_ud)
{
	try_all(raw_new(self), IB_UVERBS_QPT_UD);
}

EFA_TEST(f55_modify_qp_values)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_modify_qp attr = { .attr_mask = IBV_QP_STATE | PKEY | PORT | QKEY,
					    .qp_state = INIT, .port_num = 1, .qkey = 0xabcd };
	struct dvq_efa_cq_resp cq_resp;
	struct dvq_efa_qp_resp qp_resp;
	struct raw_qp usual = raw_qp_usual(raw, raw_cq_new(raw, &cq_resp));
	struct ib_uverbs_query_qp_resp query;
	uint32_t one[2] = { 1 }, qp_num;
	uint32_t qp = raw_qp_new(raw, &usual, &qp_resp, &qp_num);

	attr.pkey_index = 1;
	REFUSED(raw_qp_modify(raw, qp, &attr, NULL), EOPNOTSUPP);
	attr.pkey_index = 0;
	REFUSED(raw_qp_modify(raw, qp, &attr, UV_IN(one, sizeof(one))), EOPNOTSUPP);
	attr.attr_mask |= IBV_QP_PATH_MTU;
	REFUSED(raw_qp_modify(raw, qp, &attr, NULL), EOPNOTSUPP);
	attr.attr_mask = IBV_QP_STATE | PKEY | PORT | QKEY | IBV_QP_ACCESS_FLAGS;
	REFUSED(raw_qp_modify(raw, qp, &attr, NULL), EOPNOTSUPP);
	attr.attr_mask = IBV_QP_STATE | PKEY | PORT | QKEY;
	CHECK_EQ(raw_qp_modify(raw, qp, &attr, NULL), 0);

	/* nothing in it for the device */
	attr.attr_mask = PKEY | PORT;
	REFUSED(raw_qp_modify(raw, qp, &attr, NULL), 0);
	CHECK_EQ(modify(raw, qp, IBV_QP_STATE, RTR, 0), 0);
	attr = (struct ib_uverbs_modify_qp){ .attr_mask = IBV_QP_STATE | PSN | RNR,
					     .qp_state = RTS, .sq_psn = 99, .rnr_retry = 8 };
	if (has_rnr_retry(raw)) {
		REFUSED(raw_qp_modify(raw, qp, &attr, NULL), EINVAL);
		attr.rnr_retry = 7;
	} else {
		REFUSED(raw_qp_modify(raw, qp, &attr, NULL), EOPNOTSUPP);
		attr.attr_mask &= ~RNR;
		attr.rnr_retry = 0;
	}
	CHECK_EQ(raw_qp_modify(raw, qp, &attr, NULL), 0);

	REFUSED(raw_qp_query(raw, qp, IBV_QP_AV, &query), EOPNOTSUPP);
	CHECK_EQ(raw_qp_query(raw, qp, IBV_QP_STATE | IBV_QP_CAP, &query), 0);
	CHECK_EQ(query.qp_state, RTS);
	CHECK_EQ(query.qkey, 0xabcd);
	CHECK_EQ(query.sq_psn, 99);
	CHECK_EQ(query.rnr_retry, attr.rnr_retry);
	CHECK_EQ(query.port_num, 1);
	CHECK_EQ(query.max_send_wr, usual.cap.max_send_wr);
	CHECK_EQ(query.max_recv_wr, usual.cap.max_recv_wr);

	/* a queue key alone is a change without a state */
	attr = (struct ib_uverbs_modify_qp){ .attr_mask = QKEY, .qkey = 0x77 };
	CHECK_EQ(raw_qp_modify(raw, qp, &attr, NULL), 0);
	CHECK_EQ(raw_qp_query(raw, qp, IBV_QP_QKEY, &query), 0);
	CHECK_EQ(query.qkey, 0x77);
	CHECK_EQ(query.qp_state, RTS);
}

/* ---- AH ------------------------------------------------------------------------------------ */

EFA_TEST(ah_request)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	uint32_t one[2] = { 1 }, ah;
	struct dvq_efa_ah_resp *resp;
	struct answer answer;
	struct uv_data data;

	attr.is_global = 0;
	REFUSED(raw_ah(raw, raw->pd, &attr, NULL, &ah), EINVAL);
	attr = raw_ah_attr(&peer->gid);
	attr.grh.sgid_index = 1;
	REFUSED(raw_ah(raw, raw->pd, &attr, NULL, &ah), EINVAL);
	attr = raw_ah_attr(&peer->gid);
	REFUSED(raw_ah(raw, raw->pd, &attr, UV_IN(one, sizeof(one)), &ah),
		EOPNOTSUPP);

	data = answer_of(&answer, NULL, 0, 16);
	CHECK_EQ(raw_ah(raw, raw->pd, &attr, &data, &ah), 0);
	check_answer(&answer, sizeof(*resp), 16);
	resp = (struct dvq_efa_ah_resp *)&answer;
	CHECK(resp->ah_num != 0xffff);
	if (self->model[0])
		model_ask(self->model, "ah %u", resp->ah_num);
	CHECK_EQ(raw_ah_destroy(raw, ah), 0);
}

static uint16_t shared_ah(const struct raw *raw, uint32_t pd, uint32_t *ah)
{
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	struct dvq_efa_ah_resp resp;
	int err;

	err = raw_ah(raw, pd, &attr, UV_OUT(&resp, sizeof(resp)), ah);
	LAB_NEED(!err, "create AH: %s", strerror(-err));
	return resp.ah_num;
}

/* One AH of the device per PD and destination, however many the verbs have. */
EFA_TEST(f46_ah_is_shared)
{
	const struct raw *raw = raw_new(self);
	struct dvq_efa_pd_resp pd_resp;
	uint32_t ah[3], other, pd;
	struct uv_data fault = *UV_OUT((void *)8, 8);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	uint64_t before = commands();
	uint16_t number;

	number = shared_ah(raw, raw->pd, &ah[0]);
	CHECK_EQ(shared_ah(raw, raw->pd, &ah[1]), number);
	CHECK_EQ(shared_ah(raw, raw->pd, &ah[2]), number);
	CHECK_EQ(commands() - before, 1);

	CHECK_EQ(raw_pd(raw, UV_OUT(&pd_resp, sizeof(pd_resp)), &pd),
		 0);
	before = commands();
	shared_ah(raw, pd, &other);
	CHECK_EQ(commands() - before, 1);
	if (self->model[0])
		CHECK_EQ(live("ah"), 2);

	/* an answer that cannot be given costs the others nothing */
	before = commands();
	CHECK_EQ(raw_ah(raw, raw->pd, &attr, &fault, &ah[0]), -EFAULT);
	CHECK_EQ(raw_ah_destroy(raw, ah[1]), 0);
	CHECK_EQ(raw_ah_destroy(raw, ah[2]), 0);
	CHECK_EQ(commands() - before, 0);
}

EFA_TEST(f46_ah_goes_with_its_last_user)
{
	const struct raw *raw = raw_new(self);
	uint32_t first, second;
	uint64_t before, ahs = 1;

	shared_ah(raw, raw->pd, &first);
	shared_ah(raw, raw->pd, &second);
	before = commands();
	CHECK_EQ(raw_ah_destroy(raw, first), 0);
	CHECK_EQ(commands() - before, 0);
	CHECK_EQ(raw_ah_destroy(raw, second), 0);
	CHECK_EQ(commands() - before, 1);
	shared_ah(raw, raw->pd, &first);
	CHECK_EQ(commands() - before, 2);
	CHECK_EQ(raw_ah_destroy(raw, first), 0);
	sleep_ms(25);
	CHECK(adapter_counter(self, false, "ahs", &ahs));
	CHECK_EQ(ahs, 0);
}

/* ---- MR ------------------------------------------------------------------------------------ */

#define RELAXED	IBV_ACCESS_RELAXED_ORDERING

/* access flags and the device's permissions for them */
static const struct {
	uint32_t access, permissions, needs;
} rights[] = {
	{ 0, 0, 0 },
	{ IBV_ACCESS_LOCAL_WRITE, 1, 0 },
	{ IBV_ACCESS_LOCAL_WRITE | RELAXED, 1, 0 },
	{ IBV_ACCESS_REMOTE_READ, 4, DVQ_EFA_DEVICE_RDMA_READ },
	{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 5, DVQ_EFA_DEVICE_RDMA_READ },
	{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 3, DVQ_EFA_DEVICE_RDMA_WRITE },
	{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | RELAXED, 7,
	  DVQ_EFA_DEVICE_RDMA_READ | DVQ_EFA_DEVICE_RDMA_WRITE },
};

static uint8_t page[4 * PAGE] __attribute__((aligned(4096)));

EFA_TEST(f58_mr_rights)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_reg_mr_resp resp;
	uint64_t value;

	memset(page, 1, sizeof(page));
	for (unsigned int i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		uint32_t access = rights[i].access;

		if (rights[i].needs & ~raw->device.device_caps) {
			REFUSED(raw_mr(raw, page, PAGE, 0, access, NULL, &resp), EOPNOTSUPP);
			continue;
		}
		CHECK_EQ(raw_mr(raw, page, PAGE, 0, access, NULL, &resp), 0);
		if (self->model[0]) {
			CHECK(model_find(model_ask(self->model, "mr %u", resp.lkey), "permissions",
					 &value));
			CHECK_EQ(value, rights[i].permissions);
		}
		CHECK_EQ(raw_mr_destroy(raw, resp.mr_handle), 0);
	}
	REFUSED(raw_mr(raw, page, PAGE, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, NULL,
		       &resp), EOPNOTSUPP);
	REFUSED(raw_mr(raw, page, PAGE, 0, IBV_ACCESS_MW_BIND, NULL, &resp), EOPNOTSUPP);
	REFUSED(raw_mr(raw, page, PAGE, 0, IBV_ACCESS_HUGETLB, NULL, &resp), EOPNOTSUPP);
}

EFA_TEST(mr_request)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_reg_mr_resp resp;
	uint32_t one[2] = { 1 }, zero[2] = {};
	uint64_t iova = (uintptr_t)page;
	uint64_t mrs = self->model[0] ? live("mr") : 0;

	REFUSED(raw_mr(raw, page, PAGE, iova, 1, UV_IN(one, sizeof(one)), &resp),
		EOPNOTSUPP);
	CHECK_EQ(raw_mr(raw, page, PAGE, iova, 1, UV_IN(zero, sizeof(zero)), &resp), 0);
	CHECK_EQ(raw_mr_destroy(raw, resp.mr_handle), 0);
	REFUSED(raw_mr(raw, page, 0, iova, 1, NULL, &resp), EINVAL);
	REFUSED(raw_mr(raw, page + 100, 0, iova + 100, 1, NULL, &resp), EINVAL);
	REFUSED(raw_mr(raw, (void *)-PAGE, 2 * PAGE, 0, 1, NULL, &resp), EINVAL);
	REFUSED(raw_mr(raw, (void *)PAGE, PAGE, PAGE, 1, NULL, &resp), EFAULT);
	/* address and iova that differ within a page: the core or we say no */
	CHECK(raw_mr(raw, page, PAGE, iova + 8, 1, NULL, &resp) < 0);
	if (self->model[0])
		CHECK_EQ(live("mr"), mrs);
}

/* ---- the MR query method ------------------------------------------------------------------- */

static void start_query(struct uv_call *call, uint32_t mr, uint16_t *told, size_t len)
{
	uv_start(call, UVERBS_OBJECT_MR, DVQ_EFA_METHOD_MR_QUERY);
	uv_handle(call, DVQ_EFA_ATTR_MR_QUERY_HANDLE, mr);
	if (told)
		uv_out(call, DVQ_EFA_ATTR_MR_QUERY_VALIDITY, told, len);
}

EFA_TEST(mr_query)
{
	const struct raw *raw = raw_new(self);
	uint16_t told = 0xffff, recv = 0xffff, read = 0xffff, written = 0xffff;
	struct ib_uverbs_reg_mr_resp resp;
	struct uv_call call;

	memset(page, 1, sizeof(page));
	REQUIRE(raw_mr(raw, page, PAGE, 0, 1, NULL, &resp) == 0);
	start_query(&call, resp.mr_handle, &told, sizeof(told));
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK_EQ(told & ~7, 0);

	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RECV_IC, &recv, sizeof(recv));
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC, &read, sizeof(read));
	uv_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC, &written, sizeof(written));
	CHECK_EQ(uv_run(raw->fd, &call), 0);
	CHECK(recv <= 255 && read <= 255 && written <= 255);
	if (!(told & DVQ_EFA_MR_IC_RECV))
		CHECK_EQ(recv, 0);

	start_query(&call, resp.mr_handle, NULL, 0);
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
	start_query(&call, resp.mr_handle, &told, 1);
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
	start_query(&call, resp.mr_handle, &told, 4);
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
	start_query(&call, 0xffff, &told, sizeof(told));
	CHECK_EQ(uv_run(raw->fd, &call), -ENOENT);
	start_query(&call, raw->pd, &told, sizeof(told));
	CHECK_EQ(uv_run(raw->fd, &call), -EINVAL);
	start_query(&call, resp.mr_handle, (uint16_t *)8, sizeof(told));
	CHECK_EQ(uv_run(raw->fd, &call), -EFAULT);
}

/* ---- what went wrong is counted -------------------------------------------------------------- */

static uint64_t counted(const char *name)
{
	uint64_t value = 0;

	sleep_ms(25);
	if (!adapter_counter(self, false, name, &value))
		lab_note(__FILE__, __LINE__, "there is no counter %s", name);
	return value;
}

#define COUNTS(name, call)							\
	do {									\
		uint64_t before_ = counted(name);				\
		CHECK((call) < 0);						\
		CHECK_EQ(counted(name) - before_, 1);				\
	} while (0)

EFA_TEST(f57_failures_are_counted)
{
	const struct raw *raw = raw_new(self);
	struct ib_uverbs_ah_attr attr = raw_ah_attr(&peer->gid);
	struct dvq_efa_cq_resp cq_resp;
	uint32_t cq = raw_cq_new(raw, &cq_resp), one[2] = { 1 }, handle;
	struct uv_data bad = *UV_IN(one, sizeof(one));
	struct raw_qp qp = raw_qp_usual(raw, cq);
	struct ib_uverbs_reg_mr_resp mr;

	qp.req.flags = 0x8000;
	attr.is_global = 0;
	COUNTS("alloc_pd_err", raw_pd(raw, &bad, &handle));
	COUNTS("create_cq_err", raw_cq(raw, 63, NULL, &handle));
	COUNTS("create_qp_err", raw_qp_create(raw, &qp, &handle));
	COUNTS("create_ah_err", raw_ah(raw, raw->pd, &attr, NULL, &handle));
	COUNTS("reg_mr_err", raw_mr(raw, page, PAGE, 0, IBV_ACCESS_MW_BIND, NULL, &mr));
	if (device_has_limits())
		COUNTS("alloc_ucontext_err", open_with(NULL));
}

EFA_TEST_MAIN
