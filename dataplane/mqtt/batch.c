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
		if (b->kind[i] == BP_BATCH_UNVERIFIED && b->p[i].body != 0 &&
			!bp_fast_checksum_ok(b->frame[i], b->p[i].end - BP_FAST_L3))
			b->p[i].body = 0;
	}
}

/*
 * Not at once, but before any frame goes the general way and at the end of the batch: a branch on
 * every value that one in twenty takes is one that the processor mispredicts, and each time the
 * work on several frames is thrown away.
 */
static NOINLINE void tell_raised(struct bp_inspector *in, struct bp_batch *b, uint32_t n_raised)
{
	for (uint32_t i = 0; i < n_raised; i++) {
		uint8_t at = b->raised[i];

		bp_fast_raise(in, b->frame[at], b->l[at].flow, &b->p[at]);
	}
}

static NOINLINE void decide(struct bp_inspector *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	const struct bp_fast_now now = {.rules = bp_ruleset_rule(in->rules, 0),
		.memo_gen = (bp_v16)(bp_v4){0, 0, 0, in->gen},
		.ticks = in->now_ticks};
	const bool judges = bp_fast_judges(in);
	const uint32_t n = b->n;
	struct bp_fast_tally tally = {.slot = BP_FAST_NO_SLOT};
	uint32_t n_raised = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_fast_publish *p = &b->p[i];
		enum bp_fast_verdict verdict = BP_FAST_GENERAL;
		uint32_t slot;

		if (__builtin_expect(p->body != 0 && judges, 1))
			verdict = bp_fast_judge(in, &now, b->frame[i], &b->l[i], p, &slot);
		if (__builtin_expect(verdict != BP_FAST_GENERAL, 1)) {
			bp_fast_note(&now, b->l[i].flow, p);
			bp_fast_count(in, &tally, slot);
			b->raised[n_raised] = (uint8_t)i;
			n_raised += verdict == BP_FAST_RAISES;
		} else {
			tell_raised(in, b, n_raised);
			n_raised = 0;
			general(arg, i);
		}
	}
	tell_raised(in, b, n_raised);
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
