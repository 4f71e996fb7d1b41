/* SPDX-License-Identifier: BSD-3-Clause */
/* One maker of a segment, and who reads it. */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "segment_rig.h"

static void what_one_writes_the_other_reads(void **state)
{
	struct bp_segment *a = must(open_as(true)), *b, *c;
	uint64_t capacity = 0;
	uint64_t *x, *y;

	assert_true(bp_segment_fresh(a));
	assert_false(bp_segment_huge(a));
	assert_string_equal(bp_segment_path(a), path);
	x = bp_segment_table(a, "numbers", sizeof(uint64_t), 1, &capacity);
	assert_non_null(x);
	assert_int_equal(capacity, 1000);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(x[i] == 0);
	b = must(open_as(false));
	assert_false(bp_segment_fresh(b));
	assert_int_equal(bp_segment_size(a), bp_segment_size(b));
	c = must(attach());
	x[999] = 42;
	y = bp_segment_table(b, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(y[999] == 42);
	y = bp_segment_table(c, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(y[999] == 42);
	bp_segment_close(a);
	bp_segment_close(b);
	bp_segment_close(c);
	a = must(open_as(true)); /* it outlives its mappings */
	assert_false(bp_segment_fresh(a));
	x = bp_segment_table(a, "numbers", sizeof(uint64_t), 1, NULL);
	assert_true(x[999] == 42);
	bp_segment_close(a);
}

static void tables_are_aligned_and_apart(void **state)
{
	struct bp_segment *s = must(open_as(true));
	const uint8_t *end = NULL;

	for (unsigned i = 0; i < N_SPECS; i++) {
		uint8_t *t = bp_segment_table(
			s, specs[i].name, specs[i].element_size, specs[i].version, NULL);

		assert_non_null(t);
		assert_int_equal((uintptr_t)t % 64, 0);
		assert_true(!end || t >= end);
		end = t + specs[i].element_size * specs[i].capacity;
		memset(t, 0xff, specs[i].element_size * specs[i].capacity);
	}
	assert_null(bp_segment_table(s, "numbers", 4, 1, NULL));
	assert_null(bp_segment_table(s, "numbers", sizeof(uint64_t), 2, NULL));
	assert_null(bp_segment_table(s, "number", sizeof(uint64_t), 1, NULL));
	bp_segment_close(s);
}

static void specs_that_can_not_be_are_refused(void **state)
{
	const struct bp_seg_spec bad[][2] = {
		{{"a", 0, 1, 1, BP_SEG_DATA}, {"b", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1, 0, 1, BP_SEG_DATA}, {"b", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1ull << 40, 1ull << 40, 1, BP_SEG_DATA}, {"b", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1, UINT64_MAX, 1, BP_SEG_DATA}, {"b", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1, 1ull << 45, 1, BP_SEG_DATA}, {"b", 1, 1ull << 45, 1, BP_SEG_DATA}},
		{{"", 1, 1, 1, BP_SEG_DATA}, {"b", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1, 1, 1, BP_SEG_DATA}, {"a", 1, 1, 1, BP_SEG_DATA}},
		{{"a", 1, 1, 1, BP_SEG_DATA},
			{"01234567890123456789012345678901", 1, 1, 1, BP_SEG_DATA}},
	};
	struct bp_seg_spec many[BP_SEG_TABLES_MAX + 1];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refused(bp_segment_open("t", NULL, dir, bad[i], 2, true, err, sizeof(err)),
			"table");
		refused(bp_segment_anonymous(bad[i], 2, err, sizeof(err)), "table");
	}
	memset(many, 0, sizeof(many));
	refused(bp_segment_anonymous(many, BP_SEG_TABLES_MAX + 1, err, sizeof(err)), "97 tables");
	refused(bp_segment_open("a/b", NULL, dir, specs, N_SPECS, true, err, sizeof(err)), "slash");
	refused(bp_segment_open("", NULL, dir, specs, N_SPECS, true, err, sizeof(err)), "name");
	assert_int_equal(access(path, F_OK), -1);
}

static void a_full_directory_works(void **state)
{
	struct bp_seg_spec many[BP_SEG_TABLES_MAX];
	char names[BP_SEG_TABLES_MAX][BP_SEG_TABLE_NAME];
	struct bp_segment *s;

	for (unsigned i = 0; i < BP_SEG_TABLES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "table-%025u", i);
		many[i] = (struct bp_seg_spec){names[i], i + 1, i + 1, i, BP_SEG_DATA};
	}
	s = must(bp_segment_open("t", NULL, dir, many, BP_SEG_TABLES_MAX, true, err, sizeof(err)));
	for (unsigned i = 0; i < BP_SEG_TABLES_MAX; i++)
		assert_non_null(bp_segment_table(s, names[i], i + 1, i, NULL));
	bp_segment_close(s);
}

static void a_missing_segment_is_said(void **state)
{
	refused(attach(), "no segment");
	refused(bp_segment_open(
			"t", NULL, "/nonexistent/dir", specs, N_SPECS, true, err, sizeof(err)),
		"/nonexistent/dir");
}

static void other_tables_are_replaced_by_the_owner_only(void **state)
{
	const struct bp_seg_spec changed[][3] = {
		{{"numbers", 8, 1001, 1, BP_SEG_DATA}, specs[1], specs[2]},
		{{"numbers", 16, 1000, 1, BP_SEG_DATA}, specs[1], specs[2]},
		{{"numbers", 8, 1000, 2, BP_SEG_DATA}, specs[1], specs[2]},
		{{"others", 8, 1000, 1, BP_SEG_DATA}, specs[1], specs[2]},
		{specs[1], specs[0], specs[2]},
	};

	for (unsigned i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		struct bp_segment *old = must(open_as(true)), *fresh;
		uint64_t *x = bp_segment_table(old, "numbers", 8, 1, NULL);

		x[5] = 5;
		refused(bp_segment_open("t", NULL, dir, changed[i], 3, false, err, sizeof(err)),
			path);
		fresh = must(
			bp_segment_open("t", NULL, dir, changed[i], 3, true, err, sizeof(err)));
		assert_true(bp_segment_fresh(fresh));
		assert_true(x[5] == 5); /* the old mapping stays */
		x[5] = 6;
		bp_segment_close(fresh);
		bp_segment_close(old);
		bp_segment_unlink("t", NULL, dir);
	}
}

static void fewer_and_more_tables_differ(void **state)
{
	struct bp_segment *s = must(open_as(true));

	bp_segment_close(s);
	refused(bp_segment_open("t", NULL, dir, specs, 2, false, err, sizeof(err)), "3 tables");
	s = must(bp_segment_open("t", NULL, dir, specs, 2, true, err, sizeof(err)));
	assert_true(bp_segment_fresh(s));
	bp_segment_close(s);
	refused(open_as(false), "wide");
}

static void unlink_says_whether_there_was_one(void **state)
{
	bp_segment_close(must(open_as(true)));
	assert_int_equal(bp_segment_unlink("t", NULL, dir), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(bp_segment_unlink("t", NULL, dir), -1);
	assert_int_equal(errno, ENOENT);
}

static void what_a_dead_maker_left_is_no_obstacle(void **state)
{
	char tmp[PATH_MAX + 8];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	f = fopen(tmp, "w");
	assert_non_null(f);
	fputs("half a header", f);
	fclose(f);
	bp_segment_close(must(open_as(false)));
	assert_int_equal(access(tmp, F_OK), -1);
}

static void anonymous_memory_has_the_same_tables(void **state)
{
	struct bp_segment *s = must(bp_segment_anonymous(specs, N_SPECS, err, sizeof(err)));
	uint8_t *t = bp_segment_table(s, "wide", 256, 1, NULL);

	assert_true(bp_segment_fresh(s));
	assert_string_equal(bp_segment_path(s), "");
	assert_non_null(t);
	memset(t, 1, 256 * 40);
	bp_segment_close(s);
	bp_segment_close(NULL);
}

static void a_reader_can_not_write(void **state)
{
	uint64_t *x;
	struct bp_segment *s;
	int status;
	pid_t pid;

	bp_segment_close(must(open_as(true)));
	s = must(attach());
	x = bp_segment_table(s, "numbers", 8, 1, NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile uint64_t *)x = 1;
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	bp_segment_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_one_writes_the_other_reads),
		T(tables_are_aligned_and_apart),
		T(specs_that_can_not_be_are_refused),
		T(a_full_directory_works),
		T(a_missing_segment_is_said),
		T(other_tables_are_replaced_by_the_owner_only),
		T(fewer_and_more_tables_differ),
		T(unlink_says_whether_there_was_one),
		T(what_a_dead_maker_left_is_no_obstacle),
		T(anonymous_memory_has_the_same_tables),
		T(a_reader_can_not_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
