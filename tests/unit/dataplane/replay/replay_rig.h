/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_REPLAY_REPLAY_RIG_H
#define BP_TESTS_UNIT_DATAPLANE_REPLAY_REPLAY_RIG_H

#include "tests/unit/dataplane/test.h"

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "dataplane/replay/replay.h"

/* Common parts of replay tests: a folder for each, captures, and the run. */

/* For cmocka_run_group_tests(): makes the folder; removes it with what is in it. */
int replay_set_up(void **state);
int replay_tear_down(void **state);
/* Where a file of that folder is; good for 15 more calls. */
const char *replay_path(const char *name);

/* A new capture in it. */
struct replay_capture;
struct replay_capture *replay_capture_begin(const char *name);
void replay_capture_put(
	struct replay_capture *c, uint64_t time_ns, const uint8_t *frame, uint32_t len);
void replay_capture_end(struct replay_capture *c);

/* `in` comes in at one port, what leaves by the other is `out`. */
struct replay_way {
	const char *in_port, *in, *out_port, *out;
};
/* Replays under this configuration; `o` says what the report has. The report; free() it. */
char *replay_text(const char *yaml, const struct replay_way *w, struct bp_replay_options o);
/* Likewise its JSON, in which the sum is exact; json_decref() it. */
json_t *replay_json(const char *yaml, const struct replay_way *w, struct bp_replay_options o);

#endif
