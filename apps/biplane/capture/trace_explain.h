/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_CAPTURE_TRACE_EXPLAIN_H
#define BP_APPS_BIPLANE_CAPTURE_TRACE_EXPLAIN_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "shm/capture/trace.h"
#include "shm/layout.h"

/* What the segment says about a frame of which `n` bytes are known. New references; NULL: nothing.
 */

/* The lookup of its destination, as `biplane show routes ADDRESS`. */
json_t *bp_trace_route(const struct bp_shm *shm, const uint8_t *data, uint32_t n);
void bp_trace_route_print(const json_t *route, FILE *out);
/* The MQTT connection of its addresses and TCP ports, in its network, at this worker: numbers of
 * networks are the worker's own. */
json_t *bp_trace_connection(const struct bp_shm *shm, unsigned worker,
	const struct bp_trace_step *step, const uint8_t *data);
void bp_trace_connection_print(const json_t *connection, FILE *out);

#endif
