/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/counters.h"
#include "test.h"

static void every_counter_has_a_name_a_group_and_help(void **state)
{
	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const struct bp_counter_info *c = &bp_counter_info[i];

		assert_non_null(c->name);
		assert_int_not_equal(strlen(c->name), 0);
		assert_non_null(c->help);
		assert_int_not_equal(strlen(c->help), 0);
		assert_null(strchr(c->help, '\n'));
		assert_true(c->group < BP_CG_COUNT);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(c->name, bp_counter_info[k].name);
	}
}

static void every_group_has_a_name_and_a_counter(void **state)
{
	unsigned members[BP_CG_COUNT] = {0};

	for (unsigned i = 0; i < BP_C_COUNT; i++)
		members[bp_counter_info[i].group]++;
	for (unsigned g = 0; g < BP_CG_COUNT; g++) {
		assert_non_null(bp_counter_group_name[g]);
		assert_true(members[g] > 0);
		for (unsigned k = 0; k < g; k++)
			assert_string_not_equal(bp_counter_group_name[g], bp_counter_group_name[k]);
	}
}

static void indices_are_those_of_the_list(void **state)
{
	assert_string_equal(bp_counter_info[BP_C_FLOOD_COPY].name, "flood_copy");
	assert_int_equal(bp_counter_info[BP_C_FLOOD_COPY].group, BP_CG_MADE);
	assert_string_equal(bp_counter_info[BP_C_DROP_FLUSHED].name, "flushed");
	assert_string_equal(bp_counter_group_name[BP_CG_DROP], "drop");
	assert_string_equal(bp_counter_group_name[BP_CG_ALARM], "alarm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_has_a_name_a_group_and_help),
		cmocka_unit_test(every_group_has_a_name_and_a_counter),
		cmocka_unit_test(indices_are_those_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
