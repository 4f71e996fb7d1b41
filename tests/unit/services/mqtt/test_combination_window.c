/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations whose parts evaluate windows. */
#include <stdlib.h>
#include <string.h>

#include "biplane/alarm_parts.h"
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "rig.h"
#include "shm/rules/combination.h"

#define SECOND 1000000000ull

static struct rig rig;
static struct peer hot, press;

/* The mean of two temperatures above 80, and fewer than two pressures in 16 s. */
static struct bp_rule_spec combination(void)
{
	static const uint8_t all[] = {BP_STEP_ALL | 2, BP_STEP_PART, BP_STEP_PART | 1};
	struct bp_rule_spec rule = rig_rule("dry", "", BP_COND_GT, 0);
	struct bp_combination_spec *c = calloc(1, sizeof(*c) + 2 * sizeof(c->part[0]));

	assert_non_null(c);
	c->part[0] = rig_rule("", "{cell}/t", BP_COND_GT, 80);
	c->part[0].window =
		(struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 2};
	c->part[1] = rig_rule("", "{cell}/p", BP_COND_LT, 2);
	c->part[1].window = (struct bp_window_spec){
		.given = true, .function = BP_WINDOW_COUNT, .time_ns = 16 * SECOND};
	memcpy(c->program.step, all, sizeof(all));
	c->program.len = sizeof(all);
	c->n_parts = 2;
	rule.combination = c;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rule.payload = BP_PAYLOAD_ENVELOPE;
	return rule;
}

static void wait_s(unsigned s)
{
	for (unsigned i = 0; i < 20 * s; i++) {
		rig_advance(&rig, SECOND / 20);
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	}
}

static void temperature(const char *value)
{
	rig_publish_text(&rig, &hot, "c1/t", value);
}

static void pressure(void)
{
	rig_publish_text(&rig, &press, "c1/p", "1");
}

static void begin(const struct bp_rule_spec *rule)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rule, 1);
	peer_init(&hot, false, 1, 1, 2);
	peer_init(&press, false, 2, 1, 2);
	rig_connect(&rig, &hot, 4, "hot");
	rig_connect(&rig, &press, 4, "press");
	/* the count has a result when its window has been full: two values, then of 16 s */
	pressure();
	wait_s(17);
	pressure();
	pressure();
	assert_int_equal(rig_told_count(&rig), 0);
}

static void finish(struct bp_rule_spec *rule)
{
	rig_close(&rig);
	free(rule->combination);
}

/* One alarm in this state, of this client, with these results in the parts. */
static void told(uint8_t state, const char *client, double mean, double pressures)
{
	struct told_list l = rig_told(&rig);
	const double value[2] = {mean, pressures};
	struct bp_alarm_part_view v;
	unsigned n = 0;
	uint32_t at = 0;
	struct bp_alarm *a;

	assert_int_equal(l.n, 1);
	assert_int_equal(l.a[0].state, state);
	assert_string_equal(l.a[0].topic, "c1/t");
	assert_string_equal(l.a[0].client, client);
	a = calloc(1, sizeof(*a) + l.a[0].payload_len);
	assert_non_null(a);
	a->flags = BP_ALARM_F_ENVELOPE;
	a->payload_len = l.a[0].payload_len;
	memcpy(a->text, l.a[0].payload, a->payload_len);
	while (bp_alarm_part_next(a, &at, &v))
		if (v.part.kind == BP_ALARM_PART)
			assert_true(v.part.value == value[n++]);
	assert_int_equal(n, 2);
	free(a);
	told_free(&l);
}

static void a_part_has_the_result_of_its_window(void **state)
{
	struct bp_rule_spec rule = combination();

	(void)state;
	begin(&rule);
	wait_s(17);        /* no pressure */
	temperature("90"); /* no mean yet: unknown */
	assert_int_equal(rig_told_count(&rig), 0);
	temperature("80");
	told(BP_ALARM_RAISED, "hot", 85, 0);
	temperature("90");
	assert_int_equal(rig_told_count(&rig), 0);
	temperature("60");
	told(BP_ALARM_CLEARED, "hot", 75, 0);
	finish(&rule);
}

/* The count falls without a publication, and decides. */
static void a_window_that_expires_decides(void **state)
{
	struct bp_rule_spec rule = combination();

	(void)state;
	begin(&rule);
	temperature("90");
	temperature("90");
	assert_int_equal(rig_told_count(&rig), 0); /* two pressures */
	wait_s(17);
	told(BP_ALARM_RAISED, "press", 90, 0);
	pressure();
	assert_int_equal(rig_told_count(&rig), 0); /* one */
	pressure();
	told(BP_ALARM_CLEARED, "press", 90, 2);
	finish(&rule);
}

static void windows_of_parts_survive_restart_and_reload(void **state)
{
	struct bp_rule_spec rule = combination(), two[2];

	(void)state;
	begin(&rule);
	wait_s(17);
	temperature("90");
	rig_restart(&rig);
	two[0] = rig_rule("more", "x", BP_COND_GT, 1);
	two[1] = rule;
	rig_rules(&rig, two, 2);
	temperature("80");
	told(BP_ALARM_RAISED, "hot", 85, 0);
	finish(&rule);
}

/* The values of a window without traffic are of the past: so is its last result. */
static void the_age_is_that_of_the_last_result(void **state)
{
	struct bp_rule_spec rule = combination();

	(void)state;
	rule.combination->part[1].max_age_ns = 20 * SECOND;
	begin(&rule);
	wait_s(27);
	temperature("90");
	temperature("90");
	assert_int_equal(rig_told_count(&rig), 1); /* the count fell to 0 less than 20 s ago */
	temperature("60");
	temperature("60");
	assert_int_equal(rig_told_count(&rig), 1);
	wait_s(10);
	temperature("90");
	temperature("91");
	assert_int_equal(rig_told_count(&rig), 0);
	finish(&rule);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_has_the_result_of_its_window),
		cmocka_unit_test(a_window_that_expires_decides),
		cmocka_unit_test(windows_of_parts_survive_restart_and_reload),
		cmocka_unit_test(the_age_is_that_of_the_last_result),
	};

	return cmocka_run_group_tests_name("combinations of windows", tests, NULL, NULL);
}
