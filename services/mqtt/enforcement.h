/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_ENFORCEMENT_H
#define BP_SERVICES_MQTT_ENFORCEMENT_H

#include "services/mqtt/enforce.h"
#include "services/mqtt/mqtt_worker.h"

/* enforce.c, for inspection itself. Nothing of this is called but with in->enforced. */

/* Before a segment of the flow is read. False: it is not to be read. */
bool bp_enforce_before(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);
/* After it: decides about the frame. */
void bp_enforce_after(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame);

/* With or without in->enforced. The segment is not one of the broker. */
void bp_enforce_spoofed(struct bp_mqtt_worker *in);
/* Likewise. Whether the segment is between two inspected ports, and so not forwarded: both of its
 * directions may be those of a client. */
bool bp_enforce_is_ambiguous(struct bp_mqtt_worker *in, const struct bp_frame *frame);
/* The packet that is being read is refused: its connection ends. */
void bp_enforce_refuse(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Bytes of the client behind the end of its stream, which a DISCONNECT or the broker's FIN is: they
 * are not forwarded, and the connection is reset. */
void bp_enforce_behind_end(struct bp_mqtt_worker *in, struct bp_flow *f);
/* With or without in->enforced: mqtt.policy.fail, where the client is. */
bool bp_enforce_fails_closed(const struct bp_mqtt_worker *in, const struct bp_flow *f);
/* There is no decision about it: mqtt.policy.fail. */
void bp_enforce_undecided(struct bp_mqtt_worker *in, struct bp_flow *f);

/* With or without in->enforced. The packet that is being read: its first `have` bytes, and the
 * number of the first one. */
static inline void bp_enforce_packet(
	struct bp_mqtt_worker *in, const uint8_t *packet, uint32_t have, uint32_t seq)
{
	if (__builtin_expect(in->enforced == NULL, 1))
		return;
	in->enforced->packet = packet;
	in->enforced->packet_have = have;
	in->enforced->packet_seq = seq;
}

/* Likewise: the bytes from `seq` on that are read now were behind this mask. */
static inline void bp_enforce_masked(struct bp_mqtt_worker *in, const uint8_t mask[4], uint32_t seq)
{
	if (in->enforced == NULL)
		return;
	in->enforced->unmasked_seq = seq;
	memcpy(in->enforced->mask, mask, sizeof(in->enforced->mask));
}

/* policy_will.c: whether what was forwarded to the broker ends between two packets; and whether the
 * broker has all of it. */
bool bp_will_is_between(const struct bp_flow *f);
bool bp_will_can_discard(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame);
/* A connection ends, and not by the policy: counts a will that the policy refuses, which the broker
 * may publish. */
void bp_will_left(struct bp_mqtt_worker *in, const struct bp_flow *f);
/* The DISCONNECT, with which a broker discards the will. */
void bp_will_put_disconnect(const struct bp_flow *f, struct bp_answer *a);
/* Of a connection that was ended with it: it may follow at f->top[BP_TO_BROKER]. */
static inline bool bp_will_was_discarded(const struct bp_flow *f)
{
	return (int32_t)(f->next[BP_TO_BROKER] - f->top[BP_TO_BROKER]) > 0;
}

struct bp_policy_packet_view;
/* blank.c, with or without in->enforced. What is done for an action about `v`, a packet that is
 * being read: another one than BLANK where its topic cannot be overwritten, which is counted. */
uint8_t bp_blank_action(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint8_t action);
/* Overwrites the topic of `v`, for which that was BLANK. */
void bp_blank_topic(
	struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_policy_packet_view *v);

/* Refused publications of one byte would reach the clients with a refused filter of one byte, such
 * as #: the only text of one byte that begins with $ is that of these. */
#define BP_BLANK_TOPIC_MIN 2u
static inline bool bp_blank_has_topic(const struct bp_ruleset *rs)
{
	return rs->policy_quarantine_len >= 2;
}
/* Overwrites a topic of at least that length, in a whole PUBLISH that was not forwarded yet, and
 * takes the retain flag from its first byte. */
void bp_blank_publish(const struct bp_ruleset *rs, uint8_t *header, uint8_t *topic, uint32_t len);

/* A PUBLISH that has the alias of a topic that was overwritten, and is not refused now: it is not
 * retained at that topic either. False: mqtt.policy.fallback decided about it. */
bool bp_blank_filed(struct bp_mqtt_worker *in, struct bp_flow *f, bool retain);

static inline bool bp_enforce_refused(const struct bp_mqtt_worker *in)
{
	return in->enforced != NULL && in->enforced->refused;
}

#endif
