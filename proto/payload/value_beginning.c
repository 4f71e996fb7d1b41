/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/payload/json_escape.h"
#include "proto/payload/number.h"
#include "proto/payload/value.h"
#include "proto/payload/value_pick.h"

/*
 * The number at a path in the beginning of a longer JSON text. The syntax is checked as far as the
 * bytes are available; the result is the last number found before the cut, for any continuation.
 * Each byte is read once, and there is no recursion.
 */

enum state { VALUE, FIRST_VALUE, NAME, FIRST_NAME, BEHIND };

struct scan {
	const uint8_t *p, *end;
	struct bp_pick *pick;
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The end of the string at s->p, behind its quote; NULL: it is cut. */
static const uint8_t *string_end(const struct scan *s)
{
	for (const uint8_t *p = s->p + 1; p < s->end; p++) {
		if (*p == '"')
			return p + 1;
		if (*p == '\\')
			p++;
	}
	return NULL;
}

/* Passes a container by its brackets, as bp_value_json() does so deep. */
static bool skip_deep(struct scan *s)
{
	size_t deeper = 0;

	while (s->p < s->end) {
		uint8_t c = *s->p;

		if (c == '"') {
			s->p = string_end(s);
			if (s->p == NULL)
				return false;
			continue;
		}
		s->p++;
		if (c == '{' || c == '[')
			deeper++;
		else if ((c == '}' || c == ']') && --deeper == 0)
			return true;
	}
	return false;
}

static bool open_container(struct scan *s, enum state *next)
{
	bool object = *s->p == '{';

	if (s->pick->depth == BP_JSON_DEPTH_MAX) {
		*next = BEHIND;
		return skip_deep(s);
	}
	s->p++;
	bp_pick_open(s->pick, object);
	*next = object ? FIRST_NAME : FIRST_VALUE;
	return true;
}

static bool close_container(struct scan *s, bool object)
{
	if (s->pick->depth == 0 || (s->pick->kinds & 1) != object)
		return false;
	s->p++;
	bp_pick_close(s->pick);
	return s->pick->depth != 0; /* a complete text is not a beginning */
}

/* The position after a number or a literal, or NULL: it is cut, or none. */
static const uint8_t *scalar_end(struct scan *s, bool *number)
{
	const uint8_t *p = s->p;
	size_t n = 0;

	while (p + n < s->end && !is_blank(p[n]) && strchr(",]}\":[{", p[n]) == NULL)
		n++;
	*number = false;
	if (p + n == s->end || n == 0)
		return NULL;
	if ((n == 4 && (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)) ||
		(n == 5 && memcmp(p, "false", 5) == 0))
		return p + n;
	*number = true;
	return p + n;
}

/* The scalar at s->p; `last`: it is at the end of the path. */
static const uint8_t *take_scalar(struct scan *s, bool last)
{
	const uint8_t type = s->pick->source->type;
	const uint8_t *end;
	bool number;

	if (*s->p == '"') {
		end = string_end(s);
		if (end != NULL && last && type == BP_VALUE_STRING)
			bp_pick_string(s->pick, s->p + 1, end - 1);
		return end;
	}
	end = scalar_end(s, &number);
	if (end == NULL || (number && bp_number_end(s->p, end) != end))
		return NULL;
	if (last && number && type == BP_VALUE_NUMBER)
		bp_pick_json_number(s->pick, s->p, end);
	if (last && !number && type == BP_VALUE_BOOLEAN && *s->p != 'n')
		bp_pick_number(s->pick, *s->p == 't', s->p, end);
	return end;
}

static bool take_value(struct scan *s, enum state *next)
{
	const bool last = bp_pick_value(s->pick);

	if (*s->p == '{' || *s->p == '[')
		return open_container(s, next);
	*next = BEHIND;
	s->p = take_scalar(s, last);
	return s->p != NULL;
}

static bool take_name(struct scan *s)
{
	const uint8_t *open = s->p, *end = string_end(s), *want;
	size_t len = 0;

	if (end == NULL)
		return false;
	want = bp_pick_name(s->pick, &len);
	s->pick->hit = want != NULL && bp_json_same_name(open + 1, end - 1, want, len);
	for (s->p = end; s->p < s->end && is_blank(*s->p); s->p++)
		;
	if (s->p == s->end || *s->p != ':')
		return false;
	s->p++;
	return true;
}

/* Reads one token; false at the cut, or at a syntax error. */
static bool step(struct scan *s, enum state *state)
{
	uint8_t c = *s->p;

	switch (*state) {
	case FIRST_VALUE:
		if (c == ']') {
			*state = BEHIND;
			return close_container(s, false);
		}
		/* fall through */
	case VALUE:
		if ((s->pick->kinds & 1) == 0 && s->pick->depth != 0)
			bp_pick_element(s->pick);
		return take_value(s, state);
	case FIRST_NAME:
		if (c == '}') {
			*state = BEHIND;
			return close_container(s, true);
		}
		/* fall through */
	case NAME:
		*state = VALUE;
		return c == '"' && take_name(s);
	case BEHIND:
		if (c == ',') {
			s->p++;
			*state = (s->pick->kinds & 1) != 0 ? NAME : VALUE;
			return true;
		}
		return (c == '}' || c == ']') && close_container(s, c == '}');
	}
	return false;
}

void bp_pick_json_beginning(struct bp_pick *pick, const uint8_t *payload, size_t have)
{
	struct scan s = {.p = payload, .end = payload + have, .pick = pick};
	enum state state = VALUE;

	if (pick->path->steps == 0)
		return;
	if (have >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0)
		s.p += 3;
	while (s.p != NULL) {
		while (s.p < s.end && is_blank(*s.p))
			s.p++;
		if (s.p == s.end || !step(&s, &state))
			break;
	}
}

static bool json_beginning(
	const uint8_t *payload, size_t have, const struct bp_value_source *source, double *value)
{
	struct bp_value_result result;
	struct bp_pick pick;

	bp_pick_init(&pick, source, NULL, NULL, bp_json_text);
	bp_pick_json_beginning(&pick, payload, have);
	if (!bp_pick_result(&pick, true, &result))
		return false;
	*value = result.value;
	return true;
}

bool bp_value_beginning(
	const uint8_t *payload, size_t have, const struct bp_value_source *source, double *value)
{
	switch ((enum bp_value_kind)source->kind) {
	case BP_VALUE_TEXT: /* all of the payload is the number */
		return false;
	case BP_VALUE_JSON:
		return json_beginning(payload, have, source, value);
	case BP_VALUE_BINARY:
		return bp_value_binary(payload, have, &source->binary, value);
	case BP_VALUE_CBOR: /* bp_value_select() */
	case BP_VALUE_MSGPACK:
	case BP_VALUE_SPARKPLUG: /* a later metric may replace one of the beginning */
		return false;
	}
	return false;
}
