/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations: parts on several topics and connections, their age, keys, alarms and restarts. */
#include "biplane/alarm_parts.h"
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "shm/rules/combination.h"

#define SECOND 1000000000ull
#define T "plant/{cell}/temperature"
#define P "plant/{cell}/pressure"

static struct rig rig;
static struct peer hot, press; /* two devices, each with its connection */

/* A combination of parts, with a program of n steps. */
static struct bp_rule_spec combination(
	const struct bp_rule_spec *part, unsigned n_parts, const uint8_t *step, unsigned n)
{
	struct bp_rule_spec rule = rig_rule("dry", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + n_parts * sizeof(c->part[0]));

	assert_non_null(c);
	memcpy(c->part, part, n_parts * sizeof(c->part[0]));
	memcpy(c->program.step, step, n);
	c->program.len = (uint8_t)n;
	c->n_parts = (uint8_t)n_parts;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	snprintf(rule.to, sizeof(rule.to), "alarm/{rule}/{cell}/{topic}");
	return rule;
}

/* Temperature above 80, and pressure below 2. */
static struct bp_rule_spec dry(unsigned kind)
{
	const struct bp_rule_spec part[] = {
		rig_rule("", T, BP_COND_GT, 80), rig_rule("", P, BP_COND_LT, 2)};
	const uint8_t step[] = {(uint8_t)(kind | 2), BP_STEP_PART, BP_STEP_PART | 1};

	return combination(part, 2, step, 3);
}

static void open_rig(const struct bp_rule_spec *rule)
{
	rig_open(&rig);
	rig_rules(&rig, rule, 1);
	peer_init(&hot, false, 1, 1, 2);
	peer_init(&press, false, 2, 1, 2);
	rig_connect(&rig, &hot, 4, "hot");
	rig_connect(&rig, &press, 4, "press");
}

static void begin(struct bp_rule_spec *rule)
{
	rig_defaults(&rig);
	open_rig(rule);
}

static void finish(struct bp_rule_spec *rule)
{
	rig_close(&rig);
	free(rule->combination);
}

static void temperature(const char *cell, const char *value)
{
	char topic[64];

	snprintf(topic, sizeof(topic), "plant/%s/temperature", cell);
	rig_publish_text(&rig, &hot, topic, value);
}

static void pressure(const char *cell, const char *value)
{
	char topic[64];

	snprintf(topic, sizeof(topic), "plant/%s/pressure", cell);
	rig_publish_text(&rig, &press, topic, value);
}

/* The alarms since the last call: R and C, and the cell of each. */
static const char *told(void)
{
	static char text[256];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < l.n; i++) {
		char cell[16];

		assert_int_equal(sscanf(l.a[i].topic, "plant/%15[^/]/temperature", cell), 1);
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%c %s", i ? ", " : "",
			l.a[i].state == BP_ALARM_RAISED ? 'R' : 'C', cell);
	}
	told_free(&l);
	return text;
}

static void all_parts_of_one_key_raise_and_one_clears(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);

	begin(&rule);
	temperature("c1", "90");
	assert_string_equal(told(), ""); /* the pressure is unknown */
	assert_int_equal(rig_count(&rig, BP_C_COMBINATION_UNKNOWN), 1);
	pressure("c2", "1"); /* of another key */
	assert_string_equal(told(), "");
	pressure("c1", "1");
	assert_string_equal(told(), "R c1");
	pressure("c1", "1.5"); /* on_change */
	temperature("c1", "95");
	assert_string_equal(told(), "");
	temperature("c2", "81");
	assert_string_equal(told(), "R c2");
	pressure("c1", "2");
	assert_string_equal(told(), "C c1");
	temperature("c2", "80");
	assert_string_equal(told(), "C c2");
	temperature("c1", "70"); /* both are false */
	pressure("c1", "no number");
	assert_string_equal(told(), "");
	finish(&rule);
}

static void one_part_of_any_raises_and_all_clear(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ANY);

	begin(&rule);
	pressure("c1", "1"); /* true, whatever the temperature is */
	assert_string_equal(told(), "R c1");
	pressure("c1", "3"); /* unknown: nothing changes */
	assert_string_equal(told(), "");
	temperature("c1", "70");
	assert_string_equal(told(), "C c1");
	finish(&rule);
}

/* Hot, and not (pressure from 2 to 5). */
static void not_and_nested_operators(void **state)
{
	struct bp_rule_spec part[] = {rig_rule("", T, BP_COND_GT, 80),
		rig_rule("", P, BP_COND_GE, 2), rig_rule("", P, BP_COND_LE, 5)};
	const uint8_t step[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_NOT, BP_STEP_ALL | 2,
		BP_STEP_PART | 1, BP_STEP_PART | 2};
	struct bp_rule_spec rule = combination(part, 3, step, sizeof(step));

	begin(&rule);
	temperature("c1", "90");
	pressure("c1", "3");
	assert_string_equal(told(), "");
	pressure("c1", "6");
	assert_string_equal(told(), "R c1");
	pressure("c1", "5");
	assert_string_equal(told(), "C c1");
	finish(&rule);
}

static void an_old_value_is_unknown(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);

	rule.combination->part[0].max_age_ns = 30 * SECOND;
	begin(&rule);
	temperature("c1", "90");
	rig_advance(&rig, 30 * SECOND);
	pressure("c1", "1");
	assert_string_equal(told(), "R c1"); /* exactly as old as it may be */
	rig_advance(&rig, SECOND / 10);
	pressure("c1", "1.5"); /* unknown and true: it stays raised */
	assert_string_equal(told(), "");
	pressure("c1", "3"); /* false, whatever the temperature is */
	assert_string_equal(told(), "C c1");
	pressure("c1", "1");
	assert_string_equal(told(), "");
	temperature("c1", "90");
	assert_string_equal(told(), "R c1");
	rig_advance(&rig, 1000 * SECOND);
	temperature("c1", "91"); /* the pressure has no limit */
	temperature("c1", "79");
	assert_string_equal(told(), "C c1");
	finish(&rule);
}

static void hold_counts_results(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);

	rule.hold = BP_HOLD_COUNT;
	rule.hold_count = 3;
	begin(&rule);
	temperature("c1", "90");
	pressure("c1", "1");
	temperature("c1", "91");
	assert_string_equal(told(), "");
	pressure("c1", "3"); /* begins again */
	pressure("c1", "1");
	pressure("c1", "1");
	assert_string_equal(told(), "");
	temperature("c1", "92");
	assert_string_equal(told(), "R c1");
	finish(&rule);
}

static void part_is(const struct bp_alarm *a, uint32_t *at, const char *text, enum bp_truth truth,
	double value, uint64_t age_ns)
{
	struct bp_alarm_part_view v;

	assert_true(bp_alarm_part_next(a, at, &v));
	assert_int_equal(v.part.kind, BP_ALARM_PART);
	assert_int_equal(v.part.len[0], strlen(text));
	assert_memory_equal(v.text[0], text, strlen(text));
	assert_int_equal(v.part.truth, truth);
	assert_true(v.part.value == value);
	assert_int_equal(v.part.age_ns, age_ns);
}

/* The alarm is of the topic of the first part, whichever part it came from. */
static void the_alarm_has_the_parts_and_levels(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);
	struct bp_alarm_part_view v;
	struct told_list l;
	struct bp_alarm *a;
	uint32_t at = 0;

	rule.payload = BP_PAYLOAD_ENVELOPE;
	begin(&rule);
	temperature("oven-7", "90.1");
	rig_advance(&rig, 3 * SECOND);
	pressure("oven-7", "1.5");
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.a[0].rule, "dry");
	assert_string_equal(l.a[0].topic, "plant/oven-7/temperature");
	assert_string_equal(l.a[0].to, "alarm/dry/oven-7/plant/oven-7/temperature");
	assert_string_equal(l.a[0].client, "press");
	assert_true(l.a[0].value == 1);
	a = calloc(1, sizeof(*a) + l.a[0].payload_len);
	assert_non_null(a);
	a->flags = BP_ALARM_F_ENVELOPE;
	a->payload_len = l.a[0].payload_len;
	memcpy(a->text, l.a[0].payload, a->payload_len);
	assert_true(bp_alarm_part_next(a, &at, &v));
	assert_int_equal(v.part.kind, BP_ALARM_LEVEL);
	assert_true(v.part.len[0] == 4 && memcmp(v.text[0], "cell", 4) == 0);
	assert_true(v.part.len[1] == 6 && memcmp(v.text[1], "oven-7", 6) == 0);
	part_is(a, &at, T, BP_TRUTH_TRUE, 90.1, 3 * SECOND);
	part_is(a, &at, P, BP_TRUTH_TRUE, 1.5, 0);
	assert_false(bp_alarm_part_next(a, &at, &v));
	free(a);
	told_free(&l);
	finish(&rule);
}

/* The rules of another generation are the same: the truths of the parts and the state remain. */
static void a_reload_keeps_the_keys_of_an_unchanged_combination(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL), other = dry(BP_STEP_ALL);
	struct bp_rule_spec two[2];

	begin(&rule);
	temperature("c1", "90");
	two[0] = rig_rule("more", "x", BP_COND_GT, 1);
	two[1] = rule;
	rig_rules(&rig, two, 2);
	pressure("c1", "1");
	assert_string_equal(told(), "R c1");
	rig_rules(&rig, &rule, 1);
	pressure("c1", "3");
	assert_string_equal(told(), "C c1");
	other.combination->part[1].raise.a = 4; /* another combination knows nothing */
	rig_rules(&rig, &other, 1);
	pressure("c1", "3");
	assert_string_equal(told(), "");
	temperature("c1", "90");
	assert_string_equal(told(), "R c1");
	free(other.combination);
	finish(&rule);
}

static void a_restart_keeps_the_truths(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);

	begin(&rule);
	temperature("c1", "90");
	rig_restart(&rig);
	pressure("c1", "1");
	assert_string_equal(told(), "R c1");
	rig_restart(&rig);
	temperature("c1", "91");
	assert_string_equal(told(), "");
	temperature("c1", "79");
	assert_string_equal(told(), "C c1");
	finish(&rule);
}

/* One client publishes on 200 cells where four values fit. */
static void a_client_that_invents_cells_evicts_its_own(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ALL);

	rig_defaults(&rig);
	rig.mqtt.max_combination_values = 2;
	open_rig(&rule);
	pressure("c1", "1");
	for (unsigned i = 100; i < 300; i++) {
		char cell[16];

		snprintf(cell, sizeof(cell), "c%u", i);
		temperature(cell, "90");
	}
	assert_true(rig_count(&rig, BP_C_COMBINATION_EVICTED) > 100);
	temperature("c1", "90");
	assert_string_equal(told(), "R c1");
	finish(&rule);
}

/* All values belong to others that use them: a new one counts for its own publication alone. */
static void a_value_without_space_is_evaluated_once(void **state)
{
	struct bp_rule_spec rule = dry(BP_STEP_ANY);
	struct peer third;

	rig_defaults(&rig);
	rig.mqtt.max_combination_values = 2;
	open_rig(&rule);
	peer_init(&third, false, 3, 1, 2);
	rig_connect(&rig, &third, 4, "third");
	temperature("c1", "20");
	temperature("c2", "20");
	pressure("c3", "5");
	pressure("c4", "5");
	assert_int_equal(rig_count(&rig, BP_C_COMBINATION_NOT_STORED), 0);
	rig_publish_text(&rig, &third, "plant/c5/pressure", "1");
	assert_string_equal(told(), "R c5");
	assert_int_equal(rig_count(&rig, BP_C_COMBINATION_NOT_STORED), 1);
	rig_publish_text(&rig, &third, "plant/c5/pressure", "5");
	assert_string_equal(told(), ""); /* the temperature is unknown */
	finish(&rule);
}

/* A level that would make the topic of the alarm empty, or one of the broker, is '_'. */
static void a_level_does_not_choose_the_topic_of_the_broker(void **state)
{
	static const struct {
		const char *topic, *to;
	} of[] = {{"$x", "_/alarm/$x"}, {"", "_/alarm/_"}, {"a$", "a$/alarm/a$"}};

	for (unsigned i = 0; i < 3; i++) {
		const struct bp_rule_spec part = rig_rule("", "p/{x}", BP_COND_GT, 80);
		const uint8_t step[] = {BP_STEP_ANY | 1, BP_STEP_PART};
		struct bp_rule_spec rule = combination(&part, 1, step, 2);
		struct told_list l;
		char topic[16];

		snprintf(topic, sizeof(topic), "p/%s", of[i].topic);
		snprintf(rule.to, sizeof(rule.to), "{x}/alarm/{x}");
		begin(&rule);
		rig_publish_text(&rig, &hot, topic, "90");
		l = rig_told(&rig);
		assert_int_equal(l.n, 1);
		assert_string_equal(l.a[0].to, of[i].to); /* '$' is special only at the start */
		told_free(&l);
		finish(&rule);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_of_one_key_raise_and_one_clears),
		cmocka_unit_test(one_part_of_any_raises_and_all_clear),
		cmocka_unit_test(not_and_nested_operators),
		cmocka_unit_test(an_old_value_is_unknown),
		cmocka_unit_test(hold_counts_results),
		cmocka_unit_test(the_alarm_has_the_parts_and_levels),
		cmocka_unit_test(a_reload_keeps_the_keys_of_an_unchanged_combination),
		cmocka_unit_test(a_restart_keeps_the_truths),
		cmocka_unit_test(a_client_that_invents_cells_evicts_its_own),
		cmocka_unit_test(a_value_without_space_is_evaluated_once),
		cmocka_unit_test(a_level_does_not_choose_the_topic_of_the_broker),
	};

	return cmocka_run_group_tests_name("combinations", tests, NULL, NULL);
}
