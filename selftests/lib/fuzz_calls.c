// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that a fuzzer makes, each as a correct program would. Numbers that headers before
 * Linux 7.2 do not have are our own here.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz.h"

#define PAGE	4096ul

#define EXTENDED(command)	((command) | IB_USER_VERBS_CMD_FLAG_EXTENDED)

enum {
	OBJECT_DMAH		= 17,
	OBJECT_DMABUF		= 18,
	DEVICE_QUERY_PORT_SPEED	= 7,
	MR_REG			= 5,
	CQ_BUFFER_VA		= 8,
	CQ_BUFFER_LENGTH	= 9,
	CQ_BUFFER_FD		= 10,
	CQ_BUFFER_OFFSET	= 11,
	CQ_BUF_UMEM		= 12,
	QP_RQ_BUF_UMEM		= 16,
	QP_SQ_BUF_UMEM		= 17,
};

enum {
	REG_MR_HANDLE,
	REG_MR_PD,
	REG_MR_DMAH,
	REG_MR_IOVA,
	REG_MR_ADDR,
	REG_MR_LENGTH,
	REG_MR_ACCESS,
	REG_MR_FD,
	REG_MR_FD_OFFSET,
	REG_MR_LKEY,
	REG_MR_RKEY,
};

/* struct ib_uverbs_buffer_desc */
struct buffer_desc {
	uint32_t type;
	int32_t fd;
	uint32_t flags, optional_flags;
	uint64_t addr, length;
};

/* ---- pieces of calls -------------------------------------------- */

static bool is_efa(const struct fuzzer *fuzzer)
{
	return fuzzer->world->adapter->kind == ADAPTER_EFA;
}

/* An object of the kind, seldom another one. */
static struct fuzz_object some(struct fuzzer *fuzzer, enum fuzz_kind kind)
{
	struct fuzz_object object;

	fuzz_pick(fuzzer, kind, &object);
	if (fuzz_one_in(fuzzer, 64))
		object.name = fuzz_one_in(fuzzer, 2) ? fuzzer->world->dead[kind] :
			      fuzz_below(fuzzer, 32);
	return object;
}

/* One that is to go; a PD that hardly anything has been made on. */
static struct fuzz_object spare(struct fuzzer *fuzzer, enum fuzz_kind kind)
{
	struct fuzz_object object;

	if (kind == FUZZ_PD && !fuzz_one_in(fuzzer, 4) && fuzz_pick_last(fuzzer, kind, &object))
		return object;
	return some(fuzzer, kind);
}

static uint32_t handle(struct fuzzer *fuzzer, enum fuzz_kind kind)
{
	return some(fuzzer, kind).name;
}

static void start(struct fuzz_call *call, uint16_t object, uint16_t method)
{
	uv_start(&call->uv, object, method);
}

static void old(struct fuzz_call *call, uint32_t command)
{
	call->old = true;
	call->command = command;
}

static void *in(struct fuzzer *fuzzer, struct fuzz_call *call, size_t len)
{
	call->in = (struct fuzz_data) { fuzz_buffer(fuzzer, len), len };
	return call->in.at;
}

/* one that begins with the address of the answer */
static void *in_answered(struct fuzzer *fuzzer, struct fuzz_call *call, size_t len, size_t answer)
{
	call->answers = true;
	call->out = (struct fuzz_data) { fuzz_buffer(fuzzer, answer), answer };
	return in(fuzzer, call, len);
}

static void out(struct fuzzer *fuzzer, struct fuzz_call *call, size_t len)
{
	call->out = (struct fuzz_data) { fuzz_buffer(fuzzer, len), len };
}

static void *driver_in(struct fuzzer *fuzzer, struct fuzz_call *call, size_t len)
{
	call->driver_in = (struct fuzz_data) { fuzz_buffer(fuzzer, len), len };
	return call->driver_in.at;
}

static void driver_out(struct fuzzer *fuzzer, struct fuzz_call *call, size_t len)
{
	call->driver_out = (struct fuzz_data) { fuzz_buffer(fuzzer, len), len };
}

/* the driver's answer, if it was asked for in whole; it may be spoilt meanwhile */
static const void *driver_answer(const struct fuzz_call *call, size_t len)
{
	return call->driver_out.len >= len ? call->driver_out.at : NULL;
}

static void attr_u32(struct fuzz_call *call, uint16_t id, uint32_t value)
{
	uv_in(&call->uv, id, &value, sizeof(value));
}

static void attr_u64(struct fuzz_call *call, uint16_t id, uint64_t value)
{
	uv_const(&call->uv, id, value);
}

static void attr_fd(struct fuzz_call *call, uint16_t id, int fd)
{
	uv_handle(&call->uv, id, 0)->data_s64 = fd;
}

static void *attr_out(struct fuzzer *fuzzer, struct fuzz_call *call, uint16_t id, size_t len)
{
	void *at = fuzz_buffer(fuzzer, len);

	uv_out(&call->uv, id, at, len);
	return at;
}

static void *attr_in(struct fuzzer *fuzzer, struct fuzz_call *call, uint16_t id, size_t len)
{
	void *at = fuzz_buffer(fuzzer, len);

	uv_out(&call->uv, id, at, len);
	return at;
}

/* what an attribute holds after the call; 0 if it is not there any more */
static uint64_t told(const struct fuzz_call *call, uint16_t id)
{
	for (unsigned int i = 0; i < call->uv.hdr.num_attrs && i < UV_ATTRS; i++)
		if (call->uv.attr[i].attr_id == id)
			return call->uv.attr[i].data;
	return 0;
}

static uint32_t word(const struct fuzz_data *data, size_t at)
{
	uint32_t value;

	memcpy(&value, data->at + at, sizeof(value));
	return value;
}

static void keep(struct fuzzer *fuzzer, enum fuzz_kind kind, uint64_t name)
{
	fuzz_keep(fuzzer, kind, &(struct fuzz_object) { .name = name });
}

/* An object that is gone may have had the same key. */
static void keep_key(struct fuzzer *fuzzer, uint64_t key, uint64_t length, enum fuzz_memory memory)
{
	key &= ~(PAGE - 1);
	while (fuzz_forget(fuzzer, FUZZ_KEY, key, NULL))
		;
	if (key)
		fuzz_keep(fuzzer, FUZZ_KEY, &(struct fuzz_object) {
			.name = key, .length = length, .memory = memory });
}

/* Closes it if there are many, or if it cannot be one that was made here. */
static void keep_file(struct fuzzer *fuzzer, enum fuzz_kind kind, uint64_t fd)
{
	if (fd < 3 || fd >= FUZZ_FIRST_OWN_FD)
		return;
	if (fuzz_is_full(fuzzer, kind))
		close(fd);
	else
		keep(fuzzer, kind, fd);
}

/* Pages of the world's memory. */
static uint64_t some_memory(struct fuzzer *fuzzer, size_t *length, size_t most)
{
	const size_t pages = 1 + (fuzz_one_in(fuzzer, 16) ? fuzz_below(fuzzer, most) :
				  fuzz_below(fuzzer, 4));

	*length = pages * PAGE;
	return FUZZ_MEMORY + fuzz_below(fuzzer, FUZZ_MEMORY_SIZE / PAGE - pages) * PAGE;
}

static int some_dmabuf(struct fuzzer *fuzzer)
{
	return fuzzer->world->dmabufs[fuzz_below(fuzzer, FUZZ_DMABUFS)];
}

static uint32_t some_access(struct fuzzer *fuzzer)
{
	static const uint32_t access[] = {
		0, 1, 1, 1, 5, 7, 4, 1 | 1 << 20,
	};

	if (!is_efa(fuzzer) && fuzz_one_in(fuzzer, 3))
		return 1 | fuzz_below(fuzzer, 64);
	return access[fuzz_below(fuzzer, 8)];
}

/* ---- device -------------------------------------------- */

static void build_info_handles(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES);
	attr_u64(call, UVERBS_ATTR_INFO_OBJECT_ID, 1 + fuzz_below(fuzzer, 9));
	attr_out(fuzzer, call, UVERBS_ATTR_INFO_TOTAL_HANDLES, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_INFO_HANDLES_LIST, 256);
}

static void build_query_port(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
	attr_u64(call, UVERBS_ATTR_QUERY_PORT_PORT_NUM, 1);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_PORT_RESP,
		 sizeof(struct ib_uverbs_query_port_resp_ex));
}

static void build_query_port_speed(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, DEVICE_QUERY_PORT_SPEED);
	attr_u64(call, 0, 1);
	attr_out(fuzzer, call, 1, 8);
}

static void build_query_context(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8);
}

static void build_gid_table(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const uint64_t entry = sizeof(struct ib_uverbs_gid_entry);

	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE);
	attr_u64(call, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, entry);
	attr_u32(call, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 0);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 16 * entry);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8);
}

static void build_gid_entry(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY);
	attr_u64(call, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 1);
	attr_u64(call, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, fuzz_below(fuzzer, 2));
	attr_u32(call, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 0);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY,
		 sizeof(struct ib_uverbs_gid_entry));
}

static void driver_context(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	if (is_efa(fuzzer)) {
		struct dvq_efa_ucontext_req *req = driver_in(fuzzer, call, sizeof(*req));

		req->supported_caps = DVQ_EFA_USER_TX_BATCH | DVQ_EFA_USER_MIN_SQ_WR;
		driver_out(fuzzer, call, sizeof(struct dvq_efa_ucontext_resp));
	} else {
		driver_in(fuzzer, call, sizeof(struct dvq_ionic_ctx_req));
		driver_out(fuzzer, call, sizeof(struct dvq_ionic_ctx_resp));
	}
}

static void build_get_context(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	attr_out(fuzzer, call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
	driver_context(fuzzer, call);
}

static void build_old_get_context(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, IB_USER_VERBS_CMD_GET_CONTEXT);
	in_answered(fuzzer, call, sizeof(struct ib_uverbs_get_context),
		    sizeof(struct ib_uverbs_get_context_resp));
	driver_context(fuzzer, call);
}

/* Only the old command can be made to fail, see spoil_header(). */
static int get_context(struct fuzzer *fuzzer, int fd, struct fuzz_call *call)
{
	if (fuzz_one_in(fuzzer, 4)) {
		build_get_context(fuzzer, call);
		return fuzz_issue_whole(fuzzer, fd, call);
	}
	build_old_get_context(fuzzer, call);
	return fuzz_issue(fuzzer, fd, call);
}

/* On a file of its own: what is asked before there is a context, and afterwards. */
static int run_open(struct fuzzer *fuzzer)
{
	const unsigned int before = fuzz_below(fuzzer, 3), after = fuzz_below(fuzzer, 3);
	int fd = fuzz_open_node(fuzzer->world->adapter), err = 0;

	if (fd < 0)
		return errno;
	for (unsigned int i = 0; i < before + 1 + after; i++) {
		const struct fuzz_type *type = &fuzz_types[fuzz_below(fuzzer, fuzz_types_count)];
		struct fuzz_call call = {};

		fuzzer->used = 0;
		if (i == before) {
			err = get_context(fuzzer, fd, &call);
			if (!err && call.old && call.out.len >= 8 && word(&call.out, 0) > 2 &&
			    word(&call.out, 0) < FUZZ_FIRST_OWN_FD)
				close(word(&call.out, 0));
		} else if (type->build && !(type->flags & FUZZ_MAKES_FILE)) {
			type->build(fuzzer, &call);
			fuzz_issue(fuzzer, fd, &call);
		}
	}
	close(fd);
	return err;
}

static void build_async(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	(void)fuzzer;
	start(call, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	attr_fd(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
}

static void done_async(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep_file(fuzzer, FUZZ_ASYNC, told(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE));
}

static int run_close_async(struct fuzzer *fuzzer)
{
	struct fuzz_object object;

	return fuzz_take(fuzzer, FUZZ_ASYNC, &object) && close(object.name) ? errno : 0;
}

static void build_old_query_device(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, IB_USER_VERBS_CMD_QUERY_DEVICE);
	in_answered(fuzzer, call, sizeof(struct ib_uverbs_query_device),
		    sizeof(struct ib_uverbs_query_device_resp));
}

static void build_ex_query_device(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, EXTENDED(IB_USER_VERBS_EX_CMD_QUERY_DEVICE));
	in(fuzzer, call, sizeof(struct ib_uverbs_ex_query_device));
	out(fuzzer, call, sizeof(struct ib_uverbs_ex_query_device_resp));
	if (is_efa(fuzzer))
		driver_out(fuzzer, call, sizeof(struct dvq_efa_device_resp));
}

static void build_old_query_port(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_query_port *req;

	old(call, IB_USER_VERBS_CMD_QUERY_PORT);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_query_port_resp));
	req->port_num = 1;
}

/* ---- PD -------------------------------------------- */

static void build_alloc_pd(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, IB_USER_VERBS_CMD_ALLOC_PD);
	in_answered(fuzzer, call, sizeof(struct ib_uverbs_alloc_pd),
		    sizeof(struct ib_uverbs_alloc_pd_resp));
	if (is_efa(fuzzer))
		driver_out(fuzzer, call, sizeof(struct dvq_efa_pd_resp));
}

static void done_alloc_pd(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_PD, word(&call->out, 0));
}

/* destroy commands that consist of a handle */
static void build_old_destroy(struct fuzzer *fuzzer, struct fuzz_call *call, uint32_t command,
			      enum fuzz_kind kind)
{
	uint32_t *req;

	old(call, command);
	req = in(fuzzer, call, sizeof(*req));
	call->object = spare(fuzzer, kind);
	*req = call->object.name;
}

/* and those that are answered */
static void build_old_destroy_answered(struct fuzzer *fuzzer, struct fuzz_call *call,
				       uint32_t command, enum fuzz_kind kind, size_t answer)
{
	struct ib_uverbs_destroy_cq *req;

	old(call, command);
	req = in_answered(fuzzer, call, sizeof(*req), answer);
	call->object = spare(fuzzer, kind);
	req->cq_handle = call->object.name;
}

/* destroy methods: the handle is their first attribute */
static void build_destroy(struct fuzzer *fuzzer, struct fuzz_call *call, uint16_t object,
			  uint16_t method, uint16_t attr, enum fuzz_kind kind)
{
	start(call, object, method);
	call->object = spare(fuzzer, kind);
	uv_handle(&call->uv, attr, call->object.name);
}

/* Which one it was after spoiling. */
static uint32_t destroyed(const struct fuzz_call *call)
{
	if (!call->old)
		return call->uv.hdr.num_attrs ? call->uv.attr[0].data : 0;
	return word(&call->in, call->answers ? 8 : 0);
}

#define DONE_DESTROY(name, kind)						\
	static void done_destroy_##name(struct fuzzer *fuzzer, struct fuzz_call *call)	\
	{									\
		fuzz_forget(fuzzer, kind, destroyed(call), NULL);		\
	}

DONE_DESTROY(pd, FUZZ_PD)
DONE_DESTROY(cq, FUZZ_CQ)
DONE_DESTROY(qp, FUZZ_QP)
DONE_DESTROY(ah, FUZZ_AH)
DONE_DESTROY(mr, FUZZ_MR)
DONE_DESTROY(mw, FUZZ_MW)

/* Its key may be another's soon, whose memory must not be touched. */
static void done_destroy_cmb(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct fuzz_object region;

	if (fuzz_forget(fuzzer, FUZZ_CMB, destroyed(call), &region))
		fuzz_forget(fuzzer, FUZZ_KEY, region.key, NULL);
}

static void build_dealloc_pd(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy(fuzzer, call, IB_USER_VERBS_CMD_DEALLOC_PD, FUZZ_PD);
}

static void build_destroy_pd(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY,
		      UVERBS_ATTR_DESTROY_PD_HANDLE, FUZZ_PD);
}

/* ---- CQ -------------------------------------------- */

static void build_channel(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL);
	in_answered(fuzzer, call, sizeof(struct ib_uverbs_create_comp_channel),
		    sizeof(struct ib_uverbs_create_comp_channel_resp));
}

static void done_channel(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep_file(fuzzer, FUZZ_CHANNEL, word(&call->out, 0));
}

static int run_close_channel(struct fuzzer *fuzzer)
{
	struct fuzz_object object;

	return fuzz_take(fuzzer, FUZZ_CHANNEL, &object) && close(object.name) ? errno : 0;
}

/* Files of events are read, in one piece or in none. */
static int run_read_events(struct fuzzer *fuzzer)
{
	struct fuzz_object object;
	struct pollfd pollfd = { .events = POLLIN };
	const size_t len = fuzz_below(fuzzer, 80);

	if (!fuzz_pick(fuzzer, fuzz_one_in(fuzzer, 2) ? FUZZ_CHANNEL : FUZZ_ASYNC, &object))
		return ENOENT;
	pollfd.fd = object.name;
	if (poll(&pollfd, 1, 0) < 1)
		return EAGAIN;
	return read(object.name, fuzz_buffer(fuzzer, len), len) < 0 ? errno : 0;
}

static struct dvq_ionic_ring some_ring(struct fuzzer *fuzzer, unsigned int depth_log2,
				       unsigned int stride_log2)
{
	struct dvq_ionic_ring ring = {
		.mask = (1u << depth_log2) - 1,
		.depth_log2 = depth_log2,
		.stride_log2 = stride_log2,
	};
	const size_t bytes = 1ul << (depth_log2 + stride_log2);
	const size_t pages = (bytes + PAGE - 1) / PAGE;

	ring.size = fuzz_one_in(fuzzer, 2) ? pages * PAGE : bytes;
	ring.addr = FUZZ_MEMORY + fuzz_below(fuzzer, FUZZ_MEMORY_SIZE / PAGE - pages) * PAGE;
	return ring;
}

/* The driver's part; returns the number of entries to ask for. */
static uint32_t driver_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	if (is_efa(fuzzer)) {
		struct dvq_efa_cq_req *req = driver_in(fuzzer, call, sizeof(*req));

		req->cq_entry_size = fuzz_one_in(fuzzer, 2) ? 16 : 32;
		req->num_sub_cqs = fuzzer->world->efa.sub_cqs_per_cq;
		if (fuzz_one_in(fuzzer, 4))
			req->flags = DVQ_EFA_CQ_CHANNEL;
		if (fuzz_one_in(fuzzer, 8))
			req->flags |= DVQ_EFA_CQ_64BIT_IDS;
		if (req->cq_entry_size == 32 && fuzz_one_in(fuzzer, 4))
			req->flags |= DVQ_EFA_CQ_SGID;
		driver_out(fuzzer, call, sizeof(struct dvq_efa_cq_resp));
	} else {
		struct dvq_ionic_cq_req *req = driver_in(fuzzer, call, sizeof(*req));
		const unsigned int log2 = 5 + fuzz_below(fuzzer, 4);

		req->udma_mask = 1 + fuzz_below(fuzzer, 3);
		for (unsigned int i = 0; i < 2; i++)
			req->ring[i] = some_ring(fuzzer, log2, 5);
		driver_out(fuzzer, call, sizeof(struct dvq_ionic_cq_resp));
		return 16;
	}
	return 1u << fuzz_below(fuzzer, fuzz_one_in(fuzzer, 16) ? 14 : 8);
}

static void cq_keys(struct fuzzer *fuzzer, const struct fuzz_call *call)
{
	const struct dvq_efa_cq_resp *resp = driver_answer(call, sizeof(*resp));

	if (!is_efa(fuzzer) || !resp)
		return;
	keep_key(fuzzer, resp->q_mmap_key, resp->q_mmap_size, FUZZ_READABLE);
	if (resp->comp_mask & DVQ_EFA_CQ_RESP_DB)
		keep_key(fuzzer, resp->db_mmap_key, PAGE, FUZZ_REGISTERS);
}

static int32_t some_channel(struct fuzzer *fuzzer)
{
	struct fuzz_object object;

	return fuzz_one_in(fuzzer, 2) && fuzz_pick(fuzzer, FUZZ_CHANNEL, &object) ? (int)object.name
										  : -1;
}

static void build_old_create_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_create_cq *req;

	old(call, IB_USER_VERBS_CMD_CREATE_CQ);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_create_cq_resp));
	req->comp_channel = some_channel(fuzzer);
	req->cqe = driver_cq(fuzzer, call);
}

static void build_ex_create_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_ex_create_cq *req;

	old(call, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_CQ));
	req = in(fuzzer, call, sizeof(*req));
	out(fuzzer, call, sizeof(struct ib_uverbs_ex_create_cq_resp));
	req->comp_channel = some_channel(fuzzer);
	req->cqe = driver_cq(fuzzer, call);
}

static void done_old_create_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_CQ, word(&call->out, 0));
	cq_keys(fuzzer, call);
}

static void attr_umem(struct fuzzer *fuzzer, struct fuzz_call *call, uint16_t id, size_t bytes)
{
	struct buffer_desc *desc = attr_in(fuzzer, call, id, sizeof(*desc));

	desc->length = bytes;
	if (fuzz_one_in(fuzzer, 2)) {
		desc->fd = some_dmabuf(fuzzer);
		desc->addr = fuzz_below(fuzzer, 4) * PAGE;
	} else {
		desc->type = 1;
		desc->addr = FUZZ_MEMORY + fuzz_below(fuzzer, 64) * PAGE;
	}
}

/* Memory of the creator by the verbs' own attributes. */
static void attr_cq_buffer(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	switch (fuzz_below(fuzzer, 3)) {
	case 0:
		attr_u64(call, CQ_BUFFER_VA, FUZZ_MEMORY + fuzz_below(fuzzer, 64) * PAGE);
		attr_u64(call, CQ_BUFFER_LENGTH, PAGE);
		break;
	case 1:
		attr_fd(call, CQ_BUFFER_FD, some_dmabuf(fuzzer));
		attr_u64(call, CQ_BUFFER_OFFSET, fuzz_below(fuzzer, 32) * PAGE);
		attr_u64(call, CQ_BUFFER_LENGTH, PAGE);
		break;
	default:
		attr_umem(fuzzer, call, CQ_BUF_UMEM, PAGE);
	}
}

static void build_create_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const int32_t channel = some_channel(fuzzer);
	struct fuzz_object async;

	start(call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uv_handle(&call->uv, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	attr_u32(call, UVERBS_ATTR_CREATE_CQ_CQE, driver_cq(fuzzer, call));
	attr_u64(call, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 0);
	attr_u32(call, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 0);
	attr_out(fuzzer, call, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	if (channel >= 0)
		attr_fd(call, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel);
	if (fuzz_one_in(fuzzer, 4) && fuzz_pick(fuzzer, FUZZ_ASYNC, &async))
		attr_fd(call, UVERBS_ATTR_CREATE_CQ_EVENT_FD, async.name);
	if (fuzz_one_in(fuzzer, 8))
		attr_cq_buffer(fuzzer, call);
}

static void done_create_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_CQ, told(call, UVERBS_ATTR_CREATE_CQ_HANDLE));
	cq_keys(fuzzer, call);
}

static void build_old_destroy_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy_answered(fuzzer, call, IB_USER_VERBS_CMD_DESTROY_CQ, FUZZ_CQ,
				   sizeof(struct ib_uverbs_destroy_cq_resp));
}

static void build_destroy_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY,
		      UVERBS_ATTR_DESTROY_CQ_HANDLE, FUZZ_CQ);
	attr_out(fuzzer, call, UVERBS_ATTR_DESTROY_CQ_RESP,
		 sizeof(struct ib_uverbs_destroy_cq_resp));
}

/* ---- QP -------------------------------------------- */

static void efa_qp(struct fuzzer *fuzzer, struct fuzz_call *call, uint32_t type,
		   struct ib_uverbs_qp_cap *cap)
{
	struct dvq_efa_qp_req *req = driver_in(fuzzer, call, sizeof(*req));
	uint32_t depth = 16u << fuzz_below(fuzzer, 4);

	if (depth < fuzzer->world->efa.min_sq_wr)
		depth = fuzzer->world->efa.min_sq_wr;
	cap->max_send_wr = fuzz_one_in(fuzzer, 8) ? 0 : depth;
	cap->max_recv_wr = fuzz_one_in(fuzzer, 8) ? 0 : 1u << fuzz_below(fuzzer, 8);
	cap->max_send_sge = 1;
	cap->max_recv_sge = 1;
	req->sq_ring_size = cap->max_send_wr * (fuzz_one_in(fuzzer, 4) ? 128 : 64);
	req->rq_ring_size = cap->max_recv_wr * 16;
	req->sl = fuzz_one_in(fuzzer, 8) ? 8 : 0;
	if (type != IB_UVERBS_QPT_UD && fuzz_one_in(fuzzer, 4))
		req->flags = fuzz_below(fuzzer, 4);
	driver_out(fuzzer, call, sizeof(struct dvq_efa_qp_resp));
}

static void ionic_qp(struct fuzzer *fuzzer, struct fuzz_call *call, struct ib_uverbs_qp_cap *cap)
{
	struct dvq_ionic_qp_req *req = driver_in(fuzzer, call, sizeof(*req));

	req->sq = some_ring(fuzzer, 2 + fuzz_below(fuzzer, 5), 6 + fuzz_below(fuzzer, 3));
	req->rq = some_ring(fuzzer, 2 + fuzz_below(fuzzer, 5), 6 + fuzz_below(fuzzer, 2));
	if (fuzz_one_in(fuzzer, 3))
		req->sq_cmb = fuzz_below(fuzzer, 32);
	if (fuzz_one_in(fuzzer, 3))
		req->rq_cmb = fuzz_below(fuzzer, 32);
	req->udma_mask = fuzz_below(fuzzer, 4);
	cap->max_send_wr = req->sq.mask;
	cap->max_recv_wr = req->rq.mask;
	cap->max_send_sge = 1;
	cap->max_recv_sge = 1;
	driver_out(fuzzer, call, sizeof(struct dvq_ionic_qp_resp));
}

/* The driver's part; returns the type to ask for. */
static uint32_t driver_qp(struct fuzzer *fuzzer, struct fuzz_call *call,
			  struct ib_uverbs_qp_cap *cap)
{
	uint32_t type = IB_UVERBS_QPT_UD;

	if (!fuzz_one_in(fuzzer, 3))
		type = is_efa(fuzzer) ? IB_UVERBS_QPT_DRIVER : IB_UVERBS_QPT_RC;
	*cap = (struct ib_uverbs_qp_cap) {};
	if (is_efa(fuzzer))
		efa_qp(fuzzer, call, type, cap);
	else
		ionic_qp(fuzzer, call, cap);
	return type;
}

static void efa_qp_keys(struct fuzzer *fuzzer, const struct fuzz_call *call)
{
	const struct dvq_efa_qp_resp *resp = driver_answer(call, sizeof(*resp));
	const struct dvq_efa_qp_req *req = (void *)call->driver_in.at;

	if (!resp)
		return;
	keep_key(fuzzer, resp->rq_mmap_key, resp->rq_mmap_size, FUZZ_WRITABLE);
	keep_key(fuzzer, resp->rq_db_mmap_key, PAGE, FUZZ_REGISTERS);
	keep_key(fuzzer, resp->sq_db_mmap_key, PAGE, FUZZ_REGISTERS);
	/* what is written there without a doorbell is a mistake, too */
	keep_key(fuzzer, resp->llq_desc_mmap_key,
		 (resp->llq_desc_offset + req->sq_ring_size + PAGE - 1) & ~(PAGE - 1),
		 FUZZ_REGISTERS);
}

static void ionic_qp_keys(struct fuzzer *fuzzer, const struct fuzz_call *call)
{
	const struct dvq_ionic_qp_resp *resp = driver_answer(call, sizeof(*resp));
	const struct dvq_ionic_qp_req *req = (void *)call->driver_in.at;

	if (!resp)
		return;
	keep_key(fuzzer, resp->sq_cmb_offset, (req->sq.size + PAGE - 1) & ~(PAGE - 1),
		 FUZZ_REGISTERS);
	keep_key(fuzzer, resp->rq_cmb_offset, (req->rq.size + PAGE - 1) & ~(PAGE - 1),
		 FUZZ_REGISTERS);
}

static void keep_qp(struct fuzzer *fuzzer, const struct fuzz_call *call, uint64_t name,
		    uint8_t type)
{
	fuzz_keep(fuzzer, FUZZ_QP, &(struct fuzz_object) { .name = name, .type = type });
	if (is_efa(fuzzer))
		efa_qp_keys(fuzzer, call);
	else
		ionic_qp_keys(fuzzer, call);
}

static void build_old_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_create_qp *req;
	struct ib_uverbs_qp_cap cap;

	old(call, IB_USER_VERBS_CMD_CREATE_QP);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_create_qp_resp));
	req->qp_type = driver_qp(fuzzer, call, &cap);
	req->pd_handle = handle(fuzzer, FUZZ_PD);
	req->send_cq_handle = handle(fuzzer, FUZZ_CQ);
	req->recv_cq_handle = fuzz_one_in(fuzzer, 2) ? req->send_cq_handle
						     : handle(fuzzer, FUZZ_CQ);
	memcpy(&req->max_send_wr, &cap, sizeof(cap));
}

static void done_old_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const struct ib_uverbs_create_qp *req = (void *)call->in.at;

	keep_qp(fuzzer, call, word(&call->out, 0), req->qp_type);
}

static void build_ex_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_ex_create_qp *req;
	struct ib_uverbs_qp_cap cap;

	old(call, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_QP));
	req = in(fuzzer, call, sizeof(*req));
	out(fuzzer, call, sizeof(struct ib_uverbs_ex_create_qp_resp));
	req->qp_type = driver_qp(fuzzer, call, &cap);
	req->pd_handle = handle(fuzzer, FUZZ_PD);
	req->send_cq_handle = handle(fuzzer, FUZZ_CQ);
	req->recv_cq_handle = req->send_cq_handle;
	memcpy(&req->max_send_wr, &cap, sizeof(cap));
}

static void done_ex_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const struct ib_uverbs_ex_create_qp *req = (void *)call->in.at;

	keep_qp(fuzzer, call, word(&call->out, 0), req->qp_type);
}

static void build_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_qp_cap *cap = fuzz_buffer(fuzzer, sizeof(*cap));
	const uint32_t cq = handle(fuzzer, FUZZ_CQ);
	const uint32_t type = driver_qp(fuzzer, call, cap);
	struct fuzz_object async;

	start(call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	uv_handle(&call->uv, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	uv_handle(&call->uv, UVERBS_ATTR_CREATE_QP_PD_HANDLE, handle(fuzzer, FUZZ_PD));
	uv_handle(&call->uv, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq);
	uv_handle(&call->uv, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE,
		  fuzz_one_in(fuzzer, 2) ? cq : handle(fuzzer, FUZZ_CQ));
	attr_u64(call, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 0);
	uv_in(&call->uv, UVERBS_ATTR_CREATE_QP_CAP, cap, sizeof(*cap));
	attr_u64(call, UVERBS_ATTR_CREATE_QP_TYPE, type);
	attr_out(fuzzer, call, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(*cap));
	attr_out(fuzzer, call, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	if (fuzz_one_in(fuzzer, 4) && fuzz_pick(fuzzer, FUZZ_ASYNC, &async))
		attr_fd(call, UVERBS_ATTR_CREATE_QP_EVENT_FD, async.name);
	if (fuzz_one_in(fuzzer, 8))
		attr_umem(fuzzer, call, QP_SQ_BUF_UMEM, 8 * PAGE);
	if (fuzz_one_in(fuzzer, 8))
		attr_umem(fuzzer, call, QP_RQ_BUF_UMEM, 8 * PAGE);
	call->object.type = type;
}

static void done_create_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep_qp(fuzzer, call, told(call, UVERBS_ATTR_CREATE_QP_HANDLE), call->object.type);
}

static void build_old_destroy_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy_answered(fuzzer, call, IB_USER_VERBS_CMD_DESTROY_QP, FUZZ_QP,
				   sizeof(struct ib_uverbs_destroy_qp_resp));
}

static void build_destroy_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY,
		      UVERBS_ATTR_DESTROY_QP_HANDLE, FUZZ_QP);
	attr_out(fuzzer, call, UVERBS_ATTR_DESTROY_QP_RESP,
		 sizeof(struct ib_uverbs_destroy_qp_resp));
}

static void build_query_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const uint32_t efa_known = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_SQ_PSN |
				   IBV_QP_CAP;
	struct ib_uverbs_query_qp *req;

	old(call, IB_USER_VERBS_CMD_QUERY_QP);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_query_qp_resp));
	req->qp_handle = handle(fuzzer, FUZZ_QP);
	req->attr_mask = fuzz_random(fuzzer) & (is_efa(fuzzer) ? efa_known : 0x1fffff);
}

/* of the adapter or its peer; on EFA any other will do, too */
static void some_gid(struct fuzzer *fuzzer, uint8_t *gid)
{
	memcpy(gid, fuzz_one_in(fuzzer, 2) ? &self->gid : &peer->gid, 16);
	if (is_efa(fuzzer) && fuzz_one_in(fuzzer, 2))
		gid[15] = fuzz_random(fuzzer);
}

static const uint8_t next_state[] = {
	[IBV_QPS_RESET] = IBV_QPS_INIT, [IBV_QPS_INIT] = IBV_QPS_RTR, [IBV_QPS_RTR] = IBV_QPS_RTS,
	[IBV_QPS_RTS] = IBV_QPS_SQD, [IBV_QPS_SQD] = IBV_QPS_RTS, [IBV_QPS_SQE] = IBV_QPS_RTS,
	[IBV_QPS_ERR] = IBV_QPS_RESET,
};

static uint32_t rc_mask(uint8_t from, uint8_t to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		return from != IBV_QPS_RTR ? 0 : IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	default:
		return 0;
	}
}

static uint32_t datagram_mask(uint8_t from, uint8_t to)
{
	if (to == IBV_QPS_INIT)
		return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	return to == IBV_QPS_RTS && from == IBV_QPS_RTR ? IBV_QP_SQ_PSN : 0;
}

static void fill_modify_qp(struct fuzzer *fuzzer, struct fuzz_call *call,
			   struct ib_uverbs_modify_qp *req)
{
	const struct fuzz_object qp = some(fuzzer, FUZZ_QP);
	const uint8_t from = qp.state <= IBV_QPS_ERR ? qp.state : 0;
	uint8_t to = next_state[from];

	if (fuzz_one_in(fuzzer, 4))
		to = from == IBV_QPS_RESET || fuzz_one_in(fuzzer, 2) ? IBV_QPS_RESET : IBV_QPS_ERR;
	*req = (struct ib_uverbs_modify_qp) {
		.dest = { .is_global = 1, .port_num = 1, .hop_limit = 64 },
		.qp_handle = qp.name,
		.qp_state = to,
		.cur_qp_state = from,
		.port_num = 1,
		.qkey = 0x1111,
		.path_mtu = 1 + fuzz_below(fuzzer, 5),
		.dest_qp_num = fuzz_below(fuzzer, 64),
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 12,
		.max_rd_atomic = fuzz_below(fuzzer, 8),
		.max_dest_rd_atomic = fuzz_below(fuzzer, 8),
		.qp_access_flags = fuzz_below(fuzzer, 16) & ~1,
		.path_mig_state = 0,
	};
	some_gid(fuzzer, req->dest.dgid);
	req->attr_mask = IBV_QP_STATE;
	req->attr_mask |= qp.type == IB_UVERBS_QPT_RC ? rc_mask(from, to) : datagram_mask(from, to);
	if (fuzz_one_in(fuzzer, 8))
		req->attr_mask |= IBV_QP_CUR_STATE;
	/* The core asks the network for any other address, a second long. */
	if (!is_efa(fuzzer)) {
		call->kept = offsetof(struct ib_uverbs_modify_qp, dest.dgid);
		call->kept_end = call->kept + 16;
	}
}

static void build_modify_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	old(call, IB_USER_VERBS_CMD_MODIFY_QP);
	fill_modify_qp(fuzzer, call, in(fuzzer, call, sizeof(struct ib_uverbs_modify_qp)));
}

static void build_ex_modify_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_ex_modify_qp *req;

	old(call, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_QP));
	req = in(fuzzer, call, sizeof(*req));
	out(fuzzer, call, sizeof(struct ib_uverbs_ex_modify_qp_resp));
	fill_modify_qp(fuzzer, call, &req->base);
}

static void done_modify_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const struct ib_uverbs_modify_qp *req = (void *)call->in.at;

	if (req->attr_mask & IBV_QP_STATE)
		fuzz_set_state(fuzzer, req->qp_handle, req->qp_state);
}

/* ---- AH -------------------------------------------- */

static void build_create_ah(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_create_ah *req;

	old(call, IB_USER_VERBS_CMD_CREATE_AH);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_create_ah_resp));
	req->pd_handle = handle(fuzzer, FUZZ_PD);
	req->attr.is_global = 1;
	req->attr.port_num = 1;
	req->attr.grh.hop_limit = 64;
	some_gid(fuzzer, req->attr.grh.dgid);
	if (is_efa(fuzzer)) {
		driver_out(fuzzer, call, sizeof(struct dvq_efa_ah_resp));
	} else {
		driver_out(fuzzer, call, sizeof(struct dvq_ionic_ah_resp));
		/* as above */
		call->kept = offsetof(struct ib_uverbs_create_ah, attr.grh.dgid);
		call->kept_end = call->kept + 16;
	}
}

static void done_create_ah(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_AH, word(&call->out, 0));
}

static void build_old_destroy_ah(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy(fuzzer, call, IB_USER_VERBS_CMD_DESTROY_AH, FUZZ_AH);
}

static void build_destroy_ah(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY,
		      UVERBS_ATTR_DESTROY_AH_HANDLE, FUZZ_AH);
}

/* ---- MR, MW -------------------------------------------- */

static void build_old_reg_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_reg_mr *req;
	size_t length;

	old(call, IB_USER_VERBS_CMD_REG_MR);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_reg_mr_resp));
	req->pd_handle = handle(fuzzer, FUZZ_PD);
	req->start = some_memory(fuzzer, &length, 256);
	req->length = length - fuzz_below(fuzzer, 2);
	req->hca_va = fuzz_one_in(fuzzer, 4) ? 0 : req->start;
	req->access_flags = some_access(fuzzer);
}

static void done_old_reg_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_MR, word(&call->out, 0));
}

static void build_reg_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	size_t length;
	const uint64_t address = some_memory(fuzzer, &length, 64);

	start(call, UVERBS_OBJECT_MR, MR_REG);
	uv_handle(&call->uv, REG_MR_HANDLE, 0);
	uv_handle(&call->uv, REG_MR_PD, handle(fuzzer, FUZZ_PD));
	attr_u64(call, REG_MR_IOVA, address);
	attr_u64(call, REG_MR_LENGTH, length);
	attr_u32(call, REG_MR_ACCESS, some_access(fuzzer));
	if (fuzz_one_in(fuzzer, 3)) {
		attr_fd(call, REG_MR_FD, some_dmabuf(fuzzer));
		attr_u64(call, REG_MR_FD_OFFSET, address % (FUZZ_DMABUF_SIZE / 2));
	} else {
		attr_u64(call, REG_MR_ADDR, address);
	}
	attr_out(fuzzer, call, REG_MR_LKEY, 4);
	attr_out(fuzzer, call, REG_MR_RKEY, 4);
}

static void build_reg_dmabuf(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	size_t length;
	const uint64_t address = some_memory(fuzzer, &length, 64);

	start(call, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR);
	uv_handle(&call->uv, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0);
	uv_handle(&call->uv, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, handle(fuzzer, FUZZ_PD));
	attr_u64(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, address % (FUZZ_DMABUF_SIZE / 2));
	attr_u64(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, length);
	attr_u64(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, address);
	attr_u32(call, UVERBS_ATTR_REG_DMABUF_MR_FD, some_dmabuf(fuzzer));
	attr_u32(call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, some_access(fuzzer));
	attr_out(fuzzer, call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4);
}

/* the handle is attribute 0 of both */
static void done_reg_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_MR, told(call, REG_MR_HANDLE));
}

static void build_query_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	uv_handle(&call->uv, UVERBS_ATTR_QUERY_MR_HANDLE, handle(fuzzer, FUZZ_MR));
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8);
	attr_out(fuzzer, call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8);
}

static void build_efa_query_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_MR, DVQ_EFA_METHOD_MR_QUERY);
	uv_handle(&call->uv, DVQ_EFA_ATTR_MR_QUERY_HANDLE, handle(fuzzer, FUZZ_MR));
	for (unsigned int id = DVQ_EFA_ATTR_MR_QUERY_VALIDITY;
	     id <= DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC; id++)
		attr_out(fuzzer, call, id, 2);
}

static void build_dereg_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy(fuzzer, call, IB_USER_VERBS_CMD_DEREG_MR, FUZZ_MR);
}

static void build_destroy_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY,
		      UVERBS_ATTR_DESTROY_MR_HANDLE, FUZZ_MR);
}

static void build_alloc_mw(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_alloc_mw *req;

	old(call, IB_USER_VERBS_CMD_ALLOC_MW);
	req = in_answered(fuzzer, call, sizeof(*req), sizeof(struct ib_uverbs_alloc_mw_resp));
	req->pd_handle = handle(fuzzer, FUZZ_PD);
	req->mw_type = 1 + fuzz_below(fuzzer, 2);
}

static void done_alloc_mw(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	keep(fuzzer, FUZZ_MW, word(&call->out, 0));
}

static void build_dealloc_mw(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_old_destroy(fuzzer, call, IB_USER_VERBS_CMD_DEALLOC_MW, FUZZ_MW);
}

static void build_destroy_mw(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY,
		      UVERBS_ATTR_DESTROY_MW_HANDLE, FUZZ_MW);
}

/* ---- dvq -------------------------------------------- */

static void build_dvq_query_device(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_DEVICE);
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_DEVICE_INFO, sizeof(struct dvq_device_info));
}

static uint32_t some_place(struct fuzzer *fuzzer)
{
	uint32_t more = DVQ_PLACE_EXPDB;

	if (!is_efa(fuzzer))
		more |= DVQ_PLACE_REQUIRE;
	if (fuzz_one_in(fuzzer, 4))
		return 0;
	if (fuzz_one_in(fuzzer, 3))
		return DVQ_PLACE_SET;
	return DVQ_PLACE_SET | DVQ_PLACE_CMB | (more & fuzz_random(fuzzer));
}

static void build_set_policy(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct dvq_pd_policy policy = { .sq = some_place(fuzzer), .rq = some_place(fuzzer) };
	struct fuzz_object region;

	start(call, DVQ_OBJECT, DVQ_METHOD_SET_PD_POLICY);
	uv_handle(&call->uv, DVQ_ATTR_SET_PD_POLICY_PD, handle(fuzzer, FUZZ_PD));
	uv_in(&call->uv, DVQ_ATTR_SET_PD_POLICY_POLICY, &policy, sizeof(policy));
	if (fuzz_one_in(fuzzer, 2) && fuzz_pick(fuzzer, FUZZ_CMB, &region))
		uv_handle(&call->uv, DVQ_ATTR_SET_PD_POLICY_POOL, region.name);
}

static void build_get_policy(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_GET_PD_POLICY);
	uv_handle(&call->uv, DVQ_ATTR_GET_PD_POLICY_PD, handle(fuzzer, FUZZ_PD));
	attr_out(fuzzer, call, DVQ_ATTR_GET_PD_POLICY_POLICY, sizeof(struct dvq_pd_policy));
}

static void build_dvq_query_qp(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_QP);
	uv_handle(&call->uv, DVQ_ATTR_QUERY_QP_QP, handle(fuzzer, FUZZ_QP));
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_QP_INFO, sizeof(struct dvq_qp_info));
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_QP_SQ, sizeof(struct dvq_wq_info));
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_QP_RQ, sizeof(struct dvq_wq_info));
}

static void build_dvq_query_cq(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_CQ);
	uv_handle(&call->uv, DVQ_ATTR_QUERY_CQ_CQ, handle(fuzzer, FUZZ_CQ));
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_CQ_INFO, sizeof(struct dvq_cq_info));
	if (fuzz_one_in(fuzzer, 2))
		attr_u32(call, DVQ_ATTR_QUERY_CQ_PIPELINE, fuzz_below(fuzzer, 2));
	if (fuzz_one_in(fuzzer, 2))
		attr_out(fuzzer, call, DVQ_ATTR_QUERY_CQ_QPS, 4 + 4 * fuzz_below(fuzzer, 8));
}

static void build_dvq_query_ah(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_AH);
	uv_handle(&call->uv, DVQ_ATTR_QUERY_AH_AH, handle(fuzzer, FUZZ_AH));
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_AH_INFO, sizeof(struct dvq_ah_info));
}

static void build_dvq_query_context(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_CONTEXT);
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_CONTEXT_INFO, sizeof(struct dvq_context_info));
}

static void build_dvq_query_uids(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	unsigned int n = 1 + fuzz_below(fuzzer, 16);
	uint64_t *uids;

	start(call, DVQ_OBJECT, DVQ_METHOD_QUERY_UIDS);
	uids = attr_in(fuzzer, call, DVQ_ATTR_QUERY_UIDS_UIDS, n * sizeof(*uids));
	for (unsigned int i = 0; i < n; i++)
		uids[i] = fuzz_below(fuzzer, 10000);
	attr_out(fuzzer, call, DVQ_ATTR_QUERY_UIDS_ALIVE, n);
}

static void build_cmb_alloc(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct dvq_cmb_alloc *req;

	start(call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_ALLOC);
	uv_handle(&call->uv, DVQ_ATTR_CMB_ALLOC_HANDLE, 0);
	req = attr_in(fuzzer, call, DVQ_ATTR_CMB_ALLOC_REQ, sizeof(*req));
	req->length = 1 + fuzz_below(fuzzer, 1u << (6 + fuzz_below(fuzzer, 12)));
	attr_out(fuzzer, call, DVQ_ATTR_CMB_ALLOC_INFO, sizeof(struct dvq_cmb_info));
}

static void done_cmb_alloc(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	const uint64_t at = told(call, DVQ_ATTR_CMB_ALLOC_INFO);
	struct dvq_cmb_info info;

	if (at < (uintptr_t)fuzzer->scratch || at > (uintptr_t)fuzzer->scratch + FUZZ_WRITTEN)
		return;
	memcpy(&info, (void *)(uintptr_t)at, sizeof(info));
	fuzz_keep(fuzzer, FUZZ_CMB, &(struct fuzz_object) {
		.name = told(call, DVQ_ATTR_CMB_ALLOC_HANDLE), .key = info.key });
	keep_key(fuzzer, info.key, info.length, FUZZ_DEVICE);
}

static void build_cmb_query(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_QUERY);
	uv_handle(&call->uv, DVQ_ATTR_CMB_QUERY_HANDLE, handle(fuzzer, FUZZ_CMB));
	attr_out(fuzzer, call, DVQ_ATTR_CMB_QUERY_INFO, sizeof(struct dvq_cmb_info));
}

static void build_cmb_free(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	build_destroy(fuzzer, call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_FREE, DVQ_ATTR_CMB_FREE_HANDLE,
		      FUZZ_CMB);
}

/* ---- mappings -------------------------------------------- */

static int fitting_prot(const struct fuzz_object *key)
{
	return key->memory == FUZZ_READABLE ? PROT_READ :
	       key->memory == FUZZ_WRITABLE ? PROT_READ | PROT_WRITE : PROT_WRITE;
}

static bool can_be_written(struct fuzzer *fuzzer, const struct fuzz_object *key)
{
	void *at = mmap(NULL, key->length, PROT_WRITE, MAP_SHARED, fuzzer->world->fd, key->name);

	if (at != MAP_FAILED)
		munmap(at, key->length);
	return at != MAP_FAILED;
}

/* Is it the key of one of the regions that are known? */
static bool is_region(struct fuzzer *fuzzer, uint64_t key)
{
	for (unsigned int i = 0; i < fuzzer->world->count[FUZZ_CMB]; i++) {
		const struct fuzz_object *region = &fuzzer->world->live[FUZZ_CMB][i];
		struct dvq_cmb_info info = {};
		struct uv_call uv;

		uv_start(&uv, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_QUERY);
		uv_handle(&uv, DVQ_ATTR_CMB_QUERY_HANDLE, region->name);
		uv_out(&uv, DVQ_ATTR_CMB_QUERY_INFO, &info, sizeof(info));
		if (!uv_run(fuzzer->world->fd, &uv) && info.key == key)
			return true;
	}
	return false;
}

static int run_mmap(struct fuzzer *fuzzer)
{
	struct fuzz_object key;
	int prot, flags = MAP_SHARED;
	void *at;

	if (!fuzz_pick(fuzzer, FUZZ_KEY, &key))
		return ENOENT;
	prot = fitting_prot(&key);
	switch (fuzz_below(fuzzer, 12)) {
	case 0:
		key.length = fuzz_value(fuzzer, 4, key.length) & ((64ul << 20) - 1);
		break;
	case 1:
		key.length += PAGE;
		break;
	case 2:
		key.name = fuzz_value(fuzzer, 8, key.name) & ~(PAGE - 1);
		break;
	case 3:
		key.name += PAGE;
		break;
	case 4:
		prot = fuzz_below(fuzzer, 8);
		break;
	case 5:
		flags = MAP_PRIVATE;
		break;
	default:
		break;
	}
	at = mmap(NULL, key.length, prot, flags, fuzzer->world->fd, key.name);
	if (at == MAP_FAILED)
		return errno;
	/* What the key was of may be gone, and another thing have it. */
	if (key.memory == FUZZ_DEVICE && !is_region(fuzzer, key.name))
		key.memory = FUZZ_REGISTERS;
	if (key.memory == FUZZ_READABLE && can_be_written(fuzzer, &key))
		key.memory = FUZZ_REGISTERS;
	/* Only one that has the access it should have is ever touched. */
	if (prot != fitting_prot(&key) || fuzz_is_full(fuzzer, FUZZ_MAP)) {
		munmap(at, key.length);
		return 0;
	}
	key.name = (uintptr_t)at;
	fuzz_keep(fuzzer, FUZZ_MAP, &key);
	return 0;
}

static int run_munmap(struct fuzzer *fuzzer)
{
	struct fuzz_object map;

	if (!fuzz_take(fuzzer, FUZZ_MAP, &map))
		return ENOENT;
	if (map.length > PAGE && fuzz_one_in(fuzzer, 4) &&
	    munmap((void *)(uintptr_t)map.name, PAGE))
		return errno;
	return munmap((void *)(uintptr_t)map.name, map.length) ? errno : 0;
}

/*
 * Another fuzzer may have ended what a key was of, and made something that has the same key: so
 * memory of the host is touched by a way that does not lead to an adapter.
 */
static void touch_host(const struct fuzz_object *map, size_t place, uint8_t value)
{
	struct iovec own = { .iov_base = &value, .iov_len = 1 };
	struct iovec mapped = { .iov_base = (uint8_t *)(uintptr_t)map->name + place, .iov_len = 1 };

	if (map->memory == FUZZ_WRITABLE)
		process_vm_writev(getpid(), &own, 1, &mapped, 1, 0);
	process_vm_readv(getpid(), &own, 1, &mapped, 1, 0);
}

static void touch_registers(struct fuzzer *fuzzer, const struct fuzz_object *map)
{
	volatile uint8_t *at =
		(uint8_t *)(uintptr_t)map->name + (fuzz_below(fuzzer, map->length) & ~7u);

	if (is_efa(fuzzer))
		*(volatile uint32_t *)at = fuzz_value(fuzzer, 4, 1);
	else
		*(volatile uint64_t *)at = fuzz_value(fuzzer, 8, 1 << 24);
}

/* Nobody else has the mapping meanwhile, so it is there. */
static int run_touch(struct fuzzer *fuzzer)
{
	const uint8_t value = fuzz_random(fuzzer);
	struct fuzz_object map;
	size_t place;

	if (!fuzz_take(fuzzer, FUZZ_MAP, &map))
		return ENOENT;
	place = fuzz_one_in(fuzzer, 2) ? map.length - 1 : fuzz_below(fuzzer, map.length);
	if (map.memory == FUZZ_READABLE || map.memory == FUZZ_WRITABLE)
		touch_host(&map, place, value);
	else if (map.memory == FUZZ_DEVICE && !fuzzer->world->shared)
		((volatile uint8_t *)(uintptr_t)map.name)[place] = value;
	else if (map.memory == FUZZ_REGISTERS && fuzzer->world->doorbells)
		touch_registers(fuzzer, &map);
	fuzz_keep(fuzzer, FUZZ_MAP, &map);
	return 0;
}

/* What else can be done to a mapping: it moves, it shrinks, it wants more rights. */
static int run_remap(struct fuzzer *fuzzer)
{
	struct fuzz_object map;
	void *at, *moved;
	int err = 0;

	if (!fuzz_take(fuzzer, FUZZ_MAP, &map))
		return ENOENT;
	at = (void *)(uintptr_t)map.name;
	switch (fuzz_below(fuzzer, 5)) {
	case 0:
		moved = mremap(at, map.length, map.length + PAGE, MREMAP_MAYMOVE);
		break;
	case 1:
		moved = mremap(at, map.length, map.length, MREMAP_MAYMOVE);
		break;
	case 2:
		moved = mprotect(at, map.length, PROT_EXEC) ? MAP_FAILED : at;
		break;
	case 3:
		moved = mprotect(at, map.length, PROT_WRITE) ? MAP_FAILED : at;
		/* a ring of completions is not for writing */
		if (moved == at && map.memory == FUZZ_READABLE && !fuzzer->world->shared)
			abort();
		break;
	default:
		moved = madvise(at, map.length, fuzz_below(fuzzer, 26)) ? MAP_FAILED : at;
		break;
	}
	if (moved == MAP_FAILED)
		err = errno;
	else
		at = moved;
	munmap(at, map.length);
	return err;
}

/* ---- what is not supported -------------------------------------------- */

/* Handles of every kind, small numbers, and garbage. */
static void build_refused(struct fuzzer *fuzzer, struct fuzz_call *call, uint32_t command,
			  size_t len, size_t answer)
{
	uint32_t *words;

	old(call, command);
	if (answer && !(command & IB_USER_VERBS_CMD_FLAG_EXTENDED))
		words = in_answered(fuzzer, call, len, answer);
	else
		words = in(fuzzer, call, len);
	if (!call->answers && answer)
		out(fuzzer, call, answer);
	for (size_t i = call->answers ? 2 : 0; i < len / 4; i++)
		words[i] = fuzz_one_in(fuzzer, 2) ? handle(fuzzer, fuzz_below(fuzzer, FUZZ_MW + 1))
						  : fuzz_value(fuzzer, 4, 1);
}

#define REFUSED(name, command, len, answer)					\
	static void build_##name(struct fuzzer *fuzzer, struct fuzz_call *call)	\
	{									\
		build_refused(fuzzer, call, command, len, answer);		\
	}

REFUSED(modify_ah, IB_USER_VERBS_CMD_MODIFY_AH, 48, 0)
REFUSED(query_ah, IB_USER_VERBS_CMD_QUERY_AH, 16, 32)
REFUSED(reg_smr, IB_USER_VERBS_CMD_REG_SMR, 16, 32)
REFUSED(rereg_mr, IB_USER_VERBS_CMD_REREG_MR, sizeof(struct ib_uverbs_rereg_mr), 8)
REFUSED(old_query_mr, IB_USER_VERBS_CMD_QUERY_MR, 16, 32)
REFUSED(bind_mw, IB_USER_VERBS_CMD_BIND_MW, 16, 32)
REFUSED(resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(struct ib_uverbs_resize_cq), 8)
REFUSED(poll_cq, IB_USER_VERBS_CMD_POLL_CQ, sizeof(struct ib_uverbs_poll_cq), 56)
REFUSED(peek_cq, IB_USER_VERBS_CMD_PEEK_CQ, 16, 32)
REFUSED(req_notify_cq, IB_USER_VERBS_CMD_REQ_NOTIFY_CQ, 8, 0)
REFUSED(post_send, IB_USER_VERBS_CMD_POST_SEND, sizeof(struct ib_uverbs_post_send) + 72, 4)
REFUSED(post_recv, IB_USER_VERBS_CMD_POST_RECV, sizeof(struct ib_uverbs_post_recv) + 32, 4)
REFUSED(attach_mcast, IB_USER_VERBS_CMD_ATTACH_MCAST, sizeof(struct ib_uverbs_attach_mcast), 0)
REFUSED(detach_mcast, IB_USER_VERBS_CMD_DETACH_MCAST, sizeof(struct ib_uverbs_detach_mcast), 0)
REFUSED(create_srq, IB_USER_VERBS_CMD_CREATE_SRQ, sizeof(struct ib_uverbs_create_srq), 16)
REFUSED(modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(struct ib_uverbs_modify_srq), 0)
REFUSED(query_srq, IB_USER_VERBS_CMD_QUERY_SRQ, sizeof(struct ib_uverbs_query_srq), 16)
REFUSED(destroy_srq, IB_USER_VERBS_CMD_DESTROY_SRQ, sizeof(struct ib_uverbs_destroy_srq), 4)
REFUSED(post_srq_recv, IB_USER_VERBS_CMD_POST_SRQ_RECV, sizeof(struct ib_uverbs_post_srq_recv) + 32,
	4)
REFUSED(open_xrcd, IB_USER_VERBS_CMD_OPEN_XRCD, sizeof(struct ib_uverbs_open_xrcd), 4)
REFUSED(close_xrcd, IB_USER_VERBS_CMD_CLOSE_XRCD, 4, 0)
REFUSED(create_xsrq, IB_USER_VERBS_CMD_CREATE_XSRQ, sizeof(struct ib_uverbs_create_xsrq), 16)
REFUSED(open_qp, IB_USER_VERBS_CMD_OPEN_QP, sizeof(struct ib_uverbs_open_qp),
	sizeof(struct ib_uverbs_create_qp_resp))
REFUSED(create_flow, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_FLOW),
	sizeof(struct ib_uverbs_create_flow) + 40, 8)
REFUSED(destroy_flow, EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_FLOW), 8, 0)
REFUSED(create_wq, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_WQ), sizeof(struct ib_uverbs_ex_create_wq),
	24)
REFUSED(modify_wq, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_WQ), sizeof(struct ib_uverbs_ex_modify_wq),
	0)
REFUSED(destroy_wq, EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_WQ), 8, 16)
REFUSED(create_rwq, EXTENDED(IB_USER_VERBS_EX_CMD_CREATE_RWQ_IND_TBL), 24, 16)
REFUSED(destroy_rwq, EXTENDED(IB_USER_VERBS_EX_CMD_DESTROY_RWQ_IND_TBL), 8, 0)
REFUSED(modify_cq, EXTENDED(IB_USER_VERBS_EX_CMD_MODIFY_CQ), 16, 0)

static void build_wild_command(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	uint32_t command = fuzz_one_in(fuzzer, 2) ? 41 + fuzz_below(fuzzer, 9) :
			   EXTENDED(58 + fuzz_below(fuzzer, 16));

	if (fuzz_one_in(fuzzer, 8))
		command = fuzz_value(fuzzer, 4, 0) | 1 << 8;
	build_refused(fuzzer, call, command, 4 * fuzz_below(fuzzer, 16),
		      4 * fuzz_below(fuzzer, 16));
}

/* methods of objects that there are none of, and attributes of any kind */
static void build_wild_method(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	static const uint16_t objects[] = {
		UVERBS_OBJECT_SRQ,
		UVERBS_OBJECT_FLOW,
		UVERBS_OBJECT_XRCD,
		UVERBS_OBJECT_RWQ_IND_TBL,
		UVERBS_OBJECT_WQ,
		UVERBS_OBJECT_FLOW_ACTION,
		UVERBS_OBJECT_DM,
		UVERBS_OBJECT_COUNTERS,
		OBJECT_DMAH,
		OBJECT_DMABUF,
		19,
		20,
		0x1000,
		0x1009,
		0x100c,
		0x2000,
	};
	const unsigned int attrs = fuzz_below(fuzzer, 12);

	start(call, objects[fuzz_below(fuzzer, 16)], fuzz_below(fuzzer, 4) |
	      (fuzz_one_in(fuzzer, 4) ? DVQ_ID_NS : 0));
	for (unsigned int i = 0; i < attrs; i++)
		switch (fuzz_below(fuzzer, 4)) {
		case 0:
			attr_out(fuzzer, call, i, fuzz_below(fuzzer, 64));
			break;
		case 1:
			attr_u64(call, i, fuzz_value(fuzzer, 8, 0));
			break;
		case 2:
			attr_u32(call, i, fuzz_value(fuzzer, 4, 0));
			break;
		default:
			uv_handle(&call->uv, i, handle(fuzzer, fuzz_below(fuzzer, FUZZ_CMB)));
		}
}

/* The device has neither of them, but the core knows their methods. */
static void build_advise_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	struct ib_uverbs_sge *sge;

	start(call, UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR);
	uv_handle(&call->uv, UVERBS_ATTR_ADVISE_MR_PD_HANDLE, handle(fuzzer, FUZZ_PD));
	attr_u64(call, UVERBS_ATTR_ADVISE_MR_ADVICE, fuzz_below(fuzzer, 3));
	attr_u32(call, UVERBS_ATTR_ADVISE_MR_FLAGS, fuzz_below(fuzzer, 2));
	sge = attr_in(fuzzer, call, UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(*sge));
	sge->addr = FUZZ_MEMORY;
	sge->length = PAGE;
}

static void build_dm_mr(struct fuzzer *fuzzer, struct fuzz_call *call)
{
	start(call, UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG);
	uv_handle(&call->uv, UVERBS_ATTR_REG_DM_MR_HANDLE, 0);
	attr_u64(call, UVERBS_ATTR_REG_DM_MR_OFFSET, 0);
	attr_u64(call, UVERBS_ATTR_REG_DM_MR_LENGTH, PAGE);
	uv_handle(&call->uv, UVERBS_ATTR_REG_DM_MR_PD_HANDLE, handle(fuzzer, FUZZ_PD));
	attr_u32(call, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 1 << 5);
	uv_handle(&call->uv, UVERBS_ATTR_REG_DM_MR_DM_HANDLE, 0);
	attr_out(fuzzer, call, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 4);
	attr_out(fuzzer, call, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 4);
}

/* ---- the table -------------------------------------------- */

#define HEARD		FUZZ_DEVICE_HEARS

#define NEEDS(kind)	.needs = FUZZ_OF(FUZZ_##kind)
#define MAKES(kind, function)	.makes = FUZZ_OF(FUZZ_##kind), .done = function
#define ENDS(kind, function)	NEEDS(kind), .ends = FUZZ_OF(FUZZ_##kind), .done = function

#define CALL(call, often, more, ...)						\
	{ .name = #call, .weight = often, .flags = more, .build = build_##call, ##__VA_ARGS__ }
#define RUN(call, often, more, ...)						\
	{ .name = #call, .weight = often, .flags = more, .run = run_##call, ##__VA_ARGS__ }
#define NEVER(call)	CALL(call, 2, FUZZ_NEVER)

const struct fuzz_type fuzz_types[] = {
	CALL(info_handles, 6, 0),
	CALL(query_port, 6, 0),
	CALL(query_port_speed, 4, FUZZ_NOT_IONIC | FUZZ_NEW),
	NEVER(query_context),
	CALL(gid_table, 6, 0),
	CALL(gid_entry, 6, 0),
	CALL(old_query_device, 6, 0),
	CALL(ex_query_device, 8, 0),
	CALL(old_query_port, 6, 0),
	/* there is a context already */
	NEVER(old_get_context),
	RUN(open, 3, HEARD),

	CALL(async, 3, FUZZ_MAKES_FILE, MAKES(ASYNC, done_async)),
	RUN(close_async, 2, FUZZ_ALWAYS, ENDS(ASYNC, NULL)),
	CALL(channel, 3, FUZZ_MAKES_FILE, MAKES(CHANNEL, done_channel)),
	RUN(close_channel, 2, FUZZ_ALWAYS, ENDS(CHANNEL, NULL)),
	RUN(read_events, 4, FUZZ_EITHER, NEEDS(CHANNEL)),

	CALL(alloc_pd, 4, HEARD, MAKES(PD, done_alloc_pd)),
	CALL(dealloc_pd, 3, HEARD, ENDS(PD, done_destroy_pd)),
	CALL(destroy_pd, 3, HEARD, ENDS(PD, done_destroy_pd)),

	CALL(old_create_cq, 4, HEARD | FUZZ_KERNEL_CQS, MAKES(CQ, done_old_create_cq)),
	CALL(ex_create_cq, 4, HEARD | FUZZ_KERNEL_CQS, MAKES(CQ, done_old_create_cq)),
	CALL(create_cq, 16, HEARD, MAKES(CQ, done_create_cq)),
	CALL(old_destroy_cq, 4, HEARD, ENDS(CQ, done_destroy_cq)),
	CALL(destroy_cq, 4, HEARD, ENDS(CQ, done_destroy_cq)),

	CALL(old_create_qp, 10, HEARD, NEEDS(CQ), MAKES(QP, done_old_create_qp)),
	CALL(ex_create_qp, 10, HEARD, NEEDS(CQ), MAKES(QP, done_ex_create_qp)),
	CALL(create_qp, 16, HEARD, NEEDS(CQ), MAKES(QP, done_create_qp)),
	CALL(old_destroy_qp, 4, HEARD, ENDS(QP, done_destroy_qp)),
	CALL(destroy_qp, 4, HEARD, ENDS(QP, done_destroy_qp)),
	CALL(query_qp, 6, HEARD, NEEDS(QP)),
	CALL(modify_qp, 16, HEARD, NEEDS(QP), .done = done_modify_qp),
	CALL(ex_modify_qp, 10, HEARD, NEEDS(QP), .done = done_modify_qp),

	CALL(create_ah, 10, HEARD, NEEDS(PD), MAKES(AH, done_create_ah)),
	CALL(old_destroy_ah, 4, HEARD, ENDS(AH, done_destroy_ah)),
	CALL(destroy_ah, 4, HEARD, ENDS(AH, done_destroy_ah)),

	CALL(old_reg_mr, 8, HEARD, NEEDS(PD), MAKES(MR, done_old_reg_mr)),
	CALL(reg_mr, 8, HEARD | FUZZ_NEW, NEEDS(PD), MAKES(MR, done_reg_mr)),
	CALL(reg_dmabuf, 4, HEARD, NEEDS(PD), MAKES(MR, done_reg_mr)),
	CALL(query_mr, 6, 0, NEEDS(MR)),
	CALL(efa_query_mr, 6, FUZZ_NOT_IONIC, NEEDS(MR)),
	CALL(dereg_mr, 4, HEARD, ENDS(MR, done_destroy_mr)),
	CALL(destroy_mr, 4, HEARD, ENDS(MR, done_destroy_mr)),

	CALL(alloc_mw, 4, HEARD | FUZZ_NOT_EFA, NEEDS(PD), MAKES(MW, done_alloc_mw)),
	CALL(dealloc_mw, 2, HEARD | FUZZ_NOT_EFA, ENDS(MW, done_destroy_mw)),
	CALL(destroy_mw, 2, HEARD | FUZZ_NOT_EFA, ENDS(MW, done_destroy_mw)),

	CALL(dvq_query_device, 10, 0),
	CALL(set_policy, 12, 0, NEEDS(PD)),
	CALL(get_policy, 10, 0, NEEDS(PD)),
	CALL(dvq_query_qp, 12, 0, NEEDS(QP)),
	CALL(dvq_query_cq, 12, 0, NEEDS(CQ)),
	CALL(dvq_query_ah, 10, 0, NEEDS(AH)),
	CALL(dvq_query_context, 10, 0, 0),
	CALL(dvq_query_uids, 10, 0, 0),
	CALL(cmb_alloc, 8, HEARD | FUZZ_NOT_EFA, MAKES(CMB, done_cmb_alloc)),
	CALL(cmb_query, 6, FUZZ_NOT_EFA, NEEDS(CMB)),
	CALL(cmb_free, 4, FUZZ_NOT_EFA, ENDS(CMB, done_destroy_cmb)),

	RUN(mmap, 10, 0, NEEDS(KEY)),
	RUN(munmap, 4, FUZZ_ALWAYS, NEEDS(MAP)),
	RUN(touch, 8, FUZZ_ALWAYS, NEEDS(MAP)),
	RUN(remap, 3, 0, NEEDS(MAP)),

	NEVER(modify_ah), NEVER(query_ah), NEVER(reg_smr), NEVER(rereg_mr),
	NEVER(old_query_mr), NEVER(bind_mw), NEVER(resize_cq), NEVER(poll_cq),
	NEVER(peek_cq), NEVER(req_notify_cq), NEVER(post_send), NEVER(post_recv),
	NEVER(attach_mcast), NEVER(detach_mcast), NEVER(create_srq), NEVER(modify_srq),
	NEVER(query_srq), NEVER(destroy_srq), NEVER(post_srq_recv), NEVER(open_xrcd),
	NEVER(close_xrcd), NEVER(create_xsrq), NEVER(open_qp), NEVER(create_flow),
	NEVER(destroy_flow), NEVER(create_wq), NEVER(modify_wq), NEVER(destroy_wq),
	NEVER(create_rwq), NEVER(destroy_rwq), NEVER(modify_cq), NEVER(wild_command),
	NEVER(wild_method), NEVER(advise_mr), NEVER(dm_mr),
};

const unsigned int fuzz_types_count = sizeof(fuzz_types) / sizeof(fuzz_types[0]);
_Static_assert(sizeof(fuzz_types) / sizeof(fuzz_types[0]) <= FUZZ_TYPES, "too many types of calls");
