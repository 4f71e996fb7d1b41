/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_FAULT_H
#define BP_CONTROLPLANE_FLEET_FAULT_H

#include <stdint.h>

#include "shm/fault.h"

struct bp_fleet_state;

/* The fault fleet_state: changes wait for Redis, or there is no connection, for this time. */
#define BP_FLEET_FAULT_NS 10000000000ull

struct bp_fleet_fault {
	struct bp_fault_record is;
	uint64_t ended_total_ns; /* of earlier occurrences */
	uint64_t began_ns;       /* monotonic */
	uint64_t good_ns;        /* monotonic: when the connection was last up; 0: not yet called */
};

/* Once a second: writes the row of a fault, and an event when it begins or ends. `after_ns`: how
 * long it was bad already when it begins. */
void bp_fleet_fault_set(struct bp_fleet_fault *f, enum bp_fault_kind kind, bool bad,
	uint64_t after_ns, struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns,
	uint64_t unix_ns);
/* The same for the fault fleet_state. */
void bp_fleet_fault_update(struct bp_fleet_fault *f, const struct bp_fleet_state *s,
	struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns, uint64_t unix_ns);

#endif
