/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of faults: consistent for readers during changes; and times as text. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "shm/fault.h"
#include "test.h"

#define READS 20000u

static struct bp_fault_row row;
static _Atomic bool enough;

/* All figures of one writing are the same number. */
static void fill(struct bp_fault_record *t, uint64_t n)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->subject, sizeof(t->subject), "%020llu", (unsigned long long)n);
	t->kind = (uint32_t)(n % BP_FAULT_KINDS);
	t->active = (uint32_t)n;
	t->began_ns = t->ended_ns = t->spells = t->total = t->worst = n;
}

static void *write_many(void *arg)
{
	(void)arg;
	for (uint64_t n = 1; !atomic_load(&enough); n++) {
		struct bp_fault_record t;

		fill(&t, n);
		bp_fault_write(&row, &t);
	}
	return NULL;
}

static void reader_sees_complete_rows(void **state)
{
	uint64_t last = 0;
	unsigned seen = 0;
	struct bp_fault_record t, as;
	pthread_t writer;

	(void)state;
	memset(&row, 0, sizeof(row));
	atomic_store(&enough, false);
	assert_int_equal(pthread_create(&writer, NULL, write_many, NULL), 0);
	while (seen < READS) {
		if (!bp_fault_read(&row, &t))
			continue; /* not begun, or the writer was interrupted while it wrote */
		fill(&as, t.spells);
		assert_memory_equal(&t, &as, sizeof(t));
		assert_true(t.spells >= last);
		last = t.spells;
		seen++;
	}
	atomic_store(&enough, true);
	pthread_join(writer, NULL);
}

static void unused_row_is_rejected(void **state)
{
	struct bp_fault_record t;

	(void)state;
	memset(&row, 0, sizeof(row));
	assert_false(bp_fault_read(&row, &t));
	fill(&t, 1);
	bp_fault_write(&row, &t);
	assert_true(bp_fault_read(&row, &t));
}

/* Its writer was killed; the next one mends it. */
static void incomplete_row_is_rejected(void **state)
{
	struct bp_fault_record t;

	(void)state;
	memset(&row, 0, sizeof(row));
	fill(&t, 1);
	bp_fault_write(&row, &t);
	atomic_fetch_add(&row.seq, 1);
	assert_false(bp_fault_read(&row, &t));
	fill(&t, 2);
	bp_fault_write(&row, &t);
	assert_true(bp_fault_read(&row, &t));
	assert_int_equal(t.spells, 2);
}

static void restarted_count_is_valid(void **state)
{
	struct bp_fault_record t;

	(void)state;
	fill(&t, 1);
	atomic_store(&row.seq, UINT32_MAX - 1);
	bp_fault_write(&row, &t);
	assert_true(bp_fault_read(&row, &t));
}

static void unknown_kind_is_rejected(void **state)
{
	struct bp_fault_record t;

	(void)state;
	fill(&t, 1);
	t.kind = BP_FAULT_KINDS;
	bp_fault_write(&row, &t);
	assert_false(bp_fault_read(&row, &t));
}

static void every_kind_has_a_name_and_its_counter(void **state)
{
	(void)state;
	for (unsigned k = 0; k < BP_FAULT_CONTROLPLANE_FIRST; k++) {
		const struct bp_counter_info *c = &bp_counter_info[bp_fault_info[k].counter];

		assert_string_equal(bp_fault_info[k].name, c->name);
		assert_int_equal(c->group, BP_CG_HEALTH);
		assert_non_null(bp_fault_info[k].help);
	}
}

static void durations_are_formatted(void **state)
{
	static const struct {
		uint64_t ns;
		const char *as;
	} span[] = {{0, "0 us"}, {999, "0 us"}, {1000, "1 us"}, {999999, "999 us"},
		{1000000, "1 ms"}, {999999999, "999 ms"}, {1000000000, "1.0 s"},
		{3299999999, "3.2 s"}, {119999999999, "119.9 s"}, {120000000000, "2 min"},
		{7199000000000, "119 min"}, {7200000000000, "2 h"}, {UINT64_MAX, "5124095 h"}};
	char text[BP_FAULT_DURATION_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(span) / sizeof(span[0]); i++)
		assert_string_equal(bp_fault_duration(span[i].ns, text), span[i].as);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reader_sees_complete_rows),
		cmocka_unit_test(unused_row_is_rejected),
		cmocka_unit_test(incomplete_row_is_rejected),
		cmocka_unit_test(restarted_count_is_valid),
		cmocka_unit_test(unknown_kind_is_rejected),
		cmocka_unit_test(every_kind_has_a_name_and_its_counter),
		cmocka_unit_test(durations_are_formatted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
