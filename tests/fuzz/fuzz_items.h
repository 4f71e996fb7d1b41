/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_FUZZ_ITEMS_H
#define BP_TESTS_FUZZ_FUZZ_ITEMS_H

/* Values at paths of binary payloads, compared with what another library finds: fuzz_cbor and
 * fuzz_msgpack. */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "proto/payload/utf8.h"
#include "proto/payload/value.h"

/* The first byte of an input: the path and the type of its value. */
static const char *const paths[] = {"$", "$.a", "$.a.b[1]", "$[0]", "$[*]", "$.a[*].b", "$[*][*]",
	"$.celsius", "$['']", "$.a[*]", "$[1][*].b[0]"};
#define N_PATHS (sizeof(paths) / sizeof(paths[0]))

static const struct bp_value_strings strings = {
	.n = 3, .len = {1, 4, 0}, .text = {"a", "open", ""}};

/* Values of 10 and more rank highest, and below 5 lowest. */
static unsigned rank_of(const void *arg, double v)
{
	(void)arg;
	return v >= 10 ? 2 : v >= 5;
}
static const struct bp_value_rank rank = {.of = rank_of, .top = 2};

/* What the other library has found. */
struct expected {
	const struct bp_value_source *source;
	bool has;
	double value;
};

static void expect_value(struct expected *e, double v)
{
	if (!bp_value_has_elements(e->source) || !e->has ||
		rank_of(NULL, v) > rank_of(NULL, e->value))
		e->value = v;
	e->has = true;
}

static void expect_number(struct expected *e, double v)
{
	if (e->source->type == BP_VALUE_NUMBER && isfinite(v))
		expect_value(e, v);
}

static void expect_boolean(struct expected *e, bool v)
{
	if (e->source->type == BP_VALUE_BOOLEAN)
		expect_value(e, v);
}

/* A string of valid UTF-8. */
static void expect_string(struct expected *e, const void *text, size_t len)
{
	double index = -1;

	for (unsigned i = 0; i < strings.n; i++) {
		if (strings.len[i] == len && (len == 0 || memcmp(strings.text[i], text, len) == 0))
			index = i;
	}
	if (e->source->type == BP_VALUE_STRING)
		expect_value(e, index);
}

static bool is_step_name(
	const struct bp_json_path *path, unsigned step, const void *text, size_t len)
{
	return !path->step[step].is_index && path->step[step].name_len == len &&
	       (len == 0 || memcmp(path->names + path->step[step].name_off, text, len) == 0);
}

/* Whether the element of this index is on the path. */
static bool is_step_element(const struct bp_json_path *path, unsigned step, size_t i)
{
	return path->step[step].every || (path->step[step].is_index && path->step[step].index == i);
}

static struct bp_value_source source_of(enum bp_value_kind kind, uint8_t choice)
{
	struct bp_value_source s = {.kind = kind, .type = (uint8_t)(choice / N_PATHS % 3)};
	const char *why;
	size_t at;

	HOLDS(bp_json_path_compile(paths[choice % N_PATHS], &s.json, &why, &at) == 0);
	return s;
}

static bool read_value(const uint8_t *data, size_t size, bool beginning,
	const struct bp_value_source *s, struct bp_value_result *r)
{
	const bool found = bp_value_select(
		data, size, beginning, s, &strings, bp_value_has_elements(s) ? &rank : NULL, r);

	HOLDS(!found || isfinite(r->value));
	HOLDS(!found || s->type != BP_VALUE_STRING ||
		bp_utf8_valid((const uint8_t *)r->text.text, r->text.len));
	return found;
}

/* Beginnings are only read; one that ends with the payload is no beginning. */
static void read_beginnings(
	const uint8_t *data, size_t size, const struct bp_value_source *s, bool valid)
{
	struct bp_value_result r;

	for (size_t n = size; n + 16 > size; n--) {
		uint8_t *part = exact_copy(data, n);
		const bool found = read_value(part, n, true, s, &r);

		HOLDS(!found || n != size || !valid);
		free(part);
		if (n == 0)
			break;
	}
}

#endif
