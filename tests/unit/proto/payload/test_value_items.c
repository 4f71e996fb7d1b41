/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <math.h>
#include <stdio.h>

#include "proto/payload/value.h"

/* Values of CBOR and MessagePack: numbers, strings, paths, malformed and truncated payloads. */

#define NONE NAN
#define MAX 512

static const struct bp_value_strings strings = {
	.n = 2, .len = {4, 3}, .text = {"open", "\xe2\x82\xac"}};

static size_t hex(const char *text, uint8_t *out)
{
	size_t n = 0;
	unsigned byte;

	for (; *text != '\0'; text += *text == ' ' ? 1 : 2) {
		if (*text == ' ')
			continue;
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		assert_true(n < MAX);
		out[n++] = (uint8_t)byte;
	}
	return n;
}

struct reading {
	enum bp_value_kind kind;
	enum bp_value_type type;
	const char *path;
	const struct bp_value_rank *rank;
	bool beginning;
};

static bool read_bytes(const struct reading *x, const uint8_t *bytes, size_t len, double *value)
{
	struct bp_value_source s = {.kind = x->kind, .type = (uint8_t)x->type};
	struct bp_value_result r;
	const char *why = NULL;
	uint8_t *exact;
	size_t at;
	bool found;

	if (bp_json_path_compile(x->path, &s.json, &why, &at) != 0)
		fail_msg("%s: %s", x->path, why);
	exact = exact_copy(bytes, len);
	found = bp_value_select(exact, len, x->beginning, &s, &strings, x->rank, &r);
	free(exact);
	if (found)
		*value = r.value;
	return found;
}

static void assert_value(const struct reading *x, const char *text, double expected)
{
	uint8_t bytes[MAX];
	const size_t n = hex(text, bytes);
	double v = 0;
	const bool found = read_bytes(x, bytes, n, &v);

	if (found != !isnan(expected) || (found && v != expected))
		fail_msg("%s at %s: %s %.17g instead of %.17g", text, x->path,
			found ? "found" : "none", v, expected);
}

struct example {
	const char *bytes;
	double value;
};

static void assert_examples(const struct reading *x, const struct example *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_value(x, e[i].bytes, e[i].value);
}
#define EXAMPLES(x_, e_) assert_examples(x_, e_, sizeof(e_) / sizeof(e_[0]))

static const struct reading cbor_number = {BP_VALUE_CBOR, BP_VALUE_NUMBER, "$", NULL, false};

/* RFC 8949, appendix A. */
static void cbor_numbers(void **state)
{
	static const struct example e[] = {{"00", 0}, {"01", 1}, {"0a", 10}, {"17", 23},
		{"1818", 24}, {"1819", 25}, {"1864", 100}, {"1903e8", 1000},
		{"1a000f4240", 1000000}, {"1b000000e8d4a51000", 1000000000000},
		{"1bffffffffffffffff", 0x1p64}, {"3bffffffffffffffff", -0x1p64}, {"20", -1},
		{"29", -10}, {"3863", -100}, {"3903e7", -1000}, {"3bfffffffffffffffe", -0x1p64},
		{"f90000", 0}, {"f93c00", 1}, {"fb3ff199999999999a", 1.1}, {"f93e00", 1.5},
		{"f97bff", 65504}, {"fa47c35000", 100000}, {"fa7f7fffff", 3.4028234663852886e+38},
		{"fb7e37e43c8800759c", 1e300}, {"f90001", 5.960464477539063e-8},
		{"f90400", 0.00006103515625}, {"f9c400", -4}, {"fbc010666666666666", -4.1},
		{"c11a514b67b0", 1363896240}, {"d9d9f7d81801", 1},
		/* no numbers: infinity, NaN, bignum, false, null, simple, string, bytes, array */
		{"f97c00", NONE}, {"f97e00", NONE}, {"faff800000", NONE},
		{"fb7ff8000000000000", NONE}, {"c249010000000000000000", NONE}, {"f4", NONE},
		{"f6", NONE}, {"f0", NONE}, {"f8ff", NONE}, {"6131", NONE}, {"4101", NONE},
		{"8101", NONE}, {"a0", NONE},
		/* not well-formed: reserved, too short, more than one item */
		{"", NONE}, {"1c", NONE}, {"18", NONE}, {"1f", NONE}, {"3f", NONE}, {"df00", NONE},
		{"f810", NONE}, {"ff", NONE}, {"c1ff", NONE}, {"c1", NONE}, {"0001", NONE},
		{"fc", NONE}, {"19ff", NONE}};

	(void)state;
	EXAMPLES(&cbor_number, e);
}

static void cbor_strings_and_booleans(void **state)
{
	static const struct example strings_of[] = {{"646f70656e", 0}, {"63e282ac", 1}, {"60", -1},
		{"78046f70656e", 0}, {"7f626f7062656eff", 0}, {"7f60646f70656e60ff", 0},
		{"d820646f70656e", 0}, {"646f7065ff", NONE}, {"446f70656e", NONE},
		{"7f426f70ff", NONE}, {"7f7f626f70ffff", NONE}, {"7f626f70", NONE},
		{"646f7065", NONE}, {"7bffffffffffffffff", NONE}, {"01", NONE},
		/* a chunk has whole characters */
		{"7f61e262 82acff", NONE}};
	static const struct example booleans[] = {{"f4", 0}, {"f5", 1}, {"f6", NONE}, {"01", NONE}};

	(void)state;
	EXAMPLES(&((struct reading){BP_VALUE_CBOR, BP_VALUE_STRING, "$", NULL, false}), strings_of);
	EXAMPLES(&((struct reading){BP_VALUE_CBOR, BP_VALUE_BOOLEAN, "$", NULL, false}), booleans);
}

static void cbor_paths(void **state)
{
	static const struct example a_b[] = {{"a1 6161 a1 6162 05", 5}, /* {"a": {"b": 5}} */
		{"bf 6161 bf 6162 05 ff ff", 5},                        /* without lengths */
		{"a2 6162 01 6161 a2 6161 02 6162 03", 3}, /* {"b": 1, "a": {"a": 2, "b": 3}} */
		{"a2 6161 a1 6162 05 6161 01", NONE},      /* the last "a" counts */
		{"a2 6161 01 6161 a1 6162 05", 5}, {"a1 6161 a2 6162 05 6162 06", 6},
		{"a1 6161 a1 6162 f6", NONE},
		{"a1 7f6161ff a1 7f606162ff 05", 5},             /* names in chunks */
		{"a1 7f606161ff a1 7f61626162ff 05", NONE},      /* "bb" */
		{"a1 4161 a1 6162 05", NONE},                    /* a name of bytes */
		{"a2 01 02 6161 a1 6162 05", 5},                 /* a number as a name */
		{"a2 a1 6161 a1 6162 07 01 6161 a1 6162 05", 5}, /* a map as a name */
		{"a2 81 6161 6161 6161 a1 6162 05", 5},          /* an array as a name */
		{"c1 a1 c1 6161 c1 a1 6162 c1 05", 5},           /* tags */
		{"a1 6161 81 a1 6162 05", NONE}, {"82 a1 6161 a1 6162 05 01", NONE},
		{"bf 6161 ff", NONE}, {"bf 6161 01", NONE}, {"a2 6161 a1 6162 05", NONE},
		{"a1 6161 a1 6162 05 00", NONE}};
	static const struct example element[] = {{"83 01 02 03", 2}, {"9f 01 02 ff", 2},
		{"82 81 07 81 08", NONE}, {"81 01", NONE}, {"9f 01 ff", NONE},
		{"82 9f 9f ff ff 02", 2}, {"a2 00 01 01 02", NONE}};

	(void)state;
	EXAMPLES(&((struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$.a.b", NULL, false}), a_b);
	EXAMPLES(&((struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$[1]", NULL, false}), element);
}

static const struct reading msgpack_number = {BP_VALUE_MSGPACK, BP_VALUE_NUMBER, "$", NULL, false};

static void msgpack_numbers(void **state)
{
	static const struct example e[] = {{"00", 0}, {"7f", 127}, {"e0", -32}, {"ff", -1},
		{"cc80", 128}, {"cdffff", 65535}, {"ceffffffff", 4294967295},
		{"cfffffffffffffffff", 0x1p64}, {"d080", -128}, {"d18000", -32768},
		{"d280000000", -2147483648.0}, {"d38000000000000000", -0x1p63},
		{"d3ffffffffffffffff", -1}, {"ca3fc00000", 1.5}, {"cb3ff199999999999a", 1.1},
		{"ca7f800000", NONE}, {"cb7ff8000000000000", NONE}, {"c0", NONE}, {"c2", NONE},
		{"a131", NONE}, {"c40101", NONE}, {"9101", NONE}, {"80", NONE},
		{"d60000000001", NONE}, {"c70101ff", NONE}, {"c1", NONE}, {"", NONE}, {"cc", NONE},
		{"cd01", NONE}, {"cb3ff1", NONE}, {"0000", NONE}};

	(void)state;
	EXAMPLES(&msgpack_number, e);
}

static void msgpack_strings_and_booleans(void **state)
{
	static const struct example strings_of[] = {{"a46f70656e", 0}, {"a3e282ac", 1}, {"a0", -1},
		{"d9046f70656e", 0}, {"da00046f70656e", 0}, {"db000000046f70656e", 0},
		{"a46f7065ff", NONE}, {"c4046f70656e", NONE}, {"a46f7065", NONE},
		{"dbffffffff", NONE}, {"01", NONE}};
	static const struct example booleans[] = {{"c2", 0}, {"c3", 1}, {"c0", NONE}, {"01", NONE}};

	(void)state;
	EXAMPLES(&((struct reading){BP_VALUE_MSGPACK, BP_VALUE_STRING, "$", NULL, false}),
		strings_of);
	EXAMPLES(&((struct reading){BP_VALUE_MSGPACK, BP_VALUE_BOOLEAN, "$", NULL, false}),
		booleans);
}

static void msgpack_paths(void **state)
{
	static const struct example a_b[] = {{"81 a161 81 a162 05", 5},
		{"de0001 d90161 df00000001 da000162 05", 5},
		{"82 a162 01 a161 82 a161 02 a162 03", 3}, {"82 a161 81 a162 05 a161 01", NONE},
		{"81 a161 82 a162 05 a162 06", 6}, {"81 c40161 81 a162 05", NONE},
		{"82 01 02 a161 81 a162 05", 5}, {"82 81 a161 81 a162 07 01 a161 81 a162 05", 5},
		/* each type of bytes and extension is passed */
		{"88 a131 c40100 a132 c5000100 a133 c60000000100 a134 c7010000 a135 c800010000 "
		 "a136 c9000000010000 a137 d400 00 a161 81 a162 05",
			5},
		{"85 a131 d5000000 a132 d600 00000000 a133 d700 0000000000000000 a134 d800 "
		 "00000000000000000000000000000000 a161 81 a162 05",
			5},
		{"82 a161 81 a162 05", NONE}, {"81 a161 81 a162 05 c0", NONE},
		{"81 a161 81 a162 c1", NONE}};
	static const struct example element[] = {{"93 01 02 03", 2}, {"dc0002 01 02", 2},
		{"dd00000002 01 02", 2}, {"91 01", NONE}, {"82 00 01 01 02", NONE},
		{"ddffffffff 01 02", NONE}};

	(void)state;
	EXAMPLES(&((struct reading){BP_VALUE_MSGPACK, BP_VALUE_NUMBER, "$.a.b", NULL, false}), a_b);
	EXAMPLES(&((struct reading){BP_VALUE_MSGPACK, BP_VALUE_NUMBER, "$[1]", NULL, false}),
		element);
}

/* raise: above 80; clear: below 70. */
static unsigned any_of(const void *arg, double v)
{
	(void)arg;
	return v > 80 ? 2 : !(v < 70);
}

static const struct bp_value_rank any = {.of = any_of, .top = 2};

static void elements_decide(void **state)
{
	static const struct example cbor[] = {
		{"83 a1 6163 183c a1 6163 185a a1 6163 185f", 90}, /* 60, 90, 95 */
		{"9f bf 6163 183c ff a0 a1 6163 184b ff", 75}, {"80", NONE},
		{"81 a1 6163 f6", NONE}, {"82 a2 6163 185a 6163 183c a1 6163 1832", 60}};
	static const struct example msgpack[] = {{"93 81 a163 3c 81 a163 5a 81 a163 5f", 90},
		{"93 81 a163 3c 80 81 a163 4b", 75}, {"90", NONE}, {"91 81 a163 c0", NONE},
		{"92 82 a163 5a a163 3c 81 a163 32", 60}};

	(void)state;
	EXAMPLES(&((struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$[*].c", &any, false}), cbor);
	EXAMPLES(&((struct reading){BP_VALUE_MSGPACK, BP_VALUE_NUMBER, "$[*].c", &any, false}),
		msgpack);
}

/* The last member of its name in the beginning counts; a malformed or complete payload has none. */
static void beginnings(void **state)
{
	const struct reading cbor = {BP_VALUE_CBOR, BP_VALUE_NUMBER, "$.a", NULL, true};
	const struct reading msgpack = {BP_VALUE_MSGPACK, BP_VALUE_NUMBER, "$.a", NULL, true};
	const struct reading some = {BP_VALUE_CBOR, BP_VALUE_NUMBER, "$[*]", &any, true};
	static const struct example of_cbor[] = {{"a2 6161 05", 5}, {"a2 6161 05 6162", 5},
		{"a2 6161 05 6162 78", 5}, {"a2 6161 05 6162 78ff 00", 5}, {"a2 6161 19 00", NONE},
		{"bf 6161 05", 5}, {"bf 6161 05 6161", 5}, {"bf 6161 05 6161 06", 6},
		{"a2 6161 05 1c", NONE}, {"a1 6161 05", NONE}, {"", NONE}, {"a1", NONE}};
	static const struct example of_msgpack[] = {{"82 a161 05", 5}, {"82 a161 05 d9ff 00", 5},
		{"82 a161 cd 00", NONE}, {"82 a161 05 c1", NONE}, {"81 a161 05", NONE}};
	static const struct example of_some[] = {
		{"83 183c 185a", 90}, {"83 183c 184b", NONE}, {"9f 183c", NONE}, {"9f 185a", 90}};

	(void)state;
	EXAMPLES(&cbor, of_cbor);
	EXAMPLES(&msgpack, of_msgpack);
	EXAMPLES(&some, of_some);
}

/* 64 containers are followed, and no more; and no length is believed. */
static void nesting_and_lengths_are_bounded(void **state)
{
	static const struct {
		enum bp_value_kind kind;
		uint8_t array, number;
	} formats[] = {
		{BP_VALUE_CBOR, 0x81, 5}, {BP_VALUE_MSGPACK, 0x91, 5}, {BP_VALUE_CBOR, 0x9f, 5}};
	uint8_t bytes[MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		for (unsigned depth = 63; depth <= 66; depth++) {
			const bool endless = formats[i].array == 0x9f;
			const struct reading x = {
				formats[i].kind, BP_VALUE_NUMBER, "$[1]", NULL, false};
			size_t n = 0;
			double v = 0;

			bytes[n++] = formats[i].array + !endless; /* two elements */
			for (unsigned d = 1; d < depth; d++)
				bytes[n++] = formats[i].array;
			bytes[n++] = formats[i].number;
			for (unsigned d = 1; endless && d < depth; d++)
				bytes[n++] = 0xff;
			bytes[n++] = formats[i].number;
			if (endless)
				bytes[n++] = 0xff;
			assert_int_equal(read_bytes(&x, bytes, n, &v), depth <= 64);
		}
	}
	assert_value(&(struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$[0]", NULL, false},
		"9bffffffffffffffff 05", NONE);
	assert_value(&(struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$[0]", NULL, true},
		"9bffffffffffffffff 05", 5);
	assert_value(&(struct reading){BP_VALUE_CBOR, BP_VALUE_NUMBER, "$.a", NULL, true},
		"bbffffffffffffffff 6161 05", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cbor_numbers),
		cmocka_unit_test(cbor_strings_and_booleans),
		cmocka_unit_test(cbor_paths),
		cmocka_unit_test(msgpack_numbers),
		cmocka_unit_test(msgpack_strings_and_booleans),
		cmocka_unit_test(msgpack_paths),
		cmocka_unit_test(elements_decide),
		cmocka_unit_test(beginnings),
		cmocka_unit_test(nesting_and_lengths_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
