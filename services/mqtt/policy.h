/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_POLICY_H
#define BP_SERVICES_MQTT_POLICY_H

#include "services/mqtt/burst.h"
#include "services/mqtt/mqtt_worker.h"

/* policy.c: the decisions of the policy about packets of a client, which are counted. */

struct bp_policy_cached;

static inline bool bp_policy_is_given(const struct bp_mqtt_worker *in)
{
	return in->rules->generation != 0 && in->rules->policy_given;
}

/* Loads what bp_policy_publish() will read for a burst: who the clients are, whose topic is another
 * one than before, and the decisions. The flows may be other ones. */
void bp_policy_prefetch(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b);
/*
 * Decides about a publication. `topic`: the hash of its topic. `whole`: its payload is complete. If
 * it is not, and a rule reads it, nothing is decided yet (BP_POLICY_WAIT): the packet is needed
 * whole, or is to be counted by bp_policy_unread(). *cached remains unchanged, or is the entry
 * of the decision, until the next one, to which the caller adds the rules that the topic matches.
 */
enum bp_policy_next {
	BP_POLICY_ALL_ALLOWED, /* all publications of the connection with this topic */
	BP_POLICY_DECIDE_EACH,
	BP_POLICY_WAIT,
	BP_POLICY_BLANKED, /* this one has another topic at the broker */
};
enum bp_policy_next bp_policy_publish(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_mqtt_publish *p, uint64_t topic, bool whole,
	struct bp_policy_cached **cached);
/*
 * The decision about all publications of the connection with this topic, if it is kept; else NULL.
 * The caller counts it: as one that allows the publication, or, before its topic is overwritten,
 * as one to blank it, with an event.
 */
const struct bp_policy_cached *bp_policy_recall(
	struct bp_mqtt_worker *in, const struct bp_flow *f, uint64_t topic);
void bp_policy_count_allowed(struct bp_mqtt_worker *in, uint32_t slot);
void bp_policy_count_blanked(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_cached *cached, const struct bp_mqtt_publish *p);
/* The connection of a CONNECT is one of its address, until it ends or another one begins with the
 * same ports. */
void bp_policy_count(struct bp_mqtt_worker *in, struct bp_flow *f);
void bp_policy_uncount(struct bp_mqtt_worker *in, struct bp_flow *f);
/* One that an earlier process has counted. */
void bp_policy_recount(struct bp_mqtt_worker *in, struct bp_flow *f);
/* With its will. */
void bp_policy_connect(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_connect *c);
/* Its CONNECT was read before it was proven, by a search, which does not keep its will: the will is
 * counted as one that is not evaluated. */
void bp_policy_connected(struct bp_mqtt_worker *in, struct bp_flow *f);
/* A packet that the policy would decide about is not read: counted. */
void bp_policy_unread(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir);
/* `body` of a valid SUBSCRIBE. */
void bp_policy_subscribe(
	struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *body, uint32_t len);

/* Whether the broker is not to publish the will of a connection: the policy refuses it, or, with
 * mqtt.policy.fail: closed, may refuse it, since nothing is kept of it. Not counted. */
bool bp_policy_refuses_will(struct bp_mqtt_worker *in, const struct bp_flow *f);

/* Whether the policy refuses the will that is kept of a connection. `count`: with its statistics
 * and an event, since the broker is made to discard it. */
bool bp_policy_refuses_kept_will(struct bp_mqtt_worker *in, const struct bp_flow *f, bool count);

struct bp_policy_packet_view;
struct bp_policy_decision;
/* events.c: the policy does not allow a packet. */
void bp_event_policy(struct bp_mqtt_worker *in, const struct bp_flow *f,
	const struct bp_policy_packet_view *v, const struct bp_policy_decision *d,
	enum bp_event_policy_cause cause);

/* There is no decision: an event, if it is the first of the connection with this cause. `v`: NULL:
 * the packet is not known. `rule`: the index of the one that asks for more; UINT32_MAX: none. */
void bp_policy_report_undecided(struct bp_mqtt_worker *in, struct bp_flow *f,
	const struct bp_policy_packet_view *v, uint32_t rule, enum bp_event_policy_cause cause);

/*
 * policy_reload.c, on_reload: close. The rules are others: begins to mark the connections whose
 * CONNECT an earlier policy has judged. A worker's tick marks some of them; each is decided about
 * with its next segment.
 */
void bp_policy_reload_begin(struct bp_mqtt_worker *in);
void bp_policy_reload_tick(struct bp_mqtt_worker *in);
/* Of another gateway. */
void bp_policy_reload_mark(struct bp_mqtt_worker *in, struct bp_flow *f);
/* A connection is marked whose will the policy refuses, and the broker cannot be made to discard it
 * now (bp_will_can_discard()): some seconds later it ends nevertheless. */
bool bp_policy_reload_waits(
	struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame);
/* A segment of a marked connection: it is marked no longer. Whether the policy refuses what is
 * known of its CONNECT, which is counted. */
bool bp_policy_reload_refuses(struct bp_mqtt_worker *in, struct bp_flow *f);
/* policy.c, for policy_reload.c: whether the policy refuses the CONNECT or the will of a
 * connection, by what is kept of them. */
bool bp_policy_refuses_connection(struct bp_mqtt_worker *in, struct bp_flow *f);

#endif
