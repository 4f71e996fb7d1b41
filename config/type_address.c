/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "config/schema.h"

/* Addresses of either family, with or without a prefix length. */

const char *bp_address_text(const struct bp_address *a, char out[BP_ADDRESS_TEXT])
{
	inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->bytes, out, BP_ADDRESS_TEXT);
	return out;
}

const char *bp_prefix_text(const struct bp_prefix *p, char out[BP_ADDRESS_TEXT])
{
	size_t n;

	inet_ntop(p->family == 4 ? AF_INET : AF_INET6, p->bytes, out, BP_ADDRESS_TEXT);
	n = strlen(out);
	snprintf(out + n, BP_ADDRESS_TEXT - n, "/%u", p->length);
	return out;
}

bool bp_address_read(const char *text, struct bp_address *a)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, a->bytes) == 1)
		a->family = 4;
	else if (inet_pton(AF_INET6, text, a->bytes) == 1)
		a->family = 6;
	return a->family != 0;
}

/* "ADDRESS/LENGTH" */
static bool read_with_length(const char *text, struct bp_address *a, uint8_t *length,
	const char *what, struct bp_fault *fault)
{
	const struct bp_setting number = {.max = 128, .size = sizeof(*length)};
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	char address[BP_ADDRESS_TEXT] = "", shown[BP_SHOWN];

	bp_shown(text, strlen(text), shown);
	if (n < sizeof(address))
		memcpy(address, text, n);
	if (!bp_address_read(address, a))
		return bp_fault_set(fault, 0, "'%s' is not %s", shown, what);
	if (slash == NULL)
		return bp_fault_set(fault, 0, "'%s' has no length", shown);
	if (!bp_type_uint.parse(&number, NULL, slash + 1, length, fault) ||
		*length > bp_address_bits(a->family))
		return bp_fault_set(fault, n + 1, "'%s' is not a length from 0 to %u",
			bp_shown(slash + 1, strlen(slash + 1), shown), bp_address_bits(a->family));
	return true;
}

/* Returns whether a host may have the address: it is not unspecified, loopback or multicast. */
static bool is_host(const struct bp_address *a)
{
	static const uint8_t loopback[16] = {[15] = 1}, none[16];
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	if (a->family == 4)
		return a->bytes[0] != 0 && a->bytes[0] != 127 && a->bytes[0] < 224;
	return a->bytes[0] != 0xff && memcmp(a->bytes, loopback, 16) != 0 &&
	       memcmp(a->bytes, none, 16) != 0 && memcmp(a->bytes, mapped, 12) != 0;
}

static bool parse_address(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_address a;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	bp_shown(text, strlen(text), shown);
	if (!bp_address_read(text, &a))
		return bp_fault_set(fault, 0, "'%s' is not an address", shown);
	if (!is_host(&a))
		return bp_fault_set(fault, 0, "%s is not the address of one host", shown);
	*(struct bp_address *)field = a;
	return true;
}

/* IPv6 in quotes: YAML readers parse some addresses as a number or a mapping. */
static void format_address(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_address *a = field;
	const char *quote = a->family == 6 ? "\"" : "";
	char text[BP_ADDRESS_TEXT];

	(void)s;
	(void)c;
	fprintf(out, "%s%s%s", quote, bp_address_text(a, text), quote);
}

static void expect_address(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("a unicast IPv4 or IPv6 address such as 192.0.2.10 or 2001:db8::10", out);
}

const struct bp_type bp_type_address = {
	.parse = parse_address, .format = format_address, .expect = expect_address};

static bool parse_loopback(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	static const uint8_t loopback6[16] = {[15] = 1};
	struct bp_address a;
	char shown[BP_SHOWN];

	bp_shown(text, strlen(text), shown);
	if (!bp_address_read(text, &a))
		return bp_fault_set(fault, 0, "'%s' is not an address", shown);
	if (a.family == 4 ? a.bytes[0] != 127 : memcmp(a.bytes, loopback6, 16) != 0)
		return bp_fault_set(fault, 0, "%s is not a loopback address", shown);
	*(struct bp_address *)field = a;
	return true;
}

static void expect_loopback(const struct bp_setting *s, FILE *out)
{
	fputs("a loopback address such as 127.0.0.1, or \"::1\"", out);
}

const struct bp_type bp_type_loopback = {
	.parse = parse_loopback, .format = format_address, .expect = expect_loopback};

/* Checks that no bit is set beyond the prefix length. */
static bool check_prefix(const struct bp_prefix *p, const struct bp_address *given,
	const char *text, struct bp_fault *fault)
{
	char shown[BP_SHOWN], right[BP_ADDRESS_TEXT];

	if (memcmp(p->bytes, given->bytes, sizeof(p->bytes)) == 0)
		return true;
	return bp_fault_set(fault, 0, "%s has bits set beyond its length; its prefix is %s",
		bp_shown(text, strlen(text), shown), bp_prefix_text(p, right));
}

bool bp_prefix_read(const char *text, struct bp_prefix *out, struct bp_fault *fault)
{
	struct bp_address a;
	uint8_t length;

	if (strchr(text, '/') != NULL) {
		if (!read_with_length(text, &a, &length, "a prefix", fault))
			return false;
	} else if (bp_address_read(text, &a)) {
		length = (uint8_t)bp_address_bits(a.family);
	} else {
		char shown[BP_SHOWN];

		return bp_fault_set(fault, 0, "'%s' is neither an address nor a prefix",
			bp_shown(text, strlen(text), shown));
	}
	*out = bp_prefix_of(a, length);
	return check_prefix(out, &a, text, fault);
}

static bool parse_prefix(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_address a;
	struct bp_prefix p;
	uint8_t length;
	char shown[BP_SHOWN];

	(void)s;
	(void)c;
	if (!read_with_length(text, &a, &length, "a prefix", fault))
		return false;
	bp_shown(text, strlen(text), shown);
	p = bp_prefix_of(a, length);
	if (!check_prefix(&p, &a, text, fault))
		return false;
	if (p.length > 0 && p.bytes[0] >= (p.family == 4 ? 224 : 0xff) &&
		(p.family == 6 || p.bytes[0] < 240))
		return bp_fault_set(fault, 0, "%s is multicast, which is not routed", shown);
	*(struct bp_prefix *)field = p;
	return true;
}

static void format_prefix(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	char text[BP_ADDRESS_TEXT];

	(void)s;
	(void)c;
	fprintf(out, "\"%s\"", bp_prefix_text(field, text));
}

static void expect_prefix(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fputs("an IPv4 or IPv6 prefix with its length, such as 10.2.0.0/16 or 2001:db8::/32", out);
}

const struct bp_type bp_type_prefix = {
	.parse = parse_prefix, .format = format_prefix, .expect = expect_prefix};

/* The first and the last address of an IPv4 prefix belong to no host, except in prefixes of one or
 * two addresses. */
static bool is_edge(const struct bp_address *a, uint8_t length)
{
	uint32_t bits = 0, host;

	if (a->family != 4 || length > 30)
		return false;
	for (unsigned i = 0; i < 4; i++)
		bits = bits << 8 | a->bytes[i];
	host = UINT32_MAX >> length;
	return (bits & host) == 0 || (bits & host) == host;
}

static bool read_interface_address(
	const char *text, struct bp_interface_address *out, struct bp_fault *fault)
{
	struct bp_interface_address a = {.length = 0};
	char shown[BP_SHOWN];

	if (!read_with_length(
		    text, &a.address, &a.length, "an address with its prefix's length", fault))
		return false;
	bp_shown(text, strlen(text), shown);
	if (!is_host(&a.address))
		return bp_fault_set(fault, 0, "%s is not the address of one host", shown);
	if (a.length == 0)
		return bp_fault_set(fault, 0, "%s has a prefix with all addresses", shown);
	if (is_edge(&a.address, a.length))
		return bp_fault_set(fault, 0,
			"%s is the network's or the broadcast address of its prefix", shown);
	*out = a;
	return true;
}

static bool parse_addresses(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	struct bp_config_interface *i = field;

	(void)s;
	(void)c;
	if (!read_interface_address(text, &i->address[0], fault))
		return false;
	i->n_addresses = 1;
	return true;
}

static void read_item(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *item,
	struct bp_config_interface *i)
{
	struct bp_interface_address *a = &i->address[i->n_addresses];
	struct bp_fault fault;

	if (item->bad)
		return;
	if (item->kind != BP_YAML_SCALAR || bp_yaml_is_null(item)) {
		bp_reader_error(r, s, item, "this is not an address");
		return;
	}
	if (!read_interface_address(item->text, a, &fault)) {
		bp_reader_fault(r, s, item, &fault);
		return;
	}
	i->n_addresses++;
}

static void read_addresses(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	if (bp_read_as_scalar(r, s, n, field))
		return;
	if (n->n > BP_ADDRESSES_MAX) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next)
		read_item(r, s, item, field);
}

static void format_addresses(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const struct bp_config_interface *i = field;

	(void)s;
	(void)c;
	fputc('[', out);
	for (uint32_t k = 0; k < i->n_addresses; k++) {
		char text[BP_ADDRESS_TEXT];

		fprintf(out, "%s\"%s/%u\"", k > 0 ? ", " : "",
			bp_address_text(&i->address[k].address, text), i->address[k].length);
	}
	fputc(']', out);
}

static void expect_addresses(const struct bp_setting *s, FILE *out)
{
	(void)s;
	fprintf(out,
		"a list of at most %u addresses of hosts, each with its prefix's length, such as "
		"[10.0.0.1/24, \"fd00::1/64\"]",
		BP_ADDRESSES_MAX);
}

const struct bp_type bp_type_addresses = {.parse = parse_addresses,
	.read = read_addresses,
	.format = format_addresses,
	.expect = expect_addresses};
