/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_REPORT_H
#define BP_DATAPLANE_REPLAY_REPLAY_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "biplane/alarm.h"
#include "dataplane/replay/replay.h"
#include "dataplane/replay/replay_phd.h"
#include "shm/layout.h"

struct bp_config;

/* What is known of an input file at the end. */
struct bp_replay_input {
	uint64_t frames;
	uint64_t cut;     /* of these, captured only in part (snap length) */
	uint64_t skipped; /* beside these: left out, with no counterpart in Ethernet */
	/* TCP segments with a wrong checksum; of these, those that carry the sum of their
	 * pseudo-header, as a sender leaves them to its network card */
	uint64_t bad_checksums, offloaded;
	const char *error; /* why it ended early, or NULL */
};

/* One alarm as an object of the array `alarms`. Strings that aren't UTF-8 are made so. */
json_t *bp_replay_alarm(const struct bp_alarm *a);

/* Takes `alarms`. `phd` may be NULL. Returns 0, or -1 when `out` can't be written. */
int bp_replay_report_json(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out);
int bp_replay_report_text(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out);

#endif
