/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/aggregator_parts.h"

/* An aggregate of what is staged (services/aggregation/stage.h). */

/* Appends all; there is room, and for what is written at once beyond an entry, as the rule's
 * `stages` has it. */
static void append_all(struct bp_agg_stream *s, const struct bp_agg_stage *stage,
	const uint32_t *place, unsigned n)
{
	const struct bp_agg_record *r = bp_agg_record_at(stage, place[0]);

	bp_agg_full_first4(&s->writer, r->src, bp_be16(r->sport), r->hops, r->payload, r->len);
	s->sum = r->sum;
	s->arrived_ns = r->arrived_ns;
	s->more = r->more;
	for (unsigned i = 1; i < n; i++) {
		r = bp_agg_record_at(stage, place[i]);
		s->sum = bp_sum_add(s->sum, bp_sum_moved(r->sum, s->writer.payloads));
		s->arrived_ns += r->arrived_ns;
		s->more += r->more;
		bp_agg_full_append4(
			&s->writer, r->src, bp_be16(r->sport), r->hops, r->payload, r->len);
	}
}

void bp_aggregator_lose(struct bp_aggregator *a, struct bp_agg_staged *g)
{
	const unsigned n = bp_agg_staged_count(g);

	bp_aggregator_release(a, g);
	a->starved = true;
	bp_aggregator_settle(a);
	bp_agg_stat_add(&a->stats[bp_agg_usual_rule(g->usual)].waiting, -(uint64_t)n);
	if (a->hooks.lost != NULL)
		a->hooks.lost(a->hooks.arg, n);
}

void bp_aggregator_unstage_to(struct bp_aggregator *a, struct bp_agg_staged *g,
	struct bp_agg_stream *s, uint8_t *base, void *buffer)
{
	const struct bp_agg_stage *stage = &a->streams.stage;
	const struct bp_agg_record *first = bp_agg_record_at(stage, g->record[0]);
	const struct bp_aggregator_rule *r = &a->rule[bp_agg_usual_rule(g->usual)];
	uint8_t macs[16];

	memcpy(macs, &g->state, 8);
	memcpy(macs + 6, first->mac, 6);
	bp_aggregator_begin_in(s, r, base, buffer, macs, first->arrived_ns);
	append_all(s, stage, g->record, bp_agg_staged_count(g));
	bp_aggregator_release(a, g);
}

bool bp_aggregator_unstage(struct bp_aggregator *a, uint32_t stream)
{
	struct bp_agg_staged *g = &a->streams.staged[stream];
	void *buffer;
	uint8_t *base = a->hooks.get(a->hooks.arg, &buffer);

	if (base == NULL) {
		bp_aggregator_lose(a, g);
		return false;
	}
	a->starved = false;
	bp_aggregator_unstage_to(a, g, &a->streams.stream[stream], base, buffer);
	g->state |= BP_AGG_STAGE_NONE;
	return true;
}
