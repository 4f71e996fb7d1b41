/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/aggregation/streams.h"
#include "tests/unit/times.h"

/* The table of streams against an array that is searched, where many keys meet in one place. */
#define SIZE 40u
#define KEYS 200u

static struct bp_agg_stream_row rows[SIZE];
static const uint64_t hash_key[2] = {0x0123456789abcdef, 0xfedcba9876543210};

static struct bp_agg_key numbered(unsigned i)
{
	struct bp_agg_key k = {{0x0100010a + ((uint64_t)i << 32), 0, 0,
		bp_agg_key_last(5555, i % 3, 0xb8, 4, i & 1, 0)}};

	return k;
}

/* Keys whose own places in the table are among its last `places`, so that runs of taken slots are
 * long and continue at its beginning. */
static void keys_of_few_places(
	const struct bp_agg_streams *t, unsigned places, struct bp_agg_key *k)
{
	for (unsigned n = 0, i = 0; n < KEYS; i++) {
		k[n] = numbered(i);
		n += (bp_agg_streams_hash(t, &k[n]) & t->slot_mask) + places > t->slot_mask;
	}
}

/* Another stream is guessed only where the hash's upper bits are the same. */
static void expect_guess(const struct bp_agg_streams *t, uint32_t hash, uint32_t stream)
{
	const uint32_t guess = (uint32_t)(bp_agg_streams_predict(t, hash) - t->stream);

	assert_int_not_equal(guess, BP_AGG_NO_STREAM);
	assert_true(guess == stream || (t->rest[guess].hash ^ hash) >> BP_AGG_SLOT_TAG == 0);
}

/* Random new streams in idle slots: a stream is found until it is evicted. */
static void queued_segments_are_found(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	static struct bp_agg_key key[KEYS];

	for (unsigned places = 1; places <= 128; places *= 2) {
		uint32_t holder[KEYS];
		struct bp_agg_streams t;
		unsigned held = 0;

		memset(rows, 0, sizeof(rows));
		assert_true(bp_agg_streams_init(&t, SIZE, rows, hash_key));
		assert_int_equal(t.slot_mask, 127);
		keys_of_few_places(&t, places, key);
		for (unsigned i = 0; i < KEYS; i++)
			holder[i] = BP_AGG_NO_STREAM;
		for (unsigned step = 0; step < TEST_TIMES(4000); step++) {
			const unsigned i = next_random(&seed) % KEYS;
			const uint32_t hash = bp_agg_streams_hash(&t, &key[i]);
			uint32_t s = bp_agg_streams_find(&t, &key[i], hash);

			assert_int_equal(s, holder[i]);
			if (s == BP_AGG_NO_STREAM) {
				s = bp_agg_streams_idle(&t);
				assert_true(s < SIZE);
				assert_int_equal(bp_agg_streams_in_use(&t, s), held == SIZE);
				for (unsigned j = 0; j < KEYS; j++)
					if (holder[j] == s)
						holder[j] = BP_AGG_NO_STREAM;
				bp_agg_streams_begin(&t, s, &key[i], hash, (uint16_t)i, i);
				holder[i] = s;
				held += held < SIZE;
				assert_int_equal(rows[s].stream, i);
				assert_int_equal(rows[s].rule, bp_agg_key_rule(&key[i]));
				assert_int_equal(t.used, held);
			}
			assert_int_equal(t.staged[s].sequence, i);
			expect_guess(&t, hash, s);
			bp_agg_streams_move(&t, s, BP_AGG_LIST_IDLE);
		}
		bp_agg_streams_clear(&t);
		for (unsigned i = 0; i < KEYS; i++)
			assert_int_equal(
				bp_agg_streams_find(&t, &key[i], bp_agg_streams_hash(&t, &key[i])),
				BP_AGG_NO_STREAM);
		for (unsigned i = 0; i < SIZE; i++)
			assert_int_equal(rows[i].life, 0);
		bp_agg_streams_free(&t);
	}
}

/* Streams move between lists and stay in the order in which they came. */
static void lists_keep_order(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;
	unsigned list[SIZE];
	uint64_t since[SIZE] = {0};
	struct bp_agg_streams t;

	assert_true(bp_agg_streams_init(&t, SIZE, rows, hash_key));
	for (unsigned l = 0; l < BP_AGG_LISTS; l++)
		assert_int_equal(bp_agg_streams_first(&t, l), BP_AGG_NO_STREAM);
	for (unsigned i = 0; i < SIZE; i++) {
		list[i] = BP_AGG_LIST_IDLE;
		since[i] = i + 1;
		bp_agg_streams_move(&t, i, BP_AGG_LIST_IDLE);
	}
	for (unsigned step = 0; step < TEST_TIMES(20000); step++) {
		const unsigned i = next_random(&seed) % SIZE;
		const unsigned to = next_random(&seed) % 4 ? (unsigned)(next_random(&seed) % 3)
							   : BP_AGG_LIST_IDLE;
		uint32_t some[SIZE];
		unsigned n = 0;

		if (next_random(&seed) % 8 != 0) {
			list[i] = to;
			since[i] = SIZE + 1 + SIZE * step;
			bp_agg_streams_move(&t, i, to);
		} else {
			/* any of other lists at once, in another order than theirs */
			for (unsigned j = 0; j < SIZE; j++) {
				const unsigned s = (i + 7 * j) % SIZE;

				if (list[s] == to || next_random(&seed) % 3 == 0)
					continue;
				list[s] = to;
				since[s] = SIZE + 1 + SIZE * step + n;
				some[n++] = s;
			}
			bp_agg_streams_move_all(&t, some, n, to);
		}
		for (unsigned l = 0; l < BP_AGG_LISTS; l++) {
			uint32_t first = BP_AGG_NO_STREAM;

			for (unsigned j = 0; j < SIZE; j++)
				if (list[j] == l &&
					(first == BP_AGG_NO_STREAM || since[j] < since[first]))
					first = j;
			assert_int_equal(bp_agg_streams_first(&t, l), first);
		}
	}
	bp_agg_streams_free(&t);
}

static void keys_contain_the_fields(void **state)
{
	const struct bp_agg_key k = {{1, 2, 3, bp_agg_key_last(65535, 31, 255, 6, true, 2)}};
	struct bp_agg_key other;

	assert_int_equal(bp_agg_key_udp(&k), 65535);
	assert_int_equal(bp_agg_key_rule(&k), 31);
	assert_int_equal(bp_agg_key_tos(&k), 255);
	assert_int_equal(bp_agg_key_family(&k), 6);
	assert_true(bp_agg_key_dont_fragment(&k));
	assert_int_equal(bp_agg_key_tags(&k), 2);
	/* every bit of it makes another key and, as good as always, another hash */
	for (unsigned bit = 0; bit < 256; bit++) {
		struct bp_agg_streams t;

		assert_true(bp_agg_streams_init(&t, 1, rows, hash_key));
		other = k;
		other.word[bit / 64] ^= 1ull << bit % 64;
		assert_false(bp_agg_key_same(&k, &other));
		assert_int_not_equal(bp_agg_streams_hash(&t, &k), bp_agg_streams_hash(&t, &other));
		bp_agg_streams_free(&t);
	}
	assert_true(bp_agg_key_same(&k, &k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queued_segments_are_found),
		cmocka_unit_test(lists_keep_order),
		cmocka_unit_test(keys_contain_the_fields),
	};

	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
