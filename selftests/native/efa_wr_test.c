// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of send entry, byte for byte against what Documentation/hw/efa.rst says it
 * must be. The expected bytes are written out by hand.
 */
#include "rings.h"

/* id 0x0281: index 1 of 8 with generation 5 in the bits above (5 << 3 | 1 = 0x29) */
#define ID	0x29

static struct rings *open_with(uint32_t entry_size, uint32_t max_inline)
{
	struct rings *r = rings_new();

	r->sq_info.entry_size = entry_size;
	r->qp.max_inline = max_inline;
	rings_open(r);
	/* index 0 goes to a first request, so that the one looked at has index 1 */
	CHECK_EQ(rings_post(r, 0), 0);
	return r;
}

static void check_bytes(const char *what, const uint8_t *have, const uint8_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (have[i] != want[i])
			tap_fail(__FILE__, __LINE__, "%s: byte %zu is %#x, wanted %#x", what, i,
				 have[i], want[i]);
}

static void check_entry(const char *what, const struct dvq_efa_wr *wr, uint32_t entry_size,
			const uint8_t *want)
{
	struct rings *r = open_with(entry_size, 80);

	memset(r->sq_ring + entry_size, 0xee, entry_size);
	CHECK_EQ(rings_post_wr(&r->sq, wr, 0), 0);
	check_bytes(what, r->sq_ring + entry_size, want, entry_size);
	rings_free(r);
}

/* both widths: what is behind byte 64 of a 128-byte entry is zero here */
static void check_both(const char *what, const struct dvq_efa_wr *wr, const uint8_t *want)
{
	uint8_t wide[128] = {};

	memcpy(wide, want, 64);
	check_entry(what, wr, 64, want);
	check_entry(what, wr, 128, wide);
}

static void dest(struct dvq_efa_wr *wr)
{
	dvq_efa_wr_set_dest(wr, 0x0a0b, 0x0c0d, 0x11223344);
}

TEST(send)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x80, 0x1c, 0x0d, 0x0c, 0x01, 0x00,	/* op 0, one buffer */
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x64, 0x00, 0x00, 0x00, 0xef, 0xcd, 0xab, 0x00,	/* 100 bytes, 24 bits of key */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dest(&wr);
	dvq_efa_wr_set_sge(&wr, 0xffabcdef, 0x1122334455667788, 100);
	check_both("send", &wr, want);
}

TEST(send_of_two_buffers_with_immediate)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x90, 0x1c, 0x0d, 0x0c, 0x02, 0x00,
		0xef, 0xbe, 0xad, 0xde, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x01, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00,
		0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0xff, 0xff, 0xff, 0xff, 0x05, 0x00, 0x00, 0x00,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	struct dvq_efa_wr wr;

	/* setters in another order */
	dvq_efa_wr_send_imm(&wr, 0xdeadbeef);
	dvq_efa_wr_set_sge(&wr, 2, 3, 1);
	dest(&wr);
	dvq_efa_wr_set_sge(&wr, 5, ~0ull, ~0u);
	check_both("send imm", &wr, want);
}

TEST(send_of_nothing)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x80, 0x1c, 0x0d, 0x0c, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dest(&wr);
	check_both("empty send", &wr, want);
}

TEST(rdma_read)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x81, 0x1c, 0x0d, 0x0c, 0x01, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x40, 0x98, 0xba, 0xdc, 0xfe,	/* 1 GiB, 32 bits of key */
		0xf0, 0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12,
		0x00, 0x00, 0x00, 0x40, 0x07, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_read(&wr, 0xfedcba98, 0x123456789abcdef0);
	dest(&wr);
	dvq_efa_wr_set_sge(&wr, 7, 0x1000, 1 << 30);
	check_both("read", &wr, want);
}

TEST(rdma_write_with_hint)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x82, 0x1c, 0x0d, 0x0c, 0x01, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x01, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x10, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
		0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x10, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_write(&wr, 4, 0x2000);
	dvq_efa_wr_set_hints(&wr, DVQ_EFA_HINT_BURST);
	dest(&wr);
	dvq_efa_wr_set_sge(&wr, 7, 0x1000, 16);
	check_both("write", &wr, want);
}

TEST(rdma_write_with_immediate)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0x92, 0x1c, 0x0d, 0x0c, 0x01, 0x00,
		0x78, 0x56, 0x34, 0x12, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
		0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00,
		0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_write_imm(&wr, 4, 0x2000, 0x12345678);
	dest(&wr);
	dvq_efa_wr_set_sge(&wr, 7, 0x1000, 0);
	check_both("write imm", &wr, want);
}

TEST(inline_send_of_every_length)
{
	uint8_t data[80], want[128];
	struct dvq_efa_wr wr;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = 0x80 + i;
	for (uint32_t n = 0; n <= 80; n++) {
		static const uint8_t head[32] = {
			ID, 0x00, 0xa0, 0x1c, 0x0d, 0x0c, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
			0x44, 0x33, 0x22, 0x11,
		};

		memset(want, 0, sizeof(want));
		memcpy(want, head, sizeof(head));
		want[6] = n;
		memcpy(want + 32, data, n);
		dvq_efa_wr_send(&wr);
		dest(&wr);
		rings_set_inline(&wr, data, n);
		check_entry("inline", &wr, 128, want);
		if (n <= 32)
			check_entry("inline", &wr, 64, want);
	}
}

/* F-12: no byte is read, whatever the pointer */
TEST(f12_inline_data_of_nothing)
{
	static const uint8_t want[64] = {
		ID, 0x00, 0xa0, 0x1c, 0x0d, 0x0c, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11,
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dest(&wr);
	rings_set_inline(&wr, NULL, 0);
	check_both("no data", &wr, want);
	rings_set_inline(&wr, NULL, 0);
	check_both("no data twice", &wr, want);
}

TEST(inline_data_in_pieces)
{
	struct dvq_efa_wr whole, pieces;
	uint8_t data[80];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i * 37 + 1;
	for (uint32_t cut = 0; cut <= 80; cut++) {
		dvq_efa_wr_send(&whole);
		rings_set_inline(&whole, data, 80);
		dvq_efa_wr_send(&pieces);
		rings_set_inline(&pieces, data, cut / 2);
		rings_set_inline(&pieces, data + cut / 2, cut - cut / 2);
		rings_set_inline(&pieces, data + cut, 80 - cut);
		CHECK(!memcmp(&whole, &pieces, sizeof(whole)));
	}
}

TEST(f26_inline_rdma_write)
{
	static const uint8_t want[128] = {
		ID, 0x00, 0xa2, 0x1c, 0x0d, 0x0c, 0x09, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x0b, 0x0a, 0x00, 0x00,
		0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x09, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00,
		0x00, 0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		'd', 'i', 'r', 'e', 'c', 't', 'l', 'y', '!',
	};
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_write(&wr, 4, 0x2000);
	dest(&wr);
	rings_set_inline(&wr, "directly!", 9);
	check_entry("inline write", &wr, 128, want);
}

TEST(inline_rdma_write_fills_the_entry)
{
	struct rings *r = open_with(128, 80);
	uint8_t data[80];
	struct dvq_efa_wr wr;

	memset(data, 0x5a, sizeof(data));
	dvq_efa_wr_rdma_write(&wr, 4, 0x2000);
	rings_set_inline(&wr, data, 80);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	check_bytes("data", r->sq_ring + 128 + 48, data, 80);
	rings_free(r);
}

TEST(f26_inline_data_where_it_cannot_be)
{
	struct rings *narrow = open_with(64, 80), *small = open_with(128, 40);
	uint8_t data[81] = {};
	struct dvq_efa_wr wr;

	dvq_efa_wr_rdma_write(&wr, 4, 0x2000);
	rings_set_inline(&wr, data, 8);
	CHECK_EQ(rings_post_wr(&narrow->sq, &wr, 0), DVQ_EFA_EINVAL);
	CHECK_EQ(rings_post_wr(&small->sq, &wr, 0), 0);

	dvq_efa_wr_rdma_read(&wr, 4, 0x2000);
	rings_set_inline(&wr, data, 8);
	CHECK_EQ(rings_post_wr(&small->sq, &wr, 0), DVQ_EFA_EINVAL);

	/* more than the queue takes, more than any entry has */
	dvq_efa_wr_send(&wr);
	rings_set_inline(&wr, data, 33);
	CHECK_EQ(rings_post_wr(&narrow->sq, &wr, 0), DVQ_EFA_EINVAL);
	dvq_efa_wr_send(&wr);
	rings_set_inline(&wr, data, 41);
	CHECK_EQ(rings_post_wr(&small->sq, &wr, 0), DVQ_EFA_EINVAL);
	dvq_efa_wr_send(&wr);
	rings_set_inline(&wr, data, 81);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	dvq_efa_wr_send(&wr);
	rings_set_inline(&wr, data, 40);
	rings_set_inline(&wr, data, 41);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	CHECK_EQ(dvq_efa_sq_room(&narrow->sq), 7);
	CHECK_EQ(dvq_efa_sq_room(&small->sq), 6);
	rings_free(narrow);
	rings_free(small);
}

TEST(one_kind_of_data_and_not_too_much_of_it)
{
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dvq_efa_wr_set_sge(&wr, 1, 2, 3);
	rings_set_inline(&wr, "x", 1);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	dvq_efa_wr_send(&wr);
	rings_set_inline(&wr, "x", 1);
	dvq_efa_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	dvq_efa_wr_send(&wr);
	for (int i = 0; i < 3; i++)
		dvq_efa_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	dvq_efa_wr_rdma_write(&wr, 4, 5);
	for (int i = 0; i < 2; i++)
		dvq_efa_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_EFA_EINVAL);
	/* the builder begins anew */
	dvq_efa_wr_send(&wr);
	CHECK_EQ(wr.error, 0);
}

TEST(f13_first_error_stays)
{
	struct dvq_efa_wr wr;

	dvq_efa_wr_send(&wr);
	dvq_efa_wr_fail(&wr, DVQ_EFA_EOPNOTSUPP);
	rings_set_inline(&wr, NULL, 81);
	CHECK_EQ(wr.error, DVQ_EFA_EOPNOTSUPP);
}

TEST(f41_hints_last_wins_unknown_dropped_never_leak)
{
	struct rings *r = open_with(64, 32);
	struct dvq_efa_wr wr = rings_send(), next = rings_send();

	dvq_efa_wr_set_hints(&wr, ~0u);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_wqe(r, 1).meta.ctrl3, EFA_WQE_HINT_BURST);
	dvq_efa_wr_set_hints(&wr, 0);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_wqe(r, 2).meta.ctrl3, 0);
	dvq_efa_wr_set_hints(&wr, 2);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_wqe(r, 3).meta.ctrl3, 0);
	dvq_efa_wr_set_hints(&wr, 1);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_post_wr(&r->sq, &next, 0), 0);
	CHECK_EQ(rings_wqe(r, 4).meta.ctrl3, 1);
	CHECK_EQ(rings_wqe(r, 5).meta.ctrl3, 0);
	/* and nothing else changes */
	CHECK_EQ(rings_wqe(r, 4).meta.ah, 0x0a0b);
	CHECK_EQ(rings_wqe(r, 4).meta.reserved15, 0);
	rings_free(r);
}

TEST(f41_hints_are_dropped_where_the_queue_has_none)
{
	struct rings *r = rings_new();
	struct dvq_efa_wr wr = rings_send();

	r->sq_info.caps = 0;
	rings_open(r);
	dvq_efa_wr_set_hints(&wr, DVQ_EFA_HINT_BURST);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_wqe(r, 0).meta.ctrl3, 0);
	CHECK_EQ(rings_wqe(r, 0).meta.ah, 0x0a0b);
	rings_free(r);
}

TEST(request_can_be_kept_and_sent_elsewhere)
{
	struct rings *r = open_with(64, 32);
	struct dvq_efa_wr wr = rings_send();

	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	dvq_efa_wr_set_dest(&wr, 1, 2, 3);
	CHECK_EQ(rings_post_wr(&r->sq, &wr, 0), 0);
	CHECK_EQ(rings_wqe(r, 1).meta.dest_qp_num, 0x0c0d);
	CHECK_EQ(rings_wqe(r, 2).meta.dest_qp_num, 2);
	CHECK_EQ(rings_wqe(r, 2).meta.ah, 1);
	CHECK_EQ(rings_wqe(r, 2).meta.qkey, 3);
	CHECK_EQ(rings_wqe(r, 2).u.sgl[0].length, 100);
	rings_free(r);
}

TEST(destination_kept_ready)
{
	struct dvq_efa_wr a = rings_send(), b = rings_send();
	struct dvq_efa_dest dest;

	dvq_efa_dest_init(&dest, 0xfffe, 0xabcd, 0x87654321);
	dvq_efa_wr_set_hints(&a, 1);
	dvq_efa_wr_set_hints(&b, 1);
	dvq_efa_wr_set_peer(&a, &dest);
	dvq_efa_wr_set_dest(&b, 0xfffe, 0xabcd, 0x87654321);
	CHECK(!memcmp(&a, &b, sizeof(a)));
}

TEST(wide_ids_are_in_the_entry)
{
	struct rings *r = rings_new();

	r->sq_info.caps |= DVQ_WQ_64BIT_IDS;
	rings_fill(r);
	CHECK_EQ(rings_post(r, 0xfedcba9876543210), 0);
	CHECK_EQ(rings_wqe(r, 0).meta.req_id, 0x3210);
	CHECK_EQ(rings_wqe(r, 0).meta.req_id_ex[0], 0x7654);
	CHECK_EQ(rings_wqe(r, 0).meta.req_id_ex[1], 0xba98);
	CHECK_EQ(rings_wqe(r, 0).meta.req_id_ex[2], 0xfedc);
	CHECK_EQ(rings_wqe(r, 0).meta.reserved20[4], 0);
	CHECK_EQ(rings_wqe(r, 0).meta.reserved20[5], 0);
	rings_free(r);
}

TAP_MAIN
