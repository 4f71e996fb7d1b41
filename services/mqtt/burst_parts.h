/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_MQTT_BURST_PARTS_H
#define BP_SERVICES_MQTT_BURST_PARTS_H

#include "services/mqtt/evaluate.h"
#include "services/mqtt/single_publish.h"
#include "proto/payload/number.h"

/* Parts of combinations on the burst path, for burst.c alone: values that repeat the truth of a
 * part, which are nearly all. */

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

/* Whether frame i repeats the truth of this part, whose time and value are then stored: also if the
 * frame is read again after a restart. */
static inline bool bp_burst_repeats_part(struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b,
	const struct bp_rule *part, uint32_t i, const uint8_t *payload, uint32_t len)
{
	_Atomic uint64_t *matched = &in->rule_stats[part->part.slot].matched;
	enum bp_truth truth;
	uint32_t digits;
	unsigned point;

	if (!(b->parts >> i & 1) || !bp_number_digits_before(payload + len, len, &digits, &point))
		return false;
	truth = bp_short_ranges_hold(&part->short_raise, digits, point) ? BP_TRUTH_TRUE
									: BP_TRUTH_FALSE;
	if (!bp_combination_repeats(
		    in, part, &b->part[i], truth, (double)(int32_t)digits / bp_number_scale[point]))
		return false;
	/* this worker is the row's only writer */
	atomic_store_explicit(matched, atomic_load_explicit(matched, memory_order_relaxed) + 1,
		memory_order_relaxed);
	return true;
}

#endif
