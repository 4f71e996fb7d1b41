/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_DATAPLANE_TEST_H
#define BP_TESTS_UNIT_DATAPLANE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
