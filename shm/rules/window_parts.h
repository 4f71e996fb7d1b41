/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_PARTS_H
#define BP_SHM_RULES_WINDOW_PARTS_H

#include "shm/rules/window.h"

/* For the files of windows alone. */

/* The bytes of a window's data that the next value replaces. */
struct bp_window_change {
	uint32_t offset, len;
	/* of a percentile over time: the result of the tumbling window that ended before the value
	 */
	bool has;
	double result;
};

/* window_values.c: windows over values. */
void bp_window_values_place(const struct bp_window_spec *w, const struct bp_window_state *s,
	struct bp_window_change *d);
enum bp_window_result bp_window_values_add(const struct bp_window_spec *w,
	struct bp_window_state *s, uint64_t *data, double value, uint64_t now_ns, double *result);

/* window_panes.c: windows over time. */
void bp_window_panes_place(const struct bp_window_spec *w, const struct bp_window_state *s,
	uint64_t now_ns, struct bp_window_change *d);
/* `size`: bytes of the data. */
enum bp_window_result bp_window_panes_add(const struct bp_window_spec *w, struct bp_window_state *s,
	uint64_t *data, uint64_t size, const struct bp_window_change *d, double value,
	uint64_t now_ns, double *result);
/* Its time passes without a value. */
enum bp_window_result bp_window_panes_expire(const struct bp_window_spec *w,
	struct bp_window_state *s, const uint64_t *data, uint64_t size, uint64_t now_ns,
	double *result);
/* Moves to the pane of now_ns. */
void bp_window_panes_advance(
	const struct bp_window_spec *w, struct bp_window_state *s, uint64_t now_ns);
/* When it does next, with another result; 0: never. */
uint64_t bp_window_panes_due(
	const struct bp_window_spec *w, const struct bp_window_state *s, const uint64_t *data);
/* Values in the window. */
uint32_t bp_window_panes_count(
	const struct bp_window_spec *w, const struct bp_window_state *s, const void *data);
/* Of a counter: by how much it increased from `before`; a lower value counts from 0. */
double bp_window_increase(double before, double v);

/* window_classes.c: percentiles over time. */
uint64_t bp_window_data_size(uint64_t stride);
/* Before a value is added: prepares its class and its pane. `next`: the state before the value.
 * True: the classes had to be made coarser, and next->changes is another one. */
bool bp_window_classes_place(const struct bp_window_spec *w, struct bp_window *c, uint64_t size,
	struct bp_window_state *next, double value, uint64_t now_ns, uint16_t worker,
	struct bp_window_change *d);
void bp_window_classes_add(uint64_t *data, const struct bp_window_change *d);
/* The percentile of the window that ends with pane `newest`. False: it has no values. */
bool bp_window_of_classes(const struct bp_window_spec *w, const void *data, uint64_t size,
	uint64_t newest, double *result);
uint32_t bp_window_classes_count(
	const struct bp_window_spec *w, uint64_t newest, const void *data, uint64_t size);

/* Beyond the range of a double: the largest one of that sign. */
double bp_window_clip(double v);

#endif
