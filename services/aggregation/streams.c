/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/aggregation/streams.h"

#include <stdlib.h>

#include "proto/aggregation/agg_full_like.h"

#define RECORDS_MOST (1u << 20) /* 64 MiB; without a free record, messages are not staged */
#define BEHIND 3u               /* slots that are read with the last one, and always free */

/* Aligned to cache lines, so that a stream has two of them and a row is alone on its line. */
static void *lines(size_t n, size_t size)
{
	const size_t bytes = (n * size + 63) / 64 * 64;
	void *p = aligned_alloc(64, bytes);

	if (p != NULL)
		memset(p, 0, bytes);
	return p;
}

bool bp_agg_streams_init(struct bp_agg_streams *t, uint32_t size, struct bp_agg_stream_row *row,
	const uint64_t hash_key[2])
{
	uint32_t slots = 16;

	*t = (struct bp_agg_streams){.row = row, .size = size};
	if (size > BP_AGG_STREAMS_MOST)
		return false;
	while (slots < 2 * size)
		slots *= 2;
	t->slot_mask = slots - 1;
	memcpy(t->hash_key, hash_key, sizeof(t->hash_key));
	t->slot = lines(slots + BEHIND, sizeof(*t->slot));
	t->stream = lines(size + 1, sizeof(*t->stream));
	t->stream += t->stream != NULL;
	t->staged = lines(size + 1, sizeof(*t->staged));
	t->staged += t->staged != NULL;
	t->stage.size =
		size < RECORDS_MOST / BP_AGG_STAGE_MOST ? size * BP_AGG_STAGE_MOST : RECORDS_MOST;
	t->stage.record = lines(t->stage.size, sizeof(*t->stage.record));
	t->stage.unused = lines(t->stage.size + BP_AGG_STAGE_MOST, sizeof(*t->stage.unused));
	t->rest = lines(size, sizeof(*t->rest));
	t->link = lines(size + BP_AGG_LISTS, sizeof(*t->link));
	if (t->slot == NULL || t->stream == NULL || t->rest == NULL || t->link == NULL ||
		t->staged == NULL || t->stage.record == NULL || t->stage.unused == NULL) {
		bp_agg_streams_free(t);
		return false;
	}
	for (uint32_t i = 0; i < size; i++) {
		t->link[i] = (struct bp_agg_link){.before = i, .behind = i};
		atomic_store_explicit(&row[i].life, 0, memory_order_relaxed);
	}
	while (t->stage.n < t->stage.size) {
		t->stage.unused[t->stage.n] = t->stage.n * (uint32_t)sizeof(*t->stage.record);
		t->stage.n++;
	}
	bp_agg_streams_clear(t);
	return true;
}

void bp_agg_streams_free(struct bp_agg_streams *t)
{
	free(t->slot);
	free(t->stream - (t->stream != NULL));
	free(t->staged - (t->staged != NULL));
	free(t->stage.record);
	free(t->stage.unused);
	free(t->rest);
	free(t->link);
	*t = (struct bp_agg_streams){0};
}

/* Resets only the used part: a worker does this between two bursts, and there may be a million
 * streams. */
void bp_agg_streams_clear(struct bp_agg_streams *t)
{
	if (t->used != 0)
		memset(t->slot, 0, ((size_t)t->slot_mask + 1) * sizeof(*t->slot));
	for (uint32_t i = t->size; i < t->size + BP_AGG_LISTS; i++)
		t->link[i] = (struct bp_agg_link){.before = i, .behind = i};
	for (uint32_t i = 0; i < t->used; i++) {
		t->link[i] = (struct bp_agg_link){.before = i, .behind = i};
		t->staged[i].state = 0;
		t->stream[i].buffer = NULL;
		t->stream[i].writer.count = 0;
		t->stream[i].writer.last_len = BP_AGG_FULL_UNLIKE;
		atomic_store_explicit(&t->row[i].life, 0, memory_order_relaxed);
	}
	t->used = 0;
}

struct bp_agg_stream *bp_agg_streams_predict_from(
	const struct bp_agg_streams *t, uint32_t hash, uint32_t i)
{
	while (t->slot[i] != 0 && !bp_agg_slot_may(t->slot[i], hash))
		i = (i + 1) & t->slot_mask;
	return &t->stream[-1] + bp_agg_slot_row(t->slot[i]);
}

uint32_t bp_agg_streams_find(
	const struct bp_agg_streams *t, const struct bp_agg_key *k, uint32_t hash)
{
	for (uint32_t i = hash & t->slot_mask; t->slot[i] != 0; i = (i + 1) & t->slot_mask) {
		const uint32_t stream = bp_agg_slot_stream(t->slot[i]);

		if (bp_agg_slot_may(t->slot[i], hash) && bp_agg_key_same(&t->stream[stream].key, k))
			return stream;
	}
	return BP_AGG_NO_STREAM;
}

uint32_t bp_agg_streams_idle(const struct bp_agg_streams *t)
{
	return t->used < t->size ? t->used : bp_agg_streams_first(t, BP_AGG_LIST_IDLE);
}

/* Removes a stream from the hash table, and moves up the following streams that are displaced from
 * their own slot: there are no tombstones, and a probe ends at the first free slot. */
static void forget(struct bp_agg_streams *t, uint32_t stream)
{
	const uint32_t mask = t->slot_mask;
	uint32_t hole = t->rest[stream].hash & mask, i;

	while (bp_agg_slot_stream(t->slot[hole]) != stream)
		hole = (hole + 1) & mask;
	for (i = (hole + 1) & mask; t->slot[i] != 0; i = (i + 1) & mask) {
		const uint32_t home = t->rest[bp_agg_slot_stream(t->slot[i])].hash & mask;

		/* it must not move before its own slot */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		t->slot[hole] = t->slot[i];
		hole = i;
	}
	t->slot[hole] = 0;
}

static void write_row(struct bp_agg_streams *t, uint32_t stream, uint16_t number)
{
	const struct bp_agg_key *k = &t->stream[stream].key;
	struct bp_agg_stream_row *r = &t->row[stream];

	atomic_store_explicit(&r->life, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->messages, 0, memory_order_relaxed);
	atomic_store_explicit(&r->aggregates, 0, memory_order_relaxed);
	atomic_store_explicit(&r->message_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&r->aggregate_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&r->last_ns, 0, memory_order_relaxed);
	memcpy(r->address, k->word, sizeof(r->address));
	r->udp = (uint16_t)bp_agg_key_udp(k);
	r->stream = number;
	r->family = (uint8_t)bp_agg_key_family(k);
	r->tos = (uint8_t)bp_agg_key_tos(k);
	r->rule = (uint8_t)bp_agg_key_rule(k);
	r->dont_fragment = bp_agg_key_dont_fragment(k);
	atomic_store_explicit(&r->life, ++t->lives, memory_order_release);
}

void bp_agg_streams_begin(struct bp_agg_streams *t, uint32_t stream, const struct bp_agg_key *k,
	uint32_t hash, uint16_t number, uint32_t sequence)
{
	uint32_t i = hash & t->slot_mask;

	if (bp_agg_streams_in_use(t, stream))
		forget(t, stream);
	else
		t->used++;
	while (t->slot[i] != 0)
		i = (i + 1) & t->slot_mask;
	t->slot[i] = hash >> BP_AGG_SLOT_TAG << BP_AGG_SLOT_TAG | (stream + 1);
	t->stream[stream].key = *k;
	t->stream[stream].key4 = bp_agg_key4(k);
	t->staged[stream].key4 = t->stream[stream].key4;
	t->rest[stream].hash = hash;
	t->staged[stream].number = number;
	t->staged[stream].sequence = sequence;
	write_row(t, stream, number);
}
