/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_ANNOTATIONS_H
#define BP_CONTROLPLANE_ALARMS_ANNOTATIONS_H

#include <stdbool.h>
#include <stdint.h>

struct bp_alarm;
struct bp_rule_spec;

/*
 * The annotations of the active rules, by name. No alarm contains them, so an alarm of a ring or a
 * spool is published with those that its rule has then.
 */
struct bp_annotations {
	struct bp_annotated_rule *rule; /* those with annotations, by name */
	uint32_t n;
};

/* Replaces the contents; zero-initialise `a` before. False: there is no memory, and nothing has
 * changed. */
bool bp_annotations_set(struct bp_annotations *a, const struct bp_rule_spec *rules, uint32_t n);
void bp_annotations_free(struct bp_annotations *a);

/* The annotations of the alarm's rule as a JSON object; NULL: it has none, or there is no rule of
 * this name. */
const char *bp_annotations_of(const struct bp_annotations *a, const struct bp_alarm *alarm);

#endif
