// SPDX-License-Identifier: GPL-2.0
/* Admin and notify queue, rings and doorbells, interrupts, attributes, filters. */
#include <endian.h>

#include <hw/field.h>
#include "ionic.h"
#include "tap.h"
#include "test_ionic.h"

static struct nic nic;

static const uint8_t nop[IONIC_REQ_SIZE] = { IONIC_OP_NOP };

TEST(commands_are_answered_in_order_lap_after_lap)
{
	nic_open(&nic, "a", "");
	for (unsigned int lap = 0; lap < 5; lap++) {
		uint16_t first = nic.admin.posted;

		for (unsigned int i = 0; i < 11; i++)
			nic_admin_post(&nic, nop);
		nic_admin_ring(&nic);
		test_run();
		for (unsigned int i = 0; i < 11; i++) {
			struct ionic_resp resp;

			CHECK_EQ(nic_admin_answer(&nic, &resp), 0);
			CHECK_EQ(le16toh(resp.comp_index), (first + i) % 16);
		}
		CHECK_EQ(nic_admin_answer(&nic, NULL), NIC_NO_ANSWER);
	}
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(the_color_is_written_last)
{
	const struct test_write *head, *tail;

	nic_open(&nic, "a", "");
	nic.host.nwrites = 0;
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	REQUIRE(nic.host.nwrites == 2);
	head = &nic.host.writes[0];
	tail = &nic.host.writes[1];
	CHECK_EQ(tail->addr + tail->len, head->addr + 16);
	CHECK_EQ(tail->len, 8);
	CHECK(tail->barriers > head->barriers);
	nic_close(&nic);
}

TEST(one_credit_and_one_message_per_answer)
{
	unsigned int before;

	nic_open(&nic, "a", "");
	/* the driver has handled all so far, as NAPI does it */
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, nic_intr_get(&nic, 0, IONIC_INTR_CREDITS) |
		     IONIC_INTR_UNMASK | IONIC_INTR_RESET_COAL);
	before = nic.host.irqs[0];
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], before + 1);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_MASK), 1);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_CREDITS), 1);
	/* masked: counted, not told */
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], before + 1);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_CREDITS), 3);
	/* one of three given back: the others fire at once */
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, 1 | IONIC_INTR_UNMASK);
	CHECK_EQ(nic.host.irqs[0], before + 2);
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, 2 | IONIC_INTR_UNMASK);
	CHECK_EQ(nic.host.irqs[0], before + 2);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_MASK), 0);
	/* given back before it is there: the next one is not told */
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, 1);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_CREDITS), 0xffff);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], before + 2);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], before + 3);
	nic_close(&nic);
}

TEST(interrupts_start_masked)
{
	nic_open(&nic, "a", "");
	CHECK_EQ(nic_intr_get(&nic, 1, IONIC_INTR_MASK), 1);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_RESET, 0, 0), 0);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_MASK), 1);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_CREDITS), 0);
	nic_close(&nic);
}

static void check_admin(const void *req, int status, const char *why)
{
	CHECK_EQ(nic_admin(&nic, req, NULL), status);
	CHECK_CONTAINS(nic_violation(&nic), why);
}

static void check_doorbell(unsigned int pid, unsigned int type, uint64_t value, const char *why)
{
	nic_ring(&nic, pid, type, value);
	CHECK_CONTAINS(nic_violation(&nic), why);
}

TEST(doorbells_out_of_rule)
{
	nic_open(&nic, "a", "dbpages=8 hw_lif=1");
	check_doorbell(0, IONIC_Q_TX, 0, "transmit queue 0, which was not made");
	check_doorbell(0, IONIC_Q_RX, HW_PREP(IONIC_DB_QID, 77ull), "receive queue 77");
	check_doorbell(0, IONIC_Q_NOTIFY, 0, "takes none");
	check_doorbell(0, 100, 0, "no such queue");
	check_doorbell(1, IONIC_Q_ADMIN, 0, "no such queue");
	check_doorbell(8, IONIC_Q_ADMIN, 0, "has 8 to 15");
	check_doorbell(0, IONIC_Q_ADMIN, 16, "index must be 0 to 15");
	check_doorbell(0, IONIC_Q_ADMIN, HW_PREP(IONIC_DB_RING, 1ull), "other bits 0");
	check_doorbell(0, IONIC_Q_ADMIN, 1ull << 63, "other bits 0");
	nic.dev->ops->bar_write(nic.dev, IONIC_BAR_DOORBELLS, 8 * 4096, 4, 0);
	CHECK_CONTAINS(nic_violation(&nic), "must be 8 bytes");
	nic.dev->ops->bar_write(nic.dev, IONIC_BAR_DOORBELLS, 0, 8, 0);
	CHECK_CONTAINS(nic_violation(&nic), "page 0");
	nic_close(&nic);
}

TEST(doorbells_may_repeat_but_not_overrun)
{
	nic_open(&nic, "a", "");
	nic_up(&nic);
	nic_queue_ring(&nic.rx);
	CHECK_STR(nic_violation(&nic), "");
	/* 15 of 16 are posted: one more is one too many */
	nic.rx.posted = (nic.rx.posted + 1) % 16;
	nic_queue_ring(&nic.rx);
	CHECK_CONTAINS(nic_violation(&nic), "overruns");
	nic_close(&nic);
}

TEST(queues_out_of_rule)
{
	struct nic_queue q;
	struct ionic_q_init_req good, req;
	struct ionic_q_control_req control = { .opcode = IONIC_OP_Q_CONTROL, .type = IONIC_Q_RX };

	nic_open(&nic, "a", "queues=2 vectors=8");
	nic_queue_alloc(&nic, &q, IONIC_Q_RX, 0, 4);
	good = nic_queue_req(&q);

	check_admin(&control, IONIC_EQID, "before its q_init");
	control.index = htole32(2);
	check_admin(&control, IONIC_EQID, "cannot be controlled");
	control.index = 0;
	control.type = IONIC_Q_ADMIN;
	check_admin(&control, IONIC_EQID, "cannot be controlled");

	req = good;
	req.index = htole32(2);
	check_admin(&req, IONIC_EQID, "does not exist");
	req = good;
	req.type = IONIC_Q_ADMIN;
	check_admin(&req, IONIC_EQTYPE, "by a device command");
	req = good;
	req.version = 1;
	check_admin(&req, IONIC_EVERSION, "version 1");
	req = good;
	req.flags |= htole16(IONIC_Q_CMB);
	check_admin(&req, IONIC_EINVAL, "not offered");
	req = good;
	req.features = htole64(1);
	check_admin(&req, IONIC_EINVAL, "not offered");
	req = good;
	req.pid = htole16(1);
	check_admin(&req, IONIC_EINVAL, "doorbell page 1");
	req = good;
	req.intr = htole16(8);
	check_admin(&req, IONIC_EINVAL, "interrupt 8 of 8");
	req = good;
	req.size_log2 = 17;
	check_admin(&req, IONIC_EINVAL, "must be 2^2 to 2^16");
	req = good;
	req.ring_addr = htole64(q.ring + 64);
	check_admin(&req, IONIC_EADDR, "ring at");
	req = good;
	req.cq_addr = htole64(test_hole());
	check_admin(&req, IONIC_EADDR, "completion ring at");
	req = good;
	req.flags = htole16(IONIC_Q_IRQ);
	check_admin(&req, IONIC_EINVAL, "SG ring address");
	req = good;
	req.ring_addr = htole64(nic.admin.cq);
	check_admin(&req, IONIC_EADDR, "is that of admin queue 0");
	req = good;
	req.reserved44[3] = 1;
	check_admin(&req, IONIC_EINVAL, "reserved byte 47");
	req = good;
	req.lif = htole16(1);
	check_admin(&req, IONIC_EINVAL, "LIF 1");
	CHECK_EQ(nic_admin(&nic, &good, NULL), 0);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

/* there is no command that ends a queue: memory of disabled ones may be used again */
TEST(f74_a_second_q_init_starts_anew)
{
	struct nic_queue other;
	struct ionic_q_init_req req;

	nic_open(&nic, "a", "");
	nic_up(&nic);
	nic_queue_alloc(&nic, &other, IONIC_Q_RX, 1, 4);
	req = nic_queue_req(&other);
	req.ring_addr = htole64(nic.rx.ring);
	check_admin(&req, IONIC_EADDR, "is that of receive queue 0");
	CHECK_EQ(nic_queue_control(&nic.rx, IONIC_Q_DISABLE), 0);
	CHECK_EQ(nic_admin(&nic, &req, NULL), 0);
	CHECK_EQ(nic_queue_init(&nic.rx), 0);
	nic_fill(&nic.rx);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(answers_late_lost_and_twice)
{
	struct ionic_resp resp;

	nic_open(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "inject op=nop action=delay ms=50"), 0);
	nic_admin_post(&nic, nop);
	nic_admin_post(&nic, nop);
	nic_admin_ring(&nic);
	test_run_ms(49);
	CHECK_EQ(nic_admin_answer(&nic, NULL), NIC_NO_ANSWER);
	test_run_ms(1);
	CHECK_EQ(nic_admin_answer(&nic, NULL), 0);
	CHECK_EQ(nic_admin_answer(&nic, NULL), 0);

	CHECK_EQ(test_control(nic.dev, "inject op=nop action=drop"), 0);
	CHECK_EQ(nic_admin(&nic, nop, NULL), NIC_NO_ANSWER);
	CHECK_EQ(nic_admin(&nic, nop, &resp), 0);
	CHECK_EQ(le16toh(resp.comp_index), (nic.admin.posted - 1) % 16);

	CHECK_EQ(test_control(nic.dev, "inject op=nop action=dup"), 0);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic_admin_answer(&nic, &resp), 0);
	CHECK_EQ(le16toh(resp.comp_index), (nic.admin.posted - 1) % 16);
	CHECK_EQ(nic_admin_answer(&nic, NULL), NIC_NO_ANSWER);

	CHECK_EQ(test_control(nic.dev, "inject op=nop action=fail status=15"), 0);
	CHECK_EQ(nic_admin(&nic, nop, NULL), IONIC_ENOSPC);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

/* a driver whose command was lost cannot know what exists */
TEST(a_lost_answer_is_an_excuse)
{
	struct ionic_filter_del_req del = {
		.opcode = IONIC_OP_RX_FILTER_DEL, .filter = htole32(99),
	};

	nic_open(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "inject op=nop action=drop"), 0);
	nic_admin(&nic, nop, NULL);
	CHECK_EQ(nic_admin(&nic, &del, NULL), IONIC_ENOENT);
	CHECK_STR(nic_violation(&nic), "");
	/* but knows what commands look like */
	del.reserved1 = 1;
	check_admin(&del, IONIC_EINVAL, "reserved byte 1");
	del.reserved1 = 0;
	CHECK_EQ(nic_simple(&nic, IONIC_OP_RESET, 0, 0), 0);
	nic_start(&nic);
	check_admin(&del, IONIC_ENOENT, "filter 99 does not exist");
	nic_close(&nic);
}

TEST(the_mac_address_can_be_changed)
{
	struct ionic_lif_getattr_req get = {
		.opcode = IONIC_OP_LIF_GETATTR, .attr = IONIC_LIF_ATTR_MAC,
	};
	struct ionic_lif_setattr_req set = {
		.opcode = IONIC_OP_LIF_SETATTR, .attr = IONIC_LIF_ATTR_MAC,
		.value.mac = { 2, 0, 0, 0, 0, 9 },
	};
	struct ionic_lif_getattr_resp resp;

	nic_open(&nic, "a", "mac=02:00:00:00:00:01");
	CHECK_EQ(nic_admin(&nic, &get, &resp), 0);
	CHECK_EQ(resp.mac[5], 1);
	CHECK_EQ(nic_admin(&nic, &set, NULL), 0);
	CHECK_EQ(nic_admin(&nic, &get, &resp), 0);
	CHECK_EQ(resp.mac[5], 9);
	set.value.mac[0] = 1;
	check_admin(&set, IONIC_EINVAL, "not one of a station");
	nic_close(&nic);
}

static struct ionic_lif_setattr_req attr(unsigned int which)
{
	return (struct ionic_lif_setattr_req){ .opcode = IONIC_OP_LIF_SETATTR, .attr = which };
}

TEST(features_are_granted_as_far_as_there_are)
{
	struct ionic_lif_setattr_req req = attr(IONIC_LIF_ATTR_FEATURES);
	struct ionic_lif_setattr_resp resp;

	nic_open(&nic, "a", "features=0xa0");
	req.value.features = htole64(0x1ffbf);
	CHECK_EQ(nic_admin(&nic, &req, &resp), 0);
	CHECK_EQ(le64toh(resp.features), 0xa0);
	req.value.features = htole64(IONIC_FEAT_TX_CSUM | IONIC_FEAT_TSO);
	CHECK_EQ(nic_admin(&nic, &req, &resp), 0);
	CHECK_EQ(le64toh(resp.features), IONIC_FEAT_TX_CSUM);
	nic_close(&nic);
}

TEST(attributes_out_of_rule)
{
	struct ionic_lif_setattr_req req = attr(IONIC_LIF_ATTR_NAME);

	nic_open(&nic, "a", "mtu=4000");
	memset(req.value.name, 'x', sizeof(req.value.name));
	check_admin(&req, IONIC_EINVAL, "without an end");
	req = attr(IONIC_LIF_ATTR_MTU);
	req.value.number = htole32(4001);
	check_admin(&req, IONIC_ERANGE, "must be 68 to 4000");
	req.value.number = htole32(4000);
	CHECK_EQ(nic_admin(&nic, &req, NULL), 0);
	req = attr(IONIC_LIF_ATTR_STATE);
	CHECK_EQ(nic_admin(&nic, &req, NULL), 0);
	req.value.bytes[20] = 1;
	check_admin(&req, IONIC_EINVAL, "byte 24 behind attribute 0");
	req = attr(IONIC_LIF_ATTR_TXSTAMP);
	check_admin(&req, IONIC_EINVAL, "not offered");
	req = attr(IONIC_LIF_ATTR_RSS);
	CHECK_EQ(nic_admin(&nic, &req, NULL), 0);
	req.value.rss.types = htole16(1);
	CHECK_EQ(nic_admin(&nic, &req, NULL), IONIC_ENOSUPP);
	nic_close(&nic);
}

TEST(filters_are_found_again)
{
	uint8_t mac[IONIC_MAC_SIZE] = { 2, 0, 0, 0, 1, 0 };
	struct ionic_filter_del_req del = { .opcode = IONIC_OP_RX_FILTER_DEL };
	uint32_t ids[3], id;

	nic_open(&nic, "a", "filters=3");
	for (unsigned int i = 0; i < 3; i++) {
		mac[5] = i;
		CHECK_EQ(nic_filter_add(&nic, mac, &ids[i]), 0);
	}
	CHECK(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
	mac[5] = 1;
	CHECK_EQ(nic_filter_add(&nic, mac, &id), IONIC_EEXIST);
	CHECK_EQ(id, ids[1]);
	mac[5] = 3;
	CHECK_EQ(nic_filter_add(&nic, mac, &id), IONIC_ENOSPC);
	del.filter = htole32(ids[0]);
	CHECK_EQ(nic_admin(&nic, &del, NULL), 0);
	CHECK_EQ(nic_filter_add(&nic, mac, &id), 0);
	check_admin(&del, IONIC_ENOENT, "does not exist");
	nic_close(&nic);
}

TEST(filters_out_of_rule)
{
	struct ionic_filter_add_req req = { .opcode = IONIC_OP_RX_FILTER_ADD };

	nic_open(&nic, "a", "");
	check_admin(&req, IONIC_EINVAL, "match 0x0");
	req.match = htole16(IONIC_FILTER_MAC);
	req.qid = htole32(1);
	check_admin(&req, IONIC_EINVAL, "must be 0 and 0");
	req.qid = 0;
	req.value.bytes[6] = 1;
	check_admin(&req, IONIC_EINVAL, "behind the MAC");
	CHECK_EQ(nic_rx_mode(&nic, IONIC_RX_RDMA_SNIFFER), IONIC_EINVAL);
	CHECK_CONTAINS(nic_violation(&nic), "mode 0x20");
	nic_close(&nic);
}

TEST(the_cable_is_an_event)
{
	const struct ionic_lif_info *info;
	const struct ionic_notify_event *event;
	unsigned int irqs;

	nic_open(&nic, "a", "link_gbps=100");
	info = test_mem(&nic.host, nic.lif_info, sizeof(*info));
	CHECK(!nic_event(&nic));
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, nic_intr_get(&nic, 0, IONIC_INTR_CREDITS) |
		     IONIC_INTR_UNMASK);
	irqs = nic.host.irqs[0];
	nic.dev->ops->link(nic.dev, false);
	test_run();
	event = nic_event(&nic);
	REQUIRE(event);
	CHECK_EQ(le16toh(event->code), IONIC_NOTIFY_LINK);
	CHECK_EQ(le16toh(event->data.link.status), IONIC_LINK_DOWN);
	CHECK_EQ(le16toh(info->status.link), IONIC_LINK_DOWN);
	CHECK_EQ(le16toh(info->status.link_down_count), 1);
	CHECK_EQ(nic.host.irqs[0], irqs + 1);
	nic.dev->ops->link(nic.dev, true);
	test_run();
	event = nic_event(&nic);
	REQUIRE(event);
	CHECK_EQ(le64toh(event->id), 2);
	CHECK_EQ(le32toh(event->data.link.speed), 100000);
	CHECK_EQ(le16toh(info->status.link), IONIC_LINK_UP);
	CHECK(!nic_event(&nic));
	nic_close(&nic);
}

TEST(events_wrap)
{
	const struct ionic_notify_event *event;

	nic_open(&nic, "a", "");
	for (unsigned int i = 1; i <= 3u << NIC_NOTIFY_LOG2; i++) {
		char line[32];

		snprintf(line, sizeof(line), "notify code=%u", i);
		CHECK_EQ(test_control(nic.dev, line), 0);
		event = nic_event(&nic);
		REQUIRE(event);
		CHECK_EQ(le64toh(event->id), i);
		CHECK_EQ(le16toh(event->code), i);
	}
	nic_close(&nic);
	nic_open(&nic, "a", "notifyq=0");
	CHECK(test_control(nic.dev, "notify code=1") < 0);
	CHECK_CONTAINS(test_answer, "no notify queue");
	nic_close(&nic);
}

TEST(an_interrupt_that_is_lost)
{
	unsigned int irqs;

	nic_open(&nic, "a", "");
	nic_intr_set(&nic, 0, IONIC_INTR_CREDITS, nic_intr_get(&nic, 0, IONIC_INTR_CREDITS) |
		     IONIC_INTR_UNMASK);
	irqs = nic.host.irqs[0];
	CHECK_EQ(test_control(nic.dev, "inject op=admin_irq action=drop"), 0);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], irqs);
	CHECK_EQ(nic_admin(&nic, nop, NULL), 0);
	CHECK_EQ(nic.host.irqs[0], irqs + 1);
	nic_close(&nic);
}

TEST(a_ring_that_went_away)
{
	nic_open(&nic, "a", "");
	nic.host.failing = true;
	nic_admin_post(&nic, nop);
	nic_admin_ring(&nic);
	test_run();
	nic.host.failing = false;
	CHECK(nic.dev->violations >= 2);
	CHECK_CONTAINS(nic.dev->violation_text[0], "admin at");
	CHECK_CONTAINS(nic.dev->violation_text[1], "completion at");
	nic_close(&nic);
}

TAP_MAIN
