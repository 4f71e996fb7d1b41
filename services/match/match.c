/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/match/match.h"

#include <stdbool.h>
#include <stdlib.h>

#include "proto/net/ip.h"

/* ---- the key of a frame ---- */

#define PROTO_ROUTING 43
#define PROTO_DESTINATION 60
/* Longer chains of extension headers do not occur in legitimate traffic. */
#define IP6_EXT_MAX 8
#define IP4_OFFSET 0x1fff
#define IP6_OFFSET 0xfff8
/* The first bytes of the UDP and TCP headers: the ports. */
#define PORTS 4u

/* Fields of a frame that entries match */
struct key {
	uint64_t source[2], destination[2]; /* as in the frame; IPv4: the first 4 bytes, then 0 */
	uint16_t vlan; /* the outer tag's, BP_MATCH_UNTAGGED; BP_MATCH_ANY: beyond what can be read
			*/
	uint16_t ethertype; /* after the tags; 0: beyond the readable part */
	uint16_t port;      /* destination port, if l4 is not 0 */
	uint8_t pcp;        /* BP_MATCH_ANY_PCP without a tag */
	uint8_t dscp;       /* BP_MATCH_ANY_DSCP if it is not IP */
	uint8_t family;     /* 4 or 6; 0: not IP */
	uint8_t l4;         /* BP_PROTO_UDP, BP_PROTO_TCP; 0: no ports */
};

/* `at`: offset of the transport header in the datagram, which ends at `end` by its own length
 * field, and of which `len` bytes are readable. */
static inline void ports(
	struct key *key, const uint8_t *ip, size_t at, size_t end, size_t len, uint8_t protocol)
{
	if ((protocol != BP_PROTO_UDP && protocol != BP_PROTO_TCP) || at + PORTS > end ||
		at + PORTS > len)
		return;
	key->l4 = protocol;
	key->port = bp_be16(ip + at + 2);
}

static inline void read_ip4(struct key *key, const uint8_t *ip, size_t len)
{
	const size_t header = len != 0 ? (size_t)(ip[0] & 0x0f) * 4 : 0;
	uint32_t address;

	if (len < BP_IP4_HDR || ip[0] >> 4 != 4 || header < BP_IP4_HDR)
		return;
	key->family = 4;
	key->dscp = ip[1] >> 2;
	memcpy(&address, ip + BP_IP4_SRC, sizeof(address));
	key->source[0] = address;
	memcpy(&address, ip + BP_IP4_DST, sizeof(address));
	key->destination[0] = address;
	if ((bp_be16(ip + BP_IP4_FRAGMENT) & IP4_OFFSET) == 0)
		ports(key, ip, header, bp_be16(ip + BP_IP4_TOTAL), len, ip[BP_IP4_PROTOCOL]);
}

static void read_ip6(struct key *key, const uint8_t *ip, size_t len)
{
	size_t at = BP_IP6_HDR;
	uint8_t next;

	if (len < BP_IP6_HDR || ip[0] >> 4 != 6)
		return;
	key->family = 6;
	key->dscp = (uint8_t)(bp_be16(ip) >> 6 & 0x3f);
	memcpy(key->source, ip + BP_IP6_SRC, 16);
	memcpy(key->destination, ip + BP_IP6_DST, 16);
	next = ip[BP_IP6_NEXT];
	for (unsigned i = 0; next == BP_PROTO_HOP_BY_HOP || next == PROTO_ROUTING ||
			     next == PROTO_DESTINATION || next == BP_PROTO_FRAGMENT;
		i++) {
		if (i == IP6_EXT_MAX || at + 8 > len)
			return;
		if (next != BP_PROTO_FRAGMENT) {
			next = ip[at];
			at += 8 + (size_t)ip[at + 1] * 8;
			continue;
		}
		if ((bp_be16(ip + at + 2) & IP6_OFFSET) != 0)
			return;
		next = ip[at];
		at += 8;
	}
	ports(key, ip, at, BP_IP6_HDR + bp_be16(ip + BP_IP6_PAYLOAD), len, next);
}

static inline bool is_tag(uint16_t type)
{
	return type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
}

/* False: not even an Ethernet header. */
static bool read_key(const uint8_t *frame, size_t len, struct key *key)
{
	size_t at = BP_ETHER_HDR;

	*key = (struct key){
		.vlan = BP_MATCH_UNTAGGED, .pcp = BP_MATCH_ANY_PCP, .dscp = BP_MATCH_ANY_DSCP};
	if (len < at)
		return false;
	key->ethertype = bp_be16(frame + at - 2);
	for (unsigned tags = 0; tags < 2 && is_tag(key->ethertype); tags++) {
		if (tags == 0 && at + 2 <= len) {
			key->vlan = bp_be16(frame + at) & 0x0fff;
			key->pcp = frame[at] >> 5;
		} else if (tags == 0) {
			key->vlan = BP_MATCH_ANY;
		}
		at += 4;
		key->ethertype = at <= len ? bp_be16(frame + at - 2) : 0;
	}
	if (key->ethertype == BP_ETHER_IP4)
		read_ip4(key, frame + at, len - at);
	else if (key->ethertype == BP_ETHER_IP6)
		read_ip6(key, frame + at, len - at);
	return true;
}

/* ---- entries ---- */

/*
 * The ingress port of a frame, the last byte of each of its addresses and that of its destination
 * port each select the entries that may match, as a set of bits with one bit for each entry. The
 * entries in all four sets are compared completely, first entry first. So most frames are compared
 * only with the matching entry, independent of the number of entries.
 */
#define WORDS (BP_MATCHES_MAX / 64)
struct set {
	uint64_t bits[WORDS];
};

#define BYTES 256u
#define NEITHER (2 * BYTES) /* neither of two families, or protocols */
struct choice {
	struct set of[2 * BYTES + 1]; /* by kind * BYTES + byte, or NEITHER */
};

struct entry {
	uint64_t value[5], mask[5]; /* both addresses, then tag() */
	uint16_t first, span;       /* destination ports first .. first + span */
	uint8_t family, l4;         /* 0: any */
	uint16_t result;            /* the caller's */
};

struct bp_matcher {
	unsigned n;
	struct set port[BYTES];
	struct choice source, destination, l4;
	struct entry entry[BP_MATCHES_MAX];
};

static inline uint64_t tag(uint16_t vlan, uint16_t ethertype, uint8_t pcp, uint8_t dscp)
{
	return (uint64_t)vlan << 32 | (uint64_t)ethertype << 16 | (uint64_t)pcp << 8 | dscp;
}

/* Of an address in the byte order of a frame. */
static inline uint8_t byte_of(const uint64_t address[2], unsigned i)
{
	return ((const uint8_t *)address)[i];
}

static void add(struct set *s, unsigned i)
{
	s->bits[i / 64] |= 1ull << i % 64;
}

static void add_all(struct choice *c, unsigned i)
{
	for (unsigned at = 0; at <= NEITHER; at++)
		add(&c->of[at], i);
}

/* Entry i requires an address of that family, 0: any. */
static void choose_address(struct choice *c, unsigned i, unsigned family, const uint64_t value[2],
	const uint64_t mask[2])
{
	const unsigned last = family == 4 ? 3 : 15, from = family == 4 ? 0 : BYTES;

	if (family == 0) {
		add_all(c, i);
		return;
	}
	for (unsigned byte = 0; byte < BYTES; byte++)
		if ((byte & byte_of(mask, last)) == byte_of(value, last))
			add(&c->of[from + byte], i);
}

/* Entry i matches this port. */
static void choose_l4(struct choice *c, unsigned i, const struct entry *e)
{
	const unsigned from = e->l4 == BP_PROTO_UDP ? 0 : BYTES;

	if (e->l4 == 0) {
		add_all(c, i);
		return;
	}
	for (unsigned k = 0; k <= e->span && k < BYTES; k++)
		add(&c->of[from + ((e->first + k) & 0xff)], i);
}

static void set_address(const struct bp_prefix *p, uint64_t value[2], uint64_t mask[2])
{
	uint8_t bits[16] = {0};

	for (unsigned i = 0; p->family != 0 && i < p->length && i < bp_address_bits(p->family); i++)
		bits[i / 8] |= (uint8_t)(0x80 >> i % 8);
	memcpy(mask, bits, sizeof(bits));
	memcpy(value, p->bytes, sizeof(bits));
	value[0] &= mask[0];
	value[1] &= mask[1];
}

static void set_tag(const struct bp_match *m, uint64_t *value, uint64_t *mask)
{
	*mask = tag(m->vlan != BP_MATCH_ANY ? 0xffff : 0, m->ethertype != 0 ? 0xffff : 0,
		m->pcp != BP_MATCH_ANY_PCP ? 0xff : 0, m->dscp != BP_MATCH_ANY_DSCP ? 0xff : 0);
	*value = tag(m->vlan, m->ethertype, m->pcp, m->dscp) & *mask;
}

/* False: no frame can match. */
static bool fill(struct entry *e, const struct bp_match *m)
{
	const bool udp = m->udp_last != 0;

	if ((udp && m->tcp_last != 0) || m->udp_first > m->udp_last || m->tcp_first > m->tcp_last ||
		(m->source.family != 0 && m->destination.family != 0 &&
			m->source.family != m->destination.family))
		return false;
	set_address(&m->source, &e->value[0], &e->mask[0]);
	set_address(&m->destination, &e->value[2], &e->mask[2]);
	set_tag(m, &e->value[4], &e->mask[4]);
	e->family = m->source.family != 0 ? m->source.family : m->destination.family;
	e->first = udp ? m->udp_first : m->tcp_first;
	e->span = (uint16_t)((udp ? m->udp_last : m->tcp_last) - e->first);
	e->l4 = udp ? BP_PROTO_UDP : m->tcp_last != 0 ? BP_PROTO_TCP : 0;
	return true;
}

struct bp_matcher *bp_matcher_create(void)
{
	return calloc(1, sizeof(struct bp_matcher));
}

void bp_matcher_clear(struct bp_matcher *m)
{
	memset(m, 0, sizeof(*m));
}

bool bp_matcher_add(struct bp_matcher *m, const struct bp_match *match, uint16_t value)
{
	struct entry *e = &m->entry[m->n];

	if (m->n == BP_MATCHES_MAX)
		return false;
	if (!fill(e, match))
		return true;
	e->result = value;
	add(&m->port[match->port], m->n);
	choose_address(&m->source, m->n, match->source.family, &e->value[0], &e->mask[0]);
	choose_address(&m->destination, m->n, match->destination.family, &e->value[2], &e->mask[2]);
	choose_l4(&m->l4, m->n, e);
	m->n++;
	return true;
}

void bp_matcher_free(struct bp_matcher *m)
{
	free(m);
}

static inline const struct set *by_address(
	const struct choice *c, const struct key *key, const uint64_t address[2])
{
	if (key->family == 0)
		return &c->of[NEITHER];
	return &c->of[key->family == 4 ? byte_of(address, 3) : BYTES + byte_of(address, 15)];
}

static inline const struct set *by_l4(const struct choice *c, const struct key *key)
{
	if (key->l4 == 0)
		return &c->of[NEITHER];
	return &c->of[(key->l4 == BP_PROTO_UDP ? 0 : BYTES) + (key->port & 0xff)];
}

static inline bool is_for(const struct entry *e, const struct key *key, uint64_t key_tag)
{
	uint64_t differ = (key_tag & e->mask[4]) ^ e->value[4];

	for (unsigned i = 0; i < 2; i++) {
		differ |= (key->source[i] & e->mask[i]) ^ e->value[i];
		differ |= (key->destination[i] & e->mask[2 + i]) ^ e->value[2 + i];
	}
	return differ == 0 && (e->family == 0 || e->family == key->family) &&
	       (e->l4 == 0 || (e->l4 == key->l4 && (uint16_t)(key->port - e->first) <= e->span));
}

int bp_matcher_find(const struct bp_matcher *m, const uint8_t *frame, size_t len, uint16_t port)
{
	const struct set *set[4];
	struct key key;
	uint64_t key_tag;

	if (m->n == 0 || port >= BYTES || !read_key(frame, len, &key))
		return -1;
	key_tag = tag(key.vlan, key.ethertype, key.pcp, key.dscp);
	set[0] = &m->port[port];
	set[1] = by_address(&m->source, &key, key.source);
	set[2] = by_address(&m->destination, &key, key.destination);
	set[3] = by_l4(&m->l4, &key);
	for (unsigned w = 0; w * 64 < m->n; w++) {
		uint64_t may =
			set[0]->bits[w] & set[1]->bits[w] & set[2]->bits[w] & set[3]->bits[w];

		for (; may != 0; may &= may - 1) {
			const struct entry *e = &m->entry[w * 64 + (unsigned)__builtin_ctzll(may)];

			if (is_for(e, &key, key_tag))
				return e->result;
		}
	}
	return -1;
}
