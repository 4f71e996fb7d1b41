/* SPDX-License-Identifier: BSD-3-Clause */
/* Section lcl: defaults, contradictions, and bounds that the ports cannot guarantee. */
#include "config/lcl/settings.h"
#include "config_test.h"

#define AT_WAN BRIDGED "lcl:\n  ports: [{port: b, link_rate: 25Gbps}]\n  flows:\n"
#define FLOW(name, rest)                                                                           \
	"    - {name: " name ", match: {port: a" rest                                              \
	", rate: 1Mbps, burst: 200, max_frame_size: 128}\n"
#define USUAL ", latency_budget: 15us, hops: 3"

/* The issue's own. */
#define EXAMPLE                                                                                    \
	"ports: [{name: devices, device: x}, {name: wan, device: y}]\n"                            \
	"bridges: [{name: bridge0, ports: [devices, wan]}]\n"                                      \
	"lcl:\n  ports:\n"                                                                         \
	"    - {port: wan, slot: 8us, queues: 4, link_rate: 25Gbps, trust_labels: false}\n"        \
	"  flows:\n"                                                                               \
	"    - {name: arm-3, match: {port: devices, destination: 10.1.0.9/32, udp_port: 7000}, "   \
	"latency_budget: "                                                                         \
	"15us, hops: 3, rate: 6Gbps, burst: 25000}\n"

static void the_example_is_kept(void **state)
{
	struct bp_config *c = accepted(EXAMPLE), *back = come_back(c);
	const struct bp_lcl_port *p = &bp_config_lcl(c)->port[0];
	const struct bp_lcl_flow *f = &bp_config_lcl(c)->rules.flow[0];
	struct bp_lcl_admitted a;

	assert_int_equal(p->queue_frames, 25000 / 84 + 1);
	assert_int_equal(p->handover, 1024);
	assert_int_equal(f->id, 1);
	assert_int_equal(f->out, 0);
	assert_int_equal(f->frame, 1508); /* of a port whose MTU the driver chooses */
	assert_true(f->peak_bps == 25000000000);
	assert_int_equal(f->match.vlan, BP_MATCH_ANY);
	assert_int_equal(f->match.pcp, BP_MATCH_ANY_PCP);
	assert_int_equal(f->match.dscp, BP_MATCH_ANY_DSCP);
	assert_int_equal(f->match.udp_first, 7000);
	assert_int_equal(f->match.udp_last, 7000);
	assert_memory_equal(&bp_config_lcl(c)->rules, &bp_config_lcl(back)->rules,
		sizeof(bp_config_lcl(c)->rules));
	bp_config_lcl_admit(c, &a);
	assert_int_equal(a.why, BP_LCL_KEPT);
	assert_int_equal(a.early_ns, -8000);
	bp_config_free(c);
	bp_config_free(back);
}

static void frames_are_as_long_as_port_and_burst_allow(void **state)
{
	struct bp_config *c =
		accepted("ports: [{name: a, device: x}, {name: b, device: y, mtu: 1500}]\nbridges: "
			 "[{name: h, ports: [a, b]}]\nlcl:\n  ports: [{port: b, link_rate: "
			 "25Gbps}]\n  flows:\n    - "
			 "{name: x, match: {port: a, udp_port: 1}, latency_budget: 15us, hops: 1, "
			 "rate: 1Mbps, burst: 2000}\n    - {name: y, match: {port: a, udp_port: "
			 "2}, latency_budget: 15us, hops: 1, rate: 1Mbps, burst: 500}\n");

	assert_int_equal(
		bp_config_lcl(c)->rules.flow[0].frame, 1508); /* 1500 and 22, with a label of 14 */
	assert_int_equal(bp_config_lcl(c)->rules.flow[1].frame, 462);
	assert_int_equal(bp_config_lcl(c)->rules.flow[1].id, 2);
	bp_config_free(c);
	says("ports: [{name: a, device: x}, {name: b, device: y, mtu: 1500}]\nbridges: [{name: h, "
	     "ports: [a, b]}]\nlcl:\n  ports: [{port: b, link_rate: 25Gbps}]\n  flows:\n    - "
	     "{name: x, match: "
	     "{port: a}, latency_budget: 15us, hops: 1, rate: 1Mbps, burst: 2000, max_frame_size: "
	     "1509}\n",
		"f.yaml:6:108: lcl.flows[0].max_frame_size: with the label of 14 bytes the frame "
		"exceeds the mtu of port 'b', 1500; expected at most 1508, or a larger mtu\n");
	says(AT_WAN "    - {name: x, match: {port: a}" USUAL
		    ", rate: 1Mbps, burst: 2000, max_frame_size: 1509}\n",
		"f.yaml:6:108: warning: lcl.flows[0].max_frame_size: port 'b' has no mtu in the "
		"file; with an mtu of 1500, frames of more than 1508 bytes cannot carry a label "
		"and are sent as best effort\n");
}

static void contradictions_are_reported(void **state)
{
	says(AT_WAN FLOW("x", "}" USUAL) FLOW("x", ", udp_port: 1}" USUAL),
		"f.yaml:7:14: lcl.flows[1].name: flow 'x' is named twice; expected a unique name "
		"(the other is on line 6)\n"
		"f.yaml:7:24: lcl.flows[1].match: lcl.flows[0] on line 6 already matches all of "
		"these frames; expected this entry before that one, or other conditions\n");
	says(AT_WAN FLOW("x", ", udp_port: 1}" USUAL ", id: 2") FLOW("y", ", udp_port: 2}" USUAL),
		"f.yaml:7:7: lcl.flows[1].id: lcl.flows[0] has id 2, too; expected a unique id\n");
	says(AT_WAN FLOW("x", ", udp_port: 1, tcp_port: 2}" USUAL),
		"f.yaml:6:57: lcl.flows[0].match.tcp_port: no frame has both udp_port and "
		"tcp_port; expected one of them, or two entries\n");
	says(AT_WAN FLOW("x", ", ethertype: 0x8892, dscp: 46}" USUAL),
		"f.yaml:6:45: lcl.flows[0].match.ethertype: 0x8892 is not IP, and other conditions "
		"match IP; expected 0x0800, 0x86dd or any\n");
	says(AT_WAN FLOW("x", ", source: \"fd00::/8\", destination: 10.0.0.1}" USUAL),
		"f.yaml:6:42: lcl.flows[0].match.source: other conditions match IPv4; expected an "
		"IPv4 address\n");
	says(AT_WAN FLOW("x", ", ethertype: 0x86dd, destination: 10.0.0.1}" USUAL),
		"f.yaml:6:66: lcl.flows[0].match.destination: other conditions match IPv6; "
		"expected an IPv6 address\n");
	says(AT_WAN FLOW("x", ", vlan: none, pcp: 6}" USUAL),
		"f.yaml:6:51: lcl.flows[0].match.pcp: a frame without a VLAN tag has no priority; "
		"expected another vlan than none, or no pcp\n");
}

static void ports_are_to_be_known(void **state)
{
	says(BRIDGED "lcl:\n  flows:\n" FLOW("x", "}" USUAL),
		"f.yaml:5:7: lcl.flows[0]: lcl.ports is empty; expected the flow's output port in "
		"lcl.ports\n");
	says(BRIDGED "lcl:\n  ports: [{port: a, link_rate: 1Gbps}, {port: b, link_rate: 1Gbps}]\n  "
		     "flows:\n" FLOW("x", "}" USUAL),
		"f.yaml:6:7: lcl.flows[0] has no 'output_port'; expected one of the 2 ports in "
		"lcl.ports\n");
	says(BRIDGED "lcl:\n  ports: [{port: b, link_rate: 1Gbps}, {port: b, link_rate: 1Gbps}]\n",
		"f.yaml:4:47: lcl.ports[1].port: port 'b' is in lcl.ports[0] already; expected "
		"each port once\n");
	says(BRIDGED
		"lcl:\n  max_flows: 1\n  ports: [{port: b, link_rate: 25Gbps}]\n  flows:\n" FLOW(
			"x", ", udp_port: 1}" USUAL) FLOW("y", ", udp_port: 2}" USUAL),
		"f.yaml:4:14: warning: lcl.max_flows: 2 flows are given, and some have no "
		"statistics of their own; expected at least that number\n");
}

#define BIG(name, udp, rest)                                                                       \
	"    - {name: " name ", match: {port: a, udp_port: " udp "}, " rest "}\n"

static void unsatisfiable_bound_is_reported_with_its_value(void **state)
{
	says(AT_WAN BIG("x", "1", "latency_budget: 15us, hops: 1, rate: 20Gbps, burst: 200")
			BIG("y", "2", "latency_budget: 15us, hops: 1, rate: 6Gbps, burst: 200"),
		"f.yaml:7:85: lcl.flows[1] 'y': with 'y' and the flows before it, the average rate "
		"of all flows is 26000000000 bps, and port 'b' has 25000000000 bps; expected lower "
		"rates\n");
	says(AT_WAN BIG("x", "1", "latency_budget: 40us, hops: 1, rate: 1Gbps, burst: 200"),
		"f.yaml:6:64: lcl.flows[0] 'x': at hop 1 its frames can need 6 queues of 8000 ns, "
		"and port 'b' has 4; expected a smaller latency_budget, more queues, or a longer "
		"slot\n");
	says(AT_WAN BIG("x", "1",
		     "latency_budget: 16us, hops: 1, rate: 3Gbps, peak_rate: 100Gbps, burst: "
		     "12500, max_frame_size: 128") BIG("y", "2",
		     "latency_budget: 16us, hops: 1, rate: 3Gbps, peak_rate: 100Gbps, burst: "
		     "12500, max_frame_size: 128"),
		"f.yaml:6:119: lcl.flows[0] 'x': with 'y' and the flows before it, a slot of 8000 "
		"ns of port 'b' can receive 31000 bytes at hop 1, and holds 25000; expected "
		"smaller bursts, more queues, fewer hops, or a longer slot\n");
}

#define RUNS AT_WAN FLOW("x", ", udp_port: 1}" USUAL)

static void flows_are_reloaded_and_ports_are_not(void **state)
{
	needs(RUNS, AT_WAN FLOW("y", ", udp_port: 2}" USUAL) FLOW("x", ", udp_port: 1}" USUAL), "");
	needs(RUNS, AT_WAN, "");
	needs(RUNS, BRIDGED, "lcl.ports: changing it needs a restart\n");
	needs(BRIDGED, RUNS, "lcl.ports: changing it needs a restart\n");
	needs(RUNS,
		BRIDGED "lcl:\n  ethertype: 0x88b6\n  max_flows: 9\n  ports: [{port: b, link_rate: "
			"10Gbps, slot: 9us}]\n",
		"lcl.ethertype: changing it needs a restart\nlcl.max_flows: changing it needs a "
		"restart\nlcl.ports[0].slot: changing it needs a restart\nlcl.ports[0].link_rate: "
		"changing it needs a restart\nlcl.ports[0].slot_queue_len: changing it needs a "
		"restart\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_is_kept),
		cmocka_unit_test(frames_are_as_long_as_port_and_burst_allow),
		cmocka_unit_test(contradictions_are_reported),
		cmocka_unit_test(ports_are_to_be_known),
		cmocka_unit_test(unsatisfiable_bound_is_reported_with_its_value),
		cmocka_unit_test(flows_are_reloaded_and_ports_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
