/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_STORE_H
#define BP_APPS_BIPLANE_FLEET_STORE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/fleet/sign.h"
#include "config/config.h"
#include "shm/fleet_agent.h"

/*
 * The files of the agent in fleet.config.directory:
 *
 *   NAME.yaml       the stored bundle, which the planes read with the configuration file
 *   NAME.good.yaml  the last bundle that passed its trial; missing: none yet
 *   NAME.json       the state of the agent
 *
 * Each file is replaced atomically and is on the disk when a function returns.
 */
struct bp_fleet_store {
	char active[PATH_MAX], good[PATH_MAX], state_file[PATH_MAX];
};

struct bp_fleet_state {
	enum bp_fleet_phase phase;
	uint64_t serial;       /* highest serial number of a rollout that was tried or applied */
	uint64_t version;      /* of the active bundle; 0: none */
	uint64_t good_version; /* 0: none */
	char sha256[BP_SHA256_HEX];      /* of the active bundle */
	char good_sha256[BP_SHA256_HEX]; /* of the good bundle */
	uint64_t since_ns;               /* Unix time of the phase */
	bool reload_due;   /* the planes may have another bundle than the stored one */
	char errors[4096]; /* lines; "": none */
};

/* False: fleet.config.directory is too long. */
bool bp_fleet_store_init(struct bp_fleet_store *s, const struct bp_config *c);
/* Reads the state; without a file it is idle. 0, or -1 with a sentence: the file is damaged. */
int bp_fleet_state_read(
	const struct bp_fleet_store *s, struct bp_fleet_state *state, char *err, size_t err_size);
int bp_fleet_state_write(const struct bp_fleet_store *s, const struct bp_fleet_state *state,
	char *err, size_t err_size);
/* Replaces the stored bundle. */
int bp_fleet_activate(
	const struct bp_fleet_store *s, const char *text, size_t len, char *err, size_t err_size);
/* Makes the stored bundle the good one. */
int bp_fleet_keep(const struct bp_fleet_store *s, char *err, size_t err_size);
/* Whether the good bundle has this SHA-256. */
bool bp_fleet_is_good(const struct bp_fleet_store *s, const char sha256[BP_SHA256_HEX]);
/* Makes the good bundle the stored one, or removes the stored one if there is no good one. */
int bp_fleet_restore(const struct bp_fleet_store *s, char *err, size_t err_size);

#endif
