/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "config/schema.h"

/* Names of settings before version 1, for the errors about a file that still has them. */
const struct bp_renamed bp_renamed[] = {
	{"idle", "poll_mode: busy or adaptive"},
	{"trouble", "monitoring"},
	{"monitoring.link_settle", "monitoring.link_up_delay"},
	{"monitoring.buffers_low", "monitoring.mbuf_low_percent"},
	{"monitoring.worker_overrun", "monitoring.poll_gap_warning"},
	{"monitoring.worker_stuck", "monitoring.worker_stall_timeout"},
	{"monitoring.not_inspected", "monitoring.not_inspected_warning"},
	{"monitoring.log_every", "monitoring.log_interval"},
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
