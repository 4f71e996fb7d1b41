/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "biplane/alarm_parts.h"
#include "biplane/counters/mqtt.h"
#include "services/mqtt/evaluate.h"
#include "services/mqtt/mqtt_worker.h"
#include "shm/rules/key_topic.h"
#include "proto/net/copy.h"

/*
 * Combinations: the truth of a part is stored, and the combination of this key evaluated.
 *
 * The parts of a key may be published on several workers at the same time. A worker stores its
 * truth before it evaluates, so of two workers at least one sees both truths. It reads the state
 * of the key before the truths (struct bp_rule_reading), and its change of the state fails where
 * another worker has evaluated the key since: then it reads the truths again. A change that
 * succeeds is therefore made by truths that no evaluation has overtaken, so a worker that is paused
 * meanwhile neither repeats a transition nor undoes a later one.
 */
#define ROUNDS 64u

/* ---- the named levels ---- */

/* The name of a level, without braces. */
static struct bp_topic_level name_of(
	const struct bp_ruleset *rules, const struct bp_combined *c, unsigned i)
{
	const struct bp_topic_level braced = bp_topic_level(
		bp_ruleset_filter(rules, c->first), c->first->filter_len, c->first->part.level[i]);

	if (braced.len < 2) /* cannot happen: the control plane has checked it */
		return (struct bp_topic_level){"", 0};
	return (struct bp_topic_level){braced.text + 1, braced.len - 2};
}

bool bp_combined_level(const struct bp_ruleset *rules, const struct bp_combined *c,
	const char *name, uint32_t len, const char **text, uint32_t *text_len)
{
	for (unsigned i = 0; i < c->rule->combination.n_names; i++) {
		const struct bp_topic_level known = name_of(rules, c, i);
		struct bp_topic_level p;

		if (known.len != len || memcmp(known.text, name, len) != 0)
			continue;
		p = bp_topic_level(c->topic, c->topic_len, c->first->part.level[i]);
		*text = p.text;
		*text_len = p.len;
		return true;
	}
	return false;
}

/* ---- the parts in an alarm ---- */

uint32_t bp_combined_size(const struct bp_ruleset *rules, const struct bp_combined *c)
{
	const struct bp_rule_combination *of = &c->rule->combination;
	uint32_t size = (of->n_parts + of->n_names) * (uint32_t)sizeof(struct bp_alarm_part);

	for (unsigned i = 0; i < of->n_names; i++)
		size += name_of(rules, c, i).len +
			bp_topic_level(c->topic, c->topic_len, c->first->part.level[i]).len;
	for (unsigned i = 0; i < of->n_parts; i++)
		size += bp_ruleset_rule(rules, of->first_part + i)->filter_len;
	return size;
}

static char *put(
	char *out, struct bp_alarm_part *part, struct bp_topic_level a, struct bp_topic_level b)
{
	part->len[0] = (uint16_t)a.len;
	part->len[1] = (uint16_t)b.len;
	memcpy(out, part, sizeof(*part));
	out += sizeof(*part);
	bp_copy(out, a.text, a.len);
	bp_copy(out + a.len, b.text, b.len);
	return out + a.len + b.len;
}

void bp_combined_write(const struct bp_mqtt_worker *in, const struct bp_combined *c, char *out)
{
	const struct bp_rule_combination *of = &c->rule->combination;
	const struct bp_topic_level none = {"", 0};

	for (unsigned i = 0; i < of->n_names; i++) {
		struct bp_alarm_part p = {.kind = BP_ALARM_LEVEL, .value = NAN};

		out = put(out, &p, name_of(in->rules, c, i),
			bp_topic_level(c->topic, c->topic_len, c->first->part.level[i]));
	}
	for (unsigned i = 0; i < of->n_parts; i++) {
		const struct bp_rule *r = bp_ruleset_rule(in->rules, of->first_part + i);
		struct bp_alarm_part p = {.kind = BP_ALARM_PART};
		struct bp_part_view v;

		bp_part_state_view(&c->part[i], in->mono_ns, &v);
		p.value = v.value;
		p.age_ns = v.age_ns;
		p.truth = bp_part_word_truth(v.word, r->part.max_age_ns, in->mono_ns);
		out = put(out, &p,
			(struct bp_topic_level){bp_ruleset_filter(in->rules, r), r->filter_len},
			none);
	}
}

/* ---- evaluation ---- */

/* The truth of the part that is published. */
struct own {
	unsigned part;
	enum bp_truth truth;
	bool kept; /* it is stored: an even newer one counts */
};

static bool read_words(const struct bp_combined *c, uint64_t word[BP_PARTS_MAX])
{
	bool same = true;

	for (unsigned i = 0; i < c->rule->combination.n_parts; i++) {
		const uint64_t w = bp_part_state_word(&c->part[i]);

		same &= w == word[i];
		word[i] = w;
	}
	return same;
}

/* The result for truths that the parts had at one time: they are read until two readings agree. */
static enum bp_truth result(
	const struct bp_mqtt_worker *in, const struct bp_combined *c, const struct own *own)
{
	uint64_t word[BP_PARTS_MAX] = {0};
	uint8_t truth[BP_PARTS_MAX];

	read_words(c, word);
	for (unsigned i = 0; in->workers > 1 && i < ROUNDS && !read_words(c, word); i++)
		;
	for (unsigned i = 0; i < c->rule->combination.n_parts; i++) {
		const struct bp_rule *r =
			bp_ruleset_rule(in->rules, c->rule->combination.first_part + i);

		truth[i] = (uint8_t)bp_part_word_truth(word[i], r->part.max_age_ns, in->mono_ns);
	}
	if (!own->kept)
		truth[own->part] = (uint8_t)own->truth;
	return bp_program_evaluate(&c->rule->combination.program, truth);
}

static void count(_Atomic uint64_t *stat)
{
	atomic_store_explicit(
		stat, atomic_load_explicit(stat, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The evaluation of a combination, whose value depends on the truths of all its parts. */
struct decision {
	struct bp_rule_reading reading; /* first */
	const struct bp_mqtt_worker *in;
	const struct bp_combined *c;
	const struct own *own;
	struct bp_evaluated of;
	enum bp_truth result;
};

static bool read_result(struct bp_rule_reading *r, double *value)
{
	struct decision *d = (struct decision *)r;

	d->result = result(d->in, d->c, d->own);
	*value = d->result == BP_TRUTH_UNKNOWN ? NAN : d->result == BP_TRUTH_TRUE;
	d->of.value = *value;
	return d->result != BP_TRUTH_UNKNOWN;
}

static void decide(struct bp_mqtt_worker *in, const struct bp_combined *c,
	const struct bp_evaluated *of, const struct own *own, uint64_t topic_hash)
{
	struct bp_rule_stats *stats = &in->rule_stats[c->rule->slot];
	struct decision d = {
		.reading = {.read = read_result, .shared = in->workers > 1},
		.in = in,
		.c = c,
		.own = own,
		.of = *of,
	};

	d.of.combined = c;
	d.of.type = BP_VALUE_NUMBER;
	bp_rule_apply(in, c->rule, &d.of, topic_hash, &d.reading);
	if (d.result == BP_TRUTH_UNKNOWN) {
		bp_tally(in, BP_C_COMBINATION_UNKNOWN);
		count(&stats->no_value);
	}
}

/* The topics of the key's parts, from one of part `own`. *topic_hash: of that, then of the first
 * one. False: one is too long to be published. */
static bool find_parts(struct bp_mqtt_worker *in, struct bp_combined *c, const struct bp_rule *own,
	const struct bp_mqtt_publish *p, uint64_t *topic_hash)
{
	const uint64_t own_hash = *topic_hash;

	/* the first one at the end, because its text remains in the buffer */
	for (unsigned i = c->rule->combination.n_parts; i-- != 0;) {
		const struct bp_rule *part =
			bp_ruleset_rule(in->rules, c->rule->combination.first_part + i);

		*topic_hash = own_hash;
		c->topic = (const char *)p->topic;
		c->topic_len = p->topic_len;
		if (part == own)
			continue;
		if (c->rule->combination.n_names == 0) {
			c->topic = bp_ruleset_filter(in->rules, part);
			c->topic_len = part->filter_len;
		} else {
			c->topic_len = bp_part_topic(in->rules, own, part, c->topic, c->topic_len,
				in->key_topic, BP_TOPIC_MAX);
			c->topic = in->key_topic;
			if (c->topic_len > BP_TOPIC_MAX)
				return false;
		}
		*topic_hash = bp_topic_hash(in, (const uint8_t *)c->topic, c->topic_len);
		c->part[i] =
			bp_part_key(in->part_state, in->part_state_len, part->uid, *topic_hash);
	}
	bp_work_add(&in->work, (uint64_t)c->rule->combination.n_parts * (c->topic_len / 4));
	return true;
}

void bp_combination_evaluate(struct bp_mqtt_worker *in, const struct bp_rule *part,
	const struct bp_evaluated *of, uint64_t topic_hash, uint32_t client)
{
	const struct bp_rule *rule = bp_ruleset_rule(in->rules, part->part.combination);
	struct bp_combined c = {
		.rule = rule, .first = bp_ruleset_rule(in->rules, rule->combination.first_part)};
	struct own own = {.part = part->part.part,
		.truth = bp_condition_holds(&part->raise, of->value) ? BP_TRUTH_TRUE
								     : BP_TRUTH_FALSE,
		.kept = true};
	struct bp_part_key *key = &c.part[own.part];
	enum bp_state_loss loss;

	*key = bp_part_key(in->part_state, in->part_state_len, part->uid, topic_hash);
	bp_work_add(&in->work, BP_WORK_STATE);
	count(&in->rule_stats[rule->slot].matched);
	/* a trace shows the combination */
	if (in->evaluated == NULL && bp_combination_repeats(in, part, key, own.truth, of->value))
		return;
	bp_work_add(&in->work, (uint64_t)rule->combination.n_parts * BP_WORK_STATE);
	if (!find_parts(in, &c, part, of->publish, &topic_hash)) {
		bp_tally(in, BP_C_COMBINATION_NOT_STORED);
		return;
	}
	loss = bp_part_state_store(key, client, own.truth, of->value, in->mono_ns);
	if (loss == BP_STATE_NOT_KEPT) {
		bp_tally(in, BP_C_COMBINATION_NOT_STORED);
		own.kept = false;
	} else if (loss != BP_STATE_NO_LOSS) {
		bp_tally(in, BP_C_COMBINATION_EVICTED);
	}
	decide(in, &c, of, &own, topic_hash);
}
