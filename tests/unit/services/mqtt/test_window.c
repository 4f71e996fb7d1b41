/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules with a window: from publications to alarms. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "rig.h"

#define SECOND 1000000000ull

static struct rig rig;
static struct peer c;

static struct bp_rule_spec window_rule(
	const char *name, enum bp_window_function f, uint32_t values, double above)
{
	struct bp_rule_spec r = rig_rule(name, "t/+", BP_COND_GT, above);

	r.window = (struct bp_window_spec){.given = true, .function = (uint8_t)f, .values = values};
	return r;
}

static void open_with(const struct bp_rule_spec *rules, uint32_t n)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, rules, n);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
}

static void publish(const char *topic, const char *const *v)
{
	for (; *v != NULL; v++)
		rig_publish_text(&rig, &c, topic, *v);
}
#define PUBLISH(topic, ...) publish(topic, (const char *const[]){__VA_ARGS__, NULL})

static void alarms_have_the_result(void **state)
{
	struct bp_rule_spec r = window_rule("m", BP_WINDOW_MEAN, 3, 10);

	(void)state;
	open_with(&r, 1);
	PUBLISH("t/a", "20", "20", "5", "2", "30", "1");
	assert_string_equal(rig_told_values(&rig), "15 12.3333 11");
	assert_int_equal(rig_count(&rig, BP_C_WINDOW_NO_RESULT), 2);
	rig_close(&rig);
}

static void each_topic_and_rule_has_a_window(void **state)
{
	struct bp_rule_spec r[3] = {window_rule("m", BP_WINDOW_MAX, 2, 10),
		window_rule("s", BP_WINDOW_SUM, 2, 20), rig_rule("p", "t/+", BP_COND_GT, 19)};

	(void)state;
	open_with(r, 3);
	PUBLISH("t/a", "15");
	PUBLISH("t/b", "11");
	assert_string_equal(rig_told_values(&rig), "");
	PUBLISH("t/a", "16"); /* max 16, sum 31 */
	PUBLISH("t/b", "1");  /* max 11, sum 12 */
	PUBLISH("t/b", "20"); /* max 20, sum 21, the value */
	assert_string_equal(rig_told_values(&rig), "16 31 11 20 21 20");
	rig_close(&rig);
}

static void window_with_hysteresis(void **state)
{
	struct bp_rule_spec r = window_rule("m", BP_WINDOW_MEAN, 2, 10);

	(void)state;
	r.has_clear = true;
	r.clear = (struct bp_condition){BP_COND_LT, 5, 0};
	r.repeat = BP_REPEAT_ON_CHANGE;
	open_with(&r, 1);
	PUBLISH("t/a", "12", "12", "0", "20", "8", "0", "0");
	assert_string_equal(rig_told_values(&rig), "12 4");
	rig_close(&rig);
}

static void payloads_without_value_do_not_count(void **state)
{
	struct bp_rule_spec r = window_rule("n", BP_WINDOW_COUNT, 2, 0);

	(void)state;
	open_with(&r, 1);
	PUBLISH("t/a", "1", "nan", "x", "inf");
	assert_int_equal(rig_told_count(&rig), 0);
	PUBLISH("t/a", "1");
	assert_int_equal(rig_told_count(&rig), 1);
	rig_close(&rig);
}

static struct bp_rule_spec time_rule(
	const char *name, enum bp_window_function f, uint64_t time_ns, double below)
{
	struct bp_rule_spec r = window_rule(name, f, 0, 0);

	r.raise = (struct bp_condition){BP_COND_LT, below, 0};
	r.window.time_ns = time_ns;
	r.repeat = BP_REPEAT_ON_CHANGE;
	return r;
}

static void wait_ms(unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 50) {
		rig_advance(&rig, SECOND / 20);
		bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	}
}

/* Alarms come without a publication, with the topic and the client of the last one. */
static void a_time_window_counts_and_falls_to_zero(void **state)
{
	struct bp_rule_spec r = time_rule("few", BP_WINDOW_COUNT, 16 * SECOND, 2);
	struct told_list l;

	(void)state;
	open_with(&r, 1);
	for (unsigned i = 0; i < 20; i++) {
		PUBLISH("t/a", "1");
		wait_ms(1000);
	}
	assert_int_equal(rig_told_count(&rig), 0);
	wait_ms(13000); /* of the last values, one is left */
	assert_int_equal(rig_told_count(&rig), 0);
	wait_ms(2000);
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_true(l.a[0].value == 1 && l.a[0].state == BP_ALARM_RAISED);
	assert_string_equal(l.a[0].topic, "t/a");
	assert_string_equal(l.a[0].client, "x");
	assert_int_equal(l.a[0].client_port, c.client_port);
	assert_int_equal(l.a[0].payload_len, 0);
	told_free(&l);
	wait_ms(5000);
	assert_int_equal(rig_told_count(&rig), 0);
	PUBLISH("t/a", "1", "1");
	l = rig_told(&rig);
	assert_int_equal(l.n, 1);
	assert_true(l.a[0].value == 2 && l.a[0].state == BP_ALARM_CLEARED);
	told_free(&l);
	assert_true(rig_count(&rig, BP_C_WINDOW_EXPIRED) >= 3);
	rig_close(&rig);
}

/* A restart between the last value and the end of its window. */
static void a_time_window_expires_after_a_restart(void **state)
{
	struct bp_rule_spec r = time_rule("sum", BP_WINDOW_SUM, 10 * SECOND, 8);

	(void)state;
	r.window.tumbling = true;
	open_with(&r, 1);
	PUBLISH("t/a", "3", "4");
	rig_restart(&rig);
	wait_ms(9000);
	assert_int_equal(rig_told_count(&rig), 0);
	wait_ms(2000);
	assert_string_equal(rig_told_values(&rig), "7");
	rig_close(&rig);
}

/* Workers without a receive queue do not run: the others have all of the table. */
static void each_share_of_the_table_expires(void **state)
{
	struct bp_rule_spec r = time_rule("few", BP_WINDOW_COUNT, 10 * SECOND, 2);
	size_t first, second;
	char topic[32];

	(void)state;
	r.window.tumbling = true;
	open_with(&r, 1);
	bp_mqtt_worker_share(rig.in, 0, 2);
	for (unsigned i = 0; i < 32; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i);
		PUBLISH(topic, "1");
	}
	wait_ms(11000);
	first = rig_told_count(&rig);
	bp_mqtt_worker_share(rig.in, 1, 2);
	wait_ms(11000);
	second = rig_told_count(&rig);
	assert_true(first > 0 && second > 0);
	assert_int_equal(first + second, 32);
	assert_int_equal(rig_count(&rig, BP_C_WINDOW_EVICTED), 0);
	rig_close(&rig);
}

static void long_topics_have_no_result_by_time(void **state)
{
	struct bp_rule_spec r = time_rule("few", BP_WINDOW_COUNT, SECOND, 2);
	char topic[400] = "t/";

	(void)state;
	memset(topic + 2, 'x', 190);
	open_with(&r, 1);
	PUBLISH(topic, "1");
	wait_ms(2000);
	assert_int_equal(rig_told_count(&rig), 0);
	assert_int_equal(rig_count(&rig, BP_C_WINDOW_TOPIC_TOO_LONG), 1);
	PUBLISH(topic, "1");
	assert_string_equal(rig_told_values(&rig), "1");
	rig_close(&rig);
}

/* Windows outlive the process, and a reload that leaves the rule unchanged. */
static void windows_survive_restart_and_reload(void **state)
{
	struct bp_rule_spec r[2] = {
		rig_rule("other", "u", BP_COND_GT, 0), window_rule("m", BP_WINDOW_SUM, 3, 0)};

	(void)state;
	open_with(r, 2);
	PUBLISH("t/a", "1");
	rig_restart(&rig);
	PUBLISH("t/a", "2");
	rig_rules(&rig, r + 1, 1);
	PUBLISH("t/a", "3");
	assert_string_equal(rig_told_values(&rig), "6");
	r[1].window.values = 2;
	rig_rules(&rig, r, 2);
	PUBLISH("t/a", "4", "5");
	assert_string_equal(rig_told_values(&rig), "9"); /* another rule: an empty window */
	rig_close(&rig);
}

/* The same alarms, each with its result, whether frames take the general path or that of bursts. */
static void same_results_in_bursts(void **state)
{
	static const char *const text[] = {
		"1", "9.25", "-3", "1e3", "12345678", "0.1", "x", "100000000000", "-0.5"};
	enum { RULES = 6, TOPICS = 3 };
	struct told_list told[2];
	uint64_t general[2], none[2];
	char topic[16];

	(void)state;
	for (unsigned bursts = 0; bursts < 2; bursts++) {
		struct bp_rule_spec r[RULES] = {window_rule("mean", BP_WINDOW_MEAN, 3, 50),
			window_rule("sum", BP_WINDOW_SUM, 40, 1),
			window_rule("max", BP_WINDOW_MAX, 4, 100),
			window_rule("long", BP_WINDOW_MAX, 33, 100),
			window_rule("rate", BP_WINDOW_RATE, 2, 10),
			window_rule("tumbling", BP_WINDOW_STDDEV, 5, 1)};
		struct peer peer[RULES * TOPICS];
		uint64_t seed = 7;

		r[5].window.tumbling = true;
		for (unsigned i = 0; i < RULES; i++)
			snprintf(r[i].filter, sizeof(r[i].filter), "t/%u/+", i);
		rig_defaults(&rig);
		rig.bursts = bursts != 0;
		rig.burst_size = 32;
		rig_open(&rig);
		rig_rules(&rig, r, RULES);
		for (unsigned i = 0; i < RULES * TOPICS; i++) {
			peer_init(&peer[i], false, 1 + i, 1 + i, 2);
			rig_connect(&rig, &peer[i], 4, "x");
		}
		for (unsigned n = 0; n < 3000; n++) {
			const unsigned i = test_below(&seed, RULES * TOPICS);

			snprintf(topic, sizeof(topic), "t/%u/%u", i % RULES, i);
			rig_publish_text(&rig, &peer[i], topic,
				text[test_below(&seed, sizeof(text) / sizeof(text[0]))]);
		}
		rig_flush(&rig);
		general[bursts] = rig.n_general;
		none[bursts] = rig_count(&rig, BP_C_WINDOW_NO_RESULT);
		told[bursts] = rig_told(&rig);
		rig_close(&rig);
	}
	assert_true(told[0].n > 500);
	assert_int_equal(told[0].n, told[1].n);
	for (size_t i = 0; i < told[0].n; i++) {
		assert_true(told[0].a[i].value == told[1].a[i].value);
		assert_string_equal(told[0].a[i].rule, told[1].a[i].rule);
		assert_string_equal(told[0].a[i].topic, told[1].a[i].topic);
		assert_int_equal(told[0].a[i].client_port, told[1].a[i].client_port);
	}
	told_free(&told[0]);
	told_free(&told[1]);
	assert_int_equal(none[0], none[1]);
	assert_true(none[0] > 100);
	/* setup, text without a value, rules "long" and, for an inexact sum, "sum" */
	assert_true(general[1] < 1500);
}

/* A client that invents topics evicts windows of its own. */
static void one_client_cannot_take_all_windows(void **state)
{
	struct bp_rule_spec r = window_rule("m", BP_WINDOW_SUM, 2, 0);
	struct peer other;
	char topic[32];

	(void)state;
	open_with(&r, 1);
	peer_init(&other, false, 2, 3, 4);
	rig_connect(&rig, &other, 4, "other");
	rig_publish_text(&rig, &other, "t/other", "7");
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(topic, sizeof(topic), "t/%u", i);
		rig_publish_text(&rig, &c, topic, "1");
	}
	assert_true(rig_count(&rig, BP_C_WINDOW_EVICTED) > 4000);
	rig_publish_text(&rig, &other, "t/other", "8");
	assert_string_equal(rig_told_values(&rig), "15");
	rig_close(&rig);
}

/* More different values than classes: all are counted, with a larger error. */
static void a_percentile_over_time_counts_classes(void **state)
{
	struct bp_rule_spec r = time_rule("p", BP_WINDOW_PERCENTILE, 16 * SECOND, 1000);
	char value[16];

	(void)state;
	r.window.percentile = 50;
	rig_defaults(&rig);
	rig.mqtt.max_window_values = BP_WINDOW_CLASSES_VALUES;
	rig_open(&rig);
	rig_rules(&rig, &r, 1);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "x");
	for (unsigned i = 0; i < BP_WINDOW_CLASSES_MIN; i++) {
		snprintf(value, sizeof(value), "%u", 80 + i);
		PUBLISH("t/a", value);
	}
	assert_int_equal(rig_count(&rig, BP_C_WINDOW_COARSENED), 0);
	PUBLISH("t/a", "64");
	assert_int_equal(rig_count(&rig, BP_C_WINDOW_COARSENED), 1);
	wait_ms(16000);
	PUBLISH("t/a", "101"); /* the first pane has left */
	assert_string_equal(rig_told_values(&rig), "101");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alarms_have_the_result),
		cmocka_unit_test(each_topic_and_rule_has_a_window),
		cmocka_unit_test(window_with_hysteresis),
		cmocka_unit_test(payloads_without_value_do_not_count),
		cmocka_unit_test(a_time_window_counts_and_falls_to_zero),
		cmocka_unit_test(a_time_window_expires_after_a_restart),
		cmocka_unit_test(each_share_of_the_table_expires),
		cmocka_unit_test(long_topics_have_no_result_by_time),
		cmocka_unit_test(windows_survive_restart_and_reload),
		cmocka_unit_test(same_results_in_bursts),
		cmocka_unit_test(one_client_cannot_take_all_windows),
		cmocka_unit_test(a_percentile_over_time_counts_classes),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
