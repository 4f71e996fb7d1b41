/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/sparkplug/index.h"

#include <string.h>

#include "proto/sparkplug/fields.h"
#include "proto/sparkplug/protobuf.h"

/* ---- reading ---- */

static inline uint16_t position(const uint8_t *payload, const struct bp_pb_field *f)
{
	return (uint16_t)(f->data - payload);
}

/* The varint at `at`, which bp_pb_locate() has checked. */
static uint64_t varint(const uint8_t *at, const uint8_t *end)
{
	uint64_t v = 0;

	(void)bp_pb_varint(&at, end, &v);
	return v;
}

static inline void varint_field(
	const uint8_t *payload, const struct bp_pb_field *f, struct bp_sparkplug_entry *e)
{
	switch (f->number) {
	case METRIC_ALIAS:
		e->alias_at = position(payload, f);
		e->alias_len = (uint8_t)f->len;
		break;
	case METRIC_DATATYPE:
		e->datatype = (uint32_t)varint(f->data, f->data + f->len);
		break;
	case METRIC_IS_HISTORICAL:
		e->is_historical = varint(f->data, f->data + f->len) != 0;
		break;
	case METRIC_IS_NULL:
		e->is_null = varint(f->data, f->data + f->len) != 0;
		break;
	case BP_SPARKPLUG_VALUE_INT:
	case BP_SPARKPLUG_VALUE_LONG:
	case BP_SPARKPLUG_VALUE_BOOLEAN:
		e->field = (uint8_t)f->number;
		e->value_at = position(payload, f);
		e->value_len = (uint16_t)f->len;
		break;
	default:
		break;
	}
}

static inline void other_field(
	const uint8_t *payload, const struct bp_pb_field *f, struct bp_sparkplug_entry *e)
{
	if (f->number == METRIC_NAME && f->wire == BP_PB_BYTES) {
		e->name_at = position(payload, f);
		e->name_len = (uint16_t)f->len;
	} else if (bp_sparkplug_is_value(f->number, f->wire)) {
		e->field = (uint8_t)f->number;
		e->value_at = position(payload, f);
		e->value_len = (uint16_t)f->len;
	}
}

static inline bool read_metric(
	const uint8_t *payload, const struct bp_pb_field *metric, struct bp_sparkplug_entry *e)
{
	const uint8_t *at = metric->data, *end = at + metric->len;
	struct bp_pb_field f;

	*e = (struct bp_sparkplug_entry){.field = 0};
	while (at != end) {
		if (!bp_pb_locate(&at, end, &f))
			return false;
		if (f.wire == BP_PB_VARINT)
			varint_field(payload, &f, e);
		else
			other_field(payload, &f, e);
	}
	return true;
}

bool bp_sparkplug_index_read(const uint8_t *payload, size_t len, struct bp_sparkplug_index *out)
{
	const uint8_t *at = payload, *end = payload + len;
	struct bp_sparkplug_entry beyond;
	struct bp_pb_field f;

	out->seq_at = out->timestamp_at = out->n = 0;
	out->whole = len <= BP_SPARKPLUG_INDEX_LEN;
	while (at != end) {
		if (!bp_pb_locate(&at, end, &f))
			return false;
		if (f.number == PAYLOAD_METRICS && f.wire == BP_PB_BYTES) {
			const bool fits = out->n != BP_SPARKPLUG_INDEX_METRICS;

			if (!read_metric(payload, &f, fits ? &out->metric[out->n] : &beyond))
				return false;
			out->n += fits;
			out->whole &= fits;
		} else if (f.number == PAYLOAD_SEQ && f.wire == BP_PB_VARINT) {
			out->seq_at = position(payload, &f);
		} else if (f.number == PAYLOAD_TIMESTAMP && f.wire == BP_PB_VARINT) {
			out->timestamp_at = position(payload, &f);
		}
	}
	return true;
}

/* ---- values ---- */

void bp_sparkplug_index_head(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, struct bp_sparkplug_head *out)
{
	const uint8_t *end = payload + len;

	*out = (struct bp_sparkplug_head){
		.has_seq = index->seq_at != 0, .has_timestamp = index->timestamp_at != 0};
	if (out->has_seq)
		out->seq = varint(payload + index->seq_at, end);
	if (out->has_timestamp)
		out->timestamp = varint(payload + index->timestamp_at, end);
}

static uint64_t bits_of(const uint8_t *payload, const struct bp_sparkplug_entry *e)
{
	const uint8_t *at = payload + e->value_at, *end = at + e->value_len;
	uint64_t v = 0;

	switch (e->field) {
	case BP_SPARKPLUG_VALUE_INT:
		return (uint32_t)varint(at, end);
	case BP_SPARKPLUG_VALUE_LONG:
		return varint(at, end);
	case BP_SPARKPLUG_VALUE_BOOLEAN:
		return varint(at, end) != 0;
	default:
		(void)bp_pb_fixed(&at, end, e->value_len, &v);
		return v;
	}
}

void bp_sparkplug_index_metric(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, uint32_t i, struct bp_sparkplug_metric *m)
{
	const struct bp_sparkplug_entry *e = &index->metric[i];

	*m = (struct bp_sparkplug_metric){.name = e->name_at != 0 ? payload + e->name_at : NULL,
		.name_len = e->name_len,
		.datatype = e->datatype,
		.has_alias = e->alias_at != 0,
		.is_null = e->is_null,
		.is_historical = e->is_historical,
		.field = e->field};
	if (m->has_alias)
		m->alias = varint(payload + e->alias_at, payload + len);
	if (e->field >= BP_SPARKPLUG_VALUE_STRING) {
		m->bytes = payload + e->value_at;
		m->bytes_len = e->value_len;
	} else if (e->field != 0) {
		m->bits = bits_of(payload, e);
	}
}

static bool has_alias(
	const uint8_t *payload, size_t len, const struct bp_sparkplug_entry *e, uint64_t alias)
{
	const uint8_t *at = payload + e->alias_at;

	if (e->alias_len == 1)
		return *at == alias;
	if (e->alias_len == 2)
		return ((*at & 0x7f) | (uint32_t)at[1] << 7) == alias;
	return varint(payload + e->alias_at, payload + len) == alias;
}

enum bp_sparkplug_found bp_sparkplug_index_find(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_index *index, const struct bp_sparkplug_wanted *wanted,
	struct bp_sparkplug_metric *metric)
{
	enum bp_sparkplug_found found = BP_SPARKPLUG_ABSENT;
	uint32_t last = 0;

	for (uint32_t i = 0; i < index->n; i++) {
		const struct bp_sparkplug_entry *e = &index->metric[i];

		if (e->name_at != 0) {
			if (e->name_len != wanted->name_len ||
				memcmp(payload + e->name_at, wanted->name, e->name_len) != 0)
				continue;
		} else if (e->alias_at == 0) {
			continue;
		} else if (!wanted->has_alias) {
			if (found == BP_SPARKPLUG_ABSENT)
				found = BP_SPARKPLUG_ABSENT_UNNAMED;
			continue;
		} else if (!has_alias(payload, len, e, wanted->alias)) {
			continue;
		}
		if (e->is_historical && !wanted->historical) {
			if (found != BP_SPARKPLUG_FOUND)
				found = BP_SPARKPLUG_HISTORICAL;
			continue;
		}
		last = i;
		found = BP_SPARKPLUG_FOUND;
	}
	if (found == BP_SPARKPLUG_FOUND)
		bp_sparkplug_index_metric(payload, len, index, last, metric);
	return found;
}
