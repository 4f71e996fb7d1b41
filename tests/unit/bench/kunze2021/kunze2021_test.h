/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_BENCH_KUNZE2021_TEST_H
#define TESTS_BENCH_KUNZE2021_TEST_H

#include "bench/transform/kunze2021.h"
#include "tests/unit/services/transform/points.h"

static inline int kunze2021_up(void **state)
{
	bench_kunze2021_init();
	return methods_up(state);
}

#endif
