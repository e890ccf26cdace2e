// SPDX-License-Identifier: GPL-2.0
/*
 * The whole table of dvq_place(): every combination of wish, policy, mode, device and
 * room against a second formulation of the rules of Documentation/placement.rst, then
 * the rows of that page one by one.
 */
#include <errno.h>
#include <stdbool.h>

#include <rdma/dvq-abi.h>

/* the function is pure, so the kernel's own source is what runs here */
#include "../../kernel/core/placement.c"
#include "tap.h"

#define SET	DVQ_PLACE_SET
#define CMB	DVQ_PLACE_CMB
#define EXPDB	DVQ_PLACE_EXPDB
#define REQ	DVQ_PLACE_REQUIRE

static const __u32 wishes[] = {
	0, CMB, CMB | EXPDB, CMB | REQ, CMB | EXPDB | REQ, EXPDB, REQ,
};

static const __u32 policies[] = {
	0, SET, SET | CMB, SET | CMB | EXPDB, SET | CMB | REQ, SET | CMB | EXPDB | REQ,
};

static const struct {
	__u64 bytes, max, room;
	bool fits;
} sizes[] = {
	{ 4096, 65536, 65536, true },
	{ 65536, 65536, 65536, true },
	{ 65537, 65536, 1 << 20, false },
	{ 8192, 65536, 4096, false },
	{ 4096, 65536, 0, false },
};

/* The rules again, as sentences in the order of the documentation. */
static int expected(const struct dvq_place_req *r, bool fits)
{
	bool insist = (r->wish & REQ) || (r->policy & REQ);
	bool forbidden = (r->policy & SET) && !(r->policy & CMB);
	bool through;

	if (!(r->wish & CMB))
		return DVQ_PLACED_HOST;

	if (forbidden || r->mode == DVQ_MODE_OFF || !r->has_cmb)
		through = false;
	else if (r->mode == DVQ_MODE_ON)
		through = true;
	else
		through = (r->wish & REQ) || (r->policy & CMB);
	if (!through)
		return insist ? -EOPNOTSUPP : DVQ_PLACED_HOST;

	bool expdb = r->has_expdb && (r->policy == 0 || (r->policy & EXPDB));

	if ((r->wish & EXPDB) && !expdb && insist)
		return -EOPNOTSUPP;
	if (!fits)
		return insist ? -ENOSPC : DVQ_PLACED_HOST;
	return (r->wish & EXPDB) && expdb ? DVQ_PLACED_CMB_EXPDB : DVQ_PLACED_CMB;
}

#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct dvq_place_req request(unsigned int w, unsigned int p, int mode, int dev,
				    unsigned int s)
{
	return (struct dvq_place_req){
		.wish = wishes[w], .policy = policies[p], .mode = mode,
		.has_cmb = dev & 1, .has_expdb = dev & 2,
		.bytes = sizes[s].bytes, .max_bytes = sizes[s].max,
		.free_bytes = sizes[s].room,
	};
}

TEST(every_combination_as_documented)
{
	unsigned int rows = 0;

	for (unsigned int w = 0; w < N(wishes); w++)
	for (unsigned int p = 0; p < N(policies); p++)
	for (int mode = DVQ_MODE_OFF; mode <= DVQ_MODE_ON; mode++)
	for (int dev = 0; dev < 4; dev++)
	for (unsigned int s = 0; s < N(sizes); s++) {
		struct dvq_place_req r = request(w, p, mode, dev, s);

		rows++;
		if (dvq_place(&r) != expected(&r, sizes[s].fits))
			tap_fail(__FILE__, __LINE__,
				 "wish %#x policy %#x mode %d dev %d size %u: %d", r.wish,
				 r.policy, mode, dev, s, dvq_place(&r));
	}
	CHECK_EQ(rows, N(wishes) * N(policies) * 3 * 4 * N(sizes));
}

TEST(never_more_than_was_asked)
{
	for (unsigned int w = 0; w < N(wishes); w++)
	for (unsigned int p = 0; p < N(policies); p++) {
		struct dvq_place_req r = request(w, p, DVQ_MODE_ON, 3, 0);
		int got = dvq_place(&r);

		CHECK(got != DVQ_PLACED_CMB || r.wish & CMB);
		CHECK(got != DVQ_PLACED_CMB_EXPDB || r.wish & EXPDB);
	}
}

static int place(__u32 wish, __u32 policy, enum dvq_place_mode mode, __u64 room)
{
	struct dvq_place_req r = {
		.wish = wish, .policy = policy, .mode = mode, .has_cmb = true,
		.has_expdb = true, .bytes = 4096, .max_bytes = 65536, .free_bytes = room,
	};

	return dvq_place(&r);
}

TEST(no_wish_is_host_memory_whatever_the_policy_requires)
{
	CHECK_EQ(place(0, SET | CMB | EXPDB | REQ, DVQ_MODE_ON, 65536), DVQ_PLACED_HOST);
}

TEST(explicit_mode_wants_insistence_or_a_policy)
{
	CHECK_EQ(place(CMB, 0, DVQ_MODE_EXPLICIT, 65536), DVQ_PLACED_HOST);
	CHECK_EQ(place(CMB | REQ, 0, DVQ_MODE_EXPLICIT, 65536), DVQ_PLACED_CMB);
	CHECK_EQ(place(CMB, SET | CMB, DVQ_MODE_EXPLICIT, 65536), DVQ_PLACED_CMB);
}

TEST(off_mode_fails_who_insists)
{
	CHECK_EQ(place(CMB, SET | CMB, DVQ_MODE_OFF, 65536), DVQ_PLACED_HOST);
	CHECK_EQ(place(CMB | REQ, SET | CMB, DVQ_MODE_OFF, 65536), -EOPNOTSUPP);
}

TEST(a_policy_narrows)
{
	CHECK_EQ(place(CMB | EXPDB, SET | CMB, DVQ_MODE_ON, 65536), DVQ_PLACED_CMB);
	CHECK_EQ(place(CMB, SET, DVQ_MODE_ON, 65536), DVQ_PLACED_HOST);
	CHECK_EQ(place(CMB | REQ, SET, DVQ_MODE_ON, 65536), -EOPNOTSUPP);
}

TEST(a_policy_tightens)
{
	CHECK_EQ(place(CMB, 0, DVQ_MODE_ON, 0), DVQ_PLACED_HOST);
	CHECK_EQ(place(CMB, SET | CMB | REQ, DVQ_MODE_ON, 0), -ENOSPC);
}

TEST(room_gone_since_the_decision)
{
	struct dvq_place_req r = { .wish = CMB };

	CHECK_EQ(dvq_place_no_room(&r), DVQ_PLACED_HOST);
	r.policy = SET | CMB | REQ;
	CHECK_EQ(dvq_place_no_room(&r), -ENOSPC);
}

TAP_MAIN
