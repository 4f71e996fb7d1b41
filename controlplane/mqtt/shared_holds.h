/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_SHARED_HOLDS_H
#define BP_CONTROLPLANE_MQTT_SHARED_HOLDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/fleet/alarm_store.h"
#include "controlplane/fleet/state.h"
#include "shm/fleet.h"
#include "shm/layout.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * Holds in progress, the same at all gateways of a fleet: workers report those that they change,
 * and the newest change of a pair of rule and topic goes to Redis with the record of its
 * connection, in one step. So a gateway that reads the position has the holds of all packets before
 * it, and of no other. Changes of connections without a record go there after BP_HOLDS_COLLAPSE_NS.
 * A change of another gateway replaces an older one of this gateway. Those of this gateway are not
 * offered to its worker, also after a restart of the control plane.
 */
struct bp_shared_holds;
struct bp_stream_place;
/* Changes on their way to Redis. */
struct bp_hold_changes {
	struct iovec entry[BP_FLEET_ENTRIES_MAX];
	unsigned n;
	uint64_t write; /* for bp_shared_holds_written() */
	char text[BP_FLEET_ENTRIES_BYTES];
};
/* The holds of a connection as offers, for its worker. */
struct bp_hold_offers {
	uint32_t len;
	uint8_t bytes[BP_ADOPT_HOLDS_MAX]; /* struct bp_state_offer and a topic, of each */
};

#define BP_HOLDS_MAX 16384u       /* pairs; the one that changed first is forgotten */
#define BP_HOLDS_CLIENT_MAX 1024u /* of one client address (IPv6: a /64), from this gateway */
#define BP_HOLDS_COLLAPSE_NS 100000000ull

struct bp_shared_holds_owner {
	/* The index of an active rule; UINT32_MAX: there is none with this uid. */
	uint32_t (*rule_of)(void *arg, uint64_t rule_uid);
	void *arg;
	uint64_t gateway; /* a hash of the name of this one */
	struct bp_fleet_rule_counters *counters;
};

/* NULL: no memory. */
struct bp_shared_holds *bp_shared_holds_new(
	struct bp_shm *shm, const struct bp_shared_holds_owner *owner);
/* A change is sent without a record only where recorded(arg, place) is false: the connection of the
 * packet that has made it has none. Asked for each BP_HOLDS_COLLAPSE_NS. */
void bp_shared_holds_wait_for(struct bp_shared_holds *h,
	bool (*recorded)(void *arg, const struct bp_stream_place *p), void *arg);
void bp_shared_holds_free(struct bp_shared_holds *h);
/* A report of a worker (struct bp_hold_report and a topic): untrusted. connection:
 * bp_connection_hash(); 0: of no connection, or of one that has ended. */
void bp_shared_holds_report(
	struct bp_shared_holds *h, const void *bytes, uint32_t len, uint64_t connection);
/* Reports of these clients were lost, a bit for each bp_hold_client(): their holds that are in
 * progress are unknown, so they end with the next tick. */
void bp_shared_holds_lost(struct bp_shared_holds *h, const uint64_t clients[BP_HOLD_LOST_WORDS]);
/* Whether they have ended: until then, no position of a connection of this client is written. */
bool bp_shared_holds_complete(const struct bp_shared_holds *h, const uint8_t ip[16], bool ip6);
/* The holds of a connection end for all gateways. */
void bp_shared_holds_end(struct bp_shared_holds *h, uint64_t connection);
/* What Redis lacks of this connection. False: it is too much for one write (counted); *out has a
 * part of it, which no position may follow before the rest. */
bool bp_shared_holds_changes(
	struct bp_shared_holds *h, uint64_t connection, struct bp_hold_changes *out);
/* stored: Redis has the changes; else the write has failed, or another one has replaced it. */
void bp_shared_holds_written(
	struct bp_shared_holds *h, uint64_t connection, uint64_t write, bool stored);
/* Positions are written again to a server that may lack the holds of this gateway: so are they. */
void bp_shared_holds_repeat(struct bp_shared_holds *h);
/* The holds that are known of a connection. exact: all that Redis has are known; else they end, and
 * so do those that are too many for *out. */
void bp_shared_holds_of(
	struct bp_shared_holds *h, uint64_t connection, bool exact, struct bp_hold_offers *out);
/* A change in Redis: untrusted. */
void bp_shared_holds_state(struct bp_shared_holds *h, const void *bytes, size_t len);
/* Redis has removed changes before they were read: those that it still has follow. */
void bp_shared_holds_gap(struct bp_shared_holds *h);
/* There is no connection: all changes will be read again. */
void bp_shared_holds_down(struct bp_shared_holds *h);
/* Sends what is due. */
void bp_shared_holds_tick(struct bp_shared_holds *h, struct bp_alarm_store *store);
/* Whether all changes in Redis have been read since the connection, or since a gap, and what was
 * not read has ended. */
bool bp_shared_holds_read(const struct bp_shared_holds *h);
/* Offers to the worker what others have changed, once all changes have been read. False: not yet,
 * or its ring is full. *offered_to: the end of the last offer in the ring. */
bool bp_shared_holds_offer(struct bp_shared_holds *h, uint64_t *offered_to);
/* The worker may have lost its states, or has other rules. */
void bp_shared_holds_offer_again(struct bp_shared_holds *h);
uint32_t bp_shared_holds_number(const struct bp_shared_holds *h);

#endif
