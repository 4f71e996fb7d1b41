/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_RULES_H
#define BP_CONTROLPLANE_MQTT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "controlplane/transform/transform.h"
#include "shm/layout.h"

struct event_base;

/*
 * The rules in force, of inspection, aggregation, transformation and LCL scheduling. Those of
 * inspection: two banks in the segment, of which the workers read one. A new set is built aside,
 * copied to the bank that is not in force as soon as no worker can still read it, and put in force
 * by one store; each PUBLISH is judged by exactly the old or the new set. The others are in force
 * just before, so that a worker that has seen the one can see the other.
 */
struct bp_rules;

struct bp_rules_result {
	bool ok;
	char error[512];     /* a sentence, when not ok; then nothing changed */
	uint64_t generation; /* in force now */
	uint32_t rules;
	uint32_t unchanged; /* of these, those that were in force before and keep their state */
	struct bp_transform_counts transform;
	bool aggregation; /* its rules are others than before: aggregates leave, streams begin anew
			   */
	bool lcl;         /* its flows are others than before; those that stay go on */
};
/* Called once per bp_rules_apply() that returned 0, from the event loop. */
typedef void (*bp_rules_done)(void *arg, const struct bp_rules_result *result);

struct bp_rules *bp_rules_new(struct event_base *base, struct bp_shm *shm);
void bp_rules_free(struct bp_rules *r); /* a pending apply is forgotten, `done` not called */

/*
 * Puts the configuration's rules in force. keep_same: does nothing when the same rules with the
 * same clone target are in force already; those of aggregation and the flows are written anyway,
 * and workers that have the same go on with them, and so are those of transformation, with the
 * matrices that were set since. wait_ns: how long to wait for a worker that still reads the other
 * bank (0: for ever) before giving up. Returns 0 and calls `done` later (or at once), or -1 with a
 * sentence when the rules can't be built or another apply is under way. `c` must stay until `done`.
 */
int bp_rules_apply(struct bp_rules *r, const struct bp_config *c, bool keep_same, uint64_t wait_ns,
	bp_rules_done done, void *arg, char *err, size_t err_size);

/* Whether an apply is under way. */
bool bp_rules_busy(const struct bp_rules *r);

/*
 * Writes the rules of aggregation and the flows that are in force once more. For a data plane that
 * has started meanwhile: its workers begin with the file as they find it, which need not be what
 * was put in force last. Nothing where none are in force yet.
 */
void bp_rules_tell_again(struct bp_rules *r);

#endif
