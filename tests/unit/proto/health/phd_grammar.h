/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_PHD_GRAMMAR_H
#define BP_TESTS_UNIT_PROTO_HEALTH_PHD_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A grammar of APDUs, independent of the codec: the structures of annex A as patterns.
 *   1 2 4   that many bytes
 *   O       an octet string: 16 bits of length, and that many bytes
 *   <...>   an octet string that is filled by the content in brackets
 *   {...}   a list: 16 bits of count, 16 of length, and that many times the content in braces
 */

static inline unsigned g_u16(const uint8_t *p, size_t at)
{
	return (unsigned)(p[at] << 8 | p[at + 1]);
}

static inline const char *g_closing(const char *f)
{
	int depth = 0;

	for (;; f++) {
		depth += (*f == '{') + (*f == '<') - (*f == '}') - (*f == '>');
		if (depth == 0)
			return f;
	}
}

/* Matches `f` up to its end or a closing bracket, at [*at, end) of p. */
static inline bool g_part(const char *f, const uint8_t *p, size_t *at, size_t end)
{
	for (; *f != '\0' && *f != '>' && *f != '}'; f++) {
		size_t head = *f == '{' ? 4 : *f >= '1' && *f <= '4' ? 0 : 2, stop;
		unsigned times = 1;

		if (end - *at < head)
			return false;
		if (head == 0) {
			stop = *at + (size_t)(*f - '0');
		} else {
			times = *f == '{' ? g_u16(p, *at) : 1;
			stop = *at + head + g_u16(p, *at + head - 2);
		}
		if (stop > end)
			return false;
		*at += head;
		if (*f == '{' || *f == '<') {
			for (; times > 0; times--) {
				if (!g_part(f + 1, p, at, stop))
					return false;
			}
			if (*at != stop)
				return false;
			f = g_closing(f);
		}
		*at = stop;
	}
	return true;
}

static inline bool g_all(const char *f, const uint8_t *p, size_t at, size_t end)
{
	return g_part(f, p, &at, end) && at == end;
}

static inline bool g_begins(const char *f, const uint8_t *p, size_t at, size_t end)
{
	return g_part(f, p, &at, end);
}

#define G_ASSOCIATION "42444O2211{2O}"

static inline bool g_aarq(const uint8_t *p, size_t end)
{
	size_t at = 12;

	if (!g_all("4{2O}", p, 4, end))
		return false;
	while (at < end) {
		size_t next = at + 4 + g_u16(p, at + 2);

		if (g_u16(p, at) == 0x5079 && !g_all(G_ASSOCIATION, p, at + 4, next))
			return false;
		at = next;
	}
	return true;
}

/* The attributes of an object whose form the reader of configurations must know. */
static inline bool g_attribute(unsigned id, const uint8_t *p, size_t at, size_t end)
{
	switch (id) {
	case 2351:
		return g_all("22", p, at, end);
	case 2454:
	case 2630:
		return g_all("2", p, at, end);
	case 2645:
	case 2657:
		return g_all("{22}", p, at, end);
	case 2678:
		return g_all("{2}", p, at, end);
	default:
		return true;
	}
}

static inline bool g_config(const uint8_t *p, size_t at, size_t end)
{
	if (!g_all("2{22{2O}}", p, at, end))
		return false;
	at += 6;
	while (at < end) {
		size_t stop = at + 8 + g_u16(p, at + 6);

		at += 8;
		while (at < stop) {
			size_t next = at + 4 + g_u16(p, at + 2);

			if (!g_attribute(g_u16(p, at), p, at + 4, next))
				return false;
			at = next;
		}
	}
	return true;
}

static inline bool g_event(const uint8_t *p, bool reply, size_t end)
{
	static const char *const reports[] = {"22{2O}", "22{2{2O}}", "22{2{2O}}", "22{2{2{2O}}}"};
	unsigned type;

	if (!g_all("242O", p, 12, end))
		return false;
	type = g_u16(p, 18);
	if (reply || type < 3356 || type > 3360)
		return true;
	/* agents append bytes to the event-info of a report: they are ignored */
	return type == 3356 ? g_config(p, 22, end) : g_begins(reports[type - 3357], p, 22, end);
}

static inline bool g_data(const uint8_t *p, size_t end)
{
	switch (g_u16(p, 8)) {
	case 0x0100:
	case 0x0101:
		return g_event(p, false, end);
	case 0x0201:
		return g_event(p, true, end);
	case 0x0203:
		return g_all("2{2O}", p, 12, end);
	case 0x0300:
		return g_all("2O", p, 12, end);
	case 0x0400:
		return g_all("2", p, 12, end);
	case 0x0103:
	case 0x0104:
	case 0x0105:
	case 0x0106:
	case 0x0107:
	case 0x0205:
	case 0x0207:
		return true;
	default:
		return false;
	}
}

/* Whether p[0..len) is one complete APDU, well-formed in all fields that a manager reads. */
static inline bool g_apdu(const uint8_t *p, size_t len)
{
	if (len < 4 || !g_all("O", p, 2, len))
		return false;
	switch (g_u16(p, 0)) {
	case 0xe200:
		return g_aarq(p, len);
	case 0xe300:
		return g_all("22O", p, 4, len) && (g_u16(p, 6) != 0x5079 || g_u16(p, 8) == 0 ||
							  g_all(G_ASSOCIATION, p, 10, len));
	case 0xe400:
	case 0xe500:
	case 0xe600:
		return g_all("2", p, 4, len);
	case 0xe700:
		return g_all("<22O>", p, 4, len) && g_data(p, len);
	default:
		return false;
	}
}

#endif
