// SPDX-License-Identifier: GPL-2.0
/*
 * Packets to bytes and back. Everything is big-endian here.
 *
 * choice: the invariant CRC is not computed, nothing on the way can spoil a packet.
 */
#include <string.h>

#include <hw/ionic_rdma_admin.h>
#include "ionic_rdma_wire.h"

#define MACS		12u
#define TAG_SIZE	4u
#define ETHERTYPE_VLAN	0x8100
#define ETHERTYPE_IPV4	0x0800
#define ETHERTYPE_IPV6	0x86dd
#define IPV4_SIZE	20u
#define IPV6_SIZE	40u
#define UDP_SIZE	8u
#define IP_PROTO_UDP	17
#define BTH_SIZE	12u
#define DETH_SIZE	8u
#define RETH_SIZE	16u
#define ATOMIC_SIZE	28u
#define AETH_SIZE	4u
#define VALUE_SIZE	8u
#define IMM_SIZE	4u
#define ICRC_SIZE	4u

#define BTH_SOLICITED	0x80
#define BTH_MIGRATED	0x40
#define BTH_PAD		0x30
#define BTH_PAD_SHIFT	4
#define BTH_VERSION	0x0f
#define BTH_ACK_REQ	0x80000000u

static const uint16_t parts_of[IONIC_WIRE_OPS] = {
#define PAYLOAD	IONIC_WIRE_HAS_PAYLOAD
#define SEND	(IONIC_WIRE_IS_SEND | PAYLOAD)
#define WRITE	(IONIC_WIRE_IS_WRITE | PAYLOAD)
#define READ	(IONIC_WIRE_IS_RESPONSE | PAYLOAD)
#define BEGINS	IONIC_WIRE_BEGINS
#define ENDS	IONIC_WIRE_ENDS
#define ONLY	(BEGINS | ENDS)
#define RETH	IONIC_WIRE_HAS_RETH
#define AETH	IONIC_WIRE_HAS_AETH
#define IMM	IONIC_WIRE_HAS_IMM
#define INV	IONIC_WIRE_HAS_INV
	[IONIC_WIRE_SEND_FIRST]		= SEND | BEGINS,
	[IONIC_WIRE_SEND_MIDDLE]	= SEND,
	[IONIC_WIRE_SEND_LAST]		= SEND | ENDS,
	[IONIC_WIRE_SEND_LAST_IMM]	= SEND | ENDS | IMM,
	[IONIC_WIRE_SEND_LAST_INV]	= SEND | ENDS | INV,
	[IONIC_WIRE_SEND_ONLY]		= SEND | ONLY,
	[IONIC_WIRE_SEND_ONLY_IMM]	= SEND | ONLY | IMM,
	[IONIC_WIRE_SEND_ONLY_INV]	= SEND | ONLY | INV,
	[IONIC_WIRE_WRITE_FIRST]	= WRITE | BEGINS | RETH,
	[IONIC_WIRE_WRITE_MIDDLE]	= WRITE,
	[IONIC_WIRE_WRITE_LAST]		= WRITE | ENDS,
	[IONIC_WIRE_WRITE_LAST_IMM]	= WRITE | ENDS | IMM,
	[IONIC_WIRE_WRITE_ONLY]		= WRITE | ONLY | RETH,
	[IONIC_WIRE_WRITE_ONLY_IMM]	= WRITE | ONLY | RETH | IMM,
	[IONIC_WIRE_READ_REQUEST]	= ONLY | RETH,
	[IONIC_WIRE_READ_FIRST]		= READ | BEGINS | AETH,
	[IONIC_WIRE_READ_MIDDLE]	= READ,
	[IONIC_WIRE_READ_LAST]		= READ | ENDS | AETH,
	[IONIC_WIRE_READ_ONLY]		= READ | ONLY | AETH,
	[IONIC_WIRE_ACK]		= IONIC_WIRE_IS_RESPONSE | ONLY | AETH,
	[IONIC_WIRE_ATOMIC_ACK]		= IONIC_WIRE_IS_RESPONSE | ONLY | AETH |
					  IONIC_WIRE_HAS_VALUE,
	[IONIC_WIRE_CMP_SWAP]		= ONLY | IONIC_WIRE_IS_ATOMIC,
	[IONIC_WIRE_FETCH_ADD]		= ONLY | IONIC_WIRE_IS_ATOMIC,
};

unsigned int ionic_wire_parts(unsigned int opcode)
{
	return opcode < IONIC_WIRE_OPS ? parts_of[opcode] : 0;
}

/* ---- numbers ---------------------------------------------------------------------- */

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

static void put64(uint8_t *at, uint64_t value)
{
	put32(at, value >> 32);
	put32(at + 4, value);
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

/* ---- templates -------------------------------------------------------------------- */

size_t ionic_wire_header_length(unsigned int profile)
{
	switch (profile) {
	case IONIC_HDR_IPV4:
		return IONIC_HDR_LEN_IPV4;
	case IONIC_HDR_IPV4_VLAN:
		return IONIC_HDR_LEN_IPV4 + IONIC_HDR_LEN_VLAN;
	case IONIC_HDR_IPV6:
		return IONIC_HDR_LEN_IPV6;
	case IONIC_HDR_IPV6_VLAN:
		return IONIC_HDR_LEN_IPV6 + IONIC_HDR_LEN_VLAN;
	default:
		return 0;
	}
}

static size_t ip_at(bool vlan)
{
	return MACS + 2 + (vlan ? TAG_SIZE : 0);
}

static const char *check_ipv4(const uint8_t *ip)
{
	if (ip[0] != 0x45)
		return "is no IPv4 header of 20 bytes";
	if (ip[9] != IP_PROTO_UDP)
		return "carries something else than UDP";
	return ip[8] ? NULL : "has no hops to live";
}

static const char *check_ipv6(const uint8_t *ip)
{
	if (ip[0] >> 4 != 6)
		return "is no IPv6 header";
	if (ip[6] != IP_PROTO_UDP)
		return "carries something else than UDP";
	return ip[7] ? NULL : "has no hops to live";
}

const char *ionic_wire_header_parse(struct ionic_wire_header *header, const uint8_t *bytes,
				    size_t len, unsigned int profile)
{
	static const uint8_t none[IONIC_WIRE_MAC];
	const uint8_t *ip, *udp;
	const char *why;

	header->vlan = profile == IONIC_HDR_IPV4_VLAN || profile == IONIC_HDR_IPV6_VLAN;
	header->ipv4 = profile == IONIC_HDR_IPV4 || profile == IONIC_HDR_IPV4_VLAN;
	if (!len || len != ionic_wire_header_length(profile))
		return "is of a length that its profile does not have";
	memcpy(header->bytes, bytes, len);
	header->len = len;
	if (!memcmp(bytes + IONIC_WIRE_MAC, none, sizeof(none)) || bytes[IONIC_WIRE_MAC] & 1)
		return "has a source MAC address that is not one of a station";
	if (!memcmp(bytes, none, sizeof(none)))
		return "has no destination MAC address";
	if (header->vlan && get16(bytes + MACS) != ETHERTYPE_VLAN)
		return "has no VLAN tag though its profile says so";
	ip = bytes + ip_at(header->vlan);
	if (get16(ip - 2) != (header->ipv4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6))
		return "has another EtherType than its profile says";
	why = header->ipv4 ? check_ipv4(ip) : check_ipv6(ip);
	if (why)
		return why;
	udp = ip + (header->ipv4 ? IPV4_SIZE : IPV6_SIZE);
	return get16(udp + 2) == IONIC_ROCE_PORT ? NULL : "goes to a UDP port that is not RoCE's";
}

/* ---- to bytes --------------------------------------------------------------------- */

static unsigned int padding(size_t payload_len)
{
	return -payload_len & 3;
}

static uint8_t *put_bth(uint8_t *at, const struct ionic_packet *packet, size_t payload_len)
{
	at[0] = packet->opcode;
	at[1] = (packet->solicited ? BTH_SOLICITED : 0) | BTH_MIGRATED |
		padding(payload_len) << BTH_PAD_SHIFT;
	put16(at + 2, packet->pkey);
	put32(at + 4, packet->dest_qpn);
	put32(at + 8, packet->psn | (packet->ack_req ? BTH_ACK_REQ : 0));
	return at + BTH_SIZE;
}

static uint8_t *put_extensions(uint8_t *at, const struct ionic_packet *packet, unsigned int parts)
{
	if ((packet->opcode & IONIC_WIRE_CLASS) == IONIC_WIRE_UD) {
		put32(at, packet->qkey);
		put32(at + 4, packet->src_qpn);
		at += DETH_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_RETH) {
		put64(at, packet->addr);
		put32(at + 8, packet->rkey);
		put32(at + 12, packet->length);
		at += RETH_SIZE;
	}
	if (parts & IONIC_WIRE_IS_ATOMIC) {
		put64(at, packet->addr);
		put32(at + 8, packet->rkey);
		put64(at + 12, packet->swap_add);
		put64(at + 20, packet->compare);
		at += ATOMIC_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_AETH) {
		put32(at, (uint32_t)packet->syndrome << 24 | (packet->msn & IONIC_PSN_MASK));
		at += AETH_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_VALUE) {
		put64(at, packet->value);
		at += VALUE_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_IMM) {
		memcpy(at, &packet->imm, IMM_SIZE);
		at += IMM_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_INV) {
		put32(at, packet->inv_key);
		at += IMM_SIZE;
	}
	return at;
}

size_t ionic_wire_begin(uint8_t *frame, const struct ionic_wire_header *header,
			const struct ionic_packet *packet, size_t payload_len)
{
	unsigned int parts = ionic_wire_parts(packet->opcode & ~IONIC_WIRE_CLASS);
	uint8_t *at = frame + header->len;

	memcpy(frame, header->bytes, header->len);
	at = put_bth(at, packet, payload_len);
	at = put_extensions(at, packet, parts);
	return at - frame;
}

static uint16_t ip_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < IPV4_SIZE; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

size_t ionic_wire_end(uint8_t *frame, const struct ionic_wire_header *header, size_t at,
		      size_t payload_len)
{
	size_t end = at + payload_len, ip_off = ip_at(header->vlan);
	size_t behind = padding(payload_len) + ICRC_SIZE, udp_len;
	uint8_t *ip = frame + ip_off, *udp = frame + header->len - UDP_SIZE;

	memset(frame + end, 0, behind);
	end += behind;
	udp_len = end - (header->len - UDP_SIZE);
	put16(udp + 4, udp_len);
	if (header->ipv4) {
		put16(ip + 2, IPV4_SIZE + udp_len);
		put16(ip + 10, 0);
		put16(ip + 10, ip_checksum(ip));
	} else {
		put16(ip + 4, udp_len);
	}
	return end;
}

/* ---- from bytes ------------------------------------------------------------------- */

/* where the UDP header ends; 0 if it is no RoCEv2 frame */
static size_t transport_at(const uint8_t *frame, size_t len, bool *vlan, bool *ipv4)
{
	const uint8_t *ip;
	size_t at;

	if (len < MACS + 2 + TAG_SIZE + IPV4_SIZE)
		return 0;
	*vlan = get16(frame + MACS) == ETHERTYPE_VLAN;
	ip = frame + ip_at(*vlan);
	*ipv4 = get16(ip - 2) == ETHERTYPE_IPV4;
	if (!*ipv4 && get16(ip - 2) != ETHERTYPE_IPV6)
		return 0;
	at = ip_at(*vlan) + (*ipv4 ? IPV4_SIZE : IPV6_SIZE) + UDP_SIZE;
	if (len < at + BTH_SIZE + ICRC_SIZE || (*ipv4 ? check_ipv4(ip) : check_ipv6(ip)) ||
	    get16(frame + at - UDP_SIZE + 2) != IONIC_ROCE_PORT)
		return 0;
	return at;
}

bool ionic_wire_is_roce(const uint8_t *frame, size_t len)
{
	bool vlan, ipv4;

	return transport_at(frame, len, &vlan, &ipv4);
}

/* an IPv4 header goes to the end of the room for a network header */
static void keep_network(struct ionic_packet *packet, const uint8_t *frame)
{
	const uint8_t *ip = frame + ip_at(packet->has_vlan);

	memset(packet->network, 0, sizeof(packet->network));
	if (packet->ipv4)
		memcpy(packet->network + IPV6_SIZE - IPV4_SIZE, ip, IPV4_SIZE);
	else
		memcpy(packet->network, ip, IPV6_SIZE);
}

unsigned int ionic_wire_hops(const struct ionic_packet *packet)
{
	return packet->ipv4 ? packet->network[IPV6_SIZE - IPV4_SIZE + 8] : packet->network[7];
}

static size_t extensions_size(const struct ionic_packet *packet)
{
	unsigned int parts = packet->parts;

	return ((packet->opcode & IONIC_WIRE_CLASS) == IONIC_WIRE_UD ? DETH_SIZE : 0) +
	       (parts & IONIC_WIRE_HAS_RETH ? RETH_SIZE : 0) +
	       (parts & IONIC_WIRE_IS_ATOMIC ? ATOMIC_SIZE : 0) +
	       (parts & IONIC_WIRE_HAS_AETH ? AETH_SIZE : 0) +
	       (parts & IONIC_WIRE_HAS_VALUE ? VALUE_SIZE : 0) +
	       (parts & IONIC_WIRE_HAS_IMM ? IMM_SIZE : 0) +
	       (parts & IONIC_WIRE_HAS_INV ? IMM_SIZE : 0);
}

static void get_extensions(struct ionic_packet *packet, const uint8_t *at)
{
	unsigned int parts = packet->parts;

	if ((packet->opcode & IONIC_WIRE_CLASS) == IONIC_WIRE_UD) {
		packet->qkey = get32(at);
		packet->src_qpn = get32(at + 4) & IONIC_PSN_MASK;
		at += DETH_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_RETH) {
		packet->addr = get64(at);
		packet->rkey = get32(at + 8);
		packet->length = get32(at + 12);
		at += RETH_SIZE;
	}
	if (parts & IONIC_WIRE_IS_ATOMIC) {
		packet->addr = get64(at);
		packet->rkey = get32(at + 8);
		packet->swap_add = get64(at + 12);
		packet->compare = get64(at + 20);
		at += ATOMIC_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_AETH) {
		packet->syndrome = at[0];
		packet->msn = get32(at) & IONIC_PSN_MASK;
		at += AETH_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_VALUE) {
		packet->value = get64(at);
		at += VALUE_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_IMM) {
		memcpy(&packet->imm, at, IMM_SIZE);
		at += IMM_SIZE;
	}
	if (parts & IONIC_WIRE_HAS_INV)
		packet->inv_key = get32(at);
}

bool ionic_wire_parse(const uint8_t *frame, size_t len, struct ionic_packet *packet)
{
	size_t at, size, behind;

	memset(packet, 0, sizeof(*packet));
	at = transport_at(frame, len, &packet->has_vlan, &packet->ipv4);
	if (!at)
		return false;
	/* short frames were padded on their way */
	size = at - UDP_SIZE + get16(frame + at - UDP_SIZE + 4);
	if (size > len)
		return false;
	packet->opcode = frame[at];
	packet->parts = ionic_wire_parts(packet->opcode & ~IONIC_WIRE_CLASS);
	packet->solicited = frame[at + 1] & BTH_SOLICITED;
	packet->pkey = get16(frame + at + 2);
	packet->dest_qpn = get32(frame + at + 4) & IONIC_PSN_MASK;
	packet->psn = get32(frame + at + 8) & IONIC_PSN_MASK;
	packet->ack_req = get32(frame + at + 8) & BTH_ACK_REQ;
	memcpy(packet->src_mac, frame + IONIC_WIRE_MAC, IONIC_WIRE_MAC);
	if (packet->has_vlan)
		packet->vlan = get16(frame + MACS + 2);
	keep_network(packet, frame);

	behind = ICRC_SIZE + ((frame[at + 1] & BTH_PAD) >> BTH_PAD_SHIFT);
	at += BTH_SIZE;
	if (!packet->parts || frame[at - BTH_SIZE + 1] & BTH_VERSION ||
	    size < at + extensions_size(packet) + behind)
		return false;
	get_extensions(packet, frame + at);
	at += extensions_size(packet);
	packet->payload = frame + at;
	packet->payload_len = size - behind - at;
	return true;
}
