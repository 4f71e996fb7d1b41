/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "services/transform/layout.h"

/*
 * A layout from the first 28 bytes, and payloads from the others. An invalid layout is refused;
 * with a valid one there is no access outside the payloads, only outputs are written, and a burst
 * gives the same results as its readings one by one.
 */
#define LAYOUT_BYTES 28u

static struct bp_transform_points points, alone;

static struct bp_transform_field field_of(const uint8_t *p)
{
	/* mostly near the beginning, since the payloads are short */
	return (struct bp_transform_field){
		.offset = (uint16_t)(p[0] & 0x80 ? p[0] << 8 | p[1] : p[1] & 63),
		.type = p[2] % 5,
		.fraction = p[3] % 34,
	};
}

static struct bp_transform_layout layout_of(const uint8_t *p)
{
	struct bp_transform_layout l = {0};

	if (p[0] & 1) {
		l = bp_transform_layout_kunze2021;
		for (unsigned c = 0; c < 3; c++) {
			l.in[c].offset = (uint16_t)(l.in[c].offset + p[1]);
			l.out[c].offset = (uint16_t)(l.out[c].offset + p[1]);
		}
	} else {
		for (unsigned c = 0; c < 3; c++) {
			l.in[c] = field_of(p + 4 + (size_t)4 * c);
			l.out[c] = field_of(p + 16 + (size_t)4 * c);
		}
		l.little_endian = p[0] & 2;
		l.degrees = p[0] & 4;
		l.cartesian = p[0] & 8;
	}
	l.length = p[0] & 16 ? 0 : (uint16_t)(p[2] << 8 | p[3]);
	return l;
}

static bool is_output(const struct bp_transform_layout *l, unsigned byte)
{
	for (unsigned c = 0; c < 3; c++)
		if (byte - l->out[c].offset < bp_transform_type_size(l->out[c].type))
			return true;
	return false;
}

static void read_them(const struct bp_transform_layout *l, uint8_t *const payload[], unsigned n)
{
	uint8_t bad[BP_TRANSFORM_BURST];
	const uint64_t any =
		bp_transform_layout_read_all(l, (const uint8_t *const *)payload, n, &points, bad);

	for (unsigned i = 0; i < n; i++) {
		HOLDS(bp_transform_layout_read(l, payload[i], &alone, i) == bad[i]);
		HOLDS((any >> i & 1) == (bad[i] != BP_TRANSFORM_GOOD));
		for (unsigned c = 0; c < 3; c++) {
			HOLDS(same_bytes(&points.v[c][i], &alone.v[c][i], sizeof(double)));
			HOLDS(isfinite(points.v[c][i]));
			HOLDS(c == 0 || l->cartesian ||
				fabs(points.v[c][i]) <= BP_TRANSFORM_ANGLE_MAX);
		}
	}
}

/* Numbers that the reader would never give, too: of the payloads' bytes. */
static void write_them(const struct bp_transform_layout *l, uint8_t *const payload[], unsigned n,
	const uint8_t *bytes, size_t len)
{
	uint8_t saturated[BP_TRANSFORM_BURST], *copy[BP_TRANSFORM_BURST];
	uint64_t any;

	for (unsigned i = 0; i < n; i++) {
		copy[i] = exact_copy(payload[i], l->length);
		for (unsigned c = 0; c < 3; c++)
			for (unsigned o = 0; o < 8 && len != 0 && bytes[0] & 1; o++)
				((uint8_t *)&points.v[c][i])[o] =
					bytes[((size_t)i * 24 + c * 8 + o) % len];
	}
	any = bp_transform_layout_write_all(l, copy, n, &points, saturated);
	for (unsigned i = 0; i < n; i++) {
		for (unsigned o = 0; o < l->length; o++)
			HOLDS(is_output(l, o) || copy[i][o] == payload[i][o]);
		HOLDS(bp_transform_layout_write(l, payload[i], &points, i) == saturated[i]);
		HOLDS((any >> i & 1) == (saturated[i] != 0));
		HOLDS(memcmp(copy[i], payload[i], l->length) == 0);
		free(copy[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_transform_layout l;
	uint8_t *payload[BP_TRANSFORM_BURST];
	const char *what = NULL;
	unsigned n = 0;

	if (size < LAYOUT_BYTES)
		return 0;
	l = layout_of(data);
	data += LAYOUT_BYTES;
	size -= LAYOUT_BYTES;
	if (!bp_transform_layout_finish(&l, &what)) {
		HOLDS(what != NULL);
		return 0;
	}
	for (size_t at = 0; n < BP_TRANSFORM_BURST && l.length <= size - at; n++) {
		payload[n] = exact_copy(data + at, l.length);
		at += l.length;
	}
	read_them(&l, payload, n);
	write_them(&l, payload, n, data, size);
	for (unsigned i = 0; i < n; i++)
		free(payload[i]);
	return 0;
}
