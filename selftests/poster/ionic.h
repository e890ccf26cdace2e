/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A poster for ionic that is written from Documentation/rings.rst alone: what the kernel tells of
 * a QP, the layouts of <hw/ionic_rdma_io.h> and the ordering words of <dvq/barrier.h>. No setter
 * and no ring of libdvq. Sends and receives of one SGE on a connection, completions on pipeline 0.
 */
#include <dvq/barrier.h>
#include <dvq/dvq.h>
#include <endian.h>
#include <hw/ionic_rdma_io.h>
#include <string.h>
#include <sys/mman.h>

struct poster_wq {
	struct dvq_wq_info info;
	uint8_t *ring;			/* the creator's memory */
	volatile uint8_t *cmb;		/* NULL: the ring is in host memory */
	volatile uint64_t *doorbell;
	uint32_t posted, given, done;
};

struct poster_cq {
	struct dvq_cq_info info;
	const uint8_t *ring;
	volatile uint64_t *doorbell;
	uint32_t taken;
};

struct poster {
	struct dvq_qp_info info;
	struct poster_wq sq, rq;
	uint8_t send_op;
};

static void *poster_map(struct ibv_context *context, uint64_t key, uint64_t length)
{
	void *at = mmap(NULL, length, PROT_WRITE, MAP_SHARED, context->cmd_fd, key);

	if (at != MAP_FAILED)
		madvise(at, length, MADV_DONTFORK);
	return at == MAP_FAILED ? NULL : at;
}

static volatile uint64_t *poster_doorbell(struct ibv_context *context, uint64_t key,
					  uint64_t length, uint32_t offset)
{
	uint8_t *page = poster_map(context, key, length);

	return page ? (volatile uint64_t *)(page + offset) : NULL;
}

static bool poster_open_wq(struct ibv_context *context, struct poster_wq *wq)
{
	uint8_t *cmb = NULL;

	if (wq->info.mem == DVQ_MEM_CMB)
		cmb = poster_map(context, wq->info.ring_key, wq->info.ring_length);
	wq->ring = (uint8_t *)(uintptr_t)wq->info.user_addr;
	wq->cmb = cmb ? cmb + wq->info.ring_offset : NULL;
	wq->doorbell = poster_doorbell(context, wq->info.db_key, wq->info.db_length,
				       wq->info.db_offset);
	return wq->ring && wq->doorbell && (wq->cmb || wq->info.mem == DVQ_MEM_USER);
}

static bool poster_open(struct poster *p, struct ibv_qp *qp)
{
	struct dvq_device_info device;

	memset(p, 0, sizeof(*p));
	if (dvq_device_query(qp->context, &device, sizeof(device)) ||
	    dvq_qp_query(qp, &p->info, sizeof(p->info), &p->sq.info, &p->rq.info,
			 sizeof(p->sq.info)))
		return false;
	p->send_op = device.wqe_version == 2 ? IONIC_V2_SEND : IONIC_V1_SEND;
	return poster_open_wq(qp->context, &p->sq) && poster_open_wq(qp->context, &p->rq);
}

static bool poster_open_cq(struct poster_cq *cq, struct ibv_cq *verbs)
{
	memset(cq, 0, sizeof(*cq));
	if (dvq_cq_query(verbs, &cq->info, sizeof(cq->info)) || cq->info.pipeline)
		return false;
	cq->ring = (const uint8_t *)(uintptr_t)cq->info.user_addr;
	cq->doorbell = poster_doorbell(verbs->context, cq->info.db_key, cq->info.db_length,
				       cq->info.db_offset);
	return cq->ring && cq->doorbell;
}

/* the next entry, cleared; NULL: the queue is full, one entry stays empty */
static struct ionic_wqe_header *poster_next(struct poster_wq *wq, uint8_t op)
{
	const uint32_t slot = wq->posted & (wq->info.entries - 1);
	uint8_t *entry = wq->ring + slot * wq->info.entry_size;
	struct ionic_wqe_header *header = (void *)entry;
	uint64_t word;

	if (wq->posted - wq->done == wq->info.entries - 1)
		return NULL;
	memset(entry, 0, wq->info.entry_size);
	*header = (struct ionic_wqe_header){ .id = slot, .op = op, .num_sge = 1 };
	if (wq->info.caps & DVQ_WQ_EXPDB) {
		word = ((slot + 1) & (wq->info.entries - 1)) | wq->info.db_value | 0x580000 |
		       (uint64_t)(wq->info.db_offset / 8) << 48;
		memcpy(entry + wq->info.entry_size - sizeof(word), &word, sizeof(word));
	}
	wq->posted++;
	return header;
}

static void poster_copy(struct poster_wq *wq, uint32_t from, uint32_t bytes)
{
	uint64_t word;

	for (uint32_t i = from; i < from + bytes; i += sizeof(word)) {
		memcpy(&word, wq->ring + i, sizeof(word));
		*(volatile uint64_t *)(wq->cmb + i) = word;
	}
}

/* one entry with an express doorbell */
static void poster_copy_express(struct poster_wq *wq, uint32_t at)
{
	const uint32_t last = wq->info.entry_size - 8;

	dvq_wc_start();
	poster_copy(wq, at, last);
	dvq_wc_flush();
	poster_copy(wq, at + last, 8);
}

/* gives the adapter all that was posted */
static void poster_ring(struct poster_wq *wq)
{
	const bool express = wq->info.caps & DVQ_WQ_EXPDB;

	if (wq->given == wq->posted)
		return;
	if (wq->cmb && !express)
		dvq_wc_start();
	for (; wq->cmb && wq->given != wq->posted; wq->given++) {
		uint32_t at = (wq->given & (wq->info.entries - 1)) * wq->info.entry_size;

		if (express)
			poster_copy_express(wq, at);
		else
			poster_copy(wq, at, wq->info.entry_size);
	}
	wq->given = wq->posted;
	if (wq->cmb)
		dvq_wc_flush();
	else
		dvq_dma_write();
	if (!express)
		*wq->doorbell = wq->info.db_value | (wq->posted & (wq->info.entries - 1));
}

static void poster_sge(struct ionic_wqe_header *header, uint64_t addr, uint32_t length, uint32_t key)
{
	struct ionic_sge *sge = (void *)((uint8_t *)header + IONIC_WQE_PAYLOAD);

	*sge = (struct ionic_sge){ htobe64(addr), htobe32(length), htobe32(key) };
}

static bool poster_send(struct poster *p, uint64_t addr, uint32_t length, uint32_t lkey)
{
	const bool first_lap = !(p->sq.posted & p->sq.info.entries);
	struct ionic_wqe_header *header = poster_next(&p->sq, p->send_op);

	if (!header)
		return false;
	header->flags = htobe16(IONIC_WQE_SIGNALED | (first_lap ? IONIC_WQE_COLOR : 0));
	((struct ionic_wqe_send *)header)->length = htobe32(length);
	poster_sge(header, addr, length, lkey);
	return true;
}

static bool poster_recv(struct poster *p, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct ionic_wqe_header *header = poster_next(&p->rq, 0);

	if (!header)
		return false;
	header->imm_key_length = htobe32(length);
	poster_sge(header, addr, length, lkey);
	return true;
}

enum poster_news { POSTER_NOTHING, POSTER_SENDS, POSTER_RECEIVE, POSTER_STALE, POSTER_ERROR };

/* one completion; sends that are done show in sq.done, receives in rq.done */
static enum poster_news poster_poll(struct poster_cq *cq, struct poster *p, struct ionic_cqe *cqe)
{
	const uint32_t entries = cq->info.entries, mask = p->sq.info.entries - 1;
	const uint8_t *entry = cq->ring + (cq->taken & (entries - 1)) * sizeof(*cqe);
	const uint8_t color = cq->taken & entries ? 0 : IONIC_CQE_COLOR;
	uint32_t word;

	if ((*(volatile const uint8_t *)&entry[31] & IONIC_CQE_COLOR) != color)
		return POSTER_NOTHING;
	dvq_dma_read();
	memcpy(cqe, entry, sizeof(*cqe));
	cq->taken++;
	dvq_dma_release();
	*cq->doorbell = cq->info.db_value | (cq->taken & (entries - 1));
	word = be32toh(cqe->qid_type_flags);
	if (word >> 8 != p->info.qp_num)
		return POSTER_STALE;
	if (word & IONIC_CQE_ERROR)
		return POSTER_ERROR;
	if ((word & IONIC_CQE_TYPE) >> 5 == IONIC_CQE_RECV) {
		p->rq.done++;
		return POSTER_RECEIVE;
	}
	p->sq.done += (be32toh(cqe->u.send.msn) - p->sq.done) & mask;
	return POSTER_SENDS;
}
