/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/burst_policy.h"

#include "services/mqtt/enforcement.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/policy_cache.h"
#include "services/mqtt/single_publish.h"

/*
 * Where there is a policy, its decision about a topic is kept with the rules that the topic
 * matches: policy_cache.h. A decision is found by a hash of the topic and of the client under a
 * secret key; no text is compared. So it is for topics that are allowed and for those that are
 * blanked, and a topic of which no decision is found takes the general path.
 */

/* Whether no frame of `raises`, whose alarm is still to be raised by the memo, is of the flow. */
static bool memo_is_free(const struct bp_mqtt_burst *b, const struct bp_flow *f, uint64_t raises)
{
	for (; raises != 0; raises &= raises - 1)
		if (b->l[__builtin_ctzll(raises)].flow == f)
			return false;
	return true;
}

/* Of a window or a part, what was found for the frame is that of another rule. */
static bool is_stateless(const struct bp_mqtt_worker *in, uint32_t memo_rule)
{
	const struct bp_rule *rule;

	if (memo_rule >= BP_MEMO_MULTIPLE)
		return memo_rule == BP_RULE_NONE;
	rule = bp_ruleset_rule(in->rules, memo_rule);
	return rule->fast == BP_RULE_FAST_TEXT || rule->fast == BP_RULE_FAST_JSON ||
	       rule->fast == BP_RULE_FAST_BINARY;
}

/* Whether frame i is the next one of its flow, which is not marked. */
static bool is_next(const struct bp_mqtt_burst *b, uint32_t i)
{
	static const bp_v16 any_memo = {0};
	const struct bp_single_publish same = {0};
	const struct bp_lookup *l = &b->l[i];

	return bp_single_flow_is(l->flow, l, &same, any_memo, any_memo, BP_SINGLE_STATE(0), 0) &&
	       bp_single_in_sequence(l->flow, b->frame[i] + BP_SINGLE_L4);
}

static bool allow(struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t i,
	const struct bp_policy_cached *cached, uint64_t raises, struct bp_burst_memo *before)
{
	const uint32_t memo_rule = bp_policy_cached_memo(cached);
	struct bp_flow *f = b->l[i].flow;

	if (memo_rule == BP_MEMO_UNKNOWN || !is_stateless(in, memo_rule) ||
		!memo_is_free(b, f, raises))
		return false;
	*before = (struct bp_burst_memo){f->memo_hash, f->memo_rule};
	f->memo_hash = b->p[i].topic_hash;
	f->memo_rule = memo_rule;
	return true;
}

/* What enforce.c and blank.c ask of a packet whose topic they overwrite. Its bytes are the next
 * ones behind those that are kept: none of them was forwarded before, and they will be kept. */
static bool can_blank(const struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t i)
{
	const struct bp_flow *f = b->l[i].flow;

	return bp_blank_has_topic(in->rules) && !(f->has_alias_max & BP_FLOW_REJUDGE) &&
	       f->waiting[BP_TO_BROKER] == 0 &&
	       bp_judged_fits(in, f, f->next[BP_TO_BROKER], b->p[i].len);
}

static bool blank(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t i,
	const struct bp_policy_cached *cached)
{
	uint8_t *frame = (uint8_t *)(uintptr_t)b->frame[i]; /* it is `writable` */
	struct bp_mqtt_publish p;

	if (!can_blank(in, b, i) || !bp_single_fields(frame, &b->p[i], b->l[i].flow->version, &p) ||
		p.topic_len < BP_BLANK_TOPIC_MIN)
		return false;
	bp_policy_count_blanked(in, b->l[i].flow, cached, &p); /* with the topic */
	bp_blank_publish(in->rules, frame + bp_single_payload(frame), frame + (p.topic - frame),
		p.topic_len);
	b->changed |= (uint64_t)1 << i;
	return true;
}

enum bp_burst_recall bp_burst_recall(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t i,
	uint64_t raises, struct bp_burst_memo *before, uint32_t *slot)
{
	const struct bp_flow *f = b->l[i].flow;
	/* else something else than the topic has to be decided before it is allowed */
	const bool is_current = f->memo_gen == in->gen;
	const bool may_blank = in->blanks_gen == in->gen && (b->writable >> i & 1);
	const struct bp_policy_cached *cached;

	if ((is_current ? f->memo_hash == b->p[i].topic_hash : !may_blank) || !is_next(b, i))
		return BP_BURST_RECALL_NO;
	cached = bp_policy_recall(in, f, b->p[i].topic_hash);
	if (cached == NULL)
		return BP_BURST_RECALL_NO;
	if (cached->action == BP_POLICY_BLANK && may_blank)
		return blank(in, b, i, cached) ? BP_BURST_RECALL_BLANKED : BP_BURST_RECALL_NO;
	if (cached->action != BP_POLICY_ALLOW || !is_current ||
		!allow(in, b, i, cached, raises, before))
		return BP_BURST_RECALL_NO;
	*slot = (uint32_t)cached->slot;
	return BP_BURST_RECALL_ALLOWED;
}
