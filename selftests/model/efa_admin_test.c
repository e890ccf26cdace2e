// SPDX-License-Identifier: GPL-2.0
/* Admin rings, events, features and statistics. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "tap.h"
#include "test_efa.h"

static struct drv drv;

/* a command that cannot fail, to see whether the queue still works */
static bool works(void)
{
	struct efa_get_feature_resp resp;

	return drv_get_feature(&drv, EFA_FEATURE_NETWORK_ATTR, &resp) == 0;
}

TEST(checksum_vectors)
{
	uint8_t entry[64] = { 0 };

	CHECK_EQ(drv_crc("123456789", 9), 0xb4c8);
	CHECK_EQ(drv_crc(entry, 64), 0xd0bf);
	entry[3] = 1;
	CHECK_EQ(drv_crc(entry, 64), 0x1042);
	entry[0] = 0x21;
	entry[8] = 7;
	CHECK_EQ(drv_crc(entry, 64), 0x0768);
}

TEST(answers_carry_the_checksum_from_0_2_on)
{
	struct efa_acq_entry answer;
	struct efa_alloc_pd_cmd cmd = { 0 };
	uint16_t checksum;

	drv_open(&drv, "a", "profile=efa3");
	drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_ALLOC_PD, 0);
	test_run();
	memcpy(&answer, test_mem(&drv.host, drv.acq + drv.acq_count % DRV_AQ_DEPTH * 64, 64), 64);
	checksum = le16toh(answer.hdr.checksum);
	answer.hdr.checksum = 0;
	CHECK_EQ(checksum, drv_crc(&answer, sizeof(answer)));
	drv_close(&drv);

	drv_open(&drv, "a", "profile=efa2");
	drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_ALLOC_PD, 0);
	test_run();
	memcpy(&answer, test_mem(&drv.host, drv.acq + drv.acq_count % DRV_AQ_DEPTH * 64, 64), 64);
	CHECK_EQ(answer.hdr.checksum, 0);
	drv_close(&drv);
}

TEST(answer_phase_is_written_last)
{
	const struct test_write *body, *head;
	unsigned int n;

	drv_open(&drv, "a", "");
	n = drv.host.nwrites;
	CHECK(works());
	REQUIRE(drv.host.nwrites == n + 2);
	body = &drv.host.writes[n % TEST_WRITES_KEPT];
	head = &drv.host.writes[(n + 1) % TEST_WRITES_KEPT];
	CHECK_EQ(body->len, 60);
	CHECK_EQ(head->len, 4);
	CHECK_EQ(body->addr, head->addr + 4);
	CHECK(head->barriers > body->barriers);
	drv_close(&drv);
}

/* every ring many times around, one command and many at a time */
TEST(rings_wrap)
{
	struct efa_alloc_pd_cmd cmd = { 0 };
	struct efa_acq_entry answer;

	drv_open(&drv, "a", "profile=efa3 max_pd=60000");
	for (unsigned int i = 0; i < 200; i++)
		CHECK(works());
	for (unsigned int i = 0; i < 50; i++) {
		unsigned int answers = 0;

		for (unsigned int j = 0; j < DRV_AQ_DEPTH; j++)
			drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_ALLOC_PD, 0);
		test_run();
		while (drv_answer(&drv, &answer))
			answers += !answer.hdr.status;
		CHECK_EQ(answers, DRV_AQ_DEPTH);
	}
	drv_close(&drv);
}

TEST(counts_wrap_at_16_bits)
{
	drv_open(&drv, "a", "");
	for (unsigned int i = 0; i < 65600; i++)
		REQUIRE(works());
	CHECK(drv.aq_count < 1000);
	drv_close(&drv);
}

TEST(one_doorbell_for_several_commands)
{
	struct efa_alloc_pd_cmd cmd = { 0 };
	struct efa_acq_entry answer;
	unsigned int answers = 0;

	drv_open(&drv, "a", "");
	/* the first two doorbells are overtaken by the third */
	for (unsigned int i = 0; i < 3; i++)
		drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_ALLOC_PD, 0);
	test_run();
	while (drv_answer(&drv, &answer))
		answers++;
	CHECK_EQ(answers, 3);
	drv_close(&drv);
}

TEST(interrupt_mask)
{
	drv_open(&drv, "a", "");
	drv.host.irqs[0] = 0;
	CHECK(works());
	CHECK_EQ(drv.host.irqs[0], 1);
	drv_write(&drv, EFA_REG_INTR_MASK, EFA_INTR_MASK_EN);
	CHECK(works());
	CHECK_EQ(drv.host.irqs[0], 1);
	drv_write(&drv, EFA_REG_INTR_MASK, 0);
	test_run();
	CHECK_EQ(drv.host.irqs[0], 1);	/* nothing is replayed */
	CHECK_EQ(test_control(drv.dev, "inject op=admin_irq action=drop"), 0);
	CHECK(works());
	CHECK_EQ(drv.host.irqs[0], 1);
	drv_close(&drv);
}

/* an entry built by hand */
static int raw_command(uint16_t id, uint8_t opcode, uint8_t flags, unsigned int stray)
{
	uint16_t count = drv.aq_count++;
	uint8_t *entry = test_mem(&drv.host, drv.aq + count % DRV_AQ_DEPTH * 64, 64);
	struct efa_acq_entry answer;

	memset(entry, 0, 64);
	entry[0] = id;
	entry[1] = id >> 8;
	entry[2] = opcode;
	entry[3] = flags | (count / DRV_AQ_DEPTH & 1 ? 0 : EFA_AQ_PHASE);
	if (stray)
		entry[stray] = 1;
	drv_write(&drv, EFA_REG_AQ_PROD_DB, drv.aq_count);
	test_run();
	return drv_answer(&drv, &answer) ? answer.hdr.status : DRV_NO_ANSWER;
}

TEST(entries_that_no_driver_posts)
{
	uint16_t count;

	drv_open(&drv, "a", "");
	CHECK_EQ(raw_command(0x1001, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "more than 12 bits");
	CHECK_EQ(raw_command(1, 0, 0, 0), EFA_ADMIN_BAD_OPCODE);
	drv_expect_violations(&drv, 1, "opcode 0");
	CHECK_EQ(raw_command(1, 99, 0, 0), EFA_ADMIN_UNSUPPORTED_OPCODE);
	drv_expect_violations(&drv, 1, "opcode 99");
	CHECK_EQ(raw_command(1, EFA_ADMIN_CREATE_COUNTER, 0, 0), EFA_ADMIN_UNSUPPORTED_OPCODE);
	drv_expect_violations(&drv, 1, "not offered");
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, EFA_AQ_CTRL_DATA, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "flags");
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, 0x80, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "flags");
	CHECK_EQ(raw_command(1, EFA_ADMIN_REG_MR, EFA_AQ_CTRL_INDIRECT, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "flags");
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, 0, 63), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "reserved byte 63");
	CHECK_EQ(raw_command(1, EFA_ADMIN_DEALLOC_PD, 0, 6), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "reserved byte 6 ");
	/* 0 and 99; another one that has no name is the same counter */
	CHECK_EQ(raw_command(1, 30, 0, 0), EFA_ADMIN_UNSUPPORTED_OPCODE);
	drv_expect_violations(&drv, 1, "opcode 30");
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("admin_unknown_command"), 3);
	CHECK(!strstr(strstr(test_answer, "admin_unknown_command") + 1, "admin_unknown_command"));
	/* the other phase */
	while (drv.aq_count % DRV_AQ_DEPTH)
		CHECK(works());
	count = drv.aq_count;
	drv.aq_count += DRV_AQ_DEPTH;
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, 0, 0), DRV_NO_ANSWER);
	drv_expect_violations(&drv, 1, "AQ_PROD_DB");
	drv.aq_count = count + 1;
	drv_write(&drv, EFA_REG_AQ_PROD_DB, drv.aq_count);
	test_run();
	drv_expect_violations(&drv, 1, "phase");
	drv_write(&drv, EFA_REG_AQ_PROD_DB, 0x10000 | drv.aq_count);
	drv_expect_violations(&drv, 1, "16 bits");
	drv_close(&drv);
}

TEST(lax_mode_takes_reserved_bits)
{
	drv_open(&drv, "a", "mbz=lax");
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, 0, 63), 0);
	drv_close(&drv);
}

TEST(ids_in_flight_are_unique)
{
	struct efa_alloc_pd_cmd cmd = { 0 };
	struct efa_acq_entry answer;
	uint16_t id;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=delay ms=50"), 0);
	id = drv_submit(&drv, &cmd, sizeof(cmd), EFA_ADMIN_ALLOC_PD, 0);
	test_run();
	CHECK(!drv_answer(&drv, &answer));
	/*
	 * The late answer makes the adapter lenient, but an id used twice is still refused, however
	 * often; nor does one that is no id free that of its lower bits.
	 */
	CHECK_EQ(raw_command(id, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	CHECK_EQ(raw_command(id, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	drv_check_clean(&drv);
	CHECK_EQ(raw_command(id | 0x1000, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "more than 12 bits");
	CHECK_EQ(raw_command(id, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	test_run_ms(60);
	CHECK(drv_answer(&drv, &answer));
	CHECK_EQ(answer.hdr.status, 0);
	drv_close(&drv);
}

TEST(rings_that_no_driver_sets_up)
{
	drv_plug(&drv, "a", "");
	drv_write(&drv, EFA_REG_AQ_CAPS, 64 << 16 | 32);
	drv_expect_violations(&drv, 1, "before AQ_BASE");
	drv_write(&drv, EFA_REG_AQ_BASE_LO, 0x10000000);
	drv_write(&drv, EFA_REG_AQ_CAPS, 64 << 16 | 33);
	drv_expect_violations(&drv, 1, "power of two");
	drv_write(&drv, EFA_REG_AQ_CAPS, 32 << 16 | 32);
	drv_expect_violations(&drv, 1, "entry size 32");
	drv_write(&drv, EFA_REG_AQ_CAPS, 64 << 16 | 32);
	drv_write(&drv, EFA_REG_ACQ_BASE_LO, 0x10000000 + 1024);
	drv_write(&drv, EFA_REG_ACQ_CAPS, 64 << 16 | 32);
	drv_expect_violations(&drv, 1, "overlaps the ring of AQ");
	drv_write(&drv, EFA_REG_ACQ_BASE_LO, 0x10001000);
	drv_write(&drv, EFA_REG_ACQ_CAPS, 200u << 24 | 64 << 16 | 32);
	drv_expect_violations(&drv, 1, "vector 200");
	drv_write(&drv, EFA_REG_ACQ_CAPS, 64 << 16 | 32);
	drv_write(&drv, EFA_REG_AENQ_BASE_LO, 0x10001000);
	drv_write(&drv, EFA_REG_AENQ_CAPS, 64 << 16 | 16);
	drv_expect_violations(&drv, 1, "overlaps the ring of ACQ");
	drv_close(&drv);
}

TEST(rings_outside_memory)
{
	drv_plug(&drv, "a", "");
	drv_write(&drv, EFA_REG_AQ_BASE_LO, test_hole());
	drv_write(&drv, EFA_REG_AQ_CAPS, 64 << 16 | 32);
	drv_write(&drv, EFA_REG_ACQ_BASE_LO, 0x10001000);
	drv_write(&drv, EFA_REG_ACQ_CAPS, 64 << 16 | 32);
	drv_write(&drv, EFA_REG_AQ_PROD_DB, 1);
	test_run();
	drv_expect_violations(&drv, 1, "AQ entry");
	drv_close(&drv);
}

TEST(rings_whose_memory_goes_away)
{
	drv_open(&drv, "a", "keepalive_ms=10");
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	drv.host.failing = true;
	test_run_ms(11);
	drv_expect_violations(&drv, 1, "AENQ entry");
	CHECK_EQ(test_control(drv.dev, "answer id=1"), 0);
	drv_expect_violations(&drv, 1, "ACQ entry");
	drv.host.failing = false;
	drv_close(&drv);
}

/* ---- injection --------------------------------------------------------- */

TEST(every_status_can_be_answered)
{
	char line[80];
	uint16_t pd;

	drv_open(&drv, "a", "");
	for (unsigned int status = 1; status < 10; status++) {
		snprintf(line, sizeof(line), "inject op=alloc_pd action=fail status=%u", status);
		CHECK_EQ(test_control(drv.dev, line), 0);
		CHECK_EQ(drv_alloc_pd(&drv, &pd), status);
	}
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	drv_close(&drv);
}

TEST(lost_late_double_and_corrupt_answers)
{
	uint16_t pd;

	drv_open(&drv, "a", "profile=efa3");
	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=drop"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(works());

	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=delay ms=100"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(works());		/* overtakes the late one */
	CHECK_EQ(drv.stray_answers, 0);
	test_run_ms(99);
	CHECK(works());
	CHECK_EQ(drv.stray_answers, 0);
	test_run_ms(2);
	CHECK(works());
	CHECK_EQ(drv.stray_answers, 1);

	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=dup"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK(works());
	CHECK_EQ(drv.stray_answers, 2);

	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=corrupt"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK_EQ(drv.bad_checksums, 1);
	CHECK(works());
	drv.bad_checksums = 0;
	drv_close(&drv);
}

/* in place of the right one, so that nobody gets it */
TEST(answers_under_another_id)
{
	uint16_t pd;

	drv_open(&drv, "a", "profile=efa3");
	CHECK_EQ(test_control(drv.dev, "inject op=answer_id action=corrupt"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(works());
	CHECK_EQ(drv.stray_answers, 1);
	/* of another slot */
	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=fail status=5"), 0);
	CHECK_EQ(test_control(drv.dev, "inject op=answer_id action=fail status=1"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(works());
	CHECK_EQ(drv.stray_answers, 2);
	drv_close(&drv);
}

/* with a checksum that is right */
TEST(answers_that_are_nonsense)
{
	struct efa_get_feature_resp right, wrong;
	uint16_t pd;

	drv_open(&drv, "a", "profile=efa3");
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_QUEUE_ATTR_1, &right), 0);
	CHECK_EQ(test_control(drv.dev, "inject op=answer_body action=corrupt"), 0);
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_QUEUE_ATTR_1, &wrong), 0);
	CHECK_EQ(wrong.u.queue1.max_qp, ~right.u.queue1.max_qp);
	CHECK_EQ(test_control(drv.dev, "inject op=answer_body action=fail status=0x5a"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(pd, 0x5a5a);
	CHECK(works());
	drv_close(&drv);
}

TEST(commands_that_cannot_be_fetched)
{
	struct efa_aenq_entry event;
	uint32_t status;
	uint16_t pd;

	drv_open(&drv, "a", "keepalive_ms=0");
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	CHECK_EQ(test_control(drv.dev, "inject op=dma_command action=drop"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(!drv_event(&drv, &event));
	CHECK(works());
	/* and a device that says why */
	CHECK_EQ(test_control(drv.dev, "inject op=dma_command action=fail status=0x77"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(drv_event(&drv, &event));
	CHECK_EQ(le16toh(event.group), EFA_AENQ_FATAL);
	CHECK_EQ(le16toh(event.syndrome), 0x77);
	CHECK(drv_reg_read(&drv, EFA_REG_DEV_STS, &status));
	CHECK(status & EFA_DEV_STS_FATAL_ERROR);
	CHECK(works());
	drv_close(&drv);
}

TEST(interrupts_without_a_reason)
{
	unsigned int before;

	drv_open(&drv, "a", "keepalive_ms=0");
	before = drv.host.irqs[0];
	CHECK_EQ(test_control(drv.dev, "irq vector=0 count=3"), 0);
	CHECK_EQ(drv.host.irqs[0], before + 3);
	CHECK_EQ(test_control(drv.dev, "irq vector=32"), 0);
	CHECK_EQ(drv.host.irqs[32], 1);
	CHECK_EQ(test_control(drv.dev, "irq vector=33"), -EINVAL);
	CHECK(works());
	drv_close(&drv);
}

/* at any command; the host pulls it */
TEST(it_leaves_the_bus_at_a_command)
{
	uint16_t pd;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd nth=2 action=gone"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK(!drv.host.left);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(drv.host.left);
	drv_close(&drv);
}

TEST(a_reset_forgets_late_answers)
{
	struct efa_acq_entry answer;
	uint16_t pd;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "inject op=alloc_pd action=delay ms=100"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
	CHECK(drv_reset(&drv, 0));
	drv_start_queues(&drv);
	test_run_ms(200);
	CHECK(!drv_answer(&drv, &answer));
	CHECK(works());
	drv_close(&drv);
}

TEST(answers_nobody_waits_for)
{
	struct efa_acq_entry answer;
	uint16_t pd, id;

	drv_open(&drv, "a", "");
	/* the waiter's context with other upper bits, then the right one */
	CHECK_EQ(test_control(drv.dev, "inject op=stray_answer action=corrupt"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(drv.stray_answers, 1);
	CHECK_EQ(test_control(drv.dev, "inject op=stray_answer action=fail status=0x7f"), 0);
	CHECK_EQ(drv_alloc_pd(&drv, &pd), 0);
	CHECK_EQ(drv.stray_answers, 2);
	CHECK_EQ(test_control(drv.dev, "answer id=0x123 status=5"), 0);
	REQUIRE(drv_answer(&drv, &answer));
	id = le16toh(answer.hdr.command_id);
	CHECK_EQ(id, 0x123);
	CHECK_EQ(answer.hdr.status, 5);
	CHECK(works());
	drv_close(&drv);
}

/* whatever happens to answers: no driver may put commands together wrongly because of it */
static void check_form_is_checked(void)
{
	CHECK_EQ(raw_command(1, EFA_ADMIN_ALLOC_PD, 0, 63), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "reserved byte 63");
	CHECK_EQ(raw_command(0x1001, EFA_ADMIN_ALLOC_PD, 0, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "more than 12 bits");
	CHECK_EQ(raw_command(1, 0, 0, 0), EFA_ADMIN_BAD_OPCODE);
	drv_expect_violations(&drv, 1, "opcode 0");
}

TEST(after_a_lost_answer_leftovers_are_excused)
{
	static const char *const losses[] = {
		"inject op=alloc_pd action=drop", "inject op=alloc_pd action=delay ms=1",
		"inject op=alloc_pd action=corrupt", "inject op=answer_id action=corrupt",
		"inject op=dma_command action=drop",
	};

	for (unsigned int i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint16_t pd = 0;

		drv_open(&drv, "a", "");
		CHECK_EQ(drv_dealloc_pd(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
		drv_expect_violations(&drv, 1, "no PD 77");
		CHECK_EQ(test_control(drv.dev, losses[i]), 0);
		CHECK_EQ(drv_alloc_pd(&drv, &pd), DRV_NO_ANSWER);
		test_run_ms(2);
		CHECK_EQ(drv_dealloc_pd(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
		drv_check_clean(&drv);
		check_form_is_checked();
		CHECK_EQ(raw_command(1, 99, 0, 0), EFA_ADMIN_UNSUPPORTED_OPCODE);
		drv_expect_violations(&drv, 1, "opcode 99");
		/* a reset makes a new start for both */
		drv_reset(&drv, 0);
		drv_start_queues(&drv);
		CHECK_EQ(drv_dealloc_pd(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
		drv_expect_violations(&drv, 1, "no PD 77");
		drv.bad_checksums = 0;
		drv_close(&drv);
	}
}

/* a driver that gets its answer, whatever it is, knows what there is and what not */
TEST(faults_that_hide_nothing_excuse_nothing)
{
	static const char *const faults[] = {
		"inject op=alloc_pd action=fail status=1", "inject op=alloc_pd action=dup",
		"inject op=admin_irq action=drop", "inject op=stray_answer action=corrupt",
	};
	uint16_t pd = 0;

	for (unsigned int i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		drv_open(&drv, "a", "");
		CHECK_EQ(test_control(drv.dev, faults[i]), 0);
		CHECK_EQ(drv_alloc_pd(&drv, &pd), i == 0);
		CHECK_EQ(drv_dealloc_pd(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
		drv_expect_violations(&drv, 1, "no PD 77");
		drv_close(&drv);
	}
}

/* the driver may forget what it could not remove, but nothing that it never had */
TEST(after_a_refused_removal_things_may_be_in_use)
{
	struct drv_mr mr;

	drv_open(&drv, "a", "");
	REQUIRE(!drv_reg_mr(&drv, drv.pd, 1000, 0, DRV_LOCAL, &mr));
	CHECK_EQ(drv_dealloc_pd(&drv, drv.pd), EFA_ADMIN_RESOURCE_BUSY);
	drv_expect_violations(&drv, 1, "is used by");
	CHECK_EQ(test_control(drv.dev, "inject op=dereg_mr action=fail status=7"), 0);
	CHECK_EQ(drv_dereg_mr(&drv, mr.lkey), 7);
	CHECK_EQ(drv_dealloc_pd(&drv, drv.pd), EFA_ADMIN_RESOURCE_BUSY);
	drv_check_clean(&drv);
	CHECK_EQ(drv_dereg_mr(&drv, mr.lkey ^ 1), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "no MR");
	check_form_is_checked();
	drv_close(&drv);
}

/* limits that were told wrong are no better known than objects */
TEST(after_a_false_answer_values_are_excused)
{
	static const char *const lies[] = {
		"inject op=answer_body action=corrupt", "answer id=5",
		"inject op=stray_answer action=fail status=5",
	};
	struct efa_get_feature_resp resp;

	for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct efa_acq_entry answer;

		drv_open(&drv, "a", "");
		CHECK_EQ(drv_get_feature(&drv, 8, &resp), EFA_ADMIN_ILLEGAL_PARAM);
		drv_expect_violations(&drv, 1, "feature 8");
		CHECK_EQ(test_control(drv.dev, lies[i]), 0);
		drv_answer(&drv, &answer);
		CHECK(works());
		CHECK_EQ(drv_get_feature(&drv, 8, &resp), EFA_ADMIN_ILLEGAL_PARAM);
		CHECK_EQ(raw_command(1, 99, 0, 0), EFA_ADMIN_UNSUPPORTED_OPCODE);
		CHECK_EQ(drv_dealloc_pd(&drv, 77), EFA_ADMIN_ILLEGAL_PARAM);
		drv_check_clean(&drv);
		check_form_is_checked();
		drv_close(&drv);
	}
}

/* ---- events ------------------------------------------------------------ */

TEST(keep_alive)
{
	struct efa_aenq_entry event;

	drv_open(&drv, "a", "");
	test_run_ms(5000);
	CHECK(!drv_event(&drv, &event));	/* not before it is enabled */
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	drv.host.irqs[0] = 0;
	for (unsigned int i = 0; i < 100; i++) {
		test_run_ms(1000);
		REQUIRE(drv_event(&drv, &event));
		CHECK_EQ(le16toh(event.group), EFA_AENQ_KEEP_ALIVE);
		CHECK(!drv_event(&drv, &event));
		drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count);
	}
	CHECK_EQ(drv.host.irqs[0], 100);
	drv_close(&drv);
}

TEST(events_wait_for_room)
{
	struct efa_aenq_entry event;
	unsigned int n = 0;

	drv_open(&drv, "a", "keepalive_ms=0");
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	CHECK_EQ(test_control(drv.dev, "aenq group=2 syndrome=9 count=20"), 0);
	CHECK_EQ(test_answer_number("sent"), DRV_AENQ_DEPTH);
	while (drv_event(&drv, &event)) {
		CHECK_EQ(le16toh(event.group), EFA_AENQ_WARNING);
		CHECK_EQ(le16toh(event.syndrome), 9);
		n++;
	}
	CHECK_EQ(n, DRV_AENQ_DEPTH);
	CHECK_EQ(test_control(drv.dev, "aenq group=3"), 0);
	CHECK_EQ(test_answer_number("sent"), 0);
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count);
	CHECK_EQ(test_control(drv.dev, "aenq group=3"), 0);
	CHECK_EQ(test_answer_number("sent"), 1);
	CHECK(drv_event(&drv, &event));
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count + 1);
	drv_expect_violations(&drv, 1, "AENQ_CONS_DB");
	/* what was given back is not taken again; the same count twice is fine */
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count);
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count);
	drv_check_clean(&drv);
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count - 1);
	drv_expect_violations(&drv, 1, "AENQ_CONS_DB = 16 after 17");
	drv_close(&drv);
}

/* more events than there is room for, as a device gone wild: the oldest are lost */
TEST(events_that_do_not_wait_for_room)
{
	struct efa_aenq_entry event;
	unsigned int n = 0;

	drv_open(&drv, "a", "keepalive_ms=0");
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	CHECK_EQ(test_control(drv.dev, "aenq group=2 count=20 overrun=1"), 0);
	CHECK_EQ(test_answer_number("sent"), 20);
	/* the first entries are of the next lap already */
	CHECK(!drv_event(&drv, &event));
	CHECK_EQ(test_control(drv.dev, "aenq group=3 syndrome=5 count=12 overrun=1"), 0);
	/* a lap later what the driver expects is there again */
	CHECK_EQ(test_control(drv.dev, "aenq group=3 syndrome=6 count=16 overrun=1"), 0);
	while (drv_event(&drv, &event) && n < 100)
		n++;
	CHECK(n >= 1 && n < 100);
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, drv.aenq_count);
	CHECK(works());
	drv_close(&drv);
}

TEST(event_groups)
{
	struct efa_get_feature_resp resp;
	struct efa_aenq_entry event;

	drv_open(&drv, "a", "keepalive_ms=0");
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_AENQ_CONFIG, &resp), 0);
	CHECK_EQ(le32toh(resp.u.aenq.supported_groups), 0x1e);
	CHECK_EQ(resp.u.aenq.enabled_groups, 0);
	CHECK_EQ(drv_enable_events(&drv, 0x3e), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "groups");
	CHECK_EQ(drv_enable_events(&drv, 0x04), 0);
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_AENQ_CONFIG, &resp), 0);
	CHECK_EQ(le32toh(resp.u.aenq.enabled_groups), 0x04);
	CHECK_EQ(test_control(drv.dev, "aenq group=3"), 0);
	CHECK(!drv_event(&drv, &event));
	CHECK_EQ(test_control(drv.dev, "aenq group=2"), 0);
	CHECK(drv_event(&drv, &event));
	/* one that no driver knows: sent whatever is enabled */
	CHECK_EQ(test_control(drv.dev, "aenq group=300"), 0);
	CHECK(drv_event(&drv, &event));
	CHECK_EQ(le16toh(event.group), 300);
	drv_close(&drv);
}

TEST(fatal_error)
{
	struct efa_aenq_entry event;
	uint32_t value;

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_enable_events(&drv, EFA_AENQ_GROUPS), 0);
	CHECK_EQ(test_control(drv.dev, "fatal"), 0);
	REQUIRE(drv_event(&drv, &event));
	CHECK_EQ(le16toh(event.group), EFA_AENQ_FATAL);
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(value & EFA_DEV_STS_FATAL_ERROR);
	CHECK(drv_reset(&drv, EFA_RESET_GENERIC));
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(!(value & EFA_DEV_STS_FATAL_ERROR));
	drv_close(&drv);
}

/* ---- features ---------------------------------------------------------- */

struct column {
	const char *profile;
	uint64_t features;
	uint32_t caps, rdma, gbps, sq, rq, min_sq, batch, mr, mr_pages, subs, inline_ex;
};

/* table 8.3 of the page, what differs between its columns */
static const struct column columns[] = {
	{ "profile=efa0", 0x7e, 0x00, 0, 100, 4096, 32768, 0, 0, 262144, 25165824, 1, 0 },
	{ "profile=efa1", 0xfe, 0x0b, 1 << 30, 100, 4096, 32768, 0, 0, 262144, 25165824, 2, 0 },
	{ "profile=efa2", 0xfe, 0x1f, 1 << 30, 200, 4096, 32768, 0, 16, 262144, 50331648, 2, 0 },
	{ "profile=efa3", 0x2fe, 0x1b, 1 << 30, 400, 2048, 32768, 32, 16, 524288, 50331648, 1, 80 },
};

TEST(attributes_of_the_generations)
{
	for (unsigned int i = 0; i < 4; i++) {
		const struct column *want = &columns[i];
		struct efa_get_feature_resp resp;
		bool eq = want->features & 1 << EFA_FEATURE_EVENT_QUEUE_ATTR;

		drv_open(&drv, "a", want->profile);
		CHECK_EQ(le64toh(drv.attr.supported_features), want->features);
		CHECK_EQ(le64toh(drv.attr.page_size_cap), 0xfffff000);
		CHECK_EQ(le32toh(drv.attr.device_caps), want->caps);
		CHECK_EQ(le32toh(drv.attr.max_rdma_size), want->rdma);
		CHECK_EQ(le16toh(drv.attr.max_link_speed_gbps), want->gbps);
		CHECK_EQ(le16toh(drv.attr.db_bar), 4);
		CHECK_EQ(drv.attr.guid != 0, i >= 2);
		CHECK_EQ(le32toh(drv.queue.max_qp), 256);
		CHECK_EQ(le32toh(drv.queue.max_sq_depth), want->sq);
		CHECK_EQ(le32toh(drv.queue.max_rq_depth), want->rq);
		CHECK_EQ(le16toh(drv.queue.min_sq_depth), want->min_sq);
		CHECK_EQ(le16toh(drv.queue.max_tx_batch), want->batch);
		CHECK_EQ(le32toh(drv.queue.max_mr), want->mr);
		CHECK_EQ(le32toh(drv.queue.max_mr_pages), want->mr_pages);
		CHECK_EQ(le16toh(drv.queue.sub_cqs_per_cq), want->subs);
		CHECK_EQ(drv.mtu, 8928);
		CHECK_EQ(drv.gid[0], 0xfe);
		CHECK_EQ(drv.gid[1], 0x80);
		CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_EVENT_QUEUE_ATTR, &resp),
			 eq ? 0 : EFA_ADMIN_ILLEGAL_PARAM);
		if (!eq)
			drv_expect_violations(&drv, 1, "supported_features");
		CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_QUEUE_ATTR_2, &resp),
			 want->inline_ex ? 0 : EFA_ADMIN_ILLEGAL_PARAM);
		if (want->inline_ex)
			CHECK_EQ(le16toh(resp.u.queue2.inline_buf_size_ex), want->inline_ex);
		else
			drv_expect_violations(&drv, 1, "supported_features");
		drv_close(&drv);
	}
}

TEST(any_attribute_can_be_given)
{
	struct efa_get_feature_resp resp;

	drv_open(&drv, "a", "max_tx_batch=9 sub_cqs=3 mmio_hint=7 poll_hint=5 mtu=1000 "
		 "gid=fe80::1234 guid=0x1122334455667788 max_eq=3");
	CHECK_EQ(le16toh(drv.queue.max_tx_batch), 9);
	CHECK_EQ(le16toh(drv.queue.sub_cqs_per_cq), 3);
	CHECK_EQ(drv.mtu, 1000);
	CHECK_EQ(drv.gid[15], 0x34);
	CHECK_EQ(le64toh(drv.attr.guid), 0x1122334455667788);
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_HW_HINTS, &resp), 0);
	CHECK_EQ(le16toh(resp.u.hints.mmio_read_timeout), 7);
	CHECK_EQ(le16toh(resp.u.hints.poll_interval), 5);
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_EVENT_QUEUE_ATTR, &resp), 0);
	CHECK_EQ(le32toh(resp.u.eq.max_eq), 3);
	drv_close(&drv);
}

TEST(some_attributes_can_be_changed)
{
	struct efa_get_feature_resp resp;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "set admin_hint=30 reset_timeout=3"), 0);
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_HW_HINTS, &resp), 0);
	CHECK_EQ(le16toh(resp.u.hints.admin_completion_timeout), 30);
	CHECK(test_control(drv.dev, "set max_qp=3") < 0);
	CHECK_CONTAINS(test_answer, "must be key=value");
	drv_close(&drv);
}

TEST(attributes_can_be_asked_for)
{
	drv_open(&drv, "a", "admin_timeout=7");
	CHECK_EQ(test_control(drv.dev, "get admin_timeout"), 0);
	CHECK_STR(test_answer, "7");
	CHECK_EQ(test_control(drv.dev, "set admin_timeout=3"), 0);
	CHECK_EQ(test_control(drv.dev, "get admin_timeout"), 0);
	CHECK_STR(test_answer, "3");
	CHECK_EQ(test_control(drv.dev, "get"), -EINVAL);
	CHECK_EQ(test_control(drv.dev, "get color"), -EINVAL);
	CHECK_EQ(test_control(drv.dev, "get admin_timeout max_qp"), -EINVAL);
	drv_close(&drv);
}

TEST(verbs_say_how_they_are_used)
{
	static const char *const plain[] = { "stats", "qps", "cqs", "fatal", "host", "help" };
	char line[80], words[2000], *verb, *rest = words;
	unsigned int n = 0;

	drv_open(&drv, "a", "");
	CHECK_EQ(test_control(drv.dev, "help"), 0);
	CHECK_CONTAINS(test_answer, "qps; cqs; qp N; cq N; mr KEY; ah N; aenq group=N ");
	/* all that is told is there, and none takes a word that means nothing */
	strcpy(words, test_answer);
	while ((verb = strsep(&rest, ";"))) {
		verb += strspn(verb, " ");
		n++;
		snprintf(line, sizeof(line), "%.*s these words", (int)strcspn(verb, " "), verb);
		CHECK_EQ(test_control(drv.dev, line), -EINVAL);
		CHECK(test_answer[0]);
	}
	CHECK_EQ(n, 18);
	for (unsigned int i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		snprintf(line, sizeof(line), "%s more", plain[i]);
		CHECK_EQ(test_control(drv.dev, line), -EINVAL);
		snprintf(line, sizeof(line), "usage: %s", plain[i]);
		CHECK_STR(test_answer, line);
	}
	CHECK_EQ(test_control(drv.dev, "set"), -EINVAL);
	CHECK_STR(test_answer, "usage: set KEY=VALUE...");
	drv_close(&drv);
}

TEST(features_that_cannot_be_had)
{
	struct efa_get_feature_resp resp;
	struct efa_set_feature_cmd cmd = { .feature_id = EFA_FEATURE_DEVICE_ATTR };

	drv_open(&drv, "a", "");
	CHECK_EQ(drv_get_feature(&drv, 8, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "feature 8");
	CHECK_EQ(drv_get_feature(&drv, 200, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "feature 200");
	CHECK_EQ(drv_get_feature(&drv, EFA_FEATURE_HOST_INFO, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "cannot be read");
	CHECK_EQ(drv_admin(&drv, cmd, EFA_ADMIN_SET_FEATURE, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "cannot be set");
	drv_close(&drv);
}

static int set_host_info(uint64_t addr, uint32_t length, uint8_t flags)
{
	struct efa_set_feature_cmd cmd = {
		.feature_id = EFA_FEATURE_HOST_INFO,
		.ctrl = { htole32(length), htole32(addr), htole32(addr >> 32) },
	};

	return drv_admin_flags(&drv, &cmd, sizeof(cmd), EFA_ADMIN_SET_FEATURE, flags, NULL, 0);
}

TEST(host_info)
{
	uint64_t buf;

	drv_open(&drv, "a", "");
	buf = test_alloc(&drv.host, sizeof(struct efa_host_info), 8);
	memcpy(test_mem(&drv.host, buf, 180), &(struct efa_host_info) {
		.os_dist = "9.9-test", .kernel_ver_str = "#1 SMP", .kernel_ver = htole32(0x90909),
		.bdf = htole16(0x108), .spec_ver = htole16(EFA_HOST_SPEC_VER),
		.flags = htole32(EFA_HOST_GDR) }, 180);
	CHECK_EQ(set_host_info(buf, 180, EFA_AQ_CTRL_DATA), 0);
	CHECK_EQ(test_control(drv.dev, "host"), 0);
	CHECK_STR(test_answer, "os_type=0 kernel_ver=0x90909 driver_ver=0x0 bdf=0x108 "
		  "spec_ver=0x200 flags=0x2 os_dist='9.9-test' kernel='#1 SMP'");
	CHECK_EQ(set_host_info(buf, 179, EFA_AQ_CTRL_DATA), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "180 bytes");
	CHECK_EQ(set_host_info(buf, 180, 0), EFA_ADMIN_MALFORMED);
	drv_expect_violations(&drv, 1, "180 bytes");
	CHECK_EQ(set_host_info(test_hole(), 180, EFA_AQ_CTRL_DATA), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "not memory");
	drv_close(&drv);
}

TEST(statistics)
{
	struct efa_get_stats_resp resp;
	struct efa_get_stats_cmd cmd = { .scope = EFA_STATS_QUEUE };

	drv_open(&drv, "a", "profile=efa1");
	for (unsigned int type = EFA_STATS_BASIC; type <= EFA_STATS_NETWORK; type++)
		CHECK_EQ(drv_stats(&drv, type, &resp), 0);
	CHECK_EQ(drv_stats(&drv, 5, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "type 5");
	CHECK_EQ(drv_admin(&drv, cmd, EFA_ADMIN_GET_STATS, resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "scope");
	drv_close(&drv);

	drv_open(&drv, "a", "profile=efa0");
	CHECK_EQ(drv_stats(&drv, EFA_STATS_NETWORK, &resp), 0);
	CHECK_EQ(drv_stats(&drv, EFA_STATS_RDMA_WRITE, &resp), EFA_ADMIN_ILLEGAL_PARAM);
	drv_expect_violations(&drv, 1, "type 3");
	drv_close(&drv);
}

TEST(counters_of_the_control_channel)
{
	drv_open(&drv, "a", "");
	CHECK(works());
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("admin_get_feature"), 4);
	CHECK_EQ(test_answer_number("admin_alloc_pd"), 1);
	CHECK_EQ(test_answer_number("admin"), 6);
	CHECK_EQ(test_answer_number("pd"), 1);
	CHECK(test_answer_number("reg_reads") >= 3);
	CHECK(test_control(drv.dev, "nonsense") < 0);
	drv_close(&drv);
}

TAP_MAIN
