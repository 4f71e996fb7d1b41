/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_EVENTS_PLANE_EVENTS_H
#define BP_SHM_EVENTS_PLANE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/events/event_ring.h"

/* Events of the main threads of both planes. Times: Unix, ns. */

/* `crashed`: the previous process of the plane did not stop orderly. */
void bp_plane_event_started(struct bp_event_ring *r, enum bp_event_plane_name plane, uint64_t pid,
	bool crashed, uint64_t unix_ns);
void bp_plane_event_stopped(
	struct bp_event_ring *r, enum bp_event_plane_name plane, uint64_t pid, uint64_t unix_ns);
/* error: the first one, or NULL. */
void bp_config_event(struct bp_event_ring *r, enum bp_event_config action, uint64_t generation,
	const char *error, uint64_t unix_ns);

/* `action`: of a rollout; error: "" for none. */
void bp_rollout_event(struct bp_event_ring *r, enum bp_event_config action, uint64_t serial,
	uint64_t version, const char *error, uint64_t unix_ns);

#endif
