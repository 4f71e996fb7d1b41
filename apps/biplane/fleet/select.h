/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_SELECT_H
#define BP_APPS_BIPLANE_FLEET_SELECT_H

#include "apps/biplane/fleet/rollout.h"

/* Which rollout is that of a member, and whether its canaries have passed. */

/* The rollout of the member, of rows rollouts/. 1, or 0: there is none, or -1 with a sentence: one
 * that matches is not valid. */
int bp_fleet_choose(const struct bp_fleet_keys *keys, const struct bp_config_fleet *fleet,
	const struct bp_etcd_rows *rows, struct bp_fleet_rollout *r, char *err, size_t err_size);
/* Whether canary `name` has applied the rollout, of its row members/NAME (NULL: there is none); if
 * not, why. */
bool bp_fleet_canary_passed(const struct bp_etcd_row *row, const struct bp_fleet_rollout *r,
	const char *name, char *why, size_t why_size);

#endif
