/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_CAPTURES_H
#define BP_CONTROLPLANE_PROCESS_CAPTURES_H

#include "controlplane/service.h"

/*
 * Live captures and traces: the commands capture-start, capture-keep and capture-stop of the
 * control socket. A request is validated and written to a slot of table captures; the data plane
 * does the rest. A connection has at most one, which ends with the connection: so nothing remains
 * of a command that was killed. A client keeps its connection by sending a line in
 * BP_CONTROL_IDLE_S.
 */
struct bp_cp_captures;

/* Ends the captures of a predecessor, and adds the commands. NULL: no memory, or too many commands.
 * Freed after the control socket. */
struct bp_cp_captures *bp_cp_captures_new(const struct bp_plane_context *x);
void bp_cp_captures_free(struct bp_cp_captures *c); /* NULL is allowed */

#endif
