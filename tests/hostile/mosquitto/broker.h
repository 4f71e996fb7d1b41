/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_MOSQUITTO_BROKER_H
#define BP_TESTS_HOSTILE_MOSQUITTO_BROKER_H

#include "sessions.h"

/* A real broker on the loopback interface, and what it makes of sessions. Aborts with a line. */

struct delivery {
	uint64_t number; /* session_payload() */
	char *topic;
};

struct outcome {
	struct bytes answers; /* bytes that the broker sent to the client */
	struct delivery *got; /* by an observer, in order */
	size_t n_got;
};

/* Starts it in a new temporary folder. False when there is no mosquitto on this machine. */
bool broker_start(void);
void broker_stop(void);
const char *broker_version(void);
/* Runs the sessions at the same time; each sends all it has and closes. */
void broker_run(const struct session *s, struct outcome *o, size_t n);
void outcome_free(struct outcome *o);
void outcome_add(struct outcome *o, uint64_t number, const char *topic, size_t topic_len);

#endif
