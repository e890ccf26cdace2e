// SPDX-License-Identifier: GPL-2.0
/* Packets: what is put in comes out, in the places that RoCEv2 gives it. */
#include <hw/ionic_rdma_admin.h>
#include "ionic_rdma_wire.h"
#include "tap.h"

static const uint8_t to[6] = { 2, 0, 0, 0, 0, 2 }, from[6] = { 2, 0, 0, 0, 0, 1 };

/* a template as drivers make them; its length */
static size_t make_template(uint8_t *bytes, bool vlan, bool ipv4)
{
	size_t at = 12;
	uint8_t *ip;

	memset(bytes, 0, IONIC_WIRE_HEADER_MAX);
	memcpy(bytes, to, 6);
	memcpy(bytes + 6, from, 6);
	if (vlan) {
		bytes[at] = 0x81;
		bytes[at + 2] = 0x60;	/* priority 3 */
		bytes[at + 3] = 5;
		at += 4;
	}
	bytes[at] = ipv4 ? 0x08 : 0x86;
	bytes[at + 1] = ipv4 ? 0x00 : 0xdd;
	ip = bytes + at + 2;
	if (ipv4) {
		ip[0] = 0x45;
		ip[2] = ip[3] = 0xff;	/* as drivers leave the length */
		ip[6] = 0x40;
		ip[8] = 64;
		ip[9] = 17;
		memcpy(ip + 12, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
		at += 22;
	} else {
		ip[0] = 0x60;
		ip[6] = 17;
		ip[7] = 64;
		ip[8] = 0xfe;
		ip[23] = 1;
		ip[24] = 0xfe;
		ip[39] = 2;
		at += 42;
	}
	bytes[at] = 0xc0;
	bytes[at + 2] = 0x12;	/* 4791 */
	bytes[at + 3] = 0xb7;
	return at + 8;
}

static unsigned int profile(bool vlan, bool ipv4)
{
	if (ipv4)
		return vlan ? IONIC_HDR_IPV4_VLAN : IONIC_HDR_IPV4;
	return vlan ? IONIC_HDR_IPV6_VLAN : IONIC_HDR_IPV6;
}

static struct ionic_wire_header header(bool vlan, bool ipv4)
{
	uint8_t bytes[IONIC_WIRE_HEADER_MAX];
	size_t len = make_template(bytes, vlan, ipv4);
	struct ionic_wire_header result;
	const char *why = ionic_wire_header_parse(&result, bytes, len, profile(vlan, ipv4));

	CHECK_STR(why ? why : "", "");
	return result;
}

/* there and back; the packet as it arrived, its frame in @frame */
static struct ionic_packet send(uint8_t *frame, const struct ionic_wire_header *h,
				const struct ionic_packet *packet, const void *payload, size_t len)
{
	size_t at = ionic_wire_begin(frame, h, packet, len), size;
	struct ionic_packet got;

	memcpy(frame + at, payload, len);
	size = ionic_wire_end(frame, h, at, len);
	CHECK_EQ(size % 4, (h->len + 4 + 12) % 4);
	CHECK(ionic_wire_is_roce(frame, size));
	CHECK(ionic_wire_parse(frame, size, &got));
	return got;
}

TEST(every_header_comes_back)
{
	for (unsigned int i = 0; i < 4; i++) {
		bool vlan = i & 1, ipv4 = i & 2;
		struct ionic_wire_header h = header(vlan, ipv4);
		struct ionic_packet packet = {
			.opcode = IONIC_WIRE_SEND_ONLY_IMM | IONIC_WIRE_UD, .solicited = true,
			.pkey = 0xffff, .dest_qpn = 0x123456, .psn = 0xabcdef,
			.qkey = 0x11223344, .src_qpn = 0x654321, .imm = 0xdeadbeef,
		}, got;
		uint8_t frame[IONIC_WIRE_FRAME_MAX];

		got = send(frame, &h, &packet, "hello", 5);
		CHECK_EQ(got.opcode, packet.opcode);
		CHECK(got.solicited && !got.ack_req);
		CHECK_EQ(got.dest_qpn, 0x123456);
		CHECK_EQ(got.psn, 0xabcdef);
		CHECK_EQ(got.qkey, 0x11223344);
		CHECK_EQ(got.src_qpn, 0x654321);
		CHECK_EQ(got.imm, 0xdeadbeef);
		CHECK_EQ(got.payload_len, 5);
		CHECK(!memcmp(got.payload, "hello", 5));
		CHECK_EQ(got.has_vlan, vlan);
		CHECK_EQ(got.vlan, vlan ? 0x6005 : 0);
		CHECK_EQ(got.ipv4, ipv4);
		CHECK(!memcmp(got.src_mac, from, 6));
		/* datagram receivers find an IPv4 header at the end of the place for both */
		CHECK_EQ(got.network[ipv4 ? 20 : 0] >> 4, ipv4 ? 4 : 6);
		CHECK_EQ(got.network[39], 2);
	}
}

TEST(lengths_and_check_sums)
{
	struct ionic_wire_header h = header(false, true);
	struct ionic_packet packet = { .opcode = IONIC_WIRE_SEND_ONLY };
	uint8_t frame[IONIC_WIRE_FRAME_MAX];
	const uint8_t *ip = frame + 14;
	uint32_t sum = 0;

	send(frame, &h, &packet, "abcdef", 6);
	/* 6 bytes are padded to 8; then the check sum of 4 */
	CHECK_EQ(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + 4);
	CHECK_EQ(ip[24] << 8 | ip[25], 8 + 12 + 8 + 4);
	CHECK_EQ(frame[42 + 1] >> 4 & 3, 2);
	for (unsigned int i = 0; i < 20; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	CHECK_EQ((sum & 0xffff) + (sum >> 16), 0xffff);
}

TEST(extensions)
{
	struct ionic_wire_header h = header(false, false);
	struct ionic_packet packet = {
		.opcode = IONIC_WIRE_WRITE_ONLY_IMM, .addr = 0x1122334455667788,
		.rkey = 0xaabbccdd, .length = 0x12345678, .imm = 7, .ack_req = true,
	}, got;
	uint8_t frame[IONIC_WIRE_FRAME_MAX];

	got = send(frame, &h, &packet, "", 0);
	CHECK_EQ(got.addr, packet.addr);
	CHECK_EQ(got.rkey, packet.rkey);
	CHECK_EQ(got.length, packet.length);
	CHECK_EQ(got.imm, 7);
	CHECK(got.ack_req);
	CHECK_EQ(got.payload_len, 0);

	packet.opcode = IONIC_WIRE_CMP_SWAP;
	packet.swap_add = 1;
	packet.compare = 0x8877665544332211;
	got = send(frame, &h, &packet, "", 0);
	CHECK_EQ(got.addr, packet.addr);
	CHECK_EQ(got.swap_add, 1);
	CHECK_EQ(got.compare, packet.compare);

	packet.opcode = IONIC_WIRE_ATOMIC_ACK;
	packet.syndrome = 0x1f;
	packet.msn = 0x010203;
	packet.value = 0x0102030405060708;
	got = send(frame, &h, &packet, "", 0);
	CHECK_EQ(got.syndrome, 0x1f);
	CHECK_EQ(got.msn, 0x010203);
	CHECK_EQ(got.value, packet.value);

	packet.opcode = IONIC_WIRE_SEND_LAST_INV;
	packet.inv_key = 0x4567;
	got = send(frame, &h, &packet, "x", 1);
	CHECK_EQ(got.inv_key, 0x4567);
	CHECK_EQ(got.payload_len, 1);
}

static void check_refused(uint8_t *bytes, size_t len, unsigned int kind, const char *why)
{
	struct ionic_wire_header h;
	const char *text = ionic_wire_header_parse(&h, bytes, len, kind);

	CHECK_CONTAINS(text ? text : "", why);
}

TEST(templates_out_of_rule)
{
	uint8_t bytes[IONIC_WIRE_HEADER_MAX];
	size_t len = make_template(bytes, false, true);

	check_refused(bytes, len, IONIC_HDR_IPV6, "length");
	check_refused(bytes, len - 1, IONIC_HDR_IPV4, "length");
	check_refused(bytes, len, 12, "length");
	memset(bytes + 6, 0, 6);
	check_refused(bytes, len, IONIC_HDR_IPV4, "source MAC");
	make_template(bytes, false, true);
	memset(bytes, 0, 6);
	check_refused(bytes, len, IONIC_HDR_IPV4, "destination MAC");
	make_template(bytes, false, true);
	bytes[14 + 8] = 0;
	check_refused(bytes, len, IONIC_HDR_IPV4, "hops");
	make_template(bytes, false, true);
	bytes[14 + 9] = 6;
	check_refused(bytes, len, IONIC_HDR_IPV4, "than UDP");
	make_template(bytes, false, true);
	bytes[14 + 22]++;
	check_refused(bytes, len, IONIC_HDR_IPV4, "not RoCE");
	len = make_template(bytes, true, false);
	bytes[12] = 0x88;
	check_refused(bytes, len, IONIC_HDR_IPV6_VLAN, "no VLAN tag");
	len = make_template(bytes, false, false);
	bytes[12] = 0x08;
	check_refused(bytes, len, IONIC_HDR_IPV6, "EtherType");
}

TEST(what_is_no_packet)
{
	struct ionic_wire_header h = header(false, true);
	struct ionic_packet packet = { .opcode = IONIC_WIRE_WRITE_ONLY }, got;
	uint8_t frame[IONIC_WIRE_FRAME_MAX];
	size_t at = ionic_wire_begin(frame, &h, &packet, 0), size;

	size = ionic_wire_end(frame, &h, at, 0);
	CHECK(ionic_wire_parse(frame, size, &got));
	for (size_t len = 0; len < size; len++)
		CHECK(!ionic_wire_parse(frame, len, &got));
	frame[42] = 21;
	CHECK(!ionic_wire_parse(frame, size, &got));
	frame[42] = IONIC_WIRE_OPS;
	CHECK(!ionic_wire_parse(frame, size, &got));
	frame[42] = IONIC_WIRE_WRITE_ONLY;
	frame[36]++;
	CHECK(!ionic_wire_is_roce(frame, size));
}

TEST(numbers_in_a_circle)
{
	CHECK_EQ(ionic_psn_diff(0, 0xffffff), 1);
	CHECK_EQ(ionic_psn_diff(0xffffff, 0), -1);
	CHECK_EQ(ionic_psn_diff(0x800000, 1), 0x7fffff);
	CHECK_EQ(ionic_psn_add(0xfffffe, 5), 3);
	CHECK_EQ(ionic_psn_add(0, -1), 0xffffff);
}

TAP_MAIN
