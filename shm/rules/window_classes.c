/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "shm/rules/window_cell.h"
#include "shm/rules/window_parts.h"

/*
 * Percentiles over time. A value is rounded to 7 significant bits: its class. The window has, for
 * each class, the number of its values in each pane, one column a pane. A class without values is
 * free. Where no class is free, all are rounded to one bit less: `level`, which each new pane
 * reduces by one again.
 *
 * A value changes one number, which the undo of its change has. What else changes is not in the
 * window at that time: classes without values, and columns of panes that have left. Rounding all
 * classes has no undo: a process that is killed meanwhile leaves a window to be emptied.
 */

#define BITS 6u /* after the first one */
#define SHIFT (52u - BITS)
#define MOST ((2047 << BITS) - 1) /* of a finite double */
#define BIAS (1 << 17)
#define LEVEL_MAX 16u

struct classes {
	uint64_t number[BP_WINDOW_PANES]; /* pane of each column; another one: it is empty */
	uint32_t level;
	uint32_t pad[15];
};

struct view {
	struct classes *head;
	int32_t *class; /* rounded bits of a double, with its sign */
	uint32_t (*count)[BP_WINDOW_PANES];
	uint32_t n;
};

#define CLASS_SIZE (uint64_t)(sizeof(int32_t) + BP_WINDOW_PANES * sizeof(uint32_t))
#define LINE_OF_CLASSES 16u

static uint32_t classes_of(uint64_t size)
{
	const uint64_t n =
		size < sizeof(struct classes) ? 0 : (size - sizeof(struct classes)) / CLASS_SIZE;

	return (uint32_t)(n < BP_WINDOW_CLASSES_MAX ? n : BP_WINDOW_CLASSES_MAX) / LINE_OF_CLASSES *
	       LINE_OF_CLASSES;
}

uint32_t bp_window_classes(uint64_t stride)
{
	const uint32_t n = classes_of(bp_window_data_size(stride));

	return n < BP_WINDOW_CLASSES_MIN ? 0 : n;
}

bool bp_window_in_classes(const struct bp_window_spec *w)
{
	return w->values == 0 && w->function == BP_WINDOW_PERCENTILE;
}

static struct view view_of(void *data, uint64_t size)
{
	const uint32_t n = classes_of(size);
	uint8_t *class = (uint8_t *)data + sizeof(struct classes);

	return (struct view){.head = data,
		.class = (int32_t *)(void *)class,
		.count = (uint32_t(*)[BP_WINDOW_PANES])(void *)(class + n * sizeof(int32_t)),
		.n = n};
}

/* ---- classes ---- */

static uint32_t rounded(uint32_t m, uint32_t level)
{
	const uint32_t half = level == 0 ? 0 : 1u << (level - 1);

	m = (m + half) >> level << level;
	return m < MOST ? m : MOST;
}

static int32_t class_of(double v, uint32_t level)
{
	const double magnitude = fabs(v);
	uint64_t bits;
	int32_t m;

	memcpy(&bits, &magnitude, sizeof(bits));
	m = (int32_t)rounded((uint32_t)((bits + (1ull << (SHIFT - 1))) >> SHIFT), level);
	return v < 0 ? -m : m;
}

/* Of damaged memory, too. */
static int32_t bounded(int32_t class)
{
	return class > MOST ? MOST : class < -MOST ? -MOST : class;
}

static double value_of(int32_t class)
{
	const uint64_t bits = (uint64_t)(class < 0 ? -class : class) << SHIFT;
	double v;

	memcpy(&v, &bits, sizeof(v));
	return class < 0 ? -v : v;
}

/* ---- columns ---- */

/* All bits, or none, for each column: whether it is in the window that ends with pane `newest`. */
static void columns_of(const struct view *v, const struct bp_window_spec *w, uint64_t newest,
	uint32_t in[BP_WINDOW_PANES])
{
	const uint64_t panes = w->tumbling ? 1 : BP_WINDOW_PANES;

	for (unsigned i = 0; i < BP_WINDOW_PANES; i++) {
		const uint64_t number = v->head->number[i];

		in[i] = number % BP_WINDOW_PANES == i && newest - number < panes ? UINT32_MAX : 0;
	}
}

static uint64_t values_of(const uint32_t count[BP_WINDOW_PANES], const uint32_t in[BP_WINDOW_PANES])
{
	uint64_t n = 0;

	for (unsigned i = 0; i < BP_WINDOW_PANES; i++)
		n += count[i] & in[i];
	return n;
}

/* The column of the pane; that of a pane which has left is emptied for it. */
static unsigned open_column(const struct view *v, uint64_t pane)
{
	const unsigned column = pane % BP_WINDOW_PANES;
	struct classes *head = v->head;

	if (head->number[column] == pane)
		return column;
	for (uint32_t i = 0; i < v->n; i++)
		v->count[i][column] = 0;
	head->level -= head->level != 0;
	bp_window_order();
	head->number[column] = pane;
	return column;
}

/* ---- the result ---- */

/* The class with `rank` values in it and in lower ones. */
static int32_t ranked(const struct view *v, const uint64_t *total, uint64_t rank)
{
	uint32_t prefix = 0, mask = 0;

	for (unsigned shift = 12; shift < 18; shift -= 6) {
		uint64_t count[64] = {0};
		uint32_t digit = 0;

		for (uint32_t i = 0; i < v->n; i++) {
			const uint32_t key = (uint32_t)(bounded(v->class[i]) + BIAS);

			if ((key & mask) == prefix)
				count[key >> shift & 63] += total[i];
		}
		while (digit < 63 && rank > count[digit])
			rank -= count[digit++];
		prefix |= digit << shift;
		mask |= 63u << shift;
	}
	return bounded((int32_t)prefix - BIAS);
}

bool bp_window_of_classes(const struct bp_window_spec *w, const void *data, uint64_t size,
	uint64_t newest, double *result)
{
	const struct view v = view_of((void *)(uintptr_t)data, size);
	uint64_t total[BP_WINDOW_CLASSES_MAX], n = 0;
	uint32_t in[BP_WINDOW_PANES];
	double rank;

	columns_of(&v, w, newest, in);
	for (uint32_t i = 0; i < v.n; i++) {
		total[i] = values_of(v.count[i], in);
		n += total[i];
	}
	if (n == 0)
		return false;
	rank = ceil(w->percentile * (double)n / 100);
	*result = value_of(ranked(&v, total, rank < 1 ? 1 : (uint64_t)rank));
	return true;
}

uint32_t bp_window_classes_count(
	const struct bp_window_spec *w, uint64_t newest, const void *data, uint64_t size)
{
	const struct view v = view_of((void *)(uintptr_t)data, size);
	uint32_t in[BP_WINDOW_PANES];
	uint64_t n = 0;

	columns_of(&v, w, newest, in);
	for (uint32_t i = 0; i < v.n; i++)
		n += values_of(v.count[i], in);
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* ---- a value ---- */

/* The class, or a free one that becomes it. -1: there is none. */
static int find(const struct view *v, int32_t class, const uint32_t in[BP_WINDOW_PANES])
{
	for (uint32_t i = 0; i < v->n; i++)
		if (v->class[i] == class)
			return (int)i;
	for (uint32_t i = 0; i < v->n; i++)
		if (values_of(v->count[i], in) == 0) {
			v->class[i] = class;
			return (int)i;
		}
	return -1;
}

static void merge(const struct view *v, uint32_t into, uint32_t from)
{
	for (unsigned i = 0; i < BP_WINDOW_PANES; i++) {
		uint32_t *to = &v->count[into][i];

		*to = v->count[from][i] > UINT32_MAX - *to ? UINT32_MAX : *to + v->count[from][i];
		v->count[from][i] = 0;
	}
}

/* Rounds all classes to one bit less. An earlier undo of the cell does not fit afterwards. */
static void coarsen(const struct view *v, struct bp_window *c, uint16_t worker)
{
	__atomic_store_n(&c->changing, BP_WINDOW_COARSENING | (worker + 1u), __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
	v->head->level++;
	for (uint32_t i = 0; i < v->n; i++) {
		const int32_t class = bounded(v->class[i]);
		const int32_t m =
			(int32_t)rounded((uint32_t)(class < 0 ? -class : class), v->head->level);
		uint32_t k = 0;

		v->class[i] = class < 0 ? -m : m;
		while (v->class[k] != v->class[i])
			k++;
		if (k != i)
			merge(v, k, i);
	}
	__atomic_store_n(&c->state.changes, c->state.changes + 2, __ATOMIC_RELAXED);
	bp_window_end_change(c);
}

bool bp_window_classes_place(const struct bp_window_spec *w, struct bp_window *c, uint64_t size,
	struct bp_window_state *next, double value, uint64_t now_ns, uint16_t worker,
	struct bp_window_change *d)
{
	const struct view v = view_of(c->data, size);
	struct bp_window_state s = *next;
	uint32_t in[BP_WINDOW_PANES];
	unsigned column;
	bool coarsened = false;
	int i;

	bp_window_panes_advance(w, &s, now_ns);
	/* the result of a tumbling window whose column this one may have */
	d->has = w->tumbling && next->n != 0 && s.pane != next->pane &&
		 bp_window_of_classes(w, c->data, size, next->pane, &d->result);
	if (next->begin_ns == 0 || v.head->level > LEVEL_MAX)
		v.head->level = 0;
	column = open_column(&v, s.pane);
	columns_of(&v, w, s.pane, in);
	/* an undo goes back to the period before, with its classes */
	if (w->tumbling && next->n != 0 &&
		v.head->number[next->pane % BP_WINDOW_PANES] == next->pane)
		in[next->pane % BP_WINDOW_PANES] = UINT32_MAX;
	while ((i = find(&v, class_of(value, v.head->level), in)) < 0 &&
		v.head->level < LEVEL_MAX) {
		coarsen(&v, c, worker);
		next->changes = c->state.changes;
		coarsened = true;
	}
	if (i < 0) /* damaged: at this level there are fewer classes */
		i = 0;
	d->offset = (uint32_t)((const uint8_t *)&v.count[i][column] - (const uint8_t *)c->data);
	d->len = sizeof(uint32_t);
	return coarsened;
}

void bp_window_classes_add(uint64_t *data, const struct bp_window_change *d)
{
	uint32_t *n = (uint32_t *)(void *)((uint8_t *)data + d->offset);

	*n += *n != UINT32_MAX;
}
