/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_POLICY_H
#define BP_SERVICES_MQTT_BURST_POLICY_H

#include "services/mqtt/policy.h"
#include "services/mqtt/single_publish.h"

/*
 * Clients that alternate topics, on the burst path, for burst.c alone: where there is a policy, its
 * decision about the topic is kept with the rules that the topic matches. With both in the memo of
 * the flow, the frame is as one on the topic before.
 */

/* After this number in a burst, more are expected, and what they need is loaded ahead. */
#define BP_BURST_RECALLED_MANY 8

/* The memo of a flow before it was replaced. */
struct bp_burst_memo {
	uint64_t hash;
	uint32_t rule;
};

/* Whether no frame of `raises`, whose alarm is still to be raised by the memo, is of the flow. */
static inline bool bp_burst_memo_is_free(
	const struct bp_mqtt_burst *b, const struct bp_flow *f, uint64_t raises)
{
	for (; raises != 0; raises &= raises - 1)
		if (b->l[__builtin_ctzll(raises)].flow == f)
			return false;
	return true;
}

/* Of a window or a part, what was found for the frame is that of another rule. */
static inline bool bp_burst_is_stateless(const struct bp_mqtt_worker *in, uint32_t memo_rule)
{
	const struct bp_rule *rule;

	if (memo_rule >= BP_MEMO_MULTIPLE)
		return memo_rule == BP_RULE_NONE;
	rule = bp_ruleset_rule(in->rules, memo_rule);
	return rule->fast == BP_RULE_FAST_TEXT || rule->fast == BP_RULE_FAST_JSON ||
	       rule->fast == BP_RULE_FAST_BINARY;
}

/*
 * Writes the memo of the flow for the topic of frame i, if the frame is the next one of its flow
 * but for another topic, all publications of which the policy allows. *slot: of its statistics.
 */
static inline bool bp_burst_recall(struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b,
	uint32_t i, uint64_t raises, struct bp_burst_memo *before, uint32_t *slot)
{
	/* its memo is of the current rules: else something else than the topic has to be decided */
	static const bp_v16 gen = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
	const bp_v16 current = (bp_v16)(bp_v4){0, 0, 0, in->gen};
	const struct bp_single_publish *p = &b->p[i];
	const struct bp_lookup *l = &b->l[i];
	struct bp_single_publish same = {0};
	struct bp_flow *f = l->flow;
	uint32_t memo_rule;

	if (!bp_single_flow_is(f, l, &same, current, gen, BP_SINGLE_STATE(0), 0) ||
		f->memo_hash == p->topic_hash ||
		!bp_single_in_sequence(f, b->frame[i] + BP_SINGLE_L4) ||
		!bp_policy_recall(in, f, p->topic_hash, &memo_rule, slot) ||
		!bp_burst_is_stateless(in, memo_rule) || !bp_burst_memo_is_free(b, f, raises))
		return false;
	*before = (struct bp_burst_memo){f->memo_hash, f->memo_rule};
	f->memo_hash = p->topic_hash;
	f->memo_rule = memo_rule;
	return true;
}

static inline void bp_burst_undo_recall(struct bp_flow *f, const struct bp_burst_memo *before)
{
	f->memo_hash = before->hash;
	f->memo_rule = before->rule;
}

#endif
