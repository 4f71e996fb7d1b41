/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_SHOW_ARGS_H
#define BP_APPS_BIPLANE_MONITOR_SHOW_ARGS_H

#include "apps/biplane/monitor/request.h"
#include "apps/biplane/show/show.h"

/*
 * The arguments of /api/v1/show/VIEW: limit=N, and the filters that `biplane show VIEW` takes:
 * family=4|6, prefix=PREFIX|ADDRESS, system_id=ID, state=, type=, address=, entry=N. Sets them in
 * *s; otherwise the answer is an error.
 */
bool bp_show_args(const struct bp_http_request *q, const struct bp_show_view *view,
	struct bp_show_source *s, struct bp_http_answer *a);

/* Entries of a view: without limit=, unless the view has a default of its own; and at most. */
#define BP_SHOW_ARGS_LIMIT 1000u
#define BP_SHOW_ARGS_LIMIT_MAX 10000u

#endif
