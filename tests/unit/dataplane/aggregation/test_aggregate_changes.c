/* SPDX-License-Identifier: BSD-3-Clause */
/* Held aggregates during changes of rules, MTUs and links, and at the stop. */
#include "config/aggregation/settings.h"
#include "biplane/counters/aggregation.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/aggregation/agg_rig.h"

#include <string.h>

#include "dataplane/ports/link.h"

#define WIRE_OF(max_delay_)                                                                        \
	AGG_PORTS                                                                                  \
	"aggregation:\n  encapsulate:\n"                                                           \
	"  - {port: a, to: {address: 10.1.0.9, udp_port: 5555}, max_messages: 8, "                 \
	"max_delay: " max_delay_ "}\n"
#define WIRE WIRE_OF("1ms")
#define BOTH                                                                                       \
	WIRE "  decapsulate:\n"                                                                    \
	     "  - {port: b, to: {address: 10.1.0.9, udp_port: 5555}, allowed_senders: "            \
	     "[10.0.0.0/24], "                                                                     \
	     "pacing_gap: 10us}\n"
#define MS 1000000u

enum { A, B };

static struct bp_agg_rules rules_of(const struct rig *r)
{
	return bp_config_aggregation(r->config)->rules;
}

static void write_plan(struct rig *r, const struct bp_agg_rules *rules)
{
	bp_seqlock_write(&r->shm.agg.plan->lock, rules, sizeof(*rules));
}

static void rules_change(void **state)
{
	struct bp_agg_rules rules;
	struct udp u = agg_message(3);
	struct rig r;

	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 3);
	rig_walk(&r);
	rules = rules_of(&r);
	rules.aggregate[0].to.udp_first = rules.aggregate[0].to.udp_last = 7777;
	rules.aggregate[0].messages = 2;
	write_plan(&r, &rules);
	rig_expect_none(&r, B);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 3); /* held aggregates leave immediately */
	agg_put(&r, A, 3, 1);
	u.dport = 7777;
	agg_put_udp(&r, A, &u);
	agg_put_udp(&r, A, &u);
	rig_walk(&r);
	agg_expect(&r, B, 3, 1);
	agg_take(&r, B, NULL);
	rig_expect_none(&r, B);
	/* statistics are those of the rules active */
	assert_int_equal(r.shm.agg.stats->messages, 2);
	assert_int_equal(rig_counter(&r, BP_C_ENCAP_MESSAGE), 5);
	rig_stop(&r);
}

/* Both kinds go and come; frames go the shortest way that there is. */
static void entries_are_added_and_removed(void **state)
{
	struct bp_agg_rules rules, none = {0};
	struct rig r;

	rig_start(&r, BOTH, false, false);
	rules = rules_of(&r);
	assert_int_equal(r.worker->enter[A], BP_EDGE_AGGREGATE);
	assert_int_equal(r.worker->enter[B], BP_EDGE_DISAGGREGATE);
	for (unsigned round = 0; round < 2; round++) {
		agg_put(&r, A, 0, 3);
		rig_walk(&r);
		write_plan(&r, &none);
		agg_put(&r, A, 3, 1); /* received in the walk that takes the rules */
		rig_walk(&r);
		agg_take_of(&r, B, NULL, 0, 3);
		agg_expect(&r, B, 3, 1);
		assert_int_equal(r.worker->enter[A], BP_EDGE_PORT + B);
		assert_int_equal(r.worker->enter[B], BP_EDGE_PORT + A);
		agg_put(&r, A, 4, 8);
		agg_put(&r, B, 4, 8);
		rig_walk(&r);
		agg_expect(&r, B, 4, 8);
		agg_expect(&r, A, 4, 8);
		write_plan(&r, &rules);
		rig_walk(&r);
		assert_int_equal(r.worker->enter[A], BP_EDGE_AGGREGATE);
		agg_put(&r, A, 4, 8);
		rig_walk(&r);
		agg_take_of(&r, B, NULL, 4, 8);
	}
	rules.aggregate[0].port = B;
	rules.disaggregate[0].port = B;
	write_plan(&r, &rules);
	rig_walk(&r);
	assert_int_equal(r.worker->enter[A], BP_EDGE_PORT + B);
	assert_int_equal(r.worker->enter[B], BP_EDGE_AGGREGATE);
	assert_int_equal(bp_agg_worker_of(r.worker)->after_aggregate[B], BP_EDGE_DISAGGREGATE);
	assert_int_equal(bp_agg_worker_of(r.worker)->after_disaggregate[B], BP_EDGE_PORT + A);
	rig_stop(&r);
}

/* A control plane that starts again writes the rules that are active: no one is disturbed. */
static void same_rules_have_no_effect(void **state)
{
	struct bp_agg_rules rules;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	rules = rules_of(&r);
	agg_put(&r, A, 0, 3);
	rig_walk(&r);
	write_plan(&r, &rules);
	rig_walk(&r);
	rig_expect_none(&r, B);
	agg_put(&r, A, 3, 5);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 8);
	assert_int_equal(r.shm.agg.stats->messages, 8);
	rig_stop(&r);
}

/* A plan that is half written, or was when its writer was killed, or is damaged, is none. */
static void incomplete_settings_are_ignored(void **state)
{
	struct bp_agg_rules rules, wrong;
	struct rig r;

	rig_start(&r, BOTH, false, false);
	rules = rules_of(&r);
	rules.aggregate[0].messages = 2;
	write_plan(&r, &rules);
	atomic_fetch_add(&r.shm.agg.plan->lock.generation, 1);
	agg_put(&r, A, 0, 2);
	rig_walk(&r);
	rig_expect_none(&r, B);
	write_plan(&r, &rules);
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 2);
	for (unsigned i = 0; i < 6; i++) {
		wrong = rules_of(&r);
		if (i == 0)
			wrong.n_aggregate = BP_AGG_RULES_MAX + 1;
		else if (i == 1)
			wrong.n_disaggregate = UINT32_MAX;
		else if (i == 2)
			wrong.aggregate[0].port = BP_MAX_PORTS;
		else if (i == 3)
			wrong.disaggregate[0].port = 0xff;
		else if (i == 4)
			wrong.aggregate[0].n_senders = BP_AGG_SENDERS_MAX + 1;
		else
			wrong.disaggregate[0].n_senders = BP_AGG_SENDERS_MAX + 1;
		write_plan(&r, &wrong);
		agg_put(&r, A, 0, 2);
		rig_walk(&r);
		agg_take_of(&r, B, NULL, 0, 2);
	}
	rig_stop(&r);
}

static void min_mtu_changes(void **state)
{
	struct agg_seen s;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	agg_put(&r, A, 0, 4);
	rig_walk(&r);
	r.worker->mtu[B] = 160;
	rig_walk(&r); /* too long now, but it is not split again */
	agg_take_of(&r, B, NULL, 0, 4);
	agg_put(&r, A, 4, 8);
	rig_walk(&r);
	agg_take(&r, B, &s);
	assert_in_range(s.head.count, 2, 7);
	assert_true(s.len <= 14 + 160);
	rig_stop(&r);
}

static void link_loss_flushes(void **state)
{
	struct rig r;

	rig_start(&r, WIRE, false, false);
	assert_true(bp_link_poll(A, true));
	assert_true(bp_link_poll(B, true));
	agg_put(&r, A, 0, 3);
	rig_walk(&r);
	rig_expect_none(&r, B);
	assert_int_equal(rte_eth_dev_set_link_down(A), 0);
	assert_false(bp_link_poll(A, true));
	assert_false(bp_link_poll(A, true)); /* lost once, however often it is asked */
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 0, 3);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_LINK], 1);
	agg_put(&r, A, 3, 1);
	rig_walk(&r);
	rig_expect_none(&r, B);
	/* back, and lost again, as a driver whose word is not taken says */
	assert_int_equal(rte_eth_dev_set_link_up(A), 0);
	assert_true(bp_link_poll(A, false));
	rig_walk(&r);
	rig_expect_none(&r, B);
	assert_int_equal(rte_eth_dev_set_link_down(A), 0);
	assert_false(bp_link_poll(A, false));
	rig_walk(&r);
	agg_take_of(&r, B, NULL, 3, 1);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_LINK], 2);
	rig_stop(&r);
}

/* Told to stop before it began, it still forwards what it finds, and holds nothing. */
static void stop_flushes(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.clock = &clock};
	struct rig r;

	/* the time is real here, and the worker may be descheduled before it looks */
	rig_start(&r, WIRE_OF("1h"), false, false);
	bp_clock_init(&clock);
	agg_put(&r, A, 0, 11);
	args.worker = r.worker;
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	agg_take_of(&r, B, NULL, 0, 8);
	agg_take_of(&r, B, NULL, 8, 3);
	assert_int_equal(r.shm.agg.stats->flushed[BP_AGG_FLUSH_STOP], 1);
	assert_int_equal(rte_mempool_avail_count(r.pool), r.in_pool);
	rig_stop(&r);
}

/* A plan that was there before the worker may be that of another file. */
static void begins_with_its_own_file(void **state)
{
	struct bp_agg_rules other;
	struct bp_agg_worker *g;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	other = bp_config_aggregation(r.config)->rules;
	other.aggregate[0].messages = 3;
	write_plan(&r, &other);
	g = bp_agg_worker_create(r.config, &r.shm.agg, 0);
	assert_non_null(g);
	assert_int_equal(g->rules.aggregate[0].messages, 8);
	assert_false(bp_agg_worker_config_changed(g));
	write_plan(&r, &other);
	assert_true(bp_agg_worker_config_changed(g));
	bp_agg_worker_free(g);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_change),
		cmocka_unit_test(entries_are_added_and_removed),
		cmocka_unit_test(same_rules_have_no_effect),
		cmocka_unit_test(incomplete_settings_are_ignored),
		cmocka_unit_test(min_mtu_changes),
		cmocka_unit_test(link_loss_flushes),
		cmocka_unit_test(stop_flushes),
		cmocka_unit_test(begins_with_its_own_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
