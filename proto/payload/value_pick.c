/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/value_pick.h"

#include <string.h>

#include "proto/payload/number.h"
#include "proto/payload/utf8.h"

void bp_pick_init(struct bp_pick *p, const struct bp_value_source *source,
	const struct bp_value_strings *strings, const struct bp_value_rank *rank,
	bool (*decode)(const uint8_t *at, const uint8_t *end, struct bp_value_text *text))
{
	p->source = source;
	p->path = &source->json;
	p->strings = strings;
	p->rank = rank;
	p->decode = decode;
	p->elements = 0;
	p->best.has = false;
	p->outer[0].has = false;
	p->kinds = 0;
	p->depth = p->matched = 0;
	p->element = BP_PICK_NO_ELEMENT;
	p->hit = true; /* the root */
}

/* The number of [*] before a step. */
static uint32_t every_before(const struct bp_json_path *path, uint32_t step)
{
	uint32_t n = 0;

	for (uint32_t i = 0; path->every != 0 && i < step; i++)
		n += path->step[i].every;
	return n;
}

/* Whether one more element is compared. */
static bool count(struct bp_pick *p)
{
	p->elements += p->elements <= BP_VALUE_ELEMENTS_MAX;
	return p->elements <= BP_VALUE_ELEMENTS_MAX;
}

void bp_pick_hit(struct bp_pick *p, uint32_t step)
{
	if (step >= p->path->steps) /* the root: there is one */
		return;
	if (!p->path->step[step].every)
		p->best = p->outer[every_before(p->path, step)];
	else if (count(p))
		p->outer[every_before(p->path, step) + 1] = p->best;
}

double bp_value_scaled(const struct bp_value_source *source, double value)
{
	if (!source->scaled)
		return value;
	value = value * source->scale + source->offset;
	return bp_number_in_range(value, value < 0);
}

static void put(struct bp_pick *p, double value, const uint8_t *at, const uint8_t *end)
{
	struct bp_candidate c = {
		.has = true, .value = bp_value_scaled(p->source, value), .at = at, .end = end};

	if (p->rank == NULL) {
		p->best = c;
		return;
	}
	c.rank = (uint8_t)p->rank->of(p->rank->arg, c.value);
	if (!p->best.has || c.rank > p->best.rank)
		p->best = c;
}

void bp_pick_number(struct bp_pick *p, double value, const uint8_t *at, const uint8_t *end)
{
	if (count(p))
		put(p, value, at, end);
}

void bp_pick_json_number(struct bp_pick *p, const uint8_t *at, const uint8_t *end)
{
	if (p->rank != NULL) {
		if (count(p))
			put(p, bp_number_value(at, end, end), at, end);
		return;
	}
	p->best = (struct bp_candidate){.has = true, .unread = true, .at = at, .end = end};
}

double bp_value_string_index(const struct bp_value_strings *s, const struct bp_value_text *t)
{
	if (s == NULL || t->truncated || t->replaced)
		return -1;
	for (uint32_t i = 0; i < s->n && i < BP_VALUE_STRINGS_MAX; i++) {
		if (s->len[i] == t->len && memcmp(s->text[i], t->text, t->len) == 0)
			return i;
	}
	return -1;
}

void bp_pick_string(struct bp_pick *p, const uint8_t *at, const uint8_t *end)
{
	struct bp_value_text text;

	if (count(p) && p->decode(at, end, &text))
		put(p, bp_value_string_index(p->strings, &text), at, end);
}

bool bp_pick_result(const struct bp_pick *p, bool beginning, struct bp_value_result *out)
{
	const struct bp_candidate *c = &p->best;

	out->elements = p->elements;
	/* another element may have a higher rank in the part that is not available */
	if (!c->has || p->elements > BP_VALUE_ELEMENTS_MAX ||
		(beginning && p->rank != NULL && c->rank != p->rank->top))
		return false;
	out->value = c->unread ? bp_value_scaled(p->source, bp_number_value(c->at, c->end, c->end))
			       : c->value;
	return p->source->type != BP_VALUE_STRING || p->decode(c->at, c->end, &out->text);
}

void bp_value_text_add(struct bp_value_text *text, const void *utf8, size_t len)
{
	if (text->truncated || len > BP_VALUE_STRING_MAX - (size_t)text->len) {
		text->truncated = true;
		return;
	}
	memcpy(text->text + text->len, utf8, len);
	text->len += (uint8_t)len;
}

bool bp_value_text_add_checked(struct bp_value_text *text, const uint8_t *p, size_t len)
{
	while (len != 0) {
		const int n = bp_utf8_char(p, len);

		if (n <= 0)
			return false;
		bp_value_text_add(text, p, (size_t)n);
		p += n;
		len -= (size_t)n;
	}
	return true;
}
