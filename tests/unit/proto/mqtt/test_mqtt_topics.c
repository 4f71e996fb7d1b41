/* SPDX-License-Identifier: BSD-3-Clause */
/* Lengths, topics and filters. */
#include "tests/unit/proto/mqtt/mqtt_packet.h"

static void variable_byte_integers_of_all_sizes(void **state)
{
	static const struct {
		const char *bytes;
		uint8_t len;
		uint32_t value;
	} cases[] = {{"\0", 1, 0}, {"\x7f", 1, 127}, {"\x80\1", 2, 128}, {"\xff\x7f", 2, 16383},
		{"\x80\x80\1", 3, 16384}, {"\xff\xff\x7f", 3, 2097151},
		{"\x80\x80\x80\1", 4, 2097152}, {"\xff\xff\xff\x7f", 4, BP_MQTT_REMAINING_MAX},
		{"\x80\0", 2, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (size_t len = 0; len <= cases[i].len; len++) {
			uint8_t *p = exact_copy(cases[i].bytes, len), used = 0;
			uint32_t v = 1;
			enum bp_mqtt_error e = bp_mqtt_varint(p, len, &v, &used);

			free(p);
			assert_int_equal(e, len < cases[i].len ? BP_MQTT_MORE : BP_MQTT_OK);
			if (e == BP_MQTT_OK) {
				assert_int_equal(v, cases[i].value);
				assert_int_equal(used, cases[i].len);
			}
		}
	}
}

/* ---- topics and filters ---- */

static void filters_are_evaluated(void **state)
{
	static const char *const good[] = {"a", "/", "//", "#", "+", "a/#", "a/+", "+/+", "+/a/#",
		"/#", "/+", "a/+/b", "$SYS/#", "$share/g/a/#", "a b", "\xc3\xa9/+"};
	static const char *const bad[] = {"", "a#", "#a", "a/#/b", "#/", "a/b#", "a+", "+a",
		"a/+b/c", "a/b+/c", "++", "##", "a/##", "\xff", "a/\xc3"};
	char *longest = malloc(65536);

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(bp_mqtt_filter_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bp_mqtt_filter_valid(bad[i], strlen(bad[i])));
	assert_false(bp_mqtt_filter_valid("a\0b", 3));
	memset(longest, 'a', 65536);
	assert_true(bp_mqtt_filter_valid(longest, 65535));
	assert_false(bp_mqtt_filter_valid(longest, 65536));
	assert_true(bp_mqtt_topic_valid(longest, 65535));
	assert_false(bp_mqtt_topic_valid(longest, 65536));
	free(longest);
}

static void topics_are_evaluated(void **state)
{
	assert_true(bp_mqtt_topic_valid("a", 1));
	assert_true(bp_mqtt_topic_valid("/", 1));
	assert_true(bp_mqtt_topic_valid("$SYS/x", 6));
	assert_true(bp_mqtt_topic_valid("a b/\xe2\x82\xac", 7));
	assert_false(bp_mqtt_topic_valid("", 0));
	assert_false(bp_mqtt_topic_valid("a/+", 3));
	assert_false(bp_mqtt_topic_valid("a/#", 3));
	assert_false(bp_mqtt_topic_valid("a\0", 2));
	assert_false(bp_mqtt_topic_valid("\xff", 1));
	assert_false(bp_mqtt_topic_valid("\xe2\x82", 2));
}

static void filters_match_topics(void **state)
{
	static const struct {
		const char *filter, *topic;
		bool matches;
	} cases[] = {
		/* the standard's own examples (4.7.1, 4.7.2) */
		{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/ranking", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true},
		{"#", "a/b/c", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false},
		{"sport/+", "sport/", true},
		{"+/+", "/finance", true},
		{"/+", "/finance", true},
		{"+", "/finance", false},
		{"#", "$SYS/x", false},
		{"+/monitor/Clients", "$SYS/monitor/Clients", false},
		{"$SYS/#", "$SYS/x", true},
		{"$SYS/monitor/+", "$SYS/monitor/Clients", true},
		/* and more */
		{"a", "a", true},
		{"a", "b", false},
		{"a", "A", false},
		{"a", "aa", false},
		{"aa", "a", false},
		{"a", "a/", false},
		{"a/", "a", false},
		{"a/", "a/", true},
		{"/", "/", true},
		{"//", "/", false},
		{"+", "a", true},
		{"+", "a/b", false},
		{"+/#", "a", true},
		{"+/#", "a/b/c", true},
		{"+/b", "a/b", true},
		{"+/b", "/b", true},
		{"a/+/c", "a/b/c", true},
		{"a/+/c", "a//c", true},
		{"a/+/c", "a/b/d", false},
		{"a/+/c", "a/b/b/c", false},
		{"a/+/#", "a", false},
		{"a/+/#", "a/b", true},
		{"a/b/#", "a", false},
		{"a/#", "ab", false},
		{"/#", "/", true},
		{"/#", "a", false},
		{"#", "/", true},
		{"+/+/+", "//", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t f = strlen(cases[i].filter), t = strlen(cases[i].topic);
		char *filter = (char *)exact_copy(cases[i].filter, f);
		char *topic = (char *)exact_copy(cases[i].topic, t);
		bool r = bp_mqtt_filter_matches(filter, f, topic, t);

		free(filter);
		free(topic);
		if (r != cases[i].matches)
			fail_msg("%s %s %s", cases[i].filter, r ? "matches" : "does not match",
				cases[i].topic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(variable_byte_integers_of_all_sizes),
		cmocka_unit_test(filters_are_evaluated),
		cmocka_unit_test(topics_are_evaluated),
		cmocka_unit_test(filters_match_topics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
