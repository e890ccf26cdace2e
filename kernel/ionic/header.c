// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What packets to a peer begin with, Ethernet to UDP. The device puts lengths and
 * checksums in; the rest it takes from this template.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/inet_ecn.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "dion.h"

#define PAYLOAD_LENGTH	32	/* stands in UDP and IPv6 until the device knows better */
#define IPV4_LENGTH	0xffff

/* The core asks the route, but not for groups: 0 would keep a packet from leaving. */
#define DEFAULT_HOPS	64

static void *append(struct dion_header *header, size_t bytes)
{
	void *place = header->bytes + header->len;

	header->len += bytes;
	return place;
}

static void add_ethernet(struct dion_header *header, const struct rdma_ah_attr *attr,
			 const u8 *src_mac, u16 vlan, u16 type)
{
	struct ethhdr *eth = append(header, ETH_HLEN);
	struct vlan_hdr *tag;

	ether_addr_copy(eth->h_dest, attr->roce.dmac);
	ether_addr_copy(eth->h_source, src_mac);
	if (vlan >= VLAN_N_VID) {
		eth->h_proto = htons(type);
		return;
	}
	eth->h_proto = htons(ETH_P_8021Q);
	tag = append(header, VLAN_HLEN);
	tag->h_vlan_TCI = htons(vlan | (rdma_ah_get_sl(attr) << VLAN_PRIO_SHIFT & VLAN_PRIO_MASK));
	tag->h_vlan_encapsulated_proto = htons(type);
}

static void add_ipv4(struct dion_header *header, const struct ib_global_route *grh, u8 tos)
{
	struct iphdr *ip = append(header, sizeof(*ip));

	ip->version = 4;
	ip->ihl = sizeof(*ip) / sizeof(u32);
	ip->tos = tos;
	ip->tot_len = htons(IPV4_LENGTH);
	ip->frag_off = htons(IP_DF);
	ip->ttl = grh->hop_limit ?: DEFAULT_HOPS;
	ip->protocol = IPPROTO_UDP;
	memcpy(&ip->saddr, grh->sgid_attr->gid.raw + 12, sizeof(ip->saddr));
	memcpy(&ip->daddr, grh->dgid.raw + 12, sizeof(ip->daddr));
}

static void add_ipv6(struct dion_header *header, const struct ib_global_route *grh, u8 tos)
{
	struct ipv6hdr *ip = append(header, sizeof(*ip));

	ip6_flow_hdr(ip, tos, htonl(grh->flow_label & IB_GRH_FLOWLABEL_MASK));
	ip->payload_len = htons(PAYLOAD_LENGTH);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = grh->hop_limit ?: DEFAULT_HOPS;
	memcpy(&ip->saddr, grh->sgid_attr->gid.raw, sizeof(ip->saddr));
	memcpy(&ip->daddr, grh->dgid.raw, sizeof(ip->daddr));
}

static void add_udp(struct dion_header *header, u16 port)
{
	struct udphdr *udp = append(header, sizeof(*udp));

	udp->source = htons(port);
	udp->dest = htons(IONIC_ROCE_PORT);
	udp->len = htons(PAYLOAD_LENGTH);
}

/**
 * dion_header_new() - make a template
 * @attr: the peer's address, with a GID of ours
 * @udp_port: source port
 * @ecn: INET_ECN_*
 * @gfp: how to allocate it
 *
 * Return: the template, to be freed by kfree(), or an ERR_PTR: -EINVAL if it is not an
 * address of RoCE version 2.
 */
struct dion_header *dion_header_new(const struct rdma_ah_attr *attr, u16 udp_port, u8 ecn,
				    gfp_t gfp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct dion_header *header;
	u8 src_mac[ETH_ALEN];
	bool ipv4, tagged;
	u16 vlan;
	int ret;
	u8 tos;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE || !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    !rdma_is_port_valid(grh->sgid_attr->device, rdma_ah_get_port_num(attr)))
		return ERR_PTR(-EINVAL);
	ret = rdma_read_gid_l2_fields(grh->sgid_attr, &vlan, src_mac);
	if (ret)
		return ERR_PTR(ret);

	header = kzalloc(sizeof(*header), gfp);
	if (!header)
		return ERR_PTR(-ENOMEM);
	ipv4 = rdma_gid_attr_network_type(grh->sgid_attr) == RDMA_NETWORK_IPV4;
	tos = (grh->traffic_class & ~INET_ECN_MASK) | ecn;
	tagged = vlan < VLAN_N_VID;
	add_ethernet(header, attr, src_mac, vlan, ipv4 ? ETH_P_IP : ETH_P_IPV6);
	if (ipv4)
		add_ipv4(header, grh, tos);
	else
		add_ipv6(header, grh, tos);
	add_udp(header, udp_port);

	if (ipv4)
		header->profile = tagged ? IONIC_HDR_IPV4_VLAN : IONIC_HDR_IPV4;
	else
		header->profile = tagged ? IONIC_HDR_IPV6_VLAN : IONIC_HDR_IPV6;
	return header;
}
