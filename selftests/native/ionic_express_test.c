// SPDX-License-Identifier: GPL-2.0
/*
 * Express doorbells where 64 bytes are not one write: on a GPU, on arm64. The order of stores and
 * fences is what the hooks of DVQ_TRACE see.
 */
#define DVQ_TRACE	"trace.h"
#define DVQ_WC_WHOLE	0
#include "ionic_rings.h"

static void post(struct ionic_rings *r, unsigned int n)
{
	struct dvq_ionic_wr wr = ionic_send();

	for (unsigned int i = 0; i < n; i++)
		CHECK_EQ(ionic_post(r, &wr, i), 0);
}

TEST(f18_word_behind_a_fence)
{
	struct ionic_rings *narrow = ionic_rings_at(EXPRESS, 64);
	struct ionic_rings *wide = ionic_rings_at(EXPRESS, 256);

	post(narrow, 2);
	trace_clear();
	ionic_publish(narrow);
	CHECK_STR(trace_log, "wc_start store56 wc_flush store8 wc_start store56 wc_flush store8 wc_flush");
	post(wide, 2);
	trace_clear();
	ionic_publish(wide);
	CHECK_STR(trace_log, "wc_start store64 store64 store64 store56 wc_flush store8 "
		  "wc_start store64 store64 store64 store56 wc_flush store8 wc_flush");
	ionic_rings_free(narrow);
	ionic_rings_free(wide);
}

/* whole entries arrive, at their places, and no others are touched */
TEST(entries_arrive_whole)
{
	for (uint32_t size = 64; size <= 512; size *= 2) {
		struct ionic_rings *r = ionic_rings_at(EXPRESS, size);

		memset(r->sq_cmb, 0xee, 8 * size);
		memset(r->rq_cmb, 0xee, 8 * size);
		post(r, 3);
		CHECK_EQ(ionic_post_recv(r, 1), 0);
		ionic_publish(r);
		CHECK(!memcmp(r->sq_cmb, r->sq_ring, 3 * size));
		CHECK_EQ(r->sq_cmb[3 * size], 0xee);
		CHECK(!memcmp(r->rq_cmb, r->rq_ring, size));
		CHECK_EQ(r->rq_cmb[size], 0xee);
		ionic_rings_free(r);
	}
}

TAP_MAIN
