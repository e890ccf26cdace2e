// SPDX-License-Identifier: GPL-2.0
/* Memory regions: the three forms of page lists, and what may be reached through them. */
#include <endian.h>
#include <string.h>

#include "efa.h"
#include "tap.h"
#include "test_efa.h"

#define PIECE		512	/* list entries in 4 KiB */
#define CHUNK		510	/* pieces in a chunk */

static struct drv drv;

/* a command for @length bytes at @iova in 4 KiB pages */
static struct efa_reg_mr_cmd mr_cmd(uint64_t iova, uint64_t length)
{
	return (struct efa_reg_mr_cmd) {
		.pd = htole16(drv.pd), .length = htole64(length), .flags = 12,
		.permissions = EFA_MR_LOCAL_WRITE, .iova = htole64(iova),
	};
}

static int reg(const struct efa_reg_mr_cmd *cmd, uint8_t flags, struct efa_reg_mr_resp *resp)
{
	struct efa_reg_mr_resp own;

	if (!resp)
		resp = &own;
	return drv_admin_flags(&drv, cmd, sizeof(*cmd), EFA_ADMIN_REG_MR, flags, resp,
			       sizeof(*resp));
}

static void put64(uint64_t addr, uint64_t value)
{
	value = htole64(value);
	memcpy(test_mem(&drv.host, addr, 8), &value, 8);
}

static void put_record(uint64_t at, uint32_t length, uint64_t addr)
{
	struct efa_ctrl_buf record = { htole32(length), htole32(addr), htole32(addr >> 32) };

	memcpy(test_mem(&drv.host, at, sizeof(record)), &record, sizeof(record));
}

static void set_list(struct efa_reg_mr_cmd *cmd, uint32_t length, uint64_t addr)
{
	cmd->u.list.length = htole32(length);
	cmd->u.list.addr_lo = htole32(addr);
	cmd->u.list.addr_hi = htole32(addr >> 32);
}

/* page @i of every region of this file: a different one each, none next to the other */
static uint64_t page_address(uint64_t i)
{
	return 0x10000000 + i % 2000 * 8192;
}

static struct efa_mr *mr_of(const struct efa_reg_mr_resp *resp)
{
	return efa_mr_by_lkey(efa_of(drv.dev), le32toh(resp->lkey));
}

static void check_pages(const struct efa_reg_mr_resp *resp, uint64_t pages)
{
	struct efa_mr *mr = mr_of(resp);
	uint64_t wrong = 0;

	REQUIRE(mr);
	CHECK_EQ(mr->page_count, pages);
	for (uint64_t i = 0; i < pages; i++)
		wrong += mr->pages[i] != page_address(i);
	CHECK_EQ(wrong, 0);
}

/* ---- forms ------------------------------------------------------------- */

TEST(inline_lists)
{
	drv_open(&drv, "a", "");
	for (unsigned int pages = 1; pages <= 5; pages++) {
		struct efa_reg_mr_cmd cmd = mr_cmd(0x1000, pages * 4096);
		struct efa_reg_mr_resp resp;

		for (unsigned int i = 0; i < pages && i < 4; i++)
			cmd.u.pages[i] = htole64(page_address(i));
		CHECK_EQ(reg(&cmd, 0, &resp), pages <= 4 ? 0 : EFA_ADMIN_MALFORMED);
		if (pages <= 4)
			check_pages(&resp, pages);
		else
			drv_expect_violations(&drv, 1, "do not fit");
	}
	drv_close(&drv);
}

/* a range of two pages, which together are all there is */
TEST(pages_of_half_the_address_space)
{
	struct efa_reg_mr_resp resp;
	struct efa_reg_mr_cmd cmd;

	drv_open(&drv, "a", "newest=1 page_size_cap=0x8000000000001000 dma_width=64");
	cmd = mr_cmd((1ull << 63) - 1, 4096);
	cmd.flags = 63;
	cmd.page_num = htole32(2);
	cmd.u.pages[1] = htole64(1ull << 63);
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	REQUIRE(mr_of(&resp));
	CHECK_EQ(mr_of(&resp)->page_count, 2);
	CHECK_EQ(mr_of(&resp)->pages[1], 1ull << 63);
	drv_close(&drv);
}

/* the list somewhere that is not page aligned */
static uint64_t direct_list(uint64_t pages)
{
	uint64_t list = test_alloc(&drv.host, pages * 8 + 8, 4096) + 8;

	for (uint64_t i = 0; i < pages; i++)
		put64(list + 8 * i, page_address(i));
	return list;
}

TEST(direct_lists)
{
	static const unsigned int sizes[] = { 1, 4, 5, 511, 512, 513, 1024, 1025, 40000, 100000 };

	drv_open(&drv, "a", "");
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t pages = sizes[i], list = direct_list(pages);
		struct efa_reg_mr_cmd cmd = mr_cmd(0x7000, pages * 4096);
		struct efa_reg_mr_resp resp;

		set_list(&cmd, pages * 8, list);
		REQUIRE(!reg(&cmd, EFA_AQ_CTRL_DATA, &resp));
		check_pages(&resp, pages);
		CHECK_EQ(drv_dereg_mr(&drv, le32toh(resp.lkey)), 0);
		set_list(&cmd, pages * 8 - 8, list);
		CHECK_EQ(reg(&cmd, EFA_AQ_CTRL_DATA, NULL), EFA_ADMIN_MALFORMED);
		drv_expect_violations(&drv, 1, "8 bytes each");
	}
	drv_close(&drv);
}

struct chain {
	uint64_t chunk[4];		/* addresses */
	uint32_t length[4];
	unsigned int count;
};

/* pieces and chunks apart from each other, as vmalloc would have them */
static struct chain make_chain(uint64_t pages)
{
	uint64_t pieces = (pages + PIECE - 1) / PIECE, done = 0;
	struct chain chain = { .count = (pieces + CHUNK - 1) / CHUNK };

	REQUIRE(chain.count <= 4);
	for (unsigned int c = 0; c < chain.count; c++) {
		uint64_t here = pieces - c * CHUNK < CHUNK ? pieces - c * CHUNK : CHUNK;

		chain.chunk[c] = test_alloc_apart(&drv.host, 4096);
		chain.length[c] = here * 8 + 12;
		for (uint64_t p = 0; p < here; p++) {
			uint64_t piece = test_alloc_apart(&drv.host, 4096);

			put64(chain.chunk[c] + 8 * p, piece);
			for (unsigned int i = 0; i < PIECE && done < pages; i++)
				put64(piece + 8 * i, page_address(done++));
		}
	}
	for (unsigned int c = 0; c + 1 < chain.count; c++)
		put_record(chain.chunk[c] + chain.length[c] - 12, chain.length[c + 1],
			   chain.chunk[c + 1]);
	return chain;
}

TEST(lists_that_cannot_be_fetched)
{
	struct drv_mr mr;
	uint16_t pd;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(test_control(drv.dev, "inject op=dma_list action=drop"), 0);
	CHECK_EQ(drv_reg_mr(&drv, pd, 20 * 4096, 0, DRV_LOCAL, &mr), EFA_ADMIN_ILLEGAL_PARAM);
	CHECK_EQ(drv_reg_mr(&drv, pd, 20 * 4096, 0, DRV_LOCAL, &mr), 0);
	drv_close(&drv);
}

TEST(indirect_lists)
{
	static const uint64_t sizes[] = {
		5, 511, 512, 513, 1024, 1025,
		CHUNK * PIECE - 1, CHUNK * PIECE, CHUNK * PIECE + 1,
		(CHUNK + 1) * PIECE, 2 * CHUNK * PIECE, 2 * CHUNK * PIECE + 1,
	};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t pages = sizes[i];
		struct efa_reg_mr_cmd cmd;
		struct efa_reg_mr_resp resp;
		struct chain chain;

		drv_open(&drv, "a", "");
		chain = make_chain(pages);
		cmd = mr_cmd(0x123456000, pages * 4096);
		set_list(&cmd, chain.length[0], chain.chunk[0]);
		REQUIRE(!reg(&cmd, EFA_AQ_CTRL_DATA | EFA_AQ_CTRL_INDIRECT, &resp));
		check_pages(&resp, pages);
		CHECK_EQ(chain.length[0], pages >= CHUNK * PIECE ? 4092 : chain.length[0]);
		drv_close(&drv);
	}
}

/* registers with a chain that @spoil has spoilt */
static void check_chain(uint64_t pages, void (*spoil)(struct chain *chain), int status,
			const char *why)
{
	const uint8_t flags = EFA_AQ_CTRL_DATA | EFA_AQ_CTRL_INDIRECT;
	struct efa_reg_mr_cmd cmd = mr_cmd(0, pages * 4096);
	struct chain chain;

	drv_open(&drv, "a", "");
	chain = make_chain(pages);
	cmd = mr_cmd(0x123456000, pages * 4096);
	spoil(&chain);
	set_list(&cmd, chain.length[0], chain.chunk[0]);
	CHECK_EQ(reg(&cmd, flags, NULL), status);
	drv_expect_violations(&drv, 1, why);
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("mr"), 0);
	CHECK_EQ(test_answer_number("mr_pages"), 0);
	CHECK_EQ(drv_dealloc_pd(&drv, drv.pd), 0);	/* nothing of it refers to the PD */
	drv_close(&drv);
}

static void longer(struct chain *chain)
{
	chain->length[0] += 8;
}

static void no_next(struct chain *chain)
{
	put_record(chain->chunk[0] + chain->length[0] - 12, 0, 0);
}

static void wrong_next_length(struct chain *chain)
{
	/* what a chain of a multiple of 510 pieces must not end with */
	put_record(chain->chunk[0] + chain->length[0] - 12, 12, chain->chunk[1]);
}

static void one_too_many(struct chain *chain)
{
	put_record(chain->chunk[0] + chain->length[0] - 12, 20, chain->chunk[0]);
}

static void chunk_in_hole(struct chain *chain)
{
	chain->chunk[0] = test_hole();
}

static void piece_in_hole(struct chain *chain)
{
	put64(chain->chunk[0] + 8, test_hole());
}

static void odd_page(struct chain *chain)
{
	uint64_t piece;

	memcpy(&piece, test_mem(&drv.host, chain->chunk[0], 8), 8);
	put64(le64toh(piece) + 16, 0x10000800);
}

static void page_beyond_width(struct chain *chain)
{
	uint64_t piece;

	memcpy(&piece, test_mem(&drv.host, chain->chunk[0], 8), 8);
	put64(le64toh(piece) + 16, 1ull << 53);
}

TEST(broken_chains)
{
	check_chain(1000, longer, EFA_ADMIN_MALFORMED, "want 28");
	check_chain(CHUNK * PIECE + 1, no_next, EFA_ADMIN_MALFORMED, "chunk of 0 bytes");
	check_chain(2 * CHUNK * PIECE, wrong_next_length, EFA_ADMIN_MALFORMED, "want 4092");
	check_chain(1000, one_too_many, EFA_ADMIN_MALFORMED, "names a next one");
	check_chain(1000, chunk_in_hole, EFA_ADMIN_ILLEGAL_PARAM, "not memory");
	check_chain(1000, piece_in_hole, EFA_ADMIN_ILLEGAL_PARAM, "not memory");
	check_chain(1000, odd_page, EFA_ADMIN_ILLEGAL_PARAM, "page 2 is 0x10000800");
	check_chain(1000, page_beyond_width, EFA_ADMIN_ILLEGAL_PARAM, "not a DMA address");
}

TEST(a_long_list_leaves_time_for_others)
{
	struct efa_reg_mr_cmd cmd;
	unsigned int slices = 0;
	uint64_t list;

	drv_open(&drv, "a", "");
	list = direct_list(500000);
	cmd = mr_cmd(0x7000, 500000ull * 4096);
	set_list(&cmd, 500000 * 8, list);
	drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_REG_MR, EFA_AQ_CTRL_DATA);
	while (drv.dev->ops->work(drv.dev))
		slices++;
	CHECK(slices >= 500000 * 8 / (256 << 10));
	test_run();
	drv_close(&drv);
}

TEST(a_reset_in_the_middle_of_a_list)
{
	struct efa_reg_mr_cmd cmd;
	uint64_t list;

	drv_open(&drv, "a", "");
	list = direct_list(500000);
	cmd = mr_cmd(0x7000, 500000ull * 4096);
	set_list(&cmd, 500000 * 8, list);
	drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_REG_MR, EFA_AQ_CTRL_DATA);
	CHECK(drv.dev->ops->work(drv.dev));
	CHECK(drv_reset(&drv, 0));
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("mr_pages"), 0);
	drv_start_queues(&drv);
	CHECK_EQ(drv_alloc_pd(&drv, &drv.pd), 0);
	drv_close(&drv);
}

/* ---- what is refused --------------------------------------------------- */

TEST(regions_that_cannot_be)
{
	struct efa_reg_mr_cmd cmd;

	drv_open(&drv, "a", "profile=efa1 max_mr_pages=16");
	cmd = mr_cmd(0x1000, 4096);
	cmd.pd = htole16(99);
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no PD 99");
	cmd = mr_cmd(0x1000, 0);
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "length 0");
	cmd = mr_cmd(0xfffffffffffff000, 8192);
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "length 8192");
	cmd = mr_cmd(0x1000, 17 * 4096);	/* a user may ask for it */
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	cmd = mr_cmd(0x1000, 4096);
	cmd.flags = 11;
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "page_size_cap");
	cmd.flags = 12 | 0x20;
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "flags");
	cmd = mr_cmd(0x1000, 4096);
	cmd.permissions = 8;
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "permissions");
	cmd = mr_cmd(0x1000, 4096);
	cmd.page_num = htole32(2);
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "page_num 2");
	cmd.page_num = htole32(1);
	cmd.u.pages[0] = htole64(page_address(0));
	CHECK_EQ(reg(&cmd, 0, NULL), 0);
	cmd = mr_cmd(0x1000, 4096);
	set_list(&cmd, 8, direct_list(1));
	cmd.u.pages[3] = htole64(1);
	CHECK_EQ(reg(&cmd, EFA_AQ_CTRL_DATA, NULL), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "behind the list record");
	CHECK_EQ(drv_dereg_mr(&drv, 0x12345), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no MR with lkey");
	drv_close(&drv);
}

TEST(permissions_follow_capabilities)
{
	static const struct {
		const char *options;
		uint8_t allowed;
	} kinds[] = {
		{ "device_caps=0", EFA_MR_LOCAL_WRITE },
		{ "device_caps=1", EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_READ },
		{ "device_caps=8", EFA_MR_LOCAL_WRITE | EFA_MR_REMOTE_WRITE },
		{ "device_caps=9", EFA_MR_PERMISSIONS },
	};

	for (unsigned int i = 0; i < 4; i++) {
		drv_open(&drv, "a", kinds[i].options);
		for (uint8_t want = 0; want <= EFA_MR_PERMISSIONS; want++) {
			struct efa_reg_mr_cmd cmd = mr_cmd(0x1000, 4096);
			bool good = !(want & ~kinds[i].allowed);

			cmd.permissions = want;
			cmd.u.pages[0] = htole64(page_address(0));
			CHECK_EQ(reg(&cmd, 0, NULL), good ? 0 : EFA_ADMIN_ILLEGAL_PARAM);
			if (!good)
				drv_expect_violations(&drv, 1, "permissions");
		}
		drv_close(&drv);
	}
}

TEST(limits)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp, first = { 0 };

	drv_open(&drv, "a", "max_mr=4 total_pages=10");
	cmd = mr_cmd(0x1000, 4096);
	cmd.u.pages[0] = htole64(page_address(0));
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQ(reg(&cmd, 0, i ? &resp : &first), 0);
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_RESOURCE_ALLOC);
	CHECK_EQ(drv_dereg_mr(&drv, le32toh(first.lkey)), 0);
	/* the budget of the whole adapter: 3 are taken */
	cmd = mr_cmd(0x1000, 8 * 4096);
	set_list(&cmd, 64, direct_list(8));
	CHECK_EQ(reg(&cmd, EFA_AQ_CTRL_DATA, NULL), EFA_ADMIN_RESOURCE_ALLOC);
	cmd = mr_cmd(0x1000, 7 * 4096);
	set_list(&cmd, 56, direct_list(7));
	CHECK_EQ(reg(&cmd, EFA_AQ_CTRL_DATA, NULL), 0);
	drv_close(&drv);
}

TEST(keys)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp;
	uint32_t old = 0;

	drv_open(&drv, "a", "qpn_reuse=1");
	for (unsigned int i = 0; i < 20; i++) {
		uint32_t lkey;

		cmd = mr_cmd(0x1000, 4096);
		cmd.u.pages[0] = htole64(page_address(0));
		CHECK_EQ(reg(&cmd, 0, &resp), 0);
		lkey = le32toh(resp.lkey);
		CHECK(lkey && !(lkey >> 24));
		CHECK_EQ(resp.lkey, resp.rkey);
		CHECK(lkey != old);
		CHECK_EQ(drv_dereg_mr(&drv, lkey), 0);
		old = lkey;
	}
	drv_close(&drv);

	drv_open(&drv, "a", "rkey=distinct");
	cmd = mr_cmd(0x1000, 4096);
	cmd.u.pages[0] = htole64(page_address(0));
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	CHECK(resp.lkey != resp.rkey);
	CHECK(!(le32toh(resp.lkey) >> 24) && le32toh(resp.rkey) >> 24);
	CHECK_EQ(drv_dereg_mr(&drv, le32toh(resp.rkey)), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no MR");
	drv_close(&drv);
}

TEST(interconnect_ids)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp;

	drv_open(&drv, "a", "ic_validity=5");
	cmd = mr_cmd(0x1000, 4096);
	cmd.u.pages[0] = htole64(page_address(0));
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	CHECK_EQ(resp.ic_validity, EFA_MR_IC_RECV | EFA_MR_IC_RDMA_RECV);
	CHECK_EQ(resp.recv_ic, 1);
	CHECK_EQ(resp.rdma_read_ic, 0);
	CHECK_EQ(resp.rdma_recv_ic, 3);
	drv_close(&drv);
}

/* ---- access ------------------------------------------------------------ */

TEST(bounds)
{
	struct efa_pd *pd, *other;
	struct drv_mr mr;
	struct efa_mr *m;
	uint16_t num;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_alloc_pd(&drv, &num), 0);
	pd = efa_pd_get(efa_of(drv.dev), drv.pd);
	other = efa_pd_get(efa_of(drv.dev), num);
	CHECK_EQ(drv_reg_mr(&drv, drv.pd, 10000, 77, DRV_LOCAL, &mr), 0);
	m = efa_mr_by_lkey(efa_of(drv.dev), mr.lkey);
	CHECK(efa_mr_allows(m, pd, mr.addr, 10000, 0));
	CHECK(efa_mr_allows(m, pd, mr.addr, 10000, EFA_MR_LOCAL_WRITE));
	CHECK(efa_mr_allows(m, pd, mr.addr + 10000, 0, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr, 10001, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr - 1, 1, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr + 9999, 2, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr + 10001, 0, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr + 1, UINT64_MAX, 0));
	CHECK(!efa_mr_allows(m, pd, mr.addr, 1, EFA_MR_REMOTE_READ));
	CHECK(!efa_mr_allows(m, other, mr.addr, 1, 0));
	CHECK(!efa_mr_allows(NULL, pd, mr.addr, 1, 0));
	drv_close(&drv);
}

/* any offset and length, over pages that are apart */
TEST(copies_hit_the_right_bytes)
{
	struct efa *efa;
	struct drv_mr mr;
	struct efa_mr *m;
	uint8_t data[20000], back[20000], seen[20000];

	drv_open(&drv, "a", "");
	efa = efa_of(drv.dev);
	CHECK_EQ(drv_reg_mr(&drv, drv.pd, sizeof(data), 4000, DRV_LOCAL, &mr), 0);
	m = efa_mr_by_lkey(efa, mr.lkey);
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + i / 256;
	drv_mr_write(&drv, &mr, 0, data, sizeof(data));
	for (unsigned int off = 0; off < 5000; off += 499) {
		for (unsigned int len = 1; len < 15000; len += 1777) {
			CHECK_EQ(efa_mr_read(efa, m, mr.addr + off, back, len), 0);
			CHECK(!memcmp(back, data + off, len));
			memset(back, off, len);
			CHECK_EQ(efa_mr_write(efa, m, mr.addr + off, back, len), 0);
			drv_mr_read(&drv, &mr, 0, seen, sizeof(seen));
			CHECK(!memcmp(seen, data, off));
			CHECK(!memcmp(seen + off, back, len));
			CHECK(!memcmp(seen + off + len, data + off + len,
				      sizeof(data) - off - len));
			drv_mr_write(&drv, &mr, 0, data, sizeof(data));
		}
	}
	drv_close(&drv);
}

TEST(large_pages)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp;
	struct efa_mr *m;
	struct efa *efa;
	uint64_t base, iova = 0x7f00001ff000;
	uint32_t word = 0x600df00d, back = 0;

	drv_open(&drv, "a", "");
	efa = efa_of(drv.dev);
	base = test_alloc(&drv.host, 4 << 20, 2 << 20);
	cmd = mr_cmd(iova, 8192);	/* the last page of one, the first of the next */
	cmd.flags = 21;
	cmd.u.pages[0] = htole64(base + (2 << 20));
	cmd.u.pages[1] = htole64(base);
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	m = mr_of(&resp);
	REQUIRE(m);
	CHECK_EQ(m->page_count, 2);
	CHECK_EQ(efa_mr_write(efa, m, iova + 4094, &word, 4), 0);
	CHECK_EQ(efa_mr_read(efa, m, iova + 4094, &back, 4), 0);
	CHECK_EQ(back, word);
	CHECK(!memcmp(test_mem(&drv.host, base + (4 << 20) - 2, 2), &word, 2));
	CHECK(!memcmp(test_mem(&drv.host, base, 2), (char *)&word + 2, 2));
	drv_close(&drv);
}

TEST(unmapped_pages_are_noticed_at_use)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp;
	char byte;

	drv_open(&drv, "a", "");
	cmd = mr_cmd(0x1000, 4096);
	cmd.u.pages[0] = htole64(test_hole());
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	CHECK(efa_mr_read(efa_of(drv.dev), mr_of(&resp), 0x1000, &byte, 1) < 0);
	drv_expect_violations(&drv, 1, "unmapped while registered");
	drv_close(&drv);
}

TEST(physical_regions)
{
	struct efa_reg_mr_cmd cmd;
	struct efa_reg_mr_resp resp;
	uint64_t at, word = 42, back = 0;

	drv_open(&drv, "a", "");
	at = test_alloc(&drv.host, 4096, 4096);
	cmd = mr_cmd(0, 1ull << 48);
	cmd.flags = EFA_REG_MR_PHYS;
	CHECK_EQ(reg(&cmd, 0, &resp), 0);
	CHECK_EQ(efa_mr_write(efa_of(drv.dev), mr_of(&resp), at, &word, 8), 0);
	memcpy(&back, test_mem(&drv.host, at, 8), 8);
	CHECK_EQ(back, 42);
	cmd.flags = EFA_REG_MR_PHYS | 12;
	CHECK_EQ(reg(&cmd, 0, NULL), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "without translation");
	drv_close(&drv);
}

TEST(a_view_of_a_region)
{
	struct drv_mr mr;
	char line[32];

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_reg_mr(&drv, drv.pd, 10000, 100, DRV_REMOTE, &mr), 0);
	snprintf(line, sizeof(line), "mr %u", mr.lkey);
	CHECK_EQ(test_control(drv.dev, line), 0);
	CHECK_EQ(test_answer_number("iova"), mr.addr);
	CHECK_EQ(test_answer_number("length"), 10000);
	CHECK_EQ(test_answer_number("pages"), 3);
	CHECK_EQ(test_answer_number("permissions"), DRV_REMOTE);
	CHECK_EQ(test_answer_number("first"), mr.pages[0]);
	CHECK_EQ(test_answer_number("last"), mr.pages[2]);
	CHECK(test_control(drv.dev, "mr 0xffffff") < 0);
	drv_close(&drv);
}

TEST(alloc_mr)
{
	struct efa_alloc_mr_cmd cmd = { 0 };
	struct efa_alloc_mr_resp resp;
	struct efa_mr *m;

	drv_open(&drv, "a", "");
	cmd.pd = htole16(drv.pd);
	CHECK_EQ(drv_admin(&drv, cmd, EFA_ADMIN_ALLOC_MR, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "max_pages 0");
	cmd.max_pages = htole32(16);
	cmd.pd = htole16(200);
	CHECK_EQ(drv_admin(&drv, cmd, EFA_ADMIN_ALLOC_MR, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no PD");
	cmd.pd = htole16(drv.pd);
	CHECK_EQ(drv_admin(&drv, cmd, EFA_ADMIN_ALLOC_MR, resp), 0);
	m = efa_mr_by_lkey(efa_of(drv.dev), le32toh(resp.lkey));
	REQUIRE(m);
	CHECK(!efa_mr_allows(m, m->pd, 0, 0, 0));	/* not before it is registered */
	CHECK_EQ(drv_dereg_mr(&drv, le32toh(resp.lkey)), 0);
	drv_close(&drv);
}

TAP_MAIN
