/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_TRACE_VIEW_H
#define BP_APPS_BIPLANE_CAPTURE_TRACE_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "apps/biplane/capture/session.h"

/*
 * The path of a traced frame as JSON, and as text. A step adds the information of the segment that
 * explains it: the route that a routing node looked up, and the connection that inspection found,
 * at the time when the step is read.
 */

/* Of a record that bp_capture_session_next() has just returned: the number of the frame in its
 * worker, and whether the step is its first. False: it is damaged. */
bool bp_trace_step_frame(const struct bp_capture_record *r, uint32_t *frame, bool *first);
/* The step; a new reference, or NULL: it is damaged, or there is no memory. */
json_t *bp_trace_step_json(const struct bp_capture_session *s, const struct bp_capture_record *r);

/* The frame with its steps, and what became of it (takes the reference to `steps`). */
json_t *bp_trace_json(unsigned number, json_t *steps);
void bp_trace_print(const json_t *trace, FILE *out);

#endif
