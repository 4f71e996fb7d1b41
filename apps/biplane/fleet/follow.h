/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_FOLLOW_H
#define BP_APPS_BIPLANE_FLEET_FOLLOW_H

#include "apps/biplane/fleet/etcd.h"
#include "apps/biplane/fleet/rollout.h"
#include "apps/biplane/fleet/store.h"

/* What the agent does with rollouts: apply, trial, rollback. */

#define BP_FLEET_NOTICE 1024

struct bp_fleet_follower {
	const char *path; /* of the configuration file */
	const struct bp_config *config;
	struct bp_fleet_keys keys;
	struct bp_fleet_store store;
	struct bp_fleet_state state;
	json_t *baseline;      /* health before the trial; NULL: no trial */
	uint64_t trial_end_ns; /* CLOCK_MONOTONIC */
	bool restore_due;      /* the good bundle could not be stored again */
	bool save_due;         /* the state on the disk is older than `state` */
	uint64_t retry_ns;     /* CLOCK_MONOTONIC: not before */
	/* The serial number and the errors of a reload that is repeated; 0: none. The same phases
	 * and errors are logged once. */
	uint64_t repeated;
	char repeated_errors[512];
	bool quiet;
	/* What prevents the next step, and is not a result of a rollout; "": nothing. */
	char notice[BP_FLEET_NOTICE];
	char delayed[BP_FLEET_NOTICE]; /* what is due and has failed; "": nothing */
	void (*entered)(void *arg);    /* a new phase; may be NULL */
	void (*waiting)(void *arg);    /* once a second during a reload; may be NULL */
	void *arg;
};

/* Reads the state; ends a trial that this process did not see to its end. */
void bp_fleet_follow_start(struct bp_fleet_follower *f);
/* Watches the trial, repeats what was postponed. */
void bp_fleet_follow_tick(struct bp_fleet_follower *f);
/* Reads the rollouts, and applies the one of this gateway. 0, or -1 with a sentence: etcd did not
 * answer, nothing is changed. */
int bp_fleet_follow(struct bp_fleet_follower *f, struct bp_etcd *etcd, char *err, size_t err_size);
void bp_fleet_follow_end(struct bp_fleet_follower *f);

#endif
