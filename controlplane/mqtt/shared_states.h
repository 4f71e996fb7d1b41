/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_SHARED_STATES_H
#define BP_CONTROLPLANE_MQTT_SHARED_STATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "controlplane/fleet/alarm_store.h"

struct bp_alarm;
struct bp_alarm_store;
struct bp_shared_states;
struct bp_shm;

/*
 * The pairs of rule and topic that are raised, the same at all gateways of a fleet: what this
 * gateway raises and clears goes to Redis, and what others raise and clear is offered to a worker
 * (services/mqtt/fleet_states.c). The identity of a pair is a hash of the rule's definition and the
 * topic. The number of a transition decides which of two states is newer.
 */
/* gateway: the name of this one. NULL: no memory. */
struct bp_config_fleet_state;
struct bp_shared_states *bp_shared_states_new(
	struct bp_shm *shm, const struct bp_config_fleet_state *c, const char *gateway);
void bp_shared_states_free(struct bp_shared_states *s);

/* The holds of this gateway and of the others. */
struct bp_shared_holds *bp_shared_states_holds(struct bp_shared_states *s);
/* An alarm of this gateway, in the order of its ring; a private copy, which was checked. */
void bp_shared_states_alarm(struct bp_shared_states *s, const struct bp_alarm *a);
/* For the owner of the store. */
void bp_shared_states_up(struct bp_shared_states *s, struct bp_alarm_store *store);
void bp_shared_states_down(struct bp_shared_states *s);
void bp_shared_states_state(struct bp_shared_states *s, const void *bytes, size_t len);
void bp_shared_states_put(
	struct bp_shared_states *s, const char *uid, enum bp_alarm_state_put result);
/* Sends changes to Redis. */
void bp_shared_states_send(struct bp_shared_states *s, struct bp_alarm_store *store);
/* Whether Redis has the states of all alarms of this client that were read, or has refused them,
 * and the holds of the client are known. Also true if the states lack for BP_UNSTORED_NS (counted):
 * then the holds of the connection end. */
#define BP_UNSTORED_NS 5000000000ull
struct bp_connection_key;
bool bp_shared_states_stored(struct bp_shared_states *s, const struct bp_connection_key *k);
/* Offers states to the worker. False: another answer to a worker may be read before some of them.
 */
bool bp_shared_states_known(struct bp_shared_states *s);
/* Whether changes are not in Redis yet, except those that it has refused. */
bool bp_shared_states_behind(const struct bp_shared_states *s);
/* As often as changes of others are to be read: reads them, and offers states to the worker. */
void bp_shared_states_tick(struct bp_shared_states *s, struct bp_alarm_store *store);

/* Adds an object to the answer of the command status. */
void bp_shared_states_status(const struct bp_shared_states *s, json_t *answer);
/* Writes the counters to the segment. */
void bp_shared_states_show(struct bp_shared_states *s);

#endif
