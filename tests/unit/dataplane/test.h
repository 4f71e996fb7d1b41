/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TEST_DATAPLANE_H
#define BP_TEST_DATAPLANE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
