/* SPDX-License-Identifier: BSD-3-Clause */
/* Transformation where frames go other ways than over a wire: routed, bridged, tagged, in pieces,
 * aggregated, inspected. */
#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include <string.h>

#include "config/fib_static.h"

#define SWITCH X_PORTS("") "bridges: [{name: bridge0, ports: [a, b, c]}]\n"
#define ROUTER                                                                                     \
	AGG_ROUTER                                                                                 \
	"    - {address: 10.0.0.5, mac: \"02:00:00:00:00:01\", interface: a}\n"                    \
	"    - {address: \"fd00::5\", mac: \"02:00:00:00:00:01\", interface: a}\n"

enum { A, B, C };

static void begin(struct xrig *x, unsigned port)
{
	const struct bp_transform_rule rule = x_rule(port, 10000);

	memset(&x->file, 0, sizeof(x->file));
	x_add_rule(&x->file, &rule);
}

static void start_router(struct xrig *x)
{
	char err[256] = "";

	x_start(x, ROUTER, false);
	if (bp_fib_static_apply(x->r.writer, x->r.config, false, NULL, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

/* Routed to the receiver; also one with the gateway's own address. */
static void results_are_routed(void **state)
{
	struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct xrig x;
	struct udp u;

	to.flags |= BP_TRANSFORM_MAC; /* a router's frame has the next hop's */
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.0/24", &to, 1);
	start_router(&x);
	to.flags &= ~(unsigned)BP_TRANSFORM_MAC;
	for (unsigned i = 0; i < 3; i++) {
		u = x_reading(i);
		u.dst_mac = 0x0a;
		u.dst = i == 1 ? "10.0.0.1" : u.dst;
		agg_put_udp(&x.r, A, &u);
	}
	u = x_reading(3);
	u.dst_mac = 0x0c; /* another station's */
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++) {
		u = x_result(i, &to);
		u.src_mac = 0x0b;
		u.dst_mac = 0x99;
		u.hops = 63;
		agg_expect_udp(&x.r, B, &u);
	}
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 3);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_DST_MAC_MISMATCH), 1);
	assert_int_equal(rig_counter(&x.r, BP_C_FORWARDED_IP4), 3);
	x_stop(&x);
}

/* Also in the VLAN of a subinterface, whose MAC address may differ from that of its port. */
static void results_of_a_subinterface_are_routed(void **state)
{
	struct bp_interface_info vlan = {
		.flags = BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL,
		.mtu = 1500,
		.parent = A,
		.vlan_id = 100,
		.mac = {0x02, 0, 0, 0, 0, 0x0e},
		.name = "a.100",
	};
	struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct xrig x;
	struct udp u;

	to.flags |= BP_TRANSFORM_MAC;
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.0/24", &to, 1);
	start_router(&x);
	assert_int_equal(bp_fib_interface_set(x.r.writer, BP_MAX_INTERFACES, &vlan), BP_FIB_DONE);
	to.flags &= ~(unsigned)BP_TRANSFORM_MAC;
	for (unsigned i = 0; i < 3; i++) {
		u = x_reading(0);
		u.vlan[0] = i == 1 ? 200 : 100;
		u.dst_mac = i == 2 ? 0x0c : 0x0e; /* another VLAN, another station */
		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	u = x_result(0, &to);
	u.src_mac = 0x0b;
	u.dst_mac = 0x99;
	u.hops = 63;
	agg_expect_udp(&x.r, B, &u);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 1);
	x_stop(&x);
}

/* A reading for the gateway's own address comes back from there, with 64 hops to go. */
static void routed_and_reflected(void **state)
{
	static const char *const own[2][2] = {{"10.0.0.5", "10.0.0.1"}, {"fd00::5", "fd00::1"}};
	struct bp_transform_receiver to = x_receiver(NULL, 0, 0.5);
	struct xrig x;

	to.flags |= BP_TRANSFORM_REFLECT;
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_add_source(&x.file, "fd00::/64", &to, 1);
	start_router(&x);
	for (unsigned i = 0; i < 8; i++) {
		struct udp u = x_reading(i);

		u.src = own[i % 2][0];
		u.dst = own[i % 2][1];
		u.dst_mac = 0x0a;
		u.hops = (uint8_t)(2 + 20 * i);
		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	for (unsigned six = 0; six < 2; six++) { /* by two nodes: each in its order */
		for (unsigned i = six; i < 8; i += 2) {
			struct udp u = x_result(i, &to);

			u.src = own[six][1];
			u.dst = own[six][0];
			u.src_mac = 0x0a;
			u.hops = (uint8_t)(i > 3 ? 64 : 1 + 20 * i);
			u.dst_mac = 0x01;
			agg_expect_udp(&x.r, A, &u);
		}
	}
	rig_expect_none(&x.r, A);
	rig_expect_none(&x.r, B);
	x_stop(&x);
}

static void routed_ip6(void **state)
{
	const struct bp_transform_receiver to = x_receiver("fd01::9", 20000, 0.5);
	struct xrig x;

	begin(&x, A);
	x_add_source(&x.file, "fd00::/64", &to, 1);
	start_router(&x);
	for (unsigned i = 0; i < 3; i++) {
		struct udp u = x_reading(i);

		u.src = "fd00::7";
		u.dst = "fd01::1";
		u.dst_mac = 0x0a;
		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	for (unsigned i = 0; i < 3; i++) {
		struct udp u = x_result(i, &to);

		u.src = "fd00::7";
		u.src_mac = 0x0b;
		u.dst_mac = 0x99;
		u.hops = 63;
		agg_expect_udp(&x.r, B, &u);
	}
	rig_expect_none(&x.r, B);
	x_stop(&x);
}

/* A port that routes and is down takes nothing. */
static void link_down_sends_no_frame(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct udp u = x_reading(0);
	struct xrig x;

	begin(&x, A);
	x_add_source(&x.file, "10.0.0.0/24", &to, 1);
	x_start(&x, ROUTER, false); /* and no one says that it is up */
	u.dst_mac = 0x0a;
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_IF_DOWN), 1);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 0);
	x_stop(&x);
}

/* The switch learns where trackers are, also of those whom only the gateway answers. */
static void over_a_bridge(void **state)
{
	struct bp_transform_receiver to[2] = {
		x_receiver("10.1.0.9", 20000, 0.5), x_receiver(NULL, 0, 1)};
	struct xrig x;
	struct udp u;

	to[0].flags |= BP_TRANSFORM_MAC;
	memcpy(to[0].mac, "\x02\0\0\0\0\x33", 6);
	to[1].flags |= BP_TRANSFORM_REFLECT;
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", &to[0], 1);
	x_add_source(&x.file, "10.0.0.6/32", &to[1], 1);
	x_start(&x, SWITCH, false);
	u = x_reading(0); /* the robot is behind port c */
	u.dport = 1;
	u.src_mac = 0x33;
	agg_put_udp(&x.r, C, &u);
	rig_walk(&x.r);
	agg_expect_udp(&x.r, A, &u);
	agg_expect_udp(&x.r, B, &u);
	u = x_reading(1);
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	u = x_result(1, &to[0]);
	agg_expect_udp(&x.r, C, &u);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_MAC_LEARNED), 2);
	u = x_reading(2);
	u.src = "10.0.0.6";
	u.src_mac = 0x44;
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	u = x_result(2, &to[1]);
	u.dst = "10.0.0.6";
	u.dst_mac = 0x44;
	agg_expect_udp(&x.r, A, &u);
	assert_int_equal(rig_counter(&x.r, BP_C_MAC_LEARNED), 3);
	for (unsigned p = 0; p < 3; p++)
		rig_expect_none(&x.r, p);
	x_stop(&x);
}

/* In several buffers: put together where one of them has room, else refused. */
static void in_pieces(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	static uint8_t payload[1900];
	struct udp u = x_reading(7);
	uint8_t f[UDP_FRAME_MAX];
	struct xrig x;

	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x, X_WIRE, false);
	for (unsigned cut = 1; cut < 82; cut++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(x.r.pool);
		struct rte_mbuf *rest = rte_pktmbuf_alloc(x.r.pool);
		const uint32_t len = agg_frame(&u, f);

		assert_non_null(m);
		assert_non_null(rest);
		memcpy(rte_pktmbuf_append(m, (uint16_t)cut), f, cut);
		memcpy(rte_pktmbuf_append(rest, (uint16_t)(len - cut)), f + cut, len - cut);
		assert_int_equal(rte_pktmbuf_chain(m, rest), 0);
		m->port = A;
		assert_int_equal(rte_ring_enqueue(x.r.ports.in[A], m), 0);
		rig_walk(&x.r);
		{
			const struct udp result = x_result(7, &to);

			agg_expect_udp(&x.r, B, &result);
		}
	}
	memcpy(payload, u.payload, X_READING);
	u.payload = payload;
	u.len = sizeof(payload);
	agg_put_udp(&x.r, A, &u);
	u.dport = 1; /* others are none of ours */
	agg_put_udp(&x.r, A, &u);
	rig_walk(&x.r);
	agg_expect_udp(&x.r, B, &u);
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TRANSFORM_UNSUPPORTED), 1);
	x_stop(&x);
}

/* Results are aggregated if the port has such entries; other messages, too. */
static void then_aggregated(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct agg_seen seen;
	struct xrig x;

	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x,
		X_WIRE "aggregation:\n  encapsulate:\n"
		       "  - {port: a, to: {address: 10.1.0.9, udp_port: 20000}, max_messages: 4}\n"
		       "  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 4}\n",
		false);
	for (unsigned i = 0; i < 4; i++) {
		const struct udp u = x_reading(i);

		agg_put_udp(&x.r, A, &u);
		agg_put(&x.r, A, i, 1);
	}
	rig_walk(&x.r);
	for (unsigned n = 0; n < 2; n++) {
		agg_take(&x.r, B, &seen);
		assert_int_equal(seen.head.count, 4);
		if (seen.message[0].len != X_READING)
			continue;
		for (unsigned i = 0; i < 4; i++)
			assert_memory_equal(seen.payload + seen.message[i].offset,
				x_result(i, &to).payload, X_READING);
	}
	rig_expect_none(&x.r, B);
	assert_int_equal(rig_counter(&x.r, BP_C_ENCAP_MESSAGE), 8);
	assert_int_equal(rig_counter(&x.r, BP_C_TRANSFORM_READING), 4);
	x_stop(&x);
}

/* With inspection other frames are inspected, and results bypass it. */
static void results_bypass_inspection(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	struct udp u = x_reading(0), other = x_reading(0);
	struct xrig x;

	other.dport = 1;
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x, X_WIRE "mqtt:\n  publisher: {broker: \"mqtt://127.0.0.1\"}\n", false);
	agg_put_udp(&x.r, A, &u);
	agg_put_udp(&x.r, A, &other);
	rig_walk(&x.r);
	u = x_result(0, &to);
	agg_expect_udp(&x.r, B, &u);
	agg_expect_udp(&x.r, B, &other);
	assert_int_equal(x.r.worker->inner[A], BP_EDGE_ETHERNET);
	x_stop(&x);
}

/* More copies than a stream between nodes holds are not made: of 63 readings with 64 receivers each
 * 4,032 datagrams, of which the port's ring takes 63. */
static void number_of_copies_is_bounded(void **state)
{
	struct bp_transform_receiver to[BP_TRANSFORM_RECEIVERS_MAX];
	struct xrig x;

	for (unsigned k = 0; k < BP_TRANSFORM_RECEIVERS_MAX; k++)
		to[k] = x_receiver("10.1.0.9", (uint16_t)(20000 + k), 0.25 + k / 8.0);
	begin(&x, A);
	x_add_source(&x.file, "10.0.0.5/32", to, BP_TRANSFORM_RECEIVERS_MAX);
	x_start(&x, X_WIRE, false);
	for (unsigned i = 0; i < 20; i++) {
		const struct udp u = x_reading(i);

		agg_put_udp(&x.r, A, &u);
	}
	rig_walk(&x.r);
	for (unsigned k = 0; k < RIG_DEPTH - 1; k++) {
		const struct udp u = x_result(0, &to[k]);

		agg_expect_udp(&x.r, B, &u);
	}
	rig_expect_none(&x.r, B);
	/* all others were made, and dropped by the port, or were not made without buffers */
	assert_int_equal(
		rig_counter(&x.r, BP_C_TRANSFORM_COPY) + rig_counter(&x.r, BP_C_TRANSFORM_NO_MBUF),
		20 * (BP_TRANSFORM_RECEIVERS_MAX - 1));
	assert_in_range(rig_counter(&x.r, BP_C_TRANSFORM_COPY), 800, RIG_MBUFS);
	assert_int_equal(rig_counter(&x.r, BP_C_DROP_TX_FULL),
		20 + rig_counter(&x.r, BP_C_TRANSFORM_COPY) - (RIG_DEPTH - 1));
	x_stop(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_routed),
		cmocka_unit_test(results_of_a_subinterface_are_routed),
		cmocka_unit_test(routed_and_reflected),
		cmocka_unit_test(routed_ip6),
		cmocka_unit_test(link_down_sends_no_frame),
		cmocka_unit_test(over_a_bridge),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(then_aggregated),
		cmocka_unit_test(results_bypass_inspection),
		cmocka_unit_test(number_of_copies_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
