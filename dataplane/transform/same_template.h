/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_TRANSFORM_SAME_TEMPLATE_H
#define BP_DATAPLANE_TRANSFORM_SAME_TEMPLATE_H

#include "dataplane/transform/sample.h"

/*
 * A template of readings without tags, with IPv4 without options and a UDP checksum. It is the head
 * of the last reading that was validated in full. For a reading that matches it, one masked
 * comparison covers the common bytes, which were validated before, and their sums are known. Only
 * the two checksums remain to be verified. The result is the same as with the full validation
 * (dataplane/transform/collect.c).
 */

/* Offsets of the parts of a head in a frame. */
#define BP_TEMPLATE_AT_MAC 0
#define BP_TEMPLATE_AT_IP 14
#define BP_TEMPLATE_AT_SRC 26
#define BP_TEMPLATE_PORTS (BP_ETHER_HDR + BP_IP4_HDR)
#define BP_TEMPLATE_PAYLOAD (BP_TEMPLATE_PORTS + BP_UDP_HDR)

/*
 * The common bytes of matching heads: destination MAC address, the group bit of the source MAC,
 * EtherType; version, header length, TOS, total length, fragment, protocol; first byte of the
 * source address, destination address and port, UDP length.
 */
static const bp_v16 bp_template_mask[3] = {
	{255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 255, 255, 255, 255},
	{255, 255, 255, 255, 0, 0, 255, 255, 0, 255, 0, 0, 255, 0, 0, 0},
	{255, 0, 0, 0, 255, 255, 255, 255, 0, 0, 255, 255, 255, 255, 0, 0},
};

/* The same mask for the first bytes, in one piece. */
static const uint8_t bp_template_first_mask[64] = {255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0,
	255, 255, 255, 255, 255, 255, 0, 0, 255, 255, 0, 255, 0, 0, 255, 0, 0, 0, 255, 255, 255,
	255, 0, 0, 255, 255, 255, 255};

struct bp_template {
	bp_v16 head[3];
	/* the first bytes of the frame that belong to the head, unmodified */
	uint8_t first[64];
	uint64_t ip_sum, udp_sum; /* sums of the common bytes that each checksum covers */
	uint32_t end;             /* end of the datagram */
	uint64_t mac;             /* rx_mac of that port when the template was learned */
	uint16_t port;            /* the input port */
	/* offset of the outputs in the frame, for layout kunze2021; 0: another layout */
	uint16_t outputs;
	struct bp_transform_sample_kind kind;
	bool valid;
};

/* Called after a reading of the port was validated in full, and accepted. */
static inline void bp_template_learn(struct bp_template *u, const struct bp_transform_sample *r,
	const struct bp_transform_layout *l, uint16_t port, uint64_t mac)
{
	const uint8_t *f = r->frame;

	u->valid = r->kind.family == 4 && r->kind.l3 == BP_ETHER_HDR &&
		   r->kind.l4 == BP_TEMPLATE_PORTS &&
		   bp_be16(f + BP_TEMPLATE_PORTS + BP_UDP_CHECKSUM) != 0;
	if (!u->valid)
		return;
	u->head[0] = bp_v16_load(f + BP_TEMPLATE_AT_MAC);
	u->head[1] = bp_v16_load(f + BP_TEMPLATE_AT_IP);
	u->head[2] = bp_v16_load(f + BP_TEMPLATE_AT_SRC);
	memcpy(u->first, f, BP_TEMPLATE_PAYLOAD);
	u->end = BP_TEMPLATE_PORTS + bp_be16(f + BP_TEMPLATE_PORTS + BP_UDP_LEN);
	u->port = port;
	u->mac = mac;
	u->outputs = (uint16_t)(l->kunze2021 && l->out[0].offset % 2 == 0
					? BP_TEMPLATE_PAYLOAD + l->out[0].offset
					: 0);
	u->kind = r->kind;
	u->ip_sum = bp_transform_sample_half(f + BP_ETHER_HDR) + bp_transform_sample_half(f + 30);
	u->udp_sum = bp_transform_sample_half(f + 30) +
		     __builtin_bswap16((uint16_t)(u->end - BP_TEMPLATE_PORTS)) +
		     (BP_PROTO_UDP << 8);
}

/*
 * Whether the frame, of which `len` bytes are readable, has the destination address and port of the
 * template: excludes other frames early. True: the frame must still be validated.
 */
BP_DATAGRAM_INLINE bool bp_template_begins(
	const struct bp_template *u, const uint8_t *f, uint32_t len)
{
	const uint32_t at = BP_TEMPLATE_PORTS - 4; /* destination address and both ports */
	uint64_t other;

	if (len < u->end)
		return false;
	other = bp_sum_word(f + at) ^ bp_sum_word(u->first + at);
	return (other & bp_sum_word(bp_template_first_mask + at)) == 0;
}

/* bp_transform_sample_outputs() of a frame that matches the template. */
BP_DATAGRAM_INLINE uint64_t bp_template_outputs(
	const struct bp_template *u, const struct bp_transform_layout *l, const uint8_t *f)
{
	if (__builtin_expect(u->outputs != 0, 1))
		return bp_sum_add(
			bp_sum_word(f + u->outputs), bp_transform_sample_half(f + u->outputs + 8));
	return bp_transform_sample_outputs(l, f + BP_TEMPLATE_PAYLOAD);
}

/*
 * Whether the frame, of which `len` bytes are readable, is a reading that matches the template:
 * then sets *r.
 */
BP_DATAGRAM_INLINE bool bp_template_validate(const struct bp_template *u,
	const struct bp_transform_layout *l, uint8_t *f, uint32_t len,
	struct bp_transform_sample *r)
{
	uint64_t src, ip, udp;
	uint16_t check;
	bp_v16 other;

	if (len < u->end)
		return false;
	other = ((bp_v16_load(f + BP_TEMPLATE_AT_MAC) ^ u->head[0]) & bp_template_mask[0]) |
		((bp_v16_load(f + BP_TEMPLATE_AT_IP) ^ u->head[1]) & bp_template_mask[1]) |
		((bp_v16_load(f + BP_TEMPLATE_AT_SRC) ^ u->head[2]) & bp_template_mask[2]);
	if (!bp_v16_same(other, bp_v16_of(0)))
		return false;
	src = bp_transform_sample_half(f + BP_TEMPLATE_AT_SRC);
	ip = bp_sum_add(bp_sum_word(f + 18), u->ip_sum + src);
	udp = bp_sum_add(bp_sum_word(f + BP_TEMPLATE_PORTS), u->udp_sum + src);
	if (__builtin_expect(u->end - BP_TEMPLATE_PAYLOAD == 40, 1)) {
		uint64_t more = bp_sum_add(bp_sum_word(f + BP_TEMPLATE_PAYLOAD),
			bp_sum_word(f + BP_TEMPLATE_PAYLOAD + 8));

		udp = bp_sum_add(udp, bp_sum_word(f + BP_TEMPLATE_PAYLOAD + 16));
		more = bp_sum_add(more, bp_sum_word(f + BP_TEMPLATE_PAYLOAD + 24));
		udp = bp_sum_add(udp, bp_sum_word(f + BP_TEMPLATE_PAYLOAD + 32));
		udp = bp_sum_add(udp, more);
	} else {
		udp = bp_sum(f + BP_TEMPLATE_PAYLOAD, u->end - BP_TEMPLATE_PAYLOAD, udp);
	}
	memcpy(&check, f + BP_TEMPLATE_PORTS + BP_UDP_CHECKSUM, sizeof(check));
	if (!bp_sum_ok(ip) || !bp_sum_ok(udp) || check == 0)
		return false;
	r->frame = f;
	r->from[0] = src;
	r->from[1] = 0;
	r->rest = bp_sum_add(~(uint64_t)check, ~bp_template_outputs(u, l, f));
	r->kind = u->kind;
	return true;
}

/* The changes of the template headers for a receiver with an address. */
struct bp_template_receiver {
	uint64_t udp; /* increment of the sum */
	uint32_t ip;  /* folded: never 0, nor is the result */
	uint64_t mac; /* in the lower 6 bytes */
	uint32_t dst;
	uint16_t port;
	bool has_mac;
};

/* Whether bp_template_deliver() can write the datagrams of the receiver; then sets *to. */
static inline bool bp_template_receiver_of(const struct bp_template *u,
	const struct bp_transform_row *row, unsigned flags, bool routed,
	struct bp_template_receiver *to)
{
	const uint8_t *old = (const uint8_t *)&u->head[2] + (30 - BP_TEMPLATE_AT_SRC);
	uint64_t moved;
	uint16_t before;

	if (flags & BP_TRANSFORM_REFLECT)
		return false;
	memcpy(&to->dst, flags & BP_TRANSFORM_ADDRESS ? row->address : old, 4);
	memcpy(&before, old + 6, 2);
	to->port = flags & BP_TRANSFORM_UDP ? __builtin_bswap16(row->udp) : before;
	moved = bp_sum_add(to->dst, ~bp_transform_sample_half(old));
	to->ip = bp_sum_fold(moved);
	to->udp = bp_sum_add(moved, bp_sum_add(to->port, ~(uint64_t)before));
	to->has_mac = (flags & BP_TRANSFORM_MAC) && !routed;
	memcpy(&to->mac, row->mac, 6);
	return !(flags & BP_TRANSFORM_ADDRESS) || row->family == 4;
}

/* bp_deliver() of a reading that matches the template, for such a receiver. */
static inline void bp_template_deliver(const struct bp_transform_sample *r,
	const struct bp_template_receiver *to, uint64_t outputs)
{
	uint8_t *f = r->frame, *ip = f + BP_ETHER_HDR, *udp = f + BP_TEMPLATE_PORTS;
	uint16_t check;

	if (to->has_mac)
		memcpy(f, &to->mac, 6);
	memcpy(&check, ip + BP_IP4_CHECKSUM, 2);
	check = (uint16_t)~bp_sum_fold_short(to->ip + (uint16_t)~check);
	memcpy(ip + BP_IP4_CHECKSUM, &check, 2);
	memcpy(ip + BP_IP4_DST, &to->dst, 4);
	memcpy(udp + 2, &to->port, 2);
	check = (uint16_t)~bp_sum_fold(bp_sum_add(bp_sum_add(to->udp, outputs), r->rest));
	check = check != 0 ? check : 0xffff;
	memcpy(udp + BP_UDP_CHECKSUM, &check, 2);
}

#endif
