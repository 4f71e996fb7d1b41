/* SPDX-License-Identifier: BSD-3-Clause */
#include <float.h>
#include <math.h>
#include <string.h>

#include "shm/rules/window_ring.h"

/*
 * Windows over values: a ring. No error accumulates, and a value that has left the window has no
 * effect on the result: a sum is exact, and moves with the ring (exact_sum.h); where a value is not
 * representable in it, and for other functions, the function is computed over all values of the
 * ring each time.
 */

#define SMALL 0x1p-600 /* keeps sums of squares of doubles in their range; an exact factor */
#define LARGE 0x1p+600

double bp_window_clip(double v)
{
	return v > DBL_MAX ? DBL_MAX : v < -DBL_MAX ? -DBL_MAX : v;
}

/* Sum of (v[i] * scale - minus) ^ power, compensated (Neumaier): its error is about that of one
 * addition. Not finite: it is out of range. */
static double sum_of(const double *v, uint32_t n, double scale, double minus, bool squares)
{
	double sum = 0, lost = 0;

	for (uint32_t i = 0; i < n; i++) {
		double x = v[i] * scale - minus, next, part;

		if (squares)
			x *= x;
		next = sum + x;
		part = next - sum;
		lost += (sum - (next - part)) + (x - part);
		sum = next;
	}
	return sum + lost;
}

static double mean_scaled(const double *v, uint32_t n, double scale)
{
	return sum_of(v, n, scale, 0, false) / n;
}

static double stddev_scaled(const double *v, uint32_t n, double scale)
{
	const double mean = mean_scaled(v, n, scale);
	const double rest = sum_of(v, n, scale, mean, false); /* the error of the mean */
	const double squares = sum_of(v, n, scale, mean, true) - rest * rest / n;

	return squares > 0 ? sqrt(squares / n) : squares == squares ? 0 : squares;
}

/* A function that may leave the range of a double on the way to its result. */
static double in_range(
	double (*f)(const double *v, uint32_t n, double scale), const double *v, uint32_t n)
{
	const double result = f(v, n, 1);

	return isfinite(result) ? result : bp_window_clip(f(v, n, SMALL) * LARGE);
}

static double sum_scaled(const double *v, uint32_t n, double scale)
{
	return sum_of(v, n, scale, 0, false);
}

static double extreme(const double *v, uint32_t n, bool max)
{
	double best = v[0];

	for (uint32_t i = 1; i < n; i++)
		best = max ? (v[i] > best ? v[i] : best) : (v[i] < best ? v[i] : best);
	return best;
}

/* ---- percentile ---- */

/* Doubles in their order as unsigned numbers. */
static uint64_t ordered(double v)
{
	uint64_t bits;

	v += 0.0; /* -0 is 0 */
	memcpy(&bits, &v, sizeof(bits));
	return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static double unordered(uint64_t bits)
{
	double v;

	bits = bits >> 63 ? bits & ~(1ull << 63) : ~bits;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The value with `rank` smaller or equal ones, itself included: by counting the values by one byte
 * after the other, so that no order of the values makes it slow. */
static double ranked(const double *v, uint32_t n, uint32_t rank)
{
	uint64_t prefix = 0, mask = 0;

	for (int shift = 56; shift >= 0; shift -= 8) {
		uint32_t count[256] = {0}, byte = 0;

		for (uint32_t i = 0; i < n; i++) {
			const uint64_t x = ordered(v[i]);

			if ((x & mask) == prefix)
				count[x >> shift & 0xff]++;
		}
		while (rank > count[byte])
			rank -= count[byte++];
		prefix |= (uint64_t)byte << shift;
		mask |= 0xffull << shift;
	}
	return unordered(prefix);
}

static double percentile_of(const double *v, uint32_t n, double percentile)
{
	const double rank = ceil(percentile * n / 100);

	return ranked(v, n, rank < 1 ? 1 : rank > n ? n : (uint32_t)rank);
}

/* ---- rate ---- */

double bp_window_increase(double before, double v)
{
	const double up = v >= before ? v - before : v;

	return up > 0 ? up : 0;
}

static bool rate_of(const struct bp_window_timed *v, uint32_t n, uint32_t first, double *result)
{
	uint32_t at = first;
	double sum = 0;
	uint64_t ns;

	for (uint32_t i = 1; i < n; i++) {
		const uint32_t next = at + 1 == n ? 0 : at + 1;

		sum += bp_window_increase(v[at].value, v[next].value);
		at = next;
	}
	if (n < 2 || v[at].ns <= v[first].ns)
		return false;
	ns = v[at].ns - v[first].ns;
	*result = bp_window_clip(bp_window_clip(sum) / ((double)ns / 1e9));
	return true;
}

bool bp_window_of_values(const struct bp_window_spec *w, const void *data, uint32_t n,
	uint32_t first, double *result)
{
	const double *v = data;

	switch ((enum bp_window_function)w->function) {
	case BP_WINDOW_MEAN:
		*result = in_range(mean_scaled, v, n);
		return true;
	case BP_WINDOW_MIN:
	case BP_WINDOW_MAX:
		*result = extreme(v, n, w->function == BP_WINDOW_MAX);
		return true;
	case BP_WINDOW_SUM:
		*result = in_range(sum_scaled, v, n);
		return true;
	case BP_WINDOW_COUNT:
		*result = n;
		return true;
	case BP_WINDOW_STDDEV:
		*result = in_range(stddev_scaled, v, n);
		return true;
	case BP_WINDOW_DELTA:
		*result = bp_window_clip(v[first == 0 ? n - 1 : first - 1] - v[first]);
		return true;
	case BP_WINDOW_RATE:
		return rate_of(data, n, first, result);
	case BP_WINDOW_PERCENTILE:
		*result = percentile_of(v, n, w->percentile);
		return true;
	case BP_WINDOW_FUNCTIONS:
		break;
	}
	return false;
}

/* ---- the ring ---- */

void bp_window_values_place(
	const struct bp_window_spec *w, const struct bp_window_state *s, struct bp_window_change *d)
{
	bp_window_ring_place(w, s, d);
}

enum bp_window_result bp_window_values_add(const struct bp_window_spec *w,
	struct bp_window_state *s, uint64_t *data, double value, uint64_t now_ns, double *result)
{
	return bp_window_ring_add(w, s, data, value, now_ns, result);
}
