// SPDX-License-Identifier: GPL-2.0
/* Request ids: pools, generations, room. */
#include <dvq/efa/ids.h>

#include <stdlib.h>

#include "tap.h"

static struct dvq_efa_id slots[65536];

static struct dvq_efa_ids pool(uint32_t limit, uint32_t generation, uint32_t wide)
{
	struct dvq_efa_ids ids;

	memset(&ids, 0xa5, sizeof(ids));
	dvq_efa_ids_init(&ids, limit, generation, wide);
	CHECK_EQ(dvq_efa_ids_set_pool(&ids, slots), 0);
	return ids;
}

static int try_get(struct dvq_efa_ids *ids, uint64_t wr_id, uint64_t *id)
{
	struct dvq_efa_id_parts parts = {};
	int ret = dvq_efa_ids_get(ids, wr_id, &parts);

	CHECK_EQ(parts.low >> 16, 0);
	CHECK_EQ(parts.high & 0xffff, 0);
	*id = parts.low | parts.high;
	return ret;
}

static uint64_t get(struct dvq_efa_ids *ids, uint64_t wr_id)
{
	uint64_t id = ~0ull;

	CHECK_EQ(try_get(ids, wr_id, &id), 0);
	return id;
}

TEST(pool_hands_out_every_id_once)
{
	struct dvq_efa_ids ids = pool(8, 0, 0);
	unsigned int seen = 0;
	uint64_t id;

	CHECK_EQ(dvq_efa_ids_room(&ids), 8);
	for (int i = 0; i < 8; i++)
		seen |= 1 << get(&ids, i);
	CHECK_EQ(seen, 0xff);
	CHECK_EQ(dvq_efa_ids_room(&ids), 0);
	CHECK_EQ(try_get(&ids, 9, &id), DVQ_EFA_ENOMEM);
	CHECK_EQ(ids.issued, 8);
}

TEST(id_given_back_last_goes_out_first)
{
	struct dvq_efa_ids ids = pool(4, 0, 0);
	uint64_t a = get(&ids, 1), b = get(&ids, 2), wr_id;

	CHECK(dvq_efa_ids_put(&ids, b, &wr_id));
	CHECK(dvq_efa_ids_put(&ids, a, &wr_id));
	CHECK_EQ(get(&ids, 3), a);
	CHECK_EQ(get(&ids, 4), b);
}

TEST(wr_ids_come_back_whatever_the_order)
{
	struct dvq_efa_ids ids = pool(64, 3, 0);
	uint64_t out[64], wr_of[64], wr_id = 0, next = 0x8000000000000000;
	unsigned int seed = 1, held = 0;

	/* many laps; a random one of those that are out comes back */
	for (int round = 0; round < 20000; round++) {
		if (held < 64 && (!held || rand_r(&seed) & 1)) {
			wr_of[held] = next;
			out[held++] = get(&ids, next++);
		} else {
			unsigned int i = rand_r(&seed) % held;

			REQUIRE(dvq_efa_ids_put(&ids, out[i], &wr_id));
			REQUIRE(wr_id == wr_of[i]);
			out[i] = out[--held];
			wr_of[i] = wr_of[held];
		}
		REQUIRE(dvq_efa_ids_room(&ids) == 64 - held);
	}
}

TEST(id_that_is_not_out_is_refused)
{
	struct dvq_efa_ids ids = pool(8, 2, 0);
	uint64_t id = get(&ids, 5), wr_id = 99;

	CHECK(dvq_efa_ids_put(&ids, id, &wr_id));
	CHECK_EQ(wr_id, 5);
	/* a second time, one that never was out, another generation, nonsense */
	CHECK(!dvq_efa_ids_put(&ids, id, &wr_id));
	CHECK(!dvq_efa_ids_put(&ids, id ^ 1, &wr_id));
	CHECK(!dvq_efa_ids_put(&ids, 0xffff, &wr_id));
	id = get(&ids, 6);
	CHECK(!dvq_efa_ids_put(&ids, id ^ 8, &wr_id));
	CHECK_EQ(dvq_efa_ids_room(&ids), 7);
	CHECK(dvq_efa_ids_put(&ids, id, &wr_id));
	CHECK_EQ(dvq_efa_ids_room(&ids), 8);
}

/* no id of a full pool's free slots looks as if it were out, in either width */
TEST(free_slot_never_matches_an_id)
{
	for (uint32_t wide = 0; wide < 2; wide++) {
		for (uint32_t generation = 0; generation < 70000; generation += 277) {
			struct dvq_efa_ids ids = pool(16, generation, wide);
			uint64_t wr_id = 0;

			for (int i = 0; i < 16; i++)
				get(&ids, i);
			for (uint64_t i = 0; i < 16; i++)
				CHECK(dvq_efa_ids_put(&ids, (i * 7 % 16) | ids.tag, &wr_id));
			for (uint64_t i = 0; i < 16; i++)
				CHECK(!dvq_efa_ids_put(&ids, i | ids.tag, &wr_id));
		}
	}
}

TEST(f08_generation_takes_the_bits_that_are_free)
{
	static const struct {
		uint32_t limit, bits;
	} rows[] = { { 1, 16 }, { 2, 15 }, { 4096, 4 }, { 4097, 3 }, { 32768, 1 }, { 65536, 0 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dvq_efa_ids ids = pool(rows[i].limit, 0xffffffff, 0);

		CHECK_EQ(ids.mask, (1ull << (16 - rows[i].bits)) - 1);
		CHECK_EQ(ids.tag, 0xffff & ~ids.mask);
	}
}

TEST(wide_ids_keep_the_whole_generation)
{
	struct dvq_efa_ids ids = pool(64, 0xdeadbeef, 1);
	uint64_t id = get(&ids, 1), wr_id = 0;

	CHECK_EQ(id, 0xdeadbeef00000000);
	CHECK(!dvq_efa_ids_put(&ids, 0xdeadbeee00000000, &wr_id));
	CHECK(dvq_efa_ids_put(&ids, id, &wr_id));
}

TEST(limit_that_is_no_power_of_two)
{
	struct dvq_efa_ids ids = pool(5, 1, 0);
	uint64_t id = 0, wr_id = 0;

	CHECK_EQ(dvq_efa_ids_slots(&ids), 8);
	for (int i = 0; i < 5; i++)
		CHECK((get(&ids, i) & ids.mask) < 5);
	CHECK_EQ(try_get(&ids, 5, &id), DVQ_EFA_ENOMEM);
	for (uint64_t i = 5; i < 8; i++)
		CHECK(!dvq_efa_ids_put(&ids, i | ids.tag, &wr_id));
}

TEST(pool_cannot_be_changed_in_use)
{
	struct dvq_efa_ids ids = pool(4, 0, 0);

	get(&ids, 1);
	CHECK_EQ(dvq_efa_ids_set_pool(&ids, slots), DVQ_EFA_EBUSY);
}

TEST(undo_leaves_the_stack_as_it_was)
{
	struct dvq_efa_ids ids = pool(8, 1, 0);
	uint64_t first = get(&ids, 1), second = get(&ids, 2), a, b, wr_id = 0;

	a = get(&ids, 3);
	/* a completion in the middle of a batch */
	CHECK(dvq_efa_ids_put(&ids, first, &wr_id));
	b = get(&ids, 4);
	CHECK_EQ(b, first);
	dvq_efa_ids_undo(&ids, b);
	dvq_efa_ids_undo(&ids, a);
	CHECK_EQ(dvq_efa_ids_room(&ids), 7);
	CHECK_EQ(get(&ids, 5), a);
	CHECK_EQ(get(&ids, 6), b);
	CHECK(dvq_efa_ids_put(&ids, second, &wr_id));
	CHECK_EQ(wr_id, 2);
}

TEST(callers_scheme_counts_and_checks)
{
	struct dvq_efa_ids ids;
	uint64_t id = 0, wr_id = 0;

	dvq_efa_ids_init(&ids, 4, 3, 0);
	CHECK_EQ(try_get(&ids, 4, &id), DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_ids_room(&ids), 4);
	for (uint64_t i = 0; i < 4; i++) {
		CHECK_EQ(try_get(&ids, i, &id), 0);
		CHECK_EQ(id, i | 3 << 2);
	}
	CHECK_EQ(try_get(&ids, 0, &id), DVQ_EFA_ENOMEM);
	CHECK(!dvq_efa_ids_put(&ids, 2 | 2 << 2, &wr_id));
	CHECK(dvq_efa_ids_put(&ids, 2 | 3 << 2, &wr_id));
	CHECK_EQ(wr_id, 2);
	for (int i = 0; i < 3; i++)
		CHECK(dvq_efa_ids_put(&ids, 3 << 2, &wr_id));
	/* more completions than requests: the count stays right */
	CHECK(!dvq_efa_ids_put(&ids, 3 << 2, &wr_id));
	CHECK_EQ(dvq_efa_ids_room(&ids), 4);
}

TEST(callers_scheme_with_wide_ids_takes_any)
{
	struct dvq_efa_ids ids;
	uint64_t id = 0, wr_id = 0;

	dvq_efa_ids_init(&ids, 4, 3, 1);
	CHECK_EQ(try_get(&ids, 0xfedcba9876543210, &id), 0);
	CHECK_EQ(id, 0xfedcba9876543210);
	CHECK(dvq_efa_ids_put(&ids, id, &wr_id));
	CHECK_EQ(wr_id, 0xfedcba9876543210);
}

TEST(counts_wrap)
{
	struct dvq_efa_ids ids;
	uint64_t id = 0, wr_id = 0;

	dvq_efa_ids_init(&ids, 4, 0, 0);
	ids.issued = ids.completed = 0xfffffffe;
	for (int i = 0; i < 4; i++)
		CHECK_EQ(try_get(&ids, i, &id), 0);
	CHECK_EQ(try_get(&ids, 0, &id), DVQ_EFA_ENOMEM);
	CHECK(dvq_efa_ids_put(&ids, 1, &wr_id));
	CHECK_EQ(dvq_efa_ids_room(&ids), 1);
}

TAP_MAIN
