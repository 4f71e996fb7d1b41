/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_TEXT_ADDRESS_H
#define BP_TESTS_UNIT_TEXT_ADDRESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "biplane/fib.h"

/* An address of either family, as text has it. */
static inline struct bp_address address(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') ? 6 : 4};

	assert_int_equal(inet_pton(a.family == 6 ? AF_INET6 : AF_INET, text, a.bytes), 1);
	return a;
}

#endif
