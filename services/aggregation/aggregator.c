/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "services/aggregation/aggregator_state.h"
#include "proto/aggregation/agg_lin2018.h"

/* Creation of an aggregator and its rules. */

struct bp_aggregator *bp_aggregator_new(const struct bp_aggregator_options *o)
{
	struct bp_aggregator *a = calloc(1, sizeof(*a));
	uint64_t key[2];

	if (a == NULL)
		return NULL;
	a->stats = o->stats;
	a->hooks = o->hooks;
	a->room = o->room;
	a->random = o->seed;
	a->soonest_ns = UINT64_MAX;
	a->single.stream = BP_AGG_NO_STREAM;
	for (unsigned i = 0; i < 2; i++)
		key[i] = bp_aggregator_random(a);
	if (!bp_agg_streams_init(&a->streams, o->streams, o->rows, key)) {
		free(a);
		return NULL;
	}
	return a;
}

void bp_aggregator_free(struct bp_aggregator *a)
{
	if (a == NULL)
		return;
	bp_agg_streams_free(&a->streams);
	free(a);
}

/* Maximum length of a message whose aggregate has at most `size` bytes if it holds only this
 * message; -1: none. */
static int32_t longest_alone(unsigned format, unsigned family, unsigned size)
{
	const unsigned empty = bp_agg_full_alone(family, 0);

	if (format == BP_AGG_FORMAT_LIN2018)
		return size < BP_AGG_LIN2018_LEN(1) ? -1 : (int32_t)BP_AGG_LIN2018_LEN(1);
	if (size < empty)
		return -1;
	/* from 256 bytes on the length is a byte longer */
	return (int32_t)(size - empty - (size - empty > 255));
}

static void prepare(
	struct bp_aggregator_rule *r, const struct bp_agg_rule *c, unsigned room, unsigned min_mtu)
{
	const unsigned family = c->to.address.family, mtu = c->mtu != 0 ? c->mtu : min_mtu;
	const unsigned head = bp_datagram_head_len(family), entry = bp_agg_full_entry_most(family);
	/* Capacity remains for one more entry of the maximum size when the aggregate is full: then
	 * the payloads can always be moved if the directory outgrows the front. */
	const unsigned overhead = BP_AGG_AHEAD + BP_AGG_FULL_HEADER + entry;
	const unsigned usable = room > overhead ? room - overhead : 0;
	unsigned size = mtu > head ? mtu - head : 0, front;

	size = size < usable ? size : usable;
	*r = (struct bp_aggregator_rule){
		.max_delay_ns = c->max_delay_ns,
		.longest = longest_alone(c->format, family, size),
		.size = (uint16_t)size,
		.from_udp = c->from_udp,
		.family = (uint8_t)family,
		.format = c->format,
		.port = c->port,
		.messages = c->messages != 0 ? c->messages : 1,
		.has_from = c->from.family == family,
	};
	memcpy(r->from, c->from.bytes, sizeof(r->from));
	if (c->n_senders == 0)
		bp_agg_senders_set_all(&r->senders);
	else
		bp_agg_senders_set(&r->senders, family, c->senders, c->n_senders);
	r->most = r->messages;
	if (c->format == BP_AGG_FORMAT_LIN2018) {
		r->front = BP_AGG_LIN2018_FRONT;
		if (bp_agg_lin2018_max_messages(size) < r->most)
			r->most = (uint8_t)bp_agg_lin2018_max_messages(size);
	} else {
		front = BP_AGG_FULL_HEADER + entry * r->messages;
		r->front =
			(uint16_t)(front < room - BP_AGG_AHEAD - size ? front
								      : room - BP_AGG_AHEAD - size);
	}
	r->stages = r->format == BP_AGG_FORMAT_FULL && family == 4 && r->most > 1 &&
		    r->most <= BP_AGG_STAGE_MOST && r->front >= BP_AGG_FULL_FRONT4(r->most) &&
		    BP_AGG_FULL_HEADER + r->most * (BP_AGG_FULL_ENTRY4 + BP_AGG_STAGE_PAYLOAD) <=
			    r->size;
	if (c->max_message < r->longest)
		r->longest = c->max_message;
}

static void clear(struct bp_agg_stats *s)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)s;

	for (size_t i = 0; i < sizeof(*s) / sizeof(*word); i++)
		atomic_store_explicit(&word[i], 0, memory_order_relaxed);
}

void bp_aggregator_set_rules(struct bp_aggregator *a, const struct bp_agg_rules *rules,
	uint16_t min_mtu, uint64_t now_ns)
{
	bp_aggregator_flush(a, BP_AGG_FLUSH_RELOAD, now_ns, 0);
	bp_agg_streams_clear(&a->streams);
	a->single.stream = BP_AGG_NO_STREAM;
	a->multi.known = false;
	a->multi.template.kind = BP_AGG_TEMPLATE_NONE;
	bp_agg_match_clear(&a->match);
	for (unsigned i = 0; i < BP_AGG_RULES_MAX; i++)
		clear(&a->stats[i]);
	a->n_rules = rules->n_aggregate < BP_AGG_RULES_MAX ? rules->n_aggregate : BP_AGG_RULES_MAX;
	for (unsigned i = 0; i < a->n_rules; i++) {
		const struct bp_agg_rule *c = &rules->aggregate[i];

		prepare(&a->rule[i], c, a->room, min_mtu);
		bp_agg_match_enter(&a->match, i, c->port, &c->to);
	}
}

bool bp_aggregator_uses_port(const struct bp_aggregator *a, unsigned port)
{
	return bp_agg_match_uses_port(&a->match, port);
}
