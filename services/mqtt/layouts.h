/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_LAYOUTS_H
#define BP_SERVICES_MQTT_LAYOUTS_H

#include "proto/payload/json_layout.h"

/*
 * The shapes that JSON payloads had lately (proto/payload/json_layout.h), by value source and
 * length: a fixed number, of one worker. A payload of a shape that is kept is not parsed.
 */
struct bp_layouts;

/* NULL: no memory. */
struct bp_layouts *bp_layouts_create(void);
void bp_layouts_free(struct bp_layouts *c);

/*
 * The layout that the payload is of, or NULL when none that is kept fits. `index` and `gen` as
 * below.
 */
const struct bp_json_layout *bp_layouts_find(
	struct bp_layouts *c, uint32_t gen, uint32_t index, const uint8_t *payload, uint32_t len);

/*
 * bp_value_json() of source->json. `index`: the source's number in the rules of generation `gen`,
 * not 0; shapes of other generations do not count.
 */
bool bp_layouts_value(struct bp_layouts *c, uint32_t gen, uint32_t index,
	const struct bp_value_source *source, const uint8_t *payload, uint32_t len, double *value);

#endif
