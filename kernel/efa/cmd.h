/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Admin commands, one function each: parameters in, result out. All may sleep, and
 * all return 0 or what efa_admin_exec() does.
 */
#ifndef DVQ_EFA_CMD_H
#define DVQ_EFA_CMD_H

#include "efa.h"
#include "pagelist.h"

int efa_cmd_get_feature(struct efa_dev *dev, enum efa_admin_feature feature,
			struct efa_get_feature_resp *resp);
int efa_cmd_set_aenq_groups(struct efa_dev *dev, u32 groups);
int efa_cmd_set_host_info(struct efa_dev *dev, dma_addr_t dma, u32 length);
int efa_cmd_get_stats(struct efa_dev *dev, enum efa_stats_type type,
		      struct efa_get_stats_resp *resp);

int efa_cmd_alloc_uar(struct efa_dev *dev, u16 *uar);
void efa_cmd_dealloc_uar(struct efa_dev *dev, u16 uar);
int efa_cmd_alloc_pd(struct efa_dev *dev, u16 *pdn);
void efa_cmd_dealloc_pd(struct efa_dev *dev, u16 pdn);
int efa_cmd_create_ah(struct efa_dev *dev, u16 pdn, const union ib_gid *gid, u16 *ah_num);
void efa_cmd_destroy_ah(struct efa_dev *dev, u16 pdn, u16 ah_num);

struct efa_reg_mr_params {
	u16 pdn;
	u64 iova;
	u64 length;
	unsigned int page_shift;
	u8 permissions;			/* EFA_MR_* */
	const struct efa_page_list *pages;
};

int efa_cmd_reg_mr(struct efa_dev *dev, const struct efa_reg_mr_params *params,
		   struct efa_reg_mr_resp *resp);
int efa_cmd_dereg_mr(struct efa_dev *dev, u32 lkey);

struct efa_create_eq_params {
	dma_addr_t dma;
	u32 depth;
	u8 vector;
};

int efa_cmd_create_eq(struct efa_dev *dev, const struct efa_create_eq_params *params, u16 *eqn);
int efa_cmd_destroy_eq(struct efa_dev *dev, u16 eqn);

struct efa_create_cq_params {
	dma_addr_t dma;
	u16 depth;			/* of one sub-CQ */
	u16 sub_cqs;
	u16 uar;
	u16 entry_size;			/* bytes */
	bool src_addr;
	bool ids_64bit;
	const struct efa_eq *eq;	/* NULL: no events */
};

struct efa_create_cq_result {
	u16 cq_idx;
	bool has_db;
	u32 db_offset;
};

int efa_cmd_create_cq(struct efa_dev *dev, const struct efa_create_cq_params *params,
		      struct efa_create_cq_result *result);
int efa_cmd_destroy_cq(struct efa_dev *dev, u16 cq_idx);

struct efa_create_qp_params {
	enum efa_admin_qp_type type;
	u8 flags;			/* EFA_CREATE_QP_* */
	u8 sl;
	u16 pdn;
	u16 uar;
	u16 send_cq;
	u16 recv_cq;
	u32 sq_depth;			/* entries */
	u32 sq_bytes;
	u32 rq_depth;			/* WRs */
	u32 rq_bytes;
	dma_addr_t rq_dma;
};

struct efa_create_qp_result {
	u32 handle;
	u16 qp_num;
	u16 send_sub_cq;
	u16 recv_sub_cq;
	u32 sq_db_offset;
	u32 rq_db_offset;
	u32 llq_offset;
};

int efa_cmd_create_qp(struct efa_dev *dev, const struct efa_create_qp_params *params,
		      struct efa_create_qp_result *result);
int efa_cmd_modify_qp(struct efa_dev *dev, struct efa_modify_qp_cmd *cmd);
int efa_cmd_query_qp(struct efa_dev *dev, u32 handle, struct efa_query_qp_resp *resp);
int efa_cmd_destroy_qp(struct efa_dev *dev, u32 handle);

int efa_cmd_create_counter(struct efa_dev *dev, u16 uar, dma_addr_t dma, u32 *handle);
int efa_cmd_destroy_counter(struct efa_dev *dev, u32 handle);
int efa_cmd_attach_counter(struct efa_dev *dev, u32 handle, u32 qp_handle, u32 events);
int efa_cmd_detach_counter(struct efa_dev *dev, u32 handle, u32 qp_handle, u32 events);
/* @operation: EFA_COUNTER_SET or EFA_COUNTER_ADD */
int efa_cmd_modify_counter(struct efa_dev *dev, u32 handle, u8 operation, u64 value);

#endif /* DVQ_EFA_CMD_H */
