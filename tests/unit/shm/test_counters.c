/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "biplane/service_counters.h"
#include "test.h"

static void every_counter_has_a_name_a_group_and_help(void **state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const struct bp_counter_info *c = &bp_counter_info[i];

		if (c->name == NULL)
			continue;
		n++;
		assert_int_not_equal(strlen(c->name), 0);
		assert_non_null(c->help);
		assert_int_not_equal(strlen(c->help), 0);
		assert_null(strchr(c->help, '\n'));
		assert_true(c->group < BP_CG_COUNT);
		assert_non_null(bp_counter_group_info[c->group].name);
		for (unsigned k = 0; k < i; k++)
			if (bp_counter_info[k].name != NULL)
				assert_string_not_equal(c->name, bp_counter_info[k].name);
	}
	assert_true(n > 300);
}

static void every_group_has_a_name_and_a_counter(void **state)
{
	unsigned members[BP_CG_COUNT] = {0};

	for (unsigned i = 0; i < BP_C_COUNT; i++)
		members[bp_counter_info[i].group] += bp_counter_info[i].name != NULL;
	for (unsigned g = 0; g < BP_CG_COUNT; g++) {
		const struct bp_counter_group_info *group = &bp_counter_group_info[g];

		assert_int_equal(group->name != NULL, members[g] > 0);
		if (group->name == NULL)
			continue;
		assert_non_null(group->text);
		for (unsigned k = 0; k < g; k++)
			if (bp_counter_group_info[k].name != NULL)
				assert_string_not_equal(group->name, bp_counter_group_info[k].name);
	}
}

/* A group of one service has counters of that service alone; all lists share the general groups. */
static void list_values_are_in_range(void **state)
{
	for (unsigned i = 0; i < BP_C_COUNT; i++) {
		const unsigned range = bp_counter_info[i].group / BP_COUNTER_GROUPS_PER_RANGE;

		assert_true(range == 0 || range == i / BP_COUNTERS_PER_RANGE);
	}
	assert_int_equal(BP_C_FLOOD_COPY, 0);
	assert_int_equal(BP_C_MIRROR_FRAME, (1 + BP_SERVICE_MQTT) * BP_COUNTERS_PER_RANGE);
	assert_int_equal(BP_CG_LCL, (1 + BP_SERVICE_LCL) * BP_COUNTER_GROUPS_PER_RANGE);
}

static void indices_are_those_of_the_list(void **state)
{
	assert_string_equal(bp_counter_info[BP_C_FLOOD_COPY].name, "flood_copy");
	assert_int_equal(bp_counter_info[BP_C_FLOOD_COPY].group, BP_CG_ORIGINATED);
	assert_string_equal(
		bp_counter_info[BP_C_DROP_DRAINED_AT_SHUTDOWN].name, "drained_at_shutdown");
	assert_string_equal(bp_counter_group_info[BP_CG_DROP].name, "drop");
	assert_string_equal(bp_counter_group_info[BP_CG_ALARM].name, "alarm");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_has_a_name_a_group_and_help),
		cmocka_unit_test(every_group_has_a_name_and_a_counter),
		cmocka_unit_test(list_values_are_in_range),
		cmocka_unit_test(indices_are_those_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
