/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SPARKPLUG_NOTES_H
#define BP_SERVICES_MQTT_SPARKPLUG_NOTES_H

#include <stdlib.h>
#include <string.h>

#include "services/mqtt/mqtt_worker.h"
#include "shm/rules/sparkplug_state.h"

/*
 * Topics of data messages that were read lately: the key of the node, and where its entry and that
 * of a metric were in the table of the segment. An entry is checked before its use, so a note can
 * only cost time. Two topics to a set; a fixed number, of one worker.
 */
#define BP_SPARKPLUG_NOTES 8192u /* a power of two */

struct bp_sparkplug_note {
	uint64_t topic; /* hash; 0: free */
	uint64_t node_key;
	uint64_t node, metric; /* indexes in the table */
};
_Static_assert(2 * sizeof(struct bp_sparkplug_note) == 64, "a set is a cache line");

static inline struct bp_sparkplug_note *bp_sparkplug_note_set(
	const struct bp_mqtt_worker *in, uint64_t topic)
{
	return &in->sparkplug_notes[topic >> 1 & (BP_SPARKPLUG_NOTES - 2)];
}

/* NULL: no memory. */
static inline struct bp_sparkplug_note *bp_sparkplug_notes_create(void)
{
	const size_t size = BP_SPARKPLUG_NOTES * sizeof(struct bp_sparkplug_note);
	struct bp_sparkplug_note *notes = aligned_alloc(64, size);

	if (notes != NULL)
		memset(notes, 0, size);
	return notes;
}

/* The note of a topic, or NULL. */
static inline struct bp_sparkplug_note *bp_sparkplug_note_find(
	const struct bp_mqtt_worker *in, uint64_t topic)
{
	struct bp_sparkplug_note *set = bp_sparkplug_note_set(in, topic);

	return set[0].topic == topic ? &set[0] : set[1].topic == topic ? &set[1] : NULL;
}

/* A note for a topic that has none, in place of the older one in its set. */
static inline struct bp_sparkplug_note *bp_sparkplug_note_add(
	const struct bp_mqtt_worker *in, uint64_t topic, uint64_t node_key)
{
	struct bp_sparkplug_note *set = bp_sparkplug_note_set(in, topic);

	set[1] = set[0];
	set[0] = (struct bp_sparkplug_note){.topic = topic, .node_key = node_key};
	return &set[0];
}

/* Finds the entry of a key, first at *at, which becomes its index. */
static inline bool bp_sparkplug_note_entry(
	const struct bp_mqtt_worker *in, uint64_t *at, uint64_t key, struct bp_sparkplug_view *v)
{
	if (bp_sparkplug_state_at(in->sparkplug, in->sparkplug_len, *at, key, v))
		return true;
	if (!bp_sparkplug_state_find(in->sparkplug, in->sparkplug_len, key, v))
		return false;
	*at = (uint64_t)(v->entry - in->sparkplug);
	return true;
}

#endif
