/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_ROLLOUT_H
#define BP_APPS_BIPLANE_FLEET_ROLLOUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "apps/biplane/fleet/etcd_rows.h"
#include "apps/biplane/fleet/sign.h"
#include "config/config.h"

/* What a fleet stores in etcd: docs/explanation/fleet.md. */

#define BP_FLEET_KEY_MAX 1024
#define BP_FLEET_CANARIES_MAX 32u
#define BP_FLEET_SELECTOR_MAX 800
#define BP_FLEET_SERIAL_MAX ((uint64_t)1 << 53) /* exact in JSON */
#define BP_FLEET_TRIAL_MAX_S 86400u

/* Writes /biplane/FLEET/KIND/NAME; KIND is bundles, rollouts, members or serial (without a name).
 */
void bp_fleet_path(
	const char *fleet, const char *kind, const char *name, char out[BP_FLEET_KEY_MAX]);

/* A selector is labels: all of them must match. Text: "role=edge,site=north", sorted, or "all". */
bool bp_fleet_selector_read(
	const char *text, struct bp_config_fleet_labels *labels, char *err, size_t err_size);
void bp_fleet_selector_text(
	const struct bp_config_fleet_labels *labels, char out[BP_FLEET_SELECTOR_MAX]);
bool bp_fleet_selector_matches(
	const struct bp_config_fleet_labels *selector, const struct bp_config_fleet_labels *labels);

/* Which version the members that match a selector run. */
struct bp_fleet_rollout {
	uint64_t serial, version;
	char selector[BP_FLEET_SELECTOR_MAX];
	char sha256[BP_SHA256_HEX]; /* of the bundle */
	uint64_t trial_s;           /* 0: fleet.config.trial_time */
	char created[40];
	unsigned n_canaries; /* 0: all members at the same time */
	char canary[BP_FLEET_CANARIES_MAX][BP_NAME_MAX + 1];
};
bool bp_fleet_is_canary(const struct bp_fleet_rollout *r, const char *member);
char *bp_fleet_rollout_sign(
	const struct bp_fleet_signer *signer, const char *fleet, const struct bp_fleet_rollout *r);
/* Reads the row rollouts/SELECTOR. 0, or -1 with a sentence. */
int bp_fleet_rollout_read(const struct bp_fleet_keys *keys, const char *fleet,
	const struct bp_etcd_row *row, struct bp_fleet_rollout *r, char *err, size_t err_size);

/* A bundle. */
struct bp_fleet_bundle {
	uint64_t version;
	char selector[BP_FLEET_SELECTOR_MAX]; /* of its first rollout */
	char sha256[BP_SHA256_HEX];
	char created[40];
	char *text; /* NULL: not read */
	size_t len;
};
char *bp_fleet_bundle_sign(
	const struct bp_fleet_signer *signer, const char *fleet, const struct bp_fleet_bundle *b);
/* Reads the row bundles/VERSION; free b->text. 0, or -1 with a sentence. */
int bp_fleet_bundle_read(const struct bp_fleet_keys *keys, const char *fleet,
	const struct bp_etcd_row *row, struct bp_fleet_bundle *b, char *err, size_t err_size);

#endif
