/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "biplane/rule.h"
#include "controlplane/alarms/annotations.h"
#include "controlplane/alarms/envelope.h"

static char *envelope(const struct bp_alarm *a)
{
	static struct bp_text t;
	static char text[4096];

	assert_true(bp_envelope(a, NULL, &t));
	assert_true(t.len < sizeof(text));
	memcpy(text, t.data, t.len);
	text[t.len] = '\0';
	bp_text_free(&t);
	return text;
}

static const struct test_alarm plain = {.id = 42,
	.time_ns = 1795230245123456789ull,
	.value = 81.5,
	.state = BP_ALARM_RAISED,
	.qos = 1,
	.rule = "overheat",
	.client_id = "sensor-1",
	.topic = "plant/7/temperature",
	.to = "alarm/plant/7/temperature",
	.payload = "81.5"};

static void exact_text(void **state)
{
	struct bp_alarm *a = test_alarm_make(&plain);

	(void)state;
	assert_string_equal(envelope(a),
		"{\"id\":42,\"uid\":\"cdcdfab8cb702df53ba2d23ecb8e72b2\","
		"\"rule\":\"overheat\",\"state\":\"raised\",\"value\":81.5,"
		"\"topic\":\"plant/7/temperature\",\"client\":\"10.0.0.5:40312\","
		"\"client_id\":\"sensor-1\",\"time\":\"2026-11-21T03:04:05.123456789Z\",\"qos\":"
		"1}");
	free(a);
}

static void severity_and_annotations(void **state)
{
	static const char *const name[BP_SEVERITIES + 1] = {
		NULL, "info", "warning", "minor", "major", "critical", NULL};
	struct test_alarm t = plain;

	(void)state;
	for (unsigned i = 0; i <= BP_SEVERITIES; i++) { /* the last one is none */
		struct bp_text text = {0};
		struct bp_alarm *a;
		json_t *o;

		t.severity = (uint8_t)i;
		a = test_alarm_make(&t);
		assert_true(bp_envelope(a, i == 0 ? NULL : "{\"a\":\"b\"}", &text));
		o = json_loadb(text.data, text.len, 0, NULL);
		assert_non_null(o);
		assert_int_equal(json_object_size(o),
			10 + (i != 0) + (i < BP_SEVERITIES && name[i] != NULL));
		if (i < BP_SEVERITIES && name[i] != NULL)
			assert_string_equal(
				json_string_value(json_object_get(o, "severity")), name[i]);
		if (i != 0)
			assert_string_equal(json_string_value(json_object_get(
						    json_object_get(o, "annotations"), "a")),
				"b");
		json_decref(o);
		bp_text_free(&text);
		free(a);
	}
}

static void annotate(struct bp_rule_spec *r, const char *name, const char *text, uint16_t n)
{
	memset(r, 0, sizeof(*r));
	strcpy(r->name, name);
	r->annotations.n = n;
	for (unsigned i = 0; i < 2u * n; i++, text += strlen(text) + 1) {
		strcpy(r->annotations.text + r->annotations.used, text);
		r->annotations.used = (uint16_t)(r->annotations.used + strlen(text) + 1);
	}
}

static const char *annotations_of(const struct bp_annotations *a, const char *rule)
{
	struct test_alarm t = plain;
	struct bp_alarm *alarm;
	const char *found;

	t.rule = rule;
	alarm = test_alarm_make(&t);
	found = bp_annotations_of(a, alarm);
	free(alarm);
	return found;
}

/* Of the rule with this name in the present rules, whatever they were before. */
static void annotations_are_those_of_the_active_rules(void **state)
{
	static const char longest[] =
		"0123456789012345678901234567890123456789012345678901234567890123";
	struct bp_rule_spec *r = calloc(4, sizeof(*r));
	struct bp_annotations a = {0};

	(void)state;
	assert_null(annotations_of(&a, "b"));
	annotate(&r[0], "b", "site\0north \"1\"\nx\0z\0", 2);
	annotate(&r[1], "none", "", 0);
	annotate(&r[2], "a", "k\0v", 1);
	annotate(&r[3], "c", "k\0w", 1);
	assert_true(bp_annotations_set(&a, r, 4));
	assert_string_equal(
		annotations_of(&a, "b"), "{\"site\":\"north \\\"1\\\"\\nx\",\"z\":\"\"}");
	assert_string_equal(annotations_of(&a, "a"), "{\"k\":\"v\"}");
	assert_string_equal(annotations_of(&a, "c"), "{\"k\":\"w\"}");
	assert_null(annotations_of(&a, "none"));
	assert_null(annotations_of(&a, "ab"));
	assert_null(annotations_of(&a, longest)); /* no rule has such a name */
	assert_true(bp_annotations_set(&a, r + 2, 1));
	assert_string_equal(annotations_of(&a, "a"), "{\"k\":\"v\"}");
	assert_null(annotations_of(&a, "b"));
	assert_true(bp_annotations_set(&a, r + 1, 1));
	assert_null(annotations_of(&a, "a"));
	bp_annotations_free(&a);
	free(r);
}

static void cleared_ip6_no_client_id(void **state)
{
	static const uint8_t ip[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};
	struct test_alarm t = plain;
	struct bp_alarm *a;

	(void)state;
	t.state = BP_ALARM_CLEARED;
	t.client_id = NULL;
	t.flags = BP_ALARM_F_IP6;
	t.time_ns = 5;
	t.value = -0.1;
	a = test_alarm_make(&t);
	memcpy(a->client_ip, ip, sizeof(ip));
	assert_string_equal(envelope(a),
		"{\"id\":42,\"uid\":\"d6f3ea2cfcd3acc8f7ee40efa49ab456\","
		"\"rule\":\"overheat\",\"state\":\"cleared\",\"value\":-0.1,"
		"\"topic\":\"plant/7/temperature\",\"client\":\"[2001:db8::1]:40312\","
		"\"client_id\":null,\"time\":\"1970-01-01T00:00:00.000000005Z\",\"qos\":1}");
	free(a);
}

/* The value has the type that it has in the device's payload. */
static void strings_and_booleans(void **state)
{
	static const struct {
		enum bp_alarm_value type;
		double value;
		const char *string, *expected;
	} cases[] = {
		{BP_ALARM_BOOLEAN, 1, NULL, ",\"value\":true,\"topic\""},
		{BP_ALARM_BOOLEAN, 0, NULL, ",\"value\":false,\"topic\""},
		{BP_ALARM_STRING, -1, "", ",\"value\":\"\",\"topic\""},
		{BP_ALARM_STRING, 2, "a\"\\\n\x01\xc3\xa9",
			",\"value\":\"a\\\"\\\\\\n\\u0001\xc3\xa9\",\"topic\""},
		{BP_ALARM_STRING_TRUNCATED, -1, "long",
			",\"value\":\"long\",\"value_truncated\":true,\"topic\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct test_alarm t = plain;
		struct bp_alarm *a;
		json_t *parsed;

		t.value = cases[i].value;
		t.value_type = cases[i].type;
		t.value_string = cases[i].string;
		a = test_alarm_make(&t);
		parsed = json_loads(envelope(a), 0, NULL);
		assert_non_null(parsed);
		json_decref(parsed);
		assert_non_null(strstr(envelope(a), cases[i].expected));
		free(a);
	}
}

static const char *uid_of(const struct bp_alarm *a)
{
	static char uid[BP_ALARM_UID_LEN + 1];

	bp_alarm_uid(a, uid);
	return uid;
}

/* The texts are those of SHA-256 over the fields as docs/reference/alarm-envelope.md lists them. */
static void the_uid_depends_on_rule_topic_and_transition(void **state)
{
	struct bp_alarm *a = test_alarm_make(&plain);
	struct test_alarm t = plain;

	(void)state;
	bp_alarm_set_transition(a, plain.time_ns >> 14);
	assert_int_equal(bp_alarm_transition(a), plain.time_ns >> 14);
	assert_string_equal(uid_of(a), "6c555d2dfdf034f4d0f0b46ec815fe66");
	/* of another gateway, which saw the value later */
	a->id = 7;
	a->time_ns += 1000000000;
	a->value = 90;
	a->client_port = 1;
	assert_string_equal(uid_of(a), "6c555d2dfdf034f4d0f0b46ec815fe66");
	a->state = BP_ALARM_CLEARED;
	assert_string_equal(uid_of(a), "d32af32d755695d5f7916d957126837f");
	free(a);
	/* repetitions are different alarms */
	t.flags = BP_ALARM_F_REPEAT;
	a = test_alarm_make(&t);
	bp_alarm_set_transition(a, plain.time_ns >> 14);
	assert_string_equal(uid_of(a), "6488a876c5ad86d932da08b921d857c2");
	a->id++;
	assert_string_not_equal(uid_of(a), "6488a876c5ad86d932da08b921d857c2");
	free(a);
	/* the border between rule and topic counts */
	t = plain;
	t.rule = "overheatp";
	t.topic = "lant/7/temperature";
	a = test_alarm_make(&t);
	bp_alarm_set_transition(a, plain.time_ns >> 14);
	assert_string_not_equal(uid_of(a), "6c555d2dfdf034f4d0f0b46ec815fe66");
	free(a);
}

/* jansson decodes the text to the original strings. */
static void escaped_strings_are_valid_json(void **state)
{
	static const char every[] =
		"\x01\x02\b\t\n\f\r\x1f \"\\/\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5";
	struct test_alarm t = plain;
	struct bp_alarm *a;
	json_t *o;

	(void)state;
	t.rule = every;
	t.topic = every;
	t.client_id = every;
	a = test_alarm_make(&t);
	o = json_loads(envelope(a), JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	assert_int_equal(json_object_size(o), 10);
	assert_string_equal(json_string_value(json_object_get(o, "rule")), every);
	assert_string_equal(json_string_value(json_object_get(o, "topic")), every);
	assert_string_equal(json_string_value(json_object_get(o, "client_id")), every);
	json_decref(o);
	free(a);
}

static void invalid_utf8_is_still_json(void **state)
{
	struct test_alarm t = plain;
	struct bp_alarm *a;
	json_t *o;

	(void)state;
	t.client_id = "a\xff\xc3z\xed\xa0\x80";
	a = test_alarm_make(&t);
	o = json_loads(envelope(a), 0, NULL);
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "client_id")),
		"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	json_decref(o);
	free(a);
}

static void values_read_back(void **state)
{
	static const double value[] = {0, -0.0, 1, 0.1, 1e300, 5e-324, 1.7976931348623157e308,
		123456789012345680.0, -273.15};
	struct test_alarm t = plain;

	(void)state;
	for (unsigned i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		struct bp_alarm *a;
		json_t *o;

		t.value = value[i];
		a = test_alarm_make(&t);
		o = json_loads(envelope(a), 0, NULL);
		assert_non_null(o);
		assert_true(json_number_value(json_object_get(o, "value")) == value[i]);
		json_decref(o);
		free(a);
	}
}

static void no_number_is_null(void **state)
{
	static const double value[] = {NAN, INFINITY, -INFINITY};
	struct test_alarm t = plain;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bp_alarm *a;
		json_t *o;

		t.value = value[i];
		a = test_alarm_make(&t);
		o = json_loads(envelope(a), 0, NULL);
		assert_true(json_is_null(json_object_get(o, "value")));
		json_decref(o);
		free(a);
	}
}

static void time_is_that_of_the_calendar(void **state)
{
	static const uint64_t day = 86400;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		/* each day of 44 years, and steps of 22 days up to the year 2254 */
		const uint64_t s = i < 16000 ? i * day + i % day : (16000 + (i - 16000) * 22) * day;
		const time_t seconds = (time_t)s;
		struct test_alarm t = plain;
		struct bp_text out = {0};
		char expected[64];
		struct bp_alarm *a;
		struct tm tm;

		t.time_ns = s * 1000000000u + i;
		a = test_alarm_make(&t);
		assert_true(bp_envelope(a, NULL, &out));
		assert_non_null(gmtime_r(&seconds, &tm));
		strftime(expected, sizeof(expected), "\"time\":\"%Y-%m-%dT%H:%M:%S.", &tm);
		assert_non_null(memmem(out.data, out.len, expected, strlen(expected)));
		bp_text_free(&out);
		free(a);
	}
}

/* The longest strings, every byte escaped sixfold. */
static void longest_strings_fit(void **state)
{
	char *text = malloc(UINT16_MAX + 1);
	struct test_alarm t = plain;
	struct bp_text out = {0};
	struct bp_alarm *a;
	json_t *o;

	(void)state;
	memset(text, 1, UINT16_MAX);
	text[UINT16_MAX] = '\0';
	t.rule = t.topic = t.client_id = text;
	t.id = UINT64_MAX >> 1;
	t.time_ns = UINT64_MAX;
	a = test_alarm_make(&t);
	assert_true(bp_envelope(a, NULL, &out));
	assert_true(out.len <= out.size);
	o = json_loadb(out.data, out.len, 0, NULL);
	assert_non_null(o);
	assert_int_equal(json_string_length(json_object_get(o, "topic")), UINT16_MAX);
	json_decref(o);
	bp_text_free(&out);
	free(a);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_text),
		cmocka_unit_test(severity_and_annotations),
		cmocka_unit_test(annotations_are_those_of_the_active_rules),
		cmocka_unit_test(strings_and_booleans),
		cmocka_unit_test(cleared_ip6_no_client_id),
		cmocka_unit_test(the_uid_depends_on_rule_topic_and_transition),
		cmocka_unit_test(escaped_strings_are_valid_json),
		cmocka_unit_test(invalid_utf8_is_still_json),
		cmocka_unit_test(values_read_back),
		cmocka_unit_test(no_number_is_null),
		cmocka_unit_test(time_is_that_of_the_calendar),
		cmocka_unit_test(longest_strings_fit),
	};

	return cmocka_run_group_tests_name("envelope", tests, NULL, NULL);
}
