// SPDX-License-Identifier: GPL-2.0
/* Registers, indirect reads and the reset handshake. */
#include <endian.h>
#include <linux/pci_regs.h>

#include "efa.h"
#include "tap.h"
#include "test_efa.h"

static struct drv drv;

TEST(identity_and_bars)
{
	static const uint16_t ids[] = { 0xefa0, 0xefa1, 0xefa2, 0xefa3 };
	char options[32];

	for (unsigned int i = 0; i < 4; i++) {
		const uint8_t *config;

		snprintf(options, sizeof(options), "profile=efa%u", i);
		drv_plug(&drv, "a", options);
		config = drv.dev->config;
		CHECK_EQ(config[PCI_VENDOR_ID] | config[PCI_VENDOR_ID + 1] << 8, 0x1d0f);
		CHECK_EQ(config[PCI_DEVICE_ID] | config[PCI_DEVICE_ID + 1] << 8, ids[i]);
		CHECK_EQ(config[PCI_SUBSYSTEM_ID] | config[PCI_SUBSYSTEM_ID + 1] << 8, ids[i]);
		CHECK_EQ(config[PCI_CLASS_DEVICE] | config[PCI_CLASS_DEVICE + 1] << 8, 0x0200);
		CHECK_EQ(drv.dev->bar[0].size, 16 << 10);
		CHECK_EQ(drv.dev->bar[2].size, 64 << 20);
		CHECK_EQ(drv.dev->bar[4].size, 2 << 20);
		CHECK(drv.dev->bar[2].prefetch && drv.dev->bar[2].is64);
		CHECK_EQ(drv.dev->bar[2].nareas, 1);
		CHECK_EQ(drv.dev->bar[4].nareas, 0);
		CHECK_EQ(drv.dev->vectors, 33);
		drv_close(&drv);
	}
}

TEST(strict_mode_maps_nothing)
{
	drv_plug(&drv, "a", "mode=strict");
	for (unsigned int i = 0; i < MODEL_BARS; i++)
		CHECK_EQ(drv.dev->bar[i].nareas, 0);
	drv_close(&drv);
}

TEST(doorbells_in_any_bar)
{
	static const unsigned int bars[] = { 0, 2, 4 };
	char options[32];

	for (unsigned int i = 0; i < 3; i++) {
		struct efa *efa;

		snprintf(options, sizeof(options), "doorbell=poll db_bar=%u", bars[i]);
		drv_plug(&drv, "a", options);
		efa = efa_of(drv.dev);
		CHECK_EQ(efa->db_bar, bars[i]);
		CHECK(efa->db_base + 2 * efa->db_half <= drv.dev->bar[bars[i]].size);
		CHECK(bars[i] != 2 || efa->db_base >= efa->llq_bytes);
		CHECK(bars[i] != 0 || efa->db_base >= 16 << 10);
		drv_close(&drv);
	}
}

static void check_refused(const char *options, const char *why)
{
	char text[256] = "", *words[] = { NULL, NULL, NULL };
	char copy[64], *rest = NULL;
	FILE *err = fmemopen(text, sizeof(text), "w");
	struct model_device *dev;

	snprintf(copy, sizeof(copy), "%s", options);
	words[0] = strtok_r(copy, " ", &rest);
	words[1] = strtok_r(NULL, " ", &rest);
	dev = efa_type.create("a", words, err);
	fclose(err);
	CHECK(!dev);
	CHECK_CONTAINS(text, why);
}

TEST(bad_options_say_what_would_be_right)
{
	check_refused("profile=efa9", "efa0, efa1, efa2 or efa3");
	check_refused("mode=slow", "fast or strict");
	check_refused("max_qp=0", "at least 1");
	check_refused("max_qp=100000", "0 to 512");
	check_refused("nonsense=1", "must be key=value");
	check_refused("gid=hello", "IPv6");
	check_refused("mode=strict doorbell=poll", "one of them");
	check_refused("doorbell=poll db_bar=5", "db_bar 0, 2 or 4");
	check_refused("max_llq_size=1000", "power of two");
}

TEST(two_adapters_need_two_gids)
{
	drv_plug(&drv, "a", "gid=fe80::1");
	check_refused("gid=fe80::1", "its own");
	drv_close(&drv);
}

TEST(indirect_reads)
{
	uint32_t value = 0;

	drv_plug(&drv, "a", "profile=efa3");
	drv_set_resp(&drv);
	CHECK(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK_EQ(value, 2);
	CHECK(drv_reg_read(&drv, EFA_REG_CONTROLLER_VERSION, &value));
	CHECK_EQ(value, 0x01000001);
	CHECK(drv_reg_read(&drv, EFA_REG_CAPS, &value));
	CHECK_EQ(value, 0x3414);
	CHECK(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK_EQ(value, EFA_DEV_STS_READY);
	drv_close(&drv);

	drv_plug(&drv, "a", "profile=efa0");
	drv_set_resp(&drv);
	CHECK(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK_EQ(value, 1);
	CHECK(drv_reg_read(&drv, EFA_REG_CAPS, &value));
	CHECK_EQ(value, 0x3014);
	drv_close(&drv);
}

TEST(read_id_is_written_last)
{
	const struct test_write *first, *second;
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	REQUIRE(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	REQUIRE(drv.host.nwrites == 2);
	first = &drv.host.writes[0];
	second = &drv.host.writes[1];
	CHECK_EQ(first->addr, drv.resp + 2);
	CHECK_EQ(first->len, 6);
	CHECK_EQ(second->addr, drv.resp);
	CHECK_EQ(second->len, 2);
	CHECK(second->barriers > first->barriers);
	drv_close(&drv);
}

TEST(read_sequence_wraps)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	drv.read_seq = 0xfffe;
	for (unsigned int i = 0; i < 4; i++)
		CHECK(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK_EQ(drv.read_seq, 2);
	drv_close(&drv);
}

TEST(lost_and_wrong_read_answers)
{
	uint32_t value = 0;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	CHECK_EQ(test_control(drv.dev, "inject op=reg_read action=drop"), 0);
	CHECK(!drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK_EQ(test_control(drv.dev, "inject op=reg_read nth=2 action=corrupt"), 0);
	CHECK(drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK(!drv_reg_read(&drv, EFA_REG_VERSION, &value));
	CHECK_EQ(test_control(drv.dev, "inject op=reg_read action=fail status=0xffffffff"), 0);
	CHECK(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK_EQ(value, 0xffffffff);
	drv_close(&drv);
}

TEST(reset_handshake)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	CHECK(drv_reset(&drv, EFA_RESET_NORMAL));
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK_EQ(value, EFA_DEV_STS_READY | EFA_DEV_STS_RESET_DONE);
	CHECK(drv_reset(&drv, EFA_RESET_SHUTDOWN));
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("resets"), 2);
	CHECK_EQ(test_answer_number("reset_reason"), EFA_RESET_SHUTDOWN);
	drv_close(&drv);
}

TEST(reset_clears_the_response_address)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	drv_write(&drv, EFA_REG_DEV_CTL, EFA_DEV_CTL_RESET);
	CHECK(!drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	drv_expect_violations(&drv, 1, "without MMIO_RESP");
	drv_set_resp(&drv);
	CHECK(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	drv_close(&drv);
}

TEST(both_edges_of_a_reset_can_be_late)
{
	uint64_t before = test_now();
	uint32_t value;

	drv_plug(&drv, "a", "reset_on_ms=250 reset_off_ms=450");
	drv_set_resp(&drv);
	CHECK(drv_reset(&drv, EFA_RESET_NORMAL));
	CHECK(test_now() - before >= 700 * TEST_MS);
	CHECK(test_now() - before < 1000 * TEST_MS);
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(value & EFA_DEV_STS_READY);
	drv_close(&drv);
}

TEST(stuck_resets)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	CHECK_EQ(test_control(drv.dev, "reset stuck=off"), 0);
	CHECK(!drv_reset(&drv, EFA_RESET_NORMAL));
	CHECK_EQ(test_control(drv.dev, "reset stuck=on"), 0);
	CHECK(!drv_reset(&drv, EFA_RESET_NORMAL));
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(!(value & EFA_DEV_STS_READY));
	CHECK_EQ(test_control(drv.dev, "reset stuck=none"), 0);
	CHECK(drv_reset(&drv, EFA_RESET_NORMAL));
	drv_close(&drv);
}

TEST(ready_can_stay_away)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	CHECK_EQ(test_control(drv.dev, "ready 0"), 0);
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(!(value & EFA_DEV_STS_READY));
	drv_start_queues(&drv);
	CHECK_EQ(drv.dev->violations, 4);	/* three rings, and the count of one not started */
	CHECK_CONTAINS(drv.dev->violation_text[0], "ready is 0");
	model_violations_clear(drv.dev);
	CHECK_EQ(test_control(drv.dev, "ready 1"), 0);
	REQUIRE(drv_reg_read(&drv, EFA_REG_DEV_STS, &value));
	CHECK(value & EFA_DEV_STS_READY);
	drv_close(&drv);
}

TEST(reset_leaves_nothing_behind)
{
	struct drv_cq cq;
	struct drv_mr mr;
	struct drv_qp qp;
	uint16_t ah;
	struct drv_qp_init init = {
		.type = EFA_ADMIN_QP_SRD, .send_cq = &cq, .recv_cq = &cq, .sq_depth = 64,
		.wqe_size = 64, .rq_descs = 64, .rq_wrs = 64,
	};

	drv_open(&drv, "a", "ack_ms=1000");
	REQUIRE(!drv_create_cq(&drv, 64, 32, 0, -1, &cq));
	REQUIRE(!drv_create_qp(&drv, &init, &qp));
	REQUIRE(!drv_reg_mr(&drv, drv.pd, 100000, 5, DRV_REMOTE, &mr));
	REQUIRE(!drv_create_ah(&drv, drv.pd, (const uint8_t *)"nobody knows him", &ah));
	drv_bring_up(&qp, 0);
	for (unsigned int i = 0; i < 8; i++)
		drv_recv(&qp, i, &mr, 0, 100);
	drv_send(&qp, 1, 1, ah, &mr, 0, 100);	/* under way for ever */
	test_run();
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("qp"), 1);

	CHECK(drv_reset(&drv, EFA_RESET_SHUTDOWN));
	drv.host.nwrites = 0;
	test_run_ms(20000);
	CHECK_EQ(drv.host.nwrites, 0);	/* its memory is the driver's again */
	CHECK_EQ(test_control(drv.dev, "stats"), 0);
	CHECK_EQ(test_answer_number("qp"), 0);
	CHECK_EQ(test_answer_number("cq"), 0);
	CHECK_EQ(test_answer_number("mr"), 0);
	CHECK_EQ(test_answer_number("mr_pages"), 0);
	CHECK_EQ(test_answer_number("ah"), 0);
	CHECK_EQ(test_answer_number("pd"), 0);
	CHECK_EQ(test_answer_number("uar"), 0);
	drv_start_queues(&drv);
	CHECK_EQ(drv_alloc_pd(&drv, &drv.pd), 0);
	drv_close(&drv);
}

TEST(stores_that_no_driver_makes)
{
	uint32_t value;

	drv_plug(&drv, "a", "");
	drv_set_resp(&drv);
	drv.dev->ops->bar_write(drv.dev, 0, EFA_REG_DEV_CTL, 8, 0);
	drv_expect_violations(&drv, 1, "8-byte store");
	drv.dev->ops->bar_write(drv.dev, 0, 2, 4, 0);
	drv_expect_violations(&drv, 1, "aligned");
	drv_write(&drv, 0x0c, 1);
	drv_expect_violations(&drv, 1, "no register");
	drv_write(&drv, 0x1000, 1);
	drv_expect_violations(&drv, 1, "no register");
	drv_write(&drv, EFA_REG_DEV_STS, 1);
	drv_expect_violations(&drv, 1, "read-only");
	drv_write(&drv, EFA_REG_DEV_CTL, EFA_DEV_CTL_AQ_RESTART);
	drv_expect_violations(&drv, 1, "DEV_CTL");
	drv_write(&drv, EFA_REG_INTR_MASK, 2);
	drv_expect_violations(&drv, 1, "INTR_MASK");
	drv_write(&drv, EFA_REG_AQ_PROD_DB, 1);
	drv_expect_violations(&drv, 1, "before AQ_CAPS");
	drv_write(&drv, EFA_REG_AENQ_CONS_DB, 0);
	drv_expect_violations(&drv, 1, "before AENQ_CAPS");
	drv_write(&drv, EFA_REG_EQ_DB, 0x80000003);
	drv_expect_violations(&drv, 1, "no EQ 3");
	drv_write(&drv, EFA_REG_EQ_DB, 0x80010000);
	drv_expect_violations(&drv, 1, "bit 31");
	drv_write(&drv, EFA_REG_MMIO_RESP_LO, 0x10000004);
	drv_expect_violations(&drv, 1, "multiple of 8");
	drv_set_resp(&drv);
	CHECK(drv_reg_read(&drv, EFA_REG_AQ_CAPS, &value));
	CHECK_EQ(value, 0xffffffff);
	drv_expect_violations(&drv, 1, "can be read");
	drv_write(&drv, EFA_REG_MMIO_RESP_HI, 0);
	drv_write(&drv, EFA_REG_MMIO_RESP_LO, test_hole());
	CHECK(!drv_reg_read(&drv, EFA_REG_VERSION, &value));
	drv_expect_violations(&drv, 1, "is not memory");
	drv.dev->ops->bar_read(drv.dev, 0, EFA_REG_DEV_STS, 4);
	drv_expect_violations(&drv, 1, "only stored to");
	drv.dev->ops->bar_write(drv.dev, 2, 0, 8, 0);
	drv_expect_violations(&drv, 1, "no send ring");
	drv.dev->ops->bar_write(drv.dev, 4, 0, 4, 0);
	drv_expect_violations(&drv, 1, "no live send queue");
	drv.dev->ops->bar_write(drv.dev, 4, 4, 4, 0);
	drv_expect_violations(&drv, 1, "no live receive queue");
	drv.dev->ops->bar_write(drv.dev, 4, 1 << 20, 4, 0);
	drv_expect_violations(&drv, 1, "no such doorbell");
	drv.dev->ops->bar_write(drv.dev, 4, 0, 8, 0);
	drv_expect_violations(&drv, 1, "4-byte stores");
	drv_close(&drv);
}

TAP_MAIN
