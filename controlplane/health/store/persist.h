/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_PERSIST_H
#define BP_CONTROLPLANE_HEALTH_STORE_PERSIST_H

#include <event2/event.h>
#include <stdint.h>

#include "controlplane/health/store/store.h"
#include "services/health/manager.h"

struct bp_config_phd;

/*
 * Persists open sessions across any restart: the rows of the store follow the table, and after a
 * start the sessions that the table lacks are restored from their rows. The table takes precedence
 * over the rows. Only sessions over UDP are stored: a TCP connection ends with its process.
 *
 * A row has the value of `reports` at the time of writing. All sessions are checked within 30 s,
 * and a session with at least a quarter of BP_PHD_STORE_RAISE new reports is written again: names
 * of instances are unique for sessions of less than about 26,000 reports per second.
 *
 * control->loading is 1 from bp_phd_persist_new() until loading has ended. All functions are for
 * the event loop's thread.
 */
struct bp_phd_persist;

/* `arg` of bp_phd_persist_new(). */
struct bp_phd_persist_ops {
	/* A session was restored by bp_phd_manager_restore(): it needs provisioning. */
	void (*restored)(void *arg, uint32_t slot);
};

struct bp_phd_persist_counts {
	uint64_t rows[BP_PHD_RESTORE_RESULTS]; /* restored sessions, by enum bp_phd_restored */
	uint64_t tcp;                          /* rows of TCP, which are dropped */
	uint64_t put;                          /* sessions written */
	uint64_t rounds;                       /* number of complete passes over the table */
};

/* Opens the store of the configuration. The caller owns the tables and *c, which must remain valid.
 * NULL without memory, or thread. */
struct bp_phd_persist *bp_phd_persist_new(struct event_base *base, const struct bp_config_phd *c,
	struct bp_phd_tables *tables, const struct bp_phd_persist_ops *ops, void *arg);
void bp_phd_persist_free(struct bp_phd_persist *k);

/* Returns the store, for known devices; owned by this object. */
struct bp_phd_store *bp_phd_persist_store(struct bp_phd_persist *k);
/* Sets the manager that restores sessions; once, before the event loop runs. It must outlive the
 * loop. */
void bp_phd_persist_manager(struct bp_phd_persist *k, struct bp_phd_manager *m);

/* Like the manager's ops of these names. */
void bp_phd_persist_opened(struct bp_phd_persist *k, uint32_t slot);
void bp_phd_persist_closed(struct bp_phd_persist *k, uint32_t slot);
void bp_phd_persist_unassociated(struct bp_phd_persist *k, const struct bp_phd_peer *device);

const struct bp_phd_persist_counts *bp_phd_persist_counts(const struct bp_phd_persist *k);

#endif
