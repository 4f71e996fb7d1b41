/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/partial_checksum.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#define VLAN_TAGS_MAX 2
#define EXT_HEADERS_MAX 8

/* Position of the segment and the folded sum of its pseudo-header, in network byte order. */
struct l4 {
	uint32_t l3, offset, len;
	uint8_t proto;
	bool ip6;
	uint16_t pseudo;
};

static bool skip_ethernet(const struct rte_mbuf *m, uint32_t *offset, rte_be16_t *type)
{
	struct rte_vlan_hdr tag;
	const struct rte_ether_hdr *eth;
	const struct rte_vlan_hdr *t;
	struct rte_ether_hdr copy;
	unsigned tags = 0;

	eth = rte_pktmbuf_read(m, 0, sizeof(copy), &copy);
	if (!eth)
		return false;
	*type = eth->ether_type;
	*offset = sizeof(*eth);
	while (*type == RTE_BE16(RTE_ETHER_TYPE_VLAN) || *type == RTE_BE16(RTE_ETHER_TYPE_QINQ)) {
		if (tags++ == VLAN_TAGS_MAX)
			return false;
		t = rte_pktmbuf_read(m, *offset, sizeof(tag), &tag);
		if (!t)
			return false;
		*type = t->eth_proto;
		*offset += sizeof(*t);
	}
	return true;
}

static bool parse_ip4(const struct rte_mbuf *m, uint32_t offset, struct l4 *l4)
{
	struct rte_ipv4_hdr copy;
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_read(m, offset, sizeof(copy), &copy);
	uint32_t head, total;

	if (!ip || ip->version_ihl >> 4 != 4)
		return false;
	head = (ip->version_ihl & 0xfu) * 4;
	total = rte_be_to_cpu_16(ip->total_length);
	if (head < sizeof(*ip) || total < head || total > m->pkt_len - offset)
		return false;
	if (ip->fragment_offset & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK))
		return false;
	l4->offset = offset + head;
	l4->len = total - head;
	l4->proto = ip->next_proto_id;
	l4->pseudo = rte_ipv4_phdr_cksum(ip, 0);
	return true;
}

static bool skip_ip6_extensions(const struct rte_mbuf *m, struct l4 *l4)
{
	for (unsigned i = 0; i < EXT_HEADERS_MAX; i++) {
		uint8_t copy[2];
		const uint8_t *ext;
		uint32_t len;

		if (l4->proto != IPPROTO_HOPOPTS && l4->proto != IPPROTO_DSTOPTS)
			return l4->proto == IPPROTO_TCP || l4->proto == IPPROTO_UDP;
		ext = rte_pktmbuf_read(m, l4->offset, sizeof(copy), copy);
		if (!ext)
			return false;
		len = (ext[1] + 1u) * 8;
		if (len > l4->len)
			return false;
		l4->proto = ext[0];
		l4->offset += len;
		l4->len -= len;
	}
	return false;
}

static bool parse_ip6(const struct rte_mbuf *m, uint32_t offset, struct l4 *l4)
{
	struct rte_ipv6_hdr copy;
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_read(m, offset, sizeof(copy), &copy);
	struct rte_ipv6_hdr pseudo;

	if (!ip || rte_be_to_cpu_32(ip->vtc_flow) >> 28 != 6)
		return false;
	pseudo = *ip;
	l4->offset = offset + (uint32_t)sizeof(*ip);
	l4->len = rte_be_to_cpu_16(ip->payload_len);
	l4->proto = ip->proto;
	if (l4->len > m->pkt_len - l4->offset || !skip_ip6_extensions(m, l4))
		return false;
	pseudo.payload_len = rte_cpu_to_be_16((uint16_t)l4->len);
	pseudo.proto = l4->proto;
	l4->pseudo = rte_ipv6_phdr_cksum(&pseudo, 0);
	return true;
}

/* Returns a pointer to a byte of the frame, in any of its buffers; NULL after the end. */
static uint8_t *byte(struct rte_mbuf *m, uint32_t at)
{
	for (; m != NULL; m = m->next) {
		if (at < m->data_len)
			return rte_pktmbuf_mtod_offset(m, uint8_t *, at);
		at -= m->data_len;
	}
	return NULL;
}

static uint32_t header_len(const struct l4 *l4)
{
	return l4->proto == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
}

static uint32_t field_at(const struct l4 *l4)
{
	return l4->offset + (l4->proto == IPPROTO_TCP ? offsetof(struct rte_tcp_hdr, cksum)
						      : offsetof(struct rte_udp_hdr, dgram_cksum));
}

/* Finds the TCP or UDP segment of a frame. */
static bool find(const struct rte_mbuf *m, struct l4 *l4)
{
	rte_be16_t type;

	if (!skip_ethernet(m, &l4->l3, &type))
		return false;
	l4->ip6 = type == RTE_BE16(RTE_ETHER_TYPE_IPV6);
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		if (!parse_ip4(m, l4->l3, l4))
			return false;
	} else if (!l4->ip6 || !parse_ip6(m, l4->l3, l4)) {
		return false;
	}
	return (l4->proto == IPPROTO_TCP || l4->proto == IPPROTO_UDP) && l4->len >= header_len(l4);
}

/* Whether the checksum field holds the sum of the pseudo-header. */
static bool is_partial(struct rte_mbuf *m, const struct l4 *l4, uint8_t *field[2])
{
	uint16_t sum;

	field[0] = byte(m, field_at(l4));
	field[1] = byte(m, field_at(l4) + 1);
	if (!field[0] || !field[1])
		return false;
	memcpy(&sum, (uint8_t[2]){*field[0], *field[1]}, sizeof(sum));
	return sum == l4->pseudo;
}

/*
 * Computes the folded sum of a part of the frame. False: the frame is shorter. rte_raw_cksum_mbuf()
 * of DPDK 22.11 loses carries where a buffer ends at an odd byte.
 */
static bool sum_of(const struct rte_mbuf *m, uint32_t offset, uint32_t len, uint16_t *out)
{
	uint32_t done = 0, sum = 0;

	for (; m != NULL && done < len; m = m->next) {
		uint32_t n;
		uint16_t part;

		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		n = RTE_MIN(m->data_len - offset, len - done);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const uint8_t *, offset), n);
		sum += done & 1 ? rte_bswap16(part) : part;
		done += n;
		offset = 0;
	}
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	*out = (uint16_t)sum;
	return done == len;
}

static bool complete(struct rte_mbuf *m, const struct l4 *l4, uint8_t *const field[2])
{
	uint8_t bytes[2];
	uint16_t sum;

	/* The field holds the sum of the pseudo-header, so the sum over the segment includes it. */
	if (!sum_of(m, l4->offset, l4->len, &sum))
		return false;
	sum = (uint16_t)~sum;
	if (sum == 0 && l4->proto == IPPROTO_UDP)
		sum = 0xffff;
	memcpy(bytes, &sum, sizeof(bytes));
	*field[0] = bytes[0];
	*field[1] = bytes[1];
	return true;
}

bool bp_partial_checksum_complete(struct rte_mbuf *m)
{
	struct l4 l4;
	uint8_t *field[2];

	return find(m, &l4) && is_partial(m, &l4, field) && complete(m, &l4, field);
}

/* Whether the headers are in the first buffer, and of a form that all devices support. */
static bool is_usual(const struct rte_mbuf *m, const struct l4 *l4)
{
	const uint32_t l3 = l4->offset - l4->l3;

	return (l4->ip6 ? l3 == sizeof(struct rte_ipv6_hdr) : l3 >= sizeof(struct rte_ipv4_hdr)) &&
	       l4->offset + header_len(l4) <= m->data_len;
}

enum bp_partial bp_partial_checksum_leave(struct rte_mbuf *m)
{
	struct l4 l4;
	uint8_t *field[2];

	if (!find(m, &l4) || !is_partial(m, &l4, field))
		return BP_PARTIAL_NONE;
	if (!is_usual(m, &l4))
		return complete(m, &l4, field) ? BP_PARTIAL_COMPLETED : BP_PARTIAL_NONE;
	m->tx_offload = 0;
	m->l2_len = l4.l3;
	m->l3_len = l4.offset - l4.l3;
	m->l4_len = l4.proto == IPPROTO_TCP ? header_len(&l4) : 0;
	m->ol_flags |=
		(l4.ip6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4) |
		(l4.proto == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
	return BP_PARTIAL_LEFT;
}
