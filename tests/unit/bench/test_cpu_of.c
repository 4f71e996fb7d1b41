/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/harness/cpu_of.h"

static void adds_processes_by_name(void **state)
{
	struct bench_cpu c = {0};

	(void)state;
	assert_int_equal(bench_cpu_add(&c, "broker=12"), 0);
	assert_int_equal(bench_cpu_add(&c, "biplane=1,22,333"), 0);
	assert_int_equal(c.n_names, 2);
	assert_string_equal(c.of[0].name, "broker");
	assert_int_equal(c.of[0].n, 1);
	assert_int_equal(c.of[0].pid[0], 12);
	assert_string_equal(c.of[1].name, "biplane");
	assert_int_equal(c.of[1].n, 3);
	assert_int_equal(c.of[1].pid[2], 333);
}

static void rejects_invalid_process_list(void **state)
{
	static const char *const bad[] = {"", "broker", "=12", "broker=", "broker=x", "broker=1,",
		"broker=1,,2", "broker=1 2", "broker=-1", "broker=0", "broker=1x",
		"a-name-of-thirty-two-characters-x=1"};
	struct bench_cpu c = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(bench_cpu_add(&c, bad[i]), -1);
	assert_int_equal(c.n_names, 0);
}

static void has_bounds(void **state)
{
	struct bench_cpu c = {0};
	char text[512] = "many=1";
	size_t n = strlen(text);

	(void)state;
	for (unsigned i = 1; i < BENCH_CPU_PROCESSES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, ",%u", i + 1);
	assert_int_equal(bench_cpu_add(&c, text), 0);
	snprintf(text + n, sizeof(text) - n, ",99");
	assert_int_equal(bench_cpu_add(&c, text), -1);
	for (unsigned i = 1; i < BENCH_CPU_NAMES; i++)
		assert_int_equal(bench_cpu_add(&c, "one=1"), 0);
	assert_int_equal(bench_cpu_add(&c, "one=1"), -1);
}

/* Next to those that were named there are the kernel's threads, and this process. */
static void begins_with_this_process(void **state)
{
	struct bench_cpu c = {0};

	(void)state;
	bench_cpu_begin(&c);
	assert_string_equal(c.of[0].name, "softirq");
	assert_string_equal(c.of[1].name, "load");
	assert_int_equal(c.of[1].n, 1);
	assert_true(c.of[1].from_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_processes_by_name),
		cmocka_unit_test(rejects_invalid_process_list),
		cmocka_unit_test(has_bounds),
		cmocka_unit_test(begins_with_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
