// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The records as `rdma resource show cq|qp -dd` prints them: the same names as the
 * fields of dvq-abi.h, those of a work queue behind "sq_" or "rq_".
 *
 * A dump may run while the object is being destroyed (before 6.12 even after), so
 * only memory embedded in the object is read here.
 */
#include <linux/string.h>
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "core.h"

static const char *const mem_names[] = {
	[DVQ_MEM_NONE]		= "none",
	[DVQ_MEM_KERNEL]	= "host",
	[DVQ_MEM_USER]		= "user",
	[DVQ_MEM_CMB]		= "cmb",
};

/* One field. The name is put together here because netlink copies it. */
struct field {
	const char *name;
	u64 value;
	bool hex;
};

static int put_field(struct sk_buff *msg, const char *prefix, const struct field *field)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", prefix, field->name);
	if (field->hex)
		return rdma_nl_put_driver_u64_hex(msg, name, field->value);
	return rdma_nl_put_driver_u64(msg, name, field->value);
}

static int put_fields(struct sk_buff *msg, const char *prefix, const struct field *fields,
		      size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (put_field(msg, prefix, &fields[i]))
			return -EMSGSIZE;
	return 0;
}

static int put_mem(struct sk_buff *msg, const char *prefix, u8 mem)
{
	char name[16];

	snprintf(name, sizeof(name), "%smem", prefix);
	return rdma_nl_put_driver_string(msg, name, mem_names[mem]);
}

static int put_wq(struct sk_buff *msg, const char *prefix, const struct dvq_wq_info *wq)
{
	const struct field fields[] = {
		{ "entry_size", wq->entry_size },
		{ "entries", wq->entries },
		{ "max_wr", wq->max_wr },
		{ "max_batch", wq->max_batch },
		{ "caps", wq->caps, true },
		{ "ring_offset", wq->ring_offset, true },
		{ "ring_length", wq->ring_length },
		{ "db_offset", wq->db_offset, true },
		{ "db_width", wq->db_width },
		{ "pipeline", wq->pipeline },
	};

	if (wq->kind == DVQ_WQ_NONE)
		return 0;
	if (put_mem(msg, prefix, wq->mem))
		return -EMSGSIZE;
	return put_fields(msg, prefix, fields, ARRAY_SIZE(fields));
}

static int put_qp(struct sk_buff *msg, const struct dvq_qp *qp)
{
	const struct field fields[] = {
		{ "uid", qp->info.uid },
		{ "generation", qp->info.generation },
		{ "send_sub_cq", qp->info.send_sub_cq },
		{ "recv_sub_cq", qp->info.recv_sub_cq },
	};
	int ret;

	ret = put_fields(msg, "", fields, ARRAY_SIZE(fields));
	if (!ret)
		ret = put_wq(msg, "sq_", &qp->sq);
	if (!ret)
		ret = put_wq(msg, "rq_", &qp->rq);
	return ret;
}

static int put_cq_ring(struct sk_buff *msg, const struct dvq_cq_info *ring)
{
	const struct field fields[] = {
		{ "uid", ring->uid },
		{ "cq_num", ring->cq_num },
		{ "entry_size", ring->entry_size },
		{ "entries", ring->entries },
		{ "sub_cqs", ring->sub_cqs },
		{ "pipeline", ring->pipeline },
		{ "caps", ring->caps, true },
		{ "ring_length", ring->ring_length },
		{ "db_offset", ring->db_offset, true },
		{ "db_width", ring->db_width },
	};

	if (put_mem(msg, "", ring->mem))
		return -EMSGSIZE;
	return put_fields(msg, "", fields, ARRAY_SIZE(fields));
}

int dvq_fill_res_qp(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (put_qp(msg, to_dvq_qp(ibqp))) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int dvq_fill_res_cq(struct sk_buff *msg, struct ib_cq *ibcq)
{
	const struct dvq_cq *cq = to_dvq_cq(ibcq);
	struct nlattr *table;
	unsigned int i;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	for (i = 0; i < DVQ_PIPELINES; i++) {
		if (!cq->ring[i].entries)
			continue;
		if (put_cq_ring(msg, &cq->ring[i])) {
			nla_nest_cancel(msg, table);
			return -EMSGSIZE;
		}
	}
	nla_nest_end(msg, table);
	return 0;
}
