/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_OPERATOR_H
#define BP_APPS_BIPLANE_FLEET_OPERATOR_H

#include "apps/biplane/cli.h"
#include "apps/biplane/fleet/etcd.h"
#include "apps/biplane/fleet/rollout.h"

/* What the commands of an operator have in common. */

struct bp_fleet_operator {
	const struct bp_cli_command *command;
	struct bp_config *config; /* the local file, without a stored bundle */
	struct bp_fleet_keys keys;
	struct bp_etcd *etcd;
	const char *fleet; /* its name */
};

/* Reads section fleet of the file `path`, and the keys. An exit status, with an error on stderr.
 * Call bp_fleet_operator_close() also then. */
int bp_fleet_operator_open(
	struct bp_fleet_operator *o, const struct bp_cli_command *command, const char *path);
void bp_fleet_operator_close(struct bp_fleet_operator *o);

/* Reads all keys of a kind ("members", "rollouts", "bundles"), or with `name` this one. An exit
 * status. */
int bp_fleet_operator_read(const struct bp_fleet_operator *o, const char *kind, const char *name,
	struct bp_etcd_rows *rows);

/* A member, from its record: {"member", "labels", ...}; an array. Records are not signed: what is
 * not of the expected type is null. */
json_t *bp_fleet_members(const struct bp_etcd_rows *rows);
bool bp_fleet_member_matches(const json_t *member, const struct bp_config_fleet_labels *selector);

/* Reads a bundle; free b->text. 1, or with a sentence 0: it does not exist or is not valid, -1:
 * etcd did not answer. */
int bp_fleet_operator_bundle(const struct bp_fleet_operator *o, uint64_t version,
	struct bp_fleet_bundle *b, char *err, size_t err_size);

/*
 * Signs and stores a rollout, and with `bundle` (NULL: an old one) the bundle, whose version is the
 * serial number. r->serial 0: the next one; otherwise the lowest that is acceptable, at most
 * BP_FLEET_SERIAL_STEP above the last. Fails if another operator changed the fleet since. Sets
 * r->serial, and r->version for a new bundle. An exit status.
 */
#define BP_FLEET_SERIAL_STEP 1000000u
int bp_fleet_operator_store(const struct bp_fleet_operator *o, const struct bp_fleet_signer *signer,
	struct bp_fleet_rollout *r, struct bp_fleet_bundle *bundle);

/* Prints the stored rollout. */
int bp_fleet_print_rollout(const struct bp_fleet_rollout *r, size_t members, bool json);

/* The time now, RFC 3339. */
void bp_fleet_now(char out[40]);

#endif
