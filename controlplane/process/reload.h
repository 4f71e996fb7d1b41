/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_RELOAD_H
#define BP_CONTROLPLANE_PROCESS_RELOAD_H

#include <jansson.h>
#include <stdbool.h>

#include "controlplane/service.h"

struct bp_config;

/* `answer` is a new reference; tag is the caller's, given at the start. */
typedef void (*bp_reload_done)(void *arg, uint64_t tag, json_t *answer);

/*
 * Reads the configuration file again and takes it over whole, or refuses it whole and changes
 * nothing.
 */
struct bp_reload {
	const char *path;          /* of the file */
	struct bp_config *running; /* owned by the control plane; replaced on success */
	struct bp_plane_context *x;
	/* while one is pending */
	struct bp_config *next;
	bp_reload_done done;
	void *arg;
	uint64_t tag;
};

/*
 * Calls `done` once, now or later, with the answer for the control socket:
 * {"ok":true, and the reports of the services} or
 * {"ok":false,"retry":false,"errors":[...]}. Counts.
 */
void bp_reload_start(struct bp_reload *r, bp_reload_done done, void *arg, uint64_t tag);

/* Every line of `text` as an element of a new JSON array; of more than this, how many more. */
#define BP_RELOAD_ERRORS_MAX 1000u
json_t *bp_lines_to_json(const char *text);

#endif
