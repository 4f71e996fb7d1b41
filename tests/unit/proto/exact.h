/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_EXACT_H
#define BP_TESTS_UNIT_PROTO_EXACT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A copy in a block of exactly that size, so that AddressSanitizer sees one byte read too many. */
static inline uint8_t *exact_copy(const void *bytes, size_t len)
{
	uint8_t *p = malloc(len); /* NOLINT(*UnixAPI): no byte of 0 may be read either */

	if (len != 0) {
		assert_non_null(p);
		memcpy(p, bytes, len);
	}
	return p;
}

/* xorshift64: the same numbers in every run. */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif
