/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/health/phd_status.h"
#include "tests/unit/shm/test.h"

static void every_word_has_a_name_a_group_and_help(void **state)
{
	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++) {
		const struct bp_phd_status_info *w = &bp_phd_status_info[i];

		assert_non_null(w->name);
		assert_int_not_equal(strlen(w->name), 0);
		assert_int_equal(strspn(w->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(w->name));
		assert_non_null(w->help);
		assert_int_not_equal(strlen(w->help), 0);
		assert_int_equal(strcspn(w->help, "\n|"), strlen(w->help)); /* of a table's cell */
		assert_true(w->group < BP_PHD_SG_COUNT);
		for (unsigned k = 0; k < i; k++) {
			if (bp_phd_status_info[k].group == w->group)
				assert_string_not_equal(w->name, bp_phd_status_info[k].name);
		}
	}
}

/* The groups are parts of the list, in their order: `show` begins a line at each. */
static void groups_have_names_and_are_together(void **state)
{
	unsigned members[BP_PHD_SG_COUNT] = {0};

	for (unsigned i = 0; i < BP_PHD_S_COUNT; i++) {
		members[bp_phd_status_info[i].group]++;
		if (i > 0)
			assert_true(bp_phd_status_info[i].group >= bp_phd_status_info[i - 1].group);
	}
	for (unsigned g = 0; g < BP_PHD_SG_COUNT; g++) {
		assert_non_null(bp_phd_status_group_name[g]);
		assert_true(members[g] > 0);
		for (unsigned k = 0; k < g; k++)
			assert_string_not_equal(
				bp_phd_status_group_name[g], bp_phd_status_group_name[k]);
	}
}

static void indices_are_those_of_the_list(void **state)
{
	assert_string_equal(bp_phd_status_info[BP_PHD_S_OPEN].name, "open");
	assert_int_equal(bp_phd_status_info[BP_PHD_S_OPEN].kind, BP_PHD_SK_NOW);
	assert_string_equal(bp_phd_status_info[BP_PHD_S_TCP_IDLE].name, "idle");
	assert_int_equal(bp_phd_status_info[BP_PHD_S_TCP_IDLE].group, BP_PHD_SG_TCP);
	assert_int_equal(bp_phd_status_info[BP_PHD_S_TCP_IDLE].kind, BP_PHD_SK_TOTAL);
	assert_int_equal(BP_PHD_S_TCP_IDLE, BP_PHD_S_COUNT - 1);
	assert_string_equal(bp_phd_status_group_name[BP_PHD_SG_PROVISIONING], "provisioning");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_word_has_a_name_a_group_and_help),
		cmocka_unit_test(groups_have_names_and_are_together),
		cmocka_unit_test(indices_are_those_of_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
