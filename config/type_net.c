/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "config/schema.h"

/* Addresses in the byte order of a frame. All are unicast: a mirrored frame has one receiver. */

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_mac(const char *text, uint8_t mac[6])
{
	if (strlen(text) != 17)
		return false;
	for (uint32_t i = 0; i < 6; i++) {
		const char *p = text + 3 * i;

		if (hex(p[0]) < 0 || hex(p[1]) < 0 || (i < 5 && p[2] != ':' && p[2] != '-'))
			return false;
		mac[i] = (uint8_t)(hex(p[0]) << 4 | hex(p[1]));
	}
	return true;
}

static bool parse_mac(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	static const uint8_t none[6];
	uint8_t mac[6];
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	bp_shown(text, strlen(text), shown);
	if (!read_mac(text, mac))
		return bp_fault_set(fault, 0, "'%s' is not a MAC address", shown);
	if ((mac[0] & 1) != 0 || memcmp(mac, none, 6) == 0)
		return bp_fault_set(fault, 0, "'%s' is not the address of one station", shown);
	memcpy(field, mac, 6);
	return true;
}

static void format_mac(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint8_t *m = field;

	(void)s;
	(void)c;
	/* In quotes: YAML 1.1 readers parse digits and colons alone as a number in base 60. */
	fprintf(out, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static void expect_mac(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a unicast MAC address such as \"02:00:00:00:00:01\"", out);
}

const struct bp_type bp_type_mac = {.parse = parse_mac, .format = format_mac, .expect = expect_mac};

static bool parse_ip4(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	uint8_t ip[4];
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	bp_shown(text, strlen(text), shown);
	if (inet_pton(AF_INET, text, ip) != 1)
		return bp_fault_set(fault, 0, "'%s' is not an IPv4 address", shown);
	if (ip[0] == 0 || ip[0] >= 224)
		return bp_fault_set(fault, 0, "%s is not the address of one host", shown);
	memcpy(field, ip, sizeof(ip));
	return true;
}

static void format_ip4(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	char text[INET_ADDRSTRLEN];

	(void)s;
	(void)c;
	fputs(inet_ntop(AF_INET, field, text, sizeof(text)), out);
}

static void expect_ip4(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a unicast IPv4 address such as 192.0.2.10", out);
}

const struct bp_type bp_type_ip4 = {.parse = parse_ip4, .format = format_ip4, .expect = expect_ip4};

static bool parse_ip6(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	static const uint8_t none[16];
	uint8_t ip[16];
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	bp_shown(text, strlen(text), shown);
	if (inet_pton(AF_INET6, text, ip) != 1)
		return bp_fault_set(fault, 0, "'%s' is not an IPv6 address", shown);
	if (ip[0] == 0xff || memcmp(ip, none, sizeof(ip)) == 0)
		return bp_fault_set(fault, 0, "%s is not the address of one host", shown);
	memcpy(field, ip, sizeof(ip));
	return true;
}

static void format_ip6(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	char text[INET6_ADDRSTRLEN];

	(void)s;
	(void)c;
	fprintf(out, "\"%s\"", inet_ntop(AF_INET6, field, text, sizeof(text)));
}

static void expect_ip6(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a unicast IPv6 address such as 2001:db8::10", out);
}

const struct bp_type bp_type_ip6 = {.parse = parse_ip6, .format = format_ip6, .expect = expect_ip6};
