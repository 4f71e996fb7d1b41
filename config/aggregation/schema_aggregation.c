/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/aggregation/schema.h"

#define AT(member_) IN(bp_config_aggregation, member_)

/* The rows of section aggregation. */

static const char *const format_names[] = {"full", "lin2018", NULL};

static const struct bp_list_layout encapsulate_list = {
	.element = sizeof(struct bp_agg_rule),
	.items = offsetof(struct bp_config_aggregation, rules.aggregate),
	.count = offsetof(struct bp_config_aggregation, rules.n_aggregate),
};
static const struct bp_list_layout decapsulate_list = {
	.element = sizeof(struct bp_disagg_rule),
	.items = offsetof(struct bp_config_aggregation, rules.disaggregate),
	.count = offsetof(struct bp_config_aggregation, rules.n_disaggregate),
};

static bool has_source(const void *base)
{
	return ((const struct bp_agg_rule *)base)->from.family != 0;
}

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "aggregation", .type = &bp_type_section, .done = bp_check_aggregation,
	 .help = "Aggregation of small UDP messages between two gateways (docs/reference/aggregation-format.md). Adding the first entry of encapsulate or decapsulate, or removing the last, needs a restart."},
	{.path = "aggregation.max_streams", .type = &bp_type_uint, .flags = BP_MAIN, AT(max_streams), .min = 1, .max = 1048576, .preset = "1024",
	 .help = "Maximum number of streams of aggregates that each worker sends, and of those that it receives. At the limit the stream that was idle longest is evicted; if no stream is idle, the oldest aggregate is sent early."},
	{.path = "aggregation.pacing_queue_len", .type = &bp_type_uint, AT(pacing_queue_len), .min = 16, .max = 65536, .preset = "4096",
	 .help = "Depth of the pacing queue of each worker and entry with a pacing_gap, messages; rounded up to a power of two. When the queue is full, the oldest message is sent early."},

	{.path = "aggregation.encapsulate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &encapsulate_list, .preset_text = "none",
	 .help = "UDP messages to aggregate: several messages are sent as the payload of one packet, the aggregate. Of the entries of a port the first match wins."},
	{.path = "aggregation.encapsulate[].port", .type = &bp_type_port, IN(bp_agg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Port where the messages arrive. Aggregates are forwarded like their messages."},
	{.path = "aggregation.encapsulate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination of the messages and of their aggregates. Each destination has its own aggregates."},
	{.path = "aggregation.encapsulate[].to.address", .type = &bp_type_hosts, IN(bp_agg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address or prefix."},
	{.path = "aggregation.encapsulate[].to.udp_port", .type = &bp_type_udp_ports, IN(bp_agg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of ports."},
	{.path = "aggregation.encapsulate[].format", .type = &bp_type_enum, IN(bp_agg_rule, format), .flags = BP_MAIN | BP_RELOAD, .enum_names = format_names, .preset = "full",
	 .help = "full restores each datagram including its source. lin2018 is the format of Lin et al. (2018): IPv4, messages of 16 bytes behind a flag header of 6 bytes, without their sources."},
	{.path = "aggregation.encapsulate[].allowed_senders", .type = &bp_type_host_list, IN(bp_agg_rule, n_senders), .flags = BP_RELOAD, .preset_text = "none: messages of all senders are aggregated",
	 .help = "Addresses and prefixes whose messages are aggregated; messages of other senders bypass aggregation. Set the same list in allowed_senders of the remote gateway's decapsulate entry: it drops an aggregate that contains a message of any other sender."},
	{.path = "aggregation.encapsulate[].max_messages", .type = &bp_type_uint, IN(bp_agg_rule, messages), .flags = BP_MAIN | BP_RELOAD, .min = 1, .max = 255, .preset = "8",
	 .help = "Maximum number of messages in an aggregate. A full aggregate is sent immediately."},
	{.path = "aggregation.encapsulate[].max_delay", .type = &bp_type_duration, IN(bp_agg_rule, max_delay_ns), .flags = BP_MAIN | BP_RELOAD, .min = 10 * US, .max = HOUR, .zero = "unlimited", .preset = "1ms",
	 .help = "Maximum time that the oldest message of an aggregate waits. unlimited: until the aggregate is full."},
	{.path = "aggregation.encapsulate[].max_message_size", .type = &bp_type_uint, IN(bp_agg_rule, max_message), .flags = BP_RELOAD, .max = 65000, .preset = "1024",
	 .help = "Maximum UDP payload of a message to aggregate, bytes. Longer messages, and messages that would exceed mtu even alone in an aggregate, bypass aggregation."},
	{.path = "aggregation.encapsulate[].mtu", .type = &bp_type_uint, IN(bp_agg_rule, mtu), .flags = BP_RELOAD, .min = 128, .max = 65535, .zero = "auto", .preset = "auto",
	 .help = "Maximum size of an aggregate's IP packet, bytes. An aggregate without space for the next message is sent. auto: the smallest MTU of all ports."},
	{.path = "aggregation.encapsulate[].source", .type = &bp_type_section, .flags = BP_RELOAD, .present = has_source,
	 .help = "Source of the aggregates. Without this section it is the source of the first message of the stream or, with format lin2018, of the first message in the aggregate."},
	{.path = "aggregation.encapsulate[].source.address", .type = &bp_type_address, IN(bp_agg_rule, from), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Source address."},
	{.path = "aggregation.encapsulate[].source.udp_port", .type = &bp_type_uint, IN(bp_agg_rule, from_udp), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Source UDP port."},

	{.path = "aggregation.decapsulate", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_AGG_RULES_MAX, .list = &decapsulate_list, .preset_text = "none",
	 .help = "Aggregates to split into their messages. Of the entries of a port the first match wins. Messages that arrive outside an aggregate are forwarded normally."},
	{.path = "aggregation.decapsulate[].port", .type = &bp_type_port, IN(bp_disagg_rule, port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Port where the aggregates arrive. Restored messages are forwarded normally."},
	{.path = "aggregation.decapsulate[].to", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination of the aggregates, which is the destination of their messages."},
	{.path = "aggregation.decapsulate[].to.address", .type = &bp_type_hosts, IN(bp_disagg_rule, to.address), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Destination address or prefix."},
	{.path = "aggregation.decapsulate[].to.udp_port", .type = &bp_type_udp_ports, IN(bp_disagg_rule, to.udp_first), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = 65535,
	 .help = "Destination UDP port, or a range of ports."},
	{.path = "aggregation.decapsulate[].format", .type = &bp_type_enum, IN(bp_disagg_rule, format), .flags = BP_MAIN | BP_RELOAD, .enum_names = format_names, .preset = "full",
	 .help = "Format of the aggregates, as in the encapsulate entry of the remote gateway."},
	{.path = "aggregation.decapsulate[].allowed_senders", .type = &bp_type_host_list, IN(bp_disagg_rule, n_senders), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Addresses and prefixes that restored messages may have as their source. An aggregate with any other source is dropped and counted. Decapsulation reconstructs source addresses: this list prevents spoofing. With format lin2018 it is the aggregate's own source that is checked."},
	{.path = "aggregation.decapsulate[].pacing_gap", .type = &bp_type_duration, IN(bp_disagg_rule, gap_ns), .flags = BP_MAIN | BP_RELOAD, .min = 100, .max = S, .zero = "off", .preset = "off",
	 .help = "Minimum time between two messages of this entry at each worker. off: the messages of an aggregate are sent back to back."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_aggregation, rows);
