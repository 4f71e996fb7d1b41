/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_FUZZ_FUZZ_H
#define BP_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert(), never compiled out, and it says what did not hold. */
#define HOLDS(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,          \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A copy in a block of exactly that size, so that AddressSanitizer sees one byte read too many. */
static inline uint8_t *exact_copy(const uint8_t *bytes, size_t len)
{
	uint8_t *p = malloc(len); /* NOLINT(*UnixAPI): no byte of 0 may be read either */

	if (len != 0) {
		if (p == NULL)
			abort();
		memcpy(p, bytes, len);
	}
	return p;
}

/* Compares bytes where values would not do: 0 and -0 differ, a NaN equals itself, and padding
 * counts. */
static inline bool same_bytes(const void *a, const void *b, size_t len)
{
	return memcmp(a, b, len) == 0;
}

#endif
