/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_STORE_PERSIST_H
#define BP_CONTROLPLANE_HEALTH_STORE_PERSIST_H

#include <event2/event.h>
#include <stdint.h>

#include "controlplane/health/store/store.h"
#include "services/health/manager.h"

struct bp_config_phd;

/*
 * Open sessions over any restart: the rows of the store follow the table, and after a start the
 * sessions that the table lacks are opened again from their rows. What is in the table wins over
 * the rows. Only sessions over UDP are kept: a TCP connection ends with its process.
 *
 * A row says of `reports` what it was when it was put. All sessions are looked at within 30 s, and
 * one that made a quarter of BP_PHD_STORE_RAISE since is put again: names of instances are unique
 * for sessions of less than some 26,000 reports a second.
 *
 * control->loading is 1 from bp_phd_persist_new() until reading ended. All functions are for the
 * event loop's thread.
 */
struct bp_phd_persist;

/* `arg` is bp_phd_persist_new()'s. */
struct bp_phd_persist_ops {
	/* A session is back as after bp_phd_manager_restore(): to be provisioned. */
	void (*restored)(void *arg, uint32_t slot);
};

struct bp_phd_persist_counts {
	uint64_t rows[BP_PHD_RESTORE_RESULTS]; /* that were read back, by enum bp_phd_restored */
	uint64_t tcp;                          /* rows of TCP, which are given up */
	uint64_t put;                          /* sessions written */
	uint64_t rounds;                       /* how often all of the table was looked at */
};

/* Opens the store that the configuration names. The tables and *c are the caller's and stay. NULL
 * without memory, or thread. */
struct bp_phd_persist *bp_phd_persist_new(struct event_base *base, const struct bp_config_phd *c,
	struct bp_phd_tables *tables, const struct bp_phd_persist_ops *ops, void *arg);
void bp_phd_persist_free(struct bp_phd_persist *k);

/* For what is known of devices; stays keep's. */
struct bp_phd_store *bp_phd_persist_store(struct bp_phd_persist *k);
/* Who opens sessions again; once, before the event loop runs. It must outlive the loop. */
void bp_phd_persist_manager(struct bp_phd_persist *k, struct bp_phd_manager *m);

/* As the manager's ops of these names. */
void bp_phd_persist_opened(struct bp_phd_persist *k, uint32_t slot);
void bp_phd_persist_closed(struct bp_phd_persist *k, uint32_t slot);
void bp_phd_persist_unassociated(struct bp_phd_persist *k, const struct bp_phd_peer *device);

const struct bp_phd_persist_counts *bp_phd_persist_counts(const struct bp_phd_persist *k);

#endif
