/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_CONNECTION_EVENTS_H
#define BP_SERVICES_MQTT_CONNECTION_EVENTS_H

#include "services/mqtt/publications.h"

/* The begin and the end of connections. */

/* events.c: the connection proved itself, before anything of it is evaluated. */
void bp_event_start(struct bp_mqtt_worker *in, const struct bp_flow *f);
/* It ends; no effect on one that did not prove itself or is closed. */
void bp_event_end(struct bp_mqtt_worker *in, const struct bp_flow *f, enum bp_event_end reason);
/* The same, as bp_flow_table.removed. */
void bp_event_flow_removed(void *arg, const struct bp_flow *f, unsigned reason);
/* bp_mqtt_stop_inspection(). */
void bp_event_inspection_stopped(
	struct bp_mqtt_worker *in, const struct bp_flow *f, bp_counter_t reason);
/* BP_FLOW_UNREAD changed; `before`: the proofs before the segment. */
void bp_event_unread_changed(struct bp_mqtt_worker *in, const struct bp_flow *f, uint8_t before);

/* Distinguishes connections of the same addresses and ports: their initial sequence numbers. */
static inline uint64_t bp_flow_event_id(const struct bp_flow *f)
{
	return (uint64_t)f->syn_seq << 32 | f->broker_isn;
}

/* Both ends speak MQTT at the position that is read. */
static inline void bp_flow_prove(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (f->proof & BP_FLOW_PROVEN)
		return;
	bp_tally(in, BP_C_CONN_ESTABLISHED);
	f->proof |= BP_FLOW_PROVEN;
	bp_event_start(in, f);
	bp_will_accepted(in, f);
}

#endif
