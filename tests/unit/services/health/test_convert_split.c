/* SPDX-License-Identifier: BSD-3-Clause */
/* A report that is one instance, and longer than a message: as several lists. */
#include "tests/unit/services/health/rig.h"

#include <jansson.h>

/* A fixed report of configuration 400: n observations, with values 1, 2, 3..., each third of an
 * object that is not known. In a block of exactly its size. */
static uint8_t *make(unsigned n, size_t *len)
{
	const size_t list = 6 * (size_t)n;
	uint8_t *p = malloc(30 + list);
	const uint16_t words[15] = {0xe700, (uint16_t)(26 + list), (uint16_t)(24 + list), 0x1234,
		0x0101, (uint16_t)(18 + list), 0, 0xffff, 0xffff, 0x0d1d, (uint16_t)(8 + list),
		0xf000, 7, (uint16_t)n, (uint16_t)list};

	assert_non_null(p);
	*len = 30 + list;
	for (unsigned i = 0; i < 15 + 3 * n; i++) {
		const unsigned k = (i - 15) / 3, of_three = (i - 15) % 3;
		const uint16_t entry = of_three == 0
					       ? (uint16_t)(k % 3 == 0 ? 1 : (k % 3 == 1 ? 10 : 77))
					       : (uint16_t)(of_three == 1 ? 2 : k + 1);
		const uint16_t word = i < 15 ? words[i] : entry;

		p[2 * i] = (uint8_t)(word >> 8);
		p[2 * i + 1] = (uint8_t)word;
	}
	return p;
}

/* Reads the list of one request; the value that is expected next, after it. */
static unsigned read_list(const uint8_t *message, size_t len, unsigned value)
{
	char *con = rig_content(message, len);
	json_t *list, *member;
	size_t i;

	assert_non_null(con);
	list = json_loads(con, 0, NULL);
	assert_true(json_is_array(list) && json_array_size(list) > 0);
	json_array_foreach(list, i, member)
	{
		assert_int_equal(json_integer_value(json_object_get(member, "v")), value);
		assert_string_equal(json_string_value(json_object_get(member, "o")),
			value % 3 == 1 ? "spo2" : "pulse_rate");
		value += value % 3 == 1 ? 1 : 2;
	}
	json_decref(list);
	free(con);
	return value;
}

/* The two digits of the part at the end of a name of 22. */
static unsigned part_named(const uint8_t *message, size_t len)
{
	const char *p = memmem(message, len, "\"rn\":\"", 6);
	char digits[3] = "";

	assert_non_null(p);
	memcpy(digits, p + 6 + 20, 2);
	return (unsigned)strtoul(digits, NULL, 16);
}

static void every_value_once(unsigned n, uint32_t max_message, unsigned at_least)
{
	struct bp_phd_settings plan = rig_plan;
	struct bp_phd_conversion c;
	struct bp_phd_layout *l;
	unsigned first = 0, value = 1;
	size_t len;
	uint8_t *apdu = make(n, &len);

	plan.per_report = 1;
	plan.max_message = max_message;
	l = rig_compile(&rig_400, &plan, &rig_target, "pulse_oximeter");
	assert_int_equal(bp_phd_convert_plan(l, &plan, apdu, len, &c), BP_PHD_SLOW);
	do {
		assert_int_equal(
			bp_phd_convert_plan_from(l, &plan, apdu, len, first, &c), BP_PHD_CONVERT);
		assert_true(c.parts > 0 && c.parts <= 32 && c.first_part == first);
		for (unsigned i = 0; i < c.parts; i++) {
			const struct bp_phd_identity id = rig_identity(i);
			uint8_t *out = malloc(c.part[i].len);
			size_t wrote;

			assert_non_null(out);
			wrote = bp_phd_convert_write(
				l, &plan, apdu, &c, i, &id, out, c.part[i].len);
			assert_true(wrote > 0 && wrote <= max_message);
			assert_int_equal(part_named(out, wrote), first + i);
			value = read_list(out, wrote, value);
			free(out);
		}
		first += c.parts;
	} while (first < c.total);
	assert_int_equal(first, c.total);
	assert_true(c.total >= at_least);
	assert_true(value > n - 2);
	assert_int_equal(bp_phd_convert_plan_from(l, &plan, apdu, len, c.total, &c), BP_PHD_SLOW);
	free(apdu);
	free(l);
}

static void several_lists(void **state)
{
	(void)state;
	every_value_once(60, 1024, 2);
	every_value_once(300, 1024, 5);
	every_value_once(60, 400, 10);
	every_value_once(300, 400, 33); /* more than one plan has room for */
}

/* It fits: one list, normally. */
static void as_one(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct bp_phd_conversion c;
	struct bp_phd_layout *l;
	size_t len;
	uint8_t *apdu = make(5, &len);

	(void)state;
	plan.per_report = 1;
	l = rig_compile(&rig_400, &plan, &rig_target, "pulse_oximeter");
	assert_int_equal(bp_phd_convert_plan_from(l, &plan, apdu, len, 0, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 1);
	assert_int_equal(c.total, 1);
	assert_int_equal(c.part[0].n, 4);
	free(apdu);
	free(l);
}

/* One observation alone is too long; or there are too many lists for the names. */
static void unsplittable_report(void **state)
{
	struct bp_phd_settings plan = rig_plan;
	struct bp_phd_conversion c;
	struct bp_phd_layout *l;
	size_t len;
	uint8_t *apdu = make(900, &len);

	(void)state;
	plan.per_report = 1;
	plan.max_message = 150;
	l = rig_compile(&rig_400, &plan, &rig_target, "pulse_oximeter");
	assert_int_equal(bp_phd_convert_plan_from(l, &plan, apdu, len, 0, &c), BP_PHD_SLOW);
	/* 600 observations: the shortest message with which there are no more than 256 lists */
	while (bp_phd_convert_plan_from(l, &plan, apdu, len, 0, &c) == BP_PHD_SLOW)
		plan.max_message++;
	assert_true(c.total <= 256 && c.total > 128);
	assert_true(c.part[0].n >= 3);
	free(apdu);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_lists),
		cmocka_unit_test(as_one),
		cmocka_unit_test(unsplittable_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
