/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_ID_SET_H
#define BP_CONTROLPLANE_ALARMS_ID_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A set of alarm ids: ids of the spool that are in flight, or acknowledged and not yet deleted, and
 * must not be sent again meanwhile. Zero-initialise it; id 0 is allowed.
 */
struct bp_id_set {
	uint64_t *slot;
	uint8_t *used;
	size_t size; /* slots: 0 or a power of two, at least twice count */
	size_t count;
};

/* Adds an id; false when there is no memory (then nothing changed). */
bool bp_id_set_add(struct bp_id_set *s, uint64_t id);
bool bp_id_set_has(const struct bp_id_set *s, uint64_t id);
void bp_id_set_remove(struct bp_id_set *s, uint64_t id);
void bp_id_set_clear(struct bp_id_set *s);
void bp_id_set_free(struct bp_id_set *s);

#endif
