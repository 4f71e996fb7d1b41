/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes disaggregate and agg_timer: restored and refused aggregates, and pacing. */
#include "config/aggregation/settings.h"
#include "biplane/counters/aggregation.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <string.h>

#include "dataplane/workers/walk.h"

#define MAKE                                                                                       \
	"aggregation:\n  encapsulate:\n"                                                           \
	"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 8, max_delay: "      \
	"1ms}\n"
#define TAKE                                                                                       \
	"  decapsulate:\n"                                                                         \
	"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: [10.0.0.0/24]"
#define PLAIN AGG_PORTS MAKE TAKE "}\n"
#define PACED AGG_PORTS MAKE TAKE ", pacing_gap: 10us}\n"
#define GAP 10000u

enum { A, B };

/* An aggregate of messages first .. first + n - 1, made by this worker at port a. */
static void make(struct rig *r, unsigned first, unsigned n, struct agg_seen *s)
{
	agg_put(r, A, first, n);
	rig_walk(r);
	if (n < 8) {
		agg_pass(r, 1000000);
		rig_walk(r);
	}
	agg_take_of(r, B, s, first, n);
}

/* A rig that has made an aggregate of messages 0 to 7. */
static void begin(struct rig *r, const char *yaml, struct agg_seen *s)
{
	rig_start(r, yaml, false, false);
	make(r, 0, 8, s);
}

static void aggregates_are_decapsulated(void **state)
{
	const struct bp_disagg_stats *st;
	struct agg_seen s[2];
	struct rig r;

	rig_start(&r, PLAIN, false, false);
	make(&r, 0, 8, &s[0]);
	make(&r, 8, 3, &s[1]);
	rig_put(&r, B, s[0].frame, s[0].len);
	rig_put(&r, B, s[1].frame, s[1].len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 11);
	rig_expect_none(&r, A);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_AGGREGATE), 2);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), 11);
	st = r.shm.agg.disagg_stats;
	assert_int_equal(st->messages, 11);
	assert_int_equal(r.shm.port_stats[A].tx_bytes, st->message_bytes);
	rig_stop(&r);
}

/* Each frame is as long as its own message, where some in a row are as long and where they are not;
 * with Don't Fragment and without, IPv4 and IPv6, which go other ways through the node. */
static void each_frame_has_its_own_length(void **state)
{
	static const uint32_t len[8] = {22, 22, 22, 0, 5, 5, 40, 22};
	static uint8_t payload[40] = "some bytes";
	const struct bp_disagg_stats *st;
	struct udp u[8];
	struct rig r;

	rig_start(&r,
		AGG_PORTS
		"aggregation:\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 8}\n"
		"  - {port: a, to: {address: fd00::9, udp_port: 5555}, max_messages: 8}\n" TAKE
		"}\n"
		"  - {port: b, to: {address: fd00::9, udp_port: 5555}, allowed_senders: "
		"[fd00::/16]}\n",
		false, false);
	for (unsigned round = 0; round < 3; round++) {
		struct agg_seen s;

		for (unsigned i = 0; i < 8; i++) {
			u[i] = agg_message(i);
			u[i].payload = payload;
			u[i].len = len[i];
			u[i].df = round == 0;
			if (round == 2) {
				u[i].src = "fd00::1";
				u[i].dst = "fd00::9";
			}
			agg_put_udp(&r, A, &u[i]);
		}
		rig_walk(&r);
		agg_take(&r, B, &s);
		rig_put(&r, B, s.frame, s.len);
		rig_walk(&r);
		for (unsigned i = 0; i < 8; i++) {
			struct rte_mbuf *m = bp_ring_ports_take(&r.ports, A);

			assert_non_null(m);
			assert_int_equal(m->pkt_len, (round == 2 ? 62 : 42) + len[i]);
			assert_int_equal(m->data_len, m->pkt_len);
			assert_int_equal(m->nb_segs, 1);
			assert_int_equal(rte_mbuf_refcnt_read(m), 1);
			assert_int_equal(m->port, B);
			assert_int_equal(m->ol_flags | m->packet_type | m->vlan_tci, 0);
			assert_memory_equal(rte_pktmbuf_mtod_offset(m, void *, m->pkt_len - len[i]),
				payload, len[i]);
			rte_pktmbuf_free(m);
		}
		rig_expect_none(&r, A);
	}
	st = r.shm.agg.disagg_stats;
	assert_int_equal(st[0].messages + st[1].messages, 24);
	assert_int_equal(r.shm.port_stats[A].tx_bytes, st[0].message_bytes + st[1].message_bytes);
	rig_stop(&r);
}

/* An aggregate longer than a buffer arrives in several segments, from drivers that scatter. */
static void longer_than_a_buffer(void **state)
{
	static uint8_t payload[4][900], built[4096], frame[4096];
	struct bp_agg_full_writer w;
	struct udp one, all;
	size_t len;
	struct rig r;

	rig_start(&r, PLAIN, false, false);
	bp_agg_full_begin(&w, built, BP_AGG_FULL_FRONT4(4), 4000, 4, 4);
	for (unsigned i = 0; i < 4; i++) {
		const struct bp_agg_sender from = {.addr = {10, 0, 0, (uint8_t)(1 + i)},
			.port = (uint16_t)(40000 + i),
			.hops = 64};

		memset(payload[i], (int)i, sizeof(payload[i]));
		assert_true(bp_agg_full_append(&w, &from, payload[i], sizeof(payload[i])));
	}
	all = agg_message(0);
	all.payload = bp_agg_full_end(&w, 1, 1, &len);
	all.len = (uint32_t)len;
	len = agg_frame(&all, frame);
	assert_true(len > RIG_ROOM);
	rig_put(&r, B, frame, (uint32_t)len);
	/* other destinations and damaged aggregates, as in one segment */
	frame[len - 1] ^= 1;
	rig_put(&r, B, frame, (uint32_t)len);
	frame[33] ^= 1; /* another destination */
	rig_put(&r, B, frame, (uint32_t)len);
	rig_walk(&r);
	for (unsigned i = 0; i < 4; i++) {
		one = agg_message(i);
		one.payload = payload[i];
		one.len = sizeof(payload[i]);
		agg_expect_udp(&r, A, &one);
	}
	rig_expect(&r, A, frame, (uint32_t)len);
	rig_expect_none(&r, A);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_AGGREGATE), 1);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_UDP_CHECKSUM), 1);
	rig_stop(&r);
}

/* Messages that came alone continue in their place. */
static void unlabelled_frames_are_forwarded(void **state)
{
	struct agg_seen s;
	struct rig r;

	begin(&r, PLAIN, &s);
	agg_put(&r, B, 20, 2);
	rig_put(&r, B, s.frame, s.len);
	agg_put(&r, B, 22, 1);
	rig_walk(&r);
	agg_expect(&r, A, 20, 2);
	agg_expect(&r, A, 0, 8);
	agg_expect(&r, A, 22, 1);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_BYPASS), 3);
	rig_stop(&r);
}

/* No message of a refused aggregate is sent, and each reason has a counter. */
static void each_refusal_has_a_counter(void **state)
{
	struct agg_seen s;
	uint8_t f[UDP_FRAME_MAX];
	struct udp u = agg_message(0);
	struct rig r;

	begin(&r, PLAIN, &s);
	s.frame[s.len - 1] ^= 1;
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_UDP_CHECKSUM), 1);
	s.frame[s.len - 1] ^= 1;
	s.frame[s.l3 + 25]--;
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_LENGTH), 1);
	u.payload = "\xfd\xa6\x24\x01\0\0\0\0\0\0\0\0\0\0\0";
	u.len = 16;
	rig_put(&r, B, f, agg_frame(&u, f));
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_VERSION), 1);
	u.payload = "\xfd\xa6\x14\x01\0\0\0\0\0\0\0\0\0\0\0";
	rig_put(&r, B, f, agg_frame(&u, f));
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_CHECKSUM), 1);
	u = agg_message(0);
	u.src = "10.0.1.1";
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_pass(&r, 1000000);
	rig_walk(&r);
	agg_take(&r, B, &s);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_SOURCE_NOT_ALLOWED), 1);
	rig_expect_none(&r, A);
	assert_int_equal(r.shm.agg.disagg_stats->refused, 5);
	rig_stop(&r);
}

/* Fewer aggregates are taken at one time where each becomes many messages, and none is lost by it.
 */
static void bursts_follow(void **state)
{
	struct agg_seen s;
	uint64_t before;
	unsigned burst;
	struct rig r;

	rig_start(&r,
		AGG_PORTS
		"aggregation:\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 24}\n" TAKE
		"}\n",
		false, false);
	assert_int_equal(r.worker->small_burst, 1u << B);
	agg_put(&r, A, 0, 24);
	rig_walk(&r);
	agg_take_of(&r, B, &s, 0, 24);
	for (unsigned round = 0; round < 9; round++) {
		for (unsigned i = 0; i < 30; i++)
			rig_put(&r, B, s.frame, s.len);
		rig_walk(&r);
	}
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), 9 * 30 * 24);
	assert_in_range(r.worker->small_burst_size, 4, 10); /* 24 * 10 fit */
	burst = r.worker->small_burst_size;
	before = r.worker->rx_frames;
	for (unsigned i = 0; i < 30; i++) {
		rig_put(&r, B, s.frame, s.len);
		agg_put(&r, A, 0, 1);
	}
	bp_graph_walk(r.worker, 0);
	assert_int_equal(r.worker->rx_frames - before, burst + 30);
	rig_walk(&r);
	for (unsigned i = 0; i < 6; i++) {
		agg_put(&r, B, 30, 1);
		rig_walk(&r);
	}
	assert_int_equal(r.worker->small_burst_size, BP_RX_BURST);
	rig_stop(&r);
}

/* All messages or none, and the counters match the output. */
static void no_buffers(void **state)
{
	struct rte_mbuf *held[RIG_MBUFS];
	struct agg_seen s;
	struct rig r;
	unsigned n = 0;

	begin(&r, PLAIN, &s);
	rig_put(&r, B, s.frame, s.len);
	while (n < RIG_MBUFS && (held[n] = rte_pktmbuf_alloc(r.pool)) != NULL)
		n++;
	rte_pktmbuf_free_bulk(held, 7);
	rig_walk(&r);
	assert_int_equal(rte_mempool_avail_count(r.pool), 8); /* those, and the aggregate's */
	rte_pktmbuf_free_bulk(held + 7, n - 7);
	rig_expect_none(&r, A);
	assert_int_equal(rig_counter(&r, BP_C_DROP_DECAP_NO_MBUF), 1);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), 0);
	assert_int_equal(r.shm.agg.disagg_stats->messages, 0);
	assert_int_equal(r.shm.agg.disagg_stats->refused, 1);
	rig_stop(&r);
}

/* The first immediately, the others with a gap between, and none early. */
static void pace_is_kept(void **state)
{
	struct agg_seen s;
	struct rig r;

	begin(&r, PACED, &s);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 1);
	for (unsigned i = 1; i < 8; i++) {
		assert_true(bp_agg_worker_next_due(bp_agg_worker_of(r.worker)) ==
			    r.worker->mono_ns + GAP);
		agg_pass(&r, GAP - 1);
		rig_walk(&r);
		rig_expect_none(&r, A);
		agg_pass(&r, 1);
		rig_walk(&r);
		agg_expect(&r, A, i, 1);
		rig_expect_none(&r, A);
	}
	assert_true(bp_agg_worker_next_due(bp_agg_worker_of(r.worker)) == UINT64_MAX);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	assert_int_equal(r.shm.agg.disagg_stats->paced, 7);
	rig_stop(&r);
}

/* A message that came alone does not overtake those that wait, and waits for none otherwise. */
static void plain_waits_behind(void **state)
{
	struct agg_seen s;
	struct rig r;

	begin(&r, PACED, &s);
	agg_put(&r, B, 30, 2);
	rig_put(&r, B, s.frame, s.len);
	agg_put(&r, B, 40, 1);
	rig_walk(&r);
	agg_expect(&r, A, 30, 2);
	agg_expect(&r, A, 0, 1);
	rig_expect_none(&r, A);
	for (unsigned i = 1; i < 9; i++) {
		agg_pass(&r, GAP);
		rig_walk(&r);
		agg_expect(&r, A, i < 8 ? i : 40, 1);
	}
	rig_stop(&r);
}

/* A queue that is full lets its oldest go, in order. */
static void full_queue_releases_frames(void **state)
{
	struct agg_seen s;
	struct rig r;

	rig_start(&r,
		AGG_PORTS
		"aggregation:\n  pacing_queue_len: 16\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 24}\n" TAKE
		", pacing_gap: 1ms}\n",
		false, false);
	agg_put(&r, A, 0, 24);
	rig_walk(&r);
	agg_take_of(&r, B, &s, 0, 24);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 8);
	rig_expect_none(&r, A);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 16);
	assert_int_equal(r.shm.agg.disagg_stats->early, 7);
	rig_stop(&r);
}

/* Entries that a reload adds share the buffers that there are. */
static void queues_share_their_bound(void **state)
{
	struct bp_agg_rules rules;
	struct agg_seen s;
	struct rig r;

	rig_start(&r,
		AGG_PORTS
		"aggregation:\n  pacing_queue_len: 16\n  encapsulate:\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 16}\n"
		"  - {port: a, to: {address: 10.1.0.9, udp_port: 5556}, max_messages: 16}\n" TAKE
		", pacing_gap: 1ms}\n",
		false, false);
	assert_int_equal(bp_agg_worker_max_paced(r.config), 16);
	rules = bp_config_aggregation(r.config)->rules;
	rules.n_disaggregate = 2;
	rules.disaggregate[1] = rules.disaggregate[0];
	rules.disaggregate[1].to.udp_first = rules.disaggregate[1].to.udp_last = 5556;
	bp_seqlock_write(&r.shm.agg.plan->lock, &rules, sizeof(rules));
	rig_walk(&r);
	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 16; i++) {
			struct udp u = agg_message(i);

			u.dport = (uint16_t)(5555 + k);
			agg_put_udp(&r, A, &u);
		}
		rig_walk(&r);
		agg_take_of(&r, B, &s, 0, 16);
		rig_put(&r, B, s.frame, s.len);
	}
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 16);
	assert_int_equal(r.shm.agg.disagg_stats[0].waiting, 15);
	assert_int_equal(r.shm.agg.disagg_stats[1].waiting, 1);
	assert_int_equal(r.shm.agg.disagg_stats[1].early, 14);
	rig_stop(&r);
}

/* Of the queue's messages none is lost, and none waits for a pace that is no more. */
static void all_leave_at_a_reload(void **state)
{
	struct agg_seen s;
	struct rig r;

	begin(&r, PACED, &s);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_unpace(&r);
	rig_walk(&r);
	agg_expect(&r, A, 0, 8);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	assert_int_equal(r.shm.agg.disagg_stats->waiting, 0);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 8);
	rig_stop(&r);
}

static void all_leave_at_the_end(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.clock = &clock};
	struct agg_seen s;
	struct rig r;

	rig_start(&r, AGG_PORTS MAKE TAKE ", pacing_gap: 1s}\n", false, false);
	bp_clock_init(&clock);
	make(&r, 0, 8, &s);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	agg_expect(&r, A, 0, 1);
	rig_put(&r, B, s.frame, s.len);
	args.worker = r.worker;
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	agg_expect(&r, A, 1, 7);
	agg_expect(&r, A, 0, 8);
	assert_int_equal(rte_mempool_avail_count(r.pool), r.in_pool);
	rig_stop(&r);
}

/* The paper's N-packet: the messages have its source. */
static void lin2018_format(void **state)
{
	static const char yaml[] = AGG_PORTS "aggregation:\n  encapsulate:\n"
					     "  - {port: a, to: {address: 10.1.0.9, udp_port: "
					     "5555}, format: lin2018, max_messages: "
					     "2}\n" TAKE ", format: lin2018}\n";
	static const uint8_t one[22] = {0xfa, 0, 0, 0, 0, 0, 'o', 'n', 'e'},
			     two[22] = {0xfa, 0, 0, 0, 0, 0, 't', 'w', 'o'};
	struct udp u = agg_message(0), v = agg_message(0);
	struct rte_mbuf *m;
	uint8_t f[48 + 32];
	struct rig r;

	u.payload = one;
	v.payload = two;
	u.len = v.len = sizeof(one);
	rig_start(&r, yaml, false, false);
	agg_put_udp(&r, A, &u);
	agg_put_udp(&r, A, &v);
	rig_walk(&r);
	m = bp_ring_ports_take(&r.ports, B);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, sizeof(f));
	memcpy(f, rte_pktmbuf_mtod(m, void *), sizeof(f));
	rte_pktmbuf_free(m);
	assert_int_equal(f[42], 0xfc);
	rig_put(&r, B, f, sizeof(f));
	rig_walk(&r);
	agg_expect_udp(&r, A, &u);
	agg_expect_udp(&r, A, &v);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregates_are_decapsulated),
		cmocka_unit_test(each_frame_has_its_own_length),
		cmocka_unit_test(longer_than_a_buffer),
		cmocka_unit_test(unlabelled_frames_are_forwarded),
		cmocka_unit_test(each_refusal_has_a_counter),
		cmocka_unit_test(bursts_follow),
		cmocka_unit_test(no_buffers),
		cmocka_unit_test(pace_is_kept),
		cmocka_unit_test(plain_waits_behind),
		cmocka_unit_test(full_queue_releases_frames),
		cmocka_unit_test(queues_share_their_bound),
		cmocka_unit_test(all_leave_at_a_reload),
		cmocka_unit_test(all_leave_at_the_end),
		cmocka_unit_test(lin2018_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
