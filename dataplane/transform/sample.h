/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_SAMPLE_H
#define BP_DATAPLANE_TRANSFORM_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "services/aggregation/datagram.h"
#include "services/aggregation/match.h"
#include "shm/transform/transform.h"

/*
 * Readings in frames: validates a datagram, and computes the headers for its receivers. No mbufs
 * are used here.
 */

/* The verdict on a datagram that matches a rule. */
enum bp_transform_sample_verdict {
	BP_TRANSFORM_SAMPLE_TAKEN,
	/* lengths contradict each other, or are below the minimum of the layout */
	BP_TRANSFORM_SAMPLE_LENGTH,
	BP_TRANSFORM_SAMPLE_CHECKSUM, /* of the IPv4 header or of UDP; no UDP checksum with IPv6 */
	BP_TRANSFORM_SAMPLE_SHAPE,    /* a first fragment, or with extension headers */
	BP_TRANSFORM_SAMPLE_SOURCE,   /* an invalid source address, IP or MAC */
	BP_TRANSFORM_SAMPLE_VERDICTS,
};

/* Written as one word. */
struct bp_transform_sample_kind {
	uint16_t l3, l4; /* offsets of the IP and the UDP header */
	uint8_t family;
	uint8_t rule;
	uint8_t unused[2];
};

struct bp_transform_sample {
	uint8_t *frame;   /* the Ethernet header */
	uint64_t from[2]; /* the source, in the form of bp_transform_words() */
	/*
	 * Sum, in host byte order, of the data that the UDP checksum covers, without the outputs of
	 * the layout and the checksum itself.
	 */
	uint64_t rest;
	struct bp_transform_sample_kind kind;
};

static inline uint8_t *bp_transform_sample_payload(const struct bp_transform_sample *r)
{
	return r->frame + r->kind.l4 + BP_UDP_HDR;
}

/* Four bytes as a part of a sum (bp_sum()). */
static inline uint64_t bp_transform_sample_half(const uint8_t *p)
{
	uint32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The sum of the outputs in a payload. */
static inline uint64_t bp_transform_sample_outputs(
	const struct bp_transform_layout *l, const uint8_t *payload)
{
	uint64_t sum = 0;

	if (__builtin_expect(l->kunze2021, 1)) {
		const unsigned at = l->out[0].offset;
		const uint8_t *p = payload + at;

		return bp_sum_moved(
			bp_sum_add(bp_sum_word(p), bp_transform_sample_half(p + 8)), at);
	}
	for (unsigned i = 0; i < 3; i++) {
		const struct bp_transform_field *f = &l->out[i];

		sum = bp_sum_add(
			sum, bp_sum_moved(bp_sum(payload + f->offset,
						  f->type == BP_TRANSFORM_FLOAT64 ? 8 : 4, 0),
				     f->offset));
	}
	return sum;
}

/*
 * Whether the datagram of a reading can be sent back to its sender: its destination is a valid
 * source address, and its TTL or hop limit has not expired.
 */
bool bp_transform_sample_answerable(const struct bp_transform_sample *r);

/*
 * Writes the headers and checksums of the datagram of a reading for a receiver, after its outputs
 * are written. Other bytes are unmodified. Checksums are updated by the changes (RFC 1624), which
 * is valid because they were verified; if the sender omitted the UDP checksum, a new one is
 * written.
 */

/*
 * TTL or hop limit of a datagram that is sent back to its sender: that of a new datagram, but lower
 * than that of the reading. So a loop between two gateways, or of one with itself, ends. A router
 * decrements it.
 */
#define BP_REFLECTED_HOPS 64u

static inline uint8_t bp_deliver_hops(unsigned came_with, bool routed)
{
	const unsigned left = came_with - 1;

	return (uint8_t)((left < BP_REFLECTED_HOPS ? left : BP_REFLECTED_HOPS) + routed);
}

/* Changes of the sums. */
struct bp_deliver_sums {
	uint64_t ip;  /* of the IPv4 header */
	uint64_t udp; /* of what the UDP checksum covers */
};

static inline void bp_deliver_swap(uint8_t *a, uint8_t *b, size_t n)
{
	uint8_t t[16];

	memcpy(t, a, n);
	memcpy(a, b, n);
	memcpy(b, t, n);
}

/*
 * Sends the datagram back to its sender, which bp_transform_sample_answerable() permits. Swapping
 * addresses and ports does not change a sum.
 */
static inline void bp_deliver_back(
	const struct bp_transform_sample *r, uint8_t *f, bool routed, struct bp_deliver_sums *s)
{
	uint8_t *ip = f + r->kind.l3, *udp = f + r->kind.l4;
	uint16_t before, after, port;

	if (!routed) /* node ip4 compares the destination MAC with that of the router */
		bp_deliver_swap(f, f + 6, 6);
	if (r->kind.family == 4) {
		memcpy(&before, ip + BP_IP4_TTL, 2);
		ip[BP_IP4_TTL] = bp_deliver_hops(ip[BP_IP4_TTL], routed);
		memcpy(&after, ip + BP_IP4_TTL, 2);
		s->ip = bp_sum_add((uint16_t)~before, after);
		bp_deliver_swap(ip + BP_IP4_SRC, ip + BP_IP4_DST, 4);
	} else {
		ip[BP_IP6_HOPS] = bp_deliver_hops(ip[BP_IP6_HOPS], routed);
		bp_deliver_swap(ip + BP_IP6_SRC, ip + BP_IP6_DST, 16);
	}
	/* from its destination port, and to the same port number of the sender */
	memcpy(&before, udp, 2);
	memcpy(&port, udp + 2, 2);
	memcpy(udp, &port, 2);
	s->udp = bp_sum_add((uint16_t)~before, port);
}

static inline void bp_deliver_address(const struct bp_transform_sample *r, uint8_t *f,
	const uint8_t *address, struct bp_deliver_sums *s)
{
	uint8_t *ip = f + r->kind.l3;

	if (r->kind.family == 4) {
		const uint64_t before = bp_transform_sample_half(ip + BP_IP4_DST);

		memcpy(ip + BP_IP4_DST, address, 4);
		s->ip = bp_sum_add(bp_transform_sample_half(address), ~before);
		s->udp = s->ip;
	} else {
		s->udp = bp_sum(address, 16, ~bp_sum(ip + BP_IP6_DST, 16, 0));
		memcpy(ip + BP_IP6_DST, address, 16);
	}
}

/*
 * Writes the headers of the datagram in frame f, the frame of the reading or a copy, for a receiver
 * of the same IP version. `outputs`: the current bp_transform_sample_outputs() of f. routed: f is
 * sent to a router.
 */
static inline void bp_deliver(const struct bp_transform_sample *r, uint8_t *f,
	const struct bp_transform_row *to, unsigned flags, bool routed, uint64_t outputs)
{
	struct bp_deliver_sums s = {0, 0};
	uint8_t *ip = f + r->kind.l3, *udp = f + r->kind.l4;
	uint16_t check;

	if (flags & BP_TRANSFORM_REFLECT) {
		bp_deliver_back(r, f, routed, &s);
	} else {
		if (flags & BP_TRANSFORM_ADDRESS)
			bp_deliver_address(r, f, to->address, &s);
		if ((flags & BP_TRANSFORM_MAC) && !routed)
			memcpy(f, to->mac, 6);
	}
	if (flags & BP_TRANSFORM_UDP) {
		const uint16_t port = __builtin_bswap16(to->udp);
		uint16_t before;

		memcpy(&before, udp + 2, 2);
		memcpy(udp + 2, &port, 2);
		s.udp = bp_sum_add(s.udp, (uint64_t)(uint16_t)~before + port);
	}
	if (r->kind.family == 4 && s.ip != 0) {
		memcpy(&check, ip + BP_IP4_CHECKSUM, 2);
		check = (uint16_t)~bp_sum_fold(bp_sum_add(s.ip, (uint16_t)~check));
		memcpy(ip + BP_IP4_CHECKSUM, &check, 2);
	}
	check = (uint16_t)~bp_sum_fold(bp_sum_add(bp_sum_add(s.udp, outputs), r->rest));
	/* 0 would mean that there is no checksum (RFC 768, RFC 8200 8.1) */
	check = check != 0 ? check : 0xffff;
	memcpy(udp + BP_UDP_CHECKSUM, &check, 2);
}

#endif
