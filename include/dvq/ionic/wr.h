/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * One send work request of an ionic queue, put together as the 64-bit words that go to the
 * ring.
 *
 *	struct dvq_ionic_wr wr;
 *
 *	dvq_ionic_wr_rdma_write(&wr, rkey, remote_address);
 *	dvq_ionic_wr_set_sge(&wr, lkey, address, length);
 *	ret = dvq_ionic_sq_post(&sq, &wr, wr_id);
 *
 * A builder comes first and clears everything; setters follow in any order and only set.
 * What cannot be is remembered in the WR (the first error stays) and returned by the post
 * call, which then has done nothing. A WR may be kept and posted again, to any queue.
 *
 * A request is signaled unless dvq_ionic_wr_set_flags() says otherwise.
 */
#ifndef DVQ_IONIC_WR_H
#define DVQ_IONIC_WR_H

#include <dvq/ionic/reqs.h>
#include <hw/ionic_rdma_io.h>

#define DVQ_IONIC_SIGNALED	IONIC_WQE_SIGNALED	/* its success is reported */
#define DVQ_IONIC_FENCE		IONIC_WQE_FENCE		/* after reads and atomics before it */
#define DVQ_IONIC_SOLICITED	IONIC_WQE_SOLICITED	/* an event for who waits for such only */

#define DVQ_IONIC_WR_BYTES	512	/* the largest entry that is made */
#define DVQ_IONIC_MAX_INLINE	(DVQ_IONIC_WR_BYTES - IONIC_WQE_PAYLOAD)
#define DVQ_IONIC_MAX_SGE	(DVQ_IONIC_MAX_INLINE / 16)

/* struct dvq_ionic_wr.kind */
#define DVQ_IONIC_KIND_DATAGRAM	0x01	/* a UD queue knows it */
#define DVQ_IONIC_KIND_MESSAGE	0x02	/* goes to the peer of a connected queue */
#define DVQ_IONIC_KIND_DATA	0x04	/* buffers or inline data, and their length */
#define DVQ_IONIC_KIND_ATOMIC	0x08	/* one buffer of 8 bytes */

/**
 * struct dvq_ionic_wr - a send work request
 * @word: the entry as the adapter reads it, without what depends on the queue; 64 bytes that
 *	are not in use are not cleared
 * @op_v1: opcode of version 1 adapters
 * @op_v2: opcode of version 2 adapters
 * @opcode: enum ibv_wc_opcode of the completion
 * @kind: DVQ_IONIC_KIND_*
 * @flags: IONIC_WQE_*
 * @refused: flags that go with it not
 * @num_sge: as in the entry
 * @error: 0, or the errno of the first setter that was refused
 * @sges: local buffers set
 * @bytes: used of the entry
 * @length: of the message
 * @lkey: of an atomic
 * @has_dest: a destination was set
 * @reserved: zero
 */
struct dvq_ionic_wr {
	uint64_t word[DVQ_IONIC_WR_BYTES / 8];
	uint8_t op_v1;
	uint8_t op_v2;
	uint8_t opcode;
	uint8_t kind;
	uint16_t flags;
	uint16_t refused;
	uint32_t num_sge;
	uint32_t error;
	uint32_t sges;
	uint32_t bytes;
	uint32_t length;
	uint32_t lkey;
	uint32_t has_dest;
	uint32_t reserved;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_wr) == 552, "layout");

/* word 1: op 7:0, num_sge 15:8, flags 31:16, immediate or key 63:32 */
#define DVQ_IONIC_W1_NUM_SGE	8
#define DVQ_IONIC_W1_FLAGS	16
#define DVQ_IONIC_W1_IMM	32

/* ---- byte order: the adapter's numbers are big endian ------------------------------- */

DVQ_INLINE uint64_t dvq_swap16(uint16_t x)
{
	return (uint16_t)(x >> 8 | x << 8);
}

#if DVQ_ON_GPU
DVQ_INLINE uint64_t dvq_swap32(uint32_t x)
{
	return x >> 24 | (x >> 8 & 0xff00) | (x << 8 & 0xff0000) | x << 24;
}

DVQ_INLINE uint64_t dvq_swap64(uint64_t x)
{
	return dvq_swap32((uint32_t)x) << 32 | dvq_swap32((uint32_t)(x >> 32));
}
#else
DVQ_INLINE uint64_t dvq_swap32(uint32_t x)
{
	return __builtin_bswap32(x);
}

DVQ_INLINE uint64_t dvq_swap64(uint64_t x)
{
	return __builtin_bswap64(x);
}
#endif

/* two neighbouring 32-bit numbers */
DVQ_INLINE uint64_t dvq_swap_pair(uint32_t first, uint32_t second)
{
	return dvq_swap32(first) | dvq_swap32(second) << 32;
}

/* ---- builders ----------------------------------------------------------------------- */

DVQ_INLINE void dvq_ionic_wr_fail(struct dvq_ionic_wr *wr, uint32_t error)
{
	if (!wr->error)
		wr->error = error;
}

/* what an operation is, in all its tables */
struct dvq_ionic_op {
	uint8_t v1, v2, opcode, kind;
	uint16_t refused;
};

DVQ_INLINE void dvq_ionic_wr_init(struct dvq_ionic_wr *wr, struct dvq_ionic_op op, uint32_t imm)
{
	wr->word[0] = 0;
	wr->word[1] = dvq_swap32(imm) << DVQ_IONIC_W1_IMM;
	wr->word[2] = 0;
	wr->word[3] = 0;
	wr->word[4] = 0;
	wr->word[5] = 0;
	wr->word[6] = 0;
	wr->word[7] = 0;
	wr->op_v1 = op.v1;
	wr->op_v2 = op.v2;
	wr->opcode = op.opcode;
	wr->kind = op.kind;
	wr->flags = IONIC_WQE_SIGNALED;
	wr->refused = op.refused;
	wr->num_sge = 0;
	wr->error = 0;
	wr->sges = 0;
	wr->bytes = IONIC_WQE_PAYLOAD;
	wr->length = 0;
	wr->lkey = 0;
	wr->has_dest = 0;
	wr->reserved = 0;
}

/* the values of enum ibv_wc_opcode are fixed, so its header need not be there */
#define DVQ_IONIC_WC_SEND	0
#define DVQ_IONIC_WC_WRITE	1
#define DVQ_IONIC_WC_READ	2
#define DVQ_IONIC_WC_CMP_SWAP	3
#define DVQ_IONIC_WC_FETCH_ADD	4
#define DVQ_IONIC_WC_BIND_MW	5
#define DVQ_IONIC_WC_LOCAL_INV	6
#define DVQ_IONIC_WC_RECV	128
#define DVQ_IONIC_WC_RECV_WRITE	129

DVQ_INLINE void dvq_ionic_wr_send(struct dvq_ionic_wr *wr)
{
	const uint8_t kind = DVQ_IONIC_KIND_DATAGRAM | DVQ_IONIC_KIND_MESSAGE |
			     DVQ_IONIC_KIND_DATA;
	const struct dvq_ionic_op op = { IONIC_V1_SEND, IONIC_V2_SEND, DVQ_IONIC_WC_SEND, kind, 0 };

	dvq_ionic_wr_init(wr, op, 0);
}

/* @imm is a number; the verbs' imm_data is its big-endian form */
DVQ_INLINE void dvq_ionic_wr_send_imm(struct dvq_ionic_wr *wr, uint32_t imm)
{
	const uint8_t kind = DVQ_IONIC_KIND_DATAGRAM | DVQ_IONIC_KIND_MESSAGE |
			     DVQ_IONIC_KIND_DATA;
	const struct dvq_ionic_op op = { IONIC_V1_SEND_IMM, IONIC_V2_SEND_IMM, DVQ_IONIC_WC_SEND,
					 kind, 0 };

	dvq_ionic_wr_init(wr, op, imm);
}

/* a send that takes the peer's memory region or window @rkey out of use */
DVQ_INLINE void dvq_ionic_wr_send_inv(struct dvq_ionic_wr *wr, uint32_t rkey)
{
	const struct dvq_ionic_op op = { IONIC_V1_SEND_INV, IONIC_V2_SEND_INV, DVQ_IONIC_WC_SEND,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_DATA, 0 };

	dvq_ionic_wr_init(wr, op, rkey);
}

DVQ_INLINE void dvq_ionic_wr_set_remote(struct dvq_ionic_wr *wr, uint32_t rkey, uint64_t address)
{
	wr->word[2] = dvq_swap64(address);
	wr->word[3] = dvq_swap32(rkey);
}

DVQ_INLINE void dvq_ionic_wr_rdma_read(struct dvq_ionic_wr *wr, uint32_t rkey, uint64_t remote)
{
	const struct dvq_ionic_op op = { IONIC_V1_READ, IONIC_V2_READ, DVQ_IONIC_WC_READ,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_DATA,
					 IONIC_WQE_SOLICITED | IONIC_WQE_INLINE };

	dvq_ionic_wr_init(wr, op, 0);
	dvq_ionic_wr_set_remote(wr, rkey, remote);
}

DVQ_INLINE void dvq_ionic_wr_rdma_write(struct dvq_ionic_wr *wr, uint32_t rkey, uint64_t remote)
{
	const struct dvq_ionic_op op = { IONIC_V1_WRITE, IONIC_V2_WRITE, DVQ_IONIC_WC_WRITE,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_DATA,
					 IONIC_WQE_SOLICITED };

	dvq_ionic_wr_init(wr, op, 0);
	dvq_ionic_wr_set_remote(wr, rkey, remote);
}

DVQ_INLINE void dvq_ionic_wr_rdma_write_imm(struct dvq_ionic_wr *wr, uint32_t rkey,
					    uint64_t remote, uint32_t imm)
{
	const struct dvq_ionic_op op = { IONIC_V1_WRITE_IMM, IONIC_V2_WRITE_IMM,
					 DVQ_IONIC_WC_WRITE,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_DATA, 0 };

	dvq_ionic_wr_init(wr, op, imm);
	dvq_ionic_wr_set_remote(wr, rkey, remote);
}

DVQ_INLINE void dvq_ionic_wr_set_operands(struct dvq_ionic_wr *wr, uint64_t swap_add,
					  uint64_t compare)
{
	wr->word[3] |= dvq_swap32((uint32_t)(swap_add >> 32)) << 32;
	wr->word[4] = dvq_swap_pair((uint32_t)swap_add, (uint32_t)(compare >> 32));
	wr->word[5] = dvq_swap32((uint32_t)compare);
	wr->bytes = sizeof(struct ionic_wqe_atomic);
}

/* 8 bytes, which become @swap if they are @compare; what they were goes to the one buffer */
DVQ_INLINE void dvq_ionic_wr_cmp_swap(struct dvq_ionic_wr *wr, uint32_t rkey, uint64_t remote,
				      uint64_t compare, uint64_t swap)
{
	const struct dvq_ionic_op op = { IONIC_V1_CMP_SWAP, IONIC_V2_CMP_SWAP,
					 DVQ_IONIC_WC_CMP_SWAP,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_ATOMIC,
					 IONIC_WQE_SOLICITED | IONIC_WQE_INLINE };

	dvq_ionic_wr_init(wr, op, 0);
	dvq_ionic_wr_set_remote(wr, rkey, remote);
	dvq_ionic_wr_set_operands(wr, swap, compare);
}

/* 8 bytes, to which @add is added; what they were goes to the one buffer */
DVQ_INLINE void dvq_ionic_wr_fetch_add(struct dvq_ionic_wr *wr, uint32_t rkey, uint64_t remote,
				       uint64_t add)
{
	const struct dvq_ionic_op op = { IONIC_V1_FETCH_ADD, IONIC_V2_FETCH_ADD,
					 DVQ_IONIC_WC_FETCH_ADD,
					 DVQ_IONIC_KIND_MESSAGE | DVQ_IONIC_KIND_ATOMIC,
					 IONIC_WQE_SOLICITED | IONIC_WQE_INLINE };

	dvq_ionic_wr_init(wr, op, 0);
	dvq_ionic_wr_set_remote(wr, rkey, remote);
	dvq_ionic_wr_set_operands(wr, add, 0);
}

/* take a memory region or window of one's own out of use */
DVQ_INLINE void dvq_ionic_wr_local_inv(struct dvq_ionic_wr *wr, uint32_t key)
{
	const struct dvq_ionic_op op = { IONIC_V1_LOCAL_INV, IONIC_V2_LOCAL_INV,
					 DVQ_IONIC_WC_LOCAL_INV, 0,
					 IONIC_WQE_SOLICITED | IONIC_WQE_INLINE };

	dvq_ionic_wr_init(wr, op, key);
}

/**
 * struct dvq_ionic_bind - what a memory window is to show
 * @rkey: key that the window has
 * @new_rkey: key that it is to have; differs in the low 8 bits (ibv_inc_rkey())
 * @lkey: of the memory region
 * @access: IBV_ACCESS_*, of the low six bits
 * @address: first byte
 * @length: bytes; 0 closes a window of type 1
 * @type: 1 or 2, as the window was allocated
 * @reserved: zero
 */
struct dvq_ionic_bind {
	uint32_t rkey;
	uint32_t new_rkey;
	uint32_t lkey;
	uint32_t access;
	uint64_t address;
	uint64_t length;
	uint32_t type;
	uint32_t reserved;
};

/* struct ionic_wqe_bind_mw.flags; the low six are the verbs' */
#define DVQ_IONIC_BIND_ACCESS	0x003fu
#define DVQ_IONIC_BIND_WINDOW	0x4000u
#define DVQ_IONIC_BIND_TYPE_2	0x8000u

DVQ_INLINE bool dvq_ionic_bind_is_good(const struct dvq_ionic_bind *bind)
{
	if (bind->access & ~DVQ_IONIC_BIND_ACCESS || (bind->rkey ^ bind->new_rkey) >> 8)
		return false;
	return bind->type == 1 || (bind->type == 2 && bind->length);
}

DVQ_INLINE void dvq_ionic_wr_bind_mw(struct dvq_ionic_wr *wr, const struct dvq_ionic_bind *bind)
{
	const struct dvq_ionic_op op = { IONIC_V1_BIND_MW, IONIC_V2_BIND_MW, DVQ_IONIC_WC_BIND_MW,
					 0, IONIC_WQE_SOLICITED | IONIC_WQE_INLINE };
	uint32_t flags = bind->access | DVQ_IONIC_BIND_WINDOW;

	dvq_ionic_wr_init(wr, op, bind->rkey);
	if (dvq_unlikely(!dvq_ionic_bind_is_good(bind))) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	if (bind->type == 2)
		flags |= DVQ_IONIC_BIND_TYPE_2;
	wr->num_sge = bind->new_rkey & 0xff;
	wr->word[2] = dvq_swap64(bind->address);
	wr->word[3] = dvq_swap64(bind->length);
	wr->word[4] = dvq_swap32(bind->lkey) | dvq_swap16((uint16_t)flags) << 32;
	wr->bytes = sizeof(struct ionic_wqe_bind_mw);
}

/* ---- setters ------------------------------------------------------------------------ */

/* DVQ_IONIC_SIGNALED and others instead of those that there are; 0 clears */
DVQ_INLINE void dvq_ionic_wr_set_flags(struct dvq_ionic_wr *wr, uint32_t flags)
{
	const uint32_t known = DVQ_IONIC_SIGNALED | DVQ_IONIC_FENCE | DVQ_IONIC_SOLICITED;

	if (dvq_unlikely(flags & (~known | wr->refused))) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	wr->flags = (uint16_t)((wr->flags & ~known) | flags);
}

/* Where a datagram goes; @ah is the adapter's number (dvq_ah_query()). */
DVQ_INLINE void dvq_ionic_wr_set_dest(struct dvq_ionic_wr *wr, uint32_t ah, uint32_t qp_num,
				      uint32_t qkey)
{
	if (dvq_unlikely(!(wr->kind & DVQ_IONIC_KIND_DATAGRAM))) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	wr->word[2] = dvq_swap_pair(ah, qp_num);
	wr->word[3] = dvq_swap32(qkey);
	wr->has_dest = 1;
}

/* @bytes more are used of the entry; what was not used before is cleared */
DVQ_INLINE void dvq_ionic_wr_grow(struct dvq_ionic_wr *wr, uint32_t bytes)
{
	const uint32_t from = (wr->bytes + 63) / 64, to = (wr->bytes + bytes + 63) / 64;

	for (uint32_t i = from * 8; i < to * 8; i++)
		wr->word[i] = 0;
	wr->bytes += bytes;
}

DVQ_INLINE void dvq_ionic_wr_set_atomic_sge(struct dvq_ionic_wr *wr, uint32_t lkey,
					    uint64_t address, uint32_t length)
{
	if (dvq_unlikely(wr->sges || length != 8)) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	wr->word[6] = dvq_swap64(address);
	wr->lkey = lkey;
	wr->length = length;
	wr->sges = 1;
	wr->num_sge = 1;
}

/* One more local buffer, not beside inline data. How many a queue takes is checked there. */
DVQ_INLINE void dvq_ionic_wr_set_sge(struct dvq_ionic_wr *wr, uint32_t lkey, uint64_t address,
				     uint32_t length)
{
	const uint32_t at = wr->bytes / 8;

	if (wr->kind & DVQ_IONIC_KIND_ATOMIC) {
		dvq_ionic_wr_set_atomic_sge(wr, lkey, address, length);
		return;
	}
	if (dvq_unlikely(!(wr->kind & DVQ_IONIC_KIND_DATA) || wr->flags & IONIC_WQE_INLINE ||
			 wr->sges == DVQ_IONIC_MAX_SGE || length > IONIC_MSG_MAX - wr->length)) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	dvq_ionic_wr_grow(wr, sizeof(struct ionic_sge));
	wr->word[at] = dvq_swap64(address);
	wr->word[at + 1] = dvq_swap_pair(length, lkey);
	wr->length += length;
	wr->sges++;
	wr->num_sge++;
}

/* @have bytes are there already */
DVQ_INLINE void dvq_ionic_wr_copy(uint64_t *to, uint32_t have, const uint8_t *data,
				  uint32_t length)
{
	uint32_t i = 0;

	if (!(have % 8)) {
		for (; i + 8 <= length; i += 8)
			__builtin_memcpy(&to[(have + i) / 8], data + i, 8);
	}
	for (; i < length; i++)
		to[(have + i) / 8] |= (uint64_t)data[i] << (have + i) % 8 * 8;
}

/*
 * Data that travels in the entry: of a send or an RDMA write. Called again it appends. @data
 * is read now, and may be NULL if @length is 0. How much a queue takes is checked there.
 */
DVQ_INLINE void dvq_ionic_wr_set_inline(struct dvq_ionic_wr *wr, const void *data, uint32_t length)
{
	const uint32_t have = wr->length;

	if (dvq_unlikely(!(wr->kind & DVQ_IONIC_KIND_DATA) || wr->refused & IONIC_WQE_INLINE ||
			 wr->sges || length > DVQ_IONIC_MAX_INLINE - have)) {
		dvq_ionic_wr_fail(wr, DVQ_IONIC_EINVAL);
		return;
	}
	dvq_ionic_wr_grow(wr, length);
	dvq_ionic_wr_copy(wr->word + IONIC_WQE_PAYLOAD / 8, have, (const uint8_t *)data, length);
	wr->flags |= IONIC_WQE_INLINE;
	wr->length += length;
}

#endif /* DVQ_IONIC_WR_H */
