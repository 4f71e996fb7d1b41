/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/check_place.h"
#include "config/sampling/settings.h"
#include "config/sampling/schema.h"
#include "config/schema_rows.h"

/* The rows of section sampling. */

static const struct bp_list_layout rule_list = {
	.element = sizeof(struct bp_sampling_rule),
	.items = offsetof(struct bp_config_sampling, rules.rule),
	.count = offsetof(struct bp_config_sampling, rules.n),
};

#define HAS(what_, member_)                                                                        \
	static bool has_##what_(const void *rule)                                                  \
	{                                                                                          \
		return ((const struct bp_sampling_rule *)rule)->match.member_ != 0;                \
	}
HAS(source, source.family)
HAS(destination, destination.family)
HAS(udp, udp_last)
HAS(tcp, tcp_last)

static bool bridged(const struct bp_config *c, unsigned port)
{
	return !bp_config_port_routes(c, port);
}

/* Checks contradictions within an entry, and with the entries before it. */
static void check_rule(struct bp_reader *r, const struct bp_yaml *at,
	const struct bp_sampling_rules *all, unsigned i)
{
	const struct bp_sampling_rule *e = &all->rule[i];
	const struct bp_match *m = &e->match;

	if (m->port == e->mirror)
		BP_AT_ERROR(r, bp_place(at, "mirror"),
			"sampling[%u].mirror: it is the input port of the sampled frames; expected "
			"another port",
			i);
	else if (bridged(r->config, e->mirror))
		BP_AT_ERROR(r, bp_place(at, "mirror"),
			"sampling[%u].mirror: port '%s' is in a bridge, and its hosts would "
			"receive "
			"the frames twice; expected a port that is not in a bridge",
			i, r->config->port[e->mirror].name);
	if (m->udp_last != 0 && m->tcp_last != 0)
		BP_AT_ERROR(r, bp_place(at, "match.tcp_port"),
			"sampling[%u].match: no frame has both udp_port and tcp_port; expected one "
			"of them",
			i);
	if (m->source.family != 0 && m->destination.family != 0 &&
		m->source.family != m->destination.family)
		BP_AT_ERROR(r, bp_place(at, "match.destination"),
			"sampling[%u].match.destination: source is an IPv%u address; expected an "
			"address of the same IP version",
			i, m->source.family);
	for (unsigned k = 0; k < i; k++)
		if (strcmp(all->rule[k].name, e->name) == 0)
			BP_AT_ERROR(r, bp_place(at, "name"),
				"sampling[%u].name: sampling[%u] is named '%s', too; expected a "
				"unique name",
				i, k, e->name);
}

void bp_check_sampling(struct bp_reader *r)
{
	const struct bp_sampling_rules *all = &bp_config_sampling(r->config)->rules;
	const struct bp_yaml *list = bp_yaml_find(r->root, "sampling");
	const struct bp_yaml *at = list != NULL && !list->bad ? list->first : NULL;

	for (uint32_t i = 0; at != NULL && i < all->n; i++, at = at->next)
		if (!at->faulty)
			check_rule(r, at, all, i);
}

#define ROW(member_) IN(bp_sampling_rule, member_)

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "sampling", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_SAMPLING_MAX, .list = &rule_list, .preset_text = "none", .done = bp_check_sampling,
	 .help = "Packet sampling: received frames of an entry are mirrored to a port, one in one_in of them; docs/explanation/sampling.md. First match wins. Adding the first entry or removing the last one needs a restart."},
	{.path = "sampling[].name", .type = &bp_type_name, ROW(name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Name of the entry in show sampling, unique."},
	{.path = "sampling[].match", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Frames that are sampled: those that meet all given conditions at reception."},
	{.path = "sampling[].match.port", .type = &bp_type_port, ROW(match.port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Input port."},
	{.path = "sampling[].match.source", .type = &bp_type_any_hosts, ROW(match.source), .flags = BP_RELOAD, .present = has_source, .preset_text = "any",
	 .help = "Source address or prefix."},
	{.path = "sampling[].match.destination", .type = &bp_type_any_hosts, ROW(match.destination), .flags = BP_RELOAD, .present = has_destination, .preset_text = "any",
	 .help = "Destination address or prefix."},
	{.path = "sampling[].match.udp_port", .type = &bp_type_udp_ports, ROW(match.udp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_udp, .preset_text = "any",
	 .help = "Destination UDP port, or a range."},
	{.path = "sampling[].match.tcp_port", .type = &bp_type_tcp_range, ROW(match.tcp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_tcp, .preset_text = "any",
	 .help = "Destination TCP port, or a range."},
	{.path = "sampling[].match.ethertype", .type = &bp_type_ethertype, ROW(match.ethertype), .flags = BP_RELOAD | BP_OR_ZERO, .min = 0x600, .max = 0xffff, .preset = "any",
	 .help = "EtherType behind VLAN tags."},
	{.path = "sampling[].match.vlan", .type = &bp_type_vlan, ROW(match.vlan), .flags = BP_RELOAD, .min = 1, .max = 4094, .preset = "any",
	 .help = "VLAN identifier of the outer tag."},
	{.path = "sampling[].match.pcp", .type = &bp_type_any_or, ROW(match.pcp), .flags = BP_RELOAD, .max = 7, .preset = "any",
	 .help = "Priority (PCP) of the outer tag."},
	{.path = "sampling[].match.dscp", .type = &bp_type_any_or, ROW(match.dscp), .flags = BP_RELOAD, .max = 63, .preset = "any",
	 .help = "DSCP of the IP header."},
	{.path = "sampling[].one_in", .type = &bp_type_uint, ROW(one_in), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = BP_SAMPLING_ONE_IN_MAX,
	 .help = "Sampling ratio: one in this number of matching frames, chosen at random by each worker, is mirrored. 1 mirrors all."},
	{.path = "sampling[].mirror", .type = &bp_type_port, ROW(mirror), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Output port of the mirrored frames. It must not be in a bridge."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_sampling, rows);
