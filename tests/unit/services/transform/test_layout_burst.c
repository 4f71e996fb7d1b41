/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/transform/random_number.h"

#include "tests/unit/times.h"
#include "services/transform/layout.h"

/*
 * The paper's numbers of a burst, each way that this processor has, against the same layout read
 * and written by its fields.
 */
static uint64_t seed = 8191;

static struct bp_transform_layout by_fields(unsigned at)
{
	struct bp_transform_layout l = bp_transform_layout_kunze2021;

	for (unsigned c = 0; c < 3; c++) {
		l.in[c].offset = (uint16_t)(l.in[c].offset + at);
		l.out[c].offset = (uint16_t)(l.out[c].offset + at);
	}
	l.length = (uint16_t)(at + 24); /* minimum length: no read after its end */
	l.kunze2021 = false;
	return l;
}

static void random_payload(uint8_t *p, unsigned len)
{
	static const uint8_t ends[] = {0, 0x7f, 0x80, 0xff};

	for (unsigned i = 0; i < len; i++)
		p[i] = next_random(&seed) % 4 ? (uint8_t)(next_random(&seed) >> 8)
					      : ends[next_random(&seed) % 4];
}

static void reads_the_same(const struct bp_transform_kunze2021_ops *way, unsigned n, unsigned at)
{
	static struct bp_transform_points slow, quick;
	const struct bp_transform_layout l = by_fields(at);
	uint8_t *payload[BP_TRANSFORM_BURST], bad[BP_TRANSFORM_BURST], bytes[128];

	for (unsigned i = 0; i < n; i++) {
		random_payload(bytes, l.length);
		payload[i] = exact_copy(bytes, l.length);
	}
	memset(&slow, 0xff, sizeof(slow));
	memset(&quick, 0xff, sizeof(quick));
	assert_true(bp_transform_layout_read_all(
			    &l, (const uint8_t *const *)payload, n, &slow, bad) == 0);
	way->read((const uint8_t *const *)payload, at, n, &quick);
	assert_memory_equal(&slow, &quick, sizeof(slow)); /* also the elements after n */
	for (unsigned i = 0; i < n; i++)
		free(payload[i]);
}

static bool writes_the_same(const struct bp_transform_kunze2021_ops *way, unsigned n, unsigned at)
{
	static struct bp_transform_points p;
	const struct bp_transform_layout l = by_fields(at);
	uint8_t *slow[BP_TRANSFORM_BURST], *quick[BP_TRANSFORM_BURST], bytes[128];
	uint8_t slow_saturated[BP_TRANSFORM_BURST], quick_saturated[BP_TRANSFORM_BURST + 1];
	const bool wild = next_random(&seed) % 4 == 0;
	uint64_t any;

	for (unsigned i = 0; i < n; i++) {
		random_payload(bytes, l.length);
		slow[i] = exact_copy(bytes, l.length);
		quick[i] = exact_copy(bytes, l.length);
		for (unsigned c = 0; c < 3; c++)
			p.v[c][i] = wild ? random_number(&seed, 25)
					 : (double)(int64_t)next_random(&seed) * 0x1p-58;
	}
	memset(quick_saturated, 0xee, sizeof(quick_saturated));
	any = bp_transform_layout_write_all(&l, slow, n, &p, slow_saturated);
	assert_true(way->write(quick, at + 12, n, &p, quick_saturated) == any);
	assert_memory_equal(slow_saturated, quick_saturated, n);
	assert_int_equal(quick_saturated[n], 0xee);
	for (unsigned i = 0; i < n; i++) {
		assert_memory_equal(slow[i], quick[i], l.length);
		free(slow[i]);
		free(quick[i]);
	}
	return any != 0;
}

static void all_variants_agree(void **state)
{
	unsigned ways = 0, with_any = 0, rounds = 0;

	for (unsigned width = 4; width <= 8; width += 4) {
		const struct bp_transform_kunze2021_ops *way = bp_transform_kunze2021_ops(width);

		if (way == NULL)
			continue;
		ways++;
		for (unsigned round = 0; round < TEST_TIMES(100); round++)
			for (unsigned n = 0; n <= BP_TRANSFORM_BURST; n++) {
				const unsigned at = (unsigned)(next_random(&seed) % 40);

				reads_the_same(way, n, at);
				with_any += writes_the_same(way, n, at);
				rounds++;
			}
	}
	assert_true(ways >= 1);
	/* both the default step and the one with numbers beyond the range */
	assert_true(with_any > rounds / 10 && with_any < rounds / 2);
	assert_null(bp_transform_kunze2021_ops(16));
}

/* Each place and coordinate alone, since whole steps are checked together. */
static void one_field_out_of_range(void **state)
{
	static const double beyond[] = {64, -64.1, NAN, INFINITY, -INFINITY};
	static struct bp_transform_points p;
	uint8_t bytes[BP_TRANSFORM_BURST][12], saturated[BP_TRANSFORM_BURST];
	uint8_t *payload[BP_TRANSFORM_BURST];

	for (unsigned i = 0; i < BP_TRANSFORM_BURST; i++)
		payload[i] = bytes[i];
	for (unsigned width = 4; width <= 8; width += 4) {
		const struct bp_transform_kunze2021_ops *way = bp_transform_kunze2021_ops(width);

		for (unsigned k = 0; way != NULL && k < 5 * 3 * BP_TRANSFORM_BURST; k++) {
			const unsigned i = k % BP_TRANSFORM_BURST, c = k / BP_TRANSFORM_BURST % 3;

			p.v[c][i] = beyond[k / (3 * BP_TRANSFORM_BURST)];
			assert_true(way->write(payload, 0, BP_TRANSFORM_BURST, &p, saturated) ==
				    (uint64_t)1 << i);
			for (unsigned j = 0; j < BP_TRANSFORM_BURST; j++)
				assert_int_equal(saturated[j], j == i ? 1u << c : 0);
			p.v[c][i] = 0;
		}
	}
}

/* Compares a layout with the functions that workers call. */
static void kunze2021_layouts_in_a_burst(void **state)
{
	static struct bp_transform_points p;
	uint8_t bytes[BP_TRANSFORM_BURST][57], bad[BP_TRANSFORM_BURST];
	uint8_t saturated[BP_TRANSFORM_BURST], *payload[BP_TRANSFORM_BURST];
	const struct bp_transform_layout *l = &bp_transform_layout_kunze2021_timed;
	const uint8_t beyond[12] = {0x7f, 0xff, 0xff, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 1};

	for (unsigned i = 0; i < BP_TRANSFORM_BURST; i++) {
		memset(bytes[i], 0xcc, sizeof(bytes[i]));
		payload[i] = bytes[i];
		memset(bytes[i] + 17, 0xff, 12);
		bytes[i][20] = (uint8_t)i;
	}
	assert_true(
		bp_transform_layout_read_all(l, (const uint8_t *const *)payload, 10, &p, bad) == 0);
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(bad[i], BP_TRANSFORM_GOOD);
		assert_true(p.v[0][i] == ((double)i - 256) * 0x1p-25);
		assert_true(p.v[1][i] == 128 - 0x1p-25 && p.v[2][i] == 128 - 0x1p-25);
	}
	assert_true(p.v[0][10] == 0 && p.v[0][15] == 0);
	p.v[0][9] = 64;
	p.v[1][9] = -65;
	p.v[2][9] = 0x1p-25;
	assert_true(bp_transform_layout_write_all(l, payload, 10, &p, saturated) == 0x3ff);
	assert_int_equal(saturated[9], 3);
	assert_memory_equal(bytes[9] + 29, beyond, 12);
	assert_int_equal(bytes[9][28], 0xff);
	assert_int_equal(bytes[9][41], 0xcc);
	assert_int_equal(bytes[10][29], 0xcc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_variants_agree),
		cmocka_unit_test(one_field_out_of_range),
		cmocka_unit_test(kunze2021_layouts_in_a_burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
