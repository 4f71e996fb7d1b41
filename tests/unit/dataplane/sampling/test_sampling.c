/* SPDX-License-Identifier: BSD-3-Clause */
/* Node sampling: mirrored frames, and no other change. */
#include "biplane/counters/general.h"
#include "biplane/counters/sampling.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <stdlib.h>
#include <string.h>

#include "config/fib_static.h"
#include "config/sampling/settings.h"
#include "dataplane/sampling/sampling.h"

#define PORTS3                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"  - {name: m, device: net_null2, routed: {host_interface: {backend: off}}}\n"
#define WIRE PORTS3 "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define SAMPLED(one_in_)                                                                           \
	"sampling:\n"                                                                              \
	"  - {name: local, match: {port: a, ethertype: 0x88b5}, one_in: " one_in_ ", mirror: m}\n"

#define ROUTER                                                                                     \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0, mac: \"02:00:00:00:00:0a\", routed: {addresses: "        \
	"[10.0.0.1/24], host_interface: {backend: off}}}\n"                                        \
	"  - {name: b, device: net_null1, mac: \"02:00:00:00:00:0b\", routed: {addresses: "        \
	"[10.9.0.1/24], host_interface: {backend: off}}}\n"                                        \
	"  - {name: m, device: net_null2, routed: {host_interface: {backend: off}}}\n"             \
	"routing:\n"                                                                               \
	"  static_routes:\n"                                                                       \
	"    - {prefix: 10.1.0.0/16, via: 10.9.0.2}\n"                                             \
	"  static_neighbors:\n"                                                                    \
	"    - {address: 10.9.0.2, mac: \"02:00:00:00:00:99\", interface: b}\n"                    \
	"sampling:\n"                                                                              \
	"  - {name: all, match: {port: a, udp_port: 5555}, one_in: 1, mirror: m}\n"

static struct bp_sampling *sampling_of(const struct rig *r)
{
	return r->worker->service[BP_SERVICE_SAMPLING];
}

static void all_frames_are_mirrored_unchanged(void **state)
{
	uint8_t f[1514];
	struct rig r;

	(void)state;
	rig_start(&r, WIRE SAMPLED("1"), false, false);
	for (uint32_t len = 60; len <= 1514; len += 727) {
		frame_make(f, len, 1, 2, 0x88b5);
		rig_put(&r, 0, f, len);
		rig_walk(&r);
		rig_expect(&r, 1, f, len);
		rig_expect(&r, 2, f, len);
	}
	/* neither another type, nor another port, nor what comes in on the mirror port */
	frame_make(f, 60, 1, 2, 0x88b6);
	rig_put(&r, 0, f, 60);
	rig_walk(&r);
	rig_expect(&r, 1, f, 60);
	frame_make(f, 60, 2, 1, 0x88b5);
	rig_put(&r, 1, f, 60);
	rig_walk(&r);
	rig_expect(&r, 0, f, 60);
	rig_expect_none(&r, 2);
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_MATCHED), 3);
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_MIRRORED), 3);
	rig_stop(&r);
}

/* A burst at a time, and one by one: exactly one of ten. */
static void one_in_ten(void **state)
{
	uint8_t f[60];
	struct rig r;

	(void)state;
	rig_start(&r, WIRE SAMPLED("10"), false, false);
	for (unsigned first = 0, n = 1; first < 100; first += n, n = n % 10 + 1) {
		n = n < 100 - first ? n : 100 - first;
		for (unsigned i = first; i < first + n; i++) {
			frame_make(f, sizeof(f), (uint8_t)i, 2, 0x88b5);
			rig_put(&r, 0, f, sizeof(f));
		}
		rig_walk(&r);
		for (unsigned i = first; i < first + n; i++) {
			frame_make(f, sizeof(f), (uint8_t)i, 2, 0x88b5);
			rig_expect(&r, 1, f, sizeof(f));
		}
	}
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_MATCHED), 100);
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_MIRRORED), 10);
	assert_int_equal(atomic_load(&sampling_of(&r)->stats[0].matched), 100);
	assert_int_equal(atomic_load(&sampling_of(&r)->stats[0].mirrored), 10);
	rig_stop(&r);
}

/* Routing changes the frame afterwards, not its copy. */
static void a_routed_frame_is_mirrored_unchanged(void **state)
{
	const struct udp u = agg_message(1);
	uint8_t f[UDP_FRAME_MAX], routed[UDP_FRAME_MAX];
	struct udp out = u;
	char err[256];
	uint32_t len;
	struct rig r;

	(void)state;
	rig_start(&r, ROUTER, false, false);
	assert_int_equal(bp_fib_static_apply(r.writer, r.config, false, NULL, err, sizeof(err)), 0);
	rig_walk(&r);
	len = agg_frame(&u, f);
	memcpy(f, "\x02\0\0\0\0\x0a", 6); /* the router's */
	rig_put(&r, 0, f, len);
	rig_walk(&r);
	rig_expect(&r, 2, f, len);
	out.hops = (uint8_t)(u.hops - 1);
	out.src_mac = 0x0b;
	out.dst_mac = 0x99;
	agg_frame(&out, routed);
	rig_expect(&r, 1, routed, len);
	rig_stop(&r);
}

static void unmirrored_packets_are_counted(void **state)
{
	uint8_t *f = malloc(4000);
	struct rte_mbuf *all[RIG_MBUFS];
	unsigned n = 0;
	struct rig r;

	(void)state;
	assert_non_null(f);
	frame_make(f, 4000, 1, 2, 0x88b5);
	rig_start(&r, WIRE SAMPLED("1"), false, false);
	r.worker->mtu[2] = 1500;
	rig_put(&r, 0, f, 1523); /* the longest is 1500, a header and two tags */
	rig_put(&r, 0, f, 1522);
	rig_walk(&r);
	rig_expect(&r, 1, f, 1523);
	rig_expect(&r, 1, f, 1522);
	rig_expect(&r, 2, f, 1522);
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_TOO_LONG), 1);
	rig_put(&r, 0, f, 60);
	while (n < RIG_MBUFS && (all[n] = rte_pktmbuf_alloc(r.pool)))
		n++;
	rig_walk(&r);
	rte_pktmbuf_free_bulk(all, n);
	rig_expect(&r, 1, f, 60);
	rig_expect_none(&r, 2);
	assert_int_equal(rig_counter(&r, BP_C_SAMPLING_NO_MBUF), 1);
	assert_int_equal(atomic_load(&sampling_of(&r)->stats[0].not_mirrored), 2);
	rig_stop(&r);
	free(f);
}

static void publish(struct rig *r, const struct bp_sampling_rules *rules)
{
	bp_seqlock_write(&bp_sampling_tables(&r->shm)->plan->lock, rules, sizeof(*rules));
	rig_walk(r);
}

/* Entries that change while it runs: another input port, then none. */
static void entries_change(void **state)
{
	struct bp_sampling_rules rules;
	uint8_t f[60];
	struct rig r;

	(void)state;
	rig_start(&r, WIRE SAMPLED("1"), false, false);
	rules = bp_config_sampling(r.config)->rules;
	frame_make(f, sizeof(f), 1, 2, 0x88b5);
	rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 2, f, sizeof(f));
	publish(&r, &rules); /* the same: its figures stay */
	assert_int_equal(atomic_load(&sampling_of(&r)->stats[0].mirrored), 1);
	rules.rule[0].match.port = 1;
	publish(&r, &rules);
	assert_int_equal(atomic_load(&sampling_of(&r)->stats[0].mirrored), 0);
	rig_put(&r, 0, f, sizeof(f));
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect(&r, 2, f, sizeof(f));
	rig_expect_none(&r, 2);
	rules.n = 0;
	publish(&r, &rules);
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect_none(&r, 2);
	/* invalid data that no control plane publishes */
	rules.n = 1;
	rules.rule[0].mirror = 200;
	publish(&r, &rules);
	assert_int_equal(rig_counter(&r, BP_C_SEGMENT_INVALID), 1);
	rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	rig_expect_none(&r, 2);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_are_mirrored_unchanged),
		cmocka_unit_test(one_in_ten),
		cmocka_unit_test(a_routed_frame_is_mirrored_unchanged),
		cmocka_unit_test(unmirrored_packets_are_counted),
		cmocka_unit_test(entries_change),
	};

	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
