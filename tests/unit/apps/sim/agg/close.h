/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_APPS_SIM_AGG_CLOSE_H
#define BP_TESTS_UNIT_APPS_SIM_AGG_CLOSE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* That two numbers differ by no more than a share of the second. */
#define assert_close(is, due, share) assert_close_at(is, due, share, #is, __FILE__, __LINE__)

static inline void assert_close_at(
	double is, double due, double share, const char *what, const char *file, int line)
{
	if (fabs(is - due) <= share * fabs(due))
		return;
	print_error("%s is %.9g and not %.9g: %.3f %% away, more than %.3f %%\n", what, is, due,
		100 * fabs(is / due - 1), 100 * share);
	_fail(file, line);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
