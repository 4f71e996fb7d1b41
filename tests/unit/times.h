/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TEST_TIMES_H
#define BP_TEST_TIMES_H

/* How often something random is repeated: under a sanitizer, which makes it some times slower, a
 * quarter. The plain build repeats all of it from the same seed. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_TIMES(n) ((n) / 4)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_TIMES(n) ((n) / 4)
#endif
#endif
#ifndef TEST_TIMES
#define TEST_TIMES(n) (n)
#endif

#endif
