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

/* The function of n values; those of DELTA and RATE in the order of a ring whose oldest value is at
 * `first`. False: it has no result. */
bool bp_window_of_values(const struct bp_window_spec *w, const void *data, uint32_t n,
	uint32_t first, double *result);
/* Beyond the range of a double: the largest one of that sign. */
double bp_window_clip(double v);

#endif
