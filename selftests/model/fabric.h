/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The network between modelled ports of one process (and so between the guests
 * that the process serves). A packet is an opaque run of bytes from one port to
 * the port with a given address; what is in it is the devices' business.
 *
 * Delivery is never synchronous: fabric_send() queues a copy and the engine
 * hands it over later (fabric_run()), in order per destination unless the
 * sending port asked for reordering. All of it runs under the model lock.
 */
#ifndef MODEL_FABRIC_H
#define MODEL_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FABRIC_ADDR_MAX		16	/* bytes; GIDs and MACs */
#define FABRIC_PACKET_MAX	65536	/* bytes */
#define FABRIC_QUEUE_MAX	4096	/* packets waiting for one port */

struct model_device;

/**
 * struct fabric_port - where a device meets the network
 *
 * @addr: unicast address, @addr_len bytes; no two ports may share one
 * @receive: a packet for this port (or a broadcast); not called while @up is
 *	false. @from is the sender's address, @addr_len bytes.
 * @reorder: how many packets may overtake one from this port (0: none)
 * @seed: state of the generator that decides who overtakes
 * @held: the transport's: the device is stalled, its packets wait in the queue
 * @gone: the transport's: the device was pulled or has no guest that runs it;
 *	its packets are dropped
 */
struct fabric_port {
	uint8_t addr[FABRIC_ADDR_MAX];
	unsigned int addr_len;
	bool up;
	unsigned int reorder;
	uint64_t seed;
	bool held;
	bool gone;
	struct model_device *dev;
	void (*receive)(struct model_device *dev, const uint8_t *from, const void *data,
			size_t len);
	uint64_t sent, received, dropped;
	unsigned int drop_skip, drop_count;
	/* private to fabric.c */
	struct fabric_port *next;
	struct fabric_packet *head, *tail;
	unsigned int queued;
};

/* 0, or -EEXIST when the address is taken */
int fabric_attach(struct fabric_port *port);
/* drops what is queued for the port; safe when not attached */
void fabric_detach(struct fabric_port *port);

/**
 * fabric_send() - queue a copy of a packet
 *
 * Returns 0 also when the destination is unknown, down or its link fails: a
 * network does not tell. -EMSGSIZE above FABRIC_PACKET_MAX, -ENETDOWN when the
 * sender's own link is down, -ENOBUFS when the destination's queue is full
 * (try again from ->work()).
 */
int fabric_send(struct fabric_port *from, const uint8_t *to, const void *data, size_t len);
/* to every other port with the same addr_len that is up */
int fabric_broadcast(struct fabric_port *from, const void *data, size_t len);

/* the first attached port of a device, or NULL */
struct fabric_port *fabric_find(const struct model_device *dev);

/* is there a packet that fabric_run() could deliver now? */
bool fabric_pending(void);

/* deliver at most @budget packets; true if there are more */
bool fabric_run(unsigned int budget);

/*
 * drop the next @count packets sent by this port after @skip have passed; returns how many of those last asked for
 * are still to be dropped, and are not any more
 */
unsigned int fabric_drop(struct fabric_port *port, unsigned int skip, unsigned int count);

#endif /* MODEL_FABRIC_H */
