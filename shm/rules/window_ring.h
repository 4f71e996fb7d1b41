/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_RING_H
#define BP_SHM_RULES_WINDOW_RING_H

#include <string.h>

#include "shm/rules/window_parts.h"

/* The ring of a window over values, inline for the burst path. */

/* window_values.c: the function of n values; those of DELTA and RATE in the order of a ring whose
 * oldest value is at `first`. False: it has no result. */
bool bp_window_of_values(const struct bp_window_spec *w, const void *data, uint32_t n,
	uint32_t first, double *result);

static inline void bp_window_ring_place(
	const struct bp_window_spec *w, const struct bp_window_state *s, struct bp_window_change *d)
{
	d->len = w->function == BP_WINDOW_RATE ? sizeof(struct bp_window_timed) : sizeof(double);
	d->offset = (s->at < w->values ? s->at : 0) * d->len;
}

static inline void bp_window_sum_add(struct bp_window_state *s, double v)
{
	struct bp_exact_sum x;

	s->outside += !bp_exact_of(v, &x);
	s->sum = bp_exact_add(s->sum, x);
}

static inline void bp_window_sum_remove(struct bp_window_state *s, double v)
{
	struct bp_exact_sum x;

	s->outside -= !bp_exact_of(-v, &x);
	s->sum = bp_exact_add(s->sum, x);
}

static inline bool bp_window_is_summed(const struct bp_window_spec *w)
{
	return w->function == BP_WINDOW_MEAN || w->function == BP_WINDOW_SUM;
}

/* sum / n: for a power of two without a division, which is exact then. */
static inline double bp_window_ratio(double sum, uint32_t n)
{
	const uint64_t bits = (uint64_t)(1023 - __builtin_ctz(n)) << 52;
	double reciprocal;

	if ((n & (n - 1)) != 0)
		return sum / n;
	memcpy(&reciprocal, &bits, sizeof(bits));
	return sum * reciprocal;
}

/* Whether the sum is computed from all values after a change: once in 256 changes, or in each pass
 * over a larger ring, so that damage of the shared memory does not last. `at`: slot of the next
 * value. */
static inline bool bp_window_is_summed_again(uint32_t at, uint64_t changes, uint32_t values)
{
	return at == 0 && (changes & 0xff) < values;
}

/* The function of the full ring, of which `first` is the oldest value. */
static inline bool bp_window_ring_result(const struct bp_window_spec *w, struct bp_window_state *s,
	const void *data, uint32_t first, double *result)
{
	if (!bp_window_is_summed(w))
		return bp_window_of_values(w, data, w->values, first, result);
	if (bp_window_is_summed_again(first, s->changes, w->values)) {
		s->sum = (struct bp_exact_sum){0};
		s->outside = 0;
		for (uint32_t i = 0; i < w->values; i++)
			bp_window_sum_add(s, ((const double *)data)[i]);
	}
	if (__builtin_expect(s->outside != 0, 0))
		return bp_window_of_values(w, data, w->values, first, result);
	*result = bp_exact_double(s->sum);
	if (w->function == BP_WINDOW_MEAN)
		*result = bp_window_ratio(*result, w->values);
	return true;
}

static inline enum bp_window_result bp_window_ring_add(const struct bp_window_spec *w,
	struct bp_window_state *s, uint64_t *data, double value, uint64_t now_ns, double *result)
{
	uint32_t at = s->at < w->values ? s->at : 0;
	double *slot = (double *)(void *)data + at;

	if (s->n == 0) {
		s->begin_ns = now_ns;
		s->sum = (struct bp_exact_sum){0};
		s->outside = 0;
	}
	if (s->last_ns < now_ns)
		s->last_ns = now_ns; /* another worker may be slightly ahead */
	if (w->function == BP_WINDOW_RATE) {
		((struct bp_window_timed *)(void *)data)[at] =
			(struct bp_window_timed){value, s->last_ns};
	} else {
		if (bp_window_is_summed(w)) {
			if (s->n >= w->values)
				bp_window_sum_remove(s, *slot);
			bp_window_sum_add(s, value);
		}
		*slot = value;
	}
	s->at = at = at + 1 == w->values ? 0 : at + 1;
	/* a damaged image may give the window of one rule to another one: there may be more values
	 */
	s->n = s->n < w->values ? s->n + 1 : w->values;
	if (s->n < w->values)
		return BP_WINDOW_NONE;
	s->full = 1;
	s->has_result = bp_window_ring_result(w, s, data, at, result);
	if (s->has_result)
		s->result = *result;
	if (w->tumbling)
		s->n = s->at = 0;
	return s->has_result ? BP_WINDOW_VALUE : BP_WINDOW_NONE;
}

#endif
