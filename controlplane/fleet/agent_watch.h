/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_AGENT_WATCH_H
#define BP_CONTROLPLANE_FLEET_AGENT_WATCH_H

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

#include "controlplane/fleet/fault.h"
#include "shm/events/event_ring.h"
#include "shm/fleet_agent.h"

/*
 * Watches the agent of the fleet, which reports itself once a second through the control socket:
 *
 *   {"command":"fleet-report","member":"gw1","started_ns":N,"state":"applied","serial":N,
 *    "version":N,"since_ns":N,"connected":true,"leased":true,"error":""} -> {"ok":true}
 *
 * A report goes into the segment, a new result of a rollout is counted and becomes an event, and
 * no report for BP_FLEET_AGENT_FAULT_NS is the fault fleet_agent.
 */
#define BP_FLEET_AGENT_FAULT_NS 30000000000ull /* longer than requests to etcd and a reload */

struct bp_fleet_watch {
	struct bp_fleet_fault fault;
	uint64_t heard_ns; /* monotonic; 0: no report yet */
};

/* The answer to a report of process `pid`: a new reference. */
json_t *bp_fleet_watch_report(struct bp_fleet_watch *w, const json_t *request, pid_t pid,
	struct bp_fleet_agent *agent, struct bp_event_ring *events, uint64_t now_ns,
	uint64_t unix_ns);

/* Once a second. `expected`: the configuration has fleet.config. */
void bp_fleet_watch_tick(struct bp_fleet_watch *w, bool expected, struct bp_fleet_agent *agent,
	struct bp_fault_row *rows, struct bp_event_ring *events, uint64_t now_ns, uint64_t unix_ns);

#endif
