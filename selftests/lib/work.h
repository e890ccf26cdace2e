/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Work requests as data, so that a test can post the same by ibv_wr_* and by ibv_post_send(). The
 * former is what EFA does, atomics, windows and invalidation are ionic's.
 */
#ifndef SELFTESTS_WORK_H
#define SELFTESTS_WORK_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "endpoint.h"

#define WORK_SGES	16

/**
 * struct work - a send work request
 *
 * @opcode: IBV_WR_SEND is not 0, so it must be given
 * @sge: @sges of them; with @inlined addresses of plain memory
 * @unsignalled: without IBV_SEND_SIGNALED
 * @extra_flags: more IBV_SEND_*
 * @imm: host order
 * @remote_addr, @rkey: for RDMA and atomics
 * @compare_add, @swap: of atomics
 * @invalidate: key for IBV_WR_SEND_WITH_INV and IBV_WR_LOCAL_INV
 * @bind: for IBV_WR_BIND_MW
 */
struct work {
	enum ibv_wr_opcode opcode;
	uint64_t id;
	struct ibv_sge sge[WORK_SGES];
	unsigned int sges;
	bool inlined;
	bool unsignalled;
	unsigned int extra_flags;
	uint32_t imm;
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add, swap;
	uint32_t invalidate;
	struct {
		struct ibv_mw *mw;
		uint32_t rkey;
		struct ibv_mw_bind_info info;
	} bind;
	struct route to;
};

/* in one block of ibv_wr_start() and ibv_wr_complete(); returns what the latter does */
int post_block(struct endpoint *endpoint, const struct work *work, unsigned int n);
/* in one list of ibv_post_send(); *@posted: how many were, if not NULL */
int post_list(struct endpoint *endpoint, const struct work *work, unsigned int n,
	      unsigned int *posted);
/* by whichever the endpoint has */
int post(struct endpoint *endpoint, const struct work *work, unsigned int n);
/* one, which must be taken */
void post_one(struct endpoint *endpoint, const struct work *work);

/* one receive of @n SGEs; 0 or an errno */
int post_recv(struct endpoint *endpoint, uint64_t id, const struct ibv_sge *sge, unsigned int n);
/* one receive into [off, off + len) of a buffer, which must be taken */
struct buffer;
void post_recv_one(struct endpoint *endpoint, uint64_t id, const struct buffer *buffer, size_t off,
		   size_t len);

/* a send of [off, off + len) of a buffer */
struct work send_work(const struct route *to, uint64_t id, const struct buffer *buffer, size_t off,
		      size_t len);
/* an RDMA of that piece and [remote_off, ...) of another endpoint's buffer */
struct work rdma_work(enum ibv_wr_opcode opcode, const struct route *to, uint64_t id,
		      const struct buffer *local, size_t off, size_t len,
		      const struct buffer *remote, size_t remote_off);

/* an atomic on 8 bytes of another endpoint's buffer; what was there comes to @local */
struct work atomic_work(enum ibv_wr_opcode opcode, const struct route *to, uint64_t id,
			const struct buffer *local, size_t off, const struct buffer *remote,
			size_t remote_off, uint64_t compare_add, uint64_t swap);
/* a window of the given new key on [addr, addr + len) of @mr, of type 2; @len 0 unbinds */
struct work bind_work(uint64_t id, struct ibv_mw *mw, uint32_t rkey, struct ibv_mr *mr,
		      uint64_t addr, size_t len, unsigned int access);
struct work invalidate_work(uint64_t id, uint32_t rkey);

#endif /* SELFTESTS_WORK_H */
