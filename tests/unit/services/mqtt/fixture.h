/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_FIXTURE_H
#define BP_TESTS_UNIT_SERVICES_MQTT_FIXTURE_H

#include "rig.h"

/* A capture of real clients, as frames and as the conversations that it holds. */

/* A stretch of bytes in one direction, after all stretches before it. */
struct turn {
	unsigned from; /* CLIENT or BROKER */
	size_t n;
};

struct talk {
	struct peer peer;
	struct bytes stream[2];
	struct turn *turn;
	size_t n_turns;
	uint32_t next[2]; /* while the capture is read */
	bool syn[2], fin[2];
};

struct captured {
	uint8_t *frame;
	size_t len;
};

struct fixture {
	struct captured *frame;
	size_t n_frames;
	struct talk *talk;
	size_t n_talks;
};

/* The folder is $BP_FIXTURES, or tests/fixtures. Aborts with a line when the file cannot be read.
 */
void fixture_path(char *out, size_t size, const char *name, const char *suffix);
void fixture_load(struct fixture *f, const char *name);
void fixture_free(struct fixture *f);

/* Rules that every capture has something for. */
#define FIXTURE_RULES 5
extern const char *const fixture_rule_names[FIXTURE_RULES];
void fixture_rules(struct bp_rule_spec rules[FIXTURE_RULES]);

#endif
