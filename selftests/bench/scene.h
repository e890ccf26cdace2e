/* SPDX-License-Identifier: GPL-2.0 */
/* A sender and a receiver on one adapter, and posting and polling by what rdma-core has. */
#ifndef SELFTESTS_BENCH_SCENE_H
#define SELFTESTS_BENCH_SCENE_H

#include "../lib/buffer.h"
#include "../lib/endpoint.h"
#include "post.h"

/**
 * struct request - what is sent
 *
 * @inlined: bytes; 0: @sges buffers of REQUEST_BYTES
 * @hints: EFADV_WR_PROCESSING_HINT_*, by those ways that can tell them
 * @depth: of the send queue; 0: the usual
 */
struct request {
	enum ibv_wr_opcode opcode;
	unsigned int sges;
	unsigned int inlined;
	uint32_t hints;
	unsigned int depth;
};

#define REQUEST_BYTES	64
#define REQUEST_INLINE	32

/* what the loops put into requests; a copy of it in a function stays in registers */
struct values {
	uint16_t ah;
	uint32_t qpn, qkey, lkey, rkey, hints;
	uint64_t local, remote;
	const char *data;
};

struct scene {
	struct request request;
	struct endpoint *a, *b;
	struct route to_b;
	struct buffer *out, *in;
	struct values values;
	struct ibv_sge sge[2], recv_sge;
	struct ibv_send_wr sends[POST_BATCH], one_send;
	struct ibv_recv_wr recvs[POST_BATCH], one_recv;
};

static inline bool takes_receives(const struct request *request)
{
	return request->opcode == IBV_WR_SEND;
}

/*
 * @a, @b: of endpoint_new(); the receiver gets what the sender sends. must succeed; undone with the
 * endpoints
 */
void scene_init(struct scene *scene, const struct request *request, struct endpoint *a, struct endpoint *b);

/* steps of a struct post_way; @scene: a struct scene, or something that begins with one */
int scene_post_recv(void *scene, unsigned int n);
int scene_post_send(void *scene, unsigned int n);
int scene_poll_sends(void *scene, unsigned int n);	/* ibv_poll_cq() */
int scene_poll_receives(void *scene, unsigned int n);
int scene_next_sends(void *scene, unsigned int n);	/* ibv_start_poll(), of a CQ_EXTENDED */
int scene_next_receives(void *scene, unsigned int n);
/* ibv_wr_*() as the request wants it */
int (*scene_wr(const struct scene *scene))(void *scene, unsigned int n);

/* what the stock provider does: of lists if the sender has no ibv_wr_*(), and ibv_poll_cq() */
struct post_way scene_way(const char *subject, struct scene *scene, enum post_step measured);

#endif /* SELFTESTS_BENCH_SCENE_H */
