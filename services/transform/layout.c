/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/transform/layout.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FIXED(at)                                                                                  \
	{                                                                                          \
		.offset = (at), .type = BP_TRANSFORM_FIXED32, .fraction = 25                       \
	}
#define UFIXED(at)                                                                                 \
	{                                                                                          \
		.offset = (at), .type = BP_TRANSFORM_UFIXED32, .fraction = 25                      \
	}
#define KUNZE2021(at)                                                                              \
	{                                                                                          \
		.in = {FIXED(at), UFIXED((at) + 4), UFIXED((at) + 8)},                             \
		.out = {FIXED((at) + 12), FIXED((at) + 16), FIXED((at) + 20)},                     \
		.length = (at) + 40, .kunze2021 = true                                             \
	}

const struct bp_transform_layout bp_transform_layout_kunze2021 = KUNZE2021(0);
const struct bp_transform_layout bp_transform_layout_kunze2021_timed = KUNZE2021(17);

unsigned bp_transform_type_size(unsigned type)
{
	return type == BP_TRANSFORM_FLOAT64 ? 8 : 4;
}

static unsigned end_of(const struct bp_transform_field *f)
{
	return f->offset + bp_transform_type_size(f->type);
}

static bool any_overlap(const struct bp_transform_field f[3])
{
	for (unsigned a = 0; a < 3; a++)
		for (unsigned b = a + 1; b < 3; b++)
			if (f[a].offset < end_of(&f[b]) && f[b].offset < end_of(&f[a]))
				return true;
	return false;
}

static bool same_field(
	const struct bp_transform_field *a, const struct bp_transform_field *b, unsigned moved)
{
	return a->offset == b->offset + moved && a->type == b->type && a->fraction == b->fraction;
}

static bool is_kunze2021(const struct bp_transform_layout *l)
{
	const struct bp_transform_layout *p = &bp_transform_layout_kunze2021;

	if (l->cartesian || l->little_endian || l->degrees)
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (!same_field(&l->in[i], &p->in[i], l->in[0].offset) ||
			!same_field(&l->out[i], &p->out[i], l->in[0].offset))
			return false;
	return true;
}

bool bp_transform_layout_finish(struct bp_transform_layout *l, const char **what)
{
	unsigned needed = 0;

	for (unsigned i = 0; i < 6; i++) {
		const struct bp_transform_field *f = i < 3 ? &l->in[i] : &l->out[i - 3];

		*what = "a field has an unknown type";
		if (f->type >= BP_TRANSFORM_TYPES)
			return false;
		*what = "a field has more than 31 bits of fraction";
		if (f->fraction > 31)
			return false;
		*what = "a field begins more than 1400 bytes into the payload";
		if (f->offset > BP_TRANSFORM_OFFSET_MAX)
			return false;
		needed = needed > end_of(f) ? needed : end_of(f);
	}
	*what = "two inputs overlap";
	if (any_overlap(l->in))
		return false;
	*what = "two outputs overlap";
	if (any_overlap(l->out))
		return false;
	*what = "a field reaches beyond the length";
	if (l->length != 0 && l->length < needed)
		return false;
	if (l->length == 0)
		l->length = (uint16_t)needed;
	l->kunze2021 = is_kunze2021(l);
	*what = NULL;
	return true;
}

static double power_of_two(int exponent)
{
	const uint64_t bits = (uint64_t)(1023 + exponent) << 52;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static uint32_t word32(const uint8_t *p, bool little)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return little == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? v : __builtin_bswap32(v);
}

static uint64_t word64(const uint8_t *p, bool little)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return little == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? v : __builtin_bswap64(v);
}

/* One coordinate of n payloads. */
static void read_column(const struct bp_transform_field *f, bool little,
	const uint8_t *const payload[], unsigned n, double v[])
{
	const double scale = power_of_two(-f->fraction);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *at = payload[i] + f->offset;
		uint64_t bits64;
		uint32_t bits32;
		float single;

		switch (f->type) {
		case BP_TRANSFORM_FIXED32:
			v[i] = (int32_t)word32(at, little) * scale;
			break;
		case BP_TRANSFORM_UFIXED32:
			v[i] = word32(at, little) * scale;
			break;
		case BP_TRANSFORM_FLOAT32:
			bits32 = word32(at, little);
			memcpy(&single, &bits32, sizeof(single));
			v[i] = (double)single;
			break;
		default:
			bits64 = word64(at, little);
			memcpy(&v[i], &bits64, sizeof(v[i]));
		}
	}
}

/* Validates field i, whose angles become radians; returns the fault. */
static enum bp_transform_bad check_point(
	const struct bp_transform_layout *l, struct bp_transform_points *p, unsigned i)
{
	for (unsigned c = 0; c < 3; c++)
		if (!isfinite(p->v[c][i]))
			return BP_TRANSFORM_NOT_FINITE;
	if (l->cartesian)
		return BP_TRANSFORM_GOOD;
	for (unsigned c = 1; c < 3; c++) {
		if (l->degrees)
			p->v[c][i] *= M_PI / 180;
		if (!(fabs(p->v[c][i]) <= BP_TRANSFORM_ANGLE_MAX))
			return BP_TRANSFORM_ANGLE;
	}
	return BP_TRANSFORM_GOOD;
}

/* Whether every payload of this layout is valid: fixed point with a maximum below the maximum
 * angle. */
static bool always_good(const struct bp_transform_layout *l)
{
	for (unsigned c = 0; c < 3; c++) {
		const struct bp_transform_field *f = &l->in[c];
		const int bits = f->type == BP_TRANSFORM_FIXED32 ? 31 : 32;

		if (f->type != BP_TRANSFORM_FIXED32 && f->type != BP_TRANSFORM_UFIXED32)
			return false;
		if (c != 0 && !l->cartesian &&
			(l->degrees || power_of_two(bits - f->fraction) > BP_TRANSFORM_ANGLE_MAX))
			return false;
	}
	return true;
}

static enum bp_transform_bad take(
	const struct bp_transform_layout *l, struct bp_transform_points *p, unsigned i)
{
	const enum bp_transform_bad bad = check_point(l, p, i);

	if (bad != BP_TRANSFORM_GOOD)
		for (unsigned c = 0; c < 3; c++)
			p->v[c][i] = 0;
	return bad;
}

enum bp_transform_bad bp_transform_layout_read(const struct bp_transform_layout *l,
	const uint8_t *payload, struct bp_transform_points *p, unsigned i)
{
	for (unsigned c = 0; c < 3; c++)
		read_column(&l->in[c], l->little_endian, &payload, 1, &p->v[c][i]);
	return take(l, p, i);
}

uint64_t bp_transform_layout_read_all(const struct bp_transform_layout *l,
	const uint8_t *const payload[], unsigned n, struct bp_transform_points *p, uint8_t bad[])
{
	uint64_t any = 0;

	if (l->kunze2021) {
		bp_transform_kunze2021_read(payload, l->in[0].offset, n, p);
		memset(bad, BP_TRANSFORM_GOOD, n);
		return 0;
	}
	for (unsigned c = 0; c < 3; c++)
		read_column(&l->in[c], l->little_endian, payload, n, p->v[c]);
	if (always_good(l)) {
		memset(bad, BP_TRANSFORM_GOOD, n);
	} else {
		for (unsigned i = 0; i < n; i++) {
			bad[i] = take(l, p, i);
			any |= (uint64_t)(bad[i] != BP_TRANSFORM_GOOD) << i;
		}
	}
	for (unsigned i = n; i % 8 != 0; i++)
		for (unsigned c = 0; c < 3; c++)
			p->v[c][i] = 0;
	return any;
}

/* The minimum and the maximum of a type, and the limits of rounding beyond them: below `under`,
 * and from `over` on. */
struct range {
	double min, max, under, over;
};

static const struct range ranges[BP_TRANSFORM_TYPES] = {
	/* half a unit is rounded to the even neighbor: -2^31, 0, but 2^31 and 2^32 */
	[BP_TRANSFORM_FIXED32] = {-0x1p31, 0x1p31 - 1, -0x1p31 - 0.5, 0x1p31 - 0.5},
	[BP_TRANSFORM_UFIXED32] = {0, 0x1p32 - 1, -0.5, 0x1p32 - 0.5},
	/* half a unit beyond FLT_MAX is 2^128 - 2^103, whose even neighbor is infinity */
	[BP_TRANSFORM_FLOAT32] = {-(double)FLT_MAX, (double)FLT_MAX, -0x1.fffffefffffffp127,
		0x1.ffffffp127},
	[BP_TRANSFORM_FLOAT64] = {-DBL_MAX, DBL_MAX, -DBL_MAX, INFINITY},
};

static void put_number(const struct bp_transform_field *f, bool little, uint8_t *at, double within)
{
	const bool swap = little != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	uint64_t bits64;
	uint32_t bits32;
	float single;

	if (f->type == BP_TRANSFORM_FLOAT64) {
		memcpy(&bits64, &within, sizeof(bits64));
		bits64 = swap ? __builtin_bswap64(bits64) : bits64;
		memcpy(at, &bits64, sizeof(bits64));
		return;
	}
	if (f->type == BP_TRANSFORM_FLOAT32) {
		single = (float)within;
		memcpy(&bits32, &single, sizeof(bits32));
	} else {
		/* The sum has steps of 1: it is rounded, and its lowest 32 bits are the number in
		 * two's complement. */
		within += 0x1.8p52;
		memcpy(&bits64, &within, sizeof(bits64));
		bits32 = (uint32_t)bits64;
	}
	bits32 = swap ? __builtin_bswap32(bits32) : bits32;
	memcpy(at, &bits32, sizeof(bits32));
}

static void write_column(const struct bp_transform_field *f, bool little, uint8_t *const payload[],
	unsigned n, const double v[], unsigned bit, uint8_t saturated[])
{
	const bool fixed = f->type == BP_TRANSFORM_FIXED32 || f->type == BP_TRANSFORM_UFIXED32;
	const double scale = fixed ? power_of_two(f->fraction) : 1;
	const struct range r = ranges[f->type];

	for (unsigned i = 0; i < n; i++) {
		double s = v[i] * scale;

		saturated[i] |= (uint8_t)(!(s < r.over && s >= r.under) ? bit : 0);
		s = s < r.max ? s : r.max; /* also for NaN */
		s = s > r.min ? s : r.min;
		put_number(f, little, payload[i] + f->offset, s);
	}
}

unsigned bp_transform_layout_write(const struct bp_transform_layout *l, uint8_t *payload,
	const struct bp_transform_points *p, unsigned i)
{
	uint8_t saturated = 0;

	for (unsigned c = 0; c < 3; c++)
		write_column(&l->out[c], l->little_endian, &payload, 1, &p->v[c][i], 1u << c,
			&saturated);
	return saturated;
}

uint64_t bp_transform_layout_write_all(const struct bp_transform_layout *l,
	uint8_t *const payload[], unsigned n, const struct bp_transform_points *p,
	uint8_t saturated[])
{
	uint64_t any = 0;

	if (l->kunze2021)
		return bp_transform_kunze2021_write(payload, l->out[0].offset, n, p, saturated);
	memset(saturated, 0, n);
	for (unsigned c = 0; c < 3; c++)
		write_column(&l->out[c], l->little_endian, payload, n, p->v[c], 1u << c, saturated);
	for (unsigned i = 0; i < n; i++)
		any |= (uint64_t)(saturated[i] != 0) << i;
	return any;
}
