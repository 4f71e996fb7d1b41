/* SPDX-License-Identifier: BSD-3-Clause */
/* Node aggregate on a bridge: aggregated and bypassing messages, their order, and flush times. */
#include "biplane/counters/aggregation.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <string.h>

#define ENTRY "  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}"
#define WIRE AGG_PORTS "aggregation:\n  encapsulate:\n" ENTRY ", max_messages: 8, max_delay: 1ms}\n"
#define MS 1000000u

enum { A, B };

static void leaves_when_full(void **state)
{
	const struct bp_agg_stats *st;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 7);
	rig_walk(&r);
	rig_expect_none(&r, B);
	agg_put(&r, A, 7, 10);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 8);
	agg_take_of(&r, B, NULL, 8, 8);
	rig_expect_none(&r, B);
	rig_expect_none(&r, A);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 17);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_AGGREGATE), 2);
	st = r.shm.agg.stats;
	assert_int_equal(st->flushed[BP_AGG_FLUSH_FULL], 2);
	assert_int_equal(st->waiting, 1);
	/* its counters: the bytes sent equal those of the port */
	assert_int_equal(r.shm.port_stats[B].tx_bytes, st->aggregate_bytes);
	assert_int_equal(r.shm.port_stats[B].tx_packets, 2);
	rig_stop(&r);
}

/* At its time, not before and not by another message that comes. */
static void leaves_in_time(void **state)
{
	struct rig r;

	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 2);
	rig_walk(&r);
	assert_true(bp_agg_worker_next_due(bp_agg_worker_of(r.worker)) == r.worker->mono_ns + MS);
	agg_pass(&r, MS / 2);
	agg_put(&r, A, 2, 1);
	rig_walk(&r);
	agg_pass(&r, MS / 2 - 1);
	rig_walk(&r);
	rig_expect_none(&r, B);
	agg_pass(&r, 1);
	agg_put(&r, A, 3, 1); /* too late for it: time is checked first */
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 3);
	rig_expect_none(&r, B);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_TIME], 1);
	agg_pass(&r, MS);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 3, 1);
	assert_true(bp_agg_worker_next_due(bp_agg_worker_of(r.worker)) == UINT64_MAX);
	rig_stop(&r);
}

/* Whatever no rule is for: as if there were none, in its order. */
static void other_sessions_continue(void **state)
{
	uint8_t f[1518];
	struct udp u = agg_message(0);
	struct rig r;

	rig_start(&r, WIRE, false, false);
	u.dport = 5556;
	for (unsigned i = 0; i < 3; i++) {
		frame_make(f, sizeof(f), 1, 2, (uint16_t)(0x88b5 + i));
		rig_put(&r, A, f, 60 + i);
		agg_put_udp(&r, A, &u);
	}
	rig_put(&r, A, f, 13);
	agg_put(&r, B, 0, 8); /* the rule is for the other port */
	rig_walk(&r);
	for (unsigned i = 0; i < 3; i++) {
		frame_make(f, sizeof(f), 1, 2, (uint16_t)(0x88b5 + i));
		rig_expect(&r, B, f, 60 + i);
		agg_expect_udp(&r, B, &u);
	}
	rig_expect(&r, B, f, 13);
	agg_expect(&r, A, 0, 8);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 0);
	/* the other port's frames take the way that they always took */
	assert_int_equal(r.worker->enter[A], BP_EDGE_AGGREGATE);
	assert_int_equal(r.worker->enter[B], BP_EDGE_PORT + A);
	rig_stop(&r);
}

/* Multicast MAC addresses, too: every receiver would have to decapsulate it. */
static void groups_continue(void **state)
{
	struct udp u = agg_message(0);
	uint8_t f[UDP_FRAME_MAX];
	uint32_t len = agg_frame(&u, f);
	struct rig r;

	rig_start(&r, WIRE, false, false);
	f[0] |= 1;
	rig_put(&r, A, f, len);
	rig_walk(&r);
	rig_expect(&r, B, f, len);
	rig_stop(&r);
}

/* A message that is too long leaves between those that came before and after, in one burst. */
static void frames_stay_in_order(void **state)
{
	static uint8_t longer[1025];
	struct udp u = agg_message(7), other = agg_message(0);
	struct rig r;

	u.payload = longer;
	u.len = sizeof(longer);
	other.dport = 9;
	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 3);
	agg_put_udp(&r, A, &u);
	agg_put(&r, A, 3, 5);
	agg_put_udp(&r, A, &other);
	agg_put(&r, A, 8, 3);
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 3);
	agg_expect_udp(&r, B, &u);
	/* Of no one's stream: it may be anywhere behind what came before it. */
	agg_expect_udp(&r, B, &other);
	agg_take_of(&r, B, NULL, 3, 8);
	agg_expect_udp(&r, B, &u);
	rig_expect_none(&r, B);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_BYPASS_LENGTH), 2);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_ORDER], 1);
	rig_stop(&r);
}

static void each_reason_is_counted(void **state)
{
	struct udp u = agg_message(0);
	uint8_t f[UDP_FRAME_MAX], *ip = f + 14;
	uint32_t len;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	u.wrong = 1;
	len = agg_frame(&u, f);
	rig_put(&r, A, f, len);
	rig_walk(&r);
	rig_expect(&r, B, f, len);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_BYPASS_CHECKSUM), 1);
	u.wrong = 0;
	u.sport = 0;
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_expect_udp(&r, B, &u);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_BYPASS_SOURCE), 1);
	u.sport = 40000;
	len = agg_frame(&u, f);
	ip[25]--; /* UDP says one byte less than IP */
	rig_put(&r, A, f, len);
	rig_walk(&r);
	rig_expect(&r, B, f, len);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_BYPASS_UNSUPPORTED), 1);
	assert_int_equal(r.shm.agg.stats->passed, 3);
	rig_stop(&r);
}

/* The far end would decapsulate it. */
static void ambiguous_payloads_are_dropped(void **state)
{
	static uint8_t payload[1200] = {0xfd, 0xa6};
	struct udp u = agg_message(0);
	struct rig r;

	u.payload = payload;
	u.len = sizeof(payload);
	rig_start(&r, WIRE, false, false);
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	rig_expect_none(&r, B);
	assert_int_equal(rig_counter(&r, BP_C_DROP_ENCAP_AMBIGUOUS_PAYLOAD), 1);
	u.len = 100; /* a message that fits is aggregated as any other */
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 1);
	rig_stop(&r);
}

/* Without buffers messages continue as they came. */
static void no_buffers(void **state)
{
	struct rte_mbuf *held[RIG_MBUFS];
	struct rig r;
	unsigned n = 0;

	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 3);
	while (n < RIG_MBUFS && (held[n] = rte_pktmbuf_alloc(r.pool)) != NULL)
		n++;
	rig_walk(&r);
	rte_pktmbuf_free_bulk(held, n);
	agg_expect(&r, B, 0, 3);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_BYPASS_NO_MBUF), 3);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 0);
	agg_put(&r, A, 3, 8);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 3, 8);
	rig_stop(&r);
}

/* A message in several buffers is too long for any aggregate here, and continues. */
static void chains_continue(void **state)
{
	static uint8_t payload[1900];
	struct udp u = agg_message(0);
	struct rig r;

	memset(payload, 'x', sizeof(payload));
	u.payload = payload;
	u.len = sizeof(payload);
	rig_start(&r,
		AGG_PORTS "aggregation:\n  encapsulate:\n" ENTRY
			  ", max_messages: 2, max_message_size: 60000, mtu: 65535}\n",
		false, false);
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_expect_udp(&r, B, &u);
	rig_stop(&r);
}

/* The frames that wait at port a, of which one is replaced: by a shared mbuf, one with data in
 * another mbuf, or one of another pool. */
enum strange { PLAIN, SHARED, ATTACHED, OTHER_POOL };

static struct rte_mbuf *exchange(
	struct rig *r, unsigned at, enum strange how, struct rte_mempool *other)
{
	void *m[RIG_DEPTH];
	const unsigned n = rte_ring_dequeue_burst(r->ports.in[A], m, RIG_DEPTH, NULL);
	struct rte_mbuf *was = m[at];

	if (how == SHARED)
		rte_mbuf_refcnt_update(was, 1);
	else if (how == ATTACHED)
		m[at] = rte_pktmbuf_clone(was, r->pool);
	else if (how == OTHER_POOL)
		m[at] = rte_pktmbuf_copy(was, other, 0, UINT32_MAX);
	assert_non_null(m[at]);
	((struct rte_mbuf *)m[at])->port = was->port;
	assert_int_equal(rte_ring_enqueue_bulk(r->ports.in[A], m, n, NULL), n);
	return was;
}

/* Whatever buffers messages came in, each goes back to where it is from, and what others hold stays
 * theirs. So it is with and without a frame among them that continues. */
static void buffers_go_back(void **state)
{
	struct rte_mempool *other =
		rte_pktmbuf_pool_create("other", 15, 0, 0, RIG_ROOM, SOCKET_ID_ANY);
	uint8_t stray[64];
	struct rig r;

	assert_non_null(other);
	frame_make(stray, sizeof(stray), 1, 2, 0x88b5);
	rig_start(&r, WIRE, false, false);
	for (unsigned i = 0; i < 8 * 8; i++) {
		const enum strange how = i / 8 % 4;
		const unsigned at = i % 8, unknown_sessions = i / 32;
		struct rte_mbuf *was;

		agg_put(&r, A, 8 * i, 8);
		was = exchange(&r, at, how, other);
		if (unknown_sessions != 0)
			rig_put(&r, A, stray, sizeof(stray));
		rig_walk(&r);
		agg_take_of(&r, B, NULL, 8 * i, 8);
		if (unknown_sessions != 0)
			rig_expect(&r, B, stray, sizeof(stray));
		assert_int_equal(rte_mempool_in_use_count(other), 0);
		if (how != PLAIN) {
			assert_int_equal(rte_mbuf_refcnt_read(was), 1);
			rte_pktmbuf_free(was);
		}
		assert_int_equal(rte_mempool_avail_count(r.pool), r.in_pool);
	}
	rig_stop(&r);
	rte_mempool_free(other);
}

/* The next message would make it longer than the MTU of a port. */
static void min_mtu_bounds(void **state)
{
	static const char yaml[] = "ports:\n"
				   "  - {name: a, device: net_null0}\n"
				   "  - {name: b, device: net_null1, mtu: 600}\n"
				   "bridges: [{name: bridge0, ports: [a, b]}]\n"
				   "aggregation:\n  encapsulate:\n" ENTRY
				   ", max_messages: 200, max_delay: unlimited}\n";
	struct agg_seen s;
	struct rig r;

	rig_start(&r, yaml, false, false);
	agg_put(&r, A, 0, 40);
	rig_walk(&r);
	agg_take(&r, B, &s);
	assert_in_range(s.len, 14 + 600 - 30, 14 + 600);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_SIZE], 1);
	rig_stop(&r);
}

/* More streams than there may be: the oldest gives way. */
static void streams_are_bounded(void **state)
{
	struct udp u = agg_message(0);
	struct rig r;

	rig_start(&r,
		AGG_PORTS "aggregation:\n  max_streams: 2\n  encapsulate:\n" ENTRY
			  ", max_messages: 8, max_delay: 1ms}\n",
		false, false);
	for (unsigned i = 0; i < 3; i++) {
		u = agg_message(i);
		u.tos = (uint8_t)(i << 2);
		agg_put_udp(&r, A, &u);
		rig_walk(&r);
		agg_pass(&r, 10);
	}
	agg_take_of(&r, B, NULL, 0, 1);
	rig_expect_none(&r, B);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_EVICTED], 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_when_full),
		cmocka_unit_test(leaves_in_time),
		cmocka_unit_test(other_sessions_continue),
		cmocka_unit_test(groups_continue),
		cmocka_unit_test(frames_stay_in_order),
		cmocka_unit_test(each_reason_is_counted),
		cmocka_unit_test(ambiguous_payloads_are_dropped),
		cmocka_unit_test(no_buffers),
		cmocka_unit_test(chains_continue),
		cmocka_unit_test(buffers_go_back),
		cmocka_unit_test(min_mtu_bounds),
		cmocka_unit_test(streams_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
