/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "shm/rules/window_parts.h"

/*
 * Windows over time. A sliding window has BP_WINDOW_PANES panes of an equal part of its time each,
 * so a value leaves it between 15/16 of its time and all of its time after it arrived. A tumbling
 * window is one pane. The panes begin with the first value of the topic, and follow each other
 * without gaps.
 *
 * Fields of a pane: MEAN, SUM: a sum and b its lost part, both scaled by SMALL; MIN, MAX: a;
 * STDDEV: a mean, b sum of squares of differences (Welford); DELTA: a first, c last; RATE: a first,
 * b increase, c last.
 */

/* The sum of 2^64 doubles of this scale is in the range of a double. */
#define SMALL 0x1p-64
#define LARGE 0x1p+64
/* Squares of differences of two such values, and sums of these, are in the range of a double. */
#define SQUARE_MAX 1e140

static struct bp_window_pane *pane_at(const void *data, uint64_t number)
{
	return (struct bp_window_pane *)data + number % BP_WINDOW_PANES;
}

/* Whether an empty window has result 0. */
static bool counts_nothing(const struct bp_window_spec *w)
{
	return w->function == BP_WINDOW_COUNT || w->function == BP_WINDOW_SUM ||
	       w->function == BP_WINDOW_RATE;
}

bool bp_window_expires(const struct bp_window_spec *w)
{
	return w->values == 0 && (w->tumbling || counts_nothing(w));
}

void bp_window_panes_advance(
	const struct bp_window_spec *w, struct bp_window_state *s, uint64_t now_ns)
{
	const uint64_t each = bp_window_pane_ns(w);
	uint64_t skipped;

	if (s->begin_ns == 0) {
		s->begin_ns = now_ns;
		s->pane_ns = now_ns + each;
	}
	for (unsigned i = 0; i < BP_WINDOW_PANES && now_ns >= s->pane_ns; i++) {
		s->pane++;
		s->pane_ns += each;
	}
	if (now_ns >= s->pane_ns) { /* none of the panes is left: seldom, so a division is cheap */
		skipped = (now_ns - s->pane_ns) / each + 1;
		s->pane += skipped;
		s->pane_ns += skipped * each;
	}
	if (now_ns - s->begin_ns >= w->time_ns && now_ns >= s->begin_ns)
		s->full = 1;
}

/* ---- one pane ---- */

static void add_compensated(struct bp_window_pane *p, double x)
{
	const double next = p->a + x, part = next - p->a;

	p->b += (p->a - (next - part)) + (x - part);
	p->a = next;
}

static double bounded_square(double v)
{
	return v > SQUARE_MAX ? SQUARE_MAX : v < -SQUARE_MAX ? -SQUARE_MAX : v;
}

static void add_first(enum bp_window_function f, struct bp_window_pane *p, double v)
{
	p->a = p->c = v;
	p->b = 0;
	if (f == BP_WINDOW_MEAN || f == BP_WINDOW_SUM)
		p->a = v * SMALL;
	else if (f == BP_WINDOW_STDDEV)
		p->a = bounded_square(v);
}

static void add_next(enum bp_window_function f, struct bp_window_pane *p, double v)
{
	double difference;

	switch (f) {
	case BP_WINDOW_MEAN:
	case BP_WINDOW_SUM:
		add_compensated(p, v * SMALL);
		break;
	case BP_WINDOW_MIN:
		p->a = v < p->a ? v : p->a;
		break;
	case BP_WINDOW_MAX:
		p->a = v > p->a ? v : p->a;
		break;
	case BP_WINDOW_STDDEV:
		v = bounded_square(v);
		difference = v - p->a;
		p->a += difference / p->n;
		p->b += difference * (v - p->a);
		break;
	case BP_WINDOW_RATE:
		p->b = bp_window_clip(p->b + bp_window_increase(p->c, v));
		break;
	default:
		break;
	}
	p->c = v;
}

static void add(const struct bp_window_spec *w, struct bp_window_pane *p, uint64_t number, double v,
	uint64_t now_ns)
{
	if (p->number != number || p->n == 0) {
		*p = (struct bp_window_pane){.number = number, .n = 1, .first_ns = now_ns};
		add_first((enum bp_window_function)w->function, p, v);
	} else {
		p->n += p->n != UINT32_MAX;
		add_next((enum bp_window_function)w->function, p, v);
	}
	p->last_ns = now_ns;
}

/* ---- all panes ---- */

/* Adds a later pane to `sum`. */
static void merge(
	enum bp_window_function f, struct bp_window_pane *sum, const struct bp_window_pane *p)
{
	const double n = sum->n, k = p->n;
	double difference;

	switch (f) {
	case BP_WINDOW_MEAN:
	case BP_WINDOW_SUM:
		add_compensated(sum, p->a);
		sum->b += p->b;
		break;
	case BP_WINDOW_MIN:
		sum->a = p->a < sum->a ? p->a : sum->a;
		break;
	case BP_WINDOW_MAX:
		sum->a = p->a > sum->a ? p->a : sum->a;
		break;
	case BP_WINDOW_STDDEV: /* Chan, Golub, LeVeque: of two parts */
		difference = p->a - sum->a;
		sum->a += difference * k / (n + k);
		sum->b += p->b + difference * difference * n * k / (n + k);
		break;
	case BP_WINDOW_RATE:
		sum->b = bp_window_clip(sum->b + bp_window_increase(sum->c, p->a) + p->b);
		break;
	default:
		break;
	}
	sum->c = p->c;
	sum->last_ns = p->last_ns;
	sum->n = p->n > UINT32_MAX - sum->n ? UINT32_MAX : sum->n + p->n;
}

/* The values of the window that ends with pane `number`. */
static struct bp_window_pane all_of(
	const struct bp_window_spec *w, const void *data, uint64_t number)
{
	struct bp_window_pane sum = {.n = 0};

	for (uint64_t i = w->tumbling ? 1 : BP_WINDOW_PANES; i-- != 0;) {
		const struct bp_window_pane *p = pane_at(data, number - i);

		if (p->number != number - i || p->n == 0)
			continue;
		if (sum.n == 0)
			sum = *p;
		else
			merge((enum bp_window_function)w->function, &sum, p);
	}
	return sum;
}

uint32_t bp_window_panes_count(
	const struct bp_window_spec *w, const struct bp_window_state *s, const void *data)
{
	return all_of(w, data, s->pane).n;
}

/* False: none. */
static bool result_of(const struct bp_window_spec *w, const struct bp_window_pane *x, double *v)
{
	switch ((enum bp_window_function)w->function) {
	case BP_WINDOW_COUNT:
		*v = x->n;
		return true;
	case BP_WINDOW_SUM:
		*v = x->n == 0 ? 0 : bp_window_clip((x->a + x->b) * LARGE);
		return true;
	case BP_WINDOW_RATE:
		*v = 0;
		if (x->n == 0)
			return true;
		if (x->last_ns <= x->first_ns)
			return false;
		*v = bp_window_clip(x->b / ((double)(x->last_ns - x->first_ns) / 1e9));
		return true;
	case BP_WINDOW_MEAN:
		*v = x->n == 0 ? 0 : (x->a + x->b) / x->n * LARGE;
		break;
	case BP_WINDOW_STDDEV:
		*v = x->n == 0 || x->b < 0 ? 0 : sqrt(x->b / x->n);
		break;
	case BP_WINDOW_DELTA:
		*v = bp_window_clip(x->c - x->a);
		break;
	default:
		*v = x->a;
		break;
	}
	return x->n != 0;
}

/* Evaluates the window that ends with pane `number`. */
static bool evaluate(const struct bp_window_spec *w, struct bp_window_state *s, const void *data,
	uint64_t size, uint64_t number, double *result)
{
	struct bp_window_pane x;

	if (bp_window_in_classes(w)) {
		if (!bp_window_of_classes(w, data, size, number, result))
			return false;
	} else {
		x = all_of(w, data, number);
		if (!result_of(w, &x, result))
			return false;
	}
	s->result = *result;
	s->has_result = 1;
	return true;
}

void bp_window_panes_place(const struct bp_window_spec *w, const struct bp_window_state *s,
	uint64_t now_ns, struct bp_window_change *d)
{
	struct bp_window_state next = *s;

	bp_window_panes_advance(w, &next, now_ns);
	d->len = sizeof(struct bp_window_pane);
	d->offset = (uint32_t)(next.pane % BP_WINDOW_PANES) * d->len;
}

enum bp_window_result bp_window_panes_add(const struct bp_window_spec *w, struct bp_window_state *s,
	uint64_t *data, uint64_t size, const struct bp_window_change *d, double value,
	uint64_t now_ns, double *result)
{
	const bool in_classes = bp_window_in_classes(w);
	const struct bp_window_state before = *s;
	bool has = false;

	bp_window_panes_advance(w, s, now_ns);
	if (s->last_ns < now_ns)
		s->last_ns = now_ns; /* another worker may be slightly ahead */
	/* a tumbling window that no tick has closed */
	if (w->tumbling && before.n != 0 && s->pane != before.pane) {
		has = in_classes ? d->has : evaluate(w, s, data, size, before.pane, result);
		if (in_classes && has) {
			s->result = *result = d->result;
			s->has_result = 1;
		}
		s->n = 0;
	}
	if (in_classes)
		bp_window_classes_add(data, d);
	else
		add(w, pane_at(data, s->pane), s->pane, value, s->last_ns);
	s->n += s->n != UINT32_MAX;
	if (!w->tumbling && s->full)
		has = evaluate(w, s, data, size, s->pane, result);
	return has ? BP_WINDOW_VALUE : BP_WINDOW_NONE;
}

enum bp_window_result bp_window_panes_expire(const struct bp_window_spec *w,
	struct bp_window_state *s, const uint64_t *data, uint64_t size, uint64_t now_ns,
	double *result)
{
	const struct bp_window_state before = *s;
	bool has;

	bp_window_panes_advance(w, s, now_ns);
	if (s->pane == before.pane)
		return BP_WINDOW_NONE;
	if (w->tumbling) {
		has = evaluate(w, s, data, size, before.pane, result);
		s->n = 0;
		s->at = before.n != 0;
	} else {
		has = s->full && evaluate(w, s, data, size, s->pane, result);
	}
	/* without a value a result counts only if it is another one */
	if (!has || (!w->tumbling && before.has_result && before.result == *result))
		return BP_WINDOW_NONE;
	return BP_WINDOW_VALUE;
}

uint64_t bp_window_panes_due(
	const struct bp_window_spec *w, const struct bp_window_state *s, const uint64_t *data)
{
	const bool zero = s->has_result && s->result == 0;
	bool due;

	if (w->tumbling)
		due = s->n != 0 || (counts_nothing(w) && s->at != 0);
	else
		due = !zero || bp_window_panes_count(w, s, data) != 0;
	return due && bp_window_expires(w) ? s->pane_ns : 0;
}
