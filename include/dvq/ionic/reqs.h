/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The requests of a work queue that are outstanding, one slot of the caller's memory for each
 * entry of the ring. Slots are given back in the order of posting, as the adapter gives back
 * entries, whatever the order of completions.
 *
 * A send queue completes in two ways. Requests to a connected peer are messages, numbered in
 * the order of posting; the adapter tells up to which number they are done. All others
 * ("local") are told one by one. So a request may be done and still wait for an earlier one.
 *
 * When a queue has failed, the adapter says so once and the rest is the host's to flush.
 *
 * There is no lock: posting to a queue and polling its CQ need one, or one thread.
 */
#ifndef DVQ_IONIC_REQS_H
#define DVQ_IONIC_REQS_H

#include <dvq/inline.h>
#include <dvq/mmio.h>

/* errno values that the data path returns; no libc is needed for them */
#define DVQ_IONIC_ENOMEM	12	/* the queue is full, or has no slots */
#define DVQ_IONIC_EBUSY		16	/* too late, the queue is in use */
#define DVQ_IONIC_EEXIST	17	/* the place is taken */
#define DVQ_IONIC_EINVAL	22	/* the request is wrong */
#define DVQ_IONIC_EOPNOTSUPP	95	/* the queue cannot do that */

/* struct dvq_ionic_req.flags */
#define DVQ_IONIC_REQ_SIGNALED	0x01	/* its success is reported */
#define DVQ_IONIC_REQ_MESSAGE	0x02	/* it has a message number */
#define DVQ_IONIC_REQ_DONE	0x04	/* told one by one */

/* Memory of the caller, one for each entry of the ring. */
struct dvq_ionic_req {
	uint64_t wr_id;
	uint32_t length;
	uint8_t status;		/* enum ionic_io_status */
	uint8_t opcode;		/* enum ibv_wc_opcode */
	uint8_t flags;
	uint8_t reserved;
};

/* what follows the wr_id, in one word: length 31:0, status 39:32, opcode 47:40, flags 55:48 */
#define DVQ_IONIC_REQ_STATUS	32
#define DVQ_IONIC_REQ_OPCODE	40
#define DVQ_IONIC_REQ_FLAGS	48

/* struct dvq_ionic_reqs.state */
#define DVQ_IONIC_FAILED	0x01	/* the rest is to be flushed */
#define DVQ_IONIC_LISTED	0x02	/* in the list of its CQ */
#define DVQ_IONIC_FAILING	0x04	/* fails when the rings are empty */

/**
 * struct dvq_ionic_reqs - the outstanding requests of a queue
 * @slots: address of struct dvq_ionic_req, mask + 1 of them
 * @mask: entries of the ring - 1
 * @limit: most requests outstanding; 0 without slots
 * @posted: requests posted; all counts run freely
 * @given: of them published
 * @messages: messages posted
 * @given_messages: of them published
 * @retired: requests whose slots are free again
 * @retired_messages: messages among them
 * @done: messages that the adapter has finished
 * @state: DVQ_IONIC_FAILED, DVQ_IONIC_LISTED, DVQ_IONIC_FAILING
 * @next: address of the next in the CQ's list
 * @qp_num: of the QP
 * @receive: it is a receive queue
 * @ud: of a UD QP
 * @waiting: requests with DVQ_IONIC_REQ_DONE, which wait for one before them
 */
struct dvq_ionic_reqs {
	uint64_t slots;
	uint32_t mask;
	uint32_t limit;
	uint32_t posted;
	uint32_t given;
	uint32_t messages;
	uint32_t given_messages;
	uint32_t retired;
	uint32_t retired_messages;
	uint32_t done;
	uint32_t state;
	uint64_t next;
	uint32_t qp_num;
	uint8_t receive;
	uint8_t ud;
	uint16_t waiting;
};

DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_req) == 16, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_req, length) == 8, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_req, status) == 12, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_req, opcode) == 13, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_req, flags) == 14, "layout");
DVQ_STATIC_ASSERT(offsetof(struct dvq_ionic_reqs, next) == 48, "layout");
DVQ_STATIC_ASSERT(sizeof(struct dvq_ionic_reqs) == 64, "layout");

DVQ_INLINE void dvq_ionic_reqs_init(struct dvq_ionic_reqs *reqs, uint32_t entries, uint32_t qp_num,
				    bool receive, bool ud)
{
	reqs->slots = 0;
	reqs->mask = entries - 1;
	reqs->limit = 0;
	reqs->posted = 0;
	reqs->given = 0;
	reqs->messages = 0;
	reqs->given_messages = 0;
	reqs->retired = 0;
	reqs->retired_messages = 0;
	reqs->done = 0;
	reqs->state = 0;
	reqs->next = 0;
	reqs->qp_num = qp_num;
	reqs->receive = receive;
	reqs->ud = ud;
	reqs->waiting = 0;
}

/* slots that a queue needs */
DVQ_INLINE uint32_t dvq_ionic_reqs_slots(const struct dvq_ionic_reqs *reqs)
{
	return reqs->mask + 1;
}

/* One entry always stays empty. */
DVQ_INLINE int dvq_ionic_reqs_set_slots(struct dvq_ionic_reqs *reqs, struct dvq_ionic_req *slots)
{
	if (reqs->posted)
		return DVQ_IONIC_EBUSY;
	reqs->slots = (uint64_t)(uintptr_t)slots;
	reqs->limit = reqs->mask;
	return 0;
}

DVQ_INLINE struct dvq_ionic_req *dvq_ionic_reqs_slot(const struct dvq_ionic_reqs *reqs,
						     uint32_t count)
{
	return (struct dvq_ionic_req *)(uintptr_t)reqs->slots + (count & reqs->mask);
}

/* requests that can be posted now */
DVQ_INLINE uint32_t dvq_ionic_reqs_room(const struct dvq_ionic_reqs *reqs)
{
	return reqs->limit - (reqs->posted - reqs->retired);
}

/* posted and not published */
DVQ_INLINE uint32_t dvq_ionic_reqs_pending(const struct dvq_ionic_reqs *reqs)
{
	return reqs->posted - reqs->given;
}

/* The one at slot @index, if the adapter has it and has not told that it is done; or NULL. */
DVQ_INLINE struct dvq_ionic_req *dvq_ionic_reqs_find(const struct dvq_ionic_reqs *reqs,
						     uint32_t index)
{
	struct dvq_ionic_req *req;

	/* of a queue without slots nothing is out */
	if (dvq_unlikely(((index - reqs->retired) & reqs->mask) >= reqs->given - reqs->retired))
		return NULL;
	req = dvq_ionic_reqs_slot(reqs, index);
	return dvq_unlikely(req->flags & DVQ_IONIC_REQ_DONE) ? NULL : req;
}

/* length, status, opcode and flags of a request */
DVQ_INLINE uint64_t dvq_ionic_req_word(const struct dvq_ionic_req *req)
{
	return dvq_load64((uint64_t)(uintptr_t)&req->length);
}

#endif /* DVQ_IONIC_REQS_H */
