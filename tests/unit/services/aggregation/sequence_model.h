/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_AGGREGATION_SEQUENCE_MODEL_H
#define BP_TESTS_UNIT_SERVICES_AGGREGATION_SEQUENCE_MODEL_H

#include "tests/unit/proto/exact.h"

/*
 * What services/aggregation/sequence.h promises, without a window of bits: each stream remembers
 * all numbers that came. Missing is what is not there between the first and the last, and what was
 * late.
 */
#define MODEL_STREAMS 256u
#define MODEL_NUMBERS 1024u

struct model_counts {
	uint64_t missing, late, duplicate, stale, lives, forgotten;
};

struct model_stream {
	uint8_t key[48];
	unsigned rule;
	uint64_t heard; /* when it was last heard of */
	uint32_t first, last, came[MODEL_NUMBERS];
	unsigned n, late;
};

struct sequence_model {
	struct model_stream stream[MODEL_STREAMS];
	unsigned n, most;
	uint64_t heard;
	struct model_counts *counts; /* by rule */
};

static inline void model_begin(struct sequence_model *m, unsigned most, struct model_counts *counts)
{
	assert_true(most <= MODEL_STREAMS);
	m->n = 0;
	m->most = most;
	m->heard = 0;
	m->counts = counts;
}

static inline void model_life(struct sequence_model *m, struct model_stream *s, uint32_t number)
{
	m->counts[s->rule].lives++;
	s->first = s->last = s->came[0] = number;
	s->n = 1;
	s->late = 0;
}

static inline void model_life_ends(struct sequence_model *m, const struct model_stream *s)
{
	m->counts[s->rule].missing += s->last - s->first + 1 - s->n + s->late;
}

/* The stream, or a new one in the place of the one that was heard of longest ago. */
static inline struct model_stream *model_find(
	struct sequence_model *m, const uint8_t key[48], unsigned rule, uint32_t number, bool *new)
{
	struct model_stream *s, *oldest = &m->stream[0];

	*new = false;
	for (unsigned i = 0; i < m->n; i++) {
		s = &m->stream[i];
		if (memcmp(s->key, key, 48) == 0)
			return s;
		if (s->heard < oldest->heard)
			oldest = s;
	}
	*new = true;
	s = oldest;
	if (m->n < m->most) {
		s = &m->stream[m->n++];
	} else {
		m->counts[s->rule].forgotten++;
		model_life_ends(m, s);
	}
	memcpy(s->key, key, 48);
	s->rule = rule;
	model_life(m, s, number);
	return s;
}

static inline void model_comes(
	struct sequence_model *m, const uint8_t key[48], unsigned rule, uint32_t number)
{
	struct model_counts *c = &m->counts[rule];
	bool new, there = false;
	struct model_stream *s = model_find(m, key, rule, number, &new);
	const int64_t step = (int32_t)(number - s->last);

	s->heard = ++m->heard;
	if (new)
		return;
	if (step > 1 << 24 || step < -(1 << 24)) {
		model_life_ends(m, s);
		model_life(m, s, number);
		return;
	}
	for (unsigned i = 0; i < s->n; i++)
		there = there || s->came[i] == number;
	if (step <= -64) {
		c->stale++;
		return;
	}
	if (there) {
		c->duplicate++;
		return;
	}
	if (step > 0) {
		s->last = number;
	} else {
		c->late++;
		s->late++;
		if ((int32_t)(number - s->first) < 0)
			s->first = number;
	}
	assert_true(s->n < MODEL_NUMBERS);
	s->came[s->n++] = number;
}

/* Adds what is missing in the lives that continue. */
static inline void model_end(struct sequence_model *m)
{
	for (unsigned i = 0; i < m->n; i++)
		model_life_ends(m, &m->stream[i]);
}

#endif
