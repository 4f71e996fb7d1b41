/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_MQTT_HOLD_TEXT_H
#define BP_CONTROLPLANE_MQTT_HOLD_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/fleet/alarm_store.h"

/*
 * A change of a hold as the gateways of a fleet share it: 'p' and the number of the change, the
 * rule's uid, the hold, the gateway, the connection, and the place of the packet in its stream, as
 * 16 hexadecimal digits each; then the topic.
 */
struct bp_hold_text {
	uint64_t number, rule_uid, hold, gateway;
	uint64_t connection; /* whose packet has made the change; 0: of none */
	uint32_t dir, seq;   /* of that packet */
	const char *topic;   /* in the text that was read */
	size_t topic_len;    /* at most BP_STATE_TOPIC_MAX */
};
#define BP_HOLD_TEXT_HEAD (BP_ALARM_STATE_HEAD + 80u)

/* Returns the length; at most BP_HOLD_TEXT_HEAD and the topic, and one byte more is written. */
size_t bp_hold_text_write(const struct bp_hold_text *x, char *out);
/* A text of any origin. False: it is not valid. */
bool bp_hold_text_read(const char *text, size_t len, struct bp_hold_text *x);

#endif
