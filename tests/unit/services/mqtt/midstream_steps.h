/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_MIDSTREAM_STEPS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_MIDSTREAM_STEPS_H

#include "rig.h"

/* Steps of a connection during resynchronisation. Each test has a rig of its own. */

static struct rig rig;

static inline void open_rig(void)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static inline const char *told(void)
{
	return rig_told_values(&rig);
}

static inline void publish(
	struct peer *c, uint8_t version, uint8_t qos, uint16_t id, const char *value)
{
	rig_publish(&rig, c, CLIENT,
		&(struct mq_publish){.version = version,
			.qos = qos,
			.id = id,
			.topic = "t/x",
			.payload = value});
}

static inline void answer(struct peer *c, uint8_t first, uint16_t id)
{
	struct bytes b = {0};

	if (first == MQ_PINGRESP)
		mq_empty(&b, first);
	else
		mq_ack(&b, first, id);
	rig_send_bytes(&rig, c, BROKER, &b);
}

static inline void ping(struct peer *c)
{
	struct bytes b = {0};

	mq_empty(&b, MQ_PINGREQ);
	rig_send_bytes(&rig, c, CLIENT, &b);
}

#endif
