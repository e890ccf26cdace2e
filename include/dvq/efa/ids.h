/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The requests of a queue that are outstanding, and their ids. EFA completes in any
 * order, so the slot of the ring says nothing about which request is done: a request
 * carries an id, and room is a matter of counting.
 *
 * An id has the generation of its QP number in the bits above those that count: the
 * completion of a queue that is gone is told from one of the queue that has its number
 * now. Where the low bits come from there are two schemes:
 *
 * - The caller's. It hands out wr_ids that are unique among the outstanding requests
 *   and fit (see struct dvq_efa_ids.mask). Posting and polling may then be two threads'.
 * - A pool in memory of the caller. A wr_id is any 64-bit value; the pool picks the id
 *   and leads back. Free ids form a stack (what came back last goes out first, its
 *   memory is in the cache) threaded through the slots. A slot in use holds its id in
 *   full, so one comparison finds out ids of another generation, ids that are not out
 *   and completions that come twice. There is no lock: posting and polling need one,
 *   or one thread.
 */
#ifndef DVQ_EFA_IDS_H
#define DVQ_EFA_IDS_H

#include <dvq/inline.h>
#include <dvq/mmio.h>

/* errno values that the data path returns; no libc is needed for them */
#define DVQ_EFA_ENOMEM		12	/* the queue is full */
#define DVQ_EFA_EBUSY		16	/* too late, the queue is in use */
#define DVQ_EFA_EEXIST		17	/* the place is taken */
#define DVQ_EFA_EINVAL		22	/* the request is wrong */
#define DVQ_EFA_EOPNOTSUPP	95	/* the queue cannot do that */

#define DVQ_EFA_IDS_END		0xffffffffu	/* bottom of the stack */

/*
 * Memory of the caller, one per id. In use, the two halves hold the id in full. A free
 * slot cannot look as if it were in use: the low half then is the index of another slot
 * or END, and an id has in its low half the slot's own index, below the generation. The
 * high half is the same for all ids of the pool and never changes.
 */
struct dvq_efa_id {
	uint64_t wr_id;		/* of the request that has the id */
	uint32_t low;		/* free: index of the next free id */
	uint32_t high;
};

/**
 * struct dvq_efa_ids - the outstanding requests of a queue
 * @slots: address of the pool's struct dvq_efa_id, mask + 1 of them; 0: the caller's
 *	scheme
 * @mask: low bits of an id, the caller's or the pool's
 * @tag: the generation, in the bits above
 * @tag_high: the part of it that does not fit 16 bits
 * @tag_low: the part that does
 * @limit: most requests outstanding
 * @head: index of the free id that goes out next
 * @issued: requests posted
 * @wide: ids have 64 bits, else 16
 * @generation: what the kernel tells about the QP number
 * @apart: keeps what two threads write in two cache lines
 * @completed: requests done; written by the thread that polls
 * @reserved: zero
 */
struct dvq_efa_ids {
	uint64_t slots;
	uint64_t mask;
	uint64_t tag;
	uint64_t tag_high;
	uint32_t tag_low;
	uint32_t limit;
	uint32_t head;
	uint32_t issued;
	uint32_t wide;
	uint32_t generation;
	uint32_t apart[14];
	uint32_t completed;
	uint32_t reserved;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_id) == 16, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_efa_ids, completed) == 112, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_efa_ids) == 120, "layout");

/*
 * Ids below @limit, the generation above them. Of 16 bits an id keeps as much of it as
 * there is room for (4 bits with 4096 requests, none with 65536); of 64, all.
 */
DVQ_INLINE void dvq_efa_ids_layout(struct dvq_efa_ids *ids)
{
	uint32_t bits = 0;

	while (((uint32_t)1 << bits) < ids->limit)
		bits++;
	ids->mask = ((uint64_t)1 << bits) - 1;
	ids->tag_high = ids->wide ? (uint64_t)ids->generation << 32 : 0;
	ids->tag_low = ids->wide ? 0 : (uint32_t)((uint64_t)ids->generation << bits) & 0xffff;
	ids->tag = ids->tag_high | ids->tag_low;
}

/*
 * The caller's scheme. With 64-bit ids the id is the wr_id itself and there is no
 * generation in it; who wants that takes a pool or puts one into the wr_id.
 */
DVQ_INLINE void dvq_efa_ids_init(struct dvq_efa_ids *ids, uint32_t limit, uint32_t generation,
				 uint32_t wide)
{
	ids->slots = 0;
	ids->limit = limit;
	ids->head = DVQ_EFA_IDS_END;
	ids->issued = 0;
	ids->wide = wide;
	ids->generation = generation;
	for (unsigned int i = 0; i < sizeof(ids->apart) / sizeof(ids->apart[0]); i++)
		ids->apart[i] = 0;
	ids->completed = 0;
	ids->reserved = 0;
	dvq_efa_ids_layout(ids);
	if (wide) {
		ids->mask = ~(uint64_t)0;
		ids->tag_high = 0;
		ids->tag = 0;
	}
}

/* slots that a pool needs: the limit rounded up to a power of two */
DVQ_INLINE uint32_t dvq_efa_ids_slots(const struct dvq_efa_ids *ids)
{
	uint32_t n = 1;

	while (n < ids->limit)
		n *= 2;
	return n;
}

DVQ_INLINE struct dvq_efa_id *dvq_efa_ids_slot(const struct dvq_efa_ids *ids, uint64_t index)
{
	return (struct dvq_efa_id *)(uintptr_t)ids->slots + index;
}

/* Change to a pool; dvq_efa_ids_slots() says how many slots. Before the first post. */
DVQ_INLINE int dvq_efa_ids_set_pool(struct dvq_efa_ids *ids, struct dvq_efa_id *slots)
{
	const uint32_t n = dvq_efa_ids_slots(ids);

	if (ids->issued)
		return DVQ_EFA_EBUSY;
	ids->slots = (uint64_t)(uintptr_t)slots;
	ids->head = ids->limit ? 0 : DVQ_EFA_IDS_END;
	dvq_efa_ids_layout(ids);
	/* slots above the limit are on no stack and not in use */
	for (uint32_t i = 0; i < n; i++) {
		slots[i].wr_id = 0;
		slots[i].low = i + 1 < ids->limit ? i + 1 : DVQ_EFA_IDS_END;
		slots[i].high = (uint32_t)(ids->tag >> 32);
	}
	return 0;
}

/* requests that can be posted now */
DVQ_INLINE uint32_t dvq_efa_ids_room(const struct dvq_efa_ids *ids)
{
	return ids->limit - (ids->issued - dvq_read_once(ids->completed));
}

/* an id in the two parts in which a send entry has it: bits 15:0, and 63:16 in place */
struct dvq_efa_id_parts {
	uint64_t low;
	uint64_t high;
};

/* the stack is not empty */
DVQ_INLINE void dvq_efa_ids_pop(struct dvq_efa_ids *ids, uint64_t wr_id, struct dvq_efa_id_parts *id)
{
	const uint32_t head = ids->head, low = head | ids->tag_low;
	struct dvq_efa_id *slot = dvq_efa_ids_slot(ids, head);

	slot->wr_id = wr_id;
	ids->head = slot->low;
	slot->low = low;
	ids->issued++;
	id->low = low;
	id->high = ids->tag_high;
}

/* An id for a new request: 0, ENOMEM or EINVAL (the wr_id does not fit). */
DVQ_INLINE int dvq_efa_ids_get(struct dvq_efa_ids *ids, uint64_t wr_id, struct dvq_efa_id_parts *id)
{
	/* without a pool the stack is always empty: one test for both */
	if (!dvq_unlikely(ids->head == DVQ_EFA_IDS_END)) {
		dvq_efa_ids_pop(ids, wr_id, id);
		return 0;
	}
	/* as many ids as requests: an empty stack is a full queue */
	if (ids->slots || dvq_unlikely(!dvq_efa_ids_room(ids)))
		return DVQ_EFA_ENOMEM;
	if (dvq_unlikely(wr_id & ~ids->mask))
		return DVQ_EFA_EINVAL;
	id->low = (wr_id & 0xffff) | ids->tag_low;
	id->high = wr_id & ~(uint64_t)0xffff;
	dvq_write_once(ids->issued, ids->issued + 1);
	return 0;
}

/* the id that a slot in use holds */
DVQ_INLINE uint64_t dvq_efa_id_of(const struct dvq_efa_id *slot)
{
	return dvq_load64((uint64_t)(uintptr_t)&slot->low);
}

/* The request with @id is done; false, and nothing happens, if it is not out. */
DVQ_INLINE bool dvq_efa_ids_push(struct dvq_efa_ids *ids, uint64_t id, uint64_t *wr_id)
{
	const uint64_t index = id & ids->mask;
	struct dvq_efa_id *slot = dvq_efa_ids_slot(ids, index);

	if (dvq_unlikely(dvq_efa_id_of(slot) != id))
		return false;
	*wr_id = slot->wr_id;
	slot->low = ids->head;
	ids->head = (uint32_t)index;
	ids->completed++;
	return true;
}

/*
 * The same for either scheme and any id; without a pool only that something is out is known. The
 * generation is looked at first: a wide id could else look like the bottom of the stack.
 */
DVQ_INLINE bool dvq_efa_ids_put(struct dvq_efa_ids *ids, uint64_t id, uint64_t *wr_id)
{
	if (dvq_unlikely((id & ~ids->mask) != ids->tag))
		return false;
	if (ids->slots)
		return dvq_efa_ids_push(ids, id, wr_id);
	if (dvq_unlikely(dvq_read_once(ids->issued) == ids->completed))
		return false;
	*wr_id = id & ids->mask;
	dvq_write_once(ids->completed, ids->completed + 1);
	return true;
}

/*
 * The request with @id was never posted; newest first, so that the stack is as before. If the
 * device has ended it nevertheless, that is how it ended.
 */
DVQ_INLINE void dvq_efa_ids_undo(struct dvq_efa_ids *ids, uint64_t id)
{
	uint64_t wr_id;

	if (ids->slots) {
		if (!dvq_efa_ids_push(ids, id, &wr_id))
			return;
		ids->completed--;
	} else if (ids->issued == dvq_read_once(ids->completed)) {
		return;
	}
	dvq_write_once(ids->issued, ids->issued - 1);
}

#endif /* DVQ_EFA_IDS_H */
