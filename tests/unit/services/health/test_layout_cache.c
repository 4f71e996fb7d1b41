/* SPDX-License-Identifier: BSD-3-Clause */
/* A cached layout equals a compiled one. */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

#include "services/health/layout.h"
#include "services/health/manager.h"

static struct bp_phd_model model_of(unsigned id, unsigned code)
{
	struct bp_phd_model m = {.config_id = (uint16_t)id, .n = 2};

	for (unsigned i = 0; i < 2; i++)
		m.object[i] = (struct bp_phd_object_model){.class = 6,
			.handle = (uint16_t)(i + 1),
			.partition = 2,
			.code = (uint16_t)(code + i),
			.unit = 544,
			.n_map = 1,
			.map = {{2636, 2}}};
	m.content = bp_phd_model_content(&m);
	return m;
}

static void assert_compiled(struct bp_phd_layout_cache *c, const struct bp_phd_model *m,
	const struct bp_phd_settings *plan, const struct bp_phd_target *target, const char *type)
{
	struct bp_phd_layout *expected = rig_compile(m, plan, target, type);
	const struct bp_phd_layout *got = bp_phd_layout_cached(c, m, plan, target, type);

	assert_non_null(got);
	assert_int_equal(got->size, expected->size);
	assert_memory_equal((const uint8_t *)got, (const uint8_t *)expected, expected->size);
	free(expected);
}

/* Far more than it has room for, in an order in which each comes again, soon and late. */
static void as_compiled(void **state)
{
	struct bp_phd_layout_cache *c = bp_phd_layout_cache_new();
	const struct bp_phd_target by_type = {"cse-in/{type}/{system_id}/{object}", "Cbiplane"};
	struct bp_phd_settings other = rig_plan, report = rig_plan;

	(void)state;
	assert_non_null(c);
	other.hash = rig_plan.hash + 1;
	report.per_report = 1;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 300; i++) {
			const struct bp_phd_model m = model_of(0x4000 + i % 7, 100 + i);
			char type[BP_PHD_TYPE_TEXT];

			bp_phd_type_text((uint16_t)(4096 + i % 5), type);
			for (unsigned twice = 0; twice < 2; twice++) {
				assert_compiled(c, &m, &rig_plan, &rig_target, type);
				assert_compiled(c, &m, &rig_plan, &by_type, type);
				assert_compiled(c, &m, &report, &rig_target, type);
				assert_compiled(c, &m, &other, &by_type, type);
				assert_compiled(c, &m, &other, &by_type, "unknown");
				assert_compiled(c, &rig_400, &rig_plan, &rig_target, "");
			}
		}
	}
	bp_phd_layout_cache_free(c);
}

/* A device declares what has the hash of another's configuration: each is served by its own. */
static void equal_hashes(void **state)
{
	struct bp_phd_layout_cache *c = bp_phd_layout_cache_new();
	struct bp_phd_model a = model_of(0x4000, 100), b[4];

	(void)state;
	assert_non_null(c);
	b[0] = model_of(0x4000, 200);
	b[1] = model_of(0x4001, 100);
	b[2] = a;
	b[2].n = 1;
	b[3] = a;
	b[3].object[1].map[0].attr = 2636 + 1;
	for (unsigned i = 0; i < 4; i++) {
		b[i].content = a.content;
		assert_compiled(c, &a, &rig_plan, &rig_target, "");
		assert_compiled(c, &b[i], &rig_plan, &rig_target, "");
		assert_compiled(c, &a, &rig_plan, &rig_target, "");
	}
	bp_phd_layout_cache_free(c);
}

/* A model that cannot be compiled has no layout, also after a valid one, and leaks no memory. */
static void invalid_model_has_no_layout(void **state)
{
	struct bp_phd_layout_cache *c = bp_phd_layout_cache_new();
	struct bp_phd_model good = model_of(0x4000, 100), bad = good;

	(void)state;
	assert_non_null(c);
	bad.n = BP_PHD_OBJECTS_MAX + 1;
	assert_compiled(c, &good, &rig_plan, &rig_target, "");
	assert_null(bp_phd_layout_cached(c, &bad, &rig_plan, &rig_target, ""));
	assert_null(bp_phd_layout_cached(c, &bad, &rig_plan, &rig_target, ""));
	assert_compiled(c, &good, &rig_plan, &rig_target, "");
	bp_phd_layout_cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_compiled),
		cmocka_unit_test(equal_hashes),
		cmocka_unit_test(invalid_model_has_no_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
