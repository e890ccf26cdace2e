// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <string.h>

#include "buffer.h"
#include "lab.h"
#include "work.h"

static unsigned int send_flags(const struct work *work)
{
	return (work->unsignalled ? 0 : IBV_SEND_SIGNALED) | work->extra_flags;
}

static void begin_request(struct ibv_qp_ex *qp, const struct work *work)
{
	qp->wr_id = work->id;
	qp->wr_flags = send_flags(work);
	switch (work->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qp);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qp, htonl(work->imm));
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qp, work->rkey, work->remote_addr);
		break;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qp, work->rkey, work->remote_addr);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qp, work->rkey, work->remote_addr, htonl(work->imm));
		break;
	default:
		lab_fail(__FILE__, __LINE__, "EFA has no builder for opcode %d", work->opcode);
	}
}

static void set_inline(struct ibv_qp_ex *qp, const struct work *work)
{
	struct ibv_data_buf buf[WORK_SGES];

	if (work->sges == 1) {
		ibv_wr_set_inline_data(qp, (void *)(uintptr_t)work->sge[0].addr,
				       work->sge[0].length);
		return;
	}
	for (unsigned int i = 0; i < work->sges; i++)
		buf[i] = (struct ibv_data_buf) {
			.addr = (void *)(uintptr_t)work->sge[i].addr,
			.length = work->sge[i].length,
		};
	ibv_wr_set_inline_data_list(qp, work->sges, buf);
}

static void set_data(struct ibv_qp_ex *qp, const struct work *work)
{
	if (work->inlined)
		set_inline(qp, work);
	else if (work->sges == 1)
		ibv_wr_set_sge(qp, work->sge[0].lkey, work->sge[0].addr, work->sge[0].length);
	else
		ibv_wr_set_sge_list(qp, work->sges, work->sge);
}

int post_block(struct endpoint *endpoint, const struct work *work, unsigned int n)
{
	struct ibv_qp_ex *qp = endpoint->ex;

	ibv_wr_start(qp);
	for (unsigned int i = 0; i < n; i++) {
		begin_request(qp, &work[i]);
		set_data(qp, &work[i]);
		ibv_wr_set_ud_addr(qp, work[i].to.ah, work[i].to.qpn, work[i].to.qkey);
	}
	return ibv_wr_complete(qp);
}

static void fill_connected(struct ibv_send_wr *wr, const struct work *work)
{
	switch (work->opcode) {
	case IBV_WR_RDMA_READ:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wr->wr.rdma.remote_addr = work->remote_addr;
		wr->wr.rdma.rkey = work->rkey;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr->wr.atomic.remote_addr = work->remote_addr;
		wr->wr.atomic.rkey = work->rkey;
		wr->wr.atomic.compare_add = work->compare_add;
		wr->wr.atomic.swap = work->swap;
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr->invalidate_rkey = work->invalidate;
		break;
	case IBV_WR_BIND_MW:
		wr->bind_mw.mw = work->bind.mw;
		wr->bind_mw.rkey = work->bind.rkey;
		wr->bind_mw.bind_info = work->bind.info;
		break;
	default:
		break;
	}
}

static void fill_wr(const struct endpoint *endpoint, struct ibv_send_wr *wr,
		    const struct work *work)
{
	*wr = (struct ibv_send_wr) {
		.wr_id = work->id,
		.sg_list = (struct ibv_sge *)work->sge,
		.num_sge = work->sges,
		.opcode = work->opcode,
		.send_flags = send_flags(work) | (work->inlined ? IBV_SEND_INLINE : 0),
		.imm_data = htonl(work->imm),
	};
	if (is_rc(endpoint)) {
		fill_connected(wr, work);
		return;
	}
	wr->wr.ud.ah = work->to.ah;
	wr->wr.ud.remote_qpn = work->to.qpn;
	wr->wr.ud.remote_qkey = work->to.qkey;
}

int post_list(struct endpoint *endpoint, const struct work *work, unsigned int n,
	      unsigned int *posted)
{
	struct ibv_send_wr wr[n], *bad = NULL;
	int err;

	for (unsigned int i = 0; i < n; i++) {
		fill_wr(endpoint, &wr[i], &work[i]);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	err = ibv_post_send(endpoint->qp, wr, &bad);
	if (posted)
		*posted = err ? bad - wr : n;
	return err;
}

int post(struct endpoint *endpoint, const struct work *work, unsigned int n)
{
	return endpoint->ex ? post_block(endpoint, work, n) : post_list(endpoint, work, n, NULL);
}

void post_one(struct endpoint *endpoint, const struct work *work)
{
	int err = post(endpoint, work, 1);

	LAB_NEED(!err, "posting work request %llu: %s", (unsigned long long)work->id,
		 strerror(err));
}

int post_recv(struct endpoint *endpoint, uint64_t id, const struct ibv_sge *sge, unsigned int n)
{
	struct ibv_recv_wr wr = {
		.wr_id = id, .sg_list = (struct ibv_sge *)sge, .num_sge = n,
	}, *bad;

	return ibv_post_recv(endpoint->qp, &wr, &bad);
}

void post_recv_one(struct endpoint *endpoint, uint64_t id, const struct buffer *buffer, size_t off,
		   size_t len)
{
	struct ibv_sge sge = buffer_sge(buffer, off, len);
	int err = post_recv(endpoint, id, &sge, 1);

	LAB_NEED(!err, "posting receive %llu: %s", (unsigned long long)id, strerror(err));
}

struct work send_work(const struct route *to, uint64_t id, const struct buffer *buffer, size_t off,
		      size_t len)
{
	return (struct work) {
		.opcode = IBV_WR_SEND, .id = id, .sge = { buffer_sge(buffer, off, len) },
		.sges = 1, .to = *to,
	};
}

struct work rdma_work(enum ibv_wr_opcode opcode, const struct route *to, uint64_t id,
		      const struct buffer *local, size_t off, size_t len,
		      const struct buffer *remote, size_t remote_off)
{
	return (struct work) {
		.opcode = opcode, .id = id, .sge = { buffer_sge(local, off, len) }, .sges = 1,
		.remote_addr = buffer_addr(remote, remote_off), .rkey = remote->mr->rkey,
		.to = *to,
	};
}

struct work atomic_work(enum ibv_wr_opcode opcode, const struct route *to, uint64_t id,
			const struct buffer *local, size_t off, const struct buffer *remote,
			size_t remote_off, uint64_t compare_add, uint64_t swap)
{
	struct work work = rdma_work(opcode, to, id, local, off, 8, remote, remote_off);

	work.compare_add = compare_add;
	work.swap = swap;
	return work;
}

struct work bind_work(uint64_t id, struct ibv_mw *mw, uint32_t rkey, struct ibv_mr *mr,
		      uint64_t addr, size_t len, unsigned int access)
{
	return (struct work) {
		.opcode = IBV_WR_BIND_MW, .id = id,
		.bind = {
			.mw = mw, .rkey = rkey,
			.info = {
				.mr = mr, .addr = addr, .length = len, .mw_access_flags = access,
			},
		},
	};
}

struct work invalidate_work(uint64_t id, uint32_t rkey)
{
	return (struct work) { .opcode = IBV_WR_LOCAL_INV, .id = id, .invalidate = rkey };
}
