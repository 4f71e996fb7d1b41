/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LCL scheduling together with the rest of the gateway: services that terminate or change frames,
 * routing, frames of the kernel, bridges. A new frame must not keep the label of its input frame.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/lcl.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#define LCL_A_AND_B LCL_PORTS_BEGIN LCL_PORT("a", ", trust_labels: true") LCL_PORT("b", "")
#define FLOW(match_)                                                                               \
	"  flows:\n"                                                                               \
	"    - {name: arm, match: {" match_ "}, latency_budget: 25us, hops: 2, rate: 100Mbps, "    \
	"burst: 4000, id: 7, output_port: b}\n"
#define AGGREGATE                                                                                  \
	"aggregation:\n  encapsulate:\n  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, "    \
	"max_messages: 4}\n"
#define DISAGGREGATE                                                                               \
	"  decapsulate:\n  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: " \
	"[10.0.0.0/24], pacing_gap: off}\n"
#define MESSAGES 4u

static const struct label in_3 = {.d = 30000, .n = 3, .flow = 9, .sequence = 77};
/* of that, which leaves a slot after it came */
static const struct label out_3 = {.d = 20000, .n = 2, .flow = 9, .sequence = 77};

static uint64_t best_effort(const struct rig *r, unsigned port)
{
	return atomic_load(&r->shm.lcl.ports[bp_lcl_of(r->worker)->of[port]->index].best_effort);
}

/* ---- aggregation ---- */

static void put_messages(struct rig *r)
{
	struct label l = in_3;
	uint8_t f[UDP_FRAME_MAX];

	for (unsigned i = 0; i < MESSAGES; i++, l.sequence++) {
		const struct udp u = agg_message(i);

		lcl_put(r, A, f, agg_frame(&u, f), &l);
	}
}

/* The frame that left by b next loses this label, so that it can be read as others are. */
static void unlabel(struct rig *r, const struct label *l)
{
	struct rte_mbuf *m = bp_ring_ports_take(&r->ports, B);
	uint8_t plain[16] = {0}, labelled[16 + LCL_LABEL], *f;

	assert_non_null(m);
	f = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(plain, f, 12);
	lcl_frame(plain, 12, l, labelled);
	assert_memory_equal(f, labelled, 12 + LCL_LABEL);
	memmove(f + LCL_LABEL, f, 12);
	assert_non_null(rte_pktmbuf_adj(m, LCL_LABEL));
	assert_int_equal(rte_ring_count(r->ports.out[B]), 0);
	assert_int_equal(rte_ring_enqueue(r->ports.out[B], m), 0);
}

/* Messages are aggregated as if they had no labels, which end; an aggregate has none but its own.
 */
static void labelled_messages_are_aggregated(void **state)
{
	struct rig r;

	rig_start(&r, AGG_PORTS AGGREGATE LCL_A_AND_B, false, false);
	for (unsigned round = 1; round <= 3; round++) {
		put_messages(&r);
		rig_walk(&r);
		agg_take_of(&r, B, NULL, 0, MESSAGES);
		assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), round * MESSAGES);
		assert_int_equal(best_effort(&r, B), round);
		lcl_pass(&r, LCL_TAU);
	}
	rig_stop(&r);
	rig_start(
		&r, AGG_PORTS AGGREGATE LCL_A_AND_B FLOW("port: a, udp_port: 5555"), false, false);
	for (uint32_t round = 0; round < 3; round++) {
		put_messages(&r);
		rig_walk(&r);
		lcl_pass(&r, LCL_TAU - 1);
		rig_expect_none(&r, B);
		lcl_pass(&r, 1);
		unlabel(&r, &(struct label){.d = 15000, .n = 1, .flow = 7, .sequence = round});
		agg_take_of(&r, B, NULL, 0, MESSAGES);
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), 3 * MESSAGES);
	assert_int_equal(rig_counter(&r, BP_C_LCL_ADDED), 3);
	rig_stop(&r);
}

/* Frames without a matching entry keep their label; some frames of a burst match. */
static void others_than_messages_keep_labels(void **state)
{
	struct udp other = agg_message(0);
	uint8_t f[UDP_FRAME_MAX];
	struct rig r;

	other.dport = 5556;
	rig_start(&r, AGG_PORTS AGGREGATE LCL_A_AND_B, false, false);
	lcl_put(&r, A, f, agg_frame(&other, f), &in_3);
	put_messages(&r);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, MESSAGES);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, f, agg_frame(&other, f), &out_3);
	assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), MESSAGES);
	rig_stop(&r);
}

static void labelled_aggregate_is_decapsulated(void **state)
{
	struct agg_seen s;
	struct rig r;

	rig_start(&r,
		AGG_PORTS AGGREGATE DISAGGREGATE LCL_PORTS_BEGIN LCL_PORT("a", "")
			LCL_PORT("b", ", trust_labels: true"),
		false, false);
	agg_put(&r, A, 0, MESSAGES);
	rig_walk(&r);
	agg_take_of(&r, B, &s, 0, MESSAGES);
	lcl_put(&r, B, s.frame, s.len, &in_3);
	rig_walk(&r);
	lcl_pass(&r, 2000); /* the wire, modelled */
	agg_expect(&r, A, 0, MESSAGES);
	assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), 1);
	assert_int_equal(best_effort(&r, A), MESSAGES);
	rig_stop(&r);
}

/* ---- transformation ---- */

static void start_transform(
	struct xrig *x, const struct bp_transform_receiver *to, unsigned receivers)
{
	const struct bp_transform_rule rule = x_rule(A, 10000);

	memset(&x->file, 0, sizeof(x->file));
	x_add_rule(&x->file, &rule);
	x_add_source(&x->file, "10.0.0.5/32", to, receivers);
	x_start(x, X_WIRE LCL_A_AND_B, false);
}

static void put_reading(struct xrig *x, unsigned i, const struct label *l)
{
	const struct udp u = x_reading(i);
	uint8_t f[UDP_FRAME_MAX];

	lcl_put(&x->r, A, f, agg_frame(&u, f), l);
}

/* A result is the reading, moved on: it keeps its label. One for a further receiver is another
 * frame, since no two may have one sequence number. */
static void a_result_keeps_its_readings_label(void **state)
{
	const struct bp_transform_receiver to[2] = {
		x_receiver("10.1.0.9", 20000, 0.5), x_receiver("10.1.0.8", 20001, 1)};
	uint8_t f[UDP_FRAME_MAX];
	struct xrig x;
	struct udp u;

	for (unsigned receivers = 1; receivers <= 2; receivers++) {
		start_transform(&x, to, receivers);
		put_reading(&x, 0, &in_3);
		rig_walk(&x.r);
		if (receivers == 2) {
			u = x_result(0, &to[1]);
			agg_expect_udp(&x.r, B, &u);
		}
		rig_expect_none(&x.r, B);
		lcl_pass(&x.r, LCL_TAU);
		u = x_result(0, &to[0]);
		lcl_expect(&x.r, B, f, agg_frame(&u, f), &out_3);
		rig_expect_none(&x.r, B);
		assert_int_equal(best_effort(&x.r, B), receivers - 1);
		assert_int_equal(rig_counter(&x.r, BP_C_LCL_TERMINATED), 0);
		x_stop(&x);
	}
}

/* An answer goes the other way: it is no frame of the reading's flow. */
static void an_answer_has_no_label(void **state)
{
	struct bp_transform_receiver to[2] = {
		x_receiver(NULL, 0, 0.5), x_receiver("10.1.0.9", 20000, 1)};
	struct xrig x;
	struct udp u;

	to[0].flags |= BP_TRANSFORM_REFLECT;
	for (unsigned receivers = 1; receivers <= 2; receivers++) {
		start_transform(&x, to, receivers);
		put_reading(&x, 1, &in_3);
		rig_walk(&x.r);
		u = x_result(1, &to[0]);
		agg_expect_udp(&x.r, A, &u);
		if (receivers == 2) {
			u = x_result(1, &to[1]);
			agg_expect_udp(&x.r, B, &u);
		}
		assert_int_equal(rig_counter(&x.r, BP_C_LCL_TERMINATED), 1);
		assert_int_equal(best_effort(&x.r, A), 1);
		rig_expect_none(&x.r, B);
		x_stop(&x);
	}
}

/* ---- inspection ---- */

/* A label is not in the way of who reads TCP, and stays. */
static void labelled_segments_are_inspected(void **state)
{
	static const uint8_t tcp[] = {0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0,
		0, 0x28, 0, 1, 0, 0, 0x40, 0x06, 0x66, 0xcd, 0x0a, 0, 0, 1, 0x0a, 0, 0, 2, 0x9c,
		0x40, 0x07, 0x5b, 0, 0, 0, 0x64, 0, 0, 0, 0, 0x50, 0x02, 0x20, 0, 0xd7, 0xe0, 0, 0};
	struct rig r;

	rig_start(&r, AGG_PORTS "mqtt:\n  publisher: {broker: \"mqtt://127.0.0.1\"}\n" LCL_A_AND_B,
		false, false);
	lcl_put(&r, A, tcp, sizeof(tcp), &in_3);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_SEG_INSPECTED), 1);
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_HEADER), 0);
	assert_int_equal(rig_counter(&r, BP_C_CONN_OPENED), 1);
	lcl_pass(&r, LCL_TAU);
	lcl_expect(&r, B, tcp, sizeof(tcp), &out_3);
	rig_stop(&r);
}

/* ---- routing ---- */

#define LCL_ROUTER                                                                                 \
	ROUTER LCL_A_AND_B LCL_PORT("c", ", trust_labels: true")                                   \
		FLOW("port: a, destination: 10.9.1.1/32, udp_port: 5000")

static void a_label_is_kept_over_routing(void **state)
{
	const struct packet p[2] = {ip4("10.2.0.2", 64, 46), ip6("fd02::2", 64, 26)};
	struct rig r;

	start_with(&r, LCL_ROUTER);
	for (unsigned i = 0; i < 2; i++) {
		const struct packet want = forwarded(p[i], B, host_b);

		lcl_put(&r, A, p[i].bytes, p[i].len, &in_3);
		rig_walk(&r);
		rig_expect_none(&r, B);
		lcl_pass(&r, LCL_TAU);
		lcl_expect(&r, B, want.bytes, want.len, &out_3);
	}
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP4), 1);
	assert_int_equal(rig_counter(&r, BP_C_FORWARDED_IP6), 1);
	rig_stop(&r);
}

/* An entry of lcl.flows finds routed packets by where they came in, too. */
static void a_routed_flow_gets_its_label(void **state)
{
	const struct packet p = ip4("10.9.1.1", 64, 46), other = ip4("10.9.1.2", 64, 46),
			    six = ip6("fd02::2", 64, 26);
	struct packet want = forwarded(p, B, host_b);
	struct rig r;

	start_with(&r, LCL_ROUTER);
	rig_put(&r, A, p.bytes, p.len);
	rig_put(&r, A, other.bytes, other.len);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	want = forwarded(other, B, host_b);
	rig_expect(&r, B, want.bytes, want.len);
	want = forwarded(p, B, host_b);
	lcl_expect(&r, B, want.bytes, want.len, &(struct label){.d = 15000, .n = 1, .flow = 7});
	rig_stop(&r);
	start_with(&r, ROUTER LCL_A_AND_B FLOW("port: a, ethertype: 0x86dd"));
	rig_put(&r, A, six.bytes, six.len);
	rig_walk(&r);
	lcl_pass(&r, LCL_TAU);
	want = forwarded(six, B, host_b);
	lcl_expect(&r, B, want.bytes, want.len, &(struct label){.d = 15000, .n = 1, .flow = 7});
	rig_stop(&r);
}

#define SUB_FLAGS (BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER)
#define SUB_FLOW(port_) ROUTER LCL_A_AND_B FLOW("port: " port_ ", destination: 10.5.0.0/24")
static const uint8_t host_v[6] = {0x02, 0, 0, 0, 0, 0xd2};
static const struct label fresh = {.d = 15000, .n = 1, .flow = 7};

/* `in` arrives on port a and leaves by b as `want`, with this label (NULL: none). */
static void leaves(struct rig *r, struct packet in, struct packet want, const struct label *with)
{
	rig_put(r, A, in.bytes, in.len);
	rig_walk(r);
	if (with == NULL) {
		rig_expect(r, B, want.bytes, want.len);
		return;
	}
	rig_expect_none(r, B);
	lcl_pass(r, LCL_TAU);
	lcl_expect(r, B, want.bytes, want.len, with);
}

/* Subinterfaces a.100 and b.200, with 10.5.0.0/24 and fd05::/64 behind the latter. */
static void start_with_subinterfaces(struct rig *r, const char *yaml)
{
	start_with(r, yaml);
	set_sub(r, BP_MAX_INTERFACES, A, 100, SUB_FLAGS);
	set_sub(r, BP_MAX_INTERFACES + 1, B, 200, SUB_FLAGS);
	set_neighbor(r, BP_MAX_INTERFACES + 1, "10.5.0.2", host_v);
	set_neighbor(r, BP_MAX_INTERFACES + 1, "fd05::2", host_v);
	set_route(r, "10.5.0.0", 24, BP_ROUTE_UNICAST, BP_MAX_INTERFACES + 1, NULL);
	set_route(r, "fd05::", 64, BP_ROUTE_UNICAST, BP_MAX_INTERFACES + 1, NULL);
}

/* The input port of a frame of a subinterface is its port. */
static void a_flow_from_a_subinterface(void **state)
{
	const struct packet p = ip4("10.9.1.1", 64, 46), six = ip6("fd02::2", 64, 26);
	struct rig r;

	start_with_subinterfaces(&r, ROUTER LCL_A_AND_B FLOW("port: a"));
	leaves(&r, tagged(p, 100), forwarded(p, B, host_b), &fresh);
	rig_stop(&r);
	start_with_subinterfaces(&r, ROUTER LCL_A_AND_B FLOW("port: a, ethertype: 0x86dd"));
	leaves(&r, tagged(six, 100), forwarded(six, B, host_b), &fresh);
	leaves(&r, tagged(p, 100), forwarded(p, B, host_b), NULL);
	rig_stop(&r);
	start_with_subinterfaces(&r, ROUTER LCL_A_AND_B FLOW("port: b"));
	leaves(&r, tagged(p, 100), forwarded(p, B, host_b), NULL);
	rig_stop(&r);
}

/* A frame that leaves by a subinterface keeps its input port: by nodes ip4, forward and ip6. */
static void a_flow_to_a_subinterface(void **state)
{
	const struct packet p = ip4("10.5.0.2", 64, 46), six = ip6("fd05::2", 64, 26),
			    want = tagged(forwarded(p, B, host_v), 200),
			    want_six = tagged(forwarded(six, B, host_v), 200);
	struct packet trailer = p;
	struct label l = fresh;
	struct rig r;

	trailer.len += 4; /* such a frame is not on the fast path */
	start_with_subinterfaces(&r, SUB_FLOW("a"));
	leaves(&r, p, want, &l);
	l.sequence++;
	leaves(&r, tagged(p, 100), want, &l);
	l.sequence++;
	leaves(&r, trailer, want, &l);
	l.sequence++;
	leaves(&r, tagged(trailer, 100), want, &l);
	leaves(&r, six, want_six, NULL);
	rig_stop(&r);
	start_with_subinterfaces(&r, ROUTER LCL_A_AND_B FLOW("port: a, ethertype: 0x86dd"));
	leaves(&r, six, want_six, &fresh);
	leaves(&r, p, want, NULL);
	rig_stop(&r);
	/* a flow with the output port as its input port is another flow */
	start_with_subinterfaces(&r, SUB_FLOW("b"));
	leaves(&r, p, want, NULL);
	leaves(&r, tagged(p, 100), want, NULL);
	leaves(&r, trailer, want, NULL);
	leaves(&r, six, want_six, NULL);
	rig_stop(&r);
}

/* A labelled packet for us reaches the kernel without its label. Frames of the kernel are best
 * effort. */
static void the_kernel_knows_no_labels(void **state)
{
	const struct packet to = ip4("10.1.0.1", 64, 46), from = ip4("10.2.0.2", 1, 46);
	struct rte_mbuf *m;
	struct rig r;

	start_with(&r, LCL_ROUTER);
	lcl_put(&r, A, to.bytes, to.len, &in_3);
	rig_walk(&r);
	rig_expect_kernel(&r, BP_EX_LOCAL, A, to.bytes, to.len);
	assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), 1);
	m = rte_pktmbuf_alloc(r.pool);
	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)from.len), from.bytes, from.len);
	bp_exception_interface_set(m, B);
	assert_int_equal(rte_ring_enqueue(r.exception->from_kernel[0], m), 0);
	rig_walk(&r);
	rig_expect(&r, B, from.bytes, from.len);
	assert_int_equal(rig_counter(&r, BP_C_FROM_KERNEL), 1);
	assert_int_equal(best_effort(&r, B), 1);
	rig_stop(&r);
}

/* The reply to a labelled ARP request has no label, although it reuses the buffer of the request.
 */
static void neighbor_solicitations_are_answered_untagged(void **state)
{
	struct rig r;

	start_with(&r, LCL_ROUTER);
	lcl_put(&r, C, arp_request, 42, &in_3);
	rig_walk(&r);
	rig_expect(&r, C, arp_reply, 42);
	assert_int_equal(rig_counter(&r, BP_C_ARP_REPLIES), 1);
	assert_int_equal(rig_counter(&r, BP_C_LCL_TERMINATED), 1);
	assert_int_equal(best_effort(&r, C), 1);
	rig_stop(&r);
}

/* ---- switches ---- */

#define SWITCH4                                                                                    \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: c, device: net_null2}\n"                                                       \
	"  - {name: d, device: net_null3}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b, c, d]}]\n"
enum { D = 3 };

/* Of a flooded frame, only the copy that leaves by an LCL port has a label, from any origin. */
static void flooded_copy_is_unlabelled_on_other_ports(void **state)
{
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = lcl_datagram(f);
	struct rig r;

	rig_start(&r, SWITCH4 LCL_A_AND_B FLOW("port: a, udp_port: 7000"), false, false);
	for (unsigned labelled = 0; labelled < 2; labelled++) {
		if (labelled)
			lcl_put(&r, A, f, len, &in_3);
		else
			rig_put(&r, A, f, len);
		rig_walk(&r);
		rig_expect(&r, C, f, len);
		rig_expect(&r, D, f, len);
		rig_expect_none(&r, B);
		lcl_pass(&r, LCL_TAU);
		lcl_expect(&r, B, f, len,
			labelled ? &out_3 : &(struct label){.d = 15000, .n = 1, .flow = 7});
		assert_int_equal(rig_counter(&r, BP_C_LCL_LOST_LABEL), 2 * labelled);
		assert_int_equal(rig_counter(&r, BP_C_FLOODED), labelled + 1);
	}
	assert_int_equal(rig_counter(&r, BP_C_LCL_ADDED), 1);
	rig_stop(&r);
}

/* ---- a control plane that knows other ports ---- */

static void no_such_out(struct bp_lcl_rules *rules)
{
	rules->flow[0].out = 2;
}

static void no_such_port(struct bp_lcl_rules *rules)
{
	rules->flow[0].match.port = BP_MAX_PORTS;
}

static void no_hops(struct bp_lcl_rules *rules)
{
	rules->flow[0].hops = 0;
}

static void too_long(struct bp_lcl_rules *rules)
{
	rules->flow[0].budget_ns = 1000000001;
}

/* Flows that do not fit the configuration are not applied: the former flows continue. */
static void impossible_flows_are_rejected(void **state)
{
	static void (*const change[])(struct bp_lcl_rules *) = {
		no_such_out, no_such_port, no_hops, too_long};
	struct bp_lcl_rules rules;
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = lcl_datagram(f);
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	for (uint32_t i = 0; i < sizeof(change) / sizeof(change[0]); i++) {
		rules = bp_lcl_of(r.worker)->rules;
		change[i](&rules);
		bp_seqlock_write(&r.shm.lcl.plan->lock, &rules, sizeof(rules));
		rig_walk(&r);
		rig_put(&r, A, f, len);
		rig_walk(&r);
		lcl_pass(&r, LCL_TAU);
		lcl_expect(&r, B, f, len,
			&(struct label){.d = 15000, .n = 1, .flow = 7, .sequence = i});
	}
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labelled_messages_are_aggregated),
		cmocka_unit_test(others_than_messages_keep_labels),
		cmocka_unit_test(labelled_aggregate_is_decapsulated),
		cmocka_unit_test(a_result_keeps_its_readings_label),
		cmocka_unit_test(an_answer_has_no_label),
		cmocka_unit_test(labelled_segments_are_inspected),
		cmocka_unit_test(a_label_is_kept_over_routing),
		cmocka_unit_test(a_routed_flow_gets_its_label),
		cmocka_unit_test(a_flow_from_a_subinterface),
		cmocka_unit_test(a_flow_to_a_subinterface),
		cmocka_unit_test(the_kernel_knows_no_labels),
		cmocka_unit_test(neighbor_solicitations_are_answered_untagged),
		cmocka_unit_test(flooded_copy_is_unlabelled_on_other_ports),
		cmocka_unit_test(impossible_flows_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
