/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCEv2 packets: the driver's header template (Ethernet to UDP), the InfiniBand
 * transport headers, payload, padding and 4 bytes of check sum.
 */
#ifndef IONIC_RDMA_WIRE_H
#define IONIC_RDMA_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IONIC_WIRE_HEADER_MAX	66
#define IONIC_WIRE_FRAME_MAX	4400	/* largest headers, 4096 bytes of payload, the rest */
#define IONIC_WIRE_MAC		6
#define IONIC_WIRE_GRH		40	/* what of the network header a datagram's receiver gets */
#define IONIC_PSN_MASK		0x00ffffffu
#define IONIC_PKEY_DEFAULT	0xffff

/* class of a transport, bits 7:5 of the opcode */
#define IONIC_WIRE_CLASS	0xe0
#define IONIC_WIRE_RC		0x00
#define IONIC_WIRE_UC		0x20
#define IONIC_WIRE_UD		0x60

enum ionic_wire_op {
	IONIC_WIRE_SEND_FIRST		= 0,
	IONIC_WIRE_SEND_MIDDLE		= 1,
	IONIC_WIRE_SEND_LAST		= 2,
	IONIC_WIRE_SEND_LAST_IMM	= 3,
	IONIC_WIRE_SEND_ONLY		= 4,
	IONIC_WIRE_SEND_ONLY_IMM	= 5,
	IONIC_WIRE_WRITE_FIRST		= 6,
	IONIC_WIRE_WRITE_MIDDLE		= 7,
	IONIC_WIRE_WRITE_LAST		= 8,
	IONIC_WIRE_WRITE_LAST_IMM	= 9,
	IONIC_WIRE_WRITE_ONLY		= 10,
	IONIC_WIRE_WRITE_ONLY_IMM	= 11,
	IONIC_WIRE_READ_REQUEST		= 12,
	IONIC_WIRE_READ_FIRST		= 13,
	IONIC_WIRE_READ_MIDDLE		= 14,
	IONIC_WIRE_READ_LAST		= 15,
	IONIC_WIRE_READ_ONLY		= 16,
	IONIC_WIRE_ACK			= 17,
	IONIC_WIRE_ATOMIC_ACK		= 18,
	IONIC_WIRE_CMP_SWAP		= 19,
	IONIC_WIRE_FETCH_ADD		= 20,
	IONIC_WIRE_SEND_LAST_INV	= 22,
	IONIC_WIRE_SEND_ONLY_INV	= 23,
	IONIC_WIRE_OPS			= 24,
};

/* what an opcode is made of */
#define IONIC_WIRE_IS_SEND	0x0001
#define IONIC_WIRE_IS_WRITE	0x0002
#define IONIC_WIRE_IS_RESPONSE	0x0004	/* for the requester */
#define IONIC_WIRE_BEGINS	0x0008	/* first packet of its message */
#define IONIC_WIRE_ENDS		0x0010	/* last packet of its message */
#define IONIC_WIRE_HAS_RETH	0x0020
#define IONIC_WIRE_HAS_AETH	0x0040
#define IONIC_WIRE_HAS_IMM	0x0080
#define IONIC_WIRE_HAS_INV	0x0100
#define IONIC_WIRE_IS_ATOMIC	0x0200
#define IONIC_WIRE_HAS_VALUE	0x0400	/* what was there before an atomic */
#define IONIC_WIRE_HAS_PAYLOAD	0x0800

/* IONIC_WIRE_*, 0: there is no such opcode; @opcode without its class */
unsigned int ionic_wire_parts(unsigned int opcode);

/* syndromes of acknowledgements */
#define IONIC_SYNDROME_ACK	0x1f	/* without a limit to what may be sent */
#define IONIC_SYNDROME_RNR	0x20	/* and a timer code */
#define IONIC_SYNDROME_NAK	0x60	/* and one of these: */
#define IONIC_NAK_SEQUENCE	0
#define IONIC_NAK_INVALID	1
#define IONIC_NAK_ACCESS	2
#define IONIC_NAK_OPERATION	3
#define IONIC_SYNDROME_KIND	0xe0
#define IONIC_SYNDROME_CODE	0x1f

/* a template, and what was found in it */
struct ionic_wire_header {
	uint8_t bytes[IONIC_WIRE_HEADER_MAX];
	size_t len;
	bool vlan, ipv4;
};

/* length of a template of a profile (enum ionic_hdr_profile), 0: no such profile */
size_t ionic_wire_header_length(unsigned int profile);
/* takes the bytes apart as @profile says they are; NULL, or what is wrong with them */
const char *ionic_wire_header_parse(struct ionic_wire_header *header, const uint8_t *bytes,
				    size_t len, unsigned int profile);

/* a packet taken apart; numbers in host order but for imm, which is as the user gave it */
struct ionic_packet {
	uint8_t opcode;			/* with its class */
	unsigned int parts;
	bool solicited, ack_req;
	uint16_t pkey;
	uint32_t dest_qpn, psn;
	uint32_t qkey, src_qpn;		/* UD */
	uint64_t addr;			/* RETH, atomics */
	uint32_t rkey, length;
	uint64_t swap_add, compare;
	uint8_t syndrome;		/* AETH */
	uint32_t msn;
	uint64_t value;			/* atomic answer */
	uint32_t imm, inv_key;
	const uint8_t *payload;
	size_t payload_len;
	/* of the frame that it came in */
	uint8_t src_mac[IONIC_WIRE_MAC];
	bool has_vlan, ipv4;
	uint16_t vlan;
	uint8_t network[IONIC_WIRE_GRH];
};

/* the hops that a packet that came in had left */
unsigned int ionic_wire_hops(const struct ionic_packet *packet);

/*
 * Writes everything in front of the payload to @frame (IONIC_WIRE_FRAME_MAX bytes) and
 * returns how much that is; the payload's place is behind it.
 */
size_t ionic_wire_begin(uint8_t *frame, const struct ionic_wire_header *header,
			const struct ionic_packet *packet, size_t payload_len);
/* pads, adds what is behind, fills in lengths and check sums; the length of the frame */
size_t ionic_wire_end(uint8_t *frame, const struct ionic_wire_header *header, size_t at,
		      size_t payload_len);

/* is it a RoCEv2 frame? */
bool ionic_wire_is_roce(const uint8_t *frame, size_t len);
/* takes it apart; false if it is too short or of no known opcode */
bool ionic_wire_parse(const uint8_t *frame, size_t len, struct ionic_packet *packet);

/* signed distance from @b to @a in the circle of PSNs */
static inline int32_t ionic_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t ionic_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & IONIC_PSN_MASK;
}

#endif /* IONIC_RDMA_WIRE_H */
