/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/net/nd.h"

#include <string.h>

#include "proto/net/ip.h"

#define AT_IP BP_ETHER_HDR
#define AT_ICMP (AT_IP + BP_IP6_HDR)
#define AT_CHECKSUM (AT_ICMP + 2)
#define AT_FLAGS (AT_ICMP + 4)
#define AT_TARGET (AT_ICMP + 8)
#define AT_OPTIONS (AT_ICMP + 24)

#define SOLICITATION 135
#define ADVERTISEMENT 136
#define HOPS 255 /* shows that no router forwarded it */
#define FLAG_ROUTER 0x80
#define FLAG_SOLICITED 0x40
#define FLAG_OVERRIDE 0x20
#define OPTION_SOURCE_MAC 1
#define OPTION_TARGET_MAC 2

static bool is_zero(const uint8_t *a)
{
	static const uint8_t zero[16];

	return memcmp(a, zero, 16) == 0;
}

/* Sum of the message and its pseudo-header (RFC 8200 8.1). */
static uint64_t message_sum(const uint8_t *frame, uint32_t icmp_len)
{
	uint64_t sum = (uint64_t)__builtin_bswap32(icmp_len) + ((uint64_t)BP_PROTO_ICMP6 << 8);

	sum = bp_sum(frame + AT_IP + BP_IP6_SRC, 32, sum);
	return bp_sum(frame + AT_ICMP, icmp_len, sum);
}

/* Options must have a length; a source link-layer address is invalid with an unspecified source. */
static bool options_ok(const uint8_t *o, uint32_t len, bool from_nobody)
{
	while (len >= 8) {
		uint32_t size = o[1] * 8u;

		if (size == 0 || size > len || (from_nobody && o[0] == OPTION_SOURCE_MAC))
			return false;
		o += size;
		len -= size;
	}
	return len == 0;
}

/* ff02::1:ff00:0/104 */
static bool is_solicited_node(const uint8_t *a)
{
	static const uint8_t prefix[13] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0xff};

	return memcmp(a, prefix, sizeof(prefix)) == 0;
}

bool bp_nd_is_solicitation(const uint8_t *frame, uint32_t len, const uint8_t **target)
{
	const uint8_t *ip = frame + AT_IP;
	bool from_nobody;
	uint32_t icmp_len;

	if (len < AT_OPTIONS || bp_be16(frame + 12) != BP_ETHER_IP6 || ip[0] >> 4 != 6 ||
		ip[BP_IP6_NEXT] != BP_PROTO_ICMP6 || ip[BP_IP6_HOPS] != HOPS ||
		(frame[6] & 1)) /* a station never sends from a group address */
		return false;
	icmp_len = bp_be16(ip + BP_IP6_PAYLOAD);
	if (icmp_len < AT_OPTIONS - AT_ICMP || icmp_len > len - AT_ICMP ||
		frame[AT_ICMP] != SOLICITATION || frame[AT_ICMP + 1] != 0 ||
		bp_ip6_is_multicast(frame + AT_TARGET))
		return false;
	from_nobody = is_zero(ip + BP_IP6_SRC);
	if (from_nobody && !is_solicited_node(ip + BP_IP6_DST))
		return false;
	if (!options_ok(frame + AT_OPTIONS, icmp_len - (AT_OPTIONS - AT_ICMP), from_nobody) ||
		!bp_sum_ok(message_sum(frame, icmp_len)))
		return false;
	*target = frame + AT_TARGET;
	return true;
}

void bp_nd_write_advertisement(uint8_t *frame, const uint8_t mac[6])
{
	static const uint8_t all_nodes[16] = {
		0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01};
	static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 0x01};
	const uint32_t icmp_len = BP_ND_ADVERTISEMENT_FRAME - AT_ICMP;
	uint8_t *ip = frame + AT_IP;
	uint16_t check;

	if (is_zero(ip + BP_IP6_SRC)) { /* a node without an address gets a multicast response */
		memcpy(ip + BP_IP6_DST, all_nodes, 16);
		memcpy(frame, all_nodes_mac, 6);
		frame[AT_FLAGS] = FLAG_ROUTER | FLAG_OVERRIDE;
	} else {
		memcpy(ip + BP_IP6_DST, ip + BP_IP6_SRC, 16);
		memcpy(frame, frame + 6, 6);
		frame[AT_FLAGS] = FLAG_ROUTER | FLAG_SOLICITED | FLAG_OVERRIDE;
	}
	memcpy(frame + 6, mac, 6);
	memcpy(ip + BP_IP6_SRC, frame + AT_TARGET, 16);
	bp_put_be16(ip + BP_IP6_PAYLOAD, (uint16_t)icmp_len);
	ip[BP_IP6_HOPS] = HOPS;
	frame[AT_ICMP] = ADVERTISEMENT;
	memset(frame + AT_FLAGS + 1, 0, 3);
	frame[AT_OPTIONS] = OPTION_TARGET_MAC;
	frame[AT_OPTIONS + 1] = 1;
	memcpy(frame + AT_OPTIONS + 2, mac, 6);
	memset(frame + AT_CHECKSUM, 0, 2);
	check = (uint16_t)~bp_sum_fold(message_sum(frame, icmp_len));
	memcpy(frame + AT_CHECKSUM, &check, 2);
}
