/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "proto/sparkplug/fields.h"
#include "proto/sparkplug/protobuf.h"
#include "proto/sparkplug/sparkplug.h"

/* The messages Payload and Metric of sparkplug_b.proto. */

bool bp_sparkplug_head(const uint8_t *payload, size_t len, struct bp_sparkplug_head *out)
{
	const uint8_t *at = payload, *end = payload + len;
	struct bp_pb_field f;

	*out = (struct bp_sparkplug_head){.has_seq = false};
	while (at != end) {
		if (!bp_pb_read(&at, end, &f))
			return false;
		if (f.wire != BP_PB_VARINT)
			continue;
		if (f.number == PAYLOAD_SEQ) {
			out->seq = f.value;
			out->has_seq = true;
		} else if (f.number == PAYLOAD_TIMESTAMP) {
			out->timestamp = f.value;
			out->has_timestamp = true;
		}
	}
	return true;
}

static void varint_field(struct bp_sparkplug_metric *m, const struct bp_pb_field *f)
{
	switch (f->number) {
	case METRIC_ALIAS:
		m->alias = f->value;
		m->has_alias = true;
		break;
	case METRIC_DATATYPE:
		m->datatype = (uint32_t)f->value;
		break;
	case METRIC_IS_HISTORICAL:
		m->is_historical = f->value != 0;
		break;
	case METRIC_IS_NULL:
		m->is_null = f->value != 0;
		break;
	case BP_SPARKPLUG_VALUE_INT: /* uint32 */
		m->field = BP_SPARKPLUG_VALUE_INT;
		m->bits = (uint32_t)f->value;
		break;
	case BP_SPARKPLUG_VALUE_LONG:
		m->field = BP_SPARKPLUG_VALUE_LONG;
		m->bits = f->value;
		break;
	case BP_SPARKPLUG_VALUE_BOOLEAN:
		m->field = BP_SPARKPLUG_VALUE_BOOLEAN;
		m->bits = f->value != 0;
		break;
	default:
		break;
	}
}

static void bytes_field(struct bp_sparkplug_metric *m, const struct bp_pb_field *f)
{
	if (f->number == METRIC_NAME) {
		m->name = f->data;
		m->name_len = f->len;
	} else if (bp_sparkplug_is_value(f->number, f->wire)) {
		m->field = (uint8_t)f->number;
		m->bytes = f->data;
		m->bytes_len = f->len;
	}
}

static bool read_metric(const uint8_t *p, uint32_t len, struct bp_sparkplug_metric *m)
{
	const uint8_t *at = p, *end = p + len;
	struct bp_pb_field f;

	*m = (struct bp_sparkplug_metric){.name = NULL};
	while (at != end) {
		if (!bp_pb_read(&at, end, &f))
			return false;
		if (f.wire == BP_PB_VARINT) {
			varint_field(m, &f);
		} else if (f.wire == BP_PB_BYTES) {
			bytes_field(m, &f);
		} else if (bp_sparkplug_is_value(f.number, f.wire)) {
			m->field = (uint8_t)f.number;
			m->bits = f.value;
		}
	}
	return true;
}

int bp_sparkplug_next(const uint8_t **at, const uint8_t *end, struct bp_sparkplug_metric *metric)
{
	struct bp_pb_field f;

	while (*at != end) {
		if (!bp_pb_read(at, end, &f))
			return -1;
		if (f.number == PAYLOAD_METRICS && f.wire == BP_PB_BYTES)
			return read_metric(f.data, f.len, metric) ? 1 : -1;
	}
	return 0;
}

enum bp_sparkplug_found bp_sparkplug_find(const uint8_t *payload, size_t len,
	const struct bp_sparkplug_wanted *wanted, struct bp_sparkplug_metric *metric)
{
	const uint8_t *at = payload, *end = payload + len;
	enum bp_sparkplug_found found = BP_SPARKPLUG_ABSENT;
	struct bp_sparkplug_metric m;
	int more;

	while ((more = bp_sparkplug_next(&at, end, &m)) > 0) {
		if (m.name != NULL) {
			if (m.name_len != wanted->name_len ||
				memcmp(m.name, wanted->name, m.name_len) != 0)
				continue;
		} else if (!m.has_alias) {
			continue;
		} else if (!wanted->has_alias) {
			if (found == BP_SPARKPLUG_ABSENT)
				found = BP_SPARKPLUG_ABSENT_UNNAMED;
			continue;
		} else if (m.alias != wanted->alias) {
			continue;
		}
		if (m.is_historical && !wanted->historical) {
			if (found != BP_SPARKPLUG_FOUND)
				found = BP_SPARKPLUG_HISTORICAL;
			continue;
		}
		*metric = m;
		found = BP_SPARKPLUG_FOUND;
	}
	if (more < 0 && !(wanted->beginning && found == BP_SPARKPLUG_FOUND))
		return BP_SPARKPLUG_MALFORMED;
	return found;
}

static double float_of(uint64_t bits)
{
	const uint32_t low = (uint32_t)bits;
	float f;

	memcpy(&f, &low, sizeof(f));
	return (double)f;
}

static double double_of(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* Negative numbers are in two's complement in an unsigned field, and some senders extend the sign
 * beyond the width of the datatype: only the bits of the datatype count. */
static double integer_of(uint64_t bits, uint32_t datatype)
{
	switch (datatype) {
	case BP_SPARKPLUG_INT8:
		return (int8_t)bits;
	case BP_SPARKPLUG_INT16:
		return (int16_t)bits;
	case BP_SPARKPLUG_INT32:
		return (int32_t)bits;
	case BP_SPARKPLUG_INT64:
		return (double)(int64_t)bits;
	case BP_SPARKPLUG_UINT8:
		return (uint8_t)bits;
	case BP_SPARKPLUG_UINT16:
		return (uint16_t)bits;
	case BP_SPARKPLUG_UINT32:
		return (uint32_t)bits;
	case BP_SPARKPLUG_BOOLEAN:
		return bits != 0;
	default:
		return (double)bits;
	}
}

bool bp_sparkplug_number(const struct bp_sparkplug_metric *m, uint32_t datatype, double *value)
{
	const uint32_t type = m->datatype != BP_SPARKPLUG_UNKNOWN ? m->datatype : datatype;
	double v;

	if (m->is_null)
		return false;
	switch (m->field) {
	case BP_SPARKPLUG_VALUE_INT:
	case BP_SPARKPLUG_VALUE_LONG:
		v = integer_of(m->bits, type);
		break;
	case BP_SPARKPLUG_VALUE_FLOAT:
		v = float_of(m->bits);
		break;
	case BP_SPARKPLUG_VALUE_DOUBLE:
		v = double_of(m->bits);
		break;
	case BP_SPARKPLUG_VALUE_BOOLEAN:
		v = (double)m->bits;
		break;
	default:
		return false;
	}
	if (!isfinite(v))
		return false;
	*value = v;
	return true;
}

bool bp_sparkplug_boolean(const struct bp_sparkplug_metric *m, uint32_t datatype, double *value)
{
	const uint32_t type = m->datatype != BP_SPARKPLUG_UNKNOWN ? m->datatype : datatype;
	const bool integer =
		m->field == BP_SPARKPLUG_VALUE_INT || m->field == BP_SPARKPLUG_VALUE_LONG;

	if (m->is_null || !(m->field == BP_SPARKPLUG_VALUE_BOOLEAN ||
				  (integer && type == BP_SPARKPLUG_BOOLEAN)))
		return false;
	*value = m->bits != 0;
	return true;
}

bool bp_sparkplug_is_text(const struct bp_sparkplug_metric *m)
{
	return !m->is_null && m->field == BP_SPARKPLUG_VALUE_STRING;
}
