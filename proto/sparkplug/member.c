/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/sparkplug/protobuf.h"
#include "proto/sparkplug/sparkplug.h"

/* Members of a metric whose value is a DataSet, a Template or an array. */

enum { DATASET_COLUMNS = 2, DATASET_TYPES = 3, DATASET_ROWS = 4, ROW_ELEMENTS = 1 };
enum { TEMPLATE_METRICS = 2 };

bool bp_sparkplug_member_parse(const char *text, struct bp_sparkplug_member *m)
{
	const size_t len = strlen(text);
	const char *open = memrchr(text, '[', len);
	uint64_t row = 0;

	*m = (struct bp_sparkplug_member){
		.name = (const uint8_t *)text, .name_len = (uint32_t)len, .row = UINT32_MAX};
	if (len == 0)
		return false;
	if (text[len - 1] != ']' || open == NULL)
		return true;
	for (const char *p = open + 1; p != text + len - 1; p++) {
		if (*p < '0' || *p > '9' || row >= 100000000)
			return false;
		row = row * 10 + (uint64_t)(*p - '0');
	}
	m->name_len = (uint32_t)(open - text);
	m->row = (uint32_t)row;
	return open + 2 != text + len; /* it has digits */
}

/* ---- DataSet ---- */

static bool is_name(const uint8_t *p, uint32_t len, const uint8_t *name, uint32_t name_len)
{
	return len == name_len && memcmp(p, name, len) == 0;
}

/* The i-th of repeated numbers, packed or not: `seen` of them are before this field. */
static bool number_at(const struct bp_pb_field *f, uint32_t i, uint32_t *seen, uint64_t *value)
{
	const uint8_t *at, *end;

	if (f->wire == BP_PB_VARINT) {
		*value = f->value;
		return (*seen)++ == i;
	}
	if (f->wire != BP_PB_BYTES)
		return false;
	for (at = f->data, end = at + f->len; at != end;) {
		if (!bp_pb_varint(&at, end, value))
			return false;
		if ((*seen)++ == i)
			return true;
	}
	return false;
}

/* An element: the fields of its oneof are numbered from 1 as those of a metric from 10. */
static bool element_value(const uint8_t *p, uint32_t len, struct bp_sparkplug_metric *out)
{
	static const uint8_t wire[] = {BP_PB_VARINT, BP_PB_VARINT, BP_PB_FIXED32, BP_PB_FIXED64,
		BP_PB_VARINT, BP_PB_BYTES};
	const uint8_t *at = p, *end = p + len;
	struct bp_pb_field f;

	out->field = 0;
	while (at != end) {
		if (!bp_pb_read(&at, end, &f))
			return false;
		if (f.number < 1 || f.number > sizeof(wire) || f.wire != wire[f.number - 1])
			continue;
		out->field = (uint8_t)(BP_SPARKPLUG_VALUE_INT + f.number - 1);
		if (f.wire == BP_PB_BYTES) {
			out->bytes = f.data;
			out->bytes_len = f.len;
			continue;
		}
		out->bits = f.number == 1   ? (uint32_t)f.value
			    : f.number == 5 ? f.value != 0
					    : f.value;
	}
	return true;
}

static bool row_element(
	const struct bp_pb_field *row, uint32_t column, struct bp_sparkplug_metric *out)
{
	const uint8_t *at = row->data, *end = at + row->len;
	uint32_t i = 0;
	struct bp_pb_field f;

	while (at != end) {
		if (!bp_pb_read(&at, end, &f))
			return false;
		if (f.number == ROW_ELEMENTS && f.wire == BP_PB_BYTES && i++ == column)
			return element_value(f.data, f.len, out);
	}
	return false;
}

/* Index of the column; UINT32_MAX: there is none, or the message is malformed. */
static uint32_t column_of(const uint8_t *p, uint32_t len, const struct bp_sparkplug_member *member)
{
	const uint8_t *at = p, *end = p + len;
	struct bp_pb_field f;

	for (uint32_t i = 0; at != end;) {
		if (!bp_pb_read(&at, end, &f))
			return UINT32_MAX;
		if (f.number != DATASET_COLUMNS || f.wire != BP_PB_BYTES)
			continue;
		if (is_name(f.data, f.len, member->name, member->name_len))
			return i;
		i++;
	}
	return UINT32_MAX;
}

static bool dataset_member(const uint8_t *p, uint32_t len, const struct bp_sparkplug_member *member,
	struct bp_sparkplug_metric *out)
{
	const uint32_t column = column_of(p, len, member);
	const uint8_t *at = p, *end = p + len;
	uint32_t types = 0, rows = 0;
	struct bp_pb_field f, row = {.wire = BP_PB_VARINT};
	uint64_t type;

	if (column == UINT32_MAX)
		return false;
	*out = (struct bp_sparkplug_metric){.name = NULL};
	while (at != end) {
		if (!bp_pb_read(&at, end, &f))
			return false;
		if (f.number == DATASET_TYPES && number_at(&f, column, &types, &type))
			out->datatype = (uint32_t)type;
		else if (f.number == DATASET_ROWS && f.wire == BP_PB_BYTES &&
			 (rows++ == member->row || member->row == UINT32_MAX))
			row = f;
	}
	return row.wire == BP_PB_BYTES && row_element(&row, column, out);
}

/* ---- Template ---- */

/*
 * The metric with the name, or, in a metric that is a Template and whose name is the beginning of
 * the name, the rest of it. Every step is in the bytes of the one before, and the name becomes
 * shorter: so the depth is that of the name.
 */
static bool template_member(const uint8_t *p, uint32_t len,
	const struct bp_sparkplug_member *member, struct bp_sparkplug_metric *out)
{
	const uint8_t *at = p, *end = p + len;
	struct bp_sparkplug_metric m;
	bool found = false;
	int more;

	/* field 2 of a Template are its metrics, as of a payload */
	_Static_assert(TEMPLATE_METRICS == 2, "bp_sparkplug_next() reads it");
	while ((more = bp_sparkplug_next(&at, end, &m)) > 0) {
		struct bp_sparkplug_member rest = *member;

		if (m.name == NULL || m.name_len > member->name_len ||
			memcmp(m.name, member->name, m.name_len) != 0)
			continue;
		if (m.name_len == member->name_len && member->row == UINT32_MAX) {
			*out = m;
			found = true;
			continue;
		}
		if (m.field != BP_SPARKPLUG_VALUE_TEMPLATE || m.name_len == 0 ||
			member->name[m.name_len] != '/')
			continue;
		rest.name += m.name_len + 1;
		rest.name_len -= m.name_len + 1;
		found |= template_member(m.bytes, m.bytes_len, &rest, out);
	}
	return more == 0 && found;
}

/* ---- arrays ---- */

static const uint8_t array_width[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8}; /* from INT8_ARRAY on */
static const uint8_t array_type[] = {BP_SPARKPLUG_INT8, BP_SPARKPLUG_INT16, BP_SPARKPLUG_INT32,
	BP_SPARKPLUG_INT64, BP_SPARKPLUG_UINT8, BP_SPARKPLUG_UINT16, BP_SPARKPLUG_UINT32,
	BP_SPARKPLUG_UINT64, BP_SPARKPLUG_FLOAT, BP_SPARKPLUG_DOUBLE};

/* A number of n bytes, little endian, at an index of the array. */
static bool packed(const struct bp_sparkplug_metric *m, uint32_t n, uint64_t index, uint64_t *bits)
{
	const uint8_t *at;

	if (index >= m->bytes_len / n)
		return false;
	at = m->bytes + index * n;
	return bp_pb_fixed(&at, m->bytes + m->bytes_len, n, bits);
}

/* Booleans are packed from the highest bit of a byte on, behind their number (4 bytes). */
static bool boolean_at(const struct bp_sparkplug_metric *m, uint64_t index, uint64_t *bits)
{
	uint64_t n;

	if (!packed(m, 4, 0, &n) || index >= n || 4 + index / 8 >= m->bytes_len)
		return false;
	*bits = m->bytes[4 + index / 8] >> (7 - index % 8) & 1;
	return true;
}

/* Strings of an array end with a byte 0 each. */
static bool string_at(
	const struct bp_sparkplug_metric *m, uint32_t index, struct bp_sparkplug_metric *out)
{
	const uint8_t *at = m->bytes, *end = at + m->bytes_len, *zero;

	for (uint32_t i = 0; at != end; i++, at = zero + 1) {
		zero = memchr(at, 0, (size_t)(end - at));
		if (zero == NULL)
			return false;
		if (i != index)
			continue;
		out->field = BP_SPARKPLUG_VALUE_STRING;
		out->bytes = at;
		out->bytes_len = (uint32_t)(zero - at);
		return true;
	}
	return false;
}

static bool array_member(const struct bp_sparkplug_metric *m, uint32_t datatype, uint32_t row,
	struct bp_sparkplug_metric *out)
{
	const uint32_t i = datatype - BP_SPARKPLUG_INT8_ARRAY;
	uint64_t bits;

	*out = (struct bp_sparkplug_metric){.field = BP_SPARKPLUG_VALUE_LONG};
	if (row == UINT32_MAX)
		return false;
	if (datatype == BP_SPARKPLUG_STRING_ARRAY) {
		out->datatype = BP_SPARKPLUG_STRING;
		return string_at(m, row, out);
	}
	if (datatype == BP_SPARKPLUG_BOOLEAN_ARRAY) {
		out->datatype = BP_SPARKPLUG_BOOLEAN;
		return boolean_at(m, row, &out->bits);
	}
	if (datatype == BP_SPARKPLUG_DATETIME_ARRAY) {
		out->datatype = BP_SPARKPLUG_DATETIME;
		return packed(m, 8, row, &out->bits);
	}
	if (datatype < BP_SPARKPLUG_INT8_ARRAY || i >= sizeof(array_width) ||
		!packed(m, array_width[i], row, &bits))
		return false;
	out->datatype = array_type[i];
	out->bits = bits;
	if (out->datatype == BP_SPARKPLUG_FLOAT)
		out->field = BP_SPARKPLUG_VALUE_FLOAT;
	else if (out->datatype == BP_SPARKPLUG_DOUBLE)
		out->field = BP_SPARKPLUG_VALUE_DOUBLE;
	return true;
}

bool bp_sparkplug_member_find(const struct bp_sparkplug_metric *metric, uint32_t datatype,
	const struct bp_sparkplug_member *member, struct bp_sparkplug_metric *out)
{
	const uint32_t type =
		metric->datatype != BP_SPARKPLUG_UNKNOWN ? metric->datatype : datatype;

	if (metric->is_null)
		return false;
	switch (metric->field) {
	case BP_SPARKPLUG_VALUE_DATASET:
		return dataset_member(metric->bytes, metric->bytes_len, member, out);
	case BP_SPARKPLUG_VALUE_TEMPLATE:
		return template_member(metric->bytes, metric->bytes_len, member, out);
	case BP_SPARKPLUG_VALUE_BYTES:
		return member->name_len == 0 && array_member(metric, type, member->row, out);
	default:
		return false;
	}
}
