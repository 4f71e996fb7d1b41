/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a topic does not match a filter, and typing errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/explain/filter_match.h"

static struct bp_filter_match m;

static bool matches(const char *filter, const char *topic)
{
	bp_filter_match(filter, strlen(filter), topic, strlen(topic), &m);
	assert_true(m.matches == (m.distance == 0));
	return m.matches;
}

static void matches_are_those_of_the_standard(void **state)
{
	/* MQTT 5.0, 4.7.1 to 4.7.3 */
	static const struct {
		const char *filter, *topic;
		bool matches;
	} cases[] = {{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true}, {"#", "a/b", true}, {"#", "/", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false}, {"sport/+", "sport/", true}, {"+/+", "/finance", true},
		{"/+", "/finance", true}, {"+", "/finance", false}, {"#", "$SYS/x", false},
		{"+/monitor/Clients", "$SYS/monitor/Clients", false}, {"$SYS/#", "$SYS/", true},
		{"$SYS/monitor/+", "$SYS/monitor/Clients", true}, {"a", "A", false},
		{"a/b", "a/b", true}, {"a/b", "a", false}, {"a/", "a", false}, {"a", "a/", false}};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (matches(cases[i].filter, cases[i].topic) != cases[i].matches)
			fail_msg("%s, %s", cases[i].filter, cases[i].topic);
}

static void reasons_name_the_level(void **state)
{
	matches("plant/+/temperature", "plant/oven/temperatur");
	assert_string_equal(m.reason, "level 3 is 'temperatur', the filter has 'temperature'");
	assert_string_equal(m.suggestion, "plant/oven/temperature");
	matches("plant/+/temperature", "Plant/oven/temperature");
	assert_non_null(strstr(m.reason, "upper and lower case differ"));
	assert_string_equal(m.suggestion, "plant/oven/temperature");
	assert_int_equal(m.distance, 1);
	matches("plant/+/temperature", "plant/temperature");
	assert_string_equal(m.reason, "the topic has 2 levels, the filter has 3");
	assert_string_equal(m.suggestion, "");
	matches("plant/#", "/plant/oven");
	assert_string_equal(m.suggestion, "plant/oven");
	matches("plant/+/temperature", "/plant/oven/temperature");
	assert_non_null(strstr(m.reason, "a slash at the beginning is a level"));
	assert_string_equal(m.suggestion, "plant/oven/temperature");
	matches("#", "$SYS/broker");
	assert_non_null(strstr(m.reason, "topics that begin with $"));
	/* other words are no typing errors */
	matches("plant/+/temperature", "plant/oven/pressure");
	assert_string_equal(m.suggestion, "");
	matches("plant/+/door", "plant/oven/floor");
	assert_string_equal(m.suggestion, "");
	/* neither are two of them */
	matches("plant/oven/temperature", "plent/ovan/temperature");
	assert_string_equal(m.suggestion, "");
}

static void distances_order_the_filters(void **state)
{
	unsigned same, near, far;

	matches("plant/+/temperature", "plant/1/temperature");
	same = m.distance;
	matches("plant/+/temperature", "plant/1/temperatura");
	near = m.distance;
	matches("line/+/door", "plant/1/temperatura");
	far = m.distance;
	assert_true(same == 0 && near == 1 && far > near);
}

static void edit_distances(void **state)
{
	assert_int_equal(bp_edit_distance("kitten", 6, "sitting", 7, 9), 3);
	assert_int_equal(bp_edit_distance("kitten", 6, "sitting", 7, 2), 2);
	assert_int_equal(bp_edit_distance("", 0, "abc", 3, 9), 3);
	assert_int_equal(bp_edit_distance("abc", 3, "abc", 3, 9), 0);
}

static void long_texts_are_bounded(void **state)
{
	char *a = malloc(60000), *b = malloc(60000);

	memset(a, 'x', 60000);
	memset(b, 'x', 60000);
	assert_int_equal(bp_edit_distance(a, 60000, b, 60000, 4), 0);
	b[59999] = 'y';
	assert_int_equal(bp_edit_distance(a, 60000, b, 60000, 4), 4);
	bp_filter_match(a, 1000, b, 60000, &m);
	assert_false(m.matches);
	/* as many levels as there can be */
	memset(b, '/', 60000);
	bp_filter_match("#", 1, b, 60000, &m);
	assert_true(m.matches);
	bp_filter_match("a/+", 3, b, 60000, &m);
	assert_false(m.matches);
	bp_filter_match("", 0, b, 60000, &m);
	assert_false(m.matches);
	bp_filter_match("a", 1, b, 0, &m);
	assert_false(m.matches);
	free(a);
	free(b);
}

static void topic_names_are_checked(void **state)
{
	assert_null(bp_topic_error("plant/\u00fcber/t"));
	assert_null(bp_topic_error("/"));
	assert_non_null(bp_topic_error(""));
	assert_non_null(strstr(bp_topic_error("a/+/b"), "no wildcards"));
	assert_non_null(strstr(bp_topic_error("a/#"), "no wildcards"));
	assert_non_null(strstr(bp_topic_error("a\xff"), "UTF-8"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_are_those_of_the_standard),
		cmocka_unit_test(reasons_name_the_level),
		cmocka_unit_test(distances_order_the_filters),
		cmocka_unit_test(edit_distances),
		cmocka_unit_test(long_texts_are_bounded),
		cmocka_unit_test(topic_names_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
