/* SPDX-License-Identifier: BSD-3-Clause */
/* CPU time and memory that a process has used. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/process_use.h"
#include "test.h"

#define SOME (64u << 20)

static uint64_t cpu_ns(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void use_grows_with_work_and_memory(void **state)
{
	struct bp_process_use before = {0}, after = {0};
	volatile uint8_t *memory;

	(void)state;
	bp_process_use_publish(&before);
	assert_in_range(before.resident_bytes, 1u << 19, 1ull << 40);
	memory = malloc(SOME);
	assert_non_null(memory);
	for (size_t i = 0; i < SOME; i += 4096)
		memory[i] = (uint8_t)i;
	for (const uint64_t begin = cpu_ns(); cpu_ns() < begin + 50000000;)
		;
	bp_process_use_publish(&after);
	assert_int_equal(memory[4096], 4096 & 0xff);
	free((void *)memory);
	assert_true(after.resident_bytes >= before.resident_bytes + SOME / 2);
	/* the kernel accounts time by ticks at the worst, of 10 ms */
	assert_true(after.cpu_ns >= before.cpu_ns + 20000000);
	assert_true(after.cpu_ns <= cpu_ns() + 20000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(use_grows_with_work_and_memory)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
