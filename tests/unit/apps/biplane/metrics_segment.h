/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_BIPLANE_METRICS_SEGMENT_H
#define BP_TESTS_UNIT_APPS_BIPLANE_METRICS_SEGMENT_H

#include "shm/layout.h"

/* A segment in private memory with all services, in which each family of metrics has samples. */

#define WORKERS 2u

/* Every counter of `row` gets a value of its own. */
uint64_t metrics_counter_value(bp_counter_t c);

/* Aborts on an error. */
void metrics_segment_open(struct bp_shm *shm);
/* With ports, nodes, faults, counters, entries of services and two rules: "hot" and "cold". */
void metrics_segment_fill(struct bp_shm *shm);

#endif
