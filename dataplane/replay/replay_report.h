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

/* The final data of an input file. */
struct bp_replay_input {
	uint64_t frames;
	uint64_t cut;     /* of these, truncated by the snap length */
	uint64_t skipped; /* not in the above: skipped, without an equivalent in Ethernet */
	/*
	 * TCP segments with a wrong checksum; of these, those with the sum of their pseudo-header,
	 * which the sender leaves to its network card
	 */
	uint64_t bad_checksums, offloaded;
	const char *error; /* the reason why it ended early, or NULL */
};

/* One alarm as an object of the array `alarms`. Strings that are not valid UTF-8 are converted. */
json_t *bp_replay_alarm(const struct bp_alarm *a);

/* Takes ownership of `alarms`. `phd` may be NULL. Returns 0, or -1 if `out` cannot be written. */
int bp_replay_report_json(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out);
int bp_replay_report_text(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out);

/* The part of the policy alone. */
int bp_replay_report_policy(const struct bp_shm *shm, const struct bp_replay_options *o, FILE *out);

#endif
