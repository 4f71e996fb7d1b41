/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_WORDS_H
#define BP_SHM_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Copies of data that the writer may be changing while `show` reads it; a state word in the same
 * structure shows whether the copy is consistent. Word by word and atomic, as C requires of memory
 * that two threads use. The side in the segment is 4-byte aligned; n is in bytes, a multiple of 4.
 */
static inline void bp_words_store(void *segment, const void *from, size_t n)
{
	uint32_t *to = segment, word;

	for (size_t i = 0; i < n / 4; i++) {
		memcpy(&word, (const char *)from + 4 * i, 4);
		__atomic_store_n(to + i, word, __ATOMIC_RELAXED);
	}
}

static inline void bp_words_load(void *to, const void *segment, size_t n)
{
	const uint32_t *from = segment;

	for (size_t i = 0; i < n / 4; i++) {
		uint32_t word = __atomic_load_n(from + i, __ATOMIC_RELAXED);

		memcpy((char *)to + 4 * i, &word, 4);
	}
}

/* For the writer of `segment`: whether it holds these bytes. Padding counts, so both sides must be
 * zeroed before their members are set. */
static inline bool bp_words_same(const void *segment, const void *with, size_t n)
{
	return memcmp(segment, with, n) == 0;
}

#endif
