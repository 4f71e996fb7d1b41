/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring of samples: shm/history.h. */
#include <stdlib.h>
#include <string.h>

#include "shm/history.h"
#include "test.h"

#define ROWS 5
#define PORTS 2
#define WORKERS 3

static struct bp_history history;
static struct bp_history_sample sample, got;
static uint64_t *table;

static int set_up(void **state)
{
	const uint64_t capacity = bp_history_capacity(ROWS, PORTS, WORKERS);

	table = calloc(capacity, sizeof(*table));
	bp_history_map(&history, table, capacity, PORTS, WORKERS);
	memset(&sample, 0, sizeof(sample));
	return table != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	free(table);
	return 0;
}

/* Sample `number`, each word of which is made of it. */
static void append(uint64_t number)
{
	for (uint32_t i = 0; i < history.words; i++)
		sample.word[i] = number * 1000 + i;
	bp_history_append(&history, &sample);
}

static bool is_sample(uint64_t number)
{
	if (!bp_history_read(&history, number, &got, history.words) || got.word[0] != number)
		return false;
	for (uint32_t i = 1; i < history.words; i++)
		if (got.word[i] != number * 1000 + i)
			return false;
	return true;
}

static void values_do_not_overlap(void **state)
{
	assert_int_equal(history.n_rows, ROWS);
	assert_int_equal(bp_history_port_at(0, 0), BP_HISTORY_VALUES);
	assert_int_equal(bp_history_worker_at(&history, 0, 0),
		bp_history_port_at(PORTS - 1, BP_HISTORY_PORT_VALUES - 1) + 1);
	assert_int_equal(bp_history_delays_at(&history),
		bp_history_worker_at(&history, WORKERS - 1, BP_HISTORY_WORKER_VALUES - 1) + 1);
	assert_int_equal(bp_history_delays_at(&history) + BP_HISTORY_DELAYS, history.words);
	assert_true(history.words <= BP_HISTORY_WORDS_MAX);
	assert_true(bp_history_capacity(1, BP_MAX_PORTS, BP_MAX_WORKERS) ==
		    BP_HISTORY_HEADER + 1 + BP_HISTORY_WORDS_MAX);
}

static void the_newest_samples_are_kept(void **state)
{
	assert_true(bp_history_newest(&history) == 0);
	assert_true(bp_history_oldest(&history) == 0);
	assert_false(bp_history_read(&history, 1, &got, history.words));
	for (uint64_t n = 1; n <= 3 * ROWS + 1; n++) {
		append(n);
		assert_true(bp_history_newest(&history) == n);
		assert_true(bp_history_oldest(&history) == (n > ROWS ? n - ROWS + 1 : 1));
		for (uint64_t i = bp_history_oldest(&history); i <= n; i++)
			assert_true(is_sample(i));
		assert_false(is_sample(n + 1));
		assert_false(bp_history_read(&history, n > ROWS ? n - ROWS : 0, &got, 1));
	}
}

static void a_part_of_a_sample_can_be_read(void **state)
{
	append(1);
	memset(&got, 0xff, sizeof(got));
	assert_true(bp_history_read(&history, 1, &got, 3));
	assert_true(got.word[0] == 1 && got.word[2] == 1002 && got.word[3] == UINT64_MAX);
	/* without its number, a sample cannot be identified */
	assert_false(bp_history_read(&history, 1, &got, 0));
	assert_true(bp_history_read(&history, 1, &got, UINT32_MAX));
	assert_true(got.word[history.words - 1] == 1000 + history.words - 1);
}

/* The writer was killed during a write: the sample is incomplete, and the next writer continues. */
static void an_incomplete_sample_is_not_read(void **state)
{
	uint64_t *row = history.rows;

	append(1);
	row[0]++;
	assert_false(bp_history_read(&history, 1, &got, history.words));
	for (uint64_t n = 2; n <= ROWS; n++)
		append(n);
	assert_true(is_sample(ROWS));
	append(ROWS + 1);
	assert_true(is_sample(ROWS + 1));
}

static void counts_of_delays_are_halves_of_words(void **state)
{
	memset(&sample, 0, sizeof(sample));
	sample.word[bp_history_delays_at(&history)] = 7 | 9ull << 32;
	sample.word[history.words - 1] = (uint64_t)UINT32_MAX << 32;
	bp_history_append(&history, &sample);
	assert_true(bp_history_read(&history, 1, &got, history.words));
	assert_int_equal(bp_history_delay(&history, &got, 0), 7);
	assert_int_equal(bp_history_delay(&history, &got, 1), 9);
	assert_true(bp_history_delay(&history, &got, BP_HISTOGRAM_BUCKETS - 1) == UINT32_MAX);
}

static void no_rows_no_samples(void **state)
{
	struct bp_history none;

	bp_history_map(&none, table, bp_history_capacity(0, PORTS, WORKERS), PORTS, WORKERS);
	assert_int_equal(none.n_rows, 0);
	bp_history_append(&none, &sample);
	assert_true(bp_history_newest(&none) == 0);
	assert_false(bp_history_read(&none, 1, &got, none.words));
}

/* Another process chose the size. */
static void sizes_are_checked(void **state)
{
	const uint64_t row = bp_history_capacity(1, PORTS, WORKERS) - BP_HISTORY_HEADER;

	for (uint64_t rows = 0; rows < 4; rows++) {
		const uint64_t c = bp_history_capacity(rows, PORTS, WORKERS);

		assert_true(bp_history_size_agrees(c, PORTS, WORKERS));
		assert_false(bp_history_size_agrees(c + 1, PORTS, WORKERS));
		assert_false(bp_history_size_agrees(c - 1, PORTS, WORKERS));
	}
	assert_false(bp_history_size_agrees(0, PORTS, WORKERS));
	assert_true(bp_history_capacity(UINT64_MAX, PORTS, WORKERS) ==
		    bp_history_capacity(BP_HISTORY_ROWS_MAX, PORTS, WORKERS));
	assert_false(bp_history_size_agrees(
		BP_HISTORY_HEADER + (BP_HISTORY_ROWS_MAX + 1) * row, PORTS, WORKERS));
	assert_false(bp_history_size_agrees(bp_history_capacity(1, 33, 1), 33, 1));
	assert_false(bp_history_size_agrees(bp_history_capacity(1, 1, 65), 1, 65));
}

/* Any contents: the writer and the readers stay in the table. */
static void damaged_contents_are_harmless(void **state)
{
	uint64_t random = 1;

	for (unsigned round = 0; round < 1000; round++) {
		for (uint64_t i = 0; i < bp_history_capacity(ROWS, PORTS, WORKERS); i++)
			table[i] = test_random(&random);
		if (round % 3 == 0)
			table[0] = UINT64_MAX - round % 2;
		bp_history_read(&history, bp_history_newest(&history), &got, history.words);
		bp_history_read(&history, test_random(&random), &got, history.words);
		append(1);
		assert_true(bp_history_read(
			&history, bp_history_newest(&history), &got, history.words));
		assert_true(got.word[1] == 1001);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(values_do_not_overlap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_newest_samples_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_part_of_a_sample_can_be_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_incomplete_sample_is_not_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			counts_of_delays_are_halves_of_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_rows_no_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_are_checked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_contents_are_harmless, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
