/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/bench/kunze2021/kunze2021_test.h"
#include "tests/unit/services/transform/fixture.h"

#include "proto/net/frame.h"

static json_t *fixture;

/* The matrix of that name out of the loader's message; NULL: "none". */
static const double *matrix_of(const char *name)
{
	static double m[12];
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], address[4];
	json_t *each;
	size_t i;

	json_array_foreach(json_object_get(fixture, "matrix_messages"), i,
		each) if (strcmp(json_string_value(json_object_get(each, "name")), name) == 0)
	{
		assert_int_equal(
			fixture_unhex(each, "hex", message, sizeof(message)), sizeof(message));
		bp_transform_loader_read(message, address, m);
		return m;
	}
	assert_string_equal(name, "none");
	return NULL;
}

/* Every vector of that method, bit by bit; the results as the paper's packet holds them. */
static void agree(const char *method, const struct bp_transform_ops *expected)
{
	unsigned n = 0;
	json_t *each;
	size_t i;

	char name[32];

	snprintf(name, sizeof(name), "kunze2021_%s", method);
	assert_ptr_equal(bench_kunze2021_find(name), expected);
	json_array_foreach(json_object_get(fixture, "vectors"), i, each)
	{
		const double *m = matrix_of(json_string_value(json_object_get(each, "matrix")));
		uint8_t request[40], response[12];
		double reading[3], out[3];

		if (strcmp(json_string_value(json_object_get(each, "method")), method) != 0)
			continue;
		assert_int_equal(fixture_unhex(each, "request_hex", request, 40), 40);
		assert_int_equal(fixture_unhex(each, "response_hex_xyz", response, 12), 12);
		reading[0] = (int32_t)bp_be32(request) / ONE;
		reading[1] = bp_be32(request + 4) / ONE;
		reading[2] = bp_be32(request + 8) / ONE;
		transform_one(expected, reading, m, out);
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(
				lrint(out[k] * ONE), (int32_t)bp_be32(response + 4 * (size_t)k));
		n++;
	}
	assert_int_equal(n, 36);
}

static void default_build(void **state)
{
	agree("chebyshev", &bench_kunze2021_chebyshev);
}

static void exact_build(void **state)
{
	agree("userspace", &bench_kunze2021_userspace);
}

static void methods_are_found_by_name(void **state)
{
	static const char *const name[BENCH_KUNZE2021_METHODS] = {"kunze2021_large",
		"kunze2021_medium", "kunze2021_small", "kunze2021_chebyshev",
		"kunze2021_userspace"};

	for (unsigned i = 0; i < BENCH_KUNZE2021_METHODS; i++) {
		assert_ptr_equal(bench_kunze2021_find(name[i]), bench_kunze2021(i));
		assert_true(strlen(bench_kunze2021(i)->how) > 0);
	}
	assert_null(bench_kunze2021_find("vector"));
	assert_null(bench_kunze2021_find(""));
}

static int up(void **state)
{
	fixture = fixture_load();
	return kunze2021_up(state);
}

static int down(void **state)
{
	json_decref(fixture);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_found_by_name),
		cmocka_unit_test(default_build),
		cmocka_unit_test(exact_build),
	};

	return cmocka_run_group_tests(tests, up, down);
}
