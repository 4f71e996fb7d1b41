/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SPARKPLUG_FAST_H
#define BP_SERVICES_MQTT_SPARKPLUG_FAST_H

#include "services/mqtt/burst.h"
#include "services/mqtt/mqtt_worker.h"

enum bp_sparkplug_fast {
	BP_SPARKPLUG_FAST_NO,        /* nothing was changed: it takes the general path */
	BP_SPARKPLUG_FAST_UNCHANGED, /* the message says nothing about the metric */
	BP_SPARKPLUG_FAST_VALUE,
};

/* The value of a rule with BP_RULE_FAST_SPARKPLUG; topic: hash of a topic that it matches. */
enum bp_sparkplug_fast bp_sparkplug_read_fast(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	uint64_t topic, const uint8_t *payload, uint32_t len, double *value);

/* Prefetches what bp_sparkplug_read_fast() reads for the frames of a burst that were parsed. */
void bp_sparkplug_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b);

#endif
