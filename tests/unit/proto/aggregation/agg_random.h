/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_AGGREGATION_AGG_RANDOM_H
#define BP_TESTS_UNIT_PROTO_AGGREGATION_AGG_RANDOM_H

#include "tests/unit/proto/exact.h"

#include "proto/aggregation/agg_full.h"

/* A message that a test sends, with its payload. */
struct sent {
	struct bp_agg_sender from;
	uint16_t len;
	uint8_t payload[600];
};

/* A sender that often shares some of its bytes with the one before, and a length near the steps of
 * the encoding. */
static inline void random_message(
	uint64_t *state, unsigned family, const struct bp_agg_sender *before, struct sent *m)
{
	static const uint16_t lengths[] = {
		0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 254, 255, 256, 257, 600};
	const unsigned bytes = family == 4 ? 4 : 16;
	const uint64_t r = next_random(state);
	const unsigned same = (unsigned)(r >> 8) % (bytes + 1);

	memset(m, 0, sizeof(*m));
	if (before != NULL)
		m->from = *before;
	for (unsigned i = same; i < bytes; i++)
		m->from.addr[i] = (uint8_t)next_random(state);
	if ((r >> 16 & 3) == 0)
		m->from.port = (uint16_t)next_random(state);
	if ((r >> 18 & 3) == 0)
		m->from.port = (uint16_t)((m->from.port & 0xff00) | (next_random(state) & 0xff));
	if ((r >> 20 & 3) == 0)
		m->from.hops = (uint8_t)next_random(state);
	m->len = (r >> 22 & 1) ? 16 : lengths[(r >> 24) % (sizeof(lengths) / sizeof(lengths[0]))];
	for (unsigned i = 0; i < m->len; i++)
		m->payload[i] = (uint8_t)next_random(state);
}

#endif
