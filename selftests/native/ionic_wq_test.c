// SPDX-License-Identifier: GPL-2.0
/*
 * Ionic send and receive queues: wraps, full rings, undoing, and what publishing puts where, in
 * which order (F-18). The order is what the hooks of DVQ_TRACE see.
 */
#define DVQ_TRACE "trace.h"
#include "ionic_rings.h"

#define CHECK_TRACE(want) do { CHECK_STR(trace_log, want); trace_clear(); } while (0)

static uint64_t word_at(const uint8_t *ring, size_t at)
{
	uint64_t word;

	memcpy(&word, ring + at, 8);
	return le64toh(word);
}

/* @n sends, which must be taken */
static void post(struct ionic_rings *r, unsigned int n)
{
	struct dvq_ionic_wr wr = ionic_send();

	for (unsigned int i = 0; i < n; i++)
		CHECK_EQ(ionic_post(r, &wr, i), 0);
}

/* the adapter finishes @n, and they are polled */
static void finish(struct ionic_rings *r, unsigned int n)
{
	struct dvq_ionic_wc wc[8];

	ionic_msn(r, (r->sq.wq.reqs.done + n) & r->sq.wq.reqs.mask, 0);
	CHECK_EQ(ionic_poll(r, wc, 8), n);
}

/* ---- rings -------------------------------------------------------------------------- */

TEST(queue_without_slots_takes_nothing)
{
	struct ionic_rings *r = ionic_rings_new();
	struct dvq_ionic_wr wr = ionic_send();

	ionic_rings_fill(r);
	CHECK_EQ(dvq_ionic_reqs_slots(&r->sq.wq.reqs), 8);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_ENOMEM);
	CHECK_EQ(ionic_post_recv(r, 0), DVQ_IONIC_ENOMEM);
	CHECK_EQ(dvq_ionic_sq_set_slots(&r->sq, r->sends), 0);
	CHECK_EQ(ionic_post(r, &wr, 0), 0);
	CHECK_EQ(dvq_ionic_sq_set_slots(&r->sq, r->sends), DVQ_IONIC_EBUSY);
	ionic_rings_free(r);
}

TEST(f28_full_ring_keeps_one_entry_empty)
{
	struct ionic_rings *r = ionic_rings_at(HOST, 64);
	struct dvq_ionic_wr wr = ionic_send();

	post(r, 7);
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 0);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_ENOMEM);
	CHECK_EQ(word_at(r->sq_ring, 7 * 64), 0);
	ionic_publish(r);
	CHECK_EQ(r->sq_db, (uint64_t)RINGS_QP_NUM << 24 | 7);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_ENOMEM);
	finish(r, 1);
	CHECK_EQ(ionic_post(r, &wr, 0), 0);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_ENOMEM);
	for (int i = 0; i < 7; i++)
		CHECK_EQ(ionic_post_recv(r, i), 0);
	CHECK_EQ(ionic_post_recv(r, 7), DVQ_IONIC_ENOMEM);
	ionic_publish(r);
	CHECK_EQ(r->rq_db, (uint64_t)RINGS_QP_NUM << 24 | 7);
	ionic_rings_free(r);
}

TEST(rings_wrap_and_the_color_with_them)
{
	struct ionic_rings *r = ionic_rings_at(HOST, 64);

	for (uint32_t count = 0; count < 100; count++) {
		uint64_t at = count % 8 * 64;

		post(r, 1);
		CHECK_EQ(word_at(r->sq_ring, at), count % 8);
		CHECK_EQ(r->sq_ring[at + 11] & IONIC_WQE_COLOR,
			 count / 8 % 2 ? 0 : IONIC_WQE_COLOR);
		ionic_publish(r);
		CHECK_EQ(r->sq_db, (uint64_t)RINGS_QP_NUM << 24 | (count + 1) % 8);
		finish(r, 1);
	}
	ionic_rings_free(r);
}

TEST(nothing_to_publish)
{
	static const enum place places[] = { HOST, CMB, EXPRESS };

	for (int i = 0; i < 3; i++) {
		struct ionic_rings *r = ionic_rings_at(places[i], 64);

		trace_clear();
		ionic_publish(r);
		CHECK_TRACE("");
		ionic_rings_free(r);
	}
}

TEST(f13_undone_posts_leave_nothing)
{
	static const enum place places[] = { HOST, CMB, EXPRESS };

	for (int i = 0; i < 3; i++) {
		struct ionic_rings *r = ionic_rings_at(places[i], 64);
		struct dvq_ionic_reqs before;
		uint8_t cmb[8 * 64];

		post(r, 6);
		ionic_publish(r);
		finish(r, 6);
		before = r->sq.wq.reqs;
		memcpy(cmb, r->sq_cmb, sizeof(cmb));
		trace_clear();
		post(r, 5);
		CHECK_EQ(ionic_post_recv(r, 1), 0);
		dvq_ionic_sq_abort(&r->sq);
		dvq_ionic_rq_abort(&r->rq);
		CHECK(!memcmp(&before, &r->sq.wq.reqs, sizeof(before)));
		CHECK(!memcmp(cmb, r->sq_cmb, sizeof(cmb)));
		CHECK_EQ(dvq_ionic_rq_room(&r->rq), 7);
		CHECK(!strstr(trace_log, "db:"));
		post(r, 1);
		ionic_publish(r);
		if (places[i] != EXPRESS)
			CHECK_EQ(r->sq_db, (uint64_t)RINGS_QP_NUM << 24 | 7);
		finish(r, 1);
		ionic_rings_free(r);
	}
}

/* another thread may say who rings while this one posts and polls: nothing of theirs is touched */
TEST(f92_who_rings_is_a_word_of_its_own)
{
	struct ionic_rings *r = ionic_rings_at(HOST, 64);
	struct dvq_ionic_reqs before;

	post(r, 3);
	ionic_publish(r);
	r->sq.wq.reqs.state = DVQ_IONIC_LISTED | DVQ_IONIC_FAILING;
	before = r->sq.wq.reqs;
	CHECK_EQ(dvq_ionic_sq_set_gda(&r->sq, true), 0);
	CHECK(!memcmp(&before, &r->sq.wq.reqs, sizeof(before)));
	r->sq_db = 0;
	post(r, 1);
	ionic_publish(r);
	CHECK_EQ(r->sq_db, 0);
	CHECK_EQ(r->sq.wq.reqs.state, before.state);
	before = r->sq.wq.reqs;
	CHECK_EQ(dvq_ionic_sq_set_gda(&r->sq, false), 0);
	CHECK(!memcmp(&before, &r->sq.wq.reqs, sizeof(before)));
	post(r, 1);
	ionic_publish(r);
	CHECK_EQ(r->sq_db, (uint64_t)RINGS_QP_NUM << 24 | 5);
	ionic_rings_free(r);
}

/* ---- controller memory -------------------------------------------------------------- */

/* whole entries arrive, at their places, wrapped or not, and no others are touched */
TEST(copies_to_controller_memory)
{
	for (uint32_t size = 64; size <= 512; size *= 2) {
		for (int express = 0; express < 2; express++) {
			struct ionic_rings *r = ionic_rings_at(express ? EXPRESS : CMB, size);

			post(r, 6);
			ionic_publish(r);
			finish(r, 6);
			memset(r->sq_cmb, 0xee, 8 * size);
			post(r, 4);
			CHECK_EQ(r->sq_cmb[6 * size], 0xee);
			ionic_publish(r);
			CHECK(!memcmp(r->sq_cmb + 6 * size, r->sq_ring + 6 * size, 2 * size));
			CHECK(!memcmp(r->sq_cmb, r->sq_ring, 2 * size));
			for (uint32_t i = 2 * size; i < 6 * size; i++)
				CHECK_EQ(r->sq_cmb[i], 0xee);
			ionic_rings_free(r);
		}
	}
}

TEST(receives_in_controller_memory)
{
	for (int express = 0; express < 2; express++) {
		struct ionic_rings *r = ionic_rings_at(express ? EXPRESS : CMB, 128);

		for (int i = 0; i < 3; i++)
			CHECK_EQ(ionic_post_recv(r, i), 0);
		ionic_publish(r);
		CHECK(!memcmp(r->rq_cmb, r->rq_ring, 3 * 128));
		if (express) {
			CHECK_EQ(word_at(r->rq_cmb, 128 - 8), 0x0004123456580001);
			CHECK_EQ(word_at(r->rq_cmb, 3 * 128 - 8), 0x0004123456580003);
			CHECK_EQ(r->rq_db, ~0ull);
		} else {
			CHECK_EQ(r->rq_db, (uint64_t)RINGS_QP_NUM << 24 | 3);
		}
		ionic_rings_free(r);
	}
}

/* the word that rings: index after the entry, QP, type; by the example of the data sheet */
TEST(f18_express_word)
{
	struct ionic_rings *r = ionic_rings_new();

	r->sq_info.db_value = 0x1234ull << 24;
	ionic_rings_place(&r->sq_info, EXPRESS);
	r->qp.max_send_sge = 1;
	ionic_rings_open(r);
	for (uint32_t count = 0; count < 20; count++) {
		post(r, 1);
		ionic_publish(r);
		CHECK_EQ(word_at(r->sq_cmb, count % 8 * 64 + 56),
			 0x0003001234580000 | (count + 1) % 8);
		finish(r, 1);
	}
	CHECK_EQ(r->sq_db, ~0ull);
	ionic_rings_free(r);
}

TEST(express_word_is_not_payload)
{
	struct ionic_rings *r = ionic_rings_at(EXPRESS, 64);
	struct dvq_ionic_wr wr;
	uint8_t data[25];

	memset(data, 0xff, sizeof(data));
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 24);
	CHECK_EQ(ionic_post(r, &wr, 0), 0);
	ionic_publish(r);
	CHECK_EQ(word_at(r->sq_cmb, 48), ~0ull);
	CHECK_EQ(word_at(r->sq_cmb, 56), 0x0003123456580001);
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 25);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_EINVAL);
	ionic_rings_free(r);
}

/* ---- order -------------------------------------------------------------------------- */

/* F-35: a doorbell that queues share is one store of 64 bits, queue and index together */
TEST(f02_f35_order_of_host_memory)
{
	struct ionic_rings *r = ionic_rings_at(HOST, 128);

	trace_clear();
	post(r, 2);
	CHECK_TRACE("store64 store64 store64 store64");
	ionic_publish(r);
	CHECK_TRACE("dma_write db:0x123456000002");
	ionic_rings_free(r);
}

TEST(f02_order_of_controller_memory)
{
	struct ionic_rings *r = ionic_rings_at(CMB, 64);

	post(r, 2);
	trace_clear();
	ionic_publish(r);
	CHECK_TRACE("wc_start store64 store64 wc_flush db:0x123456000002");
	ionic_rings_free(r);
}

/* nothing of an entry is behind its last piece, nothing of it before the entry before it */
TEST(f18_order_of_express_doorbells)
{
	struct ionic_rings *narrow = ionic_rings_at(EXPRESS, 64);
	struct ionic_rings *wide = ionic_rings_at(EXPRESS, 256);

	post(narrow, 2);
	trace_clear();
	ionic_publish(narrow);
	CHECK_TRACE("wc_start store64 wc_start store64 wc_flush");
	post(wide, 2);
	trace_clear();
	ionic_publish(wide);
	CHECK_TRACE("wc_start store64 store64 store64 wc_flush store64 "
		    "wc_start store64 store64 store64 wc_flush store64 wc_flush");
	ionic_rings_free(narrow);
	ionic_rings_free(wide);
}

TEST(order_of_polling)
{
	struct ionic_rings *r = ionic_rings_at(HOST, 64);
	struct dvq_ionic_wc wc[8];

	post(r, 3);
	ionic_publish(r);
	trace_clear();
	CHECK_EQ(ionic_poll(r, wc, 8), 0);
	CHECK_TRACE("phase phase");
	for (int i = 1; i <= 3; i++)
		ionic_msn(r, i, 0);
	r->cq.next_ring = 0;
	CHECK_EQ(ionic_poll(r, wc, 8), 3);
	CHECK_TRACE("phase phase phase phase dma_read phase phase");
	dvq_ionic_cq_arm(&r->cq, false);
	CHECK_TRACE("dma_release db:0x5000003 db:0x5010001 db:0x6010001");
	ionic_rings_free(r);
}

TAP_MAIN
