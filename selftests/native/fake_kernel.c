// SPDX-License-Identifier: GPL-2.0
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "fake_kernel.h"

#define EFA_DRIVER	17
#define IONIC_DRIVER	21

struct fake_kernel fake_kernel;

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr);

/* ---- attributes of a call ---------------------------------------------------------- */

static struct ib_uverbs_attr *find_attr(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

/* as the kernel does: cut to the caller's length, zero beyond what is known */
static int put(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, const void *data, size_t size,
	       size_t least)
{
	struct ib_uverbs_attr *attr = find_attr(hdr, id);
	unsigned char *to;

	if (!attr)
		return 0;
	if (attr->len < least)
		return EINVAL;
	to = (unsigned char *)(uintptr_t)attr->data;
	memset(to, 0, attr->len);
	memcpy(to, data, attr->len < size ? attr->len : size);
	attr->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

#define PUT(hdr, id, value)	put(hdr, id, &(value), sizeof(value), sizeof(value))

static int handle_of(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint64_t *handle)
{
	struct ib_uverbs_attr *attr = find_attr(hdr, id);

	if (!attr || attr->len)
		return EINVAL;
	*handle = attr->data;
	return *handle < FAKE_OBJECTS ? 0 : ENOENT;
}

/* ---- methods ----------------------------------------------------------------------- */

static int query_qp(struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct fake_qp *qp;
	uint64_t handle;
	int ret;

	ret = handle_of(hdr, DVQ_ATTR_QUERY_QP_QP, &handle);
	if (ret)
		return ret;
	qp = &fake_kernel.qps[handle];
	if (!qp->exists)
		return ENOENT;
	if (qp->error)
		return qp->error;
	ret = PUT(hdr, DVQ_ATTR_QUERY_QP_INFO, qp->info);
	if (!ret)
		ret = PUT(hdr, DVQ_ATTR_QUERY_QP_SQ, qp->sq);
	return ret ? ret : PUT(hdr, DVQ_ATTR_QUERY_QP_RQ, qp->rq);
}

/* the ring on the pipeline of the attribute, which is absent or inline */
static const struct dvq_cq_info *find_ring(const struct fake_cq *cq,
					   const struct ib_uverbs_attr *attr)
{
	if (!attr || attr->data == cq->info.pipeline)
		return &cq->info;
	return attr->data == 1 && cq->second.entries ? &cq->second : NULL;
}

static int query_cq(struct ib_uverbs_ioctl_hdr *hdr)
{
	const struct dvq_cq_info *ring;
	uint64_t handle;
	int ret;

	ret = handle_of(hdr, DVQ_ATTR_QUERY_CQ_CQ, &handle);
	if (ret)
		return ret;
	if (!fake_kernel.cqs[handle].exists)
		return ENOENT;
	ring = find_ring(&fake_kernel.cqs[handle], find_attr(hdr, DVQ_ATTR_QUERY_CQ_PIPELINE));
	return ring ? PUT(hdr, DVQ_ATTR_QUERY_CQ_INFO, *ring) : EINVAL;
}

static int query_ah(struct ib_uverbs_ioctl_hdr *hdr)
{
	uint64_t handle;
	int ret;

	ret = handle_of(hdr, DVQ_ATTR_QUERY_AH_AH, &handle);
	return ret ? ret : PUT(hdr, DVQ_ATTR_QUERY_AH_INFO, fake_kernel.ahs[handle]);
}

static bool is_alive(uint64_t uid)
{
	for (unsigned int i = 0; i < FAKE_OBJECTS; i++)
		if ((fake_kernel.qps[i].exists && fake_kernel.qps[i].info.uid == uid) ||
		    (fake_kernel.cqs[i].exists && fake_kernel.cqs[i].info.uid == uid))
			return true;
	return false;
}

static int query_uids(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attr = find_attr(hdr, DVQ_ATTR_QUERY_UIDS_UIDS);
	const uint64_t *uids;
	uint8_t alive[64];
	size_t n;

	if (!attr || attr->len % sizeof(*uids) || attr->len > sizeof(alive) * sizeof(*uids))
		return EINVAL;
	n = attr->len / sizeof(*uids);
	uids = (const void *)(n == 1 ? (uintptr_t)&attr->data : (uintptr_t)attr->data);
	for (size_t i = 0; i < n; i++)
		alive[i] = is_alive(uids[i]);
	return put(hdr, DVQ_ATTR_QUERY_UIDS_ALIVE, alive, n, 1);
}

static int set_policy(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attr = find_attr(hdr, DVQ_ATTR_SET_PD_POLICY_POLICY);
	size_t size = sizeof(fake_kernel.policy);
	const void *from;

	if (!attr || attr->len < size)
		return EINVAL;
	from = attr->len <= sizeof(attr->data) ? &attr->data : (void *)(uintptr_t)attr->data;
	memcpy(&fake_kernel.policy, from, size);
	fake_kernel.policies++;
	attr = find_attr(hdr, DVQ_ATTR_SET_PD_POLICY_POOL);
	if (attr)
		fake_kernel.pool = (uint32_t)attr->data;
	return 0;
}

/* the one region of handle 5 */
static int cmb_method(struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *attr = find_attr(hdr, DVQ_ATTR_CMB_ALLOC_HANDLE);
	const struct dvq_cmb_alloc *req;

	if (fake_kernel.error)
		return fake_kernel.error;
	if (!attr)
		return EINVAL;
	if (hdr->method_id == DVQ_METHOD_CMB_FREE) {
		if (attr->data != FAKE_REGION || !fake_kernel.region.length)
			return ENOENT;
		fake_kernel.region.length = 0;
		return 0;
	}
	if (hdr->method_id != DVQ_METHOD_CMB_ALLOC)
		return EPROTONOSUPPORT;
	req = (const void *)(uintptr_t)find_attr(hdr, DVQ_ATTR_CMB_ALLOC_REQ)->data;
	attr->data = FAKE_REGION;
	fake_kernel.region.length = (req->length + 4095) / 4096 * 4096;
	fake_kernel.region.key = 4 * 4096;
	return PUT(hdr, DVQ_ATTR_CMB_ALLOC_INFO, fake_kernel.region);
}

static int planned_error(void)
{
	const int error = fake_kernel.error;

	if (!error)
		return 0;
	if (fake_kernel.passes) {
		fake_kernel.passes--;
		return 0;
	}
	if (fake_kernel.failures && !--fake_kernel.failures)
		fake_kernel.error = 0;
	return error;
}

static int dvq_method(struct ib_uverbs_ioctl_hdr *hdr)
{
	int ret;

	if (hdr->method_id == DVQ_METHOD_QUERY_DEVICE)
		return PUT(hdr, DVQ_ATTR_QUERY_DEVICE_INFO, fake_kernel.device);
	if (fake_kernel.driver == FAKE_DVQ_OLD)
		return EPROTONOSUPPORT;
	ret = planned_error();
	if (ret)
		return ret;
	switch (hdr->method_id) {
	case DVQ_METHOD_QUERY_UIDS:
		return query_uids(hdr);
	case DVQ_METHOD_QUERY_QP:
		fake_kernel.held++;
		return query_qp(hdr);
	case DVQ_METHOD_QUERY_CQ:
		fake_kernel.held++;
		return query_cq(hdr);
	case DVQ_METHOD_QUERY_AH:
		return query_ah(hdr);
	case DVQ_METHOD_QUERY_CONTEXT:
		return PUT(hdr, DVQ_ATTR_QUERY_CONTEXT_INFO, fake_kernel.context);
	case DVQ_METHOD_SET_PD_POLICY:
		return set_policy(hdr);
	case DVQ_METHOD_GET_PD_POLICY:
		return PUT(hdr, DVQ_ATTR_GET_PD_POLICY_POLICY, fake_kernel.policy);
	default:
		return EPROTONOSUPPORT;
	}
}

static int query_mr(struct ib_uverbs_ioctl_hdr *hdr)
{
	for (int i = 0; i < 4; i++)
		if (PUT(hdr, DVQ_EFA_ATTR_MR_QUERY_VALIDITY + i, fake_kernel.mr[i]))
			return EINVAL;
	return fake_kernel.error;
}

static int is_ionic(void)
{
	return fake_kernel.driver == FAKE_IONIC || fake_kernel.driver == FAKE_IONIC_IN_TREE;
}

static int is_efa(void)
{
	return !is_ionic() && fake_kernel.driver != FAKE_OTHER;
}

static int has_dvq(void)
{
	return fake_kernel.driver == FAKE_DVQ || fake_kernel.driver == FAKE_DVQ_OLD ||
	       fake_kernel.driver == FAKE_IONIC;
}

static int method(struct ib_uverbs_ioctl_hdr *hdr)
{
	const uint32_t driver_id = is_efa() ? EFA_DRIVER : is_ionic() ? IONIC_DRIVER : 3;

	if (hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(hdr->attrs[0]))
		return EINVAL;
	if (hdr->driver_id != driver_id)
		return EINVAL;
	if (hdr->object_id == DVQ_OBJECT && has_dvq())
		return dvq_method(hdr);
	if (hdr->object_id == DVQ_OBJECT_CMB && has_dvq())
		return cmb_method(hdr);
	if (hdr->object_id == UVERBS_OBJECT_MR && hdr->method_id == DVQ_EFA_METHOD_MR_QUERY)
		return query_mr(hdr);
	if (hdr->object_id == UVERBS_OBJECT_DEVICE && hdr->method_id == UVERBS_METHOD_INVOKE_WRITE)
		return PUT(hdr, UVERBS_ATTR_UHW_OUT, fake_kernel.abi);
	return EPROTONOSUPPORT;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct ib_uverbs_ioctl_hdr *hdr;
	va_list args;
	int ret;

	(void)fd;
	va_start(args, request);
	hdr = va_arg(args, struct ib_uverbs_ioctl_hdr *);
	va_end(args);
	if (fake_kernel.hook)
		fake_kernel.hook();
	ret = request == RDMA_VERBS_IOCTL ? method(hdr) : ENOTTY;
	fake_kernel.calls++;
	fake_kernel.object = hdr->object_id;
	fake_kernel.method = hdr->method_id;
	fake_kernel.lengths = 0;
	for (int i = 0; i < hdr->num_attrs; i++)
		fake_kernel.lengths += hdr->attrs[i].len;
	errno = ret;
	return ret ? -1 : 0;
}

int __wrap_ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = is_efa() ? 0x1d0f : is_ionic() ? 0x1dd8 : 0x15b3;
	attr->vendor_part_id = is_efa() ? 0xefa2 : 0x1002;
	return 0;
}

int __wrap_ibv_destroy_cq(struct ibv_cq *cq);
int __wrap_ibv_destroy_cq(struct ibv_cq *cq)
{
	fake_kernel.destroyed++;
	free(cq);
	return 0;
}

int __wrap_ibv_destroy_qp(struct ibv_qp *qp);
int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
	fake_kernel.destroyed++;
	free(qp);
	return 0;
}

/* ---- a device and its objects ------------------------------------------------------ */

static struct dvq_wq_info wq(uint8_t kind, uint32_t entry_size, uint32_t entries, uint64_t key)
{
	return (struct dvq_wq_info) {
		.kind = kind, .mem = kind == DVQ_WQ_SQ ? DVQ_MEM_CMB : DVQ_MEM_KERNEL,
		.db_format = DVQ_DB_EFA_COUNT, .db_width = 4, .entry_size = entry_size,
		.caps = kind == DVQ_WQ_SQ ? DVQ_WQ_HINTS : 0,
		.entries = entries, .max_wr = entries, .max_batch = entries / 2,
		.ring_key = key, .ring_length = 0x2000, .ring_offset = kind == DVQ_WQ_SQ ? 64 : 0,
		.db_key = key + 0x4000, .db_length = 0x1000, .db_offset = 0x124,
	};
}

/* a QP on pipeline 1 with its send queue in controller memory, and a CQ on both */
static void make_ionic_objects(void)
{
	struct fake_kernel *k = &fake_kernel;

	k->qps[1] = (struct fake_qp) {
		.exists = true,
		.info = { .uid = 101, .qp_num = 9, .generation = 2, .max_inline = 24,
			  .max_send_sge = 1, .max_recv_sge = 2, .max_rdma_sge = 1 },
		.sq = { .kind = DVQ_WQ_SQ, .mem = DVQ_MEM_CMB, .db_format = DVQ_DB_IONIC,
			.db_width = 8, .caps = DVQ_WQ_EXPDB, .entry_size = 64, .entries = 64,
			.max_wr = 63, .max_batch = 63, .pipeline = 1, .ring_key = 0x10000,
			.ring_length = 0x1000, .db_key = 0x4000, .db_length = 0x1000,
			.db_offset = 24, .db_value = 9 << 24,
			.user_addr = (uintptr_t)k->memory[0] },
		.rq = { .kind = DVQ_WQ_RQ, .mem = DVQ_MEM_USER, .db_format = DVQ_DB_IONIC,
			.db_width = 8, .entry_size = 64, .entries = 128, .max_wr = 127,
			.max_batch = 127, .pipeline = 1, .db_key = 0x4000, .db_length = 0x1000,
			.db_offset = 32, .db_value = 9 << 24,
			.user_addr = (uintptr_t)k->memory[1] },
	};
	k->cqs[1] = (struct fake_cq) {
		.exists = true,
		.info = { .uid = 102, .cq_num = 5, .mem = DVQ_MEM_USER, .first_phase = 1,
			  .db_format = DVQ_DB_IONIC, .db_width = 8, .entry_size = 32,
			  .entries = 128, .sub_cqs = 1, .pipelines = 3, .db_key = 0x4000,
			  .db_length = 0x1000, .db_offset = 40, .db_value = 5 << 24,
			  .user_addr = (uintptr_t)k->memory[2] },
	};
	k->cqs[1].second = k->cqs[1].info;
	k->cqs[1].second.pipeline = 1;
	k->cqs[1].second.cq_num = 8;
	k->cqs[1].second.db_value = 8 << 24;
	k->cqs[1].second.user_addr = (uintptr_t)k->memory[3];
}

static void make_objects(void)
{
	struct fake_kernel *k = &fake_kernel;

	k->qps[1] = (struct fake_qp) {
		.exists = true,
		.info = { .uid = 101, .qp_num = 55, .generation = 2, .max_inline = 32,
			  .max_send_sge = 2, .max_recv_sge = 1, .max_rdma_sge = 1 },
		.sq = wq(DVQ_WQ_SQ, 64, 64, 0x10000),
		.rq = wq(DVQ_WQ_RQ, 16, 128, 0x20000),
	};
	k->cqs[1] = (struct fake_cq) {
		.exists = true,
		.info = { .uid = 102, .cq_num = 9, .mem = DVQ_MEM_KERNEL, .first_phase = 1,
			  .db_format = DVQ_DB_EFA_CQ, .db_width = 4, .entry_size = 32,
			  .entries = 128, .sub_cqs = 2, .ring_key = 0x30000,
			  .ring_length = 0x2000, .db_key = 0x34000, .db_length = 0x1000,
			  .db_offset = 0x888 },
	};
	k->ahs[1] = (struct dvq_ah_info) { .ah_num = 0x4321, .users = 3 };
}

struct ibv_context *fake_open(enum fake_driver driver)
{
	struct ibv_context *context = calloc(1, sizeof(*context));

	memset(&fake_kernel, 0, sizeof(fake_kernel));
	fake_kernel.driver = driver;
	fake_kernel.device = (struct dvq_device_info) {
		.abi_version = 1,
		.driver = driver == FAKE_IONIC ? DVQ_DRIVER_IONIC : DVQ_DRIVER_EFA,
		.caps = DVQ_DEVICE_RDMA_READ | DVQ_DEVICE_RDMA_WRITE,
		.sub_cqs_per_cq = 2, .max_sq_wr = 4096, .max_rq_desc = 32768, .max_send_sge = 2,
		.max_recv_sge = 3, .max_rdma_sge = 1, .max_inline = 32, .max_inline_ex = 80,
		.max_sq_bytes = 262144 + 4096,
	};
	if (driver == FAKE_IONIC) {
		fake_kernel.device.caps |= DVQ_DEVICE_SQ_CMB | DVQ_DEVICE_RQ_CMB |
					   DVQ_DEVICE_SQ_EXPDB;
		fake_kernel.device.wqe_version = 2;
	}
	fake_kernel.abi = (struct dvq_efa_device_resp) {
		.max_sq_wr = 4097, .max_rq_wr = 32769, .max_sq_sge = 2, .max_rq_sge = 3,
		.max_rdma_size = 1 << 30, .device_caps = 0x1ff,
	};
	fake_kernel.context = (struct dvq_context_info) {
		.changes_key = 0x40000, .changes_length = 0x1000,
	};
	if (driver == FAKE_IONIC)
		make_ionic_objects();
	else
		make_objects();
	context->device = calloc(1, sizeof(*context->device));
	snprintf(context->device->name, sizeof(context->device->name), "fake%d", driver);
	snprintf(context->device->dev_name, sizeof(context->device->dev_name), "uverbs0");
	context->cmd_fd = memfd_create("fake-uverbs", MFD_CLOEXEC);
	if (context->cmd_fd < 0 || ftruncate(context->cmd_fd, FAKE_FILE_BYTES))
		abort();
	pthread_mutex_init(&context->mutex, NULL);
	return context;
}

void fake_close(struct ibv_context *context)
{
	close(context->cmd_fd);
	free(context->device);
	free(context);
}

unsigned int fake_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		n += !!strstr(line, "fake-uverbs");
	if (maps)
		fclose(maps);
	return n;
}

/* ---- the loader --------------------------------------------------------------------------- */

void (*fake_loader_asked)(void);

int __wrap_dladdr(const void *address, Dl_info *info);
int __real_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info)
{
	if (fake_loader_asked)
		fake_loader_asked();
	return __real_dladdr(address, info);
}
