/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/value.h"

#include <math.h>
#include <string.h>

#include "proto/payload/number.h"
#include "proto/net/vec16.h"

static inline bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Signs other than '-', blanks, exponents, more than eight characters. */
static __attribute__((noinline)) bool text_general(const uint8_t *p, size_t len, double *value)
{
	const uint8_t *end = p + len;
	double v = HUGE_VAL;

	while (p != end && is_blank(*p))
		p++;
	while (p != end && is_blank(end[-1]))
		end--;
	if (p == end || bp_number_parse(p, end, true, &v) != end)
		return false;
	*value = bp_number_in_range(v, *p == '-');
	return true;
}

bool bp_value_text(const uint8_t *payload, size_t len, double *value)
{
	const uint8_t *p = payload;
	size_t n = len;
	double v;

	if (n != 0 && *p == '-') {
		p++;
		n--;
	}
	if (n - 1 < BP_NUMBER_SHORT && bp_number_short(bp_load_short(p, n), (unsigned)n, &v)) {
		*value = p == payload ? v : -v;
		return true;
	}
	return text_general(payload, len, value);
}

static const uint8_t binary_width[] = {
	[BP_BIN_INT8] = 1,
	[BP_BIN_INT16] = 2,
	[BP_BIN_INT32] = 4,
	[BP_BIN_INT64] = 8,
	[BP_BIN_UINT8] = 1,
	[BP_BIN_UINT16] = 2,
	[BP_BIN_UINT32] = 4,
	[BP_BIN_UINT64] = 8,
	[BP_BIN_FLOAT32] = 4,
	[BP_BIN_FLOAT64] = 8,
};

static uint64_t read_unsigned(const uint8_t *p, unsigned width, bool little_endian)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < width; i++)
		v = v << 8 | p[little_endian ? width - 1 - i : i];
	return v;
}

static double float32(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return (double)f;
}

static double float64(uint64_t bits)
{
	double f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

bool bp_value_binary(
	const uint8_t *payload, size_t len, const struct bp_binary_source *source, double *value)
{
	unsigned width;
	uint64_t bits;
	double v;

	if (source->type >= sizeof(binary_width))
		return false;
	width = binary_width[source->type];
	if (len < width || source->offset > len - width)
		return false;
	bits = read_unsigned(payload + source->offset, width, source->little_endian);
	switch ((enum bp_binary_type)source->type) {
	case BP_BIN_INT8:
		v = (int8_t)bits;
		break;
	case BP_BIN_INT16:
		v = (int16_t)bits;
		break;
	case BP_BIN_INT32:
		v = (int32_t)bits;
		break;
	case BP_BIN_INT64:
		v = (double)(int64_t)bits;
		break;
	case BP_BIN_FLOAT32:
		v = float32((uint32_t)bits);
		break;
	case BP_BIN_FLOAT64:
		v = float64(bits);
		break;
	default:
		v = (double)bits;
		break;
	}
	if (!isfinite(v))
		return false;
	*value = v;
	return true;
}

bool bp_value_extract(
	const uint8_t *payload, size_t len, const struct bp_value_source *source, double *value)
{
	switch ((enum bp_value_kind)source->kind) {
	case BP_VALUE_TEXT:
		return bp_value_text(payload, len, value);
	case BP_VALUE_JSON:
		return bp_value_json(payload, len, &source->json, value);
	case BP_VALUE_BINARY:
		return bp_value_binary(payload, len, &source->binary, value);
	case BP_VALUE_CBOR: /* bp_value_select() */
	case BP_VALUE_MSGPACK:
	case BP_VALUE_SPARKPLUG: /* needs the birth of its device */
		return false;
	}
	return false;
}
