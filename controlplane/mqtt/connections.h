/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_CONNECTIONS_H
#define BP_CONTROLPLANE_MQTT_CONNECTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_connection_key;
struct bp_connections;
struct bp_fleet_state;
struct bp_ring_events;
struct bp_shm;
struct event_base;

/*
 * Shares MQTT connections with the fleet: stores the records that services/mqtt/flow_export.h makes
 * of the flow tables, and answers the requests of workers (services/mqtt/fleet_adopt.c) with the
 * records of other gateways. The arguments remain valid. lifetime_ns: of a record of an unused
 * connection. NULL without memory or with a sentence.
 */
struct bp_connections *bp_connections_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, struct bp_fleet_state *fleet, uint64_t lifetime_ns, char *err,
	size_t err_size);
/* Requests are answered once known(arg) returns true, at the latest after a part of the time for
 * which a worker waits: what it reads then depends on the states that are known. */
void bp_connections_wait_for(struct bp_connections *c, bool (*known)(void *arg), void *arg);
/* For changes of holds that workers report; the bytes are untrusted. */
void bp_connections_on_hold(struct bp_connections *c,
	void (*hold)(void *arg, const void *bytes, uint32_t len), void *arg);
/* Whether no other gateway reads this packet again: bp_exporter_has_passed(). */
struct bp_stream_place;
bool bp_connections_passed(struct bp_connections *c, const struct bp_stream_place *p);
/* After bp_fleet_state_free(), which answers what is pending. NULL: no effect. */
void bp_connections_free(struct bp_connections *c);
/* At the end of the process: queues the last state of all connections. */
void bp_connections_finish(struct bp_connections *c);
void bp_connections_configure(struct bp_connections *c, uint64_t lifetime_ns);
/* Adds an object to the answer of the command status. */
void bp_connections_status(const struct bp_connections *c, json_t *answer);
/* Writes the counters for readers of the segment: once a second. */
void bp_connections_show(struct bp_connections *c);

/* The key in the fleet's state, such as "mqtt:10.0.0.5:40312-192.0.2.1:1883". */
#define BP_CONNECTION_KEY_TEXT 160u
void bp_connection_key_text(const struct bp_connection_key *k, char out[BP_CONNECTION_KEY_TEXT]);

#endif
