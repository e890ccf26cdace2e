// SPDX-License-Identifier: GPL-2.0
/*
 * The transport as QEMU meets it. What a message does to the device is looked at
 * in the tiny device of test_tiny.h; what goes over the socket is written down in
 * test_guest.c.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "tap.h"
#include "test_guest.h"
#include "test_tiny.h"

#define PAGE		4096ul
#define MEMORY_RW	3u

#define SET_NONE	0x21u	/* trigger, no data */
#define SET_EVENTFD	0x24u	/* trigger, eventfds */
#define MSIX		2u

#define QEMU_JSON	"{\"capabilities\":{\"migration\":{\"max_bitmap_size\":268435456,"	\
			"\"pgsize\":4096},\"max_msg_fds\":16,\"max_data_xfer_size\":1048576,"	\
			"\"pgsizes\":4096,\"max_dma_maps\":65535,\"write_multiple\":true}}"

static struct guest g;
static struct tiny *tiny;
static unsigned int descriptors_before;

static unsigned int open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void set_up(void)
{
	descriptors_before = open_descriptors();
	tiny_start();
	tiny = tiny_model.tiny[0];
	guest_open(&g);
}

static void boot(void)
{
	set_up();
	REQUIRE(guest_boot(&g, tiny_model.socket[0]));
}

static void tear_down(void)
{
	guest_close(&g);
	tiny_stop();
	CHECK_EQ(open_descriptors(), descriptors_before);
}

/* the connection is in step and the device answers */
static bool is_alive(void)
{
	static uint64_t number = 0x0123456789abcdef;

	number = number * 5 + 1;
	return !guest_write(&g, 0, TINY_SCRATCH, 8, number) &&
	       guest_get(&g, 0, TINY_SCRATCH, 8) == number;
}

static unsigned int config_cap(uint8_t id)
{
	unsigned int off = guest_get(&g, REGION_CONFIG, 0x34, 1);

	while (off && guest_get(&g, REGION_CONFIG, off, 1) != id)
		off = guest_get(&g, REGION_CONFIG, off + 1, 1);
	return off;
}

static uint32_t resets(void)
{
	return guest_get(&g, 0, TINY_RESETS, 4);
}

/*
 * Version
 */

static void check_version_reply(void)
{
	static const char json[] =
		"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":65536}}";

	CHECK_EQ(guest_u32(&g, 0), 0);
	CHECK_EQ(g.reply_len, 4 + sizeof(json));
	CHECK(g.reply_len - 4 <= 194);
	CHECK(!memcmp(g.reply + 4, json, sizeof(json)));
}

TEST(version_forms_that_are_taken)
{
	static const char *const forms[] = {
		NULL, "{}", "{\"capabilities\":{}}", QEMU_JSON, "", "text that is not JSON",
	};

	set_up();
	for (unsigned int i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		REQUIRE(guest_connect(&g, tiny_model.socket[0]));
		CHECK_EQ(guest_version(&g, forms[i]), 0);
		check_version_reply();
		CHECK(is_alive());
		guest_disconnect(&g);
	}
	tear_down();
}

TEST(version_forms_that_are_refused)
{
	static const uint8_t major[4] = { 1 }, unended[] = { 0, 0, 0, 0, '{', '}' };

	set_up();
	REQUIRE(guest_connect(&g, tiny_model.socket[0]));
	CHECK_EQ(guest_call(&g, CMD_VERSION, major, sizeof(major), NULL, 0), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_VERSION, unended, sizeof(unended), NULL, 0), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_VERSION, unended, 2, NULL, 0), EINVAL);
	CHECK_EQ(guest_version(&g, NULL), 0);
	CHECK_EQ(guest_version(&g, NULL), EINVAL);
	CHECK(is_alive());
	tear_down();
}

TEST(nothing_comes_before_the_version)
{
	set_up();
	REQUIRE(guest_connect(&g, tiny_model.socket[0]));
	CHECK_EQ(guest_read(&g, REGION_CONFIG, 0, 4), GUEST_CLOSED);
	tear_down();
}

/*
 * The whole of what QEMU does until a guest's driver runs
 */

static void attach_memory(void)
{
	CHECK_EQ(guest_map(&g, 0, 8 * PAGE, MEMORY_RW, g.memory_fd, 0), 0);
	CHECK_EQ(guest_map(&g, 0xc0000, 0x20000, 1, -1, 0), 0);
	CHECK_EQ(guest_map(&g, 0x100000, 32 * PAGE, MEMORY_RW, g.memory_fd, 16 * PAGE), 0);
	CHECK_EQ(guest_map(&g, 0xfffc0000, 0x40000, 1, -1, 0), 0);
}

static void attach_regions(void)
{
	static const uint64_t sizes[] = {
		TINY_REGS_SIZE, TINY_WHOLE_SIZE, TINY_PARTS_SIZE, 0, TINY_MSIX_SIZE, 0, 0, 256, 0,
	};

	for (unsigned int i = 0; i < 9; i++) {
		CHECK_EQ(guest_region_info(&g, i, 32), 0);
		CHECK_EQ(g.reply_len, 32);
		CHECK_EQ(guest_u32(&g, 8), i);
		CHECK_EQ(guest_u64(&g, 16), sizes[i]);
		CHECK_EQ(guest_u32(&g, 4) & 3, sizes[i] ? 3 : 0);
		if (guest_u32(&g, 0) > 32) {
			CHECK_EQ(guest_region_info(&g, i, guest_u32(&g, 0)), 0);
			CHECK_EQ(g.reply_len, guest_u32(&g, 0));
		}
	}
}

static void attach_config(void)
{
	unsigned int msix;

	CHECK_EQ(guest_read(&g, REGION_CONFIG, 0, 256), 0);
	CHECK_EQ(guest_u32(&g, 16), 0x56781234);
	/* no ROM */
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x30, 4), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 0x30, 4, 0xfffff800), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x30, 4), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 0x30, 4, 0), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x10, 4), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x14, 4), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x18, 4), 0xc);
	msix = config_cap(0x11);
	REQUIRE(msix);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, msix + 2, 2), TINY_VECTORS - 1);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, msix + 4, 4), 4);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, msix + 8, 4), TINY_PBA | 4);
	CHECK_EQ(guest_irq_info(&g, MSIX), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x3d, 1), 0);
}

static void attach_reset(void)
{
	uint32_t before = resets();

	CHECK_EQ(guest_get(&g, REGION_CONFIG, 4, 2), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 0), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, config_cap(1) + 4, 2), 8);
	CHECK_EQ(guest_call(&g, CMD_RESET, NULL, 0, NULL, 0), 0);
	CHECK_EQ(g.reply_len, 0);
	CHECK_EQ(resets(), before + 1);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x3d, 1), 0);
	for (unsigned int i = 0; i < 6; i++)
		CHECK_EQ(guest_write(&g, REGION_CONFIG, 0x10 + 4 * i, 4, 0), 0);
}

TEST(attach_sequence)
{
	static const uint8_t info[16] = { 16 };

	set_up();
	REQUIRE(guest_connect(&g, tiny_model.socket[0]));
	CHECK_EQ(guest_version(&g, QEMU_JSON), 0);
	attach_memory();
	CHECK_EQ(guest_call(&g, CMD_INFO, info, sizeof(info), NULL, 0), 0);
	CHECK_EQ(g.reply_len, 16);
	CHECK_EQ(guest_u32(&g, 0), 16);
	CHECK_EQ(guest_u32(&g, 4), 3);
	CHECK_EQ(guest_u32(&g, 8), 9);
	CHECK_EQ(guest_u32(&g, 12), 5);
	attach_regions();
	CHECK_EQ(guest_irq_info(&g, 3), EOPNOTSUPP);
	attach_config();
	attach_reset();

	/* the guest turns memory decoding on: BARs appear as memory without a file */
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 0x18, 4, 0xfe000000), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x18, 4), 0xc);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 0x0006), 0);
	CHECK_EQ(guest_map(&g, 0xfe000000, TINY_PARTS_SIZE, MEMORY_RW, -1, 0), 0);
	CHECK_EQ(guest_unmap(&g, 0xfe000000, TINY_PARTS_SIZE, 0), 0);
	CHECK(is_alive());
	tear_down();
}

TEST(info_needs_room)
{
	static const uint8_t small[16] = { 15 };

	boot();
	CHECK_EQ(guest_call(&g, CMD_INFO, small, sizeof(small), NULL, 0), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_INFO, small, 8, NULL, 0), EINVAL);
	CHECK(is_alive());
	tear_down();
}

/*
 * Regions
 */

TEST(whole_region_is_mapped_without_a_list)
{
	uint8_t *map;

	boot();
	CHECK_EQ(guest_region_info(&g, 1, 32), 0);
	CHECK_EQ(guest_u32(&g, 0), 32);
	CHECK_EQ(guest_u32(&g, 4), 1 | 2 | 4);
	CHECK_EQ(guest_u32(&g, 12), 0);
	CHECK_EQ(guest_u64(&g, 24), 0);
	REQUIRE(g.reply_fd >= 0);

	map = mmap(NULL, TINY_WHOLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g.reply_fd, 0);
	REQUIRE(map != MAP_FAILED);
	map[TINY_WHOLE_SIZE - 1] = 0x77;
	CHECK_EQ(tiny->dev.bar[1].mem[TINY_WHOLE_SIZE - 1], 0x77);
	/* a guest cannot pull the memory away */
	CHECK(ftruncate(g.reply_fd, 0));
	CHECK_EQ(guest_call(&g, CMD_RESET, NULL, 0, NULL, 0), 0);
	CHECK_EQ(map[TINY_WHOLE_SIZE - 1], 0);
	munmap(map, TINY_WHOLE_SIZE);
	tear_down();
}

TEST(parts_are_listed_when_there_is_room)
{
	uint8_t *map;

	boot();
	CHECK_EQ(guest_region_info(&g, 2, 32), 0);
	CHECK_EQ(g.reply_len, 32);
	CHECK_EQ(guest_u32(&g, 0), 80);
	CHECK_EQ(guest_u32(&g, 4) & 8, 0);
	CHECK_EQ(guest_region_info(&g, 2, 79), 0);
	CHECK_EQ(g.reply_len, 32);

	CHECK_EQ(guest_region_info(&g, 2, 80), 0);
	CHECK_EQ(g.reply_len, 80);
	CHECK_EQ(guest_u32(&g, 0), 80);
	CHECK_EQ(guest_u32(&g, 4), 1 | 2 | 4 | 8);
	CHECK_EQ(guest_u32(&g, 12), 32);
	CHECK_EQ(guest_u32(&g, 32), 1 | 1 << 16);
	CHECK_EQ(guest_u32(&g, 36), 0);
	CHECK_EQ(guest_u32(&g, 40), 2);
	CHECK_EQ(guest_u64(&g, 48), TINY_PART0);
	CHECK_EQ(guest_u64(&g, 56), TINY_PART0_SIZE);
	CHECK_EQ(guest_u64(&g, 64), TINY_PART1);
	CHECK_EQ(guest_u64(&g, 72), TINY_PART1_SIZE);
	REQUIRE(g.reply_fd >= 0);
	map = mmap(NULL, TINY_PART1_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g.reply_fd,
		   TINY_PART1);
	REQUIRE(map != MAP_FAILED);
	map[5] = 0x99;
	CHECK_EQ(tiny->dev.bar[2].mem[TINY_PART1 + 5], 0x99);
	munmap(map, TINY_PART1_SIZE);
	tear_down();
}

TEST(region_info_mistakes)
{
	boot();
	CHECK_EQ(guest_region_info(&g, 9, 32), EINVAL);
	CHECK_EQ(guest_region_info(&g, UINT32_MAX, 32), EINVAL);
	CHECK_EQ(guest_region_info(&g, 0, 31), EINVAL);
	CHECK_EQ(guest_region_info(&g, 0, 0), EINVAL);
	CHECK(is_alive());
	tear_down();
}

static struct tiny_access last_access(void)
{
	struct tiny_access access = { 0 };

	engine_lock();
	if (tiny->log_len)
		access = tiny->log[tiny->log_len - 1];
	engine_unlock();
	return access;
}

static unsigned int take_log_len(void)
{
	unsigned int len;

	engine_lock();
	len = tiny->log_len;
	tiny->log_len = 0;
	engine_unlock();
	return len;
}

TEST(accesses_of_every_size)
{
	const uint64_t value = 0x8877665544332211;

	boot();
	for (unsigned int size = 1; size <= 8; size *= 2) {
		uint64_t low = size == 8 ? value : value & ((1ull << 8 * size) - 1);

		CHECK_EQ(guest_write(&g, 0, TINY_LOG + 8 + size, size, value), 0);
		CHECK_EQ(last_access().write, true);
		CHECK_EQ(last_access().bar, 0);
		CHECK_EQ(last_access().size, size);
		CHECK_EQ(last_access().off, TINY_LOG + 8 + size);
		CHECK_EQ(last_access().value, low);
		CHECK_EQ(guest_read(&g, 0, TINY_LOG, size), 0);
		CHECK_EQ(last_access().write, false);
		CHECK_EQ(last_access().size, size);
		CHECK(!memcmp(g.reply + 16, (uint64_t [1]) { 0x1122334455667788 }, size));
	}
	tear_down();
}

/* devices see naturally aligned accesses only, in order */
TEST(odd_accesses_are_cut)
{
	static const struct {
		uint64_t off, size;
	} pieces[] = {
		{ TINY_LOG + 3, 1 }, { TINY_LOG + 4, 4 }, { TINY_LOG + 8, 8 }, { TINY_LOG + 16, 8 },
		{ TINY_LOG + 24, 2 }, { TINY_LOG + 26, 1 },
	};

	boot();
	take_log_len();
	CHECK_EQ(guest_read(&g, 0, TINY_LOG + 3, 24), 0);
	engine_lock();
	CHECK_EQ(tiny->log_len, 6);
	for (unsigned int i = 0; i < 6; i++) {
		CHECK_EQ(tiny->log[i].off, pieces[i].off);
		CHECK_EQ(tiny->log[i].size, pieces[i].size);
	}
	engine_unlock();
	tear_down();
}

TEST(large_reads_up_to_the_limit)
{
	boot();
	CHECK_EQ(guest_read(&g, 2, 0, TINY_PARTS_SIZE), 0);
	CHECK_EQ(g.reply_len, 16 + TINY_PARTS_SIZE);
	CHECK_EQ(guest_read(&g, REGION_CONFIG, 0, 256), 0);
	CHECK(is_alive());
	tear_down();
}

/* the parts of a backed BAR that are not mapped, and mapped ones if QEMU could not map */
TEST(backed_regions_can_be_trapped)
{
	boot();
	CHECK_EQ(guest_write(&g, 2, 0x10, 4, 0x1234), 0);
	CHECK_EQ(last_access().bar, 2);
	CHECK_EQ(guest_get(&g, 2, 0x10, 4), 0x1234);
	CHECK_EQ(guest_write(&g, 2, TINY_PART0 + 8, 8, 0x5678), 0);
	CHECK_EQ(last_access().off, TINY_PART0 + 8);
	CHECK_EQ(guest_get(&g, 2, TINY_PART0 + 8, 8), 0x5678);
	tear_down();
}

TEST(bad_accesses_get_an_error)
{
	static const struct {
		uint32_t region;
		uint64_t off;
		uint32_t count;
	} cases[] = {
		{ 0, TINY_REGS_SIZE, 4 }, { 0, TINY_REGS_SIZE - 2, 4 }, { 0, 0, 0 },
		{ 0, UINT64_MAX, 1 }, { 0, UINT64_MAX - 1, 4 }, { 0, 1ull << 32, 4 },
		{ 0, 0, UINT32_MAX }, { 0, 4, UINT32_MAX }, { 2, 0, 65537 },
		{ 3, 0, 4 }, { 6, 0, 4 }, { 8, 0, 1 }, { 9, 0, 4 }, { UINT32_MAX, 0, 4 },
		{ REGION_CONFIG, 256, 1 }, { REGION_CONFIG, 254, 4 }, { REGION_CONFIG, 0, 257 },
	};

	boot();
	take_log_len();
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(guest_read(&g, cases[i].region, cases[i].off, cases[i].count), EINVAL);
		if (cases[i].count <= 8)
			CHECK_EQ(guest_write(&g, cases[i].region, cases[i].off, cases[i].count, 0),
				 EINVAL);
	}
	CHECK_EQ(take_log_len(), 0);
	CHECK(is_alive());
	tear_down();
}

TEST(writes_carry_as_much_as_they_say)
{
	uint8_t payload[24] = { [12] = 8 };

	boot();
	CHECK_EQ(guest_call(&g, CMD_WRITE, payload, 20, NULL, 0), EINVAL);
	payload[12] = 4;
	CHECK_EQ(guest_call(&g, CMD_WRITE, payload, 24, NULL, 0), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_WRITE, payload, 20, NULL, 0), 0);
	CHECK_EQ(guest_call(&g, CMD_READ, payload, 20, NULL, 0), EINVAL);
	CHECK(is_alive());
	tear_down();
}

TEST(msix_structures_stay_outside)
{
	boot();
	take_log_len();
	CHECK_EQ(guest_write(&g, 4, 0, 4, 0xffffffff), 0);
	CHECK_EQ(guest_get(&g, 4, 0, 4), 0);
	CHECK_EQ(guest_write(&g, 4, 16 * TINY_VECTORS - 4, 4, 0xffffffff), 0);
	CHECK_EQ(guest_write(&g, 4, TINY_PBA, 8, UINT64_MAX), 0);
	CHECK_EQ(guest_get(&g, 4, TINY_PBA, 8), 0);
	CHECK_EQ(take_log_len(), 0);
	tear_down();
}

/*
 * Interrupts
 */

static void make_eventfds(int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		REQUIRE((fds[i] = eventfd(0, EFD_CLOEXEC)) >= 0);
}

static void close_all(int *fds, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
}

/* does a job that ends with @vector; true when its last word is there */
static bool run_job(uint64_t addr, uint32_t vector)
{
	memset(g.memory + addr + TINY_JOB_DONE, 0, 4);
	return !guest_write(&g, 0, TINY_VECTOR, 4, vector) &&
	       !guest_write(&g, 0, TINY_JOB, 8, addr) && guest_sees(&g, addr + TINY_JOB_DONE);
}

TEST(irq_info)
{
	boot();
	CHECK_EQ(guest_irq_info(&g, MSIX), 0);
	CHECK_EQ(g.reply_len, 16);
	CHECK_EQ(guest_u32(&g, 4), 1);
	CHECK_EQ(guest_u32(&g, 8), MSIX);
	CHECK_EQ(guest_u32(&g, 12), TINY_VECTORS);
	CHECK_EQ(guest_irq_info(&g, 0), 0);
	CHECK_EQ(guest_u32(&g, 12), 0);
	CHECK_EQ(guest_irq_info(&g, 3), EOPNOTSUPP);
	CHECK_EQ(guest_irq_info(&g, 5), EINVAL);
	tear_down();
}

/* as QEMU enables MSI-X: first a range without descriptors, then vectors one by one */
TEST(interrupts_one_by_one)
{
	int fds[TINY_VECTORS];

	boot();
	make_eventfds(fds, TINY_VECTORS);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 1, NULL, 0), 0);
	CHECK_EQ(g.reply_len, 0);
	for (unsigned int i = 0; i < TINY_VECTORS; i++)
		CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, i, 1, &fds[i], 1), 0);
	for (unsigned int i = 0; i < TINY_VECTORS; i++) {
		CHECK(run_job(0x1000, i));
		CHECK_EQ(guest_interrupts(fds[i], 5000), 1);
		for (unsigned int j = 0; j < TINY_VECTORS; j++)
			CHECK_EQ(guest_interrupts(fds[j], 0), 0);
	}
	close_all(fds, TINY_VECTORS);
	tear_down();
}

TEST(interrupts_in_ranges_and_replaced)
{
	int fds[TINY_VECTORS], other;

	boot();
	make_eventfds(fds, TINY_VECTORS);
	make_eventfds(&other, 1);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 1, 3, fds, 3), 0);
	CHECK(run_job(0x1000, 2));
	CHECK_EQ(guest_interrupts(fds[1], 5000), 1);

	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 2, 1, &other, 1), 0);
	CHECK(run_job(0x1000, 2));
	CHECK_EQ(guest_interrupts(other, 5000), 1);
	CHECK_EQ(guest_interrupts(fds[1], 0), 0);

	/* a range loses its descriptors, the rest keeps them */
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 2, 1, NULL, 0), 0);
	CHECK(run_job(0x1000, 2));
	CHECK_EQ(guest_interrupts(other, 20), 0);
	CHECK(run_job(0x1000, 3));
	CHECK_EQ(guest_interrupts(fds[2], 5000), 1);

	/* all of them */
	CHECK_EQ(guest_set_irqs(&g, SET_NONE, MSIX, 0, 0, NULL, 0), 0);
	CHECK(run_job(0x1000, 3));
	CHECK_EQ(guest_interrupts(fds[2], 20), 0);
	close_all(fds, TINY_VECTORS);
	close(other);
	tear_down();
}

TEST(interrupts_on_request)
{
	int fd;

	boot();
	make_eventfds(&fd, 1);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 4, 1, &fd, 1), 0);
	CHECK_EQ(guest_set_irqs(&g, SET_NONE, MSIX, 3, 2, NULL, 0), 0);
	CHECK_EQ(guest_interrupts(fd, 5000), 1);
	close(fd);
	tear_down();
}

TEST(interrupt_mistakes)
{
	int fds[TINY_VECTORS + 1];

	boot();
	make_eventfds(fds, TINY_VECTORS + 1);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, TINY_VECTORS + 1, fds, TINY_VECTORS + 1),
		 EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, TINY_VECTORS, 1, fds, 1), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, UINT32_MAX, 2, fds, 2), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 1, UINT32_MAX, fds, 1), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 3, fds, 2), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 1, fds, 2), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 0, NULL, 0), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, 0, 0, 1, fds, 1), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, 5, 0, 1, fds, 1), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, SET_NONE, MSIX, 0, 1, fds, 1), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, 0x22, MSIX, 0, 1, NULL, 0), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, 0x08 | 1, MSIX, 0, 1, NULL, 0), EINVAL);
	CHECK_EQ(guest_set_irqs(&g, 0, MSIX, 0, 1, NULL, 0), EINVAL);
	/* what does not exist can be turned off */
	CHECK_EQ(guest_set_irqs(&g, SET_NONE, 0, 0, 0, NULL, 0), 0);
	CHECK(run_job(0x1000, 0));
	CHECK_EQ(guest_interrupts(fds[0], 20), 0);
	close_all(fds, TINY_VECTORS + 1);
	tear_down();
}

/* a counter that is full, or no eventfd at all, must not stop the model */
TEST(interrupts_never_block)
{
	uint64_t full = UINT64_MAX - 1;
	int pipes[2], fd;
	char byte = 0;

	boot();
	make_eventfds(&fd, 1);
	REQUIRE(write(fd, &full, sizeof(full)) == sizeof(full));
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 1, &fd, 1), 0);
	CHECK(run_job(0x1000, 0));
	REQUIRE(!pipe2(pipes, O_NONBLOCK));
	while (write(pipes[1], &byte, 1) == 1)
		;
	fcntl(pipes[1], F_SETFL, 0);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 1, &pipes[1], 1), 0);
	CHECK(run_job(0x1000, 0));
	CHECK(run_job(0x1000, 0));
	CHECK(is_alive());
	close(fd);
	close_all(pipes, 2);
	tear_down();
}

/*
 * Guest memory
 */

static unsigned int jobs_failed(void)
{
	unsigned int failed;

	engine_lock();
	failed = tiny->jobs_failed;
	engine_unlock();
	return failed;
}

/* a job that must fail; true if it has */
static bool job_fails(uint64_t addr)
{
	unsigned int before = jobs_failed();

	if (guest_write(&g, 0, TINY_JOB, 8, addr))
		return false;
	for (int tries = 0; tries < 5000 && jobs_failed() == before; tries++)
		usleep(1000);
	return jobs_failed() == before + 1;
}

static bool job_result_is_right(uint64_t addr)
{
	for (unsigned int i = 0; i < TINY_JOB_SIZE; i++)
		if (g.memory[addr + i] + g.memory[addr + TINY_JOB_SIZE + i] != 0xff)
			return false;
	return true;
}

TEST(jobs_read_and_write_memory)
{
	boot();
	for (unsigned int i = 0; i < TINY_JOB_SIZE; i++)
		g.memory[0x2340 + i] = 3 * i;
	CHECK(run_job(0x2340, 0));
	CHECK(job_result_is_right(0x2340));
	tear_down();
}

TEST(memory_in_pieces)
{
	set_up();
	REQUIRE(guest_connect(&g, tiny_model.socket[0]));
	CHECK_EQ(guest_version(&g, NULL), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	/* 0x10000: page 5, then page 2, then a hole, then a ROM, then read-only memory */
	CHECK_EQ(guest_map(&g, 0x11000, PAGE, MEMORY_RW, g.memory_fd, 2 * PAGE), 0);
	CHECK_EQ(guest_map(&g, 0x10000, PAGE, MEMORY_RW, g.memory_fd, 5 * PAGE), 0);
	CHECK_EQ(guest_map(&g, 0x13000, PAGE, 1, -1, 0), 0);
	CHECK_EQ(guest_map(&g, 0x14000, PAGE, 1, g.memory_fd, 6 * PAGE), 0);

	memset(g.memory + 6 * PAGE - 64, 0x3c, 64);
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 0x11000 - 64), 0);
	CHECK(guest_sees(&g, 2 * PAGE + 64));
	CHECK_EQ(g.memory[2 * PAGE], 0xc3);
	CHECK_EQ(g.memory[2 * PAGE + 63], 0xc3);

	CHECK(job_fails(0x12000 - 32));
	CHECK(job_fails(0x12000));
	CHECK(job_fails(0x13000));
	CHECK(job_fails(0x14000));
	CHECK_EQ(g.memory[6 * PAGE + 64], 0);
	tear_down();
}

TEST(map_mistakes)
{
	uint64_t valid[4] = { 32 | 3ull << 32, 0, 1 << 30, PAGE };
	uint8_t payload[32] = { 31 };
	int two[2];

	boot();
	two[0] = two[1] = g.memory_fd;
	CHECK_EQ(guest_map(&g, 0, PAGE, MEMORY_RW, g.memory_fd, 0), EEXIST);
	CHECK_EQ(guest_map(&g, GUEST_SIZE - PAGE, 2 * PAGE, MEMORY_RW, -1, 0), EEXIST);
	CHECK_EQ(guest_map(&g, 1 << 30, 0, MEMORY_RW, g.memory_fd, 0), EINVAL);
	CHECK_EQ(guest_map(&g, 1 << 30, PAGE, 0x10, g.memory_fd, 0), EINVAL);
	CHECK_EQ(guest_map(&g, UINT64_MAX - PAGE + 1, 2 * PAGE, MEMORY_RW, -1, 0), EINVAL);
	CHECK_EQ(guest_map(&g, 1 << 30, PAGE, MEMORY_RW, g.memory_fd, GUEST_SIZE), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_DMA_MAP, payload, sizeof(payload), NULL, 0), EINVAL);
	payload[0] = 32;
	CHECK_EQ(guest_call(&g, CMD_DMA_MAP, payload, 31, NULL, 0), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_DMA_MAP, valid, sizeof(valid), two, 2), EINVAL);
	CHECK_EQ(guest_call(&g, CMD_DMA_MAP, valid, sizeof(valid), two, 1), 0);
	CHECK_EQ(guest_unmap(&g, 0, PAGE, 0), ENOENT);
	CHECK_EQ(guest_unmap(&g, 0, GUEST_SIZE, 1), EINVAL);
	CHECK_EQ(guest_unmap(&g, 0, GUEST_SIZE, 2), EINVAL);
	CHECK(run_job(0x1000, 0));
	tear_down();
}

TEST(unmap_means_no_more_access)
{
	boot();
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 0x1000), 0);
	CHECK(guest_sees(&g, 0x1000 + TINY_JOB_DONE));
	/* the same again, but with its memory taken away in between */
	CHECK_EQ(guest_write(&g, 0, TINY_TIMER, 4, 30), 0);
	CHECK_EQ(guest_unmap(&g, 0, GUEST_SIZE, 0), 0);
	CHECK_EQ(g.reply_len, 24);
	CHECK_EQ(guest_u64(&g, 16), GUEST_SIZE);
	memset(g.memory, 0, GUEST_SIZE);
	for (int tries = 0; tries < 5000 && !jobs_failed(); tries++)
		usleep(1000);
	CHECK_EQ(jobs_failed(), 1);
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);

	CHECK_EQ(guest_map(&g, 0x4000, PAGE, MEMORY_RW, g.memory_fd, 0x4000), 0);
	CHECK_EQ(guest_map(&g, 0x6000, PAGE, MEMORY_RW, g.memory_fd, 0x6000), 0);
	CHECK(run_job(0x6000, 0));
	CHECK_EQ(guest_unmap(&g, 0, 0, 2), 0);
	CHECK(job_fails(0x4000));
	CHECK(job_fails(0x6000));
	tear_down();
}

/* no time and no memory access before the driver has allowed it */
TEST(bus_mastering_is_needed)
{
	boot();
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 2), 0);
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 0x1000), 0);
	usleep(20000);
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);
	CHECK_EQ(jobs_failed(), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK(guest_sees(&g, 0x1000 + TINY_JOB_DONE));
	engine_lock();
	CHECK_EQ(tiny->dev.violations, 0);
	engine_unlock();
	tear_down();
}

TEST(dma_without_bus_mastering_is_a_violation)
{
	uint32_t word;

	boot();
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 2), 0);
	engine_lock();
	CHECK_EQ(model_dma_read(&tiny->dev, 0, &word, sizeof(word)), -EFAULT);
	CHECK_EQ(model_dma_write(&tiny->dev, 0, &word, sizeof(word)), -EFAULT);
	CHECK_EQ(tiny->dev.violations, 2);
	engine_unlock();
	tear_down();
}

TEST(mapped_doorbell_is_polled)
{
	uint32_t *map;

	boot();
	CHECK(run_job(0x3000, 0));
	memset(g.memory + 0x3000 + TINY_JOB_DONE, 0, 4);
	CHECK_EQ(guest_region_info(&g, 1, 32), 0);
	map = mmap(NULL, TINY_WHOLE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, g.reply_fd, 0);
	REQUIRE(map != MAP_FAILED);
	CHECK_EQ(guest_write(&g, 0, TINY_POLLED, 4, 1), 0);
	__atomic_store_n(map, 1, __ATOMIC_RELEASE);
	CHECK(guest_sees(&g, 0x3000 + TINY_JOB_DONE));
	munmap(map, TINY_WHOLE_SIZE);
	tear_down();
}

/*
 * Reset
 */

/* no job at address 0 succeeds or fails from now on */
static void nothing_is_done_in(unsigned int ms)
{
	unsigned int failed = jobs_failed();

	memset(g.memory, 0, PAGE);
	usleep(1000 * ms);
	CHECK_EQ(g.memory[TINY_JOB_DONE], 0);
	CHECK_EQ(jobs_failed(), failed);
}

TEST(device_reset)
{
	uint32_t before;
	int fd;

	boot();
	make_eventfds(&fd, 1);
	CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 1, 1, &fd, 1), 0);
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 77), 0);
	before = resets();
	CHECK_EQ(guest_call(&g, CMD_RESET, NULL, 0, NULL, 0), 0);
	CHECK_EQ(g.reply_len, 0);
	CHECK_EQ(resets(), before + 1);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 4, 2), 0);
	/* memory and interrupts are the guest's and stay */
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK(run_job(0x1000, 1));
	CHECK_EQ(guest_interrupts(fd, 5000), 1);
	CHECK_EQ(guest_call(&g, CMD_RESET, &before, sizeof(before), NULL, 0), EINVAL);
	close(fd);
	tear_down();
}

TEST(function_level_reset)
{
	unsigned int control;
	uint32_t before;

	boot();
	control = config_cap(0x10) + 8;
	before = resets();
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 77), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, control, 2, 0x2810), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, control, 2), 0x2810);
	CHECK_EQ(resets(), before);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, control, 2, 0xa810), 0);
	CHECK_EQ(resets(), before + 1);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, control, 2), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 4, 2), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK(run_job(0x1000, 0));
	tear_down();
}

TEST(reset_forgets_what_was_wanted)
{
	boot();
	CHECK_EQ(guest_write(&g, 0, TINY_TIMER, 4, 100), 0);
	CHECK_EQ(guest_call(&g, CMD_RESET, NULL, 0, NULL, 0), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	nothing_is_done_in(150);
	tear_down();
}

/*
 * Gone and stopped
 */

static void set_gone(bool gone)
{
	engine_lock();
	slot_set_gone(tiny_model.slot[0], gone);
	engine_unlock();
}

TEST(f79_gone_mode)
{
	uint32_t before;

	boot();
	before = resets();
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 77), 0);
	set_gone(true);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), UINT64_MAX);
	CHECK_EQ(guest_get(&g, 2, 0, 4), 0xffffffff);
	CHECK_EQ(guest_get(&g, 4, TINY_PBA, 4), 0xffffffff);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0, 4), 0xffffffff);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x3d, 1), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0x3c, 4), 0xffff00ff);
	CHECK_EQ(guest_read(&g, REGION_CONFIG, 0, 256), 0);
	CHECK_EQ(g.reply[16 + 0x3c], 0xff);
	CHECK_EQ(g.reply[16 + 0x3d], 0);
	/* still checked, still answered */
	CHECK_EQ(guest_read(&g, 0, TINY_REGS_SIZE, 4), EINVAL);
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 88), 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 0x1000), 0);
	CHECK_EQ(guest_call(&g, CMD_RESET, NULL, 0, NULL, 0), 0);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 4), 0xffffffff);

	set_gone(false);
	CHECK(resets() > before);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 4, 2), 0);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0, 4), 0x56781234);
	usleep(20000);
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK(run_job(0x1000, 0));
	tear_down();
}

TEST(gone_loses_the_state_at_once)
{
	unsigned int before;

	boot();
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 77), 0);
	before = resets();
	set_gone(true);
	engine_lock();
	CHECK_EQ(tiny->resets, before + 1);
	CHECK_EQ(tiny->scratch, 0);
	engine_unlock();
	set_gone(true);
	set_gone(false);
	CHECK_EQ(resets(), before + 2);
	set_gone(false);
	CHECK_EQ(resets(), before + 2);
	tear_down();
}

/* by its own wish: when its slice is over, not in the middle of it */
TEST(a_device_leaves_by_itself)
{
	bool gone = false;

	boot();
	engine_lock();
	model_leave(&tiny->dev);
	CHECK(!tiny_model.slot[0]->gone);
	engine_unlock();
	for (int tries = 0; tries < 5000 && !gone; tries++) {
		usleep(1000);
		engine_lock();
		gone = tiny_model.slot[0]->gone;
		engine_unlock();
	}
	CHECK(gone);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), UINT64_MAX);
	set_gone(false);
	CHECK_EQ(guest_get(&g, REGION_CONFIG, 0, 4), 0x56781234);
	/* and does not leave again */
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK(run_job(0x1000, 0));
	engine_lock();
	CHECK(!tiny_model.slot[0]->gone);
	engine_unlock();
	tear_down();
}

/* pulled in the middle of its work: nothing reaches memory any more */
TEST(f79_gone_ends_dma)
{
	boot();
	CHECK_EQ(guest_write(&g, 0, TINY_TIMER, 4, 100), 0);
	set_gone(true);
	nothing_is_done_in(150);
	tear_down();
}

TEST(stopped_device_answers_but_does_nothing)
{
	boot();
	engine_lock();
	slot_set_stopped(tiny_model.slot[0], true);
	engine_unlock();
	CHECK(is_alive());
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 0x1000), 0);
	usleep(20000);
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);
	engine_lock();
	slot_set_stopped(tiny_model.slot[0], false);
	engine_unlock();
	CHECK(guest_sees(&g, 0x1000 + TINY_JOB_DONE));
	tear_down();
}

static unsigned int packets(int i)
{
	unsigned int n;

	engine_lock();
	n = tiny_model.tiny[i]->packets;
	engine_unlock();
	return n;
}

static int send_packet(void)
{
	int err;

	engine_lock();
	err = fabric_send(&tiny_model.tiny[0]->port, tiny_model.tiny[1]->port.addr, "x", 1);
	engine_unlock();
	return err;
}

/* a port is on the network while its device runs */
TEST(packets_and_the_state_of_the_slot)
{
	struct guest other;

	boot();
	CHECK_EQ(send_packet(), 0);
	usleep(10000);
	CHECK_EQ(packets(1), 0);

	guest_open(&other);
	REQUIRE(guest_boot(&other, tiny_model.socket[1]));
	CHECK_EQ(send_packet(), 0);
	for (int tries = 0; tries < 5000 && !packets(1); tries++)
		usleep(1000);
	CHECK_EQ(packets(1), 1);

	engine_lock();
	slot_set_stopped(tiny_model.slot[1], true);
	engine_unlock();
	CHECK_EQ(send_packet(), 0);
	usleep(10000);
	CHECK_EQ(packets(1), 1);
	engine_lock();
	slot_set_stopped(tiny_model.slot[1], false);
	engine_unlock();
	for (int tries = 0; tries < 5000 && packets(1) < 2; tries++)
		usleep(1000);
	CHECK_EQ(packets(1), 2);

	CHECK_EQ(guest_write(&other, REGION_CONFIG, 4, 2, 2), 0);
	CHECK_EQ(send_packet(), 0);
	usleep(10000);
	CHECK_EQ(packets(1), 2);
	set_gone(true);
	CHECK_EQ(send_packet(), -ENETDOWN);
	guest_close(&other);
	tear_down();
}

/*
 * The stream
 */

TEST(unknown_commands)
{
	static const uint16_t unknown[] = { 0, 6, 11, 12, 14, 15, 17, 18, 99, 65535 };

	boot();
	for (unsigned int i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		CHECK_EQ(guest_call(&g, unknown[i], NULL, 0, NULL, 0), ENOSYS);
	CHECK_EQ(guest_call(&g, CMD_FEATURE, NULL, 0, NULL, 0), ENOTTY);
	CHECK(is_alive());
	tear_down();
}

TEST(garbage_closes_the_connection)
{
	static const uint32_t headers[][4] = {
		{ 5 << 16 | 1, 15, 0, 0 },		/* shorter than a header */
		{ 5 << 16 | 1, 0, 0, 0 },
		{ 5 << 16 | 1, 16 + 65536 + 16 + 1, 0, 0 },
		{ 5 << 16 | 1, UINT32_MAX, 0, 0 },
		{ 9 << 16 | 1, 32, 1, 0 },		/* a reply */
		{ 9 << 16 | 1, 32, 2, 0 },
		{ 9 << 16 | 1, 32, 15, 0 },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
	};

	set_up();
	for (unsigned int i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		REQUIRE(guest_boot(&g, tiny_model.socket[0]));
		guest_send_raw(&g, headers[i], sizeof(headers[i]), NULL, 0);
		CHECK_EQ(guest_receive(&g, 0), GUEST_CLOSED);
		guest_disconnect(&g);
	}
	tear_down();
}

/* requests cut anywhere are put together again */
TEST(slow_senders)
{
	uint8_t message[16 + 20] = { 0 };
	uint32_t size = sizeof(message), word = 0x600d;

	boot();
	message[2] = CMD_WRITE;
	memcpy(message + 4, &size, 4);
	message[16] = TINY_SCRATCH;
	message[28] = 4;
	memcpy(message + 32, &word, 4);
	g.id = 0;
	for (unsigned int i = 0; i < sizeof(message); i++) {
		guest_send_raw(&g, message + i, 1, NULL, 0);
		if (i % 8 == 7)
			usleep(1000);
	}
	CHECK_EQ(guest_receive(&g, CMD_WRITE), 0);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 4), word);
	tear_down();
}

TEST(cut_off_in_the_middle)
{
	static const uint8_t part[20] = { 0, 0, CMD_DMA_MAP, 0, 48 };

	set_up();
	for (unsigned int len = 1; len <= sizeof(part); len += 5) {
		REQUIRE(guest_boot(&g, tiny_model.socket[0]));
		guest_send_raw(&g, part, len, &g.memory_fd, 1);
		guest_disconnect(&g);
	}
	REQUIRE(guest_boot(&g, tiny_model.socket[0]));
	CHECK(is_alive());
	tear_down();
}

/* more requests than the socket holds answers for, before the first answer is read */
TEST(requests_in_a_pipeline)
{
	enum { COUNT = 3000 };
	uint8_t payload[16] = { 0 };
	uint32_t count = 256;
	uint16_t first;
	pid_t sender;

	boot();
	payload[8] = REGION_CONFIG;
	memcpy(payload + 12, &count, 4);
	first = g.id;
	sender = fork();
	if (!sender) {
		for (int i = 0; i < COUNT; i++)
			guest_send(&g, CMD_READ, 0, payload, sizeof(payload), NULL, 0);
		_exit(0);
	}
	usleep(200000);
	for (int i = 1; i <= COUNT; i++) {
		g.id = first + i;
		REQUIRE(!guest_receive(&g, CMD_READ));
		REQUIRE(g.reply_len == 16 + count);
	}
	CHECK_EQ(waitpid(sender, NULL, 0), sender);
	CHECK(is_alive());
	tear_down();
}

/* descriptors belong to the message they came with, however many wait behind it */
TEST(descriptors_in_a_pipeline)
{
	static const uint64_t offsets[] = { 3 * PAGE, 9 * PAGE };
	uint16_t first;

	set_up();
	REQUIRE(guest_connect(&g, tiny_model.socket[0]));
	CHECK_EQ(guest_version(&g, NULL), 0);
	first = g.id;
	for (unsigned int i = 0; i < 6; i++) {
		uint64_t offset = i % 3 ? 0 : offsets[i / 3];
		uint64_t payload[4] = { 32 | 3ull << 32, offset, i * PAGE, PAGE };

		guest_send(&g, CMD_DMA_MAP, 0, payload, sizeof(payload), &g.memory_fd, i % 3 == 0);
	}
	for (unsigned int i = 0; i < 6; i++) {
		g.id = first + 1 + i;
		CHECK_EQ(guest_receive(&g, CMD_DMA_MAP), 0);
	}
	CHECK_EQ(guest_write(&g, REGION_CONFIG, 4, 2, 6), 0);
	CHECK_EQ(guest_write(&g, 0, TINY_JOB, 8, 3 * PAGE), 0);
	CHECK(guest_sees(&g, offsets[1] + TINY_JOB_DONE));
	CHECK(job_fails(PAGE));
	CHECK(job_fails(4 * PAGE));
	tear_down();
}

TEST(requests_without_reply)
{
	uint8_t payload[24] = { [12] = 8, [16] = 42 };

	boot();
	guest_send(&g, CMD_WRITE, 0x10, payload, sizeof(payload), NULL, 0);
	guest_send(&g, 99, 0x10, NULL, 0, NULL, 0);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 42);
	tear_down();
}

TEST(descriptors_nobody_wants_are_closed)
{
	int fds[17];
	unsigned int before;

	boot();
	for (unsigned int i = 0; i < 17; i++)
		fds[i] = g.memory_fd;
	before = open_descriptors();
	guest_send(&g, CMD_FEATURE, 0, NULL, 0, fds, 16);
	CHECK_EQ(guest_receive(&g, CMD_FEATURE), ENOTTY);
	guest_send(&g, CMD_RESET, 0, NULL, 0, fds, 3);
	CHECK_EQ(guest_receive(&g, CMD_RESET), 0);
	/* the answer comes first; with the next one it is certain */
	CHECK(is_alive());
	CHECK_EQ(open_descriptors(), before);
	/* more than was agreed upon */
	guest_send(&g, CMD_RESET, 0, NULL, 0, fds, 17);
	CHECK_EQ(guest_receive(&g, CMD_RESET), GUEST_CLOSED);
	tear_down();
}

/*
 * Guests come and go
 */

TEST(second_guest_is_refused)
{
	struct guest other;

	boot();
	guest_open(&other);
	REQUIRE(guest_connect(&other, tiny_model.socket[0]));
	CHECK_EQ(guest_version(&other, NULL), GUEST_CLOSED);
	CHECK(is_alive());
	guest_close(&other);
	tear_down();
}

TEST(two_devices_beside_each_other)
{
	struct guest other;

	boot();
	guest_open(&other);
	REQUIRE(guest_boot(&other, tiny_model.socket[1]));
	CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 1), 0);
	CHECK_EQ(guest_write(&other, 0, TINY_SCRATCH, 8, 2), 0);
	CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 1);
	CHECK_EQ(guest_get(&other, 0, TINY_SCRATCH, 8), 2);
	CHECK_EQ(guest_write(&other, 0, TINY_JOB, 8, 0x1000), 0);
	CHECK(guest_sees(&other, 0x1000 + TINY_JOB_DONE));
	CHECK_EQ(g.memory[0x1000 + TINY_JOB_DONE], 0);
	guest_close(&other);
	CHECK(is_alive());
	tear_down();
}

TEST(next_guest_finds_a_fresh_device)
{
	int fd;

	boot();
	make_eventfds(&fd, 1);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(guest_get(&g, 0, TINY_SCRATCH, 8), 0);
		CHECK_EQ(guest_write(&g, 0, TINY_SCRATCH, 8, 77), 0);
		CHECK_EQ(guest_set_irqs(&g, SET_EVENTFD, MSIX, 0, 1, &fd, 1), 0);
		guest_disconnect(&g);
		/* at once: the model may see the new guest before the end of the old one */
		REQUIRE(guest_boot(&g, tiny_model.socket[0]));
	}
	/* neither the old guest's interrupt nor its memory */
	CHECK(run_job(0x1000, 0));
	CHECK_EQ(guest_interrupts(fd, 20), 0);
	close(fd);
	tear_down();
}

/* the model may see the next guest before it sees that the last one has gone */
TEST(next_guest_is_seen_first)
{
	struct guest busy, next;

	boot();
	guest_open(&busy);
	guest_open(&next);
	REQUIRE(guest_boot(&busy, tiny_model.socket[1]));
	engine_lock();
	guest_send(&busy, CMD_RESET, 0, NULL, 0, NULL, 0);
	usleep(20000);
	/* the model waits for the lock; meanwhile it is the listener that has something first */
	REQUIRE(guest_connect(&next, tiny_model.socket[0]));
	guest_disconnect(&g);
	engine_unlock();
	CHECK_EQ(guest_version(&next, NULL), 0);
	guest_close(&busy);
	guest_close(&next);
	tear_down();
}

static size_t ranges(void)
{
	size_t count;

	engine_lock();
	count = tiny_model.slot[0]->dma.count;
	engine_unlock();
	return count;
}

TEST(memory_is_let_go_with_the_guest)
{
	boot();
	CHECK_EQ(guest_write(&g, 0, TINY_TIMER, 4, 100), 0);
	guest_disconnect(&g);
	for (int tries = 0; tries < 5000 && ranges(); tries++)
		usleep(1000);
	CHECK_EQ(ranges(), 0);
	nothing_is_done_in(150);
	tear_down();
}

TAP_MAIN
