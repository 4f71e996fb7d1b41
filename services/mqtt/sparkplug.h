/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SPARKPLUG_H
#define BP_SERVICES_MQTT_SPARKPLUG_H

#include "services/mqtt/evaluate.h"
#include "proto/sparkplug/index.h"

/* Births, deaths and data of Sparkplug B. */

struct bp_sparkplug_message {
	struct bp_sparkplug_topic topic; /* of data: the type alone */
	bool tracked;                    /* the session of the node is known */
	uint16_t birth;                  /* number of the node's last birth */
	uint16_t devices;                /* that are listed; their deaths follow that of the node */
	uint64_t node_key;
	const struct bp_sparkplug_index *index; /* of the payload, or NULL */
	struct bp_sparkplug_note *note;         /* of data; otherwise NULL */
};
/*
 * Whether the publication is a message of a node or device whose metrics may be evaluated; the
 * session of its node then has its sequence number, birth or death. Otherwise it is counted, if it
 * should have been one.
 */
bool bp_sparkplug_begin(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	uint64_t topic_hash, struct bp_sparkplug_message *m);

enum bp_sparkplug_result {
	BP_SPARKPLUG_VALUE,
	BP_SPARKPLUG_NO_VALUE,  /* counted: the metric has no number, or its alias is unknown */
	BP_SPARKPLUG_UNCHANGED, /* the message says nothing about the metric */
};
/* The value at a source of Sparkplug B, to j->value, and a string to j->text. data_hash: of the
 * topic of the device's data messages. A birth stores the alias and datatype of the metric. */
enum bp_sparkplug_result bp_sparkplug_value(struct bp_mqtt_worker *in,
	const struct bp_sparkplug_message *m, const struct bp_value_source *source,
	struct bp_evaluated *j, uint64_t data_hash);
/* sparkplug_devices.c: stores what another file of Sparkplug B reads; counted if it cannot. */
void bp_sparkplug_store(struct bp_mqtt_worker *in, const struct bp_evaluated *j, uint64_t key,
	uint64_t value, uint32_t data);
/* Lists the device of a DBIRTH for the death of its node. */
void bp_sparkplug_list_device(struct bp_mqtt_worker *in, const struct bp_evaluated *j,
	const struct bp_sparkplug_message *m, uint64_t data_hash);
/* The i-th of the listed devices, as the topic of its death in `out`; the name is copied. False: it
 * is no longer there. */
bool bp_sparkplug_listed_device(struct bp_mqtt_worker *in, const struct bp_sparkplug_message *m,
	uint32_t i, struct bp_sparkplug_device *name, struct bp_sparkplug_message *out);

#endif
