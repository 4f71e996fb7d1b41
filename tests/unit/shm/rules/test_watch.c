/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of watched topics: one entry a topic, whatever the workers do at the same time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/rules/watch.h"
#include "tests/unit/shm/test.h"

#define THREADS 4
#define ROUNDS 50000u
#define SECOND 1000000000ull

static struct bp_watch made(uint64_t len)
{
	struct bp_watch w = {.len = len, .start_ns = 1};

	w.entry = aligned_alloc(64, len * sizeof(*w.entry));
	w.topic = calloc(len, sizeof(*w.topic));
	assert_non_null(w.entry);
	assert_non_null(w.topic);
	memset((void *)w.entry, 0, len * sizeof(*w.entry));
	return w;
}

static void done(struct bp_watch *w)
{
	free(w->entry);
	free(w->topic);
}

static uint64_t key(unsigned i)
{
	return bp_watch_key(7, 0x9e3779b97f4a7c15ull * (i + 1), 3);
}

static struct bp_watch_topic text(unsigned i, uint32_t client)
{
	struct bp_watch_topic t = {.client = client};

	t.topic_len = (uint16_t)snprintf(t.topic, sizeof(t.topic), "topic/%u", i);
	return t;
}

static enum bp_watch_seen see(
	const struct bp_watch *w, unsigned i, uint64_t now_ns, uint32_t client, uint64_t *before)
{
	const struct bp_watch_topic t = text(i, client);

	return bp_watch_see(w, key(i), now_ns, false, &t, before);
}

static void the_time_of_the_last_publication_is_kept(void **state)
{
	struct bp_watch w = made(64);
	const struct bp_watch_topic t = text(1, 5);
	uint64_t before;
	struct bp_watch_view v;

	(void)state;
	assert_false(bp_watch_find(&w, key(1), &v));
	assert_int_equal(see(&w, 1, 10 * SECOND, 5, &before), BP_WATCH_ADDED);
	assert_int_equal(before, 0);
	assert_int_equal(see(&w, 1, 12 * SECOND, 5, &before), BP_WATCH_KNOWN);
	assert_int_equal(before, 10 * SECOND);
	assert_int_equal(see(&w, 1, 12 * SECOND - 5, 5, &before), BP_WATCH_KNOWN); /* behind */
	assert_true(bp_watch_find(&w, key(1), &v));
	assert_int_equal(v.seen_ns, 12 * SECOND);
	assert_int_equal(v.client, 5);
	assert_false(v.absent);
	/* to watch it changes nothing */
	assert_int_equal(bp_watch_see(&w, key(1), 13 * SECOND, true, &t, &before), BP_WATCH_KNOWN);
	assert_true(bp_watch_find(&w, key(1), &v));
	assert_int_equal(v.seen_ns, 12 * SECOND);
	/* after a boot the clock is earlier */
	assert_int_equal(see(&w, 1, 2 * SECOND, 5, &before), BP_WATCH_KNOWN);
	assert_true(bp_watch_find(&w, key(1), &v));
	assert_int_equal(v.seen_ns, 2 * SECOND);
	assert_int_equal(bp_watch_slot(key(1)), 3);
	done(&w);
}

static uint64_t index_of(const struct bp_watch *w, uint64_t k)
{
	uint64_t at = w->len;

	for (uint64_t i = 0; i < w->len; i++) {
		if (atomic_load(&w->entry[i].key) != k)
			continue;
		assert_int_equal(at, w->len); /* only one */
		at = i;
	}
	return at;
}

static void a_claim_of_a_killed_worker_is_replaced(void **state)
{
	struct bp_watch w = made(64);
	uint64_t before, at;
	struct bp_watch_view v;

	(void)state;
	w.start_ns = 20 * SECOND;
	see(&w, 1, 10 * SECOND, 5, &before);
	at = index_of(&w, key(1));
	atomic_fetch_or(&w.entry[at].word, BP_WATCH_CLAIM);
	assert_false(bp_watch_find(&w, key(1), &v));
	assert_int_equal(see(&w, 1, 20 * SECOND, 5, &before), BP_WATCH_ADDED);
	/* of this process: only after a second */
	at = index_of(&w, key(1));
	atomic_fetch_or(&w.entry[at].word, BP_WATCH_CLAIM);
	assert_int_equal(see(&w, 1, 21 * SECOND, 5, &before), BP_WATCH_KNOWN);
	assert_int_equal(see(&w, 1, 21 * SECOND + 1, 5, &before), BP_WATCH_ADDED);
	done(&w);
}

/* Both buckets of all keys are the same in so small a table. */
static void a_full_table_replaces_raised_topics_and_those_of_the_client(void **state)
{
	struct bp_watch w = made(BP_WATCH_WAYS);
	uint64_t before;
	struct bp_watch_view v;

	(void)state;
	for (unsigned i = 0; i < BP_WATCH_WAYS; i++)
		assert_int_equal(
			see(&w, i, (10 + i) * SECOND, i < 2 ? 8 : 9 + i, &before), BP_WATCH_ADDED);
	/* no client has over half, and none is this one */
	assert_int_equal(see(&w, 100, 50 * SECOND, 99, &before), BP_WATCH_FULL);
	/* its own, the longest silent first */
	assert_int_equal(see(&w, 101, 50 * SECOND, 8, &before), BP_WATCH_EVICTED);
	assert_false(bp_watch_find(&w, key(0), &v));
	assert_true(bp_watch_find(&w, key(1), &v));
	/* a raised one before these */
	atomic_fetch_or(&w.entry[index_of(&w, key(5))].word, BP_WATCH_ABSENT);
	assert_int_equal(see(&w, 102, 50 * SECOND, 8, &before), BP_WATCH_EVICTED);
	assert_false(bp_watch_find(&w, key(5), &v));
	assert_true(bp_watch_find(&w, key(1), &v));
	done(&w);
}

static void a_client_with_over_half_of_the_table_makes_way(void **state)
{
	struct bp_watch w = made(BP_WATCH_WAYS);
	uint64_t before;
	struct bp_watch_view v;

	(void)state;
	for (unsigned i = 0; i < BP_WATCH_WAYS; i++)
		see(&w, i, (10 + i) * SECOND, i < 2 ? 8 : 9, &before);
	assert_int_equal(see(&w, 100, 50 * SECOND, 99, &before), BP_WATCH_EVICTED);
	assert_false(bp_watch_find(&w, key(2), &v));
	assert_true(bp_watch_find(&w, key(0), &v));
	done(&w);
}

/* ---- threads ---- */

struct worker {
	const struct bp_watch *w;
	pthread_barrier_t *start;
	unsigned number, keys;
	uint64_t random, added;
};

static uint64_t draw(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void *publish(void *arg)
{
	struct worker *k = arg;

	pthread_barrier_wait(k->start);
	for (uint64_t n = 0; n < ROUNDS; n++) {
		const unsigned i = (unsigned)(draw(&k->random) % k->keys);
		uint64_t before;

		k->added += see(k->w, i, 10 * SECOND + n, k->number + 1, &before) == BP_WATCH_ADDED;
	}
	return NULL;
}

/* As a search does: marks or removes what it finds. */
static void *search(void *arg)
{
	struct worker *k = arg;

	pthread_barrier_wait(k->start);
	for (uint64_t n = 0; n < ROUNDS; n++) {
		const uint64_t at = draw(&k->random) % k->w->len;
		const uint64_t found = atomic_load(&k->w->entry[at].key),
			       word = atomic_load(&k->w->entry[at].word);

		if (found == 0 || (word & BP_WATCH_CLAIM))
			continue;
		if (n % 2 == 0)
			(void)bp_watch_set(k->w, at, found, word, word | BP_WATCH_ABSENT);
		else if (bp_watch_set(k->w, at, found, word, 0))
			k->added++;
	}
	return NULL;
}

static void together(unsigned keys, uint64_t len)
{
	struct bp_watch w = made(len);
	struct worker k[THREADS];
	pthread_t thread[THREADS];
	pthread_barrier_t start;
	uint64_t added = 0, used = 0;

	pthread_barrier_init(&start, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		k[i] = (struct worker){.w = &w,
			.start = &start,
			.number = i,
			.keys = keys,
			.random = 88172645463325252ull + i};
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, i == 0 ? search : publish, &k[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&start);
	for (uint64_t at = 0; at < len; at++) {
		const uint64_t found = atomic_load(&w.entry[at].key);

		if (found == 0)
			continue;
		used++;
		assert_false(atomic_load(&w.entry[at].word) & BP_WATCH_CLAIM);
		assert_int_equal(index_of(&w, found), at);
	}
	for (unsigned i = 0; i < keys; i++) {
		const uint64_t at = index_of(&w, key(i));
		struct bp_watch_topic t;
		const struct bp_watch_topic wanted = text(i, 1);

		if (at == len)
			continue;
		bp_watch_read(&w, at, &t);
		assert_int_equal(t.topic_len, wanted.topic_len);
		assert_memory_equal(t.topic, wanted.topic, wanted.topic_len);
	}
	for (unsigned i = 1; i < THREADS; i++)
		added += k[i].added;
	assert_int_equal(added, used + k[0].added);
	done(&w);
}

static void threads_share_one_topic(void **state)
{
	(void)state;
	together(1, 64);
}

static void threads_share_a_table(void **state)
{
	(void)state;
	together(40, 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_of_the_last_publication_is_kept),
		cmocka_unit_test(a_claim_of_a_killed_worker_is_replaced),
		cmocka_unit_test(a_full_table_replaces_raised_topics_and_those_of_the_client),
		cmocka_unit_test(a_client_with_over_half_of_the_table_makes_way),
		cmocka_unit_test(threads_share_one_topic),
		cmocka_unit_test(threads_share_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
