// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of controller memory (DVQ_OBJECT_CMB): memory of one's own, and the place that a
 * PD's policy names for its queues. It wants the modules of dvq.
 */
#include <dvq/dvq.h>
#include <errno.h>
#include <infiniband/ionic_dv.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/ionic_test.h"
#include "lib/uverbs.h"

#define RING	4096	/* bytes of each ring of a small() queue pair */

struct region {
	int fd;
	uint32_t handle;
	struct dvq_cmb_info info;
};

static struct dvq_device_info device(void)
{
	struct dvq_device_info info;

	LAB_NEED(!dvq_device_query(self->context, &info, sizeof(info)), "dvq_device_query: %s",
		 dvq_reason());
	return info;
}

static void need_cmb(void)
{
	if (!self->dvq)
		SKIP("needs the adapter to be driven by dvq_ionic");
	if (!device().cmb_bytes)
		SKIP("the adapter has no controller memory");
	/* calls on the library's own file need the driver's number, too */
	uv_open(self);
}

/* ---- calls -------------------------------------------------------------------------- */

static int alloc_with(const struct dvq_cmb_alloc *req, size_t len, struct region *region)
{
	struct uv_call call;
	struct ib_uverbs_attr *handle;
	int ret;

	region->fd = self->context->cmd_fd;
	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_ALLOC);
	handle = uv_handle(&call, DVQ_ATTR_CMB_ALLOC_HANDLE, 0);
	uv_in(&call, DVQ_ATTR_CMB_ALLOC_REQ, req, len);
	uv_out(&call, DVQ_ATTR_CMB_ALLOC_INFO, &region->info, sizeof(region->info));
	ret = uv_run(region->fd, &call);
	region->handle = handle->data;
	return ret;
}

static int alloc(uint64_t length, struct region *region)
{
	const struct dvq_cmb_alloc req = { .length = length };

	return alloc_with(&req, sizeof(req), region);
}

static int free_region(const struct region *region)
{
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_FREE);
	uv_handle(&call, DVQ_ATTR_CMB_FREE_HANDLE, region->handle);
	return uv_run(region->fd, &call);
}

static int query(const struct region *region, struct dvq_cmb_info *info)
{
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT_CMB, DVQ_METHOD_CMB_QUERY);
	uv_handle(&call, DVQ_ATTR_CMB_QUERY_HANDLE, region->handle);
	uv_out(&call, DVQ_ATTR_CMB_QUERY_INFO, info, sizeof(*info));
	return uv_run(region->fd, &call);
}

/* @region: NULL: none is named */
static int set_policy(struct ibv_pd *pd, uint32_t sq, uint32_t rq, const struct region *region)
{
	const struct dvq_pd_policy policy = { .sq = sq, .rq = rq };
	struct uv_call call;

	uv_start(&call, DVQ_OBJECT, DVQ_METHOD_SET_PD_POLICY);
	uv_handle(&call, DVQ_ATTR_SET_PD_POLICY_PD, pd->handle);
	uv_in(&call, DVQ_ATTR_SET_PD_POLICY_POLICY, &policy, sizeof(policy));
	if (region)
		uv_handle(&call, DVQ_ATTR_SET_PD_POLICY_POOL, region->handle);
	return uv_run(self->context->cmd_fd, &call);
}

#define ALLOW	(DVQ_PLACE_SET | DVQ_PLACE_CMB | DVQ_PLACE_EXPDB)
#define INSIST	(ALLOW | DVQ_PLACE_REQUIRE)

/* ---- queue pairs -------------------------------------------------------------------- */

static struct endpoint *small(struct ibv_pd *pd)
{
	return endpoint_try(self, &(struct endpoint_options){
		.transport = RC, .pd = pd, .send_wr = 32, .recv_wr = 32, .send_sge = 1,
		.recv_sge = 1, .state = ENDPOINT_RESET });
}

/* how many of a queue pair's two rings are in controller memory */
static unsigned int placed(const struct endpoint *endpoint)
{
	struct dvq_wq_info sq, rq;
	struct dvq_qp_info info;

	LAB_NEED(!dvq_qp_query(endpoint->qp, &info, sizeof(info), &sq, &rq, sizeof(sq)),
		 "dvq_qp_query: %s", dvq_reason());
	return (sq.mem == DVQ_MEM_CMB) + (rq.mem == DVQ_MEM_CMB);
}

/* ---- memory ------------------------------------------------------------------------- */

IONIC_TEST(region_is_counted_and_goes_back)
{
	uint64_t free_bytes;
	struct dvq_cmb_info info;
	struct region region;

	need_cmb();
	free_bytes = device().cmb_free;
	CHECK_EQ(alloc(5000, &region), 0);
	CHECK_EQ(region.info.length, 2 * device().cmb_page);
	CHECK(region.info.key);
	CHECK_EQ(device().cmb_free, free_bytes - region.info.length);
	CHECK_EQ(query(&region, &info), 0);
	CHECK(!memcmp(&info, &region.info, sizeof(info)));
	CHECK_EQ(free_region(&region), 0);
	CHECK_EQ(device().cmb_free, free_bytes);
	CHECK_EQ(query(&region, &info), -ENOENT);
	CHECK_EQ(free_region(&region), -ENOENT);
}

IONIC_TEST(what_cannot_be_a_region)
{
	struct { struct dvq_cmb_alloc req; uint64_t more; } longer = { .req = { .length = 1 } };
	struct dvq_cmb_alloc req = { 0 };
	uint64_t free_bytes;
	struct region region;

	need_cmb();
	free_bytes = device().cmb_free;
	CHECK_EQ(alloc(0, &region), -EINVAL);
	CHECK_EQ(alloc(device().cmb_bytes + 1, &region), -ENOSPC);
	CHECK_EQ(alloc(UINT64_MAX, &region), -ENOSPC);
	req.length = 1;
	req.flags = 1;
	CHECK_EQ(alloc_with(&req, sizeof(req), &region), -EINVAL);
	req.flags = 0;
	req.reserved = 1;
	CHECK_EQ(alloc_with(&req, sizeof(req), &region), -EINVAL);
	CHECK_EQ(alloc_with(&longer.req, sizeof(req) - 4, &region), -EINVAL);
	longer.more = 1;
	CHECK_EQ(alloc_with(&longer.req, sizeof(longer), &region), -EOPNOTSUPP);
	CHECK_EQ(device().cmb_free, free_bytes);
}

IONIC_TEST(all_of_it_and_no_more)
{
	struct region whole, more;

	need_cmb();
	/* real ones are others', too */
	if (device().cmb_free != device().cmb_bytes && !model_present())
		SKIP("somebody uses controller memory");
	CHECK_EQ(device().cmb_free, device().cmb_bytes);
	CHECK_EQ(alloc(device().cmb_bytes, &whole), 0);
	CHECK_EQ(device().cmb_free, 0);
	CHECK_EQ(alloc(1, &more), -ENOSPC);
	CHECK_EQ(free_region(&whole), 0);
	CHECK_EQ(alloc(1, &more), 0);
	CHECK_EQ(free_region(&more), 0);
}

/* a mapping outlives its region, and keeps the memory from others */
IONIC_TEST(mapping_outlives_region)
{
	uint64_t free_bytes;
	struct region region;
	uint8_t *map, *late;

	need_cmb();
	free_bytes = device().cmb_free;
	CHECK_EQ(alloc(8192, &region), 0);
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, region.info.key);
	REQUIRE(map != MAP_FAILED);
	memset(map, 0x5a, 8192);
	CHECK_EQ(map[8191], 0x5a);
	CHECK_EQ(free_region(&region), 0);
	late = mmap(NULL, 8192, PROT_WRITE, MAP_SHARED, region.fd, region.info.key);
	CHECK(late == MAP_FAILED);
	CHECK_EQ(device().cmb_free, free_bytes - 8192);
	map[0] = 1;
	munmap(map, 8192);
	CHECK_EQ(device().cmb_free, free_bytes);
}

/* what one owner has left the next one does not see */
IONIC_TEST(memory_comes_clean)
{
	static const uint8_t zeros[8192];
	struct region region;
	uint8_t *map;

	need_cmb();
	for (unsigned int turn = 0; turn < 2; turn++) {
		CHECK_EQ(alloc(8192, &region), 0);
		map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd,
			   region.info.key);
		REQUIRE(map != MAP_FAILED);
		CHECK(!memcmp(map, zeros, 8192));
		memset(map, 0x77, 8192);
		munmap(map, 8192);
		CHECK_EQ(free_region(&region), 0);
	}
}

IONIC_TEST(mappings_of_other_sizes)
{
	struct region region;

	need_cmb();
	CHECK_EQ(alloc(8192, &region), 0);
	CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, region.fd, region.info.key) == MAP_FAILED);
	CHECK(mmap(NULL, 12288, PROT_WRITE, MAP_SHARED, region.fd, region.info.key) == MAP_FAILED);
	CHECK(mmap(NULL, 8192, PROT_WRITE, MAP_PRIVATE, region.fd, region.info.key) == MAP_FAILED);
	CHECK(mmap(NULL, 8192, PROT_WRITE | PROT_EXEC, MAP_SHARED, region.fd, region.info.key) ==
	      MAP_FAILED);
	CHECK_EQ(free_region(&region), 0);
}

/* ---- a place for queues ------------------------------------------------------------- */

/* room for two queue pairs, whatever the device has left */
IONIC_TEST(queues_are_placed_in_the_region)
{
	struct ibv_pd *pd;
	struct endpoint *first, *second;
	struct region region;
	uint64_t free_bytes;

	need_cmb();
	pd = pd_new(self);
	CHECK_EQ(alloc(4 * RING, &region), 0);
	free_bytes = device().cmb_free;
	CHECK_EQ(set_policy(pd, INSIST, INSIST, &region), 0);
	first = small(pd);
	second = small(pd);
	REQUIRE(first && second);
	CHECK_EQ(placed(first), 2);
	CHECK_EQ(placed(second), 2);
	CHECK_EQ(device().cmb_free, free_bytes);
	CHECK(!small(pd));
	CHECK_EQ(errno, ENOSPC);
	/* without insisting it falls back, although the device has room */
	CHECK_EQ(set_policy(pd, ALLOW, ALLOW, &region), 0);
	REQUIRE(small(pd));
	CHECK_EQ(device().cmb_free, free_bytes);
	/* room comes back */
	CHECK_EQ(endpoint_destroy(first), 0);
	CHECK_EQ(set_policy(pd, INSIST, INSIST, &region), 0);
	first = small(pd);
	REQUIRE(first);
	CHECK_EQ(placed(first), 2);
	CHECK_EQ(set_policy(pd, 0, 0, NULL), 0);
	CHECK_EQ(free_region(&region), 0);
}

/* who only says what is allowed, as ionic_dv_pd_set_rqcmb() does, does not take the region away */
IONIC_TEST(region_stays_when_none_is_named)
{
	struct endpoint *endpoint;
	struct region region;
	uint64_t free_bytes;
	struct ibv_pd *pd;

	need_cmb();
	pd = pd_new(self);
	CHECK_EQ(alloc(4 * RING, &region), 0);
	free_bytes = device().cmb_free;
	CHECK_EQ(set_policy(pd, ALLOW, 0, &region), 0);
	CHECK_EQ(set_policy(pd, ALLOW, ALLOW, NULL), 0);
	endpoint = small(pd);
	REQUIRE(endpoint);
	CHECK_EQ(placed(endpoint), 2);
	CHECK_EQ(device().cmb_free, free_bytes);
	/* zeros forget it */
	CHECK_EQ(set_policy(pd, 0, 0, NULL), 0);
	CHECK_EQ(set_policy(pd, ALLOW, ALLOW, NULL), 0);
	endpoint = small(pd);
	REQUIRE(endpoint);
	CHECK_EQ(placed(endpoint), 2);
	CHECK_EQ(device().cmb_free, free_bytes - 2 * RING);
	CHECK_EQ(free_region(&region), 0);
}

/* a region lives as long as a policy names it or a queue is in it */
IONIC_TEST(region_freed_while_in_use)
{
	struct endpoint *endpoint;
	uint64_t free_bytes;
	struct region region;
	struct ibv_pd *pd;

	need_cmb();
	pd = pd_new(self);
	free_bytes = device().cmb_free;
	CHECK_EQ(alloc(4 * RING, &region), 0);
	CHECK_EQ(set_policy(pd, ALLOW, ALLOW, &region), 0);
	CHECK_EQ(free_region(&region), 0);
	endpoint = small(pd);
	REQUIRE(endpoint);
	CHECK_EQ(placed(endpoint), 2);
	CHECK_EQ(set_policy(pd, 0, 0, NULL), 0);
	CHECK_EQ(device().cmb_free, free_bytes - 4 * RING);
	CHECK_EQ(endpoint_destroy(endpoint), 0);
	CHECK_EQ(device().cmb_free, free_bytes);
}

#define PIECES	64

/* all that is left; how many pieces, for it is given in powers of two */
static unsigned int take_the_rest(struct dvq_region *pieces)
{
	uint64_t length = device().cmb_bytes;
	unsigned int n = 0;

	while (length && n < PIECES) {
		if (!dvq_region_alloc(self->context, length, &pieces[n], sizeof(*pieces)))
			n++;
		else
			length /= 2;
	}
	return n;
}

/* the same by the calls of libdvq */
IONIC_TEST(calls_of_the_library)
{
	const struct dvq_pd_policy insist = { .sq = INSIST, .rq = INSIST }, nothing = { 0 };
	struct dvq_region region = {}, rest[PIECES] = {};
	struct endpoint *endpoint;
	uint64_t free_bytes;
	unsigned int pieces;
	struct ibv_pd *pd;
	void *address;

	need_cmb();
	pd = pd_new(self);
	free_bytes = device().cmb_free;
	CHECK_EQ(dvq_region_alloc(self->context, 0, &region, sizeof(region)), EINVAL);
	CHECK_EQ(dvq_region_alloc(self->context, device().cmb_bytes + 1, &region, sizeof(region)), ENOSPC);
	CHECK_EQ(dvq_region_alloc(self->context, 2 * RING - 1, &region, sizeof(region)), 0);
	CHECK_EQ(region.length, 2 * RING);
	CHECK_EQ(device().cmb_free, free_bytes - 2 * RING);
	CHECK_EQ(dvq_region_map(&region, &address), 0);
	memset(address, 0x5a, region.length);
	CHECK_EQ(((uint8_t *)address)[region.length - 1], 0x5a);
	CHECK_EQ(dvq_pd_set_pool(pd, &insist, sizeof(insist), &region), 0);
	/* with no room besides, and none for a second one */
	pieces = take_the_rest(rest);
	CHECK_EQ(device().cmb_free, 0);
	endpoint = small(pd);
	REQUIRE(endpoint);
	CHECK_EQ(placed(endpoint), 2);
	CHECK(!small(pd));
	CHECK_EQ(errno, ENOSPC);
	for (unsigned int i = 0; i < pieces; i++)
		CHECK_EQ(dvq_region_free(&rest[i]), 0);
	CHECK_EQ(endpoint_destroy(endpoint), 0);
	CHECK_EQ(dvq_region_free(&region), 0);
	CHECK_EQ(device().cmb_free, free_bytes - 2 * RING);
	CHECK_EQ(dvq_pd_set_policy(pd, &nothing, sizeof(nothing)), 0);
	CHECK_EQ(device().cmb_free, free_bytes);
}

/* messages through queues of a region, in both directions */
IONIC_TEST(messages_through_a_region)
{
	struct endpoint_options options = { .transport = RC, .send_sge = 1, .recv_sge = 1 };
	struct buffer *from, *to;
	struct region region;
	struct duo duo;
	struct work work;

	need_cmb();
	options.pd = pd_new(self);
	CHECK_EQ(alloc(64 * RING, &region), 0);
	CHECK_EQ(set_policy(options.pd, INSIST, INSIST, &region), 0);
	duo = duo_new2(&options, &(struct endpoint_options){ .transport = RC });
	CHECK_EQ(placed(duo.a), 2);
	from = buffer_new(duo.a->pd, 3000, IBV_ACCESS_LOCAL_WRITE);
	to = buffer_new(duo.b->pd, 3000, IBV_ACCESS_LOCAL_WRITE);
	buffer_fill(from, 1);
	for (unsigned int i = 0; i < 200; i++) {
		post_recv_one(duo.b, i, to, 0, 3000);
		work = send_work(&duo.to_b, i, from, 0, 3000);
		post_one(duo.a, &work);
		cq_wait_many(duo.a->send_cq, 1);
		cq_wait_many(duo.b->recv_cq, 1);
	}
	buffer_expect(to, 0, 3000, 1);
	buffer_clear(from);
	for (unsigned int i = 0; i < 200; i++) {
		post_recv_one(duo.a, i, from, 0, 3000);
		work = send_work(&duo.to_a, i, to, 0, 3000);
		post_one(duo.b, &work);
		cq_wait_many(duo.b->send_cq, 1);
		cq_wait_many(duo.a->recv_cq, 1);
	}
	buffer_expect(from, 0, 3000, 1);
	CHECK_EQ(free_region(&region), 0);
}

IONIC_TEST_MAIN
