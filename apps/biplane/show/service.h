/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_SERVICE_H
#define BP_APPS_BIPLANE_SHOW_SERVICE_H

#include "apps/biplane/show/show.h"
#include "biplane/services.h"
#include "dataplane/replay/replay.h"

/* What `biplane show` and the report of `biplane replay` have of a service. */
struct bp_service_views {
	const struct bp_show_view *const *views; /* ends with NULL */
	struct bp_replay_part replay;            /* name NULL: none */
};

/* By enum bp_service_id. */
extern const struct bp_service_views *const bp_service_views[BP_SERVICE_COUNT];

/* The views, those of the gateway first: the next of *at, which begins at 0; NULL after the last.
 */
const struct bp_show_view *bp_show_next(unsigned *at);
/* NULL: there is no such view. */
const struct bp_show_view *bp_show_find(const char *name);

#endif
