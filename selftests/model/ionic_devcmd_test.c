// SPDX-License-Identifier: GPL-2.0
/* Device information, device commands, identities; the firmware's death and return. */
#include <endian.h>

#include "ionic.h"
#include "tap.h"
#include "test_ionic.h"

static struct nic nic;

static uint32_t fw_status(void)
{
	return nic_get(&nic, IONIC_REG_FW_STATUS, 1);
}

TEST(device_information)
{
	char text[IONIC_REG_TEXT_SIZE + 1] = "";

	nic_plug(&nic, "a", "asic=3 asic_rev=7 fw=1.2.3 serial=ABC");
	CHECK_EQ(nic_get(&nic, IONIC_REG_SIGNATURE, 4), 0x44455649);
	CHECK_EQ(nic_get(&nic, IONIC_REG_ASIC_TYPE, 1), 3);
	CHECK_EQ(nic_get(&nic, IONIC_REG_ASIC_REV, 1), 7);
	CHECK_EQ(fw_status(), 1);
	for (unsigned int i = 0; i < IONIC_REG_TEXT_SIZE; i += 4) {
		uint32_t word = nic_get(&nic, IONIC_REG_FW_VERSION + i, 4);

		memcpy(text + i, &word, 4);
	}
	CHECK_STR(text, "1.2.3");
	CHECK_EQ(nic_get(&nic, IONIC_REG_SERIAL, 4), 'A' | 'B' << 8 | 'C' << 16);
	/* beyond the last register and in odd sizes there is nothing, and no harm */
	CHECK_EQ(nic_get(&nic, IONIC_REG_INFO_END - 8, 8), 0);
	CHECK_STR(nic_violation(&nic), "");
	nic_set(&nic, IONIC_REG_SIGNATURE, 4, 1);
	CHECK_CONTAINS(nic_violation(&nic), "read-only");
	nic_close(&nic);
}

TEST(the_heart_beats_until_it_is_stopped)
{
	uint32_t beat;

	nic_plug(&nic, "a", "");
	beat = nic_get(&nic, IONIC_REG_FW_HEARTBEAT, 4);
	CHECK(beat);
	test_run_ms(2000);
	CHECK_EQ(nic_get(&nic, IONIC_REG_FW_HEARTBEAT, 4), beat + 2);
	CHECK_EQ(test_control(nic.dev, "heartbeat stop"), 0);
	test_run_ms(5000);
	CHECK_EQ(nic_get(&nic, IONIC_REG_FW_HEARTBEAT, 4), beat + 2);
	CHECK_EQ(test_control(nic.dev, "heartbeat run"), 0);
	CHECK_EQ(nic_get(&nic, IONIC_REG_FW_HEARTBEAT, 4), beat + 7);
	nic_close(&nic);
}

/* before bus mastering is on a function gets no time: these must be done at once */
TEST(first_commands_need_no_time)
{
	struct ionic_identify_req req = { .opcode = IONIC_OP_IDENTIFY, .version = 2 };

	nic_plug(&nic, "a", "");
	nic_write_req(&nic, &req);
	nic_set(&nic, IONIC_REG_DEVCMD_DOORBELL, 4, 1);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DONE, 4), 1);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_RESP, 1), 0);
	nic_close(&nic);
}

TEST(answers_survive_the_driver_cleaning_up)
{
	uint8_t zero[IONIC_REQ_SIZE] = { 0 };
	struct ionic_device_identity identity;

	nic_plug(&nic, "a", "vectors=33");
	CHECK_EQ(nic_simple(&nic, IONIC_OP_IDENTIFY, 2, 0), 0);
	nic_write_req(&nic, zero);
	nic_set(&nic, IONIC_REG_DEVCMD_DOORBELL, 4, 0);
	nic_data_read(&nic, &identity, sizeof(identity));
	CHECK_EQ(le32toh(identity.nintrs), 33);
	/* single bytes and whole words alike */
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DATA + 0xc, 1), 33);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DATA + 8, 8), 1 | 33ull << 32);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(identities_say_what_the_options_say)
{
	nic_open(&nic, "a", "vectors=20 dbpages=16 queues=3 notifyq=0 filters=7 mtu=4000 eqs=9 "
		 "rdma_version=2 qps=64");
	CHECK_EQ(le32toh(nic.device.nintrs), 20);
	CHECK_EQ(le32toh(nic.device.dbpages_per_lif), 16);
	CHECK_EQ(le64toh(nic.device.capabilities), IONIC_CAP_DISCOVER_CMB);
	CHECK_EQ(le32toh(nic.lif.eth.config.queues[IONIC_Q_RX]), 3);
	CHECK_EQ(le32toh(nic.lif.eth.config.queues[IONIC_Q_TX]), 3);
	CHECK_EQ(le32toh(nic.lif.eth.config.queues[IONIC_Q_NOTIFY]), 0);
	CHECK_EQ(le32toh(nic.lif.eth.max_unicast_filters), 7);
	CHECK_EQ(le32toh(nic.lif.eth.max_frame), 4018);
	CHECK_EQ(le64toh(nic.lif.capabilities), IONIC_LIF_CAP_ETH | IONIC_LIF_CAP_RDMA);
	CHECK_EQ(le32toh(nic.lif.rdma.eq.count), 9);
	CHECK_EQ(nic.lif.rdma.version, 2);
	CHECK_EQ(le32toh(nic.lif.rdma.sq.count), 64);
	nic_close(&nic);

	nic_open(&nic, "a", "rdma=0 cmb=64K");
	CHECK_EQ(le64toh(nic.lif.capabilities), IONIC_LIF_CAP_ETH);
	CHECK_EQ(le32toh(nic.lif.rdma.eq.count), 0);
	CHECK_EQ(le64toh(nic.device.capabilities), 0);
	nic_close(&nic);
}

static struct ionic_q_identity queue_identity(unsigned int type)
{
	struct ionic_q_identify_req req = { .opcode = IONIC_OP_Q_IDENTIFY, .type = type };
	struct ionic_q_identity identity;

	CHECK_EQ(nic_devcmd(&nic, &req), 0);
	nic_data_read(&nic, &identity, sizeof(identity));
	return identity;
}

TEST(queue_identities)
{
	struct ionic_q_identify_req event = {
		.opcode = IONIC_OP_Q_IDENTIFY, .type = IONIC_Q_EVENT,
	};
	static const char *const options[] = { "expdb=none", "expdb=sq", "expdb=rq", "expdb=both" };

	for (unsigned int i = 0; i < 4; i++) {
		struct ionic_q_identity tx, rx;

		nic_plug(&nic, "a", options[i]);
		tx = queue_identity(IONIC_Q_TX);
		rx = queue_identity(IONIC_Q_RX);
		CHECK_EQ(tx.version, 1);
		CHECK_EQ(le16toh(tx.sg_size), 256);
		CHECK_EQ(!!(le64toh(tx.features) & IONIC_Q_FEAT_EXPRESS), i & 1);
		CHECK_EQ(!!(le64toh(rx.features) & IONIC_Q_FEAT_EXPRESS), i >> 1);
		CHECK(!(le64toh(tx.features) & IONIC_Q_FEAT_CMB));
		CHECK_EQ(nic_devcmd(&nic, &event), IONIC_EQTYPE);
		CHECK_STR(nic_violation(&nic), "");
		nic_close(&nic);
	}
}

TEST(other_versions_are_answered_not_objected_to)
{
	nic_plug(&nic, "a", "");
	CHECK_EQ(nic_simple(&nic, IONIC_OP_IDENTIFY, 9, 0), IONIC_EVERSION);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_LIF_IDENTIFY, 0, 9), IONIC_EVERSION);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_PORT_IDENTIFY, 0, 9), IONIC_EVERSION);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_FW_CONTROL, 0, 0), IONIC_ENOSUPP);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(windows_are_announced)
{
	struct ionic_cmb_layout layout;

	nic_plug(&nic, "a", "strides=5");
	CHECK_EQ(nic_simple(&nic, IONIC_OP_DISCOVER_CMB, 0, 0), 0);
	nic_data_read(&nic, &layout, sizeof(layout));
	CHECK_EQ(le32toh(layout.nregions), 3);
	CHECK_EQ(layout.regions[0].type, IONIC_CMB_PLAIN);
	CHECK_EQ(le32toh(layout.regions[0].offset), 0);
	CHECK_EQ(layout.regions[1].type, IONIC_CMB_EXPRESS_64);
	CHECK_EQ(le32toh(layout.regions[1].offset), 128);
	CHECK_EQ(layout.regions[2].type, IONIC_CMB_EXPRESS_256);
	CHECK_EQ(le32toh(layout.regions[2].offset), 384);
	for (unsigned int i = 0; i < 3; i++)
		CHECK_EQ(le32toh(layout.regions[i].length), 128);
	nic_close(&nic);
	nic_plug(&nic, "a", "profile=giglio");
	CHECK_EQ(nic_simple(&nic, IONIC_OP_DISCOVER_CMB, 0, 0), IONIC_EOPCODE);
	CHECK_CONTAINS(nic_violation(&nic), "not offered");
	nic_close(&nic);
}

static void check_devcmd(const void *req, int status, const char *why)
{
	CHECK_EQ(nic_devcmd(&nic, req), status);
	CHECK_CONTAINS(nic_violation(&nic), why);
}

TEST(commands_out_of_rule)
{
	uint8_t stray[IONIC_REQ_SIZE] = { IONIC_OP_INIT };
	uint8_t unknown[IONIC_REQ_SIZE] = { 200 };
	struct ionic_lif_init_req lif = { .opcode = IONIC_OP_LIF_INIT };
	struct ionic_port_init_req port = { .opcode = IONIC_OP_PORT_INIT };
	struct ionic_port_setattr_req attr = { .opcode = IONIC_OP_PORT_SETATTR };
	struct ionic_rx_mode_req mode = { .opcode = IONIC_OP_RX_MODE_SET };
	struct ionic_port_config config = { .reserved13[5] = 1 };

	nic_plug(&nic, "a", "");
	lif.info_addr = htole64(nic.lif_info);
	port.info_addr = htole64(nic.port_info);

	stray[40] = 3;
	check_devcmd(stray, IONIC_EINVAL, "init: reserved byte 40 is 0x03");
	check_devcmd(unknown, IONIC_EOPCODE, "opcode 200");
	check_devcmd(&mode, IONIC_EOPCODE, "must be an admin command");
	check_devcmd(&lif, IONIC_EINVAL, "before init");
	check_devcmd(&attr, IONIC_EINVAL, "after port_init");
	nic_data_write(&nic, &config, sizeof(config));
	check_devcmd(&port, IONIC_EINVAL, "side data");
	memset(&config, 0, sizeof(config));
	nic_data_write(&nic, &config, sizeof(config));
	port.info_addr = htole64(test_hole());
	check_devcmd(&port, IONIC_EADDR, "is no memory");

	nic_start(&nic);
	check_devcmd(&lif, IONIC_EBUSY, "was not reset");
	attr.attr = IONIC_PORT_ATTR_STATE;
	attr.value.byte = 3;
	check_devcmd(&attr, IONIC_EINVAL, "attribute 0 cannot be 0x3");
	nic_close(&nic);
}

TEST(register_accesses_out_of_rule)
{
	nic_plug(&nic, "a", "vectors=8");
	nic_set(&nic, IONIC_REG_DEVCMD_DOORBELL, 4, 2);
	CHECK_CONTAINS(nic_violation(&nic), "0 or 1");
	nic_set(&nic, IONIC_REG_DEVCMD_DONE, 4, 1);
	CHECK_CONTAINS(nic_violation(&nic), "nothing takes it");
	nic_set(&nic, IONIC_REG_DEVCMD_RESP, 4, 0);
	CHECK_CONTAINS(nic_violation(&nic), "nothing takes it");
	nic_set(&nic, IONIC_REG_DEVCMD_RESP + IONIC_RESP_SIZE, 4, 0);
	CHECK_CONTAINS(nic_violation(&nic), "nothing takes it");
	nic_intr_set(&nic, 8, IONIC_INTR_MASK, 0);
	CHECK_CONTAINS(nic_violation(&nic), "interrupt 0 to 7");
	nic_intr_set(&nic, 7, IONIC_INTR_COAL_INIT, 0x40);
	CHECK_CONTAINS(nic_violation(&nic), "does not take it");
	nic_intr_set(&nic, 7, IONIC_INTR_CREDITS, 0x40000);
	CHECK_CONTAINS(nic_violation(&nic), "does not take it");
	nic_intr_set(&nic, 7, IONIC_INTR_COAL, 0);
	CHECK_CONTAINS(nic_violation(&nic), "does not take it");

	/* done is still set from here on */
	CHECK_EQ(nic_simple(&nic, IONIC_OP_RESET, 0, 0), 0);
	nic_set(&nic, IONIC_REG_DEVCMD_DOORBELL, 4, 1);
	CHECK_CONTAINS(nic_violation(&nic), "before done was cleared");
	nic.dev->ops->bar_read(nic.dev, IONIC_BAR_DOORBELLS, 0, 8);
	CHECK_CONTAINS(nic_violation(&nic), "only take stores");
	nic_close(&nic);
}

TEST(a_running_command_is_left_alone_for_a_while)
{
	uint8_t req[IONIC_REQ_SIZE] = { IONIC_OP_INIT };

	nic_plug(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "inject op=init action=delay ms=1000"), 0);
	CHECK_EQ(nic_devcmd(&nic, req), NIC_NO_ANSWER);
	test_run_ms(999);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DONE, 4), 0);
	test_run_ms(1);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DONE, 4), 1);
	CHECK_STR(nic_violation(&nic), "");

	/* too early to give up, then not */
	CHECK_EQ(test_control(nic.dev, "inject op=init action=drop count=2"), 0);
	CHECK_EQ(nic_devcmd(&nic, req), NIC_NO_ANSWER);
	nic_set(&nic, IONIC_REG_DEVCMD_REQ, 4, 0);
	CHECK_CONTAINS(nic_violation(&nic), "while one is running");
	CHECK_EQ(nic_devcmd(&nic, req), NIC_NO_ANSWER);
	test_run_ms(5000);
	nic_set(&nic, IONIC_REG_DEVCMD_REQ, 4, 0);
	CHECK_STR(nic_violation(&nic), "");
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DONE, 4), 0);
	CHECK_EQ(nic_devcmd(&nic, req), 0);
	nic_close(&nic);
}

TEST(answers_that_are_forged)
{
	struct ionic_device_identity identity;
	struct ionic_resp resp;

	nic_plug(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "inject op=identify action=fail status=9"), 0);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_IDENTIFY, 2, 0), IONIC_EAGAIN);
	CHECK_EQ(test_control(nic.dev, "inject op=identify action=corrupt"), 0);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_IDENTIFY, 2, 0), 0);
	nic_data_read(&nic, &identity, sizeof(identity));
	CHECK_EQ(identity.version, (uint8_t)~2);
	nic_devcmd_resp(&nic, &resp);
	CHECK_EQ(resp.data[0], 0xff);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_IDENTIFY, 2, 0), 0);
	nic_data_read(&nic, &identity, sizeof(identity));
	CHECK_EQ(identity.version, 2);
	nic_close(&nic);
}

/* registers cannot, so that is no excuse for anything */
TEST(nothing_is_answered_twice)
{
	nic_open(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "inject op=nop action=dup"), 0);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_NOP, 0, 0), 0);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_LIF_IDENTIFY, 7, 1), IONIC_EINVAL);
	CHECK_CONTAINS(nic_violation(&nic), "LIF type 7");
	nic_close(&nic);
}

TEST(blocks_of_memory_are_filled)
{
	const struct ionic_port_info *port;
	const struct ionic_lif_info *lif;

	nic_open(&nic, "a", "link_gbps=200");
	port = test_mem(&nic.host, nic.port_info, sizeof(*port));
	lif = test_mem(&nic.host, nic.lif_info, sizeof(*lif));
	CHECK_EQ(le32toh(port->config.speed), 200000);
	CHECK_EQ(port->config.state, IONIC_PORT_UP);
	CHECK_EQ(port->status.status, IONIC_PORT_LINK_UP);
	CHECK_EQ(port->xcvr.phy, IONIC_PHY_COPPER);
	CHECK_EQ(le16toh(port->xcvr.pid), IONIC_XCVR_200G_CR4);
	CHECK_EQ(le16toh(lif->status.link), IONIC_LINK_UP);
	CHECK_EQ(le32toh(lif->status.speed), 200000);
	nic_close(&nic);
}

TEST(port_attributes_show_in_the_port_info)
{
	struct ionic_port_setattr_req attr = {
		.opcode = IONIC_OP_PORT_SETATTR, .attr = IONIC_PORT_ATTR_FEC, .value.byte = 2,
	};
	const struct ionic_port_info *port;

	nic_open(&nic, "a", "");
	port = test_mem(&nic.host, nic.port_info, sizeof(*port));
	CHECK_EQ(nic_devcmd(&nic, &attr), 0);
	CHECK_EQ(port->config.fec, 2);
	attr.attr = IONIC_PORT_ATTR_STATE;
	attr.value.byte = IONIC_PORT_DOWN;
	CHECK_EQ(nic_devcmd(&nic, &attr), 0);
	CHECK_EQ(port->status.status, IONIC_PORT_LINK_DOWN);
	CHECK_EQ(le16toh(port->status.link_down_count), 1);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

/* after these commands the driver gives the memory away */
TEST(resets_end_all_writes)
{
	static const uint8_t resets[] = { IONIC_OP_RESET, IONIC_OP_LIF_RESET };

	for (unsigned int i = 0; i < sizeof(resets); i++) {
		unsigned int writes;

		nic_open(&nic, "a", "");
		nic_up(&nic);
		CHECK_EQ(nic_simple(&nic, resets[i], 0, 0), 0);
		CHECK_EQ(nic_simple(&nic, IONIC_OP_PORT_RESET, 0, 0), 0);
		writes = nic.host.nwrites;
		nic.dev->ops->link(nic.dev, false);
		test_run_ms(100);
		CHECK_EQ(nic.host.nwrites, writes);
		CHECK_STR(nic_violation(&nic), "");
		/* and it all works again */
		nic_start(&nic);
		nic_close(&nic);
	}
}

TEST(function_reset_forgets_the_driver)
{
	struct ionic_lif_init_req lif = { .opcode = IONIC_OP_LIF_INIT };

	nic_open(&nic, "a", "");
	nic_up(&nic);
	nic.dev->ops->reset(nic.dev);
	nic.host.nwrites = 0;
	lif.info_addr = htole64(nic.lif_info);
	CHECK_EQ(nic_intr_get(&nic, 0, IONIC_INTR_MASK), 1);
	CHECK_EQ(nic_get(&nic, IONIC_REG_DEVCMD_DONE, 4), 0);
	test_run_ms(100);
	CHECK_EQ(nic.host.nwrites, 0);
	CHECK_EQ(nic_devcmd(&nic, &lif), IONIC_EINVAL);
	CHECK_CONTAINS(nic_violation(&nic), "before init");
	nic_start(&nic);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(firmware_dies_and_comes_back)
{
	uint8_t req[IONIC_REQ_SIZE] = { IONIC_OP_NOP };

	nic_open(&nic, "a", "");
	nic_up(&nic);
	CHECK_EQ(test_control(nic.dev, "fw down"), 0);
	CHECK_EQ(fw_status(), 0);
	CHECK_EQ(nic_devcmd(&nic, req), NIC_NO_ANSWER);
	nic.host.nwrites = 0;
	nic_queue_ring(&nic.tx);
	test_run_ms(100);
	CHECK_EQ(nic.host.nwrites, 0);
	CHECK_EQ(test_control(nic.dev, "fw up"), 0);
	CHECK_EQ(fw_status(), 0x11);
	/* the driver rings what is no more until it finds out */
	nic_queue_ring(&nic.tx);
	CHECK_STR(nic_violation(&nic), "");

	/* no INIT this time */
	CHECK_EQ(nic_simple(&nic, IONIC_OP_RESET, 0, 0), 0);
	nic_queue_ring(&nic.tx);
	CHECK_CONTAINS(nic_violation(&nic), "was not made");
	nic_start(&nic);
	nic_up(&nic);
	CHECK_EQ(test_control(nic.dev, "fw restart"), 0);
	CHECK_EQ(fw_status(), 0x21);
	CHECK_STR(nic_violation(&nic), "");
	nic_close(&nic);
}

TEST(control_verbs_explain_themselves)
{
	nic_open(&nic, "a", "");
	CHECK(test_control(nic.dev, "fw sideways") < 0);
	CHECK_CONTAINS(test_answer, "fw down|up|restart");
	CHECK(test_control(nic.dev, "heartbeat") < 0);
	CHECK_CONTAINS(test_answer, "heartbeat stop|run");
	CHECK(test_control(nic.dev, "notify") < 0);
	CHECK_CONTAINS(test_answer, "notify code=N");
	CHECK_EQ(test_control(nic.dev, "help"), 0);
	CHECK_CONTAINS(test_answer, "notify code=N");
	CHECK_EQ(test_control(nic.dev, "stats"), 0);
	CHECK(test_answer_number("eth_devcmds") > 5);
	CHECK(test_answer_number("eth_admin") > 0);
	nic_close(&nic);
}

/* what the next probe will see */
TEST(traits_that_change)
{
	nic_open(&nic, "a", "");
	CHECK_EQ(test_control(nic.dev, "set admin_opcodes=5 rdma_version=1"), 0);
	CHECK(test_control(nic.dev, "set qps=5") < 0);
	CHECK_CONTAINS(test_answer, "key=value with one of the keys");
	CHECK(test_control(nic.dev, "set mtu=4000 link_gbps=9999") < 0);
	CHECK(test_control(nic.dev, "set") < 0);
	CHECK_EQ(nic_simple(&nic, IONIC_OP_LIF_IDENTIFY, 0, IONIC_LIF_IDENTIFY_VERSION), 0);
	nic_data_read(&nic, &nic.lif, sizeof(nic.lif));
	CHECK_EQ(nic.lif.rdma.admin_opcodes, 5);
	CHECK_EQ(nic.lif.rdma.version, 1);
	CHECK_EQ(le32toh(nic.lif.eth.max_frame), 9216);
	nic_close(&nic);
}

/* every command has its name as an injection point */
TEST(injection_points)
{
	static const char *const lines[] = {
		"inject op=lif_init action=drop", "inject op=q_control action=drop",
		"inject op=discover_cmb action=drop", "inject op=rx_filter_del action=drop",
	};

	nic_plug(&nic, "a", "");
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		CHECK_EQ(test_control(nic.dev, lines[i]), 0);
	CHECK(test_control(nic.dev, "inject op=nonsense action=drop") < 0);
	nic_close(&nic);
}

TAP_MAIN
