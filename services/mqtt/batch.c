/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/batch.h"

#include "services/mqtt/fast_four.h"

/*
 * The steps of fast.h and fast_four.h, each a function of its own: together they are too much for
 * the compiler's registers.
 */
#define NOINLINE __attribute__((noinline))

static NOINLINE void hash(struct bp_mqtt_worker *in, struct bp_batch *b)
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

static NOINLINE void probe(const struct bp_mqtt_worker *in, struct bp_batch *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		b->l[i].flow = bp_flow_candidate_in(&in->table, b->l[i].hash, b->group[i]);
		__builtin_prefetch(b->l[i].flow, 1);
	}
}

static inline bool four(const struct bp_four *x, const struct bp_mqtt_worker *in,
	struct bp_batch *b, uint32_t i, uint32_t *raises)
{
	uint32_t kinds;

	memcpy(&kinds, &b->kind[i], sizeof(kinds));
	if (__builtin_expect(kinds == BP_BATCH_UNVERIFIED * 0x01010101u, 1))
		return bp_four_judge(x, in, &b->frame[i], true, &b->p[i], &b->number[i], raises);
	return kinds == BP_BATCH_PLAIN * 0x01010101u &&
	       bp_four_judge(x, in, &b->frame[i], false, &b->p[i], &b->number[i], raises);
}

/* Those that are alike, four by four. */
static NOINLINE void look_alike(const struct bp_mqtt_worker *in, struct bp_batch *b)
{
	const struct bp_four *x = in->four;
	uint64_t alike = 0, numbers = 0;
	uint32_t raises;

	for (uint32_t i = 0; i + 4 <= b->n; i += 4) {
		if (__builtin_expect(four(x, in, b, i, &raises), 1)) {
			alike |= (uint64_t)0xf << i;
			numbers |= (uint64_t)raises << i;
		}
	}
	b->looked = alike;
	if (x->numbers) {
		b->alike = alike;
		b->raises = x->each ? 0 : numbers;
	}
}

static inline void look_one(const struct bp_mqtt_worker *in, struct bp_batch *b, uint32_t i)
{
	const uint8_t *frame = b->frame[i];

	if (__builtin_expect(b->kind[i] == BP_BATCH_PARSED, 0))
		b->p[i].body = 0;
	else
		bp_fast_read(in, frame, bp_be16(frame + BP_FAST_L3 + 2), &b->p[i]);
}

static NOINLINE void look(const struct bp_mqtt_worker *in, struct bp_batch *b)
{
	const uint64_t looked = b->looked;

	for (uint32_t i = 0; i < b->n; i++) {
		if (__builtin_expect(!(looked >> i & 1), 1))
			look_one(in, b, i);
	}
}

/* What goes the general way anyway is summed there. */
static NOINLINE void verify(struct bp_batch *b)
{
	const uint64_t looked = b->looked;

	for (uint32_t i = 0; i < b->n; i++) {
		if (b->kind[i] == BP_BATCH_UNVERIFIED && b->p[i].body != 0 && !(looked >> i & 1) &&
			!bp_fast_checksum_ok(b->frame[i], b->p[i].end - BP_FAST_L3))
			b->p[i].body = 0;
	}
}

/*
 * Not at once, but before any frame goes the general way and at the end of the batch: a branch on
 * every value that one in twenty takes is one that the processor mispredicts, and each time the
 * work on several frames is thrown away.
 */
static NOINLINE void tell_raised(struct bp_mqtt_worker *in, struct bp_batch *b, uint64_t raised)
{
	for (uint64_t left = raised; left != 0; left &= left - 1) {
		const uint32_t i = (uint32_t)__builtin_ctzll(left);

		bp_fast_raise(in, b->frame[i], b->l[i].flow, &b->p[i]);
	}
}

/* A frame by itself; where it goes the general way, nothing was done. */
static inline enum bp_fast_verdict decide_one(struct bp_mqtt_worker *in, const struct bp_batch *b,
	const struct bp_fast_now *now, struct bp_fast_tally *tally, uint32_t i)
{
	const struct bp_fast_publish *p = &b->p[i];
	enum bp_fast_verdict verdict;
	uint32_t slot;

	if (__builtin_expect(p->body == 0, 0))
		return BP_FAST_GENERAL;
	verdict = bp_fast_judge(in, now, b->frame[i], &b->l[i], p, &slot);
	if (__builtin_expect(verdict != BP_FAST_GENERAL, 1)) {
		bp_fast_note(now, i, b->l[i].flow, p->len);
		bp_fast_count(in, tally, slot, 1);
	}
	return verdict;
}

/* A frame whose number was read, by its flow's own rule. */
static inline enum bp_fast_verdict decide_number(struct bp_mqtt_worker *in,
	const struct bp_batch *b, const struct bp_fast_now *now, struct bp_fast_tally *tally,
	uint32_t i)
{
	const struct bp_four *x = in->four;
	struct bp_flow *f = b->l[i].flow;
	const struct bp_rule *rule;

	if (__builtin_expect(!bp_four_known(x, b->frame[i], &b->l[i], &b->p[i]), 0))
		return BP_FAST_GENERAL;
	rule = bp_four_rule(now->rules, f);
	if (__builtin_expect(rule == NULL, 0))
		return BP_FAST_GENERAL;
	bp_fast_note(now, i, f, x->len);
	bp_fast_count(in, tally, rule->slot, 1);
	return BP_FAST_QUIET + bp_short_ranges_hold(&rule->short_raise, b->number[i], x->point);
}

/* Returns one more than the last frame that went the general way, 0 where none did. `alike` is
 * b->alike, or 0, a constant; so is `each`, as in fast_four.h. */
static inline __attribute__((always_inline)) uint32_t decide_by(struct bp_mqtt_worker *in,
	struct bp_batch *b, const uint64_t alike, const bool each,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	const struct bp_fast_now now = {.rules = bp_ruleset_rule(in->rules, 0),
		.memo_gen = (bp_v16)(bp_v4){0, 0, 0, in->gen},
		.flows = (uintptr_t)in->table.flow,
		.note = in->journal->note,
		.ticks = in->now_ticks};
	const struct bp_four *x = in->four;
	const uint32_t n = b->n;
	const bool judges = bp_fast_judges(in);
	uint64_t raises = b->raises;
	struct bp_fast_tally tally = {.slot = BP_FAST_NO_SLOT};
	uint32_t n_alike = 0, unusual = 0;

	bp_journal_batch(in->journal, in->ring, 0, 0);
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t bit = (uint64_t)1 << i;
		enum bp_fast_verdict verdict = BP_FAST_GENERAL;

		if (each && __builtin_expect(alike >> i & 1, 1)) {
			verdict = decide_number(in, b, &now, &tally, i);
			raises |= (uint64_t)(verdict == BP_FAST_RAISES) << i;
			if (__builtin_expect(verdict != BP_FAST_GENERAL, 1))
				continue;
		} else if (__builtin_expect(alike >> i & 1, 1)) {
			if (__builtin_expect(
				    bp_four_known(x, b->frame[i], &b->l[i], &b->p[i]), 1)) {
				bp_fast_note(&now, i, b->l[i].flow, x->len);
				n_alike++;
				continue;
			}
			raises &= ~bit; /* its flow is not as the others' */
		}
		if (__builtin_expect(judges, 1))
			verdict = decide_one(in, b, &now, &tally, i);
		raises |= (uint64_t)(verdict == BP_FAST_RAISES) << i;
		if (__builtin_expect(verdict != BP_FAST_GENERAL, 1))
			continue;
		tell_raised(in, b, raises & (bit - 1));
		raises &= ~(bit - 1);
		bp_alarms_commit(in);
		bp_journal_batch(in->journal, in->ring, unusual, i);
		general(arg, i);
		bp_journal_batch(in->journal, in->ring, i, i);
		unusual = i + 1;
	}
	tell_raised(in, b, raises);
	bp_alarms_commit(in);
	bp_journal_batch(in->journal, in->ring, unusual, n);
	if (n_alike != 0)
		bp_fast_count(in, &tally, x->slot, n_alike);
	bp_fast_flush(in, &tally);
	return unusual;
}

static NOINLINE uint32_t decide(struct bp_mqtt_worker *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, 0, false, general, arg);
}

static NOINLINE uint32_t decide_alike(struct bp_mqtt_worker *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, b->alike, false, general, arg);
}

static NOINLINE uint32_t decide_each(struct bp_mqtt_worker *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	return decide_by(in, b, b->alike, true, general, arg);
}

/* After so many of a kind, more are expected. */
#define IN_A_ROW 8

/* What the last frames of a batch have in common, which were decided as usual one by one. */
static NOINLINE void learn(struct bp_mqtt_worker *in, struct bp_batch *b)
{
	const uint32_t last = b->n - 1, begin = b->n - IN_A_ROW;
	struct bp_four *x = in->four;
	bool one_rule = true;
	uint32_t raises;

	for (uint32_t i = begin; i < last; i++) {
		if (b->p[i].end != b->p[last].end || b->p[i].body != b->p[last].body)
			return;
		one_rule &= b->l[i].flow->memo_rule == b->l[last].flow->memo_rule;
	}
	/* numbers, if those of all of them are alike */
	if (bp_four_set(x, in, b->l[last].flow, b->frame[last], &b->p[last],
		    one_rule ? BP_FOUR_RULE : BP_FOUR_NUMBERS) &&
		four(x, in, b, begin, &raises) && four(x, in, b, begin + 4, &raises))
		return;
	(void)bp_four_set(x, in, b->l[last].flow, b->frame[last], &b->p[last], BP_FOUR_HEADS);
}

void bp_batch_read(struct bp_mqtt_worker *in, struct bp_batch *b,
	void (*general)(void *arg, uint32_t i), void *arg)
{
	struct bp_four *x = in->four;
	uint32_t unusual;

	hash(in, b);
	probe(in, b);
	b->looked = b->alike = b->raises = 0;
	if (x->on && x->gen == in->gen)
		look_alike(in, b);
	if (b->looked != UINT64_MAX >> (BP_BATCH - b->n)) {
		look(in, b);
		verify(b);
	}
	if (b->alike == 0)
		unusual = decide(in, b, general, arg);
	else
		unusual = x->each ? decide_each(in, b, general, arg)
				  : decide_alike(in, b, general, arg);
	if (b->n < IN_A_ROW)
		return;
	/* where few are alike, it costs more to look for them than it gains */
	if (x->on && ((unsigned)__builtin_popcountll(b->looked) * 2 < b->n || x->batches-- == 0))
		x->on = false;
	if (!x->on && unusual + IN_A_ROW <= b->n)
		learn(in, b);
}
