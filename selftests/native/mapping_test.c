// SPDX-License-Identifier: GPL-2.0
/* Finding the provider's mappings, and the life of the library's own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/efadv.h>

#include "fake_kernel.h"
#include "internal.h"
#include "tap.h"

#define DEV	"/dev/infiniband/uverbs0"

static const char maps[] =
	"55d0c0000000-55d0c0001000 r--p 00000000 08:01 1234            /usr/bin/program\n"
	"7f0000000000-7f0000002000 -w-s 100000000 00:06 500          " DEV "\n"
	"7f0000002000-7f0000003000 -w-s 100004000 00:06 500          " DEV "\n"
	"7f0000004000-7f0000008000 rw-s 100010000 00:06 500          " DEV "\n"
	"7f0000009000-7f000000a000 rw-p 100020000 00:06 500          " DEV "\n"
	"7f000000b000-7f000000c000 rw-s 100020000 00:06 501          " DEV "1\n"
	"7f000000d000-7f000000e000 rw-s 100030000 00:06 500          " DEV " (deleted)\n"
	"7f000000f000-7f0000010000 rw-p 00000000 00:00 0 \n"
	"nonsense\n"
	"7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]";

static const char *rest;

static uint64_t find(uint64_t key, uint64_t length)
{
	return (uintptr_t)dvq_maps_find(maps, DEV, key, length, &rest);
}

TEST(mapping_is_found_by_its_offset)
{
	CHECK_EQ(find(0x100000000, 0x2000), 0x7f0000000000);
	CHECK_EQ(find(0x100004000, 0x1000), 0x7f0000002000);
}

TEST(part_of_a_mapping)
{
	CHECK_EQ(find(0x100012000, 0x2000), 0x7f0000006000);
	CHECK_EQ(find(0x100001000, 0x1000), 0x7f0000001000);
}

TEST(too_short_private_or_of_another_file)
{
	CHECK_EQ(find(0x100000000, 0x2001), 0);
	CHECK_EQ(find(0x100012000, 0x2001), 0);
	CHECK_EQ(find(0x100020000, 0x1000), 0);
	CHECK_EQ(find(0x100030000, 0x1000), 0);
	CHECK_EQ(find(0x100008000, 0x1000), 0);
	CHECK_EQ(find(0, 0x1000), 0);
	CHECK_EQ(find(~0ull, 0x1000), 0);
}

TEST(file_that_was_removed_has_that_in_its_name)
{
	CHECK_EQ((uintptr_t)dvq_maps_find(maps, DEV " (deleted)", 0x100030000, 0x1000, &rest),
		 0x7f000000d000);
}

TEST(odd_texts)
{
	CHECK(!dvq_maps_find("", DEV, 0, 1, &rest));
	CHECK(!dvq_maps_find("\n\n", DEV, 0, 1, &rest));
	CHECK(!dvq_maps_find("7f00-7e00 rw-s 0 0:0 0 " DEV, DEV, 0, 1, &rest));
	CHECK(!dvq_maps_find("7f00-7f00 rw-s 0 0:0 0 " DEV, DEV, 0, 1, &rest));
	CHECK_EQ((uintptr_t)dvq_maps_find("7f00-8f00 rw-s 0 0:0 0 " DEV, DEV, 0, 1, &rest), 0x7f00);
}

static struct ibv_qp qp_of(struct ibv_context *context)
{
	return (struct ibv_qp) { .context = context, .handle = 1, .state = IBV_QPS_RESET };
}

TEST(providers_mappings_are_named_and_none_is_made)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;
	void *map[4];

	map[0] = mmap(NULL, 0x2000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x10000);
	map[1] = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x14000);
	map[2] = mmap(NULL, 0x2000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x20000);
	map[3] = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x24000);
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK(sq.buffer == (uint8_t *)map[0] + 64);
	CHECK((uint8_t *)sq.doorbell == (uint8_t *)map[1] + 0x124);
	CHECK(rq.buffer == map[2]);
	CHECK((uint8_t *)rq.doorbell == (uint8_t *)map[3] + 0x124);
	CHECK_EQ(fake_mappings(), 4);
	for (int i = 0; i < 4; i++)
		munmap(map[i], i % 2 ? 0x1000 : 0x2000);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* a ring that is open looks like the provider's mapping, and goes with its close */
TEST(rings_that_are_open_are_not_the_providers)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;
	struct dvq_efa_sq ring;
	void *map[2];

	map[0] = mmap(NULL, 0x2000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x10000);
	map[1] = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x14000);
	CHECK_EQ(dvq_efa_sq_open(&qp, &ring, sizeof(ring)), 0);
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK(sq.buffer == (uint8_t *)map[0] + 64);
	CHECK((uint8_t *)sq.doorbell == (uint8_t *)map[1] + 0x124);
	dvq_efa_sq_close(&ring);
	munmap(map[0], 0x2000);
	munmap(map[1], 0x1000);
	fake_close(context);
}

TEST(doorbells_that_are_open_are_not_the_providers)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_ionic_rq rq, copy;
	void *map = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x4000);

	CHECK_EQ(dvq_ionic_rq_open(&qp, &rq, sizeof(rq)), 0);
	copy = rq;
	CHECK(dvq_provider_mapping(context->cmd_fd, 0x4000, 0x1000) == map);
	dvq_ionic_rq_close(&rq);
	CHECK(dvq_provider_mapping(context->cmd_fd, 0x4000, 0x1000) == map);
	/* what is there now is somebody else's */
	dvq_ionic_rq_close(&copy);
	munmap(map, 0x1000);
	CHECK(!dvq_provider_mapping(context->cmd_fd, 0x4000, 0x1000));
	fake_close(context);
}

/* a key may be one of the library's own, and an offset */
TEST(middle_of_an_own_mapping_is_not_the_providers)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	const int fd = context->cmd_fd;
	void *own, *map;

	/* what other tests have left behind */
	dvq_borrow_reap();
	CHECK_EQ(dvq_map(fd, 0x10000, 0x2000, PROT_WRITE, &own), 0);
	CHECK(!dvq_provider_mapping(fd, 0x10000, 0x2000));
	CHECK(!dvq_provider_mapping(fd, 0x11000, 0x1000));
	map = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, fd, 0x11000);
	CHECK(dvq_provider_mapping(fd, 0x11000, 0x1000) == map);
	munmap(map, 0x1000);
	dvq_unmap((uintptr_t)own, 0x2000);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(own_mappings_go_with_the_object)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq, again;
	struct efadv_cq_attr cq_attr;
	struct ibv_cq cq = { .context = context, .handle = 1 };

	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	CHECK_EQ(fake_mappings(), 4);
	/* asked again: the same */
	CHECK_EQ(efadv_query_qp_wqs(&qp, &again, &rq, sizeof(sq)), 0);
	CHECK(again.buffer == sq.buffer);
	CHECK_EQ(fake_mappings(), 4);
	CHECK_EQ(efadv_query_cq(&cq, &cq_attr, sizeof(cq_attr)), 0);
	CHECK_EQ(fake_mappings(), 6);
	/* the QP is destroyed: at the next call its mappings go, the CQ's stay */
	fake_kernel.qps[1].exists = false;
	CHECK_EQ(efadv_query_cq(&cq, &cq_attr, sizeof(cq_attr)), 0);
	CHECK_EQ(fake_mappings(), 2);
	/* another object has the handle now */
	fake_kernel.cqs[1].info.uid++;
	CHECK_EQ(efadv_query_cq(NULL, NULL, 0), EINVAL);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* 0: the child's own memory, where the parent has a mapping, is still there after @qp went */
static int child_without_mappings(const struct ibv_context *context, void *at)
{
	uint8_t *mine = mmap(at, 0x1000, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (mine != at)
		return 1;
	fake_kernel.qps[1].exists = false;
	if (efadv_query_device(NULL, NULL, 0) != EINVAL || msync(mine, 0x1000, MS_ASYNC))
		return 2;
	dvq_unmap((uintptr_t)at, 0x1000);
	if (msync(mine, 0x1000, MS_ASYNC))
		return 3;
	/* and it gets mappings of its own */
	fake_kernel.qps[1].exists = true;
	if (dvq_map(context->cmd_fd, 0x10000, 0x1000, PROT_READ, &at) || at == mine)
		return 4;
	dvq_unmap((uintptr_t)at, 0x1000);
	return msync(at, 0x1000, MS_ASYNC) ? 0 : 5;
}

/* the parent's mappings are not there, so what is at their addresses is the child's own */
TEST(f15_mappings_are_the_parents)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;
	int status = -1;
	pid_t child;

	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	child = fork();
	if (!child)
		_exit(child_without_mappings(context, rq.buffer));
	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK_EQ(fake_mappings(), 4);
	fake_kernel.qps[1].exists = false;
	CHECK_EQ(efadv_query_device(NULL, NULL, 0), EINVAL);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(own_mappings_go_with_the_context)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;
	int other;

	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	other = context->cmd_fd;
	fake_close(context);
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);

	/* the number of the file is another file's at once */
	context = fake_open(FAKE_DVQ);
	qp = qp_of(context);
	CHECK_EQ(context->cmd_fd, other);
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	fake_close(context);
	context = fake_open(FAKE_DVQ);
	CHECK_EQ(context->cmd_fd, other);
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* a removed device says nothing of its objects; the addresses stay good to touch */
TEST(own_mappings_stay_while_the_kernel_does_not_say)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;

	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	fake_kernel.error = EIO;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 4);
	/* the device is gone, the file is open */
	fake_kernel.error = ENODEV;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 4);
	fake_kernel.error = 0;
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* the handle is nobody's, or an object's of another kind, or the device is another driver's */
TEST(own_mappings_go_when_the_kernel_knows_no_such_object)
{
	static const int errors[] = { ENOENT, EINVAL, EPROTONOSUPPORT };
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;

	for (unsigned int i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
		CHECK_EQ(fake_mappings(), 4);
		fake_kernel.error = errors[i];
		dvq_borrow_reap();
		CHECK_EQ(fake_mappings(), 0);
		fake_kernel.error = 0;
	}
	fake_close(context);
}

TEST(mapping_is_lent_again_if_it_is_good_for_that)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	const struct dvq_object qp = { .context = context, .uid = 101 };
	void *first, *again, *other;

	CHECK_EQ(dvq_borrow(&qp, 0x10000, 0x1000, PROT_READ, &first), 0);
	CHECK_EQ(dvq_borrow(&qp, 0x10000, 0x800, PROT_READ, &again), 0);
	CHECK(again == first);
	/* longer, and for more than reading */
	CHECK_EQ(dvq_borrow(&qp, 0x10000, 0x2000, PROT_READ, &other), 0);
	CHECK(other != first);
	CHECK_EQ(dvq_borrow(&qp, 0x10000, 0x1000, PROT_READ | PROT_WRITE, &other), 0);
	*(volatile char *)other = 1;
	CHECK_EQ(*(volatile char *)first, 1);
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(mapping_that_cannot_be_is_an_error_and_leaves_none)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq = { .num_entries = 7 }, rq;
	struct dvq_efa_sq ring;

	fake_kernel.qps[1].sq.db_key = 0x123;	/* not a page */
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), EINVAL);
	CHECK_EQ(sq.num_entries, 7);
	CHECK_EQ(dvq_efa_sq_open(&qp, &ring, sizeof(ring)), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "cannot map");
	/* the ring's was made, and goes with the QP */
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* ---- who has a key mapped beside the provider ------------------------------------------- */

/* dvq_poster(7) has posters map keys themselves; theirs may go before the queue does */
TEST(mapping_of_a_poster_is_not_named)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	const struct dvq_object qp = { .context = context, .uid = 101 };
	const int fd = context->cmd_fd;
	void *provider, *poster, *lent;

	provider = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, fd, 0x14000);
	poster = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, fd, 0x14000);
	CHECK(!dvq_provider_mapping(fd, 0x14000, 0x1000));
	CHECK_EQ(dvq_borrow(&qp, 0x14000, 0x1000, PROT_WRITE, &lent), 0);
	CHECK(lent != provider && lent != poster);
	munmap(poster, 0x1000);
	*(volatile char *)lent = 1;
	/* lent again, although the provider's is the only one now */
	CHECK(dvq_provider_mapping(fd, 0x14000, 0x1000) == provider);
	CHECK_EQ(dvq_borrow(&qp, 0x14000, 0x1000, PROT_WRITE, &poster), 0);
	CHECK(poster == lent);
	munmap(provider, 0x1000);
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(page_of_a_context_is_the_librarys_own)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	void *provider, *page, *again;

	provider = mmap(NULL, 0x1000, PROT_WRITE, MAP_SHARED, context->cmd_fd, 0x4000);
	CHECK_EQ(dvq_borrow_page(context, 0x4000, 0x1000, PROT_WRITE, &page), 0);
	CHECK(page != provider);
	munmap(provider, 0x1000);
	dvq_borrow_reap();
	CHECK_EQ(dvq_borrow_page(context, 0x4000, 0x1000, PROT_WRITE, &again), 0);
	CHECK(again == page);
	*(volatile char *)page = 1;
	/* no object has to be there for it; a device that is gone says nothing */
	fake_kernel.qps[1].exists = fake_kernel.cqs[1].exists = false;
	fake_kernel.error = EIO;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 1);
	fake_close(context);
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
}

/* the number of a closed file is another one's of the same device, which has other keys */
TEST(page_of_a_context_goes_when_another_has_its_number)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	const int fd = context->cmd_fd;
	char path[64];
	void *page;
	int other;

	CHECK_EQ(dvq_borrow_page(context, 0x4000, 0x1000, PROT_WRITE, &page), 0);
	/* as good as that: it looks the same and does not give the key */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDONLY);
	REQUIRE(other >= 0 && dup2(other, fd) == fd);
	close(other);
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* ---- whose a mapping is ------------------------------------------------------------------- */

/* a copy that was closed, and at its address what another object has got since */
TEST(mapping_of_another_object_stays)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	void *at;

	CHECK_EQ(dvq_map_for(102, context->cmd_fd, 0x10000, 0x1000, PROT_WRITE, &at), 0);
	dvq_unmap_for(101, (uintptr_t)at, 0x1000);
	dvq_unmap((uintptr_t)at, 0x1000);
	CHECK_EQ(fake_mappings(), 1);
	*(volatile char *)at = 1;
	dvq_unmap_for(102, (uintptr_t)at, 0x1000);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

/* ---- fork() --------------------------------------------------------------------------------- */

/* 0: the child came to its end and was content; it writes where it has lost memory, or waits forever */
static int run_child(void (*child)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		tap.failures = 0;
		alarm(60);
		child();
		fflush(stdout);
		_exit(tap.failures != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

/* the child's own memory in the place of what it did not get from its parent */
static volatile char *fill_hole(uint64_t address, uint64_t length)
{
	void *at = mmap((void *)(uintptr_t)address, length, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK_EQ((uintptr_t)at, address);
	if (at == MAP_FAILED)
		_exit(3);
	*(volatile char *)at = 1;
	return at;
}

static struct {
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;
	struct dvq_ionic_sq ionic_sq;
	struct dvq_ionic_rq ionic_rq;
	struct dvq_ionic_cq ionic_cq;
	struct efadv_wq_attr lent;
} inherited;

static void close_efa(void)
{
	const struct { uint64_t address, length; } mapped[] = {
		{ inherited.sq.ring_map, inherited.sq.ring_map_length },
		{ inherited.sq.db_map, inherited.sq.db_map_length },
		{ inherited.rq.ring_map, inherited.rq.ring_map_length },
		{ inherited.rq.db_map, inherited.rq.db_map_length },
		{ inherited.cq.ring_map, inherited.cq.ring_map_length },
		{ inherited.cq.db_map, inherited.cq.db_map_length },
	};

	for (int i = 0; i < 6; i++)
		fill_hole(mapped[i].address, mapped[i].length);
	dvq_efa_sq_close(&inherited.sq);
	dvq_efa_rq_close(&inherited.rq);
	dvq_efa_cq_close(&inherited.cq);
	for (int i = 0; i < 6; i++)
		*(volatile char *)(uintptr_t)mapped[i].address = 2;
}

static void close_ionic(void)
{
	const struct { uint64_t address, length; } mapped[] = {
		{ inherited.ionic_sq.wq.cmb_map, inherited.ionic_sq.wq.cmb_map_length },
		{ inherited.ionic_sq.wq.db_map, inherited.ionic_sq.wq.db_map_length },
		{ inherited.ionic_rq.wq.db_map, inherited.ionic_rq.wq.db_map_length },
		{ inherited.ionic_cq.db_map, inherited.ionic_cq.db_map_length },
	};

	for (int i = 0; i < 4; i++)
		fill_hole(mapped[i].address, mapped[i].length);
	dvq_ionic_sq_close(&inherited.ionic_sq);
	dvq_ionic_rq_close(&inherited.ionic_rq);
	dvq_ionic_cq_close(&inherited.ionic_cq);
	for (int i = 0; i < 4; i++)
		*(volatile char *)(uintptr_t)mapped[i].address = 2;
}

TEST(f15_child_that_closes_keeps_its_own_memory)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);

	REQUIRE(!dvq_efa_sq_open(&qp, &inherited.sq, sizeof(inherited.sq)));
	REQUIRE(!dvq_efa_rq_open(&qp, &inherited.rq, sizeof(inherited.rq)));
	REQUIRE(!dvq_efa_cq_open(&cq, &inherited.cq, sizeof(inherited.cq)));
	CHECK_EQ(run_child(close_efa), 0);
	/* the parent's are there, and go with its own close */
	*(volatile char *)(uintptr_t)inherited.sq.ring_map = 1;
	dvq_efa_sq_close(&inherited.sq);
	dvq_efa_rq_close(&inherited.rq);
	dvq_efa_cq_close(&inherited.cq);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);

	context = fake_open(FAKE_IONIC);
	cq.context = qp.context = context;
	REQUIRE(!dvq_ionic_sq_open(&qp, &inherited.ionic_sq, sizeof(inherited.ionic_sq)));
	REQUIRE(!dvq_ionic_rq_open(&qp, &inherited.ionic_rq, sizeof(inherited.ionic_rq)));
	REQUIRE(!dvq_ionic_cq_open(&cq, &inherited.ionic_cq, sizeof(inherited.ionic_cq)));
	CHECK_EQ(run_child(close_ionic), 0);
	dvq_ionic_sq_close(&inherited.ionic_sq);
	dvq_ionic_rq_close(&inherited.ionic_rq);
	dvq_ionic_cq_close(&inherited.ionic_cq);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

static void reap_lent(void)
{
	volatile char *ring = fill_hole((uintptr_t)inherited.lent.buffer & ~0xfffull, 0x2000);
	volatile char *db = fill_hole((uintptr_t)inherited.lent.doorbell & ~0xfffull, 0x1000);

	/* the parent has destroyed the QP, which the file tells the child as well */
	fake_kernel.qps[1].exists = false;
	CHECK_EQ(efadv_query_device(NULL, NULL, 0), EINVAL);
	*ring = *db = 2;
}

TEST(f15_child_that_reaps_keeps_its_own_memory)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr rq;

	REQUIRE(!efadv_query_qp_wqs(&qp, &inherited.lent, &rq, sizeof(rq)));
	CHECK_EQ(run_child(reap_lent), 0);
	/* the parent's are there, and go with the QP */
	CHECK_EQ(fake_mappings(), 4);
	*(volatile char *)inherited.lent.buffer = 1;
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

static struct ibv_context *childs_context;

/* a mapping and a loan of its own */
static void have_own(void)
{
	struct ibv_qp qp = qp_of(childs_context);
	struct efadv_wq_attr sq, rq;
	struct dvq_efa_sq ring;

	CHECK_EQ(fake_mappings(), 0);
	CHECK_EQ(dvq_efa_sq_open(&qp, &ring, sizeof(ring)), 0);
	CHECK_EQ(efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(sq)), 0);
	*(volatile char *)sq.buffer = 1;
	dvq_efa_sq_close(&ring);
	*(volatile char *)sq.buffer = 2;
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
}

TEST(f15_child_has_mappings_of_its_own)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;

	childs_context = context;
	REQUIRE(!efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(rq)));
	CHECK_EQ(run_child(have_own), 0);
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	fake_close(context);
}

static sem_t inside, go_on;

static void wait_inside(void)
{
	sem_post(&inside);
	sem_wait(&go_on);
}

static void *reap_slowly(void *arg)
{
	(void)arg;
	dvq_borrow_reap();
	return NULL;
}

static void do_all(void)
{
	fake_kernel.hook = NULL;
	dvq_borrow_reap();
	have_own();
}

/* the lock is held by a thread that the child does not have */
TEST(f15_child_does_not_wait_for_a_thread_of_its_parent)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct efadv_wq_attr sq, rq;
	pthread_t thread;

	childs_context = context;
	REQUIRE(!efadv_query_qp_wqs(&qp, &sq, &rq, sizeof(rq)));
	sem_init(&inside, 0, 0);
	sem_init(&go_on, 0, 0);
	fake_kernel.hook = wait_inside;
	REQUIRE(!pthread_create(&thread, NULL, reap_slowly, NULL));
	sem_wait(&inside);
	CHECK_EQ(run_child(do_all), 0);
	fake_kernel.hook = NULL;
	sem_post(&go_on);
	pthread_join(thread, NULL);
	fake_kernel.qps[1].exists = false;
	dvq_borrow_reap();
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TAP_MAIN
