/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/burst.h"

#include "biplane/counters/mqtt.h"
#include "services/mqtt/burst_hash.h"
#include "services/mqtt/burst_parts.h"
#include "services/mqtt/burst_policy.h"
#include "services/mqtt/burst_windows.h"
#include "services/mqtt/enforce.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/judged.h"
#include "services/mqtt/policy.h"
#include "services/mqtt/same_template.h"
#include "services/mqtt/sparkplug_fast.h"
#include "proto/payload/number.h"

/*
 * A burst passes several stages, each a loop over its frames in a separate function, since one loop
 * would need too many registers: hash, probe, parse, verify, decide. For frames of the same
 * template, parse and verify are one stage for four frames at a time (same_template.h). Only the
 * last stage changes state, so that the processor overlaps several frames. It processes frame by
 * frame in order and treats the probed flow as a hint: a frame takes the general path or is
 * evaluated here, and only then its flow is written.
 */
#define NOINLINE __attribute__((noinline))

/* ---- probe, parse, verify ---- */

static NOINLINE void probe(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, bool enforces)
{
	for (uint32_t i = 0; i < b->n; i++) {
		b->l[i].flow = bp_flow_candidate_in(&in->table, b->l[i].hash, b->group[i]);
		__builtin_prefetch(b->l[i].flow, 1);
		if (enforces || __builtin_expect(b->kind[i] == BP_BURST_PARSED, 0))
			__builtin_prefetch(b->l[i].flow->top, 1);
	}
}

static inline void parse_one(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint32_t i)
{
	const uint8_t *frame = b->frame[i];

	if (__builtin_expect(b->kind[i] == BP_BURST_PARSED, 0))
		b->p[i].body = 0;
	else
		bp_single_parse(in, frame, bp_be16(frame + BP_SINGLE_L3 + 2), &b->p[i]);
}

static NOINLINE void parse(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	const uint64_t parsed = b->same_template;

	for (uint32_t i = 0; i < b->n; i++) {
		if (__builtin_expect(!(parsed >> i & 1), 1))
			parse_one(in, b, i);
	}
}

/* Frames that take the general path are not verified here: that path verifies their checksums. */
static NOINLINE void verify(struct bp_mqtt_burst *b)
{
	const uint64_t parsed = b->same_template;

	for (uint32_t i = 0; i < b->n; i++) {
		if (b->kind[i] == BP_BURST_UNVERIFIED && b->p[i].body != 0 && !(parsed >> i & 1) &&
			!bp_single_checksum_ok(b->frame[i], b->p[i].end - BP_SINGLE_L3))
			b->p[i].body = 0;
	}
}

/* ---- parts of combinations ---- */

static NOINLINE void find_parts(const struct bp_mqtt_worker *in, struct bp_mqtt_burst *b)
{
	bp_burst_find_parts(in, b);
}

/* ---- counters ---- */

/* The slot of a rule if no rule matches. */
#define NO_SLOT UINT32_MAX

/* Counts of a burst, added to the counters in one step; counts of a rule are added when another
 * rule follows: most consecutive frames match the same rule. */
struct tally {
	uint32_t slot;      /* of the rule that the last frame matched, or NO_SLOT */
	uint32_t in_a_row;  /* frames with that slot */
	uint32_t publishes; /* before these; each is a segment, a packet, a memo hit */
	uint32_t matched;   /* of those, with a rule */
	uint32_t recalled;  /* of the publishes, with another topic than before: no memo hit */
	uint32_t blanked;   /* further ones, which no rule evaluates */
};

static inline void flush_rule(struct bp_mqtt_worker *in, struct tally *t)
{
	t->publishes += t->in_a_row;
	if (t->slot != NO_SLOT) {
		struct bp_rule_stats *stats = &in->rule_stats[t->slot];

		/* this worker is the row's only writer: a plain add, seen by readers as one store
		 */
		atomic_store_explicit(&stats->matched,
			atomic_load_explicit(&stats->matched, memory_order_relaxed) + t->in_a_row,
			memory_order_relaxed);
		t->matched += t->in_a_row;
	}
	t->in_a_row = 0;
}

static inline void flush(struct bp_mqtt_worker *in, struct tally *t)
{
	uint64_t *v = in->counters->v;
	uint32_t read;

	flush_rule(in, t);
	read = t->publishes + t->blanked;
	in->recalled = t->recalled + t->blanked;
	v[BP_C_SEG_INSPECTED] += read;
	v[BP_C_MQTT_PACKETS] += read;
	v[BP_C_MQTT_PUBLISH] += read;
	v[BP_C_TOPIC_CACHE_HIT] += read - in->recalled;
	v[BP_C_TOPIC_LOOKUP] += in->recalled;
	v[BP_C_MATCH] += t->matched;
	v[BP_C_MATCH_NONE] += t->publishes - t->matched;
}

/* Counts n frames, each a PUBLISH. */
static inline void count_publishes(
	struct bp_mqtt_worker *in, struct tally *t, uint32_t slot, uint32_t n)
{
	if (__builtin_expect(slot != t->slot, 0)) {
		flush_rule(in, t);
		t->slot = slot;
	}
	t->in_a_row += n;
}

/* ---- one frame ---- */

/* Values that are constant for all frames of a burst. */
struct burst_constants {
	const struct bp_rule *rules;
	uintptr_t flows;
	uint64_t *note;  /* of the journal, by frame */
	bp_v16 memo_gen; /* the generation of the rules, at the offset after the memo of a flow */
	uint32_t ticks;
};

/* The JSON number at the rule's path if its position is known without parsing; else NULL. */
static const uint8_t *json_number(
	struct bp_mqtt_worker *in, const struct bp_rule *rule, const uint8_t *payload, uint32_t *n)
{
	const struct bp_json_layout *layout;

	if (rule->fast != BP_RULE_FAST_JSON)
		return NULL;
	layout = bp_layouts_find(in->layouts, in->gen, rule->source, payload, *n);
	if (layout == NULL)
		return NULL;
	*n = layout->n;
	return payload + layout->at;
}

/* evaluate() for a metric of Sparkplug B. */
static enum bp_burst_verdict evaluate_sparkplug(struct bp_mqtt_worker *in,
	const struct bp_rule *rule, uint64_t topic, const uint8_t *payload, uint32_t len,
	double *value)
{
	switch (bp_sparkplug_read_fast(in, rule, topic, payload, len, value)) {
	case BP_SPARKPLUG_FAST_NO:
		return BP_BURST_GENERAL;
	case BP_SPARKPLUG_FAST_UNCHANGED:
		return BP_BURST_QUIET;
	case BP_SPARKPLUG_FAST_VALUE:
		break;
	}
	return BP_BURST_QUIET + bp_condition_holds(&rule->raise, *value);
}

/* evaluate() for a part of a combination. */
static inline enum bp_burst_verdict evaluate_part(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct bp_rule *part, uint32_t i, uint32_t digits,
	unsigned point)
{
	switch (bp_burst_repeats_part(in, b, part, i, digits, point)) {
	case BP_BURST_PART_NO:
		break;
	case BP_BURST_PART_EVALUATE:
		/* the undo records of a burst are for one change of each frame */
		return bp_ruleset_rule(in->rules, part->part.combination)->stateful &
				       BP_RULE_HAS_LAST
			       ? BP_BURST_GENERAL
			       : BP_BURST_RAISES;
	case BP_BURST_PART_STEADY:
		return BP_BURST_QUIET;
	}
	return BP_BURST_GENERAL;
}

/*
 * Whether the bytes of the flow before `end` can be kept until the broker has them, where the
 * policy refuses packets. Asked before what a frame changes for good: one that is dropped comes
 * again.
 */
static bool can_keep(struct bp_mqtt_worker *in, struct bp_flow *f, uint32_t end)
{
	return !bp_policy_refuses(in->rules) || bp_judged_can_keep(in, f, end);
}

static NOINLINE enum bp_burst_verdict evaluate_window(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct bp_rule *rule, uint32_t i, const uint8_t *payload,
	uint32_t len)
{
	const struct bp_burst_window_rule w = bp_burst_window_rule(in, rule);
	uint32_t digits;
	unsigned point;
	double value;

	if (!(b->windows >> i & 1) ||
		!can_keep(in, b->l[i].flow, b->l[i].flow->next[BP_TO_BROKER] + b->p[i].len))
		return BP_BURST_GENERAL;
	if (rule->fast_window == BP_RULE_FAST_TEXT &&
		bp_number_digits_before(payload + len, len, &digits, &point))
		value = (double)(int32_t)digits / bp_number_scale[point];
	else if (!bp_value_at(in, rule->source, payload, len, &value))
		return BP_BURST_GENERAL;
	return bp_burst_add_to_window(in, b, &w, i, value);
}

/* evaluate() for a value that is not a short number as text. */
static NOINLINE enum bp_burst_verdict evaluate_other(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct bp_rule *rule, uint32_t i, const uint8_t *payload,
	uint32_t len)
{
	uint32_t digits, n = len;
	const uint8_t *at;
	unsigned point;
	double value;

	if (rule->fast_window != BP_RULE_FAST_NO)
		return evaluate_window(in, b, rule, i, payload, len);
	if (rule->fast == BP_RULE_FAST_SPARKPLUG)
		return evaluate_sparkplug(
			in, rule, b->p[i].topic_hash, payload, len, &b->result[i]);
	if (rule->fast == BP_RULE_FAST_NO || rule->fast == BP_RULE_FAST_NO_SPARKPLUG)
		return BP_BURST_GENERAL;
	if (rule->fast == BP_RULE_FAST_PART)
		return bp_number_digits_before(payload + len, len, &digits, &point)
			       ? evaluate_part(in, b, rule, i, digits, point)
			       : BP_BURST_GENERAL;
	at = json_number(in, rule, payload, &n);
	if (at != NULL && bp_number_digits_before(at + n, n, &digits, &point))
		return BP_BURST_QUIET + bp_short_ranges_hold(&rule->short_raise, digits, point);
	if (!bp_value_at(in, rule->source, payload, len, &value))
		return BP_BURST_GENERAL;
	return BP_BURST_QUIET + bp_condition_holds(&rule->raise, value);
}

/* BP_BURST_GENERAL: no value, or the rule has state other than a window. */
static inline enum bp_burst_verdict evaluate(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	const struct bp_rule *rule, uint32_t i, const uint8_t *payload, uint32_t len)
{
	uint32_t digits;
	unsigned point;

	if (__builtin_expect(rule->fast != BP_RULE_FAST_TEXT, 0) ||
		__builtin_expect(!bp_number_digits_before(payload + len, len, &digits, &point), 0))
		return evaluate_other(in, b, rule, i, payload, len);
	return BP_BURST_QUIET + bp_short_ranges_hold(&rule->short_raise, digits, point);
}

/* Whether it is the expected flow, with any rule and MQTT version. */
static inline bool flow_matches(const struct bp_flow *f, const struct bp_lookup *l,
	const struct bp_single_publish *p, bp_v16 memo_gen)
{
	/* memo_hash, memo_gen */
	static const bp_v16 memo_mask = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};

	return bp_single_flow_is(f, l, p, memo_gen, memo_mask, BP_SINGLE_STATE(0), 0);
}

/*
 * Evaluates frame i, which was parsed, without changing state other than a window; *slot is that of
 * the rule in the statistics. The candidate of the lookup may be another flow by now, or none. The
 * topic is compared by its hash, which covers its length.
 */
static inline enum bp_burst_verdict evaluate_frame(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct burst_constants *now, uint32_t i, uint32_t *slot)
{
	const uint8_t *frame = b->frame[i];
	const struct bp_lookup *l = &b->l[i];
	const struct bp_single_publish *p = &b->p[i];
	const struct bp_flow *f = l->flow;
	uint32_t body = p->body;
	const struct bp_rule *rule;

	if (!flow_matches(f, l, p, now->memo_gen) ||
		!bp_single_in_sequence(f, frame + BP_SINGLE_L4))
		return BP_BURST_GENERAL;
	if (f->version == BP_MQTT_V5) {
		if (body == p->end || frame[body] != 0)
			return BP_BURST_GENERAL; /* properties */
		body++;
	}
	*slot = NO_SLOT;
	if (__builtin_expect(f->memo_rule >= BP_MEMO_MULTIPLE, 0))
		return f->memo_rule == BP_MEMO_MULTIPLE ? BP_BURST_GENERAL : BP_BURST_QUIET;
	rule = &now->rules[f->memo_rule];
	*slot = rule->slot;
	return evaluate(in, b, rule, i, frame + body, p->end - body);
}

/* Frame i, of `len` bytes of MQTT, is read: its stream moves on. The journal first, and neither
 * store may move: the position is taken back if the process is killed before its alarms are
 * visible. */
static inline void advance(
	const struct burst_constants *now, uint32_t i, struct bp_flow *f, uint32_t len)
{
	volatile uint64_t *note = &now->note[i];
	volatile uint32_t *next = &f->next[BP_TO_BROKER];
	const uint32_t at = f->next[BP_TO_BROKER];

	f->seen = now->ticks;
	*note = (uint64_t)at << 32 | ((((uintptr_t)f - now->flows) >> 6) + 1);
	*next = at + len;
	f->publishes++;
}

/* The alarm of frame i, which raises. */
static NOINLINE void raise_alarm(
	struct bp_mqtt_worker *in, const struct bp_mqtt_burst *b, uint32_t i)
{
	const struct bp_single_publish *p = &b->p[i];
	const uint8_t *frame = b->frame[i];
	struct bp_flow *f = b->l[i].flow;
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, f->memo_rule);
	struct bp_frame parsed = {.data = frame,
		.contiguous = p->end,
		.l2 = BP_SINGLE_L3,
		.l3 = BP_SINGLE_L3,
		.l4 = BP_SINGLE_L4,
		.to_broker = true};
	struct bp_mqtt_publish publish;
	struct bp_evaluated of = {.flow = f, .dir = BP_TO_BROKER, .publish = &publish};

	(void)bp_frame_tcp(&parsed, p->end - BP_SINGLE_L4); /* its lengths were checked */
	(void)bp_single_fields(frame, p, f->version, &publish);
	/* evaluation did without it, and so does a clone */
	if (rule->windowed || rule->fast == BP_RULE_FAST_SPARKPLUG ||
		rule->fast == BP_RULE_FAST_PART)
		of.value = b->result[i];
	else if (rule->action != BP_ACTION_MIRROR || in->record_mirrored)
		(void)bp_value_at(
			in, rule->source, publish.payload, publish.payload_len, &of.value);
	of.seq = parsed.seq;
	in->frame = &parsed;
	if (rule->fast == BP_RULE_FAST_PART) {
		bp_burst_evaluate_part(in, b, rule, i, &of);
	} else {
		const uint64_t next = bp_transition_next(in->now_ns, in->transition);

		bp_evaluated_number(in, &of, BP_VERDICT_RAISED, next, next);
		bp_alarm_emit(in, rule, BP_VERDICT_RAISED, &of);
	}
	in->frame = NULL;
}

/* ---- decide ---- */

/*
 * Runs before any frame takes the general path and at the end of the burst, not for each frame: a
 * branch that one value in twenty takes is often mispredicted, and each misprediction discards the
 * overlapped work on several frames.
 */
static NOINLINE void raise_alarms(
	struct bp_mqtt_worker *in, struct bp_mqtt_burst *b, uint64_t raised)
{
	for (uint64_t left = raised; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(left);
		const uint32_t seq = bp_be32(b->frame[i] + BP_SINGLE_L4 + 4);

		if (can_keep(in, b->l[i].flow, seq + b->p[i].len))
			raise_alarm(in, b, i);
		else
			b->without_room |= (uint64_t)1 << i;
	}
	bp_alarms_commit(in);
	if (in->journal->slot != 0)
		bp_journal_end(in->journal);
}

/* A frame that is not on the topic of the memo of its flow. */
static NOINLINE enum bp_burst_verdict decide_other_topic(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct burst_constants *now, struct tally *tally, uint32_t i,
	uint64_t raises)
{
	struct bp_burst_memo before;
	enum bp_burst_verdict verdict;
	uint32_t slot, policy_slot;

	switch (bp_burst_recall(in, b, i, raises, &before, &policy_slot)) {
	case BP_BURST_RECALL_NO:
		return BP_BURST_GENERAL;
	case BP_BURST_RECALL_BLANKED:
		advance(now, i, b->l[i].flow, b->p[i].len);
		tally->blanked++;
		return BP_BURST_QUIET;
	case BP_BURST_RECALL_ALLOWED:
		break;
	}
	verdict = evaluate_frame(in, b, now, i, &slot);
	if (verdict == BP_BURST_GENERAL) {
		bp_burst_undo_recall(b->l[i].flow, &before);
		return BP_BURST_GENERAL;
	}
	bp_policy_count_allowed(in, policy_slot);
	advance(now, i, b->l[i].flow, b->p[i].len);
	count_publishes(in, tally, slot, 1);
	tally->recalled++;
	return verdict;
}

/* A frame that was parsed individually; if it takes the general path, nothing was changed.
 * `raises`: earlier frames whose alarms are still to be raised. */
static inline enum bp_burst_verdict decide_single(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct burst_constants *now, struct tally *tally, uint32_t i,
	uint64_t raises)
{
	const struct bp_single_publish *p = &b->p[i];
	enum bp_burst_verdict verdict;
	uint32_t slot;

	if (__builtin_expect(p->body == 0, 0))
		return BP_BURST_GENERAL;
	verdict = evaluate_frame(in, b, now, i, &slot);
	if (__builtin_expect(verdict == BP_BURST_GENERAL, 0))
		return decide_other_topic(in, b, now, tally, i, raises);
	advance(now, i, b->l[i].flow, p->len);
	count_publishes(in, tally, slot, 1);
	return verdict;
}

/* A frame of the template, by its flow's own rule. */
static inline enum bp_burst_verdict decide_own_rule(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct burst_constants *now, struct tally *tally, uint32_t i)
{
	const struct bp_template *x = in->same_template;
	struct bp_flow *f = b->l[i].flow;
	const struct bp_rule *rule;
	enum bp_burst_verdict verdict;

	if (__builtin_expect(!bp_template_flow_matches(x, b->frame[i], &b->l[i], &b->p[i]), 0))
		return BP_BURST_GENERAL;
	rule = bp_template_rule(now->rules, f);
	if (__builtin_expect(rule == NULL, 0))
		return BP_BURST_GENERAL;
	if (rule->fast == BP_RULE_FAST_PART)
		verdict = evaluate_part(in, b, rule, i, b->number[i], x->point);
	else
		verdict = BP_BURST_QUIET +
			  bp_short_ranges_hold(&rule->short_raise, b->number[i], x->point);
	if (__builtin_expect(verdict == BP_BURST_GENERAL, 0))
		return BP_BURST_GENERAL;
	advance(now, i, f, x->len);
	count_publishes(in, tally, rule->slot, 1);
	return verdict;
}

/* A frame of the template that has a window, by its rule; `scale`: of the numbers. */
static inline enum bp_burst_verdict decide_window(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, const struct burst_constants *now,
	const struct bp_burst_window_rule *w, double scale, uint32_t i)
{
	const struct bp_template *x = in->same_template;
	struct bp_flow *f = b->l[i].flow;
	enum bp_burst_verdict verdict;

	if (__builtin_expect(!bp_template_flow_matches(x, b->frame[i], &b->l[i], &b->p[i]), 0) ||
		!can_keep(in, f, f->next[BP_TO_BROKER] + x->len))
		return BP_BURST_GENERAL;
	verdict = bp_burst_add_to_window(in, b, w, i, (double)(int32_t)b->number[i] / scale);
	if (__builtin_expect(verdict != BP_BURST_GENERAL, 1))
		advance(now, i, f, x->len);
	return verdict;
}

/* How the frames of the template that have numbers are decided. */
enum by { BY_NONE, BY_ONE_RULE, BY_OWN_RULES, BY_WINDOW };

/*
 * Returns one more than the index of the last frame that took the general path, or 0. `by` is a
 * constant: each variant has a separate loop with its values in registers.
 */
static inline __attribute__((always_inline)) uint32_t decide_by(struct bp_mqtt_worker *in,
	struct bp_mqtt_burst *b, enum by by, void (*general)(void *arg, uint32_t i), void *arg)
{
	const struct burst_constants now = {.rules = bp_ruleset_rule(in->rules, 0),
		.memo_gen = (bp_v16)(bp_v4){0, 0, 0, in->gen},
		.flows = (uintptr_t)in->table.flow,
		.note = in->journal->note,
		.ticks = in->now_ticks};
	const struct bp_template *x = in->same_template;
	/* after a pause, the general path asks the fleet */
	const bool evaluates = in->evaluates[BP_TO_BROKER] && !in->confirms;
	const uint64_t numbers = by == BY_NONE || in->confirms ? 0
				 : by == BY_WINDOW             ? b->numbers & b->windows
							       : b->numbers;
	const uint32_t n = b->n;
	uint64_t raises = in->confirms ? 0 : b->raises;
	struct tally tally = {.slot = NO_SLOT};
	uint32_t n_one_rule = 0, behind_general = 0;
	const struct bp_burst_window_rule w =
		by == BY_WINDOW ? bp_burst_window_rule(in, &now.rules[x->rule])
				: (struct bp_burst_window_rule){0};
	const double scale = by == BY_WINDOW ? bp_number_scale[x->point] : 1;

	bp_journal_burst(in->journal, in->ring, 0, 0);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t bit = (uint64_t)1 << i;
		enum bp_burst_verdict verdict = BP_BURST_GENERAL;

		if (by == BY_OWN_RULES && __builtin_expect(numbers >> i & 1, 1)) {
			verdict = decide_own_rule(in, b, &now, &tally, i);
			raises |= (uint64_t)(verdict == BP_BURST_RAISES) << i;
			if (__builtin_expect(verdict != BP_BURST_GENERAL, 1))
				continue;
		} else if (by == BY_WINDOW && __builtin_expect(numbers >> i & 1, 1)) {
			verdict = decide_window(in, b, &now, &w, scale, i);
			raises |= (uint64_t)(verdict == BP_BURST_RAISES) << i;
			n_one_rule += verdict != BP_BURST_GENERAL;
			if (__builtin_expect(verdict != BP_BURST_GENERAL, 1))
				continue;
		} else if (__builtin_expect(numbers >> i & 1, 1)) {
			if (__builtin_expect(
				    bp_template_flow_matches(x, b->frame[i], &b->l[i], &b->p[i]),
				    1)) {
				advance(&now, i, b->l[i].flow, x->len);
				n_one_rule++;
				continue;
			}
			raises &= ~bit; /* its flow has another rule, or state */
		}
		if (__builtin_expect(evaluates, 1))
			verdict = decide_single(in, b, &now, &tally, i, raises & (bit - 1));
		raises |= (uint64_t)(verdict == BP_BURST_RAISES) << i;
		if (__builtin_expect(verdict != BP_BURST_GENERAL, 1))
			continue;
		raise_alarms(in, b, raises & (bit - 1));
		raises &= ~(bit - 1);
		bp_journal_burst(in->journal, in->ring, behind_general, i);
		general(arg, i);
		bp_journal_burst(in->journal, in->ring, i, i);
		behind_general = i + 1;
	}
	raise_alarms(in, b, raises);
	bp_journal_burst(in->journal, in->ring, behind_general, n);
	if (n_one_rule != 0)
		count_publishes(in, &tally, x->slot, n_one_rule);
	flush(in, &tally);
	return behind_general;
}

static NOINLINE uint32_t decide(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, BY_NONE, general, arg);
}

static NOINLINE uint32_t decide_one_rule(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, BY_ONE_RULE, general, arg);
}

static NOINLINE uint32_t decide_own_rules(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, BY_OWN_RULES, general, arg);
}

static NOINLINE uint32_t decide_windows(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, BY_WINDOW, general, arg);
}

void bp_mqtt_burst_read(struct bp_mqtt_worker *in, struct bp_mqtt_burst *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	const struct bp_template *x = in->same_template;
	const bool enforces = bp_policy_refuses(in->rules);
	uint32_t behind_general;

	if (__builtin_expect(b->networks_differ, 0))
		bp_burst_hash_of_networks(in, b);
	else
		bp_burst_hash(in, b);
	probe(in, b, enforces);
	b->same_template = b->numbers = b->raises = b->changed = b->without_room = 0;
	if (x->on && x->gen == in->gen)
		bp_template_read(in, b);
	if (b->same_template != UINT64_MAX >> (BP_MQTT_BURST - b->n)) {
		parse(in, b);
		verify(b);
	}
	if (enforces)
		bp_judged_prefetch(in, b);
	if (in->recalled >= BP_BURST_RECALLED_MANY)
		bp_policy_prefetch(in, b);
	if (in->rules->n_sparkplug != 0)
		bp_sparkplug_prefetch(in, b);
	b->windows = b->parts = 0;
	if (in->rules->n_parts != 0)
		find_parts(in, b);
	if (in->rules->n_windows != 0)
		bp_burst_find_windows(in, b);
	if (b->numbers == 0)
		behind_general = decide(in, b, general, arg);
	else if (x->windowed)
		behind_general = decide_windows(in, b, general, arg);
	else
		behind_general = x->own_rules ? decide_own_rules(in, b, general, arg)
					      : decide_one_rule(in, b, general, arg);
	bp_template_learn(in, b, behind_general);
}
