/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_AGENT_H
#define BP_APPS_BIPLANE_FLEET_AGENT_H

/*
 * The agent of a fleet: a process next to the planes that applies the signed bundles of the fleet
 * to this gateway. docs/explanation/fleet.md describes the steps. It has one thread, and every wait
 * is bounded; if it hangs or dies, the planes are not affected.
 */

/* Runs until SIGTERM. Returns an exit status. */
int bp_fleet_agent_run(const char *path);

#endif
