/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_HASH_H
#define BP_SERVICES_MQTT_BURST_HASH_H

#include "services/mqtt/single_publish.h"

/* The first stage of a burst, for burst.c alone: keys, and the prefetch of their tags. */

/* `differ`, a constant: the frames are of different networks. */
static inline __attribute__((always_inline)) void bp_burst_hash_by(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, bool differ)
{
	const uint64_t first = bp_flow_k1_network(b->network[0]);

	for (uint32_t i = 0; i < b->n; i++) {
		if (__builtin_expect(b->kind[i] != BP_BURST_PARSED, 1))
			bp_single_hash(in, b->frame[i],
				differ ? bp_flow_k1_network(b->network[i]) : first, &b->l[i]);
		else
			bp_inspect_hash(in, &b->parsed[i], &b->l[i]);
		b->group[i] = bp_flow_group1(&in->table, b->l[i].hash);
		__builtin_prefetch(&in->table.group[b->group[i]]);
	}
}

static __attribute__((noinline)) void bp_burst_hash(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	bp_burst_hash_by(in, b, false);
}

static __attribute__((noinline)) void bp_burst_hash_of_networks(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	bp_burst_hash_by(in, b, true);
}

#endif
