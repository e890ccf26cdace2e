// SPDX-License-Identifier: GPL-2.0
/* The send queue: wraps, phases, batches, room, roll-back. */
#include "rings.h"

static struct rings *open_sq(uint32_t entries, uint32_t max_batch)
{
	struct rings *r = rings_new();

	r->sq_info.entries = entries;
	r->sq_info.max_wr = entries;
	r->sq_info.max_batch = max_batch;
	r->cq_info.entries = 4 * entries;
	rings_open(r);
	return r;
}

static void complete_oldest(struct rings *r, uint32_t *slot, uint32_t n)
{
	struct dvq_efa_wc wc[8];

	while (n--) {
		rings_send_done(r, 0, r->qp.qp_num, rings_wqe_id(r, *slot % r->sq_info.entries), 0);
		REQUIRE(rings_poll(r, wc, 8) == 1);
		++*slot;
	}
}

static uint8_t phase(const struct rings *r, uint32_t slot)
{
	return rings_wqe(r, slot).meta.ctrl2 & EFA_WQE_PHASE;
}

/* the device sheet's example: depth 8, counts 6 to 9 in one batch */
TEST(example_of_the_sheet)
{
	struct rings *r = open_sq(8, 8);
	uint32_t slot = 0;

	for (int i = 0; i < 6; i++)
		CHECK_EQ(rings_post(r, i), 0);
	rings_publish(r);
	CHECK_EQ(r->sq_db, 6);
	complete_oldest(r, &slot, 6);
	for (int i = 6; i < 10; i++)
		CHECK_EQ(rings_post(r, i), 0);
	CHECK_EQ(r->sq_db, 6);
	rings_publish(r);
	CHECK_EQ(r->sq_db, 10);
	CHECK_EQ(phase(r, 6), 0);
	CHECK_EQ(phase(r, 7), 0);
	CHECK_EQ(phase(r, 0), 1);
	CHECK_EQ(phase(r, 1), 1);
	CHECK_EQ(phase(r, 2), 0);
	rings_free(r);
}

TEST(phase_and_doorbell_over_many_laps)
{
	struct rings *r = open_sq(4, 4);
	uint32_t slot = 0;

	/* beyond what the doorbell's 16 bits can tell */
	for (uint32_t count = 0; count < 70000; count++) {
		REQUIRE(rings_post(r, count) == 0);
		rings_publish(r);
		REQUIRE(phase(r, count % 4) == (count / 4) % 2);
		REQUIRE(r->sq_db == ((count + 1) & 0xffff));
		complete_oldest(r, &slot, 1);
	}
	rings_free(r);
}

TEST(nothing_posted_rings_nothing)
{
	struct rings *r = open_sq(8, 8);

	r->sq_db = 0xdead;
	rings_publish(r);
	CHECK_EQ(r->sq_db, 0xdead);
	CHECK_EQ(rings_post(r, 0), 0);
	rings_publish(r);
	CHECK_EQ(r->sq_db, 1);
	r->sq_db = 0xdead;
	rings_publish(r);
	CHECK_EQ(r->sq_db, 0xdead);
	rings_free(r);
}

TEST(f28_full_queue_is_an_error_and_one_completion_makes_one_room)
{
	struct rings *r = open_sq(8, 8);
	struct dvq_efa_sq before;
	uint32_t slot = 0;

	for (int i = 0; i < 8; i++)
		CHECK_EQ(rings_post(r, i), 0);
	before = r->sq;
	CHECK_EQ(dvq_efa_sq_room(&r->sq), 0);
	CHECK_EQ(rings_post(r, 8), DVQ_EFA_ENOMEM);
	CHECK(!memcmp(&before, &r->sq, sizeof(before)));
	rings_publish(r);
	complete_oldest(r, &slot, 1);
	CHECK_EQ(rings_post(r, 9), 0);
	CHECK_EQ(rings_post(r, 10), DVQ_EFA_ENOMEM);
	rings_free(r);
}

/* SRD completes in any order; room is a count, so a later slot's completion makes some */
TEST(room_out_of_order)
{
	struct rings *r = open_sq(4, 4);
	struct dvq_efa_wc wc[4];
	uint64_t last, first;

	for (int i = 0; i < 4; i++)
		CHECK_EQ(rings_post(r, 100 + i), 0);
	rings_publish(r);
	last = rings_wqe_id(r, 3);
	first = rings_wqe_id(r, 0);
	rings_send_done(r, 0, r->qp.qp_num, last, 0);
	CHECK_EQ(rings_poll(r, wc, 4), 1);
	CHECK_EQ(wc[0].wr_id, 103);
	/* goes to slot 0, whose request is still out */
	CHECK_EQ(rings_post(r, 200), 0);
	CHECK_EQ(rings_wqe_id(r, 0), last);
	CHECK_EQ(rings_post(r, 201), DVQ_EFA_ENOMEM);
	rings_send_done(r, 0, r->qp.qp_num, first, 0);
	CHECK_EQ(rings_poll(r, wc, 4), 1);
	CHECK_EQ(wc[0].wr_id, 100);
	rings_send_done(r, 0, r->qp.qp_num, last, 0);
	CHECK_EQ(rings_poll(r, wc, 4), 1);
	CHECK_EQ(wc[0].wr_id, 200);
	rings_free(r);
}

/* F-01: never more than a batch between two doorbells */
TEST(f01_direct_posts_ring_when_a_batch_is_full)
{
	struct rings *r = open_sq(64, 4);

	for (int i = 0; i < 13; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		CHECK_EQ(r->sq_db, (i + 1) / 4 * 4);
		CHECK_EQ(dvq_efa_sq_pending(&r->sq), (i + 1) % 4);
	}
	rings_publish(r);
	CHECK_EQ(r->sq_db, 13);
	/* the next batch is a whole one again */
	for (int i = 0; i < 3; i++)
		CHECK_EQ(rings_post(r, i), 0);
	CHECK_EQ(r->sq_db, 13);
	CHECK_EQ(rings_post(r, 3), 0);
	CHECK_EQ(r->sq_db, 17);
	rings_free(r);
}

TEST(f04_batch_limit_is_never_nothing)
{
	struct rings *r = open_sq(8, 0);

	CHECK_EQ(r->sq.max_batch, 1);
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(rings_post(r, i), 0);
		CHECK_EQ(r->sq_db, i + 1);
	}
	rings_free(r);
	r = open_sq(8, 65535);
	CHECK_EQ(r->sq.max_batch, 8);
	rings_free(r);
}

static struct rings *open_stage(uint32_t entries, uint32_t max_batch, uint32_t entry_size)
{
	struct rings *r = rings_new();

	r->sq_info.entries = entries;
	r->sq_info.max_wr = entries;
	r->sq_info.max_batch = max_batch;
	r->sq_info.entry_size = entry_size;
	r->qp.max_inline = 80;
	r->cq_info.entries = 4 * entries;
	rings_open(r);
	CHECK_EQ(dvq_efa_sq_set_stage(&r->sq, r->stage), 0);
	return r;
}

TEST(staged_posts_reach_the_ring_when_published)
{
	for (uint32_t size = 64; size <= 128; size += 64) {
		struct rings *r = open_stage(8, 3, size);
		uint8_t *zero = calloc(8, size);
		uint32_t slot = 0;

		for (uint32_t lap = 0; lap < 5; lap++) {
			for (int i = 0; i < 7; i++)
				CHECK_EQ(rings_post(r, i), 0);
			if (!lap)
				CHECK(!memcmp(r->sq_ring, zero, 8 * size));
			CHECK_EQ(r->sq_db, lap * 7);
			CHECK_EQ(dvq_efa_sq_pending(&r->sq), 7);
			rings_publish(r);
			CHECK_EQ(r->sq_db, lap * 7 + 7);
			CHECK_EQ(dvq_efa_sq_pending(&r->sq), 0);
			for (uint32_t n = lap * 7; n < lap * 7 + 7; n++)
				CHECK_EQ(phase(r, n % 8), n / 8 % 2);
			complete_oldest(r, &slot, 7);
		}
		CHECK(!memcmp(r->sq_ring, r->stage, 8 * size));
		free(zero);
		rings_free(r);
	}
}

/*
 * F-13: at entries - 2, five requests of which the third cannot be; nothing reaches the
 * device and everything is as before.
 */
TEST(f13_abort_undoes_all_across_the_end_of_the_ring)
{
	struct rings *r = open_stage(8, 4, 64);
	struct dvq_efa_wr bad = rings_send();
	struct dvq_efa_id ids[8];
	struct dvq_efa_sq before;
	uint32_t slot = 0;
	uint8_t *ring;

	for (int i = 0; i < 6; i++)
		CHECK_EQ(rings_post(r, i), 0);
	rings_publish(r);
	complete_oldest(r, &slot, 6);

	ring = malloc(8 * 64);
	memcpy(ring, r->sq_ring, 8 * 64);
	before = r->sq;
	for (int i = 0; i < 8; i++)
		ids[i] = r->sq_ids[i];
	dvq_efa_wr_send(&bad);
	rings_set_inline(&bad, "", 81);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(i == 2 ? rings_post_wr(&r->sq, &bad, i) : rings_post(r, i),
			 i == 2 ? DVQ_EFA_EINVAL : 0);
	CHECK_EQ(dvq_efa_sq_pending(&r->sq), 4);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	CHECK(!memcmp(&before, &r->sq, sizeof(before)));
	/* the stack of free ids, in its order */
	for (int i = 0; i < 8; i++)
		CHECK_EQ(r->sq_ids[i].low, ids[i].low);
	CHECK(!memcmp(ring, r->sq_ring, 8 * 64));
	CHECK_EQ(r->sq_db, 6);

	for (int i = 0; i < 5; i++)
		CHECK_EQ(rings_post(r, i), 0);
	rings_publish(r);
	CHECK_EQ(r->sq_db, 11);
	CHECK_EQ(phase(r, 7), 0);
	CHECK_EQ(phase(r, 0), 1);
	free(ring);
	rings_free(r);
}

TEST(f13_abort_with_completions_in_between)
{
	struct rings *r = open_stage(4, 4, 64);
	struct dvq_efa_wc wc[4];
	uint64_t done;

	CHECK_EQ(rings_post(r, 1), 0);
	CHECK_EQ(rings_post(r, 2), 0);
	rings_publish(r);
	done = rings_wqe_id(r, 0);
	CHECK_EQ(rings_post(r, 3), 0);
	rings_send_done(r, 0, r->qp.qp_num, done, 0);
	CHECK_EQ(rings_poll(r, wc, 4), 1);
	CHECK_EQ(rings_post(r, 4), 0);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	CHECK_EQ(dvq_efa_sq_room(&r->sq), 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(rings_post(r, 10 + i), 0);
	CHECK_EQ(rings_post(r, 13), DVQ_EFA_ENOMEM);
	rings_free(r);
}

TEST(abort_of_wide_ids_and_of_the_callers)
{
	struct rings *r = rings_new();

	r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
	rings_fill(r);
	CHECK_EQ(dvq_efa_sq_set_stage(&r->sq, r->stage), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(rings_post(r, ~0ull - i), 0);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	CHECK_EQ(dvq_efa_sq_room(&r->sq), 8);
	rings_pools(r);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(rings_post(r, ~0ull - i), 0);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(rings_post(r, ~0ull - i), 0);
	rings_free(r);
}

TEST(direct_posts_cannot_be_undone)
{
	struct rings *r = open_sq(8, 8);

	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	CHECK_EQ(rings_post(r, 0), 0);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), DVQ_EFA_EOPNOTSUPP);
	rings_publish(r);
	CHECK_EQ(r->sq_db, 1);
	CHECK_EQ(dvq_efa_sq_abort(&r->sq), 0);
	rings_free(r);
}

TEST(setup_is_refused_once_in_use)
{
	struct rings *r = open_sq(8, 8);

	CHECK_EQ(rings_post(r, 0), 0);
	CHECK_EQ(dvq_efa_sq_set_stage(&r->sq, r->stage), DVQ_EFA_EBUSY);
	CHECK_EQ(dvq_efa_sq_set_pool(&r->sq, r->sq_ids), DVQ_EFA_EBUSY);
	rings_free(r);
}

TEST(odd_records_are_refused)
{
	struct rings *r = rings_new();
	static const struct {
		size_t offset;
		uint32_t value;
	} odd[] = {
		{ offsetof(struct dvq_wq_info, entry_size), 32 },
		{ offsetof(struct dvq_wq_info, entry_size), 256 },
		{ offsetof(struct dvq_wq_info, entries), 0 },
		{ offsetof(struct dvq_wq_info, entries), 12 },
		{ offsetof(struct dvq_wq_info, entries), 65536 },
		{ offsetof(struct dvq_wq_info, max_wr), 0 },
		{ offsetof(struct dvq_wq_info, max_wr), 9 },
		{ offsetof(struct dvq_wq_info, ring_key), 0 },
		{ offsetof(struct dvq_wq_info, db_key), 0 },
		{ offsetof(struct dvq_wq_info, ring_length), 511 },
		{ offsetof(struct dvq_wq_info, ring_offset), RINGS_MAX_BYTES - 511 },
		{ offsetof(struct dvq_wq_info, ring_offset), 4 },
		{ offsetof(struct dvq_wq_info, db_offset), 4093 },
		{ offsetof(struct dvq_wq_info, db_offset), 2 },
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct dvq_wq_info wq = r->sq_info;

		memcpy((char *)&wq + odd[i].offset, &odd[i].value, sizeof(odd[i].value));
		CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &wq, 1, 2), EOPNOTSUPP);
		CHECK_CONTAINS(dvq_reason(), "send queue");
	}
	r->sq_info.db_format = DVQ_DB_IONIC;
	CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &r->sq_info, 1, 2), EOPNOTSUPP);
	r->sq_info.kind = DVQ_WQ_NONE;
	CHECK_EQ(dvq_efa_sq_fill(&r->sq, &r->qp, &r->sq_info, 1, 2), EINVAL);
	rings_free(r);
}

/* Thousands of steps of every kind against a plain account of what must be. */
TEST(random_walk)
{
	unsigned int seed = 4711, out = 0, pending = 0;
	struct rings *r = open_stage(16, 5, 64);
	uint64_t wr_of[65536], next = 1;
	uint16_t posted[16], live[16];
	struct dvq_efa_wc wc[4];

	printf("# seed %u\n", seed);
	for (int step = 0; step < 50000; step++) {
		unsigned int what = rand_r(&seed) % 8;

		if (what < 4) {
			int ret = rings_post(r, next);

			REQUIRE(ret == (out + pending == 16 ? DVQ_EFA_ENOMEM : 0));
			if (!ret) {
				uint32_t at = (r->sq.next - 64) & (r->sq.bytes - 1);

				memcpy(&posted[pending], r->stage + at, 2);
				wr_of[posted[pending++]] = next++;
			}
		} else if (what == 4) {
			REQUIRE(dvq_efa_sq_abort(&r->sq) == 0);
			pending = 0;
		} else if (what == 5) {
			rings_publish(r);
			for (unsigned int i = 0; i < pending; i++)
				live[out++] = posted[i];
			pending = 0;
		} else if (out) {
			unsigned int i = rand_r(&seed) % out;

			rings_send_done(r, 0, r->qp.qp_num, live[i], 0);
			REQUIRE(rings_poll(r, wc, 4) == 1);
			REQUIRE(wc[0].wr_id == wr_of[live[i]]);
			live[i] = live[--out];
		}
		REQUIRE(dvq_efa_sq_room(&r->sq) == 16 - out - pending);
	}
	rings_free(r);
}

TAP_MAIN
