/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/schema_rows.h"
#include "config/lcl/schema.h"

#define AT(member_) IN(bp_config_lcl, member_)

/* The rows of section lcl. */

static const struct bp_list_layout port_list = {
	.element = sizeof(struct bp_lcl_port),
	.items = offsetof(struct bp_config_lcl, port),
	.count = offsetof(struct bp_config_lcl, n_ports),
};
static const struct bp_list_layout flow_list = {
	.element = sizeof(struct bp_lcl_flow),
	.items = offsetof(struct bp_config_lcl, rules.flow),
	.count = offsetof(struct bp_config_lcl, rules.n_flows),
};

#define MBPS 1000000ull
#define TBPS 1000000000000ull

#define HAS(what_, member_)                                                                        \
	static bool has_##what_(const void *flow)                                                  \
	{                                                                                          \
		return ((const struct bp_lcl_flow *)flow)->match.member_ != 0;                     \
	}
HAS(source, source.family)
HAS(destination, destination.family)
HAS(udp, udp_last)
HAS(tcp, tcp_last)

/* clang-format off */
static const struct bp_setting rows[] = {
	{.path = "lcl", .type = &bp_type_section, .done = bp_check_lcl,
	 .help = "LCL scheduling of time-sensitive flows: their frames carry a label with the remaining queueing delay and the remaining number of nodes. Each node delays a frame by its share, so that the end-to-end queueing delay stays within latency_budget plus or minus one slot. docs/explanation/lcl.md explains how to choose these settings. Without this section no frame is labelled or scheduled."},
	{.path = "lcl.ethertype", .type = &bp_type_ethertype, AT(ethertype), .min = 0x600, .max = 0xffff, .preset = "0x88b5",
	 .help = "EtherType of the label, the same on all nodes. The default is an EtherType that IEEE 802 reserves for local experiments."},
	{.path = "lcl.max_flows", .type = &bp_type_uint, AT(max_flows), .min = 1, .max = 65535, .preset = "256",
	 .help = "Maximum number of flows with statistics of their own on each port, including flows that were labelled by another node. Further flows are scheduled in the same way and share one set of statistics."},
	{.path = "lcl.ports", .type = &bp_type_list, .max = BP_MAX_PORTS, .list = &port_list, .preset_text = "none",
	 .help = "Ports whose output is scheduled, and ports whose labels are trusted."},
	{.path = "lcl.ports[].port", .type = &bp_type_port, IN(bp_lcl_port, port), .flags = BP_REQUIRED,
	 .help = "Port; each port is allowed once."},
	{.path = "lcl.ports[].slot", .type = &bp_type_duration, .flags = BP_MAIN, IN(bp_lcl_port, tau_ns), .min = US, .max = 10 * MS, .preset = "8us",
	 .help = "Time slot of each slot queue (tau), and the maximum deviation of a frame's delay from its flow's latency_budget. All nodes of a path should use the same value."},
	{.path = "lcl.ports[].queues", .type = &bp_type_uint, .flags = BP_MAIN, IN(bp_lcl_port, queues), .min = 2, .max = BP_LCL_QUEUES_MAX, .preset = "4",
	 .help = "Number of slot queues. A node can delay a frame by at most queues minus one slots."},
	{.path = "lcl.ports[].link_rate", .type = &bp_type_rate, IN(bp_lcl_port, rate_bps), .flags = BP_REQUIRED, .min = MBPS, .max = TBPS,
	 .help = "Link rate."},
	{.path = "lcl.ports[].trust_labels", .type = &bp_type_bool, .flags = BP_MAIN, IN(bp_lcl_port, trust), .preset = "false",
	 .help = "Whether labels of frames received on this port are used. Set it only on ports whose peer is an LCL node. On other ports, and on ports that are not in this list, labels are removed and counted."},
	{.path = "lcl.ports[].guard_time", .type = &bp_type_duration, .flags = BP_MAIN, IN(bp_lcl_port, guard_ns), .min = 1, .max = MS, .zero = "off", .preset = "off",
	 .help = "Time without best-effort transmissions before a slot with frames, in addition to the transmission time of the longest best-effort frame. Increase it where the device sends late."},
	{.path = "lcl.ports[].slot_queue_len", .type = &bp_type_uint, IN(bp_lcl_port, queue_frames), .min = 16, .max = 65536, .zero = "auto", .preset = "auto",
	 .help = "Depth of each slot queue, frames. auto is the number of minimum-size frames that fit in a slot, from 16 to 65536."},
	{.path = "lcl.ports[].best_effort_queue_len", .type = &bp_type_uint, IN(bp_lcl_port, best_effort), .min = 16, .max = 65536, .preset = "1024",
	 .help = "Depth of the queue of all other traffic, frames. When it is full, frames are dropped and counted."},
	{.path = "lcl.ports[].handover_queue_len", .type = &bp_type_uint, IN(bp_lcl_port, handover), .min = 64, .max = 65536, .preset = "1024",
	 .help = "Depth of the queue from other workers to the worker that schedules the port, frames, rounded up to a power of two. When it is full, frames are dropped and counted."},

	{.path = "lcl.flows", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_LCL_FLOWS_MAX, .list = &flow_list, .preset_text = "none",
	 .help = "Flows that are labelled on this node. First match wins among the entries of the frame's output port. A configuration whose rates and bursts the ports cannot guarantee is refused; biplane config check prints the resulting delays."},
	{.path = "lcl.flows[].name", .type = &bp_type_name, IN(bp_lcl_flow, name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "Name of the flow in messages and statistics, unique."},
	{.path = "lcl.flows[].match", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Frames of the flow: those that meet all given conditions. A frame that a router or a service changes is matched as it is sent."},
	{.path = "lcl.flows[].match.port", .type = &bp_type_port, IN(bp_lcl_flow, match.port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Input port."},
	{.path = "lcl.flows[].match.source", .type = &bp_type_any_hosts, IN(bp_lcl_flow, match.source), .flags = BP_RELOAD, .present = has_source, .preset_text = "any",
	 .help = "Source address or prefix."},
	{.path = "lcl.flows[].match.destination", .type = &bp_type_any_hosts, IN(bp_lcl_flow, match.destination), .flags = BP_RELOAD, .present = has_destination, .preset_text = "any",
	 .help = "Destination address or prefix."},
	{.path = "lcl.flows[].match.udp_port", .type = &bp_type_udp_ports, IN(bp_lcl_flow, match.udp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_udp, .preset_text = "any",
	 .help = "Destination UDP port, or a range."},
	{.path = "lcl.flows[].match.tcp_port", .type = &bp_type_tcp_range, IN(bp_lcl_flow, match.tcp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_tcp, .preset_text = "any",
	 .help = "Destination TCP port, or a range."},
	{.path = "lcl.flows[].match.ethertype", .type = &bp_type_ethertype, IN(bp_lcl_flow, match.ethertype), .flags = BP_RELOAD | BP_OR_ZERO, .min = 0x600, .max = 0xffff, .preset = "any",
	 .help = "EtherType behind VLAN tags."},
	{.path = "lcl.flows[].match.vlan", .type = &bp_type_vlan, IN(bp_lcl_flow, match.vlan), .flags = BP_RELOAD, .min = 1, .max = 4094, .preset = "any",
	 .help = "VLAN identifier of the outer tag."},
	{.path = "lcl.flows[].match.pcp", .type = &bp_type_any_or, IN(bp_lcl_flow, match.pcp), .flags = BP_RELOAD, .max = 7, .preset = "any",
	 .help = "Priority (PCP) of the outer tag."},
	{.path = "lcl.flows[].match.dscp", .type = &bp_type_any_or, IN(bp_lcl_flow, match.dscp), .flags = BP_RELOAD, .max = 63, .preset = "any",
	 .help = "DSCP of the IP header."},
	{.path = "lcl.flows[].latency_budget", .type = &bp_type_duration, IN(bp_lcl_flow, budget_ns), .flags = BP_REQUIRED | BP_RELOAD, .min = US, .max = BP_LCL_DELAY_MAX_NS,
	 .help = "Queueing delay of the flow's frames in all nodes together (d0), plus or minus one slot. Propagation and processing delays are added to it."},
	{.path = "lcl.flows[].hops", .type = &bp_type_uint, IN(bp_lcl_flow, hops), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = BP_LCL_HOPS_MAX,
	 .help = "Number of LCL nodes on the path, this node included (n0). The last node removes the label."},
	{.path = "lcl.flows[].rate", .type = &bp_type_rate, IN(bp_lcl_flow, rate_bps), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = TBPS,
	 .help = "Maximum average rate on the link; each frame counts with 38 bytes for label, checksum, preamble and gap."},
	{.path = "lcl.flows[].burst", .type = &bp_type_size, IN(bp_lcl_flow, burst), .flags = BP_REQUIRED | BP_RELOAD, .min = 84, .max = GIB,
	 .help = "Maximum burst, counted like rate: in any time t the flow sends at most burst + rate t."},
	{.path = "lcl.flows[].peak_rate", .type = &bp_type_rate, IN(bp_lcl_flow, peak_bps), .flags = BP_RELOAD, .min = 1, .max = TBPS, .preset_text = "link_rate of the output port",
	 .help = "Maximum rate within a burst: the link rate of the source."},
	{.path = "lcl.flows[].max_frame_size", .type = &bp_type_uint, IN(bp_lcl_flow, frame), .flags = BP_RELOAD, .min = 46, .max = 65535, .preset_text = "1518, or less where burst or the port's mtu allow no more",
	 .help = "Maximum size of the flow's Ethernet frames, without checksum and label, bytes."},
	{.path = "lcl.flows[].id", .type = &bp_type_uint, IN(bp_lcl_flow, id), .flags = BP_RELOAD, .min = 1, .max = 65535, .preset_text = "its position in the list, counted from 1",
	 .help = "Flow identifier in the label. It must be unique in the file and in the network. Set it where entries may be reordered: statistics and sequence numbers belong to the identifier."},
	{.path = "lcl.flows[].output_port", .type = &bp_type_lcl_out, IN(bp_lcl_flow, out), .flags = BP_RELOAD, .preset_text = "the only port of lcl.ports; required where there are several",
	 .help = "Output port. Frames that leave by another port do not belong to the flow."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_lcl, rows);
