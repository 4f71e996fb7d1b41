/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of rules: the strings of the conditions, what may be combined, and the written form. */
#include "config_test.h"

#include "config/mqtt/settings.h"

#define HEAD EDGE "  rules:\n"
#define RULE "    - {name: r, topic: t, "

/* Each condition is a range of the strings, in whatever order the file has them. */
static void strings_are_sorted_so_that_conditions_are_ranges(void **state)
{
	struct bp_config *c = accepted(HEAD RULE
		"value: {type: string}, raise: {one_of: [open, fault, ajar]}, clear: {one_of: "
		"[fault, closed]}}\n");
	const struct bp_rule_spec *r = &bp_config_mqtt(c)->rules[0];
	static const char *const expected[] = {"ajar", "open", "fault", "closed"};

	(void)state;
	assert_int_equal(r->strings.n, 4);
	for (int i = 0; i < 4; i++) {
		assert_string_equal(r->strings.text[i], expected[i]);
		assert_int_equal(r->strings.len[i], strlen(expected[i]));
	}
	assert_true(r->raise.op == BP_COND_INSIDE && r->raise.a == 0 && r->raise.b == 2);
	assert_true(r->clear.op == BP_COND_INSIDE && r->clear.a == 2 && r->clear.b == 3);
	bp_config_free(c);
	c = accepted(HEAD RULE "value: {json: $.s, type: string}, raise: {not_equals: ok}, clear: "
			       "{equals: ok}}\n");
	r = &bp_config_mqtt(c)->rules[0];
	assert_int_equal(r->strings.n, 1);
	assert_true(r->raise.op == BP_COND_NE && r->raise.a == 0);
	assert_true(r->clear.op == BP_COND_EQ && r->clear.a == 0);
	bp_config_free(c);
}

/* What is written is read as the same. */
static void values_are_written_as_they_are_read(void **state)
{
	static const char *const rules[] = {
		"value: {type: string}, raise: {one_of: [open, \"a\\n\\\"\"]}, clear: {equals: "
		"x}}\n",
		"value: {json: \"$.a[*].b\", type: boolean, match: all}, raise: {equals: true}, "
		"clear: {not_equals: true}}\n",
		"value: {json: $.t, scale: 0.1, offset: -40}, raise: {above: 5}}\n",
		"value: {binary: {type: int8}, scale: -2}, raise: {above: 5}}\n",
		"value: {scale: 3}, raise: \"> 5\"}\n",
		"value: {cbor: $.a, type: string}, raise: {equals: x}}\n",
		"value: {msgpack: \"$[*]\", match: all}, raise: {above: 5}}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		char text[1024];
		struct bp_config *c, *again;

		snprintf(text, sizeof(text), HEAD RULE "%s", rules[i]);
		c = accepted(text);
		again = come_back(c);
		assert_memory_equal(bp_config_mqtt(c)->rules, bp_config_mqtt(again)->rules,
			sizeof(struct bp_rule_spec));
		bp_config_free(c);
		bp_config_free(again);
	}
}

static void errors_name_what_does_not_fit(void **state)
{
	static const struct {
		const char *rule, *error;
	} cases[] = {
		{"value: {type: string}, raise: {above: 5}}\n",
			"value of the rule is a string, which has equals, not_equals and one_of"},
		{"value: {type: boolean}, raise: {one_of: [true]}}\n",
			"value of the rule is a boolean, which has equals and not_equals"},
		{"value: {type: boolean}, raise: {equals: 1}}\n", "'1' is neither true nor false"},
		{"raise: {one_of: [a]}}\n", "value of the rule is a number, which has no one_of"},
		{"value: {type: string}, raise: \"> 5\"}\n", "the short form compares numbers"},
		{"value: {json: $.a, match: any}, raise: {above: 5}}\n", "the path has no [*]"},
		{"value: {type: boolean}, window: {values: 2, function: mean}, raise: {equals: "
		 "true}}\n",
			"rules[0].window: the value is no number"},
		{"value: {json: \"$[*]\"}, window: {values: 2, function: mean}, raise: {above: "
		 "5}}\n",
			"rules[0].window: the path has [*]"},
		{"value: {type: string}, deadband: 1, raise: {equals: a}}\n",
			"rules[0].deadband: the value is no number"},
		{"value: {json: $.a, cbor: $.b}, raise: {above: 5}}\n",
			"both json and cbor are given"},
		{"value: {binary: {type: int8}, type: string}, raise: {equals: a}}\n",
			"a binary value is a number"},
		{"value: {type: string, scale: 2}, raise: {equals: a}}\n",
			"rules[0].value.scale: the value is no number"},
		{"value: {type: boolean, offset: 2}, raise: {equals: true}}\n",
			"rules[0].value.offset: the value is no number"},
		{"value: {type: string}, raise: {one_of: [a, b]}, clear: {equals: b}}\n",
			"warning: mqtt.rules[0].clear: b would both raise and clear"},
		{"value: {type: string}, raise: {not_equals: a}, clear: {not_equals: b}}\n",
			"another string would both raise and clear"},
		{"value: {type: boolean}, raise: {equals: true}, clear: {not_equals: false}}\n",
			"true would both raise and clear"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[1024];
		struct outcome o;

		snprintf(text, sizeof(text), HEAD RULE "%s", cases[i].rule);
		o = parse(text);
		if (strstr(o.errors, cases[i].error) == NULL)
			fail_msg("%s: %s", cases[i].rule, o.errors);
		end(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_sorted_so_that_conditions_are_ranges),
		cmocka_unit_test(values_are_written_as_they_are_read),
		cmocka_unit_test(errors_name_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
