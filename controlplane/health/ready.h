/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_READY_H
#define BP_CONTROLPLANE_HEALTH_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/health.h"
#include "controlplane/health/cse/provision.h"
#include "shm/health/phd_writer.h"

/*
 * Sessions that still need their resources at the CSE: in the order of their arrival, each once. A
 * session with all of them is marked BP_PHD_READY.
 *
 * The owner remembers the resources of a device as one number, a hash of everything that its
 * containers depend on: the CSE's address and port, path and originator, the names of objects, and
 * the type if one of these contains it. A session of a device with an unchanged number is ready
 * immediately. If the CSE lost the resources meanwhile, the first instance reports it
 * (bp_ready_lost()).
 */
struct bp_ready;

/*
 * The caller owns the tables, the writer and the client behind `cse`, which must remain valid.
 * `name`: of the gateway's own AE. NULL without memory. Sessions in the table that are operating
 * without BP_PHD_READY are queued.
 */
struct bp_ready *bp_ready_new(struct event_base *base, struct bp_phd_tables *tables,
	struct bp_phd_writer *writer, const struct bp_cse *cse, const struct bp_config_phd *c,
	const char *name);
/* Call it after the client was freed. */
void bp_ready_free(struct bp_ready *r);

/* The session needs its resources, which may have changed. */
void bp_ready_request(struct bp_ready *r, uint32_t slot);
/* The CSE does not have the resources: the remembered number of the device is invalid. */
void bp_ready_lost(struct bp_ready *r, uint32_t slot);
/* Returns whether the session has its resources. */
bool bp_ready_is(const struct bp_ready *r, uint32_t slot);
/* Returns whether it has its resources, and is not ready because of bp_ready_hold(). */
bool bp_ready_is_suspended(const struct bp_ready *r, uint32_t slot);

/*
 * A session is not marked while `busy` returns that one of its reports is in flight on the slow
 * path, so that no report takes both paths; it is marked after bp_ready_idle() for its slot.
 */
void bp_ready_hold(struct bp_ready *r, bool (*busy)(void *arg, uint32_t slot), void *arg);
void bp_ready_idle(struct bp_ready *r, uint32_t slot);

/* The memory of created resources, by system-id and configuration: 0 means none. */
struct bp_ready_memory {
	uint64_t (*made)(void *arg, const uint8_t system_id[8], uint16_t config_id);
	void (*set_created)(
		void *arg, const uint8_t system_id[8], uint16_t config_id, uint64_t made);
};
/* Without it all sessions wait for the CSE. `memory` and `arg` must remain valid. */
void bp_ready_set_memory(struct bp_ready *r, const struct bp_ready_memory *memory, void *arg);

/* Returns the number of sessions that were ready immediately, in total. */
uint64_t bp_ready_spared(const struct bp_ready *r);
/* Returns the number of sessions that wait or are being provisioned. */
uint32_t bp_ready_waiting(const struct bp_ready *r);
const struct bp_provision_counts *bp_ready_counts(const struct bp_ready *r);

#endif
