/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_IP4_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_DISAGG_IP4_H

#include "tests/unit/proto/exact.h"

#include "services/aggregation/disaggregator.h"

/* Buffers for the single pass of a plain aggregate, each no longer than the aggregate's frame: more
 * may not be written to any. */
struct ip4_buffers {
	uint8_t *base[BP_AGG_FULL_MOST];
	unsigned len[BP_AGG_FULL_MOST], n;
};

static inline void ip4_free(struct ip4_buffers *b)
{
	for (unsigned i = 0; i < b->n; i++)
		free(b->base[i]);
	b->n = 0;
}

/* Decapsulates a complete frame by the single pass for plain aggregates, into new buffers. Returns
 * the number of messages. */
static inline unsigned ip4_split(struct bp_disaggregator *d, const uint8_t *frame, unsigned len,
	unsigned port, bool routed, uint64_t mac, uint16_t id, struct ip4_buffers *b, uint8_t *rule)
{
	const unsigned in_front = 3; /* data need not begin where a buffer does */
	struct bp_disagg_length length[BP_AGG_FULL_MOST];
	const struct bp_disagg_buffers to = {.base = b->base,
		.data_at = in_front,
		.n = bp_disaggregator_ip4_count(frame, len),
		.length = length};
	unsigned n = 0, at = 0;

	b->n = to.n;
	for (unsigned i = 0; i < b->n; i++) {
		b->base[i] = malloc(in_front + len);
		assert_non_null(b->base[i]);
		memset(b->base[i], 0xee, in_front + len);
	}
	if (to.n != 0)
		n = bp_disaggregator_restore_ip4(d, frame, len, port, routed, mac, id, &to, rule);
	for (unsigned i = 0; at < n; i++) {
		assert_true(length[i].n != 0 && at + length[i].n <= n);
		for (unsigned k = 0; k < length[i].n; k++)
			b->len[at++] = length[i].len;
	}
	return n;
}

static inline const uint8_t *ip4_frame(const struct ip4_buffers *b, unsigned i)
{
	return b->base[i] + 3;
}

#endif
