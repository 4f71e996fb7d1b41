/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_READY_H
#define BP_CONTROLPLANE_HEALTH_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "biplane/health.h"
#include "controlplane/health/cse/provision.h"
#include "shm/health/phd_writer.h"

/*
 * Which sessions still need their resources at the CSE: in the order in which they came, each once.
 * When a session has all of them it is marked BP_PHD_READY.
 *
 * What a device has is remembered by the owner as one number, a hash of all that its containers
 * depend on: the CSE's address and port, path and originator, the names of objects, and the type
 * where it is in one of these. A session of a device whose number is still the same is ready at
 * once. If the CSE lost them meanwhile its first instance says so (bp_ready_lost()).
 */
struct bp_ready;

/* The tables, the writer and the client behind `cse` are the caller's and stay. `name`: of the
 * gateway's own AE. NULL without memory. Sessions that are in the table and operating without
 * BP_PHD_READY are taken up. */
struct bp_ready *bp_ready_new(struct event_base *base, struct bp_phd_tables *tables,
	struct bp_phd_writer *writer, const struct bp_cse *cse, const struct bp_config_phd *c,
	const char *name);
/* After the client was freed. */
void bp_ready_free(struct bp_ready *r);

/* The session needs them, which may be other ones than before. */
void bp_ready_request(struct bp_ready *r, uint32_t slot);
/* The CSE turned out not to have them: what is remembered of the device is not true any more. */
void bp_ready_lost(struct bp_ready *r, uint32_t slot);
/* Whether it has them. */
bool bp_ready_is(const struct bp_ready *r, uint32_t slot);

/*
 * A session is not marked while `busy` says that a report of it is on its way by the slow path, so
 * that no report goes both ways; it is once bp_ready_idle() was called for its slot.
 */
void bp_ready_hold(struct bp_ready *r, bool (*busy)(void *arg, uint32_t slot), void *arg);
void bp_ready_idle(struct bp_ready *r, uint32_t slot);

/* Who remembers, by system-id and configuration: 0 is nothing. */
struct bp_ready_memory {
	uint64_t (*made)(void *arg, const uint8_t system_id[8], uint16_t config_id);
	void (*set_created)(
		void *arg, const uint8_t system_id[8], uint16_t config_id, uint64_t made);
};
/* Without it all sessions wait for the CSE. `memory` and `arg` stay. */
void bp_ready_set_memory(struct bp_ready *r, const struct bp_ready_memory *memory, void *arg);

/* Sessions ever that were ready at once. */
uint64_t bp_ready_spared(const struct bp_ready *r);
/* Sessions that wait, or that are worked on. */
uint32_t bp_ready_waiting(const struct bp_ready *r);
const struct bp_provision_counts *bp_ready_counts(const struct bp_ready *r);

#endif
