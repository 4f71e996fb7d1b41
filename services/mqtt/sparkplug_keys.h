/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SPARKPLUG_KEYS_H
#define BP_SERVICES_MQTT_SPARKPLUG_KEYS_H

#include "proto/payload/value.h"
#include "proto/sparkplug/sparkplug.h"
#include "services/mqtt/topic_hash.h"
#include "shm/hash.h"

/* The keys of the entries of shm/rules/sparkplug_state.h. `key`: hash_key of struct bp_shm_global.
 */

/* Of the session of a node. */
static inline uint64_t bp_sparkplug_node_key(
	const uint64_t key[2], const struct bp_sparkplug_topic *t)
{
	const uint64_t group = bp_topic_hash_by(key, t->group, t->group_len);

	return bp_mix(group ^ key[1], bp_topic_hash_by(key, t->node, t->node_len) ^ key[0]);
}

/* Of a metric. data_hash: of the topic of the data messages of its node or device. */
static inline uint64_t bp_sparkplug_metric_key(
	uint64_t data_hash, const struct bp_value_source *source)
{
	return bp_mix64(data_hash + bp_mix64(source->sparkplug.key));
}

/* The metric of a source, to be searched in a complete payload. */
static inline struct bp_sparkplug_wanted bp_sparkplug_wanted_of(
	const struct bp_value_source *source)
{
	return (struct bp_sparkplug_wanted){.name = source->names.metric,
		.name_len = source->sparkplug.name_len,
		.historical = source->sparkplug.historical != 0};
}

#endif
