/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "proto/payload/value.h"

static bool extract(const char *path, const char *text, size_t len, double *value)
{
	struct bp_json_path p;
	const char *error;
	size_t at;
	uint8_t *payload;
	bool r;

	if (bp_json_path_compile(path, &p, &error, &at) != 0)
		fail_msg("%s: %s", path, error);
	payload = exact_copy(text, len);
	r = bp_value_json(payload, len, &p, value);
	free(payload);
	return r;
}

static void assert_value(const char *path, const char *text, double expected)
{
	double v = NAN;

	if (!extract(path, text, strlen(text), &v))
		fail_msg("%s has no value at %s", text, path);
	if (v != expected)
		fail_msg("%s has %.17g at %s", text, v, path);
}

static void assert_none(const char *path, const char *text)
{
	double v = 42;

	if (extract(path, text, strlen(text), &v))
		fail_msg("%s has %.17g at %s", text, v, path);
	assert_true(v == 42);
}

static void the_path_leads_to_the_number(void **state)
{
	assert_value("$.a", "{\"a\":1}", 1);
	assert_value("$.a", " \t\r\n{ \"a\" : 1 } \n", 1);
	assert_value("$.celsius",
		"{\"device\":\"s-42\",\"ts\":1700000123456,\"celsius\":23.57,\"ok\":true,\"seq\":"
		"12345}",
		23.57);
	assert_value("$.celsius", "{\"celsius\": -0.5e1, \"x\": null}", -5);
	assert_value("$.sensors[2].celsius",
		"{\"sensors\":[{\"celsius\":1},{\"celsius\":2},{\"celsius\":3},{\"celsius\":4}]}",
		3);
	assert_value("$[0]", "[7]", 7);
	assert_value("$[3]", "[1, [2, 2, 2, 2], {\"a\":[9,9,9,9]}, 4]", 4);
	assert_value("$[1][2][3]", "[0,[0,0,[0,0,0,8],0],[1]]", 8);
	assert_value("$.a.b.c", "{\"a\":{\"x\":{\"b\":1},\"b\":{\"c\":5}},\"b\":{\"c\":6}}", 5);
	assert_value("$.a", "{\"b\":{\"a\":1},\"a\":2,\"c\":{\"a\":3}}", 2);
	assert_value("$.a", "{\"a\":2,\"c\":[{\"a\":3}]}", 2);
	assert_value("$", "81", 81);
	assert_value("$", "  -8.1e1\n", -81);
	assert_value("$['']", "{\"\":3}", 3);
	assert_value("$['a b']", "{\"a b\":3}", 3);
	assert_value("$.a", "{\"a\":123456789.123456789}", 123456789.123456789);
	assert_value("$.a", "{\"a\":12345678901234567890}", 12345678901234567890.);
	assert_value("$.a", "{\"a\":0.30000000000000004}", 0.1 + 0.2);
	assert_value("$.a",
		"{\"x\":1234567890123456,\"y\":1.23456789012345,\"z\":123456789012345.5,"
		"\"w\":12345678901234567890.5e-1,\"a\":7}",
		7);
}

static void other_kinds_are_no_value(void **state)
{
	assert_none("$.a", "{\"a\":\"81\"}");
	assert_none("$.a", "{\"a\":true}");
	assert_none("$.a", "{\"a\":false}");
	assert_none("$.a", "{\"a\":null}");
	assert_none("$.a", "{\"a\":{}}");
	assert_none("$.a", "{\"a\":[1]}");
	assert_value("$.a", "{\"a\":1e999}", DBL_MAX);
	assert_value("$.a", "{\"a\":-1e999}", -DBL_MAX);
	assert_value("$", "1e400", DBL_MAX);
	assert_value("$", "-1e400", -DBL_MAX);
	assert_none("$", "\"81\"");
	assert_none("$", "true");
	assert_none("$", "[1]");
	assert_none("$", "{}");
	assert_none("$", "81 1");
	assert_none("$", "+81");
	assert_none("$", "081");
	assert_none("$", "");
	assert_none("$", " ");
	assert_none("$.a", "81");
	assert_none("$[0]", "81");
}

static void unmatched_paths_have_no_value(void **state)
{
	assert_none("$.a", "{}");
	assert_none("$.a", "[]");
	assert_none("$.a", "{\"b\":1}");
	assert_none("$.a", "{\"A\":1}");
	assert_none("$.a", "{\"aa\":1}");
	assert_none("$.aa", "{\"a\":1}");
	assert_none("$.a", "[\"a\",1]");
	assert_none("$[0]", "{\"0\":1}");
	assert_none("$[1]", "[1]");
	assert_none("$[0]", "[]");
	assert_none("$.a.b", "{\"a\":1}");
	assert_none("$.a.b", "{\"a\":[1],\"b\":2}");
	assert_none("$.a[0]", "{\"a\":1}");
	assert_none("$.a[1]", "{\"a\":[1]}");
	assert_none("$[0][0]", "[1]");
	assert_none("$[0].a", "[[1]]");
	assert_none("$.a", "{\"x\":{\"a\":1}}");
	assert_none("$.a.b", "{\"a\":{\"c\":{\"b\":1}}}");
	assert_none("$[1][0]", "[[1,2],5]");
}

static void last_duplicate_name_wins(void **state)
{
	assert_value("$.a", "{\"a\":1,\"a\":2}", 2);
	assert_value("$.a", "{\"a\":\"x\",\"a\":2}", 2);
	assert_none("$.a", "{\"a\":1,\"a\":\"x\"}");
	assert_none("$.a", "{\"a\":1,\"a\":{}}");
	assert_none("$.a", "{\"a\":1,\"a\":null}");
	assert_value("$.a", "{\"a\":1,\"a\":1e999}", DBL_MAX);
	assert_value("$.a", "\xef\xbb\xbf {\"a\":1}", 1);
	assert_none("$.a", "\xef\xbb\xbf\xef\xbb\xbf{\"a\":1}");
	assert_value("$.a.b", "{\"a\":{\"b\":1},\"a\":{\"b\":2}}", 2);
	assert_none("$.a.b", "{\"a\":{\"b\":1},\"a\":{}}");
	assert_none("$.a.b", "{\"a\":{\"b\":1},\"a\":7}");
	assert_none("$.a[1]", "{\"a\":[1,2],\"a\":[1]}");
	assert_value("$.a[1]", "{\"a\":[1],\"a\":[1,2]}", 2);
	assert_value("$.a", "{\"a\":1,\"\\u0061\":2}", 2);
	assert_value("$.a", "{\"\\u0061\":1,\"a\":2}", 2);
}

static void names_compare_after_unescaping(void **state)
{
	assert_value("$.a", "{\"\\u0061\":1}", 1);
	assert_value("$['a\"b']", "{\"a\\\"b\":1}", 1);
	assert_value("$['a\\\\b']", "{\"a\\\\b\":1}", 1);
	assert_value("$['a/b']", "{\"a\\/b\":1}", 1);
	assert_value("$['\\n\\t\\r\\b\\f']", "{\"\\n\\t\\r\\b\\f\":1}", 1);
	assert_value("$.\xc3\xa9", "{\"\\u00e9\":1}", 1);
	assert_value("$.\xc3\xa9", "{\"\xc3\xa9\":1}", 1);
	assert_value("$['\\u20ac']", "{\"\xe2\x82\xac\":1}", 1);
	assert_value("$['\\ud83d\\ude00']", "{\"\\uD83D\\uDE00\":1}", 1);
	assert_value("$['\\ud83d\\ude00']", "{\"\xf0\x9f\x98\x80\":1}", 1);
	assert_value("$['\\u0000']", "{\"\\u0000\":1}", 1);
	assert_value("$.b", "{\"a\\\\\":1,\"b\":2}", 2);
	assert_value("$.b", "{\"a\":\"\\\\\\\"\",\"b\":2}", 2);
	assert_none("$.u0061", "{\"\\u0061\":1}");
	assert_none("$.a", "{\"\\u0061b\":1}");
	assert_none("$.ab", "{\"\\u0061\":1}");
	assert_none("$['\\\\u0061']", "{\"\\u0061\":1}");
	/* an escape at the start makes names without any no different */
	assert_value("$.celsius", "{\"\\t\":0,\"celsius\":1}", 1);
}

/* Strings longer than the 64 bytes that are checked together. */
#define LONG_TEXT "sixty-four characters and more, so that this string spans several blocks"
#define PAIR "\\ud83d\\ude00"
static const char long_plain[] = "\"" LONG_TEXT "\"";
static const char long_escapes[] = "\"" LONG_TEXT "\\\\\\\"" LONG_TEXT "\\n\"";
static const char long_pairs[] = "\"" LONG_TEXT PAIR PAIR PAIR PAIR PAIR PAIR PAIR "\"";
static const char long_control[] = "\"" LONG_TEXT "\x01\"";
static const char long_bad_escape[] = "\"" LONG_TEXT "\\x\"";
static const char long_bad_utf8[] = "\"" LONG_TEXT "\xff\"";

/*
 * Valid and invalid texts in the manner of JSONTestSuite. Each is put where it is not checked, in
 * `[1,TEXT]`, so that validity alone decides.
 */

static const char *const valid[] = {"0", "-0", "1", "-1", "10", "1.5", "-1.5e10", "1E5", "1e+5",
	"1e-5", "0e0", "0.0", "123456789012345", "1234567890123456", "12345678901234567",
	"123456789012345.5", "1234567890123456.5", "1.234567890123456789", "1e999", "-1e-999",
	"12345678901234e5", "123456789012345e5", "1234567890123456e5", "true", "false", "null",
	"\"\"", "\"a\"", "\"\\\"\"", "\"\\\\\"", "\"\\/\\b\\f\\n\\r\\t\"", "\"\\u0000\"",
	"\"\\uabCD\"", "\"\\ud83d\\ude00\"", "\"\\\\ud800\"", "\"\x7f\"", "\"\xc3\xa9\"",
	"\"\xf4\x8f\xbf\xbf\"", "\"]\"", "\"}\"", "\",\"", "[]", "[ ]", "[[]]", "[1]", "[1,2]",
	"[ 1 , 2 ]", "{}", "{ }", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{ \"a\" : 1 , \"b\" : [ ] }",
	"{\"\":0}", "{\"a\":{\"b\":{\"c\":[]}}}", "\t1", "\n1", "\r1", " 1 ", long_plain,
	"\"\\uD800\"", long_escapes, long_pairs};

static const char *const invalid[] = {"", "-", "+1", "01", "-01", "00", "1.", ".5", "1.e1", "1e",
	"1e+", "1ea", "1.5.5", "1..5", "1e5.5", "--1", "1-", "1-1", "0x1", "1a",
	"12345678901234567a", "1234567890123456.", "1234567890123456e", "12345678901234567.a",
	"Infinity", "NaN", "nan", "True", "tru", "truee", "true1", "nul", "nulll", "fals", "falsee",
	"undefined", "\"", "\"a", "'a'", "a", "\"\\\"", "\"\\x\"", "\"\\", "\"\\u\"", "\"\\u12\"",
	"\"\\u123\"", "\"\\u123g\"", "\"\\'\"", "\"\\a\"", "\"\n\"", "\"\t\"", "\"\x01\"",
	"\"\x1f\"", "\"\xff\"", "\"\x80\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"",
	"\"\xf4\x90\x80\x80\"", "\xc3\xa9", "\357\273\2771", "\"a\"b", "\"a\"\"b\"", "\"a\" \"b\"",
	"[", "]", "[1", "1]", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 2]", "[1:2]", "[1}", "{", "}",
	"{]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}", "{:1}", "{\"a\":1:2}",
	"{\"a\",1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1,,\"b\":2}", "{a:1}", "{1:1}",
	"{'a':1}", "{\"a\":1}}", "{\"a\"::1}", "{null:1}", "{\"a\":1,2}", "{\"a\":1]", "1 2", ",",
	":", "1,", "1,,", "\v1", "\f1", "1\\n", "\\u0031", "// 1", "/* */ 1", "\"a\\\"",
	"\"\\\\\\\"", "\\\"a\"", "\\", "\"a\\", long_control, long_bad_escape, long_bad_utf8};

/* The same at every distance from the start, so that every alignment to the blocks is met. */
static void assert_validity(const char *item, bool expected)
{
	for (int pad = 0; pad < 140; pad++) {
		char text[600];
		double v = 42;
		int n = snprintf(text, sizeof(text), "[1,\"%*s\",%s]", pad, "", item);

		if (extract("$[0]", text, (size_t)n, &v) != expected)
			fail_msg("%s is %svalid, but was taken otherwise", text,
				expected ? "" : "not ");
		assert_true(v == (expected ? 1 : 42));
	}
}

static void valid_texts_are_accepted(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		assert_validity(valid[i], true);
}

static void invalid_texts_have_no_value(void **state)
{
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		assert_validity(invalid[i], false);
}

static void invalid_whole_texts_have_no_value(void **state)
{
	static const char *const texts[] = {"", " ", "{", "[", "}", "]", "{]", "[}", "{\"a\":1",
		"\"a\":1}", "{\"a\":1}}", "{{\"a\":1}", "{\"a\":1}{}", "{\"a\":1},", "{\"a\":1} x",
		"x {\"a\":1}", "{\"a\":1}]", "[{\"a\":1}", "{\"a\":1}\v", "{\"a\":1,\"b\"}",
		"{\"a\":1,\"b\":}", "{\"a\":1,\"b\":tru}", "{\"a\":1,\"b\":\"}",
		"{\"a\":1,\"b\":\"\\\"}", "{\"a\":1/**/}", "{\"a\":1\\}", "{\"a\":1,\"b\\\":2}",
		"{\"a\\\":1}", "{\\\"a\":1}", "{\"a\":1e}", "{\"a\":-}", "{\"a\":01}", "{\"a\":1.}",
		"{\"a\":.1}", "{\"a\":1a}", "{\"a\":--1}", "{\"a\":+1}", "{\"a\":1 1}"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_none("$.a", texts[i]);
	for (int c = 1; c < 256; c++) { /* a NUL and every other byte after the text */
		char text[] = "{\"a\":1}?";
		double v;

		text[7] = (char)c;
		assert_int_equal(extract("$.a", text, 8, &v),
			c == ' ' || c == '\t' || c == '\n' || c == '\r');
	}
	double v;

	assert_false(extract("$.a", "{\"a\":1}\0", 8, &v));
	assert_false(extract("$.a", "{\"b\0\":0,\"a\":1}", 14, &v));
	assert_false(extract("$.a", "{\"a\":1\0}", 8, &v));
}

/* A control character or a byte that is no UTF-8 at each place of strings of each length. */
static void every_byte_of_a_string_is_checked(void **state)
{
	static const char bad[] = {0, 1, 0x1f, '\n', '\x80', '\xff', '\xc3'};

	for (int len = 1; len < 140; len++) {
		for (int at = 0; at < len; at++) {
			char text[200];
			double v;
			int n = sprintf(text, "{\"s\":\"%0*d\",\"a\":1}", len, 0);

			assert_true(extract("$.a", text, (size_t)n, &v));
			text[6 + at] = bad[(at + len) % (int)sizeof(bad)];
			if (extract("$.a", text, (size_t)n, &v))
				fail_msg("byte %d of %d in a string was not checked", at, len);
		}
	}
}

static void truncated_input_is_invalid(void **state)
{
	static const char text[] = "{\"a\":1,\"b\":[true,false,null,{\"c\\u00e9\\\"\":"
				   "\"d\xc3\xa9\"},-1.5e-3,[]],\"e\":"
				   "\"0123456789012345678901234567890123456789012345678901234567890"
				   "\\\\\",\"f\":{\"g\":7}}";
	double v;

	assert_true(extract("$.a", text, sizeof(text) - 1, &v));
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		if (extract("$.a", text, len, &v))
			fail_msg("%.*s is not valid", (int)len, text);
	}
}

/* `open` n times, `inner`, and `close` n times. */
static void nest(char *out, int depth, const char *open, const char *inner, const char *close)
{
	for (int i = 0; i < depth; i++)
		out += sprintf(out, "%s", open);
	out += sprintf(out, "%s", inner);
	for (int i = 0; i < depth; i++)
		out += sprintf(out, "%s", close);
}

static void depth_hides_nothing(void **state)
{
	char text[2000], nested[1000];

	nest(nested, BP_JSON_DEPTH_MAX - 1, "[", "", "]");
	sprintf(text, "[5,%s]", nested);
	assert_value("$[0]", text, 5);
	nest(nested, BP_JSON_DEPTH_MAX, "[", "", "]");
	sprintf(text, "[5,%s]", nested);
	assert_value("$[0]", text, 5);
	nest(nested, 400, "[", "\"]\\\"\",1e5", "]");
	sprintf(text, "[4,%s,5]", nested);
	assert_value("$[2]", text, 5);
	nest(nested, 400, "[", "", "]");
	sprintf(text, "[5,%s", nested); /* one too few */
	assert_none("$[0]", text);

	nest(nested, BP_JSON_DEPTH_MAX - 1, "{\"a\":", "1", "}");
	sprintf(text, "{\"x\":5,\"y\":%s}", nested);
	assert_value("$.x", text, 5);
	nest(nested, BP_JSON_DEPTH_MAX, "{\"a\":", "1", "}");
	sprintf(text, "{\"y\":%s,\"x\":5}", nested);
	assert_value("$.x", text, 5);

	/* object and array in turn: each closes as what it was opened */
	nest(nested, BP_JSON_DEPTH_MAX / 2 - 1, "{\"a\":[", "1", "]}");
	sprintf(text, "[5,%s]", nested);
	assert_value("$[0]", text, 5);
	nest(nested, BP_JSON_DEPTH_MAX / 2 - 1, "{\"a\":[", "1", "}]");
	sprintf(text, "[5,%s]", nested);
	assert_none("$[0]", text);
}

static void hundred_thousand_brackets_have_no_value(void **state)
{
	enum { N = 100000 };
	char *text = malloc(N);
	double v;

	memset(text, '[', N);
	assert_false(extract("$[0]", text, N, &v));
	memset(text + N / 2, ']', N / 2);
	assert_false(extract("$[0]", text, N, &v));
	free(text);
}

static void sixteen_steps_are_followed(void **state)
{
	assert_value("$.a[1].c[2].e[0].g[0].i[0].k[0].m[0].o[1]",
		"{\"a\":[0,{\"c\":[0,0,{\"e\":[{\"g\":[{\"i\":[{\"k\":[{\"m\":[{\"o\":[0,6]}]}]}]}]"
		"}]}]}]}",
		6);
}

static void long_texts_are_read_to_the_end(void **state)
{
	enum { N = 200000 };
	char *text = malloc(N);
	size_t n = 0;
	double v = 0;

	n += (size_t)sprintf(text + n, "{\"numbers\":[0");
	while (n < N / 2)
		n += (size_t)sprintf(text + n, ",%zu.%zu", n, n % 97);
	n += (size_t)sprintf(text + n, "],\"text\":\"");
	while (n < N - 1000)
		n += (size_t)sprintf(text + n, "%zu \\n \xc3\xa9 ", n);
	n += (size_t)sprintf(text + n, "\",\"a\":99}");
	assert_true(extract("$.a", text, n, &v));
	assert_true(v == 99);
	assert_true(extract("$.numbers[0]", text, n, &v));
	assert_true(v == 0);
	text[n - 1] = ' ';
	assert_false(extract("$.a", text, n, &v));
	free(text);
}

/* Names longer than one comparison of 16 bytes, and names at the end of the path's name space. */
static void names_of_every_length_are_compared_whole(void **state)
{
	for (int len = 1; len <= BP_JSON_NAMES_MAX; len++) {
		char path[300], text[600];
		int n = sprintf(path, "$.%0*d", len, 0);

		sprintf(text, "{\"%s\":1,\"z\":0}", path + 2);
		assert_value(path, text, 1);
		text[2 + (len - 1)] = 'x';
		assert_none(path, text);
		path[n - 1] = 'x';
		assert_value(path, text, 1);
		sprintf(text, "{\"%s\":1}", path + 2); /* no room for 16 bytes after it */
		assert_value(path, text, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_path_leads_to_the_number),
		cmocka_unit_test(other_kinds_are_no_value),
		cmocka_unit_test(unmatched_paths_have_no_value),
		cmocka_unit_test(last_duplicate_name_wins),
		cmocka_unit_test(names_compare_after_unescaping),
		cmocka_unit_test(valid_texts_are_accepted),
		cmocka_unit_test(invalid_texts_have_no_value),
		cmocka_unit_test(invalid_whole_texts_have_no_value),
		cmocka_unit_test(every_byte_of_a_string_is_checked),
		cmocka_unit_test(truncated_input_is_invalid),
		cmocka_unit_test(depth_hides_nothing),
		cmocka_unit_test(hundred_thousand_brackets_have_no_value),
		cmocka_unit_test(sixteen_steps_are_followed),
		cmocka_unit_test(long_texts_are_read_to_the_end),
		cmocka_unit_test(names_of_every_length_are_compared_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
