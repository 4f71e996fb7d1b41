/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/json_layout.h"

/*
 * Why a text that fits has the value that bp_value_json() finds. The text learned is valid JSON,
 * and a byte is free only so far as every choice leaves its token what and where it is:
 *
 * (a) A digit of a number, anywhere, may be any digit, but the first of several before the point
 *     not 0 ("01" is no number). Signs, points and 'e' stay. JSON bounds no number, so that one not
 *     looked at may become anything; the one looked at may become infinite, which is no value, and
 *     its reader says so. An earlier member of the same name does not count, finite or not.
 * (b) A character of a string that is a value may be any of its group: 0x20..0x21, 0x23..0x5b or
 *     0x5d..0x7f (DEL is no control character to RFC 8259). No group has a quote, a backslash, a
 *     control character or a byte of a character above 0x7f, so none of these comes or goes: the
 *     string ends where it did, its escapes are the same and so is whether it is UTF-8. An escape
 *     stays whole, so that a surrogate stays half of its pair.
 * (c) All else stays: brackets and thereby depth, commas and thereby indexes, blanks, literals.
 *     Member names too, so that the path leads the same way and the same names occur twice.
 *
 * Hence the grammar's walk takes the same turns over both texts and ends at the same number.
 */

_Static_assert(BP_JSON_LAYOUT_MAX <= UINT16_MAX && BP_JSON_LAYOUT_MAX % 16 == 0,
	"lengths are 16 bits, and blocks of 16 bytes lie inside");

static inline bool is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/*
 * The scans below know that the text is valid: they end at what must come, and look at most one
 * byte past a token, where there is at least the bracket that ends the text.
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

/* What is between the quotes of a string, text[i .. end). */
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

/* Fills low and range from a text that is valid and an object or an array. */
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
