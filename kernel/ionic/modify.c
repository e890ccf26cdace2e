// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * States and attributes of queue pairs. A field of the command counts only if the bit
 * of its attribute is set; the others are zero.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <net/inet_ecn.h>
#include <rdma/uverbs_ioctl.h>

#include "dion.h"

/* The bits of the device's mask are those of the verbs. */
static_assert(IONIC_QPA_STATE == IB_QP_STATE);
static_assert(IONIC_QPA_CUR_STATE == IB_QP_CUR_STATE);
static_assert(IONIC_QPA_SQD_NOTIFY == IB_QP_EN_SQD_ASYNC_NOTIFY);
static_assert(IONIC_QPA_ACCESS == IB_QP_ACCESS_FLAGS);
static_assert(IONIC_QPA_PKEY == IB_QP_PKEY_INDEX);
static_assert(IONIC_QPA_PORT == IB_QP_PORT);
static_assert(IONIC_QPA_QKEY == IB_QP_QKEY);
static_assert(IONIC_QPA_AV == IB_QP_AV);
static_assert(IONIC_QPA_PATH_MTU == IB_QP_PATH_MTU);
static_assert(IONIC_QPA_TIMEOUT == IB_QP_TIMEOUT);
static_assert(IONIC_QPA_RETRY == IB_QP_RETRY_CNT);
static_assert(IONIC_QPA_RNR_RETRY == IB_QP_RNR_RETRY);
static_assert(IONIC_QPA_RQ_PSN == IB_QP_RQ_PSN);
static_assert(IONIC_QPA_RRQ_DEPTH == IB_QP_MAX_QP_RD_ATOMIC);
static_assert(IONIC_QPA_RNR_TIMER == IB_QP_MIN_RNR_TIMER);
static_assert(IONIC_QPA_SQ_PSN == IB_QP_SQ_PSN);
static_assert(IONIC_QPA_RSQ_DEPTH == IB_QP_MAX_DEST_RD_ATOMIC);
static_assert(IONIC_QPA_DEST_QPN == IB_QP_DEST_QPN);
static_assert(IONIC_QPA_RATE_LIMIT == IB_QP_RATE_LIMIT);
/* And so are its states. */
static_assert((int)IONIC_QPS_RESET == IB_QPS_RESET && (int)IONIC_QPS_ERR == IB_QPS_ERR);

#define PSN_MASK	0xffffff
#define QPN_MASK	0xffffff
#define TIMER_MAX	31	/* exponents and codes of five bits */
#define RETRY_MAX	7
#define MTU_LOG2(mtu)	((mtu) + 7)	/* IB_MTU_256 is 1 */

/* ---- what can be asked for --------------------------------------------------- */

static bool rate_limit_is_ok(const struct ib_qp *ibqp, enum ib_qp_state cur,
			     enum ib_qp_state next)
{
	return ibqp->qp_type == IB_QPT_RC &&
	       ((cur == IB_QPS_INIT && next == IB_QPS_RTR) ||
		(cur == IB_QPS_RTR && next == IB_QPS_RTS) ||
		(cur == IB_QPS_RTS && next == IB_QPS_RTS));
}

/*
 * The user may know better than we do: a QP goes to ERR by itself, and from RTS or SQD to
 * SQE.
 */
static bool cur_state_is_ok(enum ib_qp_state known, enum ib_qp_state cur)
{
	return cur == known || cur == IB_QPS_ERR ||
	       (cur == IB_QPS_SQE && (known == IB_QPS_RTS || known == IB_QPS_SQD));
}

static int check_transition(const struct dion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	const struct ib_qp *ibqp = &qp->dvq.ibqp;
	enum ib_qp_state cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur;

	if (!cur_state_is_ok(qp->state, cur))
		return -EINVAL;
	if (mask & IB_QP_RATE_LIMIT && !rate_limit_is_ok(ibqp, cur, next))
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, ibqp->qp_type, mask & IB_QP_ATTR_STANDARD_BITS))
		return -EINVAL;
	return 0;
}

static int check_supported(const struct ib_qp_attr *attr, int mask)
{
	if (mask & ~(IB_QP_ATTR_STANDARD_BITS | IB_QP_RATE_LIMIT) ||
	    mask & (IB_QP_CAP | IB_QP_ALT_PATH))
		return -EOPNOTSUPP;
	if (mask & IB_QP_PATH_MIG_STATE && attr->path_mig_state != IB_MIG_MIGRATED)
		return -EOPNOTSUPP;
	return 0;
}

static bool values_are_ok(const struct ib_qp_attr *attr, int mask)
{
	return !((mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
		 (mask & IB_QP_PATH_MTU &&
		  (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)) ||
		 (mask & IB_QP_TIMEOUT && attr->timeout > TIMER_MAX) ||
		 (mask & IB_QP_RETRY_CNT && attr->retry_cnt > RETRY_MAX) ||
		 (mask & IB_QP_RNR_RETRY && attr->rnr_retry > RETRY_MAX) ||
		 (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > TIMER_MAX) ||
		 (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > DION_MAX_RD_ATOMIC) ||
		 (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
		  attr->max_dest_rd_atomic > DION_MAX_RD_ATOMIC) ||
		 (mask & IB_QP_DEST_QPN && attr->dest_qp_num > QPN_MASK));
}

static int check_modify(const struct dion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int ret;

	ret = check_supported(attr, mask);
	if (!ret && !values_are_ok(attr, mask))
		ret = -EINVAL;
	if (!ret)
		ret = check_transition(qp, attr, mask);
	if (ret)
		ibdev_dbg(qp->dvq.ibqp.device, "QP %u: cannot set %#x: %d\n",
			  qp->dvq.ibqp.qp_num, mask, ret);
	return ret;
}

/* ---- to the device ----------------------------------------------------------- */

static u16 to_access(int verbs)
{
	u16 access = 0;

	if (verbs & IB_ACCESS_REMOTE_WRITE)
		access |= IONIC_QP_REMOTE_WRITE;
	if (verbs & IB_ACCESS_REMOTE_READ)
		access |= IONIC_QP_REMOTE_READ;
	if (verbs & IB_ACCESS_REMOTE_ATOMIC)
		access |= IONIC_QP_REMOTE_ATOMIC;
	return access;
}

/* Depths are 2^n - 1. As responder not less than was asked for, as initiator not more. */
static u8 responder_depth_log2(u8 max)
{
	return max ? order_base_2(max + 1) : 0;
}

static u8 initiator_depth_log2(u8 max)
{
	return max ? order_base_2(max + 2) - 1 : 0;
}

static void set_states(struct ionic_aq_modify_qp *cmd, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE)
		cmd->type_state |= FIELD_PREP(IONIC_QP_STATE_NEXT, attr->qp_state);
	if (mask & IB_QP_CUR_STATE)
		cmd->type_state |= FIELD_PREP(IONIC_QP_STATE_CUR, attr->cur_qp_state);
}

static void set_flags(struct ionic_aq_modify_qp *cmd, const struct dion_qp *qp,
		      const struct ib_qp_attr *attr, int mask)
{
	u16 flags = dion_qp_flags(qp);

	flags |= mask & IB_QP_ACCESS_FLAGS ? to_access(attr->qp_access_flags) : qp->access;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify)
		flags |= IONIC_QP_SQD_NOTIFY;
	cmd->flags = cpu_to_be16(flags);
}

static void set_path(struct ionic_aq_modify_qp *cmd, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_RQ_PSN)
		cmd->rq_psn = cpu_to_le32(attr->rq_psn & PSN_MASK);
	if (mask & IB_QP_SQ_PSN)
		cmd->sq_psn = cpu_to_le32(attr->sq_psn & PSN_MASK);
	/*
	 * choice: who may set a privileged one is the core's rule, on which stock programs
	 * count; the in-tree driver refuses it to all.
	 */
	if (mask & IB_QP_QKEY)
		cmd->qkey_dest_qpn = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_DEST_QPN)
		cmd->qkey_dest_qpn = cpu_to_le32(attr->dest_qp_num);
	if (mask & IB_QP_RATE_LIMIT)
		cmd->rate_limit = cpu_to_le32(attr->rate_limit);
	if (mask & IB_QP_PATH_MTU)
		cmd->pmtu_log2 = MTU_LOG2(attr->path_mtu);
}

static void set_timers(struct ionic_aq_modify_qp *cmd, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_RETRY_CNT)
		cmd->retry |= FIELD_PREP(IONIC_QP_RETRY, attr->retry_cnt);
	if (mask & IB_QP_RNR_RETRY)
		cmd->retry |= FIELD_PREP(IONIC_QP_RNR_RETRY, attr->rnr_retry);
	if (mask & IB_QP_MIN_RNR_TIMER)
		cmd->rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_TIMEOUT)
		cmd->timeout = attr->timeout;
}

static void set_depths(struct ionic_aq_modify_qp *cmd, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		cmd->rsq_depth_log2 = responder_depth_log2(attr->max_dest_rd_atomic);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		cmd->rrq_depth_log2 = initiator_depth_log2(attr->max_rd_atomic);
	if (cmd->rsq_depth_log2)
		cmd->rsq_table = cpu_to_le32(IONIC_AQ_NO_TABLE);
	if (cmd->rrq_depth_log2)
		cmd->rrq_table = cpu_to_le32(IONIC_AQ_NO_TABLE);
}

static void set_address(struct ionic_aq_modify_qp *cmd, const struct dion_qp *qp,
			const struct rdma_ah_attr *av, const struct dion_header *header)
{
	cmd->hdr_profile = header->profile;
	cmd->ah_len = cpu_to_le32(FIELD_PREP(IONIC_QP_AH, qp->ah_num) |
				  FIELD_PREP(IONIC_QP_HDR_LEN, header->len));
	cmd->pcp = rdma_ah_get_sl(av);
	cmd->dscp = rdma_ah_read_grh(av)->traffic_class >> 2;
}

/* The device copies the header while it executes the command. */
static int exec_with_header(struct dion_dev *dev, struct ionic_aq_modify_qp *cmd,
			    struct dion_header *header)
{
	struct device *dma_device = dion_dma_device(dev);
	dma_addr_t addr;
	int ret;

	addr = dma_map_single(dma_device, header->bytes, sizeof(header->bytes), DMA_TO_DEVICE);
	if (dma_mapping_error(dma_device, addr))
		return -ENOMEM;
	cmd->hdr_addr = cpu_to_le64(addr);
	ret = dion_admin_exec(dev, cmd);
	dma_unmap_single(dma_device, addr, sizeof(header->bytes), DMA_TO_DEVICE);
	return ret;
}

static int exec_with_address(struct dion_dev *dev, struct ionic_aq_modify_qp *cmd,
			     const struct dion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	u32 dest_qpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num : qp->dest_qpn;
	u32 flow_label = rdma_ah_read_grh(&attr->ah_attr)->flow_label;
	struct dion_header *header;
	int ret;

	header = dion_header_new(&attr->ah_attr,
				 rdma_get_udp_sport(flow_label, qp->dvq.ibqp.qp_num, dest_qpn),
				 INET_ECN_ECT_0, GFP_KERNEL);
	if (IS_ERR(header))
		return PTR_ERR(header);
	set_address(cmd, qp, &attr->ah_attr, header);
	ret = exec_with_header(dev, cmd, header);
	kfree(header);
	return ret;
}

static int tell_change(struct dion_dev *dev, const struct dion_qp *qp,
		       const struct ib_qp_attr *attr, int mask)
{
	struct ionic_aq_modify_qp cmd = {
		.header = DION_AQ_HEADER(MODIFY_QP, struct ionic_aq_modify_qp),
		.mask = cpu_to_be32(mask),
		.qp = cpu_to_le32(qp->dvq.ibqp.qp_num),
	};

	set_states(&cmd, attr, mask);
	set_flags(&cmd, qp, attr, mask);
	set_path(&cmd, attr, mask);
	set_timers(&cmd, attr, mask);
	set_depths(&cmd, attr, mask);
	if (mask & IB_QP_AV)
		return exec_with_address(dev, &cmd, qp, attr, mask);
	return dion_admin_exec(dev, &cmd);
}

/* What has to be known later. */
static void remember(struct dion_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_STATE)
		qp->state = attr->qp_state;
	if (mask & IB_QP_ACCESS_FLAGS)
		qp->access = to_access(attr->qp_access_flags);
	if (mask & IB_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		qp->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_AV) {
		qp->av = attr->ah_attr;
		/* The core holds that reference, for as long as it likes. */
		qp->av.grh.sgid_attr = NULL;
	}
}

/* A device that has been stopped does nothing any more, which is what these states are. */
static bool is_rest(const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_STATE &&
	       (attr->qp_state == IB_QPS_ERR || attr->qp_state == IB_QPS_RESET);
}

static int change(struct dion_dev *dev, struct dion_qp *qp, const struct ib_qp_attr *attr,
		  int mask)
{
	enum ib_qp_state from;
	int ret;

	lockdep_assert_held(&qp->lock);
	from = qp->state;
	ret = tell_change(dev, qp, attr, mask);
	/* Users of the kernel that are removed wait for their last completion. */
	if (ret == -ENODEV && qp->work && is_rest(attr, mask))
		ret = 0;
	if (ret)
		return ret;
	remember(qp, attr, mask);
	if (mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		dvq_qp_was_reset(&qp->dvq);
	if (qp->work && mask & IB_QP_STATE)
		dion_work_state(qp, attr->qp_state, from);
	return 0;
}

int dion_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct dion_dev *dev = to_dion_dev(ibqp->device);
	struct dion_qp *qp = to_dion_qp(ibqp);
	int ret;

	ret = ib_no_udata_io(udata);
	if (ret)
		return ret;
	mutex_lock(&qp->lock);
	ret = check_modify(qp, attr, mask);
	if (!ret)
		ret = change(dev, qp, attr, mask);
	mutex_unlock(&qp->lock);
	return ret;
}

/**
 * dion_qp_break() - take a QP to ERR on our own account
 * @qp: of the kernel; its completions made no sense
 *
 * Return: 0, also if it was destroyed meanwhile, or a negative errno.
 */
int dion_qp_break(struct dion_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	int ret = 0;

	mutex_lock(&qp->lock);
	if (!qp->gone)
		ret = change(to_dion_dev(qp->dvq.ibqp.device), qp, &attr, IB_QP_STATE);
	mutex_unlock(&qp->lock);
	return ret;
}

/* ---- from the device --------------------------------------------------------- */

/* What the device answers to a query, each in a page of its own. */
struct answers {
	union {
		struct ionic_qp_sq_answer sq;
		u8 page0[PAGE_SIZE];
	};
	union {
		struct ionic_qp_rq_answer rq;
		u8 page1[PAGE_SIZE];
	};
};

static int ask(struct dion_dev *dev, const struct dion_qp *qp, dma_addr_t addr)
{
	const struct ionic_aq_query_qp cmd = {
		.header = DION_AQ_HEADER(QUERY_QP, struct ionic_aq_query_qp),
		.sq_addr = cpu_to_le64(addr + offsetof(struct answers, sq)),
		.rq_addr = cpu_to_le64(addr + offsetof(struct answers, rq)),
		.ah = cpu_to_le32(qp->ah_num),
		.qp = cpu_to_le32(qp->dvq.ibqp.qp_num),
	};

	return dion_admin_exec(dev, &cmd);
}

static int from_access(u16 flags)
{
	int access = 0;

	if (flags & IONIC_QP_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (flags & IONIC_QP_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (flags & IONIC_QP_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

static void read_answers(const struct dion_qp *qp, const struct answers *from,
			 struct ib_qp_attr *attr)
{
	const struct ionic_qp_sq_answer *sq = &from->sq;
	const struct ionic_qp_rq_answer *rq = &from->rq;
	u16 flags = be16_to_cpu(sq->flags) | be16_to_cpu(rq->flags);
	u32 qkey_dest_qpn = be32_to_cpu(sq->qkey_dest_qpn);
	u8 mtu_log2 = FIELD_GET(IONIC_QP_PMTU_LOG2, rq->state_pmtu);

	attr->qp_state = FIELD_GET(IONIC_QP_STATE, rq->state_pmtu);
	attr->cur_qp_state = attr->qp_state;
	/* There is none before it was set, and never one of a datagram QP. */
	if (mtu_log2 >= MTU_LOG2(IB_MTU_256))
		attr->path_mtu = mtu_log2 - MTU_LOG2(0);
	attr->path_mig_state = IB_MIG_MIGRATED;
	if (qp->dvq.ibqp.qp_type == IB_QPT_RC)
		attr->dest_qp_num = qkey_dest_qpn;
	else
		attr->qkey = qkey_dest_qpn;
	attr->rq_psn = be32_to_cpu(sq->rq_psn);
	attr->sq_psn = be32_to_cpu(rq->sq_psn);
	attr->qp_access_flags = from_access(flags);
	attr->en_sqd_async_notify = !!(flags & IONIC_QP_SQD_NOTIFY);
	attr->sq_draining = !!(flags & IONIC_QP_SQ_DRAINING);
	attr->min_rnr_timer = sq->rnr_timer;
	attr->timeout = sq->timeout;
	attr->retry_cnt = FIELD_GET(IONIC_QP_RETRY, rq->retry);
	attr->rnr_retry = FIELD_GET(IONIC_QP_RNR_RETRY, rq->retry);
	attr->rate_limit = be32_to_cpu(sq->rate_limit);
	attr->pkey_index = be16_to_cpu(sq->pkey);
}

/* What we know ourselves. */
static void read_own(const struct dion_qp *qp, struct ib_qp_attr *attr,
		     struct ib_qp_init_attr *init_attr)
{
	attr->port_num = 1;
	attr->cap = qp->cap;
	attr->ah_attr = qp->av;
	/* As they were set: the device only has powers of two, of which neither end can tell. */
	attr->max_rd_atomic = qp->max_rd_atomic;
	attr->max_dest_rd_atomic = qp->max_dest_rd_atomic;
	init_attr->qp_type = qp->dvq.ibqp.qp_type;
	init_attr->cap = qp->cap;
	init_attr->sq_sig_type = qp->sig_type;
}

int dion_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init_attr)
{
	struct dion_dev *dev = to_dion_dev(ibqp->device);
	struct dion_qp *qp = to_dion_qp(ibqp);
	struct answers *from;
	dma_addr_t addr;
	int ret;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));
	from = dma_alloc_coherent(dion_dma_device(dev), sizeof(*from), &addr, GFP_KERNEL);
	if (!from)
		return -ENOMEM;
	mutex_lock(&qp->lock);
	/* Destroyed under a listing of QPs, which goes on for this error only. */
	ret = qp->gone ? -EAGAIN : ask(dev, qp, addr);
	if (!ret) {
		read_answers(qp, from, attr);
	} else if (ret == -ENODEV) {
		/* No error: it would end a listing of all QPs that whoever looks after the device wants. */
		attr->qp_state = IB_QPS_ERR;
		attr->cur_qp_state = IB_QPS_ERR;
		ret = 0;
	}
	if (!ret)
		read_own(qp, attr, init_attr);
	mutex_unlock(&qp->lock);
	dma_free_coherent(dion_dma_device(dev), sizeof(*from), from, addr);
	return ret;
}
