/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_STATE_TEXT_H
#define BP_CONTROLPLANE_MQTT_STATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/fleet/alarm_store.h"

/* What shared_states.c and shared_holds.c have in common. */

struct bp_ring;
struct bp_state_offer;

/* The identity of a pair of rule and topic in the fleet: a hash. */
void bp_state_uid(uint64_t rule_uid, const char *topic, size_t len, char out[BP_ALARM_UID_TEXT]);
/* 16 hexadecimal digits, lower case. */
bool bp_state_hex(const char *text, uint64_t *out);
/* An offer to the worker of the ring. False: it is full. */
bool bp_state_offer_write(struct bp_ring *ring, const struct bp_state_offer *o, const char *topic);

#endif
