/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules on strings, booleans, scaled numbers and several elements: from the frame to the alarm. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

static struct rig rig;
static struct peer device;

static struct bp_rule_spec json_rule(const char *path, enum bp_value_type type)
{
	struct bp_rule_spec rule = rig_rule("r", "t", BP_COND_EQ, 0);
	const char *why;
	size_t at;

	rule.value.kind = BP_VALUE_JSON;
	rule.value.type = type;
	assert_int_equal(bp_json_path_compile(path, &rule.value.json, &why, &at), 0);
	return rule;
}

static void open_rig(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&device, 0, 77, 1, 2);
	rig_connect(&rig, &device, 4, "door");
}

/* The alarms of a payload: state, and value as in the envelope. */
static void assert_alarms(const char *payload, const char *expected)
{
	char text[1024] = "";
	struct told_list l;
	size_t n = 0;

	rig_publish_text(&rig, &device, "t", payload);
	l = rig_told(&rig);
	for (size_t i = 0; i < l.n; i++) {
		const struct told *a = &l.a[i];
		const enum bp_alarm_value type = bp_alarm_value_type(a->value_text);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s ", i != 0 ? ", " : "",
			a->state == BP_ALARM_RAISED ? "raised" : "cleared");
		if (type == BP_ALARM_NUMBER)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%g", a->value);
		else if (type == BP_ALARM_BOOLEAN)
			n += (size_t)snprintf(
				text + n, sizeof(text) - n, "%s", a->value != 0 ? "true" : "false");
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, "'%s'%s", a->value_string,
				type == BP_ALARM_STRING_TRUNCATED ? "..." : "");
	}
	told_free(&l);
	if (strcmp(text, expected) != 0)
		fail_msg("%s: \"%s\" instead of \"%s\"", payload, text, expected);
}

static void strings_raise_and_clear(void **state)
{
	struct bp_rule_spec rule = json_rule("$.s", BP_VALUE_STRING);

	(void)state;
	rule.strings = (struct bp_value_strings){
		.n = 3, .len = {4, 4, 6}, .text = {"ajar", "open", "closed"}};
	rule.raise = (struct bp_condition){BP_COND_INSIDE, 0, 1};
	rule.clear = (struct bp_condition){BP_COND_EQ, 2, 0};
	rule.has_clear = true;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	open_rig(&rule, 1);
	assert_alarms("{\"s\":\"closed\"}", "");
	assert_alarms("{\"s\":\"op\\u0065n\"}", "raised 'open'");
	assert_alarms("{\"s\":\"ajar\"}", "");
	assert_alarms("{\"s\":\"broken\"}", "");
	assert_alarms("{\"s\":5}", "");
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 1);
	assert_alarms("{\"s\":\"closed\"}", "cleared 'closed'");
	rig_close(&rig);
}

static void a_string_that_is_not_listed_is_not_equal(void **state)
{
	struct bp_rule_spec rule = json_rule("$", BP_VALUE_STRING);
	char text[80];

	(void)state;
	rule.strings = (struct bp_value_strings){.n = 1, .len = {2}, .text = {"ok"}};
	rule.raise = (struct bp_condition){BP_COND_NE, 0, 0};
	rule.payload = BP_PAYLOAD_ORIGINAL; /* it precedes the string in the record */
	open_rig(&rule, 1);
	assert_alarms("\"ok\"", "");
	assert_alarms("\"fault 7\"", "raised 'fault 7'");
	snprintf(text, sizeof(text), "\"%070d\"", 0);
	assert_alarms(text,
		"raised '000000000000000000000000000000000000000000000000000000000000000'...");
	rig_close(&rig);
}

static void booleans_and_scaled_numbers_raise(void **state)
{
	struct bp_rule_spec rule[3] = {json_rule("$.on", BP_VALUE_BOOLEAN),
		json_rule("$.t", BP_VALUE_NUMBER), json_rule("$.t", BP_VALUE_NUMBER)};

	(void)state;
	snprintf(rule[1].name, sizeof(rule[1].name), "scaled");
	snprintf(rule[2].name, sizeof(rule[2].name), "plain");
	rule[0].raise.a = 1;
	rule[1].value.scaled = 1;
	rule[1].value.scale = 0.1;
	rule[1].value.offset = -40;
	rule[1].raise.a = -30;
	rule[2].raise.a = 100;
	open_rig(rule, 3);
	assert_alarms("{\"on\":true}", "raised true");
	assert_alarms("{\"on\":false}", "");
	/* several values of one payload, and one value in two units */
	assert_alarms("{\"on\":true,\"t\":100}", "raised true, raised -30, raised 100");
	assert_alarms("{\"t\":99}", "");
	rig_close(&rig);
}

static void elements_decide_by_the_conditions_of_each_rule(void **state)
{
	struct bp_rule_spec rule[2] = {
		json_rule("$.r[*].c", BP_VALUE_NUMBER), json_rule("$.r[*].c", BP_VALUE_NUMBER)};

	(void)state;
	for (int i = 0; i < 2; i++) {
		rule[i].raise = (struct bp_condition){BP_COND_GT, 80, 0};
		rule[i].clear = (struct bp_condition){BP_COND_LT, 70, 0};
		rule[i].has_clear = true;
		rule[i].repeat = BP_REPEAT_ON_CHANGE;
	}
	snprintf(rule[1].name, sizeof(rule[1].name), "all");
	rule[1].value.match = BP_ELEMENT_ALL;
	open_rig(rule, 2);
	assert_alarms("{\"r\":[{\"c\":60},{\"c\":85}]}", "raised 85");
	assert_alarms("{\"r\":[{\"c\":60},{\"c\":75}]}", "");
	assert_alarms("{\"r\":[{\"c\":81},{\"c\":82},{}]}", "raised 81");
	assert_alarms("{\"r\":[{\"c\":81},{\"c\":75}]}", "");
	assert_alarms("{\"r\":[]}", "");
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 2);
	assert_alarms("{\"r\":[{\"c\":81},{\"c\":60}]}", "cleared 60"); /* of all: one clears */
	assert_alarms("{\"r\":[{\"c\":61},{\"c\":60}]}", "cleared 61"); /* of any: all clear */
	rig_close(&rig);
}

/* A payload of many short elements is more work than its bytes. */
static void elements_are_work(void **state)
{
	struct bp_rule_spec rule = json_rule("$[*]", BP_VALUE_NUMBER);
	char text[1024] = "[1";
	uint64_t before;

	(void)state;
	for (int i = 0; i < 300; i++)
		strcat(text, ",1");
	strcat(text, "]");
	open_rig(&rule, 1);
	before = bp_mqtt_worker_work(rig.in);
	assert_alarms(text, "");
	assert_true(bp_mqtt_worker_work(rig.in) - before > 301 * 100);
	rig_close(&rig);
}

/* A payload with more elements than are compared has no value, and costs no more. */
static void too_many_elements_have_no_value(void **state)
{
	static char text[2 * BP_VALUE_ELEMENTS_MAX + 64];
	struct bp_rule_spec rule = json_rule("$[*]", BP_VALUE_NUMBER);

	(void)state;
	rule.raise = (struct bp_condition){BP_COND_GT, 8, 0};
	for (unsigned n = BP_VALUE_ELEMENTS_MAX / 2; n <= BP_VALUE_ELEMENTS_MAX / 2 + 1; n++) {
		uint64_t work;

		open_rig(&rule, 1);
		strcpy(text, "[9");
		for (unsigned i = 1; i < n; i++)
			strcpy(text + 2 * i, ",1");
		strcpy(text + 2 * n, "]");
		work = bp_mqtt_worker_work(rig.in);
		rig_publish_text(&rig, &device, "t", text);
		work = bp_mqtt_worker_work(rig.in) - work;
		assert_in_range(work, 50 * BP_VALUE_ELEMENTS_MAX, 60 * BP_VALUE_ELEMENTS_MAX);
		assert_int_equal(rig_told_count(&rig), n == BP_VALUE_ELEMENTS_MAX / 2);
		assert_int_equal(rig_count(&rig, BP_C_VALUE_ELEMENTS_EXCEEDED),
			n > BP_VALUE_ELEMENTS_MAX / 2);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_raise_and_clear),
		cmocka_unit_test(a_string_that_is_not_listed_is_not_equal),
		cmocka_unit_test(booleans_and_scaled_numbers_raise),
		cmocka_unit_test(elements_decide_by_the_conditions_of_each_rule),
		cmocka_unit_test(elements_are_work),
		cmocka_unit_test(too_many_elements_have_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
