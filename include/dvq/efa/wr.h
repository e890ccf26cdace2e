/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One send work request, put together as the 64-bit words that go to the ring.
 *
 *	struct dvq_efa_wr wr;
 *
 *	dvq_efa_wr_rdma_write(&wr, rkey, remote_address);
 *	dvq_efa_wr_set_dest(&wr, ah, qp_num, qkey);
 *	dvq_efa_wr_set_sge(&wr, lkey, address, length);
 *	dvq_efa_wr_set_hints(&wr, DVQ_EFA_HINT_BURST);
 *	ret = dvq_efa_sq_post(&sq, &wr, wr_id);
 *
 * A builder comes first and clears everything; setters follow in any order and only
 * set. What cannot be is remembered in the WR (the first error stays) and returned by
 * the post call, which then has done nothing. A WR may be kept and posted again, also
 * after another destination or other hints were set.
 *
 * The words are locals of the caller and stay in registers: no entry is built with
 * narrow stores and then read back wide. Compilers keep an array in registers only
 * where every index is a constant from the start, hence no loops over it.
 */
#ifndef DVQ_EFA_WR_H
#define DVQ_EFA_WR_H

#include <dvq/efa/ids.h>
#include <dvq/inline.h>
#include <hw/efa_io.h>

#define DVQ_EFA_HINT_BURST	EFA_WQE_HINT_BURST

/**
 * struct dvq_efa_wr - a send work request
 * @word: the entry as the device reads it; a 64-byte entry is the first half. Of words 0
 *	and 1 only the destination
 * @ctrl: of word 0 the rest, without id and phase
 * @imm: of word 1
 * @hints: of word 1
 * @op: enum efa_op
 * @error: 0, or the errno of the first setter that was refused
 * @sges: local buffers set
 * @is_inline: inline data was set
 * @inline_bytes: how much
 * @reserved: zero
 */
struct dvq_efa_wr {
	uint64_t word[EFA_WQE_SIZE_WIDE / 8];
	uint64_t ctrl;
	uint64_t imm;
	uint64_t hints;
	uint32_t op;
	uint32_t error;
	uint32_t sges;
	uint32_t is_inline;
	uint32_t inline_bytes;
	uint32_t reserved;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_wr) == 176, "layout");

/* word 0: id 15:0, ctrl1 23:16, ctrl2 31:24, destination QP 47:32, length 63:48 */
#define DVQ_EFA_W0_CTRL1	16
#define DVQ_EFA_W0_CTRL2	24
#define DVQ_EFA_W0_QPN		32
#define DVQ_EFA_W0_LENGTH	48
#define DVQ_EFA_W0_PHASE	((uint64_t)EFA_WQE_PHASE << DVQ_EFA_W0_CTRL2)
/* word 1: immediate 31:0, AH 47:32, ctrl3 55:48 */
#define DVQ_EFA_W1_AH		32
#define DVQ_EFA_W1_CTRL3	48
#define DVQ_EFA_W1_HINTS	((uint64_t)EFA_WQE_HINTS << DVQ_EFA_W1_CTRL3)
/* word 2: QKey 31:0; word 3: id 63:16 in place; buffers and remote memory from word 4 */
/* a buffer: length 31:0 and key 63:32, then the address */
#define DVQ_EFA_BUF_KEY		32

DVQ_INLINE void dvq_efa_wr_fail(struct dvq_efa_wr *wr, uint32_t error)
{
	if (!wr->error)
		wr->error = error;
}

/* what every entry has: the device knows no unsignaled or chained work */
DVQ_INLINE void dvq_efa_wr_init(struct dvq_efa_wr *wr, uint32_t op, uint32_t ctrl1, uint32_t imm)
{
	const uint64_t ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ;

	wr->word[0] = 0;
	wr->word[1] = 0;
	wr->word[2] = 0;
	wr->word[3] = 0;
	wr->word[4] = 0;
	wr->word[5] = 0;
	wr->word[6] = 0;
	wr->word[7] = 0;
	wr->word[8] = 0;
	wr->word[9] = 0;
	wr->word[10] = 0;
	wr->word[11] = 0;
	wr->word[12] = 0;
	wr->word[13] = 0;
	wr->word[14] = 0;
	wr->word[15] = 0;
	wr->ctrl = (uint64_t)(EFA_WQE_META_DESC | ctrl1 | op) << DVQ_EFA_W0_CTRL1 |
		   ctrl2 << DVQ_EFA_W0_CTRL2;
	wr->imm = imm;
	wr->hints = 0;
	wr->op = op;
	wr->error = 0;
	wr->sges = 0;
	wr->is_inline = 0;
	wr->inline_bytes = 0;
	wr->reserved = 0;
}

/* ---- builders -------------------------------------------------------------------- */

DVQ_INLINE void dvq_efa_wr_send(struct dvq_efa_wr *wr)
{
	dvq_efa_wr_init(wr, EFA_OP_SEND, 0, 0);
}

/* @imm is a number; the verbs' imm_data is its big-endian form */
DVQ_INLINE void dvq_efa_wr_send_imm(struct dvq_efa_wr *wr, uint32_t imm)
{
	dvq_efa_wr_init(wr, EFA_OP_SEND, EFA_WQE_HAS_IMM, imm);
}

DVQ_INLINE void dvq_efa_wr_set_remote(struct dvq_efa_wr *wr, uint32_t rkey, uint64_t address)
{
	wr->word[4] = (uint64_t)rkey << DVQ_EFA_BUF_KEY;
	wr->word[5] = address;
}

DVQ_INLINE void dvq_efa_wr_rdma_read(struct dvq_efa_wr *wr, uint32_t rkey, uint64_t remote)
{
	dvq_efa_wr_init(wr, EFA_OP_RDMA_READ, 0, 0);
	dvq_efa_wr_set_remote(wr, rkey, remote);
}

DVQ_INLINE void dvq_efa_wr_rdma_write(struct dvq_efa_wr *wr, uint32_t rkey, uint64_t remote)
{
	dvq_efa_wr_init(wr, EFA_OP_RDMA_WRITE, 0, 0);
	dvq_efa_wr_set_remote(wr, rkey, remote);
}

DVQ_INLINE void dvq_efa_wr_rdma_write_imm(struct dvq_efa_wr *wr, uint32_t rkey, uint64_t remote,
					  uint32_t imm)
{
	dvq_efa_wr_init(wr, EFA_OP_RDMA_WRITE, EFA_WQE_HAS_IMM, imm);
	dvq_efa_wr_set_remote(wr, rkey, remote);
}

/* ---- setters --------------------------------------------------------------------- */

/* a destination as an entry has it: for a program that keeps one per peer */
struct dvq_efa_dest {
	uint64_t qpn;		/* in the place of word 0 */
	uint64_t ah;		/* in the place of word 1 */
	uint64_t qkey;
};

/* @ah is the device's AH number */
DVQ_INLINE void dvq_efa_dest_init(struct dvq_efa_dest *dest, uint16_t ah, uint16_t qp_num,
				  uint32_t qkey)
{
	dest->qpn = (uint64_t)qp_num << DVQ_EFA_W0_QPN;
	dest->ah = (uint64_t)ah << DVQ_EFA_W1_AH;
	dest->qkey = qkey;
}

/* Where it goes; this or the next call is needed for every operation. */
DVQ_INLINE void dvq_efa_wr_set_peer(struct dvq_efa_wr *wr, const struct dvq_efa_dest *dest)
{
	wr->word[0] = dest->qpn;
	wr->word[1] = dest->ah;
	wr->word[2] = dest->qkey;
}

DVQ_INLINE void dvq_efa_wr_set_dest(struct dvq_efa_wr *wr, uint16_t ah, uint16_t qp_num,
				    uint32_t qkey)
{
	struct dvq_efa_dest dest;

	dvq_efa_dest_init(&dest, ah, qp_num, qkey);
	dvq_efa_wr_set_peer(wr, &dest);
}

/*
 * DVQ_EFA_HINT_*; the last call wins, 0 clears, unknown bits are dropped. On a queue
 * whose device knows no hints they are dropped when posting.
 */
DVQ_INLINE void dvq_efa_wr_set_hints(struct dvq_efa_wr *wr, uint32_t hints)
{
	wr->hints = (uint64_t)(hints & DVQ_EFA_HINT_BURST) << DVQ_EFA_W1_CTRL3;
}

/*
 * One more local buffer: up to two of a send, one of an RDMA operation, whose remote
 * length is the buffer's. Not beside inline data.
 */
DVQ_INLINE void dvq_efa_wr_set_sge(struct dvq_efa_wr *wr, uint32_t lkey, uint64_t address,
				   uint32_t length)
{
	const uint64_t word = (uint64_t)(lkey & EFA_LKEY_BITS) << DVQ_EFA_BUF_KEY | length;
	const bool rdma = wr->op != EFA_OP_SEND;

	if (dvq_unlikely(wr->is_inline || wr->sges >= (rdma ? 1 : EFA_WQE_SEND_SGES))) {
		dvq_efa_wr_fail(wr, DVQ_EFA_EINVAL);
		return;
	}
	if (!rdma && !wr->sges) {
		wr->word[4] = word;
		wr->word[5] = address;
	} else {
		wr->word[6] = word;
		wr->word[7] = address;
	}
	if (rdma)
		wr->word[4] |= length;
	wr->sges++;
	wr->ctrl += (uint64_t)1 << DVQ_EFA_W0_LENGTH;
}

DVQ_INLINE uint64_t dvq_efa_wr_word(const uint8_t *data)
{
	uint64_t word;

	__builtin_memcpy(&word, data, 8);
	return word;
}

/* less than 8 bytes, the rest zero */
DVQ_INLINE uint64_t dvq_efa_wr_bytes(const uint8_t *data, uint32_t length)
{
	uint64_t word = 0;

	for (uint32_t i = 0; i < length; i++)
		word |= (uint64_t)data[i] << 8 * i;
	return word;
}

/* one step of copying; leaves the function behind the last byte */
#define DVQ_EFA_WR_COPY(to, data, length, n)					\
	do {									\
		if ((length) < 8 * (n) + 8) {					\
			if ((length) > 8 * (n))					\
				(to)[n] = dvq_efa_wr_bytes((data) + 8 * (n),	\
							   (length) - 8 * (n));	\
			return;							\
		}								\
		(to)[n] = dvq_efa_wr_word((data) + 8 * (n));			\
	} while (0)

/* the first data of a WR */
DVQ_INLINE void dvq_efa_wr_copy(uint64_t *to, const uint8_t *data, uint32_t length)
{
	DVQ_EFA_WR_COPY(to, data, length, 0);
	DVQ_EFA_WR_COPY(to, data, length, 1);
	DVQ_EFA_WR_COPY(to, data, length, 2);
	DVQ_EFA_WR_COPY(to, data, length, 3);
	DVQ_EFA_WR_COPY(to, data, length, 4);
	DVQ_EFA_WR_COPY(to, data, length, 5);
	DVQ_EFA_WR_COPY(to, data, length, 6);
	DVQ_EFA_WR_COPY(to, data, length, 7);
	DVQ_EFA_WR_COPY(to, data, length, 8);
	DVQ_EFA_WR_COPY(to, data, length, 9);
}

#undef DVQ_EFA_WR_COPY

/* more of it, from any byte on */
DVQ_INLINE void dvq_efa_wr_append(uint64_t *to, uint32_t have, const uint8_t *data,
				  uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		to[(have + i) / 8] |= (uint64_t)data[i] << (have + i) % 8 * 8;
}

/*
 * Data that travels in the entry: a send's, or (on a queue of 128-byte entries) an RDMA
 * write's, never a read's. Called again it appends. @data is read now, and may be NULL
 * if @length is 0. How much a queue takes is checked when posting.
 */
DVQ_INLINE void dvq_efa_wr_set_inline(struct dvq_efa_wr *wr, const void *data, uint32_t length)
{
	const bool rdma = wr->op != EFA_OP_SEND;
	const uint32_t at = rdma ? 6 : 4;

	if (dvq_unlikely(wr->op == EFA_OP_RDMA_READ || wr->sges ||
			 length > EFA_WQE_INLINE_WIDE - wr->inline_bytes)) {
		dvq_efa_wr_fail(wr, DVQ_EFA_EINVAL);
		return;
	}
	if (!wr->inline_bytes)
		dvq_efa_wr_copy(wr->word + at, (const uint8_t *)data, length);
	else
		dvq_efa_wr_append(wr->word + at, wr->inline_bytes, (const uint8_t *)data, length);
	wr->is_inline = 1;
	wr->inline_bytes += length;
	wr->ctrl |= (uint64_t)EFA_WQE_INLINE_MSG << DVQ_EFA_W0_CTRL1;
	wr->ctrl += (uint64_t)length << DVQ_EFA_W0_LENGTH;
	if (rdma)
		wr->word[4] += length;
}

#endif /* DVQ_EFA_WR_H */
