/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/payload/utf8.h"

#include "proto/net/vec16.h"

/*
 * The second byte excludes invalid sequences that the first one permits: overlong forms (E0, F0),
 * surrogates (ED) and code points above U+10FFFF (F4). RFC 3629, section 4.
 */
static bool second_byte_valid(uint8_t first, uint8_t second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return (second & 0xc0) == 0x80;
	}
}

int bp_utf8_char(const uint8_t *s, size_t len)
{
	uint8_t first = s[0];
	size_t need;

	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	need = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (len < 2)
		return -1;
	if (!second_byte_valid(first, s[1]))
		return 0;
	for (size_t i = 2; i < need; i++) {
		if (i == len)
			return -1;
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return (int)need;
}

/* The bytes from `s` that are ASCII and, with `no_nul`, not NUL: a lower bound, at most 16. */
static inline size_t ascii_run(const uint8_t *s, size_t len, bool no_nul)
{
	bp_v16 v = bp_v16_load_upto(s, len);
	uint32_t m = bp_v16_mask(no_nul ? v | bp_v16_eq(v, 0) : v);
	size_t n = len < 16 ? len : 16;

	m |= 1u << n; /* ends the search; also at the begin of zero padding */
	return (size_t)__builtin_ctz(m);
}

static inline bool valid(const uint8_t *s, size_t len, bool no_nul)
{
	while (len > 0) {
		size_t n = ascii_run(s, len, no_nul);

		if (n == 0) {
			int c;

			if (no_nul && s[0] == 0)
				return false;
			c = bp_utf8_char(s, len);
			if (c <= 0)
				return false;
			n = (size_t)c;
		}
		s += n;
		len -= n;
	}
	return true;
}

bool bp_utf8_is_control(const uint8_t *s)
{
	if (s[0] < 0x80)
		return s[0] < 0x20 || s[0] == 0x7f;
	if (s[0] == 0xc2)
		return s[1] < 0xa0;
	if (s[0] == 0xef) /* U+FDD0 to U+FDEF, U+FFFE, U+FFFF */
		return (s[1] == 0xb7 && s[2] >= 0x90 && s[2] <= 0xaf) ||
		       (s[1] == 0xbf && s[2] >= 0xbe);
	return s[0] >= 0xf0 && (s[1] & 0x0f) == 0x0f && s[2] == 0xbf && s[3] >= 0xbe;
}

/* Control characters of ASCII, and all non-ASCII bytes. */
static inline bp_v16 control_suspects(bp_v16 v)
{
	return v | bp_v16_eq(v & bp_v16_of(0xe0), 0) | bp_v16_eq(v, 0x7f);
}

bool bp_utf8_has_control(const uint8_t *s, size_t len)
{
	for (const uint8_t *end = s + len; s < end;) {
		if (end - s >= 16 && bp_v16_mask(control_suspects(bp_v16_load(s))) == 0) {
			s += 16;
			continue;
		}
		if (bp_utf8_is_control(s))
			return true;
		s += *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;
	}
	return false;
}

bool bp_utf8_valid_mqtt(const uint8_t *s, size_t len)
{
	return valid(s, len, true);
}

bool bp_utf8_valid(const uint8_t *s, size_t len)
{
	return valid(s, len, false);
}
