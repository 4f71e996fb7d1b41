/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_MQTT_FLOW_AGE_H
#define BP_DATAPLANE_MQTT_FLOW_AGE_H

#include "dataplane/mqtt/flow.h"

/*
 * Which flow goes first. A packet only stamps its flow's `seen`; the lists are put right when
 * somebody looks for the oldest, so that traffic writes no list. All in ticks of 2^20 ns.
 */
void bp_flow_age_init(struct bp_flow_table *t, uint64_t idle_ns, uint64_t opening_ns);
/* `f` is the copy of a flow that lay elsewhere: its neighbours in the list learn where it is. */
void bp_flow_moved(struct bp_flow_table *t, const struct bp_flow *f);
bool bp_flow_is_opening(const struct bp_flow *f);
void bp_flow_unfile(struct bp_flow_table *t, struct bp_flow *f);
/* The flow to give up at the bound; the table must not be empty. */
struct bp_flow *bp_flow_oldest(struct bp_flow_table *t);

#endif
