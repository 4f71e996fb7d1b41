/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/fleet_adopt.h"
#include "services/mqtt/mqtt_worker.h"
#include "shm/mqtt/mqtt_tables.h"

/*
 * Raised and cleared states of other gateways of a fleet. The control plane offers each of them to
 * one worker, and the table of states is common to all. So when the connection of a client moves
 * here, its alarms are in the state that the other gateway left: no second raise, and the clear has
 * the number of the raise.
 */

/* NULL: none, or this worker has other rules than the control plane had. */
static const struct bp_rule *rule_of(const struct bp_ruleset *rules, const struct bp_state_offer *o)
{
	const struct bp_rule *r;

	if (rules->generation == 0 || o->rule >= rules->n_rules)
		return NULL;
	r = bp_ruleset_rule(rules, o->rule);
	return r->uid == o->rule_uid && r->stateful ? r : NULL;
}

static void adopt(struct bp_mqtt_worker *in, const struct bp_rule *rule,
	const struct bp_state_offer *o, const uint8_t *topic)
{
	const enum bp_verdict verdict = o->raised ? BP_VERDICT_RAISED : BP_VERDICT_CLEARED;
	const enum bp_state_loss loss = bp_rule_state_adopt(in->rule_state, in->rule_state_len,
		rule, bp_topic_hash(in, topic, o->topic_len), verdict, o->transition, in->mono_ns);

	if (loss == BP_STATE_NOT_KEPT)
		bp_tally(in, BP_C_FLEET_STATE_NOT_STORED);
	else
		bp_tally(in, o->raised ? BP_C_FLEET_STATE_RAISED : BP_C_FLEET_STATE_CLEARED);
	if (loss == BP_STATE_HOLD_EVICTED)
		bp_tally(in, BP_C_STATE_EVICTED);
	else if (loss == BP_STATE_RAISED_EVICTED)
		bp_tally(in, BP_C_STATE_EVICTED_RAISED);
}

void bp_fleet_state_offer(struct bp_mqtt_worker *in, const uint8_t *p, uint32_t n)
{
	struct bp_state_offer o;
	const struct bp_rule *rule;

	if (n < sizeof(o)) {
		bp_tally(in, BP_C_FLEET_STATE_INVALID);
		return;
	}
	memcpy(&o, p, sizeof(o));
	if (o.raised > 1 || o.topic_len == 0 || o.topic_len > BP_STATE_TOPIC_MAX ||
		n - sizeof(o) != o.topic_len || o.transition == 0 ||
		o.transition >> BP_TRANSITION_BITS != 0) {
		bp_tally(in, BP_C_FLEET_STATE_INVALID);
		return;
	}
	rule = rule_of(in->rules, &o);
	if (rule == NULL)
		bp_tally(in, BP_C_FLEET_STATE_NO_RULE);
	else
		adopt(in, rule, &o, p + sizeof(o));
}
