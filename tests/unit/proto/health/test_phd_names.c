/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <ctype.h>

#include "proto/health/phd_names.h"

static const char *unit_name(uint16_t partition, uint16_t code)
{
	(void)partition;
	return bp_phd_unit_name(code);
}

static const char *type_name(uint16_t partition, uint16_t code)
{
	(void)partition;
	return bp_phd_type_name(code);
}

/* Each has a size, so that an entry out of order, which is not found, is missed. */
static const struct table {
	const char *(*name)(uint16_t partition, uint16_t code);
	uint16_t partition;
	unsigned size;
	bool plain; /* a name of containers */
} tables[] = {
	{bp_phd_object_name, 2, 37, true},
	{bp_phd_object_name, 128, 8, true},
	{bp_phd_object_name, 129, 45, true},
	{bp_phd_object_name, 130, 19, true},
	{bp_phd_object_name, 4, 0, true},
	{unit_name, 4, 38, false},
	{type_name, 8, 30, true},
};

static void names_are_found_and_fit_for_paths_and_json(void **state)
{
	(void)state;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		unsigned found = 0;

		for (unsigned code = 0; code <= UINT16_MAX; code++) {
			const char *name = tables[t].name(tables[t].partition, (uint16_t)code);

			if (name == NULL)
				continue;
			found++;
			assert_in_range(strlen(name), 1, 32);
			for (; *name != '\0'; name++) {
				assert_true(isprint(*name) && *name != '"' && *name != '\\');
				if (tables[t].plain)
					assert_true(
						islower(*name) || isdigit(*name) || *name == '_');
			}
		}
		assert_int_equal(found, tables[t].size);
	}
}

static void well_known_codes_have_their_names(void **state)
{
	(void)state;
	assert_string_equal(bp_phd_object_name(2, 19384), "spo2");
	assert_string_equal(bp_phd_object_name(2, 18458), "pulse_rate");
	assert_string_equal(bp_phd_object_name(2, 18948), "blood_pressure");
	assert_string_equal(bp_phd_object_name(2, 18950), "dia");
	assert_string_equal(bp_phd_object_name(2, 19292), "temperature");
	assert_string_equal(bp_phd_object_name(2, 57664), "weight");
	assert_string_equal(bp_phd_object_name(2, 29112), "glucose");
	assert_string_equal(bp_phd_object_name(129, 103), "distance");
	assert_string_equal(bp_phd_object_name(129, 127), "intensity");
	assert_string_equal(bp_phd_object_name(130, 1), "fall");
	assert_string_equal(bp_phd_object_name(130, 13312), "fixed_dosage");
	assert_null(bp_phd_object_name(2, 103));
	assert_null(bp_phd_object_name(0, 19384));
	assert_string_equal(bp_phd_unit_name(544), "%");
	assert_string_equal(bp_phd_unit_name(2720), "bpm");
	assert_string_equal(bp_phd_unit_name(512), "1");
	assert_string_equal(bp_phd_unit_name(1280), "m");
	assert_string_equal(bp_phd_unit_name(6656), "steps");
	assert_string_equal(bp_phd_unit_name(2208), "min");
	assert_string_equal(bp_phd_unit_name(6784), "cal");
	assert_string_equal(bp_phd_unit_name(1618), "mL");
	assert_string_equal(bp_phd_unit_name(1746), "mg");
	assert_string_equal(bp_phd_type_name(4100), "pulse_oximeter");
	assert_string_equal(bp_phd_type_name(4137), "activity_monitor");
	assert_string_equal(bp_phd_type_name(4167), "hub");
	assert_string_equal(bp_phd_type_name(4168), "medication");
	assert_null(bp_phd_type_name(4101));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_and_fit_for_paths_and_json),
		cmocka_unit_test(well_known_codes_have_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
