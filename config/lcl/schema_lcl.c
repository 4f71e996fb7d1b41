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
	 .help = "LCL scheduling: frames of time-sensitive flows carry a label that says how long they may still wait, and for how many nodes, and each node makes them wait their share, so that their delay end to end lies within a turn (tau) of the flow's budget. docs/lcl.md tells how to choose what is here. Without this section nothing is labelled or scheduled."},
	{.path = "lcl.ethertype", .type = &bp_type_ethertype, AT(ethertype), .min = 0x600, .max = 0xffff, .preset = "0x88b5",
	 .help = "EtherType of the label, the same at all nodes. The default is one that IEEE 802 leaves to local experiments."},
	{.path = "lcl.limit", .type = &bp_type_uint, AT(limit), .min = 1, .max = 65535, .preset = "256",
	 .help = "Flows that each port keeps figures of, those that only pass through it too. Others are scheduled all the same, and have their figures together."},
	{.path = "lcl.ports", .type = &bp_type_list, .max = BP_MAX_PORTS, .list = &port_list, .preset_note = "none",
	 .help = "Ports whose output is scheduled, all of it. One whose labels are to be followed stands here, too."},
	{.path = "lcl.ports[].port", .type = &bp_type_port, IN(bp_lcl_port, port), .flags = BP_REQUIRED,
	 .help = "The port; each stands once in this list."},
	{.path = "lcl.ports[].tau", .type = &bp_type_duration, IN(bp_lcl_port, tau_ns), .min = US, .max = 10 * MS, .preset = "8us",
	 .help = "How long each of its time-sensitive queues has its turn, and how far a frame's delay may be from its flow's budget, either way. All nodes on the way should have the same."},
	{.path = "lcl.ports[].queues", .type = &bp_type_uint, IN(bp_lcl_port, queues), .min = 2, .max = BP_LCL_QUEUES_MAX, .preset = "4",
	 .help = "Its time-sensitive queues. A frame can wait for at most one turn less than there are queues."},
	{.path = "lcl.ports[].rate", .type = &bp_type_rate, IN(bp_lcl_port, rate_bps), .flags = BP_REQUIRED, .min = MBPS, .max = TBPS,
	 .help = "Of its wire."},
	{.path = "lcl.ports[].trust", .type = &bp_type_bool, IN(bp_lcl_port, trust), .preset = "false",
	 .help = "Whether labels of frames that come in on it are followed. Give true only where the far end is a node that labels; on other ports, and on those that aren't in this list, labels are taken off and counted."},
	{.path = "lcl.ports[].guard", .type = &bp_type_duration, IN(bp_lcl_port, guard_ns), .flags = BP_OR_ZERO, .min = 1, .max = MS, .preset = "0",
	 .help = "Time that best effort leaves free before a turn that needs the wire, beside what its longest frame takes: more of it where the device sends late."},
	{.path = "lcl.ports[].queue_frames", .type = &bp_type_uint, IN(bp_lcl_port, queue_frames), .min = 16, .max = 65536, .preset_note = "as many of the shortest frames as a turn can send, from 16 to 65536",
	 .help = "Places of each time-sensitive queue."},
	{.path = "lcl.ports[].best_effort", .type = &bp_type_uint, IN(bp_lcl_port, best_effort), .min = 16, .max = 65536, .preset = "1024",
	 .help = "Places of the queue for everything else; what comes when it is full is dropped and counted."},
	{.path = "lcl.ports[].handover", .type = &bp_type_uint, IN(bp_lcl_port, handover), .min = 64, .max = 65536, .preset = "1024",
	 .help = "Frames on their way from other workers to the one that schedules the port, rounded up to a power of two; more are dropped and counted."},

	{.path = "lcl.flows", .type = &bp_type_list, .flags = BP_RELOAD, .max = BP_LCL_FLOWS_MAX, .list = &flow_list, .preset_note = "none",
	 .help = "Flows that get their label here. Of the entries whose port a frame leaves by, the first that it matches is for it. With these rates and bursts the ports must be able to keep their promise, or the file is refused; biplane config check shows what follows."},
	{.path = "lcl.flows[].name", .type = &bp_type_name, IN(bp_lcl_flow, name), .flags = BP_REQUIRED | BP_RELOAD, .min = 1,
	 .help = "What this file and the figures call it; unique."},
	{.path = "lcl.flows[].match", .type = &bp_type_section, .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "Which frames are of it: those that meet all that is given. A frame that a router or a service changes is looked at as it leaves."},
	{.path = "lcl.flows[].match.port", .type = &bp_type_port, IN(bp_lcl_flow, match.port), .flags = BP_REQUIRED | BP_RELOAD,
	 .help = "The port that they come in on."},
	{.path = "lcl.flows[].match.source", .type = &bp_type_any_hosts, IN(bp_lcl_flow, match.source), .flags = BP_RELOAD, .present = has_source, .preset_note = "any",
	 .help = "Source address, or a prefix of several."},
	{.path = "lcl.flows[].match.destination", .type = &bp_type_any_hosts, IN(bp_lcl_flow, match.destination), .flags = BP_RELOAD, .present = has_destination, .preset_note = "any",
	 .help = "Destination address, or a prefix of several."},
	{.path = "lcl.flows[].match.udp", .type = &bp_type_udp_ports, IN(bp_lcl_flow, match.udp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_udp, .preset_note = "any",
	 .help = "Destination UDP port, or a range of several."},
	{.path = "lcl.flows[].match.tcp", .type = &bp_type_tcp_range, IN(bp_lcl_flow, match.tcp_first), .flags = BP_RELOAD, .min = 1, .max = 65535, .present = has_tcp, .preset_note = "any",
	 .help = "Destination TCP port, or a range of several."},
	{.path = "lcl.flows[].match.ethertype", .type = &bp_type_ethertype, IN(bp_lcl_flow, match.ethertype), .flags = BP_RELOAD | BP_OR_ZERO, .min = 0x600, .max = 0xffff, .preset = "any",
	 .help = "EtherType behind VLAN tags."},
	{.path = "lcl.flows[].match.vlan", .type = &bp_type_vlan, IN(bp_lcl_flow, match.vlan), .flags = BP_RELOAD, .min = 1, .max = 4094, .preset = "any",
	 .help = "VLAN of the outer tag."},
	{.path = "lcl.flows[].match.pcp", .type = &bp_type_any_or, IN(bp_lcl_flow, match.pcp), .flags = BP_RELOAD, .max = 7, .preset = "any",
	 .help = "Priority (PCP) of the outer tag."},
	{.path = "lcl.flows[].match.dscp", .type = &bp_type_any_or, IN(bp_lcl_flow, match.dscp), .flags = BP_RELOAD, .max = 63, .preset = "any",
	 .help = "DSCP of the IP header."},
	{.path = "lcl.flows[].budget", .type = &bp_type_duration, IN(bp_lcl_flow, budget_ns), .flags = BP_REQUIRED | BP_RELOAD, .min = US, .max = BP_LCL_DELAY_MAX_NS,
	 .help = "What its frames are to wait in all nodes together (d0): each waits so long, but for tau either way. What wires and the nodes' other work take comes on top."},
	{.path = "lcl.flows[].hops", .type = &bp_type_uint, IN(bp_lcl_flow, hops), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = BP_LCL_HOPS_MAX,
	 .help = "LCL nodes on its way, this one too (n0); the last one takes the label off."},
	{.path = "lcl.flows[].rate", .type = &bp_type_rate, IN(bp_lcl_flow, rate_bps), .flags = BP_REQUIRED | BP_RELOAD, .min = 1, .max = TBPS,
	 .help = "What it sends on the average at most, counted on the wire: each frame with 38 octets for label, checksum, preamble and gap."},
	{.path = "lcl.flows[].burst", .type = &bp_type_size, IN(bp_lcl_flow, burst), .flags = BP_REQUIRED | BP_RELOAD, .min = 84, .max = GIB,
	 .help = "Octets that it may send at once, counted like rate: in any time t it sends no more than burst + rate t."},
	{.path = "lcl.flows[].peak", .type = &bp_type_rate, IN(bp_lcl_flow, peak_bps), .flags = BP_RELOAD, .min = 1, .max = TBPS, .preset_note = "the rate of the port that it leaves by",
	 .help = "How fast a burst comes at most: the rate of its source's link."},
	{.path = "lcl.flows[].frame", .type = &bp_type_uint, IN(bp_lcl_flow, frame), .flags = BP_RELOAD, .min = 46, .max = 65535, .preset_note = "1518, or less where burst or the port's mtu allow no more",
	 .help = "Octets of its longest Ethernet frame, without checksum and label."},
	{.path = "lcl.flows[].id", .type = &bp_type_uint, IN(bp_lcl_flow, id), .flags = BP_RELOAD, .min = 1, .max = 65535, .preset_note = "its place in the list, counted from 1",
	 .help = "Its number in the label; unique in the file, and to be so in the network. Give one where entries may be moved: figures and sequence numbers go by it."},
	{.path = "lcl.flows[].out", .type = &bp_type_lcl_out, IN(bp_lcl_flow, out), .flags = BP_RELOAD, .preset_note = "the only port of lcl.ports; must be given where there are several",
	 .help = "The port that it leaves by; frames that leave by another are not of it."},
};
/* clang-format on */

BP_SCHEMA_PART(bp_schema_lcl, rows);
