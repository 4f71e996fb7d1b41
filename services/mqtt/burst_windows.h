/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_WINDOWS_H
#define BP_SERVICES_MQTT_BURST_WINDOWS_H

#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/single_publish.h"

/* Rules with windows on the burst path, for burst.c alone. */

/* The action for a frame. */
enum bp_burst_verdict {
	BP_BURST_GENERAL, /* takes the general path */
	BP_BURST_QUIET,   /* it is evaluated: no alarm */
	BP_BURST_RAISES,
};

/* The rule of a memo if its value is one of a window with most[0] values or fewer, or most[1] for a
 * rate. */
static inline const struct bp_rule *bp_burst_rule_of_memo(const struct bp_mqtt_worker *in,
	const struct bp_rule *rules, const uint32_t *most, uint32_t memo)
{
	const struct bp_rule *rule;

	/* not compared with the frame yet: a free slot of an earlier process may be damaged */
	if (memo >= bp_ruleset_all(in->rules))
		return NULL;
	rule = &rules[memo];
	return rule->fast_window != BP_RULE_FAST_NO &&
			       rule->window.values <= most[rule->window.function == BP_WINDOW_RATE]
		       ? rule
		       : NULL;
}

/* Finds the windows of the frames: the topics of their flows may still differ. */
static __attribute__((noinline)) void bp_burst_find_windows(
	const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	const struct bp_window_table *t = &in->windows;
	const struct bp_rule *rules = bp_ruleset_rule(in->rules, 0), *rule = NULL;
	uint32_t known = BP_RULE_NONE; /* memo whose rule is `rule`, in most frames the same */
	uint64_t keyed = 0, mixed = 0;
	/* here, so that there is no division for each frame */
	const uint32_t most[2] = {bp_window_capacity(t->stride, BP_WINDOW_MEAN),
		bp_window_capacity(t->stride, BP_WINDOW_RATE)};

	for (uint32_t i = 0; i < b->n; i++) {
		const struct bp_flow *f = b->l[i].flow;

		if (b->p[i].body == 0 || f->memo_gen != in->gen)
			continue;
		if (f->memo_rule != known) {
			known = f->memo_rule;
			rule = bp_burst_rule_of_memo(in, rules, most, known);
			mixed = rule == NULL ? 0 : bp_mix64(rule->uid);
		}
		if (rule == NULL)
			continue;
		/* as bp_state_client(): these frames are IPv4, and only of this flow if it fits */
		bp_window_place_key(t, &b->window[i], mixed, b->p[i].topic_hash,
			(uint32_t)bp_flow_client_hash_of(
				&in->table, bp_flow_k0_client(b->l[i].k0)) |
				1);
		keyed |= (uint64_t)1 << i;
	}
	for (uint64_t left = keyed; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(left);

		if (!bp_window_place_cell(t, &b->window[i]))
			keyed &= ~((uint64_t)1 << i);
	}
	b->windows = keyed;
}

/* Adds a value to the window of frame i, whatever it is. */
static __attribute__((noinline)) enum bp_burst_verdict bp_burst_add_to_any_window(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, const struct bp_rule *rule, uint32_t i,
	double value)
{
	const struct bp_window_use u = {.rule = rule,
		.now_ns = in->mono_ns,
		.client = b->window[i].client,
		.worker = (uint16_t)in->worker,
		.undo = bp_journal_burst_window(in->journal)};
	double result;

	switch (bp_window_place_add(&in->windows, &b->window[i], &u, value, &result)) {
	case BP_WINDOW_VALUE:
		b->result[i] = result;
		return BP_BURST_QUIET + bp_condition_holds(&rule->raise, result);
	case BP_WINDOW_NONE:
		bp_tally(in, BP_C_WINDOW_NO_RESULT);
		return BP_BURST_QUIET;
	default:
		/* nothing was changed: the frame has one record at most */
		in->journal->burst_windows--;
		return BP_BURST_GENERAL;
	}
}

/* What is constant for the values of one rule with a window in a burst. */
struct bp_burst_window_rule {
	struct bp_window_moving moving;
	const struct bp_rule *rule;
	struct bp_journal *journal;
};

static inline struct bp_burst_window_rule bp_burst_window_rule(
	const struct bp_mqtt_worker *in, const struct bp_rule *rule)
{
	return (struct bp_burst_window_rule){
		.moving = bp_window_moving(&rule->window, (uint16_t)in->worker, in->mono_ns),
		.rule = rule,
		.journal = in->journal};
}

/* Adds a value to the window of frame i. */
static inline __attribute__((always_inline)) enum bp_burst_verdict bp_burst_add_to_window(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, const struct bp_burst_window_rule *w,
	uint32_t i, double value)
{
	struct bp_journal *j = w->journal;
	double result;

	if (__builtin_expect(!bp_window_place_move(&in->windows, &b->window[i], &w->moving,
				     j->window, &j->burst_windows, value, &result),
		    0))
		return bp_burst_add_to_any_window(in, b, w->rule, i, value);
	b->result[i] = result;
	return BP_BURST_QUIET + bp_condition_holds(&w->rule->raise, result);
}

#endif
