/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <float.h>
#include <math.h>

#include <jansson.h>

#include "proto/payload/json_layout.h"
#include "proto/payload/utf8.h"
#include "proto/payload/value.h"

/*
 * The first byte chooses what to do with the rest, and every answer is compared with one from
 * elsewhere: numbers with strtod, JSON with jansson, paths with what they compile to.
 */

static int same(double a, double b)
{
	uint64_t x, y; /* bits, so that -0 is not 0 */

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return x == y;
}

/* ---- text ---- */

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* The length of the number at `s`, by the grammar of the text source; 0 when there is none. */
static size_t number_length(const char *s)
{
	const char *p = s;
	size_t whole, fraction = 0;

	p += *p == '+' || *p == '-';
	whole = digits(p);
	p += whole;
	if (*p == '.') {
		fraction = digits(p + 1);
		p += 1 + fraction;
	}
	if (whole + fraction == 0)
		return 0;
	if (*p == 'e' || *p == 'E') {
		const char *e = p + 1;

		e += *e == '+' || *e == '-';
		if (digits(e) == 0)
			return 0;
		p = e + digits(e);
	}
	return (size_t)(p - s);
}

static void text(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1);
	const char *p = s;
	double v = 42, expected = 0;
	size_t n;
	int number;

	memcpy(s, data, size);
	s[size] = '\0';
	p += strspn(p, " \t\r\n");
	n = number_length(p);
	number = n != 0 && p + n + strspn(p + n, " \t\r\n") == s + size;
	if (number)
		expected = strtod(p, NULL);
	if (number && !isfinite(expected))
		expected = copysign(DBL_MAX, expected);
	HOLDS(bp_value_text(data, size, &v) == number);
	HOLDS(same(v, number ? expected : 42));
	free(s);
}

/* ---- numbers ---- */

static void parse(const uint8_t *data, size_t size)
{
	double strict = 42, lenient = 43;
	const uint8_t *a = bp_number_parse(data, data + size, false, &strict);
	const uint8_t *b = bp_number_parse(data, data + size, true, &lenient);

	if (a != NULL) { /* the text form accepts every JSON number */
		HOLDS(a == b);
		HOLDS(same(strict, lenient) || (same(strict, 42) && same(lenient, 43)));
		HOLDS(a > data && a <= data + size);
	}
}

static void format(const uint8_t *data, size_t size)
{
	char out[32];
	double v, back = 0;
	int n;

	if (size < sizeof(v))
		return;
	memcpy(&v, data, sizeof(v));
	n = bp_number_format(v, out);
	HOLDS(n >= 0 && n < 32 && strlen(out) == (size_t)n);
	HOLDS((n == 0) == !isfinite(v));
	if (n == 0)
		return;
	HOLDS(bp_number_parse((uint8_t *)out, (uint8_t *)out + n, false, &back) ==
		(uint8_t *)out + n);
	HOLDS(same(back, v));
	HOLDS(same(strtod(out, NULL), v));
}

/* ---- JSON ---- */

static const char *const paths[] = {"$.a", "$.a.b[1]", "$[0]", "$.a.a", "$[1][0]", "$['a b']", "$",
	"$[0].a", "$.celsius", "$['']", "$.\xc3\xa9"};

/*
 * jansson refuses what RFC 8259 allows: numbers of any size, U+0000 in member names, surrogates
 * that are no pairs (which it calls invalid syntax), and what is nested over 2,048 deep.
 */
static int beyond_jansson(const json_error_t *e)
{
	enum json_error_code code = json_error_code(e);

	return code == json_error_numeric_overflow || code == json_error_null_byte_in_key ||
	       code == json_error_stack_overflow || strstr(e->text, "surrogate") != NULL ||
	       strstr(e->text, "invalid Unicode") != NULL;
}

/* Depth as the library counts it: open containers, without those in strings. */
static int depth(const char *s, size_t size)
{
	int now = 0, most = 0, string = 0;

	for (size_t i = 0; i < size; i++) {
		if (string && s[i] == '\\')
			i++;
		else if (s[i] == '"')
			string = !string;
		else if (!string && (s[i] == '[' || s[i] == '{'))
			most = ++now > most ? now : most;
		else if (!string && (s[i] == ']' || s[i] == '}'))
			now--;
	}
	return most;
}

static const json_t *follow(const json_t *at, const struct bp_json_path *p)
{
	for (unsigned i = 0; i < p->steps; i++) {
		if (p->step[i].is_index)
			at = json_array_get(at, p->step[i].index);
		else
			at = json_object_getn(
				at, p->names + p->step[i].name_off, p->step[i].name_len);
	}
	return at;
}

static void same_by_layout(const struct bp_json_layout *l, const struct bp_json_path *path,
	const uint8_t *text, size_t size)
{
	double v = 42, expected = 42;

	HOLDS(bp_json_layout_value(l, text, &v) == bp_value_json(text, size, path, &expected));
	HOLDS(same(v, expected));
}

/*
 * Learns the text and changes bytes of it, as its own bytes say, to what they may be and now and
 * then to anything: whenever it still fits, its value is the one of the whole walk.
 */
static void layout(const uint8_t *data, size_t size, const struct bp_json_path *path)
{
	struct bp_json_layout l = {.len = 0};
	double v = 42, expected = 42;
	int found = bp_json_layout_learn(data, size, path, &l, &v);
	uint8_t *copy;

	HOLDS(found == bp_value_json(data, size, path, &expected) && same(v, expected));
	found = found && size <= BP_JSON_LAYOUT_MAX && path->steps != 0;
	HOLDS(l.len == (found ? size : 0));
	HOLDS(bp_json_layout_matches(&l, data, size) == found);
	if (!found)
		return;
	copy = exact_copy(data, size);
	for (size_t i = 0; i + 1 < size; i++) {
		size_t at = (data[i] * 31 + i) % size;
		uint8_t saved = copy[at], with = data[i + 1];
		int allowed = i % 4 != 3;

		if (allowed)
			with = (uint8_t)(l.low[at] + with % (l.range[at] + 1));
		copy[at] = with;
		if (bp_json_layout_matches(&l, copy, size)) {
			same_by_layout(&l, path, copy, size);
		} else {
			HOLDS(!allowed);
			copy[at] = saved;
		}
	}
	free(copy);
}

#if JANSSON_VERSION_HEX < 0x020e00
#error "json_object_getn() needs jansson 2.14"
#endif

/* The whole text and its beginning up to the last byte have the same value; other beginnings are
 * only read. */
static void beginning(
	const uint8_t *data, size_t size, const struct bp_json_path *path, int found, double value)
{
	struct bp_value_source source = {.kind = BP_VALUE_JSON, .json = *path};
	uint8_t *part;
	double v = 42;

	for (size_t n = size; n != 0 && n + 8 > size; n--) {
		part = exact_copy(data, n);
		v = 42;
		if (bp_value_beginning(part, n, &source, &v))
			HOLDS(isfinite(v));
		else
			HOLDS(same(v, 42));
		if (n == size && found && path->steps != 0)
			HOLDS(same(v, value));
		free(part);
	}
}

static void json(const uint8_t *data, size_t size)
{
	struct bp_json_path path;
	json_error_t error;
	const char *why;
	size_t where;
	double v = 42;
	int found;
	json_t *root;
	const json_t *at;

	if (size == 0)
		return;
	HOLDS(bp_json_path_compile(paths[data[0] % (sizeof(paths) / sizeof(paths[0]))], &path, &why,
		      &where) == 0);
	data++;
	size--;
	found = bp_value_json(data, size, &path, &v);
	HOLDS(found ? isfinite(v) : same(v, 42));
	layout(data, size, &path);
	beginning(data, size, &path, found, v);
	if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) { /* jansson knows no mark */
		data += 3;
		size -= 3;
	}
	if (memchr(data, 0, size) != NULL && depth((const char *)data, size) > BP_JSON_DEPTH_MAX)
		return;
	if (memchr(data, 0, size) != NULL) { /* never valid; jansson passes over it */
		HOLDS(!found);
		return;
	}
	root = json_loadb((const char *)data, size,
		JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, &error);
	if (root == NULL) {
		/* deeper than that brackets are only counted */
		HOLDS(!found || beyond_jansson(&error) ||
			depth((const char *)data, size) > BP_JSON_DEPTH_MAX);
		return;
	}
	at = follow(root, &path);
	HOLDS(found == json_is_real(at));
	if (found)
		HOLDS(same(v, json_real_value(at)));
	json_decref(root);
}

static void path(const uint8_t *data, size_t size)
{
	struct bp_json_path p, again;
	const char *error = NULL;
	char *s = malloc(size + 1);
	size_t at = 0;

	memcpy(s, data, size);
	s[size] = '\0';
	memset(&p, 0x55, sizeof(p));
	if (bp_json_path_compile(s, &p, &error, &at) != 0) {
		HOLDS(error != NULL && at <= strlen(s));
	} else {
		HOLDS(s[0] == '$' && bp_utf8_valid((uint8_t *)s, strlen(s)));
		HOLDS(p.steps <= BP_JSON_STEPS_MAX);
		for (unsigned i = 0; i < p.steps; i++) {
			unsigned end = p.step[i].name_off + p.step[i].name_len;

			HOLDS(end <= BP_JSON_NAMES_MAX);
			HOLDS(bp_utf8_valid(
				(uint8_t *)p.names + p.step[i].name_off, p.step[i].name_len));
		}
		memset(&again, 0xaa, sizeof(again));
		HOLDS(bp_json_path_compile(s, &again, &error, &at) == 0);
		/* NOLINTNEXTLINE(*-memory-comparison): value.h promises equal bytes */
		HOLDS(memcmp(&p, &again, sizeof(p)) == 0);
	}
	free(s);
}

/* ---- binary ---- */

static void binary(const uint8_t *data, size_t size)
{
	struct bp_binary_source s;
	double v = 42;

	if (size < sizeof(s))
		return;
	memcpy(&s, data, sizeof(s));
	data += sizeof(s);
	size -= sizeof(s);
	if (s.type & 0x80) /* most offsets of four random bytes are far outside */
		s.offset %= 64;
	s.type &= 0x0f;
	s.little_endian &= 1;
	if (bp_value_binary(data, size, &s, &v)) {
		HOLDS(isfinite(v) && s.type <= BP_BIN_FLOAT64 && s.offset < size);
		if (s.type == BP_BIN_UINT8)
			HOLDS(v == data[s.offset]);
		if (s.type == BP_BIN_INT16)
			HOLDS(v == (int16_t)(data[s.offset + s.little_endian] << 8 |
					     data[s.offset + 1 - s.little_endian]));
	} else {
		HOLDS(same(v, 42));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const uint8_t *, size_t) = {
		text, json, path, binary, parse, format, json, json};
	uint8_t *copy;

	if (size == 0)
		return 0;
	copy = exact_copy(data + 1, size - 1);
	targets[data[0] % (sizeof(targets) / sizeof(targets[0]))](copy, size - 1);
	free(copy);
	return 0;
}
