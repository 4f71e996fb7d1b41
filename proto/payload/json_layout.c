/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/json_layout.h"

/*
 * Proof that a matching text has the value that bp_value_json() finds. The learned text is valid
 * JSON, and a byte is free only if every choice keeps the kind and the position of its token:
 *
 * (a) A digit of a number, anywhere, may be any digit, but the first of several before the point
 *     must not be 0 ("01" is invalid). Signs, points and 'e' are fixed. JSON does not bound
 *     numbers, so that a number that is not read may have any value; the one that is read may
 *     become infinite, which is not a value, and its reader reports that. An earlier member of the
 *     same name is ignored, finite or not.
 * (b) A character of a string value may be any of its group: 0x20..0x21, 0x23..0x5b or 0x5d..0x7f
 *     (DEL is not a control character in RFC 8259). No group has a quote, a backslash, a control
 *     character or a byte of a character above 0x7f, so none of these is added or removed: the
 *     string has the same end and the same escapes, and its UTF-8 validity does not change. An
 *     escape is fixed, so that half of a surrogate pair remains one.
 * (c) All other bytes are fixed: brackets and thereby depth, commas and thereby indexes, blanks,
 *     literals. Member names are fixed too, so that the path leads to the same member and the
 *     same names are duplicate.
 *
 * Hence the parser takes the same branches for both texts and ends at the same number.
 */

_Static_assert(BP_JSON_LAYOUT_MAX <= UINT16_MAX && BP_JSON_LAYOUT_MAX % 16 == 0,
	"lengths are 16 bits, and blocks of 16 bytes lie inside");

static inline bool is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/*
 * The scans below rely on a valid text: they end at the character that must follow, and read at
 * most one byte past a token, where at least the final bracket is.
 */

/* The bytes of the number at `p`. */
static size_t number_length(const uint8_t *p)
{
	size_t n = 0;

	while (is_digit(p[n]) || p[n] == '-' || p[n] == '+' || p[n] == '.' || (p[n] | 0x20) == 'e')
		n++;
	return n;
}

/* The bytes of the string at `p`, quotes included. */
static size_t string_length(const uint8_t *p)
{
	size_t n = 1;

	while (p[n] != '"')
		n += p[n] == '\\' ? 2 : 1;
	return n + 1;
}

/* Whether a colon follows, which makes the string before `p` a member name. */
static bool is_name(const uint8_t *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
		p++;
	return *p == ':';
}

static void allow(struct bp_json_layout *l, size_t i, uint8_t first, uint8_t last)
{
	l->low[i] = first;
	l->range[i] = last - first;
}

/* The number text[i .. end). */
static void allow_number(struct bp_json_layout *l, const uint8_t *text, size_t i, size_t end)
{
	i += text[i] == '-';
	if (is_digit(text[i + 1]))
		allow(l, i++, '1', '9');
	for (; i < end; i++) {
		if (is_digit(text[i]))
			allow(l, i, '0', '9');
	}
}

/* The contents of a string between its quotes, text[i .. end). */
static void allow_string(struct bp_json_layout *l, const uint8_t *text, size_t i, size_t end)
{
	while (i < end) {
		uint8_t c = text[i];

		if (c == '\\') {
			i += text[i + 1] == 'u' ? 6 : 2;
			continue;
		}
		if (c < '"')
			allow(l, i, ' ', '"' - 1);
		else if (c < '\\')
			allow(l, i, '"' + 1, '\\' - 1);
		else if (c < 0x80)
			allow(l, i, '\\' + 1, 0x7f);
		i++;
	}
}

/* Fills low and range from a valid text that is an object or an array. */
static void allow_text(struct bp_json_layout *l, const uint8_t *text, size_t len)
{
	size_t i = 0;

	memset(l->low, 0, 16); /* of a text shorter than that, the padding fits */
	memcpy(l->low, text, len);
	memset(l->range, 0, len < 16 ? 16 : len);
	while (i < len) {
		size_t n = 1;

		if (text[i] == '"') {
			n = string_length(text + i);
			if (!is_name(text + i + n))
				allow_string(l, text, i + 1, i + n - 1);
		} else if (text[i] == '-' || is_digit(text[i])) {
			n = number_length(text + i);
			allow_number(l, text, i, i + n);
		}
		i += n;
	}
}

bool bp_json_layout_learn(const uint8_t *text, size_t len, const struct bp_json_path *path,
	struct bp_json_layout *layout, double *value)
{
	const uint8_t *number = bp_value_json_at(text, len, path, value);

	if (number == NULL)
		return false;
	layout->len = 0;
	if (len > BP_JSON_LAYOUT_MAX || path->steps == 0)
		return true;
	allow_text(layout, text, len);
	layout->at = (uint16_t)(number - text);
	layout->n = (uint16_t)number_length(number);
	layout->pad = 0;
	layout->len = (uint16_t)len;
	return true;
}
