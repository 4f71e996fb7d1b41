/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_FLEET_ADOPT_H
#define BP_SERVICES_MQTT_FLEET_ADOPT_H

#include "services/mqtt/stream.h"

/* State of connections from other gateways. */

struct bp_fleet_worker;
/* The key of the flow's connection in the fleet. `h`: of its table. False: it is damaged, or has
 * no network that another gateway knows. */
bool bp_connection_key_of(
	const struct bp_flow_header *h, const struct bp_flow *f, struct bp_connection_key *k);
/* NULL: no memory. */
struct bp_fleet_worker *bp_fleet_worker_create(struct bp_shm *shm, unsigned worker);
/* A connection was picked up mid-stream: asks for its state, if it can. */
void bp_fleet_ask(struct bp_mqtt_worker *in, struct bp_flow *f);
/* A segment of a proven connection, before it is checked: asks if the connection may have continued
 * through another gateway since its last segment. */
void bp_fleet_ask_returned(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* The receiver has bytes that were not seen: asks if they may have passed another gateway. True:
 * the answer decides whether they are lost. */
bool bp_fleet_ask_lost(struct bp_mqtt_worker *in, struct bp_flow *f);
/* Whether frames that are read now may have waited for a worker that did not run until
 * `resumed_ns`. */
#define BP_FLEET_CONFIRM_NS 1000000000ull
static inline bool bp_fleet_confirms(uint64_t resumed_ns, uint64_t mono_ns)
{
	return resumed_ns != 0 && mono_ns - resumed_ns < BP_FLEET_CONFIRM_NS;
}
/* Likewise: the first segment of a connection is read after the answer. */
void bp_fleet_ask_paused(struct bp_mqtt_worker *in, struct bp_flow *f);
/* The connection ends: what waits is not confirmed. */
static inline void bp_fleet_confirm_no_longer(struct bp_flow *f)
{
	if (bp_fleet_is_unconfirmed(f))
		bp_flow_unmark(f, BP_MARK_ASKED);
}
/* A segment that fails the check: asks if its numbers may be of a later connection, which began at
 * another gateway. */
void bp_fleet_ask_replaced(
	struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame, unsigned dir);
/* Whether other gateways may have a record of the connection. */
static inline bool bp_fleet_shares(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return in->fleet != NULL &&
	       (f->proof & (BP_FLOW_PROVEN | BP_FLOW_WEBSOCKET)) == BP_FLOW_PROVEN;
}
/* Whether it was asked for as such a one, and not as one that was met mid-stream. */
static inline bool bp_fleet_returned(const struct bp_flow *f)
{
	return (f->marks & BP_MARK_ASKED) && (f->proof & BP_FLOW_PROVEN);
}
/* reorder_buffer is full: lost bytes count as lost again, even if no answer comes. */
static inline void bp_fleet_wait_no_longer(struct bp_flow *f)
{
	if (bp_fleet_returned(f))
		bp_flow_unmark(f, BP_MARK_ASKED);
}
/* The first byte of a direction of a connection met mid-stream. */
void bp_fleet_first_byte(struct bp_flow *f, unsigned dir, uint32_t seq);
/* A segment of such a connection acknowledges all before `ack` in direction `of`. */
void bp_fleet_acked(struct bp_flow *f, unsigned of, uint32_t ack);
/* fleet_states.c: another gateway has changed a state; p[0..n): untrusted. */
void bp_fleet_state_offer(struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n);
/* fleet_states.c: an evaluation has cleared the state; only where in->fleet is not NULL. */
void bp_fleet_state_cleared(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const uint8_t *topic, uint32_t topic_len, uint64_t transition);
/* fleet_states.c: after an evaluation by a rule with a hold, of which `undo` is the record; NULL:
 * it has none. Only where in->fleet is not NULL. */
struct bp_evaluated;
void bp_fleet_hold_changed(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_evaluated *of, uint64_t topic_hash, const struct bp_rule_undo *undo);
/* fleet_states.c: what all workers remember of their last changes; NULL: no memory. */
struct bp_fleet_changes;
struct bp_fleet_changes *bp_fleet_changes_open(struct bp_shm *shm);
struct bp_fleet_changes *bp_fleet_changes_of(const struct bp_mqtt_worker *in);
/* The ring to the control plane. */
struct bp_ring *bp_fleet_requests(const struct bp_mqtt_worker *in);
/* A report of a hold of this client is lost (counted): the control plane ends its holds. */
void bp_fleet_hold_lost(struct bp_mqtt_worker *in, const struct bp_flow *f);
/* Reads answers, and gives up on those that are missing. Also where nothing is shared. */
void bp_fleet_tick(struct bp_mqtt_worker *in);

/*
 * The same from an earlier byte on, which may be of a packet that was not inspected. A sender that
 * repeats what was lost does so once or twice; each time moves all bytes that wait. `pushes` counts
 * them: the search uses it only later.
 */
#define BP_FLEET_EARLIER_MAX 4u
static inline bool bp_fleet_begins_earlier(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir, uint32_t seq)
{
	return (f->marks & BP_MARK_ASKED) && !(f->proof & BP_FLOW_PROVEN) &&
	       f->stream[dir] == BP_STREAM_BOUNDARY &&
	       f->resync[dir].pushes < BP_FLEET_EARLIER_MAX &&
	       f->next[dir] - seq <= in->reorder_bytes &&
	       (int32_t)(seq - bp_wait_first(in, f, dir)) < 0;
}

#endif
