/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_FORWARDED_H
#define BP_TESTS_FUZZ_FORWARDED_H

#include "tests/fuzz/fuzz.h"

/*
 * What a policy that refuses packets forwards of a client's stream: each byte with one value only,
 * until the broker acknowledges it.
 */

#define FORWARDED_MAX (1u << 17) /* of a connection; more than an input has */

struct forwarded {
	bool any, is_whole;           /* is_whole: `begin` is its first byte */
	uint32_t begin, acked;        /* sequence numbers */
	uint32_t n;                   /* positions up to the last one with a value */
	uint16_t byte[FORWARDED_MAX]; /* and 0x100, if it has left */
};

/* Another connection, of which the first byte is not known. */
static inline void forwarded_reset(struct forwarded *f)
{
	f->any = f->is_whole = false;
}

/* ...or known, by the handshake. */
static inline void forwarded_begin(struct forwarded *f, uint32_t seq)
{
	f->any = true;
	f->begin = f->acked = seq;
	memset(f->byte, 0, f->n * sizeof(f->byte[0]));
	f->n = 0;
}

static inline void forwarded_acked(struct forwarded *f, uint32_t ack)
{
	if (f->any && ack - f->acked <= f->n - (f->acked - f->begin))
		f->acked = ack;
}

static inline void forwarded_bytes(struct forwarded *f, uint32_t seq, const uint8_t *p, size_t n)
{
	if (n != 0 && !f->any)
		forwarded_begin(f, seq);
	for (size_t i = 0; i < n; i++, seq++) {
		const uint32_t at = seq - f->begin;

		if ((int32_t)(seq - f->acked) < 0 || at >= FORWARDED_MAX)
			continue;
		HOLDS(f->byte[at] == 0 || f->byte[at] == (0x100 | p[i]));
		f->byte[at] = 0x100 | p[i];
		if (at >= f->n)
			f->n = at + 1;
	}
}

/* The length of the packet at a position, and where its body begins; 0: it has not left whole. */
static inline uint32_t forwarded_packet(
	const struct forwarded *f, uint32_t at, uint32_t end, uint32_t *body)
{
	uint32_t length = 0, i = at + 1;

	for (unsigned shift = 0; shift < 28 && i < end; shift += 7, i++) {
		length |= (uint32_t)(f->byte[i] & 127) << shift;
		if (f->byte[i] & 128)
			continue;
		*body = i + 1;
		return length <= end - i - 1 ? i + 1 + length - at : 0;
	}
	return 0;
}

static inline void forwarded_topic(const struct forwarded *f, uint32_t at, uint32_t len)
{
	uint32_t slashes = 0;

	for (uint32_t i = at; i < at + len; i++)
		slashes += (uint8_t)f->byte[i] == '/';
	/* a topic that begins with $ does not match the rule */
	HOLDS(len < 2 || slashes != 1 || (uint8_t)f->byte[at] == '$' ||
		(uint8_t)f->byte[at + len - 2] != '/' || (uint8_t)f->byte[at + len - 1] != 'b');
}

/* No PUBLISH with a topic of two levels, of which the second one is b, has left: a reader of MQTT
 * that shares nothing with inspection. */
static inline void forwarded_publications(const struct forwarded *f)
{
	uint32_t body = 0, end = 0, n;

	if (!f->any || !f->is_whole)
		return;
	while (end < f->n && f->byte[end] != 0)
		end++;
	if (end == 0 || (uint8_t)f->byte[0] != 0x10)
		return;
	for (uint32_t at = 0; at < end && (n = forwarded_packet(f, at, end, &body)) != 0; at += n) {
		const uint32_t left = at + n - body;
		uint32_t len;

		if ((uint8_t)f->byte[at] >> 4 != 3 || left < 2)
			continue;
		len = (uint32_t)(uint8_t)f->byte[body] << 8 | (uint8_t)f->byte[body + 1];
		if (len <= left - 2)
			forwarded_topic(f, body + 2, len);
	}
}

#endif
