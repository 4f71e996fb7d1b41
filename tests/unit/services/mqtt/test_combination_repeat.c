/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that repeat the truth of a part of a combination: by bursts, and without an evaluation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/mqtt.h"
#include "test.h"

#include "both_paths.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"
#include "shm/rules/combination.h"

#define SECOND 1000000000ull
#define DEVICES 4u /* two topics of two cells */
#define STEPS 400u

static struct peer device[DEVICES];

static const char *topic_of(unsigned d)
{
	static char topic[32];

	snprintf(topic, sizeof(topic), "plant/%u/%s", d / 2, d % 2 == 0 ? "t" : "p");
	return topic;
}

static struct bp_rule_spec combination(const uint8_t *step, uint8_t n)
{
	struct bp_rule_spec rule = rig_rule("both", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));

	assert_non_null(c);
	c->part[0] = rig_rule("", "plant/{x}/t", BP_COND_GT, 80);
	c->part[1] = rig_rule("", "plant/{x}/p", BP_COND_GT, 80);
	memcpy(c->program.step, step, n);
	c->program.len = n;
	c->n_parts = 2;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	return rule;
}

static struct bp_rule_spec both_high(void)
{
	static const uint8_t all[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};

	return combination(all, sizeof(all));
}

static struct bp_rule_spec some_combination(uint64_t *s)
{
	static const uint8_t step[][5] = {{BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1},
		{BP_STEP_ANY | 2, BP_STEP_PART, BP_STEP_PART | 1},
		{BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_NOT, BP_STEP_PART | 1},
		{BP_STEP_ANY | 2, BP_STEP_NOT, BP_STEP_PART, BP_STEP_PART | 1}};
	const uint64_t kind = test_below(s, 4);
	struct bp_rule_spec rule = combination(step[kind], kind < 2 ? 3 : 4);

	rule.repeat = test_below(s, 3) == 0 ? BP_REPEAT_EVERY : BP_REPEAT_ON_CHANGE;
	rule.payload = BP_PAYLOAD_ENVELOPE;
	rule.hold = (uint8_t)test_below(s, 3);
	rule.hold_count = rule.hold == BP_HOLD_COUNT ? 3 : 0;
	rule.hold_ns = rule.hold == BP_HOLD_TIME ? 5 * SECOND : 0;
	rule.quiet_ns = test_below(s, 4) == 0 ? 20 * SECOND : 0;
	rule.combination->part[0].max_age_ns = test_below(s, 2) == 0 ? 30 * SECOND : 0;
	return rule;
}

static void publish(unsigned d, const char *value)
{
	struct peer again = device[d];

	rig_publish_text(&general, &again, topic_of(d), value);
	rig_publish_text(&burst, &device[d], topic_of(d), value);
}

static void open_devices(const struct bp_rule_spec *rule)
{
	open_both(rule, 1, false);
	for (unsigned d = 0; d < DEVICES; d++) {
		peer_init(&device[d], false, d + 1, 1, 2);
		connect_both(&device[d], 4);
	}
}

static void close_devices(struct bp_rule_spec *rule)
{
	close_both();
	free(rule->combination);
}

static void advance(uint64_t ns)
{
	rig_advance(&general, ns);
	rig_advance(&burst, ns);
}

/* Mostly the last value of the device, or one with the same truth. */
static void some_value(uint64_t *s)
{
	static unsigned high[DEVICES];
	const unsigned d = (unsigned)test_below(s, DEVICES);
	char value[16];

	high[d] ^= test_below(s, 4) == 0;
	snprintf(value, sizeof(value), "%u", (high[d] ? 81u : 10u) + (unsigned)test_below(s, 9));
	advance(test_below(s, 30) == 0 ? 50 * SECOND : test_below(s, 3) * SECOND);
	publish(d, value);
}

/* One path reads by bursts, the other one evaluates each value, or is the general one. */
static void repeated_truths_give_the_same_alarms(void **state)
{
	uint64_t alarms = 0, in_bursts = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		struct bp_rule_spec rule = some_combination(&s);

		open_devices(&rule);
		for (unsigned i = 0; i < STEPS; i++) {
			if (seed % 2 == 0)
				general.in->steady_since_ns = UINT64_MAX;
			some_value(&s);
			if (seed % 2 == 0)
				alarms += same_alarms();
			else
				same("repeated truths", seed, i);
			if (test_below(&s, 100) == 0) {
				rig_restart(&general);
				rig_restart(&burst);
			}
		}
		in_bursts += burst.n_in_bursts - burst.n_general;
		close_devices(&rule);
	}
	assert_true(alarms > 1000);
	assert_true(in_bursts > 10000);
}

/* A repetition has the time and the value of its publication. */
static void a_repetition_is_new(void **state)
{
	struct bp_rule_spec rule = both_high();

	(void)state;
	rule.combination->part[0].max_age_ns = 15 * SECOND;
	open_devices(&rule);
	advance(SECOND);
	publish(0, "90");
	for (unsigned i = 0; i < 2; i++) {
		advance(10 * SECOND);
		publish(0, "91");
	}
	advance(10 * SECOND);
	publish(1, "90"); /* the first value is 30 s old, the last one 10 s */
	assert_int_equal(same_alarms(), 1);
	assert_int_equal(rig_count(&burst, BP_C_ALARM_RAISED), 1);
	close_devices(&rule);
}

static void one_value_of_a_period_is_evaluated(void **state)
{
	struct bp_rule_spec rule = both_high();

	(void)state;
	open_devices(&rule);
	advance((UINT64_C(1) << BP_PART_STEADY_SHIFT) -
		general.mono_ns % (UINT64_C(1) << BP_PART_STEADY_SHIFT));
	for (unsigned i = 0; i < 60; i++) {
		publish(0, "90");
		advance(SECOND);
	}
	assert_int_equal(rig_count(&burst, BP_C_COMBINATION_UNKNOWN), 1);
	advance(10 * SECOND);
	publish(0, "90");
	publish(0, "90");
	assert_int_equal(rig_count(&burst, BP_C_COMBINATION_UNKNOWN), 2);
	same("one value of a period", 0, 0);
	close_devices(&rule);
}

/* A worker that was killed has stored a truth and not evaluated it: who sends it again repeats it.
 */
static void a_truth_of_a_killed_worker_is_evaluated(void **state)
{
	struct rig *const r[] = {&general, &burst};
	struct bp_rule_spec rule = both_high();

	(void)state;
	open_devices(&rule);
	publish(0, "20");
	publish(1, "90");
	for (unsigned i = 0; i < 2; i++) {
		struct bp_mqtt_worker *in = r[i]->in;
		const struct bp_rule *part = bp_ruleset_rule(r[i]->rules, 1);
		const struct bp_part_key k = bp_part_key(in->part_state, in->part_state_len,
			part->uid, bp_topic_hash(in, (const uint8_t *)"plant/0/t", 9));

		assert_true(bp_part_state_word(&k) != 0);
		assert_int_equal(bp_part_state_store(&k, 1, BP_TRUTH_TRUE, 90, r[i]->mono_ns),
			BP_STATE_NO_LOSS);
		rig_restart(r[i]);
	}
	advance(SECOND);
	publish(0, "90");
	assert_int_equal(rig_count(&burst, BP_C_ALARM_RAISED), 1);
	same("a killed worker", 0, 0);
	close_devices(&rule);
}

/* Neither of them takes the general path, and alarms have the order of the values. */
static void repetitions_that_raise_stay_in_the_burst(void **state)
{
	struct bp_rule_spec rule = both_high();
	uint64_t before;

	(void)state;
	rule.repeat = BP_REPEAT_EVERY;
	rule.payload = BP_PAYLOAD_ENVELOPE;
	open_devices(&rule);
	advance(SECOND);
	for (unsigned d = 0; d < DEVICES; d++)
		publish(d, "90");
	before = burst.n_general;
	burst.burst_size = 16;
	for (unsigned i = 0; i < 16; i++)
		publish(i % 3, i % 2 == 0 ? "91" : "92");
	rig_flush(&burst);
	assert_int_equal(burst.n_general, before);
	assert_int_equal(burst.in->journal->slot, 0);
	assert_int_equal(same_alarms(), 2 + 16);
	/* a raise, then the end of its alarm */
	publish(0, "93");
	publish(1, "20");
	publish(0, "94");
	publish(1, "21");
	rig_flush(&burst);
	assert_int_equal(burst.n_general, before + 1);
	assert_int_equal(same_alarms(), 2);
	same("raises in a burst", 0, 0);
	same_tables();
	close_devices(&rule);
}

/* Of a worker that is killed before the alarms of its burst are visible, the states of the
 * combination are as before the burst. */
static void a_hold_of_a_killed_worker_counts_once(void **state)
{
	struct bp_rule_spec rule = both_high();
	struct bp_mqtt_publish publication = {
		.topic = (const uint8_t *)"plant/0/t", .topic_len = 9};
	struct bp_evaluated of = {.value = 90, .publish = &publication};
	struct bp_mqtt_worker *in;
	const struct bp_rule *part;

	(void)state;
	rule.repeat = BP_REPEAT_EVERY;
	rule.hold = BP_HOLD_COUNT;
	rule.hold_count = 4;
	open_devices(&rule);
	publish(1, "90");
	publish(0, "90");
	publish(0, "90"); /* the second one for which the combination is true */
	in = burst.in;
	part = bp_ruleset_rule(burst.rules, 1);
	of.flow = in->table.flow;
	bp_journal_begin_tick(in->journal, in->ring);
	bp_combination_evaluate(
		in, part, &of, bp_topic_hash(in, publication.topic, publication.topic_len), 1);
	rig_restart(&burst);
	rig_restart(&general);
	publish(0, "90");
	assert_int_equal(same_alarms(), 0);
	publish(0, "90");
	assert_int_equal(same_alarms(), 1);
	close_devices(&rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_truths_give_the_same_alarms),
		cmocka_unit_test(a_repetition_is_new),
		cmocka_unit_test(one_value_of_a_period_is_evaluated),
		cmocka_unit_test(a_truth_of_a_killed_worker_is_evaluated),
		cmocka_unit_test(repetitions_that_raise_stay_in_the_burst),
		cmocka_unit_test(a_hold_of_a_killed_worker_counts_once),
	};

	return cmocka_run_group_tests_name("repeated truths", tests, NULL, NULL);
}
