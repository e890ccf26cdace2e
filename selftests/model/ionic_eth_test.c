// SPDX-License-Identifier: GPL-2.0
/* Frames between two adapters: what arrives where, whole and in which ring. */
#include <endian.h>

#include <hw/field.h>
#include "ionic.h"
#include "tap.h"
#include "test_ionic.h"

static struct nic a, b;

static const uint8_t broadcast[IONIC_MAC_SIZE] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

static void open_both(const char *options)
{
	nic_open(&a, "a", options);
	nic_open(&b, "b", options);
	nic_up(&a);
	nic_up(&b);
}

static void close_both(void)
{
	CHECK_STR(nic_violation(&a), "");
	CHECK_STR(nic_violation(&b), "");
	nic_close(&b);
	nic_close(&a);
}

/* a frame to @to: does b get it? */
static bool arrives(const uint8_t *to)
{
	uint8_t frame[NIC_FRAME];
	const uint8_t *got;
	size_t len;

	nic_frame(frame, to, nic_mac(&a), 1);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	got = nic_receive(&b, &len);
	if (!got)
		return false;
	CHECK_EQ(len, sizeof(frame));
	CHECK(!memcmp(got, frame, sizeof(frame)));
	return true;
}

TEST(frames_arrive_whole_and_in_order)
{
	open_both("");
	for (unsigned int i = 0; i < 100; i++) {
		uint8_t frame[NIC_FRAME];
		const uint8_t *got;
		size_t len;

		nic_frame(frame, nic_mac(&b), nic_mac(&a), i);
		CHECK(nic_send(&a, frame, sizeof(frame)));
		got = nic_receive(&b, &len);
		REQUIRE(got);
		CHECK_EQ(len, sizeof(frame));
		CHECK(!memcmp(got, frame, sizeof(frame)));
	}
	close_both();
}

TEST(one_doorbell_for_many_descriptors)
{
	uint8_t frame[NIC_FRAME];
	size_t len;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 0);
	for (unsigned int i = 0; i < 10; i++)
		nic_post(&a, frame, sizeof(frame));
	test_run();
	for (unsigned int i = 0; i < 10; i++) {
		const struct ionic_tx_comp *comp = nic_queue_take(&a.tx);

		REQUIRE(comp);
		CHECK_EQ(le16toh(comp->comp_index), i);
		CHECK(nic_receive(&b, &len));
	}
	close_both();
}

TEST(short_frames_are_padded)
{
	uint8_t frame[NIC_FRAME], zero[18] = { 0 };
	const uint8_t *got;
	size_t len;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 1);
	CHECK(nic_send(&a, frame, 42));
	got = nic_receive(&b, &len);
	REQUIRE(got);
	CHECK_EQ(len, 60);
	CHECK(!memcmp(got, frame, 42));
	CHECK(!memcmp(got + 42, zero, sizeof(zero)));
	close_both();
}

TEST(filters_decide)
{
	static const uint8_t group[IONIC_MAC_SIZE] = { 0x33, 0x33, 0, 0, 0, 1 };
	static const uint8_t other[IONIC_MAC_SIZE] = { 2, 9, 9, 9, 9, 9 };
	uint32_t id;

	open_both("");
	CHECK(arrives(nic_mac(&b)));
	CHECK(arrives(broadcast));
	CHECK(!arrives(group));
	CHECK(!arrives(other));
	CHECK_EQ(nic_filter_add(&b, group, &id), 0);
	CHECK(arrives(group));
	CHECK_EQ(nic_filter_add(&b, other, &id), 0);
	CHECK(arrives(other));

	CHECK_EQ(nic_rx_mode(&b, IONIC_RX_UNICAST), 0);
	CHECK(arrives(nic_mac(&b)));
	CHECK(!arrives(broadcast));
	CHECK(!arrives(group));
	CHECK_EQ(nic_rx_mode(&b, IONIC_RX_ALLMULTI), 0);
	CHECK(!arrives(nic_mac(&b)));
	CHECK(arrives(group));
	close_both();
}

TEST(promiscuous_ports_hear_what_goes_to_nobody_known)
{
	static const uint8_t nobody[IONIC_MAC_SIZE] = { 2, 9, 9, 9, 9, 8 };

	open_both("");
	CHECK_EQ(nic_rx_mode(&b, IONIC_RX_PROMISC), 0);
	CHECK(arrives(nobody));
	/* but not what goes to somebody known: this is a switch */
	CHECK(!arrives(nic_mac(&a)));
	close_both();
}

TEST(the_switch_follows_addresses)
{
	static const uint8_t moved[IONIC_MAC_SIZE] = { 2, 9, 9, 9, 9, 7 };
	static struct nic c;
	uint8_t frame[NIC_FRAME];
	uint32_t id;
	size_t len;

	open_both("");
	nic_open(&c, "c", "");
	nic_up(&c);
	CHECK_EQ(nic_filter_add(&c, moved, &id), 0);
	nic_frame(frame, moved, nic_mac(&a), 1);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK(nic_receive(&c, &len));
	CHECK(!nic_receive(&b, &len));
	CHECK_EQ(ionic_of(b.dev)->net.received, 0);
	nic_frame(frame, broadcast, nic_mac(&a), 1);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK(nic_receive(&c, &len));
	CHECK(nic_receive(&b, &len));
	CHECK(!nic_receive(&a, &len));
	nic_close(&c);
	close_both();
}

static uint64_t csum_cmd(uint64_t buffer, unsigned int nsg)
{
	return HW_PREP(IONIC_TX_ADDR, buffer) | HW_PREP(IONIC_TX_NSG, (uint64_t)nsg) |
	       HW_PREP(IONIC_TX_OPCODE, (uint64_t)IONIC_TX_CSUM);
}

/* a descriptor at the head of a's transmit ring, to be changed before nic_queue_ring() */
static struct ionic_tx_desc *tx_desc(const uint8_t *frame, size_t len)
{
	struct nic_queue *q = &a.tx;
	uint64_t buffer = q->buffers + q->posted * NIC_BUFFER;
	struct ionic_tx_desc *desc = test_mem(&a.host, q->ring + q->posted * sizeof(*desc),
					      sizeof(*desc));

	memcpy(test_mem(&a.host, buffer, len), frame, len);
	*desc = (struct ionic_tx_desc){
		.cmd = htole64(HW_PREP(IONIC_TX_ADDR, buffer)), .len = htole16(len),
	};
	q->posted = (q->posted + 1) % 16;
	return desc;
}

/* odd length, so that the padding of the sum is seen */
TEST(a_checksum_is_inserted)
{
	uint8_t frame[NIC_FRAME];
	struct ionic_tx_desc *desc;
	const uint8_t *got;
	uint32_t sum = 0;
	size_t len;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 7);
	desc = tx_desc(frame, 63);
	desc->cmd = htole64(csum_cmd(a.tx.buffers, 0));
	desc->csum_start = htole16(34);
	desc->csum_offset = htole16(6);
	nic_queue_ring(&a.tx);
	test_run();
	got = nic_receive(&b, &len);
	REQUIRE(got);
	CHECK_EQ(len, 63);
	CHECK(!memcmp(got, frame, 40));
	CHECK(memcmp(got + 40, frame + 40, 2));
	/* the field took part in the sum, so it is what was there beside the new value */
	for (unsigned int i = 34; i < 63; i += 2)
		sum += (i == 40 ? frame[40] << 8 | frame[41] : 0) +
		       (got[i] << 8 | (i + 1 < 63 ? got[i + 1] : 0));
	sum = (sum & 0xffff) + (sum >> 16);
	CHECK_EQ((sum & 0xffff) + (sum >> 16), 0xffff);
	close_both();
}

TEST(a_checksum_of_zero_becomes_ones)
{
	uint8_t frame[NIC_FRAME] = { 0 };
	struct ionic_tx_desc *desc;
	const uint8_t *got;
	size_t len;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 0);
	memset(frame + 34, 0, 30);
	frame[40] = frame[41] = 0xff;
	desc = tx_desc(frame, 64);
	desc->cmd = htole64(csum_cmd(a.tx.buffers, 0));
	desc->csum_start = htole16(34);
	desc->csum_offset = htole16(6);
	nic_queue_ring(&a.tx);
	test_run();
	got = nic_receive(&b, &len);
	REQUIRE(got);
	CHECK_EQ(got[40] << 8 | got[41], 0xffff);
	close_both();
}

TEST(frames_are_gathered_from_all_elements)
{
	uint8_t frame[1400];
	struct ionic_tx_desc *desc;
	struct ionic_sg *list;
	const uint8_t *got;
	size_t len, at = 100;

	open_both("");
	for (unsigned int i = 0; i < sizeof(frame); i++)
		frame[i] = i * 7;
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 0);
	desc = tx_desc(frame, at);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_NSG, 15ull));
	list = test_mem(&a.host, a.tx.sg, IONIC_TX_SG_SLOT);
	for (unsigned int i = 0; i < 15; i++) {
		size_t part = i < 14 ? 80 : sizeof(frame) - at;

		list[i].addr = htole64(test_alloc(&a.host, part, 1));
		list[i].len = htole16(part);
		memcpy(test_mem(&a.host, le64toh(list[i].addr), part), frame + at, part);
		at += part;
	}
	nic_queue_ring(&a.tx);
	test_run();
	got = nic_receive(&b, &len);
	REQUIRE(got);
	CHECK_EQ(len, sizeof(frame));
	CHECK(!memcmp(got, frame, sizeof(frame)));
	close_both();
}

/* the first buffer is full before the list is used; sum and length tell of the whole */
TEST(frames_are_scattered_over_all_elements)
{
	struct ionic_rx_desc *desc;
	const struct ionic_rx_comp *comp;
	struct ionic_sg *list;
	uint8_t frame[NIC_FRAME];
	uint32_t sum = 0;

	open_both("");
	CHECK_EQ(nic_queue_control(&b.rx, IONIC_Q_DISABLE), 0);
	CHECK_EQ(nic_queue_init(&b.rx), 0);
	desc = test_mem(&b.host, b.rx.ring, sizeof(*desc));
	list = test_mem(&b.host, b.rx.sg, IONIC_RX_SG_SLOT);
	*desc = (struct ionic_rx_desc){
		.opcode = IONIC_RX_SG, .len = htole16(20), .addr = htole64(b.rx.buffers),
	};
	for (unsigned int i = 0; i < 5; i++) {
		list[i].addr = htole64(b.rx.buffers + 20 + 15 * i);
		list[i].len = htole16(15);
	}
	b.rx.posted = 1;
	nic_queue_ring(&b.rx);
	CHECK_EQ(nic_queue_control(&b.rx, IONIC_Q_ENABLE), 0);

	nic_frame(frame, nic_mac(&b), nic_mac(&a), 3);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	comp = nic_queue_take(&b.rx);
	REQUIRE(comp);
	CHECK_EQ(le16toh(comp->len), NIC_FRAME);
	CHECK_EQ(comp->nsg, 3);
	CHECK(!memcmp(test_mem(&b.host, b.rx.buffers, NIC_FRAME), frame, NIC_FRAME));
	CHECK_EQ(*(uint8_t *)test_mem(&b.host, b.rx.buffers + NIC_FRAME, 1), 0);
	CHECK_EQ(comp->csum_flags, IONIC_RX_CSUM);
	for (unsigned int i = 14; i < NIC_FRAME; i += 2)
		sum += frame[i] | frame[i + 1] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	CHECK_EQ(le16toh(comp->csum), (sum & 0xffff) + (sum >> 16));
	close_both();
}

TEST(a_frame_that_does_not_fit_costs_no_descriptor)
{
	uint8_t frame[NIC_FRAME];
	struct ionic_rx_desc *desc;

	open_both("");
	desc = test_mem(&b.host, b.rx.ring, sizeof(*desc));
	desc->len = htole16(63);
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 3);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK(!nic_queue_take(&b.rx));
	desc->len = htole16(64);
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK(nic_queue_take(&b.rx));
	test_run_ms(20);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_UNICAST_DROPS), 1);
	close_both();
}

/* the ring is announced before it is enabled, and a link flap goes on where it was */
TEST(disabled_queues_keep_their_place)
{
	uint8_t frame[NIC_FRAME];
	size_t len;

	open_both("");
	CHECK(arrives(nic_mac(&b)));
	CHECK_EQ(nic_queue_control(&b.rx, IONIC_Q_DISABLE), 0);
	CHECK_EQ(nic_queue_control(&a.tx, IONIC_Q_DISABLE), 0);
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);
	nic_post(&a, frame, sizeof(frame));
	test_run();
	CHECK(!nic_queue_take(&a.tx));
	CHECK_EQ(nic_queue_control(&a.tx, IONIC_Q_ENABLE), 0);
	CHECK(nic_queue_take(&a.tx));
	CHECK(!nic_receive(&b, &len));
	test_run_ms(20);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_QUEUE_DISABLED), 1);
	CHECK_EQ(nic_queue_control(&b.rx, IONIC_Q_ENABLE), 0);
	CHECK(arrives(nic_mac(&b)));
	close_both();
}

TEST(an_empty_ring_drops)
{
	uint8_t frame[NIC_FRAME];
	size_t len;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);
	for (unsigned int i = 0; i < 17; i++)
		CHECK(nic_send(&a, frame, sizeof(frame)));
	for (unsigned int i = 0; i < 15; i++)
		CHECK(nic_receive(&b, &len));
	CHECK(!nic_receive(&b, &len));
	test_run_ms(20);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_QUEUE_EMPTY), 2);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_UNICAST), 15);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_UNICAST_BYTES), 15 * NIC_FRAME);
	CHECK_EQ(nic_stat(&a, IONIC_STAT_TX_UNICAST), 17);
	CHECK(arrives(nic_mac(&b)));
	close_both();
}

TEST(statistics_tell_kinds_apart)
{
	static const uint8_t group[IONIC_MAC_SIZE] = { 0x33, 0x33, 0, 0, 0, 1 };
	uint32_t id;

	open_both("");
	CHECK_EQ(nic_filter_add(&b, group, &id), 0);
	CHECK(arrives(broadcast));
	CHECK(arrives(group));
	CHECK(arrives(group));
	test_run_ms(20);
	CHECK_EQ(nic_stat(&a, IONIC_STAT_TX_BROADCAST), 1);
	CHECK_EQ(nic_stat(&a, IONIC_STAT_TX_MULTICAST), 2);
	CHECK_EQ(nic_stat(&a, IONIC_STAT_TX_MULTICAST_BYTES), 2 * NIC_FRAME);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_BROADCAST), 1);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_MULTICAST), 2);
	CHECK_EQ(nic_stat(&b, IONIC_STAT_RX_UNICAST), 0);
	close_both();
}

TEST(a_pulled_cable_loses_frames)
{
	open_both("");
	b.dev->ops->link(b.dev, false);
	test_run();
	CHECK(!arrives(nic_mac(&b)));
	b.dev->ops->link(b.dev, true);
	test_run();
	CHECK(arrives(nic_mac(&b)));
	a.dev->ops->link(a.dev, false);
	test_run();
	CHECK(!arrives(nic_mac(&b)));
	test_run_ms(20);
	CHECK_EQ(nic_stat(&a, IONIC_STAT_TX_UNICAST_DROPS), 1);
	close_both();
}

/* a receiver that is stalled fills the network; the sender waits and loses nothing */
TEST(a_full_network_is_waited_for)
{
	unsigned int sent = 0;
	uint8_t frame[NIC_FRAME];
	size_t len;

	open_both("");
	ionic_of(b.dev)->net.held = true;
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);
	while (nic_send(&a, frame, sizeof(frame)))
		sent++;
	CHECK_EQ(sent, FABRIC_QUEUE_MAX);
	CHECK(!nic_queue_take(&a.tx));
	/* hand over what waits, as fast as the receiver takes it */
	ionic_of(b.dev)->net.held = false;
	for (unsigned int i = 0; i < FABRIC_QUEUE_MAX; i++) {
		fabric_run(1);
		CHECK(nic_receive(&b, &len));
	}
	CHECK(!nic_queue_take(&a.tx));
	test_run_ms(1);
	CHECK(nic_queue_take(&a.tx));
	CHECK(nic_receive(&b, &len));
	close_both();
}

TEST(one_interrupt_serves_both_directions)
{
	unsigned int irqs;

	open_both("");
	CHECK(arrives(nic_mac(&b)));
	CHECK_EQ(b.host.irqs[1], 1);
	CHECK_EQ(a.host.irqs[1], 1);
	irqs = nic_intr_get(&b, 1, IONIC_INTR_CREDITS);
	CHECK_EQ(irqs, 1);
	close_both();
}

/* announces a descriptor: one violation, a completion, and nothing is sent */
static void check_desc(const char *why)
{
	uint64_t sent = ionic_of(a.dev)->net.sent;

	nic_queue_ring(&a.tx);
	test_run();
	CHECK_CONTAINS(nic_violation(&a), why);
	CHECK(nic_queue_take(&a.tx));
	CHECK_EQ(ionic_of(a.dev)->net.sent, sent);
}

TEST(descriptors_out_of_rule)
{
	uint8_t frame[NIC_FRAME];
	struct ionic_tx_desc *desc;

	open_both("features=0");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);

	desc = tx_desc(frame, 64);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_FLAGS, (uint64_t)IONIC_TX_VLAN));
	check_desc("asks for VLAN insertion");
	desc = tx_desc(frame, 64);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_OPCODE, (uint64_t)IONIC_TX_TSO));
	check_desc("whose feature was not granted");
	desc = tx_desc(frame, 64);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_OPCODE, (uint64_t)IONIC_TX_CSUM));
	check_desc("asks for a checksum");
	desc = tx_desc(frame, 64);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_NSG, 1ull));
	check_desc("has an SG list");
	desc = tx_desc(frame, 64);
	desc->len = 0;
	check_desc("empty buffer");
	desc = tx_desc(frame, 64);
	desc->len = htole16(13);
	check_desc("shorter than an Ethernet header");
	desc = tx_desc(frame, 64);
	desc->len = htole16(9198 + 19);
	check_desc("longer than the port takes");
	desc = tx_desc(frame, 64);
	desc->cmd = htole64(HW_PREP(IONIC_TX_ADDR, (uint64_t)test_hole()));
	check_desc("frame to transmit at");
	close_both();
}

TEST(checksums_behind_the_end)
{
	uint8_t frame[NIC_FRAME];
	struct ionic_tx_desc *desc;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);
	desc = tx_desc(frame, 64);
	desc->cmd |= htole64(HW_PREP(IONIC_TX_OPCODE, (uint64_t)IONIC_TX_CSUM));
	desc->csum_start = htole16(34);
	desc->csum_offset = htole16(29);
	check_desc("checksum behind its end");
	close_both();
}

TEST(receive_descriptors_out_of_rule)
{
	uint8_t frame[NIC_FRAME];
	struct ionic_rx_desc *desc;

	open_both("");
	nic_frame(frame, nic_mac(&b), nic_mac(&a), 9);
	desc = test_mem(&b.host, b.rx.ring, sizeof(*desc));
	desc->opcode = 2;
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK_CONTAINS(nic_violation(&b), "descriptor 0 of receive queue 0");
	desc[1].addr = htole64(test_hole());
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK_CONTAINS(nic_violation(&b), "receive buffer at");
	for (unsigned int i = 0; i < 2; i++) {
		const struct ionic_rx_comp *comp = nic_queue_take(&b.rx);

		REQUIRE(comp);
		CHECK_EQ(comp->status, IONIC_EFAULT);
	}
	CHECK(nic_send(&a, frame, sizeof(frame)));
	CHECK(nic_queue_take(&b.rx));
	close_both();
}

/* frames between two stations stay in order, so they share a queue; one that is off gets none */
TEST(frames_are_spread_over_enabled_queues)
{
	struct nic_queue second;
	unsigned int got[2] = { 0 };

	open_both("queues=2");
	nic_queue_alloc(&b, &second, IONIC_Q_RX, 1, NIC_RING_LOG2);
	CHECK_EQ(nic_queue_init(&second), 0);
	nic_fill(&second);
	CHECK_EQ(nic_queue_control(&second, IONIC_Q_ENABLE), 0);
	for (unsigned int i = 0; i < 8; i++) {
		uint8_t frame[NIC_FRAME], from[IONIC_MAC_SIZE] = { 2, 0, 0, 0, 0, i };

		nic_frame(frame, nic_mac(&b), from, i);
		CHECK(nic_send(&a, frame, sizeof(frame)));
		got[0] += nic_queue_take(&b.rx) != NULL;
		got[1] += nic_queue_take(&second) != NULL;
	}
	CHECK_EQ(got[0] + got[1], 8);
	CHECK(got[0] && got[1]);
	CHECK_EQ(nic_queue_control(&b.rx, IONIC_Q_DISABLE), 0);
	for (unsigned int i = 0; i < 4; i++) {
		uint8_t frame[NIC_FRAME], from[IONIC_MAC_SIZE] = { 2, 0, 0, 0, 0, i };

		nic_frame(frame, nic_mac(&b), from, i);
		CHECK(nic_send(&a, frame, sizeof(frame)));
		CHECK(nic_queue_take(&second));
	}
	close_both();
}

TAP_MAIN
