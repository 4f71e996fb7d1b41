/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "services/aggregation/sequence.h"

static struct bp_disagg_stats stats[BP_AGG_RULES_MAX];

struct counted {
	uint64_t missing, late, duplicate, stale, lives, forgotten;
};

static struct bp_sequences *fresh(uint32_t streams)
{
	struct bp_sequences *s = bp_sequences_new(streams, stats, 7);

	assert_non_null(s);
	memset(stats, 0, sizeof(stats));
	return s;
}

static void expect(unsigned rule, struct counted want)
{
	assert_int_equal(stats[rule].missing, want.missing);
	assert_int_equal(stats[rule].late, want.late);
	assert_int_equal(stats[rule].duplicate, want.duplicate);
	assert_int_equal(stats[rule].stale, want.stale);
	assert_int_equal(stats[rule].lives, want.lives);
	assert_int_equal(stats[rule].forgotten, want.forgotten);
}

static struct bp_sequence_key stream_of(uint16_t number, unsigned rule)
{
	return (struct bp_sequence_key){
		{1, 2}, {3, 4}, bp_sequence_rest(40000, 5555, number, 4, rule)};
}

static struct bp_sequence_key stream(uint16_t number)
{
	return stream_of(number, 0);
}

/* The numbers of one stream, in the order in which they come. */
static void come(struct bp_sequences *s, const uint32_t *number, unsigned n)
{
	const struct bp_sequence_key key = stream(1);

	for (unsigned i = 0; i < n; i++)
		bp_sequences_record(s, &key, number[i]);
}
#define COME(s_, ...)                                                                              \
	come(s_, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4)

static void in_order_nothing_is_missing(void **state)
{
	struct bp_sequences *s = fresh(4);

	for (uint32_t i = 0; i < 1000; i++)
		COME(s, 0xfffffe00 + i); /* over 2^32 */
	expect(0, (struct counted){.lives = 1});
	bp_sequences_free(s);
}

static void gaps_are_counted_as_missing(void **state)
{
	struct bp_sequences *s = fresh(4);

	COME(s, 10, 12);
	expect(0, (struct counted){.missing = 1, .lives = 1});
	COME(s, 13, 23);
	expect(0, (struct counted){.missing = 10, .lives = 1});
	COME(s, 23 + 64); /* the whole window at once */
	expect(0, (struct counted){.missing = 73, .lives = 1});
	COME(s, 23 + 64 + 500);
	expect(0, (struct counted){.missing = 572, .lives = 1});
	bp_sequences_free(s);
}

static void late_and_duplicates(void **state)
{
	struct bp_sequences *s = fresh(4);

	COME(s, 10, 13, 11);
	expect(0, (struct counted){.missing = 2, .late = 1, .lives = 1});
	COME(s, 11, 13, 10);
	expect(0, (struct counted){.missing = 2, .late = 1, .duplicate = 3, .lives = 1});
	COME(s, 12);
	expect(0, (struct counted){.missing = 2, .late = 2, .duplicate = 3, .lives = 1});
	bp_sequences_free(s);
}

static void the_window_has_an_end(void **state)
{
	struct bp_sequences *s = fresh(4);

	COME(s, 1000, 1002, 1064, 1001); /* 63 behind: within */
	expect(0, (struct counted){.missing = 62, .late = 1, .lives = 1});
	COME(s, 1000); /* 64 behind: no one knows */
	expect(0, (struct counted){.missing = 62, .late = 1, .stale = 1, .lives = 1});
	COME(s, 1001); /* still known */
	expect(0,
		(struct counted){.missing = 62, .late = 1, .duplicate = 1, .stale = 1, .lives = 1});
	COME(s, 1065, 1001);
	expect(0,
		(struct counted){.missing = 62, .late = 1, .duplicate = 1, .stale = 2, .lives = 1});
	bp_sequences_free(s);
}

/* A number before the first received one extends the stream: missing minus late remains the number
 * not received. */
static void late_first_frame(void **state)
{
	struct bp_sequences *s = fresh(4);

	COME(s, 10, 9);
	expect(0, (struct counted){.missing = 1, .late = 1, .lives = 1});
	COME(s, 5);
	expect(0, (struct counted){.missing = 5, .late = 2, .lives = 1}); /* not come: 6, 7, 8 */
	COME(s, 7, 6, 8, 8);
	expect(0, (struct counted){.missing = 5, .late = 5, .duplicate = 1, .lives = 1});
	COME(s, 11, 12);
	expect(0, (struct counted){.missing = 5, .late = 5, .duplicate = 1, .lives = 1});
	bp_sequences_free(s);
	/* to the window's end and no further */
	s = fresh(4);
	COME(s, 1000, 937, 936);
	expect(0, (struct counted){.missing = 63, .late = 1, .stale = 1, .lives = 1});
	bp_sequences_free(s);
	/* once the window has advanced, all of it is within the stream */
	s = fresh(4);
	COME(s, 1000, 1070, 1010);
	expect(0, (struct counted){.missing = 69, .late = 1, .lives = 1});
	bp_sequences_free(s);
}

static void large_step_starts_a_new_stream(void **state)
{
	const uint32_t step = 1u << 24;
	struct bp_sequences *s = fresh(4);

	COME(s, 5, 5 + step);
	expect(0, (struct counted){.missing = step - 1, .lives = 1});
	COME(s, 5);
	expect(0, (struct counted){.missing = step - 1, .stale = 1, .lives = 1});
	COME(s, 5 + step + step + 1); /* one too far */
	expect(0, (struct counted){.missing = step - 1, .stale = 1, .lives = 2});
	COME(s, 5 + step); /* and one too far back */
	expect(0, (struct counted){.missing = step - 1, .stale = 1, .lives = 3});
	COME(s, 5 + step + (1u << 31)); /* as far as can be, where ahead is behind */
	expect(0, (struct counted){.missing = step - 1, .stale = 1, .lives = 4});
	COME(s, 5 + step + (1u << 31) + 1, 5 + step + (1u << 31));
	expect(0, (struct counted){.missing = step - 1, .duplicate = 1, .stale = 1, .lives = 4});
	bp_sequences_free(s);
}

static void each_part_of_the_key_makes_a_stream(void **state)
{
	struct bp_sequences *s = fresh(16);
	struct bp_sequence_key key[10];

	for (unsigned i = 0; i < 10; i++)
		key[i] = stream(1);
	key[1].source[0]++;
	key[2].source[1]++;
	key[3].destination[0]++;
	key[4].destination[1]++;
	key[5].rest = bp_sequence_rest(40001, 5555, 1, 4, 0);
	key[6].rest = bp_sequence_rest(40000, 5556, 1, 4, 0);
	key[7].rest = bp_sequence_rest(40000, 5555, 2, 4, 0);
	key[8].rest = bp_sequence_rest(40000, 5555, 1, 6, 0);
	key[9].rest = bp_sequence_rest(40000, 5555, 1, 4, 3);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 10; i++)
			bp_sequences_record(s, &key[i], 1000 * i + round);
	expect(0, (struct counted){.lives = 9});
	expect(3, (struct counted){.lives = 1});
	bp_sequences_record(s, &key[9], 9000);
	expect(0, (struct counted){.lives = 9});
	expect(3, (struct counted){.duplicate = 1, .lives = 1});
	bp_sequences_free(s);
}

static void longest_idle_is_evicted(void **state)
{
	struct bp_sequences *s = fresh(3);
	struct bp_sequence_key key[5];

	for (unsigned i = 0; i < 5; i++)
		key[i] = stream_of((uint16_t)i, i & 1);
	for (unsigned i = 0; i < 3; i++)
		bp_sequences_record(s, &key[i], 100);
	bp_sequences_record(s, &key[0], 101);
	bp_sequences_record(s, &key[3], 100); /* for 1, which is of rule 1 */
	expect(0, (struct counted){.lives = 2});
	expect(1, (struct counted){.lives = 2, .forgotten = 1});
	bp_sequences_record(s, &key[2], 101);
	bp_sequences_record(s, &key[4], 100); /* for 0 */
	expect(0, (struct counted){.lives = 3, .forgotten = 1});
	/* remaining streams keep their state; evicted ones start again */
	bp_sequences_record(s, &key[2], 101);
	bp_sequences_record(s, &key[3], 102);
	expect(0, (struct counted){.duplicate = 1, .lives = 3, .forgotten = 1});
	expect(1, (struct counted){.missing = 1, .lives = 2, .forgotten = 1});
	bp_sequences_record(s, &key[0], 55);
	expect(0, (struct counted){.duplicate = 1, .lives = 4, .forgotten = 2});
	bp_sequences_free(s);
}

static void minimum_is_one_stream(void **state)
{
	struct bp_sequences *s = fresh(0);

	COME(s, 1, 2, 4);
	expect(0, (struct counted){.missing = 1, .lives = 1});
	bp_sequences_free(s);
}

static void clear_removes_all_state(void **state)
{
	struct bp_sequences *s = fresh(4);

	for (unsigned round = 0; round < 3; round++) {
		/* the same streams again, and then enough others that each hash chain is walked */
		for (unsigned i = 0; i < 500; i++) {
			const struct bp_sequence_key key =
				stream((uint16_t)(i < 4 ? i : 1000 * round + i));

			bp_sequences_record(s, &key, 0);
		}
		expect(0, (struct counted){.lives = 500, .forgotten = 496});
		bp_sequences_clear(s);
		expect(0, (struct counted){.lives = 500, .forgotten = 496});
		memset(stats, 0, sizeof(stats));
		for (unsigned i = 0; i < 4; i++) {
			const struct bp_sequence_key key = stream((uint16_t)i);

			bp_sequences_record(s, &key, 0);
		}
		expect(0, (struct counted){.lives = 4});
		bp_sequences_clear(s);
		memset(stats, 0, sizeof(stats));
	}
	bp_sequences_free(s);
}

/*
 * Against a model that remembers all received numbers: numbers reported as late or duplicate are
 * so, and missing minus late is the number not received, except stale ones.
 */
#define NUMBERS 4000u
static void random_orders(void **state)
{
	uint64_t seed = 0x5eed;

	for (unsigned round = 0; round < 300; round++) {
		struct bp_sequences *s = fresh(2);
		const uint32_t base = (uint32_t)next_random(&seed);
		static uint8_t came[NUMBERS];
		uint32_t first = 0, last = 0, at = NUMBERS / 4, not_come = 0;
		struct counted want = {.lives = 1};
		/* some runs stay within the window, some do not */
		const unsigned jitter = round % 3 == 0 ? 8 : round % 3 == 1 ? 60 : 200;

		memset(came, 0, sizeof(came));
		for (unsigned i = 0; i < 500; i++) {
			const uint64_t r = next_random(&seed);
			uint32_t n;

			at += (r & 15) == 0 ? r >> 8 & 15 : 1;
			n = at - (uint32_t)((r >> 32) % jitter);
			assert_true(n < NUMBERS);
			if (i == 0)
				first = last = n;
			else if (n <= last && last - n >= 64)
				want.stale++;
			else if (came[n])
				want.duplicate++;
			else if (n < last)
				want.late++;
			if (i == 0 || n > last || last - n < 64) {
				came[n] = 1;
				first = n < first ? n : first;
				last = n > last ? n : last;
			}
			COME(s, base + n);
		}
		for (uint32_t n = first; n <= last; n++)
			not_come += !came[n];
		want.missing = want.late + not_come;
		expect(0, want);
		bp_sequences_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_nothing_is_missing),
		cmocka_unit_test(gaps_are_counted_as_missing),
		cmocka_unit_test(late_and_duplicates),
		cmocka_unit_test(the_window_has_an_end),
		cmocka_unit_test(late_first_frame),
		cmocka_unit_test(large_step_starts_a_new_stream),
		cmocka_unit_test(each_part_of_the_key_makes_a_stream),
		cmocka_unit_test(longest_idle_is_evicted),
		cmocka_unit_test(minimum_is_one_stream),
		cmocka_unit_test(clear_removes_all_state),
		cmocka_unit_test(random_orders),
	};

	return cmocka_run_group_tests_name("sequence", tests, NULL, NULL);
}
