/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_PAYLOAD_JSON_ESCAPE_H
#define BP_PROTO_PAYLOAD_JSON_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Escapes in strings, both of JSON texts (RFC 8259, section 7) and of paths. */

static inline int bp_hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX at p[0..6), or a negative number. */
static inline int32_t bp_json_u_escape(const uint8_t *p, const uint8_t *end)
{
	int32_t v = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		int h = bp_hex_digit(p[i]);

		if (h < 0)
			return -1;
		v = v << 4 | h;
	}
	return v;
}

/*
 * Reads one escape at p (p < end, *p is the backslash). Returns its length and sets *c to its
 * character, or returns 0 if it is invalid. An unpaired surrogate is returned unchanged (RFC 8259,
 * 8.2): it is not a character, and equal to none.
 */
static inline unsigned bp_json_escape(const uint8_t *p, const uint8_t *end, uint32_t *c)
{
	int32_t u, low;

	if (end - p < 2)
		return 0;
	switch (p[1]) {
	case '"':
	case '\\':
	case '/':
		*c = p[1];
		return 2;
	case 'b':
		*c = '\b';
		return 2;
	case 'f':
		*c = '\f';
		return 2;
	case 'n':
		*c = '\n';
		return 2;
	case 'r':
		*c = '\r';
		return 2;
	case 't':
		*c = '\t';
		return 2;
	default:
		break;
	}
	u = bp_json_u_escape(p, end);
	if (u < 0)
		return 0;
	*c = (uint32_t)u;
	if (u < 0xd800 || u > 0xdbff)
		return 6;
	low = bp_json_u_escape(p + 6, end);
	if (low < 0xdc00 || low > 0xdfff)
		return 6;
	*c = 0x10000 + (((uint32_t)u - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
	return 12;
}

/* Writes `c` as UTF-8; returns its length, 1..4. */
static inline unsigned bp_utf8_put(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* Whether the text of a member name, with escapes, denotes these bytes. In value_json.c. */
bool bp_json_same_name(
	const uint8_t *text, const uint8_t *text_end, const uint8_t *want, size_t want_len);

#endif
