/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_PHD_PLACE_H
#define BP_BENCH_HEALTH_PHD_PLACE_H

#include "biplane/health.h"
#include "shm/fib/fib_writer.h"
#include "shm/layout.h"

/*
 * Setup of the tables for the reports of bench/health/phd_frames.h, as the control plane writes
 * them: the devices behind a router on port 0, the CSE behind one of the gateways of
 * bench/routes/routes.h on port 1, and an operating session with all containers for each device.
 */
#define BENCH_CSE "10.3.0.20"
#define BENCH_PHD_SOURCE "10.2.0.1" /* source port of requests from our address on port 1 */

/* Adds routes, addresses and neighbors to those of bench_routes_set_up(). */
void bench_phd_routes(struct bp_fib_writer *w);
/* Writes plan, layout and sessions of devices 0..n-1. `apdu`: bytes per report. Both terminate the
 * process on failure. */
void bench_phd_sessions(
	struct bp_shm *shm, const struct bp_config_phd *c, uint32_t n, uint32_t apdu);

#endif
