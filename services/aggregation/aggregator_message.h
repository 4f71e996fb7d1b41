/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_AGGREGATION_AGGREGATOR_MESSAGE_H
#define BP_SERVICES_AGGREGATION_AGGREGATOR_MESSAGE_H

#include "services/aggregation/aggregator_parts.h"

/*
 * A frame that is read, and what becomes of it: for the general way, which takes all there is, and
 * which others leave to it what they do not take themselves.
 */
struct bp_aggregator_message {
	struct bp_agg_key key;
	uint64_t sum; /* of its payload */
	const uint8_t *payload;
	uint32_t hash, stream; /* stream: a guess */
	uint16_t len;          /* of the payload */
	/* What is to be done about it; PASS: send what its stream holds, PASS_BOTH: also what the
	 * one holds that differs in Don't Fragment. */
	enum {
		BP_AGG_TODO_NOTHING,
		BP_AGG_TODO_TAKE,
		BP_AGG_TODO_PASS,
		BP_AGG_TODO_PASS_BOTH
	} todo;
	bool mimic; /* begins like an aggregate */
	uint8_t hops;
	uint16_t sport;     /* host byte order */
	const uint8_t *src; /* address */
};

/* Reads a frame: writes its verdict, but for what is to be taken, and all of *m but `stream`, or
 * only that there is nothing to be done. Fetches the slot of its stream. */
void bp_aggregator_read(
	const struct bp_aggregator *a, struct bp_agg_input *in, struct bp_aggregator_message *m);
/* Does about it what is to be done, which is something; its stream is then in m->stream. */
void bp_aggregator_do(struct bp_aggregator *a, struct bp_agg_input *in,
	struct bp_aggregator_message *m, uint64_t now_ns, uint64_t wall_ns);

/* Whether two frames go to one station. Who sent them does not matter: many devices of a LAN make
 * one aggregate. Both have eight octets. */
static inline bool bp_aggregator_same_target(const uint8_t *a, const uint8_t *b)
{
	return ((bp_load_le64(a) ^ bp_load_le64(b)) << 16) == 0;
}

/* A message was taken, by that rule, in a frame of so many octets. */
static inline void bp_aggregator_taken(struct bp_aggregator *a, unsigned rule, uint32_t octets)
{
	if (__builtin_expect(rule != a->taken_rule, 0)) {
		bp_aggregator_settle(a);
		a->taken_rule = rule;
	}
	a->taken++;
	a->taken_octets += octets;
}

#endif
