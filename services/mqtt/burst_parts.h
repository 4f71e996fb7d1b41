/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_PARTS_H
#define BP_SERVICES_MQTT_BURST_PARTS_H

#include "services/mqtt/evaluate.h"
#include "services/mqtt/single_publish.h"
#include "proto/payload/number.h"

/*
 * Parts of combinations on the burst path, for burst.c alone: values that repeat the truth of a
 * part, which are nearly all. If the truth is not steady, the combination is evaluated with the
 * alarms of the burst: until then, no other truth of it changes.
 */

/* Finds the truths of the frames' parts: the topics of their flows may still differ. */
static inline void bp_burst_find_parts(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	const struct bp_rule *rules = bp_ruleset_rule(in->rules, 0);
	uint64_t with_rule = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct bp_flow *f = b->l[i].flow;

		/* not compared with the frame yet: a free slot may be damaged */
		if (b->p[i].body == 0 || f->memo_gen != in->gen ||
			f->memo_rule >= bp_ruleset_all(in->rules))
			continue;
		with_rule |= (uint64_t)1 << i;
		__builtin_prefetch(&rules[f->memo_rule]);
		__builtin_prefetch(&rules[f->memo_rule].part);
		__builtin_prefetch(&rules[f->memo_rule].short_raise);
	}
	for (uint64_t left = with_rule; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(left);
		const struct bp_rule *rule = &rules[b->l[i].flow->memo_rule];

		if (rule->fast != BP_RULE_FAST_PART)
			continue;
		b->part[i] = bp_part_key(
			in->part_state, in->part_state_len, rule->uid, b->p[i].topic_hash);
		b->parts |= (uint64_t)1 << i;
		__builtin_prefetch(b->part[i].bucket, 1);
		__builtin_prefetch(&in->rule_stats[rule->slot], 1);
		__builtin_prefetch(&in->rule_stats[rule->part.slot], 1);
	}
}

/* What a value is for its part. */
enum bp_burst_part {
	BP_BURST_PART_NO,       /* no repetition, and nothing is stored */
	BP_BURST_PART_STEADY,   /* a repetition that is no event for the combination */
	BP_BURST_PART_EVALUATE, /* another one: bp_burst_evaluate_part() has to follow */
};

/* Whether frame i, with this value, repeats the truth of this part. If that is steady, its time and
 * value are stored: also if the frame is read again after a restart. The value is b->result[i]. */
static inline enum bp_burst_part bp_burst_repeats_part(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct bp_rule *part, uint32_t i, uint32_t digits,
	unsigned point)
{
	_Atomic uint64_t *matched = &in->rule_stats[part->part.slot].matched;
	const double value = (double)(int32_t)digits / bp_number_scale[point];
	enum bp_truth truth;

	if (!(b->parts >> i & 1))
		return BP_BURST_PART_NO;
	b->result[i] = value;
	truth = bp_short_ranges_hold(&part->short_raise, digits, point) ? BP_TRUTH_TRUE
									: BP_TRUTH_FALSE;
	if (__builtin_expect(!(part->part.steady & truth), 0))
		/* gateways of a fleet share holds, on the general path */
		return in->fleet == NULL &&
				       (bp_part_state_word(&b->part[i]) & BP_PART_TRUTH) == truth
			       ? BP_BURST_PART_EVALUATE
			       : BP_BURST_PART_NO;
	if (!bp_combination_repeats(in, part, &b->part[i], truth, value))
		return BP_BURST_PART_NO;
	/* this worker is the row's only writer */
	atomic_store_explicit(matched, atomic_load_explicit(matched, memory_order_relaxed) + 1,
		memory_order_relaxed);
	return BP_BURST_PART_STEADY;
}

/* Evaluates the combination of a part after such a value. The records of the change are those of a
 * segment: the burst and they are complete by the same store. */
static inline void bp_burst_evaluate_part(struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b,
	const struct bp_rule *part, uint32_t i, const struct bp_evaluated *of)
{
	if (in->journal->slot == 0)
		bp_journal_begin_tick(in->journal, in->ring);
	bp_work_begin(&in->work, b->l[i].hash, b->p[i].end);
	bp_work_add(&in->work,
		BP_WORK_PACKET + BP_WORK_RULE + BP_WORK_VALUE + of->publish->payload_len);
	bp_combination_evaluate(
		in, part, of, b->p[i].topic_hash, bp_state_client(in, b->l[i].flow));
	bp_work_end(&in->work);
}

#endif
