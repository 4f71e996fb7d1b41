/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/points.h"

static void methods_are_found_by_name(void **state)
{
	static const char *const name[BP_TRANSFORM_METHODS] = {"vector", "exact"};

	for (int i = 0; i < BP_TRANSFORM_METHODS; i++) {
		assert_int_equal(bp_transform_method_find(name[i]), i);
		assert_string_equal(bp_transform_ops((enum bp_transform_method)i)->name, name[i]);
		assert_true(strlen(bp_transform_ops((enum bp_transform_method)i)->how) > 0);
	}
	assert_int_equal(bp_transform_method_find("Vector"), -1);
	assert_int_equal(bp_transform_method_find("kunze2021_large"), -1);
	assert_int_equal(bp_transform_method_find(""), -1);
}

/* As a benchmark does it. */
static void a_method_can_be_replaced(void **state)
{
	const struct bp_transform_ops *before = bp_transform_ops(BP_TRANSFORM_EXACT);

	bp_transform_method_replace(BP_TRANSFORM_EXACT, bp_transform_vector_ops(2));
	bp_transform_methods_init();
	assert_ptr_equal(bp_transform_ops(BP_TRANSFORM_EXACT), bp_transform_vector_ops(2));
	bp_transform_method_replace(BP_TRANSFORM_EXACT, before);
	assert_ptr_equal(bp_transform_ops(BP_TRANSFORM_EXACT), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_found_by_name),
		cmocka_unit_test(a_method_can_be_replaced),
	};

	return cmocka_run_group_tests(tests, methods_up, NULL);
}
