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
/* The states of alarms, which are shared together with the connections whose packets change them.
 */
struct bp_hold_changes;
struct bp_hold_offers;
struct bp_connection_states {
	/* Whether the worker has all changes that Redis had at this time (monotonic). A record that
	 * was read then is given to the worker once it has, at the latest after a part of the time
	 * for which the worker waits: what it reads then depends on these states. */
	bool (*known)(void *arg, uint64_t since_ns);
	/* Reads the alarms of the workers. Whether Redis has the states of all that this client has
	 * raised and cleared, and its holds are known: if not, its connections have no new record.
	 * True also after BP_UNSTORED_NS: then the holds of the connection end. */
	bool (*stored)(void *arg, const struct bp_connection_key *k);
	/* As in shared_holds.h; of a connection: bp_connection_hash(). */
	void (*hold)(void *arg, const void *bytes, uint32_t len, uint64_t connection);
	void (*holds_lost)(void *arg, const uint64_t *clients);
	bool (*changes)(void *arg, uint64_t connection, struct bp_hold_changes *out);
	void (*changes_written)(void *arg, uint64_t connection, uint64_t write, bool stored);
	void (*repeat)(void *arg);
	void (*holds_of)(void *arg, uint64_t connection, bool exact, struct bp_hold_offers *out);
	void *arg;
};
/* Without these: connections alone. */
void bp_connections_share(struct bp_connections *c, const struct bp_connection_states *states);
/* Whether there is a record of the connection of a packet, with which holds are written. */
struct bp_stream_place;
bool bp_connections_recorded(struct bp_connections *c, const struct bp_stream_place *p);
/* The same at all gateways; never 0. */
uint64_t bp_connection_hash(const struct bp_connection_key *k);
/* After bp_fleet_state_free(), which answers what is pending. NULL: no effect. */
void bp_connections_free(struct bp_connections *c);
/* At the end of the process: queues the last state of all connections. */
void bp_connections_finish(struct bp_connections *c);
void bp_connections_configure(struct bp_connections *c, uint64_t lifetime_ns);
/* Adds an object to the answer of the command status. */
void bp_connections_status(const struct bp_connections *c, json_t *answer);
/* Writes the counters for readers of the segment: once a second. */
void bp_connections_show(struct bp_connections *c);

/* The key in the fleet's state, such as "mqtt:10.0.0.5:40312-192.0.2.1:1883", with "@line-1" behind
 * it in a network of that name. */
#define BP_CONNECTION_KEY_TEXT 176u
void bp_connection_key_text(const struct bp_connection_key *k, char out[BP_CONNECTION_KEY_TEXT]);

#endif
