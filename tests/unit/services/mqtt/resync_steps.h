/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_RESYNC_STEPS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_RESYNC_STEPS_H

#include "biplane/counters/mqtt.h"
#include "rig.h"

/* A connection on which nothing is answered, that loses bytes and comes back. Each test has a rig
 * of its own. */

#define PUSHES 4
#define SECOND 1000000000ull

static struct rig rig;

static inline void open_with(uint32_t pushes, uint8_t directions, bool fast)
{
	rig_defaults(&rig);
	rig.mqtt.resync_packets = pushes;
	rig.mqtt.directions = directions;
	rig_open(&rig);
	rig.bursts = fast;
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static inline void open_rig(void)
{
	open_with(PUSHES, BP_DIRECTIONS_TO_BROKER, false);
}

static inline const char *told(void)
{
	return rig_told_values(&rig);
}

static inline void publish_on(struct peer *c, const char *topic, const char *value)
{
	rig_publish_text(&rig, c, topic, value);
}

static inline void publish(struct peer *c, const char *value)
{
	publish_on(c, "t/x", value);
}

/* Connected, and a first publication is read. */
static inline void start(struct peer *c, uint32_t number)
{
	peer_init(c, false, number, 0xfffffd00u, 0xffffff00u);
	rig_connect(&rig, c, 4, "resync");
	publish(c, "81");
	assert_string_equal(told(), "81");
	rig_ack(&rig, c, BROKER);
}

/* `n` bytes of the client pass by unseen, the broker has them, and the client continues. */
static inline void lose(struct peer *c, uint32_t n)
{
	uint64_t before = rig_count(&rig, BP_C_RESYNC_STARTED);

	c->seq[CLIENT] += n;
	rig_ack(&rig, c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), before);
	rig_ack(&rig, c, CLIENT);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), before + 1);
}

static inline void pushes(struct peer *c, unsigned n, const char *topic)
{
	for (unsigned i = 0; i < n; i++)
		publish_on(c, topic, "90");
}

/* As many as are needed: the one behind which a push is known to begin, and these. */
static inline void come_back(struct peer *c)
{
	uint64_t before = rig_count(&rig, BP_C_RESYNC_UNCONFIRMED);

	pushes(c, 1 + PUSHES, "t/x");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_UNCONFIRMED), before);
	rig_ack(&rig, c, BROKER);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_UNCONFIRMED), before + 1);
	assert_string_equal(told(), "");
}

static inline bool back(void)
{
	return rig_count(&rig, BP_C_RESYNC_UNCONFIRMED) != 0;
}

#endif
