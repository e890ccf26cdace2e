// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <linux/bitfield.h>

#include "cmd.h"

/* The layouts against the sizes that the device reads and writes. */
static_assert(sizeof(struct efa_aq_entry) == EFA_ADMIN_ENTRY_SIZE);
static_assert(sizeof(struct efa_acq_entry) == EFA_ADMIN_ENTRY_SIZE);
static_assert(sizeof(struct efa_aenq_entry) == EFA_ADMIN_ENTRY_SIZE);
static_assert(sizeof(struct efa_mmio_resp) == 8);
static_assert(sizeof(struct efa_eqe) == EFA_EQE_SIZE);
static_assert(sizeof(struct efa_ctrl_buf) == 12);
static_assert(sizeof(struct efa_create_qp_cmd) == 64);
static_assert(sizeof(struct efa_create_qp_resp) == 32);
static_assert(sizeof(struct efa_modify_qp_cmd) == 32);
static_assert(sizeof(struct efa_query_qp_cmd) == 8);
static_assert(sizeof(struct efa_query_qp_resp) == 24);
static_assert(sizeof(struct efa_destroy_qp_cmd) == 8);
static_assert(sizeof(struct efa_create_ah_cmd) == 24);
static_assert(sizeof(struct efa_create_ah_resp) == 12);
static_assert(sizeof(struct efa_destroy_ah_cmd) == 8);
static_assert(sizeof(struct efa_reg_mr_cmd) == 64);
static_assert(sizeof(struct efa_reg_mr_resp) == 20);
static_assert(sizeof(struct efa_dereg_mr_cmd) == 8);
static_assert(sizeof(struct efa_create_cq_cmd) == 28);
static_assert(sizeof(struct efa_create_cq_resp) == 20);
static_assert(sizeof(struct efa_destroy_cq_cmd) == 8);
static_assert(sizeof(struct efa_get_feature_cmd) == 64);
static_assert(sizeof(struct efa_get_feature_resp) == 64);
static_assert(sizeof(struct efa_set_feature_cmd) == 64);
static_assert(sizeof(struct efa_device_attr) == 56);
static_assert(sizeof(struct efa_queue_attr_1) == 56);
static_assert(sizeof(struct efa_host_info) == 180);
static_assert(sizeof(struct efa_get_stats_cmd) == 20);
static_assert(sizeof(struct efa_get_stats_resp) == 56);
static_assert(sizeof(struct efa_alloc_pd_cmd) == 4);
static_assert(sizeof(struct efa_alloc_pd_resp) == 12);
static_assert(sizeof(struct efa_dealloc_pd_cmd) == 8);
static_assert(sizeof(struct efa_alloc_uar_cmd) == 4);
static_assert(sizeof(struct efa_alloc_uar_resp) == 12);
static_assert(sizeof(struct efa_dealloc_uar_cmd) == 8);
static_assert(sizeof(struct efa_create_eq_cmd) == 24);
static_assert(sizeof(struct efa_create_eq_resp) == 12);
static_assert(sizeof(struct efa_destroy_eq_cmd) == 8);
static_assert(sizeof(struct efa_create_counter_cmd) == 16);
static_assert(sizeof(struct efa_create_counter_resp) == 12);
static_assert(sizeof(struct efa_destroy_counter_cmd) == 8);
static_assert(sizeof(struct efa_attach_counter_cmd) == 20);
static_assert(sizeof(struct efa_modify_counter_cmd) == 24);

#define exec(dev, cmd, resp)	efa_admin_exec(dev, cmd, sizeof(*(cmd)), resp, sizeof(*(resp)))

/* For commands whose answer is its header. */
#define exec_no_answer(dev, cmd)						\
({										\
	struct efa_acq_hdr __resp;						\
										\
	exec(dev, cmd, &__resp);						\
})

/*
 * For what takes no memory of ours: a device that refuses is asked again. If that is refused
 * too, a number stays taken until the next reset, which is of no use to the caller.
 */
#define exec_forget(dev, cmd)							\
({										\
	int __ret = efa_settle(exec_no_answer(dev, cmd));			\
										\
	if (__ret)								\
		__ret = efa_settle(exec_no_answer(dev, cmd));			\
	if (__ret)								\
		dev_warn_ratelimited(&(dev)->pdev->dev,				\
				     "command %u is refused for good: %d\n",	\
				     (cmd)->hdr.opcode, __ret);			\
})

static void set_ctrl_buf(struct efa_ctrl_buf *ctrl, dma_addr_t dma, u32 length)
{
	ctrl->length = cpu_to_le32(length);
	ctrl->addr_lo = cpu_to_le32(lower_32_bits(dma));
	ctrl->addr_hi = cpu_to_le32(upper_32_bits(dma));
}

/* ---- features and statistics ---------------------------------------------------- */

static bool has_feature(struct efa_dev *dev, enum efa_admin_feature feature)
{
	return dev->attr.supported_features & BIT_ULL(feature);
}

/* -EOPNOTSUPP without asking if the device does not offer the feature. */
int efa_cmd_get_feature(struct efa_dev *dev, enum efa_admin_feature feature,
			struct efa_get_feature_resp *resp)
{
	struct efa_get_feature_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_GET_FEATURE,
		.feature_id = feature,
	};

	/* This one tells which there are. */
	if (feature != EFA_FEATURE_DEVICE_ATTR && !has_feature(dev, feature))
		return -EOPNOTSUPP;
	return exec(dev, &cmd, resp);
}

int efa_cmd_set_aenq_groups(struct efa_dev *dev, u32 groups)
{
	struct efa_set_feature_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_SET_FEATURE,
		.feature_id = EFA_FEATURE_AENQ_CONFIG,
		.u.aenq.enabled_groups = cpu_to_le32(groups),
	};

	return exec_no_answer(dev, &cmd);
}

int efa_cmd_set_host_info(struct efa_dev *dev, dma_addr_t dma, u32 length)
{
	struct efa_set_feature_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_SET_FEATURE,
		.hdr.flags = EFA_AQ_CTRL_DATA,
		.feature_id = EFA_FEATURE_HOST_INFO,
	};

	if (!has_feature(dev, EFA_FEATURE_HOST_INFO))
		return -EOPNOTSUPP;
	set_ctrl_buf(&cmd.ctrl, dma, length);
	return exec_no_answer(dev, &cmd);
}

int efa_cmd_get_stats(struct efa_dev *dev, enum efa_stats_type type,
		      struct efa_get_stats_resp *resp)
{
	struct efa_get_stats_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_GET_STATS,
		.type = type,
		.scope = EFA_STATS_ALL,
	};

	return exec(dev, &cmd, resp);
}

/* ---- UAR, PD, AH ------------------------------------------------------------------ */

int efa_cmd_alloc_uar(struct efa_dev *dev, u16 *uar)
{
	struct efa_alloc_uar_cmd cmd = { .hdr.opcode = EFA_ADMIN_ALLOC_UAR };
	struct efa_alloc_uar_resp resp;
	int ret;

	ret = exec(dev, &cmd, &resp);
	if (!ret)
		*uar = le16_to_cpu(resp.uar);
	return ret;
}

void efa_cmd_dealloc_uar(struct efa_dev *dev, u16 uar)
{
	struct efa_dealloc_uar_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DEALLOC_UAR,
		.uar = cpu_to_le16(uar),
	};

	exec_forget(dev, &cmd);
}

int efa_cmd_alloc_pd(struct efa_dev *dev, u16 *pdn)
{
	struct efa_alloc_pd_cmd cmd = { .hdr.opcode = EFA_ADMIN_ALLOC_PD };
	struct efa_alloc_pd_resp resp;
	int ret;

	ret = exec(dev, &cmd, &resp);
	if (!ret)
		*pdn = le16_to_cpu(resp.pd);
	return ret;
}

void efa_cmd_dealloc_pd(struct efa_dev *dev, u16 pdn)
{
	struct efa_dealloc_pd_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DEALLOC_PD,
		.pd = cpu_to_le16(pdn),
	};

	exec_forget(dev, &cmd);
}

int efa_cmd_create_ah(struct efa_dev *dev, u16 pdn, const union ib_gid *gid, u16 *ah_num)
{
	struct efa_create_ah_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_CREATE_AH,
		.pd = cpu_to_le16(pdn),
	};
	struct efa_create_ah_resp resp;
	int ret;

	memcpy(cmd.dest_addr, gid->raw, sizeof(cmd.dest_addr));
	ret = exec(dev, &cmd, &resp);
	if (!ret)
		*ah_num = le16_to_cpu(resp.ah);
	return ret;
}

void efa_cmd_destroy_ah(struct efa_dev *dev, u16 pdn, u16 ah_num)
{
	struct efa_destroy_ah_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DESTROY_AH,
		.ah = cpu_to_le16(ah_num),
		.pd = cpu_to_le16(pdn),
	};

	exec_forget(dev, &cmd);
}

/* ---- MR --------------------------------------------------------------------------- */

static void set_page_list(struct efa_reg_mr_cmd *cmd, const struct efa_page_list *pages)
{
	switch (pages->form) {
	case EFA_PAGES_INLINE:
		memcpy(cmd->u.pages, pages->entries, pages->count * sizeof(*pages->entries));
		break;
	case EFA_PAGES_DIRECT:
		cmd->hdr.flags = EFA_AQ_CTRL_DATA;
		set_ctrl_buf(&cmd->u.list, pages->dma, pages->dma_bytes);
		break;
	case EFA_PAGES_INDIRECT:
		cmd->hdr.flags = EFA_AQ_CTRL_DATA | EFA_AQ_CTRL_INDIRECT;
		set_ctrl_buf(&cmd->u.list, pages->dma, pages->dma_bytes);
		break;
	}
}

/* page_num stays 0: the device works it out, and has never been sent anything else. */
int efa_cmd_reg_mr(struct efa_dev *dev, const struct efa_reg_mr_params *params,
		   struct efa_reg_mr_resp *resp)
{
	struct efa_reg_mr_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_REG_MR,
		.pd = cpu_to_le16(params->pdn),
		.length = cpu_to_le64(params->length),
		.flags = FIELD_PREP(EFA_REG_MR_PAGE_SHIFT, params->page_shift),
		.permissions = params->permissions,
		.iova = cpu_to_le64(params->iova),
	};

	set_page_list(&cmd, params->pages);
	return exec(dev, &cmd, resp);
}

int efa_cmd_dereg_mr(struct efa_dev *dev, u32 lkey)
{
	struct efa_dereg_mr_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DEREG_MR,
		.lkey = cpu_to_le32(lkey),
	};

	return exec_no_answer(dev, &cmd);
}

/* ---- EQ, CQ ----------------------------------------------------------------------- */

int efa_cmd_create_eq(struct efa_dev *dev, const struct efa_create_eq_params *params, u16 *eqn)
{
	struct efa_create_eq_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_CREATE_EQ,
		.depth = cpu_to_le16(params->depth),
		.vector = params->vector,
		.caps = FIELD_PREP(EFA_CREATE_EQ_WORDS, EFA_EQE_SIZE / sizeof(u32)),
		.base_lo = cpu_to_le32(lower_32_bits(params->dma)),
		.base_hi = cpu_to_le32(upper_32_bits(params->dma)),
		.event_bitmask = cpu_to_le32(EFA_EQ_EVENT_COMPLETION),
	};
	struct efa_create_eq_resp resp;
	int ret;

	ret = exec(dev, &cmd, &resp);
	if (!ret)
		*eqn = le16_to_cpu(resp.eqn);
	return ret;
}

int efa_cmd_destroy_eq(struct efa_dev *dev, u16 eqn)
{
	struct efa_destroy_eq_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DESTROY_EQ,
		.eqn = cpu_to_le16(eqn),
	};

	return exec_no_answer(dev, &cmd);
}

int efa_cmd_create_cq(struct efa_dev *dev, const struct efa_create_cq_params *params,
		      struct efa_create_cq_result *result)
{
	struct efa_create_cq_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_CREATE_CQ,
		.caps2 = FIELD_PREP(EFA_CREATE_CQ_WORDS, params->entry_size / sizeof(u32)) |
			 FIELD_PREP(EFA_CREATE_CQ_SRC_ADDR, params->src_addr) |
			 FIELD_PREP(EFA_CREATE_CQ_64BIT_IDS, params->ids_64bit),
		.sub_cq_depth = cpu_to_le16(params->depth),
		.base_lo = cpu_to_le32(lower_32_bits(params->dma)),
		.base_hi = cpu_to_le32(upper_32_bits(params->dma)),
		.num_sub_cqs = cpu_to_le16(params->sub_cqs),
		.uar = cpu_to_le16(params->uar),
	};
	struct efa_create_cq_resp resp;
	int ret;

	if (params->eq) {
		cmd.caps1 = EFA_CREATE_CQ_INTERRUPT;
		cmd.eqn = cpu_to_le16(params->eq->eqn);
	}
	ret = exec(dev, &cmd, &resp);
	if (ret)
		return ret;
	result->cq_idx = le16_to_cpu(resp.cq_idx);
	result->has_db = resp.flags & cpu_to_le32(EFA_CREATE_CQ_DB_VALID);
	result->db_offset = le32_to_cpu(resp.db_offset);
	return 0;
}

int efa_cmd_destroy_cq(struct efa_dev *dev, u16 cq_idx)
{
	struct efa_destroy_cq_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DESTROY_CQ,
		.cq_idx = cpu_to_le16(cq_idx),
	};

	return exec_no_answer(dev, &cmd);
}

/* ---- QP --------------------------------------------------------------------------- */

int efa_cmd_create_qp(struct efa_dev *dev, const struct efa_create_qp_params *params,
		      struct efa_create_qp_result *result)
{
	struct efa_create_qp_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_CREATE_QP,
		.pd = cpu_to_le16(params->pdn),
		.qp_type = params->type,
		.flags = params->flags,
		.rq_base = cpu_to_le64(params->rq_dma),
		.send_cq = cpu_to_le32(params->send_cq),
		.recv_cq = cpu_to_le32(params->recv_cq),
		.sq_ring_size = cpu_to_le32(params->sq_bytes),
		.sq_depth = cpu_to_le32(params->sq_depth),
		.rq_ring_size = cpu_to_le32(params->rq_bytes),
		.rq_depth = cpu_to_le32(params->rq_depth),
		.uar = cpu_to_le16(params->uar),
		.sl = params->sl,
	};
	struct efa_create_qp_resp resp;
	int ret;

	ret = exec(dev, &cmd, &resp);
	if (ret)
		return ret;
	result->handle = le32_to_cpu(resp.qp_handle);
	result->qp_num = le16_to_cpu(resp.qp_num);
	result->send_sub_cq = le16_to_cpu(resp.send_sub_cq);
	result->recv_sub_cq = le16_to_cpu(resp.recv_sub_cq);
	result->sq_db_offset = le32_to_cpu(resp.sq_db_offset);
	result->rq_db_offset = le32_to_cpu(resp.rq_db_offset);
	result->llq_offset = le32_to_cpu(resp.llq_offset);
	return 0;
}

/* The caller has filled all but the header. */
int efa_cmd_modify_qp(struct efa_dev *dev, struct efa_modify_qp_cmd *cmd)
{
	cmd->hdr.opcode = EFA_ADMIN_MODIFY_QP;
	return exec_no_answer(dev, cmd);
}

int efa_cmd_query_qp(struct efa_dev *dev, u32 handle, struct efa_query_qp_resp *resp)
{
	struct efa_query_qp_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_QUERY_QP,
		.qp_handle = cpu_to_le32(handle),
	};

	return exec(dev, &cmd, resp);
}

int efa_cmd_destroy_qp(struct efa_dev *dev, u32 handle)
{
	struct efa_destroy_qp_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DESTROY_QP,
		.qp_handle = cpu_to_le32(handle),
	};

	return exec_no_answer(dev, &cmd);
}

/* ---- event counters --------------------------------------------------------------- */

int efa_cmd_create_counter(struct efa_dev *dev, u16 uar, dma_addr_t dma, u32 *handle)
{
	struct efa_create_counter_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_CREATE_COUNTER,
		.uar = cpu_to_le16(uar),
		.addr = cpu_to_le64(dma),
	};
	struct efa_create_counter_resp resp;
	int ret;

	ret = exec(dev, &cmd, &resp);
	if (!ret)
		*handle = le32_to_cpu(resp.handle);
	return ret;
}

int efa_cmd_destroy_counter(struct efa_dev *dev, u32 handle)
{
	struct efa_destroy_counter_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_DESTROY_COUNTER,
		.handle = cpu_to_le32(handle),
	};

	return exec_no_answer(dev, &cmd);
}

static int tie_counter(struct efa_dev *dev, u8 opcode, u32 handle, u32 qp_handle, u32 events)
{
	struct efa_attach_counter_cmd cmd = {
		.hdr.opcode = opcode,
		.handle = cpu_to_le32(handle),
		.attach_type = EFA_COUNTER_ATTACH_QP,
		.qp_handle = cpu_to_le32(qp_handle),
		.events = cpu_to_le32(events),
	};

	return exec_no_answer(dev, &cmd);
}

int efa_cmd_attach_counter(struct efa_dev *dev, u32 handle, u32 qp_handle, u32 events)
{
	return tie_counter(dev, EFA_ADMIN_ATTACH_COUNTER, handle, qp_handle, events);
}

int efa_cmd_detach_counter(struct efa_dev *dev, u32 handle, u32 qp_handle, u32 events)
{
	return tie_counter(dev, EFA_ADMIN_DETACH_COUNTER, handle, qp_handle, events);
}

int efa_cmd_modify_counter(struct efa_dev *dev, u32 handle, u8 operation, u64 value)
{
	struct efa_modify_counter_cmd cmd = {
		.hdr.opcode = EFA_ADMIN_MODIFY_COUNTER,
		.handle = cpu_to_le32(handle),
		.operation = operation,
		.value = cpu_to_le64(value),
	};

	return exec_no_answer(dev, &cmd);
}
