/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_POLICY_REPORT_H
#define BP_APPS_BIPLANE_POLICY_REPORT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dataplane/replay/replay.h"
#include "shm/layout.h"

/*
 * What the policy would have refused: the statistics of its rules, which packets of which clients,
 * and what could not be decided about, with the reasons. Of a running instance or of a replay.
 */

struct bp_policy_report;
/* NULL: no memory. */
struct bp_policy_report *bp_policy_report_new(void);
void bp_policy_report_free(struct bp_policy_report *r);

/* Counts an event of type policy, as JSON of bp_event_json(). */
void bp_policy_report_add(struct bp_policy_report *r, const json_t *event);
/* A new reference, or NULL with a sentence in err. limit: rows of `refused`; 0: all. */
json_t *bp_policy_report_json(const struct bp_policy_report *r, const struct bp_shm *shm,
	uint64_t limit, char *err, size_t err_size);
void bp_policy_report_print(const json_t *report, FILE *out);

/* Members of the part of a replay's report; `arg` is a report. */
void bp_policy_report_event(void *arg, const struct bp_shm *shm, const struct bp_event *e);
json_t *bp_policy_report_collect(void *arg, const struct bp_shm *shm);

#endif
