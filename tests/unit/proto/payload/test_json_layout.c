/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <math.h>
#include <stdio.h>

#include "proto/payload/json_layout.h"
#include "tests/unit/times.h"

static uint64_t bits(double v)
{
	uint64_t b;

	memcpy(&b, &v, sizeof(b));
	return b;
}

static void compile(const char *path, struct bp_json_path *p)
{
	const char *error;
	size_t at;

	if (bp_json_path_compile(path, p, &error, &at) != 0)
		fail_msg("%s: %s", path, error);
}

/* Learns, and demands that it says what bp_value_json() says and keeps what it should. */
static bool learn(const uint8_t *text, size_t len, const struct bp_json_path *path,
	struct bp_json_layout *layout)
{
	double v = 42, expected = 42;
	bool found;

	memset(layout, 0xa5, sizeof(*layout));
	layout->len = 0;
	found = bp_json_layout_learn(text, len, path, layout, &v);
	if (found != bp_value_json(text, len, path, &expected) || bits(v) != bits(expected))
		fail_msg("%.*s was read as %.17g", (int)len, (const char *)text, v);
	if (found && len <= BP_JSON_LAYOUT_MAX && path->steps != 0) {
		assert_int_equal(layout->len, len);
		assert_true(bp_json_layout_matches(layout, text, len));
	} else {
		assert_int_equal(layout->len, 0);
		assert_false(bp_json_layout_matches(layout, text, len));
	}
	return layout->len != 0;
}

/* The layout gives the same value as bp_value_json() for a text that fits. */
static void assert_same_value(const struct bp_json_layout *l, const struct bp_json_path *path,
	const uint8_t *text, size_t len)
{
	double v = 42, expected = 42;
	bool found = bp_json_layout_value(l, text, &v);

	if (found != bp_value_json(text, len, path, &expected) || bits(v) != bits(expected))
		fail_msg("%.*s: the layout says %.17g, not %.17g", (int)len, (const char *)text, v,
			expected);
}

/* Whether `other` fits the layout learnt from `text`. */
static bool fits(const char *path, const char *text, const char *other)
{
	uint8_t *a = exact_copy(text, strlen(text)), *b = exact_copy(other, strlen(other));
	struct bp_json_layout l;
	struct bp_json_path p;
	bool r;

	compile(path, &p);
	if (!learn(a, strlen(text), &p, &l))
		fail_msg("%s: nothing learned", text);
	assert_same_value(&l, &p, a, strlen(text));
	r = bp_json_layout_matches(&l, b, strlen(other));
	if (r)
		assert_same_value(&l, &p, b, strlen(other));
	free(a);
	free(b);
	return r;
}

static void assert_fits(const char *text, const char *other)
{
	if (!fits("$.a", text, other))
		fail_msg("%s should fit %s", other, text);
}

static void assert_misfit(const char *text, const char *other)
{
	if (fits("$.a", text, other))
		fail_msg("%s should not fit %s", other, text);
}

static void digits_of_numbers_may_differ(void **state)
{
	assert_fits("{\"a\":23.57}", "{\"a\":98.01}");
	assert_fits("{\"a\":0.5}", "{\"a\":7.0}");
	assert_fits("{\"a\":7}", "{\"a\":0}");
	assert_fits("{\"a\":-5}", "{\"a\":-0}");
	assert_fits("{\"a\":-0.0e00}", "{\"a\":-9.9e99}");
	assert_fits("{\"a\":1E+5}", "{\"a\":0E+0}");
	assert_fits("{\"a\":1,\"b\":[10,{\"c\":200}]}", "{\"a\":2,\"b\":[99,{\"c\":909}]}");
	assert_fits("{\"a\":[1],\"a\":22}", "{\"a\":[9],\"a\":33}");
	assert_fits("{\"a\":12345678}", "{\"a\":87654321}");
	assert_fits("{\"a\":-1234567.8}", "{\"a\":-8765432.1}");
	assert_fits("{\"a\":123456789}", "{\"a\":987654321}");
	assert_fits("{\"a\":12345678901234567890.5}", "{\"a\":98765432109876543210.1}");
	assert_true(fits("$[1]", "[1,2]", "[3,4]"));
	assert_true(fits("$[0]", " [1]\n", " [3]\n"));
}

static void leading_zero_is_rejected(void **state)
{
	assert_fits("{\"a\":10}", "{\"a\":90}");
	assert_misfit("{\"a\":10}", "{\"a\":00}");
	assert_misfit("{\"a\":-10}", "{\"a\":-00}");
	assert_misfit("{\"a\":10.5}", "{\"a\":00.5}");
	assert_misfit("{\"a\":10e1}", "{\"a\":00e1}");
	assert_misfit("{\"a\":1,\"b\":10}", "{\"a\":1,\"b\":00}");
	assert_fits("{\"a\":1.10}", "{\"a\":1.00}");
	assert_fits("{\"a\":1e10}", "{\"a\":1e00}");
	assert_fits("{\"a\":1e-10}", "{\"a\":1e-00}");
}

static void non_digits_are_rejected(void **state)
{
	assert_misfit("{\"a\":12}", "{\"a\":1.}");
	assert_misfit("{\"a\":1.5}", "{\"a\":105}");
	assert_misfit("{\"a\":-1}", "{\"a\":11}");
	assert_misfit("{\"a\":11}", "{\"a\":-1}");
	assert_misfit("{\"a\":1e5}", "{\"a\":1E5}");
	assert_misfit("{\"a\":1e+5}", "{\"a\":1e-5}");
	assert_misfit("{\"a\":11}", "{\"a\":1 }");
	assert_misfit("{\"a\":1}", "{\"a\":/}");
	assert_misfit("{\"a\":1}", "{\"a\"::}");
	assert_misfit("{\"a\":11}", "{\"a\":11 }");
	assert_misfit("{\"a\":11}", "{\"a\":1}");
}

static void a_number_may_become_infinite(void **state)
{
	assert_fits("{\"a\":1e308}", "{\"a\":9e999}");
	assert_fits("{\"b\":1e308,\"a\":1}", "{\"b\":9e999,\"a\":1}");
	assert_fits("{\"a\":1e308,\"a\":1}", "{\"a\":9e999,\"a\":1}");
}

static void characters_of_values_may_differ(void **state)
{
	assert_fits("{\"a\":1,\"s\":\"oven-17\"}", "{\"a\":1,\"s\":\"zzzz-99\"}");
	assert_fits("{\"a\":1,\"s\":[\"aZ09 \",\"b\"]}", "{\"a\":1,\"s\":[\"~#[:!\",\"]\"]}");
	assert_fits("{\"s\":\"a\",\"a\":1}", "{\"s\":\"\x7f\",\"a\":1}");
	assert_fits("{\"s\":\"\x7f\",\"a\":1}", "{\"s\":\"]\",\"a\":1}");
	assert_fits("{\"s\":\"a\\nb\",\"a\":1}", "{\"s\":\"c\\nd\",\"a\":1}");
	assert_fits("{\"s\":\"x\\u00e9x\",\"a\":1}", "{\"s\":\"y\\u00e9y\",\"a\":1}");
	assert_fits("{\"s\":\"x\xc3\xa9x\",\"a\":1}", "{\"s\":\"y\xc3\xa9y\",\"a\":1}");
	assert_fits("{\"s\":\"\\\\\\\"n\",\"a\":1}", "{\"s\":\"\\\\\\\"z\",\"a\":1}");
	assert_misfit("{\"a\":1,\"s\":\"a\"}", "{\"a\":1,\"s\":\"Z\"}"); /* other group */
	assert_misfit("{\"a\":1,\"s\":\"#\"}", "{\"a\":1,\"s\":\"!\"}");
	assert_misfit("{\"a\":1,\"s\":\"!\"}", "{\"a\":1,\"s\":\"\"\"}");
	assert_misfit("{\"a\":1,\"s\":\"#\"}", "{\"a\":1,\"s\":\"\"\"}");
	assert_misfit("{\"a\":1,\"s\":\"[]\"}", "{\"a\":1,\"s\":\"\\]\"}");
	assert_misfit("{\"a\":1,\"s\":\"]]\"}", "{\"a\":1,\"s\":\"\\]\"}");
	assert_misfit("{\"a\":1,\"s\":\" \"}", "{\"a\":1,\"s\":\"\x1f\"}");
	assert_misfit("{\"a\":1,\"s\":\"\x7f\"}", "{\"a\":1,\"s\":\"\x80\"}");
	assert_misfit("{\"a\":1,\"s\":\"\"}", "{\"a\":1,\"s\":1}");
}

static void escapes_and_utf8_may_not(void **state)
{
	assert_misfit("{\"s\":\"\\n\",\"a\":1}", "{\"s\":\"\\t\",\"a\":1}");
	assert_misfit("{\"s\":\"\\n\",\"a\":1}", "{\"s\":\"\\x\",\"a\":1}");
	assert_misfit("{\"s\":\"\\n\",\"a\":1}", "{\"s\":\"an\",\"a\":1}");
	assert_misfit("{\"s\":\"\\u0011\",\"a\":1}", "{\"s\":\"\\u0012\",\"a\":1}");
	assert_misfit("{\"s\":\"\\ud83d\\ude00\",\"a\":1}", "{\"s\":\"\\ud83d\\ude01\",\"a\":1}");
	assert_misfit("{\"s\":\"\\ud83d\\ude00\",\"a\":1}", "{\"s\":\"\\ud83d\\u0e00\",\"a\":1}");
	assert_misfit("{\"s\":\"\xc3\xa9\",\"a\":1}", "{\"s\":\"\xc3\xaa\",\"a\":1}");
	assert_misfit("{\"s\":\"\xc3\xa9\",\"a\":1}", "{\"s\":\"xx\",\"a\":1}");
}

static void names_may_not(void **state)
{
	assert_misfit("{\"a\":1,\"x1\":2}", "{\"a\":1,\"x2\":2}");
	assert_misfit("{\"a\":1,\"b\":2}", "{\"a\":1,\"a\":2}");
	assert_misfit("{\"b\":1,\"a\":2}", "{\"a\":1,\"b\":2}");
	assert_misfit("{\"a\":1,\"b1\" \n:2}", "{\"a\":1,\"b2\" \n:2}");
	assert_misfit("{\"a\":1,\"c\":[{\"b\":2}]}", "{\"a\":1,\"c\":[{\"a\":2}]}");
	/* a value that looks like a name, and is none */
	assert_fits("{\"a\":1,\"b\":\"x:\"}", "{\"a\":1,\"b\":\"y:\"}");
}

static void all_else_may_not(void **state)
{
	assert_misfit("{\"a\":1,\"b\":true}", "{\"a\":1,\"b\":null}");
	assert_misfit("{\"a\":1,\"b\":[]}", "{\"a\":1,\"b\":{}}");
	assert_misfit("{\"a\":1, \"b\":2}", "{\"a\":1,\t\"b\":2}");
	assert_misfit("{\"a\":1 }", "{\"a\":11}");
	assert_misfit("{\"a\":1}\n", "{\"a\":1}}");
	assert_misfit("{\"a\":1}\n", "{\"a\":1} ");
	assert_misfit("{\"a\":1}", "[\"a\":1}");
	assert_misfit("{\"a\":1}", "");
}

static void assert_not_kept(const char *path, const char *text)
{
	uint8_t *t = exact_copy(text, strlen(text)), *none = exact_copy("", 0);
	struct bp_json_layout l;
	struct bp_json_path p;

	compile(path, &p);
	if (learn(t, strlen(text), &p, &l))
		fail_msg("%s was kept for %s", text, path);
	assert_false(bp_json_layout_matches(&l, none, 0));
	free(t);
	free(none);
}

static void entries_without_value_or_steps_are_not_stored(void **state)
{
	assert_not_kept("$.a", "");
	assert_not_kept("$.a", "{}");
	assert_not_kept("$.a", "{\"a\":1");
	assert_not_kept("$.a", "{\"a\":\"1\"}");
	assert_not_kept("$.a", "{\"a\":1,\"a\":null}");
	assert_not_kept("$.a", "{\"b\":1}");
	assert_not_kept("$", "81");
	assert_not_kept("$", " -8.1e1 ");
}

/* {"a":1,"s":"..."} of exactly `len` bytes, at least 14; into 600 bytes. */
static void padded(char *out, size_t len)
{
	memset(out, 0, 600);
	sprintf(out, "{\"a\":1,\"s\":\"%0*d\"}", 500, 0);
	strcpy(out + len - 2, "\"}");
}

/* Every byte of texts of every length that is kept, and the first that is not. */
static void every_byte_is_checked(void **state)
{
	struct bp_json_layout l;
	struct bp_json_path p;
	char text[600];

	compile("$.a", &p);
	for (size_t len = 7; len <= BP_JSON_LAYOUT_MAX; len++) {
		uint8_t *t;

		if (len < 14)
			sprintf(text, "{\"a\":%.*s}", (int)(len - 6), "12345678");
		else
			padded(text, len);
		t = exact_copy(text, len);
		assert_true(learn(t, len, &p, &l));
		assert_same_value(&l, &p, t, len);
		for (size_t i = 0; i < len; i++) {
			uint8_t *bad = exact_copy(t, len);

			bad[i] ^= 0x81; /* in no group of the byte that was there */
			if (bp_json_layout_matches(&l, bad, len))
				fail_msg("byte %zu of %zu was not looked at", i, len);
			free(bad);
		}
		assert_true(bp_json_layout_matches(&l, t, len));
		assert_false(bp_json_layout_matches(&l, t, len - 1));
		free(t);
	}
	padded(text, BP_JSON_LAYOUT_MAX + 1);
	assert_not_kept("$.a", text);
	padded(text, 512);
	assert_not_kept("$.a", text);
}

/* The number at each distance from the end, so that it is loaded without a byte behind the text. */
static void numbers_are_read_at_the_end(void **state)
{
	for (int digits = 1; digits <= 20; digits++) {
		for (int blanks = 0; blanks < 10; blanks++) {
			char text[80], other[80];

			sprintf(text, "{\"a\":%.*s}%*s", digits, "12345678901234567890", blanks,
				"");
			sprintf(other, "{\"a\":%.*s}%*s", digits, "98765432109876543210", blanks,
				"");
			assert_fits(text, other);
			sprintf(text, "[-%.*s]", digits, "1.345678901234567890");
			sprintf(other, "[-%.*s]", digits, "7.345678901234567891");
			if (digits != 2)
				assert_true(fits("$[0]", text, other));
		}
	}
}

/* ---- random texts ---- */

/* The allowed characters at each byte, from the generator and not from the tested code. */
enum kind { EXACT, DIGIT, FIRST_DIGIT, CHARACTER };

struct writer {
	uint64_t seed;
	size_t n;
	uint8_t text[4096];
	uint8_t kind[4096];
};

static unsigned below(struct writer *w, unsigned n)
{
	return (unsigned)((next_random(&w->seed) >> 16) % n);
}

static void put(struct writer *w, const char *s, enum kind kind)
{
	for (; *s != '\0'; s++) {
		assert_true(w->n < sizeof(w->text));
		w->text[w->n] = (uint8_t)*s;
		w->kind[w->n++] = (uint8_t)kind;
	}
}

static void put_byte(struct writer *w, uint8_t c, enum kind kind)
{
	char s[2] = {(char)c, '\0'};

	put(w, s, kind);
}

static void put_blanks(struct writer *w)
{
	while (below(w, 8) == 0)
		put_byte(w, (uint8_t) " \t\r\n"[below(w, 4)], EXACT);
}

static void put_digits(struct writer *w, unsigned n)
{
	while (n-- != 0)
		put_byte(w, (uint8_t)('0' + below(w, 10)), DIGIT);
}

static void put_number(struct writer *w)
{
	unsigned whole = below(w, 8) == 0 ? below(w, 22) : below(w, 4);

	if (below(w, 3) == 0)
		put(w, "-", EXACT);
	if (whole > 1) {
		put_byte(w, (uint8_t)('1' + below(w, 9)), FIRST_DIGIT);
		put_digits(w, whole - 1);
	} else {
		put_digits(w, 1);
	}
	if (below(w, 2) == 0) {
		put(w, ".", EXACT);
		put_digits(w, 1 + (below(w, 8) == 0 ? below(w, 20) : below(w, 3)));
	}
	if (below(w, 5) == 0) {
		put(w, below(w, 2) == 0 ? "e" : "E", EXACT);
		put(w, (const char *const[]){"", "+", "-"}[below(w, 3)], EXACT);
		put_digits(w, 1 + below(w, 3));
	}
}

static void put_string(struct writer *w)
{
	static const char *const fixed[] = {"\\\"", "\\\\", "\\/", "\\b", "\\n", "\\u0022",
		"\\u005c", "\\u00e9", "\\uD83d\\uDE00", "\xc3\xa9", "\xe2\x82\xac",
		"\xf0\x9f\x98\x80"};

	put(w, "\"", EXACT);
	for (unsigned n = below(w, 4) == 0 ? below(w, 70) : below(w, 9); n > 0; n--) {
		uint8_t c = (uint8_t)(0x20 + below(w, 0x60));

		if (below(w, 8) == 0)
			put(w, fixed[below(w, sizeof(fixed) / sizeof(fixed[0]))], EXACT);
		else if (c != '"' && c != '\\')
			put_byte(w, c, CHARACTER);
	}
	put(w, "\"", EXACT);
}

/* Few names, so that paths meet them and some meet their like. */
static const char *const names[] = {"a", "a", "b", "", "a b", "\\u0061", "\xc3\xa9", "\\u00e9",
	"celsius", "a\\n1", "\\\"", "\\ud83d\\ude00"};
static const char *const paths[] = {"$.a", "$.b", "$[0]", "$[1]", "$.a.a", "$.a[0]", "$[0].a",
	"$[1][0]", "$['a b']", "$['']", "$.\xc3\xa9", "$.celsius", "$.b.a", "$.a.b[1]", "$"};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

static void put_value(struct writer *w, unsigned depth)
{
	unsigned what = below(w, depth == 0 ? 4 : depth > 4 ? 8 : 12);
	bool object = what % 2 == 0;

	if (depth != 0 && what < 8) {
		if (what < 5)
			put_number(w);
		else if (what < 7)
			put_string(w);
		else
			put(w, (const char *const[]){"true", "false", "null"}[below(w, 3)], EXACT);
		return;
	}
	put(w, object ? "{" : "[", EXACT);
	put_blanks(w);
	for (unsigned left = below(w, 5) + (depth == 0); left > 0; left--) {
		if (object) {
			put(w, "\"", EXACT);
			put(w, names[below(w, sizeof(names) / sizeof(names[0]))], EXACT);
			put(w, "\"", EXACT);
			put_blanks(w);
			put(w, ":", EXACT);
			put_blanks(w);
		}
		put_value(w, depth + 1);
		put_blanks(w);
		if (left > 1) {
			put(w, ",", EXACT);
			put_blanks(w);
		}
	}
	put(w, object ? "}" : "]", EXACT);
}

static void put_text(struct writer *w)
{
	w->n = 0;
	put_blanks(w);
	put_value(w, 0);
	put_blanks(w);
}

static unsigned group(uint8_t c)
{
	if (c < 0x20 || c > 0x7f || c == '"' || c == '\\')
		return 0;
	return c < '"' ? 1 : c < '\\' ? 2 : 3;
}

static bool may_be(const struct writer *w, size_t i, uint8_t c)
{
	switch ((enum kind)w->kind[i]) {
	case DIGIT:
		return c >= '0' && c <= '9';
	case FIRST_DIGIT:
		return c >= '1' && c <= '9';
	case CHARACTER:
		return group(c) != 0 && group(c) == group(w->text[i]);
	case EXACT:
		break;
	}
	return c == w->text[i];
}

/* The layout is what the writer says, at every byte and for every byte. */
static void check_each_byte(struct writer *w, const struct bp_json_layout *l,
	const struct bp_json_path *p, uint8_t *copy)
{
	for (size_t i = 0; i < w->n; i++) {
		for (unsigned c = 0; c < 256; c++) {
			copy[i] = (uint8_t)c;
			if (bp_json_layout_matches(l, copy, w->n) != may_be(w, i, copy[i]))
				fail_msg("%.*s: byte %zu is %stold from 0x%02x", (int)w->n,
					(const char *)w->text, i,
					may_be(w, i, copy[i]) ? "" : "not ", c);
			if (may_be(w, i, copy[i]))
				assert_same_value(l, p, copy, w->n);
		}
		copy[i] = w->text[i];
	}
}

/* Other digits and nothing else, as a device sends them: always fits. */
static void check_digits(struct writer *w, const struct bp_json_layout *l,
	const struct bp_json_path *p, uint8_t *copy)
{
	memcpy(copy, w->text, w->n);
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < w->n; i++) {
			uint8_t c = (uint8_t)('0' + below(w, 10));

			if (w->text[i] >= '0' && w->text[i] <= '9' && may_be(w, i, c))
				copy[i] = c;
		}
		assert_true(bp_json_layout_matches(l, copy, w->n));
		assert_same_value(l, p, copy, w->n);
	}
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* One change of any sort; returns the new length. The copy has room for one byte more. */
static size_t change(struct writer *w, uint8_t *copy, size_t n)
{
	static const uint8_t telling[] = "\"\\{}[]:,.-+eE0 \n/\x7f\x80\xc3";
	size_t i = below(w, (unsigned)n), k = below(w, (unsigned)n);
	uint8_t c = copy[i];

	switch (below(w, 12)) {
	case 0:
		copy[i] = (uint8_t)below(w, 256);
		break;
	case 1:
		copy[i] = telling[below(w, sizeof(telling) - 1)];
		break;
	case 2:
		copy[i] = copy[k];
		copy[k] = c;
		break;
	case 3:
		memmove(copy + i, copy + i + 1, n - i - 1);
		return n - 1;
	case 4:
		memmove(copy + i + 1, copy + i, n - i);
		return n + 1;
	case 5:
		if (is_digit(c))
			copy[i] = telling[below(w, sizeof(telling) - 1)];
		break;
	default: /* from one digit to the next, anywhere */
		for (k = 0; k < n && !is_digit(copy[i]); k++)
			i = (i + 1) % n;
		if (is_digit(copy[i]))
			copy[i] = (uint8_t)('0' + below(w, 10));
		break;
	}
	return n;
}

/* Whatever is done to a text: if it fits, the value is the one of bp_value_json(). */
static unsigned check_changes(
	struct writer *w, const struct bp_json_layout *l, const struct bp_json_path *p)
{
	unsigned fitted = 0;

	for (unsigned round = 0; round < 60; round++) {
		uint8_t *copy = malloc(w->n + 8), *exact;
		size_t n = w->n;

		assert_non_null(copy);
		memcpy(copy, w->text, n);
		for (unsigned k = below(w, 6) + 1; k > 0 && n > 1; k--)
			n = change(w, copy, n);
		exact = exact_copy(copy, n);
		if (bp_json_layout_matches(l, exact, n)) {
			fitted++;
			assert_same_value(l, p, exact, n);
		}
		free(exact);
		free(copy);
	}
	return fitted;
}

static void random_texts_fit_the_computed_size(void **state)
{
	struct bp_json_path compiled[PATHS];
	struct writer *w = calloc(1, sizeof(*w));
	unsigned learned = 0, fitted = 0, long_ones = 0;

	assert_non_null(w);
	for (size_t k = 0; k < PATHS; k++)
		compile(paths[k], &compiled[k]);
	w->seed = 0x9e3779b97f4a7c15;
	for (unsigned round = 0; round < TEST_TIMES(32000); round++) {
		bool bytes_done = false;
		uint8_t *copy;

		put_text(w);
		copy = exact_copy(w->text, w->n);
		for (size_t k = 0; k < PATHS; k++) {
			const struct bp_json_path *p = &compiled[k];
			struct bp_json_layout l;

			memcpy(copy, w->text, w->n);
			if (!learn(copy, w->n, p, &l))
				continue;
			learned++;
			long_ones += w->n > 128;
			if (!bytes_done && round % 8 == 0) {
				check_each_byte(w, &l, p, copy);
				bytes_done = true;
			}
			check_digits(w, &l, p, copy);
			fitted += check_changes(w, &l, p);
		}
		free(copy);
	}
	/* that the texts are of use for what they are to find */
	assert_true(learned > 1000 && long_ones > 100 && fitted > learned);
	print_message("%u learned, %u of them long; %u changed texts fitted\n", learned, long_ones,
		fitted);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_of_numbers_may_differ),
		cmocka_unit_test(leading_zero_is_rejected),
		cmocka_unit_test(non_digits_are_rejected),
		cmocka_unit_test(a_number_may_become_infinite),
		cmocka_unit_test(characters_of_values_may_differ),
		cmocka_unit_test(escapes_and_utf8_may_not),
		cmocka_unit_test(names_may_not),
		cmocka_unit_test(all_else_may_not),
		cmocka_unit_test(entries_without_value_or_steps_are_not_stored),
		cmocka_unit_test(every_byte_is_checked),
		cmocka_unit_test(numbers_are_read_at_the_end),
		cmocka_unit_test(random_texts_fit_the_computed_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
