/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/aggregation/schema.h"

#define AT(member_) IN(bp_config_aggregation, member_)

/* The rows of sections aggregate, disaggregate and aggregation. */

static const char *const format_words[] = {"full", "paper", NULL};

static const struct bp_list_layout aggregate_list = {
	.element = sizeof(struct bp_agg_rule),
	.items = offsetof(struct bp_config_aggregation, rules.aggregate),
	.count = offsetof(struct bp_config_aggregation, rules.n_aggregate),
};
static const struct bp_list_layout disaggregate_list = {
	.element = sizeof(struct bp_disagg_rule),
	.items = offsetof(struct bp_config_aggregation, rules.disaggregate),
	.count = offsetof(struct bp_config_aggregation, rules.n_disaggregate),
};

static bool has_from(const void *base)
{
	return ((const struct bp_agg_rule *)base)->from.family != 0;
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "aggregate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &aggregate_list, .preset_note = "none",
	 .help = "UDP messages that are sent on as the payload of one packet, the aggregate, as docs/aggregation-format.md says. Of the entries of a port the first that a message's destination is in is for it. The first entry of this list or of disaggregate, and the last, come and go with a restart only."},
	{.path = "aggregate[].port", .type = &bp_type_port, IN(bp_agg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the messages come in on. Their aggregates go the way that they would have gone."},
	{.path = "aggregate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Where the messages go, and so their aggregates. Each destination has aggregates of its own."},
	{.path = "aggregate[].to.address", .type = &bp_type_hosts, IN(bp_agg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address, or a prefix of several."},
	{.path = "aggregate[].to.udp", .type = &bp_type_udp_ports, IN(bp_agg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of several."},
	{.path = "aggregate[].format", .type = &bp_type_enum, IN(bp_agg_rule, format), .flags = BP_RELOAD, .words = format_words, .preset = "full",
	 .help = "full restores each datagram, its sender included. paper is for the switches of Lin et al. (2018): IPv4, messages of 16 octets behind the flag header of 6, and no word of their senders."},
	{.path = "aggregate[].senders", .type = &bp_type_host_list, IN(bp_agg_rule, n_senders), .flags = BP_RELOAD, .preset_note = "none: messages of all are aggregated",
	 .help = "Addresses and prefixes whose messages are aggregated; those of others go on as they came. disaggregate[].senders of the far end refuses an aggregate whole for one message from elsewhere, so give both ends the same: else one device with a wrong or forged address loses the messages of the others."},
	{.path = "aggregate[].messages", .type = &bp_type_uint, IN(bp_agg_rule, messages), .flags = BP_RELOAD, .min = 1, .max = 255, .preset = "8",
	 .help = "An aggregate that holds so many messages leaves."},
	{.path = "aggregate[].max_delay", .type = &bp_type_duration, IN(bp_agg_rule, max_delay_ns), .flags = BP_RELOAD | BP_OR_ZERO, .min = 10 * US, .max = HOUR, .preset = "1ms",
	 .help = "An aggregate whose oldest message has waited so long leaves; 0: messages wait until it is full, however long that takes."},
	{.path = "aggregate[].max_message", .type = &bp_type_uint, IN(bp_agg_rule, max_message), .flags = BP_RELOAD, .max = 65000, .preset = "1024",
	 .help = "Octets of UDP payload. A longer message, or one that even alone would make an aggregate exceed mtu, goes on as it came."},
	{.path = "aggregate[].mtu", .type = &bp_type_uint, IN(bp_agg_rule, mtu), .flags = BP_RELOAD | BP_OR_ZERO, .min = 128, .max = 65535, .preset = "0",
	 .help = "Octets that an aggregate's IP packet may have; an aggregate that has no room for the next message leaves. 0 takes the least MTU of all ports."},
	{.path = "aggregate[].from", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_from,
	 .help = "The aggregates' own source. Without it they have that of the first message of their stream, in format paper that of the first message in them."},
	{.path = "aggregate[].from.address", .type = &bp_type_address, IN(bp_agg_rule, from), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address."},
	{.path = "aggregate[].from.udp", .type = &bp_type_uint, IN(bp_agg_rule, from_udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Source UDP port."},

	{.path = "disaggregate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &disaggregate_list, .preset_note = "none",
	 .help = "Aggregates that are taken apart. Of the entries of a port the first that an aggregate's destination is in is for it. Messages that came alone go on as they came."},
	{.path = "disaggregate[].port", .type = &bp_type_port, IN(bp_disagg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that the aggregates come in on. Their messages go the way that they would have gone."},
	{.path = "disaggregate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Where the aggregates go, which is where their messages go."},
	{.path = "disaggregate[].to.address", .type = &bp_type_hosts, IN(bp_disagg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address, or a prefix of several."},
	{.path = "disaggregate[].to.udp", .type = &bp_type_udp_ports, IN(bp_disagg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of several."},
	{.path = "disaggregate[].format", .type = &bp_type_enum, IN(bp_disagg_rule, format), .flags = BP_RELOAD, .words = format_words, .preset = "full",
	 .help = "As aggregate[].format; that of whoever made the aggregates."},
	{.path = "disaggregate[].senders", .type = &bp_type_host_list, IN(bp_disagg_rule, n_senders), .flags = BP_RELOAD, .preset_note = "none: every aggregate is refused",
	 .help = "Addresses and prefixes that messages may be from. An aggregate with one from elsewhere is dropped whole and counted: whoever can send here could otherwise send in anybody's name. In format paper that is the aggregate's own source."},
	{.path = "disaggregate[].pace", .type = &bp_type_bool, IN(bp_disagg_rule, pace), .flags = BP_RELOAD, .preset = "false",
	 .help = "Whether the messages of an aggregate leave one by one, gap apart, rather than at once."},
	{.path = "disaggregate[].gap", .type = &bp_type_duration, IN(bp_disagg_rule, gap_ns), .flags = BP_RELOAD, .min = 100, .max = S, .preset = "10us",
	 .help = "Least time between two messages of this entry where pace is true, at each worker."},

	{.path = "aggregation", .type = &bp_type_section, .done = bp_check_aggregation,
	 .help = "Bounds of aggregate and disaggregate."},
	{.path = "aggregation.streams", .type = &bp_type_uint, AT(streams), .min = 1, .max = 1048576, .preset = "1024",
	 .help = "Streams of aggregates that each worker makes at one time, and as many that it follows by their sequence numbers. At the bound the one that was idle the longest gives way, or else the oldest, whose aggregate leaves."},
	{.path = "aggregation.queue", .type = &bp_type_uint, AT(queue), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Messages that may wait for their gap, of each entry with pace at each worker, rounded up to a power of two. At the bound the oldest leaves early."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_aggregation, rows);
