// SPDX-License-Identifier: GPL-2.0
/*
 * Ports in a list, one queue of copied packets per destination port.
 *
 * Reordering happens where a packet joins a queue: it may step ahead of packets
 * that wait there, as many as the sender's generator says, but never past one
 * that has been overtaken as often as its own sender allows. So order is only
 * lost among packets that are under way together, and the bound of every
 * sender holds whatever the others do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"

struct fabric_packet {
	struct fabric_packet *next, *prev;
	uint8_t from[FABRIC_ADDR_MAX];
	unsigned int may_be_overtaken;	/* times left */
	size_t len;
	uint8_t data[];
};

static struct fabric_port *ports;
static struct fabric_port *last_served;	/* NULL: start with the first */

/* splitmix64: any state, zero included, is a good one */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static struct fabric_port *port_at(const uint8_t *addr, unsigned int addr_len)
{
	for (struct fabric_port *port = ports; port; port = port->next)
		if (port->addr_len == addr_len && !memcmp(port->addr, addr, addr_len))
			return port;
	return NULL;
}

struct fabric_port *fabric_find(const struct model_device *dev)
{
	for (struct fabric_port *port = ports; port; port = port->next)
		if (port->dev == dev)
			return port;
	return NULL;
}

int fabric_attach(struct fabric_port *port)
{
	struct fabric_port **end = &ports;

	if (port_at(port->addr, port->addr_len))
		return -EEXIST;
	while (*end)
		end = &(*end)->next;
	port->next = NULL;
	*end = port;
	return 0;
}

static void unlink_packet(struct fabric_port *port, struct fabric_packet *packet)
{
	if (packet->prev)
		packet->prev->next = packet->next;
	else
		port->head = packet->next;
	if (packet->next)
		packet->next->prev = packet->prev;
	else
		port->tail = packet->prev;
	port->queued--;
}

static void drop_queue(struct fabric_port *port)
{
	while (port->head) {
		struct fabric_packet *packet = port->head;

		unlink_packet(port, packet);
		free(packet);
		port->dropped++;
	}
}

void fabric_detach(struct fabric_port *port)
{
	for (struct fabric_port **link = &ports; *link; link = &(*link)->next) {
		if (*link != port)
			continue;
		*link = port->next;
		port->next = NULL;
		break;
	}
	if (last_served == port)
		last_served = NULL;
	drop_queue(port);
}

static bool reachable(const struct fabric_port *port)
{
	return port->up && !port->gone;
}

static bool drop_asked_for(struct fabric_port *from)
{
	if (!from->drop_count)
		return false;
	if (from->drop_skip) {
		from->drop_skip--;
		return false;
	}
	from->drop_count--;
	from->dropped++;
	return true;
}

/* behind @before, or first if that is NULL */
static void link_packet(struct fabric_port *port, struct fabric_packet *packet,
			struct fabric_packet *before)
{
	packet->prev = before;
	packet->next = before ? before->next : port->head;
	if (packet->next)
		packet->next->prev = packet;
	else
		port->tail = packet;
	if (before)
		before->next = packet;
	else
		port->head = packet;
	port->queued++;
}

static int enqueue(struct fabric_port *from, struct fabric_port *to, const void *data, size_t len)
{
	struct fabric_packet *packet = malloc(sizeof(*packet) + len);
	struct fabric_packet *before = to->tail;
	uint64_t steps = 0;

	if (!packet)
		return -ENOBUFS;
	memcpy(packet->from, from->addr, sizeof(packet->from));
	packet->may_be_overtaken = from->reorder;
	packet->len = len;
	if (len)
		memcpy(packet->data, data, len);

	if (from->reorder)
		steps = next_random(&from->seed) % (from->reorder + 1ull);
	for (; steps && before && before->may_be_overtaken; steps--) {
		before->may_be_overtaken--;
		before = before->prev;
	}
	link_packet(to, packet, before);
	return 0;
}

int fabric_send(struct fabric_port *from, const uint8_t *to, const void *data, size_t len)
{
	struct fabric_port *port = port_at(to, from->addr_len);
	int err;

	if (len > FABRIC_PACKET_MAX)
		return -EMSGSIZE;
	if (!reachable(from))
		return -ENETDOWN;
	if (port && reachable(port) && port->queued >= FABRIC_QUEUE_MAX)
		return -ENOBUFS;
	if (drop_asked_for(from)) {
		from->sent++;
		return 0;
	}
	if (!port || !reachable(port)) {
		from->sent++;
		from->dropped++;
		return 0;
	}
	err = enqueue(from, port, data, len);
	if (!err)
		from->sent++;
	return err;
}

int fabric_broadcast(struct fabric_port *from, const void *data, size_t len)
{
	if (len > FABRIC_PACKET_MAX)
		return -EMSGSIZE;
	if (!reachable(from))
		return -ENETDOWN;
	from->sent++;
	if (drop_asked_for(from))
		return 0;
	for (struct fabric_port *port = ports; port; port = port->next) {
		if (port == from || port->addr_len != from->addr_len || !reachable(port))
			continue;
		/* nobody can repeat a broadcast for one full queue */
		if (port->queued >= FABRIC_QUEUE_MAX || enqueue(from, port, data, len))
			port->dropped++;
	}
	return 0;
}

static bool ready(const struct fabric_port *port)
{
	return port->head && (!port->held || !reachable(port));
}

bool fabric_pending(void)
{
	for (struct fabric_port *port = ports; port; port = port->next)
		if (ready(port))
			return true;
	return false;
}

/* the next port with something to deliver, in turn */
static struct fabric_port *next_ready(void)
{
	struct fabric_port *port;

	for (port = last_served ? last_served->next : NULL; port; port = port->next)
		if (ready(port))
			return port;
	for (port = ports; port; port = port->next)
		if (ready(port))
			return port;
	return NULL;
}

static void deliver(struct fabric_port *port)
{
	struct fabric_packet *packet = port->head;

	unlink_packet(port, packet);
	if (reachable(port)) {
		port->received++;
		/* may send, and may detach the port: it is not looked at again */
		port->receive(port->dev, packet->from, packet->data, packet->len);
	} else {
		port->dropped++;
	}
	free(packet);
}

bool fabric_run(unsigned int budget)
{
	while (budget--) {
		struct fabric_port *port = next_ready();

		if (!port)
			return false;
		last_served = port;
		deliver(port);
	}
	return fabric_pending();
}

unsigned int fabric_drop(struct fabric_port *port, unsigned int skip, unsigned int count)
{
	unsigned int left = port->drop_count;

	port->drop_skip = skip;
	port->drop_count = count;
	return left;
}
