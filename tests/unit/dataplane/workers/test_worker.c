/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's life: which rules it reads and when it says so, draining, and what it leaves behind.
 */
#include "config/config.h"
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"
#include "shm/rules/policy.h"

#include <string.h>
#include <time.h>

#define WIRE                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"

static void says_which_rules_it_reads(void **state)
{
	struct bp_shm_global *g;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	g = r.shm.global;
	assert_true(atomic_load(&g->rules_seen[0]) == UINT64_MAX);
	bp_worker_apply_rules(r.worker);
	assert_int_equal(atomic_load(&g->rules_seen[0]), 0);
	assert_ptr_equal(r.worker->rules, r.shm.rules.banks);
	atomic_store(&r.shm.control->rules_active, 7 << 1 | 1);
	assert_int_equal(atomic_load(&g->rules_seen[0]), 0); /* not before its next walk */
	bp_worker_apply_rules(r.worker);
	assert_int_equal(atomic_load(&g->rules_seen[0]), 7 << 1 | 1);
	assert_ptr_equal(r.worker->rules, r.shm.rules.banks + r.shm.rules.bank_size);
	bp_worker_release_rules(r.worker);
	assert_true(atomic_load(&g->rules_seen[0]) == UINT64_MAX);
	rig_stop(&r);
}

/*
 * Between its launch and its first walk, a worker counts: the control plane reports rules as active
 * only after it uses them.
 */
static void new_rules_wait_for_the_first_walk(void **state)
{
	struct bp_ruleset_copies *copies;
	char err[256];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	copies = bp_ruleset_copies_create(&r.shm, 1);
	assert_non_null(copies);
	bp_ruleset_copies_poll(copies);
	assert_int_equal(bp_generation_pending(&r.shm.rules), -1); /* no worker was launched */
	bp_ruleset_copies_begin(copies, 0);
	assert_int_equal(bp_generation_pending(&r.shm.rules), -1);
	bp_ruleset_copies_poll(copies);
	assert_int_equal(
		bp_ruleset_build(bp_generation_bank(&r.shm.rules, 1), r.shm.rules.bank_size, NULL,
			0, r.shm.max_rules, NULL, NULL, 1, 1, err, sizeof(err)),
		0);
	bp_generation_publish(&r.shm.rules, 1 << 1 | 1);
	assert_int_equal(bp_generation_pending(&r.shm.rules), 0);
	assert_int_equal(bp_ruleset_copies_poll(copies), BP_RULESET_COPIES_APPLIED);
	bp_ruleset_copies_poll(copies);
	assert_int_equal(bp_generation_pending(&r.shm.rules), 0);
	r.worker->ruleset_copies = copies;
	bp_worker_apply_rules(r.worker);
	bp_ruleset_copies_poll(copies);
	assert_int_equal(bp_generation_pending(&r.shm.rules), -1);
	bp_worker_release_rules(r.worker);
	bp_ruleset_copies_poll(copies);
	bp_ruleset_copies_free(copies);
	r.worker->ruleset_copies = NULL;
	rig_stop(&r);
}

/* ---- statistics of the policy over a reload ---- */

static void load_policy(struct rig *r, struct bp_ruleset_copies *copies, uint64_t generation,
	uint8_t preset, const char *const names[2])
{
	struct bp_policy_rule_spec rules[2] = {{.action = BP_POLICY_ALLOW}, {.action = 0}};
	const struct bp_policy_spec policy = {
		.given = true, .preset = preset, .n_rules = 2, .rules = rules};
	struct bp_ruleset_input input = {.max_rules = r->shm.max_rules,
		.policy = &policy,
		.max_policy_rules = r->shm.max_policy_rules,
		.generation = generation,
		.now_ns = 1};
	char err[256];

	for (unsigned i = 0; i < 2; i++)
		snprintf(rules[i].name, sizeof(rules[i].name), "%s", names[i]);
	if (generation > 1)
		input.old = bp_shm_rules(&r->shm, bp_generation_active(&r->shm.rules));
	assert_int_equal(bp_ruleset_compile(bp_generation_bank(&r->shm.rules, generation & 1),
				 r->shm.rules.bank_size, &input, err, sizeof(err)),
		0);
	bp_generation_publish(&r->shm.rules, generation << 1 | (generation & 1));
	assert_int_equal(bp_ruleset_copies_poll(copies), BP_RULESET_COPIES_APPLIED);
	bp_worker_apply_rules(r->worker);
	(void)bp_ruleset_copies_poll(copies);
}

/* Of rule i of the active policy; 2: of the default. */
static _Atomic uint64_t *matched(struct rig *r, uint32_t i)
{
	const struct bp_ruleset *rs = r->worker->rules;

	return &r->shm.policy_stats[i < 2 ? bp_policy_rule(rs, i)->slot : 0].matched;
}

static void statistics_of_a_new_policy_rule_begin_at_zero(void **state)
{
	static const char *const names[][2] = {
		{"a", "b"}, {"a", "c"}, {"a", "b"}, {"c", "a"}, {"d", "e"}};
	struct bp_ruleset_copies *copies;
	struct rig r;

	rig_start(&r, WIRE "mqtt: {max_policy_rules: 2}\n", false, false);
	assert_int_equal(r.shm.max_policy_rules, 2);
	copies = bp_ruleset_copies_create(&r.shm, 1);
	assert_non_null(copies);
	r.worker->ruleset_copies = copies;
	bp_ruleset_copies_begin(copies, 0);
	load_policy(&r, copies, 1, BP_POLICY_OBSERVE, names[0]);
	atomic_store(matched(&r, 0), 10);
	atomic_store(matched(&r, 1), 20);
	atomic_store(matched(&r, 2), 30);
	/* c has a slot that nothing used, b ends */
	load_policy(&r, copies, 2, BP_POLICY_OBSERVE, names[1]);
	assert_int_equal(atomic_load(matched(&r, 0)), 10);
	assert_int_equal(atomic_load(matched(&r, 1)), 0);
	assert_int_equal(atomic_load(matched(&r, 2)), 30);
	atomic_store(matched(&r, 1), 40);
	/* b returns to the slot that it had, and is a new rule; the default is another one */
	load_policy(&r, copies, 3, BP_POLICY_ALLOW, names[2]);
	assert_int_equal(atomic_load(matched(&r, 0)), 10);
	assert_int_equal(atomic_load(matched(&r, 1)), 0);
	assert_int_equal(atomic_load(matched(&r, 2)), 0);
	/* another order */
	load_policy(&r, copies, 4, BP_POLICY_ALLOW, names[3]);
	assert_int_equal(atomic_load(matched(&r, 0)), 0);
	assert_int_equal(atomic_load(matched(&r, 1)), 10);
	atomic_store(matched(&r, 0), 50);
	/* all that there may be are replaced */
	load_policy(&r, copies, 5, BP_POLICY_ALLOW, names[4]);
	assert_int_equal(atomic_load(matched(&r, 0)), 0);
	assert_int_equal(atomic_load(matched(&r, 1)), 0);
	bp_worker_release_rules(r.worker);
	bp_ruleset_copies_free(copies);
	r.worker->ruleset_copies = NULL;
	rig_stop(&r);
}

/* Stopped before its start, it still forwards the queued frames. */
static void stopped_worker_drains_its_queues(void **state)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.clock = &clock};
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	bp_clock_init(&clock);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 50; i++)
		rig_put(&r, 0, f, sizeof(f));
	args.worker = r.worker;
	atomic_store(&r.worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	for (unsigned i = 0; i < 50; i++)
		rig_expect(&r, 1, f, sizeof(f));
	assert_true(atomic_load(&r.shm.global->rules_seen[0]) == UINT64_MAX);
	assert_true(r.worker->mono_ns > 1000000000);
	rig_stop(&r);
}

static void nodes_are_published(void **state)
{
	struct bp_worker *workers[1];
	uint64_t objects = 0;
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 10; i++)
		rig_put(&r, 0, f, sizeof(f));
	rig_walk(&r);
	workers[0] = r.worker;
	bp_publish_nodes(&r.shm, workers, 1);
	for (unsigned i = 0; i < BP_MAX_NODES; i++)
		if (strcmp(r.shm.nodes[i].name, "bp_port_tx-1") == 0)
			objects = atomic_load(&r.shm.nodes[i].objects);
	assert_int_equal(objects, 10);
	rig_stop(&r);
}

static void totals_are_summed(void **state)
{
	struct bp_totals t;
	uint8_t f[64];
	struct rig r;

	rig_start(&r, WIRE, false, false);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 5; i++)
		rig_put(&r, 1, f, sizeof(f));
	rig_walk(&r);
	bp_totals_read(&r.shm, 2, &t);
	assert_int_equal(t.port[1].rx_packets, 5);
	assert_int_equal(t.port[1].rx_bytes, 5 * sizeof(f));
	assert_int_equal(t.port[0].tx_packets, 5);
	assert_int_equal(t.port[0].tx_bytes, 5 * sizeof(f));
	assert_int_equal(t.rx, 5);
	assert_int_equal(t.tx, 5);
	assert_int_equal(t.drops, 0);
	rig_stop(&r);
}

/* ---------------------------------------------------------------- away from its queues */

#define LONG_NS 30000000l

static rte_node_process_t slow_of;
static unsigned slow_times;

/* In the place of port_tx: the first frames take long. */
static uint16_t slow(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	const struct timespec pause = {.tv_nsec = LONG_NS};

	if (slow_times != 0) {
		slow_times--;
		nanosleep(&pause, NULL);
	}
	return slow_of(graph, node, objs, n);
}

static void slow_down(struct bp_worker *w)
{
	struct rte_node *node;
	rte_graph_off_t off;
	rte_node_t count;

	rte_graph_foreach_node(count, off, w->graph, node)
	{
		if (strcmp(node->name, "bp_port_tx-1") != 0)
			continue;
		slow_of = node->process;
		node->process = slow;
	}
	assert_non_null(slow_of);
}

/* Runs it with frames in its queue, the first `long_ones` bursts of which take LONG_NS. */
static void run_slowly(struct rig *r, unsigned long_ones)
{
	static struct bp_clock clock;
	struct bp_worker_args args = {.worker = r->worker, .clock = &clock};
	uint8_t f[64];

	bp_clock_init(&clock);
	frame_make(f, sizeof(f), 1, 2, 0x0800);
	for (unsigned i = 0; i < 50; i++)
		rig_put(r, 0, f, sizeof(f));
	slow_times = long_ones;
	slow_down(r->worker);
	atomic_store(&r->worker->stop, true);
	assert_int_equal(bp_worker_run(&args), 0);
	for (unsigned i = 0; i < 50; i++)
		rig_expect(r, 1, f, sizeof(f));
	assert_int_equal(slow_times, 0);
}

static void limit_is(struct bp_config *c, void *limit_ns)
{
	c->monitoring.poll_gap_warning_ns = *(uint64_t *)limit_ns;
}

static void a_long_walk_is_an_overrun(void **state)
{
	uint64_t limit = LONG_NS / 2;
	struct bp_poll_gap *a;
	struct rig r;

	rig_start_changed(&r, WIRE, limit_is, &limit);
	a = &r.worker->away;
	run_slowly(&r, 1);
	/* others may have had the CPU besides */
	assert_true(rig_counter(&r, BP_C_POLL_GAPS) >= 1);
	assert_true(a->longest_ns >= (uint64_t)LONG_NS);
	assert_true(a->overrun_ns >= a->longest_ns);
	assert_int_equal(a->notable_ns, limit);
	rig_stop(&r);
}

/* Nor is the time before its first walk one. */
static void values_within_the_limit_are_no_fault(void **state)
{
	uint64_t limit = UINT64_MAX - 1;
	struct bp_poll_gap *a;
	struct rig r;

	rig_start_changed(&r, WIRE, limit_is, &limit);
	a = &r.worker->away;
	run_slowly(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_POLL_GAPS), 0);
	assert_int_equal(a->overrun_ns, 0);
	assert_true(a->longest_ns >= (uint64_t)LONG_NS);
	assert_true(a->longest_ns < r.worker->mono_ns); /* not since the machine started */
	assert_int_equal(a->notable_ns, RTE_MIN(a->longest_ns, BP_PAUSE_NS - 1));
	rig_stop(&r);
}

static void off_reports_no_poll_gap(void **state)
{
	uint64_t limit = 0;
	struct rig r;

	rig_start_changed(&r, WIRE, limit_is, &limit);
	run_slowly(&r, 1);
	assert_int_equal(rig_counter(&r, BP_C_POLL_GAPS), 0);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_which_rules_it_reads),
		cmocka_unit_test(new_rules_wait_for_the_first_walk),
		cmocka_unit_test(statistics_of_a_new_policy_rule_begin_at_zero),
		cmocka_unit_test(stopped_worker_drains_its_queues),
		cmocka_unit_test(nodes_are_published),
		cmocka_unit_test(totals_are_summed),
		cmocka_unit_test(a_long_walk_is_an_overrun),
		cmocka_unit_test(values_within_the_limit_are_no_fault),
		cmocka_unit_test(off_reports_no_poll_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
