/* SPDX-License-Identifier: BSD-3-Clause */
/* Payloads of the reference encoder (tests/fixtures/sparkplug.json), and such as no encoder writes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>

#include "proto/sparkplug/protobuf.h"
#include "proto/sparkplug/sparkplug.h"
#include "same_metric.h"
#include "spb_writer.h"

static json_t *load(void)
{
	char path[1024];
	json_error_t error;
	json_t *root;

	snprintf(path, sizeof(path), "%s/sparkplug.json", FIXTURES);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		fail_msg("%s: %s", path, error.text);
	return root;
}

static uint8_t *unhex(const char *hex, size_t *len)
{
	size_t n = strlen(hex) / 2;
	uint8_t *p = malloc(n);

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	*len = n;
	return p;
}

/* The number of a decoded metric, with the sign of its datatype; NAN: none. */
static double expected_number(const json_t *m)
{
	const json_t *v;
	const long long type = json_integer_value(json_object_get(m, "datatype"));
	const char *text;

	if ((v = json_object_get(m, "int_value")) != NULL) {
		const uint32_t n = (uint32_t)json_integer_value(v);

		return type == 3   ? (double)(int32_t)n
		       : type == 2 ? (double)(int16_t)n
		       : type == 1 ? (double)(int8_t)n
				   : (double)n;
	}
	if ((text = json_string_value(json_object_get(m, "long_value"))) != NULL)
		return type == 4 ? (double)(int64_t)strtoull(text, NULL, 10)
				 : (double)strtoull(text, NULL, 10);
	if ((v = json_object_get(m, "float_value")) != NULL ||
		(v = json_object_get(m, "double_value")) != NULL)
		return json_number_value(v);
	if ((v = json_object_get(m, "boolean_value")) != NULL)
		return json_is_true(v);
	return NAN;
}

static void check_metric(const struct bp_sparkplug_metric *m, const json_t *expected)
{
	const char *name = json_string_value(json_object_get(expected, "name"));
	const char *alias = json_string_value(json_object_get(expected, "alias"));
	const double number = expected_number(expected);
	double v = 0;

	assert_int_equal(m->name != NULL, name != NULL);
	if (name != NULL) {
		assert_int_equal(m->name_len, strlen(name));
		assert_memory_equal(m->name, name, m->name_len);
	}
	assert_int_equal(m->has_alias, alias != NULL);
	if (alias != NULL)
		assert_int_equal(m->alias, strtoull(alias, NULL, 10));
	assert_int_equal(m->datatype, json_integer_value(json_object_get(expected, "datatype")));
	assert_int_equal(m->is_null, json_is_true(json_object_get(expected, "is_null")));
	assert_int_equal(
		m->is_historical, json_is_true(json_object_get(expected, "is_historical")));
	assert_int_equal(bp_sparkplug_number(m, 0, &v), !isnan(number));
	if (!isnan(number))
		assert_true(v == number);
}

static void payloads_of_the_reference_encoder_are_read(void **state)
{
	json_t *root = load(), *row;
	size_t i, n;

	(void)state;
	json_array_foreach(root, i, row)
	{
		const json_t *decoded = json_object_get(row, "decoded");
		const json_t *metrics = json_object_get(decoded, "metrics");
		const char *seq = json_string_value(json_object_get(decoded, "seq"));
		const char *topic = json_string_value(json_object_get(row, "topic"));
		uint8_t *p = unhex(json_string_value(json_object_get(row, "hex")), &n);
		const uint8_t *at = p;
		struct bp_sparkplug_topic t;
		struct bp_sparkplug_metric m;
		struct bp_sparkplug_head head;

		assert_true(
			bp_sparkplug_topic((const uint8_t *)topic, (uint32_t)strlen(topic), &t));
		assert_true(bp_sparkplug_head(p, n, &head));
		assert_int_equal(head.has_seq, seq != NULL);
		if (seq != NULL)
			assert_int_equal(head.seq, strtoull(seq, NULL, 10));
		assert_int_equal(head.timestamp, 1767268800000ull);
		for (size_t k = 0; k < json_array_size(metrics); k++) {
			assert_int_equal(bp_sparkplug_next(&at, p + n, &m), 1);
			check_metric(&m, json_array_get(metrics, k));
		}
		assert_int_equal(bp_sparkplug_next(&at, p + n, &m), 0);
		free(p);
	}
	assert_int_equal(i, 12);
	json_decref(root);
}

/* No read behind the end (the payload is in memory of its size), and never a metric that is cut. */
static void beginnings_of_payloads_are_malformed_or_shorter(void **state)
{
	json_t *root = load(), *row;
	size_t i, n;

	(void)state;
	json_array_foreach(root, i, row)
	{
		uint8_t *whole = unhex(json_string_value(json_object_get(row, "hex")), &n);

		for (size_t len = 0; len < n; len++) {
			uint8_t *p = malloc(len + 1);
			const uint8_t *at = p + 1;
			struct bp_sparkplug_metric m;
			int more;

			memcpy(p + 1, whole, len);
			while ((more = bp_sparkplug_next(&at, p + 1 + len, &m)) > 0)
				;
			if (more == 0)
				assert_ptr_equal(at, p + 1 + len);
			assert_true(is_indexed(p + 1, len));
			free(p);
		}
		free(whole);
	}
	json_decref(root);
}

static enum bp_sparkplug_found find(
	const struct spb *b, struct bp_sparkplug_wanted w, struct bp_sparkplug_metric *m)
{
	uint8_t *exact = malloc(b->n + 1); /* so that ASan sees reads outside */
	struct bp_sparkplug_index index;
	struct bp_sparkplug_metric of_index;
	enum bp_sparkplug_found found;

	memcpy(exact + 1, b->p, b->n);
	w.name_len = w.name ? (uint32_t)strlen(w.name) : 0;
	found = bp_sparkplug_find(exact + 1, b->n, &w, m);
	assert_true(is_indexed(exact + 1, b->n));
	if (!w.beginning && bp_sparkplug_index_read(exact + 1, b->n, &index)) {
		assert_int_equal(
			bp_sparkplug_index_find(exact + 1, b->n, &index, &w, &of_index), found);
		assert_true(found != BP_SPARKPLUG_FOUND || is_same_metric(m, &of_index));
	}
	free(exact);
	return found;
}

static void metrics_are_found_by_name_or_alias(void **state)
{
	const struct bp_sparkplug_wanted by_name = {.name = "t"},
					 by_alias = {.name = "t", .has_alias = true, .alias = 7};
	struct bp_sparkplug_metric m;
	struct spb b = {.n = 0};

	(void)state;
	spb_metric(&b, "u", 7, 10, 1);
	assert_int_equal(find(&b, by_name, &m), BP_SPARKPLUG_ABSENT);
	assert_int_equal(find(&b, by_alias, &m), BP_SPARKPLUG_ABSENT); /* it has another name */
	spb_metric(&b, NULL, 7, 10, 2);
	assert_int_equal(find(&b, by_name, &m), BP_SPARKPLUG_ABSENT_UNNAMED);
	assert_int_equal(find(&b, by_alias, &m), BP_SPARKPLUG_FOUND);
	spb_metric(&b, "t", 0, 10, 3);
	spb_metric(&b, NULL, 8, 10, 4);
	assert_int_equal(find(&b, by_name, &m), BP_SPARKPLUG_FOUND);
	assert_int_equal(find(&b, by_alias, &m), BP_SPARKPLUG_FOUND);
	spb_number(&b, SPB_SEQ, 1);
	b.p[b.n - 1] = 0x80; /* its varint does not end: all of the payload is malformed */
	assert_int_equal(find(&b, by_alias, &m), BP_SPARKPLUG_MALFORMED);
	assert_int_equal(find(&b, (struct bp_sparkplug_wanted){.name = "t", .beginning = true}, &m),
		BP_SPARKPLUG_FOUND);
}

/* Also with bytes that its number does not need. */
static void aliases_of_every_length_are_found(void **state)
{
	static const uint64_t alias[] = {0, 127, 128, 300, 16383, 16384, 1ull << 40, UINT64_MAX};
	static const uint8_t longer[] = {0x10, 0x85, 0x00, 0x70, 1}; /* 5 in two bytes */
	struct bp_sparkplug_metric m;
	double v;

	(void)state;
	for (size_t i = 0; i < sizeof(alias) / sizeof(alias[0]); i++) {
		struct bp_sparkplug_wanted w = {.name = "t", .has_alias = true, .alias = alias[i]};
		struct spb b = {.n = 0}, one = {.n = 0};

		spb_number(&one, SPB_ALIAS, alias[i]);
		spb_double(&one, SPB_DOUBLE, 7);
		spb_metric(&b, NULL, 5, 10, 1);
		spb_bytes(&b, SPB_METRICS, one.p, one.n);
		assert_int_equal(find(&b, w, &m), BP_SPARKPLUG_FOUND);
		assert_true(bp_sparkplug_number(&m, 0, &v) && v == 7);
		w.alias ^= 0x80;
		assert_int_equal(find(&b, w, &m), BP_SPARKPLUG_ABSENT);
		spb_bytes(&b, SPB_METRICS, longer, sizeof(longer));
		w.alias = 5;
		assert_int_equal(find(&b, w, &m), BP_SPARKPLUG_FOUND);
		assert_int_equal(m.field, SPB_BOOLEAN);
	}
}

static void the_last_value_that_is_not_historical_counts(void **state)
{
	struct bp_sparkplug_metric m;
	struct spb b = {.n = 0}, old = {.n = 0};
	double v;

	(void)state;
	spb_bytes(&old, SPB_NAME, "t", 1);
	spb_number(&old, SPB_HISTORICAL, 1);
	spb_double(&old, SPB_DOUBLE, 9);
	spb_bytes(&b, SPB_METRICS, old.p, old.n);
	assert_int_equal(
		find(&b, (struct bp_sparkplug_wanted){.name = "t"}, &m), BP_SPARKPLUG_HISTORICAL);
	spb_metric(&b, "t", 0, 10, 1);
	spb_metric(&b, "t", 0, 10, 2);
	spb_bytes(&b, SPB_METRICS, old.p, old.n);
	assert_int_equal(
		find(&b, (struct bp_sparkplug_wanted){.name = "t"}, &m), BP_SPARKPLUG_FOUND);
	assert_true(bp_sparkplug_number(&m, 0, &v) && v == 2);
	assert_int_equal(
		find(&b, (struct bp_sparkplug_wanted){.name = "t", .historical = true}, &m),
		BP_SPARKPLUG_FOUND);
	assert_true(bp_sparkplug_number(&m, 0, &v) && v == 9);
}

static void an_index_has_as_many_metrics_as_fit(void **state)
{
	struct bp_sparkplug_index index;
	struct spb b = {.n = 0};

	(void)state;
	for (uint32_t i = 0; i < BP_SPARKPLUG_INDEX_METRICS; i++)
		spb_metric(&b, NULL, i, 0, 1);
	assert_true(bp_sparkplug_index_read(b.p, b.n, &index));
	assert_true(index.whole && index.n == BP_SPARKPLUG_INDEX_METRICS);
	assert_true(is_indexed(b.p, b.n));
	spb_metric(&b, NULL, 200, 0, 1);
	assert_true(bp_sparkplug_index_read(b.p, b.n, &index));
	assert_true(!index.whole && index.n == BP_SPARKPLUG_INDEX_METRICS);
	b.p[b.n - 9] = 0x6f; /* the field of the last value gets a wire type that there is not */
	assert_false(bp_sparkplug_index_read(b.p, b.n, &index));
}

/* One metric with these fields. */
static bool number_of(const struct spb *fields, uint32_t datatype, double *v)
{
	struct bp_sparkplug_metric m;
	struct spb b = {.n = 0};
	const uint8_t *at = b.p;

	spb_bytes(&b, SPB_METRICS, fields->p, fields->n);
	assert_int_equal(bp_sparkplug_next(&at, b.p + b.n, &m), 1);
	return bp_sparkplug_number(&m, datatype, v);
}

static void integers_have_the_width_and_sign_of_their_datatype(void **state)
{
	static const struct {
		uint32_t datatype, field;
		uint64_t bits;
		double value;
	} row[] = {
		{BP_SPARKPLUG_INT8, SPB_INT, 0xff, -1},
		{BP_SPARKPLUG_INT8, SPB_INT, 0xffffffff, -1},
		{BP_SPARKPLUG_INT8, SPB_INT, 0x80, -128},
		{BP_SPARKPLUG_INT16, SPB_INT, 0x8000, -32768},
		{BP_SPARKPLUG_INT32, SPB_INT, 0xffffffd8, -40},
		{BP_SPARKPLUG_INT32, SPB_LONG, 0xffffffffffffffd8, -40},
		{BP_SPARKPLUG_INT64, SPB_LONG, 0xfffffffffffffffb, -5},
		{BP_SPARKPLUG_INT64, SPB_LONG, 1ull << 63, -0x1p63},
		{BP_SPARKPLUG_UINT8, SPB_INT, 200, 200},
		{BP_SPARKPLUG_UINT16, SPB_INT, 65535, 65535},
		{BP_SPARKPLUG_UINT32, SPB_INT, 0xffffffff, 4294967295.0},
		{BP_SPARKPLUG_UINT32, SPB_LONG, 0xffffffff, 4294967295.0},
		{BP_SPARKPLUG_UINT64, SPB_LONG, UINT64_MAX, 0x1p64},
		{BP_SPARKPLUG_DATETIME, SPB_LONG, 1767268800000, 1767268800000.0},
		{BP_SPARKPLUG_BOOLEAN, SPB_BOOLEAN, 7, 1},
		{BP_SPARKPLUG_BOOLEAN, SPB_BOOLEAN, 0, 0},
		{0, SPB_INT, 3000000000, 3000000000.0},
		{99, SPB_LONG, 5, 5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct spb by_birth = {.n = 0}, own = {.n = 0};
		double v;

		spb_number(&by_birth, row[i].field, row[i].bits);
		assert_true(number_of(&by_birth, row[i].datatype, &v) && v == row[i].value);
		spb_number(&own, SPB_DATATYPE, row[i].datatype);
		spb_number(&own, row[i].field, row[i].bits);
		assert_true(number_of(&own, 0, &v) && v == row[i].value);
	}
}

static void what_is_no_finite_number_has_no_value(void **state)
{
	struct spb b = {.n = 0};
	double v;

	(void)state;
	assert_false(number_of(&b, BP_SPARKPLUG_DOUBLE, &v));
	spb_double(&b, SPB_DOUBLE, NAN);
	assert_false(number_of(&b, BP_SPARKPLUG_DOUBLE, &v));
	b.n = 0;
	spb_float(&b, SPB_FLOAT, -INFINITY);
	assert_false(number_of(&b, BP_SPARKPLUG_FLOAT, &v));
	b.n = 0;
	spb_bytes(&b, SPB_STRING, "80", 2);
	assert_false(number_of(&b, BP_SPARKPLUG_STRING, &v));
	b.n = 0;
	spb_float(&b, SPB_FLOAT, 1.5f);
	assert_true(number_of(&b, BP_SPARKPLUG_FLOAT, &v) && v == 1.5);
	spb_number(&b, SPB_NULL, 1);
	assert_false(number_of(&b, BP_SPARKPLUG_FLOAT, &v));
	spb_number(&b, SPB_NULL, 0); /* the last counts */
	assert_true(number_of(&b, BP_SPARKPLUG_FLOAT, &v) && v == 1.5);
	spb_number(&b, SPB_INT, 9); /* also of a oneof */
	assert_true(number_of(&b, BP_SPARKPLUG_INT32, &v) && v == 9);
}

static bool reads(const char *bytes, size_t n)
{
	struct bp_sparkplug_head head;
	uint8_t *exact = malloc(n + 1);
	bool ok;

	memcpy(exact + 1, bytes, n);
	ok = bp_sparkplug_head(exact + 1, n, &head);
	assert_true(is_indexed(exact + 1, n));
	free(exact);
	return ok;
}
#define READS(bytes_) reads(bytes_, sizeof(bytes_) - 1)

static void unknown_fields_of_every_wire_type_are_skipped(void **state)
{
	(void)state;
	assert_true(READS("\x78\x01"));                                     /* varint */
	assert_true(READS("\x79\1\2\3\4\5\6\7\x08"));                       /* fixed64 */
	assert_true(READS("\x7a\2ab"));                                     /* bytes */
	assert_true(READS("\x7d\1\2\3\4"));                                 /* fixed32 */
	assert_true(READS("\x7b\x0a\1a\x7c"));                              /* group */
	assert_true(READS("\x7b\x0b\x0c\x7c"));                             /* group in a group */
	assert_true(READS("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")); /* ten bytes */
	assert_false(READS("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")); /* eleven */
	assert_false(READS("\x00\x01"));                                       /* field number 0 */
	assert_false(READS("\xff\xff\xff\xff\x1f\x01")); /* field number above 2^29 */
	assert_false(READS("\x7c"));                     /* the end of no group */
	assert_false(READS("\x7b\x0a\1a"));              /* a group that does not end */
	assert_false(READS("\x7b\x74"));                 /* ... or with another number */
	assert_false(READS("\x7e\x01"));                 /* wire types 6 and 7 */
	assert_false(READS("\x7f\x01"));
	assert_false(READS("\x7a\3ab"));
	assert_false(READS("\x7a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1")); /* length 2^64 - 1 */
	assert_false(READS("\x79\1\2\3\4\5\6\7"));
	assert_false(READS("\x7d\1\2\3"));
}

static void groups_are_skipped_to_a_bounded_depth(void **state)
{
	char b[2 * BP_PB_GROUPS_MAX + 2];

	(void)state;
	memset(b, 0x7b, BP_PB_GROUPS_MAX);
	memset(b + BP_PB_GROUPS_MAX, 0x7c, BP_PB_GROUPS_MAX);
	assert_true(reads(b, sizeof(b) - 2));
	memset(b, 0x7b, BP_PB_GROUPS_MAX + 1);
	memset(b + BP_PB_GROUPS_MAX + 1, 0x7c, BP_PB_GROUPS_MAX + 1);
	assert_false(reads(b, sizeof(b)));
}

static void topics_of_nodes_and_devices(void **state)
{
	static const struct {
		const char *topic;
		uint8_t type;
		const char *data;
	} row[] = {
		{"spBv1.0/g/NBIRTH/n", BP_SPARKPLUG_NBIRTH, "spBv1.0/g/NDATA/n"},
		{"spBv1.0/g/NDEATH/n", BP_SPARKPLUG_NDEATH, "spBv1.0/g/NDATA/n"},
		{"spBv1.0/g/NDATA/n", BP_SPARKPLUG_NDATA, "spBv1.0/g/NDATA/n"},
		{"spBv1.0/g/NCMD/n", BP_SPARKPLUG_NCMD, "spBv1.0/g/NDATA/n"},
		{"spBv1.0/g/DBIRTH/n/d", BP_SPARKPLUG_DBIRTH, "spBv1.0/g/DDATA/n/d"},
		{"spBv1.0/g/DDEATH/n/d", BP_SPARKPLUG_DDEATH, "spBv1.0/g/DDATA/n/d"},
		{"spBv1.0/g 1/DDATA/n/d", BP_SPARKPLUG_DDATA, "spBv1.0/g 1/DDATA/n/d"},
		{"spBv1.0/g/DCMD/n/d", BP_SPARKPLUG_DCMD, "spBv1.0/g/DDATA/n/d"},
	};
	static const char *const none[] = {"", "spBv1.0", "spBv1.0/", "spBv1.0/g",
		"spBv1.0/g/NDATA", "spBv1.0/g/NDATA/", "spBv1.0/g/NDATA/n/d", "spBv1.0/g/NDATA/n/",
		"spBv1.0/g/DDATA/n", "spBv1.0/g/DDATA/n/", "spBv1.0/g/DDATA/n/d/e",
		"spBv1.0//NDATA/n", "spBv1.0/STATE/h", "spBv1.0/g/STATE/h", "spBv1.0/g/ndata/n",
		"spBv1.1/g/NDATA/n", "spAv1.0/g/NDATA/n", "STATE/h", "spBv1.0/g/NDATAX/n"};
	struct bp_sparkplug_topic t;
	char data[64];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_true(bp_sparkplug_topic(
			(const uint8_t *)row[i].topic, (uint32_t)strlen(row[i].topic), &t));
		assert_int_equal(t.type, row[i].type);
		data[bp_sparkplug_data_topic(&t, data)] = '\0';
		assert_string_equal(data, row[i].data);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(bp_sparkplug_topic(
			(const uint8_t *)none[i], (uint32_t)strlen(none[i]), &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_of_the_reference_encoder_are_read),
		cmocka_unit_test(beginnings_of_payloads_are_malformed_or_shorter),
		cmocka_unit_test(metrics_are_found_by_name_or_alias),
		cmocka_unit_test(aliases_of_every_length_are_found),
		cmocka_unit_test(the_last_value_that_is_not_historical_counts),
		cmocka_unit_test(an_index_has_as_many_metrics_as_fit),
		cmocka_unit_test(integers_have_the_width_and_sign_of_their_datatype),
		cmocka_unit_test(what_is_no_finite_number_has_no_value),
		cmocka_unit_test(unknown_fields_of_every_wire_type_are_skipped),
		cmocka_unit_test(groups_are_skipped_to_a_bounded_depth),
		cmocka_unit_test(topics_of_nodes_and_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
