/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>

#include "proto/payload/json_escape.h"
#include "proto/payload/number.h"
#include "proto/payload/utf8.h"
#include "proto/payload/value.h"
#include "proto/payload/value_pick.h"
#include "proto/net/vec16.h"
#if defined(__SSE4_1__)
#include <smmintrin.h>
#endif

/*
 * The number at a path, in one pass that also validates the whole JSON text.
 *
 * Three techniques make it fast. (1) Quotes are found 64 bytes at a time, as a bit mask in which
 * one bit scan finds the end of each string; escapes, control characters and UTF-8 are checked only
 * in blocks that contain some. (2) Positions are taken from that mask, not from the end of the
 * previous token, so the processor overlaps several members. (3) The text is cut so that its last
 * byte is '}' or ']', which ends every loop over blanks or digits and replaces the bounds check of
 * every single byte: all other bytes precede it.
 *
 * The kinds of the open containers are the bits of a word: no recursion. Values nested deeper than
 * BP_JSON_DEPTH_MAX, 64, cannot be on a path; their strings are read and their brackets are
 * counted, with any contents in between.
 */

#define BLOCK 64
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NO_NAME SIZE_MAX /* longer than any member name */
_Static_assert(BP_JSON_DEPTH_MAX <= 64, "container kinds are kept in 64 bits");

struct text {
	const uint8_t *start, *end;
	const uint8_t *escaped_to; /* bytes before it belong to an escape already seen */
	bool escapes;              /* there was a backslash so far */
	bool utf8_checked;
	bool bad; /* a string has something that no string may have */
};

/* Stops at the text's last byte at the latest. */
static inline const uint8_t *skip_blanks(const uint8_t *p)
{
	while (__builtin_expect(*p <= ' ', 0) &&
		(*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

typedef int8_t signed_v16 __attribute__((vector_size(16)));

static inline signed_v16 lesser(signed_v16 a, signed_v16 b)
{
#if defined(__SSE4_1__)
	return (signed_v16)_mm_min_epi8((__m128i)a, (__m128i)b);
#else
	signed_v16 less = a < b;

	return (a & less) | (b & ~less);
#endif
}

/*
 * Special bytes: the backslash, control characters and, negative in a signed byte, bytes above
 * 0x7f.
 */
static inline bp_v16 special_bytes(bp_v16 v)
{
	return (bp_v16)((signed_v16)v < (signed_v16)bp_v16_of(0x20)) | bp_v16_eq(v, '\\');
}

static inline uint64_t quote_bits(bp_v16 v)
{
	return bp_v16_mask(bp_v16_eq(v, '"'));
}

/* Bit i: the number of bits set in v[0..i] is odd. */
static inline uint64_t prefix_parity(uint64_t v)
{
	for (unsigned i = 1; i < 64; i *= 2)
		v ^= v << i;
	return v;
}

/* Checks the escapes that begin in the block; returns the quotes that are not escaped. */
static uint64_t unescape_block(struct text *t, const uint8_t *b, uint64_t quotes, uint64_t special,
	const uint8_t *block_end)
{
	if (b < t->escaped_to) /* an escape has at most twelve bytes */
		quotes &= ~(uint64_t)0 << (t->escaped_to - b);
	for (uint64_t left = special; left != 0; left &= left - 1) {
		const uint8_t *p = b + __builtin_ctzll(left);
		unsigned used;
		uint32_t c;

		if (*p != '\\' || p < t->escaped_to)
			continue;
		t->escapes = true;
		used = bp_json_escape(p, t->end, &c);
		if (used == 0) {
			t->bad = true;
			break;
		}
		t->escaped_to = p + used;
		if (p[1] == '"' && p + 1 < block_end)
			quotes &= ~((uint64_t)1 << (p + 1 - b));
	}
	return quotes;
}

/* The special bytes of [b, end). */
static uint64_t special_bits(const uint8_t *b, const uint8_t *end)
{
	uint64_t m = 0;

	for (unsigned i = 0; i < end - b; i += 16) {
		bp_v16 v = bp_v16_load_upto(b + i, (size_t)(end - b) - i);

		m |= (uint64_t)bp_v16_mask(special_bytes(v)) << i;
	}
	return end - b < BLOCK ? m & (((uint64_t)1 << (end - b)) - 1) : m; /* padding is NUL */
}

/* A block that may have special bytes: returns its quotes, records errors in t->bad. */
static __attribute__((noinline)) uint64_t special_block(
	struct text *t, const uint8_t *b, uint64_t quotes, bool in_string)
{
	const uint8_t *block_end = t->end - b < BLOCK ? t->end : b + BLOCK;
	uint64_t special = special_bits(b, block_end), inside;

	quotes = unescape_block(t, b, quotes, special, block_end);
	inside = prefix_parity(quotes) ^ (in_string ? ~(uint64_t)0 : 0);
	for (uint64_t left = special; left != 0; left &= left - 1) {
		const uint8_t *p = b + __builtin_ctzll(left);

		if (*p < 0x20) {
			if ((inside & left & -left) != 0)
				t->bad = true; /* a control character in a string */
		} else if (*p >= 0x80 && !t->utf8_checked) {
			/* All strings up to here are ASCII: one check of the rest will do. */
			t->utf8_checked = true;
			if (!bp_utf8_valid(p, (size_t)(t->end - p)))
				t->bad = true;
		}
	}
	return quotes;
}

/* The block of a text shorter than a block. */
static __attribute__((noinline)) uint64_t short_block(
	struct text *t, const uint8_t *b, bool in_string)
{
	size_t left = (size_t)(t->end - b);
	uint64_t quotes = 0;

	for (unsigned i = 0; i < left; i += 16)
		quotes |= quote_bits(bp_v16_load_upto(b + i, left - i)) << i;
	if (special_bits(b, t->end) != 0 || b < t->escaped_to)
		return special_block(t, b, quotes, in_string);
	return quotes;
}

/* The unescaped quotes of the 64 bytes, or fewer at the end, at `b`; `in_string` is how it begins.
 */
static ALWAYS_INLINE uint64_t block_quotes(struct text *t, const uint8_t *b, bool in_string)
{
	const uint8_t *from = b;
	bp_v16 v0, v1, v2, v3, backslash, special;
	signed_v16 lowest;
	uint64_t quotes;

	if (t->end - b < BLOCK) {
		if (__builtin_expect(t->end - t->start < BLOCK, 0))
			return short_block(t, b, in_string);
		from = t->end - BLOCK;
	}
	v0 = bp_v16_load(from);
	v1 = bp_v16_load(from + 16);
	v2 = bp_v16_load(from + 32);
	v3 = bp_v16_load(from + 48);
	lowest = lesser(
		lesser((signed_v16)v0, (signed_v16)v1), lesser((signed_v16)v2, (signed_v16)v3));
	backslash = (bp_v16_eq(v0, '\\') | bp_v16_eq(v1, '\\')) |
		    (bp_v16_eq(v2, '\\') | bp_v16_eq(v3, '\\'));
	special = backslash | (bp_v16)(lowest < (signed_v16)bp_v16_of(0x20));
	quotes =
		quote_bits(v0) | quote_bits(v1) << 16 | quote_bits(v2) << 32 | quote_bits(v3) << 48;
	quotes >>= b - from;
	if (__builtin_expect(bp_v16_mask(special) != 0 || b < t->escaped_to, 0))
		return special_block(t, b, quotes, in_string);
	return quotes;
}

/* The quotes that are found and not yet consumed: bit i of `mask` is block[i]. */
struct quotes {
	const uint8_t *block;
	uint64_t mask;
};

static ALWAYS_INLINE const uint8_t *take_quote(struct quotes *q)
{
	const uint8_t *p = q->block + (unsigned)__builtin_ctzll(q->mask);

	q->mask &= q->mask - 1;
	return p;
}

/*
 * The quotes of the string that opens at `p` or after blanks there. False when none opens there or
 * none closes.
 */
static ALWAYS_INLINE bool take_string(struct text *t, struct quotes *q, const uint8_t *p,
	const uint8_t **open, const uint8_t **close)
{
	if (__builtin_expect(q->mask == 0, 0)) {
		p = skip_blanks(p);
		if (*p != '"' || p - q->block < BLOCK)
			return false;
		q->block = p;
		q->mask = block_quotes(t, p, false);
	}
	*open = take_quote(q);
	if (*open != p && skip_blanks(p) != *open)
		return false;
	while (__builtin_expect(q->mask == 0, 0)) {
		if (t->end - q->block <= BLOCK)
			return false;
		q->block += BLOCK;
		q->mask = block_quotes(t, q->block, true);
	}
	*close = take_quote(q);
	return true;
}

/* ---- numbers ---- */

/*
 * The end of the JSON number whose digits begin at `d` (*d is one), as far as the next 16 bytes
 * determine it, all processed in parallel. NULL if they do not; a digit, 'e' or 'E' at the returned
 * end means that the number continues.
 */
static ALWAYS_INLINE const uint8_t *digits_end(const uint8_t *d, const uint8_t *end)
{
	uint32_t digits = bp_v16_mask(bp_v16_digit(bp_v16_load_upto(d, (size_t)(end - d))));
	unsigned n = (unsigned)__builtin_ctz(~digits), fraction;

	if (*d == '0' && n != 1)
		return NULL;
	if (d[n] == '.') {
		fraction = (unsigned)__builtin_ctz(~(digits >> n >> 1));
		if (fraction == 0)
			return NULL;
		n += 1 + fraction;
	}
	return d + n;
}

static inline bool is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/* ---- names ---- */

/* Compares `len` bytes; two loads that overlap are enough for nearly every name. */
static inline bool same_name(const uint8_t *text, const uint8_t *want, size_t len)
{
	if (len <= 8)
		return bp_load_short(text, len) == bp_load_short(want, len);
	if (len <= 16)
		return bp_load_le64(text) == bp_load_le64(want) &&
		       bp_load_le64(text + len - 8) == bp_load_le64(want + len - 8);
	return memcmp(text, want, len) == 0;
}

__attribute__((noinline)) bool bp_json_same_name(
	const uint8_t *text, const uint8_t *text_end, const uint8_t *want, size_t want_len)
{
	const uint8_t *want_end = want + want_len;

	while (text < text_end) {
		uint8_t utf8[4] = {*text};
		unsigned n = 1, used = 1;
		uint32_t c;

		if (*text == '\\') {
			used = bp_json_escape(text, text_end, &c);
			if (used == 0)
				return false;
			n = bp_utf8_put(c, utf8);
		}
		if ((size_t)(want_end - want) < n || memcmp(want, utf8, n) != 0)
			return false;
		want += n;
		text += used;
	}
	return want == want_end;
}

/* ---- the walk ---- */

struct walk {
	const struct bp_json_path *path;
	uint64_t kinds;   /* of the open containers, innermost in bit 0: 1 object, 0 array */
	uint32_t depth;   /* open containers */
	uint32_t matched; /* steps that led to the innermost open container on the path */
	/* The step that the innermost container searches, if it is on the path. */
	size_t name_len; /* NO_NAME: for no member */
	unsigned name_off;
	bool by_index;
	uint64_t elements_left; /* before the element that by_index looks for */
};

/* Whether the member name at [p, close) is the searched one. */
static inline bool is_name(
	const struct walk *w, const struct text *t, const uint8_t *p, const uint8_t *close)
{
	const uint8_t *want = (const uint8_t *)w->path->names + w->name_off;

	if (__builtin_expect(t->escapes, 0))
		return w->name_len != NO_NAME && bp_json_same_name(p, close, want, w->name_len);
	return same_name(p, want, w->name_len);
}

static inline void find_element(struct walk *w)
{
	bool on_path = w->matched + 1 == w->depth, object = (w->kinds & 1) != 0;
	unsigned is_index = w->path->step[w->matched].is_index;

	w->name_len = NO_NAME;
	w->by_index = on_path && !object && is_index;
	if (on_path && object && !is_index) {
		w->name_len = w->path->step[w->matched].name_len;
		w->name_off = w->path->step[w->matched].name_off;
	}
}

static inline bool enter(struct walk *w, bool object, bool on_path)
{
	if (w->depth == BP_JSON_DEPTH_MAX)
		return false;
	w->kinds = w->kinds << 1 | object;
	if (on_path) {
		w->matched = w->depth;
		w->elements_left = w->path->step[w->depth].index;
	}
	w->depth++;
	find_element(w);
	return true;
}

static inline void leave(struct walk *w)
{
	w->depth--;
	w->kinds >>= 1;
	if (w->matched == w->depth && w->depth != 0) {
		w->matched--;
		w->elements_left = UINT64_MAX; /* the parent's element was this one */
	}
	if (w->depth != 0)
		find_element(w);
}

/* The position after true, false or null, or NULL. */
static inline const uint8_t *literal_end(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 5)
		return NULL;
	if (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0)
		return p + 4;
	return memcmp(p, "false", 5) == 0 ? p + 5 : NULL;
}

/* The position after the container at `p`, in which brackets are only counted; NULL: it has no end.
 */
static __attribute__((noinline)) const uint8_t *skip_deep(
	struct text *t, struct quotes *q, const uint8_t *p)
{
	const uint8_t *open, *close;
	size_t depth = 0;

	while (p < t->end) {
		if (*p == '"') {
			if (!take_string(t, q, p, &open, &close))
				return NULL;
			p = close;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			/* the text's last byte closes the outermost container */
			return p + 1 < t->end ? p + 1 : NULL;
		}
		p++;
	}
	return NULL;
}

/* The type of the values that a walk with `pick` looks for. */
static inline bool is_wanted(const struct bp_pick *pick, enum bp_value_type type)
{
	return pick->source->type == type;
}

/*
 * [p, end) begins with '{' or '[' and ends with '}' or ']'; the path has steps. The labels are the
 * states of the grammar (RFC 8259, sections 2 to 5). Returns the number's first byte. With `pick`
 * (a constant of each caller: the code for numbers at plain paths has none of it), the values at
 * the path go there, and the result is NULL if the text is not valid.
 */
static ALWAYS_INLINE const uint8_t *walk_text(const uint8_t *p, const uint8_t *end,
	const struct bp_json_path *path, double *value, struct bp_pick *pick)
{
	struct text t = {.start = p, .end = end, .escaped_to = p};
	struct walk w = {.path = path};
	struct quotes q = {.block = p, .mask = block_quotes(&t, p, false)};
	const uint8_t *open, *close, *number = p, *found = NULL, *found_end = NULL;
	bool hit = true;

open_container:
	if (__builtin_expect(!enter(&w, *p == '{', hit), 0)) {
		p = skip_deep(&t, &q, p);
		if (p == NULL)
			return NULL;
		goto after_value;
	}
	p = skip_blanks(p + 1);
	if (*p == ((w.kinds & 1) != 0 ? '}' : ']'))
		goto close_container;
	if ((w.kinds & 1) == 0)
		goto element;

member:
	if (!take_string(&t, &q, p, &open, &close))
		return NULL;
	hit = ((size_t)(close - open - 1) == w.name_len || __builtin_expect(t.escapes, 0)) &&
	      is_name(&w, &t, open + 1, close);
	p = close + 1;
	if (*p != ':') {
		p = skip_blanks(p);
		if (*p != ':')
			return NULL;
	}
	p++;
	if (hit)
		goto value_on_path;

any_value:
	if (*p == '"') {
		if (!take_string(&t, &q, p, &open, &close))
			return NULL;
		p = close + 1;
	} else if (is_digit(*p)) {
		number = p;
		p = digits_end(p, end);
		if (__builtin_expect(p == NULL, 0)) {
			p = bp_number_end(number, end);
			if (p == NULL)
				return NULL;
		}
	} else if (*p <= ' ') {
		const uint8_t *blanks = p;

		p = skip_blanks(p);
		if (p == blanks)
			return NULL;
		goto any_value;
	} else if (*p == '-') {
		p = bp_number_end(p, end);
		if (p == NULL)
			return NULL;
	} else if (*p == '{' || *p == '[') {
		hit = false;
		goto open_container;
	} else {
		p = literal_end(p, end);
		if (p == NULL)
			return NULL;
	}

after_value:
	if (*p == ',') {
		p++;
		if ((w.kinds & 1) != 0)
			goto member;
		goto element;
	}
	if (*p <= ' ') {
		const uint8_t *blanks = p;

		p = skip_blanks(p);
		if (p == blanks)
			return NULL;
		goto after_value;
	}
	if (*p == ((w.kinds & 1) != 0 ? '}' : ']'))
		goto close_container;
	if (is_digit(p[-1]) && p > number) { /* a number longer than the range of digits_end() */
		const uint8_t *so_far = p;

		p = bp_number_end(number, end);
		if (p == NULL || p <= so_far)
			return NULL;
		goto after_value;
	}
	return NULL;

element:
	p = skip_blanks(p);
	if (pick != NULL && w.by_index && path->step[w.matched].every)
		goto value_on_path;
	if (!w.by_index || w.elements_left-- != 0)
		goto any_value;

value_on_path:
	found = NULL; /* of several members of one name the last counts */
	p = skip_blanks(p);
	if (pick != NULL)
		bp_pick_hit(pick, w.matched);
	if (pick != NULL && w.matched + 1 == path->steps && !is_wanted(pick, BP_VALUE_NUMBER)) {
		if (*p == '"' && is_wanted(pick, BP_VALUE_STRING)) {
			if (!take_string(&t, &q, p, &open, &close))
				return NULL;
			bp_pick_string(pick, open + 1, close);
			p = close + 1;
			goto after_value;
		}
		if ((*p == 't' || *p == 'f') && is_wanted(pick, BP_VALUE_BOOLEAN)) {
			number = p;
			p = literal_end(p, end);
			if (p == NULL)
				return NULL;
			bp_pick_number(pick, *number == 't', number, p);
			goto after_value;
		}
		goto any_value;
	}
	if (w.matched + 1 == path->steps) {
		if (*p != '-' && !is_digit(*p))
			goto any_value;
		number = p;
		p = *p != '-' ? digits_end(p, end) : NULL;
		if (p == NULL || is_digit(*p) || (*p | 0x20) == 'e') {
			p = bp_number_end(number, end);
			if (p == NULL)
				return NULL;
		}
		found = number;
		found_end = p;
		if (pick != NULL)
			bp_pick_json_number(pick, found, found_end);
		goto after_value;
	}
	if (*p != '{' && *p != '[')
		goto any_value;
	hit = true;
	goto open_container;

close_container:
	p++;
	leave(&w);
	if (w.depth != 0) {
		if (p == end)
			return NULL;
		goto after_value;
	}
	if (pick != NULL)
		return p == end && !t.bad ? p : NULL;
	/* once, however often the member was there */
	if (p != end || t.bad || found == NULL)
		return NULL;
	*value = bp_number_value(found, found_end, end);
	return found;
}

/* Removes the mark and the blanks around a text; false: nothing is left. */
static bool trim(const uint8_t **payload, size_t len, const uint8_t **text_end)
{
	const uint8_t *p = *payload, *end;

	if (len >= 3 && p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf) { /* byte order mark */
		p += 3;
		len -= 3;
	}
	while (len > 0 && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
		p++;
		len--;
	}
	if (len == 0)
		return false;
	end = p + len;
	while (end[-1] == ' ' || end[-1] == '\n' || end[-1] == '\r' || end[-1] == '\t')
		end--; /* ends: *p is none of them */
	*payload = p;
	*text_end = end;
	return true;
}

/* Whether a text has the ends of a container, which walk_text() relies on. */
static bool is_container(const uint8_t *p, const uint8_t *end)
{
	return (*p == '{' || *p == '[') && (end[-1] == '}' || end[-1] == ']') && end - p >= 2;
}

const uint8_t *bp_value_json_at(
	const uint8_t *payload, size_t len, const struct bp_json_path *path, double *value)
{
	const uint8_t *p = payload, *end;
	double v = HUGE_VAL;

	if (!trim(&p, len, &end))
		return NULL;
	if (path->steps == 0) { /* "$": the text is the number */
		if (bp_number_parse(p, end, false, &v) != end)
			return NULL;
		*value = bp_number_in_range(v, *p == '-');
		return p;
	}
	return is_container(p, end) ? walk_text(p, end, path, value, NULL) : NULL;
}

/* ---- values of other types, and of arrays ---- */

bool bp_json_text(const uint8_t *at, const uint8_t *end, struct bp_value_text *text)
{
	text->len = 0;
	text->truncated = text->replaced = false;
	while (at < end) {
		const uint8_t *plain = at;
		uint8_t utf8[4];
		uint32_t c;
		unsigned used;

		while (at < end && *at != '\\' && *at != '"' && *at >= 0x20)
			at++;
		if (!bp_value_text_add_checked(text, plain, (size_t)(at - plain)))
			return false;
		if (at == end)
			break;
		if (*at != '\\')
			return false; /* a control character */
		used = bp_json_escape(at, end, &c);
		if (used == 0)
			return false;
		if (c >= 0xd800 && c <= 0xdfff) {
			text->replaced = true;
			c = 0xfffd;
		}
		bp_value_text_add(text, utf8, bp_utf8_put(c, utf8));
		at += used;
	}
	return true;
}

/* A text that is one value. */
static bool pick_root(struct bp_pick *pick, const uint8_t *p, const uint8_t *end)
{
	struct bp_value_text text;

	if (*p == '"' && end[-1] == '"' && end - p >= 2) {
		if (!bp_json_text(p + 1, end - 1, &text))
			return false;
		if (is_wanted(pick, BP_VALUE_STRING))
			bp_pick_string(pick, p + 1, end - 1);
		return true;
	}
	if (bp_number_end(p, end) == end) {
		if (is_wanted(pick, BP_VALUE_NUMBER))
			bp_pick_json_number(pick, p, end);
		return true;
	}
	if (end - p != (*p == 't' ? 4 : 5) ||
		memcmp(p, *p == 't' ? "true" : "false", (size_t)(end - p)) != 0)
		return false;
	if (is_wanted(pick, BP_VALUE_BOOLEAN))
		bp_pick_number(pick, *p == 't', p, end);
	return true;
}

__attribute__((noinline)) bool bp_pick_json(
	struct bp_pick *pick, const uint8_t *payload, size_t len)
{
	const uint8_t *p = payload, *end;
	double unused;

	if (!trim(&p, len, &end))
		return false;
	if (pick->path->steps == 0)
		return pick_root(pick, p, end);
	return is_container(p, end) && walk_text(p, end, pick->path, &unused, pick) != NULL;
}
