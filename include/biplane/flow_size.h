/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_FLOW_SIZE_H
#define BIPLANE_FLOW_SIZE_H

#include <stdint.h>

struct bp_config;

/* In front of a worker's reassembly memory: what it was changing when its process ended. */
#define BP_JOURNAL_BYTES 8192u

/*
 * Bytes of one worker's flow table in the segment, for this configuration. Both planes size the
 * segment alike with it; only the data plane knows what is inside.
 */
uint64_t bp_flow_table_size(const struct bp_config *c);

#endif
