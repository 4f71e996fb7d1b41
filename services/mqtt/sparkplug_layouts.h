/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SPARKPLUG_LAYOUTS_H
#define BP_SERVICES_MQTT_SPARKPLUG_LAYOUTS_H

#include "proto/sparkplug/layout.h"

/* The shapes that payloads of Sparkplug B had lately, by their length: a fixed number, of one
 * worker. */
struct bp_sparkplug_layouts;

/* NULL: no memory. */
struct bp_sparkplug_layouts *bp_sparkplug_layouts_create(void);
void bp_sparkplug_layouts_free(struct bp_sparkplug_layouts *c);

/* The index of a payload of a shape that is kept, or NULL. It is valid until the next call of
 * bp_sparkplug_layouts_read(). */
const struct bp_sparkplug_index *bp_sparkplug_layouts_find(
	struct bp_sparkplug_layouts *c, const uint8_t *payload, uint32_t len);

/* As bp_sparkplug_index_read() for a payload that bp_sparkplug_layouts_find() does not find, and
 * keeps its shape. */
bool bp_sparkplug_layouts_read(struct bp_sparkplug_layouts *c, const uint8_t *payload, uint32_t len,
	struct bp_sparkplug_index *index);

#endif
