// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Direct verbs of EFA: the queries.
 *
 * On a device of dvq the kernel's record answers; on one of the in-tree driver the stock
 * library does; on any other the answer is "not this device". A length counts as enough
 * when it reaches to the end of the last field that the first release of the call had,
 * and nothing is written beyond it.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/efadv.h>
#include <rdma/dvq-efa-abi.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "internal.h"

#define END_OF(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))

static int bad_argument(void)
{
	return dvq_refuse(EINVAL, "an argument is NULL");
}

static int too_short(uint32_t inlen)
{
	return dvq_refuse(EINVAL, "a struct of %u bytes lacks fields that are needed", inlen);
}

static int not_in_stock(struct ibv_context *context)
{
	return dvq_refuse(EOPNOTSUPP,
			  "%s: neither driven by dvq nor does the stock libefa have this call",
			  ibv_get_device_name(context->device));
}

/*
 * Who answers: 0 - the record, in DVQ_OWNER_DVQ; else EOPNOTSUPP for a device that is no
 * EFA, with the reason said.
 */
static int find_owner(struct ibv_context *context, enum dvq_owner *owner)
{
	*owner = dvq_efa_owner(context);
	if (*owner == DVQ_OWNER_FOREIGN)
		return dvq_refuse(EOPNOTSUPP, "%s: not an EFA adapter",
				  ibv_get_device_name(context->device));
	return 0;
}

/* ---- device ------------------------------------------------------------------------- */

/* What the provider is told at context creation and asks again for nobody else. */
static int query_abi(struct ibv_context *context, struct dvq_efa_device_resp *resp)
{
	const uint64_t command = IB_USER_VERBS_EX_CMD_QUERY_DEVICE |
				 IB_USER_VERBS_CMD_FLAG_EXTENDED;
	struct ib_uverbs_ex_query_device_resp core;
	struct ib_uverbs_ex_query_device in = {};
	struct dvq_call call;

	memset(resp, 0, sizeof(*resp));
	dvq_call_init(&call, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	dvq_call_in(&call, UVERBS_ATTR_CORE_IN, &in, sizeof(in));
	dvq_call_out(&call, UVERBS_ATTR_CORE_OUT, &core, sizeof(core));
	dvq_call_in(&call, UVERBS_ATTR_WRITE_CMD, &command, sizeof(command));
	dvq_call_out(&call, UVERBS_ATTR_UHW_OUT, resp, sizeof(*resp));
	return dvq_call_issue(&call, context->cmd_fd, DVQ_RDMA_DRIVER_EFA);
}

/* RDMA bits only for who has room for the size that goes with them */
static uint32_t device_caps(uint32_t abi, bool rdma)
{
	static const struct {
		uint32_t abi;
		uint32_t efadv;
		bool rdma;
	} caps[] = {
		{ DVQ_EFA_DEVICE_RDMA_READ, EFADV_DEVICE_ATTR_CAPS_RDMA_READ, true },
		{ DVQ_EFA_DEVICE_RNR_RETRY, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY, false },
		{ DVQ_EFA_DEVICE_CQ_WITH_SGID, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID, false },
		{ DVQ_EFA_DEVICE_RDMA_WRITE, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, true },
		{ DVQ_EFA_DEVICE_UNSOLICITED, EFADV_DEVICE_ATTR_CAPS_UNSOLICITED_WRITE_RECV,
		  false },
		{ DVQ_EFA_DEVICE_CQ_WITH_EXT_MEM, EFADV_DEVICE_ATTR_CAPS_CQ_WITH_EXT_MEM_DMABUF,
		  false },
		{ DVQ_EFA_DEVICE_COMP_CNTR, EFADV_DEVICE_ATTR_CAPS_COMP_CNTR, false },
	};
	uint32_t mask = 0;

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		if (abi & caps[i].abi && (rdma || !caps[i].rdma))
			mask |= caps[i].efadv;
	return mask;
}

static int query_device(struct ibv_context *context, struct efadv_device_attr *attr, uint32_t inlen)
{
	struct efadv_device_attr answer = {};
	struct dvq_efa_device_resp abi;
	struct dvq_device_info info;
	int ret;

	ret = dvq_efa_query_device(context, &info);
	if (!ret)
		ret = query_abi(context, &abi);
	if (ret)
		return ret;
	answer.max_sq_wr = abi.max_sq_wr;
	answer.max_rq_wr = abi.max_rq_wr;
	answer.max_sq_sge = abi.max_sq_sge;
	answer.max_rq_sge = abi.max_rq_sge;
	answer.inline_buf_size = info.max_inline;
	answer.inline_buf_size_ex = info.max_inline_ex ? info.max_inline_ex : info.max_inline;
	answer.device_caps = device_caps(abi.device_caps,
					 inlen >= END_OF(struct efadv_device_attr, max_rdma_size));
	answer.max_rdma_size = abi.max_rdma_size;
	memset(attr, 0, inlen);
	memcpy(attr, &answer, inlen < sizeof(answer) ? inlen : sizeof(answer));
	return 0;
}

DVQ_API int efadv_query_device(struct ibv_context *ibvctx, struct efadv_device_attr *attr,
			       uint32_t inlen)
{
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvctx || !attr)
		return bad_argument();
	ret = find_owner(ibvctx, &owner);
	if (ret)
		return ret;
	if (inlen < END_OF(struct efadv_device_attr, inline_buf_size_ex))
		return too_short(inlen);
	if (owner == DVQ_OWNER_DVQ)
		return query_device(ibvctx, attr, inlen);
	stock = dvq_stock(ibvctx);
	if (!stock || !stock->query_device)
		return not_in_stock(ibvctx);
	return stock->query_device(ibvctx, attr, inlen);
}

static uint32_t round_down_power_of_two(uint32_t n)
{
	uint32_t power = 1;

	if (!n)
		return 0;
	while (n /= 2)
		power *= 2;
	return power;
}

/* input structs are zero beyond what is known */
static bool is_zero_beyond(const void *data, size_t known, uint32_t inlen)
{
	const unsigned char *bytes = data;

	for (size_t i = known; i < inlen; i++)
		if (bytes[i])
			return false;
	return true;
}

static int sq_depth(struct ibv_context *context, const struct efadv_sq_depth_attr *attr)
{
	const bool write = attr->flags & EFADV_SQ_DEPTH_ATTR_INLINE_WRITE;
	struct dvq_device_info info;
	uint32_t inline_ex, size;
	int ret;

	ret = dvq_efa_query_device(context, &info);
	if (ret)
		return -ret;
	if (write && !(info.caps & DVQ_DEVICE_RDMA_WRITE))
		return -dvq_refuse(EOPNOTSUPP, "the device has no RDMA write");
	inline_ex = info.max_inline_ex ? info.max_inline_ex : info.max_inline;
	if (attr->max_send_sge > info.max_send_sge || attr->max_rdma_sge > info.max_rdma_sge ||
	    attr->max_inline_data > inline_ex)
		return -dvq_refuse(EINVAL, "more SGEs or inline data than the device takes");
	size = write || attr->max_inline_data > EFA_WQE_INLINE ? EFA_WQE_SIZE_WIDE : EFA_WQE_SIZE;
	if (info.max_tx_batch && info.max_tx_batch * EFA_WQE_SIZE < size)
		return -dvq_refuse(EOPNOTSUPP, "an entry of %u bytes is more than the device takes at a time",
				   size);
	return round_down_power_of_two(info.max_sq_bytes / size);
}

DVQ_API int efadv_get_max_sq_depth(struct ibv_context *ibvctx, struct efadv_sq_depth_attr *attr,
				   uint32_t inlen)
{
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvctx || !attr)
		return -bad_argument();
	ret = find_owner(ibvctx, &owner);
	if (ret)
		return -ret;
	if (inlen < END_OF(struct efadv_sq_depth_attr, max_inline_data))
		return -too_short(inlen);
	if (attr->comp_mask || attr->flags & ~EFADV_SQ_DEPTH_ATTR_INLINE_WRITE ||
	    !is_zero_beyond(attr, sizeof(*attr), inlen))
		return -dvq_refuse(EINVAL, "comp_mask, a flag or the tail is not known");
	if (owner == DVQ_OWNER_DVQ)
		return sq_depth(ibvctx, attr);
	stock = dvq_stock(ibvctx);
	if (!stock || !stock->get_max_sq_depth)
		return -not_in_stock(ibvctx);
	return stock->get_max_sq_depth(ibvctx, attr, inlen);
}

static int rq_depth(struct ibv_context *context, uint32_t sges)
{
	struct dvq_device_info info;
	int ret;

	ret = dvq_efa_query_device(context, &info);
	if (ret)
		return -ret;
	if (sges > info.max_recv_sge)
		return -dvq_refuse(EINVAL, "more SGEs than the device takes");
	return info.max_rq_desc / sges;
}

DVQ_API int efadv_get_max_rq_depth(struct ibv_context *ibvctx, struct efadv_rq_depth_attr *attr,
				   uint32_t inlen)
{
	struct efadv_rq_depth_attr copy = {};
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvctx || !attr)
		return -bad_argument();
	ret = find_owner(ibvctx, &owner);
	if (ret)
		return -ret;
	if (inlen < END_OF(struct efadv_rq_depth_attr, max_recv_sge))
		return -too_short(inlen);
	if (attr->comp_mask || !is_zero_beyond(attr, sizeof(*attr), inlen))
		return -dvq_refuse(EINVAL, "comp_mask or the tail is not known");
	/* a receive without a buffer is none, and the stock library divides by it */
	copy.max_recv_sge = attr->max_recv_sge ? attr->max_recv_sge : 1;
	if (owner == DVQ_OWNER_DVQ)
		return rq_depth(ibvctx, copy.max_recv_sge);
	stock = dvq_stock(ibvctx);
	if (!stock || !stock->get_max_rq_depth)
		return -not_in_stock(ibvctx);
	return stock->get_max_rq_depth(ibvctx, &copy, sizeof(copy));
}

/* ---- AH and MR ------------------------------------------------------------------------ */

static int query_ah(struct ibv_ah *ah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	struct efadv_ah_attr answer = {};
	struct dvq_ah_info info;
	int ret;

	ret = dvq_efa_query_ah(ah, &info);
	if (ret)
		return ret;
	answer.ahn = info.ah_num;
	memset(attr, 0, inlen);
	memcpy(attr, &answer, inlen < sizeof(answer) ? inlen : sizeof(answer));
	return 0;
}

DVQ_API int efadv_query_ah(struct ibv_ah *ibvah, struct efadv_ah_attr *attr, uint32_t inlen)
{
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvah || !attr)
		return bad_argument();
	ret = find_owner(ibvah->context, &owner);
	if (ret)
		return ret;
	if (inlen < END_OF(struct efadv_ah_attr, ahn))
		return too_short(inlen);
	if (owner == DVQ_OWNER_DVQ)
		return query_ah(ibvah, attr, inlen);
	stock = dvq_stock(ibvah->context);
	if (!stock || !stock->query_ah)
		return not_in_stock(ibvah->context);
	return stock->query_ah(ibvah, attr, inlen);
}

/* a method that the drivers of EFA have beside ours, so older libraries can ask as well */
static int query_mr(struct ibv_mr *mr, struct efadv_mr_attr *answer)
{
	struct dvq_call call;

	dvq_call_init(&call, UVERBS_OBJECT_MR, DVQ_EFA_METHOD_MR_QUERY);
	dvq_call_handle(&call, DVQ_EFA_ATTR_MR_QUERY_HANDLE, mr->handle);
	dvq_call_out(&call, DVQ_EFA_ATTR_MR_QUERY_VALIDITY, &answer->ic_id_validity,
		     sizeof(answer->ic_id_validity));
	dvq_call_out(&call, DVQ_EFA_ATTR_MR_QUERY_RECV_IC, &answer->recv_ic_id,
		     sizeof(answer->recv_ic_id));
	dvq_call_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_READ_IC, &answer->rdma_read_ic_id,
		     sizeof(answer->rdma_read_ic_id));
	dvq_call_out(&call, DVQ_EFA_ATTR_MR_QUERY_RDMA_RECV_IC, &answer->rdma_recv_ic_id,
		     sizeof(answer->rdma_recv_ic_id));
	return dvq_call_issue(&call, mr->context->cmd_fd, DVQ_RDMA_DRIVER_EFA);
}

DVQ_API int efadv_query_mr(struct ibv_mr *ibvmr, struct efadv_mr_attr *attr, uint32_t inlen)
{
	struct efadv_mr_attr answer = {};
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvmr || !attr)
		return bad_argument();
	ret = find_owner(ibvmr->context, &owner);
	if (ret)
		return ret;
	if (inlen < END_OF(struct efadv_mr_attr, rdma_recv_ic_id))
		return too_short(inlen);
	memset(attr, 0, inlen);
	ret = query_mr(ibvmr, &answer);
	if (!ret)
		memcpy(attr, &answer, sizeof(answer));
	return ret;
}

/* ---- rings ------------------------------------------------------------------------------ */

/* @bytes at @offset of what is mapped for @key; without a key there is nothing */
static int borrow(const struct dvq_object *object, uint64_t key, uint64_t length, uint32_t offset,
		  uint64_t bytes, int prot, uint8_t **address)
{
	void *map;
	int ret;

	*address = NULL;
	if (!key)
		return 0;
	if (!dvq_fits(offset, bytes, length, sizeof(uint32_t)))
		return dvq_refuse(EOPNOTSUPP, "the kernel describes a queue beyond its mapping");
	ret = dvq_borrow(object, key, length, prot, &map);
	if (!ret)
		*address = (uint8_t *)map + offset;
	return ret;
}

/* an answer without addresses is all zero: the QP has no such queue */
static int wq_answer(const struct dvq_object *qp, const struct dvq_wq_info *wq, int ring_prot,
		     struct efadv_wq_attr *answer)
{
	uint8_t *doorbell;
	int ret;

	memset(answer, 0, sizeof(*answer));
	if (dvq_has_no_wq(wq))
		return 0;
	ret = borrow(qp, wq->ring_key, wq->ring_length, wq->ring_offset,
		     (uint64_t)wq->entries * wq->entry_size, ring_prot, &answer->buffer);
	if (ret)
		return ret;
	ret = borrow(qp, wq->db_key, wq->db_length, wq->db_offset, sizeof(uint32_t), PROT_WRITE,
		     &doorbell);
	if (ret)
		return ret;
	answer->entry_size = wq->entry_size;
	answer->num_entries = wq->entries;
	answer->doorbell = (uint32_t *)doorbell;
	answer->max_batch = wq->max_batch;
	if (wq->caps & DVQ_WQ_64BIT_IDS)
		answer->caps = EFADV_WQ_CAPS_64_BIT_REQ_ID;
	return 0;
}

static int query_wqs(struct ibv_qp *qp, struct efadv_wq_attr *sq, struct efadv_wq_attr *rq)
{
	struct dvq_object object = { .context = qp->context };
	struct dvq_wq_info sq_info, rq_info;
	struct dvq_qp_info info;
	int ret;

	ret = dvq_efa_query_qp(qp, &info, &sq_info, &rq_info);
	if (ret)
		return ret;
	object.uid = info.uid;
	ret = wq_answer(&object, &sq_info, PROT_WRITE, sq);
	if (ret)
		return ret;
	return wq_answer(&object, &rq_info, PROT_READ | PROT_WRITE, rq);
}

DVQ_API int efadv_query_qp_wqs(struct ibv_qp *ibvqp, struct efadv_wq_attr *sq_attr,
			       struct efadv_wq_attr *rq_attr, uint32_t inlen)
{
	struct efadv_wq_attr sq, rq;
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvqp || !sq_attr || !rq_attr)
		return bad_argument();
	ret = find_owner(ibvqp->context, &owner);
	if (ret)
		return ret;
	if (inlen < END_OF(struct efadv_wq_attr, max_batch))
		return too_short(inlen);
	if (owner == DVQ_OWNER_DVQ) {
		ret = query_wqs(ibvqp, &sq, &rq);
		if (ret)
			return ret;
		if (inlen > sizeof(sq))
			inlen = sizeof(sq);
		memcpy(sq_attr, &sq, inlen);
		memcpy(rq_attr, &rq, inlen);
		return 0;
	}
	stock = dvq_stock(ibvqp->context);
	if (!stock || !stock->query_qp_wqs)
		return not_in_stock(ibvqp->context);
	return stock->query_qp_wqs(ibvqp, sq_attr, rq_attr, inlen);
}

/* of all its rings; more than there can be if the record is none */
static uint64_t cq_bytes(const struct dvq_cq_info *info)
{
	const uint64_t bytes = (uint64_t)info->entries * info->entry_size;

	return info->sub_cqs && bytes <= UINT32_MAX ? bytes * info->sub_cqs : UINT64_MAX;
}

static int query_cq(struct ibv_cq *cq, struct efadv_cq_attr *answer)
{
	struct dvq_object object = { .context = cq->context };
	struct dvq_cq_info info;
	uint8_t *doorbell;
	int ret;

	memset(answer, 0, sizeof(*answer));
	ret = dvq_efa_query_cq(cq, &info);
	if (ret)
		return ret;
	object.uid = info.uid;
	if (info.mem == DVQ_MEM_USER)
		answer->buffer = (uint8_t *)(uintptr_t)info.user_addr;
	else
		ret = borrow(&object, info.ring_key, info.ring_length, info.ring_offset,
			     cq_bytes(&info), PROT_READ, &answer->buffer);
	if (!ret)
		ret = borrow(&object, info.db_key, info.db_length, info.db_offset,
			     sizeof(uint32_t), PROT_WRITE, &doorbell);
	if (ret)
		return ret;
	answer->entry_size = info.entry_size;
	answer->num_entries = info.entries;
	answer->doorbell = (uint32_t *)doorbell;
	return 0;
}

DVQ_API int efadv_query_cq(struct ibv_cq *ibvcq, struct efadv_cq_attr *attr, uint32_t inlen)
{
	struct efadv_cq_attr answer;
	const struct dvq_stock *stock;
	enum dvq_owner owner;
	int ret;

	dvq_borrow_reap();
	if (!ibvcq || !attr)
		return bad_argument();
	ret = find_owner(ibvcq->context, &owner);
	if (ret)
		return ret;
	if (inlen < END_OF(struct efadv_cq_attr, num_entries))
		return too_short(inlen);
	if (owner == DVQ_OWNER_DVQ) {
		ret = query_cq(ibvcq, &answer);
		if (!ret)
			memcpy(attr, &answer, inlen < sizeof(answer) ? inlen : sizeof(answer));
		return ret;
	}
	stock = dvq_stock(ibvcq->context);
	if (!stock || !stock->query_cq)
		return not_in_stock(ibvcq->context);
	return stock->query_cq(ibvcq, attr, inlen);
}
