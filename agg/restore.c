/* SPDX-License-Identifier: BSD-3-Clause */
#include "agg/restore.h"

#include <string.h>

#include "proto/copy.h"

/* A head is copied in moves of so many octets, the last of which ends where the head does. */
#define MOVE 16u
#define HEAD_LEAST (BP_ETHER_HDR + BP_IP4_HDR + BP_UDP_HDR)

_Static_assert(BP_DATAGRAM_HEAD_MOST + 8 <= 5 * MOVE && 5 * MOVE <= BP_DISAGG_HEAD_MAX,
	"copy_head() reaches every head's end");
_Static_assert(2 * MOVE <= HEAD_LEAST, "copy_head()'s first moves lie in every head");

static inline uint16_t raw16(uint16_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap16(v);
#else
	return v;
#endif
}

static inline uint32_t load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static inline void store16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, 2);
}

/* The sums are made of the values and not of the octets that were just written: those would have to
 * be waited for. */
void bp_disagg_prepare(struct bp_disagg_packet *p, const struct bp_datagram *d,
	const uint8_t *in_front, unsigned n_in_front)
{
	const uint8_t *dst = bp_datagram_dst(d);
	uint8_t *ip = p->head + d->l3, *udp;

	memcpy(p->head, d->frame, BP_ETHER_HDR);
	if (d->l3 != BP_ETHER_HDR)
		memcpy(p->head + BP_ETHER_HDR, d->frame + BP_ETHER_HDR, d->l3 - BP_ETHER_HDR);
	p->payload = bp_datagram_payload(d);
	p->family = d->family;
	p->ip_at = (uint8_t)d->l3;
	if (d->family == 4) {
		const uint16_t first = (uint16_t)(0x4500 | d->tos);
		const uint16_t fragment = d->dont_fragment ? BP_IP4_DF : 0;

		udp = ip + BP_IP4_HDR;
		bp_put_be32(ip, (uint32_t)first << 16);
		bp_put_be32(ip + BP_IP4_ID, fragment);
		bp_put_be32(ip + BP_IP4_TTL, (uint32_t)BP_PROTO_UDP << 16);
		memset(ip + BP_IP4_SRC, 0, 4);
		memcpy(ip + BP_IP4_DST, dst, 4);
		p->head_sum = load32(dst);
		p->ip_sum = p->head_sum + raw16(first) + raw16(fragment) + raw16(BP_PROTO_UDP);
		p->id_mask = d->dont_fragment ? 0 : 0xffff;
	} else {
		udp = ip + BP_IP6_HDR;
		bp_put_be32(ip, 0x60000000u | (uint32_t)d->tos << 20);
		bp_put_be32(ip + BP_IP6_PAYLOAD, (uint32_t)BP_PROTO_UDP << 8);
		memset(ip + BP_IP6_SRC, 0, 16);
		memcpy(ip + BP_IP6_DST, dst, 16);
		p->head_sum = bp_sum_add(bp_sum_word(dst), bp_sum_word(dst + 8));
		p->ip_sum = 0;
		p->id_mask = 0;
	}
	bp_put_be32(udp, d->dport);
	memset(udp + BP_UDP_LEN, 0, 4);
	bp_copy(udp + BP_UDP_HDR, in_front, n_in_front);
	p->head_sum = bp_sum_add(p->head_sum, (uint64_t)raw16(d->dport) + raw16(BP_PROTO_UDP) +
						      bp_sum_tail(in_front, n_in_front));
	p->head_len = (uint16_t)(udp + BP_UDP_HDR + n_in_front - p->head);
}

/* Moves that overlap, instead of a call of memcpy() for a length that the compiler can't know. */
static inline void copy_head(uint8_t *to, const uint8_t *head, unsigned len)
{
	memcpy(to, head, MOVE);
	memcpy(to + MOVE, head + MOVE, MOVE);
	if (len > 3 * MOVE) {
		memcpy(to + 2 * MOVE, head + 2 * MOVE, MOVE);
		if (len > 4 * MOVE)
			memcpy(to + 3 * MOVE, head + 3 * MOVE, MOVE);
	}
	memcpy(to + len - MOVE, head + len - MOVE, MOVE);
}

/* What is left of the last word of 8 octets when all but its last n (1..7) are gone: they lie as
 * bp_sum_tail() has them. */
static inline uint64_t last_of_word(uint64_t w, unsigned n)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return w >> (64 - 8 * n);
#else
	return w << (64 - 8 * n);
#endif
}

/* Copies, and returns the bp_sum() of it: both want the same words. */
static inline uint64_t copy_and_sum(uint8_t *to, const uint8_t *from, unsigned len)
{
	uint64_t sum = 0, other = 0, w, v;
	unsigned left = len;

	for (; left >= 16; left -= 16, from += 16, to += 16) {
		memcpy(&w, from, 8);
		memcpy(&v, from + 8, 8);
		memcpy(to, &w, 8);
		memcpy(to + 8, &v, 8);
		sum = bp_sum_add(sum, w);
		other = bp_sum_add(other, v);
	}
	if (left >= 8) {
		memcpy(&w, from, 8);
		memcpy(to, &w, 8);
		sum = bp_sum_add(sum, w);
		left -= 8;
		from += 8;
		to += 8;
	}
	if (left != 0 && len >= 8) {
		/* once more some of what was just copied, instead of one octet after another */
		memcpy(&w, from + left - 8, 8);
		memcpy(to + left - 8, &w, 8);
		other = bp_sum_add(other, last_of_word(w, left));
	} else if (left != 0) {
		bp_copy(to, from, left);
		other = bp_sum_tail(from, left);
	}
	return bp_sum_add(sum, other);
}

void bp_disagg_write(const struct bp_disagg_packet *p, unsigned i, uint16_t id, uint8_t *to)
{
	const struct bp_agg_message *m = &p->message[i];
	uint8_t *ip = to + p->ip_at, *udp;
	uint64_t sum = p->head_sum;
	unsigned l4_len = p->head_len - p->ip_at + (unsigned)m->len;
	uint16_t check;

	copy_head(to, p->head, p->head_len);
	sum = bp_sum_add(sum, copy_and_sum(to + p->head_len, p->payload + m->offset, m->len));
	if (p->family == 4) {
		const uint16_t total = raw16((uint16_t)l4_len);
		const uint16_t hops = raw16((uint16_t)(m->from.hops << 8));
		const uint16_t own_id = raw16(id & p->id_mask);
		const uint32_t source = load32(m->from.addr);

		store16(ip + BP_IP4_TOTAL, total);
		store16(ip + BP_IP4_ID, own_id);
		ip[BP_IP4_TTL] = m->from.hops;
		store16(ip + BP_IP4_CHECKSUM, (uint16_t)~bp_sum_fold((uint64_t)p->ip_sum + total +
								     own_id + hops + source));
		memcpy(ip + BP_IP4_SRC, &source, 4);
		sum = bp_sum_add(sum, source);
		udp = ip + BP_IP4_HDR;
		l4_len -= BP_IP4_HDR;
	} else {
		l4_len -= BP_IP6_HDR;
		bp_put_be16(ip + BP_IP6_PAYLOAD, (uint16_t)l4_len);
		ip[BP_IP6_HOPS] = m->from.hops;
		memcpy(ip + BP_IP6_SRC, m->from.addr, 16);
		sum = bp_sum_add(sum, bp_sum_word(m->from.addr));
		sum = bp_sum_add(sum, bp_sum_word(m->from.addr + 8));
		udp = ip + BP_IP6_HDR;
	}
	bp_put_be16(udp, m->from.port);
	bp_put_be16(udp + BP_UDP_LEN, (uint16_t)l4_len);
	/* the length is in the pseudo header, too; none of these overflow */
	sum = bp_sum_add(
		sum, (uint64_t)raw16(m->from.port) + 2 * (uint64_t)raw16((uint16_t)l4_len));
	check = (uint16_t)~bp_sum_fold(sum);
	/* 0 would say that there is none (RFC 768, RFC 8200 8.1) */
	store16(udp + BP_UDP_CHECKSUM, check != 0 ? check : 0xffff);
}
