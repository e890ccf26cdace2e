// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "cq.h"
#include "dialogue.h"
#include "exchange.h"
#include "lab.h"
#include "work.h"

#define WINDOW		32		/* receives posted, messages under way */
#define SLOT		1024		/* of a message and its header */
#define MESSAGE		(SLOT - 40)
#define RDMA_SIZE	300000

/**
 * struct card - what one side must know of the other
 */
struct card {
	struct address address;
	uint64_t addr;
	uint32_t rkey;
	bool reads, writes;
};

/**
 * struct side - this one
 *
 * @window: where the other one writes to and reads from
 */
struct side {
	const struct dialogue *d;
	struct endpoint *endpoint;
	struct buffer *out, *in, *window;
	struct card other;
	struct route route;
	unsigned int sent, acked, arrived;
	uint8_t *seen;
};

static uint32_t seed_of(unsigned int speaker, unsigned int message)
{
	return speaker * 1000000 + message;
}

static unsigned int length_of(unsigned int message)
{
	return sizeof(message) + message * 53 % (MESSAGE - sizeof(message));
}

static void write_message(uint8_t *at, unsigned int speaker, unsigned int message)
{
	fill(at, length_of(message), seed_of(speaker, message));
	memcpy(at, &message, sizeof(message));
}

static void introduce(struct side *side)
{
	const struct adapter *adapter = side->d->adapter;
	struct card card = {
		.address = endpoint_address(side->endpoint),
		.addr = buffer_addr(side->window, 0), .rkey = side->window->mr->rkey,
		.reads = can_read(adapter), .writes = can_write(adapter),
	};

	exchange_send(side->d->fd, &card, sizeof(card));
	exchange_recv(side->d->fd, &side->other, sizeof(side->other));
	side->route = route_to(side->endpoint, &side->other.address);
}

static void side_open(struct side *side)
{
	const struct adapter *adapter = side->d->adapter;
	struct endpoint_options options = {
		.transport = side->d->transport, .send_wr = WINDOW, .recv_wr = 2 * WINDOW,
		.cq_kind = CQ_EXTENDED,
	};
	unsigned int access = IBV_ACCESS_LOCAL_WRITE;

	if (can_read(adapter))
		access |= IBV_ACCESS_REMOTE_READ;
	if (can_write(adapter))
		access |= IBV_ACCESS_REMOTE_WRITE;
	side->endpoint = endpoint_new(adapter, &options);
	side->out = buffer_new(side->endpoint->pd, WINDOW * SLOT, 0);
	side->in = buffer_new(side->endpoint->pd, 2 * WINDOW * SLOT, IBV_ACCESS_LOCAL_WRITE);
	side->window = buffer_new(side->endpoint->pd, RDMA_SIZE, access);
	side->seen = calloc(side->d->messages, 1);
	LAB_NEED(side->seen, "no memory");
	introduce(side);
}

/* ---- messages ---------------------------------------------------------------------------- */

static void take_message(struct side *side, const struct completion *completion)
{
	unsigned int header = endpoint_header(side->d->adapter, side->d->transport), message;
	uint8_t *at = side->in->data + completion->id * SLOT + header, want[SLOT];

	completion_expect_success(completion);
	memcpy(&message, at, sizeof(message));
	LAB_NEED(message < side->d->messages && !side->seen[message],
		 "message %u came twice or was never sent", message);
	side->seen[message] = 1;
	write_message(want, !side->d->speaker, message);
	LAB_NEED(completion->byte_len == header + length_of(message) &&
		 !memcmp(at, want, length_of(message)), "message %u is damaged", message);
	LAB_NEED(completion->src_qp == side->other.address.qpn, "message %u is from QP %u",
		 message, completion->src_qp);
	side->arrived++;
}

/* @n more, of which the other side has made room for */
static void send_some(struct side *side, unsigned int n)
{
	for (; n; n--, side->sent++) {
		unsigned int slot = side->sent % WINDOW;
		struct work work = send_work(&side->route, side->sent, side->out, slot * SLOT,
					     length_of(side->sent));

		write_message(side->out->data + slot * SLOT, side->d->speaker, side->sent);
		post_one(side->endpoint, &work);
	}
}

/* rounds of half a window each, with a barrier between: nobody sends what nobody waits for */
static void converse(struct side *side)
{
	unsigned int total = side->d->messages;

	for (unsigned int i = 0; i < 2 * WINDOW; i++)
		post_recv_one(side->endpoint, i, side->in, i * SLOT, SLOT);
	while (side->arrived < total) {
		unsigned int round = total - side->sent < WINDOW ? total - side->sent : WINDOW;
		unsigned int want = side->arrived + round;

		exchange_barrier(side->d->fd);
		send_some(side, round);
		cq_wait_many(side->endpoint->send_cq, round);
		while (side->arrived < want) {
			struct completion completion;

			cq_wait(side->endpoint->recv_cq, &completion);
			take_message(side, &completion);
			post_recv_one(side->endpoint, completion.id, side->in,
				      completion.id * SLOT, SLOT);
		}
	}
}

/* ---- memory --------------------------------------------------------------------------------- */

static void move(struct side *side, enum ibv_wr_opcode opcode, const struct buffer *buffer)
{
	struct work work = {
		.opcode = opcode, .id = 1, .sge = { buffer_sge(buffer, 0, RDMA_SIZE) }, .sges = 1,
		.remote_addr = side->other.addr, .rkey = side->other.rkey, .to = side->route,
	};

	post_one(side->endpoint, &work);
	cq_wait_many(side->endpoint->send_cq, 1);
}

static void write_and_read(struct side *side)
{
	struct buffer *buffer = buffer_new(side->endpoint->pd, RDMA_SIZE, IBV_ACCESS_LOCAL_WRITE);
	const struct adapter *adapter = side->d->adapter;
	unsigned int me = side->d->speaker;

	if (can_write(adapter) && side->other.writes) {
		buffer_fill(buffer, seed_of(me, 1));
		exchange_barrier(side->d->fd);
		move(side, IBV_WR_RDMA_WRITE, buffer);
		exchange_barrier(side->d->fd);
		buffer_expect(side->window, 0, RDMA_SIZE, seed_of(!me, 1));
	}
	if (can_read(adapter) && side->other.reads) {
		buffer_fill(side->window, seed_of(me, 2));
		exchange_barrier(side->d->fd);
		move(side, IBV_WR_RDMA_READ, buffer);
		buffer_expect(buffer, 0, RDMA_SIZE, seed_of(!me, 2));
	}
}

void dialogue_run(const struct dialogue *dialogue)
{
	struct side side = { .d = dialogue };

	side_open(&side);
	converse(&side);
	if (dialogue->transport == SRD)
		write_and_read(&side);
	buffer_expect_guards(side.in);
	buffer_expect_guards(side.window);
	free(side.seen);
	/* neither goes while the other still needs it */
	exchange_barrier(dialogue->fd);
}
