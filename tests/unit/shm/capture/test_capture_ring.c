/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of captures: what is lost is known, and a record is whole or is not seen. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shm/capture/capture.h"
#include "tests/unit/shm/test.h"
#include "tests/unit/times.h"

#define CAPACITY BP_CAPTURE_RING_MIN
#define BLOCK (CAPACITY / BP_CAPTURE_BLOCKS)

struct numbered {
	struct bp_capture_record_head head;
	uint64_t number;
	uint8_t bytes[];
};

static uint8_t buffer[BP_CAPTURE_RECORD_MAX + 8] __attribute__((aligned(8)));

static struct bp_capture_ring_shared *ring_new(struct bp_capture_ring *r)
{
	const size_t size = BP_CAPTURE_RING_OVERHEAD + CAPACITY;
	struct bp_capture_ring_shared *s = aligned_alloc(128, size);

	assert_non_null(s);
	memset(s, 0, BP_CAPTURE_RING_OVERHEAD);
	memset(s->data, 0xa5, CAPACITY);
	bp_capture_ring_attach(r, s, CAPACITY);
	return s;
}

/* A record whose bytes follow from its number. */
static void write_one(struct bp_capture_ring *r, uint64_t number, uint32_t size)
{
	struct numbered *n = bp_capture_ring_reserve(r, size);

	n->head = (struct bp_capture_record_head){size, BP_CAPTURE_RECORD_FRAME};
	n->number = number;
	memset(n->bytes, (int)(number * 7 & 0xff), size - sizeof(*n));
}

static void put(struct bp_capture_ring *r, uint64_t number, uint32_t size)
{
	write_one(r, number, size);
	bp_capture_ring_commit(r, r->end);
}

static bool whole(const struct numbered *n)
{
	for (uint32_t i = 0; i < n->head.size - sizeof(*n); i++)
		if (n->bytes[i] != (uint8_t)(n->number * 7))
			return false;
	return true;
}

static const struct numbered *next(struct bp_capture_reader *r)
{
	return bp_capture_reader_next(r, bp_capture_reader_head(r), buffer)
		       ? (const struct numbered *)(const void *)buffer
		       : NULL;
}

static void records_are_read_in_order(void **state)
{
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;

	put(&w, 1, 24); /* before the reader begins */
	bp_capture_reader_init(&r, s, CAPACITY);
	assert_null(next(&r));
	for (uint64_t i = 0; i < TEST_TIMES(50000); i++) {
		const struct numbered *n;

		put(&w, i, (uint32_t)(24 + i % 300 * 8));
		n = next(&r);
		assert_non_null(n);
		assert_int_equal(n->number, i);
		assert_int_equal(n->head.size, 24 + i % 300 * 8);
		assert_true(whole(n));
	}
	assert_null(next(&r));
	assert_int_equal(r.overruns, 0);
	assert_int_equal(r.damaged, 0);
	free(s);
}

static void longest_record_fits(void **state)
{
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;

	bp_capture_reader_init(&r, s, CAPACITY);
	for (uint64_t i = 0; i < 100; i++) {
		put(&w, i, BP_CAPTURE_RECORD_MAX);
		assert_int_equal(next(&r)->number, i);
	}
	free(s);
}

static void uncommitted_records_are_not_seen_and_can_be_given_up(void **state)
{
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;
	uint64_t second;

	bp_capture_reader_init(&r, s, CAPACITY);
	write_one(&w, 1, 64);
	write_one(&w, 2, 64);
	second = w.end;
	write_one(&w, 3, 64);
	assert_null(next(&r));
	bp_capture_ring_commit(&w, second);
	put(&w, 4, 64);
	assert_int_equal(next(&r)->number, 1);
	assert_int_equal(next(&r)->number, 2);
	assert_int_equal(next(&r)->number, 4);
	assert_null(next(&r));
	free(s);
}

static void uncommitted_records_are_bounded(void **state)
{
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);

	for (unsigned i = 0; bp_capture_ring_fits(&w, BP_CAPTURE_RECORD_MAX); i++) {
		assert_true(i < 2 * BLOCK / BP_CAPTURE_RECORD_MAX);
		write_one(&w, i, BP_CAPTURE_RECORD_MAX);
		assert_true(w.end - w.head <= 2 * BLOCK);
	}
	free(s);
}

/* A slow reader continues with whole records of one of the last blocks. */
static void overtaken_reader_continues_at_a_record(void **state)
{
	uint64_t seed = 7, last = 0, n_read = 0, written = 0;
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;

	bp_capture_reader_init(&r, s, CAPACITY);
	for (unsigned lap = 0; lap < (TEST_SANITIZED ? 20 : 100); lap++) {
		const struct numbered *n;

		for (uint32_t i = test_below(&seed, 3000); i-- > 0;)
			put(&w, ++written, 24 + 8 * test_below(&seed, 200));
		for (uint32_t i = test_below(&seed, 500); i-- > 0 && (n = next(&r));) {
			assert_true(n->number > last && n->number <= written);
			assert_true(whole(n));
			last = n->number;
			n_read++;
		}
	}
	assert_true(r.overruns > 10);
	assert_true(n_read > 1000);
	assert_int_equal(r.damaged, 0);
	free(s);
}

/* A writer that was killed: its successor's records follow, and nothing of a lap before. */
static void successor_of_a_killed_writer_continues(void **state)
{
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;

	for (uint64_t i = 0; i < 3 * CAPACITY / 64; i++)
		put(&w, i, 64);
	bp_capture_reader_init(&r, s, CAPACITY);
	put(&w, 1000001, 64);
	write_one(&w, 1000002, 64); /* not committed */
	bp_capture_ring_attach(&w, s, CAPACITY);
	put(&w, 1000003, 64);
	assert_int_equal(next(&r)->number, 1000001);
	assert_int_equal(next(&r)->number, 1000003);
	assert_null(next(&r));
	assert_int_equal(r.damaged, 0);
	free(s);
}

static void successor_repairs_damaged_positions(void **state)
{
	static const uint64_t bad[][2] = {
		{1, 1}, {0, UINT64_MAX}, {UINT64_MAX - 7, UINT64_MAX - 7}, {8, 0}, {0, CAPACITY}};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bp_capture_ring w;
		struct bp_capture_ring_shared *s = ring_new(&w);
		struct bp_capture_reader r;

		atomic_store(&s->head, bad[i][0]);
		atomic_store(&s->reserved, bad[i][1]);
		bp_capture_ring_attach(&w, s, CAPACITY);
		bp_capture_reader_init(&r, s, CAPACITY);
		put(&w, 5, 64);
		assert_int_equal(next(&r)->number, 5);
		free(s);
	}
}

/* Whatever is in the segment, a reader ends and stays in the ring. */
static void reader_survives_garbage(void **state)
{
	uint64_t seed = 99;
	struct bp_capture_ring w;
	struct bp_capture_ring_shared *s = ring_new(&w);
	struct bp_capture_reader r;

	bp_capture_reader_init(&r, s, CAPACITY);
	for (unsigned i = 0; i < TEST_TIMES(50000); i++) {
		const uint64_t at = r.cursor & (CAPACITY - 1);
		struct bp_capture_record_head head = {test_below(&seed, 3) == 0
							      ? (uint32_t)test_random(&seed)
							      : 8 * test_below(&seed, 20000),
			test_below(&seed, 3)};

		if (at % 8 == 0)
			memcpy(s->data + at, &head, sizeof(head));
		if (test_below(&seed, 4) == 0)
			atomic_store(&s->head, test_random(&seed));
		else
			atomic_store(&s->head, r.cursor + 8 * test_below(&seed, 100000));
		atomic_store(&s->reserved,
			test_below(&seed, 4) == 0 ? test_random(&seed) : atomic_load(&s->head));
		if (bp_capture_reader_next(&r, bp_capture_reader_head(&r), buffer)) {
			memcpy(&head, buffer, sizeof(head));
			assert_true(head.size >= 8 && head.size <= BP_CAPTURE_RECORD_MAX);
			assert_true(head.kind != 0);
		}
	}
	assert_true(r.damaged > 0);
	assert_true(r.overruns > 0);
	free(s);
}

struct race {
	struct bp_capture_ring ring;
	_Atomic bool stop;
};

static void *write_until_stopped(void *arg)
{
	struct race *race = arg;
	uint64_t seed = 3, number = 0;

	while (!atomic_load(&race->stop))
		put(&race->ring, ++number, 24 + 8 * test_below(&seed, 1000));
	return NULL;
}

/* A reader beside a writer that overwrites: each record is whole. */
static void records_are_not_torn(void **state)
{
	struct race race = {.stop = false};
	struct bp_capture_ring_shared *s = ring_new(&race.ring);
	struct bp_capture_reader r;
	uint64_t last = 0, n_read = 0;
	pthread_t writer;

	bp_capture_reader_init(&r, s, CAPACITY);
	assert_int_equal(pthread_create(&writer, NULL, write_until_stopped, &race), 0);
	while (n_read < 200000 && r.overruns < 20000) {
		const struct numbered *n = next(&r);

		if (n == NULL)
			continue;
		assert_true(whole(n));
		assert_true(n->number > last);
		last = n->number;
		n_read++;
	}
	atomic_store(&race.stop, true);
	pthread_join(writer, NULL);
	assert_int_equal(r.damaged, 0);
	assert_true(n_read > 0);
	free(s);
}

static void sizes_of_the_table_agree(void **state)
{
	uint64_t capacity;

	assert_true(bp_capture_rings_agree(bp_capture_rings_size(3, 0), 3, &capacity));
	assert_int_equal(capacity, 0);
	assert_true(bp_capture_rings_agree(bp_capture_rings_size(3, CAPACITY), 3, &capacity));
	assert_int_equal(capacity, CAPACITY);
	assert_false(bp_capture_rings_agree(bp_capture_rings_size(3, CAPACITY), 0, &capacity));
	assert_false(bp_capture_rings_agree(bp_capture_rings_size(3, CAPACITY) + 1, 3, &capacity));
	assert_false(bp_capture_rings_agree(bp_capture_rings_size(3, CAPACITY / 2), 3, &capacity));
	assert_false(bp_capture_rings_agree(bp_capture_rings_size(3, 3 * CAPACITY), 3, &capacity));
	assert_false(bp_capture_rings_agree(3, 3, &capacity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_read_in_order),
		cmocka_unit_test(longest_record_fits),
		cmocka_unit_test(uncommitted_records_are_not_seen_and_can_be_given_up),
		cmocka_unit_test(uncommitted_records_are_bounded),
		cmocka_unit_test(overtaken_reader_continues_at_a_record),
		cmocka_unit_test(successor_of_a_killed_writer_continues),
		cmocka_unit_test(successor_repairs_damaged_positions),
		cmocka_unit_test(reader_survives_garbage),
		cmocka_unit_test(records_are_not_torn),
		cmocka_unit_test(sizes_of_the_table_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
