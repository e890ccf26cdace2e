// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dma.h"
#include "tap.h"

#define PAGE	4096ul
#define RW	(DMA_READABLE | DMA_WRITABLE)

static struct dma_map map;
static int file;
static uint8_t *memory;		/* the file as the guest sees it */

/*
 * A guest of 16 pages: pages 0-3 at 0, a hole, pages 4-7 at 0x10000 read-only, then
 * without a gap pages 12-15 at 0x14000 (out of order in the file), then a
 * reservation at 0x18000.
 */
static void set_up(void)
{
	memset(&map, 0, sizeof(map));
	file = memfd_create("guest", MFD_CLOEXEC);
	REQUIRE(file >= 0 && !ftruncate(file, 16 * PAGE));
	memory = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	REQUIRE(memory != MAP_FAILED);
	REQUIRE(!dma_map_add(&map, 0x14000, 4 * PAGE, RW, file, 12 * PAGE));
	REQUIRE(!dma_map_add(&map, 0, 4 * PAGE, RW, file, 0));
	REQUIRE(!dma_map_add(&map, 0x18000, PAGE, RW, -1, 0));
	REQUIRE(!dma_map_add(&map, 0x10000, 4 * PAGE, DMA_READABLE, file, 4 * PAGE));
}

static void tear_down(void)
{
	dma_map_clear(&map);
	munmap(memory, 16 * PAGE);
	close(file);
}

TEST(reads_and_writes)
{
	char text[] = "written by the device";
	char buf[sizeof(text)];

	set_up();
	CHECK_EQ(dma_write(&map, 0x1003, text, sizeof(text)), 0);
	CHECK_STR((char *)memory + 0x1003, text);
	strcpy((char *)memory + 0x2005, "by the guest");
	CHECK_EQ(dma_read(&map, 0x2005, buf, 13), 0);
	CHECK_STR(buf, "by the guest");
	CHECK_EQ(map.reads, 1);
	CHECK_EQ(map.writes, 1);
	CHECK_EQ(map.bytes, sizeof(text) + 13);
	CHECK_EQ(map.faults, 0);
	tear_down();
}

TEST(every_size_at_every_alignment)
{
	uint8_t pattern[17], buf[17];

	set_up();
	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = 0xa0 + i;
	for (unsigned int len = 0; len <= sizeof(pattern); len++) {
		for (unsigned int off = 0; off < 16; off++) {
			memset(memory, 0, 64);
			CHECK_EQ(dma_write(&map, off + 8, pattern, len), 0);
			CHECK(!memcmp(memory + off + 8, pattern, len));
			/* nothing beside it */
			CHECK_EQ(memory[off + 7], 0);
			CHECK_EQ(memory[off + 8 + len], 0);
			memset(buf, 0, sizeof(buf));
			CHECK_EQ(dma_read(&map, off + 8, buf, len), 0);
			CHECK(!memcmp(buf, pattern, len));
		}
	}
	tear_down();
}

TEST(crosses_ranges_that_touch)
{
	uint8_t buf[6 * PAGE];

	set_up();
	for (unsigned int i = 0; i < 16 * PAGE; i++)
		memory[i] = i / PAGE * 7 + i;
	/* the last page of the read-only range, the four behind it */
	CHECK_EQ(dma_read(&map, 0x13000 - 8, buf, 5 * PAGE + 8), 0);
	CHECK(!memcmp(buf, memory + 7 * PAGE - 8, PAGE + 8));
	CHECK(!memcmp(buf + PAGE + 8, memory + 12 * PAGE, 4 * PAGE));
	/* a word across the border, not aligned in either */
	CHECK_EQ(dma_read(&map, 0x14000 - 2, buf, 4), 0);
	CHECK(!memcmp(buf, memory + 8 * PAGE - 2, 2));
	CHECK(!memcmp(buf + 2, memory + 12 * PAGE, 2));
	CHECK_EQ(map.reads, 2);
	tear_down();
}

static void refused(uint64_t addr, size_t len)
{
	static const uint8_t ones[4096 * 2] = { [0 ... 8191] = 0xff };
	uint64_t faults = map.faults;
	uint8_t buf[8192];

	memset(memory, 0, 16 * PAGE);
	memset(buf, 0x55, sizeof(buf));
	CHECK_EQ(dma_write(&map, addr, ones, len), -EFAULT);
	for (unsigned int i = 0; i < 16 * PAGE; i++)
		REQUIRE(!memory[i]);
	CHECK_EQ(dma_read(&map, addr, buf, len), -EFAULT);
	for (unsigned int i = 0; i < sizeof(buf); i++)
		REQUIRE(buf[i] == 0x55);
	CHECK_EQ(map.faults, faults + 2);
	CHECK_EQ(map.reads + map.writes + map.bytes, 0);
}

TEST(what_is_no_memory_is_refused_whole)
{
	set_up();
	refused(0x4000, 1);			/* behind a range */
	refused(0x3fff, 2);			/* over its end */
	refused(0x3000, 2 * PAGE);
	refused(0xffff, 2);			/* into a range from before it */
	refused(0x18000, 4);			/* a reservation */
	refused(0x17ffc, 8);			/* into the reservation */
	refused(0x19000, 1);			/* behind all */
	refused(UINT64_MAX, 1);
	refused(UINT64_MAX - 3, 8);		/* wraps to the range at 0 */
	tear_down();
}

TEST(direction_matters)
{
	uint32_t word = 1;

	set_up();
	CHECK_EQ(dma_read(&map, 0x10000, &word, 4), 0);
	CHECK_EQ(dma_write(&map, 0x10000, &word, 4), -EFAULT);
	/* from the read-only range into the one behind it */
	CHECK_EQ(dma_write(&map, 0x14000 - 4, &word, 8), -EFAULT);
	CHECK_EQ(dma_map_add(&map, 0x20000, PAGE, DMA_WRITABLE, file, 0), 0);
	CHECK_EQ(dma_write(&map, 0x20000, &word, 4), 0);
	CHECK_EQ(dma_read(&map, 0x20000, &word, 4), -EFAULT);
	CHECK_EQ(dma_map_add(&map, 0x30000, PAGE, 0, file, 0), 0);
	CHECK_EQ(dma_read(&map, 0x30000, &word, 4), -EFAULT);
	CHECK_EQ(map.faults, 4);
	tear_down();
}

TEST(overlap_is_refused)
{
	set_up();
	CHECK_EQ(dma_map_add(&map, 0x1000, PAGE, RW, file, 0), -EEXIST);
	CHECK_EQ(dma_map_add(&map, 0x3000, 2 * PAGE, RW, file, 0), -EEXIST);
	CHECK_EQ(dma_map_add(&map, 0xf000, 2 * PAGE, RW, file, 0), -EEXIST);
	CHECK_EQ(dma_map_add(&map, 0xf000, 64 * PAGE, RW, -1, 0), -EEXIST);
	CHECK_EQ(dma_map_add(&map, 0x18800, 16, RW, -1, 0), -EEXIST);
	CHECK_EQ(map.count, 4);
	/* neighbours on both sides are none */
	CHECK_EQ(dma_map_add(&map, 0x4000, 12 * PAGE, RW, file, 0), 0);
	CHECK_EQ(map.count, 5);
	tear_down();
}

TEST(bad_ranges_are_refused)
{
	int pipes[2];

	set_up();
	CHECK_EQ(dma_map_add(&map, 0x40000, 0, RW, file, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, 4, file, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, UINT64_MAX - PAGE + 1, 2 * PAGE, RW, file, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, UINT64_MAX, RW, -1, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40010, PAGE, RW, file, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, 100, RW, file, 0), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, RW, file, 100), -EINVAL);
	/* behind the end of the file an access would kill the process */
	CHECK_EQ(dma_map_add(&map, 0x40000, 2 * PAGE, RW, file, 15 * PAGE), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, RW, file, 17 * PAGE), -EINVAL);
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, RW, file, UINT64_MAX - PAGE + 1), -EINVAL);
	REQUIRE(!pipe(pipes));
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, RW, pipes[0], 0), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
	CHECK_EQ(dma_map_add(&map, 0x40000, PAGE, RW, pipes[0], 0), -EBADF);
	CHECK_EQ(map.count, 4);
	tear_down();
}

TEST(remove_takes_exact_ranges)
{
	uint32_t word;

	set_up();
	CHECK_EQ(dma_map_remove(&map, 0, PAGE), -ENOENT);
	CHECK_EQ(dma_map_remove(&map, 0x1000, 3 * PAGE), -ENOENT);
	CHECK_EQ(dma_map_remove(&map, 0x4000, PAGE), -ENOENT);
	CHECK_EQ(dma_map_remove(&map, 0x10000, 8 * PAGE), -ENOENT);
	CHECK_EQ(dma_map_remove(&map, UINT64_MAX, 1), -ENOENT);

	/* the range that was found last goes away, too */
	CHECK_EQ(dma_read(&map, 0x14000, &word, 4), 0);
	CHECK_EQ(dma_map_remove(&map, 0x14000, 4 * PAGE), 0);
	CHECK_EQ(dma_read(&map, 0x14000, &word, 4), -EFAULT);
	CHECK_EQ(dma_read(&map, 0x13ffc, &word, 4), 0);
	CHECK_EQ(dma_map_remove(&map, 0x18000, PAGE), 0);
	CHECK_EQ(dma_map_remove(&map, 0x18000, PAGE), -ENOENT);
	CHECK_EQ(map.count, 2);
	dma_map_clear(&map);
	CHECK_EQ(dma_read(&map, 0, &word, 4), -EFAULT);
	CHECK_EQ(dma_map_remove(&map, 0, 4 * PAGE), -ENOENT);
	tear_down();
}

/* many ranges, found, removed and added again in an order that is not that of addresses */
TEST(many_ranges)
{
	const unsigned int count = 1000;
	uint32_t word;

	set_up();
	dma_map_clear(&map);
	for (unsigned int i = 0; i < count; i++) {
		uint64_t n = i * 389ull % count;

		REQUIRE(!dma_map_add(&map, n * 2 * PAGE, PAGE, RW, file, n % 16 * PAGE));
	}
	CHECK_EQ(map.count, count);
	for (uint64_t n = 0; n < count; n++) {
		word = n;
		REQUIRE(!dma_write(&map, n * 2 * PAGE + 4 * (n / 16), &word, 4));
		REQUIRE(dma_read(&map, (n * 2 + 1) * PAGE, &word, 4) == -EFAULT);
	}
	for (uint64_t n = 0; n < count; n++) {
		memcpy(&word, memory + n % 16 * PAGE + 4 * (n / 16), 4);
		REQUIRE(word == n);
	}
	for (uint64_t n = 0; n < count; n += 2)
		REQUIRE(!dma_map_remove(&map, n * 2 * PAGE, PAGE));
	CHECK_EQ(map.count, count / 2);
	CHECK_EQ(dma_read(&map, 2 * PAGE, &word, 4), 0);
	CHECK_EQ(dma_read(&map, 4 * PAGE, &word, 4), -EFAULT);
	tear_down();
}

TEST(number_of_ranges_is_limited)
{
	set_up();
	dma_map_clear(&map);
	for (uint64_t i = 0; i < DMA_RANGES_MAX; i++)
		REQUIRE(!dma_map_add(&map, i * PAGE, PAGE, 0, -1, 0));
	CHECK_EQ(dma_map_add(&map, DMA_RANGES_MAX * PAGE, PAGE, 0, -1, 0), -ENOSPC);
	tear_down();
}

TAP_MAIN
