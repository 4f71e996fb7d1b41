/* SPDX-License-Identifier: BSD-3-Clause */
/* Many aggregates flushed for one reason: a bounded number per graph walk, and none is lost. Frames
 * that do not fit in the small rings of the rig are counted as dropped; the counters match the
 * output.
 */
#include "config/aggregation/settings.h"
#include "biplane/counters/aggregation.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <string.h>

#include "dataplane/ports/link.h"
#include "dataplane/workers/walk.h"

#define STREAMS                                                                                    \
	AGG_PORTS "aggregation:\n  encapsulate:\n"                                                 \
		  "  - {port: a, to: {address: 10.1.0.9, udp_port: 1-9999}, max_messages: 60, "    \
		  "max_delay: "                                                                    \
		  "1ms}\n"
#define PACED                                                                                      \
	STREAMS "  decapsulate:\n"                                                                 \
		"  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: "         \
		"[10.0.0.0/24], "                                                                  \
		"pacing_gap: 1s}\n"
#define HELD 600u
#define BURST 60u
_Static_assert(HELD > 2 * BP_AGG_AT_ONCE && HELD < 3 * BP_AGG_AT_ONCE, "it takes three walks");
_Static_assert(BURST < RIG_DEPTH && HELD % BURST == 0, "a burst fits in a ring");

enum { A, B };

/* As many streams with one message each. */
static void hold(struct rig *r)
{
	for (unsigned i = 0; i < HELD; i++) {
		struct udp u = agg_message(i % 200);

		u.dport = (uint16_t)(1 + i);
		agg_put_udp(r, A, &u);
		if ((i + 1) % BURST == 0)
			rig_walk(r);
	}
	assert_int_equal(rig_counter(r, BP_C_ENCAP_MESSAGE), HELD);
	assert_int_equal(rig_counter(r, BP_C_ENCAP_AGGREGATE), 0);
	assert_int_equal(r->shm.agg.stats->waiting, HELD);
}

/* They leave in three walks. */
static void leave_in_three(struct rig *r)
{
	assert_int_equal(rig_counter(r, BP_C_ENCAP_AGGREGATE), 0);
	rig_walk(r);
	assert_int_equal(rig_counter(r, BP_C_ENCAP_AGGREGATE), BP_AGG_AT_ONCE);
	rig_walk(r);
	assert_int_equal(rig_counter(r, BP_C_ENCAP_AGGREGATE), 2 * BP_AGG_AT_ONCE);
	assert_true(bp_agg_worker_holds(bp_agg_worker_of(r->worker)));
	rig_walk(r);
	assert_int_equal(rig_counter(r, BP_C_ENCAP_AGGREGATE), HELD);
	assert_false(bp_agg_worker_holds(bp_agg_worker_of(r->worker)));
}

static void max_delay_flush_is_bounded(void **state)
{
	struct rig r;

	rig_start(&r, STREAMS, false, false);
	hold(&r);
	agg_pass(&r, 1000000);
	leave_in_three(&r);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_TIME], HELD);
	rig_stop(&r);
}

static void link_down_flush_is_bounded(void **state)
{
	struct rig r;

	rig_start(&r, STREAMS, false, false);
	assert_true(bp_link_poll(A, true));
	hold(&r);
	assert_int_equal(rte_eth_dev_set_link_down(A), 0);
	assert_false(bp_link_poll(A, true));
	leave_in_three(&r);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_LINK], HELD);
	/* That is over: the next one waits again. */
	agg_put(&r, A, 0, 1);
	rig_walk(&r);
	assert_int_equal(r.shm.agg.stats->waiting, 1);
	rig_stop(&r);
}

/* The old rules hold until all that is theirs has left. */
static void rule_change_flush_is_bounded(void **state)
{
	struct bp_agg_rules rules;
	struct rig r;

	rig_start(&r, STREAMS, false, false);
	hold(&r);
	rules = bp_config_aggregation(r.config)->rules;
	rules.aggregate[0].messages = 2;
	bp_seqlock_write(&r.shm.agg.plan->lock, &rules, sizeof(rules));
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->rules.aggregate[0].messages, 60);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_RELOAD], BP_AGG_AT_ONCE);
	/* Others are written meanwhile: the last ones are taken. */
	rules.aggregate[0].messages = 3;
	bp_seqlock_write(&r.shm.agg.plan->lock, &rules, sizeof(rules));
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->rules.aggregate[0].messages, 60);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->rules.aggregate[0].messages, 3);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_AGGREGATE), HELD);
	assert_int_equal(r.shm.agg.stats->aggregates, 0); /* of the new rules */
	rig_stop(&r);
}

static void shutdown_flush_is_bounded(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.clock = &clock};
	struct rig r;

	rig_start(&r, STREAMS, false, false);
	bp_clock_init(&clock);
	hold(&r);
	args.worker = r.worker;
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_AGGREGATE), HELD);
	assert_false(bp_agg_worker_holds(bp_agg_worker_of(r.worker)));
	rig_stop(&r);
}

/* HELD messages that wait for their pace, and one that left at once; `s`: the aggregate. */
static void hold_paced(struct rig *r, struct agg_seen *s)
{
	agg_put(r, A, 0, BURST);
	rig_walk(r);
	agg_take_of(r, B, s, 0, BURST);
	for (unsigned i = 0; i < HELD / BURST; i++) {
		rig_put(r, B, s->frame, s->len);
		rig_walk(r);
	}
	assert_int_equal(bp_agg_worker_of(r->worker)->waiting, HELD - 1);
	assert_int_equal(r->shm.agg.disagg_stats->waiting, HELD - 1);
}

/* Queues grow no longer while they are emptied, whatever comes in. */
static void pace_change_is_bounded(void **state)
{
	struct agg_seen s;
	struct rig r;

	rig_start(&r, PACED, false, false);
	hold_paced(&r, &s);
	agg_unpace(&r);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - BP_AGG_AT_ONCE);
	rig_put(&r, B, s.frame, s.len);
	bp_graph_walk(r.worker, BP_WALKS_TIMED); /* rig_walk() does until nothing comes in */
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - 2 * BP_AGG_AT_ONCE);
	assert_true(bp_agg_worker_of(r.worker)->rules.disaggregate[0].gap_ns != 0);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	assert_true(bp_agg_worker_of(r.worker)->rules.disaggregate[0].gap_ns == 0);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), HELD + BURST);
	rig_stop(&r);
}

/* No message is held on either side; then messages are paced again. */
static void link_down_flush_is_bounded_with_pacing(void **state)
{
	struct bp_agg_rules rules;
	struct agg_seen s;
	struct rig r;

	rig_start(&r, PACED, false, false);
	assert_true(bp_link_poll(A, true));
	hold_paced(&r, &s);
	agg_put(&r, A, 0, 3);
	rig_walk(&r);
	assert_int_equal(r.shm.agg.stats->waiting, 3);
	assert_int_equal(rte_eth_dev_set_link_down(A), 0);
	assert_false(bp_link_poll(A, true));
	/* Rules that come meanwhile wait until all has left, and add nothing to a walk's number. */
	rules = bp_config_aggregation(r.config)->rules;
	rules.aggregate[0].messages = 2;
	bp_seqlock_write(&r.shm.agg.plan->lock, &rules, sizeof(rules));
	rig_walk(&r);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_LINK], 1);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - BP_AGG_AT_ONCE);
	rig_put(&r, B, s.frame, s.len);
	bp_graph_walk(r.worker, BP_WALKS_TIMED); /* rig_walk() does until nothing comes in */
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - 2 * BP_AGG_AT_ONCE);
	assert_int_equal(bp_agg_worker_of(r.worker)->rules.aggregate[0].messages, 60);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	assert_int_equal(r.shm.agg.disagg_stats->waiting, 0);
	assert_int_equal(bp_agg_worker_of(r.worker)->rules.aggregate[0].messages, 2);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), HELD + BURST);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, BURST - 1);
	/* A link alone, whose loss is over when all has left. */
	assert_int_equal(rte_eth_dev_set_link_up(A), 0);
	assert_true(bp_link_poll(A, true));
	assert_int_equal(rte_eth_dev_set_link_down(A), 0);
	assert_false(bp_link_poll(A, true));
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	rig_walk(&r);
	assert_int_equal(
		bp_agg_worker_of(r.worker)->waiting, BURST); /* a gap from the last that left */
	rig_stop(&r);
}

/* A plan that is withdrawn before the queues are empty leaves them their pace. */
static void pace_change_back_is_bounded(void **state)
{
	struct agg_seen s;
	struct rig r;

	rig_start(&r, PACED, false, false);
	hold_paced(&r, &s);
	agg_unpace(&r);
	rig_walk(&r);
	bp_seqlock_write(&r.shm.agg.plan->lock, &bp_config_aggregation(r.config)->rules,
		sizeof(struct bp_agg_rules));
	rig_put(&r, B, s.frame, s.len);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - BP_AGG_AT_ONCE + BURST);
	rig_walk(&r);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, HELD - 1 - BP_AGG_AT_ONCE + BURST);
	rig_stop(&r);
}

static void shutdown_flush_is_bounded_with_pacing(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.clock = &clock};
	struct agg_seen s;
	struct rig r;

	rig_start(&r, PACED, false, false);
	bp_clock_init(&clock);
	hold_paced(&r, &s);
	rig_put(&r, B, s.frame, s.len);
	args.worker = r.worker;
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	assert_int_equal(bp_agg_worker_of(r.worker)->waiting, 0);
	assert_int_equal(rig_counter(&r, BP_C_DECAP_MESSAGE), HELD + BURST);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(max_delay_flush_is_bounded),
		cmocka_unit_test(link_down_flush_is_bounded),
		cmocka_unit_test(rule_change_flush_is_bounded),
		cmocka_unit_test(shutdown_flush_is_bounded),
		cmocka_unit_test(pace_change_is_bounded),
		cmocka_unit_test(pace_change_back_is_bounded),
		cmocka_unit_test(link_down_flush_is_bounded_with_pacing),
		cmocka_unit_test(shutdown_flush_is_bounded_with_pacing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
