/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/aggregation/schema.h"

/* Prefixes of hosts, and UDP ports. A single address is a prefix of full length. */

/* Prefixes that are never the source or destination of a unicast datagram. */
static const struct {
	struct bp_prefix prefix;
	const char *what;
} not_unicast[] = {
	{{.family = 4, .length = 8}, "is unspecified"},
	{{.bytes = {127}, .family = 4, .length = 8}, "is loopback"},
	{{.bytes = {224}, .family = 4, .length = 4}, "is multicast"},
	{{.bytes = {240}, .family = 4, .length = 4}, "is reserved or broadcast"},
	{{.family = 6, .length = 128}, "is unspecified"},
	{{.bytes = {[15] = 1}, .family = 6, .length = 128}, "is loopback"},
	{{.bytes = {[10] = 0xff, 0xff}, .family = 6, .length = 96}, "is IPv4-mapped"},
	{{.bytes = {0xff}, .family = 6, .length = 8}, "is multicast"},
};

/* Returns the reason why no address of the prefix is unicast; NULL: some addresses may be. */
static const char *why_not_unicast(const struct bp_prefix *p)
{
	struct bp_address a = {.family = p->family};

	memcpy(a.bytes, p->bytes, sizeof(a.bytes));
	for (size_t i = 0; i < sizeof(not_unicast) / sizeof(not_unicast[0]); i++) {
		if (p->length >= not_unicast[i].prefix.length &&
			bp_prefix_contains(&not_unicast[i].prefix, &a))
			return not_unicast[i].what;
	}
	return NULL;
}

static bool parse_hosts(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];
	struct bp_prefix p;
	const char *what;

	if (!bp_prefix_read(text, &p, fault))
		return false;
	what = why_not_unicast(&p);
	if (what != NULL)
		return bp_fault_set(fault, 0, "%s %s", bp_shown(text, strlen(text), shown), what);
	*(struct bp_prefix *)field = p;
	return true;
}

/* Writes a host prefix as its address; in quotes, because some YAML readers parse IPv6 as a
 * mapping. */
static void write_hosts(const struct bp_prefix *p, FILE *out)
{
	char text[BP_ADDRESS_TEXT];

	bp_prefix_text(p, text);
	if (p->length == bp_address_bits(p->family))
		*strchr(text, '/') = '\0';
	fprintf(out, "\"%s\"", text);
}

static void format_hosts(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	write_hosts(field, out);
}

static void expect_hosts(const struct bp_setting *s, FILE *out)
{
	fputs("a unicast IPv4 or IPv6 address or prefix, such as 10.1.0.9, 10.1.0.0/24 or "
	      "2001:db8::/64",
		out);
}

const struct bp_type bp_type_hosts = {
	.parse = parse_hosts, .format = format_hosts, .expect = expect_hosts};

/* ---- a list of prefixes: the field is the uint32_t count, and the prefixes follow it ---- */

_Static_assert(offsetof(struct bp_disagg_rule, senders) ==
		       offsetof(struct bp_disagg_rule, n_senders) + sizeof(uint32_t),
	"the prefixes follow their count");
_Static_assert(offsetof(struct bp_agg_rule, senders) ==
		       offsetof(struct bp_agg_rule, n_senders) + sizeof(uint32_t),
	"the prefixes follow their count");

static struct bp_prefix *hosts_after(const uint32_t *count)
{
	return (struct bp_prefix *)(uintptr_t)(count + 1);
}

static bool parse_host_list(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	uint32_t *count = field;

	if (!parse_hosts(s, c, text, hosts_after(count), fault))
		return false;
	*count = 1;
	return true;
}

static void read_one_of_hosts(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *item, uint32_t *count)
{
	struct bp_prefix *list = hosts_after(count);
	struct bp_fault fault;

	if (item->bad)
		return;
	if (item->kind != BP_YAML_SCALAR || bp_yaml_is_null(item)) {
		bp_reader_error(r, s, item, "this is not an address or prefix");
		return;
	}
	if (!parse_hosts(s, r->config, item->text, &list[*count], &fault)) {
		bp_reader_fault(r, s, item, &fault);
		return;
	}
	for (uint32_t i = 0; i < *count; i++) {
		if (memcmp(&list[i], &list[*count], sizeof(list[i])) == 0) {
			bp_reader_error(r, s, item, "%s is given twice", item->text);
			return;
		}
	}
	++*count;
}

static void read_host_list(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	if (bp_read_as_scalar(r, s, n, field))
		return;
	if (n->n > BP_AGG_SENDERS_MAX) {
		bp_reader_error(r, s, n, "%u are given", n->n);
		return;
	}
	for (struct bp_yaml *item = n->first; item != NULL; item = item->next)
		read_one_of_hosts(r, s, item, field);
}

static void format_host_list(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint32_t *count = field;

	fputc('[', out);
	for (uint32_t i = 0; i < *count; i++) {
		fputs(i > 0 ? ", " : "", out);
		write_hosts(&hosts_after(count)[i], out);
	}
	fputc(']', out);
}

static void expect_host_list(const struct bp_setting *s, FILE *out)
{
	fprintf(out,
		"a list of at most %u different unicast IPv4 or IPv6 addresses or prefixes, such "
		"as [10.0.0.0/24, 10.0.9.1]",
		BP_AGG_SENDERS_MAX);
}

const struct bp_type bp_type_host_list = {.parse = parse_host_list,
	.read = read_host_list,
	.format = format_host_list,
	.expect = expect_host_list};

/* ---- 5555, or "5000-5999": two uint16_t, the first and the last ---- */

static bool parse_udp_ports(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	const struct bp_setting number = {.min = s->min, .max = s->max, .size = sizeof(uint16_t)};
	uint16_t *ports = field;

	if (strchr(text, '-') != NULL && text[0] != '-')
		return bp_type_port_range.parse(s, c, text, field, fault);
	if (!bp_type_uint.parse(&number, c, text, &ports[0], fault))
		return false;
	ports[1] = ports[0];
	return true;
}

static void format_udp_ports(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	const uint16_t *ports = field;

	if (ports[0] == ports[1])
		fprintf(out, "%u", ports[0]);
	else
		fprintf(out, "%u-%u", ports[0], ports[1]);
}

static void expect_udp_ports(const struct bp_setting *s, FILE *out)
{
	fprintf(out, "a UDP port from %llu to %llu, or a range such as 5000-5999",
		(unsigned long long)s->min, (unsigned long long)s->max);
}

const struct bp_type bp_type_udp_ports = {
	.parse = parse_udp_ports, .format = format_udp_ports, .expect = expect_udp_ports};
