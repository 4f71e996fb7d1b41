/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_ALARM_COPIES_H
#define BP_CONTROLPLANE_MQTT_ALARM_COPIES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_alarm_copies;
struct bp_config;
struct bp_fleet_state;
struct bp_publisher;
struct bp_ring_events;
struct bp_shm;
struct event_base;

/*
 * Copies of alarms for the fleet. An alarm that is not acknowledged shortly after it was raised is
 * also stored in Redis, and removed there with its acknowledgement. If another gateway dies, this
 * one claims the copies of its alarms and publishes them; if this one was dead and returns, it does
 * not publish what others have claimed. Publishing never waits for Redis, except once at the start
 * or after a pause of the process, for at most fleet.state.timeout.
 */
/* Before the publisher reads the rings. The arguments remain valid; of `c` only during the call.
 * NULL without memory or with a sentence. */
struct bp_alarm_copies *bp_alarm_copies_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, struct bp_fleet_state *fleet, const struct bp_config *c,
	char *err, size_t err_size);
/* Reads the alarms that the publisher already has; it remains valid. */
void bp_alarm_copies_start(struct bp_alarm_copies *c, struct bp_publisher *publisher);
/* The process ends, after the publisher is drained: Redis gets what it lacks, in this time. Without
 * the state of an alarm, the gateway that continues would raise it again. */
void bp_alarm_copies_drain(
	struct bp_alarm_copies *c, uint64_t wait_ns, void (*done)(void *arg), void *arg);
/* Before the publisher ends. NULL: no effect. */
void bp_alarm_copies_free(struct bp_alarm_copies *c);
/* Whether the worker has, or gets before what is offered to it now, the states and holds that Redis
 * had at this time (monotonic). If not, they are read. */
bool bp_alarm_copies_states_known(struct bp_alarm_copies *c, uint64_t since_ns);
/* Reads the rings, within a bound for all calls in one iteration of the event loop. Whether all was
 * read, and Redis has the states of all alarms of this client: bp_shared_states_stored(). */
struct bp_connection_key;
bool bp_alarm_copies_states_stored(struct bp_alarm_copies *c, const struct bp_connection_key *k);
struct bp_shared_holds;
struct bp_shared_holds *bp_alarm_copies_holds(struct bp_alarm_copies *c);
/* Adds an object to the answer of the command status. */
void bp_alarm_copies_status(const struct bp_alarm_copies *c, json_t *answer);

#endif
