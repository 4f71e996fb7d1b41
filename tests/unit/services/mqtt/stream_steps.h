/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_STREAM_STEPS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_STREAM_STEPS_H

#include "rig.h"

/* A connection whose segments are cut and sent as a test wants them. Each test has a rig of its
 * own. */

static struct rig rig;

static inline void open_rig(void)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);

	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
}

static inline void hot(struct bytes *b, const char *value)
{
	mq_publish(b, &(struct mq_publish){
			      .version = 4, .topic = "plant/oven0/temperature", .payload = value});
}

/* The values of the alarms, in order, as "81 82". */
static inline const char *told(void)
{
	return rig_told_values(&rig);
}

/* Bytes [from, to) of a stream that begins at the connection's position. */
static inline void piece(const struct peer *c, const struct bytes *b, size_t from, size_t to)
{
	rig_segment(&rig, c, CLIENT, TH_ACK, c->seq[CLIENT] + (uint32_t)from, c->seq[BROKER],
		b->p + from, to - from);
}

static inline void close_at_end(struct peer *c)
{
	rig_fin_both(&rig, c);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
}

static inline void begin(struct peer *c, uint32_t number, struct bytes *b)
{
	peer_init(c, false, number, 0xffffff00u, 0xfffffff0u);
	rig_connect(&rig, c, 4, "x");
	memset(b, 0, sizeof(*b));
	hot(b, "81");
	hot(b, "82");
	hot(b, "83");
}

#endif
