// SPDX-License-Identifier: GPL-2.0
/* dvq.h: questions, and opening and closing of rings. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dvq/dvq.h>

#include "fake_kernel.h"
#include "tap.h"

static struct ibv_qp qp_of(struct ibv_context *context)
{
	return (struct ibv_qp) { .context = context, .handle = 1, .state = IBV_QPS_INIT };
}

TEST(f11_open_maps_and_close_unmaps_exactly)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;

	/* F-11: an offset inside the doorbell's page, many times */
	for (int i = 0; i < 500; i++) {
		REQUIRE(dvq_efa_sq_open(&qp, &sq, sizeof(sq)) == 0);
		REQUIRE(dvq_efa_rq_open(&qp, &rq, sizeof(rq)) == 0);
		REQUIRE(dvq_efa_cq_open(&verbs_cq, &cq, sizeof(cq)) == 0);
		if (!i)
			CHECK_EQ(fake_mappings(), 6);
		dvq_efa_sq_close(&sq);
		dvq_efa_rq_close(&rq);
		dvq_efa_cq_close(&cq);
		/* twice is fine */
		dvq_efa_sq_close(&sq);
		dvq_efa_rq_close(&rq);
		dvq_efa_cq_close(&cq);
	}
	CHECK_EQ(fake_mappings(), 0);
	dvq_efa_sq_close(NULL);
	dvq_efa_rq_close(NULL);
	dvq_efa_cq_close(NULL);
	fake_close(context);
}

TEST(open_fills_the_structs)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_sq sq;
	struct dvq_efa_rq rq;
	struct dvq_efa_cq cq;

	CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), 0);
	CHECK_EQ(sq.version, DVQ_EFA_RING_VERSION);
	CHECK_EQ(sq.size, sizeof(sq));
	CHECK_EQ(sq.ring, sq.ring_map + 64);
	CHECK_EQ(sq.build, sq.ring);
	CHECK_EQ(sq.doorbell, sq.db_map + 0x124);
	CHECK_EQ(sq.qp_num, 55);
	CHECK_EQ(sq.uid, 101);
	CHECK_EQ(sq.max_batch, 32);
	CHECK_EQ(dvq_efa_sq_room(&sq), 64);
	CHECK_EQ(dvq_efa_rq_open(&qp, &rq, sizeof(rq)), 0);
	CHECK_EQ(rq.version, DVQ_EFA_RING_VERSION);
	CHECK_EQ(dvq_efa_rq_room(&rq), 128);
	CHECK_EQ(rq.mask, 127);
	CHECK_EQ(dvq_efa_cq_open(&verbs_cq, &cq, sizeof(cq)), 0);
	CHECK_EQ(cq.doorbell, cq.db_map + 0x888);
	CHECK_EQ(cq.sub_cqs, 2);
	CHECK_EQ(cq.sub[1].next, 128 * 32);
	CHECK_EQ(cq.sub[1].phase, 1);
	CHECK_EQ(cq.cq_num, 9);
	dvq_efa_sq_close(&sq);
	dvq_efa_rq_close(&rq);
	dvq_efa_cq_close(&cq);
	fake_close(context);
}

TEST(f14_sizes_of_older_and_newer_programs)
{
	struct {
		struct dvq_efa_sq sq;
		uint8_t more[16], beyond;
	} newer;
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);

	memset(&newer, 0xee, sizeof(newer));
	CHECK_EQ(dvq_efa_sq_open(&qp, &newer.sq, sizeof(newer.sq) + 16), 0);
	CHECK_EQ(newer.sq.size, sizeof(newer.sq));
	for (int i = 0; i < 16; i++)
		CHECK_EQ(newer.more[i], 0);
	CHECK_EQ(newer.beyond, 0xee);
	dvq_efa_sq_close(&newer.sq);
	CHECK_EQ(dvq_efa_sq_open(&qp, &newer.sq, sizeof(newer.sq) - 1), EINVAL);
	CHECK_EQ(dvq_efa_sq_open(&qp, &newer.sq, 0), EINVAL);
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(receive_queue_that_the_verbs_used)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct efa_rx_desc desc = { .lkey_ctrl = EFA_RX_FIRST | EFA_RX_LAST };
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_rq rq;

	CHECK_EQ(pwrite(context->cmd_fd, &desc, sizeof(desc), 0x20000), sizeof(desc));
	CHECK_EQ(dvq_efa_rq_open(&qp, &rq, sizeof(rq)), EBUSY);
	CHECK_CONTAINS(dvq_reason(), "verbs");
	CHECK_EQ(fake_mappings(), 0);
	/* after RESET what is there is old */
	qp.state = IBV_QPS_RESET;
	CHECK_EQ(dvq_efa_rq_open(&qp, &rq, sizeof(rq)), 0);
	dvq_efa_rq_close(&rq);
	fake_close(context);
}

TEST(queue_that_does_not_exist)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_rq rq;
	struct dvq_efa_sq sq;

	memset(&fake_kernel.qps[1].rq, 0, sizeof(struct dvq_wq_info));
	CHECK_EQ(dvq_efa_rq_open(&qp, &rq, sizeof(rq)), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "no receive queue");
	qp.handle = 2;
	CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), ENOENT);
	CHECK_CONTAINS(dvq_reason(), "No such file");
	CHECK_EQ(fake_mappings(), 0);
	fake_close(context);
}

TEST(cq_in_memory_of_the_caller)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_cq verbs_cq = { .context = context, .handle = 1 };
	struct dvq_cq_info *info = &fake_kernel.cqs[1].info;
	struct dvq_efa_cq cq;

	info->mem = DVQ_MEM_USER;
	info->ring_key = info->ring_length = info->db_key = 0;
	info->user_addr = 0x7000;
	CHECK_EQ(dvq_efa_cq_open(&verbs_cq, &cq, sizeof(cq)), 0);
	CHECK_EQ(cq.ring, 0x7000);
	CHECK_EQ(cq.doorbell, 0);
	CHECK_EQ(fake_mappings(), 0);
	dvq_efa_cq_close(&cq);
	fake_close(context);
}

/* F-15: a child cannot touch its parent's rings and doorbells */
TEST(f15_mappings_are_not_inherited)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_sq sq;
	int status;
	pid_t pid;

	CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), 0);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint32_t *)(uintptr_t)sq.doorbell = 1;
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	*(volatile uint32_t *)(uintptr_t)sq.doorbell = 1;
	dvq_efa_sq_close(&sq);
	fake_close(context);
}

TEST(questions)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_cq cq = { .context = context, .handle = 1 };
	struct ibv_ah ah = { .context = context, .handle = 1 };
	struct ibv_pd pd = { .context = context, .handle = 3 };
	struct ibv_qp qp = qp_of(context);
	struct dvq_pd_policy policy = { .sq = DVQ_PLACE_SET, .rq = DVQ_PLACE_SET | DVQ_PLACE_CMB };
	struct dvq_device_info device;
	struct dvq_qp_info qp_info;
	struct dvq_cq_info cq_info;
	struct dvq_ah_info ah_info;
	struct dvq_wq_info sq, rq;

	CHECK_EQ(dvq_device_query(context, &device, sizeof(device)), 0);
	CHECK_EQ(device.max_rq_desc, 32768);
	CHECK_EQ(dvq_qp_query(&qp, &qp_info, sizeof(qp_info), &sq, &rq, sizeof(sq)), 0);
	CHECK_EQ(qp_info.qp_num, 55);
	CHECK_EQ(sq.entries, 64);
	CHECK_EQ(rq.entries, 128);
	CHECK_EQ(dvq_qp_query(&qp, &qp_info, sizeof(qp_info), NULL, NULL, 0), 0);
	CHECK_EQ(fake_kernel.lengths, sizeof(qp_info));
	CHECK_EQ(dvq_cq_query(&cq, &cq_info, sizeof(cq_info)), 0);
	CHECK_EQ(cq_info.cq_num, 9);
	CHECK_EQ(dvq_ah_query(&ah, &ah_info, sizeof(ah_info)), 0);
	CHECK_EQ(ah_info.ah_num, 0x4321);
	CHECK_EQ(dvq_pd_set_policy(&pd, &policy, sizeof(policy)), 0);
	CHECK(!memcmp(&policy, &fake_kernel.policy, sizeof(policy)));
	memset(&policy, 0, sizeof(policy));
	CHECK_EQ(dvq_pd_get_policy(&pd, &policy, sizeof(policy)), 0);
	CHECK_EQ(policy.rq, DVQ_PLACE_SET | DVQ_PLACE_CMB);
	fake_close(context);
}

TEST(questions_about_an_ionic_adapter)
{
	struct ibv_context *context = fake_open(FAKE_IONIC);
	struct ibv_qp qp = qp_of(context);
	struct dvq_device_info device;
	struct dvq_qp_info info;
	struct dvq_efa_sq sq;

	CHECK_EQ(dvq_device_query(context, &device, sizeof(device)), 0);
	CHECK_EQ(device.driver, DVQ_DRIVER_IONIC);
	CHECK_EQ(dvq_qp_query(&qp, &info, sizeof(info), NULL, NULL, 0), 0);
	qp.handle = 2;
	CHECK_EQ(dvq_qp_query(&qp, &info, sizeof(info), NULL, NULL, 0), ENOENT);
	/* its rings are not EFA's */
	qp.handle = 1;
	CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), EOPNOTSUPP);
	fake_close(context);
}

TEST(regions)
{
	const struct dvq_pd_policy policy = { .rq = DVQ_PLACE_SET | DVQ_PLACE_CMB };
	struct ibv_context *context = fake_open(FAKE_IONIC), other = *context;
	const unsigned int mappings = fake_mappings();
	struct ibv_pd pd = { .context = context, .handle = 3 };
	struct dvq_region region, copy;
	void *address, *again;

	CHECK_EQ(dvq_region_alloc(context, 5000, &region, sizeof(region)), 0);
	CHECK_EQ(region.length, 8192);
	CHECK_EQ(region.handle, FAKE_REGION);
	CHECK_EQ(region.map, 0);
	CHECK_EQ(dvq_pd_set_pool(&pd, &policy, sizeof(policy), &region), 0);
	CHECK_EQ(fake_kernel.pool, FAKE_REGION);
	CHECK(!memcmp(&policy, &fake_kernel.policy, sizeof(policy)));
	CHECK_EQ(dvq_region_map(&region, &address), 0);
	CHECK_EQ(dvq_region_map(&region, &again), 0);
	CHECK(address == again);
	CHECK_EQ(fake_mappings(), mappings + 1);
	/* a handle means something in its context only */
	pd.context = &other;
	CHECK_EQ(dvq_pd_set_pool(&pd, &policy, sizeof(policy), &region), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "another open device");
	pd.context = context;

	copy = region;
	fake_kernel.error = EBUSY;
	CHECK_EQ(dvq_region_free(&region), EBUSY);
	CHECK_EQ(fake_mappings(), mappings);
	fake_kernel.error = 0;
	CHECK_EQ(dvq_region_free(&region), 0);
	CHECK_EQ(dvq_region_free(&region), 0);
	CHECK_EQ(dvq_region_free(NULL), 0);
	CHECK_EQ(dvq_region_map(&region, &address), EINVAL);
	CHECK_EQ(dvq_pd_set_pool(&pd, &policy, sizeof(policy), &region), EINVAL);
	/* of a device that is no more */
	fake_kernel.error = EIO;
	CHECK_EQ(dvq_region_free(&copy), 0);
	CHECK(!copy.context);
	fake_kernel.error = ENOSPC;
	CHECK_EQ(dvq_region_alloc(context, 5000, &region, sizeof(region)), ENOSPC);
	fake_close(context);
}

TEST(regions_of_others)
{
	struct ibv_context *context = fake_open(FAKE_IN_TREE);
	struct dvq_region region;

	CHECK_EQ(dvq_region_alloc(context, 5000, &region, sizeof(region)), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "not driven by dvq");
	fake_close(context);
}

TEST(arguments)
{
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct dvq_region region;
	struct dvq_qp_info info;
	struct dvq_efa_sq sq;
	unsigned int calls = fake_kernel.calls;

	CHECK_EQ(dvq_device_query(NULL, NULL, 0), EINVAL);
	CHECK_EQ(dvq_device_query(context, NULL, 8), EINVAL);
	CHECK_EQ(dvq_qp_query(&qp, &info, 0, NULL, NULL, 0), EINVAL);
	CHECK_EQ(dvq_qp_query(&qp, &info, 65536, NULL, NULL, 0), EINVAL);
	CHECK_EQ(dvq_qp_query(NULL, &info, 8, NULL, NULL, 0), EINVAL);
	CHECK_EQ(dvq_cq_query(NULL, NULL, 8), EINVAL);
	CHECK_EQ(dvq_ah_query(NULL, NULL, 8), EINVAL);
	CHECK_EQ(dvq_pd_set_policy(NULL, NULL, 8), EINVAL);
	CHECK_EQ(dvq_pd_get_policy(NULL, NULL, 8), EINVAL);
	CHECK_EQ(dvq_pd_set_pool(NULL, NULL, 8, NULL), EINVAL);
	CHECK_EQ(dvq_region_alloc(NULL, 1, NULL, 1000), EINVAL);
	CHECK_EQ(dvq_region_alloc(context, 1, &region, 39), EINVAL);
	CHECK_EQ(dvq_region_map(NULL, NULL), EINVAL);
	CHECK_EQ(dvq_efa_sq_open(NULL, &sq, sizeof(sq)), EINVAL);
	CHECK_EQ(dvq_efa_sq_open(&qp, NULL, sizeof(sq)), EINVAL);
	CHECK_EQ(dvq_efa_rq_open(NULL, NULL, 1000), EINVAL);
	CHECK_EQ(dvq_efa_cq_open(NULL, NULL, 1000), EINVAL);
	CHECK_EQ(fake_kernel.calls, calls);
	/* shorter than the kernel's least: its answer, not "no dvq" */
	CHECK_EQ(dvq_qp_query(&qp, &info, 4, NULL, NULL, 0), EINVAL);
	CHECK_CONTAINS(dvq_reason(), "Invalid argument");
	fake_close(context);
}

TEST(devices_that_dvq_does_not_drive)
{
	static const enum fake_driver drivers[] = { FAKE_IN_TREE, FAKE_OTHER };

	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = fake_open(drivers[i]);
		struct ibv_qp qp = qp_of(context);
		struct dvq_device_info device;
		struct dvq_efa_sq sq;

		CHECK_EQ(dvq_device_query(context, &device, sizeof(device)), EOPNOTSUPP);
		CHECK_CONTAINS(dvq_reason(), "not driven by dvq");
		CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), EOPNOTSUPP);
		CHECK_CONTAINS(dvq_reason(), context->device->name);
		fake_close(context);
	}
}

TEST(f43_module_that_is_too_old)
{
	struct ibv_context *context = fake_open(FAKE_DVQ_OLD);
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_sq sq;

	CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), EOPNOTSUPP);
	CHECK_CONTAINS(dvq_reason(), "too old");
	fake_close(context);
}

TEST(errors_of_the_kernel_come_through)
{
	static const int errors[] = { EIO, EBUSY, ENOMEM, EFAULT, EINVAL };
	struct ibv_context *context = fake_open(FAKE_DVQ);
	struct ibv_qp qp = qp_of(context);
	struct dvq_efa_sq sq;

	for (int i = 0; i < 5; i++) {
		fake_kernel.error = errors[i];
		CHECK_EQ(dvq_efa_sq_open(&qp, &sq, sizeof(sq)), errors[i]);
	}
	fake_close(context);
}

TAP_MAIN
