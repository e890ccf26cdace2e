// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Opening and closing of ionic send and receive queues. The ring in host memory is the
 * provider's, in the process already; controller memory and doorbells are mapped again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "internal.h"

#define FIRST_SQ_SIZE	168	/* of the structs as first published */
#define FIRST_RQ_SIZE	160

static int map_wq(struct ibv_qp *qp, uint64_t uid, const struct dvq_wq_info *wq, void **cmb,
		  void **db)
{
	const int fd = qp->context->cmd_fd;
	int ret = 0;

	*cmb = NULL;
	if (wq->mem == DVQ_MEM_CMB)
		ret = dvq_map_for(uid, fd, wq->ring_key, wq->ring_length, PROT_WRITE, cmb);
	if (ret)
		return ret;
	ret = dvq_map_for(uid, fd, wq->db_key, wq->db_length, PROT_WRITE, db);
	if (ret && *cmb)
		dvq_unmap_for(uid, (uintptr_t)*cmb, wq->ring_length);
	return ret;
}

static struct dvq_ionic_places places(const struct ibv_qp *qp, const struct dvq_wq_info *wq,
				      void *cmb, void *db)
{
	return (struct dvq_ionic_places){
		.ring = wq->user_addr,
		.cmb = cmb ? (uintptr_t)cmb + wq->ring_offset : 0,
		.doorbell = (uintptr_t)db + wq->db_offset,
		.ud = qp->qp_type == IBV_QPT_UD,
	};
}

static void note_maps(struct dvq_ionic_wq *wq, const struct dvq_wq_info *record, void *cmb,
		      void *db)
{
	wq->cmb_map = (uintptr_t)cmb;
	wq->cmb_map_length = cmb ? record->ring_length : 0;
	wq->db_map = (uintptr_t)db;
	wq->db_map_length = record->db_length;
}

/* ---- open rings ----------------------------------------------------------------------- */

/*
 * Where the struct of a ring was when it was opened. A ring may be open twice for a while: opened
 * again after a RESET before the old one is closed. The newer one is then found first, and a
 * doorbell's mapping tells which of the two is closed.
 */
struct open_ring {
	struct open_ring *next;
	struct dvq_ionic_wq *wq;
	uint64_t uid;
	uint64_t db_map;
	bool receive;
};

/* protects the list */
static pthread_mutex_t rings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct open_ring *rings;

void dvq_ionic_wq_in_child(void)
{
	pthread_mutex_init(&rings_lock, NULL);
	rings = NULL;
}

static void lock_rings(void)
{
	dvq_see_process();
	pthread_mutex_lock(&rings_lock);
}

static int note_ring(struct dvq_ionic_wq *wq)
{
	struct open_ring *ring = malloc(sizeof(*ring));

	if (!ring)
		return dvq_refuse(ENOMEM, "no memory");
	*ring = (struct open_ring){
		.wq = wq, .uid = wq->uid, .db_map = wq->db_map, .receive = wq->reqs.receive,
	};
	lock_rings();
	ring->next = rings;
	rings = ring;
	pthread_mutex_unlock(&rings_lock);
	return 0;
}

static struct open_ring **find_ring(uint64_t uid, bool receive)
{
	struct open_ring **at = &rings;

	while (*at && ((*at)->uid != uid || (*at)->receive != receive))
		at = &(*at)->next;
	return at;
}

/* of a struct, or a copy of it */
static void forget_ring(const struct dvq_ionic_wq *wq)
{
	struct open_ring **at, *ring;

	lock_rings();
	at = &rings;
	while (*at && ((*at)->uid != wq->uid || (*at)->receive != wq->reqs.receive ||
		       (*at)->db_map != wq->db_map))
		at = &(*at)->next;
	ring = *at;
	if (ring)
		*at = ring->next;
	pthread_mutex_unlock(&rings_lock);
	free(ring);
}

static int set_gda(const struct open_ring *send, const struct open_ring *receive,
		   bool enable_send, bool enable_receive)
{
	/* nothing is changed if not all can be */
	if ((enable_send && send && send->wq->express) ||
	    (enable_receive && receive && receive->wq->express))
		return dvq_refuse(EINVAL, "entries with an express doorbell ring by themselves");
	if ((enable_send && !send) || (enable_receive && !receive))
		return dvq_refuse(EOPNOTSUPP, "one of the queues is not open");
	if (send)
		dvq_ionic_wq_set_gda(send->wq, enable_send);
	if (receive)
		dvq_ionic_wq_set_gda(receive->wq, enable_receive);
	return 0;
}

int dvq_ionic_open_set_gda(uint64_t uid, bool enable_send, bool enable_receive)
{
	const struct open_ring *send, *receive;
	int ret = ENOENT;

	lock_rings();
	send = *find_ring(uid, false);
	receive = *find_ring(uid, true);
	if (send || receive)
		ret = set_gda(send, receive, enable_send, enable_receive);
	pthread_mutex_unlock(&rings_lock);
	return ret;
}

int dvq_ionic_open_db_data(uint64_t uid, bool receive, uint64_t *data)
{
	const struct open_ring *ring;

	lock_rings();
	ring = *find_ring(uid, receive);
	if (ring)
		*data = dvq_ionic_wq_db_data(ring->wq);
	pthread_mutex_unlock(&rings_lock);
	return ring ? 0 : ENOENT;
}

/* ---- opening and closing -------------------------------------------------------------- */

/* The provider zeroes its rings; an entry of the first lap, or with data, is not all zero here. */
static bool was_used(const struct ibv_qp *qp, const struct dvq_ionic_wq *wq)
{
	return qp->state != IBV_QPS_RESET && dvq_load64(wq->ring + 8);
}

static int used(void)
{
	return dvq_refuse(EBUSY, "the queue was posted to already");
}

/* in a process that does not see the ring nothing can be posted either */
static int check_ring(const struct ibv_qp *qp, const struct dvq_ionic_wq *wq)
{
	if (!wq->ring)
		return dvq_refuse(EOPNOTSUPP,
				  "the queue is in memory that the process does not see");
	return was_used(qp, wq) ? used() : 0;
}

static void unmap_wq(struct dvq_ionic_wq *wq)
{
	dvq_unmap_for(wq->uid, wq->cmb_map, wq->cmb_map_length);
	dvq_unmap_for(wq->uid, wq->db_map, wq->db_map_length);
	wq->cmb_map_length = 0;
	wq->db_map_length = 0;
}

/* what was opened goes to the caller, who knows @size bytes; @wq is part of @to */
static int hand_over(const void *new, size_t new_size, void *to, uint32_t size,
		     struct dvq_ionic_wq *wq)
{
	memset(to, 0, size);
	memcpy(to, new, size < new_size ? size : new_size);
	return note_ring(wq);
}

static void close_wq(struct dvq_ionic_wq *wq)
{
	/* twice is harmless */
	if (!wq->db_map_length)
		return;
	forget_ring(wq);
	unmap_wq(wq);
}

DVQ_API int dvq_ionic_sq_open(struct ibv_qp *qp, struct dvq_ionic_sq *sq, uint32_t size)
{
	struct dvq_ionic_places none = {}, at;
	struct dvq_device_info device;
	struct dvq_ionic_sq new;
	struct dvq_qp_info info;
	struct dvq_wq_info wq;
	void *cmb, *db;
	int ret;

	if (!qp || !sq || size < FIRST_SQ_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_ionic_query_device(qp->context, &device);
	if (!ret)
		ret = dvq_ionic_query_qp(qp, &info, &wq, NULL);
	/* whether the record is one to work with, before anything is mapped */
	if (!ret)
		ret = dvq_ionic_sq_fill(&new, &info, &wq, device.wqe_version, &none);
	if (!ret)
		ret = map_wq(qp, info.uid, &wq, &cmb, &db);
	if (ret)
		return ret;
	at = places(qp, &wq, cmb, db);
	dvq_ionic_sq_fill(&new, &info, &wq, device.wqe_version, &at);
	note_maps(&new.wq, &wq, cmb, db);
	ret = check_ring(qp, &new.wq);
	if (!ret)
		ret = hand_over(&new, sizeof(new), sq, size, &sq->wq);
	if (ret)
		unmap_wq(&new.wq);
	return ret;
}

DVQ_API void dvq_ionic_sq_close(struct dvq_ionic_sq *sq)
{
	if (sq)
		close_wq(&sq->wq);
}

DVQ_API int dvq_ionic_rq_open(struct ibv_qp *qp, struct dvq_ionic_rq *rq, uint32_t size)
{
	struct dvq_ionic_places none = {}, at;
	struct dvq_ionic_rq new;
	struct dvq_qp_info info;
	struct dvq_wq_info wq;
	void *cmb, *db;
	int ret;

	if (!qp || !rq || size < FIRST_RQ_SIZE)
		return dvq_refuse(EINVAL, "an argument is NULL or too short");
	ret = dvq_ionic_query_qp(qp, &info, NULL, &wq);
	if (!ret)
		ret = dvq_ionic_rq_fill(&new, &info, &wq, &none);
	if (!ret)
		ret = map_wq(qp, info.uid, &wq, &cmb, &db);
	if (ret)
		return ret;
	at = places(qp, &wq, cmb, db);
	dvq_ionic_rq_fill(&new, &info, &wq, &at);
	note_maps(&new.wq, &wq, cmb, db);
	ret = check_ring(qp, &new.wq);
	if (!ret)
		ret = hand_over(&new, sizeof(new), rq, size, &rq->wq);
	if (ret)
		unmap_wq(&new.wq);
	return ret;
}

DVQ_API void dvq_ionic_rq_close(struct dvq_ionic_rq *rq)
{
	if (rq)
		close_wq(&rq->wq);
}
