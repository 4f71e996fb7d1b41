/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/capture_link.h"

#include <string.h>

#include <pcap/pcap.h>

#include "proto/net/frame.h"
#include "proto/net/ip.h"

const char bp_capture_link_names[] = "Ethernet, Linux cooked v1 and v2, BSD loopback and raw IP";

#define SLL_HDR 16u
#define SLL2_HDR 20u
#define LOOP_HDR 4u
#define LLC_PROTOCOL 4u /* of Linux: IEEE 802.2 follows */
#define LENGTH_MAX 1500u

bool bp_capture_link_known(int dlt)
{
	switch (dlt) {
	case DLT_EN10MB:
	case DLT_LINUX_SLL:
	case DLT_LINUX_SLL2:
	case DLT_NULL:
	case DLT_LOOP:
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		return true;
	default:
		return false;
	}
}

/* The contents of the original link header of a frame. */
struct reported {
	size_t header;
	uint16_t type;         /* EtherType, or a length up to LENGTH_MAX; 0: none */
	const uint8_t *source; /* MAC; NULL: none */
};

static uint16_t ip_type(const uint8_t *p, size_t len)
{
	if (len == 0)
		return 0;
	return p[0] >> 4 == 4 ? BP_ETHER_IP4 : p[0] >> 4 == 6 ? BP_ETHER_IP6 : 0;
}

/* Address families in the numbering of the BSDs: AF_INET is 2 on all, AF_INET6 differs. */
static uint16_t family_type(uint32_t family)
{
	switch (family) {
	case 2:
		return BP_ETHER_IP4;
	case 10:
	case 24:
	case 28:
	case 30:
		return BP_ETHER_IP6;
	default:
		return 0;
	}
}

static struct reported loopback(int dlt, const uint8_t *p)
{
	uint32_t family = bp_be32(p);

	/* DLT_NULL: in the byte order of the capturing machine */
	if (dlt == DLT_NULL && family > UINT16_MAX)
		family = __builtin_bswap32(family);
	return (struct reported){.header = LOOP_HDR, .type = family_type(family)};
}

/* A protocol below 1536 is a number of Linux for frames without an EtherType. */
static uint16_t cooked_type(uint16_t protocol, size_t payload)
{
	if (protocol >= 0x600)
		return protocol;
	return protocol == LLC_PROTOCOL && payload <= LENGTH_MAX ? (uint16_t)payload : 0;
}

static struct reported cooked(int dlt, const uint8_t *p, size_t len)
{
	const bool v2 = dlt == DLT_LINUX_SLL2;
	const size_t header = v2 ? SLL2_HDR : SLL_HDR;
	const bool mac = v2 ? p[11] == 6 : bp_be16(p + 4) == 6;

	return (struct reported){.header = header,
		.type = cooked_type(bp_be16(p + (v2 ? 0 : 14)), len - header),
		.source = mac ? p + (v2 ? 12 : 6) : NULL};
}

static struct reported read_header(int dlt, const uint8_t *p, size_t len)
{
	const struct reported nothing = {0};

	switch (dlt) {
	case DLT_LINUX_SLL:
		return len < SLL_HDR ? nothing : cooked(dlt, p, len);
	case DLT_LINUX_SLL2:
		return len < SLL2_HDR ? nothing : cooked(dlt, p, len);
	case DLT_NULL:
	case DLT_LOOP:
		return len < LOOP_HDR ? nothing : loopback(dlt, p);
	case DLT_IPV4:
	case DLT_IPV6:
	case DLT_RAW:
		return (struct reported){.type = ip_type(p, len)};
	default:
		return nothing;
	}
}

/* The multicast MAC of a group address (RFC 1112, RFC 2464), or a locally administered one. */
static void mac_of_ip(uint8_t mac[6], const uint8_t *address, bool ip6)
{
	const uint8_t *last4 = ip6 ? address + 12 : address;
	static const uint8_t all[4] = {255, 255, 255, 255};

	if (ip6 && bp_ip6_is_multicast(address)) {
		memcpy(mac, "\x33\x33", 2);
		memcpy(mac + 2, last4, 4);
	} else if (!ip6 && memcmp(address, all, 4) == 0) {
		memset(mac, 0xff, 6);
	} else if (!ip6 && address[0] >> 4 == 0xe) {
		memcpy(mac, "\x01\x00\x5e", 3);
		mac[3] = address[1] & 0x7f;
		memcpy(mac + 4, address + 2, 2);
	} else {
		memcpy(mac, ip6 ? "\x02\x06" : "\x02\x04", 2);
		memcpy(mac + 2, last4, 4);
	}
}

static void make_addresses(uint8_t *out, uint16_t type, const uint8_t *ip, size_t len)
{
	const bool ip6 = type == BP_ETHER_IP6;
	const size_t source = ip6 ? BP_IP6_SRC : BP_IP4_SRC;
	const size_t target = ip6 ? BP_IP6_DST : BP_IP4_DST;

	memset(out, 0xff, 6); /* unknown destination: broadcast */
	memcpy(out + 6, "\x02\x00\x00\x00\x00\x01", 6);
	if ((type != BP_ETHER_IP4 && !ip6) || len < (ip6 ? BP_IP6_HDR : BP_IP4_HDR))
		return;
	mac_of_ip(out, ip + target, ip6);
	mac_of_ip(out + 6, ip + source, ip6);
	out[6] &= 0xfe; /* a station never has a group address, regardless of its IP address */
}

size_t bp_capture_link_frame(
	int dlt, const uint8_t *p, size_t len, const uint8_t *to, uint8_t *out, size_t *skipped)
{
	const struct reported h = read_header(dlt, p, len);

	*skipped = h.header;
	if (h.type == 0)
		return 0;
	make_addresses(out, h.type, p + h.header, len - h.header);
	if (to != NULL && !(out[0] & 1))
		memcpy(out, to, 6);
	if (h.source != NULL && !(h.source[0] & 1))
		memcpy(out + 6, h.source, 6);
	out[12] = (uint8_t)(h.type >> 8);
	out[13] = (uint8_t)h.type;
	memcpy(out + BP_CAPTURE_LINK_MORE, p + h.header, len - h.header);
	return BP_CAPTURE_LINK_MORE + len - h.header;
}
