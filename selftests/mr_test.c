// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of every form: what is registered is what the adapter reaches, from the first
 * byte to the last, and nothing else; and it is given back.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "lib/adapter_test.h"
#include "lib/memory.h"
#include "lib/uverbs.h"

#define ALL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define PIECE		64	/* bytes moved to look at one place */

/* permissions of an EFA, see Documentation/hw/efa.rst */
enum device_permission { MAY_LOCAL_WRITE = 1, MAY_REMOTE_WRITE = 2, MAY_REMOTE_READ = 4 };

/**
 * struct region - an MR over memory, and a way for messages in and out of it
 *
 * @address: of its first byte, as the adapter knows it
 * @inside: its first byte in the mapping
 */
struct region {
	struct memory *memory;
	struct ibv_mr *mr;
	uint64_t address;
	uint8_t *inside;
	size_t length;
	struct duo *duo;
	struct buffer *other;
};

static bool kernel_is_older(unsigned int major, unsigned int minor)
{
	unsigned int has[2] = { 0 };
	struct utsname name;

	REQUIRE(!uname(&name) && sscanf(name.release, "%u.%u", &has[0], &has[1]) == 2);
	return has[0] < major || (has[0] == major && has[1] < minor);
}

/* An end of the region beyond all addresses; another driver may find no page size for it. */
static bool is_no_range(int err)
{
	return err == EINVAL || (!self->dvq && err == EOPNOTSUPP);
}

static int drop_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static struct region region_new(struct duo *duo, struct memory *memory, size_t off, size_t length,
				uint64_t iova, unsigned int access)
{
	struct region region = {
		.memory = memory, .address = iova, .inside = memory->base + off,
		.length = length, .duo = duo,
		.other = buffer_new(duo->b->pd, PIECE, IBV_ACCESS_LOCAL_WRITE),
	};

	region.mr = ibv_reg_mr_iova(duo->a->pd, region.inside, length, iova, access);
	LAB_NEED(region.mr, "registering %zu bytes: %s", length, strerror(errno));
	lab_hold(drop_mr, region.mr);
	return region;
}

static struct ibv_sge region_sge(const struct region *region, size_t off, size_t len)
{
	return (struct ibv_sge) {
		.addr = region->address + off, .length = len, .lkey = region->mr->lkey,
	};
}

/* [off, off + len) of the region as the adapter reads it is what the file has there */
static void expect_sent(struct region *region, size_t off, size_t len)
{
	struct duo *duo = region->duo;
	struct work work = {
		.opcode = IBV_WR_SEND, .sge = { region_sge(region, off, len) }, .sges = 1,
		.to = duo->to_b,
	};

	fill(region->inside + off, len, off);
	buffer_clear(region->other);
	post_recv_one(duo->b, 1, region->other, 0, PIECE);
	post_one(duo->a, &work);
	cq_wait_many(duo->a->send_cq, 1);
	cq_wait_many(duo->b->recv_cq, 1);
	buffer_expect(region->other, 0, len, off);
}

/* and as it writes it */
static void expect_received(struct region *region, size_t off, size_t len)
{
	struct duo *duo = region->duo;
	struct work work = send_work(&duo->to_a, 1, region->other, 0, len);
	struct ibv_sge sge = region_sge(region, off, len);
	uint8_t before = off ? region->inside[off - 1] : 0;

	buffer_fill(region->other, ~off);
	REQUIRE(!post_recv(duo->a, 2, &sge, 1));
	post_one(duo->b, &work);
	cq_wait_many(duo->b->send_cq, 1);
	cq_wait_many(duo->a->recv_cq, 1);
	CHECK_EQ(first_difference(region->inside + off, len, ~off), len);
	if (off)
		CHECK_EQ(region->inside[off - 1], before);
}

/* beginning, end, and around the borders of pages that are special to page lists */
static void look_around(struct region *region)
{
	static const size_t borders[] = { 1, 2, 3, 4, 5, 509, 510, 511, 512, 513, 1023, 1024 };
	/* what 510 pieces of 512 entries hold */
	const size_t chunk = 510 * 512;
	size_t first = -((uintptr_t)region->inside) % PAGE;

	for (unsigned int i = 0; i < sizeof(borders) / sizeof(borders[0]); i++) {
		size_t at = first + borders[i] * PAGE;

		if (at + PIECE > region->length)
			break;
		expect_sent(region, at - PIECE / 2, PIECE);
		expect_received(region, at - PIECE / 2, PIECE);
	}
	for (size_t page = chunk - 1; page <= chunk + 1; page++)
		if (page * PAGE + PIECE <= region->length) {
			expect_sent(region, page * PAGE - PIECE / 2, PIECE);
			expect_received(region, page * PAGE - PIECE / 2, PIECE);
		}
	expect_sent(region, 0, 1);
	expect_received(region, 0, 1);
	expect_sent(region, region->length - 1, 1);
	expect_received(region, region->length - 1, 1);
	if (region->length < PIECE)
		return;
	expect_sent(region, region->length - PIECE, PIECE);
	expect_received(region, region->length - PIECE, PIECE);
}

/* a send of @sge is refused; by others than @duo's queue pairs, as it may stop them for good */
static void expect_refused(const struct duo *duo, const struct ibv_sge *sge)
{
	struct duo other = duo_new2(&(struct endpoint_options) { .pd = duo->a->pd },
				    &(struct endpoint_options) { .pd = duo->b->pd });
	struct work work = {
		.opcode = IBV_WR_SEND, .sge = { *sge }, .sges = 1, .to = other.to_b,
	};
	struct completion completion;

	post_one(other.a, &work);
	cq_wait(other.a->send_cq, &completion);
	CHECK_EQ(completion.status, IBV_WC_LOC_PROT_ERR);
}

/* one byte before and behind cannot be reached */
static void expect_borders(struct region *region)
{
	struct ibv_sge before = region_sge(region, 0, 2);
	struct ibv_sge behind = region_sge(region, region->length - 1, 2);

	before.addr--;
	expect_refused(region->duo, &before);
	expect_refused(region->duo, &behind);
}

static void expect_model_mr(const struct region *region, size_t pages)
{
	uint64_t value;
	char text[512];

	if (!self->model[0])
		return;
	snprintf(text, sizeof(text), "%s", model_ask(self->model, "mr 0x%x", region->mr->lkey));
	REQUIRE(model_find(text, "length", &value));
	CHECK_EQ(value, region->length);
	REQUIRE(model_find(text, self->kind == ADAPTER_EFA ? "iova" : "va", &value));
	CHECK_EQ(value, region->address);
	REQUIRE(model_find(text, "page_shift", &value));
	/* scattered pages leave no choice */
	if (pages)
		CHECK_EQ(value, 12);
	REQUIRE(model_find(text, "pages", &value));
	if (pages)
		CHECK_EQ(value, pages);
}

static void scattered(size_t pages)
{
	struct duo duo = duo_new(NULL);
	struct memory *memory = memory_scattered(pages, 8192);
	struct region region = region_new(&duo, memory, 0, memory->size, (uintptr_t)memory->base,
					  IBV_ACCESS_LOCAL_WRITE);

	expect_model_mr(&region, pages > 1 ? pages : 0);
	look_around(&region);
	expect_borders(&region);
}

/* up to four pages lie in the command itself */
ADAPTER_TEST(f50_pages_1_to_5)
{
	for (size_t pages = 1; pages <= 5; pages++)
		scattered(pages);
}

/* a list of one page, and what does not fit on it (F-50) */
ADAPTER_TEST(f50_pages_around_512)
{
	for (size_t pages = 510; pages <= 514; pages++)
		scattered(pages);
}

ADAPTER_TEST(f50_pages_around_1024)
{
	for (size_t pages = 1023; pages <= 1025; pages++)
		scattered(pages);
}

/* a list of 511 pages of list needs a second chunk of addresses: a region of more than 1 GiB */
ADAPTER_TEST(f50_pages_of_two_chunks)
{
	if (self->attr.max_mr_size < 511 * 512 * PAGE)
		SKIP("the adapter has no regions of more than 1 GiB");
	scattered(511 * 512 + 3);
}

/* ---- unaligned ----------------------------------------------------------- */

ADAPTER_TEST(f50_unaligned)
{
	static const struct {
		size_t off, length;
	} cuts[] = {
		{ 0, 1 }, { 1, 1 }, { PAGE - 1, 1 }, { PAGE - 1, 2 }, { 100, 4 * PAGE },
		{ PAGE - 1, 4 * PAGE + 2 }, { 17, 512 * PAGE - 17 }, { 17, 512 * PAGE },
		{ PAGE - 8, 511 * PAGE + 16 },
	};
	struct memory *memory = memory_scattered(520, 520);
	struct duo duo = duo_new(NULL);

	for (unsigned int i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct region region = region_new(&duo, memory, cuts[i].off, cuts[i].length,
						  (uintptr_t)memory->base + cuts[i].off,
						  IBV_ACCESS_LOCAL_WRITE);

		look_around(&region);
		if (cuts[i].length > 1)
			expect_borders(&region);
		REQUIRE(!lab_drop(region.mr));
	}
}

/* the adapter's addresses are what the user wants them to be */
ADAPTER_TEST(addresses_of_its_own)
{
	static const uint64_t iovas[] = { 0, PAGE, 0x123456789000, 5 * PAGE + 100 };
	struct memory *memory = memory_scattered(600, 600);
	struct duo duo = duo_new(NULL);

	for (unsigned int i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++) {
		/* the same place within its page, or no page list could be made */
		size_t off = iovas[i] % PAGE;
		struct region region = region_new(&duo, memory, off, 590 * PAGE, iovas[i],
						  IBV_ACCESS_LOCAL_WRITE);

		expect_model_mr(&region, off ? 591 : 590);
		look_around(&region);
		REQUIRE(!lab_drop(region.mr));
	}
}

/* what no page list can express; the core itself says so */
ADAPTER_TEST(address_at_another_place_in_its_page)
{
	struct memory *memory = memory_scattered(16, 16);
	struct ibv_pd *pd = pd_new(self);

	errno = 0;
	CHECK(!ibv_reg_mr_iova(pd, memory->base, 16 * PAGE, 100, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
}

/* ---- larger pages -------------------------------------------------------- */

ADAPTER_TEST(huge_pages)
{
	const char *why;
	struct memory *memory = memory_huge(8 << 20, &why);
	struct region region;
	struct duo duo;

	if (!memory)
		SKIP(why);
	duo = duo_new(NULL);
	region = region_new(&duo, memory, 0, memory->size, (uintptr_t)memory->base,
			    IBV_ACCESS_LOCAL_WRITE);
	if (self->model[0]) {
		uint64_t shift;

		REQUIRE(model_find(model_ask(self->model, "mr 0x%x", region.mr->lkey),
				   "page_shift", &shift));
		CHECK(shift >= 21);
	}
	look_around(&region);
	expect_borders(&region);
	/* not aligned to them at either end */
	region = region_new(&duo, memory, 4000, memory->size - 5000,
			    (uintptr_t)memory->base + 4000, IBV_ACCESS_LOCAL_WRITE);
	look_around(&region);
	expect_borders(&region);
}

ADAPTER_TEST(pages_as_they_come)
{
	struct memory *memory = memory_plain(3000);
	struct duo duo = duo_new(NULL);
	struct region region = region_new(&duo, memory, 0, memory->size, (uintptr_t)memory->base,
					  IBV_ACCESS_LOCAL_WRITE);

	look_around(&region);
	expect_borders(&region);
}

/* ---- dma-buf (F-59) ------------------------------------------------------ */

/* What the kernel itself says of it: whoever imports it sees this, and so does rdma(8). */
static void expect_told(const struct region *region)
{
	uint32_t lkey = 0, rkey = 0;
	uint64_t length = 0, iova = 0;
	struct uv_call call;

	uv_start(&call, UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR);
	uv_handle(&call, UVERBS_ATTR_QUERY_MR_HANDLE, region->mr->handle);
	uv_out(&call, UVERBS_ATTR_QUERY_MR_RESP_LKEY, &lkey, sizeof(lkey));
	uv_out(&call, UVERBS_ATTR_QUERY_MR_RESP_RKEY, &rkey, sizeof(rkey));
	uv_out(&call, UVERBS_ATTR_QUERY_MR_RESP_LENGTH, &length, sizeof(length));
	uv_out(&call, UVERBS_ATTR_QUERY_MR_RESP_IOVA, &iova, sizeof(iova));
	CHECK_EQ(uv_run(region->mr->context->cmd_fd, &call), 0);
	CHECK_EQ(lkey, region->mr->lkey);
	CHECK_EQ(rkey, region->mr->rkey);
	CHECK_EQ(length, region->length);
	CHECK_EQ(iova, region->address);
}

ADAPTER_TEST(f59_dmabuf)
{
	static const struct {
		size_t off, length;
		uint64_t iova;
	} cuts[] = {
		{ 0, 16 * PAGE, 0x10000 }, { PAGE, 15 * PAGE, 0x10000 },
		{ PAGE + 64, 14 * PAGE, 0x7000 + 64 }, { 3 * PAGE + 64, PAGE - 64, 64 },
	};
	struct memory *memory = memory_scattered(16, 16);
	const char *why;
	int fd = memory_dmabuf(memory, 16 * PAGE, &why);
	struct duo duo;

	if (fd < 0)
		SKIP(why);
	duo = duo_new(NULL);
	for (unsigned int i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct region region = {
			.memory = memory, .address = cuts[i].iova, .length = cuts[i].length,
			.inside = memory->base + cuts[i].off, .duo = &duo,
			.other = buffer_new(duo.b->pd, PIECE, IBV_ACCESS_LOCAL_WRITE),
		};

		region.mr = ibv_reg_dmabuf_mr(duo.a->pd, cuts[i].off, cuts[i].length,
					      cuts[i].iova, fd, IBV_ACCESS_LOCAL_WRITE);
		REQUIRE(region.mr);
		lab_hold(drop_mr, region.mr);
		expect_told(&region);
		look_around(&region);
		expect_borders(&region);
		REQUIRE(!lab_drop(region.mr));
	}
	close(fd);
}

/* in pieces of 2 MiB, which is more than an Ethernet driver maps (DMA-API debugging tells) */
ADAPTER_TEST(f59_dmabuf_of_huge_pages)
{
	const char *why;
	struct memory *memory = memory_huge(4 << 20, &why);
	struct region region = { .memory = memory, .address = 0x10000 };
	struct duo duo;
	int fd;

	if (!memory)
		SKIP(why);
	fd = memory_dmabuf(memory, memory->size, &why);
	if (fd < 0)
		SKIP(why);
	duo = duo_new(NULL);
	region.length = memory->size;
	region.inside = memory->base;
	region.duo = &duo;
	region.other = buffer_new(duo.b->pd, PIECE, IBV_ACCESS_LOCAL_WRITE);
	region.mr = ibv_reg_dmabuf_mr(duo.a->pd, 0, region.length, region.address, fd,
				      IBV_ACCESS_LOCAL_WRITE);
	REQUIRE(region.mr);
	lab_hold(drop_mr, region.mr);
	look_around(&region);
	expect_borders(&region);
	REQUIRE(!lab_drop(region.mr));
	close(fd);
}

ADAPTER_TEST(f59_dmabuf_refused)
{
	struct memory *memory = memory_scattered(16, 16);
	struct ibv_pd *pd = pd_new(self);
	const char *why;
	int fd = memory_dmabuf(memory, 16 * PAGE, &why);

	if (fd < 0)
		SKIP(why);
	/* beyond its end */
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 17 * PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_dmabuf_mr(pd, 16 * PAGE, PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_dmabuf_mr(pd, 8 * PAGE, 9 * PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	/* around the end of all addresses */
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, 4 * PAGE, UINT64_MAX - PAGE + 1, fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK(is_no_range(errno));
	/* no dma-buf */
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, memory->fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	close(fd);
	CHECK(!ibv_reg_dmabuf_mr(pd, 0, PAGE, 0, fd, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EBADF);
}

/* ---- access (F-58) ------------------------------------------------------- */

/* the flags that the adapter gets are the verbs' own; atomics are granted as advertised (F-67) */
ADAPTER_TEST(f58_f67_access_flags_of_ionic)
{
	static const unsigned int all = ALL_ACCESS | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;
	struct memory *memory = memory_plain(8);
	struct ibv_pd *pd = pd_new(self);

	need_ionic();
	CHECK_EQ(self->attr.atomic_cap, IBV_ATOMIC_GLOB);
	for (unsigned int access = 0; access <= all; access++) {
		bool remote = access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
		struct ibv_mr *mr = ibv_reg_mr(pd, memory->base, memory->size, access);
		uint64_t flags;

		/* the core's rule: who lets others write must be able to write */
		if (remote && !(access & IBV_ACCESS_LOCAL_WRITE)) {
			CHECK(!mr && errno == EINVAL);
			continue;
		}
		REQUIRE(mr);
		CHECK_EQ(mr->lkey, mr->rkey);
		if (self->model[0]) {
			REQUIRE(model_find(model_ask(self->model, "mr 0x%x", mr->lkey), "flags",
					   &flags));
			CHECK_EQ(flags, access);
		}
		CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	CHECK(!ibv_reg_mr(pd, memory->base, memory->size, IBV_ACCESS_ON_DEMAND));
	CHECK_EQ(errno, EOPNOTSUPP);
}

/* F-67: where atomics are advertised, memory of any kind and size may be granted to them */
ADAPTER_TEST(f67_atomics_on_any_memory)
{
	static const size_t pages[] = { 1, 3, 512, 513, 2000 };
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
	int want = self->attr.atomic_cap == IBV_ATOMIC_NONE ? EOPNOTSUPP : 0;
	struct memory *memory = memory_scattered(2000, 2000);
	struct memory *exported = memory_scattered(2000, 2000);
	struct ibv_pd *pd = pd_new(self);
	const char *why;
	int fd = memory_dmabuf(exported, exported->size, &why);

	if (self->kind == ADAPTER_EFA)
		CHECK_EQ(self->attr.atomic_cap, IBV_ATOMIC_NONE);
	for (unsigned int i = 0; i < 2 * sizeof(pages) / sizeof(pages[0]); i++) {
		size_t size = pages[i / 2] * PAGE;
		struct ibv_mr *mr;

		if (i & 1 && fd < 0)
			continue;
		errno = 0;
		mr = i & 1 ? ibv_reg_dmabuf_mr(pd, 0, size, 0, fd, access) :
			     ibv_reg_mr(pd, memory->base, size, access);
		CHECK_EQ(mr ? 0 : errno, want);
		if (mr)
			CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
	if (fd < 0)
		SKIP(why);
	close(fd);
}

ADAPTER_TEST(f58_access_flags)
{
	const struct {
		unsigned int access;
		unsigned int permissions;
		uint32_t caps;
		int err;
	} table[] = {
		{ 0, 0, 0, 0 },
		{ IBV_ACCESS_LOCAL_WRITE, MAY_LOCAL_WRITE, 0, 0 },
		{ IBV_ACCESS_REMOTE_READ, MAY_REMOTE_READ, EFADV_DEVICE_ATTR_CAPS_RDMA_READ, 0 },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
		  MAY_LOCAL_WRITE | MAY_REMOTE_READ, EFADV_DEVICE_ATTR_CAPS_RDMA_READ, 0 },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		  MAY_LOCAL_WRITE | MAY_REMOTE_WRITE, EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, 0 },
		{ ALL_ACCESS, MAY_LOCAL_WRITE | MAY_REMOTE_WRITE | MAY_REMOTE_READ,
		  EFADV_DEVICE_ATTR_CAPS_RDMA_READ | EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE, 0 },
		/* hints that may be ignored, and never reach the permissions */
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, MAY_LOCAL_WRITE, 0, 0 },
		{ IBV_ACCESS_RELAXED_ORDERING, 0, 0, 0 },
		/* the core's rule: who lets others write must be able to write */
		{ IBV_ACCESS_REMOTE_WRITE, 0, 0, EINVAL },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, 0, 0, EOPNOTSUPP },
		{ IBV_ACCESS_MW_BIND, 0, 0, EOPNOTSUPP },
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED, 0, 0, EOPNOTSUPP },
		/* the core's rule again, which changed its errno */
		{ IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, 0, 0,
		  kernel_is_older(6, 2) ? EINVAL : EOPNOTSUPP },
	};
	struct memory *memory = memory_plain(8);
	struct ibv_pd *pd = pd_new(self);

	need_efa();
	for (unsigned int i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int want = adapter_can(self, table[i].caps) ? table[i].err : EOPNOTSUPP;
		struct ibv_mr *mr = ibv_reg_mr(pd, memory->base, memory->size, table[i].access);
		uint64_t permissions;

		if (want) {
			if (mr || errno != want)
				lab_note(__FILE__, __LINE__, "access 0x%x: %s, wanted %s",
					 table[i].access, mr ? "granted" : strerror(errno),
					 strerror(want));
		} else if (!mr) {
			lab_note(__FILE__, __LINE__, "access 0x%x: %s", table[i].access,
				 strerror(errno));
		} else if (self->model[0]) {
			REQUIRE(model_find(model_ask(self->model, "mr 0x%x", mr->lkey),
					   "permissions", &permissions));
			CHECK_EQ(permissions, table[i].permissions);
		}
		if (mr)
			CHECK_EQ(ibv_dereg_mr(mr), 0);
	}
}

/* ---- what cannot be registered ------------------------------------------- */

ADAPTER_TEST(bad_ranges)
{
	struct memory *memory = memory_plain(4);
	struct ibv_pd *pd = pd_new(self);
	uint8_t *gap;

	/* a page that is not there, one that may not be written */
	gap = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(gap != MAP_FAILED);
	munmap(gap + 2 * PAGE, PAGE);
	CHECK(!ibv_reg_mr(pd, gap, 4 * PAGE, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EFAULT);
	CHECK(!ibv_reg_mr(pd, NULL, PAGE, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EFAULT);
	mprotect(gap, PAGE, PROT_READ);
	CHECK(!ibv_reg_mr(pd, gap, PAGE, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EFAULT);
	munmap(gap, 4 * PAGE);
	/* nothing, and more than there are addresses */
	CHECK(!ibv_reg_mr(pd, memory->base, 0, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_mr(pd, memory->base, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EINVAL);
	CHECK(!ibv_reg_mr_iova(pd, memory->base, 4 * PAGE, UINT64_MAX - PAGE + 1,
			       IBV_ACCESS_LOCAL_WRITE));
	CHECK(is_no_range(errno));
	CHECK(!ibv_reg_mr_iova(pd, memory->base + 1, 2 * PAGE, UINT64_MAX - 2 * PAGE + 2,
			       IBV_ACCESS_LOCAL_WRITE));
	CHECK(is_no_range(errno));
}

/* memory that may only be read is good for sending */
ADAPTER_TEST(read_only_memory)
{
	struct memory *memory = memory_plain(4);
	struct ibv_pd *pd = pd_new(self);
	struct ibv_mr *mr;

	REQUIRE(!mprotect(memory->base, memory->size, PROT_READ));
	mr = ibv_reg_mr(pd, memory->base, memory->size, 0);
	if (!mr && errno == EFAULT && kernel_is_older(6, 2))
		SKIP("the kernel writes to all that it pins: 6.2 is the first that does not");
	CHECK(mr);
	if (mr)
		CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/* ---- in use -------------------------------------------------------------- */

/* a region that goes while a message waits: the message ends in an error, or went before */
ADAPTER_TEST(deregistered_while_in_use)
{
	struct completion completion;
	struct buffer *from;
	struct work work;
	struct duo duo;

	need_model();
	if (self->kind == ADAPTER_EFA && !adapter_can(self, EFADV_DEVICE_ATTR_CAPS_RNR_RETRY))
		SKIP("the adapter has no RNR retry");
	duo = duo_new(&(struct endpoint_options) { .rnr_retry = RNR_RETRY(7) });
	from = buffer_new(duo.a->pd, 100, 0);
	work = send_work(&duo.to_b, 1, from, 0, 100);
	/* waits for a receive, and reads the region for every try */
	post_one(duo.a, &work);
	sleep_ms(5);
	REQUIRE(!ibv_dereg_mr(from->mr));
	buffer_lose_mr(from);
	cq_wait(duo.a->send_cq, &completion);
	CHECK_EQ(completion.status, IBV_WC_LOC_PROT_ERR);
}

/* the key of a region that is gone opens nothing, whatever was registered since */
ADAPTER_TEST(stale_keys)
{
	struct duo duo = duo_new(NULL);
	struct buffer *other = buffer_new(duo.a->pd, 100, 0);
	struct buffer *old = buffer_new(duo.a->pd, 100, 0);
	struct ibv_sge sge = buffer_sge(old, 0, 100);

	REQUIRE(!lab_drop(old));
	for (unsigned int i = 0; i < 10; i++) {
		struct buffer *young = buffer_new(duo.a->pd, 100, 0);

		CHECK(young->mr->lkey != sge.lkey);
		sge.addr = buffer_addr(i & 1 ? young : other, 0);
		expect_refused(&duo, &sge);
	}
}

/* ---- again and again ----------------------------------------------------- */

/* nothing stays pinned, here or in the adapter */
ADAPTER_TEST(registered_again_and_again)
{
	struct memory *memory = memory_scattered(1200, 1200);
	struct ibv_pd *pd = pd_new(self);
	long pinned = memory_pinned();
	struct model_stats before;

	if (self->model[0])
		model_stats(self->model, &before);
	for (unsigned int i = 0; i < 200; i++) {
		size_t pages = 1 + i * 31 % 1200;
		struct ibv_mr *mr = ibv_reg_mr(pd, memory->base, pages * PAGE,
					       IBV_ACCESS_LOCAL_WRITE);

		REQUIRE(mr);
		CHECK_EQ(memory_pinned() - pinned, (long)(pages * PAGE / 1024));
		REQUIRE(!ibv_dereg_mr(mr));
	}
	CHECK_EQ(memory_pinned(), pinned);
	if (self->model[0]) {
		CHECK_EQ(model_delta(self->model, &before, "mr"), 0);
		CHECK_EQ(model_delta(self->model, &before, "mr_pages"), 0);
		CHECK_EQ(model_delta(self->model, &before, self->kind == ADAPTER_EFA ?
				     "admin_reg_mr" : "admin_create_mr"), 200);
		CHECK_EQ(model_delta(self->model, &before, self->kind == ADAPTER_EFA ?
				     "admin_dereg_mr" : "admin_destroy_mr"), 200);
	}
}

/* the same memory may be registered many times at once */
ADAPTER_TEST(registered_many_times)
{
	enum { TIMES = 200 };
	struct memory *memory = memory_plain(16);
	struct ibv_mr *mr[TIMES];
	struct ibv_pd *pd = pd_new(self);

	for (unsigned int i = 0; i < TIMES; i++) {
		mr[i] = ibv_reg_mr(pd, memory->base, memory->size, IBV_ACCESS_LOCAL_WRITE);
		REQUIRE(mr[i]);
		for (unsigned int j = 0; j < i; j++)
			REQUIRE(mr[i]->lkey != mr[j]->lkey);
	}
	for (unsigned int i = 0; i < TIMES; i++)
		REQUIRE(!ibv_dereg_mr(mr[i]));
}

/* ---- interconnects ------------------------------------------------------- */

ADAPTER_TEST(query_mr)
{
	struct buffer *buffer = buffer_new(pd_new(self), 100, IBV_ACCESS_LOCAL_WRITE);
	struct efadv_mr_attr attr;

	need_efa();
	memset(&attr, 0xff, sizeof(attr));
	REQUIRE(!efadv_query_mr(buffer->mr, &attr, sizeof(attr)));
	CHECK_EQ(attr.comp_mask, 0);
	CHECK(!(attr.ic_id_validity & ~7));
	/* what is not valid is zero */
	if (!(attr.ic_id_validity & EFADV_MR_ATTR_VALIDITY_RECV_IC_ID))
		CHECK_EQ(attr.recv_ic_id, 0);
	if (!(attr.ic_id_validity & EFADV_MR_ATTR_VALIDITY_RDMA_READ_IC_ID))
		CHECK_EQ(attr.rdma_read_ic_id, 0);
	if (!(attr.ic_id_validity & EFADV_MR_ATTR_VALIDITY_RDMA_RECV_IC_ID))
		CHECK_EQ(attr.rdma_recv_ic_id, 0);
}

ADAPTER_TEST_MAIN(ADAPTER_ANY)
