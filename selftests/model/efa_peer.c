// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include "efa_net.h"

static struct efa_peer *find(struct efa *efa, const uint8_t *gid)
{
	struct efa_peer *peer;

	TAILQ_FOREACH(peer, &efa->net->peers, link)
		if (!memcmp(peer->gid, gid, EFA_GID_SIZE))
			return peer;
	return NULL;
}

struct efa_peer *efa_peer_get(struct efa *efa, const uint8_t *gid)
{
	struct efa_peer *peer = find(efa, gid);

	if (!peer) {
		peer = calloc(1, sizeof(*peer));
		if (!peer)
			abort();
		memcpy(peer->gid, gid, EFA_GID_SIZE);
		LIST_INIT(&peer->ahs);
		TAILQ_INIT(&peer->open);
		TAILQ_INIT(&peer->inbound);
		TAILQ_INSERT_TAIL(&efa->net->peers, peer, link);
	}
	peer->refs++;
	return peer;
}

/*
 * A peer that has sent us transactions is kept: without the memory of them a
 * late duplicate would be done again. There are only as many as real ports.
 */
void efa_peer_put(struct efa *efa, struct efa_peer *peer)
{
	if (!--peer->refs && !peer->seen)
		efa_peer_free(efa, peer);
}

static void forget_inbound(struct efa_peer *peer, uint64_t before)
{
	struct efa_inbound *inbound, *next;

	for (inbound = TAILQ_FIRST(&peer->inbound); inbound; inbound = next) {
		next = TAILQ_NEXT(inbound, link);
		if (inbound->tid < before)
			efa_peer_inbound_end(peer, inbound);
	}
}

void efa_peer_free(struct efa *efa, struct efa_peer *peer)
{
	forget_inbound(peer, UINT64_MAX);
	TAILQ_REMOVE(&efa->net->peers, peer, link);
	free(peer->seen);
	free(peer);
}

static void move_base(struct efa_peer *peer, uint64_t base)
{
	forget_inbound(peer, base);
	if (base - peer->base >= EFA_TIDS)
		memset(peer->seen, EFA_TID_NEW, EFA_TIDS);
	else
		for (uint64_t tid = peer->base; tid < base; tid++)
			peer->seen[tid % EFA_TIDS] = EFA_TID_NEW;
	peer->base = base;
}

static void new_epoch(struct efa_peer *peer, const struct efa_pkt *pkt)
{
	if (!peer->seen) {
		peer->seen = malloc(EFA_TIDS);
		if (!peer->seen)
			abort();
	}
	memset(peer->seen, EFA_TID_NEW, EFA_TIDS);
	forget_inbound(peer, UINT64_MAX);
	peer->epoch = pkt->epoch;
	peer->base = pkt->oldest;
}

int efa_peer_seen(struct efa_peer *peer, const struct efa_pkt *pkt)
{
	if (!peer->seen || pkt->epoch > peer->epoch)
		new_epoch(peer, pkt);
	else if (pkt->epoch < peer->epoch)
		return -1;	/* sent before the peer's last reset */
	if (pkt->oldest > peer->base)
		move_base(peer, pkt->oldest);
	if (pkt->tid < peer->base || pkt->tid - peer->base >= EFA_TIDS)
		return -1;
	return peer->seen[pkt->tid % EFA_TIDS];
}

void efa_peer_mark(struct efa_peer *peer, const struct efa_pkt *pkt, unsigned int mark)
{
	peer->seen[pkt->tid % EFA_TIDS] = mark;
}

struct efa_inbound *efa_peer_inbound(struct efa_peer *peer, uint64_t tid, bool create)
{
	struct efa_inbound *inbound;

	TAILQ_FOREACH(inbound, &peer->inbound, link)
		if (inbound->tid == tid)
			return inbound;
	if (!create)
		return NULL;
	inbound = calloc(1, sizeof(*inbound));
	if (!inbound)
		abort();
	inbound->tid = tid;
	TAILQ_INSERT_HEAD(&peer->inbound, inbound, link);
	return inbound;
}

void efa_peer_inbound_end(struct efa_peer *peer, struct efa_inbound *inbound)
{
	TAILQ_REMOVE(&peer->inbound, inbound, link);
	free(inbound);
}
