/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/match.h"
#include "config/schema.h"

/* Matches of a frame's headers; `any` means that the field is not compared (struct bp_match). */

static bool is_any(const char *text)
{
	return strcmp(text, "any") == 0;
}

/* ---- an EtherType; any, where it is allowed (BP_OR_ZERO), is 0 ---- */

static bool parse_ethertype(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_setting number = *s;

	if ((s->flags & BP_OR_ZERO) != 0 && is_any(text)) {
		bp_field_store(s, field, 0);
		return true;
	}
	number.flags &= ~(uint32_t)BP_OR_ZERO;
	return bp_type_uint.parse(&number, c, text, field, fault);
}

static void format_ethertype(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint64_t v = bp_field_load(s, field);

	if (v == 0)
		fputs("any", out);
	else
		fprintf(out, "0x%04llx", (unsigned long long)v);
}

static void expect_ethertype(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "an EtherType from 0x%04llx to 0x%04llx%s", (unsigned long long)s->min,
		(unsigned long long)s->max, (s->flags & BP_OR_ZERO) != 0 ? ", or any" : "");
}

const struct bp_type bp_type_ethertype = {
	.parse = parse_ethertype, .format = format_ethertype, .expect = expect_ethertype};

/* ---- a number, or any, which is stored as all ones ---- */

static uint64_t all_ones(const struct bp_setting *s)
{
	return s->size == 1 ? UINT8_MAX : UINT16_MAX;
}

static bool parse_any_or(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	if (!is_any(text))
		return bp_type_uint.parse(s, c, text, field, fault);
	bp_field_store(s, field, all_ones(s));
	return true;
}

static void format_any_or(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	if (bp_field_load(s, field) == all_ones(s))
		fputs("any", out);
	else
		bp_type_uint.format(s, c, field, out);
}

static void expect_any_or(const struct bp_setting *s, FILE *out)
{
	bp_type_uint.expect(s, out);
	fputs(", or any", out);
}

const struct bp_type bp_type_any_or = {
	.parse = parse_any_or, .format = format_any_or, .expect = expect_any_or};

/* ---- a VLAN, any, or none: untagged ---- */

static bool parse_vlan(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	if (strcmp(text, "none") != 0)
		return parse_any_or(s, c, text, field, fault);
	bp_field_store(s, field, BP_MATCH_UNTAGGED);
	return true;
}

static void format_vlan(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	if (bp_field_load(s, field) == BP_MATCH_UNTAGGED)
		fputs("none", out);
	else
		format_any_or(s, c, field, out);
}

static void expect_vlan(const struct bp_setting *s, FILE *out)
{
	bp_type_uint.expect(s, out);
	fputs(", any, or none for frames without a tag", out);
}

const struct bp_type bp_type_vlan = {
	.parse = parse_vlan, .format = format_vlan, .expect = expect_vlan};

/* ---- addresses, including multicast ---- */

static bool parse_any_hosts(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	return bp_prefix_read(text, field, fault);
}

static void format_any_hosts(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_type_hosts.format(s, c, field, out);
}

static void expect_any_hosts(const struct bp_setting *s, FILE *out)
{
	fputs("an IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or 2001:db8::/64",
		out);
}

const struct bp_type bp_type_any_hosts = {
	.parse = parse_any_hosts, .format = format_any_hosts, .expect = expect_any_hosts};

/* ---- like bp_type_udp_ports, for TCP ---- */

static bool parse_tcp_range(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	return bp_type_udp_ports.parse(s, c, text, field, fault);
}

static void format_tcp_range(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	bp_type_udp_ports.format(s, c, field, out);
}

static void expect_tcp_range(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a TCP port from %llu to %llu, or a range of them such as 5000-5999",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_tcp_range = {
	.parse = parse_tcp_range, .format = format_tcp_range, .expect = expect_tcp_range};
