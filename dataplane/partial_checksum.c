/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/partial_checksum.h"

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

/* Where the segment is and the sum of its pseudo-header, folded, in network byte order. */
struct l4 {
	uint32_t offset, len;
	uint8_t proto;
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

static bool complete(struct rte_mbuf *m, const struct l4 *l4)
{
	bool tcp = l4->proto == IPPROTO_TCP;
	uint32_t head = tcp ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr);
	uint32_t at = l4->offset + (tcp ? offsetof(struct rte_tcp_hdr, cksum)
					: offsetof(struct rte_udp_hdr, dgram_cksum));
	uint16_t sum, *field;

	/* The field lies in the first segment with every driver that leaves checksums partial. */
	if (l4->len < head || at + sizeof(*field) > m->data_len)
		return false;
	field = rte_pktmbuf_mtod_offset(m, uint16_t *, at);
	memcpy(&sum, field, sizeof(sum));
	if (sum != l4->pseudo)
		return false;
	/* The pseudo-header's sum lies in the field, so the sum over the segment has all in it. */
	if (rte_raw_cksum_mbuf(m, l4->offset, l4->len, &sum) != 0)
		return false;
	sum = (uint16_t)~sum;
	if (sum == 0 && !tcp)
		sum = 0xffff;
	memcpy(field, &sum, sizeof(sum));
	return true;
}

bool bp_partial_checksum_complete(struct rte_mbuf *m)
{
	struct l4 l4;
	rte_be16_t type;
	uint32_t offset;

	if (!skip_ethernet(m, &offset, &type))
		return false;
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		if (!parse_ip4(m, offset, &l4))
			return false;
	} else if (type != RTE_BE16(RTE_ETHER_TYPE_IPV6) || !parse_ip6(m, offset, &l4)) {
		return false;
	}
	if (l4.proto != IPPROTO_TCP && l4.proto != IPPROTO_UDP)
		return false;
	return complete(m, &l4);
}
