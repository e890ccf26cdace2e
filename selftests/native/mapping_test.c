// SPDX-License-Identifier: GPL-2.0
/* Finding the provider's mappings, and the life of the library's own. */
#include <errno.h>
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

TAP_MAIN
