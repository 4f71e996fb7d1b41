/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that a driver splits at any byte, or into single bytes: nodes of services and of routing
 * treat them as those in one buffer. Inspection is in test_port_offloads.c, health devices in
 * test_phd_frames.c.
 */
#include "biplane/counters/aggregation.h"
#include "biplane/counters/general.h"
#include "biplane/counters/transform.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"
#include "tests/unit/dataplane/transform/transform_rig.h"

#include <string.h>

#include "config/fib_static.h"
#include "dataplane/nodes/nodes.h"

enum { A, B };

/* Puts the frame in split at each byte, and into single bytes; expects the other at port `out`. */
static void each_split(
	struct rig *r, unsigned port, const struct udp *in, unsigned out, const struct udp *want)
{
	uint8_t f[UDP_FRAME_MAX];
	const uint32_t len = agg_frame(in, f);

	rig_rx_flags(r, BP_RX_F_CHAINS);
	r->more_bytes = UDP_FRAME_MAX;
	for (r->first_bytes = 0; r->first_bytes < len; r->first_bytes++) {
		rig_put(r, port, f, len);
		rig_walk(r);
		agg_expect_udp(r, out, want);
		rig_expect_none(r, out);
	}
	r->first_bytes = r->more_bytes = 1;
	rig_put(r, port, f, len);
	rig_walk(r);
	agg_expect_udp(r, out, want);
	rig_expect_none(r, out);
	assert_int_equal(rig_counter(r, BP_C_RX_LINEARIZED), len + 1);
	r->more_bytes = 0;
}

static void readings(void **state)
{
	const struct bp_transform_receiver to = x_receiver("10.1.0.9", 20000, 0.5);
	const struct bp_transform_rule rule = x_rule(A, 10000);
	const struct udp u = x_reading(0), want = x_result(0, &to);
	struct xrig x;

	memset(&x.file, 0, sizeof(x.file));
	x_add_rule(&x.file, &rule);
	x_add_source(&x.file, "10.0.0.5/32", &to, 1);
	x_start(&x, X_WIRE, false);
	each_split(&x.r, A, &u, B, &want);
	assert_int_equal(
		rig_counter(&x.r, BP_C_TRANSFORM_READING), rig_counter(&x.r, BP_C_RX_LINEARIZED));
	x_stop(&x);
}

/* Both nodes: a message, and the aggregate of it. */
static void aggregates(void **state)
{
	const struct udp u = agg_message(0);
	struct agg_seen s;
	struct rig r;

	rig_start(&r,
		AGG_PORTS
		"aggregation:\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 1}\n"
		"  decapsulate:\n"
		"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: "
		"[10.0.0.0/24]}\n",
		false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	r.more_bytes = UDP_FRAME_MAX;
	for (r.first_bytes = 0; r.first_bytes < 42 + AGG_PAYLOAD; r.first_bytes++) {
		agg_put_udp(&r, A, &u);
		rig_walk(&r);
		agg_take_of(&r, B, &s, 0, 1);
	}
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), r.first_bytes);
	for (r.first_bytes = 0; r.first_bytes < s.len; r.first_bytes++) {
		rig_put(&r, B, s.frame, s.len);
		rig_walk(&r);
		agg_expect_udp(&r, A, &u);
	}
	r.first_bytes = r.more_bytes = 1;
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect_udp(&r, A, &u);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), s.len + 1);
	rig_stop(&r);
}

/* A label that a neighbor wrote is read and kept. */
static void labels(void **state)
{
	struct label l = {.n = 4, .flow = 7}, want = {.n = 3, .flow = 7};
	uint8_t plain[UDP_FRAME_MAX], f[UDP_FRAME_MAX + LCL_LABEL];
	uint32_t len, plain_len;
	struct rig r;

	rig_start(&r, LCL_TRUSTED, false, false);
	rig_rx_flags(&r, BP_RX_F_CHAINS);
	plain_len = lcl_datagram(plain);
	len = lcl_frame(plain, plain_len, &l, f);
	r.more_bytes = sizeof(f);
	for (r.first_bytes = 0; r.first_bytes < len; r.first_bytes++) {
		struct rte_mbuf *m;

		l.sequence = want.sequence = r.first_bytes;
		lcl_frame(plain, plain_len, &l, f);
		rig_put(&r, A, f, len);
		for (unsigned i = 0; i < 4; i++)
			lcl_pass(&r, LCL_TAU);
		m = bp_ring_ports_take(&r.ports, B);
		assert_non_null(m);
		assert_int_equal(m->pkt_len, len);
		lcl_frame(plain, plain_len, &want, f);
		/* all but the delay */
		assert_memory_equal(rte_pktmbuf_mtod(m, void *), f, 16);
		assert_memory_equal(rte_pktmbuf_mtod_offset(m, void *, 20), f + 20, len - 20);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(rig_counter(&r, BP_C_RX_LINEARIZED), len);
	rig_stop(&r);
}

static void routed(void **state)
{
	for (unsigned six = 0; six < 2; six++) {
		struct udp u = agg_message(0), want;
		char err[256] = "";
		struct rig r;

		u.src = six ? "fd00::5" : "10.0.0.5";
		u.dst = six ? "fd01::9" : u.dst;
		u.dst_mac = 0x0a;
		want = u;
		want.src_mac = 0x0b;
		want.dst_mac = 0x99;
		want.hops--;
		rig_start(&r, AGG_ROUTER, false, false);
		if (bp_fib_static_apply(r.writer, r.config, false, NULL, err, sizeof(err)) != 0)
			fail_msg("%s", err);
		each_split(&r, A, &u, B, &want);
		rig_stop(&r);
	}
}

static void bridged(void **state)
{
	const struct udp u = agg_message(0);
	struct udp reply = agg_message(0);
	struct rig r;

	reply.src_mac = u.dst_mac;
	reply.dst_mac = u.src_mac;
	rig_start(&r, X_PORTS("") "bridges: [{name: bridge0, ports: [a, b, c]}]\n", false, false);
	agg_put_udp(&r, B, &reply); /* flooded: now the address is known */
	rig_walk(&r);
	agg_expect_udp(&r, A, &reply);
	each_split(&r, A, &u, B, &u);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readings),
		cmocka_unit_test(aggregates),
		cmocka_unit_test(labels),
		cmocka_unit_test(routed),
		cmocka_unit_test(bridged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
