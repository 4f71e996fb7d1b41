/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules and their state: several on one topic, hysteresis and hold, and sets that change. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define SECOND 1000000000ull

static struct rig rig;
static struct peer c;

static void open_with(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
}

/* "rule+value" for raised, "rule-value" for cleared. */
static const char *told(void)
{
	static char text[8192];
	struct told_list l = rig_told(&rig);
	size_t n = 0;

	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s%c%g", i ? " " : "",
			l.a[i].rule, l.a[i].state == BP_ALARM_RAISED ? '+' : '-', l.a[i].value);
	told_free(&l);
	return text;
}

static void values(const char *topic, const char *const *v)
{
	for (; *v != NULL; v++)
		rig_publish_text(&rig, &c, topic, *v);
}

#define VALUES(topic, ...) values(topic, (const char *const[]){__VA_ARGS__, NULL})

static void clear_condition_has_hysteresis(void **state)
{
	struct bp_rule_spec r = rig_rule("h", "t/+", BP_COND_GT, 80);

	(void)state;
	r.has_clear = true;
	r.clear.op = BP_COND_LT;
	r.clear.a = 75;
	r.repeat = BP_REPEAT_ON_CHANGE;
	open_with(&r, 1);
	VALUES("t/a", "79", "81", "82", "78", "83", "74", "76", "81");
	assert_string_equal(told(), "h+81 h-74 h+81");
	/* each topic has a state of its own */
	VALUES("t/b", "76", "74", "90");
	VALUES("t/a", "60");
	VALUES("t/b", "91", "70");
	assert_string_equal(told(), "h+90 h-60 h-70");
	assert_int_equal(rig_count(&rig, BP_C_ALARM_CLEARED), 3);
	rig_close(&rig);
}

static void hold_delays_the_alarm(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("n", "t/n", BP_COND_GT, 80), rig_rule("t", "t/t", BP_COND_GT, 80)};

	(void)state;
	r[0].hold = BP_HOLD_COUNT;
	r[0].hold_count = 3;
	r[1].hold = BP_HOLD_TIME;
	r[1].hold_ns = 10 * SECOND;
	open_with(r, 2);
	VALUES("t/n", "81", "82", "79", "83", "84", "85", "86", "70", "87");
	assert_string_equal(told(), "n+85 n+86");
	for (unsigned i = 0; i < 13; i++) {
		VALUES("t/t", "90");
		rig_advance(&rig, SECOND);
	}
	assert_string_equal(told(), "t+90 t+90 t+90");
	VALUES("t/t", "70", "91");
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* A reload: unchanged rules keep their state, changed rules start again. */
static void state_over_reload(void **state)
{
	struct bp_rule_spec r[3] = {rig_rule("count", "t", BP_COND_GT, 80),
		rig_rule("edge", "t", BP_COND_GT, 80), rig_rule("other", "else", BP_COND_GT, 1)};
	struct bp_rule_spec swapped[3];

	(void)state;
	r[0].hold = BP_HOLD_COUNT;
	r[0].hold_count = 4;
	r[1].repeat = BP_REPEAT_ON_CHANGE;
	open_with(r, 2);
	VALUES("t", "81", "82", "83");
	assert_string_equal(told(), "edge+81");
	/* the same rules at other places, and one more */
	swapped[0] = r[2];
	swapped[1] = r[1];
	swapped[2] = r[0];
	rig_rules(&rig, swapped, 3);
	VALUES("t", "84");
	assert_string_equal(told(), "count+84"); /* the fourth; and edge knows that it was raised */
	/* changed: from the beginning */
	swapped[2].hold_count = 2;
	swapped[1].raise.a = 79;
	rig_rules(&rig, swapped, 3);
	VALUES("t", "85");
	assert_string_equal(told(), "edge+85");
	VALUES("t", "86");
	assert_string_equal(told(), "count+86");
	rig_close(&rig);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->rule, ((const struct told *)b)->rule);
}

/* Every number of rules on one topic, by the same filter and by different ones. */
static void several_rules_on_one_topic(void **state)
{
	static const char *const filters[] = {"a/b/c", "a/+/c", "a/#", "#", "+/b/c", "+/+/+",
		"a/b/+", "+/b/#", "a/+/#", "+/#", "a/b/#", "a/+/+", "+/+/c", "+/b/+", "a/b/c/#",
		"+/+/#"};
	struct bp_rule_spec rules[40];

	(void)state;
	open_with(NULL, 0);
	for (unsigned n = 0; n <= 40; n++) {
		for (unsigned i = 0; i < n; i++) {
			char name[16];

			snprintf(name, sizeof(name), "r%02u", i);
			rules[i] = rig_rule(name, filters[i % 16], BP_COND_GT, 80 + i);
		}
		rig_rules(&rig, rules, n);
		/* the second time from the memo, then by another topic and back */
		for (unsigned k = 0; k < 4; k++) {
			struct told_list l;

			if (k == 2)
				rig_publish_text(&rig, &c, "x", "0");
			rig_publish_text(&rig, &c, "a/b/c", "100");
			l = rig_told(&rig);
			assert_int_equal(l.n, n < 20 ? n : 20); /* 80..99 are below 100 */
			if (l.n != 0)
				qsort(l.a, l.n, sizeof(*l.a), by_text);
			for (size_t i = 0; i < l.n; i++)
				assert_string_equal(l.a[i].rule, rules[i].name);
			told_free(&l);
		}
	}
	rig_close(&rig);
}

/* One topic, rules with different sources: each has the value that it asks for. */
static void different_sources(void **state)
{
	struct bp_rule_spec r[4] = {rig_rule("a", "t", BP_COND_GT, 0),
		rig_rule("b", "t", BP_COND_GT, 0), rig_rule("c", "t", BP_COND_GT, 0),
		rig_rule("d", "t", BP_COND_GT, 0)};
	const char *error;
	size_t at;

	(void)state;
	r[0].value.kind = r[2].value.kind = r[3].value.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile("$.x", &r[0].value.json, &error, &at), 0);
	assert_int_equal(bp_json_path_compile("$.y", &r[2].value.json, &error, &at), 0);
	assert_int_equal(bp_json_path_compile("$.x", &r[3].value.json, &error, &at), 0);
	open_with(r, 4);
	VALUES("t", "{\"x\": 3, \"y\": 4}", "5", "{\"y\": 6}");
	{
		struct told_list l = rig_told(&rig);
		double sum[4] = {0};

		for (size_t i = 0; i < l.n; i++)
			sum[l.a[i].rule[0] - 'a'] += l.a[i].value;
		told_free(&l);
		assert_true(sum[0] == 3 && sum[1] == 5 && sum[2] == 10 && sum[3] == 3);
	}
	assert_int_equal(rig_count(&rig, BP_C_VALUE_MISSING), 12 - 5);
	rig_close(&rig);
}

/* The rules that a flow has cached for its topic are invalid with another rule set. */
static void cached_rules_are_invalidated_by_a_reload(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("a", "t", BP_COND_GT, 80), rig_rule("b", "u", BP_COND_GT, 80)};

	(void)state;
	open_with(r, 1);
	VALUES("t", "81", "82");
	VALUES("u", "81");
	assert_string_equal(told(), "a+81 a+82");
	rig_rules(&rig, &r[1], 1); /* index 0 is another rule now */
	VALUES("t", "83", "84");
	VALUES("u", "85", "86");
	assert_string_equal(told(), "b+85 b+86");
	rig_rules(&rig, r, 0);
	VALUES("t", "87");
	VALUES("u", "88");
	assert_string_equal(told(), "");
	rig_rules(&rig, r, 2);
	VALUES("u", "89");
	VALUES("t", "90");
	assert_string_equal(told(), "b+89 a+90");
	/* a PUBLISH that a reload falls into is evaluated by the new set */
	{
		struct bytes b = {0};

		mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t", .payload = "91"});
		rig_send(&rig, &c, CLIENT, b.p, b.n - 1);
		r[0].raise.a = 95;
		rig_rules(&rig, r, 2);
		rig_send(&rig, &c, CLIENT, b.p + b.n - 1, 1);
		bytes_free(&b);
		assert_string_equal(told(), "");
	}
	rig_close(&rig);
}

/* Sets that alternate at random: each PUBLISH is evaluated by exactly the one active. */
static void sets_alternate(void **state)
{
	struct bp_rule_spec sets[4][6];
	unsigned sizes[4] = {6, 3, 1, 5}, set = 0;
	uint64_t s = 21;

	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		for (unsigned i = 0; i < 6; i++) {
			char name[32];

			snprintf(name, sizeof(name), "s%u-%u", k, i);
			sets[k][i] = rig_rule(name, i % 2 ? "+/y" : "x/#", BP_COND_GE, 10 * k + i);
		}
	}
	open_with(sets[0], sizes[0]);
	for (unsigned step = 0; step < 3000; step++) {
		struct told_list l;
		char text[16];
		unsigned v = test_below(&s, 40), due = 0;

		if (test_below(&s, 5) == 0) {
			set = test_below(&s, 4);
			rig_rules(&rig, sets[set], sizes[set]);
		}
		snprintf(text, sizeof(text), "%u", v);
		rig_publish_text(&rig, &c, "x/y", text);
		for (unsigned i = 0; i < sizes[set]; i++)
			due += v >= 10 * set + i;
		l = rig_told(&rig);
		assert_int_equal(l.n, due);
		for (size_t i = 0; i < l.n; i++)
			assert_int_equal(l.a[i].rule[1] - '0', set);
		told_free(&l);
	}
	rig_close(&rig);
}

/* More (rule, topic) pairs than states: some are given up, and counted. */
static void states_run_out(void **state)
{
	struct bp_rule_spec r = rig_rule("many", "t/#", BP_COND_GT, 80);

	(void)state;
	r.repeat = BP_REPEAT_ON_CHANGE;
	rig_defaults(&rig);
	rig.mqtt.max_alarm_states = 64;
	rig_open(&rig);
	rig_rules(&rig, &r, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned i = 0; i < 500; i++) {
		char topic[16];

		snprintf(topic, sizeof(topic), "t/%u", i);
		VALUES(topic, "81");
		rig_advance(&rig, 1000);
	}
	assert_int_equal(rig_told_count(&rig), 500);
	assert_true(rig_count(&rig, BP_C_STATE_EVICTED) +
			    rig_count(&rig, BP_C_STATE_EVICTED_RAISED) +
			    rig_count(&rig, BP_C_STATE_NOT_STORED) >=
		    500 - 2 * 64);
	rig_close(&rig);
}

/* Cached data of a flow, or of a JSON layout, about removed rules does not apply to the new ones.
 */
static void thousands_of_reloads_later(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("old", "t", BP_COND_GT, 80), rig_rule("new", "u", BP_COND_GT, 80)};
	const char *error;
	size_t at;

	(void)state;
	r[0].value.kind = r[1].value.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile("$.a", &r[0].value.json, &error, &at), 0);
	assert_int_equal(bp_json_path_compile("$.b", &r[1].value.json, &error, &at), 0);
	for (unsigned bits = 8; bits <= 24; bits++) {
		open_with(&r[0], 1);
		VALUES("t", "{\"a\":90,\"b\":10}");
		assert_string_equal(told(), "old+90");
		rig.generation += (1u << bits) - 1;
		rig_rules(&rig, &r[1], 1);
		VALUES("t", "{\"a\":90,\"b\":95}");
		assert_string_equal(told(), "");
		VALUES("u", "{\"a\":91,\"b\":10}", "{\"a\":10,\"b\":92}");
		assert_string_equal(told(), "new+92");
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clear_condition_has_hysteresis),
		cmocka_unit_test(hold_delays_the_alarm),
		cmocka_unit_test(state_over_reload),
		cmocka_unit_test(several_rules_on_one_topic),
		cmocka_unit_test(different_sources),
		cmocka_unit_test(cached_rules_are_invalidated_by_a_reload),
		cmocka_unit_test(sets_alternate),
		cmocka_unit_test(states_run_out),
		cmocka_unit_test(thousands_of_reloads_later),
	};

	return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
