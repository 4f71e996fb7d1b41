/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "proto/payload/json_escape.h"
#include "proto/payload/utf8.h"
#include "proto/payload/value.h"

struct compiler {
	const uint8_t *start, *p, *end;
	struct bp_json_path *out;
	size_t names_used;
	const char *error;
};

static bool fail(struct compiler *c, const uint8_t *at, const char *error)
{
	c->p = at;
	c->error = error;
	return false;
}

static bool name_byte(struct compiler *c, const uint8_t *at, uint8_t b)
{
	if (c->names_used == BP_JSON_NAMES_MAX)
		return fail(
			c, at, "the member names of this path are longer than 240 bytes together");
	c->out->names[c->names_used++] = (char)b;
	return true;
}

/* Valid characters of a name after a point; any other name is written ['name']. */
static bool is_plain(uint8_t b)
{
	return b > ' ' && b != 0x7f && strchr(".[]'\"*?(),\\", b) == NULL;
}

static bool plain_name(struct compiler *c)
{
	const uint8_t *first = c->p;

	if (c->p != c->end && *c->p == '.')
		return fail(c, c->p, "\"..\" would match several members; a path leads to one");
	if (c->p != c->end && *c->p == '*')
		return fail(c, c->p,
			"\"*\" would match several members; [*] is each element of an array");
	for (; c->p != c->end && is_plain(*c->p); c->p++) {
		if (!name_byte(c, c->p, *c->p))
			return false;
	}
	if (c->p == first)
		return fail(c, c->p, "expected a member name after \".\"");
	return true;
}

static bool escaped_char(struct compiler *c, uint8_t quote)
{
	uint8_t utf8[4];
	uint32_t code;
	unsigned taken, n;

	if (c->end - c->p >= 2 && c->p[1] == quote) { /* \' is an escape here, not in JSON */
		code = quote;
		taken = 2;
	} else {
		taken = bp_json_escape(c->p, c->end, &code);
		if (taken == 0 || (code >= 0xd800 && code <= 0xdfff))
			return fail(c, c->p,
				"not an escape of JSON strings: write \\\\ for a backslash");
	}
	n = bp_utf8_put(code, utf8);
	for (unsigned i = 0; i < n; i++) {
		if (!name_byte(c, c->p, utf8[i]))
			return false;
	}
	c->p += taken;
	return true;
}

static bool quoted_name(struct compiler *c)
{
	const uint8_t *open = c->p;
	uint8_t quote = *c->p++;

	while (c->p != c->end && *c->p != quote) {
		if (*c->p == '\\') {
			if (!escaped_char(c, quote))
				return false;
			continue;
		}
		if (!name_byte(c, c->p, *c->p))
			return false;
		c->p++;
	}
	if (c->p == c->end)
		return fail(c, open, "this quote is never closed");
	c->p++;
	return true;
}

static bool index_number(struct compiler *c, uint32_t *index)
{
	const uint8_t *first = c->p;
	uint64_t v = 0;

	for (; c->p != c->end && *c->p >= '0' && *c->p <= '9'; c->p++) {
		v = v * 10 + (uint64_t)(*c->p - '0');
		if (v > UINT32_MAX)
			return fail(c, first, "this index is above 4294967295");
	}
	if (c->p - first > 1 && *first == '0')
		return fail(c, first, "an index has no leading zeros");
	*index = (uint32_t)v;
	return true;
}

static bool bracket(struct compiler *c, uint8_t step)
{
	uint8_t b = c->p == c->end ? 0 : *c->p;

	if (b == '\'' || b == '"') {
		if (!quoted_name(c))
			return false;
	} else if (b >= '0' && b <= '9') {
		c->out->step[step].is_index = 1;
		if (!index_number(c, &c->out->step[step].index))
			return false;
	} else if (b == '*') {
		c->p++;
		c->out->step[step].is_index = c->out->step[step].every = 1;
		c->out->every++;
	} else if (b == '-') {
		return fail(c, c->p, "an index counts from the start and is not negative");
	} else {
		return fail(c, c->p, "expected an index, * or a quoted name after \"[\"");
	}
	if (c->p == c->end || *c->p != ']')
		return fail(c, c->p, "expected \"]\"");
	c->p++;
	return true;
}

static bool one_step(struct compiler *c)
{
	struct bp_json_path *out = c->out;
	size_t names_before = c->names_used;
	uint8_t kind = *c->p, i = out->steps;

	if (kind != '.' && kind != '[')
		return fail(c, c->p, "expected \".\" or \"[\"");
	if (i == BP_JSON_STEPS_MAX)
		return fail(c, c->p, "a path has at most 16 steps");
	c->p++;
	if (!(kind == '.' ? plain_name(c) : bracket(c, i)))
		return false;
	if (!out->step[i].is_index) {
		out->step[i].name_off = (uint8_t)names_before;
		out->step[i].name_len = (uint8_t)(c->names_used - names_before);
	}
	out->steps++;
	return true;
}

static bool all_utf8(struct compiler *c)
{
	for (const uint8_t *p = c->start; p != c->end;) {
		int n = bp_utf8_char(p, (size_t)(c->end - p));

		if (n <= 0)
			return fail(c, p, "not valid UTF-8");
		p += n;
	}
	return true;
}

static bool compile(struct compiler *c)
{
	if (!all_utf8(c))
		return false;
	if (c->p == c->end || *c->p != '$')
		return fail(c, c->p, "a path begins with \"$\", the whole text");
	c->p++;
	while (c->p != c->end) {
		if (!one_step(c))
			return false;
	}
	return true;
}

int bp_json_path_compile(
	const char *path, struct bp_json_path *out, const char **error, size_t *error_at)
{
	const uint8_t *start = (const uint8_t *)path;
	struct compiler c = {.start = start, .p = start, .end = start + strlen(path), .out = out};

	memset(out, 0, sizeof(*out));
	if (compile(&c))
		return 0;
	*error = c.error;
	*error_at = (size_t)(c.p - start);
	return -1;
}
