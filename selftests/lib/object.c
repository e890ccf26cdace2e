// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <infiniband/efadv.h>
#include <string.h>
#include <sys/mman.h>

#include "endpoint.h"
#include "lab.h"
#include "object.h"

#define RING	16	/* entries of rings */

/* what objects are made of */
static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	void *memory;
	size_t bytes;
} scene;

static void *make_context(unsigned int i)
{
	(void)i;
	return ibv_open_device(self->device);
}

static int drop_context(void *object)
{
	return ibv_close_device(object);
}

static void *make_pd(unsigned int i)
{
	(void)i;
	return ibv_alloc_pd(self->context);
}

static int drop_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static void *make_cq(unsigned int i)
{
	(void)i;
	return ibv_create_cq(self->context, RING, NULL, NULL, 0);
}

static int drop_cq(void *object)
{
	return ibv_destroy_cq(object);
}

/* SRD and RC */
static void *make_qp(unsigned int i)
{
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = self->kind == ADAPTER_EFA ? IBV_QPT_DRIVER : IBV_QPT_RC,
		.pd = scene.pd, .send_cq = scene.cq, .recv_cq = scene.cq,
		.cap = { .max_send_wr = RING, .max_recv_wr = RING, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};

	(void)i;
	return self->kind == ADAPTER_EFA ?
	       efadv_create_qp_ex(self->context, &attr, &efa, sizeof(efa)) :
	       ibv_create_qp_ex(self->context, &attr);
}

/* to RTS, of an RC queue pair connected to itself */
static int change_qp(void *object)
{
	struct ibv_qp *qp = object;
	struct endpoint endpoint = { .adapter = self, .qp = qp, .qkey = ENDPOINT_QKEY };
	const struct address to = { .gid = self->gid, .qpn = qp->qp_num, .qkey = ENDPOINT_QKEY };
	int err = endpoint_step(&endpoint, IBV_QPS_INIT, 0);

	if (err || self->kind == ADAPTER_IONIC)
		return err ?: endpoint_connect(&endpoint, &to);
	return endpoint_step(&endpoint, IBV_QPS_RTR, 0) ?: endpoint_step(&endpoint, IBV_QPS_RTS, 0);
}

static int drop_qp(void *object)
{
	return ibv_destroy_qp(object);
}

/* of a peer that nobody knows yet; ionic must be able to find out its MAC address */
static void *make_ah(unsigned int i)
{
	union ibv_gid gid = self->gid;

	if (self->kind == ADAPTER_EFA)
		gid.raw[15] = (uint8_t)(gid.raw[15] + i + 1);
	return ah_try(scene.pd, &gid);
}

static void *make_same_ah(unsigned int i)
{
	(void)i;
	return ah_try(scene.pd, &self->gid);
}

static int drop_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static void *make_mr(unsigned int i)
{
	(void)i;
	return ibv_reg_mr(scene.pd, scene.memory, scene.bytes, IBV_ACCESS_LOCAL_WRITE);
}

static int drop_mr(void *object)
{
	return ibv_dereg_mr(object);
}

const struct object_kind object_kinds[] = {
	{ "context", { "open", NULL, "close" }, 8, 0, make_context, NULL, drop_context },
	{ "PD", { "create", NULL, "destroy" }, 16, 0, make_pd, NULL, drop_pd },
	{ "CQ", { "create", NULL, "destroy" }, 16, 0, make_cq, NULL, drop_cq },
	{ "QP", { "create", "modify to RTS", "destroy" }, 16, 0, make_qp, change_qp, drop_qp },
	{ "AH", { "create", NULL, "destroy" }, 16, 0, make_ah, NULL, drop_ah },
	{ "AH of one peer", { "create", NULL, "destroy" }, 16, 0, make_same_ah, NULL, drop_ah },
	{ "MR of 4 KiB", { "register", NULL, "deregister" }, 16, 4096, make_mr, NULL, drop_mr },
	{ "MR of 64 MiB", { "register", NULL, "deregister" }, 4, 64 << 20, make_mr, NULL, drop_mr },
	{ "MR of 1 GiB", { "register", NULL, "deregister" }, 1, 1 << 30, make_mr, NULL, drop_mr },
	{ .name = NULL }
};

const struct object_kind *object_kind(const char *name)
{
	const struct object_kind *kind = object_kinds;

	while (kind->name && strcmp(kind->name, name))
		kind++;
	LAB_NEED(kind->name, "no kind of objects '%s'", name);
	return kind;
}

static int drop_shared_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static int drop_memory(void *object)
{
	return munmap(object, scene.bytes) ? errno : 0;
}

void objects_begin(const struct object_kind *kind)
{
	scene.pd = pd_new(self);
	scene.cq = ibv_create_cq(self->context, RING * 2, NULL, NULL, 0);
	LAB_NEED(scene.cq, "ibv_create_cq: %s", strerror(errno));
	lab_hold(drop_shared_cq, scene.cq);
	scene.bytes = kind->bytes;
	if (!kind->bytes)
		return;
	scene.memory = mmap(NULL, kind->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	LAB_NEED(scene.memory != MAP_FAILED, "mmap: %s", strerror(errno));
	lab_hold(drop_memory, scene.memory);
}

void object_act(const struct object_kind *kind, enum object_act act, void **object, unsigned int i)
{
	int err = 0;

	if (act == OBJECT_MAKE) {
		*object = kind->make(i);
		err = *object ? 0 : errno;
	} else {
		err = act == OBJECT_CHANGE ? kind->change(*object) : kind->drop(*object);
	}
	LAB_NEED(!err, "%s, %s: %s", kind->name, kind->act[act], strerror(err));
}

/* those of the Ethernet side are the RDMA driver's, too */
uint64_t object_commands(const struct model_stats *stats)
{
	return model_stat(stats, "admin") + (self->kind == ADAPTER_IONIC ?
	       model_stat(stats, "eth_devcmds") + model_stat(stats, "eth_admin") : 0);
}

uint64_t object_accesses(const struct model_stats *stats)
{
	return model_stat(stats, "trapped_reads") + model_stat(stats, "trapped_writes");
}
