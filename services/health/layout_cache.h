/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_LAYOUT_CACHE_H
#define BP_SERVICES_HEALTH_LAYOUT_CACHE_H

#include "services/health/layout.h"

/*
 * The layouts that were compiled last: devices of one kind have one, and to compile it takes longer
 * than all else of an association. It is found by all that the compiler is told: by the whole model
 * and not by its hash, since a device may have made a configuration whose hash is another's.
 */
struct bp_phd_layout_cache;

/* NULL without memory. */
struct bp_phd_layout_cache *bp_phd_layout_cache_new(void);
void bp_phd_layout_cache_free(struct bp_phd_layout_cache *c);

/*
 * As bp_phd_layout_compile() makes it; NULL: it can't be made. Stays until the next call.
 */
const struct bp_phd_layout *bp_phd_layout_cached(struct bp_phd_layout_cache *c,
	const struct bp_phd_model *m, const struct bp_phd_plan *plan,
	const struct bp_phd_target *target, const char *type);

#endif
