/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of DataSets, Templates and arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proto/sparkplug/sparkplug.h"
#include "spb_writer.h"

enum { DATASET = 17, TEMPLATE = 18, BYTES = 16 }; /* fields of a metric */

/* The number of a member of the only metric, whose value is in `field`. */
static bool member_of(
	uint32_t field, const struct spb *value, uint32_t datatype, const char *text, double *v)
{
	struct bp_sparkplug_metric m, of_member;
	struct bp_sparkplug_member member;
	struct spb metric = {.n = 0}, b = {.n = 0};
	uint8_t *exact;
	const uint8_t *at;
	bool found;

	spb_bytes(&metric, SPB_NAME, "x", 1);
	if (datatype != 0)
		spb_number(&metric, SPB_DATATYPE, datatype);
	spb_bytes(&metric, field, value->p, value->n);
	spb_bytes(&b, SPB_METRICS, metric.p, metric.n);
	at = exact = malloc(b.n); /* so that ASan sees reads outside */
	memcpy(exact, b.p, b.n);
	assert_int_equal(bp_sparkplug_next(&at, exact + b.n, &m), 1);
	assert_true(bp_sparkplug_member_parse(text, &member));
	found = bp_sparkplug_member_find(&m, 0, &member, &of_member) &&
		bp_sparkplug_number(&of_member, 0, v);
	free(exact);
	return found;
}

/* Columns t (Int64), v (Float), w (Int8); two rows. */
static void dataset(struct spb *d, bool packed)
{
	static const float second[2] = {0.5f, 1.5f};
	struct spb types = {.n = 0};

	spb_number(d, 1, 3);
	spb_bytes(d, 2, "t", 1);
	spb_bytes(d, 2, "v", 1);
	spb_bytes(d, 2, "w", 1);
	spb_varint(&types, 4);
	spb_varint(&types, 9);
	spb_varint(&types, 1);
	if (packed)
		spb_bytes(d, 3, types.p, types.n);
	for (uint32_t i = 0; !packed && i < types.n; i++)
		spb_number(d, 3, types.p[i]);
	for (unsigned i = 0; i < 2; i++) {
		struct spb row = {.n = 0}, e[3] = {{.n = 0}};

		spb_number(&e[0], 2, i == 0 ? UINT64_MAX : 2);
		spb_float(&e[1], 3, second[i]);
		spb_number(&e[2], 1, 0xff - i);
		for (unsigned k = 0; k < 3; k++)
			spb_bytes(&row, 1, e[k].p, e[k].n);
		spb_bytes(d, 4, row.p, row.n);
	}
}

static void elements_of_a_dataset(void **state)
{
	(void)state;
	for (unsigned packed = 0; packed < 2; packed++) {
		struct spb d = {.n = 0};
		double v = 0;

		dataset(&d, packed != 0);
		assert_true(member_of(DATASET, &d, 16, "t[0]", &v) && v == -1);
		assert_true(member_of(DATASET, &d, 16, "t[1]", &v) && v == 2);
		assert_true(member_of(DATASET, &d, 16, "v[0]", &v) && v == 0.5);
		assert_true(member_of(DATASET, &d, 16, "v", &v) && v == 1.5); /* last row */
		assert_true(member_of(DATASET, &d, 0, "w", &v) && v == -2);
		assert_false(member_of(DATASET, &d, 16, "v[2]", &v));
		assert_false(member_of(DATASET, &d, 16, "u", &v));
		for (uint32_t n = d.n; d.n-- > n / 2;)
			(void)member_of(DATASET, &d, 16, "v[1]", &v);
	}
}

static void metrics_of_a_template(void **state)
{
	struct spb inner = {.n = 0}, pump = {.n = 0}, t = {.n = 0}, deep = {.n = 0};
	char path[64] = "";
	double v;

	(void)state;
	spb_metric(&inner, "speed", 0, 10, 3);
	spb_metric(&inner, "speed", 0, 10, 4); /* the last counts */
	spb_bytes(&pump, SPB_NAME, "pump", 4);
	spb_bytes(&pump, TEMPLATE, inner.p, inner.n);
	spb_metric(&t, "level", 0, 10, 1.5);
	spb_metric(&t, "pump/on", 0, 10, 1);
	spb_bytes(&t, 2, pump.p, pump.n);
	assert_true(member_of(TEMPLATE, &t, 19, "level", &v) && v == 1.5);
	assert_true(member_of(TEMPLATE, &t, 19, "pump/on", &v) && v == 1);
	assert_true(member_of(TEMPLATE, &t, 19, "pump/speed", &v) && v == 4);
	assert_false(member_of(TEMPLATE, &t, 19, "pump", &v)); /* no number */
	assert_false(member_of(TEMPLATE, &t, 19, "pump/", &v));
	assert_false(member_of(TEMPLATE, &t, 19, "pump/speed/x", &v));
	assert_false(member_of(TEMPLATE, &t, 19, "lev", &v));
	/* as deep as the path */
	spb_metric(&deep, "a", 0, 10, 7);
	for (unsigned i = 0; i < 30; i++) {
		struct spb m = {.n = 0}, outer = {.n = 0};

		spb_bytes(&m, SPB_NAME, "a", 1);
		spb_bytes(&m, TEMPLATE, deep.p, deep.n);
		spb_bytes(&outer, 2, m.p, m.n);
		deep = outer;
		strcat(path, "a/");
	}
	strcat(path, "a");
	assert_true(member_of(TEMPLATE, &deep, 19, path, &v) && v == 7);
	assert_false(member_of(TEMPLATE, &deep, 19, path + 2, &v));
}

/* The string of a member, or NULL. */
static const char *string_of(
	uint32_t field, const struct spb *value, uint32_t datatype, const char *text)
{
	static char out[64];
	struct bp_sparkplug_metric m = {.field = (uint8_t)field}, of_member;
	struct bp_sparkplug_member member;
	uint8_t *exact = malloc(value->n + 1);
	bool found;

	memcpy(exact + 1, value->p, value->n);
	m.bytes = exact + 1;
	m.bytes_len = value->n;
	assert_true(bp_sparkplug_member_parse(text, &member));
	found = bp_sparkplug_member_find(&m, datatype, &member, &of_member) &&
		bp_sparkplug_is_text(&of_member);
	if (found) {
		assert_true(of_member.bytes_len < sizeof(out));
		memcpy(out, of_member.bytes, of_member.bytes_len);
		out[of_member.bytes_len] = '\0';
	}
	free(exact);
	return found ? out : NULL;
}

static void members_that_are_strings(void **state)
{
	static const char array[] = "open\0\0ajar";
	struct spb d = {.n = 0}, row = {.n = 0}, e = {.n = 0}, t = {.n = 0}, m = {.n = 0};
	struct spb strings = {.n = sizeof(array)};
	double v;

	(void)state;
	spb_number(&e, 1, 5);
	spb_bytes(&e, 6, "shut", 4); /* the last of a oneof counts */
	spb_bytes(&row, 1, e.p, e.n);
	spb_bytes(&d, 2, "s", 1);
	spb_bytes(&d, 4, row.p, row.n);
	assert_string_equal(string_of(DATASET, &d, 16, "s[0]"), "shut");
	assert_false(member_of(DATASET, &d, 16, "s[0]", &v));
	spb_bytes(&m, SPB_NAME, "state", 5);
	spb_bytes(&m, SPB_STRING, "run", 3);
	spb_bytes(&t, 2, m.p, m.n);
	assert_string_equal(string_of(TEMPLATE, &t, 19, "state"), "run");
	memcpy(strings.p, array, sizeof(array)); /* with the 0 behind the last string */
	assert_string_equal(string_of(BYTES, &strings, 33, "[0]"), "open");
	assert_string_equal(string_of(BYTES, &strings, 33, "[1]"), "");
	assert_string_equal(string_of(BYTES, &strings, 33, "[2]"), "ajar");
	assert_null(string_of(BYTES, &strings, 33, "[3]"));
	strings.n--; /* the last string does not end */
	assert_null(string_of(BYTES, &strings, 33, "[2]"));
	assert_string_equal(string_of(BYTES, &strings, 33, "[1]"), "");
}

static void elements_of_an_array(void **state)
{
	/* of the specification 3.0.0, 6.4.16: Int8, Int16, Float, Boolean, DateTime */
	static const uint8_t int8[] = {0xe9, 0x7b}, int16[] = {0x08, 0x8a, 0x77, 0x77},
			     floats[] = {0xcd, 0xcc, 0x4c, 0x3f},
			     bools[] = {12, 0, 0, 0, 0x34, 0xd0},
			     times[] = {0x00, 0xb6, 0x7d, 0xd5, 0x6e, 0x01, 0x00, 0x00};
	struct {
		uint32_t datatype;
		const uint8_t *p;
		uint32_t n;
		const char *member;
		double value; /* -999: none */
	} row[] = {
		{22, int8, 2, "[0]", -23},
		{22, int8, 2, "[1]", 123},
		{22, int8, 2, "[2]", -999},
		{26, int8, 2, "[0]", 0xe9},
		{23, int16, 4, "[0]", -30200},
		{23, int16, 4, "[1]", 30583},
		{23, int16, 3, "[1]", -999},
		{30, floats, 4, "[0]", (double)0.8f},
		{31, floats, 4, "[0]", -999},
		{32, bools, 6, "[0]", 0},
		{32, bools, 6, "[2]", 1},
		{32, bools, 6, "[8]", 1},
		{32, bools, 6, "[10]", 0},
		{32, bools, 6, "[11]", 1},
		{32, bools, 6, "[12]", -999},
		{32, bools, 5, "[8]", -999},
		{34, times, 8, "[0]", 1575539815936.0},
		{33, int8, 2, "[0]", -999}, /* strings */
		{35, int8, 2, "[0]", -999},
		{17, int8, 2, "[0]", -999}, /* Bytes */
		{22, int8, 2, "x[0]", -999},
		{22, int8, 2, "x", -999},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct spb b = {.n = row[i].n};
		double v = -999;

		memcpy(b.p, row[i].p, b.n);
		(void)member_of(BYTES, &b, row[i].datatype, row[i].member, &v);
		assert_true(v == row[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_of_a_dataset),
		cmocka_unit_test(metrics_of_a_template),
		cmocka_unit_test(members_that_are_strings),
		cmocka_unit_test(elements_of_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
