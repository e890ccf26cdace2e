// SPDX-License-Identifier: GPL-2.0
/*
 * Taking WQEs apart. What no correct poster writes is recorded as a violation and
 * completes with an error; what a user may get wrong only completes with one.
 */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "efa_net.h"

/* what a correct poster does not write; the status of its completion */
static enum efa_io_status malformed(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				    const char *what)
{
	model_violation(&efa->dev, "QP %u: WQE %" PRIu64 ": %s", qp->num, count, what);
	return EFA_IO_LOCAL_QP_INTERNAL;
}

static bool all_zero(const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		if (*byte++)
			return false;
	return true;
}

static enum efa_io_status check_meta(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const struct efa_wqe_meta *meta)
{
	const uint8_t always = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ;

	if (!(meta->ctrl1 & EFA_WQE_META_DESC) || (meta->ctrl2 & always) != always)
		return malformed(efa, qp, count,
				 "meta_desc, first, last and comp_req must all be 1");
	if (qp->sq.phase_checked &&
	    (meta->ctrl2 & EFA_WQE_PHASE) != (count / qp->sq.depth & 1))
		return malformed(efa, qp, count, "phase is not the parity of the lap");
	if (!efa->config.mbz)
		return EFA_IO_OK;
	if (meta->ctrl1 & EFA_WQE_META_EXT || meta->ctrl2 & EFA_WQE_CTRL2_MBZ ||
	    meta->ctrl3 & EFA_WQE_CTRL3_MBZ || meta->reserved15 ||
	    !all_zero(meta->reserved20, sizeof(meta->reserved20)))
		return malformed(efa, qp, count, "reserved bits of the metadata are not zero");
	if (!(qp->flags & EFA_CREATE_QP_64BIT_IDS) &&
	    !all_zero(meta->req_id_ex, sizeof(meta->req_id_ex)))
		return malformed(efa, qp, count,
				 "upper request id bits on a QP with 16-bit ids");
	return EFA_IO_OK;
}

uint64_t efa_wqe_req_id(const struct efa_qp *qp, const struct efa_wqe_meta *meta)
{
	uint64_t id = le16toh(meta->req_id);

	if (qp->flags & EFA_CREATE_QP_64BIT_IDS)
		id |= (uint64_t)le16toh(meta->req_id_ex[0]) << 16 |
		      (uint64_t)le16toh(meta->req_id_ex[1]) << 32 |
		      (uint64_t)le16toh(meta->req_id_ex[2]) << 48;
	return id;
}

static enum efa_io_status parse_bufs(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const struct efa_tx_buf *buf, unsigned int n,
				     struct efa_wr *wr)
{
	uint64_t length = 0;

	wr->bufs = n;
	for (unsigned int i = 0; i < n; i++) {
		uint32_t lkey = le32toh(buf[i].lkey);

		if (lkey & ~EFA_LKEY_BITS && efa->config.mbz)
			return malformed(efa, qp, count, "lkey with more than 24 bits");
		wr->buf[i].addr = le32toh(buf[i].addr_lo) | (uint64_t)le32toh(buf[i].addr_hi) << 32;
		wr->buf[i].length = le32toh(buf[i].length);
		wr->buf[i].lkey = lkey & EFA_LKEY_BITS;
		length += wr->buf[i].length;
	}
	if (length > UINT32_MAX)
		return EFA_IO_LOCAL_BAD_LENGTH;
	wr->length = length;
	return EFA_IO_OK;
}

static enum efa_io_status parse_inline(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				       const uint8_t *data, unsigned int length, unsigned int room,
				       struct efa_wr *wr)
{
	if (length > room) {
		malformed(efa, qp, count, "more inline bytes than the WQE holds");
		return EFA_IO_LOCAL_BAD_LENGTH;
	}
	wr->length = length;
	memcpy(wr->data, data, length);
	return EFA_IO_OK;
}

/* the bytes from @used to the end of the WQE: posters begin with an empty one */
static enum efa_io_status check_tail(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, size_t used)
{
	if (!efa->config.mbz || all_zero(wqe + used, qp->sq.wqe_size - used))
		return EFA_IO_OK;
	return malformed(efa, qp, count, "the unused tail of the WQE is not zero");
}

static enum efa_io_status parse_send(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, struct efa_wr *wr)
{
	const struct efa_wqe_wide *wide = (const void *)wqe;
	bool is_wide = qp->sq.wqe_size == EFA_WQE_SIZE_WIDE;
	unsigned int length = le16toh(wide->meta.length);
	size_t room = is_wide ? EFA_WQE_INLINE_WIDE : EFA_WQE_INLINE;
	enum efa_io_status status;

	if (wr->is_inline) {
		status = parse_inline(efa, qp, count, wide->u.inline_data, length, room, wr);
		return status ? status :
		       check_tail(efa, qp, count, wqe, EFA_WQE_META_SIZE + length);
	}
	if (length > efa->config.send_sges) {
		malformed(efa, qp, count, "more buffer descriptors than max_send_sges");
		return EFA_IO_LOCAL_BAD_LENGTH;
	}
	status = parse_bufs(efa, qp, count, wide->u.sgl, length, wr);
	return status ? status :
	       check_tail(efa, qp, count, wqe, EFA_WQE_META_SIZE + length * sizeof(wide->u.sgl[0]));
}

static enum efa_io_status parse_rdma(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				     const uint8_t *wqe, struct efa_wr *wr)
{
	const struct efa_wqe_wide *wide = (const void *)wqe;
	const struct efa_remote_mem *remote = &wide->u.rdma.remote;
	unsigned int length = le16toh(wide->meta.length);
	size_t used = EFA_WQE_META_SIZE + sizeof(*remote);
	enum efa_io_status status;

	wr->rkey = le32toh(remote->rkey);
	wr->remote = le32toh(remote->addr_lo) | (uint64_t)le32toh(remote->addr_hi) << 32;
	if (wr->has_imm && wr->op == EFA_OP_RDMA_READ)
		return malformed(efa, qp, count, "immediate data with a read");
	if (wr->is_inline) {
		if (wr->op == EFA_OP_RDMA_READ || qp->sq.wqe_size != EFA_WQE_SIZE_WIDE)
			return malformed(efa, qp, count,
					 "inline data belongs to writes of 128-byte WQEs only");
		status = parse_inline(efa, qp, count, wide->u.rdma.u.inline_data, length,
				      EFA_WQE_INLINE_WIDE, wr);
		used += length;
	} else if (length > 1) {
		malformed(efa, qp, count, "more than one local buffer");
		status = EFA_IO_LOCAL_BAD_LENGTH;
	} else {
		status = parse_bufs(efa, qp, count, &wide->u.rdma.u.local, length, wr);
		used += length * sizeof(wide->u.rdma.u.local);
	}
	if (!status)
		status = check_tail(efa, qp, count, wqe, used);
	if (!status && le32toh(remote->length) != wr->length)
		return EFA_IO_LOCAL_BAD_LENGTH;
	return status;
}

enum efa_io_status efa_wqe_parse(struct efa *efa, const struct efa_qp *qp, uint64_t count,
				 const uint8_t *wqe, struct efa_wr *wr)
{
	const struct efa_wqe *narrow = (const void *)wqe;
	const struct efa_wqe_meta *meta = &narrow->meta;
	enum efa_io_status status;

	*wr = (struct efa_wr) {
		.op = HW_GET(EFA_WQE_OP, meta->ctrl1),
		.req_id = efa_wqe_req_id(qp, meta),
		.dest_qp = le16toh(meta->dest_qp_num),
		.ah = le16toh(meta->ah),
		.qkey = le32toh(meta->qkey),
		.imm = le32toh(meta->imm),
		.has_imm = meta->ctrl1 & EFA_WQE_HAS_IMM,
		.is_inline = meta->ctrl1 & EFA_WQE_INLINE_MSG,
	};
	status = check_meta(efa, qp, count, meta);
	if (status)
		return status;
	switch (wr->op) {
	case EFA_OP_SEND:
		return parse_send(efa, qp, count, wqe, wr);
	case EFA_OP_RDMA_READ:
	case EFA_OP_RDMA_WRITE:
		return parse_rdma(efa, qp, count, wqe, wr);
	case EFA_OP_FAST_REG:
	case EFA_OP_FAST_INVALIDATE:
		wr->fast_reg = narrow->u.fast_reg;
		return EFA_IO_OK;
	}
	return malformed(efa, qp, count, "there is no such operation");
}
