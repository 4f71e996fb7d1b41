/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/frame_text.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "apps/biplane/text.h"
#include "proto/net/frame.h"
#include "proto/net/ip.h"

struct line {
	char *text;
	size_t n;
};

static __attribute__((format(printf, 2, 3))) void add(struct line *l, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(l->text + l->n, BP_FRAME_TEXT - l->n, format, ap);
	va_end(ap);
	if (n > 0)
		l->n += (size_t)n < BP_FRAME_TEXT - l->n ? (size_t)n : BP_FRAME_TEXT - 1 - l->n;
}

static void add_flags(struct line *l, uint8_t flags)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} of[] = {{BP_TCP_SYN, "SYN"}, {BP_TCP_FIN, "FIN"}, {BP_TCP_RST, "RST"},
		{BP_TCP_PSH, "PSH"}, {BP_TCP_ACK, "ACK"}};

	for (unsigned i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		if (flags & of[i].bit)
			add(l, " %s", of[i].name);
}

static const char *protocol_name(uint8_t protocol)
{
	switch (protocol) {
	case BP_PROTO_TCP:
		return "TCP";
	case BP_PROTO_UDP:
		return "UDP";
	case BP_PROTO_ICMP:
		return "ICMP";
	case BP_PROTO_ICMP6:
		return "ICMPv6";
	default:
		return NULL;
	}
}

/* The transport header at l4; `first`: not a later fragment. */
static void add_ip(struct line *l, const uint8_t *src, const uint8_t *dst, bool ip6,
	uint8_t protocol, const uint8_t *l4, uint32_t left, bool first)
{
	const bool ports =
		first && left >= 4 && (protocol == BP_PROTO_TCP || protocol == BP_PROTO_UDP);
	char from[BP_TEXT_ADDRESS], to[BP_TEXT_ADDRESS];

	if (ports) {
		bp_text_address(src, ip6, bp_be16(l4), from);
		bp_text_address(dst, ip6, bp_be16(l4 + 2), to);
	} else {
		inet_ntop(ip6 ? AF_INET6 : AF_INET, src, from, sizeof(from));
		inet_ntop(ip6 ? AF_INET6 : AF_INET, dst, to, sizeof(to));
	}
	add(l, " %s > %s", from, to);
	if (protocol_name(protocol) != NULL)
		add(l, " %s", protocol_name(protocol));
	else
		add(l, " protocol %u", protocol);
	if (!first)
		add(l, " fragment");
	else if (protocol == BP_PROTO_TCP && left >= 14)
		add_flags(l, l4[13]);
}

static void add_ip4(struct line *l, const uint8_t *p, uint32_t n)
{
	const uint32_t header = n >= BP_IP4_HDR ? (uint32_t)(p[0] & 0xf) * 4 : 0;

	if (header < BP_IP4_HDR || header > n) {
		add(l, " truncated");
		return;
	}
	add_ip(l, p + BP_IP4_SRC, p + BP_IP4_DST, false, p[BP_IP4_PROTOCOL], p + header, n - header,
		(bp_be16(p + BP_IP4_FRAGMENT) & 0x1fff) == 0);
}

static void add_ip6(struct line *l, const uint8_t *p, uint32_t n)
{
	if (n < BP_IP6_HDR) {
		add(l, " truncated");
		return;
	}
	add_ip(l, p + BP_IP6_SRC, p + BP_IP6_DST, true, p[BP_IP6_NEXT], p + BP_IP6_HDR,
		n - BP_IP6_HDR, true);
}

static bool is_tag(uint16_t type)
{
	return type == BP_ETHER_VLAN || type == BP_ETHER_QINQ || type == BP_ETHER_QINQ_OLD;
}

void bp_frame_text(const uint8_t *data, uint32_t n, char text[BP_FRAME_TEXT])
{
	struct line l = {text, 0};
	char from[BP_TEXT_MAC], to[BP_TEXT_MAC];
	uint32_t at = BP_ETHER_HDR;
	uint16_t type;

	text[0] = '\0';
	if (n < BP_ETHER_HDR) {
		add(&l, "truncated");
		return;
	}
	bp_text_mac(data + 6, from);
	bp_text_mac(data, to);
	add(&l, "%s > %s", from, to);
	type = bp_be16(data + 12);
	for (unsigned tags = 0; is_tag(type) && tags < 3 && n - at >= 4; tags++, at += 4) {
		add(&l, " vlan %u", bp_be16(data + at) & 0xfff);
		type = bp_be16(data + at + 2);
	}
	if (type == BP_ETHER_IP4)
		add_ip4(&l, data + at, n - at);
	else if (type == BP_ETHER_IP6)
		add_ip6(&l, data + at, n - at);
	else if (type == BP_ETHER_ARP)
		add(&l, " ARP");
	else
		add(&l, " %s 0x%04x", type <= BP_ETHER_LENGTH_MAX ? "length" : "EtherType", type);
}
