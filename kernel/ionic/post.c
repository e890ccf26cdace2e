// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work requests of the kernel. Each becomes an entry of the ring and a note of what to
 * report when it is done; the doorbell is rung once for a list of them.
 *
 * A send is finished by its number among the messages of the QP if it is a message to a
 * connected peer, and by its slot if not. A receive is finished by a token, which need not
 * come in order; the ring only counts them.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "dion.h"

/* How requests of a kind are laid out. */
enum layout {
	NOT_OFFERED,
	AS_SEND,
	AS_WRITE,
	AS_READ,
	AS_ATOMIC,
	AS_REG_MR,
	AS_LOCAL_INV,
};

static const struct op {
	enum layout layout;
	u8 v1;
	u8 v2;
	u8 completion;
} ops[] = {
	[IB_WR_SEND] = { AS_SEND, IONIC_V1_SEND, IONIC_V2_SEND, IB_WC_SEND },
	[IB_WR_SEND_WITH_IMM] = { AS_SEND, IONIC_V1_SEND_IMM, IONIC_V2_SEND_IMM, IB_WC_SEND },
	[IB_WR_SEND_WITH_INV] = { AS_SEND, IONIC_V1_SEND_INV, IONIC_V2_SEND_INV, IB_WC_SEND },
	[IB_WR_RDMA_WRITE] = { AS_WRITE, IONIC_V1_WRITE, IONIC_V2_WRITE, IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { AS_WRITE, IONIC_V1_WRITE_IMM, IONIC_V2_WRITE_IMM,
					IB_WC_RDMA_WRITE },
	[IB_WR_RDMA_READ] = { AS_READ, IONIC_V1_READ, IONIC_V2_READ, IB_WC_RDMA_READ },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { AS_ATOMIC, IONIC_V1_CMP_SWAP, IONIC_V2_CMP_SWAP,
				       IB_WC_COMP_SWAP },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { AS_ATOMIC, IONIC_V1_FETCH_ADD, IONIC_V2_FETCH_ADD,
					 IB_WC_FETCH_ADD },
	[IB_WR_REG_MR] = { AS_REG_MR, IONIC_V1_REG_MR, IONIC_V2_REG_MR, IB_WC_REG_MR },
	[IB_WR_LOCAL_INV] = { AS_LOCAL_INV, IONIC_V1_LOCAL_INV, IONIC_V2_LOCAL_INV,
			      IB_WC_LOCAL_INV },
};

static const struct op *find_op(const struct dion_qp *qp, const struct ib_send_wr *wr)
{
	const struct op *op;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(ops))
		return NULL;
	op = &ops[wr->opcode];
	if (op->layout == NOT_OFFERED)
		return NULL;
	/* Datagrams are sent, and that is all; nor can they invalidate. */
	if (qp->dvq.ibqp.qp_type != IB_QPT_RC &&
	    wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM)
		return NULL;
	return op;
}

static void *slot_of(const struct dion_wq *wq, u32 index)
{
	return wq->memory.cpu + ((size_t)(index & wq->ring.mask) << wq->ring.stride_log2);
}

static void ring(struct dion_qp *qp, u8 qtype, const struct dion_wq *wq, u32 posted)
{
	dion_ring_doorbell(to_dion_dev(qp->dvq.ibqp.device), qtype, qp->dvq.ibqp.qp_num,
			   IONIC_DB_RING_PROD, posted & wq->ring.mask);
}

/* ---- payload ----------------------------------------------------------------- */

/* Return: bytes of the message, or a negative errno. */
static s64 put_sges(const struct dion_wq *wq, u8 *slot, const struct ib_sge *from, u32 count,
		    u32 max, u16 *flags)
{
	bool with_lengths = wq->spec > 2 && count > 2;
	union ionic_spec *spec = (union ionic_spec *)(slot + IONIC_WQE_PAYLOAD);
	struct ionic_sge *to = (struct ionic_sge *)(slot + (with_lengths ? IONIC_WQE_SPEC_SGES :
								       IONIC_WQE_PAYLOAD));
	u64 length = 0;
	u32 i;

	if (count > max)
		return -EINVAL;
	if (with_lengths)
		*flags |= FIELD_PREP(IONIC_WQE_SPEC, IONIC_SPEC32);
	for (i = 0; i < count; i++) {
		to[i].addr = cpu_to_be64(from[i].addr);
		to[i].length = cpu_to_be32(from[i].length);
		to[i].key = cpu_to_be32(from[i].lkey);
		if (with_lengths)
			spec->length32[i] = cpu_to_be32(from[i].length);
		length += from[i].length;
	}
	return length <= IONIC_MSG_MAX ? length : -EINVAL;
}

/* The addresses are the kernel's own. */
static s64 put_inline(u8 *slot, const struct ib_sge *from, u32 count, u32 max)
{
	u32 length = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		if (from[i].length > max - length)
			return -EINVAL;
		memcpy(slot + IONIC_WQE_PAYLOAD + length, (void *)(uintptr_t)from[i].addr,
		       from[i].length);
		length += from[i].length;
	}
	return length;
}

/* ---- sends ------------------------------------------------------------------- */

static u16 to_flags(const struct ib_send_wr *wr, bool signaled)
{
	u16 flags = signaled ? IONIC_WQE_SIGNALED : 0;

	if (wr->send_flags & IB_SEND_FENCE)
		flags |= IONIC_WQE_FENCE;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= IONIC_WQE_SOLICITED;
	if (wr->send_flags & IB_SEND_INLINE)
		flags |= IONIC_WQE_INLINE;
	return flags;
}

static bool flags_are_ok(const struct ib_send_wr *wr, enum layout layout)
{
	if (wr->send_flags & IB_SEND_SOLICITED && layout != AS_SEND &&
	    wr->opcode != IB_WR_RDMA_WRITE_WITH_IMM)
		return false;
	return !(wr->send_flags & IB_SEND_INLINE) || layout == AS_SEND || layout == AS_WRITE;
}

static s64 put_payload(const struct dion_qp *qp, u8 *slot, const struct ib_send_wr *wr, u16 *flags)
{
	struct ionic_wqe_send *wqe = (struct ionic_wqe_send *)slot;
	s64 length;

	if (wr->send_flags & IB_SEND_INLINE) {
		length = put_inline(slot, wr->sg_list, wr->num_sge, qp->cap.max_inline_data);
	} else {
		wqe->header.num_sge = wr->num_sge;
		length = put_sges(&qp->sq, slot, wr->sg_list, wr->num_sge, qp->cap.max_send_sge,
				  flags);
	}
	wqe->length = cpu_to_be32(length);
	return length;
}

static s64 put_send(const struct dion_qp *qp, u8 *slot, const struct ib_send_wr *wr, u16 *flags)
{
	struct ionic_wqe_send *wqe = (struct ionic_wqe_send *)slot;

	if (wr->opcode == IB_WR_SEND_WITH_IMM)
		wqe->header.imm_key_length = wr->ex.imm_data;
	else if (wr->opcode == IB_WR_SEND_WITH_INV)
		wqe->header.imm_key_length = cpu_to_be32(wr->ex.invalidate_rkey);
	if (qp->dvq.ibqp.qp_type != IB_QPT_RC) {
		wqe->ah_addr_hi = cpu_to_be32(to_dion_ah(ud_wr(wr)->ah)->dvq.ah_num);
		wqe->qpn_addr_lo = cpu_to_be32(ud_wr(wr)->remote_qpn);
		wqe->qkey_rkey = cpu_to_be32(ud_wr(wr)->remote_qkey);
	}
	return put_payload(qp, slot, wr, flags);
}

static s64 put_rdma(const struct dion_qp *qp, u8 *slot, const struct ib_send_wr *wr, u16 *flags)
{
	struct ionic_wqe_send *wqe = (struct ionic_wqe_send *)slot;

	if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		wqe->header.imm_key_length = wr->ex.imm_data;
	wqe->ah_addr_hi = cpu_to_be32(upper_32_bits(rdma_wr(wr)->remote_addr));
	wqe->qpn_addr_lo = cpu_to_be32(lower_32_bits(rdma_wr(wr)->remote_addr));
	wqe->qkey_rkey = cpu_to_be32(rdma_wr(wr)->rkey);
	return put_payload(qp, slot, wr, flags);
}

/* The two versions have the local address in one place and its key in two. */
static s64 put_atomic(const struct dion_qp *qp, u8 *slot, const struct ib_send_wr *wr)
{
	bool v1 = to_dion_dev(qp->dvq.ibqp.device)->eth.rdma.version < 2;
	struct ionic_wqe_atomic *wqe = (struct ionic_wqe_atomic *)slot;
	const struct ib_atomic_wr *atomic = atomic_wr(wr);
	bool swap = wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP;
	u64 operand = swap ? atomic->swap : atomic->compare_add;

	if (wr->num_sge != 1 || wr->sg_list[0].length != sizeof(u64))
		return -EINVAL;
	wqe->header.num_sge = 1;
	wqe->addr_hi = cpu_to_be32(upper_32_bits(atomic->remote_addr));
	wqe->addr_lo = cpu_to_be32(lower_32_bits(atomic->remote_addr));
	wqe->rkey = cpu_to_be32(atomic->rkey);
	wqe->swap_add_hi = cpu_to_be32(upper_32_bits(operand));
	wqe->swap_add_lo = cpu_to_be32(lower_32_bits(operand));
	if (swap) {
		wqe->compare_hi = cpu_to_be32(upper_32_bits(atomic->compare_add));
		wqe->compare_lo = cpu_to_be32(lower_32_bits(atomic->compare_add));
	}
	wqe->local.addr = cpu_to_be64(wr->sg_list[0].addr);
	if (v1) {
		wqe->local.sge.length = cpu_to_be32(sizeof(u64));
		wqe->local.sge.key = cpu_to_be32(wr->sg_list[0].lkey);
	} else {
		wqe->lkey = cpu_to_be32(wr->sg_list[0].lkey);
	}
	return sizeof(u64);
}

static s64 put_body(struct dion_qp *qp, u8 *slot, const struct ib_send_wr *wr, enum layout layout,
		    u16 *flags)
{
	struct ionic_wqe_header *header = (struct ionic_wqe_header *)slot;

	switch (layout) {
	case AS_SEND:
		return put_send(qp, slot, wr, flags);
	case AS_WRITE:
	case AS_READ:
		return put_rdma(qp, slot, wr, flags);
	case AS_ATOMIC:
		return put_atomic(qp, slot, wr);
	case AS_REG_MR:
		return dion_fill_reg_mr(to_dion_dev(qp->dvq.ibqp.device),
					(struct ionic_wqe_reg_mr *)slot, reg_wr(wr));
	default:
		header->imm_key_length = cpu_to_be32(wr->ex.invalidate_rkey);
		return 0;
	}
}

static int post_send(struct dion_qp *qp, const struct ib_send_wr *wr)
{
	struct dion_sends *sends = &qp->work->sends;
	const struct op *op = find_op(qp, wr);
	u16 slot = sends->posted & qp->sq.ring.mask;
	struct ionic_wqe_header *header = slot_of(&qp->sq, slot);
	bool signaled = qp->sig_type == IB_SIGNAL_ALL_WR || wr->send_flags & IB_SEND_SIGNALED;
	u16 flags = to_flags(wr, signaled);
	bool remote;
	s64 length;

	lockdep_assert_held(&sends->lock);
	if (!op)
		return -EOPNOTSUPP;
	if (sends->flow == DION_CLOSED || !flags_are_ok(wr, op->layout))
		return -EINVAL;
	if (sends->posted - sends->retired >= qp->sq.ring.mask)
		return -ENOMEM;
	memset(header, 0, BIT(qp->sq.ring.stride_log2));
	length = put_body(qp, (u8 *)header, wr, op->layout, &flags);
	if (length < 0)
		return length;
	header->id = cpu_to_le64(slot);
	header->op = to_dion_dev(qp->dvq.ibqp.device)->eth.rdma.version < 2 ? op->v1 : op->v2;
	header->flags = cpu_to_be16(flags);

	remote = qp->dvq.ibqp.qp_type == IB_QPT_RC && op->layout < AS_REG_MR;
	sends->by_slot[slot] = (struct dion_send) {
		.wr_id = wr->wr_id,
		.length = length,
		.message = sends->messages,
		.opcode = op->completion,
		.remote = remote,
		.signaled = signaled,
	};
	sends->messages += remote;
	sends->posted++;
	return 0;
}

int dion_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad)
{
	struct dion_qp *qp = to_dion_qp(ibqp);
	struct dion_sends *sends = &qp->work->sends;
	bool posted, flushing;
	unsigned long flags;
	int ret = 0;
	u32 before;

	spin_lock_irqsave(&sends->lock, flags);
	before = sends->posted;
	for (; wr; wr = wr->next) {
		ret = post_send(qp, wr);
		if (ret)
			break;
	}
	posted = sends->posted != before;
	/* One that flushes rings, too: the device has to know where it goes on after SQE. */
	if (posted)
		ring(qp, to_dion_dev(ibqp->device)->eth.rdma.sq.qtype, &qp->sq, sends->posted);
	flushing = sends->flow == DION_FLUSHING;
	spin_unlock_irqrestore(&sends->lock, flags);
	if (posted && flushing)
		dion_flush_more_sends(qp->work);
	if (ret) {
		*bad = wr;
		ibdev_dbg(ibqp->device, "QP %u: no send of kind %d: %d\n", ibqp->qp_num, wr->opcode,
			  ret);
	}
	return ret;
}

/* ---- receives ---------------------------------------------------------------- */

static int post_recv(struct dion_qp *qp, const struct ib_recv_wr *wr)
{
	struct dion_recvs *recvs = &qp->work->recvs;
	struct ionic_wqe_recv *wqe = slot_of(&qp->rq, recvs->posted);
	struct dion_recv *recv;
	u16 flags = 0;
	s64 length;

	lockdep_assert_held(&recvs->lock);
	if (recvs->flow == DION_CLOSED)
		return -EINVAL;
	recv = list_first_entry_or_null(&recvs->unused, struct dion_recv, entry);
	if (!recv)
		return -ENOMEM;
	memset(wqe, 0, BIT(qp->rq.ring.stride_log2));
	length = put_sges(&qp->rq, (u8 *)wqe, wr->sg_list, wr->num_sge, qp->cap.max_recv_sge,
			  &flags);
	if (length < 0)
		return length;
	wqe->header.id = cpu_to_le64(recv - recvs->by_token);
	wqe->header.num_sge = wr->num_sge;
	wqe->header.flags = cpu_to_be16(flags);
	wqe->header.imm_key_length = cpu_to_be32(length);

	recv->wr_id = wr->wr_id;
	recv->used = true;
	list_move_tail(&recv->entry, &recvs->used);
	recvs->posted++;
	return 0;
}

int dion_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad)
{
	struct dion_qp *qp = to_dion_qp(ibqp);
	struct dion_recvs *recvs = &qp->work->recvs;
	bool posted, flushing;
	unsigned long flags;
	int ret = 0;
	u32 before;

	spin_lock_irqsave(&recvs->lock, flags);
	before = recvs->posted;
	for (; wr; wr = wr->next) {
		ret = post_recv(qp, wr);
		if (ret)
			break;
	}
	posted = recvs->posted != before;
	if (posted)
		ring(qp, to_dion_dev(ibqp->device)->eth.rdma.rq.qtype, &qp->rq, recvs->posted);
	flushing = recvs->flow == DION_FLUSHING;
	spin_unlock_irqrestore(&recvs->lock, flags);
	if (posted && flushing)
		dion_flush_more_recvs(qp->work);
	if (ret) {
		*bad = wr;
		ibdev_dbg(ibqp->device, "QP %u: no receive: %d\n", ibqp->qp_num, ret);
	}
	return ret;
}

/* ---- begin and end ----------------------------------------------------------- */

static int sends_init(struct dion_sends *sends, u32 slots)
{
	sends->by_slot = kvcalloc(slots, sizeof(*sends->by_slot), GFP_KERNEL);
	if (!sends->by_slot)
		return -ENOMEM;
	spin_lock_init(&sends->lock);
	INIT_LIST_HEAD(&sends->ready);
	INIT_LIST_HEAD(&sends->flush);
	return 0;
}

/* As many as fit into the ring, of which one slot stays empty. */
static int recvs_init(struct dion_recvs *recvs, u32 count)
{
	u32 i;

	recvs->by_token = kvcalloc(count, sizeof(*recvs->by_token), GFP_KERNEL);
	if (!recvs->by_token)
		return -ENOMEM;
	spin_lock_init(&recvs->lock);
	INIT_LIST_HEAD(&recvs->used);
	INIT_LIST_HEAD(&recvs->unused);
	INIT_LIST_HEAD(&recvs->flush);
	for (i = 0; i < count; i++)
		list_add_tail(&recvs->by_token[i].entry, &recvs->unused);
	return 0;
}

static struct dion_cq_ring *ring_of(const struct dion_qp *qp, struct ib_cq *ibcq)
{
	struct dion_dev *dev = to_dion_dev(ibcq->device);

	return &to_dion_cq(ibcq)->rings[dion_qids_pipeline(&dev->qp_ids, qp->dvq.ibqp.qp_num)];
}

/* @qp: has a number and rings */
int dion_work_create(struct dion_qp *qp, const struct ib_qp_init_attr *attr)
{
	struct dion_work *work;
	int ret;

	work = kzalloc(sizeof(*work), GFP_KERNEL);
	if (!work)
		return -ENOMEM;
	work->qp = qp;
	work->send_ring = ring_of(qp, attr->send_cq);
	work->recv_ring = ring_of(qp, attr->recv_cq);
	ret = sends_init(&work->sends, BIT(qp->sq.ring.depth_log2));
	if (ret)
		goto err_free;
	ret = recvs_init(&work->recvs, qp->rq.ring.mask);
	if (ret)
		goto err_free_sends;
	qp->work = work;
	return 0;

err_free_sends:
	kvfree(work->sends.by_slot);
err_free:
	kfree(work);
	return ret;
}

void dion_work_destroy(struct dion_qp *qp)
{
	kvfree(qp->work->recvs.by_token);
	kvfree(qp->work->sends.by_slot);
	kfree(qp->work);
	qp->work = NULL;
}
