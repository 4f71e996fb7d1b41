/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

/* Names of settings before version 1, for the errors about a file that still has them. */
const struct bp_renamed bp_renamed[] = {
	{"idle", "poll_mode: busy or adaptive"},
	{NULL, NULL},
};

const char *bp_renamed_to(const struct bp_setting *section, const char *key)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s%s", section != NULL ? section->path : "",
		section != NULL && section->list != NULL ? "[]" : "", section != NULL ? "." : "",
		key);
	for (const struct bp_renamed *r = bp_renamed; r->was != NULL; r++)
		if (strcmp(path, r->was) == 0)
			return r->is;
	return NULL;
}
