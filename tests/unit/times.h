/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_TIMES_H
#define BP_TESTS_UNIT_TIMES_H

/* The number of repetitions of a random test, from a fixed seed: with -Dlong_tests=true the number
 * given, for changes of the tested code; otherwise an eighth, and under a sanitizer, which is
 * several times slower, a sixteenth. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif
#ifdef BP_LONG_TESTS
#define TEST_TIMES(n) (n)
#elif TEST_SANITIZED
#define TEST_TIMES(n) ((n) / 16)
#endif
#ifndef TEST_TIMES
#define TEST_TIMES(n) ((n) / 8)
#endif

#endif
