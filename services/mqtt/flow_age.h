/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLOW_AGE_H
#define BP_SERVICES_MQTT_FLOW_AGE_H

#include "services/mqtt/flow.h"

/*
 * Which flow goes first. A packet only stamps its flow's `seen`; the lists are put right when
 * somebody looks for the oldest, so that traffic writes no list. All in ticks of 2^20 ns.
 */
void bp_flow_age_init(struct bp_flow_table *t, uint64_t idle_ns, uint64_t opening_ns);
/* `f` is the copy of a flow that lay elsewhere: its neighbours in the list learn where it is. */
void bp_flow_moved(struct bp_flow_table *t, const struct bp_flow *f);
bool bp_flow_is_answered(const struct bp_flow *f);
void bp_flow_unfile(struct bp_flow_table *t, struct bp_flow *f);
/* Gives a flow up, counted by what it was. */
void bp_flow_evict(struct bp_flow_table *t, struct bp_flow *f);
/* Before a flow is filed under `list` that was in another: gives one up where a bound is reached.
 */
void bp_flow_evict_at_bound(struct bp_flow_table *t, unsigned list);

/* The lists: `at` is what a flow has in `list`. */
#define BP_FILE_CLOSED 0
#define BP_FILE_WHEEL 1                             /* + position */
#define BP_FILE_UNPROVEN (BP_FILE_WHEEL + BP_WHEEL) /* + client * classes + class */
#define BP_FILE_NONE UINT16_MAX
void bp_flow_file_at(struct bp_flow_table *t, struct bp_flow *f, uint16_t at);

/* flow_unproven.c */
void bp_flow_unproven_init(struct bp_flow_table *t);
/* Where an unproven flow belongs by what is known of it. */
uint16_t bp_flow_unproven_at(const struct bp_flow_table *t, const struct bp_flow *f);
/* The oldest of the client with the most; NULL: there is no unproven flow. */
struct bp_flow *bp_flow_unproven_victim(struct bp_flow_table *t);
/* A share of the clients. What is left of the budget in *budget; returns how many expired. */
unsigned bp_flow_unproven_expire(struct bp_flow_table *t, unsigned *budget);

#endif
