/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_MEMORY_H
#define BP_SERVICES_MQTT_FLOW_MEMORY_H

#include "services/mqtt/mqtt_worker.h"

/* The memory of a flow, and what an earlier process left there. */

/* flow_memory.c: arena blocks of one flow, within its bound; 0 when over it or full (counted). */
bp_reassembly_ref bp_flow_alloc(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes);
/* The same for a proven flow while a burst is read, whose journal must not end: 0 also where memory
 * is short. Nothing is counted. */
bp_reassembly_ref bp_flow_alloc_spare(struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes);
/* The same as bp_flow_alloc(), of a block that is released soon: `old`, or 0. */
bp_reassembly_ref bp_flow_alloc_instead(
	struct bp_mqtt_worker *in, struct bp_flow *f, uint64_t bytes, bp_reassembly_ref old);
/*
 * Grows *ref (0: none yet) to a block of at least `bytes`, preferably `room`, and keeps its first
 * `keep` bytes. Only the larger block counts against the flow's limit. False: counted, and *ref is
 * unchanged.
 */
bool bp_flow_grow(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref *ref,
	uint32_t keep, uint64_t bytes, uint64_t room);
void bp_flow_release(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref);
void bp_flow_release_all(void *worker, struct bp_flow *f);

/*
 * Adopts the connections that an earlier process left in this worker's part of the segment, or
 * lays the flow table out afresh. `in` has its table, arena and journal at their addresses; the
 * arena is open when this returns. Returns why connections that were there could not be adopted, in
 * a few words, or NULL.
 */
const char *bp_adopt(struct bp_mqtt_worker *in, const struct bp_mqtt_options *o, unsigned worker);

/* Claims the block for the flow; false: the block is shorter than `bytes`, or another flow owns
 * it. */
bool bp_adopt_block(
	struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref, uint64_t bytes);
/* Releases the block, before the arena is open. */
void bp_adopt_undo(struct bp_mqtt_worker *in, struct bp_flow *f, bp_reassembly_ref ref);

#endif
