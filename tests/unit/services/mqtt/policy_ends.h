/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_POLICY_ENDS_H
#define BP_TESTS_UNIT_SERVICES_MQTT_POLICY_ENDS_H

#include "rig.h"

/* The two ends of a connection behind a policy that refuses packets: what each receives. */

#define STREAM_MAX 65536u

extern struct rig rig;
extern struct bp_policy_rule_spec rules[4];

/* An end: what it has received of the other's stream, by its distance from the first byte. */
struct end {
	uint32_t first; /* sequence number of byte 0 */
	uint8_t byte[STREAM_MAX];
	bool has[STREAM_MAX];
	uint32_t acked; /* bytes below it may be anything: they are received */
	unsigned resets, fins, empty;
	uint32_t reset_at;
	bool deaf; /* segments get lost on their way to it */
};
extern struct end broker, client;

/* Bytes from the first one on. */
uint32_t received(const struct end *e);
/* Opens the rig, with a policy without rules. */
void open_rig(uint8_t fail);
/* Adds a rule of the policy; load() puts all active, with an alarm above 80 on t/#. */
struct bp_policy_rule_spec *rule(uint8_t action, uint8_t packet, const char *topic);
void load(void);
/* A connection that was not begun, and one that the broker has accepted. */
struct peer open_peer(void);
struct peer connected(uint8_t version);
/* QoS 0, with payload 81. */
void publish(struct peer *c, uint8_t version, const char *topic);

#endif
