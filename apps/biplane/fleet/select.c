/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/select.h"

#include <stdio.h>
#include <string.h>

#include "apps/biplane/fleet/bounded_json.h"

int bp_fleet_choose(const struct bp_fleet_keys *keys, const struct bp_config_fleet *fleet,
	const struct bp_etcd_rows *rows, struct bp_fleet_rollout *r, char *err, size_t err_size)
{
	struct bp_config_fleet_labels selector;
	struct bp_fleet_rollout one;
	uint32_t best = 0;
	bool found = false;

	for (unsigned i = 0; i < rows->n; i++) {
		const char *name = strrchr(rows->row[i].key, '/');
		char why[512] = "";

		if (name == NULL ||
			!bp_fleet_selector_read(name + 1, &selector, why, sizeof(why)) ||
			!bp_fleet_selector_matches(&selector, &fleet->labels))
			continue;
		if (bp_fleet_rollout_read(
			    keys, fleet->name, &rows->row[i], &one, why, sizeof(why)) != 0) {
			snprintf(err, err_size, "rollout %s is refused: %s", name + 1, why);
			return -1;
		}
		if (found && (selector.n < best || (selector.n == best && one.serial < r->serial)))
			continue;
		*r = one;
		best = selector.n;
		found = true;
	}
	return found;
}

bool bp_fleet_canary_passed(const struct bp_etcd_row *row, const struct bp_fleet_rollout *r,
	const char *name, char *why, size_t why_size)
{
	json_t *member = row != NULL && row->value != NULL
				 ? bp_fleet_json(json_string_value(row->value),
					   json_string_length(row->value))
				 : NULL;
	const char *state = json_string_value(json_object_get(member, "state"));
	const bool same =
		json_integer_value(json_object_get(member, "serial")) == (json_int_t)r->serial;
	const bool has_it =
		json_integer_value(json_object_get(member, "version")) == (json_int_t)r->version;
	bool ok = false;

	if (member == NULL)
		snprintf(why, why_size, "canary %s is not connected to etcd", name);
	else if (same && state != NULL &&
		 (strcmp(state, "refused") == 0 || strcmp(state, "rolled_back") == 0))
		snprintf(why, why_size, "stopped: canary %s has %s it", name,
			state[1] == 'e' ? "refused" : "rolled back");
	else if (!same || !has_it || state == NULL || strcmp(state, "applied") != 0)
		snprintf(why, why_size, "canary %s has not passed its trial yet", name);
	else
		ok = true;
	json_decref(member);
	return ok;
}
