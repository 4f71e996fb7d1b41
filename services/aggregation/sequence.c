/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/sequence.h"

#include <stdbool.h>
#include <stdlib.h>

#include "shm/hash.h"
#include "shm/index.h"

#define END UINT32_MAX

struct stream {
	struct bp_sequence_key key;
	uint64_t seen;  /* bit i: the number `last` - i was received */
	uint64_t hash;  /* its hash in the index */
	uint32_t last;  /* the highest number received */
	uint32_t known; /* valid bits of `seen`: `last` and the numbers down to the first one */
	/* All streams in the order in which they were last heard of. */
	uint32_t older, newer;
};

struct bp_sequences {
	uint64_t hash_key[2];
	struct bp_disagg_stats *stats;
	struct stream *stream;
	struct bp_index index;
	uint32_t capacity, n;
	uint32_t newest, oldest; /* END: none */
};

struct bp_sequences *bp_sequences_new(
	uint32_t streams, struct bp_disagg_stats *stats, uint64_t seed)
{
	struct bp_sequences *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->capacity = streams != 0 ? streams : 1;
	s->stats = stats;
	s->hash_key[0] = bp_mix64(seed);
	s->hash_key[1] = bp_mix64(~seed);
	s->stream = calloc(s->capacity, sizeof(*s->stream));
	if (s->stream == NULL || !bp_index_init(&s->index, s->capacity)) {
		bp_sequences_free(s);
		return NULL;
	}
	s->newest = s->oldest = END;
	return s;
}

void bp_sequences_free(struct bp_sequences *s)
{
	if (s == NULL)
		return;
	bp_index_free(&s->index);
	free(s->stream);
	free(s);
}

void bp_sequences_clear(struct bp_sequences *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		bp_index_remove(&s->index, s->stream[i].hash, i);
	s->n = 0;
	s->newest = s->oldest = END;
}

static void detach(struct bp_sequences *s, const struct stream *t)
{
	*(t->newer != END ? &s->stream[t->newer].older : &s->newest) = t->older;
	*(t->older != END ? &s->stream[t->older].newer : &s->oldest) = t->newer;
}

static void attach_newest(struct bp_sequences *s, uint32_t i)
{
	s->stream[i].newer = END;
	s->stream[i].older = s->newest;
	*(s->newest != END ? &s->stream[s->newest].newer : &s->oldest) = i;
	s->newest = i;
}

static void begin(struct bp_disagg_stats *stats, struct stream *t, uint32_t number)
{
	t->last = number;
	t->seen = 1;
	t->known = 1;
	bp_agg_stat_add(&stats->lives, 1);
}

static void enter(
	struct bp_sequences *s, uint64_t hash, const struct bp_sequence_key *key, uint32_t number)
{
	uint32_t i = s->n;
	struct stream *t;

	if (s->n < s->capacity) {
		s->n++;
	} else {
		i = s->oldest;
		bp_agg_stat_add(&s->stats[bp_sequence_rule(&s->stream[i].key)].forgotten, 1);
		bp_index_remove(&s->index, s->stream[i].hash, i);
		detach(s, &s->stream[i]);
	}
	t = &s->stream[i];
	t->key = *key;
	t->hash = hash;
	bp_index_add(&s->index, hash, i);
	attach_newest(s, i);
	begin(&s->stats[bp_sequence_rule(key)], t, number);
}

static void advance(struct bp_disagg_stats *stats, struct stream *t, uint32_t by)
{
	t->seen = (by < BP_SEQUENCE_WINDOW ? t->seen << by : 0) | 1;
	t->last += by;
	t->known = by < BP_SEQUENCE_WINDOW - t->known ? t->known + by : BP_SEQUENCE_WINDOW;
	if (by > 1)
		bp_agg_stat_add(&stats->missing, by - 1);
}

static void reordered(struct bp_disagg_stats *stats, struct stream *t, uint32_t by)
{
	const uint64_t bit = by < BP_SEQUENCE_WINDOW ? 1ull << by : 0;

	if (bit == 0) {
		bp_agg_stat_add(&stats->stale, 1);
		return;
	}
	if (t->seen & bit) {
		bp_agg_stat_add(&stats->duplicate, 1);
		return;
	}
	t->seen |= bit;
	bp_agg_stat_add(&stats->late, 1);
	if (by >= t->known) {
		/* the stream began before the first received number, at this one at the latest */
		bp_agg_stat_add(&stats->missing, by - t->known + 1);
		t->known = by + 1;
	}
}

static bool same(const struct bp_sequence_key *a, const struct bp_sequence_key *b)
{
	return ((a->source[0] ^ b->source[0]) | (a->source[1] ^ b->source[1]) |
		       (a->destination[0] ^ b->destination[0]) |
		       (a->destination[1] ^ b->destination[1]) | (a->rest ^ b->rest)) == 0;
}

/* The stream, now the newest; NULL: it was not known, and begins with this number. */
static struct stream *find(
	struct bp_sequences *s, const struct bp_sequence_key *key, uint32_t number)
{
	uint64_t hash;
	uint32_t i;

	/* with a single stream, or in a packet train of one, it is the same as before */
	if (s->newest != END && same(&s->stream[s->newest].key, key))
		return &s->stream[s->newest];
	hash = bp_hash_bytes(s->hash_key, key, sizeof(*key));
	for (i = bp_index_first(&s->index, hash); i != BP_INDEX_END;
		i = bp_index_next(&s->index, i))
		if (same(&s->stream[i].key, key))
			break;
	if (i == BP_INDEX_END) {
		enter(s, hash, key, number);
		return NULL;
	}
	detach(s, &s->stream[i]);
	attach_newest(s, i);
	return &s->stream[i];
}

void bp_sequences_record(struct bp_sequences *s, const struct bp_sequence_key *key, uint32_t number)
{
	struct bp_disagg_stats *stats = &s->stats[bp_sequence_rule(key)];
	struct stream *t = find(s, key, number);

	if (t == NULL)
		return;
	/* modulo 2^32, a number is both ahead and behind; the shorter distance applies */
	if (number - t->last <= BP_SEQUENCE_STEP && number != t->last)
		advance(stats, t, number - t->last);
	else if (t->last - number <= BP_SEQUENCE_STEP)
		reordered(stats, t, t->last - number);
	else
		begin(stats, t, number);
}
