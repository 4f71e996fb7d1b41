/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/mirror_frame.h"

#include "proto/net/copy.h"
#include "proto/mqtt/mqtt.h"

#define IP4_HDR 20u
#define IP6_HDR 40u
#define TCP_HDR 20u

uint32_t bp_mirror_frame_size(const struct bp_mirror_request *r, const struct bp_mirror_target *to,
	uint32_t mtu, enum bp_mirror_result *result)
{
	uint32_t ip = r->frame->ip6 ? IP6_HDR : IP4_HDR;
	size_t mqtt;

	*result = BP_MIRROR_E_FAMILY;
	if (r->frame->ip6 ? !to->has_ip6 : !to->has_ip4)
		return 0;
	*result = BP_MIRROR_E_SIZE;
	mqtt = bp_mqtt_publish_rewrite(r->version, r->publish, r->to, r->to_len, NULL, 0);
	if (mqtt == 0 || ip + TCP_HDR + mqtt > mtu ||
		r->frame->l2 + ip + TCP_HDR + mqtt > UINT16_MAX)
		return 0;
	*result = BP_MIRROR_OK;
	return r->frame->l2 + ip + TCP_HDR + (uint32_t)mqtt;
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "written for little-endian machines");

/*
 * Headers are composed in registers and summed there: a processor stalls if it reads data with one
 * load that it has just written with several stores.
 *
 * Both functions return the sum of the pseudo-header of the segment, of `l4_len` bytes.
 */
static uint64_t write_ip4(
	const struct bp_frame *f, const struct bp_mirror_target *to, uint8_t *ip, uint32_t l4_len)
{
	const uint8_t *old = f->data + f->l3;
	/* version and header length, DSCP, length, identification, fragment */
	uint64_t first = bp_sum_word(old) & 0xffffffff0000ff00;
	/* TTL, protocol, checksum */
	uint32_t second, src, dst;
	uint64_t addresses, sum;

	memcpy(&second, old + 8, 4);
	memcpy(&src, old + (f->to_broker ? 12 : 16), 4);
	memcpy(&dst, to->ip4, 4);
	first |= 0x45 | (uint64_t)__builtin_bswap16((uint16_t)(IP4_HDR + l4_len)) << 16;
	second &= 0xffff;
	addresses = (uint64_t)src + dst; /* in halves, all carries fit */
	sum = (first & 0xffffffff) + (first >> 32) + second + addresses;
	second |= (uint32_t)(uint16_t)~bp_sum_fold(sum) << 16;
	memcpy(ip, &first, 8);
	memcpy(ip + 8, &second, 4);
	memcpy(ip + 12, &src, 4);
	memcpy(ip + 16, &dst, 4);
	return addresses + __builtin_bswap32(l4_len) + (6u << 8);
}

static uint64_t write_ip6(
	const struct bp_frame *f, const struct bp_mirror_target *to, uint8_t *ip, uint32_t l4_len)
{
	const uint8_t *old = f->data + f->l3;
	const uint8_t *src = old + (f->to_broker ? 8 : 24);

	memcpy(ip, old, 8);
	bp_put_be16(ip + 4, (uint16_t)l4_len);
	ip[6] = 6; /* TCP: no extension headers */
	memcpy(ip + 8, src, 16);
	memcpy(ip + 24, to->ip6, 16);
	return bp_sum(
		src, 16, bp_sum(to->ip6, 16, (uint64_t)__builtin_bswap32(l4_len) + (6u << 8)));
}

/* Without its checksum. Returns its sum. */
static uint64_t write_tcp(
	const struct bp_mirror_request *r, const struct bp_mirror_target *to, uint8_t *t)
{
	const struct bp_frame *f = r->frame;
	const uint16_t sport = f->to_broker ? f->sport : f->dport;
	/* ports and sequence number */
	const uint64_t first = (uint64_t)__builtin_bswap32(r->seq) << 32 |
			       (uint32_t)__builtin_bswap16(to->tcp_port) << 16 |
			       __builtin_bswap16(sport);
	/* acknowledgement, header length, flags, window */
	const uint64_t second = (bp_sum_word(f->data + f->l4 + 8) & 0xffff0000ffffffff) |
				(uint64_t)(BP_TCP_PSH | BP_TCP_ACK) << 40 |
				(uint64_t)(TCP_HDR / 4 << 4) << 32;

	memcpy(t, &first, 8);
	memcpy(t + 8, &second, 8);
	memset(t + 16, 0, 4); /* checksum, urgent pointer */
	return bp_sum_add(first, second);
}

void bp_mirror_frame_build(const struct bp_mirror_request *r, const struct bp_mirror_target *to,
	uint8_t *out, uint32_t size)
{
	const struct bp_frame *f = r->frame;
	const uint32_t l4 = f->l2 + (f->ip6 ? IP6_HDR : IP4_HDR), l4_len = size - l4;
	uint8_t *t = out + l4;
	uint64_t sum;
	uint16_t folded;

	bp_mqtt_publish_rewrite(
		r->version, r->publish, r->to, r->to_len, t + TCP_HDR, l4_len - TCP_HDR);
	bp_copy(out, f->data, f->l2); /* Ethernet and VLAN tags; no tunnel */
	bp_put_be16(out + f->l2 - 2, f->ip6 ? BP_ETHER_IP6 : BP_ETHER_IP4);
	/*
	 * It has the client as its source, also if a frame of the broker triggered it: a frame that
	 * was evaluated itself, or an acknowledgement that released a held publication.
	 */
	if (!f->to_broker)
		memcpy(out + 6, f->data, 6);
	memcpy(out, to->mac, 6);
	sum = f->ip6 ? write_ip6(f, to, out + f->l2, l4_len)
		     : write_ip4(f, to, out + f->l2, l4_len);
	sum = bp_sum_add(sum, write_tcp(r, to, t));
	folded = (uint16_t)~bp_sum_fold(bp_sum(t + TCP_HDR, l4_len - TCP_HDR, sum));
	memcpy(t + 16, &folded, 2);
}
