/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_SAME_TEMPLATE_H
#define BP_SERVICES_MQTT_SAME_TEMPLATE_H

#include "services/mqtt/single_publish.h"

/*
 * Frames of one template: of one length, with headers and a topic of one length. Sensors of one
 * type send such frames in sequence. The template is built from one of them; the others are
 * compared with it. The remaining work is the checksums and the topic's hash, which are computed
 * for four frames at a time.
 *
 * Where the frames also have numbers as text, with the same number of digits and the decimal point
 * at the same position, four numbers are parsed at a time, too, and compared with the limits of the
 * rule if one rule evaluates them all.
 *
 * As in single_publish.h no flow is written, and a mismatch only costs time.
 */

struct bp_template {
	bp_v16 tcp, tcp_mask;   /* header length and flags: bytes from 46 on, and which count */
	bp_v16 head, head_mask; /* of the PUBLISH, up to the topic's length, from `at` on */
	/* the last eight characters of the payload, twice: their values, the mask of the compared
	 * bits, and the maximum above them */
	bp_v16 text, text_mask, text_above;
	bp_v16 joins;          /* moves the digits together */
	bp_v16 last;           /* the part of the last 16 bytes that was not summed before */
	bp_v4 ip_sum, tcp_sum; /* to be added to the sums: of IP header, and of TCP */
	bp_v4 low, span; /* numbers that raise: low .. low + span, as bp_short_ranges has it */
	/* Rule and generation, where a flow has them behind the topic's hash, and what of them
	 * counts. */
	bp_v16 memo, memo_mask;
	bp_v16 state;  /* of a flow, as bp_single_flow_is() compares it */
	uint32_t gen;  /* of the rules */
	uint32_t rule; /* its index */
	uint32_t slot; /* of it, in the statistics */
	uint32_t topic, topic_len, at;
	uint16_t total;          /* of the IPv4 header, as it lies in memory */
	uint16_t body, end, len; /* as in struct bp_single_publish */
	uint16_t bursts;         /* number of further bursts that use the template */
	bool identifier;         /* there is one before `body`, which must not be 0 */
	bool numbers;            /* they are read too; only then also the following: */
	bool own_rules;          /* each flow has a rule of its own, or a part of a combination */
	bool windowed;           /* the one rule has a window: BP_RULE_FAST_TEXT of fast_window */
	bool properties;         /* their length is at `body`, and must be 0 */
	uint8_t point;           /* characters of a number from the point on */
	bool on;
};

/* Reads p[], and number[] where the template has them, of all frames of the template. */
void bp_template_read(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b);
/*
 * After a burst whose frames from `behind_general` on were processed without the general path:
 * discards a template that matches few frames, and searches for one in the last frames where there
 * is none.
 */
void bp_template_learn(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t behind_general);

/*
 * Whether a frame of the template whose number was read is the next of its flow, in the template's
 * MQTT version, and under its rule, if it has one.
 */
static inline bool bp_template_flow_matches(const struct bp_template *x, const uint8_t *frame,
	const struct bp_lookup *l, const struct bp_single_publish *p)
{
	return bp_single_flow_is(l->flow, l, p, x->memo, x->memo_mask, x->state, 0xff) &&
	       bp_single_in_sequence(l->flow, frame + BP_SINGLE_L4);
}

/* The rule or part that evaluates the publications of a flow as text, if the flow's memo belongs to
 * the current rules; NULL: there is none. */
static inline const struct bp_rule *bp_template_rule(
	const struct bp_rule *rules, const struct bp_flow *f)
{
	const struct bp_rule *rule;

	if (f->memo_rule >= BP_MEMO_MULTIPLE)
		return NULL;
	rule = &rules[f->memo_rule];
	return rule->fast == BP_RULE_FAST_TEXT || rule->fast == BP_RULE_FAST_PART ? rule : NULL;
}

#endif
