/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_ASSOCIATIONS_H
#define BP_CONTROLPLANE_HEALTH_ASSOCIATIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/health/manager.h"

struct bp_associations;
struct bp_fleet_state;
struct bp_phd_store;
struct bp_shm_fleet;
struct event_base;

/*
 * Shares the associations of devices over UDP with the fleet: writes a record
 * (services/health/association_record.h) of each operating session, with its last report, and
 * adopts the association of a device that is unknown here and sends a report.
 *
 * The record of a device has the owner's epoch: a gateway that adopts the association has a higher
 * one, and the later writes of the previous owner are refused. That one then ends its session
 * without a message to the device, unless the device has sent a later report to it, or has
 * associated there: see is_theirs() in associations.c. Sessions that this process did not open, but
 * found in the segment or the store, are compared with the record before the first write.
 *
 * Reads are bounded, since a sender can forge any address: BP_ASSOCIATION_READS a second and
 * BP_ASSOCIATION_READS_PENDING at a time; a device without an association is remembered for
 * BP_ASSOCIATION_ABSENT_NS. While a read is pending, one datagram of the device waits for it.
 */
#define BP_ASSOCIATION_READS 4000u
#define BP_ASSOCIATION_READS_BURST 400u
#define BP_ASSOCIATION_READS_PENDING 1024u
#define BP_ASSOCIATION_ABSENT_NS 5000000000ull
/* A session has a new record after each report, but not more often. */
#define BP_ASSOCIATION_INTERVAL_NS 100000000ull
/* And without a report: another gateway may have adopted it. */
#define BP_ASSOCIATION_RENEW_NS 60000000000ull

struct bp_associations_setup {
	struct event_base *base;
	struct bp_fleet_state *fleet;
	struct bp_phd_tables *tables;
	struct bp_phd_manager *manager;
	struct bp_phd_store *store; /* of configurations */
	struct bp_shm_fleet *shown; /* in the segment */
	const char *name;           /* of this gateway; read once */
	uint64_t idle_timeout_ns;   /* health_devices.idle_timeout; 0: off */
	/* The session of another gateway was opened here, without provisioning. */
	void (*adopted)(void *arg, uint32_t slot);
	void *arg;
};

/* What *setup refers to remains valid. NULL without memory. */
struct bp_associations *bp_associations_new(const struct bp_associations_setup *setup);
/* After bp_fleet_state_free(), which answers what is pending. NULL: no effect. */
void bp_associations_free(struct bp_associations *a);
void bp_associations_configure(struct bp_associations *a, uint64_t idle_timeout_ns);

/* The manager's callbacks of these names. */
void bp_associations_opened(struct bp_associations *a, uint32_t slot);
void bp_associations_closed(struct bp_associations *a, uint32_t slot, enum bp_phd_closed why);
bool bp_associations_unknown(
	struct bp_associations *a, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len);

/* At the end of the process: queues the last state of all sessions. */
void bp_associations_finish(struct bp_associations *a);
/* Adds an object to the answer of the command status. */
void bp_associations_status(const struct bp_associations *a, json_t *answer);
/* Writes the counters for readers of the segment: once a second. */
void bp_associations_show(struct bp_associations *a);

/* The key in the fleet's state, such as "phd:10.0.0.5:40312". */
#define BP_ASSOCIATION_KEY_TEXT 64u
void bp_association_key(
	const uint8_t address[16], uint16_t port, char out[BP_ASSOCIATION_KEY_TEXT]);

#endif
