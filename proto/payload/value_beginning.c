/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/payload/json_escape.h"
#include "proto/payload/number.h"
#include "proto/payload/value.h"

/*
 * The number at a path in the beginning of a longer JSON text. The syntax is checked as far as the
 * bytes are available; the result is the last number found before the cut, for any continuation.
 * Each byte is read once, and there is no recursion.
 */

#define NO_ELEMENT UINT64_MAX

enum state { VALUE, FIRST_VALUE, NAME, FIRST_NAME, BEHIND };

struct scan {
	const uint8_t *p, *end;
	const struct bp_json_path *path;
	uint64_t kinds;   /* of the open containers: bit 0 the innermost, 1 object */
	uint32_t depth;   /* open containers */
	uint32_t matched; /* the number of outer ones on the path */
	uint64_t element; /* of the innermost container on the path, an array */
	bool hit;         /* the current value is the next step of the path */
	const uint8_t *found, *found_end; /* the number, or NULL */
};

static bool is_blank(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Whether the innermost container is on the path, and not its end. */
static bool on_path(const struct scan *s)
{
	return s->matched == s->depth && s->matched <= s->path->steps;
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

static bool is_name(const struct scan *s, const uint8_t *p, const uint8_t *close)
{
	const struct bp_json_path *path = s->path;
	const uint32_t step = s->matched - 1;

	return bp_json_same_name(p, close, (const uint8_t *)path->names + path->step[step].name_off,
		path->step[step].name_len);
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

	if (s->depth == BP_JSON_DEPTH_MAX) {
		*next = BEHIND;
		return skip_deep(s);
	}
	s->p++;

	s->kinds = s->kinds << 1 | object;
	if (s->hit && s->matched == s->depth && s->matched < s->path->steps) {
		s->matched++;
		s->element = object ? NO_ELEMENT : 0;
	}
	s->depth++;
	s->hit = false;
	*next = object ? FIRST_NAME : FIRST_VALUE;
	return true;
}

static bool close_container(struct scan *s, bool object)
{
	if (s->depth == 0 || (s->kinds & 1) != object)
		return false;
	s->p++;
	s->kinds >>= 1;
	if (s->matched == s->depth) {
		s->matched--;
		s->element = NO_ELEMENT; /* the parent's element was this one */
	}
	s->depth--;
	return s->depth != 0; /* a complete text is not a beginning */
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

static bool take_value(struct scan *s, enum state *next)
{
	bool last = s->hit && s->matched == s->path->steps && s->matched == s->depth, number;
	const uint8_t *end;

	if (s->hit)
		s->found = NULL; /* of several members of one name the last counts */
	if (*s->p == '{' || *s->p == '[')
		return open_container(s, next);
	*next = BEHIND;
	if (*s->p == '"') {
		end = string_end(s);
	} else {
		end = scalar_end(s, &number);
		if (end != NULL && number && bp_number_end(s->p, end) != end)
			return false;
		if (end != NULL && number && last) {
			s->found = s->p;
			s->found_end = end;
		}
	}
	s->p = end;
	return end != NULL;
}

static bool take_name(struct scan *s)
{
	const uint8_t *open = s->p, *end = string_end(s);

	if (end == NULL)
		return false;
	s->hit = on_path(s) && s->matched != 0 && !s->path->step[s->matched - 1].is_index &&
		 is_name(s, open + 1, end - 1);
	for (s->p = end; s->p < s->end && is_blank(*s->p); s->p++)
		;
	if (s->p == s->end || *s->p != ':')
		return false;
	s->p++;
	return true;
}

/* An element of an array begins. */
static void count_element(struct scan *s)
{
	s->hit = false;
	if (!on_path(s) || s->matched == 0 || (s->kinds & 1) != 0 || s->element == NO_ELEMENT)
		return;
	s->hit = s->path->step[s->matched - 1].is_index &&
		 s->element == s->path->step[s->matched - 1].index;
	s->element++;
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
		if ((s->kinds & 1) == 0 && s->depth != 0)
			count_element(s);
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
			*state = (s->kinds & 1) != 0 ? NAME : VALUE;
			return true;
		}
		return (c == '}' || c == ']') && close_container(s, c == '}');
	}
	return false;
}

static bool json_beginning(
	const uint8_t *payload, size_t have, const struct bp_json_path *path, double *value)
{
	struct scan s = {.p = payload, .end = payload + have, .path = path, .hit = true};
	enum state state = VALUE;

	if (path->steps == 0)
		return false;
	if (have >= 3 && memcmp(s.p, "\xef\xbb\xbf", 3) == 0)
		s.p += 3;
	while (s.p != NULL) {
		while (s.p < s.end && is_blank(*s.p))
			s.p++;
		if (s.p == s.end || !step(&s, &state))
			break;
	}
	if (s.found == NULL)
		return false;
	/* once, however often the member was there */
	*value = bp_number_value(s.found, s.found_end, s.end);
	return true;
}

bool bp_value_beginning(
	const uint8_t *payload, size_t have, const struct bp_value_source *source, double *value)
{
	switch ((enum bp_value_kind)source->kind) {
	case BP_VALUE_TEXT: /* all of the payload is the number */
		return false;
	case BP_VALUE_JSON:
		return json_beginning(payload, have, &source->json, value);
	case BP_VALUE_BINARY:
		return bp_value_binary(payload, have, &source->binary, value);
	case BP_VALUE_SPARKPLUG: /* a later metric may replace one of the beginning */
		return false;
	}
	return false;
}
