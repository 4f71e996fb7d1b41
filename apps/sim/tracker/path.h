/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACKER_SIM_PATH_H
#define TRACKER_SIM_PATH_H

#include <stdint.h>

#include "apps/sim/tracker/packet.h"

/* Position of the tracked tool. */
enum tracker_path {
	TRACKER_CIRCLE, /* radius 2 m, level, about a point 6 m before the tracker */
	TRACKER_HELIX,  /* the same, rising from -1 m to 1 m */
	TRACKER_RANDOM, /* anywhere up to 20 m, as the paper's 15,000 readings */
};

/* Sets the spherical numbers of reading `number`, of `count`; *random is the state of the
 * generator. */
void tracker_path_at(enum tracker_path path, uint64_t number, uint64_t count, uint64_t *random,
	struct tracker_sample *r);

#endif
