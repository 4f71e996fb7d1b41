/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_PROCESS_STARTUP_H
#define BP_DATAPLANE_PROCESS_STARTUP_H

#include <stdio.h>

#include "dataplane/process/eal.h"
#include "dataplane/workers/pools.h"
#include "dataplane/ports/ports.h"
#include "dataplane/ports/queue_plan.h"
#include "shm/layout.h"

struct bp_config;

/* The decisions of the start, before the first frame. */
struct bp_startup {
	const struct bp_config *config;
	const struct bp_eal *eal;
	const struct bp_port *ports;
	const struct bp_queue_plan *plan;
	const struct bp_pools *pools;
	const struct bp_shm *shm;
};

/* Prints it as tables. */
void bp_startup_print(const struct bp_startup *s, FILE *out);
/* Logs warnings, one sentence each. */
void bp_startup_warn(const struct bp_startup *s);

#endif
