/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "shm/rules/rule_uid.h"
#include "shm/rules/ruleset_draft.h"
#include "shm/rules/window.h"

/* The rules of a draft. */

#define STRINGS_SEARCHED 64u /* the latest, for equal ones */

/* --- sources ----------------------------------------------------------------------------- */

/* Canonical sources have their padding cleared, so their bytes can be compared. */
static bool same_bytes(const void *a, const void *b, size_t n)
{
	return memcmp(a, b, n) == 0;
}

/* 1 + the index of the rule's strings. They are few: most rules compare numbers. */
static uint32_t strings_intern(struct bp_draft *d, const struct bp_value_strings *strings)
{
	for (uint32_t i = d->n_strings; i-- > 0 && d->n_strings - i <= STRINGS_SEARCHED;) {
		if (same_bytes(&d->strings[i], strings, sizeof(*strings)))
			return i + 1;
	}
	d->strings[d->n_strings++] = *strings;
	return d->n_strings;
}

static uint32_t source_intern(struct bp_draft *d, const struct bp_rule_spec *spec)
{
	struct bp_value_source canonical;
	uint32_t i;

	bp_value_source_canonical(&canonical, &spec->value);
	if (canonical.type == BP_VALUE_STRING)
		canonical.strings = strings_intern(d, &spec->strings);
	i = (uint32_t)bp_stable_hash(&canonical, sizeof(canonical));
	for (;; i++) {
		uint32_t *at = &d->source_index[i & d->source_mask];

		if (*at == 0) {
			memcpy(&d->sources[d->n_sources], &canonical, sizeof(canonical));
			*at = ++d->n_sources;
			return *at - 1;
		}
		if (same_bytes(&d->sources[*at - 1], &canonical, sizeof(canonical)))
			return *at - 1;
	}
}

/* --- rules ------------------------------------------------------------------------------- */

static uint8_t fast_way(const struct bp_value_source *source, bool stateless)
{
	if (source->kind == BP_VALUE_SPARKPLUG)
		return stateless && !source->extended &&
				       source->sparkplug.what == BP_SPARKPLUG_METRIC &&
				       source->names.member[0] == '\0'
			       ? BP_RULE_FAST_SPARKPLUG
			       : BP_RULE_FAST_NO_SPARKPLUG;
	if (source->extended || !stateless)
		return BP_RULE_FAST_NO;
	switch ((enum bp_value_kind)source->kind) {
	case BP_VALUE_TEXT:
		return BP_RULE_FAST_TEXT;
	case BP_VALUE_JSON:
		return BP_RULE_FAST_JSON;
	case BP_VALUE_BINARY:
		return BP_RULE_FAST_BINARY;
	case BP_VALUE_SPARKPLUG:
	case BP_VALUE_CBOR:
	case BP_VALUE_MSGPACK:
		break;
	}
	return BP_RULE_FAST_NO;
}

static uint8_t window_way(const struct bp_rule *r, const struct bp_value_source *source)
{
	if (!r->windowed || r->stateful || !bp_window_is_fast(&r->window) ||
		source->kind == BP_VALUE_SPARKPLUG)
		return BP_RULE_FAST_NO;
	return fast_way(source, true);
}

/* true raises and false clears: the values 1 and 0. */
static void combination_fill(struct bp_rule *r, const struct bp_combination_spec *c)
{
	r->role = BP_RULE_COMBINATION;
	r->raise = (struct bp_condition){.op = BP_COND_GE, .a = 1};
	r->clear = (struct bp_condition){.op = BP_COND_LT, .a = 1};
	r->has_clear = true;
	r->combination.n_parts = c->n_parts;
	r->combination.program = c->program;
}

static int rule_fill(struct bp_draft *d, uint32_t i)
{
	const struct bp_rule_spec *s = d->spec[i];
	struct bp_rule *r = &d->rules[i];
	const size_t name = strnlen(s->name, sizeof(s->name));
	const size_t to = strnlen(s->to, sizeof(s->to));
	const size_t filter = strnlen(s->filter, sizeof(s->filter));

	/* a part has no name of its own */
	if ((name == 0 && i < d->n_specs) || name == sizeof(s->name) || to == sizeof(s->to) ||
		filter == sizeof(s->filter)) {
		snprintf(d->err, d->err_size,
			"rule %u (%.*s): a name has 1 to %d bytes, a topic filter at most %d, `to` "
			"at "
			"most %d",
			i, BP_RULE_NAME_MAX, s->name, BP_RULE_NAME_MAX, BP_RULE_FILTER_MAX,
			BP_RULE_TO_MAX);
		return -1;
	}
	memset(r, 0, sizeof(*r));
	r->uid = bp_rule_uid(s);
	r->raise = s->raise;
	bp_short_ranges_fill(&r->short_raise, &s->raise);
	r->has_clear = s->has_clear;
	r->hold = s->hold;
	r->repeat = s->repeat;
	r->action = s->action;
	r->hold_count = s->hold_count;
	r->source = source_intern(d, s);
	r->slot = BP_RULE_NONE;
	r->next = BP_RULE_NONE;
	r->clear = s->clear;
	r->hold_ns = s->hold_ns;
	r->absent_ns = s->absent_ns;
	r->absent = s->absent_ns != 0;
	r->literal = strpbrk(s->filter, "+#") == NULL;
	d->n_absent += r->absent;
	r->windowed = s->window.given;
	r->window = s->window;
	d->n_windows += s->window.given;
	if (s->window.given && bp_window_expires(&s->window) &&
		(d->window_pane_ns == 0 || bp_window_pane_ns(&s->window) < d->window_pane_ns))
		d->window_pane_ns = bp_window_pane_ns(&s->window);
	r->payload = s->payload;
	r->destination = s->destination;
	r->severity = s->severity;
	r->value_type = s->value.type;
	if (s->combination != NULL)
		combination_fill(r, s->combination);
	r->quiet_ns = s->quiet_ns;
	r->deadband = s->deadband;
	r->stateful = bp_rule_spec_stateful(s);
	if (s->quiet_ns != 0 || s->deadband != 0)
		r->stateful |= BP_RULE_HAS_LAST;
	r->fast = fast_way(&d->sources[r->source], !r->stateful && !r->windowed);
	r->fast_window = window_way(r, &d->sources[r->source]);
	r->name_len = (uint8_t)name;
	r->to_len = (uint16_t)to;
	r->to_client = memmem(s->to, to, "{client}", 8) != NULL;
	r->filter_len = (uint16_t)filter;
	memcpy(r->name, s->name, name);
	memcpy(r->to, s->to, to);
	return 0;
}

/* ---- combinations ---- */

static int bad_part(struct bp_draft *d, uint32_t rule, unsigned k, const char *why)
{
	snprintf(d->err, d->err_size, "rule %s: part %u: %s", d->spec[rule]->name, k, why);
	return -1;
}

/* The levels of a part's names, in the order of those of the first part. */
static const char *levels_fill(
	struct bp_rule *r, const char *filter, const struct bp_level_names *first)
{
	struct bp_level_names names;
	const char *why;
	uint32_t at;

	if (!bp_level_names_read(filter, r->filter_len, &names, &why, &at))
		return why;
	if (names.n != first->n)
		return bp_level_names_differ;
	for (unsigned n = 0; n < first->n; n++) {
		const int k = bp_level_names_find(&names, first->at[n].name, first->at[n].len);

		if (k < 0)
			return bp_level_names_differ;
		r->part.level[n] = (uint16_t)names.at[k].level;
	}
	return NULL;
}

/*
 * The truths of part k after which a repetition is no event for the combination. With on_change and
 * without a hold only a change of the result is one, and a repetition changes no result to true or
 * false. Otherwise it is one unless the part alone makes the result false: then nothing is raised
 * or held.
 */
static uint8_t steady_truths(const struct bp_rule *rule, unsigned k)
{
	static const uint8_t both[] = {BP_TRUTH_FALSE, BP_TRUTH_TRUE};
	uint8_t steady = 0;

	if (rule->stateful & BP_RULE_HAS_LAST)
		return 0;
	if (rule->repeat == BP_REPEAT_ON_CHANGE && rule->hold == BP_HOLD_NONE)
		return BP_TRUTH_FALSE | BP_TRUTH_TRUE;
	for (unsigned i = 0; i < 2; i++) {
		uint8_t truth[BP_PARTS_MAX] = {0};

		truth[k] = both[i];
		if (bp_program_evaluate(&rule->combination.program, truth) == BP_TRUTH_FALSE)
			steady |= both[i];
	}
	return steady;
}

/* A part is a rule without an alarm of its own. */
static int part_fill(
	struct bp_draft *d, uint32_t rule, unsigned k, const struct bp_level_names *names)
{
	struct bp_rule *r = &d->rules[d->rules[rule].combination.first_part + k];
	const struct bp_rule_spec *s = &d->spec[rule]->combination->part[k];
	const char *why;

	memset(&r->part, 0, sizeof(r->part));
	r->role = BP_RULE_PART;
	r->stateful = false;
	r->fast = fast_way(&d->sources[r->source], false);
	if (!r->windowed && fast_way(&d->sources[r->source], true) == BP_RULE_FAST_TEXT)
		r->fast = BP_RULE_FAST_PART;
	r->fast_window = BP_RULE_FAST_NO;
	r->uid = bp_part_uid(d->rules[rule].uid, k);
	r->part.max_age_ns = s->max_age_ns;
	r->part.combination = rule;
	r->part.part = (uint8_t)k;
	r->part.steady = steady_truths(&d->rules[rule], k);
	r->name_len = d->rules[rule].name_len; /* traces show its combination */
	memcpy(r->name, d->rules[rule].name, sizeof(r->name));
	why = levels_fill(r, s->filter, names);
	return why == NULL ? 0 : bad_part(d, rule, k, why);
}

static int parts_fill(struct bp_draft *d, uint32_t rule)
{
	struct bp_rule_combination *c = &d->rules[rule].combination;
	const struct bp_rule_spec *first = d->spec[c->first_part];
	struct bp_level_names names;
	const char *why;
	uint32_t at;

	if (!bp_program_valid(&c->program, c->n_parts))
		return bad_part(d, rule, 0, "the program of the combination is not valid");
	if (!bp_level_names_read(first->filter, (uint32_t)strlen(first->filter), &names, &why, &at))
		return bad_part(d, rule, 0, why);
	c->n_names = (uint8_t)names.n;
	for (unsigned k = 0; k < c->n_parts; k++)
		if (part_fill(d, rule, k, &names) != 0)
			return -1;
	return 0;
}

static void list_specs(struct bp_draft *d)
{
	uint32_t part = d->n_specs;

	for (uint32_t i = 0; i < d->n_specs; i++) {
		const struct bp_combination_spec *c = d->specs[i].combination;

		d->spec[i] = &d->specs[i];
		for (unsigned k = 0; c != NULL && k < c->n_parts; k++)
			d->spec[part++] = &c->part[k];
	}
}

int bp_draft_rules(struct bp_draft *d)
{
	uint32_t part = d->n_specs;

	list_specs(d);
	for (uint32_t i = 0; i < d->n; i++)
		if (rule_fill(d, i) != 0)
			return -1;
	for (uint32_t i = 0; i < d->n_specs; i++) {
		if (d->rules[i].role != BP_RULE_COMBINATION)
			continue;
		d->rules[i].combination.first_part = part;
		part += d->rules[i].combination.n_parts;
		if (parts_fill(d, i) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < d->n; i++)
		if (bp_draft_filter_add(d, i) != 0)
			return -1;
	return 0;
}
