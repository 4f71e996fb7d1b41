/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "services/health/decode.h"

/* Each entry is the decimal that the sixteen bits mean, by the standard's words: a mantissa of
 * twelve bits and an exponent of ten of four, both in two's complement; five mantissas are none. */
static void every_number(void **state)
{
	(void)state;
	assert_null(bp_phd_sfloats);
	bp_phd_sfloat_prepare();
	assert_non_null(bp_phd_sfloats);
	for (unsigned v = 0; v <= UINT16_MAX; v++) {
		const struct bp_phd_sfloat *e = &bp_phd_sfloats[v];
		int mantissa = (int)(v & 0xfff), exponent = (int)(v >> 12);
		char text[16] = "", *end;
		double expected;

		if (exponent == 0 && mantissa >= 0x7fe && mantissa <= 0x802) {
			assert_int_equal(e->len, 0);
			continue;
		}
		mantissa -= mantissa >= 0x800 ? 0x1000 : 0;
		exponent -= exponent >= 8 ? 16 : 0;
		assert_in_range(e->len, 1, sizeof(e->text));
		memcpy(text, e->text, e->len);
		expected =
			exponent < 0 ? mantissa / pow(10, -exponent) : mantissa * pow(10, exponent);
		/* the nearest double of a decimal of so few digits is the same from either side */
		assert_true(strtod(text, &end) == expected);
		assert_int_equal(end - text, e->len);
		assert_int_equal(strspn(text, "-.0123456789"), e->len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_number)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
