/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/bounded_json.h"

#include <stdbool.h>

/* Whether there are few brackets and commas outside of strings: each value but the first follows
 * one. */
static bool is_small(const char *text, size_t len)
{
	bool in_string = false;
	size_t n = 0;

	for (size_t i = 0; i < len && n < BP_FLEET_JSON_VALUES_MAX; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string && (text[i] == '{' || text[i] == '[' || text[i] == ','))
			n++;
	}
	return n < BP_FLEET_JSON_VALUES_MAX;
}

json_t *bp_fleet_json(const char *text, size_t len)
{
	json_error_t error;

	return is_small(text, len) ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &error) : NULL;
}
