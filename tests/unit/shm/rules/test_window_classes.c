/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles over time: the error against the exact percentile, panes that leave, and a process
 * that is killed after each store. */
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/rules/window.h"
#include "tests/unit/shm/test.h"

#define SECOND 1000000000ull
#define PANE SECOND
#define BEGIN (1000 * SECOND)
#define VALUES 6000u

struct image {
	struct bp_ruleset head;
	struct bp_ruleset_window window[1];
	struct bp_rule rule __attribute__((aligned(64)));
};

/* What a killed process leaves to the next one. */
struct left {
	uint64_t begun, done; /* values */
	struct bp_window_undo undo;
	struct bp_window_bucket bucket[1];
	uint8_t cells[] __attribute__((aligned(64)));
};

static struct bp_window_table table;
static struct image active;
static struct bp_rule rule;
static uint64_t now;
static unsigned coarsened;

static void open_table(uint32_t values)
{
	table.buckets = 1;
	table.stride = bp_window_stride(values);
	table.bucket = calloc(1, sizeof(*table.bucket));
	table.cells = calloc(BP_WINDOW_WAYS, table.stride);
	assert_true(table.bucket != NULL && table.cells != NULL);
	now = BEGIN;
	coarsened = 0;
}

static void close_table(void)
{
	free(table.bucket);
	free(table.cells);
}

static void set_rule(uint64_t uid, double percentile, bool tumbling)
{
	rule = (struct bp_rule){.uid = uid,
		.windowed = 1,
		.window = {.given = true,
			.tumbling = tumbling,
			.function = BP_WINDOW_PERCENTILE,
			.time_ns = tumbling ? PANE : BP_WINDOW_PANES * PANE,
			.percentile = percentile}};
	active.head = (struct bp_ruleset){.generation = 1,
		.n_windows = 1,
		.windows = offsetof(struct image, window),
		.rules = offsetof(struct image, rule)};
	active.window[0].uid = uid;
	active.rule = rule;
}

static enum bp_window_result add(
	const struct bp_window_table *t, double v, struct bp_window_undo *undo, double *result)
{
	struct bp_window_use u = {.rules = &active.head,
		.rule = &rule,
		.topic_hash = 1,
		.now_ns = now,
		.client = 7,
		.undo = undo};
	const enum bp_window_result r = bp_window_add(t, &u, v, result);

	coarsened += u.coarsened;
	return r;
}

/* ---- against the exact percentile ---- */

static double random_in(double low, double high)
{
	return low * pow(high / low, (double)rand() / RAND_MAX);
}

static int ascending(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* Of the values of the 16 panes that end with that of the last one. */
static double exact(const double *v, const uint64_t *at, unsigned n, double percentile)
{
	static double sorted[VALUES];
	const uint64_t pane = (at[n - 1] - BEGIN) / PANE;
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++)
		if ((at[i] - BEGIN) / PANE + BP_WINDOW_PANES > pane)
			sorted[k++] = v[i];
	qsort(sorted, k, sizeof(*sorted), ascending);
	return sorted[(unsigned)ceil(percentile * k / 100) - 1];
}

/* The largest relative error of windows of random values; `sign`: both. */
static double largest_error(double low, double high, bool sign, double percentile)
{
	static double v[VALUES];
	static uint64_t at[VALUES];
	double worst = 0;
	unsigned results = 0;

	open_table(1024);
	assert_int_equal(bp_window_classes(table.stride), BP_WINDOW_CLASSES_MAX);
	set_rule(5, percentile, false);
	srand(7);
	for (unsigned i = 0; i < VALUES; i++) {
		double result, want;

		now += (uint64_t)(rand() % 20) * (SECOND / 200) + (rand() % 500 == 0) * 5 * PANE;
		at[i] = now;
		v[i] = random_in(low, high) * (sign && rand() % 2 ? -1 : 1);
		if (i == 0) /* the panes begin with it */
			at[0] = now = BEGIN;
		if (add(&table, v[i], NULL, &result) != BP_WINDOW_VALUE)
			continue;
		results++;
		want = exact(v, at, i + 1, percentile);
		worst = fmax(worst, fabs(result - want) / fabs(want));
	}
	assert_true(results > VALUES / 2);
	return worst;
}

/* 7 significant bits: at most 1/128. With as many classes as there are, none is made coarser. */
static void the_error_is_that_of_7_bits(void **state)
{
	static const double percentile[] = {1, 50, 99, 100};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		const double e = largest_error(20, 60, false, percentile[i]);

		assert_true(e <= 1.0 / 128 && e > 1.0 / 256);
		assert_int_equal(coarsened, 0);
		close_table();
	}
}

/* Values of 10 octaves have up to 64 classes in each; with 8 in each, they fit: after 3 times. */
static void values_of_many_magnitudes_have_a_larger_error(void **state)
{
	static const double percentile[] = {10, 50, 95};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_true(largest_error(1, 1024, false, percentile[i]) <= 15.0 / 128);
		assert_true(coarsened > 0);
		close_table();
		/* of both signs: 4 in each */
		assert_true(largest_error(1e3, 1024e3, true, percentile[i]) <= 31.0 / 128);
		close_table();
	}
}

/* Once values of many magnitudes have left, later ones have the small error. */
static void the_error_becomes_small_again(void **state)
{
	double result = 0;

	(void)state;
	open_table(1024);
	set_rule(5, 50, false);
	for (int i = -500; i < 500; i++)
		(void)add(&table, ldexp(1, i), NULL, &result);
	assert_true(coarsened > 0);
	coarsened = 0;
	for (unsigned i = 0; i < 2 * BP_WINDOW_PANES; i++) {
		now += PANE;
		(void)add(&table, 101, NULL, &result);
	}
	assert_true(result == 101);
	assert_int_equal(coarsened, 0);
	close_table();
}

/* ---- edges ---- */

static double percentile_of(double percentile, unsigned n, const double *v)
{
	double result = NAN;

	open_table(1024);
	set_rule(5, percentile, false);
	for (unsigned i = 0; i < n; i++)
		(void)add(&table, v[i], NULL, &result);
	now += 15 * PANE + PANE / 2;
	(void)add(&table, v[n - 1], NULL, &result);
	assert_true(isnan(result)); /* the window is not full */
	now += PANE / 2;            /* the first pane leaves */
	assert_int_equal(add(&table, v[n - 1], NULL, &result), BP_WINDOW_VALUE);
	close_table();
	return result;
}

static void extreme_values(void **state)
{
	static const double most[] = {DBL_MAX}, least[] = {-DBL_MAX}, zero[] = {-0.0},
			    tiny[] = {0x1p-1074}, integer[] = {-127};

	(void)state;
	assert_true(percentile_of(50, 1, most) > DBL_MAX / 128 * 127);
	assert_true(percentile_of(50, 1, most) <= DBL_MAX);
	assert_true(percentile_of(50, 1, least) < -DBL_MAX / 128 * 127);
	assert_true(percentile_of(50, 1, zero) == 0);
	assert_true(percentile_of(50, 1, tiny) == 0);
	assert_true(percentile_of(100, 1, integer) == -127);
}

static void a_tumbling_window_has_the_result_of_its_values(void **state)
{
	struct bp_window_expired out;
	struct bp_window_view v;
	double result;

	(void)state;
	open_table(296);
	set_rule(5, 50, true);
	for (unsigned i = 1; i <= 5; i++)
		assert_int_equal(add(&table, i, NULL, &result), BP_WINDOW_NONE);
	assert_true(bp_window_find(&table, &rule, 1, &v));
	assert_int_equal(v.n, 5);
	/* without a tick, and in the column that it had */
	now += 16 * PANE;
	assert_int_equal(add(&table, 40, NULL, &result), BP_WINDOW_VALUE);
	assert_true(result == 3);
	(void)out;
	now += PANE;
	assert_int_equal(add(&table, 50, NULL, &result), BP_WINDOW_VALUE);
	assert_true(result == 40);
	close_table();
}

/* The undo of the first value of a period goes back to the values of the period before. */
static void a_period_has_its_values_after_an_undo(void **state)
{
	struct bp_window_undo undo = {.cell = UINT64_MAX};
	double result;

	(void)state;
	open_table(296);
	set_rule(5, 50, true);
	for (unsigned i = 0; i < 600; i++)
		(void)add(&table, 10, NULL, &result);
	now += PANE;
	assert_int_equal(add(&table, 90, &undo, &result), BP_WINDOW_VALUE);
	assert_true(result == 10);
	assert_true(bp_window_undo(&table, &undo, 0));
	assert_int_equal(add(&table, 90, NULL, &result), BP_WINDOW_VALUE);
	assert_true(result == 10);
	close_table();
}

static void cells_that_are_too_small_are_refused(void **state)
{
	double result;

	(void)state;
	assert_int_equal(bp_window_classes(bp_window_stride(BP_WINDOW_CLASSES_VALUES)),
		BP_WINDOW_CLASSES_MIN);
	open_table(128);
	assert_int_equal(bp_window_classes(table.stride), 0);
	set_rule(5, 50, false);
	assert_int_equal(add(&table, 1, NULL, &result), BP_WINDOW_NOT_STORED);
	close_table();
}

/* A cell with random bytes has no values of the next pair, and no result is out of range. */
static void damaged_cells_are_bounded(void **state)
{
	struct bp_window_view v;
	double result;

	(void)state;
	for (unsigned seed = 1; seed < 200; seed++) {
		open_table(296);
		set_rule(5, 50, seed % 2);
		srand(seed);
		for (unsigned i = 0; i < seed % 40; i++)
			(void)add(&table, i, NULL, &result);
		for (unsigned way = 0; way < BP_WINDOW_WAYS; way++) {
			struct bp_window *c =
				(struct bp_window *)(void *)(table.cells + way * table.stride);
			uint8_t *data = (uint8_t *)c->data;

			for (uint64_t i = seed % 3 == 0 ? 0 : 16 * 8; i < table.stride - sizeof(*c);
				i++)
				data[i] = (uint8_t)rand();
		}
		for (unsigned i = 0; i < 40; i++) {
			now += (uint64_t)(i % 3) * PANE;
			if (add(&table, i, NULL, &result) == BP_WINDOW_VALUE)
				assert_true(isfinite(result));
			(void)bp_window_find(&table, &rule, 1, &v);
		}
		close_table();
	}
}

/* ---- killed after each store ---- */

#define KILLED_VALUES 48u

static struct left *left;
static size_t left_size;

static struct bp_window_table table_in(struct left *l)
{
	return (struct bp_window_table){
		.bucket = l->bucket, .cells = l->cells, .buckets = 1, .stride = table.stride};
}

/* More classes than there are, and panes that begin. */
static double value_at(uint64_t i)
{
	now = BEGIN + i * (PANE / 8);
	return i % 12 == 5 ? 100 : (double)(100 + i);
}

static void child(void)
{
	const struct bp_window_table t = table_in(left);
	double result;

	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	for (uint64_t i = 0; i < KILLED_VALUES; i++) {
		left->undo.cell = UINT64_MAX;
		atomic_signal_fence(memory_order_seq_cst);
		left->begun = i + 1;
		atomic_signal_fence(memory_order_seq_cst);
		(void)add(&t, value_at(i), &left->undo, &result);
		atomic_signal_fence(memory_order_seq_cst);
		left->done = i + 1;
		atomic_signal_fence(memory_order_seq_cst);
	}
	_exit(0);
}

/* The next process: the value that was not done is undone, and counts once. Returns whether the
 * window was emptied. */
static bool continues(struct left *l)
{
	const struct bp_window_table t = table_in(l);
	unsigned emptied = 0;
	struct bp_window_view v;
	double result;

	if (l->begun > l->done)
		emptied += !bp_window_undo(&t, &l->undo, 0);
	emptied += (unsigned)bp_window_recover(&t, 0, 1);
	assert_true(emptied <= 1);
	if (!bp_window_find(&t, &rule, 1, &v))
		v.n = 0;
	assert_int_equal(v.n, emptied ? 0 : l->done);
	(void)add(&t, value_at(l->done), NULL, &result);
	assert_true(bp_window_find(&t, &rule, 1, &v));
	assert_int_equal(v.n, emptied ? 1 : l->done + 1);
	return emptied != 0;
}

static void killed_after_each_store(void **state)
{
	unsigned kills = 0, emptied = 0;
	struct left *seen, *copy;
	int status;
	pid_t pid;

	(void)state;
	if (TEST_SANITIZED)
		return;
	open_table(296);
	set_rule(5, 50, false);
	rule.window.time_ns = BP_WINDOW_PANES * PANE;
	left_size = (sizeof(*left) + BP_WINDOW_WAYS * table.stride + 63) / 64 * 64;
	left = mmap(NULL, left_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	seen = aligned_alloc(64, left_size);
	copy = aligned_alloc(64, left_size);
	assert_true(left != MAP_FAILED && seen != NULL && copy != NULL);
	memset(seen, 0, left_size);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child();
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (memcmp(seen, left, left_size) != 0 && left->done < KILLED_VALUES) {
			memcpy(seen, left, left_size);
			memcpy(copy, left, left_size);
			emptied += continues(copy);
			kills++;
		}
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			break;
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(left->done, KILLED_VALUES);
	assert_true(kills > 10 * KILLED_VALUES);
	assert_true(emptied > 0 && emptied < kills / 4); /* while classes are made coarser */
	free(seen);
	free(copy);
	munmap(left, left_size);
	close_table();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_error_is_that_of_7_bits),
		cmocka_unit_test(values_of_many_magnitudes_have_a_larger_error),
		cmocka_unit_test(the_error_becomes_small_again),
		cmocka_unit_test(extreme_values),
		cmocka_unit_test(a_tumbling_window_has_the_result_of_its_values),
		cmocka_unit_test(a_period_has_its_values_after_an_undo),
		cmocka_unit_test(cells_that_are_too_small_are_refused),
		cmocka_unit_test(damaged_cells_are_bounded),
		cmocka_unit_test(killed_after_each_store),
	};

	return cmocka_run_group_tests_name("window_classes", tests, NULL, NULL);
}
