/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_SEGMENT_OPEN_H
#define BP_CONTROLPLANE_PROCESS_SEGMENT_OPEN_H

#include <stddef.h>

#include "shm/layout.h"

struct bp_config;

/*
 * Opens or creates the segment that this configuration describes and maps its tables. Either plane
 * may be the first. A segment with another layout is replaced if no data plane uses it, and refused
 * otherwise. Damaged parts are quarantined, recreated and logged; while a data plane runs, only the
 * control plane's own part, in the file that the data plane has mapped. Returns 0, or -1 with a
 * sentence.
 */
int bp_controlplane_segment(
	const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size);

#endif
