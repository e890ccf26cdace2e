// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of ionic send and receive entry, byte for byte against what
 * Documentation/hw/ionic-rdma.rst says it must be. The expected bytes are written out by hand.
 */
#include "ionic_rings.h"

#include <hw/ionic_rdma_admin.h>

/* the entry looked at is the second of the ring */
#define SLOT	1

static void check_bytes(const char *what, const uint8_t *have, const uint8_t *want, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (have[i] != want[i])
			tap_fail(__FILE__, __LINE__, "%s: byte %zu is %#x, wanted %#x", what, i,
				 have[i], want[i]);
}

static struct ionic_rings *rings_of(uint32_t version, enum place place, uint32_t entry_size,
				    bool ud)
{
	struct ionic_rings *r = ionic_rings_at(place, entry_size);

	r->wqe_version = version;
	r->ud = ud;
	ionic_rings_open(r);
	/* what was there before is no part of the entry */
	memset(r->sq_ring, 0xee, 8 * entry_size);
	return r;
}

/* posted as the second of the ring, into @entry_size bytes of which the rest is zero */
static void check_entry(const char *what, const struct dvq_ionic_wr *wr, uint32_t version,
			uint32_t entry_size, bool ud, const uint8_t *want)
{
	struct ionic_rings *r = rings_of(version, HOST, entry_size, ud);
	uint8_t all[512] = {};

	memcpy(all, want, 64);
	r->sq.wq.reqs.posted = SLOT;
	CHECK_EQ(ionic_post(r, wr, 0), 0);
	check_bytes(what, r->sq_ring + entry_size, all, entry_size);
	CHECK_EQ(r->sq_ring[0], 0xee);
	CHECK_EQ(r->sq_ring[2 * entry_size], 0xee);
	ionic_rings_free(r);
}

/* with the opcodes of both versions, in entries of all sizes */
static void check_both(const char *what, const struct dvq_ionic_wr *wr, bool ud, uint8_t op_v1,
		       uint8_t op_v2, const uint8_t *want)
{
	uint8_t bytes[64];

	memcpy(bytes, want, 64);
	for (uint32_t size = 64; size <= 512; size *= 2) {
		bytes[8] = op_v1;
		check_entry(what, wr, 1, size, ud, bytes);
		bytes[8] = op_v2;
		check_entry(what, wr, 2, size, ud, bytes);
	}
}

TEST(send)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 2, 0x00, 0x18, 0, 0, 0, 0,		/* signaled, first lap */
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x00, 0x03, 0xe8,				/* 1000 bytes */
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x00, 0x00, 0x00, 0x64, 0x0a, 0x0b, 0x0c, 0x0d,
		0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88,
		0x00, 0x00, 0x03, 0x84, 0x01, 0x02, 0x03, 0x04,
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, 0x0a0b0c0d, 0x1122334455667788, 100);
	dvq_ionic_wr_set_sge(&wr, 0x01020304, 0xffeeddccbbaa9988, 900);
	check_both("send", &wr, false, 0, 0x20, want);
}

TEST(send_with_immediate_to_a_datagram_peer)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 1, 0x00, 0x1a, 0xde, 0xad, 0xbe, 0xef,	/* solicited as well */
		0x00, 0x00, 0x00, 0x05, 0x00, 0x12, 0x34, 0x56,
		0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07,
		0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 2,
	};
	struct dvq_ionic_wr wr;

	/* setters in another order */
	dvq_ionic_wr_send_imm(&wr, 0xdeadbeef);
	dvq_ionic_wr_set_sge(&wr, 2, 1, 7);
	dvq_ionic_wr_set_flags(&wr, DVQ_IONIC_SIGNALED | DVQ_IONIC_SOLICITED);
	dvq_ionic_wr_set_dest(&wr, 5, 0x123456, 0x80010000);
	check_both("send imm", &wr, true, 2, 0x60, want);
}

TEST(send_with_invalidate_and_without_data)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0, 0x00, 0x11, 0x00, 0x00, 0xab, 0xcd,	/* fenced, not signaled */
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_send_inv(&wr, 0xabcd);
	dvq_ionic_wr_set_flags(&wr, DVQ_IONIC_FENCE);
	check_both("send inv", &wr, false, 1, 0xa0, want);
}

TEST(rdma_read)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 1, 0x00, 0x18, 0, 0, 0, 0,
		0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0,
		0xfe, 0xdc, 0xba, 0x98, 0x80, 0x00, 0x00, 0x00,	/* 2 GiB */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
		0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07,
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_read(&wr, 0xfedcba98, 0x123456789abcdef0);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 1u << 31);
	check_both("read", &wr, false, 3, 0x02, want);
}

TEST(rdma_write)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 1, 0x00, 0x18, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x10,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
		0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x07,
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_write(&wr, 4, 0x2000);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 16);
	check_both("write", &wr, false, 4, 0x21, want);
}

TEST(rdma_write_with_immediate_inline)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0, 0x00, 0x1c, 0x12, 0x34, 0x56, 0x78,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x09,
		'd', 'i', 'r', 'e', 'c', 't', 'l', 'y', '!',
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_rdma_write_imm(&wr, 4, 0x2000, 0x12345678);
	dvq_ionic_wr_set_inline(&wr, "directly!", 9);
	check_both("write imm", &wr, false, 5, 0x61, want);
}

TEST(atomics)
{
	uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0x04, 1, 0x00, 0x18, 0, 0, 0, 0,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x04,
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,	/* swap */
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,	/* compare */
		0x00, 0x00, 0x00, 0x07,				/* local key */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00,
	};
	static const uint8_t v1_end[] = { 0, 0, 0, 8, 0, 0, 0, 7 };
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_cmp_swap(&wr, 4, 0x2000, 0x1112131415161718, 0x0102030405060708);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 8);
	check_entry("compare and swap", &wr, 2, 64, false, want);
	check_entry("compare and swap", &wr, 2, 256, false, want);
	want[8] = 6;
	memset(want + 44, 0, 4);
	memcpy(want + 56, v1_end, 8);
	check_entry("compare and swap, v1", &wr, 1, 64, false, want);
	check_entry("compare and swap, v1", &wr, 1, 128, false, want);

	dvq_ionic_wr_fetch_add(&wr, 4, 0x2000, 0x0102030405060708);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 8);
	memset(want + 36, 0, 8);
	want[8] = 7;
	check_entry("fetch and add, v1", &wr, 1, 64, false, want);
	memset(want + 56, 0, 8);
	want[47] = 7;
	want[8] = 5;
	check_entry("fetch and add", &wr, 2, 64, false, want);
}

TEST(atomics_without_their_buffer)
{
	struct ionic_rings *v1 = rings_of(1, EXPRESS, 64, false);
	struct ionic_rings *v1_wide = rings_of(1, EXPRESS, 128, false);
	struct ionic_rings *v2 = rings_of(2, EXPRESS, 64, false);
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_fetch_add(&wr, 4, 0x2000, 1);
	CHECK_EQ(ionic_post(v2, &wr, 0), DVQ_IONIC_EINVAL);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 4);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	dvq_ionic_wr_fetch_add(&wr, 4, 0x2000, 1);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 8);
	CHECK_EQ(ionic_post(v2, &wr, 0), 0);
	/* the key of version 1 would be where the doorbell is */
	CHECK_EQ(ionic_post(v1, &wr, 0), DVQ_IONIC_EINVAL);
	CHECK_EQ(ionic_post(v1_wide, &wr, 0), 0);
	dvq_ionic_wr_set_sge(&wr, 7, 0x1000, 8);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	ionic_rings_free(v1);
	ionic_rings_free(v1_wide);
	ionic_rings_free(v2);
}

TEST(local_invalidate)
{
	static const uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0, 0x00, 0x18, 0x12, 0x34, 0x56, 0x78,
	};
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_local_inv(&wr, 0x12345678);
	check_both("local inv", &wr, false, 9, 0x07, want);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
}

TEST(bind_of_a_window)
{
	uint8_t want[64] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0x79, 0x00, 0x18, 0x12, 0x34, 0x56, 0x78,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x07, 0xc0, 0x06,		/* type 2, remote read, write */
	};
	struct dvq_ionic_bind bind = {
		.rkey = 0x12345678, .new_rkey = 0x12345679, .lkey = 7,
		.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
		.address = 0x2000, .length = 1ull << 32, .type = 2,
	};
	struct dvq_ionic_wr wr;

	CHECK_EQ(DVQ_IONIC_BIND_WINDOW, IONIC_MR_WINDOW);
	CHECK_EQ(DVQ_IONIC_BIND_WINDOW | DVQ_IONIC_BIND_TYPE_2,
		 IONIC_MR_WINDOW | IONIC_MR_INVALIDATE);
	dvq_ionic_wr_bind_mw(&wr, &bind);
	check_both("bind", &wr, false, 10, 0x08, want);
	bind.type = 1;
	bind.length = 0;
	want[36] = 0x40;
	want[27] = 0;
	dvq_ionic_wr_bind_mw(&wr, &bind);
	check_both("unbind", &wr, false, 10, 0x08, want);
}

TEST(binds_that_cannot_be)
{
	const struct dvq_ionic_bind good = { .rkey = 0x100, .new_rkey = 0x101, .length = 1,
					     .type = 2 };
	struct dvq_ionic_bind bind;
	struct dvq_ionic_wr wr;

#define REFUSED(change)								\
	do {									\
		bind = good;							\
		change;								\
		dvq_ionic_wr_bind_mw(&wr, &bind);				\
		CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);				\
	} while (0)
	dvq_ionic_wr_bind_mw(&wr, &good);
	CHECK_EQ(wr.error, 0);
	REFUSED(bind.type = 0);
	REFUSED(bind.type = 3);
	REFUSED(bind.length = 0);
	REFUSED(bind.access = 0x40);
	REFUSED(bind.new_rkey = 0x201);
}

TEST(inline_data_of_every_length)
{
	static uint8_t data[480], want[512];
	struct dvq_ionic_wr wr;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = 0x80 + i * 7;
	for (uint32_t n = 0; n <= 480; n++) {
		struct ionic_rings *r = rings_of(2, HOST, 512, false);

		memset(want, 0, sizeof(want));
		want[8] = 0x20;
		want[11] = 0x1c;
		want[30] = n >> 8;
		want[31] = n;
		memcpy(want + 32, data, n);
		dvq_ionic_wr_send(&wr);
		/* in up to three pieces, also of nothing */
		dvq_ionic_wr_set_inline(&wr, data, n / 3);
		dvq_ionic_wr_set_inline(&wr, NULL, 0);
		dvq_ionic_wr_set_inline(&wr, data + n / 3, n - n / 3);
		CHECK_EQ(ionic_post(r, &wr, 0), 0);
		check_bytes("inline", r->sq_ring, want, 512);
		ionic_rings_free(r);
	}
}

TEST(sges_of_every_number)
{
	for (uint32_t n = 1; n <= 30; n++) {
		struct ionic_rings *r = rings_of(2, HOST, 512, false);
		struct ionic_sge sge;
		struct dvq_ionic_wr wr;

		dvq_ionic_wr_send(&wr);
		for (uint32_t i = 0; i < n; i++)
			dvq_ionic_wr_set_sge(&wr, i, i * 1000, 10 + i);
		CHECK_EQ(ionic_post(r, &wr, 0), 0);
		for (uint32_t i = 0; i < 30; i++) {
			memcpy(&sge, r->sq_ring + 32 + 16 * i, 16);
			CHECK_EQ(be64toh(sge.addr), i < n ? i * 1000 : 0);
			CHECK_EQ(be32toh(sge.length), i < n ? 10 + i : 0);
			CHECK_EQ(be32toh(sge.key), i < n ? i : 0);
		}
		CHECK_EQ(r->sq_ring[9], n);
		ionic_rings_free(r);
	}
}

TEST(what_a_queue_does_not_take)
{
	struct ionic_rings *r = rings_of(2, HOST, 64, false), *ud = rings_of(2, HOST, 64, true);
	uint8_t data[481] = {};
	struct dvq_ionic_wr wr;

	/* too much for the queue, and for any */
	dvq_ionic_wr_send(&wr);
	for (int i = 0; i < 3; i++)
		dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_EINVAL);
	for (int i = 3; i < 31; i++)
		dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 33);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_EINVAL);
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 481);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	/* more than 2 GiB */
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 1u << 31);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 0);
	CHECK_EQ(wr.error, 0);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 1);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	/* both kinds of data */
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 0);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_sge(&wr, 1, 2, 3);
	dvq_ionic_wr_set_inline(&wr, data, 0);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	/* data that is read cannot be in the entry */
	dvq_ionic_wr_rdma_read(&wr, 1, 2);
	dvq_ionic_wr_set_inline(&wr, data, 1);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	/* a destination belongs to datagrams, and datagrams need one */
	wr = ionic_send();
	CHECK_EQ(ionic_post(ud, &wr, 0), DVQ_IONIC_EINVAL);
	dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	CHECK_EQ(ionic_post(r, &wr, 0), DVQ_IONIC_EINVAL);
	CHECK_EQ(ionic_post(ud, &wr, 0), 0);
	dvq_ionic_wr_rdma_write(&wr, 1, 2);
	CHECK_EQ(ionic_post(ud, &wr, 0), DVQ_IONIC_EINVAL);
	dvq_ionic_wr_set_dest(&wr, 1, 2, 3);
	CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_sq_room(&r->sq), 7);
	CHECK_EQ(r->sq_ring[0], 0xee);
	ionic_rings_free(r);
	ionic_rings_free(ud);
}

TEST(flags_that_do_not_go_together)
{
	struct dvq_ionic_wr wr;

#define REFUSES(builder, flag)							\
	do {									\
		builder;							\
		dvq_ionic_wr_set_flags(&wr, flag);				\
		CHECK_EQ(wr.error, DVQ_IONIC_EINVAL);				\
	} while (0)
#define TAKES(builder, flag)							\
	do {									\
		builder;							\
		dvq_ionic_wr_set_flags(&wr, flag);				\
		CHECK_EQ(wr.error, 0);						\
	} while (0)
	REFUSES(dvq_ionic_wr_rdma_read(&wr, 1, 2), DVQ_IONIC_SOLICITED);
	REFUSES(dvq_ionic_wr_rdma_write(&wr, 1, 2), DVQ_IONIC_SOLICITED);
	REFUSES(dvq_ionic_wr_fetch_add(&wr, 1, 2, 3), DVQ_IONIC_SOLICITED);
	REFUSES(dvq_ionic_wr_cmp_swap(&wr, 1, 2, 3, 4), DVQ_IONIC_SOLICITED);
	REFUSES(dvq_ionic_wr_local_inv(&wr, 1), DVQ_IONIC_SOLICITED);
	REFUSES(dvq_ionic_wr_send(&wr), IONIC_WQE_INLINE);
	REFUSES(dvq_ionic_wr_send(&wr), IONIC_WQE_COLOR);
	REFUSES(dvq_ionic_wr_send(&wr), 0x10000);
	TAKES(dvq_ionic_wr_send(&wr), DVQ_IONIC_SOLICITED | DVQ_IONIC_FENCE);
	TAKES(dvq_ionic_wr_rdma_write_imm(&wr, 1, 2, 3), DVQ_IONIC_SOLICITED);
	TAKES(dvq_ionic_wr_rdma_write(&wr, 1, 2), DVQ_IONIC_FENCE | DVQ_IONIC_SIGNALED);
	/* inline data stays inline */
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, "x", 1);
	dvq_ionic_wr_set_flags(&wr, 0);
	CHECK_EQ(wr.flags, IONIC_WQE_INLINE);
}

TEST(f13_first_error_stays)
{
	struct dvq_ionic_wr wr;

	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_fail(&wr, DVQ_IONIC_EOPNOTSUPP);
	dvq_ionic_wr_set_flags(&wr, ~0u);
	CHECK_EQ(wr.error, DVQ_IONIC_EOPNOTSUPP);
	dvq_ionic_wr_send(&wr);
	CHECK_EQ(wr.error, 0);
}

TEST(request_can_be_kept_and_sent_again)
{
	struct ionic_rings *r = rings_of(2, HOST, 128, false);
	struct dvq_ionic_wr wr;
	uint8_t data[90];

	memset(data, 0x5a, sizeof(data));
	dvq_ionic_wr_send(&wr);
	dvq_ionic_wr_set_inline(&wr, data, 90);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(ionic_post(r, &wr, i), 0);
	check_bytes("again", r->sq_ring + 128 + 8, r->sq_ring + 8, 120);
	check_bytes("and again", r->sq_ring + 256 + 8, r->sq_ring + 8, 120);
	ionic_rings_free(r);
}

/* ---- receives ----------------------------------------------------------------------- */

TEST(receive)
{
	static const uint8_t want[128] = {
		SLOT, 0, 0, 0, 0, 0, 0, 0,
		0, 2, 0, 0, 0x00, 0x00, 0x10, 0x64,		/* 4196 bytes in all */
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x00, 0x00, 0x10, 0x00, 0x0a, 0x0b, 0x0c, 0x0d,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00,
		0x00, 0x00, 0x00, 0x64, 0x00, 0x00, 0x00, 0x07,
	};
	const struct dvq_ionic_sge sge[2] = {
		{ .addr = 0x1122334455667788, .length = 4096, .lkey = 0x0a0b0c0d },
		{ .addr = 0x2000, .length = 100, .lkey = 7 },
	};

	for (uint32_t size = 64; size <= 128; size *= 2) {
		struct ionic_rings *r = rings_of(2, HOST, size, false);

		memset(r->rq_ring, 0xee, 8 * size);
		r->rq.wq.reqs.posted = SLOT;
		CHECK_EQ(dvq_ionic_rq_post(&r->rq, sge, 2, 5), 0);
		check_bytes("receive", r->rq_ring + size, want, size);
		CHECK_EQ(r->rq_ring[2 * size], 0xee);
		ionic_rings_free(r);
	}
}

TEST(receives_that_cannot_be)
{
	struct ionic_rings *r = rings_of(2, HOST, 64, false);
	struct dvq_ionic_sge sge[3] = {
		{ .length = 1u << 31 }, { .length = 1 }, { .length = 1 },
	};

	CHECK_EQ(dvq_ionic_rq_post(&r->rq, sge, 3, 0), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_rq_post(&r->rq, sge, 2, 0), DVQ_IONIC_EINVAL);
	CHECK_EQ(dvq_ionic_rq_room(&r->rq), 7);
	CHECK_EQ(dvq_ionic_rq_post(&r->rq, sge, 1, 0), 0);
	CHECK_EQ(dvq_ionic_rq_post(&r->rq, NULL, 0, 0), 0);
	ionic_rings_free(r);
}

TAP_MAIN
