/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_LCL_LCL_VIEW_H
#define BP_APPS_BIPLANE_SHOW_LCL_LCL_VIEW_H

#include <jansson.h>
#include <stdint.h>

#include "apps/biplane/show/show.h"

/* The content of `show lcl` as JSON. New references; NULL: out of memory. */

/* {"generation", "ports": [...], "flows": [...], "total"}: at most s->limit flows. */
json_t *bp_lcl_view(const struct bp_show_source *s);

/* For lcl_view.c and lcl_flows.c. The flows that are there, and in *total how many. */
json_t *bp_lcl_flows(
	const struct bp_show_source *s, const struct bp_lcl_rules *rules, uint64_t *total);
/* The name of the port that is entry i of lcl.ports, or null. */
json_t *bp_lcl_port_name(const struct bp_shm *m, uint32_t i);

/* Times by bp_lcl_bucket(): at most so long took all but 1/`of` of them; null where there are none.
 */
json_t *bp_lcl_quantile(const _Atomic uint64_t counts[BP_LCL_BUCKETS], uint64_t of);

static inline uint64_t bp_lcl_word(const _Atomic uint64_t *w)
{
	return atomic_load_explicit((_Atomic uint64_t *)w, memory_order_relaxed);
}

#endif
