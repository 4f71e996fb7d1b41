/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_PEER_H
#define BP_CONTROLPLANE_PROCESS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"

/*
 * Whether a data plane runs on this segment: dp_pid is the pid of a process that lives, is no
 * zombie, and did not start after the last heartbeat (then the pid was given to somebody else).
 * Whenever in doubt, it runs.
 */
bool bp_dataplane_alive(const struct bp_shm_global *g);
/* Whether a process that is no zombie has that number; 0: false. Whenever in doubt, it runs. */
bool bp_process_alive(uint64_t pid);

#endif
