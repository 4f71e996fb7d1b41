/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/points.h"
#include "tests/unit/services/transform/fixture.h"

static void rows_and_columns(void **state)
{
	const double row[3][4] = {{1, 2, 3, 10}, {4, 5, 6, 11}, {7, 8, 9, 12}};
	const double column[12] = {1, 4, 7, 2, 5, 8, 3, 6, 9, 10, 11, 12};
	double m[12], back[3][4];

	bp_transform_matrix_from_rows(row, m);
	assert_memory_equal(m, column, sizeof(m));
	bp_transform_matrix_to_rows(m, back);
	assert_memory_equal(back, row, sizeof(back));
}

static void identity_matrix_is_valid(void **state)
{
	const double row[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
	double m[12];

	bp_transform_matrix_from_rows(row, m);
	assert_memory_equal(m, bp_transform_identity, sizeof(m));
	assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_OK);
}

/* The authors' messages: as JSON has the rows, and back byte by byte. */
static void loader_messages(void **state)
{
	json_t *fixture = fixture_load(), *each;
	size_t i;

	assert_int_equal(json_array_size(json_object_get(fixture, "matrix_messages")), 3);
	json_array_foreach(json_object_get(fixture, "matrix_messages"), i, each)
	{
		json_t *rows = json_object_get(each, "row_major_3x4");
		uint8_t message[BP_TRANSFORM_LOADER_MESSAGE + 1],
			again[BP_TRANSFORM_LOADER_MESSAGE], address[4];
		double m[12], row[3][4];

		assert_int_equal(fixture_unhex(each, "hex", message, sizeof(message)),
			BP_TRANSFORM_LOADER_MESSAGE);
		bp_transform_loader_read(message, address, m);
		assert_memory_equal(address, ((uint8_t[]){127, 0, 0, 1}), 4);
		bp_transform_matrix_to_rows(m, row);
		for (unsigned k = 0; k < 12; k++)
			assert_true(
				row[k / 4][k % 4] == json_number_value(json_array_get(rows, k)));
		assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_OK);
		bp_transform_loader_write(again, address, m);
		assert_memory_equal(again, message, sizeof(again));
	}
	json_decref(fixture);
}

/* A NaN comes through, for the check to find. */
static void loader_any_bits(void **state)
{
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE], again[BP_TRANSFORM_LOADER_MESSAGE],
		address[4];
	double m[12];

	for (unsigned i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)(255 - i);
	memset(message + 4 + 8 * 4, 0xff, 8);
	bp_transform_loader_read(message, address, m);
	bp_transform_loader_write(again, address, m);
	assert_memory_equal(again, message, sizeof(again));
	assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_NOT_FINITE);
}

static enum bp_transform_matrix_fault with(unsigned place, double value)
{
	double m[12];

	memcpy(m, bp_transform_identity, sizeof(m));
	m[place] = value;
	return bp_transform_matrix_check(m);
}

static void not_finite(void **state)
{
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(with(i, NAN), BP_TRANSFORM_MATRIX_NOT_FINITE);
		assert_int_equal(with(i, INFINITY), BP_TRANSFORM_MATRIX_NOT_FINITE);
		assert_int_equal(with(i, -INFINITY), BP_TRANSFORM_MATRIX_NOT_FINITE);
	}
}

static void large_matrices_are_rejected(void **state)
{
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(with(i, 0x1p31), BP_TRANSFORM_MATRIX_LARGE);
		assert_int_equal(with(i, -0x1p31), BP_TRANSFORM_MATRIX_LARGE);
		assert_int_equal(with(i, 1e308), BP_TRANSFORM_MATRIX_LARGE);
	}
	for (unsigned i = 9; i < 12; i++)
		assert_int_equal(with(i, nextafter(0x1p31, 0)), BP_TRANSFORM_MATRIX_OK);
	assert_int_equal(with(0, nextafter(0x1p31, 0)), BP_TRANSFORM_MATRIX_OK);
}

static void singular_matrices_are_rejected(void **state)
{
	const double flat[3][4] = {{1, 2, 3, 0}, {2, 4, 6, 0}, {0, 1, 5, 0}};
	double m[12];

	for (unsigned c = 0; c < 3; c++) /* a column of nothing */
		assert_int_equal(with(4 * c, 0), BP_TRANSFORM_MATRIX_SINGULAR);
	bp_transform_matrix_from_rows(flat, m);
	assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_SINGULAR);
	/* Small is not flat: millimetres to kilometres, and less than doubles can square. */
	for (double scale = 1; scale > 1e-300; scale *= 1e-3) {
		for (unsigned i = 0; i < 12; i++)
			m[i] = bp_transform_identity[i] * scale;
		assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_OK);
	}
	/* Two axes that are nearly one: the angle between them is the measure. */
	memcpy(m, bp_transform_identity, sizeof(m));
	m[3] = 1;
	m[4] = 2e-9;
	assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_OK);
	m[4] = 0.5e-9;
	assert_int_equal(bp_transform_matrix_check(m), BP_TRANSFORM_MATRIX_SINGULAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_and_columns),
		cmocka_unit_test(identity_matrix_is_valid),
		cmocka_unit_test(loader_messages),
		cmocka_unit_test(loader_any_bits),
		cmocka_unit_test(not_finite),
		cmocka_unit_test(large_matrices_are_rejected),
		cmocka_unit_test(singular_matrices_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
