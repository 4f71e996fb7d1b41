/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/batch.h"

#include "dataplane/mqtt/fast.h"

/*
 * The steps of fast.h, each a function of its own: together they are too much for the compiler's
 * registers.
 */
#define NOINLINE __attribute__((noinline))

static NOINLINE void hash(struct bp_inspector *in, struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (__builtin_expect(b->kind[i] != BP_BATCH_PARSED, 1))
			bp_fast_hash(in, b->frame[i], &b->l[i]);
		else
			bp_inspect_hash(in, &b->parsed[i], &b->l[i]);
		b->group[i] = bp_flow_group1(&in->table, b->l[i].hash);
		__builtin_prefetch(&in->table.group[b->group[i]]);
	}
}

static NOINLINE void probe(const struct bp_inspector *in, struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		b->l[i].flow = bp_flow_candidate_in(&in->table, b->l[i].hash, b->group[i]);
		__builtin_prefetch(b->l[i].flow, 1);
	}
}

static NOINLINE void look(const struct bp_inspector *in, struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *frame = b->frame[i];

		if (__builtin_expect(b->kind[i] == BP_BATCH_PARSED, 0))
			b->p[i].body = 0;
		else
			bp_fast_read(in, frame, bp_be16(frame + BP_FAST_L3 + 2), &b->p[i]);
	}
}

/* What goes the general way anyway is summed there. */
static NOINLINE void verify(struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const uint8_t *frame = b->frame[i];

		if (b->kind[i] == BP_BATCH_UNVERIFIED && b->p[i].body != 0 &&
			!bp_fast_checksum_ok(frame, bp_be16(frame + BP_FAST_L3 + 2)))
			b->p[i].body = 0;
	}
}

static void tell_raised(struct bp_inspector *in, struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n_raised; i++) {
		uint8_t at = b->raised[i];

		bp_fast_raise(in, b->frame[at], b->l[at].flow, &b->p[at]);
	}
	b->n_raised = 0;
}

static NOINLINE void decide(struct bp_inspector *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	const bool judges = bp_fast_judges(in);
	struct bp_fast_tally tally = {0};
	bool raised;

	b->n_raised = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		if (__builtin_expect(b->p[i].body != 0 && judges, 1) &&
			__builtin_expect(bp_fast_segment(in, b->frame[i], &b->l[i], &b->p[i],
						 &tally, &raised),
				1)) {
			b->raised[b->n_raised] = (uint8_t)i;
			b->n_raised += raised;
		} else {
			tell_raised(in, b);
			general(arg, i);
		}
	}
	tell_raised(in, b);
	bp_fast_flush(in, &tally);
}

void bp_batch_read(struct bp_inspector *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	hash(in, b);
	probe(in, b);
	look(in, b);
	verify(b);
	decide(in, b, general, arg);
}
