/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SERVICES_MQTT_TEST_H
#define BP_TESTS_UNIT_SERVICES_MQTT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A small generator with a seed, so that what fails once fails again (xorshift64*). */
static inline uint64_t test_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint32_t test_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((test_random(state) >> 32) % n);
}

#endif
