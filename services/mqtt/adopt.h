/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_ADOPT_H
#define BP_SERVICES_MQTT_ADOPT_H

#include "services/mqtt/mqtt_worker.h"

/*
 * Adopts the connections that an earlier process left in this worker's part of the segment, or
 * lays the flow table out afresh. `in` has its table, arena and journal at their addresses; the
 * arena is open when this returns. Returns why connections that were there could not be adopted, in
 * a few words, or NULL.
 */
const char *bp_adopt(struct bp_mqtt_worker *in, const struct bp_mqtt_options *o, unsigned worker);

/* Claims the block for the flow; false: `bytes` can't lie in it, or it is another's. */
bool bp_adopt_block(struct bp_mqtt_worker *in, struct bp_flow *f, bp_carry_ref ref, uint64_t bytes);
/* Gives it back, before the arena is open. */
void bp_adopt_undo(struct bp_mqtt_worker *in, struct bp_flow *f, bp_carry_ref ref);

#endif
