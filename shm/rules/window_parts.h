/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_RULES_WINDOW_PARTS_H
#define BP_SHM_RULES_WINDOW_PARTS_H

#include "shm/rules/window.h"

/* For the files of windows alone. */

/* The bytes of a window's data that the next value replaces. */
struct bp_window_change {
	uint32_t offset, len;
};

/* window_values.c: windows over values. */
void bp_window_values_place(const struct bp_window_spec *w, const struct bp_window_state *s,
	struct bp_window_change *d);
enum bp_window_result bp_window_values_add(const struct bp_window_spec *w,
	struct bp_window_state *s, uint64_t *data, double value, uint64_t now_ns, double *result);

/* window_panes.c: windows over time. */
void bp_window_panes_place(const struct bp_window_spec *w, const struct bp_window_state *s,
	uint64_t now_ns, struct bp_window_change *d);
enum bp_window_result bp_window_panes_add(const struct bp_window_spec *w, struct bp_window_state *s,
	uint64_t *data, double value, uint64_t now_ns, double *result);
/* Its time passes without a value. */
enum bp_window_result bp_window_panes_expire(const struct bp_window_spec *w,
	struct bp_window_state *s, const uint64_t *data, uint64_t now_ns, double *result);
/* When it does next, with another result; 0: never. */
uint64_t bp_window_panes_due(
	const struct bp_window_spec *w, const struct bp_window_state *s, const uint64_t *data);
/* Values in the window. */
uint32_t bp_window_panes_count(
	const struct bp_window_spec *w, const struct bp_window_state *s, const void *data);
/* Of a counter: by how much it increased from `before`; a lower value counts from 0. */
double bp_window_increase(double before, double v);

/* Beyond the range of a double: the largest one of that sign. */
double bp_window_clip(double v);

#endif
