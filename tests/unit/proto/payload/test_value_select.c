/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "proto/payload/value.h"

/* Values that are strings or booleans, that are scaled, and that are of several elements. */

static const struct bp_value_strings strings = {
	.n = 4, .len = {4, 4, 0, 3}, .text = {"open", "ajar", "", "\xe2\x82\xac"}};

static struct bp_value_source source_of(enum bp_value_kind kind, const char *path)
{
	struct bp_value_source s = {.kind = kind};
	const char *why = NULL;
	size_t at;

	if (path != NULL && bp_json_path_compile(path, &s.json, &why, &at) != 0)
		fail_msg("%s: %s", path, why);
	return s;
}

static bool read_exact(const struct bp_value_source *s, const void *payload, size_t len,
	bool beginning, const struct bp_value_rank *rank, struct bp_value_result *out)
{
	uint8_t *exact = exact_copy(payload, len);
	const bool found = bp_value_select(exact, len, beginning, s, &strings, rank, out);

	free(exact);
	return found;
}

#define NONE NAN
static void assert_read(const struct bp_value_source *s, const char *payload, double expected)
{
	struct bp_value_result r;
	const bool found = read_exact(s, payload, strlen(payload), false, NULL, &r);

	if (found != !isnan(expected) || (found && r.value != expected))
		fail_msg("%s: %s, %.17g instead of %.17g", payload, found ? "found" : "none",
			found ? r.value : 0, expected);
}

static void strings_are_indices_of_the_list(void **state)
{
	struct bp_value_source json = source_of(BP_VALUE_JSON, "$.s");
	struct bp_value_source root = source_of(BP_VALUE_JSON, "$");
	struct bp_value_source text = source_of(BP_VALUE_TEXT, NULL);

	(void)state;
	json.type = root.type = text.type = BP_VALUE_STRING;
	assert_read(&json, "{\"s\":\"open\"}", 0);
	assert_read(&json, " { \"a\" : [1] , \"s\" : \"ajar\" } ", 1);
	assert_read(&json, "{\"s\":\"\"}", 2);
	assert_read(&json, "{\"s\":\"Open\"}", -1);
	assert_read(&json, "{\"s\":\"open \"}", -1);
	assert_read(&json, "{\"s\":\"ope\\u006e\"}", 0);
	assert_read(&json, "{\"s\":\"\\u20ac\"}", 3);
	assert_read(&json, "{\"s\":\"\xe2\x82\xac\"}", 3);
	assert_read(&json, "{\"s\":\"open\",\"s\":\"shut\"}", -1);
	assert_read(&json, "{\"s\":\"open\",\"s\":5}", NONE);
	assert_read(&json, "{\"s\":\"op\\u0065n\",\"t\":\"\\uD83D\\uDE00\"}", 0);
	assert_read(&json, "{\"s\":5}", NONE);
	assert_read(&json, "{\"s\":true}", NONE);
	assert_read(&json, "{\"s\":[\"open\"]}", NONE);
	assert_read(&json, "{\"s\":{\"s\":\"open\"}}", NONE);
	assert_read(&json, "{\"t\":\"open\"}", NONE);
	assert_read(&json, "{\"s\":\"open\"", NONE);
	assert_read(&json, "{\"s\":\"open\",}", NONE);
	assert_read(&json, "{\"s\":\"open\\x\"}", NONE);
	assert_read(&json, "{\"s\":\"open\",\"t\":\"\xff\"}", NONE);
	assert_read(&root, "\"open\"", 0);
	assert_read(&root, " \"op\\u0065n\"\n", 0);
	assert_read(&root, "\"\"", 2);
	assert_read(&root, "\"", NONE);
	assert_read(&root, "\"open\" 1", NONE);
	assert_read(&root, "\"a\"b\"", NONE);
	assert_read(&root, "\"a\nb\"", NONE);
	assert_read(&root, "open", NONE);
	assert_read(&root, "[\"open\"]", NONE);
	assert_read(&text, "open", 0);
	assert_read(&text, " ajar\r\n", 1);
	assert_read(&text, "open door", -1);
	assert_read(&text, "\xe2\x82\xac", 3);
	assert_read(&text, "", NONE);
	assert_read(&text, " \n", NONE);
	assert_read(&text, "op\xff", NONE);
}

static void booleans_are_1_and_0(void **state)
{
	struct bp_value_source json = source_of(BP_VALUE_JSON, "$.on");
	struct bp_value_source root = source_of(BP_VALUE_JSON, "$");
	struct bp_value_source text = source_of(BP_VALUE_TEXT, NULL);

	(void)state;
	json.type = root.type = text.type = BP_VALUE_BOOLEAN;
	assert_read(&json, "{\"on\":true}", 1);
	assert_read(&json, "{\"on\" : false }", 0);
	assert_read(&json, "{\"on\":1}", NONE);
	assert_read(&json, "{\"on\":null}", NONE);
	assert_read(&json, "{\"on\":\"true\"}", NONE);
	assert_read(&json, "{\"on\":tru}", NONE);
	assert_read(&json, "{\"on\":true,\"on\":false}", 0);
	assert_read(&root, "true", 1);
	assert_read(&root, "false", 0);
	assert_read(&root, "fals", NONE);
	assert_read(&root, "null", NONE);
	assert_read(&root, "truefalse", NONE);
	assert_read(&text, " true\n", 1);
	assert_read(&text, "false", 0);
	assert_read(&text, "True", NONE);
	assert_read(&text, "1", NONE);
	assert_read(&text, "", NONE);
}

/* What the envelope has of a string. */
static void assert_text(const char *string, const char *expected, bool truncated)
{
	struct bp_value_source s = source_of(BP_VALUE_JSON, "$[0]");
	struct bp_value_result r;
	char payload[512];

	s.type = BP_VALUE_STRING;
	snprintf(payload, sizeof(payload), "[\"%s\"]", string);
	assert_true(read_exact(&s, payload, strlen(payload), false, NULL, &r));
	assert_int_equal(r.text.len, strlen(expected));
	assert_memory_equal(r.text.text, expected, strlen(expected));
	assert_int_equal(r.text.truncated, truncated);
}

#define A20 "aaaaaaaaaaaaaaaaaaaa"
static void strings_are_decoded_and_bounded(void **state)
{
	struct bp_value_strings longest = {.n = 1, .len = {63}};
	struct bp_value_source s = source_of(BP_VALUE_TEXT, NULL);
	struct bp_value_result r;
	char text[65];

	(void)state;
	assert_text("door", "door", false);
	assert_text(
		"\\\"\\\\\\/\\b\\u00e9\\uD83D\\uDE00", "\"\\/\b\xc3\xa9\xf0\x9f\x98\x80", false);
	assert_text("\\uD83D", "\xef\xbf\xbd", false);
	assert_text(A20 A20 A20 "abc", A20 A20 A20 "abc", false);
	assert_text(A20 A20 A20 "abcd", A20 A20 A20 "abc", true);
	assert_text(A20 A20 A20 "ab\\u00e9", A20 A20 A20 "ab", true); /* whole characters */
	assert_text(A20 A20 A20 "ab\xc3\xa9z", A20 A20 A20 "ab", true);
	/* a surrogate that is no pair is equal to no string, nor to its replacement */
	memcpy(longest.text[0], "\xef\xbf\xbd", longest.len[0] = 3);
	s = source_of(BP_VALUE_JSON, "$");
	s.type = BP_VALUE_STRING;
	assert_true(
		bp_value_select((const uint8_t *)"\"\\ud800\"", 8, false, &s, &longest, NULL, &r));
	assert_true(r.value == -1);
	/* 63 bytes are compared, and 64 are another string */
	memset(text, 'x', sizeof(text));
	memset(longest.text[0], 'x', longest.len[0] = 63);
	s = source_of(BP_VALUE_TEXT, NULL);
	s.type = BP_VALUE_STRING;
	assert_true(bp_value_select((uint8_t *)text, 63, false, &s, &longest, NULL, &r));
	assert_true(r.value == 0 && !r.text.truncated && r.text.len == 63);
	assert_true(bp_value_select((uint8_t *)text, 64, false, &s, &longest, NULL, &r));
	assert_true(r.value == -1 && r.text.truncated && r.text.len == 63);
}

static void numbers_are_scaled(void **state)
{
	struct bp_value_source json = source_of(BP_VALUE_JSON, "$.t");
	struct bp_value_source text = source_of(BP_VALUE_TEXT, NULL);
	struct bp_value_source binary = source_of(BP_VALUE_BINARY, NULL);

	(void)state;
	json.scaled = text.scaled = binary.scaled = 1;
	json.scale = text.scale = binary.scale = 0.5;
	json.offset = text.offset = binary.offset = -40;
	binary.binary.type = BP_BIN_INT8;
	assert_read(&json, "{\"t\":100}", 10);
	assert_read(&json, "{\"t\":100,\"t\":-100}", -90);
	assert_read(&json, "{\"t\":\"100\"}", NONE);
	assert_read(&text, " 80 ", 0);
	assert_read(&text, "80 C", NONE);
	assert_read(&binary, "\x02", -39);
	assert_read(&binary, "", NONE);
	text.scale = -1e300; /* beyond the range: the largest of its sign */
	assert_read(&text, "1e300", -DBL_MAX);
	assert_read(&text, "-1e300", DBL_MAX);
}

/* ---- elements ---- */

/* raise: above 80; clear: below 70. */
static unsigned any_of(const void *arg, double v)
{
	(void)arg;
	return v > 80 ? 2 : !(v < 70);
}
static unsigned all_of(const void *arg, double v)
{
	(void)arg;
	return v > 80 ? 0 : 1 + (v < 70);
}

static const struct bp_value_rank any = {.of = any_of, .top = 2}, all = {.of = all_of, .top = 2};

static void assert_elements(const char *path, const char *payload, double of_any, double of_all)
{
	const struct bp_value_source s = source_of(BP_VALUE_JSON, path);
	const struct bp_value_rank *rank[] = {&any, &all};
	const double expected[] = {of_any, of_all};

	for (int i = 0; i < 2; i++) {
		struct bp_value_result r;
		const bool found = read_exact(&s, payload, strlen(payload), false, rank[i], &r);

		if (found != !isnan(expected[i]) || (found && r.value != expected[i]))
			fail_msg("%s of %s, %s: %s %.17g", path, payload, i == 0 ? "any" : "all",
				found ? "found" : "none", found ? r.value : 0);
	}
}

static void the_element_that_decides_is_the_value(void **state)
{
	(void)state;
	assert_elements("$[*]", "[75,90,95,60]", 90, 60); /* one raises; one clears */
	assert_elements("$[*]", "[60,75,65]", 75, 60);    /* none raises, and not all clear */
	assert_elements("$[*]", "[60,65]", 60, 60);       /* all clear */
	assert_elements("$[*]", "[81,82]", 81, 81);       /* all raise */
	assert_elements("$[*]", "[81,75]", 81, 75);
	assert_elements("$.r[*].c", "{\"r\":[{\"c\":60},{\"h\":90},{\"c\":90,\"d\":1}]}", 90, 60);
	assert_elements("$.r[*].c[1]", "{\"r\":[{\"c\":[90,60]},{\"c\":[0,85]}]}", 85, 60);
	assert_elements("$[*][*]", "[[60],[],[75,81]]", 81, 60);
	assert_elements("$[*][0]", "[[60,90],[75]]", 75, 60);
	assert_elements("$[1][*]", "[[90],[60,61],[91]]", 60, 60);
	assert_elements("$.a[*].b[*].c",
		"{\"a\":[{\"b\":[{\"c\":60},{\"c\":99}]},{\"b\":[{\"c\":1}]}]}", 99, 60);
}

static void elements_without_a_number_do_not_count(void **state)
{
	(void)state;
	assert_elements("$[*]", "[]", NONE, NONE);
	assert_elements("$[*]", "[\"90\",null,true,[90],{\"a\":90}]", NONE, NONE);
	assert_elements("$[*]", "[null,90]", 90, 90);
	assert_elements("$[*]", "{\"a\":90}", NONE, NONE);
	assert_elements("$.r[*]", "{\"r\":90}", NONE, NONE);
	assert_elements("$[*]", "[90", NONE, NONE);
	assert_elements("$[*]", "[90,]", NONE, NONE);
}

/* Of several members of one name the last counts, in each element for itself. */
static void members_of_one_name_replace_each_other(void **state)
{
	(void)state;
	assert_elements("$.r[*]", "{\"r\":[90],\"r\":[60,61]}", 60, 60);
	assert_elements("$.r[*]", "{\"r\":[90],\"r\":5}", NONE, NONE);
	assert_elements("$[*].c", "[{\"c\":60},{\"c\":90,\"c\":75},{\"c\":65}]", 75, 60);
	assert_elements("$[*].c", "[{\"c\":90,\"c\":null},{\"c\":75}]", 75, 75);
	assert_elements(
		"$.a[*].b[*]", "{\"a\":[{\"b\":[90],\"b\":[60]},{\"b\":[75],\"b\":[61]}]}", 60, 60);
}

static void assert_beginning(const struct bp_value_source *s, const char *payload,
	const struct bp_value_rank *rank, double expected)
{
	struct bp_value_result r;
	const bool found = read_exact(s, payload, strlen(payload), true, rank, &r);

	if (found != !isnan(expected) || (found && r.value != expected))
		fail_msg("%s: %s %.17g instead of %.17g", payload, found ? "found" : "none",
			found ? r.value : 0, expected);
}

static void a_beginning_decides_only_what_no_rest_changes(void **state)
{
	struct bp_value_source s = source_of(BP_VALUE_JSON, "$.r[*]");

	(void)state;
	assert_beginning(&s, "{\"r\":[60,90,", &any, 90);
	assert_beginning(&s, "{\"r\":[60,90", &any, NONE); /* 90 may go on */
	assert_beginning(&s, "{\"r\":[60,75,", &any, NONE);
	assert_beginning(&s, "{\"r\":[60,61,", &any, NONE);
	assert_beginning(&s, "{\"r\":[90,91,", &all, NONE);
	assert_beginning(&s, "{\"r\":[90,75,", &all, NONE); /* does one clear? */
	assert_beginning(&s, "{\"r\":[90,60,", &all, 60);
	s = source_of(BP_VALUE_JSON, "$.s");
	s.type = BP_VALUE_STRING;
	assert_beginning(&s, "{\"s\":\"open\",\"x", NULL, 0);
	assert_beginning(&s, "{\"s\":\"open", NULL, NONE);
	assert_beginning(&s, "{\"s\":\"a\nb\",", NULL, NONE);
	s.type = BP_VALUE_BOOLEAN;
	assert_beginning(&s, "{\"s\":true,", NULL, 1);
	assert_beginning(&s, "{\"s\":null,", NULL, NONE);
	assert_beginning(&s, "{\"s\":tru", NULL, NONE);
	s = source_of(BP_VALUE_TEXT, NULL);
	s.type = BP_VALUE_STRING;
	assert_beginning(&s, "open", NULL, NONE);
	s = source_of(BP_VALUE_BINARY, NULL);
	s.scaled = 1;
	s.scale = 2;
	assert_beginning(&s, "\x05\x06", NULL, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_indices_of_the_list),
		cmocka_unit_test(booleans_are_1_and_0),
		cmocka_unit_test(strings_are_decoded_and_bounded),
		cmocka_unit_test(numbers_are_scaled),
		cmocka_unit_test(the_element_that_decides_is_the_value),
		cmocka_unit_test(elements_without_a_number_do_not_count),
		cmocka_unit_test(members_of_one_name_replace_each_other),
		cmocka_unit_test(a_beginning_decides_only_what_no_rest_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
