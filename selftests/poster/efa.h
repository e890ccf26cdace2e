/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A poster for EFA that is written from Documentation/rings.rst alone: what the kernel tells of a
 * QP, the layouts of <hw/efa_io.h> and the ordering words of <dvq/barrier.h>. No setter and no
 * ring of libdvq. Little-endian, one CQ for both directions, entries of 64 bytes.
 */
#include <dvq/barrier.h>
#include <dvq/dvq.h>
#include <hw/efa_io.h>
#include <string.h>
#include <sys/mman.h>

#define POSTER_MOST	256	/* requests that are out at one time */

struct poster_wq {
	struct dvq_wq_info info;
	uint8_t *ring;
	volatile uint32_t *doorbell;
	uint32_t posted, rung, out;	/* entries, entries, requests */
	uint64_t wr_id[POSTER_MOST];
	bool used[POSTER_MOST];
};

struct poster_cq {
	struct dvq_cq_info info;
	const uint8_t *ring;
	volatile uint32_t *doorbell;	/* NULL: there is none */
	uint32_t next[16], taken;
};

struct poster {
	struct dvq_qp_info info;
	struct poster_wq wq[2];		/* sends, receives */
};

static void *poster_map(struct ibv_context *context, uint64_t key, uint64_t length, int prot)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, context->cmd_fd, key);

	if (at != MAP_FAILED)
		madvise(at, length, MADV_DONTFORK);
	return at == MAP_FAILED ? NULL : at;
}

static bool poster_open_wq(struct ibv_context *context, struct poster_wq *wq, int prot)
{
	wq->ring = poster_map(context, wq->info.ring_key, wq->info.ring_length, prot);
	wq->doorbell = poster_map(context, wq->info.db_key, wq->info.db_length, PROT_WRITE);
	if (!wq->ring || !wq->doorbell || wq->info.max_wr > POSTER_MOST)
		return false;
	wq->ring += wq->info.ring_offset;
	wq->doorbell += wq->info.db_offset / sizeof(*wq->doorbell);
	return true;
}

static bool poster_open(struct poster *p, struct ibv_qp *qp)
{
	memset(p, 0, sizeof(*p));
	return !dvq_qp_query(qp, &p->info, sizeof(p->info), &p->wq[0].info, &p->wq[1].info,
			     sizeof(p->wq[0].info)) &&
	       p->wq[0].info.entry_size == sizeof(struct efa_wqe) &&
	       poster_open_wq(qp->context, &p->wq[0], PROT_WRITE) &&
	       poster_open_wq(qp->context, &p->wq[1], PROT_READ | PROT_WRITE);
}

static bool poster_open_cq(struct poster_cq *cq, struct ibv_cq *verbs)
{
	memset(cq, 0, sizeof(*cq));
	if (dvq_cq_query(verbs, &cq->info, sizeof(cq->info)) || cq->info.sub_cqs > 16)
		return false;
	cq->ring = poster_map(verbs->context, cq->info.ring_key, cq->info.ring_length, PROT_READ);
	if (cq->info.db_key)
		cq->doorbell = poster_map(verbs->context, cq->info.db_key, cq->info.db_length,
					  PROT_WRITE);
	if (!cq->ring || (cq->info.db_key && !cq->doorbell))
		return false;
	cq->ring += cq->info.ring_offset;
	cq->doorbell = cq->doorbell ? cq->doorbell + cq->info.db_offset / 4 : NULL;
	return true;
}

/* the bits of an id that count requests; the generation is above them */
static uint32_t poster_id_bits(const struct poster_wq *wq)
{
	return wq->info.max_wr > 1 ? 32 - __builtin_clz(wq->info.max_wr - 1) : 0;
}

/* an id for a request; the caller has seen that there is room */
static uint16_t poster_id(const struct poster *p, struct poster_wq *wq, uint64_t wr_id)
{
	uint32_t i = 0;

	while (wq->used[i])
		i++;
	wq->used[i] = true;
	wq->wr_id[i] = wr_id;
	wq->out++;
	return i | p->info.generation << poster_id_bits(wq);
}

static void poster_ring(struct poster_wq *wq, bool sends)
{
	if (wq->rung == wq->posted)
		return;
	if (sends)
		dvq_wc_flush();
	else
		dvq_dma_write();
	*wq->doorbell = wq->posted & 0xffff;
	wq->rung = wq->posted;
}

/* fills in id, phase and the bits that are always set; false: the queue is full */
static bool poster_send(struct poster *p, struct efa_wqe *wqe, uint64_t wr_id)
{
	struct poster_wq *wq = &p->wq[0];
	const uint32_t entries = wq->info.entries;
	volatile uint64_t *to = (void *)(wq->ring + wq->posted % entries * sizeof(*wqe));
	uint64_t word[8];

	if (wq->out == wq->info.max_wr)
		return false;
	wqe->meta.req_id = poster_id(p, wq, wr_id);
	wqe->meta.ctrl1 |= EFA_WQE_META_DESC;
	wqe->meta.ctrl2 = EFA_WQE_FIRST | EFA_WQE_LAST | EFA_WQE_COMP_REQ |
			  (wq->posted / entries & 1 ? EFA_WQE_PHASE : 0);
	if (wq->posted == wq->rung)
		dvq_wc_start();
	memcpy(word, wqe, sizeof(word));
	for (int i = 0; i < 8; i++)
		to[i] = word[i];
	if (++wq->posted - wq->rung == wq->info.max_batch)
		poster_ring(wq, true);
	return true;
}

static bool poster_recv(struct poster *p, uint64_t addr, uint16_t length, uint32_t lkey, uint64_t wr_id)
{
	struct poster_wq *wq = &p->wq[1];
	struct efa_rx_desc *desc = (struct efa_rx_desc *)wq->ring + wq->posted % wq->info.entries;

	if (wq->out == wq->info.max_wr)
		return false;
	*desc = (struct efa_rx_desc) {
		.addr_lo = addr, .addr_hi = addr >> 32, .length = length,
		.req_id = poster_id(p, wq, wr_id),
		.lkey_ctrl = (lkey & EFA_RX_LKEY) | EFA_RX_FIRST | EFA_RX_LAST,
	};
	wq->posted++;
	return true;
}

static const volatile struct efa_cqe_common *poster_entry(const struct poster_cq *cq, uint32_t sub)
{
	uint32_t at = sub * cq->info.entries + cq->next[sub] % cq->info.entries;

	return (const void *)(cq->ring + at * cq->info.entry_size);
}

static bool poster_is_new(const struct poster_cq *cq, uint32_t sub)
{
	uint32_t lap = cq->next[sub] / cq->info.entries & 1;

	return (poster_entry(cq, sub)->flags & EFA_CQE_PHASE) == (cq->info.first_phase ^ lap);
}

/* a request of @p is done: its wr_id; false: the completion is not one of its own */
static bool poster_done(struct poster *p, const struct efa_cqe_common *cqe, uint64_t *wr_id)
{
	struct poster_wq *wq = &p->wq[(cqe->flags & EFA_CQE_QTYPE) >> 1 != EFA_CQE_QTYPE_SEND];
	const uint32_t bits = poster_id_bits(wq), i = cqe->req_id & ((1u << bits) - 1);

	if (cqe->qp_num != p->info.qp_num || !wq->used[i] ||
	    cqe->req_id != (uint16_t)(i | p->info.generation << bits))
		return false;
	wq->used[i] = false;
	wq->out--;
	*wr_id = wq->wr_id[i];
	return true;
}

/* one completion of @p; false: there is none. Stale ones are taken off the ring */
static bool poster_poll(struct poster_cq *cq, struct poster *p, struct efa_cqe_rx *cqe, uint64_t *wr_id)
{
	bool found = false;
	uint32_t taken = cq->taken;

	for (uint32_t sub = 0; sub < cq->info.sub_cqs && !found; sub++)
		while (!found && poster_is_new(cq, sub)) {
			dvq_dma_read();
			memcpy(cqe, (const void *)poster_entry(cq, sub), sizeof(*cqe));
			cq->next[sub]++;
			cq->taken++;
			found = poster_done(p, &cqe->common, wr_id);
		}
	if (cq->doorbell && cq->taken != taken) {
		dvq_dma_release();
		*cq->doorbell = cq->taken & EFA_CQ_DB_CONS_INDEX;
	}
	return found;
}
